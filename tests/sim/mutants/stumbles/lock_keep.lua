-- SPDX-License-Identifier: MIT
-- A mistake, planted to see it caught by the simulated world:
-- a number is compared with a text, and the script stumbles.
local count = redis.call('hget', KEYS[1], ARGV[1])
if not count then
    return redis.call('pttl', KEYS[1])
end
if count ~= ARGV[2] then
    redis.pcall('hset', KEYS[1], ARGV[1], ARGV[2])
end
if redis.call('pttl', KEYS[1]) < ARGV[3] then
    redis.call('pexpire', KEYS[1], ARGV[3])
end
return nil
