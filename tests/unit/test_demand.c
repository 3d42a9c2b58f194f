/* SPDX-License-Identifier: MIT */
/* test_demand.c - who waits for permits or a latch, and who goes first.
 *
 * SM-01, SM-08, CL-03, T40, T41; the order of things that no real server shows
 * on demand.
 */
#include <stdio.h>
#include <string.h>

#include "core_bench.h"
#include "support/fatal.h"
#include "sync/state.h"

#define CHANNEL "redisson_sc:{a}"
#define GATE "redisson_countdownlatch__channel__{a}"

static struct bench_call *take(struct bench *bench, int64_t permits,
                               int64_t wait_ms)
{
    struct hfi_op_request ask = {.kind = HFI_OP_TAKE,
                                 .of = &hfi_kind_semaphore,
                                 .count = permits,
                                 .wait_ms = wait_ms};

    return bench_start(bench, 0, "a", &ask);
}

/* A head that waits: asked, subscribed, asked again, with so many there. */
static struct bench_call *waiting_head(struct bench *bench, int64_t permits,
                                       int64_t there)
{
    struct bench_call *call = take(bench, permits, HF_WAIT_FOREVER);

    bench_integer(bench, bench_take(bench, HFI_TAKE), there);
    bench_heard(bench, CHANNEL);
    bench_integer(bench, bench_take(bench, HFI_TAKE), there);
    assert_running(call);
    assert_no_copy(bench);
    return call;
}

/* The next copy, a TAKE of so many. */
static struct hfi_copy *take_of(struct bench *bench, int64_t permits)
{
    struct hfi_copy *copy = bench_take(bench, HFI_TAKE);

    assert_int_equal(copy->number->amount, permits);
    return copy;
}

static void the_head_asks_when_a_message_comes(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = waiting_head(bench, 3, 0);

    bench_message(bench, CHANNEL);
    bench_integer(bench, take_of(bench, 3), 2);
    bench_message(bench, CHANNEL);
    bench_nil(bench, take_of(bench, 3));
    assert_ended(call, HF_OK);
    assert_false(bench_wants(bench, CHANNEL));
}

static void a_message_during_an_attempt_is_not_lost(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = waiting_head(bench, 3, 0);
    struct hfi_copy *copy;

    bench_message(bench, CHANNEL);
    copy = take_of(bench, 3);
    bench_message(bench, CHANNEL);
    bench_integer(bench, copy, 0);
    bench_integer(bench, take_of(bench, 3), 0);
    assert_no_copy(bench); /* it was the news of one attempt only */
    bench_message(bench, CHANNEL);
    bench_nil(bench, take_of(bench, 3));
    assert_ended(call, HF_OK);
}

/* What is given back here is known here before any message comes. */
static void a_release_here_is_news_here(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = waiting_head(bench, 3, 0);
    struct hfi_op_request release = {.kind = HFI_OP_CHANGE,
                                     .of = &hfi_kind_semaphore,
                                     .word = HFI_WORD_RELEASE,
                                     .count = 3};

    bench_start(bench, 0, "a", &release);
    bench_integer(bench, bench_take(bench, HFI_CHANGE), 3);
    bench_nil(bench, take_of(bench, 3));
    assert_ended(call, HF_OK);
}

/* A grant on its way is worth a moment beyond the end of the wait. */
static void an_attempt_just_before_the_end_is_waited_for(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = take(bench, 3, 500);
    struct hfi_copy *copy;

    bench_integer(bench, bench_take(bench, HFI_TAKE), 0);
    bench_heard(bench, CHANNEL);
    bench_integer(bench, bench_take(bench, HFI_TAKE), 0);
    bench_pass(bench, 490);
    bench_message(bench, CHANNEL);
    copy = take_of(bench, 3);
    bench_pass(bench, HFI_NOT_AFTER_MIN_MS - 1);
    assert_running(call);
    bench_nil(bench, copy);
    assert_ended(call, HF_OK);
}

