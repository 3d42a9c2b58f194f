/* SPDX-License-Identifier: MIT */
/* test_values.c - many values of one name, in one hash.
 *
 * Rows: FM-01 to FM-13, FM-15 to FM-24; T53, and what is told
 * below FM-24 (overlapping sets).
 */
#include "world.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "support/crew.h"
#include "support/proxy.h"

#define NAME "class:1000"
#define A_FIELD "qwvAS12pR0CgRitaypEjUw"    /* of the value "a" */
#define JACK_FIELD "7pNoDdizVy2xY792MaFv+w" /* of the value "Jack_001" */
#define JAVA "0badcafe-0bad-cafe-0bad-cafe0badcafe:7"

static hf_lock *a_values_lock(struct world *w, hf_client *client,
                              const char *first, const char *second)
{
    const char *values[] = {first, second};
    hf_lock *lock = NULL;

    assert_ok(hf_values_lock_new(client, NAME, values, second == NULL ? 1 : 2,
                                 &lock, &problem));
    keep_lock(w, lock);
    return lock;
}

/* A field of the hash; "" if there is none.  Lent until the next call. */
static const char *field_of(struct world *w, const char *field)
{
    const char *found = hft_str(w->server, "HGET %s %s", NAME, field);

    return found == NULL ? "" : found;
}

static int64_t count_of(struct world *w, hf_lock *lock, hf_owner *owner,
                        const char *field)
{
    char text[64], name[160];

    assert_ok(hf_lock_owner_text(lock, owner, text, sizeof(text)));
    (void)snprintf(name, sizeof(name), "%s:%s:lock_count", field, text);
    return hft_int(w->server, "HGET %s %s", NAME, name);
}

static int64_t ends_in_ms(struct world *w, hf_lock *lock, const char *field)
{
    char text[64], name[160];

    assert_ok(hf_lock_owner_text(lock, NULL, text, sizeof(text)));
    (void)snprintf(name, sizeof(name), "%s:%s:expire_time", field, text);
    return hft_int(w->server, "EVAL %s 1 %s %s",
                   "local t = redis.call('time') "
                   "return redis.call('hget', KEYS[1], ARGV[1]) - "
                   "(t[1] * 1000 + math.floor(t[2] / 1000))",
                   NAME, name);
}

/* One that Redisson's faster multi lock would have written. */
static void java_takes(struct world *w, const char *field, int64_t lease_ms)
{
    (void)hft_int(
        w->server, "EVAL %s 1 %s %s %s %lld",
        "local t = redis.call('time') "
        "local now = t[1] * 1000 + math.floor(t[2] / 1000) "
        "local mine = ARGV[1] .. ':' .. ARGV[2] "
        "redis.call('hset', KEYS[1], ARGV[1], ARGV[2], "
        "mine .. ':expire_time', now + ARGV[3], mine .. ':lock_count', 1) "
        "return redis.call('pexpire', KEYS[1], ARGV[3])",
        NAME, field, JAVA, (long long)lease_ms);
}

static void java_leaves(struct world *w, const char *field)
{
    (void)hft_int(w->server, "EVAL %s 1 %s %s %s",
                  "local mine = ARGV[1] .. ':' .. ARGV[2] "
                  "redis.call('hdel', KEYS[1], ARGV[1], mine .. ':expire_time',"
                  " mine .. ':lock_count') "
                  "return redis.call('publish', "
                  "'redisson_lock__channel:{' .. KEYS[1] .. '}', '0')",
                  NAME, field, JAVA);
}

/* FM-01, FM-07.
 * spec: values/key-1
 * spec: values/field-2 */
static void three_fields_stand_for_each_value(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_values_lock(w, w->client, "a", "Jack_001");
    char owner[64];

    assert_ok(try_fixed(lock, NULL, 30000));
    assert_true(hf_lock_is_held(lock, NULL));
    assert_ok(hf_lock_owner_text(lock, NULL, owner, sizeof(owner)));
    assert_string_equal(field_of(w, A_FIELD), owner);
    assert_string_equal(field_of(w, JACK_FIELD), owner);
    assert_int_equal(count_of(w, lock, NULL, A_FIELD), 1);
    assert_int_equal(hft_int(w->server, "HLEN %s", NAME), 6);
    assert_between(ends_in_ms(w, lock, A_FIELD), 25000, 30000);
    assert_between(hft_int(w->server, "PTTL %s", NAME), 25000, 30000);
    assert_ok(leave(lock, NULL));
    assert_int_equal(hft_int(w->server, "EXISTS %s", NAME), 0);
    assert_false(hf_lock_is_held(lock, NULL));
}

