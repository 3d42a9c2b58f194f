/* SPDX-License-Identifier: MIT */
/* proxy.c - the fault proxy's thread, its door, and its public functions.
 *
 * One thread turns: carry messages over all links, poll, accept and read.  It
 * holds the mutex except while it polls.  Other threads change rules under the
 * mutex themselves; what touches descriptors (the door, cutting, stopping) they
 * ask for and wait until a turn has done it, so a descriptor is never closed
 * under the poll.  Every turn ends with a broadcast, for those who wait.
 */
#include "support/proxy.h"

#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "support/address.h"
#include "support/fatal.h"
#include "support/loop.h"
#include "support/proxy_parts.h"
#include "support/scratch.h"
#include "support/server.h"
#include "support/wait.h"

#define FIXED_DESCRIPTORS 2 /* the wake-up's and the door's */

struct hft_proxy {
    struct hft_loop loop;
    struct hft_address front;
    char *server_socket;
    struct hft_rules *rules;
    struct hft_link **links;
    size_t link_count;
    unsigned accepted;
    int listen_fd; /* -1: the door is shut */
    enum hft_door door;
    enum hft_door wanted_door;
    bool cut_wanted;
    struct pollfd *polled;
};

static void add_link(struct hft_proxy *proxy, struct hft_link *link)
{
    size_t count = proxy->link_count + 1;

    proxy->links = realloc(proxy->links, count * sizeof(struct hft_link *));
    proxy->polled = realloc(proxy->polled, (FIXED_DESCRIPTORS + 2 * count) *
                                               sizeof(*proxy->polled));
    if (proxy->links == NULL || proxy->polled == NULL) {
        hft_die("out of memory");
    }
    proxy->links[proxy->link_count++] = link;
}

static void let_in(struct hft_proxy *proxy, int client_fd)
{
    int server_fd = -1;

    proxy->accepted++;
    if (proxy->door == HFT_DOOR_OPEN) {
        server_fd = hft_connect_unix(proxy->server_socket);
        if (server_fd < 0) {
            close(client_fd); /* the server is down */
            return;
        }
    }
    add_link(proxy, hft_link_new(proxy->accepted, client_fd, server_fd));
}

static void accept_all(struct hft_proxy *proxy)
{
    int client_fd;

    while (proxy->listen_fd >= 0 &&
           (client_fd = hft_address_accept(proxy->listen_fd)) >= 0) {
        let_in(proxy, client_fd);
    }
}

static void change_door(struct hft_proxy *proxy)
{
    /* Those who have knocked before are still treated as then. */
    accept_all(proxy);
    if (proxy->wanted_door == HFT_DOOR_SHUT && proxy->listen_fd >= 0) {
        close(proxy->listen_fd);
        proxy->listen_fd = -1;
    }
    if (proxy->wanted_door != HFT_DOOR_SHUT && proxy->listen_fd < 0) {
        proxy->listen_fd = hft_address_listen(&proxy->front);
    }
    proxy->door = proxy->wanted_door;
}

/* What other threads have asked for. */
static void obey(struct hft_proxy *proxy)
{
    size_t i;

    if (proxy->door != proxy->wanted_door) {
        change_door(proxy);
    }
    for (i = 0; proxy->cut_wanted && i < proxy->link_count; i++) {
        hft_link_break(proxy->links[i]);
    }
    proxy->cut_wanted = false;
}

static void carry_all(struct hft_proxy *proxy)
{
    int64_t now_ms = hft_now_ms();
    size_t kept = 0;
    size_t i;

    for (i = 0; i < proxy->link_count; i++) {
        if (hft_link_carry(proxy->links[i], now_ms)) {
            proxy->links[kept++] = proxy->links[i];
        } else {
            hft_link_free(proxy->links[i]);
        }
    }
    proxy->link_count = kept;
}

static struct pollfd watch(int fd, bool for_writing)
{
    struct pollfd polled = {.fd = fd, .events = POLLIN};

    if (for_writing) {
        polled.events |= POLLOUT;
    }
    return polled;
}

