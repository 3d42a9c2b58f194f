/* SPDX-License-Identifier: MIT */
/* test_memory_holds.c - the life of a token lock, of a permit, and of several by
 * one request, in which each allocation fails once.
 *
 * What is held is renewed and released all the same, by script if not bare; what
 * cannot be told to waiters is left to their re-try bound.  Of several, all are
 * held or none.
 */
#include <stdlib.h>
#include <string.h>

#include "alloc_faults.h"
#include "core_bench.h"
#include "support/fatal.h"
#include "sync/state.h"

struct stage {
    struct hfi_core *core;
    const struct hfi_kind *kind;
    int64_t now;
    hf_status status; /* of the call that ended last */
    int lost;
};

static void put_array(struct hfi_value *value, size_t count,
                      enum hfi_value_kind of)
{
    value->kind = HFI_ARRAY;
    value->count = count;
    value->items = hft_alloc(count * sizeof(*value->items));
    for (size_t i = 0; i < count; i++) {
        value->items[i].kind = of;
        value->items[i].count = of == HFI_ARRAY ? 1 : 0;
        value->items[i].items = of == HFI_ARRAY
                                    ? hft_alloc(sizeof(*value->items))
                                    : NULL;
    }
}

/* As a server does that knows all commands, and has it for us. */
static void fill_in(const struct stage *stage, const struct hfi_copy *copy,
                    struct hfi_value *value)
{
    if (copy->request == HFI_PROBE) {
        put_array(value, 2, HFI_ARRAY);
    } else if (copy->number == NULL) { /* for all of a batch */
        put_array(value, copy->batch_count, HFI_NIL);
    } else if (copy->request == HFI_UNDO || copy->request == HFI_WAKE) {
        value->kind = HFI_INTEGER;
        value->integer = stage->now;
    } else if (copy->native && copy->request == HFI_RELEASE) {
        value->kind = HFI_INTEGER;
        value->integer = 1;
    } else if (copy->native) {
        value->kind = HFI_TEXT;
        value->text = hft_copy_text("OK");
        value->len = 2;
    }
}

/* So that every copy is an allocation that may fail. */
static void empty_pool(struct hfi_core *core)
{
    struct hfi_copy *copy;

    while ((copy = core->free_copies) != NULL) {
        core->free_copies = copy->next;
        free(copy);
    }
    core->free_copy_count = 0;
}

static void serve(struct stage *stage)
{
    struct hfi_copy *copy;
    struct hfi_terms *terms;
    struct hfi_op *op;

    while ((copy = hfi_core_next_copy(stage->core)) != NULL) {
        struct hfi_value value = {.kind = HFI_NIL};

        alloc_faults_pause();
        fill_in(stage, copy, &value);
        alloc_faults_resume();
        hfi_core_answer(stage->core, copy, &value, HFI_LINK_MAIN, stage->now);
        hfi_value_clear(&value);
    }
    while ((terms = hfi_core_next_notice(stage->core)) != NULL) {
        stage->lost += terms->tell_lost;
        terms->queued = false;
        hfi_terms_unref(terms);
    }
    while ((op = hfi_op_next_done(stage->core)) != NULL) {
        stage->status = hfi_op_result(op)->status;
        hfi_op_free(stage->core, op);
    }
    empty_pool(stage->core);
}

static hf_status call(struct stage *stage, enum hfi_op_kind kind,
                      const char *name)
{
    struct hfi_op_request asked = {.kind = kind,
                                   .of = stage->kind,
                                   .name = name,
                                   .name_bytes = 1,
                                   .lease_ms = BENCH_LEASE_MS,
                                   .renewed = true};
    struct hfi_op *op;

    alloc_faults_pause();
    if (kind == HFI_OP_ACQUIRE) {
        asked.terms = bench_terms(name);
    }
    alloc_faults_resume();
    asked.owner = hfi_owner_get(stage->core, (uint64_t)name[0], true);
    stage->status = HF_NOMEM;
    if (asked.owner == NULL || hfi_op_new(stage->core, &asked, &op) != HF_OK) {
        hfi_terms_unref(asked.terms);
        return HF_NOMEM;
    }
    hfi_core_start(stage->core, op, HFI_LINK_MAIN, stage->now);
    serve(stage);
    return stage->status;
}

static void pass(struct stage *stage, int64_t ms)
{
    for (int64_t end = stage->now + ms; stage->now < end; stage->now += 100) {
        hfi_core_tick(stage->core, stage->now);
        serve(stage);
    }
}

/* Taken and released, so that a server is asked what it knows; then held. */
static void live(struct stage *stage)
{
    hf_status taken;

    if (call(stage, HFI_OP_ACQUIRE, "a") == HF_OK) {
        call(stage, HFI_OP_RELEASE, "a");
    }
    taken = call(stage, HFI_OP_ACQUIRE, "b");
    pass(stage, BENCH_LEASE_MS / 2); /* once by itself */
    if (call(stage, HFI_OP_ACQUIRE, "c") == HF_OK && taken == HF_OK) {
        pass(stage, 2 * BENCH_LEASE_MS);
    }
    call(stage, HFI_OP_RELEASE, "b");
    call(stage, HFI_OP_RELEASE, "c");
}

