/* SPDX-License-Identifier: MIT */
/* test_lock_lease.c - what keeps a hold alive, and what is not kept alive.
 *
 * W is one second, so a renewal is due every third of it.  Rows: LK-05, LK-10,
 * IS-13, IS-16, IS-29, IS-32, PL-12 to PL-14, PL-19, PL-27, PL-37, PL-38,
 * PL-45, PL-46, RN-01, RN-04, RN-06, 15.10, 15.11, 15.13, T3, T4, T5 (1,000
 * leases instead of 100,000; the benchmark holds those), and weakness 17.3 of
 * the original (one sick name in a batch).
 */
#include "world.h"

#include <stdio.h>
#include <string.h>

#define NAME "lease"

/* PL-46, PL-37, PL-19: renewed long past its length, and silent afterwards.
 * spec: rlock/renew-1 */
static void a_renewed_lease_outlives_its_length(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    int64_t end_ms;

    assert_ok(try_once(lock, NULL));
    end_ms = hft_now_ms() + 3 * W_MS;
    while (hft_now_ms() < end_ms) {
        assert_true(hf_lock_is_held(lock, NULL));
        assert_between(wire_ttl(w, NAME), W_MS / 3, W_MS);
        assert_between(hf_lock_remaining_ms(lock, NULL), W_MS / 3, W_MS);
        hft_let_pass_ms(20);
    }
    assert_between(stats_of(w->client).renewals_sent, 6, 12);
    assert_ok(leave(lock, NULL));
}

/* T3, RN-06, 15.13: after the release not one renewal more. */
static void nothing_is_renewed_after_the_release(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    int64_t sent;
    int i;

    for (i = 0; i < 3; i++) {
        assert_ok(try_once(lock, NULL));
    }
    hft_let_pass_ms(W_MS);
    assert_true(stats_of(w->client).renewals_sent > 0);
    for (i = 0; i < 3; i++) {
        assert_ok(leave(lock, NULL));
    }
    sent = hft_calls(w->server, "evalsha");
    hft_let_pass_ms(3 * W_MS);
    assert_int_equal(hft_calls(w->server, "evalsha"), sent);
}

/* RN-04, 15.13: one owner's past does not disturb the next one's lease. */
static void an_earlier_owners_nest_does_not_disturb_the_next_lease(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    hf_owner *one = an_owner(w);
    hf_owner *two = an_owner(w);

    assert_ok(try_once(lock, one));
    assert_ok(try_once(lock, one));
    assert_ok(leave(lock, one));
    assert_ok(leave(lock, one));
    assert_ok(try_once(lock, two));
    hft_let_pass_ms(3 * W_MS);
    assert_true(hf_lock_is_held(lock, two));
    assert_int_equal(wire_fields(w, NAME), 1);
    assert_ok(leave(lock, two));
}

/* T4: the user's thread spins for ten leases and calls nothing. */
static void a_spinning_thread_does_not_lose_its_lock(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    hf_acquire how = once(NULL, 600);
    int64_t end_ms;

    assert_ok(take(lock, NULL, &how));
    end_ms = hft_now_ms() + 10 * 600;
    while (hft_now_ms() < end_ms) {
        /* A thread that computes. */
    }
    assert_true(hf_lock_is_held(lock, NULL));
    assert_int_equal(wire_count(w, NAME), 1);
    assert_ok(leave(lock, NULL));
}

/* LK-05, 15.10: leaving a level keeps what the others promise. */
static void a_partial_release_keeps_the_lease_of_the_lock(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    int i;

    for (i = 0; i < 3; i++) {
        assert_ok(try_fixed(lock, NULL, 10000));
    }
    assert_ok(leave(lock, NULL));
    assert_ok(leave(lock, NULL));
    assert_between(wire_ttl(w, NAME), 9000, 10000);
    assert_ok(leave(lock, NULL));
}

/* LK-10, IS-29, 15.10: a lease given once is not the next one's. */
static void a_fixed_lease_is_not_inherited_by_the_next_hold(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);

    assert_ok(try_fixed(lock, NULL, 3600000));
    assert_between(wire_ttl(w, NAME), 3600000 - SLACK_MS, 3600000);
    assert_ok(leave(lock, NULL));
    assert_int_equal(wire_ttl(w, NAME), -2);
    assert_ok(try_once(lock, NULL));
    assert_between(wire_ttl(w, NAME), W_MS - SLACK_MS, W_MS);
    hft_let_pass_ms(2 * W_MS);
    assert_true(hf_lock_is_held(lock, NULL));
    assert_ok(leave(lock, NULL));
}

