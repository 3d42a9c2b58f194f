/* SPDX-License-Identifier: MIT */
/* test_fair_queue.c - the queue of a fair lock, script by script.
 *
 * The scripts are run by hand, for waiters that are none: two clients of ours
 * (A and B) and programs in Java, whose entries are made with the commands that
 * Redisson's scripts use.  So every state of the queue can be made, also those
 * that somebody damaged.  Rules are those of docs/wire/fair.md; rows of
 * BEHAVIOURS: FL-05, FL-06, FL-07, FL-08, IS-21, IS-22, 15.23; T21, T24.
 */
#include "world.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "listener.h"
#include "scripts_data.h"

#define NAME "till"
#define QUEUE "redisson_lock_queue:{till}"
#define SCORES "redisson_lock_timeout:{till}"
#define ALIVE "holdfast_fair_alive:{till}"
#define WAITS "holdfast_fair_waits:{till}"
#define CHANNEL "redisson_lock__channel:{till}"
#define MEMBERS "holdfast_fair_members:{till}"
#define SCRATCH "holdfast_fair_scratch:{till}"
#define KEYS_OF                                                                \
    " 7 " NAME " " QUEUE " " SCORES " " ALIVE " " WAITS " " MEMBERS            \
    " " SCRATCH " "

#define A(n) "aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa:" #n
#define B(n) "bbbbbbbb-bbbb-4bbb-8bbb-bbbbbbbbbbbb:" #n
#define JAVA(n) "0badcafe-0bad-4afe-8bad-cafe0badcafe:" #n

#define LEASE_MS 30000
#define WAIT_MS 300000
#define ALIVE_MS 5000
#define FAR_MS INT64_C(9000000000000)

static const char *run_script(struct world *w, int script, const char *args)
{
    char format[1024];

    snprintf(format, sizeof(format), "EVAL %%b" KEYS_OF "%s", args);
    return hft_str(w->server, format, hfi_scripts[script].text,
                   hfi_scripts[script].len_bytes);
}

/* NULL: granted.  "30000": refused, first in the queue; "30000 0 0 0": behind. */
static const char *ask_waiting(struct world *w, const char *who,
                               int64_t wait_ms, int64_t alive_ms)
{
    char args[512];

    snprintf(args, sizeof(args),
             "%s %d %" PRId64 " " CHANNEL " %" PRId64 " %" PRId64, who,
             LEASE_MS, FAR_MS, wait_ms, alive_ms);
    return run_script(w, HFI_SCRIPT_FAIR_ACQUIRE, args);
}

static const char *ask(struct world *w, const char *who)
{
    return ask_waiting(w, who, WAIT_MS, ALIVE_MS);
}

static const char *release_by(struct world *w, const char *who)
{
    char args[256];

    snprintf(args, sizeof(args), "%s " CHANNEL, who);
    return run_script(w, HFI_SCRIPT_FAIR_RELEASE, args);
}

static const char *undo(struct world *w, const char *who)
{
    char args[256];

    snprintf(args, sizeof(args), "%s " CHANNEL, who);
    return run_script(w, HFI_SCRIPT_FAIR_UNDO, args);
}

/* As Redisson queues a thread: at the end, behind the last one's score. */
static void java_queues(struct world *w, const char *who)
{
    static const char script[] =
        "local now = redis.call('time')[1] * 1000 "
        "local last = redis.call('lindex', KEYS[1], -1) "
        "local from = last and redis.call('zscore', KEYS[2], last) or now "
        "redis.call('zadd', KEYS[2], from + ARGV[2], ARGV[1]) "
        "return redis.call('rpush', KEYS[1], ARGV[1])";

    hft_int(w->server, "EVAL %s 2 " QUEUE " " SCORES " %s %d", script, who,
            WAIT_MS);
}

/* Until a waiter is believed, from now, to those who read Redisson's scores. */
static int64_t left_of(struct world *w, const char *who)
{
    const char *score = hft_str(w->server, "ZSCORE " SCORES " %s", who);
    int64_t now;

    if (score == NULL) {
        return -1;
    }
    now = hft_int(w->server, "EVAL %s 0",
                  "return redis.call('time')[1] * 1000");
    return strtoll(score, NULL, 10) - now;
}

/* As if nothing had been heard of it for longer than it counts as alive. */
static void dies(struct world *w, const char *who)
{
    assert_int_equal(hft_int(w->server, "ZADD " ALIVE " XX CH 1 %s", who), 1);
}

