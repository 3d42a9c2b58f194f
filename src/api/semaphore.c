/* SPDX-License-Identifier: MIT */
/* api/semaphore.c - the entry points of a semaphore: check, call, block. */
#include "holdfast/semaphore.h"

#include <string.h>

#include "api/counts.h"
#include "base/fail.h"

static hf_lock *inside(hf_semaphore *semaphore)
{
    return (hf_lock *)(void *)semaphore;
}

/* ---- objects ---- */

hf_status hf_semaphore_new_bytes(hf_client *client, const void *name,
                                 size_t name_bytes,
                                 hf_semaphore **ret_semaphore, hf_error *reterr)
{
    struct hfi_object object = {
        .kind = &hfi_kind_semaphore, .name = name, .name_bytes = name_bytes};
    hf_lock *lock = NULL;
    hf_status status;

    if (ret_semaphore == NULL) {
        return hfi_fail(reterr, HF_INVALID, "ret_semaphore is NULL");
    }
    status = hfi_lock_make(client, &object, &lock, reterr);
    if (status == HF_OK) {
        *ret_semaphore = (hf_semaphore *)(void *)lock;
    }
    return status;
}

hf_status hf_semaphore_new(hf_client *client, const char *name,
                           hf_semaphore **ret_semaphore, hf_error *reterr)
{
    return hf_semaphore_new_bytes(client, name, name == NULL ? 0 : strlen(name),
                                  ret_semaphore, reterr);
}

hf_status hf_semaphore_free(hf_semaphore *semaphore)
{
    return hf_lock_free(inside(semaphore));
}

/* ---- what may be asked ---- */

static hf_status check_permits(int64_t permits, int64_t least, hf_error *reterr)
{
    if (permits < least || permits > HF_PERMITS_MAX) {
        return hfi_fail(reterr, HF_INVALID, "permits: %lld to %lld",
                        (long long)least, (long long)HF_PERMITS_MAX);
    }
    return HF_OK;
}

static hf_status ask_acquire(hf_semaphore *semaphore, int64_t permits,
                             int64_t wait_ms, const hf_cancel *cancel,
                             struct hfi_op_request *ret_ask, hf_error *reterr)
{
    hf_status status = check_permits(permits, 0, reterr);

    memset(ret_ask, 0, sizeof(*ret_ask));
    ret_ask->kind = HFI_OP_TAKE;
    ret_ask->count = permits;
    ret_ask->wait_ms = wait_ms;
    return status == HF_OK
               ? hfi_wait_check(inside(semaphore), wait_ms, cancel, reterr)
               : status;
}

static hf_status ask_set(int64_t permits, int64_t ttl_ms,
                         struct hfi_op_request *ret_ask, hf_error *reterr)
{
    memset(ret_ask, 0, sizeof(*ret_ask));
    ret_ask->kind = HFI_OP_CHANGE;
    ret_ask->word = HFI_WORD_SET;
    ret_ask->count = permits;
    ret_ask->lease_ms = ttl_ms;
    if (ttl_ms < 0 || ttl_ms > HF_LEASE_MAX_MS) {
        return hfi_fail(reterr, HF_INVALID, "ttl_ms: 0 to ten years");
    }
    return check_permits(permits, 0, reterr);
}

/* ---- blocking calls ---- */

hf_status hf_semaphore_acquire(hf_semaphore *semaphore, int64_t permits,
                               int64_t wait_ms, hf_cancel *cancel,
                               hf_error *reterr)
{
    struct hfi_op_result result;
    struct hfi_op_request ask;
    hf_status status = ask_acquire(semaphore, permits, wait_ms, cancel, &ask,
                                   reterr);

    return status == HF_OK
               ? hfi_count_run(inside(semaphore), &ask, cancel, &result, reterr)
               : status;
}

