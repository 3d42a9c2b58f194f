/* SPDX-License-Identifier: MIT */
/* help.c - what --help prints, from the records: nothing is written twice. */
#include "help.h"

#include "actions.h"

#include <ctype.h>
#include <stdio.h>

/* Where the explanations begin. */
#define HELP_COLUMN 27

static void print_option(const struct cli_option *option)
{
    char left[64];
    char letter[8] = "    ";

    if (option->letter != 0) {
        snprintf(letter, sizeof(letter), "-%c, ", option->letter);
    }
    snprintf(left, sizeof(left), "  %s--%s%s%s", letter, option->name,
             option->argument == NULL ? "" : " ",
             option->argument == NULL ? "" : option->argument);
    printf("%-*s %s\n", HELP_COLUMN, left, option->help);
}

static void print_options(const char *title, const struct cli_option *options)
{
    if (options == NULL) {
        return;
    }
    printf("\n%s:\n", title);
    for (; options != NULL; options = cli_option_next(options)) {
        print_option(options);
    }
}

static void print_actions(const struct cli_command *command)
{
    if (command->actions == NULL) {
        return;
    }
    printf("\nActions (holdfast %s ACTION --help says more):\n", command->name);
    for (size_t i = 0; command->actions[i] != NULL; i++) {
        printf("  %-10s %s\n", cli_action_word(command->actions[i]),
               command->actions[i]->summary);
    }
}

void cli_help_command(const struct cli_command *command)
{
    printf("usage: holdfast %s %s\n\n%c%s.\n", command->name, command->usage,
           toupper((unsigned char)command->summary[0]), command->summary + 1);
    print_actions(command);
    print_options("Options", command->options);
    print_options("Global options", cli_global_options);
    printf("\nDUR: 250ms, 10s, 5m, 2h, 1d, or a number of seconds; decimals "
           "are allowed.\n");
}

void cli_help_overview(void)
{
    printf("usage: holdfast [global options] COMMAND ...\n\n"
           "Locks that processes on several machines share through Redis.\n\n"
           "Commands (holdfast COMMAND --help says more):\n");
    for (const struct cli_command *const *c = cli_commands; *c != NULL; c++) {
        printf("  %-10s %s\n", (*c)->name, (*c)->summary);
    }
    print_options("Global options", cli_global_options);
    printf(
        "\nWithout --server the server is $HOLDFAST_URL, else local:default, "
        "this machine's\nown. $HOLDFAST_PASSWORD is its password.\n\n"
        "Exit status: the command's own (128+n if signal n ended it), or\n"
        "  64  wrong usage            65  the name holds something else\n"
        "  69  no server, or refused  70  internal error\n"
        "  75  held by another        77  permission refused\n"
        "  79  the lock was lost      126, 127  the command cannot be run\n");
}