/* That it was refused once is forgotten when it is answered. */
static void a_wait_that_was_refused_and_then_answered_is_a_timeout(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = take(bench, 3, 1000);

    for (int round = 0; round < 2; round++) { /* the pause begins anew */
        bench_error(bench, take_of(bench, 3), HFI_REFUSAL_UNAVAILABLE);
        bench_pass(bench, HFI_PAUSE_FIRST_MS);
        bench_integer(bench, take_of(bench, 3), 1);
        if (round == 0) {
            bench_heard(bench, CHANNEL);
        }
    }
    assert_no_copy(bench);
    bench_pass(bench, 1000);
    assert_ended(call, HF_TIMEOUT);
}

/* T19: whatever was lost. */
static void the_head_asks_at_the_bound(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = waiting_head(bench, 3, 0);

    bench_pass(bench, BENCH_BOUND_MS);
    bench_nil(bench, take_of(bench, 3));
    assert_ended(call, HF_OK);
}

static void a_refused_subscription_is_polled_for(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = take(bench, 3, HF_WAIT_FOREVER);

    bench_integer(bench, bench_take(bench, HFI_TAKE), 0);
    bench_not_heard(bench, CHANNEL);
    bench_integer(bench, bench_take(bench, HFI_TAKE), 0);
    bench_pass(bench, BENCH_BOUND_MS);
    bench_nil(bench, take_of(bench, 3));
    assert_ended(call, HF_OK);
}

static void the_next_asks_when_the_head_has_gone(void **state)
{
    struct bench *bench = *state;
    struct bench_call *first = waiting_head(bench, 3, 0);
    struct bench_call *second = take(bench, 2, HF_WAIT_FOREVER);

    bench_integer(bench, take_of(bench, 2), 0); /* it comes new */
    assert_no_copy(bench);
    bench_message(bench, CHANNEL);
    bench_nil(bench, take_of(bench, 3)); /* the head first */
    assert_ended(first, HF_OK);
    bench_nil(bench, take_of(bench, 2));
    assert_ended(second, HF_OK);
}

/* Cancelled with the news in hand: the next one asks. */
static void a_head_that_leaves_passes_its_turn_on(void **state)
{
    struct bench *bench = *state;
    struct bench_call *first = waiting_head(bench, 3, 0);
    struct bench_call *second = take(bench, 1, HF_WAIT_FOREVER);

    bench_integer(bench, take_of(bench, 1), 0);
    bench_cancel(bench, first, HF_CANCELLED);
    assert_ended(first, HF_CANCELLED);
    bench_nil(bench, take_of(bench, 1));
    assert_ended(second, HF_OK);
}

/* It was asking already, on news that were the head's: it asks once more. */
static void one_who_asks_when_he_becomes_the_head_asks_again(void **state)
{
    struct bench *bench = *state;
    struct bench_call *first = waiting_head(bench, 3, 0);
    struct bench_call *second = take(bench, 1, HF_WAIT_FOREVER);
    struct hfi_copy *copy = take_of(bench, 1);

    bench_cancel(bench, first, HF_CANCELLED);
    assert_no_copy(bench);
    bench_integer(bench, copy, 0);
    bench_nil(bench, take_of(bench, 1));
    assert_ended(second, HF_OK);
}

/* The same when the one between has no time left to ask in. */
static void one_who_becomes_the_head_past_another_asks_again(void **state)
{
    struct bench *bench = *state;
    struct bench_call *first = waiting_head(bench, 3, 0);
    struct bench_call *second = take(bench, 1, 500);
    struct bench_call *third;
    struct hfi_copy *copy;

    bench_integer(bench, take_of(bench, 1), 0);
    third = take(bench, 1, HF_WAIT_FOREVER);
    copy = take_of(bench, 1);
    bench_message(bench, CHANNEL);
    bench_jump(bench, 500);
    bench_nil(bench, take_of(bench, 3));
    assert_ended(first, HF_OK);
    assert_ended(second, HF_TIMEOUT);
    bench_integer(bench, copy, 0);
    bench_nil(bench, take_of(bench, 1));
    assert_ended(third, HF_OK);
}

