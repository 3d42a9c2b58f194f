/* SPDX-License-Identifier: MIT */
/* test_count_scripts.c - the scripts of the semaphore and the latch, one by one.
 *
 * The text that ships is run on a real server, without the library around it:
 * twice, late, and after an undo or a fence.  What it answers, writes,
 * publishes and leaves is compared with docs/wire/semaphore.md and latch.md.
 * Rows: SM-03 to SM-06, SM-10 to SM-13, CL-04 to CL-08, T14.
 */
#include "world.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "listener.h"
#include "scripts_data.h"
#include "support/fatal.h"

#define WINDOW_MS 600000
#define QUIET_MS 30

#define CHANNEL "redisson_sc:{s}"
#define GATE "redisson_countdownlatch__channel__{l}"

/* A time of the server's clock, so far from now. */
static int64_t server_in(struct world *w, int64_t ms)
{
    return hft_int(w->server, "EVAL %s 0",
                   "local t = redis.call('time') "
                   "return t[1] * 1000 + math.floor(t[2] / 1000)") +
           ms;
}

/* Run a script with what stands in `words`: the number of keys, keys and
 * arguments.  An empty string for nil. */
static const char *run(struct world *w, int script, const char *words)
{
    char format[512];
    const char *answer;

    (void)snprintf(format, sizeof(format), "EVAL %%s %s", words);
    answer = hft_str(w->server, format, hfi_scripts[script].text);
    return answer == NULL ? "" : answer;
}

static const char *take_as(struct world *w, const char *id, int permits,
                           int64_t not_after)
{
    char words[256];

    (void)snprintf(words, sizeof(words), "2 s r:%s %d %" PRId64 " %d", id,
                   permits, not_after, WINDOW_MS);
    return run(w, HFI_SCRIPT_SEMAPHORE_TAKE, words);
}

static const char *change(struct world *w, const char *id, const char *verb,
                          int permits, int64_t not_after)
{
    char words[256];

    (void)snprintf(words, sizeof(words),
                   "2 s r:%s %s %d %" PRId64 " %d " CHANNEL " 0", id, verb,
                   permits, not_after, WINDOW_MS);
    return run(w, HFI_SCRIPT_SEMAPHORE_CHANGE, words);
}

static void undo(struct world *w, const char *id, int permits,
                 int64_t not_after)
{
    char words[256];

    (void)snprintf(words, sizeof(words), "2 s r:%s %d %" PRId64 " %d " CHANNEL,
                   id, permits, not_after, WINDOW_MS);
    assert_true(strtoll(run(w, HFI_SCRIPT_SEMAPHORE_UNDO, words), NULL, 10) >
                INT64_C(1000000000000));
}

static const char *fence(struct world *w, const char *id, int64_t not_after)
{
    char words[256];

    (void)snprintf(words, sizeof(words), "2 s r:%s %" PRId64 " %d", id,
                   not_after, WINDOW_MS);
    return run(w, HFI_SCRIPT_COUNT_FENCE, words);
}

static const char *latch(struct world *w, const char *id, const char *verb,
                         int count, int64_t not_after)
{
    char words[256];

    (void)snprintf(words, sizeof(words),
                   "3 l r:%s armed %s %d %" PRId64 " %d " GATE " id-%s", id,
                   verb, count, not_after, WINDOW_MS, id);
    return run(w, HFI_SCRIPT_LATCH_CHANGE, words);
}

/* An array with a time of the server: refused. */
static bool is_refusal(const char *answer)
{
    return strtoll(answer, NULL, 10) > INT64_C(1000000000000);
}

static void assert_says(const char *expected, const char *answer)
{
    assert_string_equal(answer, expected);
}

static int64_t value_of(struct world *w, const char *key)
{
    return hft_int(w->server, "GET %s", key);
}

