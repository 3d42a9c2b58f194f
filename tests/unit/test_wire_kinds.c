/* SPDX-License-Identifier: MIT */
/* test_wire_kinds.c - what every kind but the plain lock puts on the wire: the
 * script of each request, its keys and its arguments.
 *
 * Word by word what the comments of src/scripts say that they are given, and
 * docs/wire that it is there.  Where only a few of a kind's words differ from
 * those of another, only these are looked at.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core_bench.h"
#include "support/fatal.h"
#include "sync/kinds/pieces.h"
#include "sync/state.h"

#define FIELD(n) BENCH_UUID ":" n
#define RECORD(n) "holdfast_request:{a}:" BENCH_UUID ":" n
#define LEASE "30000"
#define WINDOW "600000"

/* ---- asking, and what was sent ---- */

static struct bench_call *call(struct bench *bench, uint64_t owner,
                               struct hfi_op_request ask)
{
    return bench_start(bench, owner, "a", &ask);
}

static struct bench_call *acquire(struct bench *bench,
                                  const struct hfi_kind *kind)
{
    return call(bench, 1,
                (struct hfi_op_request){.kind = HFI_OP_ACQUIRE,
                                        .of = kind,
                                        .lease_ms = BENCH_LEASE_MS,
                                        .renewed = true});
}

static struct bench_call *release(struct bench *bench,
                                  const struct hfi_kind *kind)
{
    return call(bench, 1,
                (struct hfi_op_request){.kind = HFI_OP_RELEASE, .of = kind});
}

/* The text with each "$T" made the time until which a copy that is sent now may
 * run. */
static void with_time(const struct bench *bench, const char *text, char *buf,
                      size_t size)
{
    size_t len = 0;

    while (*text != '\0') {
        int wrote;

        if (strncmp(text, "$T", 2) == 0) {
            wrote = snprintf(buf + len, size - len, "%" PRId64,
                             bench_server_now(bench) + BENCH_RESPONSE_MS);
            text += 2;
        } else {
            wrote = snprintf(buf + len, size - len, "%c", *text++);
        }
        assert_true(wrote > 0 && (size_t)wrote < size - len);
        len += (size_t)wrote;
    }
}

static struct hfi_copy *sent_at(struct bench *bench, enum hfi_request request,
                                const char *expected, const char *file,
                                int line)
{
    struct hfi_copy *copy = bench_take_at(bench, request, file, line);
    char words[1024];

    with_time(bench, expected, words, sizeof(words));
    _assert_string_equal(bench_words(bench, copy), words, file, line);
    return copy;
}

/* The next copy, which is for this request and of these words. */
#define sent(bench, request, expected)                                         \
    sent_at(bench, request, expected, __FILE__, __LINE__)

static void token(struct bench *bench, struct hfi_copy *copy, int64_t token)
{
    struct hfi_value value = {.kind = HFI_ARRAY, .count = 2};

    value.items = hft_alloc(2 * sizeof(*value.items));
    value.items[0].kind = HFI_TEXT;
    value.items[0].text = hft_copy_text("token");
    value.items[0].len = 5;
    value.items[1].kind = HFI_INTEGER;
    value.items[1].integer = token;
    bench_answer(bench, copy, &value);
}

/* Its ACQUIRE is answered; a fenced kind's with a token. */
static void take(struct bench *bench, const struct hfi_kind *kind)
{
    struct bench_call *taking = acquire(bench, kind);
    struct hfi_copy *copy = bench_take(bench, HFI_ACQUIRE);

    if (kind->fenced) {
        token(bench, copy, 7);
    } else {
        bench_nil(bench, copy);
    }
    assert_ended(taking, HF_OK);
}

/* Taken by its second copy, while the first may run yet. */
static void take_unclean(struct bench *bench, const struct hfi_kind *kind)
{
    acquire(bench, kind);
    bench_lose(bench, bench_take(bench, HFI_ACQUIRE), true);
    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
}

/* An attempt whose copy is under way when it is given up: it is undone. */
static void give_up(struct bench *bench, const struct hfi_kind *kind)
{
    struct bench_call *attempt = acquire(bench, kind);

    bench_take(bench, HFI_ACQUIRE);
    bench_cancel(bench, attempt, HF_CANCELLED);
}

/* Held, but not for so long that it may be free before `min_hold_ms`. */
static void take_for_at_least(struct bench *bench, const struct hfi_kind *kind,
                              struct hfi_kind_options *options,
                              int64_t min_hold_ms)
{
    struct hfi_terms *terms = bench_terms("a");

    terms->min_hold_ms = min_hold_ms;
    call(bench, 1,
         (struct hfi_op_request){.kind = HFI_OP_ACQUIRE,
                                 .of = kind,
                                 .options = options,
                                 .terms = terms,
                                 .lease_ms = BENCH_LEASE_MS});
    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
}

static void import(struct bench *bench, const struct hfi_kind *kind)
{
    call(bench, 1,
         (struct hfi_op_request){.kind = HFI_OP_IMPORT,
                                 .of = kind,
                                 .field = "f00:7",
                                 .lease_ms = 5000,
                                 .count = 2});
}

