/* SPDX-License-Identifier: MIT */
/* sync/bundle.c - several acquisitions of one owner, by one request: all of them
 * or none.
 *
 * Each is a call of its own (attempt.c), with its own number, End and level, and
 * the rules of docs/design/late-copies.md are each number's own.  But one of
 * them, the lead, asks for all: its ACQUIRE carries every number, and takes every
 * name or nothing.  Happy path: it is granted, and each call holds its lock from
 * the moment that copy was sent.
 *
 * Waiting path: the answer names the first lock that is not to be had.  Its call
 * becomes the lead, joins the FIFO of its name, and waits as any call does that
 * was answered BUSY, while nothing is held; then it asks for all again.  Two
 * locks that are never free at one moment would make that last for ever: so
 * when another than before is in the way, and the patience is over, all of it
 * ends, and its caller may take them one by one.
 *
 * What the owner holds already is entered once the others are his: nobody else
 * can be in the way there, and ENTER creates nothing.
 */
#include "sync/mutations.h"
#include "sync/state.h"

#include <assert.h>
#include <stdlib.h>

/* ---- its end ---- */

/* Each goes its own way from here on.  Returns how many they are. */
static size_t dissolve(struct hfi_bundle *bundle, struct hfi_op **ret_ops)
{
    size_t count = bundle->count;

    for (size_t i = 0; i < count; i++) {
        ret_ops[i] = bundle->ops[i];
        ret_ops[i]->bundle = NULL;
    }
    free(bundle);
    return count;
}

/* It was not in the way itself. */
static void end_beside(struct hfi_core *core, struct hfi_op *op, hf_status why,
                       int64_t now)
{
    bool clean = op->number == NULL || hfi_number_clean(op->number);

    hfi_attempt_drops_number(
        core, op, !clean && !HFI_MUTATION(unclean_give_up_stays), now);
    if (!clean) {
        hfi_op_finish(core, op, HF_UNKNOWN, now,
                      "%s; an attempt is unanswered and is being undone",
                      hf_status_text(why));
    } else if (why == HF_CANCELLED || why == HF_CLOSED) {
        hfi_op_finish(core, op, why, now, NULL);
    } else {
        hfi_op_finish(core, op, HF_NOT_DONE, now,
                      "it was not taken, for another one of its group was not "
                      "to be had");
    }
}

void hfi_bundle_give_up(struct hfi_core *core, struct hfi_op *op, hf_status why,
                        int64_t now)
{
    struct hfi_op *ops[HFI_TOGETHER_MAX];
    size_t count = dissolve(op->bundle, ops);

    hfi_op_give_up(core, op, why, now);
    for (size_t i = 0; i < count; i++) {
        if (ops[i] != op) {
            end_beside(core, ops[i], why, now);
        }
    }
}

/* ---- begun ---- */

static void enter(struct hfi_core *core, struct hfi_op *const *ops,
                  size_t count, int64_t now)
{
    for (size_t i = 0; i < count; i++) {
        hfi_op_begin(core, ops[i], now);
    }
}

/* Those to be asked for come first.  false: one was refused without asking, and
 * with it the bundle is over. */
static bool sort_out(struct hfi_core *core, struct hfi_bundle *bundle,
                     int64_t now)
{
    struct hfi_op *entering[HFI_TOGETHER_MAX];
    struct hfi_op *asked[HFI_TOGETHER_MAX];
    size_t enters = 0;

    bundle->asked = 0;
    for (size_t i = 0; i < bundle->count; i++) {
        struct hfi_op *op = bundle->ops[i];
        bool held = hfi_op_hold(core, op, now) != NULL;

        if (op->state == OP_DONE) {
            return false;
        }
        if (held) {
            entering[enters++] = op;
        } else {
            asked[bundle->asked++] = op;
        }
    }
    for (size_t i = 0; i < bundle->count; i++) {
        bundle->ops[i] = i < bundle->asked ? asked[i]
                                           : entering[i - bundle->asked];
    }
    return true;
}

