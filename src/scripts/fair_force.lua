-- SPDX-License-Identifier: MIT
-- fair_force: take a fair lock away from the owner that was seen to have it.
-- The queue stays.
-- part: fair_queue
--
-- KEYS[1]  the lock (hash: owner -> hold count)
-- KEYS[2]  the queue; KEYS[3] its scores; KEYS[4..7] ours (fair_queue)
-- ARGV[1]  the owner field that was seen, "uuid:number"
-- ARGV[2]  not_after, in the server's ms
-- ARGV[3]  the channel that waiters' own channels begin with
--
-- Returns nil if it is free now, the key's TTL (-2: none) if that owner does
-- not have it, {now} if the copy came too late to run.
if fair.clock() >= tonumber(ARGV[2]) then
    return {fair.now}
end
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
    return redis.call('pttl', KEYS[1])
end
fair.all_live()
redis.call('del', KEYS[1])
fair.look(ARGV[3])
fair.sweep(ARGV[1])
fair.close(ARGV[1], true)
return nil
