/* SPDX-License-Identifier: MIT */
/* help.h - what --help prints, from the records. */
#ifndef HOLDFAST_CLI_HELP_H
#define HOLDFAST_CLI_HELP_H

struct cli_command;

/* What there is, on stdout. */
void cli_help_overview(void);

/* One command, on stdout. */
void cli_help_command(const struct cli_command *command);

#endif
