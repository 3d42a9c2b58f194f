/* SPDX-License-Identifier: MIT */
/* test_listen.c - channels: which waiter counts on one alone, and what happens
 * to a listener while the driver is busy with it.
 *
 * Who waits alone may read the messages himself (docs/design/driving.md); the
 * driver carries out a subscription after it was told of it, and meanwhile the
 * core goes on.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core_bench.h"
#include "support/fatal.h"

#define LONG_MS 600000
#define CHANNEL "redisson_lock__channel:{a}"
#define CHANNEL_OF(n) CHANNEL ":" BENCH_UUID ":" #n

static struct bench_call *ask(struct bench *bench, const struct hfi_kind *kind,
                              uint64_t owner, const char *name, int64_t wait_ms)
{
    struct hfi_op_request asked = {.kind = HFI_OP_ACQUIRE,
                                   .of = kind,
                                   .wait_ms = wait_ms,
                                   .lease_ms = BENCH_LEASE_MS,
                                   .renewed = true};

    return bench_start(bench, owner, name, &asked);
}

static bool alone(const struct bench *bench, const struct bench_call *call)
{
    return hfi_op_waits_alone(bench->core, call->op);
}

/* ---- who waits alone ---- */

static void a_single_waiter_waits_alone(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = bench_lock(bench, 1, "a", -1);

    assert_false(alone(bench, call)); /* it does not wait yet */
    bench_integer(bench, bench_take(bench, HFI_ACQUIRE), LONG_MS);
    assert_true(alone(bench, call));
    bench_heard(bench, "a");
    assert_true(alone(bench, call));
}

static void two_channels_are_nobodys_alone(void **state)
{
    struct bench *bench = *state;
    struct bench_call *first = bench_wait(bench, 1, "a", -1, LONG_MS);
    struct bench_call *second = bench_wait(bench, 2, "b", -1, LONG_MS);

    assert_false(alone(bench, first));
    assert_false(alone(bench, second));
    bench_cancel(bench, second, HF_CANCELLED);
    assert_true(alone(bench, first));
}

/* The news of its channel go to the head, and from one to the next. */
static void the_head_alone_counts_on_the_channel(void **state)
{
    struct bench *bench = *state;
    struct bench_call *head = bench_wait(bench, 1, "a", -1, LONG_MS);
    struct bench_call *second = bench_lock(bench, 2, "a", -1);

    assert_false(alone(bench, second));
    bench_cancel(bench, head, HF_CANCELLED);
    assert_true(alone(bench, second));
}

static void a_try_beside_a_waiter_counts_on_nothing(void **state)
{
    struct bench *bench = *state;
    struct bench_call *waiter = bench_wait(bench, 1, "a", -1, LONG_MS);
    struct bench_call *try = bench_lock(bench, 2, "a", 0);

    assert_false(alone(bench, try));
    assert_true(alone(bench, waiter));
}

/* Whoever asks for the first time does not count on another name's channel. */
static void who_asks_elsewhere_counts_on_nothing(void **state)
{
    struct bench *bench = *state;
    struct bench_call *gone = bench_wait(bench, 1, "b", -1, LONG_MS);
    struct bench_call *waiter = bench_wait(bench, 2, "a", -1, LONG_MS);
    struct bench_call *fresh = bench_lock(bench, 3, "c", -1);

    assert_false(alone(bench, fresh)); /* nobody listened to it yet */
    bench_integer(bench, bench_take(bench, HFI_ACQUIRE), LONG_MS);
    bench_cancel(bench, fresh, HF_CANCELLED);
    /* b is listened to no more, but a hold keeps what is known of it. */
    bench_message(bench, "b");
    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    assert_ended(gone, HF_OK);
    bench_simple(bench, HFI_OP_RELEASE, 1, "b");
    fresh = bench_lock(bench, 3, "b", -1);
    assert_false(alone(bench, fresh));
    assert_true(alone(bench, waiter));
}

