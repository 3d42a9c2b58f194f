/* SPDX-License-Identifier: MIT */
/* commands.c - the table of commands. */
#include "command.h"

#include <stddef.h>
#include <string.h>

/* In the order of the help: what is used most comes first. */
const struct cli_command *const cli_commands[] = {
    &cli_cmd_run,
    &cli_cmd_hold,
    &cli_cmd_acquire,
    &cli_cmd_extend,
    &cli_cmd_release,
    &cli_cmd_show,
    &cli_cmd_ls,
    &cli_cmd_unlock,
    &cli_cmd_sem,
    &cli_cmd_permits,
    &cli_cmd_latch,
    &cli_cmd_server,
#ifdef HF_HAVE_BENCH
    &cli_cmd_bench,
#endif
    NULL,
};

const struct cli_command *cli_command_find(const char *name)
{
    for (const struct cli_command *const *c = cli_commands; *c != NULL; c++) {
        if (strcmp((*c)->name, name) == 0) {
            return *c;
        }
    }
    return NULL;
}
