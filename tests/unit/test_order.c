/* SPDX-License-Identifier: MIT */
/* test_order.c - whose turn it is: the calls of one owner on one name, links,
 * the end of an owner and of the client.
 *
 * "Calls of one (name, owner) run in the order of the calls" of
 * docs/design/late-copies.md (T10, T20).
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core_bench.h"

static void calls_of_one_owner_on_one_name_run_in_order(void **state)
{
    struct bench *bench = *state;
    struct bench_call *lock = bench_lock(bench, 1, "a", 0);
    struct bench_call *again = bench_lock(bench, 1, "a", 0);
    struct bench_call *release = bench_unlock(bench, 1, "a");
    struct bench_call *last = bench_unlock(bench, 1, "a");
    struct hfi_copy *copy = bench_take(bench, HFI_ACQUIRE);

    assert_no_copy(bench);
    bench_nil(bench, copy);
    assert_ended(lock, HF_OK);
    copy = bench_take(bench, HFI_ENTER);
    assert_no_copy(bench);
    bench_nil(bench, copy);
    assert_ended(again, HF_OK);
    copy = bench_take(bench, HFI_LEAVE);
    assert_no_copy(bench);
    bench_nil(bench, copy);
    assert_ended(release, HF_OK);
    bench_nil(bench, bench_take(bench, HFI_RELEASE));
    assert_ended(last, HF_OK);
}

static void other_names_and_other_owners_do_not_wait(void **state)
{
    struct bench *bench = *state;

    bench_lock(bench, 1, "a", 0);
    bench_lock(bench, 1, "b", 0);
    bench_lock(bench, 2, "a", 0);
    bench_take(bench, HFI_ACQUIRE);
    bench_take(bench, HFI_ACQUIRE);
    bench_take(bench, HFI_ACQUIRE);
}

static void a_call_whose_turn_never_comes_ends_at_its_time(void **state)
{
    struct bench *bench = *state;
    struct bench_call *first = bench_lock(bench, 1, "a", -1);
    struct bench_call *once = bench_lock(bench, 1, "a", 0);
    struct bench_call *waits = bench_lock(bench, 1, "a", 700);
    struct bench_call *release = bench_unlock(bench, 1, "a");

    bench_pass(bench, 700);
    assert_ended(waits, HF_TIMEOUT);
    bench_pass(bench, BENCH_RESPONSE_MS + BENCH_CONNECT_MS - 700);
    assert_ended(once, HF_TIMEOUT);
    assert_ended(release, HF_NOT_DONE);
    assert_running(first);
    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    assert_ended(first, HF_OK);
    assert_int_equal(bench_count(bench, 1, "a"), 1);
}

static void cancelled_before_its_turn_even_a_release_ends(void **state)
{
    struct bench *bench = *state;
    struct bench_call *release;

    bench_hold(bench, 1, "a");
    bench_extend(bench, 1, "a", 60000);
    release = bench_unlock(bench, 1, "a");
    bench_cancel(bench, release, HF_CANCELLED);
    assert_ended(release, HF_CANCELLED);
    assert_int_equal(bench_state(bench, 1, "a"), HF_HELD);
}

static void only_renewals_overlap_a_call(void **state)
{
    struct bench *bench = *state;
    struct hfi_copy *enter;

    bench_hold(bench, 1, "a");
    bench_pass(bench, BENCH_LEASE_MS / 3 - 10);
    bench_lock_fixed(bench, 1, "a", BENCH_LEASE_MS);
    enter = bench_take(bench, HFI_ENTER);
    bench_pass(bench, 10);
    /* The count is the owner's when it is sent. */
    assert_int_equal(bench_take(bench, HFI_RENEW)->batch[0].count, 1);
    bench_nil(bench, enter);
    assert_int_equal(bench_count(bench, 1, "a"), 2);
}

/* ---- owners ---- */

