/* SPDX-License-Identifier: MIT */
/* test_lock_spin.c - the lock whose waiters ask again by a back-off.
 *
 * On the wire it is the plain lock, and excludes it.
 * Rows: SP-01 to SP-05, SP-07 to SP-23, 17.47.
 */
#include "world.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>

#include "base/clock.h"

#define NAME "spun"
#define CHANNEL "redisson_lock__channel:{spun}"

static hf_lock *a_spin_as(struct world *w, hf_backoff backoff, int64_t first_ms,
                          int64_t max_ms)
{
    hf_lock_options options = HF_LOCK_OPTIONS_INIT;
    hf_lock *lock;

    options.kind = HF_KIND_SPIN;
    options.backoff = backoff;
    options.backoff_first_ms = first_ms;
    options.backoff_max_ms = max_ms;
    assert_ok(hf_lock_new_as(w->client, &options, NAME, strlen(NAME), &lock,
                             &problem));
    keep_lock(w, lock);
    return lock;
}

static hf_lock *a_spin(struct world *w)
{
    hf_lock *lock;

    assert_ok(hf_spin_lock_new(w->client, NAME, &lock, &problem));
    keep_lock(w, lock);
    return lock;
}

/* SP-08, SP-13 to SP-15. */
static void held_without_contention_it_is_the_plain_lock(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_spin(w);
    hf_owner *other = an_owner(w);

    assert_ok(try_once(lock, NULL));
    assert_ok(try_once(lock, NULL));
    assert_int_equal(hf_lock_hold_count(lock, NULL), 2);
    assert_int_equal(wire_count(w, NAME), 2);
    assert_status(HF_NOT_OWNER, leave(lock, other));
    assert_status(HF_BUSY, try_once(a_lock(w, NAME), other));
    assert_ok(leave(lock, NULL));
    assert_status(HF_BUSY, try_once(lock, other));
    assert_ok(leave(lock, NULL));
    assert_ok(try_once(lock, other));
    assert_ok(leave(lock, other));
}

/* SP-02, SP-21: never later than its wait, however long the pauses are. */
static void a_wait_ends_on_time_whatever_the_backoff(void **world)
{
    struct world *w = *world;
    static const hf_backoff backoffs[] = {
        HF_BACKOFF_EXPONENTIAL, HF_BACKOFF_CONSTANT, HF_BACKOFF_DECORRELATED};

    stranger_takes(w, NAME, 60000);
    for (size_t i = 0; i < 3; i++) {
        hf_lock *lock = a_spin_as(w, backoffs[i], 400, 60000);
        int64_t begun = hfi_clock_ms();

        assert_status(HF_TIMEOUT, wait_up_to(lock, NULL, 300));
        assert_between(hfi_clock_ms() - begun, 300, 300 + SLACK_MS);
    }
}

/* A waiter listens to nothing: no channel, and each pause costs one script. */
static void a_waiter_subscribes_to_nothing(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_spin_as(w, HF_BACKOFF_CONSTANT, 20, 20);
    struct caller caller = {.hold_ms = 0};
    int64_t before;

    stranger_takes(w, NAME, 60000);
    before = stats_of(w->client).scripts_sent;
    caller_start(&caller, lock, HF_WAIT_FOREVER);
    assert_true(scripts_reach(w->client, before + 5, BOUND_MS));
    assert_int_equal(hft_channels(w->server, "*"), 0);
    stranger_vanishes(w, NAME);
    caller_join(&caller);
    assert_status(HF_OK, caller.status);
}

/* SP-05: at the end of the lease, a pause later at most. */
static void it_is_had_a_pause_after_the_holders_lease_ended(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_spin(w);
    int64_t begun = hfi_clock_ms();

    stranger_takes(w, NAME, 300);
    assert_ok(wait_up_to(lock, NULL, 10000));
    assert_between(hfi_clock_ms() - begun, 290, 300 + 128 + SLACK_MS);
    assert_ok(leave(lock, NULL));
}

/* 17.47: a plain waiter is woken by the release of a spin lock; Redisson's
 * sleeps until the lease has ended. */
static void its_release_wakes_a_plain_waiter(void **world)
{
    struct world *w = *world;
    hf_client *other = a_client(w);
    hf_lock *spin = a_spin(w);
    hf_lock *plain = a_lock_of(w, other, NAME);
    struct caller caller = {.hold_ms = 0};

    assert_ok(try_once(spin, NULL));
    caller_start(&caller, plain, HF_WAIT_FOREVER);
    assert_true(hft_wait_channels(w->server, 1, BOUND_MS));
    assert_ok(leave(spin, NULL));
    caller_join(&caller);
    assert_status(HF_OK, caller.status);
    assert_int_equal(hft_subscribers(w->server, CHANNEL), 0);
}

