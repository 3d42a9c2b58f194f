/* SPDX-License-Identifier: MIT */
/* test_permits_many.c - permits with leases, several in one call.
 *
 * Rows: PS-14, PS-16, PS-22 to PS-27, PS-29, PS-30.
 */
#include "permitting.h"

#include <stdio.h>
#include <string.h>

#include "support/crew.h"

#define NAME "slots"
#define FOREIGN "00112233445566778899aabbccddeeff"
#define MANY 10
#define ASYNC_MS BOUND_MS /* "at once", on a loaded machine */

static hf_status take_many(hf_permits *permits, int64_t count, int64_t wait_ms,
                           int64_t lease_ms, hf_permit_id *ret_ids)
{
    hf_acquire how = HF_ACQUIRE_INIT;

    how.wait_ms = wait_ms;
    how.lease_ms = lease_ms;
    how.renew = lease_ms >= 10000;
    return hf_permits_acquire_many(permits, count, &how, ret_ids, &problem);
}

static hf_status give_many(hf_permits *permits, const hf_permit_id *ids,
                           size_t count)
{
    return hf_permits_release_many(permits, ids, count, &problem);
}

static void is_at(struct world *w, int64_t available, int64_t out)
{
    assert_int_equal(hft_int(w->server, "GET " NAME), available);
    assert_int_equal(wire_out(w, NAME), out);
}

static hf_permits *ten(struct world *w)
{
    hf_permits *slots = permits_of(w->client, NAME);

    assert_true(permits_set_to(slots, MANY));
    return slots;
}

static void free_all(struct world *w, hf_permits *slots)
{
    close_clients(w);
    assert_ok(hf_permits_free(slots));
}

/* PS-14, PS-22.  spec: permits/acquire-3, permits/change-4 */
static void several_are_taken_and_given_back_together(void **world)
{
    struct world *w = *world;
    hf_permits *slots = ten(w);
    hf_permit_id ids[6];
    size_t i, j;

    assert_ok(take_many(slots, 6, HF_WAIT_FOREVER, 60000, ids));
    is_at(w, 4, 6);
    for (i = 0; i < 6; i++) {
        assert_int_equal(strspn(ids[i].text, "0123456789abcdef"), 32);
        assert_true(hf_permits_is_held(slots, ids[i].text));
        assert_between(hf_permits_remaining_ms(slots, ids[i].text), 50000,
                       60000);
        for (j = 0; j < i; j++) {
            assert_string_not_equal(ids[i].text, ids[j].text);
        }
    }
    assert_ok(give_many(slots, ids, 4));
    is_at(w, 8, 2);
    assert_false(hf_permits_is_held(slots, ids[3].text));
    assert_true(hf_permits_is_held(slots, ids[4].text));
    assert_ok(give_many(slots, ids + 4, 2));
    is_at(w, 10, 0);
    assert_status(HF_GONE, give_many(slots, ids, 6));
    is_at(w, 10, 0);
    assert_ok(hf_permits_free(slots));
}

/* PS-16 */
static void all_or_none_are_taken(void **world)
{
    struct world *w = *world;
    hf_permits *slots = ten(w);
    hf_permit_id ids[MANY];

    assert_ok(take_many(slots, 4, 0, 60000, ids));
    assert_ok(take_many(slots, 5, 0, 60000, ids + 4));
    is_at(w, 1, 9);
    assert_status(HF_BUSY, take_many(slots, 2, 0, 60000, ids + 8));
    assert_non_null(
        strstr(problem.message,
               NAME ": permits wanted: 2; available when last asked: 1"));
    is_at(w, 1, 9);
    assert_status(HF_TIMEOUT, take_many(slots, 2, 100, 60000, ids + 8));
    is_at(w, 1, 9);
    /* Taken together, given back one by one. */
    assert_ok(hf_permits_release(slots, ids[0].text, &problem));
    assert_ok(hf_permits_release(slots, ids[8].text, &problem));
    assert_ok(give_many(slots, ids + 1, 7));
    is_at(w, 10, 0);
    assert_ok(hf_permits_free(slots));
}

