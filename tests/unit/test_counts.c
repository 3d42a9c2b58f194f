/* SPDX-License-Identifier: MIT */
/* test_counts.c - requests on counts: ids, records, what settles them.
 *
 * "Counts without an owner" of docs/design/late-copies.md (T14, T15).  Who
 * waits, and who goes first, is in test_demand.c.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core_bench.h"
#include "support/fatal.h"
#include "sync/state.h"

#define CHANNEL "redisson_sc:{a}"
#define RECORD "holdfast_request:{a}:" BENCH_UUID ":"

static struct bench_call *take(struct bench *bench, int64_t permits,
                               int64_t wait_ms)
{
    struct hfi_op_request ask = {.kind = HFI_OP_TAKE,
                                 .of = &hfi_kind_semaphore,
                                 .count = permits,
                                 .wait_ms = wait_ms};

    return bench_start(bench, 0, "a", &ask);
}

static struct bench_call *change(struct bench *bench, const char *word,
                                 int64_t permits)
{
    struct hfi_op_request ask = {.kind = HFI_OP_CHANGE,
                                 .of = &hfi_kind_semaphore,
                                 .word = word,
                                 .count = permits};

    return bench_start(bench, 0, "a", &ask);
}

static int64_t not_after(const struct hfi_copy *copy)
{
    return copy->number->last_not_after_ms;
}

/* ---- the wire ---- */

/* spec: semaphore/request-1, semaphore/request-5 */
static void a_request_says_who_it_is_and_until_when(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = change(bench, HFI_WORD_ADD, -4);
    struct hfi_copy *copy = bench_take(bench, HFI_CHANGE);
    char words[256];

    snprintf(words, sizeof(words),
             "semaphore_change a " RECORD "1 | add -4 %" PRId64
             " 600000 " CHANNEL " 0",
             bench_server_now(bench) + BENCH_RESPONSE_MS);
    assert_string_equal(bench_words(bench, copy), words);
    bench_integer(bench, copy, 6);
    assert_ended(call, HF_OK);
    assert_int_equal(call->count, 6);
    assert_true(call->changed);
}

/* spec: semaphore/request-6 */
static void the_next_request_brings_the_record_of_the_last(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = take(bench, 2, 0);
    struct hfi_copy *copy;

    bench_nil(bench, bench_take(bench, HFI_TAKE));
    assert_ended(call, HF_OK);
    call = change(bench, HFI_WORD_RELEASE, 2);
    copy = bench_take(bench, HFI_CHANGE);
    assert_non_null(strstr(bench_words(bench, copy),
                           "change a " RECORD "2 " RECORD "1 | release 2 "));
    /* NOSCRIPT: it did not run, so it brings it again. */
    bench_error(bench, copy, HFI_REFUSAL_NO_SCRIPT);
    copy = bench_take(bench, HFI_CHANGE);
    assert_non_null(strstr(bench_words(bench, copy), " " RECORD "1 | "));
    bench_integer(bench, copy, 2);
    assert_ended(call, HF_OK);
    call = take(bench, 9, 0);
    copy = bench_take(bench, HFI_TAKE);
    assert_non_null(strstr(bench_words(bench, copy), " " RECORD "2 | 9 "));
    bench_integer(bench, copy, 2);
    assert_ended(call, HF_BUSY);
    /* A "no" leaves no record; those that went are gone. */
    call = take(bench, 2, 0);
    copy = bench_take(bench, HFI_TAKE);
    assert_int_equal(copy->old_count, 0);
    bench_nil(bench, copy);
    assert_ended(call, HF_OK);
}

/* What is not clean may be read yet. */
static void the_record_of_an_unclean_request_stays(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = take(bench, 2, 0);
    struct hfi_copy *copy;

    bench_lose(bench, bench_take(bench, HFI_TAKE), true);
    bench_nil(bench, bench_take(bench, HFI_TAKE));
    assert_ended(call, HF_OK);
    call = take(bench, 2, 0);
    copy = bench_take(bench, HFI_TAKE);
    assert_null(strstr(bench_words(bench, copy), RECORD "1"));
    bench_nil(bench, copy);
    assert_ended(call, HF_OK);
}

/* One request brings at most a few; what many at once have left goes with the
 * next ones, the newest first.  Of too many the oldest are left to their TTL. */
