-- SPDX-License-Identifier: MIT
-- values_show: who holds values, for people: the first that is held.
-- part: values
--
-- KEYS[1]  the group of values (hash)
-- ARGV[1]  the channel that waiters subscribe to
-- ARGV[2]  the values' fields
--
-- Returns {ms until it ends, owner, hold count, subscribed clients}; -2, "",
-- "0" if none is held.
local waiting = redis.pcall('pubsub', 'numsub', ARGV[1])
local heard = tonumber(waiting[2]) or 0
local now = values.clock()
local found = {-2, '', '0', heard}
values.each(ARGV[2], function(field)
    local owner = redis.call('hget', KEYS[1], field)
    if not owner or found[1] ~= -2 or values.expiry(field, owner) <= now then
        return
    end
    local count = redis.call('hget', KEYS[1],
                             field .. ':' .. owner .. ':lock_count')
    found = {values.expiry(field, owner) - now, owner, count or '0', heard}
end)
return found
