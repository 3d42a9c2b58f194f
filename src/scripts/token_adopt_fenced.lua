-- SPDX-License-Identifier: MIT
-- token_adopt_fenced: continue a hold that another process wrote out, and learn
-- its fencing token.
--
-- KEYS[1]  the lock (string: the holder's token)
-- KEYS[2]  the fencing token (string: the newest that was given)
-- ARGV[1]  the token, "uuid:number"
-- ARGV[2]  not used: a token lock has no count
-- ARGV[3]  lease, ms; 0 extends nothing
-- ARGV[4]  1: a fencing token that is missing begins at the server's time in us
-- ARGV[5]  how long one that was missing is kept after this, ms; 0: for ever
--
-- Returns {'token', n} if it stands, else the key's TTL in ms, as token_keep.
if redis.call('get', KEYS[1]) ~= ARGV[1] then
    return redis.call('pttl', KEYS[1])
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
