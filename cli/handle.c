/* SPDX-License-Identifier: MIT */
/* handle.c - what `acquire` took, continued from its handle.
 *
 * A group of several servers goes on if one of them cannot be reached, as long as
 * the others are a quorum: the library says whether they are.
 */
#include "handle.h"

#include "complain.h"
#include "exit_status.h"

#include <string.h>

/* Those that can be reached. */
static int open_servers(struct cli_handle *handle,
                        const struct cli_context *ctx)
{
    struct cli_context one = *ctx;
    int result = CLI_UNAVAILABLE;
    hf_error err;

    if (ctx->servers < 2) {
        result = cli_context_open(ctx, &handle->clients[0]);
        handle->client_count = result == CLI_GO_ON ? 1 : 0;
        return result;
    }
    for (int i = 0; i < ctx->servers; i++) {
        one.url = ctx->urls[i];
        if (cli_context_connect(&one, 0, &handle->clients[handle->client_count],
                                &err) != HF_OK) {
            result = cli_server_complain(i, &err);
            if (result == CLI_USAGE) {
                return result;
            }
        } else {
            handle->client_count++;
        }
    }
    return handle->client_count > 0 ? CLI_GO_ON : result;
}

int cli_handle_open(struct cli_handle *handle, const char *command,
                    const struct cli_context *ctx, const char *text,
                    int64_t lease_ms)
{
    hf_acquire how = HF_ACQUIRE_INIT;
    hf_error err;
    hf_status status;

    memset(handle, 0, sizeof(*handle));
    handle->text = text;
    if (ctx->servers > 1 && !hf_handle_is_of_group(text)) {
        cli_complain("%s: several --server are for a handle of several locks; "
                     "give one",
                     command);
        return CLI_USAGE;
    }
    int result = open_servers(handle, ctx);
    if (result != CLI_GO_ON) {
        return result;
    }
    how.lease_ms = lease_ms;
    how.renew = 0;
    status = hf_handle_is_of_group(text)
                 ? hf_group_import(handle->clients, handle->client_count, text,
                                   &how, &handle->group, &handle->owner, &err)
                 : hf_lock_import(handle->clients[0], text, &how, &handle->lock,
                                  &handle->owner, &err);
    return status == HF_OK ? CLI_GO_ON : cli_complain_error(&err);
}

static int64_t times_held(const struct cli_handle *handle)
{
    return handle->group != NULL
               ? hf_group_hold_count(handle->group, handle->owner)
               : hf_lock_hold_count(handle->lock, handle->owner);
}

int cli_handle_release(struct cli_handle *handle)
{
    hf_error err;
    hf_status status;

    do {
        status = handle->group != NULL
                     ? hf_group_release(handle->group, handle->owner, NULL,
                                        &err)
                     : hf_lock_release(handle->lock, handle->owner, &err);
    } while (status == HF_OK && times_held(handle) > 0);
    return status == HF_OK ? CLI_OK : cli_complain_error(&err);
}

int cli_handle_let_go(struct cli_handle *handle)
{
    hf_error err;
    char *exported;
    hf_status status = handle->group != NULL
                           ? hf_group_export(handle->group, handle->owner,
                                             &exported, &err)
                           : hf_lock_export(handle->lock, handle->owner,
                                            &exported, &err);

    if (status != HF_OK) {
        return cli_complain_error(&err);
    }
    hf_handle_free(exported);
    return CLI_OK;
}

void cli_handle_close(struct cli_handle *handle)
{
    for (size_t i = 0; i < handle->client_count; i++) {
        hf_client_close(handle->clients[i]);
    }
    hf_group_free(handle->group);
    hf_lock_free(handle->lock);
    hf_owner_free(handle->owner);
    memset(handle, 0, sizeof(*handle));
}
