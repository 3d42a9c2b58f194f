-- SPDX-License-Identifier: MIT
-- fair_show: who holds a fair lock, and who waits for it, for people.
--
-- KEYS[1]  the lock (hash: owner -> hold count)
-- KEYS[2]  the queue; KEYS[3] its scores; KEYS[4..7] ours (fair_queue)
-- KEYS[8]  the newest fencing token (string), if the lock is fenced
-- ARGV[1]  how many waiters to show at most
--
-- Returns {ttl in ms, owner field, hold count, how many wait, token (0: none),
-- and for each of the first ones: owner field, 1 if it is ours, in how many ms
-- it counts as dead if nothing is heard of it}; -2, "", "0" if nobody holds it.
-- Changes nothing.
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local shown = {-2, '', '0', redis.call('llen', KEYS[2]),
               KEYS[8] and redis.call('get', KEYS[8]) or '0'}
local holder = redis.call('hscan', KEYS[1], 0, 'count', 10)[2]
if holder[1] then
    shown[1] = redis.call('pttl', KEYS[1])
    shown[2], shown[3] = holder[1], holder[2]
end
for _, owner in ipairs(redis.call('lrange', KEYS[2], 0, ARGV[1] - 1)) do
    local ours = redis.call('zscore', KEYS[4], owner)
    local dead = ours or redis.call('zscore', KEYS[3], owner) or now
    shown[#shown + 1] = owner
    shown[#shown + 1] = ours and 1 or 0
    shown[#shown + 1] = math.max(dead - now, 0)
end
return shown