static void begin(struct hfi_core *core, struct hfi_bundle *bundle, int64_t now)
{
    struct hfi_op *ops[HFI_TOGETHER_MAX];
    size_t count;

    if (!sort_out(core, bundle, now)) {
        count = dissolve(bundle, ops);
        for (size_t i = 0; i < count; i++) {
            if (ops[i]->state != OP_DONE) {
                end_beside(core, ops[i], HF_NOT_DONE, now);
            }
        }
    } else if (bundle->asked == 0) {
        count = dissolve(bundle, ops);
        enter(core, ops, count, now);
    } else {
        for (size_t i = 0; i < bundle->asked; i++) {
            bundle->ops[i]->request = HFI_ACQUIRE;
            bundle->ops[i]->busy_ttl_ms = -2;
        }
        bundle->patient_until_ms = hfi_add_ms(now, bundle->patience_ms);
        bundle->lead = bundle->ops[0];
        hfi_attempt_start(core, bundle->lead, now);
    }
}

void hfi_bundle_turn(struct hfi_core *core, struct hfi_op *op, int64_t now)
{
    hfi_op_move_to(core, op, OP_BUNDLED);
    if (--op->bundle->missing == 0) {
        begin(core, op->bundle, now);
    }
}

void hfi_core_start_together(struct hfi_core *core, struct hfi_op *const *ops,
                             size_t count, int64_t patience_ms,
                             enum hfi_link_id here, int64_t now)
{
    struct hfi_bundle *bundle = calloc(1, sizeof(*bundle) +
                                              count * sizeof(struct hfi_op *));

    assert(count <= HFI_TOGETHER_MAX);
    core->here = here;
    if (bundle == NULL || core->closed) {
        free(bundle);
        for (size_t i = 0; i < count; i++) {
            hfi_op_finish(core, ops[i], core->closed ? HF_CLOSED : HF_NOMEM,
                          now, NULL);
        }
        return;
    }
    bundle->count = count;
    bundle->missing = count;
    bundle->patience_ms = patience_ms;
    for (size_t i = 0; i < count; i++) {
        bundle->ops[i] = ops[i];
        ops[i]->bundle = bundle;
    }
    for (size_t i = 0; i < count; i++) {
        if (hfi_op_enlist(core, ops[i], now)) {
            hfi_bundle_turn(core, ops[i], now);
        }
    }
}

/* ---- asked ---- */

bool hfi_bundle_load(struct hfi_core *core, const struct hfi_bundle *bundle,
                     struct hfi_copy *copy)
{
    copy->batch = calloc(bundle->asked, sizeof(copy->batch[0]));
    for (size_t i = 0; i < bundle->asked; i++) {
        if (copy->batch == NULL ||
            !hfi_attempt_takes_number(core, bundle->ops[i])) {
            return false;
        }
        copy->batch[i].number = bundle->ops[i]->number;
    }
    copy->batch_count = bundle->asked;
    return true;
}

/* ---- answered ---- */

static void on_granted(struct hfi_core *core, struct hfi_bundle *bundle,
                       const struct hfi_copy *copy, int64_t now)
{
    struct hfi_op *ops[HFI_TOGETHER_MAX];
    struct hfi_op *lead = bundle->lead;
    size_t asked = bundle->asked;
    size_t count;
    bool late = false;

    for (size_t i = 0; i < asked; i++) {
        late = late || hfi_attempt_is_late(core, bundle->ops[i], copy, now);
    }
    if (late) {
        for (size_t i = 0; i < asked; i++) {
            hfi_attempt_drops_number(core, bundle->ops[i],
                                     !HFI_MUTATION(late_grant_stays), now);
        }
        hfi_attempt_try(core, lead, now);
        return;
    }
    count = dissolve(bundle, ops);
    for (size_t i = 0; i < count; i++) {
        if (i < asked) {
            hfi_attempt_holds(core, ops[i], copy, now);
        } else {
            hfi_op_begin(core, ops[i], now); /* it is entered */
        }
    }
}

