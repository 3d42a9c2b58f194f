/* SPDX-License-Identifier: MIT */
/* link.c - what src/driver does with sockets, without them.
 *
 * It takes the place of link.c and connect.c there, and of what the keeper's
 * thread does in a turn.  A link is two
 * streams of messages to a model of a server: in order, each with its delay,
 * and what is on its way when the link is closed may yet arrive, much later.
 * The client's mutex is taken as in the program, so that what is to be done
 * after it is released (tasks) is done as there.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fail.h"
#include "scripts_data.h"
#include "sim/groups/world.h"
#include "support/fatal.h"

#define PAUSE_FIRST_MS 50
#define PAUSE_MAX_MS 1000
#define PAUSE_WANTED_MS 20
#define SHORT_LIFE_MS 1000
#define SHORT_LIFE_PAUSE_MS 100
#define PING_AFTER_MS 5000

/* ---- whose, and whether ---- */

/* Whose link this is. */
static struct gw_client *client_of(const struct hfi_link *link)
{
    struct gw_process *process;

    if (gw->opening != NULL) {
        return gw->opening;
    }
    for (process = gw->processes; process != NULL; process = process->next) {
        for (size_t i = 0; i < gw->options.servers; i++) {
            if (process->clients[i].client == link->client) {
                return &process->clients[i];
            }
        }
    }
    abort();
}

bool gw_is_stopped(const struct gw_process *process)
{
    return process->stopped_us > gw->now_us;
}

/* An event of a program that is stopped waits; of one that is no more it is
 * over.  Else the program acts. */
static bool may_act(struct gw_process *process, struct gw_event *event)
{
    if (!process->alive) {
        return false;
    }
    if (gw_is_stopped(process)) {
        gw_again(event, process->stopped_us + 1);
        return false;
    }
    gw->acting = process;
    return true;
}

/* ---- a link's own ---- */

void hfi_link_init(struct hf_client *client, size_t id)
{
    struct hfi_link *link = &client->links[id];

    link->client = client;
    link->id = id;
    link->fd = -1;
    link->wake.fd = -1;
    link->driver = HFI_KEEPER;
}

void hfi_link_fini(struct hfi_link *link)
{
    hfi_reader_free(link->reader);
    link->reader = NULL;
    hfi_buffer_free(&link->out);
    hfi_buffer_free(&link->sending);
    hfi_wake_close(&link->wake);
    free(link->calls);
    link->calls = NULL;
}

void hfi_link_move_to(struct hfi_link *link, enum hfi_link_state next)
{
    link->state = next;
}

bool hfi_link_owes(const struct hfi_link *link)
{
    return link->id == HFI_LINK_PUBSUB
               ? hfi_channels_owed(link->client->channels) > 0
               : link->call_count > 0;
}

int64_t hfi_link_dead_at(const struct hfi_link *link)
{
    return hfi_link_owes(link)
               ? link->heard_ms + link->client->options.response_limit_ms
               : INT64_MAX;
}

bool hfi_link_has_output(const struct hfi_link *link)
{
    return link->out.len > 0;
}

void hfi_link_nudge(struct hfi_link *link)
{
    (void)link; /* gw_after() sees to what there is to write */
}

/* ---- out ---- */

struct sink {
    struct hfi_command_sink base;
    struct hfi_command *command;
};

static void on_arg(struct hfi_command_sink *sink, const void *bytes, size_t len)
{
    hfi_command_add(((struct sink *)(void *)sink)->command, bytes, len);
}

static void on_number(struct hfi_command_sink *sink, int64_t value)
{
    hfi_command_add_number(((struct sink *)(void *)sink)->command, value);
}

static void on_piece(struct hfi_command_sink *sink, const void *bytes,
                     size_t len)
{
    hfi_command_add_piece(((struct sink *)(void *)sink)->command, bytes, len);
}

static void add_script(struct hfi_command *command, const struct hfi_copy *copy)
{
    const struct hfi_script *script = &hfi_scripts[hfi_copy_script(copy)];

    if (copy->with_text) {
        hfi_command_add_text(command, "EVAL");
        hfi_command_add(command, script->text, script->len_bytes);
    } else {
        hfi_command_add_text(command, "EVALSHA");
        hfi_command_add(command, script->sha1, 40);
    }
    hfi_command_add_number(command, (int64_t)hfi_copy_keys(copy) -
                                        (gw->options.stumbles ? 1 : 0));
}

