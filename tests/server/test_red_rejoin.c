/* SPDX-License-Identifier: MIT */
/* test_red_rejoin.c - members of a held red lock that were lost, or never had,
 * are taken again: "Members that come back" of docs/design/groups.md.
 */
#include "fleet.h"

#include <string.h>

#define NAME "red"

static int servers_up(void **world)
{
    return fleet_up(world, 3);
}

static bool held_by_votes(void *context)
{
    return hf_group_is_held(context, NULL);
}

/* Members of which nobody took the field. */
static bool field_is_on(size_t at)
{
    return hft_int(fleet.servers[at], "EXISTS %s", NAME) == 1;
}

static bool is_back_on(void *context)
{
    return field_is_on(*(const size_t *)context);
}

static void comes_back_on(size_t at)
{
    assert_true(hft_wait_until(is_back_on, &at, BOUND_MS));
}

static void is_forgotten_by(size_t at)
{
    (void)hft_int(fleet.servers[at], "DEL %s", NAME);
}

static hf_group *a_held_one(struct world *w)
{
    hf_group *red = a_red_lock(w, NAME, NULL);

    assert_ok(group_try(red, NULL));
    assert_true(fleet_held_becomes(NAME, 3, BOUND_MS));
    return red;
}

/* One after the other forgets it: three losses, of which two at once would have
 * been too many.  Each has its vote again before the next. */
static void a_member_that_was_forgotten_comes_back_with_its_vote(void **world)
{
    struct world *w = *world;
    hf_group *red = a_held_one(w);

    for (size_t i = 0; i < 3; i++) {
        is_forgotten_by(i);
        comes_back_on(i);
        hft_let_pass_ms(2 * W_MS); /* renewed, and looked at */
        assert_true(held_by_votes(red));
    }
    assert_ok(group_leave(red, NULL));
    assert_true(fleet_held_becomes(NAME, 0, BOUND_MS));
    hft_let_pass_ms(W_MS); /* and nothing comes back after that */
    assert_int_equal(fleet_held(NAME), 0);
}

static void a_server_that_was_away_from_the_start_joins(void **world)
{
    struct world *w = *world;
    hf_red_options options = HF_RED_INIT;
    hf_group *red;

    options.member_limit_ms = 200;
    red = a_red_lock(w, NAME, &options);
    hft_server_pause(fleet.servers[2]);
    assert_ok(group_try(red, NULL));
    hft_server_resume(fleet.servers[2]);
    assert_true(endings_become(fleet.clients[2], 0, BOUND_MS));
    comes_back_on(2);
    hft_let_pass_ms(2 * W_MS);
    is_forgotten_by(0); /* without the third it would be lost */
    hft_let_pass_ms(W_MS);
    assert_true(held_by_votes(red));
    assert_ok(group_leave(red, NULL));
    assert_true(fleet_held_becomes(NAME, 0, BOUND_MS));
}

/* What somebody else has is his; and it is asked for again, but not often. */
static void what_others_have_is_waited_for_without_haste(void **world)
{
    struct world *w = *world;
    hf_group *red = a_held_one(w);
    int64_t calls;

    is_forgotten_by(1);
    fleet_stranger(1, NAME, 60000);
    calls = stats_of(fleet.clients[1]).scripts_sent;
    hft_let_pass_ms(3 * W_MS); /* nine looks, and as many renewals */
    assert_between(stats_of(fleet.clients[1]).scripts_sent - calls, 1, 30);
    assert_int_equal(hft_int(fleet.servers[1], "HLEN %s", NAME), 1);
    fleet_stranger_leaves(1, NAME);
    comes_back_on(1);
    assert_true(held_by_votes(red));
    assert_ok(group_leave(red, NULL));
    assert_true(fleet_held_becomes(NAME, 0, BOUND_MS));
}

static void a_group_that_was_lost_stays_lost(void **world)
{
    struct world *w = *world;
    hf_group *red = a_held_one(w);

    is_forgotten_by(0);
    is_forgotten_by(1);
    hft_let_pass_ms(2 * W_MS);
    assert_false(held_by_votes(red));
    assert_int_equal(hf_group_state_of(red, NULL, NULL), HF_STATE_LOST);
    assert_false(field_is_on(0) && field_is_on(1));
    assert_status(HF_LOST, group_leave(red, NULL));
    assert_true(fleet_held_becomes(NAME, 0, BOUND_MS));
    hft_let_pass_ms(W_MS);
    assert_int_equal(fleet_held(NAME), 0);
    assert_ok(group_try(red, NULL));
    assert_ok(group_leave(red, NULL));
}

