/* SPDX-License-Identifier: MIT */
/* test_multi.c - several locks held as one: all of them or none.
 *
 * Rows: ML-01 to ML-05, ML-20 to ML-24 (ML-22: PL-64 to PL-66, PL-68 to
 * PL-70), IS-25, 15.32, 15.33; T33, T34; DESIGN 2.4 (members' leases).
 */
#include "fleet.h"

#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/child.h"
#include "support/crew.h"
#include "support/fatal.h"
#include "support/scratch.h"

static int servers_up(void **world)
{
    return fleet_up(world, 3);
}

/* ---- all or nothing ---- */

/* ML-01. */
static void three_names_are_held_and_given_up_as_one(void **world)
{
    struct world *w = *world;
    hf_group *group = a_group(w, w->client, "a", "b", "c", NULL);
    hf_acquire how = once(NULL, 10000);
    hf_outcome outcomes[3];

    how.renew = 0;
    assert_false(hf_group_is_held(group, NULL));
    assert_ok(hf_group_acquire(group, &how, outcomes, &problem));
    assert_true(hf_group_is_held(group, NULL));
    assert_int_equal(hf_group_state_of(group, NULL, NULL), HF_HELD);
    assert_between(hf_group_remaining_ms(group, NULL), 8000, 10000);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(outcomes[i].status, HF_OK);
    }
    assert_int_equal(wire_count(w, "a"), 1);
    assert_int_equal(wire_count(w, "c"), 1);
    assert_ok(group_leave(group, NULL));
    assert_false(hf_group_is_held(group, NULL));
    assert_int_equal(wire_ttl(w, "a"), -2);
    assert_int_equal(wire_ttl(w, "b"), -2);
    assert_int_equal(wire_ttl(w, "c"), -2);
    assert_status(HF_NOT_OWNER, group_leave(group, NULL));
}

/* ML-24. */
static void groups_that_overlap_exclude_each_other(void **world)
{
    struct world *w = *world;
    hf_group *first = a_group(w, w->client, "c1", "c2", NULL);
    hf_group *second = a_group(w, w->client, "c2", "c3", NULL);
    hf_owner *other = an_owner(w);
    hf_acquire how = once(other, 0);
    hf_outcome outcomes[2];

    assert_ok(group_try(first, NULL));
    assert_status(HF_BUSY, hf_group_acquire(second, &how, outcomes, &problem));
    assert_int_equal(outcomes[0].status, HF_BUSY);
    assert_int_equal(outcomes[1].status, HF_NOT_DONE);
    assert_non_null(strstr(problem.message, "c2"));
    assert_int_equal(wire_ttl(w, "c3"), -2);
    how.wait_ms = 200;
    assert_status(HF_TIMEOUT,
                  hf_group_acquire(second, &how, outcomes, &problem));
    assert_int_equal(wire_ttl(w, "c3"), -2);
    assert_int_equal(hf_group_hold_count(second, other), 0);
    assert_ok(group_leave(first, NULL));
    assert_ok(group_try(second, other));
    assert_ok(group_leave(second, other));
}

/* A later member is busy: what was taken before is given back. */
static void nothing_is_held_after_a_failure(void **world)
{
    struct world *w = *world;
    hf_group *group = a_group(w, w->client, "a", "b", "c", NULL);
    hf_acquire how = once(NULL, 0);
    hf_outcome outcomes[3];

    stranger_takes(w, "c", 60000);
    assert_status(HF_BUSY, hf_group_acquire(group, &how, outcomes, &problem));
    assert_int_equal(outcomes[0].status, HF_NOT_DONE);
    assert_int_equal(outcomes[2].status, HF_BUSY);
    assert_int_equal(wire_ttl(w, "a"), -2);
    assert_int_equal(wire_ttl(w, "b"), -2);
    assert_false(hf_group_is_held(group, NULL));
    stranger_vanishes(w, "c");
}

