/* SPDX-License-Identifier: MIT */
/* sync/renew.c - the watchdog.
 *
 * Every renewed hold has a moment of its own at which its next RENEW is due: a
 * third of its lease after the last one that was answered was sent, a tenth
 * after one that was not, and then on the other link: the keeper's own may be
 * silent without having ended.  What is due together, or nearly so, travels in
 * one script of up to a hundred names of a kind, each with a result of its own: a name
 * that is gone, or holds something else, harms no other.  A batch that is
 * refused as a whole is repeated name by name.
 *
 * Nothing is renewed after it was released or lost: both take it out of the
 * heap, and an answer that still comes is ignored.
 */
#include "sync/mutations.h"
#include "sync/state.h"

#include <stdlib.h>

#define OF_RENEWAL(node)                                                       \
    ((struct hfi_number *)(void *)((char *)(node)-offsetof(struct hfi_number,  \
                                                           renewal)))

/* Names may be long: a batch that has so many bytes of them is full. */
#define BATCH_BYTES ((size_t)256 * 1024)

/* ---- sending ---- */

/* The next number of a class whose RENEW is due by then, taken out of its
 * turn. */
static struct hfi_number *take_due(struct hfi_core *core,
                                   enum hfi_renewal_class of, int64_t by)
{
    struct hfi_heap_node *node = hfi_heap_first(&core->renewals[of]);

    if (node == NULL || node->key > by) {
        return NULL;
    }
    hfi_hold_arm_renewal(core, OF_RENEWAL(node), HFI_NEVER);
    return OF_RENEWAL(node);
}

static void renewal_sent(struct hfi_core *core, struct hfi_number *number,
                         int64_t now)
{
    int64_t lease_ms = hfi_hold_renewed_lease(number);

    number->renew_tried = true;
    number->renew_elsewhere = !number->renew_elsewhere;
    if (lease_ms > number->longest_lease_ms) {
        number->longest_lease_ms = lease_ms;
    }
    hfi_hold_arm_renewal(
        core, number, now + hfi_hold_pace(core, number) / HFI_RETRY_PARTS + 1);
}

static void send_alone(struct hfi_core *core, struct hfi_number *number,
                       enum hfi_link_id link, int64_t now)
{
    struct hfi_copy *copy = hfi_copy_new(core, HFI_RENEW, link, now);
    int64_t lease = hfi_hold_renewed_lease(number);

    renewal_sent(core, number, now);
    if (copy == NULL) {
        return; /* out of memory: it is tried again in a tenth of the lease */
    }
    copy->number = number;
    copy->native = hfi_native_renews(core, number);
    number->bare += copy->native ? 1 : 0;
    copy->lease_ms = lease;
    copy->count = number->level_count;
    core->renewals_sent++;
    hfi_copy_send(core, copy);
}

/* Fill a batch with what is due, or nearly so.  Each is armed again only when it
 * is full: one of a short lease would be due again within the window of a long
 * one, and come in twice. */
static size_t fill(struct hfi_core *core, struct hfi_copy *copy,
                   struct hfi_number *first, int64_t now)
{
    int64_t by = now + hfi_hold_pace(core, first) / HFI_BATCH_WINDOW_PARTS;
    struct hfi_number *number = first;
    size_t count = 0;
    size_t bytes = 0;

    while (number != NULL) {
        struct hfi_batch_item *item = &copy->batch[count++];

        item->number = number;
        item->count = number->level_count;
        item->lease_ms = hfi_hold_renewed_lease(number);
        bytes += number->name->bytes;
        bytes += number->options == NULL ? 0 : number->options->values_bytes;
        if (count == HFI_BATCH_MAX || bytes > BATCH_BYTES) {
            break;
        }
        number = take_due(core, first->kind->renewals, by);
        if (number != NULL && number->alone) {
            hfi_hold_arm_renewal(core, number,
                                 now); /* in a script of its own */
            break;
        }
    }
    for (size_t i = 0; i < count; i++) {
        renewal_sent(core, copy->batch[i].number, now);
    }
    return count;
}

