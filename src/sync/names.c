/* SPDX-License-Identifier: MIT */
/* sync/names.c - what this client knows of a lock's name.
 *
 * A record exists while anything concerns the name: a call, a number that may
 * have something on the server, a subscription.  It goes with the last of them,
 * so that ten million names leave nothing behind.
 *
 * The waiters of this client for one name form one FIFO, whatever lock objects
 * they used, and its head alone asks the server.  A head that leaves, for
 * whatever reason, passes its turn on, and with it any wake-up it was given:
 * the next head always begins by asking.  Those whose kind says that each asks
 * for itself stand beside it in the crowd: all news concern all of them.
 */
#include "sync/mutations.h"
#include "sync/state.h"

#include <stdlib.h>
#include <string.h>

struct hfi_name *hfi_name_get(struct hfi_core *core,
                              const struct hfi_object *object, bool make)
{
    struct hfi_name **names = &core->names[object->kind->family];
    size_t bytes = object->name_bytes;
    struct hfi_name *name;
    size_t before = HASH_COUNT(*names);
    unsigned hash;

    HASH_VALUE(object->name, bytes, hash);
    HASH_FIND_BYHASHVALUE(hh, *names, object->name, bytes, hash, name);
    if (name != NULL || !make) {
        return name;
    }
    name = hfi_zeroed(sizeof(*name) + bytes);
    if (name == NULL) {
        return NULL;
    }
    name->kind = object->kind;
    name->bytes = bytes;
    memcpy(name->text, object->name, bytes);
    HASH_ADD_KEYPTR_BYHASHVALUE(hh, *names, name->text, bytes, hash, name);
    if (HASH_COUNT(*names) == before) {
        free(name);
        return NULL;
    }
    core->name_count++;
    core->name_bytes += bytes;
    return name;
}

struct hfi_name *hfi_name_after(const struct hfi_core *core,
                                const struct hfi_name *name)
{
    size_t family = name == NULL ? 0 : name->kind->family + 1;

    if (name != NULL && name->hh.next != NULL) {
        return name->hh.next;
    }
    while (family < HFI_FAMILIES && core->names[family] == NULL) {
        family++;
    }
    return family < HFI_FAMILIES ? core->names[family] : NULL;
}

static bool listens(const struct hfi_name *name)
{
    return name->listener != NULL &&
           (name->listener->wanted || name->listener->listed);
}

void hfi_name_tidy(struct hfi_core *core, struct hfi_name *name)
{
    if (name->refs > 0 || name->numbers != NULL || listens(name) ||
        HFI_MUTATION(name_kept) || hfi_name_rests(core, name)) {
        return;
    }
    hfi_counts_free(core, name);
    HASH_DEL(core->names[name->kind->family], name);
    core->name_count--;
    core->name_bytes -= name->bytes;
    free(name->listener);
    free(name);
}

/* ---- who waits ---- */

static void join_crowd(struct hfi_core *core, struct hfi_op *op, int64_t now)
{
    DL_APPEND2(op->name->crowd, op, name_prev, name_next);
    op->in_crowd = true;
    hfi_attempt_at_head(core, op, now);
}

bool hfi_waiter_queues(struct hfi_core *core, struct hfi_op *op)
{
    struct hfi_name *name = op->name;

    if (HFI_MUTATION(lifo)) {
        DL_PREPEND2(name->fifo, op, name_prev, name_next);
    } else {
        DL_APPEND2(name->fifo, op, name_prev, name_next);
    }
    op->in_fifo = true;
    if (name->fifo != op) {
        hfi_op_move_to(core, op, OP_QUEUED);
    }
    return name->fifo == op;
}

static void join_fifo(struct hfi_core *core, struct hfi_op *op, int64_t now)
{
    if (hfi_waiter_queues(core, op)) {
        hfi_op_at_head(core, op, now);
    }
}

void hfi_waiter_joins(struct hfi_core *core, struct hfi_op *op, int64_t now)
{
    if (op->kind->queueing == HFI_QUEUE_EACH) {
        join_crowd(core, op, now);
    } else if (op->kind->queueing == HFI_QUEUE_ON_SERVER) {
        hfi_attempt_at_head(core, op, now);
    } else { /* whoever queues with nobody does not come here */
        join_fifo(core, op, now);
    }
}

