-- SPDX-License-Identifier: MIT
-- A mistake, planted to see it caught by the simulated world:
-- who is dead stays in the queue.
local fair = {count = 0, ours = 0, debt = 0}
local DEBT_MAX = 86400000
local MANY = 50
local MEMBERS_MS = 3600000
function fair.clock()
local time = redis.call('time')
fair.now = time[1] * 1000 + math.floor(time[2] / 1000)
return fair.now
end
function fair.head()
if fair.count == 0 then
return false
end
fair.top = fair.top or redis.call('lindex', KEYS[2], 0)
return fair.top
end
function fair.tell(owner)
redis.pcall('publish', fair.channel .. ':' .. owner, '0')
end
local function write_scores(words)
for first = 1, #words, 4000 do
redis.call('zadd', KEYS[3], unpack(words, first,
math.min(first + 3999, #words)))
end
end
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
local function lower_members()
return redis.call('zinterstore', KEYS[7], 2, KEYS[3], KEYS[6],
'weights', 1, -fair.debt)
end
local function pay_many()
local members = redis.call('scard', KEYS[6])
local lowered = 0
if members > 2 * fair.count then
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
if #dead > 99 then
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
function fair.look_again(me, head)
if not head or fair.ours == fair.count or
string.sub(head, 1, 37) == string.sub(me, 1, 37) then
return nil
end
local alive = redis.call('zscore', KEYS[4], head)
return alive and math.max(alive - fair.now, 0) + 1
end
local me = ARGV[1]
local function token(taken)
local newest = taken and redis.call('get', KEYS[8])
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
local alone = ttl == -2 and redis.call('llen', KEYS[2]) == 1 and
redis.call('lindex', KEYS[2], 0) == me
if not alone then
fair.look(ARGV[4])
fair.sweep(me)
end
local head = fair.head()
local taken = ttl ~= -2 and redis.call('hexists', KEYS[1], me) == 1
if taken or (ttl == -2 and (not head or head == me)) then
local newest = KEYS[8] and token(taken)
if type(newest) == 'table' then
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
