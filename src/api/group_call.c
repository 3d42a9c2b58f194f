/* SPDX-License-Identifier: MIT */
/* api/group_call.c - one call on a group, from its start to its end.
 *
 * How it begins is in group_acquire.c and group_leave.c, its members are in
 * group_member.c, and what becomes of it the plan decides (sync/plan.h).  Here it is made to look around
 * whenever there is news: one thread at a time does (the stepper), whichever it
 * is; who comes meanwhile makes it look once more.
 *
 * Calls of one owner on one group run in the order in which they were made.
 *
 * A call is done when its plan is; members that have not answered by then keep
 * it alive.
 */
#include "api/group.h"

#include <stdlib.h>

#include <utlist.h>

#include "base/clock.h"
#include "base/fail.h"
#include "sync/mutations.h"

/* ---- made and freed ---- */

void hfi_group_call_ref(struct group_call *call)
{
    atomic_fetch_add(&call->refs, 1);
}

bool hfi_group_call_try_ref(struct group_call *call)
{
    unsigned refs = atomic_load(&call->refs);

    while (refs > 0) {
        if (atomic_compare_exchange_weak(&call->refs, &refs, refs + 1)) {
            return true;
        }
    }
    return false;
}

/* The timer's, or the token's. */
static bool task_ref(struct hfi_task *task)
{
    return hfi_group_call_try_ref(((struct group_task *)task)->call);
}

static void task_run(struct hfi_task *task)
{
    struct group_call *call = ((struct group_task *)task)->call;

    hfi_group_call_step(call);
    hfi_group_call_unref(call);
}

void hfi_group_task_init(struct group_task *task, struct group_call *call)
{
    task->call = call;
    atomic_init(&task->task.listed, false);
    task->task.ref = task_ref;
    task->task.run = task_run;
}

static void init_members(struct group_call *call)
{
    size_t count = call->group->count;

    call->plan.members = (void *)&call->members[count];
    call->plan.count = count;
    for (size_t i = 0; i < count; i++) {
        hfi_group_member_init(call, i);
    }
}

struct group_call *hfi_group_call_new(hf_group *group, enum group_aim aim,
                                      uint64_t owner)
{
    struct group_call *call = calloc(
        1, sizeof(*call) + group->count * (sizeof(struct call_member) +
                                           sizeof(struct hfi_plan_member)));

    if (call == NULL) {
        return NULL;
    }
    if (pthread_mutex_init(&call->mutex, NULL) != 0) {
        free(call);
        return NULL;
    }
    atomic_init(&call->refs, 1);
    hfi_group_ref(group);
    call->group = group;
    call->home = group->members[group->place[0]]->client;
    call->aim = aim;
    call->owner = owner;
    call->look_ms = INT64_MAX;
    atomic_init(&call->coming, true);
    call->timer.task = &call->task.task;
    hfi_group_task_init(&call->task, call);
    init_members(call);
    return call;
}

void hfi_group_call_unref(struct group_call *call)
{
    hf_group *group = call->group;

    if (atomic_fetch_sub(&call->refs, 1) != 1) {
        return;
    }
    if (call->hold != NULL) { /* it was started */
        pthread_mutex_lock(&group->mutex);
        if (call->level != NULL && call->done && call->status == HF_OK) {
            call->level->call = NULL; /* it is the hold's */
        } else {
            free(call->level);
        }
        pthread_mutex_unlock(&group->mutex);
        hfi_client_lock(call->home);
        hfi_timer_remove(call->home, &call->timer);
        hfi_client_unlock(call->home);
        hfi_group_hold_unref(call->hold);
    }
    pthread_mutex_destroy(&call->mutex);
    hfi_terms_unref(call->news);
    free(call->outcomes);
    free(call->parts);
    free(call);
    hfi_group_unref(group);
}

/* ---- begun, in order ---- */

static bool is_my_turn(struct group_call *call)
{
    bool my_turn;

    pthread_mutex_lock(&call->group->mutex);
    my_turn = call->my_turn || HFI_MUTATION(turn_ignored);
    pthread_mutex_unlock(&call->group->mutex);
    return my_turn;
}

