/* SPDX-License-Identifier: MIT */
/* api/group_call.c - one call on a group: carrying out what its plan decides.
 *
 * The plan (sync/plan.h) says what is wanted of each member; here that becomes
 * calls of the members' clients, and how they ended becomes news for the plan.
 * News come under a client's mutex, so they are only noted, and a task makes the
 * call look around as soon as that mutex is released.  One thread at a time
 * looks around (the stepper), whichever it is; who comes meanwhile makes it look
 * once more.
 *
 * Calls of one owner on one group run in the order in which they were made.
 *
 * A call is done when its plan is; members that have not answered by then keep
 * it alive, and come back to it when they do.
 */
#include "api/group.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "base/clock.h"
#include "base/fail.h"
#include "base/ids.h"
#include "sync/kinds/kind.h"
#include "sync/mutations.h"

/* What a member of a red lock may take to answer, of the lease; at least and at
 * most. */
#define LIMIT_PARTS 200
#define LIMIT_LEAST_MS 5
#define LIMIT_MOST_MS 50

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

/* A member's call has ended: its reference comes along. */
static bool member_task_ref(struct hfi_task *task)
{
    (void)task;
    return true;
}

static void member_task_run(struct hfi_task *task)
{
    struct call_member *member =
        (void *)((char *)task - offsetof(struct call_member, task.task));
    struct group_call *call = member->task.call;
    unsigned ended;

    pthread_mutex_lock(&call->mutex);
    ended = member->refs;
    member->refs = 0;
    pthread_mutex_unlock(&call->mutex);
    hfi_group_call_step(call);
    while (ended-- > 0) {
        hfi_group_call_unref(call);
    }
}

static void task_init(struct group_task *task, struct group_call *call)
{
    task->call = call;
    atomic_init(&task->task.listed, false);
    task->task.ref = task_ref;
    task->task.run = task_run;
}

static void member_ended(struct hfi_user *user, struct hfi_op_result *result);

