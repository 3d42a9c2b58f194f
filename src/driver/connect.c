/* SPDX-License-Identifier: MIT */
/* driver/connect.c - making connections; the keeper's work alone.
 *
 * Each of a client's links is made on its own: resolve the name (on a helper
 * thread), connect without blocking, greet (redis/handshake.c), be up.  Several
 * addresses behind one name are tried in turn; when all have failed, whoever
 * will not wait is told, and the next round comes after a pause that doubles,
 * with jitter, up to two seconds.  A call that needs a link cuts it short.
 */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fail.h"
#include "base/ids.h"
#include "driver/client.h"

#define PAUSE_FIRST_MS 50
#define PAUSE_MAX_MS 2000
/* A call that needs a link has one tried at once, but not more often. */
#define PAUSE_WANTED_MS 100
/* A link that is lost is made again at once; but one that did not even live for
 * a second after a little pause, for a server (or something before it) that
 * closes what it has just greeted is not to be hammered.  No longer a pause
 * than this, for leases are running. */
#define SHORT_LIFE_MS 1000
#define SHORT_LIFE_PAUSE_MS 50

/* ---- failing ---- */

static int64_t pause_after(struct hf_client *client, unsigned failures)
{
    int64_t pause = PAUSE_MAX_MS;

    if (failures < 6) {
        pause = PAUSE_FIRST_MS << failures;
    }
    if (pause > PAUSE_MAX_MS) {
        pause = PAUSE_MAX_MS;
    }
    return pause -
           (int64_t)(hfi_random_next(&client->random) % (uint64_t)(pause / 4));
}

/* Every address was tried: tell who will not wait, and pause. */
static void round_failed(struct hfi_link *link, int64_t now)
{
    struct hf_client *client = link->client;

    link->retry_at_ms = now + pause_after(client, link->failures);
    link->failures++;
    link->address = 0;
    if (client->url.kind == HFI_URL_TCP) {
        client->address_count = 0; /* the name may mean others by then */
    }
    if (link->id == HFI_LINK_MAIN) {
        hfi_error_node(&client->open_error, client->server);
        hfi_core_link_failed(client->core, &client->open_error, now);
        pthread_cond_broadcast(&client->quiet);
    }
}

void hfi_connect_failed(struct hfi_link *link, int64_t now)
{
    hfi_link_tear_down(link, now);
    link->address++;
    if (link->address < link->client->address_count &&
        link->client->open_error.status == HF_UNREACHABLE) {
        link->retry_at_ms = now;
        return;
    }
    round_failed(link, now);
}

void hfi_connect_lost(struct hfi_link *link, int64_t now)
{
    bool soon = now - link->up_since_ms < SHORT_LIFE_MS;

    link->retry_at_ms = soon ? now + SHORT_LIFE_PAUSE_MS : now;
}

/* ---- addresses ---- */

/* The helper thread goes on; who tries again joins it. */
static void still_looking_up(struct hfi_link *link, int64_t now)
{
    struct hf_client *client = link->client;

    client->resolving = false;
    hfi_fail(&client->open_error, HF_UNREACHABLE,
             "%s: the name was not found within %lld ms", client->url.host,
             (long long)client->options.connect_limit_ms);
    round_failed(link, now);
}

/* The addresses behind the name; false: not known yet. */
static bool have_addresses(struct hfi_link *link, int64_t now)
{
    struct hf_client *client = link->client;
    hf_status status;

    if (client->address_count > 0) {
        return true;
    }
    if (!client->resolving) {
        status = hfi_resolver_start(client->resolver, client->url.host,
                                    client->url.port, &client->open_error);
        if (status != HF_OK) {
            round_failed(link, now);
            return false;
        }
        client->resolving = true;
        client->resolve_by_ms = now + client->options.connect_limit_ms;
    }
    if (!hfi_resolver_take(client->resolver, client->addresses, HFI_RESOLVE_MAX,
                           &client->address_count, &status,
                           &client->open_error)) {
        if (now >= client->resolve_by_ms) {
            still_looking_up(link, now);
        }
        return false;
    }
    client->resolving = false;
    if (status != HF_OK || client->address_count == 0) {
        client->address_count = 0;
        round_failed(link, now);
        return false;
    }
    return true;
}

/* ---- connecting and greeting ---- */

static void start(struct hfi_link *link, int64_t now)
{
    struct hf_client *client = link->client;

    link->peer = client->addresses[link->address % client->address_count];
    link->last_try_ms = now;
    if (hfi_socket_start(&link->peer, &link->fd, &client->open_error) !=
        HF_OK) {
        link->fd = -1;
        hfi_connect_failed(link, now);
        return;
    }
    hfi_link_move_to(link, HFI_LINK_CONNECTING);
    link->driver = HFI_KEEPER;
    link->connect_by_ms = now + client->options.connect_limit_ms;
}