static void of_many_records_the_oldest_are_left_to_their_end(void **state)
{
    enum { MANY = HFI_OLD_KEPT + 5 };
    struct bench *bench = *state;
    struct hfi_copy *copies[MANY];
    char record[128];

    for (int i = 0; i < MANY; i++) {
        take(bench, 1, 0);
        copies[i] = bench_take(bench, HFI_TAKE);
    }
    for (int i = 0; i < MANY; i++) {
        bench_nil(bench, copies[i]);
    }
    for (int i = 0; i < HFI_OLD_KEPT / HFI_OLD_MAX; i++) {
        take(bench, 1, 0);
        copies[i] = bench_take(bench, HFI_TAKE);
        assert_int_equal(copies[i]->old_count, HFI_OLD_MAX);
        snprintf(record, sizeof(record), " " RECORD "%d ",
                 MANY - i * HFI_OLD_MAX);
        assert_non_null(strstr(bench_words(bench, copies[i]), record));
    }
    take(bench, 1, 0);
    assert_int_equal(bench_take(bench, HFI_TAKE)->old_count, 0);
}

static void take_and_forget(struct bench *bench, const char *name)
{
    struct hfi_op_request ask = {
        .kind = HFI_OP_TAKE, .of = &hfi_kind_semaphore, .count = 1};

    bench_start(bench, 0, name, &ask);
    bench_nil(bench, bench_take(bench, HFI_TAKE));
}

/* A name is remembered for the sake of its record; of too many, the one that
 * has rested longest is not; nor is one that is very long. */
static void a_name_that_rests_too_long_or_is_too_long_is_forgotten(void **state)
{
    enum { MANY = 256, LONG = 256 };
    struct bench *bench = *state;
    char name[LONG + 2];

    memset(name, 'x', sizeof(name));
    name[LONG + 1] = '\0';
    take_and_forget(bench, name);
    assert_int_equal(bench->core->name_count, 0);
    name[LONG] = '\0';
    take_and_forget(bench, name);
    assert_int_equal(bench->core->name_count, 1);
    for (int i = 1; i < MANY; i++) {
        snprintf(name, sizeof(name), "name %d", i);
        take_and_forget(bench, name);
    }
    assert_int_equal(bench->core->name_count, MANY);
    take_and_forget(bench, "name 1"); /* it does not rest longest any more */
    take_and_forget(bench, "one more");
    take_and_forget(bench, "another");
    assert_int_equal(bench->core->name_count, MANY);
    take(bench, 1, 0);
    assert_int_equal(bench_take(bench, HFI_TAKE)->old_count, 0);
    for (int i = 1; i <= 3; i++) { /* the long one and the second are gone */
        struct hfi_op_request ask = {
            .kind = HFI_OP_TAKE, .of = &hfi_kind_semaphore, .count = 1};

        snprintf(name, sizeof(name), "name %d", i);
        bench_start(bench, 0, name, &ask);
        assert_int_equal(bench_take(bench, HFI_TAKE)->old_count,
                         i == 2 ? 0 : 1);
    }
}

/* ---- take ---- */

static void a_lost_copy_is_sent_again_as_the_same_request(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = take(bench, 2, 0);
    struct hfi_copy *copy = bench_take(bench, HFI_TAKE);
    int64_t until = not_after(copy);

    bench_pass(bench, 50);
    bench_lose(bench, copy, true);
    copy = bench_take(bench, HFI_TAKE);
    assert_non_null(strstr(bench_words(bench, copy), "take a " RECORD "1 | "));
    assert_int_equal(not_after(copy), until);
    bench_nil(bench, copy);
    assert_ended(call, HF_OK);
    assert_true(hfi_core_ended(bench->core));
}

/* Both are told, for it is clean: nothing is left to do. */
static void too_few_for_a_clean_request_cost_nothing(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = take(bench, 2, 0);
    struct hfi_copy *copy = bench_take(bench, HFI_TAKE);

    bench_lose(bench, copy, false); /* never left this machine */
    bench_integer(bench, bench_take(bench, HFI_TAKE), 1);
    assert_ended(call, HF_BUSY);
    assert_true(hfi_core_ended(bench->core));
    assert_no_copy(bench);
}

