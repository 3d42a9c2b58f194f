/* SPDX-License-Identifier: MIT */
/* test_read_write.c - the two halves of a read-write lock in the core: what is
 * answered here and what is asked, how long a read is believed, who is woken.
 *
 * docs/wire/read-write.md, docs/design/late-copies.md ("Read and write").
 * T35, T36, T38; RW-12, RW-41.
 */
#include <stdio.h>
#include <string.h>

#include "core_bench.h"
#include "support/fatal.h"

#define READ &hfi_kind_read
#define WRITE &hfi_kind_write
#define PERIOD_MS 30000 /* of a Java reader's watchdog */
#define PROMISE(lease_ms) ((lease_ms) - (lease_ms) / 1000 - 2)
#define LONG_MS 600000

static struct bench_call *ask(struct bench *bench, uint64_t owner,
                              const struct hfi_kind *kind, int64_t wait_ms)
{
    struct hfi_op_request asked = {.kind = HFI_OP_ACQUIRE,
                                   .of = kind,
                                   .wait_ms = wait_ms,
                                   .lease_ms = BENCH_LEASE_MS,
                                   .renewed = true};

    return bench_start(bench, owner, "a", &asked);
}

static void take(struct bench *bench, uint64_t owner,
                 const struct hfi_kind *kind)
{
    struct bench_call *call = ask(bench, owner, kind, 0);

    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    assert_ended(call, HF_OK);
}

static void take_for(struct bench *bench, uint64_t owner,
                     const struct hfi_kind *kind, int64_t lease_ms,
                     bool renewed)
{
    struct hfi_op_request asked = {.kind = HFI_OP_ACQUIRE,
                                   .of = kind,
                                   .lease_ms = lease_ms,
                                   .renewed = renewed};
    struct bench_call *call = bench_start(bench, owner, "a", &asked);

    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    assert_ended(call, HF_OK);
}

static struct bench_call *leave(struct bench *bench, uint64_t owner,
                                const struct hfi_kind *kind)
{
    struct hfi_op_request asked = {.kind = HFI_OP_RELEASE, .of = kind};

    return bench_start(bench, owner, "a", &asked);
}

/* A waiter that was told busy, is subscribed, and was told so again. */
static struct bench_call *wait_for(struct bench *bench, uint64_t owner,
                                   const struct hfi_kind *kind)
{
    struct bench_call *call = ask(bench, owner, kind, -1);
    struct hfi_copy *copy;

    bench_integer(bench, bench_take(bench, HFI_ACQUIRE), LONG_MS);
    bench_heard(bench, "a");
    while ((copy = bench_take_any(bench)) != NULL) {
        bench_integer(bench, copy, LONG_MS);
    }
    assert_running(call);
    return call;
}

static struct hfi_hold_view view(struct bench *bench, uint64_t owner,
                                 const struct hfi_kind *kind)
{
    struct hfi_object object = {.kind = kind, .name = "a", .name_bytes = 1};
    struct hfi_hold_view found;

    hfi_core_view(bench->core, hfi_owner_get(bench->core, owner, false),
                  &object, bench->now, &found);
    return found;
}

#define KEY(n) "{a}:" BENCH_UUID ":" n ":rwlock_timeout:1"
#define FIELD(n) BENCH_UUID ":" n

/* ---- what is sent ---- */

static void assert_begins(struct bench *bench, const struct hfi_copy *copy,
                          const char *words)
{
    const char *sent = bench_words(bench, copy);

    if (strncmp(sent, words, strlen(words)) != 0) {
        assert_string_equal(sent, words);
    }
}

