/* SPDX-License-Identifier: MIT */
/* floor.c - see floor.h.
 *
 * One blocking connection, used by one thread.  Every answer that is not the
 * expected one ends the measurement: a lock that was not taken or an error must
 * not be counted as a fast success.
 */
#include "bench/floor.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "scripts_data.h"

#define TEXT_1(x) #x
#define TEXT(x) TEXT_1(x)

/* So that a server that stops answering ends the benchmark. */
#define ANSWER_LIMIT_S 10

/* Longer than any benchmark runs. */
#define NOT_AFTER_S (24L * 3600)

#define ARGS_MAX (3 + 4 * FLOOR_GROUP_MAX)

/* A command under construction; what it points to is borrowed. */
struct command {
    const char *args[ARGS_MAX];
    size_t lengths[ARGS_MAX];
    int count;
};

static void add(struct command *command, const char *text)
{
    command->args[command->count] = text;
    command->lengths[command->count] = strlen(text);
    command->count++;
}

static void begin(struct command *command, enum hfi_script_id script,
                  const char *keys)
{
    command->count = 0;
    add(command, "EVALSHA");
    add(command, hfi_scripts[script].sha1);
    add(command, keys);
}

static bool append(struct floor *floor, struct command *command)
{
    if (redisAppendCommandArgv(floor->redis, command->count, command->args,
                               command->lengths) != REDIS_OK) {
        return bench_failed("floor", floor->redis->errstr);
    }
    return true;
}

/* The next answer, or NULL after saying why there is none. */
static redisReply *receive(struct floor *floor)
{
    void *reply = NULL;

    if (redisGetReply(floor->redis, &reply) != REDIS_OK || reply == NULL) {
        (void)bench_failed("floor", floor->redis->errstr);
        return NULL;
    }
    return reply;
}

static bool receive_type(struct floor *floor, int type)
{
    redisReply *reply = receive(floor);
    bool ok;

    if (reply == NULL) {
        return false;
    }
    ok = reply->type == type;
    if (!ok) {
        (void)bench_failed("floor", reply->type == REDIS_REPLY_ERROR
                                        ? reply->str
                                        : "an unexpected answer");
    }
    freeReplyObject(reply);
    return ok;
}

static bool append_acquire(struct floor *floor, const struct floor_lock *lock)
{
    struct command command;

    begin(&command, HFI_SCRIPT_LOCK_ACQUIRE, "1");
    add(&command, lock->name);
    add(&command, lock->owner);
    add(&command, TEXT(BENCH_LEASE_MS));
    add(&command, floor->not_after);
    return append(floor, &command);
}

static bool append_release(struct floor *floor, const struct floor_lock *lock)
{
    struct command command;

    begin(&command, HFI_SCRIPT_LOCK_RELEASE, "1");
    add(&command, lock->name);
    add(&command, lock->owner);
    add(&command, lock->channel);
    return append(floor, &command);
}

bool floor_acquire(struct floor *floor, const struct floor_lock *lock)
{
    return append_acquire(floor, lock) && receive_type(floor, REDIS_REPLY_NIL);
}

bool floor_release(struct floor *floor, const struct floor_lock *lock)
{
    return append_release(floor, lock) && receive_type(floor, REDIS_REPLY_NIL);
}

static bool receive_all(struct floor *floor, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!receive_type(floor, REDIS_REPLY_NIL)) {
            return false;
        }
    }
    return true;
}

bool floor_acquire_all(struct floor *floor, const struct floor_lock *locks,
                       size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!append_acquire(floor, &locks[i])) {
            return false;
        }
    }
    return receive_all(floor, count);
}

bool floor_release_all(struct floor *floor, const struct floor_lock *locks,
                       size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!append_release(floor, &locks[i])) {
            return false;
        }
    }
    return receive_all(floor, count);
}

/* Every item was renewed: its result is nil. */
static bool receive_renewals(struct floor *floor, size_t count)
{
    redisReply *reply = receive(floor);
    bool ok;

    if (reply == NULL) {
        return false;
    }
    ok = reply->type == REDIS_REPLY_ARRAY && reply->elements == count;
    for (size_t i = 0; ok && i < count; i++) {
        ok = reply->element[i]->type == REDIS_REPLY_NIL;
    }
    freeReplyObject(reply);
    return ok || bench_failed("floor", "a lease was not renewed");
}

bool floor_renew(struct floor *floor, const struct floor_lock *locks,
                 size_t count)
{
    struct command command;
    char keys[8];

    if (count > FLOOR_GROUP_MAX) {
        return bench_failed("floor", "a group is too large");
    }
    (void)snprintf(keys, sizeof(keys), "%zu", count);
    begin(&command, HFI_SCRIPT_LOCK_KEEP_GROUP, keys);
    for (size_t i = 0; i < count; i++) {
        add(&command, locks[i].name);
    }
    for (size_t i = 0; i < count; i++) {
        add(&command, locks[i].owner);
        add(&command, "1");
        add(&command, TEXT(BENCH_LEASE_MS));
    }
    return append(floor, &command) && receive_renewals(floor, count);
}

static bool send_channel(struct floor *floor, const char *verb,
                         const struct floor_lock *lock)
{
    struct command command = {.count = 0};

    add(&command, verb);
    add(&command, lock->channel);
    return append(floor, &command) && receive_type(floor, REDIS_REPLY_ARRAY);
}

