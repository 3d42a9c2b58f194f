/* SPDX-License-Identifier: MIT */
/* test_lock_fair_process.c - a fair lock between processes: order, waiters that
 * are killed, and clocks that are wrong.
 *
 * Rows: FL-24 (in little), FL-40, 15.19, IS-21; T21, T23.
 */
#include "world.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "listener.h"
#include "party.h"
#include "support/child.h"
#include "support/clock.h"

#define NAME "counter"
#define QUEUE "redisson_lock_queue:{counter}"
#define CHANNEL "redisson_lock__channel:{counter}"
#define JAVA "0badcafe-0bad-4afe-8bad-cafe0badcafe:7"
#define PARTIES 5

static hf_lock *a_fair_lock(struct world *w)
{
    hf_lock *lock = NULL;

    assert_ok(hf_fair_lock_new(w->client, NAME, &lock, &problem));
    keep_lock(w, lock);
    return lock;
}

/* A process that stands in the queue behind all who do already. */
static struct hft_child *a_party_in_line(struct world *w,
                                         const char *const *env)
{
    int64_t length = hft_int(w->server, "LLEN " QUEUE);
    struct hft_child *party = party_start_as(hft_server_url(w->server), NAME,
                                             2000, "fair", env);

    assert_true(hft_child_wait_out(party, "ready\n", BOUND_MS));
    assert_true(hft_wait_int(w->server, length + 1, BOUND_MS, "LLEN " QUEUE));
    return party;
}

/* Each has it in its turn, and only then. */
static void take_turns(struct hft_child **parties, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        assert_true(hft_child_wait_out(parties[i], "take=HF_OK\n", BOUND_MS));
        for (size_t later = i + 1; later < count; later++) {
            assert_null(strstr(hft_child_out(parties[later]), "take="));
        }
        assert_true(party_says(parties[i], "release", "release=HF_OK"));
        hft_child_free(parties[i]);
    }
}

/* 15.19. */
static void processes_are_served_in_their_order(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_fair_lock(w);
    struct hft_child *parties[PARTIES];

    assert_ok(try_once(lock, NULL));
    for (size_t i = 0; i < PARTIES; i++) {
        parties[i] = a_party_in_line(w, NULL);
    }
    assert_ok(leave(lock, NULL));
    take_turns(parties, PARTIES);
}

/* T21, IS-21: three who were killed cost the living one the time after which
 * they count as dead, together. */
static void killed_waiters_cost_seconds(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_fair_lock(w);
    struct hft_child *dead[3];
    struct caller waiter = {.hold_ms = 0};
    int64_t killed_ms;

    assert_ok(try_once(lock, NULL));
    for (size_t i = 0; i < 3; i++) {
        dead[i] = a_party_in_line(w, NULL);
    }
    caller_start(&waiter, lock, 60000);
    assert_true(hft_wait_int(w->server, 4, BOUND_MS, "LLEN " QUEUE));
    for (size_t i = 0; i < 3; i++) {
        hft_child_signal(dead[i], SIGKILL);
    }
    killed_ms = hft_now_ms();
    assert_ok(leave(lock, NULL));
    caller_join(&waiter);
    assert_status(HF_OK, waiter.status);
    assert_between(waiter.ended_ms - killed_ms, 500, 5000 + 2500);
    assert_int_equal(hft_int(w->server, "EXISTS " QUEUE), 0);
    for (size_t i = 0; i < 3; i++) {
        hft_child_free(dead[i]);
    }
}

/* FL-40: the death of the first waiter makes the second one first, and not the
 * holder. */
static void who_stands_behind_a_dead_waiter_waits_for_the_holder(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_fair_lock(w);
    struct hft_child *first;
    struct hft_child *second;

    assert_ok(try_once(lock, NULL));
    first = a_party_in_line(w, NULL);
    second = a_party_in_line(w, NULL);
    hft_child_signal(first, SIGKILL);
    assert_true(hft_wait_int(w->server, 1, BOUND_MS, "LLEN " QUEUE));
    assert_false(hft_child_wait_out(second, "take=", 300));
    assert_true(hf_lock_is_held(lock, NULL));
    assert_ok(leave(lock, NULL));
    assert_true(hft_child_wait_out(second, "take=HF_OK\n", 1000 + SLACK_MS));
    assert_true(party_says(second, "release", "release=HF_OK"));
    hft_child_free(first);
    hft_child_free(second);
}

