/* SPDX-License-Identifier: MIT */
/* test_client.c - closing, forking, and calls that are wrong or meet a server
 * that refuses: each its own status and one line, nothing held by accident.
 *
 * Rows: IS-19, PL-22, PL-54, PL-58, 15.15 (fork), T46, T48, T52, and issue 3
 * "Bad input and bad days".
 */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/crew.h"
#include "support/fake_server.h"
#include "support/fatal.h"
#include "support/proxy.h"

#define NAME "client"

/* ---- closing ------------------------------------------------------------- */

/* PL-54: with a holder and ten waiters. */
static void closing_ends_waiters_and_refuses_what_comes_after(void **world)
{
    enum { WAITERS = 10 };
    struct world *w = *world;
    hf_client *client = a_client(w);
    hf_lock *lock = a_lock_of(w, client, NAME);
    struct told told = {0};
    struct caller waiters[WAITERS];
    hf_owner *owner = an_owner_of(w, client);
    hf_acquire how = once(owner, 600000);
    int64_t began_ms;
    int i;

    how.on_lost = record_lost;
    how.context = &told;
    memset(waiters, 0, sizeof(waiters));
    assert_ok(take(lock, NULL, &how));
    for (i = 0; i < WAITERS; i++) {
        caller_start(&waiters[i], lock, HF_WAIT_FOREVER);
    }
    assert_true(waiters_become(client, WAITERS, BOUND_MS));
    w->more_client_count--;
    began_ms = hft_now_ms();
    assert_ok(hf_client_close(client));
    assert_between(hft_now_ms() - began_ms, 0, 1000 + SLACK_MS);
    for (i = 0; i < WAITERS; i++) {
        caller_join(&waiters[i]);
        assert_status(HF_CLOSED, waiters[i].status);
    }
    assert_int_equal(told.losses, 1);
    assert_int_equal(told.reason, HF_LOST_CLOSED);
    assert_int_equal(wire_ttl(w, NAME), -2);
}

/* Threads that call all the time while it is closed: all of them get out. */
static void call_until_closed(struct hft_member *me)
{
    hf_lock *const *locks = me->context;
    hf_lock *lock = locks[me->index % 2];
    hf_status status = HF_OK;

    while (status != HF_CLOSED) {
        status = wait_up_to(lock, NULL, 200);
        if (status == HF_OK) {
            me->result++;
            status = hf_lock_release(lock, NULL, NULL);
            if (status == HF_LOST) {
                status = HF_OK; /* closed in between; the next call says so */
            }
        }
        if (!HFT_CHECK(me, status == HF_OK || status == HF_TIMEOUT ||
                               status == HF_UNKNOWN || status == HF_CLOSED)) {
            hft_member_note(me, "%s", hf_status_name(status));
            return;
        }
    }
}

static void closing_under_load_lets_every_thread_out(void **world)
{
    enum { ROUNDS = 10, THREADS = 8 };
    struct world *w = *world;
    int round;

    for (round = 0; round < ROUNDS; round++) {
        hf_client *client = a_client(w);
        hf_lock *locks[2] = {a_lock_of(w, client, "load:0"),
                             a_lock_of(w, client, "load:1")};
        struct hft_crew *crew = hft_crew_start(THREADS, call_until_closed,
                                               locks);

        hft_let_pass_ms(20 + 7 * round);
        w->more_client_count--;
        assert_ok(hf_client_close(client));
        assert_null(hft_crew_join(crew, BOUND_MS));
        hft_crew_free(crew);
        assert_int_equal(hft_int(w->server, "DBSIZE"), 0);
    }
}

