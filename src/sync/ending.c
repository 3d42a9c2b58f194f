/* SPDX-License-Identifier: MIT */
/* sync/ending.c - End(n): seeing to it that a number leaves nothing behind.
 *
 * What was given up unanswered, granted too late, lost, or released with copies
 * unanswered is ended: UNDO is sent, on the keeper's link if it can be used,
 * and repeated until one is answered.  But an old copy of its ACQUIRE may run
 * even after that, for a closed socket is no fence.  So an answered UNDO is
 * final only if no ACQUIRE was unanswered when that UNDO was sent, or if the
 * server's time that it shows is past the last not_after, after which no copy
 * does anything.  Else one more is due: when the number has become clean, or
 * at that time.
 *
 * A node that stays away is given up after the longest lease that was sent to
 * it: what stands there then ends by its own TTL.
 *
 * A number whose End has begun is burned: it is never sent in an ACQUIRE again,
 * and no answer makes it held.
 */
#include "sync/mutations.h"
#include "sync/state.h"

/* What was refused, or could not be sent for want of memory, pauses. */
#define UNDO_PAUSE_MS 500

#define TO(state) (1U << (state))

static const unsigned legal_moves[END_STATES] = {
    [END_NONE] = TO(END_PENDING),
    [END_PENDING] = TO(END_SENT) | TO(END_FINAL),
    [END_SENT] = TO(END_PENDING) | TO(END_FINAL),
    [END_FINAL] = 0,
};

static void end_move_to(struct hfi_core *core, struct hfi_number *number,
                        enum end_state next)
{
    if (!(legal_moves[number->end] & TO(next))) {
        return;
    }
    if (number->end == END_NONE) {
        core->ending++;
    }
    if (next == END_FINAL) {
        core->ending--;
        hfi_heap_set(&core->number_timers, &number->timer, HFI_NEVER);
    }
    number->end = next;
}

static void undo_at(struct hfi_core *core, struct hfi_number *number,
                    int64_t at)
{
    end_move_to(core, number, END_PENDING);
    hfi_heap_set(&core->number_timers, &number->timer, at);
}

static void send_undo(struct hfi_core *core, struct hfi_number *number,
                      int64_t now)
{
    enum hfi_link_id link = hfi_pick_link(core, HFI_LINK_KEEPER);
    struct hfi_copy *copy;

    if (link == HFI_COMMAND_LINKS) {
        /* hfi_core_link_up() finds it; until then it waits to be given up. */
        number->linkless = true;
        undo_at(core, number,
                now < number->end_give_up_ms ? number->end_give_up_ms
                                             : now + UNDO_PAUSE_MS);
        return;
    }
    copy = hfi_copy_new(core, HFI_UNDO, link, now);
    if (copy == NULL) {
        undo_at(core, number, now + UNDO_PAUSE_MS);
        return;
    }
    copy->number = number;
    copy->clean_when_sent = hfi_number_clean(number);
    number->linkless = false;
    end_move_to(core, number, END_SENT);
    /* A link that owes the answer for longer is dead, and says so itself. */
    hfi_heap_set(&core->number_timers, &number->timer,
                 now + 2 * core->config.response_limit_ms);
    hfi_copy_send(core, copy);
}

void hfi_end_begin(struct hfi_core *core, struct hfi_number *number,
                   int64_t not_before_ms, int64_t now)
{
    int64_t last_run = now;

    if (number->end != END_NONE) {
        return;
    }
    if (!hfi_number_clean(number) &&
        number->last_not_after_ms > hfi_server_now(core, now)) {
        last_run += number->last_not_after_ms - hfi_server_now(core, now);
    }
    if (last_run < not_before_ms) {
        last_run = not_before_ms;
    }
    number->end_give_up_ms = hfi_add_ms(last_run, number->longest_lease_ms);
    undo_at(core, number, not_before_ms);
    if (not_before_ms <= now) {
        send_undo(core, number, now);
    }
}

