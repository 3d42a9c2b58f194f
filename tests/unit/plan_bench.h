/* SPDX-License-Identifier: MIT */
/* plan_bench.h - carries out what a plan wants, as its caller would: one member,
 * one event at a time, at a time that only the test moves. */
#ifndef HFT_PLAN_BENCH_H
#define HFT_PLAN_BENCH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sync/plan.h"

#define MEMBERS 5
#define LIMIT_MS 50

struct bench {
    struct hfi_plan plan;
    struct hfi_plan_member members[MEMBERS];
    int64_t now;
};

static inline struct bench bench_of(const struct hfi_plan_way *way,
                                    size_t count, int64_t wait_ms)
{
    struct bench bench = {.now = 1000};

    bench.plan.way = way;
    bench.plan.count = count;
    bench.plan.quorum = way == &hfi_way_quorum ? count / 2 + 1 : count;
    bench.plan.wait_ms = wait_ms;
    bench.plan.limit_ms = LIMIT_MS;
    bench.plan.retry_ms = 1000;
    bench.plan.random = 7;
    return bench;
}

/* The struct has moved since it was made. */
static inline void begin(struct bench *bench)
{
    bench->plan.members = bench->members;
    hfi_plan_take(&bench->plan, bench->now);
}

static inline enum hfi_want take_want(struct bench *bench, size_t at)
{
    enum hfi_want want = bench->members[at].want;

    bench->members[at].want = HFI_WANT_NOTHING;
    return want;
}

static inline void assert_wants(struct bench *bench, size_t at,
                                enum hfi_want want)
{
    assert_int_equal(take_want(bench, at), want);
}

static inline void assert_wants_nothing(struct bench *bench)
{
    for (size_t i = 0; i < bench->plan.count; i++) {
        assert_int_equal(bench->members[i].want, HFI_WANT_NOTHING);
    }
}

static inline void end(struct bench *bench, size_t at, hf_status status)
{
    hfi_plan_ended(&bench->plan, at, status, bench->now);
}

static inline void pass(struct bench *bench, int64_t ms)
{
    bench->now += ms;
    hfi_plan_tick(&bench->plan, bench->now);
}

static inline void assert_done(const struct bench *bench, hf_status status)
{
    assert_int_equal(bench->plan.state, HFI_PLAN_DONE);
    assert_int_equal(bench->plan.status, status);
    if (status != HF_OK) {
        assert_int_equal(bench->plan.due_ms, HFI_PLAN_NEVER);
    }
}

#endif
