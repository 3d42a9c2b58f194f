/* SPDX-License-Identifier: MIT */
/* api/group_entry.c - the entry points of calls on a group: check, start it,
 * and block or leave a callback.
 *
 * A thread that waits drives the main links of its members' clients itself, all
 * of them at once: so a red lock over five servers costs five writes and a poll,
 * and no hop to five keepers and back.
 */
#include "api/group.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fail.h"

/* ---- checked ---- */

static bool is_client_of(const hf_group *group, const struct hf_client *client)
{
    for (size_t i = 0; i < group->client_count; i++) {
        if (group->clients[i] == client) {
            return true;
        }
    }
    return false;
}

static hf_status check_group(const hf_group *group, const hf_owner *owner,
                             hf_error *reterr)
{
    if (group == NULL) {
        return hfi_fail(reterr, HF_INVALID, "the group is NULL");
    }
    if (owner != NULL && !is_client_of(group, owner->client)) {
        return hfi_fail(reterr, HF_INVALID,
                        "the owner belongs to another client");
    }
    return HF_OK;
}

/* What a lock checks, with the owner and the token of any member's client. */
static hf_status read_how(const hf_group *group, const hf_acquire *how,
                          hf_acquire *ret_how, hf_error *reterr)
{
    const hf_lock *first = group->members[group->place[0]];
    hf_acquire alone = HF_ACQUIRE_INIT;
    hf_status status;

    if (how != NULL &&
        !hfi_options_read(how, how->size, &alone, sizeof(alone))) {
        return hfi_fail(reterr, HF_INVALID,
                        "hf_acquire: begin with HF_ACQUIRE_INIT");
    }
    alone.owner = NULL;
    alone.cancel = NULL;
    status = hfi_acquire_read(first, &alone, ret_how, reterr);
    if (status != HF_OK || how == NULL) {
        return status;
    }
    ret_how->owner = how->owner;
    ret_how->cancel = how->cancel;
    if (how->cancel != NULL && !is_client_of(group, how->cancel->client)) {
        return hfi_fail(reterr, HF_INVALID,
                        "hf_acquire: the token belongs to another client");
    }
    return check_group(group, how->owner, reterr);
}

static hf_status check_lease(int64_t lease_ms, hf_error *reterr)
{
    return lease_ms >= HF_LEASE_MIN_MS && lease_ms <= HF_LEASE_MAX_MS
               ? HF_OK
               : hfi_fail(reterr, HF_INVALID,
                          "hf_group_extend: lease_ms: 10 ms to ten years");
}

/* A wait in a callback would stop the callbacks it waits for. */
static hf_status check_callbacks(const hf_group *group, hf_error *reterr)
{
    for (size_t i = 0; i < group->client_count; i++) {
        if (hfi_in_callback_of(group->clients[i])) {
            return hfi_fail(reterr, HF_IN_CALLBACK,
                            "a call that blocks is not allowed in a callback");
        }
    }
    return HF_OK;
}

/* How long it may wait for its turn. */
static int64_t give_up_at(const struct group_call *call, int64_t now)
{
    const hf_options *options = &call->home->options;
    int64_t allowed = options->response_limit_ms + options->connect_limit_ms;

    if (call->aim == GROUP_ACQUIRE && call->how.wait_ms != 0) {
        allowed = call->how.wait_ms;
    }
    return allowed < 0 || allowed > INT64_MAX - now ? INT64_MAX : now + allowed;
}

/* What all calls begin with.  @p ret_call has the home client entered. */
static hf_status new_call(hf_group *group, enum group_aim aim, hf_owner *owner,
                          struct group_call **ret_call, hf_error *reterr)
{
    uint64_t id = owner != NULL ? owner->id : hfi_thread_owner_id();
    struct group_call *call = NULL;
    hf_status status;

    status = hfi_client_enter(group->members[group->place[0]]->client, false,
                              reterr);
    if (status != HF_OK) {
        return status;
    }
    hfi_client_unlock(group->members[group->place[0]]->client);
    call = hfi_group_call_new(group, aim, id);
    if (call == NULL) {
        hfi_client_lock(group->members[group->place[0]]->client);
        hfi_client_leave(group->members[group->place[0]]->client);
        return hfi_fail(reterr, HF_NOMEM, "out of memory");
    }
    *ret_call = call;
    return HF_OK;
}

