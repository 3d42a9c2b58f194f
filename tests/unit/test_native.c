/* SPDX-License-Identifier: MIT */
/* test_native.c - bare commands in place of scripts: when a server is asked for
 * them, when they are used, and what a late one may not do.
 *
 * token/native-1 to token/native-3 of docs/wire/token.md.
 */
#include <stdlib.h>
#include <string.h>

#include "core_bench.h"
#include "support/fatal.h"

#define TOKEN &hfi_kinds_token[HFI_UNFENCED]
#define SOMEBODY "fedcba98-7654-4321-8fed-cba987654321:42"
#define LOOK_AGAIN_MS 5 /* behind a bare renewal */

static struct bench_call *call_of(struct bench *bench, enum hfi_op_kind what,
                                  const char *name, int64_t lease_ms)
{
    struct hfi_op_request ask = {.kind = what,
                                 .of = TOKEN,
                                 .lease_ms = lease_ms,
                                 .renewed = true,
                                 .count = 1,
                                 .field = what == HFI_OP_IMPORT ? SOMEBODY
                                                                : NULL};

    return bench_start(bench, 1, name, &ask);
}

static void answer_ok(struct bench *bench, struct hfi_copy *copy)
{
    struct hfi_value value = {.kind = HFI_TEXT, .len = 2};

    value.text = hft_copy_text("OK");
    bench_answer(bench, copy, &value);
}

static void hold(struct bench *bench, const char *name)
{
    struct bench_call *call = call_of(bench, HFI_OP_ACQUIRE, name,
                                      BENCH_LEASE_MS);

    answer_ok(bench, bench_take(bench, HFI_ACQUIRE));
    assert_ended(call, HF_OK);
}

static hf_lock_state state_of(struct bench *bench)
{
    struct hfi_object object = {.kind = TOKEN, .name = "a", .name_bytes = 1};
    struct hfi_hold_view view;

    hfi_core_view(bench->core, hfi_owner_get(bench->core, 1, true), &object,
                  bench->now, &view);
    return view.state;
}

/* ---- which there are, and releases ---- */

/* Which commands are known: each is an array, or nil. */
static void answer_known(struct bench *bench, struct hfi_copy *copy,
                         bool delifeq, bool delex)
{
    struct hfi_value value = {.kind = HFI_ARRAY, .count = 2};

    value.items = hft_alloc(2 * sizeof(*value.items));
    for (size_t i = 0; i < 2; i++) {
        if (i == 0 ? delifeq : delex) {
            value.items[i].kind = HFI_ARRAY;
            value.items[i].count = 1;
            value.items[i].items = hft_alloc(sizeof(*value.items));
        }
    }
    bench_answer(bench, copy, &value);
}

static void take_and_give_up(struct bench *bench)
{
    hold(bench, "a");
    call_of(bench, HFI_OP_RELEASE, "a", 0);
}

/* A release by script, with which the server is asked; what it knows now. */
static void learn(struct bench *bench, bool delifeq, bool delex)
{
    struct hfi_copy *probe, *release;

    take_and_give_up(bench);
    probe = bench_take(bench, HFI_PROBE);
    assert_string_equal(bench_words(bench, probe),
                        "bare | COMMAND INFO DELIFEQ DELEX");
    release = bench_take(bench, HFI_RELEASE);
    assert_false(release->native);
    answer_known(bench, probe, delifeq, delex);
    bench_nil(bench, release);
}

