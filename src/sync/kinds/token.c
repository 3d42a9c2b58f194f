/* SPDX-License-Identifier: MIT */
/* sync/kinds/token.c - the canonical lock: SET name token NX PX lease, and
 * compare-and-delete.  Not Redisson's, but that of redis-py, redsync,
 * node-redlock, redis-plus-plus and many more, which it excludes.
 *
 * Key: the name itself, a string, the holder's token; ours is "uuid:number".
 * It is not re-entrant: a string has no room for a count.  Channel, between
 * clients of ours: holdfast_token__channel:{name}; message: 0.  Others publish
 * nothing, so a waiter behind one of them asks more often.  docs/wire/token.md.
 *
 * The first question of a number is the bare command, the cheapest that there
 * is.  It carries no not_after; every later one is the script, which does.  Its
 * release and its renewal are bare commands where the server has such
 * (native.c); elsewhere RELEASEs of one write leave as one script (join.c).
 */
#include "sync/kinds/pieces.h"

#include "scripts_data.h"

static void token_write(struct hfi_core *core, const struct hfi_copy *copy,
                        struct hfi_command_sink *sink)
{
    if (copy->native) {
        hfi_put_native(core, copy, sink);
    } else {
        hfi_put_plain(core, copy, sink);
    }
}

static void fenced_token_write(struct hfi_core *core,
                               const struct hfi_copy *copy,
                               struct hfi_command_sink *sink)
{
    if (copy->native) {
        hfi_put_native(core, copy, sink);
    } else {
        hfi_put_fenced(core, copy, sink);
    }
}

#define TOKEN_COMMON                                                           \
    .word = "token", .family = HFI_FAMILY_TOKEN,                               \
    .queueing = HFI_QUEUE_ONE_CONTENDER, .renewals = HFI_RENEWALS_OF_TOKENS,   \
    .field_end = "", .channel_word = "holdfast_token__channel",                \
    .any_holder = true, .native_compare = true, .together = "token",           \
    .release_later = {HFI_SCRIPT_TOKEN_RELEASE_LATER, 1, 4},                   \
    .renew_batch = {HFI_SCRIPT_TOKEN_KEEP_GROUP, 1, 3},                        \
    .release_joined = {HFI_SCRIPT_TOKEN_RELEASE_GROUP, 1, 2}

#define USE_COMMON                                                             \
    [HFI_ENTER] = {-1, 0, 0}, [HFI_LEAVE] = {-1, 0, 0},                        \
    [HFI_RENEW] = {HFI_SCRIPT_TOKEN_KEEP, 1, 3},                               \
    [HFI_EXTEND] = {HFI_SCRIPT_TOKEN_KEEP, 1, 3},                              \
    [HFI_RELEASE] = {HFI_SCRIPT_TOKEN_RELEASE, 1, 2},                          \
    [HFI_UNDO] = {HFI_SCRIPT_TOKEN_UNDO, 1, 2},                                \
    [HFI_FORCE] = {HFI_SCRIPT_TOKEN_FORCE, 1, 3},                              \
    [HFI_SCAN] = {HFI_SCRIPT_LOCK_SCAN, 0, 3},                                 \
    [HFI_TIME] = {HFI_SCRIPT_SERVER_TIME, 1, 0}

#define FENCED_TOKEN                                                           \
    {                                                                          \
        .fenced = true, TOKEN_COMMON,                                          \
        .use = {USE_COMMON,                                                    \
                [HFI_ACQUIRE] = {HFI_SCRIPT_TOKEN_ACQUIRE_FENCED, 2, 5},       \
                [HFI_SHOW] = {HFI_SCRIPT_TOKEN_SHOW_FENCED, 2, 1},             \
                [HFI_ADOPT] = {HFI_SCRIPT_TOKEN_ADOPT_FENCED, 2, 5}},          \
        .write = fenced_token_write                                            \
    }

const struct hfi_kind hfi_kinds_token[HFI_FENCINGS] = {
    [HFI_UNFENCED] =
        {TOKEN_COMMON, .native_acquire = true,
         .use = {USE_COMMON, [HFI_ACQUIRE] = {HFI_SCRIPT_TOKEN_ACQUIRE, 1, 3},
                 [HFI_SHOW] = {HFI_SCRIPT_TOKEN_SHOW, 1, 1},
                 [HFI_ADOPT] = {HFI_SCRIPT_TOKEN_KEEP, 1, 3}},
         .write = token_write},
    [HFI_FENCED] = FENCED_TOKEN,
    [HFI_FENCED_COUNTING] = FENCED_TOKEN,
};
