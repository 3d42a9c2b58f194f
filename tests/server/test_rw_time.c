/* SPDX-License-Identifier: MIT */
/* test_rw_time.c - leases of readers and writers beside each other, and beside
 * Java's; who is woken by what.
 *
 * The clients' leases are W = 1 s; where a wake-up by message is meant, the
 * re-try bound is far beyond the test's.  Rows: RW-01, RW-03, RW-05, RW-07 to
 * RW-09, RW-11, RW-16 to RW-19, RW-31, RW-44, RW-47, 15.24, 15.26, 15.27,
 * IS-24, RN-02, RN-03; T35, T36, T38.
 */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "java_rw.h"
#include "listener.h"

#define NAME "page"
#define LONG_MS 60000
#define READERS 20
#define SOON_MS 3000 /* far below LONG_MS and the re-try bound of deaf_client */

struct pair {
    struct world *w;
    hf_client *client;
    hf_lock *read;
    hf_lock *write;
    hf_owner *me;
    hf_owner *you;
};

static struct pair pair_of(struct world *w, hf_client *client)
{
    struct pair pair = {.w = w, .client = client};

    pair.read = a_kind_of_lock(w, client, HF_KIND_READ, NAME);
    pair.write = a_kind_of_lock(w, client, HF_KIND_WRITE, NAME);
    pair.me = an_owner_of(w, client);
    pair.you = an_owner_of(w, client);
    return pair;
}

/* A client that asks again after 20 s only: what comes sooner was heard. */
static hf_client *patient_client(struct world *w)
{
    hf_options options = short_options();

    options.retry_bound_ms = 20000;
    return a_client_at(w, hft_server_url(w->server), &options);
}

static int64_t hash_ttl(struct world *w)
{
    return wire_ttl(w, NAME);
}

static void wait_as(struct caller *caller, hf_lock *lock, hf_owner *owner,
                    int64_t wait_ms)
{
    hf_acquire how = HF_ACQUIRE_INIT;

    how.wait_ms = wait_ms;
    how.owner = owner;
    caller->hold_ms = -1;
    caller_start_as(caller, lock, &how);
}

/* It gets it, and long before anybody asks again for the bound's sake. */
static void join_soon(struct caller *caller)
{
    int64_t begun = hft_now_ms();

    caller_join(caller);
    assert_status(HF_OK, caller->status);
    assert_between(hft_now_ms() - begun, 0, SOON_MS);
}

static void wait_for_subscribers(struct world *w, int64_t clients)
{
    int64_t until = hft_now_ms() + BOUND_MS;

    while (hft_subscribers(w->server, "redisson_rwlock:{page}") < clients) {
        assert_true(hft_now_ms() < until);
        hft_let_pass_ms(1);
    }
}

/* ---- leases beside each other ---- */

/* RW-01, RW-08: the writer gets in when the longest reader lets go, not when a
 * shorter one's time or release passes; nor later. */
static void the_longest_reader_is_what_a_writer_waits_for(void **world)
{
    struct pair p = pair_of(*world, a_client(*world));
    struct pair far = pair_of(*world, a_client(*world));
    struct caller writer = {.hold_ms = -1};
    int64_t begun = hft_now_ms();

    assert_ok(try_fixed(p.read, p.me, 2000));
    assert_ok(try_fixed(far.read, far.me, 600));
    wait_as(&writer, far.write, far.you, BOUND_MS);
    hft_let_pass_ms(300);
    assert_ok(leave(far.read, far.me));
    hft_let_pass_ms(600);
    assert_true(hf_lock_is_held(p.read, p.me));
    assert_ok(leave(p.read, p.me));
    caller_join(&writer);
    assert_status(HF_OK, writer.status);
    assert_between(writer.ended_ms - begun, 890, 900 + SOON_MS);
    assert_ok(leave(far.write, far.you));
}

/* RW-08: a dead reader's own lease is what counts, however long another's was
 * that came and went meanwhile. */
static void a_release_brings_the_end_of_the_dead_nearer(void **world)
{
    struct pair p = pair_of(*world, a_client(*world));
    int64_t begun = hft_now_ms();

    assert_int_equal(java_reads(p.w, NAME, JAVA_1, 1500), HFT_NIL);
    assert_ok(try_fixed(p.read, p.me, LONG_MS));
    assert_between(hash_ttl(p.w), LONG_MS - SLACK_MS, LONG_MS);
    assert_ok(leave(p.read, p.me));
    assert_ok(wait_up_to(p.write, p.me, BOUND_MS));
    assert_between(hft_now_ms() - begun, 1490, 1500 + SOON_MS);
    assert_ok(leave(p.write, p.me));
}

