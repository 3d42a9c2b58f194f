/* SPDX-License-Identifier: MIT */
/* sync/attempt.c - the life of one request for a lock.
 *
 * Happy path: the ACQUIRE of a fresh number is answered GRANTED, and the caller
 * holds the lock from the moment that copy was sent.
 *
 * Waiting path: it is answered BUSY, and goes on when there is news, or has been
 * none for long (waiting.c).
 *
 * The whole wait uses one number, whatever was answered or not; only a grant
 * that came after its own deadline costs the number, and a fresh one goes on.
 *
 * Ways to end without the lock: if every copy was answered (the number is
 * clean) there is nothing to do, and the caller is told busy, timeout,
 * cancelled, or what the server refused.  If one is unanswered he is told
 * HF_UNKNOWN, and the number is ended (ending.c).
 */
#include "sync/mutations.h"
#include "sync/state.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/fail.h"

/* A copy that came too late to run is sent again at once so often; then the
 * attempt pauses, for the estimate of the server's clock must be far off. */
#define REFUSED_MAX 3

/* ---- the number of the attempt ---- */

bool hfi_attempt_takes_number(struct hfi_core *core, struct hfi_op *op)
{
    if (op->number != NULL) {
        return true;
    }
    op->number = hfi_number_new(core, op, op->ask.owner);
    if (op->number == NULL) {
        return false;
    }
    op->number->lock = op->ask.lock;
    op->number->terms = op->ask.terms;
    if (op->ask.terms != NULL) {
        op->ask.terms->refs++;
    }
    return hfi_several_take(core, op);
}

static void drop_one(struct hfi_core *core, struct hfi_number *number,
                     bool must_end, int64_t now)
{
    hfi_number_disown(core, number);
    hfi_number_move_to(core, number, NUMBER_OVER);
    if (must_end) {
        hfi_end_begin(core, number, now, now);
    }
    hfi_number_tidy(core, number);
}

/* The attempt is over, or goes on with another number: this one is clean, or
 * has to be ended. */
void hfi_attempt_drops_number(struct hfi_core *core, struct hfi_op *op,
                              bool must_end, int64_t now)
{
    struct hfi_several *several = op->ask.several;
    struct hfi_number *number = op->number;

    op->number = NULL;
    if (number == NULL) {
        return;
    }
    hfi_waiter_is_deaf(core, op);
    drop_one(core, number, must_end, now);
    for (size_t i = 0; several != NULL && i < several->count; i++) {
        number = several->items[i].number;
        several->items[i].number = NULL;
        if (number != NULL) { /* there was memory for it */
            drop_one(core, number, must_end, now);
        }
    }
}

void hfi_attempt_landed(struct hfi_core *core, struct hfi_copy *copy,
                        int64_t now)
{
    if (copy->number != NULL) {
        copy->number->unanswered--;
        hfi_end_cleaner(core, copy->number, now);
    }
    for (size_t i = 0; i < copy->batch_count; i++) {
        copy->batch[i].number->unanswered--;
        hfi_end_cleaner(core, copy->batch[i].number, now);
    }
}

/* ---- ending without the lock ---- */

static void finish_busy(struct hfi_core *core, struct hfi_op *op, int64_t now)
{
    hf_status status = op->ask.wait_ms == 0 ? HF_BUSY : HF_TIMEOUT;
    const char *text = status == HF_BUSY
                           ? "held by another owner"
                           : "the wait ended before the lock was free";

    if (op->kind->has_ids) {
        hfi_op_finish(core, op, status, now,
                      "permits wanted: %" PRId64
                      "; available when last asked: %" PRId64,
                      op->ask.count, op->seen_count);
    } else if (op->busy_ttl_ms > 0) {
        hfi_op_finish(core, op, status, now,
                      "%s; when last asked, its lease had %" PRId64
                      " ms to run",
                      text, op->busy_ttl_ms);
    } else if (op->busy_ttl_ms == -1) {
        hfi_op_finish(core, op, status, now,
                      "%s; its key has no expiry, so it ends by no lease",
                      text);
    } else {
        hfi_op_finish(core, op, status, now, "%s", text);
    }
}