static void begin(struct group_call *call, int64_t now)
{
    call->begun = true;
    switch (call->aim) {
    case GROUP_ACQUIRE:
        hfi_group_begin_acquire(call, now);
        return;
    case GROUP_RELEASE:
        hfi_group_begin_release(call, now);
        return;
    case GROUP_EXTEND:
        hfi_group_begin_extend(call, now);
        return;
    case GROUP_EXPORT:
        hfi_group_begin_export(call, now);
        return;
    case GROUP_IMPORT:
        hfi_group_begin_import(call, now);
        return;
    }
}

/* It waits for its turn: until that comes, or its time passes. */
static void look_for_turn(struct group_call *call, int64_t now)
{
    if (is_my_turn(call)) {
        if (!hfi_group_export_is_early(call, now)) {
            begin(call, now);
        }
    } else if (now >= call->give_up_ms) {
        hfi_plan_cancel(&call->plan,
                        hfi_group_call_takes(call) ? HF_TIMEOUT : HF_NOT_DONE,
                        now);
    }
}

/* ---- done ---- */

static void unpin(struct hf_client *client, uint64_t id)
{
    struct hfi_owner *owner;

    hfi_client_lock(client);
    owner = client->core == NULL ? NULL
                                 : hfi_owner_get(client->core, id, false);
    if (owner != NULL) {
        hfi_owner_unpin(client->core, owner);
    }
    hfi_client_unlock(client);
}

/* It is none of this owner's calls any more.  Returns the next, referenced,
 * whose turn comes; NULL: there is none. */
static struct group_call *leave_queue(struct group_call *call)
{
    hf_group *group = call->group;
    struct group_call *next;
    struct hf_client *pinned;

    pthread_mutex_lock(&group->mutex);
    DL_DELETE(call->hold->calls, call);
    group->calls--;
    next = call->hold->calls;
    if (next != NULL && !next->my_turn) {
        hfi_group_call_ref(next);
    } else {
        next = NULL;
    }
    pinned = hfi_group_hold_tidy(group, call->hold);
    pthread_mutex_unlock(&group->mutex);
    if (pinned != NULL && !HFI_MUTATION(pin_kept)) {
        unpin(pinned, call->owner);
    }
    return next;
}

/* The next call of this owner begins, if there is one. */
static void pass_turn_on(struct group_call *next)
{
    if (next == NULL) {
        return;
    }
    pthread_mutex_lock(&next->group->mutex);
    next->my_turn = true;
    pthread_mutex_unlock(&next->group->mutex);
    hfi_group_call_step(next);
    hfi_group_call_unref(next);
}

static void forget_token(struct group_call *call)
{
    struct hf_client *client;

    if (!call->token_waits) {
        return;
    }
    client = call->how.cancel->client;
    hfi_client_lock(client);
    DL_DELETE(client->cancellable, &call->token);
    hfi_client_unlock(client);
    call->token_waits = false;
}

static void put_error(struct group_call *call)
{
    const struct hfi_plan *plan = &call->plan;
    size_t blame = plan->blame;

    call->status = plan->status;
    if (call->status == HF_OK) {
        return;
    }
    if (blame >= plan->count || call->members[blame].status == HF_OK) {
        hfi_fail(&call->error, call->status, "%s",
                 hf_status_text(call->status));
        return;
    }
    hfi_group_tell_outcome(call, blame, &call->error);
    call->error.status = call->status;
    if (call->group->is_red) {
        hf_error of_one = call->error;

        hfi_fail(&call->error, call->status,
                 "no quorum of %zu members out of %zu; one of them: %.160s",
                 plan->quorum, plan->count + call->group->absent,
                 of_one.message);
        hfi_error_node(&call->error, of_one.node);
    }
}

