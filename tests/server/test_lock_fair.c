/* SPDX-License-Identifier: MIT */
/* test_lock_fair.c - the fair lock: who asks first gets it first.
 *
 * Rows: FL-01, FL-10 to FL-26, FL-28, IS-21, NF-01, NF-02, NF-03, 15.17, 15.19, 15.20.
 * FL-13 is not Redisson's: releasing what has expired is refused here.  FL-27
 * (name mappers) has nothing to map here; FL-29 is what T21 says better.
 * T22, and T24 with what test_fair_queue.c has.
 */
#include "world.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "listener.h"

#define NAME "till"
#define QUEUE "redisson_lock_queue:{till}"
#define SCORES "redisson_lock_timeout:{till}"
#define ALIVE "holdfast_fair_alive:{till}"
#define WAITS "holdfast_fair_waits:{till}"
#define CHANNEL "redisson_lock__channel:{till}"
#define JAVA "0badcafe-0bad-4afe-8bad-cafe0badcafe:7"

static hf_lock *a_fair_lock_of(struct world *w, hf_client *client)
{
    hf_lock *lock = NULL;

    assert_ok(hf_fair_lock_new(client, NAME, &lock, &problem));
    keep_lock(w, lock);
    return lock;
}

static hf_lock *a_fair_lock(struct world *w)
{
    return a_fair_lock_of(w, w->client);
}

static bool queue_becomes(struct world *w, int64_t length)
{
    return hft_wait_int(w->server, length, BOUND_MS, "LLEN " QUEUE);
}

/* Nobody waits, and nothing says that anybody did. */
static bool no_queue_is_left(struct world *w)
{
    return hft_wait_int(w->server, 0, BOUND_MS,
                        "EXISTS " QUEUE " " SCORES " " ALIVE " " WAITS);
}

/* FL-15 to FL-22.  spec: fair/release-2 */
static void it_is_a_reentrant_lock(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_fair_lock(w);
    hf_owner *other = an_owner(w);

    assert_int_equal(hf_lock_hold_count(lock, NULL), 0);
    assert_ok(try_once(lock, NULL));
    assert_ok(try_once(lock, NULL));
    assert_int_equal(hf_lock_hold_count(lock, NULL), 2);
    assert_int_equal(wire_count(w, NAME), 2);
    assert_false(hf_lock_is_held(lock, other));
    assert_status(HF_NOT_OWNER, leave(lock, other));
    assert_status(HF_BUSY, try_once(lock, other));
    assert_ok(leave(lock, NULL));
    assert_status(HF_BUSY, try_once(lock, other));
    assert_true(hf_lock_is_held(lock, NULL));
    assert_ok(leave(lock, NULL));
    assert_false(hf_lock_is_held(lock, NULL));
    assert_status(HF_NOT_OWNER, leave(lock, NULL));
    assert_int_equal(hft_int(w->server, "DBSIZE"), 0);
}

/* The watchdog renews it as any lock; so does a re-entry count. */
static void it_is_renewed_while_it_is_held(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_fair_lock(w);

    assert_ok(try_once(lock, NULL));
    hft_let_pass_ms(2 * W_MS);
    assert_true(hf_lock_is_held(lock, NULL));
    assert_between(wire_ttl(w, NAME), 1, W_MS);
    assert_ok(hf_lock_extend(lock, NULL, 5000, &problem));
    assert_ok(leave(lock, NULL));
}

/* Who has it notes his number; the next looks that he is behind it. */
struct line {
    hf_lock *lock;
    hf_owner *owner;
    hf_acquire how;
    struct caller caller;
};

static void stand_in_line(struct world *w, struct line *who, hf_client *client,
                          int64_t hold_ms)
{
    int64_t length = hft_int(w->server, "LLEN " QUEUE);

    who->lock = a_fair_lock_of(w, client);
    who->how = once(an_owner_of(w, client), W_MS);
    who->how.wait_ms = 60000;
    who->caller.hold_ms = hold_ms;
    caller_start_as(&who->caller, who->lock, &who->how);
    assert_true(queue_becomes(w, length + 1));
}

