/* SPDX-License-Identifier: MIT */
/* core_bench.h - drives the core (sync/core.h) exactly as a driver would.
 *
 * Events go in by the functions below, at `now` of a clock that only the test
 * moves; after each event the bench takes the core's effects as the driver
 * does: ended calls, notices and subscriptions are collected at once, copies
 * wait until the test takes them, answers them, or loses them.
 *
 * A call that ends twice, a copy given back twice, or a name subscribed that
 * nobody asked for ends the test.  Main thread only.
 */
#ifndef HFT_CORE_BENCH_H
#define HFT_CORE_BENCH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sync/core.h"
#include "sync/kinds/kind.h"

#define BENCH_UUID "01234567-89ab-4def-8123-456789abcdef"
#define BENCH_BEGIN_MS 1000000         /* the client's clock at first */
#define BENCH_SERVER_AHEAD_MS 50000000 /* the server's clock less ours */
#define BENCH_RESPONSE_MS 3000
#define BENCH_CONNECT_MS 2000
#define BENCH_BOUND_MS 2000
#define BENCH_LEASE_MS 30000

/* One call of a user; the bench's own until bench_close(). */
struct bench_call {
    struct bench_call *prev, *next;
    struct hfi_op *op; /* NULL once it has ended */
    hf_status status;
    hf_error error;
    struct hfi_value value;
    char handle_owner[64];
    int64_t count;
    int64_t lease_ms;
    bool changed;
};

/* What a holder was told. */
struct bench_notice {
    struct bench_notice *prev, *next;
    bool lost;
    bool warning;
    hf_lock_state lock_state;      /* of a warning */
    hf_lost_reason warning_reason; /* of a warning */
    hf_lost_reason reason;         /* of the loss */
    int64_t deadline_ms;
    int64_t told_at_ms;
    char owner[64];
    char name[64];
};

struct bench_taken;
struct bench_channel;

struct bench {
    struct hfi_core *core;
    int64_t now;
    int64_t server_ahead_ms;
    struct bench_call *calls;
    struct bench_notice *notices;
    struct bench_taken *taken; /* copies that are with the "driver" */
    struct bench_channel *channels;
    size_t subscribes; /* changes so far */
    size_t unsubscribes;
    char words[4096]; /* of bench_words() */
};

/* ---- life ---- */

void bench_open(struct bench *bench);
void bench_open_with(struct bench *bench, const struct hfi_core_config *config);
struct hfi_core_config bench_config(void);
/* Closes the core, loses what is under way, and frees everything. */
void bench_close(struct bench *bench);
/* cmocka fixtures: *state is a struct bench. */
int bench_setup(void **state);
int bench_teardown(void **state);

int64_t bench_server_now(const struct bench *bench);

/* ---- time ---- */

/* Let time pass as a driver does: the core is told whenever it wants to be. */
void bench_pass(struct bench *bench, int64_t ms);
/* Let it pass unseen, as for a process that is stopped. */
void bench_jump(struct bench *bench, int64_t ms);
/* Tell the core that it is now. */
void bench_tick(struct bench *bench);

/* ---- calls; owner 0 is nobody ---- */

struct bench_call *bench_start(struct bench *bench, uint64_t owner,
                               const char *name,
                               const struct hfi_op_request *asked);
/* Several acquisitions, all or none, with terms of their own if asked for. */
void bench_start_together(struct bench *bench, uint64_t owner,
                          const char *const *names, size_t count,
                          const struct hfi_op_request *asked,
                          int64_t patience_ms, struct bench_call **ret_calls);
/* Renewed, with the lease BENCH_LEASE_MS. */
struct bench_call *bench_lock(struct bench *bench, uint64_t owner,
                              const char *name, int64_t wait_ms);
struct bench_call *bench_lock_fixed(struct bench *bench, uint64_t owner,
                                    const char *name, int64_t lease_ms);
struct bench_call *bench_unlock(struct bench *bench, uint64_t owner,
                                const char *name);
struct bench_call *bench_extend(struct bench *bench, uint64_t owner,
                                const char *name, int64_t lease_ms);
struct bench_call *bench_simple(struct bench *bench, enum hfi_op_kind kind,
                                uint64_t owner, const char *name);
void bench_cancel(struct bench *bench, struct bench_call *call, hf_status why);
/* Terms that note what they are told; handed over with the call. */
struct hfi_terms *bench_terms(const char *name);

