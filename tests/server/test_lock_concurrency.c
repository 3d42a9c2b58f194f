/* SPDX-License-Identifier: MIT */
/* test_lock_concurrency.c - many at once, and nobody inside together.
 *
 * A counter that is read, changed and written back by separate steps loses an
 * update whenever two are inside, and the number of those inside is watched as
 * well.  Rows: LK-22 (16 x 1,000), LK-23, LK-24 (16 x 10), LK-25 (40 clients),
 * LK-35, PL-31 (as clients; processes are in test_lock_process.c), PL-41,
 * PL-51, PL-68, PL-70, T3 (races of release and renewal), T62 (20,000 names
 * instead of ten million; the benchmark takes a million).
 */
#include "world.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/crew.h"

#define NAME "crowd"
#define MANY_CLIENTS 40

/* What a crew works on.  `counter` is a plain number on purpose. */
struct work {
    struct world *w;
    hf_lock *locks[MANY_CLIENTS];
    unsigned locks_used;
    int rounds;
    int64_t hold_ms;
    volatile long counter;
    atomic_int inside;
    atomic_int most_inside;
};

static void enter(struct work *work)
{
    int inside = atomic_fetch_add(&work->inside, 1) + 1;

    if (inside > atomic_load(&work->most_inside)) {
        atomic_store(&work->most_inside, inside);
    }
}

static void change_the_counter(struct work *work)
{
    long seen;

    enter(work);
    seen = work->counter;
    if (work->hold_ms > 0) {
        hft_let_pass_ms(work->hold_ms);
    }
    work->counter = seen + 1;
    (void)atomic_fetch_sub(&work->inside, 1);
}

/* Wait, count, release; so often. */
static void count_in_turns(struct hft_member *me)
{
    struct work *work = me->context;
    hf_lock *lock = work->locks[me->index % work->locks_used];
    int round;

    for (round = 0; round < work->rounds; round++) {
        if (!HFT_CHECK(me, hf_lock_acquire(lock, NULL, NULL) == HF_OK)) {
            return;
        }
        change_the_counter(work);
        if (!HFT_CHECK(me, hf_lock_release(lock, NULL, NULL) == HF_OK)) {
            return;
        }
    }
}

static void assert_nobody_was_inside_together(struct work *work, long expected)
{
    assert_int_equal(work->counter, expected);
    assert_int_equal(atomic_load(&work->most_inside), 1);
    assert_int_equal(hft_int(work->w->server, "DBSIZE"), 0);
}

static void run_crew(struct work *work, unsigned members, hft_work *what)
{
    struct hft_crew *crew = hft_crew_start(members, what, work);
    const char *wrong = hft_crew_join(crew, 120000);

    if (wrong != NULL) {
        print_error("%s\n", wrong);
    }
    assert_null(wrong);
    hft_crew_free(crew);
}

/* LK-23, PL-68: fifteen threads on one object. */
static void fifteen_threads_of_one_client_take_turns(void **world)
{
    struct work work = {.w = *world, .locks_used = 1, .rounds = 40};

    work.locks[0] = a_lock(*world, NAME);
    run_crew(&work, 15, count_in_turns);
    assert_nobody_was_inside_together(&work, 15L * 40);
}

/* LK-24: sixteen clients, each holds for 10 ms; the hand-over costs far less
 * than 100 ms. */
static void sixteen_clients_hand_over_without_delay(void **world)
{
    enum { CLIENTS = 16, ROUNDS = 10, HOLD_MS = 10 };
    struct world *w = *world;
    struct work work = {
        .w = w, .locks_used = CLIENTS, .rounds = ROUNDS, .hold_ms = HOLD_MS};
    int64_t began_ms;
    int i;

    for (i = 0; i < CLIENTS; i++) {
        work.locks[i] = a_lock_of(w, a_client(w), NAME);
    }
    began_ms = hft_now_ms();
    run_crew(&work, CLIENTS, count_in_turns);
    assert_nobody_was_inside_together(&work, (long)CLIENTS * ROUNDS);
    assert_between(hft_now_ms() - began_ms, CLIENTS * ROUNDS * HOLD_MS,
                   CLIENTS * ROUNDS * (HOLD_MS + 90));
}

