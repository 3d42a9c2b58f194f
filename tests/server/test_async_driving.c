/* SPDX-License-Identifier: MIT */
/* test_async_driving.c - the thread of callbacks drives for the calls whose
 * callbacks it runs (docs/design/driving.md), and gives way where it is busy.
 *
 * Rows: DESIGN 4 (a slow callback delays callbacks only), T20.
 */
#include "world.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- tasks without threads ---- */

enum { TASKS = 64, PAIRS = 25 };

struct task {
    hf_lock *lock;
    hf_owner *owner;
    bool held;
    int pairs;
    atomic_int *ended;
    atomic_int *failed;
};

static void step(const hf_completion *done, void *context);

static void next_call(struct task *task)
{
    hf_acquire how = once(task->owner, 0);
    hf_status status;

    if (task->pairs == PAIRS) {
        atomic_fetch_add(task->ended, 1);
        return;
    }
    status = task->held
                 ? hf_lock_release_async(task->lock, task->owner, step, task,
                                         NULL)
                 : hf_lock_acquire_async(task->lock, &how, step, task, NULL);
    if (status != HF_OK) {
        atomic_fetch_add(task->failed, 1);
        atomic_fetch_add(task->ended, 1);
    }
}

static void step(const hf_completion *done, void *context)
{
    struct task *task = context;

    if (done->status != HF_OK) {
        atomic_fetch_add(task->failed, 1);
    }
    task->pairs += task->held ? 1 : 0;
    task->held = !task->held;
    next_call(task);
}

static bool all_ended(void *ended)
{
    return atomic_load((atomic_int *)ended) == TASKS;
}

static void run_tasks(struct world *w, hf_kind kind)
{
    struct task tasks[TASKS];
    atomic_int ended = 0;
    atomic_int failed = 0;
    char name[32];

    memset(tasks, 0, sizeof(tasks));
    for (int i = 0; i < TASKS; i++) {
        snprintf(name, sizeof(name), "task%d", i);
        tasks[i].lock = a_kind_of_lock(w, w->client, kind, name);
        tasks[i].owner = an_owner(w);
        tasks[i].ended = &ended;
        tasks[i].failed = &failed;
        next_call(&tasks[i]);
    }
    assert_true(hft_wait_until(all_ended, &ended, BOUND_MS));
    assert_int_equal(atomic_load(&failed), 0);
    for (int i = 0; i < TASKS; i++) {
        assert_int_equal(tasks[i].pairs, PAIRS);
        assert_false(tasks[i].held);
    }
    assert_int_equal(hft_int(w->server, "DBSIZE"), 0);
}

static void tasks_share_one_thread_and_one_link(void **world)
{
    struct world *w = *world;
    hf_stats stats;

    run_tasks(w, HF_KIND_LOCK);
    run_tasks(w, HF_KIND_TOKEN);
    stats = stats_of(w->client);
    /* What sixty-four callbacks ask for does not leave one by one. */
    assert_true(stats.writes < 2 * 2 * TASKS * PAIRS);
}

/* ---- releases that leave as one ---- */

enum { LOCKS = 12 };

struct burst {
    hf_lock *locks[LOCKS];
    hf_status status[LOCKS];
    hf_owner *owner;
    atomic_int done;
};

struct burst_item {
    struct burst *burst;
    int i;
};

static void note_released(const hf_completion *done, void *context)
{
    const struct burst_item *item = context;

    item->burst->status[item->i] = done->status;
    atomic_fetch_add(&item->burst->done, 1);
}

struct start {
    struct burst *burst;
    struct burst_item items[LOCKS];
};

/* From a callback: so they gather until its thread drives again. */
static void release_all(const hf_completion *done, void *context)
{
    struct start *start = context;

    (void)done;
    for (int i = 0; i < LOCKS; i++) {
        start->items[i].burst = start->burst;
        start->items[i].i = i;
        if (hf_lock_release_async(start->burst->locks[i], start->burst->owner,
                                  note_released, &start->items[i],
                                  NULL) != HF_OK) {
            atomic_fetch_add(&start->burst->done, LOCKS);
        }
    }
}

