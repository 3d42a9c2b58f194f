/* SPDX-License-Identifier: MIT */
/* seed.h - randomness that can be repeated.
 */
#ifndef HFT_SEED_H
#define HFT_SEED_H

#include <stdint.h>

/* The seed of this run: `--seed N` of the command line, else HFT_SEED of the
 * environment, else a new one.  Printed, so that a failure can be repeated. */
uint64_t hft_seed(int argc, char **argv);

/* A stream of numbers; one for each thread, begun from the seed plus its
 * index. */
struct hft_random {
    uint64_t state;
};

uint64_t hft_random_next(struct hft_random *random);

/* Evenly from 0 to `limit` - 1; `limit` is above 0. */
uint64_t hft_random_below(struct hft_random *random, uint64_t limit);

#endif
