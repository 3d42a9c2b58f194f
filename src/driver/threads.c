/* SPDX-License-Identifier: MIT */
/* driver/threads.c - who the calling thread is, when it ends, and forks.
 *
 * A thread is known as an owner by a number that no other thread or explicit
 * owner of this process ever has.  When a thread that has one ends, every open
 * client is told, so that nothing goes on being renewed for nobody.
 *
 * A fork leaves a child without our threads, with mutexes in whatever state
 * they were, and with the parent's connections.  So the child counts a
 * generation further, and every entry compares that before it takes a mutex.
 */
#include <stdlib.h>

#include <utlist.h>

#include "base/clock.h"
#include "driver/client.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t exit_key;
static atomic_uint generation;
static atomic_uint_fast64_t next_owner_id = 1;
static pthread_mutex_t clients_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct hf_client *clients;

static _Thread_local uint64_t own_id;

/* ---- threads that end ---- */

static void tell_client(struct hf_client *client, uint64_t id)
{
    struct hfi_owner *owner;
    int64_t now = hfi_clock_ms();

    hfi_client_lock(client);
    owner = hfi_owner_get(client->core, id, false);
    if (owner != NULL) {
        hfi_core_owner_gone(client->core, owner, now);
        hfi_settle(client, now);
    }
    hfi_client_unlock(client);
}

/* Runs on the thread that ends. */
static void thread_ends(void *value)
{
    struct hf_client *client;
    uint64_t id = own_id;

    (void)value;
    own_id = 0;
    hfi_waiter_give_back();
    if (id == 0) {
        return;
    }
    pthread_mutex_lock(&clients_mutex);
    DL_FOREACH (clients, client) {
        if (client->generation == hfi_fork_generation()) {
            tell_client(client, id);
        }
    }
    pthread_mutex_unlock(&clients_mutex);
}

uint64_t hfi_owner_id_new(void)
{
    return atomic_fetch_add(&next_owner_id, 1);
}

void hfi_thread_will_end(void)
{
    (void)pthread_setspecific(exit_key, &own_id);
}

uint64_t hfi_thread_owner_id(void)
{
    if (own_id == 0) {
        own_id = hfi_owner_id_new();
        hfi_thread_will_end();
    }
    return own_id;
}

/* ---- forks ---- */

static void before_fork(void)
{
    pthread_mutex_lock(&clients_mutex);
    hfi_waiters_before_fork();
}

static void after_fork_in_parent(void)
{
    hfi_waiters_after_fork();
    pthread_mutex_unlock(&clients_mutex);
}

/* The child's one thread is a new owner; the parent's clients are not its. */
static void after_fork_in_child(void)
{
    atomic_fetch_add(&generation, 1);
    own_id = 0;
    clients = NULL;
    hfi_waiters_after_fork();
    pthread_mutex_unlock(&clients_mutex);
}

static void init(void)
{
    (void)pthread_key_create(&exit_key, thread_ends);
    (void)pthread_atfork(before_fork, after_fork_in_parent,
                         after_fork_in_child);
}

void hfi_threads_init(void)
{
    (void)pthread_once(&once, init);
}

unsigned hfi_fork_generation(void)
{
    return atomic_load_explicit(&generation, memory_order_relaxed);
}

/* ---- all clients of the process ---- */

void hfi_clients_add(struct hf_client *client)
{
    pthread_mutex_lock(&clients_mutex);
    DL_APPEND(clients, client);
    pthread_mutex_unlock(&clients_mutex);
}

void hfi_clients_remove(struct hf_client *client)
{
    pthread_mutex_lock(&clients_mutex);
    DL_DELETE(clients, client);
    pthread_mutex_unlock(&clients_mutex);
}
