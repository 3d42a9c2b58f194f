/* SPDX-License-Identifier: MIT */
/* sync/keep.c - re-entry, partial release, extension: what changes a hold.
 *
 * All three say what the count is to be afterwards, extend the TTL, and never
 * create: so they may run twice or late.  One copy of a call is under way at a
 * time; if its link goes, it is sent again, until the call is given up.
 *
 * ENTER   answered in time (before the new level's own deadline): the level
 *         counts.  Else HF_NOT_DONE: what was held before stands.
 * LEAVE   the level is gone when it is asked for, whatever is answered.
 * EXTEND  the innermost level lasts longer, if it is answered in time.
 * CUT     the level of a permit lasts so long, or shorter than before from the
 *         sending on (cut.c).
 *
 * Any of them that finds the field gone has found the hold lost.
 */
#include "sync/mutations.h"
#include "sync/state.h"

#include "base/fail.h"

/* ---- beginning ---- */

/* With local re-entry a level that the renewed lease covers costs nothing. */
static bool enters_locally(const struct hfi_core *core, const struct hfi_op *op)
{
    return core->config.local_reentry && op->ask.renewed &&
           !op->number->kind->counts_entries &&
           hfi_hold_renewed_lease(op->number) >= op->ask.lease_ms;
}

void hfi_enter_start(struct hfi_core *core, struct hfi_op *op, int64_t now)
{
    op->request = HFI_ENTER;
    op->level.lease_ms = op->ask.lease_ms;
    op->level.renewed = op->ask.renewed;
    /* A try that does not wait for the lock still waits for its answer. */
    op->give_up_ms = hfi_add_ms(now, core->config.response_limit_ms +
                                         core->config.connect_limit_ms);
    if (!enters_locally(core, op)) {
        hfi_keep_send(core, op, now);
        return;
    }
    op->level.deadline_ms = hfi_hold_deadline(op->number);
    if (hfi_level_push(op->number, &op->level)) {
        hfi_op_finish(core, op, HF_OK, now, NULL);
    } else {
        hfi_op_finish(core, op, HF_NOMEM, now, NULL);
    }
}

void hfi_leave_start(struct hfi_core *core, struct hfi_op *op, int64_t now)
{
    struct hfi_number *number = op->number;
    bool local = core->config.local_reentry &&
                 hfi_level_at(number, number->level_count - 1)->renewed;

    op->request = HFI_LEAVE;
    hfi_level_pop(number);
    if (hfi_hold_check(core, number, now)) {
        hfi_op_finish(core, op, HF_OK, now, NULL);
        return;
    }
    if (hfi_hold_renewed_lease(number) == 0) {
        hfi_hold_stop_renewing(core, number);
    }
    hfi_hold_arm(core, number, now);
    if (local) {
        hfi_op_finish(core, op, HF_OK, now, NULL);
        return;
    }
    hfi_keep_send(core, op, now);
}

void hfi_extend_start(struct hfi_core *core, struct hfi_op *op, int64_t now)
{
    struct hfi_number *number = op->number;

    op->request = op->ask.exact ? HFI_CUT : HFI_EXTEND;
    op->level = *hfi_level_at(number, number->level_count - 1);
    op->level.lease_ms = op->ask.lease_ms;
    hfi_keep_send(core, op, now);
}

/* ---- sending ---- */

static int64_t lease_carried(const struct hfi_op *op)
{
    if (op->request == HFI_LEAVE) {
        return hfi_hold_renewed_lease(op->number);
    }
    return op->level.lease_ms;
}

void hfi_keep_send(struct hfi_core *core, struct hfi_op *op, int64_t now)
{
    enum hfi_link_id link = hfi_pick_link(core, core->here);
    struct hfi_copy *copy;

    if (hfi_hold_check(core, op->number, now) || now >= op->give_up_ms) {
        hfi_keep_give_up(core, op, HF_TIMEOUT, now);
        return;
    }
    if (link == HFI_COMMAND_LINKS) {
        hfi_op_linkless(core, op);
        return;
    }
    if (op->request == HFI_EXTEND && hfi_native_may_shorten(op->number)) {
        int64_t at = hfi_add_ms(now, HFI_BARE_PAUSE_MS);

        hfi_op_move_to(core, op, OP_PAUSED);
        hfi_op_set_timer(core, op, at < op->give_up_ms ? at : op->give_up_ms);
        return;
    }
    copy = hfi_copy_new(core, op->request, link, now);
    if (copy == NULL) {
        hfi_keep_give_up(core, op, HF_NOMEM, now);
        return;
    }
    copy->number = op->number;
    copy->lease_ms = lease_carried(op);
    if (op->request == HFI_CUT) {
        hfi_cut_send(core, op, copy, now);
    }
    copy->count = op->number->level_count +
                  (op->request == HFI_ENTER && !HFI_MUTATION(enter_uncounted));
    hfi_op_sent(core, op, copy);
    hfi_op_set_timer(core, op, op->give_up_ms);
}

/* ---- given up ---- */

