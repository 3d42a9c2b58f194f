/* SPDX-License-Identifier: MIT */
/* loop.h - a thread that polls and turns, and others that ask it for things.
 *
 * What the proxy and the fake server share.  The thread holds the mutex except
 * while it polls; it alone touches descriptors.  Others change what is under
 * the mutex and wake it; each turn ends with a broadcast.
 */
#ifndef HFT_LOOP_H
#define HFT_LOOP_H

#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct hft_loop {
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t turned; /* on the monotonic clock */
    int wake[2];           /* a pipe; [0] is polled */
    bool stop_wanted;
};

/* Start the thread, with all signals blocked: those are the test's. */
void hft_loop_start(struct hft_loop *loop, void *(*turns)(void *context),
                    void *context);

/* Ask it to stop, wait until it has, and free what is the loop's. */
void hft_loop_stop(struct hft_loop *loop);

void hft_loop_lock(struct hft_loop *loop);
void hft_loop_unlock(struct hft_loop *loop);

/* Make the thread turn now. */
void hft_loop_wake(struct hft_loop *loop);

/* Under the mutex: wait for the end of a turn; false when `end` has come. */
struct timespec hft_loop_in(int64_t duration_ms);
bool hft_loop_wait(struct hft_loop *loop, const struct timespec *end);

/* For the thread, under the mutex: announce the turn's end, poll without the
 * mutex, and read the wake-ups.  The first entry is filled in here. */
int hft_loop_poll(struct hft_loop *loop, struct pollfd *polled, size_t count,
                  int timeout_ms);

#endif