/* ML-21. */
static void a_member_that_is_no_lock_fails_the_group(void **world)
{
    struct world *w = *world;
    hf_group *group = a_group(w, w->client, "a", "b", NULL);

    (void)hft_int(w->server, "SET b text PX 60000");
    assert_status(HF_WRONG_TYPE, group_try(group, NULL));
    assert_int_equal(wire_ttl(w, "a"), -2);
    assert_status(HF_WRONG_TYPE, group_wait(group, NULL, 5000));
    assert_int_equal(wire_ttl(w, "a"), -2);
}

/* ML-20. */
static void every_member_is_released_whatever_becomes_of_one(void **world)
{
    struct world *w = *world;
    hf_group *group = a_group(w, w->client, "a", "b", "c", NULL);
    hf_outcome outcomes[3];

    assert_ok(group_try(group, NULL));
    stranger_vanishes(w, "b");
    assert_status(HF_GONE, hf_group_release(group, NULL, outcomes, &problem));
    assert_int_equal(outcomes[0].status, HF_OK);
    assert_int_equal(outcomes[1].status, HF_GONE);
    assert_int_equal(outcomes[2].status, HF_OK);
    assert_int_equal(wire_ttl(w, "a"), -2);
    assert_int_equal(wire_ttl(w, "c"), -2);
    assert_status(HF_NOT_OWNER, group_leave(group, NULL));
}

/* ML-23. */
static void members_have_one_lease_that_extends_as_one(void **world)
{
    struct world *w = *world;
    hf_group *group = a_group(w, w->client, "a", "b", NULL);
    hf_acquire how = once(NULL, 5000);

    how.renew = 0;
    assert_ok(hf_group_acquire(group, &how, NULL, &problem));
    assert_between(wire_ttl(w, "a") - wire_ttl(w, "b"), -200, 200);
    assert_ok(hf_group_extend(group, NULL, 20000, NULL, &problem));
    assert_between(wire_ttl(w, "a"), 18000, 20000);
    assert_between(wire_ttl(w, "b"), 18000, 20000);
    assert_between(hf_group_remaining_ms(group, NULL), 18000, 20000);
    assert_ok(group_leave(group, NULL));
    assert_status(HF_NOT_OWNER,
                  hf_group_extend(group, NULL, 20000, NULL, &problem));
    assert_status(HF_INVALID, hf_group_extend(group, NULL, 1, NULL, &problem));
}

/* ---- waiting ---- */

struct contest {
    hf_group *group;
    atomic_int won;
};

static void try_once_and_keep(struct hft_member *me)
{
    struct contest *contest = me->context;
    hf_status status = group_try(contest->group, NULL);

    if (status == HF_OK) {
        atomic_fetch_add(&contest->won, 1);
        while (!hft_member_should_stop(me)) {
            hft_let_pass_ms(1);
        }
        HFT_CHECK(me, group_leave(contest->group, NULL) == HF_OK);
    } else {
        HFT_CHECK(me, status == HF_BUSY);
    }
}

/* ML-02. */
static void of_ten_that_try_at_once_exactly_one_succeeds(void **world)
{
    struct world *w = *world;
    struct contest contest = {.group = NULL};
    struct hft_crew *crew;

    contest.group = a_group(w, w->client, "a", "b", "c", NULL);
    crew = hft_crew_start(10, try_once_and_keep, &contest);
    assert_true(hft_crew_wait_ended(crew, 9, BOUND_MS));
    hft_crew_stop(crew);
    assert_null(hft_crew_join(crew, BOUND_MS));
    assert_int_equal(atomic_load(&contest.won), 1);
    hft_crew_free(crew);
}

struct waiting {
    hf_group *group;
    hf_acquire how;
    hf_status status;
    atomic_bool done;
    int64_t ended_ms;
    bool keeps;
    pthread_t thread;
};

static void *wait_for_group(void *context)
{
    struct waiting *waiting = context;

    waiting->status = hf_group_acquire(waiting->group, &waiting->how, NULL,
                                       &problem);
    waiting->ended_ms = hft_now_ms();
    atomic_store(&waiting->done, true);
    if (waiting->status == HF_OK && !waiting->keeps) {
        waiting->status = group_leave(waiting->group, waiting->how.owner);
    }
    return NULL;
}

