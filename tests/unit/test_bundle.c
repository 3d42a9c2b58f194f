/* SPDX-License-Identifier: MIT */
/* test_bundle.c - several locks by one request: all of them or none.
 *
 * "One request" of docs/design/groups.md; ML-02, ML-03, ML-24.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core_bench.h"
#include "support/fatal.h"

#define MEMBERS 3
#define PATIENCE_MS 1000
#define OWNER 1

static const char *const names[MEMBERS] = {"a", "b", "c"};

/* What every test has: three calls of one owner, and the request for all. */
struct all {
    struct bench *bench;
    struct bench_call *calls[MEMBERS];
};

static struct all ask_for_all(struct bench *bench, int64_t wait_ms)
{
    struct hfi_op_request ask = {.kind = HFI_OP_ACQUIRE,
                                 .wait_ms = wait_ms,
                                 .lease_ms = BENCH_LEASE_MS,
                                 .renewed = true};
    struct all all = {.bench = bench};

    bench_start_together(bench, OWNER, names, MEMBERS, &ask, PATIENCE_MS,
                         all.calls);
    return all;
}

static struct hfi_copy *take_request(struct all *all)
{
    return bench_take(all->bench, HFI_ACQUIRE);
}

static void grant(struct all *all, struct hfi_copy *copy)
{
    struct hfi_value value = {.kind = HFI_ARRAY, .count = copy->batch_count};

    value.items = hft_alloc(value.count * sizeof(*value.items));
    for (size_t i = 0; i < value.count; i++) {
        value.items[i].kind = HFI_NIL;
    }
    bench_answer(all->bench, copy, &value);
}

/* The i-th, from 1, has something to say; 0: the server's clock has. */
static void refuse(struct all *all, struct hfi_copy *copy, int64_t at,
                   int64_t ms)
{
    struct hfi_value value = {.kind = HFI_ARRAY, .count = 2};

    value.items = hft_alloc(2 * sizeof(*value.items));
    value.items[0] = (struct hfi_value){.kind = HFI_INTEGER, .integer = at};
    value.items[1] = (struct hfi_value){.kind = HFI_INTEGER, .integer = ms};
    bench_answer(all->bench, copy, &value);
}

static void refuse_with_error(struct all *all, struct hfi_copy *copy,
                              int64_t at, enum hfi_refusal refusal)
{
    static const char text[] = "no";
    struct hfi_value value = {.kind = HFI_ARRAY, .count = 2};

    value.items = hft_alloc(2 * sizeof(*value.items));
    value.items[0] = (struct hfi_value){.kind = HFI_INTEGER, .integer = at};
    value.items[1] = (struct hfi_value){.kind = HFI_ERROR, .refusal = refusal};
    value.items[1].text = hft_alloc(sizeof(text));
    memcpy(value.items[1].text, text, sizeof(text));
    bench_answer(all->bench, copy, &value);
}

static void assert_all_end(const struct all *all, hf_status first,
                           hf_status second, hf_status third)
{
    assert_ended(all->calls[0], first);
    assert_ended(all->calls[1], second);
    assert_ended(all->calls[2], third);
}

static void assert_all_run(const struct all *all)
{
    for (size_t i = 0; i < MEMBERS; i++) {
        assert_running(all->calls[i]);
    }
}

static int64_t held(struct bench *bench)
{
    int64_t count = 0;

    for (size_t i = 0; i < MEMBERS; i++) {
        count += bench_count(bench, OWNER, names[i]);
    }
    return count;
}

static void free_all(struct bench *bench)
{
    for (size_t i = 0; i < MEMBERS; i++) {
        bench_free(bench, OWNER, names[i]);
    }
}

/* ---- granted ---- */

static void one_request_takes_them_all(void **state)
{
    struct bench *bench = *state;
    struct all all = ask_for_all(bench, 0);
    struct hfi_copy *copy = take_request(&all);
    char words[512];

    assert_no_copy(bench);
    (void)snprintf(words, sizeof(words),
                   "together_acquire a b c | %d %" PRId64 " lock " BENCH_UUID
                   ":1 - 0 lock " BENCH_UUID ":2 - 0 lock " BENCH_UUID ":3 - 0",
                   BENCH_LEASE_MS, copy->not_after_ms);
    assert_string_equal(bench_words(bench, copy), words);
    grant(&all, copy);
    assert_all_end(&all, HF_OK, HF_OK, HF_OK);
    assert_int_equal(held(bench), MEMBERS);
    free_all(bench);
    assert_true(hfi_core_idle(bench->core));
}

