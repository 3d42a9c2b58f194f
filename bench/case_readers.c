/* SPDX-License-Identifier: MIT */
/* case_readers.c - what does a read lock cost among a thousand readers?
 *
 * Floor: the same reader alone.  A thousand others of another client hold the
 * same lock all the time.  Every pair of acquire and release is timed; a round's
 * value is the median of its pairs.  On the way out a reader has to see to it
 * that the hash lasts as long as those who are left, and no longer: this shows
 * that it does not ask about all of them.
 */
#include "bench/bench.h"

#include <stdlib.h>

#include "bench/clocks.h"
#include "bench/rounds.h"
#include "bench/statistics.h"

#define PAIRS 2000
#define PAIRS_QUICK 200
#define READERS 1000
#define NAME "holdfast-bench:readers"

enum { ALONE, AMONG, SIDES };

struct state {
    size_t pairs;
    double *pair_us;
    hf_client *client;
    hf_lock *locks[SIDES];
    hf_client *others;
    hf_lock *others_lock;
    hf_owner *owners[READERS];
};

static bool measure(struct state *state, hf_lock *lock,
                    struct sample *ret_sample)
{
    int64_t cpu_ns = clock_process_cpu_ns();
    hf_error err;

    for (size_t i = 0; i < state->pairs; i++) {
        int64_t start_ns = clock_now_ns();

        if (hf_lock_acquire(lock, NULL, &err) != HF_OK ||
            hf_lock_release(lock, NULL, &err) != HF_OK) {
            return bench_hf_failed("readers", &err);
        }
        state->pair_us[i] = (double)(clock_now_ns() - start_ns) / 1e3;
    }
    cpu_ns = clock_process_cpu_ns() - cpu_ns;
    ret_sample->cpu_us = (double)cpu_ns / 1e3 / (double)state->pairs;
    ret_sample->value = median(state->pair_us, state->pairs);
    ret_sample->p99 = percentile(state->pair_us, state->pairs, 99);
    return true;
}

static bool measure_alone(void *context, struct sample *ret_sample)
{
    struct state *state = context;

    return measure(state, state->locks[ALONE], ret_sample);
}

static bool measure_among(void *context, struct sample *ret_sample)
{
    struct state *state = context;

    return measure(state, state->locks[AMONG], ret_sample);
}

static bool a_reader_more(struct state *state, size_t at, hf_error *reterr)
{
    hf_acquire how = HF_ACQUIRE_INIT;

    if (hf_owner_new(state->others, &state->owners[at], reterr) != HF_OK) {
        return false;
    }
    how.owner = state->owners[at];
    return hf_lock_acquire(state->others_lock, &how, reterr) == HF_OK;
}

static bool set_up(const struct bench_context *context, struct state *state)
{
    hf_error err;

    state->pairs = context->quick ? PAIRS_QUICK : PAIRS;
    state->pair_us = calloc(state->pairs, sizeof(double));
    state->client = bench_open_client(context);
    state->others = state->client == NULL ? NULL : bench_open_client(context);
    if (state->pair_us == NULL || state->others == NULL) {
        return false;
    }
    if (hf_read_lock_new(state->client, NAME "-alone", &state->locks[ALONE],
                         &err) != HF_OK ||
        hf_read_lock_new(state->client, NAME, &state->locks[AMONG], &err) !=
            HF_OK ||
        hf_read_lock_new(state->others, NAME, &state->others_lock, &err) !=
            HF_OK) {
        return bench_hf_failed("readers", &err);
    }
    for (size_t i = 0; i < READERS; i++) {
        if (!a_reader_more(state, i, &err)) {
            return bench_hf_failed("readers", &err);
        }
    }
    return true;
}

/* Closing releases what the others hold. */
static void tear_down(struct state *state)
{
    (void)hf_client_close(state->others);
    (void)hf_client_close(state->client);
    (void)hf_lock_free(state->others_lock);
    (void)hf_lock_free(state->locks[ALONE]);
    (void)hf_lock_free(state->locks[AMONG]);
    for (size_t i = 0; i < READERS; i++) {
        (void)hf_owner_free(state->owners[i]);
    }
    free(state->pair_us);
}

static bool run(const struct bench_context *context,
                const struct bench_case *self, struct bench_result *ret_result)
{
    struct side sides[SIDES] = {[ALONE] = {.measure = measure_alone},
                                [AMONG] = {.measure = measure_among}};
    struct state state = {0};
    bool ok = set_up(context, &state) &&
              rounds_run(sides, SIDES, context->rounds, &state);

    (void)self;
    if (ok) {
        ret_result->has_floor = true;
        ret_result->floor = sides[ALONE].middle.value;
        ret_result->holdfast = sides[AMONG].middle.value;
        bench_extra(ret_result, "floor_p99_us", sides[ALONE].middle.p99);
        bench_extra(ret_result, "p99_us", sides[AMONG].middle.p99);
        bench_extra(ret_result, "floor_cpu_us", sides[ALONE].middle.cpu_us);
        bench_extra(ret_result, "cpu_us", sides[AMONG].middle.cpu_us);
        bench_extra(ret_result, "readers", READERS);
    }
    tear_down(&state);
    return ok;
}

const struct bench_case bench_readers = {
    .name = "readers",
    .unit = "us/pair",
    .better = BENCH_LOWER,
    .threads = 1,
    .run = run,
};
