/* SPDX-License-Identifier: MIT */
/* fake_server.h - a server that says what the test wants it to say.
 *
 * For what no real server can be brought to: garbage, half a reply, a reply of
 * the wrong type, -LOADING to one command alone, or nothing at all.  It
 * answers a handshake like a real one (AUTH, CLIENT, ECHO, PING, QUIT,
 * SCRIPT LOAD, SELECT, SUBSCRIBE, TIME, UNSUBSCRIBE) and anything else with
 * "-ERR unknown command", unless the test has said otherwise.  It runs in a
 * thread; the functions may be called from any other.
 *
 *     struct hft_answer full = {.command = "EVALSHA",
 *                               .text = "-OOM command not allowed\r\n"};
 *     hft_fake_answer(fake, &full);
 */
#ifndef HFT_FAKE_SERVER_H
#define HFT_FAKE_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hft_fake;

/* What follows the bytes. */
enum hft_manner {
    HFT_THEN_GO_ON,
    HFT_THEN_HUSH, /* never a byte again on this connection */
    HFT_THEN_CLOSE
};

/* As a command: what is sent to a new connection before it has said a word. */
#define HFT_ON_CONNECT "(connect)"

/* An answer.  The one added last that matches is given, and that request is
 * not counted by those added before it.  Borrowed until
 * hft_fake_answer() returns. */
struct hft_answer {
    const char *command; /* "TIME", or "SCRIPT LOAD"; NULL: any */
    const char *text;    /* to send as it is; NULL: nothing */
    size_t length;       /* 0: strlen(text) */
    unsigned nth;        /* from which such request on, from 1; 0 is 1 */
    unsigned times;      /* for how many; 0: for all */
    enum hft_manner manner;
};

struct hft_fake *hft_fake_start(void); /* on a port of 127.0.0.1 */
struct hft_fake *hft_fake_start_unix(void);
void hft_fake_stop(struct hft_fake *fake); /* NULL: fine */

const char *hft_fake_url(const struct hft_fake *fake);
int hft_fake_port(const struct hft_fake *fake);

void hft_fake_answer(struct hft_fake *fake, const struct hft_answer *how);

/* Send bytes to all connections now, asked or not. */
void hft_fake_say(struct hft_fake *fake, const char *text, size_t length);

/* Requests that came: of a command or (NULL) of all; waiting for them; and
 * connections that came, and those still open. */
unsigned hft_fake_requests(struct hft_fake *fake, const char *command);
bool hft_fake_wait_requests(struct hft_fake *fake, const char *command,
                            unsigned at_least, int64_t bound_ms);
unsigned hft_fake_links(struct hft_fake *fake);
unsigned hft_fake_open_links(struct hft_fake *fake);

#endif
