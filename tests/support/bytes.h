/* SPDX-License-Identifier: MIT */
/* bytes.h - a run of bytes that grows at its end and is eaten at its start.
 */
#ifndef HFT_BYTES_H
#define HFT_BYTES_H

#include <stdbool.h>
#include <stddef.h>

/* All zero is an empty one. */
struct hft_bytes {
    char *data;
    size_t length;
    size_t capacity;
};

/* Make the capacity at least `more` above the length. */
void hft_bytes_make_room(struct hft_bytes *bytes, size_t more);

void hft_bytes_append(struct hft_bytes *bytes, const char *data, size_t length);
void hft_bytes_append_text(struct hft_bytes *bytes, const char *text);
void hft_bytes_eat(struct hft_bytes *bytes, size_t length);
void hft_bytes_free(struct hft_bytes *bytes); /* empty again */

/* Receive once, whatever is there; false when the other side has closed or
 * the descriptor is broken.  Nothing there yet is true. */
bool hft_bytes_receive(struct hft_bytes *bytes, int fd);

/* Send what the socket takes without blocking, and eat that; false when it is
 * broken. */
bool hft_bytes_send(struct hft_bytes *bytes, int fd);

#endif
