/* SPDX-License-Identifier: MIT */
/* test_lock.c - the plain lock between our library and Redisson: what is true of
 * every exclusive lock (exclusive.h), and what Redisson does with its own.
 */
#include "both.h"

#include <string.h>

#include "exclusive.h"
#include "support/child.h"

#define NAME "orders:42"

/* ---- counts -------------------------------------------------------------- */

static void re_entries_of_java_are_counted_where_we_see_them(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    hf_lock_info info = HF_LOCK_INFO_INIT;

    assert_java("ok true", java_ask("a/t1 try lock %s", NAME));
    assert_java("ok true", java_ask("a/t1 try lock %s", NAME));
    assert_java("ok true", java_ask("a/t1 try lock %s", NAME));
    assert_ok(hf_inspect_remote(lock, &info, &problem));
    assert_int_equal(info.count, 3);
    assert_java("ok", java_ask("a/t1 release lock %s", NAME));
    assert_java("ok 2", java_ask("a/t1 count lock %s", NAME));
    assert_status(HF_BUSY, try_once(lock, NULL));
    assert_java("ok", java_ask("a/t1 release lock %s", NAME));
    assert_java("ok", java_ask("a/t1 release lock %s", NAME));
    assert_ok(try_once(lock, NULL));
    assert_ok(leave(lock, NULL));
}

static void our_re_entries_keep_java_out_until_the_last_release(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);

    assert_ok(try_once(lock, NULL));
    assert_ok(try_once(lock, NULL));
    assert_int_equal(wire_count(w, NAME), 2);
    assert_ok(leave(lock, NULL));
    assert_java("ok false", java_ask("a/t1 try lock %s", NAME));
    assert_java("ok true", java_ask("a/t1 is-locked lock %s", NAME));
    assert_ok(leave(lock, NULL));
    assert_java("ok true", java_ask("a/t1 try lock %s", NAME));
    assert_java("ok", java_ask("a/t1 release lock %s", NAME));
}

/* spec: rlock/java-5 */
static void a_local_re_entry_looks_like_one_hold_to_java(void **world)
{
    struct world *w = *world;
    hf_options options = short_options();
    hf_lock *lock;

    options.local_reentry = 1;
    lock = a_lock_of(w, a_client_at(w, hft_server_url(w->server), &options),
                     NAME);
    assert_ok(try_once(lock, NULL));
    assert_ok(try_once(lock, NULL));
    assert_int_equal(wire_count(w, NAME), 1);
    assert_ok(leave(lock, NULL));
    assert_java("ok true", java_ask("a/t1 is-locked lock %s", NAME));
    assert_java("ok false", java_ask("a/t1 try lock %s", NAME));
    assert_ok(leave(lock, NULL));
    assert_java("ok false", java_ask("a/t1 is-locked lock %s", NAME));
}

/* ---- TTLs ---------------------------------------------------------------- */

struct awaited_ttl {
    struct world *w;
    int64_t most_ms;
};

static bool ttl_is_short(void *context)
{
    const struct awaited_ttl *awaited = context;

    return wire_ttl(awaited->w, NAME) <= awaited->most_ms;
}

static bool ttl_sinks_to(struct world *w, int64_t most_ms)
{
    struct awaited_ttl awaited = {w, most_ms};

    return hft_wait_until(ttl_is_short, &awaited, BOUND_MS);
}

/* spec: rlock/java-3 */
static void java_sets_the_ttl_of_what_it_holds_even_to_less(void **world)
{
    struct world *w = *world;

    assert_java("ok", java_ask("a/t1 acquire lock %s", NAME));
    (void)hft_int(w->server, "PEXPIRE %s %d", NAME, HOLD_MS);
    assert_true(ttl_sinks_to(w, WATCHDOG_MS));
    assert_java("ok true", java_ask("a/t1 force lock %s", NAME));
    /* Without a watchdog. */
    assert_java("ok", java_ask("a/t1 acquire lock %s %d", NAME, HOLD_MS));
    assert_java("ok", java_ask("a/t1 acquire lock %s 1000", NAME));
    assert_between(wire_ttl(w, NAME), 1, 1000);
    assert_java("ok true", java_ask("a/t1 force lock %s", NAME));
}

