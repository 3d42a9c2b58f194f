/* SPDX-License-Identifier: MIT */
/* test_lock_wake.c - the message that ends a wait: it is never missed, whatever
 * becomes of the subscription.
 *
 * Where a lost message would be repaired by the re-try, the bound for it is set
 * far away, so that only the message can be what woke the waiter.  Rows: LK-01,
 * LK-02, IS-10 to IS-12, PB-05, 15.2, 15.3, 15.9, T16 (20,000 names instead of
 * 100,000, for the time of a test run), T17, T18, T60.
 */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/crew.h"
#include "support/fatal.h"

#define NAME "wake"
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

/* Those that hand a lock to each other. */
enum { RUNNERS = 3, RUNS = 2000 };

static void run_rounds(struct hft_member *me)
{
    hf_lock *const *locks = me->context;
    hf_acquire how = HF_ACQUIRE_INIT;
    int round;

    how.lease_ms = 30000;
    for (round = 0; round < RUNS; round++) {
        int64_t asked_ms = hft_now_ms();
        hf_lock *lock = locks[me->index];

        if (!HFT_CHECK(me, hf_lock_acquire(lock, &how, NULL) == HF_OK)) {
            return;
        }
        if (hft_now_ms() - asked_ms > me->result) {
            me->result = hft_now_ms() - asked_ms;
        }
        if (!HFT_CHECK(me, hf_lock_release(lock, NULL, NULL) == HF_OK)) {
            return;
        }
    }
}

/* IS-12, 15.2, T60: two clients hand it to and fro as fast as they can.  A
 * missed message would cost the rest of a lease of 30 s.  (15.2 asks for 20,000
 * rounds; the simulation searches this without a clock.) */
static void hand_overs_between_clients_never_stall(void **world)
{
    struct world *w = *world;
    hf_lock *locks[RUNNERS];
    int64_t began_ms = hft_now_ms();
    struct hft_crew *crew;
    int64_t slowest_ms = 0;
    int64_t each_us;
    unsigned i;

    for (i = 0; i < RUNNERS; i++) {
        locks[i] = a_lock_of(w, a_client_without_retries(w), NAME);
    }
    crew = hft_crew_start(RUNNERS, run_rounds, locks);
    assert_null(hft_crew_join(crew, 60000));
    each_us = (hft_now_ms() - began_ms) * 1000 / (RUNNERS * RUNS);
    for (i = 0; i < RUNNERS; i++) {
        if (hft_crew_result(crew, i) > slowest_ms) {
            slowest_ms = hft_crew_result(crew, i);
        }
    }
    print_message("           %d us a turn, slowest wait %d ms\n", (int)each_us,
                  (int)slowest_ms);
    assert_between(slowest_ms, 0, 5000);
    assert_between(each_us, 1, 5000);
    hft_crew_free(crew);
}

/* IS-12: released as the waiter subscribes, at every moment of it.
 * spec: rlock/wait-1 */
static void a_release_while_subscribing_is_not_missed(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock_of(w, a_client_without_retries(w), NAME);
    struct hft_random random = chance();
    int i;

    for (i = 0; i < 400; i++) {
        struct caller waiter = {.hold_ms = 0};
        int64_t spin_until_ms = hft_now_ms() +
                                (int64_t)hft_random_below(&random, 3);
        int64_t released_ms;

        stranger_takes(w, NAME, FAR_AWAY_MS);
        caller_start(&waiter, lock, HF_WAIT_FOREVER);
        while (hft_now_ms() < spin_until_ms) {
            /* Some moment within the first milliseconds of the wait. */
        }
        released_ms = hft_now_ms();
        stranger_releases(w, NAME);
        caller_join(&waiter);
        assert_status(HF_OK, waiter.status);
        assert_between(waiter.ended_ms - released_ms, -100, 100 + SLACK_MS);
    }
}

/* T18, 15.3: the subscription is killed twice while somebody waits.
 * spec: rlock/wait-4 */
