/* SPDX-License-Identifier: MIT */
/* case_fair_queue.c - what does a turn of a fair lock cost the server, and how
 * does that grow with the queue?
 *
 * A turn: the holder releases, the first in the queue acquires, and the one who
 * released queues again; so the queue is as long after it as before.  The
 * scripts are sent one by one over a bare connection, by nobody in particular;
 * what is counted is the processor time of the server.
 *
 * Floor: the same with scripts that do what Redisson's do, a thousand waiting.
 * Holdfast: ours, with a thousand waiting of whom almost half are Redisson's.
 * Beside that: ours alone, from ten to ten thousand.
 */
#include "bench/bench.h"

#include <hiredis/hiredis.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/floor.h"
#include "bench/rounds.h"
#include "scripts_data.h"

#define TURNS 200
#define TURNS_QUICK 40
#define WAITERS 1000
#define NAME "holdfast-bench:fair-queue"
#define CHANNEL "redisson_lock__channel:{" NAME "}"
#define OURS "11111111-1111-4111-8111-111111111111"
#define JAVA "22222222-2222-4222-8222-222222222222"

/* Nobody counts as dead while a benchmark runs. */
#define ALIVE_MS "86400000"
#define NOT_AFTER "9000000000000"

#define KEYS_3                                                                 \
    NAME " redisson_lock_queue:{" NAME "} redisson_lock_timeout:{" NAME "}"
#define KEYS_7                                                                 \
    KEYS_3 " holdfast_fair_alive:{" NAME "} holdfast_fair_waits:{" NAME "} "   \
           "holdfast_fair_members:{" NAME "} "                                 \
           "holdfast_fair_scratch:{" NAME "}"

/* What Redisson's fair lock does, said in our words. */
static const char java_sweep[] =
    "local now = tonumber(ARGV[1]) "
    "while true do "
    "local head = redis.call('lindex', KEYS[2], 0) "
    "if not head then break end "
    "local score = redis.call('zscore', KEYS[3], head) "
    "if not score or tonumber(score) > now then break end "
    "redis.call('zrem', KEYS[3], head) redis.call('lpop', KEYS[2]) end ";
static const char java_acquire[] =
    "local me = ARGV[2] "
    "if redis.call('exists', KEYS[1]) == 0 and "
    "(redis.call('exists', KEYS[2]) == 0 or "
    "redis.call('lindex', KEYS[2], 0) == me) then "
    "redis.call('lpop', KEYS[2]) redis.call('zrem', KEYS[3], me) "
    "for _, other in ipairs(redis.call('zrange', KEYS[3], 0, -1)) do "
    "redis.call('zincrby', KEYS[3], -300000, other) end "
    "redis.call('hset', KEYS[1], me, 1) "
    "redis.call('pexpire', KEYS[1], 30000) return nil end "
    "if redis.call('zscore', KEYS[3], me) then "
    "return redis.call('pttl', KEYS[1]) end "
    "local last = redis.call('lindex', KEYS[2], -1) "
    "local ttl = last and redis.call('zscore', KEYS[3], last) - now or "
    "redis.call('pttl', KEYS[1]) "
    "if redis.call('zadd', KEYS[3], now + ttl + 300000, me) == 1 then "
    "redis.call('rpush', KEYS[2], me) end return ttl";
static const char java_release[] =
    "if redis.call('exists', KEYS[4]) == 1 then "
    "return tonumber(redis.call('get', KEYS[4])) end "
    "if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then return nil end "
    "redis.call('hincrby', KEYS[1], ARGV[2], -1) redis.call('del', KEYS[1]) "
    "redis.call('set', KEYS[4], 1, 'px', 16000) "
    "local next = redis.call('lindex', KEYS[2], 0) "
    "if next then redis.call('publish', ARGV[3] .. ':' .. next, '0') end "
    "return 1";

struct state {
    struct floor floor;
    size_t turns;
    char acquire[41]; /* digests of the floor's scripts */
    char release[41];
};