static void push_call(struct hfi_link *link, struct hfi_copy *copy)
{
    if (link->call_count == link->call_capacity) {
        link->call_capacity = 2 * link->call_capacity + 8;
        link->calls = realloc(link->calls,
                              link->call_capacity * sizeof(*link->calls));
        if (link->calls == NULL) {
            abort();
        }
    }
    link->calls[link->call_count++] = (struct hfi_call){copy, link->appended};
}

static struct hfi_call pop_call(struct hfi_link *link)
{
    struct hfi_call first = link->calls[0];

    link->call_count--;
    memmove(&link->calls[0], &link->calls[1],
            link->call_count * sizeof(*link->calls));
    return first;
}

void hfi_link_append(struct hfi_link *link, struct hfi_copy *copy, int64_t now)
{
    struct hf_client *client = link->client;
    struct sink sink = {{on_arg, on_number, on_piece}, &client->scratch};
    size_t before = link->out.len;

    push_call(link, copy);
    hfi_command_begin(&client->scratch);
    if (!copy->native) {
        add_script(&client->scratch, copy);
    }
    hfi_copy_write(client->core, copy, &sink.base);
    if (!hfi_command_end(&client->scratch, &link->out)) {
        abort();
    }
    link->appended += link->out.len - before;
    if (link->call_count == 1) {
        link->heard_ms = now;
    }
}

/* When a message arrives that is sent now. */
static int64_t arrival(struct gw_wire *wire, int64_t *newest_us, bool *hole)
{
    const struct gw_weather *weather = &gw->weather;
    int64_t at = gw->now_us + weather->base_us + gw_below(weather->extra_us);

    if (gw_chance(weather->slow)) {
        at += gw_below(weather->slow_ms * 1000);
    }
    *hole = *hole || gw_chance(weather->hole);
    if (gw_chance(weather->reset)) {
        gw_wire_cut(wire);
    }
    if (at < *newest_us) {
        at = *newest_us;
    }
    *newest_us = at;
    return at;
}

static void arrive(struct gw_event *event);
static void on_bytes(struct gw_event *event);

static void plan_bytes(int64_t at_us, gw_event_fn *fn, struct gw_wire *wire,
                       const char *bytes, size_t len)
{
    struct gw_event *event = gw_at(at_us, fn, wire, 0);

    event->bytes = hft_alloc(len + 1);
    memcpy(event->bytes, bytes, len);
    event->len = len;
}

static void flush(struct gw_event *event)
{
    struct gw_client *own = event->who;
    size_t id = (size_t)event->arg % HFI_LINKS;
    struct gw_wire *wire = own->wires[id];
    struct hfi_link *link;
    int64_t at;

    if (!may_act(own->process, event)) {
        return;
    }
    own->flushing[id] = false;
    link = &own->client->links[id];
    if (link->state != HFI_LINK_UP || link->out.len == 0 || wire == NULL) {
        return;
    }
    at = arrival(wire, &wire->up_us, &wire->hole_up);
    if (!wire->hole_up) {
        plan_bytes(at, arrive, wire, link->out.bytes, link->out.len);
    }
    link->written += link->out.len;
    hfi_buffer_clear(&link->out);
}

/* ---- at the server ---- */

/* What a client has sent that has closed the connection since. */
static bool still_arrives(struct gw_event *event)
{
    if (event->late) {
        gw->figures.late_runs++;
        return true;
    }
    event->late = true;
    if (gw_chance(gw->weather.late)) {
        gw_again(event, gw->now_us + gw_below(gw->weather.late_ms * 1000 + 1));
        return false;
    }
    return gw_below(2) == 0;
}

static void arrive(struct gw_event *event)
{
    struct gw_wire *wire = event->who;
    struct gw_server *server = wire->server;
    struct hft_bytes out = {0};

    if (wire->conn == NULL || (wire->closed && !still_arrives(event))) {
        return;
    }
    if (server->stalled_us > gw->now_us) {
        gw_again(event, server->stalled_us);
        return;
    }
    if (!sim_server_request(wire->conn, event->bytes, event->len,
                            gw_server_ms(server), &out)) {
        gw_break("protocol", "server %zu closes a connection", server->index);
    }
    if (!wire->closed && out.length > 0) {
        int64_t at = arrival(wire, &wire->down_us, &wire->hole_down);

        if (!wire->hole_down) {
            plan_bytes(at, on_bytes, wire, out.data, out.length);
        }
    }
    hft_bytes_free(&out);
}

