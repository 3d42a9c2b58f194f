/* SPDX-License-Identifier: MIT */
/* actions.c - commands that are several: `sem set`, `latch wait`.
 *
 * The action is the first word behind the command's: options of its own stand
 * behind it, so that each action has those that mean something to it.
 */
#include "actions.h"

#include "complain.h"
#include "exit_status.h"
#include "suggest.h"

#include <string.h>

const char *cli_action_word(const struct cli_command *action)
{
    const char *space = strrchr(action->name, ' ');

    return space == NULL ? action->name : space + 1;
}

static int complain_action(const struct cli_command *command, const char *word)
{
    struct cli_suggestion nearest;

    cli_suggestion_begin(&nearest, word);
    for (size_t i = 0; command->actions[i] != NULL; i++) {
        cli_suggestion_offer(&nearest, cli_action_word(command->actions[i]));
    }
    const char *meant = cli_suggestion_get(&nearest);
    if (meant != NULL) {
        cli_complain("%s: there is no '%.80s'; did you mean '%s'?",
                     command->name, word, meant);
    } else {
        cli_complain("%s: there is no '%.80s'; usage: holdfast %s %s",
                     command->name, word, command->name, command->usage);
    }
    return CLI_USAGE;
}

/* Nothing but global options: help, or something is missing. */
static int run_without(const struct cli_command *command,
                       const struct cli_context *ctx, int argc, char **argv)
{
    struct cli_line line;
    int result = cli_line_parse(command, ctx, argc, argv, NULL, &line);

    if (result != CLI_GO_ON) {
        return result;
    }
    cli_complain("%s: what it is to do must come first; usage: holdfast %s %s",
                 command->name, command->name, command->usage);
    return CLI_USAGE;
}

int cli_actions_run(const struct cli_command *command,
                    const struct cli_context *ctx, int argc, char **argv)
{
    if (argc < 2 || argv[1][0] == '-') {
        return run_without(command, ctx, argc, argv);
    }
    for (size_t i = 0; command->actions[i] != NULL; i++) {
        if (strcmp(cli_action_word(command->actions[i]), argv[1]) == 0) {
            return command->actions[i]->function(ctx, argc - 1, argv + 1);
        }
    }
    return complain_action(command, argv[1]);
}
