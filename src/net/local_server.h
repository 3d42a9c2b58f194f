/* SPDX-License-Identifier: MIT */
/* net/local_server.h - the private server behind local:NAME.
 *
 * It lives in the user's runtime directory (net/runtime_dir.h):
 *
 *   NAME.sock  its socket      NAME.pid  its process
 *   NAME.lock  locked while somebody starts or stops it
 *   NAME.log   what it had to say
 *
 * All of these block and may be called by any thread.  What they have in
 * common:
 *   HF_BAD_NAME     the name is not 1 to 64 letters, digits, `.`, `_`, `-`, or
 *                   the socket's path would be longer than the system allows.
 *   HF_PERMISSION   the runtime directory is not this user's alone.
 *   HF_SYSTEM, HF_NOMEM
 */
#ifndef HFI_NET_LOCAL_SERVER_H
#define HFI_NET_LOCAL_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "holdfast/status.h"

/* A Unix socket's path with its terminator is never longer than this. */
#define HFI_LOCAL_SOCKET_SIZE 108

struct hfi_local_server {
    bool running;                       /* it answers */
    int64_t pid;                        /* of the server, or 0.  Not 0, and not
                                         * running: it is there, but mute */
    char socket[HFI_LOCAL_SOCKET_SIZE]; /* where it listens, or would */
};

/* Where the server of that name listens, or would.  Makes the runtime directory
 * if there is none; starts nothing. */
hf_status hfi_local_server_socket(const char *name, char *buf, size_t size,
                                  hf_error *reterr);

/* Start it if it does not answer; returns when it does, some seconds at most.
 * However many processes and threads ask at the same moment, one is started.
 * @param ret_server  filled in on HF_OK; may be NULL.
 * @retval HF_UNREACHABLE  it could not be started; the message says why. */
hf_status hfi_local_server_start(const char *name,
                                 struct hfi_local_server *ret_server,
                                 hf_error *reterr);

/* Stop it, and wait until its process is gone, some seconds at most.  HF_OK
 * too if it did not run.
 * @retval HF_UNREACHABLE  it runs, but does not stop. */
hf_status hfi_local_server_stop(const char *name, hf_error *reterr);

/* Look whether it runs, for a second at most; starts nothing and makes nothing
 * but the directory.
 * @param ret_server  filled in on HF_OK; not NULL. */
hf_status hfi_local_server_status(const char *name,
                                  struct hfi_local_server *ret_server,
                                  hf_error *reterr);

#endif
