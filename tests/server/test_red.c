/* SPDX-License-Identifier: MIT */
/* test_red.c - one name on five servers, of which more than half suffice.
 *
 * Rows: RL-01 to RL-08, RL-20 to RL-23, RL-25 to RL-27, RL-31 to RL-33; T31,
 * T32, T34.
 */
#include "fleet.h"

#include <stdatomic.h>
#include <string.h>

#include "support/crew.h"

#define NAME "red"

static int servers_up(void **world)
{
    return fleet_up(world, 5);
}

static void strangers_hold(size_t first, size_t count)
{
    for (size_t i = first; i < first + count; i++) {
        fleet_stranger(i, NAME, 60000);
    }
}

/* ---- votes ---- */

/* RL-20, RL-31: the same lease everywhere, and nothing after. */
static void it_is_held_on_all_servers_and_given_up_on_all(void **world)
{
    struct world *w = *world;
    hf_group *red = a_red_lock(w, NAME, NULL);
    hf_acquire how = once(NULL, 5000);

    how.renew = 0;
    assert_ok(hf_group_acquire(red, &how, NULL, &problem));
    assert_true(hf_group_is_held(red, NULL));
    assert_between(hf_group_remaining_ms(red, NULL), 3000, 5000 - 2);
    assert_true(fleet_held_becomes(NAME, 5, BOUND_MS));
    for (size_t i = 0; i < 5; i++) {
        assert_between(hft_int(fleet.servers[i], "PTTL %s", NAME), 3000, 5000);
    }
    assert_ok(hf_group_extend(red, NULL, 20000, NULL, &problem));
    assert_between(hf_group_remaining_ms(red, NULL), 18000, 20000);
    assert_ok(group_leave(red, NULL));
    assert_true(fleet_held_becomes(NAME, 0, BOUND_MS));
    assert_false(hf_group_is_held(red, NULL));
    assert_status(HF_NOT_OWNER, group_leave(red, NULL));
}

/* RL-26: of all subsets of servers that somebody else has, it succeeds exactly
 * where three are free; what others have is never touched (RL-32, RL-33). */
static void it_succeeds_where_a_quorum_is_free(void **world)
{
    struct world *w = *world;
    hf_red_options options = HF_RED_INIT;
    hf_group *red;

    options.member_limit_ms = 1000;
    red = a_red_lock(w, NAME, &options);
    for (unsigned taken = 0; taken < 32; taken++) {
        int others = 0;
        hf_status status;

        for (size_t i = 0; i < 5; i++) {
            if ((taken >> i & 1) != 0) {
                fleet_stranger(i, NAME, 60000);
                others++;
            }
        }
        status = group_try(red, NULL);
        assert_status(others <= 2 ? HF_OK : HF_BUSY, status);
        if (status == HF_OK) {
            assert_true(fleet_held_becomes(NAME, 5, BOUND_MS));
            assert_ok(group_leave(red, NULL));
        }
        assert_true(fleet_held_becomes(NAME, others, BOUND_MS));
        for (size_t i = 0; i < 5; i++) {
            assert_int_equal(
                hft_int(fleet.servers[i], "HEXISTS %s %s", NAME, STRANGER),
                taken >> i & 1);
            (void)hft_int(fleet.servers[i], "DEL %s", NAME);
        }
    }
}

/* RL-22: who said what. */
static void every_member_s_answer_is_told(void **world)
{
    struct world *w = *world;
    hf_group *red = a_red_lock(w, NAME, NULL);
    hf_acquire how = once(NULL, 0);
    hf_outcome outcomes[5];

    strangers_hold(0, 3);
    assert_status(HF_BUSY, hf_group_acquire(red, &how, outcomes, &problem));
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(outcomes[i].status, HF_BUSY);
        assert_int_equal(outcomes[i].error.status, HF_BUSY);
        assert_string_equal(outcomes[i].error.node,
                            hf_client_server(fleet.clients[i]));
    }
    for (size_t i = 3; i < 5; i++) {
        assert_int_not_equal(outcomes[i].status, HF_OK);
    }
    assert_non_null(strstr(problem.message, "no quorum"));
    assert_string_not_equal(problem.node, "");
}

