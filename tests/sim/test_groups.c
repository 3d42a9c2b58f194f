/* SPDX-License-Identifier: MIT */
/* test_groups.c - bad days of multi locks and red locks, by hand. */
#include "sim/groups/scene.h"

static void one_stalled_server_of_five_is_not_waited_for(void **state)
{
    struct gw_world *world = scene_red(5);
    struct gw_user *user = scene_user();

    (void)state;
    gw_server_stalls(&world->servers[0], 5000);
    for (int i = 0; i < 3; i++) {
        scene_ends(scene_take(user, 0), HF_OK, 5);
        scene_ends(gw_release(user), HF_OK, 5);
    }
    scene_pass(20000); /* nothing is left on the one that was away */
    assert_false(scene_is_locked(0));
    scene_end(world);
}

static void two_stalled_servers_of_five_are_not_waited_for(void **state)
{
    struct gw_world *world = scene_red(5);
    struct gw_user *user = scene_user();

    (void)state;
    gw_server_stalls(&world->servers[0], 5000);
    gw_server_stalls(&world->servers[3], 5000);
    scene_ends(scene_take(user, 0), HF_OK, 5);
    assert_int_equal(scene_alive(user), 3);
    scene_ends(gw_release(user), HF_OK, 5);
    scene_pass(20000);
    assert_false(scene_is_locked(0));
    assert_false(scene_is_locked(3));
    scene_end(world);
}

/* The limit of a lease of 10 s is 50 ms; then what two have granted is given
 * back, for which nobody waits longer than 200 ms. */
static void three_stalled_servers_of_five_are_no_quorum(void **state)
{
    struct gw_world *world = scene_red(5);
    struct gw_user *user = scene_user();

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        gw_server_stalls(&world->servers[i], 5000);
    }
    scene_ends(scene_take(user, 0), HF_UNKNOWN, 270);
    assert_int_equal(scene_alive(user), 0);
    scene_pass(20000);
    for (size_t i = 0; i < 5; i++) {
        assert_false(scene_is_locked(i));
    }
    scene_end(world);
}

/* Those that kept silent are asked when the others are not enough. */
static void a_server_that_was_away_is_asked_when_it_is_needed(void **state)
{
    struct gw_world *world = scene_red(3);
    struct gw_user *user = scene_user();

    (void)state;
    gw_server_stalls(&world->servers[0], 200);
    scene_ends(scene_take(user, 0), HF_OK, 5);
    scene_pass(300);
    scene_ends(gw_release(user), HF_OK, 5);
    gw_server_stalls(&world->servers[1], 5000);
    scene_ends(scene_take(user, 0), HF_OK, 60);
    scene_ends(gw_release(user), HF_OK, 60);
    scene_end(world);
}

static void a_server_that_restarts_empty_does_not_give_it_away(void **state)
{
    struct gw_world *world = scene_red(5);
    struct gw_user *user = scene_user();
    struct gw_user *other = scene_user();

    (void)state;
    scene_hold(user);
    scene_pass(100);
    gw_server_restarts(&world->servers[0], true, 0, 10);
    scene_pass(1000);
    scene_ends(scene_take(other, 0), HF_BUSY, 300);
    scene_pass(5000);
    assert_int_equal(user->told, 0);
    assert_true(scene_alive(user) >= 3);
    scene_end(world);
}

/* Two at a time, one after the other: it is never lost. */
static void members_that_were_lost_come_back(void **state)
{
    struct gw_world *world = scene_red(5);
    struct gw_user *user = scene_user();
    struct gw_user *other = scene_user();

    (void)state;
    scene_hold(user);
    for (size_t i = 0; i < 5; i++) {
        gw_server_restarts(&world->servers[i], true, 0, 10);
        gw_server_restarts(&world->servers[(i + 1) % 5], true, 0, 10);
        scene_pass(3 * (int64_t)SCENE_LEASE_MS);
        assert_int_equal(scene_alive(user), 5);
        scene_ends(scene_take(other, 0), HF_BUSY, 300);
    }
    assert_int_equal(user->told, 0);
    scene_ends(gw_release(user), HF_OK, 20);
    scene_end(world);
}