/* A message makes all readers ask, and a writer besides. */
static void readers_and_a_writer_do_not_wait_alone(void **state)
{
    struct bench *bench = *state;
    struct bench_call *reader = ask(bench, &hfi_kind_read, 1, "a", -1);
    struct bench_call *writer;

    bench_integer(bench, bench_take(bench, HFI_ACQUIRE), LONG_MS);
    assert_true(alone(bench, reader));
    writer = ask(bench, &hfi_kind_write, 2, "a", -1);
    bench_integer(bench, bench_take(bench, HFI_ACQUIRE), LONG_MS);
    assert_false(alone(bench, reader));
    assert_false(alone(bench, writer));
    bench_cancel(bench, reader, HF_CANCELLED);
    assert_true(alone(bench, writer));
}

static void a_second_reader_does_not_wait_alone(void **state)
{
    struct bench *bench = *state;
    struct bench_call *second;

    ask(bench, &hfi_kind_read, 1, "a", -1);
    bench_integer(bench, bench_take(bench, HFI_ACQUIRE), LONG_MS);
    second = ask(bench, &hfi_kind_read, 2, "a", -1);
    assert_false(alone(bench, second));
}

static void a_fair_waiter_alone_has_a_channel_alone(void **state)
{
    struct bench *bench = *state;
    struct bench_call *first = ask(bench, &hfi_kind_fair, 1, "a", -1);
    struct bench_call *second;

    bench_integer(bench, bench_take(bench, HFI_ACQUIRE), LONG_MS);
    assert_true(alone(bench, first));
    second = ask(bench, &hfi_kind_fair, 2, "a", -1);
    bench_integer(bench, bench_take(bench, HFI_ACQUIRE), LONG_MS);
    assert_false(alone(bench, first));
    assert_false(alone(bench, second));
}

/* ---- while the driver is busy ---- */

/* The message was read before the UNSUBSCRIBE could be sent. */
static void a_message_for_who_has_left_wakes_nobody(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = ask(bench, &hfi_kind_fair, 1, "a", -1);

    bench_integer(bench, bench_take(bench, HFI_ACQUIRE), LONG_MS);
    bench_heard(bench, CHANNEL_OF(1));
    bench_integer(bench, bench_take(bench, HFI_ACQUIRE), LONG_MS);
    hfi_core_cancel(bench->core, call->op, HF_CANCELLED, bench->now);
    bench_message(bench, CHANNEL_OF(1));
    assert_ended(call, HF_CANCELLED);
    bench_undone(bench, bench_take(bench, HFI_UNDO)); /* its place */
    assert_no_copy(bench);
    assert_false(bench_wants(bench, CHANNEL_OF(1)));
}

/* A call that was told busy, in a core of which nobody has carried out anything
 * yet; what it wants to hear is next. */
static struct hfi_op *told_busy(struct hfi_core *core,
                                const struct hfi_kind *kind)
{
    struct hfi_op_request asked = {.kind = HFI_OP_ACQUIRE,
                                   .of = kind,
                                   .owner = hfi_owner_get(core, 1, true),
                                   .wait_ms = -1,
                                   .lease_ms = BENCH_LEASE_MS,
                                   .name = "a",
                                   .name_bytes = 1};
    struct hfi_value busy = {.kind = HFI_INTEGER, .integer = LONG_MS};
    struct hfi_op *op;

    assert_int_equal(hfi_op_new(core, &asked, &op), HF_OK);
    hfi_core_start(core, op, HFI_LINK_MAIN, BENCH_BEGIN_MS);
    hfi_core_answer(core, hfi_core_next_copy(core), &busy, HFI_LINK_MAIN,
                    BENCH_BEGIN_MS);
    return op;
}

static void take_ended(struct hfi_core *core, struct hfi_op *op)
{
    assert_ptr_equal(hfi_op_next_done(core), op);
    hfi_op_free(core, op);
}

/* What is wanted can change between the driver's taking it and its having
 * carried it out: then it comes again, and is not freed before. */
static void a_listener_that_changes_meanwhile_comes_again(void **state)
{
    struct bench *bench = *state;
    struct hfi_core *core = bench->core;
    struct hfi_op *op = told_busy(core, &hfi_kind_fair);
    struct hfi_listener *listener = hfi_core_next_subscription(core);

    assert_true(hfi_listener_wants(listener));
    hfi_core_cancel(core, op, HF_CANCELLED, bench->now);
    hfi_core_subscription_done(core, listener); /* the SUBSCRIBE */
    assert_ptr_equal(hfi_core_next_subscription(core), listener);
    assert_false(hfi_listener_wants(listener));
    hfi_core_subscription_done(core, listener); /* it is gone by this */
    take_ended(core, op);
    bench_undone(bench, bench_take(bench, HFI_UNDO));
    assert_true(hfi_core_idle(core));
    assert_int_equal(bench_stats(bench).names, 0);
}

