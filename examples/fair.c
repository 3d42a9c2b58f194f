/* SPDX-License-Identifier: MIT */
/* fair.c - who asks first is served first, in whatever process or thread. */
#include <pthread.h>
#include <stdio.h>

#include <holdfast/holdfast.h>

#define CUSTOMERS 3

struct customer {
    hf_lock *till;
    int number;
    int status;
    pthread_t thread;
};

static void *shop(void *arg)
{
    struct customer *customer = arg;

    customer->status = hf_lock_acquire(customer->till, NULL, NULL);
    if (customer->status == HF_OK) {
        printf("customer %d is served\n", customer->number);
        customer->status = hf_lock_release(customer->till, NULL, NULL);
    }
    return NULL;
}

/* As many as are said to stand in the queue of the server. */
static int wait_for_queue(hf_lock *till, int length)
{
    hf_lock_info info = HF_LOCK_INFO_INIT;

    while (info.waiting < length) {
        if (hf_inspect_remote(till, &info, NULL) != HF_OK) {
            return 0;
        }
    }
    return 1;
}

int main(int argc, char **argv)
{
    struct customer customers[CUSTOMERS];
    hf_client *client;
    hf_lock *till;
    hf_error err;

    if (hf_client_open(argc > 1 ? argv[1] : "local:examples", NULL, &client,
                       &err) != HF_OK ||
        hf_fair_lock_new(client, "till:1", &till, &err) != HF_OK ||
        hf_lock_acquire(till, NULL, &err) != HF_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    for (int i = 0; i < CUSTOMERS; i++) {
        customers[i].till = till;
        customers[i].number = i + 1;
        if (pthread_create(&customers[i].thread, NULL, shop, &customers[i]) !=
                0 ||
            !wait_for_queue(till, i + 1)) {
            return 1;
        }
    }
    printf("the till opens\n");
    if (hf_lock_release(till, NULL, &err) != HF_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    for (int i = 0; i < CUSTOMERS; i++) {
        pthread_join(customers[i].thread, NULL);
        if (customers[i].status != HF_OK) {
            return 1;
        }
    }
    hf_lock_free(till);
    hf_client_close(client);
    return 0;
}
