/* SPDX-License-Identifier: MIT */
/* sync/waiting.c - an acquisition that was told BUSY: what it waits for, and how
 * long at most.
 *
 * The call joins the FIFO of its name; its head subscribes to the channel and
 * then asks once more, because the holder may have let go while the
 * subscription was on its way.  Only if that is BUSY too does it wait: for a
 * message, for the end of the holder's lease, for the re-try bound (whatever was
 * lost, it asks again after about two seconds), or for its own time to end.  A
 * message that comes while an attempt is under way is remembered.
 *
 * While another owner of this very client has the lock, the end of that hold is
 * the news, and the server is asked at the re-try bound only, in case it was
 * told to give the lock away.
 *
 * Who stands in the server's queue says in each of his requests for how long he
 * counts as alive, and asks again before that is over.  Who listens to nothing
 * asks by a back-off.
 */
#include "sync/mutations.h"
#include "sync/state.h"

/* Behind a holder that will publish nothing a waiter asks so often, as the
 * clients that this holder was written for do. */
#define STRANGER_POLL_MS 100

/* ---- how long ---- */

/* What the lock object was made with, or what is usual. */
static int64_t dead_after(const struct hfi_op *op)
{
    return op->ask.options == NULL ? HF_FAIR_DEAD_MS : op->ask.options->dead_ms;
}

static int64_t longest_place(const struct hfi_op *op)
{
    return op->ask.options == NULL ? HF_FAIR_WAIT_MS
                                   : op->ask.options->queue_wait_ms;
}

/* The re-try bound; longer when this client alone has a thousand waiters. */
static int64_t retry_bound(const struct hfi_core *core, const struct hfi_op *op)
{
    int64_t bound = core->config.retry_bound_ms;
    int64_t budget = (int64_t)core->waiting * 1000 / HFI_RETRIES_PER_SECOND;

    if (op->kind->queueing == HFI_QUEUE_ON_SERVER) {
        bound = hfi_earliest(bound, dead_after(op) * HFI_ALIVE_DENOMINATOR /
                                        HFI_ALIVE_NUMERATOR);
    }
    return budget > bound ? budget : bound;
}

/* A place in the server's queue: all copies of a number add the same. */
void hfi_wait_place(const struct hfi_core *core, struct hfi_op *op,
                    struct hfi_copy *copy)
{
    if (op->kind->queueing != HFI_QUEUE_ON_SERVER || op->ask.wait_ms == 0) {
        return;
    }
    copy->queue_ms = longest_place(op);
    if (op->ask.wait_ms > 0) {
        copy->queue_ms = hfi_earliest(copy->queue_ms, op->ask.wait_ms);
    }
    op->alive_ms = retry_bound(core, op) * HFI_ALIVE_NUMERATOR /
                   HFI_ALIVE_DENOMINATOR;
    if (op->alive_ms < dead_after(op)) {
        op->alive_ms = dead_after(op);
    }
    copy->alive_ms = op->alive_ms;
}

/* With jitter, so that the waiters of many processes do not ask at one moment;
 * and no later than a place in the server's queue is safe. */
int64_t hfi_retry_after(struct hfi_core *core, const struct hfi_op *op)
{
    int64_t bound = retry_bound(core, op);

    if (op->alive_ms > 0) {
        bound = hfi_earliest(bound, op->alive_ms * HFI_ALIVE_DENOMINATOR /
                                        HFI_ALIVE_NUMERATOR);
    }
    return bound - hfi_jitter(core, bound / 4 + 1);
}

/* ---- what for ---- */

/* The lock is in this client: the end of that hold is the news to wait for, and
 * a message that comes meanwhile changes nothing.  But the server may have been
 * told to give the lock away, so the bound counts here too. */
void hfi_wait_locally(struct hfi_core *core, struct hfi_op *op, int64_t now)
{
    if (op->state != OP_LOCAL) {
        hfi_op_move_to(core, op, OP_LOCAL);
    }
    hfi_op_set_timer(
        core, op,
        hfi_earliest(op->give_up_ms, now + hfi_retry_after(core, op)));
}

/* The next pause of a back-off: redrawn from the one before. */
static int64_t next_pause(struct hfi_core *core, const struct hfi_op *op)
{
    static const struct hfi_kind_options usual = {
        .backoff_first_ms = HF_BACKOFF_FIRST_MS,
        .backoff_max_ms = HF_BACKOFF_MAX_MS};
    const struct hfi_kind_options *how = op->ask.options == NULL
                                             ? &usual
                                             : op->ask.options;
    int64_t first = how->backoff_first_ms;
    int64_t last = op->pause_ms;
    int64_t pause = first;

    if (how->backoff == HF_BACKOFF_EXPONENTIAL && last > 0) {
        pause = 2 * last + hfi_jitter(core, last / 4 + 1);
    } else if (how->backoff == HF_BACKOFF_DECORRELATED && last > 0) {
        pause = first + hfi_jitter(core, 3 * last - first + 1);
    }
    return hfi_earliest(pause, how->backoff_max_ms);
}

