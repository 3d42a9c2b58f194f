/* SPDX-License-Identifier: MIT */
/* cmd_release.c - end what `acquire` took. */
#include "command.h"
#include "complain.h"
#include "exit_status.h"
#include "handle.h"
#include "printable.h"

static int print_released(const struct cli_context *ctx, const char *handle)
{
    if (!ctx->json) {
        return CLI_OK;
    }
    return cli_json_print(
        json_pack("{s:b, s:s}", "released", 1, "handle", handle));
}

static int run(const struct cli_context *ctx, int argc, char **argv)
{
    struct cli_line line;
    struct cli_handle handle;
    int result = cli_line_parse(&cli_cmd_release, ctx, argc, argv, NULL, &line);

    if (result == CLI_GO_ON) {
        result = cli_line_expect(&cli_cmd_release, &line, 1, 1, "HANDLE");
    }
    if (result != CLI_GO_ON) {
        return result;
    }
    result = cli_handle_open(&handle, "release", &line.ctx,
                             cli_line_word(&line, 0), 0);
    if (result == CLI_GO_ON) {
        result = cli_handle_release(&handle);
        if (result == CLI_OK) {
            result = print_released(&line.ctx, handle.text);
        }
    }
    cli_handle_close(&handle);
    return result;
}

const struct cli_command cli_cmd_release = {
    .name = "release",
    .usage = "HANDLE",
    .summary = "end what `acquire` took",
    .options = NULL,
    .takes_servers = true,
    .function = run,
};
