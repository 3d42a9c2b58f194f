/* SPDX-License-Identifier: MIT */
/* sync/numbers.c - numbers, their levels, and the owners they belong to.
 *
 * A number is handed out once, ever, for one outermost acquisition: so nothing
 * that runs late for it can touch another hold.  Its record lives until three
 * things are over: what its owner is owed (a hold, or lost levels to account
 * for), its End, and the copies that the driver still has.
 */
#include "sync/kinds/pieces.h"
#include "sync/mutations.h"
#include "sync/state.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TO(state) (1U << (state))

/* Row: where a number is.  Bits: where it may go. */
static const unsigned legal_moves[NUMBER_STATES] = {
    [NUMBER_TRYING] = TO(NUMBER_HELD) | TO(NUMBER_OVER),
    [NUMBER_HELD] = TO(NUMBER_LOST) | TO(NUMBER_RELEASING) | TO(NUMBER_OVER),
    [NUMBER_LOST] = TO(NUMBER_OVER),
    [NUMBER_RELEASING] = TO(NUMBER_OVER),
    [NUMBER_OVER] = 0,
};

void hfi_number_move_to(struct hfi_core *core, struct hfi_number *number,
                        enum number_state next)
{
    bool legal = (legal_moves[number->state] & TO(next)) != 0 ||
                 HFI_MUTATION(lost_held_again);

    assert(legal);
    (void)legal;
    if (next == NUMBER_HELD) {
        core->holding++;
    }
    if (number->state == NUMBER_HELD) {
        core->holding--;
    }
    number->state = next;
}

/* ---- made and freed ---- */

/* So that it is found by its id. */
static bool make_permit(struct hfi_core *core, struct hfi_number *number)
{
    size_t before = HASH_COUNT(core->permits);
    struct hfi_permit *permit = hfi_zeroed(sizeof(*permit));

    if (permit == NULL) {
        return false;
    }
    permit->n = number->n;
    permit->number = number;
    HASH_ADD(hh, core->permits, n, sizeof(permit->n), permit);
    if (HASH_COUNT(core->permits) == before) {
        free(permit);
        return false;
    }
    number->permit = permit;
    return true;
}

static void drop_permit(struct hfi_core *core, struct hfi_number *number)
{
    if (number->kind->has_ids && number->permit != NULL) {
        HASH_DEL(core->permits, number->permit);
        free(number->permit);
    }
}

struct hfi_number *hfi_number_new(struct hfi_core *core,
                                  const struct hfi_op *op,
                                  struct hfi_owner *owner)
{
    struct hfi_number *number = hfi_zeroed(sizeof(*number));
    struct hfi_heap *renewals = &core->renewals[op->kind->renewals];
    struct hfi_name *name = op->name;

    if (number == NULL) {
        return NULL;
    }
    hfi_heap_node_init(&number->timer);
    hfi_heap_node_init(&number->renewal);
    if (!hfi_heap_set(&core->number_timers, &number->timer, HFI_NEVER) ||
        !hfi_heap_set(renewals, &number->renewal, HFI_NEVER)) {
        hfi_heap_remove(&core->number_timers, &number->timer);
        free(number);
        return NULL;
    }
    number->n = core->next_n++;
    /* A request that nobody owns has a number too, but no permit. */
    if (op->kind->has_ids && owner != NULL && !make_permit(core, number)) {
        hfi_heap_remove(&core->number_timers, &number->timer);
        hfi_heap_remove(renewals, &number->renewal);
        free(number);
        return NULL;
    }
    number->cap_ms = HFI_NEVER;
    number->kind = op->kind;
    number->options = op->ask.options;
    if (number->options != NULL) {
        number->options->refs++;
    }
    number->name = name;
    number->owner = owner;
    DL_APPEND2(name->numbers, number, name_prev, name_next);
    if (owner != NULL) {
        DL_APPEND2(owner->numbers, number, owner_prev, owner_next);
    }
    core->number_count++;
    return number;
}

