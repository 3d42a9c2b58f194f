/* SPDX-License-Identifier: MIT */
/* test_permits.c - permits with leases between our library and Redisson: one
 * number for both sides, leases that end for both, and ids that either side can
 * use.  The ids of 3.16.8 are texts on the wire, and so are ours beside it.
 */
#include "both.h"

#include <stdlib.h>
#include <string.h>

#include "holdfast/permits.h"
#include "support/crew.h"

#define NAME "pool:7"

/* ---- what a test makes --------------------------------------------------- */

#define MOST_MADE 64

static hf_permits *made[MOST_MADE];
static size_t made_count;

static hf_permits *permits_of(hf_client *client, const char *name)
{
    hf_permits_options options = HF_PERMITS_OPTIONS_INIT;

    assert_true(made_count < MOST_MADE);
    options.text_ids = edition == OLDEST;
    assert_ok(hf_permits_new_as(client, &options, name, strlen(name),
                                &made[made_count], &problem));
    return made[made_count++];
}

static int permits_end(void **world)
{
    int failed = world_end(world);

    while (made_count > 0) {
        assert_ok(hf_permits_free(made[--made_count]));
    }
    return failed;
}

#define permits_test(function)                                                 \
    cmocka_unit_test_setup_teardown(function, world_begin, permits_end)

/* ---- in short ------------------------------------------------------------ */

static hf_status take_one(hf_permits *permits, int64_t lease_ms,
                          char id[HF_PERMIT_ID_SIZE])
{
    hf_acquire how = once(NULL, lease_ms);

    how.renew = 0;
    return hf_permits_acquire(permits, &how, id, &problem);
}

static hf_status give_back(hf_permits *permits, const char *id)
{
    return hf_permits_release(permits, id, &problem);
}

/* That it was lost is known for as long as it is being undone; then there is no
 * such permit. */
static bool is_lost(hf_permits *permits, const char *id)
{
    hf_status status = give_back(permits, id);

    return status == HF_LOST || status == HF_GONE;
}

static hf_permits_info look(hf_permits *permits)
{
    hf_permits_info info = HF_PERMITS_INFO_INIT;

    assert_ok(hf_permits_inspect_remote(permits, &info, &problem));
    return info;
}

static bool are_set(hf_permits *permits, int64_t count)
{
    bool set = false;

    assert_ok(hf_permits_try_set(permits, count, 0, &set, &problem));
    return set;
}

/* A copy of an id that Java answered with. */
static void keep_id(char id[HF_PERMIT_ID_SIZE], const char *answer)
{
    const char *text = java_text(answer);

    assert_int_equal(strlen(text), HF_PERMIT_ID_SIZE - 1);
    memcpy(id, text, HF_PERMIT_ID_SIZE);
}

/* A thread of ours that waits for a permit, and keeps it. */
struct waiting {
    hf_permits *permits;
    char id[HF_PERMIT_ID_SIZE];
};

static void wait_for_one(struct hft_member *me)
{
    struct waiting *waiting = me->context;
    hf_acquire how = HF_ACQUIRE_INIT;

    how.wait_ms = WAKE_MS;
    me->result = hf_permits_acquire(waiting->permits, &how, waiting->id, NULL);
}

static struct hft_crew *we_begin(struct world *w, struct waiting *waiting)
{
    struct hft_crew *crew = hft_crew_start(1, wait_for_one, waiting);

    assert_true(somebody_listens(w));
    return crew;
}

static void it_ends_well(struct hft_crew *crew)
{
    int64_t status;

    assert_null(hft_crew_join(crew, 2 * WAKE_MS));
    status = hft_crew_result(crew, 0);
    hft_crew_free(crew);
    assert_int_equal(status, HF_OK);
}

/* ---- one number ---------------------------------------------------------- */

