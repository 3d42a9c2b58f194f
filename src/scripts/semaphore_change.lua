-- SPDX-License-Identifier: MIT
-- semaphore_change: what adds or removes permits and cannot be taken back.
--
-- KEYS[1]  the semaphore (string: how many permits are available)
-- KEYS[2]  the request's record
-- KEYS[3]  and on: records of earlier requests that nobody will read again
-- ARGV[1]  what to do: release, return (a release if the semaphore exists),
--          set (if it does not exist), add, drain, delete
-- ARGV[2]  how many permits
-- ARGV[3]  not_after: past it, in the server's ms, nothing is done
-- ARGV[4]  how long beyond not_after the record is kept, ms
-- ARGV[5]  the channel that waiters subscribe to
-- ARGV[6]  a TTL for a new semaphore, ms; 0: none
--
-- Returns an integer when it is done (also by an earlier copy): the permits
-- that were drained, 1 of set and delete, else those that are available now.
-- Returns nil if set finds a semaphore, or return and delete find none; {now}
-- if the copy came too late to run or the request was fenced.
if #KEYS > 2 then
    redis.call('del', unpack(KEYS, 3))
end
local verb = ARGV[1]
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local record = redis.call('get', KEYS[2])
if record == 'none' then
    return nil
end
if record == 'fenced' or (not record and now >= tonumber(ARGV[3])) then
    return {now}
end
if record then
    return tonumber(record)
end
local value = redis.call('get', KEYS[1])
if value and not string.find(value, '^%-?%d+$') then
    return redis.error_reply('WRONGTYPE the value is no number of permits')
end
local available = tonumber(value or 0)
if verb == 'set' and value then
    return nil
end
local kept = ARGV[3] - now + ARGV[4]
if not value and (verb == 'return' or verb == 'delete') then
    redis.call('set', KEYS[2], 'none', 'px', kept)
    return nil
end
local answer = available + ARGV[2]
if verb == 'set' or verb == 'delete' then
    answer = 1
elseif verb == 'drain' then
    answer = available
end
redis.call('set', KEYS[2], string.format('%.0f', answer), 'px', kept)
local done
if verb == 'release' or verb == 'return' then
    done = redis.pcall('incrby', KEYS[1], ARGV[2])
elseif verb == 'set' and ARGV[6] ~= '0' then
    done = redis.pcall('set', KEYS[1], ARGV[2], 'px', ARGV[6])
elseif verb == 'set' then
    done = redis.pcall('set', KEYS[1], ARGV[2])
elseif verb == 'add' then
    done = redis.pcall('set', KEYS[1], string.format('%.0f', answer))
elseif verb == 'delete' then
    done = redis.pcall('del', KEYS[1])
elseif value then
    done = redis.pcall('set', KEYS[1], '0')
end
if type(done) == 'table' and done.err then
    redis.call('del', KEYS[2])
    return done
end
if verb == 'set' then
    redis.pcall('publish', ARGV[5], ARGV[2])
elseif verb ~= 'drain' and verb ~= 'delete' then
    redis.pcall('publish', ARGV[5], string.format('%.0f', answer))
end
return answer
