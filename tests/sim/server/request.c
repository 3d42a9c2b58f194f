/* SPDX-License-Identifier: MIT */
/* request.c - where a request begins and ends, and what its words are.
 *
 * Only arrays of texts, as clients write them; a line typed by hand is refused.
 */
#include <stdio.h>
#include <string.h>

#include "parts.h"

#define MOST_WORDS INT32_MAX
#define LONGEST_WORD (INT64_C(512) * 1024 * 1024)

enum progress { READ, NOT_YET, BROKEN };

/* The number behind a type's byte, which is at `at`; then `at` is behind its
 * line. */
static enum progress read_head(struct hft_piece in, size_t *at, int64_t most,
                               int64_t *ret_number)
{
    const char *start = in.data + *at + 1;
    const char *end = memchr(in.data + *at, '\r', in.length - *at);

    if (end == NULL || (size_t)(end - in.data) + 1 >= in.length) {
        return NOT_YET;
    }
    if (!sim_read_integer((struct hft_piece){start, (size_t)(end - start)},
                          ret_number) ||
        *ret_number > most) {
        return BROKEN;
    }
    *at = (size_t)(end - in.data) + 2;
    return READ;
}

static ssize_t refuse(struct hft_bytes *out, const char *why)
{
    hft_bytes_append_text(out, "-ERR Protocol error: ");
    hft_bytes_append_text(out, why);
    hft_bytes_append_text(out, "\r\n");
    return -1;
}

static ssize_t refuse_type(struct hft_bytes *out, char expected, char got)
{
    char why[] = "expected '?', got '?'";

    why[10] = expected;
    why[19] = got;
    return refuse(out, why);
}

/* One word, into `args`; BROKEN has its error in `out`. */
static enum progress read_word(struct hft_piece in, size_t *at,
                               struct hft_piece *ret_word,
                               struct hft_bytes *out)
{
    enum progress progress;
    int64_t len;

    if (memchr(in.data + *at, '\r', in.length - *at) == NULL) {
        return NOT_YET;
    }
    if (in.data[*at] != '$') {
        (void)refuse_type(out, '$', in.data[*at]);
        return BROKEN;
    }
    progress = read_head(in, at, LONGEST_WORD, &len);
    if (progress == BROKEN || (progress == READ && len < 0)) {
        (void)refuse(out, "invalid bulk length");
        return BROKEN;
    }
    if (progress == NOT_YET || in.length - *at < (size_t)len + 2) {
        return NOT_YET;
    }
    *ret_word = (struct hft_piece){in.data + *at, (size_t)len};
    *at += (size_t)len + 2;
    return READ;
}

ssize_t sim_request_read(struct sim_server *server, struct hft_piece in,
                         size_t *ret_count, struct hft_bytes *out)
{
    size_t at = 0;
    int64_t words;
    enum progress progress;

    *ret_count = 0;
    if (in.length == 0) {
        return 0;
    }
    if (in.data[0] != '*') {
        return refuse_type(out, '*', in.data[0]);
    }
    progress = read_head(in, &at, MOST_WORDS, &words);
    if (progress == BROKEN) {
        return refuse(out, "invalid multibulk length");
    }
    for (int64_t i = 0; progress == READ && i < words; i++) {
        server->args = sim_grow(server->args, *ret_count,
                                &server->args_capacity,
                                sizeof(server->args[0]));
        progress = read_word(in, &at, &server->args[*ret_count], out);
        (*ret_count)++;
    }
    if (progress != READ) {
        return progress == BROKEN ? -1 : 0;
    }
    return (ssize_t)at;
}
