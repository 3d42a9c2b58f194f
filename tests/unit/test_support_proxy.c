/* SPDX-License-Identifier: MIT */
/* test_support_proxy.c - the fault proxy does to messages what its rules say.
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

#include "proxy_fixture.h"
#include "support/redis.h"
#include "support/wait.h"

#define DELAY_MS 80

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        PROXY_TEST(large_and_binary_messages_pass_unchanged),
        PROXY_TEST(a_rule_acts_on_the_nth_match_only_and_so_many_times),
        PROXY_TEST(a_rule_for_one_link_leaves_the_others_alone),
        PROXY_TEST(a_dropped_request_never_runs),
        PROXY_TEST(a_dropped_reply_is_of_a_request_that_ran),
        PROXY_TEST(a_delayed_message_is_late_and_what_follows_waits),
        PROXY_TEST(a_held_request_is_overtaken_by_another_link),
        PROXY_TEST(a_held_reply_is_overtaken_and_comes_on_release),
        PROXY_TEST(a_repeated_request_runs_twice_and_is_answered_once),
        PROXY_TEST(a_repeated_subscription_is_confirmed_once),
        PROXY_TEST(messages_are_matched_apart_from_replies),
        PROXY_TEST(a_refused_subscription_leaves_the_stream_right),
    };

    return cmocka_run_group_tests(tests, start_all, stop_all);
}