hf_status hf_semaphore_release(hf_semaphore *semaphore, int64_t permits,
                               hf_error *reterr)
{
    struct hfi_op_request ask = {.word = HFI_WORD_RELEASE, .count = permits};
    hf_status status = check_permits(permits, 0, reterr);

    return status == HF_OK
               ? hfi_count_change(inside(semaphore), &ask, NULL, NULL, reterr)
               : status;
}

hf_status hf_semaphore_release_if_exists(hf_semaphore *semaphore,
                                         int64_t permits, bool *ret_existed,
                                         hf_error *reterr)
{
    struct hfi_op_request ask = {.word = HFI_WORD_RETURN, .count = permits};
    hf_status status = check_permits(permits, 0, reterr);

    return status == HF_OK ? hfi_count_change(inside(semaphore), &ask,
                                              ret_existed, NULL, reterr)
                           : status;
}

hf_status hf_semaphore_try_set(hf_semaphore *semaphore, int64_t permits,
                               int64_t ttl_ms, bool *ret_set, hf_error *reterr)
{
    struct hfi_op_request ask;
    hf_status status = ask_set(permits, ttl_ms, &ask, reterr);

    return status == HF_OK ? hfi_count_change(inside(semaphore), &ask, ret_set,
                                              NULL, reterr)
                           : status;
}

hf_status hf_semaphore_add(hf_semaphore *semaphore, int64_t permits,
                           int64_t *ret_available, hf_error *reterr)
{
    struct hfi_op_request ask = {.word = HFI_WORD_ADD, .count = permits};
    hf_status status = check_permits(permits, -HF_PERMITS_MAX, reterr);

    return status == HF_OK ? hfi_count_change(inside(semaphore), &ask, NULL,
                                              ret_available, reterr)
                           : status;
}

hf_status hf_semaphore_drain(hf_semaphore *semaphore, int64_t *ret_drained,
                             hf_error *reterr)
{
    struct hfi_op_request ask = {.word = HFI_WORD_DRAIN};

    return hfi_count_change(inside(semaphore), &ask, NULL, ret_drained, reterr);
}

hf_status hf_semaphore_delete(hf_semaphore *semaphore, bool *ret_existed,
                              hf_error *reterr)
{
    struct hfi_op_request ask = {.word = HFI_WORD_DELETE};

    return hfi_count_change(inside(semaphore), &ask, ret_existed, NULL, reterr);
}

/* ---- looking ---- */

hf_status hf_semaphore_inspect_remote(hf_semaphore *semaphore,
                                      hf_semaphore_info *ret_info,
                                      hf_error *reterr)
{
    struct hfi_op_request ask = {.kind = HFI_OP_TELL};
    struct hfi_op_result result;
    hf_status status;

    if (ret_info == NULL || ret_info->size < sizeof(*ret_info)) {
        return hfi_fail(reterr, HF_INVALID,
                        "hf_semaphore_info: begin with HF_SEMAPHORE_INFO_INIT");
    }
    status = hfi_count_run(inside(semaphore), &ask, NULL, &result, reterr);
    if (status == HF_OK) {
        ret_info->ttl_ms = hfi_value_number(&result.value.items[0], -2);
        ret_info->exists = ret_info->ttl_ms != -2;
        ret_info->available = hfi_value_number(&result.value.items[1], 0);
        ret_info->waiting = hfi_value_number(&result.value.items[2], 0);
        hfi_value_clear(&result.value);
    }
    return status;
}

hf_status hf_semaphore_available(hf_semaphore *semaphore,
                                 int64_t *ret_available, hf_error *reterr)
{
    hf_semaphore_info info = HF_SEMAPHORE_INFO_INIT;
    hf_status status;

    if (ret_available == NULL) {
        return hfi_fail(reterr, HF_INVALID, "ret_available is NULL");
    }
    status = hf_semaphore_inspect_remote(semaphore, &info, reterr);
    if (status == HF_OK) {
        *ret_available = info.available;
    }
    return status;
}

/* ---- asynchronous forms ---- */

