-- SPDX-License-Identifier: MIT
-- lock_enter_counting: a re-entry that takes a new fencing token, as Redisson
-- does.
--
-- KEYS[1]  the lock (hash: owner -> hold count)
-- KEYS[2]  the token (string: the newest that was given)
-- ARGV[1]  our owner field, "uuid:number"
-- ARGV[2]  the hold count as the owner has it
-- ARGV[3]  lease, ms; 0 extends nothing
-- ARGV[4]  1: a token that is missing begins at the server's time in us
-- ARGV[5]  how long the token is kept after this, ms; 0: for ever
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
if token == 1 and ARGV[4] == '1' then
    local time = redis.call('time')
    token = string.format('%.0f', time[1] * 1000000 + time[2])
    redis.call('set', KEYS[2], token)
end
if ARGV[5] ~= '0' then
    redis.call('pexpire', KEYS[2], ARGV[5])
end
redis.pcall('hset', KEYS[1], ARGV[1], ARGV[2])
local lease = tonumber(ARGV[3])
if lease > 0 and redis.call('pttl', KEYS[1]) < lease then
    redis.call('pexpire', KEYS[1], ARGV[3])
end
return {'token', token}
