/* SPDX-License-Identifier: MIT */
/* test_support_proxy.c - the fault proxy does what its rules say.
 *
 * The tests of late copies and lost answers are worth as much as the proxy, so
 * each of its actions is seen here on a real server, through plain hiredis.
 * The server's own count of what ran is the witness.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <hiredis/hiredis.h>

#include "support/proxy.h"
#include "support/redis.h"
#include "support/resp_scan.h"
#include "support/server.h"
#include "support/wait.h"

#define SOON_MS 5000 /* a bound on what happens at once */
#define NEVER_MS 100 /* how long we look at what must not happen */
#define DELAY_MS 80

static struct hft_server *server;
static struct hft_proxy *proxy;

static int start_all(void **state)
{
    (void)state;
    server = hft_server_start(NULL);
    return 0;
}

static int stop_all(void **state)
{
    (void)state;
    hft_server_free(server);
    return 0;
}

static int start_one(void **state)
{
    (void)state;
    (void)hft_int(server, "FLUSHALL");
    hft_reset_calls(server);
    proxy = hft_proxy_start(server);
    return 0;
}

static int stop_one(void **state)
{
    (void)state;
    hft_proxy_stop(proxy);
    return 0;
}

static redisContext *connect_client(void)
{
    struct timeval bound = {.tv_sec = SOON_MS / 1000};
    redisContext *client;

    client = redisConnectWithTimeout("127.0.0.1", hft_proxy_port(proxy), bound);
    assert_non_null(client);
    assert_int_equal(client->err, 0);
    redisSetTimeout(client, bound);
    return client;
}

static void be_impatient(redisContext *client)
{
    struct timeval bound = {.tv_usec = NEVER_MS * 1000};

    redisSetTimeout(client, bound);
}

static void send_only(redisContext *client, const char *command)
{
    int done = 0;

    assert_int_equal(redisAppendCommand(client, command), REDIS_OK);
    while (!done) {
        assert_int_equal(redisBufferWrite(client, &done), REDIS_OK);
    }
}

static redisReply *read_reply(redisContext *client)
{
    void *reply = NULL;

    (void)redisGetReply(client, &reply);
    return reply;
}

static void expect_int(redisContext *client, long long expected)
{
    redisReply *reply = read_reply(client);

    assert_non_null(reply);
    assert_int_equal(reply->type, REDIS_REPLY_INTEGER);
    assert_int_equal(reply->integer, expected);
    freeReplyObject(reply);
}

/* A pub/sub reply: its kind and its last element. */
static void expect_push(redisContext *client, const char *kind,
                        const char *payload)
{
    redisReply *reply = read_reply(client);

    assert_non_null(reply);
    assert_int_equal(reply->type, REDIS_REPLY_ARRAY);
    assert_string_equal(reply->element[0]->str, kind);
    if (payload != NULL) {
        assert_string_equal(reply->element[2]->str, payload);
    }
    freeReplyObject(reply);
}

static void expect_nothing(redisContext *client)
{
    be_impatient(client);
    assert_null(read_reply(client));
    assert_int_equal(client->err, REDIS_ERR_IO);
}

static void expect_end(redisContext *client)
{
    assert_null(read_reply(client));
    assert_int_equal(client->err, REDIS_ERR_EOF);
}

static bool counts(const char *key, int64_t expected)
{
    return hft_wait_int(server, expected, SOON_MS, "GET %s", key);
}

static int act(enum hft_direction direction, const char *match,
               enum hft_action action)
{
    struct hft_rule rule = {
        .direction = direction, .match = match, .action = action};

    return hft_proxy_add(proxy, &rule);
}

