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

#include "sim/mutate.h"
#include "sim/world.h"

#define RESPONSE_MS 1500
#define RETRY_MS 1000
#define LEASE_MS 3000

struct scene {
    struct sim_world *world;
    struct sim_client *one, *two;
    struct sim_owner *a, *b, *c; /* a and c are of `one` */
};

static struct scene begin_at(int64_t drift_ppm)
{
    struct sim_options options = sim_options_default(1);
    struct scene scene;

    options.drift_ppm = drift_ppm;
    options.weather = (struct sim_weather){
        .late_ms = 1, .slow_ms = 1, .base_us = 100, .extra_us = 0};
    (void)sim_mutate("none");
    scene.world = sim_world_new(&options);
    scene.one = sim_client_ready_with(scene.world, RESPONSE_MS, RETRY_MS);
    scene.two = sim_client_ready_with(scene.world, RESPONSE_MS, RETRY_MS);
    sim_scripts_known(scene.one);
    scene.a = sim_owner_new(scene.one);
    scene.b = sim_owner_new(scene.two);
    scene.c = sim_owner_new(scene.one);
    return scene;
}

static struct scene begin(void)
{
    return begin_at(0);
}

static void whole(const struct scene *scene)
{
    const struct sim_broken *broken = &scene->world->broken;

    if (broken->invariant != NULL) {
        fail_msg("%s broken: %s", broken->invariant, broken->text);
    }
}

/* Everybody has let go: all is over, and nothing remains. */
static void end(struct scene *scene)
{
    (void)sim_pass_ms(scene->world, 60000);
    sim_nothing_remains(scene->world);
    whole(scene);
    sim_world_free(scene->world);
}

static void pass(struct scene *scene, int64_t ms)
{
    (void)sim_pass_ms(scene->world, ms);
    whole(scene);
}

static struct sim_call *take(struct sim_owner *owner, int64_t wait_ms,
                             int64_t lease_ms, bool fixed)
{
    struct sim_ask how = {.what = SIM_ACQUIRE,
                          .wait_ms = wait_ms,
                          .lease_ms = lease_ms,
                          .fixed = fixed};

    return sim_ask(owner, &how, NULL);
}

static struct sim_call *let_go(struct sim_owner *owner)
{
    struct sim_ask how = {.what = SIM_RELEASE};

    return sim_ask(owner, &how, NULL);
}

static void hold(struct scene *scene, struct sim_owner *owner)
{
    struct sim_call *call = take(owner, 0, LEASE_MS, false);

    pass(scene, 20);
    assert_true(call->ended);
    assert_int_equal(call->status, HF_OK);
}

static void ended_with(const struct sim_call *call, hf_status status)
{
    assert_true(call->ended);
    assert_int_equal(call->status, status);
}

static struct sim_wire *wire_of(struct sim_client *client, size_t link)
{
    return client->links[link].wire;
}

static bool believes(const struct sim_owner *owner)
{
    return owner->beliefs[0].levels > 0;
}

/* ---- the network ---- */

static void a_request_lost_on_the_way_is_sent_again(void **state)
{
    struct scene scene = begin();
    struct sim_call *call;

    (void)state;
    sim_wire_hole(wire_of(scene.one, HFI_LINK_MAIN), true);
    call = take(scene.a, 4000, LEASE_MS, false);
    pass(&scene, RESPONSE_MS + 100);
    ended_with(call, HF_OK);
    call = let_go(scene.a);
    pass(&scene, 50);
    ended_with(call, HF_OK);
    end(&scene);
}

static void a_grant_whose_answer_is_lost_is_held_with_a_count_of_one(
    void **state)
{
    struct scene scene = begin();
    struct sim_call *call;

    (void)state;
    sim_wire_hole(wire_of(scene.one, HFI_LINK_MAIN), false);
    call = take(scene.a, 4000, LEASE_MS, false);
    pass(&scene, RESPONSE_MS + 100);
    ended_with(call, HF_OK);
    assert_int_equal(scene.world->locks[0].image.count, 1);
    call = let_go(scene.a);
    pass(&scene, 50);
    ended_with(call, HF_OK);
    end(&scene);
}

