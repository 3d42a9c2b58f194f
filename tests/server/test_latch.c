/* SPDX-License-Identifier: MIT */
/* test_latch.c - what a count-down latch does, on a real server.
 *
 * Rows: CL-01 to CL-10, CL-20 to CL-22, PB-03, IS-28, 15.38, T41, T56, T58; and
 * bad input.  What the network does to it is in
 * test_count_faults.c.
 */
#include "counting.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "listener.h"
#include "support/crew.h"

#define NAME "gate"

/* ---- counting ---- */

/* CL-04 to CL-08.  spec: latch/key-1 */
static void a_latch_counts_down_and_stays_open(void **world)
{
    struct world *w = *world;
    hf_latch *gate = a_latch(w, NAME);
    bool existed = true;
    int64_t count = -1;

    assert_ok(hf_latch_count(gate, &count, &problem));
    assert_int_equal(count, 0);
    assert_int_equal(counted_down(gate), 0);
    assert_ok(await(gate, 0));
    assert_ok(hf_latch_delete(gate, &existed, &problem));
    assert_false(existed);

    assert_true(armed_with(gate, 2));
    assert_false(armed_with(gate, 3));
    assert_status(HF_BUSY, await(gate, 0));
    assert_non_null(strstr(problem.message, "2 were still to come"));
    assert_int_equal(counted_down(gate), 1);
    assert_ok(hf_latch_count(gate, &count, &problem));
    assert_int_equal(count, 1);
    assert_int_equal(counted_down(gate), 0);
    assert_int_equal(hft_int(w->server, "EXISTS " NAME), 0);
    assert_int_equal(counted_down(gate), 0);
    assert_ok(await(gate, 0));
    assert_ok(await(gate, HF_WAIT_FOREVER));

    assert_true(armed_with(gate, 1));
    assert_ok(hf_latch_delete(gate, &existed, &problem));
    assert_true(existed);
    assert_ok(await(gate, 0));
}

/* spec: latch/name-1, latch/name-2, latch/name-3, latch/java-3 */
static void names_on_the_server_are_those_of_java(void **world)
{
    static const struct {
        const char *name;
        const char *message;
        const char *armed;
    } cases[] = {
        {"order:17", "redisson_countdownlatch__channel__{order:17} 1",
         "holdfast_latch_armed:{order:17}"},
        {"{shop}:o", "redisson_countdownlatch__channel__{{shop}:o} 1",
         "holdfast_latch_armed:{shop}:o"},
        {"a}b", "redisson_countdownlatch__channel__{a}b} 1",
         "holdfast_latch_armed:{a}b}"},
    };
    struct world *w = *world;
    struct listener *java = listener_new(w->server, "redisson_countdown*");
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        hf_latch *gate = a_latch(w, cases[i].name);
        struct taker waiter;

        assert_true(armed_with(gate, 1));
        assert_string_equal(listener_hear(java, BOUND_MS), cases[i].message);
        assert_int_equal(wire_value(w, cases[i].name), 1);
        assert_int_equal(hft_int(w->server, "EXISTS %s", cases[i].armed), 1);
        waiter_start(&waiter, gate, BOUND_MS);
        assert_true(hft_wait_channels(w->server, 1, BOUND_MS));
        assert_int_equal(counted_down(gate), 0);
        taker_join(&waiter);
        assert_ok(waiter.status);
        assert_true(hft_wait_channels(w->server, 0, BOUND_MS));
        assert_non_null(listener_hear(java, BOUND_MS));
    }
    listener_free(java);
}

/* spec: semaphore/request-6 */
static void a_program_that_goes_on_leaves_one_record(void **world)
{
    struct world *w = *world;
    hf_latch *gate = a_latch(w, NAME);
    int i;

    for (i = 0; i < 30; i++) {
        assert_true(armed_with(gate, 2));
        assert_int_equal(counted_down(gate), 1);
        assert_int_equal(counted_down(gate), 0);
        assert_true(wire_records(w) <= 1);
    }
}

/* ---- waiting ---- */

