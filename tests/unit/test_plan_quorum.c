/* SPDX-License-Identifier: MIT */
/* test_plan_quorum.c - what a plan for more than half of the members wants, and
 * one that leaves or extends.
 *
 * Rows: RL-05, RL-06, RL-26, RL-33.
 */
#include "plan_bench.h"

/* ---- quorum ---- */

static void all_are_asked_at_once_and_a_quorum_suffices(void **state)
{
    struct bench bench = bench_of(&hfi_way_quorum, 5, 0);

    (void)state;
    begin(&bench);
    for (size_t i = 0; i < 5; i++) {
        assert_wants(&bench, i, HFI_WANT_ASK);
    }
    end(&bench, 4, HF_OK);
    end(&bench, 1, HF_BUSY);
    end(&bench, 2, HF_OK);
    assert_int_equal(bench.plan.state, HFI_PLAN_ASKING);
    end(&bench, 0, HF_OK);
    assert_int_equal(bench.plan.state, HFI_PLAN_COMPLETE);
    hfi_plan_confirm(&bench.plan, true, bench.now);
    assert_done(&bench, HF_OK);
    end(&bench, 3, HF_OK); /* it joins */
    assert_wants_nothing(&bench);
    assert_int_equal(bench.members[3].state, HFI_MEMBER_HELD);
}

static void who_comes_after_it_was_left_goes_again(void **state)
{
    struct bench bench = bench_of(&hfi_way_quorum, 3, 0);

    (void)state;
    begin(&bench);
    for (size_t i = 0; i < 3; i++) {
        assert_wants(&bench, i, HFI_WANT_ASK);
    }
    end(&bench, 0, HF_OK);
    end(&bench, 1, HF_OK);
    hfi_plan_confirm(&bench.plan, true, bench.now);
    hfi_plan_gone(&bench.plan);
    assert_wants(&bench, 2, HFI_WANT_DROP);
    end(&bench, 2, HF_OK);
    assert_wants(&bench, 2, HFI_WANT_LEAVE);
    assert_false(bench.members[2].late);
}

/* A held one of three, of which the last was never granted. */
static void hold_two(struct bench *bench)
{
    bench->plan.rejoin_ms = 1000;
    begin(bench);
    for (size_t i = 0; i < 3; i++) {
        assert_wants(bench, i, HFI_WANT_ASK);
    }
    end(bench, 0, HF_OK);
    end(bench, 1, HF_OK);
    hfi_plan_confirm(&bench->plan, true, bench->now);
    assert_done(bench, HF_OK);
    pass(bench, LIMIT_MS);
    assert_wants(bench, 2, HFI_WANT_DROP);
    end(bench, 2, HF_CANCELLED);
}

static void a_held_one_looks_at_its_members_now_and_then(void **state)
{
    struct bench bench = bench_of(&hfi_way_quorum, 3, 0);
    const bool wanted[3] = {false, false, true};

    (void)state;
    hold_two(&bench);
    for (int turn = 0; turn < 2; turn++) {
        assert_false(bench.plan.looks);
        pass(&bench, 1000 - LIMIT_MS - 1);
        assert_false(bench.plan.looks);
        pass(&bench, LIMIT_MS + 1);
        assert_true(bench.plan.looks);
        assert_int_equal(bench.plan.due_ms, HFI_PLAN_NEVER);
        bench.plan.looks = false;
        hfi_plan_retake(&bench.plan, wanted, bench.now);
        assert_wants(&bench, 2, HFI_WANT_ASK);
        assert_int_equal(bench.members[2].wait_ms, 0);
        assert_wants_nothing(&bench);
        pass(&bench, LIMIT_MS); /* it is silent */
        assert_wants(&bench, 2, HFI_WANT_DROP);
        end(&bench, 2, HF_CANCELLED);
        assert_int_equal(bench.members[2].state, HFI_MEMBER_FREE);
    }
}