static void a_release_whose_answer_is_lost_is_told_as_done(void **state)
{
    struct scene scene = begin();
    struct sim_call *call;

    (void)state;
    hold(&scene, scene.a);
    sim_wire_hole(wire_of(scene.one, HFI_LINK_MAIN), false);
    call = let_go(scene.a);
    pass(&scene, RESPONSE_MS + 100);
    ended_with(call, HF_OK);
    end(&scene);
}

static void what_waits_beyond_every_limit_is_given_up_and_undone(void **state)
{
    struct scene scene = begin();
    struct sim_call *call;

    (void)state;
    sim_wire_stall(wire_of(scene.one, HFI_LINK_MAIN), true, 20000);
    sim_wire_stall(wire_of(scene.one, HFI_LINK_KEEPER), true, 20000);
    call = take(scene.a, 500, LEASE_MS, false);
    pass(&scene, 800);
    ended_with(call, HF_UNKNOWN);
    end(&scene);
}

/* An old copy runs when its retry was answered, and its hold released. */
static void an_old_copy_of_an_acquire_leaves_nothing(void **state)
{
    struct scene scene = begin();
    struct sim_call *call;

    (void)state;
    sim_wire_stall(wire_of(scene.one, HFI_LINK_MAIN), true, 600);
    call = take(scene.a, 4000, LEASE_MS, false);
    pass(&scene, 5);
    sim_link_end_of_file(&scene.one->links[HFI_LINK_MAIN]);
    pass(&scene, 20);
    ended_with(call, HF_OK);
    call = let_go(scene.a);
    pass(&scene, 20);
    ended_with(call, HF_OK);
    pass(&scene, 700);
    assert_int_equal(scene.world->figures.late_runs, 1);
    end(&scene);
}

static void an_old_copy_of_a_renewal_touches_no_other_hold(void **state)
{
    struct scene scene = begin();
    struct sim_call *call;

    (void)state;
    hold(&scene, scene.a);
    sim_wire_stall(wire_of(scene.one, HFI_LINK_KEEPER), true, 1400);
    pass(&scene, LEASE_MS / 3);
    sim_link_end_of_file(&scene.one->links[HFI_LINK_KEEPER]);
    pass(&scene, 20);
    call = let_go(scene.a);
    pass(&scene, 20);
    ended_with(call, HF_OK);
    hold(&scene, scene.b);
    pass(&scene, 2000);
    assert_true(scene.world->figures.late_runs > 0);
    assert_true(believes(scene.b));
    (void)let_go(scene.b);
    end(&scene);
}

static void a_connection_may_be_cut_at_any_moment(void **state)
{
    (void)state;
    for (int64_t us = 0; us < 1500; us += 50) {
        struct scene scene = begin();
        struct sim_call *call = take(scene.a, 4000, LEASE_MS, false);
        int64_t at = scene.world->now_us + us;

        while (scene.world->now_us < at && sim_step(scene.world)) {
        }
        sim_wire_cut(wire_of(scene.one, HFI_LINK_MAIN));
        pass(&scene, 3000);
        ended_with(call, HF_OK);
        call = let_go(scene.a);
        pass(&scene, 3000);
        ended_with(call, HF_OK);
        end(&scene);
    }
}

/* ---- messages ---- */

static void a_lost_message_costs_a_waiter_one_retry(void **state)
{
    struct scene scene = begin();
    struct sim_call *call;

    (void)state;
    hold(&scene, scene.a);
    call = take(scene.b, 10000, LEASE_MS, false);
    pass(&scene, 100);
    scene.world->weather.deaf = 1000000;
    (void)let_go(scene.a);
    pass(&scene, RETRY_MS + 100);
    ended_with(call, HF_OK);
    (void)let_go(scene.b);
    end(&scene);
}

static void commands_that_are_cut_do_not_lose_a_message(void **state)
{
    struct scene scene = begin();
    struct sim_call *call;

    (void)state;
    hold(&scene, scene.a);
    call = take(scene.b, 10000, LEASE_MS, false);
    pass(&scene, 100);
    sim_wire_cut(wire_of(scene.two, HFI_LINK_MAIN));
    sim_wire_cut(wire_of(scene.two, HFI_LINK_KEEPER));
    (void)let_go(scene.a);
    pass(&scene, 300);
    ended_with(call, HF_OK);
    (void)let_go(scene.b);
    end(&scene);
}

