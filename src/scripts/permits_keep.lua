-- SPDX-License-Identifier: MIT
-- permits_keep: continue to hold a permit: renewal and extension.  Never
-- creates, never shortens.
-- group: 1 3
--
-- KEYS[1]  the permits that are out (sorted set: id -> the server's ms of its
--          end)
-- ARGV[1]  the permit's id, 16 bytes
-- ARGV[2]  not used: a permit has no count
-- ARGV[3]  lease, ms; 0 extends nothing
--
-- Returns the server's time in ms if it was done, -2 if the permit is not out
-- any more.
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local score = tonumber(redis.call('zscore', KEYS[1], ARGV[1]) or 0)
if score <= now then
    return -2
end
local lease = tonumber(ARGV[3])
if lease > 0 and score < now + lease then
    redis.call('zadd', KEYS[1], now + lease, ARGV[1])
end
return now
