/* SPDX-License-Identifier: MIT */
/* test_ending.c - End(n): when an UNDO is sent, when one is final.
 *
 * "End(n)" and "Losing" of docs/design/late-copies.md (T2, T9, T10).
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core_bench.h"

/* A try that was given up with its only copy unanswered; that copy. */
static struct hfi_copy *give_up(struct bench *bench, int64_t after_ms)
{
    struct bench_call *call = bench_lock(bench, 1, "a", 0);
    struct hfi_copy *copy = bench_take(bench, HFI_ACQUIRE);

    bench_pass(bench, after_ms);
    bench_cancel(bench, call, HF_CANCELLED);
    assert_ended(call, HF_UNKNOWN);
    return copy;
}

static void clean_when_sent_an_undo_is_final(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;

    bench_hold(bench, 1, "a");
    call = bench_unlock(bench, 1, "a");
    bench_error(bench, bench_take(bench, HFI_RELEASE), HFI_REFUSAL_OTHER);
    assert_ended(call, HF_UNKNOWN);
    /* Whatever time it shows. */
    bench_integer(bench, bench_take(bench, HFI_UNDO), 5);
    assert_true(hfi_core_ended(bench->core));
    assert_true(hfi_core_idle(bench->core));
}

static void unclean_it_is_final_only_past_the_last_not_after(void **state)
{
    struct bench *bench = *state;
    int64_t last;
    struct hfi_copy *copy = give_up(bench, 100);

    last = copy->not_after_ms;
    bench_integer(bench, bench_take(bench, HFI_UNDO), last - 1);
    assert_false(hfi_core_ended(bench->core));
    /* One more is due when the server's clock has come there. */
    bench_pass(bench, 1);
    bench_integer(bench, bench_take(bench, HFI_UNDO), last);
    assert_true(hfi_core_ended(bench->core));
}

static void the_wait_for_the_last_one_follows_the_servers_clock(void **state)
{
    struct bench *bench = *state;
    struct hfi_copy *copy = give_up(bench, 100);

    bench_integer(bench, bench_take(bench, HFI_UNDO), copy->not_after_ms - 777);
    bench_pass(bench, 776);
    assert_no_copy(bench);
    bench_pass(bench, 1);
    bench_take(bench, HFI_UNDO);
}

/* Clean is what counts when it was sent, not when it is read. */
static void cleaned_while_the_undo_was_under_way_one_more_follows(void **state)
{
    struct bench *bench = *state;
    struct hfi_copy *copy = give_up(bench, 100);
    struct hfi_copy *undo = bench_take(bench, HFI_UNDO);

    assert_false(undo->clean_when_sent);
    bench_integer(bench, copy, 5000);
    assert_no_copy(bench); /* the first is under way yet */
    bench_undone(bench, undo);
    assert_false(hfi_core_ended(bench->core));
    undo = bench_take(bench, HFI_UNDO);
    assert_true(undo->clean_when_sent);
    bench_undone(bench, undo);
    assert_true(hfi_core_ended(bench->core));
}

static void cleaned_while_it_waits_the_undo_is_sent_at_once(void **state)
{
    struct bench *bench = *state;
    struct hfi_copy *copy = give_up(bench, 100);

    bench_undone(bench, bench_take(bench, HFI_UNDO));
    assert_no_copy(bench);
    bench_lose(bench, copy, false); /* it never left */
    assert_true(bench_take(bench, HFI_UNDO)->clean_when_sent);
}

static void a_lost_copy_leaves_it_unclean(void **state)
{
    struct bench *bench = *state;
    struct hfi_copy *copy = give_up(bench, 100);

    bench_undone(bench, bench_take(bench, HFI_UNDO));
    bench_lose(bench, copy, true);
    assert_no_copy(bench);
    assert_false(hfi_core_ended(bench->core));
}

