/* SPDX-License-Identifier: MIT */
/* test_lock_late.c - copies of requests that run long after they were sent.
 *
 * A closed socket is no fence: what the server's kernel had received runs, also
 * after the retry, the release, the loss.  The proxy holds a request and cuts
 * the links, the client goes on by another link, and at the worst moment the
 * held copy runs.  Rows: T14, T15, T58 (given up in flight), LATE-COPIES'
 * invariants 2 to 5, PL-75.
 */
#include "world.h"

#include <string.h>

#include "support/fatal.h"
#include "support/proxy.h"

#define NAME "late"
#define LIMIT_MS 800

/* A world with a proxy in between, and one request that is being held. */
struct delay {
    struct world *w;
    struct hft_proxy *proxy;
    hf_client *client;
    hf_lock *lock;
    int id;
};

static void warm_up(struct delay *delay)
{
    hf_lock *warm = a_lock_of(delay->w, delay->client, "warm");

    assert_ok(try_once(warm, NULL));
    assert_ok(try_once(warm, NULL));
    assert_ok(leave(warm, NULL));
    assert_ok(leave(warm, NULL));
}

static struct delay delay_begin(void **world)
{
    struct delay delay = {.w = *world};
    hf_options options = short_options();

    options.response_limit_ms = LIMIT_MS;
    delay.proxy = hft_proxy_start(delay.w->server);
    delay.client = a_client_at(delay.w, hft_proxy_url(delay.proxy), &options);
    delay.lock = a_lock_of(delay.w, delay.client, NAME);
    warm_up(&delay);
    return delay;
}

/* Hold the next scripts that name the lock: so many. */
static void hold_times(struct delay *delay, unsigned times)
{
    struct hft_rule rule = {.direction = HFT_REQUEST,
                            .match = "EVALSHA",
                            .contains = NAME,
                            .times = times,
                            .action = HFT_HOLD};

    delay->id = hft_proxy_add(delay->proxy, &rule);
}

static void hold_next(struct delay *delay)
{
    hold_times(delay, 1);
}

/* Run it now. */
static void let_go(struct delay *delay)
{
    hft_proxy_release(delay->proxy, delay->id);
}

static void delay_end(struct delay *delay)
{
    assert_true(wire_free_within(delay->w, NAME, BOUND_MS));
    assert_true(endings_become(delay->client, 0, BOUND_MS));
    delay->w->more_client_count--;
    assert_ok(hf_client_close(delay->client));
    hft_proxy_stop(delay->proxy);
    assert_int_equal(wire_ttl(delay->w, NAME), -2);
}

/* Take it, with the first copy held and the links cut: the second takes it. */
static void take_by_the_second_copy(struct delay *delay, int64_t lease_ms)
{
    struct caller caller = {.hold_ms = -1};
    hf_owner *owner = an_owner_of(delay->w, delay->client);
    hf_acquire how = HF_ACQUIRE_INIT;

    how.owner = owner;
    how.lease_ms = lease_ms;
    how.renew = 0;
    how.wait_ms = BOUND_MS;
    hold_next(delay);
    caller_start_as(&caller, delay->lock, &how);
    assert_true(hft_proxy_wait_hits(delay->proxy, delay->id, 1, BOUND_MS));
    hft_proxy_cut_all(delay->proxy);
    caller_join(&caller);
    assert_status(HF_OK, caller.status);
    assert_int_equal(wire_count(delay->w, NAME), 1);
}

static hf_owner *last_owner(struct delay *delay)
{
    return delay->w->owners[delay->w->owner_count - 1];
}

/* Held by the second copy; the first runs while it is held.
 * spec: rlock/acquire-4 */
static void a_late_acquire_counts_nothing_while_it_is_held(void **world)
{
    struct delay delay = delay_begin(world);

    take_by_the_second_copy(&delay, 60000);
    let_go(&delay);
    hft_let_pass_ms(100);
    assert_int_equal(wire_count(delay.w, NAME), 1);
    assert_int_equal(wire_fields(delay.w, NAME), 1);
    assert_ok(leave(delay.lock, last_owner(&delay)));
    delay_end(&delay);
}

/* The first runs after the release, and may even take it again: it is undone
 * until no copy can run any more.
 * spec: rlock/acquire-3, rlock/undo-1 */
static void a_late_acquire_after_the_release_leaves_nothing(void **world)
{
    struct delay delay = delay_begin(world);

    take_by_the_second_copy(&delay, 60000);
    assert_ok(leave(delay.lock, last_owner(&delay)));
    let_go(&delay);
    delay_end(&delay);
}

