-- SPDX-License-Identifier: MIT
-- permits_show: how many permits are available, how many are out, and how many
-- clients wait.  Writes nothing: what has ended counts as available.
-- part: permits
--
-- KEYS[1]  the permits (string: how many are available)
-- KEYS[2]  those that are out (sorted set: id -> the server's ms of its end)
-- ARGV[1]  the channel that waiters subscribe to
-- ARGV[2]  the id of a permit whose lease is asked for; empty: of none
--
-- Returns {ttl in ms (-1: none, -2: no such permits), available, out,
-- subscribed clients, what is left of that lease in ms (-1: it never ends, -2:
-- there is no such permit)}.
local value, wrong = permits.value()
if wrong then
    return wrong
end
local now = permits.clock()
local ended = redis.call('zcount', KEYS[2], 0, now)
local out = redis.call('zcard', KEYS[2]) - ended
local waiting = redis.pcall('pubsub', 'numsub', ARGV[1])
local ends = tonumber(redis.call('zscore', KEYS[2], ARGV[2]) or 0)
local lease = ends > now and ends - now or -2
if ends >= 922337203685477 then
    lease = -1
end
return {redis.call('pttl', KEYS[1]), value and tonumber(value) + ended or 0,
        out, tonumber(waiting[2]) or 0, lease}
