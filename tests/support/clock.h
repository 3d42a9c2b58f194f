/* SPDX-License-Identifier: MIT */
/* clock.h - programs whose wall clock is wrong.
 */
#ifndef HFT_CLOCK_H
#define HFT_CLOCK_H

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

#endif
