/* SPDX-License-Identifier: MIT */
/* api/permits_hold.c - permits with leases: taken, prolonged, given back.
 *
 * A permit that this client holds has an owner of its own in the core, found by
 * its id, and is then treated as a lock's hold.  Any other id is a matter for
 * the server alone: a change with a record, as a semaphore's.  So is giving back
 * several at once, whosever they are.
 */
#include "api/permits.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "sync/kinds/kind.h"

/* ---- what may be asked ---- */

/* Whether there is to be no lease: then there is nothing to renew, and for the
 * checks of what locks have too it has the longest. */
static bool read_endless(const hf_acquire *how, hf_acquire *ret_own)
{
    if (how == NULL ||
        !hfi_options_read(how, how->size, ret_own, sizeof(*ret_own)) ||
        ret_own->lease_ms != HF_LEASE_NONE) {
        return false;
    }
    ret_own->size = sizeof(*ret_own);
    ret_own->lease_ms = HF_LEASE_MAX_MS;
    ret_own->renew = 0;
    return true;
}

static hf_status ask_acquire(hf_permits *permits, int64_t count,
                             const hf_acquire *how,
                             struct hfi_op_request *ret_ask,
                             hf_cancel **ret_cancel, hf_error *reterr)
{
    hf_acquire read = HF_ACQUIRE_INIT;
    hf_acquire own = HF_ACQUIRE_INIT;
    bool endless = read_endless(how, &own);
    hf_status status = hfi_acquire_read(hfi_permits_inside(permits),
                                        endless ? &own : how, &read, reterr);

    if (status != HF_OK) {
        return status;
    }
    if (count < 1 || count > HF_PERMITS_AT_ONCE_MAX) {
        return hfi_fail(reterr, HF_INVALID, "permits at once: 1 to %d",
                        HF_PERMITS_AT_ONCE_MAX);
    }
    if (read.owner != NULL || read.min_hold_ms != 0) {
        return hfi_fail(reterr, HF_INVALID,
                        "hf_acquire: a permit has no owner but its id, and no "
                        "min_hold_ms");
    }
    *ret_cancel = read.cancel;
    status = hfi_acquire_ask(hfi_permits_inside(permits), &read, ret_ask,
                             reterr);
    ret_ask->count = count;
    ret_ask->lease_ms = endless ? HFI_NO_LEASE_MS : ret_ask->lease_ms;
    return status;
}

static hf_status check_lease(int64_t lease_ms, hf_error *reterr)
{
    return lease_ms < HF_LEASE_MIN_MS || lease_ms > HF_LEASE_MAX_MS
               ? hfi_fail(reterr, HF_INVALID, "lease_ms: 10 ms to ten years")
               : HF_OK;
}

/* ---- whose it is; the client is entered ---- */

/* Of a permit that this client holds: what is asked of the hold.  Of another's:
 * a change of what is on the server. */
static void aim(hf_lock *lock, const char *id, struct hfi_op_request *ask)
{
    struct hfi_object object = hfi_lock_object(lock);

    hfi_call_names(ask, lock);
    ask->owner = hfi_core_permit_owner(lock->client->core, &object, id);
    if (ask->owner != NULL) {
        hfi_owner_ref(ask->owner);
        return;
    }
    ask->field = id;
    ask->count = 1;
    ask->word = ask->exact                   ? HFI_WORD_LEASE
                : ask->kind == HFI_OP_EXTEND ? HFI_WORD_EXTEND
                                             : HFI_WORD_FREE;
    ask->kind = HFI_OP_CHANGE;
}

/* ---- what is asked for several ---- */

/* What the op has not taken. */
static void drop_ask(struct hf_client *client, struct hfi_op_request *ask)
{
    free(ask->terms);
    if (ask->several != NULL) {
        hfi_client_lock(client);
        hfi_several_free(client->core, ask->several);
        hfi_client_unlock(client);
    }
}

