/* SPDX-License-Identifier: MIT */
/* test_renew.c - the watchdog: when a RENEW is due, batches, each name's own
 * result.
 *
 * DESIGN 2.4 (T16, T17): due at a third of the lease, tried again at a tenth,
 * up to a hundred names a script.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core_bench.h"
#include "support/fatal.h"

#define PROMISE(lease_ms) ((lease_ms) - (lease_ms) / 1000 - 2)

static void hold_many(struct bench *bench, int count)
{
    for (int i = 0; i < count; i++) {
        char name[16];

        snprintf(name, sizeof(name), "n%d", i);
        bench_hold(bench, 1, name);
    }
}

/* A batch's answer with one result that is not "done". */
static void answer_but_one(struct bench *bench, struct hfi_copy *copy,
                           size_t index, struct hfi_value one)
{
    struct hfi_value value = {.kind = HFI_ARRAY, .count = copy->batch_count};

    value.items = hft_alloc(value.count * sizeof(*value.items));
    value.items[index] = one;
    bench_answer(bench, copy, &value);
}

static void it_is_due_at_a_third_of_the_lease(void **state)
{
    struct bench *bench = *state;
    struct hfi_copy *copy;

    bench_hold(bench, 1, "a");
    bench_pass(bench, BENCH_LEASE_MS / 3 - 1);
    assert_no_copy(bench);
    bench_pass(bench, 1);
    copy = bench_take(bench, HFI_RENEW);
    assert_int_equal(copy->link, HFI_LINK_KEEPER);
    assert_string_equal(bench_words(bench, copy),
                        "lock_keep_group a | " BENCH_UUID ":1 1 30000");
    bench_jump(bench, 70);
    bench_renewed(bench, copy);
    /* From that copy's sending, and the next a third after it. */
    assert_int_equal(bench_remaining(bench, 1, "a"),
                     PROMISE(BENCH_LEASE_MS) - 70);
    bench_pass(bench, BENCH_LEASE_MS / 3 - 71);
    assert_no_copy(bench);
    bench_pass(bench, 1);
    bench_take(bench, HFI_RENEW);
    assert_int_equal(bench_stats(bench).renewals_sent, 2);
}

static void unanswered_it_is_tried_again_at_a_tenth(void **state)
{
    struct bench *bench = *state;

    bench_hold(bench, 1, "a");
    bench_pass(bench, BENCH_LEASE_MS / 3);
    bench_take(bench, HFI_RENEW);
    for (int i = 0; i < 6; i++) {
        bench_pass(bench, BENCH_LEASE_MS / 10);
        assert_no_copy(bench);
        bench_pass(bench, 1);
        bench_take(bench, HFI_RENEW);
    }
    bench_pass(bench, BENCH_LEASE_MS);
    assert_int_equal(bench_state(bench, 1, "a"), HF_STATE_LOST);
}

static void a_fixed_lease_is_never_renewed(void **state)
{
    struct bench *bench = *state;

    bench_hold_fixed(bench, 1, "a", BENCH_LEASE_MS);
    bench_pass(bench, PROMISE(BENCH_LEASE_MS) - 1);
    assert_no_copy(bench);
}

static void the_count_and_the_longest_renewed_lease_travel(void **state)
{
    struct bench *bench = *state;
    struct hfi_op_request longer = {
        .kind = HFI_OP_ACQUIRE, .lease_ms = 60000, .renewed = true};
    struct hfi_copy *copy;

    bench_hold(bench, 1, "a");
    bench_start(bench, 1, "a", &longer);
    bench_nil(bench, bench_take(bench, HFI_ENTER));
    bench_lock_fixed(bench, 1, "a", 90000);
    bench_nil(bench, bench_take(bench, HFI_ENTER));
    bench_pass(bench, 20000);
    copy = bench_take(bench, HFI_RENEW);
    assert_int_equal(copy->batch[0].count, 3);
    assert_int_equal(copy->batch[0].lease_ms, 60000);
}

