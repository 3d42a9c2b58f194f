/* SPDX-License-Identifier: MIT */
/* test_attempt_wait.c - waiting for a lock: subscribe, ask again, wait, and
 * what ends the wait.
 *
 * The one FIFO of a name, whose head alone asks the server (DESIGN 2.2; T7,
 * T13, T48).
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core_bench.h"

static void busy_it_subscribes_and_asks_again_before_it_waits(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = bench_lock(bench, 1, "a", 10000);

    assert_false(bench_wants(bench, "a"));
    bench_integer(bench, bench_take(bench, HFI_ACQUIRE), 9000);
    assert_true(bench_wants(bench, "a"));
    assert_no_copy(bench);
    bench_heard(bench, "a");
    /* The holder may have let go while the subscription was on its way. */
    bench_integer(bench, bench_take(bench, HFI_ACQUIRE), 9000);
    assert_no_copy(bench);
    bench_message(bench, "a");
    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    assert_ended(call, HF_OK);
    assert_false(bench_wants(bench, "a"));
    assert_int_equal(bench->subscribes, 1);
    assert_int_equal(bench->unsubscribes, 1);
}

static void the_whole_wait_uses_one_number(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = bench_wait(bench, 1, "a", 60000, 50000);

    for (int i = 0; i < 5; i++) {
        struct hfi_copy *copy;

        bench_message(bench, "a");
        copy = bench_take(bench, HFI_ACQUIRE);
        assert_non_null(strstr(bench_words(bench, copy), BENCH_UUID ":1 "));
        bench_integer(bench, copy, 50000);
    }
    assert_running(call);
}

/* T13: a message that comes while an attempt is under way. */
static void a_message_during_an_attempt_is_remembered(void **state)
{
    struct bench *bench = *state;
    struct hfi_copy *copy;

    bench_wait(bench, 1, "a", 60000, 50000);
    bench_message(bench, "a");
    copy = bench_take(bench, HFI_ACQUIRE);
    bench_message(bench, "a");
    assert_no_copy(bench);
    bench_integer(bench, copy, 50000);
    copy = bench_take(bench, HFI_ACQUIRE);
    bench_integer(bench, copy, 50000); /* it is remembered once */
    assert_no_copy(bench);
}

static void subscribed_during_an_attempt_it_asks_again(void **state)
{
    struct bench *bench = *state;
    struct hfi_copy *copy;

    bench_lock(bench, 1, "a", 60000);
    bench_integer(bench, bench_take(bench, HFI_ACQUIRE), 500);
    bench_pass(bench, 501); /* the lease's end comes before the answer */
    copy = bench_take(bench, HFI_ACQUIRE);
    bench_heard(bench, "a");
    bench_integer(bench, copy, 50000);
    bench_take(bench, HFI_ACQUIRE);
}

static void the_end_of_the_holders_lease_is_a_try(void **state)
{
    struct bench *bench = *state;

    bench_wait(bench, 1, "a", 60000, 300);
    bench_pass(bench, 300);
    assert_no_copy(bench);
    bench_pass(bench, 1);
    bench_take(bench, HFI_ACQUIRE);
    assert_int_equal(bench_stats(bench).retries, 1);
}

/* T7: whatever was lost, it asks again within the bound. */
static void the_retry_bound_has_jitter_of_a_quarter(void **state)
{
    struct bench *bench = *state;
    int64_t least = INT64_MAX, most = 0;

    bench_wait(bench, 1, "a", -1, -1);
    for (int i = 0; i < 500; i++) {
        int64_t due = hfi_core_next_due_ms(bench->core) - bench->now;

        least = due < least ? due : least;
        most = due > most ? due : most;
        bench_pass(bench, due);
        bench_integer(bench, bench_take(bench, HFI_ACQUIRE), -1);
    }
    assert_in_range(least, BENCH_BOUND_MS * 3 / 4, BENCH_BOUND_MS * 4 / 5);
    assert_in_range(most, BENCH_BOUND_MS * 19 / 20, BENCH_BOUND_MS);
    assert_int_equal(bench_stats(bench).retries, 500);
}

static void without_a_bound_there_is_no_jitter(void **state)
{
    struct bench bench;
    struct hfi_core_config config = bench_config();

    (void)state;
    config.retry_bound_ms = -4;
    bench_open_with(&bench, &config);
    bench_lock(&bench, 1, "a", 60000);
    bench_integer(&bench, bench_take(&bench, HFI_ACQUIRE), 9000);
    bench_pass(&bench, 2);
    bench_take(&bench, HFI_ACQUIRE);
    bench_close(&bench);
}

