/* SPDX-License-Identifier: MIT */
/* counting.h - semaphores and latches for the tests of this folder: made for a
 * test, freed at its end; calls in short; what the server has of them.
 */
#ifndef TESTS_SERVER_COUNTING_H
#define TESTS_SERVER_COUNTING_H

#include "world.h"

/* Set-up and tear-down of a test: those of world.h, and what is made here. */
int counting_begin(void **world);
int counting_end(void **world);

#define counting_test(function)                                                \
    cmocka_unit_test_setup_teardown(function, counting_begin, counting_end)

hf_semaphore *a_semaphore(struct world *w, const char *name);
hf_semaphore *a_semaphore_of(hf_client *client, const char *name);
hf_latch *a_latch(struct world *w, const char *name);
hf_latch *a_latch_of(hf_client *client, const char *name);

/* Calls in short; any thread.  What went wrong is in `problem`. */
hf_status get(hf_semaphore *semaphore, int64_t permits, int64_t wait_ms);
hf_status put(hf_semaphore *semaphore, int64_t permits);
bool set_to(hf_semaphore *semaphore, int64_t permits);
int64_t available(hf_semaphore *semaphore);

bool armed_with(hf_latch *latch, int64_t count);
int64_t counted_down(hf_latch *latch);
hf_status await(hf_latch *latch, int64_t wait_ms);

/* The number that stands on the server; HFT_NIL: none.  And waiting for it. */
int64_t wire_value(struct world *w, const char *name);
bool wire_value_becomes(struct world *w, const char *name, int64_t expected,
                        int64_t bound_ms);

/* Wait until a client that waits for something has nothing under way: for a
 * moment it has sent no script. */
bool falls_silent(hf_client *client, int64_t bound_ms);

/* Records of requests on the server. */
int64_t wire_records(struct world *w);

/* A thread that takes permits, or waits for a latch. */
struct taker {
    hf_semaphore *semaphore; /* or NULL */
    hf_latch *latch;
    int64_t permits;
    int64_t wait_ms;
    hf_cancel *cancel;
    int64_t began_ms; /* the rest is read after taker_join() */
    int64_t ended_ms;
    hf_status status;
    hf_error error;
    pthread_t thread;
};
void taker_start(struct taker *taker, hf_semaphore *semaphore, int64_t permits,
                 int64_t wait_ms);
void waiter_start(struct taker *taker, hf_latch *latch, int64_t wait_ms);
void taker_run(struct taker *taker); /* the fields are filled in */
void taker_join(struct taker *taker);

#endif
