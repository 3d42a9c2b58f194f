/* SPDX-License-Identifier: MIT */
/* sync/kinds/kinds.c - the kinds that an hf_lock can have, by number and word.
 */
#include "sync/kinds/kind.h"

#include <string.h>

/* The records of a kind, by fencing. */
struct listed {
    const char *word;
    const struct hfi_kind *by_fencing[HFI_FENCINGS];
};

#define ALL_OF(records)                                                        \
    {                                                                          \
        &(records)[HFI_UNFENCED], &(records)[HFI_FENCED],                      \
            &(records)[HFI_FENCED_COUNTING]                                    \
    }

static const struct listed kinds[] = {
    [HF_KIND_LOCK] = {"lock", ALL_OF(hfi_kinds_lock)},
    [HF_KIND_FAIR] = {"fair", ALL_OF(hfi_kinds_fair)},
    [HF_KIND_READ] = {"read", {&hfi_kind_read}},
    [HF_KIND_WRITE] = {"write", ALL_OF(hfi_kinds_write)},
    [HF_KIND_FENCED] = {"fenced",
                        {&hfi_kinds_lock[HFI_FENCED],
                         &hfi_kinds_lock[HFI_FENCED],
                         &hfi_kinds_lock[HFI_FENCED_COUNTING]}},
    [HF_KIND_SPIN] = {"spin", ALL_OF(hfi_kinds_spin)},
    [HF_KIND_TOKEN] = {"token", ALL_OF(hfi_kinds_token)},
    [HF_KIND_NONREENTRANT] = {"nonreentrant", ALL_OF(hfi_kinds_nonreentrant)},
    [HF_KIND_NONREENTRANT_FAIR] = {"nonreentrant-fair",
                                   ALL_OF(hfi_kinds_nonreentrant_fair)},
    [HF_KIND_VALUES] = {"values", {NULL}}, /* not by its kind alone */
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

const struct hfi_kind *hfi_kind_of(hf_kind kind, enum hfi_fencing fencing)
{
    return (size_t)kind < KINDS ? kinds[kind].by_fencing[fencing] : NULL;
}

const struct hfi_kind *hfi_kind_giving_way(const struct hfi_kind *kind)
{
    if (kind == &hfi_kind_read) {
        return &hfi_kind_polite_read;
    }
    for (int i = 0; i < HFI_FENCINGS; i++) {
        if (kind == &hfi_kinds_write[i]) {
            return &hfi_kinds_urgent_write[i];
        }
    }
    return kind;
}

const char *hf_kind_word(hf_kind kind)
{
    return (size_t)kind < KINDS ? kinds[kind].word : NULL;
}

bool hf_kind_of_word(const char *word, hf_kind *ret_kind)
{
    for (size_t i = 0; word != NULL && i < KINDS; i++) {
        if (kinds[i].word != NULL && strcmp(kinds[i].word, word) == 0) {
            *ret_kind = (hf_kind)i;
            return true;
        }
    }
    return false;
}
