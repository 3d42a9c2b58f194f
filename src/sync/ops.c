/* SPDX-License-Identifier: MIT */
/* sync/ops.c - one call of a user, from its start to its end.
 *
 * Calls of one (name, owner) run in the order in which they were made: a later
 * one waits in OP_TURN.  Each is then begun (begin.c), sends copies, is
 * answered, and ends in OP_DONE exactly once, in the list of ended calls, from
 * which the driver takes it.
 *
 * What all kinds share is here: the states, the timers, the end, what an error
 * reply means, and being without a link.
 */
#include "sync/mutations.h"
#include "sync/state.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"

/* A script that is unknown is sent again with its text.  More than so often
 * means that somebody flushes scripts as fast as we send them. */
#define RESEND_MAX 20

#define TO(state) (1U << (state))
#define ANYWHERE (TO(OP_LINKLESS) | TO(OP_SENT) | TO(OP_PAUSED) | TO(OP_DONE))

/* Row: where a call is.  Bits: where it may go. */
static const unsigned legal_moves[OP_STATES] = {
    [OP_NEW] = ANYWHERE | TO(OP_TURN) | TO(OP_QUEUED) | TO(OP_LOCAL) |
               TO(OP_BUNDLED),
    [OP_TURN] = ANYWHERE | TO(OP_QUEUED) | TO(OP_LOCAL) | TO(OP_BUNDLED),
    [OP_QUEUED] = ANYWHERE | TO(OP_LOCAL),
    [OP_LOCAL] = ANYWHERE,
    [OP_BUNDLED] = ANYWHERE | TO(OP_SUBSCRIBING) | TO(OP_WAITING) |
                   TO(OP_QUEUED) | TO(OP_LOCAL),
    [OP_LINKLESS] = ANYWHERE | TO(OP_LOCAL),
    [OP_SENT] = ANYWHERE | TO(OP_SUBSCRIBING) | TO(OP_WAITING) | TO(OP_LOCAL) |
                TO(OP_QUEUED) | TO(OP_BUNDLED),
    [OP_SUBSCRIBING] = ANYWHERE | TO(OP_LOCAL),
    [OP_WAITING] = ANYWHERE | TO(OP_LOCAL),
    [OP_PAUSED] = ANYWHERE | TO(OP_LOCAL),
    [OP_DONE] = 0,
};

void hfi_op_move_to(struct hfi_core *core, struct hfi_op *op,
                    enum op_state next)
{
    bool legal = (legal_moves[op->state] & TO(next)) != 0;

    assert(legal);
    (void)legal;
    if (op->state == OP_WAITING) {
        core->waiting--;
    }
    if (next == OP_WAITING) {
        core->waiting++;
    }
    if (op->state == OP_BUNDLED) {
        core->bundled--;
    }
    if (next == OP_BUNDLED) {
        core->bundled++;
    }
    op->state = next;
}

/* ---- who knows what it is about ---- */

typedef void (*request_fn)(struct hfi_core *core, struct hfi_op *op,
                           int64_t now);
typedef void (*give_up_fn)(struct hfi_core *core, struct hfi_op *op,
                           hf_status why, int64_t now);

/* What each request that a call can be about is sent (again) by, and given up
 * by.  No call is about the others. */
static const struct {
    request_fn send;
    give_up_fn give_up;
} by_request[HFI_REQUESTS] = {
    [HFI_ACQUIRE] = {hfi_attempt_try, hfi_attempt_give_up},
    [HFI_ENTER] = {hfi_keep_send, hfi_keep_give_up},
    [HFI_LEAVE] = {hfi_keep_send, hfi_keep_give_up},
    [HFI_EXTEND] = {hfi_keep_send, hfi_keep_give_up},
    [HFI_CUT] = {hfi_keep_send, hfi_keep_give_up},
    [HFI_RELEASE] = {hfi_release_send, hfi_release_give_up},
    [HFI_TAKE] = {hfi_count_send, hfi_take_give_up},
    [HFI_CHANGE] = {hfi_count_send, hfi_change_give_up},
    [HFI_FENCE] = {hfi_count_send, hfi_change_give_up},
    [HFI_LOOK] = {hfi_count_send, hfi_await_give_up},
    [HFI_TELL] = {hfi_count_send, hfi_tell_give_up},
    [HFI_FORCE] = {hfi_other_send, hfi_other_give_up},
    [HFI_SHOW] = {hfi_other_send, hfi_other_give_up},
    [HFI_SCAN] = {hfi_other_send, hfi_other_give_up},
    [HFI_TIME] = {hfi_other_send, hfi_other_give_up},
    [HFI_ADOPT] = {hfi_other_send, hfi_other_give_up},
};

