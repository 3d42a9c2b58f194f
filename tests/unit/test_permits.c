/* SPDX-License-Identifier: MIT */
/* test_permits.c - permits with leases, in the core: ids, loss, who is woken.
 *
 * "Permits" of docs/design/late-copies.md.  What the scripts do is in
 * tests/server/test_permits.c.
 */
#include <stdio.h>
#include <string.h>

#include "core_bench.h"
#include "support/fatal.h"
#include "sync/kinds/pieces.h"

/* BENCH_UUID and a number, as permits/id-2 says. */
#define ID_1 "0123456789ab4def8123456789abcdee"
#define ID_2 "0123456789ab4def8123456789abcded"
#define FOREIGN "00112233445566778899aabbccddeeff"
#define CHANNEL "redisson_sc:{a}"

static struct bench_call *acquire(struct bench *bench, uint64_t owner,
                                  int64_t wait_ms, bool renewed)
{
    struct hfi_op_request ask = {.kind = HFI_OP_ACQUIRE,
                                 .of = &hfi_kind_permits,
                                 .count = 1,
                                 .wait_ms = wait_ms,
                                 .lease_ms = BENCH_LEASE_MS,
                                 .renewed = renewed};

    return bench_start(bench, owner, "a", &ask);
}

static struct bench_call *end_or_extend(struct bench *bench,
                                        enum hfi_op_kind kind, uint64_t owner)
{
    struct hfi_op_request ask = {
        .kind = kind, .of = &hfi_kind_permits, .lease_ms = BENCH_LEASE_MS};

    return bench_start(bench, owner, "a", &ask);
}

/* BUSY: so many are there, and the next lease ends in so many ms. */
static void too_few(struct bench *bench, int64_t available, int64_t next_end_ms)
{
    struct hfi_value value = {.kind = HFI_ARRAY, .count = 2};

    value.items = hft_alloc(2 * sizeof(*value.items));
    value.items[0].kind = HFI_INTEGER;
    value.items[0].integer = available;
    value.items[1].kind = HFI_INTEGER;
    value.items[1].integer = next_end_ms;
    bench_answer(bench, bench_take(bench, HFI_ACQUIRE), &value);
}

static struct hfi_owner *owner_of(struct bench *bench, const char *id)
{
    struct hfi_object object = {
        .kind = &hfi_kind_permits, .name = "a", .name_bytes = 1};

    return hfi_core_permit_owner(bench->core, &object, id);
}

/* spec: permits/id-1, permits/id-2 */
static void an_id_is_made_of_the_client_and_the_number(void **state)
{
    struct bench *bench = *state;
    char id[HFI_PERMIT_TEXT];
    unsigned char bytes[HFI_PERMIT_BYTES];

    assert_int_equal(hfi_permit_text(bench->core, 1, id, sizeof(id)), 32);
    assert_string_equal(id, ID_1);
    assert_int_equal(hfi_permit_text(bench->core, 2, id, sizeof(id)), 32);
    assert_string_equal(id, ID_2);
    assert_int_equal(hfi_permit_text(bench->core, UINT64_MAX, id, sizeof(id)),
                     32);
    assert_string_equal(id, "0123456789ab4def7edcba9876543210");
    assert_int_equal(hfi_permit_text(bench->core, 1, id, sizeof(id) - 1), 0);
    assert_true(hfi_permit_read("00112233445566778899AABBCCDDEEFF", bytes));
    assert_int_equal(bytes[1], 0x11);
    assert_int_equal(bytes[15], 0xff);
    assert_false(hfi_permit_read("", bytes));
    assert_false(hfi_permit_read("0011223344556677", bytes));
    assert_false(hfi_permit_read(ID_1 "0", bytes));
    assert_false(hfi_permit_read(ID_1 "00", bytes));
    assert_false(hfi_permit_read(BENCH_UUID, bytes)); /* no dashes */
    assert_false(hfi_permit_read("0123456789ab4def-8123456789abcde", bytes));
    assert_false(hfi_permit_read("g123456789ab4def8123456789abcdee", bytes));
}

/* Each permit is a hold of its own, found by its id. */
static void a_permit_is_found_by_its_id(void **state)
{
    struct bench *bench = *state;
    struct bench_call *first = acquire(bench, 1, 0, true);
    struct bench_call *second;

    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    assert_ended(first, HF_OK);
    second = acquire(bench, 2, 0, true);
    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    assert_ended(second, HF_OK);
    assert_int_equal(hfi_owner_id(owner_of(bench, ID_1)), 1);
    assert_int_equal(hfi_owner_id(owner_of(bench, ID_2)), 2);
    assert_null(owner_of(bench, FOREIGN));
    assert_null(owner_of(bench, "0123456789ab4def8123456789abcdef"));
    first = end_or_extend(bench, HFI_OP_RELEASE, 1);
    bench_nil(bench, bench_take(bench, HFI_RELEASE));
    assert_ended(first, HF_OK);
    assert_null(owner_of(bench, ID_1));
    first = end_or_extend(bench, HFI_OP_RELEASE, 1);
    assert_ended(first, HF_GONE);
    assert_non_null(owner_of(bench, ID_2));
}