static void what_is_taken_again_joins_and_may_be_lost_again(void **state)
{
    struct bench bench = bench_of(&hfi_way_quorum, 3, 0);
    const bool wanted[3] = {false, true, false};

    (void)state;
    hold_two(&bench);
    pass(&bench, 1000);
    hfi_plan_retake(&bench.plan, wanted, bench.now); /* the second is lost */
    assert_wants(&bench, 1, HFI_WANT_ASK);
    assert_int_equal(bench.plan.due_ms, bench.now + LIMIT_MS);
    end(&bench, 1, HF_OK);
    assert_int_equal(bench.members[1].state, HFI_MEMBER_HELD);
    assert_wants_nothing(&bench);
}

static void after_its_end_it_looks_no_more(void **state)
{
    struct bench bench = bench_of(&hfi_way_quorum, 3, 0);
    const bool wanted[3] = {false, false, true};

    (void)state;
    hold_two(&bench);
    pass(&bench, 1000);
    hfi_plan_retake(&bench.plan, wanted, bench.now);
    assert_wants(&bench, 2, HFI_WANT_ASK);
    hfi_plan_gone(&bench.plan);
    assert_wants(&bench, 2, HFI_WANT_DROP);
    end(&bench, 2, HF_OK);
    assert_wants(&bench, 2, HFI_WANT_LEAVE);
    end(&bench, 2, HF_OK);
    assert_int_equal(bench.plan.due_ms, HFI_PLAN_NEVER);
    bench.plan.looks = false;
    pass(&bench, 5000);
    assert_false(bench.plan.looks);
    assert_wants_nothing(&bench);
}

static void it_fails_as_soon_as_no_quorum_is_possible(void **state)
{
    struct bench bench = bench_of(&hfi_way_quorum, 5, 0);

    (void)state;
    begin(&bench);
    for (size_t i = 0; i < 5; i++) {
        assert_wants(&bench, i, HFI_WANT_ASK);
    }
    end(&bench, 0, HF_OK);
    end(&bench, 1, HF_BUSY);
    end(&bench, 2, HF_BUSY);
    assert_int_equal(bench.plan.state, HFI_PLAN_ASKING);
    end(&bench, 3, HF_BUSY);
    assert_wants(&bench, 0, HFI_WANT_LEAVE);
    assert_wants(&bench, 4, HFI_WANT_DROP);
    end(&bench, 0, HF_OK);
    end(&bench, 4, HF_UNKNOWN);
    assert_done(&bench, HF_BUSY);
}

static void who_is_silent_is_given_up_at_the_limit(void **state)
{
    struct bench bench = bench_of(&hfi_way_quorum, 3, 0);

    (void)state;
    begin(&bench);
    for (size_t i = 0; i < 3; i++) {
        assert_wants(&bench, i, HFI_WANT_ASK);
    }
    end(&bench, 0, HF_OK);
    pass(&bench, LIMIT_MS - 1);
    assert_wants_nothing(&bench);
    pass(&bench, 1);
    assert_wants(&bench, 1, HFI_WANT_DROP);
    assert_wants(&bench, 2, HFI_WANT_DROP);
    end(&bench, 1, HF_UNKNOWN);
    end(&bench, 2, HF_UNKNOWN);
    assert_true(bench.members[1].late);
    assert_wants(&bench, 0, HFI_WANT_LEAVE);
    end(&bench, 0, HF_OK);
    assert_done(&bench, HF_UNKNOWN);
}

static void who_was_silent_is_asked_when_he_is_needed(void **state)
{
    struct bench bench = bench_of(&hfi_way_quorum, 3, 0);

    (void)state;
    bench.members[1].sick = true;
    begin(&bench);
    assert_wants(&bench, 0, HFI_WANT_ASK);
    assert_wants(&bench, 1, HFI_WANT_NOTHING);
    assert_wants(&bench, 2, HFI_WANT_ASK);
    end(&bench, 0, HF_OK);
    bench.now += LIMIT_MS / 2;
    end(&bench, 2, HF_BUSY);
    assert_wants(&bench, 1, HFI_WANT_ASK);
    assert_int_equal(bench.plan.due_ms, bench.now + LIMIT_MS);
    end(&bench, 1, HF_OK);
    assert_int_equal(bench.plan.state, HFI_PLAN_COMPLETE);
}

