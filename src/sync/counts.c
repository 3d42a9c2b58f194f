/* SPDX-License-Identifier: MIT */
/* sync/counts.c - requests on numbers that nobody owns: semaphores, latches.
 *
 * There is no field that would show who took what.  So each request has an id,
 * a fresh number, and one not_after in all its copies; the server keeps its
 * answer (records.c), and a copy that runs later answers from there.
 *
 * TAKE    takes permits, or finds too few: a "no" that answers its copy alone
 *         and leaves no record.  Given up unanswered it is undone (ending.c).
 *         Who waits, and who goes first, is in demand.c.
 * CHANGE  cannot be taken back: release, set, count down...  Given up while a
 *         copy is unanswered it is fenced first, which finds out whether it was
 *         done and, if not, forbids that it ever will be.
 * FENCE   the fence of a CHANGE, under the same id.
 * TELL    reads, for people.
 *
 * REFUSED, the answer of a copy that came too late and found no record, settles
 * all copies: none of them did anything, and none ever will.  Only when the
 * server's time is past the window of the records is that not so.
 */
#include "sync/state.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/fail.h"

/* What came too late to run is sent again at once so often; then it pauses, for
 * the estimate of the server's clock must be far off. */
#define REFUSED_MAX 3

/* ---- ids ---- */

/* How long copies may run: no longer than answers are waited for. */
static int64_t life_of_request(const struct hfi_core *core,
                               const struct hfi_op *op, int64_t now)
{
    int64_t life = core->config.response_limit_ms;
    int64_t wait = op->give_up_ms - now;

    if (op->request != HFI_TAKE || op->ask.wait_ms <= 0) {
        return life;
    }
    if (wait < HFI_NOT_AFTER_MIN_MS) {
        wait = HFI_NOT_AFTER_MIN_MS;
    }
    return life < wait ? life : wait;
}

static bool take_id(struct hfi_core *core, struct hfi_op *op, int64_t now)
{
    struct hfi_number *number = op->number;

    if (number != NULL) {
        return true;
    }
    number = hfi_number_new(core, op, NULL);
    if (number == NULL) {
        return false;
    }
    if (op->kind->records) {
        number->amount = op->ask.count;
    }
    number->last_not_after_ms = hfi_server_now(core, now) +
                                life_of_request(core, op, now);
    number->longest_lease_ms = HFI_WINDOW_MS; /* so long an undo has sense */
    op->number = number;
    return true;
}

/* The request is over, or goes on with another id. */
static void drop_id(struct hfi_core *core, struct hfi_op *op, bool recorded,
                    bool must_end, int64_t now)
{
    struct hfi_number *number = op->number;

    op->number = NULL;
    if (number == NULL) {
        return;
    }
    if (recorded && hfi_number_clean(number)) {
        hfi_records_keep(core, op->name, number->n);
    }
    hfi_number_move_to(core, number, NUMBER_OVER);
    if (must_end) {
        hfi_end_begin(core, number, now, now);
    }
    hfi_number_tidy(core, number);
}

bool hfi_count_unclean(const struct hfi_op *op)
{
    return op->number != NULL && !hfi_number_clean(op->number);
}

/* ---- sending ---- */

static bool makes_a_record(const struct hfi_copy *copy)
{
    return copy->request == HFI_TAKE || copy->request == HFI_CHANGE;
}

static void send_copy(struct hfi_core *core, struct hfi_op *op,
                      struct hfi_copy *copy, int64_t now)
{
    int64_t until = op->give_up_ms;

    copy->number = op->number;
    copy->about = op;
    if (makes_a_record(copy)) {
        assert(op->number != NULL); /* hfi_count_send() saw to it */
        op->number->unanswered++;
        hfi_records_send(op->name, copy);
    }
    op->woken = false;
    op->heard = hfi_waiter_hears(op);
    op->order = core->scripts_sent;
    hfi_op_sent(core, op, copy);
    /* What is under way when a wait ends may still bring what it waits for. */
    if (op->ask.wait_ms > 0 && until < now + HFI_NOT_AFTER_MIN_MS) {
        until = now + HFI_NOT_AFTER_MIN_MS;
    }
    hfi_op_set_timer(core, op, until);
}