/* All waiters together spend 500 re-tries a second at most. */
static void the_bound_grows_with_thousands_of_waited_names(void **state)
{
    struct bench *bench = *state;
    char name[32];
    int64_t before;
    const int names = 3000;

    for (int i = 0; i < names; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        bench_wait(bench, (uint64_t)i + 1, name, -1, -1);
    }
    before = bench_stats(bench).retries;
    for (int64_t end = bench->now + 60000; bench->now < end;) {
        struct hfi_copy *copy;

        bench_pass(bench, 250);
        while ((copy = bench_take_any(bench)) != NULL) {
            bench_integer(bench, copy, -1);
        }
    }
    before = bench_stats(bench).retries - before;
    assert_in_range(before, 20000, 60 * 500 * 4 / 3 + names);
}

static void the_wait_ends_at_its_time(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = bench_wait(bench, 1, "a", 700, 5000);

    bench_pass(bench, 699);
    assert_running(call);
    bench_pass(bench, 1);
    assert_ended(call, HF_TIMEOUT);
    assert_non_null(strstr(call->error.message, "5000 ms"));
    assert_no_copy(bench); /* the usual timeout costs no command */
    assert_true(hfi_core_idle(bench->core));
}

static void an_answer_after_the_end_of_the_wait_ends_it(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = bench_lock(bench, 1, "a", 50);
    struct hfi_copy *copy = bench_take(bench, HFI_ACQUIRE);

    /* What is under way is given the time in which its copy may run. */
    bench_pass(bench, 99);
    assert_running(call);
    bench_integer(bench, copy, 5000);
    assert_ended(call, HF_TIMEOUT);
    assert_no_copy(bench);
}

static void a_grant_after_the_end_of_the_wait_counts(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = bench_lock(bench, 1, "a", 50);
    struct hfi_copy *copy = bench_take(bench, HFI_ACQUIRE);

    bench_pass(bench, 99);
    bench_nil(bench, copy);
    assert_ended(call, HF_OK);
    call = bench_lock(bench, 2, "b", 50);
    bench_take(bench, HFI_ACQUIRE);
    bench_pass(bench, 100);
    assert_ended(call, HF_UNKNOWN);
}

static void a_wait_for_ever_outlasts_everything(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = bench_lock(bench, 1, "a", -1);
    struct hfi_copy *copy;

    bench_pass(bench, 600000); /* an answer may take what it takes */
    assert_running(call);
    copy = bench->taken == NULL ? bench_take(bench, HFI_ACQUIRE) : NULL;
    assert_non_null(copy);
    bench_integer(bench, copy, 100000);
    bench_links_down(bench);
    bench_pass(bench, 600000);
    assert_running(call);
    bench_link_up(bench, HFI_LINK_MAIN);
    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    assert_ended(call, HF_OK);
}

static void a_refused_subscription_leaves_polling(void **state)
{
    struct bench *bench = *state;

    bench_lock(bench, 1, "a", -1);
    bench_integer(bench, bench_take(bench, HFI_ACQUIRE), -1);
    bench_not_heard(bench, "a");
    bench_integer(bench, bench_take(bench, HFI_ACQUIRE), -1);
    assert_no_copy(bench);
    bench_not_heard(bench, "a"); /* again, as it waits: no news */
    assert_no_copy(bench);
    bench_pass(bench, BENCH_BOUND_MS);
    bench_take(bench, HFI_ACQUIRE);
}

static void a_subscription_that_is_slow_does_not_stop_the_retries(void **state)
{
    struct bench *bench = *state;

    bench_lock(bench, 1, "a", -1);
    bench_integer(bench, bench_take(bench, HFI_ACQUIRE), -1);
    bench_pass(bench, BENCH_BOUND_MS);
    bench_integer(bench, bench_take(bench, HFI_ACQUIRE), -1);
    bench_pass(bench, BENCH_BOUND_MS);
    bench_take(bench, HFI_ACQUIRE);
}

/* T48: after a reconnect every waiter is subscribed again and tries once. */
static void a_lost_subscription_is_made_again_and_is_a_try(void **state)
{
    struct bench *bench = *state;

    bench_wait(bench, 1, "a", -1, -1);
    bench_deaf(bench, "a");
    assert_no_copy(bench);
    bench_heard(bench, "a");
    bench_integer(bench, bench_take(bench, HFI_ACQUIRE), -1);
    assert_no_copy(bench);
}

