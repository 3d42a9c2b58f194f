/* SPDX-License-Identifier: MIT */
/* proxy_fixture.c - a server, a proxy before it, and plain hiredis clients.
 */
#include "proxy_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <hiredis/hiredis.h>

#include "support/redis.h"

struct hft_server *server;
struct hft_proxy *proxy;

int start_all(void **state)
{
    (void)state;
    server = hft_server_start(NULL);
    return 0;
}

int stop_all(void **state)
{
    (void)state;
    hft_server_free(server);
    return 0;
}

int start_one(void **state)
{
    (void)state;
    (void)hft_int(server, "FLUSHALL");
    hft_reset_calls(server);
    proxy = hft_proxy_start(server);
    return 0;
}

int stop_one(void **state)
{
    (void)state;
    hft_proxy_stop(proxy);
    return 0;
}

redisContext *connect_client(void)
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

void send_only(redisContext *client, const char *command)
{
    int done = 0;

    assert_int_equal(redisAppendCommand(client, command), REDIS_OK);
    while (!done) {
        assert_int_equal(redisBufferWrite(client, &done), REDIS_OK);
    }
}

redisReply *read_reply(redisContext *client)
{
    void *reply = NULL;

    (void)redisGetReply(client, &reply);
    return reply;
}

void expect_int(redisContext *client, long long expected)
{
    redisReply *reply = read_reply(client);

    assert_non_null(reply);
    assert_int_equal(reply->type, REDIS_REPLY_INTEGER);
    assert_int_equal(reply->integer, expected);
    freeReplyObject(reply);
}

void expect_push(redisContext *client, const char *kind, const char *payload)
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

void expect_nothing(redisContext *client)
{
    be_impatient(client);
    assert_null(read_reply(client));
    assert_int_equal(client->err, REDIS_ERR_IO);
}

void expect_end(redisContext *client)
{
    assert_null(read_reply(client));
    assert_int_equal(client->err, REDIS_ERR_EOF);
}

bool counts(const char *key, int64_t expected)
{
    return hft_wait_int(server, expected, SOON_MS, "GET %s", key);
}

int act(enum hft_direction direction, const char *match, enum hft_action action)
{
    struct hft_rule rule = {
        .direction = direction, .match = match, .action = action};

    return hft_proxy_add(proxy, &rule);
}
