/* SPDX-License-Identifier: MIT */
/* parts.h - what the files of the model know of the server and a connection.
 */
#ifndef SIM_PARTS_H
#define SIM_PARTS_H

#include <uthash.h>

#include "journal.h"
#include "keyspace.h"
#include "sim_server.h"
#include "support/bytes.h"
#include "support/resp_scan.h"

struct sim_scripts;

/* A channel that somebody is subscribed to. */
struct sim_channel {
    UT_hash_handle hh;
    struct sim_conn **conns; /* in the order in which they came */
    size_t count;
    size_t capacity;
    size_t len;
    char name[];
};

struct sim_conn {
    struct sim_conn *prev, *next;
    struct sim_server *server;
    void *user;
    struct sim_db *db;
    struct hft_bytes in; /* what is no whole request yet */
    struct sim_text name;
    struct sim_channel **channels;
    size_t channel_count;
    size_t channel_capacity;
    bool authenticated;
    bool closed; /* by the server */
};

struct sim_server {
    struct sim_server_config config;
    struct sim_db databases[SIM_DATABASES];
    uint64_t next_serial;
    struct sim_journal *journal;
    struct sim_scripts *scripts;
    struct sim_conn *conns;
    size_t conn_count;
    struct sim_channel *channels;
    uint64_t commands;
    struct hft_piece *args; /* of the request that runs */
    size_t args_capacity;
    struct sim_conn foreign; /* sim_server_run() */
    struct hft_bytes foreign_reply;
};

/* request.c: the length of the first whole request, with its words in the
 * server's `args`; 0: there is none yet; -1: this is no request, and the error
 * is in `out`. */
ssize_t sim_request_read(struct sim_server *server, struct hft_piece in,
                         size_t *ret_count, struct hft_bytes *out);

/* channel.c */
void sim_conn_unsubscribe_all(struct sim_conn *conn);

#endif
