/* SPDX-License-Identifier: MIT */
/* cmd_scan.c - walks through keys or fields.
 *
 * A cursor is the serial number of the next key, so a key that stays is met
 * whatever comes and goes meanwhile.  A hash is small and goes in one step.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"

#define COUNT_AT_FIRST 10

struct walk {
    uint64_t cursor;
    int64_t count;
    struct hft_piece pattern; /* NULL: all */
    struct hft_piece type;    /* NULL: all */
};

static bool read_cursor(struct sim_call *call, size_t n, uint64_t *ret_cursor)
{
    char spelled[32];
    char *end;

    if (call->args[n].length < sizeof(spelled)) {
        memcpy(spelled, call->args[n].data, call->args[n].length);
        spelled[call->args[n].length] = '\0';
        errno = 0;
        *ret_cursor = strtoull(spelled, &end, 10);
        if (*end == '\0' && errno == 0 &&
            strchr(" \t\n\v\f\r", *spelled) == NULL) {
            return true;
        }
        if (*spelled == '\0') {
            return true; /* Redis takes no word at all for a 0 */
        }
    }
    sim_reply_error(call, "ERR invalid cursor");
    return false;
}

static bool read_count(struct sim_call *call, size_t n, struct walk *walk)
{
    if (!sim_arg_integer(call, n, &walk->count)) {
        return false;
    }
    if (walk->count < 1) {
        sim_reply_syntax_error(call);
        return false;
    }
    return true;
}

/* The options from word `n` on; TYPE is only known to walks through keys. */
static bool read_options(struct sim_call *call, size_t n, bool of_keys,
                         struct walk *walk)
{
    for (; n < call->count; n += 2) {
        bool has_value = n + 1 < call->count;

        if (has_value && sim_arg_is(call, n, "count")) {
            if (!read_count(call, n + 1, walk)) {
                return false;
            }
        } else if (has_value && sim_arg_is(call, n, "match")) {
            walk->pattern = call->args[n + 1];
        } else if (has_value && of_keys && sim_arg_is(call, n, "type")) {
            walk->type = call->args[n + 1];
        } else {
            sim_reply_syntax_error(call);
            return false;
        }
    }
    return true;
}

static bool is_met(const struct walk *walk, struct hft_piece name)
{
    return walk->pattern.data == NULL || sim_matches(walk->pattern, name);
}

/* The head of a step's reply: where to go on, and how many texts follow. */
static void reply_step(struct sim_call *call, uint64_t cursor, size_t count)
{
    struct sim_text text = sim_text_format("%llu", (unsigned long long)cursor);

    sim_reply_array(call, 2);
    sim_reply_text(call, text);
    sim_text_free(&text);
    sim_reply_array(call, count);
}

static bool is_of_type(const struct walk *walk, const struct sim_key *key)
{
    static const char *const names[] = {[SIM_STRING] = "string",
                                        [SIM_HASH] = "hash",
                                        [SIM_LIST] = "list",
                                        [SIM_ZSET] = "zset"};

    return walk->type.data == NULL ||
           hft_piece_is(walk->type, names[key->value.type]);
}

/* Visit `count` keys from the cursor on, and drop those that have expired
 * where the walk meets them.  Returns where to go on. */
static uint64_t visit(struct sim_call *call, const struct walk *walk,
                      struct hft_bytes *names, size_t *ret_count)
{
    struct sim_key *key = call->db->keys;
    struct sim_call list = {.out = names};
    int64_t visited = 0;

    *ret_count = 0;
    while (key != NULL && key->serial < walk->cursor) {
        key = key->hh.next;
    }
    while (key != NULL && visited < walk->count) {
        struct sim_key *next = key->hh.next;
        struct hft_piece name = {key->name, key->len};

        visited++;
        if (!is_met(walk, name)) {
            /* Not even looked at. */
        } else if (sim_key_is_past(key, call->now_ms)) {
            sim_key_drop_expired(call->db, key);
        } else if (is_of_type(walk, key)) {
            sim_reply_bulk(&list, name);
            (*ret_count)++;
        }
        key = next;
    }
    return key == NULL ? 0 : key->serial;
}

void sim_cmd_scan(struct sim_call *call)
{
    struct walk walk = {.count = COUNT_AT_FIRST};
    struct hft_bytes names = {.length = 0};
    uint64_t next;
    size_t count;

    if (!read_cursor(call, 1, &walk.cursor) ||
        !read_options(call, 2, true, &walk)) {
        return;
    }
    next = visit(call, &walk, &names, &count);
    reply_step(call, next, count);
    hft_bytes_append(call->out, names.data, names.length);
    hft_bytes_free(&names);
}

void sim_cmd_hscan(struct sim_call *call)
{
    struct walk walk = {.count = COUNT_AT_FIRST};
    struct sim_key *key;
    size_t count = 0;

    if (!read_cursor(call, 2, &walk.cursor) ||
        !sim_arg_key(call, 1, SIM_HASH, &key)) {
        return;
    }
    if (key == NULL) {
        reply_step(call, 0, 0);
        return;
    }
    if (!read_options(call, 3, false, &walk)) {
        return;
    }
    for (size_t i = 0; i < key->value.count; i++) {
        count += is_met(&walk, sim_word_of(key->value.rows[i].name)) ? 1 : 0;
    }
    reply_step(call, 0, 2 * count);
    for (size_t i = 0; i < key->value.count; i++) {
        const struct sim_row *row = &key->value.rows[i];

        if (is_met(&walk, sim_word_of(row->name))) {
            sim_reply_text(call, row->name);
            sim_reply_text(call, row->value);
        }
    }
}
