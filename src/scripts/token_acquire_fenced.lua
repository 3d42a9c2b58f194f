-- SPDX-License-Identifier: MIT
-- token_acquire_fenced: token_acquire, with a fencing token that only grows.
--
-- KEYS[1]  the lock (string: the holder's token)
-- KEYS[2]  the fencing token (string: the newest that was given)
-- ARGV[1]  our token, "uuid:number"
-- ARGV[2]  lease, ms
-- ARGV[3]  not_after: past it, in the server's ms, a free lock is not taken
-- ARGV[4]  1: a fencing token that is missing begins at the server's time in us
-- ARGV[5]  how long the fencing token is kept after this, ms; 0: for ever
--
-- Returns as token_acquire, but {'token', n} where that says nil.
local holder = redis.call('get', KEYS[1])
if holder and holder ~= ARGV[1] then
    local ttl = redis.call('pttl', KEYS[1])
    if string.find(holder, '^%x+%-%x+%-%x+%-%x+%-%x+:%d+$') then
        return ttl
    end
    return {'busy', ttl, 1}
end
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if now >= tonumber(ARGV[3]) then
    return {now}
end
local token = holder and redis.call('get', KEYS[2])
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
if not holder then
    redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2])
elseif redis.call('pttl', KEYS[1]) < tonumber(ARGV[2]) then
    redis.call('pexpire', KEYS[1], ARGV[2])
end
return {'token', token}
