/* SPDX-License-Identifier: MIT */
/* test_lock_wait.c - waiting: how long, in what order, at what cost, and that
 * it ends when it should.
 *
 * The holder is mostly a stranger with a long lease: nothing but its message
 * or what the test is about can end the wait.  Rows: LK-06, LK-07, LK-09,
 * LK-36, PL-20, PL-23 to PL-26, PL-70, PL-78, PB-01, PB-10, 15.1, T19, T59, T60.
 */
#include "world.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define NAME "queue"

/* LK-06 and PL-20, with a third of LK-06's time. */
static void a_wait_ends_when_its_time_is_over_and_not_before(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    int64_t began_ms;

    stranger_takes(w, NAME, 60000);
    began_ms = hft_now_ms();
    assert_status(HF_TIMEOUT, wait_up_to(lock, NULL, 1000));
    assert_between(hft_now_ms() - began_ms, 990, 1000 + 350);
    assert_non_null(strstr(problem.message, NAME));
    assert_int_equal(stats_of(w->client).waiters, 0);
}

/* PL-24: the holder's release ends the wait long before its time. */
static void a_release_ends_a_wait_at_once(void **world)
{
    struct world *w = *world;
    struct caller waiter = {.hold_ms = 0};
    int64_t released_ms;

    stranger_takes(w, NAME, 60000);
    caller_start(&waiter, a_lock(w, NAME), HF_WAIT_FOREVER);
    assert_true(hft_wait_channels(w->server, 1, BOUND_MS));
    released_ms = hft_now_ms();
    stranger_releases(w, NAME);
    caller_join(&waiter);
    assert_status(HF_OK, waiter.status);
    assert_between(waiter.ended_ms - released_ms, 0, 50 + SLACK_MS);
    assert_status(HF_OK, waiter.release_status);
}

/* LK-09, PL-23, PL-25, 15.1: nobody releases and no message ever comes; the
 * bound for a re-try is set so far away that it cannot help.
 * spec: rlock/wait-3 */
static void a_waiter_wakes_when_the_holders_lease_ends(void **world)
{
    struct world *w = *world;
    hf_options options = short_options();
    int64_t taken_ms;
    hf_lock *lock;

    options.retry_bound_ms = 60000;
    lock = a_lock_of(w, a_client_at(w, hft_server_url(w->server), &options),
                     NAME);
    taken_ms = hft_now_ms();
    stranger_takes(w, NAME, 1500);
    assert_ok(wait_up_to(lock, NULL, HF_WAIT_FOREVER));
    assert_between(hft_now_ms() - taken_ms, 1490, 1550 + SLACK_MS);
    assert_string_not_equal(wire_owner(w, NAME), STRANGER);
    assert_ok(leave(lock, NULL));
}

/* LK-09's end, 15.17: the late holder is one of ours, and finds it lost. */
static void who_outlived_its_lease_cannot_release_the_next_ones(void **world)
{
    struct world *w = *world;
    hf_lock *first = a_lock(w, NAME);
    hf_lock *second = a_lock_of(w, a_client(w), NAME);
    int64_t taken_ms = hft_now_ms();

    assert_ok(try_fixed(first, NULL, 500));
    assert_ok(wait_up_to(second, NULL, HF_WAIT_FOREVER));
    assert_between(hft_now_ms() - taken_ms, 490, 550 + SLACK_MS);
    assert_status(HF_LOST, leave(first, NULL));
    assert_int_equal(wire_count(w, NAME), 1);
    assert_true(hf_lock_is_held(second, NULL));
    assert_ok(leave(second, NULL));
}

/* PL-26: one's own lease has nothing to do with how long one waits. */
static void a_short_lease_does_not_shorten_the_wait(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    hf_acquire how = once(NULL, 200);

    stranger_takes(w, NAME, 600);
    assert_status(HF_BUSY, try_fixed(lock, NULL, 200));
    how.wait_ms = BOUND_MS;
    assert_ok(take(lock, NULL, &how));
    assert_ok(leave(lock, NULL));
}

static atomic_int signals_seen;

static void note_signal(int number)
{
    (void)number;
    atomic_fetch_add(&signals_seen, 1);
}

static bool signal_was_seen(void *before)
{
    return atomic_load(&signals_seen) > *(int *)before;
}

/* LK-07: a handler runs in the waiting thread, and system calls are not
 * restarted; the wait goes on. */
