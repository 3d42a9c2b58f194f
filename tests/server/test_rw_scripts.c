/* SPDX-License-Identifier: MIT */
/* test_rw_scripts.c - the scripts of the read-write lock by themselves, on a
 * real server: what each changes, answers and publishes, who else stands beside
 * it in the hash, and what it never does (docs/wire/read-write.md).
 *
 * No client is involved: copies run in any order, late and twice, as a test
 * wants them.  Rows: RW-08, RW-09, RW-12, RW-13, RW-15, T35, T36, T37; and the
 * read-write rules of docs/design/late-copies.md.
 */
#include "rw_calls.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "java_rw.h"
#include "listener.h"

/* ---- read locks ---- */

/* spec: rw/key-1, rw/key-2, rw/key-4, rw/read-3, rw/read-4 */
static void readers_stand_side_by_side(void **world)
{
    struct world *w = *world;

    assert_int_equal(reads(w, A, 20000), HFT_NIL);
    assert_string_equal(mode(w), "read");
    assert_string_equal(hft_str(w->server, "HGET " NAME " " A), "1");
    assert_about(wire_ttl(w, NAME), 20000);
    assert_about(held_for(w, A), 20000);
    assert_int_equal(reads(w, B, 60000), HFT_NIL);
    assert_about(wire_ttl(w, NAME), 60000);
    assert_about(held_for(w, A), 20000);
    assert_about(held_for(w, B), 60000);
    assert_int_equal(hft_int(w->server, "HLEN " NAME), 3);
    assert_int_equal(ends_reading(w, B), HFT_NIL);
    assert_about(wire_ttl(w, NAME), 20000);
    assert_int_equal(ends_reading(w, A), HFT_NIL);
    assert_nothing_left(w);
}

/* A second copy counts nothing, shortens nothing, and puts the hold key back.
 * spec: rw/read-5 */
static void a_second_copy_of_a_read_acquire_only_extends(void **world)
{
    struct world *w = *world;

    assert_int_equal(reads(w, A, 20000), HFT_NIL);
    assert_int_equal(keeps_reading(w, A, 3, 0), HFT_NIL);
    assert_int_equal(reads(w, A, 5000), HFT_NIL);
    assert_string_equal(hft_str(w->server, "HGET " NAME " " A), "3");
    assert_about(held_for(w, A), 20000);
    assert_int_equal(hft_int(w->server, "DEL %s", hold_key(NAME, A, 1)), 1);
    assert_int_equal(reads(w, A, 40000), HFT_NIL);
    assert_about(held_for(w, A), 40000);
    assert_about(wire_ttl(w, NAME), 40000);
}

/* spec: rw/read-2, rw/write-2 */
static void a_copy_that_comes_too_late_takes_nothing(void **world)
{
    struct world *w = *world;

    assert_int_equal(reads_until(w, A, 20000, NOBODY, 1), 1);
    assert_int_equal(writes_until(w, W, 20000, 1), 1);
    assert_nothing_left(w);
}

/* spec: rw/read-1, rw/write-1 */
static void a_writer_and_others_exclude_each_other(void **world)
{
    struct world *w = *world;

    assert_int_equal(writes(w, W, 20000), HFT_NIL);
    assert_string_equal(mode(w), "write");
    assert_about(reads(w, A, 5000), 20000);
    assert_about(writes(w, V, 5000), 20000);
    assert_int_equal(hft_int(w->server, "DBSIZE"), 1);
    assert_int_equal(ends_writing(w, W), HFT_NIL);
    assert_int_equal(reads(w, A, 5000), HFT_NIL);
    assert_about(writes(w, V, 20000), 5000);
    assert_int_equal(ends_reading(w, A), HFT_NIL);
    assert_nothing_left(w);
}

/* A plain lock of the same name keeps both out, and they it.
 * spec: rw/name-3 */
static void a_plain_lock_of_the_name_is_waited_for(void **world)
{
    struct world *w = *world;

    stranger_takes(w, NAME, 20000);
    assert_about(reads(w, A, 5000), 20000);
    assert_about(writes(w, W, 5000), 20000);
    assert_int_equal(hft_int(w->server, "HLEN " NAME), 1);
}

