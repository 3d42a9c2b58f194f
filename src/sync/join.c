/* SPDX-License-Identifier: MIT */
/* sync/join.c - requests that leave as one.
 *
 * A short script costs the server more to begin than to run.  So RELEASEs of
 * locks for which that is so may wait in the driver's hands until it writes, and
 * those that have gathered leave as one script over all of them, with a result
 * for each.  For the core they stay what they were: each has its call and its
 * number, its answer is its own, and what runs late runs as late as it would
 * have alone.
 *
 * A script that is refused as a whole has done nothing: each of its requests is
 * sent again, and by itself, unless only the script's text was missing.
 */
#include <utlist.h>

#include "sync/kinds/pieces.h"
#include "sync/state.h"

bool hfi_copy_joins(const struct hfi_copy *copy)
{
    return copy->request == HFI_RELEASE && !copy->native && !copy->with_text &&
           copy->rest_ms == 0 && !copy->number->alone &&
           copy->number->kind->release_joined.keys > 0;
}

struct hfi_copy *hfi_copy_join(struct hfi_core *core, struct hfi_copy *copies)
{
    struct hfi_copy *copy = hfi_copy_new(core, copies->request, copies->link,
                                         copies->sent_at_ms);
    const struct hfi_copy *each;

    if (copy == NULL) {
        return NULL;
    }
    DL_FOREACH (copies, each) {
        copy->joined_count++;
    }
    copy->joined = copies;
    copy->with_text = core->with_text[hfi_copy_script(copy)];
    core->with_text[hfi_copy_script(copy)] = false;
    return copy;
}

/* ---- written: the keys of all, then the arguments of all ---- */

/* Hands on some of the words that one copy puts into it. */
struct some {
    struct hfi_command_sink base;
    struct hfi_command_sink *to;
    size_t at, from, upto;
};

static bool is_wanted(const struct some *some)
{
    return some->at >= some->from && some->at < some->upto;
}

static void some_arg(struct hfi_command_sink *base, const void *bytes,
                     size_t len)
{
    struct some *some = (struct some *)base;

    if (is_wanted(some)) {
        some->to->arg(some->to, bytes, len);
    }
    some->at++;
}

static void some_number(struct hfi_command_sink *base, int64_t value)
{
    struct some *some = (struct some *)base;

    if (is_wanted(some)) {
        some->to->number(some->to, value);
    }
    some->at++;
}

static void some_piece(struct hfi_command_sink *base, const void *bytes,
                       size_t len)
{
    const struct some *some = (struct some *)base;

    if (is_wanted(some)) {
        some->to->piece(some->to, bytes, len);
    }
}

static void put_some(struct hfi_core *core, const struct hfi_copy *copy,
                     struct some *some)
{
    const struct hfi_copy *each;

    DL_FOREACH (copy->joined, each) {
        some->at = 0;
        each->number->kind->write(core, each, &some->base);
    }
}

void hfi_put_joined(struct hfi_core *core, const struct hfi_copy *copy,
                    struct hfi_command_sink *sink)
{
    const struct hfi_script_use *use =
        &copy->joined->number->kind->release_joined;
    struct some some = {{some_arg, some_number, some_piece}, sink, 0, 0, 0};

    some.upto = use->keys;
    put_some(core, copy, &some);
    some.from = use->keys;
    some.upto = use->keys + use->args;
    put_some(core, copy, &some);
}

/* ---- answered ---- */

static struct hfi_copy *take_first(struct hfi_copy *copy)
{
    struct hfi_copy *first = copy->joined;

    DL_DELETE(copy->joined, first);
    return first;
}

/* All of it was refused, or not understood. */
static void send_apart(struct hfi_core *core, struct hfi_copy *copy,
                       const struct hfi_value *value, int64_t now)
{
    bool refused = value->kind == HFI_ERROR;
    bool no_text = refused && value->refusal == HFI_REFUSAL_NO_SCRIPT &&
                   !copy->with_text;

    if (no_text) {
        hfi_script_unknown(core, copy);
    }
    while (copy->joined != NULL) {
        struct hfi_copy *each = take_first(copy);

        each->number->alone |= !no_text;
        hfi_core_copy_gone(core, each, !refused, now);
    }
}

void hfi_joined_answer(struct hfi_core *core, struct hfi_copy *copy,
                       struct hfi_value *value, int64_t now)
{
    enum hfi_link_id here = core->here;

    if (value->kind != HFI_ARRAY || value->count != copy->joined_count) {
        send_apart(core, copy, value, now);
        return;
    }
    for (size_t i = 0; i < value->count; i++) {
        hfi_core_answer(core, take_first(copy), &value->items[i], here, now);
    }
}

void hfi_joined_gone(struct hfi_core *core, struct hfi_copy *copy, bool written,
                     int64_t now)
{
    while (copy->joined != NULL) {
        hfi_core_copy_gone(core, take_first(copy), written, now);
    }
}
