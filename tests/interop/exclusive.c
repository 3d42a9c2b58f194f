/* SPDX-License-Identifier: MIT */
/* exclusive.c - every kind of lock that one owner at a time has, between our
 * library and Redisson: who holds, who waits and is woken, who is refused.
 *
 * Each test is for one kind after the other.  Rows: LK-01, LK-02, 15.1.
 */
#include "exclusive.h"

#include <stdio.h>
#include <string.h>

#include "both.h"
#include "support/crew.h"

#define NAME "orders:42"

static const struct both_kind *kind;

static hf_lock *ours(struct world *w, hf_client *client, const char *name)
{
    return a_lock_of_kind(w, client, kind->ours, name);
}

static int64_t scripts_run(struct world *w)
{
    return hft_calls(w->server, "eval") + hft_calls(w->server, "evalsha");
}

struct more_scripts {
    struct world *w;
    int64_t least;
};

static bool ran_so_many(void *context)
{
    const struct more_scripts *more = context;

    return scripts_run(more->w) >= more->least;
}

/* Start to acquire in a thread of ours, and wait until it waits. */
static void we_begin_to_wait(struct world *w, struct caller *caller,
                             hf_lock *lock)
{
    struct more_scripts more = {w, scripts_run(w) + 2};

    caller_start(caller, lock, WAKE_MS);
    assert_true(kind->polls ? hft_wait_until(ran_so_many, &more, BOUND_MS)
                            : somebody_listens(w));
}

/* Java's words about this kind and a name. */
static const char *java_says(const char *thread, const char *verb,
                             const char *name)
{
    return java_ask("%s %s %s %s", thread, verb, kind->java, name);
}

/* We hold, and a Java thread waits; our release lets it in. */
static void java_is_woken(struct world *w, hf_lock *lock, const char *name)
{
    unsigned waiter;

    assert_ok(try_fixed(lock, NULL, HOLD_MS));
    assert_java("ok false", java_says("a/t1", "try", name));
    waiter = java_begins("a/t1", "acquire %s %s", kind->java, name);
    assert_java("ok false", java_says("a/t2", "try", name));
    assert_null(java_answer(waiter, 0));
    assert_ok(leave(lock, NULL));
    assert_java("ok", java_answer(waiter, WAKE_MS));
    assert_status(HF_BUSY, try_once(lock, NULL));
    assert_java("ok", java_says("a/t1", "release", name));
    assert_true(hft_wait_channels(w->server, 0, BOUND_MS));
}

/* A Java thread holds, and we wait; its release lets us in. */
static void we_are_woken(struct world *w, hf_lock *lock, const char *name)
{
    static struct caller caller;

    assert_java("ok",
                java_ask("a/t1 acquire %s %s %d", kind->java, name, HOLD_MS));
    assert_status(HF_BUSY, try_once(lock, NULL));
    we_begin_to_wait(w, &caller, lock);
    assert_java("ok", java_says("a/t1", "release", name));
    caller_join(&caller);
    assert_int_equal(caller.status, HF_OK);
    assert_int_equal(caller.release_status, HF_OK);
    assert_true(wire_free_within(w, name, 0));
}

/* spec: rlock/java-2, rlock/message-1 */
static void a_java_thread_that_waits_is_woken_by_our_release(void **world)
{
    struct world *w = *world;

    java_is_woken(w, ours(w, w->client, NAME), NAME);
}

/* spec: rlock/java-2, rlock/wait-3 */
static void we_are_woken_by_the_release_of_a_java_thread(void **world)
{
    struct world *w = *world;

    we_are_woken(w, ours(w, a_patient_client(w), NAME), NAME);
}

/* Both build the same key and channel of every name, the odd ones too.
 * spec: rlock/name-1, rlock/name-2, rlock/name-3 */
static void odd_names_mean_the_same_to_both(void **world)
{
    static const char umlauts[] = "gr\xc3\xb6\xc3\x9f"
                                  "e";
    static const char *const names[] = {"{shop}:orders", "a{t}b", "a{b", "a{",
                                        "a}b",           "}a{t}", "{}x", "*?",
                                        "100%",          umlauts};
    struct world *w = *world;
    hf_client *client = a_patient_client(w);
    size_t i;

    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        hf_lock *lock = ours(w, client, names[i]);

        print_message("           %s\n", names[i]);
        java_is_woken(w, lock, names[i]);
        we_are_woken(w, lock, names[i]);
    }
}

/* spec: rlock/java-1, rlock/owner-3 */
static void java_sees_a_lock_of_ours_as_any(void **world)
{
    struct world *w = *world;
    hf_lock *lock = ours(w, w->client, NAME);

    assert_java("ok false", java_says("a/t1", "is-locked", NAME));
    assert_java("ok -2", java_says("a/t1", "ttl", NAME));
    assert_ok(try_fixed(lock, NULL, HOLD_MS));
    assert_java("ok true", java_says("a/t1", "is-locked", NAME));
    assert_between(java_number(java_says("a/t1", "ttl", NAME)), 1, HOLD_MS);
    assert_java("ok false", java_says("a/t1", "is-held", NAME));
    assert_java("ok 0", java_says("a/t1", "count", NAME));
    assert_ok(leave(lock, NULL));
    assert_java("ok false", java_says("a/t1", "is-locked", NAME));
}