/* spec: semaphore/wait-3 */
static void those_who_want_less_pass_the_head_once(void **state)
{
    struct bench *bench = *state;
    struct bench_call *head = waiting_head(bench, 5, 0);
    struct bench_call *behind[3] = {take(bench, 2, HF_WAIT_FOREVER),
                                    take(bench, 3, HF_WAIT_FOREVER),
                                    take(bench, 1, HF_WAIT_FOREVER)};
    struct bench_call *late;
    struct hfi_copy *copies[2];

    bench_integer(bench, take_of(bench, 2), 0);
    bench_integer(bench, take_of(bench, 3), 0);
    bench_integer(bench, take_of(bench, 1), 0);
    bench_pass(bench, BENCH_BOUND_MS);
    bench_integer(bench, take_of(bench, 5), 4);
    copies[0] = take_of(bench, 2);
    copies[1] = take_of(bench, 1); /* of the 4 there are 2 left for it */
    assert_no_copy(bench);
    bench_nil(bench, copies[0]);
    bench_nil(bench, copies[1]);
    assert_ended(behind[0], HF_OK);
    assert_ended(behind[2], HF_OK);
    assert_running(behind[1]);

    /* Now what comes free is the head's for a while. */
    late = take(bench, 1, HF_WAIT_FOREVER);
    bench_message(bench, CHANNEL);
    bench_integer(bench, take_of(bench, 5), 4);
    assert_no_copy(bench);
    bench_message(bench, CHANNEL);
    bench_nil(bench, take_of(bench, 5));
    assert_ended(head, HF_OK);
    bench_nil(bench, take_of(bench, 3));
    assert_ended(behind[1], HF_OK);
    bench_nil(bench, take_of(bench, 1));
    assert_ended(late, HF_OK);
}

/* Also while that head has no subscription yet, or is just asking. */
static void who_is_served_past_an_old_head_holds_the_others_back(void **state)
{
    struct bench *bench = *state;
    struct bench_call *head = take(bench, 5, HF_WAIT_FOREVER);
    struct bench_call *small;
    struct hfi_copy *passing, *asking;

    bench_integer(bench, take_of(bench, 5), 4);
    bench_pass(bench, BENCH_BOUND_MS);
    bench_integer(bench, take_of(bench, 5), 4);
    small = take(bench, 1, HF_WAIT_FOREVER);
    bench_nil(bench, take_of(bench, 1)); /* the head is subscribing */
    assert_ended(small, HF_OK);
    small = take(bench, 1, HF_WAIT_FOREVER);
    assert_no_copy(bench);
    bench_pass(bench, BENCH_BOUND_MS / 2);
    bench_integer(bench, take_of(bench, 5), 4);
    passing = take_of(bench, 1);
    bench_heard(bench, CHANNEL);
    asking = take_of(bench, 5);
    bench_nil(bench, passing);
    assert_ended(small, HF_OK);
    small = take(bench, 1, HF_WAIT_FOREVER);
    bench_pass(bench, BENCH_BOUND_MS / 4);
    bench_integer(bench, asking, 4);
    assert_no_copy(bench);
    bench_pass(bench, BENCH_BOUND_MS / 4);
    bench_integer(bench, take_of(bench, 5), 4);
    passing = take_of(bench, 1);
    bench_message(bench, CHANNEL);
    asking = take_of(bench, 5);
    bench_nil(bench, passing);
    assert_ended(small, HF_OK);
    bench_pass(bench, BENCH_BOUND_MS); /* longer than it is held back for */
    assert_running(head);
    bench_integer(bench, asking, 4);
}

/* Who is held back does not ask; that he was not served in time is no fault of
 * the server's. */
static void who_is_held_back_to_his_end_is_told_so(void **state)
{
    struct bench *bench = *state;
    struct bench_call *head = waiting_head(bench, 5, 4);
    struct bench_call *small;

    bench_pass(bench, BENCH_BOUND_MS);
    bench_integer(bench, take_of(bench, 5), 4);
    take(bench, 1, HF_WAIT_FOREVER);
    bench_nil(bench, take_of(bench, 1)); /* past the head */
    small = take(bench, 1, 300);
    bench_pass(bench, 299);
    assert_running(small);
    bench_pass(bench, 1);
    assert_ended(small, HF_TIMEOUT);
    assert_non_null(
        strstr(small->error.message, "others of this client came first"));
    assert_no_copy(bench);
    assert_running(head);
}

