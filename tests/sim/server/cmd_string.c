/* SPDX-License-Identifier: MIT */
/* cmd_string.c - strings, which are also counters. */
#include "commands.h"

void sim_cmd_get(struct sim_call *call)
{
    struct sim_key *key;

    if (!sim_arg_key(call, 1, SIM_STRING, &key)) {
        return;
    }
    if (key == NULL) {
        sim_reply_nil(call);
    } else {
        sim_reply_text(call, key->value.rows[0].value);
    }
}

void sim_cmd_getdel(struct sim_call *call)
{
    struct sim_key *key;

    if (!sim_arg_key(call, 1, SIM_STRING, &key)) {
        return;
    }
    sim_cmd_get(call);
    if (key != NULL) {
        sim_key_delete(call->db, key);
    }
}

/* What is no string is none here, and no error. */
void sim_cmd_mget(struct sim_call *call)
{
    sim_reply_array(call, call->count - 1);
    for (size_t i = 1; i < call->count; i++) {
        const struct sim_key *key = sim_db_find(call->db, call->args[i],
                                                call->now_ms);

        if (key == NULL || key->value.type != SIM_STRING) {
            sim_reply_nil(call);
        } else {
            sim_reply_text(call, key->value.rows[0].value);
        }
    }
}

void sim_cmd_strlen(struct sim_call *call)
{
    struct sim_key *key;

    if (sim_arg_key(call, 1, SIM_STRING, &key)) {
        sim_reply_integer(
            call, key == NULL ? 0 : (int64_t)key->value.rows[0].value.len);
    }
}

/* ---- SET ---- */

struct set_options {
    bool if_absent;
    bool if_present;
    size_t if_word; /* IFEQ: only if it has that value; 0: whatever it has */
    bool get;
    bool keep_ttl;
    size_t ttl_word; /* 0: none is given */
    int64_t unit_ms;
};

/* One option; how many words it takes, 0 if it is none. */
static size_t read_option(const struct sim_call *call, size_t n,
                          struct set_options *options)
{
    bool has_ttl = options->ttl_word != 0;

    if (sim_arg_is(call, n, "nx") && !options->if_present) {
        options->if_absent = true;
    } else if (sim_arg_is(call, n, "xx") && !options->if_absent) {
        options->if_present = true;
    } else if (call->server->config.newer && sim_arg_is(call, n, "ifeq") &&
               n + 1 < call->count) {
        options->if_word = n + 1;
        return 2;
    } else if (sim_arg_is(call, n, "get")) {
        options->get = true;
    } else if (sim_arg_is(call, n, "keepttl") && !has_ttl) {
        options->keep_ttl = true;
    } else if ((sim_arg_is(call, n, "px") || sim_arg_is(call, n, "ex")) &&
               n + 1 < call->count && !has_ttl && !options->keep_ttl) {
        options->unit_ms = sim_arg_is(call, n, "px") ? 1 : 1000;
        options->ttl_word = n + 1;
        return 2;
    } else {
        return 0;
    }
    return 1;
}

static bool read_options(struct sim_call *call, struct set_options *options)
{
    size_t used;

    for (size_t n = 3; n < call->count; n += used) {
        used = read_option(call, n, options);
        if (used == 0) {
            sim_reply_syntax_error(call);
            return false;
        }
    }
    return true;
}

/* When the key is to expire; SIM_NEVER without a TTL. */
static bool read_ttl(struct sim_call *call, const struct set_options *options,
                     int64_t *ret_expires_ms)
{
    int64_t ttl;

    *ret_expires_ms = SIM_NEVER;
    if (options->ttl_word == 0) {
        return true;
    }
    if (!sim_arg_integer(call, options->ttl_word, &ttl)) {
        return false;
    }
    if (ttl <= 0 || ttl > INT64_MAX / options->unit_ms ||
        ttl * options->unit_ms > INT64_MAX - call->now_ms) {
        sim_reply_error(call, "ERR invalid expire time in 'set' command");
        return false;
    }
    *ret_expires_ms = ttl * options->unit_ms + call->now_ms;
    return true;
}

