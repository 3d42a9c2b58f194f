/* SPDX-License-Identifier: MIT */
/* sync/multi.c - all or nothing: all by one request, or one after the other.
 *
 * Where one request can take all of them, it does, and nothing is held until it
 * has.  But two members that are never free at one moment would keep such a wait
 * waiting for ever.  So if now one and now another is in the way, and the
 * patience is over, the next round takes them one after the other; and the round
 * behind that tries it together again.
 *
 * One after the other they are asked in the group's order, each waiting for what
 * is left of the wait, and what was taken before stays held: since every group of
 * every process has the same order, no two can wait for each other, and the one
 * that is ahead always gets on.
 *
 * The order is only as good as the names that servers go by: a process that
 * calls one "localhost" and another that calls it "127.0.0.1" may disagree.  And
 * a program may hold a member by itself while it waits for the group.  So nobody
 * waits for a later member for ever: when its patience ends, a plan gives
 * everything back, pauses by chance, and begins anew, twice as patient.
 */
#include "sync/mutations.h"
#include "sync/plan.h"

#include <assert.h>

#define PATIENCE_FIRST_MS 2000
#define PATIENCE_MAX_MS 60000
#define PAUSE_LEAST_MS 10
#define PAUSE_MOST_MS 50

static void ask_next(struct hfi_plan *plan, int64_t now)
{
    int64_t wait = plan->wait_ms == 0           ? 0
                   : HFI_MUTATION(wait_ignored) ? -1
                                                : hfi_plan_left(plan, now);

    if (plan->at > 0 && !HFI_MUTATION(patience_endless) && wait != 0 &&
        (wait < 0 || wait > plan->patience_ms)) {
        wait = hfi_plan_jitter(plan, plan->patience_ms / 2, plan->patience_ms);
    }
    hfi_plan_ask(plan, plan->at, wait);
}

static void ask_all(struct hfi_plan *plan, int64_t now)
{
    int64_t wait = plan->wait_ms == 0 ? 0 : hfi_plan_left(plan, now);

    for (size_t i = 0; i < plan->count; i++) {
        hfi_plan_ask(plan, i, wait);
    }
}

static void begin(struct hfi_plan *plan, int64_t now)
{
    plan->patience_ms = plan->patience_ms == 0 ? PATIENCE_FIRST_MS
                                               : 2 * plan->patience_ms;
    if (plan->patience_ms > PATIENCE_MAX_MS) {
        plan->patience_ms = PATIENCE_MAX_MS;
    }
    plan->together = plan->may_together && !plan->together;
    if (plan->together) {
        ask_all(plan, now);
    } else {
        plan->at = 0;
        ask_next(plan, now);
    }
}

static bool is_in_the_way(hf_status status)
{
    return status != HF_OK && status != HF_NOT_DONE;
}

/* The last of those that were asked together has ended. */
static void all_ended(struct hfi_plan *plan, int64_t now)
{
    size_t blame = plan->count;

    for (size_t i = plan->count; i-- > 0;) {
        hf_status status = plan->members[i].status;

        if (is_in_the_way(status) ||
            (status != HF_OK &&
             (blame == plan->count ||
              !is_in_the_way(plan->members[blame].status)))) {
            blame = i;
        }
    }
    if (blame == plan->count) {
        hfi_plan_complete(plan, now);
        return;
    }
    plan->status = plan->members[blame].status;
    plan->blame = blame;
    hfi_plan_undo(plan, hfi_plan_may_retry(plan, plan->status, now), now);
}

static void ended(struct hfi_plan *plan, size_t at, int64_t now)
{
    hf_status status = plan->members[at].status;

    if (plan->together) {
        if (hfi_plan_in(plan, HFI_MEMBER_ASKED) == 0) {
            all_ended(plan, now);
        }
        return;
    }
    if (status != HF_OK) {
        plan->status = status;
        plan->blame = at;
        hfi_plan_undo(plan, hfi_plan_may_retry(plan, status, now), now);
        return;
    }
    plan->at = at + 1;
    if (plan->at < plan->count && plan->wait_ms != 0 &&
        hfi_plan_left(plan, now) == 0) {
        plan->status = HF_TIMEOUT;
        plan->blame = plan->at;
        hfi_plan_undo(plan, false, now);
    } else if (plan->at < plan->count) {
        ask_next(plan, now);
    } else {
        hfi_plan_complete(plan, now);
    }
}

static void pause(struct hfi_plan *plan, int64_t now)
{
    hfi_plan_move_to(plan, HFI_PLAN_PAUSED);
    plan->due_ms = now + hfi_plan_jitter(plan, PAUSE_LEAST_MS, PAUSE_MOST_MS);
}

static void tick(struct hfi_plan *plan, int64_t now)
{
    assert(plan->state == HFI_PLAN_PAUSED); /* nothing else here has a time */
    if (hfi_plan_left(plan, now) == 0) {
        hfi_plan_undo(plan, false, now);
        return;
    }
    hfi_plan_move_to(plan, HFI_PLAN_ASKING);
    begin(plan, now);
}

const struct hfi_plan_way hfi_way_multi = {begin, ended, pause, tick};
