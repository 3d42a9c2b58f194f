/* SPDX-License-Identifier: MIT */
/* test_counts.c - semaphores and latches between our library and Redisson: one
 * number for both sides, and either wakes the other.
 *
 * The client of ours that waits asks again by itself only after a minute, so
 * what wakes it is a message; Redisson's waiters never ask again.
 */
#include "both.h"

#include <stdlib.h>

#include "support/crew.h"
#include "support/fatal.h"

#define NAME "pool:1"

/* ---- what a test makes --------------------------------------------------- */

#define MOST_MADE 64

static hf_semaphore *semaphores[MOST_MADE];
static size_t semaphore_count;
static hf_latch *latches[MOST_MADE];
static size_t latch_count;

static hf_semaphore *a_semaphore_named(struct world *w, const char *name)
{
    hf_semaphore **made = &semaphores[semaphore_count];

    assert_true(semaphore_count < MOST_MADE);
    assert_ok(hf_semaphore_new(a_patient_client(w), name, made, &problem));
    semaphore_count++;
    return *made;
}

static hf_semaphore *a_semaphore(struct world *w)
{
    return a_semaphore_named(w, NAME);
}

static hf_latch *a_latch_of(hf_client *client, const char *name)
{
    hf_latch **made = &latches[latch_count];

    assert_true(latch_count < MOST_MADE);
    assert_ok(hf_latch_new(client, name, made, &problem));
    latch_count++;
    return *made;
}

static hf_latch *a_latch(struct world *w)
{
    return a_latch_of(a_patient_client(w), NAME);
}

static int counts_end(void **world)
{
    int failed = world_end(world);

    while (semaphore_count > 0) {
        assert_ok(hf_semaphore_free(semaphores[--semaphore_count]));
    }
    while (latch_count > 0) {
        assert_ok(hf_latch_free(latches[--latch_count]));
    }
    return failed;
}

#define counts_test(function)                                                  \
    cmocka_unit_test_setup_teardown(function, world_begin, counts_end)

/* ---- in short ------------------------------------------------------------ */

static hf_status take_now(hf_semaphore *semaphore, int64_t permits)
{
    return hf_semaphore_acquire(semaphore, permits, 0, NULL, &problem);
}

static hf_status give_back(hf_semaphore *semaphore, int64_t permits)
{
    return hf_semaphore_release(semaphore, permits, &problem);
}

static int64_t available(hf_semaphore *semaphore)
{
    int64_t permits = -1;

    assert_ok(hf_semaphore_available(semaphore, &permits, &problem));
    return permits;
}

static int64_t still_to_come(hf_latch *latch)
{
    int64_t count = -1;

    assert_ok(hf_latch_count(latch, &count, &problem));
    return count;
}

static bool is_set(hf_latch *latch, int64_t count)
{
    bool set = false;

    assert_ok(hf_latch_try_set(latch, count, &set, &problem));
    return set;
}

/* A thread of ours that waits; its result is the status. */
struct waiting {
    hf_semaphore *semaphore; /* NULL: a latch */
    int64_t permits;
    hf_latch *latch;
};

static void wait_for_it(struct hft_member *me)
{
    const struct waiting *waiting = me->context;

    me->result = waiting->semaphore != NULL
                     ? hf_semaphore_acquire(waiting->semaphore,
                                            waiting->permits, WAKE_MS, NULL,
                                            NULL)
                     : hf_latch_await(waiting->latch, WAKE_MS, NULL, NULL);
}

/* Start it, and wait until it listens. */
static struct hft_crew *we_begin(struct world *w, struct waiting *waiting)
{
    struct hft_crew *crew = hft_crew_start(1, wait_for_it, waiting);

    assert_true(somebody_listens(w));
    return crew;
}

static void it_ends_well(struct hft_crew *crew)
{
    int64_t status;

    assert_null(hft_crew_join(crew, 2 * WAKE_MS));
    status = hft_crew_result(crew, 0);
    hft_crew_free(crew);
    assert_int_equal(status, HF_OK);
}

/* ---- semaphores ---------------------------------------------------------- */

