/* SPDX-License-Identifier: MIT */
/* sync/hold.c - the life of a lease: held, suspect, lost.
 *
 * A hold is a nest of levels (one for each acquisition of its owner), each with
 * a lease and a deadline of its own; the hold lives until the largest of them.
 * A deadline counts from the moment before the request was sent whose answer
 * granted it, less a margin: so it is over here before it is over there.
 *
 * A renewed lease of which half has passed unanswered is SUSPECT; its holder is
 * warned.  When the deadline passes it is LOST, and the holder is told, with
 * the network up or not.  An answer that says the field is gone loses it at
 * once.  What is lost is never believed again, whatever is answered later, and
 * its number is ended (ending.c).
 *
 * The owner's own count of levels is the truth; the server's is its mirror.
 */
#include "sync/mutations.h"
#include "sync/state.h"

#include <string.h>

/* ---- deadlines ---- */

/* max_hold caps it from the start: a renewal cannot move it beyond. */
static int64_t hold_end(const struct hfi_number *number)
{
    if (number->terms == NULL || number->terms->max_hold_ms == 0) {
        return HFI_NEVER;
    }
    return hfi_add_ms(number->held_since_ms, number->terms->max_hold_ms);
}

int64_t hfi_hold_deadline(const struct hfi_number *number)
{
    int64_t deadline = number->first.deadline_ms;
    int64_t end = hold_end(number);

    for (uint32_t i = 1; i < number->level_count; i++) {
        if (number->inner[i - 1].deadline_ms > deadline) {
            deadline = number->inner[i - 1].deadline_ms;
        }
    }
    deadline = number->cap_ms < deadline ? number->cap_ms : deadline;
    return deadline < end ? deadline : end;
}

/* The period of the foreign watchdog that may set this hold's TTL; HFI_NEVER if
 * none does. */
static int64_t foreign_period(const struct hfi_core *core,
                              const struct hfi_number *number)
{
    if (!number->kind->foreign_watchdog) {
        return HFI_NEVER;
    }
    return core->config.foreign_watchdog_ms > 0
               ? core->config.foreign_watchdog_ms
               : HFI_FOREIGN_WATCHDOG_MS;
}

int64_t hfi_hold_cap(const struct hfi_core *core,
                     const struct hfi_number *number, int64_t sent_at_ms)
{
    int64_t period = foreign_period(core, number);

    if (period == HFI_NEVER || HFI_MUTATION(no_cap)) {
        return HFI_NEVER;
    }
    return sent_at_ms + period - hfi_margin_ms(period);
}

static void lift_cap(const struct hfi_core *core, struct hfi_number *number,
                     int64_t sent_at_ms)
{
    int64_t cap = hfi_hold_cap(core, number, sent_at_ms);

    if (number->cap_ms == HFI_NEVER || cap > number->cap_ms) {
        number->cap_ms = cap;
    }
}

/* The longest lease of the levels that are renewed; 0: none is. */
int64_t hfi_hold_renewed_lease(const struct hfi_number *number)
{
    int64_t lease = number->first.renewed ? number->first.lease_ms : 0;

    for (uint32_t i = 1; i < number->level_count; i++) {
        const struct level *level = &number->inner[i - 1];

        if (level->renewed && level->lease_ms > lease) {
            lease = level->lease_ms;
        }
    }
    return lease;
}

static int64_t longest_lease(const struct hfi_number *number)
{
    int64_t lease = number->first.lease_ms;

    for (uint32_t i = 1; i < number->level_count; i++) {
        if (number->inner[i - 1].lease_ms > lease) {
            lease = number->inner[i - 1].lease_ms;
        }
    }
    return lease;
}

/* Where a foreign watchdog may set the TTL, fixed levels are kept too. */
int64_t hfi_hold_pace(const struct hfi_core *core,
                      const struct hfi_number *number)
{
    int64_t lease = hfi_hold_renewed_lease(number);
    int64_t period = foreign_period(core, number);

    if (period == HFI_NEVER) {
        return lease;
    }
    lease = lease == 0 ? longest_lease(number) : lease;
    return lease < period ? lease : period;
}

/* A fixed lease that needs no renewal to last is not suspect for want of one.
 */
