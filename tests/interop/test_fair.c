/* SPDX-License-Identifier: MIT */
/* test_fair.c - fair locks between our library and Redisson: what is true of
 * every exclusive lock (exclusive.h), and one queue for both, in its order and
 * with the scores by which Redisson tells who is dead.
 */
#include "both.h"

#include <stdlib.h>
#include <string.h>

#include "exclusive.h"

#define NAME "orders:42"
#define QUEUE "redisson_lock_queue:{" NAME "}"
#define SCORES "redisson_lock_timeout:{" NAME "}"
#define WAIT_MS 300000 /* what each waiter adds, unless told otherwise */

static hf_lock *a_fair_lock(struct world *w, hf_client *client)
{
    return a_lock_of_kind(w, client, HF_KIND_FAIR, NAME);
}

/* Wait until so many stand in the queue. */
static bool queue_becomes(struct world *w, int64_t count)
{
    return hft_wait_int(w->server, count, BOUND_MS, "LLEN %s", QUEUE);
}

/* One more of ours begins to wait; it releases as soon as it has the lock. */
static void ours_joins(struct world *w, struct caller *caller, hf_lock *lock)
{
    int64_t before = hft_int(w->server, "LLEN %s", QUEUE);

    caller_start(caller, lock, WAKE_MS);
    assert_true(queue_becomes(w, before + 1));
}

static unsigned java_joins(struct world *w, const char *thread)
{
    int64_t before = hft_int(w->server, "LLEN %s", QUEUE);
    unsigned asked = java_begins(thread, "acquire fair %s", NAME);

    assert_true(queue_becomes(w, before + 1));
    return asked;
}

static void ours_had_it(struct caller *caller)
{
    caller_join(caller);
    assert_int_equal(caller->status, HF_OK);
    assert_int_equal(caller->release_status, HF_OK);
}

static void java_has_it_and_leaves(unsigned asked, const char *thread)
{
    assert_java("ok", java_answer(asked, WAKE_MS));
    assert_java("ok", java_ask("%s release fair %s", thread, NAME));
}

/* The score of who stands at a place of the queue. */
static int64_t score_at(struct world *w, int place)
{
    const char *who = hft_str(w->server, "LINDEX %s %d", QUEUE, place);

    assert_non_null(who);
    return hft_int(w->server, "ZSCORE %s %s", SCORES, who);
}

static bool nothing_is_left(struct world *w)
{
    return hft_wait_int(w->server, 0, BOUND_MS, "EXISTS %s", QUEUE) &&
           hft_wait_int(w->server, 0, BOUND_MS, "EXISTS %s", SCORES);
}

/* ---- the order ----------------------------------------------------------- */

/* spec: fair/java-1, fair/message-1, fair/release-1 */
static void waiters_of_both_sides_are_served_in_their_order(void **world)
{
    static struct caller callers[3];
    struct world *w = *world;
    hf_client *client = a_patient_client(w);
    hf_lock *lock = a_fair_lock(w, client);
    hf_owner *me = an_owner_of(w, client);
    unsigned java[3];

    assert_ok(try_fixed(lock, me, HOLD_MS));
    java[0] = java_joins(w, "a/t1");
    ours_joins(w, &callers[0], lock);
    java[1] = java_joins(w, "b/t1");
    ours_joins(w, &callers[1], lock);
    ours_joins(w, &callers[2], lock);
    java[2] = java_joins(w, "a/t2");

    assert_ok(leave(lock, me));
    assert_java("ok", java_answer(java[0], WAKE_MS));
    assert_int_equal(hft_int(w->server, "LLEN %s", QUEUE), 5);
    assert_status(HF_BUSY, try_once(lock, me));
    assert_java("ok", java_ask("a/t1 release fair %s", NAME));

    ours_had_it(&callers[0]);
    assert_java("ok", java_answer(java[1], WAKE_MS));
    assert_int_equal(hft_int(w->server, "LLEN %s", QUEUE), 3);
    assert_java("ok", java_ask("b/t1 release fair %s", NAME));

    ours_had_it(&callers[1]);
    ours_had_it(&callers[2]);
    java_has_it_and_leaves(java[2], "a/t2");
    assert_true(nothing_is_left(w));
}

/* A lock that is free while somebody waits is nobody else's, on both sides. */
static void nobody_overtakes_who_waits(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_fair_lock(w, w->client);
    unsigned waiter;

    assert_ok(try_fixed(lock, NULL, HOLD_MS));
    waiter = java_joins(w, "a/t1");
    (void)hft_int(w->server, "DEL %s", NAME); /* nobody is told */
    assert_status(HF_BUSY, try_once(lock, an_owner(w)));
    assert_java("ok false", java_ask("b/t1 try fair %s", NAME));
    assert_status(HF_GONE, leave(lock, NULL));
    (void)hft_int(w->server, "PUBLISH %s:%s 0",
                  "redisson_lock__channel:{" NAME "}",
                  hft_str(w->server, "LINDEX %s 0", QUEUE));
    java_has_it_and_leaves(waiter, "a/t1");
}