void hfi_keep_give_up(struct hfi_core *core, struct hfi_op *op, hf_status why,
                      int64_t now)
{
    if (op->request != HFI_LEAVE && hfi_hold_check(core, op->number, now)) {
        hfi_op_finish(core, op, HF_LOST, now, "the lease was lost: %s",
                      hf_lost_reason_text(op->number->lost_reason));
    } else if (op->request == HFI_LEAVE) {
        hfi_op_finish(core, op, HF_UNKNOWN, now,
                      "no answer; the hold counts as given up here, and the "
                      "count on the server is set right later");
    } else if (op->request == HFI_CUT &&
               op->number->permit->cuts_unanswered > 0) {
        hfi_op_finish(core, op, HF_UNKNOWN, now,
                      "no answer; the lease may have been set, and here it is "
                      "no longer than that");
    } else if (why == HF_CANCELLED || why == HF_CLOSED || why == HF_NOMEM) {
        hfi_op_finish(core, op, why, now, NULL);
    } else {
        hfi_op_finish(core, op, HF_NOT_DONE, now, "%s; %s",
                      op->refusal.status != HF_OK ? op->refusal.message
                                                  : "no answer in time",
                      "what was held before stands");
    }
}

/* ---- answers ---- */

/* An earlier CUT may run yet, and end what this lengthened. */
static void on_done_unheard(struct hfi_core *core, struct hfi_op *op,
                            int64_t now)
{
    if (op->shortens) {
        hfi_op_finish(core, op, HF_OK, now, NULL);
    } else {
        hfi_op_finish(core, op, HF_NOT_DONE, now,
                      "an earlier change of this lease is unanswered, and may "
                      "be done yet");
    }
}

/* What the innermost level gains by it. */
static void lengthen(struct hfi_op *op, struct level *innermost)
{
    if (op->request == HFI_CUT || (op->request == HFI_EXTEND &&
                                   innermost->lease_ms < op->level.lease_ms)) {
        innermost->lease_ms = op->level.lease_ms;
    }
    if ((op->request == HFI_CUT || op->request == HFI_EXTEND) &&
        innermost->deadline_ms < op->level.deadline_ms) {
        innermost->deadline_ms = op->level.deadline_ms;
    }
}

static void on_done(struct hfi_core *core, struct hfi_op *op,
                    const struct hfi_copy *copy, const struct hfi_value *value,
                    int64_t now)
{
    struct hfi_number *number = op->number;
    struct level *innermost = hfi_level_at(number, number->level_count - 1);

    op->level.deadline_ms = copy->sent_at_ms + op->level.lease_ms -
                            hfi_margin_ms(op->level.lease_ms);
    if (op->request != HFI_LEAVE && now >= op->level.deadline_ms) {
        hfi_keep_give_up(core, op, HF_TIMEOUT, now);
        return;
    }
    if (op->request == HFI_ENTER && !hfi_level_push(number, &op->level)) {
        hfi_op_finish(core, op, HF_NOMEM, now, NULL);
        return;
    }
    if (!hfi_cut_allows(number, copy, value)) {
        on_done_unheard(core, op, now);
        return;
    }
    lengthen(op, innermost);
    if (hfi_hold_pace(core, number) > 0) {
        hfi_hold_extended(core, number, copy, copy->lease_ms, now);
    }
    hfi_hold_arm(core, number, now);
    hfi_op_finish(core, op, HF_OK, now, NULL);
}

static void on_absent(struct hfi_core *core, struct hfi_op *op, int64_t ttl_ms,
                      int64_t now)
{
    hfi_hold_absent(core, op->number, ttl_ms, now);
    hfi_op_finish(core, op, op->request == HFI_LEAVE ? HF_GONE : HF_LOST, now,
                  "the hold is not on the server any more: %s",
                  hf_lost_reason_text(op->number->lost_reason));
}

/* A copy of a CUT came too late to run; the estimate of the server's clock was
 * corrected by that. */
static void on_too_late(struct hfi_core *core, struct hfi_op *op,
                        const struct hfi_value *value, int64_t now)
{
    if (value->count > 0) {
        hfi_server_seen(core, hfi_value_number(&value->items[0], 0), now);
    }
    hfi_op_move_to(core, op, OP_PAUSED);
    hfi_op_set_timer(core, op, now + HFI_PAUSE_FIRST_MS);
}

static void on_error(struct hfi_core *core, struct hfi_op *op,
                     const struct hfi_copy *copy, const struct hfi_value *value,
                     int64_t now)
{
    enum hfi_remedy remedy;

    if (value->kind == HFI_ERROR && value->refusal == HFI_REFUSAL_WRONG_TYPE) {
        on_absent(core, op, -2, now);
        return;
    }
    remedy = hfi_op_on_error(core, op, copy, value, now);
    if (remedy == HFI_REMEDY_AGAIN) {
        hfi_keep_send(core, op, now);
    } else if (remedy == HFI_REMEDY_NONE) {
        hfi_keep_give_up(core, op, HF_TIMEOUT, now);
    }
}

void hfi_keep_answer(struct hfi_core *core, struct hfi_copy *copy,
                     struct hfi_value *value, int64_t now)
{
    struct hfi_op *op = copy->op;
    struct hfi_number *number = copy->number;

    if (copy->request == HFI_CUT) {
        hfi_cut_landed(core, number);
    }
    if (op == NULL) {
        /* Given up.  What it says of the hold still counts. */
        if (value->kind == HFI_INTEGER && number->state == NUMBER_HELD &&
            !hfi_number_done(number, value)) {
            hfi_hold_absent(core, number, value->integer, now);
        }
        return;
    }
    if (hfi_hold_check(core, number, now)) {
        hfi_keep_give_up(core, op, HF_TIMEOUT, now);
    } else if (hfi_number_done(number, value)) {
        on_done(core, op, copy, value, now);
    } else if (value->kind == HFI_ARRAY && op->request == HFI_CUT) {
        on_too_late(core, op, value, now);
    } else if (value->kind == HFI_INTEGER) {
        on_absent(core, op, value->integer, now);
    } else {
        on_error(core, op, copy, value, now);
    }
}
