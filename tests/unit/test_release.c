/* SPDX-License-Identifier: MIT */
/* test_release.c - the last release of a hold.
 *
 * "Releasing" of docs/design/late-copies.md (T2, T6, T19).
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core_bench.h"

static void freed_is_done(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;
    struct hfi_copy *copy;

    bench_hold(bench, 1, "a");
    call = bench_unlock(bench, 1, "a");
    /* The levels are gone when it is sent. */
    assert_int_equal(bench_state(bench, 1, "a"), HF_NOT_HELD);
    copy = bench_take(bench, HFI_RELEASE);
    assert_string_equal(bench_words(bench, copy),
                        "lock_release a | " BENCH_UUID
                        ":1 redisson_lock__channel:{a}");
    bench_nil(bench, copy);
    assert_ended(call, HF_OK);
    assert_no_copy(bench);
    assert_true(hfi_core_idle(bench->core));
    assert_null(hfi_owner_get(bench->core, 1, false));
}

static void absent_is_gone_and_says_whether_another_has_it(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;

    bench_hold(bench, 1, "a");
    call = bench_unlock(bench, 1, "a");
    bench_integer(bench, bench_take(bench, HFI_RELEASE), -2);
    assert_ended(call, HF_GONE);
    assert_non_null(strstr(call->error.message, "is free"));
    bench_hold(bench, 1, "a");
    call = bench_unlock(bench, 1, "a");
    bench_integer(bench, bench_take(bench, HFI_RELEASE), 5);
    assert_ended(call, HF_GONE);
    assert_non_null(strstr(call->error.message, "another owner"));
    bench_hold(bench, 1, "a");
    call = bench_unlock(bench, 1, "a");
    bench_error(bench, bench_take(bench, HFI_RELEASE), HFI_REFUSAL_WRONG_TYPE);
    assert_ended(call, HF_GONE);
    assert_non_null(strstr(call->error.message, "another type"));
    assert_no_copy(bench);
    assert_true(hfi_core_idle(bench->core));
}

/* T2: the reply was lost, and the repeated release finds nothing. */
static void absent_after_an_unanswered_copy_is_done(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;

    bench_hold(bench, 1, "a");
    call = bench_unlock(bench, 1, "a");
    bench_lose(bench, bench_take(bench, HFI_RELEASE), true);
    bench_integer(bench, bench_take(bench, HFI_RELEASE), -2);
    assert_ended(call, HF_OK);
    assert_no_copy(bench);
}

static void absent_after_a_copy_that_never_left_is_gone(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;

    bench_hold(bench, 1, "a");
    call = bench_unlock(bench, 1, "a");
    bench_lose(bench, bench_take(bench, HFI_RELEASE), false);
    bench_integer(bench, bench_take(bench, HFI_RELEASE), -2);
    assert_ended(call, HF_GONE);
}

/* An error answers its copy: that copy did nothing. */
static void absent_after_an_answered_error_is_gone(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;
    struct hfi_copy *copy;

    bench_hold(bench, 1, "a");
    call = bench_unlock(bench, 1, "a");
    bench_error(bench, bench_take(bench, HFI_RELEASE), HFI_REFUSAL_NO_SCRIPT);
    copy = bench_take(bench, HFI_RELEASE);
    assert_true(copy->with_text);
    bench_error(bench, copy, HFI_REFUSAL_UNAVAILABLE);
    assert_no_copy(bench);
    bench_pass(bench, 20);
    bench_integer(bench, bench_take(bench, HFI_RELEASE), -2);
    assert_ended(call, HF_GONE);
}

static void given_up_it_is_unknown_and_ended(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;
    struct hfi_copy *copy;

    bench_hold(bench, 1, "a");
    call = bench_unlock(bench, 1, "a");
    copy = bench_take(bench, HFI_RELEASE);
    bench_pass(bench, BENCH_RESPONSE_MS + BENCH_CONNECT_MS - 1);
    assert_running(call);
    assert_no_copy(bench);
    bench_pass(bench, 1);
    assert_ended(call, HF_UNKNOWN);
    bench_undone(bench, bench_take(bench, HFI_UNDO));
    assert_true(hfi_core_ended(bench->core));
    bench_nil(bench, copy); /* its End has it already */
    assert_no_copy(bench);
    assert_true(hfi_core_idle(bench->core));
}