static void an_unclean_take_is_undone_until_that_is_answered(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = take(bench, 2, 0);
    struct hfi_copy *undo;
    char words[256];
    int64_t until;

    bench_lose(bench, bench_take(bench, HFI_TAKE), true);
    undo = bench_take(bench, HFI_TAKE); /* the second copy */
    until = not_after(undo);
    bench_integer(bench, undo, 1); /* "no" answers its copy alone */
    assert_ended(call, HF_UNKNOWN);
    undo = bench_take(bench, HFI_UNDO);
    snprintf(words, sizeof(words),
             "semaphore_undo a " RECORD "1 | 2 %lld 600000 " CHANNEL,
             (long long)until);
    assert_string_equal(bench_words(bench, undo), words);
    bench_lose(bench, undo, true);
    undo = bench_take(bench, HFI_UNDO);
    assert_false(hfi_core_ended(bench->core));
    /* It left a tombstone: final, whatever time it shows. */
    bench_integer(bench, undo, until - 1000);
    assert_true(hfi_core_ended(bench->core));
    assert_true(hfi_core_idle(bench->core));
}

/* After the window an undo would find nothing any more. */
static void an_undo_that_reaches_nobody_ends_with_the_window(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = take(bench, 2, 0);

    bench_lose(bench, bench_take(bench, HFI_TAKE), true);
    bench_links_down(bench);
    bench_lose(bench, bench_take(bench, HFI_TAKE), true);
    bench_link_failed(bench, HF_UNREACHABLE);
    assert_ended(call, HF_UNKNOWN);
    bench_pass(bench, HFI_WINDOW_MS);
    assert_false(hfi_core_ended(bench->core));
    bench_pass(bench, BENCH_RESPONSE_MS + BENCH_CONNECT_MS + 1);
    assert_true(hfi_core_ended(bench->core));
}

/* REFUSED says it of all copies: a wait goes on as another request.
 * spec: semaphore/request-3, semaphore/wait-2 */
static void a_refusal_settles_all_copies(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = take(bench, 2, 60000);
    struct hfi_copy *copy = bench_take(bench, HFI_TAKE);
    int64_t until = not_after(copy);

    bench_lose(bench, copy, true);
    bench_pass(bench, BENCH_RESPONSE_MS);
    bench_refused(bench, bench_take(bench, HFI_TAKE), until);
    copy = bench_take(bench, HFI_TAKE);
    assert_non_null(strstr(bench_words(bench, copy), "take a " RECORD "2 | "));
    bench_integer(bench, copy, 1);
    assert_running(call);
    bench_cancel(bench, call, HF_CANCELLED);
    assert_ended(call, HF_CANCELLED); /* clean: nothing to undo */
    assert_true(hfi_core_ended(bench->core));
}

/* Past the window a record may have been there and gone.
 * spec: semaphore/fence-2 */
static void a_refusal_past_the_window_settles_nothing(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = take(bench, 2, 60000);
    struct hfi_copy *copy = bench_take(bench, HFI_TAKE);
    int64_t until = not_after(copy);

    bench_lose(bench, copy, true);
    bench_refused(bench, bench_take(bench, HFI_TAKE), until + HFI_WINDOW_MS);
    assert_ended(call, HF_UNKNOWN);
    assert_true(hfi_core_ended(bench->core));
}

/* A clock that was estimated wrong costs a refusal, whatever it shows. */
static void a_clean_request_is_refused_for_good(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = take(bench, 2, 0);
    struct hfi_copy *copy = bench_take(bench, HFI_TAKE);
    int64_t far = not_after(copy) + 2 * HFI_WINDOW_MS;

    bench_refused(bench, copy, far);
    copy = bench_take(bench, HFI_TAKE);
    assert_int_equal(not_after(copy), far + BENCH_RESPONSE_MS);
    assert_int_equal(copy->old_count, 0); /* of the first there is no record */
    bench_nil(bench, copy);
    assert_ended(call, HF_OK);
}

static void a_clock_that_is_never_right_makes_it_pause(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = take(bench, 2, 0);

    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 4; i++) {
            struct hfi_copy *copy = bench_take(bench, HFI_TAKE);

            bench_refused(bench, copy, not_after(copy) + 1000000);
        }
        bench_pass(bench, HFI_PAUSE_MAX_MS - 1);
        assert_no_copy(bench);
        bench_pass(bench, 1);
    }
    bench_nil(bench, bench_take(bench, HFI_TAKE));
    assert_ended(call, HF_OK);
}