/* RL-05. */
static void it_waits_while_a_majority_is_held_by_others(void **world)
{
    struct world *w = *world;
    hf_group *red = a_red_lock(w, NAME, NULL);
    int64_t began_ms = hft_now_ms();

    strangers_hold(1, 3);
    assert_status(HF_TIMEOUT, group_wait(red, NULL, 700));
    assert_between(hft_now_ms() - began_ms, 700, 700 + 4 * SLACK_MS);
    assert_true(fleet_held_becomes(NAME, 3, BOUND_MS));
}

/* RL-06. */
static void a_minority_that_is_held_does_not_matter(void **world)
{
    struct world *w = *world;
    hf_group *red = a_red_lock(w, NAME, NULL);

    strangers_hold(1, 2);
    assert_ok(group_wait(red, NULL, 500));
    assert_ok(group_leave(red, NULL));
    assert_true(fleet_held_becomes(NAME, 2, BOUND_MS));
}

struct waiting {
    hf_group *group;
    hf_acquire how;
    hf_status status;
    atomic_bool done;
    int64_t ended_ms;
    pthread_t thread;
};

static void *wait_for_group(void *context)
{
    struct waiting *waiting = context;

    waiting->status = hf_group_acquire(waiting->group, &waiting->how, NULL,
                                       &problem);
    waiting->ended_ms = hft_now_ms();
    atomic_store(&waiting->done, true);
    if (waiting->status == HF_OK) {
        waiting->status = group_leave(waiting->group, NULL);
    }
    return NULL;
}

/* RL-07, RL-08: a second locker waits, and succeeds when it is released. */
static void who_waits_gets_it_when_it_is_released(void **world)
{
    struct world *w = *world;
    hf_group *red = a_red_lock(w, NAME, NULL);
    struct waiting waiting = {.group = red};
    hf_acquire how = HF_ACQUIRE_INIT;
    int64_t released_ms;

    waiting.how = how;
    strangers_hold(2, 1);
    assert_ok(group_try(red, NULL));
    assert_int_equal(
        pthread_create(&waiting.thread, NULL, wait_for_group, &waiting), 0);
    hft_let_pass_ms(300);
    assert_false(atomic_load(&waiting.done));
    fleet_stranger_leaves(2, NAME);
    released_ms = hft_now_ms();
    assert_ok(group_leave(red, NULL));
    pthread_join(waiting.thread, NULL);
    assert_status(HF_OK, waiting.status);
    assert_between(waiting.ended_ms - released_ms, 0, 2000);
}

static void a_wait_ends_when_its_token_is_fired(void **world)
{
    struct world *w = *world;
    hf_group *red = a_red_lock(w, NAME, NULL);
    struct waiting waiting = {.group = red};
    hf_acquire how = HF_ACQUIRE_INIT;

    assert_ok(hf_cancel_new(fleet.clients[3], &how.cancel, &problem));
    w->cancels[w->cancel_count++] = how.cancel;
    waiting.how = how;
    strangers_hold(0, 4);
    assert_int_equal(
        pthread_create(&waiting.thread, NULL, wait_for_group, &waiting), 0);
    hft_let_pass_ms(200);
    hf_cancel_fire(how.cancel);
    pthread_join(waiting.thread, NULL);
    assert_status(HF_CANCELLED, waiting.status);
    assert_true(fleet_held_becomes(NAME, 4, BOUND_MS));
}

struct counting {
    hf_group *red;
    long counter;
    atomic_int inside;
};

