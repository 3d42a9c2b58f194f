/* SPDX-License-Identifier: MIT */
/* jumping_clock.c - preloaded into a server, it makes the server's wall clock
 * wrong by as many seconds as the file HFT_CLOCK_FILE says: an int64_t, which
 * may be changed at any time.
 *
 * libfaketime cannot be loaded beside redis-server's jemalloc.  The file is
 * mapped, so a look at the clock opens nothing.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define MINE __attribute__((visibility("default")))

static const volatile int64_t *seconds_off;

static __attribute__((constructor)) void open_file(void)
{
    const char *path = getenv("HFT_CLOCK_FILE");
    int file = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    void *mapped;

    if (file < 0) {
        return;
    }
    mapped = mmap(NULL, sizeof(*seconds_off), PROT_READ, MAP_SHARED, file, 0);
    (void)close(file);
    if (mapped != MAP_FAILED) {
        seconds_off = mapped;
    }
}

MINE int clock_gettime(clockid_t clock_id, struct timespec *tp)
{
    int result = (int)syscall(SYS_clock_gettime, clock_id, tp);

    if (result == 0 && clock_id == CLOCK_REALTIME && seconds_off != NULL) {
        tp->tv_sec += (time_t)*seconds_off;
    }
    return result;
}

MINE int gettimeofday(struct timeval *restrict tv, void *restrict tz)
{
    struct timespec now;
    int result = clock_gettime(CLOCK_REALTIME, &now);

    (void)tz;
    tv->tv_sec = now.tv_sec;
    tv->tv_usec = now.tv_nsec / 1000;
    return result;
}

MINE time_t time(time_t *timer)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (timer != NULL) {
        *timer = now.tv_sec;
    }
    return now.tv_sec;
}