static const char *queue(struct world *w)
{
    return hft_str(w->server, "LRANGE " QUEUE " 0 -1");
}

/* Only the lock itself is left. */
static void assert_no_queue(struct world *w)
{
    assert_int_equal(
        hft_int(w->server, "EXISTS " QUEUE " " SCORES " " ALIVE " " WAITS), 0);
}

/* Times of these tests are rough: seconds, of hundreds. */
#define assert_near(value, expected)                                           \
    assert_between((value), (expected)-4000, (expected) + 4000)

/* spec: fair/name-1, fair/queue-1, fair/queue-2, fair/acquire-4, fair/queue-3
 * FL-05 */
static void waiters_stand_in_list_and_scores_as_redissons_do(void **world)
{
    struct world *w = *world;

    assert_null(ask(w, A(1)));
    assert_no_queue(w);
    assert_between(strtoll(ask(w, A(2)), NULL, 10), LEASE_MS - 2000, LEASE_MS);
    assert_string_equal(strchr(ask(w, B(1)), ' '), " 0 0 0");
    assert_string_equal(queue(w), A(2) " " B(1));
    assert_near(left_of(w, A(2)), LEASE_MS + WAIT_MS);
    assert_near(left_of(w, B(1)), LEASE_MS + 2 * WAIT_MS);
    assert_int_equal(hft_int(w->server, "HGET " WAITS " " B(1)), WAIT_MS);
    assert_between(hft_int(w->server, "PTTL " ALIVE), 2 * WAIT_MS, 3 * WAIT_MS);
    assert_between(hft_int(w->server, "PTTL " WAITS), 2 * WAIT_MS, 3 * WAIT_MS);
}

/* spec: fair/acquire-5 */
static void asking_again_keeps_the_place_and_the_score(void **world)
{
    struct world *w = *world;
    int64_t left;

    ask(w, A(1));
    ask(w, A(2));
    ask(w, B(1));
    left = left_of(w, A(2));
    ask(w, B(1));
    ask(w, A(2));
    assert_string_equal(queue(w), A(2) " " B(1));
    assert_between(left_of(w, A(2)), left - 3000, left);
}

/* spec: fair/acquire-2, fair/acquire-3, fair/release-1, fair/message-1 */
static void the_first_in_the_queue_gets_it_and_nobody_else(void **world)
{
    struct world *w = *world;
    struct listener *ears = listener_new(w->server, CHANNEL "*");

    ask(w, A(1));
    ask(w, A(2));
    ask(w, B(1));
    assert_null(release_by(w, A(1)));
    assert_string_equal(listener_hear(ears, BOUND_MS), CHANNEL ":" A(2) " 0");
    assert_non_null(ask(w, B(1)));
    assert_non_null(ask(w, B(2)));
    assert_non_null(ask_waiting(w, B(9), 0, 0));
    assert_null(ask(w, A(2)));
    /* The one behind learns that it is first, and of the new lease. */
    assert_string_equal(listener_hear(ears, BOUND_MS), CHANNEL ":" B(1) " 0");
    assert_string_equal(queue(w), B(1) " " B(2));
    assert_null(release_by(w, A(2)));
    assert_null(ask(w, B(1)));
    assert_null(release_by(w, B(1)));
    assert_null(ask(w, B(2)));
    assert_no_queue(w);
    listener_free(ears);
}

/* spec: fair/acquire-1 */
static void what_comes_too_late_does_nothing(void **world)
{
    struct world *w = *world;

    ask(w, A(1));
    assert_int_equal(strspn(run_script(w, HFI_SCRIPT_FAIR_ACQUIRE,
                                       A(2) " 30000 1 " CHANNEL " 300000 5000"),
                            "0123456789"),
                     13);
    assert_no_queue(w);
}

/* FL-06: it neither queues nor overtakes.  spec: fair/acquire-6 */
static void a_try_does_not_queue(void **world)
{
    struct world *w = *world;

    ask(w, A(1));
    assert_non_null(ask_waiting(w, A(2), 0, 0));
    assert_no_queue(w);
    ask(w, B(1));
    release_by(w, A(1));
    assert_string_equal(ask_waiting(w, A(2), 0, 0), "0 0 0 0");
    assert_null(ask(w, B(1)));
}

/* spec: fair/release-2, T24 */
static void a_release_by_a_stranger_is_refused(void **world)
{
    struct world *w = *world;

    ask(w, A(1));
    ask(w, A(2));
    assert_between(strtoll(release_by(w, B(1)), NULL, 10), 1, LEASE_MS);
    hft_int(w->server, "DEL " NAME);
    assert_string_equal(release_by(w, A(1)), "-2");
    assert_string_equal(queue(w), A(2));
}