/* FL-26.  spec: fair/wait-1, fair/java-1 */
static void all_are_served_in_the_order_of_asking(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_fair_lock(w);
    hf_client *clients[3] = {w->client, a_client(w), a_client(w)};
    struct line line[12] = {{NULL}};
    size_t count = sizeof(line) / sizeof(line[0]);

    assert_ok(try_once(lock, NULL));
    for (size_t i = 0; i < count; i++) {
        stand_in_line(w, &line[i], clients[i % 3], 20);
    }
    assert_ok(leave(lock, NULL));
    for (size_t i = 0; i < count; i++) {
        caller_join(&line[i].caller);
        assert_status(HF_OK, line[i].caller.status);
        assert_status(HF_OK, line[i].caller.release_status);
        if (i > 0) {
            assert_true(line[i].caller.ended_ms >=
                        line[i - 1].caller.ended_ms + 19);
        }
    }
    assert_true(no_queue_is_left(w));
}

/* FL-01, 15.19: nobody releases; the end of each lease hands it on. */
static void the_end_of_a_lease_hands_it_on_in_order(void **world)
{
    struct world *w = *world;
    hf_client *clients[2] = {w->client, a_client(w)};
    struct line line[6] = {{NULL}};
    size_t count = sizeof(line) / sizeof(line[0]);
    int64_t began_ms = hft_now_ms();

    assert_ok(try_fixed(a_fair_lock(w), NULL, 300));
    for (size_t i = 0; i < count; i++) {
        line[i].lock = a_fair_lock_of(w, clients[i % 2]);
        line[i].how = once(an_owner_of(w, clients[i % 2]), 300);
        line[i].how.wait_ms = 20000;
        line[i].how.renew = 0;
        line[i].caller.hold_ms = -1;
        caller_start_as(&line[i].caller, line[i].lock, &line[i].how);
        assert_true(queue_becomes(w, (int64_t)i + 1));
    }
    for (size_t i = 0; i < count; i++) {
        caller_join(&line[i].caller);
        assert_status(HF_OK, line[i].caller.status);
        if (i > 0) {
            assert_true(line[i].caller.ended_ms > line[i - 1].caller.ended_ms);
        }
    }
    assert_between(hft_now_ms() - began_ms, 300 * 6 - 50, 300 * 6 + 3000);
}

/* FL-10, FL-11, 15.20.  spec: fair/wait-4 */
static void who_waited_in_vain_leaves_nothing(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_fair_lock(w);
    hf_client *other = a_client(w);
    hf_lock *theirs = a_fair_lock_of(w, other);
    int64_t began_ms = hft_now_ms();

    assert_ok(try_once(lock, NULL));
    assert_status(HF_TIMEOUT, wait_up_to(theirs, NULL, 300));
    assert_between(hft_now_ms() - began_ms, 290, 300 + SLACK_MS);
    assert_true(no_queue_is_left(w));
    assert_ok(leave(lock, NULL));
    assert_ok(try_once(theirs, NULL));
    assert_ok(leave(theirs, NULL));
}

/* FL-28: he is told in time, although nobody answers, and is gone from the queue
 * as soon as somebody does. */
static void who_gave_up_on_a_silent_server_leaves_nothing(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_fair_lock(w);
    struct caller waiter = {.hold_ms = 0};

    assert_ok(try_fixed(lock, NULL, 60000));
    caller_start(&waiter, a_fair_lock_of(w, a_client(w)), 3000);
    assert_true(queue_becomes(w, 1));
    hft_int(w->server, "CLIENT PAUSE 4500 WRITE");
    caller_join(&waiter);
    assert_true(waiter.status == HF_TIMEOUT || waiter.status == HF_UNKNOWN);
    assert_between(waiter.ended_ms - waiter.began_ms, 2900, 4000);
    assert_true(no_queue_is_left(w));
    assert_ok(leave(lock, NULL));
}

