/* SPDX-License-Identifier: MIT */
/* test_permits.c - permits with leases, on a real server.
 *
 * Rows: PS-02 to PS-13, PS-15, PS-17 to PS-20, PS-22, PS-25,
 * PS-28, 15.1; T39.  Names, asynchronous forms and bad input are in
 * test_permits_calls.c, what the network does in test_permits_faults.c.
 */
#include "permitting.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/child.h"

#define NAME "slots"
#define NEVER "922337203685477" /* the end of a permit without a lease */
#define FOREIGN "00112233445566778899aabbccddeeff"

/* ---- how many ---- */

/* PS-03, PS-10, PS-17.  spec: permits/change-1 */
static void permits_are_set_once(void **world)
{
    struct world *w = *world;
    hf_permits *slots = permits_of(w->client, NAME);
    bool existed = true;

    assert_int_equal(info_of(slots).available, 0);
    assert_int_equal(info_of(slots).exists, 0);
    assert_int_equal(info_of(slots).ttl_ms, -2);
    assert_status(HF_GONE, hf_permits_release(slots, FOREIGN, &problem));
    assert_string_equal(problem.message,
                        NAME ": there is no permit " FOREIGN
                             ": it was given back, or its lease has ended");
    assert_status(HF_GONE, hf_permits_hand_on(slots, FOREIGN, &problem));
    assert_string_equal(problem.message,
                        NAME ": this client does not hold the permit " FOREIGN);
    assert_status(HF_BUSY, take_permit(slots, 0, 1000, 0, NULL));
    assert_true(permits_set_to(slots, 10));
    assert_false(permits_set_to(slots, 15));
    assert_int_equal(info_of(slots).available, 10);
    assert_ok(hf_permits_delete(slots, &existed, &problem));
    assert_true(existed);
    assert_ok(hf_permits_delete(slots, &existed, &problem));
    assert_false(existed);
    assert_int_equal(info_of(slots).exists, 0);
    hf_permits_free(slots);
}

/* PS-11.  spec: permits/change-2 */
static void the_total_counts_those_that_are_out(void **world)
{
    struct world *w = *world;
    hf_permits *slots = permits_of(w->client, NAME);
    char ids[3][HF_PERMIT_ID_SIZE];
    int i;

    assert_ok(hf_permits_set(slots, 10, &problem));
    assert_int_equal(info_of(slots).available, 10);
    assert_ok(hf_permits_set(slots, 15, &problem));
    assert_ok(hf_permits_set(slots, 15, &problem));
    assert_ok(hf_permits_set(slots, 5, &problem));
    for (i = 0; i < 3; i++) {
        assert_ok(take_permit(slots, 0, 60000, 1, ids[i]));
    }
    assert_int_equal(info_of(slots).available, 2);
    assert_int_equal(info_of(slots).acquired, 3);
    assert_ok(hf_permits_set(slots, 3, &problem));
    assert_int_equal(info_of(slots).available, 0);
    assert_ok(hf_permits_set(slots, 2, &problem));
    assert_int_equal(info_of(slots).available, -1);
    assert_int_equal(info_of(slots).acquired, 3);
    assert_ok(hf_permits_release(slots, ids[0], &problem));
    assert_status(HF_BUSY, take_permit(slots, 0, 1000, 0, NULL));
    assert_ok(hf_permits_release(slots, ids[1], &problem));
    assert_ok(hf_permits_release(slots, ids[2], &problem));
    assert_int_equal(info_of(slots).available, 2);
    hf_permits_free(slots);
}

/* PS-12 */
static void permits_are_added_and_withdrawn(void **world)
{
    struct world *w = *world;
    hf_permits *slots = permits_of(w->client, NAME);
    int64_t now = 0;

    assert_true(permits_set_to(slots, 10));
    assert_ok(hf_permits_add(slots, 5, &now, &problem));
    assert_int_equal(now, 15);
    assert_ok(hf_permits_add(slots, -10, &now, &problem));
    assert_int_equal(now, 5);
    assert_ok(hf_permits_add(slots, -10, &now, &problem));
    assert_int_equal(now, -5);
    hf_permits_free(slots);
}

/* PS-07: what is out ends with the object.  spec: permits/acquire-4 */
static void the_ttl_of_the_object_is_that_of_its_ids(void **world)
{
    struct world *w = *world;
    hf_permits *slots = permits_of(w->client, NAME);
    bool set = false;

    assert_ok(hf_permits_try_set(slots, 1, 400, &set, &problem));
    assert_true(set);
    assert_ok(take_permit(slots, 0, 60000, 0, NULL));
    assert_true(hft_wait_int(w->server, 0, BOUND_MS, "EXISTS " NAME));
    assert_true(
        hft_wait_int(w->server, 0, BOUND_MS, "EXISTS {" NAME "}:timeout"));
    close_clients(w);
    hf_permits_free(slots);
}