/* A client that is freed sends no UNSUBSCRIBE any more. */
static void a_core_is_freed_with_channels_to_give_up(void **state)
{
    static const struct hfi_kind *const kinds[] = {&hfi_kind_lock,
                                                   &hfi_kind_fair};
    struct hfi_core_config config = bench_config();

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct hfi_core *core = hfi_core_new(&config);
        struct hfi_op *op;

        hfi_core_link_up(core, HFI_LINK_MAIN, BENCH_BEGIN_MS, BENCH_BEGIN_MS);
        op = told_busy(core, kinds[i]);
        hfi_core_link_down(core, HFI_LINK_MAIN);
        hfi_core_close(core, BENCH_BEGIN_MS);
        take_ended(core, op);
        assert_null(hfi_core_next_copy(core));
        hfi_core_free(core);
    }
}

/* ---- channels ---- */

static void a_channel_too_long_for_its_room_says_how_long_it_is(void **state)
{
    struct bench *bench = *state;
    struct hfi_core *core = bench->core;
    struct hfi_op *op = told_busy(core, &hfi_kind_fair);
    struct hfi_listener *listener = hfi_core_next_subscription(core);
    size_t wanted = strlen(CHANNEL_OF(1));
    char room[128];

    memset(room, '#', sizeof(room));
    assert_int_equal(hfi_listener_channel(core, listener, room, wanted - 1),
                     wanted);
    assert_int_equal(room[wanted - 1], '#'); /* nothing beyond its room */
    assert_int_equal(hfi_listener_channel(core, listener, room, wanted),
                     wanted);
    assert_memory_equal(room, CHANNEL_OF(1), wanted);
    hfi_core_subscription_done(core, listener);
    hfi_core_cancel(core, op, HF_CANCELLED, bench->now);
    take_ended(core, op);
}

/* The name goes with the UNSUBSCRIBE, not before. */
static void a_name_is_kept_until_its_channel_was_given_up(void **state)
{
    struct bench *bench = *state;
    struct hfi_core *core = bench->core;
    struct hfi_op *op = told_busy(core, &hfi_kind_lock);
    struct hfi_listener *listener = hfi_core_next_subscription(core);

    hfi_core_subscription_done(core, listener);
    hfi_core_cancel(core, op, HF_CANCELLED, bench->now);
    take_ended(core, op);
    assert_int_equal(bench_stats(bench).names, 1);
    assert_ptr_equal(hfi_core_next_subscription(core), listener);
    assert_false(hfi_listener_wants(listener));
    hfi_core_subscription_done(core, listener);
    assert_int_equal(bench_stats(bench).names, 0);
}

int main(void)
{
#define TEST(function)                                                         \
    cmocka_unit_test_setup_teardown(function, bench_setup, bench_teardown)
    static const struct CMUnitTest tests[] = {
        TEST(a_single_waiter_waits_alone),
        TEST(two_channels_are_nobodys_alone),
        TEST(the_head_alone_counts_on_the_channel),
        TEST(a_try_beside_a_waiter_counts_on_nothing),
        TEST(who_asks_elsewhere_counts_on_nothing),
        TEST(readers_and_a_writer_do_not_wait_alone),
        TEST(a_second_reader_does_not_wait_alone),
        TEST(a_fair_waiter_alone_has_a_channel_alone),
        TEST(a_message_for_who_has_left_wakes_nobody),
        TEST(a_listener_that_changes_meanwhile_comes_again),
        cmocka_unit_test(a_core_is_freed_with_channels_to_give_up),
        TEST(a_channel_too_long_for_its_room_says_how_long_it_is),
        TEST(a_name_is_kept_until_its_channel_was_given_up),
    };

    return cmocka_run_group_tests_name("listen", tests, NULL, NULL);
}