/* spec: rw/owner-1, rw/owner-3, rw/key-2 */
static void a_read_says_with_what_its_owner_writes(void **state)
{
    struct bench *bench = *state;
    struct hfi_copy *copy;
    const char *sent;

    ask(bench, 1, READ, 0);
    copy = bench_take(bench, HFI_ACQUIRE);
    assert_begins(bench, copy,
                  "read_acquire a " KEY("1") " | " FIELD("1") " 30000 ");
    bench_nil(bench, copy);
    ask(bench, 2, WRITE, 0);
    assert_no_copy(bench); /* known to be read, here */
    leave(bench, 1, READ);
    copy = bench_take(bench, HFI_RELEASE);
    assert_string_equal(bench_words(bench, copy),
                        "rw_release a " KEY("1") " | " FIELD(
                            "1") " redisson_rwlock:{a} 0 {a}: release");
    bench_nil(bench, copy);

    take(bench, 2, WRITE);
    ask(bench, 2, READ, 0);
    copy = bench_take(bench, HFI_ACQUIRE);
    sent = bench_words(bench, copy);
    assert_non_null(strstr(sent, FIELD("2") ":write"));
    bench_nil(bench, copy);
    assert_int_equal(view(bench, 2, WRITE).state, HF_HELD);
    assert_int_equal(view(bench, 2, READ).state, HF_HELD);
}

/* A hold taken out of the client and in again keeps its field.
 * spec: rw/keep-3 */
static void an_imported_reader_has_its_own_hold_key(void **state)
{
    struct bench *bench = *state;
    struct hfi_op_request asked = {.kind = HFI_OP_IMPORT,
                                   .of = READ,
                                   .field = "f00:7",
                                   .lease_ms = 5000,
                                   .count = 2};
    struct hfi_copy *copy;

    bench_start(bench, 1, "a", &asked);
    copy = bench_take(bench, HFI_ADOPT);
    assert_string_equal(
        bench_words(bench, copy),
        "read_keep a {a}:f00:7:rwlock_timeout:1 | f00:7 2 5000");
    bench_nil(bench, copy);
    assert_int_equal(view(bench, 1, READ).count, 2);
}

/* ---- what is answered here ---- */

static void readers_are_asked_for_beside_readers(void **state)
{
    struct bench *bench = *state;

    take(bench, 1, READ);
    take(bench, 2, READ);
    assert_ended(ask(bench, 3, WRITE, 0), HF_BUSY);
    assert_no_copy(bench);
    assert_int_equal(view(bench, 1, READ).state, HF_HELD);
    assert_int_equal(view(bench, 2, READ).state, HF_HELD);
}

static void a_writer_here_is_busy_here(void **state)
{
    struct bench *bench = *state;

    take(bench, 1, WRITE);
    assert_ended(ask(bench, 2, READ, 0), HF_BUSY);
    assert_ended(ask(bench, 2, WRITE, 0), HF_BUSY);
    assert_no_copy(bench);
}

/* RW-12, RW-41. */
static void an_upgrade_is_refused_and_nothing_sent(void **state)
{
    struct bench *bench = *state;

    take(bench, 1, READ);
    assert_ended(ask(bench, 1, WRITE, 0), HF_UPGRADE);
    assert_ended(ask(bench, 1, WRITE, -1), HF_UPGRADE);
    assert_no_copy(bench);
    assert_int_equal(view(bench, 1, READ).count, 1);
}

/* What was lost is no reason to refuse: it is being undone. */
static void a_lost_read_is_no_upgrade(void **state)
{
    struct bench *bench = *state;

    take_for(bench, 1, READ, 1000, false);
    bench_jump(bench, 1000);
    ask(bench, 1, WRITE, 0);
    bench_take(bench, HFI_UNDO);
    bench_take(bench, HFI_ACQUIRE);
}

/* A grant beside another's takes that one's belief away, but not a reader's
 * from a reader, nor an owner's own. */
static void a_grant_ends_what_it_excludes(void **state)
{
    struct bench *bench = *state;
    struct hfi_copy *copy;

    take(bench, 1, READ);
    ask(bench, 2, WRITE, -1);
    bench_pass(bench, BENCH_BOUND_MS); /* it asks for the bound's sake */
    copy = bench_take(bench, HFI_ACQUIRE);
    bench_nil(bench, copy);
    assert_int_equal(view(bench, 1, READ).state, HF_STATE_LOST);
    assert_int_equal(view(bench, 2, WRITE).state, HF_HELD);
}

/* ---- how long a read is believed ---- */

