/* SPDX-License-Identifier: MIT */
/* cmd_sem.c - a counting semaphore: set it, take permits, give them back. */
#include "actions.h"
#include "complain.h"
#include "count.h"
#include "exit_status.h"
#include "printable.h"
#include "sem_run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct cli_command sem_set, sem_add, sem_acquire, sem_release,
    sem_drain, sem_show, sem_run, sem_delete;

struct sem_options {
    struct cli_patience patience;
    int64_t permits;
    int64_t ttl_ms;
    int if_exists;
    const char *shell;
};

#define SEM_OPTIONS_INIT                                                       \
    {                                                                          \
        .patience = CLI_PATIENCE_INIT, .permits = 1                            \
    }

static const struct cli_option wait_options[] = {
    {"permits", 'p', "N", "so many permits (default 1)", cli_set_permits,
     offsetof(struct sem_options, permits), NULL},
    {"wait", 'w', "DUR", "wait at most so long (default: for ever)",
     cli_set_duration, offsetof(struct sem_options, patience.wait_ms), NULL},
    {"nowait", 'n', NULL, "do not wait: fail if there are too few",
     cli_set_flag, offsetof(struct sem_options, patience.nowait), NULL},
    {"busy-code", 0, "N", "exit status if there are too few (default 75)",
     cli_set_exit, offsetof(struct sem_options, patience.busy_code), NULL},
    CLI_OPTIONS_END,
};

static const struct cli_option run_options[] = {
    {"command", 'c', "STRING", "run STRING through the shell", cli_set_text,
     offsetof(struct sem_options, shell), NULL},
    CLI_OPTIONS_GO_ON(wait_options),
};

static const struct cli_option release_options[] = {
    {"permits", 'p', "N", "so many permits (default 1)", cli_set_permits,
     offsetof(struct sem_options, permits), NULL},
    {"if-exists", 0, NULL, "only if there is such a semaphore", cli_set_flag,
     offsetof(struct sem_options, if_exists), NULL},
    CLI_OPTIONS_END,
};

static const struct cli_option set_options[] = {
    {"ttl", 0, "DUR", "how long it exists (default: for ever)",
     cli_set_positive, offsetof(struct sem_options, ttl_ms), NULL},
    CLI_OPTIONS_END,
};

/* ---- set, add ---- */

static int set(const struct cli_context *ctx, int argc, char **argv)
{
    struct sem_options o = SEM_OPTIONS_INIT;
    struct cli_count count;
    hf_error err;
    bool is_set = false;
    int result = cli_count_open(&count, CLI_SEMAPHORE, &sem_set, ctx, argc,
                                argv, &o, 1, "NAME PERMITS");

    if (result == CLI_GO_ON) {
        result = cli_number_read(sem_set.name, "PERMITS",
                                 cli_line_word(&count.line, 1), 0,
                                 HF_PERMITS_MAX, &o.permits);
    }
    if (result == CLI_GO_ON) {
        if (hf_semaphore_try_set(count.semaphore, o.permits, o.ttl_ms, &is_set,
                                 &err) != HF_OK) {
            result = cli_complain_error(&err);
        } else {
            result = cli_count_json(&count, json_pack("{s:b}", "set", is_set));
        }
    }
    if (result == CLI_OK && !is_set && !count.line.ctx.help) {
        cli_complain("%s: it is set already", count.shown);
        result = CLI_BUSY;
    }
    cli_count_close(&count);
    return result;
}

static int add(const struct cli_context *ctx, int argc, char **argv)
{
    struct cli_count count;
    hf_error err;
    int64_t permits, available;
    int result = cli_count_open(&count, CLI_SEMAPHORE, &sem_add, ctx, argc,
                                argv, NULL, 1, "NAME PERMITS");

    if (result == CLI_GO_ON) {
        result = cli_number_read(sem_add.name, "PERMITS",
                                 cli_line_word(&count.line, 1), -HF_PERMITS_MAX,
                                 HF_PERMITS_MAX, &permits);
    }
    if (result == CLI_GO_ON) {
        result = hf_semaphore_add(count.semaphore, permits, &available, &err) ==
                         HF_OK
                     ? cli_count_json(&count, json_pack("{s:I}", "available",
                                                        (json_int_t)available))
                     : cli_complain_error(&err);
    }
    cli_count_close(&count);
    return result;
}

/* ---- acquire, release, drain, delete ---- */

