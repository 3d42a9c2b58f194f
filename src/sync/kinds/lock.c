/* SPDX-License-Identifier: MIT */
/* sync/kinds/lock.c - the plain re-entrant lock, Redisson's RLock, and those
 * that are the same object on the server: non-reentrant, spin and fenced.
 *
 * Key: the name itself, a hash of one field, "uuid:number" -> hold count, with a
 * TTL.  Channel: redisson_lock__channel:{name}, without braces of ours where
 * the name has an opening brace already; message: 0.  docs/wire/rlock.md.
 *
 * The non-reentrant lock is the same on the wire.  That its owner acquires it
 * again is an error, and is found here: an owner knows what he holds.  So is
 * the spin lock: its waiters ask again by a back-off of their own and listen to
 * nothing.
 *
 * Each of them may be fenced: then its acquisition increases the counter
 * redisson_lock_token:{name} in the same script, and what it becomes is the
 * hold's token.  docs/wire/fenced.md.
 */
#include "sync/kinds/pieces.h"

#include "scripts_data.h"

/* What all of this hash and channel have in common. */
#define LOCK_COMMON                                                            \
    .family = HFI_FAMILY_LOCK, .renewals = HFI_RENEWALS_OF_LOCKS,              \
    .field_end = "", .channel_word = "redisson_lock__channel",                 \
    .together = "lock",                                                        \
    .release_later = {HFI_SCRIPT_LOCK_RELEASE_LATER, 1, 4},                    \
    .renew_batch = {HFI_SCRIPT_LOCK_KEEP_GROUP, 1, 3}

/* ... and of their scripts. */
#define USE_COMMON                                                             \
    [HFI_LEAVE] = {HFI_SCRIPT_LOCK_KEEP, 1, 3},                                \
    [HFI_RENEW] = {HFI_SCRIPT_LOCK_KEEP, 1, 3},                                \
    [HFI_EXTEND] = {HFI_SCRIPT_LOCK_KEEP, 1, 3},                               \
    [HFI_RELEASE] = {HFI_SCRIPT_LOCK_RELEASE, 1, 2},                           \
    [HFI_UNDO] = {HFI_SCRIPT_LOCK_UNDO, 1, 2},                                 \
    [HFI_FORCE] = {HFI_SCRIPT_LOCK_FORCE, 1, 3},                               \
    [HFI_SCAN] = {HFI_SCRIPT_LOCK_SCAN, 0, 3},                                 \
    [HFI_TIME] = {HFI_SCRIPT_SERVER_TIME, 1, 0}

#define USE_UNFENCED                                                           \
    USE_COMMON, [HFI_ACQUIRE] = {HFI_SCRIPT_LOCK_ACQUIRE, 1, 3},               \
                [HFI_ENTER] = {HFI_SCRIPT_LOCK_KEEP, 1, 3},                    \
                [HFI_SHOW] = {HFI_SCRIPT_LOCK_SHOW, 1, 1},                     \
                [HFI_ADOPT] = {HFI_SCRIPT_LOCK_KEEP, 1, 3}

#define USE_FENCED                                                             \
    USE_COMMON, [HFI_ACQUIRE] = {HFI_SCRIPT_LOCK_ACQUIRE_FENCED, 2, 5},        \
                [HFI_SHOW] = {HFI_SCRIPT_LOCK_SHOW_FENCED, 2, 1},              \
                [HFI_ADOPT] = {HFI_SCRIPT_LOCK_ADOPT_FENCED, 2, 5}

#define UNFENCED(word_, queueing_, reentrant_)                                 \
    {                                                                          \
        .word = word_, .queueing = queueing_, .reentrant = reentrant_,         \
        LOCK_COMMON, .use = {USE_UNFENCED}, .write = hfi_put_plain             \
    }

#define FENCED(word_, queueing_, reentrant_)                                   \
    {                                                                          \
        .word = word_, .queueing = queueing_, .reentrant = reentrant_,         \
        .fenced = true, LOCK_COMMON,                                           \
        .use = {USE_FENCED, [HFI_ENTER] = {HFI_SCRIPT_LOCK_KEEP, 1, 3}},       \
        .write = hfi_put_fenced                                                \
    }

#define COUNTING(word_, queueing_)                                             \
    {                                                                          \
        .word = word_, .queueing = queueing_, .reentrant = true,               \
        .fenced = true, .counts_entries = true, LOCK_COMMON,                   \
        .use = {USE_FENCED, [HFI_ENTER] = {HFI_SCRIPT_LOCK_ENTER_COUNTING, 2,  \
                                           5}},                                \
        .write = hfi_put_counting                                              \
    }

const struct hfi_kind hfi_kinds_lock[HFI_FENCINGS] = {
    [HFI_UNFENCED] = UNFENCED("lock", HFI_QUEUE_ONE_CONTENDER, true),
    [HFI_FENCED] = FENCED("fenced", HFI_QUEUE_ONE_CONTENDER, true),
    [HFI_FENCED_COUNTING] = COUNTING("fenced", HFI_QUEUE_ONE_CONTENDER),
};

const struct hfi_kind hfi_kinds_nonreentrant[HFI_FENCINGS] = {
    [HFI_UNFENCED] = UNFENCED("nonreentrant", HFI_QUEUE_ONE_CONTENDER, false),
    [HFI_FENCED] = FENCED("nonreentrant", HFI_QUEUE_ONE_CONTENDER, false),
    [HFI_FENCED_COUNTING] = FENCED("nonreentrant", HFI_QUEUE_ONE_CONTENDER,
                                   false),
};

const struct hfi_kind hfi_kinds_spin[HFI_FENCINGS] = {
    [HFI_UNFENCED] = UNFENCED("spin", HFI_QUEUE_NONE, true),
    [HFI_FENCED] = FENCED("spin", HFI_QUEUE_NONE, true),
    [HFI_FENCED_COUNTING] = COUNTING("spin", HFI_QUEUE_NONE),
};