/* ---- who gives up -------------------------------------------------------- */

/* What it added to the scores behind it is taken away again.
 * spec: fair/undo-1, fair/undo-2, fair/queue-2, fair/queue-3 */
static void ours_that_gives_up_leaves_java_its_score(void **world)
{
    static struct caller caller;
    struct world *w = *world;
    hf_client *client = a_patient_client(w);
    hf_lock *lock = a_fair_lock(w, client);
    hf_owner *me = an_owner_of(w, client);
    hf_cancel *cancel = NULL;
    hf_acquire how = HF_ACQUIRE_INIT;
    int64_t before;
    unsigned waiter;

    assert_ok(hf_cancel_new(client, &cancel, &problem));
    how.cancel = cancel;
    assert_ok(try_fixed(lock, me, HOLD_MS));
    caller_start_as(&caller, lock, &how);
    assert_true(queue_becomes(w, 1));
    waiter = java_joins(w, "a/t1");
    before = score_at(w, 1);
    assert_int_equal(before - score_at(w, 0), WAIT_MS);
    hf_cancel_fire(cancel);
    caller_join(&caller);
    hf_cancel_free(cancel);
    assert_int_equal(caller.status, HF_CANCELLED);
    assert_true(queue_becomes(w, 1));
    assert_int_equal(score_at(w, 0), before - WAIT_MS);
    assert_ok(leave(lock, me));
    java_has_it_and_leaves(waiter, "a/t1");
    assert_true(nothing_is_left(w));
}

/* Redisson subtracts what its waiter had added, from ours too. */
static void java_that_gives_up_leaves_us_in_our_place(void **world)
{
    static struct caller caller;
    struct world *w = *world;
    hf_client *client = a_patient_client(w);
    hf_lock *lock = a_fair_lock(w, client);
    hf_owner *me = an_owner_of(w, client);
    int64_t before;
    unsigned waiter;

    assert_ok(try_fixed(lock, me, HOLD_MS));
    waiter = java_begins("a/t1", "try fair %s 1500", NAME);
    assert_true(queue_becomes(w, 1));
    ours_joins(w, &caller, lock);
    before = score_at(w, 1);
    assert_java("ok false", java_answer(waiter, WAKE_MS));
    assert_true(queue_becomes(w, 1));
    assert_int_equal(before - score_at(w, 0), 1500);
    assert_ok(leave(lock, me));
    ours_had_it(&caller);
    assert_true(nothing_is_left(w));
}

/* Redisson leaves the entry of a thread that was interrupted.  It is believed
 * until its score, by us as by Java.
 * spec: fair/java-2, fair/sweep-3 */
static void a_dead_java_waiter_is_waited_for_until_its_score(void **world)
{
    static struct caller caller;
    struct world *w = *world;
    hf_client *client = a_patient_client(w);
    hf_lock *lock = a_fair_lock(w, client);
    hf_owner *me = an_owner_of(w, client);
    int64_t left_ms;
    unsigned waiter;

    if (edition == OLDEST) {
        return; /* its waits are five minutes */
    }
    java_open(w, "hasty", "fair-wait=1500");
    assert_ok(try_fixed(lock, me, 1500));
    waiter = java_begins("hasty/t1", "interruptibly fair %s", NAME);
    assert_true(queue_becomes(w, 1));
    assert_java("ok", java_ask("hasty/t1 interrupt"));
    assert_java_begins("error InterruptedException",
                       java_answer(waiter, WAKE_MS));
    ours_joins(w, &caller, lock);
    assert_ok(leave(lock, me));
    left_ms = score_at(w, 0) - hft_int(w->server, "EVAL %s 0",
                                       "local t = redis.call('time') "
                                       "return t[1] * 1000 + t[2] / 1000");
    ours_had_it(&caller);
    assert_between(caller.ended_ms, hft_now_ms() - BOUND_MS, hft_now_ms());
    assert_between(left_ms, 1, 3000);
    assert_true(nothing_is_left(w));
    assert_java("ok", java_ask("hasty close"));
}

/* ---- releases ------------------------------------------------------------ */

/* Redisson lets anybody release a fair lock that has expired; we do not.
 * spec: fair/release-2 */
