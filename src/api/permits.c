/* SPDX-License-Identifier: MIT */
/* api/permits.c - the entry points of permits with leases.
 *
 * A permit that this client holds has an owner of its own in the core, found by
 * its id, and is then treated as a lock's hold.  Any other id is a matter for
 * the server alone: a change with a record, as a semaphore's.
 */
#include "holdfast/permits.h"

#include <stdlib.h>
#include <string.h>

#include "api/counts.h"
#include "base/clock.h"
#include "base/fail.h"

static hf_lock *inside(hf_permits *permits)
{
    return (hf_lock *)(void *)permits;
}

/* ---- objects ---- */

hf_status hf_permits_new_bytes(hf_client *client, const void *name,
                               size_t name_bytes, hf_permits **ret_permits,
                               hf_error *reterr)
{
    struct hfi_object object = {
        .kind = &hfi_kind_permits, .name = name, .name_bytes = name_bytes};
    hf_lock *lock = NULL;
    hf_status status;

    if (ret_permits == NULL) {
        return hfi_fail(reterr, HF_INVALID, "ret_permits is NULL");
    }
    status = hfi_lock_make(client, &object, &lock, reterr);
    if (status == HF_OK) {
        *ret_permits = (hf_permits *)(void *)lock;
    }
    return status;
}

hf_status hf_permits_new(hf_client *client, const char *name,
                         hf_permits **ret_permits, hf_error *reterr)
{
    return hf_permits_new_bytes(client, name, name == NULL ? 0 : strlen(name),
                                ret_permits, reterr);
}

hf_status hf_permits_free(hf_permits *permits)
{
    return hf_lock_free(inside(permits));
}

/* ---- what may be asked ---- */

static hf_status ask_acquire(hf_permits *permits, const hf_acquire *how,
                             struct hfi_op_request *ret_ask,
                             hf_cancel **ret_cancel, hf_error *reterr)
{
    hf_acquire read = HF_ACQUIRE_INIT;
    hf_status status = hfi_acquire_read(inside(permits), how, &read, reterr);

    if (status != HF_OK) {
        return status;
    }
    if (read.owner != NULL || read.min_hold_ms != 0) {
        return hfi_fail(reterr, HF_INVALID,
                        "hf_acquire: a permit has no owner but its id, and no "
                        "min_hold_ms");
    }
    *ret_cancel = read.cancel;
    status = hfi_acquire_ask(inside(permits), &read, ret_ask, reterr);
    ret_ask->count = 1;
    return status;
}

static hf_status check_id(const hf_permits *permits, const char *id,
                          hf_error *reterr)
{
    unsigned char bytes[HFI_PERMIT_BYTES];

    if (permits == NULL) {
        return hfi_fail(reterr, HF_INVALID, "the object is NULL");
    }
    if (id == NULL || !hfi_permit_read(id, bytes)) {
        return hfi_fail(reterr, HF_INVALID,
                        "the id of a permit: 32 hexadecimal digits");
    }
    return HF_OK;
}

static hf_status check_lease(int64_t lease_ms, hf_error *reterr)
{
    return lease_ms < HF_LEASE_MIN_MS || lease_ms > HF_LEASE_MAX_MS
               ? hfi_fail(reterr, HF_INVALID, "lease_ms: 10 ms to ten years")
               : HF_OK;
}

static hf_status check_count(int64_t count, int64_t least, hf_error *reterr)
{
    return count < least || count > HF_PERMITS_MAX
               ? hfi_fail(reterr, HF_INVALID, "permits: %lld to %lld",
                          (long long)least, (long long)HF_PERMITS_MAX)
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
    ask->word = ask->kind == HFI_OP_EXTEND ? HFI_WORD_EXTEND : HFI_WORD_FREE;
    ask->kind = HFI_OP_CHANGE;
}

/* ---- blocking calls ---- */

hf_status hf_permits_acquire(hf_permits *permits, const hf_acquire *how,
                             char ret_id[HF_PERMIT_ID_SIZE], hf_error *reterr)
{
    struct hfi_op_result result;
    struct hfi_op_request ask = {.terms = NULL};
    hf_cancel *cancel = NULL;
    struct hf_client *client;
    hf_status status;

    if (ret_id == NULL) {
        return hfi_fail(reterr, HF_INVALID, "ret_id is NULL");
    }
    status = ask_acquire(permits, how, &ask, &cancel, reterr);
    if (status != HF_OK) {
        return status;
    }
    client = inside(permits)->client;
    status = hfi_client_enter(client, true, reterr);
    if (status != HF_OK) {
        free(ask.terms);
        return status;
    }
    ask.owner = hfi_owner_get(client->core, hfi_owner_id_new(), true);
    if (ask.owner == NULL) {
        hfi_client_leave(client);
        free(ask.terms);
        return hfi_fail(reterr, HF_NOMEM, "out of memory");
    }
    hfi_owner_ref(ask.owner);
    status = hfi_call_run(client, &ask, cancel, &result, reterr);
    free(ask.terms); /* if it got nowhere */
    if (status == HF_OK) {
        memcpy(ret_id, result.handle_owner, HF_PERMIT_ID_SIZE);
    }
    return status;
}