/* Its owner is owed nothing more by it. */
void hfi_number_disown(struct hfi_core *core, struct hfi_number *number)
{
    struct hfi_owner *owner = number->owner;

    if (owner == NULL) {
        return;
    }
    DL_DELETE2(owner->numbers, number, owner_prev, owner_next);
    number->owner = NULL;
    number->lock = NULL;
    /* The reference keeps hfi_owner_unref() as the one place that frees. */
    hfi_owner_ref(owner);
    hfi_owner_unref(core, owner);
}

void hfi_number_tidy(struct hfi_core *core, struct hfi_number *number)
{
    struct hfi_name *name = number->name;

    /* With its UNDO sent, that is in flight. */
    if (number->state != NUMBER_OVER || number->in_flight > 0 ||
        number->end == END_PENDING) {
        return;
    }
    hfi_number_disown(core, number);
    hfi_heap_remove(&core->number_timers, &number->timer);
    hfi_heap_remove(&core->renewals[number->kind->renewals], &number->renewal);
    DL_DELETE2(name->numbers, number, name_prev, name_next);
    drop_permit(core, number);
    hfi_terms_unref(number->terms);
    hfi_kind_options_unref(number->options);
    free(number->inner);
    free(number->foreign);
    free(number);
    core->number_count--;
    hfi_name_tidy(core, name);
}

bool hfi_number_leaves(const struct hfi_number *number)
{
    return number->kind->has_ids && number->permit->leaving;
}

bool hfi_number_clean(const struct hfi_number *number)
{
    return number->unanswered == 0;
}

