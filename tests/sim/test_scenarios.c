/* SPDX-License-Identifier: MIT */
/* test_scenarios.c - each fault once, by hand, in fair weather otherwise.
 *
 * The invariants are looked at after every event here too; a test adds what its
 * fault is to lead to.  One or two clients, one lock, leases of a second.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "sim/scene.h"

/* ---- the network ---- */

static void a_request_lost_on_the_way_is_sent_again(void **state)
{
    struct scene scene = scene_begin();
    struct sim_call *call;

    (void)state;
    sim_wire_hole(scene_wire(scene.one, HFI_LINK_MAIN), true);
    call = scene_take(scene.a, 4000, SCENE_LEASE_MS, false);
    scene_pass(&scene, SCENE_RESPONSE_MS + 100);
    scene_ended_with(call, HF_OK);
    call = scene_let_go(scene.a);
    scene_pass(&scene, 50);
    scene_ended_with(call, HF_OK);
    scene_end(&scene);
}

static void a_grant_whose_answer_is_lost_is_held_with_a_count_of_one(
    void **state)
{
    struct scene scene = scene_begin();
    struct sim_call *call;

    (void)state;
    sim_wire_hole(scene_wire(scene.one, HFI_LINK_MAIN), false);
    call = scene_take(scene.a, 4000, SCENE_LEASE_MS, false);
    scene_pass(&scene, SCENE_RESPONSE_MS + 100);
    scene_ended_with(call, HF_OK);
    assert_int_equal(scene.world->locks[0].image.field[0].count, 1);
    call = scene_let_go(scene.a);
    scene_pass(&scene, 50);
    scene_ended_with(call, HF_OK);
    scene_end(&scene);
}

static void a_release_whose_answer_is_lost_is_told_as_done(void **state)
{
    struct scene scene = scene_begin();
    struct sim_call *call;

    (void)state;
    scene_hold(&scene, scene.a);
    sim_wire_hole(scene_wire(scene.one, HFI_LINK_MAIN), false);
    call = scene_let_go(scene.a);
    scene_pass(&scene, SCENE_RESPONSE_MS + 100);
    scene_ended_with(call, HF_OK);
    scene_end(&scene);
}

static void what_waits_beyond_every_limit_is_given_up_and_undone(void **state)
{
    struct scene scene = scene_begin();
    struct sim_call *call;

    (void)state;
    sim_wire_stall(scene_wire(scene.one, HFI_LINK_MAIN), true, 20000);
    sim_wire_stall(scene_wire(scene.one, HFI_LINK_KEEPER), true, 20000);
    call = scene_take(scene.a, 500, SCENE_LEASE_MS, false);
    scene_pass(&scene, 800);
    scene_ended_with(call, HF_UNKNOWN);
    scene_end(&scene);
}

/* An old copy runs when its retry was answered, and its hold released. */
static void an_old_copy_of_an_acquire_leaves_nothing(void **state)
{
    struct scene scene = scene_begin();
    struct sim_call *call;

    (void)state;
    sim_wire_stall(scene_wire(scene.one, HFI_LINK_MAIN), true, 600);
    call = scene_take(scene.a, 4000, SCENE_LEASE_MS, false);
    scene_pass(&scene, 5);
    sim_link_end_of_file(&scene.one->links[HFI_LINK_MAIN]);
    scene_pass(&scene, 20);
    scene_ended_with(call, HF_OK);
    call = scene_let_go(scene.a);
    scene_pass(&scene, 20);
    scene_ended_with(call, HF_OK);
    scene_pass(&scene, 700);
    assert_int_equal(scene.world->figures.late_runs, 1);
    scene_end(&scene);
}

static void an_old_copy_of_a_renewal_touches_no_other_hold(void **state)
{
    struct scene scene = scene_begin();
    struct sim_call *call;

    (void)state;
    scene_hold(&scene, scene.a);
    sim_wire_stall(scene_wire(scene.one, HFI_LINK_KEEPER), true, 1400);
    scene_pass(&scene, SCENE_LEASE_MS / 3);
    sim_link_end_of_file(&scene.one->links[HFI_LINK_KEEPER]);
    scene_pass(&scene, 20);
    call = scene_let_go(scene.a);
    scene_pass(&scene, 20);
    scene_ended_with(call, HF_OK);
    scene_hold(&scene, scene.b);
    scene_pass(&scene, 2000);
    assert_true(scene.world->figures.late_runs > 0);
    assert_true(scene_believes(scene.b));
    (void)scene_let_go(scene.b);
    scene_end(&scene);
}

