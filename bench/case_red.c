/* SPDX-License-Identifier: MIT */
/* case_red.c - a red lock over five servers: how long is a pair of taking and
 * freeing it?
 *
 * The floor is holdfast's own plain lock on one of these servers.  The servers
 * are private ones, started for this case on this machine, whatever server the
 * others are measured on: where it has fewer processors than servers, they wait
 * for each other, which servers on machines of their own do not.
 *
 * Then one of the five is stopped (SIGSTOP), and the same is measured again.
 */
#include "bench/bench.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "bench/clocks.h"
#include "bench/private_server.h"
#include "bench/rounds.h"
#include "bench/statistics.h"

#define SERVERS 5
#define PAIRS 2000
#define PAIRS_QUICK 300
#define NAME "holdfast-bench:red"

enum { ONE, RED, SIDES };

struct state {
    size_t pairs;
    double *pair_us;
    struct private_server servers[SERVERS];
    hf_client *clients[SERVERS];
    hf_lock *locks[SERVERS];
    hf_lock *alone;
    hf_group *red;
};

static bool pair_of_one(struct state *state)
{
    hf_error err;

    return (hf_lock_acquire(state->alone, NULL, &err) == HF_OK &&
            hf_lock_release(state->alone, NULL, &err) == HF_OK) ||
           bench_hf_failed("red", &err);
}

static bool pair_of_red(struct state *state)
{
    hf_error err;

    return (hf_group_acquire(state->red, NULL, NULL, &err) == HF_OK &&
            hf_group_release(state->red, NULL, NULL, &err) == HF_OK) ||
           bench_hf_failed("red", &err);
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

static bool measure_red(void *state, struct sample *ret_sample)
{
    return measure(state, pair_of_red, ret_sample);
}

static bool open_member(const struct bench_context *context,
                        struct state *state, size_t at)
{
    struct bench_context own = *context;
    hf_error err;

    if (!private_server_start(&state->servers[at])) {
        return false;
    }
    own.url = state->servers[at].url;
    own.password = NULL;
    state->clients[at] = bench_open_client(&own);
    if (state->clients[at] == NULL) {
        return false;
    }
    return hf_lock_new(state->clients[at], NAME, &state->locks[at], &err) ==
               HF_OK ||
           bench_hf_failed("red", &err);
}

static bool set_up(const struct bench_context *context, struct state *state)
{
    hf_error err;

    state->pairs = context->quick ? PAIRS_QUICK : PAIRS;
    state->pair_us = calloc(state->pairs, sizeof(double));
    if (state->pair_us == NULL) {
        return false;
    }
    for (size_t i = 0; i < SERVERS; i++) {
        if (!open_member(context, state, i)) {
            return false;
        }
    }
    return (hf_lock_new(state->clients[0], NAME "-one", &state->alone, &err) ==
                HF_OK &&
            hf_red_lock_new(state->locks, SERVERS, NULL, &state->red, &err) ==
                HF_OK) ||
           bench_hf_failed("red", &err);
}

static void tear_down(struct state *state)
{
    for (size_t i = 0; i < SERVERS; i++) {
        (void)hf_client_close(state->clients[i]);
    }
    (void)hf_group_free(state->red);
    (void)hf_lock_free(state->alone);
    for (size_t i = 0; i < SERVERS; i++) {
        (void)hf_lock_free(state->locks[i]);
        private_server_stop(&state->servers[i]);
    }
    free(state->pair_us);
}

static bool run(const struct bench_context *context,
                const struct bench_case *self, struct bench_result *ret_result)
{
    struct side sides[SIDES] = {
        [ONE] = {.measure = measure_one}, [RED] = {.measure = measure_red}};
    struct state state = {0};
    struct sample stalled = {0};
    bool ok = set_up(context, &state) &&
              rounds_run(sides, SIDES, context->rounds, &state);

    (void)self;
    if (ok) {
        (void)kill(state.servers[SERVERS - 1].pid, SIGSTOP);
        ok = measure_red(&state, &stalled);
        (void)kill(state.servers[SERVERS - 1].pid, SIGCONT);
    }
    if (ok) {
        ret_result->has_floor = true;
        ret_result->floor = sides[ONE].middle.value;
        ret_result->holdfast = sides[RED].middle.value;
        bench_extra(ret_result, "one_p99_us", sides[ONE].middle.p99);
        bench_extra(ret_result, "p99_us", sides[RED].middle.p99);
        bench_extra(ret_result, "cpu_us", sides[RED].middle.cpu_us);
        bench_extra(ret_result, "one_stalled_us", stalled.value);
        bench_extra(ret_result, "one_stalled_p99_us", stalled.p99);
    }
    tear_down(&state);
    return ok;
}

const struct bench_case bench_red = {
    .name = "red",
    .unit = "us/pair",
    .better = BENCH_LOWER,
    .threads = 1,
    .run = run,
};
