/* SPDX-License-Identifier: MIT */
/* api/latch.c - the entry points of a latch: check, call the core, block. */
#include "holdfast/latch.h"

#include <string.h>

#include "api/counts.h"
#include "base/fail.h"

static hf_lock *inside(hf_latch *latch)
{
    return (hf_lock *)(void *)latch;
}

/* ---- objects ---- */

hf_status hf_latch_new_bytes(hf_client *client, const void *name,
                             size_t name_bytes, hf_latch **ret_latch,
                             hf_error *reterr)
{
    struct hfi_object object = {
        .kind = &hfi_kind_latch, .name = name, .name_bytes = name_bytes};
    hf_lock *lock = NULL;
    hf_status status;

    if (ret_latch == NULL) {
        return hfi_fail(reterr, HF_INVALID, "ret_latch is NULL");
    }
    status = hfi_lock_make(client, &object, &lock, reterr);
    if (status == HF_OK) {
        *ret_latch = (hf_latch *)(void *)lock;
    }
    return status;
}

hf_status hf_latch_new(hf_client *client, const char *name,
                       hf_latch **ret_latch, hf_error *reterr)
{
    return hf_latch_new_bytes(client, name, name == NULL ? 0 : strlen(name),
                              ret_latch, reterr);
}

hf_status hf_latch_free(hf_latch *latch)
{
    return hf_lock_free(inside(latch));
}

/* ---- what may be asked ---- */

static hf_status ask_await(hf_latch *latch, int64_t wait_ms,
                           const hf_cancel *cancel,
                           struct hfi_op_request *ret_ask, hf_error *reterr)
{
    memset(ret_ask, 0, sizeof(*ret_ask));
    ret_ask->kind = HFI_OP_AWAIT;
    ret_ask->wait_ms = wait_ms;
    return hfi_wait_check(inside(latch), wait_ms, cancel, reterr);
}

static hf_status ask_set(int64_t count, struct hfi_op_request *ret_ask,
                         hf_error *reterr)
{
    memset(ret_ask, 0, sizeof(*ret_ask));
    ret_ask->kind = HFI_OP_CHANGE;
    ret_ask->word = HFI_WORD_SET;
    ret_ask->count = count;
    if (count < 1 || count > HF_LATCH_MAX) {
        return hfi_fail(reterr, HF_INVALID, "count: 1 to %lld",
                        (long long)HF_LATCH_MAX);
    }
    return HF_OK;
}

/* ---- blocking calls ---- */

hf_status hf_latch_await(hf_latch *latch, int64_t wait_ms, hf_cancel *cancel,
                         hf_error *reterr)
{
    struct hfi_op_result result;
    struct hfi_op_request ask;
    hf_status status = ask_await(latch, wait_ms, cancel, &ask, reterr);

    return status == HF_OK
               ? hfi_count_run(inside(latch), &ask, cancel, &result, reterr)
               : status;
}

hf_status hf_latch_try_set(hf_latch *latch, int64_t count, bool *ret_set,
                           hf_error *reterr)
{
    struct hfi_op_request ask;
    hf_status status = ask_set(count, &ask, reterr);

    return status == HF_OK
               ? hfi_count_change(inside(latch), &ask, ret_set, NULL, reterr)
               : status;
}

hf_status hf_latch_count_down(hf_latch *latch, int64_t *ret_left,
                              hf_error *reterr)
{
    struct hfi_op_request ask = {.word = HFI_WORD_DOWN};

    return hfi_count_change(inside(latch), &ask, NULL, ret_left, reterr);
}

hf_status hf_latch_delete(hf_latch *latch, bool *ret_existed, hf_error *reterr)
{
    struct hfi_op_request ask = {.word = HFI_WORD_DELETE};

    return hfi_count_change(inside(latch), &ask, ret_existed, NULL, reterr);
}

/* ---- looking ---- */

hf_status hf_latch_inspect_remote(hf_latch *latch, hf_latch_info *ret_info,
                                  hf_error *reterr)
{
    struct hfi_op_request ask = {.kind = HFI_OP_TELL};
    struct hfi_op_result result;
    hf_status status;

    if (ret_info == NULL || ret_info->size < sizeof(*ret_info)) {
        return hfi_fail(reterr, HF_INVALID,
                        "hf_latch_info: begin with HF_LATCH_INFO_INIT");
    }
    status = hfi_count_run(inside(latch), &ask, NULL, &result, reterr);
    if (status == HF_OK) {
        ret_info->count = hfi_value_number(&result.value.items[0], 0);
        ret_info->waiting = hfi_value_number(&result.value.items[2], 0);
        hfi_value_clear(&result.value);
    }
    return status;
}

hf_status hf_latch_count(hf_latch *latch, int64_t *ret_count, hf_error *reterr)
{
    hf_latch_info info = HF_LATCH_INFO_INIT;
    hf_status status;

    if (ret_count == NULL) {
        return hfi_fail(reterr, HF_INVALID, "ret_count is NULL");
    }
    status = hf_latch_inspect_remote(latch, &info, reterr);
    if (status == HF_OK) {
        *ret_count = info.count;
    }
    return status;
}

/* ---- asynchronous forms ---- */

static void tell(const struct hfi_async *async)
{
    hf_latch_completion done = {
        .status = async->status,
        .error = async->status == HF_OK ? NULL : &async->error,
        .latch = (hf_latch *)(void *)async->lock,
        .changed = async->changed ? 1 : 0,
        .count = async->count,
    };

    ((hf_latch_fn)async->counted)(&done, async->context);
}

static hf_status start(hf_latch *latch, struct hfi_op_request *ask,
                       hf_cancel *cancel, hf_latch_fn done, void *context,
                       hf_error *reterr)
{
    struct hfi_async async = {
        .tell = tell, .counted = (hfi_counted_fn)done, .context = context};

    return hfi_count_start(inside(latch), ask, cancel, &async, reterr);
}

hf_status hf_latch_await_async(hf_latch *latch, int64_t wait_ms,
                               hf_cancel *cancel, hf_latch_fn done,
                               void *context, hf_error *reterr)
{
    struct hfi_op_request ask;
    hf_status status = ask_await(latch, wait_ms, cancel, &ask, reterr);

    return status == HF_OK ? start(latch, &ask, cancel, done, context, reterr)
                           : status;
}

hf_status hf_latch_try_set_async(hf_latch *latch, int64_t count,
                                 hf_latch_fn done, void *context,
                                 hf_error *reterr)
{
    struct hfi_op_request ask;
    hf_status status = ask_set(count, &ask, reterr);

    return status == HF_OK ? start(latch, &ask, NULL, done, context, reterr)
                           : status;
}

hf_status hf_latch_count_down_async(hf_latch *latch, hf_latch_fn done,
                                    void *context, hf_error *reterr)
{
    struct hfi_op_request ask = {.kind = HFI_OP_CHANGE, .word = HFI_WORD_DOWN};

    return start(latch, &ask, NULL, done, context, reterr);
}

hf_status hf_latch_delete_async(hf_latch *latch, hf_latch_fn done,
                                void *context, hf_error *reterr)
{
    struct hfi_op_request ask = {.kind = HFI_OP_CHANGE,
                                 .word = HFI_WORD_DELETE};

    return start(latch, &ask, NULL, done, context, reterr);
}

hf_status hf_latch_count_async(hf_latch *latch, hf_latch_fn done, void *context,
                               hf_error *reterr)
{
    struct hfi_op_request ask = {.kind = HFI_OP_TELL};

    return start(latch, &ask, NULL, done, context, reterr);
}
