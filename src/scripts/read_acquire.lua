-- SPDX-License-Identifier: MIT
-- read_acquire: take a read lock for a number that holds nothing yet.
--
-- KEYS[1]  the lock (hash: mode, and owner -> hold count)
-- KEYS[2]  our hold key, which has our lease as its TTL
-- KEYS[3]  where waiting writers say so; only if we give way to them
-- ARGV[1]  our owner field, "uuid:number"
-- ARGV[2]  lease, ms
-- ARGV[3]  not_after: past it, in the server's ms, nothing is taken
-- ARGV[4]  the field with which our owner writes, "uuid:number:write"; or ""
--
-- Returns nil if the number reads (also when an earlier copy took it: the count
-- is left alone, the lease only ever extended), an integer if it has to wait
-- (ms of the lease in its way; -1: without end), {now} if the copy came too
-- late.  The effect of Redisson's read lock (docs/wire/read-write.md).
--
-- A lock that is free is for the writer who waits, but not for long: he may be
-- dead.
local TO_COME = 500
local ttl = redis.call('pttl', KEYS[1])
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local late = now >= tonumber(ARGV[3])
local fresh, writes = true, false
if ttl ~= -2 then
    local mode = redis.call('hget', KEYS[1], 'mode')
    fresh = redis.call('hexists', KEYS[1], ARGV[1]) == 0
    writes = mode == 'write' and redis.call('hexists', KEYS[1], ARGV[4]) == 1
    if fresh and mode ~= 'read' and not writes then
        return ttl
    end
end
if fresh and not writes and KEYS[3] then
    local announced = redis.call('pttl', KEYS[3])
    if ttl == -2 and announced > TO_COME and not late then
        announced = TO_COME
        redis.call('pexpire', KEYS[3], TO_COME)
    end
    if announced > 0 then
        return announced
    end
end
if late then
    return {now}
end
local lease = tonumber(ARGV[2])
if fresh or redis.call('pttl', KEYS[2]) < lease then
    redis.call('set', KEYS[2], 1, 'px', ARGV[2])
end
if ttl == -2 then
    redis.call('hset', KEYS[1], 'mode', 'read', ARGV[1], 1)
elseif fresh then
    redis.call('hset', KEYS[1], ARGV[1], 1)
end
if ttl < lease then
    redis.call('pexpire', KEYS[1], ARGV[2])
end
return nil
