/* SPDX-License-Identifier: MIT */
/* test_keep.c - re-entry, partial release, extension: ENTER, LEAVE, EXTEND.
 *
 * "Held" of docs/design/late-copies.md (T5, T6, LK-*).
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core_bench.h"

#define PROMISE(lease_ms) ((lease_ms) - (lease_ms) / 1000 - 2)

static void enter(struct bench *bench, int64_t lease_ms)
{
    struct bench_call *call = bench_lock_fixed(bench, 1, "a", lease_ms);

    bench_nil(bench, bench_take(bench, HFI_ENTER));
    assert_ended(call, HF_OK);
}

static void leave(struct bench *bench)
{
    struct bench_call *call = bench_unlock(bench, 1, "a");

    bench_nil(bench, bench_take(bench, HFI_LEAVE));
    assert_ended(call, HF_OK);
}

/* ---- ENTER ---- */

static void a_re_entry_says_what_the_count_is_to_be(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;
    struct hfi_copy *copy;

    bench_hold(bench, 1, "a");
    call = bench_lock(bench, 1, "a", 0);
    copy = bench_take(bench, HFI_ENTER);
    assert_string_equal(bench_words(bench, copy),
                        "lock_keep a | " BENCH_UUID ":1 2 30000");
    assert_int_equal(bench_count(bench, 1, "a"), 1);
    bench_nil(bench, copy);
    assert_ended(call, HF_OK);
    assert_int_equal(bench_count(bench, 1, "a"), 2);
    leave(bench);
    assert_int_equal(bench_count(bench, 1, "a"), 1);
    bench_free(bench, 1, "a");
    assert_true(hfi_core_idle(bench->core));
}

static void levels_have_deadlines_of_their_own(void **state)
{
    struct bench *bench = *state;

    bench_hold_fixed(bench, 1, "a", 60000);
    enter(bench, 1000);
    enter(bench, 90000);
    enter(bench, 2000);
    assert_int_equal(bench_remaining(bench, 1, "a"), PROMISE(90000));
    assert_int_equal(bench_count(bench, 1, "a"), 4);
    leave(bench);
    leave(bench);
    assert_int_equal(bench_remaining(bench, 1, "a"), PROMISE(60000));
    leave(bench);
    assert_int_equal(bench_remaining(bench, 1, "a"), PROMISE(60000));
    assert_int_equal(bench_count(bench, 1, "a"), 1);
}

static void a_re_entry_answered_after_its_own_deadline_is_not_done(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;
    struct hfi_copy *copy;

    bench_hold_fixed(bench, 1, "a", 60000);
    call = bench_lock_fixed(bench, 1, "a", 100);
    copy = bench_take(bench, HFI_ENTER);
    bench_jump(bench, PROMISE(100));
    bench_nil(bench, copy);
    assert_ended(call, HF_NOT_DONE);
    assert_non_null(strstr(call->error.message, "stands"));
    assert_int_equal(bench_count(bench, 1, "a"), 1);
    assert_no_copy(bench); /* nothing is undone */
}

static void a_re_entry_without_an_answer_is_not_done(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;
    struct hfi_copy *copy;

    bench_hold_fixed(bench, 1, "a", 60000);
    call = bench_lock_fixed(bench, 1, "a", 30000);
    copy = bench_take(bench, HFI_ENTER);
    bench_pass(bench, BENCH_RESPONSE_MS + BENCH_CONNECT_MS);
    assert_ended(call, HF_NOT_DONE);
    bench_nil(bench, copy); /* too late to count */
    assert_int_equal(bench_count(bench, 1, "a"), 1);
    assert_no_copy(bench);
}

static void a_late_absent_to_a_given_up_call_still_counts(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;
    struct hfi_copy *copy;

    bench_hold_fixed(bench, 1, "a", 60000);
    call = bench_lock_fixed(bench, 1, "a", 30000);
    copy = bench_take(bench, HFI_ENTER);
    bench_cancel(bench, call, HF_CANCELLED);
    assert_ended(call, HF_CANCELLED);
    bench_integer(bench, copy, -2);
    assert_int_equal(bench_state(bench, 1, "a"), HF_STATE_LOST);
    bench_take(bench, HFI_UNDO);
}

