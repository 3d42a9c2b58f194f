-- SPDX-License-Identifier: MIT
-- rw_show: who holds a read-write lock, for people.
--
-- KEYS[1]  the lock (hash: mode, and owner -> hold count)
-- KEYS[2]  the fencing token, of a lock that has them
-- ARGV[1]  the channel that waiters subscribe to
-- ARGV[2]  "read" or "write": whose holder is to be named, if both hold
--
-- Returns {ttl in ms, owner field, hold count, subscribed clients, mode, how
-- many read, the newest token}; -2, "", "0", clients, "", 0, token if nobody
-- holds it.  Of more than a hundred readers one of the first hundred is named.
local waiting = redis.pcall('pubsub', 'numsub', ARGV[1])
local heard = tonumber(waiting[2]) or 0
local token = KEYS[2] and redis.call('get', KEYS[2]) or '0'
local mode = redis.call('hget', KEYS[1], 'mode') or ''
local fields = redis.call('hscan', KEYS[1], 0, 'count', 100)[2]
local owner, count
for i = 1, #fields, 2 do
    local writer = string.sub(fields[i], -6) == ':write'
    if fields[i] ~= 'mode' and
       (not owner or writer == (ARGV[2] == 'write')) then
        owner, count = fields[i], fields[i + 1]
    end
end
if not owner then
    return {-2, '', '0', heard, '', 0, token}
end
local readers = redis.call('hlen', KEYS[1]) - 1
if mode == 'write' then
    readers = readers - 1
end
return {redis.call('pttl', KEYS[1]), owner, count, heard, mode, readers, token}