/* LK-25, PL-41. */
static void forty_clients_take_it_once_each(void **world)
{
    struct world *w = *world;
    struct work work = {.w = w, .locks_used = MANY_CLIENTS, .rounds = 1};
    int i;

    for (i = 0; i < MANY_CLIENTS; i++) {
        work.locks[i] = a_lock_of(w, a_client(w), NAME);
    }
    run_crew(&work, MANY_CLIENTS, count_in_turns);
    assert_nobody_was_inside_together(&work, MANY_CLIENTS);
}

/* PL-31: a counter on the server, read and written in two commands. */
static void count_on_the_server(struct hft_member *me)
{
    struct work *work = me->context;
    hf_lock *lock = work->locks[me->index % work->locks_used];
    int round;

    for (round = 0; round < work->rounds; round++) {
        int64_t seen;

        if (!HFT_CHECK(me, hf_lock_acquire(lock, NULL, NULL) == HF_OK)) {
            return;
        }
        seen = hft_int(work->w->server, "INCRBY counter 0") + 1;
        (void)hft_int(work->w->server, "SET counter %lld", (long long)seen);
        if (!HFT_CHECK(me, hf_lock_release(lock, NULL, NULL) == HF_OK)) {
            return;
        }
    }
}

static void a_counter_on_the_server_loses_no_update(void **world)
{
    enum { CLIENTS = 4, THREADS = 8, ROUNDS = 100 };
    struct world *w = *world;
    struct work work = {.w = w, .locks_used = CLIENTS, .rounds = ROUNDS};
    int i;

    for (i = 0; i < CLIENTS; i++) {
        work.locks[i] = a_lock_of(w, a_client(w), NAME);
    }
    run_crew(&work, THREADS, count_on_the_server);
    assert_int_equal(hft_int(w->server, "GET counter"), THREADS * ROUNDS);
}

/* LK-22, PL-51: tries only; and whoever holds finds itself among the holds. */
static void try_and_release(struct hft_member *me)
{
    struct work *work = me->context;
    hf_lock *lock = work->locks[me->index % work->locks_used];
    int round;

    for (round = 0; round < work->rounds; round++) {
        hf_status status = try_once(lock, NULL);

        if (status == HF_BUSY) {
            continue;
        }
        if (!HFT_CHECK(me, status == HF_OK)) {
            return;
        }
        change_the_counter(work);
        me->result++;
        HFT_CHECK(me, stats_of(work->w->client).holds >= 1);
        if (!HFT_CHECK(me, hf_lock_release(lock, NULL, NULL) == HF_OK)) {
            return;
        }
    }
}

static void sixteen_threads_try_and_release_without_a_gap(void **world)
{
    enum { THREADS = 16, ROUNDS = 1000 };
    struct world *w = *world;
    struct work work = {.w = w, .locks_used = 1, .rounds = ROUNDS};
    int64_t renewals;

    work.locks[0] = a_lock(w, NAME);
    run_crew(&work, THREADS, try_and_release);
    assert_int_equal(atomic_load(&work.most_inside), 1);
    assert_true(work.counter >= THREADS);
    assert_int_equal(stats_of(w->client).holds, 0);
    renewals = stats_of(w->client).renewals_sent;
    hft_let_pass_ms(W_MS); /* T3 */
    assert_int_equal(stats_of(w->client).renewals_sent, renewals);
    assert_int_equal(hft_int(w->server, "DBSIZE"), 0);
}

/* LK-35: every thread walks over all the names. */
static void walk_over_names(struct hft_member *me)
{
    struct work *work = me->context;
    char name[32];
    int i;

    for (i = 0; i < work->rounds; i++) {
        hf_lock *lock = NULL;

        (void)snprintf(name, sizeof(name), "RLOCK_%d", i);
        if (!HFT_CHECK(me, hf_lock_new(work->w->client, name, &lock, NULL) ==
                               HF_OK) ||
            !HFT_CHECK(me, hf_lock_acquire(lock, NULL, NULL) == HF_OK) ||
            !HFT_CHECK(me, hf_lock_release(lock, NULL, NULL) == HF_OK) ||
            !HFT_CHECK(me, hf_lock_free(lock) == HF_OK)) {
            return;
        }
    }
}