static void scanner_finds_the_end_of_any_message_at_any_split(void **state)
{
    static const char *const messages[] = {
        "+OK\r\n",
        "-ERR no\r\n",
        ":-12\r\n",
        "$-1\r\n",
        "$0\r\n\r\n",
        "$7\r\na\r\n*9\r\n\r\n",
        "*-1\r\n",
        "*0\r\n",
        "*2\r\n$3\r\nfoo\r\n*2\r\n:1\r\n*1\r\n$-1\r\n",
        "PING now\r\n",
    };
    size_t i;
    size_t part;

    (void)state;
    for (i = 0; i < sizeof(messages) / sizeof(messages[0]); i++) {
        size_t length = strlen(messages[i]);

        for (part = 0; part < length; part++) {
            assert_int_equal(hft_resp_length(messages[i], part), 0);
        }
        assert_int_equal(hft_resp_length(messages[i], length), length);
    }
    assert_int_equal(hft_resp_length("*1\r\nfoo\r\n", 9), -1);
}

static void large_and_binary_messages_pass_unchanged(void **state)
{
    redisContext *client = connect_client();
    size_t size = 1 << 20;
    char *value = malloc(size);
    redisReply *reply;
    size_t i;

    (void)state;
    assert_non_null(value);
    for (i = 0; i < size; i++) {
        value[i] = (char)(i * 7);
    }
    freeReplyObject(redisCommand(client, "SET k %b", value, size));
    reply = redisCommand(client, "GET k");
    assert_non_null(reply);
    assert_int_equal(reply->len, size);
    assert_memory_equal(reply->str, value, size);
    freeReplyObject(reply);
    reply = redisCommand(client, "EVAL %s 0", "return {1,{'a',{}},false}");
    assert_non_null(reply);
    assert_int_equal(reply->elements, 3);
    assert_int_equal(reply->element[1]->elements, 2);
    freeReplyObject(reply);
    free(value);
    redisFree(client);
}

static void a_rule_acts_on_the_nth_match_only_and_so_many_times(void **state)
{
    struct hft_rule second = {.match = "incr",
                              .contains = "watched",
                              .also_contains = "tched-k",
                              .nth = 2,
                              .times = 2,
                              .action = HFT_REPEAT};
    redisContext *client = connect_client();
    int id = hft_proxy_add(proxy, &second);
    int every = act(HFT_REQUEST, NULL, HFT_PASS);
    int i;

    (void)state;
    for (i = 0; i < 4; i++) {
        freeReplyObject(redisCommand(client, "INCR other"));
        freeReplyObject(redisCommand(client, "INCR watched-key"));
        freeReplyObject(redisCommand(client, "GET watched-key"));
    }
    assert_true(counts("watched-key", 6));
    assert_true(counts("other", 4));
    assert_int_equal(hft_proxy_hits(proxy, id), 2);
    assert_int_equal(hft_proxy_hits(proxy, every), 1);
    assert_int_equal(hft_proxy_requests(proxy, "incr"), 8);
    assert_int_equal(hft_proxy_requests(proxy, NULL), 12);
    redisFree(client);
}

static void a_rule_for_one_link_leaves_the_others_alone(void **state)
{
    struct hft_rule rule = {
        .link = 2, .match = "INCR", .action = HFT_CUT_BEFORE};
    redisContext *first = connect_client();
    redisContext *second;

    (void)state;
    (void)hft_proxy_add(proxy, &rule);
    send_only(first, "INCR n");
    expect_int(first, 1);
    second = connect_client();
    send_only(second, "INCR n");
    expect_end(second);
    assert_int_equal(hft_proxy_links(proxy), 2);
    redisFree(first);
    redisFree(second);
}

static void a_dropped_request_never_runs(void **state)
{
    redisContext *client = connect_client();

    (void)state;
    (void)act(HFT_REQUEST, "INCR", HFT_DROP);
    send_only(client, "INCR n");
    expect_nothing(client);
    assert_int_equal(hft_calls(server, "incr"), 0);
    redisFree(client);
}

static void a_dropped_reply_is_of_a_request_that_ran(void **state)
{
    redisContext *client = connect_client();
    int id = act(HFT_REPLY, "INCR", HFT_DROP);

    (void)state;
    send_only(client, "INCR n");
    assert_true(hft_proxy_wait_hits(proxy, id, 1, SOON_MS));
    expect_nothing(client);
    assert_true(counts("n", 1));
    redisFree(client);
}

