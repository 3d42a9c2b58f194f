/* SPDX-License-Identifier: MIT */
/* test_red.c - red locks and multi locks over three servers between our library
 * and Redisson, as both are meant: each member on a server of its own.
 *
 * Redisson's has a client for each server ("j0", "j1", "j2"); the owner of a
 * member is the same thread in each, with the UUID of that client.
 */
#include "both.h"

#include <string.h>

#include "fleet.h"
#include "support/crew.h"

#define NAME "red:42"
#define SERVERS 3

#define JAVA_MEMBERS "j0@lock:" NAME ",j1@lock:" NAME ",j2@lock:" NAME
#define JAVA_RED "red " JAVA_MEMBERS
#define JAVA_MULTI "multi " JAVA_MEMBERS

/* Long enough for an answer here, and no delay where a server is away. */
#define JAVA_OPTIONS "watchdog=3000 timeout=2000"

static int servers_up(void **world)
{
    int result = both_up(world);

    fleet_start(SERVERS, true);
    for (int i = 0; i < SERVERS; i++) {
        assert_java("ok",
                    java_ask("j%d open redis://127.0.0.1:%d %s", i,
                             hft_server_port(fleet.servers[i]), JAVA_OPTIONS));
    }
    return result;
}

static int servers_down(void **world)
{
    for (int i = 0; i < SERVERS; i++) {
        assert_java("ok", java_ask("j%d close", i));
    }
    fleet_stop();
    return both_down(world);
}

static bool nothing_is_left(void)
{
    return fleet_held_becomes(NAME, 0, BOUND_MS);
}

/* A thread of ours that waits for a group, and releases it at once. */
struct waiting {
    hf_group *group;
    hf_status status;
    hf_status release_status;
    pthread_t thread;
};

static void *wait_for_it(void *context)
{
    struct waiting *waiting = context;
    hf_acquire how = HF_ACQUIRE_INIT;

    how.wait_ms = HOLD_MS;
    waiting->status = hf_group_acquire(waiting->group, &how, NULL, NULL);
    waiting->release_status = hf_group_release(waiting->group, NULL, NULL,
                                               NULL);
    return NULL;
}

static void we_begin(struct waiting *waiting, hf_group *group)
{
    waiting->group = group;
    assert_int_equal(
        pthread_create(&waiting->thread, NULL, wait_for_it, waiting), 0);
}

static void it_ends_well(struct waiting *waiting)
{
    assert_int_equal(pthread_join(waiting->thread, NULL), 0);
    assert_status(HF_OK, waiting->status);
    assert_status(HF_OK, waiting->release_status);
}

/* ---- both kinds of group --------------------------------------------------- */

static void each_keeps_the_other_out(hf_group *group, const char *java)
{
    assert_ok(group_try(group, NULL));
    assert_int_equal(fleet_held(NAME), SERVERS);
    assert_java("ok false", java_ask("j0/t1 try %s", java));
    assert_int_equal(fleet_held(NAME), SERVERS);
    assert_ok(group_leave(group, NULL));
    assert_true(nothing_is_left());
    assert_java("ok true", java_ask("j0/t1 try %s", java));
    assert_int_equal(fleet_held(NAME), SERVERS);
    assert_status(HF_BUSY, group_try(group, NULL));
    assert_int_equal(fleet_held(NAME), SERVERS);
    assert_java("ok", java_ask("j0/t1 release %s", java));
    assert_true(nothing_is_left());
}

static void each_waits_for_the_other(struct world *w, hf_group *group,
                                     const char *java)
{
    static struct waiting waiting;
    unsigned waiter;

    (void)w;
    assert_ok(group_try(group, NULL));
    waiter = java_send("j0/t1 acquire %s", java);
    assert_null(java_answer(waiter, 500));
    assert_ok(group_leave(group, NULL));
    assert_java("ok", java_answer(waiter, WAKE_MS));

    we_begin(&waiting, group);
    assert_true(waiters_become(fleet.clients[0], 1, BOUND_MS));
    assert_java("ok", java_ask("j0/t1 release %s", java));
    it_ends_well(&waiting);
    assert_true(nothing_is_left());
}