/* ---- taking, giving back ---- */

/* PS-13, PS-22.  spec: permits/id-1, permits/acquire-3, permits/release-1
 * spec: permits/key-1, permits/key-2 */
static void a_permit_has_an_id_and_goes_back_once(void **world)
{
    struct world *w = *world;
    hf_permits *slots = permits_of(w->client, NAME);
    char id[HF_PERMIT_ID_SIZE] = "", other[HF_PERMIT_ID_SIZE] = "";

    assert_true(permits_set_to(slots, 2));
    assert_ok(take_permit(slots, 0, 60000, 1, id));
    assert_int_equal(strlen(id), 32);
    assert_int_equal(strspn(id, "0123456789abcdef"), 32);
    assert_ok(take_permit(slots, 0, 60000, 1, other));
    assert_string_not_equal(id, other);
    assert_true(hf_permits_is_held(slots, id));
    assert_between(hf_permits_remaining_ms(slots, id), 50000, 60000);
    assert_int_equal(wire_out(w, NAME), 2);
    assert_int_equal(hft_int(w->server, "EVAL %s 1 {" NAME "}:timeout",
                             "return #redis.call('zrange', KEYS[1], 0, 0)[1]"),
                     16);
    assert_status(HF_BUSY, take_permit(slots, 0, 1000, 0, NULL));
    assert_non_null(strstr(problem.message,
                           "permits wanted: 1; available when last asked: 0"));
    assert_status(HF_STILL_HELD, hf_permits_free(slots));
    assert_ok(hf_permits_release(slots, id, &problem));
    assert_false(hf_permits_is_held(slots, id));
    assert_int_equal(hf_permits_remaining_ms(slots, id), 0);
    assert_status(HF_GONE, hf_permits_release(slots, id, &problem));
    assert_true(conserved(w, NAME, 2));
    assert_int_equal(info_of(slots).available, 1);
    assert_ok(hf_permits_release(slots, other, &problem));
    assert_int_equal(info_of(slots).available, 2);
    assert_int_equal(hft_int(w->server, "EXISTS {" NAME "}:timeout"), 0);
    hf_permits_free(slots);
}

/* PS-13, PS-15: a message wakes the waiter. */
static void a_release_lets_a_waiter_in(void **world)
{
    struct world *w = *world;
    hf_client *other = a_client(w);
    hf_permits *slots = permits_of(w->client, NAME);
    hf_permits *theirs = permits_of(other, NAME);
    char id[HF_PERMIT_ID_SIZE];
    struct permit_taker taker;

    assert_true(permits_set_to(slots, 1));
    assert_ok(take_permit(slots, 0, 60000, 1, id));
    permit_taker_start(&taker, theirs, 5000);
    assert_true(hft_wait_channels(w->server, 1, BOUND_MS));
    assert_true(waiters_become(other, 1, BOUND_MS));
    assert_ok(hf_permits_release(slots, id, &problem));
    permit_taker_join(&taker);
    assert_ok(taker.status);
    assert_between(hft_now_ms() - taker.began_ms, 0, 1500);
    assert_ok(hf_permits_release(theirs, taker.id, &problem));
    hf_permits_free(slots);
    hf_permits_free(theirs);
}

/* A waiter of the same client needs no message. */
static void a_release_lets_a_waiter_of_this_client_in(void **world)
{
    struct world *w = *world;
    hf_permits *slots = permits_of(w->client, NAME);
    char id[HF_PERMIT_ID_SIZE];
    struct permit_taker takers[4];
    int i;

    assert_true(permits_set_to(slots, 1));
    assert_ok(take_permit(slots, 0, 60000, 1, id));
    for (i = 0; i < 4; i++) {
        permit_taker_start(&takers[i], slots, BOUND_MS);
    }
    assert_true(waiters_become(w->client, 4, BOUND_MS));
    assert_ok(hf_permits_set(slots, 4, &problem));
    assert_ok(hf_permits_release(slots, id, &problem));
    for (i = 0; i < 4; i++) {
        permit_taker_join(&takers[i]);
        assert_ok(takers[i].status);
        assert_ok(hf_permits_release(slots, takers[i].id, &problem));
    }
    assert_true(conserved(w, NAME, 4));
    hf_permits_free(slots);
}

/* PS-08, PS-09, 15.1: nobody publishes anything; the end of the lease wakes,
 * whether its taker would have waited or not.
 * spec: permits/acquire-5 */
