/* SPDX-License-Identifier: MIT */
/* core_bench.c - a driver without a network; see core_bench.h. */
#include "core_bench.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "core_bench_parts.h"
#include "support/fatal.h"

/* ---- effects ---- */

static void on_lost(const hf_lease_event *event, void *context)
{
    (void)event;
    (void)context;
}

static void note(struct bench *bench, struct hfi_terms *terms)
{
    struct bench_notice *notice = hft_alloc(sizeof(*notice));

    notice->lost = terms->tell_lost;
    notice->warning = terms->tell_warning;
    notice->lock_state = terms->warning_state;
    notice->warning_reason = terms->warning_reason;
    notice->reason = terms->lost_reason;
    notice->deadline_ms = terms->deadline_ms;
    notice->told_at_ms = bench->now;
    snprintf(notice->owner, sizeof(notice->owner), "%s", terms->owner);
    snprintf(notice->name, sizeof(notice->name), "%.*s", (int)terms->name_bytes,
             terms->name);
    terms->tell_lost = false;
    terms->tell_warning = false;
    terms->queued = false;
    hfi_terms_unref(terms);
    DL_APPEND(bench->notices, notice);
}

static void end_call(struct bench *bench, struct hfi_op *op)
{
    struct bench_call *call = hfi_op_user(op);
    struct hfi_op_result *result = hfi_op_result(op);

    assert_ptr_equal(call->op, op); /* it ends once */
    call->op = NULL;
    call->status = result->status;
    call->error = result->error;
    call->value = result->value;
    memset(&result->value, 0, sizeof(result->value));
    memcpy(call->handle_owner, result->handle_owner,
           sizeof(call->handle_owner));
    call->count = result->count;
    call->lease_ms = result->lease_ms;
    call->changed = result->changed;
    hfi_op_free(bench->core, op);
}

void bench_settle(struct bench *bench)
{
    struct hfi_listener *listener;
    struct hfi_terms *terms;
    struct hfi_op *op;

    while ((listener = hfi_core_next_subscription(bench->core)) != NULL) {
        bench_channel_change(bench, listener);
        hfi_core_subscription_done(bench->core, listener);
    }
    while ((terms = hfi_core_next_notice(bench->core)) != NULL) {
        note(bench, terms);
    }
    while ((op = hfi_op_next_done(bench->core)) != NULL) {
        end_call(bench, op);
    }
}

/* ---- life ---- */

struct hfi_core_config bench_config(void)
{
    struct hfi_core_config config = {
        .uuid = BENCH_UUID,
        .seed = 7,
        .response_limit_ms = BENCH_RESPONSE_MS,
        .connect_limit_ms = BENCH_CONNECT_MS,
        .retry_bound_ms = BENCH_BOUND_MS,
    };

    return config;
}

void bench_open_with(struct bench *bench, const struct hfi_core_config *config)
{
    memset(bench, 0, sizeof(*bench));
    bench->now = BENCH_BEGIN_MS;
    bench->server_ahead_ms = BENCH_SERVER_AHEAD_MS;
    bench->core = hfi_core_new(config);
    assert_non_null(bench->core);
    bench_link_up(bench, HFI_LINK_MAIN);
    bench_link_up(bench, HFI_LINK_KEEPER);
}

void bench_open(struct bench *bench)
{
    struct hfi_core_config config = bench_config();

    bench_open_with(bench, &config);
}

static void lose_all_copies(struct bench *bench)
{
    struct hfi_copy *copy;

    bench_links_down(bench);
    do {
        while (bench->taken != NULL) {
            bench_lose(bench, bench->taken->copy, true);
        }
        copy = bench_take_any(bench);
    } while (copy != NULL);
}

void bench_close(struct bench *bench)
{
    struct bench_call *call, *next_call;
    struct bench_notice *notice, *next_notice;

    hfi_core_close(bench->core, bench->now);
    bench_settle(bench);
    lose_all_copies(bench);
    DL_FOREACH_SAFE (bench->calls, call, next_call) {
        assert_null(call->op); /* the core ends every call when it closes */
        hfi_value_clear(&call->value);
        free(call);
    }
    DL_FOREACH_SAFE (bench->notices, notice, next_notice) {
        free(notice);
    }
    bench_channels_free(bench);
    hfi_core_free(bench->core);
    memset(bench, 0, sizeof(*bench));
}

