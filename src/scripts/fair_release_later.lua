-- SPDX-License-Identifier: MIT
-- fair_release_later: end a hold of a fair lock whose min_hold is not over.  In
-- its place comes the field of a number that nobody has, for the rest of it.
-- part: fair_queue
--
-- KEYS[1]  the lock (hash: owner -> hold count)
-- KEYS[2]  the queue; KEYS[3] its scores; KEYS[4..7] ours (fair_queue)
-- ARGV[1]  our owner field, "uuid:number"
-- ARGV[2]  the channel that waiters' own channels begin with
-- ARGV[3]  the stand-in's field
-- ARGV[4]  what remains of min_hold, ms
--
-- Returns as fair_release.  As in lock_release_later the TTL may get shorter,
-- and a server too full for the stand-in frees the lock at once.
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
    return redis.call('pttl', KEYS[1])
end
fair.all_live()
local made = redis.pcall('hset', KEYS[1], ARGV[3], 1)
redis.call('hdel', KEYS[1], ARGV[1])
if type(made) == 'number' then
    redis.call('pexpire', KEYS[1], ARGV[4])
end
fair.look(ARGV[2])
fair.sweep(ARGV[1])
local again = fair.look_again(ARGV[1], fair.close(ARGV[1], true))
return again and {again}
