/* SPDX-License-Identifier: MIT */
/* sync/kinds/lock.c - the plain re-entrant lock, Redisson's RLock.
 *
 * Key: the name itself, a hash of one field, "uuid:number" -> hold count, with a
 * TTL.  Channel: redisson_lock__channel:{name}, without braces of ours where
 * the name has an opening brace already; message: 0.  docs/wire/rlock.md.
 */
#include "sync/kinds/kind.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "scripts_data.h"
#include "sync/state.h"

static const char channel_word[] = "redisson_lock__channel";

/* Whether the name contains an opening brace at all, usable as a tag or not:
 * byte for byte what Redisson does. */
static size_t lock_channel(const void *name, size_t name_bytes, char *buf,
                           size_t size)
{
    bool brace = memchr(name, '{', name_bytes) != NULL;
    size_t head = sizeof(channel_word) - 1;
    size_t len = head + 1 + name_bytes + (brace ? 0 : 2);
    char *at = buf;

    if (len > size) {
        return len;
    }
    memcpy(at, channel_word, head);
    at += head;
    *at++ = ':';
    if (!brace) {
        *at++ = '{';
    }
    memcpy(at, name, name_bytes);
    at += name_bytes;
    if (!brace) {
        *at = '}';
    }
    return len;
}

/* ---- the pieces of a command ---- */

static void put_key(struct hfi_command_sink *sink, const struct hfi_name *name)
{
    sink->arg(sink, name->text, name->bytes);
}

static void put_field(struct hfi_core *core, struct hfi_command_sink *sink,
                      const struct hfi_number *number)
{
    char field[128];

    sink->arg(sink, field,
              hfi_number_field(core, number, field, sizeof(field)));
}

static void put_stand_in(struct hfi_core *core, struct hfi_command_sink *sink,
                         uint64_t stand_in)
{
    char field[64];
    int len = snprintf(field, sizeof(field), "%s:%" PRIu64, core->config.uuid,
                       stand_in);

    sink->arg(sink, field, (size_t)len);
}

/* In pieces, so that a name of any length needs no memory of its own. */
static void put_channel(struct hfi_command_sink *sink,
                        const struct hfi_name *name)
{
    char small[512];
    size_t len = lock_channel(name->text, name->bytes, small, sizeof(small));

    if (len <= sizeof(small)) {
        sink->arg(sink, small, len);
    } else {
        sink->channel(sink, name);
    }
}

static void put_batch(struct hfi_core *core, const struct hfi_copy *copy,
                      struct hfi_command_sink *sink)
{
    for (size_t i = 0; i < copy->batch_count; i++) {
        put_key(sink, copy->batch[i].number->name);
    }
    for (size_t i = 0; i < copy->batch_count; i++) {
        const struct hfi_batch_item *item = &copy->batch[i];

        put_field(core, sink, item->number);
        sink->number(sink, item->count);
        sink->number(sink, item->lease_ms);
    }
}

static void put_for_number(struct hfi_core *core, const struct hfi_copy *copy,
                           struct hfi_command_sink *sink)
{
    put_key(sink, copy->number->name);
    put_field(core, sink, copy->number);
    if (copy->request == HFI_ACQUIRE) {
        sink->number(sink, copy->lease_ms);
        sink->number(sink, copy->not_after_ms);
    } else if (copy->request == HFI_RELEASE || copy->request == HFI_UNDO) {
        put_channel(sink, copy->number->name);
    } else {
        sink->number(sink, copy->count);
        sink->number(sink, copy->lease_ms);
    }
    if (copy->rest_ms > 0) {
        put_stand_in(core, sink, copy->stand_in);
        sink->number(sink, copy->rest_ms);
    }
}

/* What concerns a name, or the whole server, but no number of ours. */
static void put_for_op(const struct hfi_copy *copy,
                       struct hfi_command_sink *sink)
{
    const struct hfi_op *op = copy->about;

    if (copy->request == HFI_SCAN) {
        sink->arg(sink, op->ask.cursor, strlen(op->ask.cursor));
        sink->arg(sink, op->ask.pattern, strlen(op->ask.pattern));
        sink->arg(sink, channel_word, sizeof(channel_word) - 1);
        return;
    }
    put_key(sink, op->name);
    if (copy->request == HFI_FORCE) {
        sink->arg(sink, op->seen, strlen(op->seen));
        sink->number(sink, copy->not_after_ms);
    }
    if (copy->request != HFI_TIME) {
        put_channel(sink, op->name);
    }
}

static void lock_write(struct hfi_core *core, const struct hfi_copy *copy,
                       struct hfi_command_sink *sink)
{
    if (copy->batch_count > 0) {
        put_batch(core, copy, sink);
    } else if (copy->about != NULL && copy->request != HFI_ADOPT) {
        put_for_op(copy, sink);
    } else {
        put_for_number(core, copy, sink);
    }
}

const struct hfi_kind hfi_kind_lock = {
    .word = "lock",
    .queueing = HFI_QUEUE_ONE_CONTENDER,
    .use =
        {
            [HFI_ACQUIRE] = {HFI_SCRIPT_LOCK_ACQUIRE, 1, 3},
            [HFI_ENTER] = {HFI_SCRIPT_LOCK_KEEP, 1, 3},
            [HFI_LEAVE] = {HFI_SCRIPT_LOCK_KEEP, 1, 3},
            [HFI_RENEW] = {HFI_SCRIPT_LOCK_KEEP, 1, 3},
            [HFI_EXTEND] = {HFI_SCRIPT_LOCK_KEEP, 1, 3},
            [HFI_RELEASE] = {HFI_SCRIPT_LOCK_RELEASE, 1, 2},
            [HFI_UNDO] = {HFI_SCRIPT_LOCK_UNDO, 1, 2},
            [HFI_FORCE] = {HFI_SCRIPT_LOCK_FORCE, 1, 3},
            [HFI_SHOW] = {HFI_SCRIPT_LOCK_SHOW, 1, 1},
            [HFI_SCAN] = {HFI_SCRIPT_LOCK_SCAN, 0, 3},
            [HFI_TIME] = {HFI_SCRIPT_SERVER_TIME, 1, 0},
            [HFI_ADOPT] = {HFI_SCRIPT_LOCK_KEEP, 1, 3},
        },
    .release_later = {HFI_SCRIPT_LOCK_RELEASE_LATER, 1, 4},
    .renew_batch = {HFI_SCRIPT_LOCK_KEEP_GROUP, 1, 3},
    .write = lock_write,
    .channel = lock_channel,
};
