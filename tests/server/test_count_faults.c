/* SPDX-License-Identifier: MIT */
/* test_count_faults.c - semaphores and latches under every fault of the network.
 *
 * One test a fault, one member of a crew an operation, each with a client and
 * a name of its own, all through one proxy.  The fault hits the first script of
 * the operation.  Whatever the operation then says, the number on the server
 * must be the one that follows from it, and stay so when what was held or
 * delayed has run: a lost or a late reply neither leaks nor doubles anything.
 *
 * Rows: T14, T15, T40, 15.5.  spec: semaphore/request-2, semaphore/undo-1
 */
#include "counting.h"

#include <stdio.h>
#include <string.h>

#include "bad_day.h"

#define NONE HFT_NIL

enum operation {
    TRY_TAKE,
    WAIT_TAKE,
    RELEASE,
    RELEASE_IF_EXISTS,
    ADD,
    SET,
    DRAIN,
    DELETE,
    ARM,
    DOWN,
    DOWN_TO_ZERO,
    DELETE_LATCH,
    AWAIT_OPEN,
    OPERATIONS
};

/* The number before; after it was done; what it answers; and what else it may
 * say, after which the number is the one before. */
static const struct rule_of_operation {
    const char *name;
    int64_t before;
    int64_t after;
    int64_t answer;
    hf_status not_done;
} operations[OPERATIONS] = {
    [TRY_TAKE] = {"try", 10, 7, 0, HF_UNKNOWN},
    [WAIT_TAKE] = {"take", 10, 7, 0, HF_UNKNOWN},
    [RELEASE] = {"release", 10, 12, 0, HF_NOT_DONE},
    [RELEASE_IF_EXISTS] = {"return", 10, 12, 1, HF_NOT_DONE},
    [ADD] = {"add", 10, 14, 14, HF_NOT_DONE},
    [SET] = {"set", NONE, 5, 1, HF_NOT_DONE},
    [DRAIN] = {"drain", 10, 0, 10, HF_NOT_DONE},
    [DELETE] = {"delete", 10, NONE, 1, HF_NOT_DONE},
    [ARM] = {"arm", NONE, 5, 1, HF_NOT_DONE},
    [DOWN] = {"down", 10, 9, 9, HF_NOT_DONE},
    [DOWN_TO_ZERO] = {"zero", 1, NONE, 0, HF_NOT_DONE},
    [DELETE_LATCH] = {"unlatch", 10, NONE, 1, HF_NOT_DONE},
    [AWAIT_OPEN] = {"await", NONE, NONE, 0, HF_UNREACHABLE},
};

struct party {
    hf_client *client;
    hf_semaphore *semaphore;
    hf_latch *latch;
};

static hf_status perform(enum operation operation, struct party *party,
                         int64_t *ret_answer)
{
    hf_semaphore *pool = party->semaphore;
    hf_latch *latch = party->latch;
    bool changed = false;
    hf_status status = HF_INTERNAL;

    *ret_answer = 0;
    switch (operation) {
    case TRY_TAKE:
        return get(pool, 3, 0);
    case WAIT_TAKE:
        return get(pool, 3, SETTLED_MS);
    case RELEASE:
        return put(pool, 2);
    case RELEASE_IF_EXISTS:
        status = hf_semaphore_release_if_exists(pool, 2, &changed, &problem);
        break;
    case ADD:
        return hf_semaphore_add(pool, 4, ret_answer, &problem);
    case SET:
        status = hf_semaphore_try_set(pool, 5, 0, &changed, &problem);
        break;
    case DRAIN:
        return hf_semaphore_drain(pool, ret_answer, &problem);
    case DELETE:
        status = hf_semaphore_delete(pool, &changed, &problem);
        break;
    case ARM:
        status = hf_latch_try_set(latch, 5, &changed, &problem);
        break;
    case DOWN:
    case DOWN_TO_ZERO:
        return hf_latch_count_down(latch, ret_answer, &problem);
    case DELETE_LATCH:
        status = hf_latch_delete(latch, &changed, &problem);
        break;
    case AWAIT_OPEN:
        return await(latch, 0);
    case OPERATIONS:
        break;
    }
    *ret_answer = changed ? 1 : 0;
    return status;
}

