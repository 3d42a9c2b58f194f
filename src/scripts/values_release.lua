-- SPDX-License-Identifier: MIT
-- values_release: end a hold of values, whatever its count, and wake waiters.
-- part: values
--
-- KEYS[1]  the group of values (hash)
-- ARGV[1]  our owner, "uuid:number"
-- ARGV[2]  the channel that waiters subscribe to
-- ARGV[3]  the values' fields
-- ARGV[4]  "release" or "undo"
-- ARGV[5]  of a hold whose min_hold is not over: the field of a number that
--          nobody has, which comes in its place
-- ARGV[6]  what remains of min_hold, ms
--
-- A release returns nil if all were ours, else -2, or how long others have
-- theirs, in ms; those that were ours are free either way.  An undo returns the
-- server's time.  A message is a hint: that it may not be published (an ACL)
-- stops nothing.
local now = values.clock()
local last = values.others_until(ARGV[3], ARGV[1])
local left, missing = 0, 0
values.each(ARGV[3], function(field)
    if redis.call('hget', KEYS[1], field) ~= ARGV[1] then
        missing = missing + 1
        return
    end
    values.drop(field, ARGV[1])
    left = left + 1
    if ARGV[5] then
        local other = field .. ':' .. ARGV[5]
        redis.pcall('hset', KEYS[1], field, ARGV[5], other .. ':expire_time',
                    now + ARGV[6], other .. ':lock_count', 1)
    end
end)
if ARGV[5] and left > 0 and
   redis.call('pttl', KEYS[1]) < tonumber(ARGV[6]) then
    redis.call('pexpire', KEYS[1], ARGV[6])
end
if left > 0 then
    redis.pcall('publish', ARGV[2], '0')
end
if ARGV[4] == 'undo' then
    return now
end
if missing == 0 then
    return nil
end
return last > now and last - now or -2