/* spec: token/native-1. */
static void a_release_is_a_bare_command_where_there_is_one(void **state)
{
    static const char *const words[] = {"bare | DELIFEQ a " BENCH_UUID ":2",
                                        "bare | DELEX a IFEQ " BENCH_UUID ":2"};

    for (int which = 0; which < 2; which++) {
        struct bench *bench = hft_alloc(sizeof(*bench));
        struct hfi_copy *release, *wake;

        (void)state;
        bench_open(bench);
        learn(bench, which == 0, which == 1);
        take_and_give_up(bench);
        release = bench_take(bench, HFI_RELEASE);
        assert_true(release->native);
        assert_string_equal(bench_words(bench, release), words[which]);
        wake = bench_take(bench, HFI_WAKE);
        assert_string_equal(bench_words(bench, wake),
                            "bare | PUBLISH holdfast_token__channel:{a} 0");
        bench_integer(bench, release, 1);
        bench_integer(bench, wake, 0);
        assert_true(hfi_core_idle(bench->core));
        bench_close(bench);
        free(bench);
    }
}

static void without_such_a_command_it_stays_the_script(void **state)
{
    struct bench *bench = *state;

    learn(bench, false, false);
    take_and_give_up(bench);
    bench_nil(bench, bench_take(bench, HFI_RELEASE));
    assert_true(hfi_core_idle(bench->core));
}

/* spec: token/native-2. */
static void a_bare_release_that_found_nothing_asks_the_script_why(void **state)
{
    struct bench *bench = *state;
    struct hfi_copy *release;

    learn(bench, true, false);
    take_and_give_up(bench);
    bench_integer(bench, bench_take(bench, HFI_RELEASE), 0);
    bench_integer(bench, bench_take(bench, HFI_WAKE), 0);
    release = bench_take(bench, HFI_RELEASE);
    assert_false(release->native);
    bench_integer(bench, release, 4711);
    assert_true(hfi_core_idle(bench->core));
}

static void a_command_that_is_unknown_after_all_is_not_sent_again(void **state)
{
    struct bench *bench = *state;
    struct hfi_copy *release;

    learn(bench, true, false);
    take_and_give_up(bench);
    bench_error(bench, bench_take(bench, HFI_RELEASE), HFI_REFUSAL_OTHER);
    bench_integer(bench, bench_take(bench, HFI_WAKE), 0);
    release = bench_take(bench, HFI_RELEASE);
    assert_false(release->native);
    bench_nil(bench, release);
    take_and_give_up(bench);
    release = bench_take(bench, HFI_RELEASE);
    assert_false(release->native);
    bench_nil(bench, release);
}

/* So many arrays of so many items. */
static void answer_arrays(struct bench *bench, struct hfi_copy *copy,
                          size_t arrays, size_t items)
{
    struct hfi_value value = {.kind = HFI_ARRAY, .count = arrays};

    value.items = hft_alloc(arrays * sizeof(*value.items));
    for (size_t i = 0; i < arrays; i++) {
        value.items[i].kind = HFI_ARRAY;
        value.items[i].count = items;
        value.items[i].items = hft_alloc((items + 1) * sizeof(*value.items));
    }
    bench_answer(bench, copy, &value);
}

/* What else it may say: nothing of it is believed. */
static void an_answer_that_is_none_means_that_it_knows_none(void **state)
{
    struct bench_item numbers[] = {{.integer = 1}, {.integer = 1}};
    struct bench *bench = hft_alloc(sizeof(*bench));
    struct hfi_copy *probe;

    (void)state;
    for (int i = 0; i < 4; i++) {
        bench_open(bench);
        take_and_give_up(bench);
        probe = bench_take(bench, HFI_PROBE);
        bench_nil(bench, bench_take(bench, HFI_RELEASE));
        if (i == 0) {
            bench_error(bench, probe, HFI_REFUSAL_PERMISSION);
        } else if (i == 1) {
            bench_items(bench, probe, numbers, 2);
        } else { /* one too many, or two that say nothing */
            answer_arrays(bench, probe, i == 2 ? 3 : 2, i == 2 ? 1 : 0);
        }
        take_and_give_up(bench);
        assert_false(bench_take(bench, HFI_RELEASE)->native);
        assert_no_copy(bench); /* and it is not asked again */
        bench_close(bench);
    }
    free(bench);
}

/* A new connection may lead to another server, and the answer of the one before
 * says nothing of it. */