/* The largest not_after sent for n, not the newest. */
static void the_largest_not_after_is_the_last(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = bench_lock(bench, 1, "a", 5000);
    struct hfi_copy *copy = bench_take(bench, HFI_ACQUIRE);
    int64_t largest = copy->not_after_ms;

    bench_lose(bench, copy, true);
    copy = bench_take(bench, HFI_ACQUIRE);
    /* The clock was overestimated: the next copies carry less. */
    bench_refused(bench, copy, bench_server_now(bench) - 10000);
    copy = bench_take(bench, HFI_ACQUIRE);
    assert_true(copy->not_after_ms < largest);
    bench_cancel(bench, call, HF_CANCELLED);
    bench_integer(bench, bench_take(bench, HFI_UNDO), copy->not_after_ms);
    assert_false(hfi_core_ended(bench->core));
    bench_pass(bench, largest - copy->not_after_ms);
    bench_integer(bench, bench_take(bench, HFI_UNDO), largest);
    assert_true(hfi_core_ended(bench->core));
}

/* BUSY answers its copy alone, so does a refusal. */
static void an_older_copy_keeps_it_unclean_whatever_was_answered(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = bench_lock(bench, 1, "a", 0);

    bench_lose(bench, bench_take(bench, HFI_ACQUIRE), true);
    bench_refused(bench, bench_take(bench, HFI_ACQUIRE),
                  bench_server_now(bench));
    bench_error(bench, bench_take(bench, HFI_ACQUIRE), HFI_REFUSAL_OTHER);
    assert_ended(call, HF_UNKNOWN);
    assert_false(bench_take(bench, HFI_UNDO)->clean_when_sent);
}

static void an_undo_is_repeated_until_one_is_answered(void **state)
{
    struct bench *bench = *state;
    struct hfi_copy *undo;

    give_up(bench, 100);
    undo = bench_take(bench, HFI_UNDO);
    assert_int_equal(undo->link, HFI_LINK_KEEPER);
    bench_link_down(bench, HFI_LINK_KEEPER);
    bench_lose(bench, undo, true);
    undo = bench_take(bench, HFI_UNDO); /* on whatever link there is */
    assert_int_equal(undo->link, HFI_LINK_MAIN);
    bench_link_down(bench, HFI_LINK_MAIN);
    bench_lose(bench, undo, true);
    assert_no_copy(bench);
    bench_link_up(bench, HFI_LINK_MAIN);
    bench_pass(bench, 0);
    undo = bench_take(bench, HFI_UNDO);
    assert_non_null(strstr(bench_words(bench, undo),
                           "lock_undo a | " BENCH_UUID ":1 redisson_lock__"));
    bench_jump(bench, 10000);
    bench_undone(bench, undo);
    assert_true(hfi_core_ended(bench->core));
}

static void an_undo_that_hangs_is_sent_again(void **state)
{
    struct bench *bench = *state;
    struct hfi_copy *first;

    give_up(bench, 100);
    first = bench_take(bench, HFI_UNDO);
    bench_pass(bench, 2 * BENCH_RESPONSE_MS - 1);
    assert_no_copy(bench);
    bench_pass(bench, 1);
    bench_undone(bench, bench_take(bench, HFI_UNDO));
    assert_true(hfi_core_ended(bench->core));
    bench_undone(bench, first); /* nothing is left to say */
    assert_true(hfi_core_ended(bench->core));
    assert_no_copy(bench);
}

static void a_lost_link_after_the_answer_repeats_nothing(void **state)
{
    struct bench *bench = *state;
    struct hfi_copy *first, *second;

    give_up(bench, 100);
    first = bench_take(bench, HFI_UNDO);
    bench_pass(bench, 2 * BENCH_RESPONSE_MS);
    second = bench_take(bench, HFI_UNDO);
    bench_undone(bench, second);
    bench_lose(bench, first, true);
    assert_no_copy(bench);
    assert_true(hfi_core_ended(bench->core));
}

static void a_refused_undo_is_repeated_after_a_pause(void **state)
{
    struct bench *bench = *state;
    struct hfi_copy *undo;

    give_up(bench, 100);
    bench_error(bench, bench_take(bench, HFI_UNDO), HFI_REFUSAL_NO_SCRIPT);
    undo = bench_take(bench, HFI_UNDO);
    assert_true(undo->with_text);
    bench_error(bench, undo, HFI_REFUSAL_UNAVAILABLE);
    assert_no_copy(bench);
    bench_pass(bench, 500);
    bench_nil(bench, bench_take(bench, HFI_UNDO)); /* no answer we know */
    bench_pass(bench, 500);
    bench_take(bench, HFI_UNDO);
}