/* Exactly as much is not too much. */
static void who_wants_what_is_there_may_pass_and_no_more(void **state)
{
    struct bench *bench = *state;
    struct bench_call *head = waiting_head(bench, 5, 0);
    struct bench_call *behind[2] = {take(bench, 3, HF_WAIT_FOREVER),
                                    take(bench, 3, HF_WAIT_FOREVER)};

    bench_integer(bench, take_of(bench, 3), 0);
    bench_integer(bench, take_of(bench, 3), 0);
    bench_message(bench, CHANNEL);
    bench_integer(bench, take_of(bench, 5), 3);
    bench_nil(bench, take_of(bench, 3));
    assert_ended(behind[0], HF_OK);
    assert_no_copy(bench);
    assert_running(behind[1]);
    assert_running(head);
}

/* A demand that can never be met holds nobody up for more than the bound. */
static void an_impossible_head_costs_half_the_bound(void **state)
{
    struct bench *bench = *state;
    struct bench_call *head = waiting_head(bench, 1000000, 5);
    struct bench_call *small;
    int round;

    for (round = 0; round < 5; round++) { /* at first they pass freely */
        small = take(bench, 1, HF_WAIT_FOREVER);
        bench_nil(bench, take_of(bench, 1));
        assert_ended(small, HF_OK);
    }
    bench_pass(bench, BENCH_BOUND_MS);
    bench_integer(bench, take_of(bench, 1000000), 5);
    small = take(bench, 1, HF_WAIT_FOREVER);
    bench_nil(bench, take_of(bench, 1));
    assert_ended(small, HF_OK);
    for (round = 0; round < 5; round++) {
        small = take(bench, 1, HF_WAIT_FOREVER);
        assert_no_copy(bench);
        bench_pass(bench, BENCH_BOUND_MS / 2);
        bench_integer(bench, take_of(bench, 1000000), 5);
        bench_nil(bench, take_of(bench, 1));
        assert_ended(small, HF_OK);
    }
    assert_running(head);
    assert_no_copy(bench);
}

/* A wait of 0 does not queue. */
static void a_try_asks_whoever_waits(void **state)
{
    struct bench *bench = *state;
    struct bench_call *head = waiting_head(bench, 5, 2);
    struct bench_call *call = take(bench, 2, 0);

    bench_nil(bench, take_of(bench, 2));
    assert_ended(call, HF_OK);
    assert_running(head);
}

/* The copy that may have taken it decides; then the wait goes on. */
static void an_unclean_waiter_finds_out_what_its_copy_did(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = take(bench, 3, HF_WAIT_FOREVER);
    struct hfi_copy *copy = bench_take(bench, HFI_TAKE);
    int64_t until = copy->number->last_not_after_ms;

    bench_lose(bench, copy, true);
    bench_integer(bench, bench_take(bench, HFI_TAKE), 0);
    bench_heard(bench, CHANNEL);
    bench_integer(bench, bench_take(bench, HFI_TAKE), 0);
    bench_pass(bench, BENCH_BOUND_MS); /* the same one, at the bound */
    copy = bench_take(bench, HFI_TAKE);
    assert_int_equal(copy->number->last_not_after_ms, until);
    bench_integer(bench, copy, 0);
    bench_pass(bench, until - bench_server_now(bench));
    assert_no_copy(bench); /* a copy of it may run just now */
    bench_pass(bench, 1);
    copy = bench_take(bench, HFI_TAKE);
    assert_int_equal(copy->number->last_not_after_ms, until);
    bench_refused(bench, copy, until + 1);
    copy = bench_take(bench, HFI_TAKE);
    assert_true(copy->number->last_not_after_ms > until);
    bench_nil(bench, copy);
    assert_ended(call, HF_OK);
}