static void send_batch(struct hfi_core *core, struct hfi_number *first,
                       enum hfi_link_id link, int64_t now)
{
    struct hfi_copy *copy = hfi_copy_new(core, HFI_RENEW, link, now);
    struct hfi_batch_item *batch;

    batch = malloc(HFI_BATCH_MAX * sizeof(*batch));
    if (copy == NULL || batch == NULL) {
        free(copy);
        free(batch);
        renewal_sent(core, first, now);
        return;
    }
    copy->batch = batch;
    copy->batch_count = fill(core, copy, first, now);
    core->renewals_sent++;
    hfi_copy_send(core, copy);
}

/* Another one would go along with it. */
static bool more_are_due(const struct hfi_core *core,
                         const struct hfi_number *number, int64_t now)
{
    const struct hfi_heap_node *next = hfi_heap_first(
        &core->renewals[number->kind->renewals]);

    return next != NULL && next->key <= now + hfi_hold_pace(core, number) /
                                                  HFI_BATCH_WINDOW_PARTS;
}

static void renew_class(struct hfi_core *core, enum hfi_renewal_class of,
                        int64_t now)
{
    struct hfi_number *number;
    enum hfi_link_id link;

    while ((number = take_due(core, of, now)) != NULL) {
        link = hfi_pick_link(core, number->renew_elsewhere ? HFI_LINK_MAIN
                                                           : HFI_LINK_KEEPER);
        if (link == HFI_COMMAND_LINKS) {
            /* Due as soon as there is a link.  If that is too late, the server
             * was out of reach, and not this process stopped. */
            number->renew_tried = number->renew_tried ||
                                  now < hfi_hold_deadline(number);
            continue;
        }
        if (!HFI_MUTATION(renewed_after_release) &&
            (hfi_hold_check(core, number, now) ||
             hfi_hold_pace(core, number) == 0)) {
            continue;
        }
        if (number->alone || (hfi_native_renews(core, number) &&
                              !more_are_due(core, number, now))) {
            send_alone(core, number, link, now);
        } else {
            send_batch(core, number, link, now);
        }
    }
}

void hfi_renew_due(struct hfi_core *core, int64_t now)
{
    for (int of = 0; of < HFI_RENEWAL_CLASSES; of++) {
        renew_class(core, (enum hfi_renewal_class)of, now);
    }
}

/* ---- answers ---- */

/* One name's result.  Refused: it is tried again when a tenth has passed. */
static void on_result(struct hfi_core *core, struct hfi_number *number,
                      const struct hfi_copy *copy, int64_t lease_ms,
                      const struct hfi_value *value, int64_t now)
{
    if (HFI_MUTATION(lost_held_again) && number->state == NUMBER_LOST &&
        value->kind == HFI_NIL && copy->sent_at_ms + lease_ms / 2 > now &&
        number->lost_reason != HF_LOST_MAX_HOLD) {
        hfi_number_move_to(core, number, NUMBER_HELD);
        number->level_count = number->lost_levels;
        hfi_hold_extended(core, number, copy, lease_ms, now);
    }
    if (!HFI_MUTATION(answer_after_deadline) &&
        hfi_hold_check(core, number, now)) {
        return;
    }
    if (hfi_number_done(number, value)) {
        if (hfi_cut_allows(number, copy, value)) {
            hfi_hold_extended(core, number, copy, lease_ms, now);
        }
    } else if (value->kind == HFI_INTEGER && HFI_MUTATION(absent_ignored)) {
        hfi_hold_extended(core, number, copy, lease_ms, now);
    } else if (value->kind == HFI_INTEGER) {
        hfi_hold_absent(core, number, value->integer, now);
    } else if (value->kind == HFI_ERROR &&
               value->refusal == HFI_REFUSAL_WRONG_TYPE) {
        hfi_hold_absent(core, number, -2, now);
    }
}

/* What was not done for a reason that has nothing to do with the names. */
static void repeat_now(struct hfi_core *core, const struct hfi_copy *copy,
                       bool alone, int64_t now)
{
    for (size_t i = 0; i < copy->batch_count; i++) {
        struct hfi_number *number = copy->batch[i].number;

        if (number->state == NUMBER_HELD) {
            number->alone |= alone;
            hfi_hold_arm_renewal(core, number, now);
        }
    }
    if (copy->number != NULL && copy->number->state == NUMBER_HELD) {
        hfi_hold_arm_renewal(core, copy->number, now);
    }
}

