/* SPDX-License-Identifier: MIT */
/* sync/kinds/permits.c - permits with leases, Redisson's
 * RPermitExpirableSemaphore.
 *
 * Key: the name itself, a number: how many are available.  timeout:{name}, a
 * sorted set: the id of each that is out -> the server's ms of its end.
 * Channel: redisson_sc:{name}.  docs/wire/permits.md.
 *
 * A permit is a hold like any other: each has a number and an owner of its own,
 * so that leases, their renewal, their loss and what comes after it are those
 * of locks.  Its id is made of the client's id and the number, so whoever has
 * the id can tell whether the permit is this client's.
 *
 * How many permits there are is nobody's hold: such requests have records, as
 * those of a semaphore.
 */
#include "sync/kinds/pieces.h"

#include <assert.h>
#include <string.h>

#define HALF (HFI_PERMIT_BYTES / 2)
#define NEVER_HELD 0 /* numbers begin at one */

/* ---- ids ---- */

static int digit_of(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Digits two by two; other characters between pairs are passed over if `loose`.
 * Returns how many bytes there were. */
static size_t read_hex(const char *text, bool loose, unsigned char *ret_bytes)
{
    size_t count = 0;

    while (*text != '\0' && count < HFI_PERMIT_BYTES) {
        int high = digit_of(text[0]);
        int low = high < 0 ? -1 : digit_of(text[1]);

        if (high < 0 && loose) {
            text++;
            continue;
        }
        if (low < 0) {
            return 0;
        }
        ret_bytes[count++] = (unsigned char)(high << 4 | low);
        text += 2;
    }
    return *text == '\0' ? count : 0;
}

void hfi_permit_write(const unsigned char *id, char *ret_text)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < HFI_PERMIT_BYTES; i++) {
        ret_text[2 * i] = digits[id[i] >> 4];
        ret_text[2 * i + 1] = digits[id[i] & 15];
    }
    ret_text[HFI_PERMIT_TEXT - 1] = '\0';
}

bool hfi_permit_read(const char *id, unsigned char *ret_bytes)
{
    return read_hex(id, false, ret_bytes) == HFI_PERMIT_BYTES;
}

/* The client's id stands in front; behind it the number, mixed with the other
 * half of the client's id. */
static void id_of(const struct hfi_core *core, uint64_t n, unsigned char *id)
{
    memset(id, 0, HFI_PERMIT_BYTES);
    (void)read_hex(core->config.uuid, true, id);
    for (size_t i = 0; i < HALF; i++) {
        id[HFI_PERMIT_BYTES - 1 - i] ^= (unsigned char)(n >> (8 * i));
    }
}

size_t hfi_permit_text(const struct hfi_core *core, uint64_t n, char *buf,
                       size_t size)
{
    unsigned char id[HFI_PERMIT_BYTES];

    if (size < HFI_PERMIT_TEXT) {
        return 0;
    }
    id_of(core, n, id);
    hfi_permit_write(id, buf);
    return HFI_PERMIT_TEXT - 1;
}

/* The number in an id of this client; NEVER_HELD: it is another's. */
static uint64_t number_in(const struct hfi_core *core, const unsigned char *id)
{
    unsigned char own[HFI_PERMIT_BYTES];
    uint64_t n = 0;

    id_of(core, 0, own);
    if (memcmp(id, own, HALF) != 0) {
        return NEVER_HELD;
    }
    for (size_t i = HALF; i < HFI_PERMIT_BYTES; i++) {
        n = n << 8 | (id[i] ^ own[i]);
    }
    return n;
}

struct hfi_permit *hfi_permit_find(const struct hfi_core *core,
                                   const unsigned char *id)
{
    uint64_t n = number_in(core, id);
    struct hfi_permit *permit = NULL;

    if (n != NEVER_HELD) {
        HASH_FIND(hh, core->permits, &n, sizeof(n), permit);
    }
    return permit;
}

void hfi_core_permit_after(const struct hfi_core *core, const char *first,
                           size_t i, char *ret_id)
{
    unsigned char id[HFI_PERMIT_BYTES];

    memset(id, 0, sizeof(id));
    (void)hfi_permit_read(first, id);
    hfi_permit_text(core, number_in(core, id) + i, ret_id, HFI_PERMIT_TEXT);
}