static void the_end_of_a_lease_lets_a_waiter_in(void **world)
{
    struct world *w = *world;
    hf_permits *slots = permits_of(w->client, NAME);
    char id[HF_PERMIT_ID_SIZE], next[HF_PERMIT_ID_SIZE];
    int64_t began;

    assert_true(permits_set_to(slots, 1));
    began = hft_now_ms();
    assert_ok(take_permit(slots, BOUND_MS, 800, 0, id));
    assert_ok(take_permit(slots, BOUND_MS, 60000, 1, next));
    assert_between(hft_now_ms() - began, 795, 800 + BOUND_MS / 2);
    assert_status(HF_GONE, hf_permits_release(slots, id, &problem));
    assert_ok(hf_permits_release(slots, next, &problem));
    hf_permits_free(slots);
}

/* PS-04, PS-05, PS-06, PS-18, PS-25: whoever asks next collects what has ended.
 * spec: permits/sweep-1 */
static void permits_whose_lease_has_ended_are_back(void **world)
{
    struct world *w = *world;
    hf_permits *slots = permits_of(w->client, NAME);
    char id[HF_PERMIT_ID_SIZE];
    hf_permits_info info;
    int i;

    assert_true(permits_set_to(slots, 3));
    for (i = 0; i < 3; i++) {
        assert_ok(take_permit(slots, 0, 100, 0, id));
    }
    hft_let_pass_ms(150);
    info = info_of(slots);
    assert_int_equal(info.available, 3);
    assert_int_equal(info.acquired, 0);
    assert_status(HF_GONE, hf_permits_release(slots, id, &problem));
    assert_ok(take_permit(slots, 0, 60000, 1, id));
    info = info_of(slots);
    assert_int_equal(info.available, 2);
    assert_int_equal(info.acquired, 1);
    assert_true(conserved(w, NAME, 3));
    assert_ok(hf_permits_release(slots, id, &problem));
    hf_permits_free(slots);
}

/* Whoever lets permits expire by the thousand leaves nothing behind. */
static void permits_that_expire_leave_nothing_here(void **world)
{
    struct world *w = *world;
    hf_permits *slots = permits_of(w->client, NAME);
    int i;

    assert_true(permits_set_to(slots, 200));
    for (i = 0; i < 200; i++) {
        assert_ok(take_permit(slots, 0, 50, 0, NULL));
    }
    assert_true(endings_become(w->client, 0, BOUND_MS));
    hft_let_pass_ms(100);
    assert_true(endings_become(w->client, 0, BOUND_MS));
    assert_ok(hf_permits_free(slots));
}

/* ---- leases ---- */

/* A renewed permit lasts; a fixed one is lost, and its holder told.
 * spec: permits/keep-1 */
static void a_renewed_permit_lasts_and_a_fixed_one_is_lost(void **world)
{
    struct world *w = *world;
    hf_permits *slots = permits_of(w->client, NAME);
    char renewed[HF_PERMIT_ID_SIZE], fixed[HF_PERMIT_ID_SIZE];
    hf_acquire how = HF_ACQUIRE_INIT;
    struct told told;

    memset(&told, 0, sizeof(told));
    assert_true(permits_set_to(slots, 2));
    assert_ok(take_permit(slots, 0, 500, 1, renewed));
    how.wait_ms = 0;
    how.lease_ms = 500;
    how.renew = 0;
    how.on_lost = record_lost;
    how.context = &told;
    assert_ok(hf_permits_acquire(slots, &how, fixed, &problem));
    assert_true(loss_is_told(&told, BOUND_MS));
    assert_string_equal(told_so_far(&told).owner, fixed);
    assert_int_equal(told_so_far(&told).reason, HF_LOST_EXPIRED);
    assert_false(hf_permits_is_held(slots, fixed));
    hft_let_pass_ms(1000);
    assert_true(hf_permits_is_held(slots, renewed));
    assert_ok(hf_permits_release(slots, renewed, &problem));
    assert_true(hft_wait_int(w->server, 2, BOUND_MS, "GET " NAME));
    hf_permits_free(slots);
}