int bench_setup(void **state)
{
    *state = hft_alloc(sizeof(struct bench));
    bench_open(*state);
    return 0;
}

int bench_teardown(void **state)
{
    bench_close(*state);
    free(*state);
    return 0;
}

int64_t bench_server_now(const struct bench *bench)
{
    return bench->now + bench->server_ahead_ms;
}

/* ---- time ---- */

void bench_tick(struct bench *bench)
{
    hfi_core_tick(bench->core, bench->now);
    bench_settle(bench);
}

void bench_pass(struct bench *bench, int64_t ms)
{
    int64_t until = bench->now + ms;
    int64_t due;
    int turns = 0;

    while ((due = hfi_core_next_due_ms(bench->core)) <= until) {
        if (due > bench->now) {
            bench->now = due;
            turns = 0;
        }
        assert_true(++turns < 1000); /* else it spins */
        bench_tick(bench);
    }
    bench->now = until;
}

void bench_jump(struct bench *bench, int64_t ms)
{
    bench->now += ms;
}

/* ---- calls ---- */

static struct bench_call *make_call(struct bench *bench, uint64_t owner,
                                    const char *name,
                                    const struct hfi_op_request *asked)
{
    struct bench_call *call = hft_alloc(sizeof(*call));
    struct hfi_op_request ask = *asked;

    DL_APPEND(bench->calls, call);
    ask.owner = owner == 0 ? NULL : hfi_owner_get(bench->core, owner, true);
    if (name != NULL) {
        ask.name = name;
        ask.name_bytes = strlen(name);
    }
    ask.user = call;
    assert_int_equal(hfi_op_new(bench->core, &ask, &call->op), HF_OK);
    return call;
}

struct bench_call *bench_start(struct bench *bench, uint64_t owner,
                               const char *name,
                               const struct hfi_op_request *asked)
{
    struct bench_call *call = make_call(bench, owner, name, asked);

    hfi_core_start(bench->core, call->op, HFI_LINK_MAIN, bench->now);
    bench_settle(bench);
    return call;
}

void bench_start_together(struct bench *bench, uint64_t owner,
                          const char *const *names, size_t count,
                          const struct hfi_op_request *asked,
                          int64_t patience_ms, struct bench_call **ret_calls)
{
    struct hfi_op *ops[HFI_TOGETHER_MAX];

    for (size_t i = 0; i < count; i++) {
        struct hfi_op_request ask = *asked;

        ask.terms = ask.terms == NULL ? NULL : bench_terms(names[i]);
        ret_calls[i] = make_call(bench, owner, names[i], &ask);
        ops[i] = ret_calls[i]->op;
    }
    hfi_core_start_together(bench->core, ops, count, patience_ms, HFI_LINK_MAIN,
                            bench->now);
    bench_settle(bench);
}

struct bench_call *bench_lock(struct bench *bench, uint64_t owner,
                              const char *name, int64_t wait_ms)
{
    struct hfi_op_request ask = {.kind = HFI_OP_ACQUIRE,
                                 .wait_ms = wait_ms,
                                 .lease_ms = BENCH_LEASE_MS,
                                 .renewed = true};

    return bench_start(bench, owner, name, &ask);
}

struct bench_call *bench_lock_fixed(struct bench *bench, uint64_t owner,
                                    const char *name, int64_t lease_ms)
{
    struct hfi_op_request ask = {.kind = HFI_OP_ACQUIRE, .lease_ms = lease_ms};

    return bench_start(bench, owner, name, &ask);
}

struct bench_call *bench_simple(struct bench *bench, enum hfi_op_kind kind,
                                uint64_t owner, const char *name)
{
    struct hfi_op_request ask = {.kind = kind};

    return bench_start(bench, owner, name, &ask);
}

struct bench_call *bench_unlock(struct bench *bench, uint64_t owner,
                                const char *name)
{
    return bench_simple(bench, HFI_OP_RELEASE, owner, name);
}

struct bench_call *bench_extend(struct bench *bench, uint64_t owner,
                                const char *name, int64_t lease_ms)
{
    struct hfi_op_request ask = {.kind = HFI_OP_EXTEND, .lease_ms = lease_ms};

    return bench_start(bench, owner, name, &ask);
}

