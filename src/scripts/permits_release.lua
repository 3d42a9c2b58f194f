-- SPDX-License-Identifier: MIT
-- permits_release: give a permit back, and wake waiters.
-- part: permits
--
-- KEYS[1]  the permits (string: how many are available)
-- KEYS[2]  those that are out (sorted set: id -> the server's ms of its end)
-- ARGV[1]  the permit's id, 16 bytes
-- ARGV[2]  the channel that waiters subscribe to
-- ARGV[3]  "release" or "undo"
--
-- A release returns nil if the permit was out, else -2.  An undo returns the
-- server's time in ms: what was sent with an earlier not_after cannot run any
-- more.  A message is a hint: that it may not be published (an ACL) stops
-- nothing.
local out = redis.call('zrem', KEYS[2], ARGV[1]) == 1
if out then
    permits.back(1, ARGV[2])
end
if ARGV[3] == 'undo' then
    return permits.clock()
end
if out then
    return nil
end
return -2
