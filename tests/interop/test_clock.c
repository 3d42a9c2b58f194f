/* SPDX-License-Identifier: MIT */
/* test_clock.c - a Java program whose wall clock is ten minutes ahead or behind.
 *
 * Redisson leaves the time of a plain lock, a spin lock and a read-write lock to
 * the server, so there nothing changes.  Into the fair lock, the permits and the
 * values lock it writes its own clock: what that does is here too, and that ours
 * learn of it.
 */
#include "both.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exclusive.h"
#include "holdfast/permits.h"
#include "support/clock.h"
#include "support/fatal.h"
#include "support/scratch.h"

#define TEN_MINUTES_S 600

static int64_t *java_is_off_s;

static void set_java_off_by(struct world *w, int64_t seconds)
{
    int64_t server_ms;

    *java_is_off_s = seconds;
    server_ms = 1000 *
                hft_int(w->server, "EVAL %s 0", "return redis.call('time')[1]");
    assert_between(java_number(java_ask("a now")) - server_ms - seconds * 1000,
                   -20000, 20000);
}

/* ---- the fair lock -------------------------------------------------------- */

#define FAIR "till"

static bool queue_becomes(struct world *w, int64_t count)
{
    return hft_wait_int(w->server, count, BOUND_MS,
                        "LLEN redisson_lock_queue:{" FAIR "}");
}

/* One of ours holds, one of ours waits, and a Java thread: nobody has it before
 * it is released, then everybody has it in a turn of his own. */
static void everybody_has_a_turn(struct world *w)
{
    static struct caller caller;
    hf_lock *lock = a_lock_of_kind(w, w->client, HF_KIND_FAIR, FAIR);
    hf_owner *me = an_owner(w);
    unsigned java;

    assert_ok(try_fixed(lock, me, HOLD_MS));
    caller_start(&caller, lock, 3 * WAKE_MS);
    assert_true(queue_becomes(w, 1));
    java = java_send("a/t1 acquire fair " FAIR);
    assert_null(java_answer(java, 3000)); /* ours has asked again since */
    assert_true(hf_lock_is_held(lock, me));
    assert_ok(leave(lock, me));
    assert_java("ok", java_answer(java, 3 * WAKE_MS));
    assert_java("ok", java_ask("a/t1 release fair " FAIR));
    caller_join(&caller);
    assert_status(HF_OK, caller.status);
    assert_status(HF_OK, caller.release_status);
    assert_true(queue_becomes(w, 0));
    assert_true(wire_free_within(w, FAIR, BOUND_MS));
}

/* Ahead, it sweeps ours, which queues again.
 * spec: fair/java-3 */
static void a_java_clock_that_is_ahead_costs_ours_a_place_at_most(void **world)
{
    set_java_off_by(*world, TEN_MINUTES_S);
    everybody_has_a_turn(*world);
}

/* Behind, its scores are past at once: ours sweep it, and it queues again.
 * spec: fair/sweep-3 */
static void a_java_clock_that_is_behind_costs_it_a_place_at_most(void **world)
{
    set_java_off_by(*world, -TEN_MINUTES_S);
    everybody_has_a_turn(*world);
}

/* ---- permits ---------------------------------------------------------------- */

#define POOL "pool"

static hf_permits *a_pool_of_one(struct world *w)
{
    hf_permits *permits = NULL;
    bool set = false;

    assert_ok(hf_permits_new(w->client, POOL, &permits, &problem));
    assert_ok(hf_permits_try_set(permits, 1, 0, &set, &problem));
    assert_true(set);
    return permits;
}

struct kept {
    hf_permits *permits;
    const char *id;
};

static bool is_held_no_more(void *context)
{
    const struct kept *kept = context;

    return !hf_permits_is_held(kept->permits, kept->id);
}

/* Ahead, it takes ours for ended, and takes it: ours is told.
 * spec: permits/java-3 */
static void a_java_clock_that_is_ahead_ends_our_permits(void **world)
{
    struct world *w = *world;
    hf_permits *permits = a_pool_of_one(w);
    hf_acquire how = once(NULL, 0);
    char id[HF_PERMIT_ID_SIZE];
    char its[64];
    struct kept kept = {permits, id};

    set_java_off_by(w, TEN_MINUTES_S);
    assert_ok(hf_permits_acquire(permits, &how, id, &problem));
    (void)snprintf(
        its, sizeof(its), "%s",
        java_text(java_ask("a/t1 permit-try " POOL " 0 %d", HOLD_MS)));
    assert_true(hft_wait_until(is_held_no_more, &kept, BOUND_MS));
    assert_java("ok", java_ask("a/t1 permit-release " POOL " %s", its));
    assert_int_equal(hft_int(w->server, "GET " POOL), 1);
    assert_ok(hf_permits_free(permits));
}

