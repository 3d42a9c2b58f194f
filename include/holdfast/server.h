/* SPDX-License-Identifier: MIT */
/* holdfast/server.h - the private server behind `local:NAME`.
 *
 * One machine, one user, no set-up: a redis-server (or valkey-server) on a Unix
 * socket in the user's runtime directory, with nothing on the network, started
 * once however many processes ask at the same moment.  It outlives them all.
 */
#ifndef HOLDFAST_SERVER_H
#define HOLDFAST_SERVER_H

#include <stddef.h>

#include "holdfast/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is known of a private server.  Begin with HF_SERVER_INFO_INIT. */
typedef struct hf_server_info {
    size_t size;
    int running;      /* 1: it answers */
    int64_t pid;      /* of the server, or 0 */
    char socket[256]; /* where it listens, or would */
} hf_server_info;

#define HF_SERVER_INFO_INIT                                                    \
    {                                                                          \
        sizeof(hf_server_info), 0, 0, ""                                       \
    }

/** Start it if it does not run.  Blocks until it answers, some seconds at most.
 *  Any thread.
 *  @param name     borrowed; letters, digits, `.`, `_` and `-`, 1 to 64.
 *  @param ret_info filled in when the result is HF_OK; may be NULL.
 *  @retval HF_OK          it runs.
 *  @retval HF_BAD_NAME    the name has other characters or is too long.
 *  @retval HF_PERMISSION  the runtime directory is not this user's alone.
 *  @retval HF_UNREACHABLE it could not be started; the message says why.
 *  @retval HF_SYSTEM, HF_NOMEM */
HF_API hf_status hf_server_start(const char *name, hf_server_info *ret_info,
                                 hf_error *reterr);

/** Stop it: what it held is forgotten.  Blocks until it is gone.
 *  @retval HF_OK (also if it did not run), or as hf_server_start() */
HF_API hf_status hf_server_stop(const char *name, hf_error *reterr);

/** Look whether it runs.
 *  @retval HF_OK, or as hf_server_start() */
HF_API hf_status hf_server_status(const char *name, hf_server_info *ret_info,
                                  hf_error *reterr);

#ifdef __cplusplus
}
#endif

#endif /* HOLDFAST_SERVER_H */