static void count(struct hft_member *me)
{
    struct counting *counting = me->context;
    hf_acquire how = HF_ACQUIRE_INIT;

    how.lease_ms = 10000;
    for (int i = 0; i < 5; i++) {
        long seen;

        if (!HFT_CHECK(me, hf_group_acquire(counting->red, &how, NULL,
                                            &problem) == HF_OK)) {
            hft_member_note(me, "%s", problem.message);
            return;
        }
        HFT_CHECK(me, atomic_fetch_add(&counting->inside, 1) == 0);
        seen = counting->counter;
        hft_let_pass_ms(2);
        counting->counter = seen + 1;
        atomic_fetch_sub(&counting->inside, 1);
        HFT_CHECK(me, hf_group_release(counting->red, NULL, NULL, &problem) ==
                          HF_OK);
    }
}

/* RL-01 to RL-04, RL-27. */
static void ten_threads_count_to_fifty(void **world)
{
    struct world *w = *world;
    struct counting counting = {.red = a_red_lock(w, NAME, NULL)};
    struct hft_crew *crew = hft_crew_start(10, count, &counting);

    assert_null(hft_crew_join(crew, 120000));
    assert_int_equal(counting.counter, 50);
    assert_true(fleet_held_becomes(NAME, 0, BOUND_MS));
    hft_crew_free(crew);
}

/* Two groups of locks of their own, as of two processes, contend. */
static void groups_of_different_clients_exclude_each_other(void **world)
{
    struct world *w = *world;
    hf_group *red = a_red_lock(w, NAME, NULL);
    hf_options options = short_options();
    hf_lock *locks[5];
    hf_group *other;

    for (size_t i = 0; i < 5; i++) {
        locks[i] = a_lock_of(
            w, a_client_at(w, hft_server_url(fleet.servers[i]), &options),
            NAME);
    }
    assert_ok(hf_red_lock_new(locks, 5, NULL, &other, &problem));
    keep_group(other);
    for (int i = 0; i < 20; i++) {
        assert_ok(group_try(red, NULL));
        assert_status(HF_BUSY, group_try(other, NULL));
        assert_ok(group_leave(red, NULL));
        assert_ok(group_wait(other, NULL, BOUND_MS));
        assert_status(HF_BUSY, group_try(red, NULL));
        assert_ok(group_leave(other, NULL));
        assert_true(fleet_held_becomes(NAME, 0, BOUND_MS));
    }
}

/* ---- servers that are away ---- */

static const hf_red_options impatient = {sizeof(impatient), 50, 0, 0};

static int64_t pairs_take_ms(hf_group *red, int pairs)
{
    int64_t began_ms = hft_now_ms();

    for (int i = 0; i < pairs; i++) {
        assert_ok(group_wait(red, NULL, BOUND_MS));
        assert_ok(group_leave(red, NULL));
    }
    return hft_now_ms() - began_ms;
}

/* One stalled server of five makes nobody wait: were it waited for at each call,
 * forty pairs would take two seconds and more. */
static void a_server_that_stalls_slows_nothing(void **world)
{
    struct world *w = *world;
    hf_group *red = a_red_lock(w, NAME, &impatient);
    int64_t well_ms = pairs_take_ms(red, 40);
    int64_t ill_ms;

    hft_server_pause(fleet.servers[1]);
    ill_ms = pairs_take_ms(red, 40);
    hft_server_resume(fleet.servers[1]);
    assert_between(ill_ms, 0, 2 * well_ms + 2 * SLACK_MS);
    /* What reached it meanwhile is undone. */
    assert_true(fleet_held_becomes(NAME, 0, BOUND_MS));
}

static void two_servers_that_are_down_do_not_matter(void **world)
{
    struct world *w = *world;
    hf_group *red = a_red_lock(w, NAME, NULL);
    hf_acquire how = once(NULL, 0);
    hf_outcome outcomes[5];

    hft_server_kill(fleet.servers[0]);
    hft_server_kill(fleet.servers[4]);
    how.wait_ms = 5000;
    assert_ok(hf_group_acquire(red, &how, outcomes, &problem));
    assert_int_not_equal(outcomes[0].status, HF_OK);
    assert_int_equal(outcomes[1].status, HF_OK);
    assert_true(hf_group_is_held(red, NULL));
    assert_ok(hf_group_extend(red, NULL, 5000, NULL, &problem));
    assert_ok(group_leave(red, NULL));
    assert_true(fleet_held_becomes(NAME, 0, BOUND_MS));
}

