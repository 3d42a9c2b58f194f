/* SPDX-License-Identifier: MIT */
/* sync/begin.c - how a call begins: in its turn, and with what its owner has.
 *
 * Calls of one owner on one name run in the order in which they were made.  One
 * whose turn has come is begun by the file that knows its kind; but what it is,
 * its owner's holds decide.  To acquire what one has is a re-entry, or refused.
 * To release, extend or export needs a hold: without one the caller is told who
 * has it, if that is known here; and what was lost is accounted for, and no more.
 */
#include "sync/mutations.h"
#include "sync/state.h"

#include <inttypes.h>

/* ---- by what its owner has ---- */

/* An acquisition by an owner that has the lock already is a re-entry; by one
 * that has lost it, and was told so or will be, it is refused. */
struct hfi_number *hfi_op_hold(struct hfi_core *core, struct hfi_op *op,
                               int64_t now)
{
    struct hfi_number *number = hfi_name_number_of(
        op->name, op->kind, op->ask.options, op->ask.owner);

    if (number == NULL && !op->kind->shared &&
        hfi_name_shared_by(core, op, now) && !HFI_MUTATION(upgrade_waits)) {
        hfi_op_finish(core, op, HF_UPGRADE, now, NULL);
    } else if (number == NULL && hfi_name_overlapped(op)) {
        hfi_op_finish(core, op, HF_ALREADY_HELD, now,
                      "the owner holds some of these values by another lock");
    } else if (number != NULL && hfi_hold_check(core, number, now)) {
        hfi_op_finish(core, op, HF_LOST, now,
                      "the owner's hold was lost (%s); release it first",
                      hf_lost_reason_text(number->lost_reason));
    } else if (number != NULL && !op->kind->reentrant &&
               !HFI_MUTATION(owner_let_in_again)) {
        hfi_op_finish(core, op, HF_ALREADY_HELD, now, NULL);
    }
    return number;
}

static void begin_acquire(struct hfi_core *core, struct hfi_op *op, int64_t now)
{
    struct hfi_number *number = hfi_op_hold(core, op, now);

    if (op->state == OP_DONE) {
        return;
    }
    if (number == NULL) {
        hfi_attempt_start(core, op, now);
    } else {
        op->number = number;
        hfi_enter_start(core, op, now);
    }
}

/* Who has it, if that is known here. */
static void finish_not_owner(struct hfi_core *core, struct hfi_op *op,
                             int64_t now)
{
    const struct hfi_number *number;
    char field[128] = "";

    if (op->kind->has_ids) {
        hfi_op_finish(core, op, HF_GONE, now,
                      "this permit was given back, or its lease has ended");
        return;
    }
    DL_FOREACH2(op->name->numbers, number, name_next)
    {
        if (number->state == NUMBER_HELD) {
            hfi_number_field(core, number, field, sizeof(field));
        }
    }
    if (field[0] == '\0') {
        hfi_op_finish(core, op, HF_NOT_OWNER, now, NULL);
    } else {
        hfi_op_finish(core, op, HF_NOT_OWNER, now, "%s; %s of this client does",
                      hf_status_text(HF_NOT_OWNER), field);
    }
}

/* A lost level is accounted for by its release, and touches nothing. */
static void finish_lost(struct hfi_core *core, struct hfi_op *op,
                        struct hfi_number *number, int64_t now)
{
    char field[128] = "";
    hf_lost_reason reason = number->lost_reason;
    int64_t age_ms = now - number->held_since_ms;

    hfi_number_field(core, number, field, sizeof(field));
    if (op->ask.kind == HFI_OP_RELEASE && --number->lost_levels == 0) {
        hfi_number_disown(core, number);
        hfi_number_move_to(core, number, NUMBER_OVER);
        hfi_number_tidy(core, number);
    }
    hfi_op_finish(core, op, HF_LOST, now,
                  "the lease of %s, taken %" PRId64 " ms ago, was lost: %s",
                  field, age_ms, hf_lost_reason_text(reason));
}

