/* SPDX-License-Identifier: MIT */
/* multi.c - move money between two accounts: both are locked, or neither.
 *
 * The members are taken in an order of the library's own, so a transfer the
 * other way round at the same moment does not block this one for ever.
 */
#include <stdio.h>

#include <holdfast/holdfast.h>

static int transfer(hf_group *both, int *from, int *to, int amount)
{
    hf_outcome outcomes[2];
    hf_acquire how = HF_ACQUIRE_INIT;
    hf_error err;

    how.wait_ms = 10000;
    if (hf_group_acquire(both, &how, outcomes, &err) != HF_OK) {
        fprintf(stderr, "%s\n", err.message);
        for (size_t i = 0; i < 2; i++) {
            fprintf(stderr, "  account %zu: %s\n", i,
                    hf_status_text(outcomes[i].status));
        }
        return 0;
    }
    *from -= amount;
    *to += amount;
    return hf_group_release(both, NULL, NULL, NULL) == HF_OK;
}

int main(int argc, char **argv)
{
    int balance[2] = {100, 20};
    hf_client *client;
    hf_lock *accounts[2];
    hf_group *both;
    hf_error err;

    if (hf_client_open(argc > 1 ? argv[1] : "local:examples", NULL, &client,
                       &err) != HF_OK ||
        hf_lock_new(client, "account:7", &accounts[0], &err) != HF_OK ||
        hf_lock_new(client, "account:9", &accounts[1], &err) != HF_OK ||
        hf_multi_lock_new(accounts, 2, &both, &err) != HF_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    if (!transfer(both, &balance[0], &balance[1], 30)) {
        return 1;
    }
    printf("after the transfer: %d and %d\n", balance[0], balance[1]);

    /* Somebody has one of them: then none is taken. */
    hf_owner *other;
    hf_acquire once = HF_ACQUIRE_INIT;

    once.wait_ms = 0;
    if (hf_owner_new(client, &other, &err) != HF_OK) {
        return 1;
    }
    once.owner = other;
    hf_lock_acquire(accounts[1], &once, NULL);
    once.owner = NULL;
    printf("with one of them taken: %s\n",
           hf_status_text(hf_group_acquire(both, &once, NULL, NULL)));
    printf("the other is held: %s\n",
           hf_lock_is_held(accounts[0], NULL) ? "yes" : "no");
    hf_lock_release(accounts[1], other, NULL);

    hf_owner_free(other);
    hf_group_free(both);
    hf_lock_free(accounts[0]);
    hf_lock_free(accounts[1]);
    hf_client_close(client);
    return 0;
}
