/* SPDX-License-Identifier: MIT */
/* mutants.h - mistakes that can be planted in the scripts as they ship. */
#ifndef SIM_MUTANTS_H
#define SIM_MUTANTS_H

#include <stddef.h>

#include "scripts_data.h"

/* In a script's text, this instead of that: the first such place. */
struct sim_patch {
    const char *script;
    const char *right; /* it has to be there */
    const char *wrong;
};

#define SIM_PATCHES 2

struct sim_mutant {
    const char *name;
    const char *caught_by; /* the invariants that may be the first to break */
    struct sim_patch patches[SIM_PATCHES];
};

/* All of them; the last has no name. */
extern const struct sim_mutant sim_mutants[];
const struct sim_mutant *sim_mutant_of(const char *name); /* or NULL */

/* The script's text with the patches that are for it, lent until the next such
 * call; NULL: none is. */
const char *sim_patched(const struct hfi_script *script,
                        const struct sim_patch *patches, size_t count);

#endif