static void an_owner_that_ends_ends_all_its_calls(void **state)
{
    struct bench *bench = *state;
    struct bench_call *waits, *turn, *queued, *release, *unlock;

    bench_hold(bench, 2, "q");
    waits = bench_wait(bench, 1, "a", -1, 5000);
    turn = bench_lock(bench, 1, "a", -1);
    release = bench_unlock(bench, 1, "a");
    queued = bench_lock(bench, 1, "q", -1);
    bench_hold(bench, 1, "h");
    bench_extend(bench, 1, "h", 1000);
    unlock = bench_unlock(bench, 1, "h");
    bench_owner_gone(bench, 1);
    assert_ended(waits, HF_CANCELLED);
    assert_ended(turn, HF_CANCELLED);
    assert_ended(queued, HF_CANCELLED);
    assert_ended(release, HF_CANCELLED);
    assert_ended(unlock, HF_CANCELLED);
    assert_int_equal(bench_stats(bench).waiters, 0);
    /* None of them got its turn: nothing was sent for it. */
    assert_int_equal(bench_take_any(bench)->request, HFI_EXTEND);
    assert_int_equal(bench_take_any(bench)->request, HFI_UNDO); /* of "h" */
    assert_no_copy(bench);
}

static void an_owner_is_kept_while_anything_is_owed_to_it(void **state)
{
    struct bench *bench = *state;
    struct hfi_owner *owner = hfi_owner_get(bench->core, 77, true);

    hfi_owner_ref(owner);
    assert_int_equal(hfi_owner_id(owner), 77);
    assert_false(hfi_owner_busy(owner));
    bench_hold(bench, 77, "a");
    assert_true(hfi_owner_busy(owner));
    hfi_owner_unref(bench->core, owner);
    assert_ptr_equal(hfi_owner_get(bench->core, 77, false), owner);
    bench_free(bench, 77, "a");
    assert_null(hfi_owner_get(bench->core, 77, false));
}

static void ten_thousand_owners_and_names_leave_nothing_behind(void **state)
{
    struct bench *bench = *state;
    char name[64];

    for (int round = 0; round < 2; round++) {
        for (uint64_t i = 1; i <= 10000; i++) {
            /* Of every length up to some 40 bytes. */
            snprintf(name, sizeof(name), "%" PRIu64 "%.*s", i, (int)(i % 36),
                     "abcdefghijklmnopqrstuvwxyzabcdefghij");
            bench_hold(bench, i, name);
        }
        assert_int_equal(bench_stats(bench).names, 10000);
        for (uint64_t i = 1; i <= 10000; i++) {
            uint64_t n = round == 0 ? i : 10001 - i;

            snprintf(name, sizeof(name), "%" PRIu64 "%.*s", n, (int)(n % 36),
                     "abcdefghijklmnopqrstuvwxyzabcdefghij");
            bench_free(bench, n, name);
        }
        assert_int_equal(bench_stats(bench).names, 0);
        assert_true(hfi_core_idle(bench->core));
    }
}

/* ---- links ---- */

static void what_waits_for_a_link_goes_in_the_order_it_came(void **state)
{
    struct bench *bench = *state;
    char words[64];

    bench_links_down(bench);
    for (uint64_t i = 1; i <= 5; i++) {
        snprintf(words, sizeof(words), "n%" PRIu64, i);
        bench_lock(bench, i, words, 0);
    }
    bench_link_up(bench, HFI_LINK_KEEPER);
    for (int i = 1; i <= 5; i++) {
        snprintf(words, sizeof(words), "lock_acquire n%d |", i);
        assert_memory_equal(bench_words(bench, bench_take(bench, HFI_ACQUIRE)),
                            words, 17);
    }
}

static void a_call_prefers_the_link_of_its_caller(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = bench_lock(bench, 1, "a", 5000);

    assert_true(hfi_op_travels(call->op, HFI_LINK_MAIN));
    assert_false(hfi_op_travels(call->op, HFI_LINK_KEEPER));
    bench_integer(bench, bench_take(bench, HFI_ACQUIRE), 1000);
    assert_false(hfi_op_travels(call->op, HFI_LINK_MAIN));
    bench_heard(bench, "a"); /* the keeper tells, so it travels with him */
    assert_int_equal(bench_take(bench, HFI_ACQUIRE)->link, HFI_LINK_KEEPER);
    bench_link_down(bench, HFI_LINK_MAIN);
    bench_lock(bench, 2, "b", 0);
    assert_int_equal(bench_take(bench, HFI_ACQUIRE)->link, HFI_LINK_KEEPER);
}