/* spec: fair/wait-4 */
static void who_is_cancelled_leaves_nothing(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_fair_lock(w);
    hf_cancel *cancel = a_cancel(w);
    hf_acquire how = once(an_owner(w), W_MS);
    struct caller waiter = {.hold_ms = 0};

    assert_ok(try_once(lock, NULL));
    how.wait_ms = HF_WAIT_FOREVER;
    how.cancel = cancel;
    caller_start_as(&waiter, lock, &how);
    assert_true(queue_becomes(w, 1));
    hf_cancel_fire(cancel);
    caller_join(&waiter);
    /* UNKNOWN if it came while he was asking. */
    assert_true(waiter.status == HF_CANCELLED || waiter.status == HF_UNKNOWN);
    assert_true(no_queue_is_left(w));
    assert_true(hft_wait_channels(w->server, 0, BOUND_MS));
    assert_ok(leave(lock, NULL));
}

/* spec: fair/wait-4 */
static void a_closed_client_leaves_no_waiters(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_fair_lock(w);
    hf_options options = short_options();
    hf_client *other = NULL;
    hf_lock *theirs = NULL;
    struct caller waiter = {.hold_ms = 0};

    assert_ok(try_once(lock, NULL));
    assert_ok(
        hf_client_open(hft_server_url(w->server), &options, &other, &problem));
    assert_ok(hf_fair_lock_new(other, NAME, &theirs, &problem));
    caller_start(&waiter, theirs, BOUND_MS);
    assert_true(queue_becomes(w, 1));
    hf_client_close(other);
    caller_join(&waiter);
    assert_true(waiter.status == HF_CLOSED || waiter.status == HF_UNKNOWN);
    assert_true(no_queue_is_left(w));
    assert_ok(leave(lock, NULL));
    assert_ok(hf_lock_free(theirs));
}

/* FL-13, 15.17: the waiter has it at the end of the lease, and the release of
 * who had it is refused. */
static void a_release_after_the_end_of_the_lease_is_refused(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_fair_lock(w);
    hf_lock *theirs = a_fair_lock_of(w, a_client(w));
    int64_t began_ms = hft_now_ms();

    assert_ok(try_fixed(lock, NULL, 500));
    assert_ok(wait_up_to(theirs, NULL, BOUND_MS));
    assert_between(hft_now_ms() - began_ms, 495, 520 + SLACK_MS);
    assert_status(HF_LOST, leave(lock, NULL));
    assert_true(hf_lock_is_held(theirs, NULL));
    assert_ok(leave(theirs, NULL));
}

/* FL-12. */
static void a_forced_lock_goes_to_the_first_in_the_queue(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_fair_lock(w);
    hf_lock *theirs = a_fair_lock_of(w, a_client(w));
    struct caller waiter = {.hold_ms = 0};

    assert_ok(try_fixed(lock, NULL, 60000));
    caller_start(&waiter, theirs, BOUND_MS);
    assert_true(queue_becomes(w, 1));
    assert_ok(hf_lock_force_release(lock, NULL, &problem));
    caller_join(&waiter);
    assert_status(HF_OK, waiter.status);
    assert_between(waiter.ended_ms - waiter.began_ms, 0, 1500);
    assert_status(HF_GONE, leave(lock, NULL));
}

/* FL-14: a client that is closed while it holds. */
static void a_closed_holder_hands_it_on(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_fair_lock(w);
    hf_options options = short_options();
    hf_client *other = NULL;
    hf_lock *theirs = NULL;
    struct caller waiter = {.hold_ms = 0};

    assert_ok(
        hf_client_open(hft_server_url(w->server), &options, &other, &problem));
    assert_ok(hf_fair_lock_new(other, NAME, &theirs, &problem));
    assert_ok(try_once(theirs, NULL));
    caller_start(&waiter, lock, BOUND_MS);
    assert_true(queue_becomes(w, 1));
    hf_client_close(other);
    caller_join(&waiter);
    assert_status(HF_OK, waiter.status);
    assert_between(waiter.ended_ms - waiter.began_ms, 0, W_MS);
    assert_ok(hf_lock_free(theirs));
}

