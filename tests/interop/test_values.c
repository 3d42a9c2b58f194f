/* SPDX-License-Identifier: MIT */
/* test_values.c - locks on values of a name between our library and Redisson
 * (its getMultiLock(name, values), with a StringCodec).  3.16.8 has none.
 *
 * All values of a name share a hash and a channel; each value has its own owner
 * and its own end.
 */
#include "both.h"

#include <string.h>

#include "support/crew.h"

#define GROUP "users"

/* How values are called on the wire: a hash of each (docs/wire/values.md). */
#define FIELD_JACK "7pNoDdizVy2xY792MaFv+w"
#define FIELD_MARY "kIX2DFOX4IWct7G7K6tV9A"

static hf_lock *a_values_lock(struct world *w, hf_client *client,
                              const char *one, const char *other)
{
    const char *const values[] = {one, other};
    hf_lock *lock = NULL;

    assert_ok(hf_values_lock_new(client, GROUP, values, other != NULL ? 2 : 1,
                                 &lock, &problem));
    keep_lock(w, lock);
    return lock;
}

/* spec: values/field-1, values/field-2, values/key-1 */
static void both_give_values_the_same_names(void **world)
{
    struct world *w = *world;
    hf_lock *ours = a_values_lock(w, w->client, "Jack_001", "Mary_002");
    char text[128];

    assert_java("ok true",
                java_ask("a/t1 try values " GROUP "=Jack_001,Mary_002"));
    assert_string_equal(hft_str(w->server, "HGET " GROUP " " FIELD_JACK),
                        java_text(java_ask("a/t1 owner")));
    assert_string_equal(hft_str(w->server, "HGET " GROUP " " FIELD_MARY),
                        java_text(java_ask("a/t1 owner")));
    assert_java("ok",
                java_ask("a/t1 release values " GROUP "=Jack_001,Mary_002"));
    assert_ok(try_once(ours, NULL));
    assert_ok(hf_lock_owner_text(ours, NULL, text, sizeof(text)));
    assert_string_equal(hft_str(w->server, "HGET " GROUP " " FIELD_JACK), text);
    assert_string_equal(hft_str(w->server, "HGET " GROUP " " FIELD_MARY), text);
    assert_ok(leave(ours, NULL));
    assert_true(wire_free_within(w, GROUP, 0));
}

/* The hash treats what is left of 32 bytes in many ways: every length of it. */
static void values_of_every_length_are_the_same_values(void **world)
{
    struct world *w = *world;

    for (int len = 1; len <= 70; len++) {
        char value[80];
        hf_lock *ours;

        for (int i = 0; i < len; i++) {
            value[i] = (char)('a' + (i * 7 + len) % 26);
        }
        value[len] = '\0';
        ours = a_values_lock(w, w->client, value, NULL);
        assert_java("ok true",
                    java_ask("a/t1 try values " GROUP "=%s 0 60000", value));
        assert_status(HF_BUSY, try_once(ours, NULL));
        assert_java("ok", java_ask("a/t1 release values " GROUP "=%s", value));
        assert_ok(try_once(ours, NULL));
        assert_ok(leave(ours, NULL));
    }
    assert_true(wire_free_within(w, GROUP, 0));
}

/* spec: values/acquire-1 */
static void values_in_common_exclude_and_others_do_not(void **world)
{
    struct world *w = *world;
    hf_lock *ab = a_values_lock(w, w->client, "a", "b");
    hf_lock *cd = a_values_lock(w, w->client, "c", "d");
    hf_owner *me = an_owner(w);

    assert_ok(try_once(ab, me));
    assert_java("ok false", java_ask("a/t1 try values " GROUP "=b,c"));
    assert_java("ok true", java_ask("a/t1 is-locked values " GROUP "=a"));
    assert_java("ok false", java_ask("a/t1 is-locked values " GROUP "=c"));
    assert_java("ok true", java_ask("a/t1 try values " GROUP "=c"));
    assert_status(HF_BUSY, try_once(cd, an_owner(w)));
    assert_ok(leave(ab, me));
    assert_java("ok true", java_ask("b/t1 try values " GROUP "=a,b"));
    assert_status(HF_BUSY, try_once(ab, me));
    assert_java("ok", java_ask("a/t1 release values " GROUP "=c"));
    assert_ok(try_once(cd, me));
    assert_ok(leave(cd, me));
    assert_java("ok", java_ask("b/t1 release values " GROUP "=a,b"));
    assert_true(wire_free_within(w, GROUP, 0));
}