static void three_servers_that_are_down_refuse_it(void **world)
{
    struct world *w = *world;
    hf_group *red = a_red_lock(w, NAME, NULL);
    hf_status status;

    for (size_t i = 0; i < 3; i++) {
        hft_server_kill(fleet.servers[i]);
    }
    status = group_try(red, NULL);
    assert_true(status == HF_UNREACHABLE || status == HF_UNKNOWN);
    assert_true(fleet_held_becomes(NAME, 0, BOUND_MS));
    assert_status(HF_UNREACHABLE, group_wait(red, NULL, 300));
}

/* It stalls while it is asked: the grant that it gives afterwards is undone by
 * the member's own End, though the group was left long before. */
static void residue_is_removed_from_a_server_that_was_away(void **world)
{
    struct world *w = *world;
    hf_group *red = a_red_lock(w, NAME, &impatient);

    hft_server_pause(fleet.servers[3]);
    assert_ok(group_wait(red, NULL, BOUND_MS));
    assert_ok(group_leave(red, NULL));
    hft_server_resume(fleet.servers[3]);
    assert_true(endings_become(fleet.clients[3], 0, BOUND_MS));
    assert_true(fleet_held_becomes(NAME, 0, BOUND_MS));
}

/* ---- lost ---- */

static void it_is_lost_when_no_quorum_is_left(void **world)
{
    struct world *w = *world;
    hf_group *red = a_red_lock(w, NAME, NULL);
    struct told told = {0};
    hf_acquire how = once(NULL, 0);
    hf_lost_reason reason;

    how.on_lost = record_lost;
    how.context = &told;
    assert_ok(hf_group_acquire(red, &how, NULL, &problem));
    assert_true(fleet_held_becomes(NAME, 5, BOUND_MS));
    for (size_t i = 0; i < 2; i++) { /* where it cannot be taken again */
        (void)hft_int(fleet.servers[i], "DEL %s", NAME);
        fleet_stranger(i, NAME, 60000);
    }
    hft_let_pass_ms(W_MS);
    assert_true(hf_group_is_held(red, NULL));
    assert_int_equal(told_so_far(&told).losses, 0);
    assert_true(hf_group_remaining_ms(red, NULL) > 0);
    (void)hft_int(fleet.servers[2], "DEL %s", NAME);
    assert_true(loss_is_told(&told, BOUND_MS));
    assert_int_equal(told_so_far(&told).reason, HF_LOST_GONE);
    assert_int_equal(hf_group_state_of(red, NULL, &reason), HF_STATE_LOST);
    assert_false(hf_group_is_held(red, NULL));
    assert_status(HF_LOST, group_try(red, NULL));
    assert_status(HF_LOST, group_leave(red, NULL));
    assert_int_equal(told_so_far(&told).losses, 1);
    fleet_stranger_leaves(0, NAME);
    fleet_stranger_leaves(1, NAME);
    assert_true(fleet_held_becomes(NAME, 0, BOUND_MS));
    assert_ok(group_wait(red, NULL, BOUND_MS));
    assert_ok(group_leave(red, NULL));
}

