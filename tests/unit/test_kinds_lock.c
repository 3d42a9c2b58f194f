/* SPDX-License-Identifier: MIT */
/* test_kinds_lock.c - what the fenced, spin and non-reentrant locks do
 * differently from the plain one, in the core.
 *
 * Rows: SP-24, SP-25, NR-02.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core_bench.h"
#include "scripts_data.h"
#include "support/fatal.h"

static struct bench_call *acquire_as(struct bench *bench, uint64_t owner,
                                     const struct hfi_kind *kind,
                                     struct hfi_kind_options *options,
                                     int64_t wait_ms)
{
    struct hfi_op_request ask = {.kind = HFI_OP_ACQUIRE,
                                 .of = kind,
                                 .options = options,
                                 .wait_ms = wait_ms,
                                 .lease_ms = 30000,
                                 .renewed = true};

    return bench_start(bench, owner, "a", &ask);
}

static void answer_token(struct bench *bench, struct hfi_copy *copy,
                         int64_t token)
{
    struct hfi_value value = {.kind = HFI_ARRAY, .count = 2};

    value.items = hft_alloc(2 * sizeof(*value.items));
    value.items[0].kind = HFI_TEXT;
    value.items[0].text = hft_copy_text("token");
    value.items[0].len = 5;
    value.items[1].kind = HFI_INTEGER;
    value.items[1].integer = token;
    bench_answer(bench, copy, &value);
}

static int64_t token_of(struct bench *bench, uint64_t owner)
{
    struct hfi_hold_view view;

    bench_view(bench, owner, "a", &view);
    return view.token;
}

/* ---- fenced ---- */

/* spec: fenced/token-1, fenced/acquire-1. */
static void a_fenced_acquisition_names_the_token_and_its_life(void **state)
{
    struct bench *bench = *state;
    struct hfi_kind_options options = {
        .refs = 1, .token_from_time = true, .token_ttl_ms = 5000};
    struct hfi_copy *copy;
    char words[256];

    acquire_as(bench, 1, &hfi_kinds_lock[HFI_FENCED], NULL, 0);
    copy = bench_take(bench, HFI_ACQUIRE);
    snprintf(words, sizeof(words),
             "lock_acquire_fenced a redisson_lock_token:{a} | " BENCH_UUID
             ":1 30000 %" PRId64 " 0 0",
             copy->not_after_ms);
    assert_string_equal(bench_words(bench, copy), words);
    bench_integer(bench, copy, 1000);
    acquire_as(bench, 1, &hfi_kinds_lock[HFI_FENCED], &options, 0);
    copy = bench_take(bench, HFI_ACQUIRE);
    snprintf(words, sizeof(words),
             "lock_acquire_fenced a redisson_lock_token:{a} | " BENCH_UUID
             ":2 30000 %" PRId64 " 1 5000",
             copy->not_after_ms);
    assert_string_equal(bench_words(bench, copy), words);
    bench_integer(bench, copy, 1000);
    assert_int_equal(options.refs, 1);
}

/* spec: fenced/enter-1. */
static void a_reentry_of_a_fenced_lock_is_the_plain_one(void **state)
{
    struct bench *bench = *state;
    const struct hfi_kind *kind = &hfi_kinds_lock[HFI_FENCED];
    struct bench_call *again;
    struct hfi_copy *copy;

    acquire_as(bench, 1, kind, NULL, 0);
    answer_token(bench, bench_take(bench, HFI_ACQUIRE), 7);
    assert_int_equal(token_of(bench, 1), 7);
    again = acquire_as(bench, 1, kind, NULL, 0);
    copy = bench_take(bench, HFI_ENTER);
    assert_string_equal(bench_words(bench, copy),
                        "lock_keep a | " BENCH_UUID ":1 2 30000");
    bench_nil(bench, copy);
    assert_int_equal(again->status, HF_OK);
    assert_int_equal(token_of(bench, 1), 7);
}