/* PS-02.  spec: permits/keep-1, permits/change-4 */
static void a_lease_is_extended_and_never_shortened(void **world)
{
    struct world *w = *world;
    hf_client *other = a_client(w);
    hf_permits *slots = permits_of(w->client, NAME);
    hf_permits *theirs = permits_of(other, NAME);
    char id[HF_PERMIT_ID_SIZE];

    assert_true(permits_set_to(slots, 1));
    assert_status(HF_GONE, hf_permits_extend(slots, FOREIGN, 1000, &problem));
    assert_ok(take_permit(slots, 0, 5000, 0, id));
    assert_ok(hf_permits_extend(slots, id, 60000, &problem));
    assert_between(hf_permits_remaining_ms(slots, id), 50000, 60000);
    assert_ok(hf_permits_extend(slots, id, 1000, &problem));
    assert_between(hf_permits_remaining_ms(slots, id), 50000, 60000);
    assert_ok(hf_permits_extend(theirs, id, 600000, &problem));
    assert_true(wire_end_of(w, NAME) > hft_wire_time_ms(w) + 500000);
    assert_ok(hf_permits_release(slots, id, &problem));
    hf_permits_free(slots);
    hf_permits_free(theirs);
}

/* PS-02: Redisson's updateLeaseTime(), of another's permit.
 * spec: permits/change-1 */
static void the_lease_of_anothers_permit_is_set(void **world)
{
    struct world *w = *world;
    hf_permits *slots = permits_of(w->client, NAME);
    hf_permits *theirs = permits_of(a_client(w), NAME);
    char id[HF_PERMIT_ID_SIZE];

    assert_true(permits_set_to(slots, 1));
    assert_status(HF_GONE,
                  hf_permits_set_lease(theirs, FOREIGN, 1000, &problem));
    assert_ok(take_permit(slots, 0, HF_LEASE_NONE, 0, id));
    assert_ok(hf_permits_hand_on(slots, id, &problem));
    assert_ok(hf_permits_set_lease(theirs, id, 600, &problem));
    hft_let_pass_ms(700);
    assert_status(HF_GONE, hf_permits_set_lease(theirs, id, 1000, &problem));
    assert_ok(take_permit(slots, 0, 2000, 0, id));
    assert_ok(hf_permits_hand_on(slots, id, &problem));
    assert_ok(hf_permits_set_lease(theirs, id, 4000, &problem));
    hft_let_pass_ms(2100);
    assert_int_equal(info_of(slots).available, 0);
    hft_let_pass_ms(2000);
    assert_int_equal(info_of(slots).available, 1);
    assert_status(HF_GONE, hf_permits_set_lease(theirs, id, 1000, &problem));
    close_clients(w);
    hf_permits_free(slots);
    hf_permits_free(theirs);
}

/* PS-02: of one of ours; and its holder is told of the end in time.
 * spec: permits/lease-1 */
static void the_lease_of_a_permit_of_ours_is_made_shorter(void **world)
{
    struct world *w = *world;
    hf_permits *slots = permits_of(w->client, NAME);
    hf_acquire how = HF_ACQUIRE_INIT;
    char id[HF_PERMIT_ID_SIZE];
    struct told told;
    int64_t began;

    memset(&told, 0, sizeof(told));
    assert_true(permits_set_to(slots, 1));
    how.lease_ms = HF_LEASE_NONE;
    how.on_lost = record_lost;
    how.context = &told;
    assert_ok(hf_permits_acquire(slots, &how, id, &problem));
    assert_ok(hf_permits_set_lease(slots, id, 60000, &problem));
    assert_between(hf_permits_remaining_ms(slots, id), 50000, 60000);
    assert_true(wire_end_of(w, NAME) <= hft_wire_time_ms(w) + 60000);
    assert_ok(hf_permits_set_lease(slots, id, HF_LEASE_NONE, &problem));
    assert_true(hf_permits_remaining_ms(slots, id) == INT64_MAX);
    began = hft_now_ms();
    assert_ok(hf_permits_set_lease(slots, id, 1500, &problem));
    assert_between(hf_permits_remaining_ms(slots, id), 1, 1500);
    assert_true(loss_is_told(&told, BOUND_MS));
    assert_between(hft_now_ms() - began, 1400, 1500 + BOUND_MS);
    assert_int_equal(told_so_far(&told).reason, HF_LOST_EXPIRED);
    hft_let_pass_ms(100); /* it is over here a little before it is there */
    assert_status(HF_GONE, hf_permits_release(slots, id, &problem));
    assert_ok(take_permit(slots, BOUND_MS, 60000, 1, id));
    assert_true(endings_become(w->client, 0, BOUND_MS));
    assert_true(conserved(w, NAME, 1));
    assert_ok(hf_permits_release(slots, id, &problem));
    hf_permits_free(slots);
}

