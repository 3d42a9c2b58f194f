/* SPDX-License-Identifier: MIT */
/* actions.h - commands that are several: `sem set`, `latch wait`. */
#ifndef HOLDFAST_CLI_ACTIONS_H
#define HOLDFAST_CLI_ACTIONS_H

#include "command.h"

/* Run the action that the first word names. */
int cli_actions_run(const struct cli_command *command,
                    const struct cli_context *ctx, int argc, char **argv);

/* What an action is called behind its command: "set" of "sem set". */
const char *cli_action_word(const struct cli_command *action);

#endif