void hfi_group_call_give_up(struct group_call *call)
{
    hfi_client_lock(call->home);
    hfi_client_leave(call->home);
    hfi_group_call_unref(call);
}

/* ---- blocking ---- */

hf_status hfi_group_call_make(hf_group *group, enum group_aim aim,
                              hf_owner *owner, struct group_call **ret_call,
                              hf_error *reterr)
{
    hf_status status = check_group(group, owner, reterr);

    if (status == HF_OK) {
        status = check_callbacks(group, reterr);
    }
    return status != HF_OK ? status
                           : new_call(group, aim, owner, ret_call, reterr);
}

hf_status hfi_group_call_run(struct group_call *call, hf_owner *owner,
                             hf_outcome *ret_outcomes, hf_error *reterr)
{
    hf_group *group = call->group;
    struct hfi_waiter *waiter = hfi_waiter_mine();
    hf_status status = HF_NOMEM;
    int cancel_state;

    if (waiter == NULL || !hfi_waiter_drives_many(waiter, &call->task.task)) {
        hfi_group_call_give_up(call);
        return waiter == NULL
                   ? hfi_fail(reterr, HF_NOMEM, "out of memory")
                   : hfi_fail(reterr, HF_SYSTEM, "no descriptor is left");
    }
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    call->waiter = waiter;
    call->tells_all = ret_outcomes != NULL;
    call->give_up_ms = give_up_at(call, hfi_clock_ms());
    status = hfi_group_call_start(call, owner == NULL ? NULL : owner->client,
                                  reterr);
    if (status != HF_OK) {
        hfi_group_call_give_up(call);
        pthread_setcancelstate(cancel_state, NULL);
        return status;
    }
    hfi_drive_many(group->clients, group->client_count, waiter);
    if (atomic_exchange(&call->lingers, false)) {
        hfi_group_call_step(call); /* who is late yet has a limit */
    }
    status = call->status;
    if (status != HF_OK && reterr != NULL) {
        *reterr = call->error;
    }
    if (ret_outcomes != NULL) {
        memcpy(ret_outcomes, call->outcomes,
               group->given * sizeof(*ret_outcomes));
    }
    hfi_group_call_unref(call);
    pthread_setcancelstate(cancel_state, NULL);
    return status;
}

hf_status hf_group_acquire(hf_group *group, const hf_acquire *how,
                           hf_outcome *ret_outcomes, hf_error *reterr)
{
    struct group_call *call = NULL;
    hf_acquire read = HF_ACQUIRE_INIT;
    hf_status status = check_group(group, NULL, reterr);

    if (status == HF_OK) {
        status = read_how(group, how, &read, reterr);
    }
    if (status == HF_OK) {
        status = check_callbacks(group, reterr);
    }
    if (status == HF_OK) {
        status = new_call(group, GROUP_ACQUIRE, read.owner, &call, reterr);
    }
    if (status != HF_OK || call == NULL) {
        return status;
    }
    call->how = read;
    call->lease_ms = read.lease_ms;
    return hfi_group_call_run(call, read.owner, ret_outcomes, reterr);
}

static hf_status run_other(hf_group *group, enum group_aim aim, hf_owner *owner,
                           int64_t lease_ms, hf_outcome *ret_outcomes,
                           hf_error *reterr)
{
    struct group_call *call = NULL;
    hf_status status = hfi_group_call_make(group, aim, owner, &call, reterr);

    if (status != HF_OK || call == NULL) {
        return status;
    }
    call->lease_ms = lease_ms;
    return hfi_group_call_run(call, owner, ret_outcomes, reterr);
}

hf_status hf_group_release(hf_group *group, hf_owner *owner,
                           hf_outcome *ret_outcomes, hf_error *reterr)
{
    return run_other(group, GROUP_RELEASE, owner, 0, ret_outcomes, reterr);
}

hf_status hf_group_extend(hf_group *group, hf_owner *owner, int64_t lease_ms,
                          hf_outcome *ret_outcomes, hf_error *reterr)
{
    hf_status status = check_lease(lease_ms, reterr);

    return status != HF_OK ? status
                           : run_other(group, GROUP_EXTEND, owner, lease_ms,
                                       ret_outcomes, reterr);
}