/* spec: permits/java-1, permits/key-1 */
static void both_take_from_the_same_permits(void **world)
{
    struct world *w = *world;
    hf_permits *permits = permits_of(w->client, NAME);
    char ours[HF_PERMIT_ID_SIZE];
    char more[HF_PERMIT_ID_SIZE];
    char its[HF_PERMIT_ID_SIZE];

    assert_java("ok true", java_ask("a/t1 permit-set %s 2", NAME));
    assert_false(are_set(permits, 9));
    assert_ok(take_one(permits, HOLD_MS, ours));
    assert_java("ok 1", java_ask("a/t1 permit-available %s", NAME));
    keep_id(its, java_ask("a/t1 permit-try %s 0 %d", NAME, HOLD_MS));
    assert_int_equal(look(permits).available, 0);
    assert_int_equal(look(permits).acquired, 2);
    assert_status(HF_BUSY, take_one(permits, HOLD_MS, more));
    assert_java("ok", java_ask("b/t1 permit-try %s 0 %d", NAME, HOLD_MS));
    if (edition == NEWEST) {
        assert_java("ok 2", java_ask("b/t1 permit-acquired %s", NAME));
        assert_java("ok 2", java_ask("b/t1 permit-total %s", NAME));
    }
    assert_ok(give_back(permits, ours));
    assert_java("ok", java_ask("a/t1 permit-release %s %s", NAME, its));
    assert_int_equal(look(permits).available, 2);
    assert_int_equal(look(permits).acquired, 0);
}

/* spec: permits/change-1, permits/change-2 */
static void what_adds_and_withdraws_means_the_same_to_both(void **world)
{
    struct world *w = *world;
    hf_permits *permits = permits_of(w->client, NAME);
    int64_t available = 0;
    char id[HF_PERMIT_ID_SIZE];

    assert_true(are_set(permits, 3));
    assert_java("ok false", java_ask("a/t1 permit-set %s 9", NAME));
    assert_java("ok", java_ask("a/t1 permit-add %s -2", NAME));
    assert_int_equal(look(permits).available, 1);
    assert_ok(hf_permits_add(permits, 4, &available, &problem));
    assert_int_equal(available, 5);
    assert_java("ok 5", java_ask("a/t1 permit-available %s", NAME));
    assert_ok(take_one(permits, HOLD_MS, id));
    assert_ok(hf_permits_set(permits, 2, &problem));
    assert_java("ok 1", java_ask("a/t1 permit-available %s", NAME));
    if (edition == NEWEST) {
        assert_java("ok", java_ask("a/t1 permit-resize %s 4", NAME));
        assert_int_equal(look(permits).available, 3);
    }
    assert_ok(give_back(permits, id));
}

/* ---- ids ----------------------------------------------------------------- */

/* spec: permits/java-2, permits/key-2, permits/id-1 */
static void either_side_gives_back_by_the_others_id(void **world)
{
    struct world *w = *world;
    hf_permits *permits = permits_of(w->client, NAME);
    char ours[HF_PERMIT_ID_SIZE];
    char its[HF_PERMIT_ID_SIZE];

    assert_true(are_set(permits, 2));
    assert_ok(take_one(permits, HOLD_MS, ours));
    keep_id(its, java_ask("a/t1 permit-try %s 0 %d", NAME, HOLD_MS));
    assert_java("ok true",
                java_ask("a/t1 permit-try-release %s %s", NAME, ours));
    assert_ok(give_back(permits, its));
    assert_int_equal(look(permits).available, 2);
    assert_status(HF_GONE, give_back(permits, ours));
    assert_java("ok false",
                java_ask("a/t1 permit-try-release %s %s", NAME, its));
    assert_int_equal(look(permits).available, 2);
}

/* What is left of a lease: both say the same, where Java can be asked. */
static int64_t lease_of(hf_permits *permits, const char *id)
{
    int64_t lease_ms = 0;

    assert_ok(hf_permits_lease_remote(permits, id, &lease_ms, &problem));
    if (edition == NEWEST) {
        assert_between(
            java_number(java_ask("a/t1 permit-lease %s %s", NAME, id)),
            lease_ms - BOUND_MS, lease_ms);
    }
    return lease_ms;
}

