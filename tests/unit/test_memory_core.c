/* SPDX-License-Identifier: MIT */
/* test_memory_core.c - the core when memory is short, wherever that is.
 *
 * One scenario is played again and again, each time with another allocation that
 * fails, until none is left to fail.  Whatever fails, every call ends with a
 * status, nothing lives without its field, and the rest goes on.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc_faults.h"
#include "core_bench.h"
#include "core_model.h"
#include "support/fatal.h"
#include "sync/state.h"

#define FOREIGN "fedcba98-7654-4321-8fed-cba987654321:42"

struct stage {
    struct hfi_core *core;
    struct model model;
    int64_t now;
    int started, ended;
    char handle[64];
};

static struct stage stage;

static void note_ended(struct hfi_op *op)
{
    struct hfi_op_result *result = hfi_op_result(op);

    if (hfi_op_kind_of(op) == HFI_OP_EXPORT && result->status == HF_OK) {
        memcpy(stage.handle, result->handle_owner, sizeof(stage.handle));
    }
    stage.ended++;
    hfi_op_free(stage.core, op);
}

/* Everything is answered at once and every channel heard. */
static void pump(void)
{
    struct hfi_copy *copy;
    struct hfi_listener *listener;
    struct hfi_terms *terms;
    struct hfi_op *op;

    while ((copy = hfi_core_next_copy(stage.core)) != NULL) {
        struct model_request request;
        struct hfi_value value;

        alloc_faults_pause();
        model_capture(stage.core, copy, &request);
        value = model_run(&stage.model, &request);
        alloc_faults_resume();
        hfi_core_answer(stage.core, copy, &value, HFI_LINK_MAIN, stage.now);
        hfi_value_clear(&value);
    }
    while ((listener = hfi_core_next_subscription(stage.core)) != NULL) {
        if (hfi_listener_wants(listener)) {
            hfi_core_subscribed(stage.core, listener, stage.now);
        }
        hfi_core_subscription_done(stage.core, listener);
    }
    while ((terms = hfi_core_next_notice(stage.core)) != NULL) {
        terms->tell_lost = false;
        terms->queued = false;
        hfi_terms_unref(terms);
    }
    while ((op = hfi_op_next_done(stage.core)) != NULL) {
        note_ended(op);
    }
}

/* So that every copy is an allocation that may fail. */
static void empty_pool(void)
{
    struct hfi_copy *copy;

    while ((copy = stage.core->free_copies) != NULL) {
        stage.core->free_copies = copy->next;
        free(copy);
    }
    stage.core->free_copy_count = 0;
}

static void settle(void)
{
    for (int i = 0; i < 5; i++) {
        pump();
        empty_pool();
    }
}

/* As api/call.c: what no call could be made of ends here. */
static struct hfi_op *make(struct hfi_op_request ask, uint64_t owner,
                           const char *name)
{
    struct hfi_op *op = NULL;

    ask.name = name;
    ask.name_bytes = strlen(name);
    ask.owner = hfi_owner_get(stage.core, owner, true);
    if (ask.owner == NULL) {
        hfi_terms_unref(ask.terms);
        return NULL;
    }
    hfi_owner_ref(ask.owner);
    if (hfi_op_new(stage.core, &ask, &op) == HF_OK) {
        stage.started++;
    } else {
        hfi_terms_unref(ask.terms);
    }
    hfi_owner_unref(stage.core, ask.owner);
    return op;
}

static void start(struct hfi_op_request ask, uint64_t owner, const char *name)
{
    struct hfi_op *op = make(ask, owner, name);

    if (op != NULL) {
        hfi_core_start(stage.core, op, HFI_LINK_MAIN, stage.now);
    }
}

/* Both by one request, or neither. */
static void lock_both(uint64_t owner, const char *first, const char *second,
                      int64_t wait_ms)
{
    struct hfi_op_request ask = {.kind = HFI_OP_ACQUIRE,
                                 .wait_ms = wait_ms,
                                 .lease_ms = 1000,
                                 .renewed = true};
    struct hfi_op *ops[2] = {make(ask, owner, first), make(ask, owner, second)};

    if (ops[0] != NULL && ops[1] != NULL) {
        hfi_core_start_together(stage.core, ops, 2, 100, HFI_LINK_MAIN,
                                stage.now);
    } else {
        for (int i = 0; i < 2; i++) {
            if (ops[i] != NULL) { /* it was not begun */
                hfi_op_free(stage.core, ops[i]);
                stage.started--;
            }
        }
    }
    settle();
}

static void lock(uint64_t owner, const char *name, int64_t wait_ms,
                 int64_t lease_ms, bool renewed)
{
    struct hfi_op_request ask = {.kind = HFI_OP_ACQUIRE,
                                 .wait_ms = wait_ms,
                                 .lease_ms = lease_ms,
                                 .renewed = renewed};

    alloc_faults_pause();
    ask.terms = bench_terms(name);
    alloc_faults_resume();
    start(ask, owner, name);
    settle();
}

static void simple(enum hfi_op_kind kind, uint64_t owner, const char *name)
{
    struct hfi_op_request ask = {.kind = kind, .lease_ms = 500};

    start(ask, owner, name);
    settle();
}