void gw_deliver(void *context, struct sim_conn *conn, const char *bytes,
                size_t len)
{
    struct gw_wire *wire = sim_conn_user(conn);
    int64_t at;

    (void)context;
    if (wire->closed || gw_chance(gw->weather.deaf)) {
        return;
    }
    at = arrival(wire, &wire->down_us, &wire->hole_down);
    if (!wire->hole_down) {
        plan_bytes(at, on_bytes, wire, bytes, len);
    }
}

/* ---- in ---- */

static bool on_message(struct hf_client *client, const struct hfi_value *value,
                       int64_t now)
{
    void *user;

    switch (hfi_channels_reply(client->channels, value, &user)) {
    case HFI_CHANNEL_NOTHING:
        return true;
    case HFI_CHANNEL_HEARD:
        hfi_core_subscribed(client->core, user, now);
        return true;
    case HFI_CHANNEL_REFUSED:
        hfi_core_subscribe_refused(client->core, user, now);
        return true;
    case HFI_CHANNEL_MESSAGE:
        hfi_core_message(client->core, user, now);
        return true;
    case HFI_CHANNEL_BROKEN:
        break;
    }
    return false;
}

static bool on_value(struct hfi_link *link, struct hfi_value *value,
                     int64_t now)
{
    struct hf_client *client = link->client;

    if (link->id == HFI_LINK_PUBSUB) {
        return on_message(client, value, now);
    }
    if (link->call_count == 0) {
        return false;
    }
    if (value->kind == HFI_ERROR && value->refusal == HFI_REFUSAL_OTHER) {
        gw_break("protocol", "a server says: %s", value->text);
    }
    hfi_core_answer(client->core, pop_call(link).copy, value,
                    (enum hfi_link_id)link->id, now);
    return true;
}

static void on_bytes(struct gw_event *event)
{
    struct gw_wire *wire = event->who;
    struct hf_client *client;
    struct hfi_link *link;
    struct hfi_value value;
    int64_t now;

    if (wire->closed || !may_act(wire->client->process, event)) {
        return;
    }
    client = wire->client->client;
    link = &client->links[wire->link];
    now = hfi_clock_ms();
    hfi_client_lock(client);
    link->heard_ms = now;
    if (!hfi_reader_feed(link->reader, event->bytes, event->len)) {
        gw_break("protocol", "what a server says is not understood");
    }
    while (hfi_reader_next(link->reader, &value) == HFI_READ_VALUE) {
        if (!on_value(link, &value, now)) {
            gw_break("protocol", "an answer answers nothing");
        }
        hfi_value_clear(&value);
    }
    hfi_settle(client, now);
    hfi_client_unlock(client);
    gw_after(wire->client->process);
}

/* ---- the end ---- */

static void forget_subscription(void *user, void *context)
{
    hfi_core_unsubscribed(context, user);
}

static void give_back(struct hfi_link *link, int64_t now)
{
    while (link->call_count > 0) {
        struct hfi_call call = pop_call(link);

        hfi_core_copy_gone(link->client->core, call.copy,
                           call.start < link->written, now);
    }
}

void hfi_link_tear_down(struct hfi_link *link, int64_t now)
{
    struct hf_client *client = link->client;
    struct gw_client *own;
    bool was_up = link->state == HFI_LINK_UP;

    if (link->state == HFI_LINK_DOWN || gw->opening != NULL) {
        return;
    }
    own = client_of(link);
    if (own->wires[link->id] != NULL) {
        own->wires[link->id]->closed = true;
        own->wires[link->id] = NULL;
    }
    own->tries[link->id]++;
    hfi_reader_free(link->reader);
    link->reader = NULL;
    hfi_link_move_to(link, HFI_LINK_DOWN);
    if (link->id == HFI_LINK_PUBSUB) {
        hfi_channels_link_down(client->channels, forget_subscription,
                               client->core);
    } else {
        if (was_up) {
            hfi_core_link_down(client->core, (enum hfi_link_id)link->id);
        }
        give_back(link, now);
    }
    hfi_buffer_clear(&link->out);
    link->appended = 0;
    link->written = 0;
    if (was_up) {
        link->retry_at_ms = now - link->up_since_ms < SHORT_LIFE_MS
                                ? now + SHORT_LIFE_PAUSE_MS
                                : now;
    }
}

