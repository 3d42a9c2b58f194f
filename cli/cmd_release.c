/* SPDX-License-Identifier: MIT */
/* cmd_release.c - end what `acquire` took. */
#include "command.h"
#include "complain.h"
#include "exit_status.h"
#include "printable.h"

#include "holdfast/lock.h"

static int print_released(const struct cli_context *ctx, const char *handle)
{
    if (!ctx->json) {
        return CLI_OK;
    }
    return cli_json_print(
        json_pack("{s:b, s:s}", "released", 1, "handle", handle));
}

/* It may be held several times; all of them end. */
static int release(const struct cli_context *ctx, hf_client *client,
                   const char *handle)
{
    hf_error err;
    hf_lock *lock;
    hf_owner *owner;

    if (hf_lock_import(client, handle, NULL, &lock, &owner, &err) != HF_OK) {
        return cli_complain_error(&err);
    }
    int result = CLI_OK;
    do {
        if (hf_lock_release(lock, owner, &err) != HF_OK) {
            result = cli_complain_error(&err);
        }
    } while (result == CLI_OK && hf_lock_hold_count(lock, owner) > 0);
    hf_lock_free(lock);
    hf_owner_free(owner);
    return result == CLI_OK ? print_released(ctx, handle) : result;
}

static int run(const struct cli_context *ctx, int argc, char **argv)
{
    struct cli_line line;
    hf_client *client;
    int result = cli_line_parse(&cli_cmd_release, ctx, argc, argv, NULL, &line);

    if (result == CLI_GO_ON) {
        result = cli_line_expect(&cli_cmd_release, &line, 1, 1, "HANDLE");
    }
    if (result == CLI_GO_ON) {
        result = cli_context_open(&line.ctx, &client);
    }
    if (result != CLI_GO_ON) {
        return result;
    }
    result = release(&line.ctx, client, cli_line_word(&line, 0));
    hf_client_close(client);
    return result;
}

const struct cli_command cli_cmd_release = {
    .name = "release",
    .usage = "HANDLE",
    .summary = "end what `acquire` took",
    .options = NULL,
    .function = run,
};
