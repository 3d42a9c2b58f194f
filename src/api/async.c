/* SPDX-License-Identifier: MIT */
/* api/async.c - the asynchronous forms: each returns at once, and ends in one
 * callback, never from inside the call. */
#include <stdlib.h>
#include <string.h>

#include "api/call.h"
#include "base/fail.h"

static struct hfi_async *make_async(hf_lock *lock, hf_owner *owner,
                                    hf_done_fn done, void *context)
{
    struct hfi_async *async = calloc(1, sizeof(*async));

    if (async != NULL) {
        async->lock = lock;
        async->owner = owner;
        async->done = done;
        async->context = context;
    }
    return async;
}

/* Start it for an owner; the client is entered, and left. */
static hf_status start_for(hf_lock *lock, struct hfi_owner *owner,
                           hf_cancel *cancel, struct hfi_op_request *ask,
                           struct hfi_async *async, hf_error *reterr)
{
    struct hf_client *client = lock->client;
    hf_status status;

    ask->owner = owner;
    if (owner != NULL) {
        hfi_owner_ref(owner);
    }
    status = hfi_call_start(client, ask, cancel, async, reterr);
    if (owner != NULL) {
        hfi_owner_unref(client->core, owner);
    }
    hfi_client_leave(client);
    return status;
}

hf_status hf_lock_acquire_async(hf_lock *lock, const hf_acquire *how,
                                hf_done_fn done, void *context,
                                hf_error *reterr)
{
    struct hfi_op_request ask;
    struct hfi_async *async;
    hf_acquire read = HF_ACQUIRE_INIT;
    hf_status status = hfi_acquire_read(lock, how, &read, reterr);

    if (status == HF_OK && done == NULL) {
        status = hfi_fail(reterr, HF_INVALID, "the callback is NULL");
    }
    if (status == HF_OK) {
        status = hfi_acquire_ask(lock, &read, &ask, reterr);
    }
    if (status != HF_OK) {
        return status;
    }
    async = make_async(lock, read.owner, done, context);
    status = hfi_client_enter(lock->client, false, reterr);
    if (status != HF_OK) {
        free(async);
        free(ask.terms);
        return status;
    }
    if (async != NULL && async->owner == NULL) {
        async->owner_is_new = hfi_owner_make(lock->client, &async->owner,
                                             reterr) == HF_OK;
    }
    if (async == NULL || async->owner == NULL) {
        hfi_client_leave(lock->client);
        free(async);
        free(ask.terms);
        return hfi_fail(reterr, HF_NOMEM, "out of memory");
    }
    status = start_for(lock, async->owner->owner, read.cancel, &ask, async,
                       reterr);
    if (status != HF_OK) {
        if (async->owner_is_new) {
            hf_owner_free(async->owner);
        }
        free(async);
        free(ask.terms);
    }
    return status;
}

/* What needs an explicit owner, or none at all. */
static hf_status start_other(hf_lock *lock, hf_owner *owner,
                             struct hfi_op_request *ask, hf_done_fn done,
                             void *context, hf_error *reterr)
{
    struct hfi_async *async;
    hf_status status;

    if (lock == NULL || done == NULL) {
        return hfi_fail(reterr, HF_INVALID, "the %s is NULL",
                        lock == NULL ? "lock" : "callback");
    }
    if (owner != NULL && owner->client != lock->client) {
        return hfi_fail(reterr, HF_INVALID,
                        "the owner belongs to another client");
    }
    async = make_async(lock, owner, done, context);
    if (async == NULL) {
        return hfi_fail(reterr, HF_NOMEM, "out of memory");
    }
    status = hfi_client_enter(lock->client, false, reterr);
    if (status == HF_OK) {
        hfi_call_names(ask, lock);
        status = start_for(lock, owner == NULL ? NULL : owner->owner, NULL, ask,
                           async, reterr);
    }
    if (status != HF_OK) {
        free(async);
    }
    return status;
}

hf_status hf_lock_release_async(hf_lock *lock, hf_owner *owner, hf_done_fn done,
                                void *context, hf_error *reterr)
{
    struct hfi_op_request ask = {.kind = HFI_OP_RELEASE};

    if (owner == NULL) {
        return hfi_fail(reterr, HF_INVALID, "the owner is NULL");
    }
    return start_other(lock, owner, &ask, done, context, reterr);
}

hf_status hf_lock_extend_async(hf_lock *lock, hf_owner *owner, int64_t lease_ms,
                               hf_done_fn done, void *context, hf_error *reterr)
{
    struct hfi_op_request ask = {.kind = HFI_OP_EXTEND, .lease_ms = lease_ms};

    if (owner == NULL || lease_ms < HF_LEASE_MIN_MS ||
        lease_ms > HF_LEASE_MAX_MS) {
        return hfi_fail(reterr, HF_INVALID, "%s",
                        owner == NULL ? "the owner is NULL"
                                      : "lease_ms: 10 ms to ten years");
    }
    return start_other(lock, owner, &ask, done, context, reterr);
}

hf_status hf_lock_force_release_async(hf_lock *lock, const char *if_owner,
                                      hf_done_fn done, void *context,
                                      hf_error *reterr)
{
    struct hfi_op_request ask = {.kind = HFI_OP_FORCE, .field = if_owner};

    if (if_owner != NULL && (if_owner[0] == '\0' || strlen(if_owner) >= 128)) {
        return hfi_fail(reterr, HF_INVALID, "if_owner is no owner");
    }
    return start_other(lock, NULL, &ask, done, context, reterr);
}
