/* SPDX-License-Identifier: MIT */
/* guard.c - when a command must be stopped because its lock is being lost.
 *
 * While the lock stands and no deadline is in sight, nothing is due.  With a
 * deadline (a fixed lease, one that is not being renewed, --max-hold) the
 * signal is due `kill_after` before it and KILL `margin` before it; when the
 * deadline moves away, so do they.  A signal that was sent stays sent.
 *
 * When the lock has ended by the clock, the command is late already: both are
 * due at once.  When the server says that it was taken or deleted, no deadline
 * protects anybody any more: the signal is due at once, and KILL `kill_after`
 * later, or when it was due anyway if that is sooner.
 */
#include "guard.h"

#include <stddef.h>

void guard_init(struct guard *guard, const struct guard_plan *plan)
{
    *guard = (struct guard){
        .plan = *plan, .signal_at_ms = GUARD_NEVER, .kill_at_ms = GUARD_NEVER};
}

static void plan_for_deadline(struct guard *guard, int64_t deadline_ms)
{
    const struct guard_plan *plan = &guard->plan;

    if (deadline_ms == GUARD_NEVER) {
        guard->signal_at_ms = GUARD_NEVER;
        guard->kill_at_ms = GUARD_NEVER;
        return;
    }
    guard->kill_at_ms = deadline_ms - plan->margin_ms;
    guard->signal_at_ms = deadline_ms - plan->kill_after_ms;
    if (guard->signal_at_ms > guard->kill_at_ms) {
        guard->signal_at_ms = guard->kill_at_ms;
    }
}

static void plan_for_loss(struct guard *guard, const struct guard_view *view)
{
    int64_t kill_at_ms = view->now_ms;

    if (view->is_taken_away) {
        kill_at_ms += guard->plan.kill_after_ms;
    }
    if (kill_at_ms < guard->kill_at_ms) {
        guard->kill_at_ms = kill_at_ms;
    }
    guard->signal_at_ms = view->now_ms;
    guard->saw_loss = true;
}

enum guard_action guard_step(struct guard *guard, const struct guard_view *view)
{
    if (guard->saw_loss) {
        /* Nothing gets better after a loss; what is planned stays. */
    } else if (view->is_lost) {
        plan_for_loss(guard, view);
    } else {
        plan_for_deadline(guard, view->deadline_ms);
    }
    if (guard->plan.mode == GUARD_IGNORE) {
        return GUARD_DO_NOTHING;
    }
    if (!guard->has_signalled && view->now_ms >= guard->signal_at_ms) {
        guard->has_signalled = true;
        return GUARD_DO_SIGNAL;
    }
    if (guard->plan.mode == GUARD_KILL && !guard->has_killed &&
        view->now_ms >= guard->kill_at_ms) {
        guard->has_killed = true;
        return GUARD_DO_KILL;
    }
    return GUARD_DO_NOTHING;
}

int64_t guard_next_ms(const struct guard *guard)
{
    if (guard->plan.mode == GUARD_IGNORE) {
        return GUARD_NEVER;
    }
    if (!guard->has_signalled) {
        return guard->signal_at_ms;
    }
    if (guard->plan.mode == GUARD_KILL && !guard->has_killed) {
        return guard->kill_at_ms;
    }
    return GUARD_NEVER;
}
