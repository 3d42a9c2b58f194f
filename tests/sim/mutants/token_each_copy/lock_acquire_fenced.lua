-- SPDX-License-Identifier: MIT
-- A mistake, planted to see it caught by the simulated world:
-- each copy of an ACQUIRE takes a token, also one that finds its field there.
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
local token = redis.call('incr', KEYS[2])
if token == 1 and ARGV[4] == '1' then
    token = string.format('%.0f', time[1] * 1000000 + time[2])
    redis.call('set', KEYS[2], token)
end
if ARGV[5] ~= '0' then
    redis.call('pexpire', KEYS[2], ARGV[5])
end
return {'token', token}
