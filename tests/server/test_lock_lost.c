/* SPDX-License-Identifier: MIT */
/* test_lock_lost.c - being told, in time, that a lease is lost, and why.
 *
 * A loss counts as told in time when it is known before anybody else can have
 * the lock: the key stands on the server for a lease after the last request
 * that was answered left here.  Rows: LK-12, IS-04, IS-14, IS-17, PL-42, PL-43,
 * PL-49, PL-54 (holders), PL-56, PL-72, 15.12, 15.15, 15.16, T2, T6, T7, T8
 * (within a renewal period), T46 (close), T50, and min_hold (C2.14).
 */
#include "world.h"

#include <stdio.h>
#include <string.h>

#include "support/proxy.h"

#define NAME "lost"

/* Renewed, of the client's lease, with both callbacks. */
static hf_acquire telling(struct told *told, hf_owner *owner, int64_t lease_ms)
{
    hf_acquire how = once(owner, lease_ms);

    how.on_lost = record_lost;
    how.on_warning = record_warning;
    how.context = told;
    return how;
}

/* PL-42, PL-56, T8: deleted, flushed; told within a renewal period. */
static void a_deleted_lock_is_told_as_gone_within_a_period(void **world)
{
    static const char *const commands[] = {"DEL " NAME, "FLUSHDB", "FLUSHALL",
                                           "UNLINK " NAME};
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    size_t i;

    for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        struct told told = {0};
        hf_acquire how = telling(&told, NULL, 0);

        assert_ok(take(lock, NULL, &how));
        (void)hft_int(w->server, commands[i]);
        assert_true(loss_is_told(&told, W_MS / 3 + SLACK_MS));
        assert_int_equal(told_so_far(&told).reason, HF_LOST_GONE);
        assert_int_equal(told_so_far(&told).state, HF_STATE_LOST);
        assert_false(hf_lock_is_held(lock, NULL));
        assert_status(HF_LOST, leave(lock, NULL));
        assert_ok(try_once(lock, NULL)); /* PL-56: any time again */
        assert_ok(leave(lock, NULL));
        assert_int_equal(told_so_far(&told).losses, 1);
    }
}

/* PL-43, IS-14: taken by another; told so, and the other one left alone. */
static void a_taken_lock_is_told_as_taken_and_left_alone(void **world)
{
    struct world *w = *world;
    struct told told = {0};
    hf_lock *lock = a_lock(w, NAME);
    hf_acquire how = telling(&told, NULL, 0);
    char owner[64];
    int64_t sent;

    assert_ok(take(lock, NULL, &how));
    assert_ok(hf_lock_owner_text(lock, NULL, owner, sizeof(owner)));
    stranger_takes(w, NAME, 60000);
    assert_true(loss_is_told(&told, W_MS / 3 + SLACK_MS));
    told = told_so_far(&told);
    assert_int_equal(told.reason, HF_LOST_TAKEN);
    assert_string_equal(told.name, NAME);
    assert_int_equal(told.name_bytes, strlen(NAME));
    assert_string_equal(told.owner, owner);
    assert_ptr_equal(told.client, w->client);
    assert_int_equal(told.remaining_ms, 0);
    assert_true(endings_become(w->client, 0, BOUND_MS));
    sent = stats_of(w->client).scripts_sent;
    hft_let_pass_ms(W_MS);
    assert_int_equal(stats_of(w->client).scripts_sent, sent);
    assert_string_equal(wire_owner(w, NAME), STRANGER);
    assert_status(HF_LOST, leave(lock, NULL));
    assert_string_equal(wire_owner(w, NAME), STRANGER);
}

/* PL-43: by our own forced release, from another client. */
static void a_forced_release_is_told_to_the_holder(void **world)
{
    struct world *w = *world;
    struct told told = {0};
    hf_lock *lock = a_lock(w, NAME);
    hf_lock *theirs = a_lock_of(w, a_client(w), NAME);
    hf_acquire how = telling(&told, NULL, 0);

    assert_ok(take(lock, NULL, &how));
    assert_ok(hf_lock_force_release(theirs, NULL, &problem));
    assert_ok(try_once(theirs, NULL));
    assert_true(loss_is_told(&told, W_MS / 3 + SLACK_MS));
    assert_int_equal(told_so_far(&told).reason, HF_LOST_TAKEN);
    assert_true(hf_lock_is_held(theirs, NULL));
    assert_ok(leave(theirs, NULL));
    assert_status(HF_LOST, leave(lock, NULL));
}