static int64_t suspect_at(const struct hfi_core *core,
                          const struct hfi_number *number)
{
    int64_t pace = hfi_hold_pace(core, number);

    if (pace == 0 || number->suspect ||
        (hfi_hold_renewed_lease(number) == 0 &&
         longest_lease(number) <= pace)) {
        return HFI_NEVER;
    }
    return number->renewed_at_ms + pace / HFI_SUSPECT_PARTS;
}

static int64_t warning_at(const struct hfi_number *number)
{
    int64_t end = hold_end(number);

    if (end == HFI_NEVER || number->warned ||
        number->terms->max_hold_warning_ms == 0) {
        return HFI_NEVER;
    }
    return end - number->terms->max_hold_warning_ms;
}

void hfi_hold_arm(struct hfi_core *core, struct hfi_number *number, int64_t now)
{
    int64_t due = hfi_hold_deadline(number);
    int64_t suspect = suspect_at(core, number);
    int64_t warning = warning_at(number);

    (void)now;
    due = suspect < due ? suspect : due;
    due = warning < due ? warning : due;
    due = HFI_MUTATION(deadline_unarmed) ? HFI_NEVER : due;
    hfi_heap_set(&core->number_timers, &number->timer, due);
}

/* ---- what the holder is told ---- */

static struct hfi_terms *tell(struct hfi_core *core, struct hfi_number *number)
{
    struct hfi_terms *terms = number->terms;

    hfi_number_field(core, number, terms->owner, sizeof(terms->owner));
    terms->deadline_ms = hfi_hold_deadline(number);
    if (!terms->queued) {
        terms->queued = true;
        terms->refs++;
        DL_APPEND(core->notices, terms);
    }
    return terms;
}

static void warn(struct hfi_core *core, struct hfi_number *number,
                 hf_lock_state state, hf_lost_reason reason)
{
    struct hfi_terms *terms;

    if (number->terms == NULL || number->terms->on_warning == NULL) {
        return;
    }
    terms = tell(core, number);
    terms->tell_warning = true;
    terms->warning_state = state;
    terms->warning_reason = reason;
}

/* ---- held ---- */

static void arm_next_renewal(struct hfi_core *core, struct hfi_number *number)
{
    int64_t pace = hfi_hold_pace(core, number);

    hfi_hold_arm_renewal(
        core, number,
        pace == 0 ? HFI_NEVER : number->renewed_at_ms + pace / HFI_RENEW_PARTS);
}

void hfi_hold_begin(struct hfi_core *core, struct hfi_number *number,
                    const struct level *level, int64_t sent_at_ms, int64_t now)
{
    hfi_number_move_to(core, number, NUMBER_HELD);
    number->held_since_ms = sent_at_ms;
    number->renewed_at_ms = sent_at_ms;
    hfi_level_push(number, level); /* the first needs no memory */
    lift_cap(core, number, sent_at_ms);
    hfi_hold_arm(core, number, now);
    arm_next_renewal(core, number);
}

void hfi_hold_arm_renewal(struct hfi_core *core, struct hfi_number *number,
                          int64_t due_ms)
{
    hfi_heap_set(&core->renewals[number->kind->renewals], &number->renewal,
                 due_ms);
}

/* No lease of it is renewed any more, so nothing is overdue. */
void hfi_hold_stop_renewing(struct hfi_core *core, struct hfi_number *number)
{
    arm_next_renewal(core, number);
    if (number->suspect) {
        number->suspect = false;
        warn(core, number, HF_HELD, HF_NOT_LOST);
    }
}

/* A copy that extends the TTL was answered in time: every renewed level lasts
 * at least a lease from its sending. */
void hfi_hold_extended(struct hfi_core *core, struct hfi_number *number,
                       const struct hfi_copy *copy, int64_t lease_ms,
                       int64_t now)
{
    int64_t deadline = copy->sent_at_ms + lease_ms - hfi_margin_ms(lease_ms);
    bool was_suspect = number->suspect;

    lift_cap(core, number, copy->sent_at_ms);
    if (hfi_hold_pace(core, number) == 0) {
        return;
    }
    for (uint32_t i = 0; i < number->level_count; i++) {
        struct level *level = hfi_level_at(number, i);

        if ((level->renewed || HFI_MUTATION(fixed_renewed)) &&
            level->deadline_ms < deadline) {
            level->deadline_ms = deadline;
        }
    }
    /* A shorter lease than the renewed levels have does not renew them: who
     * re-enters or extends by little, again and again, would put their RENEW
     * off until they are lost. */
    if (lease_ms < hfi_hold_renewed_lease(number)) {
        return;
    }
    if (copy->sent_at_ms > number->renewed_at_ms) {
        number->renewed_at_ms = copy->sent_at_ms;
    }
    number->suspect = false;
    number->renew_tried = false;
    number->renew_elsewhere = false;
    if (was_suspect && suspect_at(core, number) <= now) {
        number->suspect = true; /* the answer was that late */
    } else if (was_suspect) {
        warn(core, number, HF_HELD, HF_NOT_LOST);
        hfi_hold_arm(core, number, now);
    }
    arm_next_renewal(core, number);
}

