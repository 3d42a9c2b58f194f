/* SPDX-License-Identifier: MIT */
/* The names, texts and classes of what a call can answer.
 *
 * Everything is made from HF_STATUS_MAP, so that a status cannot have a number
 * and lack a text.  Pure; any thread.
 */
#include "holdfast/status.h"

#include "holdfast/lock.h"

const char *hf_status_name(hf_status status)
{
    switch (status) {
#define HF_STATUS_CASE(name, number, class_, text)                             \
    case name:                                                                 \
        return #name;
        HF_STATUS_MAP(HF_STATUS_CASE)
#undef HF_STATUS_CASE
    case HF_STATUS_MAX_:
        break;
    }
    return "HF_?";
}

const char *hf_status_text(hf_status status)
{
    switch (status) {
#define HF_STATUS_CASE(name, number, class_, text)                             \
    case name:                                                                 \
        return text;
        HF_STATUS_MAP(HF_STATUS_CASE)
#undef HF_STATUS_CASE
    case HF_STATUS_MAX_:
        break;
    }
    return "unknown status";
}

hf_class hf_status_class(hf_status status)
{
    switch (status) {
#define HF_STATUS_CASE(name, number, class_, text)                             \
    case name:                                                                 \
        return HF_CLASS_##class_;
        HF_STATUS_MAP(HF_STATUS_CASE)
#undef HF_STATUS_CASE
    case HF_STATUS_MAX_:
        break;
    }
    /* A number that is none says nothing about the server. */
    return HF_CLASS_LOCAL;
}

const char *hf_lost_reason_text(hf_lost_reason reason)
{
    switch (reason) {
    case HF_NOT_LOST:
        return "not lost";
    case HF_LOST_EXPIRED:
        return "its lease ran out here";
    case HF_LOST_TAKEN:
        return "another owner has taken it";
    case HF_LOST_GONE:
        return "it is gone from the server";
    case HF_LOST_UNREACHABLE:
        return "the server did not answer before the lease ran out";
    case HF_LOST_MAX_HOLD:
        return "it was held for as long as it may be";
    case HF_LOST_OWNER_GONE:
        return "the thread that owned it has ended";
    case HF_LOST_CLOSED:
        return "the client was closed";
    }
    return "unknown reason";
}
