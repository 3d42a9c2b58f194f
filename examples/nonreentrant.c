/* SPDX-License-Identifier: MIT */
/* nonreentrant.c - where a second acquisition by the owner is a mistake. */
#include <stdio.h>

#include <holdfast/holdfast.h>

int main(int argc, char **argv)
{
    hf_client *client;
    hf_lock *lock;
    hf_error err;

    if (hf_client_open(argc > 1 ? argv[1] : "local:examples", NULL, &client,
                       &err) != HF_OK ||
        hf_nonreentrant_lock_new(client, "config", &lock, &err) != HF_OK ||
        hf_lock_acquire(lock, NULL, &err) != HF_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    if (hf_lock_acquire(lock, NULL, &err) == HF_ALREADY_HELD) {
        printf("%s\n", err.message);
    }
    hf_lock_release(lock, NULL, NULL); /* once: it is free */
    hf_lock_free(lock);
    hf_client_close(client);
    return 0;
}
