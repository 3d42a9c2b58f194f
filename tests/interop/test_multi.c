/* SPDX-License-Identifier: MIT */
/* test_multi.c - multi locks and red locks between our library and Redisson.
 * Neither has anything of its own on a server: what counts is whom the members
 * exclude, and that nothing is left of an attempt that failed.
 */
#include "both.h"

#include <string.h>

#define MEMBERS 3

static const char *const names[MEMBERS] = {"red:a", "red:b", "red:c"};

#define JAVA_MULTI "multi lock:red:a,lock:red:b,lock:red:c"
#define JAVA_RED "red lock:red:a,lock:red:b,lock:red:c"

/* ---- what a test makes --------------------------------------------------- */

static hf_group *groups[8];
static size_t group_count;

static int groups_end(void **world)
{
    int failed = world_end(world);

    while (group_count > 0) {
        assert_ok(hf_group_free(groups[--group_count]));
    }
    return failed;
}

#define group_test(function)                                                   \
    cmocka_unit_test_setup_teardown(function, world_begin, groups_end)

static void make_members(struct world *w, hf_client *client,
                         hf_lock *ret_members[MEMBERS])
{
    size_t i;

    for (i = 0; i < MEMBERS; i++) {
        ret_members[i] = a_lock_of(w, client, names[i]);
    }
}

static hf_group *a_multi_lock(struct world *w, hf_client *client)
{
    hf_lock *members[MEMBERS];

    make_members(w, client, members);
    assert_ok(
        hf_multi_lock_new(members, MEMBERS, &groups[group_count], &problem));
    return groups[group_count++];
}

static hf_group *a_red_lock(struct world *w, hf_client *client)
{
    hf_lock *members[MEMBERS];

    make_members(w, client, members);
    assert_ok(hf_red_lock_new(members, MEMBERS, NULL, &groups[group_count],
                              &problem));
    return groups[group_count++];
}

/* ---- in short ------------------------------------------------------------ */

static hf_status try_group(hf_group *group, hf_owner *owner)
{
    hf_acquire how = once(owner, HOLD_MS);

    how.renew = 0;
    return hf_group_acquire(group, &how, NULL, &problem);
}

static hf_status leave_group(hf_group *group, hf_owner *owner)
{
    return hf_group_release(group, owner, NULL, &problem);
}

static int held_members(struct world *w)
{
    return (int)hft_int(w->server, "EXISTS %s %s %s", names[0], names[1],
                        names[2]);
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
    assert_int_equal(waiting->status, HF_OK);
    assert_int_equal(waiting->release_status, HF_OK);
}

/* ---- multi locks --------------------------------------------------------- */

static void multi_locks_of_both_sides_exclude_each_other(void **world)
{
    struct world *w = *world;
    hf_group *group = a_multi_lock(w, w->client);

    assert_ok(try_group(group, NULL));
    assert_int_equal(held_members(w), MEMBERS);
    assert_java("ok false", java_ask("a/t1 try " JAVA_MULTI));
    assert_java("ok false", java_ask("a/t1 try lock red:b"));
    assert_ok(leave_group(group, NULL));
    assert_int_equal(held_members(w), 0);
    assert_java("ok true", java_ask("a/t1 try " JAVA_MULTI));
    assert_status(HF_BUSY, try_group(group, NULL));
    assert_int_equal(held_members(w), MEMBERS);
    assert_java("ok", java_ask("a/t1 release " JAVA_MULTI));
    assert_int_equal(held_members(w), 0);
}

/* One script took them, and each is a lock by itself; one that Java has in the
 * middle keeps it from taking any, until it is released.
 * spec: together/java-1 */
static void each_member_is_an_ordinary_lock_to_the_other_side(void **world)
{
    static struct waiting waiting;
    struct world *w = *world;
    hf_group *group = a_multi_lock(w, w->client);

    assert_ok(try_group(group, NULL));
    assert_ok(try_group(group, NULL));
    for (size_t i = 0; i < MEMBERS; i++) {
        assert_java("ok true", java_ask("a/t1 is-locked lock %s", names[i]));
        assert_java("ok 0", java_ask("a/t1 count lock %s", names[i]));
        assert_int_equal(wire_count(w, names[i]), 2);
        assert_between(wire_ttl(w, names[i]), 1, HOLD_MS);
    }
    assert_ok(leave_group(group, NULL));
    assert_ok(leave_group(group, NULL));
    assert_java("ok true", java_ask("a/t1 try lock red:b"));
    assert_status(HF_BUSY, try_group(group, NULL));
    assert_non_null(strstr(problem.message, "red:b"));
    assert_int_equal(held_members(w), 1);
    we_begin(&waiting, group);
    assert_true(waiters_become(w->client, 1, BOUND_MS));
    assert_java("ok true", java_ask("b/t1 try lock red:a")); /* it holds none */
    assert_java("ok", java_ask("b/t1 release lock red:a"));
    assert_java("ok", java_ask("a/t1 release lock red:b"));
    it_ends_well(&waiting);
    assert_int_equal(held_members(w), 0);
}

static void an_attempt_that_meets_one_lock_leaves_nothing(void **world)
{
    struct world *w = *world;
    hf_group *group = a_multi_lock(w, w->client);
    hf_lock *last = a_lock(w, names[2]);

    assert_java("ok true", java_ask("a/t1 try lock red:c"));
    assert_status(HF_BUSY, try_group(group, NULL));
    assert_int_equal(held_members(w), 1);
    assert_java("ok", java_ask("a/t1 release lock red:c"));
    assert_ok(try_once(last, NULL));
    assert_java("ok false", java_ask("a/t1 try " JAVA_MULTI));
    assert_int_equal(held_members(w), 1);
    assert_ok(leave(last, NULL));
}