/* PL-49: a fixed lease; the callback comes no later than the deadline. */
static void the_end_of_a_fixed_lease_is_told_before_it_ends_elsewhere(
    void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    int64_t least_ms = INT64_MAX;
    int i;

    for (i = 0; i < 5; i++) {
        struct told told = {0};
        hf_acquire how = telling(&told, NULL, 200);
        int64_t after_ms;
        int64_t asked_ms;
        int64_t granted_ms;

        how.renew = 0;
        asked_ms = hft_now_ms();
        assert_ok(take(lock, NULL, &how));
        granted_ms = hft_now_ms();
        assert_true(loss_is_told(&told, BOUND_MS));
        told = told_so_far(&told);
        assert_int_equal(told.reason, HF_LOST_EXPIRED);
        after_ms = told.at_ms - asked_ms;
        assert_between(after_ms, 190, 200 + SLACK_MS);
        least_ms = after_ms < least_ms ? after_ms : least_ms;
        assert_true(granted_ms <= told.at_ms);
        assert_status(HF_LOST, leave(lock, NULL));
        assert_true(wire_free_within(w, NAME, SLACK_MS));
    }
    /* A machine may be busy, but not every time. */
    assert_between(least_ms, 190, 200 + 30);
}

/* T6, T7, 15.12 (its long stall): the server stops dead.  Held, then suspect,
 * then lost, all of it known without any answer, and no later than the moment
 * the key may end on the server; and nothing comes back when it wakes up. */
static void a_stopped_server_makes_it_suspect_then_lost_in_time(void **world)
{
    struct world *w = *world;
    struct told told = {0};
    hf_lock *lock = a_lock(w, NAME);
    hf_acquire how = telling(&told, NULL, 1500);
    int64_t stopped_ms;
    int64_t held_until_ms = 0;

    assert_ok(take(lock, NULL, &how));
    stopped_ms = hft_now_ms();
    hft_server_pause(w->server);
    while (!loss_is_told(&told, 0) && hft_now_ms() < stopped_ms + 3000) {
        if (hf_lock_is_held(lock, NULL)) {
            held_until_ms = hft_now_ms();
        }
    }
    told = told_so_far(&told);
    assert_int_equal(told.losses, 1);
    assert_int_equal(told.reason, HF_LOST_UNREACHABLE);
    assert_true(told.suspect_at_ms > 0);
    assert_true(told.suspect_at_ms < told.at_ms);
    assert_between(told.at_ms - stopped_ms, 900, 1500 + SLACK_MS);
    assert_between(held_until_ms - stopped_ms, 900, 1500);
    assert_int_equal(hf_lock_state_of(lock, NULL, NULL), HF_STATE_LOST);
    hft_let_pass_ms(700);
    hft_server_resume(w->server);
    assert_true(endings_become(w->client, 0, BOUND_MS));
    hft_let_pass_ms(200);
    assert_int_equal(wire_ttl(w, NAME), -2);
    assert_status(HF_LOST, leave(lock, NULL));
    assert_ok(wait_up_to(lock, NULL, BOUND_MS)); /* and alive again */
    assert_ok(leave(lock, NULL));
}

/* A stall that is shorter than the lease: suspect, and held again. */
static void a_short_stall_makes_it_suspect_and_held_again(void **world)
{
    struct world *w = *world;
    struct told told = {0};
    hf_lock *lock = a_lock(w, NAME);
    hf_acquire how = telling(&told, NULL, 3000);
    int64_t stopped_ms;

    assert_ok(take(lock, NULL, &how));
    stopped_ms = hft_now_ms();
    hft_server_pause(w->server);
    assert_true(state_becomes(lock, NULL, HF_SUSPECT, 3000));
    assert_true(hf_lock_is_held(lock, NULL)); /* suspect is held */
    assert_true(warning_is_told(&told, SLACK_MS));
    assert_int_equal(told_so_far(&told).state, HF_SUSPECT);
    assert_int_equal(told_so_far(&told).warning_reason, HF_NOT_LOST);
    assert_between(told_so_far(&told).warning_remaining_ms, 1,
                   3000 - (hft_now_ms() - stopped_ms) + SLACK_MS);
    hft_server_resume(w->server);
    assert_true(state_becomes(lock, NULL, HF_HELD, 1000));
    hft_let_pass_ms(50);
    assert_int_equal(told_so_far(&told).state, HF_HELD);
    assert_int_equal(told_so_far(&told).warnings, 2);
    assert_int_equal(told_so_far(&told).losses, 0);
    assert_ok(leave(lock, NULL));
}

