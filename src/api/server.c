/* SPDX-License-Identifier: MIT */
/* The entry points for private servers.  They keep nothing: each call finds the
 * server anew, so any thread and any process may make any of them at any time,
 * with or without a client.
 */
#include "holdfast/server.h"

#include <string.h>

#include "base/fail.h"
#include "net/local_server.h"

/* A caller of a later version has a longer struct; what we do not know of it
 * stays as it was. */
static hf_status check_info(const hf_server_info *info, hf_error *reterr)
{
    if (info->size < sizeof(*info)) {
        return hfi_fail(reterr, HF_INVALID,
                        "the hf_server_info was not begun with "
                        "HF_SERVER_INFO_INIT");
    }
    return HF_OK;
}

static void fill_info(const struct hfi_local_server *server,
                      hf_server_info *ret_info)
{
    ret_info->running = server->running ? 1 : 0;
    ret_info->pid = server->pid;
    memcpy(ret_info->socket, server->socket, sizeof(server->socket));
}

hf_status hf_server_start(const char *name, hf_server_info *ret_info,
                          hf_error *reterr)
{
    struct hfi_local_server server;
    hf_status status = HF_OK;

    if (ret_info != NULL) {
        status = check_info(ret_info, reterr);
    }
    if (status == HF_OK) {
        status = hfi_local_server_start(name, &server, reterr);
    }
    if (status == HF_OK && ret_info != NULL) {
        fill_info(&server, ret_info);
    }
    return status;
}

hf_status hf_server_stop(const char *name, hf_error *reterr)
{
    return hfi_local_server_stop(name, reterr);
}

hf_status hf_server_status(const char *name, hf_server_info *ret_info,
                           hf_error *reterr)
{
    struct hfi_local_server server;
    hf_status status;

    if (ret_info == NULL) {
        return hfi_fail(reterr, HF_INVALID, "no place for the answer");
    }
    status = check_info(ret_info, reterr);
    if (status == HF_OK) {
        status = hfi_local_server_status(name, &server, reterr);
    }
    if (status == HF_OK) {
        fill_info(&server, ret_info);
    }
    return status;
}
