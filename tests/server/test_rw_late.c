/* SPDX-License-Identifier: MIT */
/* test_rw_late.c - copies of a reader's and a writer's requests that run long
 * after they were sent, while others keep the hash alive.
 *
 * With a plain lock a TTL ends what nobody undid.  Here others extend the hash,
 * so a field that a late copy leaves would stand as long as anybody reads: it
 * has to be undone.  Rows: T14, T15, IS-20, IS-24; LATE-COPIES' invariants 2
 * and 3.
 */
#include "world.h"

#include <string.h>

#include "java_rw.h"
#include "support/proxy.h"

#define NAME "late-rw"
#define LIMIT_MS 800
#define LONG_MS 60000

/* A world with a proxy in between, and requests that are being held. */
struct delay {
    struct world *w;
    struct hft_proxy *proxy;
    hf_client *client;
    hf_lock *read;
    hf_lock *write;
    hf_owner *me;
    int id;
};

static void warm_up(struct delay *delay)
{
    hf_lock *warm[] = {
        a_kind_of_lock(delay->w, delay->client, HF_KIND_READ, "warm"),
        a_kind_of_lock(delay->w, delay->client, HF_KIND_WRITE, "warm")};

    for (int i = 0; i < 2; i++) {
        assert_ok(try_once(warm[i], NULL));
        assert_ok(try_once(warm[i], NULL));
        assert_ok(leave(warm[i], NULL));
        assert_ok(leave(warm[i], NULL));
    }
}

static struct delay delay_begin(void **world)
{
    struct delay delay = {.w = *world};
    hf_options options = short_options();

    options.response_limit_ms = LIMIT_MS;
    delay.proxy = hft_proxy_start(delay.w->server);
    delay.client = a_client_at(delay.w, hft_proxy_url(delay.proxy), &options);
    delay.read = a_kind_of_lock(delay.w, delay.client, HF_KIND_READ, NAME);
    delay.write = a_kind_of_lock(delay.w, delay.client, HF_KIND_WRITE, NAME);
    delay.me = an_owner_of(delay.w, delay.client);
    warm_up(&delay);
    return delay;
}

static void hold_next(struct delay *delay)
{
    struct hft_rule rule = {.direction = HFT_REQUEST,
                            .match = "EVALSHA",
                            .contains = NAME,
                            .times = 1,
                            .action = HFT_HOLD};

    delay->id = hft_proxy_add(delay->proxy, &rule);
}

static void let_go(struct delay *delay)
{
    hft_proxy_release(delay->proxy, delay->id);
}

/* Nothing is left of ours, and whoever stands there still does. */
static void delay_end(struct delay *delay, int64_t others)
{
    assert_true(endings_become(delay->client, 0, BOUND_MS));
    delay->w->more_client_count--;
    assert_ok(hf_client_close(delay->client));
    hft_proxy_stop(delay->proxy);
    assert_int_equal(hft_int(delay->w->server, "HLEN " NAME),
                     others == 0 ? 0 : others + 1);
    assert_int_equal(hft_int(delay->w->server, "EVAL %s 0",
                             "return #redis.call('keys', '*rwlock_timeout*')"),
                     others);
}

/* Take it, with the first copy held and the links cut: the second takes it. */
static void take_by_the_second_copy(struct delay *delay, hf_lock *lock)
{
    struct caller caller = {.hold_ms = -1};
    hf_acquire how = HF_ACQUIRE_INIT;

    how.owner = delay->me;
    how.lease_ms = LONG_MS;
    how.renew = 0;
    how.wait_ms = BOUND_MS;
    hold_next(delay);
    caller_start_as(&caller, lock, &how);
    assert_true(hft_proxy_wait_hits(delay->proxy, delay->id, 1, BOUND_MS));
    hft_proxy_cut_all(delay->proxy);
    caller_join(&caller);
    assert_status(HF_OK, caller.status);
}

static const char *count_of(struct delay *delay, hf_lock *lock)
{
    char text[64];

    assert_ok(hf_lock_owner_text(lock, delay->me, text, sizeof(text)));
    return hft_str(delay->w->server, "HGET " NAME " %s", text);
}

/* spec: rw/read-5 */
static void a_late_read_acquire_counts_nothing_while_it_is_held(void **world)
{
    struct delay delay = delay_begin(world);

    assert_int_equal(java_reads(delay.w, NAME, JAVA_1, LONG_MS), HFT_NIL);
    take_by_the_second_copy(&delay, delay.read);
    let_go(&delay);
    hft_let_pass_ms(100);
    assert_string_equal(count_of(&delay, delay.read), "1");
    assert_int_equal(hft_int(delay.w->server, "HLEN " NAME), 3);
    assert_ok(leave(delay.read, delay.me));
    delay_end(&delay, 1);
}