struct hfi_owner *hfi_core_permit_owner(struct hfi_core *core,
                                        const struct hfi_object *object,
                                        const char *id)
{
    const struct hfi_name *name = hfi_name_get(core, object, false);
    const struct hfi_permit *permit = NULL;
    unsigned char bytes[HFI_PERMIT_BYTES];

    if (name != NULL && hfi_permit_read(id, bytes)) {
        permit = hfi_permit_find(core, bytes);
    }
    return permit != NULL && permit->number->name == name
               ? permit->number->owner
               : NULL;
}

/* ---- what the scripts are handed ---- */

typedef void (*put_fn)(struct hfi_command_sink *sink, const void *bytes,
                       size_t len);

/* As the permits' object has them: 16 bytes, or their text. */
static void put_as(struct hfi_command_sink *sink, put_fn put,
                   const struct hfi_kind_options *options,
                   const unsigned char *id)
{
    char text[HFI_PERMIT_TEXT];

    if (options == NULL || !options->text_ids) {
        put(sink, id, HFI_PERMIT_BYTES);
        return;
    }
    hfi_permit_write(id, text);
    put(sink, text, HFI_PERMIT_TEXT - 1);
}

static void put_own(struct hfi_core *core, struct hfi_command_sink *sink,
                    put_fn put, const struct hfi_number *number)
{
    unsigned char id[HFI_PERMIT_BYTES];

    id_of(core, number->n, id);
    put_as(sink, put, number->options, id);
}

static void put_id(struct hfi_core *core, struct hfi_command_sink *sink,
                   const struct hfi_number *number)
{
    put_own(core, sink, sink->arg, number);
}

static void put_out(struct hfi_command_sink *sink, const struct hfi_name *name)
{
    hfi_put_suffixed(sink, name, "timeout");
}

/* The last of several, or the only one; none: nothing. */
static void put_foreign(struct hfi_command_sink *sink,
                        const struct hfi_op_request *ask)
{
    unsigned char id[HFI_PERMIT_BYTES];
    bool readable;

    if (ask->field == NULL) {
        sink->arg(sink, "", 0);
        return;
    }
    readable = hfi_permit_read(ask->field, id);
    assert(readable); /* else the call would not have been made */
    (void)readable;
    put_as(sink, sink->arg, ask->options, id);
}

static void put_change(struct hfi_core *core, const struct hfi_copy *copy,
                       struct hfi_command_sink *sink)
{
    const struct hfi_op *op = copy->about;
    const struct hfi_several *several = op->ask.several;

    hfi_put_key(sink, op->name);
    put_out(sink, op->name);
    hfi_put_record(core, sink, op->name, copy->number->n);
    hfi_put_old_records(core, sink, copy);
    sink->arg(sink, op->ask.word, strlen(op->ask.word));
    sink->number(sink, op->ask.count);
    hfi_put_window(sink, copy->number);
    hfi_put_channel(sink, op->name);
    sink->number(sink, op->ask.lease_ms);
    for (size_t i = 0; several != NULL && i < several->count; i++) {
        put_as(sink, sink->piece, op->ask.options, several->items[i].id);
    }
    put_foreign(sink, &op->ask);
}

static void put_fence(struct hfi_core *core, const struct hfi_copy *copy,
                      struct hfi_command_sink *sink)
{
    hfi_put_key(sink, copy->number->name);
    hfi_put_record(core, sink, copy->number->name, copy->number->n);
    hfi_put_window(sink, copy->number);
}

static void put_batch(struct hfi_core *core, const struct hfi_copy *copy,
                      struct hfi_command_sink *sink)
{
    for (size_t i = 0; i < copy->batch_count; i++) {
        put_out(sink, copy->batch[i].number->name);
    }
    for (size_t i = 0; i < copy->batch_count; i++) {
        put_id(core, sink, copy->batch[i].number);
        sink->number(sink, copy->batch[i].count);
        sink->number(sink, copy->batch[i].lease_ms);
    }
}

static void put_keep(struct hfi_core *core, const struct hfi_copy *copy,
                     struct hfi_command_sink *sink)
{
    put_out(sink, copy->number->name);
    put_id(core, sink, copy->number);
    sink->number(sink, copy->count);
    sink->number(sink, copy->lease_ms);
}

static void put_for_number(struct hfi_core *core, const struct hfi_copy *copy,
                           struct hfi_command_sink *sink)
{
    const char *what = copy->request == HFI_UNDO ? "undo" : "release";

