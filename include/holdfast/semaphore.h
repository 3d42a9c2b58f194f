/* SPDX-License-Identifier: MIT */
/* holdfast/semaphore.h - a counting semaphore that processes share.
 *
 * Speaks the RSemaphore format of Redisson (docs/wire/semaphore.md): a program
 * in Java and one with this library take from the same permits and wake each
 * other.
 *
 * A semaphore is a number of permits.  Nobody owns a permit: whoever likes may
 * give back any number, there is no maximum, and what a program took that then
 * crashed stays taken.  Each request counts exactly once, whatever the network
 * does: a reply that is lost neither leaks a permit nor doubles one.
 *
 * Before its first use a semaphore has no permits: hf_semaphore_try_set().
 */
#ifndef HOLDFAST_SEMAPHORE_H
#define HOLDFAST_SEMAPHORE_H

#include "holdfast/lock.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hf_semaphore hf_semaphore;

/* So many permits in one call at most, as in Java. */
#define HF_PERMITS_MAX INT64_C(2147483647)

/** Make a semaphore object for a name given as a string.  Nothing is sent, and
 *  nothing made on the server.  Does not block; any thread.
 *  @param client         kept.
 *  @param ret_semaphore  returned, free with hf_semaphore_free().
 *  @retval HF_OK
 *  @retval HF_BAD_NAME  it is empty or longer than HF_NAME_MAX_BYTES.
 *  @retval HF_INVALID, HF_NOMEM, HF_CLOSED, HF_FORKED */
HF_API hf_status hf_semaphore_new(hf_client *client, const char *name,
                                  hf_semaphore **ret_semaphore,
                                  hf_error *reterr);

/** The same for a name of any bytes. */
HF_API hf_status hf_semaphore_new_bytes(hf_client *client, const void *name,
                                        size_t name_bytes,
                                        hf_semaphore **ret_semaphore,
                                        hf_error *reterr);

/** Free a semaphore object; permits stay as they are.  Refused while a call
 *  with it runs.
 *  @param semaphore taken, if the result is HF_OK; NULL is fine.
 *  @retval HF_OK, HF_STILL_HELD */
HF_API hf_status hf_semaphore_free(hf_semaphore *semaphore);

/**
 * Take permits, all of them or none, waiting while there are too few.
 *
 * Blocks the calling thread; hf_semaphore_acquire_async() does not.  Any number
 * of threads may call it on one object.  A signal never ends the wait; @p cancel
 * does.  The waiters of one client for one name are served in their order, but
 * one who wants less than the first may pass it (docs/guide/counting.md).
 *
 * @param permits  0 to HF_PERMITS_MAX.  0 is there at once, and nothing is sent.
 * @param wait_ms  0: try once.  HF_WAIT_FOREVER: no limit.
 * @param cancel   kept until the call ends; may be NULL.
 * @param reterr   filled in unless the result is HF_OK; may be NULL.
 *
 * @retval HF_OK          the permits are the caller's.
 * @retval HF_BUSY        `wait_ms` was 0 and there are too few.
 * @retval HF_TIMEOUT     `wait_ms` passed first.  Nothing was taken.
 * @retval HF_CANCELLED   the token was fired first.  Nothing was taken.
 * @retval HF_CLOSED      the client was closed.  Nothing was taken.
 * @retval HF_UNKNOWN     an attempt was sent and never answered.  The caller
 *                        has no permits; if the attempt took some, they are
 *                        given back in the background as soon as the server
 *                        can be reached.  If it cannot for ten minutes, or the
 *                        client is closed before, they may stay taken.
 * @retval HF_UNREACHABLE the server could not be reached.  Nothing was sent.
 * @retval HF_UNAVAILABLE the server refused service until the wait ended.
 * @retval HF_WRONG_TYPE  the name holds something that is no semaphore.
 * @retval HF_INVALID     an argument is out of range.
 * @retval HF_PERMISSION, HF_NOMEM, HF_PROTOCOL, HF_FORKED, HF_IN_CALLBACK
 */
HF_API hf_status hf_semaphore_acquire(hf_semaphore *semaphore, int64_t permits,
                                      int64_t wait_ms, hf_cancel *cancel,
                                      hf_error *reterr);

/* ---- what adds and withdraws ----------------------------------------------
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

/** Give back permits, and wake who waits for them.  Makes the semaphore if
 *  there is none.
 *  @param permits  0 to HF_PERMITS_MAX; 0 does nothing, and nothing is sent. */
HF_API hf_status hf_semaphore_release(hf_semaphore *semaphore, int64_t permits,
                                      hf_error *reterr);

/** The same, but only if there is such a semaphore.
 *  @param ret_existed  set if the result is HF_OK; may be NULL. */
HF_API hf_status hf_semaphore_release_if_exists(hf_semaphore *semaphore,
                                                int64_t permits,
                                                bool *ret_existed,
                                                hf_error *reterr);

/** Make the semaphore with so many permits, unless there is one.
 *  @param permits  0 to HF_PERMITS_MAX.
 *  @param ttl_ms   how long it is to exist, 1 ms to ten years; 0: without end.
 *  @param ret_set  false: there is one already.  Set if the result is HF_OK;
 *                  may be NULL. */
HF_API hf_status hf_semaphore_try_set(hf_semaphore *semaphore, int64_t permits,
                                      int64_t ttl_ms, bool *ret_set,
                                      hf_error *reterr);