/* spec: fair/debt-1, fair/debt-2 */
static void while_all_are_ours_a_turn_costs_a_note(void **world)
{
    struct world *w = *world;

    ask(w, A(1));
    ask(w, A(2));
    ask(w, B(1));
    ask(w, B(2));
    release_by(w, A(1));
    assert_null(ask(w, A(2)));
    assert_int_equal(hft_int(w->server, "HGET " WAITS " .debt"), WAIT_MS);
    assert_near(left_of(w, B(1)), LEASE_MS + 2 * WAIT_MS);
    /* Who joins stands behind the last one's score, debt and all ... */
    ask(w, A(3));
    assert_near(left_of(w, A(3)), LEASE_MS + 4 * WAIT_MS);
    /* ... and who is none of ours is told the truth by our next script. */
    java_queues(w, JAVA(1));
    ask(w, A(3));
    assert_near(left_of(w, B(1)), LEASE_MS + WAIT_MS);
    assert_near(left_of(w, JAVA(1)), LEASE_MS + 4 * WAIT_MS);
    assert_null(hft_str(w->server, "HGET " WAITS " .debt"));
}

/* FL-07.  spec: fair/debt-3 */
static void a_foreign_waiter_is_given_what_the_head_had_added(void **world)
{
    struct world *w = *world;

    ask(w, A(1));
    ask(w, A(2));
    java_queues(w, JAVA(1));
    ask(w, B(1));
    release_by(w, A(1));
    assert_null(ask(w, A(2)));
    assert_near(left_of(w, JAVA(1)), LEASE_MS + WAIT_MS);
    assert_near(left_of(w, B(1)), LEASE_MS + 2 * WAIT_MS);
}

/* Many are paid for in another way than few.  spec: fair/debt-3 */
static void a_long_queue_is_given_the_same(void **world)
{
    struct world *w = *world;
    char who[128];

    ask(w, A(1));
    ask(w, A(2));
    java_queues(w, JAVA(1));
    for (int i = 0; i < 200; i++) {
        snprintf(who, sizeof(who), B(0) "%d", i);
        ask(w, who);
    }
    release_by(w, A(1));
    assert_null(ask(w, A(2)));
    assert_int_equal(hft_int(w->server, "ZCARD " SCORES), 201);
    assert_near(left_of(w, JAVA(1)), LEASE_MS + WAIT_MS);
    assert_near(left_of(w, B(00)), LEASE_MS + 2 * WAIT_MS);
    assert_near(left_of(w, B(0199)), LEASE_MS + 201 * WAIT_MS);
    assert_int_equal(hft_int(w->server, "EXISTS " SCRATCH), 0);
    assert_null(hft_str(w->server, "HGET " WAITS " .debt"));
    /* Java's turn; and with who came and went meanwhile. */
    hft_str(w->server, "LPOP " QUEUE);
    hft_int(w->server, "ZREM " SCORES " " JAVA(1));
    java_queues(w, JAVA(2));
    ask(w, A(3));
    undo(w, B(05));
    release_by(w, A(2));
    assert_null(ask(w, B(00)));
    assert_int_equal(hft_int(w->server, "ZCARD " SCORES), 200);
    assert_int_equal(hft_int(w->server, "LLEN " QUEUE), 200);
    assert_near(left_of(w, B(01)), LEASE_MS + 2 * WAIT_MS);
    assert_near(left_of(w, B(0199)), LEASE_MS + 199 * WAIT_MS);
    assert_near(left_of(w, JAVA(2)), LEASE_MS + 200 * WAIT_MS);
    /* A set that is wrong altogether is made anew. */
    hft_int(w->server, "DEL " MEMBERS);
    hft_int(w->server, "SADD " MEMBERS " x y z");
    release_by(w, B(00));
    assert_null(ask(w, B(01)));
    assert_int_equal(hft_int(w->server, "ZCARD " SCORES), 199);
    assert_near(left_of(w, JAVA(2)), LEASE_MS + 199 * WAIT_MS);
    assert_int_equal(hft_int(w->server, "SCARD " MEMBERS), 202);
}

