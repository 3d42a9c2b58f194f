/* SPDX-License-Identifier: MIT */
/* permitting.h - permits with leases for the tests of this folder: calls in
 * short, what the server has of them, and threads that take some.
 */
#ifndef TESTS_SERVER_PERMITTING_H
#define TESTS_SERVER_PERMITTING_H

#include "world.h"

/* The caller frees it. */
hf_permits *permits_of(hf_client *client, const char *name);

/* Calls in short; any thread.  `ret_id` may be NULL. */
hf_status take_permit(hf_permits *permits, int64_t wait_ms, int64_t lease_ms,
                      int renew, char *ret_id);
bool permits_set_to(hf_permits *permits, int64_t count);
hf_permits_info info_of(hf_permits *permits);

/* The server's view: how many are out; when the first of them ends; its time;
 * and whether those that are available and those that are out are so many. */
int64_t wire_out(struct world *w, const char *name);
int64_t wire_end_of(struct world *w, const char *name);
int64_t hft_wire_time_ms(struct world *w);
bool conserved(struct world *w, const char *name, int64_t total);

/* A thread that takes one permit. */
struct permit_taker {
    hf_permits *permits;
    int64_t wait_ms;
    int64_t began_ms;
    hf_status status;
    char id[HF_PERMIT_ID_SIZE];
    pthread_t thread;
};
void permit_taker_start(struct permit_taker *taker, hf_permits *permits,
                        int64_t wait_ms);
void permit_taker_join(struct permit_taker *taker);

/* Threads that take and give back, in turns, and count who is inside. */
struct crowd_count {
    int inside, most, turns;
};
struct permit_crowd {
    hf_permits *permits;
    int turns;
    int failures;
    struct crowd_count *count;
    pthread_t thread;
};
void permit_crowd_start(struct permit_crowd *crowd, hf_permits *permits,
                        int turns, struct crowd_count *count);
void permit_crowd_join(struct permit_crowd *crowd);

#endif
