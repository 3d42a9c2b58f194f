/* SPDX-License-Identifier: MIT */
/* sim.c - run random histories in the simulated world.
 *
 *     sim --seed N [-v]              one, and print its timeline
 *     sim --seeds COUNT [--from N]   so many, and say how fast it went
 *     sim --soak FILE [--from N]     without end; failing seeds go to FILE
 *                [--seconds N]       for so long
 *
 * Further: --operations N, --drift PPM, --mutation NAME, --mutant NAME,
 * --quiet-network.  Exits 1 if an invariant was broken.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "sim/mutate.h"
#include "sim/world.h"

#define TAIL_BYTES 4000L

struct plan {
    uint64_t from;
    uint64_t count; /* 0: without end */
    time_t until;   /* 0: without end */
    bool single;
    bool keep_going;
    const char *soak;
    struct sim_options options;
};

struct sums {
    uint64_t seeds, broken;
    uint64_t operations, faults, grants, losses, late, steps;
    uint64_t least_operations, least_faults;
    double simulated_s;
    uint64_t by_fault[SIM_FAULTS];
};

static double cpu_seconds(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static void add(struct sums *sums, const struct sim_world *world)
{
    const struct sim_figures *figures = &world->figures;

    if (sums->seeds == 0 || figures->operations < sums->least_operations) {
        sums->least_operations = figures->operations;
    }
    if (sums->seeds == 0 || figures->faults < sums->least_faults) {
        sums->least_faults = figures->faults;
    }
    sums->seeds++;
    sums->operations += figures->operations;
    sums->faults += figures->faults;
    sums->grants += figures->grants;
    sums->losses += figures->losses;
    sums->late += figures->late_runs;
    sums->steps += figures->steps;
    sums->simulated_s += (double)world->now_us / 1e6;
    for (size_t i = 0; i < SIM_FAULTS; i++) {
        sums->by_fault[i] += figures->by_fault[i];
    }
}

/* One history; false: an invariant was broken. */
static bool run_seed(struct plan *plan, uint64_t seed, bool verbose,
                     struct sums *sums)
{
    struct sim_world *world;
    bool whole;

    plan->options.seed = seed;
    plan->options.newer = sim_options_default(seed).newer;
    plan->options.verbose = verbose;
    world = sim_world_new(&plan->options);
    whole = sim_history(world);
    add(sums, world);
    if (!whole) {
        sums->broken++;
        printf("seed %" PRIu64 ": %s broken at %.6f s: %s\n", seed,
               world->broken.invariant, (double)world->broken.at_us / 1e6,
               world->broken.text);
    }
    sim_world_free(world);
    return whole;
}

static void print_sums(const struct sums *sums, double cpu_s)
{
    printf("%" PRIu64 " seeds, %" PRIu64 " broken; at least %" PRIu64
           " operations and %" PRIu64 " faults each\n",
           sums->seeds, sums->broken, sums->least_operations,
           sums->least_faults);
    printf("%" PRIu64 " operations, %" PRIu64 " grants, %" PRIu64
           " losses told, %" PRIu64 " faults, %" PRIu64
           " requests that ran late, %" PRIu64 " events\n",
           sums->operations, sums->grants, sums->losses, sums->faults,
           sums->late, sums->steps);
    for (size_t i = 0; i < SIM_FAULTS; i++) {
        printf("    %8" PRIu64 "  %s\n", sums->by_fault[i],
               sim_fault_text((enum sim_fault)i));
    }
    printf("%.1f simulated s in %.1f CPU s: %.0f operations and %.0f "
           "simulated s in a CPU second\n",
           sums->simulated_s, cpu_s, (double)sums->operations / cpu_s,
           sums->simulated_s / cpu_s);
}

/* The end of a broken history's timeline: what came just before. */
static void print_tail(struct plan *plan, uint64_t seed)
{
    FILE *file = tmpfile();
    struct sim_world *world;
    char line[512];
    bool whole_line;

    if (file == NULL) {
        return;
    }
    plan->options.seed = seed;
    plan->options.verbose = true;
    plan->options.timeline = file;
    world = sim_world_new(&plan->options);
    (void)sim_history(world);
    world->options.verbose = false; /* its end is no news */
    sim_world_free(world);
    whole_line = fseek(file, -TAIL_BYTES, SEEK_END) != 0;
    if (whole_line) {
        rewind(file);
    }
    while (fgets(line, sizeof(line), file) != NULL) {
        if (whole_line) {
            fputs(line, stdout);
        }
        whole_line = true; /* the first may be the rest of one */
    }
    plan->options.timeline = stdout;
    fclose(file);
}

/* Appended, so that several soaks can share a file. */
static void write_seed(const char *path, uint64_t seed)
{
    FILE *file = path == NULL ? NULL : fopen(path, "ae");

    if (file != NULL) {
        fprintf(file, "%" PRIu64 "\n", seed);
        fclose(file);
    }
}

static bool goes_on(const struct plan *plan, uint64_t done)
{
    return (plan->count == 0 || done < plan->count) &&
           (plan->until == 0 || time(NULL) < plan->until);
}

static int run_all(struct plan *plan)
{
    struct sums sums;
    double begun = cpu_seconds();

    memset(&sums, 0, sizeof(sums));
    for (uint64_t i = 0; goes_on(plan, i); i++) {
        if (!run_seed(plan, plan->from + i, false, &sums)) {
            write_seed(plan->soak, plan->from + i);
            if (plan->soak == NULL && !plan->keep_going) {
                print_tail(plan, plan->from + i);
                printf("replay: tests/sim/run --seed %" PRIu64 " -v\n",
                       plan->from + i);
                break;
            }
        }
        if (plan->soak != NULL && i % 500 == 499) {
            printf("%" PRIu64 " seeds, %" PRIu64 " broken\n", sums.seeds,
                   sums.broken);
            fflush(stdout);
        }
    }
    print_sums(&sums, cpu_seconds() - begun);
    return sums.broken > 0 ? 1 : 0;
}

static uint64_t number(const char *text)
{
    return strtoull(text, NULL, 10);
}

enum {
    SEED = 256,
    SEEDS,
    FROM,
    SOAK,
    SECONDS,
    OPERATIONS,
    DRIFT,
    MUTATION,
    MUTANT,
    KEEP_GOING
};

static const struct option longs[] = {
    {"seed", required_argument, NULL, SEED},
    {"seeds", required_argument, NULL, SEEDS},
    {"from", required_argument, NULL, FROM},
    {"soak", required_argument, NULL, SOAK},
    {"seconds", required_argument, NULL, SECONDS},
    {"operations", required_argument, NULL, OPERATIONS},
    {"drift", required_argument, NULL, DRIFT},
    {"mutation", required_argument, NULL, MUTATION},
    {"mutant", required_argument, NULL, MUTANT},
    {"keep-going", no_argument, NULL, KEEP_GOING},
    {NULL, 0, NULL, 0}};

static bool read_option(struct plan *plan, int option)
{
    switch (option) {
    case SEED:
        plan->from = number(optarg);
        plan->single = true;
        return true;
    case SEEDS:
        plan->count = number(optarg);
        return true;
    case FROM:
        plan->from = number(optarg);
        return true;
    case SOAK:
        plan->soak = optarg;
        plan->count = 0;
        return true;
    case SECONDS:
        plan->until = time(NULL) + (time_t)number(optarg);
        return true;
    case OPERATIONS:
        plan->options.operations = (size_t)number(optarg);
        return true;
    case DRIFT:
        plan->options.drift_ppm = (int64_t)number(optarg);
        return true;
    case MUTATION:
        return sim_mutate(optarg);
    case MUTANT:
        plan->options.mutant = sim_mutant_of(optarg);
        return plan->options.mutant != NULL;
    case KEEP_GOING:
        plan->keep_going = true;
        return true;
    case 'v':
        plan->options.verbose = true;
        return true;
    default:
        return false;
    }
}

int main(int argc, char **argv)
{
    struct plan plan = {
        .from = 1, .count = 20, .options = sim_options_default(1)};
    struct sums sums;
    int option;

    while ((option = getopt_long(argc, argv, "v", longs, NULL)) != -1) {
        if (!read_option(&plan, option)) {
            fprintf(stderr, "sim: see the head of tests/sim/sim.c\n");
            return 2;
        }
    }
    if (!plan.single) {
        return run_all(&plan);
    }
    memset(&sums, 0, sizeof(sums));
    if (!run_seed(&plan, plan.from, plan.options.verbose, &sums)) {
        return 1;
    }
    printf("seed %" PRIu64 ": whole\n", plan.from);
    return 0;
}
