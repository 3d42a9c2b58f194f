/* SPDX-License-Identifier: MIT */
/* test_lock_fair_acl.c - the rules that docs/guide/acl.md gives for a fair lock
 * suffice, also where many wait and not all are ours.  T30 for this kind.
 */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/fatal.h"

#define NAME "job:1"
#define QUEUE "redisson_lock_queue:{job:1}"
#define SCORES "redisson_lock_timeout:{job:1}"
#define MANY 80

static const char rules[] =
    "user app on >secret resetkeys ~job:* resetchannels "
    "&redisson_lock__channel:{job:* -@all +evalsha +eval +time +pttl +pexpire "
    "+hset +hget +hexists +hdel +publish +subscribe +unsubscribe +ping +select "
    "+client|setname "
    "~redisson_lock_queue:{job:* ~redisson_lock_timeout:{job:* "
    "~holdfast_fair_*:{job:* +del +llen +lindex +lrange +lpop +rpop +rpush "
    "+lrem +zadd +zrem +zscore +zcard +zrange +zrangebyscore +zcount "
    "+zinterstore "
    "+sadd +scard +rename";

static int group_up(void **world)
{
    static struct world w;
    const char *acl[] = {rules, NULL};
    struct hft_server_options options = {.tcp = true, .acl = acl};

    w.server = hft_server_start(&options);
    *world = &w;
    return 0;
}

static int group_down(void **world)
{
    struct world *w = *world;

    hft_server_free(w->server);
    return 0;
}

static hf_client *a_client_of_the_user(struct world *w)
{
    hf_options options = short_options();
    char *url = hft_format("redis://app:secret@127.0.0.1:%d",
                           hft_server_port(w->server));
    hf_client *client = a_client_at(w, url, &options);

    free(url);
    return client;
}

#define JAVA "0badcafe-0bad-4afe-8bad-0badcafe0bad:1"

/* In one step each, as its scripts do: half of it would be swept. */
static void java_stands_in_line(struct world *w)
{
    hft_int(w->server, "EVAL %s 2 " QUEUE " " SCORES " " JAVA,
            "redis.call('zadd', KEYS[2], 9000000000000, ARGV[1]) "
            "return redis.call('rpush', KEYS[1], ARGV[1])");
}

static void java_gives_up(struct world *w)
{
    hft_int(w->server, "EVAL %s 2 " QUEUE " " SCORES " " JAVA,
            "redis.call('zrem', KEYS[2], ARGV[1]) "
            "return redis.call('lrem', KEYS[1], 0, ARGV[1])");
}

/* The first of ours, Java, and many of ours. */
static void the_rules_suffice_for_all_that_a_fair_lock_does(void **world)
{
    static struct caller callers[MANY];
    struct world *w = *world;
    hf_client *client = a_client_of_the_user(w);
    hf_lock *lock = NULL;
    hf_owner *holder;

    assert_ok(hf_fair_lock_new(client, NAME, &lock, &problem));
    keep_lock(w, lock);
    holder = an_owner_of(w, client);
    assert_ok(try_fixed(lock, holder, 60000));
    for (int i = 0; i < MANY; i++) {
        hf_acquire how = once(an_owner_of(w, client), 30000);

        how.wait_ms = i == MANY / 2 ? 1500 : 60000;
        callers[i].hold_ms = 0;
        if (i == 2) {
            java_stands_in_line(w);
        }
        caller_start_as(&callers[i], lock, &how);
        assert_true(hft_wait_int(w->server, i + (i < 2 ? 1 : 2), BOUND_MS,
                                 "LLEN " QUEUE));
    }
    caller_join(&callers[MANY / 2]); /* leaves from the middle */
    assert_status(HF_TIMEOUT, callers[MANY / 2].status);
    assert_ok(leave(lock, holder));
    caller_join(&callers[0]);
    caller_join(&callers[1]);
    java_gives_up(w);
    for (int i = 2; i < MANY; i++) {
        if (i != MANY / 2) {
            caller_join(&callers[i]);
        }
        assert_status(i == MANY / 2 ? HF_TIMEOUT : HF_OK, callers[i].status);
    }
    assert_status(HF_OK, callers[0].status);
    assert_int_equal(hft_int(w->server, "ACL LOG"), 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            the_rules_suffice_for_all_that_a_fair_lock_does, NULL, world_end),
    };

    return cmocka_run_group_tests(tests, group_up, group_down);
}
