/* SPDX-License-Identifier: MIT */
/* server.h - a private redis-server for one test.
 *
 * It runs in a folder of its own, answers on a Unix socket there and, if asked
 * for, on a TCP port of 127.0.0.1, and dies with the test program.  Call these
 * on the main thread: the kernel ends a server when the thread that started
 * it ends.  Whatever the harness cannot do ends the test program (hft_die).
 */
#ifndef HFT_SERVER_H
#define HFT_SERVER_H

#include <stdbool.h>
#include <sys/types.h>

struct hft_redis;
struct hft_server;

/* All zero: Unix socket only, no password, no persistence.  DEBUG is always
 * allowed.  Lists end with NULL; lines are those of redis.conf. */
struct hft_server_options {
    bool tcp;
    const char *password;      /* of the user "default"; NULL: none */
    const char *const *acl;    /* {"user app on >secret ~* &* +@all", NULL} */
    const char *const *config; /* {"appendonly yes", NULL} */
};

/* What a restart does to the data. */
enum hft_data { HFT_KEEP_DATA, HFT_LOSE_DATA };

/* Start one and wait until it answers.  `options` is borrowed, may be NULL. */
struct hft_server *hft_server_start(const struct hft_server_options *options);

/* Kill it and delete its folder.  NULL: fine. */
void hft_server_free(struct hft_server *server);

/* End it and wait for its end: nicely (SIGTERM) or with SIGKILL. */
void hft_server_stop(struct hft_server *server);
void hft_server_kill(struct hft_server *server);

/* Start it again on the same port and socket, with what is on the disk. */
void hft_server_start_again(struct hft_server *server);

/* Kill and start again.  To keep the data of a server without an AOF, it is
 * told to SAVE first. */
void hft_server_restart(struct hft_server *server, enum hft_data data);

/* SIGSTOP and SIGCONT.  While it is stopped, our own view hangs too. */
void hft_server_pause(struct hft_server *server);
void hft_server_resume(struct hft_server *server);

/* Lent until the server is freed. */
const char *hft_server_url(const struct hft_server *server); /* TCP if any */
const char *hft_server_unix_url(const struct hft_server *server);
const char *hft_server_socket(const struct hft_server *server);
const char *hft_server_folder(const struct hft_server *server);
int hft_server_port(const struct hft_server *server);  /* 0: no TCP */
pid_t hft_server_pid(const struct hft_server *server); /* 0: it is down */

/* For redis.c. */
struct hft_redis *hft_server_own_view(struct hft_server *server);

#endif
