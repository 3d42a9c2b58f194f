/* SPDX-License-Identifier: MIT */
/* test_plan.c - what a plan for all members wants of them, event by event, and
 * what no order of events may bring about in any plan.
 *
 * Rows: ML-02, ML-03, ML-21, ML-24.
 */
#include "base/ids.h"
#include "plan_bench.h"
#include "support/seed.h"

/* ---- multi ---- */

static void members_are_asked_one_after_the_other(void **state)
{
    struct bench bench = bench_of(&hfi_way_multi, 3, 0);

    (void)state;
    begin(&bench);
    for (size_t i = 0; i < 3; i++) {
        assert_wants(&bench, i, HFI_WANT_ASK);
        assert_int_equal(bench.members[i].wait_ms, 0);
        assert_wants_nothing(&bench);
        end(&bench, i, HF_OK);
    }
    assert_int_equal(bench.plan.state, HFI_PLAN_COMPLETE);
    hfi_plan_confirm(&bench.plan, true, bench.now);
    assert_done(&bench, HF_OK);
}

/* One request can take the members, and is to. */
static void begin_together(struct bench *bench)
{
    bench->plan.may_together = true;
    begin(bench);
    assert_true(bench->plan.together);
    for (size_t i = 0; i < bench->plan.count; i++) {
        assert_wants(bench, i, HFI_WANT_ASK);
        assert_int_equal(bench->members[i].wait_ms, bench->plan.wait_ms);
    }
}

static void members_of_one_request_are_asked_at_once(void **state)
{
    struct bench bench = bench_of(&hfi_way_multi, 3, 500);

    (void)state;
    bench.plan.catch_up = true;
    begin_together(&bench);
    end(&bench, 1, HF_OK);
    end(&bench, 0, HF_OK);
    assert_int_equal(bench.plan.state, HFI_PLAN_ASKING);
    end(&bench, 2, HF_OK);
    assert_int_equal(bench.plan.state, HFI_PLAN_COMPLETE);
    assert_wants_nothing(&bench);
}

static void of_one_request_the_one_in_the_way_is_blamed(void **state)
{
    struct bench bench = bench_of(&hfi_way_multi, 3, 0);

    (void)state;
    begin_together(&bench);
    end(&bench, 1, HF_BUSY);
    end(&bench, 0, HF_NOT_DONE);
    assert_int_equal(bench.plan.state, HFI_PLAN_ASKING);
    end(&bench, 2, HF_NOT_DONE);
    assert_done(&bench, HF_BUSY);
    assert_int_equal(bench.plan.blame, 1);
    assert_wants_nothing(&bench);
}

/* What was entered behind the others is left with them if it fails. */
static void of_one_request_a_failure_gives_the_others_back(void **state)
{
    struct bench bench = bench_of(&hfi_way_multi, 3, 0);

    (void)state;
    begin_together(&bench);
    end(&bench, 0, HF_OK);
    end(&bench, 2, HF_OK);
    end(&bench, 1, HF_LOST);
    assert_wants(&bench, 0, HFI_WANT_LEAVE);
    assert_wants(&bench, 2, HFI_WANT_LEAVE);
    end(&bench, 0, HF_OK);
    end(&bench, 2, HF_OK);
    assert_done(&bench, HF_LOST);
    assert_int_equal(bench.plan.blame, 1);
}

/* Together, in order, together again. */
static void patience_with_one_request_ends_in_order(void **state)
{
    struct bench bench = bench_of(&hfi_way_multi, 2, -1);

    (void)state;
    begin_together(&bench);
    assert_int_equal(bench.plan.patience_ms, 2000);
    end(&bench, 0, HF_NOT_DONE);
    end(&bench, 1, HF_TIMEOUT);
    assert_int_equal(bench.plan.state, HFI_PLAN_PAUSED);
    pass(&bench, 50);
    assert_false(bench.plan.together);
    assert_wants(&bench, 0, HFI_WANT_ASK);
    assert_wants_nothing(&bench);
    end(&bench, 0, HF_OK);
    assert_wants(&bench, 1, HFI_WANT_ASK);
    end(&bench, 1, HF_TIMEOUT);
    assert_wants(&bench, 0, HFI_WANT_LEAVE);
    end(&bench, 0, HF_OK);
    pass(&bench, 50);
    assert_true(bench.plan.together);
    assert_int_equal(bench.plan.patience_ms, 8000);
    assert_wants(&bench, 0, HFI_WANT_ASK);
    assert_wants(&bench, 1, HFI_WANT_ASK);
    end(&bench, 0, HF_OK);
    end(&bench, 1, HF_OK);
    assert_int_equal(bench.plan.state, HFI_PLAN_COMPLETE);
}

