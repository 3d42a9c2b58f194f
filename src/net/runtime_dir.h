/* SPDX-License-Identifier: MIT */
/* net/runtime_dir.h - the folder in which this user's private servers live. */
#ifndef HFI_NET_RUNTIME_DIR_H
#define HFI_NET_RUNTIME_DIR_H

#include <stdbool.h>
#include <stddef.h>

#include "holdfast/status.h"

/* The folder to use: $XDG_RUNTIME_DIR/holdfast if that variable names a folder
 * of ours, else /run/user/UID/holdfast if /run/user/UID is a folder of ours,
 * else /tmp/holdfast-UID.  It is made, mode 0700, if it does not exist.
 * @param buf  receives its path.
 * @retval HF_OK
 * @retval HF_PERMISSION  it exists and is not a folder, not ours, or open to
 *                        others; the message names it.
 * @retval HF_SYSTEM      it could not be made, or its path is too long. */
hf_status hfi_runtime_dir(char *buf, size_t size, hf_error *reterr);

/* /run/user/UID comes with the user's first login.  A server that a cron job
 * started before that is in /tmp/holdfast-UID, and must be found there after it.
 * @return whether there is such an earlier folder beside hfi_runtime_dir()'s,
 *         ours alone; makes nothing. */
bool hfi_runtime_dir_earlier(char *buf, size_t size);

#endif