/* Release, extend, export: what needs a hold. */
static void begin_with_hold(struct hfi_core *core, struct hfi_op *op,
                            int64_t now)
{
    struct hfi_number *number = hfi_name_number_of(
        op->name, op->kind, op->ask.options, op->ask.owner);

    if (number == NULL) {
        finish_not_owner(core, op, now);
        return;
    }
    if (hfi_hold_check(core, number, now)) {
        finish_lost(core, op, number, now);
        return;
    }
    if (hfi_number_leaves(number)) {
        hfi_op_finish(core, op, HF_GONE, now,
                      "another call is giving this permit back");
        return;
    }
    op->number = number;
    if (op->ask.kind == HFI_OP_EXTEND) {
        hfi_extend_start(core, op, now);
    } else if (op->ask.kind == HFI_OP_EXPORT) {
        hfi_other_start(core, op, now);
    } else if (number->level_count > 1) {
        hfi_leave_start(core, op, now);
    } else {
        hfi_release_start(core, op, now);
    }
}

/* ---- by what it is ---- */

typedef void (*begin_fn)(struct hfi_core *core, struct hfi_op *op, int64_t now);

static const begin_fn begin_of[] = {
    [HFI_OP_ACQUIRE] = begin_acquire,  [HFI_OP_RELEASE] = begin_with_hold,
    [HFI_OP_EXTEND] = begin_with_hold, [HFI_OP_EXPORT] = begin_with_hold,
    [HFI_OP_IMPORT] = hfi_other_start, [HFI_OP_FORCE] = hfi_other_start,
    [HFI_OP_SHOW] = hfi_other_start,   [HFI_OP_SCAN] = hfi_other_start,
    [HFI_OP_TAKE] = hfi_take_start,    [HFI_OP_CHANGE] = hfi_change_start,
    [HFI_OP_AWAIT] = hfi_await_start,  [HFI_OP_TELL] = hfi_tell_start,
};

void hfi_op_begin(struct hfi_core *core, struct hfi_op *op, int64_t now)
{
    if (op->bundle != NULL) {
        hfi_bundle_turn(core, op, now);
        return;
    }
    begin_of[op->ask.kind](core, op, now);
}

/* ---- in its turn ---- */

struct hfi_op *hfi_op_first_of(const struct hfi_owner *owner,
                               const struct hfi_name *name)
{
    struct hfi_op *op;

    DL_FOREACH2(owner->ops, op, owner_next)
    {
        if (op->name == name) {
            return op;
        }
    }
    return NULL;
}

/* How long a call may take: what it waits for the lock, or, where it does not
 * wait, what an answer may take, and one reconnection for a release. */
static int64_t time_allowed(const struct hfi_core *core,
                            const struct hfi_op *op)
{
    bool waits = op->ask.kind == HFI_OP_ACQUIRE ||
                 op->ask.kind == HFI_OP_TAKE || op->ask.kind == HFI_OP_AWAIT;

    if (waits && op->ask.wait_ms < 0) {
        return HFI_NEVER;
    }
    if (waits && op->ask.wait_ms > 0) {
        return op->ask.wait_ms;
    }
    return HFI_MUTATION(no_time_limit)
               ? HFI_NEVER
               : core->config.response_limit_ms + core->config.connect_limit_ms;
}

bool hfi_op_enlist(struct hfi_core *core, struct hfi_op *op, int64_t now)
{
    struct hfi_op *first = NULL;

    op->give_up_ms = hfi_add_ms(now, time_allowed(core, op));
    if (op->ask.owner != NULL) {
        first = hfi_op_first_of(op->ask.owner, op->name);
        DL_APPEND2(op->ask.owner->ops, op, owner_prev, owner_next);
    } else {
        DL_APPEND2(core->unowned, op, owner_prev, owner_next);
    }
    if (first != NULL) {
        hfi_op_move_to(core, op, OP_TURN);
        hfi_op_set_timer(core, op, op->give_up_ms);
    }
    return first == NULL;
}

void hfi_core_start(struct hfi_core *core, struct hfi_op *op,
                    enum hfi_link_id here, int64_t now)
{
    core->here = here;
    if (core->closed) {
        hfi_op_finish(core, op, HF_CLOSED, now, NULL);
    } else if (hfi_op_enlist(core, op, now)) {
        hfi_op_begin(core, op, now);
    }
}
