/* SPDX-License-Identifier: MIT */
/* command.h - a command is a const record; the table of them is commands.c.
 *
 * Parsing, help and dispatch come from the record.  Each command lives in a
 * file of its own, cmd_NAME.c.
 */
#ifndef HOLDFAST_CLI_COMMAND_H
#define HOLDFAST_CLI_COMMAND_H

#include "context.h"
#include "options.h"

struct cli_command {
    const char *name;
    const char *usage;   /* what follows "holdfast NAME" */
    const char *summary; /* one sentence, no capital, no full stop */
    const struct cli_option *options; /* or NULL: only the global ones */
    bool takes_servers;               /* --server may be given several times */
    /* Returns the exit status.  argv[0] is the command's own name. */
    int (*function)(const struct cli_context *ctx, int argc, char **argv);
    /* Of a command that is several (actions.h): they, then NULL; or NULL. */
    const struct cli_command *const *actions;
};

/* All of them, in the order of the help; ends with NULL. */
extern const struct cli_command *const cli_commands[];

/* The command of that name, or NULL. */
const struct cli_command *cli_command_find(const char *name);

extern const struct cli_command cli_cmd_run;
extern const struct cli_command cli_cmd_hold;
extern const struct cli_command cli_cmd_acquire;
extern const struct cli_command cli_cmd_extend;
extern const struct cli_command cli_cmd_release;
extern const struct cli_command cli_cmd_show;
extern const struct cli_command cli_cmd_ls;
extern const struct cli_command cli_cmd_unlock;
extern const struct cli_command cli_cmd_sem;
extern const struct cli_command cli_cmd_permits;
extern const struct cli_command cli_cmd_latch;
extern const struct cli_command cli_cmd_server;
extern const struct cli_command cli_cmd_bench;

#endif
