-- SPDX-License-Identifier: MIT
-- lock_adopt_fenced: continue a hold that another process wrote out, and learn
-- its fencing token.
--
-- KEYS[1]  the lock (hash: owner -> hold count)
-- KEYS[2]  the token (string: the newest that was given)
-- ARGV[1]  the owner field, "uuid:number"
-- ARGV[2]  the hold count as the owner has it
-- ARGV[3]  lease, ms; 0 extends nothing
-- ARGV[4]  1: a token that is missing begins at the server's time in us
-- ARGV[5]  how long one that was missing is kept after this, ms; 0: for ever
--
-- Returns {'token', n} if it stands, else the key's TTL in ms, as lock_keep.
-- While it stands nobody else takes a token; if the token's key ended meanwhile
-- (it has a life of its own), it takes a new one.
local count = redis.call('hget', KEYS[1], ARGV[1])
if not count then
    return redis.call('pttl', KEYS[1])
end
if count ~= ARGV[2] then
    redis.pcall('hset', KEYS[1], ARGV[1], ARGV[2])
end
local lease = tonumber(ARGV[3])
if lease > 0 and redis.call('pttl', KEYS[1]) < lease then
    redis.call('pexpire', KEYS[1], ARGV[3])
end
local token = redis.call('get', KEYS[2])
if not token then
    token = redis.call('incr', KEYS[2])
    if ARGV[4] == '1' then
        local time = redis.call('time')
        token = string.format('%.0f', time[1] * 1000000 + time[2])
        redis.call('set', KEYS[2], token)
    end
    if ARGV[5] ~= '0' then
        redis.call('pexpire', KEYS[2], ARGV[5])
    end
end
return {'token', token}
