/* SPDX-License-Identifier: MIT */
/* case_token.c - tasks without threads take and free token locks of different
 * names, all on one connection: how many pairs a second?
 *
 * The floor is holdfast's own plain lock, used in the same way: what a token
 * lock saves.  Each task is a chain of callbacks; the next call is made from
 * the callback of the last.
 */
#include "bench/bench.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/clocks.h"
#include "bench/floor.h"
#include "bench/rounds.h"

#define ROUND_MS 500
#define ROUND_MS_QUICK 100
#define TASKS 64

enum { PLAIN, TOKEN, SIDES };

struct state;

struct task {
    struct state *all;
    hf_lock *lock;
    hf_owner *owner;
    bool held;
};

struct state {
    int64_t round_ms;
    struct floor floor; /* for the server's processor time */
    hf_client *client;
    struct task tasks[SIDES][TASKS];
    atomic_bool stop;
    atomic_bool failed;
    atomic_long pairs;
    pthread_mutex_t mutex;
    pthread_cond_t ended;
    size_t running; /* under the mutex */
};

/* ---- a task ---- */

static void end_task(struct task *task)
{
    struct state *state = task->all;

    pthread_mutex_lock(&state->mutex);
    state->running--;
    pthread_cond_signal(&state->ended);
    pthread_mutex_unlock(&state->mutex);
}

static void on_done(const hf_completion *done, void *context);

static void next_call(struct task *task)
{
    hf_acquire how = HF_ACQUIRE_INIT;
    hf_error err;
    hf_status status;

    if (!task->held && atomic_load(&task->all->stop)) {
        end_task(task);
        return;
    }
    how.owner = task->owner;
    status = task->held
                 ? hf_lock_release_async(task->lock, task->owner, on_done, task,
                                         &err)
                 : hf_lock_acquire_async(task->lock, &how, on_done, task, &err);
    if (status != HF_OK) {
        atomic_store(&task->all->failed, true);
        end_task(task);
    }
}

static void on_done(const hf_completion *done, void *context)
{
    struct task *task = context;

    if (done->status != HF_OK) {
        (void)bench_hf_failed("token", done->error);
        atomic_store(&task->all->failed, true);
        end_task(task);
        return;
    }
    if (task->held) {
        atomic_fetch_add(&task->all->pairs, 1);
    }
    task->held = !task->held;
    next_call(task);
}

/* ---- a round ---- */

static void run_tasks(struct state *state, struct task *tasks)
{
    atomic_store(&state->stop, false);
    atomic_store(&state->pairs, 0);
    state->running = TASKS;
    for (size_t i = 0; i < TASKS; i++) {
        next_call(&tasks[i]);
    }
    clock_wait_until_ns(clock_now_ns() + state->round_ms * 1000000);
    atomic_store(&state->stop, true);
    pthread_mutex_lock(&state->mutex);
    while (state->running > 0) {
        pthread_cond_wait(&state->ended, &state->mutex);
    }
    pthread_mutex_unlock(&state->mutex);
}

static bool measure(struct state *state, struct task *tasks,
                    struct sample *ret_sample)
{
    double server_s = floor_server_cpu_s(&state->floor);
    int64_t cpu_ns = clock_process_cpu_ns();
    int64_t begun_ns = clock_now_ns();
    double pairs;

    run_tasks(state, tasks);
    pairs = (double)atomic_load(&state->pairs);
    if (atomic_load(&state->failed) || pairs == 0) {
        return false;
    }
    ret_sample->value = pairs * 1e9 / (double)(clock_now_ns() - begun_ns);
    ret_sample->cpu_us = (double)(clock_process_cpu_ns() - cpu_ns) / 1e3 /
                         pairs;
    server_s = floor_server_cpu_s(&state->floor) - server_s;
    ret_sample->server_cpu_us = server_s * 1e6 / pairs;
    return true;
}

static bool measure_plain(void *context, struct sample *ret_sample)
{
    struct state *state = context;

    return measure(state, state->tasks[PLAIN], ret_sample);
}

static bool measure_token(void *context, struct sample *ret_sample)
{
    struct state *state = context;

    return measure(state, state->tasks[TOKEN], ret_sample);
}

/* ---- before and after ---- */

static bool set_up_task(struct state *state, struct task *task, hf_kind kind,
                        size_t number)
{
    hf_lock_options options = HF_LOCK_OPTIONS_INIT;
    hf_error err;
    char name[64];

    options.kind = kind;
    (void)snprintf(name, sizeof(name), "holdfast-bench:%s:%zu",
                   hf_kind_word(kind), number);
    task->all = state;
    return (hf_lock_new_as(state->client, &options, name, strlen(name),
                           &task->lock, &err) == HF_OK &&
            hf_owner_new(state->client, &task->owner, &err) == HF_OK) ||
           bench_hf_failed("token", &err);
}

static bool set_up(const struct bench_context *context, struct state *state)
{
    state->round_ms = context->quick ? ROUND_MS_QUICK : ROUND_MS;
    state->client = bench_open_client(context);
    if (state->client == NULL ||
        !floor_open(&context->address, &state->floor)) {
        return false;
    }
    for (size_t i = 0; i < TASKS; i++) {
        if (!set_up_task(state, &state->tasks[PLAIN][i], HF_KIND_LOCK, i) ||
            !set_up_task(state, &state->tasks[TOKEN][i], HF_KIND_TOKEN, i)) {
            return false;
        }
    }
    return true;
}

static void tear_down(struct state *state)
{
    (void)hf_client_close(state->client);
    for (size_t i = 0; i < TASKS; i++) {
        for (int side = 0; side < SIDES; side++) {
            (void)hf_lock_free(state->tasks[side][i].lock);
            (void)hf_owner_free(state->tasks[side][i].owner);
        }
    }
    floor_close(&state->floor);
}

static bool run(const struct bench_context *context,
                const struct bench_case *self, struct bench_result *ret_result)
{
    struct side sides[SIDES] = {[PLAIN] = {.measure = measure_plain},
                                [TOKEN] = {.measure = measure_token}};
    struct state *state = calloc(1, sizeof(*state));
    bool ok;

    (void)self;
    if (state == NULL) {
        return bench_failed("token", "out of memory");
    }
    pthread_mutex_init(&state->mutex, NULL);
    pthread_cond_init(&state->ended, NULL);
    ok = set_up(context, state) &&
         rounds_run(sides, SIDES, context->rounds, state);
    if (ok) {
        ret_result->has_floor = true;
        ret_result->floor = sides[PLAIN].middle.value;
        ret_result->holdfast = sides[TOKEN].middle.value;
        bench_extra(ret_result, "floor_cpu_us", sides[PLAIN].middle.cpu_us);
        bench_extra(ret_result, "cpu_us", sides[TOKEN].middle.cpu_us);
        bench_extra(ret_result, "floor_server_cpu_us",
                    sides[PLAIN].middle.server_cpu_us);
        bench_extra(ret_result, "server_cpu_us",
                    sides[TOKEN].middle.server_cpu_us);
    }
    tear_down(state);
    free(state);
    return ok;
}

const struct bench_case bench_token = {
    .name = "token",
    .unit = "pairs/s",
    .better = BENCH_HIGHER,
    .threads = TASKS,
    .run = run,
};
