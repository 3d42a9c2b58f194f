/* SPDX-License-Identifier: MIT */
/* permits.c - at most two at once, and what a program that ended without a word
 * held comes back by itself. */
#include <stdio.h>

#include <holdfast/holdfast.h>

static const char *take(hf_permits *slots, int64_t wait_ms, int64_t lease_ms,
                        char *ret_id)
{
    hf_acquire how = HF_ACQUIRE_INIT;

    how.wait_ms = wait_ms;
    how.lease_ms = lease_ms;
    how.renew = 0; /* as if this program had ended, and renewed nothing */
    return hf_status_text(hf_permits_acquire(slots, &how, ret_id, NULL));
}

int main(int argc, char **argv)
{
    hf_client *client;
    hf_permits *slots;
    hf_permits_info info = HF_PERMITS_INFO_INIT;
    char first[HF_PERMIT_ID_SIZE], second[HF_PERMIT_ID_SIZE];
    char third[HF_PERMIT_ID_SIZE];
    hf_permit_id both[2];
    hf_error err;

    if (hf_client_open(argc > 1 ? argv[1] : "local:examples", NULL, &client,
                       &err) != HF_OK ||
        hf_permits_new(client, "slots", &slots, &err) != HF_OK ||
        hf_permits_set(slots, 2, &err) != HF_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    printf("first: %s\n", take(slots, 0, 60000, first));
    printf("second: %s\n", take(slots, 0, 300, second));
    printf("third, at once: %s\n", take(slots, 0, 60000, third));
    printf("third, waiting: %s\n", take(slots, 10000, 60000, third));
    printf("giving back the second: %s\n",
           hf_status_name(hf_permits_release(slots, second, &err)));
    hf_permits_release(slots, first, &err);
    hf_permits_release(slots, third, &err);
    if (hf_permits_acquire_many(slots, 2, NULL, both, &err) == HF_OK) {
        printf("both at once, and back: %s\n",
               hf_status_name(hf_permits_release_many(slots, both, 2, &err)));
    }
    if (hf_permits_inspect_remote(slots, &info, &err) == HF_OK) {
        printf("%d available, %d out\n", (int)info.available,
               (int)info.acquired);
    }
    hf_client_close(client);
    hf_permits_free(slots);
    return 0;
}