/* A thread of Java's stands before us: made by hand, as Redisson makes it. */
static void java_stands_first(struct world *w)
{
    hft_int(w->server, "EVAL %s 0",
            "local now = redis.call('time')[1] * 1000 "
            "redis.call('rpush', '" QUEUE "', '" JAVA "') "
            "return redis.call('zadd', '" SCORES "', now + 300000, '" JAVA
            "')");
}

static void java_takes_its_turn(struct world *w)
{
    assert_string_equal(hft_str(w->server, "LPOP " QUEUE), JAVA);
    hft_int(w->server, "ZREM " SCORES " " JAVA);
    hft_int(w->server, "HSET " NAME " " JAVA " 1");
    hft_int(w->server, "PEXPIRE " NAME " 30000");
}

/* As Redisson's unlock: the first in the queue is told on its own channel. */
static void java_releases(struct world *w)
{
    hft_int(w->server, "DEL " NAME);
    assert_int_equal(hft_int(w->server, "EVAL %s 0",
                             "return redis.call('publish', '" CHANNEL
                             ":' .. redis.call('lindex', '" QUEUE
                             "', 0), '0')"),
                     1);
}

/* spec: fair/java-1, fair/message-1, fair/name-2 */
static void it_stands_in_one_queue_with_java(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_fair_lock(w);
    struct listener *ears = listener_new(w->server, CHANNEL ":" JAVA);
    struct line ours = {NULL};

    assert_ok(try_once(lock, NULL));
    java_stands_first(w);
    stand_in_line(w, &ours, a_client(w), 0);
    assert_ok(leave(lock, NULL));
    assert_string_equal(listener_hear(ears, BOUND_MS), CHANNEL ":" JAVA " 0");
    /* Free, but it is Java's: ours does not overtake, and does not spin. */
    hft_let_pass_ms(300);
    assert_int_equal(wire_ttl(w, NAME), -2);
    java_takes_its_turn(w);
    hft_let_pass_ms(100);
    java_releases(w);
    caller_join(&ours.caller);
    assert_status(HF_OK, ours.caller.status);
    assert_true(no_queue_is_left(w));
    listener_free(ears);
}

/* IS-21, T21: no busy loop behind a head that is dead. */
static void who_waits_behind_a_dead_head_does_not_spin(void **world)
{
    struct world *w = *world;
    hf_client *client = a_client(w);
    struct caller waiter = {.hold_ms = 0};
    int64_t sent;

    java_stands_first(w);
    caller_start(&waiter, a_fair_lock_of(w, client), 3000);
    assert_true(queue_becomes(w, 2));
    sent = stats_of(client).scripts_sent;
    hft_let_pass_ms(2500);
    assert_between(stats_of(client).scripts_sent - sent, 0, 12);
    caller_join(&waiter);
    assert_status(HF_TIMEOUT, waiter.status);
    hft_int(w->server, "DEL " QUEUE " " SCORES);
}

/* NF-01, NF-02, NF-03. */
static void a_nonreentrant_one_refuses_its_own_owner(void **world)
{
    struct world *w = *world;
    hf_lock *lock = NULL, *again = NULL;
    struct caller waiter = {.hold_ms = 0};
    int64_t began_ms;

    assert_ok(hf_nonreentrant_fair_lock_new(w->client, NAME, &lock, &problem));
    keep_lock(w, lock);
    assert_ok(hf_nonreentrant_fair_lock_new(w->client, NAME, &again, &problem));
    keep_lock(w, again);
    assert_ok(try_once(lock, NULL));
    began_ms = hft_now_ms();
    assert_status(HF_ALREADY_HELD, try_once(lock, NULL));
    assert_status(HF_ALREADY_HELD, wait_up_to(again, NULL, BOUND_MS));
    assert_between(hft_now_ms() - began_ms, 0, 1000);
    assert_true(hf_lock_is_held(again, NULL));
    assert_true(no_queue_is_left(w));
    caller_start(&waiter, a_fair_lock_of(w, a_client(w)), BOUND_MS);
    assert_true(queue_becomes(w, 1));
    assert_ok(leave(lock, NULL));
    caller_join(&waiter);
    assert_status(HF_OK, waiter.status);
}