static void one_call_that_ends_lets_the_next_of_its_owner_wait_for_a_link(
    void **state)
{
    struct bench *bench = *state;
    struct bench_call *first, *second;

    bench_links_down(bench);
    first = bench_lock(bench, 1, "a", 0);
    second = bench_lock(bench, 1, "a", 0);
    bench_link_failed(bench, HF_UNREACHABLE);
    assert_ended(first, HF_UNREACHABLE);
    if (second->op != NULL) {
        bench_link_failed(bench, HF_UNREACHABLE);
    }
    assert_ended(second, HF_UNREACHABLE);
}

/* ---- without a link ---- */

/* Its time passes while it waits for a link; so does its fence, in its place. */
static void what_is_fenced_without_a_link_is_fenced_once(void **state)
{
    struct bench *bench = *state;
    struct hfi_op_request ask = {.kind = HFI_OP_CHANGE,
                                 .of = &hfi_kind_semaphore,
                                 .word = HFI_WORD_ADD,
                                 .count = 1};
    struct bench_call *call = bench_start(bench, 0, "a", &ask);
    struct bench_call *behind;

    bench_links_down(bench);
    bench_lose(bench, bench_take(bench, HFI_CHANGE), true);
    behind = bench_lock(bench, 1, "b", -1);
    bench_pass(bench, BENCH_RESPONSE_MS + BENCH_CONNECT_MS);
    assert_running(call);
    bench_link_up(bench, HFI_LINK_MAIN);
    bench_integer(bench, bench_take(bench, HFI_FENCE), 1);
    assert_ended(call, HF_OK);
    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    assert_ended(behind, HF_OK);
    assert_no_copy(bench);
}

/* ---- close ---- */

static void closing_ends_everything(void **state)
{
    struct bench *bench = *state;
    struct bench_call *waits, *queued, *turn, *keeps, *leaves, *release, *local;
    struct hfi_copy *copy;
    int undone = 0;

    waits = bench_wait(bench, 1, "w", -1, 5000);
    queued = bench_lock(bench, 2, "w", -1);
    turn = bench_lock(bench, 2, "w", -1);
    bench_hold(bench, 3, "e");
    keeps = bench_extend(bench, 3, "e", 1000);
    bench_take(bench, HFI_EXTEND);
    bench_hold(bench, 4, "l");
    bench_lock(bench, 4, "l", 0);
    bench_nil(bench, bench_take(bench, HFI_ENTER));
    leaves = bench_unlock(bench, 4, "l");
    bench_take(bench, HFI_LEAVE);
    bench_hold(bench, 5, "r");
    release = bench_unlock(bench, 5, "r");
    local = bench_lock(bench, 6, "e", -1);
    hfi_core_close(bench->core, bench->now);
    bench_tick(bench);
    assert_ended(waits, HF_CLOSED);
    assert_ended(queued, HF_CLOSED);
    assert_ended(turn, HF_CLOSED);
    assert_ended(keeps, HF_CLOSED);
    assert_ended(leaves, HF_UNKNOWN);
    assert_ended(release, HF_UNKNOWN);
    assert_ended(local, HF_CLOSED);
    assert_int_equal(bench_stats(bench).holds, 0);
    while ((copy = bench_take_any(bench)) != NULL) {
        if (copy->request == HFI_UNDO) {
            undone++;
            bench_undone(bench, copy);
        }
    }
    assert_int_equal(undone, 3); /* e, l, r */
    assert_true(hfi_core_ended(bench->core));
}

