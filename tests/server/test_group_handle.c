/* SPDX-License-Identifier: MIT */
/* test_group_handle.c - a group that is written out by one client, or several,
 * and continued by others: T13, RL-28.
 */
#include "fleet.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME "red"
#define SOMEBODY "00000000-0000-0000-0000-000000000000:1"

static int servers_up(void **world)
{
    return fleet_up(world, 3);
}

static hf_status take_fixed(hf_group *group, hf_owner *owner, int64_t lease_ms)
{
    hf_acquire how = once(owner, lease_ms);

    how.renew = 0;
    return hf_group_acquire(group, &how, NULL, &problem);
}

static char *exported(hf_group *group, hf_owner *owner)
{
    char *handle = NULL;

    assert_ok(hf_group_export(group, owner, &handle, &problem));
    return handle;
}

/* What was imported, to be freed at the end of the test. */
struct imported {
    hf_group *group;
    hf_owner *owner;
};

static struct imported import_by(struct world *w, hf_client *const *clients,
                                 size_t count, const char *handle,
                                 const hf_acquire *how)
{
    struct imported imported = {NULL, NULL};

    assert_ok(hf_group_import(clients, count, handle, how, &imported.group,
                              &imported.owner, &problem));
    keep_group(imported.group);
    keep_owner(w, imported.owner);
    return imported;
}

static struct imported import_names(struct world *w, const char *handle,
                                    const hf_acquire *how)
{
    hf_client *client = a_client(w);

    return import_by(w, &client, 1, handle, how);
}

static void import_fails(hf_status expected, hf_client *const *clients,
                         size_t count, const char *handle)
{
    hf_group *group = NULL;
    hf_owner *owner = NULL;

    assert_status(expected, hf_group_import(clients, count, handle, NULL,
                                            &group, &owner, &problem));
    assert_null(group);
    assert_null(owner);
}

/* Fresh clients of the servers of the fleet, in another order than its own. */
static void more_clients(struct world *w, hf_client **ret_clients)
{
    for (size_t i = 0; i < fleet.count; i++) {
        hf_options options = short_options();

        ret_clients[fleet.count - 1 - i] = a_client_at(
            w, hf_client_server(fleet.clients[i]), &options);
    }
}

/* ---- multi locks ---- */

static void a_multi_lock_is_continued_by_another_client(void **world)
{
    struct world *w = *world;
    hf_group *group = a_group(w, w->client, "a", "b c", "d", NULL);
    char before[64], after[64];
    struct imported taken;
    char *handle;

    assert_ok(take_fixed(group, NULL, 60000));
    assert_ok(hf_group_owner_text(group, NULL, 1, before, sizeof(before)));
    handle = exported(group, NULL);
    assert_false(hf_group_is_held(group, NULL));
    assert_status(HF_NOT_OWNER, group_leave(group, NULL));
    assert_int_equal(wire_count(w, "b c"), 1);
    taken = import_names(w, handle, NULL);
    assert_true(hf_group_is_held(taken.group, taken.owner));
    assert_int_equal(hf_group_count(taken.group), 3);
    assert_ok(
        hf_group_owner_text(taken.group, taken.owner, 1, after, sizeof(after)));
    assert_string_equal(before, after);
    assert_between(hf_group_remaining_ms(taken.group, taken.owner), 50000,
                   60000);
    assert_status(HF_BUSY, group_try(group, NULL));
    assert_ok(group_leave(taken.group, taken.owner));
    assert_ok(group_try(group, NULL));
    assert_ok(group_leave(group, NULL));
    import_fails(HF_GONE, &w->client, 1, handle);
    hf_handle_free(handle);
}

static void a_handle_is_one_word_and_known_for_a_groups(void **world)
{
    struct world *w = *world;
    hf_group *group = a_group(w, w->client, "a,@/", "b", NULL);
    char *handle;

    assert_ok(take_fixed(group, NULL, 60000));
    handle = exported(group, NULL);
    for (size_t i = 0; i < strlen(handle); i++) {
        assert_true(isgraph((unsigned char)handle[i]));
        assert_null(strchr("'\"`$\\&|;<>", handle[i]));
    }
    assert_true(hf_handle_is_of_group(handle));
    assert_false(hf_handle_is_of_group("hf1/lock/n/" SOMEBODY "/1/1000ms"));
    assert_false(hf_handle_is_of_group(NULL));
    {
        hf_lock *lock = NULL;
        hf_owner *owner = NULL;

        assert_status(HF_INVALID, hf_lock_import(w->client, handle, NULL, &lock,
                                                 &owner, &problem));
    }
    {
        struct imported taken = import_names(w, handle, NULL);

        assert_status(HF_NOT_OWNER, group_leave(taken.group, NULL));
        assert_ok(group_leave(taken.group, taken.owner));
    }
    hf_handle_free(handle);
}