void hfi_count_send(struct hfi_core *core, struct hfi_op *op, int64_t now)
{
    enum hfi_link_id link = hfi_pick_link(core, core->here);
    bool needs_id = op->request == HFI_TAKE || op->request == HFI_CHANGE;
    struct hfi_copy *copy;

    assert(!core->closed); /* closing ends all calls, and wakes nobody */
    if (now >= op->give_up_ms) {
        hfi_op_give_up(core, op, HF_TIMEOUT, now);
        return;
    }
    if (link == HFI_COMMAND_LINKS) {
        hfi_op_linkless(core, op);
        return;
    }
    copy = needs_id && !take_id(core, op, now)
               ? NULL
               : hfi_copy_new(core, op->request, link, now);
    if (copy == NULL) {
        if (op->state == OP_NEW) { /* which is given up without a word of us */
            drop_id(core, op, false, false, now);
        }
        hfi_op_give_up(core, op, HF_NOMEM, now);
        return;
    }
    send_copy(core, op, copy, now);
}

/* ---- answers that all have in common ---- */

static bool is_refusal(const struct hfi_value *value)
{
    return value->kind == HFI_ARRAY && value->count == 1;
}

/* A copy came too late by the server's clock, or was fenced.  Does that say of
 * all copies that nothing was done?  It does while a record would be there; or
 * if all are answered, which is of no use to a fence: nobody has heard what the
 * copy answered that came back after it was begun. */
static bool settles_all(struct hfi_core *core, const struct hfi_op *op,
                        const struct hfi_value *value, int64_t now)
{
    const struct hfi_number *number = op->number;
    int64_t server_ms = hfi_value_number(&value->items[0], 0);

    hfi_server_seen(core, server_ms, now);
    return (hfi_number_clean(number) && op->request != HFI_FENCE) ||
           server_ms < hfi_add_ms(number->last_not_after_ms, HFI_WINDOW_MS);
}

static void finish_unknown(struct hfi_core *core, struct hfi_op *op,
                           int64_t now)
{
    drop_id(core, op, false, false, now);
    hfi_op_finish(core, op, HF_UNKNOWN, now,
                  "the server answered too late to tell whether it was done");
}

/* It was not done: another id may be. */
static void on_refused(struct hfi_core *core, struct hfi_op *op,
                       const struct hfi_value *value, int64_t now)
{
    if (!settles_all(core, op, value, now)) {
        finish_unknown(core, op, now);
        return;
    }
    drop_id(core, op, false, false, now);
    if (now >= op->give_up_ms) {
        hfi_op_give_up(core, op, HF_TIMEOUT, now);
    } else if (op->resent++ < REFUSED_MAX) {
        hfi_count_send(core, op, now);
    } else {
        op->resent = 0;
        hfi_op_move_to(core, op, OP_PAUSED);
        hfi_op_set_timer(core, op, now + HFI_PAUSE_MAX_MS);
    }
}

void hfi_count_error(struct hfi_core *core, struct hfi_op *op,
                     const struct hfi_copy *copy, const struct hfi_value *value,
                     int64_t now)
{
    switch (hfi_op_on_error(core, op, copy, value, now)) {
    case HFI_REMEDY_AGAIN:
        hfi_count_send(core, op, now);
        return;
    case HFI_REMEDY_PAUSE:
        return;
    case HFI_REMEDY_NONE:
        hfi_op_give_up(core, op, op->refusal.status, now);
        return;
    }
}

/* What was refused, could not be reached, or why else there is no answer. */
static void finish_without(struct hfi_core *core, struct hfi_op *op,
                           hf_status why, int64_t now)
{
    if (op->refusal.status != HF_OK &&
        (why == HF_TIMEOUT || why == op->refusal.status)) {
        hfi_op_finish_refused(core, op, now);
    } else if (why == HF_TIMEOUT) {
        hfi_op_finish(core, op, HF_UNREACHABLE, now,
                      op->earlier_unanswered || op->state == OP_SENT
                          ? "the server does not answer"
                          : "the server cannot be reached");
    } else {
        hfi_op_finish(core, op, why, now, NULL);
    }
}

/* ---- take ---- */