static void start_waiting(struct waiting *waiting, hf_group *group,
                          const hf_acquire *how)
{
    waiting->group = group;
    waiting->how = *how;
    assert_int_equal(
        pthread_create(&waiting->thread, NULL, wait_for_group, waiting), 0);
}

/* ML-03. */
static void who_waits_gets_it_when_it_is_released(void **world)
{
    struct world *w = *world;
    hf_group *group = a_group(w, w->client, "a", "b", "c", NULL);
    struct waiting waiting = {0};
    hf_acquire how = HF_ACQUIRE_INIT;
    int64_t released_ms;

    assert_ok(group_try(group, NULL));
    start_waiting(&waiting, group, &how);
    assert_true(waiters_become(w->client, 1, BOUND_MS));
    assert_false(atomic_load(&waiting.done));
    released_ms = hft_now_ms();
    assert_ok(group_leave(group, NULL));
    pthread_join(waiting.thread, NULL);
    assert_status(HF_OK, waiting.status);
    assert_between(waiting.ended_ms - released_ms, 0, 1000);
}

struct taken {
    struct world *w;
    const char *name;
};

static bool is_taken(void *context)
{
    const struct taken *taken = context;

    return wire_fields(taken->w, taken->name) == 1;
}

/* Wait until the group is in the middle: it has this one. */
static void wait_until_taken(struct world *w, const char *name)
{
    struct taken taken = {w, name};

    assert_true(hft_wait_until(is_taken, &taken, BOUND_MS));
}

/* Two that no one request can take: so one is held while the other is waited
 * for. */
static hf_group *a_group_in_order(struct world *w)
{
    hf_lock *locks[2] = {a_lock(w, "a"),
                         a_kind_of_lock(w, w->client, HF_KIND_FAIR, "b")};
    hf_group *group;

    assert_ok(hf_multi_lock_new(locks, 2, &group, &problem));
    keep_group(group);
    return group;
}

/* What was taken first is renewed while the last one is waited for. */
static void the_first_lease_outlasts_the_wait_for_the_last(void **world)
{
    struct world *w = *world;
    hf_group *group = a_group_in_order(w);
    struct waiting waiting = {.keeps = true};
    hf_owner *owner = an_owner(w);
    hf_acquire how = once(owner, 600);

    how.wait_ms = 10000;
    how.renew = 0;
    stranger_takes(w, "b", 60000);
    start_waiting(&waiting, group, &how);
    wait_until_taken(w, "a");
    hft_let_pass_ms(1000); /* longer than the lease of the first */
    assert_int_equal(wire_fields(w, "a"), 1);
    assert_string_not_equal(wire_owner(w, "a"), STRANGER);
    stranger_releases(w, "b");
    pthread_join(waiting.thread, NULL);
    assert_status(HF_OK, waiting.status);
    /* Both begin now, and are not renewed. */
    assert_between(hf_group_remaining_ms(group, owner), 200, 600);
    assert_between(wire_ttl(w, "a"), 200, 600);
    assert_between(wire_ttl(w, "b"), 200, 600);
    assert_true(wire_free_within(w, "a", BOUND_MS));
    assert_true(wire_free_within(w, "b", BOUND_MS));
    assert_false(hf_group_is_held(group, owner));
    assert_status(HF_LOST, group_leave(group, owner));
}

static void max_hold_counts_from_the_last_member(void **world)
{
    struct world *w = *world;
    hf_group *group = a_group_in_order(w);
    struct told told = {0};
    struct waiting waiting = {.keeps = true};
    hf_owner *owner = an_owner(w);
    hf_acquire how = once(owner, 0);

    how.wait_ms = 10000;
    how.max_hold_ms = 500;
    how.on_lost = record_lost;
    how.context = &told;
    stranger_takes(w, "b", 60000);
    start_waiting(&waiting, group, &how);
    wait_until_taken(w, "a");
    hft_let_pass_ms(700);
    assert_int_equal(told_so_far(&told).losses, 0);
    stranger_releases(w, "b");
    pthread_join(waiting.thread, NULL);
    assert_status(HF_OK, waiting.status);
    assert_true(loss_is_told(&told, BOUND_MS));
    assert_between(told_so_far(&told).at_ms - waiting.ended_ms, 400, 5000);
    assert_int_equal(told_so_far(&told).reason, HF_LOST_MAX_HOLD);
    assert_status(HF_LOST, group_leave(group, owner));
    assert_int_equal(told_so_far(&told).losses, 1);
}

