/* SPDX-License-Identifier: MIT */
/* test_several.c - several permits in one call, in the core: what becomes of
 * each when answers are lost or late.
 *
 * "Permits" of docs/design/late-copies.md.  What the scripts do is in
 * tests/server/test_permits_many.c.
 */
#include <string.h>

#include "core_bench.h"
#include "support/fatal.h"
#include "sync/kinds/pieces.h"

#define THREE 3

static struct bench_call *acquire_three(struct bench *bench, uint64_t owner,
                                        struct hfi_terms *terms)
{
    struct hfi_op_request ask = {.kind = HFI_OP_ACQUIRE,
                                 .of = &hfi_kind_permits,
                                 .count = THREE,
                                 .lease_ms = BENCH_LEASE_MS,
                                 .renewed = true,
                                 .terms = terms};
    size_t i;

    ask.several = hfi_several_new(THREE - 1);
    for (i = 0; i < THREE - 1; i++) {
        ask.several->items[i].owner = hfi_owner_get(bench->core, owner + i + 1,
                                                    true);
        hfi_owner_ref(ask.several->items[i].owner);
    }
    return bench_start(bench, owner, "a", &ask);
}

/* Those of the numbers from `first` on. */
static struct bench_call *give_three(struct bench *bench, uint64_t first)
{
    struct hfi_op_request ask = {.kind = HFI_OP_CHANGE,
                                 .of = &hfi_kind_permits,
                                 .word = HFI_WORD_FREE,
                                 .count = THREE};
    size_t i;

    ask.several = hfi_several_new(THREE);
    for (i = 0; i < THREE; i++) {
        char text[HFI_PERMIT_TEXT];

        hfi_permit_text(bench->core, first + i, text, sizeof(text));
        assert_true(hfi_permit_read(text, ask.several->items[i].id));
    }
    return bench_start(bench, 0, "a", &ask);
}

static bool is_held(struct bench *bench, uint64_t owner)
{
    struct hfi_object object = {
        .kind = &hfi_kind_permits, .name = "a", .name_bytes = 1};
    struct hfi_owner *who = hfi_owner_get(bench->core, owner, false);
    struct hfi_hold_view seen;

    hfi_core_view(bench->core, who, &object, bench->now, &seen);
    return seen.count > 0;
}

static void hold_three(struct bench *bench)
{
    struct bench_call *call = acquire_three(bench, 1, NULL);

    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    assert_ended(call, HF_OK);
}

static void nothing_is_left(struct bench *bench)
{
    assert_int_equal(bench_stats(bench).ending, 0);
    assert_int_equal(bench_stats(bench).holds, 0);
    assert_int_equal(bench->core->number_count, 0);
    assert_int_equal(bench->core->owner_count, 0);
    assert_null(bench->core->permits);
}

/* One question, three holds; their numbers follow on each other. */
static void one_request_takes_them_all(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = acquire_three(bench, 1, NULL);
    struct hfi_copy *copy = bench_take(bench, HFI_ACQUIRE);
    char text[HFI_PERMIT_TEXT];

    assert_int_equal(copy->number->n, 1);
    assert_int_equal(copy->batch_count, 2);
    assert_int_equal(copy->batch[1].number->n, 3);
    assert_no_copy(bench);
    bench_nil(bench, copy);
    assert_ended(call, HF_OK);
    assert_int_equal(bench_stats(bench).holds, THREE);
    assert_true(is_held(bench, 1) && is_held(bench, 2) && is_held(bench, 3));
    hfi_permit_text(bench->core, 1, text, sizeof(text));
    hfi_core_permit_after(bench->core, text, 2, text);
    assert_non_null(hfi_core_permit_owner(
        bench->core,
        &(struct hfi_object){
            .kind = &hfi_kind_permits, .name = "a", .name_bytes = 1},
        text));
}

