/* SPDX-License-Identifier: MIT */
/* group.h - several locks that this process takes as one: several names, or one
 * name on several servers. */
#ifndef HOLDFAST_CLI_GROUP_H
#define HOLDFAST_CLI_GROUP_H

#include "context.h"
#include "lock_new.h"

#include "holdfast/multi.h"

/* What is in a group, and what it needs; all zero: nothing. */
struct cli_group {
    hf_group *group;
    hf_lock **locks;
    size_t lock_count;
    hf_client *clients[CLI_SERVERS_MAX]; /* those that could be opened */
    const char *urls[CLI_SERVERS_MAX];   /* theirs; never printed */
    size_t client_count;
};

/* Connect, and make the group: a multi lock of the names on the one server, or,
 * if `quorum`, a red lock of the one name on all of them.  Returns CLI_GO_ON or
 * an exit status, having complained; cli_group_close() is due either way. */
int cli_group_open(struct cli_group *group, const struct cli_context *ctx,
                   const struct cli_lock_kind *what, char *const *names,
                   size_t count, int quorum);

/* Close the clients, which releases what is held, and free all. */
void cli_group_close(struct cli_group *group);

/* The owner on the wire of the first member that is held; "" if none is. */
void cli_group_owner_text(const struct cli_group *group, hf_owner *owner,
                          char *buf, size_t size);

#endif
