/* SPDX-License-Identifier: MIT */
/* case_alone.c - one thread takes and frees one lock: how long is that?
 *
 * Floor: two EVALSHA round trips on a blocking connection.  Every pair is
 * timed; a round's value is the median of its pairs, so that a pause of the
 * machine does not count.
 */
#include "bench/bench.h"

#include <stdlib.h>
#include <string.h>

#include "bench/clocks.h"
#include "bench/floor.h"
#include "bench/rounds.h"
#include "bench/statistics.h"

#define PAIRS 4000
#define PAIRS_QUICK 500
#define NAME "holdfast-bench:alone"

enum { FLOOR, HOLDFAST, SIDES };

struct state {
    size_t pairs;
    double *pair_us;
    struct floor floor;
    struct floor_lock *floor_lock;
    hf_client *client;
    hf_lock *lock;
};

static bool floor_pair(struct state *state)
{
    return floor_acquire(&state->floor, state->floor_lock) &&
           floor_release(&state->floor, state->floor_lock);
}

static bool holdfast_pair(struct state *state)
{
    hf_error err;

    if (hf_lock_acquire(state->lock, NULL, &err) != HF_OK ||
        hf_lock_release(state->lock, NULL, &err) != HF_OK) {
        return bench_hf_failed("alone", &err);
    }
    return true;
}

static bool measure(struct state *state, bool (*pair)(struct state *),
                    struct sample *ret_sample)
{
    int64_t cpu_ns = clock_process_cpu_ns();
    int64_t now_ns = clock_now_ns();

    for (size_t i = 0; i < state->pairs; i++) {
        int64_t start_ns = now_ns;

        if (!pair(state)) {
            return false;
        }
        now_ns = clock_now_ns();
        state->pair_us[i] = (double)(now_ns - start_ns) / 1e3;
    }
    cpu_ns = clock_process_cpu_ns() - cpu_ns;
    ret_sample->cpu_us = (double)cpu_ns / 1e3 / (double)state->pairs;
    ret_sample->value = median(state->pair_us, state->pairs);
    ret_sample->p99 = percentile(state->pair_us, state->pairs, 99);
    return true;
}

static bool measure_floor(void *state, struct sample *ret_sample)
{
    return measure(state, floor_pair, ret_sample);
}

static bool measure_holdfast(void *state, struct sample *ret_sample)
{
    return measure(state, holdfast_pair, ret_sample);
}

static bool set_up(const struct bench_context *context, struct state *state)
{
    hf_error err;

    state->pairs = context->quick ? PAIRS_QUICK : PAIRS;
    state->pair_us = calloc(state->pairs, sizeof(double));
    state->floor_lock = floor_locks_new(NAME "-floor", 1);
    if (state->pair_us == NULL || state->floor_lock == NULL ||
        !floor_open(&context->address, &state->floor)) {
        return false;
    }
    state->client = bench_open_client(context);
    if (state->client == NULL) {
        return false;
    }
    return hf_lock_new(state->client, NAME, &state->lock, &err) == HF_OK ||
           bench_hf_failed("alone", &err);
}

static void tear_down(struct state *state)
{
    (void)hf_lock_free(state->lock);
    (void)hf_client_close(state->client);
    floor_close(&state->floor);
    free(state->floor_lock);
    free(state->pair_us);
}

/* What a pair costs the client in scripts and in system calls that write. */
static void add_counts(struct state *state, int rounds,
                       struct bench_result *result)
{
    hf_stats stats = HF_STATS_INIT;
    double pairs = (double)state->pairs * (rounds + 1);

    if (hf_client_stats(state->client, &stats) == HF_OK) {
        bench_extra(result, "scripts_per_pair",
                    (double)stats.scripts_sent / pairs);
        bench_extra(result, "writes_per_pair", (double)stats.writes / pairs);
    }
}

static bool run(const struct bench_context *context,
                const struct bench_case *self, struct bench_result *ret_result)
{
    struct side sides[SIDES] = {[FLOOR] = {.measure = measure_floor},
                                [HOLDFAST] = {.measure = measure_holdfast}};
    struct state state = {0};
    bool ok = set_up(context, &state) &&
              rounds_run(sides, SIDES, context->rounds, &state);

    (void)self;
    if (ok) {
        ret_result->has_floor = true;
        ret_result->floor = sides[FLOOR].middle.value;
        ret_result->holdfast = sides[HOLDFAST].middle.value;
        bench_extra(ret_result, "floor_p99_us", sides[FLOOR].middle.p99);
        bench_extra(ret_result, "p99_us", sides[HOLDFAST].middle.p99);
        bench_extra(ret_result, "floor_cpu_us", sides[FLOOR].middle.cpu_us);
        bench_extra(ret_result, "cpu_us", sides[HOLDFAST].middle.cpu_us);
        add_counts(&state, context->rounds, ret_result);
    }
    tear_down(&state);
    return ok;
}

const struct bench_case bench_alone = {
    .name = "alone",
    .unit = "us/pair",
    .better = BENCH_LOWER,
    .threads = 1,
    .run = run,
};