/* spec: rw/keep-1, rw/keep-2, rw/keep-3 */
static void keeping_extends_both_and_creates_neither(void **world)
{
    struct world *w = *world;

    assert_int_equal(keeps_reading(w, A, 1, 5000), -2);
    assert_nothing_left(w);
    assert_int_equal(reads(w, A, 5000), HFT_NIL);
    assert_int_equal(keeps_reading(w, A, 2, 30000), HFT_NIL);
    assert_about(held_for(w, A), 30000);
    assert_about(wire_ttl(w, NAME), 30000);
    assert_int_equal(keeps_reading(w, A, 1, 5000), HFT_NIL);
    assert_about(held_for(w, A), 30000);
    assert_int_equal(reads(w, B, 60000), HFT_NIL);
    assert_int_equal(hft_int(w->server, "DEL %s", hold_key(NAME, A, 1)), 1);
    assert_int_equal(keeps_reading(w, A, 1, 30000), -2);
    assert_int_equal(held_for(w, A), -2);
    assert_int_equal(ends_reading(w, A), HFT_NIL);
    assert_int_equal(keeps_reading(w, A, 1, 30000), -2);
    assert_int_equal(ends_reading(w, B), HFT_NIL);
    assert_int_equal(writes(w, W, 20000), HFT_NIL);
    assert_about(keeps_reading(w, A, 1, 30000), 20000);
}

/* A Java reader's watchdog sets the hash to its period.
 * spec: rw/keep-4, rw/java-2 */
static void a_keep_of_no_lease_brings_the_hash_up_to_the_hold_key(void **world)
{
    struct world *w = *world;

    assert_int_equal(reads(w, A, 600000), HFT_NIL);
    assert_int_equal(java_reads(w, NAME, JAVA_1, 3000), HFT_NIL);
    assert_int_equal(java_renews_reading(w, NAME, JAVA_1, 3000), 1);
    assert_about(wire_ttl(w, NAME), 3000);
    assert_int_equal(keeps_reading(w, A, 1, 0), HFT_NIL);
    assert_about(wire_ttl(w, NAME), 600000);
    assert_about(held_for(w, A), 600000);
}

/* ---- release and undo ---- */

/* RW-08: the TTL comes back to the longest hold that is left, and never below
 * it: a release shortens nobody's time (T35).
 * spec: rw/release-4 */
static void a_read_release_leaves_the_longest_hold(void **world)
{
    struct world *w = *world;

    assert_int_equal(java_reads(w, NAME, JAVA_1, 5000), HFT_NIL);
    assert_int_equal(java_reads(w, NAME, JAVA_1, 40000), HFT_NIL);
    assert_int_equal(reads(w, A, 10000), HFT_NIL);
    assert_int_equal(reads(w, B, 60000), HFT_NIL);
    assert_int_equal(ends_reading(w, B), HFT_NIL);
    assert_about(wire_ttl(w, NAME), 40000);
    assert_int_equal(java_ends_reading(w, NAME, JAVA_1), 0);
    assert_about(wire_ttl(w, NAME), 10000);
    assert_int_equal(ends_reading(w, A), HFT_NIL);
    assert_about(wire_ttl(w, NAME), 5000);
    assert_int_equal(java_ends_reading(w, NAME, JAVA_1), 1);
    assert_nothing_left(w);
}

/* RW-31: a field without a hold key is a dead reader's, and keeps nothing.
 * spec: rw/release-5, rw/message-1 */
static void a_dead_reader_keeps_nothing(void **world)
{
    struct world *w = *world;
    struct listener *others = listener_new(w->server, "redisson_rwlock:*");

    assert_int_equal(reads(w, A, 60000), HFT_NIL);
    assert_int_equal(reads(w, B, 60000), HFT_NIL);
    assert_int_equal(hft_int(w->server, "DEL %s", hold_key(NAME, B, 1)), 1);
    assert_int_equal(ends_reading(w, A), HFT_NIL);
    assert_nothing_left(w);
    assert_string_equal(listener_hear(others, BOUND_MS), CHANNEL " 0");
    assert_null(listener_hear(others, 50));
    listener_free(others);
}