static void a_connection_may_be_cut_at_any_moment(void **state)
{
    (void)state;
    for (int64_t us = 0; us < 1500; us += 50) {
        struct scene scene = scene_begin();
        struct sim_call *call = scene_take(scene.a, 4000, SCENE_LEASE_MS,
                                           false);
        int64_t at = scene.world->now_us + us;

        while (scene.world->now_us < at && sim_step(scene.world)) {
        }
        sim_wire_cut(scene_wire(scene.one, HFI_LINK_MAIN));
        scene_pass(&scene, 3000);
        scene_ended_with(call, HF_OK);
        call = scene_let_go(scene.a);
        scene_pass(&scene, 3000);
        scene_ended_with(call, HF_OK);
        scene_end(&scene);
    }
}

/* ---- messages ---- */

static void a_lost_message_costs_a_waiter_one_retry(void **state)
{
    struct scene scene = scene_begin();
    struct sim_call *call;

    (void)state;
    scene_hold(&scene, scene.a);
    call = scene_take(scene.b, 10000, SCENE_LEASE_MS, false);
    scene_pass(&scene, 100);
    scene.world->weather.deaf = 1000000;
    (void)scene_let_go(scene.a);
    scene_pass(&scene, SCENE_RETRY_MS + 100);
    scene_ended_with(call, HF_OK);
    (void)scene_let_go(scene.b);
    scene_end(&scene);
}

static void commands_that_are_cut_do_not_lose_a_message(void **state)
{
    struct scene scene = scene_begin();
    struct sim_call *call;

    (void)state;
    scene_hold(&scene, scene.a);
    call = scene_take(scene.b, 10000, SCENE_LEASE_MS, false);
    scene_pass(&scene, 100);
    sim_wire_cut(scene_wire(scene.two, HFI_LINK_MAIN));
    sim_wire_cut(scene_wire(scene.two, HFI_LINK_KEEPER));
    (void)scene_let_go(scene.a);
    scene_pass(&scene, 300);
    scene_ended_with(call, HF_OK);
    (void)scene_let_go(scene.b);
    scene_end(&scene);
}

/* ---- the server ---- */

static void a_server_back_with_its_data_changes_nothing(void **state)
{
    struct scene scene = scene_begin();

    (void)state;
    scene_hold(&scene, scene.a);
    sim_server_kill(scene.world, 800);
    scene_pass(&scene, 5000);
    assert_true(scene_believes(scene.a));
    (void)scene_let_go(scene.a);
    scene_end(&scene);
}

static void a_server_back_empty_is_told_to_the_holder(void **state)
{
    struct scene scene = scene_begin();

    (void)state;
    scene_hold(&scene, scene.a);
    sim_server_lose_all(scene.world, 100);
    scene_pass(&scene, SCENE_LEASE_MS / 3 + 300);
    assert_false(scene_believes(scene.a));
    (void)scene_let_go(scene.a);
    scene_end(&scene);
}

static void a_server_that_forgot_the_last_writes_is_told_to_the_holder(
    void **state)
{
    struct scene scene = scene_begin();

    (void)state;
    scene_hold(&scene, scene.a);
    sim_server_forget(scene.world, 3, 100);
    scene_pass(&scene, SCENE_LEASE_MS / 3 + 300);
    assert_false(scene_believes(scene.a));
    (void)scene_let_go(scene.a);
    scene_end(&scene);
}

static void a_server_that_was_stopped_costs_the_lease_and_no_more(void **state)
{
    struct scene scene = scene_begin();
    struct sim_call *call;

    (void)state;
    scene_hold(&scene, scene.a);
    sim_server_stop(scene.world, SCENE_LEASE_MS + 500);
    scene_pass(&scene, SCENE_LEASE_MS + 100);
    assert_false(scene_believes(scene.a));
    (void)scene_let_go(scene.a);
    scene_pass(&scene, 2000);
    call = scene_take(scene.b, 5000, SCENE_LEASE_MS, false);
    scene_pass(&scene, 3000);
    scene_ended_with(call, HF_OK);
    (void)scene_let_go(scene.b);
    scene_end(&scene);
}

static void flushed_scripts_are_sent_again(void **state)
{
    struct scene scene = scene_begin();
    struct sim_call *call;

    (void)state;
    scene_hold(&scene, scene.a);
    sim_server_script_flush(scene.world->server);
    scene_pass(&scene, SCENE_LEASE_MS);
    assert_true(scene_believes(scene.a));
    sim_server_script_flush(scene.world->server);
    call = scene_let_go(scene.a);
    scene_pass(&scene, 50);
    scene_ended_with(call, HF_OK);
    scene_end(&scene);
}

