/* SPDX-License-Identifier: MIT */
/* test_lock_basic.c - taking, holding and giving up, without any bad luck.
 *
 * Rows: LK-13 to LK-21, LK-30, PL-03 to PL-05, PL-11, PL-20, PL-28, PL-33,
 * PL-35, PL-39, PL-69, PL-76, PL-77, PL-79, T9, T10, T48 (world_end), 15.17.
 */
#include "world.h"

#include <string.h>

#define NAME "orders:42"

static int is_locked(hf_lock *lock)
{
    hf_lock_info info = HF_LOCK_INFO_INIT;

    assert_ok(hf_inspect_remote(lock, &info, &problem));
    return info.locked;
}

/* LK-18, LK-20, PL-03. */
static void a_lock_is_free_then_held_then_free_again(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    int round;

    for (round = 0; round < 2; round++) {
        assert_false(is_locked(lock));
        assert_ok(hf_lock_acquire(lock, NULL, &problem));
        assert_true(is_locked(lock));
        assert_ok(leave(lock, NULL));
        assert_false(is_locked(lock));
    }
    assert_int_equal(wire_ttl(w, NAME), -2);
}

/* LK-13. */
static void the_hold_count_follows_every_hold_and_release(void **world)
{
    hf_lock *lock = a_lock(*world, NAME);

    assert_int_equal(hf_lock_hold_count(lock, NULL), 0);
    assert_ok(try_once(lock, NULL));
    assert_int_equal(hf_lock_hold_count(lock, NULL), 1);
    assert_ok(leave(lock, NULL));
    assert_int_equal(hf_lock_hold_count(lock, NULL), 0);
    assert_ok(try_once(lock, NULL));
    assert_ok(try_once(lock, NULL));
    assert_int_equal(hf_lock_hold_count(lock, NULL), 2);
    assert_ok(leave(lock, NULL));
    assert_int_equal(hf_lock_hold_count(lock, NULL), 1);
    assert_ok(leave(lock, NULL));
    assert_int_equal(hf_lock_hold_count(lock, NULL), 0);
}

/* What another thread of the same client sees of a lock. */
struct glance {
    hf_lock *lock;
    bool held_by_me;
    int64_t count;
    hf_lock_state hold;
    int locked;
};

static void *glance_at(void *context)
{
    struct glance *glance = context;
    hf_lock_info info = HF_LOCK_INFO_INIT;

    glance->held_by_me = hf_lock_is_held(glance->lock, NULL);
    glance->count = hf_lock_hold_count(glance->lock, NULL);
    glance->hold = hf_lock_state_of(glance->lock, NULL, NULL);
    glance->locked = hf_inspect_remote(glance->lock, &info, NULL) == HF_OK
                         ? info.locked
                         : -1;
    return NULL;
}

static struct glance glance_of_another_thread(hf_lock *lock)
{
    struct glance glance = {.lock = lock};
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, glance_at, &glance), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    return glance;
}

/* LK-14, LK-15, LK-16, PL-39. */
static void a_hold_is_the_threads_own_and_locked_is_for_all(void **world)
{
    hf_lock *lock = a_lock(*world, NAME);
    struct glance glance;

    assert_false(hf_lock_is_held(lock, NULL));
    assert_ok(try_once(lock, NULL));
    assert_true(hf_lock_is_held(lock, NULL));
    glance = glance_of_another_thread(lock);
    assert_false(glance.held_by_me);
    assert_int_equal(glance.count, 0);
    assert_int_equal(glance.hold, HF_NOT_HELD);
    assert_int_equal(glance.locked, 1);
    assert_ok(leave(lock, NULL));
    assert_false(hf_lock_is_held(lock, NULL));
    glance = glance_of_another_thread(lock);
    assert_false(glance.held_by_me);
    assert_int_equal(glance.locked, 0);
}

/* LK-21, PL-77. */
static void a_hold_is_over_with_its_last_release_only(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    hf_owner *other = an_owner(w);

    assert_ok(try_once(lock, NULL));
    assert_ok(try_once(lock, NULL));
    assert_status(HF_BUSY, try_once(lock, other));
    assert_ok(leave(lock, NULL));
    assert_status(HF_BUSY, try_once(lock, other));
    assert_ok(leave(lock, NULL));
    assert_ok(try_once(lock, other));
    assert_ok(leave(lock, other));
}

