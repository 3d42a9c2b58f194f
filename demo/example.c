/* SPDX-License-Identifier: MIT */
/* demo/example.c - the README's example; tools/check-docs compares the two. */
#include <stdio.h>

#include <holdfast/holdfast.h>

int main(int argc, char **argv)
{
    hf_client *client;
    hf_lock *lock;
    hf_error err;

    if (hf_client_open(argc > 1 ? argv[1] : "local:default", NULL, &client,
                       &err) != HF_OK ||
        hf_lock_new(client, "nightly-report", &lock, &err) != HF_OK ||
        hf_lock_acquire(lock, NULL, &err) != HF_OK) { /* waits for its turn */
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    puts("one at a time, on however many machines");
    hf_lock_release(lock, NULL, NULL);
    hf_lock_free(lock);
    hf_client_close(client);
    return 0;
}