/* spec: permits/show-1 */
static void either_side_sets_the_lease_of_the_others_permit(void **world)
{
    struct world *w = *world;
    hf_permits *permits = permits_of(w->client, NAME);
    char ours[HF_PERMIT_ID_SIZE];
    char its[HF_PERMIT_ID_SIZE];

    assert_true(are_set(permits, 2));
    assert_ok(take_one(permits, HOLD_MS, ours));
    assert_between(lease_of(permits, ours), HOLD_MS - BOUND_MS, HOLD_MS);
    assert_java("ok true", java_ask("a/t1 permit-update %s %s %d", NAME, ours,
                                    2 * HOLD_MS));
    assert_between(lease_of(permits, ours), HOLD_MS + BOUND_MS, 2 * HOLD_MS);
    keep_id(its, java_ask("a/t1 permit-try %s 0 5000", NAME));
    assert_ok(hf_permits_extend(permits, its, HOLD_MS, &problem));
    assert_between(lease_of(permits, its), HOLD_MS - BOUND_MS, HOLD_MS);
    assert_ok(hf_permits_set_lease(permits, its, 4000, &problem));
    assert_between(lease_of(permits, its), 1, 4000);
    assert_ok(hf_permits_set_lease(permits, ours, 4000, &problem));
    assert_between(lease_of(permits, ours), 1, 4000);
    assert_java("ok true",
                java_ask("a/t1 permit-update %s %s %d", NAME, its, HOLD_MS));
    assert_ok(give_back(permits, ours));
    assert_ok(give_back(permits, its));
}

/* ---- several in one call ------------------------------------------------- */

/* Java's answer to permit-acquire-many, "ok a,b,c". */
static void keep_ids(hf_permit_id *ids, size_t count, const char *answer)
{
    const char *text = java_text(answer);
    size_t i;

    for (i = 0; i < count; i++) {
        assert_true(strlen(text) >= HF_PERMIT_ID_SIZE - 1);
        memcpy(ids[i].text, text, HF_PERMIT_ID_SIZE - 1);
        ids[i].text[HF_PERMIT_ID_SIZE - 1] = '\0';
        text += HF_PERMIT_ID_SIZE - 1;
        text += *text == ',' ? 1 : 0;
    }
}

/* spec: permits/acquire-3, permits/change-4 */
static void either_side_takes_and_gives_back_several(void **world)
{
    struct world *w = *world;
    hf_permits *permits = permits_of(w->client, NAME);
    hf_permit_id ids[4];

    assert_true(are_set(permits, 4));
    assert_ok(hf_permits_acquire_many(permits, 2, NULL, ids, &problem));
    assert_java("ok 2", java_ask("a/t1 permit-available %s", NAME));
    if (edition == NEWEST) {
        keep_ids(ids + 2, 2,
                 java_ask("a/t1 permit-acquire-many %s 2 %d", NAME, HOLD_MS));
    } else {
        keep_ids(ids + 2, 1,
                 java_ask("a/t1 permit-acquire %s %d", NAME, HOLD_MS));
        keep_ids(ids + 3, 1,
                 java_ask("a/t1 permit-acquire %s %d", NAME, HOLD_MS));
    }
    assert_int_equal(look(permits).acquired, 4);
    /* Ours and its, in one call of ours. */
    assert_ok(hf_permits_release_many(permits, ids + 1, 3, &problem));
    assert_java("ok 3", java_ask("a/t1 permit-available %s", NAME));
    assert_status(HF_GONE, hf_permits_release_many(permits, ids, 2, &problem));
    assert_true(hf_permits_is_held(permits, ids[0].text));
    assert_ok(hf_permits_acquire_many(permits, 1, NULL, ids + 1, &problem));
    if (edition == NEWEST) {
        assert_java("ok", java_ask("a/t1 permit-release-many %s %s,%s", NAME,
                                   ids[0].text, ids[1].text));
        assert_status(HF_GONE, give_back(permits, ids[0].text));
    } else {
        assert_ok(hf_permits_release_many(permits, ids, 2, &problem));
    }
    assert_int_equal(look(permits).available, 4);
    assert_int_equal(look(permits).acquired, 0);
}

/* A permit of ours that Java gave back is lost, and its holder learns of it. */
static void a_permit_that_java_gave_back_is_lost_to_us(void **world)
{
    struct world *w = *world;
    hf_permits *permits = permits_of(w->client, NAME);
    struct told told = {0};
    hf_acquire how = once(NULL, 0);
    char ours[HF_PERMIT_ID_SIZE];

    how.on_lost = record_lost;
    how.context = &told;
    assert_true(are_set(permits, 1));
    assert_ok(hf_permits_acquire(permits, &how, ours, &problem));
    assert_true(hf_permits_is_held(permits, ours));
    assert_java("ok", java_ask("a/t1 permit-release %s %s", NAME, ours));
    assert_true(loss_is_told(&told, BOUND_MS));
    assert_false(hf_permits_is_held(permits, ours));
    assert_true(is_lost(permits, ours));
    assert_int_equal(look(permits).available, 1);
}

