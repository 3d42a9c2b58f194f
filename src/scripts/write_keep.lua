-- SPDX-License-Identifier: MIT
-- write_keep: continue a write hold.  Re-entry, partial release, renewal and
-- extension are all this: they say what the count is to be, extend, and never
-- create.
-- group: 1 3
--
-- KEYS[1]  the lock (hash: mode, and owner -> hold count)
-- ARGV[1]  our owner field, "uuid:number:write"
-- ARGV[2]  the hold count as the owner has it
-- ARGV[3]  lease, ms; 0 extends nothing
--
-- Returns nil if it was done, else (the field is gone) -2, or the TTL of the
-- hash if somebody writes.  That readers have it is no more than "gone": they
-- came in because it was.
local count = redis.call('hget', KEYS[1], ARGV[1])
if not count then
    if redis.call('hget', KEYS[1], 'mode') == 'read' then
        return -2
    end
    return redis.call('pttl', KEYS[1])
end
if count ~= ARGV[2] then
    redis.pcall('hset', KEYS[1], ARGV[1], ARGV[2])
end
local lease = tonumber(ARGV[3])
if lease > 0 and redis.call('pttl', KEYS[1]) < lease then
    redis.call('pexpire', KEYS[1], ARGV[3])
end
return nil