static hf_status run_on(hf_permits *permits, const char *id,
                        struct hfi_op_request *ask, hf_error *reterr)
{
    struct hfi_op_result result;
    hf_lock *lock = inside(permits);
    hf_status status = check_id(permits, id, reterr);

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

hf_status hf_permits_extend(hf_permits *permits, const char *id,
                            int64_t lease_ms, hf_error *reterr)
{
    struct hfi_op_request ask = {.kind = HFI_OP_EXTEND, .lease_ms = lease_ms};
    hf_status status = check_lease(lease_ms, reterr);

    return status == HF_OK ? run_on(permits, id, &ask, reterr) : status;
}

hf_status hf_permits_hand_on(hf_permits *permits, const char *id,
                             hf_error *reterr)
{
    struct hfi_op_request ask = {.kind = HFI_OP_EXPORT};
    struct hfi_op_result result;
    hf_lock *lock = inside(permits);
    hf_status status = check_id(permits, id, reterr);

    if (status != HF_OK) {
        return status;
    }
    status = hfi_client_enter(lock->client, true, reterr);
    if (status != HF_OK) {
        return status;
    }
    aim(lock, id, &ask);
    if (ask.owner == NULL) {
        char name[96] = "";

        hfi_client_leave(lock->client);
        hfi_printable(name, sizeof(name), lock->name, lock->name_bytes);
        return hfi_fail(reterr, HF_GONE,
                        "%s: this client does not hold the permit %s", name,
                        id);
    }
    return hfi_call_run(lock->client, &ask, NULL, &result, reterr);
}

/* ---- local answers ---- */

static void view(hf_permits *permits, const char *id,
                 struct hfi_hold_view *ret_view)
{
    hf_lock *lock = inside(permits);
    struct hfi_object object;
    struct hfi_owner *owner;
    int64_t now;

