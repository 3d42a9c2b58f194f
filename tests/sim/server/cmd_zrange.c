/* SPDX-License-Identifier: MIT */
/* cmd_zrange.c - sorted sets: ranges of members.
 *
 * ZRANGE by rank only; ranges by score have a command of their own.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"

#define LONGEST_BOUND 127

struct bound {
    double score;
    bool excluded;
};

/* A bound is a number, or "(" and a number; strtod() takes "" for 0, so Redis
 * does. */
static bool read_bound(struct sim_call *call, size_t n, struct bound *ret)
{
    char spelled[LONGEST_BOUND + 1];
    const char *number = spelled;
    char *end;

    if (call->args[n].length <= LONGEST_BOUND) {
        memcpy(spelled, call->args[n].data, call->args[n].length);
        spelled[call->args[n].length] = '\0';
        ret->excluded = spelled[0] == '(';
        number += ret->excluded ? 1 : 0;
        ret->score = strtod(number, &end);
        if (*end == '\0' && !isnan(ret->score)) {
            return true;
        }
    }
    sim_reply_error(call, "ERR min or max is not a float");
    return false;
}

static bool is_between(double score, struct bound low, struct bound high)
{
    return (low.excluded ? score > low.score : score >= low.score) &&
           (high.excluded ? score < high.score : score <= high.score);
}

static void reply_row(struct sim_call *call, const struct sim_row *row,
                      bool with_score)
{
    sim_reply_text(call, row->name);
    if (with_score) {
        sim_reply_double(call, row->score);
    }
}

void sim_cmd_zcount(struct sim_call *call)
{
    struct bound low;
    struct bound high;
    struct sim_key *key;
    int64_t count = 0;

    if (!read_bound(call, 2, &low) || !read_bound(call, 3, &high) ||
        !sim_arg_key(call, 1, SIM_ZSET, &key)) {
        return;
    }
    for (size_t i = 0; key != NULL && i < key->value.count; i++) {
        count += is_between(key->value.rows[i].score, low, high);
    }
    sim_reply_integer(call, count);
}

static void reply_rows(struct sim_call *call, const struct sim_value *value,
                       size_t first, size_t past, bool with_scores)
{
    sim_reply_array(call, (past - first) * (with_scores ? 2 : 1));
    for (size_t i = first; i < past; i++) {
        reply_row(call, &value->rows[i], with_scores);
    }
}

void sim_cmd_zrange(struct sim_call *call)
{
    bool with_scores = false;
    struct sim_key *key;
    int64_t start;
    int64_t stop;
    size_t first;
    size_t past;

    for (size_t i = 4; i < call->count; i++) {
        if (!sim_arg_is(call, i, "withscores")) {
            sim_reply_syntax_error(call);
            return;
        }
        with_scores = true;
    }
    if (!sim_arg_integer(call, 2, &start) || !sim_arg_integer(call, 3, &stop) ||
        !sim_arg_key(call, 1, SIM_ZSET, &key)) {
        return;
    }
    if (key == NULL) {
        sim_reply_array(call, 0);
        return;
    }
    sim_range(start, stop, key->value.count, &first, &past);
    reply_rows(call, &key->value, first, past, with_scores);
}

struct limits {
    bool with_scores;
    int64_t offset;
    int64_t limit; /* negative: none */
};

static bool read_limits(struct sim_call *call, struct limits *limits)
{
    size_t n = 4;

    while (n < call->count) {
        if (sim_arg_is(call, n, "withscores")) {
            limits->with_scores = true;
            n++;
        } else if (n + 2 < call->count && sim_arg_is(call, n, "limit")) {
            if (!sim_arg_integer(call, n + 1, &limits->offset) ||
                !sim_arg_integer(call, n + 2, &limits->limit)) {
                return false;
            }
            n += 3;
        } else {
            sim_reply_syntax_error(call);
            return false;
        }
    }
    return true;
}

/* Where the rows between two bounds begin and end. */
static void find_between(const struct sim_value *value, struct bound low,
                         struct bound high, size_t *ret_first, size_t *ret_past)
{
    size_t first = 0;
    size_t past;

    while (first < value->count &&
           !is_between(value->rows[first].score, low, high)) {
        first++;
    }
    past = first;
    while (past < value->count &&
           is_between(value->rows[past].score, low, high)) {
        past++;
    }
    *ret_first = first;
    *ret_past = past;
}

void sim_cmd_zrangebyscore(struct sim_call *call)
{
    struct limits limits = {.limit = -1};
    struct bound low;
    struct bound high;
    struct sim_key *key;
    size_t first;
    size_t past;

    if (!read_limits(call, &limits) || !read_bound(call, 2, &low) ||
        !read_bound(call, 3, &high) || !sim_arg_key(call, 1, SIM_ZSET, &key)) {
        return;
    }
    if (key == NULL) {
        sim_reply_array(call, 0);
        return;
    }
    find_between(&key->value, low, high, &first, &past);
    if (limits.offset < 0 || limits.offset > (int64_t)(past - first)) {
        first = past;
    } else {
        first += (size_t)limits.offset;
    }
    if (limits.limit >= 0 && limits.limit < (int64_t)(past - first)) {
        past = first + (size_t)limits.limit;
    }
    reply_rows(call, &key->value, first, past, limits.with_scores);
}
