/* SPDX-License-Identifier: MIT */
/* api/lock.c - the entry points of a lock: check, call the core, block. */
#include <stdlib.h>
#include <string.h>

#include "api/call.h"
#include "base/clock.h"
#include "base/fail.h"
#include "sync/kinds/kind.h"

/* ---- how to acquire ---- */

static const char *wrong_in(const hf_acquire *how)
{
    if (how->wait_ms < HF_WAIT_FOREVER) {
        return "wait_ms: HF_WAIT_FOREVER, 0, or how long to wait";
    }
    if (how->lease_ms < HF_LEASE_MIN_MS || how->lease_ms > HF_LEASE_MAX_MS) {
        return "lease_ms: 10 ms to ten years";
    }
    if (how->min_hold_ms < 0 || how->min_hold_ms > HF_LEASE_MAX_MS) {
        return "min_hold_ms: 0 to ten years";
    }
    if (how->max_hold_ms < 0 || how->max_hold_warning_ms < 0) {
        return "max_hold_ms and max_hold_warning_ms: not negative";
    }
    return NULL;
}

hf_status hfi_acquire_read(const hf_lock *lock, const hf_acquire *how,
                           hf_acquire *ret_how, hf_error *reterr)
{
    static const hf_acquire defaults = HF_ACQUIRE_INIT;
    const char *wrong;

    if (lock == NULL) {
        return hfi_fail(reterr, HF_INVALID, "the lock is NULL");
    }
    *ret_how = defaults;
    if (how != NULL &&
        !hfi_options_read(how, how->size, ret_how, sizeof(*ret_how))) {
        return hfi_fail(reterr, HF_INVALID,
                        "hf_acquire: begin with HF_ACQUIRE_INIT");
    }
    if (ret_how->lease_ms == 0) {
        ret_how->lease_ms = lock->client->options.lease_ms;
    }
    wrong = wrong_in(ret_how);
    if (wrong != NULL) {
        return hfi_fail(reterr, HF_INVALID, "hf_acquire: %s", wrong);
    }
    if ((ret_how->owner != NULL && ret_how->owner->client != lock->client) ||
        (ret_how->cancel != NULL && ret_how->cancel->client != lock->client)) {
        return hfi_fail(
            reterr, HF_INVALID, "hf_acquire: the %s belongs to another client",
            ret_how->owner != NULL && ret_how->owner->client != lock->client
                ? "owner"
                : "token");
    }
    return HF_OK;
}

static struct hfi_terms *make_terms(const hf_lock *lock, const hf_acquire *how)
{
    struct hfi_terms *terms = calloc(1, sizeof(*terms) + lock->name_bytes);

    if (terms == NULL) {
        return NULL;
    }
    terms->refs = 1;
    terms->on_lost = how->on_lost;
    terms->on_warning = how->on_warning;
    terms->context = how->context;
    terms->min_hold_ms = how->min_hold_ms;
    terms->max_hold_ms = how->max_hold_ms;
    terms->max_hold_warning_ms = how->max_hold_warning_ms;
    terms->name_bytes = lock->name_bytes;
    memcpy(terms->name, lock->name, lock->name_bytes);
    return terms;
}

hf_status hfi_acquire_ask(hf_lock *lock, const hf_acquire *how,
                          struct hfi_op_request *ret_ask, hf_error *reterr)
{
    memset(ret_ask, 0, sizeof(*ret_ask));
    ret_ask->kind = HFI_OP_ACQUIRE;
    ret_ask->wait_ms = how->wait_ms;
    ret_ask->lease_ms = how->lease_ms;
    ret_ask->renewed = how->renew != 0;
    hfi_call_names(ret_ask, lock);
    if (how->on_lost == NULL && how->on_warning == NULL &&
        how->min_hold_ms == 0 && how->max_hold_ms == 0) {
        return HF_OK;
    }
    ret_ask->terms = make_terms(lock, how);
    return ret_ask->terms != NULL ? HF_OK
                                  : hfi_fail(reterr, HF_NOMEM, "out of memory");
}

/* ---- blocking calls ---- */

/* A call of an owner on a lock, from entering to leaving.  What the result
 * brings beside its status is in `ret_result`. */
static hf_status run_for_owner(hf_lock *lock, hf_owner *owner,
                               hf_cancel *cancel, struct hfi_op_request *ask,
                               struct hfi_op_result *ret_result,
                               hf_error *reterr)
{
    struct hf_client *client;
    hf_status status;

    if (lock == NULL) {
        return hfi_fail(reterr, HF_INVALID, "the lock is NULL");
    }
    if (owner != NULL && owner->client != lock->client) {
        return hfi_fail(reterr, HF_INVALID,
                        "the owner belongs to another client");
    }
    hfi_call_names(ask, lock);
    client = lock->client;
    status = hfi_client_enter(client, true, reterr);
    if (status != HF_OK) {
        return status;
    }
    ask->owner = hfi_call_owner(client, owner);
    if (ask->owner == NULL) {
        hfi_client_leave(client);
        return hfi_fail(reterr, HF_NOMEM, "out of memory");
    }
    return hfi_call_run(client, ask, cancel, ret_result, reterr);
}

hf_status hf_lock_acquire(hf_lock *lock, const hf_acquire *how,
                          hf_error *reterr)
{
    struct hfi_op_request ask;
    struct hfi_op_result result;
    hf_acquire read = HF_ACQUIRE_INIT;
    hf_status status = hfi_acquire_read(lock, how, &read, reterr);

    if (status != HF_OK) {
        return status;
    }
    status = hfi_acquire_ask(lock, &read, &ask, reterr);
    if (status != HF_OK) {
        return status;
    }
    status = run_for_owner(lock, read.owner, read.cancel, &ask, &result,
                           reterr);
    free(ask.terms); /* if it got nowhere */
    return status;
}