/* spec: semaphore/java-1, semaphore/key-1, semaphore/key-2 */
static void both_take_from_the_same_permits(void **world)
{
    struct world *w = *world;
    hf_semaphore *semaphore = a_semaphore(w);

    assert_java("ok true", java_ask("a/t1 sem-set %s 5", NAME));
    assert_int_equal(available(semaphore), 5);
    assert_ok(take_now(semaphore, 2));
    assert_java("ok 3", java_ask("a/t1 sem-available %s", NAME));
    assert_java("ok true", java_ask("a/t1 sem-try %s 3", NAME));
    assert_status(HF_BUSY, take_now(semaphore, 1));
    assert_java("ok false", java_ask("b/t1 sem-try %s 1", NAME));
    assert_ok(give_back(semaphore, 4));
    assert_java("ok 4", java_ask("b/t1 sem-available %s", NAME));
    assert_java("ok", java_ask("b/t1 sem-release %s 1", NAME));
    assert_int_equal(available(semaphore), 5);
}

/* spec: semaphore/java-3, semaphore/change-1, semaphore/change-2 */
static void what_adds_and_withdraws_means_the_same_to_both(void **world)
{
    struct world *w = *world;
    hf_semaphore *semaphore = a_semaphore(w);
    int64_t permits = -1;
    bool done = true;

    assert_ok(hf_semaphore_try_set(semaphore, 3, 0, &done, &problem));
    assert_true(done);
    assert_java("ok false", java_ask("a/t1 sem-set %s 9", NAME));
    assert_java("ok", java_ask("a/t1 sem-add %s -5", NAME));
    assert_int_equal(available(semaphore), -2);
    assert_ok(hf_semaphore_add(semaphore, 6, &permits, &problem));
    assert_int_equal(permits, 4);
    assert_java("ok 4", java_ask("a/t1 sem-drain %s", NAME));
    assert_ok(hf_semaphore_drain(semaphore, &permits, &problem));
    assert_int_equal(permits, 0);
    assert_ok(hf_semaphore_try_set(semaphore, 1, 0, &done, &problem));
    assert_false(done);
    if (edition == NEWEST) {
        assert_java("ok true",
                    java_ask("a/t1 sem-release-if-exists %s 2", NAME));
        assert_int_equal(available(semaphore), 2);
    }
    assert_ok(hf_semaphore_delete(semaphore, &done, &problem));
    assert_true(done);
    assert_java("ok 0", java_ask("a/t1 sem-available %s", NAME));
    assert_java("ok", java_ask("a/t1 sem-release %s 7", NAME));
    assert_int_equal(available(semaphore), 7);
}

/* Ours are written down by the server, Redisson's are not.
 * spec: semaphore/java-2, semaphore/request-6 */
static void only_our_requests_leave_records(void **world)
{
    struct world *w = *world;
    hf_semaphore *semaphore = a_semaphore(w);

    assert_java("ok true", java_ask("a/t1 sem-set %s 5", NAME));
    assert_java("ok true", java_ask("a/t1 sem-try %s 2", NAME));
    assert_java("ok", java_ask("a/t1 sem-release %s 1", NAME));
    assert_int_equal(hft_int(w->server, "DBSIZE"), 1);
    assert_ok(take_now(semaphore, 1));
    assert_int_equal(hft_int(w->server, "DBSIZE"), 2);
    assert_ok(give_back(semaphore, 1));
    assert_between(hft_int(w->server, "DBSIZE"), 1, 3);
    assert_java("ok 4", java_ask("a/t1 sem-available %s", NAME));
}

static void java_gets_our_permits(struct world *w, hf_semaphore *semaphore,
                                  const char *name)
{
    unsigned waiter = java_begins("a/t1", "sem-acquire %s 2", name);

    assert_ok(give_back(semaphore, 1));
    assert_java("ok false", java_ask("a/t2 sem-try %s 2", name));
    assert_ok(give_back(semaphore, 1));
    assert_java("ok", java_answer(waiter, WAKE_MS));
    assert_int_equal(available(semaphore), 0);
    assert_true(hft_wait_channels(w->server, 0, BOUND_MS));
}

