/* SPDX-License-Identifier: MIT */
/* test_multi_together.c - a multi lock by one script: all its members or none.
 *
 * What is lost, late, cancelled or in the way then does no more harm than to a
 * single lock.  Rows: ML-02, ML-03, ML-20, ML-24; T14, T15, T58.
 */
#include "fleet.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scripts_data.h"
#include "support/crew.h"
#include "support/fatal.h"
#include "support/proxy.h"

#define LIMIT_MS 800

static int servers_up(void **world)
{
    return fleet_up(world, 1);
}

static hf_group *abc(struct world *w)
{
    return a_group(w, w->client, "a", "b", "c", NULL);
}

static void assert_free(struct world *w)
{
    assert_int_equal(wire_ttl(w, "a"), -2);
    assert_int_equal(wire_ttl(w, "b"), -2);
    assert_int_equal(wire_ttl(w, "c"), -2);
}

static void assert_held_once(struct world *w)
{
    static const char *const names[] = {"a", "b", "c"};

    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(wire_fields(w, names[i]), 1);
        assert_int_equal(wire_count(w, names[i]), 1);
    }
}

/* ---- one script ---- */

static void server_knows_the_script(struct world *w)
{
    hf_group *group = a_group(w, w->client, "w1", "w2", NULL);

    assert_ok(group_try(group, NULL));
    assert_ok(group_leave(group, NULL));
}

/* spec: together/acquire-3, together/acquire-4 */
static void one_script_takes_all_members(void **world)
{
    struct world *w = *world;
    hf_group *group = abc(w);
    char owner[128];
    int64_t before;

    server_knows_the_script(w);
    before = stats_of(w->client).scripts_sent;
    assert_ok(group_try(group, NULL));
    assert_int_equal(stats_of(w->client).scripts_sent, before + 1);
    assert_held_once(w);
    (void)snprintf(owner, sizeof(owner), "%s", wire_owner(w, "a"));
    assert_string_not_equal(owner,
                            wire_owner(w, "b")); /* numbers of their own */
    assert_memory_equal(owner, hf_client_id(w->client), 36);
    assert_between(wire_ttl(w, "a") - wire_ttl(w, "c"), -50, 50);
    assert_ok(group_leave(group, NULL));
    assert_free(w);
}

/* spec: together/acquire-6 */
static void it_costs_three_commands_for_each_and_one(void **world)
{
    struct world *w = *world;
    hf_group *group = abc(w);

    server_knows_the_script(w);
    hft_reset_calls(w->server);
    assert_ok(group_try(group, NULL));
    assert_int_equal(hft_calls(w->server, "evalsha"), 1);
    assert_int_equal(hft_calls(w->server, "pttl"), 3);
    assert_int_equal(hft_calls(w->server, "time"), 1);
    assert_int_equal(hft_calls(w->server, "hset"), 3);
    assert_int_equal(hft_calls(w->server, "pexpire"), 3);
    assert_int_equal(hft_calls(w->server, "hexists"), 0);
    assert_ok(group_leave(group, NULL));
}

/* spec: together/acquire-1 */
static void a_busy_one_in_the_middle_has_nothing_taken(void **world)
{
    struct world *w = *world;
    hf_group *group = abc(w);
    hf_acquire how = once(NULL, 0);
    hf_outcome outcomes[3];
    int64_t before;

    server_knows_the_script(w);
    before = stats_of(w->client).scripts_sent;
    stranger_takes(w, "b", 60000);
    assert_status(HF_BUSY, hf_group_acquire(group, &how, outcomes, &problem));
    assert_int_equal(stats_of(w->client).scripts_sent, before + 1);
    assert_non_null(strstr(problem.message, "b: "));
    assert_non_null(strstr(problem.message, " ms to run"));
    assert_int_equal(outcomes[0].status, HF_NOT_DONE);
    assert_int_equal(outcomes[1].status, HF_BUSY);
    assert_int_equal(outcomes[2].status, HF_NOT_DONE);
    assert_int_equal(wire_ttl(w, "a"), -2);
    assert_int_equal(wire_ttl(w, "c"), -2);
    stranger_vanishes(w, "b");
}

