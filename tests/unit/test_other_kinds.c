/* SPDX-License-Identifier: MIT */
/* test_other_kinds.c - export, import, force and show of the kinds whose answers
 * say more, or less, than those of the plain lock.
 *
 * "Read and write" of docs/design/late-copies.md; docs/wire/read-write.md,
 * docs/wire/token.md, docs/wire/fair.md, docs/wire/fenced.md.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core_bench.h"
#include "support/fatal.h"

#define READ &hfi_kind_read
#define WRITE &hfi_kind_write
#define TOKEN &hfi_kinds_token[HFI_UNFENCED]
#define FENCED &hfi_kinds_lock[HFI_FENCED]
#define SOMEBODY "fedcba98-7654-4321-8fed-cba987654321:42"

static struct bench_call *call_of(struct bench *bench, enum hfi_op_kind what,
                                  const struct hfi_kind *kind, uint64_t owner)
{
    struct hfi_op_request ask = {
        .kind = what, .of = kind, .lease_ms = BENCH_LEASE_MS, .renewed = true};

    return bench_start(bench, owner, "a", &ask);
}

static void take(struct bench *bench, const struct hfi_kind *kind,
                 uint64_t owner)
{
    struct bench_call *call = call_of(bench, HFI_OP_ACQUIRE, kind, owner);

    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    assert_ended(call, HF_OK);
}

static struct bench_call *export(struct bench *bench,
                                 const struct hfi_kind *kind, uint64_t owner)
{
    return call_of(bench, HFI_OP_EXPORT, kind, owner);
}

static struct bench_call *import(struct bench *bench,
                                 const struct hfi_kind *kind, int64_t lease_ms)
{
    struct hfi_op_request ask = {.kind = HFI_OP_IMPORT,
                                 .of = kind,
                                 .lease_ms = lease_ms,
                                 .count = 1,
                                 .field = SOMEBODY};

    return bench_start(bench, 1, "a", &ask);
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

/* What a look at a lock with two halves shows. */
static void show_halves(struct bench *bench, const char *owner,
                        const char *mode)
{
    struct bench_item items[] = {
        {.integer = 900}, {.text = owner}, {.text = "1"}, {.integer = 0},
        {.text = mode},   {.integer = 1},  {.text = "0"}};

    bench_items(bench, bench_take(bench, HFI_SHOW), items, 7);
}

/* A look that shows so many things, somebody who holds it first. */
static struct bench_call *show_many(struct bench *bench,
                                    const struct hfi_kind *kind, size_t count)
{
    struct bench_item items[12] = {{.integer = 900}, {.text = SOMEBODY}};
    struct bench_call *call = call_of(bench, HFI_OP_SHOW, kind, 0);

    assert_true(count <= sizeof(items) / sizeof(items[0]));
    bench_items(bench, bench_take(bench, HFI_SHOW), items, count);
    return call;
}

/* ---- export ---- */

static void who_reads_and_writes_can_hand_neither_on(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;

    take(bench, WRITE, 1);
    take(bench, READ, 1);
    call = export(bench, READ, 1);
    assert_ended(call, HF_NOT_DONE);
    assert_non_null(strstr(call->error.message, "reads and writes"));
    assert_ended(export(bench, WRITE, 1), HF_NOT_DONE);
    assert_int_equal(view(bench, 1, READ).state, HF_HELD);
    assert_int_equal(view(bench, 1, WRITE).state, HF_HELD);
    call_of(bench, HFI_OP_RELEASE, READ, 1);
    bench_nil(bench, bench_take(bench, HFI_RELEASE));
    call = export(bench, WRITE, 1);
    assert_ended(call, HF_OK);
    assert_string_equal(call->handle_owner, BENCH_UUID ":1:write");
}

static void a_half_that_was_lost_keeps_the_other_from_nothing(void **state)
{
    struct bench *bench = *state;
    struct hfi_op_request brief = {
        .kind = HFI_OP_ACQUIRE, .of = READ, .lease_ms = 1000};

    take(bench, WRITE, 1);
    bench_start(bench, 1, "a", &brief);
    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    bench_jump(bench, 1000);
    assert_int_equal(view(bench, 1, READ).state, HF_STATE_LOST);
    assert_ended(export(bench, WRITE, 1), HF_OK);
}