static void their_leases_end_at_one_moment_and_are_renewed_as_one(void **state)
{
    struct bench *bench = *state;
    struct all all = ask_for_all(bench, 0);
    struct hfi_copy *copy = take_request(&all);

    bench_pass(bench, 100);
    grant(&all, copy);
    for (size_t i = 0; i < MEMBERS; i++) {
        assert_int_equal(bench_remaining(bench, OWNER, names[i]),
                         BENCH_LEASE_MS - BENCH_LEASE_MS / 1000 - 2 - 100);
    }
    bench_pass(bench, BENCH_LEASE_MS / 3);
    copy = bench_take(bench, HFI_RENEW);
    assert_int_equal(copy->batch_count, MEMBERS);
    bench_renewed(bench, copy);
    assert_no_copy(bench);
    free_all(bench);
}

static void a_grant_past_its_deadline_is_undone_for_all(void **state)
{
    struct bench *bench = *state;
    struct hfi_op_request ask = {
        .kind = HFI_OP_ACQUIRE, .wait_ms = 5000, .lease_ms = 100};
    struct all all = {.bench = bench};
    struct hfi_copy *copy;

    bench_start_together(bench, OWNER, names, MEMBERS, &ask, PATIENCE_MS,
                         all.calls);
    copy = take_request(&all);
    bench_jump(bench, 100);
    grant(&all, copy);
    assert_all_run(&all);
    for (size_t i = 0; i < MEMBERS; i++) {
        bench_undone(bench, bench_take(bench, HFI_UNDO));
    }
    copy = take_request(&all); /* with fresh numbers */
    assert_non_null(strstr(bench_words(bench, copy), BENCH_UUID ":4"));
    grant(&all, copy);
    assert_all_end(&all, HF_OK, HF_OK, HF_OK);
    free_all(bench);
}

/* ---- not granted ---- */

static void the_first_that_is_busy_is_named(void **state)
{
    struct bench *bench = *state;
    struct all all = ask_for_all(bench, 0);

    refuse(&all, take_request(&all), 2, 1234);
    assert_all_end(&all, HF_NOT_DONE, HF_BUSY, HF_NOT_DONE);
    assert_non_null(strstr(all.calls[1]->error.message, "1234 ms"));
    assert_no_copy(bench); /* nothing was taken: there is nothing to undo */
    assert_true(hfi_core_idle(bench->core));
}

static void what_is_no_lock_is_blamed(void **state)
{
    struct bench *bench = *state;
    struct all all = ask_for_all(bench, 5000);

    refuse_with_error(&all, take_request(&all), 3, HFI_REFUSAL_WRONG_TYPE);
    assert_all_end(&all, HF_NOT_DONE, HF_NOT_DONE, HF_WRONG_TYPE);
    assert_no_copy(bench);
    assert_true(hfi_core_idle(bench->core));
}

static void a_server_that_is_full_is_asked_again(void **state)
{
    struct bench *bench = *state;
    struct all all = ask_for_all(bench, 5000);

    refuse_with_error(&all, take_request(&all), 3, HFI_REFUSAL_UNAVAILABLE);
    assert_all_run(&all);
    bench_pass(bench, 20);
    grant(&all, take_request(&all));
    assert_all_end(&all, HF_OK, HF_OK, HF_OK);
    free_all(bench);
}

static void an_unknown_script_is_sent_along(void **state)
{
    struct bench *bench = *state;
    struct all all = ask_for_all(bench, 0);
    struct hfi_copy *copy;

    bench_error(bench, take_request(&all), HFI_REFUSAL_NO_SCRIPT);
    copy = take_request(&all);
    assert_true(copy->with_text);
    grant(&all, copy);
    assert_all_end(&all, HF_OK, HF_OK, HF_OK);
    free_all(bench);
}