void hfi_attempt_give_up(struct hfi_core *core, struct hfi_op *op,
                         hf_status why, int64_t now)
{
    bool clean = op->number == NULL || hfi_number_clean(op->number);
    bool busy = op->busy_ttl_ms >= -1 && op->refusal.status == HF_OK;

    if (op->bundle != NULL) {
        hfi_bundle_give_up(core, op, why, now);
        return;
    }
    hfi_attempt_drops_number(core, op,
                             (!clean && !HFI_MUTATION(unclean_give_up_stays)) ||
                                 (op->number != NULL && op->number->announced),
                             now);
    if (!clean) {
        hfi_op_finish(core, op, HF_UNKNOWN, now,
                      "%s; an attempt is unanswered and is being undone",
                      hf_status_text(why));
    } else if (why == HF_TIMEOUT && op->refusal.status != HF_OK) {
        hfi_op_finish_refused(core, op, now);
    } else if (why == HF_TIMEOUT && op->state == OP_LINKLESS) {
        hfi_op_finish(core, op, HF_UNREACHABLE, now, NULL);
    } else if (why == HF_TIMEOUT && busy) {
        finish_busy(core, op, now);
    } else if (op->refusal.status == why) {
        hfi_op_finish_refused(core, op, now);
    } else {
        hfi_op_finish(core, op, why, now, NULL);
    }
}

/* ---- asking ---- */

/* How long a copy may wait on its way: no longer than its answer is waited for,
 * than its grant would be worth anything, than its caller waits. */
static int64_t life_of_copy(const struct hfi_core *core,
                            const struct hfi_op *op, int64_t now)
{
    int64_t life = op->ask.lease_ms - hfi_margin_ms(op->ask.lease_ms);
    int64_t wait = op->give_up_ms - now;

    if (life > core->config.response_limit_ms) {
        life = core->config.response_limit_ms;
    }
    if (op->ask.wait_ms <= 0) {
        return life;
    }
    if (wait < HFI_NOT_AFTER_MIN_MS) {
        wait = HFI_NOT_AFTER_MIN_MS;
    }
    return life < wait ? life : wait;
}

/* From now on a copy of it is on its way. */
static void carry(const struct hfi_copy *copy, struct hfi_number *number)
{
    if (copy->not_after_ms > number->last_not_after_ms ||
        HFI_MUTATION(newest_not_after)) {
        number->last_not_after_ms = copy->not_after_ms;
    }
    if (copy->lease_ms > number->longest_lease_ms) {
        number->longest_lease_ms = copy->lease_ms;
    }
    number->unanswered++;
}

/* Whom it is to take.  false: out of memory. */
static bool load(struct hfi_core *core, struct hfi_op *op,
                 struct hfi_copy *copy)
{
    if (op->bundle != NULL ? !hfi_bundle_load(core, op->bundle, copy)
                           : !hfi_several_join(op, copy)) {
        return false;
    }
    for (size_t i = 0; i < copy->batch_count; i++) {
        carry(copy, copy->batch[i].number);
    }
    if (op->bundle == NULL) {
        copy->number = op->number;
        copy->native = op->kind->native_acquire &&
                       op->number->last_not_after_ms == 0;
        carry(copy, op->number);
    }
    return true;
}

static void send_acquire(struct hfi_core *core, struct hfi_op *op,
                         enum hfi_link_id link, int64_t now)
{
    struct hfi_copy *copy = hfi_copy_new(core, HFI_ACQUIRE, link, now);

    if (copy == NULL) {
        hfi_attempt_give_up(core, op, HF_NOMEM, now);
        return;
    }
    copy->lease_ms = op->ask.lease_ms;
    copy->not_after_ms = hfi_server_now(core, now) +
                         life_of_copy(core, op, now);
    if (!load(core, op, copy)) {
        hfi_copy_free(core, copy);
        hfi_attempt_give_up(core, op, HF_NOMEM, now);
        return;
    }
    copy->not_after_ms = HFI_MUTATION(no_not_after) ? INT64_C(9000000000000)
                                                    : copy->not_after_ms;
    hfi_wait_place(core, op, copy);
    op->woken = false;
    op->stranger = false;
    op->heard = hfi_waiter_hears(op);
    hfi_op_sent(core, op, copy);
    /* What is under way when the wait ends is given the time that its copy
     * may run, so that a grant on its way is not turned into an unknown. */
    if (op->ask.wait_ms > 0) {
        int64_t until = now + HFI_NOT_AFTER_MIN_MS;

        hfi_op_set_timer(core, op,
                         until > op->give_up_ms ? until : op->give_up_ms);
    } else {
        hfi_op_set_timer(core, op, op->give_up_ms);
    }
}

/* Ask the server, whatever is believed here. */
void hfi_attempt_ask(struct hfi_core *core, struct hfi_op *op, int64_t now)
{
    enum hfi_link_id link = hfi_pick_link(core, core->here);

    if (link == HFI_COMMAND_LINKS) {
        hfi_op_linkless(core, op);
    } else if (!hfi_attempt_takes_number(core, op)) {
        hfi_attempt_give_up(core, op, HF_NOMEM, now);
    } else {
        send_acquire(core, op, link, now);
    }
}