/* RW-05: a shorter re-entry never shortens; T35 for the writer. */
static void a_shorter_reentry_shortens_nothing(void **world)
{
    struct pair p = pair_of(*world, a_client(*world));
    hf_lock *half[] = {p.read, p.write};

    for (int i = 0; i < 2; i++) {
        assert_ok(try_fixed(half[i], p.me, LONG_MS));
        assert_ok(try_fixed(half[i], p.me, 500));
        assert_between(hash_ttl(p.w), LONG_MS - SLACK_MS, LONG_MS);
        assert_ok(leave(half[i], p.me));
        assert_between(hash_ttl(p.w), LONG_MS - 2 * SLACK_MS, LONG_MS);
        assert_ok(leave(half[i], p.me));
    }
}

/* RW-09, RW-17, RW-18: leases that pass are over, and told so. */
static void what_has_passed_is_over(void **world)
{
    struct pair p = pair_of(*world, a_client(*world));

    assert_ok(try_fixed(p.read, p.me, 400));
    assert_ok(try_fixed(p.read, p.you, 800));
    assert_true(state_becomes(p.read, p.me, HF_STATE_LOST, BOUND_MS));
    assert_true(hf_lock_is_held(p.read, p.you));
    assert_ok(wait_up_to(p.write, p.me, BOUND_MS));
    assert_status(HF_LOST, leave(p.read, p.you));
    assert_ok(leave(p.write, p.me));
    assert_status(HF_LOST, leave(p.read, p.me));

    assert_ok(try_fixed(p.write, p.me, 400));
    assert_ok(wait_up_to(p.write, p.you, BOUND_MS));
    assert_status(HF_LOST, leave(p.write, p.me));
    assert_ok(leave(p.write, p.you));
}

/* RW-07: both readers get in when a dead writer's lease ends. */
static void all_readers_get_in_at_a_dead_writers_end(void **world)
{
    struct pair p = pair_of(*world, a_client(*world));
    int64_t begun = hft_now_ms();
    struct caller waiters[2];

    assert_int_equal(java_writes(p.w, NAME, JAVA_1, 1000), HFT_NIL);
    wait_as(&waiters[0], p.read, p.me, BOUND_MS);
    wait_as(&waiters[1], p.read, p.you, BOUND_MS);
    for (int i = 0; i < 2; i++) {
        caller_join(&waiters[i]);
        assert_status(HF_OK, waiters[i].status);
        assert_between(waiters[i].ended_ms - begun, 990, 1000 + SOON_MS);
    }
    assert_ok(leave(p.read, p.me));
    assert_ok(leave(p.read, p.you));
}

/* RW-03, RW-31, IS-24: readers are renewed for as long as they read, the hash
 * and each hold key; and dead ones, beside them, by nobody.
 * spec: rw/key-5, rw/renew-3 */
static void readers_are_renewed_and_the_dead_are_not(void **world)
{
    struct pair p = pair_of(*world, a_client(*world));

    assert_int_equal(java_reads(p.w, NAME, JAVA_1, 900), HFT_NIL);
    assert_ok(try_once(p.read, p.me));
    assert_ok(try_once(p.read, p.you));
    for (int i = 0; i < 30; i++) {
        hft_let_pass_ms(100);
        assert_true(hf_lock_is_held(p.read, p.me));
        assert_true(hf_lock_is_held(p.read, p.you));
        assert_between(hash_ttl(p.w), 1, W_MS);
    }
    assert_int_equal(
        hft_int(p.w->server, "EXISTS %s", hold_key(NAME, JAVA_1, 1)), 0);
    assert_int_equal(hft_int(p.w->server, "HEXISTS " NAME " " JAVA_1), 1);
    assert_ok(leave(p.read, p.me));
    assert_ok(leave(p.read, p.you));
    assert_ok(try_once(p.write, p.me));
    assert_ok(leave(p.write, p.me));
}

/* RW-16, 15.27, T36: both holds are renewed, and the read one after the
 * downgrade. */