/* Every command has one: what it is made of is put together by hand. */
static size_t put_field(const struct hfi_core *core,
                        const struct hfi_number *number, char *buf, size_t size)
{
    const char *end = number->kind->field_end;
    size_t uuid_len = strlen(core->config.uuid);
    size_t end_len = strlen(end);
    char digits[20];
    size_t first = sizeof(digits);
    uint64_t rest = number->n;
    size_t len;

    do {
        digits[--first] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    len = sizeof(digits) - first;
    if (uuid_len + 1 + len + end_len >= size) {
        return 0;
    }
    memcpy(buf, core->config.uuid, uuid_len);
    buf[uuid_len] = ':';
    memcpy(buf + uuid_len + 1, digits + first, len);
    memcpy(buf + uuid_len + 1 + len, end, end_len + 1);
    return uuid_len + 1 + len + end_len;
}

size_t hfi_number_field(const struct hfi_core *core,
                        const struct hfi_number *number, char *buf, size_t size)
{
    size_t len;

    if (number->kind->has_ids) {
        return hfi_permit_text(core, number->n, buf, size);
    }
    if (number->foreign == NULL) {
        return put_field(core, number, buf, size);
    }
    len = strlen(number->foreign);
    if (len >= size) {
        return 0;
    }
    memcpy(buf, number->foreign, len + 1);
    return len;
}

bool hfi_number_done(struct hfi_number *number, const struct hfi_value *value)
{
    if (number->kind->fenced && value->kind == HFI_ARRAY && value->count == 2) {
        number->token = hfi_value_number(&value->items[1], 0);
        return true;
    }
    if (number->kind->has_ids && value->kind == HFI_INTEGER) {
        return value->integer >= 0;
    }
    return value->kind == HFI_NIL;
}

/* ---- levels ---- */

struct level *hfi_level_at(struct hfi_number *number, uint32_t index)
{
    return index == 0 ? &number->first : &number->inner[index - 1];
}

bool hfi_level_push(struct hfi_number *number, const struct level *level)
{
    struct level *inner;

    if (number->level_count == 0) {
        number->first = *level;
        number->level_count = 1;
        return true;
    }
    inner = realloc(number->inner,
                    number->level_count * sizeof(number->inner[0]));
    if (inner == NULL) {
        return false;
    }
    number->inner = inner;
    number->inner[number->level_count - 1] = *level;
    number->level_count++;
    return true;
}

void hfi_level_pop(struct hfi_number *number)
{
    number->level_count--;
}

/* ---- owners ---- */

struct hfi_owner *hfi_owner_get(struct hfi_core *core, uint64_t id, bool make)
{
    struct hfi_owner *owner;
    size_t before = HASH_COUNT(core->owners);

    HASH_FIND(hh, core->owners, &id, sizeof(id), owner);
    if (owner != NULL || !make) {
        return owner;
    }
    owner = calloc(1, sizeof(*owner));
    if (owner == NULL) {
        return NULL;
    }
    owner->id = id;
    HASH_ADD(hh, core->owners, id, sizeof(owner->id), owner);
    if (HASH_COUNT(core->owners) == before) {
        free(owner);
        return NULL;
    }
    core->owner_count++;
    return owner;
}

void hfi_owner_ref(struct hfi_owner *owner)
{
    owner->refs++;
}

void hfi_owner_unref(struct hfi_core *core, struct hfi_owner *owner)
{
    owner->refs--; /* each call of it is one */
    if (owner->refs > 0 || owner->numbers != NULL) {
        return;
    }
    HASH_DEL(core->owners, owner);
    core->owner_count--;
    free(owner);
}

void hfi_owner_pin(struct hfi_owner *owner)
{
    owner->pins++;
    hfi_owner_ref(owner);
}

void hfi_owner_unpin(struct hfi_core *core, struct hfi_owner *owner)
{
    owner->pins--;
    hfi_owner_unref(core, owner);
}

/* What was lost is no reason to keep an owner. */
bool hfi_owner_busy(const struct hfi_owner *owner)
{
    const struct hfi_number *number;
    const struct hfi_op *op;

    if (owner->pins > 0) {
        return true;
    }
    DL_FOREACH2(owner->ops, op, owner_next)
    {
        if (!op->ask.detached) {
            return true;
        }
    }

    DL_FOREACH2(owner->numbers, number, owner_next)
    {
        /* The ops that are left are detached, and see to what is released. */
        if (number->state != NUMBER_LOST && number->state != NUMBER_RELEASING) {
            return true;
        }
    }
    return false;
}

bool hfi_owner_is_gone(const struct hfi_owner *owner)
{
    return owner->gone;
}

uint64_t hfi_owner_id(const struct hfi_owner *owner)
{
    return owner->id;
}

/* The newest call that can be cancelled: a release that has begun cannot. */
static struct hfi_op *last_to_cancel(const struct hfi_owner *owner)
{
    struct hfi_op *op = owner->ops == NULL ? NULL : owner->ops->owner_prev;

    while (op != NULL && op->ask.kind == HFI_OP_RELEASE &&
           op->state != OP_TURN) {
        op = op == owner->ops ? NULL : op->owner_prev;
    }
    return op;
}

/* The thread has ended: its calls are given up, its holds are lost, and nobody
 * is left to account for them. */
void hfi_core_owner_gone(struct hfi_core *core, struct hfi_owner *owner,
                         int64_t now)
{
    struct hfi_op *op;
    struct hfi_number *number, *next;

    core->here = HFI_LINK_KEEPER;
    owner->gone = true;
    hfi_owner_ref(owner);
    /* From the last: those that wait for their turn never get it. */
    while ((op = last_to_cancel(owner)) != NULL) {
        hfi_core_cancel(core, op, HF_CANCELLED, now);
    }
    DL_FOREACH_SAFE2(owner->numbers, number, next, owner_next)
    {
        if (number->state == NUMBER_HELD) {
            hfi_hold_lose(core, number, HF_LOST_OWNER_GONE, now);
        }
        if (number->state == NUMBER_LOST) {
            hfi_number_disown(core, number);
            hfi_number_move_to(core, number, NUMBER_OVER);
            hfi_number_tidy(core, number);
        }
    }
    hfi_owner_unref(core, owner);
}
