-- SPDX-License-Identifier: MIT
-- lock_scan: one step of a walk through the locks on a server, for people.
--
-- ARGV[1]  the cursor: 0, or what the last step returned
-- ARGV[2]  a pattern for names
-- ARGV[3]  the opening of a channel's name
--
-- Returns {cursor, name, owner field, hold count, ttl in ms, who waits, the
-- next name ...}.  A hash counts as a lock if its first field is an owner's and
-- it is not what a fair lock knows of its queue.  Who waits is a subscribed
-- client, or stands in that queue.  The keys are found by SCAN, so they cannot
-- be declared.
local owner = '^%x+%-%x+%-%x+%-%x+%-%x+:%d+$'
local aside = 'holdfast_fair_waits:'
local step = redis.call('scan', ARGV[1], 'match', ARGV[2], 'count', 100,
                        'type', 'hash')
local found = {step[1]}
for _, name in ipairs(step[2]) do
    local holder = redis.call('hscan', name, 0, 'count', 10)[2]
    if holder[1] and string.find(holder[1], owner) and
       string.sub(name, 1, #aside) ~= aside then
        local braced = '{' .. name .. '}'
        if string.find(name, '{', 1, true) then
            braced = name
        end
        local channel = ARGV[3] .. ':' .. braced
        local waiting = redis.pcall('pubsub', 'numsub', channel)
        local queued = redis.pcall('llen', 'redisson_lock_queue:' .. braced)
        queued = type(queued) == 'number' and queued or 0
        found[#found + 1] = name
        found[#found + 1] = holder[1]
        found[#found + 1] = holder[2]
        found[#found + 1] = redis.call('pttl', name)
        found[#found + 1] = (tonumber(waiting[2]) or 0) + queued
    end
end
return found