/* What is made before the one that fails goes again.
 * spec: together/acquire-5 */
static void one_that_cannot_be_written_has_nothing_taken(void **world)
{
    struct world *w = *world;
    const struct hfi_script *script = &hfi_scripts[HFI_SCRIPT_TOGETHER_ACQUIRE];
    const char *answer;

    (void)hft_int(w->server, "SET tokens text");
    answer = hft_str(w->server,
                     "EVAL %b 3 a b tokens 60000 9000000000000 lock %s - 0 "
                     "lock %s 0 0",
                     script->text, script->len_bytes, STRANGER, STRANGER);
    assert_memory_equal(answer, "2 ", 2);
    assert_non_null(strstr(answer, "not an integer"));
    assert_int_equal(wire_ttl(w, "a"), -2);
    assert_int_equal(wire_ttl(w, "b"), -2);
}

/* Every kind that can, with what it has on the wire. */
static void kinds_are_mixed_in_one_script(void **world)
{
    static const hf_kind kinds[] = {HF_KIND_LOCK,         HF_KIND_FENCED,
                                    HF_KIND_NONREENTRANT, HF_KIND_SPIN,
                                    HF_KIND_WRITE,        HF_KIND_TOKEN};
    enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };
    struct world *w = *world;
    hf_lock *locks[KINDS];
    hf_owner *other = an_owner(w);
    hf_group *group;
    int64_t before;

    for (size_t i = 0; i < KINDS; i++) {
        char name[8];

        (void)snprintf(name, sizeof(name), "k%zu", i);
        locks[i] = a_kind_of_lock(w, w->client, kinds[i], name);
    }
    assert_ok(hf_multi_lock_new(locks, KINDS, &group, &problem));
    keep_group(group);
    server_knows_the_script(w);
    before = stats_of(w->client).scripts_sent;
    assert_ok(group_try(group, NULL));
    assert_int_equal(stats_of(w->client).scripts_sent, before + 1);
    assert_int_equal(hft_int(w->server, "GET redisson_lock_token:{k1}"), 1);
    assert_int_equal(hft_int(w->server, "HLEN k4"), 2); /* with its mode */
    assert_int_equal(hft_int(w->server, "STRLEN k5"), 38);
    assert_status(HF_BUSY, group_try(group, other));
    hft_let_pass_ms(2 * W_MS); /* each is renewed in its own way */
    assert_true(hf_group_is_held(group, NULL));
    assert_ok(group_leave(group, NULL));
    assert_int_equal(hft_int(w->server, "EXISTS k0 k1 k2 k3 k4 k5"), 0);
}

static void a_script_that_is_forgotten_is_sent_along(void **world)
{
    struct world *w = *world;
    hf_group *group = abc(w);

    assert_ok(group_try(group, NULL));
    assert_ok(group_leave(group, NULL));
    (void)hft_int(w->server, "SCRIPT FLUSH");
    assert_ok(group_try(group, NULL));
    assert_held_once(w);
    assert_ok(group_leave(group, NULL));
    assert_free(w);
}

/* One is held by its owner already: it is entered behind the others. */
static void what_the_owner_holds_is_entered(void **world)
{
    struct world *w = *world;
    hf_group *group = abc(w);
    hf_lock *one = a_lock(w, "b");

    assert_ok(try_once(one, NULL));
    assert_ok(group_try(group, NULL));
    assert_int_equal(wire_count(w, "a"), 1);
    assert_int_equal(wire_count(w, "b"), 2);
    assert_ok(group_leave(group, NULL));
    assert_int_equal(wire_ttl(w, "a"), -2);
    assert_int_equal(wire_count(w, "b"), 1);
    stranger_takes(w, "c", 60000);
    assert_status(HF_BUSY, group_try(group, NULL));
    assert_int_equal(wire_count(w, "b"), 1);
    assert_int_equal(wire_ttl(w, "a"), -2);
    stranger_vanishes(w, "c");
    assert_ok(leave(one, NULL));
}

/* ---- waiting ---- */

struct waiting {
    hf_group *group;
    hf_acquire how;
    hf_status status;
    pthread_t thread;
};

