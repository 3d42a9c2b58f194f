/* SPDX-License-Identifier: MIT */
/* holdfast/status.h - what a call can answer, and what the caller may conclude.
 *
 * Every status belongs to a class, and the class is what a program acts on:
 *
 *   DONE   it happened.
 *   NO     it did not happen, and will not: the answer is final.
 *   MAYBE  the request left this machine and no answer came.  It may have
 *          happened; holdfast goes on undoing it in the background.
 *   RETRY  it did not happen: nothing left this machine, or the server refused
 *          service.  The same call may work later.
 *   USAGE  the call itself is wrong and will fail again.
 *   LOCAL  this process is short of something (memory, descriptors).
 */
#ifndef HOLDFAST_STATUS_H
#define HOLDFAST_STATUS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define HF_API __attribute__((visibility("default")))
#else
#define HF_API
#endif

/* One list for names, numbers, classes and texts.  Numbers are never reused. */
#define HF_STATUS_MAP(X)                                                       \
    X(HF_OK, 0, DONE, "done")                                                  \
    X(HF_BUSY, 10, NO, "held by others")                                       \
    X(HF_TIMEOUT, 11, NO, "the wait ended first")                              \
    X(HF_CANCELLED, 12, NO, "cancelled by the caller")                         \
    X(HF_CLOSED, 13, NO, "the client is closed")                               \
    X(HF_NOT_OWNER, 14, NO, "the caller does not hold this lock")              \
    X(HF_GONE, 15, NO, "the hold is no longer on the server")                  \
    X(HF_LOST, 16, NO, "the lease was lost before the call")                   \
    X(HF_NOT_DONE, 17, NO, "not done; what was held before stands")            \
    X(HF_ALREADY_HELD, 18, NO,                                                 \
      "the caller holds it, and it is not re-entrant")                         \
    X(HF_UPGRADE, 19, NO,                                                      \
      "the caller reads, and would wait for itself to write")                  \
    X(HF_UNKNOWN, 30, MAYBE, "sent, but no answer came")                       \
    X(HF_UNREACHABLE, 40, RETRY, "the server cannot be reached")               \
    X(HF_UNAVAILABLE, 41, RETRY, "the server refuses service for now")         \
    X(HF_INVALID, 50, USAGE, "an argument is not valid")                       \
    X(HF_BAD_URL, 51, USAGE, "the URL is not valid")                           \
    X(HF_BAD_NAME, 52, USAGE, "the name is not valid")                         \
    X(HF_WRONG_TYPE, 53, USAGE, "the name holds something of another kind")    \
    X(HF_PERMISSION, 54, USAGE, "the server denies access")                    \
    X(HF_STILL_HELD, 55, USAGE, "it still has holds")                          \
    X(HF_FORKED, 56, USAGE, "the client was opened before a fork")             \
    X(HF_IN_CALLBACK, 57, USAGE, "not allowed from a callback")                \
    X(HF_NOT_HERE, 58, USAGE, "the server does not support it")                \
    X(HF_NOMEM, 70, LOCAL, "out of memory")                                    \
    X(HF_SYSTEM, 71, LOCAL, "the operating system refused")                    \
    X(HF_PROTOCOL, 72, LOCAL, "the server sent what is not understood")        \
    X(HF_INTERNAL, 73, LOCAL, "internal error")

typedef enum hf_status {
#define HF_STATUS_ENUM(name, number, class_, text) name = number,
    HF_STATUS_MAP(HF_STATUS_ENUM)
#undef HF_STATUS_ENUM
        HF_STATUS_MAX_ = 0x7fffffff /* keeps the size of the enum for ever */
} hf_status;

typedef enum hf_class {
    HF_CLASS_DONE,
    HF_CLASS_NO,
    HF_CLASS_MAYBE,
    HF_CLASS_RETRY,
    HF_CLASS_USAGE,
    HF_CLASS_LOCAL
} hf_class;

/* What went wrong, in the caller's own memory: no thread shares it, nothing in
 * it is to be freed, and no later call overwrites it.  A call fills it in when
 * it fails, and leaves it alone when it succeeds. */
typedef struct hf_error {
    hf_status status;
    int sys_errno;     /* 0, or the errno behind it */
    char node[64];     /* the server concerned ("10.0.0.7:6379/0") or "" */
    char message[256]; /* one line without a newline, always terminated */
    int64_t spare[4];  /* zero; room to grow */
} hf_error;

/** The constant's name ("HF_BUSY"), or "HF_?" for a number that is none.
 *  Never blocks; any thread.  The text is static. */
HF_API const char *hf_status_name(hf_status status);

/** The status in words ("out of memory").  As hf_status_name(). */
HF_API const char *hf_status_text(hf_status status);

/** The class to act on.  As hf_status_name(). */
HF_API hf_class hf_status_class(hf_status status);

#ifdef __cplusplus
}
#endif

#endif /* HOLDFAST_STATUS_H */