static void news_after_the_close_wakes_nobody(void **state)
{
    struct bench *bench = *state;

    bench_hold(bench, 1, "a");
    bench_lock(bench, 2, "a", -1);
    hfi_core_close(bench->core, bench->now);
    bench_tick(bench);
    bench_undone(bench, bench_take(bench, HFI_UNDO));
    assert_no_copy(bench);
}

/* The release is given up first, and would be news for who waits. */
static void a_release_that_closing_gives_up_wakes_nobody(void **state)
{
    struct bench *bench = *state;
    struct bench_call *waits;

    bench_hold(bench, 1, "a");
    bench_unlock(bench, 1, "a");
    bench_take(bench, HFI_RELEASE);
    waits = bench_lock(bench, 2, "a", -1);
    hfi_core_close(bench->core, bench->now);
    bench_tick(bench);
    assert_ended(waits, HF_CLOSED);
    bench_undone(bench, bench_take(bench, HFI_UNDO));
    assert_no_copy(bench);
}

static void a_core_can_be_freed_in_the_middle_of_it_all(void **state)
{
    struct hfi_core_config config = bench_config();
    struct hfi_core *core = hfi_core_new(&config);
    struct hfi_op_request ask = {
        .kind = HFI_OP_ACQUIRE, .name = "a", .name_bytes = 1, .lease_ms = 1000};
    struct hfi_value nil = {.kind = HFI_NIL};
    struct hfi_copy *copy;
    struct hfi_op *op;

    (void)state;
    ask.terms = bench_terms("a");
    hfi_core_free(NULL);
    hfi_core_link_up(core, HFI_LINK_MAIN, 0, 0);
    ask.owner = hfi_owner_get(core, 1, true);
    assert_int_equal(hfi_op_new(core, &ask, &op), HF_OK);
    hfi_core_start(core, op, HFI_LINK_MAIN, 0);
    copy = hfi_core_next_copy(core);
    hfi_core_answer(core, copy, &nil, HFI_LINK_MAIN, 1);
    assert_ptr_equal(hfi_op_next_done(core), op);
    hfi_op_free(core, op);
    /* Held, and a notice nobody took; then an UNDO nobody sent. */
    hfi_core_tick(core, 5000);
    hfi_core_free(core);
}

/* The subscription was never taken by a driver; who waited has gone. */
static void a_subscription_nobody_took_is_freed_with_the_core(void **state)
{
    struct hfi_core_config config = bench_config();
    struct hfi_core *core = hfi_core_new(&config);
    struct hfi_op_request ask = {.kind = HFI_OP_ACQUIRE,
                                 .name = "a",
                                 .name_bytes = 1,
                                 .wait_ms = 1000,
                                 .lease_ms = 1000};
    struct hfi_value busy = {.kind = HFI_INTEGER, .integer = 500};
    struct hfi_op *op;

    (void)state;
    hfi_core_link_up(core, HFI_LINK_MAIN, 0, 0);
    ask.owner = hfi_owner_get(core, 1, true);
    assert_int_equal(hfi_op_new(core, &ask, &op), HF_OK);
    assert_false(hfi_core_idle(core));
    hfi_core_start(core, op, HFI_LINK_MAIN, 0);
    hfi_core_answer(core, hfi_core_next_copy(core), &busy, HFI_LINK_MAIN, 1);
    hfi_core_cancel(core, op, HF_CANCELLED, 2); /* wanted no more */
    assert_ptr_equal(hfi_op_next_done(core), op);
    hfi_op_free(core, op);
    assert_non_null(hfi_owner_get(core, 2, true)); /* nobody's yet */
    hfi_core_free(core);
}

