/* SPDX-License-Identifier: MIT */
/* cmd_hash.c - hashes. */
#include "commands.h"

/* Set a field; the value owns the text.  1 if it is new. */
static int64_t set_field(struct sim_value *value, struct hft_piece field,
                         struct sim_text text)
{
    size_t at = sim_value_find(value, field);
    struct sim_row row = {.value = text};

    if (at != SIM_NO_ROW) {
        sim_value_set_text(value, at, text);
        return 0;
    }
    row.name = sim_text_copy(field);
    sim_value_insert(value, value->count, row);
    return 1;
}

void sim_cmd_hset(struct sim_call *call)
{
    struct sim_key *key;
    int64_t added = 0;

    if (call->count % 2 != 0) {
        sim_reply_error(call,
                        "ERR wrong number of arguments for 'hset' command");
        return;
    }
    if (!sim_arg_key_made(call, 1, SIM_HASH, &key)) {
        return;
    }
    for (size_t i = 2; i < call->count; i += 2) {
        added += set_field(&key->value, call->args[i],
                           sim_text_copy(call->args[i + 1]));
    }
    sim_reply_integer(call, added);
}

void sim_cmd_hsetnx(struct sim_call *call)
{
    struct sim_key *key;

    if (!sim_arg_key(call, 1, SIM_HASH, &key)) {
        return;
    }
    if (key != NULL &&
        sim_value_find(&key->value, call->args[2]) != SIM_NO_ROW) {
        sim_reply_integer(call, 0);
        return;
    }
    (void)sim_arg_key_made(call, 1, SIM_HASH, &key);
    (void)set_field(&key->value, call->args[2], sim_text_copy(call->args[3]));
    sim_reply_integer(call, 1);
}

void sim_cmd_hmget(struct sim_call *call)
{
    struct sim_key *key;

    if (!sim_arg_key(call, 1, SIM_HASH, &key)) {
        return;
    }
    sim_reply_array(call, call->count - 2);
    for (size_t i = 2; i < call->count; i++) {
        size_t at = key == NULL ? SIM_NO_ROW
                                : sim_value_find(&key->value, call->args[i]);

        if (at == SIM_NO_ROW) {
            sim_reply_nil(call);
        } else {
            sim_reply_text(call, key->value.rows[at].value);
        }
    }
}

/* The row of the field in the second word; NULL: none.  False: another type. */
static bool find_field(struct sim_call *call, const struct sim_row **ret_row)
{
    struct sim_key *key;
    size_t at;

    *ret_row = NULL;
    if (!sim_arg_key(call, 1, SIM_HASH, &key)) {
        return false;
    }
    if (key != NULL) {
        at = sim_value_find(&key->value, call->args[2]);
        *ret_row = at == SIM_NO_ROW ? NULL : &key->value.rows[at];
    }
    return true;
}

void sim_cmd_hget(struct sim_call *call)
{
    const struct sim_row *row;

    if (!find_field(call, &row)) {
        return;
    }
    if (row == NULL) {
        sim_reply_nil(call);
    } else {
        sim_reply_text(call, row->value);
    }
}

void sim_cmd_hexists(struct sim_call *call)
{
    const struct sim_row *row;

    if (find_field(call, &row)) {
        sim_reply_integer(call, row != NULL);
    }
}

void sim_cmd_hdel(struct sim_call *call)
{
    struct sim_key *key;
    int64_t deleted = 0;

    if (!sim_arg_key(call, 1, SIM_HASH, &key)) {
        return;
    }
    for (size_t i = 2; key != NULL && i < call->count; i++) {
        size_t at = sim_value_find(&key->value, call->args[i]);

        if (at != SIM_NO_ROW) {
            sim_key_touch(call->db, key);
            sim_value_remove(&key->value, at);
            deleted++;
        }
    }
    if (deleted > 0) {
        sim_key_tidy(call->db, key);
    }
    sim_reply_integer(call, deleted);
}

void sim_cmd_hlen(struct sim_call *call)
{
    struct sim_key *key;

    if (sim_arg_key(call, 1, SIM_HASH, &key)) {
        sim_reply_integer(call, key == NULL ? 0 : (int64_t)key->value.count);
    }
}

static void reply_fields(struct sim_call *call, bool names, bool values)
{
    struct sim_key *key;

    if (!sim_arg_key(call, 1, SIM_HASH, &key)) {
        return;
    }
    if (key == NULL) {
        sim_reply_array(call, 0);
        return;
    }
    sim_reply_array(call, key->value.count * (names && values ? 2 : 1));
    for (size_t i = 0; i < key->value.count; i++) {
        if (names) {
            sim_reply_text(call, key->value.rows[i].name);
        }
        if (values) {
            sim_reply_text(call, key->value.rows[i].value);
        }
    }
}

void sim_cmd_hgetall(struct sim_call *call)
{
    reply_fields(call, true, true);
}

void sim_cmd_hkeys(struct sim_call *call)
{
    reply_fields(call, true, false);
}

void sim_cmd_hvals(struct sim_call *call)
{
    reply_fields(call, false, true);
}

void sim_cmd_hincrby(struct sim_call *call)
{
    const struct sim_row *row;
    struct sim_key *key;
    int64_t number = 0;
    int64_t more;

    if (!sim_arg_integer(call, 3, &more) || !find_field(call, &row)) {
        return;
    }
    if (row != NULL && !sim_read_integer(sim_word_of(row->value), &number)) {
        sim_reply_error(call, "ERR hash value is not an integer");
        return;
    }
    if (sim_add_integers(call, number, more, &number) &&
        sim_arg_key_made(call, 1, SIM_HASH, &key)) {
        (void)set_field(&key->value, call->args[2],
                        sim_text_format("%lld", (long long)number));
        sim_reply_integer(call, number);
    }
}
