/* SPDX-License-Identifier: MIT */
/* listener.c - a subscriber that is none of ours, on hiredis; see listener.h.
 *
 * The connection has a read time limit of its own for each call.  A limit that
 * passes breaks a hiredis context for good, so we poll the descriptor first
 * and read only what is there.
 */
#include "listener.h"

#include <hiredis/hiredis.h>
#include <poll.h>
#include <stdlib.h>

#include "support/fatal.h"
#include "support/redis.h"
#include "support/server.h"
#include "support/wait.h"

struct listener {
    redisContext *link;
    char *heard;
};

struct listener *listener_new(struct hft_server *server, const char *pattern)
{
    struct listener *listener = hft_alloc(sizeof(*listener));

    listener->link = redisConnectUnix(hft_server_socket(server));
    if (listener->link == NULL || listener->link->err != 0) {
        hft_die("a listener found no server");
    }
    freeReplyObject(redisCommand(listener->link, "AUTH %s %s", HFT_OWN_USER,
                                 HFT_OWN_PASSWORD));
    freeReplyObject(redisCommand(listener->link, "PSUBSCRIBE %s", pattern));
    if (listener->link->err != 0) {
        hft_die("a listener could not subscribe");
    }
    return listener;
}

void listener_free(struct listener *listener)
{
    redisFree(listener->link);
    free(listener->heard);
    free(listener);
}

/* What the reader has a whole of already, or what comes within the bound. */
static redisReply *next_reply(struct listener *listener, int64_t bound_ms)
{
    struct pollfd readable = {listener->link->fd, POLLIN, 0};
    int64_t end_ms = hft_now_ms() + bound_ms;
    void *reply = NULL;

    for (;;) {
        if (redisGetReplyFromReader(listener->link, &reply) != REDIS_OK) {
            hft_die("a listener heard nonsense");
        }
        if (reply != NULL) {
            return reply;
        }
        if (hft_now_ms() > end_ms) {
            return NULL;
        }
        if (poll(&readable, 1, (int)(end_ms - hft_now_ms() + 1)) > 0 &&
            redisBufferRead(listener->link) != REDIS_OK) {
            hft_die("a listener lost its server");
        }
    }
}

/* "pmessage", pattern, channel, message. */
const char *listener_hear(struct listener *listener, int64_t bound_ms)
{
    redisReply *reply = next_reply(listener, bound_ms);

    if (reply == NULL) {
        return NULL;
    }
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 4) {
        hft_die("a listener heard no message");
    }
    free(listener->heard);
    listener->heard = hft_format("%s %s", reply->element[2]->str,
                                 reply->element[3]->str);
    freeReplyObject(reply);
    return listener->heard;
}
