/* SPDX-License-Identifier: MIT */
/* listener.h - a subscriber that is none of ours: what a program in Java hears.
 */
#ifndef TESTS_SERVER_LISTENER_H
#define TESTS_SERVER_LISTENER_H

#include <stdbool.h>
#include <stdint.h>

struct hft_server;
struct listener;

/* Subscribe to a pattern of channels; done on the server when it returns. */
struct listener *listener_new(struct hft_server *server, const char *pattern);
void listener_free(struct listener *listener);

/* The next message as "channel message", lent until the next call; NULL when
 * none came within the bound. */
const char *listener_hear(struct listener *listener, int64_t bound_ms);

#endif
