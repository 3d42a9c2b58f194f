/* SPDX-License-Identifier: MIT */
/* test_lock_async.c - calls that return at once, and the callbacks that tell
 * how they ended: exactly once, later, never from inside the call, on the
 * client's callback thread or in hf_client_dispatch().
 *
 * Rows: PL-48, PL-54 (waiters), DESIGN 4 (callbacks, dispatch, fresh owners).
 */
#include "world.h"

#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define NAME "async"

/* What a callback was told; read when `calls` has been seen. */
struct told_done {
    hf_owner *owner;
    hf_lock *lock;
    pthread_t thread;
    atomic_int calls;
    hf_status status;
    hf_status error_status;
    bool inside_the_call; /* set by the test around the call */
    atomic_bool was_inside;
};

static void record_done(const hf_completion *done, void *context)
{
    struct told_done *told = context;

    told->status = done->status;
    told->error_status = done->error != NULL ? done->error->status : HF_OK;
    told->owner = done->owner;
    told->lock = done->lock;
    told->thread = pthread_self();
    if (told->inside_the_call) {
        atomic_store(&told->was_inside, true);
    }
    atomic_fetch_add(&told->calls, 1);
}

static bool is_told(void *told)
{
    return atomic_load(&((struct told_done *)told)->calls) > 0;
}

/* Wait for the callback; and a little more, in case it comes twice. */
static void assert_told_once(struct told_done *told, hf_status expected)
{
    assert_true(hft_wait_until(is_told, told, BOUND_MS));
    assert_status(expected, told->status);
    assert_int_equal(told->error_status, expected == HF_OK ? HF_OK : expected);
    assert_false(pthread_equal(told->thread, pthread_self()));
}

static void an_async_pair_with_a_fresh_owner(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    struct told_done taken = {0};
    struct told_done extended = {0};
    struct told_done left = {0};

    assert_ok(hf_lock_acquire_async(lock, NULL, record_done, &taken, &problem));
    assert_told_once(&taken, HF_OK);
    assert_ptr_equal(taken.lock, lock);
    assert_non_null(taken.owner);
    assert_true(hf_lock_is_held(lock, taken.owner));
    assert_false(hf_lock_is_held(lock, NULL));
    assert_ok(hf_lock_extend_async(lock, taken.owner, 60000, record_done,
                                   &extended, &problem));
    assert_told_once(&extended, HF_OK);
    assert_between(wire_ttl(w, NAME), 60000 - 2 * SLACK_MS, 60000);
    assert_ok(
        hf_lock_release_async(lock, taken.owner, record_done, &left, &problem));
    assert_told_once(&left, HF_OK);
    assert_ptr_equal(left.owner, taken.owner);
    assert_ok(hf_owner_free(taken.owner));
    hft_let_pass_ms(50);
    assert_int_equal(atomic_load(&taken.calls), 1);
    assert_int_equal(atomic_load(&extended.calls), 1);
    assert_int_equal(atomic_load(&left.calls), 1);
    assert_int_equal(wire_ttl(w, NAME), -2);
}

/* An owner that is given is the one that holds, and re-enters. */
static void an_async_acquire_uses_the_owner_it_is_given(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    struct told_done taken = {0};
    hf_owner *owner = an_owner(w);
    hf_acquire how = once(owner, 0);

    assert_ok(try_once(lock, owner));
    assert_ok(hf_lock_acquire_async(lock, &how, record_done, &taken, &problem));
    assert_told_once(&taken, HF_OK);
    assert_ptr_equal(taken.owner, owner);
    assert_int_equal(hf_lock_hold_count(lock, owner), 2);
    assert_ok(leave(lock, owner));
    assert_ok(leave(lock, owner));
}

/* A waiter of this kind occupies no thread, and ends as the others do. */
static void async_waits_end_busy_timed_out_or_held(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    struct told_done busy = {0};
    struct told_done late = {0};
    struct told_done held = {0};
    hf_acquire how = once(NULL, 0);

    stranger_takes(w, NAME, 600000);
    assert_ok(hf_lock_acquire_async(lock, &how, record_done, &busy, &problem));
    assert_told_once(&busy, HF_BUSY);
    assert_null(busy.owner);
    how.wait_ms = 200;
    assert_ok(hf_lock_acquire_async(lock, &how, record_done, &late, &problem));
    assert_told_once(&late, HF_TIMEOUT);
    how.wait_ms = HF_WAIT_FOREVER;
    assert_ok(hf_lock_acquire_async(lock, &how, record_done, &held, &problem));
    assert_true(waiters_become(w->client, 1, BOUND_MS));
    stranger_releases(w, NAME);
    assert_told_once(&held, HF_OK);
    assert_ok(leave(lock, held.owner));
    assert_ok(hf_owner_free(held.owner));
}

/* If the call itself fails, the callback never comes. */
static void a_refused_call_has_no_callback(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    struct told_done told = {0};
    hf_acquire how = once(NULL, HF_LEASE_MIN_MS - 1);

    assert_status(HF_INVALID, hf_lock_acquire_async(lock, &how, record_done,
                                                    &told, &problem));
    assert_status(HF_INVALID, hf_lock_release_async(lock, NULL, record_done,
                                                    &told, &problem));
    hft_let_pass_ms(50);
    assert_int_equal(atomic_load(&told.calls), 0);
}