static void what_is_due_nearly_together_travels_together(void **state)
{
    struct bench *bench = *state;
    struct hfi_copy *copy;

    bench_hold(bench, 1, "a");
    bench_jump(bench, BENCH_LEASE_MS / 60);
    bench_hold(bench, 1, "b");
    bench_jump(bench, 1);
    bench_hold(bench, 1, "c");
    bench_pass(bench, BENCH_LEASE_MS / 3 - BENCH_LEASE_MS / 60 - 1);
    copy = bench_take(bench, HFI_RENEW);
    assert_int_equal(copy->batch_count, 2);
    assert_no_copy(bench);
    bench_pass(bench, BENCH_LEASE_MS / 60 + 1);
    copy = bench_take(bench, HFI_RENEW);
    assert_int_equal(copy->batch_count, 1);
}

/* Its next try would fall into the window of the longer one. */
static void a_short_lease_comes_into_a_batch_once(void **state)
{
    struct bench *bench = *state;
    struct hfi_op_request brief = {
        .kind = HFI_OP_ACQUIRE, .lease_ms = 3000, .renewed = true};

    bench_hold(bench, 1, "long");
    bench_jump(bench, BENCH_LEASE_MS / 3 - 1000);
    bench_start(bench, 1, "brief", &brief);
    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    bench_jump(bench, 1000);
    bench_tick(bench);
    assert_int_equal(bench_take(bench, HFI_RENEW)->batch_count, 2);
    assert_no_copy(bench);
}

static void a_hundred_names_are_one_script(void **state)
{
    struct bench *bench = *state;
    struct hfi_copy *copy;
    size_t left = 250;

    hold_many(bench, 250);
    bench_pass(bench, BENCH_LEASE_MS / 3);
    while ((copy = bench_take_any(bench)) != NULL) {
        assert_int_equal(copy->batch_count, left > 100 ? 100 : left);
        left -= copy->batch_count;
        assert_int_equal(hfi_copy_keys(copy), copy->batch_count);
        assert_int_equal(hfi_copy_args(copy), 3 * copy->batch_count);
        bench_renewed(bench, copy);
    }
    assert_int_equal(left, 0);
    assert_int_equal(bench_stats(bench).renewals_sent, 3);
}

/* Where a name is in a batch; those that are due together come in any order. */
static size_t index_of(struct bench *bench, const struct hfi_copy *copy,
                       const char *name)
{
    char words[4096];
    size_t index = 0;
    char *word, *rest = words;

    snprintf(words, sizeof(words), "%s", bench_words(bench, copy));
    strsep(&rest, " "); /* the script */
    while ((word = strsep(&rest, " ")) != NULL && strcmp(word, "|") != 0) {
        if (strcmp(word, name) == 0) {
            return index;
        }
        index++;
    }
    fail_msg("%s is not in the batch", name);
    return 0;
}

static void each_name_has_a_result_of_its_own(void **state)
{
    struct bench *bench = *state;
    struct hfi_value absent = {.kind = HFI_INTEGER, .integer = -2};
    struct hfi_value wrong = {.kind = HFI_ERROR,
                              .refusal = HFI_REFUSAL_WRONG_TYPE};
    struct hfi_value odd = {.kind = HFI_ERROR, .refusal = HFI_REFUSAL_OTHER};
    struct hfi_copy *copy;

    hold_many(bench, 3);
    bench_pass(bench, BENCH_LEASE_MS / 3);
    copy = bench_take(bench, HFI_RENEW);
    answer_but_one(bench, copy, index_of(bench, copy, "n1"), absent);
    assert_int_equal(bench_state(bench, 1, "n0"), HF_HELD);
    assert_int_equal(bench_state(bench, 1, "n1"), HF_STATE_LOST);
    assert_int_equal(bench_remaining(bench, 1, "n2"), PROMISE(BENCH_LEASE_MS));
    bench_undone(bench, bench_take(bench, HFI_UNDO));
    bench_pass(bench, BENCH_LEASE_MS / 3);
    copy = bench_take(bench, HFI_RENEW);
    assert_int_equal(copy->batch_count, 2);
    /* Tried again at a tenth. */
    answer_but_one(bench, copy, index_of(bench, copy, "n0"), odd);
    assert_int_equal(bench_state(bench, 1, "n0"), HF_HELD);
    bench_pass(bench, BENCH_LEASE_MS / 10 + 1);
    copy = bench_take(bench, HFI_RENEW);
    assert_int_equal(copy->batch_count, 1);
    answer_but_one(bench, copy, index_of(bench, copy, "n0"), wrong);
    assert_int_equal(bench_state(bench, 1, "n0"), HF_STATE_LOST);
    assert_int_equal(bench_state(bench, 1, "n2"), HF_HELD);
}