static int acquire(const struct cli_context *ctx, int argc, char **argv)
{
    struct sem_options o = SEM_OPTIONS_INIT;
    struct cli_count count;
    int result = cli_count_open(&count, CLI_SEMAPHORE, &sem_acquire, ctx, argc,
                                argv, &o, 0, "NAME");

    if (result == CLI_GO_ON) {
        result = cli_patience_check(sem_acquire.name, &o.patience);
    }
    if (result == CLI_GO_ON) {
        result = cli_count_wait(&count, o.permits, &o.patience);
    }
    if (result == CLI_GO_ON) {
        result = cli_count_json(
            &count, json_pack("{s:I}", "acquired", (json_int_t)o.permits));
    }
    cli_count_close(&count);
    return result;
}

static int release_permits(struct cli_count *count, const struct sem_options *o)
{
    bool existed = true;
    hf_error err;
    hf_status status = o->if_exists
                           ? hf_semaphore_release_if_exists(
                                 count->semaphore, o->permits, &existed, &err)
                           : hf_semaphore_release(count->semaphore, o->permits,
                                                  &err);

    if (status != HF_OK) {
        return cli_complain_error(&err);
    }
    return cli_count_json(
        count,
        json_pack("{s:I}", "released", (json_int_t)(existed ? o->permits : 0)));
}

static int release(const struct cli_context *ctx, int argc, char **argv)
{
    struct sem_options o = SEM_OPTIONS_INIT;
    struct cli_count count;
    int result = cli_count_open(&count, CLI_SEMAPHORE, &sem_release, ctx, argc,
                                argv, &o, 0, "NAME");

    if (result == CLI_GO_ON) {
        result = release_permits(&count, &o);
    }
    cli_count_close(&count);
    return result;
}

static int drain_permits(struct cli_count *count)
{
    hf_error err;
    int64_t drained = 0;

    if (hf_semaphore_drain(count->semaphore, &drained, &err) != HF_OK) {
        return cli_complain_error(&err);
    }
    if (!count->ctx->json) {
        printf("%" PRId64 "\n", drained);
    }
    return cli_count_json(count,
                          json_pack("{s:I}", "drained", (json_int_t)drained));
}

static int drain(const struct cli_context *ctx, int argc, char **argv)
{
    struct cli_count count;
    int result = cli_count_open(&count, CLI_SEMAPHORE, &sem_drain, ctx, argc,
                                argv, NULL, 0, "NAME");

    if (result == CLI_GO_ON) {
        result = drain_permits(&count);
    }
    cli_count_close(&count);
    return result;
}

static int delete (const struct cli_context *ctx, int argc, char **argv)
{
    struct cli_count count;
    bool existed = false;
    hf_error err;
    int result = cli_count_open(&count, CLI_SEMAPHORE, &sem_delete, ctx, argc,
                                argv, NULL, 0, "NAME");

    if (result == CLI_GO_ON) {
        result = hf_semaphore_delete(count.semaphore, &existed, &err) == HF_OK
                     ? cli_count_json(&count,
                                      json_pack("{s:b}", "deleted", existed))
                     : cli_complain_error(&err);
    }
    cli_count_close(&count);
    return result;
}

/* ---- show ---- */

static int print_info(const struct cli_count *count,
                      const hf_semaphore_info *info)
{
    if (count->ctx->json) {
        return cli_count_json(
            count, json_pack("{s:b, s:I, s:I, s:I}", "exists", info->exists,
                             "available", (json_int_t)info->available, "ttl_ms",
                             (json_int_t)info->ttl_ms, "waiting",
                             (json_int_t)info->waiting));
    }
    char *shown = cli_printable_new(count->name, strlen(count->name));
    if (shown == NULL) {
        cli_complain("out of memory");
        return CLI_INTERNAL;
    }
    printf(isatty(STDOUT_FILENO)
               ? "name       %s\nstate      %s\navailable  "
                 "%" PRId64 "\nttl_ms     %" PRId64 "\nwaiting    %" PRId64 "\n"
               : "%s\t%s\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\n",
           shown, info->exists ? "set" : "none", info->available, info->ttl_ms,
           info->waiting);
    free(shown);
    return CLI_OK;
}

static int show(const struct cli_context *ctx, int argc, char **argv)
{
    hf_semaphore_info info = HF_SEMAPHORE_INFO_INIT;
    struct cli_count count;
    hf_error err;
    int result = cli_count_open(&count, CLI_SEMAPHORE, &sem_show, ctx, argc,
                                argv, NULL, 0, "NAME");

    if (result == CLI_GO_ON) {
        result = hf_semaphore_inspect_remote(count.semaphore, &info, &err) ==
                         HF_OK
                     ? print_info(&count, &info)
                     : cli_complain_error(&err);
    }
    cli_count_close(&count);
    return result;
}

