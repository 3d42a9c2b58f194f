/* SPDX-License-Identifier: MIT */
/* cmd_permits.c - permits with leases: set how many, take one, give it back.
 *
 * `acquire` takes one for a fixed lease, prints its id and ends: nobody is there
 * to renew it.  Whoever has the id may prolong it (`extend`) or give it back
 * (`release`), from any machine.  `run` is in cmd_run.c.
 */
#include "actions.h"
#include "complain.h"
#include "count.h"
#include "exit_status.h"
#include "hold.h"
#include "permits_run.h"
#include "printable.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* As that of `acquire`. */
#define LEASE_MS 60000

static const struct cli_command permits_set, permits_acquire, permits_release,
    permits_extend, permits_show, permits_run;

struct permits_options {
    int once;
    int64_t ttl_ms;
    int64_t lease_ms; /* 0: not given */
    int exact;
};

const struct cli_option cli_permit_options[] = {
    {"wait", 'w', "DUR", "wait at most so long (default: for ever)",
     cli_set_duration, offsetof(struct cli_take, wait_ms), NULL},
    {"nowait", 'n', NULL, "do not wait: fail if there is none", cli_set_flag,
     offsetof(struct cli_take, nowait), NULL},
    {"busy-code", 0, "N", "exit status if there is none (default 75)",
     cli_set_exit, offsetof(struct cli_take, busy_code), NULL},
    CLI_OPTIONS_END,
};

static const struct cli_option acquire_options[] = {
    {"permits", 'p', "N", "so many at once, or none (default 1)",
     cli_set_permits, offsetof(struct cli_take, permits), NULL},
    {"lease", 0, "DUR", "length of the lease, which is fixed (default 60s)",
     cli_set_lease, offsetof(struct cli_take, lease_ms), NULL},
    {"no-lease", 0, NULL, "it never ends by itself", cli_set_flag,
     offsetof(struct cli_take, no_lease), NULL},
    CLI_OPTIONS_GO_ON(cli_permit_options),
};

static const struct cli_option set_options[] = {
    {"once", 0, NULL, "only if there are none yet", cli_set_flag,
     offsetof(struct permits_options, once), NULL},
    {"ttl", 0, "DUR", "with --once: how long they exist (default: for ever)",
     cli_set_positive, offsetof(struct permits_options, ttl_ms), NULL},
    CLI_OPTIONS_END,
};

static const struct cli_option extend_options[] = {
    {"lease", 0, "DUR", "the lease lasts at least so long from now",
     cli_set_lease, offsetof(struct permits_options, lease_ms), NULL},
    {"exact", 0, NULL, "and no longer, if it would", cli_set_flag,
     offsetof(struct permits_options, exact), NULL},
    CLI_OPTIONS_END,
};

/* ---- set ---- */

static int set_number(struct cli_count *count, const struct permits_options *o,
                      int64_t number)
{
    bool is_set = true;
    hf_error err;
    hf_status status = o->once ? hf_permits_try_set(count->permits, number,
                                                    o->ttl_ms, &is_set, &err)
                               : hf_permits_set(count->permits, number, &err);

    if (status != HF_OK) {
        return cli_complain_error(&err);
    }
    int result = cli_count_json(count, json_pack("{s:b}", "set", is_set));
    if (result == CLI_OK && !is_set) {
        cli_complain("%s: it is set already", count->shown);
        result = CLI_BUSY;
    }
    return result;
}

static int set(const struct cli_context *ctx, int argc, char **argv)
{
    struct permits_options o = {0, 0, 0, 0};
    struct cli_count count;
    int64_t number = 0;
    int result = cli_count_open(&count, CLI_PERMITS, &permits_set, ctx, argc,
                                argv, &o, 1, "NAME PERMITS");

    if (result == CLI_GO_ON && o.ttl_ms != 0 && !o.once) {
        cli_complain("permits set: --ttl is for --once");
        result = CLI_USAGE;
    }
    if (result == CLI_GO_ON) {
        result = cli_number_read(permits_set.name, "PERMITS",
                                 cli_line_word(&count.line, 1), 0,
                                 HF_PERMITS_MAX, &number);
    }
    if (result == CLI_GO_ON) {
        result = set_number(&count, &o, number);
    }
    cli_count_close(&count);
    return result;
}

