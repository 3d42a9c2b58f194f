/* SPDX-License-Identifier: MIT */
/* java.c - a reader that is a Java program, with its watchdog.
 *
 * What it does to the server is written down from the protocol's description:
 * it counts its holds, has a hold key for each, and its watchdog sets the TTL
 * of the hash to its own period, whatever anybody else was promised.
 */
#include <stdio.h>
#include <string.h>

#include "sim/world.h"

#define HOLDER "0badcafe-0bad-4afe-8bad-cafe0badcafe:7"

static const char reads[] =
    "local lock, me, lease = KEYS[1], ARGV[1], ARGV[2] "
    "local mode = redis.call('hget', lock, 'mode') "
    "if mode and mode ~= 'read' then return 0 end "
    "local before = redis.call('pttl', lock) "
    "if not mode then redis.call('hset', lock, 'mode', 'read') end "
    "local nth = redis.call('hincrby', lock, me, 1) "
    "redis.call('set', ARGV[3] .. nth, 1, 'px', lease) "
    "redis.call('pexpire', lock, math.max(before, tonumber(lease))) "
    "return 1";

static const char renews[] =
    "if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then return 0 end "
    "redis.call('pexpire', ARGV[3] .. 1, ARGV[2]) "
    "redis.call('pexpire', KEYS[1], ARGV[2]) "
    "return 1";

static const char leaves[] =
    "local lock, me = KEYS[1], ARGV[1] "
    "redis.call('del', ARGV[3] .. 1) "
    "if redis.call('hdel', lock, me) == 0 then return 0 end "
    "local most = 0 "
    "for _, field in ipairs(redis.call('hkeys', lock)) do "
    "  local n = tonumber(redis.call('hget', lock, field)) or 0 "
    "  for i = n, 1, -1 do most = math.max(most, redis.call('pttl', "
    "    ARGV[4] .. field .. ':rwlock_timeout:' .. i)) end "
    "end "
    "if most > 0 then redis.call('pexpire', lock, most) return 0 end "
    "redis.call('del', lock) "
    "redis.call('publish', ARGV[5], 0) "
    "return 1";

/* True: it was done. */
static bool run(struct sim_world *world, int lock, const char *script)
{
    const char *name = world->locks[lock].name;
    const char *open = strchr(name, '{') == NULL ? "{" : "";
    const char *shut = *open == '{' ? "}" : "";
    char keys[96], hold_keys[192], channel[96], period[24];
    const char *reply;

    snprintf(keys, sizeof(keys), "%s%s%s:", open, name, shut);
    snprintf(hold_keys, sizeof(hold_keys), "%s%s:rwlock_timeout:", keys,
             HOLDER);
    snprintf(channel, sizeof(channel), "redisson_rwlock:%s%s%s", open, name,
             shut);
    snprintf(period, sizeof(period), "%lld", (long long)world->watchdog_ms);
    reply = sim_server_run(world->server, sim_server_ms(world), "EVAL", script,
                           "1", name, HOLDER, period, hold_keys, keys, channel,
                           NULL);
    sim_images_read(world);
    return strcmp(reply, ":1\r\n") == 0;
}

static void turn(struct sim_world *world, void *who, int64_t arg)
{
    struct sim_lock *lock = &world->locks[arg];
    bool away = !world->server_up || world->server_paused_us > world->now_us;

    (void)who;
    if (away) { /* it tries again */
        sim_at(world, world->now_us + 100000, turn, NULL, arg);
    } else if (world->ending || world->now_us >= lock->java_until_us) {
        SIM_SAY(world, "Java  reads %s no more", lock->name);
        (void)run(world, (int)arg, leaves);
        lock->java_until_us = 0;
    } else if (run(world, (int)arg, renews)) {
        SIM_SAY(world, "Java  renews %s", lock->name);
        sim_at(world, world->now_us + world->watchdog_ms * 1000 / 3, turn, NULL,
               arg);
    } else {
        lock->java_until_us = 0; /* it is gone, and Java is told nothing */
    }
}

bool sim_java_reads(struct sim_world *world, int lock, int64_t for_ms)
{
    struct sim_lock *record = &world->locks[lock];

    if (record->sort != SIM_READ_WRITE || record->foreign ||
        record->java_until_us > 0 || !run(world, lock, reads)) {
        return false;
    }
    SIM_SAY(world, "Java  reads %s", record->name);
    record->java_until_us = world->now_us + for_ms * 1000;
    sim_at(world, world->now_us + world->watchdog_ms * 1000 / 3, turn, NULL,
           lock);
    return true;
}
