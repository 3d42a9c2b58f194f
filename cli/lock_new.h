/* SPDX-License-Identifier: MIT */
/* lock_new.h - a lock object of the kind that a command line names. */
#ifndef HOLDFAST_CLI_LOCK_NEW_H
#define HOLDFAST_CLI_LOCK_NEW_H

#include "holdfast/lock.h"

/* What it is to be, beside its name. */
struct cli_lock_kind {
    hf_kind kind;
    int fenced;
};

/* As hf_lock_new(), for any kind. */
hf_status cli_lock_new(hf_client *client, const struct cli_lock_kind *what,
                       const char *name, hf_lock **ret_lock, hf_error *reterr);

#endif