/* Shorter, and the end of a wait would refuse grants for nothing. */
static void a_request_of_a_short_wait_may_run_a_little_longer(void **state)
{
    struct bench *bench = *state;

    take(bench, 2, 30);
    assert_int_equal(not_after(bench_take(bench, HFI_TAKE)),
                     bench_server_now(bench) + HFI_NOT_AFTER_MIN_MS);
    take(bench, 2, 500);
    assert_int_equal(not_after(bench_take(bench, HFI_TAKE)),
                     bench_server_now(bench) + 500);
}

static void an_unanswered_take_ends_with_its_time_and_is_undone(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = take(bench, 2, 500);
    struct hfi_copy *copy = bench_take(bench, HFI_TAKE);
    struct hfi_copy *undo;

    bench_pass(bench, 499);
    assert_running(call);
    bench_pass(bench, 1);
    assert_ended(call, HF_UNKNOWN);
    undo = bench_take(bench, HFI_UNDO);
    bench_nil(bench, copy); /* it took them: the undo gives them back */
    bench_undone(bench, undo);
    assert_true(hfi_core_ended(bench->core));
}

/* Nobody is left to tell it to; and what it brought along is brought again. */
static void an_error_after_the_end_of_a_take_is_read_all_the_same(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;
    struct hfi_copy *copy;

    take(bench, 2, 0);
    bench_nil(bench, bench_take(bench, HFI_TAKE));
    call = take(bench, 2, HF_WAIT_FOREVER);
    copy = bench_take(bench, HFI_TAKE);
    assert_non_null(strstr(bench_words(bench, copy), RECORD "1"));
    bench_cancel(bench, call, HF_CANCELLED);
    bench_error(bench, copy, HFI_REFUSAL_UNAVAILABLE);
    bench_undone(bench, bench_take(bench, HFI_UNDO));
    assert_ended(call, HF_UNKNOWN);
    take(bench, 2, 0);
    copy = bench_take(bench, HFI_TAKE);
    assert_non_null(strstr(bench_words(bench, copy), RECORD "1"));
}

static void a_copy_lost_at_the_end_of_the_wait_is_not_sent_again(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = take(bench, 2, 500);
    struct hfi_copy *copy = bench_take(bench, HFI_TAKE);

    bench_jump(bench, 500);
    bench_lose(bench, copy, true);
    assert_ended(call, HF_UNKNOWN);
    bench_undone(bench, bench_take(bench, HFI_UNDO));

    call = take(bench, 2, 500);
    copy = bench_take(bench, HFI_TAKE);
    bench_jump(bench, 500);
    bench_lose(bench, copy, false); /* it never left */
    assert_ended(call, HF_UNREACHABLE);
    assert_no_copy(bench);
}

static void an_answer_at_the_end_of_the_wait_is_the_last_one(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = take(bench, 2, 500);
    struct hfi_copy *copy = bench_take(bench, HFI_TAKE);

    bench_jump(bench, 500);
    bench_integer(bench, copy, 1);
    assert_ended(call, HF_TIMEOUT);
    assert_non_null(strstr(call->error.message, "wanted: 2; there when last "
                                                "asked: 1"));
    call = take(bench, 2, 500);
    copy = bench_take(bench, HFI_TAKE);
    bench_jump(bench, 500);
    bench_refused(bench, copy, not_after(copy));
    assert_ended(call, HF_UNREACHABLE); /* it was never told how many */
    assert_no_copy(bench);
}

/* ---- servers that cannot, links that are not there ---- */

static void a_server_that_cannot_now_is_asked_again_by_who_waits(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = take(bench, 2, 1000);

    bench_error(bench, bench_take(bench, HFI_TAKE), HFI_REFUSAL_UNAVAILABLE);
    assert_running(call);
    assert_no_copy(bench);
    bench_pass(bench, HFI_PAUSE_FIRST_MS);
    bench_nil(bench, bench_take(bench, HFI_TAKE));
    assert_ended(call, HF_OK);
    call = take(bench, 2, 0);
    bench_error(bench, bench_take(bench, HFI_TAKE), HFI_REFUSAL_UNAVAILABLE);
    assert_ended(call, HF_UNAVAILABLE); /* who does not wait is told */
}