static void a_downgraded_hold_goes_on_being_renewed(void **world)
{
    struct pair p = pair_of(*world, a_client(*world));

    assert_ok(try_once(p.write, p.me));
    assert_ok(try_once(p.read, p.me));
    hft_let_pass_ms(2 * W_MS);
    assert_true(hf_lock_is_held(p.write, p.me));
    assert_true(hf_lock_is_held(p.read, p.me));
    assert_ok(leave(p.write, p.me));
    hft_let_pass_ms(2 * W_MS);
    assert_true(hf_lock_is_held(p.read, p.me));
    assert_between(hash_ttl(p.w), 1, W_MS);
    assert_ok(leave(p.read, p.me));
    assert_int_equal(hft_int(p.w->server, "DBSIZE"), 0);
}

/* RW-19, RW-47: a client that closes leaves nothing; what its owner releases
 * afterwards harms nobody. */
static void a_closed_client_leaves_nothing(void **world)
{
    struct world *w = *world;
    struct pair p = pair_of(w, w->client);
    struct pair far = pair_of(w, a_client(w));

    assert_ok(try_once(p.write, p.me));
    assert_ok(try_once(p.read, p.me));
    assert_ok(hf_client_close(w->client));
    assert_true(wire_free_within(w, NAME, BOUND_MS));
    assert_ok(try_once(far.read, far.me));
    assert_status(HF_CLOSED, leave(p.write, p.me));
    assert_true(hf_lock_is_held(far.read, far.me));
    assert_ok(leave(far.read, far.me));
    w->client = NULL;
}

/* IS-28's like: a server that is full grants nothing, and takes everything back.
 * spec: rw/keep-2, rw/release-7 */
static void a_full_server_lets_go_of_everything(void **world)
{
    struct world *w = *world;
    struct pair p = pair_of(w, a_client(w));

    assert_ok(try_once(p.write, p.me));
    assert_ok(try_once(p.read, p.me));
    (void)hft_int(w->server, "CONFIG SET maxmemory 1");
    assert_status(HF_BUSY, try_once(p.read, p.you));
    assert_ok(try_once(p.read, p.me)); /* a re-entry needs no memory */
    hft_let_pass_ms(W_MS + W_MS / 2);  /* nor does a renewal */
    assert_true(hf_lock_is_held(p.write, p.me));
    assert_true(hf_lock_is_held(p.read, p.me));
    assert_ok(leave(p.write, p.me));
    assert_ok(leave(p.read, p.me));
    assert_true(hf_lock_is_held(p.read, p.me));
    assert_ok(leave(p.read, p.me));
    assert_int_equal(hft_int(w->server, "DBSIZE"), 0);
    assert_status(HF_UNAVAILABLE, try_once(p.read, p.me));
    assert_status(HF_UNAVAILABLE, try_once(p.write, p.me));
    assert_int_equal(hft_int(w->server, "DBSIZE"), 0);
    (void)hft_int(w->server, "CONFIG SET maxmemory 0");
    assert_ok(try_once(p.read, p.me));
    assert_ok(leave(p.read, p.me));
}

/* ---- beside Java's watchdog ---- */

static hf_client *client_beside(struct world *w, int64_t watchdog_ms)
{
    hf_options options = short_options();

    options.foreign_watchdog_ms = watchdog_ms;
    return a_client_at(w, hft_server_url(w->server), &options);
}

/* A long fixed read lease outlives what a Java reader's watchdog makes of the
 * hash, and is never believed longer than that.
 * spec: rw/renew-1, rw/renew-2, rw/java-2 */
static void a_fixed_read_lease_survives_javas_watchdog(void **world)
{
    struct world *w = *world;
    struct pair p = pair_of(w, client_beside(w, 900));
    char text[64];

    assert_ok(try_fixed(p.read, p.me, LONG_MS));
    assert_ok(hf_lock_owner_text(p.read, p.me, text, sizeof(text)));
    assert_between(hf_lock_remaining_ms(p.read, p.me), 1, 900);
    assert_int_equal(java_reads(w, NAME, JAVA_1, 900), HFT_NIL);
    for (int i = 0; i < 30; i++) {
        assert_int_equal(java_renews_reading(w, NAME, JAVA_1, 900), 1);
        hft_let_pass_ms(100);
        assert_true(hf_lock_is_held(p.read, p.me));
    }
    assert_int_equal(java_ends_reading(w, NAME, JAVA_1), 0);
    assert_between(hft_int(w->server, "PTTL %s", hold_key(NAME, text, 1)),
                   LONG_MS - 10000, LONG_MS);
    assert_int_equal(hft_int(w->server, "HEXISTS " NAME " %s", text), 1);
    assert_ok(leave(p.read, p.me));
}

