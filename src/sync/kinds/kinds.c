/* SPDX-License-Identifier: MIT */
/* sync/kinds/kinds.c - the kinds that an hf_lock can have, by number and word.
 */
#include "sync/kinds/kind.h"

#include <string.h>

static const struct hfi_kind *const kinds[] = {
    [HF_KIND_LOCK] = &hfi_kind_lock,
    [HF_KIND_NONREENTRANT] = &hfi_kind_nonreentrant,
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

const struct hfi_kind *hfi_kind_of(hf_kind kind)
{
    return (size_t)kind < KINDS ? kinds[kind] : NULL;
}

const char *hf_kind_word(hf_kind kind)
{
    const struct hfi_kind *found = hfi_kind_of(kind);

    return found == NULL ? NULL : found->word;
}

bool hf_kind_of_word(const char *word, hf_kind *ret_kind)
{
    for (size_t i = 0; word != NULL && i < KINDS; i++) {
        if (kinds[i] != NULL && strcmp(kinds[i]->word, word) == 0) {
            *ret_kind = (hf_kind)i;
            return true;
        }
    }
    return false;
}