/* ---- asynchronous ---- */

struct many_end {
    int ended;
    hf_status status;
    size_t count;
    hf_permit_id ids[MANY];
};

static void on_end(const hf_permits_completion *done, void *context)
{
    struct many_end *end = context;

    end->status = done->status;
    end->count = done->count;
    if (done->count > 0) {
        assert_string_equal(done->id, done->ids[0].text);
        memcpy(end->ids, done->ids, done->count * sizeof(done->ids[0]));
    }
    end->ended++;
}

static bool ends(hf_client *client, const struct many_end *end)
{
    int64_t until = hft_now_ms() + ASYNC_MS;

    while (end->ended == 0 && hft_now_ms() < until) {
        hf_client_dispatch(client);
        hft_let_pass_ms(1);
    }
    return end->ended == 1;
}

/* PS-23, PS-24: at once, for nothing has to be waited for. */
static void several_have_asynchronous_forms(void **world)
{
    struct world *w = *world;
    hf_permits *slots = ten(w);
    struct many_end taken = {0}, first = {0}, second = {0}, gone = {0};

    (void)hf_client_fd(w->client);
    assert_ok(hf_permits_acquire_many_async(slots, 6, NULL, on_end, &taken,
                                            &problem));
    assert_true(ends(w->client, &taken));
    assert_ok(taken.status);
    assert_int_equal(taken.count, 6);
    is_at(w, 4, 6);
    assert_ok(hf_permits_release_many_async(slots, taken.ids, 4, on_end, &first,
                                            &problem));
    assert_true(ends(w->client, &first));
    assert_ok(first.status);
    assert_int_equal(first.count, 0);
    is_at(w, 8, 2);
    assert_ok(hf_permits_release_many_async(slots, taken.ids + 4, 2, on_end,
                                            &second, &problem));
    assert_true(ends(w->client, &second));
    assert_ok(second.status);
    is_at(w, 10, 0);
    assert_ok(hf_permits_release_many_async(slots, taken.ids, 6, on_end, &gone,
                                            &problem));
    assert_true(ends(w->client, &gone));
    assert_status(HF_GONE, gone.status);
    assert_ok(hf_permits_free(slots));
}

/* ---- leases ---- */

/* PS-25: what has ended is collected by whoever takes next. */
static void several_whose_lease_has_ended_are_back(void **world)
{
    struct world *w = *world;
    hf_permits *slots = ten(w);
    hf_permit_id ids[7];

    assert_ok(take_many(slots, 6, 0, 100, ids));
    hft_let_pass_ms(250);
    assert_int_equal(info_of(slots).available, 10);
    assert_ok(take_many(slots, 1, 0, 100, ids + 6));
    is_at(w, 9, 1);
    hft_let_pass_ms(150);
    assert_int_equal(info_of(slots).available, 10);
    assert_true(endings_become(w->client, 0, BOUND_MS));
    free_all(w, slots);
}

/* PS-26, PS-27: one that is gone, and all the others stay: whoever took them.
 * spec: permits/change-4 */
static void one_that_is_gone_keeps_all_out(void **world)
{
    struct world *w = *world;
    hf_permits *theirs = permits_of(a_client(w), NAME);
    hf_permits *slots = ten(w);
    hf_permit_id timed[2], lasting[8], mixed[3];

    assert_ok(take_many(slots, 2, 0, 100, timed));
    assert_ok(take_many(slots, 8, 0, 60000, lasting));
    assert_ok(give_many(slots, lasting, 2));
    is_at(w, 2, 8);
    assert_true(endings_become(w->client, 0, BOUND_MS));
    hft_let_pass_ms(150);
    assert_int_equal(info_of(slots).available, 4);
    assert_status(HF_GONE, give_many(slots, timed, 2));
    assert_int_equal(info_of(slots).available, 4);
    /* two that are held, and two that were given back */
    assert_status(HF_GONE, give_many(slots, lasting, 4));
    assert_int_equal(info_of(slots).available, 4);
    assert_true(hf_permits_is_held(slots, lasting[2].text));
    assert_true(hf_permits_is_held(slots, lasting[3].text));
    mixed[0] = lasting[2];
    mixed[1] = lasting[3];
    memcpy(mixed[2].text, FOREIGN, sizeof(FOREIGN));
    assert_status(HF_GONE, give_many(slots, mixed + 2, 1));
    assert_status(HF_GONE, give_many(slots, mixed, 3));
    assert_status(HF_GONE, give_many(theirs, mixed, 3));
    assert_int_equal(info_of(slots).available, 4);
    assert_true(hf_permits_is_held(slots, lasting[2].text));
    /* They are held as before: renewed, and to be given back. */
    assert_ok(give_many(theirs, lasting + 2, 3));
    assert_ok(give_many(slots, lasting + 5, 3));
    assert_int_equal(info_of(slots).available, 10);
    free_all(w, slots);
    assert_ok(hf_permits_free(theirs));
}

