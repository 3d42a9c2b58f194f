/* SPDX-License-Identifier: MIT */
/* cmd_zset.c - sorted sets: members and their scores. */
#include <math.h>
#include <stdlib.h>

#include "commands.h"
#include "support/fatal.h"

struct zadd {
    bool if_absent;
    bool if_present;
    bool if_greater;
    bool if_less;
    bool count_changed;
    bool add;     /* to the score that is there */
    size_t first; /* word of a score */
    size_t pairs;
    double *scores;
    int64_t added;
    int64_t updated;
    bool done;    /* of the last pair: not kept back by a condition */
    double score; /* of the last pair, now */
};

static void read_flags(const struct sim_call *call, struct zadd *zadd)
{
    for (zadd->first = 2; zadd->first < call->count; zadd->first++) {
        size_t n = zadd->first;

        if (sim_arg_is(call, n, "nx")) {
            zadd->if_absent = true;
        } else if (sim_arg_is(call, n, "xx")) {
            zadd->if_present = true;
        } else if (sim_arg_is(call, n, "gt")) {
            zadd->if_greater = true;
        } else if (sim_arg_is(call, n, "lt")) {
            zadd->if_less = true;
        } else if (sim_arg_is(call, n, "ch")) {
            zadd->count_changed = true;
        } else if (sim_arg_is(call, n, "incr")) {
            zadd->add = true;
        } else {
            break;
        }
    }
}

static bool check_flags(struct sim_call *call, struct zadd *zadd)
{
    size_t words = call->count - zadd->first;

    zadd->pairs = words / 2;
    if (words % 2 != 0 || words == 0) {
        sim_reply_syntax_error(call);
    } else if (zadd->if_absent && zadd->if_present) {
        sim_reply_error(call, "ERR XX and NX options at the same time are not "
                              "compatible");
    } else if ((zadd->if_greater && (zadd->if_absent || zadd->if_less)) ||
               (zadd->if_less && zadd->if_absent)) {
        sim_reply_error(call, "ERR GT, LT, and/or NX options at the same time "
                              "are not compatible");
    } else if (zadd->add && zadd->pairs > 1) {
        sim_reply_error(call, "ERR INCR option supports a single "
                              "increment-element pair");
    } else {
        return true;
    }
    return false;
}

static bool read_scores(struct sim_call *call, struct zadd *zadd)
{
    zadd->scores = hft_alloc(zadd->pairs * sizeof(double));
    for (size_t i = 0; i < zadd->pairs; i++) {
        if (!sim_arg_double(call, zadd->first + 2 * i, &zadd->scores[i])) {
            return false;
        }
    }
    return true;
}

/* Redis keeps a small whole score as an integer, which has no -0. */
static void add_member(struct sim_value *value, struct hft_piece member,
                       double score)
{
    sim_value_add_scored(value, (struct sim_row){.name = sim_text_copy(member),
                                                 .score = score + 0.0});
}

static bool is_kept_back(const struct zadd *zadd, double present, double score)
{
    return (zadd->if_greater && score <= present) ||
           (zadd->if_less && score >= present);
}

/* One pair; false: the sum is no number, and the error is replied. */
static bool put(struct sim_call *call, struct zadd *zadd, struct sim_key *key,
                size_t pair)
{
    struct hft_piece member = call->args[zadd->first + 2 * pair + 1];
    size_t at = sim_value_find(&key->value, member);
    double score = zadd->scores[pair];
    double present;

    zadd->done = false;
    if (at == SIM_NO_ROW) {
        if (!zadd->if_present) {
            add_member(&key->value, member, score);
            zadd->added++;
            zadd->done = true;
            zadd->score = score;
        }
        return true;
    }
    present = key->value.rows[at].score;
    if (zadd->if_absent) {
        return true;
    }
    if (zadd->add) {
        score += present;
        if (isnan(score)) {
            sim_reply_error(call, "ERR resulting score is not a number (NaN)");
            return false;
        }
    }
    if (is_kept_back(zadd, present, score)) {
        return true;
    }
    zadd->done = true;
    zadd->score = score;
    if (score < present || score > present) {
        sim_value_remove(&key->value, at);
        add_member(&key->value, member, score);
        zadd->updated++;
    }
    return true;
}