static void an_answer_that_makes_no_sense_is_no_grant(void **state)
{
    struct bench *bench = *state;
    struct all all = ask_for_all(bench, 0);
    struct hfi_copy *copy = take_request(&all);
    struct hfi_value value = {.kind = HFI_ARRAY, .count = 1};

    value.items = hft_alloc(sizeof(*value.items));
    value.items[0] = (struct hfi_value){.kind = HFI_NIL};
    bench_answer(bench, copy, &value);
    assert_all_end(&all, HF_PROTOCOL, HF_NOT_DONE, HF_NOT_DONE);
    assert_int_equal(held(bench), 0);
}

static void too_late_to_run_it_is_sent_again(void **state)
{
    struct bench *bench = *state;
    struct all all = ask_for_all(bench, 0);
    struct hfi_copy *copy = take_request(&all);
    int64_t late = copy->not_after_ms + 60000;

    refuse(&all, copy, 0, late);
    copy = take_request(&all);
    assert_true(copy->not_after_ms > late);
    grant(&all, copy);
    assert_all_end(&all, HF_OK, HF_OK, HF_OK);
    free_all(bench);
}

/* ---- late and lost ---- */

static void a_lost_copy_is_repeated_with_the_same_numbers(void **state)
{
    struct bench *bench = *state;
    struct all all = ask_for_all(bench, 0);
    char words[512];

    bench_lose(bench, take_request(&all), true);
    (void)snprintf(words, sizeof(words), " lock %s:1 - 0 ", BENCH_UUID);
    {
        struct hfi_copy *copy = take_request(&all);

        assert_non_null(strstr(bench_words(bench, copy), words));
        grant(&all, copy);
    }
    assert_all_end(&all, HF_OK, HF_OK, HF_OK);
    /* The first may run yet: each of them is ended behind its release. */
    for (size_t i = 0; i < MEMBERS; i++) {
        bench_free(bench, OWNER, names[i]);
        bench_undone(bench, bench_take(bench, HFI_UNDO));
    }
    assert_false(hfi_core_ended(bench->core));
    bench_pass(bench, BENCH_RESPONSE_MS);
    for (size_t i = 0; i < MEMBERS; i++) {
        bench_undone(bench, bench_take(bench, HFI_UNDO));
    }
    assert_true(hfi_core_idle(bench->core));
}

static void one_that_was_not_written_leaves_them_clean(void **state)
{
    struct bench *bench = *state;
    struct all all = ask_for_all(bench, 0);

    bench_lose(bench, take_request(&all), false);
    grant(&all, take_request(&all));
    free_all(bench);
    assert_true(hfi_core_idle(bench->core));
}

static void given_up_unanswered_all_are_undone(void **state)
{
    struct bench *bench = *state;
    struct all all = ask_for_all(bench, 0);
    struct hfi_copy *copy = take_request(&all);

    bench_cancel(bench, all.calls[1], HF_CANCELLED);
    assert_all_end(&all, HF_UNKNOWN, HF_UNKNOWN, HF_UNKNOWN);
    for (size_t i = 0; i < MEMBERS; i++) {
        bench_undone(bench, bench_take(bench, HFI_UNDO));
    }
    grant(&all, copy); /* its answer makes them clean: one UNDO more is final */
    for (size_t i = 0; i < MEMBERS; i++) {
        bench_undone(bench, bench_take(bench, HFI_UNDO));
    }
    assert_int_equal(held(bench), 0);
    assert_true(hfi_core_idle(bench->core));
}

static void busy_after_a_lost_copy_is_unknown(void **state)
{
    struct bench *bench = *state;
    struct all all = ask_for_all(bench, 0);

    bench_lose(bench, take_request(&all), true);
    refuse(&all, take_request(&all), 1, 500);
    assert_all_end(&all, HF_UNKNOWN, HF_UNKNOWN, HF_UNKNOWN);
    for (size_t i = 0; i < MEMBERS; i++) {
        bench_take(bench, HFI_UNDO);
    }
    assert_no_copy(bench);
}

/* ---- waiting ---- */

/* BUSY at the i-th, which is waited for: asked again once that is heard. */
static void wait_at(struct all *all, size_t at)
{
    refuse(all, take_request(all), (int64_t)at + 1, 10000);
    bench_heard(all->bench, names[at]);
    refuse(all, take_request(all), (int64_t)at + 1, 10000);
    assert_no_copy(all->bench);
    assert_all_run(all);
}

