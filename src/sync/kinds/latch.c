/* SPDX-License-Identifier: MIT */
/* sync/kinds/latch.c - the count-down latch, Redisson's RCountDownLatch.
 *
 * Key: the name itself, a number.  Channel:
 * redisson_countdownlatch__channel__{name}, always with braces of its own;
 * messages: 0 when it opens, 1 when it was armed or deleted.  Beside them a
 * record of each request as a semaphore's, and which of them armed it,
 * holdfast_latch_armed:{name}.  docs/wire/latch.md.
 */
#include "sync/kinds/pieces.h"

#include <string.h>

static const char armed_word[] = "holdfast_latch_armed";

static void put_look(const struct hfi_copy *copy, struct hfi_command_sink *sink)
{
    hfi_put_key(sink, copy->about->name);
    hfi_put_prefixed(sink, armed_word, copy->about->name);
    if (copy->request == HFI_TELL) {
        hfi_put_channel(sink, copy->about->name);
    } else {
        sink->arg(sink, "", 0);
    }
}

static void put_change(struct hfi_core *core, const struct hfi_copy *copy,
                       struct hfi_command_sink *sink)
{
    const struct hfi_op_request *ask = &copy->about->ask;

    hfi_put_prefixed(sink, armed_word, copy->number->name);
    hfi_put_old_records(core, sink, copy);
    sink->arg(sink, ask->word, strlen(ask->word));
    sink->number(sink, ask->count);
    hfi_put_window(sink, copy->number);
    hfi_put_channel(sink, copy->number->name);
    hfi_put_field(core, sink, copy->number);
}

static void latch_write(struct hfi_core *core, const struct hfi_copy *copy,
                        struct hfi_command_sink *sink)
{
    if (copy->number == NULL) {
        put_look(copy, sink);
        return;
    }
    hfi_put_key(sink, copy->number->name);
    hfi_put_record(core, sink, copy->number->name, copy->number->n);
    if (copy->request == HFI_CHANGE) {
        put_change(core, copy, sink);
    } else {
        hfi_put_window(sink, copy->number);
    }
}

const struct hfi_kind hfi_kind_latch = {
    .word = "latch",
    .family = HFI_FAMILY_LATCH,
    .queueing = HFI_QUEUE_ALL,
    .field_end = "",
    .channel_word = "redisson_countdownlatch__channel__",
    .channel_in_braces = true,
    .records = true,
    .tells = 0,
    .use =
        {
            [HFI_CHANGE] = {HFI_SCRIPT_LATCH_CHANGE, 3, 6},
            [HFI_FENCE] = {HFI_SCRIPT_COUNT_FENCE, 2, 2},
            [HFI_LOOK] = {HFI_SCRIPT_LATCH_LOOK, 2, 1},
            [HFI_TELL] = {HFI_SCRIPT_LATCH_LOOK, 2, 1},
        },
    .write = latch_write,
};
