/* SPDX-License-Identifier: MIT */
/* cmd_latch.c - a count-down latch: arm it, count down, wait. */
#include "actions.h"
#include "complain.h"
#include "count.h"
#include "exit_status.h"
#include "printable.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct cli_command latch_set, latch_down, latch_wait, latch_show,
    latch_delete;

static const struct cli_option wait_options[] = {
    {"wait", 'w', "DUR", "wait at most so long (default: for ever)",
     cli_set_duration, offsetof(struct cli_patience, wait_ms), NULL},
    {"nowait", 'n', NULL, "do not wait: fail if it is closed", cli_set_flag,
     offsetof(struct cli_patience, nowait), NULL},
    {"busy-code", 0, "N", "exit status if it stays closed (default 75)",
     cli_set_exit, offsetof(struct cli_patience, busy_code), NULL},
    CLI_OPTIONS_END,
};

static int arm(struct cli_count *count)
{
    bool is_set = false;
    int64_t number;
    hf_error err;
    int result = cli_number_read(latch_set.name, "COUNT",
                                 cli_line_word(&count->line, 1), 1,
                                 HF_LATCH_MAX, &number);

    if (result != CLI_GO_ON) {
        return result;
    }
    if (hf_latch_try_set(count->latch, number, &is_set, &err) != HF_OK) {
        return cli_complain_error(&err);
    }
    result = cli_count_json(count, json_pack("{s:b}", "set", is_set));
    if (result == CLI_OK && !is_set) {
        cli_complain("%s: it is armed already", count->shown);
        result = CLI_BUSY;
    }
    return result;
}

static int set(const struct cli_context *ctx, int argc, char **argv)
{
    struct cli_count count;
    int result = cli_count_open(&count, CLI_LATCH, &latch_set, ctx, argc, argv,
                                NULL, 1, "NAME COUNT");

    if (result == CLI_GO_ON) {
        result = arm(&count);
    }
    cli_count_close(&count);
    return result;
}

static int count_down(struct cli_count *count)
{
    int64_t left = 0;
    hf_error err;

    if (hf_latch_count_down(count->latch, &left, &err) != HF_OK) {
        return cli_complain_error(&err);
    }
    if (!count->ctx->json) {
        printf("%" PRId64 "\n", left);
    }
    return cli_count_json(count, json_pack("{s:I}", "count", (json_int_t)left));
}

static int down(const struct cli_context *ctx, int argc, char **argv)
{
    struct cli_count count;
    int result = cli_count_open(&count, CLI_LATCH, &latch_down, ctx, argc, argv,
                                NULL, 0, "NAME");

    if (result == CLI_GO_ON) {
        result = count_down(&count);
    }
    cli_count_close(&count);
    return result;
}

static int wait_for(const struct cli_context *ctx, int argc, char **argv)
{
    struct cli_patience patience = CLI_PATIENCE_INIT;
    struct cli_count count;
    int result = cli_count_open(&count, CLI_LATCH, &latch_wait, ctx, argc, argv,
                                &patience, 0, "NAME");

    if (result == CLI_GO_ON) {
        result = cli_patience_check(latch_wait.name, &patience);
    }
    if (result == CLI_GO_ON) {
        result = cli_count_wait(&count, 0, &patience);
    }
    if (result == CLI_GO_ON) {
        result = cli_count_json(&count, json_pack("{s:b}", "open", 1));
    }
    cli_count_close(&count);
    return result;
}

static int print_info(const struct cli_count *count, const hf_latch_info *info)
{
    if (count->ctx->json) {
        return cli_count_json(
            count, json_pack("{s:b, s:I, s:I}", "open", info->count == 0,
                             "count", (json_int_t)info->count, "waiting",
                             (json_int_t)info->waiting));
    }
    char *shown = cli_printable_new(count->name, strlen(count->name));
    if (shown == NULL) {
        cli_complain("out of memory");
        return CLI_INTERNAL;
    }
    printf(isatty(STDOUT_FILENO) ? "name     %s\nstate    %s\ncount    %" PRId64
                                   "\nwaiting  %" PRId64 "\n"
                                 : "%s\t%s\t%" PRId64 "\t%" PRId64 "\n",
           shown, info->count == 0 ? "open" : "closed", info->count,
           info->waiting);
    free(shown);
    return CLI_OK;
}

static int show(const struct cli_context *ctx, int argc, char **argv)
{
    hf_latch_info info = HF_LATCH_INFO_INIT;
    struct cli_count count;
    hf_error err;
    int result = cli_count_open(&count, CLI_LATCH, &latch_show, ctx, argc, argv,
                                NULL, 0, "NAME");

    if (result == CLI_GO_ON) {
        result = hf_latch_inspect_remote(count.latch, &info, &err) == HF_OK
                     ? print_info(&count, &info)
                     : cli_complain_error(&err);
    }
    cli_count_close(&count);
    return result;
}

static int delete (const struct cli_context *ctx, int argc, char **argv)
{
    struct cli_count count;
    bool existed = false;
    hf_error err;
    int result = cli_count_open(&count, CLI_LATCH, &latch_delete, ctx, argc,
                                argv, NULL, 0, "NAME");

    if (result == CLI_GO_ON) {
        result = hf_latch_delete(count.latch, &existed, &err) == HF_OK
                     ? cli_count_json(&count,
                                      json_pack("{s:b}", "deleted", existed))
                     : cli_complain_error(&err);
    }
    cli_count_close(&count);
    return result;
}

/* ---- the records ---- */

static const struct cli_command latch_set = {
    .name = "latch set",
    .usage = "NAME COUNT",
    .summary = "arm it with a count, unless it is armed",
    .function = set,
};

static const struct cli_command latch_down = {
    .name = "latch down",
    .usage = "NAME",
    .summary = "count down by one, and print how many are still to come",
    .function = down,
};

static const struct cli_command latch_wait = {
    .name = "latch wait",
    .usage = "[options] NAME",
    .summary = "wait until it is open",
    .options = wait_options,
    .function = wait_for,
};

static const struct cli_command latch_show = {
    .name = "latch show",
    .usage = "NAME",
    .summary = "show how many are still to come, and how many wait",
    .function = show,
};

static const struct cli_command latch_delete = {
    .name = "latch delete",
    .usage = "NAME",
    .summary = "delete the latch: it is open",
    .function = delete,
};

static const struct cli_command *const actions[] = {
    &latch_set, &latch_down, &latch_wait, &latch_show, &latch_delete, NULL,
};

static int run(const struct cli_context *ctx, int argc, char **argv)
{
    return cli_actions_run(&cli_cmd_latch, ctx, argc, argv);
}

const struct cli_command cli_cmd_latch = {
    .name = "latch",
    .usage = "set|down|wait|show|delete NAME ...",
    .summary = "a count-down latch: go on when all have come",
    .options = NULL,
    .function = run,
    .actions = actions,
};
