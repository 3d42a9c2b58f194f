/* SPDX-License-Identifier: MIT */
/* permits_run.h - run a command with a permit: `run`, with other options. */
#ifndef HOLDFAST_CLI_PERMITS_RUN_H
#define HOLDFAST_CLI_PERMITS_RUN_H

#include "command.h"

/* How to wait for a permit; of a struct that begins with a struct cli_take. */
extern const struct cli_option cli_permit_options[];

/* The options of cli_permits_run(). */
extern const struct cli_option cli_permits_run_options[];

int cli_permits_run(const struct cli_command *command,
                    const struct cli_context *ctx, int argc, char **argv);

#endif
