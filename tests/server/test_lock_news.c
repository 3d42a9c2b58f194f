/* SPDX-License-Identifier: MIT */
/* test_lock_news.c - who reads the messages: the thread that waits, if it alone
 * counts on them, and else the keeper.
 *
 * The bound for re-tries is far away: what nobody reads would be seen as a wait
 * that does not end.  Rows: IS-12, PL-52, PB-05, T60.
 */
#include "world.h"

#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "support/crew.h"
#include "support/proxy.h"

#define FAR_AWAY_MS 60000

static hf_options no_retries(void)
{
    hf_options options = short_options();

    options.retry_bound_ms = FAR_AWAY_MS;
    return options;
}

static hf_client *a_client_without_retries(struct world *w)
{
    hf_options options = no_retries();

    return a_client_at(w, hft_server_url(w->server), &options);
}

static void is_served(struct caller *waiter, int64_t released_ms)
{
    caller_join(waiter);
    assert_status(HF_OK, waiter->status);
    assert_between(waiter->ended_ms - released_ms, -SLACK_MS, 4 * SLACK_MS);
}

/* ---- the links that are used ---- */

static int attempts_on(struct hft_proxy *proxy, unsigned link)
{
    struct hft_rule count = {.direction = HFT_REQUEST,
                             .link = link,
                             .match = "EVALSHA",
                             .times = HFT_ALWAYS,
                             .action = HFT_PASS};

    return hft_proxy_add(proxy, &count);
}

/* A wait that ends with a message; how many attempts went on that link. */
static unsigned attempts_of_a_wait(struct world *w, hf_lock *lock,
                                   struct hft_proxy *proxy, int counted)
{
    struct caller waiter = {.hold_ms = 0};
    hf_acquire how = HF_ACQUIRE_INIT;
    unsigned before = hft_proxy_hits(proxy, counted);
    int64_t released_ms;

    how.lease_ms = FAR_AWAY_MS; /* nothing is renewed meanwhile */
    stranger_takes(w, "news", FAR_AWAY_MS);
    caller_start_as(&waiter, lock, &how);
    assert_true(hft_wait_channels(w->server, 1, BOUND_MS));
    released_ms = hft_now_ms();
    stranger_releases(w, "news");
    is_served(&waiter, released_ms);
    assert_true(hft_wait_channels(w->server, 0, BOUND_MS));
    return hft_proxy_hits(proxy, counted) - before;
}

/* The keeper's link carries nothing: the message, the attempt that follows it
 * and the grant are one thread's.  (The links come up in this order: main,
 * keeper, pub/sub.)  Now and then the keeper has the pub/sub link in use at the
 * moment when the thread would take it, and keeps it. */
static void who_waits_alone_asks_on_the_main_link(void **world)
{
    enum { WAITS = 50 };
    struct world *w = *world;
    struct hft_proxy *proxy = hft_proxy_start_unix(w->server);
    hf_options options = no_retries();
    hf_lock *lock = a_lock_of(w, a_client_at(w, hft_proxy_url(proxy), &options),
                              "news");
    int counted = attempts_on(proxy, 2);
    int by_itself = 0;
    int i;

    for (i = 0; i < WAITS; i++) {
        by_itself += attempts_of_a_wait(w, lock, proxy, counted) == 0 ? 1 : 0;
    }
    assert_between(by_itself, WAITS / 2, WAITS);
    close_clients(w);
    hft_proxy_stop(proxy);
    world_begin(world);
}

/* ---- several who wait ---- */

/* Both begin to wait, in this order, and are served in that one. */
static void two_wait(struct world *w, hf_client *client, bool first_first)
{
    struct caller waiters[2] = {{.hold_ms = 0}, {.hold_ms = 0}};
    const char *names[2] = {"first", "second"};
    int i;

    for (i = 0; i < 2; i++) {
        stranger_takes(w, names[i], FAR_AWAY_MS);
    }
    for (i = 0; i < 2; i++) {
        caller_start(&waiters[i], a_lock_of(w, client, names[i]),
                     HF_WAIT_FOREVER);
        assert_true(hft_wait_channels(w->server, i + 1, BOUND_MS));
    }
    for (i = 0; i < 2; i++) {
        int who = first_first ? i : 1 - i;
        int64_t released_ms = hft_now_ms();

        stranger_releases(w, names[who]);
        is_served(&waiters[who], released_ms);
    }
    assert_true(hft_wait_channels(w->server, 0, BOUND_MS));
}

static void the_second_who_waits_is_heard_too(void **world)
{
    struct world *w = *world;
    hf_client *client = a_client_without_retries(w);
    int i;

    for (i = 0; i < 20; i++) {
        two_wait(w, client, i % 2 == 0);
    }
}