/* With the server out of reach it is over when Java's period is, not later. */
static void an_unreachable_fixed_read_is_lost_within_the_period(void **world)
{
    struct world *w = *world;
    struct pair p = pair_of(w, client_beside(w, 900));
    struct told told = {0};
    hf_acquire how = once(p.me, LONG_MS);
    int64_t begun;

    how.renew = 0;
    how.on_lost = record_lost;
    how.context = &told;
    assert_ok(take(p.read, p.me, &how));
    begun = hft_now_ms();
    (void)hft_str(w->server, "CLIENT PAUSE 2500");
    assert_true(loss_is_told(&told, BOUND_MS));
    assert_between(told_so_far(&told).at_ms - begun, 500, 900 + SLACK_MS);
    assert_int_equal(told_so_far(&told).reason, HF_LOST_UNREACHABLE);
    assert_status(HF_LOST, leave(p.read, p.me));
    assert_true(endings_become(p.client, 0, BOUND_MS));
    assert_true(wire_free_within(w, NAME, BOUND_MS));
}

/* spec: rw/renew-1 */
static void an_absurd_watchdog_is_refused(void **world)
{
    struct world *w = *world;
    hf_options options = short_options();
    hf_client *client = NULL;

    options.foreign_watchdog_ms = 99;
    assert_status(HF_INVALID, hf_client_open(hft_server_url(w->server),
                                             &options, &client, &problem));
    options.foreign_watchdog_ms = -5;
    assert_status(HF_INVALID, hf_client_open(hft_server_url(w->server),
                                             &options, &client, &problem));
}

/* ---- who is woken ---- */

/* RW-11, 15.24: one release lets all readers in, of all clients.
 * spec: rw/message-1, rw/wait-1 */
static void a_write_release_lets_all_readers_in_at_once(void **world)
{
    struct world *w = *world;
    struct pair holder = pair_of(w, w->client);
    struct pair at[2] = {pair_of(w, patient_client(w)),
                         pair_of(w, patient_client(w))};
    struct caller waiters[READERS];
    hf_owner *owners[READERS];
    int64_t freed;

    assert_ok(try_fixed(holder.write, holder.me, LONG_MS));
    for (int i = 0; i < READERS; i++) {
        owners[i] = an_owner_of(w, at[i % 2].client);
        wait_as(&waiters[i], at[i % 2].read, owners[i], HF_WAIT_FOREVER);
    }
    assert_true(waiters_become(at[0].client, READERS / 2, BOUND_MS));
    assert_true(waiters_become(at[1].client, READERS / 2, BOUND_MS));
    wait_for_subscribers(w, 2);
    freed = hft_now_ms();
    assert_ok(leave(holder.write, holder.me));
    for (int i = 0; i < READERS; i++) {
        caller_join(&waiters[i]);
        assert_status(HF_OK, waiters[i].status);
        assert_between(waiters[i].ended_ms - freed, -SLACK_MS, SOON_MS);
    }
    for (int i = 0; i < READERS; i++) {
        assert_ok(leave(at[i % 2].read, owners[i]));
    }
    assert_int_equal(hft_int(w->server, "DBSIZE"), 0);
}

/* T36, 15.26, RW-44: readers that wait come in at the downgrade, and a writer
 * that waits does not. */
static void a_downgrade_lets_readers_in_and_no_writer(void **world)
{
    struct world *w = *world;
    struct pair holder = pair_of(w, w->client);
    struct pair far = pair_of(w, patient_client(w));
    struct caller reader, writer;

    assert_ok(try_fixed(holder.write, holder.me, LONG_MS));
    wait_as(&writer, far.write, far.you, HF_WAIT_FOREVER);
    wait_as(&reader, far.read, far.me, HF_WAIT_FOREVER);
    assert_true(waiters_become(far.client, 2, BOUND_MS));
    wait_for_subscribers(w, 1);
    assert_ok(try_fixed(holder.read, holder.me, LONG_MS));
    assert_ok(leave(holder.write, holder.me));
    join_soon(&reader);
    assert_int_equal(stats_of(far.client).waiters, 1);
    assert_ok(leave(holder.read, holder.me));
    hft_let_pass_ms(100);
    assert_int_equal(stats_of(far.client).waiters, 1);
    assert_ok(leave(far.read, far.me));
    join_soon(&writer);
    assert_ok(leave(far.write, far.you));
}

