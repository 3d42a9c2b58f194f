-- SPDX-License-Identifier: MIT
-- token_release_later: end a hold whose min_hold is not over.  In its place
-- comes a token that nobody has, for the rest of that time.
--
-- KEYS[1]  the lock (string: the holder's token)
-- ARGV[1]  our token, "uuid:number"
-- ARGV[2]  the channel that our waiters subscribe to
-- ARGV[3]  the stand-in's token
-- ARGV[4]  what remains of min_hold, ms
--
-- Returns as token_release.  A server too full for the stand-in frees it at
-- once.
if redis.call('get', KEYS[1]) ~= ARGV[1] then
    return redis.call('pttl', KEYS[1])
end
local made = redis.pcall('set', KEYS[1], ARGV[3], 'PX', ARGV[4])
if made.err then
    redis.call('del', KEYS[1])
end
redis.pcall('publish', ARGV[2], '0')
return nil
