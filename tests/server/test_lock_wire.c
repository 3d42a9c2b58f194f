/* SPDX-License-Identifier: MIT */
/* test_lock_wire.c - what stands on the server, and what it costs.
 *
 * A program in Java reads the same hash and hears the same channel, so keys,
 * fields, TTLs, channel names and messages are exact (section 18.1 and 18.3 of
 * the protocol's description, docs/wire).  Rows: LK-10, LK-26, PL-06, PL-36,
 * PL-66, 15.29, IS-30, T48.
 */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "listener.h"
#include "support/fatal.h"

#define NAME "order:17"
#define CHANNELS "redisson_lock__channel:*"

/* The worked example of 18.3: two acquires, two releases, one message.
 * spec: rlock/name-1, rlock/key-1, rlock/key-3, rlock/message-1 */
static void the_worked_example_stands_on_the_server(void **world)
{
    struct world *w = *world;
    struct listener *java = listener_new(w->server, CHANNELS);
    hf_lock *lock = a_lock(w, NAME);
    char owner[64];

    assert_ok(try_fixed(lock, NULL, 30000));
    assert_ok(try_fixed(lock, NULL, 30000));
    assert_ok(hf_lock_owner_text(lock, NULL, owner, sizeof(owner)));
    assert_string_equal(hft_str(w->server, "TYPE " NAME), "hash");
    assert_int_equal(wire_fields(w, NAME), 1);
    assert_string_equal(hft_str(w->server, "HGET " NAME " %s", owner), "2");
    assert_between(wire_ttl(w, NAME), 30000 - SLACK_MS, 30000);
    assert_int_equal(hft_int(w->server, "DBSIZE"), 1);

    assert_ok(leave(lock, NULL));
    assert_string_equal(hft_str(w->server, "HGET " NAME " %s", owner), "1");
    assert_null(listener_hear(java, 50));
    assert_ok(leave(lock, NULL));
    assert_int_equal(hft_int(w->server, "DBSIZE"), 0);
    assert_string_equal(listener_hear(java, BOUND_MS),
                        "redisson_lock__channel:{order:17} 0");
    assert_null(listener_hear(java, 50));
    listener_free(java);
}

static bool is_number(const char *text)
{
    return *text != '\0' && strspn(text, "0123456789") == strlen(text);
}

/* `uuid:decimal`, lower case, 8-4-4-4-12.
 * spec: rlock/owner-1 */
static void an_owner_is_a_uuid_and_a_number(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    const char *owner;
    size_t i;

    assert_ok(try_once(lock, NULL));
    owner = wire_owner(w, NAME);
    assert_true(strlen(owner) > 37);
    for (i = 0; i < 36; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;

        assert_non_null(strchr(dash ? "-" : "0123456789abcdef", owner[i]));
    }
    assert_int_equal(owner[36], ':');
    assert_true(is_number(owner + 37));
    assert_ok(leave(lock, NULL));
}

/* PL-06, LK-10: lengths to the millisecond, the whole range of them.
 * spec: rlock/ttl-1 */
static void the_ttl_is_the_lease_that_was_asked_for(void **world)
{
    static const int64_t leases_ms[] = {
        9500, 10000, 30000, 3600000, 86400000 * 7L, HF_LEASE_MAX_MS};
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    size_t i;

    for (i = 0; i < sizeof(leases_ms) / sizeof(leases_ms[0]); i++) {
        assert_ok(try_fixed(lock, NULL, leases_ms[i]));
        assert_between(wire_ttl(w, NAME), leases_ms[i] - SLACK_MS,
                       leases_ms[i]);
        assert_ok(leave(lock, NULL));
        assert_int_equal(wire_ttl(w, NAME), -2);
    }
    assert_ok(try_once(lock, NULL));
    assert_between(wire_ttl(w, NAME), W_MS - SLACK_MS, W_MS);
    assert_ok(leave(lock, NULL));
}

/* The channel of a name: braces are put around it only if it has no `{`.
 * spec: rlock/name-2, rlock/message-3, rlock/java-2 */