/* CL-01, CL-20 */
static void the_last_count_down_wakes_a_waiter(void **world)
{
    struct world *w = *world;
    hf_latch *gate = a_latch(w, NAME);
    hf_latch *other = a_latch_of(a_client(w), NAME);
    struct taker waiter;
    int64_t opened;

    assert_true(armed_with(gate, 2));
    waiter_start(&waiter, other, HF_WAIT_FOREVER);
    assert_true(hft_wait_channels(w->server, 1, BOUND_MS));
    assert_int_equal(counted_down(gate), 1);
    hft_let_pass_ms(50);
    opened = hft_now_ms();
    assert_int_equal(counted_down(gate), 0);
    taker_join(&waiter);
    assert_ok(waiter.status);
    assert_between(waiter.ended_ms - opened, 0, SLACK_MS);
}

/* CL-02 */
static void a_wait_ends_with_its_time(void **world)
{
    struct world *w = *world;
    hf_latch *gate = a_latch(w, NAME);
    int64_t began;

    assert_true(armed_with(gate, 3));
    began = hft_now_ms();
    assert_status(HF_TIMEOUT, await(gate, 200));
    assert_between(hft_now_ms() - began, 200, 200 + SLACK_MS);
    assert_non_null(strstr(problem.message, "3 were still to come"));
}

/* CL-03, CL-09, CL-10, PB-03, T41: every waiter, of whatever client, at once.
 * spec: latch/wait-1, latch/wait-4 */
static void all_waiters_go_on_when_it_opens(void **world)
{
    enum { WAITERS = 40 };
    struct world *w = *world;
    hf_latch *gate = a_latch(w, NAME);
    hf_client *second = a_client(w);
    hf_latch *other = a_latch_of(second, NAME);
    struct taker waiters[WAITERS];
    int64_t opened;
    size_t i;

    assert_true(armed_with(gate, 5));
    for (i = 0; i < WAITERS; i++) {
        waiter_start(&waiters[i], i % 2 == 0 ? gate : other, BOUND_MS);
    }
    assert_true(waiters_become(w->client, WAITERS / 2, BOUND_MS));
    assert_true(waiters_become(second, WAITERS / 2, BOUND_MS));
    for (i = 0; i < 4; i++) {
        assert_int_equal(counted_down(gate), 4 - (int64_t)i);
    }
    opened = hft_now_ms();
    assert_int_equal(counted_down(gate), 0);
    for (i = 0; i < WAITERS; i++) {
        taker_join(&waiters[i]);
        assert_ok(waiters[i].status);
        assert_between(waiters[i].ended_ms - opened, -SLACK_MS, SLACK_MS + 250);
    }
}

/* A wait looks again before its end: a lost message makes no failure of it.
 * spec: latch/wait-3 */
static void an_opening_without_a_message_is_seen(void **world)
{
    struct world *w = *world;
    hf_latch *gate = a_latch(w, NAME);
    struct taker patient, hasty;

    assert_true(armed_with(gate, 1));
    waiter_start(&patient, gate, HF_WAIT_FOREVER);
    waiter_start(&hasty, gate, 600);
    assert_true(waiters_become(w->client, 2, BOUND_MS));
    assert_true(hft_wait_channels(w->server, 1, BOUND_MS));
    hft_let_pass_ms(100);
    (void)hft_int(w->server, "DEL " NAME);
    taker_join(&hasty);
    taker_join(&patient);
    assert_ok(hasty.status);
    assert_ok(patient.status);
    assert_between(patient.ended_ms - patient.began_ms, 0, 2500 + SLACK_MS);
}

/* Java's own waiters sleep on; ours do not.  spec: latch/wait-3 */
static void a_deletion_wakes_all_waiters(void **world)
{
    struct world *w = *world;
    hf_latch *gate = a_latch(w, NAME);
    struct taker waiter;
    int64_t deleted;

    assert_true(armed_with(gate, 7));
    waiter_start(&waiter, a_latch_of(a_client(w), NAME), HF_WAIT_FOREVER);
    assert_true(hft_wait_channels(w->server, 1, BOUND_MS));
    deleted = hft_now_ms();
    assert_ok(hf_latch_delete(gate, NULL, &problem));
    taker_join(&waiter);
    assert_ok(waiter.status);
    assert_between(waiter.ended_ms - deleted, 0, SLACK_MS);
}

