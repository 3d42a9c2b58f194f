/* SPDX-License-Identifier: MIT */
/* test_semaphore.c - what a semaphore does, on a real server.
 *
 * Rows: SM-02 to SM-06, SM-10 to SM-13, SM-15, SM-37, IS-26, 15.36, T56; and bad
 * input.  Waiting is in test_semaphore_wait.c, what the network does to it in
 * test_count_faults.c.
 */
#include "counting.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "listener.h"

#define NAME "pool"

/* ---- the numbers ---- */

/* SM-02 */
static void no_permits_are_always_there(void **world)
{
    struct world *w = *world;
    hf_semaphore *pool = a_semaphore(w, NAME);
    bool existed = true;

    assert_ok(get(pool, 0, 600000));
    assert_ok(put(pool, 0));
    assert_ok(hf_semaphore_release_if_exists(pool, 0, &existed, &problem));
    assert_false(existed);
    assert_int_equal(available(pool), 0);
    assert_int_equal(hft_int(w->server, "DBSIZE"), 0);
}

/* SM-03, SM-10 */
static void a_release_makes_the_semaphore(void **world)
{
    struct world *w = *world;
    hf_semaphore *pool = a_semaphore(w, NAME);

    assert_ok(put(pool, 1));
    assert_int_equal(available(pool), 1);
    assert_ok(put(pool, 1));
    assert_ok(get(pool, 2, HF_WAIT_FOREVER));
    assert_int_equal(available(pool), 0);
}

/* SM-04.  spec: semaphore/change-1, semaphore/key-1 */
static void permits_are_set_once_and_end_with_their_ttl(void **world)
{
    struct world *w = *world;
    hf_semaphore *pool = a_semaphore(w, NAME);
    hf_semaphore_info info = HF_SEMAPHORE_INFO_INIT;
    bool existed = false;
    bool set = false;

    assert_true(set_to(pool, 10));
    assert_int_equal(available(pool), 10);
    assert_false(set_to(pool, 15));
    assert_int_equal(available(pool), 10);
    assert_ok(hf_semaphore_delete(pool, &existed, &problem));
    assert_true(existed);
    assert_ok(hf_semaphore_delete(pool, &existed, &problem));
    assert_false(existed);
    assert_ok(hf_semaphore_try_set(pool, 1, 300, &set, &problem));
    assert_true(set);
    assert_ok(hf_semaphore_inspect_remote(pool, &info, &problem));
    assert_int_equal(info.exists, 1);
    assert_int_equal(info.available, 1);
    assert_between(info.ttl_ms, 1, 300);
    assert_true(hft_wait_int(w->server, 0, BOUND_MS, "EXISTS " NAME));
    assert_ok(hf_semaphore_inspect_remote(pool, &info, &problem));
    assert_int_equal(info.exists, 0);
    assert_int_equal(info.ttl_ms, -2);
    assert_int_equal(available(pool), 0);
}

/* SM-05, SM-12: there is no maximum.  spec: semaphore/key-2 */
static void more_can_be_released_than_were_taken(void **world)
{
    struct world *w = *world;
    hf_semaphore *pool = a_semaphore(w, NAME);
    int64_t now = 0;

    assert_true(set_to(pool, 10));
    assert_ok(get(pool, 10, 0));
    assert_int_equal(available(pool), 0);
    assert_ok(hf_semaphore_add(pool, 4, &now, &problem));
    assert_int_equal(now, 4);
    assert_ok(put(pool, 10));
    assert_int_equal(available(pool), 14);
    assert_ok(get(pool, 5, 0));
    assert_int_equal(available(pool), 9);
}

/* SM-06 */
static void permits_can_be_withdrawn_below_none(void **world)
{
    struct world *w = *world;
    hf_semaphore *pool = a_semaphore(w, NAME);
    int64_t now = 0;

    assert_true(set_to(pool, 10));
    assert_ok(get(pool, 10, 0));
    assert_ok(hf_semaphore_add(pool, -5, &now, &problem));
    assert_int_equal(now, -5);
    assert_int_equal(available(pool), -5);
    assert_ok(put(pool, 10));
    assert_ok(get(pool, 5, 0));
    assert_int_equal(available(pool), 0);
}