static void it_waits_at_the_busy_one_and_holds_nothing(void **state)
{
    struct bench *bench = *state;
    struct all all = ask_for_all(bench, 60000);

    wait_at(&all, 1);
    assert_int_equal(held(bench), 0);
    assert_false(bench_wants(bench, "a"));
    assert_true(bench_wants(bench, "b"));
    bench_message(bench, "b");
    grant(&all, take_request(&all));
    assert_all_end(&all, HF_OK, HF_OK, HF_OK);
    assert_false(bench_wants(bench, "b"));
    free_all(bench);
}

/* No message is needed, and none is believed for ever. */
static void it_asks_again_within_the_bound(void **state)
{
    struct bench *bench = *state;
    struct all all = ask_for_all(bench, 60000);

    wait_at(&all, 0);
    bench_pass(bench, BENCH_BOUND_MS);
    grant(&all, take_request(&all));
    assert_all_end(&all, HF_OK, HF_OK, HF_OK);
    free_all(bench);
}

static void another_one_in_the_way_is_waited_for_instead(void **state)
{
    struct bench *bench = *state;
    struct all all = ask_for_all(bench, 60000);

    wait_at(&all, 0);
    bench_message(bench, "a");
    refuse(&all, take_request(&all), 3, 10000);
    assert_no_copy(bench); /* not before it hears that one */
    assert_false(bench_wants(bench, "a"));
    assert_true(bench_wants(bench, "c"));
    bench_heard(bench, "c");
    grant(&all, take_request(&all));
    assert_all_end(&all, HF_OK, HF_OK, HF_OK);
    free_all(bench);
}

static void patience_ends_when_another_one_is_in_the_way(void **state)
{
    struct bench *bench = *state;
    struct all all = ask_for_all(bench, 60000);

    wait_at(&all, 0);
    bench_jump(bench, PATIENCE_MS);
    bench_message(bench, "a");
    refuse(&all, take_request(&all), 1, 10000); /* the same: it goes on */
    assert_all_run(&all);
    bench_message(bench, "a");
    refuse(&all, take_request(&all), 2, 10000);
    assert_all_end(&all, HF_NOT_DONE, HF_TIMEOUT, HF_NOT_DONE);
    assert_true(hfi_core_idle(bench->core));
}

static void the_wait_ends_for_all(void **state)
{
    struct bench *bench = *state;
    struct all all = ask_for_all(bench, 1500);

    wait_at(&all, 2);
    bench_pass(bench, 1600);
    assert_all_end(&all, HF_NOT_DONE, HF_NOT_DONE, HF_TIMEOUT);
    assert_no_copy(bench);
    assert_true(hfi_core_idle(bench->core));
}

static void cancelled_while_it_waits_nothing_is_left(void **state)
{
    struct bench *bench = *state;
    struct all all = ask_for_all(bench, -1);

    wait_at(&all, 2);
    bench_cancel(bench, all.calls[0], HF_CANCELLED);
    assert_all_end(&all, HF_CANCELLED, HF_CANCELLED, HF_CANCELLED);
    assert_no_copy(bench);
    assert_true(hfi_core_idle(bench->core));
}

static void closing_ends_it(void **state)
{
    struct bench *bench = *state;
    struct all all = ask_for_all(bench, -1);

    wait_at(&all, 1);
    hfi_core_close(bench->core, bench->now);
    bench_tick(bench);
    assert_all_end(&all, HF_CLOSED, HF_CLOSED, HF_CLOSED);
}

static void an_owner_that_is_gone_ends_it(void **state)
{
    struct bench *bench = *state;
    struct all all = ask_for_all(bench, -1);

    wait_at(&all, 1);
    bench_owner_gone(bench, OWNER);
    assert_all_end(&all, HF_CANCELLED, HF_CANCELLED, HF_CANCELLED);
    assert_true(hfi_core_idle(bench->core));
}

/* ---- with others of this client ---- */

static void its_turn_comes_when_all_its_names_turns_have(void **state)
{
    struct bench *bench = *state;
    struct bench_call *before = bench_lock(bench, OWNER, "b", 0);
    struct hfi_copy *copy = bench_take(bench, HFI_ACQUIRE);
    struct all all = ask_for_all(bench, 0);

    assert_no_copy(bench);
    bench_integer(bench, copy, 300);
    assert_ended(before, HF_BUSY);
    grant(&all, take_request(&all));
    assert_all_end(&all, HF_OK, HF_OK, HF_OK);
    free_all(bench);
}

