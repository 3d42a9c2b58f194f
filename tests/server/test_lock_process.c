/* SPDX-License-Identifier: MIT */
/* test_lock_process.c - several processes, and what becomes of the others when
 * one is killed or stopped.
 *
 * Rows: LK-12, PL-31 (24 processes instead of 125), PL-65, 15.15, 15.16, T7 (a
 * process stopped for two leases), T20 (12 killed waiters instead of 10,000).
 */
#include "world.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "party.h"
#include "support/child.h"
#include "support/clock.h"

#define NAME "process"

static struct hft_child *a_party_that_holds(struct world *w, int64_t lease_ms)
{
    struct hft_child *party = party_start(hft_server_url(w->server), NAME,
                                          lease_ms);

    assert_true(hft_child_wait_out(party, "take=HF_OK\n", BOUND_MS));
    return party;
}

/* LK-12, PL-65, 15.15: killed while it holds; free within its lease. */
static void a_killed_holder_keeps_it_for_one_lease_at_most(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    struct hft_child *party = a_party_that_holds(w, 700);
    int64_t killed_ms;

    hft_let_pass_ms(1000); /* the watchdog is at work */
    assert_status(HF_BUSY, try_once(lock, NULL));
    killed_ms = hft_now_ms();
    hft_child_signal(party, SIGKILL);
    assert_ok(wait_up_to(lock, NULL, BOUND_MS));
    assert_between(hft_now_ms() - killed_ms, 100, 700 + 50 + SLACK_MS);
    assert_ok(leave(lock, NULL));
    hft_child_free(party);
}

/* 15.15: the end of another process of the same program is nothing to us. */
static void the_end_of_one_process_is_nothing_to_anothers_lease(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, "other");
    struct hft_child *party = a_party_that_holds(w, 700);

    assert_ok(try_once(lock, NULL));
    hft_child_signal(party, SIGKILL);
    hft_let_pass_ms(2 * W_MS);
    assert_true(hf_lock_is_held(lock, NULL));
    assert_ok(leave(lock, NULL));
    hft_child_free(party);
}

/* T7, 15.16: stopped past its lease, and continued when the lock is another's:
 * the first thing it asks says lost, and it touches nothing. */
static void a_holder_stopped_past_its_lease_wakes_up_without_it(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    struct hft_child *party = a_party_that_holds(w, 700);
    char expected[64];
    char *owner;

    (void)snprintf(expected, sizeof(expected), "state=%d reason=%d\n",
                   HF_STATE_LOST, HF_LOST_EXPIRED);
    assert_true(party_says(party, "held", "held=1\n"));
    hft_child_signal(party, SIGSTOP);
    assert_true(hft_child_wait_stopped(party, BOUND_MS));
    assert_ok(wait_up_to(lock, NULL, BOUND_MS));
    hft_let_pass_ms(700);
    owner = strdup(wire_owner(w, NAME));
    hft_child_type(party, "held\n"); /* asked while it is stopped */
    hft_child_signal(party, SIGCONT);
    assert_true(hft_child_wait_out(party, "held=0\n", BOUND_MS));
    assert_true(party_says(party, "state", expected));
    assert_true(party_says(party, "release", "release=HF_LOST\n"));
    hft_let_pass_ms(200);
    assert_string_equal(wire_owner(w, NAME), owner);
    assert_true(hf_lock_is_held(lock, NULL));
    assert_ok(leave(lock, NULL));
    assert_true(party_says(party, "take", "take=HF_OK\n"));
    free(owner);
    hft_child_free(party);
}

/* T20: the waiter that was woken is killed in that very moment; whoever else
 * waits goes on within a lease. */