static void refused_for_as_long_as_a_lease_it_is_given_up(void **state)
{
    struct bench *bench = *state;
    struct hfi_copy *undo;
    int sent = 0;

    give_up(bench, 100);
    while (!hfi_core_ended(bench->core)) {
        undo = bench_take(bench, HFI_UNDO);
        assert_true(++sent < 100);
        bench_error(bench, undo, HFI_REFUSAL_PERMISSION);
        bench_pass(bench, 500);
    }
    /* What stands there ends by its own TTL: last(n) and a lease. */
    assert_in_range(bench->now - BENCH_BEGIN_MS,
                    BENCH_RESPONSE_MS + BENCH_LEASE_MS,
                    BENCH_RESPONSE_MS + BENCH_LEASE_MS + 1000);
}

static void a_node_that_stays_away_is_given_up_after_the_longest_lease(
    void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;

    bench_hold_fixed(bench, 1, "a", 20000);
    call = bench_extend(bench, 1, "a", 60000);
    bench_take(bench, HFI_EXTEND); /* never answered, but it may have run */
    bench_cancel(bench, call, HF_CANCELLED);
    bench_links_down(bench);
    call = bench_unlock(bench, 1, "a");
    bench_pass(bench, BENCH_RESPONSE_MS + BENCH_CONNECT_MS);
    assert_ended(call, HF_UNKNOWN);
    bench_pass(bench, 59999);
    assert_false(hfi_core_ended(bench->core));
    bench_pass(bench, 1);
    assert_true(hfi_core_ended(bench->core));
}

static void an_unclean_one_is_given_up_a_lease_after_its_last_run(void **state)
{
    struct bench *bench = *state;

    give_up(bench, 100);
    bench_link_down(bench, HFI_LINK_MAIN);
    bench_link_down(bench, HFI_LINK_KEEPER);
    bench_lose(bench, bench_take(bench, HFI_UNDO), true);
    bench_pass(bench, BENCH_RESPONSE_MS - 100 + BENCH_LEASE_MS - 1);
    assert_false(hfi_core_ended(bench->core));
    bench_pass(bench, 1);
    assert_true(hfi_core_ended(bench->core));
}

/* A waiter of this client is told that it is over. */
static void the_end_of_an_end_is_news_here(void **state)
{
    struct bench *bench = *state;
    struct hfi_copy *undo;

    give_up(bench, 3001);
    undo = bench_take(bench, HFI_UNDO);
    bench_wait(bench, 2, "a", -1, 20000);
    bench_undone(bench, undo);
    assert_true(hfi_core_ended(bench->core));
    bench_take(bench, HFI_ACQUIRE);
}

/* ---- lost holders ---- */

static void the_head_start_of_a_lost_holder_is_kept(void **state)
{
    struct bench *bench = *state;

    bench_hold_fixed(bench, 1, "a", 10000);
    bench_pass(bench, 9988);
    assert_int_equal(bench_state(bench, 1, "a"), HF_STATE_LOST);
    bench_pass(bench, 11);
    assert_no_copy(bench);
    bench_pass(bench, 1);
    bench_take(bench, HFI_UNDO);
}

static void neither_a_release_nor_a_late_answer_shortens_it(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = bench_lock_fixed(bench, 1, "a", 10000);
    struct hfi_copy *copy = bench_take(bench, HFI_ACQUIRE);

    bench_nil(bench, copy);
    assert_ended(call, HF_OK);
    bench_pass(bench, 9988);
    call = bench_unlock(bench, 1, "a");
    assert_ended(call, HF_LOST);
    assert_no_copy(bench);
    bench_pass(bench, 12);
    bench_take(bench, HFI_UNDO);
}

static void lost_by_an_answer_it_is_undone_at_once(void **state)
{
    struct bench *bench = *state;

    bench_hold(bench, 1, "a");
    bench_extend(bench, 1, "a", 1000);
    bench_integer(bench, bench_take(bench, HFI_EXTEND), -2);
    bench_take(bench, HFI_UNDO);
}

