/* SPDX-License-Identifier: MIT */
/* sem_run.h - run a command with permits of a semaphore. */
#ifndef HOLDFAST_CLI_SEM_RUN_H
#define HOLDFAST_CLI_SEM_RUN_H

#include "count.h"

/* Run argv (ends with NULL) to its end, and give the permits, which are ours,
 * back.  Returns the exit status. */
int cli_sem_run(struct cli_count *count, int64_t permits, char *const *argv);

#endif
