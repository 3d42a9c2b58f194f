/* SPDX-License-Identifier: MIT */
/* test_rw.c - read-write locks between our library and Redisson: the write lock
 * as every exclusive lock (exclusive.h), and readers of both sides beside each
 * other.
 *
 * One thread here is several owners; in Java each is a thread.
 */
#include "both.h"

#include <string.h>

#include "exclusive.h"

#define NAME "doc:7"
#define HOLD_KEY(owner) "{" NAME "}:%s:rwlock_timeout:%d", (owner)

/* Both halves of one lock of ours. */
struct halves {
    hf_lock *read;
    hf_lock *write;
};

static struct halves halves_of(struct world *w, hf_client *client)
{
    struct halves halves = {a_lock_of_kind(w, client, HF_KIND_READ, NAME),
                            a_lock_of_kind(w, client, HF_KIND_WRITE, NAME)};

    return halves;
}

/* Leases that end only when the test does; woken by messages alone. */
static struct halves patient_halves(struct world *w)
{
    return halves_of(w, a_patient_client(w));
}

static hf_lock_info look(hf_lock *lock)
{
    hf_lock_info info = HF_LOCK_INFO_INIT;

    assert_ok(hf_inspect_remote(lock, &info, &problem));
    return info;
}

/* ---- readers ------------------------------------------------------------- */

/* spec: rw/java-1, rw/key-1 */
static void readers_of_both_sides_hold_side_by_side(void **world)
{
    struct world *w = *world;
    struct halves ours = halves_of(w, w->client);
    hf_owner *me = an_owner(w);
    hf_owner *you = an_owner(w);

    assert_java("ok", java_ask("a/t1 acquire read %s", NAME));
    assert_ok(try_once(ours.read, me));
    assert_java("ok true", java_ask("b/t1 try read %s", NAME));
    assert_ok(try_once(ours.read, you));
    assert_string_equal(hft_str(w->server, "HGET %s mode", NAME), "read");
    assert_int_equal(wire_fields(w, NAME), 5);
    assert_status(HF_BUSY, try_once(ours.write, an_owner(w)));
    assert_java("ok false", java_ask("a/t2 try write %s", NAME));
    assert_java("ok true", java_ask("a/t2 is-locked read %s", NAME));
    assert_java("ok false", java_ask("a/t2 is-locked write %s", NAME));
    assert_java("ok 1", java_ask("a/t1 count read %s", NAME));
    assert_ok(leave(ours.read, me));
    assert_java("ok", java_ask("a/t1 release read %s", NAME));
    assert_ok(leave(ours.read, you));
    assert_int_equal(wire_fields(w, NAME), 2);
    assert_java("ok", java_ask("b/t1 release read %s", NAME));
    assert_true(wire_free_within(w, NAME, 0));
}

/* spec: rw/message-1, rw/java-1 */
static void the_last_reader_of_ours_lets_a_java_writer_in(void **world)
{
    struct world *w = *world;
    hf_client *client = a_patient_client(w);
    struct halves ours = halves_of(w, client);
    hf_owner *me = an_owner_of(w, client);
    unsigned writer;

    assert_ok(try_fixed(ours.read, me, HOLD_MS));
    assert_java("ok", java_ask("a/t1 acquire read %s %d", NAME, HOLD_MS));
    writer = java_begins("a/t2", "acquire write %s", NAME);
    assert_java("ok", java_ask("a/t1 release read %s", NAME));
    assert_null(java_answer(writer, 100));
    assert_ok(leave(ours.read, me));
    assert_java("ok", java_answer(writer, WAKE_MS));
    assert_status(HF_BUSY, try_once(ours.read, me));
    assert_java("ok", java_ask("a/t2 release write %s", NAME));
}

static void the_last_java_reader_lets_a_writer_of_ours_in(void **world)
{
    struct world *w = *world;
    hf_client *client = a_patient_client(w);
    struct halves ours = halves_of(w, client);
    hf_owner *me = an_owner_of(w, client);
    static struct caller writer;

    assert_java("ok", java_ask("a/t1 acquire read %s %d", NAME, HOLD_MS));
    assert_ok(try_fixed(ours.read, me, HOLD_MS));
    caller_start(&writer, ours.write, WAKE_MS);
    assert_true(waiters_become(client, 1, BOUND_MS));
    assert_ok(leave(ours.read, me));
    /* It is only now that nobody in this client would wake it. */
    assert_true(somebody_listens(w));
    assert_java("ok", java_ask("a/t1 release read %s", NAME));
    caller_join(&writer);
    assert_int_equal(writer.status, HF_OK);
    assert_int_equal(writer.release_status, HF_OK);
}

