/* SPDX-License-Identifier: MIT */
/* sync/others.c - export, import, force, show, scan: what is neither the taking
 * of a lock nor the life of a hold.
 *
 * EXPORT  the hold is forgotten here and lives on as a word.  First no ACQUIRE
 *         of it may be able to run any more: usually at once, else when the
 *         server was seen past its last not_after.
 * IMPORT  asks whether the field still stands, with the count and a lease; its
 *         deadline starts with that answer.
 * FORCE   looks who holds the lock (unless it was told who), and takes it away
 *         from exactly that one.
 * SHOW, SCAN  read, for people.
 */
#include "sync/mutations.h"
#include "sync/state.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"

/* The holder that was seen may have gone before he is forced: look again. */
#define FORCE_ROUNDS 5

/* Said of a hash whose first field is no owner's. */
#define NO_LOCK "the hash under this name is no lock of this kind"

/* What stands behind an owner where he writes. */
#define WRITER_END ":write"

/* ---- export ---- */

/* From here on only the importer ends it, or its lease. */
static void hand_out(struct hfi_core *core, struct hfi_op *op, int64_t now)
{
    struct hfi_number *number = op->number;
    struct hfi_op_result *result = &op->result;
    int64_t lease = hfi_hold_renewed_lease(number);

    hfi_number_field(core, number, result->handle_owner,
                     sizeof(result->handle_owner));
    result->count = number->level_count;
    result->lease_ms = lease > 0 ? lease : number->first.lease_ms;
    op->number = NULL;
    hfi_heap_set(&core->number_timers, &number->timer, HFI_NEVER);
    hfi_hold_arm_renewal(core, number, HFI_NEVER);
    hfi_number_disown(core, number);
    hfi_number_move_to(core, number, NUMBER_OVER);
    hfi_number_tidy(core, number);
    hfi_name_freed(core, op->name, op->kind, now);
    hfi_op_finish(core, op, HF_OK, now, NULL);
}

static void export_when_safe(struct hfi_core *core, struct hfi_op *op,
                             int64_t now)
{
    int64_t wait = op->number->last_not_after_ms - hfi_server_now(core, now);
    int64_t at;

    if ((hfi_number_clean(op->number) || HFI_MUTATION(exported_at_once)) &&
        !hfi_native_may_shorten(op->number)) {
        hand_out(core, op, now);
        return;
    }
    at = hfi_add_ms(now, (wait > 0 ? wait : 0) + 1);
    if (hfi_native_may_shorten(op->number)) {
        at = hfi_add_ms(at, HFI_BARE_PAUSE_MS);
    }
    op->request = HFI_TIME;
    hfi_op_move_to(core, op, OP_PAUSED);
    hfi_op_set_timer(core, op, at < op->give_up_ms ? at : op->give_up_ms);
}

/* Its owner has the other half of the lock too.  Two halves in two hands would
 * be a reader beside a writer. */
static bool has_both_halves(const struct hfi_op *op)
{
    const struct hfi_number *number;

    DL_FOREACH2(op->name->numbers, number, name_next)
    {
        if (number != op->number && number->owner == op->ask.owner &&
            number->state == NUMBER_HELD) {
            return !HFI_MUTATION(half_handed_on);
        }
    }
    return false;
}

static void start_export(struct hfi_core *core, struct hfi_op *op, int64_t now)
{
    if (has_both_halves(op)) {
        hfi_op_finish(core, op, HF_NOT_DONE, now,
                      "its owner reads and writes, and one of the two cannot "
                      "be handed on without the other");
        return;
    }
    export_when_safe(core, op, now);
}

/* ---- import ---- */

static void start_import(struct hfi_core *core, struct hfi_op *op, int64_t now)
{
    struct hfi_number *number = hfi_number_new(core, op, op->ask.owner);

    if (number != NULL) {
        number->foreign = strdup(op->ask.field);
        number->lock = op->ask.lock;
        number->terms = op->ask.terms;
        if (number->terms != NULL) {
            number->terms->refs++;
        }
    }
    op->number = number;
    if (number == NULL || number->foreign == NULL) {
        hfi_other_give_up(core, op, HF_NOMEM, now);
        return;
    }
    op->request = HFI_ADOPT;
    hfi_other_send(core, op, now);
}