static void a_killed_subscription_is_made_again_and_misses_nothing(void **world)
{
    struct world *w = *world;
    struct caller waiter = {.hold_ms = 0};
    hf_client *client = a_client_without_retries(w);
    int64_t tries;
    int64_t released_ms;
    int i;

    stranger_takes(w, NAME, FAR_AWAY_MS);
    caller_start(&waiter, a_lock_of(w, client, NAME), HF_WAIT_FOREVER);
    assert_true(hft_wait_channels(w->server, 1, BOUND_MS));
    for (i = 0; i < 2; i++) {
        tries = stats_of(client).scripts_sent;
        assert_int_equal(hft_kill_links(w->server, "pubsub"), 1);
        assert_true(hft_wait_channels(w->server, 1, BOUND_MS));
        /* Whoever was re-subscribed tries once: what came in between. */
        assert_true(scripts_reach(client, tries + 1, BOUND_MS));
    }
    released_ms = hft_now_ms();
    stranger_releases(w, NAME);
    caller_join(&waiter);
    assert_status(HF_OK, waiter.status);
    assert_between(waiter.ended_ms - released_ms, 0, 200 + SLACK_MS);
    assert_true(hft_wait_channels(w->server, 0, BOUND_MS));
}

/* T18: released in the very gap, while nobody was subscribed. */
static void a_release_while_the_subscription_is_away_is_noticed(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock_of(w, a_client_without_retries(w), NAME);
    int i;

    for (i = 0; i < 10; i++) {
        struct caller waiter = {.hold_ms = 0};
        int64_t released_ms;

        stranger_takes(w, NAME, FAR_AWAY_MS);
        caller_start(&waiter, lock, HF_WAIT_FOREVER);
        assert_true(hft_wait_channels(w->server, 1, BOUND_MS));
        (void)hft_kill_links(w->server, "pubsub");
        released_ms = hft_now_ms();
        stranger_vanishes(w, NAME); /* no message at all */
        caller_join(&waiter);
        assert_status(HF_OK, waiter.status);
        assert_between(waiter.ended_ms - released_ms, 0, 1000 + SLACK_MS);
        assert_true(hft_wait_channels(w->server, 0, BOUND_MS));
    }
}

/* LK-02: two threads on each of two names, all of them in time. */
static void two_names_do_not_stand_in_each_others_way(void **world)
{
    enum { CALLERS = 4, ROUNDS = 50 };
    struct world *w = *world;
    hf_lock *locks[2] = {a_lock(w, "Lock1"), a_lock(w, "Lock2")};
    int round;
    int i;

    for (round = 0; round < ROUNDS; round++) {
        struct caller callers[CALLERS];

        memset(callers, 0, sizeof(callers));
        for (i = 0; i < CALLERS; i++) {
            caller_start(&callers[i], locks[i % 2], 100 + SLACK_MS);
        }
        for (i = 0; i < CALLERS; i++) {
            caller_join(&callers[i]);
            assert_status(HF_OK, callers[i].status);
            assert_status(HF_OK, callers[i].release_status);
        }
    }
}

/* What the threads of the churn do. */
enum { CHURN_NAMES = 5, CHURN_THREADS = 32, CHURN_ROUNDS = 25 };

struct churn {
    hf_lock *locks[CHURN_NAMES];
    struct hft_random random;
};

static void churn(struct hft_member *me)
{
    const struct churn *churn = me->context;
    struct hft_random random = {churn->random.state + me->index};
    int round;

    for (round = 0; round < CHURN_ROUNDS; round++) {
        hf_lock *lock = churn->locks[hft_random_below(&random, CHURN_NAMES)];

        if (!HFT_CHECK(me, hf_lock_acquire(lock, NULL, NULL) == HF_OK)) {
            return;
        }
        hft_let_pass_ms((int64_t)hft_random_below(&random, 20));
        if (!HFT_CHECK(me, hf_lock_release(lock, NULL, NULL) == HF_OK)) {
            return;
        }
    }
}

