/* SPDX-License-Identifier: MIT */
/* keyspace.c - the keys of a database; see keyspace.h. */
#include "keyspace.h"

#include <stdlib.h>
#include <string.h>

#include "journal.h"
#include "support/fatal.h"

bool sim_key_is_past(const struct sim_key *key, int64_t now_ms)
{
    return key->expires_ms != SIM_NEVER && now_ms > key->expires_ms;
}

struct sim_key *sim_db_look(const struct sim_db *db, struct hft_piece name)
{
    struct sim_key *key;

    HASH_FIND(hh, db->keys, name.data, name.length, key);
    return key;
}

static void remove_key(struct sim_db *db, struct sim_key *key)
{
    HASH_DELETE(hh, db->keys, key);
    sim_value_free(&key->value);
    free(key);
}

void sim_key_drop_expired(struct sim_db *db, struct sim_key *key)
{
    remove_key(db, key);
}

struct sim_key *sim_db_find(struct sim_db *db, struct hft_piece name,
                            int64_t now_ms)
{
    struct sim_key *key = sim_db_look(db, name);

    if (key != NULL && sim_key_is_past(key, now_ms)) {
        sim_key_drop_expired(db, key);
        return NULL;
    }
    return key;
}

struct sim_key *sim_db_add(struct sim_db *db, struct hft_piece name,
                           enum sim_type type)
{
    struct sim_key *key;

    sim_journal_note_absent(db->journal, db, name);
    key = sim_db_restore(db, name);
    key->value.type = type;
    return key;
}

struct sim_key *sim_db_restore(struct sim_db *db, struct hft_piece name)
{
    struct sim_key *key = hft_alloc(sizeof(*key) + name.length + 1);

    key->expires_ms = SIM_NEVER;
    key->serial = ++*db->next_serial;
    key->touched = sim_journal_writes(db->journal);
    key->len = name.length;
    memcpy(key->name, name.data, name.length);
    HASH_ADD_KEYPTR(hh, db->keys, key->name, key->len, key);
    return key;
}

void sim_key_touch(struct sim_db *db, struct sim_key *key)
{
    uint64_t write = sim_journal_open(db->journal);

    if (key->touched != write) {
        key->touched = write;
        sim_journal_note(db->journal, db, key);
    }
}

void sim_key_delete(struct sim_db *db, struct sim_key *key)
{
    sim_key_touch(db, key);
    remove_key(db, key);
}

void sim_key_tidy(struct sim_db *db, struct sim_key *key)
{
    if (key->value.count == 0) {
        sim_key_delete(db, key);
    }
}

void sim_db_clear(struct sim_db *db)
{
    struct sim_key *key;
    struct sim_key *next;

    HASH_ITER (hh, db->keys, key, next) {
        sim_key_delete(db, key);
    }
}

size_t sim_db_expire(struct sim_db *db, int64_t now_ms)
{
    struct sim_key *key;
    struct sim_key *next;
    size_t count = 0;

    HASH_ITER (hh, db->keys, key, next) {
        if (sim_key_is_past(key, now_ms)) {
            sim_key_drop_expired(db, key);
            count++;
        }
    }
    return count;
}

void sim_db_free(struct sim_db *db)
{
    struct sim_key *key;
    struct sim_key *next;

    HASH_ITER (hh, db->keys, key, next) {
        remove_key(db, key);
    }
}
