/* SPDX-License-Identifier: MIT */
/* test_lock_handover.c - a hold that is written out by one client and continued
 * by another: T13.
 */
#include "world.h"

#include <ctype.h>
#include <string.h>

#define NAME "hand over"

/* A second client, and what it has imported. */
struct importer {
    hf_client *client;
    hf_lock *lock;
    hf_owner *owner;
};

static struct importer import_it(struct world *w, const char *handle,
                                 const hf_acquire *how)
{
    struct importer importer = {.client = a_client(w)};

    assert_ok(hf_lock_import(importer.client, handle, how, &importer.lock,
                             &importer.owner, &problem));
    keep_lock(w, importer.lock);
    keep_owner(w, importer.owner);
    return importer;
}

static void an_imported_hold_is_released_by_the_importer(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    struct importer importer;
    char before[64];
    char after[64];
    char *handle = NULL;

    assert_ok(try_fixed(lock, NULL, 60000));
    assert_ok(try_fixed(lock, NULL, 60000));
    assert_ok(hf_lock_owner_text(lock, NULL, before, sizeof(before)));
    assert_ok(hf_lock_export(lock, NULL, &handle, &problem));
    importer = import_it(w, handle, NULL);
    assert_true(hf_lock_is_held(importer.lock, importer.owner));
    assert_int_equal(hf_lock_hold_count(importer.lock, importer.owner), 2);
    assert_ok(hf_lock_owner_text(importer.lock, importer.owner, after,
                                 sizeof(after)));
    assert_string_equal(before, after);
    assert_ok(leave(importer.lock, importer.owner));
    assert_int_equal(wire_count(w, NAME), 1);
    assert_ok(leave(importer.lock, importer.owner));
    assert_int_equal(wire_ttl(w, NAME), -2);
    hf_handle_free(handle);
}

/* One printable word, without a secret and without a deadline. */
static void a_handle_is_one_printable_word(void **world)
{
    hf_lock *lock = a_lock(*world, NAME);
    char *handle = NULL;
    char *again = NULL;
    size_t i;

    assert_ok(try_fixed(lock, NULL, 60000));
    assert_ok(hf_lock_export(lock, NULL, &handle, &problem));
    assert_true(strlen(handle) > 0);
    for (i = 0; i < strlen(handle); i++) {
        assert_true(isgraph((unsigned char)handle[i]));
        assert_true(strchr("'\"`$\\&|;<>", handle[i]) == NULL);
    }
    assert_status(HF_NOT_OWNER, hf_lock_export(lock, NULL, &again, &problem));
    assert_null(again);
    hf_handle_free(handle);
    hf_handle_free(NULL);
}

/* The exporter forgets: it renews no more, and may take it anew as anybody. */
static void the_exporter_forgets_what_it_exported(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    struct told told = {0};
    hf_acquire how = once(NULL, 900);
    char *handle = NULL;
    int64_t renewals;

    how.on_lost = record_lost;
    how.context = &told;
    assert_ok(take(lock, NULL, &how));
    assert_ok(hf_lock_export(lock, NULL, &handle, &problem));
    renewals = stats_of(w->client).renewals_sent;
    assert_false(hf_lock_is_held(lock, NULL));
    assert_int_equal(hf_lock_state_of(lock, NULL, NULL), HF_NOT_HELD);
    assert_status(HF_NOT_OWNER, leave(lock, NULL));
    assert_int_equal(wire_count(w, NAME), 1);
    assert_status(HF_BUSY, try_once(lock, NULL));
    assert_true(wire_free_within(w, NAME, 900 + SLACK_MS)); /* by its lease */
    assert_int_equal(stats_of(w->client).renewals_sent, renewals);
    assert_int_equal(told_so_far(&told).losses, 0);
    assert_ok(try_once(lock, NULL));
    assert_ok(leave(lock, NULL));
    hf_handle_free(handle);
}

