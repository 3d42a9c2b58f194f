-- SPDX-License-Identifier: MIT
-- A mistake, planted to see it caught by the simulated world:
-- the TTL is set to the lease, also where that makes it shorter.
local count = redis.call('hget', KEYS[1], ARGV[1])
if not count then
    return redis.call('pttl', KEYS[1])
end
redis.call('hset', KEYS[1], ARGV[1], ARGV[2])
if tonumber(ARGV[3]) > 0 then
    redis.call('pexpire', KEYS[1], ARGV[3])
end
return nil
