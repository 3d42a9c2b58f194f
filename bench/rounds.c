/* SPDX-License-Identifier: MIT */
/* rounds.c - see rounds.h. */
#include "bench/rounds.h"

#include "bench/bench.h"
#include "bench/statistics.h"

static bool measure_all(struct side *sides, size_t side_count, int round,
                        void *state)
{
    for (size_t i = 0; i < side_count; i++) {
        size_t index = round % 2 == 0 ? i : side_count - 1 - i;
        struct sample sample = {0, 0, 0, 0};

        if (bench_interrupted() || !sides[index].measure(state, &sample)) {
            return false;
        }
        sides[index].rounds[round] = sample;
    }
    return true;
}

static void find_middle(struct side *side, size_t rounds)
{
    double value[ROUNDS_MAX];
    double p99[ROUNDS_MAX];
    double cpu_us[ROUNDS_MAX];
    double server_cpu_us[ROUNDS_MAX];

    for (size_t i = 0; i < rounds; i++) {
        value[i] = side->rounds[i].value;
        p99[i] = side->rounds[i].p99;
        cpu_us[i] = side->rounds[i].cpu_us;
        server_cpu_us[i] = side->rounds[i].server_cpu_us;
    }
    side->middle.value = median(value, rounds);
    side->middle.p99 = median(p99, rounds);
    side->middle.cpu_us = median(cpu_us, rounds);
    side->middle.server_cpu_us = median(server_cpu_us, rounds);
}

bool rounds_run(struct side *sides, size_t side_count, int rounds, void *state)
{
    /* The warm-up's numbers are overwritten by the first round's. */
    if (!measure_all(sides, side_count, 0, state)) {
        return false;
    }
    for (int round = 0; round < rounds; round++) {
        if (!measure_all(sides, side_count, round, state)) {
            return false;
        }
    }
    for (size_t i = 0; i < side_count; i++) {
        find_middle(&sides[i], (size_t)rounds);
    }
    return true;
}
