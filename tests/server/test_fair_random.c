/* SPDX-License-Identifier: MIT */
/* test_fair_random.c - a fair lock's scripts in any order, by two clients of
 * ours and by programs in Java, with waiters that die and keys that vanish.
 *
 * What Java does is said in a script of our own words.  After each step the keys
 * are looked at: list and scores have the same owners, each once; what we know
 * of waiters is of those that there are; and no score is further away than all
 * who stand before it can explain (T22).  While nobody damages anything, the
 * holder is always the first of those who waited and did not leave (FIFO).
 */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scripts_data.h"
#include "till.h"

#define NAME TILL
#define KEYS TILL_KEYS
#define CHANNEL TILL_CHANNEL
#define OURS "aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaa"
#define JAVA "0badcafe-0bad-4afe-8bad-cafe0badcaf"
#define PARTIES 9
#define STEPS 1500

/* Redisson's scripts: try and wait (ARGV: me, verb), give up, release. */
static const char java_script[] =
    "local me, verb = ARGV[1], ARGV[2] local n, q, t = KEYS[1], KEYS[2], "
    "KEYS[3] local time = redis.call('time') "
    "local now = time[1] * 1000 + math.floor(time[2] / 1000) "
    "if verb == 'leave' then local behind = false "
    "for _, m in ipairs(redis.call('lrange', q, 0, -1)) do "
    "if m == me then behind = true elseif behind then "
    "redis.call('zincrby', t, -300000, m) end end "
    "redis.call('zrem', t, me) redis.call('lrem', q, 0, me) return 0 end "
    "while true do local h = redis.call('lindex', q, 0) "
    "if not h then break end local s = redis.call('zscore', t, h) "
    "if not s or tonumber(s) > now then break end "
    "redis.call('zrem', t, h) redis.call('lpop', q) end "
    "if verb == 'release' then "
    "if redis.call('hexists', n, me) == 0 then return 0 end "
    "redis.call('del', n) return 1 end "
    "if redis.call('exists', n) == 0 and (redis.call('exists', q) == 0 or "
    "redis.call('lindex', q, 0) == me) then redis.call('lpop', q) "
    "redis.call('zrem', t, me) "
    "for _, m in ipairs(redis.call('zrange', t, 0, -1)) do "
    "redis.call('zincrby', t, -300000, m) end redis.call('hset', n, me, 1) "
    "redis.call('pexpire', n, 30000) return 1 end "
    "if redis.call('zscore', t, me) then return 0 end "
    "local l = redis.call('lindex', q, -1) "
    "local s = l and redis.call('zscore', t, l) "
    "local ttl = s and s - now or math.max(redis.call('pttl', n), 0) "
    "if redis.call('zadd', t, ttl + 300000 + now, me) == 1 then "
    "redis.call('rpush', q, me) end return 0";

struct party {
    char who[64];
    bool ours;
    bool waits;
    bool dead;
};

struct till {
    struct world *w;
    struct hft_random random;
    struct party parties[PARTIES];
    int next;
    int line[PARTIES]; /* who waits, in the order of coming */
    int waiting;
    int holder; /* -1: nobody */
    int turns;
};

static const char *run_ours(struct till *till, int script, const char *args)
{
    char format[512];

    snprintf(format, sizeof(format), "EVAL %%s 7 " KEYS " %s", args);
    return hft_str(till->w->server, format, hfi_scripts[script].text);
}

static void look(struct till *till, int64_t more_ms)
{
    assert_string_equal(what_is_wrong_with_the_till(till->w, more_ms), "");
}

/* Somebody new, in the place of one who is gone. */
static void comes(struct till *till, int party)
{
    struct party *p = &till->parties[party];

    memset(p, 0, sizeof(*p));
    p->ours = hft_random_below(&till->random, 3) > 0;
    snprintf(p->who, sizeof(p->who), "%s%d:%d", p->ours ? OURS : JAVA,
             p->ours ? party % 2 : 0, till->next++);
}

static void leaves_line(struct till *till, int party)
{
    int at = 0;

    while (at < till->waiting && till->line[at] != party) {
        at++;
    }
    if (at < till->waiting) {
        memmove(&till->line[at], &till->line[at + 1],
                (size_t)(till->waiting - at - 1) * sizeof(int));
        till->waiting--;
    }
    till->parties[party].waits = false;
}

/* Ask: whether it has it now. */
static bool asks(struct till *till, int party)
{
    struct party *p = &till->parties[party];
    char args[256];

    if (!p->ours) {
        snprintf(args, sizeof(args), "EVAL %%s 7 " KEYS " %s acquire", p->who);
        return hft_int(till->w->server, args, java_script) == 1;
    }
    snprintf(args, sizeof(args),
             "%s 30000 9000000000000 " CHANNEL " 300000 600000", p->who);
    return run_ours(till, HFI_SCRIPT_FAIR_ACQUIRE, args) == NULL;
}

