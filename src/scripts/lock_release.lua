-- SPDX-License-Identifier: MIT
-- lock_release: end a hold, whatever its count, and wake a waiter.
--
-- KEYS[1]  the lock (hash: owner -> hold count)
-- ARGV[1]  our owner field, "uuid:number"
-- ARGV[2]  the channel that waiters subscribe to
--
-- A message is a hint: that it may not be published (an ACL) stops nothing.
-- Returns nil if it is free now, else (the field was gone) the key's TTL in ms:
-- -2 if there is no key, else somebody else's.
if redis.call('hdel', KEYS[1], ARGV[1]) == 0 then
    return redis.call('pttl', KEYS[1])
end
redis.pcall('publish', ARGV[2], '0')
return nil
