-- SPDX-License-Identifier: MIT
-- fair_acquire: take a fair lock for a number that holds nothing yet, or queue
-- for it, or keep a place in the queue.
-- part: fair_queue
--
-- KEYS[1]  the lock (hash: owner -> hold count)
-- KEYS[2]  the queue; KEYS[3] its scores; KEYS[4..7] ours (fair_queue)
-- KEYS[8]  the newest fencing token (string), if the lock is fenced
-- ARGV[1]  our owner field, "uuid:number"
-- ARGV[2]  lease, ms
-- ARGV[3]  not_after: past it, in the server's ms, nothing is done
-- ARGV[4]  the channel that waiters' own channels begin with
-- ARGV[5]  what a place in the queue adds to the score, ms; 0: do not queue
-- ARGV[6]  for how long from now the waiter counts as alive, ms
-- ARGV[7], ARGV[8]  as ARGV[4] and ARGV[5] of lock_acquire_fenced
--
-- Returns nil if the number has it (also when an earlier copy took it), with
-- KEYS[8] instead {'token', n} as lock_acquire_fenced; an integer if it has not
-- and nobody is to have it before (ms of the holder's lease; -1: without end),
-- {that, 0, 0, 0} if others are first, {now} if the copy came too late to run.
local me = ARGV[1]

-- The fencing token of this hold, or why there is none: a new one, unless an
-- earlier copy has taken it.
local function token(taken)
    local newest = taken and redis.pcall('get', KEYS[8])
    if newest then
        return newest
    end
    newest = redis.pcall('incr', KEYS[8])
    if newest == 1 and ARGV[7] == '1' then
        local time = redis.call('time')
        newest = string.format('%.0f', time[1] * 1000000 + time[2])
        redis.call('set', KEYS[8], newest)
    end
    if type(newest) ~= 'table' and ARGV[8] ~= '0' then
        redis.call('pexpire', KEYS[8], ARGV[8])
    end
    return newest
end

if fair.clock() >= tonumber(ARGV[3]) then
    return {fair.now}
end
local ttl = redis.call('pttl', KEYS[1])
local taken = ttl ~= -2 and redis.call('hexists', KEYS[1], me) == 1
-- Free, and nobody else waits: what stands in the queue's keys goes with it.
local alone = ttl == -2 and redis.call('llen', KEYS[2]) == 1 and
              redis.call('lindex', KEYS[2], 0) == me
if not alone then
    fair.look(ARGV[4])
    fair.sweep(me)
end
local head = fair.head()
if taken or (ttl == -2 and (not head or head == me)) then
    local newest = KEYS[8] and token(taken)
    if type(newest) == 'table' then
        fair.close(me)
        return newest
    end
    if alone then
        redis.call('del', KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6])
    elseif not taken and head then
        fair.remove({me})
    end
    if not taken then
        redis.call('hset', KEYS[1], me, 1)
    end
    if ttl < tonumber(ARGV[2]) then
        local expires = redis.pcall('pexpire', KEYS[1], ARGV[2])
        if type(expires) == 'table' then
            redis.call('hdel', KEYS[1], me)
            fair.close(me)
            return expires
        end
    end
    fair.close(me)
    return newest and {'token', newest}
end
if ARGV[5] ~= '0' then
    fair.stay(me, tonumber(ARGV[5]), tonumber(ARGV[6]), ttl)
end
head = fair.close(me)
ttl = ttl == -2 and 0 or ttl
if head == me or not head then
    return ttl
end
return {ttl, 0, 0, 0}
