/* SPDX-License-Identifier: MIT */
/* cmd_hold.c - hold a lock until a signal comes.
 *
 * One line on stdout says that it is held, and a service manager is told
 * READY=1, so that what needs the lock can be started after it.  INT, TERM, HUP
 * and QUIT release it.  If it is lost, the status is 79.
 */
#include "command.h"
#include "complain.h"
#include "exit_status.h"
#include "hold.h"
#include "notify.h"
#include "printable.h"
#include "signals.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int print_held(const struct cli_hold *hold)
{
    int64_t lease_ms = hold->take->lease_ms;
    json_t *object;

    if (hold->ctx->json) {
        object = json_pack("{s:s, s:s, s:s, s:I}", "event", "held", "kind",
                           cli_hold_kind(hold), "owner", hold->owner_text,
                           "lease_ms", (json_int_t)lease_ms);
        cli_hold_describe(hold, object);
        return cli_json_print(object);
    }
    char *name = cli_printable_new(hold->name, strlen(hold->name));
    if (name == NULL) {
        cli_complain("out of memory");
        return CLI_INTERNAL;
    }
    printf("held %s owner=%s lease=%" PRId64 "ms", name, hold->owner_text,
           lease_ms);
    if (hold->token != 0) {
        printf(" token=%" PRId64, hold->token);
    }
    for (size_t i = 0; hold->tokens != NULL && i < hold->name_count; i++) {
        printf("%s%" PRId64, i == 0 ? " tokens=" : ",", hold->tokens[i]);
    }
    putchar('\n');
    free(name);
    return CLI_OK;
}

/* Until a signal comes (CLI_OK) or it is lost. */
static int stay(struct cli_hold *hold)
{
    hf_lost_reason reason;

    for (;;) {
        int number = cli_signals_next();
        if (number != 0 && number != SIGUSR1 && number != SIGUSR2) {
            return CLI_OK;
        }
        if (cli_hold_is_lost(hold, &reason)) {
            cli_hold_complain_lost(hold, reason);
            return CLI_LOST;
        }
        cli_hold_sleep(hold, INT64_MAX);
    }
}

static int hold_it(struct cli_hold *hold)
{
    int result = print_held(hold);

    if (result != CLI_OK) {
        return result;
    }
    if (fflush(stdout) != 0) {
        return CLI_INTERNAL; /* main() says so */
    }
    cli_notify("READY=1");
    result = stay(hold);
    cli_notify("STOPPING=1");
    if (result == CLI_OK && cli_hold_release(hold) == CLI_LOST) {
        return CLI_LOST;
    }
    return result;
}

static int run(const struct cli_context *ctx, int argc, char **argv)
{
    struct cli_take take = CLI_TAKE_INIT;
    struct cli_line line;
    struct cli_hold hold;
    char **names;
    int result = cli_line_parse(&cli_cmd_hold, ctx, argc, argv, &take, &line);

    if (result == CLI_GO_ON) {
        result = cli_line_expect(&cli_cmd_hold, &line, 1, CLI_NAMES_MAX,
                                 "NAME");
    }
    if (result == CLI_GO_ON && line.operand_count > 0 && line.rest_count > 0) {
        cli_complain("hold: it runs no command; write 'holdfast run'");
        result = CLI_USAGE;
    }
    if (result == CLI_GO_ON) {
        result = cli_keep_check("hold", &take, &line.ctx,
                                line.operand_count + line.rest_count);
    }
    if (result != CLI_GO_ON) {
        return result;
    }
    names = cli_line_words(&line);
    if (names == NULL) {
        return CLI_INTERNAL;
    }
    result = cli_hold_take(&hold, &line.ctx, &take, names,
                           (size_t)line.operand_count +
                               (size_t)line.rest_count);
    if (result == CLI_GO_ON) {
        result = hold_it(&hold);
    }
    cli_hold_close(&hold);
    free(names);
    return result;
}

const struct cli_command cli_cmd_hold = {
    .name = "hold",
    .usage = "[options] NAME [NAME...]",
    .summary = "hold a lock until a signal comes; one line when it is held",
    .options = cli_keep_options,
    .takes_servers = true,
    .function = run,
};