/* FM-02, FM-21.  spec: values/keep-1 */
static void it_is_re_entered_with_the_same_values(void **world)
{
    struct world *w = *world;
    hf_lock *first = a_values_lock(w, w->client, "a", "Jack_001");
    hf_lock *second = a_values_lock(w, w->client, "Jack_001", "a");

    assert_ok(try_once(first, NULL));
    assert_ok(try_once(second, NULL));
    assert_int_equal(hf_lock_hold_count(first, NULL), 2);
    assert_int_equal(count_of(w, first, NULL, JACK_FIELD), 2);
    assert_ok(leave(first, NULL));
    assert_int_equal(count_of(w, second, NULL, A_FIELD), 1);
    assert_ok(leave(second, NULL));
    assert_int_equal(hft_int(w->server, "EXISTS %s", NAME), 0);
}

/* Sets exclude each other by values in common, and are told how long.
 * spec: values/acquire-1
 * spec: values/acquire-3 */
static void only_values_in_common_exclude(void **world)
{
    struct world *w = *world;
    hf_lock *ab = a_values_lock(w, w->client, "a", "b");
    hf_lock *bc = a_values_lock(w, w->client, "b", "c");
    hf_lock *c = a_values_lock(w, w->client, "c", NULL);
    hf_owner *other = an_owner(w);

    assert_ok(try_fixed(ab, NULL, 60000));
    assert_status(HF_BUSY, try_once(bc, other));
    assert_non_null(strstr(problem.message, "ms to run"));
    assert_ok(try_once(c, other));
    assert_ok(leave(ab, NULL));
    assert_status(HF_BUSY, try_once(bc, NULL));
    assert_ok(leave(c, other));
    assert_ok(try_once(bc, NULL));
    assert_ok(leave(bc, NULL));
    assert_int_equal(hft_int(w->server, "EXISTS %s", NAME), 0);
}

static void an_owner_may_hold_other_values_but_not_some_twice(void **world)
{
    struct world *w = *world;
    hf_lock *ab = a_values_lock(w, w->client, "a", "b");
    hf_lock *bc = a_values_lock(w, w->client, "b", "c");
    hf_lock *c = a_values_lock(w, w->client, "c", NULL);

    assert_ok(try_once(ab, NULL));
    assert_ok(try_once(c, NULL));
    assert_int_equal(hf_lock_hold_count(ab, NULL), 1);
    assert_int_equal(hf_lock_hold_count(c, NULL), 1);
    assert_status(HF_ALREADY_HELD, try_once(bc, NULL));
    assert_ok(leave(ab, NULL));
    assert_true(hf_lock_is_held(c, NULL));
    assert_ok(leave(c, NULL));
    assert_int_equal(hft_int(w->server, "EXISTS %s", NAME), 0);
}

/* FM-04: the values' own ends are moved, not the key's alone.
 * spec: values/key-2 */
static void every_value_is_renewed(void **world)
{
    struct world *w = *world;
    hf_lock *ab = a_values_lock(w, w->client, "a", "Jack_001");
    hf_lock *c = a_values_lock(w, w->client, "c", NULL);
    hf_owner *other = an_owner(w);

    assert_ok(try_once(ab, NULL));
    assert_ok(try_once(c, other));
    hft_let_pass_ms(2 * W_MS);
    assert_true(hf_lock_is_held(ab, NULL));
    assert_true(hf_lock_is_held(c, other));
    assert_between(ends_in_ms(w, ab, A_FIELD), 1, W_MS);
    assert_between(ends_in_ms(w, ab, JACK_FIELD), 1, W_MS);
    assert_ok(leave(ab, NULL));
    assert_ok(leave(c, other));
}