/* 15.12, IS-04: DEBUG SLEEP and a busy script, each half a lease, again and
 * again; nothing is lost. */
static void stalls_of_half_a_lease_lose_nothing(void **world)
{
    struct world *w = *world;
    struct told told = {0};
    hf_lock *lock = a_lock(w, NAME);
    hf_acquire how = telling(&told, NULL, 0);
    int i;

    assert_ok(take(lock, NULL, &how));
    for (i = 0; i < 4; i++) {
        (void)hft_int(w->server, "DEBUG SLEEP 0.4");
        assert_true(hf_lock_is_held(lock, NULL));
        hft_let_pass_ms(400);
        (void)hft_int(w->server, "EVAL %s 0",
                      "local n = 0 while n < 5000000 do n = n + 1 end "
                      "return 1");
        assert_true(hf_lock_is_held(lock, NULL));
        hft_let_pass_ms(300);
    }
    assert_int_equal(told_so_far(&told).losses, 0);
    assert_ok(leave(lock, NULL));
}

/* T2: while no renewal is answered, they go on at a tenth of the lease or
 * less, not at the next period.
 * spec: rlock/renew-2 */
static void a_failed_renewal_is_tried_again_within_a_tenth_of_the_lease(
    void **world)
{
    struct world *w = *world;
    struct hft_proxy *proxy = hft_proxy_start(w->server);
    struct hft_rule fail = {.direction = HFT_REQUEST,
                            .match = "EVALSHA",
                            .contains = NAME,
                            .nth = 2, /* the first is the acquire */
                            .times = HFT_ALWAYS,
                            .action = HFT_CUT_BEFORE};
    hf_options options = short_options();
    struct told told = {0};
    hf_acquire how = telling(&told, NULL, 2000);
    hf_lock *warm;
    hf_lock *lock;
    int id;

    warm = a_lock_of(w, a_client_at(w, hft_proxy_url(proxy), &options), "warm");
    assert_ok(try_once(warm, NULL));
    assert_ok(leave(warm, NULL));
    lock = a_lock_of(w, w->more_clients[0], NAME);
    id = hft_proxy_add(proxy, &fail);
    assert_ok(take(lock, NULL, &how));
    assert_true(loss_is_told(&told, 2000 + SLACK_MS));
    assert_int_equal(told_so_far(&told).reason, HF_LOST_UNREACHABLE);
    /* From 667 to 2,000 ms there is room for six and more of 200 ms. */
    assert_between(hft_proxy_hits(proxy, id), 5, 40);
    assert_status(HF_LOST, leave(lock, NULL));
    hft_proxy_release_all(proxy);
    close_clients(w);
    world_begin(world);
    hft_proxy_stop(proxy);
}

/* T2's point: three renewals in a row fail, the fourth saves the lease. */
static void a_lease_survives_three_failed_renewals(void **world)
{
    struct world *w = *world;
    struct hft_proxy *proxy = hft_proxy_start(w->server);
    struct hft_rule fail = {.direction = HFT_REPLY,
                            .match = "EVALSHA",
                            .contains = NAME,
                            .nth = 2,
                            .times = 3,
                            .action = HFT_CUT_BEFORE};
    hf_options options = short_options();
    struct told told = {0};
    hf_acquire how = telling(&told, NULL, 2000);
    hf_client *client = a_client_at(w, hft_proxy_url(proxy), &options);
    hf_lock *warm = a_lock_of(w, client, "warm");
    hf_lock *lock = a_lock_of(w, client, NAME);
    int id;

    assert_ok(try_once(warm, NULL));
    assert_ok(leave(warm, NULL));
    id = hft_proxy_add(proxy, &fail);
    assert_ok(take(lock, NULL, &how));
    assert_true(hft_proxy_wait_hits(proxy, id, 3, 2000));
    hft_let_pass_ms(2000);
    assert_true(hf_lock_is_held(lock, NULL));
    assert_int_equal(hf_lock_state_of(lock, NULL, NULL), HF_HELD);
    assert_int_equal(told_so_far(&told).losses, 0);
    assert_ok(leave(lock, NULL));
    close_clients(w);
    world_begin(world);
    hft_proxy_stop(proxy);
}

