/* SPDX-License-Identifier: MIT */
/* sync/plan.c - what all plans share: members' states, undoing, the end.
 *
 * Happy path of taking: the way asks its members, enough of them are granted,
 * the plan is complete, its caller finds that the leases still last, and it is
 * done.  Else everything that is held is given back first: then comes another
 * round, if there is time for one, or the end.
 *
 * A caller is not kept waiting for what undoing takes (HFI_PLAN_UNDO_MS): the
 * members' own Ends see to it that nothing stays.  A member that answers after
 * the end joins what was taken, as long as that is held, or is left again.
 */
#include "sync/plan.h"

#include <assert.h>

#include "base/ids.h"
#include "sync/mutations.h"

#define TO(state) (1U << (state))

/* Row: where a plan is.  Bits: where it may go. */
static const unsigned legal_moves[HFI_PLAN_STATES] = {
    [HFI_PLAN_NEW] = TO(HFI_PLAN_ASKING) | TO(HFI_PLAN_LEAVING) |
                     TO(HFI_PLAN_DONE),
    [HFI_PLAN_ASKING] = TO(HFI_PLAN_EXTENDING) | TO(HFI_PLAN_COMPLETE) |
                        TO(HFI_PLAN_UNDOING),
    [HFI_PLAN_LISTENING] = TO(HFI_PLAN_ASKING) | TO(HFI_PLAN_UNDOING),
    [HFI_PLAN_EXTENDING] = TO(HFI_PLAN_COMPLETE) | TO(HFI_PLAN_UNDOING),
    [HFI_PLAN_COMPLETE] = TO(HFI_PLAN_DONE) | TO(HFI_PLAN_UNDOING),
    [HFI_PLAN_UNDOING] = TO(HFI_PLAN_LISTENING) | TO(HFI_PLAN_PAUSED) |
                         TO(HFI_PLAN_DONE),
    [HFI_PLAN_PAUSED] = TO(HFI_PLAN_ASKING) | TO(HFI_PLAN_UNDOING),
    [HFI_PLAN_LEAVING] = TO(HFI_PLAN_DONE),
    [HFI_PLAN_DONE] = 0,
};

void hfi_plan_move_to(struct hfi_plan *plan, enum hfi_plan_state next)
{
    bool legal = (legal_moves[plan->state] & TO(next)) != 0;

    assert(legal);
    (void)legal;
    plan->state = next;
}

static void member_move_to(struct hfi_plan_member *member,
                           enum hfi_member_state next)
{
    member->state = next;
    member->dropped = false;
}

/* ---- what is wanted of members ---- */

void hfi_plan_ask(struct hfi_plan *plan, size_t at, int64_t wait_ms)
{
    struct hfi_plan_member *member = &plan->members[at];

    member_move_to(member, HFI_MEMBER_ASKED);
    member->want = HFI_WANT_ASK;
    member->wait_ms = wait_ms;
    member->skipped = false;
}

void hfi_plan_drop(struct hfi_plan *plan, size_t at)
{
    struct hfi_plan_member *member = &plan->members[at];

    if (member->want == HFI_WANT_ASK) { /* it has not even been begun */
        member->want = HFI_WANT_NOTHING;
        member_move_to(member, HFI_MEMBER_FREE);
        member->status = HF_CANCELLED;
    } else if (!member->dropped) {
        member->want = HFI_WANT_DROP;
        member->dropped = true;
    }
}

static void leave(struct hfi_plan_member *member)
{
    member_move_to(member, HFI_MEMBER_LEAVING);
    member->want = HFI_WANT_LEAVE;
}

/* Of what was taken it is not wanted after all. */
static void undo_member(const struct hfi_plan *plan,
                        struct hfi_plan_member *member)
{
    leave(member);
    if (plan->hands_back) {
        member->want = HFI_WANT_HAND_OUT;
    }
}

static void hand_out(struct hfi_plan_member *member)
{
    member_move_to(member, HFI_MEMBER_LEAVING);
    member->want = HFI_WANT_HAND_OUT;
}

static void extend(struct hfi_plan_member *member)
{
    member_move_to(member, HFI_MEMBER_EXTENDING);
    member->want = HFI_WANT_EXTEND;
}

