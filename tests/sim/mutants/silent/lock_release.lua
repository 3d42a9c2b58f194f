-- SPDX-License-Identifier: MIT
-- A mistake, planted to see it caught by the simulated world:
-- a release tells nobody.
if redis.call('hdel', KEYS[1], ARGV[1]) == 0 then
    return redis.call('pttl', KEYS[1])
end
return nil
