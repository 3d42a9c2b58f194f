/* SPDX-License-Identifier: MIT */
/* test_semaphore_wait.c - waiting for permits, alone and in a crowd.
 *
 * Rows: SM-01, SM-07 to SM-09, SM-14, SM-16 to SM-18, SM-31, SM-33 to SM-36,
 * SM-40, PB-12, IS-26, IS-27, 15.35, T40, T58.
 */
#include "counting.h"

#include "support/crew.h"

#define NAME "pool"

/* SM-07 */
static void a_release_lets_a_waiter_in(void **world)
{
    struct world *w = *world;
    hf_semaphore *pool = a_semaphore(w, NAME);
    hf_semaphore *other = a_semaphore_of(a_client(w), NAME);
    struct taker taker;
    int64_t released;

    assert_true(set_to(pool, 1));
    assert_ok(get(pool, 1, 0));
    taker_start(&taker, other, 1, HF_WAIT_FOREVER);
    assert_true(hft_wait_channels(w->server, 1, BOUND_MS));
    released = hft_now_ms();
    assert_ok(put(pool, 1));
    taker_join(&taker);
    assert_ok(taker.status);
    assert_between(taker.ended_ms - released, 0, SLACK_MS);
    assert_status(HF_BUSY, get(pool, 1, 0));
    assert_int_equal(available(pool), 0);
}

/* SM-01, SM-31 */
static void adding_permits_wakes_a_waiter(void **world)
{
    struct world *w = *world;
    hf_semaphore *pool = a_semaphore(w, NAME);
    hf_semaphore *other = a_semaphore_of(a_client(w), NAME);
    struct taker taker;
    int64_t added;

    assert_ok(hf_semaphore_add(pool, 1, NULL, &problem));
    assert_ok(get(pool, 1, 0));
    taker_start(&taker, other, 2, HF_WAIT_FOREVER);
    assert_true(hft_wait_channels(w->server, 1, BOUND_MS));
    assert_ok(put(pool, 1));
    hft_let_pass_ms(200);
    assert_int_equal(available(pool), 1); /* too few: nothing was taken */
    added = hft_now_ms();
    assert_ok(hf_semaphore_add(pool, 1, NULL, &problem));
    taker_join(&taker);
    assert_ok(taker.status);
    assert_between(taker.ended_ms - added, 0, SLACK_MS);
}

/* SM-08, SM-09 */
static void several_permits_are_waited_for_together(void **world)
{
    struct world *w = *world;
    hf_semaphore *pool = a_semaphore(w, NAME);
    struct taker taker;

    assert_true(set_to(pool, 5));
    assert_ok(get(pool, 3, 0));
    assert_status(HF_BUSY, get(pool, 4, 0));
    taker_start(&taker, pool, 4, BOUND_MS);
    assert_true(hft_wait_channels(w->server, 1, BOUND_MS));
    assert_ok(put(pool, 1));
    assert_ok(put(pool, 1));
    taker_join(&taker);
    assert_ok(taker.status);
    assert_int_equal(available(pool), 0);
}

/* SM-40, T58 */
static void a_cancelled_wait_takes_nothing_and_wakes_the_next(void **world)
{
    struct world *w = *world;
    hf_semaphore *pool = a_semaphore(w, NAME);
    hf_cancel *cancel = a_cancel(w);
    struct taker first = {.semaphore = pool,
                          .permits = 5,
                          .wait_ms = HF_WAIT_FOREVER,
                          .cancel = cancel};
    struct taker second;

    assert_true(set_to(pool, 0));
    taker_run(&first);
    assert_true(waiters_become(w->client, 1, BOUND_MS));
    taker_start(&second, pool, 1, BOUND_MS);
    assert_true(waiters_become(w->client, 2, BOUND_MS));
    assert_true(falls_silent(w->client, BOUND_MS));
    hf_cancel_fire(cancel);
    taker_join(&first);
    assert_status(HF_CANCELLED, first.status);
    assert_ok(put(pool, 1));
    taker_join(&second);
    assert_ok(second.status);
    assert_int_equal(available(pool), 0);
}

