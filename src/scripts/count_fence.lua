-- SPDX-License-Identifier: MIT
-- count_fence: was a request done that cannot be taken back?  If it was not, it
-- never will be.
--
-- KEYS[1]  the counter (a semaphore or a latch); not touched
-- KEYS[2]  the request's record
-- ARGV[1]  the not_after of all its copies
-- ARGV[2]  how long beyond not_after a record is kept, ms
--
-- Returns what the request answered: an integer, or nil; or {now} if no copy
-- of it did anything, and leaves a tombstone that refuses those to come.
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local record = redis.call('get', KEYS[2])
if record == 'none' then
    return nil
end
if record and record ~= 'fenced' then
    return tonumber(record)
end
local kept = ARGV[1] - now + ARGV[2]
if kept > 0 then
    redis.call('set', KEYS[2], 'fenced', 'px', kept)
end
return {now}