/* What is asked of a lock that is not held comes back as what the blocking
 * form would say: by the callback, or at once and then without one. */
static void an_async_release_of_what_is_not_held_says_so(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    struct told_done told = {0};
    hf_owner *owner = an_owner(w);
    hf_status status = hf_lock_release_async(lock, owner, record_done, &told,
                                             &problem);

    if (status == HF_OK) {
        assert_told_once(&told, HF_NOT_OWNER);
    } else {
        assert_status(HF_NOT_OWNER, status);
        hft_let_pass_ms(50);
        assert_int_equal(atomic_load(&told.calls), 0);
    }
}

static void an_async_forced_release_frees_it(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    struct told_done told = {0};
    struct told_done again = {0};

    stranger_takes(w, NAME, 600000);
    assert_ok(hf_lock_force_release_async(lock, STRANGER, record_done, &told,
                                          &problem));
    assert_told_once(&told, HF_OK);
    assert_int_equal(wire_ttl(w, NAME), -2);
    assert_ok(
        hf_lock_force_release_async(lock, NULL, record_done, &again, &problem));
    assert_told_once(&again, HF_NOT_OWNER);
}

/* ---- what a callback may do ---------------------------------------------- */

struct in_callback {
    hf_client *client;
    hf_lock *lock;
    hf_lock *other;
    hf_owner *owner;
    hf_status acquire;
    hf_status release;
    hf_status close;
    hf_status export_it;
    bool held;
    int64_t count;
    struct told_done next;
    atomic_int done;
};

static void try_everything(const hf_completion *done, void *context)
{
    struct in_callback *all = context;
    hf_acquire how = once(NULL, 0);
    char *handle = NULL;

    all->owner = done->owner;
    all->held = hf_lock_is_held(all->lock, done->owner);
    all->count = hf_lock_hold_count(all->lock, done->owner);
    all->acquire = hf_lock_acquire(all->other, NULL, NULL);
    all->release = hf_lock_release(all->lock, done->owner, NULL);
    all->close = hf_client_close(all->client);
    all->export_it = hf_lock_export(all->lock, done->owner, &handle, NULL);
    (void)hf_lock_acquire_async(all->other, &how, record_done, &all->next,
                                NULL);
    atomic_store(&all->done, 1);
}

static bool all_was_tried(void *all)
{
    return atomic_load(&((struct in_callback *)all)->done) == 1;
}

/* Local answers and asynchronous calls: yes.  What blocks: refused. */
static void a_callback_may_ask_and_start_but_not_block(void **world)
{
    struct world *w = *world;
    struct in_callback all = {.client = w->client,
                              .lock = a_lock(w, NAME),
                              .other = a_lock(w, "other")};

    assert_ok(
        hf_lock_acquire_async(all.lock, NULL, try_everything, &all, &problem));
    assert_true(hft_wait_until(all_was_tried, &all, BOUND_MS));
    assert_true(all.held);
    assert_int_equal(all.count, 1);
    assert_status(HF_IN_CALLBACK, all.acquire);
    assert_status(HF_IN_CALLBACK, all.release);
    assert_status(HF_IN_CALLBACK, all.close);
    assert_status(HF_IN_CALLBACK, all.export_it);
    assert_told_once(&all.next, HF_OK);
    assert_true(hf_lock_is_held(all.lock, all.owner));
    assert_ok(leave(all.lock, all.owner));
    assert_ok(leave(all.other, all.next.owner));
    assert_ok(hf_owner_free(all.owner));
    assert_ok(hf_owner_free(all.next.owner));
}

/* ---- event loops --------------------------------------------------------- */

static bool readable_within(int descriptor, int bound_ms)
{
    struct pollfd polled = {descriptor, POLLIN, 0};

    return poll(&polled, 1, bound_ms) == 1;
}

/* One descriptor to watch, one call that runs what is due on this thread. */
static void callbacks_run_in_dispatch_and_nowhere_else(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    struct told_done taken = {0};
    struct told_done left = {0};
    int descriptor = hf_client_fd(w->client);

    assert_true(descriptor >= 0);
    assert_int_equal(hf_client_fd(w->client), descriptor);
    assert_false(readable_within(descriptor, 0));
    taken.inside_the_call = true;
    assert_ok(hf_lock_acquire_async(lock, NULL, record_done, &taken, &problem));
    taken.inside_the_call = false;
    assert_false(atomic_load(&taken.was_inside));
    assert_true(readable_within(descriptor, BOUND_MS));
    hft_let_pass_ms(50);
    assert_int_equal(atomic_load(&taken.calls), 0);
    assert_int_equal(hf_client_dispatch(w->client), 1);
    assert_int_equal(atomic_load(&taken.calls), 1);
    assert_true(pthread_equal(taken.thread, pthread_self()));
    assert_false(readable_within(descriptor, 0));
    assert_int_equal(hf_client_dispatch(w->client), 0);
    assert_ok(
        hf_lock_release_async(lock, taken.owner, record_done, &left, &problem));
    assert_true(readable_within(descriptor, BOUND_MS));
    assert_int_equal(hf_client_dispatch(w->client), 1);
    assert_status(HF_OK, left.status);
    assert_ok(hf_owner_free(taken.owner));
}