static void what_is_held_already_is_entered_behind_the_others(void **state)
{
    struct bench *bench = *state;
    struct all all;
    struct hfi_copy *copy;

    bench_hold(bench, OWNER, "b");
    all = ask_for_all(bench, 0);
    copy = take_request(&all);
    assert_int_equal(copy->batch_count, 2);
    assert_no_copy(bench);
    grant(&all, copy);
    assert_ended(all.calls[0], HF_OK);
    assert_ended(all.calls[2], HF_OK);
    assert_running(all.calls[1]);
    bench_nil(bench, bench_take(bench, HFI_ENTER));
    assert_ended(all.calls[1], HF_OK);
    assert_int_equal(bench_count(bench, OWNER, "b"), 2);
}

static void a_busy_one_leaves_what_is_held_alone(void **state)
{
    struct bench *bench = *state;
    struct all all;

    bench_hold(bench, OWNER, "b");
    all = ask_for_all(bench, 0);
    refuse(&all, take_request(&all), 2, 400); /* that is "c" */
    assert_all_end(&all, HF_NOT_DONE, HF_NOT_DONE, HF_BUSY);
    assert_no_copy(bench);
    assert_int_equal(bench_count(bench, OWNER, "b"), 1);
    bench_free(bench, OWNER, "b");
}

static void all_that_is_held_is_entered_at_once(void **state)
{
    struct bench *bench = *state;
    struct all all;

    for (size_t i = 0; i < MEMBERS; i++) {
        bench_hold(bench, OWNER, names[i]);
    }
    all = ask_for_all(bench, 0);
    for (size_t i = 0; i < MEMBERS; i++) {
        bench_take(bench, HFI_ENTER);
    }
    assert_no_copy(bench);
    assert_all_run(&all);
}

static void one_that_was_lost_fails_them_all(void **state)
{
    struct bench *bench = *state;
    struct all all;

    bench_hold_fixed(bench, OWNER, "b", 100);
    bench_pass(bench, 200);
    bench_undone(bench, bench_take(bench, HFI_UNDO));
    all = ask_for_all(bench, 0);
    assert_all_end(&all, HF_NOT_DONE, HF_LOST, HF_NOT_DONE);
    assert_no_copy(bench);
}

/* Another owner here has one: his release is the news, and his turn is kept. */
static void one_that_is_held_here_is_waited_for_here(void **state)
{
    struct bench *bench = *state;
    struct all all;

    bench_hold(bench, 2, "a");
    all = ask_for_all(bench, 60000);
    assert_no_copy(bench);
    assert_all_run(&all);
    bench_free(bench, 2, "a");
    grant(&all, take_request(&all));
    assert_all_end(&all, HF_OK, HF_OK, HF_OK);
    free_all(bench);
}

static void two_of_one_client_take_turns(void **state)
{
    struct bench *bench = *state;
    struct hfi_op_request ask = {.kind = HFI_OP_ACQUIRE,
                                 .wait_ms = -1,
                                 .lease_ms = BENCH_LEASE_MS,
                                 .renewed = true};
    struct all all = ask_for_all(bench, -1);
    struct all other = {.bench = bench};
    struct hfi_copy *copy = take_request(&all);

    bench_start_together(bench, 2, names, MEMBERS, &ask, PATIENCE_MS,
                         other.calls);
    assert_no_copy(bench);
    grant(&all, copy);
    assert_all_end(&all, HF_OK, HF_OK, HF_OK);
    assert_no_copy(bench);
    for (size_t i = 0; i < MEMBERS; i++) {
        bench_unlock(bench, OWNER, names[i]);
    }
    for (size_t i = 0; i < MEMBERS; i++) {
        bench_nil(bench, bench_take(bench, HFI_RELEASE));
    }
    grant(&other, take_request(&other));
    assert_all_end(&other, HF_OK, HF_OK, HF_OK);
}

/* ---- kinds ---- */