/* spec: rw/undo-2 */
static void a_late_read_acquire_after_the_release_leaves_nothing(void **world)
{
    struct delay delay = delay_begin(world);

    assert_int_equal(java_reads(delay.w, NAME, JAVA_1, LONG_MS), HFT_NIL);
    take_by_the_second_copy(&delay, delay.read);
    assert_ok(leave(delay.read, delay.me));
    let_go(&delay);
    delay_end(&delay, 1);
    assert_between(wire_ttl(delay.w, NAME), 1, LONG_MS);
}

/* The same for a writer: a reader who came in meanwhile is not disturbed.
 * spec: rw/write-3 */
static void a_late_write_acquire_after_the_release_leaves_nothing(void **world)
{
    struct delay delay = delay_begin(world);

    take_by_the_second_copy(&delay, delay.write);
    let_go(&delay);
    hft_let_pass_ms(100);
    assert_string_equal(count_of(&delay, delay.write), "1");
    assert_ok(leave(delay.write, delay.me));
    delay_end(&delay, 0);
}

static void a_late_write_acquire_after_a_reader_came_does_nothing(void **world)
{
    struct delay delay = delay_begin(world);

    take_by_the_second_copy(&delay, delay.write);
    assert_ok(leave(delay.write, delay.me));
    assert_int_equal(java_reads(delay.w, NAME, JAVA_1, LONG_MS), HFT_NIL);
    let_go(&delay);
    delay_end(&delay, 1);
    assert_int_equal(java_sees_writing(delay.w, NAME), 0);
}

/* T15: given up in flight beside others. */
static void a_read_given_up_in_flight_is_undone(void **world)
{
    struct delay delay = delay_begin(world);
    hf_acquire how = HF_ACQUIRE_INIT;

    assert_int_equal(java_reads(delay.w, NAME, JAVA_1, LONG_MS), HFT_NIL);
    how.owner = delay.me;
    how.wait_ms = 200;
    how.lease_ms = LONG_MS;
    hold_next(&delay);
    assert_status(HF_UNKNOWN, take(delay.read, delay.me, &how));
    assert_false(hf_lock_is_held(delay.read, delay.me));
    let_go(&delay);
    delay_end(&delay, 1);
}

/* A late release is of a number that is nobody's any more.
 * spec: rw/release-1, rw/release-2 */
static void a_late_read_release_does_not_touch_the_next_hold(void **world)
{
    struct delay delay = delay_begin(world);
    struct caller caller = {.hold_ms = 300};
    hf_acquire how = once(delay.me, LONG_MS);
    hf_owner *again = an_owner_of(delay.w, delay.client);

    caller_start_as(&caller, delay.read, &how);
    assert_true(hft_wait_int(delay.w->server, 2, BOUND_MS, "HLEN " NAME));
    hold_next(&delay);
    assert_true(hft_proxy_wait_hits(delay.proxy, delay.id, 1, BOUND_MS));
    hft_proxy_cut_all(delay.proxy);
    caller_join(&caller);
    assert_status(HF_OK, caller.release_status); /* by the second copy */
    assert_ok(try_fixed(delay.read, again, LONG_MS));
    let_go(&delay);
    hft_let_pass_ms(200);
    assert_int_equal(hft_int(delay.w->server, "HLEN " NAME), 2);
    assert_true(hf_lock_is_held(delay.read, again));
    assert_ok(hf_lock_extend(delay.read, again, LONG_MS, &problem));
    assert_ok(leave(delay.read, again));
    delay_end(&delay, 0);
}

/* A late renewal brings neither the field nor the hold key back.
 * spec: rw/keep-1 */
static void a_late_read_renewal_creates_nothing(void **world)
{
    struct delay delay = delay_begin(world);
    hf_acquire how = once(delay.me, 900);

    assert_int_equal(java_reads(delay.w, NAME, JAVA_1, LONG_MS), HFT_NIL);
    assert_ok(take(delay.read, delay.me, &how));
    hold_next(&delay);
    assert_true(hft_proxy_wait_hits(delay.proxy, delay.id, 1, BOUND_MS));
    assert_ok(leave(delay.read, delay.me));
    let_go(&delay);
    hft_let_pass_ms(100);
    delay_end(&delay, 1);
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        world_test(a_late_read_acquire_counts_nothing_while_it_is_held),
        world_test(a_late_read_acquire_after_the_release_leaves_nothing),
        world_test(a_late_write_acquire_after_the_release_leaves_nothing),
        world_test(a_late_write_acquire_after_a_reader_came_does_nothing),
        world_test(a_read_given_up_in_flight_is_undone),
        world_test(a_late_read_release_does_not_touch_the_next_hold),
        world_test(a_late_read_renewal_creates_nothing),
    };

    (void)hft_seed(argc, argv);
    return cmocka_run_group_tests(tests, world_up, world_down);
}