/* spec: semaphore/take-1, semaphore/take-2, semaphore/request-2 */
static void a_take_counts_once_however_often_it_runs(void **world)
{
    struct world *w = *world;
    int64_t soon = server_in(w, 5000);

    assert_says("0", take_as(w, "1", 3, soon));
    assert_says("1", change(w, "2", "set", 5, soon));
    assert_says("", take_as(w, "1", 3, soon));
    assert_says("", take_as(w, "1", 3, soon));
    assert_int_equal(value_of(w, "s"), 2);
    assert_says("2", take_as(w, "3", 3, soon));
    assert_int_equal(value_of(w, "s"), 2);
    assert_int_equal(hft_int(w->server, "EXISTS r:3"), 0);
    assert_string_equal(hft_str(w->server, "GET r:1"), "taken");
}

/* spec: semaphore/request-3, semaphore/request-4 */
static void a_late_copy_takes_nothing_unless_it_had(void **world)
{
    struct world *w = *world;
    int64_t past = server_in(w, -10);
    int64_t soon = server_in(w, 5000);

    assert_says("1", change(w, "1", "set", 5, soon));
    assert_true(is_refusal(take_as(w, "2", 1, past)));
    assert_true(is_refusal(change(w, "3", "release", 1, past)));
    assert_true(is_refusal(change(w, "4", "delete", 0, past)));
    assert_int_equal(value_of(w, "s"), 5);
    assert_says("", take_as(w, "5", 1, soon));
    assert_says("", take_as(w, "5", 1, past)); /* the record comes first */
    assert_int_equal(value_of(w, "s"), 4);
}

/* The TTL counts from not_after, whenever the copy runs.
 * spec: semaphore/request-5, semaphore/name-3 */
static void a_record_ends_with_its_window(void **world)
{
    struct world *w = *world;

    assert_says("1", change(w, "1", "set", 5, server_in(w, 5000)));
    assert_between(hft_int(w->server, "PTTL r:1"), WINDOW_MS + 4000,
                   WINDOW_MS + 5000);
    assert_says("", take_as(w, "2", 1, server_in(w, 100)));
    assert_between(hft_int(w->server, "PTTL r:2"), WINDOW_MS - 1000,
                   WINDOW_MS + 100);
}

/* spec: semaphore/request-6 */
static void old_records_go_with_the_next_request(void **world)
{
    struct world *w = *world;
    char words[256];
    int64_t soon = server_in(w, 5000);

    assert_says("1", change(w, "1", "set", 5, soon));
    assert_says("", take_as(w, "2", 1, soon));
    (void)snprintf(words, sizeof(words), "4 s r:3 r:1 r:2 9 %" PRId64 " %d",
                   soon, WINDOW_MS);
    assert_says("4", run(w, HFI_SCRIPT_SEMAPHORE_TAKE, words));
    assert_int_equal(hft_int(w->server, "EXISTS r:1 r:2"), 0);
    (void)snprintf(words, sizeof(words),
                   "3 s r:5 r:2 release 1 %" PRId64 " %d " CHANNEL " 0", soon,
                   WINDOW_MS);
    assert_says("5", run(w, HFI_SCRIPT_SEMAPHORE_CHANGE, words));
    assert_int_equal(hft_int(w->server, "DBSIZE"), 2);
}

/* SM-03, SM-05, SM-06, SM-10 to SM-13, each word twice.
 * spec: semaphore/change-1, semaphore/change-3 */
static void each_change_does_what_the_table_says_once(void **world)
{
    static const struct {
        const char *verb;
        int permits;
        const char *answer;
        int64_t after; /* HFT_NIL: no key */
    } steps[] = {
        {"return", 3, "", HFT_NIL}, {"delete", 0, "", HFT_NIL},
        {"drain", 0, "0", HFT_NIL}, {"release", 2, "2", 2},
        {"set", 9, "", 2},          {"add", 4, "6", 6},
        {"add", -10, "-4", -4},     {"return", 10, "6", 6},
        {"drain", 0, "6", 0},       {"drain", 0, "0", 0},
        {"release", 1, "1", 1},     {"delete", 0, "1", HFT_NIL},
        {"add", -2, "-2", -2},      {"delete", 0, "1", HFT_NIL},
        {"set", 7, "1", 7},
    };
    struct world *w = *world;
    int64_t soon = server_in(w, 5000);
    size_t i;

    for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        char id[16];
        int again;

        (void)snprintf(id, sizeof(id), "%zu", i);
        for (again = 0; again < 2; again++) {
            assert_says(steps[i].answer,
                        change(w, id, steps[i].verb, steps[i].permits, soon));
            assert_int_equal(value_of(w, "s"), steps[i].after);
        }
    }
}

