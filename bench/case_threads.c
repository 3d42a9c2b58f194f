/* SPDX-License-Identifier: MIT */
/* case_threads.c - threads take and free locks of different names: how many
 * pairs a second?
 *
 * Floor: one thread that sends batches as deep as there are threads; what a
 * programmer gets who can rearrange his whole program around the batch.
 * Beside it, what he gets who cannot: as many threads, each with a blocking
 * connection of its own.
 */
#include "bench/bench.h"

#include <stdlib.h>

#include "bench/crowd.h"
#include "bench/floor.h"
#include "bench/locks.h"
#include "bench/rounds.h"

#define ROUND_MS 500
#define ROUND_MS_QUICK 100
#define THREADS_MAX 64
#define NAME "holdfast-bench:threads"

enum { FLOOR, CONNECTIONS, HOLDFAST, SIDES };

/* What one thread of a side works with. */
struct worker {
    struct floor *floor;
    const struct floor_lock *floor_lock;
    size_t depth; /* of a batch */
    hf_lock *lock;
};

struct state {
    size_t threads;
    int64_t round_ms;
    struct floor floor[THREADS_MAX];
    struct floor_lock *floor_locks;
    hf_client *client;
    struct locks locks;
    struct worker workers[THREADS_MAX];
};

static enum crowd_turn floor_batch(void *context)
{
    struct worker *worker = context;

    return floor_acquire_all(worker->floor, worker->floor_lock,
                             worker->depth) &&
                   floor_release_all(worker->floor, worker->floor_lock,
                                     worker->depth)
               ? CROWD_AGAIN
               : CROWD_FAILED;
}

static enum crowd_turn floor_pair(void *context)
{
    struct worker *worker = context;

    return floor_acquire(worker->floor, worker->floor_lock) &&
                   floor_release(worker->floor, worker->floor_lock)
               ? CROWD_AGAIN
               : CROWD_FAILED;
}

static enum crowd_turn holdfast_pair(void *context)
{
    struct worker *worker = context;
    hf_error err;

    if (hf_lock_acquire(worker->lock, NULL, &err) != HF_OK ||
        hf_lock_release(worker->lock, NULL, &err) != HF_OK) {
        (void)bench_hf_failed("threads", &err);
        return CROWD_FAILED;
    }
    return CROWD_AGAIN;
}

/* Let `count` threads do their turns, each of `pairs` pairs. */
static bool measure(struct state *state, enum crowd_turn (*turn)(void *),
                    size_t count, size_t pairs, struct sample *ret_sample)
{
    struct crowd_member members[THREADS_MAX] = {0};
    struct crowd_time time;
    double server_s = floor_server_cpu_s(&state->floor[0]);
    double done = 0;

    for (size_t i = 0; i < count; i++) {
        members[i].turn = turn;
        members[i].context = &state->workers[i];
    }
    if (!crowd_run(members, count, state->round_ms, &time)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        done += (double)(members[i].ret_turns * pairs);
    }
    if (done > 0) {
        ret_sample->value = done / ((double)time.elapsed_ns / 1e9);
        ret_sample->cpu_us = (double)time.cpu_ns / 1e3 / done;
        server_s = floor_server_cpu_s(&state->floor[0]) - server_s;
        ret_sample->server_cpu_us = server_s * 1e6 / done;
    }
    return true;
}

static bool measure_floor(void *context, struct sample *ret_sample)
{
    struct state *state = context;

    return measure(state, floor_batch, 1, state->threads, ret_sample);
}

static bool measure_connections(void *context, struct sample *ret_sample)
{
    struct state *state = context;

    return measure(state, floor_pair, state->threads, 1, ret_sample);
}

static bool measure_holdfast(void *context, struct sample *ret_sample)
{
    struct state *state = context;

    return measure(state, holdfast_pair, state->threads, 1, ret_sample);
}

static bool set_up(const struct bench_context *context, struct state *state)
{
    state->round_ms = context->quick ? ROUND_MS_QUICK : ROUND_MS;
    state->floor_locks = floor_locks_new(NAME "-floor", state->threads);
    if (state->floor_locks == NULL) {
        return false;
    }
    for (size_t i = 0; i < state->threads; i++) {
        if (!floor_open(&context->address, &state->floor[i])) {
            return false;
        }
    }
    state->client = bench_open_client(context);
    if (state->client == NULL ||
        !locks_new(state->client, NAME, state->threads, &state->locks)) {
        return false;
    }
    for (size_t i = 0; i < state->threads; i++) {
        state->workers[i] = (struct worker){
            .floor = &state->floor[i],
            .floor_lock = &state->floor_locks[i],
            .depth = state->threads,
            .lock = state->locks.each[i],
        };
    }
    return true;
}

static void tear_down(struct state *state)
{
    locks_free(&state->locks);
    (void)hf_client_close(state->client);
    for (size_t i = 0; i < state->threads; i++) {
        floor_close(&state->floor[i]);
    }
    free(state->floor_locks);
}

static void report(const struct side *sides, struct bench_result *result)
{
    double connections = sides[CONNECTIONS].middle.value;

    result->has_floor = true;
    result->floor = sides[FLOOR].middle.value;
    result->holdfast = sides[HOLDFAST].middle.value;
    bench_extra(result, "connections", connections);
    bench_extra(result, "connections_ratio", result->holdfast / connections);
    bench_extra(result, "floor_cpu_us", sides[FLOOR].middle.cpu_us);
    bench_extra(result, "connections_cpu_us", sides[CONNECTIONS].middle.cpu_us);
    bench_extra(result, "cpu_us", sides[HOLDFAST].middle.cpu_us);
    bench_extra(result, "floor_server_cpu_us",
                sides[FLOOR].middle.server_cpu_us);
    bench_extra(result, "connections_server_cpu_us",
                sides[CONNECTIONS].middle.server_cpu_us);
    bench_extra(result, "server_cpu_us", sides[HOLDFAST].middle.server_cpu_us);
}

/* Scripts that left in one write, on average. */
static void add_batch(struct state *state, struct bench_result *result)
{
    hf_stats stats = HF_STATS_INIT;

    if (hf_client_stats(state->client, &stats) == HF_OK && stats.writes > 0) {
        bench_extra(result, "scripts_per_write",
                    (double)stats.scripts_sent / (double)stats.writes);
    }
}

static bool run(const struct bench_context *context,
                const struct bench_case *self, struct bench_result *ret_result)
{
    struct side sides[SIDES] = {
        [FLOOR] = {.measure = measure_floor},
        [CONNECTIONS] = {.measure = measure_connections},
        [HOLDFAST] = {.measure = measure_holdfast}};
    struct state state = {.threads = self->threads};
    bool ok = set_up(context, &state) &&
              rounds_run(sides, SIDES, context->rounds, &state);

    if (ok) {
        report(sides, ret_result);
        add_batch(&state, ret_result);
    }
    tear_down(&state);
    return ok;
}

const struct bench_case bench_threads_1 = {
    .name = "threads-1",
    .unit = "pairs/s",
    .better = BENCH_HIGHER,
    .threads = 1,
    .run = run,
};

const struct bench_case bench_threads_8 = {
    .name = "threads-8",
    .unit = "pairs/s",
    .better = BENCH_HIGHER,
    .threads = 8,
    .run = run,
};

const struct bench_case bench_threads_64 = {
    .name = "threads-64",
    .unit = "pairs/s",
    .better = BENCH_HIGHER,
    .threads = THREADS_MAX,
    .run = run,
};