static void after_a_new_connection_it_is_asked_again(void **state)
{
    struct bench *bench = *state;
    struct hfi_copy *probe;

    take_and_give_up(bench);
    probe = bench_take(bench, HFI_PROBE);
    bench_nil(bench, bench_take(bench, HFI_RELEASE));
    bench_link_up(bench, HFI_LINK_KEEPER);
    answer_known(bench, probe, true, true);
    take_and_give_up(bench);
    bench_take(bench, HFI_PROBE);
    assert_false(bench_take(bench, HFI_RELEASE)->native);
}

static void a_question_that_was_lost_is_asked_again(void **state)
{
    struct bench *bench = *state;

    take_and_give_up(bench);
    bench_lose(bench, bench_take(bench, HFI_PROBE), true);
    bench_nil(bench, bench_take(bench, HFI_RELEASE));
    learn(bench, true, false);
}

/* What is left of it stands in the name of a number that nobody has: no bare
 * command does that. */
static void a_shortest_hold_is_kept_by_script(void **state)
{
    struct bench *bench = *state;
    struct hfi_op_request ask = {.kind = HFI_OP_ACQUIRE,
                                 .of = TOKEN,
                                 .lease_ms = BENCH_LEASE_MS,
                                 .terms = bench_terms("a")};
    struct hfi_copy *copy;

    learn(bench, true, false);
    ask.terms->min_hold_ms = 2000;
    bench_start(bench, 1, "a", &ask);
    answer_ok(bench, bench_take(bench, HFI_ACQUIRE));
    call_of(bench, HFI_OP_RELEASE, "a", 0);
    copy = bench_take(bench, HFI_RELEASE);
    assert_false(copy->native);
    assert_int_equal(copy->rest_ms, 2000);
    bench_nil(bench, copy);
    assert_no_copy(bench); /* the script tells who waits */
}

static void a_bare_release_that_is_refused_is_no_reason_to_forget(void **state)
{
    struct bench *bench = *state;

    learn(bench, true, false);
    take_and_give_up(bench);
    bench_error(bench, bench_take(bench, HFI_RELEASE), HFI_REFUSAL_PERMISSION);
    bench_integer(bench, bench_take(bench, HFI_WAKE), 0);
    bench_nil(bench, bench_take(bench, HFI_RELEASE));
    take_and_give_up(bench);
    assert_true(bench_take(bench, HFI_RELEASE)->native);
}

/* ---- renewals ---- */

/* spec: token/native-3. */
static void a_renewal_is_bare_too_unless_it_would_shorten(void **state)
{
    struct bench *bench = *state;
    struct hfi_copy *copy;

    learn(bench, true, false);
    hold(bench, "a");
    bench_pass(bench, 10000);
    copy = bench_take(bench, HFI_RENEW);
    assert_string_equal(bench_words(bench, copy),
                        "bare | SET a " BENCH_UUID ":2 IFEQ " BENCH_UUID
                        ":2 PX 30000");
    answer_ok(bench, copy);
    call_of(bench, HFI_OP_EXTEND, "a", 90000);
    bench_nil(bench, bench_take(bench, HFI_EXTEND));
    bench_pass(bench, 30000);
    copy = bench_take(bench, HFI_RENEW);
    assert_true(copy->native); /* the lease to renew is the longer one now */
    bench_nil(bench, copy);    /* it was not done: the script says why */
    copy = bench_take(bench, HFI_RENEW);
    assert_false(copy->native);
    bench_integer(bench, copy, -2);
}

static void two_that_are_due_go_by_one_script(void **state)
{
    struct bench *bench = *state;
    struct hfi_copy *copy;

    learn(bench, true, false);
    hold(bench, "a");
    hold(bench, "b");
    bench_pass(bench, BENCH_LEASE_MS / 3);
    copy = bench_take(bench, HFI_RENEW);
    assert_false(copy->native);
    assert_int_equal(copy->batch_count, 2);
    bench_renewed(bench, copy);
    assert_no_copy(bench);
}

