/* SPDX-License-Identifier: MIT */
/* sync/demand.c - waiting for permits, and waiting for a latch.
 *
 * The waiters of this client for one name form a FIFO.  Its head subscribes,
 * asks after that once more, and then waits for a message or for the re-try
 * bound, as with a lock.
 *
 * By demand (permits): the head asks first, with all news.  If it is told that
 * there are permits, but too few for it, those behind who want no more may pass
 * it, and so may one who comes new: permits that somebody wants are not left
 * lying.  But whoever passes a head that has waited for the re-try bound is for
 * half of the bound the last, and what comes free meanwhile is the head's to
 * take: so a stream of small demands does not starve a large one, and a demand
 * that can never be met costs those behind it half of the bound, not for ever.
 *
 * All (latches): each looks once by itself, and may be through; then the head's
 * looks serve all who waited before they were sent.
 */
#include "sync/state.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A wait for a latch looks a last time so long before its end: a message that
 * was lost makes no failure of it. */
#define LAST_LOOK_MS 50

static bool is_head(const struct hfi_op *op)
{
    return op->in_fifo && op->name->fifo == op;
}

/* ---- waiting, whatever for ---- */

static int64_t held_back_until(const struct hfi_name *name)
{
    return name->counts == NULL ? 0 : name->counts->hold_back_ms;
}

/* When it asks again by itself at the latest. */
static int64_t wait_until(struct hfi_core *core, const struct hfi_op *op,
                          int64_t now)
{
    int64_t until = op->give_up_ms;
    int64_t back = held_back_until(op->name);

    if (is_head(op)) {
        until = hfi_earliest(until, now + hfi_retry_after(core, op));
    }
    if (is_head(op) && op->name_next != NULL && back > now) {
        until = hfi_earliest(until, back);
    }
    /* The end of somebody's lease is news that nobody publishes. */
    if (is_head(op) && op->request == HFI_ACQUIRE && op->busy_ttl_ms >= 0) {
        until = hfi_earliest(until, hfi_add_ms(now + 1, op->busy_ttl_ms));
    }
    /* An unclean id is sent again when none of its copies can run any more. */
    if (op->request == HFI_TAKE && op->number != NULL) {
        int64_t left = op->number->last_not_after_ms -
                       hfi_server_now(core, now);

        until = hfi_earliest(until, now + (left > 0 ? left : 0) + 1);
    }
    if (op->request == HFI_LOOK && op->give_up_ms - LAST_LOOK_MS > now) {
        until = hfi_earliest(until, op->give_up_ms - LAST_LOOK_MS);
    }
    return until;
}

/* In which state it waits, now that it was answered.  False: it does not, for
 * there is news already. */
static bool settle_down(struct hfi_core *core, struct hfi_op *op)
{
    const struct hfi_listener *listener;
    enum op_state state = OP_QUEUED;

    if (is_head(op)) {
        listener = hfi_waiter_listens(core, op);
        if (op->woken || (listener != NULL && listener->active && !op->heard)) {
            return false;
        }
        state = listener == NULL || listener->active || listener->refused
                    ? OP_WAITING
                    : OP_SUBSCRIBING;
    }
    hfi_op_move_to(core, op, state);
    return true;
}

static void wait_for_news(struct hfi_core *core, struct hfi_op *op, int64_t now)
{
    if (settle_down(core, op)) {
        hfi_op_set_timer(core, op, wait_until(core, op, now));
    } else {
        hfi_op_send(core, op, now);
    }
}

void hfi_count_news(struct hfi_core *core, struct hfi_op *op, int64_t now)
{
    if (op->state == OP_SUBSCRIBING || op->state == OP_WAITING) {
        hfi_count_send(core, op, now);
    } else if (op->state == OP_SENT) {
        op->woken = true;
    }
}

void hfi_count_timer(struct hfi_core *core, struct hfi_op *op, int64_t now)
{
    if (op->state == OP_SENT || now >= op->give_up_ms) {
        hfi_op_give_up(core, op, HF_TIMEOUT, now);
        return;
    }
    core->retries++;
    hfi_count_send(core, op, now);
}

/* ---- permits: by demand ---- */

void hfi_take_start(struct hfi_core *core, struct hfi_op *op, int64_t now)
{
    op->request = HFI_TAKE;
    if (op->ask.count == 0) {
        hfi_op_finish(core, op, HF_OK, now,
                      NULL); /* there always are so many */
    } else if (op->ask.wait_ms == 0) {
        hfi_count_send(core, op, now);
    } else {
        hfi_demand_join(core, op, now);
    }
}

void hfi_demand_join(struct hfi_core *core, struct hfi_op *op, int64_t now)
{
    op->began_ms = now;
    hfi_waiter_joins(core, op, now);
    if (op->state != OP_QUEUED) {
        return;
    }
    if (held_back_until(op->name) <= now) {
        hfi_op_send(core, op, now);
    } else {
        hfi_op_set_timer(core, op, op->give_up_ms);
    }
}

