/* SPDX-License-Identifier: MIT */
/* context.h - what every command is told: the options that stand before the
 * command's name (and may stand behind it), once the environment was asked.
 */
#ifndef HOLDFAST_CLI_CONTEXT_H
#define HOLDFAST_CLI_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "holdfast/client.h"

/* Most servers that a command can be given. */
#define CLI_SERVERS_MAX 15

struct cli_context {
    /* The server.  Settled, it is never NULL; it may contain a password, so it
     * is never printed. */
    const char *url;
    const char *password;      /* beside the URL's, or NULL; never printed */
    const char *password_file; /* what --password-file said, or NULL */
    int64_t timeout_ms;        /* to connect, and to answer; 0: the library's */
    int servers;               /* how many --server were given */
    const char *urls[CLI_SERVERS_MAX]; /* these; as secret as `url` */
    int url_is_default;                /* 1: nobody named a server */
    int json;                          /* 1: print for programs */
    int verbose;                       /* 1: say on stderr what is done */
    int help;                          /* 1: --help was given */
    int version;                       /* 1: --version was given */
};

/* Find out the server and the password: options first, then HOLDFAST_URL and
 * HOLDFAST_PASSWORD, then `local:default`.  A context that is settled already
 * is left alone.  Returns CLI_GO_ON or an exit status, having complained. */
int cli_context_settle(struct cli_context *ctx);

/* Say why one of several servers, by its place among them, cannot be opened.
 * Returns the status; CLI_USAGE if there can be no such server.  The URL is not
 * shown: where it is malformed, nobody knows what of it is the password. */
int cli_server_complain(int index, const hf_error *err);

/* Open a client on the context's server; on stderr, say that a server that
 * nobody named is this machine's own.  Returns CLI_GO_ON or an exit status,
 * having complained.  Close with hf_client_close(). */
int cli_context_open(const struct cli_context *ctx, hf_client **ret_client);

/* The same without a word.  `limit_ms` 0: the context's own time limits. */
hf_status cli_context_connect(const struct cli_context *ctx, int64_t limit_ms,
                              hf_client **ret_client, hf_error *reterr);

/* The URL without its password, for the child's environment.  NULL: no memory;
 * free() it. */
char *cli_url_without_password(const char *url);

#endif