static void a_final_error_gives_it_up(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;

    bench_hold(bench, 1, "a");
    call = bench_unlock(bench, 1, "a");
    bench_error(bench, bench_take(bench, HFI_RELEASE), HFI_REFUSAL_PERMISSION);
    assert_ended(call, HF_UNKNOWN);
    assert_non_null(strstr(call->error.message, "NO because"));
    bench_take(bench, HFI_UNDO);
}

static void without_a_link_it_waits_for_one_and_then_ends(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;

    bench_hold(bench, 1, "a");
    bench_links_down(bench);
    call = bench_unlock(bench, 1, "a");
    bench_link_failed(bench, HF_UNREACHABLE); /* does not end a release */
    assert_running(call);
    bench_link_up(bench, HFI_LINK_KEEPER);
    bench_nil(bench, bench_take(bench, HFI_RELEASE));
    assert_ended(call, HF_OK);

    bench_hold(bench, 1, "a");
    bench_links_down(bench);
    call = bench_unlock(bench, 1, "a");
    bench_pass(bench, BENCH_RESPONSE_MS + BENCH_CONNECT_MS);
    assert_ended(call, HF_UNKNOWN);
    assert_false(hfi_core_ended(bench->core));
    bench_link_up(bench, HFI_LINK_KEEPER);
    bench_pass(bench, 0);
    bench_undone(bench, bench_take(bench, HFI_UNDO));
    assert_true(hfi_core_idle(bench->core));
}

static void a_link_lost_when_its_time_is_over_ends_it(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;
    struct hfi_copy *copy;

    bench_hold(bench, 1, "a");
    call = bench_unlock(bench, 1, "a");
    copy = bench_take(bench, HFI_RELEASE);
    bench_jump(bench, BENCH_RESPONSE_MS + BENCH_CONNECT_MS);
    bench_lose(bench, copy, true);
    assert_ended(call, HF_UNKNOWN);
    bench_take(bench, HFI_UNDO);
}

/* An old copy of its ACQUIRE may put the field back. */
static void an_unclean_number_is_ended_once_its_release_is_answered(
    void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;
    struct hfi_copy *copy;

    bench_hold_unclean(bench, 1, "a");
    call = bench_unlock(bench, 1, "a");
    copy = bench_take(bench, HFI_RELEASE);
    /* An UNDO that overtook it would make it say "gone". */
    bench_pass(bench, 1000);
    assert_no_copy(bench);
    bench_nil(bench, copy);
    assert_ended(call, HF_OK);
    bench_undone(bench, bench_take(bench, HFI_UNDO));
    assert_false(hfi_core_ended(bench->core)); /* it may run until last(n) */
    bench_pass(bench, BENCH_RESPONSE_MS - 1001);
    assert_no_copy(bench);
    bench_pass(bench, 1);
    bench_undone(bench, bench_take(bench, HFI_UNDO));
    assert_true(hfi_core_ended(bench->core));
    assert_true(hfi_core_idle(bench->core));
}

static void unclean_and_gone_it_is_ended_as_well(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;

    bench_hold_unclean(bench, 1, "a");
    call = bench_unlock(bench, 1, "a");
    bench_integer(bench, bench_take(bench, HFI_RELEASE), -2);
    assert_ended(call, HF_GONE);
    bench_take(bench, HFI_UNDO);
}

static void a_release_is_not_cancelled_but_closed(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;

    bench_hold(bench, 1, "a");
    call = bench_unlock(bench, 1, "a");
    bench_cancel(bench, call, HF_CANCELLED);
    assert_running(call);
    hfi_core_close(bench->core, bench->now);
    bench_tick(bench);
    assert_ended(call, HF_UNKNOWN);
    assert_non_null(strstr(call->error.message, "closed"));
}

static void a_stranger_touches_nothing(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;

    bench_hold(bench, 1, "a");
    call = bench_unlock(bench, 2, "a");
    assert_ended(call, HF_NOT_OWNER);
    assert_non_null(strstr(call->error.message, BENCH_UUID ":1"));
    call = bench_unlock(bench, 2, "never");
    assert_ended(call, HF_NOT_OWNER);
    assert_no_copy(bench);
    assert_int_equal(bench_state(bench, 1, "a"), HF_HELD);
}

/* Each acquisition is a number of its own: an old release touches no new
 * hold. */
