/* SPDX-License-Identifier: MIT */
/* sync/release.c - the last release of a hold.
 *
 * The levels are gone when RELEASE is sent: no answer changes that.  FREED says
 * it was done; so does ABSENT if an earlier copy of this RELEASE went
 * unanswered, for that copy did it.  ABSENT otherwise: somebody took it away.
 * Without any answer the caller is told HF_UNKNOWN, and the number is ended.
 *
 * If an ACQUIRE of the number is still unanswered it may run yet, and put the
 * field back: then the number is ended too, but only once the RELEASE is
 * answered, for an UNDO that overtook it would make it say "gone".
 */
#include "sync/mutations.h"
#include "sync/state.h"

#include <inttypes.h>

static void forget_hold(struct hfi_core *core, struct hfi_number *number)
{
    hfi_heap_set(&core->number_timers, &number->timer, HFI_NEVER);
    if (!HFI_MUTATION(renewed_after_release)) {
        hfi_hold_arm_renewal(core, number, HFI_NEVER);
    }
    number->level_count = 0;
    number->suspect = false;
    hfi_number_move_to(core, number, NUMBER_RELEASING);
}

static int64_t rest_of_min_hold(const struct hfi_number *number, int64_t now)
{
    int64_t end;

    if (number->terms == NULL || number->terms->min_hold_ms == 0) {
        return 0;
    }
    end = hfi_add_ms(number->held_since_ms, number->terms->min_hold_ms);
    return end > now ? end - now : 0;
}

void hfi_release_start(struct hfi_core *core, struct hfi_op *op, int64_t now)
{
    op->request = HFI_RELEASE;
    op->later_ms = rest_of_min_hold(op->number, now);
    op->must_end = !hfi_number_clean(op->number) &&
                   !HFI_MUTATION(unclean_release_stays);
    if (!HFI_MUTATION(held_until_answered)) {
        forget_hold(core, op->number);
    }
    hfi_release_send(core, op, now);
}

void hfi_release_send(struct hfi_core *core, struct hfi_op *op, int64_t now)
{
    enum hfi_link_id link = hfi_pick_link(core, core->here);
    struct hfi_copy *copy;

    if (now >= op->give_up_ms) {
        hfi_release_give_up(core, op, HF_TIMEOUT, now);
        return;
    }
    if (link == HFI_COMMAND_LINKS) {
        hfi_op_linkless(core, op);
        return;
    }
    copy = hfi_copy_new(core, HFI_RELEASE, link, now);
    if (copy == NULL) {
        hfi_release_give_up(core, op, HF_NOMEM, now);
        return;
    }
    copy->number = op->number;
    copy->native = hfi_native_releases(core, op, link, now);
    copy->rest_ms = op->later_ms;
    if (copy->rest_ms > 0) {
        copy->stand_in = core->next_n++;
    }
    hfi_op_sent(core, op, copy);
    hfi_op_set_timer(core, op, op->give_up_ms);
    if (copy->native) {
        hfi_native_tell(core, op->number, link, now);
    }
}

/* The hold is over, and what may be left of it is somebody else's care. */
static void part_looking(struct hfi_core *core, struct hfi_op *op,
                         bool must_end, int64_t look_in_ms, int64_t now)
{
    struct hfi_number *number = op->number;
    struct hfi_name *name = number->name;

    op->number = NULL;
    hfi_number_disown(core, number);
    hfi_number_move_to(core, number, NUMBER_OVER);
    if (must_end) {
        hfi_end_begin(core, number, now, now);
    } else if (look_in_ms > 0) {
        hfi_end_look_again(core, number, look_in_ms, now);
    }
    hfi_number_tidy(core, number);
    hfi_name_freed(core, name, op->kind, now); /* op->name keeps it */
}

static void part(struct hfi_core *core, struct hfi_op *op, bool must_end,
                 int64_t now)
{
    part_looking(core, op, must_end, 0, now);
}

