/* SPDX-License-Identifier: MIT */
/* fatal.h - how the test harness itself gives up.
 *
 * For what no test asserts: fork failed, a server never came up, a thread is
 * stuck.  Never for the behaviour under test; that is cmocka's, on the main
 * thread.
 */
#ifndef HFT_FATAL_H
#define HFT_FATAL_H

#include <stddef.h>

/* Print one line and end the test program with status 99.  Exit handlers run,
 * so servers are ended and scratch folders deleted.  From any thread. */
_Noreturn void hft_die(const char *format, ...)
    __attribute__((format(printf, 1, 2), nonnull(1)));

/* malloc and friends that do not return without memory.  Free with free(). */
void *hft_alloc(size_t size_bytes); /* zeroed */
char *hft_copy_text(const char *text);
char *hft_format(const char *format, ...)
    __attribute__((format(printf, 1, 2), nonnull(1)));

#endif
