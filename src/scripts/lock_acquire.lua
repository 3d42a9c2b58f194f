-- SPDX-License-Identifier: MIT
-- lock_acquire: take a lock for a number that holds nothing yet.
--
-- KEYS[1]  the lock (hash: owner -> hold count)
-- ARGV[1]  our owner field, "uuid:number"
-- ARGV[2]  lease, ms
-- ARGV[3]  not_after: past it, in the server's ms, a free lock is not taken
--
-- Returns nil if the number has it (also when an earlier copy took it: the
-- count is left alone, the lease only ever extended), an integer if another
-- owner has it (ms of its lease; -1: without end), {now} if the copy came too
-- late to run.  The effect of Redisson's RLock acquire (docs/wire/rlock.md).
local ttl = redis.call('pttl', KEYS[1])
if ttl ~= -2 and redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
    return ttl
end
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if now >= tonumber(ARGV[3]) then
    return {now}
end
if ttl == -2 then
    redis.call('hset', KEYS[1], ARGV[1], 1)
    local expires = redis.pcall('pexpire', KEYS[1], ARGV[2])
    if type(expires) == 'table' then
        redis.call('hdel', KEYS[1], ARGV[1])
        return expires
    end
elseif ttl < tonumber(ARGV[2]) then
    redis.call('pexpire', KEYS[1], ARGV[2])
end
return nil
