/* SPDX-License-Identifier: MIT */
/* latch.c - go on when all parts are there. */
#include <pthread.h>
#include <stdio.h>

#include <holdfast/holdfast.h>

static void *deliver(void *context)
{
    hf_latch_count_down(context, NULL, NULL); /* this part is there */
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[3];
    hf_client *client;
    hf_latch *parts;
    hf_error err;
    bool armed = false;

    if (hf_client_open(argc > 1 ? argv[1] : "local:examples", NULL, &client,
                       &err) != HF_OK ||
        hf_latch_new(client, "parts", &parts, &err) != HF_OK ||
        hf_latch_try_set(parts, 3, &armed, &err) != HF_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    if (hf_latch_await(parts, 0, NULL, &err) == HF_BUSY) {
        printf("%s\n", err.message);
    }
    for (int i = 0; i < 3; i++) {
        pthread_create(&threads[i], NULL, deliver, parts);
    }
    if (hf_latch_await(parts, HF_WAIT_FOREVER, NULL, &err) == HF_OK) {
        puts("all parts are there");
    }
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
    }
    hf_latch_free(parts);
    hf_client_close(client);
    return 0;
}
