/* SPDX-License-Identifier: MIT */
/* case_multi.c - a multi lock of four names: how long is a pair of taking and
 * freeing it?
 *
 * The floor is holdfast's own plain lock on the same server.  All four names are
 * taken by one script, and freed by four that leave in one write; one by one they
 * would take four round trips to be taken.
 */
#include "bench/bench.h"

#include <stdlib.h>

#include "bench/clocks.h"
#include "bench/rounds.h"
#include "bench/statistics.h"

#define NAMES 4
#define PAIRS 2000
#define PAIRS_QUICK 300
#define NAME "holdfast-bench:multi"

enum { ONE, MULTI, SIDES };

struct state {
    size_t pairs;
    double *pair_us;
    hf_client *client;
    hf_lock *locks[NAMES];
    hf_group *multi;
    double scripts, writes; /* of a pair of the multi lock */
};

static bool pair_of_one(struct state *state)
{
    hf_error err;

    return (hf_lock_acquire(state->locks[0], NULL, &err) == HF_OK &&
            hf_lock_release(state->locks[0], NULL, &err) == HF_OK) ||
           bench_hf_failed("multi", &err);
}

static bool pair_of_multi(struct state *state)
{
    hf_error err;

    return (hf_group_acquire(state->multi, NULL, NULL, &err) == HF_OK &&
            hf_group_release(state->multi, NULL, NULL, &err) == HF_OK) ||
           bench_hf_failed("multi", &err);
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

static bool measure_one(void *state, struct sample *ret_sample)
{
    return measure(state, pair_of_one, ret_sample);
}

static bool measure_multi(void *data, struct sample *ret_sample)
{
    struct state *state = data;
    hf_stats before = HF_STATS_INIT, after = HF_STATS_INIT;
    bool ok = hf_client_stats(state->client, &before) == HF_OK &&
              measure(state, pair_of_multi, ret_sample) &&
              hf_client_stats(state->client, &after) == HF_OK;
    double pairs = (double)state->pairs;

    state->scripts = (double)(after.scripts_sent - before.scripts_sent) / pairs;
    state->writes = (double)(after.writes - before.writes) / pairs;
    return ok;
}

static bool set_up(const struct bench_context *context, struct state *state)
{
    static const char *const names[NAMES] = {NAME "-1", NAME "-2", NAME "-3",
                                             NAME "-4"};
    hf_error err;

    state->pairs = context->quick ? PAIRS_QUICK : PAIRS;
    state->pair_us = calloc(state->pairs, sizeof(double));
    state->client = state->pair_us == NULL ? NULL : bench_open_client(context);
    if (state->client == NULL) {
        return false;
    }
    for (size_t i = 0; i < NAMES; i++) {
        if (hf_lock_new(state->client, names[i], &state->locks[i], &err) !=
            HF_OK) {
            return bench_hf_failed("multi", &err);
        }
    }
    return hf_multi_lock_new(state->locks, NAMES, &state->multi, &err) ==
               HF_OK ||
           bench_hf_failed("multi", &err);
}

static void tear_down(struct state *state)
{
    (void)hf_client_close(state->client);
    (void)hf_group_free(state->multi);
    for (size_t i = 0; i < NAMES; i++) {
        (void)hf_lock_free(state->locks[i]);
    }
    free(state->pair_us);
}

static bool run(const struct bench_context *context,
                const struct bench_case *self, struct bench_result *ret_result)
{
    struct side sides[SIDES] = {
        [ONE] = {.measure = measure_one}, [MULTI] = {.measure = measure_multi}};
    struct state state = {0};
    bool ok = set_up(context, &state) &&
              rounds_run(sides, SIDES, context->rounds, &state);

    (void)self;
    if (ok) {
        ret_result->has_floor = true;
        ret_result->floor = sides[ONE].middle.value;
        ret_result->holdfast = sides[MULTI].middle.value;
        bench_extra(ret_result, "one_p99_us", sides[ONE].middle.p99);
        bench_extra(ret_result, "p99_us", sides[MULTI].middle.p99);
        bench_extra(ret_result, "cpu_us", sides[MULTI].middle.cpu_us);
        bench_extra(ret_result, "scripts_per_pair", state.scripts);
        bench_extra(ret_result, "writes_per_pair", state.writes);
    }
    tear_down(&state);
    return ok;
}

const struct bench_case bench_multi = {
    .name = "multi",
    .unit = "us/pair",
    .better = BENCH_LOWER,
    .threads = 1,
    .run = run,
};
