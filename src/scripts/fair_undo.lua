-- SPDX-License-Identifier: MIT
-- fair_undo: see to it that a number holds nothing, and does not wait.
-- part: fair_queue
--
-- KEYS[1]  the lock (hash: owner -> hold count)
-- KEYS[2]  the queue; KEYS[3] its scores; KEYS[4..7] ours (fair_queue)
-- ARGV[1]  the owner field, "uuid:number"
-- ARGV[2]  the channel that waiters' own channels begin with
--
-- Returns the server's time in ms: what was sent with an earlier not_after
-- cannot run any more.  {time, ms} if besides the queue is to be looked at
-- again in so many ms.
local me = ARGV[1]
local now = fair.clock()
fair.all_live()
local freed = redis.call('hdel', KEYS[1], me) == 1
fair.look(ARGV[2])
if fair.count > 0 then
    fair.remove({me})
    fair.sweep(me)
else
    redis.call('del', KEYS[3], KEYS[4], KEYS[5], KEYS[6])
end
local again = fair.look_again(me, fair.close(me, freed))
if again then
    return {now, again}
end
return now
