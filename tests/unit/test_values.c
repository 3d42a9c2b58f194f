/* SPDX-License-Identifier: MIT */
/* test_values.c - the values lock in the core: which values are one hold, which
 * are two, and which an owner cannot have.
 *
 * What is sent is in test_wire_kinds.c.
 */
#include <string.h>

#include "core_bench.h"

/* Fields, 22 bytes each, in their order. */
#define A "AAAAAAAAAAAAAAAAAAAAAA"
#define B "BBBBBBBBBBBBBBBBBBBBBB"
#define C "CCCCCCCCCCCCCCCCCCCCCC"
#define D "DDDDDDDDDDDDDDDDDDDDDD"

struct values {
    struct hfi_kind_options options;
    char bytes[sizeof(A B C)];
};

/* What a lock object that was made with these values has.  It outlives the core,
 * which refers to it: so the references never come to nothing. */
static void values_of(const char *fields, struct values *ret_values)
{
    memset(ret_values, 0, sizeof(*ret_values));
    ret_values->options.refs = 1;
    ret_values->options.values_bytes = strlen(fields);
    memcpy(ret_values->bytes, fields, strlen(fields));
    ret_values->options.values = ret_values->bytes;
}

static struct bench_call *call(struct bench *bench, uint64_t owner,
                               struct values *values, enum hfi_op_kind kind)
{
    struct hfi_op_request ask = {.kind = kind,
                                 .of = &hfi_kind_values,
                                 .options = &values->options,
                                 .lease_ms = BENCH_LEASE_MS,
                                 .renewed = true};

    return bench_start(bench, owner, "a", &ask);
}

static void take(struct bench *bench, uint64_t owner, struct values *values)
{
    struct bench_call *taking = call(bench, owner, values, HFI_OP_ACQUIRE);

    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    assert_ended(taking, HF_OK);
}

static int64_t holds(struct bench *bench, uint64_t owner,
                     const struct values *values)
{
    struct hfi_object object = {.kind = &hfi_kind_values,
                                .name = "a",
                                .name_bytes = 1,
                                .options = &values->options};
    struct hfi_hold_view view;

    hfi_core_view(bench->core, hfi_owner_get(bench->core, owner, false),
                  &object, bench->now, &view);
    return view.count;
}

/* Whatever lock object they were named by. */
static void the_same_values_are_one_hold(void **state)
{
    struct bench *bench = *state;
    static struct values some, same;

    values_of(A B, &some);
    values_of(A B, &same);
    take(bench, 1, &some);
    call(bench, 1, &same, HFI_OP_ACQUIRE);
    bench_nil(bench, bench_take(bench, HFI_ENTER));
    assert_int_equal(holds(bench, 1, &some), 2);
    call(bench, 1, &same, HFI_OP_RELEASE);
    bench_nil(bench, bench_take(bench, HFI_LEAVE));
    call(bench, 1, &some, HFI_OP_RELEASE);
    bench_nil(bench, bench_take(bench, HFI_RELEASE));
    assert_int_equal(holds(bench, 1, &same), 0);
    assert_true(hfi_core_idle(bench->core));
}

static void other_values_of_an_owner_are_another_hold(void **state)
{
    struct bench *bench = *state;
    static struct values first, second, third, between;
    struct bench_call *releasing;

    values_of(A C, &first);
    values_of(B, &second);
    values_of(D, &third);
    values_of(C, &between);
    take(bench, 1, &first);
    take(bench, 1, &second);
    take(bench, 1, &third);
    assert_int_equal(holds(bench, 1, &first), 1);
    assert_int_equal(holds(bench, 1, &second), 1);
    releasing = call(bench, 1, &between, HFI_OP_RELEASE);
    assert_ended(releasing, HF_NOT_OWNER);
    call(bench, 1, &second, HFI_OP_RELEASE);
    bench_nil(bench, bench_take(bench, HFI_RELEASE));
    assert_int_equal(holds(bench, 1, &second), 0);
    assert_int_equal(holds(bench, 1, &first), 1);
}

/* He would wait for himself. */
static void values_of_which_the_owner_has_some_are_refused(void **state)
{
    static const char *const wanted[] = {A, B, A B C, B C, A C};
    struct bench *bench = *state;
    static struct values held, more;

    values_of(A B, &held);
    take(bench, 1, &held);
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        values_of(wanted[i], &more);
        assert_ended(call(bench, 1, &more, HFI_OP_ACQUIRE), HF_ALREADY_HELD);
    }
    assert_no_copy(bench);
    assert_int_equal(holds(bench, 1, &held), 1);
}

/* Only the server knows which values stand in whose way. */
static void another_owner_asks_whatever_is_held_here(void **state)
{
    struct bench *bench = *state;
    static struct values held, wanted;
    struct bench_call *trying;

    values_of(A B, &held);
    values_of(B C, &wanted);
    take(bench, 1, &held);
    trying = call(bench, 2, &wanted, HFI_OP_ACQUIRE);
    bench_integer(bench, bench_take(bench, HFI_ACQUIRE), 500);
    assert_ended(trying, HF_BUSY);
    assert_int_equal(holds(bench, 1, &held), 1);
}

/* Other kinds have options too, but no values: they are no part of what a hold
 * is. */
static void options_that_name_no_values_make_no_other_hold(void **state)
{
    struct bench *bench = *state;
    static struct hfi_kind_options options = {.refs = 1, .token_ttl_ms = 5000};
    struct hfi_op_request ask = {.kind = HFI_OP_ACQUIRE,
                                 .of = &hfi_kind_lock,
                                 .options = &options,
                                 .lease_ms = BENCH_LEASE_MS};

    bench_start(bench, 1, "a", &ask);
    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    ask.options = NULL;
    bench_start(bench, 1, "a", &ask);
    bench_nil(bench, bench_take(bench, HFI_ENTER));
    assert_int_equal(bench_count(bench, 1, "a"), 2);
    bench_unlock(bench, 1, "a");
    bench_nil(bench, bench_take(bench, HFI_LEAVE));
    bench_free(bench, 1, "a");
}

static void a_writer_whose_lock_has_options_may_read(void **state)
{
    struct bench *bench = *state;
    static struct hfi_kind_options options = {.refs = 1, .token_ttl_ms = 5000};
    struct hfi_op_request ask = {.kind = HFI_OP_ACQUIRE,
                                 .of = &hfi_kind_write,
                                 .options = &options,
                                 .lease_ms = BENCH_LEASE_MS};
    struct bench_call *reading;

    bench_start(bench, 1, "a", &ask);
    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    ask.of = &hfi_kind_read;
    ask.options = NULL;
    reading = bench_start(bench, 1, "a", &ask);
    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    assert_ended(reading, HF_OK);
    ask.kind = HFI_OP_RELEASE;
    ask.of = &hfi_kind_write;
    ask.options = &options;
    bench_start(bench, 1, "a", &ask);
    bench_nil(bench, bench_take(bench, HFI_RELEASE));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
#define TEST(function)                                                         \
    cmocka_unit_test_setup_teardown(function, bench_setup, bench_teardown)
        TEST(the_same_values_are_one_hold),
        TEST(other_values_of_an_owner_are_another_hold),
        TEST(values_of_which_the_owner_has_some_are_refused),
        TEST(another_owner_asks_whatever_is_held_here),
        TEST(options_that_name_no_values_make_no_other_hold),
        TEST(a_writer_whose_lock_has_options_may_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
