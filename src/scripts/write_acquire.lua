-- SPDX-License-Identifier: MIT
-- write_acquire: take a write lock for a number that holds nothing yet.
--
-- KEYS[1]  the lock (hash: mode, and owner -> hold count)
-- KEYS[2]  where waiting writers say so; only if readers are to give way
-- ARGV[1]  our owner field, "uuid:number:write"
-- ARGV[2]  lease, ms
-- ARGV[3]  not_after: past it, in the server's ms, a free lock is not taken
-- ARGV[4]  with KEYS[2]: for how long readers shall give way, ms; 0: not at all
--
-- Returns as lock_acquire.  The effect of Redisson's write lock
-- (docs/wire/read-write.md), but that a re-entry is write_keep's.
local ttl = redis.call('pttl', KEYS[1])
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local late = now >= tonumber(ARGV[3])
if ttl ~= -2 and redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
    if KEYS[2] and not late and ARGV[4] ~= '0' then
        redis.pcall('set', KEYS[2], ARGV[1], 'px', ARGV[4])
    end
    return ttl
end
if late then
    return {now}
end
if ttl == -2 then
    redis.call('hset', KEYS[1], 'mode', 'write', ARGV[1], 1)
    local expires = redis.pcall('pexpire', KEYS[1], ARGV[2])
    if type(expires) == 'table' then
        redis.call('del', KEYS[1])
        return expires
    end
elseif ttl < tonumber(ARGV[2]) then
    redis.call('pexpire', KEYS[1], ARGV[2])
end
if KEYS[2] and redis.call('get', KEYS[2]) == ARGV[1] then
    redis.call('del', KEYS[2])
end
return nil