static void show(struct bench *bench, const struct hfi_kind *kind)
{
    call(bench, 0, (struct hfi_op_request){.kind = HFI_OP_SHOW, .of = kind});
}

static void force(struct bench *bench, const struct hfi_kind *kind,
                  const char *field)
{
    call(bench, 0,
         (struct hfi_op_request){
             .kind = HFI_OP_FORCE, .of = kind, .field = field});
}

static void change(struct bench *bench, const struct hfi_kind *kind,
                   const char *word, int64_t count)
{
    call(bench, 0,
         (struct hfi_op_request){
             .kind = HFI_OP_CHANGE, .of = kind, .word = word, .count = count});
}

static void tell(struct bench *bench, const struct hfi_kind *kind)
{
    call(bench, 0, (struct hfi_op_request){.kind = HFI_OP_TELL, .of = kind});
}

/* ---- permits ---- */

#define ID_TEXT "0123456789ab4def8123456789abcdee"
#define ID "\x01\x23\x45\x67\x89\xab\x4d\xef\x81\x23\x45\x67\x89\xab\xcd\xee"
#define OUT "{a}:timeout"
#define PERMITS "redisson_sc:{a}"

/* spec: permits/id-1, permits/name-1 */
static void a_permit_travels_by_its_id(void **state)
{
    struct bench *bench = *state;
    const struct hfi_kind *kind = &hfi_kind_permits;

    acquire(bench, kind);
    bench_nil(bench, sent(bench, HFI_ACQUIRE,
                          "permits_acquire a " OUT " | " ID " " LEASE
                          " $T " PERMITS " 1"));
    bench_pass(bench, BENCH_LEASE_MS / 3);
    bench_renewed(bench, sent(bench, HFI_RENEW,
                              "permits_keep_group " OUT " | " ID " 1 " LEASE));
    call(bench, 1,
         (struct hfi_op_request){
             .kind = HFI_OP_EXTEND, .of = kind, .lease_ms = 90000});
    bench_nil(bench,
              sent(bench, HFI_EXTEND, "permits_keep " OUT " | " ID " 1 90000"));
    release(bench, kind);
    bench_nil(bench,
              sent(bench, HFI_RELEASE,
                   "permits_release a " OUT " | " ID " " PERMITS " release"));
}

/* One sick name refuses a batch; then each permit is renewed by itself. */
static void a_permit_whose_batch_was_refused_is_renewed_alone(void **state)
{
    struct bench *bench = *state;

    take(bench, &hfi_kind_permits);
    bench_pass(bench, BENCH_LEASE_MS / 3);
    bench_error(bench, bench_take(bench, HFI_RENEW), HFI_REFUSAL_WRONG_TYPE);
    bench_pass(bench, BENCH_LEASE_MS / 10);
    sent(bench, HFI_RENEW, "permits_keep " OUT " | " ID " 1 " LEASE);
}

static void a_permit_nobody_waits_for_is_undone(void **state)
{
    struct bench *bench = *state;

    give_up(bench, &hfi_kind_permits);
    bench_undone(bench,
                 sent(bench, HFI_UNDO,
                      "permits_release a " OUT " | " ID " " PERMITS " undo"));
}

static void how_many_permits_there_are_is_a_request_with_a_record(void **state)
{
    struct bench *bench = *state;
    struct hfi_op_request set = {.kind = HFI_OP_CHANGE,
                                 .of = &hfi_kind_permits,
                                 .word = HFI_WORD_SET,
                                 .count = 5,
                                 .lease_ms = 60000};

    call(bench, 0, set);
    bench_integer(bench,
                  sent(bench, HFI_CHANGE,
                       "permits_change a " OUT " " RECORD(
                           "1") " | set 5 $T " WINDOW " " PERMITS " 60000 "),
                  1);
    tell(bench, &hfi_kind_permits);
    sent(bench, HFI_TELL, "permits_show a " OUT " | " PERMITS " ");
}

/* A permit that another client took is named by its id, which is read here. */
static void a_permit_of_anothers_is_named_by_its_id(void **state)
{
    struct bench *bench = *state;
    struct hfi_op_request ask = {.kind = HFI_OP_CHANGE,
                                 .of = &hfi_kind_permits,
                                 .word = HFI_WORD_FREE,
                                 .field = ID_TEXT};

    call(bench, 0, ask);
    sent(bench, HFI_CHANGE,
         "permits_change a " OUT " " RECORD("1") " | free 0 $T " WINDOW
                                                 " " PERMITS " 0 " ID);
}

static void an_unanswered_change_of_permits_is_fenced(void **state)
{
    struct bench *bench = *state;
    char words[256];

    change(bench, &hfi_kind_permits, HFI_WORD_ADD, 2);
    bench_take(bench, HFI_CHANGE);
    with_time(bench, "count_fence a " RECORD("1") " | $T " WINDOW, words,
              sizeof(words));
    bench_pass(bench, BENCH_RESPONSE_MS + BENCH_CONNECT_MS);
    sent(bench, HFI_FENCE, words);
}