static void we_see_a_lock_of_java_as_any(void **world)
{
    struct world *w = *world;
    hf_lock *lock = ours(w, w->client, NAME);
    hf_lock_info info = HF_LOCK_INFO_INIT;
    const char *owner;

    assert_java("ok",
                java_ask("a/t1 acquire %s %s %d", kind->java, NAME, HOLD_MS));
    assert_ok(hf_inspect_remote(lock, &info, &problem));
    assert_true(info.locked);
    /* A writer's has an ending. */
    owner = java_text(java_ask("a/t1 owner"));
    assert_int_equal(strncmp(info.owner, owner, strlen(owner)), 0);
    assert_int_equal(info.count, 1);
    assert_between(info.ttl_ms, 1, HOLD_MS);
    assert_false(hf_lock_is_held(lock, NULL));
    assert_java("ok", java_says("a/t1", "release", NAME));
    assert_ok(hf_inspect_remote(lock, &info, &problem));
    assert_false(info.locked);
}

static void nobody_releases_what_the_other_side_holds(void **world)
{
    struct world *w = *world;
    hf_lock *lock = ours(w, w->client, NAME);

    assert_ok(try_fixed(lock, NULL, HOLD_MS));
    assert_java_begins("error IllegalMonitorStateException",
                       java_says("a/t1", "release", NAME));
    assert_true(hf_lock_is_held(lock, NULL));
    assert_java("ok true", java_says("a/t1", "is-locked", NAME));
    assert_ok(leave(lock, NULL));

    assert_java("ok true", java_says("a/t1", "try", NAME));
    assert_status(HF_NOT_OWNER, leave(lock, NULL));
    assert_java("ok true", java_says("a/t1", "is-held", NAME));
    assert_java("ok", java_says("a/t1", "release", NAME));
}

/* spec: rlock/java-1 */
static void java_can_force_a_lock_of_ours_and_the_holder_is_told(void **world)
{
    struct world *w = *world;
    hf_lock *lock = ours(w, w->client, NAME);
    hf_lost_reason reason;

    assert_ok(try_once(lock, NULL));
    assert_java("ok true", java_says("a/t1", "force", NAME));
    assert_true(state_becomes(lock, NULL, HF_STATE_LOST, BOUND_MS));
    (void)hf_lock_state_of(lock, NULL, &reason);
    assert_int_equal(reason, HF_LOST_GONE);
    assert_status(HF_LOST, leave(lock, NULL));
    assert_java("ok false", java_says("a/t1", "force", NAME));
}

/* And our own waiter is woken by it, as another Java thread is by ours.
 * spec: rlock/force-3 */
static void a_forced_release_wakes_who_waits_on_the_other_side(void **world)
{
    struct world *w = *world;
    hf_lock *lock = ours(w, a_patient_client(w), NAME);
    static struct caller caller;
    unsigned waiter;

    assert_java("ok",
                java_ask("a/t1 acquire %s %s %d", kind->java, NAME, HOLD_MS));
    we_begin_to_wait(w, &caller, lock);
    assert_java("ok true", java_says("b/t1", "force", NAME));
    caller_join(&caller);
    assert_int_equal(caller.status, HF_OK);

    assert_java("ok",
                java_ask("a/t1 acquire %s %s %d", kind->java, NAME, HOLD_MS));
    assert_true(hft_wait_channels(w->server, 0, BOUND_MS));
    waiter = java_begins("b/t1", "acquire %s %s", kind->java, NAME);
    assert_ok(hf_lock_force_release(lock, NULL, &problem));
    assert_java("ok", java_answer(waiter, WAKE_MS));
    assert_java_begins("error IllegalMonitorStateException",
                       java_says("a/t1", "release", NAME));
    assert_java("ok", java_says("b/t1", "release", NAME));
}

/* A wait of either side ends at its own time, and not before. */
static void waits_for_the_other_side_end_in_time(void **world)
{
    struct world *w = *world;
    hf_lock *lock = ours(w, w->client, NAME);
    int64_t began_ms;

    assert_ok(try_fixed(lock, NULL, HOLD_MS));
    began_ms = hft_now_ms();
    assert_java("ok false", java_ask("a/t1 try %s %s 300", kind->java, NAME));
    assert_between(hft_now_ms() - began_ms, 300, WAKE_MS);
    assert_ok(leave(lock, NULL));

    assert_java("ok true", java_says("a/t1", "try", NAME));
    began_ms = hft_now_ms();
    assert_status(HF_TIMEOUT, wait_up_to(lock, NULL, 300));
    assert_between(hft_now_ms() - began_ms, 300, WAKE_MS);
    assert_java("ok", java_says("a/t1", "release", NAME));
}