/* ---- news, for whoever waits ---- */

/* It waits for a count, or would. */
static bool counts_on_news(const struct hfi_op *op)
{
    return op->request == HFI_TAKE || op->request == HFI_LOOK;
}

void hfi_op_news(struct hfi_core *core, struct hfi_op *op, int64_t now)
{
    if (counts_on_news(op)) {
        hfi_count_news(core, op, now);
    } else {
        hfi_wait_news(core, op, now);
    }
}

void hfi_op_at_head(struct hfi_core *core, struct hfi_op *op, int64_t now)
{
    if (counts_on_news(op)) {
        hfi_count_send(core, op, now);
    } else {
        hfi_attempt_at_head(core, op, now);
    }
}

/* ---- made and freed ---- */

static bool op_init(struct hfi_core *core, struct hfi_op *op,
                    const struct hfi_op_request *asked)
{
    struct hfi_object object = {.kind = asked->of == NULL ? &hfi_kind_lock
                                                          : asked->of,
                                .name = asked->name,
                                .name_bytes = asked->name_bytes};

    op->ask = *asked;
    op->kind = object.kind;
    op->ask.terms = NULL;
    op->ask.several = NULL;
    hfi_heap_node_init(&op->timer);
    if (!hfi_heap_set(&core->op_timers, &op->timer, HFI_NEVER)) {
        return false;
    }
    if (asked->name != NULL) {
        op->name = hfi_name_get(core, &object, true);
        if (op->name == NULL) {
            hfi_heap_remove(&core->op_timers, &op->timer);
            return false;
        }
        op->name->refs++;
        hfi_name_wakes(core, op->name);
    }
    if (asked->field != NULL) {
        snprintf(op->seen, sizeof(op->seen), "%s", asked->field);
        op->ask.field = op->seen;
    }
    op->ask.terms = asked->terms;
    op->ask.several = asked->several;
    if (op->ask.options != NULL) {
        op->ask.options->refs++;
    }
    if (op->ask.owner != NULL) {
        hfi_owner_ref(op->ask.owner);
    }
    core->op_count++;
    return true;
}

hf_status hfi_op_new(struct hfi_core *core, const struct hfi_op_request *asked,
                     struct hfi_op **ret_op)
{
    struct hfi_op *op = core->free_ops;

    if (op != NULL) {
        core->free_ops = op->link_next;
        core->free_op_count--;
        memset(op, 0, sizeof(*op));
    } else {
        op = calloc(1, sizeof(*op));
    }
    if (op == NULL || !op_init(core, op, asked)) {
        free(op);
        return HF_NOMEM;
    }
    *ret_op = op;
    return HF_OK;
}

void hfi_op_free(struct hfi_core *core, struct hfi_op *op)
{
    hfi_heap_remove(&core->op_timers, &op->timer);
    hfi_terms_unref(op->ask.terms);
    hfi_several_free(core, op->ask.several);
    hfi_kind_options_unref(op->ask.options);
    hfi_value_clear(&op->result.value);
    if (op->name != NULL) {
        op->name->refs--;
        hfi_name_tidy(core, op->name);
    }
    if (op->ask.owner != NULL) {
        hfi_owner_unref(core, op->ask.owner);
    }
    core->op_count--;
    if (core->free_op_count + 1 > HFI_OP_POOL_MAX) {
        free(op);
        return;
    }
    op->link_next = core->free_ops;
    core->free_ops = op;
    core->free_op_count++;
}