static void *wait_for_group(void *context)
{
    struct waiting *waiting = context;

    waiting->status = hf_group_acquire(waiting->group, &waiting->how, NULL,
                                       &problem);
    return NULL;
}

static void waiting_start(struct waiting *waiting, hf_group *group,
                          const hf_acquire *how)
{
    waiting->group = group;
    waiting->how = *how;
    assert_int_equal(
        pthread_create(&waiting->thread, NULL, wait_for_group, waiting), 0);
}

static hf_status waiting_join(struct waiting *waiting)
{
    pthread_join(waiting->thread, NULL);
    return waiting->status;
}

static void wait_until_subscribed(struct world *w, const char *channel)
{
    assert_true(
        hft_wait_int(w->server, 1, BOUND_MS, "PUBSUB CHANNELS %s", channel));
}

#define CHANNEL(name) "redisson_lock__channel:{" name "}"

/* Now at the one, now at the other, and never with anything in its hands. */
static void who_waits_holds_nothing(void **world)
{
    struct world *w = *world;
    hf_group *group = abc(w);
    struct waiting waiting = {0};
    hf_owner *owner = an_owner(w);
    hf_acquire how = once(owner, 600);

    how.wait_ms = BOUND_MS;
    how.renew = 0;
    stranger_takes(w, "a", 60000);
    stranger_takes(w, "c", 60000);
    waiting_start(&waiting, group, &how);
    wait_until_subscribed(w, CHANNEL("a"));
    assert_int_equal(wire_ttl(w, "b"), -2);
    stranger_releases(w, "a");
    wait_until_subscribed(w, CHANNEL("c"));
    assert_int_equal(wire_ttl(w, "a"), -2);
    assert_int_equal(wire_ttl(w, "b"), -2);
    hft_let_pass_ms(700); /* no lease of it runs while it waits */
    stranger_releases(w, "c");
    assert_status(HF_OK, waiting_join(&waiting));
    /* All begin now, and are not renewed. */
    assert_between(hf_group_remaining_ms(group, owner), 200, 600);
    assert_between(wire_ttl(w, "a") - wire_ttl(w, "c"), -50, 50);
    assert_true(wire_free_within(w, "a", BOUND_MS));
    assert_status(HF_LOST, group_leave(group, owner));
}

static void cancelled_while_it_waits_it_leaves_nothing(void **world)
{
    struct world *w = *world;
    hf_group *group = abc(w);
    struct waiting waiting = {0};
    hf_acquire how = HF_ACQUIRE_INIT;

    how.cancel = a_cancel(w);
    stranger_takes(w, "b", 60000);
    waiting_start(&waiting, group, &how);
    wait_until_subscribed(w, CHANNEL("b"));
    hf_cancel_fire(how.cancel);
    assert_status(HF_CANCELLED, waiting_join(&waiting));
    assert_int_equal(wire_ttl(w, "a"), -2);
    assert_int_equal(wire_ttl(w, "c"), -2);
    assert_int_equal(stats_of(w->client).ending, 0);
    stranger_vanishes(w, "b");
}

/* Two names of which one is always held: who is patient takes the first and
 * waits for the other. */
struct juggler {
    hf_lock *a, *b;
    atomic_bool began;
    atomic_bool
        dropped; /* it could not have the one, and let go of the other */
};

static void juggle(struct hft_member *me)
{
    struct juggler *juggler = me->context;
    hf_lock *mine = juggler->b, *next = juggler->a;

    if (!HFT_CHECK(me, try_once(mine, NULL) == HF_OK)) {
        return;
    }
    atomic_store(&juggler->began, true);
    while (!hft_member_should_stop(me)) {
        hf_lock *had = mine;

        if (wait_up_to(next, NULL, 300) != HF_OK) {
            break;
        }
        mine = next;
        next = had;
        HFT_CHECK(me, leave(had, NULL) == HF_OK);
        hft_let_pass_ms(20);
    }
    atomic_store(&juggler->dropped, !hft_member_should_stop(me));
    HFT_CHECK(me, leave(mine, NULL) == HF_OK);
}