static void servers_that_die_lose_it_in_time(void **world)
{
    struct world *w = *world;
    hf_group *red = a_red_lock(w, NAME, NULL);
    struct told told = {0};
    hf_acquire how = once(NULL, 0);
    int64_t killed_ms;

    how.on_lost = record_lost;
    how.on_warning = record_warning;
    how.context = &told;
    assert_ok(hf_group_acquire(red, &how, NULL, &problem));
    assert_true(fleet_held_becomes(NAME, 5, BOUND_MS));
    killed_ms = hft_now_ms();
    for (size_t i = 0; i < 3; i++) {
        hft_server_kill(fleet.servers[i]);
    }
    assert_true(loss_is_told(&told, BOUND_MS));
    assert_between(told_so_far(&told).at_ms - killed_ms, 0, W_MS + SLACK_MS);
    assert_true(told_so_far(&told).warnings >= 1);
    assert_status(HF_LOST, group_leave(red, NULL));
}

/* RL-23, RL-25. */
static void what_has_expired_is_neither_extended_nor_released(void **world)
{
    struct world *w = *world;
    hf_group *red = a_red_lock(w, NAME, NULL);
    hf_acquire how = once(NULL, 200);

    how.renew = 0;
    assert_ok(hf_group_acquire(red, &how, NULL, &problem));
    hft_let_pass_ms(250);
    assert_false(hf_group_is_held(red, NULL));
    assert_status(HF_LOST, hf_group_extend(red, NULL, 5000, NULL, &problem));
    assert_status(HF_LOST, group_leave(red, NULL));
}

/* The members' answers take longer than the lease: they are worth nothing. */
static void it_is_refused_when_no_validity_is_left(void **world)
{
    struct world *w = *world;
    hf_red_options options = HF_RED_INIT;
    hf_acquire how = once(NULL, 100);
    hf_group *red;
    hf_status status;

    options.member_limit_ms = 3000;
    red = a_red_lock(w, NAME, &options);
    how.renew = 0;
    for (size_t i = 0; i < 3; i++) {
        (void)hft_int(fleet.servers[i], "CLIENT PAUSE 400 ALL");
    }
    status = hf_group_acquire(red, &how, NULL, &problem);
    assert_int_not_equal(status, HF_OK);
    assert_false(hf_group_is_held(red, NULL));
    assert_true(fleet_held_becomes(NAME, 0, BOUND_MS));
}

/* ---- levels ---- */

static void it_is_re_entered_where_it_is_held(void **world)
{
    struct world *w = *world;
    hf_group *red = a_red_lock(w, NAME, NULL);

    strangers_hold(0, 2);
    assert_ok(group_try(red, NULL));
    fleet_stranger_leaves(0, NAME);
    assert_ok(group_try(red, NULL));
    assert_int_equal(hf_group_hold_count(red, NULL), 2);
    assert_ok(group_leave(red, NULL));
    assert_true(hf_group_is_held(red, NULL));
    assert_ok(group_leave(red, NULL));
    assert_true(fleet_held_becomes(NAME, 1, BOUND_MS));
    assert_int_equal(hf_group_hold_count(red, NULL), 0);
}

/* The outer level is of 0, 1, 2, the inner of all; 0 and 1 are lost, where they
 * cannot be taken again.  With the inner level goes the quorum. */