/* Handed on when no attempt for it can run any more by the server's clock. */
static void a_permit_is_handed_on_by_the_servers_clock(void **state)
{
    struct bench *bench = *state;
    struct bench_call *handing_on;

    take_unclean(bench, &hfi_kind_permits);
    handing_on = call(bench, 1,
                      (struct hfi_op_request){.kind = HFI_OP_EXPORT,
                                              .of = &hfi_kind_permits});
    bench_pass(bench, BENCH_RESPONSE_MS + 1);
    bench_undone(bench, sent(bench, HFI_TIME, "server_time a"));
    assert_ended(handing_on, HF_OK);
}

/* ---- values ---- */

#define VALUE_1 "AAAAAAAAAAAAAAAAAAAAAA"
#define VALUE_2 "BBBBBBBBBBBBBBBBBBBBBB"
#define VALUES VALUE_1 VALUE_2
#define VALUES_CHANNEL "redisson_lock__channel:{a}"

static char two_values[] = VALUES;
static struct hfi_kind_options values = {
    .refs = 1, .values = two_values, .values_bytes = sizeof(VALUES) - 1};

static struct bench_call *with_values(struct bench *bench, uint64_t owner,
                                      enum hfi_op_kind kind)
{
    return call(bench, owner,
                (struct hfi_op_request){.kind = kind,
                                        .of = &hfi_kind_values,
                                        .options = &values,
                                        .lease_ms = BENCH_LEASE_MS,
                                        .renewed = true});
}

/* spec: values/key-1, values/acquire-1 */
static void values_travel_behind_their_owner(void **state)
{
    struct bench *bench = *state;

    with_values(bench, 1, HFI_OP_ACQUIRE);
    bench_nil(bench,
              sent(bench, HFI_ACQUIRE,
                   "values_acquire a | " FIELD("1") " " LEASE " $T " VALUES));
    with_values(bench, 1, HFI_OP_ACQUIRE);
    bench_nil(bench,
              sent(bench, HFI_ENTER,
                   "values_keep a | " FIELD("1") " 2 " LEASE " " VALUES));
    with_values(bench, 1, HFI_OP_RELEASE);
    bench_nil(bench,
              sent(bench, HFI_LEAVE,
                   "values_keep a | " FIELD("1") " 1 " LEASE " " VALUES));
    bench_pass(bench, BENCH_LEASE_MS / 3);
    bench_renewed(bench, sent(bench, HFI_RENEW,
                              "values_keep_group a | " FIELD("1") " 1 " LEASE
                                                                  " " VALUES));
    with_values(bench, 1, HFI_OP_RELEASE);
    bench_nil(bench, sent(bench, HFI_RELEASE,
                          "values_release a | " FIELD(
                              "1") " " VALUES_CHANNEL " " VALUES " release"));
}

static void values_are_undone_and_kept_for_a_stand_in(void **state)
{
    struct bench *bench = *state;
    struct bench_call *attempt = with_values(bench, 1, HFI_OP_ACQUIRE);

    bench_take(bench, HFI_ACQUIRE);
    bench_cancel(bench, attempt, HF_CANCELLED);
    bench_undone(bench, sent(bench, HFI_UNDO,
                             "values_release a | " FIELD(
                                 "1") " " VALUES_CHANNEL " " VALUES " undo"));
    take_for_at_least(bench, &hfi_kind_values, &values, 4000);
    with_values(bench, 1, HFI_OP_RELEASE);
    sent(bench, HFI_RELEASE,
         "values_release a | " FIELD("2") " " VALUES_CHANNEL " " VALUES
                                          " release " FIELD("3") " 4000");
}

/* spec: values/keep-3 */
static void values_are_written_out_and_adopted(void **state)
{
    struct bench *bench = *state;
    struct hfi_op_request ask = {.kind = HFI_OP_IMPORT,
                                 .of = &hfi_kind_values,
                                 .options = &values,
                                 .lease_ms = BENCH_LEASE_MS,
                                 .count = 2,
                                 .field = "x:1"};
    struct bench_call *handed;

    with_values(bench, 1, HFI_OP_ACQUIRE);
    bench_lose(bench, bench_take(bench, HFI_ACQUIRE), true);
    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    handed = with_values(bench, 1, HFI_OP_EXPORT);
    bench_pass(bench, BENCH_RESPONSE_MS + 1);
    bench_undone(bench, sent(bench, HFI_TIME, "server_time a"));
    assert_ended(handed, HF_OK);
    handed = call(bench, 2, ask);
    bench_nil(bench, sent(bench, HFI_ADOPT,
                          "values_keep a | x:1 2 " LEASE " " VALUES " adopt"));
    assert_ended(handed, HF_OK);
}

/* All of their owners, or the one who was named. */
static void values_are_shown_and_forced(void **state)
{
    struct bench *bench = *state;
    struct hfi_op_request ask = {
        .kind = HFI_OP_FORCE, .of = &hfi_kind_values, .options = &values};

    with_values(bench, 0, HFI_OP_SHOW);
    sent(bench, HFI_SHOW, "values_show a | " VALUES_CHANNEL " " VALUES);
    call(bench, 0, ask);
    bench_shown(bench, bench_take(bench, HFI_SHOW), 500, "x:1");
    sent(bench, HFI_FORCE, "values_force a |  $T " VALUES_CHANNEL " " VALUES);
    ask.field = "x:2";
    call(bench, 0, ask);
    sent(bench, HFI_FORCE,
         "values_force a | x:2 $T " VALUES_CHANNEL " " VALUES);
}

