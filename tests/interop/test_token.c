/* SPDX-License-Identifier: MIT */
/* test_token.c - the token lock between our library and others: redis-py,
 * redsync, node-redlock.  Theirs is the lock that most libraries have in common:
 * SET NX PX and compare-and-delete.
 *
 *     test_interop_token FILE PROGRAM [WORD...]
 *
 * PROGRAM does what it is told line by line (python/agent.py has the words).
 * FILE exists if it could not be had; then this is skipped (77).
 *
 * None of them publishes anything or listens to anything: whoever waits for it
 * asks again, and so does it.
 */
#include "both.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/crew.h"
#include "support/fatal.h"

#define NAME "orders:42"
#define SKIPPED 77 /* ctest knows it */

static struct world *the_world;

static int peer_up(void **world)
{
    *world = the_world;
    assert_java("ok True", java_ask("p open redis://127.0.0.1:%d",
                                    hft_server_port(the_world->server)));
    return 0;
}

static hf_lock *a_token_lock(struct world *w)
{
    return a_lock_of_kind(w, w->client, HF_KIND_TOKEN, NAME);
}

/* spec: token/key-1, token/acquire-1 */
static void each_keeps_the_other_out(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_token_lock(w);

    assert_ok(try_once(lock, NULL));
    assert_java("ok True", java_ask("p/t1 locked %s", NAME));
    assert_java("ok False", java_ask("p/t1 acquire %s 30000 0", NAME));
    assert_java("ok False", java_ask("p/t1 acquire %s 30000 200", NAME));
    assert_ok(leave(lock, NULL));
    assert_java("ok True", java_ask("p/t1 acquire %s 30000 0", NAME));
    assert_status(HF_BUSY, try_once(lock, NULL));
    assert_status(HF_TIMEOUT, wait_up_to(lock, NULL, 200));
    assert_java("ok True", java_ask("p/t1 owned %s", NAME));
    assert_java("ok", java_ask("p/t1 release %s", NAME));
    assert_true(wire_free_within(w, NAME, 0));
}

/* spec: token/wait-2 */
static void each_waits_for_the_other(void **world)
{
    static struct caller caller;
    struct world *w = *world;
    hf_lock *lock = a_token_lock(w);
    unsigned waiter;

    assert_ok(try_fixed(lock, NULL, HOLD_MS));
    waiter = java_send("p/t1 acquire %s %d", NAME, HOLD_MS);
    assert_null(java_answer(waiter, 100));
    assert_ok(leave(lock, NULL));
    assert_java("ok True", java_answer(waiter, WAKE_MS));

    caller_start(&caller, lock, WAKE_MS);
    assert_true(waiters_become(w->client, 1, BOUND_MS));
    assert_java("ok", java_ask("p/t1 release %s", NAME));
    caller_join(&caller);
    assert_int_equal(caller.status, HF_OK);
    assert_int_equal(caller.release_status, HF_OK);
}

/* spec: token/release-1 */
static void nobody_releases_or_prolongs_what_is_the_others(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_token_lock(w);

    assert_java("ok True", java_ask("p/t1 acquire %s 800 0", NAME));
    assert_ok(wait_up_to(lock, NULL, WAKE_MS));
    assert_java("ok False", java_ask("p/t1 owned %s", NAME));
    assert_java_begins("error", java_ask("p/t1 extend %s 60000", NAME));
    assert_java_begins("error", java_ask("p/t1 release %s", NAME));
    assert_true(hf_lock_is_held(lock, NULL));
    assert_between(wire_ttl(w, NAME), 1, W_MS);
    assert_ok(leave(lock, NULL));

    assert_ok(try_fixed(lock, NULL, 800));
    assert_java("ok True", java_ask("p/t1 acquire %s 30000", NAME));
    assert_status(HF_LOST, leave(lock, NULL));
    assert_java("ok True", java_ask("p/t1 owned %s", NAME));
    assert_java("ok", java_ask("p/t1 release %s", NAME));
}

/* Ours is renewed, and theirs extended by hand. */
static void each_holds_on_for_as_long_as_it_likes(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_token_lock(w);
    hf_acquire how = once(NULL, 3000);

    assert_ok(take(lock, NULL, &how));
    assert_java("ok False", java_ask("p/t1 acquire %s 30000 4000", NAME));
    assert_true(hf_lock_is_held(lock, NULL));
    assert_ok(leave(lock, NULL));
    assert_java("ok True", java_ask("p/t1 acquire %s 1500 0", NAME));
    assert_java("ok True", java_ask("p/t1 extend %s 60000", NAME));
    assert_status(HF_TIMEOUT, wait_up_to(lock, NULL, 2000));
    assert_java("ok", java_ask("p/t1 release %s", NAME));
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
    struct rush rush = {w, a_token_lock(w)};
    struct hft_crew *crew;
    unsigned asked[2];

    (void)hft_str(w->server, "SET sum 0");
    asked[0] = java_send("p/t1 cycle %s %d sum", NAME, ROUNDS);
    asked[1] = java_send("p/t2 cycle %s %d sum", NAME, ROUNDS);
    crew = hft_crew_start(MEMBERS, add_one_by_one, &rush);
    assert_null(hft_crew_join(crew, HOLD_MS));
    hft_crew_free(crew);
    assert_java_begins("ok", java_answer(asked[0], HOLD_MS));
    assert_java_begins("ok", java_answer(asked[1], HOLD_MS));
    assert_int_equal(hft_int(w->server, "GET sum"), (MEMBERS + 2) * ROUNDS);
}

int main(int argc, char **argv)
{
    const struct hft_server_options options = {.tcp = true};
    const struct CMUnitTest tests[] = {
        world_test(each_keeps_the_other_out),
        world_test(each_waits_for_the_other),
        world_test(nobody_releases_or_prolongs_what_is_the_others),
        world_test(each_holds_on_for_as_long_as_it_likes),
        world_test(threads_of_both_sides_never_overlap),
    };
    void *world;
    int failed;

    if (argc < 3) {
        hft_die("usage: %s FILE PROGRAM [WORD...]", argv[0]);
    }
    if (access(argv[1], F_OK) == 0) {
        print_message("skipped: %s says why\n", argv[1]);
        return SKIPPED;
    }
    the_world = hft_alloc(sizeof(*the_world));
    the_world->server = hft_server_start(&options);
    agent_start((const char *const *)&argv[2]);
    failed = cmocka_run_group_tests_name("token", tests, peer_up, NULL);
    java_stop();
    world = the_world;
    (void)world_down(&world);
    return failed;
}
