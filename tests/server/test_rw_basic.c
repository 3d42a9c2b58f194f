/* SPDX-License-Identifier: MIT */
/* test_rw_basic.c - a read-write lock as its callers see it: who gets in beside
 * whom, re-entry in both halves, downgrade, the refused upgrade, force, and
 * what is wrong to ask.
 *
 * Rows: RW-02, RW-10, RW-12 to RW-15, RW-20 to RW-27, RW-40 to RW-43, RW-46,
 * RW-47, IS-23; T36.
 */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "java_rw.h"
#include "listener.h"

#define NAME "doc:7"
#define LONG_MS 60000

struct pair {
    struct world *w;
    hf_lock *read;
    hf_lock *write;
    hf_owner *me;
    hf_owner *you;
};

static struct pair a_pair_of(struct world *w, hf_client *client)
{
    struct pair pair = {.w = w};

    pair.read = a_kind_of_lock(w, client, HF_KIND_READ, NAME);
    pair.write = a_kind_of_lock(w, client, HF_KIND_WRITE, NAME);
    pair.me = an_owner_of(w, client);
    pair.you = an_owner_of(w, client);
    return pair;
}

static struct pair a_pair(void **world)
{
    struct world *w = *world;

    return a_pair_of(w, w->client);
}

static hf_lock_info look(hf_lock *lock)
{
    hf_lock_info info = HF_LOCK_INFO_INIT;

    assert_ok(hf_inspect_remote(lock, &info, &problem));
    return info;
}

/* RW-22, RW-24, RW-26, RW-27, RW-23 and 21.
 * spec: rw/name-1, rw/owner-1, rw/key-2 */
static void many_read_at_once_and_each_is_its_own(void **world)
{
    struct pair p = a_pair(world);
    char text[64];

    assert_ok(try_once(p.read, p.me));
    assert_ok(try_once(p.read, p.me));
    assert_ok(try_once(p.read, p.you));
    assert_int_equal(hf_lock_hold_count(p.read, p.me), 2);
    assert_int_equal(hf_lock_hold_count(p.read, p.you), 1);
    assert_int_equal(hf_lock_hold_count(p.write, p.me), 0);
    assert_int_equal(hft_int(p.w->server, "HLEN " NAME), 3);
    assert_ok(hf_lock_owner_text(p.read, p.me, text, sizeof(text)));
    assert_string_equal(hft_str(p.w->server, "HGET " NAME " %s", text), "2");
    assert_between(hft_int(p.w->server, "PTTL %s", hold_key(NAME, text, 1)), 1,
                   W_MS);
    assert_int_equal(hft_int(p.w->server, "EXISTS %s", hold_key(NAME, text, 2)),
                     0);
    assert_int_equal(java_sees_reading(p.w, NAME), 1);
    assert_ok(leave(p.read, p.me));
    assert_ok(leave(p.read, p.me));
    assert_true(hf_lock_is_held(p.read, p.you));
    assert_false(hf_lock_is_held(p.read, p.me));
    assert_ok(leave(p.read, p.you));
    assert_int_equal(hft_int(p.w->server, "DBSIZE"), 0);
}

/* RW-25, IS-23: another's hold is not mine to release. */
static void a_stranger_releases_nothing(void **world)
{
    struct pair p = a_pair(world);

    assert_ok(try_once(p.read, p.you));
    assert_status(HF_NOT_OWNER, leave(p.read, p.me));
    assert_status(HF_NOT_OWNER, leave(p.write, p.you));
    assert_int_equal(hft_int(p.w->server, "HLEN " NAME), 2);
    assert_ok(hf_lock_force_release(p.read, NULL, &problem));
    assert_int_equal(hft_int(p.w->server, "EXISTS " NAME), 0);
}

