-- SPDX-License-Identifier: MIT
-- values_force: take values away from whoever has them, or from one owner.
-- part: values
--
-- KEYS[1]  the group of values (hash)
-- ARGV[1]  the owner, "uuid:number"; "": any
-- ARGV[2]  not_after, in the server's ms
-- ARGV[3]  the channel that waiters subscribe to
-- ARGV[4]  the values' fields
--
-- Returns nil if one was held and none is now (of that owner's), -2 if none
-- was, {now} if the copy came too late to run.
local now = values.clock()
if now >= tonumber(ARGV[2]) then
    return {now}
end
local taken = 0
values.each(ARGV[4], function(field)
    local owner = redis.call('hget', KEYS[1], field)
    if owner and (ARGV[1] == '' or owner == ARGV[1]) then
        values.drop(field, owner)
        taken = taken + 1
    end
end)
if taken == 0 then
    return -2
end
redis.pcall('publish', ARGV[3], '0')
return nil
