/* SPDX-License-Identifier: MIT */
/* test_guard.c - when a command is stopped because its lock is being lost:
 * promise 3 of the command, in a simulated time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "guard.h"

#define KILL_AFTER 3000
#define MARGIN 100

static struct guard guard;

static void plan(enum guard_mode mode)
{
    const struct guard_plan p = {mode, KILL_AFTER, MARGIN};

    guard_init(&guard, &p);
}

/* One look at a lock that stands. */
static enum guard_action held(int64_t now_ms, int64_t deadline_ms)
{
    const struct guard_view view = {now_ms, deadline_ms, false, false};

    return guard_step(&guard, &view);
}

static enum guard_action lost(int64_t now_ms, bool is_taken_away)
{
    const struct guard_view view = {now_ms, GUARD_NEVER, true, is_taken_away};

    return guard_step(&guard, &view);
}

static void a_healthy_lease_disturbs_nobody(void **state)
{
    (void)state;
    plan(GUARD_KILL);
    assert_int_equal(held(0, GUARD_NEVER), GUARD_DO_NOTHING);
    assert_int_equal(held(1000000, GUARD_NEVER), GUARD_DO_NOTHING);
    assert_true(guard_next_ms(&guard) == GUARD_NEVER);
}

static void the_signal_and_kill_come_before_the_deadline(void **state)
{
    (void)state;
    plan(GUARD_KILL);
    assert_int_equal(held(0, 10000), GUARD_DO_NOTHING);
    assert_true(guard_next_ms(&guard) == 7000);
    assert_int_equal(held(6999, 10000), GUARD_DO_NOTHING);
    assert_int_equal(held(7000, 10000), GUARD_DO_SIGNAL);
    assert_int_equal(held(7000, 10000), GUARD_DO_NOTHING);
    assert_true(guard_next_ms(&guard) == 9900);
    assert_int_equal(held(9899, 10000), GUARD_DO_NOTHING);
    assert_int_equal(held(9900, 10000), GUARD_DO_KILL);
    assert_int_equal(held(9999, 10000), GUARD_DO_NOTHING);
}

static void a_blip_is_forgiven(void **state)
{
    (void)state;
    plan(GUARD_KILL);
    assert_int_equal(held(0, 10000), GUARD_DO_NOTHING);
    assert_int_equal(held(6000, GUARD_NEVER), GUARD_DO_NOTHING);
    assert_int_equal(held(7000, GUARD_NEVER), GUARD_DO_NOTHING);
    assert_true(guard_next_ms(&guard) == GUARD_NEVER);
}

static void a_recovery_after_the_signal_cancels_kill(void **state)
{
    (void)state;
    plan(GUARD_KILL);
    assert_int_equal(held(8000, 10000), GUARD_DO_SIGNAL);
    assert_int_equal(held(8500, GUARD_NEVER), GUARD_DO_NOTHING);
    assert_int_equal(held(9950, GUARD_NEVER), GUARD_DO_NOTHING);
    /* It is not signalled twice, but killed in time. */
    assert_int_equal(held(20000, 23000), GUARD_DO_NOTHING);
    assert_int_equal(held(22900, 23000), GUARD_DO_KILL);
}

static void a_deadline_that_moves_moves_the_plan(void **state)
{
    (void)state;
    plan(GUARD_KILL);
    assert_int_equal(held(0, 10000), GUARD_DO_NOTHING);
    assert_int_equal(held(7000, 20000), GUARD_DO_NOTHING);
    assert_true(guard_next_ms(&guard) == 17000);
}

static void seen_too_late_both_come_at_once(void **state)
{
    (void)state;
    plan(GUARD_KILL);
    assert_int_equal(held(9950, 10000), GUARD_DO_SIGNAL);
    assert_int_equal(held(9950, 10000), GUARD_DO_KILL);
}

static void a_lock_lost_by_the_clock_kills_at_once(void **state)
{
    (void)state;
    plan(GUARD_KILL);
    assert_int_equal(lost(5000, false), GUARD_DO_SIGNAL);
    assert_int_equal(lost(5000, false), GUARD_DO_KILL);
    assert_int_equal(lost(5000, false), GUARD_DO_NOTHING);
}

static void a_taken_lock_signals_at_once_and_kills_later(void **state)
{
    (void)state;
    plan(GUARD_KILL);
    assert_int_equal(lost(5000, true), GUARD_DO_SIGNAL);
    assert_int_equal(lost(7999, true), GUARD_DO_NOTHING);
    assert_true(guard_next_ms(&guard) == 8000);
    assert_int_equal(lost(8000, true), GUARD_DO_KILL);
}

/* The later bad news does not give more time than the earlier did. */
static void a_loss_does_not_put_off_a_kill_that_was_due(void **state)
{
    (void)state;
    plan(GUARD_KILL);
    assert_int_equal(held(8000, 10000), GUARD_DO_SIGNAL);
    assert_int_equal(lost(9000, true), GUARD_DO_NOTHING);
    assert_true(guard_next_ms(&guard) == 9900);
    assert_int_equal(lost(9900, true), GUARD_DO_KILL);
}

static void signal_mode_never_kills(void **state)
{
    (void)state;
    plan(GUARD_SIGNAL);
    assert_int_equal(held(7000, 10000), GUARD_DO_SIGNAL);
    assert_int_equal(held(9999, 10000), GUARD_DO_NOTHING);
    assert_int_equal(lost(10000, false), GUARD_DO_NOTHING);
    assert_int_equal(lost(999999, false), GUARD_DO_NOTHING);
    assert_true(guard_next_ms(&guard) == GUARD_NEVER);
}

static void ignore_mode_does_nothing(void **state)
{
    (void)state;
    plan(GUARD_IGNORE);
    assert_int_equal(held(9999, 10000), GUARD_DO_NOTHING);
    assert_int_equal(lost(10000, true), GUARD_DO_NOTHING);
    assert_true(guard_next_ms(&guard) == GUARD_NEVER);
}

/* `--kill-after 0`: no time to end, and still nothing after the deadline. */
static void without_time_to_end_kill_keeps_its_margin(void **state)
{
    const struct guard_plan p = {GUARD_KILL, 0, MARGIN};

    (void)state;
    guard_init(&guard, &p);
    assert_int_equal(held(9899, 10000), GUARD_DO_NOTHING);
    assert_int_equal(held(9900, 10000), GUARD_DO_SIGNAL);
    assert_int_equal(held(9900, 10000), GUARD_DO_KILL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_healthy_lease_disturbs_nobody),
        cmocka_unit_test(the_signal_and_kill_come_before_the_deadline),
        cmocka_unit_test(a_blip_is_forgiven),
        cmocka_unit_test(a_recovery_after_the_signal_cancels_kill),
        cmocka_unit_test(a_deadline_that_moves_moves_the_plan),
        cmocka_unit_test(seen_too_late_both_come_at_once),
        cmocka_unit_test(a_lock_lost_by_the_clock_kills_at_once),
        cmocka_unit_test(a_taken_lock_signals_at_once_and_kills_later),
        cmocka_unit_test(a_loss_does_not_put_off_a_kill_that_was_due),
        cmocka_unit_test(signal_mode_never_kills),
        cmocka_unit_test(ignore_mode_does_nothing),
        cmocka_unit_test(without_time_to_end_kill_keeps_its_margin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