void bench_cancel(struct bench *bench, struct bench_call *call, hf_status why)
{
    hfi_core_cancel(bench->core, call->op, why, bench->now);
    bench_settle(bench);
}

struct hfi_terms *bench_terms(const char *name)
{
    size_t bytes = strlen(name);
    struct hfi_terms *terms = hft_alloc(sizeof(*terms) + bytes);

    terms->refs = 1;
    terms->on_lost = on_lost;
    terms->on_warning = on_lost;
    terms->name_bytes = bytes;
    memcpy(terms->name, name, bytes);
    return terms;
}

/* ---- whole exchanges ---- */

void bench_hold_fixed(struct bench *bench, uint64_t owner, const char *name,
                      int64_t lease_ms)
{
    struct bench_call *call = bench_lock_fixed(bench, owner, name, lease_ms);
    struct hfi_copy *copy = bench_take_any(bench);

    assert_non_null(copy);
    bench_nil(bench, copy);
    assert_ended(call, HF_OK);
}

void bench_hold(struct bench *bench, uint64_t owner, const char *name)
{
    struct bench_call *call = bench_lock(bench, owner, name, 0);
    struct hfi_copy *copy = bench_take_any(bench);

    assert_non_null(copy);
    bench_nil(bench, copy);
    assert_ended(call, HF_OK);
}

void bench_hold_unclean(struct bench *bench, uint64_t owner, const char *name)
{
    struct bench_call *call = bench_lock(bench, owner, name, 0);

    bench_lose(bench, bench_take(bench, HFI_ACQUIRE), true);
    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    assert_ended(call, HF_OK);
}

void bench_free(struct bench *bench, uint64_t owner, const char *name)
{
    struct bench_call *call = bench_unlock(bench, owner, name);

    bench_nil(bench, bench_take(bench, HFI_RELEASE));
    assert_ended(call, HF_OK);
}

struct bench_call *bench_wait(struct bench *bench, uint64_t owner,
                              const char *name, int64_t wait_ms, int64_t ttl_ms)
{
    struct bench_call *call = bench_lock(bench, owner, name, wait_ms);

    bench_integer(bench, bench_take(bench, HFI_ACQUIRE), ttl_ms);
    bench_heard(bench, name);
    bench_integer(bench, bench_take(bench, HFI_ACQUIRE), ttl_ms);
    assert_running(call);
    assert_no_copy(bench);
    return call;
}

/* ---- notices ---- */

bool bench_told(struct bench *bench, struct bench_notice *ret_notice)
{
    struct bench_notice *notice = bench->notices;

    if (notice == NULL) {
        return false;
    }
    DL_DELETE(bench->notices, notice);
    *ret_notice = *notice;
    free(notice);
    return true;
}

/* ---- what the core says ---- */

struct hfi_object bench_object(const char *name)
{
    struct hfi_object object = {
        .kind = &hfi_kind_lock, .name = name, .name_bytes = strlen(name)};

    return object;
}

void bench_view(struct bench *bench, uint64_t owner, const char *name,
                struct hfi_hold_view *ret_view)
{
    struct hfi_object object = bench_object(name);

    hfi_core_view(bench->core, hfi_owner_get(bench->core, owner, false),
                  &object, bench->now, ret_view);
    bench_settle(bench);
}

hf_lock_state bench_state(struct bench *bench, uint64_t owner, const char *name)
{
    struct hfi_hold_view view;

    bench_view(bench, owner, name, &view);
    return view.state;
}

int64_t bench_remaining(struct bench *bench, uint64_t owner, const char *name)
{
    struct hfi_hold_view view;

    bench_view(bench, owner, name, &view);
    return view.remaining_ms;
}

int64_t bench_count(struct bench *bench, uint64_t owner, const char *name)
{
    struct hfi_hold_view view;

    bench_view(bench, owner, name, &view);
    return view.count;
}

hf_stats bench_stats(const struct bench *bench)
{
    hf_stats stats = HF_STATS_INIT;

    hfi_core_stats(bench->core, &stats);
    return stats;
}

void bench_owner_gone(struct bench *bench, uint64_t owner)
{
    struct hfi_owner *found = hfi_owner_get(bench->core, owner, false);

    assert_non_null(found);
    hfi_core_owner_gone(bench->core, found, bench->now);
    bench_settle(bench);
}