/* PL-05, PL-04, PL-20, PL-77: and with two clients. */
static void two_clients_exclude_each_other(void **world)
{
    struct world *w = *world;
    hf_lock *mine = a_lock(w, NAME);
    hf_lock *theirs = a_lock_of(w, a_client(w), NAME);

    assert_ok(try_once(mine, NULL));
    assert_true(hf_lock_is_held(mine, NULL));
    assert_false(hf_lock_is_held(theirs, NULL));
    assert_status(HF_BUSY, try_once(theirs, NULL));
    assert_ok(leave(mine, NULL));
    assert_ok(try_once(theirs, NULL));
    assert_status(HF_BUSY, try_once(mine, NULL));
    assert_false(hf_lock_is_held(mine, NULL));
    assert_ok(leave(theirs, NULL));
}

/* PL-69: three deep, and nobody gets in between. */
static void a_nest_of_holds_lets_nobody_in_until_the_outermost_ends(
    void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    struct caller other = {.hold_ms = 0};
    int depth;

    for (depth = 0; depth < 3; depth++) {
        assert_ok(try_once(lock, NULL));
    }
    caller_start(&other, lock, BOUND_MS);
    assert_true(waiters_become(w->client, 1, BOUND_MS));
    for (depth = 3; depth > 1; depth--) {
        assert_ok(leave(lock, NULL));
        assert_int_equal(stats_of(w->client).waiters, 1);
        assert_true(hf_lock_is_held(lock, NULL));
    }
    assert_ok(leave(lock, NULL));
    caller_join(&other);
    assert_status(HF_OK, other.status);
    assert_status(HF_OK, other.release_status);
}

/* LK-30, and DESIGN 4: a hold belongs to (client, name, owner), not to the
 * lock object. */
static void explicit_owners_are_owners_on_any_lock_object(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    hf_lock *same = a_lock(w, NAME);
    hf_owner *one = an_owner(w);
    hf_owner *two = an_owner(w);

    assert_ok(try_once(lock, one));
    assert_true(hf_lock_is_held(lock, one));
    assert_true(hf_lock_is_held(same, one));
    assert_false(hf_lock_is_held(lock, two));
    assert_false(hf_lock_is_held(lock, NULL));
    assert_ok(leave(same, one));
    assert_ok(try_once(same, two));
    assert_true(hf_lock_is_held(lock, two));
    assert_false(hf_lock_is_held(lock, one));
    assert_ok(leave(lock, two));
    assert_false(hf_lock_is_held(lock, one));
    assert_false(hf_lock_is_held(lock, two));
}

/* T12: any thread may release what an explicit owner holds. */
static void *release_it(void *context)
{
    struct caller *caller = context;

    caller->release_status = hf_lock_release(caller->lock, caller->how.owner,
                                             &caller->error);
    return NULL;
}

static void another_thread_may_release_an_explicit_owners_hold(void **world)
{
    struct world *w = *world;
    struct caller other = {.lock = a_lock(w, NAME)};
    hf_owner *owner = an_owner(w);

    other.how.owner = owner;
    assert_ok(try_once(other.lock, owner));
    assert_int_equal(pthread_create(&other.thread, NULL, release_it, &other),
                     0);
    caller_join(&other);
    assert_status(HF_OK, other.release_status);
    assert_false(hf_lock_is_held(other.lock, owner));
    assert_int_equal(wire_ttl(w, NAME), -2);
}

/* LK-19, PL-11, PL-28, 15.17: refused at once, nothing touched. */
static void a_strangers_release_is_refused_and_touches_nothing(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    hf_lock *theirs = a_lock_of(w, a_client(w), NAME);
    hf_owner *other = an_owner(w);
    int64_t scripts;
    int64_t ttl;

    assert_ok(try_fixed(lock, NULL, 600000));
    scripts = stats_of(w->client).scripts_sent;
    ttl = wire_ttl(w, NAME);
    assert_status(HF_NOT_OWNER, leave(lock, other));
    assert_status(HF_NOT_OWNER, leave(theirs, NULL));
    assert_status(HF_NOT_OWNER, hf_lock_extend(lock, other, 900000, &problem));
    assert_int_equal(stats_of(w->client).scripts_sent, scripts);
    assert_int_equal(wire_count(w, NAME), 1);
    assert_true(wire_ttl(w, NAME) <= ttl);
    assert_ok(leave(lock, NULL));
}