/* ML-04 */
static void multi_locks_exclude_each_other(void **world)
{
    each_keeps_the_other_out(a_group_of_fleet(*world, NAME), JAVA_MULTI);
}

static void multi_locks_wait_for_each_other(void **world)
{
    each_waits_for_the_other(*world, a_group_of_fleet(*world, NAME),
                             JAVA_MULTI);
}

static void red_locks_exclude_each_other(void **world)
{
    each_keeps_the_other_out(a_red_lock(*world, NAME, NULL), JAVA_RED);
}

static void red_locks_wait_for_each_other(void **world)
{
    each_waits_for_the_other(*world, a_red_lock(*world, NAME, NULL), JAVA_RED);
}

/* All or nothing, whichever server has the one that is taken. */
static void a_multi_lock_that_meets_one_leaves_nothing(void **world)
{
    hf_group *group = a_group_of_fleet(*world, NAME);
    hf_owner *stranger = an_owner_of(*world, fleet.clients[2]);
    hf_lock *last = a_lock_of(*world, fleet.clients[2], NAME);

    for (int i = 0; i < SERVERS; i++) {
        assert_java("ok true", java_ask("j%d/t2 try lock " NAME, i));
        assert_status(HF_BUSY, group_try(group, NULL));
        assert_true(fleet_held_becomes(NAME, 1, BOUND_MS));
        assert_java("ok", java_ask("j%d/t2 release lock " NAME, i));
    }
    assert_ok(try_once(last, stranger));
    assert_java("ok false", java_ask("j0/t1 try " JAVA_MULTI));
    assert_true(fleet_held_becomes(NAME, 1, BOUND_MS));
    assert_ok(leave(last, stranger));
}

/* ---- quorum ----------------------------------------------------------------- */

/* RL-06, RL-07: who has two of three has it. */
static void a_quorum_is_enough_for_either(void **world)
{
    hf_group *group = a_red_lock(*world, NAME, NULL);

    for (int i = 0; i < SERVERS; i++) {
        hf_owner *me = an_owner_of(*world, fleet.clients[i]);
        hf_lock *one = a_lock_of(*world, fleet.clients[i], NAME);

        assert_java("ok true", java_ask("j%d/t2 try lock " NAME, i));
        assert_ok(group_try(group, NULL));
        assert_java("ok false", java_ask("j0/t1 try " JAVA_RED));
        assert_ok(group_leave(group, NULL));
        assert_java("ok", java_ask("j%d/t2 release lock " NAME, i));
        assert_true(nothing_is_left());

        assert_ok(try_fixed(one, me, HOLD_MS));
        assert_java("ok true", java_ask("j0/t1 try " JAVA_RED));
        assert_status(HF_BUSY, group_try(group, NULL));
        assert_true(hf_lock_is_held(one, me));
        assert_java("ok", java_ask("j0/t1 release " JAVA_RED));
        assert_ok(leave(one, me));
        assert_true(nothing_is_left());
    }
}

/* RL-05, RL-33: who finds two of three taken has none, and leaves none. */
static void less_than_a_quorum_is_nothing(void **world)
{
    hf_group *group = a_red_lock(*world, NAME, NULL);

    assert_java("ok true", java_ask("j0/t2 try lock " NAME));
    assert_java("ok true", java_ask("j1/t2 try lock " NAME));
    assert_status(HF_BUSY, group_try(group, NULL));
    assert_true(fleet_held_becomes(NAME, 2, BOUND_MS));
    assert_java("ok false", java_ask("j0/t1 try " JAVA_RED));
    assert_true(fleet_held_becomes(NAME, 2, BOUND_MS));
    assert_java("ok", java_ask("j0/t2 release lock " NAME));
    assert_java("ok", java_ask("j1/t2 release lock " NAME));
}

static bool java_has_answers_of(void *client)
{
    return strcmp(
               java_ask("%s/t1 is-locked lock nothing", (const char *)client),
               "ok false") == 0;
}