/* One that is renewed goes on being renewed, by the new lease. */
static void a_renewed_permit_is_renewed_by_its_new_lease(void **world)
{
    struct world *w = *world;
    hf_permits *slots = permits_of(w->client, NAME);
    char id[HF_PERMIT_ID_SIZE];

    assert_true(permits_set_to(slots, 1));
    assert_ok(take_permit(slots, 0, 60000, 1, id));
    assert_ok(hf_permits_set_lease(slots, id, 2000, &problem));
    hft_let_pass_ms(3000);
    assert_true(hf_permits_is_held(slots, id));
    assert_between(hf_permits_remaining_ms(slots, id), 1, 2000);
    assert_true(wire_end_of(w, NAME) <= hft_wire_time_ms(w) + 2000);
    assert_ok(hf_permits_set_lease(slots, id, 60000, &problem));
    assert_between(hf_permits_remaining_ms(slots, id), 50000, 60000);
    assert_ok(hf_permits_release(slots, id, &problem));
    assert_int_equal(info_of(slots).available, 1);
    hf_permits_free(slots);
}

/* PS-28: a permit of Java's without a lease stays as it is, and can be given
 * back here.  spec: permits/key-3, permits/java-2 */
static void a_permit_without_a_lease_is_left_alone(void **world)
{
    struct world *w = *world;
    hf_permits *slots = permits_of(w->client, NAME);
    int64_t began = hft_now_ms();
    int64_t lease_ms = 0;

    assert_true(permits_set_to(slots, 0));
    assert_int_equal(hft_int(w->server, "EVAL %s 1 {" NAME "}:timeout",
                             "local id = ''\nfor i = 0, 15 do id = id .. "
                             "string.char(i * 17) end\n"
                             "return redis.call('zadd', KEYS[1], '" NEVER
                             "', id)"),
                     1);
    assert_status(HF_TIMEOUT, take_permit(slots, 200, 1000, 0, NULL));
    assert_between(hft_now_ms() - began, 200, 200 + BOUND_MS);
    assert_ok(hf_permits_extend(slots, FOREIGN, 1000, &problem));
    assert_int_equal(wire_end_of(w, NAME), INT64_C(922337203685477));
    assert_ok(hf_permits_lease_remote(slots, FOREIGN, &lease_ms, &problem));
    assert_int_equal(lease_ms, HF_LEASE_NONE);
    assert_ok(hf_permits_release(slots, FOREIGN, &problem));
    assert_int_equal(info_of(slots).available, 1);
    assert_status(HF_GONE, hf_permits_release(slots, FOREIGN, &problem));
    assert_int_equal(info_of(slots).available, 1);
    hf_permits_free(slots);
}

/* PS-28: whoever took it.  spec: permits/show-1 */
static void the_lease_of_a_permit_is_asked_for(void **world)
{
    struct world *w = *world;
    hf_permits *slots = permits_of(w->client, NAME);
    hf_permits *theirs = permits_of(a_client(w), NAME);
    char id[HF_PERMIT_ID_SIZE];
    int64_t lease_ms = 0;

    assert_status(HF_GONE,
                  hf_permits_lease_remote(slots, FOREIGN, &lease_ms, &problem));
    assert_string_equal(problem.message, NAME ": there is no permit " FOREIGN);
    assert_true(permits_set_to(slots, 1));
    assert_ok(take_permit(slots, 0, 2100, 0, id));
    hft_let_pass_ms(100);
    assert_ok(hf_permits_lease_remote(theirs, id, &lease_ms, &problem));
    assert_between(lease_ms, 0, 2000);
    assert_int_equal(info_of(slots).available, 0);
    hft_let_pass_ms(2100);
    assert_status(HF_GONE,
                  hf_permits_lease_remote(theirs, id, &lease_ms, &problem));
    assert_int_equal(info_of(slots).available, 1);
    assert_status(HF_INVALID,
                  hf_permits_lease_remote(slots, "x", &lease_ms, &problem));
    assert_status(HF_INVALID,
                  hf_permits_lease_remote(slots, FOREIGN, NULL, &problem));
    close_clients(w);
    hf_permits_free(slots);
    hf_permits_free(theirs);
}

/* A permit of ours without a lease: out until it is given back, by whomever; and
 * with its client, if that closes.  spec: permits/key-3 */