static void paused_or_linkless_it_is_not_woken_by_a_message(void **state)
{
    struct bench *bench = *state;

    bench_wait(bench, 1, "a", -1, -1);
    bench_message(bench, "a");
    bench_error(bench, bench_take(bench, HFI_ACQUIRE), HFI_REFUSAL_UNAVAILABLE);
    bench_message(bench, "a");
    assert_no_copy(bench);
    bench_links_down(bench);
    bench_pass(bench, 20);
    bench_message(bench, "a");
    assert_no_copy(bench);
    bench_link_up(bench, HFI_LINK_MAIN);
    bench_take(bench, HFI_ACQUIRE);
    assert_no_copy(bench);
}

/* ---- the FIFO ---- */

static void only_the_head_asks_and_a_leaving_head_passes_on(void **state)
{
    struct bench *bench = *state;
    struct bench_call *first = bench_wait(bench, 1, "a", -1, 50000);
    struct bench_call *second = bench_lock(bench, 2, "a", -1);
    struct bench_call *third = bench_lock(bench, 3, "a", -1);

    assert_no_copy(bench);
    bench_message(bench, "a");
    bench_cancel(bench, second, HF_CANCELLED); /* from the middle */
    assert_ended(second, HF_CANCELLED);
    /* Woken, the head leaves: the wake-up is not lost with it. */
    bench_lose(bench, bench_take(bench, HFI_ACQUIRE), false);
    bench_integer(bench, bench_take(bench, HFI_ACQUIRE), 50000);
    bench_cancel(bench, first, HF_CANCELLED);
    assert_ended(first, HF_CANCELLED);
    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    assert_ended(third, HF_OK);
}

static void in_one_client_the_next_waits_for_the_end_of_the_hold(void **state)
{
    struct bench *bench = *state;
    struct bench_call *second, *third, *release;
    struct hfi_copy *copy;

    bench_hold(bench, 1, "a");
    second = bench_lock(bench, 2, "a", -1);
    third = bench_lock(bench, 3, "a", -1);
    assert_no_copy(bench); /* the server is not asked */
    assert_false(bench_wants(bench, "a"));
    release = bench_unlock(bench, 1, "a");
    copy = bench_take(bench, HFI_RELEASE);
    assert_no_copy(bench); /* its answer will be the news */
    bench_nil(bench, copy);
    assert_ended(release, HF_OK);
    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    assert_ended(second, HF_OK);
    assert_no_copy(bench);
    bench_free(bench, 2, "a");
    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    assert_ended(third, HF_OK);
    assert_int_equal(bench->subscribes, 0);
}

/* A FREED answer wakes the local queue as the message does: one attempt. */
static void a_message_before_the_answer_to_a_release_makes_one_try(void **state)
{
    struct bench *bench = *state;
    struct bench_call *waits = bench_wait(bench, 2, "a", -1, 5);
    struct hfi_copy *release;

    bench_pass(bench, 6);
    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    assert_ended(waits, HF_OK);
    bench_lock(bench, 3, "a", -1);
    bench_lock(bench, 4, "a", -1);
    bench_unlock(bench, 2, "a");
    release = bench_take(bench, HFI_RELEASE);
    assert_no_copy(bench);
    bench_nil(bench, release);
    bench_take(bench, HFI_ACQUIRE);
    assert_no_copy(bench);
}

static void while_it_is_being_released_news_changes_nothing(void **state)
{
    struct bench *bench = *state;
    struct bench_call *first = bench_wait(bench, 1, "a", -1, 5000);
    struct hfi_copy *release;

    bench_lock(bench, 2, "a", -1);
    bench_message(bench, "a");
    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    assert_ended(first, HF_OK);
    bench_message(bench, "a"); /* of whoever: it is in this client */
    assert_no_copy(bench);
    bench_unlock(bench, 1, "a");
    release = bench_take(bench, HFI_RELEASE);
    bench_message(bench, "a"); /* it may come before the answer */
    assert_no_copy(bench);
    /* Who comes at the head meanwhile does not ask either. */
    bench_nil(bench, release);
    bench_take(bench, HFI_ACQUIRE);
}

static void a_new_head_waits_for_a_release_that_is_under_way(void **state)
{
    struct bench *bench = *state;
    struct bench_call *waits;
    struct hfi_copy *release;

    bench_hold(bench, 1, "a");
    bench_unlock(bench, 1, "a");
    release = bench_take(bench, HFI_RELEASE);
    waits = bench_lock(bench, 2, "a", 100);
    assert_no_copy(bench);
    bench_pass(bench, 100);
    assert_ended(waits, HF_TIMEOUT);
    bench_lock(bench, 3, "a", 100);
    bench_nil(bench, release);
    bench_take(bench, HFI_ACQUIRE);
}