/* spec: rw/renew-1, rw/renew-2 */
static void a_fixed_read_is_kept_and_never_moved(void **state)
{
    struct bench *bench = *state;
    struct hfi_copy *copy;

    take_for(bench, 1, READ, LONG_MS, false);
    assert_int_equal(view(bench, 1, READ).remaining_ms, PROMISE(PERIOD_MS));
    for (int i = 0; i < 5; i++) {
        bench_pass(bench, PERIOD_MS / 3 - 1);
        assert_no_copy(bench);
        bench_pass(bench, 1);
        copy = bench_take(bench, HFI_RENEW);
        assert_string_equal(
            bench_words(bench, copy),
            "read_keep_group a " KEY("1") " | " FIELD("1") " 1 0");
        bench_renewed(bench, copy);
        assert_int_equal(view(bench, 1, READ).remaining_ms, PROMISE(PERIOD_MS));
    }
    /* Its own end comes first in the end. */
    while (view(bench, 1, READ).state == HF_HELD) {
        bench_pass(bench, 1000);
        while ((copy = bench_take_any(bench)) != NULL) {
            if (copy->request == HFI_RENEW) {
                bench_renewed(bench, copy);
            } else {
                bench_undone(bench, copy);
            }
        }
    }
    assert_in_range(bench->now - BENCH_BEGIN_MS, PROMISE(LONG_MS),
                    PROMISE(LONG_MS) + 1000);
    assert_int_equal(view(bench, 1, READ).reason, HF_LOST_EXPIRED);
}

static void a_read_out_of_reach_is_lost_within_the_period(void **state)
{
    struct bench *bench = *state;

    take_for(bench, 1, READ, LONG_MS, false);
    bench_pass(bench, PROMISE(PERIOD_MS) - 1);
    assert_int_equal(view(bench, 1, READ).state, HF_SUSPECT);
    bench_pass(bench, 1);
    assert_int_equal(view(bench, 1, READ).state, HF_STATE_LOST);
    assert_int_equal(view(bench, 1, READ).reason, HF_LOST_UNREACHABLE);
}

/* A short fixed lease needs no keeping to last, so it is never suspect. */
static void a_short_fixed_read_is_never_suspect(void **state)
{
    struct bench *bench = *state;

    take_for(bench, 1, READ, 9000, false);
    bench_pass(bench, PROMISE(9000) - 1);
    assert_int_equal(view(bench, 1, READ).state, HF_HELD);
    bench_pass(bench, 1);
    assert_int_equal(view(bench, 1, READ).state, HF_STATE_LOST);
}

static void a_long_renewed_read_is_renewed_within_the_period(void **state)
{
    struct bench *bench = *state;
    struct hfi_copy *copy;

    take_for(bench, 1, READ, LONG_MS, true);
    bench_pass(bench, PERIOD_MS / 3);
    copy = bench_take(bench, HFI_RENEW);
    assert_int_equal(copy->batch[0].lease_ms, LONG_MS);
    bench_renewed(bench, copy);
    bench_pass(bench, PERIOD_MS / 3 - 1);
    assert_no_copy(bench);
    assert_int_equal(view(bench, 1, READ).state, HF_HELD);
}

/* A writer's lease is its own: nobody's watchdog comes near it. */
static void a_fixed_write_is_left_alone(void **state)
{
    struct bench *bench = *state;

    take_for(bench, 1, WRITE, LONG_MS, false);
    assert_int_equal(view(bench, 1, WRITE).remaining_ms, PROMISE(LONG_MS));
    bench_pass(bench, LONG_MS / 2);
    assert_no_copy(bench);
}

/* Reads and writes are renewed by scripts of their own. */
static void the_halves_are_renewed_apart(void **state)
{
    struct bench *bench = *state;
    struct hfi_copy *first, *second;

    take(bench, 1, WRITE);
    take(bench, 1, READ);
    bench_pass(bench, BENCH_LEASE_MS / 3);
    first = bench_take(bench, HFI_RENEW);
    second = bench_take(bench, HFI_RENEW);
    assert_begins(bench, first, "read_keep_group a");
    assert_begins(bench, second, "write_keep_group a | " FIELD("1") ":write");
    bench_renewed(bench, first);
    bench_renewed(bench, second);
}