/* So that the server knows the scripts, and the first EVALSHA with the name is
 * the operation's own. */
static bool warm_up(struct hft_member *me, hf_client *client)
{
    struct party warm = {.client = client};
    int64_t answer;
    bool well = hf_semaphore_new(client, "warm", &warm.semaphore, NULL) ==
                    HF_OK &&
                hf_latch_new(client, "warm:latch", &warm.latch, NULL) == HF_OK;
    int i;

    for (i = 0; well && i < OPERATIONS; i++) {
        if (i != WAIT_TAKE) { /* there may be nothing to take any more */
            hf_status status = perform((enum operation)i, &warm, &answer);

            well = HFT_CHECK(me, status == HF_OK || status == HF_BUSY);
        }
    }
    return hf_semaphore_free(warm.semaphore) == HF_OK &&
           hf_latch_free(warm.latch) == HF_OK && well;
}

/* It is so, and stays so while late copies run. */
static void settles_at(struct hft_member *me, const char *name,
                       int64_t expected)
{
    struct bad_day *day = me->context;
    int64_t end_ms;

    if (!HFT_CHECK(me,
                   wire_value_becomes(day->w, name, expected, SETTLED_MS))) {
        hft_member_note(me, "%s is %lld, not %lld", name,
                        (long long)wire_value(day->w, name),
                        (long long)expected);
        return;
    }
    end_ms = hft_now_ms() + 2 * BAD_DAY_LIMIT_MS;
    while (hft_now_ms() < end_ms) {
        if (!HFT_CHECK(me, wire_value(day->w, name) == expected)) {
            return;
        }
        hft_let_pass_ms(20);
    }
}

/* The operation itself, with the fault, and what must hold after it. */
static void strike(struct hft_member *me, struct party *party, const char *name)
{
    struct bad_day *day = me->context;
    const struct rule_of_operation *expected = &operations[me->index];
    struct hft_rule rule = day->rule;
    int64_t answer;
    hf_status status;
    int id;

    rule.contains = name;
    id = hft_proxy_add(day->proxy, &rule);
    status = perform((enum operation)me->index, party, &answer);
    HFT_CHECK(me, hft_proxy_hits(day->proxy, id) >= 1);
    hft_let_pass_ms(day->let_pass_ms);
    hft_proxy_release(day->proxy, id);
    if (status == HF_OK) {
        HFT_CHECK(me, answer == expected->answer);
        settles_at(me, name, expected->after);
        return;
    }
    if (!HFT_CHECK(me, !day->must_be_ok) ||
        !HFT_CHECK(me, status == expected->not_done)) {
        hft_member_note(me, "%s says %s: %s", name, hf_status_name(status),
                        problem.message);
    }
    HFT_CHECK(me, endings_become(party->client, 0, SETTLED_MS));
    settles_at(me, name, expected->before);
}

static void suffer(struct hft_member *me)
{
    struct bad_day *day = me->context;
    const struct rule_of_operation *expected = &operations[me->index];
    hf_options options = short_options();
    struct party party = {NULL, NULL, NULL};
    char name[64];

    options.response_limit_ms = BAD_DAY_LIMIT_MS;
    (void)snprintf(name, sizeof(name), "fault:%s:%u", expected->name,
                   me->index);
    if (!HFT_CHECK(me, hf_client_open(hft_proxy_url(day->proxy), &options,
                                      &party.client, NULL) == HF_OK) ||
        !HFT_CHECK(me, hf_semaphore_new(party.client, name, &party.semaphore,
                                        NULL) == HF_OK) ||
        !HFT_CHECK(me, hf_latch_new(party.client, name, &party.latch, NULL) ==
                           HF_OK) ||
        !HFT_CHECK(me, warm_up(me, party.client))) {
        return;
    }
    if (expected->before != NONE) {
        (void)hft_int(day->w->server, "SET %s %lld", name,
                      (long long)expected->before);
    }
    strike(me, &party, name);
    HFT_CHECK(me, hf_client_close(party.client) == HF_OK);
    HFT_CHECK(me, hf_semaphore_free(party.semaphore) == HF_OK);
    HFT_CHECK(me, hf_latch_free(party.latch) == HF_OK);
}

/* ---- one by one ---- */

