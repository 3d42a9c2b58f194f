/* SPDX-License-Identifier: MIT */
/* cmd_show.c - who holds a lock, for how long, and how many wait. */
#include "command.h"
#include "complain.h"
#include "exit_status.h"
#include "lock_info.h"
#include "lock_new.h"
#include "printable.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* For people. */
static int print_table(const char *name, const hf_lock_info *info)
{
    char owner[CLI_PRINTABLE_BYTES(sizeof(info->owner))];
    char left[32];
    char *shown = cli_printable_new(name, strlen(name));

    if (shown == NULL) {
        cli_complain("out of memory");
        return CLI_INTERNAL;
    }
    cli_printable(info->owner, strlen(info->owner), owner, sizeof(owner));
    cli_lock_info_left(info, left, sizeof(left));
    printf("name     %s\nstate    %s\n", shown,
           info->locked ? "locked" : "free");
    if (info->locked) {
        printf("owner    %s\ncount    %" PRId64 "\nends in  %s\n", owner,
               info->count, left);
    }
    if (info->token != 0) {
        printf("token    %" PRId64 "\n", info->token);
    }
    if (info->mode[0] != '\0') {
        printf("mode     %s\nreaders  %" PRId64 "\n", info->mode,
               info->readers);
    }
    printf("waiting  %" PRId64 "\n", info->waiting);
    free(shown);
    return CLI_OK;
}

static int print(const struct cli_context *ctx, hf_kind kind, const char *name,
                 const hf_lock_info *info)
{
    if (ctx->json) {
        json_t *object = cli_lock_info_json(name, strlen(name), info);

        if (object != NULL) {
            (void)json_object_set_new(object, "kind",
                                      json_string(hf_kind_word(kind)));
        }
        return cli_json_print(object);
    }
    if (isatty(STDOUT_FILENO)) {
        return print_table(name, info);
    }
    return cli_lock_info_plain(name, strlen(name), info);
}

struct show_options {
    hf_kind kind;
};

static const struct cli_option options[] = {
    {"kind", 0, "KIND", "the kind of lock (default: lock)", cli_set_kind,
     offsetof(struct show_options, kind), NULL},
    CLI_OPTIONS_END,
};

static int show(const struct cli_context *ctx, hf_client *client, hf_kind kind,
                const char *name)
{
    struct cli_lock_kind what = {.kind = kind};
    hf_lock_info info = HF_LOCK_INFO_INIT;
    hf_error err;
    hf_lock *lock;

    if (cli_lock_new(client, &what, name, &lock, &err) != HF_OK) {
        return cli_complain_error(&err);
    }
    hf_status status = hf_inspect_remote(lock, &info, &err);
    hf_lock_free(lock);
    if (status != HF_OK) {
        return cli_complain_error(&err);
    }
    return print(ctx, kind, name, &info);
}

static int run(const struct cli_context *ctx, int argc, char **argv)
{
    struct show_options o = {HF_KIND_LOCK};
    struct cli_line line;
    hf_client *client;
    int result = cli_line_parse(&cli_cmd_show, ctx, argc, argv, &o, &line);

    if (result == CLI_GO_ON) {
        result = cli_line_expect(&cli_cmd_show, &line, 1, 1, "NAME");
    }
    if (result == CLI_GO_ON) {
        result = cli_context_open(&line.ctx, &client);
    }
    if (result != CLI_GO_ON) {
        return result;
    }
    result = show(&line.ctx, client, o.kind, cli_line_word(&line, 0));
    hf_client_close(client);
    return result;
}

const struct cli_command cli_cmd_show = {
    .name = "show",
    .usage = "[--kind KIND] NAME",
    .summary = "show who holds a lock, for how long, and how many wait",
    .options = options,
    .function = run,
};
