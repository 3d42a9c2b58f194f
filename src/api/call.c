/* SPDX-License-Identifier: MIT */
/* api/call.c - from an entry point to the core and back.
 *
 * A blocking call takes a waiter, starts an operation, and drives or sleeps
 * until it has ended.  An asynchronous one leaves a record that comes back as a
 * callback.  A thread cannot be cancelled by pthread_cancel() inside: it may be
 * driving other threads' calls.
 */
#include "api/call.h"

#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "base/clock.h"
#include "base/fail.h"

void hfi_call_names(struct hfi_op_request *ask, hf_lock *lock)
{
    ask->of = lock->kind;
    ask->options = lock->options;
    ask->name = lock->name;
    ask->name_bytes = lock->name_bytes;
    ask->lock = lock;
}

struct hfi_owner *hfi_call_owner(struct hf_client *client, hf_owner *owner)
{
    struct hfi_owner *found = owner != NULL
                                  ? owner->owner
                                  : hfi_owner_get(client->core,
                                                  hfi_thread_owner_id(), true);

    if (found != NULL) {
        hfi_owner_ref(found);
    }
    return found;
}

/* What the core was told has consequences. */
static void see_to_it(struct hf_client *client, int64_t now)
{
    if (client->links[HFI_LINK_MAIN].state == HFI_LINK_DOWN) {
        hfi_connect_wanted(client, now);
    }
    hfi_settle(client, now);
}

void hfi_call_begin_together(struct hf_client *client,
                             struct hfi_op *const *ops, size_t count,
                             int64_t patience_ms)
{
    int64_t now = hfi_clock_ms();

    hfi_core_start_together(client->core, ops, count, patience_ms,
                            HFI_LINK_MAIN, now);
    see_to_it(client, now);
}

void hfi_call_begin(struct hf_client *client, struct hfi_user *user,
                    struct hf_cancel *cancel)
{
    int64_t now = hfi_clock_ms();

    user->cancel = cancel;
    if (cancel != NULL) {
        DL_APPEND(client->cancellable, user);
    }
    if (cancel != NULL && atomic_load(&cancel->fired)) {
        hfi_core_cancel(client->core, user->op, HF_CANCELLED, now);
    } else {
        hfi_core_start(client->core, user->op, HFI_LINK_MAIN, now);
    }
    see_to_it(client, now);
}

/* The op has a reference to the owner of its own. */
static hf_status make_op(struct hf_client *client,
                         const struct hfi_op_request *ask,
                         struct hfi_user *user)
{
    hf_status status = hfi_op_new(client->core, ask, &user->op);

    if (ask->owner != NULL) {
        hfi_owner_unref(client->core, ask->owner);
    }
    return status;
}

hf_status hfi_call_run(struct hf_client *client, struct hfi_op_request *ask,
                       struct hf_cancel *cancel,
                       struct hfi_op_result *ret_result, hf_error *reterr)
{
    struct hfi_op_request own = *ask;
    struct hfi_user user;
    hf_lock *lock = ask->lock;
    int cancel_state;

    memset(&user, 0, sizeof(user));
    memset(&ret_result->value, 0, sizeof(ret_result->value));
    own.user = &user; /* the op is over before this returns */
    user.ret_result = ret_result;
    user.waiter = hfi_waiter_mine();
    if (make_op(client, &own, &user) != HF_OK || user.waiter == NULL) {
        if (user.op != NULL) {
            ask->terms = NULL;
            ask->several = NULL;
            hfi_op_free(client->core, user.op);
        }
        hfi_client_leave(client);
        return hfi_fail(reterr, HF_NOMEM, "out of memory");
    }
    ask->terms = NULL; /* the op has them */
    ask->several = NULL;
    if (lock != NULL) {
        lock->calls++;
    }
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    user.waiter->op = user.op;
    hfi_call_begin(client, &user, cancel);
    hfi_drive(client, user.waiter);
    pthread_setcancelstate(cancel_state, NULL);
    if (ret_result->status != HF_OK && reterr != NULL) {
        *reterr = ret_result->error;
    }
    return ret_result->status;
}

hf_status hfi_call_start(struct hf_client *client, struct hfi_op_request *ask,
                         struct hf_cancel *cancel, struct hfi_async *async,
                         hf_error *reterr)
{
    struct hfi_user *user = calloc(1, sizeof(*user));

    ask->user = user;
    if (user == NULL || hfi_op_new(client->core, ask, &user->op) != HF_OK) {
        free(user);
        return hfi_fail(reterr, HF_NOMEM, "out of memory");
    }
    user->async = async;
    async->client = client;
    async->lock->calls++;
    hfi_client_ref(client);
    hfi_call_begin(client, user, cancel);
    return HF_OK;
}