/* The release of a writer says 1, and that wakes every thread of a Java client.
 * spec: rw/message-1, rw/release-3 */
static void our_write_release_lets_all_java_readers_in(void **world)
{
    struct world *w = *world;
    struct halves ours = patient_halves(w);
    unsigned readers[3];
    size_t i;

    assert_ok(try_fixed(ours.write, NULL, HOLD_MS));
    readers[0] = java_begins("a/t1", "acquire read %s", NAME);
    readers[1] = java_begins("a/t2", "acquire read %s", NAME);
    readers[2] = java_begins("b/t1", "acquire read %s", NAME);
    assert_ok(leave(ours.write, NULL));
    for (i = 0; i < 3; i++) {
        assert_java("ok", java_answer(readers[i], WAKE_MS));
    }
    assert_java("ok", java_ask("a/t1 release read %s", NAME));
    assert_java("ok", java_ask("a/t2 release read %s", NAME));
    assert_java("ok", java_ask("b/t1 release read %s", NAME));
}

static void a_java_write_release_lets_all_our_readers_in(void **world)
{
    struct world *w = *world;
    struct halves ours = patient_halves(w);
    static struct caller readers[3];
    size_t i;

    assert_java("ok", java_ask("a/t1 acquire write %s %d", NAME, HOLD_MS));
    for (i = 0; i < 3; i++) {
        readers[i].hold_ms = 300;
        caller_start(&readers[i], ours.read, WAKE_MS);
    }
    assert_true(somebody_listens(w));
    assert_java("ok", java_ask("a/t1 release write %s", NAME));
    for (i = 0; i < 3; i++) {
        caller_join(&readers[i]);
        assert_int_equal(readers[i].status, HF_OK);
        assert_int_equal(readers[i].release_status, HF_OK);
    }
    assert_true(wire_free_within(w, NAME, 0));
}

/* ---- what a release leaves to the others --------------------------------- */

/* The release of a Java reader finds our hold key and keeps our time.
 * spec: rw/key-2, rw/java-1, rw/ttl-1 */
static void a_java_release_leaves_our_reader_its_time(void **world)
{
    struct world *w = *world;
    struct halves ours = halves_of(w, w->client);
    char text[128];

    assert_ok(try_fixed(ours.read, NULL, HOLD_MS));
    assert_ok(try_fixed(ours.read, NULL, HOLD_MS));
    assert_ok(hf_lock_owner_text(ours.read, NULL, text, sizeof(text)));
    assert_between(hft_int(w->server, "PTTL " HOLD_KEY(text), 1), 1, HOLD_MS);
    assert_java("ok", java_ask("a/t1 acquire read %s 2000", NAME));
    assert_java("ok", java_ask("a/t1 release read %s", NAME));
    assert_between(wire_ttl(w, NAME), HOLD_MS - BOUND_MS, HOLD_MS);
    assert_true(hf_lock_is_held(ours.read, NULL));
    assert_ok(leave(ours.read, NULL));
    assert_java("ok false", java_ask("a/t1 try write %s", NAME));
    assert_ok(leave(ours.read, NULL));
    assert_java("ok true", java_ask("a/t1 try write %s", NAME));
    assert_java("ok", java_ask("a/t1 release write %s", NAME));
}

/* And ours those of a Java reader, of all its holds.
 * spec: rw/release-4 */
static void our_release_leaves_a_java_reader_its_time(void **world)
{
    struct world *w = *world;
    struct halves ours = halves_of(w, w->client);

    assert_java("ok", java_ask("a/t1 acquire read %s 1000", NAME));
    assert_java("ok", java_ask("a/t1 acquire read %s %d", NAME, HOLD_MS / 2));
    assert_ok(try_fixed(ours.read, NULL, HOLD_MS));
    assert_ok(leave(ours.read, NULL));
    assert_between(wire_ttl(w, NAME), HOLD_MS / 2 - BOUND_MS, HOLD_MS / 2);
    assert_java("ok 2", java_ask("a/t1 count read %s", NAME));
    assert_java("ok", java_ask("a/t1 release read %s", NAME));
    assert_status(HF_BUSY, try_once(ours.write, NULL));
    assert_true(wire_ttl(w, NAME) <= 1000);
    assert_ok(wait_up_to(ours.write, NULL, WAKE_MS));
    assert_ok(leave(ours.write, NULL));
}

