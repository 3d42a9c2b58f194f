/* SPDX-License-Identifier: MIT */
/* api/group_member.c - the members of a call on a group: what the plan wants of
 * each becomes a call of its client, and how that ended becomes news for the plan.
 *
 * News come under a client's mutex, so they are only noted, and a task makes the
 * call look around as soon as that mutex is released.  A member that has not
 * answered when the call is done keeps it alive, and comes back to it.
 */
#include "api/group.h"

#include <string.h>

#include "base/clock.h"
#include "base/fail.h"
#include "sync/mutations.h"

/* ---- its task ---- */

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
        if (call->aim == GROUP_IMPORT && !call->members[at].again) {
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

    if (owner != NULL && call->members[at].again && hfi_owner_is_gone(owner)) {
        hfi_terms_unref(ask->terms);
        return hfi_fail(reterr, HF_CANCELLED, "its thread has ended");
    }
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

/* Whether the thread that waits for the call would drive this client's link. */
static bool is_driven(const struct group_call *call,
                      const struct hf_client *client)
{
    const hf_group *group = call->group;

    for (size_t i = 0; i < group->client_count && i < HFI_DRIVES_MAX; i++) {
        if (group->clients[i] == client) {
            return true;
        }
    }
    return false;
}

static void claim_link(struct group_call *call, struct hf_client *client)
{
    if (call->waiter != NULL && is_driven(call, client)) {
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
bool hfi_group_call_takes(const struct group_call *call)
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
void hfi_group_tell_outcome(const struct group_call *call, size_t at,
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
        if (hfi_group_call_takes(call) && !call->done) {
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

void hfi_group_carry_out(struct group_call *call)
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

    told = call->plan.members[at].state != HFI_MEMBER_LEAVING ||
           !hfi_group_call_takes(call);
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
static void join(struct group_call *call, size_t at, int64_t now)
{
    hf_group *group = call->group;
    bool gone = hfi_group_is_lost(call); /* and stays so */

    pthread_mutex_lock(&group->mutex);
    gone = gone || call->gone ||
           !hfi_group_hold_join(call->hold, call->level, at);
    if (!gone && call->members[at].again) {
        hfi_group_hold_try(call->hold, at, now);
    }
    pthread_mutex_unlock(&group->mutex);
    if (gone) {
        hfi_plan_gone(&call->plan);
    }
}

bool hfi_group_call_is_gone(struct group_call *call)
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
        join(call, at, now);
    }
    if (asked) {
        call->members[at].again = false;
    }
    hfi_plan_ended(&call->plan, at, news, now);
    if (asked) {
        note_health(call, at, now);
    }
}

void hfi_group_hear_members(struct group_call *call, int64_t now)
{
    hf_status news;

    for (size_t i = 0; i < call->plan.count; i++) {
        if (take_news(call, i, &news)) {
            tell_plan(call, i, news, now);
        }
    }
}

/* ---- told ---- */

void hfi_group_put_outcomes(struct group_call *call)
{
    hf_group *group = call->group;
    bool failed = hfi_group_call_takes(call) && call->status != HF_OK;

    for (size_t i = 0; i < group->count && failed; i++) {
        if (call->members[i].status == HF_OK &&
            !HFI_MUTATION(outcome_kept)) { /* its turn to go is to come */
            set_outcome(call, i, HF_NOT_DONE, given_back);
        }
    }
    for (size_t i = 0; i < group->given && call->outcomes != NULL; i++) {
        size_t at = group->place[i];

        call->outcomes[i].status = call->members[at].status;
        hfi_group_tell_outcome(call, at, &call->outcomes[i].error);
    }
}

/* ---- made ---- */

void hfi_group_member_init(struct group_call *call, size_t at)
{
    struct call_member *member = &call->members[at];

    hfi_group_task_init(&member->task, call);
    member->task.task.ref = member_task_ref;
    member->task.task.run = member_task_run;
    member->user.ended = member_ended;
    set_outcome(call, at, HF_NOT_DONE, "it was not asked");
}
