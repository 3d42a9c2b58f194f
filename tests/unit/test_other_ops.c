/* SPDX-License-Identifier: MIT */
/* test_other_ops.c - forced release, show, scan.
 *
 * FORCE of docs/design/late-copies.md; C-* of the command line.  Export and import
 * are in test_handle.c.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core_bench.h"
#include "support/fatal.h"

#define SOMEBODY "fedcba98-7654-4321-8fed-cba987654321:42"

static struct bench_call *import(struct bench *bench, int64_t count)
{
    struct hfi_op_request ask = {.kind = HFI_OP_IMPORT,
                                 .lease_ms = 10000,
                                 .count = count,
                                 .field = SOMEBODY};

    return bench_start(bench, 1, "a", &ask);
}

static struct bench_call *force(struct bench *bench, const char *field)
{
    struct hfi_op_request ask = {.kind = HFI_OP_FORCE, .field = field};

    return bench_start(bench, 0, "a", &ask);
}

/* ---- force ---- */

static void forced_is_whoever_was_seen(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = force(bench, NULL);
    struct hfi_copy *copy = bench_take(bench, HFI_SHOW);
    char words[512];

    assert_string_equal(bench_words(bench, copy),
                        "lock_show a | redisson_lock__channel:{a}");
    bench_shown(bench, copy, 900, SOMEBODY);
    copy = bench_take(bench, HFI_FORCE);
    snprintf(words, sizeof(words),
             "lock_force a | " SOMEBODY " %" PRId64
             " redisson_lock__channel:{a}",
             bench_server_now(bench) + BENCH_RESPONSE_MS);
    assert_string_equal(bench_words(bench, copy), words);
    bench_nil(bench, copy);
    assert_ended(call, HF_OK);
}

static void nobody_cannot_be_forced(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = force(bench, NULL);

    bench_shown(bench, bench_take(bench, HFI_SHOW), -2, NULL);
    assert_ended(call, HF_NOT_OWNER);
}

static void a_hash_that_is_no_lock_is_left_alone(void **state)
{
    struct bench *bench = *state;
    static const char *const fields[] = {"", "user", "a:", "a:7b", ":x"};
    char long_one[200];

    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        struct bench_call *call = force(bench, NULL);

        bench_shown(bench, bench_take(bench, HFI_SHOW), -1, fields[i]);
        assert_ended(call, HF_WRONG_TYPE);
    }
    memset(long_one, '7', sizeof(long_one));
    long_one[0] = ':';
    long_one[sizeof(long_one) - 1] = '\0';
    {
        struct bench_call *call = force(bench, NULL);

        bench_shown(bench, bench_take(bench, HFI_SHOW), -1, long_one);
        assert_ended(call, HF_WRONG_TYPE);
    }
    assert_no_copy(bench);
}

static void a_field_with_a_zero_byte_or_no_text_is_no_owner(void **state)
{
    struct bench *bench = *state;

    for (int kind = 0; kind < 2; kind++) {
        struct bench_call *call = force(bench, NULL);
        struct hfi_value value = {.kind = HFI_ARRAY, .count = 4};

        value.items = hft_alloc(4 * sizeof(*value.items));
        value.items[0].kind = HFI_INTEGER;
        value.items[0].integer = 5;
        if (kind == 0) {
            value.items[1].kind = HFI_TEXT;
            value.items[1].text = hft_copy_text("a:7");
            value.items[1].len = 5; /* as if zeroes followed */
        }
        bench_answer(bench, bench_take(bench, HFI_SHOW), &value);
        assert_ended(call, HF_WRONG_TYPE);
    }
}

static void who_has_gone_meanwhile_is_looked_for_again(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = force(bench, NULL);

    for (int i = 0; i < 5; i++) {
        bench_shown(bench, bench_take(bench, HFI_SHOW), 900, SOMEBODY);
        bench_integer(bench, bench_take(bench, HFI_FORCE), 700);
        assert_running(call);
    }
    bench_shown(bench, bench_take(bench, HFI_SHOW), 900, SOMEBODY);
    bench_integer(bench, bench_take(bench, HFI_FORCE), 700);
    assert_ended(call, HF_NOT_OWNER);
}

static void a_given_owner_alone_is_forced(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = force(bench, SOMEBODY);

    bench_integer(bench, bench_take(bench, HFI_FORCE), 700);
    assert_ended(call, HF_NOT_OWNER);
    assert_non_null(strstr(call->error.message, SOMEBODY));
    assert_no_copy(bench);
    call = force(bench, SOMEBODY);
    bench_nil(bench, bench_take(bench, HFI_FORCE));
    assert_ended(call, HF_OK);
}

static void a_force_that_came_too_late_is_sent_again(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = force(bench, SOMEBODY);
    struct hfi_copy *copy = bench_take(bench, HFI_FORCE);

    bench->server_ahead_ms += 99999;
    bench_refused(bench, copy, bench_server_now(bench));
    copy = bench_take(bench, HFI_FORCE);
    assert_int_equal(copy->not_after_ms,
                     bench_server_now(bench) + BENCH_RESPONSE_MS);
    bench_nil(bench, copy);
    assert_ended(call, HF_OK);
}

