/* SPDX-License-Identifier: MIT */
/* lock_info.h - printing what the server says about a lock. */
#ifndef HOLDFAST_CLI_LOCK_INFO_H
#define HOLDFAST_CLI_LOCK_INFO_H

#include <jansson.h>

#include "holdfast/inspect.h"

/* For programs: `name kind locked owner count ttl_ms waiting` (and `name_hex`,
 * see printable.h).  NULL: no memory. */
json_t *cli_lock_info_json(const void *name, size_t name_bytes,
                           const hf_lock_info *info);

/* For scripts: name, state, owner, count, ttl_ms and waiting, separated by
 * tabs, on one line.  An owner that is not there is "-".
 * Returns an exit status. */
int cli_lock_info_plain(const void *name, size_t name_bytes,
                        const hf_lock_info *info);

/* "23.4s", "no end", "-": what is left of the lease, for people. */
void cli_lock_info_left(const hf_lock_info *info, char *buf, size_t size);

#endif