/* Opened and armed again in one step, so that no look can come in between.
 * spec: latch/wait-2, latch/change-3 */
static void whoever_waited_goes_on_although_it_is_armed_again(void **world)
{
    static const char again[] = "redis.call('del', KEYS[1]) "
                                "redis.call('set', KEYS[1], ARGV[1]) "
                                "redis.call('set', KEYS[2], ARGV[2]) "
                                "redis.call('publish', ARGV[3], '1') return 1";
    struct world *w = *world;
    hf_latch *gate = a_latch(w, NAME);
    struct taker waiter;

    assert_true(armed_with(gate, 2));
    waiter_start(&waiter, gate, BOUND_MS);
    assert_true(hft_wait_channels(w->server, 1, BOUND_MS));
    hft_let_pass_ms(50);
    (void)hft_int(w->server, "EVAL %s 2 %s %s 2 somebody:1 %s", again, NAME,
                  "holdfast_latch_armed:{" NAME "}",
                  "redisson_countdownlatch__channel__{" NAME "}");
    taker_join(&waiter);
    assert_ok(waiter.status);
    assert_between(waiter.ended_ms - waiter.began_ms, 0, 1000);
    assert_status(HF_BUSY, await(gate, 0)); /* who comes now waits */
}

/* Java leaves no note, but more are to come than before.
 * spec: latch/wait-2, latch/java-2 */
static void a_count_that_grew_was_armed_again(void **world)
{
    struct world *w = *world;
    hf_latch *gate = a_latch(w, NAME);
    struct taker waiter;

    (void)hft_int(w->server, "SET " NAME " 1");
    waiter_start(&waiter, gate, BOUND_MS);
    assert_true(hft_wait_channels(w->server, 1, BOUND_MS));
    hft_let_pass_ms(50);
    (void)hft_int(w->server, "SET " NAME " 2");
    (void)hft_int(w->server,
                  "PUBLISH redisson_countdownlatch__channel__{" NAME "} 1");
    taker_join(&waiter);
    assert_ok(waiter.status);
    assert_between(waiter.ended_ms - waiter.began_ms, 0, 1000);
}

/* A latch that was counted down a little is not one that was armed again. */
static void a_waiter_waits_on_while_it_is_counted_down(void **world)
{
    struct world *w = *world;
    hf_latch *gate = a_latch(w, NAME);
    struct taker waiter;
    int i;

    assert_true(armed_with(gate, 5));
    waiter_start(&waiter, gate, BOUND_MS);
    assert_true(hft_wait_channels(w->server, 1, BOUND_MS));
    for (i = 0; i < 4; i++) {
        (void)counted_down(gate); /* each is news to the waiter, here */
    }
    hft_let_pass_ms(100);
    assert_int_equal(stats_of(w->client).waiters, 1);
    (void)counted_down(gate);
    taker_join(&waiter);
    assert_ok(waiter.status);
}

/* 15.38, CL-24: a message is a hint, and no more. */
static void a_message_without_an_end_is_ignored(void **world)
{
    struct world *w = *world;
    hf_latch *gate = a_latch(w, NAME);
    struct taker waiter;
    int i;

    assert_true(armed_with(gate, 1));
    waiter_start(&waiter, gate, BOUND_MS);
    assert_true(hft_wait_channels(w->server, 1, BOUND_MS));
    for (i = 0; i < 5; i++) {
        (void)hft_int(w->server,
                      "PUBLISH redisson_countdownlatch__channel__{" NAME "} 0");
    }
    hft_let_pass_ms(100);
    assert_int_equal(stats_of(w->client).waiters, 1);
    assert_int_equal(counted_down(gate), 0);
    taker_join(&waiter);
    assert_ok(waiter.status);
}