/* spec: fenced/enter-2. */
static void a_counting_one_takes_a_token_with_each_entry(void **state)
{
    struct bench *bench = *state;
    const struct hfi_kind *kind = &hfi_kinds_lock[HFI_FENCED_COUNTING];
    struct hfi_copy *copy;

    acquire_as(bench, 1, kind, NULL, 0);
    answer_token(bench, bench_take(bench, HFI_ACQUIRE), 7);
    acquire_as(bench, 1, kind, NULL, 0);
    copy = bench_take(bench, HFI_ENTER);
    assert_string_equal(
        bench_words(bench, copy),
        "lock_enter_counting a redisson_lock_token:{a} | " BENCH_UUID
        ":1 2 30000 0 0");
    answer_token(bench, copy, 8);
    assert_int_equal(token_of(bench, 1), 8);
    assert_int_equal(bench_count(bench, 1, "a"), 2);
}

/* ---- non-reentrant ---- */

static void the_nonreentrant_one_refuses_its_owner_without_asking(void **state)
{
    struct bench *bench = *state;
    const struct hfi_kind *kind = &hfi_kinds_nonreentrant[HFI_UNFENCED];
    struct bench_call *again;

    acquire_as(bench, 1, kind, NULL, 0);
    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    again = acquire_as(bench, 1, kind, NULL, HF_WAIT_FOREVER);
    assert_null(again->op);
    assert_int_equal(again->status, HF_ALREADY_HELD);
    assert_int_equal(bench_count(bench, 1, "a"), 1);
}

/* ---- token ---- */

static void answer_ok(struct bench *bench, struct hfi_copy *copy)
{
    struct hfi_value value = {.kind = HFI_TEXT, .len = 2};

    value.text = hft_copy_text("OK");
    bench_answer(bench, copy, &value);
}

/* spec: token/acquire-1, token/acquire-2. */
static void a_token_is_asked_for_bare_first_and_by_script_then(void **state)
{
    struct bench *bench = *state;
    const struct hfi_kind *kind = &hfi_kinds_token[HFI_UNFENCED];
    struct bench_call *call = acquire_as(bench, 1, kind, NULL, 5000);
    struct hfi_copy *copy = bench_take(bench, HFI_ACQUIRE);
    char words[256];

    assert_true(copy->native);
    assert_string_equal(bench_words(bench, copy),
                        "bare | SET a " BENCH_UUID ":1 NX PX 30000");
    bench_nil(bench, copy); /* busy */
    copy = bench_take(bench, HFI_ACQUIRE);
    assert_false(copy->native);
    snprintf(words, sizeof(words),
             "token_acquire a | " BENCH_UUID ":1 30000 %" PRId64,
             copy->not_after_ms);
    assert_string_equal(bench_words(bench, copy), words);
    bench_nil(bench, copy); /* granted */
    assert_int_equal(call->status, HF_OK);
}

static void a_bare_grant_is_a_grant(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = acquire_as(
        bench, 1, &hfi_kinds_token[HFI_UNFENCED], NULL, 0);

    answer_ok(bench, bench_take(bench, HFI_ACQUIRE));
    assert_int_equal(call->status, HF_OK);
    assert_int_equal(bench_remaining(bench, 1, "a"), 0); /* of a plain lock */
}

/* spec: token/acquire-3. */
static void a_bare_question_unanswered_is_undone_until_it_cannot_run(
    void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = acquire_as(
        bench, 1, &hfi_kinds_token[HFI_UNFENCED], NULL, 0);
    struct hfi_copy *copy = bench_take(bench, HFI_ACQUIRE);
    int64_t not_after_ms = copy->not_after_ms;

    bench_cancel(bench, call, HF_CANCELLED);
    assert_int_equal(call->status, HF_UNKNOWN);
    bench_lose(bench, copy, true);
    bench_undone(bench, bench_take(bench, HFI_UNDO));
    bench_pass(bench, not_after_ms - bench_server_now(bench));
    copy = bench_take(bench, HFI_UNDO);
    bench_undone(bench, copy);
    assert_true(hfi_core_ended(bench->core));
}