static void its_holder_is_told_when_too_many_restart_empty(void **state)
{
    struct gw_world *world = scene_red(5);
    struct gw_user *user = scene_user();

    (void)state;
    scene_hold(user);
    scene_pass(100);
    for (size_t i = 0; i < 3; i++) {
        gw_server_restarts(&world->servers[i], true, 0, 10);
    }
    scene_pass(SCENE_LEASE_MS / 3 + 1000);
    assert_int_equal(user->told, 1);
    scene_ends(gw_release(user), HF_LOST, 300);
    scene_end(world);
}

static void a_member_that_answers_late_joins(void **state)
{
    struct gw_world *world = scene_red(5);
    struct gw_user *user = scene_user();

    (void)state;
    gw_server_stalls(&world->servers[4], 20);
    scene_ends(scene_take(user, 0), HF_OK, 5);
    assert_int_equal(scene_alive(user), 4);
    scene_pass(100);
    assert_int_equal(scene_alive(user), 5);
    scene_end(world);
}

/* An answer after the members' limit is of no use to anybody. */
static void a_reply_after_the_limit_leaves_nothing(void **state)
{
    struct gw_world *world = scene_red(5);
    struct gw_user *user = scene_user();

    (void)state;
    gw_server_stalls(&world->servers[4], 120);
    scene_ends(scene_take(user, 0), HF_OK, 5);
    scene_pass(400);
    assert_int_equal(scene_alive(user), 4);
    assert_false(scene_is_locked(4));
    scene_end(world);
}

/* ... nor is one of a group that was left again meanwhile. */
static void a_member_that_answers_after_the_release_is_left(void **state)
{
    struct gw_world *world = scene_red(5);
    struct gw_user *user = scene_user();

    (void)state;
    gw_server_stalls(&world->servers[4], 30);
    scene_ends(scene_take(user, 0), HF_OK, 5);
    scene_ends(gw_release(user), HF_OK, 5);
    scene_pass(300);
    assert_int_equal(scene_alive(user), 0);
    assert_false(scene_is_locked(4));
    scene_end(world);
}

static void a_stopped_client_is_told_before_it_believes_again(void **state)
{
    struct gw_world *world = scene_red(5);
    struct gw_user *user = scene_user();
    struct gw_user *other = scene_user();
    struct gw_call *call;

    (void)state;
    scene_hold(user);
    gw_process_stop(user->process, 2 * SCENE_LEASE_MS);
    call = scene_take(other, -1);
    scene_ends(call, HF_OK, SCENE_LEASE_MS + 2000);
    assert_int_equal(user->told, 0);
    assert_int_equal(scene_alive(user), 0); /* its clock went on */
    scene_pass(SCENE_LEASE_MS + 1000);
    assert_int_equal(user->told, 1);
    scene_end(world);
}

/* ---- multi locks ---- */

static void a_client_killed_halfway_costs_a_lease(void **state)
{
    struct gw_world *world = scene_multi(3);
    struct gw_user *user = scene_user();
    struct gw_user *other = scene_user();

    (void)state;
    gw_server_stalls(&world->servers[1], 50);
    (void)scene_take(user, 0);
    scene_pass(10);
    assert_true(scene_is_locked(0));
    gw_process_kill(user->process);
    scene_ends(scene_take(other, -1), HF_OK, SCENE_LEASE_MS + 2000);
    scene_end(world);
}

static void a_server_that_is_away_costs_the_others_nothing(void **state)
{
    struct gw_world *world = scene_multi(3);
    struct gw_user *user = scene_user();

    (void)state;
    gw_server_restarts(&world->servers[2], false, 0, 20000);
    scene_ends(scene_take(user, 0), HF_UNREACHABLE, 4000);
    scene_pass(1000);
    assert_false(scene_is_locked(0));
    assert_false(scene_is_locked(1));
    scene_end(world);
}

