/* SPDX-License-Identifier: MIT */
/* sync/kinds/fair.c - the fair lock, Redisson's RFairLock, and its
 * non-reentrant sister.
 *
 * The hold is the plain lock's.  What is added is a queue on the server, in which
 * every waiting call has a place under its number, and a channel of its own.
 * docs/wire/fair.md.
 */
#include "sync/kinds/pieces.h"

#include <string.h>

#include "scripts_data.h"

#define FAIR_KEYS 7

/* The lock, and what stands beside it; last the token's key, where there is one
 * and the request has to do with it. */
static void put_keys(struct hfi_command_sink *sink, const struct hfi_name *name,
                     bool token)
{
    hfi_put_key(sink, name);
    hfi_put_prefixed(sink, "redisson_lock_queue", name);
    hfi_put_prefixed(sink, "redisson_lock_timeout", name);
    hfi_put_prefixed(sink, "holdfast_fair_alive", name);
    hfi_put_prefixed(sink, "holdfast_fair_waits", name);
    hfi_put_prefixed(sink, "holdfast_fair_members", name);
    hfi_put_prefixed(sink, "holdfast_fair_scratch", name);
    if (token) {
        hfi_put_token_key(sink, name);
    }
}

static void put_acquire(struct hfi_core *core, const struct hfi_copy *copy,
                        struct hfi_command_sink *sink)
{
    const struct hfi_number *number = copy->number;

    put_keys(sink, number->name, number->kind->fenced);
    hfi_put_field(core, sink, number);
    sink->number(sink, copy->lease_ms);
    sink->number(sink, copy->not_after_ms);
    hfi_put_channel(sink, number->name);
    sink->number(sink, copy->queue_ms);
    sink->number(sink, copy->alive_ms);
    if (number->kind->fenced) {
        hfi_put_token_life(sink, number);
    }
}

static void put_ending(struct hfi_core *core, const struct hfi_copy *copy,
                       struct hfi_command_sink *sink)
{
    const struct hfi_number *number = copy->number;

    put_keys(sink, number->name, false);
    hfi_put_field(core, sink, number);
    hfi_put_channel(sink, number->name);
    if (copy->rest_ms > 0) {
        hfi_put_stand_in(core, sink, number, copy->stand_in);
        sink->number(sink, copy->rest_ms);
    }
}

static void put_for_op(const struct hfi_copy *copy,
                       struct hfi_command_sink *sink)
{
    const struct hfi_op *op = copy->about;

    if (copy->request == HFI_SHOW) {
        put_keys(sink, op->name, op->kind->fenced);
        sink->number(sink, HFI_FAIR_SHOWN_MAX);
        return;
    }
    put_keys(sink, op->name, false);
    sink->arg(sink, op->seen, strlen(op->seen));
    sink->number(sink, copy->not_after_ms);
    hfi_put_channel(sink, op->name);
}

/* What keeps a hold is the plain lock's, or the fenced one's. */
static void put_keeping(struct hfi_core *core, const struct hfi_copy *copy,
                        struct hfi_command_sink *sink)
{
    const struct hfi_kind *kind = copy->number == NULL ? &hfi_kind_fair
                                                       : copy->number->kind;

    if (kind->counts_entries) {
        hfi_put_counting(core, copy, sink);
    } else if (kind->fenced) {
        hfi_put_fenced(core, copy, sink);
    } else {
        hfi_put_plain(core, copy, sink);
    }
}

static void fair_write(struct hfi_core *core, const struct hfi_copy *copy,
                       struct hfi_command_sink *sink)
{
    enum hfi_request request = copy->request;

    if (request == HFI_ACQUIRE) {
        put_acquire(core, copy, sink);
    } else if (request == HFI_RELEASE || request == HFI_UNDO) {
        put_ending(core, copy, sink);
    } else if (request == HFI_FORCE || request == HFI_SHOW) {
        put_for_op(copy, sink);
    } else {
        put_keeping(core, copy, sink);
    }
}

