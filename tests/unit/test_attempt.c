/* SPDX-License-Identifier: MIT */
/* test_attempt.c - one request for a lock: each answer, each way to end.
 *
 * The rules are "Acquiring n" of docs/design/late-copies.md (T2, T9, LK-*).
 * Waiting is in test_attempt_wait.c.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core_bench.h"

#define MARGIN_OF_LEASE (BENCH_LEASE_MS / 1000 + 2)

static void a_free_lock_is_held_from_the_sending_of_its_copy(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = bench_lock(bench, 1, "a", 0);
    struct hfi_copy *copy = bench_take(bench, HFI_ACQUIRE);

    assert_int_equal(copy->link, HFI_LINK_MAIN);
    assert_running(call);
    bench_jump(bench, 40);
    bench_nil(bench, copy);
    assert_ended(call, HF_OK);
    assert_int_equal(bench_state(bench, 1, "a"), HF_HELD);
    assert_int_equal(bench_remaining(bench, 1, "a"),
                     BENCH_LEASE_MS - MARGIN_OF_LEASE - 40);
    assert_int_equal(bench_count(bench, 1, "a"), 1);
    assert_no_copy(bench);
}

static void one_try_is_answered_busy_and_costs_nothing_more(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = bench_lock(bench, 1, "a", 0);

    bench_integer(bench, bench_take(bench, HFI_ACQUIRE), 1234);
    assert_ended(call, HF_BUSY);
    assert_non_null(strstr(call->error.message, "1234 ms"));
    assert_non_null(strstr(call->error.message, "a: "));
    assert_no_copy(bench);
    assert_false(bench_wants(bench, "a"));
    assert_true(hfi_core_idle(bench->core));

    call = bench_lock(bench, 1, "a", 0);
    bench_integer(bench, bench_take(bench, HFI_ACQUIRE), -1);
    assert_ended(call, HF_BUSY);
    assert_non_null(strstr(call->error.message, "no expiry"));

    call = bench_lock(bench, 1, "a", 0);
    bench_integer(bench, bench_take(bench, HFI_ACQUIRE), 0);
    assert_ended(call, HF_BUSY);
    assert_string_equal(call->error.message, "a: held by another owner");
}

static void one_try_of_what_this_client_holds_asks_nobody(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;

    bench_hold(bench, 1, "a");
    call = bench_lock(bench, 2, "a", 0);
    assert_ended(call, HF_BUSY);
    assert_no_copy(bench);
}

static void one_try_after_a_hold_expired_here_asks_the_server(void **state)
{
    struct bench *bench = *state;

    bench_hold_fixed(bench, 1, "a", 100);
    bench_jump(bench, 98);
    bench_lock(bench, 2, "a", 0);
    bench_take(bench, HFI_ACQUIRE);
}

/* not_after: the server's clock, plus the least of what limits the copy. */
static void assert_life(struct bench *bench, int64_t wait_ms, int64_t lease_ms,
                        int64_t life_ms)
{
    struct hfi_op_request ask = {
        .kind = HFI_OP_ACQUIRE, .wait_ms = wait_ms, .lease_ms = lease_ms};
    struct bench_call *call = bench_start(bench, 1, "life", &ask);
    struct hfi_copy *copy = bench_take(bench, HFI_ACQUIRE);

    assert_int_equal(copy->not_after_ms, bench_server_now(bench) + life_ms);
    bench_integer(bench, copy, 5);
    if (call->op != NULL) {
        bench_cancel(bench, call, HF_CANCELLED);
    }
}

static void a_copy_may_run_as_long_as_its_grant_is_worth_something(void **state)
{
    struct bench *bench = *state;

    assert_life(bench, 0, BENCH_LEASE_MS, BENCH_RESPONSE_MS);
    assert_life(bench, 0, 1000, 1000 - 3);
    assert_life(bench, 0, 10, 8);
    assert_life(bench, 500, BENCH_LEASE_MS, 500);
    assert_life(bench, 50, BENCH_LEASE_MS, 100);
    assert_life(bench, 50, 60, 58);
    assert_life(bench, 60000, BENCH_LEASE_MS, BENCH_RESPONSE_MS);
    assert_life(bench, -1, BENCH_LEASE_MS, BENCH_RESPONSE_MS);
}