/* spec: token/wait-2. */
static void behind_a_stranger_it_asks_often(void **state)
{
    struct bench *bench = *state;
    struct hfi_value value = {.kind = HFI_ARRAY, .count = 3};

    acquire_as(bench, 1, &hfi_kinds_token[HFI_UNFENCED], NULL, 5000);
    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    value.items = hft_alloc(3 * sizeof(*value.items));
    value.items[0].kind = HFI_TEXT;
    value.items[0].text = hft_copy_text("busy");
    value.items[0].len = 4;
    value.items[1].kind = HFI_INTEGER;
    value.items[1].integer = 60000;
    value.items[2].kind = HFI_INTEGER;
    value.items[2].integer = 1;
    bench_answer(bench, bench_take(bench, HFI_ACQUIRE), &value);
    assert_in_range(hfi_core_next_due_ms(bench->core) - bench->now, 100, 125);
}

/* ---- spin ---- */

/* Busy again and again: the pauses between the questions. */
static void pauses_of(struct bench *bench, struct hfi_kind_options *options,
                      int64_t *ret_pauses, size_t count)
{
    struct bench_call *call = acquire_as(
        bench, 1, &hfi_kinds_spin[HFI_UNFENCED], options, HF_WAIT_FOREVER);

    for (size_t i = 0; i < count; i++) {
        bench_integer(bench, bench_take(bench, HFI_ACQUIRE), 60000);
        ret_pauses[i] = hfi_core_next_due_ms(bench->core) - bench->now;
        bench_pass(bench, ret_pauses[i]);
    }
    /* Answered, so that nothing of it outlives the options. */
    bench_integer(bench, bench_take(bench, HFI_ACQUIRE), 60000);
    bench_cancel(bench, call, HF_CANCELLED);
}

static void an_exponential_backoff_doubles_up_to_its_longest(void **state)
{
    struct hfi_kind_options options = {
        .refs = 1, .backoff_first_ms = 10, .backoff_max_ms = 100};
    int64_t pauses[8];

    pauses_of(*state, &options, pauses, 8);
    assert_int_equal(pauses[0], 10);
    for (size_t i = 1; i < 8; i++) {
        int64_t least = 2 * pauses[i - 1] < 100 ? 2 * pauses[i - 1] : 100;
        int64_t most = least + pauses[i - 1] / 4;

        assert_in_range(pauses[i], least, most < 100 ? most : 100);
    }
    assert_int_equal(pauses[7], 100);
}

static void a_constant_backoff_is_always_the_same(void **state)
{
    struct hfi_kind_options options = {.refs = 1,
                                       .backoff = HF_BACKOFF_CONSTANT,
                                       .backoff_first_ms = 30,
                                       .backoff_max_ms = 128};
    int64_t pauses[5];

    pauses_of(*state, &options, pauses, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(pauses[i], 30);
    }
}

static void a_decorrelated_one_stays_between_its_bounds(void **state)
{
    struct hfi_kind_options options = {.refs = 1,
                                       .backoff = HF_BACKOFF_DECORRELATED,
                                       .backoff_first_ms = 5,
                                       .backoff_max_ms = 200};
    int64_t pauses[50];
    bool differ = false;

    pauses_of(*state, &options, pauses, 50);
    for (size_t i = 1; i < 50; i++) {
        int64_t most = 3 * pauses[i - 1];

        assert_in_range(pauses[i], 5, most < 200 ? most : 200);
        differ |= pauses[i] != pauses[i - 1];
    }
    assert_true(differ);
}

