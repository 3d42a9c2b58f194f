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
 * the next head always begins by asking.
 */
#include "sync/mutations.h"
#include "sync/state.h"

#include <stdlib.h>
#include <string.h>

struct hfi_name *hfi_name_get(struct hfi_core *core, const void *text,
                              size_t bytes, bool make)
{
    struct hfi_name *name;
    size_t before = HASH_COUNT(core->names);

    HASH_FIND(hh, core->names, text, bytes, name);
    if (name != NULL || !make) {
        return name;
    }
    name = calloc(1, sizeof(*name) + bytes);
    if (name == NULL) {
        return NULL;
    }
    name->kind = &hfi_kind_lock;
    name->bytes = bytes;
    memcpy(name->text, text, bytes);
    HASH_ADD_KEYPTR(hh, core->names, name->text, bytes, name);
    if (HASH_COUNT(core->names) == before) {
        free(name);
        return NULL;
    }
    core->name_count++;
    core->name_bytes += bytes;
    return name;
}

void hfi_name_tidy(struct hfi_core *core, struct hfi_name *name)
{
    if (name->refs > 0 || name->numbers != NULL || name->sub_wanted ||
        name->sub_listed || HFI_MUTATION(name_kept)) {
        return;
    }
    HASH_DEL(core->names, name);
    core->name_count--;
    core->name_bytes -= name->bytes;
    free(name);
}

/* ---- subscriptions ---- */

void hfi_name_subscribe(struct hfi_core *core, struct hfi_name *name,
                        bool wanted)
{
    if (name->sub_wanted == wanted) {
        return;
    }
    name->sub_wanted = wanted;
    name->sub_active = false;
    name->sub_refused = false;
    if (wanted) {
        core->subscribed++;
    } else {
        core->subscribed--;
    }
    if (!name->sub_listed) {
        name->sub_listed = true;
        DL_APPEND2(core->subs, name, sub_prev, sub_next);
    }
}

struct hfi_name *hfi_core_next_subscription(struct hfi_core *core)
{
    struct hfi_name *name = core->subs;

    if (name != NULL) {
        DL_DELETE2(core->subs, name, sub_prev, sub_next);
        name->sub_listed = false;
    }
    return name;
}

void hfi_core_subscription_done(struct hfi_core *core, struct hfi_name *name)
{
    hfi_name_tidy(core, name);
}

bool hfi_name_wants_channel(const struct hfi_name *name)
{
    return name->sub_wanted;
}

size_t hfi_name_channel(const struct hfi_name *name, char *buf, size_t size)
{
    return name->kind->channel(name->text, name->bytes, buf, size);
}

void hfi_core_subscribed(struct hfi_core *core, struct hfi_name *name,
                         int64_t now)
{
    core->here = HFI_LINK_KEEPER;
    name->sub_active = true;
    name->sub_refused = false;
    if (name->fifo != NULL && !HFI_MUTATION(no_try_after_subscribing)) {
        hfi_attempt_news(core, name->fifo, now);
    }
}

void hfi_core_subscribe_refused(struct hfi_core *core, struct hfi_name *name,
                                int64_t now)
{
    core->here = HFI_LINK_KEEPER;
    name->sub_refused = true;
    if (name->fifo != NULL && name->fifo->state == OP_SUBSCRIBING) {
        hfi_attempt_news(core, name->fifo, now);
    }
}

void hfi_core_unsubscribed(struct hfi_core *core, struct hfi_name *name)
{
    (void)core;
    name->sub_active = false;
}

void hfi_core_message(struct hfi_core *core, struct hfi_name *name, int64_t now)
{
    core->here = HFI_LINK_KEEPER;
    hfi_name_news(core, name, now);
}

/* ---- the FIFO ---- */

void hfi_fifo_join(struct hfi_core *core, struct hfi_op *op, int64_t now)
{
    struct hfi_name *name = op->name;

    if (HFI_MUTATION(lifo)) {
        DL_PREPEND2(name->fifo, op, name_prev, name_next);
    } else {
        DL_APPEND2(name->fifo, op, name_prev, name_next);
    }
    op->in_fifo = true;
    if (name->fifo == op) {
        hfi_attempt_at_head(core, op, now);
    } else {
        hfi_op_move_to(core, op, OP_QUEUED);
    }
}

/* The turn goes to the next; if he ends at once, to the one after him.  In a
 * loop, for who ends comes back here from within: with a hundred thousand whose
 * time is over the stack would not do. */
static void pass_on(struct hfi_core *core, struct hfi_name *name, int64_t now)
{
    if (name->passing) {
        return;
    }
    name->passing = true;
    while (name->fifo != NULL && name->fifo->state == OP_QUEUED &&
           !HFI_MUTATION(turn_kept)) {
        hfi_attempt_at_head(core, name->fifo, now);
    }
    name->passing = false;
}

void hfi_fifo_leave(struct hfi_core *core, struct hfi_op *op, int64_t now)
{
    struct hfi_name *name = op->name;
    bool was_head;

    if (!op->in_fifo) {
        return; /* it may have no name at all */
    }
    was_head = name->fifo == op;
    DL_DELETE2(name->fifo, op, name_prev, name_next);
    op->in_fifo = false;
    if (name->fifo == NULL) {
        hfi_name_subscribe(core, name, HFI_MUTATION(channel_kept));
    } else if (was_head && !core->closed) {
        pass_on(core, name, now);
    }
}

void hfi_name_news(struct hfi_core *core, struct hfi_name *name, int64_t now)
{
    if (name->fifo != NULL) {
        hfi_attempt_news(core, name->fifo, now);
    }
}

/* ---- who has it here ---- */

struct hfi_number *hfi_name_number_of(const struct hfi_name *name,
                                      const struct hfi_owner *owner)
{
    struct hfi_number *number;

    DL_FOREACH2(name->numbers, number, name_next)
    {
        if (number->owner == owner &&
            (number->state == NUMBER_HELD || number->state == NUMBER_LOST)) {
            return number;
        }
    }
    return NULL;
}

bool hfi_name_held_here(const struct hfi_name *name,
                        const struct hfi_owner *owner, int64_t now)
{
    const struct hfi_number *number;

    DL_FOREACH2(name->numbers, number, name_next)
    {
        if (number->state == NUMBER_HELD && number->owner != owner &&
            hfi_hold_deadline(number) > now) {
            return true;
        }
    }
    return false;
}

bool hfi_name_being_released(const struct hfi_name *name)
{
    const struct hfi_number *number;

    DL_FOREACH2(name->numbers, number, name_next)
    {
        if (number->state == NUMBER_RELEASING) {
            return true;
        }
    }
    return false;
}
