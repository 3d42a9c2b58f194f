/* SPDX-License-Identifier: MIT */
/* call.h - one command that runs: its words, where it runs, its reply.
 *
 * Replies are written as they travel (RESP2), for scripts too: the script's
 * side reads them back (script.c), as Redis does.
 */
#ifndef SIM_CALL_H
#define SIM_CALL_H

#include "keyspace.h"
#include "parts.h"
#include "support/bytes.h"

struct sim_command;

struct sim_call {
    struct sim_server *server;
    struct sim_conn *conn;
    struct sim_db *db;
    const struct sim_command *command;
    const struct hft_piece *args; /* [0] is the command */
    size_t count;
    int64_t now_ms;
    struct hft_bytes *out;
};

#define SIM_NOT_IN_SCRIPTS 1u
#define SIM_WITHOUT_AUTH 2u
#define SIM_WHEN_SUBSCRIBED 4u
#define SIM_CONTAINER 8u /* of subcommands; never runs itself */
#define SIM_NEWER 16u    /* of servers that are newer than Redis 7 */

/* What there is to know of a command.  Subcommands are "client|setname". */
struct sim_command {
    const char *name; /* lower case */
    int arity;        /* words in all; negative: at least so many */
    unsigned flags;
    void (*run)(struct sim_call *call);
};

/* The record that words name, or NULL. */
const struct sim_command *sim_command_find(const struct hft_piece *args,
                                           size_t count);
bool sim_command_takes(const struct sim_command *command, size_t count);
/* Run a request of a client: refuse it, or write its reply. */
void sim_command_request(struct sim_call *call);

/* ---- replies ---- */

void sim_reply_status(struct sim_call *call, const char *text);
/* "ERR ..." or with another code, as it follows the minus. */
void sim_reply_error(struct sim_call *call, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void sim_reply_integer(struct sim_call *call, int64_t number);
void sim_reply_bulk(struct sim_call *call, struct hft_piece text);
void sim_reply_text(struct sim_call *call, struct sim_text text);
void sim_reply_double(struct sim_call *call, double number);
void sim_reply_nil(struct sim_call *call);
void sim_reply_nil_array(struct sim_call *call);
void sim_reply_array(struct sim_call *call, size_t count);
void sim_reply_syntax_error(struct sim_call *call);

/* ---- arguments; false: an error was replied ---- */

bool sim_arg_integer(struct sim_call *call, size_t n, int64_t *ret_number);
bool sim_arg_double(struct sim_call *call, size_t n, double *ret_number);
bool sim_arg_is(const struct sim_call *call, size_t n, const char *word);

/* The key that the n-th word names, or NULL if there is none; false if it holds
 * another type. */
bool sim_arg_key(struct sim_call *call, size_t n, enum sim_type type,
                 struct sim_key **ret_key);
/* The same, and one is made if there is none.  It is noted as changed. */
bool sim_arg_key_made(struct sim_call *call, size_t n, enum sim_type type,
                      struct sim_key **ret_key);

/* A sum that overflows is an error. */
bool sim_add_integers(struct sim_call *call, int64_t one, int64_t other,
                      int64_t *ret_sum);

/* From and to, which may count from the end, as rows [first, past). */
void sim_range(int64_t start, int64_t stop, size_t count, size_t *ret_first,
               size_t *ret_past);

#endif
