/* SPDX-License-Identifier: MIT */
/* cmd_zrange.c - sorted sets: ranges of members.
 *
 * By rank or by score, from either end; ZRANGE has all of it (but BYLEX), the
 * older commands are ways to say the same.
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

static void reply_backwards(struct sim_call *call,
                            const struct sim_value *value, size_t first,
                            size_t past, bool with_scores)
{
    sim_reply_array(call, (past - first) * (with_scores ? 2 : 1));
    for (size_t i = past; i > first; i--) {
        reply_row(call, &value->rows[i - 1], with_scores);
    }
}

/* ---- options ---- */

struct range {
    bool may_choose; /* ZRANGE: these two are options */
    bool by_score;
    bool backwards;
    bool with_scores;
    int64_t offset;
    int64_t limit; /* negative: none */
};

static bool read_limit(struct sim_call *call, size_t n, struct range *range)
{
    return sim_arg_integer(call, n + 1, &range->offset) &&
           sim_arg_integer(call, n + 2, &range->limit);
}

static bool read_options(struct sim_call *call, struct range *range)
{
    for (size_t n = 4; n < call->count; n++) {
        if (sim_arg_is(call, n, "withscores")) {
            range->with_scores = true;
        } else if (n + 2 < call->count && sim_arg_is(call, n, "limit")) {
            if (!read_limit(call, n, range)) {
                return false;
            }
            n += 2;
        } else if (range->may_choose && sim_arg_is(call, n, "byscore")) {
            range->by_score = true;
        } else if (range->may_choose && sim_arg_is(call, n, "rev")) {
            range->backwards = true;
        } else {
            sim_reply_syntax_error(call);
            return false;
        }
    }
    /* A limit of -1 is none, and so no mistake. */
    if (range->limit != -1 && !range->by_score) {
        sim_reply_error(call, "ERR syntax error, LIMIT is only supported in "
                              "combination with either BYSCORE or BYLEX");
        return false;
    }
    return true;
}

/* ---- by rank ---- */

static void reply_by_rank(struct sim_call *call, const struct range *range)
{
    struct sim_key *key;
    int64_t start;
    int64_t stop;
    size_t first;
    size_t past;
    size_t count;

    if (!sim_arg_integer(call, 2, &start) || !sim_arg_integer(call, 3, &stop) ||
        !sim_arg_key(call, 1, SIM_ZSET, &key)) {
        return;
    }
    if (key == NULL) {
        sim_reply_array(call, 0);
        return;
    }
    count = key->value.count;
    sim_range(start, stop, count, &first, &past);
    if (range->backwards) {
        reply_backwards(call, &key->value, count - past, count - first,
                        range->with_scores);
    } else {
        reply_rows(call, &key->value, first, past, range->with_scores);
    }
}

/* ---- by score ---- */

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

static void reply_limited(struct sim_call *call, const struct range *range,
                          const struct sim_value *value, size_t first,
                          size_t past)
{
    int64_t count = (int64_t)(past - first);
    int64_t offset = range->offset < 0 || range->offset > count ? count
                                                                : range->offset;
    int64_t most = count - offset;

    if (range->limit >= 0 && range->limit < most) {
        most = range->limit;
    }
    if (range->backwards) {
        past -= (size_t)offset;
        reply_backwards(call, value, past - (size_t)most, past,
                        range->with_scores);
    } else {
        first += (size_t)offset;
        reply_rows(call, value, first, first + (size_t)most,
                   range->with_scores);
    }
}

static void reply_by_score(struct sim_call *call, const struct range *range)
{
    struct bound low;
    struct bound high;
    struct sim_key *key;
    size_t first;
    size_t past;

    if (!read_bound(call, range->backwards ? 3 : 2, &low) ||
        !read_bound(call, range->backwards ? 2 : 3, &high) ||
        !sim_arg_key(call, 1, SIM_ZSET, &key)) {
        return;
    }
    if (key == NULL) {
        sim_reply_array(call, 0);
        return;
    }
    find_between(&key->value, low, high, &first, &past);
    reply_limited(call, range, &key->value, first, past);
}

static void reply_range(struct sim_call *call, struct range range)
{
    range.limit = -1;
    if (!read_options(call, &range)) {
        return;
    }
    if (range.by_score) {
        reply_by_score(call, &range);
    } else {
        reply_by_rank(call, &range);
    }
}

void sim_cmd_zrange(struct sim_call *call)
{
    reply_range(call, (struct range){.may_choose = true});
}

void sim_cmd_zrevrange(struct sim_call *call)
{
    reply_range(call, (struct range){.backwards = true});
}

void sim_cmd_zrangebyscore(struct sim_call *call)
{
    reply_range(call, (struct range){.by_score = true});
}

void sim_cmd_zrevrangebyscore(struct sim_call *call)
{
    reply_range(call, (struct range){.by_score = true, .backwards = true});
}

/* ---- removed ---- */

static void remove_rows(struct sim_call *call, struct sim_key *key,
                        size_t first, size_t past)
{
    int64_t removed = (int64_t)(past - first);

    if (removed > 0) {
        sim_key_touch(call->db, key);
        while (past-- > first) {
            sim_value_remove(&key->value, past);
        }
        sim_key_tidy(call->db, key);
    }
    sim_reply_integer(call, removed);
}

void sim_cmd_zremrangebyscore(struct sim_call *call)
{
    struct bound low;
    struct bound high;
    struct sim_key *key;
    size_t first = 0;
    size_t past = 0;

    if (!read_bound(call, 2, &low) || !read_bound(call, 3, &high) ||
        !sim_arg_key(call, 1, SIM_ZSET, &key)) {
        return;
    }
    if (key != NULL) {
        find_between(&key->value, low, high, &first, &past);
    }
    remove_rows(call, key, first, past);
}

void sim_cmd_zremrangebyrank(struct sim_call *call)
{
    struct sim_key *key;
    int64_t start;
    int64_t stop;
    size_t first = 0;
    size_t past = 0;

    if (!sim_arg_integer(call, 2, &start) || !sim_arg_integer(call, 3, &stop) ||
        !sim_arg_key(call, 1, SIM_ZSET, &key)) {
        return;
    }
    if (key != NULL) {
        sim_range(start, stop, key->value.count, &first, &past);
    }
    remove_rows(call, key, first, past);
}

void sim_cmd_zpopmin(struct sim_call *call)
{
    struct sim_key *key;
    int64_t most = 1;

    if (call->count > 3) {
        sim_reply_syntax_error(call);
        return;
    }
    if (call->count == 3 &&
        (!sim_read_integer(call->args[2], &most) || most < 0)) {
        sim_reply_error(call, "ERR value is out of range, must be positive");
        return;
    }
    if (!sim_arg_key(call, 1, SIM_ZSET, &key)) {
        return;
    }
    if (key != NULL && most > (int64_t)key->value.count) {
        most = (int64_t)key->value.count;
    }
    if (key == NULL || most == 0) {
        sim_reply_array(call, 0);
        return;
    }
    reply_rows(call, &key->value, 0, (size_t)most, true);
    sim_key_touch(call->db, key);
    while (most-- > 0) {
        sim_value_remove(&key->value, 0);
    }
    sim_key_tidy(call->db, key);
}
