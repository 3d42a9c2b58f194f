/* SPDX-License-Identifier: MIT */
/* mutate.h - plant one of the mistakes of src/sync/mutations.h. */
#ifndef SIM_MUTATE_H
#define SIM_MUTATE_H

#include <stdbool.h>
#include <stddef.h>

/* "" or "none" plants nothing; false: there is no such mistake. */
bool sim_mutate(const char *name);

#endif
