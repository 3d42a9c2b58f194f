/* SPDX-License-Identifier: MIT */
/* case_contended.c - threads of one process want one name: how many turns a
 * second, and is every thread served?
 *
 * Floor: one thread that takes and frees the name, with nobody to wait for.
 * A turn here cannot be cheaper than that, and has a waiter to wake besides.
 */
#include "bench/bench.h"

#include <stdlib.h>
#include <string.h>

#include "bench/clocks.h"
#include "bench/crowd.h"
#include "bench/floor.h"
#include "bench/rounds.h"
#include "bench/statistics.h"

#define ROUND_MS 1000
#define ROUND_MS_QUICK 200
#define THREADS 64
#define NAME "holdfast-bench:contended"

/* Nobody waits so long unless something is broken: say so, and do not hang. */
#define PATIENCE_MS 30000

enum { FLOOR, HOLDFAST, SIDES };

struct waiter {
    hf_lock *lock;
    int64_t longest_ns;
};

struct state {
    int64_t round_ms;
    struct floor floor;
    struct floor_lock *floor_lock;
    hf_client *client;
    hf_lock *lock;
    struct waiter waiters[THREADS];
    double least[ROUNDS_MAX + 1];
    double most[ROUNDS_MAX + 1];
    size_t rounds;
};

static enum crowd_turn floor_turn(void *context)
{
    struct state *state = context;

    return floor_acquire(&state->floor, state->floor_lock) &&
                   floor_release(&state->floor, state->floor_lock)
               ? CROWD_AGAIN
               : CROWD_FAILED;
}

static enum crowd_turn holdfast_turn(void *context)
{
    struct waiter *waiter = context;
    int64_t start_ns = clock_now_ns();
    int64_t waited_ns;
    hf_acquire how = HF_ACQUIRE_INIT;
    hf_error err;

    how.wait_ms = PATIENCE_MS;
    if (hf_lock_acquire(waiter->lock, &how, &err) != HF_OK) {
        (void)bench_hf_failed("contended", &err);
        return CROWD_FAILED;
    }
    waited_ns = clock_now_ns() - start_ns;
    if (waited_ns > waiter->longest_ns) {
        waiter->longest_ns = waited_ns;
    }
    if (hf_lock_release(waiter->lock, NULL, &err) != HF_OK) {
        (void)bench_hf_failed("contended", &err);
        return CROWD_FAILED;
    }
    return CROWD_AGAIN;
}

static bool measure_floor(void *context, struct sample *ret_sample)
{
    struct state *state = context;
    struct crowd_member member = {.turn = floor_turn, .context = state};
    struct crowd_time time;

    if (!crowd_run(&member, 1, state->round_ms, &time)) {
        return false;
    }
    ret_sample->value = (double)member.ret_turns /
                        ((double)time.elapsed_ns / 1e9);
    return true;
}

static bool measure_holdfast(void *context, struct sample *ret_sample)
{
    struct state *state = context;
    struct crowd_member members[THREADS] = {0};
    struct crowd_time time;
    double turns[THREADS];
    double all = 0;

    for (size_t i = 0; i < THREADS; i++) {
        members[i].turn = holdfast_turn;
        members[i].context = &state->waiters[i];
    }
    if (!crowd_run(members, THREADS, state->round_ms, &time)) {
        return false;
    }
    for (size_t i = 0; i < THREADS; i++) {
        turns[i] = (double)members[i].ret_turns;
        all += turns[i];
    }
    state->least[state->rounds] = percentile(turns, THREADS, 0);
    state->most[state->rounds] = percentile(turns, THREADS, 100);
    state->rounds++;
    ret_sample->value = all / ((double)time.elapsed_ns / 1e9);
    ret_sample->cpu_us = (double)time.cpu_ns / 1e3 / all;
    return true;
}

static bool set_up(const struct bench_context *context, struct state *state)
{
    hf_error err;

    state->round_ms = context->quick ? ROUND_MS_QUICK : ROUND_MS;
    state->floor_lock = floor_locks_new(NAME "-floor", 1);
    if (state->floor_lock == NULL ||
        !floor_open(&context->address, &state->floor)) {
        return false;
    }
    state->client = bench_open_client(context);
    if (state->client == NULL) {
        return false;
    }
    if (hf_lock_new(state->client, NAME, &state->lock, &err) != HF_OK) {
        return bench_hf_failed("contended", &err);
    }
    for (size_t i = 0; i < THREADS; i++) {
        state->waiters[i].lock = state->lock;
    }
    return true;
}

static void tear_down(struct state *state)
{
    (void)hf_lock_free(state->lock);
    (void)hf_client_close(state->client);
    floor_close(&state->floor);
    free(state->floor_lock);
}

static void report(struct state *state, const struct side *sides,
                   struct bench_result *result)
{
    int64_t longest_ns = 0;

    for (size_t i = 0; i < THREADS; i++) {
        if (state->waiters[i].longest_ns > longest_ns) {
            longest_ns = state->waiters[i].longest_ns;
        }
    }
    result->has_floor = true;
    result->floor = sides[FLOOR].middle.value;
    result->holdfast = sides[HOLDFAST].middle.value;
    bench_extra(result, "threads", THREADS);
    bench_extra(result, "least_turns", median(state->least, state->rounds));
    bench_extra(result, "most_turns", median(state->most, state->rounds));
    bench_extra(result, "longest_wait_ms", (double)longest_ns / 1e6);
    bench_extra(result, "cpu_us", sides[HOLDFAST].middle.cpu_us);
}

/* Attempts that were made again because time passed, not because the lock was
 * freed: there should be none. */
static void add_retries(struct state *state, struct bench_result *result)
{
    hf_stats stats = HF_STATS_INIT;

    if (hf_client_stats(state->client, &stats) == HF_OK) {
        bench_extra(result, "retries", (double)stats.retries);
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
        report(&state, sides, ret_result);
        add_retries(&state, ret_result);
    }
    tear_down(&state);
    return ok;
}

const struct bench_case bench_contended = {
    .name = "contended",
    .unit = "turns/s",
    .better = BENCH_HIGHER,
    .threads = THREADS,
    .run = run,
};
