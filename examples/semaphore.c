/* SPDX-License-Identifier: MIT */
/* semaphore.c - at most three at once, on however many machines. */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include <holdfast/holdfast.h>

static atomic_int inside, most;

static void *work(void *context)
{
    hf_semaphore *pool = context;

    for (int i = 0; i < 5; i++) {
        if (hf_semaphore_acquire(pool, 1, HF_WAIT_FOREVER, NULL, NULL) !=
            HF_OK) {
            continue;
        }
        int now = atomic_fetch_add(&inside, 1) + 1;
        for (int seen = most;
             now > seen && !atomic_compare_exchange_weak(&most, &seen, now);) {
        }
        poll(NULL, 0, 2); /* a query on one of three connections, say */
        atomic_fetch_sub(&inside, 1);
        hf_semaphore_release(pool, 1, NULL);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[8];
    hf_client *client;
    hf_semaphore *pool;
    hf_error err;
    int64_t left = 0;

    if (hf_client_open(argc > 1 ? argv[1] : "local:examples", NULL, &client,
                       &err) != HF_OK ||
        hf_semaphore_new(client, "connections", &pool, &err) != HF_OK ||
        hf_semaphore_try_set(pool, 3, 0, NULL, &err) != HF_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    for (int i = 0; i < 8; i++) {
        pthread_create(&threads[i], NULL, work, pool);
    }
    for (int i = 0; i < 8; i++) {
        pthread_join(threads[i], NULL);
    }
    hf_semaphore_available(pool, &left, &err);
    printf("at most %d at once; %d permits are back\n", most, (int)left);
    if (hf_semaphore_acquire(pool, 4, 0, NULL, &err) == HF_BUSY) {
        printf("%s\n", err.message);
    }
    hf_semaphore_free(pool);
    hf_client_close(client);
    return 0;
}
