/* SPDX-License-Identifier: MIT */
/* sync/kinds/together.c - the command that takes several locks, all or none.
 *
 * What it is for does not matter to a kind: one script knows those whose
 * `together` it is told (docs/wire/together.md).  Keys: of each its own, then the
 * tokens of those that are fenced.
 */
#include "sync/kinds/pieces.h"

#include <string.h>

#include "scripts_data.h"

const struct hfi_script_use hfi_use_together = {HFI_SCRIPT_TOGETHER_ACQUIRE, 1,
                                                4};

size_t hfi_together_tokens(const struct hfi_copy *copy)
{
    size_t count = 0;

    for (size_t i = 0; i < copy->batch_count; i++) {
        count += copy->batch[i].number->kind->fenced;
    }
    return count;
}

static void put_args(struct hfi_core *core, struct hfi_command_sink *sink,
                     const struct hfi_number *number)
{
    const struct hfi_kind *kind = number->kind;

    sink->arg(sink, kind->together, strlen(kind->together));
    hfi_put_field(core, sink, number);
    if (kind->fenced) {
        hfi_put_token_life(sink, number);
    } else {
        sink->arg(sink, "-", 1);
        sink->number(sink, 0);
    }
}

void hfi_put_together(struct hfi_core *core, const struct hfi_copy *copy,
                      struct hfi_command_sink *sink)
{
    for (size_t i = 0; i < copy->batch_count; i++) {
        hfi_put_key(sink, copy->batch[i].number->name);
    }
    for (size_t i = 0; i < copy->batch_count; i++) {
        if (copy->batch[i].number->kind->fenced) {
            hfi_put_token_key(sink, copy->batch[i].number->name);
        }
    }
    sink->number(sink, copy->lease_ms);
    sink->number(sink, copy->not_after_ms);
    for (size_t i = 0; i < copy->batch_count; i++) {
        put_args(core, sink, copy->batch[i].number);
    }
}