void hfi_connect_writable(struct hfi_link *link, int64_t now)
{
    struct hf_client *client = link->client;
    int error = hfi_socket_error(link->fd);
    char name[64];

    if (error != 0) {
        hfi_fail_errno(&client->open_error, HF_UNREACHABLE, error,
                       "cannot connect to %s", link->peer.text);
        hfi_connect_failed(link, now);
        return;
    }
    snprintf(name, sizeof(name), "holdfast-%s", client->uuid);
    link->reader = hfi_reader_new();
    if (link->reader == NULL ||
        !hfi_handshake_begin(&link->handshake, &client->url, client->password,
                             name, &client->scratch, &link->out)) {
        hfi_fail(&client->open_error, HF_NOMEM, "out of memory");
        hfi_connect_failed(link, now);
        return;
    }
    link->appended = link->out.len;
    hfi_link_move_to(link, HFI_LINK_GREETING);
    link->greeted_at_ms = now;
    link->heard_ms = now;
}

static void main_link_is_up(struct hf_client *client)
{
    struct hfi_link *link = &client->links[HFI_LINK_MAIN];

    client->opened = true;
    link->driver = HFI_NOBODY;
    pthread_cond_broadcast(&client->quiet);
}

void hfi_connect_greeted(struct hfi_link *link, int64_t now)
{
    struct hf_client *client = link->client;

    hfi_link_move_to(link, HFI_LINK_UP);
    /* The greeting may have had a password in it. */
    hfi_wipe(link->sending.bytes, link->sending.len);
    link->failures = 0;
    link->heard_ms = now;
    link->up_since_ms = now;
    if (link->was_up) {
        client->reconnects++;
    }
    link->was_up = true;
    if (link->id == HFI_LINK_PUBSUB) {
        size_t before = link->out.len;

        if (!hfi_channels_link_up(client->channels, &client->scratch,
                                  &link->out)) {
            hfi_link_tear_down(link, now);
            return;
        }
        link->appended += link->out.len - before;
        return;
    }
    if (link->id == HFI_LINK_MAIN) {
        main_link_is_up(client);
    }
    /* The server's time was taken somewhere between question and answer. */
    hfi_core_link_up(
        client->core, (enum hfi_link_id)link->id,
        link->handshake.server_ms + (now - link->greeted_at_ms) / 2, now);
}

/* ---- the keeper's turn ---- */

static void too_late(struct hfi_link *link, int64_t now)
{
    struct hf_client *client = link->client;

    hfi_fail(&client->open_error, HF_UNREACHABLE,
             "%s: no answer within %lld ms", link->peer.text,
             (long long)client->options.connect_limit_ms);
    hfi_connect_failed(link, now);
}

static void step(struct hfi_link *link, int64_t now)
{
    switch (link->state) {
    case HFI_LINK_DOWN:
        if (now >= link->retry_at_ms && have_addresses(link, now)) {
            start(link, now);
        }
        return;
    case HFI_LINK_CONNECTING:
    case HFI_LINK_GREETING:
        if (now >= link->connect_by_ms) {
            too_late(link, now);
        }
        return;
    case HFI_LINK_UP:
    case HFI_LINK_STATES:
        return;
    }
}

void hfi_connect_step(struct hf_client *client, int64_t now)
{
    for (size_t i = 0; i < HFI_LINKS; i++) {
        step(&client->links[i], now);
    }
}

int64_t hfi_connect_due(const struct hf_client *client)
{
    int64_t due = INT64_MAX;

    for (size_t i = 0; i < HFI_LINKS; i++) {
        const struct hfi_link *link = &client->links[i];
        int64_t at = INT64_MAX;

        if (link->state == HFI_LINK_DOWN) {
            at = link->retry_at_ms;
            if (client->resolving && at < client->resolve_by_ms) {
                at = client->resolve_by_ms;
            }
        } else if (link->state == HFI_LINK_CONNECTING ||
                   link->state == HFI_LINK_GREETING) {
            at = link->connect_by_ms;
        }
        due = at < due ? at : due;
    }
    return due;
}

void hfi_connect_wanted(struct hf_client *client, int64_t now)
{
    struct hfi_link *link = &client->links[HFI_LINK_MAIN];

    if (link->state == HFI_LINK_DOWN && link->retry_at_ms > now) {
        int64_t soon = link->last_try_ms + PAUSE_WANTED_MS;

        link->retry_at_ms = soon > now ? soon : now;
        hfi_keeper_nudge(client);
    }
}
