/* SPDX-License-Identifier: MIT */
/* resp_scan.c - where messages of the Redis protocol begin and end.
 *
 * A message is walked item by item with a count of items still owed: one to
 * begin with, and as many more as each array header announces.  Nothing is
 * copied, and a half message is simply walked again when more has come.
 */
#include "support/resp_scan.h"

#include <string.h>
#include <strings.h>

#define LONGEST_NUMBER 20

/* The line that starts at `at`, without its CR LF; false: not whole yet. */
static bool find_line(struct hft_piece in, size_t at,
                      struct hft_piece *ret_line)
{
    const char *start = in.data + at;
    const char *end;

    if (at >= in.length) {
        return false;
    }
    end = memchr(start, '\n', in.length - at);
    if (end == NULL || end == start) {
        return false;
    }
    ret_line->data = start;
    ret_line->length = (size_t)(end - start);
    if (end[-1] == '\r') {
        ret_line->length--;
    }
    return true;
}

/* The number behind a line's type byte; false if there is none. */
static bool read_number(struct hft_piece line, long *ret_number)
{
    bool negative = line.length > 1 && line.data[1] == '-';
    size_t at = negative ? 2 : 1;
    long number = 0;

    if (at >= line.length || line.length > LONGEST_NUMBER) {
        return false;
    }
    for (; at < line.length; at++) {
        if (line.data[at] < '0' || line.data[at] > '9') {
            return false;
        }
        number = number * 10 + (line.data[at] - '0');
    }
    *ret_number = negative ? -number : number;
    return true;
}

/* One item: an array's header, or a whole text, number or status. */
struct item {
    struct hft_piece payload;
    size_t end;  /* where the next item starts */
    size_t owes; /* further items that an array header announces */
};

/* 1: read; 0: not whole yet; -1: not RESP. */
static int read_item(struct hft_piece in, size_t at, struct item *ret_item)
{
    struct hft_piece line;
    long number;

    if (!find_line(in, at, &line)) {
        return 0;
    }
    ret_item->payload = line;
    ret_item->end = (size_t)(line.data - in.data) + line.length + 2;
    ret_item->owes = 0;
    if (memchr("+-:", line.data[0], 3) != NULL) {
        ret_item->payload.data++;
        ret_item->payload.length--;
        return 1;
    }
    if (!read_number(line, &number)) {
        return -1;
    }
    if (line.data[0] == '*') {
        ret_item->owes = number > 0 ? (size_t)number : 0;
        return 1;
    }
    if (line.data[0] != '$') {
        return -1;
    }
    ret_item->payload.data = in.data + ret_item->end;
    ret_item->payload.length = number > 0 ? (size_t)number : 0;
    if (number >= 0) {
        ret_item->end += (size_t)number + 2;
    }
    return ret_item->end <= in.length ? 1 : 0;
}

ssize_t hft_resp_length(const char *data, size_t length)
{
    struct hft_piece in = {data, length};
    struct hft_piece line;
    struct item item;
    size_t owed = 1;
    size_t at = 0;
    int status;

    if (length == 0) {
        return 0;
    }
    if (memchr("+-:$*", data[0], 5) == NULL) {
        /* An inline command is a line; garbage without one waits for it. */
        if (!find_line(in, 0, &line)) {
            return 0;
        }
        return (ssize_t)(line.length + 1 + (line.data[line.length] == '\r'));
    }
    while (owed > 0) {
        status = read_item(in, at, &item);
        if (status <= 0) {
            return status;
        }
        at = item.end;
        owed += item.owes;
        owed--;
    }
    return (ssize_t)at;
}

size_t hft_resp_count(struct hft_piece message)
{
    struct item item;

    if (message.length == 0 || message.data[0] != '*' ||
        read_item(message, 0, &item) <= 0) {
        return 0;
    }
    return item.owes;
}

bool hft_resp_element(struct hft_piece message, size_t n,
                      struct hft_piece *ret_element)
{
    struct item item = {.end = 0};

    if (n >= hft_resp_count(message)) {
        return false;
    }
    (void)read_item(message, 0, &item);
    do {
        if (read_item(message, item.end, &item) <= 0) {
            return false;
        }
    } while (n-- > 0);
    *ret_element = item.payload;
    return true;
}

struct hft_piece hft_resp_first_word(struct hft_piece message)
{
    struct hft_piece word = {"", 0};

    if (!hft_resp_element(message, 0, &word)) {
        while (word.length < message.length &&
               strchr(" \r\n", message.data[word.length]) == NULL) {
            word.length++;
        }
        word.data = message.data;
    }
    return word;
}

bool hft_piece_is(struct hft_piece piece, const char *text)
{
    return piece.length == strlen(text) &&
           strncasecmp(piece.data, text, piece.length) == 0;
}

bool hft_piece_same(struct hft_piece one, struct hft_piece other)
{
    return one.length == other.length &&
           strncasecmp(one.data, other.data, one.length) == 0;
}

bool hft_piece_contains(struct hft_piece piece, const char *text)
{
    return memmem(piece.data, piece.length, text, strlen(text)) != NULL;
}
