/* SPDX-License-Identifier: MIT */
/* test_lock_nonreentrant.c - the lock that its owner cannot take twice.
 *
 * On the wire it is the plain lock, so it excludes plain ones of its name.
 * Rows: NR-01 to NR-03, PL-29, PL-50.
 */
#include "world.h"

#include <string.h>

#include "base/clock.h"

#define NAME "once"

static hf_lock *a_nonreentrant(struct world *w)
{
    hf_lock *lock;

    assert_ok(hf_nonreentrant_lock_new(w->client, NAME, &lock, &problem));
    w->locks[w->lock_count++] = lock;
    return lock;
}

static hf_status try_for(hf_lock *lock, int64_t wait_ms)
{
    hf_acquire how = HF_ACQUIRE_INIT;

    how.wait_ms = wait_ms;
    return hf_lock_acquire(lock, &how, &problem);
}

/* NR-02, PL-29, PL-50. */
static void acquiring_it_again_is_an_error_at_once(void **world)
{
    hf_lock *lock = a_nonreentrant(*world);
    int64_t begun;

    assert_ok(try_for(lock, 0));
    begun = hfi_clock_ms();
    assert_status(HF_ALREADY_HELD, try_for(lock, 0));
    assert_status(HF_ALREADY_HELD, try_for(lock, 5000));
    assert_status(HF_ALREADY_HELD, try_for(lock, HF_WAIT_FOREVER));
    assert_in_range(hfi_clock_ms() - begun, 0, 2000);
    assert_non_null(strstr(problem.message, NAME));
    assert_int_equal(wire_count(*world, NAME), 1);
    assert_int_equal(hf_lock_hold_count(lock, NULL), 1);
    assert_ok(leave(lock, NULL));
    assert_int_equal(wire_ttl(*world, NAME), -2);
    assert_ok(try_for(lock, 0));
    assert_ok(leave(lock, NULL));
}

/* NR-03. */
static void another_lock_object_of_the_name_knows_of_the_hold(void **world)
{
    hf_lock *first = a_nonreentrant(*world);
    hf_lock *second = a_nonreentrant(*world);

    assert_ok(try_for(first, 0));
    assert_true(hf_lock_is_held(second, NULL));
    assert_status(HF_ALREADY_HELD, try_for(second, 1000));
    assert_ok(leave(second, NULL));
    assert_false(hf_lock_is_held(first, NULL));
}

/* NR-01. */
static void another_owner_waits_for_it(void **world)
{
    hf_lock *lock = a_nonreentrant(*world);
    struct caller caller = {.hold_ms = 0};

    assert_ok(try_for(lock, 0));
    caller_start(&caller, lock, HF_WAIT_FOREVER);
    assert_true(waiters_become(((struct world *)*world)->client, 1, BOUND_MS));
    assert_ok(leave(lock, NULL));
    caller_join(&caller);
    assert_status(HF_OK, caller.status);
    assert_status(HF_OK, caller.release_status);
    assert_int_equal(wire_ttl(*world, NAME), -2);
}

static void it_and_the_plain_lock_are_one_object(void **world)
{
    struct world *w = *world;
    hf_lock *once = a_nonreentrant(w);
    hf_lock *plain = a_lock(w, NAME);
    hf_owner *other = an_owner(w);

    assert_ok(try_once(plain, other));
    assert_status(HF_BUSY, try_for(once, 0));
    assert_ok(leave(plain, other));
    assert_ok(try_for(once, 0));
    assert_status(HF_BUSY, try_once(plain, other));
    /* Whoever holds it may go on with the re-entrant one. */
    assert_ok(try_once(plain, NULL));
    assert_int_equal(wire_count(w, NAME), 2);
    assert_ok(leave(plain, NULL));
    assert_ok(leave(once, NULL));
}

static void its_handle_names_the_kind(void **world)
{
    struct world *w = *world;
    hf_lock *once = a_nonreentrant(w);
    hf_lock *taken;
    hf_owner *owner;
    char *handle;

    assert_ok(try_for(once, 0));
    assert_ok(hf_lock_export(once, NULL, &handle, &problem));
    assert_int_equal(strncmp(handle, "hf1/nonreentrant/once/", 22), 0);
    assert_ok(
        hf_lock_import(w->client, handle, NULL, &taken, &owner, &problem));
    assert_ok(leave(taken, owner));
    hf_owner_free(owner);
    hf_lock_free(taken);
    hf_handle_free(handle);
}

static void what_is_no_kind_is_refused(void **world)
{
    struct world *w = *world;
    hf_lock_options options = HF_LOCK_OPTIONS_INIT;
    hf_lock *lock = NULL;

    options.kind = (hf_kind)77;
    assert_status(HF_INVALID, hf_lock_new_as(w->client, &options, NAME, 4,
                                             &lock, &problem));
    assert_non_null(strstr(problem.message, "77"));
    options.kind = (hf_kind)-1;
    assert_status(HF_INVALID, hf_lock_new_as(w->client, &options, NAME, 4,
                                             &lock, &problem));
    options.size = 1;
    assert_status(HF_INVALID, hf_lock_new_as(w->client, &options, NAME, 4,
                                             &lock, &problem));
    assert_null(lock);
    assert_null(hf_kind_word((hf_kind)77));
}

static void words_and_kinds_name_each_other(void **world)
{
    hf_kind kind = (hf_kind)77;

    (void)world;
    assert_true(hf_kind_of_word("nonreentrant", &kind));
    assert_int_equal(kind, HF_KIND_NONREENTRANT);
    assert_string_equal(hf_kind_word(HF_KIND_LOCK), "lock");
    assert_false(hf_kind_of_word("lokc", &kind));
    assert_false(hf_kind_of_word("", &kind));
    assert_false(hf_kind_of_word(NULL, &kind));
    assert_int_equal(kind, HF_KIND_NONREENTRANT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        world_test(acquiring_it_again_is_an_error_at_once),
        world_test(another_lock_object_of_the_name_knows_of_the_hold),
        world_test(another_owner_waits_for_it),
        world_test(it_and_the_plain_lock_are_one_object),
        world_test(its_handle_names_the_kind),
        world_test(what_is_no_kind_is_refused),
        world_test(words_and_kinds_name_each_other),
    };

    return cmocka_run_group_tests_name("lock_nonreentrant", tests, world_up,
                                       world_down);
}