static void a_signal_does_not_end_a_wait(void **world)
{
    struct sigaction action = {.sa_handler = note_signal};
    struct world *w = *world;
    struct caller waiter = {.hold_ms = 0};
    int i;

    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
    stranger_takes(w, NAME, 600000);
    caller_start(&waiter, a_lock(w, NAME), HF_WAIT_FOREVER);
    assert_true(hft_wait_channels(w->server, 1, BOUND_MS));
    for (i = 0; i < 200; i++) {
        int before = atomic_load(&signals_seen);

        assert_int_equal(pthread_kill(waiter.thread, SIGUSR1), 0);
        assert_true(hft_wait_until(signal_was_seen, &before, BOUND_MS));
    }
    assert_int_equal(stats_of(w->client).waiters, 1);
    stranger_releases(w, NAME);
    caller_join(&waiter);
    assert_status(HF_OK, waiter.status);
    assert_status(HF_OK, waiter.release_status);
}

/* The same with a wait that has an end: signals do not prolong it. */
static void signals_do_not_prolong_a_wait(void **world)
{
    struct sigaction action = {.sa_handler = note_signal};
    struct world *w = *world;
    struct caller waiter = {.hold_ms = 0};
    int64_t end_ms = hft_now_ms() + 500;

    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
    stranger_takes(w, NAME, 600000);
    caller_start(&waiter, a_lock(w, NAME), 600);
    while (hft_now_ms() < end_ms) {
        assert_int_equal(pthread_kill(waiter.thread, SIGUSR1), 0);
        hft_let_pass_ms(5);
    }
    caller_join(&waiter);
    assert_status(HF_TIMEOUT, waiter.status);
    assert_between(waiter.ended_ms - waiter.began_ms, 590, 600 + SLACK_MS);
}

/* DESIGN 2.2: the waiters of one process form one FIFO. */
static void waiters_of_one_client_are_served_in_their_order(void **world)
{
    enum { WAITERS = 8 };
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    struct caller waiters[WAITERS];
    int i;

    memset(waiters, 0, sizeof(waiters));
    stranger_takes(w, NAME, 60000);
    for (i = 0; i < WAITERS; i++) {
        waiters[i].hold_ms = 20;
        caller_start(&waiters[i], lock, HF_WAIT_FOREVER);
        assert_true(waiters_become(w->client, i + 1, BOUND_MS));
    }
    stranger_releases(w, NAME);
    for (i = 0; i < WAITERS; i++) {
        caller_join(&waiters[i]);
        assert_status(HF_OK, waiters[i].status);
        assert_status(HF_OK, waiters[i].release_status);
        if (i > 0) {
            assert_between(waiters[i].ended_ms - waiters[i - 1].ended_ms, 18,
                           20 + SLACK_MS);
        }
    }
}

/* DESIGN 2.2: a wait of 0 is one attempt, and stands in no queue. */
static void a_try_does_not_queue_behind_waiters(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    struct caller waiter = {.hold_ms = 0};
    int64_t began_ms;

    stranger_takes(w, NAME, 60000);
    caller_start(&waiter, lock, HF_WAIT_FOREVER);
    assert_true(hft_wait_channels(w->server, 1, BOUND_MS));
    began_ms = hft_now_ms();
    assert_status(HF_BUSY, try_once(lock, NULL));
    assert_between(hft_now_ms() - began_ms, 0, SLACK_MS);
    assert_int_equal(stats_of(w->client).waiters, 1);
    stranger_releases(w, NAME);
    caller_join(&waiter);
    assert_status(HF_OK, waiter.status);
}

/* DESIGN 2.2: who holds already does not queue behind who waits for it. */
static void a_reentry_does_not_queue_behind_waiters(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    struct caller waiter = {.hold_ms = 0};

    assert_ok(try_once(lock, NULL));
    caller_start(&waiter, lock, HF_WAIT_FOREVER);
    assert_true(waiters_become(w->client, 1, BOUND_MS));
    assert_ok(wait_up_to(lock, NULL, HF_WAIT_FOREVER));
    assert_int_equal(hf_lock_hold_count(lock, NULL), 2);
    assert_ok(leave(lock, NULL));
    assert_ok(leave(lock, NULL));
    caller_join(&waiter);
    assert_status(HF_OK, waiter.status);
}

/* T19: the holder vanishes and the message with it; what is lost costs no
 * more than the bound, though the holder's lease had ten minutes left. */
static void a_lost_message_costs_no_more_than_the_retry_bound(void **world)
{
    struct world *w = *world;
    hf_options options = short_options();
    struct caller waiter = {.hold_ms = 0};
    hf_client *client;
    int64_t gone_ms;

    options.retry_bound_ms = 400;
    client = a_client_at(w, hft_server_url(w->server), &options);
    stranger_takes(w, NAME, 600000);
    caller_start(&waiter, a_lock_of(w, client, NAME), HF_WAIT_FOREVER);
    assert_true(hft_wait_channels(w->server, 1, BOUND_MS));
    gone_ms = hft_now_ms();
    stranger_vanishes(w, NAME);
    caller_join(&waiter);
    assert_status(HF_OK, waiter.status);
    assert_between(waiter.ended_ms - gone_ms, 0, 400 + SLACK_MS);
}