/* T50: max_hold ends it, with a warning before, though it could be renewed. */
static void a_hold_ends_at_max_hold_with_a_warning_before(void **world)
{
    struct world *w = *world;
    struct told told = {0};
    hf_lock *lock = a_lock(w, NAME);
    hf_acquire how = telling(&told, NULL, 0);
    int64_t taken_ms;

    how.max_hold_ms = 1500;
    how.max_hold_warning_ms = 500;
    taken_ms = hft_now_ms();
    assert_ok(take(lock, NULL, &how));
    assert_between(hf_lock_remaining_ms(lock, NULL), 1, 1500);
    assert_true(warning_is_told(&told, BOUND_MS));
    assert_between(told_so_far(&told).max_hold_at_ms - taken_ms, 950,
                   1000 + SLACK_MS);
    assert_int_equal(told_so_far(&told).warning_reason, HF_LOST_MAX_HOLD);
    assert_int_equal(told_so_far(&told).state, HF_HELD);
    assert_between(told_so_far(&told).warning_remaining_ms, 1, 500);
    assert_true(loss_is_told(&told, BOUND_MS));
    told = told_so_far(&told);
    assert_int_equal(told.reason, HF_LOST_MAX_HOLD);
    assert_between(told.at_ms - taken_ms, 1450, 1500 + SLACK_MS);
    assert_true(wire_free_within(w, NAME, SLACK_MS));
    assert_status(HF_LOST, leave(lock, NULL));
}

/* C2.14: released early, nobody gets it before; the release does not wait.
 * spec: rlock/later-1, rlock/later-2 */
static void min_hold_keeps_others_out_after_an_early_release(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    hf_lock *theirs = a_lock_of(w, a_client(w), NAME);
    hf_acquire how = once(NULL, 0);
    int64_t taken_ms;

    how.min_hold_ms = 1200;
    taken_ms = hft_now_ms();
    assert_ok(take(lock, NULL, &how));
    assert_ok(leave(lock, NULL));
    assert_between(hft_now_ms() - taken_ms, 0, SLACK_MS);
    assert_false(hf_lock_is_held(lock, NULL));
    assert_int_equal(wire_count(w, NAME), 1);
    assert_between(wire_ttl(w, NAME), 1, 1200);
    assert_status(HF_BUSY, try_once(theirs, NULL));
    assert_status(HF_BUSY, try_once(lock, NULL));
    assert_status(HF_NOT_OWNER, leave(lock, NULL));
    assert_ok(wait_up_to(theirs, NULL, BOUND_MS));
    assert_between(hft_now_ms() - taken_ms, 1190, 1200 + SLACK_MS);
    assert_ok(leave(theirs, NULL));
}

/* A server too full for the stand-in frees the lock at once.
 * spec: rlock/later-3 */
static void min_hold_on_a_full_server_is_given_up(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    hf_acquire how = once(NULL, 60000);

    how.min_hold_ms = 60000;
    assert_ok(take(lock, NULL, &how));
    (void)hft_int(w->server, "CONFIG SET maxmemory 1");
    assert_ok(leave(lock, NULL));
    assert_int_equal(wire_ttl(w, NAME), -2);
    (void)hft_int(w->server, "CONFIG SET maxmemory 0");
}

static void min_hold_is_nothing_to_a_hold_that_lasted(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    hf_acquire how = once(NULL, 0);

    how.min_hold_ms = 100;
    assert_ok(take(lock, NULL, &how));
    hft_let_pass_ms(120);
    assert_ok(leave(lock, NULL));
    assert_int_equal(wire_ttl(w, NAME), -2);
}

/* The thread that takes it, and ends. */
struct leaver {
    hf_lock *lock;
    hf_acquire how;
    hf_status status;
    int levels;
};

static void *take_and_end(void *context)
{
    struct leaver *leaver = context;
    int i;

    for (i = 0; i < leaver->levels && leaver->status == HF_OK; i++) {
        leaver->status = hf_lock_acquire(leaver->lock, &leaver->how, NULL);
    }
    return NULL;
}