static bool burst_is_done(void *burst)
{
    return atomic_load(&((struct burst *)burst)->done) >= LOCKS;
}

static int64_t scripts_run(struct world *w)
{
    const char *stats = hft_str(w->server, "INFO commandstats");
    const char *at = strstr(stats, "cmdstat_evalsha:calls=");
    const char *text = strstr(stats, "cmdstat_eval:calls=");
    int64_t count = 0;

    count += at == NULL ? 0 : strtoll(strchr(at, '=') + 1, NULL, 10);
    count += text == NULL ? 0 : strtoll(strchr(text, '=') + 1, NULL, 10);
    return count;
}

static void take_all(struct world *w, struct burst *burst)
{
    char name[32];

    for (int i = 0; i < LOCKS; i++) {
        if (burst->locks[i] == NULL) {
            snprintf(name, sizeof(name), "burst%d", i);
            burst->locks[i] = a_kind_of_lock(w, w->client, HF_KIND_TOKEN, name);
        }
        assert_ok(try_fixed(burst->locks[i], burst->owner, 60000));
    }
    atomic_store(&burst->done, 0);
}

/* A callback that comes by way of the link, and then a burst out of it. */
static void burst_out(struct world *w, struct burst *burst)
{
    struct start start = {.burst = burst};

    assert_ok(hf_lock_force_release_async(a_lock(w, "nobody's"), NULL,
                                          release_all, &start, &problem));
    assert_true(hft_wait_until(burst_is_done, burst, BOUND_MS));
    assert_int_equal(atomic_load(&burst->done), LOCKS);
}

/* spec: token/release-3. */
static void releases_of_one_write_are_one_script(void **world)
{
    struct world *w = *world;
    struct burst burst = {.owner = an_owner(w)};
    int64_t before;

    if (strstr(hft_str(w->server, "COMMAND INFO DELIFEQ DELEX"), "del") !=
        NULL) {
        skip(); /* bare commands there */
    }
    take_all(w, &burst);
    burst_out(w, &burst); /* the scripts are known from here on */
    take_all(w, &burst);
    before = scripts_run(w);
    burst_out(w, &burst);
    assert_true(scripts_run(w) - before <= 4);
    for (int i = 0; i < LOCKS; i++) {
        assert_status(HF_OK, burst.status[i]);
    }
    assert_int_equal(hft_int(w->server, "DBSIZE"), 0);
}

/* spec: token/release-3.  Each has a result of its own. */
static void one_that_is_gone_or_something_else_harms_no_other(void **world)
{
    struct world *w = *world;
    struct burst burst = {.owner = an_owner(w)};

    take_all(w, &burst);
    assert_int_equal(hft_int(w->server, "DEL burst3 burst7"), 2);
    assert_int_equal(hft_int(w->server, "HSET burst7 x y"), 1);
    burst_out(w, &burst);
    for (int i = 0; i < LOCKS; i++) {
        assert_status(i == 3 || i == 7 ? HF_GONE : HF_OK, burst.status[i]);
    }
    assert_int_equal(hft_int(w->server, "DBSIZE"), 1);
    assert_int_equal(hft_int(w->server, "DEL burst7"), 1);
}

/* The text that is missing goes along with the next. */
static void a_flush_in_between_is_unnoticed(void **world)
{
    struct world *w = *world;
    struct burst burst = {.owner = an_owner(w)};

    take_all(w, &burst);
    burst_out(w, &burst);
    take_all(w, &burst);
    assert_string_equal(hft_str(w->server, "SCRIPT FLUSH"), "OK");
    burst_out(w, &burst);
    for (int i = 0; i < LOCKS; i++) {
        assert_status(HF_OK, burst.status[i]);
    }
}

/* ---- a callback that takes its time ---- */

struct slow {
    hf_lock *first;
    hf_lock *second;
    sem_t may_end;
    atomic_int inside; /* it asked for the second lock, and stays */
    atomic_int second_told;
    hf_owner *first_owner;
    hf_owner *second_owner;
};

static void second_is_held(const hf_completion *done, void *context)
{
    struct slow *slow = context;

    slow->second_owner = done->owner;
    atomic_fetch_add(&slow->second_told, 1);
}

