/* SPDX-License-Identifier: MIT */
/* fake_server.c - a server that says what the test wants it to say.
 *
 * One thread polls the door and all connections, cuts what arrives into
 * requests, asks fake_answers.c what to say, and says it.  A connection that
 * is hushed is still read, so that its client can go on sending; one that is
 * closed gets what was said before, and then an end of file.
 */
#include "support/fake_server.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/address.h"
#include "support/fake_parts.h"
#include "support/fatal.h"
#include "support/loop.h"
#include "support/tally.h"

#define FIXED_DESCRIPTORS 2 /* the loop's and the door's */

struct link {
    int fd; /* -1: closed */
    bool hushed;
    bool closing;
    struct hft_bytes arrived;
    struct hft_bytes leaving;
};

struct hft_fake {
    struct hft_loop loop;
    struct hft_address front;
    struct hft_script *script;
    struct hft_tally *requests;
    int listen_fd;
    unsigned accepted;
    struct link **links;
    size_t link_count;
    struct pollfd *polled;
};

static void free_link(struct link *link)
{
    if (link->fd >= 0) {
        shutdown(link->fd, SHUT_RDWR);
        close(link->fd);
    }
    hft_bytes_free(&link->arrived);
    hft_bytes_free(&link->leaving);
    free(link);
}

/* Say what the script wants said to a request. */
static void answer(struct hft_fake *fake, struct link *link,
                   struct hft_piece request)
{
    enum hft_manner manner = hft_script_answer(fake->script, request,
                                               &link->leaving);

    switch (manner) {
    case HFT_THEN_GO_ON:
        break;
    case HFT_THEN_HUSH:
        link->hushed = true;
        break;
    case HFT_THEN_CLOSE:
        link->hushed = true;
        link->closing = true;
        break;
    }
}

static void accept_all(struct hft_fake *fake)
{
    struct hft_piece on_connect = {HFT_ON_CONNECT, strlen(HFT_ON_CONNECT)};
    size_t count;
    struct link *link;
    int fd;

    while ((fd = hft_address_accept(fake->listen_fd)) >= 0) {
        count = ++fake->link_count;
        fake->accepted++;
        fake->links = realloc(fake->links, count * sizeof(struct link *));
        fake->polled = realloc(fake->polled, (FIXED_DESCRIPTORS + count) *
                                                 sizeof(*fake->polled));
        if (fake->links == NULL || fake->polled == NULL) {
            hft_die("out of memory");
        }
        link = hft_alloc(sizeof(*link));
        link->fd = fd;
        fake->links[count - 1] = link;
        answer(fake, link, on_connect);
    }
}

/* Answer all whole requests that have arrived. */
static void take_apart(struct hft_fake *fake, struct link *link)
{
    struct hft_piece request;
    ssize_t length;

    for (;;) {
        request.data = link->arrived.data;
        length = hft_resp_length(request.data, link->arrived.length);
        if (length <= 0) {
            return;
        }
        request.length = (size_t)length;
        hft_tally_count(&fake->requests, hft_resp_first_word(request));
        if (!link->hushed) {
            answer(fake, link, request);
        }
        hft_bytes_eat(&link->arrived, request.length);
    }
}

static void read_link(struct hft_fake *fake, struct link *link)
{
    if (hft_bytes_receive(&link->arrived, link->fd)) {
        take_apart(fake, link);
    } else {
        close(link->fd);
        link->fd = -1;
    }
}

/* Send what there is; false when the link has ended. */
static bool carry(struct link *link)
{
    if (link->fd < 0 || !hft_bytes_send(&link->leaving, link->fd)) {
        return false;
    }
    if (link->closing && link->leaving.length == 0) {
        /* Closed when the client has closed too: a close with unread
         * requests would be a reset, and could overtake what was said. */
        link->closing = false;
        shutdown(link->fd, SHUT_WR);
    }
    return true;
}

static void carry_all(struct hft_fake *fake)
{
    size_t kept = 0;
    size_t i;

    for (i = 0; i < fake->link_count; i++) {
        if (carry(fake->links[i])) {
            fake->links[kept++] = fake->links[i];
        } else {
            free_link(fake->links[i]);
        }
    }
    fake->link_count = kept;
}

