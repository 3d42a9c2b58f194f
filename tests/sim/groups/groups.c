/* SPDX-License-Identifier: MIT */
/* groups.c - run random histories of groups in the simulated world.
 *
 *   sim_groups --seed N [-v]               one, and print its timeline
 *   sim_groups --seeds COUNT [--from N]    so many, and say how fast it went
 *   ... --mutation NAME                    with a mistake of mutations.h
 *
 * The exit status is 0 if all is whole, 1 if an invariant was broken.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "sim/groups/world.h"
#include "sim/mutate.h"

struct sums {
    size_t calls, grants, losses, faults, late_runs, broken;
    double simulated_s;
};

static bool run(uint64_t seed, bool verbose, struct sums *sums)
{
    struct gw_options options = gw_options_default(seed);
    struct gw_world *world;
    bool whole;

    options.verbose = verbose;
    world = gw_new(&options);
    whole = gw_history();
    if (!whole) {
        printf("seed %" PRIu64 ": %s at %.6f s: %s\n", seed, world->broken,
               (double)world->now_us / 1e6, world->text);
        printf("replay: sim_groups --seed %" PRIu64 " -v\n", seed);
    }
    sums->calls += world->figures.calls;
    sums->grants += world->figures.grants;
    sums->losses += world->figures.losses;
    sums->faults += world->figures.faults;
    sums->late_runs += world->figures.late_runs;
    sums->broken += whole ? 0 : 1;
    sums->simulated_s += (double)world->now_us / 1e6;
    gw_free(world);
    return whole;
}

static void report(const struct sums *sums, uint64_t count)
{
    double cpu_s = (double)clock() / CLOCKS_PER_SEC;

    printf("groups: %" PRIu64 " histories, %zu broken: %zu calls, %zu grants, "
           "%zu losses, %zu faults, %zu late runs\n",
           count, sums->broken, sums->calls, sums->grants, sums->losses,
           sums->faults, sums->late_runs);
    printf("%.1f simulated s in %.1f CPU s\n", sums->simulated_s, cpu_s);
}

int main(int argc, char **argv)
{
    static const struct option known[] = {{"seed", 1, NULL, 's'},
                                          {"seeds", 1, NULL, 'n'},
                                          {"from", 1, NULL, 'f'},
                                          {"mutation", 1, NULL, 'm'},
                                          {NULL, 0, NULL, 0}};
    struct sums sums = {0};
    uint64_t from = 1, count = 20;
    bool verbose = false;
    int option;

    while ((option = getopt_long(argc, argv, "v", known, NULL)) != -1) {
        switch (option) {
        case 's':
            from = strtoull(optarg, NULL, 10);
            count = 1;
            break;
        case 'n':
            count = strtoull(optarg, NULL, 10);
            break;
        case 'f':
            from = strtoull(optarg, NULL, 10);
            break;
        case 'v':
            verbose = true;
            break;
        case 'm':
            if (sim_mutate(optarg)) {
                break;
            }
            /* fall through */
        default:
            fprintf(stderr, "sim_groups: see the head of groups.c\n");
            return 2;
        }
    }
    for (uint64_t i = 0; i < count; i++) {
        (void)run(from + i, verbose, &sums);
    }
    report(&sums, count);
    return sums.broken == 0 ? 0 : 1;
}
