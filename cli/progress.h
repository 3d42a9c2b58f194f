/* SPDX-License-Identifier: MIT */
/* progress.h - what a long wait shows on a terminal. */
#ifndef HOLDFAST_CLI_PROGRESS_H
#define HOLDFAST_CLI_PROGRESS_H

#include "context.h"
#include "lock_new.h"

struct cli_progress;

/* Begin to show who holds the lock `name` (kept, as `what`), once a second, if stderr is a
 * terminal.  Returns NULL if there is nothing to show it on; free with
 * cli_progress_stop(). */
struct cli_progress *cli_progress_start(const struct cli_context *ctx,
                                        const struct cli_lock_kind *what,
                                        const char *name);

/* Clear the line and end.  NULL is fine. */
void cli_progress_stop(struct cli_progress *progress);

#endif
