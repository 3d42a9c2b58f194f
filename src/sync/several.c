/* SPDX-License-Identifier: MIT */
/* sync/several.c - several permits in one call: all of them, or none.
 *
 * Taking: each has a number of its own, which follow on each other, and an
 * owner of its own.  One ACQUIRE carries them all; so it is answered, refused
 * and repeated for all.  Once they are held each is a hold like any other, and
 * what was given up is ended one by one: a copy that runs late for some of them
 * adds nothing while any other is there, and the End of each waits for it.
 *
 * Giving back: a CHANGE with a record, for all or none is a question to the
 * server, and some may be another's.  Those of this client are *leaving* from
 * the moment it is asked: nobody holds them, and that one is seen to be gone is
 * no loss.  If the server did not do it they are held as before; if nobody
 * knows, they are given up and undone.
 */
#include <stdlib.h>
#include <string.h>

#include "sync/kinds/pieces.h"
#include "sync/state.h"

/* ---- made and freed ---- */

struct hfi_several *hfi_several_new(size_t count)
{
    struct hfi_several *several = hfi_zeroed(sizeof(*several) +
                                             count * sizeof(several->items[0]));

    if (several != NULL) {
        several->count = count;
    }
    return several;
}

void hfi_several_free(struct hfi_core *core, struct hfi_several *several)
{
    if (several == NULL) {
        return;
    }
    for (size_t i = 0; i < several->count; i++) {
        if (several->items[i].owner != NULL) {
            hfi_owner_unref(core, several->items[i].owner);
        }
    }
    free(several);
}

/* ---- taking ---- */

/* A loss of each is told by itself. */
static struct hfi_terms *copy_of(const struct hfi_terms *terms)
{
    size_t bytes = sizeof(*terms) + terms->name_bytes;
    struct hfi_terms *copy = malloc(bytes);

    if (copy != NULL) {
        memcpy(copy, terms, bytes);
        copy->refs = 1;
        copy->queued = false;
        copy->gone = NULL;
    }
    return copy;
}

static bool take(struct hfi_core *core, struct hfi_op *op,
                 struct hfi_several_item *item)
{
    const struct hfi_terms *terms = op->ask.terms;

    item->number = hfi_number_new(core, op, item->owner);
    if (item->number == NULL) {
        return false;
    }
    item->number->lock = op->ask.lock;
    item->number->terms = terms == NULL ? NULL : copy_of(terms);
    return terms == NULL || item->number->terms != NULL;
}

bool hfi_several_take(struct hfi_core *core, struct hfi_op *op)
{
    struct hfi_several *several = op->ask.several;

    for (size_t i = 0; several != NULL && i < several->count; i++) {
        if (several->items[i].number == NULL &&
            !take(core, op, &several->items[i])) {
            return false;
        }
    }
    return true;
}

bool hfi_several_join(const struct hfi_op *op, struct hfi_copy *copy)
{
    const struct hfi_several *several = op->ask.several;

    if (several == NULL || several->count == 0) {
        return true;
    }
    copy->batch = hfi_zeroed(several->count * sizeof(copy->batch[0]));
    if (copy->batch == NULL) {
        return false;
    }
    copy->batch_count = several->count;
    for (size_t i = 0; i < several->count; i++) {
        copy->batch[i].number = several->items[i].number;
    }
    return true;
}

void hfi_several_hold(struct hfi_core *core, struct hfi_op *op,
                      const struct level *level, int64_t sent_at_ms,
                      int64_t now)
{
    struct hfi_several *several = op->ask.several;

    for (size_t i = 0; several != NULL && i < several->count; i++) {
        hfi_hold_begin(core, several->items[i].number, level, sent_at_ms, now);
        several->items[i].number = NULL;
    }
}

/* ---- giving back ---- */

/* A permit of this client on this name, or NULL. */
static struct hfi_permit *own(const struct hfi_core *core,
                              const struct hfi_op *op,
                              const struct hfi_several_item *item)
{
    struct hfi_permit *permit = hfi_permit_find(core, item->id);

    return permit != NULL && permit->number->name == op->name ? permit : NULL;
}

/* Why this permit of ours cannot be given back; HF_OK: it can. */
static hf_status why_not(struct hfi_core *core, const struct hfi_permit *permit,
                         int64_t now, const char **ret_what)
{
    if (permit->leaving) {
        *ret_what = "is being given back by another call";
        return HF_GONE;
    }
    if (!hfi_hold_check(core, permit->number, now)) {
        return HF_OK;
    }
    if (permit->number->lost_reason != HF_NOT_LOST) {
        *ret_what = "was lost";
        return HF_LOST;
    }
    *ret_what = "was given back";
    return HF_GONE;
}

/* The server may still have one that this client has lost, but it is not to be
 * promised that it is back. */
static bool all_may_leave(struct hfi_core *core, struct hfi_op *op, int64_t now)
{
    const struct hfi_several *several = op->ask.several;

    for (size_t i = 0; i < several->count; i++) {
        const struct hfi_permit *permit = own(core, op, &several->items[i]);
        char text[HFI_PERMIT_TEXT];
        const char *what = "";
        hf_status status = permit == NULL ? HF_OK
                                          : why_not(core, permit, now, &what);

        if (status != HF_OK) {
            hfi_permit_write(several->items[i].id, text);
            hfi_op_finish(core, op, status, now,
                          "the permit %s %s; none was given back now", text,
                          what);
            return false;
        }
    }
    return true;
}

bool hfi_several_leave(struct hfi_core *core, struct hfi_op *op, int64_t now)
{
    struct hfi_several *several = op->ask.several;

    if (!all_may_leave(core, op, now)) {
        return false;
    }
    for (size_t i = 0; i < several->count; i++) {
        struct hfi_permit *permit = own(core, op, &several->items[i]);

        several->items[i].leaving = permit != NULL;
        if (permit != NULL) {
            permit->leaving = true;
        }
    }
    return true;
}

void hfi_several_over(struct hfi_core *core, struct hfi_op *op, int64_t now)
{
    struct hfi_several *several = op->ask.several;
    hf_status status = op->result.status;
    bool given_up = status == HF_OK || status == HF_UNKNOWN;

    for (size_t i = 0; several != NULL && i < several->count; i++) {
        struct hfi_permit *permit = several->items[i].leaving
                                        ? own(core, op, &several->items[i])
                                        : NULL;

        several->items[i].leaving = false;
        if (permit == NULL) {
            continue; /* lost meanwhile, and forgotten */
        }
        permit->leaving = false;
        if (given_up && permit->number->state == NUMBER_HELD) {
            hfi_release_told(core, permit->number, status == HF_UNKNOWN, now);
        }
    }
}