/* A newcomer stands for nobody until the others were renewed after it. */
static void it_has_no_vote_until_the_others_were_renewed(void **world)
{
    struct world *w = *world;
    hf_group *red = a_red_lock(w, NAME, NULL);
    hf_acquire how = once(NULL, 9000); /* renewed, looked at every 3 s */

    assert_ok(hf_group_acquire(red, &how, NULL, &problem));
    assert_true(fleet_held_becomes(NAME, 3, BOUND_MS));
    is_forgotten_by(2);
    comes_back_on(2);
    is_forgotten_by(1);
    (void)hf_group_extend(red, NULL, 9000, NULL, &problem); /* finds it gone */
    assert_false(held_by_votes(red));
    (void)group_leave(red, NULL);
    assert_true(fleet_held_becomes(NAME, 0, BOUND_MS));
}

/* Nobody renews a fixed lease, so there is no margin to restore. */
static void a_fixed_lease_is_left_alone(void **world)
{
    struct world *w = *world;
    hf_group *red = a_red_lock(w, NAME, NULL);
    hf_acquire how = once(NULL, 60000);

    how.renew = 0;
    assert_ok(hf_group_acquire(red, &how, NULL, &problem));
    assert_true(fleet_held_becomes(NAME, 3, BOUND_MS));
    is_forgotten_by(0);
    hft_let_pass_ms(W_MS);
    assert_false(field_is_on(0));
    assert_true(held_by_votes(red));
    assert_ok(group_leave(red, NULL));
}

/* Levels of an outer and an inner hold; the member joins the outer one. */
static void a_member_comes_back_into_a_nested_hold(void **world)
{
    struct world *w = *world;
    hf_group *red = a_held_one(w);

    assert_ok(group_try(red, NULL));
    is_forgotten_by(0);
    comes_back_on(0);
    hft_let_pass_ms(2 * W_MS);
    assert_int_equal(hf_group_hold_count(red, NULL), 2);
    assert_ok(group_leave(red, NULL));
    assert_true(held_by_votes(red));
    assert_true(field_is_on(0));
    is_forgotten_by(1); /* it has a vote */
    hft_let_pass_ms(W_MS / 2);
    assert_true(held_by_votes(red));
    assert_ok(group_leave(red, NULL));
    assert_true(fleet_held_becomes(NAME, 0, BOUND_MS));
}

/* Left at whatever moment of it.  A machine that is so busy that a lease was
 * lost has shown the same. */
static void it_ends_in_the_middle_of_it_without_a_rest(void **world)
{
    struct world *w = *world;
    hf_group *red = a_red_lock(w, NAME, NULL);
    hf_acquire how = once(NULL, 600); /* it looks every 200 ms */

    for (int i = 0; i < 30; i++) {
        hf_status left;

        assert_ok(hf_group_acquire(red, &how, NULL, &problem));
        assert_true(fleet_held_becomes(NAME, 3, BOUND_MS));
        is_forgotten_by((size_t)i % 3);
        hft_let_pass_ms(180 + 8 * i);
        left = group_leave(red, NULL);
        assert_true(left == HF_OK || left == HF_LOST);
        assert_true(fleet_held_becomes(NAME, 0, BOUND_MS));
    }
}

static void *take_and_end(void *group)
{
    return group_try(group, NULL) == HF_OK ? group : NULL;
}

/* The thread that held it is no more; nothing is renewed for it, or taken. */
static void a_thread_that_ends_takes_nothing_again(void **world)
{
    struct world *w = *world;
    hf_group *red = a_red_lock(w, NAME, NULL);
    pthread_t thread;
    void *held = NULL;

    hft_server_pause(fleet.servers[2]);
    assert_int_equal(pthread_create(&thread, NULL, take_and_end, red), 0);
    assert_int_equal(pthread_join(thread, &held), 0);
    hft_server_resume(fleet.servers[2]);
    assert_non_null(held);
    assert_true(fleet_held_becomes(NAME, 0, BOUND_MS));
    hft_let_pass_ms(W_MS);
    assert_int_equal(fleet_held(NAME), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        fleet_test(a_member_that_was_forgotten_comes_back_with_its_vote),
        fleet_test(a_server_that_was_away_from_the_start_joins),
        fleet_test(what_others_have_is_waited_for_without_haste),
        fleet_test(a_group_that_was_lost_stays_lost),
        fleet_test(it_has_no_vote_until_the_others_were_renewed),
        fleet_test(a_fixed_lease_is_left_alone),
        fleet_test(a_member_comes_back_into_a_nested_hold),
        fleet_test(it_ends_in_the_middle_of_it_without_a_rest),
        fleet_test(a_thread_that_ends_takes_nothing_again),
    };

    return cmocka_run_group_tests(tests, servers_up, fleet_down);
}
