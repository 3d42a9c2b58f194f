-- SPDX-License-Identifier: MIT
-- permits_acquire: take permits for numbers that have none yet: all, or none.
-- part: permits
--
-- KEYS[1]  the permits (string: how many are available)
-- KEYS[2]  those that are out (sorted set: id -> the server's ms of its end)
-- ARGV[1]  the permits' ids, 16 bytes each, one behind the other
-- ARGV[2]  lease, ms; 922337203685477 or more: it never ends
-- ARGV[3]  not_after: past it, in the server's ms, nothing is taken
-- ARGV[4]  the channel that waiters subscribe to
-- ARGV[5]  how many they are
--
-- Returns nil if the numbers have their permits (also when an earlier copy took
-- them: then those that are left are extended, and none is added);
-- {available, ms} if there are too few (ms until the next one that is out ends
-- by its lease; -1: none does); {now} if the copy came too late to run.  The
-- effect of Redisson's RPermitExpirableSemaphore.tryAcquire, but for the clock.
local _, wrong = permits.value()
if wrong then
    return wrong
end
local now = permits.clock()
permits.sweep(now, ARGV[4])
local ends = permits.ends(now, ARGV[2])
local ids = permits.ids(ARGV[1], ARGV[5])
local has_run = false
for _, id in ipairs(ids) do
    local score = redis.call('zscore', KEYS[2], id)
    if score and tonumber(score) < ends then
        redis.call('zadd', KEYS[2], ends, id)
    end
    has_run = has_run or score
end
if has_run then
    return nil
end
if now >= tonumber(ARGV[3]) then
    return {now}
end
local value = redis.call('get', KEYS[1])
local available = tonumber(value or 0)
if available < #ids then
    local next_end = redis.call('zrange', KEYS[2], 0, 0, 'withscores')[2]
    if not next_end or tonumber(next_end) >= 922337203685477 then
        return {available, -1}
    end
    return {available, tonumber(next_end) - now}
end
for _, id in ipairs(ids) do
    redis.call('zadd', KEYS[2], ends, id)
end
local left = redis.pcall('decrby', KEYS[1], #ids)
if type(left) == 'table' then
    redis.call('zrem', KEYS[2], unpack(ids))
    return left
end
local ttl = redis.call('pttl', KEYS[1])
if ttl > 0 then
    redis.call('pexpire', KEYS[2], ttl)
end
return nil
