/* SPDX-License-Identifier: MIT */
/* test_join.c - releases that leave as one script, and are answered each.
 *
 * "Releases that join" of docs/design/driving.md; sync/join.c.  spec: token/release-3.
 */
#include <string.h>

#include "core_bench.h"
#include "support/fatal.h"

enum { THREE = 3 };

static const char *const names[THREE] = {"a", "b", "c"};

struct three {
    struct bench_call *calls[THREE];
    struct hfi_copy *copies[THREE];
};

static struct bench_call *start(struct bench *bench, enum hfi_op_kind kind,
                                const char *name)
{
    struct hfi_op_request asked = {.kind = kind,
                                   .of = &hfi_kinds_token[HFI_UNFENCED],
                                   .lease_ms = BENCH_LEASE_MS,
                                   .renewed = true};

    return bench_start(bench, 1, name, &asked);
}

static void hold(struct bench *bench, const char *name)
{
    struct bench_call *call = start(bench, HFI_OP_ACQUIRE, name);
    struct hfi_value ok = {.kind = HFI_TEXT, .len = 2};

    ok.text = hft_copy_text("OK");
    bench_answer(bench, bench_take(bench, HFI_ACQUIRE), &ok);
    assert_ended(call, HF_OK);
}

/* The server has no compare-and-delete, and this is known. */
static void hold_three_by_script(struct bench *bench)
{
    struct hfi_value neither = {.kind = HFI_ARRAY, .count = 2};
    struct hfi_copy *probe;

    hold(bench, "first");
    start(bench, HFI_OP_RELEASE, "first");
    probe = bench_take(bench, HFI_PROBE);
    bench_nil(bench, bench_take(bench, HFI_RELEASE));
    neither.items = hft_alloc(2 * sizeof(*neither.items));
    bench_answer(bench, probe, &neither);
    for (size_t i = 0; i < THREE; i++) {
        hold(bench, names[i]);
    }
}

/* Take the next three copies, which are of these calls. */
static void take_three(struct bench *bench, struct three *three)
{
    for (size_t i = 0; i < THREE; i++) {
        three->copies[i] = bench_take(bench, HFI_RELEASE);
    }
}

static struct hfi_copy *join_three(struct bench *bench, struct three *three)
{
    take_three(bench, three);
    return bench_join(bench, three->copies, THREE);
}

static struct three release_three(struct bench *bench)
{
    struct three three;

    hold_three_by_script(bench);
    for (size_t i = 0; i < THREE; i++) {
        three.calls[i] = start(bench, HFI_OP_RELEASE, names[i]);
    }
    return three;
}

static void answer_each(struct bench *bench, struct hfi_copy *joined)
{
    struct hfi_value value = {.kind = HFI_ARRAY, .count = THREE};

    value.items = hft_alloc(THREE * sizeof(*value.items));
    bench_answer(bench, joined, &value);
}

static void the_keys_of_all_are_named_first(void **state)
{
    struct bench *bench = *state;
    struct three three = release_three(bench);
    struct hfi_copy *joined = join_three(bench, &three);

    assert_string_equal(bench_words(bench, joined),
                        "token_release_group a b c"
                        " | " BENCH_UUID ":2 holdfast_token__channel:{a}"
                        " " BENCH_UUID ":3 holdfast_token__channel:{b}"
                        " " BENCH_UUID ":4 holdfast_token__channel:{c}");
    answer_each(bench, joined);
    for (size_t i = 0; i < THREE; i++) {
        assert_ended(three.calls[i], HF_OK);
    }
    assert_no_copy(bench);
    assert_true(hfi_core_idle(bench->core));
}

/* One that is gone, and a name that is something else now, harm no other. */
static void each_has_an_answer_of_its_own(void **state)
{
    struct bench *bench = *state;
    struct three three = release_three(bench);
    struct hfi_copy *joined = join_three(bench, &three);
    struct hfi_value value = {.kind = HFI_ARRAY, .count = THREE};

    value.items = hft_alloc(THREE * sizeof(*value.items));
    value.items[0].kind = HFI_INTEGER;
    value.items[0].integer = -2;
    value.items[2].kind = HFI_ERROR;
    value.items[2].refusal = HFI_REFUSAL_WRONG_TYPE;
    value.items[2].text = hft_copy_text("WRONGTYPE");
    bench_answer(bench, joined, &value);
    assert_ended(three.calls[0], HF_GONE);
    assert_ended(three.calls[1], HF_OK);
    assert_ended(three.calls[2], HF_GONE);
    assert_true(hfi_core_idle(bench->core));
}

