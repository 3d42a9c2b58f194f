-- SPDX-License-Identifier: MIT
-- semaphore_undo: see to it that a request to take permits has taken none.
--
-- KEYS[1]  the semaphore (string: how many permits are available)
-- KEYS[2]  the request's record
-- ARGV[1]  how many permits it was for
-- ARGV[2]  the not_after of all its copies
-- ARGV[3]  how long beyond not_after a record is kept, ms
-- ARGV[4]  the channel that waiters subscribe to
--
-- Gives back what was taken, unless the semaphore was deleted meanwhile, and
-- leaves a tombstone that refuses the copies that run after it.  Returns the
-- server's time in ms.
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local kept = ARGV[2] - now + ARGV[3]
local taken = redis.call('get', KEYS[2]) == 'taken'
if kept > 0 then
    redis.call('set', KEYS[2], 'undone', 'px', kept)
else
    redis.call('del', KEYS[2])
end
if taken and redis.call('exists', KEYS[1]) == 1 then
    local available = redis.pcall('incrby', KEYS[1], ARGV[1])
    if type(available) == 'number' then
        redis.pcall('publish', ARGV[4], string.format('%.0f', available))
    end
end
return now
