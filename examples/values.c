/* SPDX-License-Identifier: MIT */
/* values.c - many things of one sort, locked together: the seats of a show.
 *
 * Who wants seats 12 and 13 and who wants 13 and 14 exclude each other; who
 * wants 20 is in nobody's way.
 */
#include <stdio.h>

#include <holdfast/holdfast.h>

static const char *try_for(hf_lock *seats, hf_owner *owner)
{
    hf_acquire how = HF_ACQUIRE_INIT;

    how.wait_ms = 0;
    how.owner = owner;
    return hf_status_text(hf_lock_acquire(seats, &how, NULL));
}

int main(int argc, char **argv)
{
    static const char *const wanted[3][2] = {
        {"seat-12", "seat-13"}, {"seat-13", "seat-14"}, {"seat-20", "seat-21"}};
    hf_client *client;
    hf_lock *seats[3];
    hf_owner *owners[3];
    hf_error err;

    if (hf_client_open(argc > 1 ? argv[1] : "local:examples", NULL, &client,
                       &err) != HF_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    for (size_t i = 0; i < 3; i++) {
        if (hf_values_lock_new(client, "show:1000", wanted[i], 2, &seats[i],
                               &err) != HF_OK ||
            hf_owner_new(client, &owners[i], &err) != HF_OK) {
            fprintf(stderr, "%s\n", err.message);
            return 1;
        }
        printf("%s and %s: %s\n", wanted[i][0], wanted[i][1],
               try_for(seats[i], owners[i]));
    }
    hf_lock_release(seats[0], owners[0], NULL);
    printf("%s and %s: %s\n", wanted[1][0], wanted[1][1],
           try_for(seats[1], owners[1]));
    hf_client_close(client); /* releases what is held */
    for (size_t i = 0; i < 3; i++) {
        hf_lock_free(seats[i]);
        hf_owner_free(owners[i]);
    }
    return 0;
}