static void a_refused_copy_corrects_the_clock_and_goes_again(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = bench_lock(bench, 1, "a", 0);
    struct hfi_copy *copy = bench_take(bench, HFI_ACQUIRE);
    char first[512];

    snprintf(first, sizeof(first), "%s", bench_words(bench, copy));
    bench->server_ahead_ms += 10000; /* its clock is further than we knew */
    bench_refused(bench, copy, bench_server_now(bench));
    copy = bench_take(bench, HFI_ACQUIRE);
    assert_int_equal(copy->not_after_ms,
                     bench_server_now(bench) + BENCH_RESPONSE_MS);
    /* The same number: all but the last word is as it was. */
    *strrchr(first, ' ') = '\0';
    assert_memory_equal(bench_words(bench, copy), first, strlen(first));
    bench_nil(bench, copy);
    assert_ended(call, HF_OK);
}

static void refused_again_and_again_it_pauses(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = bench_lock(bench, 1, "a", 60000);
    int64_t before;

    for (int i = 0; i < 4; i++) {
        bench_refused(bench, bench_take(bench, HFI_ACQUIRE),
                      bench_server_now(bench));
    }
    assert_no_copy(bench);
    before = bench->now;
    bench_pass(bench, 999);
    assert_no_copy(bench);
    bench_pass(bench, 1);
    assert_int_equal(bench->now - before, 1000);
    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    assert_ended(call, HF_OK);
}

static void refused_when_the_wait_is_over_it_is_a_timeout(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = bench_lock(bench, 1, "a", 50);
    struct hfi_copy *copy = bench_take(bench, HFI_ACQUIRE);

    bench_jump(bench, 60);
    bench_refused(bench, copy, bench_server_now(bench));
    assert_ended(call, HF_TIMEOUT);
    assert_no_copy(bench); /* clean: there is nothing to undo */
    assert_true(hfi_core_idle(bench->core));
}

static void an_unknown_script_is_sent_again_with_its_text(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = bench_lock(bench, 1, "a", 0);
    struct hfi_copy *copy = bench_take(bench, HFI_ACQUIRE);

    assert_false(copy->with_text);
    bench_error(bench, copy, HFI_REFUSAL_NO_SCRIPT);
    copy = bench_take(bench, HFI_ACQUIRE);
    assert_true(copy->with_text);
    bench_nil(bench, copy);
    assert_ended(call, HF_OK);
    bench_lock(bench, 2, "b", 0);
    assert_false(bench_take(bench, HFI_ACQUIRE)->with_text);
}

static void scripts_flushed_as_fast_as_they_are_sent_end_the_call(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = bench_lock(bench, 1, "a", 60000);
    struct hfi_copy *copy;
    int sent = 0;

    while ((copy = bench_take_any(bench)) != NULL) {
        assert_true(++sent < 100);
        bench_error(bench, copy, HFI_REFUSAL_NO_SCRIPT);
    }
    /* It pauses then, as after any other "not now". */
    assert_true(sent >= 20);
    assert_running(call);
    bench_cancel(bench, call, HF_CANCELLED);
    assert_ended(call, HF_CANCELLED);
    assert_true(hfi_core_idle(bench->core));
}

static void not_now_ends_a_call_that_tries_once(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = bench_lock(bench, 1, "a", 0);

    bench_error(bench, bench_take(bench, HFI_ACQUIRE), HFI_REFUSAL_UNAVAILABLE);
    assert_ended(call, HF_UNAVAILABLE);
    assert_true(hfi_core_idle(bench->core));
}

/* T19: the holder in this very client may have been forced, unheard. */
static void a_local_waiter_asks_within_the_bound_too(void **state)
{
    struct bench *bench = *state;
    struct bench_call *waiter;

    bench_lock(bench, 1, "a", 0);
    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    waiter = bench_lock(bench, 2, "a", 60000);
    assert_no_copy(bench);
    bench_pass(bench, 2000);
    bench_integer(bench, bench_take(bench, HFI_ACQUIRE), 20000);
    assert_running(waiter);
    assert_null(hfi_core_next_subscription(bench->core));
    bench_pass(bench, 2000);
    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    assert_ended(waiter, HF_OK);
    assert_int_equal(bench_state(bench, 1, "a"), HF_STATE_LOST);
    assert_int_equal(bench_state(bench, 2, "a"), HF_HELD);
}

