/* SPDX-License-Identifier: MIT */
/* redis.c - the tests' own view of a server, on hiredis' blocking connection.
 *
 * The connection is opened with the first command and again after the server
 * was down (server.c calls hft_redis_drop() when it ends it).  A command is
 * never sent twice: a test that counts must be able to trust it.  A mutex lets
 * threads take turns; texts that are lent live in a ring, so that an assertion
 * can hold several at once.
 */
#include "support/redis.h"

#include <hiredis/hiredis.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "support/fatal.h"
#include "support/server.h"
#include "support/wait.h"

#define LENT_TEXTS 16
#define ANSWER_BOUND_S 20 /* longer than any stall a test makes on purpose */

struct hft_redis {
    pthread_mutex_t mutex;
    char *socket_path;
    redisContext *link; /* NULL until it is needed */
    char *lent[LENT_TEXTS];
    unsigned next_lent;
};

struct hft_redis *hft_redis_new(const char *socket_path)
{
    struct hft_redis *redis = hft_alloc(sizeof(*redis));

    pthread_mutex_init(&redis->mutex, NULL);
    redis->socket_path = hft_copy_text(socket_path);
    return redis;
}

static void close_link(struct hft_redis *redis)
{
    if (redis->link != NULL) {
        redisFree(redis->link);
        redis->link = NULL;
    }
}

/* Open the link and become our own user; false if the server is not there. */
static bool open_link(struct hft_redis *redis)
{
    struct timeval bound = {.tv_sec = ANSWER_BOUND_S};
    redisReply *reply;
    bool welcome;

    redis->link = redisConnectUnixWithTimeout(redis->socket_path, bound);
    if (redis->link == NULL || redis->link->err != 0) {
        close_link(redis);
        return false;
    }
    redisSetTimeout(redis->link, bound);
    reply = redisCommand(redis->link, "AUTH %s %s", HFT_OWN_USER,
                         HFT_OWN_PASSWORD);
    welcome = reply != NULL && reply->type == REDIS_REPLY_STATUS;
    freeReplyObject(reply);
    if (!welcome) {
        close_link(redis);
    }
    return welcome;
}

void hft_redis_drop(struct hft_redis *redis)
{
    pthread_mutex_lock(&redis->mutex);
    close_link(redis);
    pthread_mutex_unlock(&redis->mutex);
}

void hft_redis_free(struct hft_redis *redis)
{
    size_t i;

    if (redis == NULL) {
        return;
    }
    close_link(redis);
    for (i = 0; i < LENT_TEXTS; i++) {
        free(redis->lent[i]);
    }
    free(redis->socket_path);
    pthread_mutex_destroy(&redis->mutex);
    free(redis);
}

bool hft_redis_answers(struct hft_redis *redis)
{
    redisReply *reply = NULL;
    bool pong;

    pthread_mutex_lock(&redis->mutex);
    if (redis->link != NULL || open_link(redis)) {
        reply = redisCommand(redis->link, "PING");
    }
    /* While it loads its data, the answer is an error. */
    pong = reply != NULL && reply->type == REDIS_REPLY_STATUS;
    freeReplyObject(reply);
    if (!pong) {
        close_link(redis);
    }
    pthread_mutex_unlock(&redis->mutex);
    return pong;
}

/* Run one command; the mutex is held.  Returned, free with freeReplyObject. */
static redisReply *run(struct hft_redis *redis, const char *format,
                       va_list args)
{
    redisReply *reply;

    if (redis->link == NULL && !open_link(redis)) {
        hft_die("%s: the server is not there for: %s", redis->socket_path,
                format);
    }
    reply = redisvCommand(redis->link, format, args);
    if (reply == NULL) {
        hft_die("%s: %s: %s", redis->socket_path, format, redis->link->errstr);
    }
    return reply;
}

/* The integer in a text, if that is all there is. */
static bool read_int(const char *text, int64_t *ret_value)
{
    char *end;
    long long value = strtoll(text, &end, 10);

    if (end == text || *end != '\0') {
        return false;
    }
    *ret_value = value;
    return true;
}

static int64_t int_of(const redisReply *reply, const char *format)
{
    int64_t value = 1;

    switch (reply->type) {
    case REDIS_REPLY_INTEGER:
        return reply->integer;
    case REDIS_REPLY_NIL:
        return HFT_NIL;
    case REDIS_REPLY_ARRAY:
        return (int64_t)reply->elements;
    case REDIS_REPLY_STATUS:
        return value;
    default:
        if (reply->type != REDIS_REPLY_STRING ||
            !read_int(reply->str, &value)) {
            hft_die("%s: not an integer: %s", format, reply->str);
        }
        return value;
    }
}