static void prepare_poll(struct hft_fake *fake)
{
    struct pollfd *next = fake->polled + 1;
    size_t i;

    next->fd = fake->listen_fd;
    next->events = POLLIN;
    for (i = 0; i < fake->link_count; i++) {
        next++;
        next->fd = fake->links[i]->fd;
        next->events = POLLIN;
        if (fake->links[i]->leaving.length > 0) {
            next->events |= POLLOUT;
        }
    }
}

static void read_all(struct hft_fake *fake)
{
    size_t count = fake->link_count;
    size_t i;

    for (i = 0; i < count; i++) {
        short found = fake->polled[FIXED_DESCRIPTORS + i].revents;

        if ((found & (POLLIN | POLLHUP | POLLERR)) != 0) {
            read_link(fake, fake->links[i]);
        }
    }
    if ((fake->polled[1].revents & POLLIN) != 0) {
        accept_all(fake);
    }
}

static void *turn(void *context)
{
    struct hft_fake *fake = context;
    size_t count;

    hft_loop_lock(&fake->loop);
    while (!fake->loop.stop_wanted) {
        carry_all(fake);
        prepare_poll(fake);
        count = FIXED_DESCRIPTORS + fake->link_count;
        if (hft_loop_poll(&fake->loop, fake->polled, count, -1) > 0) {
            read_all(fake);
        }
    }
    hft_loop_unlock(&fake->loop);
    return NULL;
}

static struct hft_fake *start(struct hft_address front)
{
    struct hft_fake *fake = hft_alloc(sizeof(*fake));

    fake->front = front;
    fake->script = hft_script_new();
    fake->listen_fd = hft_address_listen(&fake->front);
    fake->polled = hft_alloc(FIXED_DESCRIPTORS * sizeof(*fake->polled));
    hft_loop_start(&fake->loop, turn, fake);
    return fake;
}

struct hft_fake *hft_fake_start(void)
{
    return start(hft_address_tcp());
}

struct hft_fake *hft_fake_start_unix(void)
{
    return start(hft_address_unix());
}

void hft_fake_stop(struct hft_fake *fake)
{
    size_t i;

    if (fake == NULL) {
        return;
    }
    hft_loop_stop(&fake->loop);
    for (i = 0; i < fake->link_count; i++) {
        free_link(fake->links[i]);
    }
    close(fake->listen_fd);
    hft_script_free(fake->script);
    hft_tally_free(fake->requests);
    hft_address_free(&fake->front);
    free(fake->links);
    free(fake->polled);
    free(fake);
}

const char *hft_fake_url(const struct hft_fake *fake)
{
    return fake->front.url;
}

int hft_fake_port(const struct hft_fake *fake)
{
    return fake->front.port.number;
}

void hft_fake_answer(struct hft_fake *fake, const struct hft_answer *how)
{
    hft_loop_lock(&fake->loop);
    hft_script_add(fake->script, how);
    hft_loop_unlock(&fake->loop);
}

void hft_fake_say(struct hft_fake *fake, const char *text, size_t length)
{
    size_t i;

    hft_loop_lock(&fake->loop);
    for (i = 0; i < fake->link_count; i++) {
        hft_bytes_append(&fake->links[i]->leaving, text, length);
    }
    hft_loop_unlock(&fake->loop);
    hft_loop_wake(&fake->loop);
}

unsigned hft_fake_requests(struct hft_fake *fake, const char *command)
{
    unsigned requests;

    hft_loop_lock(&fake->loop);
    requests = hft_tally_of(fake->requests, command);
    hft_loop_unlock(&fake->loop);
    return requests;
}

bool hft_fake_wait_requests(struct hft_fake *fake, const char *command,
                            unsigned at_least, int64_t bound_ms)
{
    struct timespec end = hft_loop_in(bound_ms);
    bool seen;

    hft_loop_lock(&fake->loop);
    while (hft_tally_of(fake->requests, command) < at_least &&
           hft_loop_wait(&fake->loop, &end)) {
    }
    seen = hft_tally_of(fake->requests, command) >= at_least;
    hft_loop_unlock(&fake->loop);
    return seen;
}

unsigned hft_fake_links(struct hft_fake *fake)
{
    unsigned links;

    hft_loop_lock(&fake->loop);
    links = fake->accepted;
    hft_loop_unlock(&fake->loop);
    return links;
}

unsigned hft_fake_open_links(struct hft_fake *fake)
{
    unsigned links;

    hft_loop_lock(&fake->loop);
    links = (unsigned)fake->link_count;
    hft_loop_unlock(&fake->loop);
    return links;
}