static void a_refused_batch_goes_name_by_name(void **state)
{
    struct bench *bench = *state;
    struct hfi_copy *alone[3];

    hold_many(bench, 3);
    bench_pass(bench, BENCH_LEASE_MS / 3);
    bench_error(bench, bench_take(bench, HFI_RENEW), HFI_REFUSAL_OTHER);
    for (int i = 0; i < 3; i++) {
        alone[i] = bench_take(bench, HFI_RENEW);
        assert_int_equal(alone[i]->batch_count, 0);
        assert_memory_equal(bench_words(bench, alone[i]), "lock_keep n", 11);
    }
    assert_no_copy(bench);
    bench_integer(bench, alone[0], 44);
    assert_int_equal(bench_stats(bench).holds, 2);
    bench_take(bench, HFI_UNDO);
    bench_error(bench, alone[1], HFI_REFUSAL_NO_SCRIPT);
    alone[1] = bench_take(bench, HFI_RENEW);
    assert_true(alone[1]->with_text);
    bench_nil(bench, alone[1]);
    bench_nil(bench, alone[2]);
    assert_no_copy(bench);
    assert_int_equal(bench_stats(bench).holds, 2);
}

/* It does not join a batch again that would be refused again. */
static void who_goes_alone_ends_a_batch_that_is_filled(void **state)
{
    struct bench *bench = *state;
    struct hfi_copy *copy;

    hold_many(bench, 1);
    bench_pass(bench, BENCH_LEASE_MS / 3);
    bench_error(bench, bench_take(bench, HFI_RENEW), HFI_REFUSAL_PERMISSION);
    bench_nil(bench, bench_take(bench, HFI_RENEW));
    bench_jump(bench, -1);
    bench_hold(bench, 1, "x");
    bench_jump(bench, 2);
    bench_hold(bench, 1, "z");
    bench_pass(bench, BENCH_LEASE_MS / 3 - 1);
    copy = bench_take(bench, HFI_RENEW);
    assert_int_equal(copy->batch_count, 1);
    copy = bench_take(bench, HFI_RENEW);
    assert_int_equal(copy->batch_count, 0);
    bench_error(bench, copy, HFI_REFUSAL_UNAVAILABLE);
    assert_no_copy(bench);
}

static void not_now_is_tried_again_at_a_tenth_together(void **state)
{
    struct bench *bench = *state;

    hold_many(bench, 3);
    bench_pass(bench, BENCH_LEASE_MS / 3);
    bench_error(bench, bench_take(bench, HFI_RENEW), HFI_REFUSAL_UNAVAILABLE);
    assert_no_copy(bench);
    bench_pass(bench, BENCH_LEASE_MS / 10 + 1);
    assert_int_equal(bench_take(bench, HFI_RENEW)->batch_count, 3);
}

static void an_unknown_script_is_repeated_at_once_with_its_text(void **state)
{
    struct bench *bench = *state;
    struct hfi_copy *copy;

    hold_many(bench, 3);
    bench_pass(bench, BENCH_LEASE_MS / 3);
    bench_error(bench, bench_take(bench, HFI_RENEW), HFI_REFUSAL_NO_SCRIPT);
    copy = bench_take(bench, HFI_RENEW);
    assert_int_equal(copy->batch_count, 3);
    assert_true(copy->with_text);
}

