/* SPDX-License-Identifier: MIT */
/* look.c - a look at the data that changes nothing; see sim_server.h. */
#include "parts.h"

struct sim_db *sim_server_db(struct sim_server *server, unsigned number)
{
    return &server->databases[number % SIM_DATABASES];
}

struct sim_key *sim_key_next(struct sim_db *db, const struct sim_key *previous,
                             int64_t now_ms)
{
    struct sim_key *key = previous == NULL ? db->keys : previous->hh.next;

    while (key != NULL && sim_key_is_past(key, now_ms)) {
        key = key->hh.next;
    }
    return key;
}

struct sim_key *sim_key_find(struct sim_db *db, const char *name,
                             int64_t now_ms)
{
    struct sim_key *key = sim_db_look(db, sim_word(name));

    return key == NULL || sim_key_is_past(key, now_ms) ? NULL : key;
}

const char *sim_key_name(const struct sim_key *key, size_t *ret_len)
{
    if (ret_len != NULL) {
        *ret_len = key->len;
    }
    return key->name;
}

enum sim_type sim_key_type(const struct sim_key *key)
{
    return key->value.type;
}

int64_t sim_key_expires_ms(const struct sim_key *key)
{
    return key->expires_ms == SIM_NEVER ? SIM_TTL_NONE : key->expires_ms;
}

size_t sim_key_count(const struct sim_key *key)
{
    return key->value.count;
}

struct sim_entry sim_key_entry(const struct sim_key *key, size_t n)
{
    const struct sim_row *row = &key->value.rows[n];

    return (struct sim_entry){.name = row->name.bytes,
                              .name_len = row->name.len,
                              .value = row->value.bytes,
                              .value_len = row->value.len,
                              .score = row->score};
}

int64_t sim_key_ttl_ms(struct sim_db *db, const char *name, int64_t now_ms)
{
    const struct sim_key *key = sim_key_find(db, name, now_ms);

    if (key == NULL) {
        return SIM_TTL_NO_KEY;
    }
    return key->expires_ms == SIM_NEVER ? SIM_TTL_NONE
                                        : key->expires_ms - now_ms;
}

const char *sim_hash_get(struct sim_db *db, const char *name, const char *field,
                         int64_t now_ms)
{
    const struct sim_key *key = sim_key_find(db, name, now_ms);
    size_t at;

    if (key == NULL || key->value.type != SIM_HASH) {
        return NULL;
    }
    at = sim_value_find(&key->value, sim_word(field));
    return at == SIM_NO_ROW ? NULL : key->value.rows[at].value.bytes;
}
