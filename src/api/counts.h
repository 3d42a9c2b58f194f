/* SPDX-License-Identifier: MIT */
/* api/counts.h - what semaphores and latches have in common; api/ only.
 *
 * Both are an hf_lock inside: a client, a kind and a name.  Their own types
 * keep callers from mixing them up.
 */
#ifndef HFI_API_COUNTS_H
#define HFI_API_COUNTS_H

#include "api/call.h"
#include "sync/kinds/kind.h"

/** Run a request of a count to its end.  @p ret_result is set if HF_OK, without
 *  its value, which the caller gets only if it clears it (@p ret_value). */
hf_status hfi_count_run(hf_lock *lock, struct hfi_op_request *ask,
                        hf_cancel *cancel, struct hfi_op_result *ret_result,
                        hf_error *reterr);

/** The same for a CHANGE: what it says, and how many.  Either may be NULL. */
hf_status hfi_count_change(hf_lock *lock, struct hfi_op_request *ask,
                           bool *ret_changed, int64_t *ret_count,
                           hf_error *reterr);

/** Start one that ends in a callback.  @p async has its `tell` and what that
 *  needs; it is copied. */
hf_status hfi_count_start(hf_lock *lock, struct hfi_op_request *ask,
                          hf_cancel *cancel, const struct hfi_async *async,
                          hf_error *reterr);

/** Check a wait and its token. */
hf_status hfi_wait_check(const hf_lock *lock, int64_t wait_ms,
                         const hf_cancel *cancel, hf_error *reterr);

#endif
