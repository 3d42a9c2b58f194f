/* SPDX-License-Identifier: MIT */
/* sim_server.h - a model of one Redis server, for the simulated world.
 *
 * It has Redis 7.0's data types, commands, errors and an embedded Lua 5.1 that
 * runs the shipped scripts byte for byte.  It has no socket, clock, thread or
 * random source: the world hands it the bytes of a connection and the time, and
 * carries the answers.  So the same calls give the same bytes, always.
 *
 *     struct sim_server_config config = {.deliver = carry, .context = world};
 *     struct sim_server *server = sim_server_new(&config);
 *     struct sim_conn *conn = sim_conn_open(server, link);
 *     sim_server_request(conn, bytes, len, server_ms, &reply);
 *
 * `now_ms` is always the server's own wall clock, in ms since 1970.  It may step
 * back.  A request runs at one instant: TIME and expiry do not move inside it.
 *
 * That it is right is tested against a real redis-server
 * (tests/sim/test_model_against_redis.c).  It is small, not fast on large data:
 * fields and entries are looked for one by one.
 *
 * Replicas and WAIT will be servers that follow another's journal (journal.h);
 * slots, MOVED and SPUBLISH belong before the dispatch (commands.c).
 *
 * One thread; nothing fails but memory, which ends the program.
 */
#ifndef SIM_SERVER_H
#define SIM_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/bytes.h"

struct sim_server;
struct sim_conn;

/* A message for a subscriber: `bytes` (lent) are what its connection would
 * carry.  Drop them, or deliver them later.  Must not call the server. */
typedef void sim_deliver(void *context, struct sim_conn *conn,
                         const char *bytes, size_t len);

/* All zero: no password, no messages, nothing can be forgotten. */
struct sim_server_config {
    const char *password; /* borrowed; of the user "default" */
    sim_deliver *deliver;
    void *context;
    bool newer;         /* it knows DELIFEQ, and SET with IFEQ */
    size_t keep_writes; /* how many a restart can forget; costs a copy each */
};

struct sim_server *sim_server_new(const struct sim_server_config *config);
void sim_server_free(struct sim_server *server); /* with its connections */

/* ---- connections ---- */

struct sim_conn *sim_conn_open(struct sim_server *server, void *user);
void sim_conn_close(struct sim_conn *conn);
void *sim_conn_user(const struct sim_conn *conn);
const char *sim_conn_name(const struct sim_conn *conn); /* CLIENT SETNAME */

/* Feed bytes as a client wrote them: parts of requests, or many.  Whole ones
 * are executed, each at `now_ms`, and their replies appended to `out`.  False:
 * the server has closed the connection (it was restarted, or what came is not
 * the protocol); only sim_conn_close() is left. */
bool sim_server_request(struct sim_conn *conn, const char *bytes, size_t len,
                        int64_t now_ms, struct hft_bytes *out);

/* ---- what the world does to a server ---- */

/* Delete what has expired, as Redis does in the background; how many keys. */
size_t sim_server_active_expire(struct sim_server *server, int64_t now_ms);

/* Restart: every connection is closed from the server's side, and the scripts
 * are forgotten.  The data are all there, or without the last writes (a script
 * is one write; at most `keep_writes`), or gone.  Returns how many writes were
 * forgotten. */
size_t sim_server_restart(struct sim_server *server, size_t forget_writes);
void sim_server_restart_empty(struct sim_server *server);

void sim_server_script_flush(struct sim_server *server);

/* Somebody else's command, on a connection of his own, in database 0:
 *     sim_server_run(server, now_ms, "PEXPIRE", "lock", "30", NULL);
 * Returns the reply as it would travel; lent until the next such call. */
const char *sim_server_run(struct sim_server *server, int64_t now_ms,
                           const char *word, ...) __attribute__((sentinel));

/* ---- a look inside: nothing is changed, nothing expires ---- */

#define SIM_DATABASES 16
#define SIM_TTL_NO_KEY (-2) /* as PTTL says */
#define SIM_TTL_NONE (-1)   /* the key has no TTL */

enum sim_type { SIM_STRING, SIM_HASH, SIM_LIST, SIM_ZSET };

struct sim_db;  /* a numbered database */
struct sim_key; /* a key with its value; lent until the next request */

struct sim_db *sim_server_db(struct sim_server *server, unsigned number);

/* The keys that have not expired at `now_ms`, oldest first; NULL begins, and
 * NULL is the end. */
struct sim_key *sim_key_next(struct sim_db *db, const struct sim_key *previous,
                             int64_t now_ms);
/* NULL: there is none, or it has expired. */
struct sim_key *sim_key_find(struct sim_db *db, const char *name,
                             int64_t now_ms);

const char *sim_key_name(const struct sim_key *key, size_t *ret_len);
enum sim_type sim_key_type(const struct sim_key *key);
int64_t sim_key_expires_ms(const struct sim_key *key); /* -1: never */

/* One field, element or member.  Texts are terminated as well. */
struct sim_entry {
    const char *name; /* of a field or member; NULL in a list or string */
    size_t name_len;
    const char *value; /* of a field, element or string; NULL in a zset */
    size_t value_len;
    double score; /* in a zset */
};

/* How many entries there are (1 for a string), and the n-th from 0. */
size_t sim_key_count(const struct sim_key *key);
struct sim_entry sim_key_entry(const struct sim_key *key, size_t n);

int64_t sim_key_ttl_ms(struct sim_db *db, const char *name, int64_t now_ms);
/* NULL: no such key or field, or no hash. */
const char *sim_hash_get(struct sim_db *db, const char *name, const char *field,
                         int64_t now_ms);

size_t sim_subscribers(const struct sim_server *server, const char *channel);
bool sim_conn_hears(const struct sim_conn *conn, const char *channel);
/* How many channels a connection is subscribed to, and the n-th from 0. */
size_t sim_conn_channels(const struct sim_conn *conn);
const char *sim_conn_channel(const struct sim_conn *conn, size_t n);

size_t sim_server_connections(const struct sim_server *server);
size_t sim_server_scripts(const struct sim_server *server);    /* cached */
uint64_t sim_server_commands(const struct sim_server *server); /* in scripts */
uint64_t sim_server_writes(const struct sim_server *server);

#endif