/* Whole exchanges: taken and granted; re-entered; released and freed. */
void bench_hold(struct bench *bench, uint64_t owner, const char *name);
void bench_hold_fixed(struct bench *bench, uint64_t owner, const char *name,
                      int64_t lease_ms);
void bench_free(struct bench *bench, uint64_t owner, const char *name);
/* A hold whose first ACQUIRE copy is lost for ever: it is not clean. */
void bench_hold_unclean(struct bench *bench, uint64_t owner, const char *name);
/* A waiter: BUSY, subscribed, BUSY again, waiting; its owner's call. */
struct bench_call *bench_wait(struct bench *bench, uint64_t owner,
                              const char *name, int64_t wait_ms,
                              int64_t ttl_ms);

#define assert_ended(call, wanted)                                             \
    do {                                                                       \
        const struct bench_call *ended_ = (call);                              \
                                                                               \
        assert_null(ended_->op);                                               \
        assert_int_equal(ended_->status, wanted);                              \
    } while (0)
#define assert_running(call) assert_non_null((call)->op)

/* ---- copies ---- */

struct hfi_copy *bench_take_at(struct bench *bench, enum hfi_request request,
                               const char *file, int line);
/* The next copy, which is for this request. */
#define bench_take(bench, request)                                             \
    bench_take_at(bench, request, __FILE__, __LINE__)
/* The next copy, whatever it is; NULL: none. */
struct hfi_copy *bench_take_any(struct bench *bench);
#define assert_no_copy(bench) assert_null(bench_take_any(bench))

/* Copies that were taken leave as one, which takes their place. */
struct hfi_copy *bench_join(struct bench *bench, struct hfi_copy **copies,
                            size_t count);

void bench_answer(struct bench *bench, struct hfi_copy *copy,
                  struct hfi_value *value);
void bench_nil(struct bench *bench, struct hfi_copy *copy);
void bench_integer(struct bench *bench, struct hfi_copy *copy, int64_t integer);
void bench_refused(struct bench *bench, struct hfi_copy *copy,
                   int64_t server_ms);
void bench_error(struct bench *bench, struct hfi_copy *copy,
                 enum hfi_refusal refusal);
/* RENEW of a batch: every name was done. */
void bench_renewed(struct bench *bench, struct hfi_copy *copy);
/* UNDO or TIME: answered with the server's time. */
void bench_undone(struct bench *bench, struct hfi_copy *copy);
/* SHOW: who has it; owner NULL: nobody. */
void bench_shown(struct bench *bench, struct hfi_copy *copy, int64_t ttl_ms,
                 const char *owner);
/* An array of these. */
struct bench_item {
    const char *text; /* NULL: a number */
    int64_t integer;
};
void bench_items(struct bench *bench, struct hfi_copy *copy,
                 const struct bench_item *items, size_t count);
/* Its link is gone before its reply; written: a byte of it had left. */
void bench_lose(struct bench *bench, struct hfi_copy *copy, bool written);

/* "script keys... | arguments...", as it would travel. */
const char *bench_words(struct bench *bench, const struct hfi_copy *copy);

/* ---- links, subscriptions, notices ---- */

void bench_link_up(struct bench *bench, enum hfi_link_id link);
void bench_link_down(struct bench *bench, enum hfi_link_id link);
void bench_links_down(struct bench *bench);
void bench_link_failed(struct bench *bench, hf_status status);

/* A channel by the name of a plain lock, or by its own. */
bool bench_wants(struct bench *bench, const char *name);
void bench_heard(struct bench *bench, const char *name); /* it stands */
void bench_deaf(struct bench *bench, const char *name);  /* its link is gone */
void bench_not_heard(struct bench *bench, const char *name); /* refused */
void bench_message(struct bench *bench, const char *name);

/* The oldest news, or false. */
bool bench_told(struct bench *bench, struct bench_notice *ret_notice);

/* ---- what the core says ---- */

/* A plain lock's name. */
struct hfi_object bench_object(const char *name);
void bench_view(struct bench *bench, uint64_t owner, const char *name,
                struct hfi_hold_view *ret_view);
hf_lock_state bench_state(struct bench *bench, uint64_t owner,
                          const char *name);
int64_t bench_remaining(struct bench *bench, uint64_t owner, const char *name);
int64_t bench_count(struct bench *bench, uint64_t owner, const char *name);
hf_stats bench_stats(const struct bench *bench);
void bench_owner_gone(struct bench *bench, uint64_t owner);

#endif