/* Their ids are one argument, those of the others before that of the first. */
static void one_request_names_them_all(void **state)
{
    struct bench *bench = *state;
    unsigned char ids[THREE * HFI_PERMIT_BYTES + 1] = {0};
    const char *words;
    char text[HFI_PERMIT_TEXT];

    for (uint64_t i = 0; i < THREE; i++) {
        hfi_permit_text(bench->core, (i + 1) % THREE + 1, text, sizeof(text));
        assert_true(hfi_permit_read(text, ids + i * HFI_PERMIT_BYTES));
    }
    acquire_three(bench, 1, NULL);
    words = bench_words(bench, bench_take(bench, HFI_ACQUIRE));
    assert_non_null(strstr(words, (const char *)ids));
    assert_string_equal(words + strlen(words) - 2, " 3");
}

/* Given up unanswered: each is undone. */
static void what_was_given_up_is_undone_one_by_one(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = acquire_three(bench, 1, NULL);
    struct hfi_copy *late = bench_take(bench, HFI_ACQUIRE);
    int i;

    bench_cancel(bench, call, HF_CANCELLED);
    assert_ended(call, HF_UNKNOWN);
    assert_int_equal(bench_stats(bench).ending, THREE);
    for (i = 0; i < THREE; i++) {
        bench_undone(bench, bench_take(bench, HFI_UNDO));
    }
    assert_int_equal(bench_stats(bench).ending, THREE); /* it may run yet */
    bench_nil(bench, late);                             /* it did */
    for (i = 0; i < THREE; i++) {
        bench_undone(bench, bench_take(bench, HFI_UNDO));
    }
    nothing_is_left(bench);
}

/* A copy that is unanswered for ever may run after the permits were given
 * back: each of them is ended. */
static void an_unclean_release_ends_each(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = acquire_three(bench, 1, NULL);
    int i;

    bench_lose(bench, bench_take(bench, HFI_ACQUIRE), true);
    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    assert_ended(call, HF_OK);
    call = give_three(bench, 1);
    bench_integer(bench, bench_take(bench, HFI_CHANGE), 1);
    assert_ended(call, HF_OK);
    assert_int_equal(bench_stats(bench).ending, THREE);
    for (i = 0; i < THREE; i++) {
        bench_undone(bench, bench_take(bench, HFI_UNDO));
    }
    bench_pass(bench, BENCH_RESPONSE_MS + 1);
    for (i = 0; i < THREE; i++) {
        bench_undone(bench, bench_take(bench, HFI_UNDO));
    }
    nothing_is_left(bench);
}

/* Granted after the lease: none is held, each is undone. */
static void a_grant_that_comes_too_late_is_undone(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = acquire_three(bench, 1, NULL);
    struct hfi_copy *copy = bench_take(bench, HFI_ACQUIRE);
    int i;

    bench_jump(bench, BENCH_LEASE_MS);
    bench_nil(bench, copy);
    assert_ended(call, HF_TIMEOUT);
    for (i = 0; i < THREE; i++) {
        bench_undone(bench, bench_take(bench, HFI_UNDO));
    }
    nothing_is_left(bench);
}

/* ---- giving back ---- */

static void from_the_request_on_nobody_holds_them(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call, *other;

    hold_three(bench);
    call = give_three(bench, 1);
    assert_false(is_held(bench, 1) || is_held(bench, 2));
    other = give_three(bench, 1);
    assert_ended(other, HF_GONE); /* another call does it */
    other = bench_start(bench, 2, "a",
                        &(struct hfi_op_request){.kind = HFI_OP_RELEASE,
                                                 .of = &hfi_kind_permits});
    assert_ended(other, HF_GONE);
    bench_integer(bench, bench_take(bench, HFI_CHANGE), 1);
    assert_ended(call, HF_OK);
    nothing_is_left(bench);
}

/* The server says that one is gone: all stay. */
static void what_was_refused_stays(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;

    hold_three(bench);
    call = give_three(bench, 2); /* the third of these is none */
    bench_nil(bench, bench_take(bench, HFI_CHANGE));
    assert_ended(call, HF_GONE);
    assert_true(is_held(bench, 1) && is_held(bench, 2) && is_held(bench, 3));
    bench_pass(bench, BENCH_LEASE_MS / 3 + 1);
    assert_int_equal(bench_take(bench, HFI_RENEW)->batch_count, THREE);
}

