-- SPDX-License-Identifier: MIT
-- token_keep: continue a hold: renewal and extension.  Never creates.
-- group: 1 3
--
-- KEYS[1]  the lock (string: the holder's token)
-- ARGV[1]  our token, "uuid:number"
-- ARGV[2]  not used: a token lock has no count
-- ARGV[3]  lease, ms; 0 extends nothing
--
-- Returns nil if it was done, else the key's TTL in ms: -2 if there is none,
-- else somebody else's.
if redis.call('get', KEYS[1]) ~= ARGV[1] then
    return redis.call('pttl', KEYS[1])
end
local lease = tonumber(ARGV[3])
if lease > 0 and redis.call('pttl', KEYS[1]) < lease then
    redis.call('pexpire', KEYS[1], ARGV[3])
end
return nil