/* A fixed lease is nobody's to renew. */
static void a_fixed_lease_is_never_renewed(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    int64_t taken_ms = hft_now_ms();

    assert_ok(try_fixed(lock, NULL, W_MS));
    assert_true(wire_free_within(w, NAME, W_MS + SLACK_MS));
    assert_between(hft_now_ms() - taken_ms, W_MS - 10, W_MS + SLACK_MS);
    assert_int_equal(stats_of(w->client).renewals_sent, 0);
    assert_status(HF_LOST, leave(lock, NULL));
}

/* DESIGN 2.4: a renewed level around a fixed one; leaving the renewed one
 * leaves what the fixed one promised, and that is not renewed. */
static void leaving_the_renewed_level_leaves_the_fixed_levels_end(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    hf_acquire how = once(NULL, 500);
    int64_t outer_ms = hft_now_ms();
    int64_t left_ms;

    assert_ok(try_fixed(lock, NULL, 2000));
    assert_ok(take(lock, NULL, &how)); /* renewed, 500 */
    hft_let_pass_ms(800);
    assert_true(hf_lock_is_held(lock, NULL));
    assert_true(stats_of(w->client).renewals_sent > 0);
    assert_ok(leave(lock, NULL));
    left_ms = hf_lock_remaining_ms(lock, NULL);
    assert_between(left_ms, 2000 - (hft_now_ms() - outer_ms) - 50,
                   2000 - 800 + 10);
    assert_true(state_becomes(lock, NULL, HF_STATE_LOST, BOUND_MS));
    assert_between(hft_now_ms() - outer_ms, 1900, 2000 + SLACK_MS);
    assert_status(HF_LOST, leave(lock, NULL));
}

/* The other way round: the fixed level inside ends, the renewed one stays. */
static void a_fixed_level_inside_a_renewed_one_ends_nothing(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);

    assert_ok(try_once(lock, NULL));
    assert_ok(try_fixed(lock, NULL, 200));
    hft_let_pass_ms(W_MS + 500);
    assert_true(hf_lock_is_held(lock, NULL));
    assert_int_equal(hf_lock_hold_count(lock, NULL), 2);
    assert_ok(leave(lock, NULL));
    hft_let_pass_ms(W_MS);
    assert_true(hf_lock_is_held(lock, NULL));
    assert_ok(leave(lock, NULL));
    assert_int_equal(wire_ttl(w, NAME), -2);
}

/* If only what has run out remains, the hold is lost when it is left. */
static void leaving_to_a_level_that_has_run_out_is_a_loss(void **world)
{
    struct world *w = *world;
    struct told told = {0};
    hf_lock *lock = a_lock(w, NAME);
    hf_acquire how = once(NULL, 200);
    hf_lost_reason reason = HF_NOT_LOST;

    how.renew = 0;
    how.on_lost = record_lost;
    how.context = &told;
    assert_ok(take(lock, NULL, &how));
    assert_ok(try_once(lock, NULL)); /* renewed, inside */
    hft_let_pass_ms(400);
    assert_true(hf_lock_is_held(lock, NULL));
    (void)leave(lock, NULL);
    assert_int_equal(hf_lock_state_of(lock, NULL, &reason), HF_STATE_LOST);
    assert_int_equal(reason, HF_LOST_EXPIRED);
    assert_true(loss_is_told(&told, BOUND_MS));
    assert_true(wire_free_within(w, NAME, SLACK_MS + 100));
    assert_status(HF_LOST, leave(lock, NULL));
    assert_status(HF_NOT_OWNER, leave(lock, NULL));
}

/* PL-12, PL-27: prolonging by hand, the length exactly, and never shorter.
 * spec: rlock/ttl-2, rlock/ttl-3, rlock/keep-4 */
static void extending_prolongs_and_never_shortens(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);

    assert_ok(try_fixed(lock, NULL, 10000));
    assert_ok(hf_lock_extend(lock, NULL, 100000, &problem));
    assert_between(wire_ttl(w, NAME), 100000 - SLACK_MS, 100000);
    assert_between(hf_lock_remaining_ms(lock, NULL), 99000, 100000);
    assert_ok(hf_lock_extend(lock, NULL, 500, &problem));
    assert_between(wire_ttl(w, NAME), 100000 - 2 * SLACK_MS, 100000);
    assert_between(hf_lock_remaining_ms(lock, NULL), 99000, 100000);
    assert_int_equal(stats_of(w->client).renewals_sent, 0);
    assert_ok(leave(lock, NULL));
}