static void we_get_javas_permits(struct world *w, hf_semaphore *semaphore,
                                 const char *name)
{
    struct waiting waiting = {.semaphore = semaphore, .permits = 2};
    struct hft_crew *crew = we_begin(w, &waiting);

    assert_java("ok", java_ask("a/t1 sem-release %s 1", name));
    assert_java("ok", java_ask("b/t1 sem-release %s 1", name));
    it_ends_well(crew);
    assert_java("ok 0", java_ask("a/t1 sem-available %s", name));
    assert_true(hft_wait_channels(w->server, 0, BOUND_MS));
}

/* spec: semaphore/java-1, semaphore/message-1 */
static void either_side_wakes_who_waits_for_permits(void **world)
{
    struct world *w = *world;
    hf_semaphore *semaphore = a_semaphore(w);

    java_gets_our_permits(w, semaphore, NAME);
    we_get_javas_permits(w, semaphore, NAME);
}

/* spec: semaphore/name-1, semaphore/name-2 */
static void odd_names_of_semaphores_mean_the_same_to_both(void **world)
{
    static const char *const names[] = {"{shop}:pool", "a{b", "}a{t}", "{}x"};
    struct world *w = *world;
    size_t i;

    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        hf_semaphore *semaphore = a_semaphore_named(w, names[i]);

        java_gets_our_permits(w, semaphore, names[i]);
        we_get_javas_permits(w, semaphore, names[i]);
    }
}

/* A Java client wakes as many of its threads as the message says. */
static void one_release_of_ours_serves_all_java_threads(void **world)
{
    struct world *w = *world;
    hf_semaphore *semaphore = a_semaphore(w);
    unsigned waiters[3];
    size_t i;

    waiters[0] = java_begins("a/t1", "sem-acquire %s 1", NAME);
    waiters[1] = java_begins("a/t2", "sem-acquire %s 1", NAME);
    waiters[2] = java_begins("b/t1", "sem-acquire %s 1", NAME);
    assert_ok(give_back(semaphore, 3));
    for (i = 0; i < 3; i++) {
        assert_java("ok", java_answer(waiters[i], WAKE_MS));
    }
    assert_int_equal(available(semaphore), 0);

    /* The same for permits that come by other ways. */
    waiters[0] = java_begins("a/t1", "sem-acquire %s 1", NAME);
    assert_ok(hf_semaphore_add(semaphore, 1, NULL, &problem));
    assert_java("ok", java_answer(waiters[0], WAKE_MS));
    assert_ok(hf_semaphore_delete(semaphore, NULL, &problem));
    waiters[1] = java_begins("a/t1", "sem-acquire %s 1", NAME);
    assert_ok(hf_semaphore_try_set(semaphore, 1, 0, NULL, &problem));
    assert_java("ok", java_answer(waiters[1], WAKE_MS));
}

static void waits_for_permits_end_in_time(void **world)
{
    struct world *w = *world;
    hf_semaphore *semaphore = a_semaphore(w);
    int64_t began_ms = hft_now_ms();

    assert_java("ok false", java_ask("a/t1 sem-try %s 1 300", NAME));
    assert_between(hft_now_ms() - began_ms, 300, WAKE_MS);
    began_ms = hft_now_ms();
    assert_status(HF_TIMEOUT,
                  hf_semaphore_acquire(semaphore, 1, 300, NULL, &problem));
    assert_between(hft_now_ms() - began_ms, 300, WAKE_MS);
    assert_ok(give_back(semaphore, 1));
    assert_java("ok true", java_ask("a/t1 sem-try %s 1 300", NAME));
}

#define ROUNDS 60
#define MEMBERS 2
#define PERMITS 2

struct rush {
    struct world *w;
    hf_semaphore *semaphore;
};