/* ---- acquire ---- */

static int check_acquire(struct cli_take *take)
{
    int result = cli_take_check(permits_acquire.name, take);

    if (result != CLI_GO_ON) {
        return result;
    }
    if (take->permits > HF_PERMITS_AT_ONCE_MAX) {
        cli_complain("permits acquire: --permits: %d at most",
                     HF_PERMITS_AT_ONCE_MAX);
        return CLI_USAGE;
    }
    if (take->no_lease && take->lease_ms != 0) {
        cli_complain("permits acquire: --lease and --no-lease exclude each "
                     "other; give one");
        return CLI_USAGE;
    }
    if (take->no_lease) {
        take->lease_ms = HF_LEASE_NONE;
    } else if (take->lease_ms == 0) {
        take->lease_ms = LEASE_MS;
    }
    return CLI_GO_ON;
}

/* "id": one; or "ids": an array. */
static void put_ids(json_t *object, const char *one, const char *several,
                    const hf_permit_id *ids, size_t count)
{
    json_t *array;

    if (object == NULL || count == 1) {
        json_object_set_new(object, one, json_string(ids[0].text));
        return;
    }
    array = json_array();
    for (size_t i = 0; i < count; i++) {
        json_array_append_new(array, json_string(ids[i].text));
    }
    json_object_set_new(object, several, array);
}

static int print_ids(const struct cli_hold *hold, size_t count)
{
    int result = CLI_OK;

    if (hold->ctx->json) {
        json_t *object = json_pack("{s:s, s:I}", "kind", cli_hold_kind(hold),
                                   "lease_ms",
                                   (json_int_t)hold->take->lease_ms);
        put_ids(object, "id", "ids", hold->ids, count);
        cli_hold_describe(hold, object);
        result = cli_json_print(object);
    } else {
        for (size_t i = 0; i < count; i++) {
            puts(hold->ids[i].text);
        }
    }
    if (result == CLI_OK && fflush(stdout) != 0) {
        return CLI_INTERNAL; /* main() says so */
    }
    return result;
}

static int hand_out(struct cli_hold *hold)
{
    size_t count = (size_t)hold->take->permits;
    size_t handed = 0;
    hf_error err;

    while (handed < count &&
           hf_permits_hand_on(hold->permits, hold->ids[handed].text, &err) ==
               HF_OK) {
        handed++;
    }
    /* What was not handed on is released by closing the client. */
    int result = handed < count ? cli_complain_error(&err)
                                : print_ids(hold, count);
    if (result != CLI_OK && handed > 0) {
        /* Nobody has got the ids, so nobody could give them back. */
        hf_permits_release_many(hold->permits, hold->ids, handed, NULL);
    }
    return result;
}

static int acquire(const struct cli_context *ctx, int argc, char **argv)
{
    struct cli_take take = CLI_TAKE_INIT;
    struct cli_line line;
    struct cli_hold hold;

    take.lease_ms = 0;
    int result = cli_line_parse(&permits_acquire, ctx, argc, argv, &take,
                                &line);
    if (result == CLI_GO_ON) {
        result = cli_line_expect(&permits_acquire, &line, 1, 1, "NAME");
    }
    if (result == CLI_GO_ON) {
        result = check_acquire(&take);
    }
    if (result != CLI_GO_ON) {
        return result;
    }
    take.no_renew = 1;
    take.permit = 1;
    result = cli_hold_take(&hold, &line.ctx, &take,
                           line.operand_count > 0 ? line.operands : line.rest,
                           1);
    if (result == CLI_GO_ON) {
        result = hand_out(&hold);
    }
    cli_hold_close(&hold);
    return result;
}

/* ---- ids ---- */

static bool is_id(const char *word)
{
    return strlen(word) == HF_PERMIT_ID_SIZE - 1 &&
           strspn(word, "0123456789abcdefABCDEF") == HF_PERMIT_ID_SIZE - 1;
}

/* The words behind the name: the library would refuse them as well, but cannot
 * say as the command line has them. */