static void a_cut_before_a_request_keeps_it_from_running(void **state)
{
    redisContext *client = connect_client();

    (void)state;
    (void)act(HFT_REQUEST, "INCR", HFT_CUT_BEFORE);
    send_only(client, "SET m 5");
    freeReplyObject(read_reply(client));
    send_only(client, "INCR n");
    expect_end(client);
    redisFree(client);
    assert_true(hft_wait_int(server, HFT_NIL, 0, "GET n"));
    assert_true(counts("m", 5));
}

static void a_cut_after_a_request_lets_it_run_unanswered(void **state)
{
    redisContext *client = connect_client();

    (void)state;
    (void)act(HFT_REQUEST, "INCR", HFT_CUT_AFTER);
    send_only(client, "INCR n");
    expect_end(client);
    assert_true(counts("n", 1));
    redisFree(client);
}

static void a_cut_before_a_reply_loses_the_answer(void **state)
{
    redisContext *client = connect_client();

    (void)state;
    (void)act(HFT_REPLY, "INCR", HFT_CUT_BEFORE);
    send_only(client, "INCR n");
    expect_end(client);
    assert_int_equal(hft_int(server, "GET n"), 1);
    redisFree(client);
}

static void a_cut_after_a_reply_comes_behind_the_answer(void **state)
{
    redisContext *client = connect_client();

    (void)state;
    (void)act(HFT_REPLY, "INCR", HFT_CUT_AFTER);
    send_only(client, "INCR n");
    send_only(client, "INCR n");
    expect_int(client, 1);
    expect_end(client);
    redisFree(client);
}

static void a_cut_link_is_closed_towards_the_server_too(void **state)
{
    redisContext *client = connect_client();

    (void)state;
    freeReplyObject(redisCommand(client, "PING"));
    assert_int_equal(hft_links(server, "normal"), 1);
    (void)act(HFT_REQUEST, "INCR", HFT_CUT_BEFORE);
    send_only(client, "INCR n");
    expect_end(client);
    assert_true(hft_wait_links(server, "normal", 0, SOON_MS));
    redisFree(client);
}

static void a_delayed_message_is_late_and_what_follows_waits(void **state)
{
    struct hft_rule rule = {
        .match = "INCR", .action = HFT_DELAY, .delay_ms = DELAY_MS};
    redisContext *client = connect_client();
    int64_t start_ms = hft_now_ms();

    (void)state;
    (void)hft_proxy_add(proxy, &rule);
    send_only(client, "INCR n");
    send_only(client, "INCRBY n 10");
    expect_int(client, 1);
    assert_true(hft_now_ms() - start_ms >= DELAY_MS);
    expect_int(client, 11);
    redisFree(client);
}

static void a_held_request_is_overtaken_by_another_link(void **state)
{
    redisContext *slow = connect_client();
    redisContext *fast = connect_client();
    int id = act(HFT_REQUEST, "APPEND", HFT_HOLD);

    (void)state;
    send_only(slow, "APPEND log a");
    assert_true(hft_proxy_wait_hits(proxy, id, 1, SOON_MS));
    send_only(fast, "APPEND log b");
    expect_int(fast, 1);
    assert_string_equal(hft_str(server, "GET log"), "b");
    hft_proxy_release(proxy, id);
    expect_int(slow, 2);
    assert_string_equal(hft_str(server, "GET log"), "ba");
    redisFree(slow);
    redisFree(fast);
}

static void a_held_reply_is_overtaken_and_comes_on_release(void **state)
{
    redisContext *slow = connect_client();
    redisContext *fast = connect_client();
    int id = act(HFT_REPLY, "INCR", HFT_HOLD);

    (void)state;
    send_only(slow, "INCR n");
    assert_true(hft_proxy_wait_hits(proxy, id, 1, SOON_MS));
    send_only(fast, "INCR n");
    expect_int(fast, 2);
    hft_proxy_release(proxy, id);
    expect_int(slow, 1);
    redisFree(slow);
    redisFree(fast);
}

