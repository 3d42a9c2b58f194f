/* SPDX-License-Identifier: MIT */
/* proxy.h - bad days on demand, between a client and a real server.
 *
 * A proxy listens on a port or socket of its own and passes whole requests and
 * whole replies on to the server and back, each client connection (a "link")
 * on a connection of its own.  Rules say what happens to the n-th message that
 * looks in a certain way.  It runs in a thread of the test program; these
 * functions may be called from any other thread.
 *
 *     struct hft_rule lost = {.direction = HFT_REPLY, .match = "EVALSHA",
 *                             .nth = 2, .action = HFT_CUT_BEFORE};
 *     int id = hft_proxy_add(proxy, &lost);
 *     ... the client asks ...
 *     assert_true(hft_proxy_wait_hits(proxy, id, 1, 1000));
 *
 * On one link and direction the order is kept, as TCP keeps it: what is behind
 * a delayed or held message waits behind it.  Across links anything overtakes.
 *
 * HFT_PROXY_TRACE=1 in the environment shows every message on stderr.
 */
#ifndef HFT_PROXY_H
#define HFT_PROXY_H

#include <stdbool.h>
#include <stdint.h>

struct hft_proxy;
struct hft_server;

enum hft_direction { HFT_REQUEST, HFT_REPLY };

enum hft_action {
    /* Pass on, and count; other rules may still act on the message. */
    HFT_PASS,
    /* Swallow this message alone.  Of a pipelining client's stream TCP cannot
     * lose a piece in the middle; for such a client use HFT_CUT_BEFORE or
     * HFT_BLACK_HOLE, or later replies answer earlier requests. */
    HFT_DROP,
    /* Pass on `delay_ms` later. */
    HFT_DELAY,
    /* Keep until hft_proxy_release().  A held request outlives its link: when
     * the client has closed it, or it was cut, the server's side stays open
     * and the request still gets there once it is released.  So does the
     * end of the link, which waits behind it. */
    HFT_HOLD,
    /* Pass on twice.  The second reply to a repeated request is swallowed; a
     * repeated reply does reach the client twice, which only makes sense for
     * pub/sub messages. */
    HFT_REPEAT,
    /* Swallow it and cut the link: the client reads an end of file after what
     * came before, the server too. */
    HFT_CUT_BEFORE,
    /* Pass it on, then cut the link. */
    HFT_CUT_AFTER,
    /* From this message on nothing more passes in this direction on this
     * link, not even the end of the link. */
    HFT_BLACK_HOLE,
};

#define HFT_ALWAYS ((unsigned)-1)

/* Which messages, and what to do with them.  Zero and NULL mean "any", but for
 * `direction` and `action`, whose first value is meant.  Of several rules that
 * want to act on one message the one added first does; all of them count it.
 * Borrowed until hft_proxy_add() returns. */
struct hft_rule {
    enum hft_direction direction;
    unsigned link;             /* the how manieth connection, from 1 */
    const char *match;         /* the command; for a reply the one it answers,
                                  or "message" for a pub/sub message */
    const char *contains;      /* bytes in the request (for a reply, in the
                                  request it answers; or in the message) */
    const char *also_contains; /* further such bytes */
    unsigned nth;              /* from which match on, from 1; 0 is 1 */
    unsigned times;            /* for how many matches; 0 is 1; HFT_ALWAYS */
    enum hft_action action;
    int64_t delay_ms; /* of HFT_DELAY */
};

/* What becomes of new connections. */
enum hft_door {
    HFT_DOOR_OPEN,
    HFT_DOOR_SILENT, /* accepted, and never a byte; these stay silent */
    HFT_DOOR_SHUT    /* refused by the kernel */
};

/* Start one before `server`, on a port of 127.0.0.1 or on a Unix socket.  It
 * keeps the server's address, not the server, which may go down and up again.
 * Connections that come while it is down are accepted and then closed. */
struct hft_proxy *hft_proxy_start(const struct hft_server *server);
struct hft_proxy *hft_proxy_start_unix(const struct hft_server *server);

/* Stop it and close all links.  NULL: fine. */
void hft_proxy_stop(struct hft_proxy *proxy);

/* For hf_client_open() and for hiredis; lent until the stop. */
const char *hft_proxy_url(const struct hft_proxy *proxy);
int hft_proxy_port(const struct hft_proxy *proxy);           /* or 0 */
const char *hft_proxy_socket(const struct hft_proxy *proxy); /* or NULL */

/* Add a rule; returns its id (from 1). */
int hft_proxy_add(struct hft_proxy *proxy, const struct hft_rule *rule);

/* How often the rule has acted, decided when the message arrives; and waiting
 * until it has so often, false if it never did. */
unsigned hft_proxy_hits(struct hft_proxy *proxy, int id);
bool hft_proxy_wait_hits(struct hft_proxy *proxy, int id, unsigned at_least,
                         int64_t bound_ms);

/* End the rule; what it holds goes on its way.  Holding everything in both
 * directions (two HFT_HOLD rules, HFT_ALWAYS) and releasing it is a network
 * that fails for a while. */
void hft_proxy_release(struct hft_proxy *proxy, int id);

/* End all rules, release all that is held. */
void hft_proxy_release_all(struct hft_proxy *proxy);

/* Break all links at once, as a reset does; done when it returns.  Requests
 * that are held or delayed still get to the server in their time. */
void hft_proxy_cut_all(struct hft_proxy *proxy);

/* Say what becomes of new connections; true for those after the return. */
void hft_proxy_set_door(struct hft_proxy *proxy, enum hft_door door);

/* Requests that clients sent, of a command or (NULL) of all, whatever became
 * of them; connections accepted so far; and those not yet ended by both. */
unsigned hft_proxy_requests(struct hft_proxy *proxy, const char *command);
bool hft_proxy_wait_requests(struct hft_proxy *proxy, const char *command,
                             unsigned at_least, int64_t bound_ms);
unsigned hft_proxy_links(struct hft_proxy *proxy);
unsigned hft_proxy_open_links(struct hft_proxy *proxy);

#endif
