/* SPDX-License-Identifier: MIT */
/* test_memory_counts.c - semaphores and latches when memory is short.
 *
 * One scenario is played again and again, each time with another allocation that
 * fails, until none is left to fail.  Whatever fails, every call ends with a
 * status, nobody waits for ever, and the permits are all there in the end.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "alloc_faults.h"
#include "core_bench.h"
#include "support/fatal.h"
#include "sync/state.h"

#define CAPACITY 4

struct stage {
    struct hfi_core *core;
    int64_t now;
    int64_t permits; /* on the "server" */
    int64_t count;   /* of the latch */
    int64_t held;    /* as callers were told */
    int started, ended;
};

static struct stage stage;

/* ---- the "server": nothing is lost, so no record is needed ---- */

static void put_number(struct hfi_value *value, int64_t number)
{
    value->kind = HFI_INTEGER;
    value->integer = number;
}

static void look(struct hfi_value *value)
{
    value->kind = HFI_ARRAY;
    value->count = 3;
    value->items = hft_alloc(3 * sizeof(value->items[0]));
    put_number(&value->items[0], stage.count);
    value->items[1].kind = HFI_TEXT;
    value->items[1].text = hft_alloc(1);
    put_number(&value->items[2], 0);
}

static void change(const struct hfi_op_request *ask, struct hfi_value *value)
{
    if (strcmp(ask->word, HFI_WORD_RELEASE) == 0) {
        stage.permits += ask->count;
        put_number(value, stage.permits);
    } else {
        stage.count -= stage.count > 0 ? 1 : 0;
        put_number(value, stage.count);
    }
}

static void run(const struct hfi_copy *copy, struct hfi_value *value)
{
    memset(value, 0, sizeof(*value));
    if (copy->request == HFI_TAKE && stage.permits < copy->number->amount) {
        put_number(value, stage.permits);
    } else if (copy->request == HFI_TAKE) {
        stage.permits -= copy->number->amount; /* nil: taken */
    } else if (copy->request == HFI_CHANGE) {
        change(&copy->about->ask, value);
    } else if (copy->request == HFI_LOOK) {
        look(value);
    } else {
        put_number(value, stage.now + BENCH_SERVER_AHEAD_MS);
    }
}

/* ---- the "driver" ---- */

static void note_ended(struct hfi_op *op)
{
    const struct hfi_op_result *result = hfi_op_result(op);
    int64_t *permits = hfi_op_user(op);

    if (permits != NULL && result->status == HF_OK) {
        stage.held += *permits;
    }
    stage.ended++;
    hfi_op_free(stage.core, op);
}

static void pump(void)
{
    struct hfi_copy *copy;
    struct hfi_listener *listener;
    struct hfi_op *op;

    while ((copy = hfi_core_next_copy(stage.core)) != NULL) {
        struct hfi_value value;

        alloc_faults_pause();
        run(copy, &value);
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
    while ((op = hfi_op_next_done(stage.core)) != NULL) {
        note_ended(op);
    }
    while ((copy = stage.core->free_copies) != NULL) {
        stage.core->free_copies = copy->next; /* each is an allocation */
        free(copy);
    }
    stage.core->free_copy_count = 0;
}

static void pass(int64_t ms)
{
    int64_t until = stage.now + ms;

    while (stage.now < until) {
        pump();
        stage.now += 10;
        hfi_core_tick(stage.core, stage.now);
    }
    pump();
}

/* ---- the scenario ---- */

static void start(struct hfi_op_request ask, const char *name, int64_t *permits)
{
    struct hfi_op *op = NULL;

    ask.name = name;
    ask.name_bytes = strlen(name);
    ask.user = permits;
    if (hfi_op_new(stage.core, &ask, &op) == HF_OK) {
        stage.started++;
        hfi_core_start(stage.core, op, HFI_LINK_MAIN, stage.now);
    }
    pump();
}

static void take(int64_t *permits, int64_t wait_ms)
{
    struct hfi_op_request ask = {.kind = HFI_OP_TAKE,
                                 .of = &hfi_kind_semaphore,
                                 .count = *permits,
                                 .wait_ms = wait_ms};

    start(ask, "pool", permits);
}

static void count_by(const struct hfi_kind *kind, const char *word,
                     int64_t count, int64_t *permits)
{
    struct hfi_op_request ask = {
        .kind = HFI_OP_CHANGE, .of = kind, .word = word, .count = count};

    start(ask, kind == &hfi_kind_latch ? "gate" : "pool", permits);
}

static void play(void)
{
    static int64_t one = 1, three = 3, minus[] = {-3, -1, -1};
    struct hfi_op_request wait = {
        .kind = HFI_OP_AWAIT, .of = &hfi_kind_latch, .wait_ms = 2000};

    hfi_core_link_up(stage.core, HFI_LINK_MAIN,
                     stage.now + BENCH_SERVER_AHEAD_MS, stage.now);
    take(&three, 0);
    take(&three, 500); /* waits */
    take(&one, 500);   /* passes it */
    take(&one, 0);
    start(wait, "gate", NULL);
    start(wait, "gate", NULL);
    if (stage.held >= 3) {
        count_by(&hfi_kind_semaphore, HFI_WORD_RELEASE, 3, &minus[0]);
    }
    pass(100);
    while (stage.held > 0) {
        count_by(&hfi_kind_semaphore, HFI_WORD_RELEASE, 1, &minus[1]);
        pass(50);
    }
    while (stage.count > 0) {
        count_by(&hfi_kind_latch, HFI_WORD_DOWN, 0, NULL);
        pass(50);
    }
    pass(2500);
}

static bool play_without(unsigned n)
{
    struct hfi_core_config config = bench_config();
    bool failed;

    memset(&stage, 0, sizeof(stage));
    config.response_limit_ms = 300;
    config.connect_limit_ms = 200;
    config.retry_bound_ms = 100;
    stage.now = BENCH_BEGIN_MS;
    stage.permits = CAPACITY;
    stage.count = 2;
    alloc_faults_begin(n);
    stage.core = hfi_core_new(&config);
    if (stage.core == NULL) {
        return alloc_faults_end();
    }
    play();
    failed = alloc_faults_end();
    assert_int_equal(stage.started, stage.ended);
    assert_int_equal(stage.permits, CAPACITY);
    assert_int_equal(stage.count, 0);
    hfi_core_close(stage.core, stage.now);
    pump();
    assert_true(hfi_core_idle(stage.core));
    hfi_core_free(stage.core);
    return failed;
}

static void whatever_allocation_fails_every_call_ends(void **state)
{
    unsigned n = 0;

    (void)state;
    while (play_without(n)) {
        n++;
    }
    assert_true(n > 30);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(whatever_allocation_fails_every_call_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
