/* SPDX-License-Identifier: MIT */
/* server.c - the model of a server: connections in, restarts; see sim_server.h.
 *
 * A request goes: bytes are kept until it is whole (request.c), its command is
 * looked up and refused or run (commands.c), and its reply appended.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "call.h"
#include "parts.h"
#include "script.h"
#include "support/fatal.h"

#define MOST_FOREIGN_WORDS 32

struct sim_server *sim_server_new(const struct sim_server_config *config)
{
    struct sim_server *server = hft_alloc(sizeof(*server));

    server->config = *config;
    server->journal = sim_journal_new(config->keep_writes);
    server->scripts = sim_scripts_new(server);
    for (unsigned i = 0; i < SIM_DATABASES; i++) {
        server->databases[i].number = i;
        server->databases[i].journal = server->journal;
        server->databases[i].next_serial = &server->next_serial;
    }
    server->foreign.server = server;
    server->foreign.db = &server->databases[0];
    server->foreign.authenticated = true;
    return server;
}

void sim_server_free(struct sim_server *server)
{
    if (server == NULL) {
        return;
    }
    while (server->conns != NULL) {
        sim_conn_close(server->conns);
    }
    sim_conn_unsubscribe_all(&server->foreign);
    for (unsigned i = 0; i < SIM_DATABASES; i++) {
        sim_db_free(&server->databases[i]);
    }
    sim_scripts_free(server->scripts);
    sim_journal_free(server->journal);
    free(server->foreign.channels);
    hft_bytes_free(&server->foreign_reply);
    sim_text_free(&server->foreign.name);
    free(server->args);
    free(server);
}

/* ---- connections ---- */

struct sim_conn *sim_conn_open(struct sim_server *server, void *user)
{
    struct sim_conn *conn = hft_alloc(sizeof(*conn));

    conn->server = server;
    conn->user = user;
    conn->db = &server->databases[0];
    conn->authenticated = server->config.password == NULL;
    DL_APPEND(server->conns, conn);
    server->conn_count++;
    return conn;
}

/* The server's side is gone; the handle is still the world's. */
static void end(struct sim_conn *conn)
{
    sim_conn_unsubscribe_all(conn);
    hft_bytes_free(&conn->in);
    if (!conn->closed) {
        conn->closed = true;
        conn->server->conn_count--;
    }
}

void sim_conn_close(struct sim_conn *conn)
{
    end(conn);
    DL_DELETE(conn->server->conns, conn);
    sim_text_free(&conn->name);
    free(conn->channels);
    free(conn);
}

void *sim_conn_user(const struct sim_conn *conn)
{
    return conn->user;
}

const char *sim_conn_name(const struct sim_conn *conn)
{
    return conn->name.bytes != NULL ? conn->name.bytes : "";
}

static void run(struct sim_conn *conn, size_t count, int64_t now_ms,
                struct hft_bytes *out)
{
    struct sim_call call = {.server = conn->server,
                            .conn = conn,
                            .db = conn->db,
                            .args = conn->server->args,
                            .count = count,
                            .now_ms = now_ms,
                            .out = out};

    if (count > 0) {
        sim_command_request(&call);
    }
}

bool sim_server_request(struct sim_conn *conn, const char *bytes, size_t len,
                        int64_t now_ms, struct hft_bytes *out)
{
    size_t at = 0;

    if (conn->closed) {
        return false;
    }
    hft_bytes_append(&conn->in, bytes, len);
    for (;;) {
        struct hft_piece rest = {conn->in.data + at, conn->in.length - at};
        size_t count;
        ssize_t used = sim_request_read(conn->server, rest, &count, out);

        if (used < 0) {
            end(conn);
            return false;
        }
        if (used == 0) {
            break;
        }
        run(conn, count, now_ms, out);
        at += (size_t)used;
    }
    hft_bytes_eat(&conn->in, at);
    return true;
}

const char *sim_server_run(struct sim_server *server, int64_t now_ms,
                           const char *word, ...)
{
    struct hft_piece words[MOST_FOREIGN_WORDS];
    struct sim_call call = {.server = server,
                            .conn = &server->foreign,
                            .db = server->foreign.db,
                            .args = words,
                            .now_ms = now_ms,
                            .out = &server->foreign_reply};
    va_list rest;

    va_start(rest, word);
    for (; word != NULL; word = va_arg(rest, const char *)) {
        if (call.count == MOST_FOREIGN_WORDS) {
            hft_die("a foreign command has too many words");
        }
        words[call.count++] = sim_word(word);
    }
    va_end(rest);
    call.out->length = 0;
    sim_command_request(&call);
    hft_bytes_append(call.out, "", 1);
    return call.out->data;
}

/* ---- what the world does ---- */

size_t sim_server_active_expire(struct sim_server *server, int64_t now_ms)
{
    size_t count = 0;

    for (unsigned i = 0; i < SIM_DATABASES; i++) {
        count += sim_db_expire(&server->databases[i], now_ms);
    }
    return count;
}

/* What no restart leaves. */
static void forget_process(struct sim_server *server)
{
    struct sim_conn *conn;

    DL_FOREACH (server->conns, conn) {
        end(conn);
    }
    sim_scripts_flush(server->scripts);
}

size_t sim_server_restart(struct sim_server *server, size_t forget_writes)
{
    forget_process(server);
    return sim_journal_undo(server->journal, server->databases, forget_writes);
}

void sim_server_restart_empty(struct sim_server *server)
{
    forget_process(server);
    for (unsigned i = 0; i < SIM_DATABASES; i++) {
        sim_db_free(&server->databases[i]);
    }
    sim_journal_forget(server->journal);
}

void sim_server_script_flush(struct sim_server *server)
{
    sim_scripts_flush(server->scripts);
}

/* ---- a look inside ---- */

size_t sim_server_connections(const struct sim_server *server)
{
    return server->conn_count;
}

size_t sim_server_scripts(const struct sim_server *server)
{
    return sim_scripts_count(server->scripts);
}

uint64_t sim_server_commands(const struct sim_server *server)
{
    return server->commands;
}

uint64_t sim_server_writes(const struct sim_server *server)
{
    return sim_journal_writes(server->journal);
}
