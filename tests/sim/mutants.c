/* SPDX-License-Identifier: MIT */
/* mutants.c - mistakes in the scripts, each with the invariants that catch it.
 *
 * A mistake is a place of the script's text as it is sent (comments and
 * indentation are gone) and what stands there instead.  So it is a mistake in
 * the script of today; one whose place is not there any more ends the program.
 */
#include "sim/mutants.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "support/fatal.h"

const struct sim_mutant sim_mutants[] = {
    /* The TTL is set to the lease, also where that makes it shorter. */
    {"ttl_set",
     "only_extended",
     {{"lock_keep", "if lease > 0 and redis.call('pttl', KEYS[1]) < lease then",
       "if lease > 0 then"}}},
    /* not_after is not looked at. */
    {"late_runs",
     "nothing_left",
     {{"lock_acquire", "if now >= tonumber(ARGV[3]) then", "if false then"}}},
    /* The lock has no TTL until it is renewed. */
    {"no_expiry",
     "ttl_always",
     {{"lock_acquire", "redis.pcall('pexpire', KEYS[1], ARGV[2])", "1"}}},
    /* What finds its field gone puts it back, if the lock is free. */
    {"keep_creates",
     "only_acquire_creates",
     {{"lock_keep", "if not count then",
       "if not count and redis.call('exists', KEYS[1]) == 1 then"}}},
    /* The last release takes one from the count, and deletes only the last. */
    {"release_decrements",
     "ended_whole",
     {{"lock_release", "if redis.call('hdel', KEYS[1], ARGV[1]) == 0 then",
       "if tonumber(redis.call('hget', KEYS[1], ARGV[1]) or 0) > 1 then\n"
       "redis.call('hincrby', KEYS[1], ARGV[1], -1)\n"
       "return nil\nend\n"
       "if redis.call('hdel', KEYS[1], ARGV[1]) == 0 then"}}},
    /* A release deletes the lock, whoever has it. */
    {"release_all",
     "others_untouched",
     {{"lock_release", "'hdel', KEYS[1], ARGV[1]", "'del', KEYS[1]"}}},
    /* A release tells nobody. */
    {"silent",
     "waiter_runs",
     {{"lock_release", "redis.pcall('publish', ARGV[2], '0')", ""}}},
    /* A number is compared with a text. */
    {"stumbles",
     "protocol",
     {{"lock_keep", "redis.call('pttl', KEYS[1]) < lease",
       "redis.call('pttl', KEYS[1]) < ARGV[3]"}}},
    /* A new hold has the token of the one before. */
    {"token_kept",
     "tokens_grow",
     {{"lock_acquire_fenced", "ttl ~= -2 and redis.call('get', KEYS[2])",
       "redis.call('get', KEYS[2])"}}},
    /* Each copy of an ACQUIRE takes a token, also one that finds its field. */
    {"token_each_copy",
     "token_stays",
     {{"lock_acquire_fenced", "ttl ~= -2 and redis.call('get', KEYS[2])",
       "false"}}},
    /* A free lock is had by who asks, whoever was first. */
    {"overtakes",
     "queue_order",
     {{"fair_acquire",
       "if taken or (ttl == -2 and (not head or head == me)) then",
       "if taken or ttl == -2 then"}}},
    /* Who is dead stays in the queue. */
    {"never_swept",
     "queue_swept",
     {{"fair_acquire", "if #dead > 0 then", "if #dead > 99 then"}}},
    /* A writer comes in beside readers. */
    {"writer_beside",
     "exclusive",
     {{"write_acquire", "if ttl ~= -2 and",
       "if redis.call('hget', KEYS[1], 'mode') == 'write' and"},
      {"write_acquire", "if ttl == -2 then",
       "if ttl ~= -2 then\nredis.call('hset', KEYS[1], 'mode', 'write')\n"
       "redis.call('hsetnx', KEYS[1], ARGV[1], 1)\nend\nif ttl == -2 then"}}},
    /* A writer who reads on tells nobody that he writes no more. */
    {"downgrade_silent",
     "waiter_runs",
     {{"rw_release", "return writes", "return false"}}},
    /* What a reader leaves lasts as long as the shortest, not the longest. */
    {"reader_shortens",
     "others_untouched",
     {{"rw_release",
       "most = math.max(most, longest_of(step[2][i], count, ttl))",
       "local one = longest_of(step[2][i], count, ttl)\n"
       "most = one > 0 and (most == 0 or one < most) and one or most"}}},
    /* A copy that finds its own field sets the count back to one. */
    {"acquire_resets",
     "acquire_keeps_count",
     {{"lock_acquire", "if ttl == -2 then",
       "redis.call('hset', KEYS[1], ARGV[1], 1)\nif ttl == -2 then"}}},
    /* A permit that is given back is nobody's. */
    {"permit_leaks",
     "permits_conserved",
     {{"permits_release", "permits.back(1, ARGV[2])", ""}}},
    /* Each copy of an ACQUIRE takes a permit for the same id. */
    {"permit_each_copy",
     "permits_conserved",
     {{"permits_acquire", "if has_run then", "if false then"}}},
    /* What has ended is not collected. */
    {"permit_never_returns",
     "permits_return",
     {{"permits_acquire", "redis.call('zremrangebyscore', KEYS[2], 0, now)",
       "0"}}},
    /* One more is out than there are. */
    {"permit_of_none",
     "no_more_out",
     {{"permits_acquire", "if available < #ids then",
       "if available < 0 then"}}},
    /* A change that was done is done again by its next copy. */
    {"change_each_copy",
     "done_once",
     {{"permits_change", "if record then\nreturn tonumber(record)\nend", ""}}},
    {NULL, NULL, {{NULL, NULL, NULL}}},
};

const struct sim_mutant *sim_mutant_of(const char *name)
{
    for (const struct sim_mutant *mutant = sim_mutants; mutant->name != NULL;
         mutant++) {
        if (strcmp(mutant->name, name) == 0) {
            return mutant;
        }
    }
    return NULL;
}

const char *sim_patched(const struct hfi_script *script,
                        const struct sim_patch *patches, size_t count)
{
    static char texts[2][16384]; /* one is made of the other */
    const char *text = script->text;
    bool patched = false;

    for (size_t i = 0; i < count && patches[i].script != NULL; i++) {
        const struct sim_patch *patch = &patches[i];
        char *next = texts[i % 2];
        const char *at;
        int len;

        if (strcmp(patch->script, script->name) != 0) {
            continue;
        }
        at = strstr(text, patch->right);
        if (at == NULL) {
            hft_die("a mistake for %s has no place in it: %s", script->name,
                    patch->right);
            return NULL;
        }
        len = snprintf(next, sizeof(texts[0]), "%.*s%s%s", (int)(at - text),
                       text, patch->wrong, at + strlen(patch->right));
        if (len < 0 || (size_t)len >= sizeof(texts[0])) {
            hft_die("%s is too long to be changed", script->name);
        }
        text = next;
        patched = true;
    }
    return patched ? text : NULL;
}