/* PL-76: before the first hold, and twice. */
static void releasing_what_is_not_held_is_an_error_each_time(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);

    assert_status(HF_NOT_OWNER, leave(lock, NULL));
    assert_ok(try_once(lock, NULL));
    assert_ok(leave(lock, NULL));
    assert_status(HF_NOT_OWNER, leave(lock, NULL));
    assert_int_equal(hf_lock_state_of(lock, NULL, NULL), HF_NOT_HELD);
    assert_ok(try_once(lock, NULL)); /* PL-79 */
    assert_ok(leave(lock, NULL));
}

/* LK-08, LK-38, PL-33: a free lock is left alone, a held one is freed, a
 * waiter is woken, and the former holder's release says that it is gone. */
static void a_forced_release_frees_it_and_wakes_a_waiter(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    hf_lock *theirs = a_lock_of(w, a_client(w), NAME);
    hf_client *third = a_client(w);
    hf_lock *waited = a_lock_of(w, third, NAME);
    struct caller waiter = {.hold_ms = -1};
    hf_owner *owner = an_owner_of(w, third);
    hf_acquire how = HF_ACQUIRE_INIT;
    int64_t forced_ms;

    how.owner = owner;
    assert_status(HF_NOT_OWNER, hf_lock_force_release(theirs, NULL, &problem));
    assert_ok(try_fixed(lock, NULL, 600000));
    caller_start_as(&waiter, waited, &how);
    assert_true(hft_wait_channels(w->server, 1, BOUND_MS));
    forced_ms = hft_now_ms();
    assert_ok(hf_lock_force_release(theirs, NULL, &problem));
    caller_join(&waiter);
    assert_status(HF_OK, waiter.status);
    assert_between(waiter.ended_ms - forced_ms, 0, 500 + SLACK_MS);
    assert_status(HF_GONE, leave(lock, NULL));
    assert_int_equal(wire_count(w, NAME), 1);
    assert_ok(leave(waited, owner));
}

/* spec: rlock/force-2 */
static void a_forced_release_can_insist_on_the_owner_it_saw(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    char holder[64];

    assert_ok(try_once(lock, NULL));
    assert_ok(hf_lock_owner_text(lock, NULL, holder, sizeof(holder)));
    assert_status(HF_NOT_OWNER,
                  hf_lock_force_release(lock, STRANGER, &problem));
    assert_int_equal(wire_count(w, NAME), 1);
    assert_true(hf_lock_is_held(lock, NULL));
    assert_ok(hf_lock_force_release(lock, holder, &problem));
    assert_int_equal(wire_ttl(w, NAME), -2);
    /* The forced one learns of it in its turn, at the latest by a release. */
    assert_status(HF_GONE, leave(lock, NULL));
}

/* PL-35. */
static void the_owners_text_is_the_field_on_the_server(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    char text[64] = "";

    assert_status(HF_NOT_OWNER,
                  hf_lock_owner_text(lock, NULL, text, sizeof(text)));
    assert_ok(try_once(lock, NULL));
    assert_ok(hf_lock_owner_text(lock, NULL, text, sizeof(text)));
    assert_string_equal(wire_owner(w, NAME), text);
    assert_memory_equal(text, hf_client_id(w->client), 36);
    assert_status(HF_INVALID, hf_lock_owner_text(lock, NULL, text, 10));
    assert_ok(leave(lock, NULL));
}

/* LATE-COPIES: a number serves one outermost hold, and never again.
 * spec: rlock/owner-2 */