/* ---- counts ---- */

#define LATCH_CHANNEL "redisson_countdownlatch__channel__{a}"
#define ARMED "holdfast_latch_armed:{a}"

/* spec: latch/name-3, latch/change-3 */
static void a_latch_is_armed_by_a_request_that_it_names(void **state)
{
    struct bench *bench = *state;

    change(bench, &hfi_kind_latch, HFI_WORD_SET, 3);
    bench_integer(
        bench,
        sent(bench, HFI_CHANGE,
             "latch_change a " RECORD("1") " " ARMED " | set 3 $T " WINDOW
                                           " " LATCH_CHANNEL " " FIELD("1")),
        1);
    change(bench, &hfi_kind_latch, HFI_WORD_DOWN, 0);
    sent(bench, HFI_CHANGE,
         "latch_change a " RECORD("2") " " ARMED " " RECORD(
             "1") " | down 0 $T " WINDOW " " LATCH_CHANNEL " " FIELD("2"));
}

static void an_unanswered_change_of_a_latch_is_fenced(void **state)
{
    struct bench *bench = *state;
    char words[256];

    change(bench, &hfi_kind_latch, HFI_WORD_DOWN, 0);
    bench_take(bench, HFI_CHANGE);
    with_time(bench, "count_fence a " RECORD("1") " | $T " WINDOW, words,
              sizeof(words));
    bench_pass(bench, BENCH_RESPONSE_MS + BENCH_CONNECT_MS);
    sent(bench, HFI_FENCE, words);
}

/* People are told how many hear it; for that a look says the channel. */
static void only_a_look_for_people_names_the_channel(void **state)
{
    struct bench *bench = *state;

    call(bench, 0,
         (struct hfi_op_request){.kind = HFI_OP_AWAIT,
                                 .of = &hfi_kind_latch,
                                 .wait_ms = HF_WAIT_FOREVER});
    sent(bench, HFI_LOOK, "latch_look a " ARMED " | ");
    tell(bench, &hfi_kind_latch);
    sent(bench, HFI_TELL, "latch_look a " ARMED " | " LATCH_CHANNEL);
    tell(bench, &hfi_kind_semaphore);
    sent(bench, HFI_TELL, "semaphore_show a | redisson_sc:{a}");
}

/* ---- fenced ones ---- */

#define TOKEN "redisson_lock_token:{a}"