/* After a release that was refused a permit goes on being renewed. */
static void what_stays_goes_on_being_renewed(void **world)
{
    struct world *w = *world;
    hf_permits *slots = ten(w);
    hf_acquire how = HF_ACQUIRE_INIT;
    hf_permit_id ids[2];

    how.lease_ms = 2000;
    assert_ok(hf_permits_acquire_many(slots, 1, &how, ids, &problem));
    memcpy(ids[1].text, FOREIGN, sizeof(FOREIGN));
    assert_status(HF_GONE, give_many(slots, ids, 2));
    hft_let_pass_ms(3000);
    assert_true(hf_permits_is_held(slots, ids[0].text));
    assert_ok(give_many(slots, ids, 1));
    is_at(w, 10, 0);
    assert_ok(hf_permits_free(slots));
}

static bool two_are_told(void *told)
{
    return told_so_far(told).losses == 2;
}

/* Each of them is lost by itself, and told so. */
static void each_that_is_lost_is_told(void **world)
{
    struct world *w = *world;
    hf_permits *slots = ten(w);
    hf_permits *theirs = permits_of(a_client(w), NAME);
    hf_acquire how = HF_ACQUIRE_INIT;
    hf_permit_id ids[3];
    struct told told;

    memset(&told, 0, sizeof(told));
    how.lease_ms = 2000;
    how.on_lost = record_lost;
    how.context = &told;
    assert_ok(hf_permits_acquire_many(slots, 3, &how, ids, &problem));
    assert_ok(give_many(theirs, ids, 2));
    assert_true(hft_wait_until(two_are_told, &told, BOUND_MS));
    assert_false(hf_permits_is_held(slots, ids[0].text));
    assert_false(hf_permits_is_held(slots, ids[1].text));
    assert_true(hf_permits_is_held(slots, ids[2].text));
    assert_true(endings_become(w->client, 0, BOUND_MS)); /* and forgotten */
    assert_status(HF_GONE, give_many(slots, ids, 3));
    assert_ok(give_many(slots, ids + 2, 1));
    is_at(w, 10, 0);
    free_all(w, slots);
    assert_ok(hf_permits_free(theirs));
}

/* ---- waiting ---- */

struct pair {
    hf_permits *permits;
    int64_t count;
    int64_t wait_ms;
    int64_t hold_ms;
};

static void take_and_hold(struct hft_member *me)
{
    const struct pair *pair = me->context;
    hf_permit_id ids[MANY];

    if (!HFT_CHECK(me, take_many(pair->permits, pair->count, pair->wait_ms,
                                 60000, ids) == HF_OK)) {
        return;
    }
    hft_let_pass_ms(pair->hold_ms);
    HFT_CHECK(me, give_many(pair->permits, ids, (size_t)pair->count) == HF_OK);
}

static void all_get_theirs(struct hft_crew *crew)
{
    const char *wrong = hft_crew_join(crew, BOUND_MS);

    if (wrong != NULL) {
        print_error("%s\n", wrong);
    }
    assert_null(wrong);
    hft_crew_free(crew);
}