/* ---- lost ---- */

static bool by_deadline(hf_lost_reason reason)
{
    return reason == HF_LOST_EXPIRED || reason == HF_LOST_UNREACHABLE ||
           reason == HF_LOST_MAX_HOLD;
}

static void tell_lost(struct hfi_core *core, struct hfi_number *number)
{
    struct hfi_terms *terms;

    if (number->terms == NULL || number->terms->on_lost == NULL ||
        hfi_number_leaves(number)) {
        return;
    }
    terms = tell(core, number);
    terms->tell_lost = !HFI_MUTATION(loss_untold);
    terms->lost_reason = number->lost_reason;
}

void hfi_hold_lose(struct hfi_core *core, struct hfi_number *number,
                   hf_lost_reason reason, int64_t now)
{
    int64_t deadline = hfi_hold_deadline(number);
    int64_t lease = number->kind->has_ids ? longest_lease(number)
                                          : number->longest_lease_ms;

    hfi_number_move_to(core, number, NUMBER_LOST);
    number->lost_reason = reason;
    number->lost_levels = number->level_count;
    hfi_hold_arm_renewal(core, number, HFI_NEVER);
    tell_lost(core, number);
    number->level_count = 0;
    /* The holder's head start is not given away: what he was promised until
     * the deadline is undone only when it is over on the server too. */
    if (!HFI_MUTATION(loss_stays)) {
        hfi_end_begin(core, number,
                      by_deadline(reason) && !HFI_MUTATION(undo_at_deadline)
                          ? deadline + hfi_margin_ms(lease)
                          : now,
                      now);
    }
    hfi_name_freed(core, number->name, number->kind, now);
    /* Permits may be left to expire by the thousand, and nobody need ask after
     * them; but a call that is under way does. */
    if (reason == HF_LOST_CLOSED ||
        (number->kind->has_ids && number->owner->ops == NULL)) {
        hfi_number_disown(core, number);
        hfi_number_move_to(core, number, NUMBER_OVER);
        hfi_number_tidy(core, number);
    }
}

/* Why a deadline passed: because renewals went unanswered, because it was not
 * to be held longer, or simply because its time was over (a fixed lease, or a
 * process that was stopped and could not renew). */
static hf_lost_reason why_expired(const struct hfi_number *number)
{
    if (hold_end(number) <= hfi_hold_deadline(number)) {
        return HF_LOST_MAX_HOLD;
    }
    if (number->renew_tried && (hfi_hold_renewed_lease(number) > 0 ||
                                number->cap_ms <= hfi_hold_deadline(number))) {
        return HF_LOST_UNREACHABLE;
    }
    return HF_LOST_EXPIRED;
}

bool hfi_hold_check(struct hfi_core *core, struct hfi_number *number,
                    int64_t now)
{
    if (number->state == NUMBER_LOST && HFI_MUTATION(loss_told_again)) {
        tell_lost(core, number);
    }
    if (number->state == NUMBER_HELD && hfi_hold_deadline(number) <= now) {
        hfi_hold_lose(core, number, why_expired(number), now);
    }
    return number->state != NUMBER_HELD;
}

void hfi_hold_absent(struct hfi_core *core, struct hfi_number *number,
                     int64_t ttl_ms, int64_t now)
{
    if (hfi_hold_check(core, number, now) || hfi_number_leaves(number)) {
        return;
    }
    hfi_hold_lose(core, number, ttl_ms == -2 ? HF_LOST_GONE : HF_LOST_TAKEN,
                  now);
}

