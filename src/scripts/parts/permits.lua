-- SPDX-License-Identifier: MIT
-- permits: what the scripts of permits with leases share.
--
-- KEYS[1] is the number of permits that are available, KEYS[2] a sorted set of
-- the ids of those that are out, each with the server's ms at which it ends.
local permits = {}
function permits.clock()
    local time = redis.call('time')
    return time[1] * 1000 + math.floor(time[2] / 1000)
end
-- When a lease that begins now ends.
function permits.ends(now, lease)
    return math.min(now + lease, 922337203685477)
end
-- The ids in an argument: so many, each as long as the others.
function permits.ids(text, count)
    local ids = {}
    local width = #text / count
    for i = 1, tonumber(count) do
        ids[i] = string.sub(text, (i - 1) * width + 1, i * width)
    end
    return ids
end
-- The number as a text, or false; and an error reply if it is none.
function permits.value()
    local value = redis.call('get', KEYS[1])
    if value and not string.find(value, '^%-?%d+$') then
        return value,
               redis.error_reply('WRONGTYPE the value is no number of permits')
    end
    return value, nil
end
-- So many are back, unless the whole was deleted meanwhile.
function permits.back(count, channel)
    if redis.call('exists', KEYS[1]) == 0 then
        return
    end
    local available = redis.pcall('incrby', KEYS[1], count)
    if type(available) == 'number' then
        redis.pcall('publish', channel, string.format('%.0f', available))
    end
end
-- Those whose lease has ended are back.
function permits.sweep(now, channel)
    local ended = redis.call('zremrangebyscore', KEYS[2], 0, now)
    if ended > 0 then
        permits.back(ended, channel)
    end
end