static void a_late_absent_after_the_release_says_nothing(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;
    struct hfi_copy *copy;

    bench_hold_fixed(bench, 1, "a", 60000);
    call = bench_lock_fixed(bench, 1, "a", 30000);
    copy = bench_take(bench, HFI_ENTER);
    bench_cancel(bench, call, HF_CANCELLED);
    bench_free(bench, 1, "a");
    bench_integer(bench, copy, -2);
    assert_no_copy(bench);
    assert_true(hfi_core_idle(bench->core));
}

static void sent_again_after_a_lost_link_it_counts_from_the_new_copy(
    void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;

    bench_hold_fixed(bench, 1, "a", 10000);
    call = bench_lock_fixed(bench, 1, "a", 30000);
    bench_jump(bench, 500);
    bench_lose(bench, bench_take(bench, HFI_ENTER), true);
    bench_jump(bench, 200);
    bench_lose(bench, bench_take(bench, HFI_ENTER), false);
    bench_nil(bench, bench_take(bench, HFI_ENTER));
    assert_ended(call, HF_OK);
    assert_int_equal(bench_remaining(bench, 1, "a"), PROMISE(30000));
    assert_int_equal(bench_count(bench, 1, "a"), 2);
}

static void a_re_entry_never_queues_behind_a_waiter(void **state)
{
    struct bench *bench = *state;

    bench_hold(bench, 1, "a");
    bench_lock(bench, 2, "a", -1);
    bench_lock(bench, 1, "a", -1);
    bench_take(bench, HFI_ENTER);
}

static void linkless_a_re_entry_waits_a_little(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;

    bench_hold_fixed(bench, 1, "a", 60000);
    bench_links_down(bench);
    call = bench_lock_fixed(bench, 1, "a", 30000);
    bench_link_up(bench, HFI_LINK_MAIN);
    bench_nil(bench, bench_take(bench, HFI_ENTER));
    assert_ended(call, HF_OK);
    bench_links_down(bench);
    call = bench_lock_fixed(bench, 1, "a", 30000);
    bench_link_failed(bench, HF_UNREACHABLE);
    assert_ended(call, HF_NOT_DONE);
    assert_non_null(strstr(call->error.message, "no way there"));
    call = bench_lock_fixed(bench, 1, "a", 30000);
    bench_pass(bench, 5000);
    assert_ended(call, HF_NOT_DONE);
}

static void lost_while_it_is_made_a_re_entry_says_so(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;
    struct hfi_copy *copy;

    bench_hold_fixed(bench, 1, "a", 1000);
    call = bench_lock_fixed(bench, 1, "a", 30000);
    copy = bench_take(bench, HFI_ENTER);
    bench_pass(bench, 997);
    assert_running(call);
    bench_lose(bench, copy, true); /* would be sent again */
    assert_ended(call, HF_LOST);
    assert_no_copy(bench);
}

static void errors_to_a_re_entry(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;
    struct hfi_copy *copy;

    bench_hold_fixed(bench, 1, "a", 60000);
    call = bench_lock_fixed(bench, 1, "a", 30000);
    bench_error(bench, bench_take(bench, HFI_ENTER), HFI_REFUSAL_NO_SCRIPT);
    copy = bench_take(bench, HFI_ENTER);
    assert_true(copy->with_text);
    bench_error(bench, copy, HFI_REFUSAL_UNAVAILABLE);
    bench_pass(bench, 20);
    bench_error(bench, bench_take(bench, HFI_ENTER), HFI_REFUSAL_PERMISSION);
    assert_ended(call, HF_NOT_DONE);
    assert_non_null(strstr(call->error.message, "NO because"));
    call = bench_lock_fixed(bench, 1, "a", 30000);
    bench_error(bench, bench_take(bench, HFI_ENTER), HFI_REFUSAL_WRONG_TYPE);
    assert_ended(call, HF_LOST); /* the name holds something else: it is gone */
    assert_int_equal(bench_state(bench, 1, "a"), HF_STATE_LOST);
}

