-- SPDX-License-Identifier: MIT
-- values_keep: continue a hold of values.  Re-entry, partial release, renewal,
-- extension and adoption (of a hold that is imported) are all this: they say
-- what the counts are to be, extend, and never create.
-- part: values
-- group: 1 4
--
-- KEYS[1]  the group of values (hash)
-- ARGV[1]  our owner, "uuid:number"
-- ARGV[2]  the hold count as the owner has it
-- ARGV[3]  lease, ms; 0 extends nothing
-- ARGV[4]  the values' fields
-- ARGV[5]  if there is one, what has ended is not ours any more, even if nobody
--          else took it: whoever wrote the hold out may have counted on that
--
-- Returns nil if it was done, else (one of them is not ours any more) -2, or
-- how long others have theirs, in ms.
local now = values.clock()
local whole = true
values.each(ARGV[4], function(field)
    whole = whole and redis.call('hget', KEYS[1], field) == ARGV[1] and
                (not ARGV[5] or values.expiry(field, ARGV[1]) > now)
end)
if not whole then
    local last = values.others_until(ARGV[4], ARGV[1])
    return last > now and last - now or -2
end
local lease = tonumber(ARGV[3])
values.each(ARGV[4], function(field)
    local mine = field .. ':' .. ARGV[1]
    redis.pcall('hset', KEYS[1], mine .. ':lock_count', ARGV[2])
    if lease > 0 and values.expiry(field, ARGV[1]) < now + lease then
        redis.call('hset', KEYS[1], mine .. ':expire_time', now + lease)
    end
end)
local ttl = redis.call('pttl', KEYS[1])
if lease > 0 and ttl >= 0 and ttl < lease then
    redis.call('pexpire', KEYS[1], ARGV[3])
end
return nil