static void reply_zadd(struct sim_call *call, const struct zadd *zadd)
{
    if (!zadd->add) {
        sim_reply_integer(call, zadd->added +
                                    (zadd->count_changed ? zadd->updated : 0));
    } else if (zadd->done) {
        sim_reply_double(call, zadd->score);
    } else {
        sim_reply_nil(call);
    }
}

static void put_all(struct sim_call *call, struct zadd *zadd)
{
    struct sim_key *key;

    if (!sim_arg_key(call, 1, SIM_ZSET, &key)) {
        return;
    }
    if (key != NULL || !zadd->if_present) {
        (void)sim_arg_key_made(call, 1, SIM_ZSET, &key);
        for (size_t i = 0; i < zadd->pairs; i++) {
            if (!put(call, zadd, key, i)) {
                return;
            }
        }
    }
    reply_zadd(call, zadd);
}

static void zadd_from(struct sim_call *call, struct zadd *zadd)
{
    if (check_flags(call, zadd) && read_scores(call, zadd)) {
        put_all(call, zadd);
    }
    free(zadd->scores);
}

void sim_cmd_zadd(struct sim_call *call)
{
    struct zadd zadd = {.scores = NULL};

    read_flags(call, &zadd);
    zadd_from(call, &zadd);
}

void sim_cmd_zincrby(struct sim_call *call)
{
    struct zadd zadd = {.add = true};

    read_flags(call, &zadd); /* Redis reads them here too */
    zadd_from(call, &zadd);
}

void sim_cmd_zrem(struct sim_call *call)
{
    struct sim_key *key;
    int64_t removed = 0;

    if (!sim_arg_key(call, 1, SIM_ZSET, &key)) {
        return;
    }
    for (size_t i = 2; key != NULL && i < call->count; i++) {
        size_t at = sim_value_find(&key->value, call->args[i]);

        if (at != SIM_NO_ROW) {
            sim_key_touch(call->db, key);
            sim_value_remove(&key->value, at);
            removed++;
        }
    }
    if (removed > 0) {
        sim_key_tidy(call->db, key);
    }
    sim_reply_integer(call, removed);
}

void sim_cmd_zscore(struct sim_call *call)
{
    struct sim_key *key;
    size_t at = SIM_NO_ROW;

    if (!sim_arg_key(call, 1, SIM_ZSET, &key)) {
        return;
    }
    if (key != NULL) {
        at = sim_value_find(&key->value, call->args[2]);
    }
    if (key == NULL || at == SIM_NO_ROW) {
        sim_reply_nil(call);
    } else {
        sim_reply_double(call, key->value.rows[at].score);
    }
}

void sim_cmd_zcard(struct sim_call *call)
{
    struct sim_key *key;

    if (sim_arg_key(call, 1, SIM_ZSET, &key)) {
        sim_reply_integer(call, key == NULL ? 0 : (int64_t)key->value.count);
    }
}

void sim_cmd_zmscore(struct sim_call *call)
{
    struct sim_key *key;

    if (!sim_arg_key(call, 1, SIM_ZSET, &key)) {
        return;
    }
    sim_reply_array(call, call->count - 2);
    for (size_t i = 2; i < call->count; i++) {
        size_t at = key == NULL ? SIM_NO_ROW
                                : sim_value_find(&key->value, call->args[i]);

        if (at == SIM_NO_ROW) {
            sim_reply_nil(call);
        } else {
            sim_reply_double(call, key->value.rows[at].score);
        }
    }
}

void sim_cmd_zrank(struct sim_call *call)
{
    struct sim_key *key;
    size_t at = SIM_NO_ROW;

    if (!sim_arg_key(call, 1, SIM_ZSET, &key)) {
        return;
    }
    if (key != NULL) {
        at = sim_value_find(&key->value, call->args[2]);
    }
    if (at == SIM_NO_ROW) {
        sim_reply_nil(call);
    } else {
        sim_reply_integer(call, (int64_t)at);
    }
}