/* SM-11 */
static void draining_takes_what_there_is(void **world)
{
    struct world *w = *world;
    hf_semaphore *pool = a_semaphore(w, NAME);
    int64_t drained = -1;

    assert_ok(hf_semaphore_drain(pool, &drained, &problem));
    assert_int_equal(drained, 0);
    assert_true(set_to(pool, 10));
    assert_ok(get(pool, 3, 0));
    assert_ok(hf_semaphore_drain(pool, &drained, &problem));
    assert_int_equal(drained, 7);
    assert_int_equal(available(pool), 0);
}

/* SM-13 */
static void a_release_can_be_for_an_existing_semaphore_only(void **world)
{
    struct world *w = *world;
    hf_semaphore *pool = a_semaphore(w, NAME);
    bool existed = true;

    assert_ok(hf_semaphore_release_if_exists(pool, 3, &existed, &problem));
    assert_false(existed);
    assert_int_equal(hft_int(w->server, "EXISTS " NAME), 0);
    assert_true(set_to(pool, 1));
    assert_ok(hf_semaphore_release_if_exists(pool, 3, &existed, &problem));
    assert_true(existed);
    assert_int_equal(available(pool), 4);
}

/* SM-37, SM-15: also where Java's numbers end. */
static void too_few_are_refused_with_their_number(void **world)
{
    struct world *w = *world;
    hf_semaphore *pool = a_semaphore(w, NAME);
    int64_t began;

    assert_true(set_to(pool, 3));
    assert_status(HF_BUSY, get(pool, 4, 0));
    assert_non_null(strstr(problem.message, "permits wanted: 4;"));
    assert_non_null(strstr(problem.message, "last asked: 3"));
    began = hft_now_ms();
    assert_status(HF_TIMEOUT, get(pool, 4, 150));
    assert_between(hft_now_ms() - began, 150, 150 + SLACK_MS + 100);
    assert_ok(get(pool, 3, 0));
    assert_status(HF_BUSY, get(pool, 1, 0));
    assert_ok(put(pool, HF_PERMITS_MAX));
    assert_ok(get(pool, HF_PERMITS_MAX, 0));
    assert_int_equal(available(pool), 0);
}

/* ---- the wire ---- */

/* spec: semaphore/name-1, semaphore/name-2, semaphore/name-3
 * spec: semaphore/request-1 */
static void names_on_the_server_are_those_of_java(void **world)
{
    static const struct {
        const char *name;
        const char *message;
        const char *record;
    } cases[] = {
        {"order:17", "redisson_sc:{order:17} 5",
         "holdfast_request:{order:17}:"},
        {"{shop}:o", "redisson_sc:{shop}:o 5", "holdfast_request:{shop}:o:"},
        {"a{b", "redisson_sc:a{b 5", "holdfast_request:a{b:"},
        {"a}b", "redisson_sc:{a}b} 5", "holdfast_request:{a}b}:"},
    };
    struct world *w = *world;
    struct listener *java = listener_new(w->server, "redisson_sc:*");
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        hf_semaphore *pool = a_semaphore(w, cases[i].name);
        char pattern[128];

        assert_true(set_to(pool, 5));
        assert_string_equal(listener_hear(java, BOUND_MS), cases[i].message);
        assert_int_equal(wire_value(w, cases[i].name), 5);
        (void)snprintf(pattern, sizeof(pattern), "%s%s:%s", cases[i].record,
                       hf_client_id(w->client), "[0-9]*");
        assert_int_equal(hft_int(w->server, "EVAL %s 0 %s",
                                 "return #redis.call('keys', ARGV[1])",
                                 pattern),
                         1);
    }
    listener_free(java);
}

