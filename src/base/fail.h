/* SPDX-License-Identifier: MIT */
/* base/fail.h - filling in the caller's hf_error.
 *
 * A message is one line of printable text, whatever bytes a server or a user
 * put into it: control bytes become \xNN.  It never holds a secret; that is
 * the duty of who writes it.
 */
#ifndef HFI_BASE_FAIL_H
#define HFI_BASE_FAIL_H

#include <stddef.h>

#include "holdfast/status.h"

/* Fill in an error and return its status, so that a failing function can end
 * with `return hfi_fail(reterr, HF_X, "...")`.  Everything else in the error is
 * zeroed.  `reterr` may be NULL.  Keeps errno. */
hf_status hfi_fail(hf_error *reterr, hf_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same with the errno behind it, whose text is added after ": ". */
hf_status hfi_fail_errno(hf_error *reterr, hf_status status, int sys_errno,
                         const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Say which server an error is about (cut to what fits).  NULL is fine for
 * either. */
void hfi_error_node(hf_error *error, const char *node);

/* Write bytes (a lock's name, what a server said) so that people can read them
 * on one line: printable ASCII and well-formed UTF-8 as they are, every other
 * byte as \xNN.  What would move a cursor or turn the direction of a line counts
 * as not printable.  What does not fit is cut and ends in "...".  Always
 * terminated if `size` > 0; returns the length written. */
size_t hfi_printable(char *out, size_t size, const void *bytes, size_t len);

#endif