/* ... once: what he says then is counted with the others'. */
static void who_was_asked_in_need_is_not_asked_twice(void **state)
{
    struct bench bench = bench_of(&hfi_way_quorum, 3, 0);

    (void)state;
    bench.members[1].sick = true;
    begin(&bench);
    assert_wants(&bench, 0, HFI_WANT_ASK);
    assert_wants(&bench, 2, HFI_WANT_ASK);
    end(&bench, 0, HF_BUSY);
    assert_wants(&bench, 1, HFI_WANT_ASK);
    end(&bench, 1, HF_BUSY);
    assert_wants(&bench, 1, HFI_WANT_NOTHING);
    assert_wants(&bench, 2, HFI_WANT_DROP);
    end(&bench, 2, HF_CANCELLED);
    assert_done(&bench, HF_BUSY);
}

/* Where the others are too few from the first, everybody is asked. */
static void those_who_were_silent_are_asked_with_the_rest(void **state)
{
    struct bench bench = bench_of(&hfi_way_quorum, 3, 0);

    (void)state;
    bench.members[0].sick = true;
    bench.members[1].sick = true;
    begin(&bench);
    for (size_t i = 0; i < 3; i++) {
        assert_wants(&bench, i, HFI_WANT_ASK);
    }
}

/* That it was busy is no answer to who has waited. */
static void a_wait_that_was_busy_to_its_end_is_a_timeout(void **state)
{
    struct bench bench = bench_of(&hfi_way_quorum, 1, 20);

    (void)state;
    begin(&bench);
    assert_wants(&bench, 0, HFI_WANT_ASK);
    end(&bench, 0, HF_BUSY);
    assert_int_equal(bench.plan.state, HFI_PLAN_LISTENING);
    assert_wants(&bench, 0, HFI_WANT_ASK);
    assert_in_range(bench.members[0].wait_ms, 13, 20);
    bench.now += 20;
    end(&bench, 0, HF_TIMEOUT);
    assert_done(&bench, HF_TIMEOUT);
    assert_int_equal(bench.plan.blame, 0);
}

/* While a caller has his lock, who has not answered by the limit is given up;
 * what he grants all the same joins. */
static void who_is_silent_after_the_end_is_given_up_too(void **state)
{
    struct bench bench = bench_of(&hfi_way_quorum, 3, 0);

    (void)state;
    begin(&bench);
    for (size_t i = 0; i < 3; i++) {
        assert_wants(&bench, i, HFI_WANT_ASK);
    }
    end(&bench, 0, HF_OK);
    end(&bench, 1, HF_OK);
    hfi_plan_confirm(&bench.plan, true, bench.now);
    pass(&bench, LIMIT_MS - 1);
    assert_wants_nothing(&bench);
    pass(&bench, 1);
    assert_wants(&bench, 2, HFI_WANT_DROP);
    assert_true(bench.members[2].late);
    pass(&bench, LIMIT_MS); /* he is told so once */
    hfi_plan_gone(&bench.plan);
    assert_wants(&bench, 0, HFI_WANT_NOTHING);
    assert_wants(&bench, 2, HFI_WANT_NOTHING);
    end(&bench, 2, HF_OK);
    assert_wants(&bench, 2, HFI_WANT_LEAVE);
}

static void a_wait_listens_at_one_of_the_busy_members(void **state)
{
    struct bench bench = bench_of(&hfi_way_quorum, 3, 10000);
    size_t asked = 0, at = 0;

    (void)state;
    begin(&bench);
    for (size_t i = 0; i < 3; i++) {
        assert_wants(&bench, i, HFI_WANT_ASK);
    }
    end(&bench, 2, HF_OK);
    end(&bench, 0, HF_BUSY);
    end(&bench, 1, HF_BUSY);
    assert_wants(&bench, 2, HFI_WANT_LEAVE);
    end(&bench, 2, HF_OK);
    assert_int_equal(bench.plan.state, HFI_PLAN_LISTENING);
    for (size_t i = 0; i < 3; i++) {
        if (bench.members[i].want == HFI_WANT_ASK) {
            asked++;
            at = i;
        }
    }
    assert_int_equal(asked, 1);
    assert_in_range(at, 0, 1);
    assert_wants(&bench, at, HFI_WANT_ASK);
    assert_in_range(bench.members[at].wait_ms, 1, 100);
    end(&bench, at, HF_OK);
    for (size_t i = 0; i < 3; i++) {
        assert_wants(&bench, i, i == at ? HFI_WANT_NOTHING : HFI_WANT_ASK);
    }
    end(&bench, 2, HF_OK);
    assert_int_equal(bench.plan.state, HFI_PLAN_COMPLETE);
}

