/* SPDX-License-Identifier: MIT */
/* sync/kinds/values.c - Redisson's faster multi lock: many values in one hash.
 *
 * Key: the name itself, a hash of three fields for each value that is held: F,
 * the value's hash -> "uuid:number"; F:uuid:number:expire_time -> the server's
 * ms; F:uuid:number:lock_count.  Channel redisson_lock__channel:{name}.
 * docs/wire/values.md.
 *
 * The values stand in the options of the lock object, their fields sorted and
 * each once: so the same values are the same bytes.  An owner may hold other
 * values of the name by another number.  Nobody stands in anybody's way but by
 * values in common, which only the server knows: so everybody asks it.
 */
#include "sync/kinds/pieces.h"

#include <string.h>

#define FIELD 22 /* bytes of one value's */

static void put_values(struct hfi_command_sink *sink,
                       const struct hfi_kind_options *options)
{
    sink->arg(sink, options->values, options->values_bytes);
}

static void put_end(struct hfi_core *core, const struct hfi_copy *copy,
                    struct hfi_command_sink *sink)
{
    const char *what = copy->request == HFI_UNDO ? "undo" : "release";

    hfi_put_channel(sink, copy->number->name);
    put_values(sink, copy->number->options);
    sink->arg(sink, what, strlen(what));
    if (copy->rest_ms > 0) {
        hfi_put_stand_in(core, sink, copy->number, copy->stand_in);
        sink->number(sink, copy->rest_ms);
    }
}

static void put_for_number(struct hfi_core *core, const struct hfi_copy *copy,
                           struct hfi_command_sink *sink)
{
    hfi_put_key(sink, copy->number->name);
    hfi_put_field(core, sink, copy->number);
    if (copy->request == HFI_RELEASE || copy->request == HFI_UNDO) {
        put_end(core, copy, sink);
        return;
    }
    if (copy->request == HFI_ACQUIRE) {
        sink->number(sink, copy->lease_ms);
        sink->number(sink, copy->not_after_ms);
    } else {
        sink->number(sink, copy->count);
        sink->number(sink, copy->lease_ms);
    }
    put_values(sink, copy->number->options);
    if (copy->request == HFI_ADOPT) {
        sink->arg(sink, "adopt", strlen("adopt"));
    }
}

static void put_for_op(const struct hfi_copy *copy,
                       struct hfi_command_sink *sink)
{
    const struct hfi_op *op = copy->about;

    hfi_put_key(sink, op->name);
    if (copy->request == HFI_FORCE) {
        /* Whom the first of them was seen to have is not all of it. */
        const char *owner = op->ask.field == NULL ? "" : op->seen;

        sink->arg(sink, owner, strlen(owner));
        sink->number(sink, copy->not_after_ms);
    }
    if (copy->request != HFI_TIME) {
        hfi_put_channel(sink, op->name);
        put_values(sink, op->ask.options);
    }
}

static void put_batch(struct hfi_core *core, const struct hfi_copy *copy,
                      struct hfi_command_sink *sink)
{
    for (size_t i = 0; i < copy->batch_count; i++) {
        hfi_put_key(sink, copy->batch[i].number->name);
    }
    for (size_t i = 0; i < copy->batch_count; i++) {
        const struct hfi_batch_item *item = &copy->batch[i];

        hfi_put_field(core, sink, item->number);
        sink->number(sink, item->count);
        sink->number(sink, item->lease_ms);
        put_values(sink, item->number->options);
    }
}

static void values_write(struct hfi_core *core, const struct hfi_copy *copy,
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

const struct hfi_kind hfi_kind_values = {
    .word = "values",
    .family = HFI_FAMILY_VALUES,
    .queueing = HFI_QUEUE_EACH,
    .renewals = HFI_RENEWALS_OF_VALUES,
    .field_end = "",
    .channel_word = "redisson_lock__channel",
    .shared = true,
    .reentrant = true,
    .use =
        {
            [HFI_ACQUIRE] = {HFI_SCRIPT_VALUES_ACQUIRE, 1, 4},
            [HFI_ENTER] = {HFI_SCRIPT_VALUES_KEEP, 1, 4},
            [HFI_LEAVE] = {HFI_SCRIPT_VALUES_KEEP, 1, 4},
            [HFI_RENEW] = {HFI_SCRIPT_VALUES_KEEP, 1, 4},
            [HFI_EXTEND] = {HFI_SCRIPT_VALUES_KEEP, 1, 4},
            [HFI_RELEASE] = {HFI_SCRIPT_VALUES_RELEASE, 1, 4},
            [HFI_UNDO] = {HFI_SCRIPT_VALUES_RELEASE, 1, 4},
            [HFI_FORCE] = {HFI_SCRIPT_VALUES_FORCE, 1, 4},
            [HFI_SHOW] = {HFI_SCRIPT_VALUES_SHOW, 1, 2},
            [HFI_SCAN] = {-1, 0, 0},
            [HFI_TIME] = {HFI_SCRIPT_SERVER_TIME, 1, 0},
            [HFI_ADOPT] = {HFI_SCRIPT_VALUES_KEEP, 1, 5},
        },
    .release_later = {HFI_SCRIPT_VALUES_RELEASE, 1, 6},
    .renew_batch = {HFI_SCRIPT_VALUES_KEEP_GROUP, 1, 4},
    .write = values_write,
};

bool hfi_same_values(const struct hfi_kind_options *a,
                     const struct hfi_kind_options *b)
{
    size_t bytes = a == NULL ? 0 : a->values_bytes;

    return bytes == (b == NULL ? 0 : b->values_bytes) &&
           (bytes == 0 || memcmp(a->values, b->values, bytes) == 0);
}

bool hfi_values_overlap(const struct hfi_kind_options *a,
                        const struct hfi_kind_options *b)
{
    size_t i = 0, k = 0;

    if (a == NULL || b == NULL) {
        return false;
    }
    while (i < a->values_bytes && k < b->values_bytes) {
        int order = memcmp(a->values + i, b->values + k, FIELD);

        if (order == 0) {
            return true;
        }
        i += order < 0 ? FIELD : 0;
        k += order > 0 ? FIELD : 0;
    }
    return false;
}