/* A reader that is dead keeps nobody out once the others have left.
 * spec: rw/key-5, rw/release-5 */
static void dead_readers_of_either_side_do_not_keep_the_lock(void **world)
{
    struct world *w = *world;
    struct halves ours = halves_of(w, w->client);
    hf_owner *me = an_owner(w);
    hf_owner *dead = an_owner(w);

    assert_java("ok", java_ask("a/t1 acquire read %s 300", NAME));
    assert_ok(try_fixed(ours.read, me, HOLD_MS));
    assert_true(hft_wait_int(w->server, 0, BOUND_MS,
                             "EXISTS {" NAME "}:%s:rwlock_timeout:1",
                             java_text(java_ask("a/t1 owner"))));
    assert_ok(leave(ours.read, me));
    assert_true(wire_free_within(w, NAME, 0));

    assert_ok(try_fixed(ours.read, dead, 300));
    assert_java("ok", java_ask("a/t1 acquire read %s %d", NAME, HOLD_MS));
    assert_true(state_becomes(ours.read, dead, HF_STATE_LOST, BOUND_MS));
    hft_let_pass_ms(100);
    assert_java("ok", java_ask("a/t1 release read %s", NAME));
    assert_true(wire_free_within(w, NAME, 0));
    assert_status(HF_LOST, leave(ours.read, dead));
}

/* The watchdog of a Java reader sets the TTL of the hash to its own period,
 * which is shorter than what ours was promised; ours mends that in time.  That
 * of 3.16.8 shortens our hold key, too: a lease that is renewed gets over it,
 * and a fixed one ends early and says so.
 * spec: rw/java-2, rw/java-4, rw/renew-1, rw/renew-2 */
static void our_reader_outlives_a_java_watchdog(void **world)
{
    struct world *w = *world;
    hf_options options = short_options();
    hf_owner *fixed;
    hf_client *client;
    hf_lock *read;

    options.foreign_watchdog_ms = WATCHDOG_MS;
    options.lease_ms = HOLD_MS;
    client = a_client_at(w, hft_server_url(w->server), &options);
    read = a_lock_of_kind(w, client, HF_KIND_READ, NAME);
    fixed = an_owner_of(w, client);
    java_open(w, "dying", "watchdog=3000");
    assert_ok(try_once(read, NULL));
    assert_ok(try_fixed(read, fixed, HOLD_MS));
    assert_java("ok", java_ask("dying/t1 acquire read %s", NAME));
    hft_let_pass_ms(WATCHDOG_MS / 2);
    assert_java("ok", java_ask("dying close"));
    hft_let_pass_ms(WATCHDOG_MS + W_MS);
    assert_true(hf_lock_is_held(read, NULL));
    assert_int_equal(hf_lock_state_of(read, fixed, NULL),
                     edition == NEWEST ? HF_HELD : HF_STATE_LOST);
    assert_java("ok false", java_ask("a/t1 try write %s", NAME));
    assert_ok(leave(read, NULL));
    assert_status(edition == NEWEST ? HF_OK : HF_LOST, leave(read, fixed));
}

/* ---- both halves --------------------------------------------------------- */

/* spec: rw/release-7 */
static void our_downgrade_lets_java_readers_in_and_keeps_writers_out(
    void **world)
{
    struct world *w = *world;
    struct halves ours = patient_halves(w);
    unsigned reader;

    assert_ok(try_fixed(ours.write, NULL, HOLD_MS));
    assert_ok(try_fixed(ours.read, NULL, HOLD_MS));
    assert_java("ok true", java_ask("a/t3 is-locked write %s", NAME));
    reader = java_begins("a/t1", "acquire read %s", NAME);
    assert_ok(leave(ours.write, NULL));
    assert_java("ok", java_answer(reader, WAKE_MS));
    assert_java("ok false", java_ask("b/t1 try write %s", NAME));
    assert_ok(leave(ours.read, NULL));
    assert_java("ok", java_ask("a/t1 release read %s", NAME));
}