/* ---- with a callback ---- */

/* Where the home client's callbacks run; it is the last of the call. */
static void tell_done(struct hfi_async *async)
{
    struct group_call *call = (void *)((char *)async -
                                       offsetof(struct group_call, async));
    hf_group_completion done;

    memset(&done, 0, sizeof(done));
    done.status = call->status;
    done.error = call->status == HF_OK ? NULL : &call->error;
    done.group = call->group;
    done.owner = call->owner_object;
    done.outcomes = call->outcomes;
    done.outcome_count = call->group->given;
    if (call->owner_is_new && call->status != HF_OK) {
        done.owner = NULL;
        hf_owner_free(call->owner_object);
    }
    call->done_fn(&done, call->context);
    hfi_group_call_unref(call);
}

static hf_status start(struct group_call *call, hf_owner *owner,
                       hf_group_done_fn done, void *context, hf_error *reterr)
{
    hf_status status;

    call->async.run = tell_done;
    call->tells_all = true;
    call->done_fn = done;
    call->context = context;
    call->owner_object = owner;
    call->give_up_ms = give_up_at(call, hfi_clock_ms());
    status = hfi_group_call_start(call, owner->client, reterr);
    if (status != HF_OK) {
        if (call->owner_is_new) {
            hf_owner_free(owner);
        }
        hfi_group_call_give_up(call);
        return status;
    }
    hfi_group_call_unref(call);
    return HF_OK;
}

static hf_status check_done(hf_group_done_fn done, hf_error *reterr)
{
    return done != NULL ? HF_OK
                        : hfi_fail(reterr, HF_INVALID, "the callback is NULL");
}

hf_status hf_group_acquire_async(hf_group *group, const hf_acquire *how,
                                 hf_group_done_fn done, void *context,
                                 hf_error *reterr)
{
    struct group_call *call = NULL;
    hf_acquire read = HF_ACQUIRE_INIT;
    hf_owner *made = NULL;
    hf_status status = check_group(group, NULL, reterr);

    if (status == HF_OK) {
        status = check_done(done, reterr);
    }
    if (status == HF_OK) {
        status = read_how(group, how, &read, reterr);
    }
    if (status == HF_OK && read.owner == NULL) {
        status = hf_owner_new(group->members[group->place[0]]->client, &made,
                              reterr);
        read.owner = made;
    }
    if (status == HF_OK) {
        status = new_call(group, GROUP_ACQUIRE, read.owner, &call, reterr);
        if (status != HF_OK && made != NULL) {
            hf_owner_free(made);
        }
    }
    if (status != HF_OK || call == NULL) {
        return status;
    }
    call->how = read;
    call->lease_ms = read.lease_ms;
    call->owner_is_new = made != NULL;
    return start(call, read.owner, done, context, reterr);
}

static hf_status start_other(hf_group *group, struct group_call *call_as,
                             hf_owner *owner, hf_group_done_fn done,
                             hf_error *reterr)
{
    struct group_call *call = NULL;
    hf_status status = check_group(group, owner, reterr);

    if (status == HF_OK && owner == NULL) {
        status = hfi_fail(reterr, HF_INVALID, "the owner is NULL");
    }
    if (status == HF_OK) {
        status = check_done(done, reterr);
    }
    if (status == HF_OK) {
        status = new_call(group, call_as->aim, owner, &call, reterr);
    }
    if (status != HF_OK || call == NULL) {
        return status;
    }
    call->lease_ms = call_as->lease_ms;
    return start(call, owner, done, call_as->context, reterr);
}

hf_status hf_group_release_async(hf_group *group, hf_owner *owner,
                                 hf_group_done_fn done, void *context,
                                 hf_error *reterr)
{
    struct group_call as = {.aim = GROUP_RELEASE, .context = context};

    return start_other(group, &as, owner, done, reterr);
}

hf_status hf_group_extend_async(hf_group *group, hf_owner *owner,
                                int64_t lease_ms, hf_group_done_fn done,
                                void *context, hf_error *reterr)
{
    struct group_call as = {
        .aim = GROUP_EXTEND, .lease_ms = lease_ms, .context = context};
    hf_status status = check_lease(lease_ms, reterr);

    return status != HF_OK ? status
                           : start_other(group, &as, owner, done, reterr);
}