/* PS-29: one message wakes one who waits for two, in any client. */
static void who_waits_for_several_is_woken(void **world)
{
    struct world *w = *world;
    hf_permits *slots = permits_of(w->client, NAME);
    hf_permits *theirs = permits_of(a_client(w), NAME);
    struct pair ours = {slots, 2, BOUND_MS, 200};
    struct pair other = {theirs, 2, BOUND_MS, 200};
    struct hft_crew *crews[2];

    assert_true(permits_set_to(slots, 2));
    crews[0] = hft_crew_start(2, take_and_hold, &ours);
    crews[1] = hft_crew_start(2, take_and_hold, &other);
    all_get_theirs(crews[0]);
    all_get_theirs(crews[1]);
    is_at(w, 2, 0);
    free_all(w, slots);
    assert_ok(hf_permits_free(theirs));
}

/* PS-30 */
static void one_that_is_out_keeps_two_waiting(void **world)
{
    struct world *w = *world;
    hf_permits *slots = permits_of(w->client, NAME);
    struct pair pair = {slots, 2, BOUND_MS, 0};
    struct hft_crew *crew;
    hf_permit_id one[1];

    assert_true(permits_set_to(slots, 2));
    assert_ok(take_many(slots, 1, 0, 60000, one));
    crew = hft_crew_start(1, take_and_hold, &pair);
    assert_true(waiters_become(w->client, 1, BOUND_MS));
    hft_let_pass_ms(100);
    is_at(w, 1, 1);
    assert_ok(give_many(slots, one, 1));
    all_get_theirs(crew);
    is_at(w, 2, 0);
    assert_ok(hf_permits_free(slots));
}

/* One who wants less passes the first, who cannot have what he wants. */
static void one_who_wants_less_passes_the_first(void **world)
{
    struct world *w = *world;
    hf_permits *slots = permits_of(w->client, NAME);
    struct pair large = {slots, 5, BOUND_MS, 0};
    struct hft_crew *crew;
    hf_permit_id ids[5];

    assert_true(permits_set_to(slots, 4));
    crew = hft_crew_start(1, take_and_hold, &large);
    assert_true(waiters_become(w->client, 1, BOUND_MS));
    assert_ok(take_many(slots, 2, BOUND_MS, 60000, ids));
    is_at(w, 2, 2);
    assert_ok(give_many(slots, ids, 2));
    assert_ok(hf_permits_add(slots, 1, NULL, &problem));
    all_get_theirs(crew);
    is_at(w, 5, 0);
    assert_ok(hf_permits_free(slots));
}

static void take_one_for_ever(struct hft_member *me)
{
    hf_permits *slots = me->context;
    hf_permit_id id;

    while (!hft_member_should_stop(me)) {
        if (!HFT_CHECK(me,
                       take_many(slots, 1, BOUND_MS, 60000, &id) == HF_OK) ||
            !HFT_CHECK(me, give_many(slots, &id, 1) == HF_OK)) {
            return;
        }
    }
}

/* Eight who want one, for ever, and one who wants all. */
static void a_stream_of_small_demands_does_not_starve_a_large_one(void **world)
{
    struct world *w = *world;
    hf_permits *slots = permits_of(w->client, NAME);
    struct hft_crew *crew;
    hf_permit_id ids[4];

    assert_true(permits_set_to(slots, 4));
    crew = hft_crew_start(8, take_one_for_ever, slots);
    hft_let_pass_ms(50);
    assert_ok(take_many(slots, 4, BOUND_MS, 60000, ids));
    assert_ok(give_many(slots, ids, 4));
    hft_crew_stop(crew);
    all_get_theirs(crew);
    assert_true(hft_wait_int(w->server, 4, BOUND_MS, "GET " NAME));
    assert_ok(hf_permits_free(slots));
}

/* ---- bad input ---- */