/* What the agent's verb "sem-cycle" does. */
static void take_and_give_back(struct hft_member *me)
{
    struct rush *rush = me->context;
    int round;

    for (round = 0; round < ROUNDS; round++) {
        if (!HFT_CHECK(me,
                       hf_semaphore_acquire(rush->semaphore, 1, HF_WAIT_FOREVER,
                                            NULL, NULL) == HF_OK)) {
            return;
        }
        HFT_CHECK(me, hft_int(rush->w->server, "INCR inside") <= PERMITS);
        (void)hft_int(rush->w->server, "DECR inside");
        if (!HFT_CHECK(me, hf_semaphore_release(rush->semaphore, 1, NULL) ==
                               HF_OK)) {
            return;
        }
    }
}

static void threads_of_both_sides_never_have_too_many_permits(void **world)
{
    struct world *w = *world;
    struct rush rush = {w, a_semaphore(w)};
    struct hft_crew *crew;
    unsigned asked[3];
    size_t i;

    assert_ok(hf_semaphore_try_set(rush.semaphore, PERMITS, 0, NULL, &problem));
    asked[0] = java_send("a/t1 sem-cycle %s %d inside", NAME, ROUNDS);
    asked[1] = java_send("a/t2 sem-cycle %s %d inside", NAME, ROUNDS);
    asked[2] = java_send("b/t1 sem-cycle %s %d inside", NAME, ROUNDS);
    crew = hft_crew_start(MEMBERS, take_and_give_back, &rush);
    assert_null(hft_crew_join(crew, HOLD_MS));
    hft_crew_free(crew);
    for (i = 0; i < 3; i++) {
        assert_between(java_number(java_answer(asked[i], HOLD_MS)), 1, PERMITS);
    }
    assert_int_equal(available(rush.semaphore), PERMITS);
}

/* ---- latches ------------------------------------------------------------- */

/* spec: latch/java-1, latch/key-1, latch/change-1 */
static void both_count_the_same_latch_down(void **world)
{
    struct world *w = *world;
    hf_latch *latch = a_latch(w);
    int64_t left = -1;
    bool done = false;

    assert_java("ok true", java_ask("a/t1 latch-set %s 3", NAME));
    assert_false(is_set(latch, 9));
    assert_int_equal(still_to_come(latch), 3);
    assert_ok(hf_latch_count_down(latch, &left, &problem));
    assert_int_equal(left, 2);
    assert_java("ok 2", java_ask("a/t1 latch-count %s", NAME));
    assert_java("ok", java_ask("a/t1 latch-down %s", NAME));
    assert_status(HF_BUSY, hf_latch_await(latch, 0, NULL, &problem));
    assert_ok(hf_latch_count_down(latch, &left, &problem));
    assert_int_equal(left, 0);
    assert_java("ok", java_ask("a/t1 latch-await %s", NAME));
    assert_int_equal(hft_int(w->server, "EXISTS %s", NAME), 0);

    assert_true(is_set(latch, 2));
    assert_java("ok false", java_ask("a/t1 latch-set %s 1", NAME));
    assert_java("ok true", java_ask("a/t1 latch-delete %s", NAME));
    assert_ok(hf_latch_await(latch, 0, NULL, &problem));
    assert_java("ok true", java_ask("a/t1 latch-set %s 2", NAME));
    assert_ok(hf_latch_delete(latch, &done, &problem));
    assert_true(done);
    assert_java("ok 0", java_ask("a/t1 latch-count %s", NAME));
}

static void java_is_let_through(struct world *w, hf_latch *latch,
                                const char *name)
{
    unsigned waiters[2];

    assert_true(is_set(latch, 2));
    waiters[0] = java_begins("a/t1", "latch-await %s", name);
    waiters[1] = java_begins("b/t1", "latch-await %s", name);
    assert_ok(hf_latch_count_down(latch, NULL, &problem));
    assert_null(java_answer(waiters[0], 50));
    assert_ok(hf_latch_count_down(latch, NULL, &problem));
    assert_java("ok", java_answer(waiters[0], WAKE_MS));
    assert_java("ok", java_answer(waiters[1], WAKE_MS));
    assert_true(hft_wait_channels(w->server, 0, BOUND_MS));
}

