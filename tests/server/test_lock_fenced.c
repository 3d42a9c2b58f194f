/* SPDX-License-Identifier: MIT */
/* test_lock_fenced.c - fencing tokens: they only grow, with every kind.
 *
 * Rows: FN-01 to FN-03, T42, T43.
 */
#include "world.h"

#include <string.h>

#define NAME "orders:42"
#define TOKEN_KEY "redisson_lock_token:{orders:42}"

static hf_lock_options fenced_options(hf_kind kind)
{
    hf_lock_options options = HF_LOCK_OPTIONS_INIT;

    options.kind = kind;
    options.fenced = 1;
    return options;
}

static hf_lock *a_lock_as(struct world *w, const hf_lock_options *options)
{
    hf_lock *lock;

    assert_ok(hf_lock_new_as(w->client, options, NAME, strlen(NAME), &lock,
                             &problem));
    keep_lock(w, lock);
    return lock;
}

static hf_lock *a_fenced(struct world *w)
{
    hf_lock *lock;

    assert_ok(hf_fenced_lock_new(w->client, NAME, &lock, &problem));
    keep_lock(w, lock);
    return lock;
}

static int64_t token_of(hf_lock *lock, hf_owner *owner)
{
    int64_t token = -1;

    assert_ok(hf_lock_token(lock, owner, &token, &problem));
    return token;
}

static int64_t token_on_server(struct world *w)
{
    int64_t token = hft_int(w->server, "GET %s", TOKEN_KEY);

    return token == HFT_NIL ? 0 : token;
}

/* One outermost hold, taken and given up: its token. */
static int64_t token_of_a_turn(hf_lock *lock)
{
    int64_t token;

    assert_ok(try_once(lock, NULL));
    token = token_of(lock, NULL);
    assert_ok(leave(lock, NULL));
    return token;
}

/* FN-01; spec: fenced/token-1, fenced/token-2, fenced/life-1. */
static void tokens_count_from_one_and_stay_when_the_lock_is_free(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_fenced(w);

    assert_int_equal(token_of_a_turn(lock), 1);
    assert_int_equal(token_on_server(w), 1);
    assert_int_equal(token_of_a_turn(lock), 2);
    assert_int_equal(wire_ttl(w, TOKEN_KEY), -1);
    assert_int_equal(wire_ttl(w, NAME), -2);
}

/* T42; spec: fenced/enter-1. */
static void a_reentry_keeps_the_token(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_fenced(w);

    assert_ok(try_once(lock, NULL));
    assert_int_equal(token_of(lock, NULL), 1);
    assert_ok(try_once(lock, NULL));
    assert_int_equal(token_of(lock, NULL), 1);
    assert_int_equal(token_on_server(w), 1);
    assert_ok(leave(lock, NULL));
    assert_int_equal(token_of(lock, NULL), 1);
    assert_ok(leave(lock, NULL));
}

/* FN-02; spec: fenced/enter-2. */
static void each_reentry_counts_if_it_is_asked_for(void **world)
{
    struct world *w = *world;
    hf_lock_options options = fenced_options(HF_KIND_LOCK);
    hf_lock *lock;

    options.token_each_entry = 1;
    lock = a_lock_as(w, &options);
    assert_ok(try_once(lock, NULL));
    assert_ok(try_once(lock, NULL));
    assert_int_equal(token_of(lock, NULL), 2);
    assert_int_equal(token_on_server(w), 2);
    assert_int_equal(wire_count(w, NAME), 2);
    assert_ok(leave(lock, NULL));
    assert_ok(leave(lock, NULL));
}

/* FN-02; spec: fenced/acquire-2. */
static void a_refused_attempt_takes_no_token(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_fenced(w);
    int64_t token;

    stranger_takes(w, NAME, 60000);
    assert_status(HF_BUSY, try_once(lock, NULL));
    assert_status(HF_TIMEOUT, wait_up_to(lock, NULL, 50));
    assert_int_equal(token_on_server(w), 0);
    assert_status(HF_NOT_OWNER, hf_lock_token(lock, NULL, &token, &problem));
    stranger_releases(w, NAME);
    assert_int_equal(token_of_a_turn(lock), 1);
}