static void one_that_is_due_much_later_does_not_go_along(void **state)
{
    struct bench *bench = *state;

    learn(bench, true, false);
    hold(bench, "a");
    bench_pass(bench, BENCH_LEASE_MS / 30);
    hold(bench, "b");
    bench_pass(bench, BENCH_LEASE_MS / 3 - BENCH_LEASE_MS / 30);
    assert_true(bench_take(bench, HFI_RENEW)->native);
    assert_no_copy(bench);
}

static void an_imported_hold_is_renewed_by_script(void **state)
{
    struct bench *bench = *state;

    learn(bench, true, false);
    call_of(bench, HFI_OP_IMPORT, "a", BENCH_LEASE_MS);
    bench_nil(bench, bench_take(bench, HFI_ADOPT));
    bench_pass(bench, BENCH_LEASE_MS / 3);
    assert_false(bench_take(bench, HFI_RENEW)->native);
}

/* An extension that was given up may have been done: a bare renewal for less
 * would take it back. */
static void what_may_have_been_extended_is_renewed_by_script(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;

    learn(bench, true, false);
    hold(bench, "a");
    call = call_of(bench, HFI_OP_EXTEND, "a", 90000);
    bench_lose(bench, bench_take(bench, HFI_EXTEND), true);
    bench_take(bench, HFI_EXTEND);
    bench_pass(bench, BENCH_RESPONSE_MS + BENCH_CONNECT_MS);
    assert_ended(call, HF_NOT_DONE);
    bench_pass(bench,
               BENCH_LEASE_MS / 3 - BENCH_RESPONSE_MS - BENCH_CONNECT_MS);
    assert_false(bench_take(bench, HFI_RENEW)->native);
}

/* It does not say why: that is the script's to tell. */
static void a_bare_renewal_that_is_refused_is_repeated_by_script(void **state)
{
    struct bench *bench = *state;
    static const struct {
        enum hfi_refusal refusal;
        bool forgotten;
    } cases[] = {{HFI_REFUSAL_PERMISSION, false}, {HFI_REFUSAL_OTHER, true}};

    for (size_t i = 0; i < 2; i++) {
        learn(bench, true, false);
        hold(bench, "a");
        bench_pass(bench, BENCH_LEASE_MS / 3);
        bench_error(bench, bench_take(bench, HFI_RENEW), cases[i].refusal);
        bench_renewed(bench, bench_take(bench, HFI_RENEW));
        assert_int_equal(state_of(bench), HF_HELD);
        call_of(bench, HFI_OP_RELEASE, "a", 0);
        assert_int_equal(bench_take(bench, HFI_RELEASE)->native,
                         !cases[i].forgotten);
        bench_close(bench);
        bench_open(bench);
    }
}

static void a_bare_renewal_refused_after_its_release_is_not_repeated(
    void **state)
{
    struct bench *bench = *state;
    struct hfi_copy *renewal;

    learn(bench, true, false);
    hold(bench, "a");
    bench_pass(bench, BENCH_LEASE_MS / 3);
    renewal = bench_take(bench, HFI_RENEW);
    call_of(bench, HFI_OP_RELEASE, "a", 0);
    bench_take(bench, HFI_RELEASE);
    bench_take(bench, HFI_WAKE);
    bench_nil(bench, renewal);
    bench_pass(bench, BENCH_RESPONSE_MS);
    assert_no_copy(bench);
}

/* ---- behind a bare renewal ---- */

/* A hold of whom a bare renewal is under way. */
static struct hfi_copy *renewing(struct bench *bench)
{
    struct hfi_copy *renewal;

    learn(bench, true, false);
    hold(bench, "a");
    bench_pass(bench, BENCH_LEASE_MS / 3);
    renewal = bench_take(bench, HFI_RENEW);
    assert_true(renewal->native);
    return renewal;
}

