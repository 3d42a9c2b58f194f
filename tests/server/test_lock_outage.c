/* SPDX-License-Identifier: MIT */
/* test_lock_outage.c - a server that goes away, comes back, forgets, or refuses
 * service for a while.
 *
 * Rows: IS-03, IS-13, LK-04, PL-55, PL-61, PL-64, 15.4, 15.11, T18, and the
 * scripts' cache (NOSCRIPT, IS-02 on one server).
 */
#include "world.h"

#include <stdio.h>
#include <string.h>

#include "support/crew.h"

#define NAME "outage"

/* ---- the scripts' cache -------------------------------------------------- */

enum { FLUSH_WORKERS = 4, FLUSH_ROUNDS = 150 };

static void work_on_own_name(struct hft_member *me)
{
    hf_lock *const *locks = me->context;
    hf_lock *lock = locks[me->index];
    int round;

    for (round = 0; round < FLUSH_ROUNDS; round++) {
        if (!HFT_CHECK(me, try_once(lock, NULL) == HF_OK) ||
            !HFT_CHECK(me, try_once(lock, NULL) == HF_OK) ||
            !HFT_CHECK(me, hf_lock_hold_count(lock, NULL) == 2) ||
            !HFT_CHECK(me, hf_lock_release(lock, NULL, NULL) == HF_OK) ||
            !HFT_CHECK(me, hf_lock_release(lock, NULL, NULL) == HF_OK)) {
            return;
        }
    }
}

/* A SCRIPT FLUSH in mid-work is unnoticed, by renewals too. */
static void a_script_flush_in_mid_work_is_unnoticed(void **world)
{
    struct world *w = *world;
    hf_lock *locks[FLUSH_WORKERS];
    hf_lock *renewed = a_lock(w, NAME);
    struct told told = {0};
    hf_acquire how = once(NULL, 600);
    struct hft_crew *crew;
    char name[32];
    int i;

    how.on_lost = record_lost;
    how.context = &told;
    assert_ok(take(renewed, NULL, &how));
    for (i = 0; i < FLUSH_WORKERS; i++) {
        (void)snprintf(name, sizeof(name), "flush:%d", i);
        locks[i] = a_lock(w, name);
    }
    crew = hft_crew_start(FLUSH_WORKERS, work_on_own_name, locks);
    while (!hft_crew_wait_ended(crew, FLUSH_WORKERS, 1)) {
        (void)hft_int(w->server, "SCRIPT FLUSH");
    }
    assert_null(hft_crew_join(crew, 60000));
    hft_crew_free(crew);
    for (i = 0; i < 8; i++) {
        (void)hft_int(w->server, "SCRIPT FLUSH");
        hft_let_pass_ms(100);
    }
    assert_true(hf_lock_is_held(renewed, NULL));
    assert_int_equal(told_so_far(&told).losses, 0);
    assert_ok(leave(renewed, NULL));
    assert_int_equal(hft_int(w->server, "DBSIZE"), 0);
}

/* ---- links that break ---------------------------------------------------- */

/* 15.4, IS-13: all command links are killed every 100 ms for 3 s; the holder
 * keeps it all along, and the waiter gets it after the release. */
static void killed_links_cost_neither_the_hold_nor_the_wait(void **world)
{
    struct world *w = *world;
    struct told told = {0};
    hf_lock *lock = a_lock(w, NAME);
    struct caller waiter = {.hold_ms = 0};
    hf_acquire how = once(NULL, 0);
    int64_t lowest_ms = W_MS;
    int64_t released_ms;
    int i;

    how.on_lost = record_lost;
    how.context = &told;
    assert_ok(take(lock, NULL, &how));
    caller_start(&waiter, a_lock_of(w, a_client(w), NAME), HF_WAIT_FOREVER);
    for (i = 0; i < 30; i++) {
        int64_t ttl_ms = wire_ttl(w, NAME);

        (void)hft_kill_links(w->server, "normal");
        if (ttl_ms < lowest_ms) {
            lowest_ms = ttl_ms;
        }
        assert_true(hf_lock_is_held(lock, NULL));
        hft_let_pass_ms(100);
    }
    assert_between(lowest_ms, W_MS / 3 - 100, W_MS);
    assert_int_equal(told_so_far(&told).losses, 0);
    assert_true(stats_of(w->client).reconnects > 0);
    released_ms = hft_now_ms();
    assert_ok(leave(lock, NULL));
    caller_join(&waiter);
    assert_status(HF_OK, waiter.status);
    assert_between(waiter.ended_ms - released_ms, -5, 2000 + SLACK_MS);
    assert_status(HF_OK, waiter.release_status);
}

