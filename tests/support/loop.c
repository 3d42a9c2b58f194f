/* SPDX-License-Identifier: MIT */
/* loop.c - a thread that polls and turns, and others that ask it for things.
 */
#include "support/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "support/fatal.h"

void hft_loop_start(struct hft_loop *loop, void *(*turns)(void *context),
                    void *context)
{
    pthread_condattr_t monotonic;
    sigset_t all;
    sigset_t before;

    pthread_mutex_init(&loop->mutex, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&loop->turned, &monotonic);
    pthread_condattr_destroy(&monotonic);
    loop->stop_wanted = false;
    if (pipe2(loop->wake, O_CLOEXEC | O_NONBLOCK) != 0) {
        hft_die("no pipe for a loop");
    }
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&loop->thread, NULL, turns, context) != 0) {
        hft_die("no thread for a loop");
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void hft_loop_stop(struct hft_loop *loop)
{
    hft_loop_lock(loop);
    loop->stop_wanted = true;
    hft_loop_unlock(loop);
    hft_loop_wake(loop);
    pthread_join(loop->thread, NULL);
    close(loop->wake[0]);
    close(loop->wake[1]);
    pthread_cond_destroy(&loop->turned);
    pthread_mutex_destroy(&loop->mutex);
}

void hft_loop_lock(struct hft_loop *loop)
{
    pthread_mutex_lock(&loop->mutex);
}

void hft_loop_unlock(struct hft_loop *loop)
{
    pthread_mutex_unlock(&loop->mutex);
}

void hft_loop_wake(struct hft_loop *loop)
{
    /* If the pipe is full, it wakes as well. */
    ssize_t ignored = write(loop->wake[1], "", 1);

    (void)ignored;
}

struct timespec hft_loop_in(int64_t duration_ms)
{
    struct timespec at;

    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += (time_t)(duration_ms / 1000);
    at.tv_nsec += (long)(duration_ms % 1000) * 1000000;
    if (at.tv_nsec >= 1000000000) {
        at.tv_nsec -= 1000000000;
        at.tv_sec++;
    }
    return at;
}

bool hft_loop_wait(struct hft_loop *loop, const struct timespec *end)
{
    return pthread_cond_timedwait(&loop->turned, &loop->mutex, end) !=
           ETIMEDOUT;
}

static void drain_wakes(const struct hft_loop *loop)
{
    char bytes[64];

    while (read(loop->wake[0], bytes, sizeof(bytes)) > 0) {
    }
}

int hft_loop_poll(struct hft_loop *loop, struct pollfd *polled, size_t count,
                  int timeout_ms)
{
    int found;

    polled[0].fd = loop->wake[0];
    polled[0].events = POLLIN;
    pthread_cond_broadcast(&loop->turned);
    hft_loop_unlock(loop);
    found = poll(polled, (nfds_t)count, timeout_ms);
    drain_wakes(loop);
    hft_loop_lock(loop);
    return found;
}
