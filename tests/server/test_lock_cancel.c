/* SPDX-License-Identifier: MIT */
/* test_lock_cancel.c - waits that are cancelled, at every moment.
 *
 * After a cancellation the lock is either held and known to be, or not held and
 * nothing of it is left: never a third state (T58).  Rows: LK-03, PB-05, PL-47,
 * PL-48, PL-52, PL-53, 15.7.
 */
#include "world.h"

#include <signal.h>
#include <string.h>

#include "support/proxy.h"

#define NAME "cancel"

static hf_acquire cancellable(hf_cancel *cancel, hf_owner *owner)
{
    hf_acquire how = HF_ACQUIRE_INIT;

    how.cancel = cancel;
    how.owner = owner;
    return how;
}

/* PL-47: fired before the call; nothing is even sent. */
static void a_fired_token_ends_a_call_before_it_begins(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    hf_cancel *cancel = a_cancel(w);
    hf_acquire how = cancellable(cancel, NULL);
    int64_t sent = stats_of(w->client).scripts_sent;

    hf_cancel_fire(cancel);
    assert_status(HF_CANCELLED, take(lock, NULL, &how));
    assert_int_equal(stats_of(w->client).scripts_sent, sent);
    hf_cancel_reset(cancel);
    assert_ok(take(lock, NULL, &how));
    hf_cancel_fire(cancel); /* too late: held is held */
    assert_true(hf_lock_is_held(lock, NULL));
    assert_ok(leave(lock, NULL));
}

/* PL-48: a hundred waiters of one token. */
static void one_token_ends_a_hundred_waits(void **world)
{
    enum { WAITERS = 100 };
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    hf_cancel *cancel = a_cancel(w);
    hf_acquire how = cancellable(cancel, NULL);
    struct caller waiters[WAITERS];
    int64_t fired_ms;
    int i;

    memset(waiters, 0, sizeof(waiters));
    stranger_takes(w, NAME, 600000);
    for (i = 0; i < WAITERS; i++) {
        caller_start_as(&waiters[i], lock, &how);
    }
    assert_true(waiters_become(w->client, WAITERS, BOUND_MS));
    assert_true(hft_wait_channels(w->server, 1, BOUND_MS));
    hft_let_pass_ms(100); /* no attempt of the head is in flight */
    fired_ms = hft_now_ms();
    hf_cancel_fire(cancel);
    for (i = 0; i < WAITERS; i++) {
        caller_join(&waiters[i]);
        assert_status(HF_CANCELLED, waiters[i].status);
        assert_int_equal(waiters[i].error.status, HF_CANCELLED);
        assert_between(waiters[i].ended_ms - fired_ms, 0, 100 + SLACK_MS);
    }
    assert_int_equal(stats_of(w->client).waiters, 0);
    assert_true(hft_wait_channels(w->server, 0, BOUND_MS));
    assert_string_equal(wire_owner(w, NAME), STRANGER);
}

static bool no_names(void *client)
{
    return stats_of(client).names == 0;
}

/* PL-53: the client's table of names is empty afterwards. */
static void nothing_is_kept_of_a_name_when_all_have_left(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    hf_cancel *cancel = a_cancel(w);
    hf_acquire how = cancellable(cancel, NULL);
    struct caller waiter = {.hold_ms = 0};

    assert_ok(try_once(lock, NULL));
    caller_start_as(&waiter, lock, &how);
    assert_true(waiters_become(w->client, 1, BOUND_MS));
    hf_cancel_fire(cancel);
    caller_join(&waiter);
    assert_status(HF_CANCELLED, waiter.status);
    assert_ok(leave(lock, NULL));
    assert_true(hft_wait_until(no_names, w->client, BOUND_MS));
    assert_int_equal(stats_of(w->client).subscriptions, 0);
    assert_int_equal(stats_of(w->client).ending, 0);
}

/* PL-52, PB-05: waiters are cancelled while the release wakes them.  Nobody is
 * lost, and the one that stays is served whoever the wake-up went to. */
