/* SPDX-License-Identifier: MIT */
/* api/group_leave.c - calls on a group that somebody holds already: how they
 * begin.
 *
 * Whoever ends a hold tells the calls that made it: a member that comes to them
 * later is left again.
 */
#include "api/group.h"

#include <stdlib.h>

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

/* The innermost level, to be freed, or NULL. */
static struct group_level *pop_level(struct group_call *call)
{
    hf_group *group = call->group;
    struct group_level *level = NULL;
    struct group_call *maker = NULL;

    pthread_mutex_lock(&group->mutex);
    if (call->hold->level != NULL) {
        level = hfi_group_hold_pop(call->hold);
        if (level->call != NULL) {
            level->call->gone = true;
            level->call->level = NULL;
            maker = hfi_group_call_try_ref(level->call) ? level->call : NULL;
        }
    }
    pthread_mutex_unlock(&group->mutex);
    if (maker != NULL) {
        stop_maker(maker);
    }
    return level;
}

void hfi_group_begin_release(struct group_call *call, int64_t now)
{
    struct group_level *level = pop_level(call);

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
    hfi_group_view(call->group, call->owner, counted, &seen);
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
