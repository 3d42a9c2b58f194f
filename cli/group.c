/* SPDX-License-Identifier: MIT */
/* group.c - several locks that this process takes as one.
 *
 * Of the servers of a red lock some may be down: those that cannot be opened are
 * said on stderr and counted as members that grant nothing.  Fewer than a quorum
 * is the end of it, and so is a URL that is none: no server will ever be there.
 */
#include "group.h"

#include "complain.h"
#include "exit_status.h"

#include <stdlib.h>
#include <string.h>

static int open_servers(struct cli_group *group, const struct cli_context *ctx)
{
    struct cli_context one = *ctx;
    int result = CLI_UNAVAILABLE;
    hf_error err;

    for (int i = 0; i < ctx->servers; i++) {
        hf_client **client = &group->clients[group->client_count];

        one.url = ctx->urls[i];
        if (cli_context_connect(&one, 0, client, &err) != HF_OK) {
            result = cli_server_complain(i, &err);
            if (result == CLI_USAGE) {
                return result;
            }
        } else {
            group->urls[group->client_count] = one.url;
            group->client_count++;
        }
    }
    if (group->client_count < (size_t)ctx->servers / 2 + 1) {
        cli_complain("%zu of %d servers can be reached, which is no quorum",
                     group->client_count, ctx->servers);
        return result;
    }
    return CLI_GO_ON;
}

static hf_status make_locks(struct cli_group *group,
                            const struct cli_lock_kind *what,
                            char *const *names, size_t count, hf_error *reterr)
{
    hf_status status = HF_OK;
    size_t all = count * group->client_count;

    group->locks = all == 0 ? NULL : calloc(all, sizeof(hf_lock *));
    if (group->locks == NULL) {
        reterr->status = HF_NOMEM;
        return HF_NOMEM;
    }
    for (size_t i = 0; i < all && status == HF_OK; i++) {
        status = cli_lock_new(group->clients[i / count], what, names[i % count],
                              &group->locks[i], reterr);
        group->lock_count += status == HF_OK;
    }
    return status;
}

int cli_group_open(struct cli_group *group, const struct cli_context *ctx,
                   const struct cli_lock_kind *what, char *const *names,
                   size_t count, int quorum)
{
    hf_red_options red = HF_RED_INIT;
    hf_error err = {.status = HF_INTERNAL, .message = "out of memory"};
    hf_status status;
    int result;

    if (quorum) {
        result = open_servers(group, ctx);
        red.absent = (size_t)ctx->servers - group->client_count;
    } else {
        result = cli_context_open(ctx, &group->clients[0]);
        group->urls[0] = ctx->url;
        group->client_count = result == CLI_GO_ON ? 1 : 0;
    }
    if (result != CLI_GO_ON) {
        return result;
    }
    status = make_locks(group, what, names, count, &err);
    if (status == HF_OK && quorum) {
        status = hf_red_lock_new(group->locks, group->lock_count, &red,
                                 &group->group, &err);
    } else if (status == HF_OK) {
        status = hf_multi_lock_new(group->locks, group->lock_count,
                                   &group->group, &err);
    }
    return status == HF_OK ? CLI_GO_ON : cli_complain_error(&err);
}

void cli_group_close(struct cli_group *group)
{
    for (size_t i = 0; i < group->client_count; i++) {
        hf_client_close(group->clients[i]);
    }
    hf_group_free(group->group);
    for (size_t i = 0; i < group->lock_count; i++) {
        hf_lock_free(group->locks[i]);
    }
    free(group->locks);
    memset(group, 0, sizeof(*group));
}

void cli_group_owner_text(const struct cli_group *group, hf_owner *owner,
                          char *buf, size_t size)
{
    buf[0] = '\0';
    for (size_t i = 0; i < hf_group_count(group->group); i++) {
        if (hf_group_owner_text(group->group, owner, i, buf, size) == HF_OK) {
            return;
        }
    }
}