static void a_wait_that_ends_clean_costs_no_command(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = take(bench, 3, 500);

    bench_integer(bench, bench_take(bench, HFI_TAKE), 1);
    bench_heard(bench, CHANNEL);
    bench_integer(bench, bench_take(bench, HFI_TAKE), 1);
    bench_pass(bench, 500);
    assert_ended(call, HF_TIMEOUT);
    assert_non_null(strstr(call->error.message, "asked: 1"));
    assert_no_copy(bench);
    assert_true(hfi_core_ended(bench->core));
}

static void closing_ends_all_waits(void **state)
{
    struct bench *bench = *state;
    struct bench_call *head = waiting_head(bench, 5, 0);
    struct bench_call *behind = take(bench, 2, HF_WAIT_FOREVER);

    bench_integer(bench, take_of(bench, 2), 0);
    hfi_core_close(bench->core, bench->now);
    bench_pass(bench, 0);
    bench_tick(bench);
    assert_ended(head, HF_CLOSED);
    assert_ended(behind, HF_CLOSED);
    assert_no_copy(bench);
}

/* ---- latches ---- */

static struct bench_call *await(struct bench *bench, int64_t wait_ms)
{
    struct hfi_op_request ask = {
        .kind = HFI_OP_AWAIT, .of = &hfi_kind_latch, .wait_ms = wait_ms};

    return bench_start(bench, 0, "a", &ask);
}

static void seen(struct bench *bench, struct hfi_copy *copy, int64_t count,
                 const char *armed)
{
    struct hfi_value *items = hft_alloc(3 * sizeof(*items));
    struct hfi_value look = {.kind = HFI_ARRAY, .items = items, .count = 3};

    items[0].kind = HFI_INTEGER;
    items[0].integer = count;
    items[1].kind = HFI_TEXT;
    items[1].text = strdup(armed);
    items[1].len = strlen(armed);
    items[2].kind = HFI_INTEGER;
    bench_answer(bench, copy, &look);
}

/* Looked, subscribed, looked again; and one who stands behind. */
static void two_wait(struct bench *bench, struct bench_call *ret_calls[2])
{
    ret_calls[0] = await(bench, HF_WAIT_FOREVER);
    seen(bench, bench_take(bench, HFI_LOOK), 3, "x:1");
    bench_heard(bench, GATE);
    seen(bench, bench_take(bench, HFI_LOOK), 3, "x:1");
    ret_calls[1] = await(bench, HF_WAIT_FOREVER);
    seen(bench, bench_take(bench, HFI_LOOK), 3, "x:1");
    assert_no_copy(bench);
}

/* spec: latch/wait-4 */
static void one_look_serves_all_who_waited_before_it(void **state)
{
    struct bench *bench = *state;
    struct bench_call *calls[2];
    struct bench_call *late;
    struct hfi_copy *look;

    two_wait(bench, calls);
    bench_message(bench, GATE);
    look = bench_take(bench, HFI_LOOK);
    late = await(bench, HF_WAIT_FOREVER); /* after it was sent */
    seen(bench, bench_take(bench, HFI_LOOK), 2, "x:2");
    seen(bench, look, 0, "");
    assert_ended(calls[0], HF_OK);
    assert_ended(calls[1], HF_OK);
    assert_running(late); /* first now: it looks for itself */
    seen(bench, bench_take(bench, HFI_LOOK), 2, "x:2");
    assert_running(late);
}

/* spec: latch/wait-1 */
static void a_late_wait_ends_at_once(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = await(bench, HF_WAIT_FOREVER);

    seen(bench, bench_take(bench, HFI_LOOK), 0, "x:1");
    assert_ended(call, HF_OK);
    assert_no_copy(bench);
    assert_true(hfi_core_idle(bench->core));
}

/* spec: latch/wait-2 */
static void a_latch_armed_anew_was_open(void **state)
{
    struct bench *bench = *state;
    struct bench_call *calls[2];

    two_wait(bench, calls);
    bench_message(bench, GATE);
    seen(bench, bench_take(bench, HFI_LOOK), 2, "y:9");
    assert_ended(calls[0], HF_OK);
    assert_ended(calls[1], HF_OK);
}