static void cancelled_in_the_middle_nothing_is_held(void **world)
{
    struct world *w = *world;
    hf_group *group = a_group_in_order(w);
    struct waiting waiting = {0};
    hf_acquire how = HF_ACQUIRE_INIT;

    how.cancel = a_cancel(w);
    stranger_takes(w, "b", 60000);
    start_waiting(&waiting, group, &how);
    wait_until_taken(w, "a");
    hf_cancel_fire(how.cancel);
    pthread_join(waiting.thread, NULL);
    assert_status(HF_CANCELLED, waiting.status);
    assert_true(wire_free_within(w, "a", BOUND_MS));
    assert_string_equal(wire_owner(w, "b"), STRANGER);
    assert_status(HF_CANCELLED, hf_group_acquire(group, &how, NULL, &problem));
    assert_int_equal(wire_ttl(w, "a"), -2);
}

static void the_wait_is_that_of_all_members_together(void **world)
{
    struct world *w = *world;
    hf_group *group = a_group(w, w->client, "a", "b", NULL);
    struct waiting waiting = {0};
    hf_acquire how = HF_ACQUIRE_INIT;
    int64_t began_ms = hft_now_ms();

    how.wait_ms = 800;
    stranger_takes(w, "a", 60000);
    stranger_takes(w, "b", 60000);
    start_waiting(&waiting, group, &how);
    hft_let_pass_ms(500);
    stranger_releases(w, "a");
    pthread_join(waiting.thread, NULL);
    assert_status(HF_TIMEOUT, waiting.status);
    assert_between(waiting.ended_ms - began_ms, 800, 800 + 4 * SLACK_MS);
    assert_true(wire_free_within(w, "a", BOUND_MS));
}

/* ---- owners, levels ---- */

static void a_group_is_re_entered_as_a_lock_is(void **world)
{
    struct world *w = *world;
    hf_group *group = a_group(w, w->client, "a", "b", NULL);

    assert_ok(group_try(group, NULL));
    assert_ok(group_wait(group, NULL, -1));
    assert_int_equal(hf_group_hold_count(group, NULL), 2);
    assert_int_equal(wire_count(w, "a"), 2);
    assert_status(HF_STILL_HELD, hf_group_free(group));
    assert_ok(group_leave(group, NULL));
    assert_true(hf_group_is_held(group, NULL));
    assert_int_equal(wire_count(w, "b"), 1);
    assert_ok(group_leave(group, NULL));
    assert_int_equal(wire_ttl(w, "a"), -2);
}

struct sharing {
    hf_group *group;
    atomic_int inside;
    int turns;
};

static void take_turns(struct hft_member *me)
{
    struct sharing *sharing = me->context;

    for (int i = 0; i < 5; i++) {
        if (!HFT_CHECK(me, group_wait(sharing->group, NULL, 60000) == HF_OK)) {
            return;
        }
        HFT_CHECK(me, atomic_fetch_add(&sharing->inside, 1) == 0);
        sharing->turns++;
        hft_let_pass_ms(1);
        atomic_fetch_sub(&sharing->inside, 1);
        HFT_CHECK(me, group_leave(sharing->group, NULL) == HF_OK);
    }
}

/* ML-22 (PL-66, PL-68): threads share the object, never two inside, no residue. */
static void ten_threads_share_a_group(void **world)
{
    struct world *w = *world;
    struct sharing sharing = {.group = a_group(w, w->client, "a", "b", NULL)};
    struct hft_crew *crew = hft_crew_start(10, take_turns, &sharing);

    assert_null(hft_crew_join(crew, 100000));
    assert_int_equal(sharing.turns, 50);
    hft_crew_free(crew);
    assert_int_equal(hft_int(w->server, "DBSIZE"), 0);
}

/* ML-22 (PL-69, PL-70): held until the outermost release, and no other client
 * gets it in between. */
