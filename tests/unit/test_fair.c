/* SPDX-License-Identifier: MIT */
/* test_fair.c - the core of a fair lock: every waiter for himself, with a place
 * on the server under his number, and a channel of his own.
 *
 * Rules: fair/queue-3, fair/wait-1 to fair/wait-4, fair/again-1.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core_bench.h"
#include "support/fatal.h"
#include "sync/kinds/kind.h"
#include "sync/state.h"

#define ALL_KEYS                                                               \
    "a redisson_lock_queue:{a} redisson_lock_timeout:{a} "                     \
    "holdfast_fair_alive:{a} holdfast_fair_waits:{a} "                         \
    "holdfast_fair_members:{a} holdfast_fair_scratch:{a}"
#define CHANNEL "redisson_lock__channel:{a}"
#define CHANNEL_OF(n) CHANNEL ":" BENCH_UUID ":" #n

static struct bench_call *ask(struct bench *bench, uint64_t owner,
                              int64_t wait_ms)
{
    struct hfi_op_request asked = {.kind = HFI_OP_ACQUIRE,
                                   .of = &hfi_kind_fair,
                                   .wait_ms = wait_ms,
                                   .lease_ms = BENCH_LEASE_MS,
                                   .renewed = true};

    return bench_start(bench, owner, "a", &asked);
}

static struct bench_call *release(struct bench *bench, uint64_t owner)
{
    struct hfi_op_request asked = {.kind = HFI_OP_RELEASE,
                                   .of = &hfi_kind_fair};

    return bench_start(bench, owner, "a", &asked);
}

/* An answer of so many numbers. */
static void numbers(struct bench *bench, struct hfi_copy *copy,
                    const int64_t *numbers, size_t count)
{
    struct hfi_value value = {.kind = HFI_ARRAY, .count = count};

    value.items = hft_alloc(count * sizeof(*value.items));
    for (size_t i = 0; i < count; i++) {
        value.items[i].kind = HFI_INTEGER;
        value.items[i].integer = numbers[i];
    }
    bench_answer(bench, copy, &value);
}

/* Held by another, and others are before us in the queue. */
static void behind(struct bench *bench, struct hfi_copy *copy, int64_t ttl_ms)
{
    numbers(bench, copy, (int64_t[]){ttl_ms, 0, 0, 0}, 4);
}

/* "Done, and look again in so many ms", to a RELEASE. */
static void look_again(struct bench *bench, struct hfi_copy *copy, int64_t ms)
{
    numbers(bench, copy, &ms, 1);
}

/* The same, to an UNDO. */
static void undone_look_again(struct bench *bench, struct hfi_copy *copy,
                              int64_t ms)
{
    numbers(bench, copy, (int64_t[]){bench_server_now(bench), ms}, 2);
}

static void hold(struct bench *bench, uint64_t owner)
{
    struct bench_call *call = ask(bench, owner, 0);

    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    assert_ended(call, HF_OK);
}

/* Waiting: refused, subscribed, refused again. */
static struct bench_call *wait_behind(struct bench *bench, uint64_t owner,
                                      const char *channel, int64_t wait_ms)
{
    struct bench_call *call = ask(bench, owner, wait_ms);

    behind(bench, bench_take(bench, HFI_ACQUIRE), BENCH_LEASE_MS);
    bench_heard(bench, channel);
    behind(bench, bench_take(bench, HFI_ACQUIRE), BENCH_LEASE_MS);
    assert_running(call);
    return call;
}

static void every_request_has_its_keys_and_arguments(void **state)
{
    struct bench *bench = *state;
    struct hfi_op_request force = {
        .kind = HFI_OP_FORCE, .of = &hfi_kind_fair, .field = "somebody:1"};
    struct hfi_op_request show = {.kind = HFI_OP_SHOW, .of = &hfi_kind_fair};
    struct hfi_copy *copy;
    char words[512];

    ask(bench, 1, HF_WAIT_FOREVER);
    copy = bench_take(bench, HFI_ACQUIRE);
    snprintf(words, sizeof(words),
             "fair_acquire " ALL_KEYS " | " BENCH_UUID ":1 30000 %" PRId64
             " " CHANNEL " 300000 5000",
             bench_server_now(bench) + BENCH_RESPONSE_MS);
    assert_string_equal(bench_words(bench, copy), words);
    bench_nil(bench, copy);
    ask(bench, 1, 0);
    copy = bench_take(bench, HFI_ENTER);
    assert_string_equal(bench_words(bench, copy),
                        "lock_keep a | " BENCH_UUID ":1 2 30000");
    bench_nil(bench, copy);
    release(bench, 1);
    bench_nil(bench, bench_take(bench, HFI_LEAVE));
    release(bench, 1);
    copy = bench_take(bench, HFI_RELEASE);
    assert_string_equal(bench_words(bench, copy),
                        "fair_release " ALL_KEYS " | " BENCH_UUID
                        ":1 " CHANNEL);
    bench_nil(bench, copy);
    bench_start(bench, 0, "a", &show);
    copy = bench_take(bench, HFI_SHOW);
    assert_string_equal(bench_words(bench, copy),
                        "fair_show " ALL_KEYS " | 100");
    numbers(bench, copy, (int64_t[]){-2, 0, 0, 0, 0}, 5);
    bench_start(bench, 0, "a", &force);
    copy = bench_take(bench, HFI_FORCE);
    snprintf(words, sizeof(words),
             "fair_force " ALL_KEYS " | somebody:1 %" PRId64 " " CHANNEL,
             bench_server_now(bench) + BENCH_RESPONSE_MS);
    assert_string_equal(bench_words(bench, copy), words);
    bench_integer(bench, copy, -2);
}

