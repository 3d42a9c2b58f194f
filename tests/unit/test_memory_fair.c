/* SPDX-License-Identifier: MIT */
/* test_memory_fair.c - a wait for a fair lock in which each allocation fails
 * once: the call ends, or goes on by polling; nothing hangs, nothing leaks, and
 * what may be left on the server is undone.
 */
#include <stdlib.h>

#include "alloc_faults.h"
#include "core_bench.h"
#include "support/fatal.h"

struct stage {
    struct hfi_core *core;
    struct hfi_op *op;
    hf_status status; /* of the op, once it is NULL */
    int64_t now;
    int64_t free_at_ms;
};

/* As a server does that has given the lock to others until `free_at_ms`. */
static void answer(struct stage *stage, struct hfi_copy *copy)
{
    struct hfi_value value = {.kind = HFI_NIL};

    if (copy->request == HFI_UNDO) {
        value.kind = HFI_INTEGER;
        value.integer = stage->now;
    } else if (copy->request == HFI_ACQUIRE && stage->now < stage->free_at_ms) {
        alloc_faults_pause();
        value.kind = HFI_ARRAY;
        value.count = 4;
        value.items = hft_alloc(4 * sizeof(*value.items));
        for (int i = 0; i < 4; i++) {
            value.items[i].kind = HFI_INTEGER;
            value.items[i].integer = i == 0 ? 500 : 0;
        }
        alloc_faults_resume();
    }
    hfi_core_answer(stage->core, copy, &value, HFI_LINK_MAIN, stage->now);
    hfi_value_clear(&value);
}

/* Carry out what the core wants, as a driver does. */
static void serve(struct stage *stage)
{
    struct hfi_listener *listener;
    struct hfi_copy *copy;
    struct hfi_op *op;

    while ((copy = hfi_core_next_copy(stage->core)) != NULL) {
        answer(stage, copy);
    }
    while ((listener = hfi_core_next_subscription(stage->core)) != NULL) {
        if (hfi_listener_wants(listener)) {
            hfi_core_subscribed(stage->core, listener, stage->now);
        }
        hfi_core_subscription_done(stage->core, listener);
    }
    while ((op = hfi_op_next_done(stage->core)) != NULL) {
        stage->status = hfi_op_result(op)->status;
        stage->op = NULL;
        hfi_op_free(stage->core, op);
    }
}

static void call(struct stage *stage, enum hfi_op_kind kind)
{
    struct hfi_op_request asked = {.kind = kind,
                                   .of = &hfi_kind_fair,
                                   .name = "a",
                                   .name_bytes = 1,
                                   .wait_ms = 20000,
                                   .lease_ms = 30000};

    asked.owner = hfi_owner_get(stage->core, 1, true);
    stage->status = HF_NOMEM;
    if (asked.owner != NULL &&
        hfi_op_new(stage->core, &asked, &stage->op) == HF_OK) {
        hfi_core_start(stage->core, stage->op, HFI_LINK_MAIN, stage->now);
    }
}

static void pass(struct stage *stage, int64_t ms)
{
    for (int64_t end = stage->now + ms; stage->now < end; stage->now += 50) {
        hfi_core_tick(stage->core, stage->now);
        serve(stage);
        serve(stage);
    }
}

/* One wait, with allocation n failing; false: there were not so many. */
static bool wait_with_fault(unsigned n)
{
    struct hfi_core_config config = bench_config();
    struct stage stage = {.now = 1000, .free_at_ms = 6000};
    bool failed;

    stage.core = hfi_core_new(&config);
    assert_non_null(stage.core);
    hfi_core_link_up(stage.core, HFI_LINK_MAIN, stage.now, stage.now);
    hfi_core_link_up(stage.core, HFI_LINK_KEEPER, stage.now, stage.now);
    alloc_faults_begin(n);
    call(&stage, HFI_OP_ACQUIRE);
    pass(&stage, 15000);
    failed = alloc_faults_end();
    assert_null(stage.op); /* it has ended */
    assert_true(stage.status == HF_OK || stage.status == HF_NOMEM);
    if (stage.status == HF_OK) {
        call(&stage, HFI_OP_RELEASE);
        pass(&stage, 100);
        assert_int_equal(stage.status, HF_OK);
    }
    hfi_core_close(stage.core, stage.now);
    pass(&stage, 1000);
    assert_true(hfi_core_ended(stage.core));
    assert_true(hfi_core_idle(stage.core));
    hfi_core_free(stage.core);
    return failed;
}

static void every_allocation_of_a_wait_may_fail(void **state)
{
    unsigned n = 0;

    (void)state;
    while (wait_with_fault(n)) {
        n++;
    }
    assert_true(n > 2);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_of_a_wait_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