static void an_answer_that_is_none_is_as_if_unanswered(void **state)
{
    struct bench *bench = *state;
    struct hfi_value few = {.kind = HFI_ARRAY, .count = 0};
    struct hfi_copy *copy;

    hold_many(bench, 2);
    bench_pass(bench, BENCH_LEASE_MS / 3);
    bench_answer(bench, bench_take(bench, HFI_RENEW), &few);
    assert_no_copy(bench);
    bench_pass(bench, BENCH_LEASE_MS / 10 + 1);
    copy = bench_take(bench, HFI_RENEW);
    bench_integer(bench, copy, 3);
    assert_int_equal(bench_state(bench, 1, "n0"), HF_HELD);
    assert_int_equal(bench_state(bench, 1, "n1"), HF_HELD);
}

/* Soon, for another link may save the lease; not at once, for a server that
 * closes what it is sent would be hammered. */
static void a_lost_link_leaves_it_due_soon(void **state)
{
    struct bench *bench = *state;

    hold_many(bench, 2);
    bench_pass(bench, BENCH_LEASE_MS / 3);
    bench_lose(bench, bench_take(bench, HFI_RENEW), true);
    assert_no_copy(bench);
    bench_pass(bench, 101);
    assert_int_equal(bench_take(bench, HFI_RENEW)->batch_count, 2);
}

static void without_a_link_it_is_due_as_soon_as_there_is_one(void **state)
{
    struct bench *bench = *state;
    struct hfi_copy *copy;

    hold_many(bench, 2);
    bench_hold_fixed(bench, 1, "fixed", 60000);
    bench_links_down(bench);
    bench_pass(bench, BENCH_LEASE_MS / 3 + 1000);
    assert_no_copy(bench);
    bench_link_up(bench, HFI_LINK_MAIN);
    bench_pass(bench, 0);
    copy = bench_take(bench, HFI_RENEW);
    assert_int_equal(copy->batch_count, 2);
    assert_int_equal(copy->link, HFI_LINK_MAIN);
}

static void nothing_is_renewed_after_its_release(void **state)
{
    struct bench *bench = *state;
    struct hfi_copy *renew, *again;

    hold_many(bench, 2);
    bench_pass(bench, BENCH_LEASE_MS / 3);
    renew = bench_take(bench, HFI_RENEW);
    bench_free(bench, 1, "n0");
    bench_error(bench, renew, HFI_REFUSAL_NO_SCRIPT);
    again = bench_take(bench, HFI_RENEW);
    assert_int_equal(again->batch_count, 1);
    bench_unlock(bench, 1, "n1");
    bench_renewed(bench, again); /* it moves nothing */
    bench_nil(bench, bench_take(bench, HFI_RELEASE));
    bench_pass(bench, 2 * BENCH_LEASE_MS);
    assert_no_copy(bench);
    assert_true(hfi_core_idle(bench->core));
}

static void a_refusal_after_its_release_renews_nothing(void **state)
{
    struct bench *bench = *state;
    struct hfi_copy *renew;

    hold_many(bench, 1);
    bench_pass(bench, BENCH_LEASE_MS / 3);
    bench_error(bench, bench_take(bench, HFI_RENEW), HFI_REFUSAL_OTHER);
    renew = bench_take(bench, HFI_RENEW);
    bench_free(bench, 1, "n0");
    bench_error(bench, renew, HFI_REFUSAL_NO_SCRIPT);
    bench_pass(bench, BENCH_LEASE_MS);
    assert_no_copy(bench);
}

/* A late answer to a RENEW moves levels for what there is when it is read, but
 * not the fixed ones; nothing moves back. */