/* What a copy of an ACQUIRE adds to the score, as the last but one word. */
static void assert_adds(struct bench *bench, struct hfi_copy *copy,
                        const char *expected)
{
    assert_non_null(strstr(bench_words(bench, copy), expected));
}

/* spec: fair/queue-3, fair/acquire-6 */
static void a_short_wait_adds_little_and_a_try_nothing(void **state)
{
    struct bench *bench = *state;
    struct hfi_copy *copy;

    ask(bench, 1, 250);
    copy = bench_take(bench, HFI_ACQUIRE);
    assert_adds(bench, copy, CHANNEL " 250 5000");
    behind(bench, copy, 1000);
    bench_pass(bench, 100);
    bench_heard(bench, CHANNEL_OF(1));
    copy = bench_take(bench, HFI_ACQUIRE);
    assert_adds(bench, copy, CHANNEL " 250 5000");
    bench_nil(bench, copy);
    ask(bench, 2, 0);
    assert_no_copy(bench); /* it is known here that it is busy */
    release(bench, 1);
    bench_nil(bench, bench_take(bench, HFI_RELEASE));
    ask(bench, 2, 0);
    copy = bench_take(bench, HFI_ACQUIRE);
    assert_adds(bench, copy, CHANNEL " 0 0");
    bench_integer(bench, copy, 500);
    assert_no_copy(bench); /* nothing is left there to undo */
}

/* spec: fair/wait-1 */
static void every_waiter_asks_for_himself_although_it_is_held_here(void **state)
{
    struct bench *bench = *state;
    struct bench_call *second, *third;

    hold(bench, 1);
    second = wait_behind(bench, 2, CHANNEL_OF(2), HF_WAIT_FOREVER);
    third = wait_behind(bench, 3, CHANNEL_OF(3), HF_WAIT_FOREVER);
    assert_false(bench_wants(bench, CHANNEL));
    release(bench, 1);
    bench_nil(bench, bench_take(bench, HFI_RELEASE));
    assert_no_copy(bench); /* the server tells who is next */
    bench_message(bench, CHANNEL_OF(2));
    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    assert_ended(second, HF_OK);
    assert_running(third);
    assert_no_copy(bench);
    assert_false(bench_wants(bench, CHANNEL_OF(2)));
    assert_true(bench_wants(bench, CHANNEL_OF(3)));
}

/* spec: fair/wait-2 */
static void only_the_first_in_the_queue_asks_at_the_end_of_the_lease(
    void **state)
{
    struct bench *bench = *state;

    ask(bench, 1, HF_WAIT_FOREVER);
    bench_integer(bench, bench_take(bench, HFI_ACQUIRE), 100);
    bench_heard(bench, CHANNEL_OF(1));
    bench_integer(bench, bench_take(bench, HFI_ACQUIRE), 100);
    ask(bench, 2, HF_WAIT_FOREVER);
    behind(bench, bench_take(bench, HFI_ACQUIRE), 100);
    bench_heard(bench, CHANNEL_OF(2));
    behind(bench, bench_take(bench, HFI_ACQUIRE), 100);
    bench_pass(bench, 102);
    bench_integer(bench, bench_take(bench, HFI_ACQUIRE), 5000);
    assert_no_copy(bench);
    bench_pass(bench, 2000); /* and both say that they live */
    bench_integer(bench, bench_take(bench, HFI_ACQUIRE), 5000);
    behind(bench, bench_take(bench, HFI_ACQUIRE), 5000);
    assert_no_copy(bench);
}