hf_status hf_lock_release(hf_lock *lock, hf_owner *owner, hf_error *reterr)
{
    struct hfi_op_request ask = {.kind = HFI_OP_RELEASE};
    struct hfi_op_result result;

    return run_for_owner(lock, owner, NULL, &ask, &result, reterr);
}

hf_status hf_lock_extend(hf_lock *lock, hf_owner *owner, int64_t lease_ms,
                         hf_error *reterr)
{
    struct hfi_op_request ask = {.kind = HFI_OP_EXTEND, .lease_ms = lease_ms};
    struct hfi_op_result result;

    if (lease_ms < HF_LEASE_MIN_MS || lease_ms > HF_LEASE_MAX_MS) {
        return hfi_fail(reterr, HF_INVALID,
                        "hf_lock_extend: lease_ms: 10 ms to ten years");
    }
    return run_for_owner(lock, owner, NULL, &ask, &result, reterr);
}

/* "uuid:number", or what else fits into an owner's field of Redisson's. */
static bool owner_text_is_valid(const char *owner)
{
    return owner == NULL || (owner[0] != '\0' && strlen(owner) < 128);
}

hf_status hf_lock_force_release(hf_lock *lock, const char *if_owner,
                                hf_error *reterr)
{
    struct hfi_op_request ask = {.kind = HFI_OP_FORCE, .field = if_owner};
    struct hfi_op_result result;

    if (!owner_text_is_valid(if_owner)) {
        return hfi_fail(reterr, HF_INVALID,
                        "hf_lock_force_release: if_owner is no owner");
    }
    return run_for_owner(lock, NULL, NULL, &ask, &result, reterr);
}

/* ---- local answers ---- */

/* Nothing is held in a child, or once the client is closed; or by NULL, which
 * a program's clean-up may well ask about. */
static void view(hf_lock *lock, hf_owner *owner, struct hfi_hold_view *ret_view)
{
    struct hf_client *client;
    struct hfi_object object;
    struct hfi_owner *found;
    int64_t now;

    memset(ret_view, 0, sizeof(*ret_view));
    if (lock == NULL || hfi_client_enter(lock->client, false, NULL) != HF_OK) {
        return;
    }
    client = lock->client;
    now = hfi_clock_ms();
    found = owner != NULL
                ? owner->owner
                : hfi_owner_get(client->core, hfi_thread_owner_id(), false);
    if (found != NULL) {
        object = hfi_lock_object(lock);
        hfi_core_view(client->core, found, &object, now, ret_view);
        hfi_settle(client, now);
    }
    hfi_client_leave(client);
}

bool hf_lock_is_held(hf_lock *lock, hf_owner *owner)
{
    struct hfi_hold_view seen;

    view(lock, owner, &seen);
    return seen.count > 0;
}

hf_lock_state hf_lock_state_of(hf_lock *lock, hf_owner *owner,
                               hf_lost_reason *ret_reason)
{
    struct hfi_hold_view seen;

    view(lock, owner, &seen);
    if (ret_reason != NULL) {
        *ret_reason = seen.reason;
    }
    return seen.state;
}

int64_t hf_lock_hold_count(hf_lock *lock, hf_owner *owner)
{
    struct hfi_hold_view seen;

    view(lock, owner, &seen);
    return seen.count;
}

int64_t hf_lock_remaining_ms(hf_lock *lock, hf_owner *owner)
{
    struct hfi_hold_view seen;

    view(lock, owner, &seen);
    return seen.remaining_ms;
}

static hf_status wrong_token(const hf_lock *lock, hf_error *reterr)
{
    return hfi_fail(reterr, HF_INVALID,
                    lock->kind->fenced
                        ? "the hold was taken with a lock object that is not "
                          "fenced"
                        : "this lock has no fencing tokens");
}

hf_status hfi_token_of_view(const hf_lock *lock,
                            const struct hfi_hold_view *seen,
                            int64_t *ret_token, hf_error *reterr)
{
    if (seen->state == HF_STATE_LOST) {
        return hfi_fail(reterr, HF_LOST, "the lease was lost: %s",
                        hf_lost_reason_text(seen->reason));
    }
    if (seen->count == 0) {
        return hfi_fail(reterr, HF_NOT_OWNER, "%s",
                        hf_status_text(HF_NOT_OWNER));
    }
    if (seen->token == 0) {
        return wrong_token(lock, reterr);
    }
    *ret_token = seen->token;
    return HF_OK;
}

hf_status hf_lock_token(hf_lock *lock, hf_owner *owner, int64_t *ret_token,
                        hf_error *reterr)
{
    struct hfi_hold_view seen;

    if (lock == NULL || ret_token == NULL) {
        return hfi_fail(reterr, HF_INVALID, "hf_lock_token: %s is NULL",
                        lock == NULL ? "lock" : "ret_token");
    }
    view(lock, owner, &seen);
    return hfi_token_of_view(lock, &seen, ret_token, reterr);
}

hf_status hf_lock_owner_text(hf_lock *lock, hf_owner *owner, char *buf,
                             size_t size)
{
    struct hfi_hold_view seen;
    size_t len;

    view(lock, owner, &seen);
    if (seen.count == 0) {
        return HF_NOT_OWNER;
    }
    len = strlen(seen.owner);
    if (buf == NULL || len >= size) {
        return HF_INVALID;
    }
    memcpy(buf, seen.owner, len + 1);
    return HF_OK;
}