/* Two of three are busy, and the third was slow to be left. */
static struct bench a_round_with_a_slow_one(int64_t wait_ms)
{
    struct bench bench = bench_of(&hfi_way_quorum, 3, wait_ms);

    begin(&bench);
    for (size_t i = 0; i < 3; i++) {
        assert_wants(&bench, i, HFI_WANT_ASK);
    }
    end(&bench, 2, HF_OK);
    end(&bench, 0, HF_BUSY);
    end(&bench, 1, HF_BUSY);
    assert_wants(&bench, 2, HFI_WANT_LEAVE);
    pass(&bench, HFI_PLAN_UNDO_MS);
    assert_int_equal(bench.plan.state, HFI_PLAN_LISTENING);
    return bench;
}

/* Which of the first two is asked alone. */
static size_t listened_at(struct bench *bench)
{
    size_t at = bench->members[0].want == HFI_WANT_ASK ? 0 : 1;

    bench->plan.members = bench->members;
    assert_wants(bench, at, HFI_WANT_ASK);
    assert_wants_nothing(bench);
    return at;
}

static void the_next_round_does_without_who_is_slow_to_be_left(void **state)
{
    struct bench bench = a_round_with_a_slow_one(10000);
    size_t at = listened_at(&bench);

    (void)state;
    end(&bench, at, HF_OK);
    assert_wants(&bench, 1 - at, HFI_WANT_ASK);
    assert_wants_nothing(&bench);
    end(&bench, 1 - at, HF_OK);
    assert_int_equal(bench.plan.state, HFI_PLAN_COMPLETE);
}

/* It is not asked in need either: it cannot be held and left at once. */
static void who_is_being_left_is_not_asked_in_need(void **state)
{
    struct bench bench = a_round_with_a_slow_one(10000);
    size_t at = listened_at(&bench);

    (void)state;
    end(&bench, at, HF_OK);
    assert_wants(&bench, 1 - at, HFI_WANT_ASK);
    end(&bench, 1 - at, HF_BUSY);
    assert_int_equal(bench.plan.state, HFI_PLAN_UNDOING);
    assert_wants(&bench, at, HFI_WANT_LEAVE);
    assert_wants_nothing(&bench);
    pass(&bench, HFI_PLAN_UNDO_MS); /* two are being left now */
    assert_int_equal(bench.plan.state, HFI_PLAN_LISTENING);
    assert_wants(&bench, 1 - at, HFI_WANT_ASK);
    assert_wants_nothing(&bench);
    end(&bench, 1 - at, HF_OK); /* the third alone is no use */
    assert_int_equal(bench.plan.state, HFI_PLAN_UNDOING);
    assert_wants(&bench, 1 - at, HFI_WANT_LEAVE);
    assert_wants_nothing(&bench);
}

static void who_is_listened_at_and_stays_silent_is_given_up(void **state)
{
    struct bench bench = a_round_with_a_slow_one(-1);
    size_t at = listened_at(&bench);

    (void)state;
    pass(&bench, bench.members[at].wait_ms + LIMIT_MS - 1);
    assert_wants_nothing(&bench);
    pass(&bench, 1);
    assert_wants(&bench, at, HFI_WANT_DROP);
    assert_true(bench.members[at].sick);
    end(&bench, at, HF_CANCELLED);
    assert_int_equal(bench.members[at].status, HF_UNREACHABLE);
    assert_wants(&bench, at, HFI_WANT_ASK); /* without him it is no quorum */
    assert_wants(&bench, 1 - at, HFI_WANT_ASK);
    pass(&bench, LIMIT_MS); /* and he may be given up again */
    assert_wants(&bench, at, HFI_WANT_DROP);
}