/* false: there were not so many. */
static bool live_with_fault(const struct hfi_kind *kind, unsigned n)
{
    struct hfi_core_config config = bench_config();
    struct stage stage = {.kind = kind, .now = 1000};
    bool failed;

    stage.core = hfi_core_new(&config);
    assert_non_null(stage.core);
    hfi_core_link_up(stage.core, HFI_LINK_MAIN, stage.now, stage.now);
    hfi_core_link_up(stage.core, HFI_LINK_KEEPER, stage.now, stage.now);
    alloc_faults_begin(n);
    live(&stage);
    failed = alloc_faults_end();
    assert_int_equal(stage.lost, 0); /* a renewal is tried again in time */
    pass(&stage, 2000);              /* what was given up is undone */
    hfi_core_close(stage.core, stage.now);
    pass(&stage, 1000);
    assert_true(hfi_core_ended(stage.core));
    assert_true(hfi_core_idle(stage.core));
    hfi_core_free(stage.core);
    return failed;
}

static void every_allocation_in_the_life_of_a_token_may_fail(void **state)
{
    unsigned n = 0;

    (void)state;
    while (live_with_fault(&hfi_kinds_token[HFI_UNFENCED], n)) {
        n++;
    }
    assert_true(n > 10);
}

static void every_allocation_in_the_life_of_a_permit_may_fail(void **state)
{
    unsigned n = 0;

    (void)state;
    while (live_with_fault(&hfi_kind_permits, n)) {
        n++;
    }
    assert_true(n > 10);
}

/* ---- several by one request ---- */

#define GROUP 3

static hf_stats stats_of(const struct stage *stage)
{
    hf_stats stats = HF_STATS_INIT;

    hfi_core_stats(stage->core, &stats);
    return stats;
}

/* One call for permits, each with an owner; or one for each lock. */
static void take_permits(struct stage *stage)
{
    struct hfi_op_request asked = {.kind = HFI_OP_ACQUIRE,
                                   .of = &hfi_kind_permits,
                                   .owner = hfi_owner_get(stage->core, 1, true),
                                   .name = "a",
                                   .name_bytes = 1,
                                   .count = GROUP,
                                   .lease_ms = BENCH_LEASE_MS,
                                   .terms = bench_terms("a"),
                                   .several = hfi_several_new(GROUP - 1)};
    struct hfi_op *op;

    for (size_t i = 0; i < GROUP - 1; i++) {
        asked.several->items[i].owner = hfi_owner_get(stage->core, i + 2, true);
        hfi_owner_ref(asked.several->items[i].owner);
    }
    assert_int_equal(hfi_op_new(stage->core, &asked, &op), HF_OK);
    alloc_faults_resume();
    hfi_core_start(stage->core, op, HFI_LINK_MAIN, stage->now);
}

static void take_locks(struct stage *stage)
{
    static const char *const names[GROUP] = {"a", "b", "c"};
    struct hfi_op *ops[GROUP];

    for (size_t i = 0; i < GROUP; i++) {
        struct hfi_op_request asked = {
            .kind = HFI_OP_ACQUIRE,
            .owner = hfi_owner_get(stage->core, 1, true),
            .name = names[i],
            .name_bytes = 1,
            .lease_ms = BENCH_LEASE_MS};

        assert_int_equal(hfi_op_new(stage->core, &asked, &ops[i]), HF_OK);
    }
    alloc_faults_resume();
    hfi_core_start_together(stage->core, ops, GROUP, 0, HFI_LINK_MAIN,
                            stage->now);
}

/* false: there were not so many. */
static bool take_with_fault(void (*take)(struct stage *stage), unsigned n)
{
    struct hfi_core_config config = bench_config();
    struct stage stage = {.now = 1000};
    int64_t holds;
    bool failed;

    stage.core = hfi_core_new(&config);
    hfi_core_link_up(stage.core, HFI_LINK_MAIN, stage.now, stage.now);
    hfi_core_link_up(stage.core, HFI_LINK_KEEPER, stage.now, stage.now);
    alloc_faults_begin(n);
    alloc_faults_pause(); /* the calls themselves are there */
    take(&stage);
    serve(&stage);
    failed = alloc_faults_end();
    holds = stats_of(&stage).holds;
    assert_int_equal(holds, stage.status == HF_OK ? GROUP : 0);
    assert_true(failed || holds == GROUP);
    hfi_core_close(stage.core, stage.now);
    pass(&stage, 1000);
    assert_true(hfi_core_ended(stage.core));
    assert_true(hfi_core_idle(stage.core));
    hfi_core_free(stage.core);
    return failed;
}

static void without_memory_for_one_none_of_several_is_taken(void **state)
{
    static void (*const takes[])(struct stage *) = {take_permits, take_locks};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        unsigned n = 0;

        while (take_with_fault(takes[i], n)) {
            n++;
        }
        assert_true(n > 3);
    }
    alloc_faults_begin(0);
    assert_null(hfi_several_new(GROUP));
    assert_true(alloc_faults_end());
}

/* They leave one by one then. */
static void without_memory_releases_do_not_join(void **state)
{
    struct bench *bench = hft_alloc(sizeof(*bench));
    struct hfi_copy *copies = NULL;
    struct hfi_copy *copy;
    struct bench_call *call;

    (void)state;
    bench_open(bench);
    bench_hold(bench, 1, "a");
    call = bench_unlock(bench, 1, "a");
    copy = bench_take(bench, HFI_RELEASE);
    DL_APPEND(copies, copy);
    empty_pool(bench->core);
    alloc_faults_begin(0);
    assert_null(hfi_copy_join(bench->core, copies));
    assert_true(alloc_faults_end());
    DL_DELETE(copies, copy);
    bench_nil(bench, copy);
    assert_ended(call, HF_OK);
    bench_close(bench);
    free(bench);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_in_the_life_of_a_token_may_fail),
        cmocka_unit_test(every_allocation_in_the_life_of_a_permit_may_fail),
        cmocka_unit_test(without_memory_for_one_none_of_several_is_taken),
        cmocka_unit_test(without_memory_releases_do_not_join),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