    memset(ret_view, 0, sizeof(*ret_view));
    if (check_id(permits, id, NULL) != HF_OK ||
        hfi_client_enter(lock->client, false, NULL) != HF_OK) {
        return;
    }
    now = hfi_clock_ms();
    object = hfi_lock_object(lock);
    owner = hfi_core_permit_owner(lock->client->core, &object, id);
    if (owner != NULL) {
        hfi_core_view(lock->client->core, owner, &object, now, ret_view);
        hfi_settle(lock->client, now);
    }
    hfi_client_leave(lock->client);
}

bool hf_permits_is_held(hf_permits *permits, const char *id)
{
    struct hfi_hold_view seen;

    view(permits, id, &seen);
    return seen.count > 0;
}

int64_t hf_permits_remaining_ms(hf_permits *permits, const char *id)
{
    struct hfi_hold_view seen;

    view(permits, id, &seen);
    return seen.remaining_ms;
}

/* ---- how many there are ---- */

hf_status hf_permits_try_set(hf_permits *permits, int64_t count, int64_t ttl_ms,
                             bool *ret_set, hf_error *reterr)
{
    struct hfi_op_request ask = {
        .word = HFI_WORD_SET, .count = count, .lease_ms = ttl_ms};
    hf_status status = check_count(count, 0, reterr);

    if (ttl_ms < 0 || ttl_ms > HF_LEASE_MAX_MS) {
        return hfi_fail(reterr, HF_INVALID, "ttl_ms: 0 to ten years");
    }
    return status == HF_OK
               ? hfi_count_change(inside(permits), &ask, ret_set, NULL, reterr)
               : status;
}

hf_status hf_permits_set(hf_permits *permits, int64_t count, hf_error *reterr)
{
    struct hfi_op_request ask = {.word = HFI_WORD_TOTAL, .count = count};
    hf_status status = check_count(count, 0, reterr);

    return status == HF_OK
               ? hfi_count_change(inside(permits), &ask, NULL, NULL, reterr)
               : status;
}

hf_status hf_permits_add(hf_permits *permits, int64_t count,
                         int64_t *ret_available, hf_error *reterr)
{
    struct hfi_op_request ask = {.word = HFI_WORD_ADD, .count = count};
    hf_status status = check_count(count, -HF_PERMITS_MAX, reterr);

    return status == HF_OK ? hfi_count_change(inside(permits), &ask, NULL,
                                              ret_available, reterr)
                           : status;
}

hf_status hf_permits_delete(hf_permits *permits, bool *ret_existed,
                            hf_error *reterr)
{
    struct hfi_op_request ask = {.word = HFI_WORD_DELETE};

    return hfi_count_change(inside(permits), &ask, ret_existed, NULL, reterr);
}

hf_status hf_permits_inspect_remote(hf_permits *permits,
                                    hf_permits_info *ret_info, hf_error *reterr)
{
    struct hfi_op_request ask = {.kind = HFI_OP_TELL};
    struct hfi_op_result result;
    hf_status status;

    if (ret_info == NULL || ret_info->size < sizeof(*ret_info)) {
        return hfi_fail(reterr, HF_INVALID,
                        "hf_permits_info: begin with HF_PERMITS_INFO_INIT");
    }
    status = hfi_count_run(inside(permits), &ask, NULL, &result, reterr);
    if (status == HF_OK) {
        ret_info->ttl_ms = hfi_value_number(&result.value.items[0], -2);
        ret_info->exists = ret_info->ttl_ms != -2;
        ret_info->available = hfi_value_number(&result.value.items[1], 0);
        ret_info->acquired = hfi_value_number(&result.value.items[2], 0);
        ret_info->waiting = hfi_value_number(&result.value.items[3], 0);
        hfi_value_clear(&result.value);
    }
    return status;
}

hf_status hf_permits_available(hf_permits *permits, int64_t *ret_available,
                               hf_error *reterr)
{
    hf_permits_info info = HF_PERMITS_INFO_INIT;
    hf_status status;

    if (ret_available == NULL) {
        return hfi_fail(reterr, HF_INVALID, "ret_available is NULL");
    }
    status = hf_permits_inspect_remote(permits, &info, reterr);
    if (status == HF_OK) {
        *ret_available = info.available;
    }
    return status;
}

/* ---- asynchronous forms ---- */

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

static struct hfi_async *make_async(hf_permits *permits, hf_permits_fn done,
                                    void *context)
{
    struct hfi_async *async = calloc(1, sizeof(*async));

    if (async != NULL) {
        async->lock = inside(permits);
        async->tell = tell;
        async->counted = (hfi_counted_fn)done;
        async->context = context;
    }
    return async;
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

hf_status hf_permits_acquire_async(hf_permits *permits, const hf_acquire *how,
                                   hf_permits_fn done, void *context,
                                   hf_error *reterr)
{
    struct hfi_async *async = NULL;
    struct hfi_op_request ask = {.terms = NULL};
    hf_cancel *cancel = NULL;
    hf_status status;

    if (done == NULL) {
        return hfi_fail(reterr, HF_INVALID, "the callback is NULL");
    }
    status = ask_acquire(permits, how, &ask, &cancel, reterr);
    if (status != HF_OK) {
        return status;
    }
    status = hfi_client_enter(inside(permits)->client, false, reterr);
    if (status == HF_OK) {
        struct hf_client *client = inside(permits)->client;

        async = make_async(permits, done, context);
        ask.owner = async == NULL
                        ? NULL
                        : hfi_owner_get(client->core, hfi_owner_id_new(), true);
        if (ask.owner == NULL) {
            hfi_client_leave(client);
            status = hfi_fail(reterr, HF_NOMEM, "out of memory");
        } else {
            hfi_owner_ref(ask.owner);
            status = start(client, &ask, cancel, async, reterr);
        }
    }
    if (status != HF_OK) {
        free(async);
        free(ask.terms);
    }
    return status;
}

static hf_status start_on(hf_permits *permits, const char *id,
                          struct hfi_op_request *ask, hf_permits_fn done,
                          void *context, hf_error *reterr)
{
    struct hfi_async *async;
    hf_status status = check_id(permits, id, reterr);

    if (status == HF_OK && done == NULL) {
        status = hfi_fail(reterr, HF_INVALID, "the callback is NULL");
    }
    if (status != HF_OK) {
        return status;
    }
    async = make_async(permits, done, context);
    if (async == NULL) {
        return hfi_fail(reterr, HF_NOMEM, "out of memory");
    }
    status = hfi_client_enter(inside(permits)->client, false, reterr);
    if (status == HF_OK) {
        aim(inside(permits), id, ask);
        status = start(inside(permits)->client, ask, NULL, async, reterr);
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
