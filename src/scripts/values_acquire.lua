-- SPDX-License-Identifier: MIT
-- values_acquire: take all values for a number that holds nothing yet, or none.
-- part: values
--
-- KEYS[1]  the group of values (hash)
-- ARGV[1]  our owner, "uuid:number"
-- ARGV[2]  lease, ms
-- ARGV[3]  not_after: past it, in the server's ms, nothing is taken
-- ARGV[4]  the values' fields
--
-- Returns nil if the number has them (also when an earlier copy took them: the
-- counts are left alone, the lease only ever extended), an integer if another
-- owner has one (ms until the last of these ends), {now} if the copy came too
-- late to run.  The effect of Redisson's faster multi lock, but for the clock.
local now = values.clock()
local last = values.others_until(ARGV[4], ARGV[1])
if last > now then
    return last - now
end
if now >= tonumber(ARGV[3]) then
    return {now}
end
local ttl = redis.call('pttl', KEYS[1])
local ends = now + ARGV[2]
values.each(ARGV[4], function(field)
    local owner = redis.call('hget', KEYS[1], field)
    if owner and owner ~= ARGV[1] then
        values.drop(field, owner)
    end
    local mine = field .. ':' .. ARGV[1]
    if owner ~= ARGV[1] then
        redis.call('hset', KEYS[1], field, ARGV[1],
                   mine .. ':expire_time', ends, mine .. ':lock_count', 1)
    elseif values.expiry(field, ARGV[1]) < ends then
        redis.call('hset', KEYS[1], mine .. ':expire_time', ends)
    end
end)
if ttl == -2 or (ttl >= 0 and ttl < tonumber(ARGV[2])) then
    redis.call('pexpire', KEYS[1], ARGV[2])
end
return nil
