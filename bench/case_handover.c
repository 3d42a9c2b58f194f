/* SPDX-License-Identifier: MIT */
/* case_handover.c - two processes pass one lock to and fro: how long from the
 * start of a release in one until the other runs as the next holder?
 *
 * Floor: the release script, whose PUBLISH wakes a blocking reader in the other
 * process, which runs the acquire script.  That is the shortest way there is
 * through a server that nobody watches by spinning.
 *
 * The case of the fair lock has the plain lock's hand-over as its floor: that is
 * what fairness costs.
 *
 * The child is forked before the parent opens a client, and both play the same
 * rounds: hand-over number k is given by player k % 2 and taken by the other.
 * The taker says on the table (shared memory) when it is about to wait; the
 * giver gives it SETTLE_NS to be asleep, notes the time and releases; the taker
 * notes the time as soon as it holds.  All clocks are CLOCK_MONOTONIC, which
 * the processes of one machine share.
 */
#include "bench/bench.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/clocks.h"
#include "bench/floor.h"
#include "bench/rounds.h"
#include "bench/statistics.h"

/* Even, so that the first player holds again after a round. */
#define HANDOVERS 300
#define HANDOVERS_QUICK 60
#define NAME "holdfast-bench:handover"

/* Ten times what a subscription and an attempt take: the taker sleeps. */
#define SETTLE_NS 2000000
/* How often a player looks at the table. */
#define LOOK_NS 50000
/* A partner that is silent for so long is gone. */
#define PATIENCE_MS 10000

enum { FLOOR, HOLDFAST, SIDES };

/* What the two processes share. */
struct table {
    _Atomic uint64_t dealt;      /* rounds that began with the first holder */
    _Atomic uint64_t asking;     /* hand-overs that were asked for so far */
    _Atomic uint64_t settled;    /* and those that the taker has taken */
    _Atomic int64_t released_ns; /* when the last release began */
    atomic_bool failed;
    double handover_us[HANDOVERS];
};

struct player {
    unsigned number; /* 0: the parent */
    struct table *table;
    size_t handovers;
    uint64_t rounds; /* begun so far */
    uint64_t played; /* hand-overs before this round */
    struct floor floor;
    struct floor hearing; /* the connection that is subscribed */
    struct floor_lock *floor_lock;
    hf_client *client;
    hf_lock *lock; /* whose turn it is */
    hf_lock *plain;
    hf_lock *fair;
};

/* How one side does its part. */
struct moves {
    bool (*prepare)(struct player *player); /* before asking */
    bool (*take)(struct player *player);
    bool (*give)(struct player *player);
    bool (*finish)(struct player *player); /* after taking, untimed */
};

static bool stop_playing(struct player *player)
{
    atomic_store(&player->table->failed, true);
    return false;
}

/* Wait until the counter has reached that number. */
static bool await_count(struct player *player, const _Atomic uint64_t *counter,
                        uint64_t count)
{
    int64_t limit_ns = clock_now_ns() + PATIENCE_MS * INT64_C(1000000);

    while (atomic_load(counter) < count) {
        int64_t now_ns = clock_now_ns();

        if (atomic_load(&player->table->failed) || bench_interrupted()) {
            return false;
        }
        if (now_ns > limit_ns) {
            return bench_failed("handover", "the other process is silent");
        }
        clock_wait_until_ns(now_ns + LOOK_NS);
    }
    return true;
}

/* ---- the floor ---- */

static bool floor_prepare(struct player *player)
{
    return floor_subscribe(&player->hearing, player->floor_lock);
}

static bool floor_take(struct player *player)
{
    return floor_await_message(&player->hearing) &&
           floor_acquire(&player->floor, player->floor_lock);
}

static bool floor_give(struct player *player)
{
    return floor_release(&player->floor, player->floor_lock);
}

static bool floor_finish(struct player *player)
{
    return floor_unsubscribe(&player->hearing, player->floor_lock);
}

/* ---- holdfast ---- */

static bool do_nothing(struct player *player)
{
    (void)player;
    return true;
}

static bool holdfast_take(struct player *player)
{
    hf_acquire how = HF_ACQUIRE_INIT;
    hf_error err;

    how.wait_ms = PATIENCE_MS;
    return hf_lock_acquire(player->lock, &how, &err) == HF_OK ||
           bench_hf_failed("handover", &err);
}

static bool holdfast_give(struct player *player)
{
    hf_error err;

    return hf_lock_release(player->lock, NULL, &err) == HF_OK ||
           bench_hf_failed("handover", &err);
}

/* ---- the game ---- */

static bool play_giver(struct player *player, const struct moves *moves,
                       uint64_t number)
{
    struct table *table = player->table;

    if (!await_count(player, &table->asking, number + 1)) {
        return false;
    }
    clock_wait_until_ns(clock_now_ns() + SETTLE_NS);
    atomic_store(&table->released_ns, clock_now_ns());
    return moves->give(player) &&
           await_count(player, &table->settled, number + 1);
}

static bool play_taker(struct player *player, const struct moves *moves,
                       uint64_t number, double *ret_us)
{
    struct table *table = player->table;
    int64_t taken_ns;

    if (!moves->prepare(player)) {
        return false;
    }
    atomic_store(&table->asking, number + 1);
    if (!moves->take(player)) {
        return false;
    }
    taken_ns = clock_now_ns();
    *ret_us = (double)(taken_ns - atomic_load(&table->released_ns)) / 1e3;
    if (!moves->finish(player)) {
        return false;
    }
    atomic_store(&table->settled, number + 1);
    return true;
}

/* The first player takes the lock alone, which is not counted; the other must
 * not listen before that, or it would hear the end of the round before. */