void hfi_ops_free_pool(struct hfi_core *core)
{
    struct hfi_op *op;

    while ((op = core->free_ops) != NULL) {
        core->free_ops = op->link_next;
        free(op);
    }
}

struct hfi_op *hfi_op_next_done(struct hfi_core *core)
{
    struct hfi_op *op = core->done;

    if (op != NULL && !(HFI_MUTATION(end_kept) && hfi_jitter(core, 50) == 0)) {
        DL_DELETE2(core->done, op, link_prev, link_next);
    }
    return op;
}

struct hfi_op_result *hfi_op_result(struct hfi_op *op)
{
    return &op->result;
}

void *hfi_op_user(const struct hfi_op *op)
{
    return op->ask.user;
}

void *hfi_op_lock(const struct hfi_op *op)
{
    return op->ask.lock;
}

struct hfi_owner *hfi_op_owner(const struct hfi_op *op)
{
    return op->ask.owner;
}

enum hfi_op_kind hfi_op_kind_of(const struct hfi_op *op)
{
    return op->ask.kind;
}

bool hfi_op_travels(const struct hfi_op *op, enum hfi_link_id link)
{
    return op->copy != NULL && op->copy->link == link;
}

/* ---- ended ---- */

/* Begin the calls whose turn has come.  What ends by that adds to the list and
 * returns here: ten thousand calls of one owner that all end at once do so one
 * after the other, not one within the other. */
static void take_turns(struct hfi_core *core, int64_t now)
{
    struct hfi_op *op;

    if (core->taking_turns) {
        return;
    }
    core->taking_turns = true;
    while ((op = core->next) != NULL) {
        DL_DELETE2(core->next, op, link_prev, link_next);
        hfi_op_begin(core, op, now);
    }
    core->taking_turns = false;
}

static void leave_lists(struct hfi_core *core, struct hfi_op *op, int64_t now)
{
    hfi_heap_set(&core->op_timers, &op->timer, HFI_NEVER);
    if (op->copy != NULL) {
        op->copy->op = NULL; /* its answer is still read, for its number */
        op->copy = NULL;
    }
    if (op->linkless) {
        DL_DELETE2(core->linkless, op, link_prev, link_next);
        op->linkless = false;
    }
    hfi_waiter_leaves(core, op, now);
}

static void finish(struct hfi_core *core, struct hfi_op *op, int64_t now)
{
    struct hfi_owner *owner = op->ask.owner;
    struct hfi_op *next = NULL;
    bool listed = op->owner_prev != NULL;

    hfi_op_move_to(core, op, OP_DONE);
    leave_lists(core, op, now);
    hfi_several_over(core, op, now);
    DL_APPEND2(core->done, op, link_prev, link_next);
    if (listed && owner != NULL) {
        DL_DELETE2(owner->ops, op, owner_prev, owner_next);
        next = hfi_op_first_of(owner, op->name);
    } else if (listed) {
        DL_DELETE2(core->unowned, op, owner_prev, owner_next);
    }
    op->owner_prev = NULL;
    if (next != NULL && next->state == OP_TURN) {
        hfi_op_set_timer(core, next, HFI_NEVER);
        DL_APPEND2(core->next, next, link_prev, link_next);
    }
    take_turns(core, now);
}

/* "orders:42: " before what is said of it, for people. */
static void put_message(struct hfi_op *op, hf_status status, const char *text)
{
    char name[96] = "";

    if (op->name != NULL) {
        hfi_printable(name, sizeof(name), op->name->text, op->name->bytes);
    }
    hfi_fail(&op->result.error, status, "%s%s%s", name,
             name[0] == '\0' ? "" : ": ", text);
}