static void a_held_request_runs_late_after_its_client_has_left(void **state)
{
    redisContext *leaver = connect_client();
    redisContext *next;
    int id = act(HFT_REQUEST, "APPEND", HFT_HOLD);

    (void)state;
    send_only(leaver, "APPEND log old");
    assert_true(hft_proxy_wait_hits(proxy, id, 1, SOON_MS));
    redisFree(leaver);
    next = connect_client();
    send_only(next, "APPEND log new-");
    expect_int(next, 4);
    /* The old copy's link stands: the server has not seen its end. */
    assert_int_equal(hft_links(server, "normal"), 2);
    hft_proxy_release(proxy, id);
    assert_true(hft_wait_calls(server, "append", 2, SOON_MS));
    assert_string_equal(hft_str(server, "GET log"), "new-old");
    assert_true(hft_wait_links(server, "normal", 1, SOON_MS));
    redisFree(next);
}

static void a_held_request_runs_late_after_all_links_are_cut(void **state)
{
    redisContext *client = connect_client();
    int id = act(HFT_REQUEST, "INCR", HFT_HOLD);

    (void)state;
    send_only(client, "INCR n");
    assert_true(hft_proxy_wait_hits(proxy, id, 1, SOON_MS));
    hft_proxy_cut_all(proxy);
    assert_null(read_reply(client));
    redisFree(client);
    assert_int_equal(hft_calls(server, "incr"), 0);
    hft_proxy_release_all(proxy);
    assert_true(counts("n", 1));
}

static void a_request_on_its_way_runs_though_its_client_has_left(void **state)
{
    redisContext *client = connect_client();

    (void)state;
    freeReplyObject(redisCommand(client, "PING"));
    hft_server_pause(server);
    send_only(client, "INCR n");
    redisFree(client);
    assert_true(hft_proxy_wait_requests(proxy, "INCR", 1, SOON_MS));
    hft_server_resume(server);
    assert_true(counts("n", 1));
}

static void a_repeated_request_runs_twice_and_is_answered_once(void **state)
{
    redisContext *client = connect_client();

    (void)state;
    (void)act(HFT_REQUEST, "INCR", HFT_REPEAT);
    send_only(client, "INCR n");
    send_only(client, "INCRBY n 10");
    expect_int(client, 1);
    expect_int(client, 12);
    redisFree(client);
}

static void a_repeated_subscription_is_confirmed_once(void **state)
{
    redisContext *client = connect_client();

    (void)state;
    (void)act(HFT_REQUEST, "SUBSCRIBE", HFT_REPEAT);
    send_only(client, "SUBSCRIBE a b");
    expect_push(client, "subscribe", NULL);
    expect_push(client, "subscribe", NULL);
    assert_int_equal(hft_int(server, "PUBLISH b x"), 1);
    expect_push(client, "message", "x");
    redisFree(client);
}

static void messages_are_matched_apart_from_replies(void **state)
{
    struct hft_rule lose = {.direction = HFT_REPLY,
                            .match = "message",
                            .contains = "lost",
                            .action = HFT_DROP};
    struct hft_rule twice = {.direction = HFT_REPLY,
                             .match = "message",
                             .contains = "twice",
                             .action = HFT_REPEAT};
    redisContext *client = connect_client();
    int confirmed = act(HFT_REPLY, "UNSUBSCRIBE", HFT_PASS);

    (void)state;
    (void)hft_proxy_add(proxy, &lose);
    (void)hft_proxy_add(proxy, &twice);
    send_only(client, "SUBSCRIBE a b");
    expect_push(client, "subscribe", NULL);
    expect_push(client, "subscribe", NULL);
    (void)hft_int(server, "PUBLISH a lost");
    (void)hft_int(server, "PUBLISH a twice");
    expect_push(client, "message", "twice");
    expect_push(client, "message", "twice");
    /* Without names there are as many confirmations as channels; the PING
     * behind them is still matched with its own answer. */
    send_only(client, "UNSUBSCRIBE");
    expect_push(client, "unsubscribe", NULL);
    expect_push(client, "unsubscribe", NULL);
    assert_int_equal(hft_proxy_hits(proxy, confirmed), 1);
    (void)act(HFT_REPLY, "INCR", HFT_CUT_BEFORE);
    send_only(client, "SET k 1");
    freeReplyObject(read_reply(client));
    send_only(client, "INCR k");
    expect_end(client);
    redisFree(client);
}

