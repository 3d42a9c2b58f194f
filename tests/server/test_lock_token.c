/* SPDX-License-Identifier: MIT */
/* test_lock_token.c - SET name token NX PX lease, and those who speak it too.
 *
 * The foreign holders are played by the commands that their libraries send.
 * Rows: PL-29, PL-50, NR-02, T42.
 */
#include "world.h"

#include <string.h>

#include "base/clock.h"

#define NAME "report"
#define CHANNEL "holdfast_token__channel:{report}"
/* What redis-py, redsync and node-redlock write as a token. */
#define FOREIGN "f00dfeedf00dfeedf00dfeedf00dfeed"
#define RELEASE_OF_OTHERS                                                      \
    "if redis.call('get',KEYS[1])==ARGV[1] then "                              \
    "return redis.call('del',KEYS[1]) else return 0 end"

static hf_lock *a_token_of(struct world *w, hf_client *client)
{
    hf_lock *lock;

    assert_ok(hf_token_lock_new(client, NAME, &lock, &problem));
    keep_lock(w, lock);
    return lock;
}

static hf_lock *a_token(struct world *w)
{
    return a_token_of(w, w->client);
}

static bool foreigner_takes(struct world *w, int64_t lease_ms)
{
    return strcmp(hft_str(w->server, "SET %s %s NX PX %lld", NAME, FOREIGN,
                          (long long)lease_ms) == NULL
                      ? ""
                      : "OK",
                  "OK") == 0;
}

static int64_t foreigner_releases(struct world *w)
{
    return hft_int(w->server, "EVAL %s 1 %s %s", RELEASE_OF_OTHERS, NAME,
                   FOREIGN);
}

/* Whether the server has DELIFEQ or DELEX (tests/servers/run has such). */
static bool compares_natively(struct world *w)
{
    const char *known = hft_str(w->server, "COMMAND INFO DELIFEQ DELEX");

    return strstr(known, "delifeq") != NULL || strstr(known, "delex") != NULL;
}

/* spec: token/key-1, token/acquire-1, token/release-1. */
static void on_the_server_it_is_a_string_with_a_ttl(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_token(w);
    char owner[64];

    assert_ok(try_fixed(lock, NULL, 30000));
    assert_ok(hf_lock_owner_text(lock, NULL, owner, sizeof(owner)));
    assert_string_equal(hft_str(w->server, "GET %s", NAME), owner);
    assert_between(wire_ttl(w, NAME), 29000, 30000);
    assert_ok(leave(lock, NULL));
    assert_int_equal(wire_ttl(w, NAME), -2);
}

/* spec: token/acquire-1.  A free lock costs one bare command and one script. */
static void a_pair_is_a_bare_set_and_one_script(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_token(w);

    assert_ok(try_once(lock, NULL)); /* the scripts are known from here on */
    assert_ok(leave(lock, NULL));
    hft_reset_calls(w->server);
    assert_ok(try_once(lock, NULL));
    assert_ok(leave(lock, NULL));
    assert_int_equal(hft_calls(w->server, "set"), 1);
    assert_true(hft_wait_calls(w->server, "publish", 1, BOUND_MS));
    if (compares_natively(w)) {
        assert_int_equal(hft_calls(w->server, "evalsha"), 0);
        return;
    }
    assert_int_equal(hft_calls(w->server, "evalsha"), 1);
    assert_int_equal(hft_calls(w->server, "get"), 1);
    assert_int_equal(hft_calls(w->server, "del"), 1);
}

/* spec: token/acquire-2. */
static void it_and_a_foreign_token_exclude_each_other(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_token(w);

    assert_true(foreigner_takes(w, 60000));
    assert_status(HF_BUSY, try_once(lock, NULL));
    assert_status(HF_TIMEOUT, wait_up_to(lock, NULL, 150));
    assert_int_equal(foreigner_releases(w), 1);
    assert_ok(try_once(lock, NULL));
    assert_false(foreigner_takes(w, 60000));
    assert_int_equal(foreigner_releases(w), 0);
    assert_true(hf_lock_is_held(lock, NULL));
    assert_ok(leave(lock, NULL));
    assert_true(foreigner_takes(w, 60000));
    assert_status(HF_BUSY, try_once(lock, NULL));
}