/* Each holds the other's second member, and none can know. */
static void those_who_disagree_on_the_order_get_on(void **state)
{
    struct gw_world *world = scene_multi(2);
    struct gw_user *user, *other;
    struct gw_call *first, *second;

    (void)state;
    world->options.disagreeing = true;
    user = scene_user();
    other = scene_user();
    first = scene_take(user, -1);
    second = scene_take(other, -1);
    scene_pass(100);
    assert_false(first->ended || second->ended);
    while (!first->ended && !second->ended) {
        scene_pass(10);
    }
    scene_ends(gw_release(first->ended ? user : other), HF_OK, 20);
    scene_ends(first->ended ? second : first, HF_OK, 20000);
    scene_end(world);
}

/* ---- what random histories have found ---- */

/* A patience has ended; what was held is being given back, to a server that is
 * silent, and the next round waits for that. */
static void who_waits_to_have_given_back_can_be_cancelled(void **state)
{
    struct gw_world *world = scene_multi(2);
    struct gw_user *user, *other;
    struct gw_call *call;

    (void)state;
    world->def_count = 2;
    world->defs[1] = (struct gw_def){
        .count = 1, .server = {1}, .bits = UINT64_C(1) << GW_NAMES};
    user = scene_user();
    other = scene_user(); /* wants the second member only */
    scene_hold(other);
    call = scene_take(user, -1);
    scene_pass(900);
    gw_server_stalls(&world->servers[0], 8000);
    scene_pass(1350); /* patience is 2 s at most */
    assert_false(call->ended);
    gw_cancel(user);
    scene_ends(call, HF_CANCELLED, HFI_PLAN_UNDO_MS + 10);
    scene_end(world);
}

static void callbacks_come_in_the_order_of_the_calls(void **state)
{
    struct gw_world *world = scene_red(3);
    struct gw_user *user = scene_user();
    struct gw_user *other = scene_user();
    struct gw_call *take, *leave;

    (void)state;
    scene_hold(other);
    take = scene_take(user, 0);
    leave = gw_release(user); /* of what was not to be had */
    scene_ends(take, HF_BUSY, 20);
    scene_ends(leave, HF_NOT_OWNER, 20);
    scene_end(world); /* in_order would be broken */
}

static void step_until_locked(size_t server, bool locked)
{
    while (scene_is_locked(server) != locked) {
        assert_true(gw_step());
    }
}

/* All are held, and their leases are being made equal. */
static void a_member_of_a_cancelled_call_is_not_said_to_be_held(void **state)
{
    struct gw_world *world = scene_multi(2);
    struct gw_user *user = scene_user();
    struct gw_user *other = scene_user();
    struct gw_how how = {
        .wait_ms = -1, .lease_ms = SCENE_LEASE_MS, .fixed = true};
    struct gw_call *call;

    (void)state;
    scene_hold(other);
    call = gw_acquire(user, &how);
    scene_pass(100);
    (void)gw_release(other);
    step_until_locked(1, false);
    step_until_locked(1, true);
    gw_server_stalls(&world->servers[0], 1000);
    gw_server_stalls(&world->servers[1], 1000);
    scene_pass(5);
    assert_false(call->ended);
    gw_cancel(user);
    scene_ends(call, HF_CANCELLED, HFI_PLAN_UNDO_MS + 10);
    assert_int_equal(call->answered, 0);
    scene_end(world);
}

/* ---- levels of different members ---- */

static struct gw_call *take_fixed(struct gw_user *user, int64_t lease_ms)
{
    struct gw_how how = {.lease_ms = lease_ms, .fixed = true};

    return gw_acquire(user, &how);
}

static void two_stall(size_t first, int64_t ms)
{
    gw_server_stalls(&gw->servers[first], ms);
    gw_server_stalls(&gw->servers[first + 1], ms);
}