void hfi_attempt_try(struct hfi_core *core, struct hfi_op *op, int64_t now)
{
    if (core->closed || now >= op->give_up_ms) {
        hfi_attempt_give_up(core, op, core->closed ? HF_CLOSED : HF_TIMEOUT,
                            now);
        return;
    }
    if (!hfi_name_held_here(op, now) ||
        (op->kind->busy_leaves && op->ask.wait_ms != 0)) {
        hfi_attempt_ask(core, op, now);
        return;
    }
    op->busy_ttl_ms = 0;
    op->refusal.status = HF_OK;
    if (op->ask.wait_ms == 0) {
        hfi_attempt_give_up(core, op, HF_TIMEOUT, now);
    } else if (op->kind->queueing == HFI_QUEUE_NONE) {
        hfi_wait_spinning(core, op, now);
    } else {
        hfi_wait_locally(core, op, now);
    }
}

void hfi_attempt_start(struct hfi_core *core, struct hfi_op *op, int64_t now)
{
    op->request = HFI_ACQUIRE;
    op->busy_ttl_ms = -2;
    if (op->ask.wait_ms == 0 || op->kind->queueing == HFI_QUEUE_NONE) {
        hfi_attempt_try(core, op, now);
        return;
    }
    if (op->kind->queueing == HFI_QUEUE_BY_DEMAND) {
        hfi_demand_join(core, op, now);
        return;
    }
    hfi_waiter_joins(core, op, now);
    if (op->state == OP_QUEUED) {
        hfi_op_set_timer(core, op, op->give_up_ms);
    }
}

/* First in the FIFO of its name.  The predecessor may have just been told that
 * the lock is free, so it begins by asking, unless the lock is in this client
 * or on its way out of it, which will be news. */
void hfi_attempt_at_head(struct hfi_core *core, struct hfi_op *op, int64_t now)
{
    if (op->kind->queueing != HFI_QUEUE_ON_SERVER &&
        hfi_name_being_released(op)) {
        hfi_wait_locally(core, op, now);
        return;
    }
    hfi_attempt_try(core, op, now);
}

/* ---- answers ---- */

/* Whoever believed until now that he has it, here, has had it taken away. */
static void lose_others(struct hfi_core *core, const struct hfi_number *granted,
                        int64_t now)
{
    struct hfi_number *other, *next;

    if (granted->kind->has_ids) {
        return; /* all of this name are shared */
    }
    DL_FOREACH_SAFE2(granted->name->numbers, other, next, name_next)
    {
        if (other != granted && other->state == NUMBER_HELD &&
            other->owner != granted->owner &&
            !(other->kind->shared && granted->kind->shared)) {
            hfi_hold_absent(core, other, -1, now);
        }
    }
}

/* max_hold, and what a foreign watchdog leaves, count from the sending too. */
static bool held_long_enough(const struct hfi_core *core,
                             const struct hfi_op *op,
                             const struct hfi_copy *copy, int64_t now)
{
    int64_t max_hold_ms = op->ask.terms == NULL ? 0
                                                : op->ask.terms->max_hold_ms;

    return (max_hold_ms > 0 &&
            now >= hfi_add_ms(copy->sent_at_ms, max_hold_ms)) ||
           now >= hfi_hold_cap(core, op->number, copy->sent_at_ms);
}

static int64_t deadline_by(const struct hfi_op *op, const struct hfi_copy *copy,
                           int64_t now)
{
    return (HFI_MUTATION(deadline_from_reading) ? now : copy->sent_at_ms) +
           op->ask.lease_ms - hfi_margin_ms(op->ask.lease_ms);
}

bool hfi_attempt_is_late(const struct hfi_core *core, const struct hfi_op *op,
                         const struct hfi_copy *copy, int64_t now)
{
    return !HFI_MUTATION(late_grant_held) &&
           (now >= deadline_by(op, copy, now) ||
            held_long_enough(core, op, copy, now));
}

void hfi_attempt_holds(struct hfi_core *core, struct hfi_op *op,
                       const struct hfi_copy *copy, int64_t now)
{
    struct hfi_number *number = op->number;
    struct level level = {.lease_ms = op->ask.lease_ms,
                          .renewed = op->ask.renewed,
                          .deadline_ms = deadline_by(op, copy, now)};

    op->number = NULL;
    lose_others(core, number, now);
    if (op->kind->queueing == HFI_QUEUE_BY_DEMAND) {
        hfi_demand_served(core, op, now);
    }
    hfi_hold_begin(core, number, &level, copy->sent_at_ms, now);
    hfi_several_hold(core, op, &level, copy->sent_at_ms, now);
    if (op->kind->has_ids) {
        hfi_number_field(core, number, op->result.handle_owner,
                         sizeof(op->result.handle_owner));
    }
    hfi_op_finish(core, op, HF_OK, now, NULL);
}