static void every_outermost_hold_has_a_fresh_number(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    char first[64];
    char second[64];

    assert_ok(try_once(lock, NULL));
    assert_ok(hf_lock_owner_text(lock, NULL, first, sizeof(first)));
    assert_ok(leave(lock, NULL));
    assert_ok(try_once(lock, NULL));
    assert_ok(hf_lock_owner_text(lock, NULL, second, sizeof(second)));
    assert_ok(leave(lock, NULL));
    assert_string_not_equal(first, second);
}

/* T6: the machine as far as it goes without bad luck. */
static void a_fixed_lease_runs_from_held_to_lost_to_not_held(void **world)
{
    hf_lock *lock = a_lock(*world, NAME);
    hf_lost_reason reason = HF_LOST_GONE;

    assert_int_equal(hf_lock_state_of(lock, NULL, &reason), HF_NOT_HELD);
    assert_int_equal(reason, HF_NOT_LOST);
    assert_ok(try_fixed(lock, NULL, 200));
    assert_int_equal(hf_lock_state_of(lock, NULL, NULL), HF_HELD);
    assert_between(hf_lock_remaining_ms(lock, NULL), 1, 200);
    assert_true(state_becomes(lock, NULL, HF_STATE_LOST, BOUND_MS));
    (void)hf_lock_state_of(lock, NULL, &reason);
    assert_int_equal(reason, HF_LOST_EXPIRED);
    assert_false(hf_lock_is_held(lock, NULL));
    assert_int_equal(hf_lock_hold_count(lock, NULL), 0);
    assert_int_equal(hf_lock_remaining_ms(lock, NULL), 0);
    assert_status(HF_LOST, try_once(lock, NULL));
    assert_status(HF_LOST, leave(lock, NULL));
    assert_int_equal(hf_lock_state_of(lock, NULL, NULL), HF_NOT_HELD);
    assert_status(HF_NOT_OWNER, leave(lock, NULL));
    /* On the server it ends a margin later than here. */
    assert_ok(wait_up_to(lock, NULL, BOUND_MS));
    assert_ok(leave(lock, NULL));
}

/* A nest that is lost is released as often as it was taken. */
static void each_level_of_a_lost_nest_is_released_as_lost(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);

    assert_ok(try_fixed(lock, NULL, 150));
    assert_ok(try_fixed(lock, NULL, 150));
    assert_ok(try_fixed(lock, NULL, 150));
    assert_true(state_becomes(lock, NULL, HF_STATE_LOST, BOUND_MS));
    assert_status(HF_LOST, leave(lock, NULL));
    assert_status(HF_LOST, leave(lock, NULL));
    assert_status(HF_LOST, leave(lock, NULL));
    assert_status(HF_NOT_OWNER, leave(lock, NULL));
}

/* T10: what is said names the lock and who has it. */
static void an_error_names_the_lock_and_the_holder(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);

    stranger_takes(w, NAME, 60000);
    assert_status(HF_BUSY, try_once(lock, NULL));
    assert_int_equal(problem.status, HF_BUSY);
    assert_non_null(strstr(problem.message, NAME));
    assert_null(strchr(problem.message, '\n'));
    assert_status(HF_NOT_OWNER, leave(lock, NULL));
    assert_non_null(strstr(problem.message, NAME));
    stranger_releases(w, NAME);

    assert_ok(try_once(lock, NULL));
    stranger_takes(w, NAME, 60000);
    assert_status(HF_GONE, leave(lock, NULL));
    assert_non_null(strstr(problem.message, NAME));
    assert_non_null(strstr(problem.message, hf_client_id(w->client)));
}

/* PL-17, 15.17: a field of anybody else's counts as held by others.
 * spec: rlock/acquire-1, rlock/owner-3 */
static void a_strangers_hold_is_busy_and_stays_as_it_is(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);

    stranger_takes(w, NAME, 60000);
    assert_status(HF_BUSY, try_once(lock, NULL));
    assert_string_equal(wire_owner(w, NAME), STRANGER);
    assert_int_equal(wire_fields(w, NAME), 1);
    stranger_releases(w, NAME);
    assert_ok(try_once(lock, NULL));
    assert_ok(leave(lock, NULL));
}

