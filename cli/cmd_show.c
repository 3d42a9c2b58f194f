/* SPDX-License-Identifier: MIT */
/* cmd_show.c - who holds a lock, for how long, and how many wait. */
#include "command.h"
#include "complain.h"
#include "duration.h"
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

/* ---- the queue of a fair lock ---- */

/* For people, and for scripts: a line for each. */
static bool print_waiter(const hf_waiter_info *waiter, void *people)
{
    char owner[CLI_PRINTABLE_BYTES(128)];
    char left[32];

    cli_printable(waiter->owner, strlen(waiter->owner), owner, sizeof(owner));
    cli_duration_text(waiter->dead_in_ms, left, sizeof(left));
    if (*(const bool *)people) {
        printf("%7" PRId64 "  %s%s, dead in %s\n", waiter->place, owner,
               waiter->ours ? "" : " (Redisson)", left);
    } else {
        printf("%" PRId64 "\t%s\t%s\t%" PRId64 "\n", waiter->place, owner,
               waiter->ours ? "ours" : "foreign", waiter->dead_in_ms);
    }
    return true;
}

static bool add_waiter(const hf_waiter_info *waiter, void *array)
{
    char owner[CLI_PRINTABLE_BYTES(128)];

    cli_printable(waiter->owner, strlen(waiter->owner), owner, sizeof(owner));
    return json_array_append_new(
               array, json_pack("{s:s, s:b, s:I}", "owner", owner, "ours",
                                waiter->ours, "dead_in_ms",
                                (json_int_t)waiter->dead_in_ms)) == 0;
}

static bool has_queue(hf_kind kind)
{
    return kind == HF_KIND_FAIR || kind == HF_KIND_NONREENTRANT_FAIR;
}

static int print_queue(hf_lock *lock)
{
    bool people = isatty(STDOUT_FILENO) != 0;
    hf_error err;

    if (hf_inspect_queue_remote(lock, print_waiter, &people, &err) != HF_OK) {
        return cli_complain_error(&err);
    }
    return CLI_OK;
}

/* ---- the lock ---- */

static int print(const struct cli_context *ctx, hf_kind kind, const char *name,
                 const hf_lock_info *info, json_t *queue)
{
    if (ctx->json) {
        json_t *object = cli_lock_info_json(name, strlen(name), info);

        if (object != NULL) {
            (void)json_object_set_new(object, "kind",
                                      json_string(hf_kind_word(kind)));
        }
        if (object != NULL && queue != NULL) {
            (void)json_object_set(object, "queue", queue);
        }
        return cli_json_print(object);
    }
    if (isatty(STDOUT_FILENO)) {
        return print_table(name, info);
    }
    return cli_lock_info_plain(name, strlen(name), info);
}

static int show(const struct cli_context *ctx, hf_client *client,
                const struct cli_lock_kind *what, const char *name)
{
    hf_kind kind = what->kind;
    hf_lock_info info = HF_LOCK_INFO_INIT;
    hf_error err;
    hf_lock *lock;

    if (cli_lock_new(client, what, name, &lock, &err) != HF_OK) {
        return cli_complain_error(&err);
    }
    json_t *queue = ctx->json && has_queue(kind) ? json_array() : NULL;
    hf_status status = hf_inspect_remote(lock, &info, &err);
    if (status == HF_OK && queue != NULL) {
        status = hf_inspect_queue_remote(lock, add_waiter, queue, &err);
    }
    int result = status == HF_OK ? print(ctx, kind, name, &info, queue)
                                 : cli_complain_error(&err);
    if (result == CLI_OK && has_queue(kind) && !ctx->json) {
        result = print_queue(lock);
    }
    json_decref(queue);
    hf_lock_free(lock);
    return result;
}

static int run(const struct cli_context *ctx, int argc, char **argv)
{
    struct cli_lock_kind what = {.kind = HF_KIND_LOCK};
    struct cli_line line;
    hf_client *client;
    int result = cli_line_parse(&cli_cmd_show, ctx, argc, argv, &what, &line);

    if (result == CLI_GO_ON) {
        result = cli_line_expect(&cli_cmd_show, &line, 1, 1, "NAME");
    }
    if (result == CLI_GO_ON) {
        result = cli_lock_kind_check("show", &what);
    }
    if (result == CLI_GO_ON) {
        result = cli_context_open(&line.ctx, &client);
    }
    if (result != CLI_GO_ON) {
        return result;
    }
    result = show(&line.ctx, client, &what, cli_line_word(&line, 0));
    hf_client_close(client);
    return result;
}

const struct cli_command cli_cmd_show = {
    .name = "show",
    .usage = "[--kind KIND] NAME",
    .summary = "show who holds a lock, for how long, and how many wait",
    .options = cli_kind_options,
    .function = run,
};