/* T19 with the default: about two seconds, never the 30 of the field. */
static void the_default_retry_bound_is_about_two_seconds(void **world)
{
    struct world *w = *world;
    struct caller waiter = {.hold_ms = 0};
    int64_t gone_ms;

    stranger_takes(w, NAME, 600000);
    caller_start(&waiter, a_lock(w, NAME), HF_WAIT_FOREVER);
    assert_true(hft_wait_channels(w->server, 1, BOUND_MS));
    gone_ms = hft_now_ms();
    stranger_vanishes(w, NAME);
    caller_join(&waiter);
    assert_status(HF_OK, waiter.status);
    assert_between(waiter.ended_ms - gone_ms, 0, 2500 + SLACK_MS);
}

/* A message is a hint: what it says is asked again, what it does not say
 * changes nothing.
 * spec: rlock/message-2 */
static void a_message_without_a_release_wakes_nobody_wrongly(void **world)
{
    struct world *w = *world;
    struct caller waiter = {.hold_ms = 0};
    int64_t tries;
    int i;

    stranger_takes(w, NAME, 600000);
    caller_start(&waiter, a_lock(w, NAME), HF_WAIT_FOREVER);
    assert_true(hft_wait_channels(w->server, 1, BOUND_MS));
    for (i = 0; i < 5; i++) {
        tries = hft_calls(w->server, "evalsha");
        assert_int_equal(hft_int(w->server,
                                 "PUBLISH redisson_lock__channel:{%s} %s", NAME,
                                 i % 2 == 0 ? "0" : "nonsense"),
                         1);
        if (i % 2 == 0) {
            assert_true(
                hft_wait_calls(w->server, "evalsha", tries + 1, BOUND_MS));
        }
    }
    assert_int_equal(stats_of(w->client).waiters, 1);
    assert_string_equal(wire_owner(w, NAME), STRANGER);
    stranger_releases(w, NAME);
    caller_join(&waiter);
    assert_status(HF_OK, waiter.status);
}

/* T59: ten waiters of one process on one name are one contender, which asks
 * less than once a second.
 * spec: rlock/wait-2 */
static void ten_idle_waiters_ask_less_than_once_a_second(void **world)
{
    enum { WAITERS = 10, SECONDS = 4 };
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    struct caller waiters[WAITERS];
    int64_t asked;
    int i;

    memset(waiters, 0, sizeof(waiters));
    stranger_takes(w, NAME, 600000);
    for (i = 0; i < WAITERS; i++) {
        caller_start(&waiters[i], lock, HF_WAIT_FOREVER);
    }
    assert_true(waiters_become(w->client, WAITERS, BOUND_MS));
    assert_true(hft_wait_channels(w->server, 1, BOUND_MS));
    assert_int_equal(
        hft_subscribers(w->server, "redisson_lock__channel:{" NAME "}"), 1);
    hft_let_pass_ms(100); /* the try after the subscription */
    asked = stats_of(w->client).scripts_sent;
    hft_let_pass_ms(SECONDS * 1000);
    assert_between(stats_of(w->client).scripts_sent - asked, 1, SECONDS - 1);
    stranger_releases(w, NAME);
    for (i = 0; i < WAITERS; i++) {
        caller_join(&waiters[i]);
        assert_status(HF_OK, waiters[i].status);
    }
}

/* An idle client, without a waiter and a hold, sends no scripts at all. */
static void an_idle_client_asks_nothing(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    int64_t asked;

    assert_ok(try_once(lock, NULL));
    assert_ok(leave(lock, NULL));
    asked = hft_calls(w->server, "evalsha");
    hft_let_pass_ms(3 * W_MS);
    assert_int_equal(hft_calls(w->server, "evalsha"), asked);
}

/* PB-01: waits that end just as their subscription is answered, many times;
 * the next wait is woken as if nothing had been. */
static void waits_that_end_while_subscribing_poison_nothing(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    struct caller waiter = {.hold_ms = 0};
    struct hft_random random = chance();
    int64_t released_ms;
    int i;

    stranger_takes(w, NAME, 600000);
    for (i = 0; i < 300; i++) {
        assert_status(
            HF_TIMEOUT,
            wait_up_to(lock, NULL, 1 + (int64_t)hft_random_below(&random, 4)));
    }
    caller_start(&waiter, lock, HF_WAIT_FOREVER);
    assert_true(waiters_become(w->client, 1, BOUND_MS));
    assert_true(hft_wait_channels(w->server, 1, BOUND_MS));
    released_ms = hft_now_ms();
    stranger_releases(w, NAME);
    caller_join(&waiter);
    assert_status(HF_OK, waiter.status);
    assert_between(waiter.ended_ms - released_ms, 0, 100 + SLACK_MS);
}