/* A watchdog that still believes in its hold asks about the lock again and
 * again, and leaves alone what is ours by then.
 * spec: rlock/java-3, rlock/ttl-3 */
static void javas_watchdog_leaves_a_lock_of_ours_alone(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    int64_t asked;

    assert_java("ok", java_ask("a/t1 acquire lock %s", NAME));
    assert_ok(hf_lock_force_release(lock, NULL, &problem));
    assert_ok(try_fixed(lock, NULL, HOLD_MS));
    asked = hft_calls(w->server, "hexists");
    /* It looks every second, and never again once it has seen that the lock is
     * gone, which may have been just now. */
    (void)hft_wait_calls(w->server, "hexists", asked + 1, WATCHDOG_MS);
    assert_java("ok false", java_ask("a/t1 try lock %s 100 500", NAME));
    assert_between(wire_ttl(w, NAME), HOLD_MS - BOUND_MS - W_MS, HOLD_MS);
    assert_true(hf_lock_is_held(lock, NULL));
    assert_ok(leave(lock, NULL));
}

/* A multi lock of Java ends with an EXPIRE of each member.  One of them had
 * become ours in the meantime, and loses its lease by it; no harm is done to a
 * lease that is shorter.
 * spec: rlock/java-7 */
static void a_java_multi_lock_can_shorten_a_lease_of_ours(void **world)
{
    struct world *w = *world;
    hf_acquire how = once(NULL, 9000);
    hf_lock *first = a_lock(w, NAME);
    hf_lock *second = a_lock(w, "second");
    unsigned asked;

    assert_ok(try_fixed(second, NULL, HOLD_MS));
    asked = java_begins("a/t1", "try multi lock:%s,lock:second %d 300", NAME,
                        HOLD_MS);
    assert_ok(hf_lock_force_release(first, NULL, &problem));
    assert_ok(take(first, NULL, &how));
    assert_ok(leave(second, NULL));
    assert_java("ok true", java_answer(asked, WAKE_MS));
    assert_between(wire_ttl(w, NAME), -2, 300);
    assert_true(state_becomes(first, NULL, HF_STATE_LOST, BOUND_MS));
    assert_status(HF_LOST, leave(first, NULL));
}

/* ---- what else Redisson does --------------------------------------------- */

/* The key that a release of Redisson's writes for itself, and deletes or
 * leaves; 3.16.8 has none.  Ours go on beside one.
 * spec: rlock/java-4, rlock/key-3 */
static void unlock_latches_are_javas_own(void **world)
{
    struct world *w = *world;
    const char *latch = "redisson_unlock_latch:{" NAME "}";
    struct hft_child *monitor = monitor_start(w);
    hf_lock *lock = a_lock(w, NAME);
    const char *seen;
    size_t before;

    assert_java("ok", java_ask("a/t1 acquire lock %s", NAME));
    assert_java("ok", java_ask("a/t1 release lock %s", NAME));
    seen = monitor_seen(w, monitor);
    assert_int_equal(strstr(seen, latch) != NULL, edition == NEWEST);
    /* As if that Java program had died before it deleted it. */
    (void)hft_str(w->server, "SET %s:%s 1 PX 20000", latch,
                  "0123456789abcdef0123456789abcdef");
    before = strlen(monitor_seen(w, monitor));
    assert_ok(try_once(lock, NULL));
    assert_ok(try_once(lock, NULL));
    assert_ok(leave(lock, NULL));
    assert_ok(leave(lock, NULL));
    seen = monitor_seen(w, monitor) + before;
    assert_non_null(strstr(seen, NAME));
    assert_null(strstr(seen, "redisson_unlock_latch"));
    hft_child_free(monitor);
}