#define USE_COMMON                                                             \
    [HFI_LEAVE] = {HFI_SCRIPT_LOCK_KEEP, 1, 3},                                \
    [HFI_RENEW] = {HFI_SCRIPT_LOCK_KEEP, 1, 3},                                \
    [HFI_EXTEND] = {HFI_SCRIPT_LOCK_KEEP, 1, 3},                               \
    [HFI_RELEASE] = {HFI_SCRIPT_FAIR_RELEASE, FAIR_KEYS, 2},                   \
    [HFI_UNDO] = {HFI_SCRIPT_FAIR_UNDO, FAIR_KEYS, 2},                         \
    [HFI_FORCE] = {HFI_SCRIPT_FAIR_FORCE, FAIR_KEYS, 3},                       \
    [HFI_SCAN] = {HFI_SCRIPT_LOCK_SCAN, 0, 3},                                 \
    [HFI_TIME] = {HFI_SCRIPT_SERVER_TIME, 1, 0}

#define USE_UNFENCED                                                           \
    USE_COMMON, [HFI_ACQUIRE] = {HFI_SCRIPT_FAIR_ACQUIRE, FAIR_KEYS, 6},       \
                [HFI_ENTER] = {HFI_SCRIPT_LOCK_KEEP, 1, 3},                    \
                [HFI_SHOW] = {HFI_SCRIPT_FAIR_SHOW, FAIR_KEYS, 1},             \
                [HFI_ADOPT] = {HFI_SCRIPT_LOCK_KEEP, 1, 3}

#define USE_FENCED                                                             \
    USE_COMMON, [HFI_ACQUIRE] = {HFI_SCRIPT_FAIR_ACQUIRE, FAIR_KEYS + 1, 8},   \
                [HFI_SHOW] = {HFI_SCRIPT_FAIR_SHOW, FAIR_KEYS + 1, 1},         \
                [HFI_ADOPT] = {HFI_SCRIPT_LOCK_ADOPT_FENCED, 2, 5}

#define FAIR(word_, reentrant_, ...)                                           \
    {                                                                          \
        .word = word_, .family = HFI_FAMILY_FAIR,                              \
        .queueing = HFI_QUEUE_ON_SERVER, .renewals = HFI_RENEWALS_OF_LOCKS,    \
        .field_end = "", .channel_word = "redisson_lock__channel",             \
        .reentrant = reentrant_, .busy_leaves = true,                          \
        .release_later = {HFI_SCRIPT_FAIR_RELEASE_LATER, FAIR_KEYS, 4},        \
        .renew_batch = {HFI_SCRIPT_LOCK_KEEP_GROUP, 1, 3},                     \
        .write = fair_write, __VA_ARGS__                                       \
    }

#define UNFENCED(word_, reentrant_)                                            \
    FAIR(word_, reentrant_, .use = {USE_UNFENCED})
#define FENCED(word_, reentrant_)                                              \
    FAIR(word_, reentrant_, .fenced = true,                                    \
         .use = {USE_FENCED, [HFI_ENTER] = {HFI_SCRIPT_LOCK_KEEP, 1, 3}})
#define COUNTING(word_)                                                        \
    FAIR(word_, true, .fenced = true, .counts_entries = true,                  \
         .use = {USE_FENCED, [HFI_ENTER] = {HFI_SCRIPT_LOCK_ENTER_COUNTING, 2, \
                                            5}})

const struct hfi_kind hfi_kinds_fair[HFI_FENCINGS] = {
    [HFI_UNFENCED] = UNFENCED("fair", true),
    [HFI_FENCED] = FENCED("fair", true),
    [HFI_FENCED_COUNTING] = COUNTING("fair"),
};

const struct hfi_kind hfi_kinds_nonreentrant_fair[HFI_FENCINGS] = {
    [HFI_UNFENCED] = UNFENCED("nonreentrant-fair", false),
    [HFI_FENCED] = FENCED("nonreentrant-fair", false),
    [HFI_FENCED_COUNTING] = FENCED("nonreentrant-fair", false),
};