/* spec: token/wait-2: it publishes nothing, so it is asked for. */
static void a_waiter_behind_a_foreigner_has_it_soon_after(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_token(w);
    struct caller caller = {.hold_ms = -1};
    int64_t freed_ms;

    assert_true(foreigner_takes(w, 60000));
    caller_start(&caller, lock, HF_WAIT_FOREVER);
    assert_true(hft_wait_channels(w->server, 1, BOUND_MS));
    assert_int_equal(foreigner_releases(w), 1);
    freed_ms = hfi_clock_ms();
    caller_join(&caller);
    assert_status(HF_OK, caller.status);
    assert_between(caller.ended_ms - freed_ms, 0, 125 + SLACK_MS);
}

/* spec: token/wait-1. */
static void a_waiter_behind_one_of_ours_is_woken(void **world)
{
    struct world *w = *world;
    hf_client *other = a_client(w);
    hf_lock *held = a_token(w);
    hf_lock *wanted = a_token_of(w, other);
    struct caller caller = {.hold_ms = 0};

    assert_ok(try_once(held, NULL));
    caller_start(&caller, wanted, HF_WAIT_FOREVER);
    assert_true(hft_wait_channels(w->server, 1, BOUND_MS));
    assert_int_equal(hft_subscribers(w->server, CHANNEL), 1);
    assert_ok(leave(held, NULL));
    caller_join(&caller);
    assert_status(HF_OK, caller.status);
    assert_status(HF_OK, caller.release_status);
}

/* NR-02, PL-29, PL-50; spec: token/key-3. */
static void its_owner_cannot_take_it_twice(void **world)
{
    hf_lock *lock = a_token(*world);

    assert_ok(try_once(lock, NULL));
    assert_status(HF_ALREADY_HELD, try_once(lock, NULL));
    assert_int_equal(hf_lock_hold_count(lock, NULL), 1);
    assert_ok(leave(lock, NULL));
}

/* spec: token/renew-1. */
static void it_is_renewed_and_extended(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_token(w);

    assert_ok(take(lock, NULL, NULL));
    assert_true(hft_wait_calls(w->server, "pexpire", 2, BOUND_MS));
    assert_true(hf_lock_is_held(lock, NULL));
    assert_ok(hf_lock_extend(lock, NULL, 60000, &problem));
    assert_between(wire_ttl(w, NAME), 59000, 60000);
    assert_ok(leave(lock, NULL));
}

static void who_loses_it_is_told(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_token(w);
    struct told told = {0};
    hf_acquire how = HF_ACQUIRE_INIT;

    how.on_lost = record_lost;
    how.context = &told;
    assert_ok(take(lock, NULL, &how));
    hft_int(w->server, "DEL %s", NAME);
    assert_true(foreigner_takes(w, 60000));
    assert_true(loss_is_told(&told, BOUND_MS));
    assert_int_equal(told_so_far(&told).reason, HF_LOST_TAKEN);
    assert_status(HF_LOST, leave(lock, NULL));
    assert_string_equal(hft_str(w->server, "GET %s", NAME), FOREIGN);
}

/* T42; spec: token/fence-1. */
static void it_can_have_fencing_tokens(void **world)
{
    struct world *w = *world;
    hf_lock_options options = HF_LOCK_OPTIONS_INIT;
    hf_lock *lock;
    int64_t token;

    options.kind = HF_KIND_TOKEN;
    options.fenced = 1;
    assert_ok(hf_lock_new_as(w->client, &options, NAME, strlen(NAME), &lock,
                             &problem));
    keep_lock(w, lock);
    for (int64_t turn = 1; turn <= 3; turn++) {
        assert_ok(try_once(lock, NULL));
        assert_ok(hf_lock_token(lock, NULL, &token, &problem));
        assert_int_equal(token, turn);
        assert_ok(leave(lock, NULL));
    }
}

