/* SPDX-License-Identifier: MIT */
/* sync/cut.c - leases that are made shorter.
 *
 * CUT sets the lease of a permit, whatever it was.  All else only lengthens, so
 * an answer may always be believed that says so; but behind a CUT it may be
 * that a copy of the CUT runs later, and ends on the server what was lengthened
 * here.  Therefore a CUT carries a not_after, and the deadline is cut when it
 * is *sent*.  Afterwards an answer lengthens the deadline only if
 *
 *   - no CUT was sent since its own copy was, and
 *   - all CUTs before were answered when it was sent, or it shows a server's
 *     time past their last not_after.
 *
 * docs/design/late-copies.md.
 */
#include "sync/state.h"

/* A CUT may wait on its way for half of its lease, so that renewals are
 * believed again in time; and for so long at least. */
static int64_t life_of(const struct hfi_core *core, int64_t lease_ms)
{
    int64_t life = lease_ms / 2;

    life = life > HFI_NOT_AFTER_MIN_MS ? life : HFI_NOT_AFTER_MIN_MS;
    return life < core->config.response_limit_ms
               ? life
               : core->config.response_limit_ms;
}

void hfi_cut_send(struct hfi_core *core, struct hfi_op *op,
                  struct hfi_copy *copy, int64_t now)
{
    struct hfi_number *number = op->number;
    struct hfi_permit *permit = number->permit;
    struct level *level = &number->first;
    int64_t lease_ms = op->level.lease_ms;
    int64_t deadline_ms = now + lease_ms - hfi_margin_ms(lease_ms);

    copy->not_after_ms = hfi_server_now(core, now) + life_of(core, lease_ms);
    copy->settled_ms = permit->cuts_unanswered > 0 ? permit->cut_not_after_ms
                                                   : 0;
    permit->cuts_unanswered++;
    permit->cut_order = core->scripts_sent + 1;
    permit->cut_clean_order = HFI_NEVER;
    if (copy->not_after_ms > permit->cut_not_after_ms) {
        permit->cut_not_after_ms = copy->not_after_ms;
    }
    if (deadline_ms <= level->deadline_ms) {
        op->shortens = true;
        level->deadline_ms = deadline_ms;
        if (lease_ms < level->lease_ms) {
            level->lease_ms = lease_ms;
        }
        number->renewed_at_ms = now; /* the next is due by the new lease */
        hfi_hold_stop_renewing(core, number); /* arms it, if it is renewed */
        hfi_hold_arm(core, number, now);
    }
}

void hfi_cut_landed(const struct hfi_core *core, struct hfi_number *number)
{
    struct hfi_permit *permit = number->permit;

    permit->cuts_unanswered--;
    if (permit->cuts_unanswered == 0) {
        permit->cut_clean_order = core->scripts_sent;
    }
}

bool hfi_cut_allows(const struct hfi_number *number,
                    const struct hfi_copy *copy, const struct hfi_value *value)
{
    const struct hfi_permit *permit;
    int64_t server_ms = value->kind == HFI_INTEGER ? value->integer : 0;

    if (!number->kind->has_ids || number->permit->cut_order == 0) {
        return true; /* nothing ever shortened it */
    }
    permit = number->permit;
    if (copy->request == HFI_CUT) {
        return copy->order >= permit->cut_order &&
               server_ms >= copy->settled_ms;
    }
    return copy->order > permit->cut_order &&
           (copy->order > permit->cut_clean_order ||
            server_ms >= permit->cut_not_after_ms);
}