/* That of a Java thread says nothing: ours come in when they ask again. */
static void a_java_downgrade_lets_our_readers_in(void **world)
{
    struct world *w = *world;
    struct halves ours = halves_of(w, w->client);
    static struct caller reader;

    assert_java("ok", java_ask("a/t1 acquire write %s %d", NAME, HOLD_MS));
    assert_java("ok", java_ask("a/t1 acquire read %s %d", NAME, HOLD_MS));
    caller_start(&reader, ours.read, WAKE_MS);
    assert_true(somebody_listens(w));
    assert_java("ok", java_ask("a/t1 release write %s", NAME));
    caller_join(&reader);
    assert_int_equal(reader.status, HF_OK);
    assert_status(HF_BUSY, try_once(ours.write, NULL));
    assert_java("ok", java_ask("a/t1 release read %s", NAME));
}

/* One writer, and what it reads itself, whichever side it is of.
 * spec: rw/key-3 */
static void who_writes_may_read_and_nobody_else(void **world)
{
    struct world *w = *world;
    struct halves ours = halves_of(w, w->client);
    hf_owner *me = an_owner(w);

    assert_java("ok true", java_ask("a/t1 try write %s", NAME));
    assert_java("ok true", java_ask("a/t1 try read %s", NAME));
    assert_int_equal(wire_fields(w, NAME), 3);
    assert_status(HF_BUSY, try_once(ours.read, me));
    assert_java("ok", java_ask("a/t1 release read %s", NAME));
    assert_java("ok", java_ask("a/t1 release write %s", NAME));

    assert_ok(try_once(ours.write, me));
    assert_ok(try_once(ours.read, me));
    assert_int_equal(wire_fields(w, NAME), 3);
    assert_string_equal(hft_str(w->server, "HGET %s mode", NAME), "write");
    assert_java("ok false", java_ask("a/t1 try read %s", NAME));
    assert_ok(leave(ours.write, me));
    assert_string_equal(hft_str(w->server, "HGET %s mode", NAME), "read");
    assert_int_equal(wire_fields(w, NAME), 2);
    assert_ok(leave(ours.read, me));
}

/* spec: rw/java-3 */
static void a_java_re_entry_adds_its_lease_and_ours_extends(void **world)
{
    struct world *w = *world;
    struct halves ours = halves_of(w, w->client);

    assert_java("ok", java_ask("a/t1 acquire write %s %d", NAME, HOLD_MS));
    assert_java("ok", java_ask("a/t1 acquire write %s %d", NAME, HOLD_MS));
    assert_between(wire_ttl(w, NAME), HOLD_MS + BOUND_MS, 2 * HOLD_MS);
    assert_java("ok true", java_ask("a/t1 force write %s", NAME));
    assert_ok(try_fixed(ours.write, NULL, HOLD_MS));
    assert_ok(try_fixed(ours.write, NULL, HOLD_MS));
    assert_between(wire_ttl(w, NAME), HOLD_MS - BOUND_MS, HOLD_MS);
    assert_ok(leave(ours.write, NULL));
    assert_ok(leave(ours.write, NULL));
}

/* The hash has one TTL for both, so both leases of an owner that died have to
 * end.  A client of ours that lives ends its write lock when that is over.
 * spec: rw/java-5 */
static void a_dead_writer_that_read_is_waited_for_until_both_end(void **world)
{
    struct world *w = *world;
    struct halves ours = halves_of(w, w->client);
    int64_t began_ms = hft_now_ms();

    assert_java("ok", java_ask("a/t1 acquire write %s 300", NAME));
    assert_java("ok", java_ask("a/t1 acquire read %s 1500", NAME));
    assert_ok(wait_up_to(ours.read, NULL, WAKE_MS));
    assert_between(hft_now_ms() - began_ms, 1400, WAKE_MS);
    assert_ok(leave(ours.read, NULL));

    assert_ok(try_fixed(ours.write, NULL, 300));
    assert_ok(try_fixed(ours.read, NULL, HOLD_MS));
    assert_java("ok true", java_ask("a/t1 try read %s %d", NAME, WAKE_MS));
    assert_java("ok", java_ask("a/t1 release read %s", NAME));
    assert_status(HF_LOST, leave(ours.write, NULL));
    assert_ok(leave(ours.read, NULL));
}