/* spec: fenced/adopt-1 */
static void an_import_of_a_fenced_hold_asks_for_its_token(void **state)
{
    static const struct {
        const struct hfi_kind *kind;
        const char *words;
    } kinds[] = {
        {&hfi_kinds_lock[HFI_FENCED],
         "lock_adopt_fenced a " TOKEN " | f00:7 2 5000 0 0"},
        {&hfi_kinds_lock[HFI_FENCED_COUNTING],
         "lock_adopt_fenced a " TOKEN " | f00:7 2 5000 0 0"},
        {&hfi_kinds_token[HFI_FENCED],
         "token_adopt_fenced a " TOKEN " | f00:7 2 5000 0 0"},
        {&hfi_kinds_fair[HFI_FENCED],
         "lock_adopt_fenced a " TOKEN " | f00:7 2 5000 0 0"},
        {&hfi_kinds_write[HFI_FENCED],
         "lock_adopt_fenced a " TOKEN " | f00:7 2 5000 0 0"},
        {&hfi_kinds_lock[HFI_UNFENCED], "lock_keep a | f00:7 2 5000"},
        {&hfi_kinds_token[HFI_UNFENCED], "token_keep a | f00:7 2 5000"},
        {&hfi_kinds_fair[HFI_UNFENCED], "lock_keep a | f00:7 2 5000"},
        {&hfi_kinds_write[HFI_UNFENCED], "write_keep a | f00:7 2 5000"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct bench *bench = hft_alloc(sizeof(*bench));

        bench_open(bench);
        import(bench, kinds[i].kind);
        sent(bench, HFI_ADOPT, kinds[i].words);
        bench_close(bench);
        free(bench);
    }
}

static void a_look_at_a_fenced_lock_sees_the_newest_token(void **state)
{
    struct bench *bench = *state;

    show(bench, &hfi_kinds_lock[HFI_FENCED]);
    sent(bench, HFI_SHOW,
         "lock_show_fenced a " TOKEN " | redisson_lock__channel:{a}");
    show(bench, &hfi_kinds_lock[HFI_FENCED_COUNTING]);
    sent(bench, HFI_SHOW,
         "lock_show_fenced a " TOKEN " | redisson_lock__channel:{a}");
    show(bench, &hfi_kinds_token[HFI_FENCED]);
    sent(bench, HFI_SHOW,
         "token_show_fenced a " TOKEN " | holdfast_token__channel:{a}");
    show(bench, &hfi_kinds_write[HFI_FENCED]);
    sent(bench, HFI_SHOW, "rw_show a " TOKEN " | redisson_rwlock:{a} write");
}

static void what_keeps_a_fenced_hold_has_no_use_for_the_token(void **state)
{
    struct bench *bench = *state;
    const struct hfi_kind *kind = &hfi_kinds_lock[HFI_FENCED_COUNTING];

    take(bench, kind);
    bench_pass(bench, BENCH_LEASE_MS / 3);
    bench_renewed(bench, sent(bench, HFI_RENEW,
                              "lock_keep_group a | " FIELD("1") " 1 " LEASE));
    release(bench, kind);
    sent(bench, HFI_RELEASE,
         "lock_release a | " FIELD("1") " redisson_lock__channel:{a}");
}

/* ---- the token lock ---- */

static void a_fenced_token_lock_is_asked_for_by_script_at_once(void **state)
{
    struct bench *bench = *state;
    const struct hfi_kind *kind = &hfi_kinds_token[HFI_FENCED];
    struct hfi_copy *copy;

    acquire(bench, kind);
    copy = sent(bench, HFI_ACQUIRE,
                "token_acquire_fenced a " TOKEN " | " FIELD("1") " " LEASE
                                                                 " $T 0 0");
    assert_false(copy->native);
    token(bench, copy, 9);
    release(bench, kind);
    bench_take(bench, HFI_PROBE);
    sent(bench, HFI_RELEASE,
         "token_release a | " FIELD("1") " holdfast_token__channel:{a}");
}

/* Which commands the server knows: DELIFEQ, and no DELEX. */
static void know_delifeq(struct bench *bench, struct hfi_copy *probe)
{
    struct hfi_value value = {.kind = HFI_ARRAY, .count = 2};

    value.items = hft_alloc(2 * sizeof(*value.items));
    value.items[0].kind = HFI_ARRAY;
    value.items[0].count = 1;
    value.items[0].items = hft_alloc(sizeof(*value.items));
    bench_answer(bench, probe, &value);
}

static void its_release_is_bare_all_the_same(void **state)
{
    struct bench *bench = *state;
    const struct hfi_kind *kind = &hfi_kinds_token[HFI_FENCED];

    take(bench, kind);
    release(bench, kind);
    know_delifeq(bench, bench_take(bench, HFI_PROBE));
    bench_nil(bench, bench_take(bench, HFI_RELEASE));
    take(bench, kind);
    release(bench, kind);
    sent(bench, HFI_RELEASE, "bare | DELIFEQ a " FIELD("2"));
}

/* ---- the fair lock ---- */

#define FAIR_KEYS                                                              \
    "a redisson_lock_queue:{a} redisson_lock_timeout:{a} "                     \
    "holdfast_fair_alive:{a} holdfast_fair_waits:{a} "                         \
    "holdfast_fair_members:{a} holdfast_fair_scratch:{a}"
#define FAIR_CHANNEL "redisson_lock__channel:{a}"

static void a_fenced_fair_lock_has_the_tokens_key_behind_the_others(
    void **state)
{
    struct bench *bench = *state;
    const struct hfi_kind *kind = &hfi_kinds_fair[HFI_FENCED];

    acquire(bench, kind);
    token(bench,
          sent(bench, HFI_ACQUIRE,
               "fair_acquire " FAIR_KEYS " " TOKEN
               " | " FIELD("1") " " LEASE " $T " FAIR_CHANNEL " 0 0 0 0"),
          3);
    acquire(bench, kind);
    bench_nil(bench,
              sent(bench, HFI_ENTER, "lock_keep a | " FIELD("1") " 2 " LEASE));
    show(bench, kind);
    sent(bench, HFI_SHOW, "fair_show " FAIR_KEYS " " TOKEN " | 100");
}

static void a_counting_fair_lock_takes_a_token_with_each_entry(void **state)
{
    struct bench *bench = *state;
    const struct hfi_kind *kind = &hfi_kinds_fair[HFI_FENCED_COUNTING];

    take(bench, kind);
    acquire(bench, kind);
    sent(bench, HFI_ENTER,
         "lock_enter_counting a " TOKEN " | " FIELD("1") " 2 " LEASE " 0 0");
}

static void fair_holds_are_renewed_with_those_of_plain_locks(void **state)
{
    struct bench *bench = *state;

    take(bench, &hfi_kind_fair);
    bench_pass(bench, BENCH_LEASE_MS / 3);
    bench_renewed(bench, sent(bench, HFI_RENEW,
                              "lock_keep_group a | " FIELD("1") " 1 " LEASE));
    take_unclean(bench, &hfi_kinds_lock[HFI_UNFENCED]);
}

static void a_fair_lock_that_is_kept_for_a_stand_in_names_it(void **state)
{
    struct bench *bench = *state;

    take_for_at_least(bench, &hfi_kind_fair, NULL, 4000);
    release(bench, &hfi_kind_fair);
    sent(bench, HFI_RELEASE,
         "fair_release_later " FAIR_KEYS
         " | " FIELD("1") " " FAIR_CHANNEL " " FIELD("2") " 4000");
}

/* ---- read and write ---- */

#define RW_CHANNEL "redisson_rwlock:{a}"
#define HOLD_KEY(field) "{a}:" field ":rwlock_timeout:"
#define WRITERS "holdfast_writers:{a}"

/* spec: rw/write-4 */
static void only_what_gives_a_writers_token_names_its_key(void **state)
{
    struct bench *bench = *state;
    const struct hfi_kind *kind = &hfi_kinds_write[HFI_FENCED];

    acquire(bench, kind);
    token(bench,
          sent(bench, HFI_ACQUIRE,
               "write_acquire_fenced a " TOKEN " | " FIELD("1") ":write " LEASE
                                                                " $T 0 0"),
          1);
    acquire(bench, kind);
    bench_nil(bench, sent(bench, HFI_ENTER,
                          "write_keep a | " FIELD("1") ":write 2 " LEASE));
    release(bench, kind);
    bench_nil(bench, sent(bench, HFI_LEAVE,
                          "write_keep a | " FIELD("1") ":write 1 " LEASE));
    release(bench, kind);
    sent(bench, HFI_RELEASE,
         "rw_release a | " FIELD("1") ":write " RW_CHANNEL " 1 {a}: release");
}

static void a_counting_writer_takes_a_token_with_each_entry(void **state)
{
    struct bench *bench = *state;
    const struct hfi_kind *kind = &hfi_kinds_write[HFI_FENCED_COUNTING];
    static struct hfi_kind_options options = {
        .refs = 1, .token_from_time = true, .token_ttl_ms = 5000};

    call(bench, 1,
         (struct hfi_op_request){.kind = HFI_OP_ACQUIRE,
                                 .of = kind,
                                 .options = &options,
                                 .lease_ms = BENCH_LEASE_MS});
    token(bench, bench_take(bench, HFI_ACQUIRE), 1);
    acquire(bench, kind);
    token(bench,
          sent(bench, HFI_ENTER,
               "lock_enter_counting a " TOKEN " | " FIELD("1") ":write 2 " LEASE
                                                               " 1 5000"),
          2);
    release(bench, kind);
    bench_nil(bench, bench_take(bench, HFI_LEAVE));
    release(bench, kind);
    bench_nil(bench, bench_take(bench, HFI_RELEASE));
}

/* spec: rw/way-1, rw/way-2 */
static void an_urgent_writer_who_waits_says_for_how_long(void **state)
{
    struct bench *bench = *state;
    struct hfi_op_request ask = {.kind = HFI_OP_ACQUIRE,
                                 .of = &hfi_kinds_urgent_write[HFI_FENCED],
                                 .lease_ms = BENCH_LEASE_MS,
                                 .wait_ms = HF_WAIT_FOREVER};
    struct bench_call *waiting = call(bench, 1, ask);

    token(bench,
          sent(bench, HFI_ACQUIRE,
               "write_acquire_fenced a " TOKEN " " WRITERS
               " | " FIELD("1") ":write " LEASE " $T 0 0 6000"),
          1);
    assert_ended(waiting, HF_OK);
    acquire(bench, &hfi_kinds_urgent_write[HFI_FENCED]);
    bench_nil(bench, sent(bench, HFI_ENTER,
                          "write_keep a | " FIELD("1") ":write 2 " LEASE));
    release(bench, &hfi_kinds_urgent_write[HFI_FENCED]);
    bench_nil(bench, bench_take(bench, HFI_LEAVE));
    release(bench, &hfi_kinds_urgent_write[HFI_FENCED]);
    sent(bench, HFI_RELEASE,
         "rw_release a " WRITERS " | " FIELD("1") ":write " RW_CHANNEL
                                                  " 1 {a}: release");
}

/* ... but says nothing once he has gone. */
static void who_has_given_up_before_it_was_sent_says_no_word(void **state)
{
    struct bench *bench = *state;
    struct hfi_op_request ask = {.kind = HFI_OP_ACQUIRE,
                                 .of = &hfi_kind_urgent_write,
                                 .lease_ms = BENCH_LEASE_MS,
                                 .wait_ms = HF_WAIT_FOREVER};
    struct bench_call *gone = call(bench, 1, ask);

    bench_cancel(bench, gone, HF_CANCELLED);
    sent(bench, HFI_ACQUIRE,
         "write_acquire a " WRITERS " | " FIELD("1") ":write " LEASE " $T 0");
}

/* A reader who has gone writes nothing either, as far as his copy knows. */
static void who_has_given_up_before_it_was_sent_names_no_writer(void **state)
{
    struct bench *bench = *state;
    struct bench_call *gone;

    take(bench, &hfi_kind_write);
    gone = acquire(bench, &hfi_kind_read);
    bench_cancel(bench, gone, HF_CANCELLED);
    sent(bench, HFI_ACQUIRE,
         "read_acquire a " HOLD_KEY(FIELD("2")) "1 | " FIELD("2") " " LEASE
                                                                  " $T ");
}

static void a_polite_reader_looks_for_waiting_writers(void **state)
{
    struct bench *bench = *state;
    const struct hfi_kind *kind = &hfi_kind_polite_read;

    acquire(bench, kind);
    bench_nil(bench, sent(bench, HFI_ACQUIRE,
                          "read_acquire a " HOLD_KEY(
                              FIELD("1")) "1 " WRITERS
                                          " | " FIELD("1") " " LEASE " $T "));
    release(bench, kind);
    sent(bench, HFI_RELEASE,
         "rw_release a " HOLD_KEY(FIELD("1")) "1 | " FIELD(
             "1") " " RW_CHANNEL " 0 {a}: release");
}

/* A stand-in of a reader's has a hold key too. */
static void a_reader_that_is_kept_for_a_stand_in_names_its_hold_key(
    void **state)
{
    struct bench *bench = *state;

    take_for_at_least(bench, &hfi_kind_read, NULL, 4000);
    release(bench, &hfi_kind_read);
    sent(bench, HFI_RELEASE,
         "rw_release a " HOLD_KEY(FIELD("1")) "1 " HOLD_KEY(FIELD(
             "2")) "1 | " FIELD("1") " " RW_CHANNEL
                                     " 0 {a}: release " FIELD("2") " 4000");
}

static void a_writer_that_is_kept_for_a_stand_in_needs_no_hold_key(void **state)
{
    struct bench *bench = *state;

    take_for_at_least(bench, &hfi_kind_write, NULL, 4000);
    release(bench, &hfi_kind_write);
    sent(bench, HFI_RELEASE,
         "rw_release a | " FIELD("1") ":write " RW_CHANNEL
                                      " 1 {a}: release " FIELD(
                                          "2") ":write 4000");
}

/* spec: rw/force-3 */
static void a_reader_that_is_named_is_forced_by_his_hold_keys(void **state)
{
    struct bench *bench = *state;

    show(bench, &hfi_kind_read);
    sent(bench, HFI_SHOW, "rw_show a | " RW_CHANNEL " read");
    force(bench, &hfi_kind_read, "x:1");
    sent(bench, HFI_FORCE,
         "rw_force a | x:1 $T " RW_CHANNEL " 0 " HOLD_KEY("x:1"));
    force(bench, &hfi_kind_write, "x:1:write");
    sent(bench, HFI_FORCE, "rw_force a | x:1:write $T " RW_CHANNEL " 1 ");
}

static void put_text(struct hfi_value *value, const char *text)
{
    value->kind = HFI_TEXT;
    value->text = hft_copy_text(text);
    value->len = strlen(text);
}

/* Whoever was seen stands for all: no hold key is named. */
static void readers_are_forced_together_if_nobody_is_named(void **state)
{
    struct bench *bench = *state;
    struct hfi_value value = {.kind = HFI_ARRAY, .count = 7};

    force(bench, &hfi_kind_read, NULL);
    value.items = hft_alloc(7 * sizeof(*value.items));
    value.items[0].kind = HFI_INTEGER;
    value.items[0].integer = 500;
    put_text(&value.items[1], "x:1");
    put_text(&value.items[2], "1");
    put_text(&value.items[4], "read");
    bench_answer(bench, bench_take(bench, HFI_SHOW), &value);
    sent(bench, HFI_FORCE, "rw_force a | x:1 $T " RW_CHANNEL " 0 ");
}

static void a_writer_is_exported_by_the_servers_clock(void **state)
{
    struct bench *bench = *state;
    struct bench_call *exporting;

    take_unclean(bench, &hfi_kind_write);
    exporting = call(
        bench, 1,
        (struct hfi_op_request){.kind = HFI_OP_EXPORT, .of = &hfi_kind_write});
    bench_pass(bench, BENCH_RESPONSE_MS + 1);
    bench_undone(bench, sent(bench, HFI_TIME, "server_time a"));
    assert_ended(exporting, HF_OK);
}

/* ---- names that bring a tag ---- */

static struct bench_call *tagged(struct bench *bench, struct hfi_op_request ask)
{
    return bench_start(bench, 1, "x{t}", &ask);
}

/* A name with an opening brace has its own tag, and gets no braces of ours but
 * in the channel of a latch.
 * spec: latch/name-2, semaphore/request-1, permits/name-1, rw/name-1 */
static void a_name_with_a_tag_keeps_it_in_every_key(void **state)
{
    struct bench *bench = *state;
    struct hfi_op_request count = {
        .kind = HFI_OP_CHANGE, .word = HFI_WORD_SET, .count = 1};
    struct hfi_op_request take = {.kind = HFI_OP_ACQUIRE,
                                  .lease_ms = BENCH_LEASE_MS};

    count.of = &hfi_kind_semaphore;
    tagged(bench, count);
    sent(bench, HFI_CHANGE,
         "semaphore_change x{t} holdfast_request:x{t}:" FIELD(
             "1") " | set 1 $T " WINDOW " redisson_sc:x{t} 0");
    count.of = &hfi_kind_latch;
    tagged(bench, count);
    sent(bench, HFI_CHANGE,
         "latch_change x{t} holdfast_request:x{t}:" FIELD(
             "2") " holdfast_latch_armed:x{t} | set 1 $T " WINDOW
                  " redisson_countdownlatch__channel__{x{t}} " FIELD("2"));
    take.of = &hfi_kind_read;
    tagged(bench, take);
    sent(bench, HFI_ACQUIRE,
         "read_acquire x{t} x{t}:" FIELD("3") ":rwlock_timeout:1 | " FIELD(
             "3") " " LEASE " $T ");
    tell(bench, &hfi_kind_permits);
    sent(bench, HFI_TELL, "permits_show a {a}:timeout | redisson_sc:{a} ");
    count.of = &hfi_kind_permits;
    tagged(bench, count);
    sent(bench, HFI_CHANGE,
         "permits_change x{t} x{t}:timeout holdfast_request:x{t}:" FIELD(
             "4") " | set 1 $T " WINDOW " redisson_sc:x{t} 0 ");
}

static void who_waits_for_a_name_with_a_tag_hears_its_channel(void **state)
{
    struct bench *bench = *state;

    tagged(bench, (struct hfi_op_request){.kind = HFI_OP_ACQUIRE,
                                          .of = &hfi_kind_lock,
                                          .lease_ms = BENCH_LEASE_MS,
                                          .wait_ms = HF_WAIT_FOREVER});
    bench_integer(bench, bench_take(bench, HFI_ACQUIRE), 5000);
    assert_true(bench_wants(bench, "redisson_lock__channel:x{t}"));
}

/* ---- texts that do not fit ---- */

static void what_does_not_fit_is_not_written(void **state)
{
    struct bench *bench = *state;
    struct bench_call *waiting = acquire(bench, &hfi_kind_lock);
    const struct hfi_number *number = bench_take(bench, HFI_ACQUIRE)->number;
    char buf[64] = "";

    assert_running(waiting);
    assert_int_equal(hfi_prefixed("word", "name", 4, buf, 10), 11);
    assert_string_equal(buf, "");
    assert_int_equal(hfi_prefixed("word", "name", 4, buf, 11), 11);
    assert_memory_equal(buf, "word:{name}", 11);
    assert_int_equal(hfi_stand_in_field(bench->core, number, 12, buf, 39), 0);
    assert_int_equal(hfi_stand_in_field(bench->core, number, 12, buf, 40), 39);
    assert_string_equal(buf, BENCH_UUID ":12");
}

/* A channel's name is told with its length, whether there was room or not. */
static void a_channel_that_does_not_fit_says_how_long_it_is(void **state)
{
    struct bench *bench = *state;
    struct hfi_op_request ask = {.kind = HFI_OP_AWAIT,
                                 .of = &hfi_kind_latch,
                                 .wait_ms = HF_WAIT_FOREVER};
    const struct hfi_name *name;
    char buf[64] = "";
    size_t len = strlen(LATCH_CHANNEL);

    call(bench, 0, ask);
    name = bench_take(bench, HFI_LOOK)->about->name;
    assert_int_equal(hfi_channel(name, buf, len - 1), len);
    assert_string_equal(buf, "");
    assert_int_equal(hfi_channel(name, buf, len), len);
    assert_memory_equal(buf, LATCH_CHANNEL, len);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
#define TEST(function)                                                         \
    cmocka_unit_test_setup_teardown(function, bench_setup, bench_teardown)
        TEST(a_permit_travels_by_its_id),
        TEST(a_permit_whose_batch_was_refused_is_renewed_alone),
        TEST(a_permit_nobody_waits_for_is_undone),
        TEST(how_many_permits_there_are_is_a_request_with_a_record),
        TEST(a_permit_of_anothers_is_named_by_its_id),
        TEST(an_unanswered_change_of_permits_is_fenced),
        TEST(a_permit_is_handed_on_by_the_servers_clock),
        TEST(values_travel_behind_their_owner),
        TEST(values_are_undone_and_kept_for_a_stand_in),
        TEST(values_are_written_out_and_adopted),
        TEST(values_are_shown_and_forced),
        TEST(a_latch_is_armed_by_a_request_that_it_names),
        TEST(an_unanswered_change_of_a_latch_is_fenced),
        TEST(only_a_look_for_people_names_the_channel),
        TEST(an_import_of_a_fenced_hold_asks_for_its_token),
        TEST(a_look_at_a_fenced_lock_sees_the_newest_token),
        TEST(what_keeps_a_fenced_hold_has_no_use_for_the_token),
        TEST(a_fenced_token_lock_is_asked_for_by_script_at_once),
        TEST(its_release_is_bare_all_the_same),
        TEST(a_fenced_fair_lock_has_the_tokens_key_behind_the_others),
        TEST(a_counting_fair_lock_takes_a_token_with_each_entry),
        TEST(fair_holds_are_renewed_with_those_of_plain_locks),
        TEST(a_fair_lock_that_is_kept_for_a_stand_in_names_it),
        TEST(only_what_gives_a_writers_token_names_its_key),
        TEST(a_counting_writer_takes_a_token_with_each_entry),
        TEST(an_urgent_writer_who_waits_says_for_how_long),
        TEST(who_has_given_up_before_it_was_sent_says_no_word),
        TEST(who_has_given_up_before_it_was_sent_names_no_writer),
        TEST(a_polite_reader_looks_for_waiting_writers),
        TEST(a_reader_that_is_kept_for_a_stand_in_names_its_hold_key),
        TEST(a_writer_that_is_kept_for_a_stand_in_needs_no_hold_key),
        TEST(a_reader_that_is_named_is_forced_by_his_hold_keys),
        TEST(readers_are_forced_together_if_nobody_is_named),
        TEST(a_writer_is_exported_by_the_servers_clock),
        TEST(a_name_with_a_tag_keeps_it_in_every_key),
        TEST(who_waits_for_a_name_with_a_tag_hears_its_channel),
        TEST(what_does_not_fit_is_not_written),
        TEST(a_channel_that_does_not_fit_says_how_long_it_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
