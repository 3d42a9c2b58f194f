-- SPDX-License-Identifier: MIT
-- together_acquire: take several locks for numbers that hold nothing yet, all
-- of them or none.
--
-- KEYS[1..n]  the locks (hash: owner -> hold count; of 'token' a string)
-- KEYS[n+1..] the token of each that is fenced, in the order of these
-- ARGV[1]  lease, ms
-- ARGV[2]  not_after: past it, in the server's ms, nothing is taken
-- ARGV[3..] four of each lock:
--          1  what it is: 'lock', 'write' (a hash with a mode) or 'token'
--          2  our owner field
--          3  '-' where there is no fencing; 1: a token that is missing begins
--             at the server's time in us; 0: at 1
--          4  how long the token is kept after this, ms; 0: for ever
--
-- Returns {nil or {'token', n}, ...} if each number has its lock (also if an
-- earlier copy took some: counts are left alone, leases only ever extended).
-- Else nothing was done: {i, what} if the i-th is not to be had, with what the
-- script for one of its kind answers then; {0, now} if the copy came too late
-- to run.  Each lock is left exactly as lock_acquire, write_acquire or
-- token_acquire and their fenced forms leave it.  docs/wire/together.md.
local count = (#ARGV - 2) / 4
local lease = tonumber(ARGV[1])
local found = {}

-- What is in the way of the i-th: nothing, or what is to be answered.
local function look(i)
    local what, owner = ARGV[4 * i - 1], ARGV[4 * i]
    found[i] = redis.call('pttl', KEYS[i])
    if found[i] == -2 then
        return nil
    end
    if what ~= 'token' then
        return redis.call('hexists', KEYS[i], owner) == 0 and found[i] or nil
    end
    local holder = redis.call('get', KEYS[i])
    if holder == owner then
        return nil
    end
    if string.find(holder, '^%x+%-%x+%-%x+%-%x+%-%x+:%d+$') then
        return found[i]
    end
    return {'busy', found[i], 1}
end

-- pcall's error as Redis answers it, which is a text in old versions.
local function refusal(err)
    return type(err) == 'table' and err or {err = tostring(err)}
end

for i = 1, count do
    local ok, obstacle = pcall(look, i)
    if not ok then
        return {i, refusal(obstacle)}
    end
    if obstacle then
        return {i, obstacle}
    end
end
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if now >= tonumber(ARGV[2]) then
    return {0, now}
end

local next_token = count

-- The fencing token of the i-th: a new one, unless its number has one.
local function token_of(i)
    local from_time, kept = ARGV[4 * i + 1], ARGV[4 * i + 2]
    if from_time == '-' then
        return false
    end
    next_token = next_token + 1
    local key = KEYS[next_token]
    local token = found[i] ~= -2 and redis.call('get', key)
    if not token then
        token = redis.call('incr', key)
        if token == 1 and from_time == '1' then
            token = string.format('%.0f', time[1] * 1000000 + time[2])
            redis.call('set', key, token)
        end
        if kept ~= '0' then
            redis.call('pexpire', key, kept)
        end
    end
    return {'token', token}
end

local made = {}

local function take(i)
    local what, owner = ARGV[4 * i - 1], ARGV[4 * i]
    local token = token_of(i)
    if found[i] ~= -2 then
        if found[i] < lease then
            redis.call('pexpire', KEYS[i], ARGV[1])
        end
        return token
    end
    if what == 'token' then
        redis.call('set', KEYS[i], owner, 'PX', ARGV[1])
    elseif what == 'write' then
        redis.call('hset', KEYS[i], 'mode', 'write', owner, 1)
    else
        redis.call('hset', KEYS[i], owner, 1)
    end
    made[#made + 1] = KEYS[i]
    if what ~= 'token' then
        redis.call('pexpire', KEYS[i], ARGV[1])
    end
    return token
end

local results = {}
for i = 1, count do
    local ok, result = pcall(take, i)
    if not ok then
        for _, key in ipairs(made) do
            redis.call('del', key)
        end
        return {i, refusal(result)}
    end
    results[i] = result
end
return results
