-- SPDX-License-Identifier: MIT
-- token_show: who holds a lock, for people.
--
-- KEYS[1]  the lock (string: the holder's token)
-- ARGV[1]  the channel that our waiters subscribe to
--
-- Returns {ttl in ms, token, "1", subscribed clients}; -2, "", "0" if nobody
-- holds it.
local waiting = redis.pcall('pubsub', 'numsub', ARGV[1])
local heard = tonumber(waiting[2]) or 0
local holder = redis.call('get', KEYS[1])
if not holder then
    return {-2, '', '0', heard}
end
return {redis.call('pttl', KEYS[1]), holder, '1', heard}
