/* SPDX-License-Identifier: MIT */
/* case_renew.c - what do 100,000 held leases cost while nothing happens?
 *
 * Both sides hold as many names, and renew each every third of a lease.  Value:
 * processor time of this process over a window of some whole renewal periods,
 * in % of one core; beside it the same of the server (from its INFO, so it
 * counts everything that the server does).  The floor sends groups of 100 with
 * the group script, evenly spread, from a thread that does nothing else.
 *
 * It takes its time, so each side is measured once.
 */
#include "bench/bench.h"

#include <stdlib.h>

#include "bench/clocks.h"
#include "bench/floor.h"
#include "bench/locks.h"

#define LEASES 100000
#define LEASES_QUICK 10000
/* Of a renewal: a third of a lease. */
#define PERIOD_S (BENCH_LEASE_MS / 3 / 1000)
#define PERIODS 2
#define PERIODS_QUICK 1
#define NAME "holdfast-bench:renew"
#define NS_PER_S INT64_C(1000000000)

/* What one side used while it held. */
struct use {
    double client_percent;
    double server_percent;
};

struct state {
    size_t leases;
    int periods;
    struct floor floor;
    struct floor_lock *floor_locks;
    hf_client *client;
    struct locks locks;
    hf_owner *owner;
};

static size_t group_at(const struct state *state, size_t first)
{
    size_t left = state->leases - first;

    return left < FLOOR_GROUP_MAX ? left : FLOOR_GROUP_MAX;
}

/* When the group that begins with that lease is due, within its period. */
static int64_t due_ns(const struct state *state, size_t first)
{
    return (int64_t)first * (PERIOD_S * NS_PER_S) / (int64_t)state->leases;
}

/* Renew everything, group by group, within one period. */
static bool renew_for_a_period(struct state *state, int64_t start_ns)
{
    for (size_t i = 0; i < state->leases; i += FLOOR_GROUP_MAX) {
        clock_wait_until_ns(start_ns + due_ns(state, i));
        if (bench_interrupted() ||
            !floor_renew(&state->floor, &state->floor_locks[i],
                         group_at(state, i))) {
            return false;
        }
    }
    return true;
}

static bool hold_by_floor(struct state *state)
{
    int64_t start_ns = clock_now_ns();

    for (int i = 0; i < state->periods; i++) {
        if (!renew_for_a_period(state, start_ns)) {
            return false;
        }
        start_ns += PERIOD_S * NS_PER_S;
    }
    clock_wait_until_ns(start_ns);
    return true;
}

/* The library does it all by itself. */
static bool hold_by_holdfast(struct state *state)
{
    clock_wait_until_ns(clock_now_ns() +
                        state->periods * (PERIOD_S * NS_PER_S));
    return !bench_interrupted();
}

static bool measure(struct state *state, bool (*hold)(struct state *),
                    struct use *ret_use)
{
    double server_s = floor_server_cpu_s(&state->floor);
    int64_t cpu_ns = clock_process_cpu_ns();
    int64_t start_ns = clock_now_ns();
    double elapsed_s;

    if (!hold(state)) {
        return false;
    }
    elapsed_s = (double)(clock_now_ns() - start_ns) / 1e9;
    cpu_ns = clock_process_cpu_ns() - cpu_ns;
    server_s = floor_server_cpu_s(&state->floor) - server_s;
    ret_use->client_percent = (double)cpu_ns / 1e9 / elapsed_s * 100;
    ret_use->server_percent = server_s / elapsed_s * 100;
    return true;
}

static bool floor_all(struct state *state,
                      bool (*act)(struct floor *, const struct floor_lock *,
                                  size_t))
{
    for (size_t i = 0; i < state->leases; i += FLOOR_GROUP_MAX) {
        if (!act(&state->floor, &state->floor_locks[i], group_at(state, i))) {
            return false;
        }
    }
    return true;
}

static bool measure_floor(struct state *state, struct use *ret_use)
{
    return floor_all(state, floor_acquire_all) &&
           measure(state, hold_by_floor, ret_use) &&
           floor_all(state, floor_release_all);
}

static bool measure_holdfast(struct state *state, struct use *ret_use)
{
    return locks_acquire_all(&state->locks, state->owner) &&
           measure(state, hold_by_holdfast, ret_use) &&
           locks_release_all(&state->locks, state->owner);
}

static bool set_up(const struct bench_context *context, struct state *state)
{
    hf_error err;

    state->leases = context->quick ? LEASES_QUICK : LEASES;
    state->periods = context->quick ? PERIODS_QUICK : PERIODS;
    state->floor_locks = floor_locks_new(NAME "-floor", state->leases);
    if (state->floor_locks == NULL ||
        !floor_open(&context->address, &state->floor)) {
        return false;
    }
    state->client = bench_open_client(context);
    if (state->client == NULL) {
        return false;
    }
    if (hf_owner_new(state->client, &state->owner, &err) != HF_OK) {
        return bench_hf_failed("renew", &err);
    }
    return locks_new(state->client, NAME, state->leases, &state->locks);
}

static void tear_down(struct state *state)
{
    locks_free(&state->locks);
    (void)hf_owner_free(state->owner);
    (void)hf_client_close(state->client);
    floor_close(&state->floor);
    free(state->floor_locks);
}

static void report(struct state *state, const struct use *floor,
                   const struct use *holdfast, struct bench_result *result)
{
    hf_stats stats = HF_STATS_INIT;
    int64_t window_s = (int64_t)state->periods * PERIOD_S;

    result->has_floor = true;
    result->floor = floor->client_percent;
    result->holdfast = holdfast->client_percent;
    bench_extra(result, "floor_server_percent", floor->server_percent);
    bench_extra(result, "server_percent", holdfast->server_percent);
    bench_extra(result, "leases", (double)state->leases);
    bench_extra(result, "window_s", (double)window_s);
    if (hf_client_stats(state->client, &stats) == HF_OK) {
        bench_extra(result, "renewal_scripts", (double)stats.renewals_sent);
    }
}

static bool run(const struct bench_context *context,
                const struct bench_case *self, struct bench_result *ret_result)
{
    struct state state = {0};
    struct use floor;
    struct use holdfast;
    bool ok = set_up(context, &state) && measure_floor(&state, &floor) &&
              measure_holdfast(&state, &holdfast);

    (void)self;
    if (ok) {
        report(&state, &floor, &holdfast, ret_result);
    }
    tear_down(&state);
    return ok;
}

const struct bench_case bench_renew = {
    .name = "renew",
    .unit = "% of a core",
    .better = BENCH_LOWER,
    .threads = 1,
    .run = run,
};