/* A permit without an end, as Java's acquire() gives, stays out.
 * spec: permits/key-3 */
static void a_permit_without_an_end_stays_out(void **world)
{
    struct world *w = *world;
    hf_permits *permits = permits_of(w->client, NAME);
    char its[HF_PERMIT_ID_SIZE];
    char ours[HF_PERMIT_ID_SIZE];

    assert_true(are_set(permits, 1));
    keep_id(its, java_ask("a/t1 permit-acquire %s", NAME));
    assert_status(HF_BUSY, take_one(permits, HOLD_MS, ours));
    assert_int_equal(look(permits).acquired, 1);
    assert_java("ok", java_ask("a/t1 permit-release %s %s", NAME, its));
    assert_ok(take_one(permits, HF_LEASE_NONE, ours));
    assert_java("ok", java_ask("a/t1 permit-try %s 0 1000", NAME));
    if (edition == NEWEST) {
        assert_java("ok -1", java_ask("a/t1 permit-lease %s %s", NAME, ours));
    }
    assert_java("ok", java_ask("a/t1 permit-release %s %s", NAME, ours));
    assert_int_equal(look(permits).available, 1);
}

/* ---- waiting ------------------------------------------------------------- */

static void java_gets_ours(struct world *w, hf_permits *permits,
                           const char *name)
{
    char ours[HF_PERMIT_ID_SIZE];
    char its[HF_PERMIT_ID_SIZE];
    unsigned waiter;

    assert_ok(take_one(permits, HOLD_MS, ours));
    waiter = java_begins("a/t1", "permit-acquire %s %d", name, HOLD_MS);
    assert_ok(give_back(permits, ours));
    keep_id(its, java_answer(waiter, WAKE_MS));
    assert_java("ok", java_ask("a/t1 permit-release %s %s", name, its));
    assert_true(hft_wait_channels(w->server, 0, BOUND_MS));
}

static void we_get_javas(struct world *w, hf_permits *permits, const char *name)
{
    struct waiting waiting = {.permits = permits};
    struct hft_crew *crew;
    char its[HF_PERMIT_ID_SIZE];

    keep_id(its, java_ask("a/t1 permit-try %s 0 %d", name, HOLD_MS));
    crew = we_begin(w, &waiting);
    assert_java("ok", java_ask("a/t1 permit-release %s %s", name, its));
    it_ends_well(crew);
    assert_ok(give_back(permits, waiting.id));
    assert_true(hft_wait_channels(w->server, 0, BOUND_MS));
}

/* spec: permits/message-1 */
static void either_side_wakes_who_waits_for_a_permit(void **world)
{
    struct world *w = *world;
    hf_permits *permits = permits_of(a_patient_client(w), NAME);

    assert_true(are_set(permits, 1));
    java_gets_ours(w, permits, NAME);
    we_get_javas(w, permits, NAME);
}

/* spec: permits/name-1, permits/name-2 */
static void odd_names_mean_the_same_to_both(void **world)
{
    static const char *const names[] = {"{shop}:pool", "a{b", "}a{t}", "{}x"};
    struct world *w = *world;
    size_t i;

    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        hf_permits *permits = permits_of(a_patient_client(w), names[i]);

        assert_true(are_set(permits, 1));
        java_gets_ours(w, permits, names[i]);
        we_get_javas(w, permits, names[i]);
    }
}

/* Who crashed with a permit keeps nobody out for longer than its lease: no
 * message comes, only its end. */
