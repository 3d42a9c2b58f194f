/* SPDX-License-Identifier: MIT */
/* client.c - a client process: what src/driver does with the core, without
 * threads, sockets and clocks.
 *
 * Whatever happens to it ends in sim_client_settle(), which carries out the
 * core's effects as src/driver/effects.c does and sets the alarm for the
 * keeper's next turn.  A stopped process does nothing; what arrives waits for
 * it.  A killed one is gone at once, but what it had written is not.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ids.h"
#include "sim/world.h"

#define CLOSE_MS 1000
#define LATE_US 1500
#define DAY_US INT64_C(86400000000)

/* ---- clocks ---- */

int64_t sim_client_ms(const struct sim_client *client)
{
    int64_t us = client->world->now_us;

    return (client->clock_base_us + us + us * client->rate_ppm / 1000000) /
           1000;
}

int64_t sim_client_shows_us(const struct sim_client *client, int64_t ms)
{
    int64_t us;

    if (ms > INT64_MAX / 2000) {
        return SIM_NEVER;
    }
    us = (ms * 1000 - client->clock_base_us);
    us -= us * client->rate_ppm / (1000000 + client->rate_ppm);
    while ((client->clock_base_us + us + us * client->rate_ppm / 1000000) /
               1000 <
           ms) {
        us++;
    }
    return us;
}

bool sim_client_paused(const struct sim_client *client)
{
    return client->paused_us > client->world->now_us;
}

/* ---- effects ---- */

static void send_copies(struct sim_client *client)
{
    struct hfi_copy *copy;

    while ((copy = hfi_core_next_copy(client->core)) != NULL) {
        struct sim_link *link = &client->links[copy->link];

        if (link->phase != SIM_LINK_UP) {
            hfi_core_copy_gone(client->core, copy, false,
                               sim_client_ms(client));
            continue;
        }
        sim_link_append(link, copy);
    }
}

static void change_subscription(struct sim_client *client,
                                struct hfi_listener *listener)
{
    struct sim_link *link = &client->links[SIM_PUBSUB];
    struct hfi_buffer *out = link->phase == SIM_LINK_UP ? &link->out : NULL;
    size_t before = link->out.len;
    char channel[128];
    size_t len = hfi_listener_channel(client->core, listener, channel,
                                      sizeof(channel));

    if (hfi_channels_owed(client->channels) == 0) {
        link->heard_ms = sim_client_ms(client);
    }
    if (!hfi_listener_wants(listener)) {
        hfi_channels_drop(client->channels, channel, len, &client->scratch,
                          out);
    } else if (!hfi_channels_want(client->channels, channel, len, listener,
                                  &client->scratch, out)) {
        hfi_core_subscribe_refused(client->core, listener,
                                   sim_client_ms(client));
    }
    link->appended += link->out.len - before;
}

static void carry_out(struct sim_client *client)
{
    struct hfi_listener *listener;
    struct hfi_terms *terms;
    struct hfi_op *op;

    send_copies(client);
    while ((listener = hfi_core_next_subscription(client->core)) != NULL) {
        change_subscription(client, listener);
        hfi_core_subscription_done(client->core, listener);
    }
    send_copies(client);
    while ((terms = hfi_core_next_notice(client->core)) != NULL) {
        sim_notice(client, terms);
    }
    while ((op = hfi_op_next_done(client->core)) != NULL) {
        sim_call_ended(client, op);
    }
    sim_free_ended(client);
}

/* ---- the keeper ---- */

static void wake(struct sim_world *world, void *who, int64_t arg)
{
    struct sim_client *client = who;

    (void)world;
    if (client->alive && client->wake_us == arg) {
        client->wake_us = SIM_NEVER;
        sim_client_wake(client);
    }
}

static void set_alarm(struct sim_client *client)
{
    int64_t due = hfi_core_next_due_ms(client->core);
    int64_t at;

    for (size_t i = 0; i < SIM_LINKS; i++) {
        int64_t link = sim_link_due_ms(&client->links[i]);

        due = link < due ? link : due;
    }
    if (client->closing && client->close_by_ms < due) {
        due = client->close_by_ms;
    }
    if (client->closing && hfi_core_ended(client->core)) {
        due = sim_client_ms(client);
    }
    at = sim_client_shows_us(client, due);
    if (at < client->world->now_us) {
        at = client->world->now_us;
    }
    if (at == SIM_NEVER) {
        return;
    }
    /* A thread that is due does not run at once. */
    at += (int64_t)sim_below(client->world, LATE_US);
    if (at < client->wake_us) {
        client->wake_us = at;
        sim_at(client->world, at, wake, client, at);
    }
}