static bool is_juggling(void *juggler)
{
    return atomic_load(&((struct juggler *)juggler)->began);
}

static void members_that_are_never_free_at_once_are_taken_in_order(void **world)
{
    struct world *w = *world;
    struct juggler juggler = {.a = a_lock(w, "a"), .b = a_lock(w, "b")};
    hf_group *group = a_group(w, a_client(w), "a", "b", NULL);
    struct hft_crew *crew = hft_crew_start(1, juggle, &juggler);

    assert_true(hft_wait_until(is_juggling, &juggler, BOUND_MS));
    assert_ok(group_wait(group, NULL, BOUND_MS));
    assert_true(atomic_load(&juggler.dropped));
    hft_crew_stop(crew);
    assert_null(hft_crew_join(crew, BOUND_MS));
    hft_crew_free(crew);
    assert_ok(group_leave(group, NULL));
    assert_free(w);
}

/* ---- lost and late ---- */

struct delay {
    struct world *w;
    struct hft_proxy *proxy;
    hf_client *client;
    hf_group *group;
    hf_owner *owner;
    int id;
};

static struct delay delay_begin(void **world)
{
    struct delay delay = {.w = *world};
    hf_options options = short_options();
    hf_group *warm;

    options.response_limit_ms = LIMIT_MS;
    delay.proxy = hft_proxy_start(delay.w->server);
    delay.client = a_client_at(delay.w, hft_proxy_url(delay.proxy), &options);
    delay.owner = an_owner_of(delay.w, delay.client);
    delay.group = a_group(delay.w, delay.client, "a", "b", "c", NULL);
    warm = a_group(delay.w, delay.client, "w1", "w2", NULL);
    assert_ok(group_try(warm, delay.owner));
    assert_ok(group_leave(warm, delay.owner));
    return delay;
}

static void add_rule(struct delay *delay, enum hft_direction direction,
                     enum hft_action action)
{
    struct hft_rule rule = {.direction = direction,
                            .match = "EVALSHA",
                            .contains = "\nlock\r",
                            .action = action};

    delay->id = hft_proxy_add(delay->proxy, &rule);
}

/* Nothing is left, and no End is under way. */
static void delay_end(struct delay *delay)
{
    assert_true(wire_free_within(delay->w, "a", BOUND_MS));
    assert_true(wire_free_within(delay->w, "b", BOUND_MS));
    assert_true(wire_free_within(delay->w, "c", BOUND_MS));
    assert_true(endings_become(delay->client, 0, BOUND_MS));
    assert_free(delay->w);
}

/* Take them with the first copy held and the links cut: the second does. */
static void take_by_the_second_copy(struct delay *delay)
{
    struct waiting waiting = {0};
    hf_acquire how = once(delay->owner, 60000);

    how.wait_ms = BOUND_MS;
    how.renew = 0;
    add_rule(delay, HFT_REQUEST, HFT_HOLD);
    waiting_start(&waiting, delay->group, &how);
    assert_true(hft_proxy_wait_hits(delay->proxy, delay->id, 1, BOUND_MS));
    hft_proxy_cut_all(delay->proxy);
    assert_status(HF_OK, waiting_join(&waiting));
    assert_held_once(delay->w);
}

static void delay_close(struct delay *delay)
{
    close_clients(delay->w);
    hft_proxy_stop(delay->proxy);
}

/* It ran, and nobody knows: the next copy finds the numbers there. */
static void a_lost_answer_counts_nothing_twice(void **world)
{
    struct delay delay = delay_begin(world);

    add_rule(&delay, HFT_REPLY, HFT_CUT_BEFORE);
    assert_ok(group_wait(delay.group, delay.owner, BOUND_MS));
    assert_int_equal(hft_proxy_hits(delay.proxy, delay.id), 1);
    assert_held_once(delay.w);
    assert_ok(group_leave(delay.group, delay.owner));
    delay_end(&delay);
    delay_close(&delay);
}