/* A message that is lost costs the re-try bound.
 * spec: semaphore/wait-1 */
static void permits_without_a_message_are_found(void **world)
{
    struct world *w = *world;
    hf_semaphore *pool = a_semaphore(w, NAME);
    struct taker taker;
    int64_t there;

    taker_start(&taker, pool, 1, HF_WAIT_FOREVER);
    assert_true(hft_wait_channels(w->server, 1, BOUND_MS));
    there = hft_now_ms();
    (void)hft_int(w->server, "SET " NAME " 1");
    taker_join(&taker);
    assert_ok(taker.status);
    assert_between(taker.ended_ms - there, 0, 2000 + SLACK_MS);
}

/* A deletion takes the permits away, and no more: whoever waits is served by
 * the semaphore that is made next. */
static void a_waiter_outlives_a_deletion(void **world)
{
    struct world *w = *world;
    hf_semaphore *pool = a_semaphore(w, NAME);
    struct taker taker;

    assert_true(set_to(pool, 0));
    taker_start(&taker, pool, 1, BOUND_MS);
    assert_true(hft_wait_channels(w->server, 1, BOUND_MS));
    assert_ok(hf_semaphore_delete(pool, NULL, &problem));
    assert_true(set_to(pool, 1));
    taker_join(&taker);
    assert_ok(taker.status);
}

/* spec: semaphore/wait-3 */
static void one_who_wants_less_passes_the_first(void **world)
{
    struct world *w = *world;
    hf_semaphore *pool = a_semaphore(w, NAME);
    struct taker large, small;

    assert_true(set_to(pool, 2));
    taker_start(&large, pool, 3, HF_WAIT_FOREVER);
    assert_true(hft_wait_channels(w->server, 1, BOUND_MS));
    taker_start(&small, pool, 1, BOUND_MS); /* comes new */
    taker_join(&small);
    assert_ok(small.status);
    assert_between(small.ended_ms - small.began_ms, 0, SLACK_MS);

    taker_start(&small, pool, 2, BOUND_MS); /* stands behind */
    assert_true(waiters_become(w->client, 2, BOUND_MS));
    assert_ok(put(pool, 1));
    taker_join(&small);
    assert_ok(small.status);
    assert_between(small.ended_ms - small.began_ms, 0, 2000 + SLACK_MS);
    assert_ok(put(pool, 3));
    taker_join(&large);
    assert_ok(large.status);
    assert_int_equal(available(pool), 0);
}

/* 15.35, IS-27: four, two and one are wanted, and come singly. */
static void each_is_served_when_there_is_enough_for_it(void **world)
{
    struct world *w = *world;
    hf_semaphore *pool = a_semaphore(w, NAME);
    hf_semaphore *other = a_semaphore_of(a_client(w), NAME);
    struct taker four, two, one;
    int64_t enough;

    taker_start(&four, other, 4, BOUND_MS);
    assert_true(hft_wait_channels(w->server, 1, BOUND_MS));
    taker_start(&two, other, 2, BOUND_MS);
    taker_start(&one, other, 1, BOUND_MS);
    hft_let_pass_ms(50); /* they have come, and found nothing */
    enough = hft_now_ms();
    assert_ok(put(pool, 1));
    taker_join(&one);
    assert_ok(one.status);
    assert_between(one.ended_ms - enough, 0, 100 + SLACK_MS);
    assert_ok(put(pool, 1));
    enough = hft_now_ms();
    assert_ok(put(pool, 1));
    taker_join(&two);
    assert_ok(two.status);
    assert_between(two.ended_ms - enough, 0, 100 + SLACK_MS);
    assert_ok(put(pool, 3));
    enough = hft_now_ms();
    assert_ok(put(pool, 2)); /* more than is wanted */
    taker_join(&four);
    assert_ok(four.status);
    assert_between(four.ended_ms - enough, 0, 100 + SLACK_MS);
    assert_int_equal(available(pool), 1);
}

