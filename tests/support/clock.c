/* SPDX-License-Identifier: MIT */
/* clock.c - programs whose wall clock is wrong; see clock.h.
 */
#include "support/clock.h"

#include <glob.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/fatal.h"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define CAN_PRELOAD false
#else
#define CAN_PRELOAD true
#endif

/* Debian has a folder for each architecture. */
#define LIBRARY "/usr/lib/*/faketime/libfaketimeMT.so.1"

const char *const *hft_clock_off_by(const char *offset)
{
    static char preload[256];
    static char fake[64];
    static const char *env[] = {preload, fake, "FAKETIME_DONT_FAKE_MONOTONIC=1",
                                NULL};
    glob_t found;
    bool is_there = glob(LIBRARY, 0, NULL, &found) == 0;

    if (is_there) {
        (void)snprintf(preload, sizeof(preload), "LD_PRELOAD=%s",
                       found.gl_pathv[0]);
    } else if (getenv("CI") != NULL) {
        hft_die("libfaketime is not there; tools/setup test installs it");
    }
    globfree(&found);
    (void)snprintf(fake, sizeof(fake), "FAKETIME=%s", offset);
    return is_there && CAN_PRELOAD ? env : NULL;
}
