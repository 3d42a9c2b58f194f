/* SPDX-License-Identifier: MIT */
/* wait.c - the monotonic clock, and waiting for a condition with a bound.
 */
#include "support/wait.h"

#include <errno.h>
#include <time.h>

#define LOOK_EVERY_MS 1 /* finer than any tolerance the tests assert */

int64_t hft_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

bool hft_wait_until(hft_condition *condition, void *context, int64_t bound_ms)
{
    int64_t end_ms = hft_now_ms() + bound_ms;

    while (!condition(context)) {
        if (hft_now_ms() >= end_ms) {
            return condition(context);
        }
        hft_let_pass_ms(LOOK_EVERY_MS);
    }
    return true;
}

void hft_let_pass_ms(int64_t duration_ms)
{
    struct timespec left = {
        .tv_sec = (time_t)(duration_ms / 1000),
        .tv_nsec = (long)(duration_ms % 1000) * 1000000,
    };

    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
}