/* The same much later: past `not_after` it does nothing by itself.
 * spec: rlock/acquire-2 */
static void an_acquire_past_its_not_after_does_nothing(void **world)
{
    struct delay delay = delay_begin(world);
    int i;

    take_by_the_second_copy(&delay, 60000);
    assert_ok(leave(delay.lock, last_owner(&delay)));
    assert_true(endings_become(delay.client, 0, 2 * LIMIT_MS + SLACK_MS));
    assert_int_equal(wire_ttl(delay.w, NAME), -2);
    let_go(&delay);
    for (i = 0; i < 20; i++) {
        assert_int_equal(wire_ttl(delay.w, NAME), -2);
        hft_let_pass_ms(5);
    }
    delay_end(&delay);
}

/* It runs after the hold was lost, while the next one holds it. */
static void a_late_acquire_after_a_loss_disturbs_nobody(void **world)
{
    struct delay delay = delay_begin(world);
    hf_lock *theirs = a_lock(delay.w, NAME);

    take_by_the_second_copy(&delay, 300);
    assert_true(
        state_becomes(delay.lock, last_owner(&delay), HF_STATE_LOST, BOUND_MS));
    assert_ok(wait_up_to(theirs, NULL, BOUND_MS));
    let_go(&delay);
    hft_let_pass_ms(LIMIT_MS + SLACK_MS);
    assert_true(hf_lock_is_held(theirs, NULL));
    assert_int_equal(wire_fields(delay.w, NAME), 1);
    assert_ok(leave(theirs, NULL));
    assert_status(HF_LOST, leave(delay.lock, last_owner(&delay)));
    delay_end(&delay);
}

/* T15: given up in flight: not held, said to be unknown, and undone; the copy
 * runs only after that. */
static void an_acquire_given_up_in_flight_is_undone(void **world)
{
    struct delay delay = delay_begin(world);
    hf_acquire how = HF_ACQUIRE_INIT;
    hf_status status;
    int64_t sent;

    how.wait_ms = 200;
    how.lease_ms = 60000;
    hold_next(&delay);
    sent = stats_of(delay.client).scripts_sent;
    status = take(delay.lock, NULL, &how);
    assert_status(HF_UNKNOWN, status);
    assert_false(hf_lock_is_held(delay.lock, NULL));
    /* The acquire that is held, and the undo. */
    assert_true(scripts_reach(delay.client, sent + 2, BOUND_MS));
    let_go(&delay);
    assert_true(endings_become(delay.client, 0, BOUND_MS));
    assert_int_equal(wire_ttl(delay.w, NAME), -2);
    assert_status(HF_NOT_OWNER, leave(delay.lock, NULL));
    assert_ok(wait_up_to(delay.lock, NULL, BOUND_MS));
    assert_ok(leave(delay.lock, NULL));
    delay_end(&delay);
}

/* A grant whose answer comes after the caller has left is undone too. */
static void a_grant_that_nobody_waits_for_is_undone(void **world)
{
    struct delay delay = delay_begin(world);
    struct hft_rule slow = {.direction = HFT_REPLY,
                            .match = "EVALSHA",
                            .contains = NAME,
                            .action = HFT_DELAY,
                            .delay_ms = 500};
    hf_acquire how = HF_ACQUIRE_INIT;
    int64_t asked_ms = hft_now_ms();

    how.wait_ms = 100;
    how.lease_ms = 60000;
    (void)hft_proxy_add(delay.proxy, &slow);
    assert_status(HF_UNKNOWN, take(delay.lock, NULL, &how));
    assert_between(hft_now_ms() - asked_ms, 95, 100 + SLACK_MS);
    assert_true(wire_free_within(delay.w, NAME, LIMIT_MS + SLACK_MS));
    delay_end(&delay);
}

/* PL-75: a grant that is read after its own deadline is no hold: it is undone,
 * and the wait goes on with a fresh number, which is held when it returns. */