static void the_outer_level_is_lost_when_the_inner_one_kept_it(void **world)
{
    struct world *w = *world;
    hf_group *red = a_red_lock(w, NAME, NULL);
    struct told told = {0};
    hf_acquire how = once(NULL, 60000);
    hf_lost_reason reason = HF_NOT_LOST;

    how.renew = 0; /* no member comes back */
    how.on_lost = record_lost;
    how.context = &told;
    strangers_hold(3, 2);
    assert_ok(hf_group_acquire(red, &how, NULL, &problem));
    fleet_stranger_leaves(3, NAME);
    fleet_stranger_leaves(4, NAME);
    assert_ok(group_try(red, NULL));
    assert_true(fleet_held_becomes(NAME, 5, BOUND_MS));
    for (size_t i = 0; i < 2; i++) {
        (void)hft_int(fleet.servers[i], "DEL %s", NAME);
        fleet_stranger(i, NAME, 60000);
    }
    hft_let_pass_ms(W_MS); /* the inner level was renewed */
    assert_int_equal(hf_group_hold_count(red, NULL), 2);
    assert_int_equal(told_so_far(&told).losses, 0);
    assert_ok(group_leave(red, NULL));
    assert_int_equal(hf_group_state_of(red, NULL, &reason), HF_STATE_LOST);
    assert_true(reason == HF_LOST_GONE || reason == HF_LOST_TAKEN);
    assert_false(hf_group_is_held(red, NULL));
    assert_int_equal(hf_group_remaining_ms(red, NULL), 0);
    assert_true(loss_is_told(&told, BOUND_MS));
    assert_int_equal(told_so_far(&told).reason, reason);
    assert_true(told_so_far(&told).client == fleet.clients[0] ||
                told_so_far(&told).client == fleet.clients[1]);
    assert_string_equal(told_so_far(&told).name, NAME);
    assert_status(HF_LOST, group_try(red, NULL));
    assert_status(HF_LOST, group_leave(red, NULL));
    assert_int_equal(told_so_far(&told).losses, 1);
    assert_status(HF_NOT_OWNER, group_leave(red, NULL));
    assert_true(fleet_held_becomes(NAME, 2, BOUND_MS));
}

static void record_group(const hf_group_completion *done, void *context)
{
    hf_owner *_Atomic *ret_owner = context;

    if (done->status == HF_OK) {
        atomic_store(ret_owner, done->owner);
    }
}

static bool has_owner(void *context)
{
    return atomic_load((hf_owner * _Atomic *)context) != NULL;
}

static void it_is_taken_without_a_thread(void **world)
{
    struct world *w = *world;
    hf_group *red = a_red_lock(w, NAME, NULL);
    hf_owner *_Atomic made = NULL;
    hf_lost_reason reason;
    hf_owner *owner;

    hft_server_kill(fleet.servers[4]);
    assert_ok(hf_group_acquire_async(red, NULL, record_group, &made, &problem));
    assert_true(hft_wait_until(has_owner, &made, BOUND_MS));
    owner = atomic_load(&made);
    assert_int_equal(hf_group_state_of(red, owner, &reason), HF_HELD);
    assert_int_equal(reason, HF_NOT_LOST);
    assert_true(hf_group_is_held(red, owner));
    assert_ok(group_leave(red, owner));
    assert_ok(hf_owner_free(owner));
    assert_true(fleet_held_becomes(NAME, 0, BOUND_MS));
}

/* RL-32, RL-33: the members of the published algorithm, `SET key value NX PX`;
 * what others hold is not touched. */
static void token_locks_can_be_its_members(void **world)
{
    struct world *w = *world;
    hf_red_options options = HF_RED_INIT;
    hf_lock *locks[5];
    hf_group *red;

    for (size_t i = 0; i < 5; i++) {
        assert_ok(
            hf_token_lock_new(fleet.clients[i], NAME, &locks[i], &problem));
        keep_lock(w, locks[i]);
    }
    options.member_limit_ms = 5000;
    assert_ok(hf_red_lock_new(locks, 5, &options, &red, &problem));
    keep_group(red);
    for (size_t i = 0; i < 3; i++) {
        (void)hft_int(fleet.servers[i], "SET %s somebody PX 60000", NAME);
    }
    assert_status(HF_BUSY, group_try(red, NULL));
    assert_true(fleet_held_becomes(NAME, 3, BOUND_MS));
    (void)hft_int(fleet.servers[1], "DEL %s", NAME);
    assert_ok(group_wait(red, NULL, BOUND_MS));
    assert_true(fleet_held_becomes(NAME, 5, BOUND_MS));
    assert_string_equal(hft_str(fleet.servers[3], "TYPE %s", NAME), "string");
    assert_string_equal(hft_str(fleet.servers[0], "GET %s", NAME), "somebody");
    hft_let_pass_ms(2 * W_MS); /* it is renewed */
    assert_true(hf_group_is_held(red, NULL));
    assert_ok(group_leave(red, NULL));
    assert_true(fleet_held_becomes(NAME, 2, BOUND_MS));
}

