-- SPDX-License-Identifier: MIT
-- token_undo: see to it that a number holds nothing.
--
-- KEYS[1]  the lock (string: the holder's token)
-- ARGV[1]  the token, "uuid:number"
-- ARGV[2]  the channel that our waiters subscribe to
--
-- Returns the server's time in ms: what was sent with an earlier not_after
-- cannot run any more.
if redis.call('get', KEYS[1]) == ARGV[1] then
    redis.call('del', KEYS[1])
    redis.pcall('publish', ARGV[2], '0')
end
local time = redis.call('time')
return time[1] * 1000 + math.floor(time[2] / 1000)