static void a_grant_after_its_own_deadline_is_not_returned(void **world)
{
    struct delay delay = delay_begin(world);
    struct hft_rule slow = {.direction = HFT_REPLY,
                            .match = "EVALSHA",
                            .contains = NAME,
                            .action = HFT_DELAY,
                            .delay_ms = 500};
    hf_acquire how = HF_ACQUIRE_INIT;
    char owner[64];
    int id;

    how.renew = 0;
    how.lease_ms = 300;
    how.wait_ms = BOUND_MS;
    id = hft_proxy_add(delay.proxy, &slow);
    assert_ok(take(delay.lock, NULL, &how));
    assert_int_equal(hft_proxy_hits(delay.proxy, id), 1);
    assert_true(hf_lock_is_held(delay.lock, NULL));
    assert_ok(hf_lock_owner_text(delay.lock, NULL, owner, sizeof(owner)));
    assert_string_equal(wire_owner(delay.w, NAME), owner);
    assert_ok(leave(delay.lock, NULL));
    delay_end(&delay);
}

/* A late release is of a number that is nobody's any more.
 * spec: rlock/release-2 */
static void a_late_release_does_not_touch_the_next_hold(void **world)
{
    struct delay delay = delay_begin(world);
    struct caller caller = {.hold_ms = 300};
    hf_acquire how = once(an_owner_of(delay.w, delay.client), 60000);
    hf_owner *again = an_owner_of(delay.w, delay.client);

    caller_start_as(&caller, delay.lock, &how);
    assert_true(hft_wait_int(delay.w->server, 1, BOUND_MS, "EXISTS " NAME));
    hold_next(&delay);
    assert_true(hft_proxy_wait_hits(delay.proxy, delay.id, 1, BOUND_MS));
    hft_proxy_cut_all(delay.proxy);
    caller_join(&caller);
    assert_status(HF_OK, caller.release_status); /* by the second copy */
    assert_ok(try_fixed(delay.lock, again, 60000));
    let_go(&delay);
    hft_let_pass_ms(200);
    assert_int_equal(wire_count(delay.w, NAME), 1);
    assert_true(hf_lock_is_held(delay.lock, again));
    assert_ok(hf_lock_extend(delay.lock, again, 60000, &problem));
    assert_ok(leave(delay.lock, again));
    delay_end(&delay);
}

/* A late renewal neither brings a hold back nor prolongs the next one.
 * spec: rlock/keep-1, rlock/renew-3 */
static void a_late_renewal_prolongs_nothing(void **world)
{
    struct delay delay = delay_begin(world);
    hf_lock *theirs = a_lock(delay.w, NAME);
    hf_acquire how = once(NULL, 900);

    assert_ok(take(delay.lock, NULL, &how));
    hold_next(&delay);
    assert_true(hft_proxy_wait_hits(delay.proxy, delay.id, 1, BOUND_MS));
    assert_ok(leave(delay.lock, NULL));
    assert_int_equal(wire_ttl(delay.w, NAME), -2);
    assert_ok(try_fixed(theirs, NULL, 500));
    let_go(&delay);
    hft_let_pass_ms(100);
    assert_int_equal(wire_fields(delay.w, NAME), 1);
    assert_between(wire_ttl(delay.w, NAME), 1, 400);
    assert_true(hf_lock_is_held(theirs, NULL));
    assert_ok(leave(theirs, NULL));
    delay_end(&delay);
}

/* A late partial release makes the mirror wrong for a moment only, and takes
 * nothing away: the next renewal sets it right. */
static void a_late_partial_release_does_not_change_the_count(void **world)
{
    struct delay delay = delay_begin(world);
    struct caller caller = {.hold_ms = 100};
    hf_owner *owner = an_owner_of(delay.w, delay.client);
    hf_acquire how = once(owner, 900);

    assert_ok(try_once(delay.lock, owner));
    caller_start_as(&caller, delay.lock, &how); /* enters, then leaves */
    assert_true(hft_wait_int(delay.w->server, 2, BOUND_MS, "EVAL %s 1 " NAME,
                             "return redis.call('hvals', KEYS[1])[1]"));
    hold_next(&delay);
    assert_true(hft_proxy_wait_hits(delay.proxy, delay.id, 1, BOUND_MS));
    hft_proxy_cut_all(delay.proxy);
    caller_join(&caller);
    assert_status(HF_OK, caller.release_status);
    assert_ok(try_once(delay.lock, owner));
    assert_ok(try_once(delay.lock, owner));
    assert_int_equal(hf_lock_hold_count(delay.lock, owner), 3);
    let_go(&delay); /* says: one */
    assert_true(hft_wait_int(delay.w->server, 3, BOUND_MS, "EVAL %s 1 " NAME,
                             "return redis.call('hvals', KEYS[1])[1]"));
    hft_let_pass_ms(400);
    assert_int_equal(wire_count(delay.w, NAME), 3);
    assert_ok(leave(delay.lock, owner));
    assert_ok(leave(delay.lock, owner));
    assert_true(hf_lock_is_held(delay.lock, owner));
    assert_ok(leave(delay.lock, owner));
    delay_end(&delay);
}

