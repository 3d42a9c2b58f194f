/* SPDX-License-Identifier: MIT */
/* net/local_ask.h - a few words with a server on a Unix socket, blocking.
 */
#ifndef HFI_NET_LOCAL_ASK_H
#define HFI_NET_LOCAL_ASK_H

#include <stdint.h>

#include "holdfast/status.h"
#include "net/socket.h"

enum hfi_presence {
    HFI_ABSENT, /* nobody listens: no socket, or that of a dead server */
    HFI_MUTE,   /* somebody listens, but does not answer as he should */
    HFI_ANSWERS
};

/* Look who is there, for `limit_ms` at most; 0: do not wait for words, so that
 * who listens is HFI_MUTE.
 * @param ret_pid  of the process that listens, or 0.
 * @retval HF_OK           *ret_presence says it.
 * @retval HF_UNREACHABLE  it cannot be told (access denied, say).
 * @retval HF_SYSTEM       no descriptor left. */
hf_status hfi_local_ask(const struct hfi_address *address, int64_t limit_ms,
                        enum hfi_presence *ret_presence, int64_t *ret_pid,
                        hf_error *reterr);

/* Tell it to end, without saving, and wait until its process is gone.
 * @retval HF_OK           it is gone, or nobody listened.
 * @retval HF_UNREACHABLE  it refused, or did not end in time.
 * @retval HF_SYSTEM       no descriptor left. */
hf_status hfi_local_end(const struct hfi_address *address, int64_t limit_ms,
                        hf_error *reterr);

#endif