/* FM-05, FM-06, FM-13. */
static void it_waits_for_the_end_of_anothers_lease(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_values_lock(w, w->client, "a", "b");
    hf_owner *other = an_owner(w);
    int64_t began_ms = hft_now_ms();

    assert_ok(try_fixed(lock, NULL, 500));
    assert_status(HF_BUSY, try_once(lock, other));
    assert_ok(wait_up_to(lock, other, 5000));
    assert_between(hft_now_ms() - began_ms, 450, 2500);
    assert_status(HF_LOST, leave(lock, NULL));
    assert_true(hf_lock_is_held(lock, other));
    assert_ok(leave(lock, other));
    assert_int_equal(hft_int(w->server, "EXISTS %s", NAME), 0);
}

/* A release wakes who waits, and Java's does.  spec: values/release-1 */
static void a_release_wakes_who_waits(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_values_lock(w, w->client, "a", NULL);
    struct caller caller = {0};
    int64_t freed_ms;

    java_takes(w, A_FIELD, 60000);
    caller_start(&caller, lock, 20000);
    assert_true(waiters_become(w->client, 1, BOUND_MS));
    assert_true(hft_wait_channels(w->server, 1, BOUND_MS));
    freed_ms = hft_now_ms();
    java_leaves(w, A_FIELD);
    caller_join(&caller);
    assert_status(HF_OK, caller.status);
    assert_between(caller.ended_ms - freed_ms, 0, 1000);
}

/* T53: the victim of a wrong clock in Java finds its value taken by us only when
 * the server says that it is over; and we do not touch what is live.
 * spec: values/key-3 */
static void a_value_that_java_holds_is_left_alone(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_values_lock(w, w->client, "a", "b");

    java_takes(w, A_FIELD, 60000);
    assert_status(HF_BUSY, try_once(lock, NULL));
    assert_string_equal(field_of(w, A_FIELD), JAVA);
    assert_int_equal(hft_int(w->server, "HLEN %s", NAME), 3);
    java_takes(w, A_FIELD, 150);
    (void)hft_int(w->server, "PEXPIRE %s 60000", NAME);
    assert_ok(wait_up_to(lock, NULL, 5000));
    assert_string_not_equal(field_of(w, A_FIELD), JAVA);
    assert_int_equal(hft_int(w->server, "HLEN %s", NAME), 6);
    assert_ok(leave(lock, NULL));
    assert_int_equal(hft_int(w->server, "EXISTS %s", NAME), 0);
}

/* FM-03.  spec: values/force-1 */
static void it_can_be_forced_from_all_owners(void **world)
{
    struct world *w = *world;
    hf_lock *a = a_values_lock(w, w->client, "a", NULL);
    hf_lock *b = a_values_lock(w, w->client, "b", NULL);
    hf_lock *ab = a_values_lock(w, w->client, "a", "b");
    hf_owner *other = an_owner(w);

    assert_ok(try_once(a, NULL));
    assert_ok(try_once(b, other));
    assert_ok(hf_lock_force_release(ab, NULL, &problem));
    assert_int_equal(hft_int(w->server, "EXISTS %s", NAME), 0);
    assert_true(state_becomes(a, NULL, HF_STATE_LOST, BOUND_MS));
    assert_true(state_becomes(b, other, HF_STATE_LOST, BOUND_MS));
    assert_status(HF_NOT_OWNER, hf_lock_force_release(ab, NULL, &problem));
    assert_status(HF_LOST, leave(a, NULL));
    assert_status(HF_LOST, leave(b, other));
}

/* One value that is gone loses the hold, and the others are given back.
 * spec: values/keep-2
 * spec: values/release-2 */
static void losing_one_value_is_losing_all(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_values_lock(w, w->client, "a", "Jack_001");
    struct told told = {0};
    hf_acquire how = once(NULL, 0);

    how.on_lost = record_lost;
    how.context = &told;
    assert_ok(take(lock, NULL, &how));
    (void)hft_int(w->server, "HDEL %s %s", NAME, A_FIELD);
    assert_true(loss_is_told(&told, BOUND_MS));
    assert_int_equal(told_so_far(&told).reason, HF_LOST_GONE);
    assert_true(endings_become(w->client, 0, BOUND_MS));
    assert_string_equal(field_of(w, JACK_FIELD), "");
    assert_status(HF_LOST, leave(lock, NULL));
}

