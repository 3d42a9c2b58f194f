/* SPDX-License-Identifier: MIT */
/* java_fair.c - a thread of a Java program in the queue of a fair lock.
 *
 * What it does to the server is written down from the protocol's description:
 * it queues with a score behind the last one's, takes those out whose scores
 * are past, subtracts its wait from all who remain when it gets the lock, and
 * from those behind it when it gives up.  It does not listen, it asks often.
 */
#include <stdio.h>
#include <string.h>

#include "sim/world.h"

#define WAITER "0badcafe-0bad-4afe-8bad-cafe0badcafe:7"
#define ASKS_EACH_US 50000

#define SWEEP                                                                  \
    "local n, q, t, me, wait = KEYS[1], KEYS[2], KEYS[3], ARGV[1], ARGV[2] "   \
    "local now, lease = tonumber(ARGV[3]), ARGV[4] "                           \
    "while true do "                                                           \
    "  local head = redis.call('lindex', q, 0) "                               \
    "  local score = head and redis.call('zscore', t, head) "                  \
    "  if not score or tonumber(score) > now then break end "                  \
    "  redis.call('zrem', t, head) redis.call('lpop', q) "                     \
    "end "

static const char asks[] = SWEEP
    "local head = redis.call('lindex', q, 0) "
    "if redis.call('exists', n) == 0 and (not head or head == me) then "
    "  redis.call('lpop', q) redis.call('zrem', t, me) "
    "  for _, other in ipairs(redis.call('zrange', t, 0, -1)) do "
    "    redis.call('zincrby', t, -wait, other) "
    "  end "
    "  redis.call('hset', n, me, 1) redis.call('pexpire', n, lease) "
    "  return 1 "
    "end "
    "if redis.call('zscore', t, me) then return 0 end "
    "local last = redis.call('lindex', q, -1) "
    "local from = last and redis.call('zscore', t, last) or "
    "             redis.call('pttl', n) + now "
    "redis.call('zadd', t, from + wait, me) "
    "redis.call('rpush', q, me) "
    "return 0";

static const char lets_go[] = SWEEP
    "if redis.call('hexists', n, me) == 1 then redis.call('del', n) end "
    "local head = redis.call('lindex', q, 0) "
    "if head and redis.call('exists', n) == 0 then "
    "  redis.call('publish', ARGV[5] .. head, 0) "
    "end "
    "return 1";

static const char gives_up[] =
    "local q, t, me, wait = KEYS[2], KEYS[3], ARGV[1], ARGV[2] "
    "local behind = false "
    "for _, other in ipairs(redis.call('lrange', q, 0, -1)) do "
    "  if behind then redis.call('zincrby', t, -wait, other) end "
    "  behind = behind or other == me "
    "end "
    "redis.call('zrem', t, me) redis.call('lrem', q, 0, me) "
    "return 1";

/* True: it was done. */
static bool run(struct sim_world *world, int lock, const char *script)
{
    struct sim_lock *record = &world->locks[lock];
    char channel[128], wait[24], now[24], lease[24];
    const char *reply;

    snprintf(channel, sizeof(channel), "%s:", record->names.channel);
    snprintf(wait, sizeof(wait), "%lld",
             (long long)record->options.queue_wait_ms);
    snprintf(now, sizeof(now), "%lld", (long long)sim_server_ms(world));
    snprintf(lease, sizeof(lease), "%lld", (long long)record->java_hold_ms);
    reply = sim_server_run(world->server, sim_server_ms(world), "EVAL", script,
                           "3", record->name, record->names.queue,
                           record->names.scores, WAITER, wait, now, lease,
                           channel, NULL);
    sim_images_read(world);
    /* Whom it makes the first by a sweep it does not tell. */
    for (size_t i = 0; i < SIM_GATES; i++) {
        record->gate[i].told_us = -1;
    }
    return strcmp(reply, ":1\r\n") == 0;
}

static void lets_it_go(struct sim_world *world, void *who, int64_t arg)
{
    struct sim_lock *lock = &world->locks[arg];

    (void)who;
    if (!world->server_up || world->server_paused_us > world->now_us) {
        sim_at(world, world->now_us + ASKS_EACH_US, lets_it_go, NULL, arg);
        return;
    }
    SIM_SAY(world, "Java  lets %s go", lock->name);
    (void)run(world, (int)arg, lets_go);
    lock->java = SIM_JAVA_AWAY;
}

static void turn(struct sim_world *world, void *who, int64_t arg)
{
    struct sim_lock *lock = &world->locks[arg];

    (void)who;
    if (lock->java != SIM_JAVA_WAITS) {
        return; /* it was killed */
    }
    if (!world->server_up || world->server_paused_us > world->now_us) {
        sim_at(world, world->now_us + ASKS_EACH_US, turn, NULL, arg);
    } else if (world->ending || world->now_us >= lock->java_until_us) {
        SIM_SAY(world, "Java  waits for %s no more", lock->name);
        (void)run(world, (int)arg, gives_up);
        lock->java = SIM_JAVA_AWAY;
    } else if (run(world, (int)arg, asks)) {
        SIM_SAY(world, "Java  has %s", lock->name);
        lock->java = SIM_JAVA_HOLDS;
        /* Sometimes not before its lease has ended. */
        sim_at(world, world->now_us + lock->java_hold_ms * 900, lets_it_go,
               NULL, arg);
    } else {
        sim_at(world, world->now_us + ASKS_EACH_US, turn, NULL, arg);
    }
}

bool sim_java_waits(struct sim_world *world, int lock, int64_t patience_ms,
                    int64_t hold_ms)
{
    struct sim_lock *record = &world->locks[lock];

    if (record->sort != SIM_FAIR || record->foreign ||
        record->java != SIM_JAVA_AWAY) {
        return false;
    }
    SIM_SAY(world, "Java  wants %s", record->name);
    record->java = SIM_JAVA_WAITS;
    record->java_until_us = world->now_us + patience_ms * 1000;
    record->java_hold_ms = hold_ms;
    turn(world, NULL, lock);
    return true;
}

void sim_java_is_killed(struct sim_world *world, int lock)
{
    SIM_SAY(world, "Java  is killed");
    world->locks[lock].java = SIM_JAVA_AWAY;
}

bool sim_is_javas(const char *owner, size_t len)
{
    return len == strlen(WAITER) && memcmp(owner, WAITER, len) == 0;
}