/* spec: latch/java-1 */
static void a_count_down_by_java_wakes_us(void **world)
{
    struct world *w = *world;
    struct taker waiter;
    int64_t opened;

    (void)hft_int(w->server, "SET " NAME " 1");
    waiter_start(&waiter, a_latch(w, NAME), HF_WAIT_FOREVER);
    assert_true(hft_wait_channels(w->server, 1, BOUND_MS));
    opened = hft_now_ms();
    (void)hft_int(w->server, "DEL " NAME);
    (void)hft_int(w->server,
                  "PUBLISH redisson_countdownlatch__channel__{" NAME "} 0");
    taker_join(&waiter);
    assert_ok(waiter.status);
    assert_between(waiter.ended_ms - opened, 0, SLACK_MS);
}

/* T58: the first leaves, and the next is told all the same. */
static void a_cancelled_wait_leaves_the_others_be(void **world)
{
    struct world *w = *world;
    hf_latch *gate = a_latch(w, NAME);
    hf_cancel *cancel = a_cancel(w);
    struct taker first = {
        .latch = gate, .wait_ms = HF_WAIT_FOREVER, .cancel = cancel};
    struct taker second;

    assert_true(armed_with(gate, 1));
    taker_run(&first);
    assert_true(waiters_become(w->client, 1, BOUND_MS));
    waiter_start(&second, gate, BOUND_MS);
    assert_true(waiters_become(w->client, 2, BOUND_MS));
    hf_cancel_fire(cancel);
    taker_join(&first);
    assert_status(HF_CANCELLED, first.status);
    assert_int_equal(counted_down(gate), 0);
    taker_join(&second);
    assert_ok(second.status);
}

/* CL-21, IS-28: ours waits on, as for a lock, and goes on when the server is back. */
static void a_server_that_stops_is_waited_for(void **world)
{
    struct world *w = *world;
    hf_latch *gate = a_latch(w, NAME);
    struct taker waiter, hasty;

    assert_true(armed_with(gate, 1));
    waiter_start(&waiter, gate, HF_WAIT_FOREVER);
    assert_true(hft_wait_channels(w->server, 1, BOUND_MS));
    hft_server_stop(w->server);
    waiter_start(&hasty, gate, 300);
    taker_join(&hasty);
    assert_status(HF_UNREACHABLE, hasty.status);
    hft_server_start_again(w->server); /* without its data: it is open */
    taker_join(&waiter);
    assert_ok(waiter.status);
}

struct meeting {
    struct world *w;
    int64_t here;
    int64_t least; /* that nobody goes on without */
};

static void count_and_wait(struct hft_member *me)
{
    struct meeting *meeting = me->context;
    hf_latch *gate = NULL;

    HFT_CHECK(me, hf_latch_new(meeting->w->client, NAME, &gate, NULL) == HF_OK);
    __atomic_add_fetch(&meeting->here, 1, __ATOMIC_SEQ_CST);
    HFT_CHECK(me, hf_latch_count_down(gate, NULL, &problem) == HF_OK);
    HFT_CHECK(me, await(gate, BOUND_MS) == HF_OK);
    HFT_CHECK(me, __atomic_load_n(&meeting->here, __ATOMIC_SEQ_CST) >=
                      meeting->least);
    HFT_CHECK(me, hf_latch_free(gate) == HF_OK);
}

static void meet(struct world *w, unsigned members, int64_t least)
{
    struct meeting meeting = {w, 0, least};
    struct hft_crew *crew;
    const char *wrong;

    assert_true(armed_with(a_latch(w, NAME), least));
    crew = hft_crew_start(members, count_and_wait, &meeting);
    wrong = hft_crew_join(crew, 30000);
    if (wrong != NULL) {
        print_error("%s\n", wrong);
    }
    assert_null(wrong);
    hft_crew_free(crew);
}

/* CL-09, CL-22, CL-23: nobody goes on before all have come; who is one too many
 * goes on as well. */
static void a_latch_is_a_barrier(void **world)
{
    meet(*world, 20, 20);
    meet(*world, 6, 5);
}

/* ---- asynchronous ---- */