/* Fill in what to poll; returns for how long. */
static int prepare_poll(struct hft_proxy *proxy)
{
    struct pollfd *next = proxy->polled;
    int64_t due_ms = INT64_MAX;
    int64_t left_ms;
    size_t i;

    next++; /* the loop's own */
    *next++ = watch(proxy->listen_fd, false);
    for (i = 0; i < proxy->link_count; i++) {
        const struct hft_link *link = proxy->links[i];
        int64_t link_due_ms = hft_link_due_ms(link);

        *next++ = watch(hft_link_client_fd(link),
                        hft_link_has_for_client(link));
        *next++ = watch(hft_link_server_fd(link),
                        hft_link_has_for_server(link));
        due_ms = link_due_ms < due_ms ? link_due_ms : due_ms;
    }
    if (due_ms == INT64_MAX) {
        return -1;
    }
    left_ms = due_ms - hft_now_ms();
    return left_ms < 0 ? 0 : left_ms > 1000 ? 1000 : (int)left_ms;
}

/* Read what the poll has found; links come in the order they were polled in,
 * and new ones are added behind them. */
static void read_all(struct hft_proxy *proxy)
{
    const short readable = POLLIN | POLLHUP | POLLERR;
    size_t count = proxy->link_count;
    size_t i;

    for (i = 0; i < count; i++) {
        const struct pollfd *pair = &proxy->polled[FIXED_DESCRIPTORS + 2 * i];
        bool from_server = (pair[1].revents & readable) != 0;

        if ((pair[0].revents & readable) != 0) {
            hft_link_read_client(proxy->links[i], proxy->rules);
        }
        if (from_server) {
            hft_link_read_server(proxy->links[i], proxy->rules);
        }
    }
    if ((proxy->polled[1].revents & POLLIN) != 0) {
        accept_all(proxy);
    }
}

static void *turn(void *context)
{
    struct hft_proxy *proxy = context;
    size_t count;
    int timeout_ms;

    hft_loop_lock(&proxy->loop);
    while (!proxy->loop.stop_wanted) {
        obey(proxy);
        carry_all(proxy);
        timeout_ms = prepare_poll(proxy);
        count = FIXED_DESCRIPTORS + 2 * proxy->link_count;
        if (hft_loop_poll(&proxy->loop, proxy->polled, count, timeout_ms) > 0) {
            read_all(proxy);
        }
    }
    hft_loop_unlock(&proxy->loop);
    return NULL;
}

static struct hft_proxy *start(const struct hft_server *server,
                               struct hft_address front)
{
    struct hft_proxy *proxy = hft_alloc(sizeof(*proxy));

    proxy->front = front;
    proxy->server_socket = hft_copy_text(hft_server_socket(server));
    proxy->rules = hft_rules_new();
    proxy->listen_fd = hft_address_listen(&proxy->front);
    proxy->polled = hft_alloc(FIXED_DESCRIPTORS * sizeof(*proxy->polled));
    hft_loop_start(&proxy->loop, turn, proxy);
    return proxy;
}

struct hft_proxy *hft_proxy_start(const struct hft_server *server)
{
    return start(server, hft_address_tcp());
}

struct hft_proxy *hft_proxy_start_unix(const struct hft_server *server)
{
    return start(server, hft_address_unix());
}

void hft_proxy_stop(struct hft_proxy *proxy)
{
    size_t i;

    if (proxy == NULL) {
        return;
    }
    hft_loop_stop(&proxy->loop);
    for (i = 0; i < proxy->link_count; i++) {
        hft_link_free(proxy->links[i]);
    }
    if (proxy->listen_fd >= 0) {
        close(proxy->listen_fd);
    }
    hft_rules_free(proxy->rules);
    hft_address_free(&proxy->front);
    free(proxy->server_socket);
    free(proxy->links);
    free(proxy->polled);
    free(proxy);
}

const char *hft_proxy_url(const struct hft_proxy *proxy)
{
    return proxy->front.url;
}