/* ---- commands ---- */

/* The answer to a command, which is the caller's; NULL: it failed, and why was
 * said. */
static redisReply *ask(struct state *state, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static redisReply *ask(struct state *state, const char *format, ...)
{
    va_list args;
    redisReply *reply;

    va_start(args, format);
    reply = redisvCommand(state->floor.redis, format, args);
    va_end(args);
    if (reply == NULL || reply->type == REDIS_REPLY_ERROR) {
        (void)bench_failed("fair-queue", reply == NULL
                                             ? state->floor.redis->errstr
                                             : reply->str);
        freeReplyObject(reply);
        return NULL;
    }
    return reply;
}

/* Whether it was answered, and by nothing where it should be (granted, free). */
static bool answered(redisReply *reply, bool by_nothing)
{
    bool ok = reply != NULL && (!by_nothing || reply->type == REDIS_REPLY_NIL);

    if (reply != NULL && !ok) {
        (void)bench_failed("fair-queue", "a turn was not what it should be");
    }
    freeReplyObject(reply);
    return ok;
}

static bool load(struct state *state, const char *text, char ret_sha1[41])
{
    redisReply *reply = ask(state, "SCRIPT LOAD %s", text);

    if (reply == NULL) {
        return false;
    }
    (void)snprintf(ret_sha1, 41, "%s", reply->str);
    freeReplyObject(reply);
    return true;
}

static bool forget(struct state *state)
{
    return answered(ask(state, "DEL " KEYS_7), false);
}

/* ---- ours ---- */

static bool ours_asks(struct state *state, int number, bool granted)
{
    return answered(ask(state,
                        "EVALSHA %s 7 " KEYS_7 " " OURS ":%d 30000 " NOT_AFTER
                        " " CHANNEL " 300000 " ALIVE_MS,
                        hfi_scripts[HFI_SCRIPT_FAIR_ACQUIRE].sha1, number),
                    granted);
}

static bool ours_releases(struct state *state, int number)
{
    return answered(ask(state, "EVALSHA %s 7 " KEYS_7 " " OURS ":%d " CHANNEL,
                        hfi_scripts[HFI_SCRIPT_FAIR_RELEASE].sha1, number),
                    true);
}

/* ---- Redisson's ---- */

static bool java_asks(struct state *state, int number, bool granted)
{
    return answered(ask(state, "EVALSHA %s 3 " KEYS_3 " 1 " JAVA ":%d",
                        state->acquire, number),
                    granted);
}

static bool java_releases(struct state *state, int number)
{
    return answered(ask(state,
                        "EVALSHA %s 4 " KEYS_3 " redisson_unlock_latch:{" NAME
                        "}:%d 1 " JAVA ":%d " CHANNEL,
                        state->release, number, number),
                    false) &&
           answered(
               ask(state, "DEL redisson_unlock_latch:{" NAME "}:%d", number),
               false);
}

/* An entry as a thread in Java makes it, behind all others. */
static bool java_stands(struct state *state, int number, int place)
{
    return answered(ask(state,
                        "ZADD redisson_lock_timeout:{" NAME "} %lld " JAVA
                        ":%d",
                        1000000000000000LL + place * 300000LL, number),
                    false) &&
           answered(ask(state,
                        "RPUSH redisson_lock_queue:{" NAME "} " JAVA ":%d",
                        number),
                    false);
}

/* ---- turns ---- */

struct side_of {
    bool (*asks)(struct state *state, int number, bool granted);
    bool (*releases)(struct state *state, int number);
};

static const struct side_of ours = {ours_asks, ours_releases};
static const struct side_of javas = {java_asks, java_releases};

/* Numbers 0 (holds), 1, 2 ... take turns; how long each turn keeps the server
 * busy. */
static bool take_turns(struct state *state, const struct side_of *side,
                       int waiters, double *ret_us)
{
    double cpu_s = floor_server_cpu_s(&state->floor);
    bool ok = cpu_s >= 0;

    for (size_t i = 0; ok && i < state->turns; i++) {
        int now = (int)i;

        ok = side->releases(state, now) && side->asks(state, now + 1, true) &&
             side->asks(state, now + 1 + waiters, false);
    }
    cpu_s = floor_server_cpu_s(&state->floor) - cpu_s;
    *ret_us = cpu_s * 1e6 / (double)state->turns;
    return ok;
}

static bool measure_queue(struct state *state, const struct side_of *side,
                          int waiters, double *ret_us)
{
    bool ok = forget(state) && side->asks(state, 0, true);

    for (int number = 1; ok && number <= waiters; number++) {
        ok = side->asks(state, number, false);
    }
    return ok && take_turns(state, side, waiters, ret_us) && forget(state);
}

/* As many of ours first as there will be turns, then one of each. */
static bool measure_mixed(void *context, struct sample *ret_sample)
{
    struct state *state = context;
    int first = (int)state->turns;
    bool ok = forget(state) && ours_asks(state, 0, true);
    int number = 1;

    for (int place = 0; ok && place < WAITERS; place++) {
        if (place < first || place % 2 == 0) {
            ok = ours_asks(state, number++, false);
        } else {
            ok = java_stands(state, place, place);
        }
    }
    return ok && take_turns(state, &ours, WAITERS, &ret_sample->value) &&
           forget(state);
}

static bool measure_java(void *context, struct sample *ret_sample)
{
    return measure_queue(context, &javas, WAITERS, &ret_sample->value);
}

/* ---- the case ---- */

static bool set_up(const struct bench_context *context, struct state *state)
{
    static const enum hfi_script_id scripts[] = {HFI_SCRIPT_FAIR_ACQUIRE,
                                                 HFI_SCRIPT_FAIR_RELEASE};
    char text[sizeof(java_sweep) + sizeof(java_acquire)];
    char sha1[41];

    state->turns = context->quick ? TURNS_QUICK : TURNS;
    if (!floor_open(&context->address, &state->floor)) {
        return false;
    }
    for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
        const struct hfi_script *script = &hfi_scripts[scripts[i]];

        if (!load(state, script->text, sha1)) {
            return false;
        }
    }
    (void)snprintf(text, sizeof(text), "%s%s", java_sweep, java_acquire);
    if (!load(state, text, state->acquire)) {
        return false;
    }
    (void)snprintf(text, sizeof(text), "%s%s", java_sweep, java_release);
    return load(state, text, state->release);
}