/* SP-04. */
static void a_forced_release_frees_it(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_spin(w);
    hf_owner *other = an_owner(w);

    assert_ok(try_once(lock, other));
    assert_ok(hf_lock_force_release(lock, NULL, &problem));
    assert_int_equal(wire_ttl(w, NAME), -2);
}

static void a_local_holder_is_waited_for_with_few_scripts(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_spin_as(w, HF_BACKOFF_CONSTANT, 1, 1);
    hf_owner *other = an_owner(w);
    struct caller caller = {.hold_ms = 0};
    int64_t before;

    assert_ok(try_once(lock, other));
    before = stats_of(w->client).scripts_sent;
    assert_status(HF_TIMEOUT, wait_up_to(lock, NULL, 200));
    assert_between(stats_of(w->client).scripts_sent - before, 0, 3);
    caller_start(&caller, lock, HF_WAIT_FOREVER);
    assert_true(waiters_become(w->client, 1, BOUND_MS));
    assert_ok(leave(lock, other));
    caller_join(&caller);
    assert_status(HF_OK, caller.status);
}

static void a_cancelled_wait_leaves_nothing(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_spin(w);
    hf_cancel *cancel = a_cancel(w);
    struct caller caller = {.hold_ms = 0};
    hf_acquire how = HF_ACQUIRE_INIT;
    int64_t before;

    stranger_takes(w, NAME, 60000);
    before = stats_of(w->client).scripts_sent;
    how.cancel = cancel;
    caller_start_as(&caller, lock, &how);
    assert_true(scripts_reach(w->client, before + 3, BOUND_MS));
    hf_cancel_fire(cancel);
    caller_join(&caller);
    assert_true(caller.status == HF_CANCELLED || caller.status == HF_UNKNOWN);
    assert_true(endings_become(w->client, 0, BOUND_MS));
    assert_int_equal(wire_fields(w, NAME), 1);
}

/* ---- asynchronous ---- */

struct ended {
    pthread_mutex_t mutex;
    bool has;
    hf_status status;
    hf_owner *owner;
};

static void on_ended(const hf_completion *done, void *context)
{
    struct ended *ended = context;

    pthread_mutex_lock(&ended->mutex);
    ended->status = done->status;
    ended->owner = done->owner;
    ended->has = true;
    pthread_mutex_unlock(&ended->mutex);
}

static bool has_ended(void *context)
{
    struct ended *ended = context;
    bool has;

    pthread_mutex_lock(&ended->mutex);
    has = ended->has;
    pthread_mutex_unlock(&ended->mutex);
    return has;
}

/* SP-19, SP-20, SP-22, SP-23. */
static void an_asynchronous_wait_ends_when_it_is_free(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_spin(w);
    struct ended ended = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    struct ended tried = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    hf_acquire how = HF_ACQUIRE_INIT;

    stranger_takes(w, NAME, 60000);
    how.wait_ms = 0;
    assert_ok(hf_lock_acquire_async(lock, &how, on_ended, &tried, &problem));
    assert_true(hft_wait_until(has_ended, &tried, BOUND_MS));
    assert_status(HF_BUSY, tried.status);
    how.wait_ms = 10000;
    assert_ok(hf_lock_acquire_async(lock, &how, on_ended, &ended, &problem));
    assert_true(waiters_become(w->client, 1, BOUND_MS));
    assert_false(has_ended(&ended));
    stranger_releases(w, NAME);
    assert_true(hft_wait_until(has_ended, &ended, BOUND_MS));
    assert_status(HF_OK, ended.status);
    keep_owner(w, ended.owner);
    assert_ok(leave(lock, ended.owner));
}

/* ---- many at once ---- */

#define THREADS 15

/* SP-09 to SP-12. */
static void it_is_seen_as_any_lock(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_spin(w);
    hf_lock *plain = a_lock_of(w, a_client(w), NAME);
    hf_owner *other = an_owner(w);
    hf_lock_info info = HF_LOCK_INFO_INIT;

    assert_ok(hf_inspect_remote(plain, &info, &problem));
    assert_false(info.locked);
    assert_ok(try_once(lock, NULL));
    assert_true(hf_lock_is_held(lock, NULL));
    assert_false(hf_lock_is_held(lock, other));
    assert_ok(hf_inspect_remote(plain, &info, &problem));
    assert_true(info.locked);
    assert_int_equal(info.count, 1);
    assert_ok(leave(lock, NULL));
    assert_false(hf_lock_is_held(lock, NULL));
    assert_ok(hf_inspect_remote(plain, &info, &problem));
    assert_false(info.locked);
}