static void a_holder_of_any_token_is_shown_and_can_be_forced(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_token(w);
    hf_lock_info info = HF_LOCK_INFO_INIT;

    assert_true(foreigner_takes(w, 60000));
    assert_ok(hf_inspect_remote(lock, &info, &problem));
    assert_string_equal(info.owner, FOREIGN);
    assert_int_equal(info.locked, 1);
    assert_status(HF_NOT_OWNER,
                  hf_lock_force_release(lock, "another", &problem));
    assert_ok(hf_lock_force_release(lock, NULL, &problem));
    assert_int_equal(wire_ttl(w, NAME), -2);
    assert_status(HF_NOT_OWNER, hf_lock_force_release(lock, NULL, &problem));
}

static void a_handle_carries_it_on(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_token(w);
    hf_lock *taken;
    hf_owner *owner;
    char *handle;

    assert_ok(try_once(lock, NULL));
    assert_ok(hf_lock_export(lock, NULL, &handle, &problem));
    assert_int_equal(strncmp(handle, "hf1/token/", 10), 0);
    assert_ok(
        hf_lock_import(w->client, handle, NULL, &taken, &owner, &problem));
    assert_true(hf_lock_is_held(taken, owner));
    assert_ok(leave(taken, owner));
    assert_int_equal(wire_ttl(w, NAME), -2);
    hf_handle_free(handle);
    hf_owner_free(owner);
    hf_lock_free(taken);
}

/* spec: token/release-2. */
static void min_hold_keeps_everybody_out(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_token(w);
    hf_acquire how = HF_ACQUIRE_INIT;

    how.min_hold_ms = 400;
    assert_ok(take(lock, NULL, &how));
    assert_ok(leave(lock, NULL));
    assert_between(wire_ttl(w, NAME), 1, 400);
    assert_status(HF_BUSY, try_once(lock, NULL));
    assert_ok(wait_up_to(lock, NULL, 5000));
    assert_ok(leave(lock, NULL));
}

/* spec: token/key-2. */
static void a_lock_of_another_kind_is_of_the_wrong_type(void **world)
{
    struct world *w = *world;
    hf_lock *token = a_token(w);
    hf_lock *plain = a_lock(w, NAME);

    assert_ok(try_once(plain, NULL));
    assert_status(HF_WRONG_TYPE, try_once(token, NULL));
    assert_status(HF_WRONG_TYPE, wait_up_to(token, NULL, 5000));
    assert_ok(leave(plain, NULL));
    assert_ok(try_once(token, NULL));
    assert_status(HF_WRONG_TYPE, try_once(plain, NULL));
    assert_ok(leave(token, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        world_test(on_the_server_it_is_a_string_with_a_ttl),
        world_test(a_pair_is_a_bare_set_and_one_script),
        world_test(it_and_a_foreign_token_exclude_each_other),
        world_test(a_waiter_behind_a_foreigner_has_it_soon_after),
        world_test(a_waiter_behind_one_of_ours_is_woken),
        world_test(its_owner_cannot_take_it_twice),
        world_test(it_is_renewed_and_extended),
        world_test(who_loses_it_is_told),
        world_test(it_can_have_fencing_tokens),
        world_test(a_holder_of_any_token_is_shown_and_can_be_forced),
        world_test(a_handle_carries_it_on),
        world_test(min_hold_keeps_everybody_out),
        world_test(a_lock_of_another_kind_is_of_the_wrong_type),
    };

    return cmocka_run_group_tests_name("lock_token", tests, world_up,
                                       world_down);
}
