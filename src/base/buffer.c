/* SPDX-License-Identifier: MIT */
/* Growing bytes.  The capacity doubles, so that appending costs the same however
 * long the buffer becomes.  Not thread-safe.
 */
#include "base/buffer.h"

#include <stdlib.h>
#include <string.h>

#define CAPACITY_LEAST 256

bool hfi_buffer_reserve(struct hfi_buffer *buffer, size_t more)
{
    size_t capacity = buffer->capacity;
    char *bytes;

    if (more > HFI_BUFFER_MAX - buffer->len) {
        return false;
    }
    if (more <= capacity - buffer->len) {
        return true;
    }
    if (capacity < CAPACITY_LEAST) {
        capacity = CAPACITY_LEAST;
    }
    while (capacity - buffer->len < more) {
        capacity *= 2;
    }
    bytes = realloc(buffer->bytes, capacity);
    if (bytes == NULL) {
        return false;
    }
    buffer->bytes = bytes;
    buffer->capacity = capacity;
    return true;
}

bool hfi_buffer_append(struct hfi_buffer *buffer, const void *bytes, size_t len)
{
    if (len == 0) {
        return true;
    }
    if (!hfi_buffer_reserve(buffer, len)) {
        return false;
    }
    memcpy(buffer->bytes + buffer->len, bytes, len);
    buffer->len += len;
    return true;
}

bool hfi_buffer_append_int(struct hfi_buffer *buffer, int64_t value)
{
    char digits[20]; /* the longest is that of INT64_MIN */
    size_t at = sizeof(digits);
    /* Unsigned, because INT64_MIN has no positive counterpart. */
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;

    do {
        digits[--at] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (value < 0) {
        digits[--at] = '-';
    }
    return hfi_buffer_append(buffer, digits + at, sizeof(digits) - at);
}

void hfi_buffer_clear(struct hfi_buffer *buffer)
{
    buffer->len = 0;
    if (buffer->capacity > HFI_BUFFER_KEEP) {
        hfi_buffer_free(buffer);
    }
}

void hfi_buffer_consume(struct hfi_buffer *buffer, size_t count)
{
    if (count >= buffer->len) {
        hfi_buffer_clear(buffer);
        return;
    }
    if (count > 0) {
        buffer->len -= count;
        memmove(buffer->bytes, buffer->bytes + count, buffer->len);
    }
}

void hfi_buffer_free(struct hfi_buffer *buffer)
{
    free(buffer->bytes);
    memset(buffer, 0, sizeof(*buffer));
}

void hfi_wipe(void *bytes, size_t len)
{
    if (len > 0) {
        explicit_bzero(bytes, len);
    }
}