static void every_acquisition_has_a_fresh_number(void **state)
{
    struct bench *bench = *state;

    for (int i = 1; i < 5; i++) {
        char field[64];
        struct hfi_copy *copy;

        snprintf(field, sizeof(field), "a | " BENCH_UUID ":%d ", i);
        bench_lock(bench, 1, "a", 0);
        copy = bench_take(bench, HFI_ACQUIRE);
        assert_non_null(strstr(bench_words(bench, copy), field));
        bench_nil(bench, copy);
        bench_unlock(bench, 1, "a");
        copy = bench_take(bench, HFI_RELEASE);
        assert_non_null(strstr(bench_words(bench, copy), field));
        bench_nil(bench, copy);
    }
}

/* ---- min_hold ---- */

static struct bench_call *release_early(struct bench *bench, int64_t after_ms)
{
    struct hfi_terms *terms = bench_terms("a");
    struct hfi_op_request ask = {.kind = HFI_OP_ACQUIRE,
                                 .lease_ms = BENCH_LEASE_MS,
                                 .renewed = true,
                                 .terms = terms};

    terms->min_hold_ms = 1000;
    bench_start(bench, 1, "a", &ask);
    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    bench_jump(bench, after_ms);
    return bench_unlock(bench, 1, "a");
}

static void before_its_min_hold_a_stand_in_keeps_the_lock(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = release_early(bench, 300);
    struct hfi_copy *copy = bench_take(bench, HFI_RELEASE);

    assert_string_equal(bench_words(bench, copy),
                        "lock_release_later a | " BENCH_UUID
                        ":1 redisson_lock__channel:{a} " BENCH_UUID ":2 700");
    bench_nil(bench, copy);
    assert_ended(call, HF_OK);
    bench_lock(bench, 1, "a", 0); /* nobody ever has the stand-in's number */
    assert_non_null(
        strstr(bench_words(bench, bench_take(bench, HFI_ACQUIRE)), ":3 "));
}

static void each_copy_of_such_a_release_has_a_stand_in_of_its_own(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = release_early(bench, 0);
    struct hfi_copy *copy = bench_take(bench, HFI_RELEASE);

    assert_int_equal(copy->stand_in, 2);
    bench_lose(bench, copy, true);
    copy = bench_take(bench, HFI_RELEASE);
    assert_int_equal(copy->stand_in, 3);
    bench_integer(bench, copy, 900);
    assert_ended(call, HF_OK);
}

static void after_its_min_hold_it_is_released_as_any(void **state)
{
    struct bench *bench = *state;

    release_early(bench, 1000);
    assert_memory_equal(bench_words(bench, bench_take(bench, HFI_RELEASE)),
                        "lock_release a ", 15);
}

static void an_answer_that_is_none_gives_it_up(void **state)
{
    struct bench *bench = *state;
    struct hfi_value array = {.kind = HFI_ARRAY};
    struct bench_call *call;

    bench_hold(bench, 1, "a");
    call = bench_unlock(bench, 1, "a");
    bench_answer(bench, bench_take(bench, HFI_RELEASE), &array);
    assert_ended(call, HF_UNKNOWN);
    bench_take(bench, HFI_UNDO);
}

static void closed_it_is_given_up_at_once(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;

    bench_hold(bench, 1, "a");
    call = bench_unlock(bench, 1, "a");
    bench_cancel(bench, call, HF_CLOSED);
    assert_ended(call, HF_UNKNOWN);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
#define TEST(function)                                                         \
    cmocka_unit_test_setup_teardown(function, bench_setup, bench_teardown)
        TEST(freed_is_done),
        TEST(absent_is_gone_and_says_whether_another_has_it),
        TEST(absent_after_an_unanswered_copy_is_done),
        TEST(absent_after_a_copy_that_never_left_is_gone),
        TEST(absent_after_an_answered_error_is_gone),
        TEST(given_up_it_is_unknown_and_ended),
        TEST(a_final_error_gives_it_up),
        TEST(without_a_link_it_waits_for_one_and_then_ends),
        TEST(a_link_lost_when_its_time_is_over_ends_it),
        TEST(an_unclean_number_is_ended_once_its_release_is_answered),
        TEST(unclean_and_gone_it_is_ended_as_well),
        TEST(a_release_is_not_cancelled_but_closed),
        TEST(a_stranger_touches_nothing),
        TEST(every_acquisition_has_a_fresh_number),
        TEST(before_its_min_hold_a_stand_in_keeps_the_lock),
        TEST(each_copy_of_such_a_release_has_a_stand_in_of_its_own),
        TEST(after_its_min_hold_it_is_released_as_any),
        TEST(an_answer_that_is_none_gives_it_up),
        TEST(closed_it_is_given_up_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