/* FN-02, T43: neither a forced release nor the end of a lease sets it back. */
static void it_grows_over_forced_releases_and_lost_leases(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_fenced(w);
    int64_t token = 0;

    assert_ok(try_once(lock, NULL));
    assert_ok(hf_lock_force_release(lock, NULL, &problem));
    assert_true(state_becomes(lock, NULL, HF_STATE_LOST, BOUND_MS));
    assert_status(HF_LOST, hf_lock_token(lock, NULL, &token, &problem));
    assert_status(HF_LOST, leave(lock, NULL));
    assert_ok(try_fixed(lock, NULL, 50));
    assert_int_equal(token_of(lock, NULL), 2);
    assert_true(state_becomes(lock, NULL, HF_STATE_LOST, BOUND_MS));
    assert_status(HF_LOST, leave(lock, NULL));
    assert_true(wire_free_within(w, NAME, BOUND_MS));
    assert_int_equal(token_of_a_turn(lock), 3);
}

/* T43; spec: fenced/life-2: the key was deleted, and yet it grows. */
static void begun_at_the_time_it_grows_over_its_own_deletion(void **world)
{
    struct world *w = *world;
    hf_lock_options options = fenced_options(HF_KIND_FENCED);
    int64_t first, second;
    hf_lock *lock;

    options.token_from_time = 1;
    options.token_ttl_ms = 3600000;
    lock = a_lock_as(w, &options);
    first = token_of_a_turn(lock);
    assert_true(first > INT64_C(1600000000000000)); /* us since 1970 */
    assert_int_equal(token_of_a_turn(lock), first + 1);
    assert_between(wire_ttl(w, TOKEN_KEY), 3500000, 3600000);
    hft_int(w->server, "DEL %s", TOKEN_KEY);
    second = token_of_a_turn(lock);
    assert_true(second > first + 1);
}

/* spec: fenced/life-3: the key's life ended, and the hold's did not. */
static void a_reentry_after_the_end_of_the_key_takes_a_larger_one(void **world)
{
    struct world *w = *world;
    hf_lock_options options = fenced_options(HF_KIND_FENCED);
    int64_t first;
    hf_lock *lock;

    options.token_from_time = 1;
    options.token_each_entry = 1;
    options.token_ttl_ms = 3600000;
    lock = a_lock_as(w, &options);
    assert_ok(try_once(lock, NULL));
    first = token_of(lock, NULL);
    hft_int(w->server, "DEL %s", TOKEN_KEY);
    assert_ok(try_once(lock, NULL));
    assert_true(token_of(lock, NULL) > first);
    assert_between(wire_ttl(w, TOKEN_KEY), 3500000, 3600000);
    assert_ok(leave(lock, NULL));
    assert_ok(leave(lock, NULL));
}

/* T42: every exclusive kind. */
static void every_kind_can_be_fenced_and_they_share_the_counter(void **world)
{
    static const hf_kind kinds[] = {HF_KIND_LOCK, HF_KIND_SPIN,
                                    HF_KIND_NONREENTRANT, HF_KIND_FENCED,
                                    HF_KIND_WRITE};
    struct world *w = *world;

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        hf_lock_options options = fenced_options(kinds[i]);

        assert_int_equal(token_of_a_turn(a_lock_as(w, &options)), i + 1);
    }
}

static void a_lock_that_is_not_fenced_has_no_token(void **world)
{
    struct world *w = *world;
    hf_lock *plain = a_lock(w, NAME);
    hf_lock *fenced = a_fenced(w);
    int64_t token;

    assert_ok(try_once(plain, NULL));
    assert_status(HF_INVALID, hf_lock_token(plain, NULL, &token, &problem));
    assert_status(HF_INVALID, hf_lock_token(fenced, NULL, &token, &problem));
    assert_status(HF_INVALID, hf_lock_token(NULL, NULL, &token, &problem));
    assert_status(HF_INVALID, hf_lock_token(fenced, NULL, NULL, &problem));
    assert_ok(leave(plain, NULL));
}

/* spec: fenced/acquire-3: something else stands where the token should. */
static void a_token_key_of_another_type_means_that_nothing_is_held(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_fenced(w);

    hft_int(w->server, "LPUSH %s x", TOKEN_KEY);
    assert_status(HF_WRONG_TYPE, try_once(lock, NULL));
    assert_int_equal(wire_ttl(w, NAME), -2);
}

