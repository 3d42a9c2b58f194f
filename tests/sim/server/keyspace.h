/* SPDX-License-Identifier: MIT */
/* keyspace.h - the keys of a database, their expiry, and the journal.
 *
 * Whoever changes a key says so first (sim_key_touch): the journal then keeps
 * what it was, so that a restart can forget the last writes.  That a key
 * expired is no write: what is brought back is still expired.
 */
#ifndef SIM_KEYSPACE_H
#define SIM_KEYSPACE_H

#include <uthash.h>

#include "sim_server.h"
#include "text.h"
#include "value.h"

struct sim_journal;

#define SIM_NEVER INT64_MAX /* a key without a TTL */

struct sim_key {
    UT_hash_handle hh;
    struct sim_value value;
    int64_t expires_ms;
    uint64_t serial;  /* the order of making, which SCAN walks along */
    uint64_t touched; /* the write that noted it last */
    size_t len;
    char name[];
};

struct sim_db {
    struct sim_key *keys; /* in the order of their serials */
    struct sim_journal *journal;
    uint64_t *next_serial; /* of the server */
    unsigned number;
};

/* Redis' rule: at its very time of expiry a key still lives. */
bool sim_key_is_past(const struct sim_key *key, int64_t now_ms);

/* The key, deleted on the way if it has expired. */
struct sim_key *sim_db_find(struct sim_db *db, struct hft_piece name,
                            int64_t now_ms);
/* The key, expired or not. */
struct sim_key *sim_db_look(const struct sim_db *db, struct hft_piece name);
struct sim_key *sim_db_add(struct sim_db *db, struct hft_piece name,
                           enum sim_type type);
/* For the journal: a key that was there before; nothing is noted. */
struct sim_key *sim_db_restore(struct sim_db *db, struct hft_piece name);
void sim_db_clear(struct sim_db *db);
size_t sim_db_expire(struct sim_db *db, int64_t now_ms);
void sim_db_free(struct sim_db *db); /* the keys; nothing is noted */

void sim_key_touch(struct sim_db *db, struct sim_key *key);
void sim_key_delete(struct sim_db *db, struct sim_key *key);
/* An empty hash, list or sorted set is no key. */
void sim_key_tidy(struct sim_db *db, struct sim_key *key);
/* No write: nothing is noted. */
void sim_key_drop_expired(struct sim_db *db, struct sim_key *key);

#endif