void hfi_op_finish(struct hfi_core *core, struct hfi_op *op, hf_status status,
                   int64_t now, const char *format, ...)
{
    char text[224];
    va_list args;

    op->result.status = status;
    if (status != HF_OK && format == NULL) {
        put_message(op, status, hf_status_text(status));
    } else if (status != HF_OK) {
        va_start(args, format);
        vsnprintf(text, sizeof(text), format, args);
        va_end(args);
        put_message(op, status, text);
    }
    finish(core, op, now);
}

void hfi_op_finish_refused(struct hfi_core *core, struct hfi_op *op,
                           int64_t now)
{
    op->result.status = op->refusal.status;
    put_message(op, op->refusal.status, op->refusal.message);
    op->result.error.sys_errno = op->refusal.sys_errno;
    finish(core, op, now);
}

/* Not even begun: what was held before stands.  But nobody would ask again for a
 * release that is detached, and its level would stay for ever: it goes when the
 * turn comes, however late. */
static void give_up_turn(struct hfi_core *core, struct hfi_op *op,
                         hf_status why, int64_t now)
{
    if (why == HF_TIMEOUT && op->ask.kind == HFI_OP_RELEASE &&
        op->ask.detached) {
        hfi_op_set_timer(core, op, HFI_NEVER);
    } else if (why == HF_TIMEOUT && op->ask.kind != HFI_OP_ACQUIRE) {
        hfi_op_finish(core, op, HF_NOT_DONE, now,
                      "an earlier call of this owner did not end in time");
    } else {
        hfi_op_finish(core, op, why, now, NULL);
    }
}

void hfi_op_give_up(struct hfi_core *core, struct hfi_op *op, hf_status why,
                    int64_t now)
{
    if (op->state == OP_DONE) {
        return;
    }
    if (op->bundle != NULL) {
        hfi_bundle_give_up(core, op, why, now);
        return;
    }
    if (op->state == OP_NEW || op->state == OP_TURN) {
        give_up_turn(core, op, why, now);
        return;
    }
    by_request[op->request].give_up(core, op, why, now);
}

void hfi_core_cancel(struct hfi_core *core, struct hfi_op *op, hf_status why,
                     int64_t now)
{
    /* A release is not taken back: it is answered, or its time passes. */
    if (op->ask.kind == HFI_OP_RELEASE && why != HF_CLOSED &&
        op->state != OP_TURN) {
        return;
    }
    hfi_op_give_up(core, op, why, now);
}

static void lose_numbers_of(struct hfi_core *core, struct hfi_name *name,
                            int64_t now)
{
    struct hfi_number *number, *next;

    name->refs++; /* it stays until we are through with its numbers */
    DL_FOREACH_SAFE2(name->numbers, number, next, name_next)
    {
        if (number->state == NUMBER_HELD) {
            hfi_hold_lose(core, number, HF_LOST_CLOSED, now);
        } else {
            hfi_end_no_looks(core, number, now);
        }
    }
    name->refs--;
    hfi_name_tidy(core, name);
}

/* Every call ends; every hold is lost, told so, and undone at once. */
void hfi_core_close(struct hfi_core *core, int64_t now)
{
    struct hfi_owner *owner, *next_owner;
    struct hfi_name *name, *next;

    core->here = HFI_LINK_KEEPER;
    core->closed = true;
    HASH_ITER (hh, core->owners, owner, next_owner) {
        hfi_owner_ref(owner);
        /* From the last: those that wait for their turn never get it. */
        while (owner->ops != NULL) {
            hfi_op_give_up(core, owner->ops->owner_prev, HF_CLOSED, now);
        }
        hfi_owner_unref(core, owner);
    }
    while (core->unowned != NULL) {
        hfi_op_give_up(core, core->unowned, HF_CLOSED, now);
    }
    for (name = hfi_name_after(core, NULL); name != NULL; name = next) {
        next = hfi_name_after(core, name);
        lose_numbers_of(core, name, now);
    }
}

/* ---- sent, refused, without a link ---- */

