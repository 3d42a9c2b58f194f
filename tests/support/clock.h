/* SPDX-License-Identifier: MIT */
/* clock.h - programs whose wall clock is wrong.
 */
#ifndef HFT_CLOCK_H
#define HFT_CLOCK_H

#include <stdint.h>

/* The environment (for hft_child_options) of a program whose wall clock is off
 * by "+10m" or "-10m"; its monotonic clock is right.  Lent until the next call.
 * NULL if that cannot be done here: a library to preload comes before that of
 * a sanitizer, which will not have it.  Without libfaketime it is NULL too, but
 * in CI that ends the test program. */
const char *const *hft_clock_off_by(const char *offset);

/* The same with a clock that is off by what hft_clock_jump() has last written
 * to the file at `path`. */
const char *const *hft_clock_of_file(const char *path);
void hft_clock_jump(const char *path, const char *offset);

/* For programs with which libfaketime does not go (redis-server, Java): the
 * environment of one whose clock is off by as many seconds as the number says
 * that is returned.  `library` is jumping_clock.c's, `path` a file to be made.
 * The environment is lent until the next call; NULL as above. */
int64_t *hft_clock_that_jumps(const char *library, const char *path,
                              const char *const **ret_env);

#endif