/* spec: fair/wait-4 */
static void who_gives_up_after_a_refusal_is_undone(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = wait_behind(bench, 1, CHANNEL_OF(1), 500);
    struct hfi_copy *undo;

    bench_pass(bench, 500);
    assert_ended(call, HF_TIMEOUT);
    undo = bench_take(bench, HFI_UNDO);
    assert_string_equal(bench_words(bench, undo),
                        "fair_undo " ALL_KEYS " | " BENCH_UUID ":1 " CHANNEL);
    bench_undone(bench, undo);
    assert_no_copy(bench);
    assert_false(bench_wants(bench, CHANNEL_OF(1)));
    call = wait_behind(bench, 1, CHANNEL_OF(2), HF_WAIT_FOREVER);
    bench_cancel(bench, call, HF_CANCELLED);
    assert_ended(call, HF_CANCELLED);
    bench_undone(bench, bench_take(bench, HFI_UNDO));
    assert_true(hfi_core_idle(bench->core));
}

static void who_was_granted_or_never_sent_has_nothing_to_undo(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;

    bench_links_down(bench);
    call = ask(bench, 1, 100);
    bench_pass(bench, 100);
    assert_ended(call, HF_UNREACHABLE);
    bench_link_up(bench, HFI_LINK_MAIN);
    assert_no_copy(bench);
    wait_behind(bench, 1, CHANNEL_OF(1), HF_WAIT_FOREVER);
    bench_message(bench, CHANNEL_OF(1));
    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    release(bench, 1);
    bench_nil(bench, bench_take(bench, HFI_RELEASE));
    assert_no_copy(bench);
}

/* A grant that came too late costs the number, and the place. */
static void a_fresh_number_has_a_channel_of_its_own(void **state)
{
    struct bench *bench = *state;
    struct hfi_op_request asked = {.kind = HFI_OP_ACQUIRE,
                                   .of = &hfi_kind_fair,
                                   .wait_ms = HF_WAIT_FOREVER,
                                   .lease_ms = 100};
    struct bench_call *call = bench_start(bench, 1, "a", &asked);
    struct hfi_copy *late;

    behind(bench, bench_take(bench, HFI_ACQUIRE), 1000);
    bench_heard(bench, CHANNEL_OF(1));
    late = bench_take(bench, HFI_ACQUIRE);
    bench_jump(bench, 200);
    bench_nil(bench, late);
    bench_undone(bench, bench_take(bench, HFI_UNDO));
    behind(bench, bench_take(bench, HFI_ACQUIRE), 1000);
    assert_false(bench_wants(bench, CHANNEL_OF(1)));
    assert_true(bench_wants(bench, CHANNEL_OF(2)));
    bench_heard(bench, CHANNEL_OF(2));
    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    assert_ended(call, HF_OK);
}

/* spec: fair/again-1 */
static void who_left_anothers_first_looks_again_when_told_to(void **state)
{
    struct bench *bench = *state;

    hold(bench, 1);
    release(bench, 1);
    look_again(bench, bench_take(bench, HFI_RELEASE), 3000);
    bench_pass(bench, 2999);
    assert_no_copy(bench);
    for (int looks = 0; looks < HFI_LOOKS_MAX; looks++) {
        bench_pass(bench, 3000);
        undone_look_again(bench, bench_take(bench, HFI_UNDO), 3000);
    }
    bench_pass(bench, 10000);
    assert_no_copy(bench);
    assert_true(hfi_core_idle(bench->core));
}

static void a_closing_client_does_not_wait_to_look_again(void **state)
{
    struct bench *bench = *state;

    hold(bench, 1);
    release(bench, 1);
    look_again(bench, bench_take(bench, HFI_RELEASE), 3000);
    assert_false(hfi_core_ended(bench->core));
    hfi_core_close(bench->core, bench->now);
    assert_true(hfi_core_ended(bench->core));
    assert_no_copy(bench);
}

/* spec: fair/wait-3: however many wait, each is heard of in time. */
static void thousands_say_seldom_that_they_live_and_that_they_do_so(
    void **state)
{
    enum { CROWD = 3000 };
    struct bench *bench = *state;
    struct hfi_copy *copy;
    int64_t alive_ms = 0;

    for (uint64_t owner = 1; owner <= CROWD; owner++) {
        char channel[128];

        snprintf(channel, sizeof(channel), CHANNEL ":" BENCH_UUID ":%" PRIu64,
                 owner);
        wait_behind(bench, owner, channel, HF_WAIT_FOREVER);
    }
    bench_pass(bench, 2000);
    while ((copy = bench_take_any(bench)) != NULL) {
        behind(bench, copy, BENCH_LEASE_MS);
    }
    bench_pass(bench, 4000);
    while ((copy = bench_take_any(bench)) != NULL) {
        assert_true(copy->alive_ms >= HF_FAIR_DEAD_MS);
        alive_ms = copy->alive_ms > alive_ms ? copy->alive_ms : alive_ms;
        behind(bench, copy, BENCH_LEASE_MS);
    }
    assert_true(alive_ms > HF_FAIR_DEAD_MS && alive_ms <= 15000);
    /* The next time is within two fifths of what the last one said. */
    bench_pass(bench, alive_ms * 2 / 5 + 1);
    for (int i = 0; i < CROWD; i++) {
        behind(bench, bench_take(bench, HFI_ACQUIRE), BENCH_LEASE_MS);
    }
}

