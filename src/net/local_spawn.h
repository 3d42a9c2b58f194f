/* SPDX-License-Identifier: MIT */
/* net/local_spawn.h - starting the process of a private server.
 */
#ifndef HFI_NET_LOCAL_SPAWN_H
#define HFI_NET_LOCAL_SPAWN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "holdfast/status.h"
#include "net/local_place.h"

/* Start redis-server, or else valkey-server, as a daemon.  Does not wait for it.
 * @param ret_child  the process that turns it into a daemon; it ends at once.
 * @retval HF_OK
 * @retval HF_UNREACHABLE  neither is installed, or it cannot be run.
 * @retval HF_NOMEM, HF_SYSTEM */
hf_status hfi_local_spawn(const struct hfi_local_place *place, pid_t *ret_child,
                          hf_error *reterr);

/* Whether that process has ended, and (true) whether it said that it failed.
 * Once it has ended *child is 0; so it is if the application has waited for it
 * first (a handler of SIGCHLD), and then it counts as not failed. */
bool hfi_local_spawn_failed(pid_t *child);

/* The last line of the server's log, printable; "" if there is none. */
void hfi_local_last_words(const struct hfi_local_place *place, char *buf,
                          size_t size);

#endif