/* on_lost comes by the same way; and the local answer does not wait for it. */
static void a_loss_is_told_in_dispatch_as_well(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    int descriptor = hf_client_fd(w->client);
    struct told told = {0};
    hf_acquire how = once(NULL, 200);

    how.renew = 0;
    how.on_lost = record_lost;
    how.context = &told;
    assert_ok(take(lock, NULL, &how)); /* a blocking call in between is fine */
    assert_true(readable_within(descriptor, BOUND_MS));
    assert_false(hf_lock_is_held(lock, NULL));
    assert_int_equal(told_so_far(&told).losses, 0);
    while (hf_client_dispatch(w->client) > 0) {
    }
    assert_int_equal(told_so_far(&told).losses, 1);
    assert_status(HF_LOST, leave(lock, NULL));
}

enum { MANY = 200 };

struct order {
    int next;
    bool in_order;
};

static struct order order;

static void note_order(const hf_completion *done, void *context)
{
    (void)done;
    order.in_order = order.in_order && *(int *)context == order.next;
    order.next++;
}

/* In the order of their causes: releases of one owner, one after another. */
static void callbacks_come_in_the_order_of_their_causes(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    hf_owner *owner = an_owner(w);
    int descriptor = hf_client_fd(w->client);
    int numbers[MANY];
    int64_t end_ms;
    int i;

    order.next = 0;
    order.in_order = true;
    for (i = 0; i < MANY; i++) {
        assert_ok(try_fixed(lock, owner, 60000));
    }
    for (i = 0; i < MANY; i++) {
        numbers[i] = i;
        assert_ok(hf_lock_release_async(lock, owner, note_order, &numbers[i],
                                        &problem));
    }
    end_ms = hft_now_ms() + BOUND_MS;
    while (order.next < MANY && hft_now_ms() < end_ms) {
        (void)readable_within(descriptor, 100);
        (void)hf_client_dispatch(w->client);
    }
    assert_int_equal(order.next, MANY);
    assert_true(order.in_order);
    assert_int_equal(wire_ttl(w, NAME), -2);
}

/* PL-54: closing ends the waiters with "closed", by their callbacks, before it
 * returns; later calls are refused. */
static void closing_calls_every_callback_before_it_returns(void **world)
{
    enum { WAITERS = 50 };
    struct world *w = *world;
    hf_client *client = a_client(w);
    hf_lock *lock = a_lock_of(w, client, NAME);
    struct told_done told[WAITERS];
    int i;

    memset(told, 0, sizeof(told));
    stranger_takes(w, NAME, 600000);
    for (i = 0; i < WAITERS; i++) {
        assert_ok(
            hf_lock_acquire_async(lock, NULL, record_done, &told[i], &problem));
    }
    assert_true(waiters_become(client, WAITERS, BOUND_MS));
    w->more_client_count--;
    assert_ok(hf_client_close(client));
    for (i = 0; i < WAITERS; i++) {
        assert_int_equal(atomic_load(&told[i].calls), 1);
        assert_true(told[i].status == HF_CLOSED ||
                    told[i].status == HF_UNKNOWN);
        assert_null(told[i].owner);
    }
    assert_string_equal(wire_owner(w, NAME), STRANGER);
}

/* With a descriptor, close runs what is due itself. */
static void closing_runs_what_dispatch_has_not(void **world)
{
    struct world *w = *world;
    hf_client *client = a_client(w);
    hf_lock *lock = a_lock_of(w, client, NAME);
    struct told_done told = {0};
    int descriptor = hf_client_fd(client);

    stranger_takes(w, NAME, 600000);
    assert_ok(hf_lock_acquire_async(lock, NULL, record_done, &told, &problem));
    assert_true(waiters_become(client, 1, BOUND_MS));
    assert_true(descriptor >= 0);
    w->more_client_count--;
    assert_ok(hf_client_close(client));
    assert_int_equal(atomic_load(&told.calls), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        world_test(an_async_pair_with_a_fresh_owner),
        world_test(an_async_acquire_uses_the_owner_it_is_given),
        world_test(async_waits_end_busy_timed_out_or_held),
        world_test(a_refused_call_has_no_callback),
        world_test(an_async_release_of_what_is_not_held_says_so),
        world_test(an_async_forced_release_frees_it),
        world_test(a_callback_may_ask_and_start_but_not_block),
        world_test(callbacks_run_in_dispatch_and_nowhere_else),
        world_test(a_loss_is_told_in_dispatch_as_well),
        world_test(callbacks_come_in_the_order_of_their_causes),
        world_test(closing_calls_every_callback_before_it_returns),
        world_test(closing_runs_what_dispatch_has_not),
    };

    return cmocka_run_group_tests_name("lock_async", tests, world_up,
                                       world_down);
}