/* spec: rw/release-1, rw/undo-1 */
static void an_end_of_nothing_says_so_and_changes_nothing(void **world)
{
    struct world *w = *world;
    struct listener *others = listener_new(w->server, "redisson_rwlock:*");

    assert_int_equal(ends_reading(w, A), -2);
    assert_int_equal(ends_writing(w, W), -2);
    assert_true(undoes_reading(w, A) > 1000000);
    assert_true(undoes_writing(w, W) > 1000000);
    assert_nothing_left(w);
    assert_int_equal(reads(w, B, 20000), HFT_NIL);
    assert_int_equal(ends_reading(w, A), -2);
    assert_int_equal(ends_writing(w, W), -2);
    assert_about(wire_ttl(w, NAME), 20000);
    assert_int_equal(ends_reading(w, B), HFT_NIL);
    assert_int_equal(writes(w, W, 20000), HFT_NIL);
    assert_string_equal(listener_hear(others, BOUND_MS), CHANNEL " 0");
    assert_about(ends_reading(w, B), 20000);
    assert_about(ends_writing(w, V), 20000);
    assert_null(listener_hear(others, 50));
    listener_free(others);
}

/* An undo takes the hold key also where the field is gone.
 * spec: rw/undo-2 */
static void an_undo_leaves_no_hold_key_behind(void **world)
{
    struct world *w = *world;

    assert_int_equal(reads(w, A, 20000), HFT_NIL);
    assert_int_equal(hft_int(w->server, "DEL " NAME), 1);
    assert_true(held_for(w, A) > 0);
    assert_true(undoes_reading(w, A) > 1000000);
    assert_nothing_left(w);
}

/* The rest of one number is never another's: late copies of A end nothing of
 * B.  (LATE-COPIES, 3.) */
static void a_late_undo_ends_nobody_elses_hold(void **world)
{
    struct world *w = *world;

    assert_int_equal(reads(w, B, 20000), HFT_NIL);
    assert_true(undoes_reading(w, A) > 1000000);
    assert_true(undoes_writing(w, W) > 1000000);
    assert_about(held_for(w, B), 20000);
    assert_about(wire_ttl(w, NAME), 20000);
    assert_int_equal(ends_reading(w, B), HFT_NIL);
}

/* ---- reading within writing ---- */

/* RW-10, RW-43: a read inside a write, and its release, leave the write as it
 * is: Java's read release would shorten it.
 * spec: rw/read-6, rw/release-6 */
static void reading_inside_a_write_never_shortens_it(void **world)
{
    struct world *w = *world;

    assert_int_equal(writes(w, W, 60000), HFT_NIL);
    assert_int_equal(reads_until(w, A, 5000, W, LATER), HFT_NIL);
    assert_about(reads(w, B, 5000), 60000);
    assert_about(wire_ttl(w, NAME), 60000);
    assert_int_equal(ends_reading(w, A), HFT_NIL);
    assert_about(wire_ttl(w, NAME), 60000);
    assert_string_equal(mode(w), "write");
    assert_int_equal(ends_writing(w, W), HFT_NIL);
    assert_nothing_left(w);
}

/* RW-13, T36: the downgrade lets readers in, and wakes them.
 * spec: rw/release-7, rw/message-1 */
static void a_downgrade_reads_on_and_wakes_readers(void **world)
{
    struct world *w = *world;
    struct listener *others = listener_new(w->server, "redisson_rwlock:*");

    assert_int_equal(writes(w, W, 60000), HFT_NIL);
    assert_int_equal(reads_until(w, A, 10000, W, LATER), HFT_NIL);
    assert_int_equal(ends_writing(w, W), HFT_NIL);
    assert_string_equal(listener_hear(others, BOUND_MS), CHANNEL " 1");
    assert_string_equal(mode(w), "read");
    assert_about(wire_ttl(w, NAME), 10000);
    assert_int_equal(java_reads(w, NAME, JAVA_1, 5000), HFT_NIL);
    assert_about(writes(w, V, 5000), 10000);
    assert_int_equal(ends_reading(w, A), HFT_NIL);
    assert_about(wire_ttl(w, NAME), 5000);
    listener_free(others);
}