/* ---- bad input ---- */

static void what_makes_no_red_lock_is_refused(void **world)
{
    struct world *w = *world;
    hf_red_options options = HF_RED_INIT;
    hf_lock *locks[3];
    hf_group *red = NULL;

    locks[0] = a_lock(w, NAME);
    locks[1] = a_lock_of(w, fleet.clients[1], NAME);
    locks[2] = locks[0];
    assert_status(HF_INVALID, hf_red_lock_new(locks, 3, NULL, &red, &problem));
    assert_non_null(strstr(problem.message, "twice"));
    assert_status(HF_INVALID, hf_red_lock_new(locks, 0, NULL, &red, &problem));
    options.member_limit_ms = -1;
    assert_status(HF_INVALID,
                  hf_red_lock_new(locks, 2, &options, &red, &problem));
    options.member_limit_ms = 0;
    options.size = 1;
    assert_status(HF_INVALID,
                  hf_red_lock_new(locks, 2, &options, &red, &problem));
    options.size = sizeof(options);
    options.absent = 2;
    assert_status(HF_UNREACHABLE,
                  hf_red_lock_new(locks, 2, &options, &red, &problem));
    options.absent = HF_GROUP_MAX + 1;
    assert_status(HF_INVALID,
                  hf_red_lock_new(locks, 2, &options, &red, &problem));
    assert_null(red);
}

/* A server that could not even be opened has a vote that nobody gets. */
static void absent_servers_count(void **world)
{
    struct world *w = *world;
    hf_red_options options = HF_RED_INIT;
    hf_lock *locks[2];
    hf_group *red = NULL;

    options.absent = 1;
    options.member_limit_ms = 5000;
    locks[0] = a_lock_of(w, fleet.clients[0], NAME);
    locks[1] = a_lock_of(w, fleet.clients[1], NAME);
    assert_ok(hf_red_lock_new(locks, 2, &options, &red, &problem));
    keep_group(red);
    assert_ok(group_try(red, NULL));
    assert_ok(group_leave(red, NULL));
    fleet_stranger(1, NAME, 60000);
    assert_status(HF_BUSY, group_try(red, NULL));
    (void)hft_int(fleet.servers[1], "DEL %s", NAME);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        fleet_test(it_is_held_on_all_servers_and_given_up_on_all),
        fleet_test(it_succeeds_where_a_quorum_is_free),
        fleet_test(every_member_s_answer_is_told),
        fleet_test(it_waits_while_a_majority_is_held_by_others),
        fleet_test(a_minority_that_is_held_does_not_matter),
        fleet_test(who_waits_gets_it_when_it_is_released),
        fleet_test(a_wait_ends_when_its_token_is_fired),
        fleet_test(ten_threads_count_to_fifty),
        fleet_test(groups_of_different_clients_exclude_each_other),
        fleet_test(a_server_that_stalls_slows_nothing),
        fleet_test(two_servers_that_are_down_do_not_matter),
        fleet_test(three_servers_that_are_down_refuse_it),
        fleet_test(residue_is_removed_from_a_server_that_was_away),
        fleet_test(it_is_lost_when_no_quorum_is_left),
        fleet_test(servers_that_die_lose_it_in_time),
        fleet_test(what_has_expired_is_neither_extended_nor_released),
        fleet_test(it_is_refused_when_no_validity_is_left),
        fleet_test(it_is_re_entered_where_it_is_held),
        fleet_test(the_outer_level_is_lost_when_the_inner_one_kept_it),
        fleet_test(it_is_taken_without_a_thread),
        fleet_test(token_locks_can_be_its_members),
        fleet_test(what_makes_no_red_lock_is_refused),
        fleet_test(absent_servers_count),
    };

    return cmocka_run_group_tests(tests, servers_up, fleet_down);
}
