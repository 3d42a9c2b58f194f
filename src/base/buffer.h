/* SPDX-License-Identifier: MIT */
/* base/buffer.h - bytes that grow at the end and are consumed at the front. */
#ifndef HFI_BASE_BUFFER_H
#define HFI_BASE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A server that sends this much without a break, or a caller that queues it, is
 * broken; the largest thing we ever send is a name of 512 KiB. */
#define HFI_BUFFER_MAX ((size_t)64 * 1024 * 1024)

/* What an empty buffer keeps for the next time; one burst of renewals should not
 * stay in memory for ever. */
#define HFI_BUFFER_KEEP ((size_t)256 * 1024)

/* All zero is an empty buffer.  `bytes` may be NULL while `len` is 0. */
struct hfi_buffer {
    char *bytes;
    size_t len;
    size_t capacity;
};

/* These return false when memory is short or the buffer would be larger than
 * HFI_BUFFER_MAX; it is then unchanged. */

/* Make room for `more` bytes behind `len`; moves `bytes`. */
bool hfi_buffer_reserve(struct hfi_buffer *buffer, size_t more);
bool hfi_buffer_append(struct hfi_buffer *buffer, const void *bytes,
                       size_t len);
/* Append a number in decimal. */
bool hfi_buffer_append_int(struct hfi_buffer *buffer, int64_t value);

/* Forget the contents; the memory is kept unless it is more than
 * HFI_BUFFER_KEEP. */
void hfi_buffer_clear(struct hfi_buffer *buffer);

/* Drop the first `count` bytes (at most all); the rest moves to the front.  If
 * nothing is left, as hfi_buffer_clear(). */
void hfi_buffer_consume(struct hfi_buffer *buffer, size_t count);

/* Free the memory; the buffer is empty then and can be used again. */
void hfi_buffer_free(struct hfi_buffer *buffer);

/* Overwrite memory that held a secret; the compiler does not leave it out.
 * `bytes` may be NULL if `len` is 0. */
void hfi_wipe(void *bytes, size_t len);

#endif
