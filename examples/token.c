/* SPDX-License-Identifier: MIT */
/* token.c - the lock that redis-py, redsync and others take under one name. */
#include <stdio.h>

#include <holdfast/holdfast.h>

int main(int argc, char **argv)
{
    hf_acquire how = HF_ACQUIRE_INIT;
    hf_lock_info info = HF_LOCK_INFO_INIT;
    hf_client *client;
    hf_lock *lock;
    hf_error err;

    if (hf_client_open(argc > 1 ? argv[1] : "local:examples", NULL, &client,
                       &err) != HF_OK ||
        hf_token_lock_new(client, "import-job", &lock, &err) != HF_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    how.wait_ms = 5000;
    how.lease_ms = 10000; /* in Python: Lock(redis, "import-job", timeout=10) */
    if (hf_lock_acquire(lock, &how, &err) != HF_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    if (hf_inspect_remote(lock, &info, &err) == HF_OK && info.locked) {
        printf("held; %s\n", info.ttl_ms <= 10000 ? "for ten seconds at a time"
                                                  : "for longer");
    }
    hf_lock_release(lock, NULL, NULL);
    hf_lock_free(lock);
    hf_client_close(client);
    return 0;
}