static void a_refused_subscription_leaves_the_stream_right(void **state)
{
    redisContext *client = connect_client();
    redisReply *reply;

    (void)state;
    (void)hft_int(server, "ACL SETUSER default resetchannels");
    send_only(client, "SUBSCRIBE a b");
    reply = read_reply(client);
    (void)hft_int(server, "ACL SETUSER default allchannels");
    assert_non_null(reply);
    assert_int_equal(reply->type, REDIS_REPLY_ERROR);
    freeReplyObject(reply);
    (void)act(HFT_REPLY, "INCR", HFT_CUT_AFTER);
    send_only(client, "SET n 4");
    freeReplyObject(read_reply(client));
    send_only(client, "INCR n");
    expect_int(client, 5);
    expect_end(client);
    redisFree(client);
}

static void a_black_hole_swallows_one_direction_for_good(void **state)
{
    redisContext *deaf = connect_client();
    redisContext *mute = connect_client();

    (void)state;
    (void)act(HFT_REPLY, "INCR", HFT_BLACK_HOLE);
    send_only(deaf, "INCR n");
    send_only(deaf, "SET k 1");
    expect_nothing(deaf);
    assert_true(counts("n", 1));
    assert_true(counts("k", 1));
    (void)act(HFT_REQUEST, "DECR", HFT_BLACK_HOLE);
    send_only(mute, "DECR n");
    send_only(mute, "SET k 2");
    expect_nothing(mute);
    assert_int_equal(hft_int(server, "GET n"), 1);
    assert_int_equal(hft_int(server, "GET k"), 1);
    redisFree(deaf);
    redisFree(mute);
}

static void a_silent_door_accepts_and_never_answers(void **state)
{
    redisContext *client;

    (void)state;
    hft_proxy_set_door(proxy, HFT_DOOR_SILENT);
    client = connect_client();
    send_only(client, "PING");
    expect_nothing(client);
    redisFree(client);
    hft_proxy_set_door(proxy, HFT_DOOR_OPEN);
    client = connect_client();
    send_only(client, "INCR n");
    expect_int(client, 1);
    redisFree(client);
}

static void a_shut_door_refuses_until_it_is_opened(void **state)
{
    redisContext *inside = connect_client();
    redisContext *client;

    (void)state;
    hft_proxy_set_door(proxy, HFT_DOOR_SHUT);
    client = redisConnect("127.0.0.1", hft_proxy_port(proxy));
    assert_int_not_equal(client->err, 0);
    redisFree(client);
    send_only(inside, "INCR n");
    expect_int(inside, 1);
    hft_proxy_set_door(proxy, HFT_DOOR_OPEN);
    client = connect_client();
    send_only(client, "INCR n");
    expect_int(client, 2);
    redisFree(client);
    redisFree(inside);
}

static void cutting_all_links_lets_clients_come_again(void **state)
{
    redisContext *first = connect_client();
    redisContext *second = connect_client();

    (void)state;
    send_only(first, "INCR n");
    expect_int(first, 1);
    hft_proxy_cut_all(proxy);
    assert_null(read_reply(first));
    assert_null(read_reply(second));
    redisFree(first);
    redisFree(second);
    first = connect_client();
    send_only(first, "INCR n");
    expect_int(first, 2);
    redisFree(first);
}

static void a_proxy_outlives_its_server(void **state)
{
    redisContext *client = connect_client();

    (void)state;
    freeReplyObject(redisCommand(client, "SET n 6"));
    hft_server_restart(server, HFT_KEEP_DATA);
    expect_end(client);
    redisFree(client);
    client = connect_client();
    send_only(client, "INCR n");
    expect_int(client, 7);
    redisFree(client);
}

