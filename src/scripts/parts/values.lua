-- SPDX-License-Identifier: MIT
-- values: what the scripts of values locks share.
--
-- A value's field has its owner; beside it stand F:owner:expire_time, in the
-- server's ms, and F:owner:lock_count.  `list` has the fields one after the
-- other, 22 bytes each.
local values = {}
function values.each(list, visit)
    for at = 1, #list, 22 do
        visit(string.sub(list, at, at + 21))
    end
end
function values.clock()
    local time = redis.call('time')
    return time[1] * 1000 + math.floor(time[2] / 1000)
end
-- Until when a field is its owner's; 0 if that is not said.
function values.expiry(field, owner)
    return tonumber(redis.call('hget', KEYS[1],
                               field .. ':' .. owner .. ':expire_time')) or 0
end
-- Until when others have a field, at the latest; 0: they have none.
function values.others_until(list, own)
    local last = 0
    values.each(list, function(field)
        local owner = redis.call('hget', KEYS[1], field)
        if owner and owner ~= own then
            last = math.max(last, values.expiry(field, owner))
        end
    end)
    return last
end
function values.drop(field, owner)
    redis.call('hdel', KEYS[1], field, field .. ':' .. owner .. ':expire_time',
               field .. ':' .. owner .. ':lock_count')
end
