/* SPDX-License-Identifier: MIT */
/* sync/kinds/lock.c - the plain re-entrant lock, Redisson's RLock, and its
 * non-reentrant sister.
 *
 * Key: the name itself, a hash of one field, "uuid:number" -> hold count, with a
 * TTL.  Channel: redisson_lock__channel:{name}, without braces of ours where
 * the name has an opening brace already; message: 0.  docs/wire/rlock.md.
 *
 * The non-reentrant lock is the same on the wire.  That its owner acquires it
 * again is an error, and is found here: an owner knows what he holds.
 */
#include "sync/kinds/pieces.h"

#include "scripts_data.h"

/* What a family of this hash and channel has in common. */
#define LOCK_COMMON                                                            \
    .family = HFI_FAMILY_LOCK, .queueing = HFI_QUEUE_ONE_CONTENDER,            \
    .renewals = HFI_RENEWALS_OF_LOCKS, .field_end = "",                        \
    .channel_word = "redisson_lock__channel",                                  \
    .use =                                                                     \
        {                                                                      \
            [HFI_ACQUIRE] = {HFI_SCRIPT_LOCK_ACQUIRE, 1, 3},                   \
            [HFI_ENTER] = {HFI_SCRIPT_LOCK_KEEP, 1, 3},                        \
            [HFI_LEAVE] = {HFI_SCRIPT_LOCK_KEEP, 1, 3},                        \
            [HFI_RENEW] = {HFI_SCRIPT_LOCK_KEEP, 1, 3},                        \
            [HFI_EXTEND] = {HFI_SCRIPT_LOCK_KEEP, 1, 3},                       \
            [HFI_RELEASE] = {HFI_SCRIPT_LOCK_RELEASE, 1, 2},                   \
            [HFI_UNDO] = {HFI_SCRIPT_LOCK_UNDO, 1, 2},                         \
            [HFI_FORCE] = {HFI_SCRIPT_LOCK_FORCE, 1, 3},                       \
            [HFI_SHOW] = {HFI_SCRIPT_LOCK_SHOW, 1, 1},                         \
            [HFI_SCAN] = {HFI_SCRIPT_LOCK_SCAN, 0, 3},                         \
            [HFI_TIME] = {HFI_SCRIPT_SERVER_TIME, 1, 0},                       \
            [HFI_ADOPT] = {HFI_SCRIPT_LOCK_KEEP, 1, 3},                        \
    },                                                                         \
    .release_later = {HFI_SCRIPT_LOCK_RELEASE_LATER, 1, 4},                    \
    .renew_batch = {HFI_SCRIPT_LOCK_KEEP_GROUP, 1, 3}, .write = hfi_put_plain

const struct hfi_kind hfi_kind_lock = {
    .word = "lock",
    .reentrant = true,
    LOCK_COMMON,
};

const struct hfi_kind hfi_kind_nonreentrant = {
    .word = "nonreentrant",
    .reentrant = false,
    LOCK_COMMON,
};