/* spec: rw/release-7 */
static void a_write_release_past_a_dead_read_frees_the_lock(void **world)
{
    struct world *w = *world;

    assert_int_equal(writes(w, W, 60000), HFT_NIL);
    assert_int_equal(reads_until(w, A, 10000, W, LATER), HFT_NIL);
    assert_int_equal(hft_int(w->server, "DEL %s", hold_key(NAME, A, 1)), 1);
    assert_true(undoes_writing(w, W) > 1000000);
    assert_nothing_left(w);
}

/* That readers have it means: it is gone; that a writer has it: it is taken.
 * spec: rw/keep-1 */
static void a_writer_who_finds_readers_is_told_gone(void **world)
{
    struct world *w = *world;

    assert_int_equal(reads(w, A, 20000), HFT_NIL);
    assert_int_equal(keeps_writing(w, W, 1, 5000), -2);
    assert_int_equal(ends_reading(w, A), HFT_NIL);
    assert_int_equal(writes(w, V, 20000), HFT_NIL);
    assert_about(keeps_writing(w, W, 1, 5000), 20000);
    assert_int_equal(keeps_writing(w, V, 4, 50000), HFT_NIL);
    assert_string_equal(hft_str(w->server, "HGET " NAME " " V), "4");
    assert_about(wire_ttl(w, NAME), 50000);
}

/* ---- min_hold ---- */

static int64_t ends_reading_later(struct world *w, const char *field,
                                  const char *stand_in, int64_t rest_ms)
{
    return hft_int(
        w->server,
        "EVAL %s 3 " NAME " %s %s %s " CHANNEL " 0 {rw}: release %s %lld",
        TEXT(RW_RELEASE), hold_key(NAME, field, 1), hold_key(NAME, stand_in, 1),
        field, stand_in, (long long)rest_ms);
}

static int64_t ends_writing_later(struct world *w, const char *field,
                                  const char *stand_in, int64_t rest_ms)
{
    return hft_int(w->server,
                   "EVAL %s 1 " NAME " %s " CHANNEL " 1 {rw}: release %s %lld",
                   TEXT(RW_RELEASE), field, stand_in, (long long)rest_ms);
}

/* spec: rw/later-1 */
static void a_stand_in_keeps_the_rest_and_no_more(void **world)
{
    struct world *w = *world;

    assert_int_equal(reads(w, A, 60000), HFT_NIL);
    assert_int_equal(ends_reading_later(w, A, U ":9", 5000), HFT_NIL);
    assert_about(wire_ttl(w, NAME), 5000);
    assert_about(held_for(w, U ":9"), 5000);
    assert_int_equal(held_for(w, A), -2);
    assert_int_equal(reads(w, B, 20000), HFT_NIL);
    assert_int_equal(ends_reading(w, B), HFT_NIL);
    assert_about(wire_ttl(w, NAME), 5000);
    assert_int_equal(ends_reading_later(w, A, U ":10", 5000), -2);

    (void)hft_int(w->server, "FLUSHALL");
    assert_int_equal(writes(w, W, 60000), HFT_NIL);
    assert_int_equal(ends_writing_later(w, W, U ":9:write", 5000), HFT_NIL);
    assert_about(reads(w, A, 1000), 5000);
}

/* spec: rw/later-2 */
static void a_writer_who_reads_on_leaves_no_stand_in(void **world)
{
    struct world *w = *world;

    assert_int_equal(writes(w, W, 60000), HFT_NIL);
    assert_int_equal(reads_until(w, A, 10000, W, LATER), HFT_NIL);
    assert_int_equal(ends_writing_later(w, W, U ":9:write", 50000), HFT_NIL);
    assert_string_equal(mode(w), "read");
    assert_about(wire_ttl(w, NAME), 10000);
    assert_int_equal(hft_int(w->server, "HLEN " NAME), 2);
}

/* ---- force and show ---- */

