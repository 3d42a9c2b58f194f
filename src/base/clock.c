/* SPDX-License-Identifier: MIT */
/* The clock.  CLOCK_BOOTTIME goes on while the machine sleeps, as the lease on
 * the server does; a kernel that lacks it never gets it while we run, so falling
 * back anew on each call cannot mix two clocks.  Any thread.
 */
#include "base/clock.h"

#include <time.h>

static struct timespec now(void)
{
    struct timespec time = {0, 0};

#ifdef CLOCK_BOOTTIME
    if (clock_gettime(CLOCK_BOOTTIME, &time) == 0) {
        return time;
    }
#endif
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return time;
}

int64_t hfi_clock_ms(void)
{
    struct timespec time = now();

    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

int64_t hfi_clock_us(void)
{
    struct timespec time = now();

    return (int64_t)time.tv_sec * 1000000 + time.tv_nsec / 1000;
}