/* From here on the caller, who may be another thread, has the result. */
static void finish(struct group_call *call)
{
    struct group_call *next;

    call->done = true;
    put_error(call);
    hfi_group_put_outcomes(call);
    forget_token(call);
    next = leave_queue(call);
    for (size_t i = 0; i < call->group->count; i++) {
        atomic_store(&call->members[i].user.late, true);
    }
    hfi_client_lock(call->home);
    if (call->waiter == NULL) {
        hfi_group_call_ref(call);
        hfi_callbacks_add_ended(call->home, &call->async);
    }
    hfi_client_leave(call->home);
    if (call->waiter != NULL) {
        struct hfi_waiter *waiter = call->waiter;

        atomic_store(&call->lingers, hfi_waiter_is_mine(waiter));
        call->waiter = NULL; /* members that come later drive no link of his */
        hfi_waiter_done(waiter);
    }
    pass_turn_on(next);         /* callbacks come in the order of the calls */
    hfi_group_call_unref(call); /* it is in no list any more */
}

/* ---- stepping ---- */

/* When to look again, and whether the home client closes. */
static void set_timer(struct group_call *call)
{
    int64_t due = call->plan.due_ms;

    if (!call->begun && !call->done) {
        due = call->give_up_ms < call->look_ms ? call->give_up_ms
                                               : call->look_ms;
    }
    if (call->waiter != NULL && hfi_waiter_is_mine(call->waiter)) {
        call->waiter->due_ms = due;
        return;
    }
    if (atomic_load(&call->lingers)) {
        return;
    }
    hfi_client_lock(call->home);
    hfi_timer_set(call->home, &call->timer, due);
    hfi_client_unlock(call->home);
}

static void hear_of_the_end(struct group_call *call, int64_t now)
{
    bool closing;

    if (call->done) {
        if (!call->plan.gone && hfi_group_call_is_gone(call)) {
            hfi_plan_gone(&call->plan);
        }
        if (call->plan.gone) {
            hfi_group_stay_no_more(call);
        }
        return;
    }
    hfi_client_lock(call->home);
    closing = call->home->closing;
    hfi_client_unlock(call->home);
    if (closing) {
        hfi_plan_cancel(&call->plan, HF_CLOSED, now);
    } else if (call->how.cancel != NULL &&
               atomic_load(&call->how.cancel->fired)) {
        hfi_plan_cancel(&call->plan, HF_CANCELLED, now);
    }
}

static void look_around(struct group_call *call)
{
    int64_t now = hfi_clock_ms();

    hear_of_the_end(call, now);
    if (!call->begun && call->plan.state == HFI_PLAN_NEW) {
        look_for_turn(call, now);
    }
    hfi_group_hear_members(call, now);
    hfi_plan_tick(&call->plan, now);
    if (call->plan.state == HFI_PLAN_COMPLETE) {
        hfi_group_confirm(call, now);
    }
    hfi_group_look_after(call);
    hfi_group_carry_out(call);
    atomic_store(&call->coming,
                 call->plan.state != HFI_PLAN_DONE ||
                     hfi_plan_in(&call->plan, HFI_MEMBER_ASKED) > 0);
    if (call->plan.state == HFI_PLAN_DONE && !call->done) {
        finish(call);
    }
    set_timer(call);
}

void hfi_group_call_step(struct group_call *call)
{
    pthread_mutex_lock(&call->mutex);
    call->again = true;
    if (call->stepping) {
        pthread_mutex_unlock(&call->mutex);
        return;
    }
    call->stepping = true;
    while (call->again) {
        call->again = false;
        pthread_mutex_unlock(&call->mutex);
        look_around(call);
        pthread_mutex_lock(&call->mutex);
    }
    call->stepping = false;
    pthread_mutex_unlock(&call->mutex);
}

/* ---- begun ---- */

static void wait_for_token(struct group_call *call)
{
    struct hf_client *client = call->how.cancel->client;

    call->token.cancel = call->how.cancel;
    call->token.fired = &call->task.task;
    call->token_waits = true;
    hfi_client_lock(client);
    DL_APPEND(client->cancellable, &call->token);
    hfi_client_unlock(client);
}