/* RW-20: counts in both halves, here and there. */
static void both_halves_count_for_themselves(void **world)
{
    struct pair p = a_pair(world);
    hf_lock *half[] = {p.read, p.write};

    for (int i = 0; i < 2; i++) {
        assert_int_equal(hf_lock_hold_count(half[i], p.me), 0);
        assert_ok(try_once(half[i], p.me));
        assert_int_equal(hf_lock_hold_count(half[i], p.me), 1);
        assert_ok(leave(half[i], p.me));
        assert_int_equal(hf_lock_hold_count(half[i], p.me), 0);
        assert_ok(try_once(half[i], p.me));
        assert_ok(try_once(half[i], p.me));
        assert_int_equal(hf_lock_hold_count(half[i], p.me), 2);
        assert_ok(leave(half[i], p.me));
        assert_int_equal(hf_lock_hold_count(half[i], p.me), 1);
        assert_ok(leave(half[i], p.me));
        assert_int_equal(hf_lock_hold_count(half[i], p.me), 0);
    }
}

/* One client's owners and another client are kept out alike. */
static void a_writer_keeps_everybody_out(void **world)
{
    struct pair p = a_pair(world);
    struct pair far = a_pair_of(p.w, a_client(p.w));

    assert_ok(try_once(p.write, p.me));
    assert_status(HF_BUSY, try_once(p.read, p.you));
    assert_status(HF_BUSY, try_once(p.write, p.you));
    assert_status(HF_BUSY, try_once(far.read, far.me));
    assert_status(HF_BUSY, try_once(far.write, far.me));
    assert_status(HF_TIMEOUT, wait_up_to(far.read, far.me, 100));
    assert_ok(leave(p.write, p.me));
    assert_ok(try_once(far.read, far.me));
    assert_ok(try_once(p.read, p.me));
    assert_status(HF_BUSY, try_once(p.write, p.you));
    assert_status(HF_BUSY, try_once(far.write, far.you));
    assert_ok(leave(p.read, p.me));
    assert_status(HF_TIMEOUT, wait_up_to(p.write, p.me, 100));
    assert_ok(leave(far.read, far.me));
    assert_ok(try_once(p.write, p.me));
    assert_ok(leave(p.write, p.me));
}

/* RW-02, RW-10, RW-43: a read within a write, either released first.
 * spec: rw/owner-2, rw/owner-3, rw/read-6 */
static void a_writer_may_read_besides(void **world)
{
    struct pair p = a_pair(world);

    assert_ok(try_once(p.write, p.me));
    assert_int_equal(java_sees_reading(p.w, NAME), 0);
    assert_ok(try_once(p.read, p.me));
    assert_int_equal(java_sees_reading(p.w, NAME), 1);
    assert_status(HF_BUSY, try_once(p.read, p.you));
    assert_ok(leave(p.read, p.me));
    assert_true(hf_lock_is_held(p.write, p.me));
    assert_int_equal(java_sees_writing(p.w, NAME), 1);
    assert_ok(leave(p.write, p.me));
    assert_int_equal(hft_int(p.w->server, "DBSIZE"), 0);

    assert_ok(try_once(p.write, p.me));
    assert_ok(try_once(p.read, p.me));
    assert_ok(leave(p.write, p.me));
    assert_true(hf_lock_is_held(p.read, p.me));
    assert_ok(leave(p.read, p.me));
    assert_int_equal(hft_int(p.w->server, "DBSIZE"), 0);
}

/* RW-12, RW-41, T36: who reads does not begin to write, and is told so at once
 * instead of waiting for himself.  His read stands.
 * spec: rw/write-1 */
static void an_upgrade_is_refused_at_once(void **world)
{
    struct pair p = a_pair(world);
    int64_t begun = hft_now_ms();

    assert_ok(try_once(p.read, p.me));
    assert_status(HF_UPGRADE, try_once(p.write, p.me));
    assert_status(HF_UPGRADE, wait_up_to(p.write, p.me, 60000));
    assert_status(HF_UPGRADE, take(p.write, p.me, NULL));
    assert_between(hft_now_ms() - begun, 0, BOUND_MS);
    assert_int_equal(hf_status_class(HF_UPGRADE), HF_CLASS_NO);
    assert_true(hf_lock_is_held(p.read, p.me));
    assert_ok(leave(p.read, p.me));
    assert_ok(try_once(p.write, p.me));
    assert_ok(try_once(p.read, p.me));
    assert_ok(try_once(p.write, p.me)); /* re-entry, not upgrade */
    assert_ok(leave(p.write, p.me));
    assert_ok(leave(p.write, p.me));
    assert_status(HF_UPGRADE, try_once(p.write, p.me));
    assert_ok(leave(p.read, p.me));
}

