/* SPDX-License-Identifier: MIT */
/* holdfast/inspect.h - who holds what, as the server sees it.
 *
 * These ask the server each time.  What they answer may have changed by the
 * time it is read: they are for people, never for deciding who holds.
 */
#ifndef HOLDFAST_INSPECT_H
#define HOLDFAST_INSPECT_H

#include "holdfast/lock.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One lock as the server has it.  Begin with HF_LOCK_INFO_INIT. */
typedef struct hf_lock_info {
    size_t size;
    int locked;      /* 1: somebody holds it */
    char owner[128]; /* "uuid:number" of the (first) holder, or "" */
    int64_t count;   /* how often */
    int64_t ttl_ms;  /* what is left of the lease; -1: it has no end (no lock
                        * of ours or of Redisson lacks one); -2: not locked */
    int64_t waiting; /* clients that are subscribed to its releases; of a fair
                      * lock: who stands in its queue */
    int64_t token;   /* of a fenced lock: the newest that was given; else 0 */
    char mode[8];    /* of a read-write lock: "read" or "write", and */
    int64_t readers; /* how many read (dead ones too, as long as others do) */
} hf_lock_info;

#define HF_LOCK_INFO_INIT                                                      \
    {                                                                          \
        sizeof(hf_lock_info), 0, "", 0, 0, 0, 0, "", 0                         \
    }

/**
 * Ask the server who holds a lock.  Blocks for an answer.
 * @retval HF_OK, HF_WRONG_TYPE, HF_UNREACHABLE, HF_UNAVAILABLE, HF_PERMISSION,
 *         HF_INVALID, HF_CLOSED, HF_FORKED, HF_NOMEM, HF_IN_CALLBACK
 */
HF_API hf_status hf_inspect_remote(hf_lock *lock, hf_lock_info *ret_info,
                                   hf_error *reterr);

/* One who waits for a fair lock; lent. */
typedef struct hf_waiter_info {
    int64_t place;      /* 1: the next one */
    const char *owner;  /* "uuid:number" */
    int ours;           /* 1: holdfast knows when it was last heard of; 0: a
                         * thread of a program that uses Redisson */
    int64_t dead_in_ms; /* it counts as dead then, if nothing is heard of it */
} hf_waiter_info;

/* Returns false to stop. */
typedef bool (*hf_waiter_fn)(const hf_waiter_info *waiter, void *context);

/**
 * Ask the server who waits for a fair lock: the first hundred, in their order,
 * as they stood at one moment.  Blocks for an answer.
 * @param lock    borrowed.
 * @param each    called on the calling thread, after the answer came.
 * @param context handed to it.
 * @retval HF_INVALID  the lock is not a fair one.
 * @retval as hf_inspect_remote()
 */
HF_API hf_status hf_inspect_queue_remote(hf_lock *lock, hf_waiter_fn each,
                                         void *context, hf_error *reterr);

/* Called for each lock found, on the calling thread; lent.  Returns false to
 * stop. */
typedef bool (*hf_inspect_fn)(const void *name, size_t name_bytes,
                              const hf_lock_info *info, void *context);

/**
 * Walk through the locks on the server whose names match a pattern (as the
 * server's SCAN has it: `*`, `?`, `[...]`).  A key counts as a lock if it is a
 * hash with an owner's field ("uuid:number"), as a read-write lock if it has a
 * mode besides.  Blocks; a large database is read
 * in small steps, and a lock that comes or goes meanwhile may be seen or not.
 * @param pattern borrowed; NULL for all.
 * @retval as hf_inspect_remote()
 */
HF_API hf_status hf_inspect_list_remote(hf_client *client, const char *pattern,
                                        hf_inspect_fn each, void *context,
                                        hf_error *reterr);

#ifdef __cplusplus
}
#endif

#endif /* HOLDFAST_INSPECT_H */