static void a_caller_who_gave_up_leaves_the_others_theirs(void **state)
{
    struct bench *bench = *state;
    struct three three = release_three(bench);
    struct hfi_copy *joined = join_three(bench, &three);

    bench_pass(bench, BENCH_RESPONSE_MS + BENCH_CONNECT_MS);
    for (size_t i = 0; i < THREE; i++) {
        assert_ended(three.calls[i], HF_UNKNOWN);
        bench_undone(bench, bench_take(bench, HFI_UNDO));
    }
    answer_each(bench, joined);
    assert_no_copy(bench);
    assert_true(hfi_core_ended(bench->core));
}

/* As a single one: it is sent again, and that it is gone then is well. */
static void a_lost_answer_is_asked_for_again(void **state)
{
    struct bench *bench = *state;
    struct three three = release_three(bench);

    bench_lose(bench, join_three(bench, &three), true);
    take_three(bench, &three);
    for (size_t i = 0; i < THREE; i++) {
        bench_integer(bench, three.copies[i], -2);
        assert_ended(three.calls[i], HF_OK);
    }
}

/* A text that the server lacks goes along with the next, once. */
static void an_unknown_script_is_sent_again_with_its_text(void **state)
{
    struct bench *bench = *state;
    struct three three = release_three(bench);
    struct hfi_copy *joined = join_three(bench, &three);

    assert_false(joined->with_text);
    bench_error(bench, joined, HFI_REFUSAL_NO_SCRIPT);
    joined = join_three(bench, &three);
    assert_true(joined->with_text);
    answer_each(bench, joined);
    for (size_t i = 0; i < THREE; i++) {
        assert_ended(three.calls[i], HF_OK);
    }
}

/* Who may not touch one of the names is refused all: each is asked alone, and
 * the refusal meets the one that it is for. */
static void what_is_refused_as_a_whole_is_sent_one_by_one(void **state)
{
    struct bench *bench = *state;
    struct three three = release_three(bench);

    bench_error(bench, join_three(bench, &three), HFI_REFUSAL_PERMISSION);
    take_three(bench, &three);
    for (size_t i = 0; i < THREE; i++) {
        assert_false(hfi_copy_joins(three.copies[i]));
    }
    bench_nil(bench, three.copies[0]);
    bench_error(bench, three.copies[1], HFI_REFUSAL_PERMISSION);
    bench_nil(bench, three.copies[2]);
    assert_ended(three.calls[0], HF_OK);
    assert_ended(three.calls[1], HF_UNKNOWN);
    assert_ended(three.calls[2], HF_OK);
}

/* An answer that is none may mean that it ran. */
static void nonsense_counts_as_no_answer(void **state)
{
    struct bench *bench = *state;
    struct three three = release_three(bench);

    bench_integer(bench, join_three(bench, &three), 7);
    take_three(bench, &three);
    for (size_t i = 0; i < THREE; i++) {
        bench_integer(bench, three.copies[i], -2);
        assert_ended(three.calls[i], HF_OK);
    }
}

/* What is to leave something behind, or may be a bare command, goes alone; and
 * so do the locks that are not short. */
static void only_what_is_alike_joins(void **state)
{
    struct bench *bench = *state;
    struct hfi_copy *copy;

    bench_hold(bench, 1, "plain");
    bench_unlock(bench, 1, "plain");
    copy = bench_take(bench, HFI_RELEASE);
    assert_false(hfi_copy_joins(copy));
    bench_nil(bench, copy);
    hold(bench, "a");
    start(bench, HFI_OP_EXTEND, "a");
    copy = bench_take(bench, HFI_EXTEND);
    assert_false(hfi_copy_joins(copy));
    bench_nil(bench, copy);
}

/* The same answer to more, or to fewer: it is not known whose it would be. */
static void an_answer_to_another_number_of_them_is_none(void **state)
{
    struct bench *bench = *state;
    struct three three = release_three(bench);
    static const struct bench_item items[] = {{.integer = -2}, {.integer = -2}};

    bench_items(bench, join_three(bench, &three), items, 2);
    take_three(bench, &three);
    for (size_t i = 0; i < THREE; i++) {
        assert_running(three.calls[i]);
        bench_integer(bench, three.copies[i], -2);
        assert_ended(three.calls[i], HF_OK); /* that one may have done it */
    }
}

