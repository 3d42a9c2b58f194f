/* SPDX-License-Identifier: MIT */
/* seed.c - randomness that can be repeated: SplitMix64 from a printed seed.
 */
#include "support/seed.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "support/fatal.h"

static uint64_t read_seed(const char *text)
{
    char *end;
    uint64_t seed = strtoull(text, &end, 0);

    if (end == text || *end != '\0') {
        hft_die("not a seed: %s", text);
    }
    return seed;
}

static uint64_t new_seed(void)
{
    uint32_t seed; /* short enough to be typed again */

    if (getrandom(&seed, sizeof(seed), 0) != (ssize_t)sizeof(seed)) {
        hft_die("no random bytes for a seed");
    }
    return seed;
}

static uint64_t choose_seed(int argc, char **argv)
{
    const char *given = getenv("HFT_SEED");
    int i;

    for (i = 1; i + 1 < argc; i++) {
        if (strcmp(argv[i], "--seed") == 0) {
            given = argv[i + 1];
        }
    }
    return given != NULL ? read_seed(given) : new_seed();
}

uint64_t hft_seed(int argc, char **argv)
{
    uint64_t seed = choose_seed(argc, argv);

    printf("seed %" PRIu64 " (again: HFT_SEED=%" PRIu64 ")\n", seed, seed);
    fflush(stdout);
    return seed;
}

uint64_t hft_random_next(struct hft_random *random)
{
    uint64_t mixed;

    random->state += UINT64_C(0x9e3779b97f4a7c15);
    mixed = random->state;
    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ (mixed >> 31);
}

uint64_t hft_random_below(struct hft_random *random, uint64_t limit)
{
    /* What is left over above a multiple of the limit would favour the small
     * numbers. */
    uint64_t fair = UINT64_MAX - UINT64_MAX % limit;
    uint64_t drawn;

    do {
        drawn = hft_random_next(random);
    } while (drawn >= fair);
    return drawn % limit;
}