static void not_now_is_tried_again_after_growing_pauses(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = bench_lock(bench, 1, "a", 60000);
    static const int64_t pauses[] = {20, 40, 80, 160, 320, 640, 1000, 1000};

    for (size_t i = 0; i < sizeof(pauses) / sizeof(pauses[0]); i++) {
        bench_error(bench, bench_take(bench, HFI_ACQUIRE),
                    HFI_REFUSAL_UNAVAILABLE);
        bench_pass(bench, pauses[i] - 1);
        assert_no_copy(bench);
        bench_pass(bench, 1);
    }
    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    assert_ended(call, HF_OK);
}

static void not_now_until_the_end_is_told_as_unavailable(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = bench_lock(bench, 1, "a", 0);
    struct hfi_copy *copy;

    for (int i = 0; i < 30 && call->op != NULL; i++) {
        copy = bench_take_any(bench);
        if (copy != NULL) {
            bench_error(bench, copy, HFI_REFUSAL_UNAVAILABLE);
        }
        bench_pass(bench, 200);
    }
    assert_ended(call, HF_UNAVAILABLE);
    assert_non_null(strstr(call->error.message, "NO because"));
    assert_no_copy(bench);
    assert_true(hfi_core_idle(bench->core));
}

static void a_final_refusal_is_told_as_what_it_is(void **state)
{
    struct bench *bench = *state;
    static const struct {
        enum hfi_refusal refusal;
        hf_status status;
    } cases[] = {{HFI_REFUSAL_WRONG_TYPE, HF_WRONG_TYPE},
                 {HFI_REFUSAL_PERMISSION, HF_PERMISSION},
                 {HFI_REFUSAL_OTHER, HF_PROTOCOL}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bench_call *call = bench_lock(bench, 1, "a", 1000);

        bench_error(bench, bench_take(bench, HFI_ACQUIRE), cases[i].refusal);
        assert_ended(call, cases[i].status);
        assert_non_null(strstr(call->error.message, "NO because"));
        assert_true(hfi_core_idle(bench->core));
    }
}

static void an_answer_that_is_none_ends_the_call(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = bench_lock(bench, 1, "a", 1000);
    struct hfi_value nonsense = {.kind = HFI_ARRAY, .count = 0};

    bench_answer(bench, bench_take(bench, HFI_ACQUIRE), &nonsense);
    assert_ended(call, HF_PROTOCOL);
}

static void a_grant_after_its_deadline_is_undone_and_a_fresh_number_goes_on(
    void **state)
{
    struct bench *bench = *state;
    struct hfi_op_request ask = {
        .kind = HFI_OP_ACQUIRE, .wait_ms = 10000, .lease_ms = 1000};
    struct bench_call *call = bench_start(bench, 1, "a", &ask);
    struct hfi_copy *copy = bench_take(bench, HFI_ACQUIRE);
    struct hfi_copy *undo;

    assert_non_null(strstr(bench_words(bench, copy), BENCH_UUID ":1 "));
    bench_jump(bench, 997);
    bench_nil(bench, copy);
    assert_running(call);
    undo = bench_take(bench, HFI_UNDO);
    assert_int_equal(undo->link, HFI_LINK_KEEPER);
    assert_non_null(strstr(bench_words(bench, undo), BENCH_UUID ":1 "));
    copy = bench_take(bench, HFI_ACQUIRE);
    assert_non_null(strstr(bench_words(bench, copy), BENCH_UUID ":2 "));
    bench_undone(bench, undo);
    bench_jump(bench, 996); /* one less is in time */
    bench_nil(bench, copy);
    assert_ended(call, HF_OK);
    assert_int_equal(bench_remaining(bench, 1, "a"), 1);
}

/* The deadline counts from the sending of the copy that was answered. */
static void after_a_lost_link_the_same_number_is_sent_again(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = bench_lock(bench, 1, "a", 0);
    struct hfi_copy *copy = bench_take(bench, HFI_ACQUIRE);
    int64_t first_not_after = copy->not_after_ms;

    bench_jump(bench, 100);
    bench_lose(bench, copy, true);
    copy = bench_take(bench, HFI_ACQUIRE);
    assert_non_null(strstr(bench_words(bench, copy), BENCH_UUID ":1 "));
    assert_int_equal(copy->not_after_ms, first_not_after + 100);
    bench_nil(bench, copy);
    assert_ended(call, HF_OK);
    assert_int_equal(bench_remaining(bench, 1, "a"),
                     BENCH_LEASE_MS - MARGIN_OF_LEASE);
}

