/* SPDX-License-Identifier: MIT */
/* cmd_ls.c - the locks that are held, as the server sees them.
 *
 * They are printed as they are found, so that a million of them need no
 * memory; the name comes last on a terminal, where its length harms nothing.
 */
#include "command.h"
#include "complain.h"
#include "exit_status.h"
#include "lock_info.h"
#include "printable.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct listing {
    bool is_json;
    bool is_terminal;
    int64_t count;
    int result; /* CLI_OK, or what went wrong while printing */
};

static int print_row(const void *name, size_t name_bytes,
                     const hf_lock_info *info)
{
    char owner[CLI_PRINTABLE_BYTES(sizeof(info->owner))];
    char left[32];
    char *shown = cli_printable_new(name, name_bytes);

    if (shown == NULL) {
        cli_complain("out of memory");
        return CLI_INTERNAL;
    }
    cli_printable(info->owner, strlen(info->owner), owner, sizeof(owner));
    cli_lock_info_left(info, left, sizeof(left));
    printf("%-42s %-5s %5" PRId64 " %8s %7" PRId64 "  %s\n", owner,
           info->mode[0] == '\0' ? "lock" : info->mode, info->count, left,
           info->waiting, shown);
    free(shown);
    return CLI_OK;
}

static bool print_lock(const void *name, size_t name_bytes,
                       const hf_lock_info *info, void *context)
{
    struct listing *listing = context;

    if (listing->is_json) {
        listing->result = cli_json_print(
            cli_lock_info_json(name, name_bytes, info));
    } else if (listing->is_terminal) {
        if (listing->count == 0) {
            printf("%-42s %-5s %5s %8s %7s  %s\n", "OWNER", "KIND", "COUNT",
                   "ENDS IN", "WAITING", "NAME");
        }
        listing->result = print_row(name, name_bytes, info);
    } else {
        listing->result = cli_lock_info_plain(name, name_bytes, info);
    }
    listing->count++;
    return listing->result == CLI_OK && !ferror(stdout);
}

static int list(const struct cli_context *ctx, hf_client *client,
                const char *pattern)
{
    struct listing listing = {.is_json = ctx->json != 0,
                              .is_terminal = isatty(STDOUT_FILENO) == 1,
                              .result = CLI_OK};
    hf_error err;

    if (hf_inspect_list_remote(client, pattern, print_lock, &listing, &err) !=
        HF_OK) {
        return cli_complain_error(&err);
    }
    return listing.result;
}

static int run(const struct cli_context *ctx, int argc, char **argv)
{
    struct cli_line line;
    hf_client *client;
    int result = cli_line_parse(&cli_cmd_ls, ctx, argc, argv, NULL, &line);

    if (result == CLI_GO_ON) {
        result = cli_line_expect(&cli_cmd_ls, &line, 0, 1, "PATTERN");
    }
    if (result == CLI_GO_ON) {
        result = cli_context_open(&line.ctx, &client);
    }
    if (result != CLI_GO_ON) {
        return result;
    }
    result = list(&line.ctx, client, cli_line_word(&line, 0));
    hf_client_close(client);
    return result;
}

const struct cli_command cli_cmd_ls = {
    .name = "ls",
    .usage = "[PATTERN]",
    .summary = "list the locks that are held (PATTERN: * ? [abc])",
    .options = NULL,
    .function = run,
};