/* spec: semaphore/request-6 */
static void a_program_that_goes_on_leaves_one_record(void **world)
{
    struct world *w = *world;
    hf_semaphore *pool = a_semaphore(w, NAME);
    int i;

    assert_true(set_to(pool, 3));
    for (i = 0; i < 50; i++) {
        assert_ok(get(pool, 2, 0));
        assert_status(HF_BUSY, get(pool, 2, 0));
        assert_ok(put(pool, 2));
        assert_true(wire_records(w) <= 1);
    }
    assert_between(stats_of(w->client).names, 0, 1);
}

/* Names that were used once do not pile up here. */
static void three_thousand_names_leave_little_behind(void **world)
{
    struct world *w = *world;
    int i;

    for (i = 0; i < 3000; i++) {
        hf_semaphore *pool = NULL;
        char name[32];

        (void)snprintf(name, sizeof(name), "pool:%d", i);
        assert_ok(hf_semaphore_new(w->client, name, &pool, &problem));
        assert_ok(put(pool, 1));
        assert_ok(hf_semaphore_free(pool));
    }
    assert_between(stats_of(w->client).names, 0, 256);
}

/* spec: semaphore/java-1 */
static void a_release_by_java_wakes_us(void **world)
{
    struct world *w = *world;
    hf_semaphore *pool = a_semaphore(w, NAME);
    struct taker taker;

    taker_start(&taker, pool, 2, BOUND_MS);
    assert_true(hft_wait_channels(w->server, 1, BOUND_MS));
    (void)hft_int(w->server, "INCRBY " NAME " 2");
    (void)hft_int(w->server, "PUBLISH redisson_sc:{" NAME "} 2");
    taker_join(&taker);
    assert_ok(taker.status);
    assert_between(taker.ended_ms - taker.began_ms, 0, 1500);
    assert_int_equal(wire_value(w, NAME), 0);
}

/* ---- asynchronous ---- */

struct heard {
    int calls;
    hf_status status;
    int64_t permits;
    int changed;
    hf_semaphore *semaphore;
};

static void note(const hf_semaphore_completion *done, void *context)
{
    struct heard *heard = context;

    heard->status = done->status;
    heard->permits = done->permits;
    heard->changed = done->changed;
    heard->semaphore = done->semaphore;
    assert((done->error == NULL) == (done->status == HF_OK));
    __atomic_add_fetch(&heard->calls, 1, __ATOMIC_SEQ_CST);
}

static bool was_called(void *context)
{
    return __atomic_load_n(&((struct heard *)context)->calls,
                           __ATOMIC_SEQ_CST) > 0;
}

/* The calls made by `call`, and that they end so. */
#define assert_async(call, heard, expected)                                    \
    do {                                                                       \
        memset(&(heard), 0, sizeof(heard));                                    \
        assert_ok(call);                                                       \
        assert_true(hft_wait_until(was_called, &(heard), BOUND_MS));           \
        assert_int_equal((heard).status, expected);                            \
    } while (0)

static void every_call_has_an_asynchronous_form(void **world)
{
    struct world *w = *world;
    hf_semaphore *pool = a_semaphore(w, NAME);
    struct heard heard, waiting;
    hf_error *e = &problem;

    assert_async(hf_semaphore_release_if_exists_async(pool, 1, note, &heard, e),
                 heard, HF_OK);
    assert_int_equal(heard.changed, 0);
    assert_async(hf_semaphore_try_set_async(pool, 3, 0, note, &heard, e), heard,
                 HF_OK);
    assert_int_equal(heard.changed, 1);
    assert_ptr_equal(heard.semaphore, pool);
    assert_async(hf_semaphore_add_async(pool, 2, note, &heard, e), heard,
                 HF_OK);
    assert_int_equal(heard.permits, 5);
    assert_async(hf_semaphore_acquire_async(pool, 6, 0, NULL, note, &heard, e),
                 heard, HF_BUSY);
    assert_async(hf_semaphore_acquire_async(pool, 0, 0, NULL, note, &heard, e),
                 heard, HF_OK);
    memset(&waiting, 0, sizeof(waiting));
    assert_ok(hf_semaphore_acquire_async(pool, 6, HF_WAIT_FOREVER, NULL, note,
                                         &waiting, e));
    assert_async(hf_semaphore_release_async(pool, 1, note, &heard, e), heard,
                 HF_OK);
    assert_true(hft_wait_until(was_called, &waiting, BOUND_MS));
    assert_ok(waiting.status);
    assert_async(hf_semaphore_available_async(pool, note, &heard, e), heard,
                 HF_OK);
    assert_int_equal(heard.permits, 0);
    assert_ok(put(pool, 2));
    assert_async(hf_semaphore_drain_async(pool, note, &heard, e), heard, HF_OK);
    assert_int_equal(heard.permits, 2);
    assert_async(hf_semaphore_delete_async(pool, note, &heard, e), heard,
                 HF_OK);
    assert_int_equal(heard.changed, 1);
    assert_int_equal(heard.calls, 1);
}