static void three_levels_keep_another_client_out(void **world)
{
    struct world *w = *world;
    hf_group *group = a_group(w, w->client, "a", "b", NULL);
    hf_group *other = a_group(w, a_client(w), "b", "a", NULL);

    for (int i = 0; i < 3; i++) {
        assert_ok(group_try(group, NULL));
        assert_status(HF_BUSY, group_try(other, NULL));
    }
    for (int i = 0; i < 3; i++) {
        assert_status(HF_TIMEOUT, group_wait(other, NULL, 50));
        assert_ok(group_leave(group, NULL));
    }
    assert_ok(group_wait(other, NULL, BOUND_MS));
    assert_status(HF_BUSY, group_try(group, NULL));
    assert_ok(group_leave(other, NULL));
}

/* ML-22 (PL-64, PL-65): the server forgets everything; who waited goes on. */
static void a_waiter_survives_a_restart_of_the_server(void **world)
{
    struct world *w = *world;
    hf_group *group = a_group_of_fleet(w, "a");
    struct waiting waiting = {0};
    hf_owner *owner = an_owner_of(w, fleet.clients[0]);
    hf_acquire how = HF_ACQUIRE_INIT;
    hf_status status;

    assert_ok(group_try(group, owner));
    start_waiting(&waiting, group, &how);
    hft_let_pass_ms(100);
    hft_server_restart(fleet.servers[0], HFT_LOSE_DATA);
    hft_let_pass_ms(W_MS);
    status = group_leave(group, owner);
    assert_true(status == HF_LOST || status == HF_GONE);
    pthread_join(waiting.thread, NULL);
    assert_status(HF_OK, waiting.status);
    assert_true(fleet_held_becomes("a", 0, BOUND_MS));
}

static void a_lock_that_is_given_twice_counts_once(void **world)
{
    struct world *w = *world;
    hf_lock *locks[3];
    hf_group *group;
    hf_outcome outcomes[3];
    hf_acquire how = once(NULL, 0);

    locks[0] = a_lock(w, "b");
    locks[1] = a_lock(w, "a");
    locks[2] = locks[0];
    assert_ok(hf_multi_lock_new(locks, 3, &group, &problem));
    keep_group(group);
    assert_int_equal(hf_group_count(group), 3);
    assert_ok(hf_group_acquire(group, &how, outcomes, &problem));
    assert_int_equal(wire_count(w, "b"), 1);
    assert_int_equal(outcomes[2].status, HF_OK);
    assert_ok(group_leave(group, NULL));
    assert_int_equal(wire_ttl(w, "b"), -2);
}

static void the_locks_it_was_made_of_may_be_freed(void **world)
{
    struct world *w = *world;
    hf_lock *locks[2];
    hf_group *group;

    assert_ok(hf_lock_new(w->client, "a", &locks[0], &problem));
    assert_ok(hf_lock_new(w->client, "b", &locks[1], &problem));
    assert_ok(hf_multi_lock_new(locks, 2, &group, &problem));
    keep_group(group);
    assert_ok(hf_lock_free(locks[0]));
    assert_ok(hf_lock_free(locks[1]));
    assert_ok(group_try(group, NULL));
    assert_ok(group_leave(group, NULL));
}

static void an_owner_of_a_group_is_busy(void **world)
{
    struct world *w = *world;
    hf_group *group = a_group_of_fleet(w, "a");
    hf_owner *owner = NULL;
    char text[64];

    assert_ok(hf_owner_new(fleet.clients[1], &owner, &problem));
    assert_ok(group_try(group, owner));
    assert_status(HF_BUSY, group_try(group, NULL));
    assert_ok(hf_group_owner_text(group, owner, 0, text, sizeof(text)));
    assert_memory_equal(text, hf_client_id(fleet.clients[0]), 36);
    assert_status(HF_STILL_HELD, hf_owner_free(owner));
    assert_ok(group_leave(group, owner));
    assert_ok(hf_owner_free(owner));
}

