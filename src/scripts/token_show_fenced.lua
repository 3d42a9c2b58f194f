-- SPDX-License-Identifier: MIT
-- token_show_fenced: who holds a lock and with which fencing token, for people.
--
-- KEYS[1]  the lock (string: the holder's token)
-- KEYS[2]  the fencing token (string: the newest that was given)
-- ARGV[1]  the channel that our waiters subscribe to
--
-- Returns {ttl in ms, token, "1", subscribed clients, fencing token}; -2, "",
-- "0" if nobody holds it.
local waiting = redis.pcall('pubsub', 'numsub', ARGV[1])
local heard = tonumber(waiting[2]) or 0
local newest = redis.call('get', KEYS[2]) or '0'
local holder = redis.call('get', KEYS[1])
if not holder then
    return {-2, '', '0', heard, newest}
end
return {redis.call('pttl', KEYS[1]), holder, '1', heard, newest}