/* spec: fair/acquire-7 */
static void it_can_be_fenced(void **world)
{
    struct world *w = *world;
    hf_lock_options options = HF_LOCK_OPTIONS_INIT;
    hf_lock_info info = HF_LOCK_INFO_INIT;
    hf_lock *lock = NULL;
    int64_t first, second;
    struct line other = {NULL};

    options.kind = HF_KIND_FAIR;
    options.fenced = 1;
    assert_ok(hf_lock_new_as(w->client, &options, NAME, 4, &lock, &problem));
    keep_lock(w, lock);
    assert_ok(try_once(lock, NULL));
    assert_ok(hf_lock_token(lock, NULL, &first, &problem));
    assert_ok(hf_inspect_remote(lock, &info, &problem));
    assert_int_equal(info.token, first);
    stand_in_line(w, &other, a_client(w), 50);
    assert_ok(leave(lock, NULL));
    assert_ok(wait_up_to(lock, NULL, BOUND_MS));
    assert_ok(hf_lock_token(lock, NULL, &second, &problem));
    assert_int_equal(second, first + 1); /* the other one took none */
    caller_join(&other.caller);
    assert_ok(leave(lock, NULL));
    assert_true(no_queue_is_left(w));
    options.token_each_entry = 1;
    assert_ok(hf_lock_new_as(w->client, &options, NAME, 4, &lock, &problem));
    keep_lock(w, lock);
    assert_ok(try_once(lock, NULL));
    assert_ok(try_once(lock, NULL));
    assert_ok(hf_lock_token(lock, NULL, &first, &problem));
    assert_int_equal(first, second + 2);
    assert_ok(leave(lock, NULL));
    assert_ok(leave(lock, NULL));
}

/* A waiter says as often that it lives as its lock's options need. */
static void the_time_after_which_a_waiter_is_dead_is_an_option(void **world)
{
    struct world *w = *world;
    hf_lock_options options = HF_LOCK_OPTIONS_INIT;
    hf_client *client = a_client(w);
    hf_lock *lock = NULL;
    struct caller waiter = {.hold_ms = 0};
    int64_t sent;

    options.kind = HF_KIND_FAIR;
    options.fair_dead_ms = 500;
    options.fair_wait_ms = 60000;
    assert_ok(hf_lock_new_as(client, &options, NAME, 4, &lock, &problem));
    keep_lock(w, lock);
    assert_ok(try_fixed(a_fair_lock(w), NULL, 60000));
    caller_start(&waiter, lock, 61000);
    assert_true(queue_becomes(w, 1));
    assert_int_equal(hft_int(w->server, "HVALS " WAITS), 1);
    assert_string_equal(hft_str(w->server, "HVALS " WAITS), "60000");
    sent = stats_of(client).scripts_sent;
    assert_true(scripts_reach(client, sent + 5, 5 * 200 + 1000));
    assert_int_equal(hft_int(w->server, "LLEN " QUEUE), 1);
    assert_ok(hf_lock_force_release(lock, NULL, &problem));
    caller_join(&waiter);
    assert_status(HF_OK, waiter.status);
}

static void options_out_of_range_are_refused(void **world)
{
    static const int64_t bad[][2] = {
        {-1, 0}, {86400001, 0}, {0, -1}, {0, 99}, {0, 86400001}};
    struct world *w = *world;
    hf_lock *lock = NULL;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        hf_lock_options options = HF_LOCK_OPTIONS_INIT;

        options.kind = HF_KIND_FAIR;
        options.fair_wait_ms = bad[i][0];
        options.fair_dead_ms = bad[i][1];
        assert_status(HF_INVALID, hf_lock_new_as(w->client, &options, NAME, 4,
                                                 &lock, &problem));
    }
    assert_status(HF_BAD_NAME,
                  hf_fair_lock_new(w->client, NULL, &lock, &problem));
    assert_status(HF_BAD_NAME,
                  hf_fair_lock_new(w->client, "", &lock, &problem));
    assert_status(HF_INVALID, hf_fair_lock_new(NULL, NAME, &lock, &problem));
}