/* A forced release that comes too late takes nothing away, not even from the
 * very owner it was meant for.
 * spec: rlock/force-1 */
static void a_late_forced_release_takes_nothing_away(void **world)
{
    struct delay delay = delay_begin(world);
    hf_lock *theirs = a_lock(delay.w, NAME);
    char owner[64];

    assert_ok(try_fixed(theirs, NULL, 60000));
    assert_ok(hf_lock_owner_text(theirs, NULL, owner, sizeof(owner)));
    hold_times(&delay, HFT_ALWAYS); /* its retries as well */
    assert_status(HF_UNKNOWN,
                  hf_lock_force_release(delay.lock, owner, &problem));
    hft_let_pass_ms(2 * LIMIT_MS);
    let_go(&delay);
    hft_let_pass_ms(200);
    assert_int_equal(wire_count(delay.w, NAME), 1);
    assert_ok(hf_lock_extend(theirs, NULL, 60000, &problem));
    assert_ok(leave(theirs, NULL));
    delay_end(&delay);
}

/* A re-entry that is given up: not done, and the outer hold stands. */
static void a_reentry_given_up_in_flight_leaves_the_outer_hold(void **world)
{
    struct delay delay = delay_begin(world);
    hf_owner *owner = an_owner_of(delay.w, delay.client);
    hf_acquire how = once(owner, 9000); /* renewed: the mirror heals */

    assert_ok(take(delay.lock, owner, &how));
    hold_times(&delay, HFT_ALWAYS);
    assert_status(HF_NOT_DONE, take(delay.lock, owner, &how));
    assert_int_equal(hf_lock_hold_count(delay.lock, owner), 1);
    let_go(&delay); /* says: two */
    hft_let_pass_ms(200);
    assert_true(hft_wait_int(delay.w->server, 1, 4000, "EVAL %s 1 " NAME,
                             "return redis.call('hvals', KEYS[1])[1]"));
    assert_true(hf_lock_is_held(delay.lock, owner));
    assert_ok(leave(delay.lock, owner));
    delay_end(&delay);
}

/* IS-15: no release was answered; it is gone here, is not renewed any more,
 * and is undone there as soon as there is a way. */
static void an_unanswered_release_is_undone_and_never_renewed(void **world)
{
    struct delay delay = delay_begin(world);
    hf_acquire how = once(NULL, 30000);
    int64_t renewals;

    assert_ok(take(delay.lock, NULL, &how));
    hft_proxy_set_door(delay.proxy, HFT_DOOR_SHUT);
    hft_proxy_cut_all(delay.proxy);
    assert_status(HF_UNKNOWN, leave(delay.lock, NULL));
    assert_false(hf_lock_is_held(delay.lock, NULL));
    assert_int_equal(hf_lock_state_of(delay.lock, NULL, NULL), HF_NOT_HELD);
    assert_status(HF_NOT_OWNER, leave(delay.lock, NULL));
    renewals = stats_of(delay.client).renewals_sent;
    assert_int_equal(wire_count(delay.w, NAME), 1);
    hft_proxy_set_door(delay.proxy, HFT_DOOR_OPEN);
    assert_true(wire_free_within(delay.w, NAME, 5000));
    assert_int_equal(stats_of(delay.client).renewals_sent, renewals);
    delay_end(&delay);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        world_test(a_late_acquire_counts_nothing_while_it_is_held),
        world_test(a_late_acquire_after_the_release_leaves_nothing),
        world_test(an_acquire_past_its_not_after_does_nothing),
        world_test(a_late_acquire_after_a_loss_disturbs_nobody),
        world_test(an_acquire_given_up_in_flight_is_undone),
        world_test(a_grant_that_nobody_waits_for_is_undone),
        world_test(a_grant_after_its_own_deadline_is_not_returned),
        world_test(a_late_release_does_not_touch_the_next_hold),
        world_test(a_late_renewal_prolongs_nothing),
        world_test(a_late_partial_release_does_not_change_the_count),
        world_test(a_late_forced_release_takes_nothing_away),
        world_test(a_reentry_given_up_in_flight_leaves_the_outer_hold),
        world_test(an_unanswered_release_is_undone_and_never_renewed),
    };

    return cmocka_run_group_tests_name("lock_late", tests, world_up,
                                       world_down);
}
