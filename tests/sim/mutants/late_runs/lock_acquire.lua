-- SPDX-License-Identifier: MIT
-- A mistake, planted to see it caught by the simulated world:
-- not_after is not looked at.
local ttl = redis.call('pttl', KEYS[1])
if ttl ~= -2 and redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
    return ttl
end
if ttl == -2 then
    redis.call('hset', KEYS[1], ARGV[1], 1)
end
if ttl < tonumber(ARGV[2]) then
    redis.call('pexpire', KEYS[1], ARGV[2])
end
return nil