struct heard {
    int calls;
    hf_status status;
    int64_t count;
    int changed;
    hf_latch *latch;
};

static void note(const hf_latch_completion *done, void *context)
{
    struct heard *heard = context;

    heard->status = done->status;
    heard->count = done->count;
    heard->changed = done->changed;
    heard->latch = done->latch;
    assert((done->error == NULL) == (done->status == HF_OK));
    __atomic_add_fetch(&heard->calls, 1, __ATOMIC_SEQ_CST);
}

static bool was_called(void *context)
{
    return __atomic_load_n(&((struct heard *)context)->calls,
                           __ATOMIC_SEQ_CST) > 0;
}

#define assert_async(call, heard, expected)                                    \
    do {                                                                       \
        memset(&(heard), 0, sizeof(heard));                                    \
        assert_ok(call);                                                       \
        assert_true(hft_wait_until(was_called, &(heard), BOUND_MS));           \
        assert_int_equal((heard).status, expected);                            \
    } while (0)

/* CL-03: five waits in callbacks, five count-downs. */
static void every_call_has_an_asynchronous_form(void **world)
{
    struct world *w = *world;
    hf_latch *gate = a_latch(w, NAME);
    struct heard waiting[5];
    struct heard heard;
    hf_error *e = &problem;
    size_t i;

    memset(waiting, 0, sizeof(waiting));
    assert_async(hf_latch_try_set_async(gate, 5, note, &heard, e), heard,
                 HF_OK);
    assert_int_equal(heard.changed, 1);
    assert_ptr_equal(heard.latch, gate);
    assert_async(hf_latch_await_async(gate, 0, NULL, note, &heard, e), heard,
                 HF_BUSY);
    for (i = 0; i < 5; i++) {
        assert_ok(
            hf_latch_await_async(gate, BOUND_MS, NULL, note, &waiting[i], e));
    }
    assert_status(HF_STILL_HELD, hf_latch_free(gate));
    for (i = 0; i < 5; i++) {
        assert_async(hf_latch_count_down_async(gate, note, &heard, e), heard,
                     HF_OK);
        assert_int_equal(heard.count, 4 - (int64_t)i);
    }
    for (i = 0; i < 5; i++) {
        assert_true(hft_wait_until(was_called, &waiting[i], BOUND_MS));
        assert_ok(waiting[i].status);
        assert_int_equal(waiting[i].calls, 1);
    }
    assert_async(hf_latch_count_async(gate, note, &heard, e), heard, HF_OK);
    assert_int_equal(heard.count, 0);
    assert_async(hf_latch_delete_async(gate, note, &heard, e), heard, HF_OK);
    assert_int_equal(heard.changed, 0);
}

/* ---- bad input ---- */

static void what_is_wrong_is_said_and_changes_nothing(void **world)
{
    struct world *w = *world;
    hf_latch *gate = a_latch(w, NAME);
    hf_latch *none = NULL;
    hf_latch_info info = HF_LATCH_INFO_INIT;
    hf_cancel *foreign = NULL;
    hf_error *e = &problem;

    assert_status(HF_INVALID, hf_latch_try_set(gate, 0, NULL, e));
    assert_status(HF_INVALID, hf_latch_try_set(gate, -1, NULL, e));
    assert_status(HF_INVALID,
                  hf_latch_try_set(gate, HF_LATCH_MAX + 1, NULL, e));
    assert_status(HF_INVALID, hf_latch_try_set(NULL, 1, NULL, e));
    assert_status(HF_INVALID, hf_latch_count_down(NULL, NULL, e));
    assert_status(HF_INVALID, hf_latch_delete(NULL, NULL, e));
    assert_status(HF_INVALID, await(NULL, 0));
    assert_status(HF_INVALID, await(gate, -2));
    assert_status(HF_INVALID, hf_latch_count(gate, NULL, e));
    info.size = 0;
    assert_status(HF_INVALID, hf_latch_inspect_remote(gate, &info, e));
    assert_status(HF_INVALID, hf_latch_inspect_remote(gate, NULL, e));
    assert_status(HF_INVALID, hf_latch_await_async(gate, 0, NULL, NULL, w, e));
    assert_status(HF_INVALID, hf_latch_await_async(gate, -5, NULL, note, w, e));
    assert_status(HF_INVALID, hf_latch_try_set_async(gate, 0, note, w, e));
    assert_status(HF_BAD_NAME, hf_latch_new(w->client, "", &none, e));
    assert_status(HF_BAD_NAME, hf_latch_new(w->client, NULL, &none, e));
    assert_status(HF_INVALID, hf_latch_new(NULL, NAME, &none, e));
    assert_status(HF_INVALID, hf_latch_new(w->client, NAME, NULL, e));
    assert_ok(hf_latch_free(NULL));
    assert_ok(hf_cancel_new(a_client(w), &foreign, e));
    assert_status(HF_INVALID, hf_latch_await(gate, 0, foreign, e));
    hf_cancel_free(foreign);
    assert_int_equal(hft_int(w->server, "DBSIZE"), 0);
}