/* PL-14: what somebody took away from the TTL, an extension gives back. */
static void extending_restores_a_ttl_that_was_lowered(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);

    assert_ok(try_fixed(lock, NULL, 10000));
    (void)hft_int(w->server, "PEXPIRE " NAME " 5000");
    assert_ok(hf_lock_extend(lock, NULL, 10000, &problem));
    assert_between(wire_ttl(w, NAME), 10000 - SLACK_MS, 10000);
    assert_ok(leave(lock, NULL));
}

/* PL-13: of what is not held, what is lost, and by an absurd length. */
static void extending_what_is_not_held_is_refused(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);

    assert_status(HF_NOT_OWNER, hf_lock_extend(lock, NULL, 1000, &problem));
    assert_ok(try_fixed(lock, NULL, 300));
    assert_status(HF_INVALID, hf_lock_extend(lock, NULL, 0, &problem));
    assert_status(HF_INVALID, hf_lock_extend(lock, NULL, -5, &problem));
    assert_status(HF_INVALID, hf_lock_extend(lock, NULL, INT64_MAX, &problem));
    assert_true(state_becomes(lock, NULL, HF_STATE_LOST, BOUND_MS));
    assert_status(HF_LOST, hf_lock_extend(lock, NULL, 1000, &problem));
    assert_status(HF_LOST, leave(lock, NULL));
    assert_status(HF_NOT_OWNER, hf_lock_extend(lock, NULL, 1000, &problem));
}

/* An extension that finds it gone says so and is the news of the loss. */
static void extending_what_was_deleted_tells_the_loss(void **world)
{
    struct world *w = *world;
    struct told told = {0};
    hf_lock *lock = a_lock(w, NAME);
    hf_acquire how = once(NULL, 60000);

    how.renew = 0;
    how.on_lost = record_lost;
    how.context = &told;
    assert_ok(take(lock, NULL, &how));
    stranger_vanishes(w, NAME);
    assert_status(HF_LOST, hf_lock_extend(lock, NULL, 60000, &problem));
    assert_true(loss_is_told(&told, BOUND_MS));
    assert_int_equal(told_so_far(&told).reason, HF_LOST_GONE);
    assert_int_equal(wire_ttl(w, NAME), -2);
    assert_status(HF_LOST, leave(lock, NULL));
}

/* PL-45: a renewed lease keeps a waiter out until it is released. */
static void a_waiter_stays_out_while_the_lease_is_renewed(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    struct caller waiter = {.hold_ms = 0};
    int64_t released_ms;

    assert_ok(try_once(lock, NULL));
    caller_start(&waiter, a_lock_of(w, a_client(w), NAME), HF_WAIT_FOREVER);
    hft_let_pass_ms(2 * W_MS);
    assert_true(hf_lock_is_held(lock, NULL));
    released_ms = hft_now_ms();
    assert_ok(leave(lock, NULL));
    caller_join(&waiter);
    assert_status(HF_OK, waiter.status);
    assert_between(waiter.ended_ms - released_ms, -5, 100 + SLACK_MS);
}

/* RN-01, IS-13, 15.11: the server forgets all, and the next lease of the same
 * client is renewed as if nothing had been. */
static void after_the_server_forgot_the_next_lease_is_renewed(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    struct told told = {0};
    hf_acquire how = once(NULL, 0);

    how.on_lost = record_lost;
    how.context = &told;
    assert_ok(take(lock, NULL, &how));
    hft_server_restart(w->server, HFT_LOSE_DATA);
    assert_true(loss_is_told(&told, 2 * W_MS));
    assert_int_equal(told_so_far(&told).losses, 1);
    assert_status(HF_LOST, leave(lock, NULL));
    assert_ok(wait_up_to(lock, NULL, BOUND_MS));
    hft_let_pass_ms(2 * W_MS);
    assert_true(hf_lock_is_held(lock, NULL));
    assert_int_equal(wire_count(w, NAME), 1);
    assert_ok(leave(lock, NULL));
}

/* T5, IS-16: many leases go in batches, and none is forgotten.
 * spec: rlock/renew-4 */
static void a_thousand_leases_are_renewed_in_batches(void **world)
{
    enum { LEASES = 1000, PERIODS = 3 };
    struct world *w = *world;
    hf_owner *owner = an_owner(w);
    hf_acquire how = once(owner, 3000);
    int64_t sent;
    char name[32];
    int i;

    for (i = 0; i < LEASES; i++) {
        (void)snprintf(name, sizeof(name), "batch:%d", i);
        assert_ok(take(a_lock(w, name), owner, &how));
    }
    hft_let_pass_ms(1500);
    sent = stats_of(w->client).renewals_sent;
    hft_let_pass_ms(PERIODS * 1000);
    sent = stats_of(w->client).renewals_sent - sent;
    assert_between(sent, PERIODS * LEASES / 100 / 2,
                   PERIODS * LEASES / 100 * 3);
    for (i = 0; i < LEASES; i++) {
        assert_true(hf_lock_is_held(w->locks[i], owner));
    }
    assert_int_equal(hft_int(w->server, "DBSIZE"), LEASES);
}