/* Threads at work while all links are killed: each call ends as it may, and
 * what is said to be held is held. */
static void work_while_links_die(struct hft_member *me)
{
    hf_lock *const *locks = me->context;
    hf_lock *lock = locks[me->index];

    while (!hft_member_should_stop(me)) {
        hf_status status = wait_up_to(lock, NULL, 10000);

        if (status != HF_OK) {
            HFT_CHECK(me, status == HF_UNKNOWN || status == HF_UNREACHABLE);
            continue;
        }
        HFT_CHECK(me, hf_lock_is_held(lock, NULL));
        status = hf_lock_release(lock, NULL, NULL);
        HFT_CHECK(me, status == HF_OK || status == HF_UNKNOWN);
        me->result++;
    }
}

enum { WORKERS_MAX = 48 };

static void kill_links_of(struct world *w, unsigned workers, unsigned names)
{
    hf_lock *locks[WORKERS_MAX];
    struct hft_crew *crew;
    char name[32];
    unsigned i;

    for (i = 0; i < workers; i++) {
        (void)snprintf(name, sizeof(name), "links:%u", i % names);
        locks[i] = a_lock(w, name);
    }
    crew = hft_crew_start(workers, work_while_links_die, locks);
    for (i = 0; i < 40; i++) {
        (void)hft_kill_links(w->server, i % 2 == 0 ? "normal" : "pubsub");
        hft_let_pass_ms(25);
    }
    hft_let_pass_ms(200);
    hft_crew_stop(crew);
    assert_null(hft_crew_join(crew, 30000));
    for (i = 0; i < workers; i++) {
        assert_true(hft_crew_result(crew, i) > 5);
    }
    hft_crew_free(crew);
    assert_true(endings_become(w->client, 0, BOUND_MS));
    assert_true(hft_wait_int(w->server, 0, BOUND_MS, "DBSIZE"));
}

static void work_goes_on_while_links_are_killed(void **world)
{
    kill_links_of(*world, 4, 2);
}

/* So many that some write as guests of the driver, who tears the link down. */
static void a_crowds_work_goes_on_while_links_are_killed(void **world)
{
    kill_links_of(*world, WORKERS_MAX, WORKERS_MAX);
}

/* ---- a server that is away ----------------------------------------------- */

/* LK-04, PL-61: an error in time, neither a hang nor "busy". */
static void without_a_server_a_try_says_unreachable(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    int64_t began_ms;

    hft_server_stop(w->server);
    hft_let_pass_ms(300);
    began_ms = hft_now_ms();
    assert_status(HF_UNREACHABLE, try_once(lock, NULL));
    assert_non_null(strstr(problem.message, NAME));
    assert_string_equal(problem.node, hf_client_server(w->client));
    assert_status(HF_UNREACHABLE, wait_up_to(lock, NULL, 700));
    assert_between(hft_now_ms() - began_ms, 0, 2000 + 700 + SLACK_MS);
    assert_int_equal(hf_status_class(HF_UNREACHABLE), HF_CLASS_RETRY);
    hft_server_start_again(w->server);
    assert_ok(wait_up_to(lock, NULL, BOUND_MS));
    assert_ok(leave(lock, NULL));
}

/* A wait outlives an outage. */
static void a_wait_outlives_a_server_that_is_away(void **world)
{
    struct world *w = *world;
    struct caller waiter = {.hold_ms = 0};

    hft_server_stop(w->server);
    caller_start(&waiter, a_lock(w, NAME), HF_WAIT_FOREVER);
    assert_true(waiters_become(w->client, 1, BOUND_MS));
    hft_let_pass_ms(500);
    assert_int_equal(stats_of(w->client).waiters, 1);
    hft_server_start_again(w->server);
    caller_join(&waiter);
    assert_status(HF_OK, waiter.status);
    assert_status(HF_OK, waiter.release_status);
}

/* PL-64, T18: holder and waiter see the server restarted with its data. */
static void a_restart_with_data_keeps_the_hold_and_the_wait(void **world)
{
    struct world *w = *world;
    struct told told = {0};
    hf_lock *lock = a_lock(w, NAME);
    struct caller waiter = {.hold_ms = 0};
    hf_acquire how = once(NULL, 6000);
    int64_t released_ms;

    how.on_lost = record_lost;
    how.context = &told;
    assert_ok(take(lock, NULL, &how));
    caller_start(&waiter, a_lock_of(w, a_client(w), NAME), HF_WAIT_FOREVER);
    assert_true(hft_wait_channels(w->server, 1, BOUND_MS));
    hft_server_restart(w->server, HFT_KEEP_DATA);
    assert_true(hf_lock_is_held(lock, NULL));
    assert_true(hft_wait_channels(w->server, 1, BOUND_MS));
    hft_let_pass_ms(2500); /* a renewal has been due */
    assert_true(hf_lock_is_held(lock, NULL));
    assert_int_equal(told_so_far(&told).losses, 0);
    released_ms = hft_now_ms();
    assert_ok(leave(lock, NULL));
    caller_join(&waiter);
    assert_status(HF_OK, waiter.status);
    assert_between(waiter.ended_ms - released_ms, -5, 500 + SLACK_MS);
}