static void every_kind_says_what_it_is(void **state)
{
    static const struct hfi_kind *const kinds[MEMBERS] = {
        &hfi_kinds_token[HFI_UNFENCED], &hfi_kinds_lock[HFI_FENCED],
        &hfi_kinds_write[HFI_UNFENCED]};
    struct bench *bench = *state;
    struct hfi_op *ops[MEMBERS];
    struct hfi_copy *copy;
    char words[512];

    for (size_t i = 0; i < MEMBERS; i++) {
        struct hfi_op_request ask = {
            .kind = HFI_OP_ACQUIRE,
            .of = kinds[i],
            .owner = hfi_owner_get(bench->core, OWNER, true),
            .name = names[i],
            .name_bytes = 1,
            .lease_ms = 500};
        struct bench_call *call = bench_lock(bench, 9, names[i], 0);

        /* A call of the bench's own to be told of the end; it is over. */
        bench_cancel(bench, call, HF_CANCELLED);
        bench_lose(bench, bench_take(bench, HFI_ACQUIRE), false);
        while ((copy = bench_take_any(bench)) != NULL) {
            bench_undone(bench, copy);
        }
        ask.user = call;
        assert_int_equal(hfi_op_new(bench->core, &ask, &ops[i]), HF_OK);
        call->op = ops[i];
    }
    hfi_core_start_together(bench->core, ops, MEMBERS, PATIENCE_MS,
                            HFI_LINK_MAIN, bench->now);
    copy = bench_take(bench, HFI_ACQUIRE);
    (void)snprintf(words, sizeof(words),
                   "together_acquire a b c redisson_lock_token:{b} | 500 "
                   "%" PRId64 " token " BENCH_UUID ":4 - 0 lock " BENCH_UUID
                   ":5 0 0 write " BENCH_UUID ":6:write - 0",
                   copy->not_after_ms);
    assert_string_equal(bench_words(bench, copy), words);
    {
        struct hfi_value value = {.kind = HFI_ARRAY, .count = MEMBERS};

        value.items = hft_alloc(MEMBERS * sizeof(*value.items));
        value.items[0].kind = HFI_NIL;
        value.items[1].kind = HFI_ARRAY;
        value.items[1].count = 2;
        value.items[1].items = hft_alloc(2 * sizeof(*value.items));
        value.items[1].items[1] = (struct hfi_value){.kind = HFI_INTEGER,
                                                     .integer = 77};
        value.items[2].kind = HFI_NIL;
        bench_answer(bench, copy, &value);
    }
    {
        struct hfi_object object = {
            .kind = kinds[1], .name = "b", .name_bytes = 1};
        struct hfi_hold_view seen;

        hfi_core_view(bench->core, hfi_owner_get(bench->core, OWNER, false),
                      &object, bench->now, &seen);
        assert_int_equal(seen.state, HF_HELD);
        assert_int_equal(seen.token, 77);
    }
}

/* ---- answers that look like another ---- */

/* A refusal has two items: where, and why.  So have two grants. */
static void of_two_locks_a_refusal_is_no_grant(void **state)
{
    struct bench *bench = *state;
    struct hfi_op_request ask = {.kind = HFI_OP_ACQUIRE,
                                 .lease_ms = BENCH_LEASE_MS};
    struct all all = {.bench = bench};

    bench_start_together(bench, OWNER, names, 2, &ask, PATIENCE_MS, all.calls);
    refuse(&all, take_request(&all), 1, 4321);
    assert_ended(all.calls[0], HF_BUSY);
    assert_ended(all.calls[1], HF_NOT_DONE);
    assert_int_equal(held(bench), 0);
    bench_start_together(bench, OWNER, names, 2, &ask, PATIENCE_MS, all.calls);
    grant(&all, take_request(&all));
    assert_ended(all.calls[0], HF_OK);
    assert_ended(all.calls[1], HF_OK);
}

static void what_is_neither_a_grant_nor_a_refusal_is_a_breach(void **state)
{
    struct bench *bench = *state;
    static const struct bench_item words[] = {{.text = "busy"}, {.text = "b"}};

    for (int i = 0; i < 2; i++) {
        struct all all = ask_for_all(bench, 0);
        struct hfi_copy *copy = take_request(&all);

        if (i == 0) {
            bench_integer(bench, copy, 4);
        } else {
            bench_items(bench, copy, words, 2);
        }
        assert_all_end(&all, HF_PROTOCOL, HF_NOT_DONE, HF_NOT_DONE);
        assert_int_equal(held(bench), 0);
    }
}

