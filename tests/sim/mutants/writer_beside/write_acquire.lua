-- SPDX-License-Identifier: MIT
-- A mistake, planted to see it caught by the simulated world:
-- a writer comes in beside readers.
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local mode = redis.call('hget', KEYS[1], 'mode')
if mode == 'write' and redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
    return redis.call('pttl', KEYS[1])
end
if now >= tonumber(ARGV[3]) then
    return {now}
end
redis.call('hset', KEYS[1], 'mode', 'write')
redis.call('hsetnx', KEYS[1], ARGV[1], 1)
if redis.call('pttl', KEYS[1]) < tonumber(ARGV[2]) then
    redis.call('pexpire', KEYS[1], ARGV[2])
end
return nil