static bool measure_growth(struct state *state, bool quick,
                           struct bench_result *ret_result)
{
    static const int sizes[] = {10, 100, 1000, 10000};

    for (size_t i = 0; i < (quick ? 3U : 4U); i++) {
        char field[32];
        double us;

        if (!measure_queue(state, &ours, sizes[i], &us)) {
            return false;
        }
        (void)snprintf(field, sizeof(field), "ours_%d_us", sizes[i]);
        bench_extra(ret_result, field, us);
    }
    return true;
}

static bool run(const struct bench_context *context,
                const struct bench_case *self, struct bench_result *ret_result)
{
    enum { REDISSON, MIXED, SIDES };
    struct side sides[SIDES] = {[REDISSON] = {.measure = measure_java},
                                [MIXED] = {.measure = measure_mixed}};
    struct state state = {.turns = 0};
    bool ok = set_up(context, &state) &&
              rounds_run(sides, SIDES, context->rounds, &state) &&
              measure_growth(&state, context->quick, ret_result);

    (void)self;
    if (ok) {
        ret_result->has_floor = true;
        ret_result->floor = sides[REDISSON].middle.value;
        ret_result->holdfast = sides[MIXED].middle.value;
        bench_extra(ret_result, "waiters", WAITERS);
    }
    floor_close(&state.floor);
    return ok;
}

const struct bench_case bench_fair_queue = {
    .name = "fair-queue",
    .unit = "us/turn",
    .better = BENCH_LOWER,
    .threads = 1,
    .run = run,
};