/* Somebody has one of them, whichever it is. */
static void a_refusal_that_names_none_of_them_is_the_askers(void **state)
{
    struct bench *bench = *state;
    static const int64_t places[] = {-1, MEMBERS + 1};

    for (size_t i = 0; i < 2; i++) {
        struct all all = ask_for_all(bench, 0);

        refuse(&all, take_request(&all), places[i], 700);
        assert_all_end(&all, HF_BUSY, HF_NOT_DONE, HF_NOT_DONE);
        assert_no_copy(bench);
    }
}

static void a_closed_client_begins_none_of_it(void **state)
{
    struct bench *bench = *state;
    struct all all;

    hfi_core_close(bench->core, bench->now);
    all = ask_for_all(bench, 5000);
    assert_all_end(&all, HF_CLOSED, HF_CLOSED, HF_CLOSED);
    assert_no_copy(bench);
}

/* A spinner listens to nothing: while one is in the way all of it is asked for
 * after its pauses. */
static void a_spinner_in_the_way_is_asked_for_by_its_pauses(void **state)
{
    struct bench *bench = *state;
    struct hfi_op_request ask = {.kind = HFI_OP_ACQUIRE,
                                 .of = &hfi_kinds_spin[HFI_UNFENCED],
                                 .wait_ms = 5000,
                                 .lease_ms = BENCH_LEASE_MS};
    struct all all = {.bench = bench};

    bench_start_together(bench, OWNER, names, MEMBERS, &ask, PATIENCE_MS,
                         all.calls);
    refuse(&all, take_request(&all), 2, 60000);
    assert_all_run(&all);
    assert_false(bench_wants(bench, "b"));
    bench_pass(bench, HF_BACKOFF_FIRST_MS - 1);
    assert_no_copy(bench);
    bench_pass(bench, 1);
    grant(&all, take_request(&all));
    assert_all_end(&all, HF_OK, HF_OK, HF_OK);
}

#define bench_test(function)                                                   \
    cmocka_unit_test_setup_teardown(function, bench_setup, bench_teardown)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        bench_test(one_request_takes_them_all),
        bench_test(their_leases_end_at_one_moment_and_are_renewed_as_one),
        bench_test(a_grant_past_its_deadline_is_undone_for_all),
        bench_test(the_first_that_is_busy_is_named),
        bench_test(what_is_no_lock_is_blamed),
        bench_test(a_server_that_is_full_is_asked_again),
        bench_test(an_unknown_script_is_sent_along),
        bench_test(an_answer_that_makes_no_sense_is_no_grant),
        bench_test(too_late_to_run_it_is_sent_again),
        bench_test(a_lost_copy_is_repeated_with_the_same_numbers),
        bench_test(one_that_was_not_written_leaves_them_clean),
        bench_test(given_up_unanswered_all_are_undone),
        bench_test(busy_after_a_lost_copy_is_unknown),
        bench_test(it_waits_at_the_busy_one_and_holds_nothing),
        bench_test(it_asks_again_within_the_bound),
        bench_test(another_one_in_the_way_is_waited_for_instead),
        bench_test(patience_ends_when_another_one_is_in_the_way),
        bench_test(the_wait_ends_for_all),
        bench_test(cancelled_while_it_waits_nothing_is_left),
        bench_test(closing_ends_it),
        bench_test(an_owner_that_is_gone_ends_it),
        bench_test(its_turn_comes_when_all_its_names_turns_have),
        bench_test(what_is_held_already_is_entered_behind_the_others),
        bench_test(a_busy_one_leaves_what_is_held_alone),
        bench_test(all_that_is_held_is_entered_at_once),
        bench_test(one_that_was_lost_fails_them_all),
        bench_test(one_that_is_held_here_is_waited_for_here),
        bench_test(two_of_one_client_take_turns),
        bench_test(every_kind_says_what_it_is),
        bench_test(of_two_locks_a_refusal_is_no_grant),
        bench_test(what_is_neither_a_grant_nor_a_refusal_is_a_breach),
        bench_test(a_refusal_that_names_none_of_them_is_the_askers),
        bench_test(a_closed_client_begins_none_of_it),
        bench_test(a_spinner_in_the_way_is_asked_for_by_its_pauses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