static void a_late_answer_moves_what_is_renewed_and_nothing_back(void **state)
{
    struct bench *bench = *state;
    struct hfi_copy *first, *second;

    bench_hold(bench, 1, "a");
    bench_pass(bench, BENCH_LEASE_MS / 3);
    first = bench_take(bench, HFI_RENEW);
    bench_pass(bench, BENCH_LEASE_MS / 10 + 1);
    second = bench_take(bench, HFI_RENEW);
    bench_renewed(bench, second);
    bench_renewed(bench, first);
    assert_int_equal(bench_remaining(bench, 1, "a"), PROMISE(BENCH_LEASE_MS));
    /* Nor is the next renewal sooner. */
    bench_pass(bench, BENCH_LEASE_MS / 3 - 1);
    assert_no_copy(bench);
}

static void a_hundred_thousand_holds_are_a_thousand_scripts(void **state)
{
    struct bench *bench = *state;
    struct hfi_copy *copy;
    int64_t seen = 0;

    hold_many(bench, 100000);
    assert_int_equal(bench_stats(bench).holds, 100000);
    for (int round = 0; round < 3; round++) {
        bench_pass(bench, BENCH_LEASE_MS / 3);
        while ((copy = bench_take_any(bench)) != NULL) {
            seen += (int64_t)copy->batch_count;
            bench_renewed(bench, copy);
        }
    }
    assert_int_equal(seen, 300000);
    assert_int_equal(bench_stats(bench).renewals_sent, 3000);
}

static void alone_too_it_survives_a_lost_link(void **state)
{
    struct bench *bench = *state;
    struct hfi_value text = {.kind = HFI_TEXT};

    hold_many(bench, 1);
    bench_pass(bench, BENCH_LEASE_MS / 3);
    bench_error(bench, bench_take(bench, HFI_RENEW), HFI_REFUSAL_OTHER);
    bench_lose(bench, bench_take(bench, HFI_RENEW), true);
    bench_pass(bench, BENCH_LEASE_MS / 10 + 1);
    bench_answer(bench, bench_take(bench, HFI_RENEW), &text); /* is none */
    bench_pass(bench, BENCH_LEASE_MS / 10 + 1);
    bench_nil(bench, bench_take(bench, HFI_RENEW));
    assert_in_range(bench_remaining(bench, 1, "n0"),
                    PROMISE(BENCH_LEASE_MS) - BENCH_LEASE_MS / 10,
                    PROMISE(BENCH_LEASE_MS));
}

static void a_renewal_moves_no_fixed_level(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;

    bench_hold_fixed(bench, 1, "a", 20000);
    call = bench_lock(bench, 1, "a", 0);
    bench_nil(bench, bench_take(bench, HFI_ENTER));
    assert_ended(call, HF_OK);
    bench_pass(bench, BENCH_LEASE_MS / 3);
    bench_renewed(bench, bench_take(bench, HFI_RENEW));
    assert_int_equal(bench_remaining(bench, 1, "a"), PROMISE(BENCH_LEASE_MS));
    call = bench_unlock(bench, 1, "a");
    assert_int_equal(bench_remaining(bench, 1, "a"),
                     PROMISE(20000) - BENCH_LEASE_MS / 3);
    bench_nil(bench, bench_take(bench, HFI_LEAVE));
    assert_ended(call, HF_OK);
    assert_int_equal(bench_remaining(bench, 1, "a"),
                     PROMISE(20000) - BENCH_LEASE_MS / 3);
}

static void nothing_is_renewed_while_its_release_is_under_way(void **state)
{
    struct bench *bench = *state;

    hold_many(bench, 1);
    bench_pass(bench, BENCH_LEASE_MS / 3 - 100);
    bench_unlock(bench, 1, "n0");
    bench_take(bench, HFI_RELEASE);
    bench_pass(bench, 200);
    assert_no_copy(bench);
}