static void a_wake_up_that_meets_a_cancellation_is_passed_on(void **world)
{
    enum { ROUNDS = 100, WAITERS = 10 };
    struct world *w = *world;
    hf_options options = short_options();
    struct hft_random random = chance();
    hf_client *client;
    hf_lock *lock;
    int round;
    int i;

    options.retry_bound_ms = 60000; /* a lost wake-up would show */
    client = a_client_at(w, hft_server_url(w->server), &options);
    lock = a_lock_of(w, client, NAME);
    for (round = 0; round < ROUNDS; round++) {
        struct caller waiters[WAITERS + 1];
        hf_cancel *cancel = NULL;
        hf_acquire how;

        memset(waiters, 0, sizeof(waiters));
        assert_ok(hf_cancel_new(client, &cancel, &problem));
        how = cancellable(cancel, NULL);
        stranger_takes(w, NAME, 600000);
        for (i = 0; i < WAITERS; i++) {
            caller_start_as(&waiters[i], lock, &how);
        }
        assert_true(waiters_become(client, WAITERS, BOUND_MS));
        caller_start(&waiters[WAITERS], lock, BOUND_MS);
        assert_true(waiters_become(client, WAITERS + 1, BOUND_MS));
        if (hft_random_below(&random, 2) == 0) {
            stranger_releases(w, NAME);
            hf_cancel_fire(cancel);
        } else {
            hf_cancel_fire(cancel);
            stranger_releases(w, NAME);
        }
        for (i = 0; i <= WAITERS; i++) {
            caller_join(&waiters[i]);
            if (waiters[i].status != HF_CANCELLED &&
                waiters[i].status != HF_UNKNOWN) {
                assert_status(HF_OK, waiters[i].status);
                assert_status(HF_OK, waiters[i].release_status);
            }
        }
        assert_status(HF_OK, waiters[WAITERS].status);
        assert_between(waiters[WAITERS].ended_ms - waiters[WAITERS].began_ms, 0,
                       3000);
        hf_cancel_free(cancel);
    }
    assert_true(wire_free_within(w, NAME, BOUND_MS));
}

/* LK-03: a try that is cancelled in flight leaves no lease that is renewed for
 * nobody. */
static void a_cancelled_try_is_not_renewed_for_nobody(void **world)
{
    enum { ROUNDS = 50 };
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    struct hft_random random = chance();
    int64_t end_ms;
    int64_t renewals;
    int i;

    for (i = 0; i < ROUNDS; i++) {
        hf_cancel *cancel = a_cancel(w);
        hf_acquire how = cancellable(cancel, NULL);
        struct caller caller = {.hold_ms = 0};

        how.wait_ms = 0;
        caller_start_as(&caller, lock, &how);
        end_ms = hft_now_ms() + (int64_t)hft_random_below(&random, 2);
        while (hft_now_ms() < end_ms) {
            /* Some moment of its flight. */
        }
        hf_cancel_fire(cancel);
        caller_join(&caller);
        if (caller.status != HF_CANCELLED && caller.status != HF_UNKNOWN) {
            assert_status(HF_OK, caller.status);
        }
        hf_cancel_free(cancel);
        w->cancel_count--;
        assert_true(endings_become(w->client, 0, BOUND_MS));
    }
    assert_true(wire_free_within(w, NAME, BOUND_MS));
    renewals = stats_of(w->client).renewals_sent;
    hft_let_pass_ms(W_MS * 3 / 2);
    assert_int_equal(stats_of(w->client).renewals_sent, renewals);
    assert_int_equal(wire_ttl(w, NAME), -2);
}

/* 15.7: at any moment of the first milliseconds, a thousand times, the lock
 * free or held; after each round the next acquire is immediate. */
static void a_thousand_cancellations_leave_nothing(void **world)
{
    enum { ROUNDS = 1000 };
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    hf_lock *theirs = a_lock_of(w, a_client(w), NAME);
    struct hft_random random = chance();
    hf_cancel *cancel = a_cancel(w);
    int held = 0;
    int round;

    for (round = 0; round < ROUNDS; round++) {
        hf_acquire how = cancellable(cancel, NULL);
        struct caller caller = {.hold_ms = 0};
        bool busy = hft_random_below(&random, 2) == 0;
        uint64_t spins = hft_random_below(&random, 200000);

        if (busy) {
            assert_ok(wait_up_to(theirs, NULL, 1000));
        }
        caller_start_as(&caller, lock, &how);
        while (spins > 0) {
            (void)hft_random_below(&random, 2);
            spins--;
        }
        hf_cancel_fire(cancel);
        caller_join(&caller);
        held += caller.status == HF_OK;
        if (caller.status != HF_OK && caller.status != HF_UNKNOWN) {
            assert_status(HF_CANCELLED, caller.status);
        }
        if (busy) {
            assert_int_not_equal(caller.status, HF_OK);
            assert_ok(leave(theirs, NULL));
        }
        hf_cancel_reset(cancel);
        assert_ok(wait_up_to(theirs, NULL, 1000));
        assert_ok(leave(theirs, NULL));
    }
    print_message("           %d of %d were quicker\n", held, ROUNDS);
    assert_true(endings_become(w->client, 0, BOUND_MS));
    assert_int_equal(hft_int(w->server, "DBSIZE"), 0);
    assert_int_equal(stats_of(w->client).waiters, 0);
    assert_int_equal(stats_of(w->client).holds, 0);
}

static hf_cancel *fired_by_signal;

static void fire_on_signal(int number)
{
    (void)number;
    hf_cancel_fire(fired_by_signal);
}