/* The queue's keys, or the lock's, hold something else. */
static void keys_of_another_type_are_refused(void **world)
{
    static const char *const keys[] = {NAME, QUEUE};
    struct world *w = *world;
    hf_lock *lock = a_fair_lock(w);

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        hft_int(w->server, "SET %s x", keys[i]);
        assert_status(HF_WRONG_TYPE, try_once(lock, NULL));
        assert_status(HF_WRONG_TYPE, wait_up_to(lock, NULL, BOUND_MS));
        assert_string_equal(hft_str(w->server, "GET %s", keys[i]), "x");
        assert_int_equal(hft_int(w->server, "DEL %s", keys[i]), 1);
    }
    assert_true(no_queue_is_left(w));
}

/* Many at once, of one thread: the calls' order is the queue's, FL-02. */
#define CROWD 300

struct crowd {
    hf_lock *lock;
    hf_owner *owners[CROWD];
    hf_status statuses[CROWD];
    int next; /* under the callbacks' one thread */
    int out_of_order;
    atomic_int released;
};

static void is_released(const hf_completion *done, void *context)
{
    struct crowd *crowd = context;

    crowd->out_of_order += done->status == HF_OK ? 0 : 1;
    atomic_fetch_add(&crowd->released, 1);
}

static void is_served(const hf_completion *done, void *context)
{
    struct crowd *crowd = context;

    if (done->status != HF_OK || done->owner != crowd->owners[crowd->next++]) {
        crowd->out_of_order++;
    }
    if (hf_lock_release_async(crowd->lock, done->owner, is_released, crowd,
                              NULL) != HF_OK) {
        crowd->out_of_order++;
    }
}

static void a_crowd_of_one_thread_is_served_in_the_order_of_its_calls(
    void **world)
{
    static struct crowd crowd;
    struct world *w = *world;
    hf_lock *lock = a_fair_lock(w);
    hf_client *client = a_client(w);
    int64_t end_ms = hft_now_ms() + 60000;

    memset(&crowd, 0, sizeof(crowd));
    crowd.lock = a_fair_lock_of(w, client);
    assert_ok(try_fixed(lock, NULL, 60000));
    for (int i = 0; i < CROWD; i++) {
        hf_acquire how = once(an_owner_of(w, client), 30000);

        how.wait_ms = HF_WAIT_FOREVER;
        crowd.owners[i] = how.owner;
        assert_ok(hf_lock_acquire_async(crowd.lock, &how, is_served, &crowd,
                                        &problem));
    }
    assert_true(queue_becomes(w, CROWD));
    assert_ok(leave(lock, NULL));
    while (atomic_load(&crowd.released) < CROWD) {
        assert_true(hft_now_ms() < end_ms);
        hft_let_pass_ms(5);
    }
    assert_int_equal(crowd.out_of_order, 0);
    assert_true(no_queue_is_left(w));
}

struct seen {
    int64_t count;
    int64_t stop_at;
    char owners[4][64];
    int ours[4];
};

static bool see(const hf_waiter_info *waiter, void *context)
{
    struct seen *seen = context;

    assert_int_equal(waiter->place, seen->count + 1);
    assert_between(waiter->dead_in_ms, 1, 310000);
    snprintf(seen->owners[seen->count], 64, "%s", waiter->owner);
    seen->ours[seen->count] = waiter->ours;
    return ++seen->count != seen->stop_at;
}