void sim_client_settle(struct sim_client *client)
{
    if (!client->alive) {
        return;
    }
    carry_out(client);
    for (size_t i = 0; i < SIM_LINKS; i++) {
        sim_link_flush_later(&client->links[i]);
    }
    set_alarm(client);
}

/* All is undone, or closing has taken long enough. */
static bool closes_now(const struct sim_client *client)
{
    return client->closing && (hfi_core_ended(client->core) ||
                               sim_client_ms(client) >= client->close_by_ms);
}

void sim_client_wake(struct sim_client *client)
{
    struct sim_world *world = client->world;

    if (sim_client_paused(client)) {
        client->wake_us = client->paused_us;
        sim_at(world, client->paused_us, wake, client, client->paused_us);
        return;
    }
    hfi_core_tick(client->core, sim_client_ms(client));
    for (size_t i = 0; i < SIM_LINKS; i++) {
        sim_link_step(&client->links[i]);
    }
    if (closes_now(client)) {
        carry_out(client);
        sim_client_kill(client);
        return;
    }
    sim_client_settle(client);
}

/* ---- its life ---- */

/* The first word of the UUID is the client's index: so a field says whose. */
static void make_uuid(struct sim_client *client)
{
    snprintf(client->uuid, sizeof(client->uuid), "%08zx-0000-4000-8000-%012llx",
             client->index,
             (unsigned long long)sim_below(client->world,
                                           UINT64_C(0x1000000000000)));
}

static void configure(struct sim_client *client)
{
    struct sim_world *world = client->world;
    struct hfi_core_config *config = &client->config;

    memcpy(config->uuid, client->uuid, sizeof(config->uuid));
    config->seed = hft_random_next(&world->random);
    client->random = config->seed ^ 1;
    config->response_limit_ms = sim_between(world, 2, 15) * 100;
    config->connect_limit_ms = sim_between(world, 2, 10) * 100;
    config->retry_bound_ms = sim_between(world, 5, 20) * 100;
    config->local_reentry = sim_below(world, 5) == 0;
    config->foreign_watchdog_ms = world->watchdog_ms;
}

static struct sim_client *begin(struct sim_world *world,
                                const struct hfi_core_config *limits)
{
    struct sim_client *client = sim_alloc(sizeof(*client));
    struct sim_client **clients = realloc(
        world->clients, (world->client_count + 1) * sizeof(void *));
    int64_t drift = world->options.drift_ppm;

    if (clients == NULL) {
        abort();
    }
    world->clients = clients;
    client->world = world;
    client->index = world->client_count;
    clients[world->client_count++] = client;
    client->alive = true;
    client->clock_base_us = sim_between(world, DAY_US, 100 * DAY_US);
    client->rate_ppm = sim_between(world, -drift, drift);
    client->wake_us = SIM_NEVER;
    client->calm_us = world->now_us;
    client->hearing_us = world->now_us;
    make_uuid(client);
    configure(client);
    if (limits != NULL) {
        client->config.response_limit_ms = limits->response_limit_ms;
        client->config.connect_limit_ms = limits->connect_limit_ms;
        client->config.retry_bound_ms = limits->retry_bound_ms;
        client->config.local_reentry = false;
    }
    client->core = hfi_core_new(&client->config);
    client->channels = hfi_channels_new();
    for (size_t i = 0; i < SIM_LINKS; i++) {
        sim_link_init(client, i);
    }
    SIM_SAY(world,
            "C%zu    begins; its clock runs by %lld ppm off, response limit "
            "%lld ms",
            client->index, (long long)client->rate_ppm,
            (long long)client->config.response_limit_ms);
    sim_client_wake(client);
    return client;
}

struct sim_client *sim_client_new(struct sim_world *world)
{
    return begin(world, NULL);
}

struct sim_client *sim_client_ready_with(struct sim_world *world,
                                         int64_t response_ms, int64_t retry_ms)
{
    struct hfi_core_config limits = {.response_limit_ms = response_ms,
                                     .connect_limit_ms = 500,
                                     .retry_bound_ms = retry_ms};
    struct sim_client *client = begin(world, &limits);

    (void)sim_pass_ms(world, 20);
    return client;
}