/* What is no id, or not of this name, is nobody's here. */
static void a_word_that_is_no_id_is_nobodys(void **state)
{
    struct bench *bench = *state;
    struct hfi_object other = {
        .kind = &hfi_kind_permits, .name = "b", .name_bytes = 1};
    struct hfi_op_request ask = {.kind = HFI_OP_ACQUIRE,
                                 .lease_ms = BENCH_LEASE_MS};

    acquire(bench, 1, 0, true);
    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    assert_non_null(owner_of(bench, ID_1));
    assert_null(owner_of(bench, "no id"));
    assert_null(hfi_core_permit_owner(bench->core, &other, ID_1));
    ask.of = &hfi_kind_permits;
    bench_start(bench, 2, "b", &ask); /* of which there are permits now, too */
    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    assert_null(hfi_core_permit_owner(bench->core, &other, ID_1));
    assert_non_null(hfi_core_permit_owner(bench->core, &other, ID_2));
}

/* Redisson up to 3.16 wrote them so. */
static void ids_may_travel_as_texts(void **state)
{
    static struct hfi_kind_options options = {.refs = 1, .text_ids = true};
    struct bench *bench = *state;
    struct hfi_op_request ask = {.kind = HFI_OP_ACQUIRE,
                                 .of = &hfi_kind_permits,
                                 .options = &options,
                                 .lease_ms = BENCH_LEASE_MS};
    struct hfi_copy *copy;

    bench_start(bench, 1, "a", &ask);
    copy = bench_take(bench, HFI_ACQUIRE);
    assert_non_null(strstr(bench_words(bench, copy), "| " ID_1 " 30000 "));
    bench_nil(bench, copy);
    ask.kind = HFI_OP_RELEASE;
    bench_start(bench, 1, "a", &ask);
    copy = bench_take(bench, HFI_RELEASE);
    assert_non_null(strstr(bench_words(bench, copy), "| " ID_1 " " CHANNEL));
    bench_nil(bench, copy);
    ask.kind = HFI_OP_CHANGE;
    ask.word = HFI_WORD_FREE;
    ask.field = FOREIGN;
    bench_start(bench, 0, "a", &ask);
    copy = bench_take(bench, HFI_CHANGE);
    assert_non_null(strstr(bench_words(bench, copy), " " FOREIGN));
}

/* One that was lost is owed to nobody, and forgotten when it is undone. */
static void a_lost_permit_is_forgotten(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = acquire(bench, 1, 0, false);

    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    assert_ended(call, HF_OK);
    bench_jump(bench, BENCH_LEASE_MS);
    bench_tick(bench);
    assert_null(owner_of(bench, ID_1));
    bench_pass(bench, 1000);
    bench_undone(bench, bench_take(bench, HFI_UNDO));
    assert_int_equal(bench_stats(bench).ending, 0);
    assert_int_equal(bench->core->number_count, 0);
    assert_int_equal(bench->core->owner_count, 0);
}

/* ... but while a call on it is under way, that call still needs it. */
static void a_permit_lost_under_a_call_ends_the_call_first(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = acquire(bench, 1, 0, false);
    struct hfi_copy *copy;

    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    assert_ended(call, HF_OK);
    call = end_or_extend(bench, HFI_OP_EXTEND, 1);
    copy = bench_take(bench, HFI_EXTEND);
    bench_integer(bench, copy, -2);
    assert_ended(call, HF_LOST);
    bench_undone(bench, bench_take(bench, HFI_UNDO));
    call = end_or_extend(bench, HFI_OP_RELEASE, 1);
    assert_ended(call, HF_LOST);
    assert_int_equal(bench->core->number_count, 0);
}

/* Busy with a time: the end of somebody's lease is waited for, and no longer. */
static void a_waiter_asks_when_the_next_lease_ends(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = acquire(bench, 1, 10000, true);

    too_few(bench, 0, 500);
    bench_heard(bench, CHANNEL);
    too_few(bench, 0, 400);
    assert_running(call);
    bench_pass(bench, 399);
    assert_no_copy(bench);
    bench_pass(bench, 2);
    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    assert_ended(call, HF_OK);
}

/* A release of this client's is news for all who wait in it. */
static void a_release_wakes_the_waiters_of_this_client(void **state)
{
    struct bench *bench = *state;
    struct bench_call *holder = acquire(bench, 1, 0, true);
    struct bench_call *waiter;

    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    assert_ended(holder, HF_OK);
    waiter = acquire(bench, 2, 10000, true);
    too_few(bench, 0, -1);
    bench_heard(bench, CHANNEL);
    too_few(bench, 0, -1);
    holder = end_or_extend(bench, HFI_OP_RELEASE, 1);
    bench_nil(bench, bench_take(bench, HFI_RELEASE));
    assert_ended(holder, HF_OK);
    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    assert_ended(waiter, HF_OK);
}