/* A copy that comes when there is something to change must not change it.
 * spec: semaphore/change-3 */
static void what_found_nothing_does_nothing_later(void **world)
{
    struct world *w = *world;
    int64_t soon = server_in(w, 5000);

    assert_says("", change(w, "1", "return", 3, soon));
    assert_says("", change(w, "2", "delete", 0, soon));
    assert_says("0", change(w, "3", "drain", 0, soon));
    assert_says("1", change(w, "4", "set", 5, soon));
    assert_says("", change(w, "1", "return", 3, soon));
    assert_says("", change(w, "2", "delete", 0, soon));
    assert_says("0", change(w, "3", "drain", 0, soon));
    assert_int_equal(value_of(w, "s"), 5);
}

/* spec: semaphore/change-2, semaphore/take-3, semaphore/key-1 */
static void a_ttl_stays_until_an_add_or_a_drain(void **world)
{
    struct world *w = *world;
    int64_t soon = server_in(w, 5000);
    char words[256];

    (void)snprintf(words, sizeof(words),
                   "2 s r:1 set 5 %" PRId64 " %d " CHANNEL " 60000", soon,
                   WINDOW_MS);
    assert_says("1", run(w, HFI_SCRIPT_SEMAPHORE_CHANGE, words));
    assert_says("", take_as(w, "2", 1, soon));
    assert_says("6", change(w, "3", "release", 2, soon));
    assert_between(hft_int(w->server, "PTTL s"), 50000, 60000);
    assert_says("7", change(w, "4", "add", 1, soon));
    assert_int_equal(hft_int(w->server, "PTTL s"), -1);
    (void)hft_int(w->server, "PEXPIRE s 60000");
    assert_says("7", change(w, "5", "drain", 0, soon));
    assert_int_equal(hft_int(w->server, "PTTL s"), -1);
}

/* spec: semaphore/message-1, semaphore/java-1, semaphore/java-3 */
static void messages_carry_the_amounts_that_java_sends(void **world)
{
    struct world *w = *world;
    struct listener *java = listener_new(w->server, "redisson_sc:*");
    int64_t soon = server_in(w, 5000);

    (void)change(w, "1", "set", 5, soon);
    assert_says(CHANNEL " 5", listener_hear(java, BOUND_MS));
    (void)change(w, "2", "release", 2, soon);
    assert_says(CHANNEL " 7", listener_hear(java, BOUND_MS));
    (void)change(w, "3", "add", -8, soon);
    assert_says(CHANNEL " -1", listener_hear(java, BOUND_MS));
    (void)change(w, "4", "return", 3, soon);
    assert_says(CHANNEL " 2", listener_hear(java, BOUND_MS));
    (void)take_as(w, "5", 1, soon);
    (void)change(w, "6", "drain", 0, soon);
    (void)change(w, "7", "delete", 0, soon);
    (void)change(w, "4", "return", 3, soon);
    assert_null(listener_hear(java, QUIET_MS));
    listener_free(java);
}

/* spec: semaphore/undo-1, semaphore/undo-2 */
static void an_undo_gives_back_once_and_refuses_what_comes_later(void **world)
{
    struct world *w = *world;
    struct listener *java;
    int64_t soon = server_in(w, 5000);

    assert_says("1", change(w, "1", "set", 5, soon));
    java = listener_new(w->server, "redisson_sc:*");
    assert_says("", take_as(w, "2", 3, soon));
    undo(w, "2", 3, soon);
    undo(w, "2", 3, soon);
    assert_int_equal(value_of(w, "s"), 5);
    assert_true(is_refusal(take_as(w, "2", 3, soon)));
    assert_says(CHANNEL " 5", listener_hear(java, BOUND_MS));

    undo(w, "3", 3, soon); /* it overtakes the take */
    assert_true(is_refusal(take_as(w, "3", 3, soon)));
    assert_int_equal(value_of(w, "s"), 5);
    assert_null(listener_hear(java, QUIET_MS));

    assert_says("",
                take_as(w, "4", 3, soon)); /* then the semaphore is deleted */
    assert_says("1", change(w, "5", "delete", 0, soon));
    undo(w, "4", 3, soon);
    assert_int_equal(hft_int(w->server, "EXISTS s"), 0);
    listener_free(java);
}

