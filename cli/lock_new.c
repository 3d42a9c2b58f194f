/* SPDX-License-Identifier: MIT */
/* lock_new.c - a lock object of the kind that a command line names. */
#include "lock_new.h"

#include "complain.h"
#include "exit_status.h"

#include <string.h>

#define FIELD(name) offsetof(struct cli_lock_kind, name)

const struct cli_option cli_kind_options[] = {
    {"kind", 0, "KIND", CLI_KINDS_HELP, cli_set_kind, FIELD(kind), NULL},
    {"value", 0, "VALUE", "of --kind values: one of its values; repeat it",
     cli_add_word, FIELD(values), NULL},
    CLI_OPTIONS_END,
};

const struct cli_option cli_kind_take_options[] = {
    {"fenced", 0, NULL, "with a fencing token; not of read and values",
     cli_set_flag, FIELD(fenced), NULL},
    {"prefer-writers", 0, NULL, "of read and write: waiting writers go first",
     cli_set_flag, FIELD(prefer_writers), NULL},
    {"fair-dead", 0, "DUR", "of fair kinds: a silent waiter is dead (def. 5s)",
     cli_set_positive, FIELD(fair_dead_ms), NULL},
    {"fair-wait", 0, "DUR", "... and Redisson's waiters (default 5m)",
     cli_set_positive, FIELD(fair_wait_ms), NULL},
    CLI_OPTIONS_GO_ON(cli_kind_options),
};

static const char *wrong_in(const struct cli_lock_kind *what)
{
    hf_kind kind = what->kind;
    bool is_fair = kind == HF_KIND_FAIR || kind == HF_KIND_NONREENTRANT_FAIR;

    if (kind == HF_KIND_VALUES && what->values.count == 0) {
        return "--kind values needs --value VALUE, once for each";
    }
    if (kind != HF_KIND_VALUES && what->values.count > 0) {
        return "--value is for --kind values";
    }
    if (kind == HF_KIND_VALUES && what->fenced) {
        return "a values lock has no fencing tokens";
    }
    if (what->prefer_writers && kind != HF_KIND_READ && kind != HF_KIND_WRITE) {
        return "--prefer-writers is for --kind read and write";
    }
    if (!is_fair && (what->fair_dead_ms != 0 || what->fair_wait_ms != 0)) {
        return "--fair-dead and --fair-wait are for --kind fair and "
               "nonreentrant-fair";
    }
    return NULL;
}

int cli_lock_kind_check(const char *command, const struct cli_lock_kind *what)
{
    const char *wrong = wrong_in(what);

    if (wrong == NULL) {
        return CLI_GO_ON;
    }
    cli_complain("%s: %s", command, wrong);
    return CLI_USAGE;
}

hf_status cli_lock_new(hf_client *client, const struct cli_lock_kind *what,
                       const char *name, hf_lock **ret_lock, hf_error *reterr)
{
    hf_lock_options options = HF_LOCK_OPTIONS_INIT;

    if (what->kind == HF_KIND_VALUES) {
        return hf_values_lock_new(client, name, what->values.words,
                                  what->values.count, ret_lock, reterr);
    }
    options.kind = what->kind;
    options.fenced = what->fenced;
    options.prefer_writers = what->prefer_writers;
    options.fair_wait_ms = what->fair_wait_ms;
    options.fair_dead_ms = what->fair_dead_ms;
    return hf_lock_new_as(client, &options, name, strlen(name), ret_lock,
                          reterr);
}