static void a_lost_unclean_number_is_ended_past_its_last_not_after(void **state)
{
    struct bench *bench = *state;

    bench_hold_unclean(bench, 1, "a");
    bench_extend(bench, 1, "a", 1000);
    bench_integer(bench, bench_take(bench, HFI_EXTEND), -2);
    bench_undone(bench, bench_take(bench, HFI_UNDO));
    assert_false(hfi_core_ended(bench->core));
    bench_pass(bench, BENCH_RESPONSE_MS);
    bench_undone(bench, bench_take(bench, HFI_UNDO));
    assert_true(hfi_core_ended(bench->core));
    /* The level is still to be accounted for. */
    assert_int_equal(bench_state(bench, 1, "a"), HF_STATE_LOST);
    assert_false(hfi_core_idle(bench->core));
    assert_ended(bench_unlock(bench, 1, "a"), HF_LOST);
    assert_true(hfi_core_idle(bench->core));
}

/* What counts is when it ran, not when its answer is read. */
static void an_answer_that_is_read_late_shows_when_the_undo_ran(void **state)
{
    struct bench *bench = *state;
    struct hfi_copy *copy = give_up(bench, 100);
    struct hfi_copy *undo = bench_take(bench, HFI_UNDO);

    bench_jump(bench, 5000); /* by now nothing of it can run any more */
    bench_integer(bench, undo, copy->not_after_ms - 1);
    assert_false(hfi_core_ended(bench->core));
    bench_pass(bench, 1);
    bench_undone(bench, bench_take(bench, HFI_UNDO));
    assert_true(hfi_core_ended(bench->core));
}

static void an_undo_answered_with_nonsense_is_sent_again(void **state)
{
    struct bench *bench = *state;
    struct bench_item items[] = {
        {.integer = 1}, {.integer = 2}, {.integer = 3}};

    bench_hold(bench, 1, "a");
    bench_unlock(bench, 1, "a");
    bench_error(bench, bench_take(bench, HFI_RELEASE), HFI_REFUSAL_OTHER);
    bench_items(bench, bench_take(bench, HFI_UNDO), items, 3);
    assert_false(hfi_core_ended(bench->core));
    bench_pass(bench, 500);
    bench_integer(bench, bench_take(bench, HFI_UNDO), -1); /* no clock's time */
    assert_false(hfi_core_ended(bench->core));
    bench_pass(bench, 500);
    bench_undone(bench, bench_take(bench, HFI_UNDO));
    assert_true(hfi_core_ended(bench->core));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
#define TEST(function)                                                         \
    cmocka_unit_test_setup_teardown(function, bench_setup, bench_teardown)
        TEST(clean_when_sent_an_undo_is_final),
        TEST(unclean_it_is_final_only_past_the_last_not_after),
        TEST(the_wait_for_the_last_one_follows_the_servers_clock),
        TEST(cleaned_while_the_undo_was_under_way_one_more_follows),
        TEST(cleaned_while_it_waits_the_undo_is_sent_at_once),
        TEST(a_lost_copy_leaves_it_unclean),
        TEST(the_largest_not_after_is_the_last),
        TEST(an_older_copy_keeps_it_unclean_whatever_was_answered),
        TEST(an_undo_is_repeated_until_one_is_answered),
        TEST(an_undo_that_hangs_is_sent_again),
        TEST(a_lost_link_after_the_answer_repeats_nothing),
        TEST(a_refused_undo_is_repeated_after_a_pause),
        TEST(refused_for_as_long_as_a_lease_it_is_given_up),
        TEST(a_node_that_stays_away_is_given_up_after_the_longest_lease),
        TEST(an_unclean_one_is_given_up_a_lease_after_its_last_run),
        TEST(the_end_of_an_end_is_news_here),
        TEST(the_head_start_of_a_lost_holder_is_kept),
        TEST(neither_a_release_nor_a_late_answer_shortens_it),
        TEST(lost_by_an_answer_it_is_undone_at_once),
        TEST(a_lost_unclean_number_is_ended_past_its_last_not_after),
        TEST(an_answer_that_is_read_late_shows_when_the_undo_ran),
        TEST(an_undo_answered_with_nonsense_is_sent_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