/* spec: semaphore/fence-1 */
static void a_fence_tells_what_was_done_or_forbids_it(void **world)
{
    struct world *w = *world;
    int64_t soon = server_in(w, 5000);

    assert_says("1", change(w, "1", "set", 5, soon));
    assert_says("1", fence(w, "1", soon));
    assert_says("7", change(w, "2", "release", 2, soon));
    assert_says("7", fence(w, "2", soon));
    assert_true(is_refusal(fence(w, "3", soon)));
    assert_true(is_refusal(fence(w, "3", soon)));
    assert_true(is_refusal(change(w, "3", "release", 2, soon)));
    assert_int_equal(value_of(w, "s"), 7);
    assert_says("", change(w, "4", "set", 5, soon));
    assert_true(is_refusal(fence(w, "4", soon))); /* a no leaves no record */
    assert_says("1", change(w, "5", "delete", 0, soon));
    assert_says("", change(w, "6", "delete", 0, soon));
    assert_says("", fence(w, "6", soon));
}

/* spec: semaphore/fence-2 */
static void a_fence_that_comes_too_late_leaves_nothing(void **world)
{
    struct world *w = *world;
    int64_t gone = server_in(w, -WINDOW_MS - 10);

    assert_true(is_refusal(fence(w, "1", gone)));
    assert_int_equal(hft_int(w->server, "DBSIZE"), 0);
}

/* spec: semaphore/key-3, latch/key-3 */
static void another_type_is_refused_and_left_alone(void **world)
{
    static const char *const values[] = {"",     "many", "1.5", "1e3",
                                         "0x10", " 1",   "nan", "-"};
    struct world *w = *world;
    int64_t soon = server_in(w, 5000);
    size_t i;

    for (i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        (void)hft_int(w->server, "SET s %s", values[i]);
        (void)hft_int(w->server, "SET l %s", values[i]);
        assert_non_null(strstr(take_as(w, "1", 1, soon), "WRONGTYPE"));
        assert_non_null(strstr(change(w, "2", "add", 1, soon), "WRONGTYPE"));
        assert_non_null(strstr(latch(w, "3", "down", 0, soon), "WRONGTYPE"));
        assert_non_null(
            strstr(run(w, HFI_SCRIPT_LATCH_LOOK, "2 l armed g"), "WRONGTYPE"));
        assert_string_equal(hft_str(w->server, "GET s"), values[i]);
    }
    (void)hft_int(w->server, "DEL s l");
    (void)hft_int(w->server, "HSET s f v");
    (void)hft_int(w->server, "HSET l f v");
    assert_non_null(strstr(take_as(w, "1", 1, soon), "WRONGTYPE"));
    assert_non_null(strstr(change(w, "2", "set", 1, soon), "WRONGTYPE"));
    assert_non_null(strstr(latch(w, "3", "set", 1, soon), "WRONGTYPE"));
    assert_int_equal(hft_int(w->server, "DBSIZE"), 2);
    (void)hft_int(w->server, "DEL s l");
}

/* What cannot be carried out leaves no record that says it was. */
static void an_overflow_is_an_error_and_no_record(void **world)
{
    struct world *w = *world;
    int64_t soon = server_in(w, 5000);

    (void)hft_int(w->server, "SET s 9223372036854775807");
    assert_non_null(strstr(change(w, "1", "release", 1, soon), "overflow"));
    assert_int_equal(hft_int(w->server, "EXISTS r:1"), 0);
}

/* CL-04 to CL-08, each word twice.  spec: latch/change-1, latch/change-2
 * spec: latch/key-1, latch/java-1, latch/message-1 */