/* T46's bound, with a server that does not answer. */
static void closing_without_a_server_takes_about_a_second(void **world)
{
    struct world *w = *world;
    struct hft_proxy *proxy = hft_proxy_start(w->server);
    struct hft_rule hush = {.direction = HFT_REQUEST,
                            .times = HFT_ALWAYS,
                            .action = HFT_BLACK_HOLE};
    hf_options options = short_options();
    hf_client *client = NULL;
    hf_lock *lock = NULL;
    int64_t began_ms;

    assert_ok(
        hf_client_open(hft_proxy_url(proxy), &options, &client, &problem));
    assert_ok(hf_lock_new(client, NAME, &lock, &problem));
    assert_ok(try_once(lock, NULL));
    (void)hft_proxy_add(proxy, &hush);
    began_ms = hft_now_ms();
    assert_ok(hf_client_close(client));
    assert_between(hft_now_ms() - began_ms, 0, 1500 + SLACK_MS);
    assert_ok(hf_lock_free(lock));
    hft_proxy_stop(proxy);
    assert_true(wire_free_within(w, NAME, W_MS + SLACK_MS));
}

static void closing_nothing_is_fine(void **world)
{
    (void)world;
    assert_ok(hf_client_close(NULL));
}

/* ---- forking ------------------------------------------------------------- */

/* In the child: every entry is refused, and closing writes nothing. */
static int live_as_a_child(struct world *w, hf_lock *lock)
{
    hf_stats stats = HF_STATS_INIT;
    hf_lock_info info = HF_LOCK_INFO_INIT;
    hf_lock *other = NULL;
    hf_owner *owner = NULL;
    hf_cancel *cancel = NULL;
    char *handle = NULL;
    hf_status refused[] = {
        hf_lock_acquire(lock, NULL, NULL),
        hf_lock_release(lock, NULL, NULL),
        hf_lock_extend(lock, NULL, 1000, NULL),
        hf_lock_force_release(lock, NULL, NULL),
        hf_lock_export(lock, NULL, &handle, NULL),
        hf_lock_new(w->client, "child", &other, NULL),
        hf_owner_new(w->client, &owner, NULL),
        hf_cancel_new(w->client, &cancel, NULL),
        hf_client_stats(w->client, &stats),
        hf_inspect_remote(lock, &info, NULL),
    };
    size_t i;

    for (i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        if (refused[i] != HF_FORKED) {
            return 10 + (int)i;
        }
    }
    if (hf_lock_is_held(lock, NULL)) {
        return 2;
    }
    if (hf_client_fd(w->client) != -1) {
        return 3;
    }
    return hf_client_close(w->client) == HF_OK ? 0 : 4;
}

/* 15.15, DESIGN 4. */
static void a_forked_child_is_refused_and_writes_nothing(void **world)
{
    struct world *w = *world;
    struct hft_proxy *proxy = hft_proxy_start(w->server);
    hf_options options = short_options();
    hf_client *mine = w->client;
    hf_lock *lock;
    unsigned requests;
    int status = -1;
    pid_t child;

    w->client = a_client_at(w, hft_proxy_url(proxy), &options);
    lock = a_lock(w, NAME);
    assert_ok(try_fixed(lock, NULL, 60000));
    hft_let_pass_ms(100);
    requests = hft_proxy_requests(proxy, NULL);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        _exit(live_as_a_child(w, lock));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(hft_proxy_requests(proxy, NULL), requests);
    assert_true(hf_lock_is_held(lock, NULL)); /* here nothing has changed */
    assert_ok(leave(lock, NULL));
    assert_int_equal(wire_ttl(w, NAME), -2);
    w->more_client_count--;
    assert_ok(hf_client_close(w->client));
    w->client = mine;
    hft_proxy_stop(proxy);
}

/* A child may open a client of its own, and its id is another. */
static int open_as_a_child(const char *url, const char *parents_id)
{
    hf_client *client = NULL;
    hf_lock *lock = NULL;
    int wrong;

    if (hf_client_open(url, NULL, &client, NULL) != HF_OK ||
        hf_lock_new(client, NAME, &lock, NULL) != HF_OK) {
        return 1;
    }
    wrong = strcmp(hf_client_id(client), parents_id) == 0;
    wrong += hf_lock_acquire(lock, NULL, NULL) != HF_OK;
    wrong += hf_lock_release(lock, NULL, NULL) != HF_OK;
    wrong += hf_client_close(client) != HF_OK;
    return wrong;
}

