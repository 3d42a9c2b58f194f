/* SPDX-License-Identifier: MIT */
/* sync/kinds/pieces.c - what the commands of all kinds are made of.
 *
 * Names, fields and channels as Redisson writes them, handed to a sink in
 * pieces, so that a name of any length needs no memory of its own.
 */
#include "sync/kinds/pieces.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool has_brace(const void *name, size_t name_bytes)
{
    return memchr(name, '{', name_bytes) != NULL;
}

size_t hfi_prefixed(const char *word, const void *name, size_t name_bytes,
                    char *buf, size_t size)
{
    bool brace = has_brace(name, name_bytes);
    size_t head = strlen(word);
    size_t len = head + 1 + name_bytes + (brace ? 0 : 2);
    char *at = buf;

    if (len > size) {
        return len;
    }
    memcpy(at, word, head);
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

size_t hfi_channel(const struct hfi_name *name, char *buf, size_t size)
{
    const char *word = name->kind->channel_word;
    size_t head = strlen(word);
    size_t len = head + name->bytes + 2;

    if (!name->kind->channel_in_braces) {
        return hfi_prefixed(word, name->text, name->bytes, buf, size);
    }
    if (len <= size) {
        memcpy(buf, word, head);
        buf[head] = '{';
        memcpy(buf + head + 1, name->text, name->bytes);
        buf[len - 1] = '}';
    }
    return len;
}

void hfi_put_prefixed(struct hfi_command_sink *sink, const char *word,
                      const struct hfi_name *name)
{
    bool brace = has_brace(name->text, name->bytes);

    sink->piece(sink, word, strlen(word));
    sink->piece(sink, ":{", brace ? 1 : 2);
    sink->piece(sink, name->text, name->bytes);
    sink->arg(sink, "}", brace ? 0 : 1);
}

void hfi_put_suffixed(struct hfi_command_sink *sink,
                      const struct hfi_name *name, const char *word)
{
    bool brace = has_brace(name->text, name->bytes);

    sink->piece(sink, "{", brace ? 0 : 1);
    sink->piece(sink, name->text, name->bytes);
    sink->piece(sink, "}:", brace ? 0 : 1);
    sink->piece(sink, ":", 1);
    sink->arg(sink, word, strlen(word));
}

void hfi_put_key(struct hfi_command_sink *sink, const struct hfi_name *name)
{
    sink->arg(sink, name->text, name->bytes);
}

void hfi_put_field(struct hfi_core *core, struct hfi_command_sink *sink,
                   const struct hfi_number *number)
{
    char field[128];

    sink->arg(sink, field,
              hfi_number_field(core, number, field, sizeof(field)));
}

size_t hfi_stand_in_field(const struct hfi_core *core,
                          const struct hfi_number *like, uint64_t stand_in,
                          char *buf, size_t size)
{
    int len = snprintf(buf, size, "%s:%" PRIu64 "%s", core->config.uuid,
                       stand_in, like->kind->field_end);

    return (size_t)len < size ? (size_t)len : 0; /* nor a negative one */
}

void hfi_put_stand_in(struct hfi_core *core, struct hfi_command_sink *sink,
                      const struct hfi_number *like, uint64_t stand_in)
{
    char field[128];

    sink->arg(sink, field,
              hfi_stand_in_field(core, like, stand_in, field, sizeof(field)));
}

void hfi_put_channel(struct hfi_command_sink *sink, const struct hfi_name *name)
{
    const char *word = name->kind->channel_word;

    if (!name->kind->channel_in_braces) {
        hfi_put_prefixed(sink, word, name);
        return;
    }
    sink->piece(sink, word, strlen(word));
    sink->piece(sink, "{", 1);
    sink->piece(sink, name->text, name->bytes);
    sink->arg(sink, "}", 1);
}

void hfi_put_record(struct hfi_core *core, struct hfi_command_sink *sink,
                    const struct hfi_name *name, uint64_t n)
{
    static const char word[] = "holdfast_request";
    bool brace = has_brace(name->text, name->bytes);
    char id[64];
    int len = snprintf(id, sizeof(id), "%s:%s:%" PRIu64, brace ? "" : "}",
                       core->config.uuid, n);

    sink->piece(sink, word, sizeof(word) - 1);
    sink->piece(sink, ":{", brace ? 1 : 2);
    sink->piece(sink, name->text, name->bytes);
    sink->arg(sink, id, (size_t)len);
}

void hfi_put_old_records(struct hfi_core *core, struct hfi_command_sink *sink,
                         const struct hfi_copy *copy)
{
    for (size_t i = 0; i < copy->old_count; i++) {
        hfi_put_record(core, sink, copy->number->name, copy->old[i]);
    }
}

void hfi_put_window(struct hfi_command_sink *sink,
                    const struct hfi_number *number)
{
    sink->number(sink, number->last_not_after_ms);
    sink->number(sink, HFI_WINDOW_MS);
}

void hfi_put_batch(struct hfi_core *core, const struct hfi_copy *copy,
                   struct hfi_command_sink *sink)
{
    for (size_t i = 0; i < copy->batch_count; i++) {
        hfi_put_key(sink, copy->batch[i].number->name);
    }
    hfi_put_batch_args(core, copy, sink);
}

void hfi_put_batch_args(struct hfi_core *core, const struct hfi_copy *copy,
                        struct hfi_command_sink *sink)
{
    for (size_t i = 0; i < copy->batch_count; i++) {
        const struct hfi_batch_item *item = &copy->batch[i];

        hfi_put_field(core, sink, item->number);
        sink->number(sink, item->count);
        sink->number(sink, item->lease_ms);
    }
}

/* What concerns a number of ours. */
static void put_for_number(struct hfi_core *core, const struct hfi_copy *copy,
                           struct hfi_command_sink *sink)
{
    hfi_put_key(sink, copy->number->name);
    hfi_put_field(core, sink, copy->number);
    if (copy->request == HFI_ACQUIRE) {
        sink->number(sink, copy->lease_ms);
        sink->number(sink, copy->not_after_ms);
    } else if (copy->request == HFI_RELEASE || copy->request == HFI_UNDO) {
        hfi_put_channel(sink, copy->number->name);
    } else {
        sink->number(sink, copy->count);
        sink->number(sink, copy->lease_ms);
    }
    if (copy->rest_ms > 0) {
        hfi_put_stand_in(core, sink, copy->number, copy->stand_in);
        sink->number(sink, copy->rest_ms);
    }
}

/* What concerns a name, or the whole server, but no number of ours. */
static void put_for_op(const struct hfi_copy *copy,
                       struct hfi_command_sink *sink)
{
    const struct hfi_op *op = copy->about;

    if (copy->request == HFI_SCAN) {
        const char *word = op->kind->channel_word;

        sink->arg(sink, op->ask.cursor, strlen(op->ask.cursor));
        sink->arg(sink, op->ask.pattern, strlen(op->ask.pattern));
        sink->arg(sink, word, strlen(word));
        return;
    }
    hfi_put_key(sink, op->name);
    if (copy->request == HFI_FORCE) {
        sink->arg(sink, op->seen, strlen(op->seen));
        sink->number(sink, copy->not_after_ms);
    }
    if (copy->request != HFI_TIME) {
        hfi_put_channel(sink, op->name);
    }
}

void hfi_put_plain(struct hfi_core *core, const struct hfi_copy *copy,
                   struct hfi_command_sink *sink)
{
    if (copy->batch_count > 0) {
        hfi_put_batch(core, copy, sink);
    } else if (copy->about != NULL && copy->request != HFI_ADOPT) {
        put_for_op(copy, sink);
    } else {
        put_for_number(core, copy, sink);
    }
}