static void who_has_left_in_the_meantime_disturbs_no_listening(void **state)
{
    struct bench bench = a_round_with_a_slow_one(-1);
    size_t at = listened_at(&bench);

    (void)state;
    assert_true(bench.members[at].wait_ms > 0); /* a pause, not for ever */
    end(&bench, 2, HF_OK);
    assert_int_equal(bench.plan.state, HFI_PLAN_LISTENING);
    assert_wants_nothing(&bench);
    end(&bench, at, HF_OK);
    assert_wants(&bench, 2, HFI_WANT_ASK); /* it is free again */
    assert_wants(&bench, 1 - at, HFI_WANT_ASK);
    end(&bench, 2, HF_OK);
    assert_int_equal(bench.plan.state, HFI_PLAN_COMPLETE);
    end(&bench, 1 - at, HF_OK); /* before anybody has looked at it: it joins */
    assert_wants_nothing(&bench);
    assert_int_equal(bench.members[1 - at].state, HFI_MEMBER_HELD);
}

static void pauses_grow_and_the_wait_ends(void **state)
{
    struct bench bench = bench_of(&hfi_way_quorum, 3, 20000);
    int64_t longest = 0;
    int rounds = 0;

    (void)state;
    begin(&bench);
    while (bench.plan.state != HFI_PLAN_DONE) {
        assert_true(rounds++ < 1000);
        for (size_t i = 0; i < 3; i++) {
            if (take_want(&bench, i) == HFI_WANT_ASK) {
                end(&bench, i, HF_UNREACHABLE);
            }
        }
        if (bench.plan.state == HFI_PLAN_PAUSED) {
            int64_t pause = bench.plan.due_ms - bench.now;

            longest = pause > longest ? pause : longest;
            pass(&bench, pause);
        }
    }
    assert_done(&bench, HF_UNREACHABLE);
    assert_in_range(longest, 500, 1001);
    assert_in_range(bench.now, 21000, 21001);
}

/* ---- left, extended ---- */

static void leave(struct bench *bench)
{
    bench->plan.members = bench->members;
    for (size_t i = 0; i < bench->plan.count; i++) {
        bench->members[i].part = true;
    }
    hfi_plan_each(&bench->plan, HFI_WANT_LEAVE, bench->now);
    for (size_t i = 0; i < bench->plan.count; i++) {
        assert_wants(bench, i, HFI_WANT_LEAVE);
    }
}

/* Then nothing stands on any server when the caller goes on. */
static void leaving_all_waits_for_all(void **state)
{
    struct bench bench = bench_of(&hfi_way_multi, 3, 0);

    (void)state;
    leave(&bench);
    assert_int_equal(bench.plan.due_ms, HFI_PLAN_NEVER);
    end(&bench, 0, HF_GONE);
    end(&bench, 1, HF_OK);
    assert_int_equal(bench.plan.state, HFI_PLAN_LEAVING);
    end(&bench, 2, HF_OK);
    assert_done(&bench, HF_GONE);
    assert_int_equal(bench.plan.blame, 0);
}

static void leaving_says_what_became_of_the_worst(void **state)
{
    struct bench bench = bench_of(&hfi_way_multi, 3, 0);

    (void)state;
    leave(&bench);
    end(&bench, 0, HF_OK);
    end(&bench, 1, HF_UNKNOWN);
    assert_int_equal(bench.plan.state, HFI_PLAN_LEAVING);
    end(&bench, 2, HF_GONE);
    assert_done(&bench, HF_GONE);
}

static void a_quorum_is_left_when_no_other_can_be_held(void **state)
{
    struct bench bench = bench_of(&hfi_way_quorum, 5, 0);

    (void)state;
    leave(&bench);
    end(&bench, 0, HF_OK);
    end(&bench, 1, HF_LOST);
    assert_int_equal(bench.plan.state, HFI_PLAN_LEAVING);
    end(&bench, 3, HF_OK);
    assert_done(&bench, HF_OK);

    bench = bench_of(&hfi_way_quorum, 5, 0);
    leave(&bench);
    end(&bench, 0, HF_LOST);
    end(&bench, 1, HF_LOST);
    assert_int_equal(bench.plan.state, HFI_PLAN_LEAVING);
    end(&bench, 3, HF_LOST);
    assert_done(&bench, HF_LOST);

    bench = bench_of(&hfi_way_quorum, 5, 0);
    leave(&bench);
    for (size_t i = 0; i < 5; i++) {
        end(&bench, i, i < 2 ? HF_OK : HF_UNKNOWN);
    }
    assert_done(&bench, HF_UNKNOWN);
}

