/* SPDX-License-Identifier: MIT */
/* cmd_extend.c - prolong what `acquire` took.
 *
 * The handle stays good, so a script keeps the one it has; nothing is printed.
 * A lease is never shortened.
 */
#include "command.h"
#include "complain.h"
#include "exit_status.h"
#include "handle.h"
#include "printable.h"

struct extend_options {
    int64_t lease_ms; /* 0: not given */
};

static const struct cli_option options[] = {
    {"lease", 0, "DUR", "the lease lasts at least so long from now",
     cli_set_lease, offsetof(struct extend_options, lease_ms), NULL},
    CLI_OPTIONS_END,
};

static int print_extended(const struct cli_context *ctx, const char *handle,
                          int64_t lease_ms)
{
    if (!ctx->json) {
        return CLI_OK;
    }
    return cli_json_print(json_pack("{s:s, s:I}", "handle", handle, "lease_ms",
                                    (json_int_t)lease_ms));
}

static int run(const struct cli_context *ctx, int argc, char **argv)
{
    struct extend_options o = {0};
    struct cli_line line;
    struct cli_handle handle;
    int result = cli_line_parse(&cli_cmd_extend, ctx, argc, argv, &o, &line);

    if (result == CLI_GO_ON) {
        result = cli_line_expect(&cli_cmd_extend, &line, 1, 1, "HANDLE");
    }
    if (result == CLI_GO_ON && o.lease_ms == 0) {
        cli_complain("extend: --lease DUR is missing");
        result = CLI_USAGE;
    }
    if (result != CLI_GO_ON) {
        return result;
    }
    result = cli_handle_open(&handle, "extend", &line.ctx,
                             cli_line_word(&line, 0), o.lease_ms);
    if (result == CLI_GO_ON) {
        result = cli_handle_let_go(&handle);
        if (result == CLI_OK) {
            result = print_extended(&line.ctx, handle.text, o.lease_ms);
        }
    }
    cli_handle_close(&handle);
    return result;
}

const struct cli_command cli_cmd_extend = {
    .name = "extend",
    .usage = "HANDLE --lease DUR",
    .summary = "prolong what `acquire` took; never shortens",
    .options = options,
    .takes_servers = true,
    .function = run,
};