/* Renewed if he wishes, and he is told of its loss. */
static void an_importer_has_terms_of_his_own(void **world)
{
    struct world *w = *world;
    hf_group *group = a_group(w, w->client, "a", "b", NULL);
    struct told told = {0};
    hf_acquire how = HF_ACQUIRE_INIT;
    struct imported taken;
    char *handle;

    assert_ok(take_fixed(group, NULL, 60000));
    handle = exported(group, NULL);
    how.lease_ms = W_MS;
    how.on_lost = record_lost;
    how.context = &told;
    taken = import_names(w, handle, &how);
    hft_let_pass_ms(3 * W_MS);
    assert_true(hf_group_is_held(taken.group, taken.owner));
    assert_int_equal(told_so_far(&told).losses, 0);
    (void)hft_int(w->server, "DEL b");
    assert_true(loss_is_told(&told, BOUND_MS));
    assert_false(hf_group_is_held(taken.group, taken.owner));
    (void)group_leave(taken.group, taken.owner);
    hf_handle_free(handle);
}

/* However often it was entered; and what was taken besides goes along. */
static void what_was_entered_twice_is_handed_on_once(void **world)
{
    struct world *w = *world;
    hf_group *group = a_group(w, w->client, "a", "b", NULL);
    hf_lock *alone = a_lock(w, "a");
    struct imported taken;
    char *handle;

    assert_ok(take_fixed(group, NULL, 60000));
    assert_ok(take_fixed(group, NULL, 60000));
    assert_ok(try_fixed(alone, NULL, 60000));
    assert_int_equal(wire_count(w, "a"), 3);
    handle = exported(group, NULL);
    assert_int_equal(hf_group_hold_count(group, NULL), 0);
    assert_false(hf_lock_is_held(alone, NULL));
    taken = import_names(w, handle, NULL);
    assert_int_equal(hf_group_hold_count(taken.group, taken.owner), 1);
    assert_int_equal(wire_count(w, "a"), 1);
    assert_ok(group_leave(taken.group, taken.owner));
    assert_int_equal(hft_int(w->server, "EXISTS a b"), 0);
    hf_handle_free(handle);
}

/* A group that is lost is given up altogether. */
static void one_member_gone_releases_the_others(void **world)
{
    struct world *w = *world;
    hf_group *group = a_group(w, w->client, "a", "b", "c", NULL);
    char *handle;

    assert_ok(take_fixed(group, NULL, 60000));
    handle = exported(group, NULL);
    stranger_vanishes(w, "b");
    stranger_takes(w, "b", 60000);
    import_fails(HF_GONE, &w->client, 1, handle);
    assert_true(wire_free_within(w, "a", BOUND_MS));
    assert_true(wire_free_within(w, "c", BOUND_MS));
    assert_string_equal(wire_owner(w, "b"), STRANGER);
    stranger_vanishes(w, "b");
    hf_handle_free(handle);
}

static void what_is_not_held_is_not_written_out(void **world)
{
    struct world *w = *world;
    hf_group *group = a_group(w, w->client, "a", "b", NULL);
    char *handle = NULL;

    assert_status(HF_NOT_OWNER,
                  hf_group_export(group, NULL, &handle, &problem));
    assert_ok(take_fixed(group, NULL, 60000));
    (void)hft_int(w->server, "DEL b");
    /* To enter it again finds the loss. */
    assert_int_not_equal(take_fixed(group, NULL, 60000), HF_OK);
    assert_status(HF_LOST, hf_group_export(group, NULL, &handle, &problem));
    assert_null(handle);
    (void)group_leave(group, NULL);
    assert_true(wire_free_within(w, "a", BOUND_MS));
    assert_status(HF_INVALID, hf_group_export(NULL, NULL, &handle, &problem));
    assert_status(HF_INVALID, hf_group_export(group, NULL, NULL, &problem));
}

/* ---- several servers ---- */

