/* SPDX-License-Identifier: MIT */
/* sync/adopt.c - members that are held already, continued from a handle.
 *
 * All that the handle has are asked at once, for an import takes nothing that
 * somebody else could want.  A group is complete when enough are held and all
 * have answered, or the members' time limit has passed: who is later joins.
 *
 * If so many are gone that the group is, what is left of it is released, as by a
 * release.  If it may stand yet, because members could not be asked, nothing is
 * to change by this call: what was adopted is forgotten here, and the handle is
 * as good as before.
 */
#include "sync/plan.h"

static void fail(struct hfi_plan *plan, int64_t now)
{
    size_t none = plan->count; /* no member's index */
    size_t gone = 0, first_gone = none, first_open = none;

    for (size_t i = plan->count; i-- > 0;) {
        const struct hfi_plan_member *member = &plan->members[i];

        if (member->state != HFI_MEMBER_FREE) {
            continue;
        }
        if (!hfi_plan_is_gone(member->status)) {
            first_open = i;
        } else {
            gone++;
            first_gone = member->part ? i : first_gone;
        }
    }
    plan->hands_back = plan->count - gone >= plan->quorum;
    plan->blame = plan->hands_back ? first_open : first_gone;
    plan->status = plan->blame < plan->count ? plan->members[plan->blame].status
                                             : HF_GONE;
    hfi_plan_undo(plan, false, now);
}

static void evaluate(struct hfi_plan *plan, int64_t now)
{
    bool pending = hfi_plan_in(plan, HFI_MEMBER_ASKED) > 0;
    bool may_wait = plan->due_ms != HFI_PLAN_NEVER;

    if (hfi_plan_in(plan, HFI_MEMBER_HELD) >= plan->quorum) {
        if (!pending || !may_wait) {
            hfi_plan_complete(plan, now);
        }
    } else if (!pending) {
        fail(plan, now);
    }
}

static void begin(struct hfi_plan *plan, int64_t now)
{
    plan->due_ms = now + plan->limit_ms;
    for (size_t i = 0; i < plan->count; i++) {
        if (plan->members[i].part) {
            hfi_plan_ask(plan, i, 0);
        } else {
            plan->members[i].status = HF_NOT_OWNER;
        }
    }
    evaluate(plan, now);
}

static void ended(struct hfi_plan *plan, size_t at, int64_t now)
{
    (void)at;
    evaluate(plan, now);
}

/* The limit has passed. */
static void tick(struct hfi_plan *plan, int64_t now)
{
    evaluate(plan, now);
}

const struct hfi_plan_way hfi_way_adopt = {begin, ended, NULL, tick};
