/* SPDX-License-Identifier: MIT */
/* test_adopt.c - plans that continue what a handle has, and that hand it out.
 *
 * docs/design/groups.md, "Handles".  T13.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sync/plan.h"

#define MEMBERS 5
#define LIMIT_MS 50

struct bench {
    struct hfi_plan plan;
    struct hfi_plan_member members[MEMBERS];
    int64_t now;
};

/* A plan of so many members that the handle has, and that are all concerned. */
static void bench_begin(struct bench *bench, size_t count, size_t quorum)
{
    memset(bench, 0, sizeof(*bench));
    bench->now = 1000;
    bench->plan.way = &hfi_way_adopt;
    bench->plan.members = bench->members;
    bench->plan.count = count;
    bench->plan.quorum = quorum;
    bench->plan.limit_ms = LIMIT_MS;
    for (size_t i = 0; i < count; i++) {
        bench->members[i].part = true;
    }
}

static void take(struct bench *bench)
{
    hfi_plan_take(&bench->plan, bench->now);
}

static void assert_wants(struct bench *bench, size_t at, enum hfi_want want)
{
    assert_int_equal(bench->members[at].want, want);
    bench->members[at].want = HFI_WANT_NOTHING;
}

static void assert_all_want(struct bench *bench, enum hfi_want want)
{
    for (size_t i = 0; i < bench->plan.count; i++) {
        assert_wants(bench, i, want);
    }
}

static void end(struct bench *bench, size_t at, hf_status status)
{
    hfi_plan_ended(&bench->plan, at, status, bench->now);
}

static void pass(struct bench *bench, int64_t ms)
{
    bench->now += ms;
    hfi_plan_tick(&bench->plan, bench->now);
}

static void assert_done(const struct bench *bench, hf_status status,
                        size_t blame)
{
    assert_int_equal(bench->plan.state, HFI_PLAN_DONE);
    assert_int_equal(bench->plan.status, status);
    assert_int_equal(bench->plan.blame, blame);
}

/* ---- adopted ---- */

static void all_are_asked_at_once(void **state)
{
    struct bench bench;

    (void)state;
    bench_begin(&bench, 3, 3);
    take(&bench);
    assert_all_want(&bench, HFI_WANT_ASK);
    end(&bench, 2, HF_OK);
    end(&bench, 0, HF_OK);
    assert_int_equal(bench.plan.state, HFI_PLAN_ASKING);
    end(&bench, 1, HF_OK);
    assert_int_equal(bench.plan.state, HFI_PLAN_COMPLETE);
    hfi_plan_confirm(&bench.plan, true, bench.now);
    assert_done(&bench, HF_OK, 3);
    assert_all_want(&bench, HFI_WANT_NOTHING);
}

/* ... but for what the handle does not have. */
static void what_is_not_held_is_not_asked(void **state)
{
    struct bench bench;

    (void)state;
    bench_begin(&bench, 3, 2);
    bench.members[1].part = false;
    take(&bench);
    assert_wants(&bench, 0, HFI_WANT_ASK);
    assert_wants(&bench, 1, HFI_WANT_NOTHING);
    assert_wants(&bench, 2, HFI_WANT_ASK);
    end(&bench, 0, HF_OK);
    end(&bench, 2, HF_OK);
    assert_int_equal(bench.plan.state, HFI_PLAN_COMPLETE);
}

static void a_quorum_waits_for_the_others_to_the_limit(void **state)
{
    struct bench bench;

    (void)state;
    bench_begin(&bench, 3, 2);
    take(&bench);
    end(&bench, 0, HF_OK);
    end(&bench, 1, HF_OK);
    pass(&bench, LIMIT_MS - 1);
    assert_int_equal(bench.plan.state, HFI_PLAN_ASKING);
    pass(&bench, 1);
    assert_int_equal(bench.plan.state, HFI_PLAN_COMPLETE);
    hfi_plan_confirm(&bench.plan, true, bench.now);
    assert_done(&bench, HF_OK, 3);
    assert_wants(&bench, 2, HFI_WANT_ASK); /* of the beginning */
    end(&bench, 2, HF_OK);                 /* it joins */
    assert_int_equal(bench.members[2].state, HFI_MEMBER_HELD);
    assert_wants(&bench, 2, HFI_WANT_NOTHING);
}

static void the_limit_alone_ends_nothing(void **state)
{
    struct bench bench;

    (void)state;
    bench_begin(&bench, 3, 2);
    take(&bench);
    end(&bench, 0, HF_OK);
    pass(&bench, LIMIT_MS);
    assert_int_equal(bench.plan.state, HFI_PLAN_ASKING);
    end(&bench, 1, HF_OK);
    assert_int_equal(bench.plan.state, HFI_PLAN_COMPLETE);
}