static void a_busy_member_has_the_others_given_back(void **state)
{
    struct bench bench = bench_of(&hfi_way_multi, 3, 0);

    (void)state;
    begin(&bench);
    assert_wants(&bench, 0, HFI_WANT_ASK);
    end(&bench, 0, HF_OK);
    assert_wants(&bench, 1, HFI_WANT_ASK);
    end(&bench, 1, HF_BUSY);
    assert_wants(&bench, 0, HFI_WANT_LEAVE);
    assert_wants_nothing(&bench);
    assert_int_equal(bench.plan.state, HFI_PLAN_UNDOING);
    end(&bench, 0, HF_OK);
    assert_done(&bench, HF_BUSY);
    assert_int_equal(bench.plan.blame, 1);
}

/* Whatever the wait: it would be the same the next time. */
static void what_no_waiting_changes_ends_a_wait(void **state)
{
    struct bench bench = bench_of(&hfi_way_multi, 2, -1);

    (void)state;
    begin(&bench);
    assert_wants(&bench, 0, HFI_WANT_ASK);
    end(&bench, 0, HF_WRONG_TYPE);
    assert_done(&bench, HF_WRONG_TYPE);

    bench = bench_of(&hfi_way_multi, 2, -1);
    begin(&bench);
    assert_wants(&bench, 0, HFI_WANT_ASK);
    end(&bench, 0, HF_BUSY);
    assert_int_equal(bench.plan.state, HFI_PLAN_PAUSED);
}

static void undoing_keeps_nobody_waiting_for_long(void **state)
{
    struct bench bench = bench_of(&hfi_way_multi, 2, 0);

    (void)state;
    begin(&bench);
    assert_wants(&bench, 0, HFI_WANT_ASK);
    end(&bench, 0, HF_OK);
    assert_wants(&bench, 1, HFI_WANT_ASK);
    end(&bench, 1, HF_WRONG_TYPE);
    pass(&bench, HFI_PLAN_UNDO_MS - 1);
    assert_int_equal(bench.plan.state, HFI_PLAN_UNDOING);
    pass(&bench, 1);
    assert_done(&bench, HF_WRONG_TYPE);
    assert_wants(&bench, 0, HFI_WANT_LEAVE);
    end(&bench, 0, HF_OK);
    assert_wants_nothing(&bench);
}

static void patience_with_a_later_member_ends(void **state)
{
    struct bench bench = bench_of(&hfi_way_multi, 2, -1);

    (void)state;
    begin(&bench);
    assert_wants(&bench, 0, HFI_WANT_ASK);
    assert_int_equal(bench.members[0].wait_ms, -1); /* nothing is held yet */
    end(&bench, 0, HF_OK);
    assert_wants(&bench, 1, HFI_WANT_ASK);
    assert_in_range(bench.members[1].wait_ms, 1000, 2000);
    bench.now += bench.members[1].wait_ms;
    end(&bench, 1, HF_TIMEOUT);
    assert_wants(&bench, 0, HFI_WANT_LEAVE);
    end(&bench, 0, HF_OK);
    assert_int_equal(bench.plan.state, HFI_PLAN_PAUSED);
    assert_in_range(bench.plan.due_ms, bench.now + 10, bench.now + 50);
    assert_wants_nothing(&bench);
    pass(&bench, 50);
    assert_wants(&bench, 0, HFI_WANT_ASK);
    end(&bench, 0, HF_OK);
    assert_wants(&bench, 1, HFI_WANT_ASK);
    assert_in_range(bench.members[1].wait_ms, 2000, 4000);
    end(&bench, 1, HF_OK);
    assert_int_equal(bench.plan.state, HFI_PLAN_COMPLETE);
}

static void patience_grows_to_a_minute(void **state)
{
    struct bench bench = bench_of(&hfi_way_multi, 2, -1);

    (void)state;
    begin(&bench);
    for (int round = 0; round < 10; round++) {
        assert_wants(&bench, 0, HFI_WANT_ASK);
        end(&bench, 0, HF_OK);
        assert_wants(&bench, 1, HFI_WANT_ASK);
        if (round >= 5) {
            assert_in_range(bench.members[1].wait_ms, 30000, 60000);
        }
        end(&bench, 1, HF_TIMEOUT);
        assert_wants(&bench, 0, HFI_WANT_LEAVE);
        end(&bench, 0, HF_OK);
        pass(&bench, 50);
    }
}