/* That readers have it is no more than "gone". */
static void an_absent_read_says_gone_or_taken(void **state)
{
    struct bench *bench = *state;
    int64_t said[] = {-2, 5000};
    hf_lost_reason meant[] = {HF_LOST_GONE, HF_LOST_TAKEN};

    for (size_t i = 0; i < 2; i++) {
        struct hfi_value value = {.kind = HFI_ARRAY, .count = 1};

        take(bench, i + 1, READ);
        bench_pass(bench, BENCH_LEASE_MS / 3);
        value.items = hft_alloc(sizeof(*value.items));
        value.items[0].kind = HFI_INTEGER;
        value.items[0].integer = said[i];
        bench_answer(bench, bench_take(bench, HFI_RENEW), &value);
        assert_int_equal(view(bench, i + 1, READ).state, HF_STATE_LOST);
        assert_int_equal(view(bench, i + 1, READ).reason, meant[i]);
        bench_undone(bench, bench_take(bench, HFI_UNDO));
    }
}

/* ---- who is woken ---- */

/* spec: rw/wait-1 */
static void a_message_makes_every_reader_ask_and_one_writer(void **state)
{
    struct bench *bench = *state;
    struct hfi_copy *copy;
    int reads = 0, writes = 0;

    wait_for(bench, 1, READ);
    wait_for(bench, 2, READ);
    ask(bench, 3, WRITE, -1);
    bench_integer(bench, bench_take(bench, HFI_ACQUIRE), LONG_MS);
    ask(bench, 4, WRITE, -1);
    assert_no_copy(bench);
    wait_for(bench, 5, READ);
    bench_message(bench, "a");
    while ((copy = bench_take_any(bench)) != NULL) {
        bool read = strncmp(bench_words(bench, copy), "read", 4) == 0;

        reads += read;
        writes += !read;
        bench_integer(bench, copy, LONG_MS);
    }
    assert_int_equal(reads, 3);
    assert_int_equal(writes, 1);
}

/* The end of a write here is news for all; that of a read for writers only. */
static void the_end_of_a_hold_is_news_for_whom_it_kept_out(void **state)
{
    struct bench *bench = *state;
    int reads = 0;

    take(bench, 9, WRITE);
    ask(bench, 1, READ, -1);
    ask(bench, 2, READ, -1);
    assert_no_copy(bench);
    leave(bench, 9, WRITE);
    bench_nil(bench, bench_take(bench, HFI_RELEASE));
    for (struct hfi_copy *copy; (copy = bench_take_any(bench)) != NULL;) {
        bench_nil(bench, copy);
        reads++;
    }
    assert_int_equal(reads, 2);
    ask(bench, 3, WRITE, -1);
    assert_no_copy(bench);
    leave(bench, 1, READ);
    bench_nil(bench, bench_take(bench, HFI_RELEASE));
    assert_no_copy(bench); /* another still reads */
    leave(bench, 2, READ);
    bench_nil(bench, bench_take(bench, HFI_RELEASE));
    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    assert_int_equal(view(bench, 3, WRITE).state, HF_HELD);
}

/* Who waits for a writer to have had his turn waits on when a reader leaves: a
 * crowd that asks whenever one of another crowd leaves would be a storm. */
static void the_end_of_a_read_is_no_news_for_readers(void **state)
{
    struct bench *bench = *state;

    take(bench, 1, &hfi_kind_polite_read);
    take(bench, 2, &hfi_kind_polite_read);
    wait_for(bench, 3, &hfi_kind_polite_read);
    leave(bench, 1, READ);
    bench_nil(bench, bench_take(bench, HFI_RELEASE));
    assert_no_copy(bench);
    assert_int_equal(view(bench, 2, READ).state, HF_HELD);
}

/* ---- ends ---- */

/* A server that stays away is waited for as long as others of this client keep
 * the hash alive. */
static void an_end_outlasts_its_lease_while_others_read(void **state)
{
    struct bench *bench = *state;

    take_for(bench, 1, READ, LONG_MS, true);
    take_for(bench, 2, READ, 5000, false);
    bench_pass(bench, 5000 / 3);
    bench_renewed(bench, bench_take(bench, HFI_RENEW));
    bench_pass(bench, 5000 / 3);
    bench_renewed(bench, bench_take(bench, HFI_RENEW));
    bench_links_down(bench);
    bench_pass(bench, 2000);
    assert_int_equal(view(bench, 2, READ).state, HF_STATE_LOST);
    bench_pass(bench, 15000);
    assert_int_equal(bench_stats(bench).ending, 1);
}

