-- SPDX-License-Identifier: MIT
-- A mistake, planted to see it caught by the simulated world:
-- the last release takes one from the count, and deletes the field at zero.
local count = redis.call('hget', KEYS[1], ARGV[1])
if not count then
    return redis.call('pttl', KEYS[1])
end
if redis.call('hincrby', KEYS[1], ARGV[1], -1) <= 0 then
    redis.call('del', KEYS[1])
    redis.call('publish', ARGV[2], '0')
end
return nil