/* T15: the caller is told that nothing is known, and it is undone behind him;
 * the copy that comes after that takes nothing.
 * spec: semaphore/undo-1, semaphore/undo-2 */
static void a_take_that_was_given_up_is_undone(void **world)
{
    struct world *w = *world;
    struct hft_proxy *proxy = hft_proxy_start(w->server);
    struct hft_rule swallow = {.direction = HFT_REPLY,
                               .match = "EVALSHA",
                               .contains = "pool",
                               .action = HFT_HOLD,
                               .times = HFT_ALWAYS};
    hf_client *client = a_hasty_client(w, proxy);
    hf_semaphore *pool = a_semaphore_of(client, "pool");
    int id;

    assert_true(set_to(pool, 10));
    assert_ok(get(pool, 1, 0));
    id = hft_proxy_add(proxy, &swallow);
    assert_status(HF_UNKNOWN, get(pool, 3, 0));
    assert_int_equal(stats_of(client).ending, 1);
    hft_proxy_release(proxy, id);
    assert_true(endings_become(client, 0, SETTLED_MS));
    assert_int_equal(wire_value(w, "pool"), 9);
    assert_ok(get(pool, 9, 0));
    hft_proxy_stop(proxy);
}

/* A release that is given up is fenced before the caller is told anything.
 * spec: semaphore/fence-1 */
static void a_release_that_was_given_up_is_not_done_later(void **world)
{
    struct world *w = *world;
    struct hft_proxy *proxy = hft_proxy_start(w->server);
    struct hft_rule late = {.direction = HFT_REQUEST,
                            .match = "EVALSHA",
                            .contains = "release",
                            .action = HFT_HOLD,
                            .times = HFT_ALWAYS};
    hf_client *client = a_hasty_client(w, proxy);
    hf_semaphore *pool = a_semaphore_of(client, "pool");
    int id;

    assert_true(set_to(pool, 10));
    assert_ok(put(pool, 1));
    id = hft_proxy_add(proxy, &late);
    assert_status(HF_NOT_DONE, put(pool, 1));
    hft_proxy_release(proxy, id);
    hft_let_pass_ms(BAD_DAY_LIMIT_MS);
    assert_int_equal(wire_value(w, "pool"), 11);
    assert_ok(put(pool, 1));
    assert_int_equal(wire_value(w, "pool"), 12);
    hft_proxy_stop(proxy);
}

/* ... and one that ran is found out to have run. */
static void a_release_without_an_answer_is_found_out(void **world)
{
    struct world *w = *world;
    struct hft_proxy *proxy = hft_proxy_start(w->server);
    struct hft_rule mute = {.direction = HFT_REPLY,
                            .match = "EVALSHA",
                            .contains = "release",
                            .action = HFT_HOLD,
                            .times = HFT_ALWAYS};
    hf_client *client = a_hasty_client(w, proxy);
    hf_semaphore *pool = a_semaphore_of(client, "pool");

    assert_true(set_to(pool, 10));
    assert_ok(put(pool, 1));
    (void)hft_proxy_add(proxy, &mute);
    assert_ok(put(pool, 1));
    assert_int_equal(wire_value(w, "pool"), 12);
    hft_proxy_release_all(proxy);
    hft_proxy_stop(proxy);
}

/* The node stays away: that, and only that, is a maybe. */
static void only_a_server_that_stays_away_leaves_a_release_open(void **world)
{
    struct world *w = *world;
    struct hft_proxy *proxy = hft_proxy_start(w->server);
    struct hft_rule mute = {.direction = HFT_REPLY,
                            .match = "EVALSHA",
                            .contains = "pool",
                            .action = HFT_HOLD,
                            .times = HFT_ALWAYS};
    hf_client *client = a_hasty_client(w, proxy);
    hf_semaphore *pool = a_semaphore_of(client, "pool");
    int64_t began;

    assert_true(set_to(pool, 10));
    assert_ok(put(pool, 1));
    (void)hft_proxy_add(proxy, &mute);
    began = hft_now_ms();
    assert_status(HF_UNKNOWN, put(pool, 1));
    assert_between(hft_now_ms() - began, 2 * BAD_DAY_LIMIT_MS,
                   6 * BAD_DAY_LIMIT_MS + SLACK_MS);
    hft_proxy_release_all(proxy);
    hft_proxy_stop(proxy);
}