/* spec: rlock/java-6 */
static void a_java_client_with_a_mapper_means_the_mapped_name(void **world)
{
    struct world *w = *world;
    hf_lock *mapped = a_lock_of(w, a_patient_client(w), "pre:" NAME);
    hf_lock *plain = a_lock(w, NAME);
    static struct caller caller;
    unsigned waiter;

    java_open(w, "mapped", "mapper=pre:");
    assert_java("ok", java_ask("mapped/t1 acquire lock %s %d", NAME, HOLD_MS));
    assert_ok(try_once(plain, NULL));
    assert_ok(leave(plain, NULL));
    assert_status(HF_BUSY, try_once(mapped, NULL));
    caller_start(&caller, mapped, WAKE_MS);
    assert_true(somebody_listens(w));
    assert_java("ok", java_ask("mapped/t1 release lock %s", NAME));
    caller_join(&caller);
    assert_int_equal(caller.status, HF_OK);

    assert_true(hft_wait_channels(w->server, 0, BOUND_MS));
    assert_ok(try_fixed(mapped, NULL, HOLD_MS));
    waiter = java_begins("mapped/t1", "acquire lock %s", NAME);
    assert_ok(leave(mapped, NULL));
    assert_java("ok", java_answer(waiter, WAKE_MS));
    assert_java("ok", java_ask("mapped/t1 release lock %s", NAME));
    assert_java("ok", java_ask("mapped close"));
}

/* ---- the other kinds of this object -------------------------------------- */

static void a_second_acquire_of_a_non_reentrant_lock_is_refused(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock_of_kind(w, w->client, HF_KIND_NONREENTRANT, NAME);

    assert_ok(try_once(lock, NULL));
    assert_status(HF_ALREADY_HELD, try_once(lock, NULL));
    assert_java("ok false", java_ask("a/t1 try lock %s", NAME));
    assert_int_equal(wire_count(w, NAME), 1);
    assert_ok(leave(lock, NULL));
    if (edition == OLDEST) {
        return;
    }
    assert_java("ok true", java_ask("a/t1 try nonreentrant %s", NAME));
    assert_java_begins("error IllegalMonitorStateException",
                       java_ask("a/t1 try nonreentrant %s", NAME));
    assert_status(HF_BUSY, try_once(lock, NULL));
    assert_java("ok", java_ask("a/t1 release nonreentrant %s", NAME));
}

/* One counter for both sides, and each outermost acquisition is one further.
 * Java's counts its re-entries too, ours by option. */
static void tokens_of_both_sides_grow_together(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock_of_kind(w, w->client, HF_KIND_FENCED, NAME);
    hf_lock_options options = HF_LOCK_OPTIONS_INIT;
    hf_lock *counting = NULL;
    int64_t token = 0;

    options.kind = HF_KIND_FENCED;
    options.token_each_entry = 1;
    assert_ok(hf_lock_new_as(w->client, &options, NAME, strlen(NAME), &counting,
                             &problem));
    keep_lock(w, counting);

    assert_ok(try_once(lock, NULL));
    assert_ok(try_once(lock, NULL));
    assert_ok(hf_lock_token(lock, NULL, &token, &problem));
    assert_int_equal(token, 1);
    assert_java("ok 1", java_ask("a/t1 token fenced %s", NAME));
    assert_ok(leave(lock, NULL));
    assert_ok(leave(lock, NULL));
    assert_java("ok 2", java_ask("a/t1 acquire-token fenced %s", NAME));
    assert_java("ok 3", java_ask("a/t1 try-token fenced %s 0 60000", NAME));
    assert_java("ok", java_ask("a/t1 release fenced %s", NAME));
    assert_java("ok", java_ask("a/t1 release fenced %s", NAME));
    assert_ok(try_once(counting, NULL));
    assert_ok(try_once(counting, NULL));
    assert_ok(hf_lock_token(counting, NULL, &token, &problem));
    assert_int_equal(token, 5);
    assert_java("ok", java_ask("a/t2 try-token fenced %s 0", NAME));
    assert_java("ok 5", java_ask("a/t1 token fenced %s", NAME));
    assert_ok(leave(counting, NULL));
    assert_ok(leave(counting, NULL));
}