/* The turn goes to the next; if he ends at once, to the one after him.  In a
 * loop, for who ends comes back here from within: with a hundred thousand whose
 * time is over the stack would not do. */
static void pass_on(struct hfi_core *core, struct hfi_name *name, int64_t now)
{
    struct hfi_op *head = NULL;

    if (name->passing) {
        return;
    }
    name->passing = true;
    while (name->fifo != NULL && name->fifo != head) {
        head = name->fifo;
        hfi_op_news(core, head, now); /* it may be asking already */
        if (head == name->fifo && head->state == OP_QUEUED &&
            !HFI_MUTATION(turn_kept)) {
            hfi_op_at_head(core, head, now);
        }
    }
    name->passing = false;
}

void hfi_waiter_leaves(struct hfi_core *core, struct hfi_op *op, int64_t now)
{
    struct hfi_name *name = op->name;
    bool was_head = op->in_fifo && name->fifo == op;

    hfi_waiter_is_deaf(core, op);
    if (op->in_fifo) {
        DL_DELETE2(name->fifo, op, name_prev, name_next);
    } else if (op->in_crowd) {
        DL_DELETE2(name->crowd, op, name_prev, name_next);
    } else {
        return; /* it may have no name at all */
    }
    op->in_fifo = false;
    op->in_crowd = false;
    if (name->fifo == NULL && name->crowd == NULL) {
        if (name->listener != NULL) {
            hfi_listener_want(core, name->listener, HFI_MUTATION(channel_kept));
        }
    } else if (was_head && !core->closed) {
        pass_on(core, name, now);
    }
}

/* ---- who has it here ---- */

struct hfi_number *hfi_name_number_of(const struct hfi_name *name,
                                      const struct hfi_kind *kind,
                                      const struct hfi_kind_options *options,
                                      const struct hfi_owner *owner)
{
    struct hfi_number *number;

    if (kind->has_ids) { /* each has an owner of its own */
        number = owner->numbers;
        return number != NULL && number->name == name &&
                       (number->state == NUMBER_HELD ||
                        number->state == NUMBER_LOST)
                   ? number
                   : NULL;
    }
    DL_FOREACH2(name->numbers, number, name_next)
    {
        if (number->owner == owner &&
            (number->state == NUMBER_HELD || number->state == NUMBER_LOST) &&
            strcmp(number->kind->field_end, kind->field_end) == 0 &&
            hfi_same_values(number->options, options)) {
            return number;
        }
    }
    return NULL;
}

bool hfi_name_overlapped(const struct hfi_op *op)
{
    const struct hfi_number *number;

    if (op->kind->has_ids) {
        return false;
    }
    DL_FOREACH2(op->name->numbers, number, name_next)
    {
        if (number->owner == op->ask.owner && number->state == NUMBER_HELD &&
            hfi_values_overlap(number->options, op->ask.options)) {
            return true;
        }
    }
    return false;
}

bool hfi_name_held_here(const struct hfi_op *op, int64_t now)
{
    const struct hfi_number *number;

    if (op->kind->queueing == HFI_QUEUE_ON_SERVER && op->ask.wait_ms != 0) {
        return false; /* it wants its place in the queue all the same */
    }
    if (op->kind->has_ids) {
        return false; /* there may be more */
    }
    DL_FOREACH2(op->name->numbers, number, name_next)
    {
        if (number->state == NUMBER_HELD && number->owner != op->ask.owner &&
            !(number->kind->shared && op->kind->shared) &&
            hfi_hold_deadline(number) > now) {
            return true;
        }
    }
    return false;
}

bool hfi_name_being_released(const struct hfi_op *op)
{
    const struct hfi_number *number;

    if (op->kind->has_ids) {
        return false;
    }
    DL_FOREACH2(op->name->numbers, number, name_next)
    {
        if (number->state == NUMBER_RELEASING &&
            !(number->kind->shared && op->kind->shared)) {
            return true;
        }
    }
    return false;
}

bool hfi_name_shared_by(struct hfi_core *core, const struct hfi_op *op,
                        int64_t now)
{
    struct hfi_number *number;

    DL_FOREACH2(op->name->numbers, number, name_next)
    {
        if (number->owner == op->ask.owner && number->kind->shared &&
            number->state == NUMBER_HELD) {
            return !hfi_hold_check(core, number, now);
        }
    }
    return false;
}