/* Who owns it is busy as long as the group is held or asked for. */
static hf_status pin_owner(struct group_call *call, struct hf_client *client,
                           hf_error *reterr)
{
    hf_status status = hfi_client_enter(client, false, reterr);
    struct hfi_owner *owner;

    if (status != HF_OK) {
        return status;
    }
    owner = hfi_owner_get(client->core, call->owner, true);
    if (owner != NULL) {
        hfi_owner_pin(owner);
    } else {
        status = hfi_fail(reterr, HF_NOMEM, "out of memory");
    }
    hfi_client_leave(client);
    return status;
}

/* Into the list of this owner's calls.  false: out of memory. */
static bool queue_up(struct group_call *call, struct hf_client *pinned,
                     bool *ret_pin_is_new)
{
    hf_group *group = call->group;

    *ret_pin_is_new = false;
    pthread_mutex_lock(&group->mutex);
    call->hold = hfi_group_hold_get(group, call->owner);
    if (call->hold != NULL) {
        hfi_group_hold_ref(call->hold);
        *ret_pin_is_new = pinned != NULL && call->hold->pinned == NULL;
        if (*ret_pin_is_new) {
            call->hold->pinned = pinned;
        }
        DL_APPEND(call->hold->calls, call);
        hfi_group_call_ref(call); /* until it is done */
        call->my_turn = call->hold->calls == call;
        group->calls++;
    }
    pthread_mutex_unlock(&group->mutex);
    return call->hold != NULL;
}

/* What it needs beside itself. */
static hf_status make_parts(struct group_call *call, hf_error *reterr)
{
    if (call->tells_all) {
        call->outcomes = calloc(call->group->given, sizeof(*call->outcomes));
        if (call->outcomes == NULL) {
            return hfi_fail(reterr, HF_NOMEM, "out of memory");
        }
    }
    if (call->aim == GROUP_EXPORT) {
        call->parts = calloc(call->group->count, sizeof(*call->parts));
        if (call->parts == NULL) {
            return hfi_fail(reterr, HF_NOMEM, "out of memory");
        }
    }
    if (!hfi_group_call_takes(call)) {
        return HF_OK;
    }
    if (call->group->is_red && call->how.on_lost != NULL) {
        call->news = hfi_group_news_new(call->group);
        if (call->news == NULL) {
            return hfi_fail(reterr, HF_NOMEM, "out of memory");
        }
    }
    call->level = calloc(1, sizeof(*call->level) + call->group->count);
    if (call->level == NULL) {
        return hfi_fail(reterr, HF_NOMEM, "out of memory");
    }
    call->level->call = call;
    return HF_OK;
}

hf_status hfi_group_call_start(struct group_call *call,
                               struct hf_client *pinned, hf_error *reterr)
{
    bool pin_is_new;
    hf_status status = make_parts(call, reterr);

    if (status == HF_OK && pinned != NULL) {
        status = pin_owner(call, pinned, reterr);
    }
    if (status != HF_OK) {
        free(call->level);
        call->level = NULL;
        return status;
    }
    if (!queue_up(call, pinned, &pin_is_new)) {
        free(call->level);
        call->level = NULL;
        status = hfi_fail(reterr, HF_NOMEM, "out of memory");
    }
    if (pinned != NULL && !pin_is_new) {
        unpin(pinned, call->owner);
    }
    if (status != HF_OK) {
        return status;
    }
    call->plan.way = call->aim == GROUP_IMPORT ? &hfi_way_adopt
                     : call->group->is_red     ? &hfi_way_quorum
                                               : &hfi_way_multi;
    call->plan.quorum = call->group->quorum;
    call->plan.due_ms = HFI_PLAN_NEVER;
    hfi_client_lock(call->home);
    hfi_timer_add(call->home, &call->timer);
    hfi_client_unlock(call->home);
    if (call->how.cancel != NULL) {
        wait_for_token(call);
    }
    hfi_group_call_step(call);
    return HF_OK;
}