static void an_extension_waits_for_its_answer(void **state)
{
    struct bench *bench = *state;
    struct hfi_copy *renewal = renewing(bench);
    struct bench_call *call = call_of(bench, HFI_OP_EXTEND, "a", 90000);

    bench_pass(bench, 2 * LOOK_AGAIN_MS);
    assert_no_copy(bench);
    answer_ok(bench, renewal);
    bench_pass(bench, LOOK_AGAIN_MS);
    bench_nil(bench, bench_take(bench, HFI_EXTEND));
    assert_ended(call, HF_OK);
}

static void so_does_handing_it_on(void **state)
{
    struct bench *bench = *state;
    struct hfi_copy *renewal = renewing(bench);
    struct bench_call *call = call_of(bench, HFI_OP_EXPORT, "a", 0);

    bench_pass(bench, LOOK_AGAIN_MS + 1);
    bench_undone(bench, bench_take(bench, HFI_TIME)); /* no answer yet */
    assert_running(call);
    answer_ok(bench, renewal);
    bench_pass(bench, LOOK_AGAIN_MS + 1);
    bench_undone(bench, bench_take(bench, HFI_TIME));
    assert_ended(call, HF_OK);
}

/* It may run at any later moment. */
static void after_one_that_was_lost_neither_is_done(void **state)
{
    struct bench *bench = *state;
    struct bench_call *extends, *exports;
    struct hfi_copy *copy;

    bench_lose(bench, renewing(bench), true);
    extends = call_of(bench, HFI_OP_EXTEND, "a", 90000);
    exports = call_of(bench, HFI_OP_EXPORT, "a", 0);
    for (int i = 0; i < 1000; i++) {
        bench_pass(bench, 10);
        while ((copy = bench_take_any(bench)) != NULL) {
            assert_int_not_equal(copy->request, HFI_EXTEND);
            if (copy->request == HFI_RENEW) {
                answer_ok(bench, copy);
            } else {
                bench_undone(bench, copy); /* TIME */
            }
        }
    }
    assert_ended(extends, HF_NOT_DONE);
    assert_ended(exports, HF_NOT_DONE);
    assert_int_equal(state_of(bench), HF_HELD);
}

/* What was never written never runs. */
static void after_one_that_never_left_both_are(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;

    bench_lose(bench, renewing(bench), false);
    call_of(bench, HFI_OP_EXTEND, "a", 90000);
    bench_nil(bench, bench_take(bench, HFI_EXTEND));
    call = call_of(bench, HFI_OP_EXPORT, "a", 0);
    assert_ended(call, HF_OK);
}

#define TEST(function)                                                         \
    cmocka_unit_test_setup_teardown(function, bench_setup, bench_teardown)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(a_release_is_a_bare_command_where_there_is_one),
        TEST(without_such_a_command_it_stays_the_script),
        TEST(a_bare_release_that_found_nothing_asks_the_script_why),
        TEST(a_command_that_is_unknown_after_all_is_not_sent_again),
        TEST(an_answer_that_is_none_means_that_it_knows_none),
        TEST(after_a_new_connection_it_is_asked_again),
        TEST(a_question_that_was_lost_is_asked_again),
        TEST(a_shortest_hold_is_kept_by_script),
        TEST(a_bare_release_that_is_refused_is_no_reason_to_forget),
        TEST(a_renewal_is_bare_too_unless_it_would_shorten),
        TEST(two_that_are_due_go_by_one_script),
        TEST(one_that_is_due_much_later_does_not_go_along),
        TEST(an_imported_hold_is_renewed_by_script),
        TEST(what_may_have_been_extended_is_renewed_by_script),
        TEST(a_bare_renewal_that_is_refused_is_repeated_by_script),
        TEST(a_bare_renewal_refused_after_its_release_is_not_repeated),
        TEST(an_extension_waits_for_its_answer),
        TEST(so_does_handing_it_on),
        TEST(after_one_that_was_lost_neither_is_done),
        TEST(after_one_that_never_left_both_are),
    };

    return cmocka_run_group_tests_name("native", tests, NULL, NULL);
}