static void either_multi_lock_waits_for_the_other(void **world)
{
    static struct waiting waiting;
    struct world *w = *world;
    hf_group *group = a_multi_lock(w, w->client);
    unsigned waiter;

    assert_ok(try_group(group, NULL));
    waiter = java_begins("a/t1", "acquire " JAVA_MULTI);
    assert_ok(leave_group(group, NULL));
    assert_java("ok", java_answer(waiter, WAKE_MS));

    we_begin(&waiting, group);
    assert_true(waiters_become(w->client, 1, BOUND_MS));
    assert_java("ok", java_ask("a/t1 release " JAVA_MULTI));
    it_ends_well(&waiting);
    assert_int_equal(held_members(w), 0);
}

/* Two that take the same locks in opposite orders do not wait for ever: Redisson
 * gives back what it has after some seconds. */
static void groups_of_both_sides_never_stall_each_other(void **world)
{
    static struct waiting waiting;
    struct world *w = *world;
    hf_group *group = a_multi_lock(w, w->client);
    int round;

    for (round = 0; round < 4; round++) {
        unsigned java = java_send("a/t1 cycle multi lock:red:c,lock:red:b,"
                                  "lock:red:a 3 sum");

        we_begin(&waiting, group);
        it_ends_well(&waiting);
        assert_java("ok 3", java_answer(java, HOLD_MS));
    }
    assert_int_equal(hft_int(w->server, "GET sum"), 12);
    assert_int_equal(held_members(w), 0);
}

/* ---- red locks ----------------------------------------------------------- */

static void red_locks_of_both_sides_exclude_each_other(void **world)
{
    struct world *w = *world;
    hf_group *group = a_red_lock(w, w->client);

    assert_ok(try_group(group, NULL));
    assert_java("ok false", java_ask("a/t1 try " JAVA_RED));
    assert_ok(leave_group(group, NULL));
    assert_true(hft_wait_int(w->server, 0, BOUND_MS, "EXISTS %s %s %s",
                             names[0], names[1], names[2]));
    assert_java("ok true", java_ask("a/t1 try " JAVA_RED));
    assert_status(HF_BUSY, try_group(group, NULL));
    assert_java("ok", java_ask("a/t1 release " JAVA_RED));
    assert_true(hft_wait_int(w->server, 0, BOUND_MS, "EXISTS %s %s %s",
                             names[0], names[1], names[2]));
}

/* Who has two of three has it; who has one has not. */
static void a_quorum_is_enough_beside_a_lock_of_the_other_side(void **world)
{
    struct world *w = *world;
    hf_group *group = a_red_lock(w, w->client);
    hf_lock *one = a_lock(w, names[1]);
    hf_owner *me = an_owner(w);

    assert_java("ok true", java_ask("a/t2 try lock red:b"));
    assert_ok(try_group(group, NULL));
    assert_true(hf_group_is_held(group, NULL));
    assert_java("ok false", java_ask("a/t1 try " JAVA_RED));
    assert_java("ok true", java_ask("a/t2 is-held lock red:b"));
    assert_ok(leave_group(group, NULL));
    assert_java("ok", java_ask("a/t2 release lock red:b"));

    assert_ok(try_fixed(one, me, HOLD_MS));
    assert_java("ok true", java_ask("a/t1 try " JAVA_RED));
    assert_status(HF_BUSY, try_group(group, NULL));
    assert_true(hf_lock_is_held(one, me));
    assert_java("ok", java_ask("a/t1 release " JAVA_RED));
    assert_ok(leave(one, me));
    assert_true(hft_wait_int(w->server, 0, BOUND_MS, "EXISTS %s %s %s",
                             names[0], names[1], names[2]));
}

static void either_red_lock_waits_for_the_other(void **world)
{
    static struct waiting waiting;
    struct world *w = *world;
    hf_group *group = a_red_lock(w, w->client);
    unsigned waiter;

    assert_ok(try_group(group, NULL));
    waiter = java_send("a/t1 acquire " JAVA_RED);
    assert_null(java_answer(waiter, 200));
    assert_ok(leave_group(group, NULL));
    assert_java("ok", java_answer(waiter, WAKE_MS));

    we_begin(&waiting, group);
    assert_true(waiters_become(w->client, 1, BOUND_MS));
    assert_java("ok", java_ask("a/t1 release " JAVA_RED));
    it_ends_well(&waiting);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        group_test(multi_locks_of_both_sides_exclude_each_other),
        group_test(each_member_is_an_ordinary_lock_to_the_other_side),
        group_test(an_attempt_that_meets_one_lock_leaves_nothing),
        group_test(either_multi_lock_waits_for_the_other),
        group_test(groups_of_both_sides_never_stall_each_other),
        group_test(red_locks_of_both_sides_exclude_each_other),
        group_test(a_quorum_is_enough_beside_a_lock_of_the_other_side),
        group_test(either_red_lock_waits_for_the_other),
    };
    int failed;

    both_begin(argc, argv);
    failed = cmocka_run_group_tests_name("groups", tests, both_up, both_down);
    both_end();
    return failed;
}