static void end_of_file(struct gw_event *event)
{
    struct gw_wire *wire = event->who;
    struct hf_client *client;

    if (wire->closed || !may_act(wire->client->process, event)) {
        return;
    }
    client = wire->client->client;
    hfi_client_lock(client);
    hfi_link_tear_down(&client->links[wire->link], hfi_clock_ms());
    hfi_settle(client, hfi_clock_ms());
    hfi_client_unlock(client);
    gw_after(wire->client->process);
}

void gw_wire_cut(struct gw_wire *wire)
{
    (void)gw_at(gw->now_us + gw->weather.base_us, end_of_file, wire, 0);
}

/* ---- connecting ---- */

void hfi_connect_failed(struct hfi_link *link, int64_t now)
{
    struct hf_client *client = link->client;
    int64_t pause = link->failures < 6 ? PAUSE_FIRST_MS << link->failures
                                       : PAUSE_MAX_MS;

    hfi_link_tear_down(link, now);
    pause = pause > PAUSE_MAX_MS ? PAUSE_MAX_MS : pause;
    link->retry_at_ms = now + pause - gw_below(pause / 4);
    link->failures++;
    if (link->id == HFI_LINK_MAIN) {
        hfi_core_link_failed(client->core, &client->open_error, now);
    }
}

static void link_is_up(struct hfi_link *link, int64_t server_ms, int64_t now)
{
    struct hf_client *client = link->client;

    hfi_link_move_to(link, HFI_LINK_UP);
    link->failures = 0;
    link->heard_ms = now;
    link->up_since_ms = now;
    link->reader = hfi_reader_new();
    if (link->id == HFI_LINK_PUBSUB) {
        size_t before = link->out.len;

        (void)hfi_channels_link_up(client->channels, &client->scratch,
                                   &link->out);
        link->appended += link->out.len - before;
        return;
    }
    hfi_core_link_up(client->core, (enum hfi_link_id)link->id, server_ms, now);
}

static struct gw_wire *open_wire(struct gw_client *own, size_t id)
{
    struct gw_wire *wire = hft_alloc(sizeof(*wire));

    wire->client = own;
    wire->server = own->server;
    wire->link = id;
    wire->conn = sim_conn_open(own->server->model, wire);
    wire->next = gw->wires;
    gw->wires = wire;
    own->wires[id] = wire;
    return wire;
}

static void connected(struct gw_event *event)
{
    struct gw_client *own = event->who;
    size_t id = (size_t)event->arg % HFI_LINKS;
    struct hf_client *client;
    struct hfi_link *link;
    int64_t now;

    if (!may_act(own->process, event) ||
        own->tries[id] != (uint64_t)event->arg / HFI_LINKS) {
        return;
    }
    client = own->client;
    link = &client->links[id];
    now = hfi_clock_ms();
    if (own->server->stalled_us > gw->now_us) {
        gw_again(event, own->server->stalled_us);
        return;
    }
    hfi_client_lock(client);
    if (!own->server->up) {
        hfi_fail(&client->open_error, HF_UNREACHABLE, "connection refused");
        hfi_connect_failed(link, now);
    } else {
        (void)open_wire(own, id);
        hfi_link_move_to(link, HFI_LINK_GREETING);
        link_is_up(link, gw_server_ms(own->server), now);
    }
    hfi_settle(client, now);
    hfi_client_unlock(client);
    gw_after(own->process);
}

static void step_link(struct gw_client *own, struct hfi_link *link, int64_t now)
{
    if (link->state == HFI_LINK_DOWN && now >= link->retry_at_ms) {
        hfi_link_move_to(link, HFI_LINK_CONNECTING);
        link->last_try_ms = now;
        link->connect_by_ms = now + link->client->options.connect_limit_ms;
        own->tries[link->id]++;
        (void)gw_at(gw->now_us + 4 * gw->weather.base_us, connected, own,
                    (int64_t)(own->tries[link->id] * HFI_LINKS + link->id));
    } else if (link->state == HFI_LINK_CONNECTING &&
               now >= link->connect_by_ms) {
        hfi_fail(&link->client->open_error, HF_UNREACHABLE, "no answer");
        hfi_connect_failed(link, now);
    }
}

