/* SPDX-License-Identifier: MIT */
/* exit_status.c - from the library's statuses to the exit statuses.
 *
 * Every status has a line here, so that the compiler asks for one when the
 * library learns to say something new.
 */
#include "exit_status.h"

int cli_exit_of(hf_status status)
{
    switch (status) {
    case HF_OK:
        return CLI_OK;
    case HF_BUSY:
    case HF_TIMEOUT:
        return CLI_BUSY;
    case HF_ALREADY_HELD:
    case HF_UPGRADE:
    case HF_NOT_OWNER:
    case HF_GONE:
    case HF_LOST:
        return CLI_LOST;
    case HF_NOT_DONE:
    case HF_UNKNOWN:
    case HF_UNREACHABLE:
    case HF_UNAVAILABLE:
    case HF_NOT_HERE:
    case HF_PROTOCOL:
        return CLI_UNAVAILABLE;
    case HF_INVALID:
    case HF_BAD_URL:
    case HF_BAD_NAME:
        return CLI_USAGE;
    case HF_WRONG_TYPE:
        return CLI_WRONG_TYPE;
    case HF_PERMISSION:
        return CLI_DENIED;
    case HF_CANCELLED:
    case HF_CLOSED:
    case HF_STILL_HELD:
    case HF_FORKED:
    case HF_IN_CALLBACK:
    case HF_NOMEM:
    case HF_SYSTEM:
    case HF_INTERNAL:
    case HF_STATUS_MAX_:
        break;
    }
    return CLI_INTERNAL;
}