static void a_waiter_listens_where_java_publishes(void **world)
{
    static const char *const names[][2] = {
        {"plain", "redisson_lock__channel:{plain}"},
        {"a:b:c", "redisson_lock__channel:{a:b:c}"},
        {"{shop}:o", "redisson_lock__channel:{shop}:o"},
        {"a{t}b", "redisson_lock__channel:a{t}b"},
        {"a{b", "redisson_lock__channel:a{b"},
        {"{}x", "redisson_lock__channel:{}x"},
        {"}x", "redisson_lock__channel:{}x}"},
        {"100% \xc3\xa4 ?*[x]", "redisson_lock__channel:{100% \xc3\xa4 ?*[x]}"},
    };
    struct world *w = *world;
    size_t i;

    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct caller waiter = {.hold_ms = 0};

        stranger_takes(w, names[i][0], 60000);
        caller_start(&waiter, a_lock(w, names[i][0]), BOUND_MS);
        assert_true(hft_wait_channels(w->server, 1, BOUND_MS));
        assert_string_equal(hft_str(w->server, "PUBSUB CHANNELS"), names[i][1]);
        stranger_releases(w, names[i][0]);
        caller_join(&waiter);
        assert_status(HF_OK, waiter.status);
        assert_true(hft_wait_channels(w->server, 0, BOUND_MS));
    }
}

/* The same names in the other direction: what a release publishes.
 * spec: rlock/release-1, rlock/java-2 */
static void a_release_publishes_where_java_listens(void **world)
{
    static const char *const names[][2] = {
        {"plain", "redisson_lock__channel:{plain} 0"},
        {"{shop}:o", "redisson_lock__channel:{shop}:o 0"},
        {"a{b", "redisson_lock__channel:a{b 0"},
        {"}x", "redisson_lock__channel:{}x} 0"},
    };
    struct world *w = *world;
    struct listener *java = listener_new(w->server, CHANNELS);
    size_t i;

    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        hf_lock *lock = a_lock(w, names[i][0]);

        assert_ok(try_once(lock, NULL));
        assert_int_equal(hft_int(w->server, "EXISTS %s", names[i][0]), 1);
        assert_ok(leave(lock, NULL));
        assert_string_equal(listener_hear(java, BOUND_MS), names[i][1]);
    }
    listener_free(java);
}

/* A Java waiter is woken by a forced release too.
 * spec: rlock/force-3 */
static void a_forced_release_is_published_as_well(void **world)
{
    struct world *w = *world;
    struct listener *java = listener_new(w->server, CHANNELS);

    stranger_takes(w, NAME, 60000);
    assert_ok(hf_lock_force_release(a_lock(w, NAME), NULL, &problem));
    assert_string_equal(listener_hear(java, BOUND_MS),
                        "redisson_lock__channel:{order:17} 0");
    listener_free(java);
}

/* LK-26: what listeners on the key itself see.
 * spec: rlock/acquire-5 */
static void a_release_deletes_the_key_once_and_so_does_its_end(void **world)
{
    struct world *w = *world;
    struct listener *events;
    const char *heard;
    hf_lock *lock = a_lock(w, NAME);

    (void)hft_int(w->server, "CONFIG SET notify-keyspace-events Egx");
    events = listener_new(w->server, "__keyevent@*:*");
    assert_ok(try_fixed(lock, NULL, 60000));
    assert_string_equal(listener_hear(events, BOUND_MS),
                        "__keyevent@0__:expire order:17");
    assert_ok(leave(lock, NULL));
    assert_string_equal(listener_hear(events, BOUND_MS),
                        "__keyevent@0__:del order:17");
    assert_null(listener_hear(events, 50));

    assert_ok(try_fixed(lock, NULL, 300));
    assert_string_equal(listener_hear(events, BOUND_MS),
                        "__keyevent@0__:expire order:17");
    /* We undo it at the very moment at which it expires: one of the two. */
    heard = listener_hear(events, BOUND_MS);
    assert_true(strcmp(heard, "__keyevent@0__:expired order:17") == 0 ||
                strcmp(heard, "__keyevent@0__:del order:17") == 0);
    assert_null(listener_hear(events, 50));
    listener_free(events);
    (void)hft_int(w->server, "CONFIG SET notify-keyspace-events %s", "");
    assert_true(state_becomes(lock, NULL, HF_STATE_LOST, BOUND_MS));
    assert_status(HF_LOST, leave(lock, NULL));
}