/* Behind, its own have ended for everybody else as soon as it has them. */
static void a_java_clock_that_is_behind_ends_its_own_permits(void **world)
{
    struct world *w = *world;
    hf_permits *permits = a_pool_of_one(w);
    hf_acquire how = once(NULL, 0);
    char id[HF_PERMIT_ID_SIZE];

    set_java_off_by(w, -TEN_MINUTES_S);
    assert_java_begins("ok ",
                       java_ask("a/t1 permit-try " POOL " 0 %d", HOLD_MS));
    assert_ok(hf_permits_acquire(permits, &how, id, &problem));
    assert_java("ok", java_ask("a/t2 permit-try " POOL " 0 %d", HOLD_MS));
    assert_true(hf_permits_is_held(permits, id));
    assert_ok(hf_permits_release(permits, id, &problem));
    assert_int_equal(hft_int(w->server, "GET " POOL), 1);
    assert_ok(hf_permits_free(permits));
}

/* ---- all at once ------------------------------------------------------------ */

#define ROUNDS 20

/* Whatever Java thinks of the time, two are never inside. */
static void nobody_overlaps(struct world *w, const char *java, hf_kind kind)
{
    hf_lock *lock = a_lock_of_kind(w, w->client, kind, "both");
    unsigned asked = java_send("a/t1 cycle %s both %d sum", java, ROUNDS);

    for (int i = 0; i < ROUNDS; i++) {
        int64_t sum;

        assert_ok(wait_up_to(lock, NULL, HOLD_MS));
        sum = hft_int(w->server, "INCRBY sum 0");
        (void)hft_int(w->server, "SET sum %lld", (long long)sum + 1);
        assert_ok(leave(lock, NULL));
    }
    assert_java_begins("ok", java_answer(asked, HOLD_MS));
    assert_int_equal(hft_int(w->server, "GET sum"), 2 * ROUNDS);
    (void)hft_int(w->server, "DEL sum");
}

static void java_with_any_clock_and_ours_never_overlap(void **world)
{
    static const int64_t offsets[] = {TEN_MINUTES_S, -TEN_MINUTES_S};

    for (size_t i = 0; i < 2; i++) {
        set_java_off_by(*world, offsets[i]);
        nobody_overlaps(*world, "lock", HF_KIND_LOCK);
        nobody_overlaps(*world, "spin", HF_KIND_SPIN);
        nobody_overlaps(*world, "write", HF_KIND_WRITE);
        nobody_overlaps(*world, "fair", HF_KIND_FAIR);
    }
}

/* A clock that jumps while its watchdog keeps a lock. */
static void java_keeps_what_it_holds_while_its_clock_jumps(void **world)
{
    static const int64_t offsets[] = {-TEN_MINUTES_S, TEN_MINUTES_S, 0};
    struct world *w = *world;
    hf_lock *lock = a_lock(w, "kept");

    set_java_off_by(w, TEN_MINUTES_S);
    assert_java("ok", java_ask("a/t1 acquire lock kept"));
    for (size_t i = 0; i < 3; i++) {
        set_java_off_by(w, offsets[i]);
        assert_status(HF_TIMEOUT, wait_up_to(lock, NULL, WATCHDOG_MS));
        assert_java("ok true", java_ask("a/t1 is-held lock kept"));
    }
    assert_java("ok", java_ask("a/t1 release lock kept"));
    assert_ok(try_once(lock, NULL));
    assert_ok(leave(lock, NULL));
}

int main(int argc, char **argv)
{
    static const struct both_kind plain = {.ours = HF_KIND_LOCK,
                                           .java = "lock"};
    static const struct both_kind fair = {.ours = HF_KIND_FAIR, .java = "fair"};
    const struct CMUnitTest tests[] = {
        world_test(a_java_clock_that_is_ahead_costs_ours_a_place_at_most),
        world_test(a_java_clock_that_is_behind_costs_it_a_place_at_most),
        world_test(a_java_clock_that_is_ahead_ends_our_permits),
        world_test(a_java_clock_that_is_behind_ends_its_own_permits),
        world_test(java_with_any_clock_and_ours_never_overlap),
        world_test(java_keeps_what_it_holds_while_its_clock_jumps),
    };
    char *folder = hft_scratch_new();
    char *path = hft_format("%s/clock", folder);
    int failed = 0;

    java_is_off_s = hft_clock_that_jumps(JUMPING_CLOCK, path,
                                         &java_environment);
    both_begin(argc, argv);
    *java_is_off_s = TEN_MINUTES_S;
    failed += exclusive_tests(&plain);
    *java_is_off_s = -TEN_MINUTES_S;
    failed += exclusive_tests(&fair);
    failed += cmocka_run_group_tests_name("clocks", tests, both_up, both_down);
    both_end();
    hft_scratch_delete(folder);
    free(path);
    return failed;
}