/* However long the names are, a script is not longer than a server takes well. */
static void a_batch_of_long_names_is_full_sooner(void **state)
{
    enum { BYTES = 150 * 1000, NAMES = 5 };
    struct bench *bench = *state;
    char *name = hft_alloc(BYTES + 1);
    size_t sizes[] = {2, 2, 1};

    memset(name, 'n', BYTES);
    for (int i = 0; i < NAMES; i++) {
        name[0] = (char)('a' + i);
        bench_hold(bench, 1, name);
    }
    free(name);
    bench_pass(bench, BENCH_LEASE_MS / 3);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct hfi_copy *copy = bench_take(bench, HFI_RENEW);

        assert_int_equal(copy->batch_count, sizes[i]);
        bench_renewed(bench, copy);
    }
    assert_no_copy(bench);
}

/* A process that was stopped meanwhile. */
static void what_is_past_when_its_script_was_unknown_is_not_sent_again(
    void **state)
{
    struct bench *bench = *state;
    struct hfi_copy *copy;

    bench_hold(bench, 1, "a");
    bench_pass(bench, BENCH_LEASE_MS / 3);
    copy = bench_take(bench, HFI_RENEW);
    bench_jump(bench, BENCH_LEASE_MS);
    bench_error(bench, copy, HFI_REFUSAL_NO_SCRIPT);
    assert_int_equal(bench_state(bench, 1, "a"), HF_STATE_LOST);
    bench_tick(bench);
    bench_undone(bench, bench_take(bench, HFI_UNDO));
    assert_no_copy(bench);
}

/* Whose renewal was not even tried before the end was not kept from it by the
 * server, although there is no link now. */
static void stopped_past_the_end_is_no_fault_of_the_server(void **state)
{
    struct bench *bench = *state;
    struct hfi_hold_view view;
    struct hfi_copy *copy;

    bench_hold(bench, 1, "a");
    bench_pass(bench, BENCH_LEASE_MS / 3);
    copy = bench_take(bench, HFI_RENEW);
    bench_hold(bench, 1, "c");
    bench_links_down(bench);
    bench_jump(bench, 2 * BENCH_LEASE_MS);
    bench_error(bench, copy, HFI_REFUSAL_NO_SCRIPT);
    bench_tick(bench);
    bench_view(bench, 1, "c", &view);
    assert_int_equal(view.reason, HF_LOST_EXPIRED);
    bench_view(bench, 1, "a", &view);
    assert_int_equal(view.reason, HF_LOST_UNREACHABLE);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
#define TEST(function)                                                         \
    cmocka_unit_test_setup_teardown(function, bench_setup, bench_teardown)
        TEST(it_is_due_at_a_third_of_the_lease),
        TEST(unanswered_it_is_tried_again_at_a_tenth),
        TEST(a_fixed_lease_is_never_renewed),
        TEST(the_count_and_the_longest_renewed_lease_travel),
        TEST(what_is_due_nearly_together_travels_together),
        TEST(a_short_lease_comes_into_a_batch_once),
        TEST(a_hundred_names_are_one_script),
        TEST(each_name_has_a_result_of_its_own),
        TEST(a_refused_batch_goes_name_by_name),
        TEST(who_goes_alone_ends_a_batch_that_is_filled),
        TEST(not_now_is_tried_again_at_a_tenth_together),
        TEST(an_unknown_script_is_repeated_at_once_with_its_text),
        TEST(an_answer_that_is_none_is_as_if_unanswered),
        TEST(a_lost_link_leaves_it_due_soon),
        TEST(without_a_link_it_is_due_as_soon_as_there_is_one),
        TEST(nothing_is_renewed_after_its_release),
        TEST(a_refusal_after_its_release_renews_nothing),
        TEST(a_late_answer_moves_what_is_renewed_and_nothing_back),
        TEST(a_hundred_thousand_holds_are_a_thousand_scripts),
        TEST(alone_too_it_survives_a_lost_link),
        TEST(a_renewal_moves_no_fixed_level),
        TEST(nothing_is_renewed_while_its_release_is_under_way),
        TEST(a_batch_of_long_names_is_full_sooner),
        TEST(what_is_past_when_its_script_was_unknown_is_not_sent_again),
        TEST(stopped_past_the_end_is_no_fault_of_the_server),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