/* FM-16 to FM-20. */
static void others_see_it_and_cannot_release_it(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_values_lock(w, w->client, "a", NULL);
    hf_owner *other = an_owner(w);
    hf_lock_info info = HF_LOCK_INFO_INIT;

    assert_ok(hf_inspect_remote(lock, &info, &problem));
    assert_false(info.locked);
    assert_ok(try_fixed(lock, NULL, 60000));
    assert_false(hf_lock_is_held(lock, other));
    assert_status(HF_NOT_OWNER, leave(lock, other));
    assert_ok(hf_inspect_remote(lock, &info, &problem));
    assert_true(info.locked);
    assert_int_equal(info.count, 1);
    assert_between(info.ttl_ms, 50000, 60000);
    assert_ok(leave(lock, NULL));
}

static void min_hold_keeps_others_out(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_values_lock(w, w->client, "a", "b");
    hf_owner *other = an_owner(w);
    hf_acquire how = once(NULL, 0);
    int64_t began_ms = hft_now_ms();

    how.min_hold_ms = 500;
    assert_ok(take(lock, NULL, &how));
    assert_ok(leave(lock, NULL));
    assert_status(HF_BUSY, try_once(lock, other));
    assert_ok(wait_up_to(lock, other, 5000));
    assert_between(hft_now_ms() - began_ms, 450, 3000);
    assert_ok(leave(lock, other));
}

/* FM-11, FM-15: an error, not "busy"; and the hold ends with its lease. */
static void a_server_that_stops_is_told(void **world)
{
    struct world *w = *world;
    struct hft_server *own = hft_server_start(NULL);
    hf_options options = short_options();
    hf_client *client = a_client_at(w, hft_server_url(own), &options);
    hf_lock *lock = a_values_lock(w, client, "a", NULL);
    hf_lock *other = a_values_lock(w, client, "b", NULL);
    struct told told = {0};
    hf_acquire how = once(NULL, 0);

    how.on_lost = record_lost;
    how.context = &told;
    assert_ok(take(lock, NULL, &how));
    hft_server_stop(own);
    assert_status(HF_UNREACHABLE, wait_up_to(other, NULL, 500));
    assert_true(loss_is_told(&told, BOUND_MS));
    assert_int_equal(told_so_far(&told).reason, HF_LOST_UNREACHABLE);
    assert_status(HF_LOST, leave(lock, NULL));
    close_clients(w);
    w->client = NULL;
    hft_server_free(own);
}

#define NAMES 5

/* Sets of different names, and of different clients. */
static void churn(struct hft_member *me)
{
    struct world *w = me->context;
    hf_options options = short_options();
    hf_client *client = NULL;
    char name[32];
    const char *values[] = {"a", "b"};

    if (!HFT_CHECK(me, hf_client_open(hft_server_url(w->server), &options,
                                      &client, &problem) == HF_OK)) {
        return;
    }
    for (unsigned i = 0; i < 20; i++) {
        hf_lock *lock = NULL;

        (void)snprintf(name, sizeof(name), "n%u", (me->index + i) % NAMES);
        HFT_CHECK(me, hf_values_lock_new(client, name, values, 2, &lock,
                                         &problem) == HF_OK);
        HFT_CHECK(me, wait_up_to(lock, NULL, 60000) == HF_OK);
        HFT_CHECK(me, leave(lock, NULL) == HF_OK);
        HFT_CHECK(me, hf_lock_free(lock) == HF_OK);
    }
    HFT_CHECK(me, hf_client_close(client) == HF_OK);
}

/* FM-08, FM-09, FM-23, FM-24: no limit of channels, and no channel is left. */
static void many_clients_come_and_go(void **world)
{
    struct world *w = *world;
    struct hft_crew *crew = hft_crew_start(8, churn, w);

    assert_null(hft_crew_join(crew, 100000));
    hft_crew_free(crew);
    assert_int_equal(hft_int(w->server, "DBSIZE"), 0);
    assert_true(hft_wait_channels(w->server, 0, BOUND_MS));
}