/* All commands since the last reset, but those of our own view. */
static int64_t commands_in_scripts(struct world *w)
{
    const char *at = hft_str(w->server, "INFO commandstats");
    int64_t sum = 0;

    while ((at = strstr(at, "cmdstat_")) != NULL) {
        const char *calls = strstr(at, ":calls=");

        at += strlen("cmdstat_");
        if (strncmp(at, "evalsha:", 8) != 0 && strncmp(at, "info:", 5) != 0 &&
            strncmp(at, "config", 6) != 0) {
            sum += strtoll(calls + strlen(":calls="), NULL, 10);
        }
    }
    return sum;
}

/* Issue 3, "must hold": exactly 2 scripts, at most 7 calls inside them.
 * spec: rlock/acquire-6, rlock/release-3 */
static void a_pair_costs_two_scripts_and_at_most_seven_calls(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);

    assert_ok(try_fixed(lock, NULL, 60000));
    assert_ok(leave(lock, NULL));
    hft_reset_calls(w->server);
    assert_ok(try_fixed(lock, NULL, 60000));
    assert_ok(leave(lock, NULL));
    assert_int_equal(hft_calls(w->server, "evalsha"), 2);
    assert_between(commands_in_scripts(w), 2, 7);
}

/* A refusal costs one script and no subscription. */
static void a_busy_try_costs_one_script(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);

    assert_ok(try_once(lock, NULL));
    assert_ok(leave(lock, NULL));
    stranger_takes(w, NAME, 60000);
    hft_reset_calls(w->server);
    assert_status(HF_BUSY, try_once(lock, NULL));
    assert_int_equal(hft_calls(w->server, "evalsha"), 1);
    assert_int_equal(commands_in_scripts(w), 2); /* PTTL, HEXISTS */
    assert_int_equal(hft_channels(w->server, "*"), 0);
}

/* PL-36, PL-66: nothing is left behind, whatever was done.
 * spec: rlock/key-3 */
static void nothing_is_left_on_the_server_afterwards(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    hf_owner *other = an_owner(w);
    int round;

    for (round = 0; round < 10; round++) {
        assert_ok(try_once(lock, NULL));
        assert_ok(try_once(lock, NULL));
        assert_status(HF_BUSY, try_once(lock, other));
        assert_status(HF_TIMEOUT, wait_up_to(lock, other, 5));
        assert_ok(leave(lock, NULL));
        assert_ok(leave(lock, NULL));
    }
    assert_int_equal(hft_int(w->server, "DBSIZE"), 0);
    assert_true(hft_wait_channels(w->server, 0, BOUND_MS));
}

/* 15.29, IS-30: names are bytes.
 * spec: rlock/name-3 */
static void names_with_every_byte_value_are_kept_to_the_byte(void **world)
{
    struct world *w = *world;
    unsigned char name[256];
    hf_lock *lock = NULL;
    size_t i;

    for (i = 0; i < sizeof(name); i++) {
        name[i] = (unsigned char)i;
    }
    assert_ok(
        hf_lock_new_bytes(w->client, name, sizeof(name), &lock, &problem));
    keep_lock(w, lock);
    assert_ok(try_once(lock, NULL));
    assert_int_equal(hft_int(w->server, "EXISTS %b", name, sizeof(name)), 1);
    assert_int_equal(hft_int(w->server, "DBSIZE"), 1);
    assert_ok(leave(lock, NULL));
    for (i = 0; i < sizeof(name); i++) {
        assert_ok(hf_lock_new_bytes(w->client, &name[i], 1, &lock, &problem));
        assert_ok(try_once(lock, NULL));
        assert_int_equal(hft_int(w->server, "EXISTS %b", &name[i], (size_t)1),
                         1);
        assert_ok(leave(lock, NULL));
        assert_ok(hf_lock_free(lock));
    }
}