/* What others emptied and filled again owes nothing.  spec: fair/debt-4 */
static void a_debt_goes_with_the_queue_whoever_deletes_it(void **world)
{
    struct world *w = *world;

    ask(w, A(1));
    ask(w, A(2));
    ask(w, B(1));
    release_by(w, A(1));
    ask(w, A(2));
    assert_int_equal(hft_int(w->server, "HGET " WAITS " .debt"), WAIT_MS);
    hft_int(w->server, "DEL " QUEUE " " SCORES);
    java_queues(w, JAVA(1));
    ask(w, B(1));
    assert_near(left_of(w, JAVA(1)), WAIT_MS);
    assert_near(left_of(w, B(1)), 2 * WAIT_MS);
    assert_string_equal(queue(w), JAVA(1) " " B(1));
}

/* T21.  spec: fair/sweep-1, fair/message-2 */
static void the_dead_of_ours_go_wherever_they_stand(void **world)
{
    struct world *w = *world;
    struct listener *ears = listener_new(w->server, CHANNEL "*");

    ask(w, A(1));
    ask(w, A(2));
    ask(w, B(1));
    ask(w, B(2));
    ask(w, A(3));
    java_queues(w, JAVA(1));
    ask(w, B(3));
    dies(w, A(2));
    dies(w, B(2));
    ask(w, B(3));
    assert_string_equal(queue(w), B(1) " " A(3) " " JAVA(1) " " B(3));
    assert_string_equal(listener_hear(ears, BOUND_MS), CHANNEL ":" B(1) " 0");
    assert_near(left_of(w, B(1)), LEASE_MS + WAIT_MS);
    assert_near(left_of(w, A(3)), LEASE_MS + 2 * WAIT_MS);
    assert_near(left_of(w, JAVA(1)), LEASE_MS + 3 * WAIT_MS);
    assert_near(left_of(w, B(3)), LEASE_MS + 4 * WAIT_MS);
    assert_int_equal(hft_int(w->server, "ZCARD " SCORES), 4);
    assert_int_equal(hft_int(w->server, "ZCARD " ALIVE), 3);
    assert_null(hft_str(w->server, "HGET " WAITS " " B(2)));
    listener_free(ears);
}

/* spec: fair/sweep-1 */
static void a_hundred_dead_are_one_pass(void **world)
{
    struct world *w = *world;
    char who[128];

    ask(w, A(1));
    for (int i = 0; i < 200; i++) {
        snprintf(who, sizeof(who), B(0) "%d", i);
        ask(w, who);
    }
    java_queues(w, JAVA(1));
    for (int i = 1; i < 200; i += 2) {
        snprintf(who, sizeof(who), B(0) "%d", i);
        dies(w, who);
    }
    ask(w, A(2));
    assert_int_equal(hft_int(w->server, "LLEN " QUEUE), 102);
    assert_int_equal(hft_int(w->server, "ZCARD " ALIVE), 101);
    assert_near(left_of(w, B(00)), LEASE_MS + WAIT_MS);
    assert_near(left_of(w, B(0198)), LEASE_MS + 100 * WAIT_MS);
    assert_near(left_of(w, JAVA(1)), LEASE_MS + 101 * WAIT_MS);
}

/* spec: fair/sweep-2 */
static void who_asks_or_was_seen_is_never_taken_for_dead(void **world)
{
    struct world *w = *world;

    ask(w, A(1));
    ask(w, A(2));
    ask(w, B(1));
    hft_int(w->server, "ZADD " SCORES " 1 " A(2) " 2 " B(1));
    dies(w, A(2));
    ask(w, A(2));
    assert_string_equal(queue(w), A(2) " " B(1));
    /* Its score would soon be past: Redisson's sweep must not believe it. */
    assert_near(left_of(w, A(2)), LEASE_MS + WAIT_MS);
    ask(w, B(1));
    assert_near(left_of(w, B(1)), LEASE_MS + WAIT_MS);
}

/* FL-08, IS-21.  spec: fair/sweep-3 */
static void a_foreign_head_goes_by_its_score_and_is_told(void **world)
{
    struct world *w = *world;
    struct listener *ears = listener_new(w->server, CHANNEL "*");

    ask(w, A(1));
    java_queues(w, JAVA(1));
    java_queues(w, JAVA(2));
    ask(w, A(2));
    release_by(w, A(1));
    assert_string_equal(listener_hear(ears, BOUND_MS),
                        CHANNEL ":" JAVA(1) " 0");
    assert_string_equal(ask(w, A(2)), "0 0 0 0");
    hft_int(w->server, "ZADD " SCORES " 1 " JAVA(1));
    ask(w, A(2));
    assert_string_equal(queue(w), JAVA(2) " " A(2));
    assert_string_equal(listener_hear(ears, BOUND_MS),
                        CHANNEL ":" JAVA(1) " 0");
    assert_string_equal(listener_hear(ears, BOUND_MS),
                        CHANNEL ":" JAVA(2) " 0");
    hft_int(w->server, "ZADD " SCORES " 1 " JAVA(2));
    assert_null(ask(w, A(2)));
    assert_no_queue(w);
    listener_free(ears);
}