static atomic_int signals_seen;

static void note_signal(int number)
{
    (void)number;
    atomic_fetch_add(&signals_seen, 1);
}

static bool signal_was_seen(void *before)
{
    return atomic_load(&signals_seen) > *(int *)before;
}

/* SP-03: unlike there, a signal does not end the wait. */
static void a_signal_does_not_end_a_wait(void **world)
{
    struct sigaction action = {.sa_handler = note_signal};
    struct world *w = *world;
    struct caller waiter = {.hold_ms = 0};

    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
    stranger_takes(w, NAME, 600000);
    caller_start(&waiter, a_spin(w), HF_WAIT_FOREVER);
    assert_true(waiters_become(w->client, 1, BOUND_MS));
    for (int i = 0; i < 50; i++) {
        int before = atomic_load(&signals_seen);

        assert_int_equal(pthread_kill(waiter.thread, SIGUSR1), 0);
        assert_true(hft_wait_until(signal_was_seen, &before, BOUND_MS));
    }
    assert_int_equal(stats_of(w->client).waiters, 1);
    stranger_releases(w, NAME);
    caller_join(&waiter);
    assert_status(HF_OK, waiter.status);
    assert_status(HF_OK, waiter.release_status);
}

/* SP-01. */
static void without_a_server_it_is_unreachable(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_spin(w);

    hft_server_stop(w->server);
    assert_status(HF_UNREACHABLE, try_once(lock, NULL));
    assert_status(HF_UNREACHABLE, wait_up_to(lock, NULL, 700));
    hft_server_start_again(w->server);
    assert_ok(wait_up_to(lock, NULL, BOUND_MS));
    assert_ok(leave(lock, NULL));
}

/* SP-07: a client that is closed releases; the watchdog had kept it. */
static void a_closed_client_leaves_it_free(void **world)
{
    struct world *w = *world;
    hf_client *client = a_client(w);
    hf_lock *lock = a_kind_of_lock(w, client, HF_KIND_SPIN, NAME);

    assert_ok(try_once(lock, an_owner_of(w, client)));
    hft_let_pass_ms(W_MS + W_MS / 2);
    assert_true(wire_ttl(w, NAME) > 0);
    close_clients(w);
    assert_true(wire_free_within(w, NAME, 0));
}

#define CLIENTS 40

/* SP-18: forty clients, each once. */
static void many_clients_take_turns(void **world)
{
    static struct caller callers[CLIENTS];
    struct world *w = *world;

    for (int i = 0; i < CLIENTS; i++) {
        callers[i] = (struct caller){.hold_ms = i % 4};
        caller_start(&callers[i],
                     a_kind_of_lock(w, a_client(w), HF_KIND_SPIN, NAME), 60000);
    }
    for (int i = 0; i < CLIENTS; i++) {
        caller_join(&callers[i]);
        assert_status(HF_OK, callers[i].status);
        assert_status(HF_OK, callers[i].release_status);
    }
    assert_true(wire_free_within(w, NAME, 0));
}

struct count {
    hf_lock *lock;
    int total; /* guarded by the lock */
};

static void *add_ten(void *context)
{
    struct count *count = context;

    for (int i = 0; i < 10; i++) {
        if (wait_up_to(count->lock, NULL, 60000) == HF_OK) {
            count->total++;
            leave(count->lock, NULL);
        }
    }
    return NULL;
}

/* SP-16. */
static void no_two_of_many_threads_are_in_it(void **world)
{
    struct count count = {.lock = a_spin(*world)};
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, add_ten, &count), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    assert_int_equal(count.total, 10 * THREADS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        world_test(held_without_contention_it_is_the_plain_lock),
        world_test(a_wait_ends_on_time_whatever_the_backoff),
        world_test(a_waiter_subscribes_to_nothing),
        world_test(it_is_had_a_pause_after_the_holders_lease_ended),
        world_test(its_release_wakes_a_plain_waiter),
        world_test(a_forced_release_frees_it),
        world_test(a_local_holder_is_waited_for_with_few_scripts),
        world_test(a_cancelled_wait_leaves_nothing),
        world_test(an_asynchronous_wait_ends_when_it_is_free),
        world_test(no_two_of_many_threads_are_in_it),
        world_test(it_is_seen_as_any_lock),
        world_test(a_signal_does_not_end_a_wait),
        world_test(without_a_server_it_is_unreachable),
        world_test(a_closed_client_leaves_it_free),
        world_test(many_clients_take_turns),
    };

    return cmocka_run_group_tests_name("lock_spin", tests, world_up,
                                       world_down);
}