/* Without its data: the holder is told, the waiter gets it. */
static void a_restart_without_data_is_told_and_ends_the_wait(void **world)
{
    struct world *w = *world;
    struct told told = {0};
    hf_lock *lock = a_lock(w, NAME);
    struct caller waiter = {.hold_ms = 0};
    hf_acquire how = once(NULL, 3000);

    how.on_lost = record_lost;
    how.context = &told;
    assert_ok(take(lock, NULL, &how));
    caller_start(&waiter, a_lock_of(w, a_client(w), NAME), HF_WAIT_FOREVER);
    assert_true(hft_wait_channels(w->server, 1, BOUND_MS));
    hft_server_restart(w->server, HFT_LOSE_DATA);
    caller_join(&waiter);
    assert_status(HF_OK, waiter.status);
    assert_true(loss_is_told(&told, 1000 + 1000 + SLACK_MS));
    assert_status(HF_LOST, leave(lock, NULL));
}

/* ---- a server that refuses service --------------------------------------- */

/* IS-03: READONLY; a wait lasts until it ends, a try says so. */
static void a_replica_refuses_until_it_is_a_master_again(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    struct caller waiter = {.hold_ms = 0};

    (void)hft_int(w->server, "REPLICAOF 127.0.0.1 1");
    assert_status(HF_UNAVAILABLE, try_once(lock, NULL));
    assert_non_null(strstr(problem.message, "READONLY"));
    assert_status(HF_UNAVAILABLE, wait_up_to(lock, NULL, 300));
    caller_start(&waiter, lock, BOUND_MS);
    assert_true(waiters_become(w->client, 1, BOUND_MS));
    hft_let_pass_ms(200);
    (void)hft_int(w->server, "REPLICAOF NO ONE");
    caller_join(&waiter);
    assert_status(HF_OK, waiter.status);
    assert_status(HF_OK, waiter.release_status);
}

/* OOM: nothing is taken, and nothing stays that has no TTL (T48). */
static void a_full_server_refuses_and_nothing_is_held(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    struct caller waiter = {.hold_ms = 0};

    (void)hft_int(w->server, "CONFIG SET maxmemory 1");
    assert_status(HF_UNAVAILABLE, try_once(lock, NULL));
    assert_non_null(strstr(problem.message, "OOM"));
    assert_int_equal(hft_int(w->server, "DBSIZE"), 0);
    caller_start(&waiter, lock, BOUND_MS);
    assert_true(waiters_become(w->client, 1, BOUND_MS));
    hft_let_pass_ms(200);
    (void)hft_int(w->server, "CONFIG SET maxmemory 0");
    caller_join(&waiter);
    assert_status(HF_OK, waiter.status);
    assert_status(HF_OK, waiter.release_status);
}

/* LATE-COPIES: that the count cannot be written stops nothing.
 * spec: rlock/keep-3 */
static void a_full_server_still_renews_enters_and_releases(void **world)
{
    struct world *w = *world;
    struct told told = {0};
    hf_lock *lock = a_lock(w, NAME);
    hf_acquire how = once(NULL, 0);

    how.on_lost = record_lost;
    how.context = &told;
    assert_ok(take(lock, NULL, &how));
    (void)hft_int(w->server, "CONFIG SET maxmemory 1");
    assert_ok(try_once(lock, NULL));
    assert_int_equal(hf_lock_hold_count(lock, NULL), 2);
    hft_let_pass_ms(2 * W_MS);
    assert_true(hf_lock_is_held(lock, NULL));
    assert_int_equal(told_so_far(&told).losses, 0);
    assert_ok(leave(lock, NULL));
    assert_ok(leave(lock, NULL));
    assert_int_equal(wire_ttl(w, NAME), -2);
    (void)hft_int(w->server, "CONFIG SET maxmemory 0");
}

/* A paused server (CLIENT PAUSE WRITE stalls scripts): nothing is decided
 * before it answers, and no second copy counts. */