/* spec: rw/way-3 */
static void a_writer_that_gives_up_takes_its_word_back(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = ask(bench, 1, &hfi_kind_urgent_write, 1000);
    struct hfi_copy *copy = bench_take(bench, HFI_ACQUIRE);

    assert_begins(
        bench, copy,
        "write_acquire a holdfast_writers:{a} | " FIELD("1") ":write 30000 ");
    bench_integer(bench, copy, LONG_MS);
    bench_pass(bench, 1000);
    assert_ended(call, HF_TIMEOUT);
    copy = bench_take(bench, HFI_UNDO);
    assert_string_equal(bench_words(bench, copy),
                        "rw_release a holdfast_writers:{a} | " FIELD(
                            "1") ":write redisson_rwlock:{a} 1 {a}: undo");
    bench_undone(bench, copy);
    assert_int_equal(bench_stats(bench).ending, 0);
}

/* A try says nothing, so it leaves nothing. */
static void a_try_to_write_leaves_no_word(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = ask(bench, 1, &hfi_kind_urgent_write, 0);
    struct hfi_copy *copy = bench_take(bench, HFI_ACQUIRE);
    const char *sent = bench_words(bench, copy);

    assert_string_equal(sent + strlen(sent) - 2, " 0");
    bench_integer(bench, copy, LONG_MS);
    assert_ended(call, HF_BUSY);
    assert_no_copy(bench);
}

/* Who waits to write says so also while it is read here. */
static void an_urgent_writer_asks_past_readers_here(void **state)
{
    struct bench *bench = *state;

    take(bench, 1, &hfi_kind_polite_read);
    ask(bench, 2, &hfi_kind_urgent_write, -1);
    bench_integer(bench, bench_take(bench, HFI_ACQUIRE), LONG_MS);
    assert_ended(ask(bench, 3, &hfi_kind_urgent_write, 0), HF_BUSY);
}

/* ---- halves, and who has which ---- */

/* What a Java watchdog may have done to it by then is not believed. */
static void a_read_granted_after_the_foreign_period_is_not_held(void **state)
{
    struct hfi_core_config config = bench_config();
    struct bench bench;
    struct bench_call *call;
    struct hfi_copy *copy;

    (void)state;
    config.foreign_watchdog_ms = 1000;
    bench_open_with(&bench, &config);
    call = ask(&bench, 1, READ, -1);
    copy = bench_take(&bench, HFI_ACQUIRE);
    bench_jump(&bench, PROMISE(1000));
    bench_nil(&bench, copy);
    assert_running(call);
    bench_undone(&bench, bench_take(&bench, HFI_UNDO));
    copy = bench_take(&bench, HFI_ACQUIRE);
    bench_jump(&bench, PROMISE(1000) - 1);
    bench_nil(&bench, copy);
    assert_ended(call, HF_OK);
    assert_int_equal(view(&bench, 1, READ).remaining_ms, 1);
    bench_close(&bench);
}

/* Re-entered for longer, it is kept for as long as the longest asks. */
static void a_fixed_read_is_kept_for_its_longest_level(void **state)
{
    struct bench *bench = *state;
    struct hfi_op_request asked = {.kind = HFI_OP_ACQUIRE, .of = READ};
    static const int64_t leases[] = {12000, 9000};

    take_for(bench, 1, READ, 6000, false);
    for (size_t i = 0; i < 2; i++) {
        asked.lease_ms = leases[i];
        bench_start(bench, 1, "a", &asked);
        bench_nil(bench, bench_take(bench, HFI_ENTER));
    }
    bench_pass(bench, 12000 / 3 - 1);
    assert_no_copy(bench);
    bench_pass(bench, 1);
    bench_take(bench, HFI_RENEW);
}

/* An answer to an earlier copy, that was under way for longer, says nothing new
 * of how long a read may be believed. */