static void who_reads_cannot_begin_to_write_on_either_side(void **world)
{
    struct world *w = *world;
    struct halves ours = halves_of(w, w->client);

    assert_ok(try_once(ours.read, NULL));
    assert_status(HF_UPGRADE, try_once(ours.write, NULL));
    assert_ok(leave(ours.read, NULL));
    assert_java("ok", java_ask("a/t1 acquire read %s", NAME));
    assert_java("ok false", java_ask("a/t1 try write %s 100", NAME));
    assert_java("ok", java_ask("a/t1 release read %s", NAME));
}

/* Each may force its half, in its mode only, and the holders are told.
 * spec: rw/force-1, rw/force-2 */
static void readers_are_forced_by_either_side(void **world)
{
    struct world *w = *world;
    struct halves ours = halves_of(w, w->client);

    assert_ok(try_once(ours.read, NULL));
    assert_java("ok", java_ask("a/t1 acquire read %s", NAME));
    assert_java("ok false", java_ask("b/t1 force write %s", NAME));
    assert_java("ok true", java_ask("b/t1 force read %s", NAME));
    assert_true(state_becomes(ours.read, NULL, HF_STATE_LOST, BOUND_MS));
    assert_status(HF_LOST, leave(ours.read, NULL));

    assert_java("ok", java_ask("a/t1 acquire read %s %d", NAME, HOLD_MS));
    assert_status(HF_NOT_OWNER,
                  hf_lock_force_release(ours.write, NULL, &problem));
    assert_ok(hf_lock_force_release(ours.read, NULL, &problem));
    assert_false(look(ours.read).locked);
    assert_java("ok false", java_ask("a/t1 is-held read %s", NAME));
}

static void nobody_releases_a_read_lock_of_the_other_side(void **world)
{
    struct world *w = *world;
    struct halves ours = halves_of(w, w->client);

    assert_ok(try_once(ours.read, NULL));
    assert_java_begins("error IllegalMonitorStateException",
                       java_ask("a/t1 release read %s", NAME));
    assert_java_begins("error IllegalMonitorStateException",
                       java_ask("a/t1 release write %s", NAME));
    assert_true(look(ours.read).locked);
    assert_ok(leave(ours.read, NULL));
    assert_java("ok", java_ask("a/t1 acquire read %s", NAME));
    assert_status(HF_NOT_OWNER, leave(ours.read, NULL));
    assert_java("ok", java_ask("a/t1 release read %s", NAME));
}

int main(int argc, char **argv)
{
    static const struct both_kind write = {.ours = HF_KIND_WRITE,
                                           .java = "write"};
    const struct CMUnitTest tests[] = {
        world_test(readers_of_both_sides_hold_side_by_side),
        world_test(the_last_reader_of_ours_lets_a_java_writer_in),
        world_test(the_last_java_reader_lets_a_writer_of_ours_in),
        world_test(our_write_release_lets_all_java_readers_in),
        world_test(a_java_write_release_lets_all_our_readers_in),
        world_test(a_java_release_leaves_our_reader_its_time),
        world_test(our_release_leaves_a_java_reader_its_time),
        world_test(dead_readers_of_either_side_do_not_keep_the_lock),
        world_test(our_reader_outlives_a_java_watchdog),
        world_test(our_downgrade_lets_java_readers_in_and_keeps_writers_out),
        world_test(a_java_downgrade_lets_our_readers_in),
        world_test(who_writes_may_read_and_nobody_else),
        world_test(a_java_re_entry_adds_its_lease_and_ours_extends),
        world_test(a_dead_writer_that_read_is_waited_for_until_both_end),
        world_test(who_reads_cannot_begin_to_write_on_either_side),
        world_test(readers_are_forced_by_either_side),
        world_test(nobody_releases_a_read_lock_of_the_other_side),
    };
    int failed;

    both_begin(argc, argv);
    failed = exclusive_tests(&write);
    failed += cmocka_run_group_tests_name("readers", tests, both_up, both_down);
    both_end();
    return failed;
}