/* 17.3, IS-32: in one batch, a name is gone, one is somebody else's and one is
 * no hash at all any more; each has its own end and the others are renewed.
 * spec: rlock/keep-5 */
static void a_sick_name_in_a_batch_harms_nobody_else(void **world)
{
    enum { LEASES = 20, GONE = 3, TAKEN = 7, WRONG = 11 };
    struct world *w = *world;
    hf_owner *owner = an_owner(w);
    static struct told told[LEASES]; /* told to the very end of the test */
    hf_lock *locks[LEASES];
    char name[32];
    int i;

    memset(told, 0, sizeof(told));
    for (i = 0; i < LEASES; i++) {
        hf_acquire how = once(owner, 0);

        how.on_lost = record_lost;
        how.context = &told[i];
        (void)snprintf(name, sizeof(name), "sick:%d", i);
        locks[i] = a_lock(w, name);
        assert_ok(take(locks[i], owner, &how));
    }
    stranger_vanishes(w, "sick:3");
    stranger_takes(w, "sick:7", 60000);
    (void)hft_int(w->server, "SET sick:11 text PX 60000");
    hft_let_pass_ms(2 * W_MS);
    assert_true(loss_is_told(&told[GONE], BOUND_MS));
    assert_true(loss_is_told(&told[TAKEN], BOUND_MS));
    assert_true(loss_is_told(&told[WRONG], BOUND_MS));
    assert_int_equal(told_so_far(&told[GONE]).reason, HF_LOST_GONE);
    assert_int_equal(told_so_far(&told[TAKEN]).reason, HF_LOST_TAKEN);
    for (i = 0; i < LEASES; i++) {
        if (i != GONE && i != TAKEN && i != WRONG) {
            assert_true(hf_lock_is_held(locks[i], owner));
            assert_int_equal(told_so_far(&told[i]).losses, 0);
        }
    }
    assert_string_equal(hft_str(w->server, "GET sick:11"), "text");
    assert_string_equal(wire_owner(w, "sick:7"), STRANGER);
    assert_int_equal(wire_ttl(w, "sick:3"), -2);
}

/* A count that somebody changed on the server is set right again: it is the
 * mirror of the owner's own.
 * spec: rlock/keep-2 */
static void a_renewal_sets_the_count_on_the_server_right(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    char owner[64];

    assert_ok(try_once(lock, NULL));
    assert_ok(try_once(lock, NULL));
    assert_ok(hf_lock_owner_text(lock, NULL, owner, sizeof(owner)));
    (void)hft_int(w->server, "HSET " NAME " %s 41", owner);
    assert_true(hft_wait_int(w->server, 2, W_MS, "HGET " NAME " %s", owner));
    assert_ok(leave(lock, NULL));
    assert_ok(leave(lock, NULL));
    assert_int_equal(wire_ttl(w, NAME), -2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        world_test(a_renewed_lease_outlives_its_length),
        world_test(nothing_is_renewed_after_the_release),
        world_test(an_earlier_owners_nest_does_not_disturb_the_next_lease),
        world_test(a_spinning_thread_does_not_lose_its_lock),
        world_test(a_partial_release_keeps_the_lease_of_the_lock),
        world_test(a_fixed_lease_is_not_inherited_by_the_next_hold),
        world_test(a_fixed_lease_is_never_renewed),
        world_test(leaving_the_renewed_level_leaves_the_fixed_levels_end),
        world_test(a_fixed_level_inside_a_renewed_one_ends_nothing),
        world_test(leaving_to_a_level_that_has_run_out_is_a_loss),
        world_test(extending_prolongs_and_never_shortens),
        world_test(extending_restores_a_ttl_that_was_lowered),
        world_test(extending_what_is_not_held_is_refused),
        world_test(extending_what_was_deleted_tells_the_loss),
        world_test(a_waiter_stays_out_while_the_lease_is_renewed),
        world_test(after_the_server_forgot_the_next_lease_is_renewed),
        world_test(a_thousand_leases_are_renewed_in_batches),
        world_test(a_sick_name_in_a_batch_harms_nobody_else),
        world_test(a_renewal_sets_the_count_on_the_server_right),
    };

    return cmocka_run_group_tests_name("lock_lease", tests, world_up,
                                       world_down);
}
