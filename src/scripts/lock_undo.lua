-- SPDX-License-Identifier: MIT
-- lock_undo: see to it that a number holds nothing.
--
-- KEYS[1]  the lock (hash: owner -> hold count)
-- ARGV[1]  the owner field, "uuid:number"
-- ARGV[2]  the channel that waiters subscribe to
--
-- Returns the server's time in ms: what was sent with an earlier not_after
-- cannot run any more.
if redis.call('hdel', KEYS[1], ARGV[1]) == 1 then
    redis.pcall('publish', ARGV[2], '0')
end
local time = redis.call('time')
return time[1] * 1000 + math.floor(time[2] / 1000)