static void a_wait_is_shared_and_ends(void **state)
{
    struct bench bench = bench_of(&hfi_way_multi, 2, 500);

    (void)state;
    begin(&bench);
    assert_wants(&bench, 0, HFI_WANT_ASK);
    assert_int_equal(bench.members[0].wait_ms, 500);
    bench.now += 300;
    end(&bench, 0, HF_OK);
    assert_wants(&bench, 1, HFI_WANT_ASK);
    assert_int_equal(bench.members[1].wait_ms, 200);
    bench.now += 200;
    end(&bench, 1, HF_TIMEOUT);
    assert_wants(&bench, 0, HFI_WANT_LEAVE);
    end(&bench, 0, HF_OK);
    assert_done(&bench, HF_TIMEOUT);
}

static void leases_that_did_not_last_are_tried_again(void **state)
{
    struct bench bench = bench_of(&hfi_way_multi, 1, 500);

    (void)state;
    begin(&bench);
    assert_wants(&bench, 0, HFI_WANT_ASK);
    end(&bench, 0, HF_OK);
    hfi_plan_confirm(&bench.plan, false, bench.now);
    assert_wants(&bench, 0, HFI_WANT_LEAVE);
    end(&bench, 0, HF_LOST);
    pass(&bench, 50);
    assert_wants(&bench, 0, HFI_WANT_ASK);
    bench.now += 500;
    end(&bench, 0, HF_TIMEOUT);
    assert_done(&bench, HF_TIMEOUT);
}

static void fixed_leases_catch_up_with_the_last(void **state)
{
    struct bench bench = bench_of(&hfi_way_multi, 2, 500);

    (void)state;
    bench.plan.catch_up = true;
    begin(&bench);
    assert_wants(&bench, 0, HFI_WANT_ASK);
    end(&bench, 0, HF_OK);
    assert_wants(&bench, 1, HFI_WANT_ASK);
    end(&bench, 1, HF_OK);
    assert_wants(&bench, 0, HFI_WANT_EXTEND);
    assert_wants(&bench, 1, HFI_WANT_EXTEND);
    end(&bench, 1, HF_OK);
    assert_int_equal(bench.plan.state, HFI_PLAN_EXTENDING);
    end(&bench, 0, HF_OK);
    assert_int_equal(bench.plan.state, HFI_PLAN_COMPLETE);
}

static void a_lease_that_cannot_catch_up_gives_all_back(void **state)
{
    struct bench bench = bench_of(&hfi_way_multi, 2, 0);

    (void)state;
    bench.plan.catch_up = true;
    begin(&bench);
    assert_wants(&bench, 0, HFI_WANT_ASK);
    end(&bench, 0, HF_OK);
    assert_wants(&bench, 1, HFI_WANT_ASK);
    end(&bench, 1, HF_OK);
    assert_wants(&bench, 0, HFI_WANT_EXTEND);
    assert_wants(&bench, 1, HFI_WANT_EXTEND);
    end(&bench, 1, HF_LOST);
    assert_wants(&bench, 1, HFI_WANT_LEAVE); /* its owner accounts for it */
    assert_wants_nothing(&bench); /* the other is just being extended */
    end(&bench, 1, HF_LOST);
    end(&bench, 0, HF_OK);
    assert_wants(&bench, 0, HFI_WANT_LEAVE);
    end(&bench, 0, HF_OK);
    assert_done(&bench, HF_LOST);
    assert_int_equal(bench.plan.blame, 1);
}

/* Nobody's fault: it took too long altogether. */
static void a_try_whose_leases_did_not_last_blames_nobody(void **state)
{
    struct bench bench = bench_of(&hfi_way_multi, 1, 0);

    (void)state;
    begin(&bench);
    assert_wants(&bench, 0, HFI_WANT_ASK);
    end(&bench, 0, HF_OK);
    hfi_plan_confirm(&bench.plan, false, bench.now);
    assert_wants(&bench, 0, HFI_WANT_LEAVE);
    end(&bench, 0, HF_OK);
    assert_done(&bench, HF_TIMEOUT);
    assert_int_equal(bench.plan.blame, bench.plan.count);
}