static void a_clock_that_is_stepped_ahead_is_told_to_the_holder(void **state)
{
    struct scene scene = scene_begin();

    (void)state;
    scene_hold(&scene, scene.a);
    sim_clock_step(scene.world, INT64_C(3600000));
    scene_pass(&scene, SCENE_LEASE_MS / 3 + 300);
    assert_false(scene_believes(scene.a));
    (void)scene_let_go(scene.a);
    scene_hold(&scene, scene.b); /* its estimate was wrong: one refusal more */
    (void)scene_let_go(scene.b);
    scene_end(&scene);
}

/* ---- processes ---- */

static void the_lock_of_a_killed_process_is_free_after_its_lease(void **state)
{
    struct scene scene = scene_begin();
    struct sim_call *call;

    (void)state;
    scene_hold(&scene, scene.a);
    call = scene_take(scene.b, -1, SCENE_LEASE_MS, false);
    scene_pass(&scene, 50);
    sim_client_kill(scene.one);
    scene_pass(&scene, SCENE_LEASE_MS - 200);
    assert_false(call->ended);
    scene_pass(&scene, 400);
    scene_ended_with(call, HF_OK);
    (void)scene_let_go(scene.b);
    scene_end(&scene);
}

static void a_process_stopped_beyond_its_lease_is_told_when_it_goes_on(
    void **state)
{
    struct scene scene = scene_begin();
    struct sim_call *call;

    (void)state;
    scene_hold(&scene, scene.a);
    sim_client_pause(scene.one, 3 * SCENE_LEASE_MS);
    call = scene_take(scene.b, -1, SCENE_LEASE_MS, false);
    scene_pass(&scene, SCENE_LEASE_MS + 1500);
    scene_ended_with(call, HF_OK);
    scene_pass(&scene, 2 * SCENE_LEASE_MS);
    assert_false(scene_believes(scene.a));
    assert_true(scene_believes(scene.b));
    scene_ended_with(scene_let_go(scene.a), HF_LOST);
    (void)scene_let_go(scene.b);
    scene_end(&scene);
}

static void closing_tells_holders_and_frees_the_lock_at_once(void **state)
{
    struct scene scene = scene_begin();
    struct sim_call *call;

    (void)state;
    scene_hold(&scene, scene.a);
    call = scene_take(scene.b, -1, SCENE_LEASE_MS, false);
    scene_pass(&scene, 50);
    sim_client_close(scene.one);
    assert_false(scene_believes(scene.a));
    scene_pass(&scene, 100);
    scene_ended_with(call, HF_OK);
    assert_false(scene.one->alive);
    (void)scene_let_go(scene.b);
    scene_end(&scene);
}

static void an_owner_that_is_gone_holds_nothing(void **state)
{
    struct scene scene = scene_begin();
    struct sim_call *call;

    (void)state;
    scene_hold(&scene, scene.a);
    call = scene_take(scene.c, -1, SCENE_LEASE_MS, false);
    scene_pass(&scene, 50);
    sim_owner_gone(scene.a);
    scene_pass(&scene, 100);
    scene_ended_with(call, HF_OK);
    (void)scene_let_go(scene.c);
    scene_end(&scene);
}

/* ---- clocks ---- */

static void clocks_off_by_what_the_margin_allows_do_no_harm(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        struct scene scene = scene_begin_at(900);

        scene.one->rate_ppm = i % 2 == 0 ? 900 : -900;
        (void)scene_take(scene.a, 0, 30000, true);
        (void)scene_take(scene.b, 40000, 30000, true);
        scene_pass(&scene, 70000);
        (void)scene_let_go(scene.a);
        (void)scene_let_go(scene.b);
        scene_end(&scene);
    }
}

/* What the margin does not allow for is seen: the check can fail. */
static void a_clock_off_by_more_is_caught(void **state)
{
    struct scene scene = scene_begin();

    (void)state;
    scene.one->rate_ppm = -20000;
    (void)scene_take(scene.a, 0, 30000, true);
    (void)sim_pass_ms(scene.world, 40000);
    assert_non_null(scene.world->broken.invariant);
    assert_string_equal(scene.world->broken.invariant, "field_stands");
    sim_world_free(scene.world);
}

/* ---- others ---- */

static void a_forced_unlock_is_told_within_a_renewal_period(void **state)
{
    struct scene scene = scene_begin();
    struct sim_ask force = {.what = SIM_FORCE};

    (void)state;
    scene_hold(&scene, scene.a);
    (void)sim_ask(scene.b, &force, NULL);
    scene_pass(&scene, SCENE_LEASE_MS / 3 + 200);
    assert_false(scene_believes(scene.a));
    scene_ended_with(scene_let_go(scene.a), HF_LOST);
    scene_end(&scene);
}

