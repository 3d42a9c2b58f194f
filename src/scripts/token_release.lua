-- SPDX-License-Identifier: MIT
-- token_release: end a hold, and wake a waiter.
--
-- group: 1 2
--
-- KEYS[1]  the lock (string: the holder's token)
-- ARGV[1]  our token, "uuid:number"
-- ARGV[2]  the channel that our waiters subscribe to
--
-- Returns nil if it is free now, else the key's TTL in ms: -2 if there is none,
-- else somebody else's.
if redis.call('get', KEYS[1]) ~= ARGV[1] then
    return redis.call('pttl', KEYS[1])
end
redis.call('del', KEYS[1])
redis.pcall('publish', ARGV[2], '0')
return nil