/** Add permits that nobody took, or withdraw some: the number available may
 *  become negative.  Makes the semaphore if there is none; one with a TTL loses
 *  it, as in Java.
 *  @param permits        -HF_PERMITS_MAX to HF_PERMITS_MAX.
 *  @param ret_available  how many there are now; may be NULL. */
HF_API hf_status hf_semaphore_add(hf_semaphore *semaphore, int64_t permits,
                                  int64_t *ret_available, hf_error *reterr);

/** Take all that there are.  A TTL is lost, as in Java.
 *  @param ret_drained  how many those were; may be NULL. */
HF_API hf_status hf_semaphore_drain(hf_semaphore *semaphore,
                                    int64_t *ret_drained, hf_error *reterr);

/** Delete the semaphore.  Who waits for permits waits on: for a semaphore that
 *  is made anew.
 *  @param ret_existed  set if the result is HF_OK; may be NULL. */
HF_API hf_status hf_semaphore_delete(hf_semaphore *semaphore, bool *ret_existed,
                                     hf_error *reterr);

/* ---- looking --------------------------------------------------------------*/

/** How many permits there are; 0 if there is no such semaphore.  Asks the
 *  server, and blocks for its answer; the number may be another by then.
 *  @retval HF_OK, HF_UNREACHABLE, HF_UNAVAILABLE, HF_WRONG_TYPE, ... */
HF_API hf_status hf_semaphore_available(hf_semaphore *semaphore,
                                        int64_t *ret_available,
                                        hf_error *reterr);

/* What can be seen of a semaphore.  Begin with HF_SEMAPHORE_INFO_INIT.  Fields
 * are only ever added at the end. */
typedef struct hf_semaphore_info {
    size_t size;       /* set by the initialiser, never by hand */
    int exists;        /* 0: there is no such semaphore */
    int64_t available; /* permits; may be negative */
    int64_t ttl_ms;    /* -1: without end; -2: there is none */
    int64_t waiting;   /* clients that listen for permits */
} hf_semaphore_info;

#define HF_SEMAPHORE_INFO_INIT                                                 \
    {                                                                          \
        sizeof(hf_semaphore_info), 0, 0, 0, 0                                  \
    }

/** All of that.  As hf_semaphore_available(). */
HF_API hf_status hf_semaphore_inspect_remote(hf_semaphore *semaphore,
                                             hf_semaphore_info *ret_info,
                                             hf_error *reterr);

/* ---- asynchronous forms ----------------------------------------------------
 * Each returns at once.  If the result is HF_OK, the callback comes exactly
 * once, later, never from inside the call; else it never comes.  Callbacks run
 * in hf_client_dispatch() or on the client's callback thread.
 */

/* How an asynchronous call ended; lent. */
typedef struct hf_semaphore_completion {
    hf_status status;
    const hf_error *error; /* lent; NULL when status is HF_OK */
    hf_semaphore *semaphore;
    int changed;     /* of try_set, release_if_exists, delete: 1 or 0 */
    int64_t permits; /* of add and available: how many there are; of drain: how
                      * many there were */
} hf_semaphore_completion;

typedef void (*hf_semaphore_fn)(const hf_semaphore_completion *done,
                                void *context);

/** As hf_semaphore_acquire().
 *  @param semaphore kept until the callback, as is @p cancel. */
HF_API hf_status hf_semaphore_acquire_async(hf_semaphore *semaphore,
                                            int64_t permits, int64_t wait_ms,
                                            hf_cancel *cancel,
                                            hf_semaphore_fn done, void *context,
                                            hf_error *reterr);

/** As hf_semaphore_release(). */
HF_API hf_status hf_semaphore_release_async(hf_semaphore *semaphore,
                                            int64_t permits,
                                            hf_semaphore_fn done, void *context,
                                            hf_error *reterr);

/** As hf_semaphore_release_if_exists(). */
HF_API hf_status hf_semaphore_release_if_exists_async(hf_semaphore *semaphore,
                                                      int64_t permits,
                                                      hf_semaphore_fn done,
                                                      void *context,
                                                      hf_error *reterr);

/** As hf_semaphore_try_set(). */
HF_API hf_status hf_semaphore_try_set_async(hf_semaphore *semaphore,
                                            int64_t permits, int64_t ttl_ms,
                                            hf_semaphore_fn done, void *context,
                                            hf_error *reterr);

/** As hf_semaphore_add(). */
HF_API hf_status hf_semaphore_add_async(hf_semaphore *semaphore,
                                        int64_t permits, hf_semaphore_fn done,
                                        void *context, hf_error *reterr);

/** As hf_semaphore_drain(). */
HF_API hf_status hf_semaphore_drain_async(hf_semaphore *semaphore,
                                          hf_semaphore_fn done, void *context,
                                          hf_error *reterr);

/** As hf_semaphore_delete(). */
HF_API hf_status hf_semaphore_delete_async(hf_semaphore *semaphore,
                                           hf_semaphore_fn done, void *context,
                                           hf_error *reterr);

/** As hf_semaphore_available(). */
HF_API hf_status hf_semaphore_available_async(hf_semaphore *semaphore,
                                              hf_semaphore_fn done,
                                              void *context, hf_error *reterr);

#ifdef __cplusplus
}
#endif

#endif /* HOLDFAST_SEMAPHORE_H */