static void without_any_link_it_waits_for_one(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;

    bench_links_down(bench);
    call = bench_lock(bench, 1, "a", 0);
    assert_running(call);
    assert_no_copy(bench);
    bench_pass(bench, 1000);
    bench_link_up(bench, HFI_LINK_KEEPER);
    assert_int_equal(bench_take(bench, HFI_ACQUIRE)->link, HFI_LINK_KEEPER);
}

static void without_any_link_it_ends_unreachable(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;

    bench_links_down(bench);
    call = bench_lock(bench, 1, "a", 0);
    bench_pass(bench, BENCH_RESPONSE_MS + BENCH_CONNECT_MS);
    assert_ended(call, HF_UNREACHABLE);
    call = bench_lock(bench, 1, "a", 700);
    bench_pass(bench, 700);
    assert_ended(call, HF_UNREACHABLE);
    assert_true(hfi_core_idle(bench->core));
}

static void one_try_ends_with_the_reason_a_link_could_not_be_made(void **state)
{
    struct bench *bench = *state;
    struct bench_call *one, *waits;

    bench_links_down(bench);
    one = bench_lock(bench, 1, "a", 0);
    waits = bench_lock(bench, 2, "b", 5000);
    bench_link_failed(bench, HF_PERMISSION);
    assert_ended(one, HF_PERMISSION);
    assert_non_null(strstr(one->error.message, "no way there"));
    assert_running(waits);
    bench_pass(bench, 5000);
    assert_ended(waits, HF_PERMISSION); /* what was last said of it */
}

static void a_link_that_failed_beside_one_that_works_ends_nothing(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;

    bench_links_down(bench);
    call = bench_lock(bench, 1, "a", 0);
    bench_link_up(bench, HFI_LINK_MAIN);
    bench_link_failed(bench, HF_UNREACHABLE);
    assert_running(call);
}

/* T2: the reply is lost, and never comes. */
static void given_up_unclean_it_is_unknown_and_undone(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = bench_lock(bench, 1, "a", 0);
    struct hfi_copy *copy = bench_take(bench, HFI_ACQUIRE);

    bench_pass(bench, BENCH_RESPONSE_MS + BENCH_CONNECT_MS);
    assert_ended(call, HF_UNKNOWN);
    assert_int_equal(bench_stats(bench).ending, 1);
    bench_undone(bench, bench_take(bench, HFI_UNDO));
    assert_true(hfi_core_ended(bench->core)); /* past last(n) */
    bench_nil(bench, copy); /* a grant that nobody waits for any more */
    assert_no_copy(bench);
    assert_int_equal(bench_state(bench, 1, "a"), HF_NOT_HELD);
    assert_true(hfi_core_idle(bench->core));
}

static void given_up_with_an_old_copy_unanswered_it_is_unknown(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = bench_lock(bench, 1, "a", 0);

    bench_lose(bench, bench_take(bench, HFI_ACQUIRE), true);
    /* BUSY answers its own copy alone. */
    bench_integer(bench, bench_take(bench, HFI_ACQUIRE), 100);
    assert_ended(call, HF_UNKNOWN);
    bench_take(bench, HFI_UNDO);
}

static void a_copy_that_never_left_leaves_the_number_clean(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = bench_lock(bench, 1, "a", 0);

    bench_lose(bench, bench_take(bench, HFI_ACQUIRE), false);
    bench_integer(bench, bench_take(bench, HFI_ACQUIRE), 100);
    assert_ended(call, HF_BUSY);
    assert_no_copy(bench);
    assert_true(hfi_core_idle(bench->core));
}

static void a_late_answer_to_a_given_up_try_helps_its_end_along(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = bench_lock(bench, 1, "a", 0);
    struct hfi_copy *copy = bench_take(bench, HFI_ACQUIRE);

    bench_cancel(bench, call, HF_CANCELLED);
    assert_ended(call, HF_UNKNOWN);
    bench_undone(bench, bench_take(bench, HFI_UNDO)); /* too early to be it */
    assert_false(hfi_core_ended(bench->core));
    bench_integer(bench, copy, 100);
    bench_undone(bench, bench_take(bench, HFI_UNDO));
    assert_true(hfi_core_ended(bench->core));
}