/* A driver may still hear of a channel that was given up meanwhile. */
static void what_is_heard_after_the_last_waiter_left_wakes_nobody(void **state)
{
    struct hfi_core_config config = bench_config();
    struct hfi_core *core = hfi_core_new(&config);
    struct hfi_op_request ask = {.kind = HFI_OP_ACQUIRE,
                                 .name = "a",
                                 .name_bytes = 1,
                                 .wait_ms = 1000,
                                 .lease_ms = 1000};
    struct hfi_value busy = {.kind = HFI_INTEGER, .integer = 500};
    struct hfi_listener *listener;
    struct hfi_op *op;

    (void)state;
    hfi_core_link_up(core, HFI_LINK_MAIN, 0, 0);
    ask.owner = hfi_owner_get(core, 1, true);
    assert_int_equal(hfi_op_new(core, &ask, &op), HF_OK);
    hfi_core_start(core, op, HFI_LINK_MAIN, 0);
    hfi_core_answer(core, hfi_core_next_copy(core), &busy, HFI_LINK_MAIN, 1);
    listener = hfi_core_next_subscription(core);
    assert_true(hfi_listener_wants(listener));
    hfi_core_subscription_done(core, listener);
    hfi_core_cancel(core, op, HF_CANCELLED, 2);
    hfi_core_subscribed(core, listener, 3);
    hfi_core_subscribe_refused(core, listener, 3);
    hfi_core_message(core, listener, 3);
    assert_null(hfi_core_next_copy(core));
    assert_ptr_equal(hfi_core_next_subscription(core), listener);
    assert_false(hfi_listener_wants(listener));
    hfi_core_subscription_done(core, listener);
    assert_ptr_equal(hfi_op_next_done(core), op);
    hfi_op_free(core, op); /* and now the name is gone */
    assert_true(hfi_core_idle(core));
    hfi_core_free(core);
}

static void what_came_before_a_running_release_ends_with_the_owner(void **state)
{
    struct bench *bench = *state;
    struct bench_call *waits, *release;

    bench_hold(bench, 1, "a");
    waits = bench_wait(bench, 1, "w", -1, 5000);
    release = bench_unlock(bench, 1, "a");
    bench_owner_gone(bench, 1);
    assert_ended(waits, HF_CANCELLED);
    assert_running(release);
    bench_nil(bench, bench_take(bench, HFI_RELEASE));
    assert_ended(release, HF_OK);
}

/* Its answer was read already; only the driver does not know it yet. */
static void a_call_that_has_ended_is_not_cancelled_any_more(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = bench_lock(bench, 1, "a", -1);
    struct hfi_copy *copy = hfi_core_next_copy(bench->core);
    struct hfi_value nil = {.kind = HFI_NIL};

    hfi_core_answer(bench->core, copy, &nil, HFI_LINK_MAIN, bench->now);
    bench_cancel(bench, call, HF_CANCELLED);
    assert_ended(call, HF_OK);
    assert_int_equal(bench_state(bench, 1, "a"), HF_HELD);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
#define TEST(function)                                                         \
    cmocka_unit_test_setup_teardown(function, bench_setup, bench_teardown)
        TEST(calls_of_one_owner_on_one_name_run_in_order),
        TEST(other_names_and_other_owners_do_not_wait),
        TEST(a_call_whose_turn_never_comes_ends_at_its_time),
        TEST(cancelled_before_its_turn_even_a_release_ends),
        TEST(only_renewals_overlap_a_call),
        TEST(an_owner_that_ends_ends_all_its_calls),
        TEST(an_owner_is_kept_while_anything_is_owed_to_it),
        TEST(ten_thousand_owners_and_names_leave_nothing_behind),
        TEST(what_waits_for_a_link_goes_in_the_order_it_came),
        TEST(a_call_prefers_the_link_of_its_caller),
        TEST(one_call_that_ends_lets_the_next_of_its_owner_wait_for_a_link),
        TEST(closing_ends_everything),
        TEST(what_is_fenced_without_a_link_is_fenced_once),
        TEST(news_after_the_close_wakes_nobody),
        TEST(a_release_that_closing_gives_up_wakes_nobody),
        cmocka_unit_test(a_core_can_be_freed_in_the_middle_of_it_all),
        cmocka_unit_test(a_subscription_nobody_took_is_freed_with_the_core),
        cmocka_unit_test(what_is_heard_after_the_last_waiter_left_wakes_nobody),
        TEST(what_came_before_a_running_release_ends_with_the_owner),
        TEST(a_call_that_has_ended_is_not_cancelled_any_more),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
