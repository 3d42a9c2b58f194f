/* SPDX-License-Identifier: MIT */
/* test_lock_faults.c - every operation under every fault of the network: T14.
 *
 * One test a fault, one member of a crew an operation, each with a client and
 * a name of its own, all through one proxy.  The fault hits the first script of
 * the operation.  Whatever the operation then says, it must be one of the things
 * it may say, the owner's count must be what follows from it, the server's must
 * become the same, and after the last release nothing must be left; nor may
 * anything that comes late touch who holds it next.
 *
 * Rows: IS-20, PL-15, T9, T14, T15, 15.5.
 */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/crew.h"
#include "support/fatal.h"
#include "support/proxy.h"

#define LIMIT_MS 400  /* of the client, for an answer */
#define LEASE_MS 1500 /* renewed each 500 ms: the count on the server heals */
#define SETTLED_MS 8000

enum operation {
    TRY_ONCE,
    TAKE_WITH_A_WAIT,
    ENTER,
    LEAVE,
    RELEASE,
    EXTEND,
    FORCE,
    OPERATIONS
};

/* What may be said when the fault has struck: done, or not to be known. */
static const struct rule_of_operation {
    const char *name;
    int holds_before;
    hf_status not_known; /* the other thing that may be said */
    int holds_if_ok;
    int holds_if_not_known;
} operations[OPERATIONS] = {
    [TRY_ONCE] = {"try", 0, HF_UNKNOWN, 1, 0},
    [TAKE_WITH_A_WAIT] = {"take", 0, HF_UNKNOWN, 1, 0},
    [ENTER] = {"enter", 1, HF_NOT_DONE, 2, 1},
    [LEAVE] = {"leave", 2, HF_UNKNOWN, 1, 1},
    [RELEASE] = {"release", 1, HF_UNKNOWN, 0, 0},
    [EXTEND] = {"extend", 1, HF_NOT_DONE, 1, 1},
    [FORCE] = {"force", 0, HF_UNKNOWN, 0, 0},
};

struct bad_day {
    struct world *w;
    struct hft_proxy *proxy;
    struct hft_rule rule;
    bool must_be_ok;     /* a retry is certain to find out */
    int64_t let_pass_ms; /* before what is held goes on its way */
};

static hf_options hasty_options(void)
{
    hf_options options = short_options();

    options.lease_ms = LEASE_MS;
    options.response_limit_ms = LIMIT_MS;
    return options;
}

/* So that the server knows the scripts, and the first EVALSHA with the name is
 * the operation's own. */
static bool warm_up(hf_client *client, hf_owner *owner)
{
    hf_lock *lock = NULL;
    bool warm = hf_lock_new(client, "warm", &lock, NULL) == HF_OK &&
                wait_up_to(lock, owner, BOUND_MS) == HF_OK &&
                try_once(lock, owner) == HF_OK &&
                hf_lock_release(lock, owner, NULL) == HF_OK &&
                hf_lock_force_release(lock, NULL, NULL) == HF_OK;

    (void)hf_lock_release(lock, owner, NULL);
    return hf_lock_free(lock) == HF_OK && warm;
}

static hf_status perform(enum operation operation, hf_lock *lock,
                         hf_owner *owner)
{
    switch (operation) {
    case TRY_ONCE:
    case ENTER:
        return try_once(lock, owner);
    case TAKE_WITH_A_WAIT:
        return wait_up_to(lock, owner, SETTLED_MS);
    case LEAVE:
    case RELEASE:
        return hf_lock_release(lock, owner, &problem);
    case EXTEND:
        return hf_lock_extend(lock, owner, LEASE_MS, &problem);
    case FORCE:
        return hf_lock_force_release(lock, NULL, &problem);
    case OPERATIONS:
        break;
    }
    return HF_INTERNAL;
}