static void a_hold_that_is_handed_on_is_held_by_one(void **state)
{
    struct scene scene = scene_begin();
    struct sim_ask hand_on = {.what = SIM_EXPORT};
    struct sim_ask adopt = {.what = SIM_IMPORT};
    struct sim_call *call;

    (void)state;
    scene_hold(&scene, scene.a);
    scene_hold(&scene, scene.a);
    scene_ended_with(sim_ask(scene.a, &hand_on, NULL), HF_OK);
    assert_false(scene_believes(scene.a));
    sim_client_kill(scene.one); /* it is none of its business any more */
    call = sim_ask(scene.b, &adopt, NULL);
    scene_pass(&scene, 3 * SCENE_LEASE_MS);
    scene_ended_with(call, HF_OK);
    assert_int_equal(sim_levels(scene.b, 0), 2);
    (void)scene_let_go(scene.b);
    scene_pass(&scene, 20);
    call = scene_let_go(scene.b);
    scene_pass(&scene, 20);
    scene_ended_with(call, HF_OK);
    assert_false(scene.world->locks[0].image.present);
    scene_end(&scene);
}

/* Deleted by name, or with everything else. */
static void a_deleted_lock_is_told(bool all)
{
    struct scene scene = scene_begin();

    scene_hold(&scene, scene.a);
    if (all) {
        sim_flush_all(scene.world);
    } else {
        sim_delete(scene.world, 0);
    }
    scene_hold(&scene, scene.b);
    scene_pass(&scene, SCENE_LEASE_MS / 3 + 200);
    assert_false(scene_believes(scene.a));
    assert_true(scene_believes(scene.b));
    (void)scene_let_go(scene.a);
    (void)scene_let_go(scene.b);
    scene_end(&scene);
}

static void a_deleted_lock_is_told_within_a_renewal_period(void **state)
{
    (void)state;
    a_deleted_lock_is_told(false);
}

static void a_server_that_is_flushed_is_told_within_a_renewal_period(
    void **state)
{
    (void)state;
    a_deleted_lock_is_told(true);
}

static void a_foreign_key_under_the_name_is_an_error_and_stays(void **state)
{
    struct scene scene = scene_begin();
    struct sim_call *call;

    (void)state;
    scene_hold(&scene, scene.a);
    sim_foreign(scene.world, 0, 5000);
    call = scene_take(scene.b, 0, SCENE_LEASE_MS, false);
    scene_pass(&scene, SCENE_LEASE_MS / 3 + 200);
    scene_ended_with(call, HF_WRONG_TYPE);
    assert_false(scene_believes(scene.a));
    assert_true(scene.world->locks[0].image.present);
    (void)scene_let_go(scene.a);
    scene_end(&scene);
}

#define TEST(name) cmocka_unit_test(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_request_lost_on_the_way_is_sent_again),
        TEST(a_grant_whose_answer_is_lost_is_held_with_a_count_of_one),
        TEST(a_release_whose_answer_is_lost_is_told_as_done),
        TEST(what_waits_beyond_every_limit_is_given_up_and_undone),
        TEST(an_old_copy_of_an_acquire_leaves_nothing),
        TEST(an_old_copy_of_a_renewal_touches_no_other_hold),
        TEST(a_connection_may_be_cut_at_any_moment),
        TEST(a_lost_message_costs_a_waiter_one_retry),
        TEST(commands_that_are_cut_do_not_lose_a_message),
        TEST(a_server_back_with_its_data_changes_nothing),
        TEST(a_server_back_empty_is_told_to_the_holder),
        TEST(a_server_that_forgot_the_last_writes_is_told_to_the_holder),
        TEST(a_server_that_was_stopped_costs_the_lease_and_no_more),
        TEST(flushed_scripts_are_sent_again),
        TEST(a_clock_that_is_stepped_ahead_is_told_to_the_holder),
        TEST(the_lock_of_a_killed_process_is_free_after_its_lease),
        TEST(a_process_stopped_beyond_its_lease_is_told_when_it_goes_on),
        TEST(closing_tells_holders_and_frees_the_lock_at_once),
        TEST(an_owner_that_is_gone_holds_nothing),
        TEST(clocks_off_by_what_the_margin_allows_do_no_harm),
        TEST(a_clock_off_by_more_is_caught),
        TEST(a_forced_unlock_is_told_within_a_renewal_period),
        TEST(a_hold_that_is_handed_on_is_held_by_one),
        TEST(a_deleted_lock_is_told_within_a_renewal_period),
        TEST(a_server_that_is_flushed_is_told_within_a_renewal_period),
        TEST(a_foreign_key_under_the_name_is_an_error_and_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
