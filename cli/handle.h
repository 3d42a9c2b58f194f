/* SPDX-License-Identifier: MIT */
/* handle.h - what `acquire` took, continued from its handle: a lock, or several
 * as one. */
#ifndef HOLDFAST_CLI_HANDLE_H
#define HOLDFAST_CLI_HANDLE_H

#include "context.h"

#include "holdfast/multi.h"

/* All zero: nothing. */
struct cli_handle {
    const char *text;
    hf_client *clients[CLI_SERVERS_MAX];
    size_t client_count;
    hf_lock *lock;   /* NULL: it is a group */
    hf_group *group; /* NULL: it is a lock */
    hf_owner *owner;
};

/* Connect, and continue it, with a lease of `lease_ms` (0: the handle's) that is
 * not renewed.  Returns CLI_GO_ON or an exit status, having complained;
 * cli_handle_close() is due either way. */
int cli_handle_open(struct cli_handle *handle, const char *command,
                    const struct cli_context *ctx, const char *text,
                    int64_t lease_ms);

/* End it, however often it is held.  Returns CLI_OK or an exit status, having
 * complained. */
int cli_handle_release(struct cli_handle *handle);

/* Let go of it: it stays held, and the handle is as good as before.  The
 * same. */
int cli_handle_let_go(struct cli_handle *handle);

/* Close the clients and free all. */
void cli_handle_close(struct cli_handle *handle);

#endif
