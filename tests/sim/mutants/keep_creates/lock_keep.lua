-- SPDX-License-Identifier: MIT
-- A mistake, planted to see it caught by the simulated world:
-- what finds its field gone puts it back, if the lock is free.
if redis.call('exists', KEYS[1]) == 1 and
    redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
    return redis.call('pttl', KEYS[1])
end
redis.call('hset', KEYS[1], ARGV[1], ARGV[2])
local lease = tonumber(ARGV[3])
if redis.call('pttl', KEYS[1]) < lease then
    redis.call('pexpire', KEYS[1], lease)
end
return nil