/* Who listens to nothing asks again after a pause, and at the end of his time. */
static void back_off(struct hfi_core *core, struct hfi_op *op, int64_t now)
{
    op->pause_ms = next_pause(core, op);
    hfi_op_move_to(core, op, OP_PAUSED);
    hfi_op_set_timer(core, op,
                     HFI_MUTATION(spin_sleeps)
                         ? op->give_up_ms
                         : hfi_earliest(op->give_up_ms, now + op->pause_ms));
}

/* The lock is in this client: what the answer would be is known, but for what
 * the server was told since it was last asked. */
void hfi_wait_spinning(struct hfi_core *core, struct hfi_op *op, int64_t now)
{
    if (now >= op->sent_at_ms + core->config.retry_bound_ms) {
        hfi_attempt_ask(core, op, now);
    } else {
        back_off(core, op, now);
    }
}

static void wait_for_news(struct hfi_core *core, struct hfi_op *op, int64_t now)
{
    int64_t until = hfi_earliest(op->give_up_ms,
                                 now + hfi_retry_after(core, op));

    if (op->stranger) {
        until = hfi_earliest(until, now + STRANGER_POLL_MS +
                                        hfi_jitter(core, STRANGER_POLL_MS / 4));
    }
    /* The end of the lease is news for who is first in the queue. */
    if (op->busy_ttl_ms >= 0 && !op->behind) {
        until = hfi_earliest(until, hfi_add_ms(now + 1, op->busy_ttl_ms));
    }
    until = HFI_MUTATION(no_retry) ? op->give_up_ms : until;
    hfi_op_set_timer(core, op, until);
}

void hfi_wait_busy(struct hfi_core *core, struct hfi_op *op, int64_t ttl_ms,
                   int64_t now)
{
    struct hfi_listener *listener;

    op->busy_ttl_ms = ttl_ms;
    op->refusal.status = HF_OK;
    op->number->announced |= op->kind->busy_leaves && op->ask.wait_ms != 0;
    op->number->unanswered *= HFI_MUTATION(busy_answers_all) ? 0 : 1;
    op->resent = 0;
    if (op->ask.wait_ms == 0 || now >= op->give_up_ms) {
        hfi_attempt_give_up(core, op, HF_TIMEOUT, now);
        return;
    }
    if (op->kind->queueing == HFI_QUEUE_NONE) {
        back_off(core, op, now);
        return;
    }
    op->pause_ms = 0;
    if (op->kind->queueing == HFI_QUEUE_BY_DEMAND) {
        hfi_demand_wait(core, op, now);
        return;
    }
    if (hfi_name_held_here(op, now)) {
        hfi_wait_locally(core, op, now);
        return;
    }
    listener = hfi_waiter_listens(core, op);
    if ((op->woken && !HFI_MUTATION(wake_forgotten)) ||
        (hfi_waiter_hears(op) && !op->heard &&
         !HFI_MUTATION(no_try_after_subscribing))) {
        hfi_attempt_try(core, op, now);
        return;
    }
    if (listener == NULL || listener->active || listener->refused) {
        hfi_op_move_to(core, op, OP_WAITING);
    } else {
        hfi_op_move_to(core, op, OP_SUBSCRIBING);
    }
    wait_for_news(core, op, now);
}

/* ---- news, and no news ---- */

static void try_again(struct hfi_core *core, struct hfi_op *op, int64_t now)
{
    if (op->state == OP_LOCAL && hfi_name_being_released(op)) {
        return;
    }
    hfi_attempt_try(core, op, now);
}

void hfi_wait_news(struct hfi_core *core, struct hfi_op *op, int64_t now)
{
    /* Without a link it asks when there is one, paused when that is over. */
    if (op->state == OP_LOCAL || op->state == OP_SUBSCRIBING ||
        op->state == OP_WAITING) {
        try_again(core, op, now);
    } else if (op->state == OP_SENT) {
        op->woken = true;
    }
}

void hfi_wait_timer(struct hfi_core *core, struct hfi_op *op, int64_t now)
{
    if (op->state == OP_SENT || now >= op->give_up_ms) {
        hfi_attempt_give_up(core, op, HF_TIMEOUT, now);
        return;
    }
    core->retries++;
    if (op->state == OP_LOCAL) {
        hfi_attempt_ask(core, op, now);
    } else {
        hfi_attempt_try(core, op, now);
    }
}