static void cancelled_everything_is_given_back(void **state)
{
    struct bench bench = bench_of(&hfi_way_multi, 3, -1);

    (void)state;
    begin(&bench);
    assert_wants(&bench, 0, HFI_WANT_ASK);
    end(&bench, 0, HF_OK);
    assert_wants(&bench, 1, HFI_WANT_ASK);
    hfi_plan_cancel(&bench.plan, HF_CANCELLED, bench.now);
    assert_wants(&bench, 0, HFI_WANT_LEAVE);
    assert_wants(&bench, 1, HFI_WANT_DROP);
    end(&bench, 0, HF_OK);
    end(&bench, 1, HF_OK); /* it was granted at the same moment */
    assert_wants(&bench, 1, HFI_WANT_LEAVE);
    end(&bench, 1, HF_OK);
    assert_done(&bench, HF_CANCELLED);
    assert_int_equal(bench.plan.blame, bench.plan.count);
}

static void cancelled_between_two_rounds_there_is_no_other(void **state)
{
    struct bench bench = bench_of(&hfi_way_multi, 2, -1);

    (void)state;
    begin(&bench);
    assert_wants(&bench, 0, HFI_WANT_ASK);
    end(&bench, 0, HF_OK);
    assert_wants(&bench, 1, HFI_WANT_ASK);
    end(&bench, 1, HF_TIMEOUT);
    assert_wants(&bench, 0, HFI_WANT_LEAVE);
    hfi_plan_cancel(&bench.plan, HF_CANCELLED, bench.now);
    assert_wants_nothing(&bench);
    end(&bench, 0, HF_OK);
    assert_done(&bench, HF_CANCELLED);
}

/* A patience has ended, and the round after it waits for a silent server. */
static void cancelled_it_waits_for_no_undoing_any_more(void **state)
{
    struct bench bench = bench_of(&hfi_way_multi, 2, -1);

    (void)state;
    begin(&bench);
    assert_wants(&bench, 0, HFI_WANT_ASK);
    end(&bench, 0, HF_OK);
    assert_wants(&bench, 1, HFI_WANT_ASK);
    end(&bench, 1, HF_TIMEOUT);
    assert_wants(&bench, 0, HFI_WANT_LEAVE);
    pass(&bench, HFI_PLAN_UNDO_MS);
    assert_int_equal(bench.plan.state, HFI_PLAN_UNDOING);
    assert_int_equal(bench.plan.due_ms, HFI_PLAN_NEVER);
    hfi_plan_cancel(&bench.plan, HF_CANCELLED, bench.now);
    pass(&bench, HFI_PLAN_UNDO_MS);
    assert_done(&bench, HF_CANCELLED);
}

static void a_closed_client_ends_it_at_once(void **state)
{
    struct bench bench = bench_of(&hfi_way_multi, 2, -1);

    (void)state;
    begin(&bench);
    assert_wants(&bench, 0, HFI_WANT_ASK);
    end(&bench, 0, HF_OK);
    assert_wants(&bench, 1, HFI_WANT_ASK);
    hfi_plan_cancel(&bench.plan, HF_CLOSED, bench.now);
    assert_done(&bench, HF_CLOSED);
    assert_wants(&bench, 0, HFI_WANT_LEAVE);
    assert_wants(&bench, 1, HFI_WANT_DROP);
    end(&bench, 1, HF_OK);
    assert_wants(&bench, 1, HFI_WANT_LEAVE);
}

static void a_plan_that_was_not_begun_ends_at_once(void **state)
{
    struct bench bench = bench_of(&hfi_way_multi, 2, -1);

    (void)state;
    bench.plan.members = bench.members;
    hfi_plan_cancel(&bench.plan, HF_CANCELLED, bench.now);
    assert_done(&bench, HF_CANCELLED);
    assert_wants_nothing(&bench);
    hfi_plan_cancel(&bench.plan, HF_CLOSED, bench.now); /* it stays so */
    assert_done(&bench, HF_CANCELLED);
}

static void closed_with_nothing_held_there_is_nothing_to_undo(void **state)
{
    struct bench bench = bench_of(&hfi_way_multi, 2, -1);

    (void)state;
    begin(&bench); /* the first is to be asked, and was not yet */
    hfi_plan_cancel(&bench.plan, HF_CLOSED, bench.now);
    assert_done(&bench, HF_CLOSED);
    assert_wants_nothing(&bench);
}

static void a_wait_that_no_clock_can_hold_has_no_end(void **state)
{
    struct bench bench = bench_of(&hfi_way_multi, 1, INT64_MAX);

    (void)state;
    begin(&bench);
    assert_wants(&bench, 0, HFI_WANT_ASK);
    assert_int_equal(bench.members[0].wait_ms, -1);
}