/* The last reader's release wakes a writer that waits, of the same client or
 * another. */
static void the_last_reader_wakes_the_writer(void **world)
{
    struct world *w = *world;
    struct pair p = pair_of(w, patient_client(w));
    struct pair far = pair_of(w, patient_client(w));
    struct caller here, there;

    assert_ok(try_fixed(p.read, p.me, LONG_MS));
    assert_ok(try_fixed(far.read, far.me, LONG_MS));
    wait_as(&here, p.write, p.you, HF_WAIT_FOREVER);
    assert_true(waiters_become(p.client, 1, BOUND_MS));
    assert_ok(leave(p.read, p.me)); /* now it asks, and finds the other */
    assert_true(hft_wait_channels(w->server, 1, BOUND_MS));
    assert_ok(leave(far.read, far.me));
    join_soon(&here);
    wait_as(&there, far.write, far.you, HF_WAIT_FOREVER);
    wait_for_subscribers(w, 1);
    assert_ok(leave(p.write, p.you));
    join_soon(&there);
    assert_ok(leave(far.write, far.you));
}

/* Java's releases wake ours, and ours are told to Java.
 * spec: rw/java-1 */
static void messages_pass_between_java_and_us(void **world)
{
    struct world *w = *world;
    struct pair p = pair_of(w, patient_client(w));
    struct listener *java;
    struct caller reader, writer;

    assert_int_equal(java_writes(w, NAME, JAVA_1, LONG_MS), HFT_NIL);
    wait_as(&reader, p.read, p.me, HF_WAIT_FOREVER);
    wait_for_subscribers(w, 1);
    assert_int_equal(java_ends_writing(w, NAME, JAVA_1), 1);
    join_soon(&reader);
    assert_true(java_writes(w, NAME, JAVA_1, LONG_MS) > 0);
    assert_int_equal(java_reads(w, NAME, JAVA_2, LONG_MS), HFT_NIL);
    assert_ok(leave(p.read, p.me));
    wait_as(&writer, p.write, p.me, HF_WAIT_FOREVER);
    wait_for_subscribers(w, 1);
    assert_int_equal(java_ends_reading(w, NAME, JAVA_2), 1);
    join_soon(&writer);

    java = listener_new(w->server, "redisson_rwlock:*");
    assert_true(java_reads(w, NAME, JAVA_1, LONG_MS) > 0);
    assert_ok(leave(p.write, p.me));
    assert_string_equal(listener_hear(java, BOUND_MS),
                        "redisson_rwlock:{page} 1");
    assert_int_equal(java_reads(w, NAME, JAVA_1, LONG_MS), HFT_NIL);
    assert_int_equal(java_ends_reading(w, NAME, JAVA_1), 1);
    listener_free(java);
}

/* ---- giving way to writers ---- */

static hf_lock *a_lock_with_way(struct world *w, hf_client *client,
                                hf_kind kind)
{
    hf_lock_options options = HF_LOCK_OPTIONS_INIT;
    hf_lock *lock = NULL;

    options.kind = kind;
    options.prefer_writers = 1;
    assert_ok(
        hf_lock_new_as(client, &options, NAME, strlen(NAME), &lock, &problem));
    keep_lock(w, lock);
    return lock;
}

/* T38: readers that never leave it free cannot keep a writer out.
 * spec: rw/way-1, rw/way-2 */