static void absent_after_an_unanswered_force_is_done(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = force(bench, SOMEBODY);

    bench_lose(bench, bench_take(bench, HFI_FORCE), true);
    bench_integer(bench, bench_take(bench, HFI_FORCE), -2);
    assert_ended(call, HF_OK);
}

/* Only an unanswered FORCE can have done it, not the look before it. */
static void absent_after_an_unanswered_look_is_not_done(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = force(bench, NULL);

    bench_lose(bench, bench_take(bench, HFI_SHOW), true);
    bench_shown(bench, bench_take(bench, HFI_SHOW), 900, SOMEBODY);
    bench_integer(bench, bench_take(bench, HFI_FORCE), 700);
    assert_running(call); /* somebody else has it now: look again */
    bench_shown(bench, bench_take(bench, HFI_SHOW), -2, NULL);
    assert_ended(call, HF_NOT_OWNER);
}

static void an_unanswered_force_is_unknown(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = force(bench, SOMEBODY);

    bench_take(bench, HFI_FORCE);
    bench_pass(bench, BENCH_RESPONSE_MS + BENCH_CONNECT_MS);
    assert_ended(call, HF_UNKNOWN);
}

/* "Unreachable" would say that nothing left this machine. */
static void unanswered_it_stays_unknown_whatever_is_refused_later(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = force(bench, SOMEBODY);
    struct hfi_copy *copy = bench_take(bench, HFI_FORCE);

    bench_links_down(bench);
    bench_lose(bench, copy, true);
    bench_link_failed(bench, HF_UNREACHABLE);
    assert_ended(call, HF_UNKNOWN);

    bench_link_up(bench, HFI_LINK_MAIN);
    call = force(bench, SOMEBODY);
    bench_lose(bench, bench_take(bench, HFI_FORCE), true);
    bench_error(bench, bench_take(bench, HFI_FORCE), HFI_REFUSAL_PERMISSION);
    assert_ended(call, HF_UNKNOWN);
    call = force(bench, SOMEBODY);
    bench_error(bench, bench_take(bench, HFI_FORCE), HFI_REFUSAL_PERMISSION);
    assert_ended(call, HF_PERMISSION); /* it was answered: that is final */
    call = force(bench, SOMEBODY);
    bench_lose(bench, bench_take(bench, HFI_FORCE), true);
    bench_cancel(bench, call, HF_CANCELLED);
    assert_ended(call, HF_UNKNOWN);
}

/* ---- show, scan ---- */

static void what_was_shown_is_handed_over(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = bench_simple(bench, HFI_OP_SHOW, 0, "a");

    bench_shown(bench, bench_take(bench, HFI_SHOW), 900, SOMEBODY);
    assert_ended(call, HF_OK);
    assert_int_equal(call->value.count, 4);
    assert_string_equal(call->value.items[1].text, SOMEBODY);
}

static void a_scan_needs_no_name(void **state)
{
    struct bench *bench = *state;
    struct hfi_op_request ask = {
        .kind = HFI_OP_SCAN, .pattern = "orders*", .cursor = "17"};
    struct hfi_value value = {.kind = HFI_ARRAY, .count = 1};
    struct bench_call *call = bench_start(bench, 0, NULL, &ask);
    struct hfi_copy *copy = bench_take(bench, HFI_SCAN);

    assert_string_equal(bench_words(bench, copy),
                        "lock_scan | 17 orders* redisson_lock__channel");
    value.items = hft_alloc(sizeof(*value.items));
    bench_answer(bench, copy, &value);
    assert_ended(call, HF_OK);
    assert_int_equal(call->value.count, 1);
    call = bench_start(bench, 0, NULL, &ask);
    bench_nil(bench, bench_take(bench, HFI_SCAN));
    assert_ended(call, HF_PROTOCOL);
    call = bench_start(bench, 0, NULL, &ask);
    bench_error(bench, bench_take(bench, HFI_SCAN), HFI_REFUSAL_NO_SCRIPT);
    bench_error(bench, bench_take(bench, HFI_SCAN), HFI_REFUSAL_UNAVAILABLE);
    bench_pass(bench, 20);
    bench_error(bench, bench_take(bench, HFI_SCAN), HFI_REFUSAL_PERMISSION);
    assert_ended(call, HF_PERMISSION);
}

static void answers_of_another_shape_are_not_understood(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;
    struct hfi_value array = {.kind = HFI_ARRAY};

    call = bench_simple(bench, HFI_OP_SHOW, 0, "a");
    bench_answer(bench, bench_take(bench, HFI_SHOW), &array);
    assert_ended(call, HF_PROTOCOL);
    call = bench_simple(bench, HFI_OP_SHOW, 0, "a");
    bench_integer(bench, bench_take(bench, HFI_SHOW), 1);
    assert_ended(call, HF_PROTOCOL);
    call = import(bench, 1);
    array.kind = HFI_ARRAY;
    bench_answer(bench, bench_take(bench, HFI_ADOPT), &array);
    assert_ended(call, HF_PROTOCOL);
    call = force(bench, SOMEBODY);
    array.kind = HFI_ARRAY;
    bench_answer(bench, bench_take(bench, HFI_FORCE), &array);
    assert_ended(call, HF_PROTOCOL);
    bench_hold_unclean(bench, 1, "b");
    call = bench_simple(bench, HFI_OP_EXPORT, 1, "b");
    bench_pass(bench, BENCH_RESPONSE_MS + 1);
    bench_nil(bench, bench_take(bench, HFI_TIME));
    assert_ended(call, HF_PROTOCOL);
    assert_int_equal(bench_state(bench, 1, "b"), HF_HELD);
}

