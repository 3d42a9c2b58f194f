/* SPDX-License-Identifier: MIT */
/* sync/native.c - bare commands in place of scripts, where the server has them.
 *
 * A token lock is released by compare-and-delete and renewed by compare-and-set.
 * Newer servers can do both by one command: DELIFEQ (Valkey from 9.0), DELEX key
 * IFEQ (Redis from 8.4), and with either of them SET ... IFEQ.  The first
 * release of such a lock asks the server which it knows (PROBE), and goes by
 * script itself; so does everything else until the answer is there, and for
 * ever if it is "none", or is refused by an ACL.  A new connection may lead to
 * another server: then it is asked again.
 *
 * A bare renewal sets the TTL where a script only extends it, and it looks at no
 * time: one that is late cuts short what was extended meanwhile.  So as long as
 * one is unanswered its hold is not extended, and not handed on: that waits for
 * the answer, and is not done if there is none.
 *
 * A bare command says less than a script.  That the token was not there does
 * not say who has the lock now: then the script is asked as well.  And it
 * publishes nothing: a release has a PUBLISH (WAKE) right behind it.
 */
#include <string.h>

#include "sync/kinds/pieces.h"
#include "sync/mutations.h"

void hfi_native_forget(struct hfi_core *core)
{
    core->compare = HFI_COMPARE_UNKNOWN;
}

/* Ask what the server knows; whatever the answer, nobody waits for it. */
static void probe(struct hfi_core *core, struct hfi_number *number,
                  enum hfi_link_id link, int64_t now)
{
    struct hfi_copy *copy = hfi_copy_new(core, HFI_PROBE, link, now);

    if (copy == NULL) {
        return;
    }
    copy->native = true;
    copy->number = number;
    core->compare = HFI_COMPARE_ASKED;
    hfi_copy_send(core, copy);
}

bool hfi_native_releases(struct hfi_core *core, const struct hfi_op *op,
                         enum hfi_link_id link, int64_t now)
{
    if (!op->number->kind->native_compare || op->later_ms > 0 ||
        op->by_script) {
        return false;
    }
    if (core->compare == HFI_COMPARE_UNKNOWN) {
        probe(core, op->number, link, now);
    }
    return core->compare > HFI_COMPARE_NONE;
}

bool hfi_native_renews(const struct hfi_core *core,
                       const struct hfi_number *number)
{
    /* SET sets the TTL: one that was extended further must not get shorter.
     * While one may still run, nothing is extended (hfi_native_may_shorten). */
    return number->kind->native_compare && !number->alone &&
           number->foreign == NULL && core->compare > HFI_COMPARE_NONE &&
           hfi_hold_renewed_lease(number) >= number->longest_lease_ms;
}

bool hfi_native_may_shorten(const struct hfi_number *number)
{
    return number->bare > 0 && !HFI_MUTATION(bare_overtakes);
}

void hfi_native_tell(struct hfi_core *core, struct hfi_number *number,
                     enum hfi_link_id link, int64_t now)
{
    struct hfi_copy *copy = hfi_copy_new(core, HFI_WAKE, link, now);

    if (copy == NULL) {
        return; /* who waits asks again within the re-try bound */
    }
    copy->native = true;
    copy->number = number;
    hfi_copy_send(core, copy);
}

void hfi_native_unknown(struct hfi_core *core)
{
    core->compare = HFI_COMPARE_NONE;
}

static bool is_known(const struct hfi_value *value)
{
    return value->kind == HFI_ARRAY && value->count > 0;
}

void hfi_native_answer(struct hfi_core *core, struct hfi_copy *copy,
                       struct hfi_value *value, int64_t now)
{
    (void)now;
    if (copy->request != HFI_PROBE || core->compare != HFI_COMPARE_ASKED) {
        return;
    }
    if (value->kind != HFI_ARRAY || value->count != 2) {
        core->compare = HFI_COMPARE_NONE;
    } else if (is_known(&value->items[0])) {
        core->compare = HFI_COMPARE_DELIFEQ;
    } else if (is_known(&value->items[1])) {
        core->compare = HFI_COMPARE_DELEX;
    } else {
        core->compare = HFI_COMPARE_NONE;
    }
}

/* ---- the words ---- */

static void put_word(struct hfi_command_sink *sink, const char *word)
{
    sink->arg(sink, word, strlen(word));
}

static void put_release(struct hfi_core *core, const struct hfi_copy *copy,
                        struct hfi_command_sink *sink)
{
    bool delex = core->compare == HFI_COMPARE_DELEX;

    put_word(sink, delex ? "DELEX" : "DELIFEQ");
    hfi_put_key(sink, copy->number->name);
    if (delex) {
        put_word(sink, "IFEQ");
    }
    hfi_put_field(core, sink, copy->number);
}

static void put_set(struct hfi_core *core, const struct hfi_copy *copy,
                    struct hfi_command_sink *sink)
{
    put_word(sink, "SET");
    hfi_put_key(sink, copy->number->name);
    hfi_put_field(core, sink, copy->number);
    if (copy->request == HFI_ACQUIRE) {
        put_word(sink, "NX");
    } else {
        put_word(sink, "IFEQ");
        hfi_put_field(core, sink, copy->number);
    }
    put_word(sink, "PX");
    sink->number(sink, copy->lease_ms);
}

void hfi_put_native(struct hfi_core *core, const struct hfi_copy *copy,
                    struct hfi_command_sink *sink)
{
    if (copy->request == HFI_PROBE) {
        put_word(sink, "COMMAND");
        put_word(sink, "INFO");
        put_word(sink, "DELIFEQ");
        put_word(sink, "DELEX");
    } else if (copy->request == HFI_WAKE) {
        put_word(sink, "PUBLISH");
        hfi_put_channel(sink, copy->number->name);
        put_word(sink, "0");
    } else if (copy->request == HFI_RELEASE) {
        put_release(core, copy, sink);
    } else {
        put_set(core, copy, sink);
    }
}
