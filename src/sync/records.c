/* SPDX-License-Identifier: MIT */
/* sync/records.c - the records that requests of counts leave on the server.
 *
 * A request of a semaphore or a latch is known by an id, and the server keeps
 * what it answered for some minutes: so a copy that runs twice counts once.
 * Once every copy was answered nobody will read the record again.  Then the
 * next request on that name brings its key along, and its script deletes it.
 *
 * For that a name is remembered although nothing concerns it any more: it
 * rests.  So many may rest, the longest-resting goes first, and what it leaves
 * on the server ends by its TTL.
 */
#include "sync/state.h"

#include <stdlib.h>
#include <string.h>

/* Names that rest, and how long a name may be that does: some 100 kB in all. */
#define RESTING_MAX 256
#define RESTING_BYTES_MAX 256

struct hfi_counts *hfi_counts_of(struct hfi_name *name)
{
    if (name->counts == NULL) {
        name->counts = calloc(1, sizeof(*name->counts));
        if (name->counts != NULL) {
            name->counts->name = name;
        }
    }
    return name->counts;
}

void hfi_records_keep(struct hfi_core *core, struct hfi_name *name, uint64_t n)
{
    struct hfi_counts *counts = hfi_counts_of(name);

    if (counts == NULL || core->closed) {
        return; /* its TTL ends it */
    }
    if (counts->old_count == HFI_OLD_KEPT) {
        counts->old_count--;
        memmove(counts->old, counts->old + 1,
                counts->old_count * sizeof(counts->old[0]));
    }
    counts->old[counts->old_count++] = n;
}

void hfi_records_send(struct hfi_name *name, struct hfi_copy *copy)
{
    struct hfi_counts *counts = name->counts;

    while (counts != NULL && counts->old_count > 0 &&
           copy->old_count < HFI_OLD_MAX) {
        copy->old[copy->old_count++] = counts->old[--counts->old_count];
    }
}

void hfi_records_put_back(struct hfi_core *core, struct hfi_copy *copy)
{
    while (copy->old_count > 0) {
        hfi_records_keep(core, copy->number->name,
                         copy->old[--copy->old_count]);
    }
}

/* ---- resting ---- */

static void stop_resting(struct hfi_core *core, struct hfi_counts *counts)
{
    DL_DELETE(core->resting, counts);
    core->resting_count--;
    counts->resting = false;
}

bool hfi_name_rests(struct hfi_core *core, struct hfi_name *name)
{
    struct hfi_counts *counts = name->counts;

    if (counts == NULL || counts->old_count == 0 || core->closed ||
        name->bytes > RESTING_BYTES_MAX) {
        return false;
    }
    if (!counts->resting) {
        counts->resting = true;
        DL_APPEND(core->resting, counts);
        core->resting_count++;
    }
    if (core->resting_count > RESTING_MAX) {
        counts = core->resting;
        counts->old_count = 0;
        hfi_name_tidy(core, counts->name);
    }
    return true;
}

void hfi_name_wakes(struct hfi_core *core, struct hfi_name *name)
{
    if (name->counts != NULL && name->counts->resting) {
        stop_resting(core, name->counts);
    }
}

void hfi_counts_free(struct hfi_core *core, struct hfi_name *name)
{
    hfi_name_wakes(core, name);
    free(name->counts);
    name->counts = NULL;
}