/* Without a word to anybody: only its memory is given back. */
static void discard_core(struct sim_client *client)
{
    struct hfi_core *core = client->core;
    struct hfi_copy *copy;
    struct hfi_listener *listener;
    struct hfi_terms *terms;
    struct hfi_op *op;
    int64_t now = sim_client_ms(client);
    bool more = true;

    hfi_core_link_down(core, HFI_LINK_MAIN);
    hfi_core_link_down(core, HFI_LINK_KEEPER);
    hfi_core_close(core, now);
    for (size_t i = 0; i < SIM_LINKS; i++) {
        sim_link_give_back(&client->links[i]);
    }
    while (more) {
        more = false;
        while ((copy = hfi_core_next_copy(core)) != NULL) {
            hfi_core_copy_gone(core, copy, false, now);
            more = true;
        }
        while ((listener = hfi_core_next_subscription(core)) != NULL) {
            hfi_core_subscription_done(core, listener);
            more = true;
        }
        while ((terms = hfi_core_next_notice(core)) != NULL) {
            hfi_terms_unref(terms);
            more = true;
        }
        while ((op = hfi_op_next_done(core)) != NULL) {
            sim_call_ended(client, op);
            more = true;
        }
        sim_free_ended(client);
    }
    for (size_t i = 0; i < client->owner_count; i++) {
        hfi_owner_unref(core, client->owners[i]->owner);
        client->owners[i]->owner = NULL;
    }
    hfi_core_free(core);
    client->core = NULL;
}

void sim_client_kill(struct sim_client *client)
{
    if (!client->alive) {
        return;
    }
    SIM_SAY(client->world, "C%zu    is gone", client->index);
    client->alive = false;
    for (size_t i = 0; i < SIM_LINKS; i++) {
        struct sim_link *link = &client->links[i];

        link->tries++;
        if (link->wire != NULL) {
            sim_wire_close(link->wire);
            link->wire = NULL;
        }
        hfi_reader_free(link->reader);
        link->reader = NULL;
    }
    discard_core(client);
    hfi_channels_free(client->channels);
    client->channels = NULL;
}

void sim_client_free(struct sim_client *client)
{
    sim_client_kill(client);
    for (size_t i = 0; i < SIM_LINKS; i++) {
        hfi_buffer_free(&client->links[i].out);
        free(client->links[i].calls);
    }
    for (size_t i = 0; i < client->owner_count; i++) {
        free(client->owners[i]);
    }
    free(client->owners);
    hfi_command_free(&client->scratch);
    sim_book_free(client);
    free(client);
}

void sim_client_pause(struct sim_client *client, int64_t ms)
{
    struct sim_world *world = client->world;

    SIM_SAY(world, "C%zu    is stopped for %lld ms", client->index,
            (long long)ms);
    client->paused_us = world->now_us + ms * 1000;
    client->resumed_us = client->paused_us;
    client->tick_first = sim_below(world, 2) == 0;
}

void sim_client_close(struct sim_client *client)
{
    if (!client->alive || client->closing) {
        return;
    }
    SIM_SAY(client->world, "C%zu    closes", client->index);
    client->closing = true;
    client->close_by_ms = sim_client_ms(client) + CLOSE_MS;
    hfi_core_close(client->core, sim_client_ms(client));
    sim_client_settle(client);
    client->wake_us = SIM_NEVER; /* its keeper hears of it at once */
    sim_at(client->world, client->world->now_us, wake, client,
           client->world->now_us);
    client->wake_us = client->world->now_us;
}

bool sim_client_ready(const struct sim_client *client)
{
    return client->alive && client->links[HFI_LINK_MAIN].phase == SIM_LINK_UP;
}

/* Nothing is wrong with it now, as far as its world knows. */
bool sim_client_calm(const struct sim_client *client)
{
    const struct sim_world *world = client->world;

    if (!client->alive || sim_client_paused(client) || !world->server_up ||
        world->server_paused_us > world->now_us) {
        return false;
    }
    for (size_t i = 0; i < SIM_LINKS; i++) {
        const struct sim_link *link = &client->links[i];

        if (link->phase != SIM_LINK_UP ||
            link->wire->slow_us >= world->now_us || link->wire->up.hole ||
            link->wire->down.hole || link->wire->conn == NULL) {
            return false;
        }
    }
    return true;
}