/* An owner for each permit; the client is entered. */
static bool make_owners(struct hf_client *client, struct hfi_op_request *ask)
{
    size_t others = (size_t)ask->count - 1;

    if (others > 0) {
        ask->several = hfi_several_new(others);
        if (ask->several == NULL) {
            return false;
        }
    }
    for (size_t i = 0; i < others; i++) {
        struct hfi_owner *owner = hfi_owner_get(client->core,
                                                hfi_owner_id_new(), true);

        if (owner == NULL) {
            return false;
        }
        hfi_owner_ref(owner);
        ask->several->items[i].owner = owner;
    }
    ask->owner = hfi_owner_get(client->core, hfi_owner_id_new(), true);
    if (ask->owner != NULL) {
        hfi_owner_ref(ask->owner);
    }
    return ask->owner != NULL;
}

static void write_ids(const struct hf_client *client, const char *first,
                      size_t count, hf_permit_id *ret_ids)
{
    for (size_t i = 0; i < count; i++) {
        hfi_core_permit_after(client->core, first, i, ret_ids[i].text);
    }
}

/* At most half a million comparisons, of what differs early or is the same. */
static bool has_twice(const struct hfi_several *several)
{
    for (size_t i = 0; i < several->count; i++) {
        for (size_t j = 0; j < i; j++) {
            if (memcmp(several->items[i].id, several->items[j].id,
                       HFI_PERMIT_BYTES) == 0) {
                return true;
            }
        }
    }
    return false;
}

static hf_status ask_release_many(hf_permits *permits, const hf_permit_id *ids,
                                  size_t count, struct hfi_op_request *ret_ask,
                                  hf_error *reterr)
{
    struct hfi_several *several;

    if (permits == NULL || ids == NULL) {
        return hfi_fail(reterr, HF_INVALID, "%s NULL",
                        permits == NULL ? "the object is" : "ids are");
    }
    if (count < 1 || count > HF_PERMITS_AT_ONCE_MAX) {
        return hfi_fail(reterr, HF_INVALID, "permits at once: 1 to %d",
                        HF_PERMITS_AT_ONCE_MAX);
    }
    several = hfi_several_new(count);
    if (several == NULL) {
        return hfi_fail(reterr, HF_NOMEM, "out of memory");
    }
    for (size_t i = 0; i < count; i++) {
        if (memchr(ids[i].text, '\0', HF_PERMIT_ID_SIZE) == NULL ||
            !hfi_permit_read(ids[i].text, several->items[i].id)) {
            free(several);
            return hfi_fail(reterr, HF_INVALID,
                            "ids[%zu] is no id of a permit: 32 hexadecimal "
                            "digits",
                            i);
        }
    }
    if (has_twice(several)) {
        free(several);
        return hfi_fail(reterr, HF_INVALID, "an id stands there twice");
    }
    memset(ret_ask, 0, sizeof(*ret_ask));
    ret_ask->kind = HFI_OP_CHANGE;
    ret_ask->word = HFI_WORD_FREE;
    ret_ask->count = (int64_t)count;
    ret_ask->several = several;
    hfi_call_names(ret_ask, hfi_permits_inside(permits));
    return HF_OK;
}

/* ---- blocking calls ---- */

/* Take so many; `ret_first` is the id of the first. */
static hf_status acquire(hf_permits *permits, int64_t count,
                         const hf_acquire *how, char *ret_first,
                         hf_error *reterr)
{
    struct hfi_op_result result;
    struct hfi_op_request ask = {.terms = NULL};
    hf_cancel *cancel = NULL;
    struct hf_client *client;
    hf_status status = ask_acquire(permits, count, how, &ask, &cancel, reterr);

    if (status != HF_OK) {
        return status;
    }
    client = hfi_permits_inside(permits)->client;
    status = hfi_client_enter(client, true, reterr);
    if (status != HF_OK) {
        free(ask.terms);
        return status;
    }
    if (make_owners(client, &ask)) {
        status = hfi_call_run(client, &ask, cancel, &result, reterr);
    } else {
        hfi_client_leave(client);
        status = hfi_fail(reterr, HF_NOMEM, "out of memory");
    }
    drop_ask(client, &ask);
    if (status == HF_OK) {
        memcpy(ret_first, result.handle_owner, HF_PERMIT_ID_SIZE);
    }
    return status;
}

