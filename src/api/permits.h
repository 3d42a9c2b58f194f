/* SPDX-License-Identifier: MIT */
/* api/permits.h - what the files of permits with leases share; api/ only. */
#ifndef HFI_API_PERMITS_H
#define HFI_API_PERMITS_H

#include "api/call.h"
#include "holdfast/permits.h"

static inline hf_lock *hfi_permits_inside(hf_permits *permits)
{
    return (hf_lock *)(void *)permits;
}

/** HF_INVALID: there is no object, or that is no id. */
hf_status hfi_permits_check_id(const hf_permits *permits, const char *id,
                               hf_error *reterr);

/** HF_GONE: what is said of the permit with this id, with the name. */
hf_status hfi_permits_fail_gone(hf_permits *permits, const char *id,
                                const char *what, hf_error *reterr);

#endif