static void a_network_that_fails_for_a_while_loses_nothing(void **state)
{
    struct hft_rule up = {.action = HFT_HOLD, .times = HFT_ALWAYS};
    struct hft_rule down = {
        .direction = HFT_REPLY, .action = HFT_HOLD, .times = HFT_ALWAYS};
    redisContext *client = connect_client();
    int up_id = hft_proxy_add(proxy, &up);
    int down_id = hft_proxy_add(proxy, &down);

    (void)state;
    send_only(client, "INCR n");
    send_only(client, "INCR n");
    assert_true(hft_proxy_wait_hits(proxy, up_id, 2, SOON_MS));
    assert_int_equal(hft_calls(server, "incr"), 0);
    hft_proxy_release(proxy, up_id);
    assert_true(hft_proxy_wait_hits(proxy, down_id, 2, SOON_MS));
    hft_proxy_release(proxy, down_id);
    expect_int(client, 1);
    expect_int(client, 2);
    redisFree(client);
}

static void a_proxy_serves_a_unix_socket_as_well(void **state)
{
    struct hft_proxy *front = hft_proxy_start_unix(server);
    redisContext *client = redisConnectUnix(hft_proxy_socket(front));

    (void)state;
    assert_int_equal(client->err, 0);
    assert_memory_equal(hft_proxy_url(front), "unix:/", 6);
    send_only(client, "INCR n");
    expect_int(client, 1);
    redisFree(client);
    hft_proxy_stop(front);
}

#define PROXY_TEST(name)                                                       \
    cmocka_unit_test_setup_teardown(name, start_one, stop_one)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scanner_finds_the_end_of_any_message_at_any_split),
        PROXY_TEST(large_and_binary_messages_pass_unchanged),
        PROXY_TEST(a_rule_acts_on_the_nth_match_only_and_so_many_times),
        PROXY_TEST(a_rule_for_one_link_leaves_the_others_alone),
        PROXY_TEST(a_dropped_request_never_runs),
        PROXY_TEST(a_dropped_reply_is_of_a_request_that_ran),
        PROXY_TEST(a_cut_before_a_request_keeps_it_from_running),
        PROXY_TEST(a_cut_after_a_request_lets_it_run_unanswered),
        PROXY_TEST(a_cut_before_a_reply_loses_the_answer),
        PROXY_TEST(a_cut_after_a_reply_comes_behind_the_answer),
        PROXY_TEST(a_cut_link_is_closed_towards_the_server_too),
        PROXY_TEST(a_delayed_message_is_late_and_what_follows_waits),
        PROXY_TEST(a_held_request_is_overtaken_by_another_link),
        PROXY_TEST(a_held_reply_is_overtaken_and_comes_on_release),
        PROXY_TEST(a_held_request_runs_late_after_its_client_has_left),
        PROXY_TEST(a_held_request_runs_late_after_all_links_are_cut),
        PROXY_TEST(a_request_on_its_way_runs_though_its_client_has_left),
        PROXY_TEST(a_repeated_request_runs_twice_and_is_answered_once),
        PROXY_TEST(a_repeated_subscription_is_confirmed_once),
        PROXY_TEST(messages_are_matched_apart_from_replies),
        PROXY_TEST(a_refused_subscription_leaves_the_stream_right),
        PROXY_TEST(a_black_hole_swallows_one_direction_for_good),
        PROXY_TEST(a_silent_door_accepts_and_never_answers),
        PROXY_TEST(a_shut_door_refuses_until_it_is_opened),
        PROXY_TEST(cutting_all_links_lets_clients_come_again),
        PROXY_TEST(a_proxy_outlives_its_server),
        PROXY_TEST(a_network_that_fails_for_a_while_loses_nothing),
        PROXY_TEST(a_proxy_serves_a_unix_socket_as_well),
    };

    return cmocka_run_group_tests(tests, start_all, stop_all);
}
