-- SPDX-License-Identifier: MIT
-- lock_acquire_fenced: lock_acquire, with a fencing token that only grows.
--
-- KEYS[1]  the lock (hash: owner -> hold count)
-- KEYS[2]  the token (string: the newest that was given)
-- ARGV[1]  our owner field, "uuid:number"
-- ARGV[2]  lease, ms
-- ARGV[3]  not_after: past it, in the server's ms, a free lock is not taken
-- ARGV[4]  1: a token that is missing begins at the server's time in us, not
--          at 1, so that it grows across the end of its key
-- ARGV[5]  how long the token is kept after this, ms; 0: for ever
--
-- Returns as lock_acquire, but {'token', n} where that says nil.  A copy that
-- finds its number there answers the token that it was given: the counter grows
-- only where the field is made, or where its key ended before the hold did.
-- docs/wire/fenced.md.
local ttl = redis.call('pttl', KEYS[1])
if ttl ~= -2 and redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
    return ttl
end
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if now >= tonumber(ARGV[3]) then
    return {now}
end
local token = ttl ~= -2 and redis.call('get', KEYS[2])
if not token then
    token = redis.pcall('incr', KEYS[2])
    if type(token) == 'table' then
        return token
    end
    if token == 1 and ARGV[4] == '1' then
        token = string.format('%.0f', time[1] * 1000000 + time[2])
        redis.call('set', KEYS[2], token)
    end
    if ARGV[5] ~= '0' then
        redis.call('pexpire', KEYS[2], ARGV[5])
    end
end
if ttl ~= -2 then
    if ttl < tonumber(ARGV[2]) then
        redis.call('pexpire', KEYS[1], ARGV[2])
    end
    return {'token', token}
end
redis.call('hset', KEYS[1], ARGV[1], 1)
local expires = redis.pcall('pexpire', KEYS[1], ARGV[2])
if type(expires) == 'table' then
    redis.call('hdel', KEYS[1], ARGV[1])
    return expires
end
return {'token', token}