/* Its text was there, and yet it is unknown: whoever flushes scripts so fast is
 * asked for each alone. */
static void unknown_with_its_text_each_is_sent_alone(void **state)
{
    struct bench *bench = *state;
    struct three three = release_three(bench);

    bench_error(bench, join_three(bench, &three), HFI_REFUSAL_NO_SCRIPT);
    bench_error(bench, join_three(bench, &three), HFI_REFUSAL_NO_SCRIPT);
    take_three(bench, &three);
    for (size_t i = 0; i < THREE; i++) {
        assert_false(hfi_copy_joins(three.copies[i]));
        bench_nil(bench, three.copies[i]);
        assert_ended(three.calls[i], HF_OK);
    }
}

/* What brings a text along, or leaves the rest of its time behind, or is a bare
 * command, is another request than that of the others. */
static void what_is_sent_otherwise_does_not_join(void **state)
{
    struct bench *bench = *state;
    struct hfi_op_request ask = {.kind = HFI_OP_ACQUIRE,
                                 .of = &hfi_kinds_token[HFI_UNFENCED],
                                 .lease_ms = BENCH_LEASE_MS,
                                 .terms = bench_terms("d")};
    struct hfi_value ok = {.kind = HFI_TEXT, .len = 2};
    struct three three = release_three(bench);
    struct hfi_copy *copy;

    take_three(bench, &three);
    bench_nil(bench, three.copies[0]);
    bench_nil(bench, three.copies[1]);
    assert_true(hfi_copy_joins(three.copies[2]));
    bench_error(bench, three.copies[2], HFI_REFUSAL_NO_SCRIPT);
    copy = bench_take(bench, HFI_RELEASE);
    assert_true(copy->with_text);
    assert_false(hfi_copy_joins(copy));
    bench_nil(bench, copy);
    ask.terms->min_hold_ms = 5000;
    bench_start(bench, 1, "d", &ask);
    ok.text = hft_copy_text("OK");
    bench_answer(bench, bench_take(bench, HFI_ACQUIRE), &ok);
    start(bench, HFI_OP_RELEASE, "d");
    copy = bench_take(bench, HFI_RELEASE);
    assert_int_equal(copy->rest_ms, 5000);
    assert_false(hfi_copy_joins(copy));
    bench_nil(bench, copy);
}

static void a_bare_release_does_not_join(void **state)
{
    struct bench *bench = *state;
    struct hfi_value known = {.kind = HFI_ARRAY, .count = 2};
    struct hfi_copy *copy;

    hold(bench, "a");
    start(bench, HFI_OP_RELEASE, "a");
    known.items = hft_alloc(2 * sizeof(*known.items));
    known.items[0].kind = HFI_ARRAY;
    known.items[0].count = 1;
    known.items[0].items = hft_alloc(sizeof(*known.items));
    bench_answer(bench, bench_take(bench, HFI_PROBE), &known);
    bench_nil(bench, bench_take(bench, HFI_RELEASE));
    hold(bench, "a");
    start(bench, HFI_OP_RELEASE, "a");
    copy = bench_take(bench, HFI_RELEASE);
    assert_true(copy->native);
    assert_false(hfi_copy_joins(copy));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(function)                                                         \
    cmocka_unit_test_setup_teardown(function, bench_setup, bench_teardown)
        TEST(the_keys_of_all_are_named_first),
        TEST(each_has_an_answer_of_its_own),
        TEST(a_caller_who_gave_up_leaves_the_others_theirs),
        TEST(a_lost_answer_is_asked_for_again),
        TEST(an_unknown_script_is_sent_again_with_its_text),
        TEST(what_is_refused_as_a_whole_is_sent_one_by_one),
        TEST(nonsense_counts_as_no_answer),
        TEST(only_what_is_alike_joins),
        TEST(an_answer_to_another_number_of_them_is_none),
        TEST(unknown_with_its_text_each_is_sent_alone),
        TEST(what_is_sent_otherwise_does_not_join),
        TEST(a_bare_release_does_not_join),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