/* A renewal that sees it gone, while the answer is on its way, is no loss. */
static void a_renewal_during_the_release_tells_no_loss(void **state)
{
    struct bench *bench = *state;
    struct bench_notice notice;
    struct hfi_copy *renewal, *change;
    struct hfi_terms *terms = bench_terms("a");
    struct bench_call *call;
    struct hfi_value gone = {.kind = HFI_ARRAY, .count = THREE};
    size_t i;

    acquire_three(bench, 1, terms);
    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    bench_pass(bench, BENCH_LEASE_MS / 3 + 1);
    renewal = bench_take(bench, HFI_RENEW);
    call = give_three(bench, 1);
    change = bench_take(bench, HFI_CHANGE);
    gone.items = hft_alloc(THREE * sizeof(*gone.items));
    for (i = 0; i < THREE; i++) {
        gone.items[i].kind = HFI_INTEGER;
        gone.items[i].integer = -2;
    }
    bench_answer(bench, renewal, &gone);
    assert_running(call);
    bench_integer(bench, change, 1);
    assert_ended(call, HF_OK);
    assert_false(bench_told(bench, &notice));
    nothing_is_left(bench);
}

/* Unanswered, and fenced: it was not done, so they are held. */
static void what_was_fenced_stays(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;
    struct hfi_copy *lost;

    hold_three(bench);
    call = give_three(bench, 1);
    lost = bench_take(bench, HFI_CHANGE);
    bench_cancel(bench, call, HF_TIMEOUT);
    assert_running(call);
    bench_refused(bench, bench_take(bench, HFI_FENCE), bench_server_now(bench));
    assert_ended(call, HF_NOT_DONE);
    assert_true(is_held(bench, 1) && is_held(bench, 3));
    bench_refused(bench, lost, bench_server_now(bench));
    assert_true(is_held(bench, 2));
}

/* Nobody knows: they are given up, and undone. */
static void what_nobody_knows_is_undone(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;
    int i;

    hold_three(bench);
    call = give_three(bench, 1);
    (void)bench_take(bench, HFI_CHANGE);
    bench_cancel(bench, call, HF_TIMEOUT);
    (void)bench_take(bench, HFI_FENCE);
    bench_cancel(bench, call, HF_TIMEOUT);
    assert_ended(call, HF_UNKNOWN);
    assert_false(is_held(bench, 1) || is_held(bench, 2) || is_held(bench, 3));
    assert_int_equal(bench_stats(bench).ending, THREE);
    for (i = 0; i < THREE; i++) {
        bench_undone(bench, bench_take(bench, HFI_UNDO));
    }
    assert_int_equal(bench_stats(bench).ending, 0);
}

/* Lost here, though the server may still have it: nothing is asked. */
static void one_that_is_lost_is_not_promised(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;

    hold_three(bench);
    bench_jump(bench, BENCH_LEASE_MS - 20);
    call = give_three(bench, 1);
    assert_ended(call, HF_LOST);
    assert_no_copy(bench);
}

/* The wire: their ids are one argument, and go along when they are renewed. */
static void what_is_sent_names_each_of_them(void **state)
{
    struct bench *bench = *state;
    unsigned char ids[THREE * HFI_PERMIT_BYTES + 1] = {0};
    struct hfi_copy *copy;
    char text[HFI_PERMIT_TEXT];

    for (uint64_t i = 0; i < THREE; i++) {
        hfi_permit_text(bench->core, i + 1, text, sizeof(text));
        assert_true(hfi_permit_read(text, ids + i * HFI_PERMIT_BYTES));
    }
    hold_three(bench);
    bench_pass(bench, BENCH_LEASE_MS / 3);
    copy = bench_take(bench, HFI_RENEW);
    assert_int_equal(copy->batch_count, THREE);
    for (size_t i = 0; i < THREE; i++) {
        char one[HFI_PERMIT_BYTES + 1] = {0};

        memcpy(one, ids + i * HFI_PERMIT_BYTES, HFI_PERMIT_BYTES);
        assert_non_null(strstr(bench_words(bench, copy), one));
    }
    bench_renewed(bench, copy);
    give_three(bench, 1);
    copy = bench_take(bench, HFI_CHANGE);
    assert_non_null(strstr(bench_words(bench, copy), (const char *)ids));
    bench_integer(bench, copy, THREE);
    nothing_is_left(bench);
}

