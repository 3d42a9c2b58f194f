-- SPDX-License-Identifier: MIT
-- A mistake, planted to see it caught by the simulated world:
-- a new hold has the token of the one before.
local ttl = redis.call('pttl', KEYS[1])
if ttl ~= -2 and redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
    return ttl
end
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if now >= tonumber(ARGV[3]) then
    return {now}
end
if ttl == -2 then
    redis.call('hset', KEYS[1], ARGV[1], 1)
end
if ttl < tonumber(ARGV[2]) then
    redis.call('pexpire', KEYS[1], ARGV[2])
end
return {'token', redis.call('get', KEYS[2]) or redis.call('incr', KEYS[2])}
