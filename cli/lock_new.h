/* SPDX-License-Identifier: MIT */
/* lock_new.h - a lock object of the kind that a command line names. */
#ifndef HOLDFAST_CLI_LOCK_NEW_H
#define HOLDFAST_CLI_LOCK_NEW_H

#include "holdfast/lock.h"

/* As hf_lock_new(), for any kind. */
hf_status cli_lock_new(hf_client *client, hf_kind kind, const char *name,
                       hf_lock **ret_lock, hf_error *reterr);

#endif