static void bad_input_takes_and_gives_nothing(void **world)
{
    struct world *w = *world;
    hf_permits *slots = ten(w);
    hf_permit_id ids[3];
    struct many_end end = {0};

    assert_status(HF_INVALID, take_many(slots, 0, 0, 60000, ids));
    assert_status(HF_INVALID, take_many(slots, -1, 0, 60000, ids));
    assert_status(HF_INVALID,
                  take_many(slots, HF_PERMITS_AT_ONCE_MAX + 1, 0, 60000, ids));
    assert_status(HF_INVALID, take_many(slots, 2, 0, 60000, NULL));
    assert_status(HF_INVALID, take_many(NULL, 2, 0, 60000, ids));
    assert_ok(take_many(slots, 2, 0, 60000, ids));
    ids[2] = ids[0];
    assert_status(HF_INVALID, give_many(slots, ids, 3));
    assert_non_null(strstr(problem.message, "twice"));
    memcpy(ids[2].text, "0011", 5);
    assert_status(HF_INVALID, give_many(slots, ids, 3));
    memset(ids[2].text, 'a', sizeof(ids[2].text)); /* and no end */
    assert_status(HF_INVALID, give_many(slots, ids, 3));
    memcpy(ids[2].text, "00112233445566778899aabbccddeefg", 33);
    assert_status(HF_INVALID, give_many(slots, ids, 3));
    assert_status(HF_INVALID, give_many(slots, ids, 0));
    assert_status(HF_INVALID,
                  give_many(slots, ids, HF_PERMITS_AT_ONCE_MAX + 1));
    assert_status(HF_INVALID, give_many(slots, NULL, 1));
    assert_status(HF_INVALID, give_many(NULL, ids, 1));
    assert_status(HF_INVALID, hf_permits_acquire_many_async(
                                  slots, 0, NULL, on_end, &end, &problem));
    assert_status(HF_INVALID, hf_permits_acquire_many_async(
                                  slots, 1, NULL, NULL, &end, &problem));
    assert_status(HF_INVALID, hf_permits_release_many_async(
                                  slots, ids, 0, on_end, &end, &problem));
    assert_status(HF_INVALID, hf_permits_release_many_async(slots, ids, 1, NULL,
                                                            &end, &problem));
    is_at(w, 8, 2);
    assert_true(hf_permits_is_held(slots, ids[0].text));
    assert_ok(give_many(slots, ids, 2));
    assert_int_equal(end.ended, 0);
    assert_ok(hf_permits_free(slots));
}

/* As many as there may be, in one script each way. */
static void a_thousand_go_in_one_call(void **world)
{
    static hf_permit_id ids[HF_PERMITS_AT_ONCE_MAX];
    struct world *w = *world;
    hf_permits *slots = permits_of(w->client, NAME);

    assert_true(permits_set_to(slots, HF_PERMITS_AT_ONCE_MAX));
    assert_ok(take_many(slots, HF_PERMITS_AT_ONCE_MAX, 0, 60000, ids));
    is_at(w, 0, HF_PERMITS_AT_ONCE_MAX);
    assert_ok(give_many(slots, ids, HF_PERMITS_AT_ONCE_MAX));
    is_at(w, HF_PERMITS_AT_ONCE_MAX, 0);
    assert_ok(hf_permits_free(slots));
}

/* A client that closes leaves none of them out. */
static void a_client_that_closes_gives_all_back(void **world)
{
    struct world *w = *world;
    hf_permits *slots = ten(w);
    hf_permit_id ids[6];

    assert_ok(take_many(slots, 6, 0, 60000, ids));
    close_clients(w);
    is_at(w, 10, 0);
    assert_ok(hf_permits_free(slots));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        world_test(several_are_taken_and_given_back_together),
        world_test(all_or_none_are_taken),
        world_test(several_have_asynchronous_forms),
        world_test(several_whose_lease_has_ended_are_back),
        world_test(one_that_is_gone_keeps_all_out),
        world_test(what_stays_goes_on_being_renewed),
        world_test(each_that_is_lost_is_told),
        world_test(who_waits_for_several_is_woken),
        world_test(one_that_is_out_keeps_two_waiting),
        world_test(one_who_wants_less_passes_the_first),
        world_test(a_stream_of_small_demands_does_not_starve_a_large_one),
        world_test(bad_input_takes_and_gives_nothing),
        world_test(a_thousand_go_in_one_call),
        world_test(a_client_that_closes_gives_all_back),
    };

    return cmocka_run_group_tests_name("permits_many", tests, world_up,
                                       world_down);
}
