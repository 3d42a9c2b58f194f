-- SPDX-License-Identifier: MIT
-- lock_force: take a lock away from the owner that was seen to have it.
--
-- KEYS[1]  the lock (hash: owner -> hold count)
-- ARGV[1]  the owner field that was seen, "uuid:number"
-- ARGV[2]  not_after, in the server's ms
-- ARGV[3]  the channel that waiters subscribe to
--
-- Returns nil if it is free now, the key's TTL (-2: none) if that owner does
-- not have it, {now} if the copy came too late to run.
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if now >= tonumber(ARGV[2]) then
    return {now}
end
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
    return redis.call('pttl', KEYS[1])
end
redis.call('del', KEYS[1])
redis.pcall('publish', ARGV[3], '0')
return nil