hf_status hf_permits_acquire(hf_permits *permits, const hf_acquire *how,
                             char ret_id[HF_PERMIT_ID_SIZE], hf_error *reterr)
{
    return ret_id == NULL ? hfi_fail(reterr, HF_INVALID, "ret_id is NULL")
                          : acquire(permits, 1, how, ret_id, reterr);
}

hf_status hf_permits_acquire_many(hf_permits *permits, int64_t count,
                                  const hf_acquire *how, hf_permit_id *ret_ids,
                                  hf_error *reterr)
{
    char first[HF_PERMIT_ID_SIZE];
    hf_status status;

    if (ret_ids == NULL) {
        return hfi_fail(reterr, HF_INVALID, "ret_ids is NULL");
    }
    status = acquire(permits, count, how, first, reterr);
    if (status == HF_OK) {
        write_ids(hfi_permits_inside(permits)->client, first, (size_t)count,
                  ret_ids);
    }
    return status;
}

static hf_status run_on(hf_permits *permits, const char *id,
                        struct hfi_op_request *ask, hf_error *reterr)
{
    struct hfi_op_result result;
    hf_lock *lock = hfi_permits_inside(permits);
    hf_status status = hfi_permits_check_id(permits, id, reterr);

    if (status != HF_OK) {
        return status;
    }
    status = hfi_client_enter(lock->client, true, reterr);
    if (status != HF_OK) {
        return status;
    }
    aim(lock, id, ask);
    return hfi_call_run(lock->client, ask, NULL, &result, reterr);
}

hf_status hf_permits_release(hf_permits *permits, const char *id,
                             hf_error *reterr)
{
    struct hfi_op_request ask = {.kind = HFI_OP_RELEASE};

    return run_on(permits, id, &ask, reterr);
}

hf_status hf_permits_release_many(hf_permits *permits, const hf_permit_id *ids,
                                  size_t count, hf_error *reterr)
{
    struct hfi_op_result result;
    struct hfi_op_request ask;
    struct hf_client *client;
    hf_status status = ask_release_many(permits, ids, count, &ask, reterr);

    if (status != HF_OK) {
        return status;
    }
    client = hfi_permits_inside(permits)->client;
    status = hfi_client_enter(client, true, reterr);
    if (status == HF_OK) {
        status = hfi_call_run(client, &ask, NULL, &result, reterr);
    }
    drop_ask(client, &ask);
    return status;
}

hf_status hf_permits_extend(hf_permits *permits, const char *id,
                            int64_t lease_ms, hf_error *reterr)
{
    struct hfi_op_request ask = {.kind = HFI_OP_EXTEND, .lease_ms = lease_ms};
    hf_status status = check_lease(lease_ms, reterr);

    return status == HF_OK ? run_on(permits, id, &ask, reterr) : status;
}

/* What sets a lease; HF_LEASE_NONE: there is to be none. */
static hf_status ask_lease(int64_t lease_ms, struct hfi_op_request *ret_ask,
                           hf_error *reterr)
{
    bool endless = lease_ms == HF_LEASE_NONE;

    memset(ret_ask, 0, sizeof(*ret_ask));
    ret_ask->kind = HFI_OP_EXTEND;
    ret_ask->exact = true;
    ret_ask->lease_ms = endless ? HFI_NO_LEASE_MS : lease_ms;
    return endless ? HF_OK : check_lease(lease_ms, reterr);
}

hf_status hf_permits_set_lease(hf_permits *permits, const char *id,
                               int64_t lease_ms, hf_error *reterr)
{
    struct hfi_op_request ask;
    hf_status status = ask_lease(lease_ms, &ask, reterr);

    return status == HF_OK ? run_on(permits, id, &ask, reterr) : status;
}

