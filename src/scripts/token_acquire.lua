-- SPDX-License-Identifier: MIT
-- token_acquire: take a token lock for a number that holds nothing yet.
--
-- KEYS[1]  the lock (string: the holder's token)
-- ARGV[1]  our token, "uuid:number"
-- ARGV[2]  lease, ms
-- ARGV[3]  not_after: past it, in the server's ms, a free lock is not taken
--
-- Returns nil if the number has it (also when an earlier copy took it: its
-- lease is only ever extended), the ms of its lease if another client of ours
-- has it, {'busy', ms, 1} if somebody has it who will publish nothing, {now} if
-- the copy came too late to run.  docs/wire/token.md.
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
if not holder then
    redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2])
elseif redis.call('pttl', KEYS[1]) < tonumber(ARGV[2]) then
    redis.call('pexpire', KEYS[1], ARGV[2])
end
return nil