static void a_waiter_killed_as_it_is_woken_stops_nobody(void **world)
{
    enum { ROUNDS = 12, LEASE_MS = 500 };
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    struct hft_random random = chance();
    int round;

    for (round = 0; round < ROUNDS; round++) {
        struct caller waiter = {.hold_ms = 0};
        struct hft_child *party;
        int64_t released_ms;
        int64_t spin_until_ms;

        stranger_takes(w, NAME, 600000);
        party = party_start(hft_server_url(w->server), NAME, LEASE_MS);
        assert_true(hft_wait_int(w->server, 1, BOUND_MS, "PUBSUB CHANNELS"));
        caller_start(&waiter, lock, HF_WAIT_FOREVER);
        assert_true(waiters_become(w->client, 1, BOUND_MS));
        spin_until_ms = hft_now_ms() + (int64_t)hft_random_below(&random, 2);
        released_ms = hft_now_ms();
        stranger_releases(w, NAME);
        while (hft_now_ms() < spin_until_ms) {
            /* Now and then it is past its attempt, now and then before. */
        }
        hft_child_signal(party, SIGKILL);
        caller_join(&waiter);
        assert_status(HF_OK, waiter.status);
        assert_status(HF_OK, waiter.release_status);
        assert_between(waiter.ended_ms - released_ms, 0,
                       LEASE_MS + 100 + SLACK_MS);
        hft_child_free(party);
    }
}

/* PL-31: many processes at once, each holds for a moment; a counter that is
 * read and written in two commands loses nothing.  The party program does not
 * count: each holder's turn is watched from here. */
static void processes_take_turns_and_each_gets_one(void **world)
{
    enum { PARTIES = 24 };
    struct world *w = *world;
    struct hft_child *parties[PARTIES];
    bool served[PARTIES] = {false};
    int left = PARTIES;
    int64_t end_ms = hft_now_ms() + 60000;
    int i;

    for (i = 0; i < PARTIES; i++) {
        parties[i] = party_start(hft_server_url(w->server), NAME, 5000);
    }
    while (left > 0 && hft_now_ms() < end_ms) {
        int inside = 0;
        int who = -1;

        for (i = 0; i < PARTIES; i++) {
            if (!served[i] &&
                strstr(hft_child_out(parties[i]), "take=HF_OK\n") != NULL) {
                inside++;
                who = i;
            }
        }
        assert_true(inside <= 1);
        if (who >= 0) {
            assert_int_equal(wire_fields(w, NAME), 1);
            served[who] = true;
            left--;
            assert_true(party_says(parties[who], "release", "release=HF_OK\n"));
        } else {
            hft_let_pass_ms(1);
        }
    }
    assert_int_equal(left, 0);
    for (i = 0; i < PARTIES; i++) {
        hft_child_free(parties[i]);
    }
    assert_int_equal(wire_ttl(w, NAME), -2);
}

static struct hft_child *a_party_at(struct world *w, const char *offset)
{
    return party_start_as(hft_server_url(w->server), NAME, 700, "lock",
                          hft_clock_off_by(offset));
}

/* T23: wall clocks ten minutes behind or ahead: each holds for as long
 * as it lives, waits for as long as it has to, and loses it within a lease.
 * spec: rlock/ttl-4 */
static void wrong_clocks_of_processes_change_nothing(void **world)
{
    struct world *w = *world;
    struct hft_child *behind;
    struct hft_child *ahead;

    if (hft_clock_off_by("+0") == NULL) {
        skip();
    }
    behind = a_party_at(w, "-10m");
    assert_true(hft_child_wait_out(behind, "take=HF_OK\n", BOUND_MS));
    ahead = a_party_at(w, "+10m");
    assert_true(hft_child_wait_out(ahead, "ready\n", BOUND_MS));
    hft_let_pass_ms(2000); /* renewed three times and more */
    assert_true(party_says(behind, "held", "held=1\n"));
    assert_null(strstr(hft_child_out(ahead), "take="));
    hft_child_signal(behind, SIGKILL);
    assert_true(hft_child_wait_out(ahead, "take=HF_OK\n", BOUND_MS));
    hft_let_pass_ms(2000);
    assert_true(party_says(ahead, "held", "held=1\n"));
    assert_true(party_says(ahead, "release", "release=HF_OK"));
    hft_child_free(behind);
    hft_child_free(ahead);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        world_test(a_killed_holder_keeps_it_for_one_lease_at_most),
        world_test(the_end_of_one_process_is_nothing_to_anothers_lease),
        world_test(a_holder_stopped_past_its_lease_wakes_up_without_it),
        world_test(a_waiter_killed_as_it_is_woken_stops_nobody),
        world_test(processes_take_turns_and_each_gets_one),
        world_test(wrong_clocks_of_processes_change_nothing),
    };

    party_main(argc, argv);
    return cmocka_run_group_tests_name("lock_process", tests, world_up,
                                       world_down);
}