/* Closing the exporter leaves it alone too. */
static void closing_the_exporter_leaves_the_hold(void **world)
{
    struct world *w = *world;
    hf_client *client = a_client(w);
    hf_lock *lock = a_lock_of(w, client, NAME);
    struct importer importer;
    char *handle = NULL;

    assert_ok(try_fixed(lock, NULL, 60000));
    assert_ok(hf_lock_export(lock, NULL, &handle, &problem));
    w->more_client_count--;
    assert_ok(hf_client_close(client));
    assert_int_equal(wire_count(w, NAME), 1);
    importer = import_it(w, handle, NULL);
    assert_ok(leave(importer.lock, importer.owner));
    assert_int_equal(wire_ttl(w, NAME), -2);
    hf_handle_free(handle);
}

/* The importer starts a lease anew, and may prolong and renew it. */
static void an_imported_hold_has_a_lease_of_its_own(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    struct importer importer;
    hf_acquire how = HF_ACQUIRE_INIT;
    char *handle = NULL;

    assert_ok(try_fixed(lock, NULL, 900));
    hft_let_pass_ms(300);
    assert_ok(hf_lock_export(lock, NULL, &handle, &problem));
    how.lease_ms = 800;
    importer = import_it(w, handle, &how); /* renewed */
    hft_let_pass_ms(2000);
    assert_true(hf_lock_is_held(importer.lock, importer.owner));
    assert_ok(hf_lock_extend(importer.lock, importer.owner, 60000, &problem));
    assert_between(wire_ttl(w, NAME), 60000 - SLACK_MS, 60000);
    assert_ok(leave(importer.lock, importer.owner));
    hf_handle_free(handle);
}

static void an_import_without_options_is_a_fixed_lease_of_the_handle(
    void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    struct importer importer;
    char *handle = NULL;

    assert_ok(try_fixed(lock, NULL, 700));
    hft_let_pass_ms(300);
    assert_ok(hf_lock_export(lock, NULL, &handle, &problem));
    importer = import_it(w, handle, NULL);
    assert_between(wire_ttl(w, NAME), 700 - SLACK_MS, 700);
    assert_between(hf_lock_remaining_ms(importer.lock, importer.owner),
                   700 - SLACK_MS, 700);
    assert_true(state_becomes(importer.lock, importer.owner, HF_STATE_LOST,
                              700 + SLACK_MS));
    assert_int_equal(stats_of(importer.client).renewals_sent, 0);
    assert_status(HF_LOST, leave(importer.lock, importer.owner));
    hf_handle_free(handle);
}

/* A loss is told to the importer. */
static void a_loss_is_told_to_the_importer(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    struct told told = {0};
    struct importer importer;
    hf_acquire how = HF_ACQUIRE_INIT;
    char *handle = NULL;

    how.lease_ms = 900;
    how.on_lost = record_lost;
    how.context = &told;
    assert_ok(try_fixed(lock, NULL, 60000));
    assert_ok(hf_lock_export(lock, NULL, &handle, &problem));
    importer = import_it(w, handle, &how);
    stranger_takes(w, NAME, 60000);
    assert_true(loss_is_told(&told, 900));
    assert_int_equal(told_so_far(&told).reason, HF_LOST_TAKEN);
    assert_status(HF_LOST, leave(importer.lock, importer.owner));
    assert_string_equal(wire_owner(w, NAME), STRANGER);
    hf_handle_free(handle);
}

/* Back again into the client it came from. */
static void a_hold_may_come_back_to_the_client_it_came_from(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    hf_lock *same = NULL;
    hf_owner *owner = NULL;
    char *handle = NULL;

    assert_ok(try_fixed(lock, NULL, 60000));
    assert_ok(hf_lock_export(lock, NULL, &handle, &problem));
    assert_ok(hf_lock_import(w->client, handle, NULL, &same, &owner, &problem));
    assert_true(hf_lock_is_held(same, owner));
    assert_false(hf_lock_is_held(lock, NULL));
    assert_ok(leave(same, owner));
    assert_int_equal(wire_ttl(w, NAME), -2);
    keep_lock(w, same);
    keep_owner(w, owner);
    hf_handle_free(handle);
}