/* T56: await on a key of another type. */
static void another_type_is_said_to_be_none(void **world)
{
    struct world *w = *world;
    hf_latch *gate = a_latch(w, NAME);
    int64_t count;

    (void)hft_int(w->server, "RPUSH " NAME " a");
    assert_status(HF_WRONG_TYPE, await(gate, 0));
    assert_status(HF_WRONG_TYPE, await(gate, HF_WAIT_FOREVER));
    assert_non_null(strstr(problem.message, NAME));
    assert_status(HF_WRONG_TYPE, hf_latch_count(gate, &count, &problem));
    assert_status(HF_WRONG_TYPE, hf_latch_try_set(gate, 1, NULL, &problem));
    assert_status(HF_WRONG_TYPE, hf_latch_count_down(gate, NULL, &problem));
    (void)hft_int(w->server, "DEL " NAME);
    (void)hft_int(w->server, "SET " NAME " many");
    assert_status(HF_WRONG_TYPE, await(gate, 100));
    assert_string_equal(hft_str(w->server, "GET " NAME), "many");
}

/* spec: latch/look-1 */
static void a_look_tells_who_waits(void **world)
{
    struct world *w = *world;
    hf_latch *gate = a_latch(w, NAME);
    hf_latch_info info = HF_LATCH_INFO_INIT;
    struct taker waiter;

    assert_true(armed_with(gate, 4));
    waiter_start(&waiter, gate, BOUND_MS);
    assert_true(hft_wait_channels(w->server, 1, BOUND_MS));
    assert_ok(hf_latch_inspect_remote(gate, &info, &problem));
    assert_int_equal(info.count, 4);
    assert_int_equal(info.waiting, 1);
    assert_ok(hf_latch_delete(gate, NULL, &problem));
    taker_join(&waiter);
    assert_ok(waiter.status);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        counting_test(a_latch_counts_down_and_stays_open),
        counting_test(names_on_the_server_are_those_of_java),
        counting_test(a_program_that_goes_on_leaves_one_record),
        counting_test(the_last_count_down_wakes_a_waiter),
        counting_test(a_wait_ends_with_its_time),
        counting_test(all_waiters_go_on_when_it_opens),
        counting_test(an_opening_without_a_message_is_seen),
        counting_test(a_deletion_wakes_all_waiters),
        counting_test(whoever_waited_goes_on_although_it_is_armed_again),
        counting_test(a_count_that_grew_was_armed_again),
        counting_test(a_waiter_waits_on_while_it_is_counted_down),
        counting_test(a_count_down_by_java_wakes_us),
        counting_test(a_message_without_an_end_is_ignored),
        counting_test(a_cancelled_wait_leaves_the_others_be),
        counting_test(a_server_that_stops_is_waited_for),
        counting_test(a_latch_is_a_barrier),
        counting_test(every_call_has_an_asynchronous_form),
        counting_test(what_is_wrong_is_said_and_changes_nothing),
        counting_test(another_type_is_said_to_be_none),
        counting_test(a_look_tells_who_waits),
    };

    return cmocka_run_group_tests_name("latch", tests, world_up, world_down);
}
