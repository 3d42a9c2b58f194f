-- SPDX-License-Identifier: MIT
-- token_force: take a lock away from the holder that was seen to have it.
--
-- KEYS[1]  the lock (string: the holder's token)
-- ARGV[1]  the token that was seen
-- ARGV[2]  not_after, in the server's ms
-- ARGV[3]  the channel that our waiters subscribe to
--
-- Returns nil if it is free now, the key's TTL (-2: none) if that holder does
-- not have it, {now} if the copy came too late to run.
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if now >= tonumber(ARGV[2]) then
    return {now}
end
if redis.call('get', KEYS[1]) ~= ARGV[1] then
    return redis.call('pttl', KEYS[1])
end
redis.call('del', KEYS[1])
redis.pcall('publish', ARGV[3], '0')
return nil
