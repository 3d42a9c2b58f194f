/* SPDX-License-Identifier: MIT */
/* java_rw.c - what a Java program does to a read-write lock; see java_rw.h.
 *
 * Written down from the protocol's description (its section 5), not from
 * anybody's scripts: which keys and fields change, which TTL is set, what is
 * published.
 */
#include "java_rw.h"

#include <stdio.h>
#include <string.h>

#include "world.h"

static const char *braced(const char *name)
{
    static char text[4][256];
    static int turn;

    turn = (turn + 1) % 4;
    snprintf(text[turn], sizeof(text[turn]),
             strchr(name, '{') != NULL ? "%s" : "{%s}", name);
    return text[turn];
}

const char *hold_key(const char *name, const char *field, int hold)
{
    static char text[4][512];
    static int turn;

    turn = (turn + 1) % 4;
    snprintf(text[turn], sizeof(text[turn]), "%s:%s:rwlock_timeout:%d",
             braced(name), field, hold);
    return text[turn];
}

int64_t java_reads(struct world *w, const char *name, const char *holder,
                   int64_t lease_ms)
{
    return hft_int(
        w->server, "EVAL %s 1 %s %s %lld %s:",
        "local lock, me, lease = KEYS[1], ARGV[1], ARGV[2] "
        "local mode = redis.call('hget', lock, 'mode') "
        "local mine = redis.call('hexists', lock, me .. ':write') == 1 "
        "if mode == 'write' and not mine then "
        "  return redis.call('pttl', lock) end "
        "local before = redis.call('pttl', lock) "
        "if not mode then redis.call('hset', lock, 'mode', 'read') end "
        "local nth = redis.call('hincrby', lock, me, 1) "
        "redis.call('set', ARGV[3] .. me .. ':rwlock_timeout:' .. nth, 1, "
        "           'px', lease) "
        "redis.call('pexpire', lock, math.max(before, tonumber(lease))) "
        "return nil",
        name, holder, (long long)lease_ms, braced(name));
}

int64_t java_ends_reading(struct world *w, const char *name, const char *holder)
{
    return hft_int(
        w->server, "EVAL %s 1 %s %s redisson_rwlock:%s %s:",
        "local lock, me, keys = KEYS[1], ARGV[1], ARGV[3] "
        "local mode = redis.call('hget', lock, 'mode') "
        "if not mode then redis.call('publish', ARGV[2], 0) return nil end "
        "if redis.call('hexists', lock, me) == 0 then return nil end "
        "local left = redis.call('hincrby', lock, me, -1) "
        "if left == 0 then redis.call('hdel', lock, me) end "
        "redis.call('del', keys .. me .. ':rwlock_timeout:' .. left + 1) "
        "if redis.call('hlen', lock) > 1 then "
        "  local most = -3 "
        "  for _, field in ipairs(redis.call('hkeys', lock)) do "
        "    local n = tonumber(redis.call('hget', lock, field)) or 0 "
        "    for i = n, 1, -1 do most = math.max(most, redis.call('pttl', "
        "      keys .. field .. ':rwlock_timeout:' .. i)) end "
        "  end "
        "  if most > 0 then redis.call('pexpire', lock, most) return 0 end "
        "  if mode == 'write' then return 0 end "
        "end "
        "redis.call('del', lock) redis.call('publish', ARGV[2], 0) return 1",
        name, holder, braced(name), braced(name));
}

int64_t java_writes(struct world *w, const char *name, const char *holder,
                    int64_t lease_ms)
{
    return hft_int(
        w->server, "EVAL %s 1 %s %s:write %lld",
        "local lock, me, lease = KEYS[1], ARGV[1], tonumber(ARGV[2]) "
        "local mode = redis.call('hget', lock, 'mode') "
        "if not mode then "
        "  redis.call('hset', lock, 'mode', 'write', me, 1) "
        "  redis.call('pexpire', lock, lease) return nil end "
        "if mode == 'write' and redis.call('hexists', lock, me) == 1 then "
        "  redis.call('hincrby', lock, me, 1) "
        "  redis.call('pexpire', lock, redis.call('pttl', lock) + lease) "
        "  return nil end "
        "return redis.call('pttl', lock)",
        name, holder, (long long)lease_ms);
}

int64_t java_ends_writing(struct world *w, const char *name, const char *holder)
{
    return hft_int(
        w->server, "EVAL %s 1 %s %s:write redisson_rwlock:%s",
        "local lock, me = KEYS[1], ARGV[1] "
        "local mode = redis.call('hget', lock, 'mode') "
        "if not mode then redis.call('publish', ARGV[2], 1) return nil end "
        "if redis.call('hexists', lock, me) == 0 then return nil end "
        "if redis.call('hincrby', lock, me, -1) > 0 then "
        "  redis.call('pexpire', lock, 30000) return 0 end "
        "redis.call('hdel', lock, me) "
        "if redis.call('hlen', lock) == 1 then "
        "  redis.call('del', lock) redis.call('publish', ARGV[2], 1) "
        "else redis.call('hset', lock, 'mode', 'read') end "
        "return 1",
        name, holder, braced(name));
}

int64_t java_renews_reading(struct world *w, const char *name,
                            const char *holder, int64_t period_ms)
{
    return hft_int(w->server, "EVAL %s 1 %s %s %lld %s:",
                   "local lock, me, keys = KEYS[1], ARGV[1], ARGV[3] "
                   "local n = tonumber(redis.call('hget', lock, me)) "
                   "if not n then return 0 end "
                   "for i = n, 1, -1 do redis.call('pexpire', "
                   "  keys .. me .. ':rwlock_timeout:' .. i, ARGV[2]) end "
                   "redis.call('pexpire', lock, ARGV[2]) return 1",
                   name, holder, (long long)period_ms, braced(name));
}

int64_t java_sees_reading(struct world *w, const char *name)
{
    return hft_int(w->server, "EVAL %s 1 %s",
                   "local mode = redis.call('hget', KEYS[1], 'mode') "
                   "return (mode == 'read' or mode == 'write' and "
                   "redis.call('hlen', KEYS[1]) > 2) and 1 or 0",
                   name);
}

int64_t java_sees_writing(struct world *w, const char *name)
{
    return hft_int(w->server, "EVAL %s 1 %s",
                   "return redis.call('hget', KEYS[1], 'mode') == 'write' "
                   "and 1 or 0",
                   name);
}