/* The client has seen that its links are gone. */
static bool is_out_of_reach(void *semaphore)
{
    int64_t found;

    return hf_semaphore_available(semaphore, &found, NULL) == HF_UNREACHABLE;
}

/* A server that is not there is no maybe: nothing was sent. */
static void a_server_that_is_away_was_sent_nothing(void **world)
{
    struct world *w = *world;
    struct hft_proxy *proxy = hft_proxy_start(w->server);
    hf_client *client = a_hasty_client(w, proxy);
    hf_semaphore *pool = a_semaphore_of(client, "pool");
    hf_latch *latch = a_latch_of(client, "gate");

    assert_true(set_to(pool, 10));
    hft_proxy_set_door(proxy, HFT_DOOR_SHUT);
    hft_proxy_cut_all(proxy);
    assert_true(hft_wait_until(is_out_of_reach, pool, BOUND_MS));
    assert_status(HF_UNREACHABLE, get(pool, 1, 0));
    assert_status(HF_UNREACHABLE, put(pool, 1));
    assert_status(HF_UNREACHABLE, get(pool, 1, 200));
    assert_status(HF_UNREACHABLE, await(latch, 200));
    assert_status(HF_UNREACHABLE, hf_latch_count_down(latch, NULL, &problem));
    hft_proxy_set_door(proxy, HFT_DOOR_OPEN);
    assert_ok(get(pool, 1, SETTLED_MS));
    assert_int_equal(wire_value(w, "pool"), 9);
    hft_proxy_stop(proxy);
}

/* The subscription is lost while a release is published: the waiter asks when
 * the link is back, or at the bound.  T18 */
static void waiters_survive_a_break(void **world)
{
    struct world *w = *world;
    struct hft_proxy *proxy = hft_proxy_start(w->server);
    hf_client *client = a_hasty_client(w, proxy);
    hf_semaphore *pool = a_semaphore_of(client, "pool");
    hf_latch *latch = a_latch_of(client, "gate");
    struct taker taker, waiter;

    assert_true(set_to(pool, 0));
    assert_true(armed_with(latch, 1));
    taker_start(&taker, pool, 1, SETTLED_MS);
    waiter_start(&waiter, latch, SETTLED_MS);
    assert_true(hft_wait_channels(w->server, 2, BOUND_MS));
    hft_proxy_set_door(proxy, HFT_DOOR_SHUT);
    hft_proxy_cut_all(proxy);
    (void)hft_int(w->server, "SET pool 1");
    (void)hft_int(w->server, "DEL gate");
    hft_let_pass_ms(100);
    hft_proxy_set_door(proxy, HFT_DOOR_OPEN);
    taker_join(&taker);
    taker_join(&waiter);
    assert_ok(taker.status);
    assert_ok(waiter.status);
    assert_int_equal(wire_value(w, "pool"), 0);
    hft_proxy_stop(proxy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BAD_DAYS,
        counting_test(a_lost_request_counts_once),
        counting_test(a_lost_reply_counts_once),
        counting_test(two_lost_replies_count_once),
        counting_test(a_link_that_swallows_requests_counts_once),
        counting_test(a_link_that_swallows_replies_counts_once),
        counting_test(a_reply_beyond_all_limits_counts_once),
        counting_test(a_request_that_runs_after_its_retry_counts_once),
        counting_test(a_request_that_runs_after_its_end_counts_once),
        counting_test(requests_that_all_run_late_count_once),
        counting_test(a_repeated_request_counts_once),
        counting_test(a_slow_reply_is_nothing),
        counting_test(a_take_that_was_given_up_is_undone),
        counting_test(a_release_that_was_given_up_is_not_done_later),
        counting_test(a_release_without_an_answer_is_found_out),
        counting_test(only_a_server_that_stays_away_leaves_a_release_open),
        counting_test(a_server_that_is_away_was_sent_nothing),
        counting_test(waiters_survive_a_break),
    };

    bad_days_are_for(OPERATIONS, suffer);
    return cmocka_run_group_tests_name("count_faults", tests, world_up,
                                       world_down);
}