/* RW-13: twice written, downgraded step by step. */
static void the_last_write_release_is_the_downgrade(void **world)
{
    struct pair p = a_pair(world);

    assert_ok(try_once(p.write, p.me));
    assert_ok(try_once(p.write, p.me));
    assert_status(HF_BUSY, try_once(p.read, p.you));
    assert_ok(leave(p.write, p.me));
    assert_true(hf_lock_is_held(p.write, p.me));
    assert_ok(try_once(p.read, p.me));
    assert_true(hf_lock_is_held(p.write, p.me));
    assert_ok(leave(p.write, p.me));
    assert_false(hf_lock_is_held(p.write, p.me));
    assert_ok(try_once(p.read, p.you));
    assert_ok(try_once(p.read, p.you));
    assert_int_equal(java_sees_writing(p.w, NAME), 0);
    assert_status(HF_NOT_OWNER, hf_lock_force_release(p.write, NULL, &problem));
    assert_true(hf_lock_is_held(p.read, p.me));
    assert_ok(leave(p.read, p.me));
    assert_ok(leave(p.read, p.you));
    assert_ok(leave(p.read, p.you));
}

/* RW-14: the writer gets in when the last reader left. */
static void the_last_reader_lets_the_writer_in(void **world)
{
    struct pair p = a_pair(world);
    hf_owner *third = an_owner(p.w);

    assert_status(HF_NOT_OWNER, hf_lock_force_release(p.read, NULL, &problem));
    assert_ok(try_once(p.read, p.me));
    assert_ok(try_once(p.read, p.you));
    assert_ok(leave(p.read, p.me));
    assert_status(HF_BUSY, try_once(p.write, third));
    assert_false(hf_lock_is_held(p.read, p.me));
    assert_ok(leave(p.read, p.you));
    assert_ok(try_once(p.write, third));
    assert_ok(leave(p.write, third));
    assert_false(hf_lock_is_held(p.write, third));
}

/* RW-15: force of one half in the other's mode does nothing.
 * spec: rw/force-1, rw/force-2 */
static void force_concerns_one_half(void **world)
{
    struct pair p = a_pair(world);

    assert_ok(try_once(p.read, p.me));
    assert_status(HF_NOT_OWNER, hf_lock_force_release(p.write, NULL, &problem));
    assert_ok(hf_lock_force_release(p.read, NULL, &problem));
    assert_int_equal(look(p.read).locked, 0);
    assert_true(state_becomes(p.read, p.me, HF_STATE_LOST, BOUND_MS));
    assert_status(HF_LOST, leave(p.read, p.me));

    assert_ok(try_once(p.write, p.me));
    assert_status(HF_NOT_OWNER, hf_lock_force_release(p.read, NULL, &problem));
    assert_ok(hf_lock_force_release(p.write, NULL, &problem));
    assert_int_equal(look(p.write).locked, 0);
    assert_true(state_becomes(p.write, p.me, HF_STATE_LOST, BOUND_MS));
    assert_status(HF_LOST, leave(p.write, p.me));
}

/* One reader of several, by name; the others go on.
 * spec: rw/force-3 */
static void force_takes_one_reader_out(void **world)
{
    struct pair p = a_pair(world);
    char text[64];

    assert_ok(try_once(p.read, p.me));
    assert_ok(try_once(p.read, p.you));
    assert_ok(hf_lock_owner_text(p.read, p.me, text, sizeof(text)));
    assert_ok(hf_lock_force_release(p.read, text, &problem));
    assert_status(HF_NOT_OWNER, hf_lock_force_release(p.read, text, &problem));
    assert_true(state_becomes(p.read, p.me, HF_STATE_LOST, BOUND_MS));
    assert_true(hf_lock_is_held(p.read, p.you));
    assert_status(HF_LOST, leave(p.read, p.me));
    assert_ok(leave(p.read, p.you));
}