/* DESIGN 4: renewal stops, LOST(owner gone) is told, others get in. */
static void a_thread_that_ends_while_it_holds_loses_it(void **world)
{
    struct world *w = *world;
    struct told told = {0};
    struct leaver leaver = {.lock = a_lock(w, NAME), .levels = 2};
    pthread_t thread;
    int64_t ended_ms;

    leaver.how = telling(&told, NULL, 30000);
    assert_int_equal(pthread_create(&thread, NULL, take_and_end, &leaver), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    ended_ms = hft_now_ms();
    assert_status(HF_OK, leaver.status);
    assert_true(loss_is_told(&told, BOUND_MS));
    assert_int_equal(told_so_far(&told).reason, HF_LOST_OWNER_GONE);
    assert_ok(wait_up_to(leaver.lock, NULL, BOUND_MS));
    assert_between(hft_now_ms() - ended_ms, 0, 1000);
    assert_ok(leave(leaver.lock, NULL));
}

/* A thread that ends after its release leaves nothing. */
static void a_thread_that_ends_after_its_release_loses_nothing(void **world)
{
    struct world *w = *world;
    struct caller caller = {.hold_ms = 0};

    caller_start(&caller, a_lock(w, NAME), 0);
    caller_join(&caller);
    assert_status(HF_OK, caller.release_status);
    assert_int_equal(stats_of(w->client).ending, 0);
    assert_int_equal(stats_of(w->client).holds, 0);
    assert_int_equal(wire_ttl(w, NAME), -2);
}

/* LK-12, PL-54, T46: closing tells holders and frees what they hold at once. */
static void closing_tells_the_holder_and_frees_the_lock(void **world)
{
    enum { HOLDS = 50 };
    struct world *w = *world;
    hf_client *client = a_client(w);
    hf_owner *owner = an_owner_of(w, client);
    struct told told[HOLDS];
    int64_t began_ms;
    char name[32];
    int i;

    memset(told, 0, sizeof(told));
    for (i = 0; i < HOLDS; i++) {
        hf_acquire how = telling(&told[i], owner, 600000);

        (void)snprintf(name, sizeof(name), "close:%d", i);
        assert_ok(take(a_lock_of(w, client, name), owner, &how));
    }
    w->more_client_count = 0;
    began_ms = hft_now_ms();
    assert_ok(hf_client_close(client));
    assert_between(hft_now_ms() - began_ms, 0, 1000 + SLACK_MS);
    assert_int_equal(hft_int(w->server, "DBSIZE"), 0);
    for (i = 0; i < HOLDS; i++) {
        assert_int_equal(told[i].losses, 1);
        assert_int_equal(told[i].reason, HF_LOST_CLOSED);
    }
}

/* A slow callback delays neither a renewal nor the next loss. */
static void dawdle(const hf_lease_event *event, void *context)
{
    record_lost(event, context);
    hft_let_pass_ms(3 * W_MS);
}

static bool is_seen_lost(void *lock)
{
    return hf_lock_state_of(lock, NULL, NULL) == HF_STATE_LOST;
}

static void a_slow_on_lost_delays_no_renewal(void **world)
{
    struct world *w = *world;
    struct told told = {0};
    hf_lock *lost = a_lock(w, NAME);
    hf_lock *kept = a_lock(w, "kept");
    hf_acquire how = telling(&told, NULL, 0);

    how.on_lost = dawdle;
    assert_ok(take(lost, NULL, &how));
    assert_ok(try_once(kept, NULL));
    stranger_vanishes(w, NAME);
    assert_true(loss_is_told(&told, BOUND_MS));
    hft_let_pass_ms(2 * W_MS);
    assert_true(hf_lock_is_held(kept, NULL));
    assert_int_equal(wire_count(w, "kept"), 1);
    stranger_vanishes(w, "kept"); /* known at once, though nobody can be told */
    assert_true(hft_wait_until(is_seen_lost, kept, W_MS));
    assert_status(HF_LOST, leave(lost, NULL));
    assert_status(HF_LOST, leave(kept, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        world_test(a_deleted_lock_is_told_as_gone_within_a_period),
        world_test(a_taken_lock_is_told_as_taken_and_left_alone),
        world_test(a_forced_release_is_told_to_the_holder),
        world_test(the_end_of_a_fixed_lease_is_told_before_it_ends_elsewhere),
        world_test(a_stopped_server_makes_it_suspect_then_lost_in_time),
        world_test(a_short_stall_makes_it_suspect_and_held_again),
        world_test(stalls_of_half_a_lease_lose_nothing),
        world_test(a_failed_renewal_is_tried_again_within_a_tenth_of_the_lease),
        world_test(a_lease_survives_three_failed_renewals),
        world_test(a_hold_ends_at_max_hold_with_a_warning_before),
        world_test(min_hold_keeps_others_out_after_an_early_release),
        world_test(min_hold_on_a_full_server_is_given_up),
        world_test(min_hold_is_nothing_to_a_hold_that_lasted),
        world_test(a_thread_that_ends_while_it_holds_loses_it),
        world_test(a_thread_that_ends_after_its_release_loses_nothing),
        world_test(closing_tells_the_holder_and_frees_the_lock),
        world_test(a_slow_on_lost_delays_no_renewal),
    };

    return cmocka_run_group_tests_name("lock_lost", tests, world_up,
                                       world_down);
}
