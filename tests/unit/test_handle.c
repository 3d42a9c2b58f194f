/* SPDX-License-Identifier: MIT */
/* test_handle.c - a hold that is written out, and one that is continued.
 *
 * "Export" of docs/design/late-copies.md; EXPORT and IMPORT of sync/others.c.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core_bench.h"

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
        TEST(without_a_link_an_import_is_unreachable),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
