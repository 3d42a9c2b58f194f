/* SPDX-License-Identifier: MIT */
/* net/runtime_dir.h - the folder in which this user's private servers live. */
#ifndef HFI_NET_RUNTIME_DIR_H
#define HFI_NET_RUNTIME_DIR_H

#include <stddef.h>

#include "holdfast/status.h"

/* $XDG_RUNTIME_DIR/holdfast if that variable names a folder of ours, else
 * /run/user/UID/holdfast if /run/user/UID is a folder of ours, else
 * /tmp/holdfast-UID.  It is made, mode 0700, if it does not exist.
 * @param buf  receives its path.
 * @retval HF_OK
 * @retval HF_PERMISSION  it exists and is not a folder, not ours, or open to
 *                        others; the message names it.
 * @retval HF_INVALID     its path is longer than `size`.
 * @retval HF_SYSTEM      it could not be made. */
hf_status hfi_runtime_dir(char *buf, size_t size, hf_error *reterr);

#endif
