/* SPDX-License-Identifier: MIT */
/* api/call.h - how an entry point becomes a call of the core; api/ only. */
#ifndef HFI_API_CALL_H
#define HFI_API_CALL_H

#include "driver/client.h"

/** Run a call to its end on the calling thread.  The client is entered before,
 *  and left when this returns, as are @p ask's owner, whose reference is taken,
 *  and its lock, whose calls are counted.  Its terms, and its `several`, are NULL if the op has
 *  them now.  @p ret_result: the caller clears its
 *  value. */
hf_status hfi_call_run(struct hf_client *client, struct hfi_op_request *ask,
                       struct hf_cancel *cancel,
                       struct hfi_op_result *ret_result, hf_error *reterr);

/** Start a call whose end is a callback.  The client is entered; @p async is
 *  taken if the result is HF_OK. */
hf_status hfi_call_start(struct hf_client *client, struct hfi_op_request *ask,
                         struct hf_cancel *cancel, struct hfi_async *async,
                         hf_error *reterr);

/** The owner that a call is for: the one given, or the calling thread.  A
 *  reference is returned, give it back with hfi_owner_unref(); the client is
 *  entered.  NULL: out of memory. */
struct hfi_owner *hfi_call_owner(struct hf_client *client, hf_owner *owner);

/** What a lock is to the core. */
struct hfi_object hfi_lock_object(const hf_lock *lock);

/** The fencing token of a hold that was looked at. */
hf_status hfi_token_of_view(const hf_lock *lock,
                            const struct hfi_hold_view *seen,
                            int64_t *ret_token, hf_error *reterr);

/** The lock's name into a request. */
void hfi_call_names(struct hfi_op_request *ask, hf_lock *lock);

/** Check the name, and make what stands behind an hf_lock, whatever its kind.
 *  Free it with hf_lock_free(). */
hf_status hfi_lock_make(hf_client *client, const struct hfi_object *object,
                        hf_lock **ret_lock, hf_error *reterr);

/** A values lock of these fields, which are sorted and each there once. */
hf_status hfi_values_lock_of(hf_client *client, const struct hfi_object *name,
                             const char *fields, size_t bytes,
                             hf_lock **ret_lock, hf_error *reterr);

/** A lock object like this one; returned, free with hf_lock_free().  NULL: out
 *  of memory. */
hf_lock *hfi_lock_copy(const hf_lock *lock);

/** Hand a call to the core; the client is entered.  It may have ended before
 *  this returns. */
void hfi_call_begin(struct hf_client *client, struct hfi_user *user,
                    struct hf_cancel *cancel);

/** Hand over several acquisitions that succeed together or not at all. */
void hfi_call_begin_together(struct hf_client *client,
                             struct hfi_op *const *ops, size_t count,
                             int64_t patience_ms);

/** An owner object for a client that is entered. */
hf_status hfi_owner_make(struct hf_client *client, hf_owner **ret_owner,
                         hf_error *reterr);

/** Check what a caller asks for, and fill in defaults. */
hf_status hfi_acquire_read(const hf_lock *lock, const hf_acquire *how,
                           hf_acquire *ret_how, hf_error *reterr);

/** What an acquisition asks of the core; `terms` are made if it needs any. */
hf_status hfi_acquire_ask(hf_lock *lock, const hf_acquire *how,
                          struct hfi_op_request *ret_ask, hf_error *reterr);

#endif