static void cancelled_with_nothing_sent_it_is_cancelled(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;

    bench_links_down(bench);
    call = bench_lock(bench, 1, "a", -1);
    bench_cancel(bench, call, HF_CANCELLED);
    assert_ended(call, HF_CANCELLED);
    bench_link_up(bench, HFI_LINK_MAIN);
    assert_no_copy(bench);
}

static void a_closed_client_refuses_and_ends_every_try(void **state)
{
    struct bench *bench = *state;
    struct bench_call *sent = bench_lock(bench, 1, "a", -1);
    struct bench_call *late;

    bench_take(bench, HFI_ACQUIRE);
    hfi_core_close(bench->core, bench->now);
    late = bench_lock(bench, 2, "a", -1);
    assert_ended(late, HF_CLOSED);
    assert_ended(sent, HF_UNKNOWN);
    bench_take(bench, HFI_UNDO);
}

/* A server that answers garbage. */
static void numbers_that_no_server_has_do_no_harm(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = bench_lock(bench, 1, "a", -1);
    struct hfi_copy *copy;

    bench_integer(bench, bench_take(bench, HFI_ACQUIRE), INT64_MAX);
    bench_heard(bench, "a");
    bench_integer(bench, bench_take(bench, HFI_ACQUIRE), INT64_MIN);
    bench_message(bench, "a");
    bench_refused(bench, bench_take(bench, HFI_ACQUIRE), INT64_MIN);
    bench_refused(bench, bench_take(bench, HFI_ACQUIRE), INT64_MAX);
    copy = bench_take(bench, HFI_ACQUIRE);
    /* The estimate of its clock stays what it was. */
    assert_int_equal(copy->not_after_ms,
                     bench_server_now(bench) + BENCH_RESPONSE_MS);
    bench_cancel(bench, call, HF_CANCELLED);
    bench_integer(bench, bench_take(bench, HFI_UNDO), INT64_MIN);
    bench_pass(bench, 500);
    bench_integer(bench, bench_take(bench, HFI_UNDO), 0);
    assert_false(hfi_core_ended(bench->core));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
#define TEST(function)                                                         \
    cmocka_unit_test_setup_teardown(function, bench_setup, bench_teardown)
        TEST(a_free_lock_is_held_from_the_sending_of_its_copy),
        TEST(one_try_is_answered_busy_and_costs_nothing_more),
        TEST(one_try_of_what_this_client_holds_asks_nobody),
        TEST(one_try_after_a_hold_expired_here_asks_the_server),
        TEST(a_copy_may_run_as_long_as_its_grant_is_worth_something),
        TEST(a_refused_copy_corrects_the_clock_and_goes_again),
        TEST(refused_again_and_again_it_pauses),
        TEST(refused_when_the_wait_is_over_it_is_a_timeout),
        TEST(an_unknown_script_is_sent_again_with_its_text),
        TEST(scripts_flushed_as_fast_as_they_are_sent_end_the_call),
        TEST(not_now_ends_a_call_that_tries_once),
        TEST(a_local_waiter_asks_within_the_bound_too),
        TEST(not_now_is_tried_again_after_growing_pauses),
        TEST(not_now_until_the_end_is_told_as_unavailable),
        TEST(a_final_refusal_is_told_as_what_it_is),
        TEST(an_answer_that_is_none_ends_the_call),
        TEST(a_grant_after_its_deadline_is_undone_and_a_fresh_number_goes_on),
        TEST(after_a_lost_link_the_same_number_is_sent_again),
        TEST(without_any_link_it_waits_for_one),
        TEST(without_any_link_it_ends_unreachable),
        TEST(one_try_ends_with_the_reason_a_link_could_not_be_made),
        TEST(a_link_that_failed_beside_one_that_works_ends_nothing),
        TEST(given_up_unclean_it_is_unknown_and_undone),
        TEST(given_up_with_an_old_copy_unanswered_it_is_unknown),
        TEST(a_copy_that_never_left_leaves_the_number_clean),
        TEST(a_late_answer_to_a_given_up_try_helps_its_end_along),
        TEST(cancelled_with_nothing_sent_it_is_cancelled),
        TEST(a_closed_client_refuses_and_ends_every_try),
        TEST(numbers_that_no_server_has_do_no_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