static void members_of_several_servers_find_their_clients(void **world)
{
    struct world *w = *world;
    hf_group *group = a_group_of_fleet(w, NAME);
    hf_client *clients[FLEET_MAX];
    struct imported taken;
    char *handle;

    assert_ok(take_fixed(group, NULL, 60000));
    handle = exported(group, NULL);
    more_clients(w, clients);
    import_fails(HF_INVALID, clients, fleet.count - 1, handle);
    assert_int_equal(fleet_held(NAME), 3);
    taken = import_by(w, clients, fleet.count, handle, NULL);
    assert_ok(group_leave(taken.group, taken.owner));
    assert_int_equal(fleet_held(NAME), 0);
    hf_handle_free(handle);
}

/* A server that is away: the handle is as good as before. */
static void an_import_that_fails_changes_nothing(void **world)
{
    struct world *w = *world;
    hf_group *group = a_group_of_fleet(w, NAME);
    hf_client *clients[FLEET_MAX];
    struct imported taken;
    char *handle;

    assert_ok(take_fixed(group, NULL, 60000));
    handle = exported(group, NULL);
    more_clients(w, clients);
    hft_server_pause(fleet.servers[1]);
    import_fails(HF_UNKNOWN, clients, fleet.count, handle);
    hft_server_resume(fleet.servers[1]);
    assert_int_equal(fleet_held(NAME), 3);
    taken = import_by(w, clients, fleet.count, handle, NULL);
    assert_ok(group_leave(taken.group, taken.owner));
    assert_int_equal(fleet_held(NAME), 0);
    hf_handle_free(handle);
}

static void a_red_lock_is_continued_by_a_quorum(void **world)
{
    struct world *w = *world;
    hf_group *red = a_red_lock(w, NAME, NULL);
    hf_client *clients[FLEET_MAX];
    struct imported taken;
    char *handle;

    assert_ok(take_fixed(red, NULL, 60000));
    handle = exported(red, NULL);
    assert_int_equal(fleet_held(NAME), 3); /* it waited for the third */
    more_clients(w, clients);
    import_fails(HF_UNREACHABLE, clients, 1, handle);
    taken = import_by(w, clients, 2, handle, NULL); /* one is absent */
    assert_true(hf_group_is_held(taken.group, taken.owner));
    assert_status(HF_BUSY, group_try(red, NULL));
    assert_ok(group_leave(taken.group, taken.owner));
    assert_int_equal(fleet_held(NAME), 1);
    (void)hft_int(fleet.servers[0], "DEL " NAME);
    hf_handle_free(handle);
}

/* Written out with two of three; the third is never touched. */
static void a_member_that_is_not_held_stays_so(void **world)
{
    struct world *w = *world;
    hf_group *red = a_red_lock(w, NAME, NULL);
    struct imported taken;
    char *handle;

    fleet_stranger(2, NAME, 60000);
    assert_ok(take_fixed(red, NULL, 60000));
    handle = exported(red, NULL);
    assert_non_null(strstr(handle, "/-:0/0/"));
    taken = import_by(w, fleet.clients, fleet.count, handle, NULL);
    assert_ok(hf_group_extend(taken.group, taken.owner, 90000, NULL, &problem));
    assert_ok(group_leave(taken.group, taken.owner));
    assert_int_equal(fleet_held(NAME), 1);
    fleet_stranger_leaves(2, NAME);
    hf_handle_free(handle);
}

static void a_red_lock_without_its_quorum_is_gone(void **world)
{
    struct world *w = *world;
    hf_group *red = a_red_lock(w, NAME, NULL);
    char *handle;

    assert_ok(take_fixed(red, NULL, 60000));
    handle = exported(red, NULL);
    (void)hft_int(fleet.servers[0], "DEL " NAME);
    (void)hft_int(fleet.servers[1], "DEL " NAME);
    import_fails(HF_GONE, fleet.clients, fleet.count, handle);
    assert_true(fleet_held_becomes(NAME, 0, BOUND_MS));
    hf_handle_free(handle);
}

/* It does not keep the import, and joins when it answers. */
static void a_server_that_stalls_joins_later(void **world)
{
    struct world *w = *world;
    hf_group *red = a_red_lock(w, NAME, NULL);
    hf_client *clients[FLEET_MAX];
    struct imported taken;
    char *handle;

    assert_ok(take_fixed(red, NULL, 60000));
    handle = exported(red, NULL);
    more_clients(w, clients);
    hft_server_pause(fleet.servers[1]);
    taken = import_by(w, clients, fleet.count, handle, NULL);
    hft_server_resume(fleet.servers[1]);
    assert_true(hf_group_is_held(taken.group, taken.owner));
    hft_let_pass_ms(100);
    assert_ok(group_leave(taken.group, taken.owner));
    (void)hft_int(fleet.servers[1], "DEL " NAME);
    assert_true(fleet_held_becomes(NAME, 0, BOUND_MS));
    hf_handle_free(handle);
}

