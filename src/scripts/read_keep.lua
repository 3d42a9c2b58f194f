-- SPDX-License-Identifier: MIT
-- read_keep: continue a read hold.  Re-entry, partial release, renewal and
-- extension are all this: they say what the count is to be, extend the hold key
-- and the hash, and create neither.
-- group: 2 3
--
-- KEYS[1]  the lock (hash: mode, and owner -> hold count)
-- KEYS[2]  our hold key
-- ARGV[1]  our owner field, "uuid:number"
-- ARGV[2]  the hold count as the owner has it
-- ARGV[3]  lease, ms; 0 extends the hash to what the hold key has left
--
-- Returns nil if it was done, else (the field or the hold key is gone) -2, or
-- the TTL of the hash if somebody writes.  Others set the TTL of the hash, a
-- Java reader's watchdog to its own period, whatever we asked for: so the hold
-- key has our promise, and the hash is brought up to it each time.
local count = redis.call('hget', KEYS[1], ARGV[1])
local left = count and redis.call('pttl', KEYS[2]) or -2
if left == -2 then
    if redis.call('hget', KEYS[1], 'mode') == 'write' then
        return redis.call('pttl', KEYS[1])
    end
    return -2
end
if count ~= ARGV[2] then
    redis.pcall('hset', KEYS[1], ARGV[1], ARGV[2])
end
local lease = tonumber(ARGV[3])
if left < lease then
    redis.call('pexpire', KEYS[2], ARGV[3])
    left = lease
end
if redis.call('pttl', KEYS[1]) < left then
    redis.call('pexpire', KEYS[1], left)
end
return nil
