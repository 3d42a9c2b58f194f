/* SPDX-License-Identifier: MIT */
/* sync/kinds/semaphore.c - the counting semaphore, Redisson's RSemaphore.
 *
 * Key: the name itself, a number.  Channel: redisson_sc:{name}; message: how
 * many there are.  Beside them a record of each request,
 * holdfast_request:{name}:uuid:number.  docs/wire/semaphore.md.
 */
#include "sync/kinds/pieces.h"

#include <string.h>

static void put_change(struct hfi_core *core, const struct hfi_copy *copy,
                       struct hfi_command_sink *sink)
{
    const struct hfi_op_request *ask = &copy->about->ask;

    (void)core;
    sink->arg(sink, ask->word, strlen(ask->word));
    sink->number(sink, ask->count);
    hfi_put_window(sink, copy->number);
    hfi_put_channel(sink, copy->number->name);
    sink->number(sink, ask->lease_ms);
}

static void semaphore_write(struct hfi_core *core, const struct hfi_copy *copy,
                            struct hfi_command_sink *sink)
{
    if (copy->request == HFI_TELL) {
        hfi_put_key(sink, copy->about->name);
        hfi_put_channel(sink, copy->about->name);
        return;
    }
    hfi_put_key(sink, copy->number->name);
    hfi_put_record(core, sink, copy->number->name, copy->number->n);
    hfi_put_old_records(core, sink, copy);
    if (copy->request == HFI_CHANGE) {
        put_change(core, copy, sink);
        return;
    }
    if (copy->request != HFI_FENCE) {
        sink->number(sink, copy->number->amount);
    }
    hfi_put_window(sink, copy->number);
    if (copy->request == HFI_UNDO) {
        hfi_put_channel(sink, copy->number->name);
    }
}

const struct hfi_kind hfi_kind_semaphore = {
    .word = "semaphore",
    .family = HFI_FAMILY_SEMAPHORE,
    .queueing = HFI_QUEUE_BY_DEMAND,
    .field_end = "",
    .channel_word = "redisson_sc",
    .records = true,
    .tells = 1,
    .use =
        {
            [HFI_TAKE] = {HFI_SCRIPT_SEMAPHORE_TAKE, 2, 3},
            [HFI_CHANGE] = {HFI_SCRIPT_SEMAPHORE_CHANGE, 2, 6},
            [HFI_FENCE] = {HFI_SCRIPT_COUNT_FENCE, 2, 2},
            [HFI_UNDO] = {HFI_SCRIPT_SEMAPHORE_UNDO, 2, 4},
            [HFI_TELL] = {HFI_SCRIPT_SEMAPHORE_SHOW, 1, 1},
        },
    .write = semaphore_write,
};
