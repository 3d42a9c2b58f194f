/* SPDX-License-Identifier: MIT */
/* statistics.c - see statistics.h. */
#include "bench/statistics.h"

#include <stdlib.h>

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;

    return (a > b) - (a < b);
}

double percentile(double *values, size_t count, double percent)
{
    size_t index;

    if (count == 0) {
        return 0;
    }
    qsort(values, count, sizeof(*values), compare);
    index = (size_t)(percent / 100 * (double)(count - 1) + 0.5);
    return values[index < count ? index : count - 1];
}

double median(double *values, size_t count)
{
    double upper = percentile(values, count, 50);

    if (count == 0 || count % 2 == 1) {
        return upper;
    }
    return (values[count / 2 - 1] + values[count / 2]) / 2;
}
