/* SPDX-License-Identifier: MIT */
/* private_server.h - a server that only this benchmark sees. */
#ifndef BENCH_PRIVATE_SERVER_H
#define BENCH_PRIVATE_SERVER_H

#include <stdbool.h>
#include <sys/types.h>

struct private_server {
    pid_t pid; /* 0: none runs */
    char folder[64];
    char url[96];
};

/* Start one in a folder of its own, on a Unix socket, and wait until it
 * answers.  Says why it cannot. */
bool private_server_start(struct private_server *ret_server);

/* Stop it, by its pid, and remove its folder. */
void private_server_stop(struct private_server *server);

#endif