/* What the server said last is what is told, unless there is another cause. */
static void a_wait_that_was_refused_to_its_end_says_so(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = take(bench, 2, 50);

    bench_error(bench, bench_take(bench, HFI_TAKE), HFI_REFUSAL_UNAVAILABLE);
    bench_pass(bench, HFI_PAUSE_FIRST_MS);
    bench_error(bench, bench_take(bench, HFI_TAKE), HFI_REFUSAL_UNAVAILABLE);
    assert_ended(call, HF_UNAVAILABLE);
    assert_non_null(strstr(call->error.message, "NO because"));
    call = take(bench, 2, HF_WAIT_FOREVER);
    bench_error(bench, bench_take(bench, HFI_TAKE), HFI_REFUSAL_UNAVAILABLE);
    bench_cancel(bench, call, HF_CANCELLED);
    assert_ended(call, HF_CANCELLED);
    assert_no_copy(bench);
}

/* It had looked; that the link is gone since then is what counts. */
static void a_wait_that_ends_without_a_link_is_unreachable(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = take(bench, 2, 5000);

    bench_integer(bench, bench_take(bench, HFI_TAKE), 1);
    bench_heard(bench, CHANNEL);
    bench_links_down(bench);
    bench_lose(bench, bench_take(bench, HFI_TAKE), false);
    bench_pass(bench, 5000);
    assert_ended(call, HF_UNREACHABLE);
    assert_non_null(strstr(call->error.message, "cannot be reached"));

    bench_link_up(bench, HFI_LINK_MAIN);
    call = take(bench, 2, 5000);
    bench_integer(bench, bench_take(bench, HFI_TAKE), 1);
    bench_heard(bench, CHANNEL);
    bench_links_down(bench);
    bench_lose(bench, bench_take(bench, HFI_TAKE), false);
    bench_link_failed(bench, HF_UNREACHABLE);
    bench_pass(bench, 5000);
    assert_ended(call, HF_UNREACHABLE);
    assert_non_null(strstr(call->error.message, "no way there"));
}

static struct bench_call *tell(struct bench *bench)
{
    struct hfi_op_request ask = {.kind = HFI_OP_TELL,
                                 .of = &hfi_kind_semaphore};

    return bench_start(bench, 0, "a", &ask);
}

static void a_question_without_an_answer_says_whether_it_was_asked(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = tell(bench);
    struct hfi_copy *copy = bench_take(bench, HFI_TELL);
    int64_t limit = BENCH_RESPONSE_MS + BENCH_CONNECT_MS;

    bench_pass(bench, limit);
    assert_ended(call, HF_UNREACHABLE);
    assert_non_null(strstr(call->error.message, "does not answer"));
    bench_integer(bench, copy, 1); /* too late for anybody */
    call = tell(bench);
    bench_links_down(bench);
    bench_lose(bench, bench_take(bench, HFI_TELL), true);
    bench_pass(bench, limit);
    assert_ended(call, HF_UNREACHABLE);
    assert_non_null(strstr(call->error.message, "does not answer"));
    call = tell(bench);
    bench_pass(bench, limit);
    assert_ended(call, HF_UNREACHABLE);
    assert_non_null(strstr(call->error.message, "cannot be reached"));
}

/* ---- change and fence ---- */

static void a_change_that_was_answered_by_any_copy_is_done(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = change(bench, HFI_WORD_DRAIN, 0);
    struct hfi_copy *copy;

    bench_lose(bench, bench_take(bench, HFI_CHANGE), true);
    copy = bench_take(bench, HFI_CHANGE);
    bench_integer(bench, copy, 7);
    assert_ended(call, HF_OK);
    assert_int_equal(call->count, 7);
}

static struct hfi_copy *fence_of(struct bench *bench, struct bench_call *call)
{
    struct hfi_copy *fence;

    bench_pass(bench, BENCH_RESPONSE_MS + BENCH_CONNECT_MS);
    assert_running(call);
    fence = bench_take(bench, HFI_FENCE);
    assert_non_null(strstr(bench_words(bench, fence), "count_fence a " RECORD));
    return fence;
}

/* spec: semaphore/fence-1 */
static void an_unanswered_change_is_fenced_before_anything_is_said(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = change(bench, HFI_WORD_RELEASE, 2);
    struct hfi_copy *copy = bench_take(bench, HFI_CHANGE);
    int64_t until = not_after(copy);

    bench_refused(bench, fence_of(bench, call), until + 5);
    assert_ended(call, HF_NOT_DONE);
    bench_integer(bench, copy, 9); /* its late answer says nothing any more */
    assert_true(hfi_core_idle(bench->core));

    call = change(bench, HFI_WORD_RELEASE, 2);
    copy = bench_take(bench, HFI_CHANGE);
    bench_integer(bench, fence_of(bench, call), 4);
    assert_ended(call, HF_OK);
    assert_int_equal(call->count, 4);
    bench_lose(bench, copy, true);
}