/* What a member granted is of no use when the others cannot be had in time. */
static void a_grant_at_the_end_of_the_wait_is_given_back(void **state)
{
    struct bench bench = bench_of(&hfi_way_multi, 2, 500);

    (void)state;
    begin(&bench);
    assert_wants(&bench, 0, HFI_WANT_ASK);
    bench.now += 500;
    end(&bench, 0, HF_OK);
    assert_wants(&bench, 0, HFI_WANT_LEAVE);
    assert_wants_nothing(&bench);
    end(&bench, 0, HF_OK);
    assert_done(&bench, HF_TIMEOUT);
    assert_int_equal(bench.plan.blame, 1);
}

/* A pause between two rounds, begun just before the end of the wait. */
static void a_wait_that_ends_in_a_pause_is_over(void **state)
{
    struct bench bench = bench_of(&hfi_way_multi, 2, 500);

    (void)state;
    begin(&bench);
    assert_wants(&bench, 0, HFI_WANT_ASK);
    bench.now += 495;
    end(&bench, 0, HF_UNREACHABLE);
    assert_int_equal(bench.plan.state, HFI_PLAN_PAUSED);
    pass(&bench, 50);
    assert_done(&bench, HF_UNREACHABLE);
    assert_wants_nothing(&bench);
}

/* The first member of three is given back, and that takes its time. */
static struct bench slow_to_leave(int64_t wait_ms)
{
    struct bench bench = bench_of(&hfi_way_multi, 3, wait_ms);

    begin(&bench);
    assert_wants(&bench, 0, HFI_WANT_ASK);
    end(&bench, 0, HF_OK);
    assert_wants(&bench, 1, HFI_WANT_ASK);
    end(&bench, 1, HF_UNREACHABLE);
    assert_wants(&bench, 0, HFI_WANT_LEAVE);
    return bench;
}

/* All has to be free before the first is asked again: who has the first of a
 * group must be able to get the rest. */
static void another_round_waits_until_all_is_given_back(void **state)
{
    struct bench bench = slow_to_leave(10000);

    (void)state;
    bench.plan.members = bench.members;
    pass(&bench, 5000);
    assert_int_equal(bench.plan.state, HFI_PLAN_UNDOING);
    assert_int_equal(bench.plan.due_ms, 1000 + 10000); /* the wait's end */
    assert_wants_nothing(&bench);
    end(&bench, 0, HF_OK);
    assert_int_equal(bench.plan.state, HFI_PLAN_PAUSED);
    pass(&bench, 50);
    assert_wants(&bench, 0, HFI_WANT_ASK);
}

static void a_wait_ends_although_not_all_is_given_back(void **state)
{
    struct bench bench = slow_to_leave(1000);

    (void)state;
    bench.plan.members = bench.members;
    pass(&bench, HFI_PLAN_UNDO_MS);
    assert_int_equal(bench.plan.state, HFI_PLAN_UNDOING);
    pass(&bench, 1000 - HFI_PLAN_UNDO_MS - 1);
    assert_int_equal(bench.plan.state, HFI_PLAN_UNDOING);
    pass(&bench, 1);
    assert_done(&bench, HF_UNREACHABLE);

    bench = slow_to_leave(1000);
    bench.plan.members = bench.members;
    bench.now += 1000;
    end(&bench, 0, HF_OK); /* given back as the wait ended */
    assert_done(&bench, HF_UNREACHABLE);
}

/* ---- any order of events ---- */

static uint64_t seed;

/* How a member may answer what is wanted of it. */
static hf_status some_status(uint64_t *random)
{
    static const hf_status statuses[] = {
        HF_OK,      HF_OK,          HF_OK,       HF_BUSY,      HF_TIMEOUT,
        HF_UNKNOWN, HF_UNREACHABLE, HF_NOT_DONE, HF_CANCELLED,
    };

    return statuses[hfi_random_next(random) %
                    (sizeof(statuses) / sizeof(statuses[0]))];
}

/* Answer one of those that are asked something, by chance. */
static void answer_some(struct bench *bench, uint64_t *random)
{
    size_t count = bench->plan.count > 0 ? bench->plan.count : 1;
    size_t at = hfi_random_next(random) % count;
    struct hfi_plan_member *member = &bench->members[at];

    switch (member->state) {
    case HFI_MEMBER_ASKED:
        end(bench, at, member->dropped ? HF_CANCELLED : some_status(random));
        return;
    case HFI_MEMBER_EXTENDING:
    case HFI_MEMBER_LEAVING:
        end(bench, at, some_status(random));
        return;
    case HFI_MEMBER_FREE:
    case HFI_MEMBER_HELD:
    case HFI_MEMBER_STATES:
        return;
    }
}