void hfi_hold_timer(struct hfi_core *core, struct hfi_number *number,
                    int64_t now)
{
    if (hfi_hold_check(core, number, now)) {
        return;
    }
    if (suspect_at(core, number) <= now) {
        number->suspect = true;
        warn(core, number, HF_SUSPECT, HF_NOT_LOST);
    }
    if (warning_at(number) <= now) {
        number->warned = true;
        warn(core, number, number->suspect ? HF_SUSPECT : HF_HELD,
             HF_LOST_MAX_HOLD);
    }
    hfi_hold_arm(core, number, now);
}

/* ---- local answers ---- */

void hfi_core_view(struct hfi_core *core, struct hfi_owner *owner,
                   const struct hfi_object *object, int64_t now,
                   struct hfi_hold_view *ret_view)
{
    struct hfi_name *record = hfi_name_get(core, object, false);
    struct hfi_number *number = NULL;

    memset(ret_view, 0, sizeof(*ret_view));
    if (record != NULL && owner != NULL) {
        number = hfi_name_number_of(record, object->kind, object->options,
                                    owner);
    }
    if (number == NULL || hfi_number_leaves(number)) {
        return;
    }
    hfi_number_field(core, number, ret_view->owner, sizeof(ret_view->owner));
    if (hfi_hold_check(core, number, now)) {
        ret_view->state = HF_STATE_LOST;
        ret_view->reason = number->lost_reason;
        return;
    }
    ret_view->token = number->kind->fenced ? number->token : 0;
    ret_view->state = number->suspect ? HF_SUSPECT : HF_HELD;
    ret_view->count = number->level_count;
    ret_view->remaining_ms = hfi_hold_deadline(number) - now;
    ret_view->proven_ms = number->renewed_at_ms;
}

/* Only by what a server or the time has done. */
static bool may_come_back(hf_lost_reason reason)
{
    return reason == HF_LOST_EXPIRED || reason == HF_LOST_UNREACHABLE ||
           reason == HF_LOST_TAKEN || reason == HF_LOST_GONE;
}

bool hfi_core_hold_forget(struct hfi_core *core, struct hfi_owner *owner,
                          const struct hfi_object *object, uint32_t levels,
                          int64_t now)
{
    struct hfi_name *record = hfi_name_get(core, object, false);
    struct hfi_number *number = NULL;

    if (record != NULL) {
        number = hfi_name_number_of(record, object->kind, object->options,
                                    owner);
    }
    if (number == NULL) {
        return true;
    }
    if (!hfi_hold_check(core, number, now) || number->state != NUMBER_LOST ||
        number->lost_levels > levels || !may_come_back(number->lost_reason)) {
        return false;
    }
    hfi_number_disown(core, number);
    hfi_number_move_to(core, number, NUMBER_OVER);
    hfi_number_tidy(core, number);
    return true;
}

static int64_t from_now(const struct hfi_number *number, int64_t ms,
                        int64_t now)
{
    return ms == 0 ? 0 : hfi_add_ms(now - number->held_since_ms, ms);
}

void hfi_core_hold_settle(struct hfi_core *core, struct hfi_owner *owner,
                          const struct hfi_object *object,
                          const struct hfi_settling *settling, int64_t now)
{
    struct hfi_name *record = hfi_name_get(core, object, false);
    struct hfi_number *number = NULL;
    struct hfi_terms *terms;

    if (record != NULL) {
        number = hfi_name_number_of(record, object->kind, object->options,
                                    owner);
    }
    if (number == NULL || hfi_hold_check(core, number, now)) {
        return;
    }
    if (settling->fixed) {
        hfi_level_at(number, number->level_count - 1)->renewed = false;
        if (hfi_hold_renewed_lease(number) == 0) {
            hfi_hold_stop_renewing(core, number);
        }
    }
    terms = number->terms;
    if (terms != NULL && terms->context == settling->context) {
        terms->min_hold_ms = from_now(number, settling->min_hold_ms, now);
        terms->max_hold_ms = from_now(number, settling->max_hold_ms, now);
        terms->max_hold_warning_ms = settling->max_hold_warning_ms;
    }
    hfi_hold_arm(core, number, now);
}

size_t hfi_core_holds_of_lock(struct hfi_core *core, const void *lock,
                              const struct hfi_object *object)
{
    struct hfi_name *record = hfi_name_get(core, object, false);
    const struct hfi_number *number;
    size_t holds = 0;

    if (record == NULL) {
        return 0;
    }
    DL_FOREACH2(record->numbers, number, name_next)
    {
        if (number->lock == lock && number->state == NUMBER_HELD) {
            holds++;
        }
    }
    return holds;
}