static void step_asks(struct till *till, int party)
{
    struct party *p = &till->parties[party];

    if (party == till->holder || p->dead) {
        return;
    }
    if (!asks(till, party)) {
        if (!p->waits) {
            p->waits = true;
            till->line[till->waiting++] = party;
        }
        return;
    }
    /* FIFO: nobody was before it. */
    assert_int_equal(till->holder, -1);
    assert_true(till->waiting == 0 || till->line[0] == party);
    leaves_line(till, party);
    till->holder = party;
    till->turns++;
}

static void step_releases(struct till *till)
{
    struct party *p = &till->parties[till->holder];
    char args[256];

    if (p->ours) {
        snprintf(args, sizeof(args), "%s " CHANNEL, p->who);
        run_ours(till, HFI_SCRIPT_FAIR_RELEASE, args);
    } else {
        snprintf(args, sizeof(args), "EVAL %%s 7 " KEYS " %s release", p->who);
        assert_int_equal(hft_int(till->w->server, args, java_script), 1);
    }
    comes(till, till->holder);
    till->holder = -1;
}

static void step_gives_up(struct till *till, int party)
{
    struct party *p = &till->parties[party];
    char args[256];

    if (!p->waits || p->dead) {
        return;
    }
    if (p->ours) {
        snprintf(args, sizeof(args), "%s " CHANNEL, p->who);
        run_ours(till, HFI_SCRIPT_FAIR_UNDO, args);
    } else {
        snprintf(args, sizeof(args), "EVAL %%s 7 " KEYS " %s leave", p->who);
        hft_int(till->w->server, args, java_script);
    }
    leaves_line(till, party);
    comes(till, party);
}

/* Killed: the time in which it counts as alive is over at once. */
static void step_dies(struct till *till, int party)
{
    struct party *p = &till->parties[party];

    if (!p->waits || !p->ours) {
        return;
    }
    hft_int(till->w->server, "ZADD holdfast_fair_alive:{till} XX 1 %s", p->who);
    leaves_line(till, party);
    comes(till, party);
}

/* Somebody of ours who is there and alive looks: the dead are gone. */
static void somebody_sweeps(struct till *till)
{
    run_ours(till, HFI_SCRIPT_FAIR_UNDO, OURS "9:1 " CHANNEL);
}

static void step(struct till *till)
{
    int party = (int)hft_random_below(&till->random, PARTIES);

    switch (hft_random_below(&till->random, 10)) {
    case 0:
        step_gives_up(till, party);
        return;
    case 1:
        step_dies(till, party);
        somebody_sweeps(till);
        return;
    case 2:
    case 3:
        if (till->holder >= 0) {
            step_releases(till);
        }
        return;
    default:
        step_asks(till, party);
        return;
    }
}

static void begin(struct till *till, struct world *w)
{
    memset(till, 0, sizeof(*till));
    till->w = w;
    till->random = chance();
    till->holder = -1;
    for (int party = 0; party < PARTIES; party++) {
        comes(till, party);
    }
}

/* spec: fair/queue-1, fair/java-1, fair/debt-3, fair/sweep-1 */
static void all_are_served_in_order_whatever_happens(void **world)
{
    struct till till;

    begin(&till, *world);
    for (int i = 0; i < STEPS; i++) {
        step(&till);
        look(&till, 0);
    }
    assert_between(till.turns, STEPS / 60, STEPS);
}

/* Keys vanish, in part or altogether.  The order may suffer; nothing else. */
static void whatever_is_deleted_everybody_is_served(void **world)
{
    static const char *const keys[] = {
        "redisson_lock_queue:{till}", "redisson_lock_timeout:{till}",
        "holdfast_fair_alive:{till}", "holdfast_fair_waits:{till}", NAME};
    struct till till;

    begin(&till, *world);
    for (int i = 0; i < STEPS / 3; i++) {
        int party = (int)hft_random_below(&till.random, PARTIES);

        if (hft_random_below(&till.random, 20) == 0) {
            hft_int(till.w->server, "DEL %s",
                    keys[hft_random_below(&till.random, 5)]);
        }
        (void)asks(&till, party);
        if (hft_random_below(&till.random, 3) == 0) {
            hft_int(till.w->server, "DEL " NAME);
        }
        somebody_sweeps(&till);
        look(&till, 3000000);
    }
    /* Whoever asks on and on has it in the end. */
    hft_int(till.w->server, "DEL " NAME);
    for (int i = 0; !asks(&till, 0); i++) {
        assert_true(i < 10 * PARTIES);
        for (int party = 1; party < PARTIES; party++) {
            if (asks(&till, party)) {
                hft_int(till.w->server, "DEL " NAME);
                comes(&till, party);
            }
        }
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        world_test(all_are_served_in_order_whatever_happens),
        world_test(whatever_is_deleted_everybody_is_served),
    };

    return cmocka_run_group_tests(tests, world_up, world_down);
}