/* IS-22.  spec: fair/mend-1 */
static void a_head_without_a_score_blocks_nobody(void **world)
{
    struct world *w = *world;

    ask(w, A(1));
    java_queues(w, JAVA(1));
    ask(w, A(2));
    hft_int(w->server, "ZREM " SCORES " " JAVA(1));
    release_by(w, A(1));
    assert_null(ask(w, A(2)));
    assert_no_queue(w);
}

/* 15.23.  spec: fair/mend-1 */
static void without_scores_ours_keep_their_places(void **world)
{
    struct world *w = *world;

    ask(w, A(1));
    ask(w, A(2));
    java_queues(w, JAVA(1));
    ask(w, B(1));
    hft_int(w->server, "DEL " SCORES);
    hft_int(w->server, "RPUSH " QUEUE " " A(2));
    ask(w, B(1));
    assert_string_equal(queue(w), A(2) " " B(1));
    assert_near(left_of(w, B(1)), WAIT_MS);
    release_by(w, A(1));
    assert_null(ask(w, A(2)));
    assert_string_equal(queue(w), B(1));
}

/* spec: fair/mend-2 */
static void without_a_list_ours_queue_again(void **world)
{
    struct world *w = *world;

    ask(w, A(1));
    ask(w, A(2));
    ask(w, B(1));
    hft_int(w->server, "DEL " QUEUE);
    ask(w, B(1));
    ask(w, A(2));
    assert_string_equal(queue(w), B(1) " " A(2));
    assert_int_equal(hft_int(w->server, "ZCARD " SCORES), 2);
    /* Or only one of them is missing. */
    hft_int(w->server, "LREM " QUEUE " 0 " B(1));
    ask(w, B(1));
    assert_string_equal(queue(w), A(2) " " B(1));
    assert_int_equal(hft_int(w->server, "ZCARD " SCORES), 2);
}

/* FL-05.  spec: fair/undo-1, fair/undo-2 */
static void who_leaves_takes_along_what_it_added(void **world)
{
    struct world *w = *world;

    ask(w, A(1));
    ask(w, A(2));
    ask_waiting(w, B(1), 5000, ALIVE_MS);
    java_queues(w, JAVA(1));
    ask(w, A(3));
    assert_int_equal(strspn(undo(w, B(1)), "0123456789"), 13);
    assert_string_equal(queue(w), A(2) " " JAVA(1) " " A(3));
    assert_near(left_of(w, JAVA(1)), LEASE_MS + 2 * WAIT_MS);
    /* Twice is as good as once. */
    undo(w, B(1));
    assert_near(left_of(w, JAVA(1)), LEASE_MS + 2 * WAIT_MS);
    undo(w, A(3));
    undo(w, A(2));
    assert_string_equal(queue(w), JAVA(1));
    assert_near(left_of(w, JAVA(1)), LEASE_MS + WAIT_MS);
    assert_int_equal(hft_int(w->server, "EXISTS " ALIVE), 0);
}

/* spec: fair/undo-1 */
static void the_last_who_leaves_takes_the_queue_along(void **world)
{
    struct world *w = *world;

    ask(w, A(1));
    ask(w, A(2));
    ask(w, B(1));
    undo(w, B(1));
    undo(w, A(2));
    assert_no_queue(w);
    undo(w, A(1));
    assert_int_equal(hft_int(w->server, "DBSIZE"), 0);
}

/* spec: fair/again-1 */
static void who_leaves_anothers_head_before_java_looks_again(void **world)
{
    struct world *w = *world;

    ask(w, A(1));
    ask(w, B(1));
    java_queues(w, JAVA(1));
    assert_between(strtoll(release_by(w, A(1)), NULL, 10), 1, ALIVE_MS + 1);
    assert_non_null(strchr(undo(w, A(1)), ' '));
    dies(w, B(1));
    assert_null(strchr(undo(w, A(1)), ' '));
    assert_string_equal(queue(w), JAVA(1));
}

