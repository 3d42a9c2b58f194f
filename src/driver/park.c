/* SPDX-License-Identifier: MIT */
/* driver/park.c - threads that sleep until their call has ended.
 *
 * Who finds a call ended, under the client's mutex, leaves the result with the
 * thread that waits for it, notes its waiter, and posts it right after the
 * mutex is released.  The thread that wakes up takes the result and goes: it
 * needs no mutex any more, so waking sixty-four threads does not make them
 * queue for one.
 *
 * A waiter belongs to its thread, for every client and call, and its memory is
 * never given back to the allocator, only to the next thread: so a post that
 * comes late, when the thread saw by itself that it was done, reaches nobody,
 * or makes somebody look around once and sleep again.
 */
#include <errno.h>
#include <stdlib.h>

#include "driver/client.h"

static pthread_mutex_t pool_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct hfi_waiter *pool;
static _Thread_local struct hfi_waiter *mine;

static struct hfi_waiter *take_or_make(void)
{
    struct hfi_waiter *waiter;

    pthread_mutex_lock(&pool_mutex);
    waiter = pool;
    if (waiter != NULL) {
        pool = waiter->next;
    }
    pthread_mutex_unlock(&pool_mutex);
    if (waiter != NULL) {
        return waiter;
    }
    waiter = calloc(1, sizeof(*waiter));
    if (waiter != NULL && sem_init(&waiter->post, 0, 0) != 0) {
        free(waiter);
        return NULL;
    }
    return waiter;
}

/* The calling thread's waiter, ready for a new call; NULL: out of memory. */
struct hfi_waiter *hfi_waiter_mine(void)
{
    if (mine == NULL) {
        mine = take_or_make();
        if (mine == NULL) {
            return NULL;
        }
        hfi_thread_will_end();
    }
    atomic_store_explicit(&mine->done, false, memory_order_relaxed);
    mine->parked = false;
    mine->chosen = false;
    return mine;
}

/* The thread ends. */
void hfi_waiter_give_back(void)
{
    if (mine == NULL) {
        return;
    }
    pthread_mutex_lock(&pool_mutex);
    mine->next = pool;
    pool = mine;
    pthread_mutex_unlock(&pool_mutex);
    mine = NULL;
}

/* A fork leaves the child its one thread, and the mutex free. */
void hfi_waiters_before_fork(void)
{
    pthread_mutex_lock(&pool_mutex);
}

void hfi_waiters_after_fork(void)
{
    pthread_mutex_unlock(&pool_mutex);
}

void hfi_waiter_sleep(struct hfi_waiter *waiter)
{
    while (sem_wait(&waiter->post) != 0 && errno == EINTR) {
    }
}

void hfi_waiter_wake_later(struct hf_client *client, struct hfi_waiter *waiter)
{
    if (atomic_exchange(&waiter->to_wake, true)) {
        return; /* the post that is due already serves this cause too */
    }
    waiter->wake_next = client->to_wake;
    client->to_wake = waiter;
}

void hfi_waiters_wake(struct hfi_waiter *list)
{
    while (list != NULL) {
        struct hfi_waiter *waiter = list;

        /* Read before the flag is cleared: then it may be listed anew. */
        list = waiter->wake_next;
        atomic_store(&waiter->to_wake, false);
        sem_post(&waiter->post);
    }
}
