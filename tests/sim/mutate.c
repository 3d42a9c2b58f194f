/* SPDX-License-Identifier: MIT */
/* mutate.c - which mistake is planted. */
#include "sim/mutate.h"

#include <string.h>

#include "sync/mutations.h"

enum hfi_mutation hfi_mutation;

static const char *const names[HFI_MUTATIONS] = {[HFI_MUTATION_none] = "none",
#define NAME(name, text) [HFI_MUTATION_##name] = #name,
                                                 HFI_MUTATION_MAP(NAME)
#undef NAME
};

bool sim_mutate(const char *name)
{
    for (size_t i = 0; i < HFI_MUTATIONS; i++) {
        if (strcmp(names[i], name) == 0) {
            hfi_mutation = (enum hfi_mutation)i;
            return true;
        }
    }
    return false;
}
