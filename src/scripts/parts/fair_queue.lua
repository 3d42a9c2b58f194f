-- SPDX-License-Identifier: MIT
-- fair_queue: the queue of a fair lock, what all its scripts do with it.
--
-- KEYS[2]  the queue (list of owner fields; Redisson's)
-- KEYS[3]  until when each waiter is believed (sorted set, server's ms;
--          Redisson's)
-- KEYS[4]  until when each waiter of ours counts as alive (sorted set,
--          server's ms; our own)
-- KEYS[5]  what each waiter of ours added to its score, ms; and under ".debt"
--          what is yet to be taken from every score, under ".witness" an entry
--          whose score contains it (hash; our own)
-- KEYS[6]  the waiters, where they are many and not all ours (set; our own)
-- KEYS[7]  scratch; it is there within a script only
--
-- An entry of the queue is ours if KEYS[4] has it, else foreign: Redisson's.
-- The rules are those of docs/wire/fair.md.
local fair = {count = 0, ours = 0, debt = 0}

-- More than a day of debt is paid, so that scores stay times of this age.
local DEBT_MAX = 86400000

-- Above so many waiters the server does sums.
local MANY = 50

-- How long their set is kept, whether it is used or not.
local MEMBERS_MS = 3600000

function fair.clock()
    local time = redis.call('time')
    fair.now = time[1] * 1000 + math.floor(time[2] / 1000)
    return fair.now
end

-- The first, which is asked for once between two changes.
function fair.head()
    if fair.count == 0 then
        return false
    end
    fair.top = fair.top or redis.call('lindex', KEYS[2], 0)
    return fair.top
end

-- A hint for one waiter; that it may not be published (an ACL) stops nothing.
function fair.tell(owner)
    redis.pcall('publish', fair.channel .. ':' .. owner, '0')
end

-- Write {score, member, score, member ...}, in pieces that fit Lua's stack.
local function write_scores(words)
    for first = 1, #words, 4000 do
        redis.call('zadd', KEYS[3], unpack(words, first,
                                           math.min(first + 3999, #words)))
    end
end

-- Write the queue anew.
local function write_queue(owners)
    redis.call('del', KEYS[2])
    for first = 1, #owners, 4000 do
        redis.call('rpush', KEYS[2],
                   unpack(owners, first, math.min(first + 3999, #owners)))
    end
    fair.count = #owners
    fair.top = nil
    fair.changed = true
end

local function add_members(owners)
    for first = 1, #owners, 4000 do
        redis.call('sadd', KEYS[6],
                   unpack(owners, first, math.min(first + 3999, #owners)))
    end
end

-- Every score less the debt, into KEYS[7]; how many there are.
local function lower_members()
    return redis.call('zinterstore', KEYS[7], 2, KEYS[3], KEYS[6],
                      'weights', 1, -fair.debt)
end

-- Where there are many the server does the sums: scores are not written out and
-- read, which is most of the cost.  To each it adds so many times one, which is
-- what a member of a set counts.  So that set has to have all of them; who is
-- not in it yet stands at the end of the queue, most likely.
local function pay_many()
    local members = redis.pcall('scard', KEYS[6])
    local lowered = 0
    if type(members) == 'table' or members > 2 * fair.count then
        redis.call('del', KEYS[6])
    elseif members > 0 then
        add_members(redis.call('lrange', KEYS[2], -32, -1))
        lowered = lower_members()
    end
    if lowered < fair.count then
        add_members(redis.call('zrange', KEYS[3], 0, -1))
        redis.call('pexpire', KEYS[6], MEMBERS_MS)
        lower_members()
    end
    redis.call('rename', KEYS[7], KEYS[3])
end

-- Take the debt from every score.
local function pay()
    if fair.debt > 0 and fair.count > MANY then
        pay_many()
    elseif fair.debt > 0 then
        local words = redis.call('zrange', KEYS[3], 0, -1, 'withscores')
        for i = 1, #words, 2 do
            words[i], words[i + 1] = words[i + 1] - fair.debt, words[i]
        end
        write_scores(words)
    end
    fair.debt = 0
    fair.changed = true
end

-- An owner's entry is gone: so is what we know of it.
local function forget(owner)
    redis.call('zrem', KEYS[3], owner)
    fair.ours = fair.ours - redis.call('zrem', KEYS[4], owner)
    redis.call('hdel', KEYS[5], owner)
    fair.changed = true
end

local function wait_of(owner)
    return tonumber(redis.call('hget', KEYS[5], owner) or 0)
end

local function pop(owner)
    redis.call('lpop', KEYS[2])
    fair.count = fair.count - 1
    fair.top = nil
    if fair.count > 0 then
        forget(owner)
    else -- with the last goes everything
        fair.changed = true
    end
end

-- List and scores do not match: somebody deleted or evicted something.  Every
-- owner is to be in both, once.  A waiter of ours keeps its place; a foreign
-- one without a score does not count as queued (Redisson's rule too): it is
-- told, and queues again.
local function mend()
    local kept, seen, scored = {}, {}, {}
    for _, owner in ipairs(redis.call('zrange', KEYS[3], 0, -1)) do
        scored[owner] = true
    end
    for _, owner in ipairs(redis.call('lrange', KEYS[2], 0, -1)) do
        local queued = scored[owner]
        if not queued and redis.call('zscore', KEYS[4], owner) then
            redis.call('zadd', KEYS[3],
                       fair.now + wait_of(owner) + fair.debt, owner)
            queued = true
        end
        if not queued then
            fair.tell(owner)
        elseif not seen[owner] then
            kept[#kept + 1] = owner
        end
        seen[owner] = true
    end
    for owner in pairs(scored) do
        if not seen[owner] then
            forget(owner)
        end
    end
    write_queue(kept)
end

-- Whether there are waiters, all of them ours, as many in each key, and none of
-- them dead.  A key of another type ends the script here, before it has changed
-- anything: whoever changes something before it looks asks this first.
function fair.all_live()
    fair.count = redis.call('llen', KEYS[2])
    if fair.count == 0 then
        return false
    end
    local scores, alive = redis.call('zcard', KEYS[3]),
                          redis.call('zcard', KEYS[4])
    if scores == fair.count and alive == fair.count and
       redis.call('zcount', KEYS[4], '-inf', fair.clock()) == 0 then
        return true
    end
    redis.call('hget', KEYS[5], '.debt')
    return false
end

-- What stands there.  The debt counts only while an entry that contains it is
-- in the queue: what was emptied by others and filled again owes nothing.
function fair.look(channel)
    fair.channel = channel
    fair.count = redis.call('llen', KEYS[2])
    if fair.count == 0 then
        return
    end
    if not fair.now then
        fair.clock()
    end
    fair.first = fair.head()
    fair.ours = redis.call('zcard', KEYS[4])
    fair.debt = tonumber(redis.call('hget', KEYS[5], '.debt') or 0)
    if fair.debt > 0 then
        local witness = redis.call('hget', KEYS[5], '.witness')
        if not witness or not redis.call('zscore', KEYS[3], witness) then
            fair.debt = 0
            fair.changed = true
        end
    end
    if redis.call('zcard', KEYS[3]) ~= fair.count then
        mend()
    end
    if fair.debt > 0 and fair.ours ~= fair.count then
        pay()
    end
end

-- Take entries of ours out of the middle, in one pass: what they added goes
-- from the scores behind them.
local function take_from_middle(gone)
    pay()
    local scores, words, kept, found, less = {}, {}, {}, {}, 0
    local all = redis.call('zrange', KEYS[3], 0, -1, 'withscores')
    for i = 1, #all, 2 do
        scores[all[i]] = all[i + 1]
    end
    for _, owner in ipairs(redis.call('lrange', KEYS[2], 0, -1)) do
        if gone[owner] then
            less = less + wait_of(owner)
            found[#found + 1] = owner
        else
            kept[#kept + 1] = owner
            if less > 0 and scores[owner] then
                words[#words + 1] = scores[owner] - less
                words[#words + 1] = owner
            end
        end
    end
    write_scores(words)
    if #found < 16 then
        for _, owner in ipairs(found) do
            redis.call('lrem', KEYS[2], 1, owner)
        end
        fair.count = #kept
        fair.top = nil
    else
        write_queue(kept)
    end
    for owner in pairs(gone) do
        forget(owner)
    end
end

-- Take waiters of ours out, wherever they stand, and forget them.  At the head
-- that costs a note, the debt; at the tail nothing.
function fair.remove(owners)
    local gone, left = {}, 0
    for _, owner in ipairs(owners) do
        gone[owner] = true
        left = left + 1
    end
    local head = fair.head()
    while head and gone[head] do
        if fair.count > 1 then
            fair.debt = fair.debt + wait_of(head)
        end
        pop(head)
        gone[head] = nil
        left = left - 1
        head = fair.head()
    end
    while left > 0 and fair.count > 0 do
        local tail = redis.call('lindex', KEYS[2], -1)
        if not gone[tail] then
            break
        end
        redis.call('rpop', KEYS[2])
        forget(tail)
        fair.count = fair.count - 1
        fair.top = nil
        gone[tail] = nil
        left = left - 1
    end
    local queued = false
    for owner in pairs(gone) do
        if redis.call('zscore', KEYS[3], owner) then
            queued = true
        else
            forget(owner)
        end
    end
    if queued then
        take_from_middle(gone)
    end
end

-- Take out who counts as dead: every one of ours that was not seen in time, and
-- foreign heads whose score is past, as Redisson does.  Never `me`, and never
-- one of ours by its score.
function fair.sweep(me)
    if fair.count == 0 then
        return
    end
    local dead = redis.call('zrangebyscore', KEYS[4], '-inf', fair.now)
    for i = #dead, 1, -1 do
        if dead[i] == me then
            table.remove(dead, i)
        end
    end
    if #dead > 0 then
        fair.remove(dead)
    end
    if fair.ours == fair.count then
        return -- no foreign head
    end
    local head = fair.head()
    while head and head ~= me and not redis.call('zscore', KEYS[4], head) do
        local score = redis.call('zscore', KEYS[3], head)
        if score and score - fair.debt > fair.now then
            break
        end
        pop(head)
        fair.tell(head)
        head = fair.head()
    end
end

-- `me` is one of ours, and counts as alive for so long.  What we know of
-- waiters lives as long as the last score, and some more.
local function know(me, wait, alive, score)
    local ms = score - fair.debt - fair.now + 60000
    fair.ours = fair.ours + redis.call('zadd', KEYS[4], fair.now + alive, me)
    redis.call('hset', KEYS[5], me, wait)
    for i = 4, 5 do
        if redis.call('pttl', KEYS[i]) < ms then
            redis.call('pexpire', KEYS[i], ms)
        end
    end
end

-- Queue `me`, at the end, or say that it is alive.  Its score is Redisson's:
-- that of the last one, else the end of the lease, and `wait` on top.  One that
-- would soon be past begins anew from now, so that nobody takes a waiter for
-- dead who is alive.
function fair.stay(me, wait, alive, ttl)
    local from = fair.now + math.max(ttl, 0)
    local score = fair.count > 0 and redis.call('zscore', KEYS[3], me)
    if score then
        score = tonumber(score)
        if score - fair.debt < fair.now + wait / 2 then
            score = from + wait + fair.debt
            redis.call('zadd', KEYS[3], score, me)
        end
        know(me, wait, alive, score)
        return
    end
    if fair.count == 0 then
        redis.call('del', KEYS[3], KEYS[4], KEYS[5], KEYS[6])
        fair.debt, fair.ours = 0, 0
    else
        local last = redis.call('lindex', KEYS[2], -1)
        from = math.max(from + fair.debt,
                        tonumber(redis.call('zscore', KEYS[3], last)))
    end
    redis.call('zadd', KEYS[3], from + wait, me)
    redis.call('rpush', KEYS[2], me)
    fair.count = fair.count + 1
    know(me, wait, alive, from + wait)
end

-- The end of a script: note what changed, and tell the head if it is another
-- one than before, or if the lock was freed.  Returns the head.
function fair.close(me, freed)
    local head = fair.head()
    if fair.changed then
        if fair.count == 0 then
            redis.call('del', KEYS[3], KEYS[4], KEYS[5], KEYS[6])
        else
            if fair.debt > 0 and
               (fair.ours ~= fair.count or fair.debt > DEBT_MAX) then
                pay()
            end
            if fair.debt > 0 then
                redis.call('hset', KEYS[5], '.debt', fair.debt, '.witness',
                           redis.call('lindex', KEYS[2], -1))
            else
                redis.call('hdel', KEYS[5], '.debt', '.witness')
            end
        end
    end
    if head and head ~= me and (freed or head ~= fair.first) then
        fair.tell(head)
    end
    return head
end

-- Who leaves one of another client of ours at the head, with a foreign waiter
-- behind it, has to look again when that one would count as dead: in how many
-- ms, or nil.
function fair.look_again(me, head)
    if not head or fair.ours == fair.count or
       string.sub(head, 1, 37) == string.sub(me, 1, 37) then
        return nil
    end
    local alive = redis.call('zscore', KEYS[4], head)
    return alive and math.max(alive - fair.now, 0) + 1
end