/* spec: together/acquire-3 */
static void a_late_copy_changes_nothing_while_they_are_held(void **world)
{
    struct delay delay = delay_begin(world);

    take_by_the_second_copy(&delay);
    hft_proxy_release(delay.proxy, delay.id);
    hft_let_pass_ms(100);
    assert_held_once(delay.w);
    assert_ok(group_leave(delay.group, delay.owner));
    delay_end(&delay);
    delay_close(&delay);
}

/* It may even take them all again: each is undone until none can run. */
static void a_late_copy_after_the_release_leaves_nothing(void **world)
{
    struct delay delay = delay_begin(world);

    take_by_the_second_copy(&delay);
    assert_ok(group_leave(delay.group, delay.owner));
    hft_proxy_release(delay.proxy, delay.id);
    delay_end(&delay);
    delay_close(&delay);
}

/* Much later it does nothing by itself.
 * spec: together/acquire-2 */
static void a_copy_past_its_not_after_does_nothing(void **world)
{
    struct delay delay = delay_begin(world);

    take_by_the_second_copy(&delay);
    assert_ok(group_leave(delay.group, delay.owner));
    assert_true(endings_become(delay.client, 0, 2 * LIMIT_MS + SLACK_MS));
    assert_free(delay.w);
    hft_proxy_release(delay.proxy, delay.id);
    for (int i = 0; i < 20; i++) {
        assert_free(delay.w);
        hft_let_pass_ms(5);
    }
    delay_end(&delay);
    delay_close(&delay);
}

/* One of them has been taken by another since: the others stay untouched. */
static void a_late_copy_meets_another_holder_and_takes_nothing(void **world)
{
    struct delay delay = delay_begin(world);

    take_by_the_second_copy(&delay);
    assert_ok(group_leave(delay.group, delay.owner));
    assert_free(delay.w);
    stranger_takes(delay.w, "b", 60000);
    hft_proxy_release(delay.proxy, delay.id);
    hft_let_pass_ms(100);
    assert_int_equal(wire_ttl(delay.w, "a"), -2);
    assert_string_equal(wire_owner(delay.w, "b"), STRANGER);
    assert_int_equal(wire_ttl(delay.w, "c"), -2);
    stranger_vanishes(delay.w, "b");
    delay_end(&delay);
    delay_close(&delay);
}

/* Given up while it is on its way: it is unknown, and undone. */
static void cancelled_in_flight_nothing_is_left(void **world)
{
    struct delay delay = delay_begin(world);
    struct waiting waiting = {0};
    hf_acquire how = once(delay.owner, 60000);

    how.wait_ms = BOUND_MS;
    how.cancel = NULL;
    assert_ok(hf_cancel_new(delay.client, &how.cancel, &problem));
    add_rule(&delay, HFT_REPLY, HFT_HOLD);
    waiting_start(&waiting, delay.group, &how);
    assert_true(hft_proxy_wait_hits(delay.proxy, delay.id, 1, BOUND_MS));
    assert_held_once(delay.w); /* it has run */
    hf_cancel_fire(how.cancel);
    assert_status(HF_CANCELLED, waiting_join(&waiting));
    hft_proxy_release(delay.proxy, delay.id);
    delay_end(&delay);
    hf_cancel_free(how.cancel);
    delay_close(&delay);
}

#define here(function) fleet_test(function)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        here(one_script_takes_all_members),
        here(it_costs_three_commands_for_each_and_one),
        here(a_busy_one_in_the_middle_has_nothing_taken),
        here(one_that_cannot_be_written_has_nothing_taken),
        here(kinds_are_mixed_in_one_script),
        here(a_script_that_is_forgotten_is_sent_along),
        here(what_the_owner_holds_is_entered),
        here(who_waits_holds_nothing),
        here(cancelled_while_it_waits_it_leaves_nothing),
        here(members_that_are_never_free_at_once_are_taken_in_order),
        here(a_lost_answer_counts_nothing_twice),
        here(a_late_copy_changes_nothing_while_they_are_held),
        here(a_late_copy_after_the_release_leaves_nothing),
        here(a_copy_past_its_not_after_does_nothing),
        here(a_late_copy_meets_another_holder_and_takes_nothing),
        here(cancelled_in_flight_nothing_is_left),
    };

    return cmocka_run_group_tests(tests, servers_up, fleet_down);
}
