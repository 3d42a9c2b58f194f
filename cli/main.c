/* SPDX-License-Identifier: MIT */
/* main.c - the holdfast command: find the command that is meant, and run it.
 *
 *     holdfast [global options] COMMAND [options] ...
 *
 * Each command is a record in the table of commands.c.  What it prints for its
 * user goes to stdout, what goes wrong is one line on stderr, and its exit
 * status is one of exit_status.h.
 */
#include "command.h"
#include "complain.h"
#include "exit_status.h"
#include "help.h"
#include "suggest.h"

#include "holdfast/version.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Commands that are promised for later versions. */
static const char *const later_commands[] = {
    "watch",
    "top",
    "doctor",
};

/* A closed stdin, stdout or stderr stays closed for the command that we run,
 * but its number must not go to one of our sockets meanwhile.  Read-only, so
 * that what is printed to a closed stdout still fails. */
static void occupy_standard_descriptors(void)
{
    int fd;

    do {
        fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0) {
        close(fd);
    }
}

static int complain_unknown(const char *word)
{
    struct cli_suggestion nearest;

    for (size_t i = 0; i < sizeof(later_commands) / sizeof(later_commands[0]);
         i++) {
        if (strcmp(word, later_commands[i]) == 0) {
            cli_complain("'%s' is not in this version; see 'holdfast --help'",
                         word);
            return CLI_USAGE;
        }
    }
    cli_suggestion_begin(&nearest, word);
    for (const struct cli_command *const *c = cli_commands; *c != NULL; c++) {
        cli_suggestion_offer(&nearest, (*c)->name);
    }
    const char *meant = cli_suggestion_get(&nearest);
    if (meant != NULL) {
        cli_complain("there is no command '%.80s'; did you mean '%s'?", word,
                     meant);
    } else {
        cli_complain("there is no command '%.80s'; see 'holdfast --help'",
                     word);
    }
    return CLI_USAGE;
}

/* `holdfast help [COMMAND]`, which many try first. */
static int help(const char *word)
{
    const struct cli_command *command;

    if (word == NULL) {
        cli_help_overview();
        return CLI_OK;
    }
    command = cli_command_find(word);
    if (command == NULL) {
        return complain_unknown(word);
    }
    cli_help_command(command);
    return CLI_OK;
}

static int dispatch(int argc, char **argv)
{
    struct cli_context ctx;
    int index;
    int result = cli_globals_parse(argc, argv, &ctx, &index);

    if (result != CLI_GO_ON) {
        return result;
    }
    if (ctx.version) {
        puts("holdfast " HF_VERSION_TEXT);
        return CLI_OK;
    }
    if (index >= argc && ctx.help) {
        cli_help_overview();
        return CLI_OK;
    }
    if (index >= argc) {
        cli_complain("a command is missing; see 'holdfast --help'");
        return CLI_USAGE;
    }
    if (strcmp(argv[index], "help") == 0) {
        return help(argv[index + 1]);
    }
    const struct cli_command *command = cli_command_find(argv[index]);
    if (command == NULL) {
        return complain_unknown(argv[index]);
    }
    if (ctx.help) {
        cli_help_command(command);
        return CLI_OK;
    }
    return command->function(&ctx, argc - index, argv + index);
}

int main(int argc, char **argv)
{
    occupy_standard_descriptors();
    int result = dispatch(argc, argv);

    /* What could not be written was not said: a script that reads it must not
     * be told that all went well. */
    if (fflush(stdout) != 0 || ferror(stdout)) {
        cli_complain("stdout cannot be written");
        result = result == CLI_OK ? CLI_INTERNAL : result;
    }
    return result;
}