/* IS-26: a value of 0 is set. */
static void an_empty_semaphore_is_not_set_again(void **world)
{
    hf_semaphore *pool = a_semaphore(*world, NAME);

    assert_true(set_to(pool, 0));
    assert_false(set_to(pool, 3));
    assert_int_equal(available(pool), 0);
}

struct stream {
    hf_semaphore *pool;
};

static void take_one_again_and_again(struct hft_member *me)
{
    struct stream *stream = me->context;

    while (!hft_member_should_stop(me)) {
        if (HFT_CHECK(me, get(stream->pool, 1, HF_WAIT_FOREVER) == HF_OK)) {
            hft_let_pass_ms(5);
            HFT_CHECK(me, put(stream->pool, 1) == HF_OK);
            me->result++;
        }
    }
}

/* Eight who want one, for ever, and one who wants all. */
static void a_stream_of_small_demands_does_not_starve_a_large_one(void **world)
{
    struct world *w = *world;
    struct stream stream = {a_semaphore(w, NAME)};
    struct hft_crew *crew;
    struct taker large;

    assert_true(set_to(stream.pool, 4));
    crew = hft_crew_start(8, take_one_again_and_again, &stream);
    hft_let_pass_ms(50);
    taker_start(&large, stream.pool, 4, BOUND_MS);
    taker_join(&large);
    assert_ok(large.status);
    assert_ok(put(stream.pool, 4));
    hft_let_pass_ms(50);
    hft_crew_stop(crew);
    assert_null(hft_crew_join(crew, BOUND_MS));
    hft_crew_free(crew);
    assert_int_equal(available(stream.pool), 4);
}

/* ---- many ---- */

struct crowd {
    struct world *w;
    int64_t limit;
    int rounds;
    int64_t most;
    bool own_client;
    int64_t held; /* atomically */
    int64_t seen;
};

static void use(struct hft_member *me, hf_semaphore *pool,
                struct hft_random *random)
{
    struct crowd *crowd = me->context;
    int64_t many = 1 + (int64_t)hft_random_below(random, (uint64_t)crowd->most);
    int64_t held, seen;

