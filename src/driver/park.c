/* SPDX-License-Identifier: MIT */
/* driver/park.c - threads that sleep until their call has ended.
 *
 * A waiter has a mutex and a condition of its own, so that waking sixty-four
 * threads does not make them queue for the client's mutex first.  Who finds a
 * call done under the client's mutex notes its waiter; it is woken right after
 * that mutex is released.
 *
 * Between the note and the wake-up the thread may have seen by itself that it
 * is done, and gone.  So waiters come from a pool that lives as long as the
 * client: the wake-up then reaches nobody, or the next user, who looks around
 * and sleeps again.
 */
#include <stdlib.h>

#include "driver/client.h"

static struct hfi_waiter *make(struct hf_client *client)
{
    struct hfi_waiter *waiter = calloc(1, sizeof(*waiter));

    if (waiter == NULL) {
        return NULL;
    }
    if (pthread_mutex_init(&waiter->mutex, NULL) != 0) {
        free(waiter);
        return NULL;
    }
    if (pthread_cond_init(&waiter->cond, NULL) != 0) {
        pthread_mutex_destroy(&waiter->mutex);
        free(waiter);
        return NULL;
    }
    atomic_init(&waiter->to_wake, false);
    waiter->all_next = client->waiters;
    client->waiters = waiter;
    return waiter;
}

struct hfi_waiter *hfi_waiter_take(struct hf_client *client)
{
    struct hfi_waiter *waiter = client->pool;

    if (waiter == NULL) {
        return make(client);
    }
    client->pool = waiter->next;
    waiter->done = false;
    waiter->parked = false;
    waiter->chosen = false;
    return waiter;
}

void hfi_waiter_give(struct hf_client *client, struct hfi_waiter *waiter)
{
    waiter->op = NULL;
    waiter->next = client->pool;
    client->pool = waiter;
}

void hfi_waiter_sleep(struct hfi_waiter *waiter)
{
    pthread_mutex_lock(&waiter->mutex);
    while (!waiter->signalled) {
        pthread_cond_wait(&waiter->cond, &waiter->mutex);
    }
    waiter->signalled = false;
    pthread_mutex_unlock(&waiter->mutex);
}

void hfi_waiter_wake_later(struct hf_client *client, struct hfi_waiter *waiter)
{
    if (atomic_exchange(&waiter->to_wake, true)) {
        return; /* the wake-up that is due already serves this cause too */
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
        pthread_mutex_lock(&waiter->mutex);
        waiter->signalled = true;
        pthread_cond_signal(&waiter->cond);
        pthread_mutex_unlock(&waiter->mutex);
    }
}

void hfi_waiters_free(struct hf_client *client)
{
    struct hfi_waiter *waiter;

    while ((waiter = client->waiters) != NULL) {
        client->waiters = waiter->all_next;
        pthread_cond_destroy(&waiter->cond);
        pthread_mutex_destroy(&waiter->mutex);
        free(waiter);
    }
    client->pool = NULL;
}
