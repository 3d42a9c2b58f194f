/* SPDX-License-Identifier: MIT */
/* environment.h - what the command under the lock finds in its environment. */
#ifndef HOLDFAST_CLI_ENVIRONMENT_H
#define HOLDFAST_CLI_ENVIRONMENT_H

#include "child.h"
#include "hold.h"

/* What a command is told; NULL or 0: not. */
struct cli_variables {
    const struct cli_context *ctx;
    const char *name;
    const char *kind;
    const char *owner;
    int64_t token;
    const int64_t *tokens; /* of several names, one by one */
    size_t token_count;
    int64_t lease_ms;
};

/* Ours with these variables; ends with NULL.  Free with
 * cli_environment_free().  NULL: no memory. */
char **cli_environment_of(const struct cli_variables *variables,
                          const struct child *child);

/* Ours with the hold's variables; ends with NULL.  Free with
 * cli_environment_free().  NULL: no memory. */
char **cli_environment_new(const struct cli_hold *hold,
                           const struct child *child);

void cli_environment_free(char **environment);

#endif
