/* SPDX-License-Identifier: MIT */
/* lock.c - take a lock, work while it is held, be told when it is lost. */
#include <stdio.h>

#include <holdfast/holdfast.h>

static void on_lost(const hf_lease_event *event, void *context)
{
    (void)context;
    fprintf(stderr, "stop working: %s\n", hf_lost_reason_text(event->reason));
}

int main(int argc, char **argv)
{
    hf_acquire how = HF_ACQUIRE_INIT;
    hf_client *client;
    hf_lock *lock;
    hf_error err;

    if (hf_client_open(argc > 1 ? argv[1] : "local:examples", NULL, &client,
                       &err) != HF_OK ||
        hf_lock_new(client, "stock:42", &lock, &err) != HF_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    how.wait_ms = 10000;
    how.on_lost = on_lost; /* comes on a thread of the client's */
    if (hf_lock_acquire(lock, &how, &err) != HF_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    for (int step = 1; step <= 3 && hf_lock_is_held(lock, NULL); step++) {
        printf("step %d, under the lock\n", step);
    }
    if (hf_lock_release(lock, NULL, &err) != HF_OK) {
        fprintf(stderr, "%s\n", err.message); /* it was lost on the way */
        return 1;
    }
    hf_lock_free(lock);
    hf_client_close(client);
    return 0;
}