/* It was mended, and is not why there was no answer. */
static void an_unknown_script_is_not_named_as_the_reason(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;

    bench_hold_fixed(bench, 1, "a", 60000);
    call = bench_lock_fixed(bench, 1, "a", 30000);
    bench_error(bench, bench_take(bench, HFI_ENTER), HFI_REFUSAL_NO_SCRIPT);
    (void)bench_take(bench, HFI_ENTER);
    bench_pass(bench, BENCH_RESPONSE_MS + BENCH_CONNECT_MS);
    assert_ended(call, HF_NOT_DONE);
    assert_non_null(strstr(call->error.message, "no answer in time"));
}

/* ---- LEAVE ---- */

static void the_level_is_gone_when_leave_is_asked_for(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;

    bench_hold_fixed(bench, 1, "a", 10000);
    enter(bench, 60000);
    call = bench_unlock(bench, 1, "a");
    assert_running(call);
    assert_int_equal(bench_count(bench, 1, "a"), 1);
    assert_int_equal(bench_remaining(bench, 1, "a"), PROMISE(10000));
    assert_string_equal(bench_words(bench, bench_take(bench, HFI_LEAVE)),
                        "lock_keep a | " BENCH_UUID ":1 1 0");
    bench_pass(bench, BENCH_RESPONSE_MS + BENCH_CONNECT_MS);
    assert_ended(call, HF_UNKNOWN); /* it counts as done */
    assert_int_equal(bench_count(bench, 1, "a"), 1);
}

static void what_remains_may_be_past_and_is_lost_at_once(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;

    bench_hold_fixed(bench, 1, "a", 1000);
    enter(bench, 60000);
    bench_pass(bench, 2000);
    assert_int_equal(bench_state(bench, 1, "a"), HF_HELD);
    call = bench_unlock(bench, 1, "a");
    assert_ended(call, HF_OK);
    assert_int_equal(bench_state(bench, 1, "a"), HF_STATE_LOST);
    bench_take(bench, HFI_UNDO); /* no LEAVE was sent */
    assert_no_copy(bench);
    assert_ended(bench_unlock(bench, 1, "a"), HF_LOST);
    assert_ended(bench_unlock(bench, 1, "a"), HF_NOT_OWNER);
}

static void a_leave_renews_what_remains(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;
    struct hfi_copy *copy;

    bench_hold(bench, 1, "a");
    enter(bench, 60000);
    bench_jump(bench, 5000);
    call = bench_unlock(bench, 1, "a");
    copy = bench_take(bench, HFI_LEAVE);
    assert_int_equal(copy->lease_ms, BENCH_LEASE_MS);
    bench_nil(bench, copy);
    assert_ended(call, HF_OK);
    /* The renewed level was moved by ENTER, whose copy extended it so far. */
    assert_in_range(bench_remaining(bench, 1, "a"), PROMISE(30000),
                    PROMISE(60000));
}

static void absent_to_a_leave_is_gone(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;

    bench_hold(bench, 1, "a");
    enter(bench, 60000);
    call = bench_unlock(bench, 1, "a");
    bench_integer(bench, bench_take(bench, HFI_LEAVE), 700);
    assert_ended(call, HF_GONE);
    assert_int_equal(bench_state(bench, 1, "a"), HF_STATE_LOST);
}