hf_status hf_permits_hand_on(hf_permits *permits, const char *id,
                             hf_error *reterr)
{
    struct hfi_op_request ask = {.kind = HFI_OP_EXPORT};
    struct hfi_op_result result;
    hf_lock *lock = hfi_permits_inside(permits);
    hf_status status = hfi_permits_check_id(permits, id, reterr);

    if (status != HF_OK) {
        return status;
    }
    status = hfi_client_enter(lock->client, true, reterr);
    if (status != HF_OK) {
        return status;
    }
    aim(lock, id, &ask);
    if (ask.owner == NULL) {
        hfi_client_leave(lock->client);
        return hfi_permits_fail_gone(
            permits, id, "this client does not hold the permit", reterr);
    }
    return hfi_call_run(lock->client, &ask, NULL, &result, reterr);
}

/* ---- asynchronous forms ---- */

/* Several permits, and the ids that their callback is lent. */
struct many {
    struct hfi_async async; /* first: it is freed as that */
    size_t count;
    hf_permit_id *ids; /* in the same piece of memory, behind it */
};

static void tell(const struct hfi_async *async)
{
    hf_permits_completion done = {
        .status = async->status,
        .error = async->status == HF_OK ? NULL : &async->error,
        .permits = (hf_permits *)(void *)async->lock,
        .id = async->status == HF_OK ? async->id : "",
    };

    ((hf_permits_fn)async->counted)(&done, async->context);
}

static void tell_many(const struct hfi_async *async)
{
    const struct many *many = (const struct many *)(const void *)async;
    bool taken = async->status == HF_OK;
    hf_permits_completion done = {
        .status = async->status,
        .error = taken ? NULL : &async->error,
        .permits = (hf_permits *)(void *)async->lock,
        .id = taken ? async->id : "",
        .ids = taken ? many->ids : NULL,
        .count = taken ? many->count : 0,
    };

    if (taken) {
        write_ids(async->client, async->id, many->count, many->ids);
    }
    ((hf_permits_fn)async->counted)(&done, async->context);
}

/* What comes back as the callback, with room for so many ids; 0: none are told.
 */
static hf_status make_async(hf_permits *permits, size_t room,
                            hf_permits_fn done, void *context,
                            struct hfi_async **ret_async, hf_error *reterr)
{
    struct many *many;

    if (done == NULL) {
        return hfi_fail(reterr, HF_INVALID, "the callback is NULL");
    }
    many = calloc(1, sizeof(*many) + room * sizeof(many->ids[0]));
    if (many == NULL) {
        return hfi_fail(reterr, HF_NOMEM, "out of memory");
    }
    many->count = room;
    many->ids = (hf_permit_id *)(void *)(many + 1);
    many->async.lock = hfi_permits_inside(permits);
    many->async.tell = room > 0 ? tell_many : tell;
    many->async.counted = (hfi_counted_fn)done;
    many->async.context = context;
    *ret_async = &many->async;
    return HF_OK;
}

/* Start it, and leave the client.  The op has a reference to the owner. */
static hf_status start(struct hf_client *client, struct hfi_op_request *ask,
                       hf_cancel *cancel, struct hfi_async *async,
                       hf_error *reterr)
{
    struct hfi_owner *owner = ask->owner;
    hf_status status = hfi_call_start(client, ask, cancel, async, reterr);

    if (owner != NULL) {
        hfi_owner_unref(client->core, owner);
    }
    hfi_client_leave(client);
    return status;
}

static hf_status acquire_async(hf_permits *permits, int64_t count,
                               const hf_acquire *how, struct hfi_async *async,
                               hf_error *reterr)
{
    struct hfi_op_request ask = {.terms = NULL};
    struct hf_client *client;
    hf_cancel *cancel = NULL;
    hf_status status = ask_acquire(permits, count, how, &ask, &cancel, reterr);

    if (status != HF_OK) {
        return status;
    }
    client = hfi_permits_inside(permits)->client;
    status = hfi_client_enter(client, false, reterr);
    if (status != HF_OK) {
        free(ask.terms);
        return status;
    }
    if (make_owners(client, &ask)) {
        status = start(client, &ask, cancel, async, reterr);
    } else {
        hfi_client_leave(client);
        status = hfi_fail(reterr, HF_NOMEM, "out of memory");
    }
    if (status != HF_OK) {
        drop_ask(client, &ask);
    }
    return status;
}

