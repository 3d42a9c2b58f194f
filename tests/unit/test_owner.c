/* SPDX-License-Identifier: MIT */
/* test_owner.c - owners: when one is busy, and the field by which the server knows
 * one.
 *
 * A busy owner cannot be freed; what it lost, or what is only being released for
 * a group, is no reason to keep it.
 */
#include <stdio.h>
#include <string.h>

#include "core_bench.h"
#include "sync/state.h"

static bool busy(struct bench *bench, uint64_t owner)
{
    struct hfi_owner *found = hfi_owner_get(bench->core, owner, false);

    return found != NULL && hfi_owner_busy(found);
}

static struct bench_call *release_detached(struct bench *bench,
                                           const char *name)
{
    struct hfi_op_request ask = {.kind = HFI_OP_RELEASE, .detached = true};

    return bench_start(bench, 1, name, &ask);
}

/* ---- busy ---- */

static void who_holds_or_calls_is_busy(void **state)
{
    struct bench *bench = *state;
    struct hfi_copy *copy;

    assert_false(busy(bench, 1));
    bench_lock(bench, 1, "a", 0);
    copy = bench_take(bench, HFI_ACQUIRE);
    assert_true(busy(bench, 1));
    bench_nil(bench, copy);
    assert_true(busy(bench, 1));
    bench_unlock(bench, 1, "a");
    copy = bench_take(bench, HFI_RELEASE);
    assert_true(busy(bench, 1));
    bench_nil(bench, copy);
    assert_false(busy(bench, 1));
}

/* Several clients hold for it as one; none of them need have anything. */
static void whom_a_group_holds_for_is_busy(void **state)
{
    struct bench *bench = *state;
    struct hfi_owner *owner = hfi_owner_get(bench->core, 1, true);

    hfi_owner_pin(owner);
    hfi_owner_pin(owner);
    hfi_owner_unpin(bench->core, owner);
    assert_true(hfi_owner_busy(owner));
    hfi_owner_ref(owner);
    hfi_owner_unpin(bench->core, owner);
    assert_false(hfi_owner_busy(owner));
    hfi_owner_unref(bench->core, owner);
    assert_null(hfi_owner_get(bench->core, 1, false));
}

/* Of a group's release nobody waits for all members. */
static void a_detached_release_leaves_its_owner_free(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;
    struct hfi_copy *copy;

    bench_hold(bench, 1, "a");
    call = release_detached(bench, "a");
    copy = bench_take(bench, HFI_RELEASE);
    assert_false(busy(bench, 1));
    assert_running(call);
    bench_nil(bench, copy);
    assert_ended(call, HF_OK);
}

static void beside_a_detached_one_another_call_makes_it_busy(void **state)
{
    struct bench *bench = *state;
    struct hfi_copy *copy;

    bench_hold(bench, 1, "a");
    release_detached(bench, "a");
    copy = bench_take(bench, HFI_RELEASE);
    bench_lock(bench, 1, "b", 0);
    assert_true(busy(bench, 1));
    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    assert_true(busy(bench, 1)); /* it holds b */
    bench_free(bench, 1, "b");
    assert_false(busy(bench, 1));
    bench_nil(bench, copy);
}

/* ---- a detached release whose turn comes late ---- */

/* Nobody would ask for it again: the level would stay for ever. */
static void a_detached_release_waits_for_its_turn(void **state)
{
    struct bench *bench = *state;
    struct bench_call *enter, *release;
    struct hfi_copy *copy;

    bench_hold(bench, 1, "a");
    enter = bench_lock(bench, 1, "a", 0);
    copy = bench_take(bench, HFI_ENTER);
    release = release_detached(bench, "a"); /* both may take as long */
    bench_pass(bench, BENCH_RESPONSE_MS + BENCH_CONNECT_MS);
    assert_ended(enter, HF_NOT_DONE);
    assert_ended(release, HF_UNKNOWN);
    bench_undone(bench, bench_take(bench, HFI_UNDO));
    bench_lose(bench, copy, true);
    assert_false(busy(bench, 1));
    assert_true(hfi_core_idle(bench->core));
}

static void it_waits_longer_than_it_may_take(void **state)
{
    struct bench *bench = *state;
    struct hfi_op_request ask = {
        .kind = HFI_OP_ACQUIRE, .wait_ms = -1, .lease_ms = BENCH_LEASE_MS};
    struct bench_call *acquire, *release;
    struct hfi_copy *copy;

    acquire = bench_start(bench, 1, "a", &ask);
    copy = bench_take(bench, HFI_ACQUIRE);
    release = release_detached(bench, "a");
    bench_pass(bench, 2 * (BENCH_RESPONSE_MS + BENCH_CONNECT_MS));
    assert_running(release);
    bench_nil(bench, copy);
    assert_ended(acquire, HF_OK);
    assert_ended(release, HF_UNKNOWN);
    bench_undone(bench, bench_take(bench, HFI_UNDO));
    assert_true(hfi_core_idle(bench->core));
}

static void one_that_is_not_detached_is_not_done(void **state)
{
    struct bench *bench = *state;
    struct hfi_op_request ask = {
        .kind = HFI_OP_ACQUIRE, .wait_ms = -1, .lease_ms = BENCH_LEASE_MS};
    struct bench_call *release;

    bench_start(bench, 1, "a", &ask);
    bench_take(bench, HFI_ACQUIRE);
    release = bench_unlock(bench, 1, "a");
    bench_pass(bench, BENCH_RESPONSE_MS + BENCH_CONNECT_MS);
    assert_ended(release, HF_NOT_DONE);
}

/* ---- the field ---- */

static void a_field_that_finds_no_room_is_none(void **state)
{
    struct bench *bench = *state;
    struct hfi_op_request ask = {.kind = HFI_OP_IMPORT,
                                 .lease_ms = BENCH_LEASE_MS,
                                 .count = 1,
                                 .field = "f00:77"};
    struct hfi_number *own, *foreign;
    char text[64] = "untouched";

    bench_hold(bench, 1, "a");
    own = hfi_owner_get(bench->core, 1, false)->numbers;
    assert_int_equal(hfi_number_field(bench->core, own, text, 38), 0);
    assert_string_equal(text, "untouched");
    assert_int_equal(hfi_number_field(bench->core, own, text, 39), 38);
    assert_string_equal(text, BENCH_UUID ":1");
    bench_start(bench, 2, "b", &ask);
    bench_nil(bench, bench_take(bench, HFI_ADOPT));
    foreign = hfi_owner_get(bench->core, 2, false)->numbers;
    assert_int_equal(hfi_number_field(bench->core, foreign, text, 6), 0);
    assert_string_equal(text, BENCH_UUID ":1");
    assert_int_equal(hfi_number_field(bench->core, foreign, text, 7), 6);
    assert_string_equal(text, "f00:77");
}

int main(void)
{
#define TEST(function)                                                         \
    cmocka_unit_test_setup_teardown(function, bench_setup, bench_teardown)
    static const struct CMUnitTest tests[] = {
        TEST(who_holds_or_calls_is_busy),
        TEST(whom_a_group_holds_for_is_busy),
        TEST(a_detached_release_leaves_its_owner_free),
        TEST(beside_a_detached_one_another_call_makes_it_busy),
        TEST(a_detached_release_waits_for_its_turn),
        TEST(it_waits_longer_than_it_may_take),
        TEST(one_that_is_not_detached_is_not_done),
        TEST(a_field_that_finds_no_room_is_none),
    };

    return cmocka_run_group_tests_name("owner", tests, NULL, NULL);
}