static void drop_import(struct hfi_core *core, struct hfi_op *op)
{
    struct hfi_number *number = op->number;

    if (number == NULL || op->ask.kind != HFI_OP_IMPORT) {
        return;
    }
    op->number = NULL;
    hfi_number_disown(core, number);
    hfi_number_move_to(core, number, NUMBER_OVER);
    hfi_number_tidy(core, number);
}

static void on_adopted(struct hfi_core *core, struct hfi_op *op,
                       const struct hfi_copy *copy, int64_t now)
{
    struct hfi_number *number = op->number;
    struct level level = {.lease_ms = op->ask.lease_ms,
                          .renewed = op->ask.renewed};

    level.deadline_ms = copy->sent_at_ms + level.lease_ms -
                        hfi_margin_ms(level.lease_ms);
    if (now >= level.deadline_ms ||
        now >= hfi_hold_cap(core, number, copy->sent_at_ms)) {
        hfi_other_give_up(core, op, HF_TIMEOUT, now);
        return;
    }
    op->number = NULL;
    hfi_hold_begin(core, number, &level, copy->sent_at_ms, now);
    while (number->level_count < op->ask.count) {
        if (!hfi_level_push(number, &level)) {
            break; /* fewer levels here: released that much sooner */
        }
    }
    hfi_op_finish(core, op, HF_OK, now, NULL);
}

/* ---- force ---- */

/* "uuid:number", or what else ends in a colon and digits: an owner's field; a
 * writer's has a word behind it.  Where others write what they like it is what
 * can be named again. */
static bool is_owner(const struct hfi_op *op, const struct hfi_value *field)
{
    char text[sizeof(((struct hfi_op *)0)->seen)];
    size_t end = sizeof(WRITER_END) - 1;
    const char *digits;

    if (field->kind != HFI_TEXT || field->len == 0 ||
        field->len >= sizeof(op->seen) || strlen(field->text) != field->len) {
        return false;
    }
    if (op->kind->any_holder) {
        return true;
    }
    memcpy(text, field->text, field->len + 1);
    if (field->len > end && strcmp(text + field->len - end, WRITER_END) == 0) {
        text[field->len - end] = '\0';
    }
    digits = strrchr(text, ':');
    return digits != NULL && digits[1] != '\0' &&
           strspn(digits + 1, "0123456789") == strlen(digits + 1);
}

/* A lock of two halves says which of them has it. */
static bool held_otherwise(const struct hfi_op *op,
                           const struct hfi_value *value)
{
    const struct hfi_value *mode = &value->items[4];

    return op->kind->family == HFI_FAMILY_READ_WRITE &&
           mode->kind == HFI_TEXT && mode->len > 0 &&
           strcmp(mode->text, op->kind->word) != 0;
}

/* What was found under the name is none of this kind. */
static bool is_no_lock(const struct hfi_op *op, const struct hfi_value *value)
{
    if (hfi_value_number(&value->items[0], -2) == -2) {
        return false;
    }
    return !is_owner(op, &value->items[1]) ||
           (op->kind->family == HFI_FAMILY_READ_WRITE &&
            value->items[4].len == 0);
}

static void on_seen(struct hfi_core *core, struct hfi_op *op,
                    const struct hfi_value *value, int64_t now)
{
    const struct hfi_value *field = &value->items[1];

    if (hfi_value_number(&value->items[0], -2) == -2) {
        hfi_op_finish(core, op, HF_NOT_OWNER, now, "nobody holds it");
    } else if (held_otherwise(op, value)) {
        hfi_op_finish(core, op, HF_NOT_OWNER, now, "it is held, but not to %s",
                      op->kind->word);
    } else if (is_no_lock(op, value)) {
        hfi_op_finish(core, op, HF_WRONG_TYPE, now, NO_LOCK);
    } else {
        memcpy(op->seen, field->text, field->len + 1);
        op->request = HFI_FORCE;
        op->earlier_unanswered = false; /* that was the looking */
        hfi_other_send(core, op, now);
    }
}

