/* SPDX-License-Identifier: MIT */
/* api/group_leave.c - calls on a group that somebody holds already: how they
 * begin.
 *
 * Whoever ends a hold tells the calls that made it: a member that comes to them
 * later is left again.
 */
#include "api/group.h"

#include <stdlib.h>
#include <string.h>

/* An export waits so long for members that are late to join what it hands out. */
#define EXPORT_LATE_MS 100
#define EXPORT_LOOK_MS 5

/* So long all that an import asks may answer before a quorum is enough. */
#define IMPORT_LIMIT_MS 50

/* ---- left, extended ---- */

/* Whoever made this level is not to take members for it any more. */
static void stop_maker(struct group_call *maker)
{
    hfi_group_call_step(maker);
    hfi_group_call_unref(maker);
}

/* What is known of those that vote for the levels below the innermost. */
static void look_below(struct group_call *call, struct group_view *ret_below)
{
    bool counted[HF_GROUP_MAX] = {false};
    const struct group_hold *hold = call->hold;

    pthread_mutex_lock(&call->group->mutex);
    for (const struct group_level *level = hold->level->outer; level != NULL;
         level = level->outer) {
        for (size_t i = 0; i < call->group->count; i++) {
            counted[i] = counted[i] ||
                         (level->taken[i] && !hold->members[i].on_trial);
        }
    }
    pthread_mutex_unlock(&call->group->mutex);
    hfi_group_view(call->group, call->owner, counted, ret_below);
}

/* Where that member's client runs its callbacks; if it has none any more, where
 * the release is told. */
static void tell_loss(struct group_call *call, struct hfi_terms *news,
                      const struct group_loss *loss)
{
    const hf_lock *lock = call->group->members[loss->member];
    struct hf_client *client = lock->client;
    bool entered = hfi_client_enter(client, false, NULL) == HF_OK;

    if (!entered) {
        client = call->home;
        hfi_client_lock(client);
    }
    news->name_bytes = lock->name_bytes;
    memcpy(news->name, lock->name, lock->name_bytes);
    memcpy(news->owner, loss->owner, sizeof(news->owner));
    news->lost_reason = loss->reason;
    news->tell_lost = true;
    news->queued = true;
    hfi_callbacks_add_notice(client, news);
    if (entered) {
        hfi_client_left(client);
    }
    hfi_client_unlock(client);
}

/* It is the hold's no more, and no member joins it; the group's mutex is held.
 * @p ret_maker: to be stopped, or NULL. */
static struct group_level *pop(struct group_call *call,
                               struct group_call **ret_maker)
{
    struct group_level *level = NULL;

    *ret_maker = NULL;
    if (call->hold->level != NULL) {
        level = hfi_group_hold_pop(call->hold);
        if (level->call != NULL) {
            level->call->gone = true;
            level->call->level = NULL;
            *ret_maker = hfi_group_call_try_ref(level->call) ? level->call
                                                             : NULL;
        }
    }
    return level;
}

/* The innermost level, to be freed, or NULL. */
static struct group_level *pop_level(struct group_call *call)
{
    struct group_call *maker;
    struct group_level *level;

    pthread_mutex_lock(&call->group->mutex);
    level = pop(call, &maker);
    pthread_mutex_unlock(&call->group->mutex);
    if (maker != NULL) {
        stop_maker(maker);
    }
    return level;
}

/* ... and those below stay.  The levels of a red lock may be of different members:
 * all together may have been a quorum where one level has lost too many of its
 * own.  So what is left is judged at once, before anything is given back. */
static struct group_level *leave_level(struct group_call *call)
{
    struct group_call *maker;
    struct group_level *level;
    struct group_view below;
    struct group_loss loss;
    struct hfi_terms *news;

    look_below(call, &below);
    pthread_mutex_lock(&call->group->mutex);
    level = pop(call, &maker);
    news = hfi_group_hold_judge(call->hold, &below, &loss);
    pthread_mutex_unlock(&call->group->mutex);
    if (news != NULL) {
        tell_loss(call, news, &loss);
    }
    if (maker != NULL) {
        stop_maker(maker);
    }
    return level;
}

static bool has_levels_below(struct group_call *call)
{
    bool has;

    pthread_mutex_lock(&call->group->mutex);
    has = call->hold->level != NULL && call->hold->level->outer != NULL;
    pthread_mutex_unlock(&call->group->mutex);
    return has;
}

void hfi_group_begin_release(struct group_call *call, int64_t now)
{
    bool judges = call->group->is_red && has_levels_below(call);
    struct group_level *level = judges ? leave_level(call) : pop_level(call);

    if (level == NULL) {
        hfi_plan_cancel(&call->plan, HF_NOT_OWNER, now);
        return;
    }
    for (size_t i = 0; i < call->group->count; i++) {
        call->plan.members[i].part = level->taken[i];
    }
    free(level);
    hfi_plan_each(&call->plan, HFI_WANT_LEAVE, now);
}

void hfi_group_begin_extend(struct group_call *call, int64_t now)
{
    bool counted[HF_GROUP_MAX];

    if (hfi_group_counted(call->group, call->owner, counted) == 0) {
        hfi_plan_cancel(&call->plan, HF_NOT_OWNER, now);
        return;
    }
    for (size_t i = 0; i < call->group->count; i++) {
        call->plan.members[i].part = counted[i];
    }
    hfi_plan_each(&call->plan, HFI_WANT_EXTEND, now);
}

/* ---- handed out, continued ---- */

/* Members are to come yet, which would have to be left again. */
static bool makers_go_on(struct group_call *call)
{
    bool go_on = false;

    pthread_mutex_lock(&call->group->mutex);
    for (const struct group_level *level = call->hold->level; level != NULL;
         level = level->outer) {
        go_on = go_on ||
                (level->call != NULL && atomic_load(&level->call->coming));
    }
    pthread_mutex_unlock(&call->group->mutex);
    return go_on;
}

bool hfi_group_export_is_early(struct group_call *call, int64_t now)
{
    if (call->aim != GROUP_EXPORT || !makers_go_on(call)) {
        return false;
    }
    if (call->late_ms == 0) {
        call->late_ms = now + EXPORT_LATE_MS;
    }
    call->look_ms = now + EXPORT_LOOK_MS;
    return now < call->late_ms;
}

/* All levels go at once. */
void hfi_group_begin_export(struct group_call *call, int64_t now)
{
    bool counted[HF_GROUP_MAX];
    struct group_view seen;
    struct group_level *level;

    if (hfi_group_counted(call->group, call->owner, counted) == 0) {
        hfi_plan_cancel(&call->plan, HF_NOT_OWNER, now);
        return;
    }
    (void)hfi_group_view_hold(call->group, call->owner, &seen);
    if (seen.state == HF_STATE_LOST) {
        hfi_plan_cancel(&call->plan, HF_LOST, now);
        return;
    }
    while ((level = pop_level(call)) != NULL) {
        for (size_t i = 0; i < call->group->count; i++) {
            call->plan.members[i].part |= level->taken[i] && counted[i];
            call->plan.members[i].on_trial |= level->taken[i] && !counted[i];
        }
        free(level);
    }
    hfi_plan_each(&call->plan, HFI_WANT_HAND_OUT, now);
}

void hfi_group_begin_import(struct group_call *call, int64_t now)
{
    struct hfi_plan *plan = &call->plan;

    for (size_t i = 0; i < plan->count; i++) {
        plan->members[i].part = call->parts[i].count > 0;
    }
    plan->limit_ms = IMPORT_LIMIT_MS;
    hfi_plan_take(plan, now);
}