static void more_to_come_than_before_were_armed_anew(void **state)
{
    struct bench *bench = *state;
    struct bench_call *calls[2];

    two_wait(bench, calls);
    bench_message(bench, GATE);
    seen(bench, bench_take(bench, HFI_LOOK), 2, "x:1");
    assert_running(calls[0]);
    bench_message(bench, GATE);
    seen(bench, bench_take(bench, HFI_LOOK), 3, "x:1");
    assert_ended(calls[0], HF_OK);
    assert_ended(calls[1], HF_OK);
}

/* The note of who armed it ends before a long wait does. */
static void a_note_that_is_gone_says_nothing(void **state)
{
    struct bench *bench = *state;
    struct bench_call *calls[2];

    two_wait(bench, calls);
    bench_message(bench, GATE);
    seen(bench, bench_take(bench, HFI_LOOK), 3, "");
    bench_message(bench, GATE);
    seen(bench, bench_take(bench, HFI_LOOK), 2, "x:1");
    assert_running(calls[0]);
    assert_running(calls[1]);
}

/* spec: latch/wait-3 */
static void a_wait_looks_a_last_time_before_its_end(void **state)
{
    struct bench *bench = *state;
    struct bench_call *calls[2];
    struct bench_call *hasty;

    two_wait(bench, calls);
    hasty = await(bench, 300);
    seen(bench, bench_take(bench, HFI_LOOK), 3, "x:1");
    bench_pass(bench, 250);
    seen(bench, bench_take(bench, HFI_LOOK), 3, "x:1");
    bench_pass(bench, 49);
    assert_running(hasty);
    bench_pass(bench, 1);
    assert_ended(hasty, HF_TIMEOUT);
    assert_non_null(strstr(hasty->error.message, "3 were still to come"));
}

static void a_head_that_stops_waiting_hands_on(void **state)
{
    struct bench *bench = *state;
    struct bench_call *calls[2];

    two_wait(bench, calls);
    bench_cancel(bench, calls[0], HF_CANCELLED);
    assert_ended(calls[0], HF_CANCELLED);
    seen(bench, bench_take(bench, HFI_LOOK), 0, "");
    assert_ended(calls[1], HF_OK);
    assert_false(bench_wants(bench, GATE));
}

/* What it says of the latch may have been true before the other's look. */
static void a_look_under_way_is_not_answered_by_anothers(void **state)
{
    struct bench *bench = *state;
    struct bench_call *calls[2];
    struct bench_call *hasty;
    struct hfi_copy *its_look, *heads_look;

    two_wait(bench, calls);
    hasty = await(bench, 300);
    seen(bench, bench_take(bench, HFI_LOOK), 3, "x:1");
    bench_pass(bench, 250);
    its_look = bench_take(bench, HFI_LOOK); /* its last */
    bench_message(bench, GATE);
    heads_look = bench_take(bench, HFI_LOOK);
    seen(bench, heads_look, 0, "");
    assert_ended(calls[0], HF_OK);
    assert_ended(calls[1], HF_OK);
    assert_running(hasty);
    seen(bench, its_look, 0, "");
    assert_ended(hasty, HF_OK);
}

static void a_look_without_an_answer_is_no_timeout(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = await(bench, 300);
    struct hfi_copy *look = bench_take(bench, HFI_LOOK);

    bench_pass(bench, 300);
    assert_ended(call, HF_UNREACHABLE);
    seen(bench, look, 0, ""); /* nobody waits for it any more */
    call = await(bench, 300);
    look = bench_take(bench, HFI_LOOK);
    bench_jump(bench, 300);
    seen(bench, look, 2, "");
    assert_ended(call, HF_TIMEOUT); /* it was told: 2 */
    assert_no_copy(bench);
}

/* It had looked, but does not know how it stands since the server refuses. */
static void a_wait_that_is_refused_in_the_end_says_so(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = await(bench, 300);

    seen(bench, bench_take(bench, HFI_LOOK), 3, "x:1");
    bench_heard(bench, GATE);
    bench_error(bench, bench_take(bench, HFI_LOOK), HFI_REFUSAL_UNAVAILABLE);
    bench_links_down(bench);
    bench_pass(bench, 300);
    assert_ended(call, HF_UNAVAILABLE);
}

