/* SPDX-License-Identifier: MIT */
/* progress.h - what a long wait shows on a terminal. */
#ifndef HOLDFAST_CLI_PROGRESS_H
#define HOLDFAST_CLI_PROGRESS_H

#include "context.h"
#include "group.h"
#include "lock_new.h"

/* What is waited for: a lock, or several as one. */
struct cli_subject {
    const struct cli_lock_kind *what;
    const char *name;   /* several with spaces between */
    char *const *names; /* one by one */
    size_t name_count;
    const struct cli_group *group; /* NULL: it is one lock */
    hf_owner *owner;               /* who waits */
};

struct cli_progress;

/* Begin to show who holds it, once a second, if stderr is a terminal; of several
 * locks the first that somebody else holds.  All that `subject` points to is
 * kept.  Returns NULL if there is nothing to show it on; free with
 * cli_progress_stop(). */
struct cli_progress *cli_progress_start(const struct cli_context *ctx,
                                        const struct cli_subject *subject);

/* Clear the line and end.  NULL is fine. */
void cli_progress_stop(struct cli_progress *progress);

#endif