/* The longest name, and a waiter on it (its channel is longer still). */
static void the_longest_name_works_and_one_byte_more_is_refused(void **world)
{
    struct world *w = *world;
    char *name = hft_alloc(HF_NAME_MAX_BYTES + 2);
    hf_lock *lock = NULL;
    hf_owner *other = an_owner(w);

    memset(name, 'n', HF_NAME_MAX_BYTES + 1);
    assert_status(HF_BAD_NAME, hf_lock_new(w->client, name, &lock, &problem));
    name[HF_NAME_MAX_BYTES] = '\0';
    assert_ok(hf_lock_new(w->client, name, &lock, &problem));
    keep_lock(w, lock);
    assert_ok(try_once(lock, NULL));
    assert_int_equal(hft_int(w->server, "EXISTS %s", name), 1);
    assert_status(HF_TIMEOUT, wait_up_to(lock, other, 50));
    assert_ok(leave(lock, NULL));
    assert_ok(wait_up_to(lock, other, BOUND_MS));
    assert_ok(leave(lock, other));
    assert_int_equal(hft_int(w->server, "DBSIZE"), 0);
    free(name);
}

static void two_databases_have_locks_of_their_own(void **world)
{
    struct world *w = *world;
    hf_options options = short_options();
    char *url = hft_format("%s?db=3", hft_server_unix_url(w->server));
    hf_client *client = a_client_at(w, url, &options);
    hf_lock *there = a_lock_of(w, client, NAME);
    hf_lock *here = a_lock(w, NAME);

    assert_ok(try_once(there, NULL));
    assert_int_equal(hft_int(w->server, "EXISTS " NAME), 0);
    assert_ok(try_once(here, NULL));
    assert_ok(leave(there, NULL));
    assert_ok(leave(here, NULL));
    free(url);
}

/* ---- what hf_inspect_* tells of it --------------------------------------- */

/* spec: rlock/java-1 */
static void inspection_tells_owner_count_ttl_and_waiters(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    hf_lock_info info = HF_LOCK_INFO_INIT;
    struct caller waiter = {.hold_ms = 0};
    char owner[64];

    assert_ok(hf_inspect_remote(lock, &info, &problem));
    assert_int_equal(info.locked, 0);
    assert_string_equal(info.owner, "");
    assert_int_equal(info.ttl_ms, -2);
    assert_ok(try_fixed(lock, NULL, 60000));
    assert_ok(try_fixed(lock, NULL, 60000));
    caller_start(&waiter, a_lock_of(w, a_client(w), NAME), BOUND_MS);
    assert_true(hft_wait_channels(w->server, 1, BOUND_MS));
    assert_ok(hf_inspect_remote(lock, &info, &problem));
    assert_int_equal(info.locked, 1);
    assert_ok(hf_lock_owner_text(lock, NULL, owner, sizeof(owner)));
    assert_string_equal(info.owner, owner);
    assert_int_equal(info.count, 2);
    assert_between(info.ttl_ms, 60000 - 2 * SLACK_MS, 60000);
    assert_int_equal(info.waiting, 1);
    assert_ok(leave(lock, NULL));
    assert_ok(leave(lock, NULL));
    caller_join(&waiter);
    assert_status(HF_OK, waiter.status);
}

struct seen {
    int locks;
    int strangers;
    int stop_after;
};

static bool see_lock(const void *name, size_t name_bytes,
                     const hf_lock_info *info, void *context)
{
    struct seen *seen = context;

    seen->locks++;
    if (name_bytes == strlen("list:java") &&
        memcmp(name, "list:java", name_bytes) == 0 &&
        strcmp(info->owner, STRANGER) == 0 && info->count == 1) {
        seen->strangers++;
    }
    return seen->locks != seen->stop_after;
}