/* It waits no more; another one does. */
static void park(struct hfi_core *core, struct hfi_op *op, int64_t now)
{
    hfi_op_move_to(core, op, OP_BUNDLED);
    hfi_op_set_timer(core, op, HFI_NEVER);
    hfi_waiter_leaves(core, op, now);
}

/* Another lock than the lead's is in the way. */
static void change_lead(struct hfi_core *core, struct hfi_op *next,
                        const struct hfi_copy *copy,
                        const struct hfi_value *why, int64_t now)
{
    struct hfi_bundle *bundle = next->bundle;
    struct hfi_op *lead = bundle->lead;
    bool first = true;

    if (next->ask.wait_ms != 0 && now < bundle->patient_until_ms) {
        bundle->lead = next;
        park(core, lead, now);
        next->sent_at_ms = copy->sent_at_ms;
        next->woken = false;
        next->heard = false;
        next->stranger = false;
        first = next->kind->queueing == HFI_QUEUE_NONE ||
                hfi_waiter_queues(core, next);
    } else {
        next->give_up_ms = now;
    }
    if (first) {
        hfi_attempt_refused(core, next, copy, why, now);
    } else {
        hfi_op_set_timer(core, next, next->give_up_ms);
    }
}

static void on_refused(struct hfi_core *core, struct hfi_bundle *bundle,
                       const struct hfi_copy *copy,
                       const struct hfi_value *value, int64_t now)
{
    int64_t at = hfi_value_number(&value->items[0], -1);
    const struct hfi_value *why = &value->items[1];
    struct hfi_op *op = bundle->lead;

    if (HFI_MUTATION(together_believed) && at > 1) {
        on_granted(core, bundle, copy, now);
        return;
    }
    if (at == 0) {
        hfi_attempt_too_late(core, op, hfi_value_number(why, 0), now);
        return;
    }
    if (at > 0 && at <= (int64_t)bundle->asked &&
        !(why->kind == HFI_ERROR && why->refusal == HFI_REFUSAL_UNAVAILABLE)) {
        op = bundle->ops[at - 1]; /* else the server is, not a lock */
    }
    if (op == bundle->lead || why->kind == HFI_ERROR) {
        hfi_attempt_refused(core, op, copy, why, now);
    } else {
        change_lead(core, op, copy, why, now);
    }
}

static bool all_done(const struct hfi_copy *copy, const struct hfi_value *value)
{
    for (size_t i = 0; i < copy->batch_count; i++) {
        if (!hfi_number_done(copy->batch[i].number, &value->items[i])) {
            return false;
        }
    }
    return true;
}

void hfi_bundle_answer(struct hfi_core *core, struct hfi_copy *copy,
                       struct hfi_value *value, int64_t now)
{
    static const struct hfi_value nonsense = {.kind = HFI_NIL};
    struct hfi_op *lead = copy->op;

    for (size_t i = 0; i < copy->batch_count; i++) {
        copy->batch[i].number->unanswered--;
        if (lead == NULL) { /* given up meanwhile: it helps the Ends along */
            hfi_end_cleaner(core, copy->batch[i].number, now);
        }
    }
    if (lead == NULL) {
        return;
    }
    if (value->kind == HFI_ERROR) {
        hfi_attempt_refused(core, lead, copy, value, now);
    } else if (value->kind == HFI_ARRAY && value->count == copy->batch_count &&
               all_done(copy, value)) {
        on_granted(core, lead->bundle, copy, now);
    } else if (value->kind == HFI_ARRAY && value->count == 2 &&
               value->items[0].kind == HFI_INTEGER) {
        on_refused(core, lead->bundle, copy, value, now);
    } else {
        hfi_attempt_refused(core, lead, copy, &nonsense, now);
    }
}
