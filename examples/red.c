/* SPDX-License-Identifier: MIT */
/* red.c - a lock that outlives a server: one name on three of them.
 *
 * The servers are to have nothing to do with each other: no replicas, not one
 * machine.  Here they are three private ones of this machine, to show how it is
 * done; two of them are enough to hold the lock.
 */
#include <stdio.h>

#include <holdfast/holdfast.h>

#define SERVERS 3

static const char *const urls[SERVERS] = {"local:examples", "local:examples-2",
                                          "local:examples-3"};

static int open_all(hf_client **clients, hf_lock **locks)
{
    hf_error err;

    for (size_t i = 0; i < SERVERS; i++) {
        if (hf_client_open(urls[i], NULL, &clients[i], &err) != HF_OK ||
            hf_lock_new(clients[i], "leader", &locks[i], &err) != HF_OK) {
            fprintf(stderr, "%s\n", err.message);
            return 0;
        }
    }
    return 1;
}

static void close_all(hf_client **clients, hf_lock **locks)
{
    for (size_t i = 0; i < SERVERS; i++) {
        hf_lock_free(locks[i]);
        hf_client_close(clients[i]);
    }
    hf_server_stop("examples-2", NULL);
    hf_server_stop("examples-3", NULL);
}

int main(void)
{
    hf_client *clients[SERVERS];
    hf_lock *locks[SERVERS];
    hf_group *leader;
    hf_red_options options = HF_RED_INIT;
    hf_acquire how = HF_ACQUIRE_INIT;
    hf_error err;

    options.member_limit_ms = 500; /* of an answer; short of a lease by far */
    how.wait_ms = 10000;
    if (!open_all(clients, locks)) {
        return 1;
    }
    if (hf_red_lock_new(locks, SERVERS, &options, &leader, &err) != HF_OK ||
        hf_group_acquire(leader, &how, NULL, &err) != HF_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    printf("held: %s\n", hf_group_is_held(leader, NULL) ? "yes" : "no");
    hf_group_release(leader, NULL, NULL, NULL);

    /* One server is down: the other two do. */
    hf_server_stop("examples-3", NULL);
    if (hf_group_acquire(leader, &how, NULL, &err) != HF_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    printf("without one of them: %s\n",
           hf_group_is_held(leader, NULL) ? "held" : "not held");
    hf_group_release(leader, NULL, NULL, NULL);
    hf_group_free(leader);
    close_all(clients, locks);
    return 0;
}