static int check_ids(const char *command, const struct cli_line *line)
{
    const char *id;

    for (int i = 1; (id = cli_line_word(line, i)) != NULL; i++) {
        if (!is_id(id)) {
            cli_complain("%s: '%.80s' is no id of a permit, which has 32 "
                         "hexadecimal digits",
                         command, id);
            return CLI_USAGE;
        }
        for (int j = 1; j < i; j++) {
            if (strcasecmp(cli_line_word(line, j), id) == 0) {
                cli_complain("%s: %s stands there twice", command, id);
                return CLI_USAGE;
            }
        }
    }
    return CLI_GO_ON;
}

/* ---- release, extend ---- */

static int release_ids(struct cli_count *count, hf_permit_id *ids, size_t many)
{
    hf_error err;
    hf_status status;

    for (size_t i = 0; i < many; i++) {
        const char *word = cli_line_word(&count->line, (int)i + 1);

        /* What is too long is no id, and must not become one. */
        snprintf(ids[i].text, sizeof(ids[i].text), "%s",
                 strlen(word) < sizeof(ids[i].text) ? word : "");
    }
    status = many == 1
                 ? hf_permits_release(count->permits, ids[0].text, &err)
                 : hf_permits_release_many(count->permits, ids, many, &err);
    if (status != HF_OK) {
        return cli_complain_error(&err);
    }
    json_t *object = json_object();
    put_ids(object, "released", "released", ids, many);
    return cli_count_json(count, object);
}

static int release(const struct cli_context *ctx, int argc, char **argv)
{
    struct cli_count count;
    hf_permit_id *ids = NULL;
    size_t many = 0;
    int result = cli_count_open_many(&count, CLI_PERMITS, &permits_release, ctx,
                                     argc, argv, 1, HF_PERMITS_AT_ONCE_MAX,
                                     "NAME ID");

    if (result == CLI_GO_ON) {
        result = check_ids(permits_release.name, &count.line);
    }
    if (result == CLI_GO_ON) {
        many = (size_t)(count.line.operand_count + count.line.rest_count) - 1;
        ids = calloc(many, sizeof(ids[0]));
        result = CLI_INTERNAL;
        if (ids == NULL) {
            cli_complain("out of memory");
        } else {
            result = release_ids(&count, ids, many);
        }
    }
    free(ids);
    cli_count_close(&count);
    return result;
}

static int extend(const struct cli_context *ctx, int argc, char **argv)
{
    struct permits_options o = {0, 0, 0, 0};
    struct cli_count count;
    hf_error err;
    int result = cli_count_open(&count, CLI_PERMITS, &permits_extend, ctx, argc,
                                argv, &o, 1, "NAME ID");

    if (result == CLI_GO_ON && o.lease_ms == 0) {
        cli_complain("permits extend: --lease DUR is missing");
        result = CLI_USAGE;
    }
    if (result == CLI_GO_ON) {
        result = check_ids(permits_extend.name, &count.line);
    }
    if (result == CLI_GO_ON) {
        const char *id = cli_line_word(&count.line, 1);

        hf_status status = o.exact ? hf_permits_set_lease(count.permits, id,
                                                          o.lease_ms, &err)
                                   : hf_permits_extend(count.permits, id,
                                                       o.lease_ms, &err);

        result = status == HF_OK
                     ? cli_count_json(&count, json_pack("{s:s, s:I}", "id", id,
                                                        "lease_ms",
                                                        (json_int_t)o.lease_ms))
                     : cli_complain_error(&err);
    }
    cli_count_close(&count);
    return result;
}

/* ---- show ---- */

static int print_info(const struct cli_count *count,
                      const hf_permits_info *info)
{
    if (count->ctx->json) {
        return cli_count_json(count,
                              json_pack("{s:b, s:I, s:I, s:I, s:I}", "exists",
                                        info->exists, "available",
                                        (json_int_t)info->available, "acquired",
                                        (json_int_t)info->acquired, "ttl_ms",
                                        (json_int_t)info->ttl_ms, "waiting",
                                        (json_int_t)info->waiting));
    }
    char *shown = cli_printable_new(count->name, strlen(count->name));
    if (shown == NULL) {
        cli_complain("out of memory");
        return CLI_INTERNAL;
    }
    printf(isatty(STDOUT_FILENO)
               ? "name       %s\nstate      %s\navailable  %" PRId64
                 "\nacquired   %" PRId64 "\nttl_ms     %" PRId64
                 "\nwaiting    %" PRId64 "\n"
               : "%s\t%s\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\n",
           shown, info->exists ? "set" : "none", info->available,
           info->acquired, info->ttl_ms, info->waiting);
    free(shown);
    return CLI_OK;
}

