/* SPDX-License-Identifier: MIT */
/* text.c - bytes of the model; see text.h. */
#include "text.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/fatal.h"

#define MOST_DIGITS 19 /* 9223372036854775807; in 64 bits without overflow */
#define LONGEST_DOUBLE 127
#define CAPACITY_AT_FIRST 4

struct sim_text sim_text_copy(struct hft_piece word)
{
    struct sim_text text = {malloc(word.length + 1), word.length};

    if (text.bytes == NULL) {
        hft_die("out of memory");
    }
    if (word.length > 0) {
        memcpy(text.bytes, word.data, word.length);
    }
    text.bytes[word.length] = '\0';
    return text;
}

struct sim_text sim_text_format(const char *format, ...)
{
    char buffer[LONGEST_DOUBLE + 1];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(buffer, sizeof(buffer), format, args);
    va_end(args);
    return sim_text_copy(sim_word(buffer));
}

void sim_text_free(struct sim_text *text)
{
    free(text->bytes);
    text->bytes = NULL;
    text->len = 0;
}

struct hft_piece sim_word(const char *text)
{
    return (struct hft_piece){text, strlen(text)};
}

struct hft_piece sim_word_of(struct sim_text text)
{
    return (struct hft_piece){text.bytes, text.len};
}

bool sim_same(struct sim_text text, struct hft_piece word)
{
    return text.len == word.length &&
           memcmp(text.bytes, word.data, word.length) == 0;
}

bool sim_read_integer(struct hft_piece word, int64_t *ret_number)
{
    bool negative = word.length > 0 && word.data[0] == '-';
    size_t at = negative ? 1 : 0;
    size_t digits = word.length - at;
    uint64_t most = (uint64_t)INT64_MAX + (negative ? 1 : 0);
    uint64_t number = 0;

    if (digits == 0 || digits > MOST_DIGITS ||
        (word.data[at] == '0' && word.length > 1)) {
        return false;
    }
    for (; at < word.length; at++) {
        if (word.data[at] < '0' || word.data[at] > '9') {
            return false;
        }
        number = number * 10 + (uint64_t)(word.data[at] - '0');
    }
    if (number > most) {
        return false;
    }
    *ret_number = negative ? (int64_t)(0 - number) : (int64_t)number;
    return true;
}

size_t sim_write_integer(int64_t number, char ret_text[SIM_LONGEST_INTEGER])
{
    uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    char digits[SIM_LONGEST_INTEGER];
    size_t count = 0;
    size_t len = 0;

    do {
        digits[count++] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (number < 0) {
        ret_text[len++] = '-';
    }
    while (count > 0) {
        ret_text[len++] = digits[--count];
    }
    ret_text[len] = '\0';
    return len;
}

bool sim_read_double(struct hft_piece word, double *ret_number)
{
    char spelled[LONGEST_DOUBLE + 1];
    char *end;
    double number;

    if (word.length == 0 || word.length > LONGEST_DOUBLE ||
        isspace((unsigned char)word.data[0])) {
        return false;
    }
    memcpy(spelled, word.data, word.length);
    spelled[word.length] = '\0';
    errno = 0;
    number = strtod(spelled, &end);
    if (end != spelled + word.length || isnan(number) ||
        (errno == ERANGE && (isinf(number) || number == 0.0))) {
        return false;
    }
    *ret_number = number;
    return true;
}

/* ---- patterns ---- */

static struct hft_piece behind(struct hft_piece word, size_t count)
{
    return (struct hft_piece){word.data + count, word.length - count};
}

/* One [...], `at` behind its bracket: does it have the byte, and where does it
 * end?  A set that is not closed ends with the pattern. */
static bool in_set(struct hft_piece pattern, char byte, size_t *at)
{
    bool negated = *at < pattern.length && pattern.data[*at] == '^';
    bool found = false;
    size_t i = *at + (negated ? 1 : 0);

    while (i < pattern.length && pattern.data[i] != ']') {
        char low = pattern.data[i];
        char high = low;

        if (low == '\\' && i + 1 < pattern.length) {
            low = high = pattern.data[++i];
        } else if (i + 2 < pattern.length && pattern.data[i + 1] == '-') {
            high = pattern.data[i + 2];
            i += 2;
        }
        if (low > high) {
            char swap = low;

            low = high;
            high = swap;
        }
        found = found || (byte >= low && byte <= high);
        i++;
    }
    *at = i < pattern.length ? i + 1 : i;
    return found != negated;
}

/* The first element of a pattern, which is no star, against one byte. */
static bool byte_matches(struct hft_piece pattern, char byte, size_t *ret_used)
{
    bool matches;

    *ret_used = 1;
    switch (pattern.data[0]) {
    case '?':
        return true;
    case '[':
        matches = in_set(pattern, byte, ret_used);
        return matches;
    case '\\':
        if (pattern.length > 1) {
            *ret_used = 2;
            return pattern.data[1] == byte;
        }
        return byte == '\\';
    default:
        return pattern.data[0] == byte;
    }
}

bool sim_matches(struct hft_piece pattern, struct hft_piece word)
{
    size_t used;

    while (pattern.length > 0 && pattern.data[0] != '*') {
        if (word.length == 0 || !byte_matches(pattern, word.data[0], &used)) {
            return false;
        }
        pattern = behind(pattern, used);
        word = behind(word, 1);
    }
    if (pattern.length == 0) {
        return word.length == 0;
    }
    for (size_t i = 0; i <= word.length; i++) {
        if (sim_matches(behind(pattern, 1), behind(word, i))) {
            return true;
        }
    }
    return false;
}

void *sim_grow(void *array, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity) {
        return array;
    }
    *capacity = *capacity == 0 ? CAPACITY_AT_FIRST : 2 * *capacity;
    array = realloc(array, *capacity * size);
    if (array == NULL) {
        hft_die("out of memory");
    }
    return array;
}