static void on_not_forced(struct hfi_core *core, struct hfi_op *op, int64_t now)
{
    if (op->earlier_unanswered) {
        hfi_op_finish(core, op, HF_OK, now, NULL); /* that copy did it */
    } else if (op->ask.field != NULL || op->rounds++ >= FORCE_ROUNDS) {
        hfi_op_finish(core, op, HF_NOT_OWNER, now, "%s does not hold it",
                      op->seen);
    } else {
        op->request = HFI_SHOW;
        hfi_other_send(core, op, now);
    }
}

static void on_forced(struct hfi_core *core, struct hfi_op *op,
                      const struct hfi_value *value, int64_t now)
{
    if (value->kind == HFI_NIL) {
        hfi_op_finish(core, op, HF_OK, now, NULL);
    } else if (value->kind == HFI_INTEGER) {
        on_not_forced(core, op, now);
    } else {
        hfi_server_seen(core, hfi_value_number(&value->items[0], 0), now);
        hfi_other_send(core, op, now);
    }
}

/* ---- starting, sending ---- */

void hfi_other_start(struct hfi_core *core, struct hfi_op *op, int64_t now)
{
    if (op->ask.kind == HFI_OP_EXPORT) {
        start_export(core, op, now);
        return;
    }
    if (op->ask.kind == HFI_OP_IMPORT) {
        start_import(core, op, now);
        return;
    }
    if (op->ask.kind == HFI_OP_FORCE && op->ask.field != NULL) {
        op->request = HFI_FORCE;
    } else {
        op->request = op->ask.kind == HFI_OP_SCAN ? HFI_SCAN : HFI_SHOW;
    }
    hfi_other_send(core, op, now);
}

void hfi_other_send(struct hfi_core *core, struct hfi_op *op, int64_t now)
{
    enum hfi_link_id link = hfi_pick_link(core, core->here);
    struct hfi_copy *copy;

    if (now >= op->give_up_ms) {
        hfi_other_give_up(core, op, HF_TIMEOUT, now);
        return;
    }
    if (link == HFI_COMMAND_LINKS) {
        hfi_op_linkless(core, op);
        return;
    }
    copy = hfi_copy_new(core, op->request, link, now);
    if (copy == NULL) {
        hfi_other_give_up(core, op, HF_NOMEM, now);
        return;
    }
    copy->number = op->number;
    copy->about = op;
    copy->lease_ms = op->ask.lease_ms;
    copy->count = op->ask.count;
    copy->not_after_ms = hfi_server_now(core, now) +
                         core->config.response_limit_ms;
    hfi_op_sent(core, op, copy);
    hfi_op_set_timer(core, op, op->give_up_ms);
}

/* A copy of it may have done it, or do it yet. */
static bool may_be_done(const struct hfi_op *op)
{
    return (op->copy != NULL || op->earlier_unanswered) &&
           (op->request == HFI_FORCE || op->request == HFI_ADOPT);
}

static void give_up_export(struct hfi_core *core, struct hfi_op *op,
                           int64_t now)
{
    if (hfi_hold_check(core, op->number, now)) {
        hfi_op_finish(core, op, HF_LOST, now, "the lease was lost: %s",
                      hf_lost_reason_text(op->number->lost_reason));
    } else {
        hfi_op_finish(core, op, HF_NOT_DONE, now,
                      "an attempt may still run; it stays held here");
    }
}

void hfi_other_give_up(struct hfi_core *core, struct hfi_op *op, hf_status why,
                       int64_t now)
{
    bool sent = op->state == OP_SENT || op->earlier_unanswered;

    drop_import(core, op);
    if (may_be_done(op)) {
        hfi_op_finish(core, op, HF_UNKNOWN, now, NULL);
    } else if (why != HF_TIMEOUT && why != op->refusal.status) {
        hfi_op_finish(core, op, why, now, NULL);
    } else if (op->refusal.status != HF_OK) {
        hfi_op_finish_refused(core, op, now);
    } else if (op->ask.kind == HFI_OP_EXPORT) {
        give_up_export(core, op, now);
    } else if (op->request == HFI_ADOPT && sent) {
        /* Answered, but after the deadline that it would have had. */
        hfi_op_finish(core, op, HF_UNKNOWN, now, NULL);
    } else {
        hfi_op_finish(core, op, HF_UNREACHABLE, now,
                      sent ? "the server does not answer"
                           : "the server cannot be reached");
    }
}