void hfi_op_set_timer(struct hfi_core *core, struct hfi_op *op, int64_t at)
{
    hfi_heap_set(&core->op_timers, &op->timer, at);
}

void hfi_op_linkless(struct hfi_core *core, struct hfi_op *op)
{
    hfi_op_move_to(core, op, OP_LINKLESS);
    if (!op->linkless) { /* what is fenced may wait already */
        op->linkless = true;
        DL_APPEND2(core->linkless, op, link_prev, link_next);
    }
    hfi_op_set_timer(core, op, op->give_up_ms);
}

void hfi_op_sent(struct hfi_core *core, struct hfi_op *op,
                 struct hfi_copy *copy)
{
    assert(!op->linkless); /* hfi_core_link_ready() took it from the list */
    copy->op = op;
    op->copy = copy;
    op->sent_at_ms = copy->sent_at_ms;
    hfi_op_move_to(core, op, OP_SENT);
    hfi_copy_send(core, copy);
}

static hf_status refusal_status(enum hfi_refusal refusal)
{
    switch (refusal) {
    case HFI_REFUSAL_NO_SCRIPT:
    case HFI_REFUSAL_UNAVAILABLE:
        return HF_UNAVAILABLE;
    case HFI_REFUSAL_WRONG_TYPE:
        return HF_WRONG_TYPE;
    case HFI_REFUSAL_PERMISSION:
        return HF_PERMISSION;
    case HFI_REFUSAL_OTHER:
        break;
    }
    return HF_PROTOCOL;
}

enum hfi_remedy hfi_op_on_error(struct hfi_core *core, struct hfi_op *op,
                                const struct hfi_copy *copy,
                                const struct hfi_value *value, int64_t now)
{
    if (value->kind != HFI_ERROR) {
        hfi_fail(&op->refusal, HF_PROTOCOL, "%s", hf_status_text(HF_PROTOCOL));
        return HFI_REMEDY_NONE;
    }
    /* Ours to mend, and no reason to tell anybody if an answer fails to come. */
    if (value->refusal == HFI_REFUSAL_NO_SCRIPT && op->resent++ < RESEND_MAX) {
        hfi_script_unknown(core, copy);
        return HFI_REMEDY_AGAIN;
    }
    hfi_fail(&op->refusal, refusal_status(value->refusal), "%s: %s",
             hf_status_text(refusal_status(value->refusal)), value->text);
    /* Who tries once wants to know, not to wait. */
    if (op->refusal.status != HF_UNAVAILABLE ||
        ((op->request == HFI_ACQUIRE || counts_on_news(op)) &&
         op->ask.wait_ms == 0)) {
        return HFI_REMEDY_NONE;
    }
    op->pause_ms = op->pause_ms == 0 ? HFI_PAUSE_FIRST_MS : 2 * op->pause_ms;
    if (op->pause_ms > HFI_PAUSE_MAX_MS) {
        op->pause_ms = HFI_PAUSE_MAX_MS;
    }
    if (now + op->pause_ms >= op->give_up_ms) {
        return HFI_REMEDY_NONE;
    }
    hfi_op_move_to(core, op, OP_PAUSED);
    hfi_op_set_timer(core, op, now + op->pause_ms);
    return HFI_REMEDY_PAUSE;
}

void hfi_op_send(struct hfi_core *core, struct hfi_op *op, int64_t now)
{
    by_request[op->request].send(core, op, now);
}

void hfi_op_timer(struct hfi_core *core, struct hfi_op *op, int64_t now)
{
    if (op->request == HFI_ACQUIRE && op->state != OP_TURN &&
        op->ask.kind == HFI_OP_ACQUIRE) {
        hfi_wait_timer(core, op, now);
        return;
    }
    if (counts_on_news(op) && op->state != OP_TURN) {
        hfi_count_timer(core, op, now);
        return;
    }
    if (now >= op->give_up_ms) {
        hfi_op_give_up(core, op, HF_TIMEOUT, now);
    } else if (op->state == OP_PAUSED) {
        hfi_op_send(core, op, now);
    }
}