/* ---- run ---- */

static int check_words(const struct sem_options *o, const struct cli_line *line)
{
    if (o->shell != NULL && line->rest_count > 0) {
        cli_complain("sem run: give -c STRING or a command behind --, not "
                     "both");
    } else if (line->operand_count > 1) {
        cli_complain("sem run: put -- before the command: "
                     "holdfast sem run %.80s -- %.80s ...",
                     line->operands[0], line->operands[1]);
    } else if (line->operand_count < 1) {
        cli_complain("sem run: NAME is missing; usage: holdfast sem run %s",
                     sem_run.usage);
    } else if (o->shell == NULL && line->rest_count == 0) {
        cli_complain("sem run: the command is missing; put it behind --, or "
                     "give -c STRING");
    } else {
        return cli_patience_check(sem_run.name, &o->patience);
    }
    return CLI_USAGE;
}

/* execve() takes words that could be written to. */
static char shell_path[] = "/bin/sh";
static char shell_option[] = "-c";

static int run_with_permits(struct cli_count *count,
                            const struct sem_options *o)
{
    char *shell_argv[] = {shell_path, shell_option, NULL, NULL};
    char **argv = count->line.rest;
    int result = cli_count_wait(count, o->permits, &o->patience);

    if (result != CLI_GO_ON) {
        return result;
    }
    if (o->shell != NULL) {
        shell_argv[2] = strdup(o->shell);
        argv = shell_argv;
    }
    result = cli_sem_run(count, o->permits, argv);
    free(shell_argv[2]);
    return result;
}

static int run_command(const struct cli_context *ctx, int argc, char **argv)
{
    struct sem_options o = SEM_OPTIONS_INIT;
    struct cli_count count;

    memset(&count, 0, sizeof(count));
    int result = cli_line_parse(&sem_run, ctx, argc, argv, &o, &count.line);
    if (result == CLI_GO_ON) {
        result = check_words(&o, &count.line);
    }
    if (result == CLI_GO_ON) {
        result = cli_count_open_line(&count, CLI_SEMAPHORE);
    }
    if (result == CLI_GO_ON) {
        result = run_with_permits(&count, &o);
    }
    cli_count_close(&count);
    return result;
}

/* ---- the records ---- */

static const struct cli_command sem_set = {
    .name = "sem set",
    .usage = "[--ttl DUR] NAME PERMITS",
    .summary = "make it with so many permits, unless there is one",
    .options = set_options,
    .function = set,
};

static const struct cli_command sem_add = {
    .name = "sem add",
    .usage = "NAME PERMITS (-- NAME -N withdraws N)",
    .summary = "add permits, or withdraw some",
    .function = add,
};

static const struct cli_command sem_acquire = {
    .name = "sem acquire",
    .usage = "[options] NAME",
    .summary = "take permits, waiting for them",
    .options = wait_options,
    .function = acquire,
};

static const struct cli_command sem_release = {
    .name = "sem release",
    .usage = "[options] NAME",
    .summary = "give permits back, whoever took them",
    .options = release_options,
    .function = release,
};

static const struct cli_command sem_drain = {
    .name = "sem drain",
    .usage = "NAME",
    .summary = "take all permits that there are, and print how many",
    .function = drain,
};

static const struct cli_command sem_show = {
    .name = "sem show",
    .usage = "NAME",
    .summary = "show how many permits are available, and how many wait",
    .function = show,
};

static const struct cli_command sem_run = {
    .name = "sem run",
    .usage = "[options] NAME -- CMD [ARG...]",
    .summary = "take permits while a command runs",
    .options = run_options,
    .function = run_command,
};

static const struct cli_command sem_delete = {
    .name = "sem delete",
    .usage = "NAME",
    .summary = "delete the semaphore",
    .function = delete,
};

static const struct cli_command *const actions[] = {
    &sem_set,  &sem_add, &sem_acquire, &sem_release, &sem_drain,
    &sem_show, &sem_run, &sem_delete,  NULL,
};

static int run(const struct cli_context *ctx, int argc, char **argv)
{
    return cli_actions_run(&cli_cmd_sem, ctx, argc, argv);
}

const struct cli_command cli_cmd_sem = {
    .name = "sem",
    .usage = "set|add|acquire|release|drain|show|run|delete NAME ...",
    .summary = "a counting semaphore: how many at once",
    .options = NULL,
    .function = run,
    .actions = actions,
};
