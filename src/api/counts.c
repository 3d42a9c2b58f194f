/* SPDX-License-Identifier: MIT */
/* api/counts.c - what semaphores and latches have in common. */
#include "api/counts.h"

#include <stdlib.h>

#include "base/fail.h"

hf_status hfi_wait_check(const hf_lock *lock, int64_t wait_ms,
                         const hf_cancel *cancel, hf_error *reterr)
{
    if (wait_ms < HF_WAIT_FOREVER) {
        return hfi_fail(reterr, HF_INVALID,
                        "wait_ms: HF_WAIT_FOREVER, 0, or how long to wait");
    }
    if (lock != NULL && cancel != NULL && cancel->client != lock->client) {
        return hfi_fail(reterr, HF_INVALID,
                        "the token belongs to another client");
    }
    return HF_OK;
}

hf_status hfi_count_run(hf_lock *lock, struct hfi_op_request *ask,
                        hf_cancel *cancel, struct hfi_op_result *ret_result,
                        hf_error *reterr)
{
    hf_status status;

    if (lock == NULL) {
        return hfi_fail(reterr, HF_INVALID, "the object is NULL");
    }
    hfi_call_names(ask, lock);
    status = hfi_client_enter(lock->client, true, reterr);
    if (status != HF_OK) {
        return status;
    }
    return hfi_call_run(lock->client, ask, cancel, ret_result, reterr);
}

hf_status hfi_count_change(hf_lock *lock, struct hfi_op_request *ask,
                           bool *ret_changed, int64_t *ret_count,
                           hf_error *reterr)
{
    struct hfi_op_result result = {.status = HF_OK};
    hf_status status;

    ask->kind = HFI_OP_CHANGE;
    status = hfi_count_run(lock, ask, NULL, &result, reterr);
    if (status == HF_OK && ret_changed != NULL) {
        *ret_changed = result.changed;
    }
    if (status == HF_OK && ret_count != NULL) {
        *ret_count = result.count;
    }
    return status;
}

hf_status hfi_count_start(hf_lock *lock, struct hfi_op_request *ask,
                          hf_cancel *cancel, const struct hfi_async *async,
                          hf_error *reterr)
{
    struct hfi_async *own;
    hf_status status;

    if (lock == NULL) {
        return hfi_fail(reterr, HF_INVALID, "the object is NULL");
    }
    if (async->counted == NULL) {
        return hfi_fail(reterr, HF_INVALID, "the callback is NULL");
    }
    own = malloc(sizeof(*own));
    if (own == NULL) {
        return hfi_fail(reterr, HF_NOMEM, "out of memory");
    }
    *own = *async;
    own->lock = lock;
    hfi_call_names(ask, lock);
    status = hfi_client_enter(lock->client, false, reterr);
    if (status == HF_OK) {
        status = hfi_call_start(lock->client, ask, cancel, own, reterr);
        hfi_client_leave(lock->client);
    }
    if (status != HF_OK) {
        free(own);
    }
    return status;
}
