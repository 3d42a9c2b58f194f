/* SPDX-License-Identifier: MIT */
/* test_settle.c - holds that were taken for a group, once it is complete.
 *
 * A member is taken renewed, so that it lasts until the last one is there; only
 * then do the lease and the terms begin that were asked for
 * (docs/design/groups.md).
 */
#include <stdio.h>
#include <string.h>

#include "core_bench.h"

#define PROMISE(lease_ms) ((lease_ms) - (lease_ms) / 1000 - 2)

static int group, other_group; /* what terms are recognised by */

/* A renewed hold with these terms. */
static void hold_with(struct bench *bench, const char *name,
                      struct hfi_terms *terms)
{
    struct hfi_op_request ask = {.kind = HFI_OP_ACQUIRE,
                                 .lease_ms = BENCH_LEASE_MS,
                                 .renewed = true,
                                 .terms = terms};
    struct bench_call *call = bench_start(bench, 1, name, &ask);

    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    assert_ended(call, HF_OK);
}

static void settle(struct bench *bench, uint64_t owner, const char *name,
                   const struct hfi_settling *settling)
{
    struct hfi_object object = bench_object(name);

    hfi_core_hold_settle(bench->core, hfi_owner_get(bench->core, owner, true),
                         &object, settling, bench->now);
}

static void settled_as_fixed_it_is_renewed_no_more(void **state)
{
    struct bench *bench = *state;
    struct hfi_settling fixed = {.fixed = true};
    struct bench_notice notice;

    hold_with(bench, "a", bench_terms("a"));
    bench_pass(bench, 1000);
    settle(bench, 1, "a", &fixed);
    bench_pass(bench, PROMISE(BENCH_LEASE_MS) - 1001);
    assert_no_copy(bench);
    assert_int_equal(bench_state(bench, 1, "a"), HF_HELD); /* never suspect */
    bench_pass(bench, 1);
    assert_int_equal(bench_state(bench, 1, "a"), HF_STATE_LOST);
    assert_true(bench_told(bench, &notice));
    assert_true(notice.lost);
    assert_int_equal(notice.reason, HF_LOST_EXPIRED);
}

/* Its holder held before the group did. */
static void the_outer_levels_stay_as_they_are(void **state)
{
    struct bench *bench = *state;
    struct hfi_settling fixed = {.fixed = true};

    bench_hold(bench, 1, "a");
    bench_lock(bench, 1, "a", 0);
    bench_nil(bench, bench_take(bench, HFI_ENTER));
    settle(bench, 1, "a", &fixed);
    bench_pass(bench, BENCH_LEASE_MS / 3);
    bench_renewed(bench, bench_take(bench, HFI_RENEW));
    assert_int_equal(bench_remaining(bench, 1, "a"), PROMISE(BENCH_LEASE_MS));
}

static void settled_as_renewed_it_goes_on_being_renewed(void **state)
{
    struct bench *bench = *state;
    struct hfi_settling renewed = {.fixed = false};

    bench_hold(bench, 1, "a");
    bench_pass(bench, 500);
    settle(bench, 1, "a", &renewed);
    bench_pass(bench, BENCH_LEASE_MS / 3 - 500);
    bench_take(bench, HFI_RENEW);
}

/* From the moment the group is complete, and not from the first grant. */
static void the_longest_hold_counts_from_then(void **state)
{
    struct bench *bench = *state;
    struct hfi_terms *terms = bench_terms("a");
    struct hfi_settling settling = {
        .context = &group, .max_hold_ms = 5000, .max_hold_warning_ms = 1500};
    struct bench_notice notice;

    terms->context = &group;
    hold_with(bench, "a", terms);
    bench_pass(bench, 3000);
    settle(bench, 1, "a", &settling);
    assert_int_equal(bench_remaining(bench, 1, "a"), 5000);
    bench_pass(bench, 3499);
    assert_false(bench_told(bench, &notice));
    bench_pass(bench, 1);
    assert_true(bench_told(bench, &notice));
    assert_true(notice.warning);
    assert_int_equal(notice.warning_reason, HF_LOST_MAX_HOLD);
    bench_pass(bench, 1500);
    assert_true(bench_told(bench, &notice));
    assert_true(notice.lost);
    assert_int_equal(notice.reason, HF_LOST_MAX_HOLD);
}

static void so_does_the_shortest(void **state)
{
    struct bench *bench = *state;
    struct hfi_terms *terms = bench_terms("a");
    struct hfi_settling settling = {.context = &group, .min_hold_ms = 2000};
    struct hfi_copy *copy;

    terms->context = &group;
    hold_with(bench, "a", terms);
    bench_pass(bench, 3000);
    settle(bench, 1, "a", &settling);
    bench_pass(bench, 500);
    bench_unlock(bench, 1, "a");
    copy = bench_take(bench, HFI_RELEASE);
    assert_int_equal(copy->rest_ms, 1500);
    bench_nil(bench, copy);
}

