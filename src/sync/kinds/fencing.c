/* SPDX-License-Identifier: MIT */
/* sync/kinds/fencing.c - what the commands of fenced kinds have beside those of
 * the kind itself: the token's key, and how its counter begins and ends.
 *
 * docs/wire/fenced.md.
 */
#include "sync/kinds/pieces.h"

void hfi_put_token_key(struct hfi_command_sink *sink,
                       const struct hfi_name *name)
{
    hfi_put_prefixed(sink, "redisson_lock_token", name);
}

void hfi_put_token_life(struct hfi_command_sink *sink,
                        const struct hfi_number *number)
{
    static const struct hfi_kind_options none;
    const struct hfi_kind_options *options = number->options == NULL
                                                 ? &none
                                                 : number->options;

    sink->number(sink, options->token_from_time ? 1 : 0);
    sink->number(sink, options->token_ttl_ms);
}

/* The same as the plain lock's, with the token's key behind the lock's and its
 * life behind the rest. */
static void put_with_token(struct hfi_core *core, const struct hfi_copy *copy,
                           struct hfi_command_sink *sink)
{
    const struct hfi_number *number = copy->number;

    hfi_put_key(sink, number->name);
    hfi_put_token_key(sink, number->name);
    hfi_put_field(core, sink, number);
    if (copy->request == HFI_ACQUIRE) {
        sink->number(sink, copy->lease_ms);
        sink->number(sink, copy->not_after_ms);
    } else {
        sink->number(sink, copy->count);
        sink->number(sink, copy->lease_ms);
    }
    hfi_put_token_life(sink, number);
}

void hfi_put_fenced(struct hfi_core *core, const struct hfi_copy *copy,
                    struct hfi_command_sink *sink)
{
    if (copy->request == HFI_ACQUIRE || copy->request == HFI_ADOPT) {
        put_with_token(core, copy, sink);
    } else if (copy->request == HFI_SHOW) {
        hfi_put_key(sink, copy->about->name);
        hfi_put_token_key(sink, copy->about->name);
        hfi_put_channel(sink, copy->about->name);
    } else {
        hfi_put_plain(core, copy, sink);
    }
}

void hfi_put_counting(struct hfi_core *core, const struct hfi_copy *copy,
                      struct hfi_command_sink *sink)
{
    if (copy->request == HFI_ENTER) {
        put_with_token(core, copy, sink);
    } else {
        hfi_put_fenced(core, copy, sink);
    }
}