static void import(uint64_t owner, const char *name)
{
    struct hfi_op_request ask = {.kind = HFI_OP_IMPORT,
                                 .lease_ms = 1000,
                                 .count = 3,
                                 .field = stage.handle};

    alloc_faults_pause();
    ask.terms = bench_terms(name);
    alloc_faults_resume();
    start(ask, owner, name);
    settle();
}

static void pass(int64_t ms)
{
    for (int64_t end = stage.now + ms; stage.now < end;) {
        int64_t due = hfi_core_next_due_ms(stage.core);
        int64_t next = due > end ? end : due;

        next = next > stage.now ? next : stage.now + 1;
        stage.model.now_ms += next - stage.now;
        stage.now = next;
        hfi_core_tick(stage.core, stage.now);
        settle();
    }
}

static void links(bool up)
{
    for (int id = 0; id < HFI_COMMAND_LINKS; id++) {
        if (up) {
            hfi_core_link_up(stage.core, (enum hfi_link_id)id,
                             stage.model.now_ms, stage.now);
        } else {
            hfi_core_link_down(stage.core, (enum hfi_link_id)id);
        }
    }
    settle();
}

/* What lives here has its field there, whatever was not to be had. */
static void check_live(void)
{
    struct hfi_name *name;
    struct hfi_number *number;

    for (name = hfi_name_after(stage.core, NULL); name != NULL;
         name = hfi_name_after(stage.core, name)) {
        char text[MODEL_WORD];
        struct model_key *key;

        snprintf(text, sizeof(text), "%.*s", (int)name->bytes, name->text);
        key = model_key(&stage.model, text);

        DL_FOREACH2(name->numbers, number, name_next)
        {
            char field[128];

            if (number->state == NUMBER_HELD &&
                hfi_hold_deadline(number) > stage.now) {
                hfi_number_field(stage.core, number, field, sizeof(field));
                assert_non_null(model_field(key, field));
            }
        }
    }
}

static void play(void)
{
    links(true);
    lock(1, "a", 0, 1000, true);
    lock(1, "a", 0, 1000, true); /* levels */
    lock(1, "a", 0, 200, false);
    lock(1, "a", 0, 100, true);
    lock(2, "a", 3000, 1000, true); /* waits here */
    lock(3, "b", 0, 1000, true);
    check_live();
    lock_both(8, "d", "e", 0);
    check_live();
    lock_both(8, "e", "d", 0); /* entered */
    lock_both(9, "d", "c", 200);
    simple(HFI_OP_RELEASE, 8, "d"); /* now "c" is in the way */
    simple(HFI_OP_RELEASE, 8, "d");
    simple(HFI_OP_EXTEND, 3, "b");
    pass(500); /* renewals */
    simple(HFI_OP_RELEASE, 8, "e");
    simple(HFI_OP_RELEASE, 8, "e");
    check_live();
    for (int i = 0; i < 4; i++) {
        simple(HFI_OP_RELEASE, 1, "a");
    }
    check_live();
    simple(HFI_OP_EXPORT, 3, "b");
    import(4, "b");
    check_live();
    lock(5, "c", 400, 1000, true); /* somebody else has it */
    pass(300);
    lock(6, "a", 200, 50, false); /* to be lost, or given up */
    simple(HFI_OP_RELEASE, 2, "a");
    pass(100);
    check_live();
    links(false);
    lock(7, "a", 0, 1000, true);
    simple(HFI_OP_RELEASE, 4, "b");
    simple(HFI_OP_RELEASE, 4, "b");
    pass(900);
    links(true);
    pass(1500);
    check_live();
}

static bool play_without(unsigned n, bool local_reentry)
{
    struct hfi_core_config config = bench_config();
    struct model_key *key;
    bool failed;

    memset(&stage, 0, sizeof(stage));
    snprintf(stage.handle, sizeof(stage.handle), "%s", FOREIGN);
    config.response_limit_ms = 300;
    config.connect_limit_ms = 200;
    config.retry_bound_ms = 100;
    config.local_reentry = local_reentry;
    stage.now = BENCH_BEGIN_MS;
    stage.model.now_ms = BENCH_BEGIN_MS + BENCH_SERVER_AHEAD_MS;
    key = model_key(&stage.model, "c");
    key->field_count = 1;
    key->ends_at_ms = stage.model.now_ms + 900;
    snprintf(key->fields[0].owner, MODEL_WORD, "%s", FOREIGN);
    alloc_faults_begin(n);
    stage.core = hfi_core_new(&config);
    if (stage.core == NULL) {
        return alloc_faults_end();
    }
    play();
    failed = alloc_faults_end();
    hfi_core_close(stage.core, stage.now);
    settle();
    pass(3000); /* the ends of what was lost */
    assert_int_equal(stage.started, stage.ended);
    assert_true(hfi_core_ended(stage.core));
    hfi_core_free(stage.core);
    return failed;
}

static void whatever_allocation_fails_every_call_ends(void **state)
{
    (void)state;
    for (int local = 0; local < 2; local++) {
        unsigned n = 0;

        while (play_without(n, local == 1)) {
            n++;
        }
        assert_true(n > 50); /* ops are used again: fewer than one for each */
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(whatever_allocation_fails_every_call_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