void hfi_release_told(struct hfi_core *core, struct hfi_number *number,
                      bool must_end, int64_t now)
{
    struct hfi_name *name = number->name;
    const struct hfi_kind *kind = number->kind;

    must_end |= !hfi_number_clean(number);
    forget_hold(core, number);
    hfi_number_disown(core, number);
    hfi_number_move_to(core, number, NUMBER_OVER);
    if (must_end) {
        hfi_end_begin(core, number, now, now);
    }
    name->refs++;
    hfi_number_tidy(core, number);
    hfi_name_freed(core, name, kind, now);
    name->refs--;
}

void hfi_release_give_up(struct hfi_core *core, struct hfi_op *op,
                         hf_status why, int64_t now)
{
    part(core, op, !HFI_MUTATION(maybe_release_stays), now);
    hfi_op_finish(core, op, HF_UNKNOWN, now,
                  "%s; it is given up here, and is being undone there",
                  op->refusal.status != HF_OK ? op->refusal.message
                  : why == HF_CLOSED          ? hf_status_text(why)
                                              : "the release was not answered");
}

static void finish_gone(struct hfi_core *core, struct hfi_op *op,
                        int64_t ttl_ms, int64_t now)
{
    int64_t age_ms = now - op->number->held_since_ms;
    char field[128] = "";

    hfi_number_field(core, op->number, field, sizeof(field));
    part(core, op, op->must_end, now);
    if (op->kind->has_ids) {
        hfi_op_finish(core, op, HF_GONE, now,
                      "the permit %s, taken %" PRId64
                      " ms ago, is no longer on the server",
                      field, age_ms);
    } else if (ttl_ms == -2) {
        hfi_op_finish(core, op, HF_GONE, now,
                      "the hold of %s, taken %" PRId64
                      " ms ago, is no longer on the server; the lock is free",
                      field, age_ms);
    } else {
        hfi_op_finish(core, op, HF_GONE, now,
                      "the hold of %s, taken %" PRId64
                      " ms ago, is no longer on the server; another owner has "
                      "the lock for %" PRId64 " ms more",
                      field, age_ms, ttl_ms);
    }
}

/* A bare command: it deleted the key, or it does not say why not. */
static void on_bare_answer(struct hfi_core *core, struct hfi_op *op,
                           const struct hfi_value *value, int64_t now)
{
    if (value->kind == HFI_INTEGER && value->integer == 1) {
        part(core, op, op->must_end, now);
        hfi_op_finish(core, op, HF_OK, now, NULL);
        return;
    }
    if (value->kind == HFI_ERROR && value->refusal == HFI_REFUSAL_OTHER) {
        hfi_native_unknown(core);
    }
    op->by_script = true;
    hfi_release_send(core, op, now);
}

void hfi_release_answer(struct hfi_core *core, struct hfi_copy *copy,
                        struct hfi_value *value, int64_t now)
{
    struct hfi_op *op = copy->op;

    if (op == NULL) {
        return; /* given up: its End has it */
    }
    if (copy->native) {
        on_bare_answer(core, op, value, now);
        return;
    }
    if (value->kind == HFI_ARRAY && value->count == 1) {
        part_looking(core, op, op->must_end,
                     hfi_value_number(&value->items[0], 0), now);
        hfi_op_finish(core, op, HF_OK, now, NULL);
    } else if (value->kind == HFI_NIL ||
               (value->kind == HFI_INTEGER && op->earlier_unanswered &&
                !HFI_MUTATION(absent_is_gone))) {
        part(core, op, op->must_end, now);
        hfi_op_finish(core, op, HF_OK, now, NULL);
    } else if (value->kind == HFI_INTEGER) {
        finish_gone(core, op, value->integer, now);
    } else if (value->kind == HFI_ERROR &&
               value->refusal == HFI_REFUSAL_WRONG_TYPE) {
        part(core, op, op->must_end, now);
        hfi_op_finish(core, op, HF_GONE, now,
                      "%s; the name holds another type of value now",
                      hf_status_text(HF_GONE));
    } else if (hfi_op_on_error(core, op, copy, value, now) ==
               HFI_REMEDY_AGAIN) {
        hfi_release_send(core, op, now);
    } else if (op->state != OP_PAUSED) {
        hfi_release_give_up(core, op, HF_TIMEOUT, now);
    }
}
