/* SPDX-License-Identifier: MIT */
/* api/permits.c - permits with leases: the object, and how many there are.
 *
 * Taking them and giving them back is in permits_hold.c.
 */
#include "api/permits.h"

#include <stdlib.h>
#include <string.h>

#include "api/counts.h"
#include "base/clock.h"
#include "base/fail.h"

/* What the script says of a lease. */
#define GONE_MS (-2)
#define NEVER_MS (-1)

/* ---- objects ---- */

/* Nobody has the lock yet. */
static hf_status set_options(hf_lock *lock, const hf_permits_options *asked,
                             hf_error *reterr)
{
    if (asked->text_ids == 0) {
        return HF_OK;
    }
    if (lock->options == NULL) {
        lock->options = calloc(1, sizeof(*lock->options));
        if (lock->options == NULL) {
            return hfi_fail(reterr, HF_NOMEM, "out of memory");
        }
        lock->options->refs = 1;
    }
    lock->options->text_ids = true;
    return HF_OK;
}

hf_status hf_permits_new_as(hf_client *client,
                            const hf_permits_options *options, const void *name,
                            size_t name_bytes, hf_permits **ret_permits,
                            hf_error *reterr)
{
    struct hfi_object object = {
        .kind = &hfi_kind_permits, .name = name, .name_bytes = name_bytes};
    hf_permits_options own = HF_PERMITS_OPTIONS_INIT;
    hf_lock *lock = NULL;
    hf_status status;

    if (ret_permits == NULL) {
        return hfi_fail(reterr, HF_INVALID, "ret_permits is NULL");
    }
    if (options != NULL &&
        !hfi_options_read(options, options->size, &own, sizeof(own))) {
        return hfi_fail(reterr, HF_INVALID,
                        "hf_permits_options: begin with "
                        "HF_PERMITS_OPTIONS_INIT");
    }
    status = hfi_lock_make(client, &object, &lock, reterr);
    if (status != HF_OK) {
        return status;
    }
    status = set_options(lock, &own, reterr);
    if (status == HF_OK) {
        *ret_permits = (hf_permits *)(void *)lock;
    } else {
        (void)hf_lock_free(lock);
    }
    return status;
}

hf_status hf_permits_new_bytes(hf_client *client, const void *name,
                               size_t name_bytes, hf_permits **ret_permits,
                               hf_error *reterr)
{
    return hf_permits_new_as(client, NULL, name, name_bytes, ret_permits,
                             reterr);
}

hf_status hf_permits_new(hf_client *client, const char *name,
                         hf_permits **ret_permits, hf_error *reterr)
{
    return hf_permits_new_bytes(client, name, name == NULL ? 0 : strlen(name),
                                ret_permits, reterr);
}

hf_status hf_permits_free(hf_permits *permits)
{
    return hf_lock_free(hfi_permits_inside(permits));
}

/* ---- what may be asked ---- */

hf_status hfi_permits_check_id(const hf_permits *permits, const char *id,
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

hf_status hfi_permits_fail_gone(hf_permits *permits, const char *id,
                                const char *what, hf_error *reterr)
{
    const hf_lock *lock = hfi_permits_inside(permits);
    char name[96] = "";

    hfi_printable(name, sizeof(name), lock->name, lock->name_bytes);
    return hfi_fail(reterr, HF_GONE, "%s: %s %s", name, what, id);
}

static hf_status check_count(int64_t count, int64_t least, hf_error *reterr)
{
    return count < least || count > HF_PERMITS_MAX
               ? hfi_fail(reterr, HF_INVALID, "permits: %lld to %lld",
                          (long long)least, (long long)HF_PERMITS_MAX)
               : HF_OK;
}

/* ---- local answers ---- */

static void view(hf_permits *permits, const char *id,
                 struct hfi_hold_view *ret_view)
{
    hf_lock *lock = hfi_permits_inside(permits);
    struct hfi_object object;
    struct hfi_owner *owner;
    int64_t now;

    memset(ret_view, 0, sizeof(*ret_view));
    if (hfi_permits_check_id(permits, id, NULL) != HF_OK ||
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
    return seen.remaining_ms > HF_LEASE_MAX_MS ? INT64_MAX : seen.remaining_ms;
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
    return status == HF_OK ? hfi_count_change(hfi_permits_inside(permits), &ask,
                                              ret_set, NULL, reterr)
                           : status;
}

hf_status hf_permits_set(hf_permits *permits, int64_t count, hf_error *reterr)
{
    struct hfi_op_request ask = {.word = HFI_WORD_TOTAL, .count = count};
    hf_status status = check_count(count, 0, reterr);

    return status == HF_OK ? hfi_count_change(hfi_permits_inside(permits), &ask,
                                              NULL, NULL, reterr)
                           : status;
}

hf_status hf_permits_add(hf_permits *permits, int64_t count,
                         int64_t *ret_available, hf_error *reterr)
{
    struct hfi_op_request ask = {.word = HFI_WORD_ADD, .count = count};
    hf_status status = check_count(count, -HF_PERMITS_MAX, reterr);

    return status == HF_OK ? hfi_count_change(hfi_permits_inside(permits), &ask,
                                              NULL, ret_available, reterr)
                           : status;
}

hf_status hf_permits_delete(hf_permits *permits, bool *ret_existed,
                            hf_error *reterr)
{
    struct hfi_op_request ask = {.word = HFI_WORD_DELETE};

    return hfi_count_change(hfi_permits_inside(permits), &ask, ret_existed,
                            NULL, reterr);
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
    status = hfi_count_run(hfi_permits_inside(permits), &ask, NULL, &result,
                           reterr);
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

hf_status hf_permits_lease_remote(hf_permits *permits, const char *id,
                                  int64_t *ret_lease_ms, hf_error *reterr)
{
    struct hfi_op_request ask = {.kind = HFI_OP_TELL, .field = id};
    struct hfi_op_result result;
    hf_status status = hfi_permits_check_id(permits, id, reterr);
    int64_t lease_ms;

    if (status == HF_OK && ret_lease_ms == NULL) {
        return hfi_fail(reterr, HF_INVALID, "ret_lease_ms is NULL");
    }
    if (status == HF_OK) {
        status = hfi_count_run(hfi_permits_inside(permits), &ask, NULL, &result,
                               reterr);
    }
    if (status != HF_OK) {
        return status;
    }
    lease_ms = hfi_value_number(&result.value.items[4], GONE_MS);
    hfi_value_clear(&result.value);
    if (lease_ms == GONE_MS) {
        return hfi_permits_fail_gone(permits, id, "there is no permit", reterr);
    }
    *ret_lease_ms = lease_ms == NEVER_MS ? HF_LEASE_NONE : lease_ms;
    return HF_OK;
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
