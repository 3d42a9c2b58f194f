/* SPDX-License-Identifier: MIT */
/* spin.c - a lock whose waiters ask again and again: 1 ms, 2 ms, 4 ms ... */
#include <pthread.h>
#include <stdio.h>

#include <holdfast/holdfast.h>

static int counter; /* guarded by the lock, not by a mutex */

static void *work(void *context)
{
    hf_lock *lock = context;

    for (int i = 0; i < 50; i++) {
        if (hf_lock_acquire(lock, NULL, NULL) == HF_OK) {
            counter++;
            hf_lock_release(lock, NULL, NULL);
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    hf_lock_options options = HF_LOCK_OPTIONS_INIT;
    pthread_t threads[4];
    hf_client *client;
    hf_lock *lock;
    hf_error err;

    options.kind = HF_KIND_SPIN;
    options.backoff = HF_BACKOFF_DECORRELATED;
    options.backoff_max_ms = 16;
    if (hf_client_open(argc > 1 ? argv[1] : "local:examples", NULL, &client,
                       &err) != HF_OK ||
        hf_lock_new_as(client, &options, "counter", 7, &lock, &err) != HF_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    for (int i = 0; i < 4; i++) {
        pthread_create(&threads[i], NULL, work, lock);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
    printf("%d\n", counter);
    hf_lock_free(lock);
    hf_client_close(client);
    return 0;
}