static void a_fence_past_the_window_leaves_it_open(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = change(bench, HFI_WORD_RELEASE, 2);
    struct hfi_copy *copy = bench_take(bench, HFI_CHANGE);
    int64_t until = not_after(copy);

    bench_refused(bench, fence_of(bench, call), until + HFI_WINDOW_MS);
    assert_ended(call, HF_UNKNOWN);
    bench_lose(bench, copy, true);
}

/* All copies are answered then, but what the first one did nobody has heard. */
static void an_answer_behind_a_fence_settles_nothing(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = change(bench, HFI_WORD_RELEASE, 2);
    struct hfi_copy *copy = bench_take(bench, HFI_CHANGE);
    int64_t until = not_after(copy);
    struct hfi_copy *fence = fence_of(bench, call);

    bench_integer(bench, copy, 9);
    bench_refused(bench, fence, until + HFI_WINDOW_MS);
    assert_ended(call, HF_UNKNOWN);
    assert_true(hfi_core_idle(bench->core));
}

static void a_fence_that_is_not_answered_leaves_it_open(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = change(bench, HFI_WORD_RELEASE, 2);
    struct hfi_copy *copy = bench_take(bench, HFI_CHANGE);
    struct hfi_copy *fence = fence_of(bench, call);

    bench_lose(bench, fence, true);
    fence = bench_take(bench, HFI_FENCE); /* sent again meanwhile */
    bench_pass(bench, BENCH_RESPONSE_MS + BENCH_CONNECT_MS);
    assert_ended(call, HF_UNKNOWN);
    bench_lose(bench, fence, true);
    bench_lose(bench, copy, true);
    assert_no_copy(bench);
    assert_true(hfi_core_idle(bench->core));
}

/* An unclean "already set": the earlier copy may be the one that set it, or may
 * yet find nothing and set it. */
static void an_unclean_no_is_fenced_too(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = change(bench, HFI_WORD_SET, 5);
    struct hfi_copy *copy;
    int64_t until;

    bench_lose(bench, bench_take(bench, HFI_CHANGE), true);
    copy = bench_take(bench, HFI_CHANGE);
    until = not_after(copy);
    bench_nil(bench, copy);
    assert_running(call);
    bench_refused(bench, bench_take(bench, HFI_FENCE), until);
    assert_ended(call, HF_OK);
    assert_false(call->changed);

    call = change(bench, HFI_WORD_SET, 5);
    bench_nil(bench, bench_take(bench, HFI_CHANGE)); /* clean: told at once */
    assert_ended(call, HF_OK);
    assert_false(call->changed);
    assert_no_copy(bench);
}

/* That there was nothing to release or delete is recorded: it is final. */
static void nothing_to_change_is_an_answer(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = change(bench, HFI_WORD_DELETE, 0);

    bench_lose(bench, bench_take(bench, HFI_CHANGE), true);
    bench_nil(bench, bench_take(bench, HFI_CHANGE));
    assert_ended(call, HF_OK);
    assert_false(call->changed);
    assert_no_copy(bench);
}

/* A permit is named by its id: that it is not out is no answer like others. */
static void a_permit_that_is_not_out_is_gone(void **state)
{
    struct bench *bench = *state;
    struct hfi_op_request ask = {.kind = HFI_OP_CHANGE,
                                 .of = &hfi_kind_permits,
                                 .word = HFI_WORD_FREE,
                                 .field = "00112233445566778899aabbccddeeff"};
    struct bench_call *call = bench_start(bench, 0, "a", &ask);

    bench_nil(bench, bench_take(bench, HFI_CHANGE));
    assert_ended(call, HF_GONE);
    assert_non_null(strstr(call->error.message, ask.field));
}

/* Not by the clock: a change goes on as another request while it has time. */
static void a_refused_change_is_tried_anew(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = change(bench, HFI_WORD_RELEASE, 2);
    struct hfi_copy *copy = bench_take(bench, HFI_CHANGE);
    int64_t until = not_after(copy);

    bench_pass(bench, BENCH_RESPONSE_MS);
    bench_lose(bench, copy, true);
    bench_refused(bench, bench_take(bench, HFI_CHANGE), until);
    copy = bench_take(bench, HFI_CHANGE);
    assert_non_null(strstr(bench_words(bench, copy), "change a " RECORD "2 "));
    bench_integer(bench, copy, 3);
    assert_ended(call, HF_OK);
}