/* The last of so many alone has one.  DESIGN 2.4. */
static void tokens_are_the_members(hf_group *group, hf_owner *owner,
                                   size_t count)
{
    int64_t token = 0;

    assert_ok(hf_group_token(group, owner, count - 1, &token, &problem));
    assert_int_equal(token, 1);
    assert_status(HF_INVALID,
                  hf_group_token(group, owner, 0, &token, &problem));
    assert_status(HF_INVALID,
                  hf_group_token(group, owner, count, &token, &problem));
    assert_status(HF_INVALID, hf_group_token(NULL, owner, 0, &token, &problem));
    assert_status(HF_INVALID,
                  hf_group_token(group, owner, count - 1, NULL, &problem));
    assert_int_equal(token, 1);
}

/* Members of every kind, in one group. */
static void members_may_be_of_several_kinds(void **world)
{
    static const hf_kind kinds[] = {HF_KIND_LOCK,  HF_KIND_FAIR, HF_KIND_READ,
                                    HF_KIND_WRITE, HF_KIND_SPIN, HF_KIND_TOKEN,
                                    HF_KIND_FENCED};
    enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };
    struct world *w = *world;
    hf_lock *locks[KINDS];
    hf_owner *other = an_owner(w);
    hf_group *group;

    for (size_t i = 0; i < KINDS; i++) {
        hf_lock_options options = HF_LOCK_OPTIONS_INIT;
        char name[8];

        options.kind = kinds[i];
        (void)snprintf(name, sizeof(name), "k%zu", i);
        assert_ok(hf_lock_new_as(w->client, &options, name, strlen(name),
                                 &locks[i], &problem));
        keep_lock(w, locks[i]);
    }
    assert_ok(hf_multi_lock_new(locks, KINDS, &group, &problem));
    keep_group(group);
    assert_ok(group_try(group, NULL));
    tokens_are_the_members(group, NULL, KINDS);
    assert_status(HF_BUSY, group_try(group, other));
    hft_let_pass_ms(2 * W_MS); /* each is renewed in its own way */
    assert_true(hf_group_is_held(group, NULL));
    assert_ok(group_leave(group, NULL));
    assert_status(HF_NOT_OWNER, hf_group_token(group, NULL, KINDS - 1,
                                               &(int64_t){0}, &problem));
    assert_ok(group_wait(group, other, BOUND_MS));
    assert_ok(group_leave(group, other));
    /* But for the token of the fenced one. */
    assert_int_equal(hft_int(w->server, "EXISTS k0 k1 k2 k3 k4 k5 k6"), 0);
}

/* ---- several servers ---- */

/* ML-04. */
static void members_may_be_of_several_servers(void **world)
{
    struct world *w = *world;
    hf_group *group = a_group_of_fleet(w, "a");
    hf_owner *other = an_owner_of(w, fleet.clients[0]);

    assert_ok(group_try(group, NULL));
    assert_int_equal(fleet_held("a"), 3);
    assert_status(HF_BUSY, group_try(group, other));
    assert_status(HF_BUSY, group_try(group, other));
    assert_ok(group_leave(group, NULL));
    assert_int_equal(fleet_held("a"), 0);
}

static void a_server_that_is_down_fails_the_group(void **world)
{
    struct world *w = *world;
    hf_group *group = a_group_of_fleet(w, "a");
    hf_status status;

    hft_server_kill(fleet.servers[2]);
    status = group_try(group, NULL);
    assert_true(status == HF_UNREACHABLE || status == HF_UNKNOWN);
    assert_true(fleet_held_becomes("a", 0, BOUND_MS));
    assert_false(hf_group_is_held(group, NULL));
    assert_string_not_equal(problem.node, "");
}