static void we_are_let_through(struct world *w, hf_latch *latch,
                               const char *name)
{
    struct waiting waiting = {.latch = latch};
    struct hft_crew *crew;

    assert_java("ok true", java_ask("a/t1 latch-set %s 1", name));
    crew = we_begin(w, &waiting);
    assert_java("ok", java_ask("a/t1 latch-down %s", name));
    it_ends_well(crew);
    assert_true(hft_wait_channels(w->server, 0, BOUND_MS));
}

/* spec: latch/java-1, latch/message-1 */
static void the_last_count_of_either_side_opens_for_the_other(void **world)
{
    struct world *w = *world;
    hf_latch *latch = a_latch(w);

    java_is_let_through(w, latch, NAME);
    we_are_let_through(w, latch, NAME);
}

/* spec: latch/name-1, latch/name-2 */
static void odd_names_of_latches_mean_the_same_to_both(void **world)
{
    static const char *const names[] = {"{shop}:gate", "a{b", "}a{t}", "{}x"};
    struct world *w = *world;
    size_t i;

    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        hf_latch *latch = a_latch_of(a_patient_client(w), names[i]);

        java_is_let_through(w, latch, names[i]);
        we_are_let_through(w, latch, names[i]);
    }
}

/* A gate that was opened and is armed again closes for new waiters, in the
 * client that had gone through it, too. */
static void a_latch_that_is_armed_again_is_closed_for_both(void **world)
{
    struct world *w = *world;
    hf_latch *latch = a_latch(w);
    unsigned waiter;

    java_is_let_through(w, latch, NAME);
    assert_true(is_set(latch, 1));
    assert_java("ok false", java_ask("a/t1 latch-await %s 200", NAME));
    waiter = java_begins("a/t1", "latch-await %s", NAME);
    assert_ok(hf_latch_count_down(latch, NULL, &problem));
    assert_java("ok", java_answer(waiter, WAKE_MS));
    assert_java("ok true", java_ask("a/t1 latch-set %s 1", NAME));
    assert_status(HF_TIMEOUT, hf_latch_await(latch, 200, NULL, &problem));
    assert_java("ok", java_ask("a/t1 latch-down %s", NAME));
}

/* That a latch was deleted is told by a message that closes gates: Redisson's
 * own waiters see it at the end of their time, ours when they hear it. */
static void a_deleted_latch_leaves_nobody_of_ours_hanging(void **world)
{
    struct world *w = *world;
    hf_latch *latch = a_latch(w);
    struct waiting waiting = {.latch = latch};
    struct hft_crew *crew;
    unsigned waiter;

    assert_java("ok true", java_ask("a/t1 latch-set %s 1", NAME));
    crew = we_begin(w, &waiting);
    assert_java("ok true", java_ask("a/t1 latch-delete %s", NAME));
    it_ends_well(crew);

    assert_true(is_set(latch, 1));
    waiter = java_begins("a/t1", "latch-await %s 700", NAME);
    assert_ok(hf_latch_delete(latch, NULL, &problem));
    assert_java("ok true", java_answer(waiter, WAKE_MS));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        counts_test(both_take_from_the_same_permits),
        counts_test(what_adds_and_withdraws_means_the_same_to_both),
        counts_test(only_our_requests_leave_records),
        counts_test(either_side_wakes_who_waits_for_permits),
        counts_test(odd_names_of_semaphores_mean_the_same_to_both),
        counts_test(one_release_of_ours_serves_all_java_threads),
        counts_test(waits_for_permits_end_in_time),
        counts_test(threads_of_both_sides_never_have_too_many_permits),
        counts_test(both_count_the_same_latch_down),
        counts_test(the_last_count_of_either_side_opens_for_the_other),
        counts_test(odd_names_of_latches_mean_the_same_to_both),
        counts_test(a_latch_that_is_armed_again_is_closed_for_both),
        counts_test(a_deleted_latch_leaves_nobody_of_ours_hanging),
    };
    int failed;

    both_begin(argc, argv);
    failed = cmocka_run_group_tests_name("counts", tests, both_up, both_down);
    both_end();
    return failed;
}