    if (!HFT_CHECK(me, get(pool, many, HF_WAIT_FOREVER) == HF_OK)) {
        return;
    }
    held = __atomic_add_fetch(&crowd->held, many, __ATOMIC_SEQ_CST);
    HFT_CHECK(me, held <= crowd->limit);
    seen = __atomic_load_n(&crowd->seen, __ATOMIC_SEQ_CST);
    while (seen < held &&
           !__atomic_compare_exchange_n(&crowd->seen, &seen, held, false,
                                        __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
    }
    hft_let_pass_ms(1);
    __atomic_sub_fetch(&crowd->held, many, __ATOMIC_SEQ_CST);
    while (many > 0) { /* in chunks */
        int64_t part = 1 + (int64_t)hft_random_below(random, (uint64_t)many);

        HFT_CHECK(me, put(pool, part) == HF_OK);
        many -= part;
    }
}

static void come_and_go(struct hft_member *me)
{
    struct crowd *crowd = me->context;
    struct hft_random random = {me->index + 1};
    hf_options options = short_options();
    hf_client *client = crowd->w->client;
    hf_semaphore *pool = NULL;
    int i;

    if (crowd->own_client &&
        !HFT_CHECK(me, hf_client_open(hft_server_url(crowd->w->server),
                                      &options, &client, NULL) == HF_OK)) {
        return;
    }
    HFT_CHECK(me, hf_semaphore_new(client, NAME, &pool, NULL) == HF_OK);
    for (i = 0; i < crowd->rounds; i++) {
        use(me, pool, &random);
    }
    HFT_CHECK(me, hf_semaphore_free(pool) == HF_OK);
    if (crowd->own_client) {
        HFT_CHECK(me, hf_client_close(client) == HF_OK);
    }
}

static void everybody_is_served(struct world *w, struct crowd *crowd,
                                unsigned members)
{
    hf_semaphore *pool = a_semaphore(w, NAME);
    struct hft_crew *crew;
    const char *wrong;

    crowd->w = w;
    assert_true(set_to(pool, crowd->limit));
    crew = hft_crew_start(members, come_and_go, crowd);
    wrong = hft_crew_join(crew, 60000);
    if (wrong != NULL) {
        print_error("%s\n", wrong);
    }
    assert_null(wrong);
    hft_crew_free(crew);
    assert_int_equal(available(pool), crowd->limit);
    assert_int_equal(crowd->held, 0);
}

/* SM-14, SM-36 */
static void one_permit_lets_one_thread_in_at_a_time(void **world)
{
    struct crowd crowd = {.limit = 1, .rounds = 10, .most = 1};

    everybody_is_served(*world, &crowd, 15);
    assert_int_equal(crowd.seen, 1);
}

/* SM-16, SM-17 */
static void one_permit_lets_one_client_in_at_a_time(void **world)
{
    struct crowd crowd = {
        .limit = 1, .rounds = 10, .most = 1, .own_client = true};

    everybody_is_served(*world, &crowd, 10);
    assert_int_equal(crowd.seen, 1);
}

/* SM-18, SM-33, SM-34, SM-35, T40 */
static void never_more_are_out_than_there_are(void **world)
{
    struct crowd crowd = {
        .limit = 11, .rounds = 10, .most = 5, .own_client = true};

    everybody_is_served(*world, &crowd, 10);
    assert_true(crowd.seen > 1);
}

static void look_for_less_than_none(struct hft_member *me)
{
    struct world *w = me->context;

    while (!hft_member_should_stop(me)) {
        int64_t seen = wire_value(w, NAME);

        HFT_CHECK(me, seen >= 0 || seen == HFT_NIL);
    }
}

/* PB-12 */
static void the_number_is_never_seen_below_none(void **world)
{
    struct crowd crowd = {.limit = 4, .rounds = 20, .most = 2};
    struct hft_crew *watch = hft_crew_start(1, look_for_less_than_none, *world);

    everybody_is_served(*world, &crowd, 8);
    hft_crew_stop(watch);
    assert_null(hft_crew_join(watch, BOUND_MS));
    hft_crew_free(watch);
}

/* T40, in one process, where waiters pass each other. */
static void threads_of_one_client_share_the_permits(void **world)
{
    struct crowd crowd = {.limit = 11, .rounds = 20, .most = 11};

    everybody_is_served(*world, &crowd, 24);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        counting_test(a_release_lets_a_waiter_in),
        counting_test(adding_permits_wakes_a_waiter),
        counting_test(several_permits_are_waited_for_together),
        counting_test(a_cancelled_wait_takes_nothing_and_wakes_the_next),
        counting_test(permits_without_a_message_are_found),
        counting_test(a_waiter_outlives_a_deletion),
        counting_test(one_who_wants_less_passes_the_first),
        counting_test(each_is_served_when_there_is_enough_for_it),
        counting_test(an_empty_semaphore_is_not_set_again),
        counting_test(a_stream_of_small_demands_does_not_starve_a_large_one),
        counting_test(one_permit_lets_one_thread_in_at_a_time),
        counting_test(one_permit_lets_one_client_in_at_a_time),
        counting_test(never_more_are_out_than_there_are),
        counting_test(the_number_is_never_seen_below_none),
        counting_test(threads_of_one_client_share_the_permits),
    };

    return cmocka_run_group_tests_name("semaphore_wait", tests, world_up,
                                       world_down);
}