static int64_t forces(struct world *w, const char *field, int message,
                      const char *one)
{
    return hft_int(w->server, "EVAL %s 1 " NAME " %s %lld " CHANNEL " %d %s",
                   TEXT(RW_FORCE), field, (long long)LATER, message, one);
}

/* RW-15: each mode is forced by its own half only.
 * spec: rw/force-1, rw/force-2, rw/force-3 */
static void force_frees_the_matching_mode_only(void **world)
{
    struct world *w = *world;

    assert_int_equal(reads(w, A, 20000), HFT_NIL);
    assert_int_equal(reads(w, B, 20000), HFT_NIL);
    assert_about(forces(w, W, 1, ""), 20000);
    assert_int_equal(forces(w, A, 0, "{rw}:" A ":rwlock_timeout:"), HFT_NIL);
    assert_int_equal(held_for(w, A), -2);
    assert_int_equal(hft_int(w->server, "HLEN " NAME), 2);
    assert_int_equal(forces(w, B, 0, ""), HFT_NIL);
    assert_int_equal(hft_int(w->server, "EXISTS " NAME), 0);

    assert_int_equal(writes(w, W, 20000), HFT_NIL);
    assert_int_equal(reads_until(w, A, 10000, W, LATER), HFT_NIL);
    assert_about(forces(w, A, 0, ""), 20000);
    assert_int_equal(forces(w, W, 1, ""), HFT_NIL);
    assert_int_equal(hft_int(w->server, "EXISTS " NAME), 0);
    assert_int_equal(forces(w, W, 1, ""), -2);
}

/* spec: rw/show-1 */
static void show_tells_mode_and_readers(void **world)
{
    struct world *w = *world;

#define SHOW "EVAL %s 1 " NAME " " CHANNEL " %s"
    assert_string_equal(hft_str(w->server, SHOW, TEXT(RW_SHOW), "read"),
                        "-2  0 0  0 0");
    assert_int_equal(writes(w, W, 20000), HFT_NIL);
    assert_int_equal(reads_until(w, A, 10000, W, LATER), HFT_NIL);
    assert_non_null(strstr(hft_str(w->server, SHOW, TEXT(RW_SHOW), "read"),
                           " " A " 1 0 write 1 0"));
    assert_non_null(strstr(hft_str(w->server, SHOW, TEXT(RW_SHOW), "write"),
                           " " W " 1 0 write 1 0"));
#undef SHOW
}

/* ---- writers who are given way to ---- */

static int64_t reads_politely(struct world *w, const char *field)
{
    return hft_int(w->server,
                   "EVAL %s 3 " NAME " %s rw-writers %s 20000 %lld %s",
                   TEXT(READ_ACQUIRE), hold_key(NAME, field, 1), field,
                   (long long)LATER, NOBODY);
}

static int64_t writes_urgently(struct world *w, const char *field,
                               int64_t give_way_ms)
{
    return hft_int(
        w->server, "EVAL %s 2 " NAME " rw-writers %s 20000 %lld %lld",
        TEXT(WRITE_ACQUIRE), field, (long long)LATER, (long long)give_way_ms);
}

/* T38: readers who give way do not come in while a writer waits; who reads
 * already goes on; and a writer who gave up is in nobody's way.
 * spec: rw/way-1, rw/way-2, rw/way-3 */