/* ---- what is none ---- */

static void what_is_no_handle_of_a_group_is_refused(void **world)
{
#define ONE "hf1/lock/n/" SOMEBODY "/1/1000ms"
    static const char *const nonsense[] = {
        "", "hf1", ONE, "hfg1/", "hfg1/multi/", "hfg1/multi/0/0/@" ONE,
        "hfg1/both/1/0/@" ONE, "hfg1/multi/1/0/" ONE, "hfg1/multi/2/0/@" ONE,
        "hfg1/multi/1/0/@" ONE ",@" ONE, "hfg1/multi/1/0/@" ONE ",",
        "hfg1/multi/1/1/@" ONE, "hfg1/multi/1/0/a b@" ONE,
        "hfg1/multi/1/0/%00@" ONE, "hfg1/multi/x/0/@" ONE,
        "hfg1/multi/99999999999999999999/0/@" ONE, "hfg1/red/1/1025/@" ONE,
        /* Not held, and yet somebody's; held, and nobody's. */
        "hfg1/red/1/0/@hf1/lock/n/" SOMEBODY "/0/1000ms",
        "hfg1/red/1/0/@hf1/lock/n/-:0/1/1000ms",
        "hfg1/multi/1/0/@hf1/lock/n/-:0/0/1000ms"};
    struct world *w = *world;
    hf_group *group = a_group(w, w->client, "a", "b", NULL);
    hf_acquire how = HF_ACQUIRE_INIT;
    hf_client *none = NULL;
    char *handle;
    size_t length;

    for (size_t i = 0; i < sizeof(nonsense) / sizeof(nonsense[0]); i++) {
        import_fails(HF_INVALID, &w->client, 1, nonsense[i]);
    }
    import_fails(HF_INVALID, &w->client, 1, NULL);
    import_fails(HF_GONE, &w->client, 1, "hfg1/multi/1/0/@" ONE);
    assert_ok(take_fixed(group, NULL, 60000));
    handle = exported(group, NULL);
    import_fails(HF_INVALID, &w->client, 0, handle);
    import_fails(HF_INVALID, NULL, 1, handle);
    import_fails(HF_INVALID, &none, 1, handle);
    how.size = 3;
    assert_status(HF_INVALID,
                  hf_group_import(&w->client, 1, handle, &how, &group,
                                  &(hf_owner *){NULL}, &problem));
    assert_status(HF_INVALID, hf_group_import(&w->client, 1, handle, NULL, NULL,
                                              &(hf_owner *){NULL}, &problem));
    length = strlen(handle);
    for (size_t cut = 0; cut < length; cut++) { /* anywhere: no other's */
        char kept = handle[cut];

        handle[cut] = '\0';
        import_fails(HF_INVALID, &w->client, 1, handle);
        handle[cut] = kept;
    }
    assert_int_equal(hft_int(w->server, "EXISTS a b"), 2);
    {
        struct imported taken = import_names(w, handle, NULL);

        assert_ok(group_leave(taken.group, taken.owner));
    }
    hf_handle_free(handle);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        fleet_test(a_multi_lock_is_continued_by_another_client),
        fleet_test(a_handle_is_one_word_and_known_for_a_groups),
        fleet_test(an_importer_has_terms_of_his_own),
        fleet_test(what_was_entered_twice_is_handed_on_once),
        fleet_test(one_member_gone_releases_the_others),
        fleet_test(what_is_not_held_is_not_written_out),
        fleet_test(members_of_several_servers_find_their_clients),
        fleet_test(an_import_that_fails_changes_nothing),
        fleet_test(a_red_lock_is_continued_by_a_quorum),
        fleet_test(a_member_that_is_not_held_stays_so),
        fleet_test(a_red_lock_without_its_quorum_is_gone),
        fleet_test(a_server_that_stalls_joins_later),
        fleet_test(what_is_no_handle_of_a_group_is_refused),
    };

    return cmocka_run_group_tests(tests, servers_up, fleet_down);
}