static void a_pause_of_the_server_counts_nothing_twice(void **world)
{
    struct world *w = *world;
    hf_options options = short_options();
    hf_owner *owner;
    hf_client *client;
    hf_lock *lock;

    options.response_limit_ms = 200;
    client = a_client_at(w, hft_server_url(w->server), &options);
    lock = a_lock_of(w, client, NAME);
    owner = an_owner_of(w, client);
    assert_ok(try_fixed(lock, owner, 60000));
    assert_ok(leave(lock, owner));
    (void)hft_int(w->server, "CLIENT PAUSE 1000 WRITE");
    assert_ok(wait_up_to(lock, owner, BOUND_MS)); /* several copies of it */
    hft_let_pass_ms(300);
    assert_int_equal(wire_count(w, NAME), 1);
    assert_int_equal(hf_lock_hold_count(lock, owner), 1);
    assert_ok(leave(lock, owner));
    assert_true(endings_become(client, 0, BOUND_MS));
    assert_int_equal(wire_ttl(w, NAME), -2);
}

/* ---- while it loads its data ---- */

/* It loads what it has just saved, a little of it at a time. */
static void *load_slowly(void *server)
{
    (void)hft_str(server, "DEBUG RELOAD");
    return NULL;
}

/* Until then it is busy: a stranger holds it, and only a first acquisition is
 * told at once that the server loads. */
static bool loading_has_begun(void *probe)
{
    return try_once(probe, NULL) == HF_UNAVAILABLE &&
           strstr(problem.message, "LOADING") != NULL;
}

/* A real server that loads a large file answers LOADING: a try is told so, and
 * a wait goes on until the server is there. */
static void a_server_that_loads_its_data_is_waited_for(void **world)
{
    enum { KEYS = 1000, EACH_US = 1500 };
    struct world *w = *world;
    hf_options options = short_options();
    hf_client *hasty;
    hf_lock *other = a_lock(w, "outage:other");
    hf_lock *probe;
    int64_t began_ms;
    pthread_t loader;

    if (strstr(hft_str(w->server,
                       "CONFIG SET loading-process-events-interval-bytes 2048"),
               "ERR") != NULL) {
        skip(); /* before 7.0 a server answers nothing for the first 2 MB */
    }
    options.connect_limit_ms = 200; /* a refusal is tried again so long */
    hasty = a_client_at(w, hft_server_url(w->server), &options);
    probe = a_lock_of(w, hasty, "outage:probe");
    stranger_takes(w, "outage:probe", 600000);
    (void)hft_int(w->server, "EVAL %s 0",
                  "for i = 1, 1000 do redis.call('set', 'load:' .. i, "
                  "string.rep('l', 2000)) end return 1");
    (void)hft_str(w->server, "CONFIG SET key-load-delay %d", EACH_US);
    began_ms = hft_now_ms();
    assert_int_equal(pthread_create(&loader, NULL, load_slowly, w->server), 0);
    assert_true(hft_wait_until(loading_has_begun, probe, BOUND_MS));
    assert_status(HF_UNAVAILABLE, try_once(a_lock_of(w, hasty, NAME), NULL));
    assert_non_null(strstr(problem.message, "LOADING"));
    assert_ok(wait_up_to(other, NULL, 3 * BOUND_MS));
    assert_between(hft_now_ms() - began_ms, KEYS * EACH_US / 1000 / 2,
                   3 * BOUND_MS);
    assert_int_equal(pthread_join(loader, NULL), 0);
    (void)hft_str(w->server, "CONFIG SET key-load-delay 0");
    (void)hft_int(w->server, "EVAL %s 0",
                  "for i = 1, 1000 do redis.call('del', 'load:' .. i) end "
                  "return 1");
    stranger_releases(w, "outage:probe");
    assert_ok(leave(other, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        world_test(a_script_flush_in_mid_work_is_unnoticed),
        world_test(killed_links_cost_neither_the_hold_nor_the_wait),
        world_test(work_goes_on_while_links_are_killed),
        world_test(a_crowds_work_goes_on_while_links_are_killed),
        world_test(without_a_server_a_try_says_unreachable),
        world_test(a_wait_outlives_a_server_that_is_away),
        world_test(a_restart_with_data_keeps_the_hold_and_the_wait),
        world_test(a_restart_without_data_is_told_and_ends_the_wait),
        world_test(a_replica_refuses_until_it_is_a_master_again),
        world_test(a_full_server_refuses_and_nothing_is_held),
        world_test(a_full_server_still_renews_enters_and_releases),
        world_test(a_pause_of_the_server_counts_nothing_twice),
        world_test(a_server_that_loads_its_data_is_waited_for),
    };

    return cmocka_run_group_tests_name("lock_outage", tests, world_up,
                                       world_down);
}
