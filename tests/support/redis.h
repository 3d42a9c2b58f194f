/* SPDX-License-Identifier: MIT */
/* redis.h - the tests' own view of a server, beside the library under test.
 *
 * Each server has one connection of ours: a user of its own, over the server's
 * Unix socket, so it works whatever a test does to passwords, ACLs, proxies or
 * other clients.  Any thread may use these; calls take turns.  Formats are
 * hiredis': %s text, %b bytes and a size_t, %d, %lld.
 */
#ifndef HFT_REDIS_H
#define HFT_REDIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hft_server;

#define HFT_NIL INT64_MIN /* what hft_int() makes of a nil reply */

/* Run a command.  An integer, or text that is one, is returned as such; an
 * array as its length, a plain +OK as 1.  An error reply, other text or no
 * answer within 20 s ends the test program. */
int64_t hft_int(struct hft_server *server, const char *format, ...);

/* Run a command.  Nil is NULL, an error reply its text ("WRONGTYPE ..."), an
 * array its elements with spaces between.  Lent until 16 calls later. */
const char *hft_str(struct hft_server *server, const char *format, ...);

/* Wait until the command's integer is `expected`; false if it never was. */
bool hft_wait_int(struct hft_server *server, int64_t expected, int64_t bound_ms,
                  const char *format, ...);

/* How often a command ran since the start or hft_reset_calls(), as INFO
 * commandstats tells; subcommands are named like "script|load". */
int64_t hft_calls(struct hft_server *server, const char *command);
void hft_reset_calls(struct hft_server *server);

/* Wait until it ran at least so often. */
bool hft_wait_calls(struct hft_server *server, const char *command,
                    int64_t at_least, int64_t bound_ms);

/* Channels that somebody is subscribed to, and waiting for their number. */
int64_t hft_channels(struct hft_server *server, const char *pattern);
bool hft_wait_channels(struct hft_server *server, int64_t expected,
                       int64_t bound_ms);
int64_t hft_subscribers(struct hft_server *server, const char *channel);

/* Connections of a type ("normal" or "pubsub"), ours not counted. */
int64_t hft_links(struct hft_server *server, const char *type);
bool hft_wait_links(struct hft_server *server, const char *type,
                    int64_t expected, int64_t bound_ms);

/* Break all connections of a type but ours; how many there were. */
int64_t hft_kill_links(struct hft_server *server, const char *type);

/* For server.c: the connection itself. */
struct hft_redis;
struct hft_redis *hft_redis_new(const char *socket_path);
bool hft_redis_answers(struct hft_redis *redis); /* tries PING once */
void hft_redis_drop(struct hft_redis *redis);    /* the server goes down */
void hft_redis_free(struct hft_redis *redis);

#define HFT_OWN_USER "hft-own-view"
#define HFT_OWN_PASSWORD "hft-own-password"

#endif