static void a_reader_beside_readers_can_hand_his_own_on(void **state)
{
    struct bench *bench = *state;

    take(bench, READ, 1);
    take(bench, READ, 2);
    assert_ended(export(bench, READ, 2), HF_OK);
    assert_int_equal(view(bench, 1, READ).state, HF_HELD);
    assert_int_equal(view(bench, 2, READ).state, HF_NOT_HELD);
}

/* ---- import ---- */

/* A watchdog of Java's may shorten what was answered: a read is taken over only
 * if it lasts beyond that, too. */
static void a_read_is_not_imported_beyond_the_foreign_period(void **state)
{
    struct hfi_core_config config = bench_config();
    struct bench bench;
    struct bench_call *call;
    struct hfi_copy *copy;

    (void)state;
    config.foreign_watchdog_ms = 2000;
    bench_open_with(&bench, &config);
    call = import(&bench, READ, 60000);
    copy = bench_take(&bench, HFI_ADOPT);
    bench_jump(&bench, 2000 - 4); /* a thousandth and 2 ms are not believed */
    bench_nil(&bench, copy);
    assert_ended(call, HF_UNKNOWN);
    assert_int_equal(view(&bench, 1, READ).state, HF_NOT_HELD);
    call = import(&bench, READ, 60000);
    copy = bench_take(&bench, HFI_ADOPT);
    bench_jump(&bench, 2000 - 5);
    bench_nil(&bench, copy);
    assert_ended(call, HF_OK);
    assert_int_equal(view(&bench, 1, READ).remaining_ms, 1);
    bench_close(&bench);
}

/* spec: fenced/adopt-1 */
static void an_imported_fenced_hold_has_its_token(void **state)
{
    struct bench *bench = *state;
    struct bench_item items[] = {{.text = "token"}, {.integer = 9}};
    struct bench_call *call = import(bench, FENCED, 10000);

    bench_items(bench, bench_take(bench, HFI_ADOPT), items, 2);
    assert_ended(call, HF_OK);
    assert_int_equal(view(bench, 1, FENCED).token, 9);
}

/* An answer that no script of this kind gives proves nothing, least of all that
 * the hold is gone. */
static void an_import_answered_with_nonsense_is_not_told_as_gone(void **state)
{
    struct bench *bench = *state;
    struct bench_item items[] = {{.text = "token"}, {.integer = 9}};
    const struct hfi_kind *kinds[] = {&hfi_kind_lock, FENCED};

    for (size_t i = 0; i < 2; i++) {
        struct bench_call *call = import(bench, kinds[i], 10000);

        bench_items(bench, bench_take(bench, HFI_ADOPT), items, 2 - i);
        assert_ended(call, HF_PROTOCOL);
        assert_int_equal(view(bench, 1, kinds[i]).state, HF_NOT_HELD);
    }
    assert_no_copy(bench);
}

/* ---- force ---- */

static void a_writer_is_forced_by_all_of_his_field(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = call_of(bench, HFI_OP_FORCE, WRITE, 0);
    struct hfi_copy *copy;
    const char *begins = "rw_force a | " SOMEBODY ":write ";

    show_halves(bench, SOMEBODY ":write", "write");
    copy = bench_take(bench, HFI_FORCE);
    assert_memory_equal(bench_words(bench, copy), begins, strlen(begins));
    bench_nil(bench, copy);
    assert_ended(call, HF_OK);
}

static void what_the_other_half_has_is_not_forced(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = call_of(bench, HFI_OP_FORCE, WRITE, 0);

    show_halves(bench, SOMEBODY, "read");
    assert_ended(call, HF_NOT_OWNER);
    assert_non_null(strstr(call->error.message, "not to write"));
    call = call_of(bench, HFI_OP_FORCE, READ, 0);
    show_halves(bench, SOMEBODY ":write", "write");
    assert_ended(call, HF_NOT_OWNER);
    assert_non_null(strstr(call->error.message, "not to read"));
    assert_no_copy(bench);
}

