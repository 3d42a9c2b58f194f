/* SPDX-License-Identifier: MIT */
/* proxy_fixture.h - a server, a proxy before it, and plain hiredis clients.
 *
 * For the tests of the proxy itself.  The functions that start with `expect`
 * assert, so they are for the main thread.
 */
#ifndef HFT_PROXY_FIXTURE_H
#define HFT_PROXY_FIXTURE_H

#include <stdbool.h>
#include <stdint.h>

#include <hiredis/hiredis.h>

#include "support/proxy.h"
#include "support/server.h"

#define SOON_MS 5000 /* a bound on what happens at once */
#define NEVER_MS 100 /* how long we look at what must not happen */

extern struct hft_server *server; /* of the test program */
extern struct hft_proxy *proxy;   /* of the test */

/* For cmocka: the server for all tests, and a new proxy for each. */
int start_all(void **state);
int stop_all(void **state);
int start_one(void **state);
int stop_one(void **state);

#define PROXY_TEST(name)                                                       \
    cmocka_unit_test_setup_teardown(name, start_one, stop_one)

/* A client that waits for SOON_MS at most; free with redisFree(). */
redisContext *connect_client(void);

/* Send a command without waiting for its reply, and read one reply (free with
 * freeReplyObject(); NULL: there is none). */
void send_only(redisContext *client, const char *command);
redisReply *read_reply(redisContext *client);

void expect_int(redisContext *client, long long expected);

/* A pub/sub reply of a kind; its payload too, if not NULL. */
void expect_push(redisContext *client, const char *kind, const char *payload);

/* No reply within NEVER_MS; and the end of the connection. */
void expect_nothing(redisContext *client);
void expect_end(redisContext *client);

/* Wait until the key has this number. */
bool counts(const char *key, int64_t expected);

/* Add a rule for the first such message. */
int act(enum hft_direction direction, const char *match,
        enum hft_action action);

#endif
