-- SPDX-License-Identifier: MIT
-- permits_change: what nobody's number stands for: how many permits there are,
-- and permits that others took.
-- part: permits
--
-- KEYS[1]  the permits (string: how many are available)
-- KEYS[2]  those that are out (sorted set: id -> the server's ms of its end)
-- KEYS[3]  the request's record
-- KEYS[4]  and on: records of earlier requests that nobody will read again
-- ARGV[1]  what to do: set (if there are none yet), total (so many in all,
--          those that are out counted), add, delete, free (permits by their
--          ids: all, or none), extend (the lease of one), lease (set it, also
--          to a shorter one)
-- ARGV[2]  how many permits
-- ARGV[3]  not_after: past it, in the server's ms, nothing is done
-- ARGV[4]  how long beyond not_after the record is kept, ms
-- ARGV[5]  the channel that waiters subscribe to
-- ARGV[6]  of set: a TTL, ms, 0: none; of extend and lease: the lease, ms;
--          922337203685477 or more: it never ends
-- ARGV[7]  of free, extend and lease: the permits' ids, 16 bytes each, one
--          behind the other
--
-- Returns an integer when it is done (also by an earlier copy): of add how many
-- are available now, else 1.  Returns nil if set finds permits, delete none, or
-- free, extend and lease miss a permit; {now} if the copy came too late to run
-- or the request was fenced.
if #KEYS > 3 then
    redis.call('del', unpack(KEYS, 4))
end
local verb = ARGV[1]
local now = permits.clock()
local record = redis.call('get', KEYS[3])
if record == 'none' then
    return nil
end
if record == 'fenced' or (not record and now >= tonumber(ARGV[3])) then
    return {now}
end
if record then
    return tonumber(record)
end
local _, wrong = permits.value()
if wrong then
    return wrong
end
permits.sweep(now, ARGV[5])
local value = redis.call('get', KEYS[1])
if verb == 'set' and value then
    return nil
end
local kept = ARGV[3] - now + ARGV[4]
local found = true
local ids = {}
if verb == 'delete' then
    found = redis.call('exists', KEYS[1], KEYS[2]) > 0
elseif verb == 'free' or verb == 'extend' or verb == 'lease' then
    ids = permits.ids(ARGV[7], ARGV[2])
    for _, id in ipairs(ids) do
        found = found and redis.call('zscore', KEYS[2], id)
    end
end
if not found then
    redis.call('set', KEYS[3], 'none', 'px', kept)
    return nil
end
local answer = 1
if verb == 'add' then
    answer = tonumber(value or 0) + ARGV[2]
end
redis.call('set', KEYS[3], string.format('%.0f', answer), 'px', kept)
local done, news
if verb == 'set' or (verb == 'total' and not value) then
    done = ARGV[6] == '0' and redis.pcall('set', KEYS[1], ARGV[2]) or
           redis.pcall('set', KEYS[1], ARGV[2], 'px', ARGV[6])
    news = ARGV[2]
elseif verb == 'total' then
    local more = ARGV[2] - value - redis.call('zcard', KEYS[2])
    if more ~= 0 then
        done = redis.pcall('incrby', KEYS[1], string.format('%.0f', more))
        news = ARGV[2]
    end
elseif verb == 'add' then
    done = redis.pcall('set', KEYS[1], string.format('%.0f', answer))
    news = tonumber(ARGV[2]) > 0 and ARGV[2]
elseif verb == 'delete' then
    done = redis.pcall('del', KEYS[1], KEYS[2])
elseif verb == 'free' then
    permits.back(redis.call('zrem', KEYS[2], unpack(ids)), ARGV[5])
elseif verb == 'lease' or tonumber(found) < now + ARGV[6] then
    done = redis.pcall('zadd', KEYS[2], permits.ends(now, ARGV[6]), ids[1])
end
if type(done) == 'table' and done.err then
    redis.call('del', KEYS[3])
    return done
end
if news then
    redis.pcall('publish', ARGV[5], news)
end
return answer