static void an_error_says_nothing_of_earlier_copies(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = change(bench, HFI_WORD_RELEASE, 2);
    struct hfi_copy *copy;

    bench_lose(bench, bench_take(bench, HFI_CHANGE), true);
    bench_error(bench, bench_take(bench, HFI_CHANGE), HFI_REFUSAL_PERMISSION);
    assert_running(call); /* the first copy may have done it */
    copy = bench_take(bench, HFI_FENCE);
    bench_integer(bench, copy, 2);
    assert_ended(call, HF_OK);

    call = change(bench, HFI_WORD_RELEASE, 2);
    bench_error(bench, bench_take(bench, HFI_CHANGE), HFI_REFUSAL_PERMISSION);
    assert_ended(call, HF_PERMISSION);
}

static void a_change_without_a_link_was_not_done(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;

    bench_links_down(bench);
    call = change(bench, HFI_WORD_RELEASE, 2);
    assert_no_copy(bench);
    bench_link_failed(bench, HF_UNREACHABLE);
    assert_ended(call, HF_UNREACHABLE);
    call = change(bench, HFI_WORD_RELEASE, 2);
    bench_pass(bench, BENCH_RESPONSE_MS + BENCH_CONNECT_MS);
    assert_ended(call, HF_UNREACHABLE);
    /* One that was sent is not given up for a link that cannot be made. */
    bench_link_up(bench, HFI_LINK_MAIN);
    call = change(bench, HFI_WORD_RELEASE, 2);
    bench_links_down(bench);
    bench_lose(bench, bench_take(bench, HFI_CHANGE), true);
    bench_link_failed(bench, HF_UNREACHABLE);
    assert_running(call);
    bench_link_up(bench, HFI_LINK_MAIN);
    bench_integer(bench, bench_take(bench, HFI_CHANGE), 2);
    assert_ended(call, HF_OK);
}

static void closing_leaves_an_unanswered_change_open(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = change(bench, HFI_WORD_RELEASE, 2);
    struct hfi_copy *copy = bench_take(bench, HFI_CHANGE);

    bench_cancel(bench, call, HF_CLOSED);
    assert_ended(call, HF_UNKNOWN);
    bench_integer(bench, copy, 2);
    assert_no_copy(bench);
}

/* ---- nothing to do, nothing understood ---- */

/* SM-02 */
static void no_permits_send_nothing(void **state)
{
    struct bench *bench = *state;

    assert_ended(take(bench, 0, HF_WAIT_FOREVER), HF_OK);
    assert_ended(change(bench, HFI_WORD_RELEASE, 0), HF_OK);
    assert_false(change(bench, HFI_WORD_RETURN, 0)->changed);
    assert_no_copy(bench);
    assert_true(hfi_core_idle(bench->core));
}

static void nonsense(struct bench *bench, struct hfi_copy *copy)
{
    struct hfi_value text = {.kind = HFI_TEXT, .text = strdup("x"), .len = 1};

    bench_answer(bench, copy, &text);
}

/* An array of so many numbers, each its own index. */
static void numbers(struct bench *bench, struct hfi_copy *copy, size_t count)
{
    struct hfi_value value = {.kind = HFI_ARRAY, .count = count};

    value.items = hft_alloc(count * sizeof(*value.items));
    for (size_t i = 0; i < count; i++) {
        value.items[i].kind = HFI_INTEGER;
        value.items[i].integer = (int64_t)i;
    }
    bench_answer(bench, copy, &value);
}

static void what_is_told_of_a_count_is_handed_over(void **state)
{
    struct bench *bench = *state;
    struct hfi_op_request ask = {.kind = HFI_OP_TELL, .of = &hfi_kind_permits};
    struct bench_call *call = tell(bench);

    numbers(bench, bench_take(bench, HFI_TELL), 3);
    assert_ended(call, HF_OK);
    assert_int_equal(call->count, 1);
    assert_int_equal(call->value.count, 3);
    call = tell(bench);
    numbers(bench, bench_take(bench, HFI_TELL), 4);
    assert_ended(call, HF_PROTOCOL);
    call = bench_start(bench, 0, "a", &ask); /* of permits there are two more */
    numbers(bench, bench_take(bench, HFI_TELL), 5);
    assert_ended(call, HF_OK);
    call = bench_start(bench, 0, "a", &ask);
    numbers(bench, bench_take(bench, HFI_TELL), 3);
    assert_ended(call, HF_PROTOCOL);
}