/* spec: fair/show-1 */
static void the_queue_can_be_looked_at(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_fair_lock(w);
    struct line ours = {NULL};
    struct seen seen = {.stop_at = 0};

    assert_ok(hf_inspect_queue_remote(lock, see, &seen, &problem));
    assert_int_equal(seen.count, 0);
    assert_ok(try_once(lock, NULL));
    java_stands_first(w);
    stand_in_line(w, &ours, a_client(w), 0);
    assert_ok(hf_inspect_queue_remote(lock, see, &seen, &problem));
    assert_int_equal(seen.count, 2);
    assert_string_equal(seen.owners[0], JAVA);
    assert_false(seen.ours[0]);
    assert_true(seen.ours[1]);
    seen = (struct seen){.stop_at = 1};
    assert_ok(hf_inspect_queue_remote(lock, see, &seen, &problem));
    assert_int_equal(seen.count, 1);
    assert_status(HF_INVALID, hf_inspect_queue_remote(a_lock(w, NAME), see,
                                                      &seen, &problem));
    assert_status(HF_INVALID,
                  hf_inspect_queue_remote(NULL, see, &seen, &problem));
    assert_status(HF_INVALID,
                  hf_inspect_queue_remote(lock, NULL, &seen, &problem));
    assert_ok(leave(lock, NULL));
    java_takes_its_turn(w);
    java_releases(w);
    caller_join(&ours.caller);
    assert_status(HF_OK, ours.caller.status);
}

/* T22, in little: takers, leavers and canceled ones by chance; at the end
 * nothing is left, and no score was ever further than it may be. */
struct churner {
    hf_lock *lock;
    struct hft_random random;
    pthread_t thread;
    int taken;
    int left;
};

static void *churn(void *argument)
{
    struct churner *churner = argument;

    for (int round = 0; round < 40; round++) {
        int64_t wait_ms = (int64_t)hft_random_below(&churner->random, 30);

        if (wait_up_to(churner->lock, NULL, wait_ms) == HF_OK) {
            churner->taken++;
            hft_let_pass_ms((int64_t)hft_random_below(&churner->random, 8));
            churner->left += leave(churner->lock, NULL) == HF_OK;
        }
    }
    return NULL;
}

static void a_lot_of_coming_and_going_leaves_nothing(void **world)
{
    struct world *w = *world;
    struct hft_random random = chance();
    struct churner churners[10];
    int taken = 0;

    for (size_t i = 0; i < 10; i++) {
        hf_client *client = i % 2 == 0 ? a_client(w) : w->client;

        churners[i] = (struct churner){.lock = a_fair_lock_of(w, client),
                                       .random = random};
        churners[i].random.state += i;
        assert_int_equal(
            pthread_create(&churners[i].thread, NULL, churn, &churners[i]), 0);
    }
    for (size_t i = 0; i < 10; i++) {
        pthread_join(churners[i].thread, NULL);
        taken += churners[i].taken;
        assert_int_equal(churners[i].left, churners[i].taken);
    }
    assert_true(taken > 10);
    assert_true(no_queue_is_left(w));
    assert_int_equal(hft_int(w->server, "DBSIZE"), 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        world_test(it_is_a_reentrant_lock),
        world_test(it_is_renewed_while_it_is_held),
        world_test(all_are_served_in_the_order_of_asking),
        world_test(the_end_of_a_lease_hands_it_on_in_order),
        world_test(who_waited_in_vain_leaves_nothing),
        world_test(who_gave_up_on_a_silent_server_leaves_nothing),
        world_test(who_is_cancelled_leaves_nothing),
        world_test(a_closed_client_leaves_no_waiters),
        world_test(a_release_after_the_end_of_the_lease_is_refused),
        world_test(a_forced_lock_goes_to_the_first_in_the_queue),
        world_test(a_closed_holder_hands_it_on),
        world_test(it_stands_in_one_queue_with_java),
        world_test(who_waits_behind_a_dead_head_does_not_spin),
        world_test(a_nonreentrant_one_refuses_its_own_owner),
        world_test(it_can_be_fenced),
        world_test(the_time_after_which_a_waiter_is_dead_is_an_option),
        world_test(options_out_of_range_are_refused),
        world_test(keys_of_another_type_are_refused),
        world_test(a_crowd_of_one_thread_is_served_in_the_order_of_its_calls),
        world_test(the_queue_can_be_looked_at),
        world_test(a_lot_of_coming_and_going_leaves_nothing),
    };

    return cmocka_run_group_tests(tests, world_up, world_down);
}