/* spec: fair/queue-3, fair/wait-3 */
static void its_options_say_how_long_a_place_is_kept(void **state)
{
    struct bench *bench = *state;
    struct hfi_kind_options options = {
        .refs = 1, .queue_wait_ms = 60000, .dead_ms = 9000};
    struct hfi_op_request asked = {.kind = HFI_OP_ACQUIRE,
                                   .of = &hfi_kind_fair,
                                   .options = &options,
                                   .wait_ms = HF_WAIT_FOREVER,
                                   .lease_ms = BENCH_LEASE_MS};
    struct bench_call *call = bench_start(bench, 1, "a", &asked);
    struct hfi_copy *copy = bench_take(bench, HFI_ACQUIRE);

    assert_adds(bench, copy, CHANNEL " 60000 9000");
    behind(bench, copy, BENCH_LEASE_MS);
    bench_cancel(bench, call, HF_CANCELLED);
    bench_undone(bench, bench_take(bench, HFI_UNDO));
    /* One that is soon dead says so much oftener that it lives. */
    options.dead_ms = 1000;
    call = bench_start(bench, 1, "a", &asked);
    copy = bench_take(bench, HFI_ACQUIRE);
    assert_adds(bench, copy, CHANNEL " 60000 1000");
    behind(bench, copy, BENCH_LEASE_MS);
    bench_heard(bench, CHANNEL_OF(2));
    behind(bench, bench_take(bench, HFI_ACQUIRE), BENCH_LEASE_MS);
    bench_pass(bench, 400);
    behind(bench, bench_take(bench, HFI_ACQUIRE), BENCH_LEASE_MS);
    bench_cancel(bench, call, HF_CANCELLED);
    bench_undone(bench, bench_take(bench, HFI_UNDO));
    assert_int_equal(options.refs, 1);
}

static void what_is_undone_by_closing_is_not_looked_after(void **state)
{
    struct bench *bench = *state;

    hold(bench, 1);
    hfi_core_close(bench->core, bench->now);
    undone_look_again(bench, bench_take(bench, HFI_UNDO), 3000);
    assert_true(hfi_core_ended(bench->core));
    assert_no_copy(bench);
}

/* It is on its way, and its answer is the end of it. */
static void a_look_that_was_sent_is_the_last_of_a_closing_client(void **state)
{
    struct bench *bench = *state;
    struct hfi_copy *undo;

    hold(bench, 1);
    release(bench, 1);
    look_again(bench, bench_take(bench, HFI_RELEASE), 3000);
    bench_pass(bench, 3000);
    undo = bench_take(bench, HFI_UNDO);
    hfi_core_close(bench->core, bench->now);
    assert_false(hfi_core_ended(bench->core));
    undone_look_again(bench, undo, 3000);
    assert_true(hfi_core_ended(bench->core));
    assert_no_copy(bench);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
#define TEST(function)                                                         \
    cmocka_unit_test_setup_teardown(function, bench_setup, bench_teardown)
        TEST(every_request_has_its_keys_and_arguments),
        TEST(a_short_wait_adds_little_and_a_try_nothing),
        TEST(every_waiter_asks_for_himself_although_it_is_held_here),
        TEST(only_the_first_in_the_queue_asks_at_the_end_of_the_lease),
        TEST(who_gives_up_after_a_refusal_is_undone),
        TEST(who_was_granted_or_never_sent_has_nothing_to_undo),
        TEST(a_fresh_number_has_a_channel_of_its_own),
        TEST(who_left_anothers_first_looks_again_when_told_to),
        TEST(a_closing_client_does_not_wait_to_look_again),
        TEST(thousands_say_seldom_that_they_live_and_that_they_do_so),
        TEST(its_options_say_how_long_a_place_is_kept),
        TEST(what_is_undone_by_closing_is_not_looked_after),
        TEST(a_look_that_was_sent_is_the_last_of_a_closing_client),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
