-- SPDX-License-Identifier: MIT
-- semaphore_take: take permits for a request that has not taken any yet.
--
-- KEYS[1]  the semaphore (string: how many permits are available)
-- KEYS[2]  the request's record
-- KEYS[3]  and on: records of earlier requests that nobody will read again
-- ARGV[1]  how many permits
-- ARGV[2]  not_after: past it, in the server's ms, nothing is taken
-- ARGV[3]  how long beyond not_after the record is kept, ms
--
-- Returns nil if the request has its permits (also when an earlier copy took
-- them), an integer if there are too few (how many there are), {now} if the
-- copy came too late to run or the request was undone.  The effect of
-- Redisson's RSemaphore.tryAcquire (docs/wire/semaphore.md).
if #KEYS > 2 then
    redis.call('del', unpack(KEYS, 3))
end
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local record = redis.call('get', KEYS[2])
if record == 'taken' then
    return nil
end
if record or now >= tonumber(ARGV[2]) then
    return {now}
end
local value = redis.call('get', KEYS[1])
if value and not string.find(value, '^%-?%d+$') then
    return redis.error_reply('WRONGTYPE the value is no number of permits')
end
local available = tonumber(value or 0)
if not value or available < tonumber(ARGV[1]) then
    return available
end
redis.call('set', KEYS[2], 'taken', 'px', ARGV[2] - now + ARGV[3])
local left = redis.pcall('decrby', KEYS[1], ARGV[1])
if type(left) == 'table' then
    redis.call('del', KEYS[2])
    return left
end
return nil