/* FM-10, FM-12: who gives up waiting leaves nothing that is renewed. */
static void a_cancelled_wait_leaves_nothing(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_values_lock(w, w->client, "a", "b");
    struct caller caller = {.hold_ms = -1};
    hf_acquire how = HF_ACQUIRE_INIT;

    how.cancel = a_cancel(w);
    java_takes(w, A_FIELD, 60000);
    caller_start_as(&caller, lock, &how);
    assert_true(waiters_become(w->client, 1, BOUND_MS));
    hf_cancel_fire(how.cancel);
    caller_join(&caller);
    /* Unknown, if an attempt was on its way just then. */
    assert_true(caller.status == HF_CANCELLED || caller.status == HF_UNKNOWN);
    assert_true(endings_become(w->client, 0, BOUND_MS));
    java_leaves(w, A_FIELD);
    assert_int_equal(hft_int(w->server, "EXISTS %s", NAME), 0);
}

struct counting {
    hf_lock *lock;
    int counter;
};

static void count(struct hft_member *me)
{
    struct counting *counting = me->context;
    hf_acquire how = HF_ACQUIRE_INIT;

    how.wait_ms = 60000;
    for (int i = 0; i < 10; i++) {
        int seen;

        if (!HFT_CHECK(me, hf_lock_acquire(counting->lock, &how, &problem) ==
                               HF_OK)) {
            return;
        }
        seen = counting->counter;
        hft_let_pass_ms(1);
        counting->counter = seen + 1;
        HFT_CHECK(me, hf_lock_release(counting->lock, NULL, NULL) == HF_OK);
    }
}

/* FM-22. */
static void threads_take_turns(void **world)
{
    struct world *w = *world;
    struct counting counting = {0};
    struct hft_crew *crew;

    counting.lock = a_values_lock(w, w->client, "a", "b");
    crew = hft_crew_start(8, count, &counting);
    assert_null(hft_crew_join(crew, 60000));
    assert_int_equal(counting.counter, 80);
    hft_crew_free(crew);
    assert_int_equal(hft_int(w->server, "EXISTS %s", NAME), 0);
}

static void it_can_be_a_member_of_a_group(void **world)
{
    struct world *w = *world;
    hf_lock *locks[3];
    hf_group *group;

    locks[0] = a_values_lock(w, w->client, "a", NULL);
    locks[1] = a_values_lock(w, w->client, "b", NULL);
    locks[2] = a_lock(w, "plain");
    assert_ok(hf_multi_lock_new(locks, 3, &group, &problem));
    assert_ok(hf_group_acquire(group, NULL, NULL, &problem));
    assert_int_equal(hft_int(w->server, "HLEN %s", NAME), 6);
    assert_ok(hf_group_release(group, NULL, NULL, &problem));
    assert_int_equal(hft_int(w->server, "DBSIZE"), 0);
    assert_ok(hf_group_free(group));
}

/* T14, T15: the answer to an acquire or a release is lost, or comes late: the
 * count is right and nothing stays.  What comes late does nothing.
 * spec: values/acquire-2 */
static void lost_answers_leave_nothing_behind(void **world)
{
    static const enum hft_action faults[] = {HFT_CUT_BEFORE, HFT_CUT_AFTER,
                                             HFT_DELAY};
    struct world *w = *world;
    struct hft_proxy *proxy = hft_proxy_start(w->server);
    hf_options options = short_options();
    hf_client *client;
    hf_lock *lock;

    options.response_limit_ms = 400;
    client = a_client_at(w, hft_proxy_url(proxy), &options);
    lock = a_values_lock(w, client, "a", "Jack_001");
    assert_ok(try_once(lock, NULL));
    assert_ok(leave(lock, NULL));
    for (int i = 0; i < 12; i++) {
        struct hft_rule rule = {.direction = i % 2 == 0 ? HFT_REPLY
                                                        : HFT_REQUEST,
                                .match = "EVALSHA",
                                .contains = NAME,
                                .nth = (unsigned)i / 6 + 1,
                                .action = faults[i / 2 % 3],
                                .delay_ms = 700};
        hf_status status;

        (void)hft_proxy_add(proxy, &rule);
        status = wait_up_to(lock, NULL, BOUND_MS);
        if (status == HF_OK) {
            assert_int_equal(hf_lock_hold_count(lock, NULL), 1);
            (void)leave(lock, NULL);
        }
        assert_true(wire_free_within(w, NAME, BOUND_MS));
        assert_true(endings_become(client, 0, BOUND_MS));
        assert_int_equal(hft_int(w->server, "EXISTS %s", NAME), 0);
    }
    close_clients(w);
    hft_proxy_stop(proxy);
    w->client = NULL;
}

