-- SPDX-License-Identifier: MIT
-- lock_show_fenced: who holds a lock and with which fencing token, for people.
--
-- KEYS[1]  the lock (hash: owner -> hold count)
-- KEYS[2]  the token (string: the newest that was given)
-- ARGV[1]  the channel that waiters subscribe to
--
-- Returns {ttl in ms, owner field, hold count, subscribed clients, token}; -2,
-- "", "0" if nobody holds it.  The token is the newest that was ever given.
local waiting = redis.pcall('pubsub', 'numsub', ARGV[1])
local heard = tonumber(waiting[2]) or 0
local token = redis.call('get', KEYS[2]) or '0'
local holder = redis.call('hscan', KEYS[1], 0, 'count', 10)[2]
if not holder[1] then
    return {-2, '', '0', heard, token}
end
return {redis.call('pttl', KEYS[1]), holder[1], holder[2], heard, token}
