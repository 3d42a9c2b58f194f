-- SPDX-License-Identifier: MIT
-- lock_release_later: end a hold whose min_hold is not over.  In its place
-- comes the field of a number that nobody has, for the rest of that time.
--
-- KEYS[1]  the lock (hash: owner -> hold count)
-- ARGV[1]  our owner field, "uuid:number"
-- ARGV[2]  the channel that waiters subscribe to
-- ARGV[3]  the stand-in's field
-- ARGV[4]  what remains of min_hold, ms
--
-- Returns as lock_release.  The only script that makes a TTL shorter: nobody
-- lives on it any more.  Waiters are told, so that they learn the new TTL.  A
-- server too full for the stand-in frees the lock at once.
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
    return redis.call('pttl', KEYS[1])
end
local made = redis.pcall('hset', KEYS[1], ARGV[3], 1)
redis.call('hdel', KEYS[1], ARGV[1])
if type(made) == 'number' then
    redis.call('pexpire', KEYS[1], ARGV[4])
end
redis.pcall('publish', ARGV[2], '0')
return nil
