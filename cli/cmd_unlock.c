/* SPDX-License-Identifier: MIT */
/* cmd_unlock.c - take a lock away from whoever holds it.
 *
 * The holder is told, and waiters go on.  A lock that is free already is no
 * failure: what was asked for is so.  With --if-owner, one that another owner
 * holds is left alone, and the status is 75.
 */
#include "command.h"
#include "complain.h"
#include "exit_status.h"
#include "lock_new.h"
#include "printable.h"

#include "holdfast/inspect.h"

#include <string.h>

struct unlock_options {
    struct cli_lock_kind what; /* first: its options are its fields */
    int force;
    const char *if_owner;
};

static const struct cli_option options[] = {
    {"force", 0, NULL, "yes, take it away (required)", cli_set_flag,
     offsetof(struct unlock_options, force), NULL},
    {"if-owner", 0, "OWNER", "only if this owner (as `show` says) holds it",
     cli_set_text, offsetof(struct unlock_options, if_owner), NULL},
    CLI_OPTIONS_GO_ON(cli_kind_options),
};

static int print_result(const struct cli_context *ctx, const char *name,
                        bool released)
{
    if (!ctx->json) {
        return CLI_OK;
    }
    json_t *object = json_pack("{s:b}", "released", released ? 1 : 0);
    if (object != NULL) {
        cli_json_set_name(object, name, strlen(name));
    }
    return cli_json_print(object);
}

/* It was not taken away: because it is free, or because another holds it? */
static int explain_refusal(const struct cli_context *ctx, hf_lock *lock,
                           const char *name)
{
    hf_lock_info info = HF_LOCK_INFO_INIT;
    hf_error err;
    char shown[CLI_PRINTABLE_SHORT];
    char owner[CLI_PRINTABLE_BYTES(sizeof(info.owner))];

    if (hf_inspect_remote(lock, &info, &err) != HF_OK) {
        return cli_complain_error(&err);
    }
    cli_printable(name, strlen(name), shown, sizeof(shown));
    if (info.locked) {
        cli_printable(info.owner, strlen(info.owner), owner, sizeof(owner));
        cli_complain("%s: held by another owner, %s", shown, owner);
        print_result(ctx, name, false);
        return CLI_BUSY;
    }
    if (!ctx->json) {
        cli_complain("%s: it was free already", shown); /* a mistyped name? */
    }
    return print_result(ctx, name, false);
}

static int unlock(const struct cli_context *ctx, hf_client *client,
                  const char *name, const struct unlock_options *o)
{
    hf_error err;
    hf_lock *lock;
    int result;

    if (cli_lock_new(client, &o->what, name, &lock, &err) != HF_OK) {
        return cli_complain_error(&err);
    }
    hf_status status = hf_lock_force_release(lock, o->if_owner, &err);
    if (status == HF_OK) {
        result = print_result(ctx, name, true);
    } else if (status == HF_NOT_OWNER) {
        result = explain_refusal(ctx, lock, name);
    } else {
        result = cli_complain_error(&err);
    }
    hf_lock_free(lock);
    return result;
}

static int run(const struct cli_context *ctx, int argc, char **argv)
{
    struct unlock_options o = {0};
    struct cli_line line;
    hf_client *client;
    int result = cli_line_parse(&cli_cmd_unlock, ctx, argc, argv, &o, &line);

    if (result == CLI_GO_ON) {
        result = cli_line_expect(&cli_cmd_unlock, &line, 1, 1, "NAME");
    }
    if (result == CLI_GO_ON) {
        result = cli_lock_kind_check("unlock", &o.what);
    }
    if (result == CLI_GO_ON && !o.force) {
        cli_complain("unlock: it takes the lock away from its holder; say "
                     "--force");
        result = CLI_USAGE;
    }
    if (result == CLI_GO_ON) {
        result = cli_context_open(&line.ctx, &client);
    }
    if (result != CLI_GO_ON) {
        return result;
    }
    result = unlock(&line.ctx, client, cli_line_word(&line, 0), &o);
    hf_client_close(client);
    return result;
}

const struct cli_command cli_cmd_unlock = {
    .name = "unlock",
    .usage = "--force NAME [--if-owner OWNER] [--kind KIND]",
    .summary = "take a lock away from its holder, who is told",
    .options = options,
    .function = run,
};