/* The outer level has 0, 1, 2, and the inner 2, 3, 4 for longer. */
static void an_outer_level_that_has_expired_is_told_when_the_inner_is_left(
    void **state)
{
    struct gw_world *world = scene_red(5);
    struct gw_user *user = scene_user();
    struct gw_user *other = scene_user();

    (void)state;
    two_stall(3, 100);
    scene_ends(take_fixed(user, 3000), HF_OK, 5);
    scene_pass(200);
    two_stall(0, 500);
    scene_ends(take_fixed(user, 10000), HF_OK, 120);
    scene_pass(4000);
    assert_int_equal(scene_alive(user), 3);
    assert_int_equal(user->told, 0);
    scene_ends(gw_release(user), HF_OK, 20);
    assert_true(scene_alive(user) < 3);
    scene_pass(5);
    assert_int_equal(user->told, 1);
    scene_hold(other); /* told_in_time would be broken */
    scene_ends(gw_release(user), HF_LOST, 20);
    assert_int_equal(gw->figures.losses, 1);
    scene_end(world);
}

/* Somebody who wants one member only, and no quorum. */
static struct gw_user *scene_user_of(size_t server)
{
    gw->defs[gw->def_count++] = (struct gw_def){.count = 1, .server = {server}};
    return scene_user();
}

/* The outer level has 0 and 1, the inner 2 too.  0 forgets, and is asked again for
 * the outer level, but somebody else has it. */
static void an_outer_level_that_has_lost_a_member_is_told_too(void **state)
{
    struct gw_world *world = scene_red(3);
    struct gw_user *user = scene_user();
    struct gw_user *second = scene_user_of(2);
    struct gw_user *zeroth = scene_user_of(0);

    (void)state;
    scene_hold(second);
    scene_hold(user);
    scene_ends(gw_release(second), HF_OK, 20);
    scene_hold(user);
    assert_int_equal(scene_alive(user), 3);
    gw_server_restarts(&world->servers[0], true, 0, 10);
    scene_pass(100);
    scene_ends(scene_take(zeroth, 1000), HF_OK, 1000);
    scene_pass(2 * (int64_t)SCENE_LEASE_MS);
    assert_int_equal(scene_alive(user), 2);
    assert_int_equal(user->told, 0);
    scene_ends(gw_release(user), HF_OK, 20);
    scene_pass(5);
    assert_int_equal(user->told, 1);
    assert_int_equal(scene_alive(user), 1);
    scene_ends(scene_take(user, 0), HF_LOST, 20);
    (void)gw_release(user);
    scene_pass(1000);
    assert_int_equal(scene_alive(user), 0);
    scene_end(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_stalled_server_of_five_is_not_waited_for),
        cmocka_unit_test(two_stalled_servers_of_five_are_not_waited_for),
        cmocka_unit_test(three_stalled_servers_of_five_are_no_quorum),
        cmocka_unit_test(a_server_that_was_away_is_asked_when_it_is_needed),
        cmocka_unit_test(a_server_that_restarts_empty_does_not_give_it_away),
        cmocka_unit_test(members_that_were_lost_come_back),
        cmocka_unit_test(its_holder_is_told_when_too_many_restart_empty),
        cmocka_unit_test(a_member_that_answers_late_joins),
        cmocka_unit_test(a_reply_after_the_limit_leaves_nothing),
        cmocka_unit_test(a_member_that_answers_after_the_release_is_left),
        cmocka_unit_test(a_stopped_client_is_told_before_it_believes_again),
        cmocka_unit_test(a_client_killed_halfway_costs_a_lease),
        cmocka_unit_test(a_server_that_is_away_costs_the_others_nothing),
        cmocka_unit_test(those_who_disagree_on_the_order_get_on),
        cmocka_unit_test(who_waits_to_have_given_back_can_be_cancelled),
        cmocka_unit_test(callbacks_come_in_the_order_of_the_calls),
        cmocka_unit_test(a_member_of_a_cancelled_call_is_not_said_to_be_held),
        cmocka_unit_test(
            an_outer_level_that_has_expired_is_told_when_the_inner_is_left),
        cmocka_unit_test(an_outer_level_that_has_lost_a_member_is_told_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
