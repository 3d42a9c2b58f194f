/* SPDX-License-Identifier: MIT */
/* till.c - whether the keys of a fair lock make sense together; see till.h.
 *
 * All of them are read in one script, so what is seen is one moment.
 */
#include "till.h"

#include <inttypes.h>
#include <stdio.h>

/* A waiter adds 300,000 ms to the score before it, and the first one to the
 * end of the holder's lease, which is 30,000 ms away at most. */
static const char look_script[] =
    "local q = redis.call('lrange', KEYS[2], 0, -1) local seen = {} "
    "local debt = tonumber(redis.call('hget', KEYS[5], '.debt') or 0) "
    "local time = redis.call('time') local now = time[1] * 1000 "
    "for i, m in ipairs(q) do if seen[m] then return 'twice ' .. m end "
    "seen[m] = true local s = redis.call('zscore', KEYS[3], m) "
    "if not s then return 'no score ' .. m end "
    "if s - now > 31000 + i * 300000 + debt + tonumber(ARGV[1]) then "
    "return 'far ' .. m .. ' ' .. (s - now) .. ' at ' .. i end end "
    "if redis.call('zcard', KEYS[3]) ~= #q then return 'orphans' end "
    "if redis.call('exists', KEYS[7]) == 1 then return 'scratch' end "
    "return ''";

const char *what_is_wrong_with_the_till(struct world *w, int64_t more_ms)
{
    char format[512];

    (void)snprintf(format, sizeof(format), "EVAL %%s 7 " TILL_KEYS " %" PRId64,
                   more_ms);
    return hft_str(w->server, format, look_script);
}