static void a_latch_counts_each_request_once(void **world)
{
    static const struct {
        const char *verb;
        int count;
        const char *answer;
        int64_t after;
        const char *message;
    } steps[] = {
        {"down", 0, "0", HFT_NIL, NULL},
        {"delete", 0, "", HFT_NIL, NULL},
        {"set", 2, "1", 2, GATE " 1"},
        {"set", 3, "", 2, NULL},
        {"down", 0, "1", 1, NULL},
        {"down", 0, "0", HFT_NIL, GATE " 0"},
        {"down", 0, "0", HFT_NIL, NULL},
        {"set", 1, "1", 1, GATE " 1"},
        {"delete", 0, "1", HFT_NIL, GATE " 1"},
    };
    struct world *w = *world;
    struct listener *java = listener_new(w->server,
                                         "redisson_countdownlatch__*");
    int64_t soon = server_in(w, 5000);
    size_t i;

    for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        const char *heard;
        char id[16];
        int again;

        (void)snprintf(id, sizeof(id), "%zu", i);
        for (again = 0; again < 2; again++) {
            assert_says(steps[i].answer,
                        latch(w, id, steps[i].verb, steps[i].count, soon));
            assert_int_equal(value_of(w, "l"), steps[i].after);
        }
        heard = listener_hear(java,
                              steps[i].message == NULL ? QUIET_MS : BOUND_MS);
        assert_says(steps[i].message == NULL ? "" : steps[i].message,
                    heard == NULL ? "" : heard);
    }
    listener_free(java);
}

/* Java can set 0 and less.  spec: latch/key-2 */
static void a_count_below_one_is_open_and_goes_with_a_count_down(void **world)
{
    struct world *w = *world;
    int64_t soon = server_in(w, 5000);

    (void)hft_int(w->server, "SET l -2");
    assert_int_equal(
        strncmp(run(w, HFI_SCRIPT_LATCH_LOOK, "2 l armed g"), "0 ", 2), 0);
    assert_says("0", latch(w, "1", "down", 0, soon));
    assert_int_equal(hft_int(w->server, "EXISTS l"), 0);
}

/* spec: latch/look-1, latch/change-3, latch/name-3 */
static void a_look_tells_who_armed_the_latch(void **world)
{
    struct world *w = *world;
    int64_t soon = server_in(w, 5000);

    assert_says("0  0", run(w, HFI_SCRIPT_LATCH_LOOK, "2 l armed " GATE));
    assert_says("1", latch(w, "1", "set", 3, soon));
    assert_says("3 id-1 0", run(w, HFI_SCRIPT_LATCH_LOOK, "2 l armed " GATE));
    assert_says("1", latch(w, "2", "delete", 0, soon));
    assert_says("1", latch(w, "3", "set", 4, soon));
    assert_says("4 id-3 0", run(w, HFI_SCRIPT_LATCH_LOOK, "2 l armed " GATE));
    assert_between(hft_int(w->server, "PTTL armed"), WINDOW_MS - 2000,
                   WINDOW_MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        world_test(a_take_counts_once_however_often_it_runs),
        world_test(a_late_copy_takes_nothing_unless_it_had),
        world_test(a_record_ends_with_its_window),
        world_test(old_records_go_with_the_next_request),
        world_test(each_change_does_what_the_table_says_once),
        world_test(what_found_nothing_does_nothing_later),
        world_test(a_ttl_stays_until_an_add_or_a_drain),
        world_test(messages_carry_the_amounts_that_java_sends),
        world_test(an_undo_gives_back_once_and_refuses_what_comes_later),
        world_test(a_fence_tells_what_was_done_or_forbids_it),
        world_test(a_fence_that_comes_too_late_leaves_nothing),
        world_test(another_type_is_refused_and_left_alone),
        world_test(an_overflow_is_an_error_and_no_record),
        world_test(a_latch_counts_each_request_once),
        world_test(a_count_below_one_is_open_and_goes_with_a_count_down),
        world_test(a_look_tells_who_armed_the_latch),
    };

    return cmocka_run_group_tests(tests, world_up, world_down);
}