static void ask_and_stay(const hf_completion *done, void *context)
{
    struct slow *slow = context;

    slow->first_owner = done->owner;
    (void)hf_lock_acquire_async(slow->second, NULL, second_is_held, slow, NULL);
    atomic_store(&slow->inside, 1);
    while (sem_wait(&slow->may_end) != 0) {
    }
}

static void nothing_to_do(const hf_completion *done, void *context)
{
    (void)done;
    atomic_fetch_add((atomic_int *)context, 1);
}

static bool is_one(void *number)
{
    return atomic_load((atomic_int *)number) == 1;
}

/* The thread of callbacks runs, has the link, and is in a callback that has
 * just asked for something. */
static void begin_slow(struct world *w, hf_client *client, struct slow *slow)
{
    atomic_int once_told = 0;

    memset(slow, 0, sizeof(*slow));
    assert_int_equal(sem_init(&slow->may_end, 0, 0), 0);
    slow->first = a_lock_of(w, client, "first");
    slow->second = a_lock_of(w, client, "second");
    assert_ok(hf_lock_force_release_async(slow->first, NULL, nothing_to_do,
                                          &once_told, &problem));
    assert_true(hft_wait_until(is_one, &once_told, BOUND_MS));
    assert_ok(
        hf_lock_acquire_async(slow->first, NULL, ask_and_stay, slow, &problem));
    assert_true(hft_wait_until(is_one, &slow->inside, BOUND_MS));
}

static void end_slow(struct slow *slow)
{
    assert_int_equal(atomic_load(&slow->second_told), 0);
    assert_int_equal(sem_post(&slow->may_end), 0);
    assert_true(hft_wait_until(is_one, &slow->second_told, BOUND_MS));
    assert_ok(leave(slow->first, slow->first_owner));
    assert_ok(leave(slow->second, slow->second_owner));
    assert_ok(hf_owner_free(slow->first_owner));
    assert_ok(hf_owner_free(slow->second_owner));
    assert_int_equal(sem_destroy(&slow->may_end), 0);
}

struct held_on_server {
    struct world *world;
    const char *name;
};

static bool is_held_on_server(void *context)
{
    const struct held_on_server *held = context;

    return wire_fields(held->world, held->name) == 1;
}

/* What it asked for is asked nevertheless: the keeper takes the link over. */
static void what_a_slow_callback_asked_for_is_asked(void **world)
{
    struct world *w = *world;
    struct held_on_server held = {w, "second"};
    struct slow slow;

    begin_slow(w, w->client, &slow);
    assert_true(hft_wait_until(is_held_on_server, &held, BOUND_MS));
    end_slow(&slow);
}

static void note_told(const hf_completion *done, void *context)
{
    (void)done;
    atomic_fetch_add(&((struct slow *)context)->second_told, 1);
}

static void give_back_and_stay(const hf_completion *done, void *context)
{
    struct slow *slow = context;

    slow->first_owner = done->owner;
    (void)hf_lock_release_async(slow->first, done->owner, note_told, slow,
                                NULL);
    atomic_store(&slow->inside, 1);
    while (sem_wait(&slow->may_end) != 0) {
    }
}

static bool is_free_on_server(void *context)
{
    const struct held_on_server *held = context;

    return hft_int(held->world->server, "EXISTS %s", held->name) == 0;
}

/* ... within milliseconds: the keeper, which sleeps for up to a second, hears of
 * it.  Of several tries the best counts, for the machine may be busy. */
static void what_a_slow_callback_asked_for_is_asked_soon(void **world)
{
    struct world *w = *world;
    struct held_on_server held = {w, "first"};
    struct slow slow = {.first = a_lock(w, "first")};
    hf_acquire how = once(an_owner(w), 60000); /* no renewal wakes it */
    int64_t shortest_ms = INT64_MAX;
    int64_t began_ms, took_ms;

    assert_int_equal(sem_init(&slow.may_end, 0, 0), 0);
    for (int i = 0; i < 3; i++) {
        atomic_store(&slow.inside, 0);
        atomic_store(&slow.second_told, 0);
        assert_ok(hf_lock_acquire_async(slow.first, &how, give_back_and_stay,
                                        &slow, &problem));
        assert_true(hft_wait_until(is_one, &slow.inside, BOUND_MS));
        began_ms = hft_now_ms();
        assert_true(hft_wait_until(is_free_on_server, &held, BOUND_MS));
        took_ms = hft_now_ms() - began_ms;
        shortest_ms = took_ms < shortest_ms ? took_ms : shortest_ms;
        assert_int_equal(sem_post(&slow.may_end), 0);
        assert_true(hft_wait_until(is_one, &slow.second_told, BOUND_MS));
    }
    assert_int_equal(sem_destroy(&slow.may_end), 0);
    assert_true(shortest_ms < 500);
}

