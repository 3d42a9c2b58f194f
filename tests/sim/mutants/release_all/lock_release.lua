-- SPDX-License-Identifier: MIT
-- A mistake, planted to see it caught by the simulated world:
-- a release deletes the lock, whoever has it.
if redis.call('del', KEYS[1]) == 0 then
    return redis.call('pttl', KEYS[1])
end
redis.call('publish', ARGV[2], '0')
return nil