static void what_is_left_of_a_lost_group_is_released(void **state)
{
    struct bench bench;

    (void)state;
    bench_begin(&bench, 3, 3);
    take(&bench);
    assert_all_want(&bench, HFI_WANT_ASK);
    end(&bench, 0, HF_OK);
    end(&bench, 1, HF_GONE);
    assert_int_equal(bench.plan.state, HFI_PLAN_ASKING); /* of the third too */
    end(&bench, 2, HF_OK);
    assert_wants(&bench, 0, HFI_WANT_LEAVE);
    assert_wants(&bench, 1, HFI_WANT_NOTHING);
    assert_wants(&bench, 2, HFI_WANT_LEAVE);
    end(&bench, 0, HF_OK);
    end(&bench, 2, HF_OK);
    assert_done(&bench, HF_GONE, 1);
}

static void what_may_stand_yet_is_handed_back(void **state)
{
    struct bench bench;

    (void)state;
    bench_begin(&bench, 3, 2);
    take(&bench);
    assert_all_want(&bench, HFI_WANT_ASK);
    end(&bench, 0, HF_GONE);
    end(&bench, 1, HF_OK);
    end(&bench, 2, HF_UNREACHABLE);
    assert_wants(&bench, 1, HFI_WANT_HAND_OUT);
    end(&bench, 1, HF_OK);
    assert_done(&bench, HF_UNREACHABLE, 2);
    assert_all_want(&bench, HFI_WANT_NOTHING);
}

static void without_a_quorum_in_the_handle_it_is_gone(void **state)
{
    struct bench bench;

    (void)state;
    bench_begin(&bench, 3, 2);
    bench.members[0].part = bench.members[1].part = false;
    take(&bench);
    assert_wants(&bench, 2, HFI_WANT_ASK);
    end(&bench, 2, HF_OK);
    assert_wants(&bench, 2, HFI_WANT_LEAVE);
    end(&bench, 2, HF_OK);
    assert_done(&bench, HF_GONE, 3);
}

/* A lease was over when all had been adopted. */
static void what_does_not_last_is_released(void **state)
{
    struct bench bench;

    (void)state;
    bench_begin(&bench, 2, 2);
    take(&bench);
    assert_all_want(&bench, HFI_WANT_ASK);
    end(&bench, 0, HF_OK);
    end(&bench, 1, HF_OK);
    hfi_plan_confirm(&bench.plan, false, bench.now);
    assert_all_want(&bench, HFI_WANT_LEAVE);
    end(&bench, 0, HF_OK);
    end(&bench, 1, HF_OK);
    assert_done(&bench, HF_TIMEOUT, 2);
}

/* ---- handed out ---- */

static void hand_out(struct bench *bench, size_t count, size_t quorum)
{
    bench_begin(bench, count, quorum);
    hfi_plan_each(&bench->plan, HFI_WANT_HAND_OUT, bench->now);
    assert_all_want(bench, HFI_WANT_HAND_OUT);
}

static void all_that_is_held_is_handed_out(void **state)
{
    struct bench bench;

    (void)state;
    hand_out(&bench, 3, 2);
    end(&bench, 0, HF_OK);
    end(&bench, 1, HF_OK);
    assert_int_equal(bench.plan.state, HFI_PLAN_LEAVING); /* all have to say */
    end(&bench, 2, HF_LOST);
    assert_done(&bench, HF_OK, 3);
    assert_all_want(&bench, HFI_WANT_NOTHING);
}

/* Nobody has a handle of it. */
static void what_cannot_be_handed_out_is_left(void **state)
{
    struct bench bench;

    (void)state;
    hand_out(&bench, 2, 2);
    end(&bench, 0, HF_NOT_DONE);
    end(&bench, 1, HF_OK);
    assert_done(&bench, HF_NOT_DONE, 0);
    assert_wants(&bench, 0, HFI_WANT_LEAVE);
    assert_wants(&bench, 1, HFI_WANT_NOTHING);
    end(&bench, 0, HF_OK);
    assert_all_want(&bench, HFI_WANT_NOTHING);
}

static void a_lost_member_loses_what_needs_all(void **state)
{
    struct bench bench;

    (void)state;
    hand_out(&bench, 2, 2);
    end(&bench, 1, HF_LOST);
    end(&bench, 0, HF_OK);
    assert_done(&bench, HF_LOST, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_are_asked_at_once),
        cmocka_unit_test(what_is_not_held_is_not_asked),
        cmocka_unit_test(a_quorum_waits_for_the_others_to_the_limit),
        cmocka_unit_test(the_limit_alone_ends_nothing),
        cmocka_unit_test(what_is_left_of_a_lost_group_is_released),
        cmocka_unit_test(what_may_stand_yet_is_handed_back),
        cmocka_unit_test(without_a_quorum_in_the_handle_it_is_gone),
        cmocka_unit_test(what_does_not_last_is_released),
        cmocka_unit_test(all_that_is_held_is_handed_out),
        cmocka_unit_test(what_cannot_be_handed_out_is_left),
        cmocka_unit_test(a_lost_member_loses_what_needs_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