static void what_cannot_be_held_any_more_was_left_by_its_owner(void **state)
{
    struct bench bench = bench_of(&hfi_way_multi, 2, 0);

    (void)state;
    leave(&bench);
    end(&bench, 0, HF_OK);
    end(&bench, 1, HF_NOT_OWNER);
    assert_done(&bench, HF_NOT_OWNER);
    assert_int_equal(bench.plan.blame, 1);
}

/* Marks the first `parts` as those that are concerned. */
static void each_of(struct bench *bench, size_t parts, enum hfi_want want)
{
    bench->plan.members = bench->members;
    for (size_t i = 0; i < parts; i++) {
        bench->members[i].part = true;
    }
    hfi_plan_each(&bench->plan, want, bench->now);
    for (size_t i = 0; i < bench->plan.count; i++) {
        assert_wants(bench, i, i < parts ? want : HFI_WANT_NOTHING);
    }
}

/* Fewer than a quorum have ever been held: all are left, and it was not. */
static void too_few_to_be_a_quorum_are_left_but_were_not_held(void **state)
{
    struct bench bench = bench_of(&hfi_way_quorum, 5, 0);

    (void)state;
    each_of(&bench, 2, HFI_WANT_LEAVE);
    end(&bench, 0, HF_OK);
    assert_int_equal(bench.plan.state, HFI_PLAN_LEAVING);
    end(&bench, 1, HF_OK);
    assert_done(&bench, HF_NOT_OWNER);
    assert_int_equal(bench.plan.blame, bench.plan.count);

    bench = bench_of(&hfi_way_quorum, 5, 0);
    each_of(&bench, 2, HFI_WANT_EXTEND);
    end(&bench, 0, HF_OK);
    end(&bench, 1, HF_OK);
    assert_done(&bench, HF_NOT_OWNER);

    bench = bench_of(&hfi_way_multi, 2, 0);
    each_of(&bench, 0, HFI_WANT_LEAVE);
    assert_done(&bench, HF_NOT_OWNER);
}

static void a_quorum_is_extended_when_so_many_are(void **state)
{
    struct bench bench = bench_of(&hfi_way_quorum, 5, 0);

    (void)state;
    each_of(&bench, 5, HFI_WANT_EXTEND);
    end(&bench, 0, HF_OK);
    end(&bench, 1, HF_LOST);
    end(&bench, 2, HF_OK);
    end(&bench, 3, HF_UNKNOWN);
    assert_int_equal(bench.plan.state, HFI_PLAN_LEAVING);
    end(&bench, 4, HF_OK);
    assert_done(&bench, HF_OK);
}

/* That one is lost says more than that another does not answer. */
static void what_could_not_be_extended_says_why(void **state)
{
    struct bench bench = bench_of(&hfi_way_multi, 3, 0);

    (void)state;
    each_of(&bench, 3, HFI_WANT_EXTEND);
    end(&bench, 0, HF_UNREACHABLE);
    end(&bench, 1, HF_OK);
    assert_int_equal(bench.plan.state, HFI_PLAN_LEAVING);
    end(&bench, 2, HF_LOST);
    assert_done(&bench, HF_LOST);
    assert_int_equal(bench.plan.blame, 2);

    bench = bench_of(&hfi_way_multi, 3, 0);
    each_of(&bench, 3, HFI_WANT_EXTEND);
    end(&bench, 0, HF_OK);
    end(&bench, 1, HF_UNREACHABLE);
    end(&bench, 2, HF_UNKNOWN);
    assert_done(&bench, HF_UNREACHABLE);
    assert_int_equal(bench.plan.blame, 1);
}

/* An answer is near, and what is given back is not kept: only who closes goes
 * without it. */
static void leaving_is_not_cancelled_but_closed(void **state)
{
    struct bench bench = bench_of(&hfi_way_multi, 2, 0);

    (void)state;
    leave(&bench);
    hfi_plan_cancel(&bench.plan, HF_CANCELLED, bench.now);
    assert_int_equal(bench.plan.state, HFI_PLAN_LEAVING);
    hfi_plan_cancel(&bench.plan, HF_CLOSED, bench.now);
    assert_done(&bench, HF_CLOSED);
    end(&bench, 0, HF_OK);
    end(&bench, 1, HF_OK);
    assert_done(&bench, HF_CLOSED);
    assert_wants_nothing(&bench);
}