/* PB-10: what waits that timed out needed is given back. */
static void two_thousand_timeouts_leave_no_memory_behind(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    int64_t before = 0;
    int i;

    stranger_takes(w, NAME, 600000);
    for (i = 0; i < 2000; i++) {
        assert_status(HF_TIMEOUT, wait_up_to(lock, NULL, 1));
        if (i == 200) {
            before = stats_of(w->client).memory_bytes;
        }
    }
    assert_between(stats_of(w->client).memory_bytes, 0, before + 4096);
    assert_int_equal(stats_of(w->client).waiters, 0);
}

/* The usual timeout costs no undoing: what was answered busy is nobody's. */
static void a_wait_that_timed_out_leaves_nothing_to_undo(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    int64_t asked;

    stranger_takes(w, NAME, 600000);
    assert_status(HF_TIMEOUT, wait_up_to(lock, NULL, 50));
    assert_int_equal(stats_of(w->client).ending, 0);
    asked = stats_of(w->client).scripts_sent;
    assert_true(hft_wait_channels(w->server, 0, BOUND_MS));
    assert_int_equal(stats_of(w->client).scripts_sent, asked);
    assert_int_equal(stats_of(w->client).names, 0);
}

/* PL-78: five tries at once, exactly one wins. */
static void of_many_tries_at_once_exactly_one_wins(void **world)
{
    enum { CALLERS = 5, ROUNDS = 20 };
    struct world *w = *world;
    hf_client *clients[CALLERS];
    int round;
    int i;

    for (i = 0; i < CALLERS; i++) {
        clients[i] = a_client(w);
    }
    for (round = 0; round < ROUNDS; round++) {
        struct caller callers[CALLERS];
        char name[32];
        int winners = 0;

        memset(callers, 0, sizeof(callers));
        (void)snprintf(name, sizeof(name), "race:%d", round);
        for (i = 0; i < CALLERS; i++) {
            hf_acquire how = once(an_owner_of(w, clients[i]), 60000);

            callers[i].hold_ms = -1;
            caller_start_as(&callers[i], a_lock_of(w, clients[i], name), &how);
        }
        for (i = 0; i < CALLERS; i++) {
            caller_join(&callers[i]);
            winners += callers[i].status == HF_OK;
            assert_true(callers[i].status == HF_OK ||
                        callers[i].status == HF_BUSY);
        }
        assert_int_equal(winners, 1);
    }
}

/* LK-36: waits of random length around holds of random length. */
static void waits_of_any_length_end_held_or_timed_out(void **world)
{
    enum { THREADS = 8, ROUNDS = 40 };
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    struct hft_random random = chance();
    int held = 0;
    int round;
    int i;

    for (round = 0; round < ROUNDS; round++) {
        struct caller callers[THREADS];

        memset(callers, 0, sizeof(callers));
        for (i = 0; i < THREADS; i++) {
            callers[i].hold_ms = (int64_t)hft_random_below(&random, 3);
            caller_start(&callers[i], lock,
                         (int64_t)hft_random_below(&random, 10));
        }
        for (i = 0; i < THREADS; i++) {
            caller_join(&callers[i]);
            if (callers[i].status == HF_OK) {
                assert_status(HF_OK, callers[i].release_status);
                held++;
            } else if (callers[i].status != HF_BUSY) {
                assert_status(HF_TIMEOUT, callers[i].status);
            }
        }
    }
    assert_true(held >= ROUNDS);
    assert_int_equal(wire_ttl(w, NAME), -2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        world_test(a_wait_ends_when_its_time_is_over_and_not_before),
        world_test(a_release_ends_a_wait_at_once),
        world_test(a_waiter_wakes_when_the_holders_lease_ends),
        world_test(who_outlived_its_lease_cannot_release_the_next_ones),
        world_test(a_short_lease_does_not_shorten_the_wait),
        world_test(a_signal_does_not_end_a_wait),
        world_test(signals_do_not_prolong_a_wait),
        world_test(waiters_of_one_client_are_served_in_their_order),
        world_test(a_try_does_not_queue_behind_waiters),
        world_test(a_reentry_does_not_queue_behind_waiters),
        world_test(a_lost_message_costs_no_more_than_the_retry_bound),
        world_test(the_default_retry_bound_is_about_two_seconds),
        world_test(a_message_without_a_release_wakes_nobody_wrongly),
        world_test(ten_idle_waiters_ask_less_than_once_a_second),
        world_test(an_idle_client_asks_nothing),
        world_test(waits_that_end_while_subscribing_poison_nothing),
        world_test(two_thousand_timeouts_leave_no_memory_behind),
        world_test(a_wait_that_timed_out_leaves_nothing_to_undo),
        world_test(of_many_tries_at_once_exactly_one_wins),
        world_test(waits_of_any_length_end_held_or_timed_out),
    };

    return cmocka_run_group_tests_name("lock_wait", tests, world_up,
                                       world_down);
}