/* Those are not this call's to let go: the server is asked. */
static void permits_of_another_name_do_not_leave(void **state)
{
    struct bench *bench = *state;
    struct hfi_op_request ask = {.kind = HFI_OP_CHANGE,
                                 .of = &hfi_kind_permits,
                                 .word = HFI_WORD_FREE,
                                 .count = 1};
    struct hfi_op_request other = {.kind = HFI_OP_ACQUIRE,
                                   .of = &hfi_kind_permits,
                                   .count = 1,
                                   .lease_ms = BENCH_LEASE_MS};
    char text[HFI_PERMIT_TEXT];
    struct bench_call *call;

    hold_three(bench);
    bench_start(bench, 9, "b", &other); /* so that the name is known here */
    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    ask.several = hfi_several_new(1);
    hfi_permit_text(bench->core, 1, text, sizeof(text));
    assert_true(hfi_permit_read(text, ask.several->items[0].id));
    assert_null(hfi_core_permit_owner(
        bench->core,
        &(struct hfi_object){
            .kind = &hfi_kind_permits, .name = "b", .name_bytes = 1},
        text));
    call = bench_start(bench, 0, "b", &ask);
    assert_true(is_held(bench, 1));
    bench_nil(bench, bench_take(bench, HFI_CHANGE));
    assert_ended(call, HF_GONE);
    assert_true(is_held(bench, 1));
}

/* By itself, a moment ago. */
static void one_that_is_being_given_back_is_not_promised_again(void **state)
{
    struct bench *bench = *state;
    struct hfi_op_request ask = {.kind = HFI_OP_RELEASE,
                                 .of = &hfi_kind_permits};
    struct bench_call *call;

    hold_three(bench);
    bench_start(bench, 2, "a", &ask);
    call = give_three(bench, 1);
    assert_ended(call, HF_GONE);
    assert_non_null(strstr(call->error.message, "was given back"));
    bench_nil(bench, bench_take(bench, HFI_RELEASE));
    assert_no_copy(bench);
    assert_true(is_held(bench, 1) && is_held(bench, 3));
}

/* The server took it back before it knew of the end of its lease; but who holds
 * it has been told, and answers for it. */
static void one_lost_during_the_release_stays_lost(void **state)
{
    struct bench *bench = *state;
    struct hfi_op_request extend = {
        .kind = HFI_OP_EXTEND, .of = &hfi_kind_permits, .lease_ms = 60000};
    struct bench_call *extends, *gives;
    struct hfi_copy *extension, *copy;

    hold_three(bench);
    bench_pass(bench, BENCH_LEASE_MS - 2000);
    while (bench_take_any(bench) != NULL) { /* renewals, unanswered */
    }
    extends = bench_start(bench, 1, "a", &extend);
    extension = bench_take(bench, HFI_EXTEND);
    gives = give_three(bench, 1);
    copy = bench_take(bench, HFI_CHANGE);
    bench_jump(bench, 2000);
    bench_tick(bench);
    assert_running(extends); /* whose owner answers for the loss */
    bench_integer(bench, copy, THREE);
    assert_ended(gives, HF_OK);
    bench_nil(bench, extension);
    assert_ended(extends, HF_LOST);
    assert_false(is_held(bench, 1));
}

#define bench_test(function)                                                   \
    cmocka_unit_test_setup_teardown(function, bench_setup, bench_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        bench_test(one_request_takes_them_all),
        bench_test(one_request_names_them_all),
        bench_test(what_was_given_up_is_undone_one_by_one),
        bench_test(an_unclean_release_ends_each),
        bench_test(a_grant_that_comes_too_late_is_undone),
        bench_test(from_the_request_on_nobody_holds_them),
        bench_test(what_was_refused_stays),
        bench_test(a_renewal_during_the_release_tells_no_loss),
        bench_test(what_was_fenced_stays),
        bench_test(what_nobody_knows_is_undone),
        bench_test(one_that_is_lost_is_not_promised),
        bench_test(what_is_sent_names_each_of_them),
        bench_test(permits_of_another_name_do_not_leave),
        bench_test(one_that_is_being_given_back_is_not_promised_again),
        bench_test(one_lost_during_the_release_stays_lost),
    };

    return cmocka_run_group_tests_name("several", tests, NULL, NULL);
}
