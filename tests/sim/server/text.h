/* SPDX-License-Identifier: MIT */
/* text.h - bytes of the model: words that came, texts that are kept, numbers.
 *
 * A word is a piece of somebody else's buffer (support/resp_scan.h); a text is
 * ours, and terminated.
 */
#ifndef SIM_TEXT_H
#define SIM_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/resp_scan.h"

struct sim_text {
    char *bytes; /* NULL: none */
    size_t len;
};

struct sim_text sim_text_copy(struct hft_piece word);
struct sim_text sim_text_format(const char *format, ...)
    __attribute__((format(printf, 1, 2)));
void sim_text_free(struct sim_text *text);

struct hft_piece sim_word(const char *text);
struct hft_piece sim_word_of(struct sim_text text);
bool sim_same(struct sim_text text, struct hft_piece word);

/* Redis takes a number only as it would write it: no "+1", "01" or " 1". */
bool sim_read_integer(struct hft_piece word, int64_t *ret_number);
/* What strtod() takes, but no NaN and nothing behind it. */
/* In decimal digits, terminated; returns their number. */
#define SIM_LONGEST_INTEGER 24
size_t sim_write_integer(int64_t number, char ret_text[SIM_LONGEST_INTEGER]);
bool sim_read_double(struct hft_piece word, double *ret_number);

/* Redis' patterns: * ? [a-z] [^a] \x. */
bool sim_matches(struct hft_piece pattern, struct hft_piece word);

/* Room for one more in an array of `count`; doubles it when it is full. */
void *sim_grow(void *array, size_t count, size_t *capacity, size_t size);

#endif