/* ---- the verdict ---- */

/* What so many say that no quorum is left without them, or what tells most. */
static void the_verdict_is_the_majoritys_or_what_tells_most(void **state)
{
    static const struct {
        hf_status statuses[MEMBERS];
        hf_status verdict;
        size_t blame;
    } cases[] = {
        {{HF_BUSY, HF_UNREACHABLE, HF_UNREACHABLE, HF_UNREACHABLE, HF_OK},
         HF_UNREACHABLE,
         1},
        {{HF_UNREACHABLE, HF_OK, HF_UNREACHABLE, HF_BUSY, HF_OK}, HF_BUSY, 3},
        {{HF_UNREACHABLE, HF_UNKNOWN, HF_UNREACHABLE, HF_TIMEOUT, HF_OK},
         HF_TIMEOUT,
         3},
        {{HF_UNREACHABLE, HF_PERMISSION, HF_UNKNOWN, HF_OK, HF_OK},
         HF_UNKNOWN,
         2},
        {{HF_UNREACHABLE, HF_PERMISSION, HF_WRONG_TYPE, HF_OK, HF_OK},
         HF_UNREACHABLE,
         0},
        {{HF_BUSY, HF_TIMEOUT, HF_UNKNOWN, HF_OK, HF_OK}, HF_BUSY, 0},
        {{HF_UNKNOWN, HF_TIMEOUT, HF_BUSY, HF_OK, HF_OK}, HF_TIMEOUT, 1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bench bench = bench_of(&hfi_way_quorum, MEMBERS, 0);
        size_t blame;

        bench.plan.members = bench.members;
        for (size_t m = 0; m < MEMBERS; m++) {
            bench.members[m].status = cases[i].statuses[m];
        }
        assert_int_equal(hfi_plan_verdict(&bench.plan, &blame),
                         cases[i].verdict);
        assert_int_equal(blame, cases[i].blame);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_are_asked_at_once_and_a_quorum_suffices),
        cmocka_unit_test(who_comes_after_it_was_left_goes_again),
        cmocka_unit_test(a_held_one_looks_at_its_members_now_and_then),
        cmocka_unit_test(what_is_taken_again_joins_and_may_be_lost_again),
        cmocka_unit_test(after_its_end_it_looks_no_more),
        cmocka_unit_test(it_fails_as_soon_as_no_quorum_is_possible),
        cmocka_unit_test(who_is_silent_is_given_up_at_the_limit),
        cmocka_unit_test(who_was_silent_is_asked_when_he_is_needed),
        cmocka_unit_test(who_was_asked_in_need_is_not_asked_twice),
        cmocka_unit_test(those_who_were_silent_are_asked_with_the_rest),
        cmocka_unit_test(a_wait_that_was_busy_to_its_end_is_a_timeout),
        cmocka_unit_test(who_is_silent_after_the_end_is_given_up_too),
        cmocka_unit_test(a_wait_listens_at_one_of_the_busy_members),
        cmocka_unit_test(the_next_round_does_without_who_is_slow_to_be_left),
        cmocka_unit_test(who_is_being_left_is_not_asked_in_need),
        cmocka_unit_test(who_is_listened_at_and_stays_silent_is_given_up),
        cmocka_unit_test(who_has_left_in_the_meantime_disturbs_no_listening),
        cmocka_unit_test(pauses_grow_and_the_wait_ends),
        cmocka_unit_test(leaving_all_waits_for_all),
        cmocka_unit_test(leaving_says_what_became_of_the_worst),
        cmocka_unit_test(a_quorum_is_left_when_no_other_can_be_held),
        cmocka_unit_test(what_cannot_be_held_any_more_was_left_by_its_owner),
        cmocka_unit_test(too_few_to_be_a_quorum_are_left_but_were_not_held),
        cmocka_unit_test(a_quorum_is_extended_when_so_many_are),
        cmocka_unit_test(what_could_not_be_extended_says_why),
        cmocka_unit_test(leaving_is_not_cancelled_but_closed),
        cmocka_unit_test(the_verdict_is_the_majoritys_or_what_tells_most),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