/* ---- the server ---- */

static void a_server_back_with_its_data_changes_nothing(void **state)
{
    struct scene scene = begin();

    (void)state;
    hold(&scene, scene.a);
    sim_server_kill(scene.world, 800);
    pass(&scene, 5000);
    assert_true(believes(scene.a));
    (void)let_go(scene.a);
    end(&scene);
}

static void a_server_back_empty_is_told_to_the_holder(void **state)
{
    struct scene scene = begin();

    (void)state;
    hold(&scene, scene.a);
    sim_server_lose_all(scene.world, 100);
    pass(&scene, LEASE_MS / 3 + 300);
    assert_false(believes(scene.a));
    (void)let_go(scene.a);
    end(&scene);
}

static void a_server_that_forgot_the_last_writes_is_told_to_the_holder(
    void **state)
{
    struct scene scene = begin();

    (void)state;
    hold(&scene, scene.a);
    sim_server_forget(scene.world, 3, 100);
    pass(&scene, LEASE_MS / 3 + 300);
    assert_false(believes(scene.a));
    (void)let_go(scene.a);
    end(&scene);
}

static void a_server_that_was_stopped_costs_the_lease_and_no_more(void **state)
{
    struct scene scene = begin();
    struct sim_call *call;

    (void)state;
    hold(&scene, scene.a);
    sim_server_stop(scene.world, LEASE_MS + 500);
    pass(&scene, LEASE_MS + 100);
    assert_false(believes(scene.a));
    (void)let_go(scene.a);
    pass(&scene, 2000);
    call = take(scene.b, 5000, LEASE_MS, false);
    pass(&scene, 3000);
    ended_with(call, HF_OK);
    (void)let_go(scene.b);
    end(&scene);
}

static void flushed_scripts_are_sent_again(void **state)
{
    struct scene scene = begin();
    struct sim_call *call;

    (void)state;
    hold(&scene, scene.a);
    sim_server_script_flush(scene.world->server);
    pass(&scene, LEASE_MS);
    assert_true(believes(scene.a));
    sim_server_script_flush(scene.world->server);
    call = let_go(scene.a);
    pass(&scene, 50);
    ended_with(call, HF_OK);
    end(&scene);
}

static void a_clock_that_is_stepped_ahead_is_told_to_the_holder(void **state)
{
    struct scene scene = begin();

    (void)state;
    hold(&scene, scene.a);
    sim_clock_step(scene.world, INT64_C(3600000));
    pass(&scene, LEASE_MS / 3 + 300);
    assert_false(believes(scene.a));
    (void)let_go(scene.a);
    hold(&scene, scene.b); /* its estimate was wrong: one refusal more */
    (void)let_go(scene.b);
    end(&scene);
}

/* ---- processes ---- */

static void the_lock_of_a_killed_process_is_free_after_its_lease(void **state)
{
    struct scene scene = begin();
    struct sim_call *call;

    (void)state;
    hold(&scene, scene.a);
    call = take(scene.b, -1, LEASE_MS, false);
    pass(&scene, 50);
    sim_client_kill(scene.one);
    pass(&scene, LEASE_MS - 200);
    assert_false(call->ended);
    pass(&scene, 400);
    ended_with(call, HF_OK);
    (void)let_go(scene.b);
    end(&scene);
}

static void a_process_stopped_beyond_its_lease_is_told_when_it_goes_on(
    void **state)
{
    struct scene scene = begin();
    struct sim_call *call;

    (void)state;
    hold(&scene, scene.a);
    sim_client_pause(scene.one, 3 * LEASE_MS);
    call = take(scene.b, -1, LEASE_MS, false);
    pass(&scene, LEASE_MS + 1500);
    ended_with(call, HF_OK);
    pass(&scene, 2 * LEASE_MS);
    assert_false(believes(scene.a));
    assert_true(believes(scene.b));
    ended_with(let_go(scene.a), HF_LOST);
    (void)let_go(scene.b);
    end(&scene);
}

static void closing_tells_holders_and_frees_the_lock_at_once(void **state)
{
    struct scene scene = begin();
    struct sim_call *call;

    (void)state;
    hold(&scene, scene.a);
    call = take(scene.b, -1, LEASE_MS, false);
    pass(&scene, 50);
    sim_client_close(scene.one);
    assert_false(believes(scene.a));
    pass(&scene, 100);
    ended_with(call, HF_OK);
    assert_false(scene.one->alive);
    (void)let_go(scene.b);
    end(&scene);
}