static void tell(const struct hfi_async *async)
{
    hf_semaphore_completion done = {
        .status = async->status,
        .error = async->status == HF_OK ? NULL : &async->error,
        .semaphore = (hf_semaphore *)(void *)async->lock,
        .changed = async->changed ? 1 : 0,
        .permits = async->count,
    };

    ((hf_semaphore_fn)async->counted)(&done, async->context);
}

static hf_status start(hf_semaphore *semaphore, struct hfi_op_request *ask,
                       hf_cancel *cancel, hf_semaphore_fn done, void *context,
                       hf_error *reterr)
{
    struct hfi_async async = {
        .tell = tell, .counted = (hfi_counted_fn)done, .context = context};

    return hfi_count_start(inside(semaphore), ask, cancel, &async, reterr);
}

hf_status hf_semaphore_acquire_async(hf_semaphore *semaphore, int64_t permits,
                                     int64_t wait_ms, hf_cancel *cancel,
                                     hf_semaphore_fn done, void *context,
                                     hf_error *reterr)
{
    struct hfi_op_request ask;
    hf_status status = ask_acquire(semaphore, permits, wait_ms, cancel, &ask,
                                   reterr);

    return status == HF_OK
               ? start(semaphore, &ask, cancel, done, context, reterr)
               : status;
}

static hf_status start_change(hf_semaphore *semaphore, const char *word,
                              int64_t permits, hf_semaphore_fn done,
                              void *context, hf_error *reterr)
{
    struct hfi_op_request ask = {
        .kind = HFI_OP_CHANGE, .word = word, .count = permits};

    return start(semaphore, &ask, NULL, done, context, reterr);
}

hf_status hf_semaphore_release_async(hf_semaphore *semaphore, int64_t permits,
                                     hf_semaphore_fn done, void *context,
                                     hf_error *reterr)
{
    hf_status status = check_permits(permits, 0, reterr);

    return status == HF_OK ? start_change(semaphore, HFI_WORD_RELEASE, permits,
                                          done, context, reterr)
                           : status;
}

hf_status hf_semaphore_release_if_exists_async(hf_semaphore *semaphore,
                                               int64_t permits,
                                               hf_semaphore_fn done,
                                               void *context, hf_error *reterr)
{
    hf_status status = check_permits(permits, 0, reterr);

    return status == HF_OK ? start_change(semaphore, HFI_WORD_RETURN, permits,
                                          done, context, reterr)
                           : status;
}

hf_status hf_semaphore_try_set_async(hf_semaphore *semaphore, int64_t permits,
                                     int64_t ttl_ms, hf_semaphore_fn done,
                                     void *context, hf_error *reterr)
{
    struct hfi_op_request ask;
    hf_status status = ask_set(permits, ttl_ms, &ask, reterr);

    return status == HF_OK ? start(semaphore, &ask, NULL, done, context, reterr)
                           : status;
}

hf_status hf_semaphore_add_async(hf_semaphore *semaphore, int64_t permits,
                                 hf_semaphore_fn done, void *context,
                                 hf_error *reterr)
{
    hf_status status = check_permits(permits, -HF_PERMITS_MAX, reterr);

    return status == HF_OK ? start_change(semaphore, HFI_WORD_ADD, permits,
                                          done, context, reterr)
                           : status;
}

hf_status hf_semaphore_drain_async(hf_semaphore *semaphore,
                                   hf_semaphore_fn done, void *context,
                                   hf_error *reterr)
{
    return start_change(semaphore, HFI_WORD_DRAIN, 0, done, context, reterr);
}

hf_status hf_semaphore_delete_async(hf_semaphore *semaphore,
                                    hf_semaphore_fn done, void *context,
                                    hf_error *reterr)
{
    return start_change(semaphore, HFI_WORD_DELETE, 0, done, context, reterr);
}

hf_status hf_semaphore_available_async(hf_semaphore *semaphore,
                                       hf_semaphore_fn done, void *context,
                                       hf_error *reterr)
{
    struct hfi_op_request ask = {.kind = HFI_OP_TELL};

    return start(semaphore, &ask, NULL, done, context, reterr);
}
