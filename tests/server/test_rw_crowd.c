/* SPDX-License-Identifier: MIT */
/* test_rw_crowd.c - the scripts of the read-write lock where many read: what a
 * release asks about, who is dead among them, and that nobody's time is ever
 * shortened by another.  Rows: RW-32, T35, T37.
 */
#include "rw_calls.h"

#include <stdio.h>
#include <string.h>

#include "java_rw.h"

/* ---- a crowd ---- */

static void crowd_reads(struct world *w, int count, int64_t lease_ms)
{
    (void)hft_int(w->server, "EVAL %s 1 " NAME " %d %lld " U,
                  "redis.call('hset', KEYS[1], 'mode', 'read') "
                  "for i = 1, tonumber(ARGV[1]) do "
                  "  local field = ARGV[3] .. ':' .. 1000 + i "
                  "  redis.call('hset', KEYS[1], field, 1) "
                  "  redis.call('set', '{rw}:' .. field .. "
                  "             ':rwlock_timeout:1', 1, 'px', ARGV[2]) "
                  "end "
                  "return redis.call('pexpire', KEYS[1], ARGV[2])",
                  count, (long long)lease_ms);
}

/* T37: what a read release costs among a thousand is what it costs among a few:
 * a hold of like length is found at once.
 * spec: rw/release-8 */
static void a_release_in_a_crowd_asks_about_few(void **world)
{
    struct world *w = *world;

    crowd_reads(w, 1000, 50000);
    assert_int_equal(reads(w, A, 60000), HFT_NIL);
    hft_reset_calls(w->server);
    assert_int_equal(ends_reading(w, A), HFT_NIL);
    assert_between(hft_calls(w->server, "pttl"), 1, 64);
    assert_about(wire_ttl(w, NAME), 60000);
}

/* Where one reads for long, whoever leaves before him asks nobody at all: the
 * TTL is not theirs.
 * spec: rw/release-8 */
static void who_leaves_before_the_longest_reader_asks_nobody(void **world)
{
    struct world *w = *world;

    crowd_reads(w, 1000, 50000);
    assert_int_equal(reads(w, B, 600000), HFT_NIL);
    assert_int_equal(reads(w, A, 60000), HFT_NIL);
    hft_reset_calls(w->server);
    assert_int_equal(ends_reading(w, A), HFT_NIL);
    assert_between(hft_calls(w->server, "pttl"), 1, 2);
    assert_about(wire_ttl(w, NAME), 600000);
    assert_int_equal(held_for(w, A), -2);
    assert_int_equal(ends_reading(w, B), HFT_NIL);
    assert_about(wire_ttl(w, NAME), 50000);
}

/* ... and where there is none of like length, everybody is asked: no dead
 * reader keeps the lock, however many they are.  RW-32 */
static void a_release_in_a_dead_crowd_frees_the_lock(void **world)
{
    struct world *w = *world;

    crowd_reads(w, 1000, 20000);
    assert_int_equal(reads(w, A, 60000), HFT_NIL);
    assert_int_equal(ends_reading(w, A), HFT_NIL);
    assert_about(wire_ttl(w, NAME), 20000);
    (void)hft_int(w->server, "EVAL %s 0",
                  "for _, k in ipairs(redis.call('keys', "
                  "'{rw}:*')) do redis.call('del', k) end return 1");
    assert_int_equal(reads(w, B, 60000), HFT_NIL);
    assert_int_equal(ends_reading(w, B), HFT_NIL);
    assert_nothing_left(w);
}

/* ---- everything at once ---- */

#define CROWD 12

/* The TTL of the hash is never below that of a hold key whose field stands. */
static void assert_nobody_is_short(struct world *w)
{
    assert_int_equal(
        hft_int(w->server, "EVAL %s 1 " NAME,
                "local all = redis.call('hgetall', KEYS[1]) "
                "local ttl = redis.call('pttl', KEYS[1]) "
                "for i = 1, #all, 2 do for j = 1, tonumber(all[i+1]) or 0 do "
                "  if redis.call('pttl', '{rw}:' .. all[i] .. "
                "     ':rwlock_timeout:' .. j) > ttl + 1 then return 0 end "
                "end end return 1"),
        1);
}

/* T35: readers of ours and of Java's with leases of all lengths come, renew and
 * go as chance has it; nobody's time is ever shortened by another.
 * spec: rw/ttl-1 */
static void no_reader_shortens_anothers_time(void **world)
{
    struct world *w = *world;
    struct hft_random random = chance();
    bool held[CROWD] = {false};
    char who[64];

    for (int step = 0; step < 400; step++) {
        int i = (int)hft_random_below(&random, CROWD);
        int64_t lease = 20000 + (int64_t)hft_random_below(&random, 600) * 1000;
        bool java = i % 3 == 0;

        snprintf(who, sizeof(who), "%s:%d",
                 java ? "0badcafe-0bad-4afe-8bad-cafe0badcafe" : U, 100 + i);
        if (!held[i]) {
            assert_int_equal(java ? java_reads(w, NAME, who, lease)
                                  : reads(w, who, lease),
                             HFT_NIL);
            held[i] = true;
        } else if (hft_random_below(&random, 3) == 0) {
            /* Java's watchdog sets the TTL; ours has W to bring it up. */
            if (!java) {
                assert_int_equal(keeps_reading(w, who, 1, lease), HFT_NIL);
            }
        } else {
            (void)(java ? java_ends_reading(w, NAME, who)
                        : ends_reading(w, who));
            held[i] = false;
        }
        assert_nobody_is_short(w);
    }
    for (int i = 0; i < CROWD; i++) {
        snprintf(who, sizeof(who), "%s:%d",
                 i % 3 == 0 ? "0badcafe-0bad-4afe-8bad-cafe0badcafe" : U,
                 100 + i);
        if (held[i]) {
            (void)(i % 3 == 0 ? java_ends_reading(w, NAME, who)
                              : ends_reading(w, who));
        }
    }
    assert_nothing_left(w);
}

/* RW-32: twenty dead clients of Java's with three holds each keep nobody out,
 * once the one reader that lives has left. */
static void dead_holds_of_many_clients_keep_nobody_out(void **world)
{
    struct world *w = *world;
    char who[64];

    for (int i = 0; i < 20; i++) {
        snprintf(who, sizeof(who), "0badcafe-0bad-4afe-8bad-cafe0badca%02d:1",
                 i);
        for (int hold = 0; hold < 3; hold++) {
            assert_int_equal(java_reads(w, NAME, who, 60000), HFT_NIL);
        }
        for (int hold = 1; hold <= 3; hold++) {
            (void)hft_int(w->server, "DEL %s", hold_key(NAME, who, hold));
        }
    }
    assert_int_equal(reads(w, A, 60000), HFT_NIL);
    assert_about(writes(w, W, 20000), 60000);
    assert_int_equal(ends_reading(w, A), HFT_NIL);
    assert_int_equal(writes(w, W, 20000), HFT_NIL);
    assert_int_equal(ends_writing(w, W), HFT_NIL);
    assert_nothing_left(w);
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        world_test(a_release_in_a_crowd_asks_about_few),
        world_test(who_leaves_before_the_longest_reader_asks_nobody),
        world_test(a_release_in_a_dead_crowd_frees_the_lock),
        world_test(no_reader_shortens_anothers_time),
        world_test(dead_holds_of_many_clients_keep_nobody_out),
    };

    (void)hft_seed(argc, argv);
    return cmocka_run_group_tests(tests, world_up, world_down);
}
