-- SPDX-License-Identifier: MIT
-- latch_look: how many are still to come?  Changes nothing.
--
-- KEYS[1]  the latch (string: how many are still to come)
-- KEYS[2]  which request armed the latch last; ours alone
-- ARGV[1]  the channel that waiters subscribe to, or nothing
--
-- Returns {count (0: it is open, or there is none), the id of the request that
-- armed it or nothing, subscribed clients (0 without a channel)}.
local value = redis.call('get', KEYS[1])
if value and not string.find(value, '^%-?%d+$') then
    return redis.error_reply('WRONGTYPE the value is no count')
end
local count = math.max(tonumber(value or 0), 0)
local waiting = {}
if ARGV[1] ~= '' then
    waiting = redis.pcall('pubsub', 'numsub', ARGV[1])
end
return {count, redis.call('get', KEYS[2]) or '', tonumber(waiting[2]) or 0}