    hfi_put_key(sink, copy->number->name);
    put_out(sink, copy->number->name);
    put_id(core, sink, copy->number);
    hfi_put_channel(sink, copy->number->name);
    sink->arg(sink, what, strlen(what));
}

/* All ids as one argument: those of several, then the first. */
static void put_acquire(struct hfi_core *core, const struct hfi_copy *copy,
                        struct hfi_command_sink *sink)
{
    hfi_put_key(sink, copy->number->name);
    put_out(sink, copy->number->name);
    for (size_t i = 0; i < copy->batch_count; i++) {
        put_own(core, sink, sink->piece, copy->batch[i].number);
    }
    put_id(core, sink, copy->number);
    sink->number(sink, copy->lease_ms);
    sink->number(sink, copy->not_after_ms);
    hfi_put_channel(sink, copy->number->name);
    sink->number(sink, (int64_t)copy->batch_count + 1);
}

static void put_cut(struct hfi_core *core, const struct hfi_copy *copy,
                    struct hfi_command_sink *sink)
{
    hfi_put_key(sink, copy->number->name);
    put_out(sink, copy->number->name);
    put_id(core, sink, copy->number);
    sink->number(sink, copy->lease_ms);
    sink->number(sink, copy->not_after_ms);
}

static void put_tell(const struct hfi_copy *copy, struct hfi_command_sink *sink)
{
    hfi_put_key(sink, copy->about->name);
    put_out(sink, copy->about->name);
    hfi_put_channel(sink, copy->about->name);
    put_foreign(sink, &copy->about->ask);
}

static void permits_write(struct hfi_core *core, const struct hfi_copy *copy,
                          struct hfi_command_sink *sink)
{
    if (copy->request == HFI_ACQUIRE) {
        put_acquire(core, copy, sink);
    } else if (copy->batch_count > 0) {
        put_batch(core, copy, sink);
    } else if (copy->request == HFI_CHANGE) {
        put_change(core, copy, sink);
    } else if (copy->request == HFI_FENCE) {
        put_fence(core, copy, sink);
    } else if (copy->request == HFI_TELL) {
        put_tell(copy, sink);
    } else if (copy->request == HFI_TIME) {
        hfi_put_key(sink, copy->about->name);
    } else if (copy->request == HFI_CUT) {
        put_cut(core, copy, sink);
    } else if (copy->request == HFI_RENEW || copy->request == HFI_EXTEND) {
        put_keep(core, copy, sink);
    } else {
        put_for_number(core, copy, sink);
    }
}

const struct hfi_kind hfi_kind_permits = {
    .word = "permits",
    .family = HFI_FAMILY_PERMITS,
    .queueing = HFI_QUEUE_BY_DEMAND,
    .renewals = HFI_RENEWALS_OF_PERMITS,
    .field_end = "",
    .channel_word = "redisson_sc",
    .shared = true,
    .has_ids = true,
    .tells = 1,
    .use =
        {
            [HFI_ACQUIRE] = {HFI_SCRIPT_PERMITS_ACQUIRE, 2, 5},
            [HFI_ENTER] = {-1, 0, 0},
            [HFI_LEAVE] = {-1, 0, 0},
            [HFI_RENEW] = {HFI_SCRIPT_PERMITS_KEEP, 1, 3},
            [HFI_EXTEND] = {HFI_SCRIPT_PERMITS_KEEP, 1, 3},
            [HFI_CUT] = {HFI_SCRIPT_PERMITS_LEASE, 2, 3},
            [HFI_RELEASE] = {HFI_SCRIPT_PERMITS_RELEASE, 2, 3},
            [HFI_UNDO] = {HFI_SCRIPT_PERMITS_RELEASE, 2, 3},
            [HFI_FORCE] = {-1, 0, 0},
            [HFI_SHOW] = {-1, 0, 0},
            [HFI_SCAN] = {-1, 0, 0},
            [HFI_TIME] = {HFI_SCRIPT_SERVER_TIME, 1, 0},
            [HFI_ADOPT] = {-1, 0, 0},
            [HFI_CHANGE] = {HFI_SCRIPT_PERMITS_CHANGE, 3, 7},
            [HFI_FENCE] = {HFI_SCRIPT_COUNT_FENCE, 2, 2},
            [HFI_TELL] = {HFI_SCRIPT_PERMITS_SHOW, 2, 2},
        },
    .renew_batch = {HFI_SCRIPT_PERMITS_KEEP_GROUP, 1, 3},
    .write = permits_write,
};
