-- SPDX-License-Identifier: MIT
-- server_time: what time it is on the server, in ms.
--
-- KEYS[1]  any key of the node that is asked; not touched
local time = redis.call('time')
return time[1] * 1000 + math.floor(time[2] / 1000)