static void a_permit_of_ours_may_have_no_lease(void **world)
{
    struct world *w = *world;
    hf_permits *slots = permits_of(w->client, NAME);
    hf_permits *theirs = permits_of(a_client(w), NAME);
    char id[HF_PERMIT_ID_SIZE], other[HF_PERMIT_ID_SIZE];
    int64_t lease_ms = 0;

    assert_true(permits_set_to(slots, 3));
    assert_ok(take_permit(slots, 0, HF_LEASE_NONE, 1, id));
    assert_int_equal(wire_end_of(w, NAME), INT64_C(922337203685477));
    assert_true(hf_permits_is_held(slots, id));
    assert_true(hf_permits_remaining_ms(slots, id) == INT64_MAX);
    assert_ok(hf_permits_lease_remote(theirs, id, &lease_ms, &problem));
    assert_int_equal(lease_ms, HF_LEASE_NONE);
    assert_ok(hf_permits_extend(slots, id, 1000, &problem));
    assert_int_equal(wire_end_of(w, NAME), INT64_C(922337203685477));
    assert_int_equal(stats_of(w->client).renewals_sent, 0);
    assert_ok(hf_permits_release(slots, id, &problem));
    assert_int_equal(info_of(slots).available, 3);
    /* Handed on, its client may end; and whoever has the id gives it back. */
    assert_ok(take_permit(slots, 0, HF_LEASE_NONE, 0, id));
    assert_ok(hf_permits_hand_on(slots, id, &problem));
    assert_ok(hf_permits_release(theirs, id, &problem));
    assert_ok(take_permit(slots, 0, HF_LEASE_NONE, 0, other));
    close_clients(w);
    assert_int_equal(hft_int(w->server, "GET " NAME), 3);
    hf_permits_free(slots);
    hf_permits_free(theirs);
}

static hf_permits *with_text_ids(hf_client *client)
{
    hf_permits_options options = HF_PERMITS_OPTIONS_INIT;
    hf_permits *permits = NULL;

    options.text_ids = 1;
    assert_ok(hf_permits_new_as(client, &options, NAME, strlen(NAME), &permits,
                                &problem));
    return permits;
}

static bool is_text_in_the_set(struct world *w, const char *id)
{
    return hft_int(w->server, "EVAL %s 1 {" NAME "}:timeout %s",
                   "return redis.call('zscore', KEYS[1], ARGV[1]) and 1 or 0",
                   id) == 1;
}

/* As Redisson up to 3.16 has them: one number with those who have bytes, but
 * another's ids are not theirs.  spec: permits/id-3 */
static void ids_may_be_texts(void **world)
{
    struct world *w = *world;
    hf_permits *slots = with_text_ids(w->client);
    hf_permits *theirs = with_text_ids(a_client(w));
    hf_permits *bytes = permits_of(a_client(w), NAME);
    char id[HF_PERMIT_ID_SIZE];
    hf_permit_id ids[2];
    int64_t lease_ms = 0;

    assert_true(permits_set_to(slots, 4));
    assert_ok(take_permit(slots, 0, 2000, 1, id));
    assert_true(is_text_in_the_set(w, id));
    assert_int_equal(info_of(bytes).available, 3);
    assert_status(HF_GONE, hf_permits_release(bytes, id, &problem));
    assert_status(HF_GONE, hf_permits_extend(bytes, id, 1000, &problem));
    hft_let_pass_ms(3000); /* it is renewed by its text */
    assert_true(hf_permits_is_held(slots, id));
    assert_ok(hf_permits_extend(slots, id, 60000, &problem));
    assert_ok(hf_permits_lease_remote(theirs, id, &lease_ms, &problem));
    assert_between(lease_ms, 50000, 60000);
    assert_ok(hf_permits_extend(theirs, id, 90000, &problem));
    assert_ok(hf_permits_release(slots, id, &problem));
    assert_ok(hf_permits_acquire_many(slots, 2, NULL, ids, &problem));
    assert_true(is_text_in_the_set(w, ids[0].text));
    assert_true(is_text_in_the_set(w, ids[1].text));
    assert_status(HF_GONE, hf_permits_release_many(bytes, ids, 2, &problem));
    assert_ok(hf_permits_release_many(theirs, ids, 2, &problem));
    assert_ok(take_permit(theirs, 0, 600, 1, id));
    close_clients(w);
    assert_int_equal(hft_int(w->server, "GET " NAME), 4);
    assert_int_equal(wire_out(w, NAME), 0);
    hf_permits_free(slots);
    hf_permits_free(theirs);
    hf_permits_free(bytes);
}

/* Another process gives our permit back: that is a loss.
 * spec: permits/keep-2 */
