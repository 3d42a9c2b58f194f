-- SPDX-License-Identifier: MIT
-- lock_scan: one step of a walk through the locks on a server, for people.
--
-- ARGV[1]  the cursor: 0, or what the last step returned
-- ARGV[2]  a pattern for names
-- ARGV[3]  the opening of a channel's name
--
-- Returns {cursor, name, owner field, hold count, ttl in ms, subscribed
-- clients, the next name ...}.  A hash counts as a lock if its first field is
-- an owner's.  The keys are found by SCAN, so they cannot be declared.
local owner = '^%x+%-%x+%-%x+%-%x+%-%x+:%d+$'
local step = redis.call('scan', ARGV[1], 'match', ARGV[2], 'count', 100,
                        'type', 'hash')
local found = {step[1]}
for _, name in ipairs(step[2]) do
    local holder = redis.call('hscan', name, 0, 'count', 10)[2]
    if holder[1] and string.find(holder[1], owner) then
        local channel = ARGV[3] .. ':{' .. name .. '}'
        if string.find(name, '{', 1, true) then
            channel = ARGV[3] .. ':' .. name
        end
        local waiting = redis.pcall('pubsub', 'numsub', channel)
        found[#found + 1] = name
        found[#found + 1] = holder[1]
        found[#found + 1] = holder[2]
        found[#found + 1] = redis.call('pttl', name)
        found[#found + 1] = tonumber(waiting[2]) or 0
    end
end
return found