/* ---- a thread that is stopped ---- */

static sem_t stopped, go_on;

static void stop_here(int number)
{
    int saved_errno = errno;

    (void)number;
    sem_post(&stopped);
    while (sem_wait(&go_on) != 0) {
    }
    errno = saved_errno;
}

/* PL-52: whoever reads the messages for itself alone may be stopped; as soon as
 * somebody else counts on them they are the keeper's. */
static void a_stopped_waiter_does_not_keep_messages_from_others(void **world)
{
    struct world *w = *world;
    hf_client *client = a_client_without_retries(w);
    static struct caller first, second;
    struct sigaction action = {.sa_handler = stop_here};
    struct sigaction before;
    int64_t released_ms;

    assert_int_equal(sem_init(&stopped, 0, 0), 0);
    assert_int_equal(sem_init(&go_on, 0, 0), 0);
    assert_int_equal(sigaction(SIGUSR2, &action, &before), 0);
    /* Its release would go through the thread that is stopped. */
    second.hold_ms = -1;
    stranger_takes(w, "first", FAR_AWAY_MS);
    stranger_takes(w, "second", FAR_AWAY_MS);
    caller_start(&first, a_lock_of(w, client, "first"), HF_WAIT_FOREVER);
    assert_true(hft_wait_channels(w->server, 1, BOUND_MS));
    caller_start(&second, a_lock_of(w, client, "second"), HF_WAIT_FOREVER);
    assert_true(hft_wait_channels(w->server, 2, BOUND_MS));
    assert_true(waiters_become(client, 2, BOUND_MS));
    hft_let_pass_ms(100); /* it sleeps, and has nothing in its hands */
    assert_int_equal(pthread_kill(first.thread, SIGUSR2), 0);
    while (sem_wait(&stopped) != 0) {
    }
    released_ms = hft_now_ms();
    stranger_releases(w, "second");
    is_served(&second, released_ms);
    assert_int_equal(sem_post(&go_on), 0);
    released_ms = hft_now_ms();
    stranger_releases(w, "first");
    is_served(&first, released_ms);
    assert_int_equal(sigaction(SIGUSR2, &before, NULL), 0);
}

/* ---- at random ---- */

enum { CROWD = 6, NAMES = 3, RUNS = 150 };

struct crowd {
    struct hft_random random;
    hf_client *clients[2];
    hf_lock *locks[2][NAMES];
};

static void run_around(struct hft_member *me)
{
    struct crowd *crowd = me->context;
    struct hft_random random = crowd->random;
    int run;

    random.state += me->index;
    for (run = 0; run < RUNS; run++) {
        hf_lock *lock =
            crowd->locks[me->index % 2][hft_random_below(&random, NAMES)];
        bool gives_up = hft_random_below(&random, 4) == 0;
        hf_acquire how = HF_ACQUIRE_INIT;
        hf_status status;

        how.wait_ms = gives_up ? (int64_t)hft_random_below(&random, 3)
                               : 3 * (int64_t)BOUND_MS;
        how.lease_ms = FAR_AWAY_MS;
        status = hf_lock_acquire(lock, &how, NULL);
        if (!HFT_CHECK(me, status == HF_OK || gives_up)) {
            return;
        }
        if (status == HF_OK &&
            !HFT_CHECK(me, hf_lock_release(lock, NULL, NULL) == HF_OK)) {
            return;
        }
    }
}

/* T60, PB-05: waits begin, end and are given up in two clients at once, so that
 * the one who reads the messages changes all the time.  One that is missed
 * would cost the rest of a lease. */
static void messages_are_read_whoever_comes_and_goes(void **world)
{
    struct world *w = *world;
    struct hft_crew *crew;
    struct crowd crowd;
    char name[32];
    int i;

    crowd.random = chance();
    for (i = 0; i < 2 * NAMES; i++) {
        if (i < 2) {
            crowd.clients[i] = a_client_without_retries(w);
        }
        (void)snprintf(name, sizeof(name), "around:%d", i / 2);
        crowd.locks[i % 2][i / 2] = a_lock_of(w, crowd.clients[i % 2], name);
    }
    crew = hft_crew_start(CROWD, run_around, &crowd);
    assert_null(hft_crew_join(crew, 60000));
    hft_crew_free(crew);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        world_test(who_waits_alone_asks_on_the_main_link),
        world_test(the_second_who_waits_is_heard_too),
        world_test(a_stopped_waiter_does_not_keep_messages_from_others),
        world_test(messages_are_read_whoever_comes_and_goes),
    };

    return cmocka_run_group_tests_name("lock_news", tests, world_up,
                                       world_down);
}
