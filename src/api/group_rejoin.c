/* SPDX-License-Identifier: MIT */
/* api/group_rejoin.c - members of a held red lock that were lost, or were never
 * had, are taken again.
 *
 * The call that made the outermost level stays as long as that is held, if its
 * leases are renewed.  Now and then it looks at all members, and asks for those
 * that are not held, once and without waiting.  One that grants joins the level,
 * as one that was late does; but it has no vote yet.
 *
 * For the hold must have been one without a gap.  A member that is believed to be
 * held may have been taken away (deleted, or forgotten by a restart) before the
 * newcomer granted, and somebody else may have had a quorum in between.  So the
 * newcomer votes once a quorum of the others was renewed by requests that left
 * after its grant: they were held until then, and it is held from before.  If the
 * group is lost first, it stays lost.
 */
#include "api/group.h"

#include <string.h>

#include "base/clock.h"

/* How often it looks: so many times a lease, within these bounds. */
#define LOOK_PARTS 3
#define LOOK_LEAST_MS 100
#define LOOK_MOST_MS 10000

/* ---- staying ---- */

/* Its record stays, so that it is known there if the thread ends. */
static bool keep_owner(struct hf_client *client, uint64_t id)
{
    struct hfi_owner *owner;

    if (hfi_client_enter(client, false, NULL) != HF_OK) {
        return false;
    }
    owner = hfi_owner_get(client->core, id, true);
    if (owner != NULL) {
        hfi_owner_ref(owner);
    }
    hfi_client_leave(client);
    return owner != NULL;
}

static void let_owner_go(struct hf_client *client, uint64_t id)
{
    struct hfi_owner *owner;

    hfi_client_lock(client);
    owner = client->core == NULL ? NULL
                                 : hfi_owner_get(client->core, id, false);
    if (owner != NULL) {
        hfi_owner_unref(client->core, owner);
    }
    hfi_client_unlock(client);
}

static int64_t period_of(const struct group_call *call)
{
    int64_t period = call->how.lease_ms / LOOK_PARTS;

    return call->how.lease_ms == 0  ? LOOK_MOST_MS
           : period < LOOK_LEAST_MS ? LOOK_LEAST_MS
           : period > LOOK_MOST_MS  ? LOOK_MOST_MS
                                    : period;
}

void hfi_group_stay(struct group_call *call)
{
    hf_group *group = call->group;

    if (!group->is_red || !call->how.renew || call->level->outer != NULL) {
        return;
    }
    for (size_t i = 0; i < group->client_count; i++) {
        if (!keep_owner(group->clients[i], call->owner)) {
            while (i-- > 0) {
                let_owner_go(group->clients[i], call->owner);
            }
            return;
        }
    }
    call->stays = true;
    call->plan.rejoin_ms = period_of(call);
    hfi_group_call_ref(call);
}

void hfi_group_stay_no_more(struct group_call *call)
{
    hf_group *group = call->group;

    if (!call->stays) {
        return;
    }
    call->stays = false;
    for (size_t i = 0; i < group->client_count; i++) {
        let_owner_go(group->clients[i], call->owner);
    }
    hfi_group_call_unref(call); /* whoever steps has another reference */
}

/* ---- looking ---- */

/* What was lost of a member is accounted for, so that it can be taken again. */
static bool forget(struct group_call *call, const struct group_loss *loss,
                   int64_t now)
{
    hf_group *group = call->group;
    size_t at = loss->member;
    hf_lock *lock = group->members[at];
    struct hf_client *client = lock->client;
    struct hfi_object object = hfi_lock_object(lock);
    struct hfi_owner *owner;
    bool forgotten;

    if (hfi_client_enter(client, false, NULL) != HF_OK) {
        return false;
    }
    owner = hfi_owner_get(client->core, call->owner, false);
    pthread_mutex_lock(&group->mutex);
    forgotten = !call->gone && owner != NULL && !hfi_owner_is_gone(owner) &&
                hfi_core_hold_forget(client->core, owner, &object,
                                     hfi_group_hold_levels(call->hold, at),
                                     now);
    if (forgotten) {
        hfi_group_hold_drop(call->hold, loss);
    }
    pthread_mutex_unlock(&group->mutex);
    hfi_settle(client, now);
    hfi_client_leave(client);
    return forgotten;
}

static bool is_wanted(struct group_call *call, size_t at, int64_t now)
{
    enum hfi_member_state state = call->plan.members[at].state;
    struct group_loss loss = {.member = at};
    struct hfi_hold_view seen;

    if (state != HFI_MEMBER_FREE && state != HFI_MEMBER_HELD) {
        return false;
    }
    hfi_group_view_member(call->group->members[at], call->owner, &seen);
    loss.reason = seen.reason;
    memcpy(loss.owner, seen.owner, sizeof(loss.owner));
    return seen.count == 0 && forget(call, &loss, now);
}

/* Since when those that vote have been seen to be held, at the earliest. */
static void end_trials(struct group_call *call, const bool *counted)
{
    int64_t proven_ms[HF_GROUP_MAX];
    size_t count = 0;

    for (size_t i = 0; i < call->group->count; i++) {
        struct hfi_hold_view seen;

        if (counted[i]) {
            hfi_group_view_member(call->group->members[i], call->owner, &seen);
            if (seen.count > 0) {
                proven_ms[count++] = seen.proven_ms;
            }
        }
    }
    pthread_mutex_lock(&call->group->mutex);
    hfi_group_hold_end_trials(call->hold, proven_ms, count);
    pthread_mutex_unlock(&call->group->mutex);
}

bool hfi_group_is_lost(struct group_call *call)
{
    struct group_view seen;

    return hfi_group_view_hold(call->group, call->owner, &seen) == 0 ||
           seen.state == HF_STATE_LOST || seen.remaining_ms <= 0;
}

void hfi_group_look_after(struct group_call *call)
{
    bool counted[HF_GROUP_MAX];
    bool wanted[HF_GROUP_MAX];
    int64_t now = hfi_clock_ms();

    if (!call->plan.looks) {
        return;
    }
    call->plan.looks = false;
    if (!call->stays || hfi_group_is_lost(call)) {
        return; /* nothing comes back */
    }
    (void)hfi_group_counted(call->group, call->owner, counted);
    end_trials(call, counted);
    for (size_t i = 0; i < call->group->count; i++) {
        wanted[i] = is_wanted(call, i, now);
        call->members[i].again = wanted[i] || call->members[i].again;
    }
    hfi_plan_retake(&call->plan, wanted, now);
}
