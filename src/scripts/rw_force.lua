-- SPDX-License-Identifier: MIT
-- rw_force: take a read-write lock away, in one of its modes: from everybody
-- who has it so, or from one reader.
--
-- KEYS[1]  the lock (hash: mode, and owner -> hold count)
-- ARGV[1]  the owner field that was seen
-- ARGV[2]  not_after, in the server's ms
-- ARGV[3]  the channel that waiters subscribe to
-- ARGV[4]  the message: 0 if readers are meant, 1 if the writer is
-- ARGV[5]  how the hold keys of that one reader begin, up to their number; ""
--          for everybody
--
-- Returns nil if it was done, the TTL of the hash (-2: none) if that owner does
-- not have it, {now} if the copy came too late to run.
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if now >= tonumber(ARGV[2]) then
    return {now}
end
local count = redis.call('hget', KEYS[1], ARGV[1])
local mode = redis.call('hget', KEYS[1], 'mode')
if not count or mode ~= (ARGV[4] == '1' and 'write' or 'read') then
    return redis.call('pttl', KEYS[1])
end
if ARGV[5] ~= '' then
    for hold = 1, math.min(tonumber(count) or 1, 1000) do
        redis.call('del', ARGV[5] .. hold)
    end
    redis.call('hdel', KEYS[1], ARGV[1])
end
if ARGV[5] == '' or redis.call('hlen', KEYS[1]) == 1 then
    redis.call('del', KEYS[1])
    redis.pcall('publish', ARGV[3], ARGV[4])
end
return nil