/* Append a reply's text, elements with spaces between. */
static char *join(char *so_far, const redisReply *reply)
{
    char *longer = so_far;
    size_t i;

    if (reply->type == REDIS_REPLY_ARRAY) {
        for (i = 0; i < reply->elements; i++) {
            longer = join(longer, reply->element[i]);
        }
        return longer;
    }
    if (reply->type == REDIS_REPLY_INTEGER) {
        longer = hft_format("%s%s%lld", so_far, *so_far != '\0' ? " " : "",
                            reply->integer);
    } else {
        longer = hft_format("%s%s%s", so_far, *so_far != '\0' ? " " : "",
                            reply->type == REDIS_REPLY_NIL ? "(nil)"
                                                           : reply->str);
    }
    free(so_far);
    return longer;
}

/* Keep a text for as long as it is lent. */
static const char *lend(struct hft_redis *redis, char *text)
{
    char **place = &redis->lent[redis->next_lent++ % LENT_TEXTS];

    free(*place);
    *place = text;
    return text;
}

static int64_t int_command(struct hft_server *server, const char *format,
                           va_list args)
{
    struct hft_redis *redis = hft_server_own_view(server);
    redisReply *reply;
    int64_t value;

    pthread_mutex_lock(&redis->mutex);
    reply = run(redis, format, args);
    value = int_of(reply, format);
    freeReplyObject(reply);
    pthread_mutex_unlock(&redis->mutex);
    return value;
}

int64_t hft_int(struct hft_server *server, const char *format, ...)
{
    va_list args;
    int64_t value;

    va_start(args, format);
    value = int_command(server, format, args);
    va_end(args);
    return value;
}

const char *hft_str(struct hft_server *server, const char *format, ...)
{
    struct hft_redis *redis = hft_server_own_view(server);
    const char *text = NULL;
    redisReply *reply;
    va_list args;

    va_start(args, format);
    pthread_mutex_lock(&redis->mutex);
    reply = run(redis, format, args);
    if (reply->type != REDIS_REPLY_NIL) {
        text = lend(redis, join(hft_copy_text(""), reply));
    }
    freeReplyObject(reply);
    pthread_mutex_unlock(&redis->mutex);
    va_end(args);
    return text;
}

bool hft_wait_int(struct hft_server *server, int64_t expected, int64_t bound_ms,
                  const char *format, ...)
{
    int64_t end_ms = hft_now_ms() + bound_ms;
    va_list args;
    va_list again;
    bool seen;

    va_start(args, format);
    for (;;) {
        va_copy(again, args);
        seen = int_command(server, format, again) == expected;
        va_end(again);
        if (seen || hft_now_ms() >= end_ms) {
            break;
        }
        hft_let_pass_ms(1);
    }
    va_end(args);
    return seen;
}

int64_t hft_calls(struct hft_server *server, const char *command)
{
    char *label = hft_format("cmdstat_%s:calls=", command);
    const char *stats = hft_str(server, "INFO commandstats");
    const char *found = strcasestr(stats, label);
    int64_t calls = 0;

    if (found != NULL) {
        calls = strtoll(found + strlen(label), NULL, 10);
    }
    free(label);
    return calls;
}

void hft_reset_calls(struct hft_server *server)
{
    (void)hft_int(server, "CONFIG RESETSTAT");
}

/* What is waited for: a number that a server tells. */
struct awaited {
    struct hft_server *server;
    const char *what;
    int64_t number;
};

static bool enough_calls(void *context)
{
    const struct awaited *awaited = context;

    return hft_calls(awaited->server, awaited->what) >= awaited->number;
}

bool hft_wait_calls(struct hft_server *server, const char *command,
                    int64_t at_least, int64_t bound_ms)
{
    struct awaited awaited = {server, command, at_least};

    return hft_wait_until(enough_calls, &awaited, bound_ms);
}

int64_t hft_channels(struct hft_server *server, const char *pattern)
{
    return hft_int(server, "PUBSUB CHANNELS %s", pattern);
}

bool hft_wait_channels(struct hft_server *server, int64_t expected,
                       int64_t bound_ms)
{
    return hft_wait_int(server, expected, bound_ms, "PUBSUB CHANNELS");
}

int64_t hft_subscribers(struct hft_server *server, const char *channel)
{
    const char *answer = hft_str(server, "PUBSUB NUMSUB %s", channel);

    /* The answer is the channel and the number: the number is last. */
    return strtoll(strrchr(answer, ' ') + 1, NULL, 10);
}

int64_t hft_links(struct hft_server *server, const char *type)
{
    const char *at = hft_str(server, "CLIENT LIST TYPE %s", type);
    int64_t count = 0;

    for (; *at != '\0'; at++) {
        count += *at == '\n';
    }
    return strcmp(type, "normal") == 0 ? count - 1 : count;
}

static bool so_many_links(void *context)
{
    const struct awaited *awaited = context;

    return hft_links(awaited->server, awaited->what) == awaited->number;
}

bool hft_wait_links(struct hft_server *server, const char *type,
                    int64_t expected, int64_t bound_ms)
{
    struct awaited awaited = {server, type, expected};

    return hft_wait_until(so_many_links, &awaited, bound_ms);
}

int64_t hft_kill_links(struct hft_server *server, const char *type)
{
    return hft_int(server, "CLIENT KILL TYPE %s SKIPME yes", type);
}
