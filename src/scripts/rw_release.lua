-- SPDX-License-Identifier: MIT
-- rw_release: end one hold of a read-write lock, whatever its count: its
-- release, its undo, and its release before min_hold is over, when the field of
-- a number that nobody has comes in its place.
--
-- KEYS[1]  the lock (hash: mode, and owner -> hold count)
-- KEYS[2]  a reader's hold key.  A writer's: where waiting writers say so, if
--          readers give way to them
-- KEYS[3]  the hold key of a reader's stand-in
-- ARGV[1]  our owner field, "uuid:number" or "uuid:number:write"
-- ARGV[2]  the channel that waiters subscribe to
-- ARGV[3]  the message: 0 from a reader, 1 from a writer
-- ARGV[4]  how the hold keys of all readers begin: "{name}:"
-- ARGV[5]  "undo", or "release"
-- ARGV[6]  the stand-in's field, if there is one
-- ARGV[7]  what remains of min_hold, ms
--
-- Returns nil if it was done, else (the field was gone) -2, or the TTL of the
-- hash if somebody writes.  An undo returns the server's time in ms.
--
-- The TTL of the hash becomes that of the longest hold key that is left; with
-- none left the hash goes: a dead reader keeps nothing.  While somebody else
-- writes it is left alone.  A server too full for the new mode keeps the old
-- one: then nobody comes in until the reader who wrote has left.
--
-- In a crowd each release would ask about everybody.  So the TTL stays if our
-- own hold key was not what it comes from, or as soon as another is found that
-- has two thirds of it.
local CROWD, MANY, SLACK = 64, 1000, 1000
local writes = ARGV[3] == '1'

local function longest_of(field, count, ttl)
    local most = 0
    if count > MANY then
        return ttl
    end
    for hold = 1, count do
        most = math.max(most, redis.call('pttl', ARGV[4] .. field ..
                                         ':rwlock_timeout:' .. hold))
    end
    return most
end

local function longest(ttl, others)
    local crowded = others > CROWD
    local most, cursor = 0, '0'
    if crowded and not writes and
       redis.call('pttl', KEYS[2]) + SLACK < ttl then
        return ttl
    end
    repeat
        local step = redis.call('hscan', KEYS[1], cursor, 'count', 16)
        cursor = step[1]
        for i = 1, #step[2], 2 do
            local count = tonumber(step[2][i + 1]) or 0
            most = math.max(most, longest_of(step[2][i], count, ttl))
            if crowded and most * 3 >= ttl * 2 then
                return math.max(most, ttl)
            end
        end
    until cursor == '0'
    return most
end

-- Those that are left keep it for as long as they have it; true: waiters ask.
local function settle(mode)
    local others = redis.call('hlen', KEYS[1]) - 1
    if others == 0 then
        redis.call('del', KEYS[1])
        return true
    end
    if mode == 'write' and not writes then
        return false
    end
    local ttl = redis.call('pttl', KEYS[1])
    local most = longest(ttl, others)
    if most == 0 then
        redis.call('del', KEYS[1])
        return true
    end
    if writes then
        redis.pcall('hset', KEYS[1], 'mode', 'read')
    end
    if most ~= ttl then
        redis.call('pexpire', KEYS[1], most)
    end
    return writes
end

-- False on a server that is too full, and for a writer who reads on.
local function stand_in()
    if writes and redis.call('hlen', KEYS[1]) > 1 then
        return false
    end
    if not writes and redis.pcall('set', KEYS[3], 1, 'px', ARGV[7]).err then
        return false
    end
    if type(redis.pcall('hset', KEYS[1], ARGV[6], 1)) ~= 'number' then
        return false
    end
    if writes then
        redis.call('pexpire', KEYS[1], ARGV[7])
    end
    return true
end

local mode = redis.call('hget', KEYS[1], 'mode')
local ended = redis.call('hdel', KEYS[1], ARGV[1]) == 1
local tell = false
if writes and KEYS[2] and redis.call('get', KEYS[2]) == ARGV[1] then
    tell = redis.call('del', KEYS[2]) == 1
end
local stands = ended and ARGV[6] and stand_in()
if stands then
    tell = true
end
if ended and not (stands and writes) and settle(mode) then
    tell = true
end
if not writes then
    redis.call('del', KEYS[2])
end
if tell then
    redis.pcall('publish', ARGV[2], ARGV[3])
end
if ARGV[5] == 'undo' then
    local time = redis.call('time')
    return time[1] * 1000 + math.floor(time[2] / 1000)
end
if not ended then
    return mode == 'read' and -2 or redis.call('pttl', KEYS[1])
end
return nil