/* Closing ends a wait, and a call that runs keeps its object. */
static void a_close_ends_the_waits(void **world)
{
    struct world *w = *world;
    hf_client *client = NULL;
    hf_options options = short_options();
    hf_semaphore *pool = NULL;
    struct heard heard = {0};

    assert_ok(
        hf_client_open(hft_server_url(w->server), &options, &client, &problem));
    assert_ok(hf_semaphore_new(client, NAME, &pool, &problem));
    assert_ok(hf_semaphore_acquire_async(pool, 1, HF_WAIT_FOREVER, NULL, note,
                                         &heard, &problem));
    assert_status(HF_STILL_HELD, hf_semaphore_free(pool));
    assert_true(hft_wait_channels(w->server, 1, BOUND_MS));
    assert_true(falls_silent(client, BOUND_MS));
    assert_ok(hf_client_close(client));
    assert_int_equal(heard.calls, 1);
    assert_int_equal(heard.status, HF_CLOSED);
    assert_status(HF_CLOSED, put(pool, 1));
    assert_ok(hf_semaphore_free(pool));
}

/* ---- bad input ---- */

static void what_is_wrong_is_said_and_changes_nothing(void **world)
{
    struct world *w = *world;
    hf_semaphore *pool = a_semaphore(w, NAME);
    hf_semaphore *none = NULL;
    hf_semaphore_info info = HF_SEMAPHORE_INFO_INIT;
    hf_cancel *foreign = NULL;
    hf_error *e = &problem;
    const int64_t over = HF_PERMITS_MAX + 1;

    assert_status(HF_INVALID, get(pool, -1, 0));
    assert_status(HF_INVALID, get(pool, over, 0));
    assert_status(HF_INVALID, get(pool, 1, -2));
    assert_status(HF_INVALID, get(NULL, 1, 0));
    assert_status(HF_INVALID, put(pool, -1));
    assert_status(HF_INVALID, put(pool, over));
    assert_status(HF_INVALID, put(NULL, 1));
    assert_status(HF_INVALID, put(NULL, 0));
    assert_status(HF_INVALID,
                  hf_semaphore_release_if_exists(pool, -1, NULL, e));
    assert_status(HF_INVALID, hf_semaphore_try_set(pool, -1, 0, NULL, e));
    assert_status(HF_INVALID, hf_semaphore_try_set(pool, 1, -1, NULL, e));
    assert_status(HF_INVALID,
                  hf_semaphore_try_set(pool, 1, HF_LEASE_MAX_MS + 1, NULL, e));
    assert_status(HF_INVALID, hf_semaphore_add(pool, over, NULL, e));
    assert_status(HF_INVALID, hf_semaphore_add(pool, -over, NULL, e));
    assert_status(HF_INVALID, hf_semaphore_drain(NULL, NULL, e));
    assert_status(HF_INVALID, hf_semaphore_available(pool, NULL, e));
    info.size = 1;
    assert_status(HF_INVALID, hf_semaphore_inspect_remote(pool, &info, e));
    assert_status(HF_INVALID, hf_semaphore_inspect_remote(pool, NULL, e));
    assert_status(HF_INVALID,
                  hf_semaphore_acquire_async(pool, 1, 0, NULL, NULL, NULL, e));
    assert_status(HF_INVALID,
                  hf_semaphore_add_async(pool, over, note, NULL, e));
    assert_status(HF_INVALID,
                  hf_semaphore_try_set_async(pool, -1, 0, note, NULL, e));
    assert_status(HF_INVALID, hf_semaphore_drain_async(NULL, note, NULL, e));

    assert_status(HF_BAD_NAME, hf_semaphore_new(w->client, "", &none, e));
    assert_status(HF_BAD_NAME, hf_semaphore_new(w->client, NULL, &none, e));
    assert_status(HF_BAD_NAME,
                  hf_semaphore_new_bytes(w->client, "x", HF_NAME_MAX_BYTES + 1,
                                         &none, e));
    assert_status(HF_INVALID, hf_semaphore_new(NULL, NAME, &none, e));
    assert_status(HF_INVALID, hf_semaphore_new(w->client, NAME, NULL, e));
    assert_ok(hf_semaphore_free(NULL));

    assert_ok(hf_cancel_new(a_client(w), &foreign, e));
    assert_status(HF_INVALID, hf_semaphore_acquire(pool, 1, 0, foreign, e));
    hf_cancel_free(foreign);
    assert_int_equal(hft_int(w->server, "DBSIZE"), 0);
}