static void a_permit_that_another_gave_back_is_lost(void **world)
{
    struct world *w = *world;
    hf_client *other = a_client(w);
    hf_permits *slots = permits_of(w->client, NAME);
    hf_permits *theirs = permits_of(other, NAME);
    char id[HF_PERMIT_ID_SIZE];
    hf_acquire how = HF_ACQUIRE_INIT;
    struct told told;

    memset(&told, 0, sizeof(told));
    how.lease_ms = 600;
    how.on_lost = record_lost;
    how.context = &told;
    assert_true(permits_set_to(slots, 1));
    assert_ok(hf_permits_acquire(slots, &how, id, &problem));
    assert_false(hf_permits_is_held(theirs, id));
    assert_ok(hf_permits_release(theirs, id, &problem));
    assert_true(loss_is_told(&told, BOUND_MS));
    assert_int_equal(told_so_far(&told).reason, HF_LOST_GONE);
    assert_true(endings_become(w->client, 0, BOUND_MS));
    assert_int_equal(info_of(slots).available, 1);
    hf_permits_free(slots);
    hf_permits_free(theirs);
}

/* What Redisson's scripts do with what has expired by their own clock, here ten
 * minutes ahead.
 * spec: permits/java-3 */
static void a_sweep_by_a_clock_that_runs_ahead_is_a_loss(void **world)
{
    static const char sweep[] =
        "local ids = redis.call('zrangebyscore', KEYS[2], 0, "
        "redis.call('time')[1] * 1000 + 600000) "
        "for _, id in ipairs(ids) do redis.call('zrem', KEYS[2], id) end "
        "return redis.call('incrby', KEYS[1], #ids)";
    struct world *w = *world;
    hf_permits *slots = permits_of(w->client, NAME);
    char id[HF_PERMIT_ID_SIZE];
    hf_acquire how = HF_ACQUIRE_INIT;
    struct told told;

    memset(&told, 0, sizeof(told));
    how.lease_ms = 600;
    how.on_lost = record_lost;
    how.context = &told;
    assert_true(permits_set_to(slots, 1));
    assert_ok(hf_permits_acquire(slots, &how, id, &problem));
    assert_int_equal(
        hft_int(w->server, "EVAL %s 2 %s {%s}:timeout", sweep, NAME, NAME), 1);
    assert_true(loss_is_told(&told, BOUND_MS));
    assert_int_equal(told_so_far(&told).reason, HF_LOST_GONE);
    assert_true(endings_become(w->client, 0, BOUND_MS));
    assert_int_equal(info_of(slots).available, 1);
    hf_permits_free(slots);
}

/* One that the test closes itself. */
static hf_client *a_client_of_ones_own(struct world *w)
{
    hf_options options = short_options();
    hf_client *client = NULL;

    assert_ok(
        hf_client_open(hft_server_url(w->server), &options, &client, &problem));
    return client;
}

/* Handed on: forgotten here, alive there. */
static void a_permit_can_be_handed_on(void **world)
{
    struct world *w = *world;
    hf_client *other = a_client_of_ones_own(w);
    hf_permits *slots = permits_of(other, NAME);
    hf_permits *theirs = permits_of(w->client, NAME);
    char id[HF_PERMIT_ID_SIZE];

    assert_true(permits_set_to(slots, 1));
    assert_ok(take_permit(slots, 0, 60000, 0, id));
    assert_status(HF_GONE, hf_permits_hand_on(theirs, id, &problem));
    assert_ok(hf_permits_hand_on(slots, id, &problem));
    assert_false(hf_permits_is_held(slots, id));
    assert_ok(hf_client_close(other));
    assert_int_equal(wire_out(w, NAME), 1);
    assert_ok(hf_permits_extend(theirs, id, 90000, &problem));
    assert_ok(hf_permits_release(theirs, id, &problem));
    assert_int_equal(info_of(theirs).available, 1);
    hf_permits_free(slots);
    hf_permits_free(theirs);
}

/* Closing gives back what is held. */
static void closing_gives_back_what_is_held(void **world)
{
    struct world *w = *world;
    hf_client *other = a_client_of_ones_own(w);
    hf_permits *slots = permits_of(other, NAME);

    assert_true(permits_set_to(slots, 5));
    assert_ok(take_permit(slots, 0, 60000, 1, NULL));
    assert_ok(take_permit(slots, 0, 60000, 1, NULL));
    assert_ok(hf_client_close(other));
    assert_true(hft_wait_int(w->server, 5, BOUND_MS, "GET " NAME));
    assert_int_equal(wire_out(w, NAME), 0);
    hf_permits_free(slots);
}

/* ---- several processes ---- */

/* What this program is when it is started with arguments. */
static int hold_until_killed(const char *url, const char *lease)
{
    hf_acquire how = HF_ACQUIRE_INIT;
    char id[HF_PERMIT_ID_SIZE];
    hf_client *client;
    hf_permits *slots;

    how.lease_ms = strtol(lease, NULL, 10);
    if (hf_client_open(url, NULL, &client, NULL) != HF_OK ||
        hf_permits_new(client, NAME, &slots, NULL) != HF_OK ||
        hf_permits_acquire(slots, &how, id, NULL) != HF_OK) {
        return 1;
    }
    printf("holds %s\n", id);
    fflush(stdout);
    (void)getchar();
    return 0;
}

