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
local ttl = redis.call('pttl', KEYS[1])
local fresh = true
if ttl ~= -2 then
    local mode = redis.call('hget', KEYS[1], 'mode')
    fresh = redis.call('hexists', KEYS[1], ARGV[1]) == 0
    local writes = mode == 'write' and
                   redis.call('hexists', KEYS[1], ARGV[4]) == 1
    if fresh and mode ~= 'read' and not writes then
        return ttl
    end
    if fresh and not writes and KEYS[3] then
        local announced = redis.call('pttl', KEYS[3])
        if announced > 0 then
            return announced
        end
    end
end
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if now >= tonumber(ARGV[3]) then
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