/* spec: fenced/adopt-1. */
static void an_imported_hold_has_the_token_it_had(void **world)
{
    static const hf_kind kinds[] = {HF_KIND_FENCED, HF_KIND_NONREENTRANT,
                                    HF_KIND_WRITE};
    struct world *w = *world;

    for (size_t i = 0; i < 3; i++) {
        hf_lock_options options = fenced_options(kinds[i]);
        hf_lock *lock = a_lock_as(w, &options);
        hf_lock *taken;
        hf_owner *owner;
        char *handle;
        int64_t token;

        assert_ok(try_once(lock, NULL));
        token = token_of(lock, NULL);
        assert_ok(hf_lock_export(lock, NULL, &handle, &problem));
        assert_ok(
            hf_lock_import(w->client, handle, NULL, &taken, &owner, &problem));
        assert_int_equal(token_of(taken, owner), token);
        assert_ok(leave(taken, owner));
        hf_handle_free(handle);
        hf_owner_free(owner);
        hf_lock_free(taken);
    }
}

static void it_is_shown(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_fenced(w);
    hf_lock_info info = HF_LOCK_INFO_INIT;

    assert_int_equal(token_of_a_turn(lock), 1);
    assert_ok(hf_inspect_remote(lock, &info, &problem));
    assert_int_equal(info.token, 1);
    assert_int_equal(info.locked, 0);
    assert_ok(hf_inspect_remote(a_lock(w, NAME), &info, &problem));
    assert_int_equal(info.token, 0);
}

static void options_that_make_no_sense_are_refused(void **world)
{
    struct world *w = *world;
    hf_lock_options options;
    hf_lock *lock = NULL;

#define REFUSED(kind_, field, value)                                           \
    do {                                                                       \
        options = fenced_options(kind_);                                       \
        options.field = (value);                                               \
        assert_status(HF_INVALID, hf_lock_new_as(w->client, &options, NAME, 4, \
                                                 &lock, &problem));            \
    } while (0)
    REFUSED(HF_KIND_LOCK, token_ttl_ms, -1);
    REFUSED(HF_KIND_LOCK, token_ttl_ms, 1000); /* without token_from_time */
    REFUSED(HF_KIND_SPIN, backoff_first_ms, -1);
    REFUSED(HF_KIND_SPIN, backoff_max_ms, 4000000);
    REFUSED(HF_KIND_SPIN, backoff, (hf_backoff)9);
#undef REFUSED
    options = (hf_lock_options)HF_LOCK_OPTIONS_INIT;
    options.token_from_time = 1;
    assert_status(HF_INVALID, hf_lock_new_as(w->client, &options, NAME, 4,
                                             &lock, &problem));
    assert_null(lock);
}

/* ---- many at once ---- */

#define THREADS 8
#define TURNS 40

struct race {
    hf_lock *lock;
    int64_t newest; /* guarded by the lock */
    int turns;
    bool went_back;
};

static void *take_turns(void *context)
{
    struct race *race = context;

    for (int i = 0; i < TURNS; i++) {
        int64_t token;

        if (wait_up_to(race->lock, NULL, 30000) != HF_OK ||
            hf_lock_token(race->lock, NULL, &token, NULL) != HF_OK) {
            return NULL;
        }
        race->went_back |= token <= race->newest;
        race->newest = token;
        race->turns++;
        leave(race->lock, NULL);
    }
    return NULL;
}

/* FN-03. */
static void from_holder_to_holder_it_strictly_increases(void **world)
{
    struct world *w = *world;
    struct race race = {.lock = a_fenced(w)};
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, take_turns, &race),
                         0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    assert_int_equal(race.turns, THREADS * TURNS);
    assert_false(race.went_back);
    assert_int_equal(race.newest, THREADS * TURNS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        world_test(tokens_count_from_one_and_stay_when_the_lock_is_free),
        world_test(a_reentry_keeps_the_token),
        world_test(each_reentry_counts_if_it_is_asked_for),
        world_test(a_refused_attempt_takes_no_token),
        world_test(it_grows_over_forced_releases_and_lost_leases),
        world_test(begun_at_the_time_it_grows_over_its_own_deletion),
        world_test(a_reentry_after_the_end_of_the_key_takes_a_larger_one),
        world_test(every_kind_can_be_fenced_and_they_share_the_counter),
        world_test(a_lock_that_is_not_fenced_has_no_token),
        world_test(a_token_key_of_another_type_means_that_nothing_is_held),
        world_test(an_imported_hold_has_the_token_it_had),
        world_test(it_is_shown),
        world_test(options_that_make_no_sense_are_refused),
        world_test(from_holder_to_holder_it_strictly_increases),
    };

    return cmocka_run_group_tests_name("lock_fenced", tests, world_up,
                                       world_down);
}
