/* SPDX-License-Identifier: MIT */
/* holdfast/latch.h - a count-down latch that processes share.
 *
 * Speaks the RCountDownLatch format of Redisson (docs/wire/latch.md): a program
 * in Java and one with this library count down the same latch and wait for it
 * together.
 *
 * A latch that is armed with a count is closed until it was counted down so
 * often.  Then it is open: all who wait go on, and who comes later does not
 * wait.  A latch that was never armed is open too.  It can be armed again, and
 * whoever waited before that goes on all the same.  Each count counts exactly
 * once, whatever the network does.
 */
#ifndef HOLDFAST_LATCH_H
#define HOLDFAST_LATCH_H

#include "holdfast/lock.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hf_latch hf_latch;

#define HF_LATCH_MAX INT64_C(9007199254740992) /* exact on the server */

/** Make a latch object for a name given as a string.  Nothing is sent, and
 *  nothing made on the server.  Does not block; any thread.
 *  @param client     kept.
 *  @param ret_latch  returned, free with hf_latch_free().
 *  @retval HF_OK
 *  @retval HF_BAD_NAME  it is empty or longer than HF_NAME_MAX_BYTES.
 *  @retval HF_INVALID, HF_NOMEM, HF_CLOSED, HF_FORKED */
HF_API hf_status hf_latch_new(hf_client *client, const char *name,
                              hf_latch **ret_latch, hf_error *reterr);

/** The same for a name of any bytes. */
HF_API hf_status hf_latch_new_bytes(hf_client *client, const void *name,
                                    size_t name_bytes, hf_latch **ret_latch,
                                    hf_error *reterr);

/** Free a latch object; the latch stays as it is.  Refused while a call with it
 *  runs.
 *  @param latch taken, if the result is HF_OK; NULL is fine.
 *  @retval HF_OK, HF_STILL_HELD */
HF_API hf_status hf_latch_free(hf_latch *latch);

/**
 * Wait until the latch is open.
 *
 * Blocks the calling thread; hf_latch_await_async() does not.  Any number of
 * threads may wait.  A signal never ends the wait; @p cancel does.
 *
 * @param wait_ms  0: look once.  HF_WAIT_FOREVER: no limit.
 * @param cancel   kept until the call ends; may be NULL.
 * @param reterr   filled in unless the result is HF_OK; may be NULL.
 *
 * @retval HF_OK          it is open, or was since the call.
 * @retval HF_BUSY        `wait_ms` was 0 and it is closed.
 * @retval HF_TIMEOUT     `wait_ms` passed first.
 * @retval HF_CANCELLED   the token was fired first.
 * @retval HF_CLOSED      the client was closed first.
 * @retval HF_UNREACHABLE the server did not answer until the wait ended.
 * @retval HF_UNAVAILABLE the server refused service until the wait ended.
 * @retval HF_WRONG_TYPE  the name holds something that is no latch.
 * @retval HF_INVALID     an argument is out of range.
 * @retval HF_PERMISSION, HF_NOMEM, HF_PROTOCOL, HF_FORKED, HF_IN_CALLBACK
 */
HF_API hf_status hf_latch_await(hf_latch *latch, int64_t wait_ms,
                                hf_cancel *cancel, hf_error *reterr);

/* ---- what changes it --------------------------------------------------------
 * All of these block for an answer, for the response limit and one reconnection
 * and, if none came, as long again to find out whether it was done.  None can
 * be taken back, so they say:
 *
 *   HF_OK        it was done, once.
 *   HF_NOT_DONE  no answer came in time; it was not done and never will be.
 *   HF_UNKNOWN   the server stays away: it may have been done.
 *   HF_UNREACHABLE, HF_UNAVAILABLE   nothing was done; later it may be.
 *   HF_WRONG_TYPE, HF_INVALID, HF_PERMISSION, HF_CLOSED, HF_FORKED,
 *   HF_IN_CALLBACK, HF_NOMEM, HF_PROTOCOL   nothing was done.
 */

