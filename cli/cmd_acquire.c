/* SPDX-License-Identifier: MIT */
/* cmd_acquire.c - take a lock and print a handle to it.
 *
 * The lease is fixed: nobody is there to renew it.  Whoever has the handle may
 * prolong it (`extend`) or end it (`release`), from any machine.
 */
#include "command.h"
#include "complain.h"
#include "exit_status.h"
#include "hold.h"
#include "printable.h"

#include <stdio.h>
#include <string.h>

/* Long enough for somebody to do something with the handle, short enough to
 * wait for when he does not. */
#define LEASE_MS 60000

static const struct cli_option options[] = {
    {"lease", 0, "DUR", "length of the lease, which is fixed (default 60s)",
     cli_set_lease, offsetof(struct cli_take, lease_ms), NULL},
    {"no-renew", 0, NULL, "the lease is fixed anyway; accepted for scripts",
     cli_set_flag, offsetof(struct cli_take, no_renew), NULL},
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
static void take_back(const struct cli_hold *hold, const char *handle)
{
    hf_lock *lock;
    hf_owner *owner;

    if (hf_lock_import(hold->client, handle, NULL, &lock, &owner, NULL) ==
        HF_OK) {
        hf_lock_release(lock, owner, NULL);
        hf_lock_free(lock);
        hf_owner_free(owner);
    }
}

static int hand_out(struct cli_hold *hold)
{
    hf_error err;
    char *handle;

    if (hf_lock_export(hold->lock, hold->owner, &handle, &err) != HF_OK) {
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

    take.lease_ms = LEASE_MS;
    int result = cli_line_parse(&cli_cmd_acquire, ctx, argc, argv, &take,
                                &line);
    if (result == CLI_GO_ON) {
        result = cli_line_expect(&cli_cmd_acquire, &line, 1, 1, "NAME");
    }
    if (result == CLI_GO_ON) {
        result = cli_take_check("acquire", &take);
    }
    if (result != CLI_GO_ON) {
        return result;
    }
    take.no_renew = 1;
    result = cli_hold_take(&hold, &line.ctx, &take,
                           line.operand_count > 0 ? line.operands : line.rest,
                           1);
    if (result == CLI_GO_ON) {
        result = hand_out(&hold);
    }
    cli_hold_close(&hold);
    return result;
}

const struct cli_command cli_cmd_acquire = {
    .name = "acquire",
    .usage = "[options] NAME",
    .summary = "take a lock for a fixed lease and print a handle to it",
    .options = options,
    .function = run,
};
