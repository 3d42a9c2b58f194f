/* SPDX-License-Identifier: MIT */
/* net/wake.h - waking a thread that polls. */
#ifndef HFI_NET_WAKE_H
#define HFI_NET_WAKE_H

#include "holdfast/status.h"

/* Poll `fd` for POLLIN; it is -1 when closed. */
struct hfi_wake {
    int fd;
};

#define HFI_WAKE_CLOSED                                                        \
    {                                                                          \
        -1                                                                     \
    }

/* @retval HF_OK, HF_SYSTEM (no descriptor left); closed then. */
hf_status hfi_wake_open(struct hfi_wake *ret_wake, hf_error *reterr);

/* Make it readable.  Any thread, and signal handlers: keeps errno, never
 * blocks.  Does nothing when it is closed. */
void hfi_wake_fire(const struct hfi_wake *wake);

/* Make it unreadable again, however often it was fired.  Read the state that
 * it was fired for after this, not before. */
void hfi_wake_drain(const struct hfi_wake *wake);

/* Close it; closing a closed one does nothing. */
void hfi_wake_close(struct hfi_wake *wake);

#endif