static void a_list_shows_locks_of_all_and_nothing_else(void **world)
{
    struct world *w = *world;
    hf_owner *owner = an_owner(w);
    struct seen seen = {0};
    struct seen one = {.stop_after = 1};
    char name[32];
    int i;

    for (i = 0; i < 300; i++) {
        (void)snprintf(name, sizeof(name), "list:%d", i);
        assert_ok(try_fixed(a_lock(w, name), owner, 60000));
    }
    stranger_takes(w, "list:java", 60000);
    stranger_takes(w, "other", 60000);
    (void)hft_int(w->server, "SET list:text x");
    (void)hft_int(w->server, "HSET list:hash field value");
    (void)hft_int(w->server, "PEXPIRE list:hash 60000");
    assert_ok(
        hf_inspect_list_remote(w->client, "list:*", see_lock, &seen, &problem));
    assert_int_equal(seen.locks, 301);
    assert_int_equal(seen.strangers, 1);
    assert_ok(
        hf_inspect_list_remote(w->client, NULL, see_lock, &one, &problem));
    assert_int_equal(one.locks, 1);
}

/* How many words of the commands that a server was sent are times by its own
 * clock.  None is one by ours. */
static int times_in(const char *log, int64_t server_ms)
{
    int64_t our_ms = hft_now_ms();
    size_t len;
    int found = 0;

    for (; *log != '\0'; log += len + strspn(log + len, " \n")) {
        char *word;
        int64_t number;

        len = strcspn(log, " \n");
        word = hft_format("%.*s", (int)len, log);
        number = is_number(word) && len < 18 ? strtoll(word, NULL, 10) : 0;
        free(word);
        if (number > server_ms / 2) {
            assert_between(number, server_ms - BOUND_MS, server_ms + BOUND_MS);
            found++;
        }
        assert_false(number > our_ms - BOUND_MS && number < our_ms + BOUND_MS);
    }
    return found;
}

/* spec: rlock/ttl-4 */
static void only_the_servers_time_travels(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    int64_t server_ms = hft_int(w->server, "EVAL %s 0",
                                "local t = redis.call('TIME') return t[1] * "
                                "1000 + math.floor(t[2] / 1000)");

    (void)hft_str(w->server, "CONFIG SET slowlog-log-slower-than 0");
    (void)hft_str(w->server, "SLOWLOG RESET");
    assert_ok(try_fixed(lock, NULL, 1234));
    assert_ok(hf_lock_extend(lock, NULL, 4321, &problem));
    assert_ok(leave(lock, NULL));
    assert_between(times_in(hft_str(w->server, "SLOWLOG GET 100"), server_ms),
                   1, 100);
    (void)hft_str(w->server, "CONFIG SET slowlog-log-slower-than 10000");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        world_test(the_worked_example_stands_on_the_server),
        world_test(an_owner_is_a_uuid_and_a_number),
        world_test(the_ttl_is_the_lease_that_was_asked_for),
        world_test(a_waiter_listens_where_java_publishes),
        world_test(a_release_publishes_where_java_listens),
        world_test(a_forced_release_is_published_as_well),
        world_test(a_release_deletes_the_key_once_and_so_does_its_end),
        world_test(a_pair_costs_two_scripts_and_at_most_seven_calls),
        world_test(a_busy_try_costs_one_script),
        world_test(nothing_is_left_on_the_server_afterwards),
        world_test(names_with_every_byte_value_are_kept_to_the_byte),
        world_test(the_longest_name_works_and_one_byte_more_is_refused),
        world_test(two_databases_have_locks_of_their_own),
        world_test(inspection_tells_owner_count_ttl_and_waiters),
        world_test(a_list_shows_locks_of_all_and_nothing_else),
        world_test(only_the_servers_time_travels),
    };

    return cmocka_run_group_tests_name("lock_wire", tests, world_up,
                                       world_down);
}