static void the_newest_answered_copy_says_how_long_a_read_lasts(void **state)
{
    struct bench *bench = *state;
    struct hfi_copy *first, *second;

    take_for(bench, 1, READ, LONG_MS, false);
    bench_pass(bench, PERIOD_MS / 3);
    first = bench_take(bench, HFI_RENEW);
    bench_pass(bench, PERIOD_MS / 10 + 1);
    second = bench_take(bench, HFI_RENEW);
    bench_renewed(bench, second);
    assert_int_equal(view(bench, 1, READ).remaining_ms, PROMISE(PERIOD_MS));
    bench_renewed(bench, first);
    assert_int_equal(view(bench, 1, READ).remaining_ms, PROMISE(PERIOD_MS));
}

/* The writer was first; that he leaves is no news for readers, who asked for
 * themselves. */
static void a_writer_that_leaves_keeps_no_reader_waiting(void **state)
{
    struct bench *bench = *state;
    struct bench_call *writer = wait_for(bench, 1, WRITE);
    struct bench_call *reader = wait_for(bench, 2, READ);

    bench_cancel(bench, writer, HF_CANCELLED);
    assert_running(reader);
    bench_message(bench, "a");
    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    assert_ended(reader, HF_OK);
    assert_no_copy(bench);
}

/* A read on its way out keeps out who writes, and nobody who reads. */
static void beside_a_read_that_is_being_released_one_may_read(void **state)
{
    struct bench *bench = *state;
    struct bench_call *reader, *writer;

    take(bench, 1, READ);
    leave(bench, 1, READ);
    bench_take(bench, HFI_RELEASE);
    writer = ask(bench, 2, WRITE, -1);
    assert_no_copy(bench); /* the answer will be its news */
    reader = ask(bench, 3, READ, -1);
    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    assert_ended(reader, HF_OK);
    assert_running(writer);
}

static void a_lost_read_that_was_told_is_no_upgrade_either(void **state)
{
    struct bench *bench = *state;

    take_for(bench, 1, READ, 1000, false);
    bench_jump(bench, 1000);
    assert_int_equal(view(bench, 1, READ).state, HF_STATE_LOST);
    ask(bench, 1, WRITE, 0);
    bench_take(bench, HFI_UNDO);
    bench_take(bench, HFI_ACQUIRE);
}

int main(void)
{
#define TEST(function)                                                         \
    cmocka_unit_test_setup_teardown(function, bench_setup, bench_teardown)
    static const struct CMUnitTest tests[] = {
        TEST(a_read_says_with_what_its_owner_writes),
        TEST(an_imported_reader_has_its_own_hold_key),
        TEST(readers_are_asked_for_beside_readers),
        TEST(a_writer_here_is_busy_here),
        TEST(an_upgrade_is_refused_and_nothing_sent),
        TEST(a_lost_read_is_no_upgrade),
        TEST(a_grant_ends_what_it_excludes),
        TEST(a_fixed_read_is_kept_and_never_moved),
        TEST(a_read_out_of_reach_is_lost_within_the_period),
        TEST(a_short_fixed_read_is_never_suspect),
        TEST(a_long_renewed_read_is_renewed_within_the_period),
        TEST(a_fixed_write_is_left_alone),
        TEST(the_halves_are_renewed_apart),
        TEST(an_absent_read_says_gone_or_taken),
        TEST(a_message_makes_every_reader_ask_and_one_writer),
        TEST(the_end_of_a_hold_is_news_for_whom_it_kept_out),
        TEST(the_end_of_a_read_is_no_news_for_readers),
        TEST(an_end_outlasts_its_lease_while_others_read),
        TEST(a_writer_that_gives_up_takes_its_word_back),
        TEST(a_try_to_write_leaves_no_word),
        TEST(an_urgent_writer_asks_past_readers_here),
        cmocka_unit_test(a_read_granted_after_the_foreign_period_is_not_held),
        TEST(a_fixed_read_is_kept_for_its_longest_level),
        TEST(the_newest_answered_copy_says_how_long_a_read_lasts),
        TEST(a_writer_that_leaves_keeps_no_reader_waiting),
        TEST(beside_a_read_that_is_being_released_one_may_read),
        TEST(a_lost_read_that_was_told_is_no_upgrade_either),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
