-- SPDX-License-Identifier: MIT
-- lock_show: who holds a lock, for people.
--
-- KEYS[1]  the lock (hash: owner -> hold count)
-- ARGV[1]  the channel that waiters subscribe to
--
-- Returns {ttl in ms, owner field, hold count, subscribed clients}; -2, "", "0"
-- if nobody holds it.
local waiting = redis.pcall('pubsub', 'numsub', ARGV[1])
local heard = tonumber(waiting[2]) or 0
local holder = redis.call('hscan', KEYS[1], 0, 'count', 10)[2]
if not holder[1] then
    return {-2, '', '0', heard}
end
return {redis.call('pttl', KEYS[1]), holder[1], holder[2], heard}
