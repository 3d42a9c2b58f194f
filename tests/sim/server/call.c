/* SPDX-License-Identifier: MIT */
/* call.c - replies and arguments of commands; see call.h. */
#include "call.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "support/fatal.h"

#define LONGEST_HEAD 64
#define LONGEST_ERROR 1024

void sim_reply_status(struct sim_call *call, const char *text)
{
    hft_bytes_append_text(call->out, "+");
    hft_bytes_append_text(call->out, text);
    hft_bytes_append_text(call->out, "\r\n");
}

void sim_reply_error(struct sim_call *call, const char *format, ...)
{
    char text[LONGEST_ERROR];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    /* What a client sent may be in it, but an error is one line. */
    for (char *at = text; *at != '\0'; at++) {
        if (*at == '\r' || *at == '\n') {
            *at = ' ';
        }
    }
    hft_bytes_append_text(call->out, "-");
    hft_bytes_append_text(call->out, text);
    hft_bytes_append_text(call->out, "\r\n");
}

/* A line of a type and a number. */
static void append_head(struct sim_call *call, char type, int64_t number)
{
    char line[SIM_LONGEST_INTEGER + 3] = {type};
    size_t len = 1 + sim_write_integer(number, line + 1);

    line[len++] = '\r';
    line[len++] = '\n';
    hft_bytes_append(call->out, line, len);
}

void sim_reply_integer(struct sim_call *call, int64_t number)
{
    append_head(call, ':', number);
}

void sim_reply_bulk(struct sim_call *call, struct hft_piece text)
{
    append_head(call, '$', (int64_t)text.length);
    hft_bytes_append(call->out, text.data, text.length);
    hft_bytes_append_text(call->out, "\r\n");
}

void sim_reply_text(struct sim_call *call, struct sim_text text)
{
    sim_reply_bulk(call, sim_word_of(text));
}

void sim_reply_double(struct sim_call *call, double number)
{
    char text[LONGEST_HEAD];

    if (isinf(number)) {
        sim_reply_bulk(call, sim_word(number > 0 ? "inf" : "-inf"));
        return;
    }
    (void)snprintf(text, sizeof(text), "%.17g", number);
    sim_reply_bulk(call, sim_word(text));
}

void sim_reply_nil(struct sim_call *call)
{
    hft_bytes_append_text(call->out, "$-1\r\n");
}

void sim_reply_nil_array(struct sim_call *call)
{
    hft_bytes_append_text(call->out, "*-1\r\n");
}

void sim_reply_array(struct sim_call *call, size_t count)
{
    append_head(call, '*', (int64_t)count);
}

void sim_reply_syntax_error(struct sim_call *call)
{
    sim_reply_error(call, "ERR syntax error");
}

/* ---- arguments ---- */

bool sim_arg_integer(struct sim_call *call, size_t n, int64_t *ret_number)
{
    if (sim_read_integer(call->args[n], ret_number)) {
        return true;
    }
    sim_reply_error(call, "ERR value is not an integer or out of range");
    return false;
}

bool sim_arg_double(struct sim_call *call, size_t n, double *ret_number)
{
    if (sim_read_double(call->args[n], ret_number)) {
        return true;
    }
    sim_reply_error(call, "ERR value is not a valid float");
    return false;
}

bool sim_arg_is(const struct sim_call *call, size_t n, const char *word)
{
    return n < call->count && hft_piece_is(call->args[n], word);
}

bool sim_arg_key(struct sim_call *call, size_t n, enum sim_type type,
                 struct sim_key **ret_key)
{
    struct sim_key *key = sim_db_find(call->db, call->args[n], call->now_ms);

    *ret_key = key;
    if (key == NULL || key->value.type == type) {
        return true;
    }
    sim_reply_error(call, "WRONGTYPE Operation against a key holding the "
                          "wrong kind of value");
    return false;
}

bool sim_arg_key_made(struct sim_call *call, size_t n, enum sim_type type,
                      struct sim_key **ret_key)
{
    if (!sim_arg_key(call, n, type, ret_key)) {
        return false;
    }
    if (*ret_key == NULL) {
        *ret_key = sim_db_add(call->db, call->args[n], type);
    } else {
        sim_key_touch(call->db, *ret_key);
    }
    return true;
}

bool sim_add_integers(struct sim_call *call, int64_t one, int64_t other,
                      int64_t *ret_sum)
{
    if ((other > 0 && one > INT64_MAX - other) ||
        (other < 0 && one < INT64_MIN - other)) {
        sim_reply_error(call, "ERR increment or decrement would overflow");
        return false;
    }
    *ret_sum = one + other;
    return true;
}

void sim_range(int64_t start, int64_t stop, size_t count, size_t *ret_first,
               size_t *ret_past)
{
    int64_t size = (int64_t)count;

    start = start < 0 ? start + size : start;
    stop = stop < 0 ? stop + size : stop;
    start = start < 0 ? 0 : start;
    stop = stop >= size ? size - 1 : stop;
    if (start > stop) {
        start = 0;
        stop = -1;
    }
    *ret_first = (size_t)start;
    *ret_past = (size_t)(stop + 1);
}