static void what_makes_no_values_lock_is_refused(void **world)
{
    struct world *w = *world;
    const char *values[] = {"a", NULL};
    hf_lock *lock = NULL;

    assert_status(HF_INVALID, hf_values_lock_new(w->client, NAME, values, 0,
                                                 &lock, &problem));
    assert_status(HF_INVALID, hf_values_lock_new(w->client, NAME, values, 2,
                                                 &lock, &problem));
    assert_status(HF_INVALID, hf_values_lock_new(w->client, NAME, NULL, 1,
                                                 &lock, &problem));
    assert_status(HF_INVALID,
                  hf_values_lock_new(w->client, NAME, values, HF_VALUES_MAX + 1,
                                     &lock, &problem));
    assert_status(HF_BAD_NAME, hf_values_lock_new(w->client, "", values, 1,
                                                  &lock, &problem));
    assert_status(HF_BAD_NAME, hf_values_lock_new(w->client, NULL, values, 1,
                                                  &lock, &problem));
    assert_status(HF_INVALID,
                  hf_values_lock_new(NULL, NAME, values, 1, &lock, &problem));
    assert_null(lock);
    lock = a_values_lock(w, w->client, "a", NULL);
    (void)hft_int(w->server, "SET %s text PX 60000", NAME);
    assert_status(HF_WRONG_TYPE, try_once(lock, NULL));
    (void)hft_int(w->server, "DEL %s", NAME);
    assert_ok(try_once(lock, NULL));
    assert_ok(leave(lock, NULL));
    {
        hf_lock_options options = HF_LOCK_OPTIONS_INIT;

        options.kind = HF_KIND_VALUES; /* it would have no values */
        lock = NULL;
        assert_status(HF_INVALID, hf_lock_new_as(w->client, &options, NAME, 4,
                                                 &lock, &problem));
        assert_null(lock);
    }
}

/* ---- handed over ---- */

static hf_lock *imported(struct world *w, const char *handle,
                         hf_owner **ret_owner)
{
    hf_lock *lock = NULL;

    assert_ok(
        hf_lock_import(a_client(w), handle, NULL, &lock, ret_owner, &problem));
    keep_lock(w, lock);
    keep_owner(w, *ret_owner);
    return lock;
}

/* T13 */
static void another_client_continues_a_hold_of_values(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_values_lock(w, w->client, "a", "Jack_001");
    hf_lock *rival = a_values_lock(w, w->client, "a", NULL);
    hf_owner *owner = NULL;
    hf_lock *taken;
    char *handle = NULL;

    assert_ok(try_fixed(lock, NULL, 60000));
    assert_ok(try_fixed(lock, NULL, 60000));
    assert_ok(hf_lock_export(lock, NULL, &handle, &problem));
    assert_false(hf_lock_is_held(lock, NULL));
    assert_non_null(strstr(handle, "hf1/values/"));
    taken = imported(w, handle, &owner);
    assert_int_equal(hf_lock_hold_count(taken, owner), 2);
    assert_ok(hf_lock_extend(taken, owner, 90000, &problem));
    assert_status(HF_BUSY, try_once(rival, NULL));
    assert_ok(leave(taken, owner));
    assert_status(HF_BUSY, try_once(rival, NULL));
    assert_ok(leave(taken, owner));
    assert_int_equal(hft_int(w->server, "EXISTS %s", NAME), 0);
    hf_handle_free(handle);
}

/* Nothing is created: neither when it has ended nor when another has a value.
 * spec: values/keep-3 */