/* DESIGN 4: fired from a handler, in the waiting thread and in any other. */
static void a_token_may_be_fired_from_a_signal_handler(void **world)
{
    struct sigaction action = {.sa_handler = fire_on_signal};
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    hf_acquire how;
    int i;

    fired_by_signal = a_cancel(w);
    how = cancellable(fired_by_signal, NULL);
    assert_int_equal(sigaction(SIGUSR2, &action, NULL), 0);
    stranger_takes(w, NAME, 600000);
    for (i = 0; i < 20; i++) {
        struct caller waiter = {.hold_ms = 0};

        caller_start_as(&waiter, lock, &how);
        assert_true(waiters_become(w->client, 1, BOUND_MS));
        /* gcc 12's ThreadSanitizer puts a handler off until its thread passes
         * by, and once in a while for ever: there, it is sent again. */
        do {
            assert_int_equal(i % 2 == 0 ? pthread_kill(waiter.thread, SIGUSR2)
                                        : raise(SIGUSR2),
                             0);
        } while (UNDER_TSAN && !waiters_become(w->client, 0, 1000));
        caller_join(&waiter);
        if (waiter.status != HF_UNKNOWN) {
            assert_status(HF_CANCELLED, waiter.status);
        }
        hf_cancel_reset(fired_by_signal);
    }
    assert_int_equal(stats_of(w->client).waiters, 0);
}

/* T58, in flight: the request is held by the proxy; the call returns at once,
 * says that it cannot know, and what it may have taken is undone. */
static void a_cancellation_in_flight_returns_at_once_and_is_undone(void **world)
{
    struct world *w = *world;
    struct hft_proxy *proxy = hft_proxy_start(w->server);
    struct hft_rule hold = {.direction = HFT_REPLY,
                            .match = "EVALSHA",
                            .contains = NAME,
                            .action = HFT_HOLD};
    hf_options options = short_options();
    hf_client *client = a_client_at(w, hft_proxy_url(proxy), &options);
    hf_lock *warm = a_lock_of(w, client, "warm");
    hf_lock *lock = a_lock_of(w, client, NAME);
    hf_cancel *cancel = NULL;
    struct caller caller = {.hold_ms = -1};
    hf_acquire how;
    int64_t fired_ms;
    int id;

    assert_ok(try_once(warm, NULL));
    assert_ok(leave(warm, NULL));
    assert_ok(hf_cancel_new(client, &cancel, &problem));
    how = cancellable(cancel, an_owner_of(w, client));
    how.lease_ms = 60000;
    id = hft_proxy_add(proxy, &hold);
    caller_start_as(&caller, lock, &how);
    assert_true(hft_proxy_wait_hits(proxy, id, 1, BOUND_MS));
    assert_int_equal(wire_count(w, NAME), 1); /* the server has granted it */
    fired_ms = hft_now_ms();
    hf_cancel_fire(cancel);
    caller_join(&caller);
    assert_between(caller.ended_ms - fired_ms, 0, 50 + SLACK_MS);
    assert_status(HF_UNKNOWN, caller.status);
    assert_false(hf_lock_is_held(lock, how.owner));
    hft_proxy_release(proxy, id);
    assert_true(wire_free_within(w, NAME, 1000));
    assert_true(endings_become(client, 0, BOUND_MS));
    hf_cancel_free(cancel);
    w->more_client_count--;
    assert_ok(hf_client_close(client));
    hft_proxy_stop(proxy);
}

/* A cancelled re-entry leaves the outer hold as it was. */
static void a_cancelled_reentry_leaves_the_outer_hold(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    hf_cancel *cancel = a_cancel(w);
    hf_acquire how = cancellable(cancel, NULL);

    assert_ok(try_once(lock, NULL));
    hf_cancel_fire(cancel);
    assert_int_not_equal(take(lock, NULL, &how), HF_OK);
    assert_int_equal(hf_lock_hold_count(lock, NULL), 1);
    assert_true(hf_lock_is_held(lock, NULL));
    assert_ok(leave(lock, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        world_test(a_fired_token_ends_a_call_before_it_begins),
        world_test(one_token_ends_a_hundred_waits),
        world_test(nothing_is_kept_of_a_name_when_all_have_left),
        world_test(a_wake_up_that_meets_a_cancellation_is_passed_on),
        world_test(a_cancelled_try_is_not_renewed_for_nobody),
        world_test(a_thousand_cancellations_leave_nothing),
        world_test(a_token_may_be_fired_from_a_signal_handler),
        world_test(a_cancellation_in_flight_returns_at_once_and_is_undone),
        world_test(a_cancelled_reentry_leaves_the_outer_hold),
    };

    return cmocka_run_group_tests_name("lock_cancel", tests, world_up,
                                       world_down);
}