/* LK-01, 15.9: 32 threads on 5 names; one pub/sub connection, and in the end
 * nobody is subscribed to anything.  (25 rounds each instead of 156.) */
static void churn_on_a_few_names_leaves_no_subscription_behind(void **world)
{
    struct world *w = *world;
    struct churn churning = {.random = chance()};
    struct hft_crew *crew;
    char name[32];
    int i;

    for (i = 0; i < CHURN_NAMES; i++) {
        (void)snprintf(name, sizeof(name), "churn:%d", i);
        churning.locks[i] = a_lock(w, name);
    }
    crew = hft_crew_start(CHURN_THREADS, churn, &churning);
    assert_null(hft_crew_join(crew, 150000));
    hft_crew_free(crew);
    assert_between(hft_links(w->server, "pubsub"), 0, 1);
    assert_true(hft_wait_channels(w->server, 0, BOUND_MS));
    assert_int_equal(hft_int(w->server, "DBSIZE"), 0);
    assert_int_equal(stats_of(w->client).subscriptions, 0);
}

/* ---- T16 ----------------------------------------------------------------- */

enum { MANY = 20000 };

struct crowd {
    pthread_mutex_t mutex;
    int held;
    int failed;
    hf_status first_failure;
    hf_owner **owners; /* of those that hold; freed when the client is closed */
};

static void note_member(const hf_completion *done, void *context)
{
    struct crowd *crowd = context;

    pthread_mutex_lock(&crowd->mutex);
    if (done->status == HF_OK) {
        crowd->owners[crowd->held++] = done->owner;
    } else if (crowd->failed++ == 0) {
        crowd->first_failure = done->status;
    }
    pthread_mutex_unlock(&crowd->mutex);
}

static int ended(struct crowd *crowd)
{
    int sum;

    pthread_mutex_lock(&crowd->mutex);
    sum = crowd->held + crowd->failed;
    pthread_mutex_unlock(&crowd->mutex);
    return sum;
}

static bool all_ended(void *crowd)
{
    return ended(crowd) == MANY;
}

#define EACH_OF_MANY "for i = 0, 19999 do local name = 'many:' .. i "

static void strangers_take_many(struct world *w)
{
    (void)hft_int(w->server, "EVAL %s 0 %s",
                  EACH_OF_MANY "redis.call('hset', name, ARGV[1], 1) "
                               "redis.call('pexpire', name, 600000) end "
                               "return 1",
                  STRANGER);
}

static void strangers_release_many(struct world *w)
{
    (void)hft_int(w->server, "EVAL %s 0",
                  EACH_OF_MANY
                  "redis.call('del', name) "
                  "redis.call('publish', 'redisson_lock__channel:{' .. name "
                  ".. '}', '0') end return 1");
}

/* T16: any number of channels on one connection, nothing to configure, and
 * every waiter is served when its message comes. */
static void one_connection_hears_for_twenty_thousand_names(void **world)
{
    struct world *w = *world;
    struct crowd crowd = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    hf_lock **locks = hft_alloc(MANY * sizeof(hf_lock *));
    hf_client *client = a_client(w);
    hf_acquire how = HF_ACQUIRE_INIT;
    char name[32];
    int i;

    crowd.owners = hft_alloc(MANY * sizeof(hf_owner *));
    how.lease_ms = 120000;
    strangers_take_many(w);
    for (i = 0; i < MANY; i++) {
        (void)snprintf(name, sizeof(name), "many:%d", i);
        assert_ok(hf_lock_new(client, name, &locks[i], &problem));
        assert_ok(hf_lock_acquire_async(locks[i], &how, note_member, &crowd,
                                        &problem));
    }
    assert_true(hft_wait_channels(w->server, MANY, 3 * BOUND_MS));
    assert_int_equal(hft_links(w->server, "pubsub"), 1);
    assert_int_equal(stats_of(client).subscriptions, MANY);
    assert_int_equal(ended(&crowd), 0);
    strangers_release_many(w);
    assert_true(hft_wait_until(all_ended, &crowd, 3 * BOUND_MS));
    assert_status(HF_OK, crowd.first_failure);
    assert_int_equal(crowd.held, MANY);
    assert_true(hft_wait_channels(w->server, 0, 3 * BOUND_MS));
    close_clients(w);
    for (i = 0; i < MANY; i++) {
        assert_ok(hf_lock_free(locks[i]));
        assert_ok(hf_owner_free(crowd.owners[i]));
    }
    free(crowd.owners);
    free(locks);
    (void)hft_int(w->server, "FLUSHALL");
    world_begin(world);
}