/* As when it last asked; or it never did, because it was held back. */
static void finish_too_few(struct hfi_core *core, struct hfi_op *op,
                           int64_t now)
{
    if (!op->looked) {
        hfi_op_finish(core, op, HF_TIMEOUT, now,
                      "permits wanted: %" PRId64 "; others of this client "
                      "came first",
                      op->ask.count);
        return;
    }
    hfi_op_finish(core, op, op->ask.wait_ms == 0 ? HF_BUSY : HF_TIMEOUT, now,
                  "permits wanted: %" PRId64 "; there when last asked: "
                  "%" PRId64,
                  op->ask.count, op->seen_count);
}

void hfi_take_give_up(struct hfi_core *core, struct hfi_op *op, hf_status why,
                      int64_t now)
{
    bool unclean = hfi_count_unclean(op);
    bool told = op->refusal.status == HF_OK && op->state != OP_LINKLESS &&
                (op->looked || op->state == OP_QUEUED);

    drop_id(core, op, false, unclean, now);
    if (unclean) {
        hfi_op_finish(core, op, HF_UNKNOWN, now,
                      "%s; an attempt is unanswered and is being undone",
                      hf_status_text(why));
    } else if (why == HF_TIMEOUT && told) {
        finish_too_few(core, op, now);
    } else {
        finish_without(core, op, why, now);
    }
}

static void on_too_few(struct hfi_core *core, struct hfi_op *op,
                       int64_t available, int64_t now)
{
    op->looked = true;
    op->seen_count = available;
    op->refusal.status = HF_OK;
    op->pause_ms = 0;
    op->resent = 0;
    if (!hfi_count_unclean(op)) {
        drop_id(core, op, false, false, now);
    }
    if (op->ask.wait_ms == 0 || now >= op->give_up_ms) {
        hfi_take_give_up(core, op, HF_TIMEOUT, now);
    } else {
        hfi_demand_wait(core, op, now);
    }
}

void hfi_take_answer(struct hfi_core *core, struct hfi_copy *copy,
                     struct hfi_value *value, int64_t now)
{
    struct hfi_op *op = copy->op;

    copy->number->unanswered--;
    if (value->kind == HFI_ERROR) {
        hfi_records_put_back(core, copy);
    }
    if (op == NULL) {
        return; /* given up meanwhile: its End has it */
    }
    if (value->kind == HFI_NIL) {
        drop_id(core, op, true, false, now);
        hfi_demand_served(core, op, now);
        hfi_op_finish(core, op, HF_OK, now, NULL);
    } else if (value->kind == HFI_INTEGER) {
        on_too_few(core, op, value->integer, now);
    } else if (is_refusal(value)) {
        on_refused(core, op, value, now);
    } else {
        hfi_count_error(core, op, copy, value, now);
    }
}

/* ---- change, and its fence ---- */

void hfi_change_start(struct hfi_core *core, struct hfi_op *op, int64_t now)
{
    bool gives = strcmp(op->ask.word, HFI_WORD_RELEASE) == 0 ||
                 strcmp(op->ask.word, HFI_WORD_RETURN) == 0;

    op->request = HFI_CHANGE;
    if (op->ask.several != NULL && !hfi_several_leave(core, op, now)) {
        return;
    }
    if (gives && op->ask.count == 0) {
        hfi_op_finish(core, op, HF_OK, now, NULL); /* nothing, as in Java */
        return;
    }
    hfi_count_send(core, op, now);
}

/* Nobody waits for its copies any more; the fence tells what they did. */
static void fence(struct hfi_core *core, struct hfi_op *op, int64_t now)
{
    if (op->copy != NULL) {
        op->copy->op = NULL;
        op->copy = NULL;
    }
    op->request = HFI_FENCE;
    op->give_up_ms = now + core->config.response_limit_ms +
                     core->config.connect_limit_ms;
    op->refusal.status = HF_OK;
    op->pause_ms = 0;
    op->resent = 0;
    hfi_count_send(core, op, now);
}