size_t hfi_plan_in(const struct hfi_plan *plan, enum hfi_member_state state)
{
    size_t count = 0;

    for (size_t i = 0; i < plan->count; i++) {
        count += plan->members[i].state == state;
    }
    return count;
}

/* ---- time ---- */

int64_t hfi_plan_left(const struct hfi_plan *plan, int64_t now)
{
    if (plan->give_up_ms == HFI_PLAN_NEVER) {
        return -1;
    }
    return plan->give_up_ms > now ? plan->give_up_ms - now : 0;
}

int64_t hfi_plan_jitter(struct hfi_plan *plan, int64_t least, int64_t most)
{
    uint64_t span = (uint64_t)(most - least) + 1;

    return least + (int64_t)(hfi_random_next(&plan->random) % span);
}

/* Nobody could be asked just now, or others have it: that may change. */
static bool may_change(hf_status status)
{
    return status == HF_BUSY || status == HF_TIMEOUT || status == HF_UNKNOWN ||
           hf_status_class(status) == HF_CLASS_RETRY;
}

bool hfi_plan_may_retry(const struct hfi_plan *plan, hf_status status,
                        int64_t now)
{
    return plan->wait_ms != 0 && may_change(status) &&
           hfi_plan_left(plan, now) != 0;
}

/* ---- the end ---- */

void hfi_plan_finish(struct hfi_plan *plan, hf_status status, size_t blame)
{
    plan->status = status;
    plan->blame = blame;
    plan->due_ms = HFI_PLAN_NEVER;
    hfi_plan_move_to(plan, HFI_PLAN_DONE);
}

/* ---- undoing ---- */

static void check_undone(struct hfi_plan *plan, int64_t now)
{
    if (hfi_plan_in(plan, HFI_MEMBER_FREE) < plan->count) {
        return;
    }
    if (plan->again && hfi_plan_left(plan, now) != 0) {
        plan->way->pause(plan, now);
    } else {
        hfi_plan_finish(plan, plan->status, plan->blame);
    }
}

static void give_back(struct hfi_plan *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        struct hfi_plan_member *member = &plan->members[i];

        if (member->state == HFI_MEMBER_HELD && !HFI_MUTATION(undo_forgets)) {
            undo_member(plan, member);
        } else if (member->state == HFI_MEMBER_ASKED) {
            hfi_plan_drop(plan, i);
        }
    }
}

void hfi_plan_undo(struct hfi_plan *plan, bool again, int64_t now)
{
    hfi_plan_move_to(plan, HFI_PLAN_UNDOING);
    plan->again = again;
    plan->due_ms = now + HFI_PLAN_UNDO_MS;
    give_back(plan);
    check_undone(plan, now);
}

/* Some have not answered yet.  The caller has waited long enough; another round
 * does without them. */
static void undone_enough(struct hfi_plan *plan, int64_t now)
{
    if (!plan->again || hfi_plan_left(plan, now) == 0) {
        hfi_plan_finish(plan, plan->status, plan->blame);
    } else if (plan->way == &hfi_way_quorum) {
        plan->way->pause(plan, now);
    } else {
        plan->due_ms = plan->give_up_ms;
    }
}

/* ---- taken ---- */

void hfi_plan_take(struct hfi_plan *plan, int64_t now)
{
    plan->give_up_ms = plan->wait_ms < 0 || plan->wait_ms > HFI_PLAN_NEVER - now
                           ? HFI_PLAN_NEVER
                           : now + plan->wait_ms;
    plan->due_ms = HFI_PLAN_NEVER;
    hfi_plan_move_to(plan, HFI_PLAN_ASKING);
    plan->way->begin(plan, now);
}

bool hfi_plan_catches_up(const struct hfi_plan *plan)
{
    return plan->catch_up && !plan->together;
}

void hfi_plan_complete(struct hfi_plan *plan, int64_t now)
{
    (void)now;
    plan->status = HF_OK;
    if (!hfi_plan_catches_up(plan) || HFI_MUTATION(never_caught_up)) {
        hfi_plan_move_to(plan, HFI_PLAN_COMPLETE);
        return;
    }
    hfi_plan_move_to(plan, HFI_PLAN_EXTENDING);
    for (size_t i = 0; i < plan->count; i++) {
        extend(&plan->members[i]);
    }
}