/* The next holder, of another client, keeps it whatever comes late. */
static void next_holder_is_safe(struct hft_member *me, struct world *w,
                                const char *name)
{
    hf_options options = short_options();
    hf_client *client = NULL;
    hf_lock *lock = NULL;
    int64_t end_ms;

    HFT_CHECK(me, hf_client_open(hft_server_url(w->server), &options, &client,
                                 NULL) == HF_OK);
    HFT_CHECK(me, hf_lock_new(client, name, &lock, NULL) == HF_OK);
    HFT_CHECK(me, wait_up_to(lock, NULL, SETTLED_MS) == HF_OK);
    end_ms = hft_now_ms() + 2 * LIMIT_MS;
    while (hft_now_ms() < end_ms) {
        if (!HFT_CHECK(me, wire_fields(w, name) == 1) ||
            !HFT_CHECK(me, wire_count(w, name) == 1)) {
            break;
        }
        hft_let_pass_ms(20);
    }
    HFT_CHECK(me, hf_lock_release(lock, NULL, NULL) == HF_OK);
    HFT_CHECK(me, wire_free_within(w, name, SETTLED_MS));
    HFT_CHECK(me, hf_client_close(client) == HF_OK);
    HFT_CHECK(me, hf_lock_free(lock) == HF_OK);
}

/* The operation itself, with the fault, and what must hold after it. */
static void strike(struct hft_member *me, hf_lock *lock, hf_owner *owner,
                   const char *name)
{
    struct bad_day *day = me->context;
    const struct rule_of_operation *expected = &operations[me->index];
    struct hft_rule rule = day->rule;
    hf_status status;
    int64_t count;
    int id;

    rule.contains = name;
    id = hft_proxy_add(day->proxy, &rule);
    status = perform((enum operation)me->index, lock, owner);
    count = hf_lock_hold_count(lock, owner);
    HFT_CHECK(me, hft_proxy_hits(day->proxy, id) >= 1);
    hft_let_pass_ms(day->let_pass_ms);
    hft_proxy_release(day->proxy, id);
    if (status == HF_OK) {
        HFT_CHECK(me, count == expected->holds_if_ok);
    } else {
        if (!HFT_CHECK(me, !day->must_be_ok) ||
            !HFT_CHECK(me, status == expected->not_known)) {
            hft_member_note(me, "%s says %s: %s", name, hf_status_name(status),
                            problem.message);
        }
        HFT_CHECK(me, count == expected->holds_if_not_known);
    }
    if (count > 0) {
        HFT_CHECK(me, hft_wait_int(day->w->server, count, SETTLED_MS,
                                   "EVAL %s 1 %s",
                                   "return redis.call('hvals', KEYS[1])[1] "
                                   "or 0",
                                   name));
    }
}

static void suffer(struct hft_member *me)
{
    struct bad_day *day = me->context;
    const struct rule_of_operation *expected = &operations[me->index];
    hf_options options = hasty_options();
    hf_client *client = NULL;
    hf_owner *owner = NULL;
    hf_lock *lock = NULL;
    char name[64];
    int i;

    (void)snprintf(name, sizeof(name), "fault:%s:%u", expected->name,
                   me->index);
    if (!HFT_CHECK(me, hf_client_open(hft_proxy_url(day->proxy), &options,
                                      &client, NULL) == HF_OK) ||
        !HFT_CHECK(me, hf_owner_new(client, &owner, NULL) == HF_OK) ||
        !HFT_CHECK(me, hf_lock_new(client, name, &lock, NULL) == HF_OK) ||
        !HFT_CHECK(me, warm_up(client, owner))) {
        return;
    }
    if (me->index == FORCE) {
        stranger_takes(day->w, name, 600000);
    }
    for (i = 0; i < expected->holds_before; i++) {
        HFT_CHECK(me, try_once(lock, owner) == HF_OK);
    }
    strike(me, lock, owner, name);
    while (hf_lock_hold_count(lock, owner) > 0) {
        if (!HFT_CHECK(me, hf_lock_release(lock, owner, NULL) == HF_OK)) {
            break;
        }
    }
    HFT_CHECK(me, wire_free_within(day->w, name, SETTLED_MS));
    HFT_CHECK(me, endings_become(client, 0, SETTLED_MS));
    HFT_CHECK(me, hft_int(day->w->server, "EXISTS %s", name) == 0);
    next_holder_is_safe(me, day->w, name);
    HFT_CHECK(me, stats_of(client).holds == 0);
    HFT_CHECK(me, hf_client_close(client) == HF_OK);
    HFT_CHECK(me, hf_owner_free(owner) == HF_OK);
    HFT_CHECK(me, hf_lock_free(lock) == HF_OK);
}