/* The first asks for all: a hundred who wait cost one question for a message. */
static void the_first_asks_for_all_who_wait(void **state)
{
    struct bench *bench = *state;
    struct bench_call *first, *last = NULL;
    uint64_t i;

    first = acquire(bench, 1, 10000, true);
    too_few(bench, 0, -1);
    for (i = 2; i <= 100; i++) {
        last = acquire(bench, i, 10000, true);
        too_few(bench, 0, -1); /* each asked once, when it came */
    }
    bench_heard(bench, CHANNEL);
    too_few(bench, 0, -1);
    assert_no_copy(bench);
    bench_message(bench, CHANNEL);
    too_few(bench, 0, -1);
    assert_no_copy(bench);
    bench_message(bench, CHANNEL);
    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    assert_ended(first, HF_OK);
    too_few(bench, 0, -1); /* the second, whose turn it is now */
    assert_no_copy(bench);
    assert_running(last);
}

/* The bound, and the end of a lease: then the first looks for all.
 * spec: permits/acquire-5 */
static void the_first_looks_at_the_bound(void **state)
{
    struct bench *bench = *state;
    struct bench_call *first = acquire(bench, 1, 60000, true);
    struct bench_call *second;

    too_few(bench, 0, -1);
    second = acquire(bench, 2, 60000, true);
    too_few(bench, 0, -1);
    bench_heard(bench, CHANNEL);
    too_few(bench, 0, 300);
    bench_pass(bench, 302);
    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    assert_ended(first, HF_OK);
    too_few(bench, 0, -1);
    bench_pass(bench, BENCH_BOUND_MS + 1);
    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    assert_ended(second, HF_OK);
}

/* A lock's holder has a lease to tell of; of permits there are many. */
static void too_few_for_a_try_is_busy_and_says_of_what(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = acquire(bench, 1, 0, true);

    too_few(bench, 0, 5000);
    assert_ended(call, HF_BUSY);
    assert_non_null(strstr(call->error.message, "permit"));
}

static void a_permit_that_the_server_lost_is_told_by_its_id(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;

    acquire(bench, 1, 0, true);
    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    call = end_or_extend(bench, HFI_OP_RELEASE, 1);
    bench_integer(bench, bench_take(bench, HFI_RELEASE), -2);
    assert_ended(call, HF_GONE);
    assert_non_null(strstr(call->error.message, ID_1));
}

/* An owner has one permit at most: what it asks of another name is nobody's. */
static void a_permit_of_another_name_is_not_given_back(void **state)
{
    struct bench *bench = *state;
    struct hfi_op_request ask = {.kind = HFI_OP_RELEASE,
                                 .of = &hfi_kind_permits};
    struct bench_call *call;

    acquire(bench, 1, 0, true);
    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    call = bench_start(bench, 1, "b", &ask);
    assert_ended(call, HF_GONE);
    assert_no_copy(bench);
    assert_non_null(owner_of(bench, ID_1));
}

/* Its number has gone to its release, and is no hold any more. */
static void a_permit_on_its_way_back_is_not_given_back_twice(void **state)
{
    struct bench *bench = *state;
    struct bench_call *first, *second;
    struct hfi_copy *copy;

    acquire(bench, 1, 0, true);
    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    first = end_or_extend(bench, HFI_OP_RELEASE, 1);
    copy = bench_take(bench, HFI_RELEASE);
    second = end_or_extend(bench, HFI_OP_RELEASE, 1);
    assert_running(second); /* it waits for its turn */
    bench_nil(bench, copy);
    assert_ended(first, HF_OK);
    assert_ended(second, HF_GONE);
    assert_no_copy(bench);
}

#define bench_test(function)                                                   \
    cmocka_unit_test_setup_teardown(function, bench_setup, bench_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        bench_test(an_id_is_made_of_the_client_and_the_number),
        bench_test(a_permit_is_found_by_its_id),
        bench_test(a_word_that_is_no_id_is_nobodys),
        bench_test(ids_may_travel_as_texts),
        bench_test(a_lost_permit_is_forgotten),
        bench_test(a_permit_lost_under_a_call_ends_the_call_first),
        bench_test(a_waiter_asks_when_the_next_lease_ends),
        bench_test(a_release_wakes_the_waiters_of_this_client),
        bench_test(the_first_asks_for_all_who_wait),
        bench_test(the_first_looks_at_the_bound),
        bench_test(too_few_for_a_try_is_busy_and_says_of_what),
        bench_test(a_permit_that_the_server_lost_is_told_by_its_id),
        bench_test(a_permit_of_another_name_is_not_given_back),
        bench_test(a_permit_on_its_way_back_is_not_given_back_twice),
    };

    return cmocka_run_group_tests_name("permits", tests, NULL, NULL);
}
