-- SPDX-License-Identifier: MIT
-- lock_enter_counting: a re-entry that takes a new fencing token, as Redisson's.
--
-- KEYS[1]  the lock (hash: owner -> hold count)
-- KEYS[2]  the token (string: the newest that was given)
-- ARGV[1]  our owner field, "uuid:number"
-- ARGV[2]  the hold count as the owner has it
-- ARGV[3]  lease, ms; 0 extends nothing
--
-- Returns {'token', n} if it was done, else (the field is gone) the key's TTL
-- in ms, as lock_keep.  Run twice it only skips a token.
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
    return redis.call('pttl', KEYS[1])
end
local token = redis.pcall('incr', KEYS[2])
if type(token) == 'table' then
    return token
end
redis.pcall('hset', KEYS[1], ARGV[1], ARGV[2])
local lease = tonumber(ARGV[3])
if lease > 0 and redis.call('pttl', KEYS[1]) < lease then
    redis.call('pexpire', KEYS[1], ARGV[3])
end
return {'token', token}