static void a_lease_that_ends_lets_the_other_side_in(void **world)
{
    struct world *w = *world;
    hf_permits *permits = permits_of(a_patient_client(w), NAME);
    struct waiting waiting = {.permits = permits};
    char ours[HF_PERMIT_ID_SIZE];
    char its[HF_PERMIT_ID_SIZE];

    assert_true(are_set(permits, 1));
    keep_id(its, java_ask("a/t1 permit-try %s 0 500", NAME));
    it_ends_well(we_begin(w, &waiting));
    assert_java("ok false",
                java_ask("a/t1 permit-try-release %s %s", NAME, its));
    assert_true(hf_permits_is_held(permits, waiting.id));
    assert_ok(give_back(permits, waiting.id));

    assert_ok(take_one(permits, 500, ours));
    keep_id(its, java_ask("a/t1 permit-try %s %d %d", NAME, WAKE_MS, HOLD_MS));
    assert_false(hf_permits_is_held(permits, ours));
    assert_true(is_lost(permits, ours));
    assert_int_equal(look(permits).acquired, 1);
    assert_java("ok", java_ask("a/t1 permit-release %s %s", NAME, its));
    assert_int_equal(look(permits).available, 1);
}

/* Ours that is renewed outlives its lease; Java has no such thing. */
static void a_renewed_permit_of_ours_keeps_java_out(void **world)
{
    struct world *w = *world;
    hf_permits *permits = permits_of(w->client, NAME);
    hf_acquire how = once(NULL, 0);
    char ours[HF_PERMIT_ID_SIZE];

    assert_true(are_set(permits, 1));
    assert_ok(hf_permits_acquire(permits, &how, ours, &problem));
    assert_java("ok", java_ask("a/t1 permit-try %s %d 1000", NAME, 3 * W_MS));
    assert_true(hf_permits_is_held(permits, ours));
    assert_ok(give_back(permits, ours));
    assert_java_begins("ok ", java_ask("a/t1 permit-try %s 0 1000", NAME));
}

/* ---- all at once --------------------------------------------------------- */

#define ROUNDS 40
#define MEMBERS 2
#define PERMITS 2

struct rush {
    struct world *w;
    hf_permits *permits;
};

static void take_and_give_back(struct hft_member *me)
{
    struct rush *rush = me->context;
    char id[HF_PERMIT_ID_SIZE];
    int round;

    for (round = 0; round < ROUNDS; round++) {
        if (!HFT_CHECK(me, hf_permits_acquire(rush->permits, NULL, id, NULL) ==
                               HF_OK)) {
            return;
        }
        HFT_CHECK(me, hft_int(rush->w->server, "INCR inside") <= PERMITS);
        (void)hft_int(rush->w->server, "DECR inside");
        if (!HFT_CHECK(me,
                       hf_permits_release(rush->permits, id, NULL) == HF_OK)) {
            return;
        }
    }
}

static void threads_of_both_sides_never_have_too_many_permits(void **world)
{
    struct world *w = *world;
    struct rush rush = {w, permits_of(a_patient_client(w), NAME)};
    struct hft_crew *crew;
    unsigned asked[2];
    size_t i;

    assert_true(are_set(rush.permits, PERMITS));
    asked[0] = java_send("a/t1 permit-cycle %s %d inside", NAME, ROUNDS);
    asked[1] = java_send("b/t1 permit-cycle %s %d inside", NAME, ROUNDS);
    crew = hft_crew_start(MEMBERS, take_and_give_back, &rush);
    assert_null(hft_crew_join(crew, HOLD_MS));
    hft_crew_free(crew);
    for (i = 0; i < 2; i++) {
        assert_between(java_number(java_answer(asked[i], HOLD_MS)), 1, PERMITS);
    }
    assert_int_equal(look(rush.permits).available, PERMITS);
    assert_int_equal(look(rush.permits).acquired, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        permits_test(both_take_from_the_same_permits),
        permits_test(what_adds_and_withdraws_means_the_same_to_both),
        permits_test(either_side_gives_back_by_the_others_id),
        permits_test(either_side_sets_the_lease_of_the_others_permit),
        permits_test(either_side_takes_and_gives_back_several),
        permits_test(a_permit_that_java_gave_back_is_lost_to_us),
        permits_test(a_permit_without_an_end_stays_out),
        permits_test(either_side_wakes_who_waits_for_a_permit),
        permits_test(odd_names_mean_the_same_to_both),
        permits_test(a_lease_that_ends_lets_the_other_side_in),
        permits_test(a_renewed_permit_of_ours_keeps_java_out),
        permits_test(threads_of_both_sides_never_have_too_many_permits),
    };
    int failed;

    both_begin(argc, argv);
    failed = cmocka_run_group_tests_name("permits", tests, both_up, both_down);
    both_end();
    return failed;
}
