-- SPDX-License-Identifier: MIT
-- semaphore_show: how many permits are available, and how many clients wait.
--
-- KEYS[1]  the semaphore (string: how many permits are available)
-- ARGV[1]  the channel that waiters subscribe to
--
-- Returns {ttl in ms (-1: none, -2: no such semaphore), available, subscribed
-- clients}.
local value = redis.call('get', KEYS[1])
if value and not string.find(value, '^%-?%d+$') then
    return redis.error_reply('WRONGTYPE the value is no number of permits')
end
local available = tonumber(value or 0)
local waiting = redis.pcall('pubsub', 'numsub', ARGV[1])
return {redis.call('pttl', KEYS[1]), available, tonumber(waiting[2]) or 0}