/* Make the key a string, whatever it was. */
static void set(struct sim_call *call, struct sim_key *key, int64_t expires_ms)
{
    struct sim_row row = {.value = sim_text_copy(call->args[2])};

    if (key == NULL) {
        key = sim_db_add(call->db, call->args[1], SIM_STRING);
    } else {
        sim_key_touch(call->db, key);
        sim_value_free(&key->value);
        key->value.type = SIM_STRING;
    }
    sim_value_insert(&key->value, 0, row);
    key->expires_ms = expires_ms;
}

void sim_cmd_set(struct sim_call *call)
{
    struct set_options options = {.unit_ms = 1};
    struct sim_key *key;
    int64_t expires_ms;

    if (!read_options(call, &options) ||
        !read_ttl(call, &options, &expires_ms)) {
        return;
    }
    if (options.get) {
        if (!sim_arg_key(call, 1, SIM_STRING, &key)) {
            return;
        }
        sim_cmd_get(call);
    }
    if (options.if_word > 0 && !sim_arg_key(call, 1, SIM_STRING, &key)) {
        return;
    }
    key = sim_db_find(call->db, call->args[1], call->now_ms);
    if ((options.if_absent && key != NULL) ||
        (options.if_present && key == NULL) ||
        (options.if_word > 0 &&
         (key == NULL ||
          !sim_same(key->value.rows[0].value, call->args[options.if_word])))) {
        if (!options.get) {
            sim_reply_nil(call);
        }
        return;
    }
    if (options.keep_ttl && key != NULL) {
        expires_ms = key->expires_ms;
    }
    set(call, key, expires_ms);
    if (!options.get) {
        sim_reply_status(call, "OK");
    }
}

void sim_cmd_setnx(struct sim_call *call)
{
    bool is_free = sim_db_find(call->db, call->args[1], call->now_ms) == NULL;

    if (is_free) {
        set(call, NULL, SIM_NEVER);
    }
    sim_reply_integer(call, is_free ? 1 : 0);
}

void sim_cmd_delifeq(struct sim_call *call)
{
    struct sim_key *key;
    bool is_it;

    if (!sim_arg_key(call, 1, SIM_STRING, &key)) {
        return;
    }
    is_it = key != NULL && sim_same(key->value.rows[0].value, call->args[2]);
    if (is_it) {
        sim_key_delete(call->db, key);
    }
    sim_reply_integer(call, is_it ? 1 : 0);
}

/* ---- counters ---- */

static void add(struct sim_call *call, int64_t more)
{
    struct sim_key *key;
    int64_t number = 0;

    if (!sim_arg_key(call, 1, SIM_STRING, &key)) {
        return;
    }
    if (key != NULL &&
        !sim_read_integer(sim_word_of(key->value.rows[0].value), &number)) {
        sim_reply_error(call, "ERR value is not an integer or out of range");
        return;
    }
    if (!sim_add_integers(call, number, more, &number)) {
        return;
    }
    if (key == NULL) {
        key = sim_db_add(call->db, call->args[1], SIM_STRING);
        sim_value_insert(&key->value, 0, (struct sim_row){.score = 0});
    } else {
        sim_key_touch(call->db, key);
    }
    sim_value_set_text(&key->value, 0,
                       sim_text_format("%lld", (long long)number));
    sim_reply_integer(call, number);
}

void sim_cmd_incr(struct sim_call *call)
{
    add(call, 1);
}

void sim_cmd_decr(struct sim_call *call)
{
    add(call, -1);
}

void sim_cmd_incrby(struct sim_call *call)
{
    int64_t more;

    if (sim_arg_integer(call, 2, &more)) {
        add(call, more);
    }
}

void sim_cmd_decrby(struct sim_call *call)
{
    int64_t less;

    if (!sim_arg_integer(call, 2, &less)) {
        return;
    }
    if (less == INT64_MIN) {
        sim_reply_error(call, "ERR decrement would overflow");
        return;
    }
    add(call, -less);
}