static void a_forked_child_may_open_a_client_of_its_own(void **world)
{
    struct world *w = *world;
    int status = -1;
    pid_t child;

    if (!FORKS_CAN_START_THREADS) {
        skip();
    }
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        _exit(open_as_a_child(hft_server_url(w->server),
                              hf_client_id(w->client)));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* ---- calls that are wrong ------------------------------------------------ */

static void empty_and_too_long_names_are_refused(void **world)
{
    struct world *w = *world;
    char *name = hft_alloc(1024 * 1024 + 1);
    hf_lock *lock = NULL;

    memset(name, 'x', 1024 * 1024);
    assert_status(HF_BAD_NAME, hf_lock_new(w->client, "", &lock, &problem));
    assert_true(strlen(problem.message) > 0);
    assert_status(HF_BAD_NAME,
                  hf_lock_new_bytes(w->client, name, 0, &lock, &problem));
    assert_status(HF_BAD_NAME, hf_lock_new(w->client, name, &lock, &problem));
    assert_true(strlen(problem.message) < sizeof(problem.message));
    assert_status(HF_BAD_NAME,
                  hf_lock_new_bytes(w->client, name, HF_NAME_MAX_BYTES + 1,
                                    &lock, &problem));
    assert_null(lock);
    free(name);
}

/* A mistake in a program's clean-up is answered, and does not end it. */
static void null_is_refused_and_holds_nothing(void **world)
{
    struct world *w = *world;
    hf_lock_info info = HF_LOCK_INFO_INIT;
    hf_stats stats = HF_STATS_INIT;
    hf_lock *lock = a_lock(w, NAME);
    hf_owner *owner = NULL;
    hf_cancel *cancel = NULL;
    char *handle = NULL;

    assert_status(HF_INVALID, hf_lock_acquire(NULL, NULL, &problem));
    assert_status(HF_INVALID, hf_lock_release(NULL, NULL, &problem));
    assert_status(HF_INVALID, hf_inspect_remote(NULL, &info, &problem));
    assert_status(HF_INVALID, hf_lock_export(NULL, NULL, &handle, &problem));
    assert_status(HF_INVALID, hf_owner_new(NULL, &owner, &problem));
    assert_status(HF_INVALID, hf_cancel_new(NULL, &cancel, &problem));
    assert_status(HF_INVALID, hf_client_stats(NULL, &stats));
    assert_true(strlen(problem.message) > 0);
    assert_int_equal(hf_client_fd(NULL), -1);
    assert_int_equal(hf_client_dispatch(NULL), 0);
    assert_false(hf_lock_is_held(NULL, NULL));
    assert_int_equal(hf_lock_state_of(NULL, NULL, NULL), HF_NOT_HELD);
    assert_int_equal(hf_lock_hold_count(NULL, NULL), 0);
    assert_ok(try_once(lock, NULL));
    assert_status(HF_INVALID, hf_lock_export(lock, NULL, NULL, &problem));
    assert_true(hf_lock_is_held(lock, NULL));
    assert_ok(leave(lock, NULL));
}

/* IS-19, PL-22, PL-58: nothing is sent, nothing overflows. */
static void durations_that_are_none_are_refused(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    int64_t sent = stats_of(w->client).scripts_sent;
    static const int64_t leases_ms[] = {
        -1, 1, HF_LEASE_MIN_MS - 1, HF_LEASE_MAX_MS + 1, INT64_MAX, INT64_MIN};
    hf_acquire how;
    size_t i;

    for (i = 0; i < sizeof(leases_ms) / sizeof(leases_ms[0]); i++) {
        how = once(NULL, leases_ms[i]);
        assert_status(HF_INVALID, take(lock, NULL, &how));
        assert_true(strlen(problem.message) > 0);
    }
    how = once(NULL, 0);
    how.wait_ms = -2;
    assert_status(HF_INVALID, take(lock, NULL, &how));
    how.wait_ms = INT64_MIN;
    assert_status(HF_INVALID, take(lock, NULL, &how));
    how = once(NULL, 0);
    how.min_hold_ms = -1;
    assert_status(HF_INVALID, take(lock, NULL, &how));
    how = once(NULL, 0);
    how.max_hold_ms = -1;
    assert_status(HF_INVALID, take(lock, NULL, &how));
    how = once(NULL, 0);
    how.max_hold_warning_ms = -1;
    assert_status(HF_INVALID, take(lock, NULL, &how));
    how = once(NULL, 0);
    how.size = 3;
    assert_status(HF_INVALID, take(lock, NULL, &how));
    assert_int_equal(stats_of(w->client).scripts_sent, sent);
    assert_int_equal(wire_ttl(w, NAME), -2);
}

/* IS-19: the longest there is saturates and wraps nowhere. */
static void the_longest_durations_work(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    hf_acquire how = once(NULL, HF_LEASE_MAX_MS);
    struct caller waiter = {.hold_ms = 0};

    how.wait_ms = INT64_MAX;
    how.max_hold_ms = INT64_MAX;
    assert_ok(take(lock, NULL, &how));
    assert_between(wire_ttl(w, NAME), HF_LEASE_MAX_MS - SLACK_MS,
                   HF_LEASE_MAX_MS);
    assert_true(hf_lock_is_held(lock, NULL));
    assert_between(hf_lock_remaining_ms(lock, NULL), HF_LEASE_MAX_MS / 2,
                   HF_LEASE_MAX_MS);
    how.lease_ms = HF_LEASE_MIN_MS + 300;
    caller_start_as(&waiter, lock, &how); /* waits for ever in effect */
    assert_true(waiters_become(w->client, 1, BOUND_MS));
    assert_ok(leave(lock, NULL));
    caller_join(&waiter);
    assert_status(HF_OK, waiter.status);
}

/* The shortest lease is granted or found too late, and never stays. */
static void the_shortest_lease_is_never_held_too_long(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    int i;

    for (i = 0; i < 20; i++) {
        hf_status status = try_fixed(lock, NULL, HF_LEASE_MIN_MS);

        if (status == HF_OK) {
            hft_let_pass_ms(HF_LEASE_MIN_MS + 1);
            assert_false(hf_lock_is_held(lock, NULL));
            assert_status(HF_LOST, leave(lock, NULL));
        } else {
            assert_false(hf_lock_is_held(lock, NULL));
        }
        assert_true(wire_free_within(w, NAME, 200));
    }
}

/* ---- a server that refuses ------------------------------------------------ */

/* T52, and a key that is no lock is left as it is. */
static void a_key_of_another_type_is_wrong_type_and_left_alone(void **world)
{
    static const char *const makes[] = {
        "SET " NAME " value", "RPUSH " NAME " value", "SADD " NAME " value",
        "ZADD " NAME " 1 value"};
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    hf_lock_info info = HF_LOCK_INFO_INIT;
    size_t i;

    for (i = 0; i < sizeof(makes) / sizeof(makes[0]); i++) {
        int64_t began_ms = hft_now_ms();

        (void)hft_int(w->server, makes[i]);
        assert_status(HF_WRONG_TYPE, try_once(lock, NULL));
        assert_non_null(strstr(problem.message, NAME));
        assert_status(HF_WRONG_TYPE, wait_up_to(lock, NULL, BOUND_MS));
        assert_status(HF_WRONG_TYPE,
                      hf_lock_force_release(lock, NULL, &problem));
        assert_status(HF_WRONG_TYPE, hf_inspect_remote(lock, &info, &problem));
        assert_between(hft_now_ms() - began_ms, 0, 2000);
        assert_int_equal(wire_ttl(w, NAME), -1);
        (void)hft_int(w->server, "DEL " NAME);
    }
    assert_ok(try_once(lock, NULL));
    assert_ok(leave(lock, NULL));
}

/* A hash without a TTL: held by somebody, for ever; it can be seen and forced,
 * and a waiter waits without stumbling over the -1.
 * spec: rlock/key-2 */
static void a_hash_without_a_ttl_is_held_until_it_is_forced(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    hf_lock_info info = HF_LOCK_INFO_INIT;
    struct caller waiter = {.hold_ms = 0};

    (void)hft_int(w->server, "HSET " NAME " " STRANGER " 1");
    assert_status(HF_BUSY, try_once(lock, NULL));
    assert_status(HF_TIMEOUT, wait_up_to(lock, NULL, 100));
    assert_ok(hf_inspect_remote(lock, &info, &problem));
    assert_int_equal(info.locked, 1);
    assert_int_equal(info.ttl_ms, -1);
    assert_int_equal(wire_ttl(w, NAME), -1);
    caller_start(&waiter, lock, HF_WAIT_FOREVER);
    assert_true(hft_wait_channels(w->server, 1, BOUND_MS));
    assert_ok(hf_lock_force_release(lock, STRANGER, &problem));
    caller_join(&waiter);
    assert_status(HF_OK, waiter.status);
    assert_int_equal(wire_ttl(w, NAME), -2);
}

/* NOPERM: of a key, and of scripts altogether. */
static void what_the_acl_forbids_is_permission(void **world)
{
    const char *acl[] = {"user keys on >secret ~allowed:* &* +@all",
                         "user mute on >secret ~* &* +@all -eval -evalsha",
                         NULL};
    struct hft_server_options guarded = {.tcp = true, .acl = acl};
    struct hft_server *server = hft_server_start(&guarded);
    static const char *const users[] = {"keys", "mute"};
    hf_options options = short_options();
    size_t i;

    (void)world;
    for (i = 0; i < 2; i++) {
        char *url = hft_format("redis://%s:secret@127.0.0.1:%d", users[i],
                               hft_server_port(server));
        hf_client *client = NULL;
        hf_lock *lock = NULL;
        hf_status opened = hf_client_open(url, &options, &client, &problem);

        if (opened == HF_OK) {
            assert_ok(hf_lock_new(client, NAME, &lock, &problem));
            assert_status(HF_PERMISSION, try_once(lock, NULL));
            assert_true(strlen(problem.message) > 0);
            assert_null(strstr(problem.message, "secret"));
            assert_status(HF_PERMISSION, wait_up_to(lock, NULL, 2000));
            assert_ok(hf_client_close(client));
            assert_ok(hf_lock_free(lock));
        } else {
            assert_status(HF_PERMISSION, opened);
        }
        assert_int_equal(hft_int(server, "DBSIZE"), 0);
        free(url);
    }
    hft_server_free(server);
}

/* What a server may answer to the acquire script, and what it then is. */
static void strange_answers_to_a_script_have_their_own_status(void **world)
{
    static const struct {
        const char *text;
        hf_status expected;
    } days[] = {
        {"-OOM command not allowed when used memory > 'maxmemory'.\r\n",
         HF_UNAVAILABLE},
        {"-READONLY You can't write against a read only replica.\r\n",
         HF_UNAVAILABLE},
        {"-LOADING Redis is loading the dataset in memory\r\n", HF_UNAVAILABLE},
        {"-BUSY Redis is busy running a script.\r\n", HF_UNAVAILABLE},
        {"-TRYAGAIN Multiple keys request during rehashing of slot\r\n",
         HF_UNAVAILABLE},
        {"-MISCONF Redis is configured to save RDB snapshots\r\n",
         HF_UNAVAILABLE},
        {"-NOPERM this user has no permissions\r\n", HF_PERMISSION},
        {"-WRONGTYPE Operation against a key holding the wrong kind\r\n",
         HF_WRONG_TYPE},
        {"+OK\r\n", HF_PROTOCOL},
        {"$5\r\nhello\r\n", HF_PROTOCOL},
        {"*2\r\n:1\r\n:2\r\n", HF_PROTOCOL},
        {"*0\r\n", HF_PROTOCOL},
    };
    hf_options options = short_options();
    size_t i;

    (void)world;
    options.connect_limit_ms = 200; /* a refusal is tried again so long */
    options.response_limit_ms = 200;
    for (i = 0; i < sizeof(days) / sizeof(days[0]); i++) {
        struct hft_fake *fake = hft_fake_start();
        struct hft_answer answer = {.command = "EVALSHA", .text = days[i].text};
        struct hft_answer again = {.command = "EVAL", .text = days[i].text};
        hf_client *client = NULL;
        hf_lock *lock = NULL;

        hft_fake_answer(fake, &answer);
        hft_fake_answer(fake, &again);
        assert_ok(
            hf_client_open(hft_fake_url(fake), &options, &client, &problem));
        assert_ok(hf_lock_new(client, NAME, &lock, &problem));
        print_message("           %.12s\n", days[i].text);
        assert_status(days[i].expected, try_once(lock, NULL));
        assert_null(strpbrk(problem.message, "\r\n"));
        assert_false(hf_lock_is_held(lock, NULL));
        assert_ok(hf_client_close(client));
        assert_ok(hf_lock_free(lock));
        hft_fake_stop(fake);
    }
}

/* Bytes that are no reply at all: the link is given up, the try cannot be
 * known, and nothing crashes. */
static void garbage_in_mid_work_ends_the_link_and_nothing_else(void **world)
{
    static const char *const garbage[] = {
        "garbage\r\n", "$-7\r\n",          "*-9\r\n",
        ":abc\r\n",    "$3\r\nabcdef\r\n", "\x80\x81\x82\x83"};
    hf_options options = short_options();
    size_t i;

    (void)world;
    options.connect_limit_ms = 200;
    options.response_limit_ms = 200;
    for (i = 0; i < sizeof(garbage) / sizeof(garbage[0]); i++) {
        struct hft_fake *fake = hft_fake_start();
        struct hft_answer answer = {.command = "EVALSHA", .text = garbage[i]};
        hf_client *client = NULL;
        hf_lock *lock = NULL;
        hf_status status;
        int64_t began_ms;

        hft_fake_answer(fake, &answer);
        assert_ok(
            hf_client_open(hft_fake_url(fake), &options, &client, &problem));
        assert_ok(hf_lock_new(client, NAME, &lock, &problem));
        began_ms = hft_now_ms();
        status = try_once(lock, NULL);
        assert_between(hft_now_ms() - began_ms, 0, 3000);
        assert_true(status == HF_UNKNOWN || status == HF_PROTOCOL);
        assert_false(hf_lock_is_held(lock, NULL));
        assert_ok(hf_client_close(client));
        assert_ok(hf_lock_free(lock));
        hft_fake_stop(fake);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        world_test(closing_ends_waiters_and_refuses_what_comes_after),
        world_test(closing_under_load_lets_every_thread_out),
        world_test(closing_without_a_server_takes_about_a_second),
        world_test(closing_nothing_is_fine),
        world_test(a_forked_child_is_refused_and_writes_nothing),
        world_test(a_forked_child_may_open_a_client_of_its_own),
        world_test(empty_and_too_long_names_are_refused),
        world_test(null_is_refused_and_holds_nothing),
        world_test(durations_that_are_none_are_refused),
        world_test(the_longest_durations_work),
        world_test(the_shortest_lease_is_never_held_too_long),
        world_test(a_key_of_another_type_is_wrong_type_and_left_alone),
        world_test(a_hash_without_a_ttl_is_held_until_it_is_forced),
        world_test(what_the_acl_forbids_is_permission),
        world_test(strange_answers_to_a_script_have_their_own_status),
        world_test(garbage_in_mid_work_ends_the_link_and_nothing_else),
    };

    return cmocka_run_group_tests_name("client", tests, world_up, world_down);
}