static void a_spinner_ends_with_its_wait_and_not_with_its_pause(void **state)
{
    struct bench *bench = *state;
    struct hfi_kind_options options = {
        .refs = 1, .backoff_first_ms = 1000, .backoff_max_ms = 1000};
    struct bench_call *call = acquire_as(
        bench, 1, &hfi_kinds_spin[HFI_UNFENCED], &options, 250);

    bench_integer(bench, bench_take(bench, HFI_ACQUIRE), 60000);
    bench_pass(bench, 249);
    assert_non_null(call->op);
    bench_pass(bench, 1);
    assert_null(call->op);
    assert_int_equal(call->status, HF_TIMEOUT);
    assert_false(bench_wants(bench, "a"));
}

static void without_options_a_spinner_pauses_as_is_usual(void **state)
{
    int64_t pauses[8];

    pauses_of(*state, NULL, pauses, 8);
    assert_int_equal(pauses[0], HF_BACKOFF_FIRST_MS);
    assert_true(pauses[1] >= 2 * HF_BACKOFF_FIRST_MS);
    assert_int_equal(pauses[7], HF_BACKOFF_MAX_MS);
}

/* What the server would say is known, until it was told otherwise. */
static void a_spinner_beside_a_hold_here_asks_at_the_retry_bound_only(
    void **state)
{
    struct bench *bench = *state;
    const struct hfi_kind *kind = &hfi_kinds_spin[HFI_UNFENCED];
    struct bench_call *call;

    acquire_as(bench, 1, kind, NULL, 0);
    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    call = acquire_as(bench, 2, kind, NULL, HF_WAIT_FOREVER);
    bench_integer(bench, bench_take(bench, HFI_ACQUIRE), 30000);
    bench_pass(bench, BENCH_BOUND_MS - 1);
    assert_no_copy(bench);
    bench_pass(bench, HF_BACKOFF_MAX_MS);
    bench_integer(bench, bench_take(bench, HFI_ACQUIRE), 30000);
    bench_free(bench, 1, "a");
    bench_pass(bench, HF_BACKOFF_MAX_MS);
    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    assert_ended(call, HF_OK);
}

/* spec: fenced/acquire-1: past not_after it takes no token. */
static void a_fenced_copy_that_came_too_late_is_sent_again(void **state)
{
    struct bench *bench = *state;
    const struct hfi_kind *kind = &hfi_kinds_lock[HFI_FENCED];
    struct bench_call *call = acquire_as(bench, 1, kind, NULL, 1000);

    bench_refused(bench, bench_take(bench, HFI_ACQUIRE),
                  bench_server_now(bench) + 9000);
    answer_token(bench, bench_take(bench, HFI_ACQUIRE), 7);
    assert_ended(call, HF_OK);
    assert_int_equal(token_of(bench, 1), 7);
}

/* They are whoever's uses them last. */
static void options_last_as_long_as_what_was_taken_with_them(void **state)
{
    struct bench *bench = *state;
    const struct hfi_kind *kind = &hfi_kinds_lock[HFI_FENCED_COUNTING];
    struct hfi_kind_options *options = hft_alloc(sizeof(*options));
    struct hfi_copy *copy;

    options->refs = 1;
    options->token_ttl_ms = 4321;
    acquire_as(bench, 1, kind, options, 0);
    answer_token(bench, bench_take(bench, HFI_ACQUIRE), 7);
    hfi_kind_options_unref(options); /* the lock object is freed */
    acquire_as(bench, 1, kind, NULL, 0);
    copy = bench_take(bench, HFI_ENTER);
    assert_non_null(strstr(bench_words(bench, copy), " 0 4321"));
    answer_token(bench, copy, 8);
}

/* ---- the bare question ---- */

static void a_bare_try_that_finds_it_held_is_busy(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = acquire_as(
        bench, 1, &hfi_kinds_token[HFI_UNFENCED], NULL, 0);

    struct hfi_copy *copy;

    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    assert_running(call);
    copy = bench_take(bench, HFI_ACQUIRE); /* the script says more */
    assert_false(copy->native);
    bench_integer(bench, copy, 700);
    assert_ended(call, HF_BUSY);
    assert_non_null(strstr(call->error.message, "700 ms"));
    assert_no_copy(bench);
}