/* A hold that its owner had before keeps what he was promised then. */
static void terms_of_somebody_else_are_left_alone(void **state)
{
    struct bench *bench = *state;
    struct hfi_terms *terms = bench_terms("a");
    struct hfi_settling settling = {
        .context = &group, .min_hold_ms = 9000, .max_hold_ms = 1};

    terms->context = &other_group;
    hold_with(bench, "a", terms);
    bench_hold(bench, 1, "b"); /* without any */
    settle(bench, 1, "a", &settling);
    settle(bench, 1, "b", &settling);
    assert_int_equal(bench_remaining(bench, 1, "a"), PROMISE(BENCH_LEASE_MS));
    assert_int_equal(bench_remaining(bench, 1, "b"), PROMISE(BENCH_LEASE_MS));
    bench_unlock(bench, 1, "a");
    assert_int_equal(bench_take(bench, HFI_RELEASE)->rest_ms, 0);
}

static void what_is_not_held_is_not_settled(void **state)
{
    struct bench *bench = *state;
    struct hfi_settling fixed = {.fixed = true};

    settle(bench, 1, "a", &fixed); /* nobody knows that name */
    bench_hold(bench, 2, "a");
    settle(bench, 1, "a", &fixed); /* another has it */
    assert_int_equal(bench_state(bench, 1, "a"), HF_NOT_HELD);
    bench_pass(bench, BENCH_LEASE_MS / 3);
    bench_renewed(bench, bench_take(bench, HFI_RENEW));
    bench_jump(bench, BENCH_LEASE_MS);
    settle(bench, 2, "a", &fixed); /* it was lost */
    assert_int_equal(bench_state(bench, 2, "a"), HF_STATE_LOST);
}

/* A group that took longer than half of the lease, unanswered. */
static void a_suspect_hold_that_becomes_fixed_is_so_no_more(void **state)
{
    struct bench *bench = *state;
    struct hfi_settling fixed = {.fixed = true};
    struct bench_notice notice;

    hold_with(bench, "a", bench_terms("a"));
    bench_pass(bench, BENCH_LEASE_MS / 2);
    assert_int_equal(bench_state(bench, 1, "a"), HF_SUSPECT);
    assert_true(bench_told(bench, &notice));
    settle(bench, 1, "a", &fixed);
    assert_int_equal(bench_state(bench, 1, "a"), HF_HELD);
    assert_true(bench_told(bench, &notice));
    assert_int_equal(notice.lock_state, HF_HELD);
}

/* ---- forgotten, to be taken again ---- */

static bool forget(struct bench *bench, const char *name, uint32_t levels)
{
    struct hfi_object object = bench_object(name);

    return hfi_core_hold_forget(bench->core,
                                hfi_owner_get(bench->core, 1, true), &object,
                                levels, bench->now);
}

static void what_was_lost_is_forgotten_with_all_its_levels(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;

    assert_true(forget(bench, "a", 0)); /* there is none */
    bench_hold_fixed(bench, 1, "a", 1000);
    bench_lock_fixed(bench, 1, "a", 1000);
    bench_nil(bench, bench_take(bench, HFI_ENTER));
    assert_false(forget(bench, "a", 2)); /* it is held */
    bench_jump(bench, 1000);
    assert_false(forget(bench, "a", 1)); /* one level is somebody else's */
    assert_true(forget(bench, "a", 2));
    assert_int_equal(bench_state(bench, 1, "a"), HF_NOT_HELD);
    bench_pass(bench, 10);
    bench_undone(bench, bench_take(bench, HFI_UNDO)); /* as any lost one */
    call = bench_lock(bench, 1, "a", 0);
    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    assert_ended(call, HF_OK);
}

static void what_was_held_too_long_is_not_forgotten(void **state)
{
    struct bench *bench = *state;
    struct hfi_terms *terms = bench_terms("a");

    terms->max_hold_ms = 500;
    hold_with(bench, "a", terms);
    bench_jump(bench, 500);
    assert_false(forget(bench, "a", 1));
    assert_int_equal(bench_state(bench, 1, "a"), HF_STATE_LOST);
}

int main(void)
{
#define TEST(function)                                                         \
    cmocka_unit_test_setup_teardown(function, bench_setup, bench_teardown)
    static const struct CMUnitTest tests[] = {
        TEST(settled_as_fixed_it_is_renewed_no_more),
        TEST(what_was_lost_is_forgotten_with_all_its_levels),
        TEST(what_was_held_too_long_is_not_forgotten),
        TEST(the_outer_levels_stay_as_they_are),
        TEST(settled_as_renewed_it_goes_on_being_renewed),
        TEST(the_longest_hold_counts_from_then),
        TEST(so_does_the_shortest),
        TEST(terms_of_somebody_else_are_left_alone),
        TEST(what_is_not_held_is_not_settled),
        TEST(a_suspect_hold_that_becomes_fixed_is_so_no_more),
    };

    return cmocka_run_group_tests_name("settle", tests, NULL, NULL);
}