/* spec: fair/force-1, fair/later-1 */
static void force_and_min_hold_tell_the_first_in_the_queue(void **world)
{
    struct world *w = *world;
    struct listener *ears = listener_new(w->server, CHANNEL "*");

    ask(w, A(1));
    ask(w, A(2));
    assert_null(run_script(w, HFI_SCRIPT_FAIR_RELEASE_LATER,
                           A(1) " " CHANNEL " " A(99) " 20000"));
    assert_string_equal(listener_hear(ears, BOUND_MS), CHANNEL ":" A(2) " 0");
    assert_string_equal(wire_owner(w, NAME), A(99));
    assert_non_null(ask(w, A(2)));
    assert_null(
        run_script(w, HFI_SCRIPT_FAIR_FORCE, A(99) " 9000000000000 " CHANNEL));
    assert_string_equal(listener_hear(ears, BOUND_MS), CHANNEL ":" A(2) " 0");
    assert_string_equal(queue(w), A(2));
    assert_null(ask(w, A(2)));
    listener_free(ears);
}

/* spec: fair/show-1 */
static void the_queue_can_be_seen(void **world)
{
    struct world *w = *world;
    const char *seen;

    assert_string_equal(run_script(w, HFI_SCRIPT_FAIR_SHOW, "10"), "-2  0 0 0");
    ask(w, A(1));
    ask(w, A(2));
    java_queues(w, JAVA(1));
    seen = run_script(w, HFI_SCRIPT_FAIR_SHOW, "10");
    assert_non_null(strstr(seen, A(1) " 1 2 0 " A(2) " 1 "));
    assert_non_null(strstr(seen, JAVA(1) " 0 "));
    seen = run_script(w, HFI_SCRIPT_FAIR_SHOW, "1");
    assert_null(strstr(seen, JAVA(1)));
}

/* Commands that the server ran for one turn: release, and the next one. */
static int64_t cost_of_a_turn(struct world *w, const char *from, const char *to)
{
    int64_t before;

    hft_int(w->server, "CONFIG RESETSTAT");
    release_by(w, from);
    assert_null(ask(w, to));
    before = hft_int(w->server, "EVAL %s 0",
                     "local sum = 0 for calls in string.gmatch("
                     "redis.call('info', 'commandstats'), 'calls=(%d+)') do "
                     "sum = sum + calls end return sum");
    return before;
}

/* spec: fair/cost-1 */
static void a_turn_costs_the_same_however_many_wait(void **world)
{
    struct world *w = *world;
    int64_t few, many;

    ask(w, A(1));
    ask(w, A(2));
    ask(w, A(3));
    ask(w, A(4));
    cost_of_a_turn(w, A(1), A(2));
    few = cost_of_a_turn(w, A(2), A(3));
    for (int i = 0; i < 1000; i++) {
        char who[128];

        snprintf(who, sizeof(who), B(0) "%d", i);
        ask(w, who);
    }
    many = cost_of_a_turn(w, A(3), A(4));
    assert_int_equal(many, few);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        world_test(waiters_stand_in_list_and_scores_as_redissons_do),
        world_test(asking_again_keeps_the_place_and_the_score),
        world_test(the_first_in_the_queue_gets_it_and_nobody_else),
        world_test(what_comes_too_late_does_nothing),
        world_test(a_try_does_not_queue),
        world_test(a_release_by_a_stranger_is_refused),
        world_test(while_all_are_ours_a_turn_costs_a_note),
        world_test(a_foreign_waiter_is_given_what_the_head_had_added),
        world_test(a_long_queue_is_given_the_same),
        world_test(a_debt_goes_with_the_queue_whoever_deletes_it),
        world_test(the_dead_of_ours_go_wherever_they_stand),
        world_test(a_hundred_dead_are_one_pass),
        world_test(who_asks_or_was_seen_is_never_taken_for_dead),
        world_test(a_foreign_head_goes_by_its_score_and_is_told),
        world_test(a_head_without_a_score_blocks_nobody),
        world_test(without_scores_ours_keep_their_places),
        world_test(without_a_list_ours_queue_again),
        world_test(who_leaves_takes_along_what_it_added),
        world_test(the_last_who_leaves_takes_the_queue_along),
        world_test(who_leaves_anothers_head_before_java_looks_again),
        world_test(force_and_min_hold_tell_the_first_in_the_queue),
        world_test(the_queue_can_be_seen),
        world_test(a_turn_costs_the_same_however_many_wait),
    };

    return cmocka_run_group_tests(tests, world_up, world_down);
}