static void a_server_that_dies_loses_the_group_in_time(void **world)
{
    struct world *w = *world;
    hf_group *group = a_group_of_fleet(w, "a");
    struct told told = {0};
    hf_acquire how = once(NULL, 0);
    int64_t killed_ms;
    hf_lost_reason reason;

    how.on_lost = record_lost;
    how.on_warning = record_warning;
    how.context = &told;
    assert_ok(hf_group_acquire(group, &how, NULL, &problem));
    killed_ms = hft_now_ms();
    hft_server_kill(fleet.servers[1]);
    assert_true(loss_is_told(&told, BOUND_MS));
    assert_between(told_so_far(&told).at_ms - killed_ms, 0, W_MS + SLACK_MS);
    assert_true(told_so_far(&told).warnings >= 1);
    assert_int_equal(hf_group_state_of(group, NULL, &reason), HF_STATE_LOST);
    assert_int_equal(reason, HF_LOST_UNREACHABLE);
    assert_false(hf_group_is_held(group, NULL));
    assert_status(HF_LOST, group_try(group, NULL));
    assert_status(HF_LOST, group_leave(group, NULL));
    assert_int_equal(fleet_held("a"), 0);
    assert_int_equal(told_so_far(&told).losses, 1);
}

static void a_member_that_is_deleted_loses_the_group_once(void **world)
{
    struct world *w = *world;
    hf_group *group = a_group(w, w->client, "a", "b", "c", NULL);
    struct told told = {0};
    hf_acquire how = once(NULL, 0);

    how.on_lost = record_lost;
    how.context = &told;
    assert_ok(hf_group_acquire(group, &how, NULL, &problem));
    stranger_vanishes(w, "b");
    stranger_vanishes(w, "c");
    assert_true(loss_is_told(&told, BOUND_MS));
    assert_int_equal(told_so_far(&told).reason, HF_LOST_GONE);
    assert_false(hf_group_is_held(group, NULL));
    assert_int_equal(hf_group_remaining_ms(group, NULL), 0);
    assert_status(HF_LOST, group_leave(group, NULL));
    assert_int_equal(wire_ttl(w, "a"), -2);
    assert_ok(group_try(group, NULL));
    assert_int_equal(told_so_far(&told).losses, 1);
    assert_ok(group_leave(group, NULL));
}

static void a_server_that_stalls_does_not_keep_the_others(void **world)
{
    struct world *w = *world;
    hf_group *group = a_group_of_fleet(w, "a");
    hf_acquire how = once(NULL, 0);

    how.wait_ms = 500;
    hft_server_pause(fleet.servers[2]);
    assert_status(HF_UNKNOWN, hf_group_acquire(group, &how, NULL, &problem));
    hft_server_resume(fleet.servers[2]);
    assert_true(fleet_held_becomes("a", 0, BOUND_MS));
    assert_ok(group_wait(group, NULL, BOUND_MS));
    assert_ok(group_leave(group, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        fleet_test(three_names_are_held_and_given_up_as_one),
        fleet_test(groups_that_overlap_exclude_each_other),
        fleet_test(nothing_is_held_after_a_failure),
        fleet_test(a_member_that_is_no_lock_fails_the_group),
        fleet_test(every_member_is_released_whatever_becomes_of_one),
        fleet_test(members_have_one_lease_that_extends_as_one),
        fleet_test(of_ten_that_try_at_once_exactly_one_succeeds),
        fleet_test(who_waits_gets_it_when_it_is_released),
        fleet_test(the_first_lease_outlasts_the_wait_for_the_last),
        fleet_test(max_hold_counts_from_the_last_member),
        fleet_test(cancelled_in_the_middle_nothing_is_held),
        fleet_test(the_wait_is_that_of_all_members_together),
        fleet_test(a_group_is_re_entered_as_a_lock_is),
        fleet_test(ten_threads_share_a_group),
        fleet_test(three_levels_keep_another_client_out),
        fleet_test(a_waiter_survives_a_restart_of_the_server),
        fleet_test(a_lock_that_is_given_twice_counts_once),
        fleet_test(the_locks_it_was_made_of_may_be_freed),
        fleet_test(an_owner_of_a_group_is_busy),
        fleet_test(members_may_be_of_several_kinds),
        fleet_test(members_may_be_of_several_servers),
        fleet_test(a_server_that_is_down_fails_the_group),
        fleet_test(a_server_that_dies_loses_the_group_in_time),
        fleet_test(a_member_that_is_deleted_loses_the_group_once),
        fleet_test(a_server_that_stalls_does_not_keep_the_others),
    };

    return cmocka_run_group_tests(tests, servers_up, fleet_down);
}