/* A refusal between two looks is forgotten with the second. */
static void a_wait_that_was_refused_between_looks_is_a_timeout(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = await(bench, 1000);

    for (int round = 0; round < 2; round++) { /* the pause begins anew */
        bench_error(bench, bench_take(bench, HFI_LOOK),
                    HFI_REFUSAL_UNAVAILABLE);
        bench_pass(bench, HFI_PAUSE_FIRST_MS);
        seen(bench, bench_take(bench, HFI_LOOK), 3, "x:1");
        if (round == 0) {
            bench_heard(bench, GATE);
        }
    }
    assert_no_copy(bench);
    bench_pass(bench, 940);
    seen(bench, bench_take(bench, HFI_LOOK), 3, "x:1"); /* its last */
    bench_pass(bench, 1000);
    assert_ended(call, HF_TIMEOUT);
}

static void a_look_of_another_shape_is_not_understood(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = await(bench, 0);
    struct hfi_value two = {.kind = HFI_ARRAY, .count = 2};
    struct hfi_value three = {.kind = HFI_ARRAY, .count = 3};

    two.items = hft_alloc(2 * sizeof(*two.items));
    bench_answer(bench, bench_take(bench, HFI_LOOK), &two);
    assert_ended(call, HF_PROTOCOL);
    call = await(bench, 0);
    three.items = hft_alloc(3 * sizeof(*three.items)); /* no text among them */
    bench_answer(bench, bench_take(bench, HFI_LOOK), &three);
    assert_ended(call, HF_PROTOCOL);
}

static void a_lost_look_is_repeated(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = await(bench, 0);

    bench_lose(bench, bench_take(bench, HFI_LOOK), true);
    seen(bench, bench_take(bench, HFI_LOOK), 4, "");
    assert_ended(call, HF_BUSY);
}

#define bench_test(function)                                                   \
    cmocka_unit_test_setup_teardown(function, bench_setup, bench_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        bench_test(the_head_asks_when_a_message_comes),
        bench_test(a_message_during_an_attempt_is_not_lost),
        bench_test(a_release_here_is_news_here),
        bench_test(an_attempt_just_before_the_end_is_waited_for),
        bench_test(a_wait_that_was_refused_and_then_answered_is_a_timeout),
        bench_test(the_head_asks_at_the_bound),
        bench_test(a_refused_subscription_is_polled_for),
        bench_test(the_next_asks_when_the_head_has_gone),
        bench_test(a_head_that_leaves_passes_its_turn_on),
        bench_test(one_who_asks_when_he_becomes_the_head_asks_again),
        bench_test(one_who_becomes_the_head_past_another_asks_again),
        bench_test(those_who_want_less_pass_the_head_once),
        bench_test(who_is_served_past_an_old_head_holds_the_others_back),
        bench_test(who_is_held_back_to_his_end_is_told_so),
        bench_test(who_wants_what_is_there_may_pass_and_no_more),
        bench_test(an_impossible_head_costs_half_the_bound),
        bench_test(a_try_asks_whoever_waits),
        bench_test(an_unclean_waiter_finds_out_what_its_copy_did),
        bench_test(a_wait_that_ends_clean_costs_no_command),
        bench_test(closing_ends_all_waits),
        bench_test(one_look_serves_all_who_waited_before_it),
        bench_test(a_late_wait_ends_at_once),
        bench_test(a_latch_armed_anew_was_open),
        bench_test(more_to_come_than_before_were_armed_anew),
        bench_test(a_note_that_is_gone_says_nothing),
        bench_test(a_wait_looks_a_last_time_before_its_end),
        bench_test(a_head_that_stops_waiting_hands_on),
        bench_test(a_look_under_way_is_not_answered_by_anothers),
        bench_test(a_look_without_an_answer_is_no_timeout),
        bench_test(a_wait_that_is_refused_in_the_end_says_so),
        bench_test(a_wait_that_was_refused_between_looks_is_a_timeout),
        bench_test(a_look_of_another_shape_is_not_understood),
        bench_test(a_lost_look_is_repeated),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