/* RW-40 as far as the server knows: mode, readers, and who is subscribed.
 * spec: rw/show-1 */
static void a_look_tells_mode_and_readers(void **world)
{
    struct pair p = a_pair(world);
    hf_lock_info info;
    char text[64];

    info = look(p.read);
    assert_int_equal(info.locked, 0);
    assert_string_equal(info.mode, "");
    for (int i = 0; i < 20; i++) {
        assert_ok(try_once(p.read, an_owner(p.w)));
    }
    info = look(p.write);
    assert_string_equal(info.mode, "read");
    assert_int_equal(info.readers, 20);
    assert_int_equal(info.count, 1);
    close_clients(p.w);
    assert_true(wire_free_within(p.w, NAME, BOUND_MS));

    assert_int_equal(world_begin(world), 0);
    p = a_pair(world);
    assert_ok(try_once(p.write, p.me));
    info = look(p.read);
    assert_string_equal(info.mode, "write");
    assert_int_equal(info.readers, 0);
    assert_ok(hf_lock_owner_text(p.write, p.me, text, sizeof(text)));
    assert_string_equal(info.owner, text);
    assert_non_null(strstr(text, ":write"));
    assert_ok(leave(p.write, p.me));
}

/* Bad input: other things under the name, and no name.
 * spec: rw/name-3 */
static void what_is_no_such_lock_is_said_to_be_none(void **world)
{
    struct pair p = a_pair(world);
    hf_lock_info info = HF_LOCK_INFO_INIT;
    hf_lock *lock = NULL;

    (void)hft_int(p.w->server, "SET " NAME " x");
    assert_status(HF_WRONG_TYPE, try_once(p.read, p.me));
    assert_status(HF_WRONG_TYPE, try_once(p.write, p.me));
    assert_status(HF_WRONG_TYPE, hf_inspect_remote(p.read, &info, &problem));
    assert_status(HF_WRONG_TYPE,
                  hf_lock_force_release(p.write, NULL, &problem));
    (void)hft_int(p.w->server, "DEL " NAME);
    stranger_takes(p.w, NAME, LONG_MS);
    assert_status(HF_BUSY, try_once(p.read, p.me));
    assert_status(HF_BUSY, try_once(p.write, p.me));
    assert_status(HF_WRONG_TYPE, hf_inspect_remote(p.read, &info, &problem));
    assert_status(HF_BAD_NAME,
                  hf_read_lock_new(p.w->client, "", &lock, &problem));
    assert_status(HF_BAD_NAME,
                  hf_write_lock_new(p.w->client, NULL, &lock, &problem));
}

/* RW-46, RW-04 of names: a copy of the name, with a tag and colons of its own.
 * spec: rw/name-2 */
static void a_name_with_a_tag_keeps_it(void **world)
{
    struct world *w = *world;
    char name[] = "{test}:abc:key";
    hf_lock *lock = a_kind_of_lock(w, w->client, HF_KIND_READ, name);
    struct listener *others = listener_new(w->server, "redisson_rwlock:*");
    char text[64];

    memset(name, 'x', sizeof(name) - 1);
    assert_ok(try_once(lock, NULL));
    assert_ok(hf_lock_owner_text(lock, NULL, text, sizeof(text)));
    assert_int_equal(hft_int(w->server,
                             "EXISTS {test}:abc:key "
                             "{test}:abc:key:%s:rwlock_timeout:1",
                             text),
                     2);
    assert_ok(leave(lock, NULL));
    assert_string_equal(listener_hear(others, BOUND_MS),
                        "redisson_rwlock:{test}:abc:key 0");
    listener_free(others);
}

/* A hold of either half goes on in another client.
 * spec: rw/key-4 */