static void what_has_ended_is_not_continued(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_values_lock(w, w->client, "a", "Jack_001");
    hf_lock *longer = a_values_lock(w, w->client, "z", NULL);
    hf_lock *taken = NULL;
    hf_owner *owner = NULL;
    hf_owner *other = an_owner(w);
    char *handle = NULL;

    assert_ok(try_fixed(longer, other, 60000)); /* the key stays */
    assert_ok(try_fixed(lock, NULL, 200));
    assert_ok(hf_lock_export(lock, NULL, &handle, &problem));
    hft_let_pass_ms(300);
    assert_status(HF_GONE, hf_lock_import(w->client, handle, NULL, &taken,
                                          &owner, &problem));
    hf_handle_free(handle);
    assert_ok(try_fixed(lock, NULL, 60000));
    assert_ok(hf_lock_export(lock, NULL, &handle, &problem));
    java_takes(w, A_FIELD, 60000);
    assert_status(HF_GONE, hf_lock_import(w->client, handle, NULL, &taken,
                                          &owner, &problem));
    assert_string_equal(field_of(w, A_FIELD), JAVA);
    assert_null(taken);
    hf_handle_free(handle);
    assert_ok(leave(longer, other));
}

#define SOMEBODY "00000000-0000-0000-0000-000000000000:1"

static void what_is_no_handle_of_values_is_refused(void **world)
{
    static const char *const nonsense[] = {
        "hf1/values/n/" SOMEBODY "/1/1000ms",
        "hf1/values/n//" SOMEBODY "/1/1000ms",
        "hf1/values/n/short/" SOMEBODY "/1/1000ms",
        /* Not in order; twice; no Base64; what has no values. */
        "hf1/values/n/" A_FIELD "7pNoDdizVy2xY792MaFv%2Bw/" SOMEBODY
        "/1/1000ms",
        "hf1/values/n/" A_FIELD A_FIELD "/" SOMEBODY "/1/1000ms",
        "hf1/values/n/qwvAS12pR0CgRitaypEjU-/" SOMEBODY "/1/1000ms",
        "hf1/lock/n/" A_FIELD "/" SOMEBODY "/1/1000ms",
        "hf1/values+fenced/n/" A_FIELD "/" SOMEBODY "/1/1000ms",
    };
    struct world *w = *world;
    hf_lock *lock = NULL;
    hf_owner *owner = NULL;

    for (size_t i = 0; i < sizeof(nonsense) / sizeof(nonsense[0]); i++) {
        assert_status(HF_INVALID, hf_lock_import(w->client, nonsense[i], NULL,
                                                 &lock, &owner, &problem));
    }
    assert_status(HF_GONE, hf_lock_import(w->client,
                                          "hf1/values/n/" A_FIELD "/" SOMEBODY
                                          "/1/1000ms",
                                          NULL, &lock, &owner, &problem));
    assert_null(lock);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        world_test(three_fields_stand_for_each_value),
        world_test(it_is_re_entered_with_the_same_values),
        world_test(only_values_in_common_exclude),
        world_test(an_owner_may_hold_other_values_but_not_some_twice),
        world_test(every_value_is_renewed),
        world_test(it_waits_for_the_end_of_anothers_lease),
        world_test(a_release_wakes_who_waits),
        world_test(a_value_that_java_holds_is_left_alone),
        world_test(it_can_be_forced_from_all_owners),
        world_test(losing_one_value_is_losing_all),
        world_test(others_see_it_and_cannot_release_it),
        world_test(min_hold_keeps_others_out),
        world_test(many_clients_come_and_go),
        world_test(a_cancelled_wait_leaves_nothing),
        world_test(a_server_that_stops_is_told),
        world_test(threads_take_turns),
        world_test(it_can_be_a_member_of_a_group),
        world_test(lost_answers_leave_nothing_behind),
        world_test(what_makes_no_values_lock_is_refused),
        world_test(another_client_continues_a_hold_of_values),
        world_test(what_has_ended_is_not_continued),
        world_test(what_is_no_handle_of_values_is_refused),
    };

    return cmocka_run_group_tests(tests, world_up, world_down);
}
