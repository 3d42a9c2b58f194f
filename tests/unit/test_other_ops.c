/* SPDX-License-Identifier: MIT */
/* test_other_ops.c - export, import, forced release, show, scan.
 *
 * "Export" and FORCE of docs/design/late-copies.md; C-* of the command line.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core_bench.h"
#include "support/fatal.h"

#define PROMISE(lease_ms) ((lease_ms) - (lease_ms) / 1000 - 2)
#define SOMEBODY "fedcba98-7654-4321-8fed-cba987654321:42"

static struct bench_call *export(struct bench *bench, const char *name)
{
    return bench_simple(bench, HFI_OP_EXPORT, 1, name);
}

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

/* ---- export ---- */

static void a_clean_hold_is_exported_without_a_word(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;

    bench_hold(bench, 1, "a");
    bench_lock_fixed(bench, 1, "a", 1000);
    bench_nil(bench, bench_take(bench, HFI_ENTER));
    call = export(bench, "a");
    assert_ended(call, HF_OK);
    assert_string_equal(call->handle_owner, BENCH_UUID ":1");
    assert_int_equal(call->count, 2);
    assert_int_equal(call->lease_ms, BENCH_LEASE_MS);
    /* From here on only the importer ends it. */
    assert_int_equal(bench_state(bench, 1, "a"), HF_NOT_HELD);
    bench_pass(bench, 2 * BENCH_LEASE_MS);
    assert_no_copy(bench);
    assert_true(hfi_core_idle(bench->core));
    assert_ended(export(bench, "a"), HF_NOT_OWNER);
}

static void the_lease_of_a_fixed_hold_is_exported(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;

    bench_hold_fixed(bench, 1, "a", 7000);
    call = export(bench, "a");
    assert_ended(call, HF_OK);
    assert_int_equal(call->lease_ms, 7000);
    bench_hold_fixed(bench, 1, "a", 7000);
    bench_jump(bench, 7000);
    assert_ended(export(bench, "a"), HF_LOST);
}

static void an_unclean_one_waits_for_the_servers_clock(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;
    struct hfi_copy *copy;

    bench_hold_unclean(bench, 1, "a");
    call = export(bench, "a");
    assert_running(call);
    bench_pass(bench, BENCH_RESPONSE_MS);
    assert_no_copy(bench);
    bench_pass(bench, 1);
    copy = bench_take(bench, HFI_TIME);
    assert_string_equal(bench_words(bench, copy), "server_time a");
    /* Its clock is behind what we thought: it asks once more. */
    bench_integer(bench, copy, bench_server_now(bench) - 100);
    assert_running(call);
    bench_pass(bench, 100);
    bench_undone(bench, bench_take(bench, HFI_TIME));
    assert_ended(call, HF_OK);
    assert_int_equal(bench_state(bench, 1, "a"), HF_NOT_HELD);
}

static void an_export_that_cannot_be_made_leaves_it_held(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;

    bench_hold_unclean(bench, 1, "a");
    call = export(bench, "a");
    bench_pass(bench, BENCH_RESPONSE_MS + 1);
    bench_take(bench, HFI_TIME);
    bench_pass(bench, BENCH_CONNECT_MS);
    assert_ended(call, HF_NOT_DONE);
    assert_int_equal(bench_state(bench, 1, "a"), HF_HELD);
    call = export(bench, "a"); /* past last(n) by our estimate */
    bench_pass(bench, 1);
    bench_integer(bench, bench_take(bench, HFI_TIME), 1);
    bench_pass(bench, BENCH_RESPONSE_MS + BENCH_CONNECT_MS);
    assert_ended(call, HF_NOT_DONE); /* not when that clock has come so far */
    assert_int_equal(bench_state(bench, 1, "a"), HF_HELD);
}

static void lost_while_it_waits_an_export_says_so(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = bench_lock_fixed(bench, 1, "a", 2000);

    bench_lose(bench, bench_take(bench, HFI_ACQUIRE), true);
    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    assert_ended(call, HF_OK);
    call = export(bench, "a");
    bench_pass(bench, 1999);
    assert_int_equal(bench_state(bench, 1, "a"), HF_STATE_LOST);
    bench_undone(bench, bench_take(bench, HFI_TIME));
    assert_ended(call, HF_LOST);
    call = export(bench, "a");
    assert_ended(call, HF_LOST);
}

static void given_up_after_the_loss_an_export_says_lost(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = bench_lock_fixed(bench, 1, "a", 4000);

    bench_lose(bench, bench_take(bench, HFI_ACQUIRE), true);
    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    assert_ended(call, HF_OK);
    call = export(bench, "a");
    bench_pass(bench, 3100);
    bench_take(bench, HFI_TIME);
    bench_pass(bench, 2000);
    assert_ended(call, HF_LOST);
}