static void nothing_is_renewed_when_only_fixed_levels_remain(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;

    bench_hold_fixed(bench, 1, "a", 60000);
    call = bench_lock(bench, 1, "a", 0);
    bench_nil(bench, bench_take(bench, HFI_ENTER));
    assert_ended(call, HF_OK);
    bench_pass(bench, 10000);
    bench_renewed(bench, bench_take(bench, HFI_RENEW));
    assert_int_equal(bench_remaining(bench, 1, "a"), PROMISE(60000) - 10000);
    leave(bench);
    bench_pass(bench, PROMISE(60000) - 10001);
    assert_no_copy(bench);
    assert_int_equal(bench_state(bench, 1, "a"), HF_HELD);
    bench_pass(bench, 1);
    assert_int_equal(bench_state(bench, 1, "a"), HF_STATE_LOST);
}

static void left_with_fixed_levels_it_is_suspect_no_more(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;

    bench_hold_fixed(bench, 1, "a", 60000);
    call = bench_lock(bench, 1, "a", 0);
    bench_nil(bench, bench_take(bench, HFI_ENTER));
    assert_ended(call, HF_OK);
    bench_pass(bench, 16000);
    assert_int_equal(bench_state(bench, 1, "a"), HF_SUSPECT);
    bench_unlock(bench, 1, "a");
    /* What is left is not renewed, so no renewal is overdue. */
    assert_int_equal(bench_state(bench, 1, "a"), HF_HELD);
}

static void errors_to_a_leave_leave_it_unknown(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;

    bench_hold_fixed(bench, 1, "a", 60000);
    enter(bench, 60000);
    call = bench_unlock(bench, 1, "a");
    bench_error(bench, bench_take(bench, HFI_LEAVE), HFI_REFUSAL_PERMISSION);
    assert_ended(call, HF_UNKNOWN);
    assert_int_equal(bench_count(bench, 1, "a"), 1);
}

/* ---- EXTEND ---- */

static void an_extension_moves_the_innermost_level_and_never_back(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;
    struct hfi_copy *copy;

    bench_hold_fixed(bench, 1, "a", 60000);
    call = bench_extend(bench, 1, "a", 1000);
    bench_nil(bench, bench_take(bench, HFI_EXTEND));
    assert_ended(call, HF_OK);
    assert_int_equal(bench_remaining(bench, 1, "a"), PROMISE(60000));
    bench_jump(bench, 1000);
    call = bench_extend(bench, 1, "a", 90000);
    copy = bench_take(bench, HFI_EXTEND);
    assert_string_equal(bench_words(bench, copy),
                        "lock_keep a | " BENCH_UUID ":1 1 90000");
    bench_jump(bench, 100);
    bench_nil(bench, copy);
    assert_ended(call, HF_OK);
    assert_int_equal(bench_remaining(bench, 1, "a"), PROMISE(90000) - 100);
    enter(bench, 1000);
    call = bench_extend(bench, 1, "a", 120000);
    bench_nil(bench, bench_take(bench, HFI_EXTEND));
    assert_ended(call, HF_OK);
    leave(bench);
    assert_int_equal(bench_remaining(bench, 1, "a"), PROMISE(90000) - 100);
}

static void an_extension_answered_too_late_is_not_done(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;
    struct hfi_copy *copy;

    bench_hold_fixed(bench, 1, "a", 60000);
    call = bench_extend(bench, 1, "a", 100);
    copy = bench_take(bench, HFI_EXTEND);
    bench_jump(bench, PROMISE(100));
    bench_nil(bench, copy);
    assert_ended(call, HF_NOT_DONE);
    assert_ended(bench_extend(bench, 2, "a", 100), HF_NOT_OWNER);
    assert_ended(bench_extend(bench, 2, "b", 100), HF_NOT_OWNER);
    assert_no_copy(bench);
}

static void an_extended_renewed_lease_is_renewed_by_the_longer(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;

    bench_hold(bench, 1, "a");
    call = bench_extend(bench, 1, "a", 60000);
    bench_nil(bench, bench_take(bench, HFI_EXTEND));
    assert_ended(call, HF_OK);
    bench_pass(bench, 20000);
    assert_int_equal(bench_take(bench, HFI_RENEW)->batch[0].lease_ms, 60000);
}

/* ---- local re-entry ---- */