static void a_writer_gets_in_under_a_stream_of_readers(void **world)
{
    struct world *w = *world;
    hf_client *near = a_client(w);
    hf_lock *read[2] = {a_lock_with_way(w, w->client, HF_KIND_READ),
                        a_lock_with_way(w, near, HF_KIND_READ)};
    hf_lock *write = a_lock_with_way(w, near, HF_KIND_WRITE);
    hf_owner *owners[2] = {an_owner(w), an_owner_of(w, near)};
    struct caller writer;
    int held = 0;

    assert_ok(try_once(read[0], owners[0]));
    wait_as(&writer, write, NULL, HF_WAIT_FOREVER);
    assert_true(
        hft_wait_int(w->server, 1, BOUND_MS, "EXISTS holdfast_writers:{page}"));
    /* From here on no new reader gets in, so the stream runs dry. */
    assert_status(HF_BUSY, try_once(read[1], owners[1]));
    assert_ok(try_once(read[0], owners[0]));
    for (held = 2; held > 0; held--) {
        assert_ok(leave(read[0], owners[0]));
    }
    join_soon(&writer);
    assert_int_equal(hft_int(w->server, "EXISTS holdfast_writers:{page}"), 0);
}

/* A writer that gave up is in nobody's way: what it left is undone, and the
 * readers that wait are told.
 * spec: rw/way-3 */
static void a_writer_that_gave_up_is_in_nobodys_way(void **world)
{
    struct world *w = *world;
    hf_client *patient = patient_client(w);
    hf_lock *read = a_lock_with_way(w, w->client, HF_KIND_READ);
    hf_lock *later = a_lock_with_way(w, patient, HF_KIND_READ);
    hf_lock *write = a_lock_with_way(w, w->client, HF_KIND_WRITE);
    struct caller writer, reader;

    assert_ok(try_fixed(read, NULL, LONG_MS));
    wait_as(&writer, write, an_owner(w), 400);
    assert_true(
        hft_wait_int(w->server, 1, BOUND_MS, "EXISTS holdfast_writers:{page}"));
    wait_as(&reader, later, an_owner_of(w, patient), HF_WAIT_FOREVER);
    caller_join(&writer);
    assert_int_equal(writer.status, HF_TIMEOUT);
    join_soon(&reader);
    assert_true(endings_become(w->client, 0, BOUND_MS));
    assert_int_equal(hft_int(w->server, "EXISTS holdfast_writers:{page}"), 0);
    assert_ok(leave(read, NULL));
}

/* RN-02, RN-03: one renewal in vain ends that hold, and no later one's. */
static void after_the_server_forgot_both_halves_are_renewed_again(void **world)
{
    static const hf_kind halves[] = {HF_KIND_WRITE, HF_KIND_READ};
    struct world *w = *world;

    for (size_t i = 0; i < 2; i++) {
        hf_lock *lock = a_kind_of_lock(w, w->client, halves[i], NAME);

        assert_ok(try_once(lock, NULL));
        hft_server_restart(w->server, HFT_LOSE_DATA);
        assert_true(state_becomes(lock, NULL, HF_STATE_LOST, BOUND_MS));
        assert_status(HF_LOST, leave(lock, NULL));
        assert_ok(wait_up_to(lock, NULL, BOUND_MS));
        hft_let_pass_ms(2 * W_MS);
        assert_true(hf_lock_is_held(lock, NULL));
        assert_ok(leave(lock, NULL));
    }
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        world_test(the_longest_reader_is_what_a_writer_waits_for),
        world_test(a_release_brings_the_end_of_the_dead_nearer),
        world_test(a_shorter_reentry_shortens_nothing),
        world_test(what_has_passed_is_over),
        world_test(all_readers_get_in_at_a_dead_writers_end),
        world_test(readers_are_renewed_and_the_dead_are_not),
        world_test(a_downgraded_hold_goes_on_being_renewed),
        world_test(a_full_server_lets_go_of_everything),
        world_test(a_fixed_read_lease_survives_javas_watchdog),
        world_test(an_unreachable_fixed_read_is_lost_within_the_period),
        world_test(an_absurd_watchdog_is_refused),
        world_test(a_write_release_lets_all_readers_in_at_once),
        world_test(a_downgrade_lets_readers_in_and_no_writer),
        world_test(the_last_reader_wakes_the_writer),
        world_test(messages_pass_between_java_and_us),
        world_test(a_writer_gets_in_under_a_stream_of_readers),
        world_test(a_writer_that_gave_up_is_in_nobodys_way),
        world_test(after_the_server_forgot_both_halves_are_renewed_again),
        world_test(a_closed_client_leaves_nothing),
    };

    (void)hft_seed(argc, argv);
    return cmocka_run_group_tests(tests, world_up, world_down);
}