static void caught_up(struct hfi_plan *plan, size_t at, int64_t now)
{
    hf_status status = plan->members[at].status;

    if (status != HF_OK) {
        plan->status = status;
        plan->blame = at;
        hfi_plan_undo(plan, hfi_plan_may_retry(plan, HF_TIMEOUT, now), now);
    } else if (hfi_plan_in(plan, HFI_MEMBER_EXTENDING) == 0) {
        hfi_plan_move_to(plan, HFI_PLAN_COMPLETE);
    }
}

static int64_t sooner(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

void hfi_plan_confirm(struct hfi_plan *plan, bool lasts, int64_t now)
{
    if (lasts) {
        plan->late_ms = plan->due_ms;
        plan->look_ms = plan->rejoin_ms > 0 ? now + plan->rejoin_ms
                                            : HFI_PLAN_NEVER;
        hfi_plan_finish(plan, HF_OK, plan->count);
        plan->due_ms = sooner(plan->late_ms, plan->look_ms);
        return;
    }
    plan->status = HF_TIMEOUT;
    plan->blame = plan->count;
    hfi_plan_undo(plan, hfi_plan_may_retry(plan, HF_TIMEOUT, now), now);
}

/* ---- left, extended, handed out ---- */

bool hfi_plan_is_gone(hf_status status)
{
    return status == HF_LOST || status == HF_GONE || status == HF_NOT_OWNER;
}

/* How many of those concerned have such a status; the first of them. */
static size_t count_of(const struct hfi_plan *plan, bool (*is)(hf_status),
                       size_t *ret_first)
{
    size_t count = 0;

    *ret_first = plan->count;
    for (size_t i = 0; i < plan->count; i++) {
        const struct hfi_plan_member *member = &plan->members[i];

        if (member->part && member->state == HFI_MEMBER_FREE &&
            is(member->status)) {
            *ret_first = count == 0 ? i : *ret_first;
            count++;
        }
    }
    return count;
}

static bool is_open(hf_status status)
{
    return status != HF_OK && !hfi_plan_is_gone(status);
}

static bool is_ok(hf_status status)
{
    return status == HF_OK;
}

/* Left: fewer than a quorum of members can still be taken for held.  It had
 * been held until now, unless too many say that they were not. */
static void check_left(struct hfi_plan *plan, size_t pending)
{
    size_t parts = 0, bad, open, first_bad, first_open;

    for (size_t i = 0; i < plan->count; i++) {
        parts += plan->members[i].part;
    }
    bad = count_of(plan, hfi_plan_is_gone, &first_bad);
    open = count_of(plan, is_open, &first_open);
    if (parts - bad < plan->quorum) {
        if (first_bad < plan->count) {
            hfi_plan_finish(plan, plan->members[first_bad].status, first_bad);
        } else if (pending == 0) {
            hfi_plan_finish(plan, HF_NOT_OWNER, plan->count);
        }
    } else if (pending + open <= plan->count - plan->quorum) {
        hfi_plan_finish(plan, HF_OK, plan->count);
    } else if (pending == 0) {
        hfi_plan_finish(plan, plan->members[first_open].status, first_open);
    }
}

static void check_extended(struct hfi_plan *plan, size_t pending)
{
    size_t first, bad;

    if (count_of(plan, is_ok, &first) >= plan->quorum) {
        hfi_plan_finish(plan, HF_OK, plan->count);
        return;
    }
    if (pending > 0) {
        return;
    }
    bad = count_of(plan, hfi_plan_is_gone, &first);
    if (bad == 0) {
        (void)count_of(plan, is_open, &first);
    }
    hfi_plan_finish(
        plan, first < plan->count ? plan->members[first].status : HF_NOT_OWNER,
        first);
}

/* All have answered.  Nobody has a handle of those that could not be written
 * out: they are left. */
static void check_handed_out(struct hfi_plan *plan)
{
    check_extended(plan, 0);
    for (size_t i = 0; i < plan->count; i++) {
        struct hfi_plan_member *member = &plan->members[i];

        if (member->part && is_open(member->status)) {
            leave(member);
        }
    }
}

static void check_each(struct hfi_plan *plan)
{
    size_t pending = hfi_plan_in(plan, HFI_MEMBER_LEAVING) +
                     hfi_plan_in(plan, HFI_MEMBER_EXTENDING);

    if (plan->each == HFI_WANT_LEAVE) {
        /* All that is left is waited for where nobody is slow: then nothing
         * stands on any server when the caller goes on. */
        if (pending == 0 || plan->quorum < plan->count) {
            check_left(plan, pending);
        }
    } else if (plan->each == HFI_WANT_HAND_OUT) {
        if (pending == 0) {
            check_handed_out(plan);
        }
    } else {
        check_extended(plan, pending);
    }
}

void hfi_plan_each(struct hfi_plan *plan, enum hfi_want want, int64_t now)
{
    (void)now;
    plan->each = want;
    plan->due_ms = HFI_PLAN_NEVER;
    hfi_plan_move_to(plan, HFI_PLAN_LEAVING);
    for (size_t i = 0; i < plan->count; i++) {
        if (plan->members[i].on_trial) {
            leave(&plan->members[i]);
        }
        if (!plan->members[i].part) {
            continue;
        }
        if (want == HFI_WANT_LEAVE) {
            leave(&plan->members[i]);
        } else if (want == HFI_WANT_HAND_OUT) {
            hand_out(&plan->members[i]);
        } else {
            extend(&plan->members[i]);
        }
    }
    check_each(plan);
}

/* ---- events ---- */

/* It answers after the end: it joins, or goes again. */
static void came_late(const struct hfi_plan *plan,
                      struct hfi_plan_member *member)
{
    if (member->state == HFI_MEMBER_HELD &&
        (plan->status != HF_OK || plan->gone) &&
        !HFI_MUTATION(late_member_stays)) {
        undo_member(plan, member);
    }
}

static enum hfi_member_state state_after(const struct hfi_plan *plan,
                                         const struct hfi_plan_member *member)
{
    if (member->state == HFI_MEMBER_ASKED) {
        return member->status == HF_OK ? HFI_MEMBER_HELD : HFI_MEMBER_FREE;
    }
    if (member->state == HFI_MEMBER_EXTENDING &&
        plan->each == HFI_WANT_NOTHING) {
        return HFI_MEMBER_HELD;
    }
    return HFI_MEMBER_FREE;
}

void hfi_plan_ended(struct hfi_plan *plan, size_t at, hf_status status,
                    int64_t now)
{
    struct hfi_plan_member *member = &plan->members[at];

    if (member->state != HFI_MEMBER_LEAVING || plan->each != HFI_WANT_NOTHING) {
        member->status = status; /* how undoing ended is of no interest */
    }
    member_move_to(member, state_after(plan, member));
    switch (plan->state) {
    case HFI_PLAN_ASKING:
    case HFI_PLAN_LISTENING:
        plan->way->ended(plan, at, now);
        return;
    case HFI_PLAN_EXTENDING:
        caught_up(plan, at, now);
        return;
    case HFI_PLAN_UNDOING:
        if (member->state == HFI_MEMBER_HELD &&
            !HFI_MUTATION(late_member_stays)) {
            undo_member(plan, member);
        }
        check_undone(plan, now);
        return;
    case HFI_PLAN_LEAVING:
        check_each(plan);
        return;
    case HFI_PLAN_NEW:
    case HFI_PLAN_COMPLETE:
    case HFI_PLAN_PAUSED:
    case HFI_PLAN_DONE:
    case HFI_PLAN_STATES:
        came_late(plan, member);
        return;
    }
}

static void drop_late_ones(struct hfi_plan *plan)
{
    plan->late_ms = HFI_PLAN_NEVER;
    for (size_t i = 0; i < plan->count; i++) {
        if (plan->members[i].state == HFI_MEMBER_ASKED) {
            plan->members[i].late = !plan->gone;
            hfi_plan_drop(plan, i);
        }
    }
}

/* It is done, and what was taken is held. */
static void look_after(struct hfi_plan *plan, int64_t now)
{
    if (now >= plan->late_ms) {
        drop_late_ones(plan);
    }
    if (now >= plan->look_ms) {
        plan->look_ms = HFI_PLAN_NEVER;
        plan->looks = true;
    }
    plan->due_ms = sooner(plan->late_ms, plan->look_ms);
}

void hfi_plan_retake(struct hfi_plan *plan, const bool *wanted, int64_t now)
{
    plan->look_ms = now + plan->rejoin_ms;
    for (size_t i = 0; i < plan->count; i++) {
        if (wanted[i]) {
            hfi_plan_ask(plan, i, 0);
            plan->late_ms = now + plan->limit_ms;
        }
    }
    plan->due_ms = sooner(plan->late_ms, plan->look_ms);
}

void hfi_plan_tick(struct hfi_plan *plan, int64_t now)
{
    if (now < plan->due_ms) {
        return;
    }
    switch (plan->state) {
    case HFI_PLAN_DONE:
        look_after(plan, now);
        return;
    case HFI_PLAN_UNDOING:
        undone_enough(plan, now);
        return;
    case HFI_PLAN_NEW:
    case HFI_PLAN_ASKING:
    case HFI_PLAN_LISTENING:
    case HFI_PLAN_EXTENDING:
    case HFI_PLAN_COMPLETE:
    case HFI_PLAN_PAUSED:
    case HFI_PLAN_LEAVING:
    case HFI_PLAN_STATES:
        plan->due_ms = HFI_PLAN_NEVER;
        plan->way->tick(plan, now);
        return;
    }
}

void hfi_plan_cancel(struct hfi_plan *plan, hf_status why, int64_t now)
{
    if (plan->state == HFI_PLAN_DONE ||
        (plan->state == HFI_PLAN_LEAVING && why != HF_CLOSED)) {
        return; /* what is given back is not kept, and an answer is near */
    }
    plan->status = why;
    plan->blame = plan->count;
    if (plan->state == HFI_PLAN_NEW || plan->state == HFI_PLAN_LEAVING) {
        hfi_plan_finish(plan, why, plan->count);
        return;
    }
    if (plan->state == HFI_PLAN_UNDOING) {
        plan->again = false;
        if (plan->due_ms > now + HFI_PLAN_UNDO_MS) {
            plan->due_ms = now + HFI_PLAN_UNDO_MS; /* it waited to go on */
        }
    } else {
        hfi_plan_undo(plan, false, now);
    }
    if (why == HF_CLOSED && plan->state != HFI_PLAN_DONE) {
        hfi_plan_finish(plan, why, plan->count);
    }
}

void hfi_plan_gone(struct hfi_plan *plan)
{
    plan->gone = true;
    plan->look_ms = HFI_PLAN_NEVER;
    plan->due_ms = HFI_PLAN_NEVER;
    drop_late_ones(plan);
}

/* ---- the verdict ---- */

/* How many say the same as this one. */
static size_t votes_for(const struct hfi_plan *plan, hf_status status)
{
    size_t votes = 0;

    for (size_t i = 0; i < plan->count; i++) {
        votes += plan->members[i].status == status;
    }
    return votes;
}

static int rank(hf_status status)
{
    if (status == HF_BUSY || status == HF_TIMEOUT) {
        return 3;
    }
    return status == HF_UNKNOWN ? 2 : status == HF_OK ? 0 : 1;
}

/* What so many say that no quorum is left decides.  Else busy before unknown
 * before whatever else. */
hf_status hfi_plan_verdict(const struct hfi_plan *plan, size_t *ret_blame)
{
    size_t blame = plan->count;

    for (size_t i = 0; i < plan->count; i++) {
        hf_status status = plan->members[i].status;

        if (status == HF_OK) {
            continue;
        }
        if (votes_for(plan, status) > plan->count - plan->quorum) {
            blame = i;
            break;
        }
        if (blame == plan->count ||
            rank(status) > rank(plan->members[blame].status)) {
            blame = i;
        }
    }
    assert(blame < plan->count); /* else they would have been taken */
    *ret_blame = blame;
    return plan->members[blame].status;
}