void hfi_connect_step(struct hf_client *client, int64_t now)
{
    struct gw_client *own = client_of(&client->links[0]);

    for (size_t i = 0; i < HFI_LINKS; i++) {
        step_link(own, &client->links[i], now);
    }
}

int64_t hfi_connect_due(const struct hf_client *client)
{
    int64_t due = INT64_MAX;

    for (size_t i = 0; i < HFI_LINKS; i++) {
        const struct hfi_link *link = &client->links[i];
        int64_t at = link->state == HFI_LINK_DOWN         ? link->retry_at_ms
                     : link->state == HFI_LINK_CONNECTING ? link->connect_by_ms
                                                          : INT64_MAX;

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
    }
}

/* ---- the keeper ---- */

/* As keeper_turn(); see there for a link that is silent. */
static void bury_dead_links(struct hf_client *client, int64_t now)
{
    struct hfi_link *news = &client->links[HFI_LINK_PUBSUB];

    for (size_t i = 0; i < HFI_LINKS; i++) {
        struct hfi_link *link = &client->links[i];
        int64_t dead_at = hfi_link_dead_at(link);

        if (link->state == HFI_LINK_UP && now >= dead_at) {
            if (now - dead_at < client->options.response_limit_ms / 2) {
                hfi_link_tear_down(link, now);
            }
            link->heard_ms = now;
        }
    }
    if (news->state == HFI_LINK_UP && !hfi_link_owes(news) &&
        hfi_channels_wanted(client->channels) > 0 &&
        now - news->heard_ms >= PING_AFTER_MS) {
        news->heard_ms = now;
        (void)hfi_channels_ping(client->channels, &client->scratch, &news->out);
    }
}

static void tick(struct gw_event *event)
{
    struct gw_client *own = event->who;
    struct hf_client *client;
    int64_t now;

    if (own->ticks != (uint64_t)event->arg || !may_act(own->process, event)) {
        return;
    }
    client = own->client;
    own->tick_us = GW_NEVER;
    now = hfi_clock_ms();
    hfi_client_lock(client);
    hfi_core_tick(client->core, now);
    hfi_client_fire_cancels(client, now);
    hfi_timers_fire(client, now);
    bury_dead_links(client, now);
    hfi_connect_step(client, now);
    hfi_settle(client, now);
    hfi_client_unlock(client);
    gw_after(own->process);
}

static void dispatch(struct gw_event *event)
{
    struct gw_client *own = event->who;

    if (!may_act(own->process, event)) {
        return;
    }
    own->dispatching = false;
    (void)hf_client_dispatch(own->client);
    gw_after(own->process);
}

static void plan_tick(struct gw_client *own)
{
    int64_t now = gw_process_ms(own->process);
    int64_t due = hfi_keeper_due(own->client, now);
    int64_t at;

    if (atomic_load(&own->client->cancel_fired)) {
        due = now;
    }
    if (due == INT64_MAX) {
        return;
    }
    at = due <= now ? gw->now_us + 20 : gw_shows_us(own->process, due);
    if (at < own->tick_us) {
        own->tick_us = at;
        (void)gw_at(at, tick, own, (int64_t)++own->ticks);
    }
}

static void see_after(struct gw_client *own)
{
    struct hf_client *client = own->client;

    for (size_t id = 0; id < HFI_LINKS; id++) {
        const struct hfi_link *link = &client->links[id];

        if (link->state == HFI_LINK_UP && link->out.len > 0 &&
            !own->flushing[id]) {
            own->flushing[id] = true;
            (void)gw_at(gw->now_us + 3 + gw_below(30), flush, own, (int64_t)id);
        }
    }
    if (!own->dispatching && (client->callbacks.ended != NULL ||
                              client->callbacks.notices != NULL)) {
        own->dispatching = true;
        (void)gw_at(gw->now_us + 3 + gw_below(60), dispatch, own, 0);
    }
    plan_tick(own);
}

void gw_after(struct gw_process *process)
{
    for (size_t i = 0; i < gw->options.servers && process->alive; i++) {
        see_after(&process->clients[i]);
    }
}
