/* SPDX-License-Identifier: MIT */
/* private.h - what the tests of local:NAME stand on.
 *
 * XDG_RUNTIME_DIR is a scratch folder in each test, so that neither the user's
 * own private servers nor those of other tests are met.
 */
#ifndef TESTS_SERVER_PRIVATE_H
#define TESTS_SERVER_PRIVATE_H

#include <stdbool.h>
#include <sys/types.h>

#include "holdfast/server.h"

#define PRIVATE_NAME "test"
#define PRIVATE_BOUND_MS 10000

extern char *private_folder; /* XDG_RUNTIME_DIR */
extern char *private_path;   /* PATH before the test */

/* Set-up and tear-down of a test; the latter stops the server. */
int private_up(void **state);
int private_down(void **state);

/* How the server is now. */
hf_server_info private_look(void);

/* How many processes have the scratch folder in their title; redis-server shows
 * its socket there. */
int private_servers(void);

/* Whether the process *(int64_t *)pid has ended; for hft_wait_until().  That
 * nobody has waited for it yet does not matter: some containers' first process
 * never does. */
bool private_is_gone(void *pid);

/* Make a file in the scratch folder. */
void private_write_file(const char *name, const char *text, mode_t mode);

#endif
