-- SPDX-License-Identifier: MIT
-- permits_lease: set the lease of a permit, also to a shorter one.
-- part: permits
--
-- KEYS[1]  the permits (string: how many are available); not touched
-- KEYS[2]  those that are out (sorted set: id -> the server's ms of its end)
-- ARGV[1]  the permit's id, 16 bytes
-- ARGV[2]  lease, ms; 922337203685477 or more: it never ends
-- ARGV[3]  not_after: past it, in the server's ms, nothing is changed
--
-- Returns the server's time in ms if it was done, -2 if the permit is not out
-- any more, {now} if the copy came too late to run.
local now = permits.clock()
if now >= tonumber(ARGV[3]) then
    return {now}
end
local score = tonumber(redis.call('zscore', KEYS[2], ARGV[1]) or 0)
if score <= now then
    return -2
end
redis.call('zadd', KEYS[2], permits.ends(now, ARGV[2]), ARGV[1])
return now
