/* SPDX-License-Identifier: MIT */
/* resp_scan.h - where messages of the Redis protocol begin and end.
 *
 * RESP2 only (https://redis.io/docs/reference/protocol-spec/), as the library
 * speaks it: + - : $ * in any nesting, and inline commands.
 */
#ifndef HFT_RESP_SCAN_H
#define HFT_RESP_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Some bytes inside somebody else's buffer. */
struct hft_piece {
    const char *data;
    size_t length;
};

/* The length of the first whole message; 0: not all of it has come yet; -1:
 * this is no such message. */
ssize_t hft_resp_length(const char *data, size_t length);

/* The n-th element (from 0) of a whole message that is a flat array: the bytes
 * of a bulk text, or the line of another type.  False if there is none. */
bool hft_resp_element(struct hft_piece message, size_t n,
                      struct hft_piece *ret_element);

/* How many elements the array has; 0 if it is none. */
size_t hft_resp_count(struct hft_piece message);

/* The first word of a request, which is the command, or of a pub/sub reply,
 * which is its kind; empty if there is none. */
struct hft_piece hft_resp_first_word(struct hft_piece message);

bool hft_piece_is(struct hft_piece piece, const char *text); /* ignores case */
bool hft_piece_same(struct hft_piece one, struct hft_piece other); /* too */
bool hft_piece_contains(struct hft_piece piece, const char *text);

#endif