hf_status hf_permits_acquire_async(hf_permits *permits, const hf_acquire *how,
                                   hf_permits_fn done, void *context,
                                   hf_error *reterr)
{
    struct hfi_async *async = NULL;
    hf_status status = make_async(permits, 0, done, context, &async, reterr);

    if (status == HF_OK) {
        status = acquire_async(permits, 1, how, async, reterr);
    }
    if (status != HF_OK) {
        free(async);
    }
    return status;
}

hf_status hf_permits_acquire_many_async(hf_permits *permits, int64_t count,
                                        const hf_acquire *how,
                                        hf_permits_fn done, void *context,
                                        hf_error *reterr)
{
    struct hfi_async *async = NULL;
    size_t room = count < 1 || count > HF_PERMITS_AT_ONCE_MAX ? 0
                                                              : (size_t)count;
    hf_status status = make_async(permits, room, done, context, &async, reterr);

    if (status == HF_OK) {
        status = acquire_async(permits, count, how, async, reterr);
    }
    if (status != HF_OK) {
        free(async);
    }
    return status;
}

hf_status hf_permits_release_many_async(hf_permits *permits,
                                        const hf_permit_id *ids, size_t count,
                                        hf_permits_fn done, void *context,
                                        hf_error *reterr)
{
    struct hfi_op_request ask = {.several = NULL};
    struct hfi_async *async = NULL;
    struct hf_client *client;
    hf_status status = make_async(permits, 0, done, context, &async, reterr);

    if (status == HF_OK) {
        status = ask_release_many(permits, ids, count, &ask, reterr);
    }
    if (status == HF_OK) {
        client = hfi_permits_inside(permits)->client;
        status = hfi_client_enter(client, false, reterr);
        if (status == HF_OK) {
            status = start(client, &ask, NULL, async, reterr);
        }
        if (status != HF_OK) {
            drop_ask(client, &ask);
        }
    }
    if (status != HF_OK) {
        free(async);
    }
    return status;
}

static hf_status start_on(hf_permits *permits, const char *id,
                          struct hfi_op_request *ask, hf_permits_fn done,
                          void *context, hf_error *reterr)
{
    struct hfi_async *async = NULL;
    hf_status status = hfi_permits_check_id(permits, id, reterr);

    if (status == HF_OK) {
        status = make_async(permits, 0, done, context, &async, reterr);
    }
    if (status == HF_OK) {
        status = hfi_client_enter(hfi_permits_inside(permits)->client, false,
                                  reterr);
    }
    if (status == HF_OK) {
        aim(hfi_permits_inside(permits), id, ask);
        status = start(hfi_permits_inside(permits)->client, ask, NULL, async,
                       reterr);
    }
    if (status != HF_OK) {
        free(async);
    }
    return status;
}

hf_status hf_permits_release_async(hf_permits *permits, const char *id,
                                   hf_permits_fn done, void *context,
                                   hf_error *reterr)
{
    struct hfi_op_request ask = {.kind = HFI_OP_RELEASE};

    return start_on(permits, id, &ask, done, context, reterr);
}

hf_status hf_permits_extend_async(hf_permits *permits, const char *id,
                                  int64_t lease_ms, hf_permits_fn done,
                                  void *context, hf_error *reterr)
{
    struct hfi_op_request ask = {.kind = HFI_OP_EXTEND, .lease_ms = lease_ms};
    hf_status status = check_lease(lease_ms, reterr);

    return status == HF_OK ? start_on(permits, id, &ask, done, context, reterr)
                           : status;
}

hf_status hf_permits_set_lease_async(hf_permits *permits, const char *id,
                                     int64_t lease_ms, hf_permits_fn done,
                                     void *context, hf_error *reterr)
{
    struct hfi_op_request ask;
    hf_status status = ask_lease(lease_ms, &ask, reterr);

    return status == HF_OK ? start_on(permits, id, &ask, done, context, reterr)
                           : status;
}