static void a_hold_of_either_half_can_be_handed_over(void **world)
{
    struct pair p = a_pair(world);
    hf_client *other = a_client(p.w);
    hf_lock *half[] = {p.read, p.write};

    for (int i = 0; i < 2; i++) {
        char *handle = NULL;
        hf_lock *lock = NULL;
        hf_owner *owner = NULL;

        assert_ok(try_fixed(half[i], p.me, LONG_MS));
        assert_ok(hf_lock_export(half[i], p.me, &handle, &problem));
        assert_non_null(strstr(handle, i == 0 ? "hf1/read/" : "hf1/write/"));
        assert_false(hf_lock_is_held(half[i], p.me));
        assert_ok(hf_lock_import(other, handle, NULL, &lock, &owner, &problem));
        assert_true(hf_lock_is_held(lock, owner));
        assert_int_equal(hft_int(p.w->server, "HLEN " NAME), 2);
        assert_ok(leave(lock, owner));
        assert_int_equal(hft_int(p.w->server, "DBSIZE"), 0);
        assert_ok(hf_lock_free(lock));
        assert_ok(hf_owner_free(owner));
        hf_handle_free(handle);
    }
}

/* min_hold of a reader keeps writers out for the rest, and no reader.
 * spec: rw/later-1 */
static void a_readers_min_hold_keeps_writers_out(void **world)
{
    struct pair p = a_pair(world);
    hf_acquire how = once(p.me, LONG_MS);
    int64_t begun = hft_now_ms();

    how.min_hold_ms = 700;
    assert_ok(take(p.read, p.me, &how));
    assert_ok(leave(p.read, p.me));
    assert_ok(try_once(p.read, p.you));
    assert_ok(leave(p.read, p.you));
    assert_status(HF_BUSY, try_once(p.write, p.you));
    assert_ok(wait_up_to(p.write, p.you, BOUND_MS));
    assert_between(hft_now_ms() - begun, 690, BOUND_MS);
    assert_ok(leave(p.write, p.you));
}

static hf_lock *a_fenced_writer(struct world *w, int counts, int urgent)
{
    hf_lock_options options = HF_LOCK_OPTIONS_INIT;
    hf_lock *lock = NULL;

    options.kind = HF_KIND_WRITE;
    options.fenced = 1;
    options.token_each_entry = counts;
    options.prefer_writers = urgent;
    assert_ok(hf_lock_new_as(w->client, &options, NAME, strlen(NAME), &lock,
                             &problem));
    keep_lock(w, lock);
    return lock;
}

static int64_t token_of(hf_lock *lock, hf_owner *owner)
{
    int64_t token = -1;

    assert_ok(hf_lock_token(lock, owner, &token, &problem));
    return token;
}

/* T42: a write lock with tokens, with either way to count, and giving way.
 * spec: rw/write-4 */
static void a_writer_may_have_fencing_tokens(void **world)
{
    struct pair p = a_pair(world);
    int64_t expected = 0;

    for (int i = 0; i < 4; i++) {
        hf_lock *write = a_fenced_writer(p.w, i & 1, i >> 1);

        assert_ok(try_once(write, p.me));
        assert_int_equal(token_of(write, p.me), ++expected);
        assert_ok(try_once(write, p.me));
        expected += i & 1;
        assert_int_equal(token_of(write, p.me), expected);
        assert_int_equal(look(write).token, expected);
        assert_string_equal(look(write).mode, "write");
        assert_ok(leave(write, p.me));
        assert_ok(leave(write, p.me));
    }
    assert_ok(try_once(p.read, p.me));
    assert_status(HF_BUSY, try_once(a_fenced_writer(p.w, 0, 1), p.you));
    assert_ok(leave(p.read, p.me));
    assert_int_equal(hft_int(p.w->server, "GET redisson_lock_token:{" NAME "}"),
                     expected);
}

/* Who shares a lock has no order, so there is no token for him. */
static void a_reader_has_no_fencing_tokens(void **world)
{
    struct world *w = *world;
    hf_lock_options options = HF_LOCK_OPTIONS_INIT;
    hf_lock *lock = NULL;

    options.kind = HF_KIND_READ;
    options.fenced = 1;
    assert_status(HF_INVALID, hf_lock_new_as(w->client, &options, NAME,
                                             strlen(NAME), &lock, &problem));
}