static void on_granted(struct hfi_core *core, struct hfi_op *op,
                       const struct hfi_copy *copy, int64_t now)
{
    if (!hfi_attempt_is_late(core, op, copy, now)) {
        hfi_attempt_holds(core, op, copy, now);
        return;
    }
    if (HFI_MUTATION(number_used_twice)) {
        hfi_end_begin(core, op->number, now, now);
    } else {
        hfi_attempt_drops_number(core, op, !HFI_MUTATION(late_grant_stays),
                                 now);
    }
    hfi_attempt_try(core, op, now);
}

/* It ran too late, by the server's clock.  Ours was corrected by its answer. */
void hfi_attempt_too_late(struct hfi_core *core, struct hfi_op *op,
                          int64_t server_ms, int64_t now)
{
    hfi_server_seen(core, server_ms, now);
    if (now >= op->give_up_ms) {
        hfi_attempt_give_up(core, op, HF_TIMEOUT, now);
    } else if (op->resent++ < REFUSED_MAX) {
        hfi_attempt_try(core, op, now);
    } else {
        op->resent = 0;
        hfi_op_move_to(core, op, OP_PAUSED);
        hfi_op_set_timer(core, op,
                         hfi_earliest(op->give_up_ms, now + HFI_PAUSE_MAX_MS));
    }
}

static void on_error(struct hfi_core *core, struct hfi_op *op,
                     const struct hfi_copy *copy, const struct hfi_value *value,
                     int64_t now)
{
    enum hfi_remedy remedy = hfi_op_on_error(core, op, copy, value, now);

    if (remedy == HFI_REMEDY_AGAIN) {
        hfi_attempt_try(core, op, now);
    } else if (remedy == HFI_REMEDY_NONE) {
        hfi_attempt_give_up(core, op, op->refusal.status, now);
    }
}

/* A bare SET ... NX: done, or not.  Whose it is, for how long, and whether it is
 * such a lock at all, the next question tells, which who tries once asks too. */
static void on_bare_answer(struct hfi_core *core, struct hfi_op *op,
                           const struct hfi_copy *copy,
                           const struct hfi_value *value, int64_t now)
{
    if (value->kind == HFI_TEXT) {
        on_granted(core, op, copy, now);
    } else if (value->kind != HFI_NIL) {
        on_error(core, op, copy, value, now);
    } else {
        hfi_attempt_try(core, op, now);
    }
}

void hfi_attempt_refused(struct hfi_core *core, struct hfi_op *op,
                         const struct hfi_copy *copy,
                         const struct hfi_value *value, int64_t now)
{
    if (value->kind == HFI_INTEGER) {
        op->behind = false;
        hfi_wait_busy(core, op, value->integer, now);
    } else if (value->kind == HFI_ARRAY && op->kind->has_ids &&
               value->count == 2) {
        op->seen_count = hfi_value_number(&value->items[0], 0);
        hfi_wait_busy(core, op, hfi_value_number(&value->items[1], -1), now);
    } else if (value->kind == HFI_ARRAY && value->count == 3) {
        op->stranger = true;
        hfi_wait_busy(core, op, hfi_value_number(&value->items[1], 0), now);
    } else if (value->kind == HFI_ARRAY && value->count == 4) {
        op->behind = true;
        hfi_wait_busy(core, op, hfi_value_number(&value->items[0], -1), now);
    } else {
        on_error(core, op, copy, value, now);
    }
}

void hfi_attempt_answer(struct hfi_core *core, struct hfi_copy *copy,
                        struct hfi_value *value, int64_t now)
{
    struct hfi_op *op = copy->op;

    if (copy->number == NULL) {
        hfi_bundle_answer(core, copy, value, now);
        return;
    }
    hfi_attempt_landed(core, copy, now);
    if (op == NULL) {
        return; /* given up meanwhile */
    }
    if (copy->native) {
        on_bare_answer(core, op, copy, value, now);
    } else if (hfi_number_done(copy->number, value) ||
               (value->kind == HFI_INTEGER && HFI_MUTATION(busy_believed))) {
        on_granted(core, op, copy, now);
    } else if (value->kind == HFI_ARRAY && value->count == 1) {
        hfi_attempt_too_late(core, op, hfi_value_number(&value->items[0], 0),
                             now);
    } else {
        hfi_attempt_refused(core, op, copy, value, now);
    }
}