/* DESIGN 4: what is held with it keeps a lock object and an owner alive. */
static void freeing_is_refused_while_something_is_held(void **world)
{
    struct world *w = *world;
    hf_lock *lock = NULL;
    hf_owner *owner = NULL;

    assert_ok(hf_lock_new(w->client, NAME, &lock, &problem));
    assert_ok(hf_owner_new(w->client, &owner, &problem));
    assert_ok(try_once(lock, owner));
    assert_status(HF_STILL_HELD, hf_lock_free(lock));
    assert_status(HF_STILL_HELD, hf_owner_free(owner));
    assert_ok(leave(lock, owner));
    assert_ok(hf_owner_free(owner));
    assert_ok(hf_lock_free(lock));
    assert_ok(hf_owner_free(NULL));
    assert_ok(hf_lock_free(NULL));
}

/* What others see of an option that saves the round trip of a re-entry.
 * spec: rlock/java-5 */
static void local_reentry_costs_nothing_and_shows_a_count_of_one(void **world)
{
    struct world *w = *world;
    hf_options options = short_options();
    hf_acquire how;
    hf_client *client;
    hf_lock *lock;
    int64_t scripts;

    options.local_reentry = 1;
    client = a_client_at(w, hft_server_url(w->server), &options);
    lock = a_lock_of(w, client, NAME);
    how = once(NULL, 60000);
    assert_ok(take(lock, NULL, &how));
    scripts = stats_of(client).scripts_sent;
    how.lease_ms = 50000; /* the renewed lease outside covers it */
    assert_ok(take(lock, NULL, &how));
    assert_int_equal(hf_lock_hold_count(lock, NULL), 2);
    assert_int_equal(wire_count(w, NAME), 1);
    assert_ok(leave(lock, NULL));
    assert_int_equal(hf_lock_hold_count(lock, NULL), 1);
    assert_int_equal(stats_of(client).scripts_sent, scripts);
    assert_int_equal(wire_count(w, NAME), 1);
    assert_ok(leave(lock, NULL));
    assert_int_equal(wire_ttl(w, NAME), -2);
}

/* DESIGN 4: a try is answered here while another owner of ours holds. */
static void a_try_beside_a_local_holder_sends_nothing(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    hf_owner *other = an_owner(w);
    int64_t scripts;
    int round;

    assert_ok(try_fixed(lock, NULL, 60000));
    scripts = stats_of(w->client).scripts_sent;
    for (round = 0; round < 10; round++) {
        assert_status(HF_BUSY, try_once(lock, other));
    }
    assert_int_equal(stats_of(w->client).scripts_sent, scripts);
    assert_ok(leave(lock, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        world_test(a_lock_is_free_then_held_then_free_again),
        world_test(the_hold_count_follows_every_hold_and_release),
        world_test(a_hold_is_the_threads_own_and_locked_is_for_all),
        world_test(a_hold_is_over_with_its_last_release_only),
        world_test(two_clients_exclude_each_other),
        world_test(a_nest_of_holds_lets_nobody_in_until_the_outermost_ends),
        world_test(explicit_owners_are_owners_on_any_lock_object),
        world_test(another_thread_may_release_an_explicit_owners_hold),
        world_test(a_strangers_release_is_refused_and_touches_nothing),
        world_test(releasing_what_is_not_held_is_an_error_each_time),
        world_test(a_forced_release_frees_it_and_wakes_a_waiter),
        world_test(a_forced_release_can_insist_on_the_owner_it_saw),
        world_test(the_owners_text_is_the_field_on_the_server),
        world_test(every_outermost_hold_has_a_fresh_number),
        world_test(a_fixed_lease_runs_from_held_to_lost_to_not_held),
        world_test(each_level_of_a_lost_nest_is_released_as_lost),
        world_test(an_error_names_the_lock_and_the_holder),
        world_test(a_strangers_hold_is_busy_and_stays_as_it_is),
        world_test(freeing_is_refused_while_something_is_held),
        world_test(local_reentry_costs_nothing_and_shows_a_count_of_one),
        world_test(a_try_beside_a_local_holder_sends_nothing),
    };

    return cmocka_run_group_tests_name("lock_basic", tests, world_up,
                                       world_down);
}
