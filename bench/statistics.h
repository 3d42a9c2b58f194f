/* SPDX-License-Identifier: MIT */
/* statistics.h - the middle and the tail of a row of measurements. */
#ifndef BENCH_STATISTICS_H
#define BENCH_STATISTICS_H

#include <stddef.h>

/* The value below which `percent` of them lie; 0 if there are none.  Sorts
 * them in place. */
double percentile(double *values, size_t count, double percent);

/* The value in the middle.  Sorts them in place. */
double median(double *values, size_t count);

#endif