/* Halves are members of a multi lock as any lock is: two groups that read one
 * name and write another each. */
static void halves_are_members_of_a_multi_lock(void **world)
{
    struct world *w = *world;
    hf_lock *first[] = {a_kind_of_lock(w, w->client, HF_KIND_READ, "shared"),
                        a_kind_of_lock(w, w->client, HF_KIND_WRITE, "mine")};
    hf_lock *second[] = {a_kind_of_lock(w, w->client, HF_KIND_READ, "shared"),
                         a_kind_of_lock(w, w->client, HF_KIND_WRITE, "yours")};
    hf_owner *owners[] = {an_owner(w), an_owner(w)};
    hf_acquire how[] = {once(owners[0], LONG_MS), once(owners[1], LONG_MS)};
    hf_group *groups[2];

    assert_ok(hf_multi_lock_new(first, 2, &groups[0], &problem));
    assert_ok(hf_multi_lock_new(second, 2, &groups[1], &problem));
    assert_ok(hf_group_acquire(groups[0], &how[0], NULL, &problem));
    assert_status(HF_BUSY,
                  hf_group_acquire(groups[0], &how[1], NULL, &problem));
    assert_int_equal(look(first[0]).readers, 1);
    assert_ok(hf_group_acquire(groups[1], &how[1], NULL, &problem));
    assert_int_equal(look(first[0]).readers, 2);
    for (int i = 0; i < 2; i++) {
        assert_ok(hf_group_release(groups[i], owners[i], NULL, &problem));
        assert_ok(hf_group_free(groups[i]));
    }
    assert_int_equal(hft_int(w->server, "DBSIZE"), 0);
}

/* Asynchronous: a fresh owner for each, all of them in. */
static void note_completion(const hf_completion *done, void *context)
{
    hf_owner **owner = context;

    *owner = done->status == HF_OK ? done->owner : NULL;
}

static void asynchronous_readers_get_in_side_by_side(void **world)
{
    struct pair p = a_pair(world);
    hf_owner *owners[8] = {NULL};
    hf_acquire how = HF_ACQUIRE_INIT;

    (void)hf_client_fd(p.w->client);
    for (int i = 0; i < 8; i++) {
        assert_ok(hf_lock_acquire_async(p.read, &how, note_completion,
                                        &owners[i], &problem));
    }
    for (int left = 8; left > 0;) {
        left -= (int)hf_client_dispatch(p.w->client);
        hft_let_pass_ms(1);
    }
    assert_int_equal(look(p.read).readers, 8);
    for (int i = 0; i < 8; i++) {
        assert_non_null(owners[i]);
        assert_ok(leave(p.read, owners[i]));
        keep_owner(p.w, owners[i]);
    }
    assert_int_equal(hft_int(p.w->server, "DBSIZE"), 0);
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        world_test(many_read_at_once_and_each_is_its_own),
        world_test(a_stranger_releases_nothing),
        world_test(both_halves_count_for_themselves),
        world_test(a_writer_keeps_everybody_out),
        world_test(a_writer_may_read_besides),
        world_test(an_upgrade_is_refused_at_once),
        world_test(the_last_write_release_is_the_downgrade),
        world_test(the_last_reader_lets_the_writer_in),
        world_test(force_concerns_one_half),
        world_test(force_takes_one_reader_out),
        world_test(a_look_tells_mode_and_readers),
        world_test(what_is_no_such_lock_is_said_to_be_none),
        world_test(a_name_with_a_tag_keeps_it),
        world_test(a_hold_of_either_half_can_be_handed_over),
        world_test(a_readers_min_hold_keeps_writers_out),
        world_test(a_writer_may_have_fencing_tokens),
        world_test(a_reader_has_no_fencing_tokens),
        world_test(halves_are_members_of_a_multi_lock),
        world_test(asynchronous_readers_get_in_side_by_side),
    };

    (void)hft_seed(argc, argv);
    return cmocka_run_group_tests(tests, world_up, world_down);
}