static void on_refused(struct hfi_core *core, const struct hfi_copy *copy,
                       const struct hfi_value *value, int64_t now)
{
    if (value->refusal == HFI_REFUSAL_NO_SCRIPT) {
        hfi_script_unknown(core, copy);
        repeat_now(core, copy, false, now);
        hfi_renew_due(core, now);
    } else if (value->refusal != HFI_REFUSAL_UNAVAILABLE) {
        repeat_now(core, copy, true, now);
        hfi_renew_due(core, now);
    }
}

/* Whatever it says, that link speaks: what is repeated goes there. */
static void heard_of(const struct hfi_copy *copy)
{
    bool elsewhere = copy->link == HFI_LINK_MAIN;

    for (size_t i = 0; i < copy->batch_count; i++) {
        copy->batch[i].number->renew_elsewhere = elsewhere;
    }
    if (copy->number != NULL) {
        copy->number->renew_elsewhere = elsewhere;
    }
}

/* A bare command: it was done, or it does not say why not, and the script is
 * asked. */
static void on_bare_result(struct hfi_core *core, const struct hfi_copy *copy,
                           const struct hfi_value *value, int64_t now)
{
    struct hfi_number *number = copy->number;
    struct hfi_value done = {.kind = HFI_NIL};

    if (value->kind == HFI_TEXT) {
        on_result(core, number, copy, copy->lease_ms, &done, now);
        return;
    }
    if (value->kind == HFI_ERROR && value->refusal == HFI_REFUSAL_OTHER) {
        hfi_native_unknown(core);
    }
    if (number->state == NUMBER_HELD) {
        number->alone = true;
        hfi_hold_arm_renewal(core, number, now);
        hfi_renew_due(core, now);
    }
}

void hfi_renew_answer(struct hfi_core *core, struct hfi_copy *copy,
                      struct hfi_value *value, int64_t now)
{
    heard_of(copy);
    if (copy->native) {
        copy->number->bare--;
        on_bare_result(core, copy, value, now);
        return;
    }
    if (copy->number != NULL) {
        if (value->kind == HFI_ERROR &&
            value->refusal == HFI_REFUSAL_NO_SCRIPT) {
            on_refused(core, copy, value, now);
        } else {
            on_result(core, copy->number, copy, copy->lease_ms, value, now);
        }
        return;
    }
    if (value->kind == HFI_ERROR) {
        on_refused(core, copy, value, now);
        return;
    }
    if (value->kind != HFI_ARRAY || value->count != copy->batch_count) {
        return; /* not understood: as if it were unanswered */
    }
    for (size_t i = 0; i < copy->batch_count; i++) {
        on_result(core, copy->batch[i].number, copy, copy->batch[i].lease_ms,
                  &value->items[i], now);
    }
}

/* After its link is gone a RENEW is due again soon: soon enough for another
 * link to save the lease, not so soon that a server which closes whatever it is
 * sent would be hammered. */
static void due_soon(struct hfi_core *core, struct hfi_number *number,
                     int64_t now)
{
    int64_t pause = hfi_hold_pace(core, number) / HFI_GONE_PARTS;

    if (number->state != NUMBER_HELD || number->renewal.key == HFI_NEVER) {
        return;
    }
    pause = pause < HFI_GONE_PAUSE_MAX_MS ? pause : HFI_GONE_PAUSE_MAX_MS;
    if (now + pause + 1 < number->renewal.key) {
        hfi_hold_arm_renewal(core, number, now + pause + 1);
    }
}

void hfi_renew_copy_gone(struct hfi_core *core, struct hfi_copy *copy,
                         int64_t now)
{
    if (copy->number != NULL) {
        due_soon(core, copy->number, now);
    }
    for (size_t i = 0; i < copy->batch_count; i++) {
        due_soon(core, copy->batch[i].number, now);
    }
}
