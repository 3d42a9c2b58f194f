/* SPDX-License-Identifier: MIT */
/* base/zeroed.h - memory that is all zero, for what comes and goes with calls.
 *
 * calloc(3) of glibc does not take what the thread keeps at hand, but searches
 * the heap each time: for small things that are freed soon, malloc(3) and
 * clearing are several times faster.
 */
#ifndef HFI_BASE_ZEROED_H
#define HFI_BASE_ZEROED_H

#include <stdlib.h>
#include <string.h>

/** NULL: out of memory.  To be freed with free(). */
static inline void *hfi_zeroed(size_t bytes)
{
    void *memory = malloc(bytes);

    return memory == NULL ? NULL : memset(memory, 0, bytes);
}

#endif