static void all_operations_survive(void **world, struct bad_day *day)
{
    struct hft_crew *crew;
    const char *wrong;

    day->w = *world;
    day->proxy = hft_proxy_start(day->w->server);
    day->rule.match = "EVALSHA";
    crew = hft_crew_start(OPERATIONS, suffer, day);
    wrong = hft_crew_join(crew, 60000);
    if (wrong != NULL) {
        print_error("%s\n", wrong);
    }
    assert_null(wrong);
    hft_crew_free(crew);
    hft_proxy_stop(day->proxy);
}

/* The request never gets there, and the link is cut: a retry finds out. */
static void a_lost_request_changes_nothing(void **world)
{
    struct bad_day day = {
        .rule = {.direction = HFT_REQUEST, .action = HFT_CUT_BEFORE},
        .must_be_ok = true};

    all_operations_survive(world, &day);
}

/* 15.5, T9, IS-20: it ran, and the answer is lost: a retry finds out. */
static void a_lost_reply_changes_nothing(void **world)
{
    struct bad_day day = {
        .rule = {.direction = HFT_REPLY, .action = HFT_CUT_BEFORE},
        .must_be_ok = true};

    all_operations_survive(world, &day);
}

/* The retry's reply is lost as well. */
static void two_lost_replies_change_nothing(void **world)
{
    struct bad_day day = {
        .rule = {.direction = HFT_REPLY, .action = HFT_CUT_BEFORE, .times = 2}};

    all_operations_survive(world, &day);
}

/* The link goes silent before the request: nothing but time tells. */
static void a_link_that_swallows_requests_changes_nothing(void **world)
{
    struct bad_day day = {
        .rule = {.direction = HFT_REQUEST, .action = HFT_BLACK_HOLE}};

    all_operations_survive(world, &day);
}

static void a_link_that_swallows_replies_changes_nothing(void **world)
{
    struct bad_day day = {
        .rule = {.direction = HFT_REPLY, .action = HFT_BLACK_HOLE}};

    all_operations_survive(world, &day);
}

/* The reply comes, but later than anybody waits for it. */
static void a_reply_beyond_all_limits_changes_nothing(void **world)
{
    struct bad_day day = {.rule = {.direction = HFT_REPLY,
                                   .action = HFT_DELAY,
                                   .delay_ms = 3 * LIMIT_MS}};

    all_operations_survive(world, &day);
}

/* The request runs, but after its own retry: reordered across links. */
static void a_request_that_runs_after_its_retry_changes_nothing(void **world)
{
    struct bad_day day = {.rule = {.direction = HFT_REQUEST,
                                   .action = HFT_DELAY,
                                   .delay_ms = 2 * LIMIT_MS}};

    all_operations_survive(world, &day);
}

/* Held until the operation has long ended. */
static void a_request_that_runs_after_its_end_changes_nothing(void **world)
{
    struct bad_day day = {
        .rule = {.direction = HFT_REQUEST, .action = HFT_HOLD},
        .let_pass_ms = 100};

    all_operations_survive(world, &day);
}

/* The server sees it twice at once. */
static void a_repeated_request_counts_once(void **world)
{
    struct bad_day day = {
        .rule = {.direction = HFT_REQUEST, .action = HFT_REPEAT},
        .must_be_ok = true};

    all_operations_survive(world, &day);
}

/* A reply that is late, but within the limit, is nothing at all. */
static void a_slow_reply_is_nothing(void **world)
{
    struct bad_day day = {.rule = {.direction = HFT_REPLY,
                                   .action = HFT_DELAY,
                                   .delay_ms = LIMIT_MS / 3},
                          .must_be_ok = true};

    all_operations_survive(world, &day);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        world_test(a_lost_request_changes_nothing),
        world_test(a_lost_reply_changes_nothing),
        world_test(two_lost_replies_change_nothing),
        world_test(a_link_that_swallows_requests_changes_nothing),
        world_test(a_link_that_swallows_replies_changes_nothing),
        world_test(a_reply_beyond_all_limits_changes_nothing),
        world_test(a_request_that_runs_after_its_retry_changes_nothing),
        world_test(a_request_that_runs_after_its_end_changes_nothing),
        world_test(a_repeated_request_counts_once),
        world_test(a_slow_reply_is_nothing),
    };

    return cmocka_run_group_tests_name("lock_faults", tests, world_up,
                                       world_down);
}