/* ---- answers ---- */

static void on_time(struct hfi_core *core, struct hfi_op *op, int64_t server_ms,
                    int64_t now)
{
    hfi_server_seen(core, server_ms, now);
    if (hfi_hold_check(core, op->number, now)) {
        hfi_op_finish(core, op, HF_LOST, now, NULL);
    } else if (server_ms >= op->number->last_not_after_ms &&
               !hfi_native_may_shorten(op->number)) {
        hand_out(core, op, now);
    } else {
        export_when_safe(core, op, now);
    }
}

/* How much a look at a lock of this kind tells; where the server has a queue,
 * three more of each waiter. */
static bool shown_well(const struct hfi_kind *kind, size_t count)
{
    if (kind->queueing == HFI_QUEUE_ON_SERVER) {
        return count >= 5 && count % 3 == 2;
    }
    if (kind->family == HFI_FAMILY_READ_WRITE) {
        return count == 7;
    }
    return count == (kind->fenced ? 5 : 4);
}

static bool is_array(const struct hfi_value *value, size_t count)
{
    return value->kind == HFI_ARRAY && value->count == count;
}

static bool well_formed(const struct hfi_op *op, const struct hfi_value *value)
{
    if (op->request == HFI_SHOW) {
        return value->kind == HFI_ARRAY && shown_well(op->kind, value->count);
    }
    if (op->request == HFI_SCAN) {
        return value->kind == HFI_ARRAY && value->count % 7 == 1;
    }
    if (value->kind == HFI_INTEGER || op->request == HFI_TIME) {
        return value->kind == HFI_INTEGER;
    }
    if (op->request == HFI_ADOPT && op->kind->fenced) {
        return is_array(value, 2);
    }
    return value->kind == HFI_NIL ||
           (op->request == HFI_FORCE && is_array(value, 1));
}

static void on_value(struct hfi_core *core, struct hfi_op *op,
                     const struct hfi_copy *copy, struct hfi_value *value,
                     int64_t now)
{
    if (op->request == HFI_TIME) {
        on_time(core, op, value->integer, now);
    } else if (op->request == HFI_ADOPT && hfi_number_done(op->number, value)) {
        on_adopted(core, op, copy, now);
    } else if (op->request == HFI_ADOPT) {
        drop_import(core, op);
        hfi_op_finish(core, op, HF_GONE, now, NULL);
    } else if (op->request == HFI_FORCE) {
        on_forced(core, op, value, now);
    } else if (op->ask.kind == HFI_OP_FORCE) {
        on_seen(core, op, value, now);
    } else if (op->request == HFI_SHOW && !op->kind->any_holder &&
               is_no_lock(op, value)) {
        hfi_op_finish(core, op, HF_WRONG_TYPE, now, NO_LOCK);
    } else {
        op->result.value = *value;
        memset(value, 0, sizeof(*value));
        hfi_op_finish(core, op, HF_OK, now, NULL);
    }
}

void hfi_other_answer(struct hfi_core *core, struct hfi_copy *copy,
                      struct hfi_value *value, int64_t now)
{
    struct hfi_op *op = copy->op;
    enum hfi_remedy remedy;

    if (op == NULL) {
        return;
    }
    if (value->kind != HFI_ERROR && well_formed(op, value)) {
        on_value(core, op, copy, value, now);
        return;
    }
    remedy = hfi_op_on_error(core, op, copy, value, now);
    if (remedy == HFI_REMEDY_AGAIN) {
        hfi_other_send(core, op, now);
    } else if (remedy == HFI_REMEDY_NONE) {
        hfi_other_give_up(core, op, op->refusal.status, now);
    }
}
