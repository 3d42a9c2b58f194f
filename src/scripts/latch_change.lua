-- SPDX-License-Identifier: MIT
-- latch_change: arm a latch, count it down, or delete it.
--
-- KEYS[1]  the latch (string: how many are still to come)
-- KEYS[2]  the request's record
-- KEYS[3]  which request armed the latch last; ours alone
-- KEYS[4]  and on: records of earlier requests that nobody will read again
-- ARGV[1]  what to do: set (if there is no such latch), down, delete
-- ARGV[2]  the count to set
-- ARGV[3]  not_after: past it, in the server's ms, nothing is done
-- ARGV[4]  how long beyond not_after the record is kept, ms
-- ARGV[5]  the channel that waiters subscribe to
-- ARGV[6]  the request's id
--
-- Returns an integer when it is done (also by an earlier copy): how many are
-- still to come, or 1 of set and delete.  Returns nil if set finds a latch, or
-- delete none; {now} if the copy came too late to run or the request was
-- fenced.
if #KEYS > 3 then
    redis.call('del', unpack(KEYS, 4))
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
    return redis.error_reply('WRONGTYPE the value is no count')
end
local count = tonumber(value or 0)
if verb == 'set' and value then
    return nil
end
local kept = ARGV[3] - now + ARGV[4]
if verb == 'delete' and not value then
    redis.call('set', KEYS[2], 'none', 'px', kept)
    return nil
end
local answer = 1
if verb == 'down' then
    answer = math.max(count - 1, 0)
end
redis.call('set', KEYS[2], string.format('%.0f', answer), 'px', kept)
local done
if verb == 'set' then
    done = redis.pcall('set', KEYS[1], ARGV[2])
elseif verb == 'down' and count > 1 then
    done = redis.pcall('decr', KEYS[1])
elseif value then
    done = redis.pcall('del', KEYS[1])
end
if type(done) == 'table' and done.err then
    redis.call('del', KEYS[2])
    return done
end
if verb == 'set' then
    redis.call('set', KEYS[3], ARGV[6], 'px', ARGV[4])
    redis.pcall('publish', ARGV[5], '1')
elseif verb == 'delete' then
    redis.pcall('publish', ARGV[5], '1')
elseif count == 1 then
    redis.pcall('publish', ARGV[5], '0')
end
return answer