/* ... and a thread that calls takes it at once. */
static void a_slow_callback_delays_no_call_of_a_thread(void **world)
{
    struct world *w = *world;
    hf_lock *other = a_lock(w, "other");
    struct slow slow;

    begin_slow(w, w->client, &slow);
    for (int i = 0; i < 100; i++) {
        assert_ok(try_once(other, NULL));
        assert_ok(leave(other, NULL));
    }
    end_slow(&slow);
}

static void *close_it(void *client)
{
    return hf_client_close(client) == HF_OK ? client : NULL;
}

static bool says_closed(void *lock)
{
    return hf_lock_acquire(lock, NULL, NULL) == HF_CLOSED;
}

/* Closing has the link taken from it, and then waits for its end. */
static void closing_waits_for_a_slow_callback(void **world)
{
    struct world *w = *world;
    hf_client *client = a_client(w);
    struct slow slow;
    pthread_t closer;
    void *closed;

    begin_slow(w, client, &slow);
    w->more_client_count--;
    assert_int_equal(pthread_create(&closer, NULL, close_it, client), 0);
    assert_true(hft_wait_until(says_closed, slow.first, BOUND_MS));
    assert_int_equal(sem_post(&slow.may_end), 0);
    assert_int_equal(pthread_join(closer, &closed), 0);
    assert_ptr_equal(closed, client);
    assert_int_equal(atomic_load(&slow.second_told), 1);
    assert_int_equal(sem_destroy(&slow.may_end), 0);
    (void)hf_owner_free(slow.first_owner);
    (void)hf_owner_free(slow.second_owner);
    assert_int_equal(hft_int(w->server, "EXISTS first second"), 0);
}

/* A program that takes the descriptor later has its callbacks there, and the
 * thread, which may be driving just then, leaves the link. */
static void the_thread_gives_way_to_an_event_loop(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, "loop");
    atomic_int told = 0;
    atomic_int waited = 0;
    hf_acquire how = once(an_owner(w), 0);

    assert_ok(hf_lock_force_release_async(lock, NULL, nothing_to_do, &told,
                                          &problem));
    assert_true(hft_wait_until(is_one, &told, BOUND_MS));
    assert_ok(try_once(lock, NULL));
    how.wait_ms = HF_WAIT_FOREVER;
    assert_ok(
        hf_lock_acquire_async(lock, &how, nothing_to_do, &waited, &problem));
    assert_true(waiters_become(w->client, 1, BOUND_MS));
    assert_true(hf_client_fd(w->client) >= 0);
    assert_ok(leave(lock, NULL));
    assert_true(state_becomes(lock, how.owner, HF_HELD, BOUND_MS));
    assert_int_equal(atomic_load(&waited), 0);
    while (hf_client_dispatch(w->client) == 0) {
    }
    assert_int_equal(atomic_load(&waited), 1);
    assert_ok(leave(lock, how.owner));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        world_test(tasks_share_one_thread_and_one_link),
        world_test(releases_of_one_write_are_one_script),
        world_test(one_that_is_gone_or_something_else_harms_no_other),
        world_test(a_flush_in_between_is_unnoticed),
        world_test(what_a_slow_callback_asked_for_is_asked),
        world_test(what_a_slow_callback_asked_for_is_asked_soon),
        world_test(a_slow_callback_delays_no_call_of_a_thread),
        world_test(closing_waits_for_a_slow_callback),
        world_test(the_thread_gives_way_to_an_event_loop),
    };

    return cmocka_run_group_tests_name("async_driving", tests, world_up,
                                       world_down);
}
