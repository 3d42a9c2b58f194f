/* SPDX-License-Identifier: MIT */
/* Identities come from the kernel each time they are made: nothing is kept that
 * a fork could copy.  Jitter comes from splitmix64.  Any thread.
 */
#include "base/ids.h"

#include <errno.h>
#include <stddef.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"

static bool fill_random(void *buf, size_t len)
{
    unsigned char *next = buf;

    while (len > 0) {
        ssize_t got = getrandom(next, len, 0);

        if (got < 0) {
            if (errno == EINTR) {
                continue;
            }
            return false;
        }
        next += got;
        len -= (size_t)got;
    }
    return true;
}

bool hfi_uuid_make(char ret_uuid[HFI_UUID_SIZE])
{
    static const char digits[] = "0123456789abcdef";
    unsigned char bytes[16];
    char *out = ret_uuid;

    if (!fill_random(bytes, sizeof(bytes))) {
        return false;
    }
    bytes[6] = (unsigned char)((bytes[6] & 0x0f) | 0x40); /* version 4 */
    bytes[8] = (unsigned char)((bytes[8] & 0x3f) | 0x80); /* RFC 4122 */
    for (size_t i = 0; i < sizeof(bytes); i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10) {
            *out++ = '-';
        }
        *out++ = digits[bytes[i] >> 4];
        *out++ = digits[bytes[i] & 15];
    }
    *out = '\0';
    return true;
}

uint64_t hfi_seed_make(void)
{
    uint64_t seed;

    if (fill_random(&seed, sizeof(seed))) {
        return seed;
    }
    /* Jitter need not be unpredictable, only different between processes. */
    seed = (uint64_t)hfi_clock_us() ^ (uint64_t)getpid() << 32;
    return hfi_random_next(&seed);
}

uint64_t hfi_random_next(uint64_t *state)
{
    uint64_t mixed;

    *state += UINT64_C(0x9e3779b97f4a7c15);
    mixed = *state;
    mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ mixed >> 31;
}