/* spec: values/release-1 */
static void java_is_woken_by_our_release_of_values(void **world)
{
    struct world *w = *world;
    hf_lock *ours = a_values_lock(w, w->client, "a", "b");
    unsigned waiter;

    assert_ok(try_fixed(ours, NULL, HOLD_MS));
    waiter = java_begins("a/t1", "acquire values " GROUP "=b,c");
    assert_ok(leave(ours, NULL));
    assert_java("ok", java_answer(waiter, WAKE_MS));
    assert_status(HF_BUSY, try_once(ours, NULL));
    assert_java("ok", java_ask("a/t1 release values " GROUP "=b,c"));
}

static void we_are_woken_by_a_java_release_of_values(void **world)
{
    static struct caller caller;
    struct world *w = *world;
    hf_lock *ours = a_values_lock(w, a_patient_client(w), "a", "b");

    assert_java("ok",
                java_ask("a/t1 acquire values " GROUP "=b,c %d", HOLD_MS));
    caller_start(&caller, ours, WAKE_MS);
    assert_true(somebody_listens(w));
    assert_java("ok", java_ask("a/t1 release values " GROUP "=b,c"));
    caller_join(&caller);
    assert_int_equal(caller.status, HF_OK);
    assert_int_equal(caller.release_status, HF_OK);
}

/* The end of one value's lease is its own, though the key lives on.
 * spec: values/key-2 */
static void a_value_whose_lease_ended_is_free_beside_others(void **world)
{
    struct world *w = *world;
    hf_lock *a = a_values_lock(w, w->client, "a", NULL);
    hf_lock *b = a_values_lock(w, w->client, "b", NULL);

    assert_java("ok", java_ask("a/t1 acquire values " GROUP "=b %d", HOLD_MS));
    assert_java("ok", java_ask("a/t2 acquire values " GROUP "=a 400"));
    assert_ok(wait_up_to(a, NULL, WAKE_MS));
    assert_status(HF_BUSY, try_once(b, NULL));
    assert_java_begins("error IllegalMonitorStateException",
                       java_ask("a/t2 release values " GROUP "=a"));
    assert_ok(leave(a, NULL));
    assert_java("ok", java_ask("a/t1 release values " GROUP "=b"));

    assert_ok(try_fixed(a, NULL, 400));
    assert_java("ok true", java_ask("b/t1 try values " GROUP "=b"));
    assert_java("ok true", java_ask("b/t2 try values " GROUP "=a %d", WAKE_MS));
    assert_status(HF_LOST, leave(a, NULL));
    assert_java("ok true", java_ask("b/t2 is-locked values " GROUP "=a"));
    assert_java("ok", java_ask("b/t2 release values " GROUP "=a"));
    assert_java("ok", java_ask("b/t1 release values " GROUP "=b"));
}

static void nobody_releases_values_of_the_other_side(void **world)
{
    struct world *w = *world;
    hf_lock *ours = a_values_lock(w, w->client, "a", "b");

    assert_ok(try_once(ours, NULL));
    assert_java_begins("error IllegalMonitorStateException",
                       java_ask("a/t1 release values " GROUP "=a,b"));
    assert_true(hf_lock_is_held(ours, NULL));
    assert_java("ok false", java_ask("a/t1 try values " GROUP "=a"));
    assert_ok(leave(ours, NULL));
    assert_java("ok true", java_ask("a/t1 try values " GROUP "=a,b"));
    assert_status(HF_NOT_OWNER, leave(ours, NULL));
    assert_java("ok", java_ask("a/t1 release values " GROUP "=a,b"));
}