/* Given up: its TTL ends it now, at the latest. */
static void end_over(struct hfi_core *core, struct hfi_number *number,
                     int64_t now)
{
    struct hfi_name *name = number->name;
    const struct hfi_kind *kind = number->kind;

    end_move_to(core, number, END_FINAL);
    name->refs++;
    hfi_number_tidy(core, number);
    hfi_name_freed(core, name, kind, now);
    name->refs--;
    hfi_name_tidy(core, name);
}

/* Its TTL has ended it, whatever was answered or not; but not where the key may
 * be kept by others who hold it beside. */
static bool ended_by_ttl(const struct hfi_number *number, int64_t now)
{
    const struct hfi_number *other;

    if (now < number->end_give_up_ms) {
        return false;
    }
    DL_FOREACH2(number->name->numbers, other, name_next)
    {
        if (other->state == NUMBER_HELD && other->kind->shared) {
            return false;
        }
    }
    return true;
}

void hfi_end_timer(struct hfi_core *core, struct hfi_number *number,
                   int64_t now)
{
    if (ended_by_ttl(number, now) &&
        hfi_pick_link(core, HFI_LINK_KEEPER) == HFI_COMMAND_LINKS) {
        end_over(core, number, now);
        return;
    }
    send_undo(core, number, now);
}

void hfi_end_look_again(struct hfi_core *core, struct hfi_number *number,
                        int64_t in_ms, int64_t now)
{
    if (core->closed || number->looks++ >= HFI_LOOKS_MAX) {
        return;
    }
    if (number->end == END_NONE) {
        hfi_end_begin(core, number, now + in_ms, now);
    } else {
        undo_at(core, number, now + in_ms);
    }
}

void hfi_end_no_looks(struct hfi_core *core, struct hfi_number *number,
                      int64_t now)
{
    if (number->looks > 0 && number->end == END_PENDING) {
        end_over(core, number, now);
    }
}

/* The UNDO was answered: is that the end of it? */
static void on_undone(struct hfi_core *core, struct hfi_number *number,
                      const struct hfi_copy *copy,
                      const struct hfi_value *value, int64_t now)
{
    int64_t server_ms = hfi_value_number(
        value->kind == HFI_ARRAY ? &value->items[0] : value, 0);

    hfi_server_seen(core, server_ms, now);
    if (number->kind->records || /* it left a tombstone */
        HFI_MUTATION(any_undo_final) ||
        (HFI_MUTATION(clean_when_read) && hfi_number_clean(number)) ||
        copy->clean_when_sent || server_ms >= number->last_not_after_ms) {
        if (value->kind == HFI_ARRAY) {
            hfi_end_look_again(core, number,
                               hfi_value_number(&value->items[1], 0), now);
        }
        if (number->end != END_PENDING) {
            end_over(core, number, now);
        }
    } else if (hfi_number_clean(number)) {
        send_undo(core, number, now);
    } else {
        undo_at(core, number, now + number->last_not_after_ms - server_ms);
    }
}

void hfi_end_answer(struct hfi_core *core, struct hfi_copy *copy,
                    struct hfi_value *value, int64_t now)
{
    struct hfi_number *number = copy->number;

    if (number->end == END_FINAL) {
        return;
    }
    if ((value->kind == HFI_INTEGER && value->integer >= 0) ||
        (value->kind == HFI_ARRAY && value->count == 2)) {
        on_undone(core, number, copy, value, now);
    } else if (value->kind == HFI_ERROR &&
               value->refusal == HFI_REFUSAL_NO_SCRIPT) {
        hfi_script_unknown(core, copy);
        send_undo(core, number, now);
    } else if (ended_by_ttl(number, now)) {
        end_over(core, number, now); /* refused for as long as it may last */
    } else {
        undo_at(core, number, now + UNDO_PAUSE_MS);
    }
}

void hfi_end_copy_gone(struct hfi_core *core, struct hfi_number *number,
                       int64_t now)
{
    if (HFI_MUTATION(undo_not_repeated)) {
        end_over(core, number, now);
    } else if (number->end == END_SENT) {
        send_undo(core, number, now);
    }
}

void hfi_end_cleaner(struct hfi_core *core, struct hfi_number *number,
                     int64_t now)
{
    if (number->end == END_PENDING && hfi_number_clean(number) &&
        number->state == NUMBER_OVER) {
        send_undo(core, number, now);
    }
}