/* T23: wall clocks that are ten minutes ahead and behind change nothing: not the
 * order, not who is taken for dead.
 * spec: fair/queue-4 */
static void wrong_clocks_change_nothing(void **world)
{
    static const char *const offsets[PARTIES] = {"-10m", "+10m", "+0", "+10m",
                                                 "-10m"};
    struct world *w = *world;
    hf_lock *lock = a_fair_lock(w);
    struct hft_child *parties[PARTIES];

    if (hft_clock_off_by("+0") == NULL) {
        skip();
    }
    assert_ok(try_once(lock, NULL));
    for (size_t i = 0; i < PARTIES; i++) {
        parties[i] = a_party_in_line(w, hft_clock_off_by(offsets[i]));
    }
    hft_let_pass_ms(3000); /* all have said once more that they live */
    assert_int_equal(hft_int(w->server, "LLEN " QUEUE), PARTIES);
    assert_ok(leave(lock, NULL));
    take_turns(parties, PARTIES);
}

/* Who was stopped for so long that it counts as dead lost its place, and has
 * its turn after those who lived.
 * spec: fair/java-4 */
static void a_stopped_waiter_loses_its_place_alone(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_fair_lock(w);
    struct hft_child *parties[2];

    assert_ok(try_once(lock, NULL));
    parties[1] = a_party_in_line(w, NULL);
    parties[0] = a_party_in_line(w, NULL);
    hft_child_signal(parties[1], SIGSTOP);
    assert_true(hft_child_wait_stopped(parties[1], BOUND_MS));
    assert_true(hft_wait_int(w->server, 1, BOUND_MS, "LLEN " QUEUE));
    hft_child_signal(parties[1], SIGCONT);
    assert_true(hft_wait_int(w->server, 2, BOUND_MS, "LLEN " QUEUE));
    assert_ok(leave(lock, NULL));
    take_turns(parties, 2);
}

/* The last of ours who is there leaves a dead one of ours before a thread of
 * Java's, and tells that one when it is sure.  spec: fair/again-1 */
static void who_leaves_last_sees_to_it_that_java_is_told(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_fair_lock(w);
    struct listener *ears = listener_new(w->server, CHANNEL ":" JAVA);
    struct hft_child *dead;

    assert_ok(try_once(lock, NULL));
    dead = a_party_in_line(w, NULL);
    /* In one step, as its script does: half of it would be swept. */
    hft_int(w->server,
            "EVAL %s 2 " QUEUE " redisson_lock_timeout:{counter} " JAVA,
            "redis.call('zadd', KEYS[2], 9000000000000, ARGV[1]) "
            "return redis.call('rpush', KEYS[1], ARGV[1])");
    hft_child_signal(dead, SIGKILL);
    assert_ok(leave(lock, NULL));
    assert_null(listener_hear(ears, 300)); /* it may live yet */
    assert_string_equal(listener_hear(ears, BOUND_MS), CHANNEL ":" JAVA " 0");
    assert_string_equal(hft_str(w->server, "LRANGE " QUEUE " 0 -1"), JAVA);
    hft_int(w->server, "DEL " QUEUE " redisson_lock_timeout:{counter}");
    listener_free(ears);
    hft_child_free(dead);
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        world_test(processes_are_served_in_their_order),
        world_test(killed_waiters_cost_seconds),
        world_test(who_stands_behind_a_dead_waiter_waits_for_the_holder),
        world_test(who_leaves_last_sees_to_it_that_java_is_told),
        world_test(wrong_clocks_change_nothing),
        world_test(a_stopped_waiter_loses_its_place_alone),
    };

    party_main(argc, argv);
    return cmocka_run_group_tests(tests, world_up, world_down);
}