int hft_proxy_port(const struct hft_proxy *proxy)
{
    return proxy->front.port.number;
}

const char *hft_proxy_socket(const struct hft_proxy *proxy)
{
    return proxy->front.path;
}

int hft_proxy_add(struct hft_proxy *proxy, const struct hft_rule *rule)
{
    int id;

    hft_loop_lock(&proxy->loop);
    id = hft_rules_add(proxy->rules, rule);
    hft_loop_unlock(&proxy->loop);
    return id;
}

unsigned hft_proxy_hits(struct hft_proxy *proxy, int id)
{
    unsigned hits;

    hft_loop_lock(&proxy->loop);
    hits = hft_rules_hits(proxy->rules, id);
    hft_loop_unlock(&proxy->loop);
    return hits;
}

bool hft_proxy_wait_hits(struct hft_proxy *proxy, int id, unsigned at_least,
                         int64_t bound_ms)
{
    struct timespec end = hft_loop_in(bound_ms);
    bool hit;

    hft_loop_lock(&proxy->loop);
    while (hft_rules_hits(proxy->rules, id) < at_least &&
           hft_loop_wait(&proxy->loop, &end)) {
    }
    hit = hft_rules_hits(proxy->rules, id) >= at_least;
    hft_loop_unlock(&proxy->loop);
    return hit;
}

bool hft_proxy_wait_requests(struct hft_proxy *proxy, const char *command,
                             unsigned at_least, int64_t bound_ms)
{
    struct timespec end = hft_loop_in(bound_ms);
    bool seen;

    hft_loop_lock(&proxy->loop);
    while (hft_rules_requests(proxy->rules, command) < at_least &&
           hft_loop_wait(&proxy->loop, &end)) {
    }
    seen = hft_rules_requests(proxy->rules, command) >= at_least;
    hft_loop_unlock(&proxy->loop);
    return seen;
}

void hft_proxy_release(struct hft_proxy *proxy, int id)
{
    size_t i;

    hft_loop_lock(&proxy->loop);
    hft_rules_end(proxy->rules, id);
    for (i = 0; i < proxy->link_count; i++) {
        hft_link_release(proxy->links[i], id);
    }
    hft_loop_unlock(&proxy->loop);
    hft_loop_wake(&proxy->loop);
}

void hft_proxy_release_all(struct hft_proxy *proxy)
{
    hft_proxy_release(proxy, 0);
}

void hft_proxy_cut_all(struct hft_proxy *proxy)
{
    hft_loop_lock(&proxy->loop);
    proxy->cut_wanted = true;
    hft_loop_wake(&proxy->loop);
    while (proxy->cut_wanted) {
        pthread_cond_wait(&proxy->loop.turned, &proxy->loop.mutex);
    }
    hft_loop_unlock(&proxy->loop);
}

void hft_proxy_set_door(struct hft_proxy *proxy, enum hft_door door)
{
    hft_loop_lock(&proxy->loop);
    proxy->wanted_door = door;
    hft_loop_wake(&proxy->loop);
    while (proxy->door != proxy->wanted_door) {
        pthread_cond_wait(&proxy->loop.turned, &proxy->loop.mutex);
    }
    hft_loop_unlock(&proxy->loop);
}

unsigned hft_proxy_requests(struct hft_proxy *proxy, const char *command)
{
    unsigned requests;

    hft_loop_lock(&proxy->loop);
    requests = hft_rules_requests(proxy->rules, command);
    hft_loop_unlock(&proxy->loop);
    return requests;
}

unsigned hft_proxy_links(struct hft_proxy *proxy)
{
    unsigned links;

    hft_loop_lock(&proxy->loop);
    links = proxy->accepted;
    hft_loop_unlock(&proxy->loop);
    return links;
}

unsigned hft_proxy_open_links(struct hft_proxy *proxy)
{
    unsigned links;

    hft_loop_lock(&proxy->loop);
    links = (unsigned)proxy->link_count;
    hft_loop_unlock(&proxy->loop);
    return links;
}