static void init_members(struct group_call *call)
{
    size_t count = call->group->count;

    call->plan.members = (void *)&call->members[count];
    call->plan.count = count;
    for (size_t i = 0; i < count; i++) {
        struct call_member *member = &call->members[i];

        task_init(&member->task, call);
        member->task.task.ref = member_task_ref;
        member->task.task.run = member_task_run;
        member->user.ended = member_ended;
        member->status = HF_NOT_DONE;
        member->text = "it was not asked";
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
    call->timer.task = &call->task.task;
    task_init(&call->task, call);
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
    free(call->outcomes);
    free(call->parts);
    free(call);
    hfi_group_unref(group);
}

/* ---- a member's own call ---- */

/* Under the member's client's mutex. */
static void member_ended(struct hfi_user *user, struct hfi_op_result *result)
{
    struct call_member *member = (void *)((char *)user -
                                          offsetof(struct call_member, user));
    struct group_call *call = member->task.call;
    size_t at = (size_t)(member - call->members);

    pthread_mutex_lock(&call->mutex);
    member->ended = true;
    member->refs++;
    member->news = result->status;
    if (result->status != HF_OK) {
        member->news_error = result->error;
    } else if (call->aim == GROUP_EXPORT && result->handle_owner[0] != '\0') {
        struct group_part *part = &call->parts[at];

        memcpy(part->owner, result->handle_owner, sizeof(result->handle_owner));
        part->count = result->count;
        part->lease_ms = result->lease_ms;
    }
    pthread_mutex_unlock(&call->mutex);
    hfi_task_due(call->group->members[at]->client, &member->task.task);
}

/* It could not even be started. */
static void member_failed(struct group_call *call, size_t at, hf_status status,
                          const hf_error *error)
{
    struct call_member *member = &call->members[at];

    pthread_mutex_lock(&call->mutex);
    member->ended = true;
    member->news = status;
    member->news_error = *error;
    call->again = true;
    pthread_mutex_unlock(&call->mutex);
}

/* It is held already, by whoever wrote it out. */
static void ask_to_adopt(const struct group_call *call, size_t at,
                         struct hfi_op_request *ask)
{
    const struct group_part *part = &call->parts[at];

    ask->kind = HFI_OP_IMPORT;
    ask->field = part->owner;
    ask->count = 1;
    if (call->how.lease_ms == 0) {
        ask->lease_ms = part->lease_ms;
    }
}

static enum hfi_op_kind op_of(enum hfi_want want)
{
    return want == HFI_WANT_LEAVE    ? HFI_OP_RELEASE
           : want == HFI_WANT_EXTEND ? HFI_OP_EXTEND
                                     : HFI_OP_EXPORT;
}

static hf_status ask_for(struct group_call *call, size_t at, enum hfi_want want,
                         struct hfi_op_request *ret_ask, hf_error *reterr)
{
    hf_lock *lock = call->group->members[at];
    hf_acquire how = HF_ACQUIRE_INIT;
    hf_status status;

    memset(ret_ask, 0, sizeof(*ret_ask));
    if (want == HFI_WANT_ASK) {
        how.wait_ms = call->plan.members[at].wait_ms;
        how.lease_ms = call->how.lease_ms;
        how.renew = call->how.renew || hfi_plan_catches_up(&call->plan);
        status = hfi_acquire_ask(lock, &how, ret_ask, reterr);
        if (status != HF_OK) {
            return status;
        }
        ret_ask->terms = hfi_group_terms(call->hold, at, lock);
        if (ret_ask->terms == NULL) {
            return hfi_fail(reterr, HF_NOMEM, "out of memory");
        }
        if (call->aim == GROUP_IMPORT) {
            ask_to_adopt(call, at, ret_ask);
        }
        call->members[at].port = ret_ask->terms->context;
        return HF_OK;
    }
    ret_ask->kind = op_of(want);
    ret_ask->lease_ms = call->lease_ms;
    ret_ask->detached = want == HFI_WANT_LEAVE;
    hfi_call_names(ret_ask, lock);
    return HF_OK;
}

/* The client is entered. */
static hf_status make_op(struct group_call *call, size_t at,
                         struct hfi_op_request *ask, hf_error *reterr)
{
    struct hf_client *client = call->group->members[at]->client;
    struct hfi_user *user = &call->members[at].user;
    struct hfi_owner *owner = hfi_owner_get(client->core, call->owner, true);
    hf_status status = HF_NOMEM;

    if (owner != NULL) {
        hfi_owner_ref(owner);
        ask->owner = owner;
        ask->user = user;
        status = hfi_op_new(client->core, ask, &user->op);
        hfi_owner_unref(client->core, owner);
    }
    if (status != HF_OK) {
        hfi_terms_unref(ask->terms);
        return hfi_fail(reterr, HF_NOMEM, "out of memory");
    }
    return HF_OK;
}

/* From now on the end of its call is news. */
static void await_member(struct group_call *call, size_t at)
{
    call->group->members[at]->calls++;
    hfi_group_call_ref(call);
}

static void claim_link(struct group_call *call, struct hf_client *client)
{
    if (call->waiter != NULL) {
        hfi_claim_main_link(client, call->waiter);
    }
}

static hf_status start_op(struct group_call *call, size_t at,
                          struct hfi_op_request *ask, hf_error *reterr)
{
    struct hf_client *client = call->group->members[at]->client;
    hf_status status = make_op(call, at, ask, reterr);

    if (status == HF_OK) {
        await_member(call, at);
        hfi_call_begin(client, &call->members[at].user, NULL);
        claim_link(call, client);
    }
    return status;
}

static void member_start(struct group_call *call, size_t at, enum hfi_want want)
{
    struct hf_client *client = call->group->members[at]->client;
    struct hfi_op_request ask;
    hf_error error;
    hf_status status = ask_for(call, at, want, &ask, &error);

    if (status == HF_OK) {
        status = hfi_client_enter(client, false, &error);
        if (status == HF_OK) {
            status = start_op(call, at, &ask, &error);
            hfi_client_leave(client);
        } else if (ask.terms != NULL) {
            hfi_terms_unref(ask.terms);
        }
    }
    if (status != HF_OK) {
        member_failed(call, at, status, &error);
    }
}

/* The client is entered. */
static void start_together(struct group_call *call, struct hf_client *client)
{
    struct hfi_op *ops[HFI_TOGETHER_MAX];

    for (size_t i = 0; i < call->plan.count; i++) {
        ops[i] = call->members[i].user.op;
        await_member(call, i);
    }
    hfi_call_begin_together(client, ops, call->plan.count,
                            call->plan.patience_ms);
    claim_link(call, client);
}

static void free_ops(struct group_call *call, struct hf_client *client,
                     size_t count)
{
    for (size_t i = 0; i < count; i++) {
        hfi_op_free(client->core, call->members[i].user.op);
        call->members[i].user.op = NULL;
    }
}

static hf_status make_all(struct group_call *call, struct hf_client *client,
                          hf_error *reterr)
{
    for (size_t i = 0; i < call->plan.count; i++) {
        struct hfi_op_request ask;
        hf_status status = ask_for(call, i, HFI_WANT_ASK, &ask, reterr);

        if (status == HF_OK) {
            status = make_op(call, i, &ask, reterr);
        }
        if (status != HF_OK) {
            free_ops(call, client, i);
            return status;
        }
    }
    return HF_OK;
}

/* All members, which are of one client, by one request. */
static void ask_together(struct group_call *call)
{
    struct hf_client *client = call->group->members[0]->client;
    hf_error error;
    hf_status status = hfi_client_enter(client, false, &error);

    if (status == HF_OK) {
        status = make_all(call, client, &error);
        if (status == HF_OK) {
            start_together(call, client);
        }
        hfi_client_leave(client);
    }
    for (size_t i = 0; i < call->plan.count && status != HF_OK; i++) {
        member_failed(call, i, status, &error);
    }
}

static void member_cancel(struct group_call *call, size_t at)
{
    struct hf_client *client = call->group->members[at]->client;
    int64_t now = hfi_clock_ms();

    hfi_client_lock(client);
    if (call->members[at].user.op != NULL && client->core != NULL) {
        hfi_core_cancel(client->core, call->members[at].user.op, HF_CANCELLED,
                        now);
        hfi_settle(client, now);
    }
    hfi_client_unlock(client);
}

/* ---- what the plan wants ---- */

static const char given_back[] = "it was to be had, and was given back";

/* It begins with what is not held here. */
static bool takes(const struct group_call *call)
{
    return call->aim == GROUP_ACQUIRE || call->aim == GROUP_IMPORT;
}

static void set_outcome(struct group_call *call, size_t at, hf_status status,
                        const char *text)
{
    call->members[at].status = status;
    call->members[at].text = text;
}

/* Put in words what became of a member. */
static void tell_outcome(const struct group_call *call, size_t at,
                         hf_error *ret_error)
{
    const struct call_member *member = &call->members[at];

    if (member->text != NULL) {
        hfi_fail(ret_error, member->status, "%s", member->text);
        hfi_error_node(ret_error, call->group->members[at]->client->server);
    } else if (member->status != HF_OK) {
        *ret_error = member->error;
    }
}

static void carry_out(struct group_call *call, size_t at)
{
    struct hfi_plan_member *member = &call->plan.members[at];
    enum hfi_want want = member->want;

    member->want = HFI_WANT_NOTHING;
    switch (want) {
    case HFI_WANT_NOTHING:
        return;
    case HFI_WANT_DROP:
        member_cancel(call, at);
        return;
    case HFI_WANT_ASK:
        set_outcome(call, at, HF_UNKNOWN, "no answer yet");
        if (call->plan.together) {
            return; /* ask_together() does it */
        }
        break;
    case HFI_WANT_LEAVE:
    case HFI_WANT_HAND_OUT:
        if (takes(call) && !call->done) {
            call->level->taken[at] = false;
            if (!HFI_MUTATION(outcome_kept)) {
                set_outcome(call, at, HF_NOT_DONE, given_back);
            }
        }
        break;
    case HFI_WANT_EXTEND:
        break;
    }
    member_start(call, at, want);
}

static void carry_out_all(struct group_call *call)
{
    bool together = call->plan.together &&
                    call->plan.members[0].want == HFI_WANT_ASK;

    for (size_t i = 0; i < call->plan.count; i++) {
        carry_out(call, i);
    }
    if (together) {
        ask_together(call);
    }
}

/* ---- news ---- */

static bool take_news(struct group_call *call, size_t at, hf_status *ret_news)
{
    struct call_member *member = &call->members[at];
    bool ended, told;

    told = call->plan.members[at].state != HFI_MEMBER_LEAVING || !takes(call);
    pthread_mutex_lock(&call->mutex);
    ended = member->ended;
    member->ended = false;
    *ret_news = member->news;
    if (ended && told) { /* how undoing ended is of no interest */
        member->status = member->news;
        member->text = NULL;
    }
    if (ended && told && member->news != HF_OK) {
        member->error = member->news_error;
    }
    pthread_mutex_unlock(&call->mutex);
    return ended;
}

/* It answers when the call is done, and the group held: it joins, unless the
 * group was left meanwhile. */
static void join(struct group_call *call, size_t at)
{
    hf_group *group = call->group;
    bool gone;

    pthread_mutex_lock(&group->mutex);
    gone = call->gone;
    if (!gone) {
        hfi_group_hold_join(call->hold, call->level, at);
    }
    pthread_mutex_unlock(&group->mutex);
    if (gone) {
        hfi_plan_gone(&call->plan);
    }
}

static bool is_gone(struct group_call *call)
{
    bool gone;

    pthread_mutex_lock(&call->group->mutex);
    gone = call->gone;
    pthread_mutex_unlock(&call->group->mutex);
    return gone;
}

/* A member that was away is left alone for a while, unless it is needed. */
static void note_health(struct group_call *call, size_t at, int64_t now)
{
    struct hfi_plan_member *member = &call->plan.members[at];

    if (member->late) {
        atomic_store(&call->group->sick[at], now + SICK_MS);
    } else if (member->status == HF_OK || member->status == HF_BUSY) {
        atomic_store_explicit(&call->group->sick[at], 0, memory_order_relaxed);
        member->sick = false;
    }
}

static void tell_plan(struct group_call *call, size_t at, hf_status news,
                      int64_t now)
{
    bool asked = call->plan.members[at].state == HFI_MEMBER_ASKED;

    if (asked && news == HF_OK && !call->done) {
        call->level->taken[at] = true;
    } else if (asked && news == HF_OK && call->plan.status == HF_OK &&
               !call->plan.gone) {
        join(call, at);
    }
    hfi_plan_ended(&call->plan, at, news, now);
    if (asked) {
        note_health(call, at, now);
    }
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
static void confirm(struct group_call *call, int64_t now)
{
    hf_group *group = call->group;
    struct group_view seen;
    bool outermost, lasts;

    hfi_group_view(group, call->owner, call->level->taken, &seen);
    lasts = (seen.state != HF_STATE_LOST && seen.remaining_ms > 0) ||
            HFI_MUTATION(lasts_unchecked);
    outermost = call->hold->level == NULL;
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
    hfi_plan_confirm(&call->plan, lasts, now);
}

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

static void begin_acquire(struct group_call *call, int64_t now)
{
    struct hfi_plan *plan = &call->plan;
    bool taken[HF_GROUP_MAX];
    struct group_view seen;

    if (hfi_group_taken(call->group, call->owner, taken) > 0) {
        hfi_group_view(call->group, call->owner, taken, &seen);
        if (seen.state == HF_STATE_LOST) {
            hfi_plan_cancel(plan, HF_LOST, now);
            return;
        }
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
        begin_acquire(call, now);
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
        hfi_plan_cancel(&call->plan, takes(call) ? HF_TIMEOUT : HF_NOT_DONE,
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
    tell_outcome(call, blame, &call->error);
    call->error.status = call->status;
    if (call->group->is_red) {
        hf_error of_one = call->error;

        hfi_fail(&call->error, call->status,
                 "no quorum of %zu members out of %zu; one of them: %.160s",
                 plan->quorum, plan->count, of_one.message);
        hfi_error_node(&call->error, of_one.node);
    }
}

static void put_outcomes(struct group_call *call)
{
    hf_group *group = call->group;
    bool failed = takes(call) && call->status != HF_OK;

    for (size_t i = 0; i < group->count && failed; i++) {
        if (call->members[i].status == HF_OK &&
            !HFI_MUTATION(outcome_kept)) { /* its turn to go is to come */
            set_outcome(call, i, HF_NOT_DONE, given_back);
        }
    }
    for (size_t i = 0; i < group->given && call->outcomes != NULL; i++) {
        size_t at = group->place[i];

        call->outcomes[i].status = call->members[at].status;
        tell_outcome(call, at, &call->outcomes[i].error);
    }
}

/* From here on the caller, who may be another thread, has the result. */
static void finish(struct group_call *call)
{
    struct group_call *next;

    call->done = true;
    put_error(call);
    put_outcomes(call);
    forget_token(call);
    next = leave_queue(call);
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
        if (!call->plan.gone && is_gone(call)) {
            hfi_plan_gone(&call->plan);
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
    hf_status news;

    hear_of_the_end(call, now);
    if (!call->begun && call->plan.state == HFI_PLAN_NEW) {
        look_for_turn(call, now);
    }
    for (size_t i = 0; i < call->plan.count; i++) {
        if (take_news(call, i, &news)) {
            tell_plan(call, i, news, now);
        }
    }
    hfi_plan_tick(&call->plan, now);
    if (call->plan.state == HFI_PLAN_COMPLETE) {
        confirm(call, now);
    }
    carry_out_all(call);
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
    if (!takes(call)) {
        return HF_OK;
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