/* spec: token/key-2 */
static void a_bare_try_that_finds_no_such_lock_says_so(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = acquire_as(
        bench, 1, &hfi_kinds_token[HFI_UNFENCED], NULL, 0);

    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    bench_error(bench, bench_take(bench, HFI_ACQUIRE), HFI_REFUSAL_WRONG_TYPE);
    assert_ended(call, HF_WRONG_TYPE);
    assert_no_copy(bench);
}

/* It was released between the two questions. */
static void a_bare_try_may_be_granted_by_the_script(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = acquire_as(
        bench, 1, &hfi_kinds_token[HFI_UNFENCED], NULL, 0);

    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    assert_ended(call, HF_OK);
    assert_no_copy(bench);
}

static void a_bare_question_that_is_refused_says_why(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = acquire_as(
        bench, 1, &hfi_kinds_token[HFI_UNFENCED], NULL, 0);

    bench_error(bench, bench_take(bench, HFI_ACQUIRE), HFI_REFUSAL_PERMISSION);
    assert_ended(call, HF_PERMISSION);
    assert_no_copy(bench);
}

/* spec: fenced/enter-2: a token of its own, even where levels are free. */
static void a_counting_one_asks_although_levels_are_kept_here(void **state)
{
    struct hfi_core_config config = bench_config();
    struct bench bench;
    struct bench_call *call;

    (void)state;
    config.local_reentry = true;
    bench_open_with(&bench, &config);
    acquire_as(&bench, 1, &hfi_kinds_lock[HFI_FENCED_COUNTING], NULL, 0);
    answer_token(&bench, bench_take(&bench, HFI_ACQUIRE), 7);
    call = acquire_as(&bench, 1, &hfi_kinds_lock[HFI_FENCED_COUNTING], NULL, 0);
    answer_token(&bench, bench_take(&bench, HFI_ENTER), 8);
    assert_ended(call, HF_OK);
    assert_int_equal(token_of(&bench, 1), 8);
    bench_close(&bench);
}

#define TEST(function)                                                         \
    cmocka_unit_test_setup_teardown(function, bench_setup, bench_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_fenced_acquisition_names_the_token_and_its_life),
        TEST(a_reentry_of_a_fenced_lock_is_the_plain_one),
        TEST(a_counting_one_takes_a_token_with_each_entry),
        TEST(the_nonreentrant_one_refuses_its_owner_without_asking),
        TEST(a_token_is_asked_for_bare_first_and_by_script_then),
        TEST(a_bare_grant_is_a_grant),
        TEST(a_bare_question_unanswered_is_undone_until_it_cannot_run),
        TEST(behind_a_stranger_it_asks_often),
        TEST(an_exponential_backoff_doubles_up_to_its_longest),
        TEST(a_constant_backoff_is_always_the_same),
        TEST(a_decorrelated_one_stays_between_its_bounds),
        TEST(a_spinner_ends_with_its_wait_and_not_with_its_pause),
        TEST(without_options_a_spinner_pauses_as_is_usual),
        TEST(a_spinner_beside_a_hold_here_asks_at_the_retry_bound_only),
        TEST(a_fenced_copy_that_came_too_late_is_sent_again),
        TEST(options_last_as_long_as_what_was_taken_with_them),
        TEST(a_bare_try_that_finds_it_held_is_busy),
        TEST(a_bare_try_that_finds_no_such_lock_says_so),
        TEST(a_bare_try_may_be_granted_by_the_script),
        TEST(a_bare_question_that_is_refused_says_why),
        cmocka_unit_test(a_counting_one_asks_although_levels_are_kept_here),
    };

    return cmocka_run_group_tests_name("kinds_lock", tests, NULL, NULL);
}
