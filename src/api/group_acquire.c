/* SPDX-License-Identifier: MIT */
/* api/group_acquire.c - how taking a group begins, and when what was taken is the
 * owner's.
 */
#include "api/group.h"

#include "base/ids.h"
#include "sync/kinds/kind.h"
#include "sync/mutations.h"

/* What a member of a red lock may take to answer, of the lease; at least and at
 * most. */
#define LIMIT_PARTS 200
#define LIMIT_LEAST_MS 5
#define LIMIT_MOST_MS 50

/* ---- begun ---- */

static int64_t member_limit(const struct group_call *call)
{
    int64_t limit = call->group->member_limit_ms;

    if (limit > 0) {
        return limit;
    }
    limit = call->how.lease_ms / LIMIT_PARTS;
    return limit < LIMIT_LEAST_MS  ? LIMIT_LEAST_MS
           : limit > LIMIT_MOST_MS ? LIMIT_MOST_MS
                                   : limit;
}

/* One request can name both. */
static bool share_a_slot(const hf_lock *a, const hf_lock *b)
{
    return a->client == b->client;
}

static bool may_go_together(const hf_group *group)
{
    if (group->is_red || group->count < 2 || group->count > HFI_TOGETHER_MAX) {
        return false;
    }
    for (size_t i = 0; i < group->count; i++) {
        if (group->members[i]->kind->together == NULL ||
            !share_a_slot(group->members[0], group->members[i])) {
            return false;
        }
    }
    return true;
}

void hfi_group_begin_acquire(struct group_call *call, int64_t now)
{
    struct hfi_plan *plan = &call->plan;
    struct group_view seen;

    (void)hfi_group_view_hold(call->group, call->owner, &seen);
    if (seen.state == HF_STATE_LOST) {
        hfi_plan_cancel(plan, HF_LOST, now);
        return;
    }
    plan->wait_ms = call->how.wait_ms > 0 && call->give_up_ms > now
                        ? call->give_up_ms - now
                        : call->how.wait_ms;
    plan->limit_ms = member_limit(call);
    plan->retry_ms = call->group->retry_ms;
    plan->catch_up = !call->group->is_red && plan->count > 1 &&
                     !call->how.renew && plan->wait_ms != 0;
    plan->may_together = may_go_together(call->group);
    plan->random = hfi_seed_make();
    for (size_t i = 0; i < plan->count; i++) {
        plan->members[i].sick = atomic_load_explicit(&call->group->sick[i],
                                                     memory_order_relaxed) >
                                now;
    }
    hfi_plan_take(plan, now);
}

/* ---- taken ---- */

static void settle_member(struct group_call *call, size_t at, int64_t now)
{
    hf_lock *lock = call->group->members[at];
    struct hf_client *client = lock->client;
    struct hfi_settling settling = {.fixed = hfi_plan_catches_up(&call->plan),
                                    .context = call->members[at].port,
                                    .min_hold_ms = call->how.min_hold_ms,
                                    .max_hold_ms = call->how.max_hold_ms};
    struct hfi_object object = hfi_lock_object(lock);
    struct hfi_owner *owner;

    settling.max_hold_warning_ms = call->how.max_hold_warning_ms;
    if (HFI_MUTATION(settled_never) ||
        hfi_client_enter(client, false, NULL) != HF_OK) {
        return;
    }
    owner = hfi_owner_get(client->core, call->owner, false);
    if (owner != NULL) {
        hfi_core_hold_settle(client->core, owner, &object, &settling, now);
        hfi_settle(client, now);
    }
    hfi_client_leave(client);
}

/* Enough members are held.  Do their leases last? */
void hfi_group_confirm(struct group_call *call, int64_t now)
{
    hf_group *group = call->group;
    struct group_view seen;
    bool outermost, lasts;

    outermost = call->hold->level == NULL;
    if (!outermost && hfi_group_is_lost(call)) {
        hfi_plan_cancel(&call->plan, HF_LOST, now); /* and stays so */
        return;
    }
    hfi_group_view(group, call->owner, call->level->taken, &seen);
    lasts = (seen.state != HF_STATE_LOST && seen.remaining_ms > 0) ||
            HFI_MUTATION(lasts_unchecked);
    for (size_t i = 0; i < group->count && lasts; i++) {
        if (call->level->taken[i] &&
            (hfi_plan_catches_up(&call->plan) ||
             (outermost &&
              (call->how.min_hold_ms > 0 || call->how.max_hold_ms > 0)))) {
            settle_member(call, i, now);
        }
    }
    pthread_mutex_lock(&group->mutex);
    lasts = lasts && hfi_group_hold_push(call->hold, call->level, &call->how);
    pthread_mutex_unlock(&group->mutex);
    if (lasts) {
        hfi_group_stay(call);
    }
    hfi_plan_confirm(&call->plan, lasts, now);
}
