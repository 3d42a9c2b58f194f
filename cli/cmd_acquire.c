/* SPDX-License-Identifier: MIT */
/* cmd_acquire.c - take a lock and print a handle to it.
 *
 * The lease is fixed: nobody is there to renew it.  Whoever has the handle may
 * prolong it (`extend`) or end it (`release`), from any machine.
 */
#include "command.h"
#include "complain.h"
#include "exit_status.h"
#include "handle.h"
#include "hold.h"
#include "printable.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Long enough for somebody to do something with the handle, short enough to
 * wait for when he does not. */
#define LEASE_MS 60000

static const struct cli_option options[] = {
    {"lease", 0, "DUR", "length of the lease, which is fixed (default 60s)",
     cli_set_lease, offsetof(struct cli_take, lease_ms), NULL},
    {"no-renew", 0, NULL, "the lease is fixed anyway; accepted for scripts",
     cli_set_flag, offsetof(struct cli_take, no_renew), NULL},
    {"quorum", 0, NULL, "take it on more than half of the servers given",
     cli_set_flag, offsetof(struct cli_take, quorum), NULL},
    CLI_OPTIONS_GO_ON(cli_take_options),
};

static int print_handle(const struct cli_hold *hold, const char *handle)
{
    int result = CLI_OK;

    if (hold->ctx->json) {
        json_t *object = json_pack(
            "{s:s, s:s, s:s, s:I}", "kind", cli_hold_kind(hold), "owner",
            hold->owner_text, "handle", handle, "lease_ms",
            (json_int_t)hold->take->lease_ms);
        cli_hold_describe(hold, object);
        result = cli_json_print(object);
    } else {
        puts(handle);
    }
    if (result == CLI_OK && fflush(stdout) != 0) {
        return CLI_INTERNAL; /* main() says so */
    }
    return result;
}

/* Nobody has got the handle, so nobody could release it. */
static void take_back(const struct cli_hold *hold, const char *text)
{
    struct cli_handle handle;

    if (cli_handle_open(&handle, "acquire", hold->ctx, text, 0) == CLI_GO_ON) {
        cli_handle_release(&handle);
    }
    cli_handle_close(&handle);
}

static hf_status export(const struct cli_hold *hold, char **ret_handle,
                        hf_error *reterr)
{
    return hold->lock != NULL
               ? hf_lock_export(hold->lock, hold->owner, ret_handle, reterr)
               : hf_group_export(hold->group.group, hold->owner, ret_handle,
                                 reterr);
}

static int hand_out(struct cli_hold *hold)
{
    hf_error err;
    char *handle;

    if (export(hold, &handle, &err) != HF_OK) {
        return cli_complain_error(&err); /* closing the client releases it */
    }
    int result = print_handle(hold, handle);
    if (result != CLI_OK) {
        take_back(hold, handle);
    }
    hf_handle_free(handle);
    return result;
}

static int run(const struct cli_context *ctx, int argc, char **argv)
{
    struct cli_take take = CLI_TAKE_INIT;
    struct cli_line line;
    struct cli_hold hold;
    char **names;

    take.lease_ms = LEASE_MS;
    int result = cli_line_parse(&cli_cmd_acquire, ctx, argc, argv, &take,
                                &line);
    if (result == CLI_GO_ON) {
        result = cli_line_expect(&cli_cmd_acquire, &line, 1, CLI_NAMES_MAX,
                                 "NAME");
    }
    if (result == CLI_GO_ON) {
        result = cli_keep_check("acquire", &take, &line.ctx,
                                line.operand_count + line.rest_count);
    }
    if (result != CLI_GO_ON) {
        return result;
    }
    names = cli_line_words(&line);
    if (names == NULL) {
        return CLI_INTERNAL;
    }
    take.no_renew = 1;
    result = cli_hold_take(&hold, &line.ctx, &take, names,
                           (size_t)line.operand_count +
                               (size_t)line.rest_count);
    if (result == CLI_GO_ON) {
        result = hand_out(&hold);
    }
    cli_hold_close(&hold);
    free(names);
    return result;
}

const struct cli_command cli_cmd_acquire = {
    .name = "acquire",
    .usage = "[options] NAME [NAME...]",
    .summary = "take a lock for a fixed lease and print a handle to it",
    .options = options,
    .takes_servers = true,
    .function = run,
};
