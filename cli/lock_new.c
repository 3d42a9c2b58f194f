/* SPDX-License-Identifier: MIT */
/* lock_new.c - a lock object of the kind that a command line names. */
#include "lock_new.h"

#include <string.h>

hf_status cli_lock_new(hf_client *client, const struct cli_lock_kind *what,
                       const char *name, hf_lock **ret_lock, hf_error *reterr)
{
    hf_lock_options options = HF_LOCK_OPTIONS_INIT;

    options.kind = what->kind;
    options.fenced = what->fenced;
    return hf_lock_new_as(client, &options, name, strlen(name), ret_lock,
                          reterr);
}
