/* SPDX-License-Identifier: MIT */
/* rounds.h - the sides of a comparison, measured in turns. */
#ifndef BENCH_ROUNDS_H
#define BENCH_ROUNDS_H

#include <stdbool.h>
#include <stddef.h>

#define ROUNDS_MAX 101

/* What one measurement of one side says; a field that is not filled in stays
 * 0. */
struct sample {
    double value; /* in the case's unit */
    double p99;
    double cpu_us;        /* of this process, for each unit of work */
    double server_cpu_us; /* of the server, for the same */
};

struct side {
    bool (*measure)(void *state, struct sample *ret_sample);
    struct sample rounds[ROUNDS_MAX];
    struct sample middle; /* the median of each field over the rounds */
};

/* Measure each side once to warm up and then once in each round, every second
 * round in the opposite order.  @return false if a measurement failed. */
bool rounds_run(struct side *sides, size_t side_count, int rounds, void *state);

#endif