static void an_owner_that_is_gone_holds_nothing(void **state)
{
    struct scene scene = begin();
    struct sim_call *call;

    (void)state;
    hold(&scene, scene.a);
    call = take(scene.c, -1, LEASE_MS, false);
    pass(&scene, 50);
    sim_owner_gone(scene.a);
    pass(&scene, 100);
    ended_with(call, HF_OK);
    (void)let_go(scene.c);
    end(&scene);
}

/* ---- clocks ---- */

static void clocks_off_by_what_the_margin_allows_do_no_harm(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        struct scene scene = begin_at(900);

        scene.one->rate_ppm = i % 2 == 0 ? 900 : -900;
        (void)take(scene.a, 0, 30000, true);
        (void)take(scene.b, 40000, 30000, true);
        pass(&scene, 70000);
        (void)let_go(scene.a);
        (void)let_go(scene.b);
        end(&scene);
    }
}

/* What the margin does not allow for is seen: the check can fail. */
static void a_clock_off_by_more_is_caught(void **state)
{
    struct scene scene = begin();

    (void)state;
    scene.one->rate_ppm = -20000;
    (void)take(scene.a, 0, 30000, true);
    (void)sim_pass_ms(scene.world, 40000);
    assert_non_null(scene.world->broken.invariant);
    assert_string_equal(scene.world->broken.invariant, "field_stands");
    sim_world_free(scene.world);
}

/* ---- others ---- */

static void a_forced_unlock_is_told_within_a_renewal_period(void **state)
{
    struct scene scene = begin();
    struct sim_ask force = {.what = SIM_FORCE};

    (void)state;
    hold(&scene, scene.a);
    (void)sim_ask(scene.b, &force, NULL);
    pass(&scene, LEASE_MS / 3 + 200);
    assert_false(believes(scene.a));
    ended_with(let_go(scene.a), HF_LOST);
    end(&scene);
}

static void a_hold_that_is_handed_on_is_held_by_one(void **state)
{
    struct scene scene = begin();
    struct sim_ask hand_on = {.what = SIM_EXPORT};
    struct sim_ask adopt = {.what = SIM_IMPORT};
    struct sim_call *call;

    (void)state;
    hold(&scene, scene.a);
    hold(&scene, scene.a);
    ended_with(sim_ask(scene.a, &hand_on, NULL), HF_OK);
    assert_false(believes(scene.a));
    sim_client_kill(scene.one); /* it is none of its business any more */
    call = sim_ask(scene.b, &adopt, NULL);
    pass(&scene, 3 * LEASE_MS);
    ended_with(call, HF_OK);
    assert_int_equal(scene.b->beliefs[0].levels, 2);
    (void)let_go(scene.b);
    pass(&scene, 20);
    call = let_go(scene.b);
    pass(&scene, 20);
    ended_with(call, HF_OK);
    assert_false(scene.world->locks[0].image.present);
    end(&scene);
}

static void a_deleted_lock_is_told_within_a_renewal_period(void **state)
{
    struct scene scene = begin();

    (void)state;
    hold(&scene, scene.a);
    sim_delete(scene.world, 0);
    hold(&scene, scene.b);
    pass(&scene, LEASE_MS / 3 + 200);
    assert_false(believes(scene.a));
    assert_true(believes(scene.b));
    (void)let_go(scene.a);
    (void)let_go(scene.b);
    end(&scene);
}

static void a_foreign_key_under_the_name_is_an_error_and_stays(void **state)
{
    struct scene scene = begin();
    struct sim_call *call;

    (void)state;
    hold(&scene, scene.a);
    sim_foreign(scene.world, 0, 5000);
    call = take(scene.b, 0, LEASE_MS, false);
    pass(&scene, LEASE_MS / 3 + 200);
    ended_with(call, HF_WRONG_TYPE);
    assert_false(believes(scene.a));
    assert_true(scene.world->locks[0].image.present);
    (void)let_go(scene.a);
    end(&scene);
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
        TEST(a_foreign_key_under_the_name_is_an_error_and_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
