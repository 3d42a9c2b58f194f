-- SPDX-License-Identifier: MIT
-- fair_release: end a hold of a fair lock, whatever its count, and wake who is
-- next.
-- part: fair_queue
--
-- KEYS[1]  the lock (hash: owner -> hold count)
-- KEYS[2]  the queue; KEYS[3] its scores; KEYS[4..7] ours (fair_queue)
-- ARGV[1]  our owner field, "uuid:number"
-- ARGV[2]  the channel that waiters' own channels begin with
--
-- Returns nil if it is free now, {ms} if besides the queue is to be looked at
-- again in that time, else (the field was gone) the key's TTL in ms: -2 if
-- there is no key, else somebody else's.
local live = fair.all_live()
if redis.call('hdel', KEYS[1], ARGV[1]) == 0 then
    return redis.call('pttl', KEYS[1])
end
-- Most often all are ours and live: there is nothing to sweep.
if live then
    fair.channel = ARGV[2]
    fair.tell(fair.head())
    return nil
end
fair.look(ARGV[2])
fair.sweep(ARGV[1])
local again = fair.look_again(ARGV[1], fair.close(ARGV[1], true))
return again and {again}
