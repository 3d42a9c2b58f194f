-- SPDX-License-Identifier: MIT
-- lock_scan: one step of a walk through the locks on a server, for people.
--
-- ARGV[1]  the cursor: 0, or what the last step returned
-- ARGV[2]  a pattern for names
-- ARGV[3]  the opening of a channel's name
--
-- Returns {cursor, name, owner field, hold count, ttl in ms, who waits, mode,
-- readers, the next name ...}.  A hash counts as a lock if its first field is
-- an owner's and it is not what a fair lock knows of its queue; as a read-write
-- lock if it has a mode and one of its first fields is an owner's.  Who waits
-- is a subscribed client, or stands in that queue.  The mode is empty, and
-- nobody reads, where there is none.  The keys are found by SCAN, so they
-- cannot be declared.
local owner = '^%x+%-%x+%-%x+%-%x+%-%x+:%d+$'
local aside = 'holdfast_fair_waits:'

-- The first owner of a read-write lock, and how often he has it.
local function first_of(fields)
    for i = 1, #fields, 2 do
        local field = string.gsub(fields[i], ':write$', '')
        if string.find(field, owner) then
            return fields[i], fields[i + 1]
        end
    end
end

local function waiting(name, opening)
    local braced = '{' .. name .. '}'
    if string.find(name, '{', 1, true) then
        braced = name
    end
    local heard = redis.pcall('pubsub', 'numsub', opening .. ':' .. braced)
    local queued = redis.pcall('llen', 'redisson_lock_queue:' .. braced)
    queued = type(queued) == 'number' and queued or 0
    return (tonumber(heard[2]) or 0) + queued
end

local step = redis.call('scan', ARGV[1], 'match', ARGV[2], 'count', 100,
                        'type', 'hash')
local found = {step[1]}
for _, name in ipairs(step[2]) do
    local fields = redis.call('hscan', name, 0, 'count', 10)[2]
    local mode = redis.call('hget', name, 'mode')
    local holder, count, readers, opening = fields[1], fields[2], 0, ARGV[3]
    if mode == 'read' or mode == 'write' then
        holder, count = first_of(fields)
        readers = redis.call('hlen', name) - (mode == 'write' and 2 or 1)
        opening = 'redisson_rwlock'
    else
        holder = holder and string.find(holder, owner) and
                 string.sub(name, 1, #aside) ~= aside and holder
        mode = ''
    end
    if holder then
        found[#found + 1] = name
        found[#found + 1] = holder
        found[#found + 1] = count
        found[#found + 1] = redis.call('pttl', name)
        found[#found + 1] = waiting(name, opening)
        found[#found + 1] = mode
        found[#found + 1] = readers
    end
end
return found