/* spec: values/force-1 */
static void a_value_that_java_forces_is_told_to_its_holder(void **world)
{
    struct world *w = *world;
    hf_lock *ours = a_values_lock(w, w->client, "a", NULL);

    assert_ok(try_once(ours, NULL));
    assert_java("ok true", java_ask("a/t1 force values " GROUP "=a"));
    assert_true(state_becomes(ours, NULL, HF_STATE_LOST, BOUND_MS));
    assert_status(HF_LOST, leave(ours, NULL));

    assert_java("ok", java_ask("a/t1 acquire values " GROUP "=a %d", HOLD_MS));
    assert_ok(hf_lock_force_release(ours, NULL, &problem));
    assert_java("ok false", java_ask("a/t1 is-locked values " GROUP "=a"));
}

/* Both renew what is theirs in the one hash.
 * spec: values/keep-1 */
static void both_keep_their_values_alive(void **world)
{
    struct world *w = *world;
    hf_lock *ours = a_values_lock(w, w->client, "a", "b");

    assert_ok(try_once(ours, NULL));
    assert_java("ok", java_ask("a/t1 acquire values " GROUP "=c"));
    hft_let_pass_ms(WATCHDOG_MS + 2 * W_MS);
    assert_true(hf_lock_is_held(ours, NULL));
    assert_java("ok true", java_ask("a/t2 is-locked values " GROUP "=a"));
    assert_java("ok true", java_ask("a/t2 is-locked values " GROUP "=c"));
    assert_java("ok false", java_ask("a/t2 try values " GROUP "=b"));
    assert_status(HF_BUSY,
                  try_once(a_values_lock(w, w->client, "c", NULL), NULL));
    assert_ok(leave(ours, NULL));
    assert_java("ok", java_ask("a/t1 release values " GROUP "=c"));
    assert_true(wire_free_within(w, GROUP, 0));
}

/* ---- all at once --------------------------------------------------------- */

#define ROUNDS 40
#define MEMBERS 2

struct rush {
    struct world *w;
    hf_lock *lock;
};

static void add_one_by_one(struct hft_member *me)
{
    struct rush *rush = me->context;
    int round;

    for (round = 0; round < ROUNDS; round++) {
        int64_t sum;

        if (!HFT_CHECK(me, hf_lock_acquire(rush->lock, NULL, NULL) == HF_OK)) {
            return;
        }
        sum = hft_int(rush->w->server, "GET sum");
        (void)hft_int(rush->w->server, "SET sum %lld", (long long)sum + 1);
        if (!HFT_CHECK(me, hf_lock_release(rush->lock, NULL, NULL) == HF_OK)) {
            return;
        }
    }
}

static void threads_of_both_sides_never_overlap(void **world)
{
    struct world *w = *world;
    struct rush rush = {w, a_values_lock(w, a_patient_client(w), "a", "b")};
    struct hft_crew *crew;
    unsigned asked[2];

    (void)hft_str(w->server, "SET sum 0");
    asked[0] = java_send("a/t1 cycle values " GROUP "=b,c %d sum", ROUNDS);
    asked[1] = java_send("b/t1 cycle values " GROUP "=d,b %d sum", ROUNDS);
    crew = hft_crew_start(MEMBERS, add_one_by_one, &rush);
    assert_null(hft_crew_join(crew, HOLD_MS));
    hft_crew_free(crew);
    assert_java_begins("ok", java_answer(asked[0], HOLD_MS));
    assert_java_begins("ok", java_answer(asked[1], HOLD_MS));
    assert_int_equal(hft_int(w->server, "GET sum"), (MEMBERS + 2) * ROUNDS);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        world_test(both_give_values_the_same_names),
        world_test(values_of_every_length_are_the_same_values),
        world_test(values_in_common_exclude_and_others_do_not),
        world_test(java_is_woken_by_our_release_of_values),
        world_test(we_are_woken_by_a_java_release_of_values),
        world_test(a_value_whose_lease_ended_is_free_beside_others),
        world_test(nobody_releases_values_of_the_other_side),
        world_test(a_value_that_java_forces_is_told_to_its_holder),
        world_test(both_keep_their_values_alive),
        world_test(threads_of_both_sides_never_overlap),
    };
    int failed;

    java_choose(argc, argv);
    if (edition == OLDEST) {
        print_message("Redisson 3.16.8 has no locks of values\n");
        return 0;
    }
    both_begin(argc, argv);
    failed = cmocka_run_group_tests_name("values", tests, both_up, both_down);
    both_end();
    return failed;
}