/* Those behind the head who want no more than there is may pass it. */
static void let_pass(struct hfi_core *core, struct hfi_op *head, int64_t now)
{
    int64_t left = head->seen_count;
    struct hfi_op *op = head->name_next;
    struct hfi_op *next;

    for (; op != NULL && left > 0; op = next) {
        next = op->name_next;
        if (op->state == OP_QUEUED && op->ask.count <= left) {
            left -= op->ask.count;
            hfi_op_send(core, op, now);
        }
    }
}

void hfi_demand_wait(struct hfi_core *core, struct hfi_op *op, int64_t now)
{
    wait_for_news(core, op, now);
    if (is_head(op) && op->state != OP_SENT &&
        held_back_until(op->name) <= now) {
        let_pass(core, op, now);
    }
}

void hfi_demand_served(struct hfi_core *core, struct hfi_op *op, int64_t now)
{
    struct hfi_op *head = op->name->fifo;
    int64_t back = now + core->config.retry_bound_ms / 2;

    if (!op->in_fifo || op == head ||
        now - head->began_ms < core->config.retry_bound_ms ||
        hfi_counts_of(op->name) == NULL) {
        return;
    }
    op->name->counts->hold_back_ms = back;
    if ((head->state == OP_WAITING || head->state == OP_SUBSCRIBING) &&
        head->timer.key > back) {
        hfi_op_set_timer(core, head, back); /* to let those behind pass */
    }
}

/* ---- latches: all ---- */

struct look {
    int64_t count;
    const char *armed; /* by which request; "": not known */
};

void hfi_await_start(struct hfi_core *core, struct hfi_op *op, int64_t now)
{
    op->request = HFI_LOOK;
    hfi_count_send(core, op, now);
}

void hfi_await_give_up(struct hfi_core *core, struct hfi_op *op, hf_status why,
                       int64_t now)
{
    if (why == HF_TIMEOUT && op->looked && op->refusal.status == HF_OK) {
        hfi_op_finish(core, op, op->ask.wait_ms == 0 ? HF_BUSY : HF_TIMEOUT,
                      now, "when last asked, %" PRId64 " were still to come",
                      op->seen_count);
    } else {
        hfi_tell_give_up(core, op, why, now);
    }
}

/* Open now; or it was since the last look, and has been armed again. */
static bool was_open(const struct hfi_op *op, const struct look *look)
{
    if (look->count <= 0) {
        return true;
    }
    return op->looked &&
           (look->count > op->seen_count ||
            (look->armed[0] != '\0' && strcmp(look->armed, op->seen) != 0));
}

static void remember(struct hfi_op *op, const struct look *look)
{
    op->looked = true;
    op->seen_count = look->count;
    if (look->armed[0] != '\0') {
        snprintf(op->seen, sizeof(op->seen), "%s", look->armed);
    }
}

/* The head's look says something to all who waited before it was sent.  The
 * turn is passed on when all of them are through, not from one to the next. */
static void tell_others(struct hfi_core *core, struct hfi_op *head,
                        const struct look *look, int64_t now)
{
    struct hfi_op *op = head->name_next;
    struct hfi_op *next;

    for (; op != NULL; op = next) {
        next = op->name_next;
        if (op->state != OP_QUEUED || op->order > head->order) {
            continue;
        }
        if (was_open(op, look)) {
            hfi_op_finish(core, op, HF_OK, now, NULL);
        } else {
            remember(op, look);
        }
    }
}

static void go_on_waiting(struct hfi_core *core, struct hfi_op *op, int64_t now)
{
    if (op->ask.wait_ms == 0 || now >= op->give_up_ms) {
        hfi_await_give_up(core, op, HF_TIMEOUT, now);
        return;
    }
    if (!op->in_fifo) {
        DL_APPEND2(op->name->fifo, op, name_prev, name_next);
        op->in_fifo = true;
    }
    wait_for_news(core, op, now);
}

static void on_look(struct hfi_core *core, struct hfi_op *op,
                    const struct look *look, int64_t now)
{
    op->refusal.status = HF_OK;
    op->pause_ms = 0;
    op->resent = 0;
    if (is_head(op)) {
        tell_others(core, op, look, now);
    }
    if (was_open(op, look)) {
        hfi_op_finish(core, op, HF_OK, now, NULL);
        return;
    }
    remember(op, look);
    op->order = core->scripts_sent; /* looks sent before say nothing to it */
    go_on_waiting(core, op, now);
}

void hfi_look_answer(struct hfi_core *core, struct hfi_copy *copy,
                     struct hfi_value *value, int64_t now)
{
    struct hfi_op *op = copy->op;
    struct look look;

    if (op == NULL) {
        return;
    }
    if (value->kind != HFI_ARRAY || value->count != 3 ||
        value->items[1].kind != HFI_TEXT) {
        hfi_count_error(core, op, copy, value, now);
        return;
    }
    look.count = hfi_value_number(&value->items[0], 0);
    look.armed = value->items[1].text;
    on_look(core, op, &look, now);
}