static void who_waits_here_for_a_hold_times_out(void **state)
{
    struct bench *bench = *state;
    struct bench_call *second, *third;

    bench_hold(bench, 1, "a");
    second = bench_lock(bench, 2, "a", 500);
    third = bench_lock(bench, 3, "a", 300);
    bench_pass(bench, 300);
    assert_ended(third, HF_TIMEOUT);
    bench_pass(bench, 200);
    assert_ended(second, HF_TIMEOUT);
    assert_no_copy(bench);
}

static void a_hold_that_is_lost_here_is_news(void **state)
{
    struct bench *bench = *state;
    struct bench_call *waits;

    bench_hold_fixed(bench, 1, "a", 1000);
    waits = bench_lock(bench, 2, "a", -1);
    assert_no_copy(bench);
    bench_pass(bench, 997);
    /* Its TTL has a margin to run yet. */
    bench_integer(bench, bench_take(bench, HFI_ACQUIRE), 2);
    assert_running(waits);
    bench_pass(bench, 3);
    bench_undone(bench, bench_take(bench, HFI_UNDO));
    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    assert_ended(waits, HF_OK);
}

/* T62: however many of them, no turn is given by calling deeper and deeper. */
static void a_hundred_thousand_waiters_time_out_together(void **state)
{
    struct bench *bench = *state;
    struct bench_call *last = NULL;

    bench_hold(bench, 1, "a");
    for (uint64_t i = 0; i < 100000; i++) {
        last = bench_lock(bench, i + 2, "a", 5000);
    }
    bench_jump(bench, 6000);
    bench_free(bench, 1, "a");
    bench_tick(bench);
    assert_ended(last, HF_TIMEOUT);
    assert_no_copy(bench);
    assert_true(hfi_core_idle(bench->core));
}

/* The server may have been told to give a hold of ours away. */
static void who_waits_here_asks_within_the_bound_all_the_same(void **state)
{
    struct bench *bench = *state;
    struct hfi_hold_view view;
    struct bench_call *waits;

    bench_hold(bench, 1, "a");
    waits = bench_lock(bench, 2, "a", -1);
    assert_no_copy(bench);
    bench_pass(bench, BENCH_BOUND_MS);
    bench_integer(bench, bench_take(bench, HFI_ACQUIRE), 28000);
    assert_running(waits);
    assert_false(bench_wants(bench, "a")); /* its end is news from here */
    bench_pass(bench, BENCH_BOUND_MS);
    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    assert_ended(waits, HF_OK);
    /* So the other has it no more, whatever he believed. */
    bench_view(bench, 1, "a", &view);
    assert_int_equal(view.state, HF_STATE_LOST);
    assert_int_equal(view.reason, HF_LOST_TAKEN);
    bench_take(bench, HFI_UNDO);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
#define TEST(function)                                                         \
    cmocka_unit_test_setup_teardown(function, bench_setup, bench_teardown)
        TEST(busy_it_subscribes_and_asks_again_before_it_waits),
        TEST(the_whole_wait_uses_one_number),
        TEST(a_message_during_an_attempt_is_remembered),
        TEST(subscribed_during_an_attempt_it_asks_again),
        TEST(the_end_of_the_holders_lease_is_a_try),
        TEST(the_retry_bound_has_jitter_of_a_quarter),
        TEST(without_a_bound_there_is_no_jitter),
        TEST(the_bound_grows_with_thousands_of_waited_names),
        TEST(the_wait_ends_at_its_time),
        TEST(an_answer_after_the_end_of_the_wait_ends_it),
        TEST(a_grant_after_the_end_of_the_wait_counts),
        TEST(a_wait_for_ever_outlasts_everything),
        TEST(a_refused_subscription_leaves_polling),
        TEST(a_subscription_that_is_slow_does_not_stop_the_retries),
        TEST(a_lost_subscription_is_made_again_and_is_a_try),
        TEST(paused_or_linkless_it_is_not_woken_by_a_message),
        TEST(only_the_head_asks_and_a_leaving_head_passes_on),
        TEST(in_one_client_the_next_waits_for_the_end_of_the_hold),
        TEST(a_message_before_the_answer_to_a_release_makes_one_try),
        TEST(while_it_is_being_released_news_changes_nothing),
        TEST(a_new_head_waits_for_a_release_that_is_under_way),
        TEST(who_waits_here_for_a_hold_times_out),
        TEST(a_hold_that_is_lost_here_is_news),
        TEST(a_hundred_thousand_waiters_time_out_together),
        TEST(who_waits_here_asks_within_the_bound_all_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