/* ---- T17 ----------------------------------------------------------------- */

static struct hft_server *server_with_user(const char *rules)
{
    const char *acl[] = {rules, NULL};
    struct hft_server_options options = {.tcp = true, .acl = acl};

    return hft_server_start(&options);
}

static hf_client *client_as_app(struct hft_server *server)
{
    hf_options options = short_options();
    char *url = hft_format("redis://app:secret@127.0.0.1:%d",
                           hft_server_port(server));
    hf_client *client = NULL;

    options.retry_bound_ms = 300;
    assert_ok(hf_client_open(url, &options, &client, &problem));
    free(url);
    return client;
}

/* A waiter of a user with these rules gets it by asking again. */
static void polling_serves_the_user(const char *rules)
{
    struct world w = {.server = server_with_user(rules)};
    hf_client *client = client_as_app(w.server);
    struct caller waiter = {.hold_ms = -1};
    hf_acquire how = HF_ACQUIRE_INIT;
    hf_owner *owner = NULL;
    hf_lock *lock = NULL;
    int64_t released_ms;

    assert_ok(hf_lock_new(client, NAME, &lock, &problem));
    assert_ok(hf_owner_new(client, &owner, &problem));
    how.owner = owner;
    stranger_takes(&w, NAME, FAR_AWAY_MS);
    caller_start_as(&waiter, lock, &how);
    assert_true(waiters_become(client, 1, BOUND_MS));
    hft_let_pass_ms(500);
    assert_int_equal(stats_of(client).waiters,
                     1); /* and no error of any kind */
    released_ms = hft_now_ms();
    stranger_releases(&w, NAME);
    caller_join(&waiter);
    assert_status(HF_OK, waiter.status);
    assert_between(waiter.ended_ms - released_ms, 0, 600 + SLACK_MS);
    (void)hf_lock_release(lock, owner, NULL);
    assert_true(wire_free_within(&w, NAME, W_MS + SLACK_MS));
    assert_ok(hf_client_close(client));
    assert_ok(hf_lock_free(lock));
    assert_ok(hf_owner_free(owner));
    hft_server_free(w.server);
}

/* T17: no "subscription timeout" for the caller, ever. */
static void a_refused_subscription_means_polling(void **world)
{
    (void)world;
    polling_serves_the_user(
        "user app on >secret ~* &* +@all -subscribe -psubscribe");
}

/* The same where the channels are what is refused: then the release cannot
 * publish either, and still ends the hold. */
static void a_user_without_channels_can_lock_all_the_same(void **world)
{
    (void)world;
    polling_serves_the_user("user app on >secret ~* resetchannels +@all");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        world_test(hand_overs_between_clients_never_stall),
        world_test(a_release_while_subscribing_is_not_missed),
        world_test(a_killed_subscription_is_made_again_and_misses_nothing),
        world_test(a_release_while_the_subscription_is_away_is_noticed),
        world_test(two_names_do_not_stand_in_each_others_way),
        world_test(churn_on_a_few_names_leaves_no_subscription_behind),
        world_test(one_connection_hears_for_twenty_thousand_names),
        world_test(a_refused_subscription_means_polling),
        world_test(a_user_without_channels_can_lock_all_the_same),
    };

    return cmocka_run_group_tests_name("lock_wake", tests, world_up,
                                       world_down);
}