/* Whoever does not come back loses it when the lease ends, on both sides. */
static void a_lease_that_ends_lets_the_other_side_in(void **world)
{
    struct world *w = *world;
    hf_lock *lock = ours(w, w->client, NAME);
    unsigned waiter;

    assert_ok(try_fixed(lock, NULL, 400));
    waiter = java_send("a/t1 acquire %s %s 400", kind->java, NAME);
    assert_java("ok", java_answer(waiter, WAKE_MS));
    assert_status(HF_LOST, leave(lock, NULL));
    assert_ok(wait_up_to(lock, NULL, WAKE_MS));
    assert_java_begins("error IllegalMonitorStateException",
                       java_says("a/t1", "release", NAME));
    assert_true(hf_lock_is_held(lock, NULL));
    assert_ok(leave(lock, NULL));
}

static int64_t lowest_ttl(struct world *w, const char *name, int64_t for_ms)
{
    int64_t end_ms = hft_now_ms() + for_ms;
    int64_t lowest = INT64_MAX;

    while (hft_now_ms() < end_ms) {
        int64_t now = wire_ttl(w, name);

        lowest = now < lowest ? now : lowest;
        hft_let_pass_ms(20);
    }
    return lowest;
}

/* Java's watchdog and our keeper renew what is theirs, beside each other. */
static void both_keep_what_they_hold_alive(void **world)
{
    struct world *w = *world;
    hf_lock *mine = ours(w, w->client, "mine");
    hf_lock *its = ours(w, w->client, "its");

    assert_ok(try_once(mine, NULL));
    assert_java("ok", java_says("a/t1", "acquire", "its"));
    assert_true(lowest_ttl(w, "its", WATCHDOG_MS + W_MS) > 0);
    assert_true(hf_lock_is_held(mine, NULL));
    assert_java("ok true", java_says("a/t1", "is-held", "its"));
    assert_status(HF_BUSY, try_once(its, NULL));
    assert_java("ok false", java_says("a/t2", "try", "mine"));
    assert_ok(leave(mine, NULL));
    assert_java("ok", java_says("a/t1", "release", "its"));
}

/* ---- all at once --------------------------------------------------------- */

#define ROUNDS 60
#define MEMBERS 2

struct rush {
    struct world *w;
    hf_lock *lock;
};

/* What the agent's verb "cycle" does. */
static void add_one_by_one(struct hft_member *me)
{
    struct rush *rush = me->context;
    int round;

    for (round = 0; round < ROUNDS; round++) {
        int64_t sum;

        if (!HFT_CHECK(me, hf_lock_acquire(rush->lock, NULL, NULL) == HF_OK)) {
            return;
        }
        sum = hft_int(rush->w->server, "GET sum");
        (void)hft_int(rush->w->server, "SET sum %lld", (long long)sum + 1);
        if (!HFT_CHECK(me, hf_lock_release(rush->lock, NULL, NULL) == HF_OK)) {
            return;
        }
    }
}

/* Reading and writing are two commands, so an overlap loses a number. */
static void threads_of_both_sides_never_overlap(void **world)
{
    struct world *w = *world;
    struct rush rush = {w, ours(w, a_patient_client(w), NAME)};
    struct hft_crew *crew;
    unsigned asked[3];

    (void)hft_str(w->server, "SET sum 0");
    asked[0] = java_send("a/t1 cycle %s %s %d sum", kind->java, NAME, ROUNDS);
    asked[1] = java_send("a/t2 cycle %s %s %d sum", kind->java, NAME, ROUNDS);
    asked[2] = java_send("b/t1 cycle %s %s %d sum", kind->java, NAME, ROUNDS);
    crew = hft_crew_start(MEMBERS, add_one_by_one, &rush);
    assert_null(hft_crew_join(crew, HOLD_MS));
    hft_crew_free(crew);
    assert_java_begins("ok", java_answer(asked[0], HOLD_MS));
    assert_java_begins("ok", java_answer(asked[1], HOLD_MS));
    assert_java_begins("ok", java_answer(asked[2], HOLD_MS));
    assert_int_equal(hft_int(w->server, "GET sum"), (MEMBERS + 3) * ROUNDS);
}

int exclusive_tests(const struct both_kind *which)
{
    const struct CMUnitTest tests[] = {
        world_test(a_java_thread_that_waits_is_woken_by_our_release),
        world_test(we_are_woken_by_the_release_of_a_java_thread),
        world_test(odd_names_mean_the_same_to_both),
        world_test(java_sees_a_lock_of_ours_as_any),
        world_test(we_see_a_lock_of_java_as_any),
        world_test(nobody_releases_what_the_other_side_holds),
        world_test(java_can_force_a_lock_of_ours_and_the_holder_is_told),
        world_test(a_forced_release_wakes_who_waits_on_the_other_side),
        world_test(waits_for_the_other_side_end_in_time),
        world_test(a_lease_that_ends_lets_the_other_side_in),
        world_test(both_keep_what_they_hold_alive),
        world_test(threads_of_both_sides_never_overlap),
    };

    if (which->newest_only && edition == OLDEST) {
        return 0;
    }
    kind = which;
    return cmocka_run_group_tests_name(kind->java, tests, both_up, both_down);
}