void hfi_change_give_up(struct hfi_core *core, struct hfi_op *op, hf_status why,
                        int64_t now)
{
    bool unclean = hfi_count_unclean(op);

    if (unclean && op->request == HFI_CHANGE && why != HF_CLOSED) {
        fence(core, op, now);
        return;
    }
    drop_id(core, op, false, false, now);
    if (unclean) {
        hfi_op_finish(core, op, HF_UNKNOWN, now,
                      "%s; it may have been done, and may be done yet",
                      why == HF_TIMEOUT ? "the server does not answer"
                                        : hf_status_text(why));
    } else {
        finish_without(core, op, why, now);
    }
}

/* Whoever waits here need not wait for the message. */
static void on_changed(struct hfi_core *core, struct hfi_op *op, int64_t count,
                       int64_t now)
{
    drop_id(core, op, true, false, now);
    op->result.changed = true;
    op->result.count = count;
    hfi_name_news(core, op->name, now);
    hfi_op_finish(core, op, HF_OK, now, NULL);
}

static void on_nothing_to_change(struct hfi_core *core, struct hfi_op *op,
                                 bool recorded, int64_t now)
{
    drop_id(core, op, recorded, false, now);
    if (op->ask.field != NULL) {
        hfi_op_finish(core, op, HF_GONE, now,
                      "there is no permit %s: it was given back, or its lease "
                      "has ended",
                      op->ask.field);
    } else if (op->ask.several != NULL) {
        hfi_op_finish(core, op, HF_GONE, now,
                      "one of %zu permits was given back, or its lease has "
                      "ended; none was given back now",
                      op->ask.several->count);
    } else {
        hfi_op_finish(core, op, HF_OK, now, NULL);
    }
}

/* Only a "no" leaves no record: an earlier copy may yet find nothing there. */
static void on_nil(struct hfi_core *core, struct hfi_op *op, int64_t now)
{
    bool no = strcmp(op->ask.word, HFI_WORD_SET) == 0;

    if (no && hfi_count_unclean(op)) {
        op->looked = true;
        fence(core, op, now);
    } else {
        on_nothing_to_change(core, op, !no, now);
    }
}

static void on_fenced(struct hfi_core *core, struct hfi_op *op,
                      const struct hfi_value *value, int64_t now)
{
    if (!settles_all(core, op, value, now)) {
        finish_unknown(core, op, now);
    } else if (op->looked) {
        on_nothing_to_change(core, op, false, now);
    } else {
        drop_id(core, op, false, false, now);
        hfi_op_finish(core, op, HF_NOT_DONE, now,
                      "not done: no answer came in time, and it was seen to "
                      "that none of it happens any more");
    }
}

void hfi_change_answer(struct hfi_core *core, struct hfi_copy *copy,
                       struct hfi_value *value, int64_t now)
{
    struct hfi_op *op = copy->op;

    if (makes_a_record(copy)) {
        copy->number->unanswered--;
    }
    if (value->kind == HFI_ERROR) {
        hfi_records_put_back(core, copy);
    }
    if (op == NULL) {
        return;
    }
    if (value->kind == HFI_INTEGER) {
        on_changed(core, op, value->integer, now);
    } else if (value->kind == HFI_NIL) {
        on_nil(core, op, now);
    } else if (!is_refusal(value)) {
        hfi_count_error(core, op, copy, value, now);
    } else if (op->request == HFI_FENCE) {
        on_fenced(core, op, value, now);
    } else {
        on_refused(core, op, value, now);
    }
}

/* ---- tell ---- */

void hfi_tell_start(struct hfi_core *core, struct hfi_op *op, int64_t now)
{
    op->request = HFI_TELL;
    hfi_count_send(core, op, now);
}

void hfi_tell_give_up(struct hfi_core *core, struct hfi_op *op, hf_status why,
                      int64_t now)
{
    finish_without(core, op, why, now);
}

void hfi_tell_answer(struct hfi_core *core, struct hfi_copy *copy,
                     struct hfi_value *value, int64_t now)
{
    struct hfi_op *op = copy->op;

    if (op == NULL) {
        return;
    }
    if (value->kind != HFI_ARRAY ||
        value->count != (size_t)(op->kind->has_ids ? 5 : 3)) {
        hfi_count_error(core, op, copy, value, now);
        return;
    }
    op->result.count = hfi_value_number(&value->items[op->kind->tells], 0);
    op->result.value = *value;
    memset(value, 0, sizeof(*value));
    hfi_op_finish(core, op, HF_OK, now, NULL);
}