/** Arm the latch with a count, unless it is armed.
 *  @param count    1 to HF_LATCH_MAX.
 *  @param ret_set  false: it is armed already.  Set if the result is HF_OK; may
 *                  be NULL. */
HF_API hf_status hf_latch_try_set(hf_latch *latch, int64_t count, bool *ret_set,
                                  hf_error *reterr);

/** Count down by one.  An open latch stays open.
 *  @param ret_left  how many are still to come; may be NULL. */
HF_API hf_status hf_latch_count_down(hf_latch *latch, int64_t *ret_left,
                                     hf_error *reterr);

/** Delete the latch: it is open, and who waits goes on (a program in Java when
 *  its time limit ends).
 *  @param ret_existed  set if the result is HF_OK; may be NULL. */
HF_API hf_status hf_latch_delete(hf_latch *latch, bool *ret_existed,
                                 hf_error *reterr);

/* ---- looking --------------------------------------------------------------*/

/** How many are still to come; 0: it is open.  Asks the server, and blocks for
 *  its answer.
 *  @retval HF_OK, HF_UNREACHABLE, HF_UNAVAILABLE, HF_WRONG_TYPE, ... */
HF_API hf_status hf_latch_count(hf_latch *latch, int64_t *ret_count,
                                hf_error *reterr);

/* What can be seen of a latch.  Begin with HF_LATCH_INFO_INIT.  Fields are only
 * ever added at the end. */
typedef struct hf_latch_info {
    size_t size;     /* set by the initialiser, never by hand */
    int64_t count;   /* still to come; 0: open */
    int64_t waiting; /* clients that listen for its end */
} hf_latch_info;

#define HF_LATCH_INFO_INIT                                                     \
    {                                                                          \
        sizeof(hf_latch_info), 0, 0                                            \
    }

/** All of that.  As hf_latch_count(). */
HF_API hf_status hf_latch_inspect_remote(hf_latch *latch,
                                         hf_latch_info *ret_info,
                                         hf_error *reterr);

/* ---- asynchronous forms ----------------------------------------------------
 * Each returns at once.  If the result is HF_OK, the callback comes exactly
 * once, later, never from inside the call; else it never comes.  Callbacks run
 * in hf_client_dispatch() or on the client's callback thread.
 */

/* How an asynchronous call ended; lent. */
typedef struct hf_latch_completion {
    hf_status status;
    const hf_error *error; /* lent; NULL when status is HF_OK */
    hf_latch *latch;
    int changed;   /* of try_set and delete: 1 or 0 */
    int64_t count; /* of count_down and count: how many are still to come */
} hf_latch_completion;

typedef void (*hf_latch_fn)(const hf_latch_completion *done, void *context);

/** As hf_latch_await().
 *  @param latch kept until the callback, as is @p cancel. */
HF_API hf_status hf_latch_await_async(hf_latch *latch, int64_t wait_ms,
                                      hf_cancel *cancel, hf_latch_fn done,
                                      void *context, hf_error *reterr);

/** As hf_latch_try_set(). */
HF_API hf_status hf_latch_try_set_async(hf_latch *latch, int64_t count,
                                        hf_latch_fn done, void *context,
                                        hf_error *reterr);

/** As hf_latch_count_down(). */
HF_API hf_status hf_latch_count_down_async(hf_latch *latch, hf_latch_fn done,
                                           void *context, hf_error *reterr);

/** As hf_latch_delete(). */
HF_API hf_status hf_latch_delete_async(hf_latch *latch, hf_latch_fn done,
                                       void *context, hf_error *reterr);

/** As hf_latch_count(). */
HF_API hf_status hf_latch_count_async(hf_latch *latch, hf_latch_fn done,
                                      void *context, hf_error *reterr);

#ifdef __cplusplus
}
#endif

#endif /* HOLDFAST_LATCH_H */
