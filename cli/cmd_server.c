/* SPDX-License-Identifier: MIT */
/* cmd_server.c - the private server behind local:NAME.
 *
 * `status` answers 69 if it does not run, so that a script can ask.
 */
#include "command.h"
#include "complain.h"
#include "exit_status.h"
#include "printable.h"
#include "suggest.h"

#include "holdfast/server.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int print_info(const struct cli_context *ctx, const char *name,
                      const hf_server_info *info)
{
    if (ctx->json) {
        return cli_json_print(json_pack(
            "{s:s, s:b, s:I, s:s}", "name", name, "running", info->running,
            "pid", (json_int_t)info->pid, "socket", info->socket));
    }
    if (info->running) {
        printf("local:%s running pid=%" PRId64 " socket=%s\n", name, info->pid,
               info->socket);
    } else {
        printf("local:%s not running socket=%s\n", name, info->socket);
    }
    return CLI_OK;
}

static int start(const struct cli_context *ctx, const char *name)
{
    hf_server_info info = HF_SERVER_INFO_INIT;
    hf_error err;

    if (hf_server_start(name, &info, &err) != HF_OK) {
        return cli_complain_error(&err);
    }
    return print_info(ctx, name, &info);
}

static int stop(const struct cli_context *ctx, const char *name)
{
    hf_error err;

    (void)ctx;
    if (hf_server_stop(name, &err) != HF_OK) {
        return cli_complain_error(&err);
    }
    return CLI_OK;
}

static int status(const struct cli_context *ctx, const char *name)
{
    hf_server_info info = HF_SERVER_INFO_INIT;
    hf_error err;

    if (hf_server_status(name, &info, &err) != HF_OK) {
        return cli_complain_error(&err);
    }
    int result = print_info(ctx, name, &info);
    return result == CLI_OK && !info.running ? CLI_UNAVAILABLE : result;
}

static const struct action {
    const char *name;
    int (*function)(const struct cli_context *ctx, const char *name);
} actions[] = {{"start", start}, {"stop", stop}, {"status", status}};

#define ACTIONS (sizeof(actions) / sizeof(actions[0]))

static int complain_action(const char *word)
{
    struct cli_suggestion nearest;

    cli_suggestion_begin(&nearest, word);
    for (size_t i = 0; i < ACTIONS; i++) {
        cli_suggestion_offer(&nearest, actions[i].name);
    }
    const char *meant = cli_suggestion_get(&nearest);
    if (meant != NULL) {
        cli_complain("server: there is no '%.80s'; did you mean '%s'?", word,
                     meant);
    } else {
        cli_complain("server: there is no '%.80s'; there is: start, stop, "
                     "status",
                     word);
    }
    return CLI_USAGE;
}

static int run(const struct cli_context *ctx, int argc, char **argv)
{
    struct cli_line line;
    int result = cli_line_parse(&cli_cmd_server, ctx, argc, argv, NULL, &line);

    if (result == CLI_GO_ON) {
        result = cli_line_expect(&cli_cmd_server, &line, 1, 2,
                                 "start, stop or status");
    }
    if (result != CLI_GO_ON) {
        return result;
    }
    const char *word = cli_line_word(&line, 0);
    const char *name = cli_line_word(&line, 1);
    for (size_t i = 0; i < ACTIONS; i++) {
        if (strcmp(actions[i].name, word) == 0) {
            return actions[i].function(&line.ctx,
                                       name == NULL ? "default" : name);
        }
    }
    return complain_action(word);
}

const struct cli_command cli_cmd_server = {
    .name = "server",
    .usage = "start|stop|status [NAME]",
    .summary = "the private server behind local:NAME (default: default)",
    .options = NULL,
    .function = run,
};