/* Who waits for a token gets the next one when the other side releases. */
static void a_token_that_is_waited_for_is_the_next(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock_of_kind(w, a_patient_client(w), HF_KIND_FENCED,
                                   NAME);
    hf_lock_info info = HF_LOCK_INFO_INIT;
    int64_t token = 0;
    unsigned waiter;

    assert_ok(try_fixed(lock, NULL, HOLD_MS));
    assert_ok(hf_lock_token(lock, NULL, &token, &problem));
    /* This one waits by callbacks, not in a thread. */
    waiter = java_send("a/t1 acquire-token fenced %s", NAME);
    assert_true(somebody_listens(w));
    assert_ok(leave(lock, NULL));
    assert_int_equal(java_number(java_answer(waiter, WAKE_MS)), token + 1);
    assert_ok(hf_inspect_remote(lock, &info, &problem));
    assert_int_equal(info.token, token + 1);
    assert_java("ok", java_ask("a/t1 release fenced %s", NAME));
}

/* They are one object: a hash, an owner, a channel. */
static void the_kinds_of_this_object_exclude_and_wake_each_other(void **world)
{
    static const hf_kind kinds[] = {HF_KIND_LOCK, HF_KIND_FENCED, HF_KIND_SPIN,
                                    HF_KIND_NONREENTRANT};
    struct world *w = *world;
    hf_client *client = a_patient_client(w);
    size_t i;

    for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        hf_lock *lock = a_lock_of_kind(w, client, kinds[i], NAME);
        unsigned waiter;

        assert_java("ok", java_ask("a/t1 acquire lock %s", NAME));
        assert_status(HF_BUSY, try_once(lock, NULL));
        assert_java("ok", java_ask("a/t1 release lock %s", NAME));
        assert_ok(try_fixed(lock, NULL, HOLD_MS));
        waiter = java_begins("a/t1", "acquire lock %s", NAME);
        assert_ok(leave(lock, NULL));
        assert_java("ok", java_answer(waiter, WAKE_MS));
        assert_java("ok", java_ask("a/t1 release lock %s", NAME));
        assert_true(hft_wait_channels(w->server, 0, BOUND_MS));
    }
}

int main(int argc, char **argv)
{
    static const struct both_kind kinds[] = {
        {.ours = HF_KIND_LOCK, .java = "lock"},
        {.ours = HF_KIND_FENCED, .java = "fenced", .newest_only = true},
        {.ours = HF_KIND_SPIN, .java = "spin", .polls = true},
        {.ours = HF_KIND_NONREENTRANT,
         .java = "nonreentrant",
         .newest_only = true},
    };
    const struct CMUnitTest tests[] = {
        world_test(re_entries_of_java_are_counted_where_we_see_them),
        world_test(our_re_entries_keep_java_out_until_the_last_release),
        world_test(a_local_re_entry_looks_like_one_hold_to_java),
        world_test(java_sets_the_ttl_of_what_it_holds_even_to_less),
        world_test(javas_watchdog_leaves_a_lock_of_ours_alone),
        world_test(a_java_multi_lock_can_shorten_a_lease_of_ours),
        world_test(unlock_latches_are_javas_own),
        world_test(a_java_client_with_a_mapper_means_the_mapped_name),
        world_test(a_second_acquire_of_a_non_reentrant_lock_is_refused),
        world_test(the_kinds_of_this_object_exclude_and_wake_each_other),
    };
    const struct CMUnitTest newest_tests[] = {
        world_test(tokens_of_both_sides_grow_together),
        world_test(a_token_that_is_waited_for_is_the_next),
    };
    int failed = 0;
    size_t i;

    both_begin(argc, argv);
    for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        failed += exclusive_tests(&kinds[i]);
    }
    failed += cmocka_run_group_tests_name("redisson", tests, both_up,
                                          both_down);
    if (edition == NEWEST) {
        failed += cmocka_run_group_tests_name("fenced", newest_tests, both_up,
                                              both_down);
    }
    both_end();
    return failed;
}