/* T56 */
static void another_type_is_said_to_be_none(void **world)
{
    struct world *w = *world;
    hf_semaphore *pool = a_semaphore(w, NAME);
    int64_t found;

    (void)hft_int(w->server, "RPUSH " NAME " a");
    assert_status(HF_WRONG_TYPE, get(pool, 1, 0));
    assert_non_null(strstr(problem.message, NAME));
    assert_status(HF_WRONG_TYPE, get(pool, 1, 500));
    assert_status(HF_WRONG_TYPE, put(pool, 1));
    assert_status(HF_WRONG_TYPE,
                  hf_semaphore_available(pool, &found, &problem));
    (void)hft_int(w->server, "DEL " NAME);
    (void)hft_int(w->server, "SET " NAME " many");
    assert_status(HF_WRONG_TYPE, get(pool, 1, 0));
    assert_status(HF_WRONG_TYPE, hf_semaphore_drain(pool, NULL, &problem));
    assert_string_equal(hft_str(w->server, "GET " NAME), "many");
}

/* A name of any bytes, of any length. */
static void a_name_may_be_long_and_of_any_bytes(void **world)
{
    static char name[9000];
    struct world *w = *world;
    hf_semaphore *pool = NULL;
    size_t i;

    for (i = 0; i < sizeof(name); i++) {
        name[i] = (char)(i % 256);
    }
    assert_ok(
        hf_semaphore_new_bytes(w->client, name, sizeof(name), &pool, &problem));
    assert_true(set_to(pool, 2));
    assert_ok(get(pool, 1, 0));
    assert_int_equal(hft_int(w->server, "GET %b", name, sizeof(name)), 1);
    assert_status(HF_TIMEOUT, get(pool, 2, 50));
    assert_ok(hf_semaphore_free(pool));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        counting_test(no_permits_are_always_there),
        counting_test(a_release_makes_the_semaphore),
        counting_test(permits_are_set_once_and_end_with_their_ttl),
        counting_test(more_can_be_released_than_were_taken),
        counting_test(permits_can_be_withdrawn_below_none),
        counting_test(draining_takes_what_there_is),
        counting_test(a_release_can_be_for_an_existing_semaphore_only),
        counting_test(too_few_are_refused_with_their_number),
        counting_test(names_on_the_server_are_those_of_java),
        counting_test(a_program_that_goes_on_leaves_one_record),
        counting_test(three_thousand_names_leave_little_behind),
        counting_test(a_release_by_java_wakes_us),
        counting_test(every_call_has_an_asynchronous_form),
        counting_test(a_close_ends_the_waits),
        counting_test(what_is_wrong_is_said_and_changes_nothing),
        counting_test(another_type_is_said_to_be_none),
        counting_test(a_name_may_be_long_and_of_any_bytes),
    };

    return cmocka_run_group_tests_name("semaphore", tests, world_up,
                                       world_down);
}