/* The lease of one permit. */
static int show_one(const struct cli_count *count, const char *id)
{
    int64_t lease_ms = 0;
    hf_error err;

    if (hf_permits_lease_remote(count->permits, id, &lease_ms, &err) != HF_OK) {
        return cli_complain_error(&err);
    }
    if (count->ctx->json) {
        return cli_count_json(count,
                              json_pack("{s:s, s:I}", "id", id, "lease_ms",
                                        (json_int_t)lease_ms));
    }
    printf(isatty(STDOUT_FILENO) ? "id         %s\nlease_ms   %" PRId64 "\n"
                                 : "%s\t%" PRId64 "\n",
           id, lease_ms);
    return CLI_OK;
}

static int show(const struct cli_context *ctx, int argc, char **argv)
{
    hf_permits_info info = HF_PERMITS_INFO_INIT;
    struct cli_count count;
    hf_error err;
    int result = cli_count_open_many(&count, CLI_PERMITS, &permits_show, ctx,
                                     argc, argv, 0, 1, "NAME");

    if (result == CLI_GO_ON) {
        result = check_ids(permits_show.name, &count.line);
    }
    const char *id = result == CLI_GO_ON ? cli_line_word(&count.line, 1) : NULL;

    if (id != NULL) {
        result = show_one(&count, id);
    } else if (result == CLI_GO_ON) {
        result = hf_permits_inspect_remote(count.permits, &info, &err) == HF_OK
                     ? print_info(&count, &info)
                     : cli_complain_error(&err);
    }
    cli_count_close(&count);
    return result;
}

/* ---- the records ---- */

static int run_with_permit(const struct cli_context *ctx, int argc, char **argv)
{
    return cli_permits_run(&permits_run, ctx, argc, argv);
}

static const struct cli_command permits_set = {
    .name = "permits set",
    .usage = "[--once [--ttl DUR]] NAME PERMITS",
    .summary = "let there be so many, those that are out counted",
    .options = set_options,
    .function = set,
};

static const struct cli_command permits_acquire = {
    .name = "permits acquire",
    .usage = "[options] NAME",
    .summary = "take a permit for a fixed lease and print its id",
    .options = acquire_options,
    .function = acquire,
};

static const struct cli_command permits_release = {
    .name = "permits release",
    .usage = "NAME ID [ID...]",
    .summary = "give permits back, whoever took them: all, or none",
    .function = release,
};

static const struct cli_command permits_extend = {
    .name = "permits extend",
    .usage = "--lease DUR [--exact] NAME ID",
    .summary = "prolong a permit, or set its lease",
    .options = extend_options,
    .function = extend,
};

static const struct cli_command permits_show = {
    .name = "permits show",
    .usage = "NAME [ID]",
    .summary = "show how many are available, out, and waited for; or a lease",
    .function = show,
};

static const struct cli_command permits_run = {
    .name = "permits run",
    .usage = "[options] NAME -- CMD [ARG...]",
    .summary = "hold a permit while a command runs",
    .options = cli_permits_run_options,
    .function = run_with_permit,
};

static const struct cli_command *const actions[] = {
    &permits_set,
    &permits_acquire,
    &permits_release,
    &permits_extend,
    &permits_show,
    &permits_run,
    NULL,
};

static int run(const struct cli_context *ctx, int argc, char **argv)
{
    return cli_actions_run(&cli_cmd_permits, ctx, argc, argv);
}

const struct cli_command cli_cmd_permits = {
    .name = "permits",
    .usage = "set|acquire|release|extend|show|run NAME ...",
    .summary = "permits with leases: how many at once, and none is lost",
    .options = NULL,
    .function = run,
    .actions = actions,
};