/* A crashed holder's permit is back within its lease, and not before. */
static void a_killed_holders_permit_is_back_within_its_lease(void **world)
{
    struct world *w = *world;
    hf_permits *slots = permits_of(w->client, NAME);
    const char *const argv[] = {"/proc/self/exe", "hold",
                                hft_server_url(w->server), "900", NULL};
    const struct hft_child_options options = {.argv = argv,
                                              .stdio = HFT_STDIO_PIPE};
    struct hft_child *child;
    int64_t killed_ms;

    assert_true(permits_set_to(slots, 1));
    child = hft_child_start(&options);
    assert_true(hft_child_wait_out(child, "holds", BOUND_MS));
    hft_let_pass_ms(1200); /* the watchdog is at work */
    assert_status(HF_BUSY, take_permit(slots, 0, 1000, 0, NULL));
    killed_ms = hft_now_ms();
    hft_child_signal(child, SIGKILL);
    assert_ok(take_permit(slots, BOUND_MS, 60000, 0, NULL));
    assert_between(hft_now_ms() - killed_ms, 100, 900 + 50 + SLACK_MS);
    assert_true(conserved(w, NAME, 1));
    hft_child_free(child);
    close_clients(w);
    hf_permits_free(slots);
}

/* PS-19, PS-20, and conservation: available and those that are out are the total,
 * whenever one looks. */
static void no_more_are_out_than_there_are(void **world)
{
    enum { THREADS = 8, TURNS = 40, TOTAL = 3 };
    struct world *w = *world;
    hf_permits *slots = permits_of(w->client, NAME);
    hf_permits *theirs = permits_of(a_client(w), NAME);
    struct permit_crowd crowd[THREADS];
    struct crowd_count inside = {0};
    int i;

    assert_true(permits_set_to(slots, TOTAL));
    for (i = 0; i < THREADS; i++) {
        permit_crowd_start(&crowd[i], i % 2 == 0 ? slots : theirs, TURNS,
                           &inside);
    }
    for (i = 0; i < 100; i++) {
        assert_true(conserved(w, NAME, TOTAL));
        assert_between(wire_out(w, NAME), 0, TOTAL);
        hft_let_pass_ms(1);
    }
    for (i = 0; i < THREADS; i++) {
        permit_crowd_join(&crowd[i]);
        assert_int_equal(crowd[i].failures, 0);
    }
    assert_between(inside.most, 1, TOTAL);
    assert_int_equal(inside.turns, THREADS * TURNS);
    assert_int_equal(info_of(slots).available, TOTAL);
    hf_permits_free(theirs);
    hf_permits_free(slots);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        world_test(permits_are_set_once),
        world_test(the_total_counts_those_that_are_out),
        world_test(permits_are_added_and_withdrawn),
        world_test(the_ttl_of_the_object_is_that_of_its_ids),
        world_test(a_permit_has_an_id_and_goes_back_once),
        world_test(a_release_lets_a_waiter_in),
        world_test(a_release_lets_a_waiter_of_this_client_in),
        world_test(the_end_of_a_lease_lets_a_waiter_in),
        world_test(permits_whose_lease_has_ended_are_back),
        world_test(permits_that_expire_leave_nothing_here),
        world_test(a_renewed_permit_lasts_and_a_fixed_one_is_lost),
        world_test(a_lease_is_extended_and_never_shortened),
        world_test(the_lease_of_anothers_permit_is_set),
        world_test(the_lease_of_a_permit_of_ours_is_made_shorter),
        world_test(a_renewed_permit_is_renewed_by_its_new_lease),
        world_test(a_permit_without_a_lease_is_left_alone),
        world_test(the_lease_of_a_permit_is_asked_for),
        world_test(a_permit_of_ours_may_have_no_lease),
        world_test(ids_may_be_texts),
        world_test(a_permit_that_another_gave_back_is_lost),
        world_test(a_sweep_by_a_clock_that_runs_ahead_is_a_loss),
        world_test(a_permit_can_be_handed_on),
        world_test(closing_gives_back_what_is_held),
        world_test(a_killed_holders_permit_is_back_within_its_lease),
        world_test(no_more_are_out_than_there_are),
    };

    if (argc == 4 && strcmp(argv[1], "hold") == 0) {
        return hold_until_killed(argv[2], argv[3]);
    }
    return cmocka_run_group_tests_name("permits", tests, world_up, world_down);
}
