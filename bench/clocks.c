/* SPDX-License-Identifier: MIT */
/* clocks.c - see clocks.h. */
#include "bench/clocks.h"

#include <time.h>

#define NS_PER_S INT64_C(1000000000)

static int64_t read_clock_ns(clockid_t id)
{
    struct timespec now = {0, 0};

    (void)clock_gettime(id, &now);
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}

int64_t clock_now_ns(void)
{
    return read_clock_ns(CLOCK_MONOTONIC);
}

int64_t clock_process_cpu_ns(void)
{
    return read_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

void clock_wait_until_ns(int64_t at_ns)
{
    struct timespec at = {at_ns / NS_PER_S, at_ns % NS_PER_S};

    (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}