bool floor_subscribe(struct floor *floor, const struct floor_lock *lock)
{
    return send_channel(floor, "SUBSCRIBE", lock);
}

bool floor_await_message(struct floor *floor)
{
    return receive_type(floor, REDIS_REPLY_ARRAY);
}

bool floor_unsubscribe(struct floor *floor, const struct floor_lock *lock)
{
    return send_channel(floor, "UNSUBSCRIBE", lock);
}

bool floor_info(struct floor *floor, const char *section, const char *field,
                char ret_text[64])
{
    redisReply *reply = redisCommand(floor->redis, "INFO %s", section);
    const char *at;
    bool ok = reply != NULL && reply->type == REDIS_REPLY_STRING;

    ret_text[0] = '\0';
    at = ok ? strstr(reply->str, field) : NULL;
    if (at != NULL) {
        at += strlen(field) + 1;
        (void)snprintf(ret_text, 64, "%.*s", (int)strcspn(at, "\r\n"), at);
    }
    if (reply != NULL) {
        freeReplyObject(reply);
    }
    return at != NULL;
}

double floor_server_cpu_s(struct floor *floor)
{
    char user[64];
    char sys[64];

    if (!floor_info(floor, "cpu", "used_cpu_user", user) ||
        !floor_info(floor, "cpu", "used_cpu_sys", sys)) {
        return -1;
    }
    return strtod(user, NULL) + strtod(sys, NULL);
}

/* A command of the connection's set-up; its answer is no error. */
static bool set_up(struct floor *floor, struct command *command)
{
    redisReply *reply = redisCommandArgv(floor->redis, command->count,
                                         command->args, command->lengths);
    bool ok = reply != NULL && reply->type != REDIS_REPLY_ERROR;

    if (!ok) {
        (void)bench_failed("floor",
                           reply != NULL ? reply->str : floor->redis->errstr);
    }
    if (reply != NULL) {
        freeReplyObject(reply);
    }
    return ok;
}

static bool log_in(struct floor *floor, const struct address *address)
{
    struct command auth = {.count = 0};
    struct command select = {.count = 0};
    char database[16];

    if (address->password != NULL) {
        add(&auth, "AUTH");
        if (address->user != NULL) {
            add(&auth, address->user);
        }
        add(&auth, address->password);
        if (!set_up(floor, &auth)) {
            return false;
        }
    }
    (void)snprintf(database, sizeof(database), "%d", address->database);
    add(&select, "SELECT");
    add(&select, database);
    return set_up(floor, &select);
}

static bool load_scripts(struct floor *floor)
{
    static const enum hfi_script_id scripts[] = {HFI_SCRIPT_LOCK_ACQUIRE,
                                                 HFI_SCRIPT_LOCK_RELEASE,
                                                 HFI_SCRIPT_LOCK_KEEP_GROUP};

    for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
        struct command command = {.count = 0};

        add(&command, "SCRIPT");
        add(&command, "LOAD");
        add(&command, hfi_scripts[scripts[i]].text);
        if (!set_up(floor, &command)) {
            return false;
        }
    }
    return true;
}

static bool choose_not_after(struct floor *floor)
{
    redisReply *reply = redisCommand(floor->redis, "TIME");
    bool ok = reply != NULL && reply->type == REDIS_REPLY_ARRAY &&
              reply->elements == 2;

    if (ok) {
        (void)snprintf(floor->not_after, sizeof(floor->not_after), "%ld000",
                       strtol(reply->element[0]->str, NULL, 10) + NOT_AFTER_S);
    }
    if (reply != NULL) {
        freeReplyObject(reply);
    }
    return ok || bench_failed("floor", "the server does not say the time");
}

bool floor_open(const struct address *address, struct floor *ret_floor)
{
    struct timeval limit = {ANSWER_LIMIT_S, 0};
    struct floor floor = {NULL, ""};

    floor.redis = address->path != NULL
                      ? redisConnectUnixWithTimeout(address->path, limit)
                      : redisConnectWithTimeout(address->host, address->port,
                                                limit);
    *ret_floor = floor;
    if (floor.redis == NULL) {
        return bench_failed("floor", "out of memory");
    }
    if (floor.redis->err != 0) {
        return bench_failed("floor", floor.redis->errstr);
    }
    (void)redisSetTimeout(floor.redis, limit);
    return log_in(ret_floor, address) && load_scripts(ret_floor) &&
           choose_not_after(ret_floor);
}

void floor_close(struct floor *floor)
{
    if (floor->redis != NULL) {
        redisFree(floor->redis);
    }
    floor->redis = NULL;
}

struct floor_lock *floor_locks_new(const char *prefix, size_t count)
{
    struct floor_lock *locks = calloc(count, sizeof(*locks));

    if (locks == NULL) {
        (void)bench_failed("floor", "out of memory");
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        struct floor_lock *lock = &locks[i];

        (void)snprintf(lock->name, sizeof(lock->name), "%.40s:%06zu", prefix,
                       i);
        (void)snprintf(lock->channel, sizeof(lock->channel),
                       "redisson_lock__channel:{%.64s}", lock->name);
        (void)snprintf(lock->owner, sizeof(lock->owner),
                       "6f1e7c2a-9d4b-4e0f-8a53-2b7c90d1e684:%zu", i + 1);
    }
    return locks;
}
