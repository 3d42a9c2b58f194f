/* SPDX-License-Identifier: MIT */
/* lock_new.h - a lock object of the kind that a command line names. */
#ifndef HOLDFAST_CLI_LOCK_NEW_H
#define HOLDFAST_CLI_LOCK_NEW_H

#include "options.h"

#include "holdfast/multi.h"

/* What it is to be, beside its name. */
struct cli_lock_kind {
    hf_kind kind;
    int fenced;
    int prefer_writers;
    int64_t fair_wait_ms; /* 0: the library's */
    int64_t fair_dead_ms; /* the same */
    struct cli_words values;
};

/* The options that say which kind, and of a values lock which values; and those
 * that matter only to who takes it.  Each for a struct that begins with a struct
 * cli_lock_kind. */
extern const struct cli_option cli_kind_options[];
extern const struct cli_option cli_kind_take_options[];

/* Whether they go together.  Returns CLI_GO_ON or an exit status, having
 * complained. */
int cli_lock_kind_check(const char *command, const struct cli_lock_kind *what);

/* As hf_lock_new(), for any kind. */
hf_status cli_lock_new(hf_client *client, const struct cli_lock_kind *what,
                       const char *name, hf_lock **ret_lock, hf_error *reterr);

#endif