static void answers_that_make_no_sense_are_said_to_be_so(void **state)
{
    struct bench *bench = *state;
    struct hfi_op_request look = {
        .kind = HFI_OP_AWAIT, .of = &hfi_kind_latch, .wait_ms = 0};
    struct hfi_op_request tell = {.kind = HFI_OP_TELL,
                                  .of = &hfi_kind_semaphore};
    struct bench_call *call = take(bench, 2, 0);

    nonsense(bench, bench_take(bench, HFI_TAKE));
    assert_ended(call, HF_PROTOCOL);
    call = take(bench, 2, 0);
    numbers(bench, bench_take(bench, HFI_TAKE), 2);
    assert_ended(call, HF_PROTOCOL);
    call = change(bench, HFI_WORD_ADD, 1);
    nonsense(bench, bench_take(bench, HFI_CHANGE));
    assert_ended(call, HF_PROTOCOL);
    call = bench_start(bench, 0, "a", &look);
    nonsense(bench, bench_take(bench, HFI_LOOK));
    assert_ended(call, HF_PROTOCOL);
    call = bench_start(bench, 0, "a", &tell);
    nonsense(bench, bench_take(bench, HFI_TELL));
    assert_ended(call, HF_PROTOCOL);
}

#define bench_test(function)                                                   \
    cmocka_unit_test_setup_teardown(function, bench_setup, bench_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        bench_test(a_request_says_who_it_is_and_until_when),
        bench_test(the_next_request_brings_the_record_of_the_last),
        bench_test(the_record_of_an_unclean_request_stays),
        bench_test(of_many_records_the_oldest_are_left_to_their_end),
        bench_test(a_name_that_rests_too_long_or_is_too_long_is_forgotten),
        bench_test(a_lost_copy_is_sent_again_as_the_same_request),
        bench_test(too_few_for_a_clean_request_cost_nothing),
        bench_test(an_unclean_take_is_undone_until_that_is_answered),
        bench_test(an_undo_that_reaches_nobody_ends_with_the_window),
        bench_test(a_refusal_settles_all_copies),
        bench_test(a_refusal_past_the_window_settles_nothing),
        bench_test(a_clean_request_is_refused_for_good),
        bench_test(a_clock_that_is_never_right_makes_it_pause),
        bench_test(a_request_of_a_short_wait_may_run_a_little_longer),
        bench_test(an_unanswered_take_ends_with_its_time_and_is_undone),
        bench_test(an_error_after_the_end_of_a_take_is_read_all_the_same),
        bench_test(a_copy_lost_at_the_end_of_the_wait_is_not_sent_again),
        bench_test(an_answer_at_the_end_of_the_wait_is_the_last_one),
        bench_test(a_server_that_cannot_now_is_asked_again_by_who_waits),
        bench_test(a_wait_that_was_refused_to_its_end_says_so),
        bench_test(a_wait_that_ends_without_a_link_is_unreachable),
        bench_test(a_question_without_an_answer_says_whether_it_was_asked),
        bench_test(a_change_that_was_answered_by_any_copy_is_done),
        bench_test(an_unanswered_change_is_fenced_before_anything_is_said),
        bench_test(a_fence_past_the_window_leaves_it_open),
        bench_test(an_answer_behind_a_fence_settles_nothing),
        bench_test(a_fence_that_is_not_answered_leaves_it_open),
        bench_test(an_unclean_no_is_fenced_too),
        bench_test(nothing_to_change_is_an_answer),
        bench_test(a_permit_that_is_not_out_is_gone),
        bench_test(a_refused_change_is_tried_anew),
        bench_test(an_error_says_nothing_of_earlier_copies),
        bench_test(a_change_without_a_link_was_not_done),
        bench_test(closing_leaves_an_unanswered_change_open),
        bench_test(no_permits_send_nothing),
        bench_test(what_is_told_of_a_count_is_handed_over),
        bench_test(answers_that_make_no_sense_are_said_to_be_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
