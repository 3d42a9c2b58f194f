-- SPDX-License-Identifier: MIT
-- write_acquire_fenced: write_acquire, with a fencing token that only grows.
--
-- KEYS[1]  the lock (hash: mode, and owner -> hold count)
-- KEYS[2]  the token (string: the newest that was given)
-- KEYS[3]  where waiting writers say so; only if readers are to give way
-- ARGV[1]  our owner field, "uuid:number:write"
-- ARGV[2]  lease, ms
-- ARGV[3]  not_after: past it, in the server's ms, a free lock is not taken
-- ARGV[4]  1: a token that is missing begins at the server's time in us
-- ARGV[5]  how long the token is kept after this, ms; 0: for ever
-- ARGV[6]  with KEYS[3]: for how long readers shall give way, ms; 0: not at all
--
-- Returns as write_acquire, but {'token', n} where that says nil.  A copy that
-- finds its number there answers the token that it was given, unless that key
-- ended before the hold did.  docs/wire/fenced.md, docs/wire/read-write.md.
local ttl = redis.call('pttl', KEYS[1])
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local late = now >= tonumber(ARGV[3])
if ttl ~= -2 and redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
    if KEYS[3] and not late and ARGV[6] ~= '0' then
        redis.pcall('set', KEYS[3], ARGV[1], 'px', ARGV[6])
    end
    return ttl
end
if late then
    return {now}
end
local token = ttl ~= -2 and redis.call('get', KEYS[2])
if not token then
    token = redis.pcall('incr', KEYS[2])
    if type(token) == 'table' then
        return token
    end
    if token == 1 and ARGV[4] == '1' then
        token = string.format('%.0f', time[1] * 1000000 + time[2])
        redis.call('set', KEYS[2], token)
    end
    if ARGV[5] ~= '0' then
        redis.call('pexpire', KEYS[2], ARGV[5])
    end
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
if KEYS[3] and redis.call('get', KEYS[3]) == ARGV[1] then
    redis.call('del', KEYS[3])
end
return {'token', token}