static void check_end(struct bench *bench, uint64_t *random)
{
    /* Who was asked and not answered is, in the end. */
    for (int i = 0; i < 2000; i++) {
        pass(bench, 10);
        for (size_t m = 0; m < bench->plan.count; m++) {
            (void)take_want(bench, m);
        }
        answer_some(bench, random);
    }
    assert_int_equal(hfi_plan_in(&bench->plan, HFI_MEMBER_ASKED), 0);
    if (bench->plan.status != HF_OK) {
        assert_int_equal(hfi_plan_in(&bench->plan, HFI_MEMBER_HELD), 0);
    } else {
        assert_true(hfi_plan_in(&bench->plan, HFI_MEMBER_HELD) >=
                    bench->plan.quorum);
    }
}

static void whatever_comes_it_ends_with_all_or_nothing(void **state)
{
    struct hft_random chance = {seed};

    (void)state;
    for (int run = 0; run < 3000; run++) {
        uint64_t random = hft_random_next(&chance);
        const struct hfi_plan_way *way = random & 1 ? &hfi_way_multi
                                                    : &hfi_way_quorum;
        struct bench bench = bench_of(way, 1 + random / 2 % MEMBERS,
                                      random & 16 ? 5000 : 0);

        bench.plan.catch_up = way == &hfi_way_multi && (random & 32) != 0;
        bench.plan.may_together = way == &hfi_way_multi && (random & 64) != 0;
        bench.plan.random = random;
        begin(&bench);
        for (int step = 0; bench.plan.state != HFI_PLAN_DONE; step++) {
            assert_true(step < 100000);
            for (size_t m = 0; m < bench.plan.count; m++) {
                (void)take_want(&bench, m);
            }
            answer_some(&bench, &random);
            if (bench.plan.state == HFI_PLAN_COMPLETE) {
                hfi_plan_confirm(&bench.plan, hfi_random_next(&random) % 4 != 0,
                                 bench.now);
            }
            pass(&bench, (int64_t)(hfi_random_next(&random) % 10));
            if (hfi_random_next(&random) % 200 == 0) {
                hfi_plan_cancel(&bench.plan, HF_CANCELLED, bench.now);
            }
        }
        check_end(&bench, &random);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_asked_one_after_the_other),
        cmocka_unit_test(members_of_one_request_are_asked_at_once),
        cmocka_unit_test(of_one_request_the_one_in_the_way_is_blamed),
        cmocka_unit_test(of_one_request_a_failure_gives_the_others_back),
        cmocka_unit_test(patience_with_one_request_ends_in_order),
        cmocka_unit_test(a_busy_member_has_the_others_given_back),
        cmocka_unit_test(what_no_waiting_changes_ends_a_wait),
        cmocka_unit_test(undoing_keeps_nobody_waiting_for_long),
        cmocka_unit_test(patience_with_a_later_member_ends),
        cmocka_unit_test(patience_grows_to_a_minute),
        cmocka_unit_test(a_wait_is_shared_and_ends),
        cmocka_unit_test(leases_that_did_not_last_are_tried_again),
        cmocka_unit_test(fixed_leases_catch_up_with_the_last),
        cmocka_unit_test(a_lease_that_cannot_catch_up_gives_all_back),
        cmocka_unit_test(a_try_whose_leases_did_not_last_blames_nobody),
        cmocka_unit_test(cancelled_everything_is_given_back),
        cmocka_unit_test(cancelled_it_waits_for_no_undoing_any_more),
        cmocka_unit_test(cancelled_between_two_rounds_there_is_no_other),
        cmocka_unit_test(a_closed_client_ends_it_at_once),
        cmocka_unit_test(a_plan_that_was_not_begun_ends_at_once),
        cmocka_unit_test(closed_with_nothing_held_there_is_nothing_to_undo),
        cmocka_unit_test(a_wait_that_no_clock_can_hold_has_no_end),
        cmocka_unit_test(a_grant_at_the_end_of_the_wait_is_given_back),
        cmocka_unit_test(a_wait_that_ends_in_a_pause_is_over),
        cmocka_unit_test(another_round_waits_until_all_is_given_back),
        cmocka_unit_test(a_wait_ends_although_not_all_is_given_back),
        cmocka_unit_test(whatever_comes_it_ends_with_all_or_nothing),
    };

    seed = hft_seed(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