static void threads_that_walk_over_names_all_arrive(void **world)
{
    struct world *w = *world;
    struct work work = {.w = w, .rounds = 1000};

    run_crew(&work, 5, walk_over_names);
    assert_int_equal(hft_int(w->server, "DBSIZE"), 0);
    assert_true(hft_wait_channels(w->server, 0, BOUND_MS));
}

/* T3: releases that meet renewals, with leases so short that one is always
 * due; after each of them nothing is renewed any more. */
static void release_as_a_renewal_is_due(struct hft_member *me)
{
    struct work *work = me->context;
    hf_acquire how = once(NULL, 45); /* renewed each 15 ms */
    hf_lock *lock = NULL;
    char name[32];
    int round;

    (void)snprintf(name, sizeof(name), "race:%u", me->index);
    HFT_CHECK(me, hf_lock_new(work->w->client, name, &lock, NULL) == HF_OK);
    how.wait_ms = 5000;
    for (round = 0; round < work->rounds; round++) {
        hf_status status;

        if (!HFT_CHECK(me, hf_lock_acquire(lock, &how, NULL) == HF_OK)) {
            break;
        }
        hft_let_pass_ms(14 + round % 3);
        status = hf_lock_release(lock, NULL, NULL);
        if (!HFT_CHECK(me, status == HF_OK || status == HF_LOST)) {
            hft_member_note(me, "release says %s", hf_status_name(status));
            break;
        }
    }
    HFT_CHECK(me, hf_lock_free(lock) == HF_OK);
}

static void releases_that_meet_renewals_end_them(void **world)
{
    struct world *w = *world;
    struct work work = {.w = w, .rounds = 60};
    int64_t renewals;

    run_crew(&work, 8, release_as_a_renewal_is_due);
    assert_int_equal(stats_of(w->client).holds, 0);
    assert_true(endings_become(w->client, 0, BOUND_MS));
    renewals = stats_of(w->client).renewals_sent;
    assert_true(renewals > 0);
    hft_let_pass_ms(300);
    assert_int_equal(stats_of(w->client).renewals_sent, renewals);
    assert_true(hft_wait_int(w->server, 0, BOUND_MS, "DBSIZE"));
}

/* T62, LK-33: names taken once each leave nothing, here and there. */
static void names_taken_once_leave_nothing_behind(void **world)
{
    enum { NAMES = 20000, WARM = 1000 };
    struct world *w = *world;
    int64_t before = 0;
    char name[32];
    int i;

    for (i = 0; i < NAMES; i++) {
        hf_lock *lock = NULL;

        (void)snprintf(name, sizeof(name), "once:%d", i);
        assert_ok(hf_lock_new(w->client, name, &lock, &problem));
        assert_ok(try_once(lock, NULL));
        assert_ok(leave(lock, NULL));
        assert_ok(hf_lock_free(lock));
        if (i == WARM) {
            before = stats_of(w->client).memory_bytes;
        }
    }
    assert_between(stats_of(w->client).memory_bytes, 0, before + 4096);
    assert_int_equal(stats_of(w->client).names, 0);
    assert_int_equal(stats_of(w->client).subscriptions, 0);
    assert_int_equal(hft_int(w->server, "DBSIZE"), 0);
    assert_int_equal(hft_channels(w->server, "*"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        world_test(fifteen_threads_of_one_client_take_turns),
        world_test(sixteen_clients_hand_over_without_delay),
        world_test(forty_clients_take_it_once_each),
        world_test(a_counter_on_the_server_loses_no_update),
        world_test(sixteen_threads_try_and_release_without_a_gap),
        world_test(threads_that_walk_over_names_all_arrive),
        world_test(releases_that_meet_renewals_end_them),
        world_test(names_taken_once_leave_nothing_behind),
    };

    return cmocka_run_group_tests_name("lock_concurrency", tests, world_up,
                                       world_down);
}
