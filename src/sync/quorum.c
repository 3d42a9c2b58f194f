/* SPDX-License-Identifier: MIT */
/* sync/quorum.c - more than half of the members, asked all at once.
 *
 * A round asks every member once, without waiting.  As soon as a quorum has
 * granted, the plan is complete; as soon as none is possible any more, or the
 * members' time limit has passed, the round has failed and everything is given
 * back.  A member that did not answer in its time is asked again only when it is
 * needed, or after a while: whoever stalls makes nobody else wait.
 *
 * A wait is rounds with pauses of chance between them, each up to twice as long
 * as the one before, so that callers who got half of the votes each do not meet
 * again.  In a pause it listens: it waits for one of the members that were busy,
 * by that member's own means, and if it gets it, asks the others at once.
 */
#include "sync/mutations.h"
#include "sync/plan.h"

#define PAUSE_FIRST_MS 25

static void fail(struct hfi_plan *plan, int64_t now)
{
    plan->status = hfi_plan_verdict(plan, &plan->blame);
    if (plan->status == HF_BUSY && plan->wait_ms != 0) {
        plan->status = HF_TIMEOUT;
    }
    hfi_plan_undo(plan, hfi_plan_may_retry(plan, plan->status, now), now);
}

/* Those that were left out because they were slow are needed now. */
static bool ask_the_skipped(struct hfi_plan *plan, int64_t now)
{
    bool asked = false;

    for (size_t i = 0; i < plan->count; i++) {
        if (plan->members[i].skipped &&
            plan->members[i].state == HFI_MEMBER_FREE) {
            hfi_plan_ask(plan, i, 0);
            asked = true;
        }
    }
    plan->due_ms = asked ? now + plan->limit_ms : plan->due_ms;
    return asked;
}

static void evaluate(struct hfi_plan *plan, int64_t now)
{
    size_t held = hfi_plan_in(plan, HFI_MEMBER_HELD);

    if (held >= plan->quorum) {
        hfi_plan_complete(plan, now);
    } else if (held + hfi_plan_in(plan, HFI_MEMBER_ASKED) < plan->quorum &&
               !ask_the_skipped(plan, now)) {
        fail(plan, now);
    }
}

static void begin(struct hfi_plan *plan, int64_t now)
{
    plan->due_ms = HFI_MUTATION(limit_ignored) ? HFI_PLAN_NEVER
                                               : now + plan->limit_ms;
    for (size_t i = 0; i < plan->count; i++) {
        struct hfi_plan_member *member = &plan->members[i];

        if (member->state == HFI_MEMBER_HELD) {
            continue;
        }
        if (member->state == HFI_MEMBER_FREE && !member->sick) {
            hfi_plan_ask(plan, i, 0);
        } else {
            member->skipped = true;
            member->status = HF_UNREACHABLE;
        }
    }
    evaluate(plan, now);
}

/* A new round, or the end if there is no time for one. */
static void go_on(struct hfi_plan *plan, int64_t now)
{
    if (hfi_plan_left(plan, now) == 0) {
        hfi_plan_undo(plan, false, now);
        return;
    }
    hfi_plan_move_to(plan, HFI_PLAN_ASKING);
    begin(plan, now);
}

static void ended(struct hfi_plan *plan, size_t at, int64_t now)
{
    struct hfi_plan_member *member = &plan->members[at];

    if (member->late && member->status == HF_CANCELLED) {
        member->status = HF_UNREACHABLE; /* it was us who gave it up */
    }
    if (plan->state == HFI_PLAN_ASKING) {
        evaluate(plan, now);
    } else if (hfi_plan_in(plan, HFI_MEMBER_ASKED) == 0) {
        go_on(plan, now); /* it was the one that is listened at */
    }
}

/* One of the busy members, by chance; count: there is none. */
static size_t pick_busy(struct hfi_plan *plan)
{
    size_t first = (size_t)hfi_plan_jitter(plan, 0, (int64_t)plan->count - 1);

    for (size_t i = 0; i < plan->count; i++) {
        size_t at = (first + i) % plan->count;
        const struct hfi_plan_member *member = &plan->members[at];

        if (member->state == HFI_MEMBER_FREE && member->status == HF_BUSY) {
            return at;
        }
    }
    return plan->count;
}

static void pause(struct hfi_plan *plan, int64_t now)
{
    int64_t left = hfi_plan_left(plan, now);
    size_t busy = pick_busy(plan);
    int64_t pause_ms;

    plan->pause_ms = plan->pause_ms == 0 ? PAUSE_FIRST_MS : 2 * plan->pause_ms;
    if (plan->pause_ms > plan->retry_ms) {
        plan->pause_ms = plan->retry_ms;
    }
    pause_ms = hfi_plan_jitter(plan, plan->pause_ms / 2 + 1,
                               plan->pause_ms + 1);
    pause_ms = left >= 0 && left < pause_ms ? left : pause_ms;
    if (busy < plan->count) {
        hfi_plan_move_to(plan, HFI_PLAN_LISTENING);
        hfi_plan_ask(plan, busy, pause_ms);
        plan->due_ms = now + pause_ms + plan->limit_ms;
    } else {
        hfi_plan_move_to(plan, HFI_PLAN_PAUSED);
        plan->due_ms = now + pause_ms;
    }
}

/* A limit has passed, or a pause. */
static void tick(struct hfi_plan *plan, int64_t now)
{
    if (plan->state == HFI_PLAN_PAUSED) {
        go_on(plan, now);
        return;
    }
    for (size_t i = 0; i < plan->count; i++) {
        if (plan->members[i].state == HFI_MEMBER_ASKED) {
            plan->members[i].late = true;
            plan->members[i].sick = true;
            hfi_plan_drop(plan, i);
        }
    }
}

const struct hfi_plan_way hfi_way_quorum = {begin, ended, pause, tick};