static void without_an_answer_the_server_is_unreachable(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = bench_simple(bench, HFI_OP_SHOW, 0, "a");
    struct hfi_copy *copy = bench_take(bench, HFI_SHOW);

    bench_pass(bench, BENCH_RESPONSE_MS + BENCH_CONNECT_MS);
    assert_ended(call, HF_UNREACHABLE);
    assert_non_null(strstr(call->error.message, "does not answer"));
    bench_shown(bench, copy, 900, SOMEBODY);
    bench_links_down(bench);
    call = bench_simple(bench, HFI_OP_SHOW, 0, "a");
    bench_pass(bench, BENCH_RESPONSE_MS + BENCH_CONNECT_MS);
    assert_ended(call, HF_UNREACHABLE);
    assert_non_null(strstr(call->error.message, "cannot be reached"));
    call = bench_simple(bench, HFI_OP_SHOW, 0, "a");
    bench_link_failed(bench, HF_PERMISSION);
    assert_ended(call, HF_PERMISSION);
}

static void a_link_lost_when_their_time_is_over_ends_them(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = bench_simple(bench, HFI_OP_SHOW, 0, "a");
    struct hfi_copy *copy = bench_take(bench, HFI_SHOW);

    bench_jump(bench, BENCH_RESPONSE_MS + BENCH_CONNECT_MS);
    bench_lose(bench, copy, true);
    assert_ended(call, HF_UNREACHABLE);
}

/* T20: every call ends when the client closes, whoever's it is. */
static void closing_ends_calls_that_are_nobodys(void **state)
{
    struct bench *bench = *state;
    struct bench_call *show = bench_simple(bench, HFI_OP_SHOW, 0, "a");
    struct bench_call *paused = bench_simple(bench, HFI_OP_SHOW, 0, "b");
    struct bench_call *linkless;

    bench_take(bench, HFI_SHOW);
    bench_error(bench, bench_take(bench, HFI_SHOW), HFI_REFUSAL_UNAVAILABLE);
    bench_links_down(bench);
    linkless = bench_simple(bench, HFI_OP_SHOW, 0, "c");
    hfi_core_close(bench->core, bench->now);
    bench_tick(bench);
    assert_ended(show, HF_CLOSED);
    assert_ended(paused, HF_CLOSED);
    assert_ended(linkless, HF_CLOSED);
}

static struct hfi_value some_text(void)
{
    struct hfi_value value = {.kind = HFI_TEXT, .len = 2};

    value.text = hft_copy_text("OK");
    return value;
}

static void a_text_or_an_odd_count_answers_nothing(void **state)
{
    struct bench *bench = *state;
    struct hfi_op_request scan = {
        .kind = HFI_OP_SCAN, .pattern = "*", .cursor = "0"};
    struct hfi_value value = some_text();
    struct bench_call *call = force(bench, SOMEBODY);

    bench_answer(bench, bench_take(bench, HFI_FORCE), &value);
    assert_ended(call, HF_PROTOCOL);
    call = bench_start(bench, 0, NULL, &scan);
    value.kind = HFI_ARRAY;
    value.count = 3;
    value.items = hft_alloc(3 * sizeof(*value.items));
    bench_answer(bench, bench_take(bench, HFI_SCAN), &value);
    assert_ended(call, HF_PROTOCOL);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
#define TEST(function)                                                         \
    cmocka_unit_test_setup_teardown(function, bench_setup, bench_teardown)
        TEST(forced_is_whoever_was_seen),
        TEST(nobody_cannot_be_forced),
        TEST(a_hash_that_is_no_lock_is_left_alone),
        TEST(a_field_with_a_zero_byte_or_no_text_is_no_owner),
        TEST(who_has_gone_meanwhile_is_looked_for_again),
        TEST(a_given_owner_alone_is_forced),
        TEST(a_force_that_came_too_late_is_sent_again),
        TEST(absent_after_an_unanswered_force_is_done),
        TEST(absent_after_an_unanswered_look_is_not_done),
        TEST(an_unanswered_force_is_unknown),
        TEST(unanswered_it_stays_unknown_whatever_is_refused_later),
        TEST(what_was_shown_is_handed_over),
        TEST(a_scan_needs_no_name),
        TEST(answers_of_another_shape_are_not_understood),
        TEST(without_an_answer_the_server_is_unreachable),
        TEST(a_link_lost_when_their_time_is_over_ends_them),
        TEST(closing_ends_calls_that_are_nobodys),
        TEST(a_text_or_an_odd_count_answers_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