static void with_local_re_entry_a_covered_level_costs_nothing(void **state)
{
    struct bench bench;
    struct hfi_core_config config = bench_config();
    struct bench_call *call;

    (void)state;
    config.local_reentry = true;
    bench_open_with(&bench, &config);
    bench_hold(&bench, 1, "a");
    call = bench_lock(&bench, 1, "a", 0);
    assert_ended(call, HF_OK);
    assert_int_equal(bench_count(&bench, 1, "a"), 2);
    assert_int_equal(bench_remaining(&bench, 1, "a"), PROMISE(30000));
    call = bench_unlock(&bench, 1, "a");
    assert_ended(call, HF_OK);
    assert_int_equal(bench_count(&bench, 1, "a"), 1);
    assert_no_copy(&bench);
    /* A fixed level, or a longer one, is not covered. */
    call = bench_lock_fixed(&bench, 1, "a", 1000);
    bench_nil(&bench, bench_take(&bench, HFI_ENTER));
    assert_ended(call, HF_OK);
    bench_unlock(&bench, 1, "a");
    bench_take(&bench, HFI_LEAVE);
    bench_close(&bench);
}

static void local_re_entry_into_a_fixed_hold_asks_the_server(void **state)
{
    struct bench bench;
    struct hfi_core_config config = bench_config();

    (void)state;
    config.local_reentry = true;
    bench_open_with(&bench, &config);
    bench_hold_fixed(&bench, 1, "a", 60000);
    bench_lock(&bench, 1, "a", 0);
    bench_take(&bench, HFI_ENTER);
    bench_close(&bench);
}

static void an_answer_that_is_none_is_not_done(void **state)
{
    struct bench *bench = *state;
    struct hfi_value array = {.kind = HFI_ARRAY};
    struct bench_call *call;

    bench_hold_fixed(bench, 1, "a", 60000);
    call = bench_lock_fixed(bench, 1, "a", 30000);
    bench_answer(bench, bench_take(bench, HFI_ENTER), &array);
    assert_ended(call, HF_NOT_DONE);
    assert_int_equal(bench_count(bench, 1, "a"), 1);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
#define TEST(function)                                                         \
    cmocka_unit_test_setup_teardown(function, bench_setup, bench_teardown)
        TEST(a_re_entry_says_what_the_count_is_to_be),
        TEST(levels_have_deadlines_of_their_own),
        TEST(a_re_entry_answered_after_its_own_deadline_is_not_done),
        TEST(a_re_entry_without_an_answer_is_not_done),
        TEST(a_late_absent_to_a_given_up_call_still_counts),
        TEST(a_late_absent_after_the_release_says_nothing),
        TEST(sent_again_after_a_lost_link_it_counts_from_the_new_copy),
        TEST(a_re_entry_never_queues_behind_a_waiter),
        TEST(linkless_a_re_entry_waits_a_little),
        TEST(lost_while_it_is_made_a_re_entry_says_so),
        TEST(errors_to_a_re_entry),
        TEST(an_unknown_script_is_not_named_as_the_reason),
        TEST(the_level_is_gone_when_leave_is_asked_for),
        TEST(what_remains_may_be_past_and_is_lost_at_once),
        TEST(a_leave_renews_what_remains),
        TEST(absent_to_a_leave_is_gone),
        TEST(nothing_is_renewed_when_only_fixed_levels_remain),
        TEST(left_with_fixed_levels_it_is_suspect_no_more),
        TEST(errors_to_a_leave_leave_it_unknown),
        TEST(an_extension_moves_the_innermost_level_and_never_back),
        TEST(an_extension_answered_too_late_is_not_done),
        TEST(an_extended_renewed_lease_is_renewed_by_the_longer),
        cmocka_unit_test(with_local_re_entry_a_covered_level_costs_nothing),
        cmocka_unit_test(local_re_entry_into_a_fixed_hold_asks_the_server),
        TEST(an_answer_that_is_none_is_not_done),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