/* A server is back, and Java has noticed. */
static void comes_back(size_t at)
{
    char client[] = "j0";

    client[1] = (char)('0' + at);
    hft_server_start_again(fleet.servers[at]);
    assert_true(hft_wait_until(java_has_answers_of, client, HOLD_MS));
}

/* RL-08: two of three servers are enough, for both; and that they have it in
 * common with nobody does not change when the third is back. */
static void a_server_that_is_away_stops_neither(void **world)
{
    hf_group *group = a_red_lock(*world, NAME, NULL);

    hft_server_kill(fleet.servers[2]);
    assert_ok(group_try(group, NULL));
    assert_java("ok false", java_ask("j0/t1 try " JAVA_RED));
    comes_back(2);
    assert_java("ok false", java_ask("j0/t1 try " JAVA_RED));
    assert_ok(group_leave(group, NULL));
    assert_true(nothing_is_left());

    hft_server_kill(fleet.servers[1]);
    assert_java("ok true", java_ask("j0/t1 try " JAVA_RED));
    assert_status(HF_BUSY, group_try(group, NULL));
    comes_back(1);
    assert_status(HF_BUSY, group_try(group, NULL));
    assert_java("ok", java_ask("j0/t1 release " JAVA_RED));
    assert_true(nothing_is_left());
    assert_ok(group_wait(group, NULL, WAKE_MS));
    assert_ok(group_leave(group, NULL));
    assert_true(nothing_is_left());
}

/* ---- all at once ------------------------------------------------------------ */

#define ROUNDS 8
#define MEMBERS 2

static void add_one_by_one(struct hft_member *me)
{
    hf_group *group = me->context;

    for (int round = 0; round < ROUNDS; round++) {
        int64_t sum;

        if (!HFT_CHECK(me,
                       hf_group_acquire(group, NULL, NULL, NULL) == HF_OK)) {
            return;
        }
        sum = hft_int(fleet.servers[0], "GET sum");
        (void)hft_int(fleet.servers[0], "SET sum %lld", (long long)sum + 1);
        if (!HFT_CHECK(me,
                       hf_group_release(group, NULL, NULL, NULL) == HF_OK)) {
            return;
        }
    }
}

static void never_overlap(hf_group *group, const char *java)
{
    struct hft_crew *crew;
    unsigned asked[2];

    (void)hft_str(fleet.servers[0], "SET sum 0");
    asked[0] = java_send("j0/t1 cycle %s %d sum", java, ROUNDS);
    asked[1] = java_send("j0/t2 cycle %s %d sum", java, ROUNDS);
    crew = hft_crew_start(MEMBERS, add_one_by_one, group);
    assert_null(hft_crew_join(crew, 2 * HOLD_MS));
    hft_crew_free(crew);
    assert_java_begins("ok", java_answer(asked[0], HOLD_MS));
    assert_java_begins("ok", java_answer(asked[1], HOLD_MS));
    assert_int_equal(hft_int(fleet.servers[0], "GET sum"),
                     (MEMBERS + 2) * ROUNDS);
    assert_true(nothing_is_left());
}

static void threads_of_both_sides_never_overlap(void **world)
{
    never_overlap(a_red_lock(*world, NAME, NULL), JAVA_RED);
    never_overlap(a_group_of_fleet(*world, NAME), JAVA_MULTI);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        fleet_test(multi_locks_exclude_each_other),
        fleet_test(multi_locks_wait_for_each_other),
        fleet_test(a_multi_lock_that_meets_one_leaves_nothing),
        fleet_test(red_locks_exclude_each_other),
        fleet_test(red_locks_wait_for_each_other),
        fleet_test(a_quorum_is_enough_for_either),
        fleet_test(less_than_a_quorum_is_nothing),
        fleet_test(a_server_that_is_away_stops_neither),
        fleet_test(threads_of_both_sides_never_overlap),
    };
    int failed;

    both_begin(argc, argv);
    failed = cmocka_run_group_tests_name("over servers", tests, servers_up,
                                         servers_down);
    both_end();
    return failed;
}