static void a_hash_without_a_mode_is_no_read_write_lock(void **state)
{
    struct bench *bench = *state;
    static const char *const modes[] = {"", NULL}; /* a number */
    struct bench_call *call;

    for (size_t i = 0; i < 2; i++) {
        call = call_of(bench, HFI_OP_FORCE, READ, 0);
        show_halves(bench, SOMEBODY, modes[i]);
        assert_ended(call, HF_WRONG_TYPE);
        call = call_of(bench, HFI_OP_SHOW, READ, 0);
        show_halves(bench, SOMEBODY, modes[i]);
        assert_ended(call, HF_WRONG_TYPE);
    }
    assert_no_copy(bench);
}

/* What ends like a writer's field and has no number before that is nobody's. */
static void a_field_with_a_longer_end_is_no_owner(void **state)
{
    struct bench *bench = *state;
    static const char *const fields[] = {"abcdefgh", ":write", "a:x:write",
                                         "42:writes"};

    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        struct bench_call *call = call_of(bench, HFI_OP_FORCE, WRITE, 0);

        show_halves(bench, fields[i], "write");
        assert_ended(call, HF_WRONG_TYPE);
    }
    assert_no_copy(bench);
}

static void any_text_can_hold_a_token_lock_and_be_forced(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = call_of(bench, HFI_OP_SHOW, TOKEN, 0);
    struct hfi_copy *copy;
    const char *begins = "token_force a | 9f\x7f ";

    bench_shown(bench, bench_take(bench, HFI_SHOW), 900, "9f\x7f");
    assert_ended(call, HF_OK);
    call = call_of(bench, HFI_OP_FORCE, TOKEN, 0);
    bench_shown(bench, bench_take(bench, HFI_SHOW), 900, "9f\x7f");
    copy = bench_take(bench, HFI_FORCE);
    assert_memory_equal(bench_words(bench, copy), begins, strlen(begins));
    bench_nil(bench, copy);
    assert_ended(call, HF_OK);
}

/* ---- show ---- */

static void a_look_shows_what_its_kind_has_and_no_other_number(void **state)
{
    struct bench *bench = *state;
    static const struct {
        const struct hfi_kind *kind;
        size_t count;
        hf_status status;
    } cases[] = {
        {&hfi_kind_lock, 4, HF_OK},
        {&hfi_kind_lock, 5, HF_PROTOCOL},
        {FENCED, 5, HF_OK},
        {FENCED, 4, HF_PROTOCOL},
        {&hfi_kind_fair, 5, HF_OK},
        {&hfi_kind_fair, 11, HF_OK},
        {&hfi_kind_fair, 2, HF_PROTOCOL},
        {&hfi_kind_fair, 6, HF_PROTOCOL},
        {READ, 4, HF_PROTOCOL},
        {READ, 8, HF_PROTOCOL},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bench_call *call = show_many(bench, cases[i].kind,
                                            cases[i].count);

        assert_ended(call, cases[i].status);
        assert_int_equal(call->value.count,
                         call->status == HF_OK ? cases[i].count : 0);
    }
}

static void a_look_at_either_half_shows_all_of_it(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call = call_of(bench, HFI_OP_SHOW, READ, 0);

    show_halves(bench, SOMEBODY ":write", "write");
    assert_ended(call, HF_OK);
    assert_string_equal(call->value.items[4].text, "write");
}

int main(void)
{
#define TEST(function)                                                         \
    cmocka_unit_test_setup_teardown(function, bench_setup, bench_teardown)
    static const struct CMUnitTest tests[] = {
        TEST(who_reads_and_writes_can_hand_neither_on),
        TEST(a_half_that_was_lost_keeps_the_other_from_nothing),
        TEST(a_reader_beside_readers_can_hand_his_own_on),
        cmocka_unit_test(a_read_is_not_imported_beyond_the_foreign_period),
        TEST(an_imported_fenced_hold_has_its_token),
        TEST(an_import_answered_with_nonsense_is_not_told_as_gone),
        TEST(a_writer_is_forced_by_all_of_his_field),
        TEST(what_the_other_half_has_is_not_forced),
        TEST(a_hash_without_a_mode_is_no_read_write_lock),
        TEST(a_field_with_a_longer_end_is_no_owner),
        TEST(any_text_can_hold_a_token_lock_and_be_forced),
        TEST(a_look_shows_what_its_kind_has_and_no_other_number),
        TEST(a_look_at_either_half_shows_all_of_it),
    };

    return cmocka_run_group_tests_name("other_kinds", tests, NULL, NULL);
}