static bool deal(struct player *player, bool (*take_first)(struct player *))
{
    player->rounds++;
    if (player->number != 0) {
        return await_count(player, &player->table->dealt, player->rounds);
    }
    if (!take_first(player)) {
        return false;
    }
    atomic_store(&player->table->dealt, player->rounds);
    return true;
}

/* One round: it begins and ends with nobody holding. */
static bool play(struct player *player, const struct moves *moves,
                 bool (*take_first)(struct player *), struct sample *ret_sample)
{
    struct table *table = player->table;
    bool ok = deal(player, take_first);

    for (size_t i = 0; ok && i < player->handovers; i++) {
        uint64_t number = player->played + i;

        ok = player->number == i % 2
                 ? play_giver(player, moves, number)
                 : play_taker(player, moves, number, &table->handover_us[i]);
    }
    player->played += player->handovers;
    if (!ok || (player->number == 0 && !moves->give(player))) {
        return stop_playing(player);
    }
    if (player->number == 0) {
        ret_sample->value = median(table->handover_us, player->handovers);
        ret_sample->p99 = percentile(table->handover_us, player->handovers, 99);
    }
    return true;
}

static bool floor_take_first(struct player *player)
{
    return floor_acquire(&player->floor, player->floor_lock);
}

static bool measure_floor(void *player, struct sample *ret_sample)
{
    static const struct moves moves = {floor_prepare, floor_take, floor_give,
                                       floor_finish};

    return play(player, &moves, floor_take_first, ret_sample);
}

static bool measure_lock(struct player *player, hf_lock *lock,
                         struct sample *ret_sample)
{
    static const struct moves moves = {do_nothing, holdfast_take, holdfast_give,
                                       do_nothing};

    player->lock = lock;
    return play(player, &moves, holdfast_take, ret_sample);
}

static bool measure_plain(void *context, struct sample *ret_sample)
{
    struct player *player = context;

    return measure_lock(player, player->plain, ret_sample);
}

static bool measure_fair(void *context, struct sample *ret_sample)
{
    struct player *player = context;

    return measure_lock(player, player->fair, ret_sample);
}

/* ---- the processes ---- */

static bool set_up(const struct bench_context *context, struct player *player)
{
    hf_error err;

    player->handovers = context->quick ? HANDOVERS_QUICK : HANDOVERS;
    player->floor_lock = floor_locks_new(NAME "-floor", 1);
    if (player->floor_lock == NULL ||
        !floor_open(&context->address, &player->floor) ||
        !floor_open(&context->address, &player->hearing)) {
        return false;
    }
    player->client = bench_open_client(context);
    if (player->client == NULL) {
        return false;
    }
    return (hf_lock_new(player->client, NAME, &player->plain, &err) == HF_OK &&
            hf_fair_lock_new(player->client, NAME "-fair", &player->fair,
                             &err) == HF_OK) ||
           bench_hf_failed("handover", &err);
}

static void tear_down(struct player *player)
{
    (void)hf_lock_free(player->plain);
    (void)hf_lock_free(player->fair);
    (void)hf_client_close(player->client);
    floor_close(&player->floor);
    floor_close(&player->hearing);
    free(player->floor_lock);
}

static bool play_all(const struct bench_context *context, struct player *player,
                     struct side *sides)
{
    bool ok = set_up(context, player) &&
              rounds_run(sides, SIDES, context->rounds, player);

    if (!ok) {
        (void)stop_playing(player);
    }
    tear_down(player);
    return ok;
}

static bool play_with_child(const struct bench_context *context,
                            struct table *table, struct side *sides)
{
    struct player player = {.table = table};
    pid_t parent = getpid();
    pid_t child = fork();
    int status = 0;
    bool ok;

    if (child < 0) {
        return bench_failed("handover", "fork failed");
    }
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        player.number = 1;
        ok = getppid() == parent && play_all(context, &player, sides);
        _exit(ok ? 0 : 1);
    }
    ok = play_all(context, &player, sides);
    (void)waitpid(child, &status, 0);
    return ok && status == 0;
}

static bool run_sides(const struct bench_context *context, struct side *sides,
                      struct bench_result *ret_result)
{
    struct table *table = mmap(NULL, sizeof(*table), PROT_READ | PROT_WRITE,
                               MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    bool ok;

    if (table == MAP_FAILED) {
        return bench_failed("handover", "out of memory");
    }
    ok = play_with_child(context, table, sides);
    if (ok) {
        ret_result->has_floor = true;
        ret_result->floor = sides[FLOOR].middle.value;
        ret_result->holdfast = sides[HOLDFAST].middle.value;
        bench_extra(ret_result, "floor_p99_us", sides[FLOOR].middle.p99);
        bench_extra(ret_result, "p99_us", sides[HOLDFAST].middle.p99);
    }
    (void)munmap(table, sizeof(*table));
    return ok;
}

static bool run(const struct bench_context *context,
                const struct bench_case *self, struct bench_result *ret_result)
{
    struct side sides[SIDES] = {[FLOOR] = {.measure = measure_floor},
                                [HOLDFAST] = {.measure = measure_plain}};

    (void)self;
    return run_sides(context, sides, ret_result);
}

static bool run_fair(const struct bench_context *context,
                     const struct bench_case *self,
                     struct bench_result *ret_result)
{
    struct side sides[SIDES] = {[FLOOR] = {.measure = measure_plain},
                                [HOLDFAST] = {.measure = measure_fair}};

    (void)self;
    return run_sides(context, sides, ret_result);
}

const struct bench_case bench_handover = {
    .name = "handover",
    .unit = "us",
    .better = BENCH_LOWER,
    .threads = 1,
    .run = run,
};

const struct bench_case bench_fair_handover = {
    .name = "fair-handover",
    .unit = "us",
    .better = BENCH_LOWER,
    .threads = 1,
    .run = run_fair,
};