static void waiters_here_ask_when_a_hold_was_exported(void **state)
{
    struct bench *bench = *state;

    bench_hold(bench, 1, "a");
    bench_lock(bench, 2, "a", -1);
    assert_ended(export(bench, "a"), HF_OK);
    bench_take(bench, HFI_ACQUIRE);
}

/* ---- import ---- */

static void an_import_begins_with_its_own_answer(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = import(bench, 3);
    struct hfi_copy *copy = bench_take(bench, HFI_ADOPT);
    struct hfi_hold_view view;

    assert_string_equal(bench_words(bench, copy),
                        "lock_keep a | " SOMEBODY " 3 10000");
    bench_jump(bench, 25);
    bench_nil(bench, copy);
    assert_ended(call, HF_OK);
    bench_view(bench, 1, "a", &view);
    assert_int_equal(view.count, 3);
    assert_int_equal(view.remaining_ms, PROMISE(10000) - 25);
    assert_string_equal(view.owner, SOMEBODY);
    /* It is left and released under its own name. */
    bench_unlock(bench, 1, "a");
    bench_nil(bench, bench_take(bench, HFI_LEAVE));
    bench_unlock(bench, 1, "a");
    bench_nil(bench, bench_take(bench, HFI_LEAVE));
    bench_unlock(bench, 1, "a");
    copy = bench_take(bench, HFI_RELEASE);
    assert_memory_equal(bench_words(bench, copy),
                        "lock_release a | " SOMEBODY " ",
                        sizeof("lock_release a | " SOMEBODY " ") - 1);
}

static void what_is_not_there_any_more_cannot_be_imported(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = import(bench, 1);

    bench_integer(bench, bench_take(bench, HFI_ADOPT), -2);
    assert_ended(call, HF_GONE);
    assert_int_equal(bench_state(bench, 1, "a"), HF_NOT_HELD);
    assert_no_copy(bench); /* it is not ours to undo */
    assert_true(hfi_core_idle(bench->core));
}

static void an_import_answered_too_late_is_not_held(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = import(bench, 1);
    struct hfi_copy *copy = bench_take(bench, HFI_ADOPT);

    bench_jump(bench, PROMISE(10000));
    bench_nil(bench, copy);
    assert_ended(call, HF_UNKNOWN);
    assert_int_equal(bench_state(bench, 1, "a"), HF_NOT_HELD);
    assert_true(hfi_core_idle(bench->core));
}

static void an_unanswered_import_is_unknown(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = import(bench, 1);
    struct hfi_copy *copy = bench_take(bench, HFI_ADOPT);

    bench_pass(bench, BENCH_RESPONSE_MS + BENCH_CONNECT_MS);
    assert_ended(call, HF_UNKNOWN);
    bench_nil(bench, copy);
    assert_int_equal(bench_state(bench, 1, "a"), HF_NOT_HELD);
    assert_true(hfi_core_idle(bench->core));
}

static void an_import_has_the_terms_it_was_given(void **state)
{
    struct bench *bench = *state;
    struct hfi_terms *terms = bench_terms("a");
    struct hfi_op_request ask = {.kind = HFI_OP_IMPORT,
                                 .lease_ms = 10000,
                                 .renewed = true,
                                 .count = 1,
                                 .terms = terms,
                                 .field = SOMEBODY};
    struct bench_notice notice;

    bench_start(bench, 1, "a", &ask);
    bench_nil(bench, bench_take(bench, HFI_ADOPT));
    bench_pass(bench, 10000 / 3);
    bench_take(bench, HFI_RENEW);
    bench_jump(bench, 10000);
    bench_tick(bench);
    assert_true(bench_told(bench, &notice));
    assert_true(notice.lost);
    assert_string_equal(notice.owner, SOMEBODY);
    bench_take(bench, HFI_UNDO); /* now it is ours to end */
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

static void without_a_link_an_import_is_unreachable(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;

    bench_links_down(bench);
    call = import(bench, 1);
    bench_pass(bench, BENCH_RESPONSE_MS + BENCH_CONNECT_MS);
    assert_ended(call, HF_UNREACHABLE);
    assert_true(hfi_core_idle(bench->core));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
#define TEST(function)                                                         \
    cmocka_unit_test_setup_teardown(function, bench_setup, bench_teardown)
        TEST(a_clean_hold_is_exported_without_a_word),
        TEST(the_lease_of_a_fixed_hold_is_exported),
        TEST(an_unclean_one_waits_for_the_servers_clock),
        TEST(an_export_that_cannot_be_made_leaves_it_held),
        TEST(lost_while_it_waits_an_export_says_so),
        TEST(given_up_after_the_loss_an_export_says_lost),
        TEST(waiters_here_ask_when_a_hold_was_exported),
        TEST(an_import_begins_with_its_own_answer),
        TEST(what_is_not_there_any_more_cannot_be_imported),
        TEST(an_import_answered_too_late_is_not_held),
        TEST(an_unanswered_import_is_unknown),
        TEST(an_import_has_the_terms_it_was_given),
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
        TEST(without_a_link_an_import_is_unreachable),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