static void readers_give_way_to_a_waiting_writer(void **world)
{
    struct world *w = *world;

    assert_int_equal(reads_politely(w, A), HFT_NIL);
    assert_about(writes_urgently(w, W, 0), 20000);
    assert_int_equal(reads_politely(w, B), HFT_NIL);
    assert_int_equal(ends_reading(w, B), HFT_NIL);
    assert_about(writes_urgently(w, W, 6000), 20000);
    assert_about(reads_politely(w, B), 6000);
    assert_int_equal(reads_politely(w, A), HFT_NIL);
    assert_int_equal(ends_reading(w, A), HFT_NIL);
    assert_int_equal(writes_urgently(w, W, 6000), HFT_NIL);
    assert_int_equal(hft_int(w->server, "EXISTS rw-writers"), 0);
    assert_about(writes_urgently(w, V, 6000), 20000);
    assert_int_equal(ends_writing(w, W), HFT_NIL);
    assert_about(reads_politely(w, A), 500);
    assert_between(hft_int(w->server, "PTTL rw-writers"), 1, 500);
    assert_int_equal(writes_urgently(w, V, 6000), HFT_NIL);
    assert_int_equal(ends_writing(w, V), HFT_NIL);
    assert_int_equal(reads_politely(w, A), HFT_NIL);
    assert_about(writes_urgently(w, V, 6000), 20000);
    assert_about(reads_politely(w, B), 6000);
    assert_true(hft_int(w->server,
                        "EVAL %s 2 " NAME " rw-writers " V " " CHANNEL
                        " 1 {rw}: undo",
                        TEXT(RW_RELEASE)) > 1000000);
    assert_int_equal(reads_politely(w, B), HFT_NIL);
}

/* Nobody waits for long for a writer that is dead, and a late copy of a reader
 * does not count against one.
 * spec: rw/way-2 */
static void a_dead_writer_keeps_readers_from_a_free_lock_for_a_moment(
    void **world)
{
    struct world *w = *world;

    (void)hft_str(w->server, "SET rw-writers " V " PX 60000");
    assert_true(
        hft_int(w->server, "EVAL %s 3 " NAME " %s rw-writers " A " 20000 1 %s",
                TEXT(READ_ACQUIRE), hold_key(NAME, A, 1), NOBODY) > 500);
    assert_true(hft_int(w->server, "PTTL rw-writers") > 500);
    assert_about(reads_politely(w, A), 500);
    assert_true(hft_wait_int(w->server, 0, BOUND_MS, "EXISTS rw-writers"));
    assert_int_equal(reads_politely(w, A), HFT_NIL);
}

/* spec: rw/keep-5 */
static void a_batch_renews_what_it_can(void **world)
{
    struct world *w = *world;

    assert_int_equal(reads(w, A, 5000), HFT_NIL);
    (void)hft_int(w->server, "SET other x");
    assert_int_equal(hft_int(w->server,
                             "EVAL %s 6 " NAME " %s other {other}:x:1 gone "
                             "{gone}:x:1 " A " 1 30000 x 1 30000 x 1 30000",
                             TEXT(READ_KEEP_GROUP), hold_key(NAME, A, 1)),
                     3);
    assert_about(held_for(w, A), 30000);
    assert_about(wire_ttl(w, NAME), 30000);
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        world_test(readers_stand_side_by_side),
        world_test(a_second_copy_of_a_read_acquire_only_extends),
        world_test(a_copy_that_comes_too_late_takes_nothing),
        world_test(a_writer_and_others_exclude_each_other),
        world_test(a_plain_lock_of_the_name_is_waited_for),
        world_test(keeping_extends_both_and_creates_neither),
        world_test(a_keep_of_no_lease_brings_the_hash_up_to_the_hold_key),
        world_test(a_read_release_leaves_the_longest_hold),
        world_test(a_dead_reader_keeps_nothing),
        world_test(an_end_of_nothing_says_so_and_changes_nothing),
        world_test(an_undo_leaves_no_hold_key_behind),
        world_test(a_late_undo_ends_nobody_elses_hold),
        world_test(reading_inside_a_write_never_shortens_it),
        world_test(a_downgrade_reads_on_and_wakes_readers),
        world_test(a_write_release_past_a_dead_read_frees_the_lock),
        world_test(a_writer_who_finds_readers_is_told_gone),
        world_test(a_stand_in_keeps_the_rest_and_no_more),
        world_test(a_writer_who_reads_on_leaves_no_stand_in),
        world_test(force_frees_the_matching_mode_only),
        world_test(show_tells_mode_and_readers),
        world_test(readers_give_way_to_a_waiting_writer),
        world_test(a_dead_writer_keeps_readers_from_a_free_lock_for_a_moment),
        world_test(a_batch_renews_what_it_can),
    };

    (void)hft_seed(argc, argv);
    return cmocka_run_group_tests(tests, world_up, world_down);
}