static void an_expired_lock_is_released_by_nobody_of_ours(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_fair_lock(w, w->client);

    assert_ok(try_fixed(lock, NULL, 100));
    assert_true(wire_free_within(w, NAME, BOUND_MS));
    assert_java("ok", java_ask("a/t1 release fair %s", NAME));
    assert_status(HF_LOST, leave(lock, NULL));
    assert_status(HF_NOT_OWNER, leave(lock, NULL));
}

/* A plain lock of the same name is the same hash, and no queue.
 * spec: fair/java-5 */
static void a_plain_lock_excludes_a_fair_one(void **world)
{
    struct world *w = *world;
    hf_lock *fair = a_fair_lock(w, w->client);
    hf_lock *plain = a_lock(w, NAME);

    assert_java("ok true", java_ask("a/t1 try lock %s", NAME));
    assert_status(HF_BUSY, try_once(fair, NULL));
    assert_java("ok", java_ask("a/t1 release lock %s", NAME));
    assert_java("ok true", java_ask("a/t1 try fair %s", NAME));
    assert_status(HF_BUSY, try_once(plain, NULL));
    assert_java("ok", java_ask("a/t1 release fair %s", NAME));
    assert_ok(try_once(fair, NULL));
    assert_java("ok false", java_ask("a/t1 try lock %s", NAME));
    assert_ok(leave(fair, NULL));
}

static void a_second_acquire_of_a_non_reentrant_one_is_refused(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock_of_kind(w, w->client, HF_KIND_NONREENTRANT_FAIR,
                                   NAME);

    assert_ok(try_once(lock, NULL));
    assert_status(HF_ALREADY_HELD, wait_up_to(lock, NULL, BOUND_MS));
    assert_java("ok false", java_ask("a/t1 try fair %s", NAME));
    assert_ok(leave(lock, NULL));
    if (edition == NEWEST) {
        assert_java("ok true", java_ask("a/t1 try nonreentrant-fair %s", NAME));
        assert_java_begins("error IllegalMonitorStateException",
                           java_ask("a/t1 try nonreentrant-fair %s", NAME));
        assert_status(HF_BUSY, try_once(lock, NULL));
        assert_java("ok", java_ask("a/t1 release nonreentrant-fair %s", NAME));
    }
    assert_true(nothing_is_left(w));
}

/* ---- clocks -------------------------------------------------------------- */

/* A Java client takes a waiter of ours for dead whose score its own clock has
 * passed (its sweep is played by hand, to have it at this moment; the clock is
 * wrong in test_clock.c).  Ours queues again: what it loses is its place.
 * spec: fair/java-3 */
static void a_java_clock_that_is_ahead_costs_a_place_and_no_more(void **world)
{
    static struct caller caller;
    struct world *w = *world;
    hf_lock *lock = a_fair_lock(w, w->client);
    hf_owner *me = an_owner(w);
    unsigned waiter;

    assert_ok(try_fixed(lock, me, HOLD_MS));
    ours_joins(w, &caller, lock);
    waiter = java_joins(w, "a/t1");
    (void)hft_int(w->server, "ZREM %s %s", SCORES,
                  hft_str(w->server, "LPOP %s", QUEUE));
    assert_true(queue_becomes(w, 2));
    assert_ok(leave(lock, me));
    assert_java("ok", java_answer(waiter, WAKE_MS));
    assert_true(queue_becomes(w, 1));
    assert_java("ok", java_ask("a/t1 release fair %s", NAME));
    ours_had_it(&caller);
    assert_true(nothing_is_left(w));
}

int main(int argc, char **argv)
{
    static const struct both_kind fair = {.ours = HF_KIND_FAIR, .java = "fair"};
    static const struct both_kind nonreentrant = {
        .ours = HF_KIND_NONREENTRANT_FAIR,
        .java = "nonreentrant-fair",
        .newest_only = true};
    const struct CMUnitTest tests[] = {
        world_test(waiters_of_both_sides_are_served_in_their_order),
        world_test(nobody_overtakes_who_waits),
        world_test(ours_that_gives_up_leaves_java_its_score),
        world_test(java_that_gives_up_leaves_us_in_our_place),
        world_test(a_dead_java_waiter_is_waited_for_until_its_score),
        world_test(a_java_clock_that_is_ahead_costs_a_place_and_no_more),
        world_test(an_expired_lock_is_released_by_nobody_of_ours),
        world_test(a_plain_lock_excludes_a_fair_one),
        world_test(a_second_acquire_of_a_non_reentrant_one_is_refused),
    };
    int failed;

    both_begin(argc, argv);
    failed = exclusive_tests(&fair) + exclusive_tests(&nonreentrant);
    failed += cmocka_run_group_tests_name("queue", tests, both_up, both_down);
    both_end();
    return failed;
}