static void what_has_ended_meanwhile_is_gone(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    hf_lock *same = NULL;
    hf_owner *owner = NULL;
    char *handle = NULL;

    assert_ok(try_fixed(lock, NULL, 60000));
    assert_ok(hf_lock_export(lock, NULL, &handle, &problem));
    stranger_takes(w, NAME, 60000);
    assert_status(HF_GONE, hf_lock_import(w->client, handle, NULL, &same,
                                          &owner, &problem));
    assert_non_null(strstr(problem.message, NAME));
    assert_string_equal(wire_owner(w, NAME), STRANGER);
    stranger_vanishes(w, NAME);
    assert_status(HF_GONE, hf_lock_import(w->client, handle, NULL, &same,
                                          &owner, &problem));
    assert_int_equal(wire_ttl(w, NAME), -2);
    assert_null(same);
    assert_null(owner);
    hf_handle_free(handle);
}

/* Whatever is no handle is refused, and nothing is sent for it. */
static void what_is_no_handle_is_refused(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    hf_lock *same = NULL;
    hf_owner *owner = NULL;
    char *handle = NULL;
    int64_t sent;
    size_t length;
    size_t cut;

    static const char *const nonsense[] = {
        "",
        " ",
        "x",
        "hf1",
        ":::::::::",
        "hf1:lock:",
        "\xff\xfe",
        "hf999:lock:6e616d65:00000000-0000-0000-0000-000000000000:1:1:1000"};

    assert_ok(try_fixed(lock, NULL, 60000));
    assert_ok(hf_lock_export(lock, NULL, &handle, &problem));
    length = strlen(handle);
    sent = stats_of(w->client).scripts_sent;
    for (cut = 0; cut < sizeof(nonsense) / sizeof(nonsense[0]); cut++) {
        assert_status(HF_INVALID, hf_lock_import(w->client, nonsense[cut], NULL,
                                                 &same, &owner, &problem));
    }
    assert_int_equal(stats_of(w->client).scripts_sent, sent);
    for (cut = 0; cut < length; cut++) { /* cut off anywhere: no other's */
        char kept = handle[cut];
        hf_status status;

        handle[cut] = '\0';
        status = hf_lock_import(w->client, handle, NULL, &same, &owner,
                                &problem);
        if (status != HF_OK) {
            assert_true(status == HF_INVALID || status == HF_GONE);
        } else {
            keep_lock(w, same);
            keep_owner(w, owner);
        }
        handle[cut] = kept;
    }
    assert_int_equal(wire_fields(w, NAME), 1);
    hf_handle_free(handle);
}

static void exporting_what_is_not_held_is_refused(void **world)
{
    hf_lock *lock = a_lock(*world, NAME);
    char *handle = NULL;

    assert_status(HF_NOT_OWNER, hf_lock_export(lock, NULL, &handle, &problem));
    assert_ok(try_fixed(lock, NULL, 200));
    assert_true(state_becomes(lock, NULL, HF_STATE_LOST, BOUND_MS));
    assert_status(HF_LOST, hf_lock_export(lock, NULL, &handle, &problem));
    assert_null(handle);
    assert_status(HF_LOST, leave(lock, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        world_test(an_imported_hold_is_released_by_the_importer),
        world_test(a_handle_is_one_printable_word),
        world_test(the_exporter_forgets_what_it_exported),
        world_test(closing_the_exporter_leaves_the_hold),
        world_test(an_imported_hold_has_a_lease_of_its_own),
        world_test(an_import_without_options_is_a_fixed_lease_of_the_handle),
        world_test(a_loss_is_told_to_the_importer),
        world_test(a_hold_may_come_back_to_the_client_it_came_from),
        world_test(what_has_ended_meanwhile_is_gone),
        world_test(what_is_no_handle_is_refused),
        world_test(exporting_what_is_not_held_is_refused),
    };

    return cmocka_run_group_tests_name("lock_handover", tests, world_up,
                                       world_down);
}
