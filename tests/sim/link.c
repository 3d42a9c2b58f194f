/* SPDX-License-Identifier: MIT */
/* link.c - one link of a simulated client: src/driver/link.c and connect.c
 * without sockets and threads.
 *
 * What is appended is written a little later (another thread drives, or the
 * process is stopped in between), perhaps in pieces.  What arrives is parsed by
 * the real reader and handed to the real core.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "base/fail.h"
#include "base/ids.h"
#include "scripts_data.h"
#include "sim/world.h"
#include "sync/state.h"

#define PAUSE_FIRST_MS 50
#define PAUSE_MAX_MS 2000
#define PAUSE_WANTED_MS 100
#define SHORT_LIFE_MS 1000
#define SHORT_LIFE_PAUSE_MS 50
#define PING_AFTER_MS 5000

static void connected(struct sim_world *world, void *who, int64_t arg);
static void flush(struct sim_world *world, void *who, int64_t arg);

void sim_link_init(struct sim_client *client, size_t id)
{
    struct sim_link *link = &client->links[id];

    memset(link, 0, sizeof(*link));
    link->client = client;
    link->id = id;
    link->retry_at_ms = INT64_MIN;
}

/* ---- calls in flight ---- */

static void push_call(struct sim_link *link, struct sim_in_flight call)
{
    if (link->call_first + link->call_count == link->call_capacity) {
        if (link->call_first > link->call_count) {
            memmove(link->calls, link->calls + link->call_first,
                    link->call_count * sizeof(call));
        } else {
            size_t capacity = 2 * link->call_capacity + 16;
            struct sim_in_flight *calls = sim_alloc(capacity * sizeof(call));

            if (link->call_count > 0) {
                memcpy(calls, link->calls + link->call_first,
                       link->call_count * sizeof(call));
            }
            free(link->calls);
            link->calls = calls;
            link->call_capacity = capacity;
        }
        link->call_first = 0;
    }
    link->calls[link->call_first + link->call_count++] = call;
}

static struct sim_in_flight pop_call(struct sim_link *link)
{
    link->call_count--;
    return link->calls[link->call_first++];
}

static bool owes(const struct sim_link *link)
{
    if (link->phase != SIM_LINK_UP) {
        return false;
    }
    return link->id == SIM_PUBSUB
               ? hfi_channels_owed(link->client->channels) > 0
               : link->call_count > 0;
}

/* ---- out ---- */

struct sink {
    struct hfi_command_sink base;
    struct hfi_command *command;
};

static void sink_arg(struct hfi_command_sink *base, const void *bytes,
                     size_t len)
{
    hfi_command_add(((struct sink *)base)->command, bytes, len);
}

static void sink_number(struct hfi_command_sink *base, int64_t value)
{
    hfi_command_add_number(((struct sink *)base)->command, value);
}

static void sink_piece(struct hfi_command_sink *base, const void *bytes,
                       size_t len)
{
    hfi_command_add_piece(((struct sink *)base)->command, bytes, len);
}

/* A script's text with a mistake in it, if the world has one for it. */
static bool add_mutant(struct hfi_command *command,
                       const struct sim_mutant *mutant,
                       const struct hfi_script *script)
{
    const char *text = mutant == NULL
                           ? NULL
                           : sim_patched(script, mutant->patches, SIM_PATCHES);

    if (text == NULL) {
        return false;
    }
    hfi_command_add(command, "EVAL", 4);
    hfi_command_add(command, text, strlen(text));
    return true;
}

static bool format(struct sim_link *link, const struct hfi_copy *copy)
{
    struct sim_client *client = link->client;
    struct hfi_command *command = &client->scratch;
    const struct hfi_script *script = copy->native
                                          ? NULL
                                          : &hfi_scripts[hfi_copy_script(copy)];
    struct sink sink = {{sink_arg, sink_number, sink_piece}, command};

    hfi_command_begin(command);
    if (copy->native) {
        hfi_copy_write(client->core, copy, &sink.base);
        return hfi_command_end(command, &link->out);
    }
    if (add_mutant(command, client->world->options.mutant, script)) {
        /* it has the text */
    } else if (copy->with_text) {
        hfi_command_add(command, "EVAL", 4);
        hfi_command_add(command, script->text, script->len_bytes);
    } else {
        hfi_command_add(command, "EVALSHA", 7);
        hfi_command_add(command, script->sha1, 40);
    }
    hfi_command_add_number(command, (int64_t)hfi_copy_keys(copy));
    hfi_copy_write(client->core, copy, &sink.base);
    return hfi_command_end(command, &link->out);
}

static void append(struct sim_link *link, struct hfi_copy *copy)
{
    size_t before = link->out.len;
    struct sim_in_flight call = {copy, link->appended, 0};

    if (!format(link, copy)) {
        DL_APPEND(link->refused, copy);
        sim_at(link->client->world, link->client->world->now_us, flush, link,
               (int64_t)link->tries);
        return;
    }
    link->appended += link->out.len - before;
    call.keep = sim_oracle_sending(link, copy);
    push_call(link, call);
    if (link->call_count == 1) {
        link->heard_ms = sim_client_ms(link->client);
    }
}

static void append_joining(struct sim_link *link)
{
    struct hfi_copy *joined = NULL;
    struct hfi_copy *copy;

    if (link->joining_count > 1) {
        joined = hfi_copy_join(link->client->core, link->joining);
    }
    if (joined != NULL) {
        link->joining = NULL;
        append(link, joined);
    }
    while ((copy = link->joining) != NULL) {
        DL_DELETE(link->joining, copy);
        append(link, copy);
    }
    link->joining_count = 0;
}

/* Who did what to a lock could not be told, if two of one script were about
 * it. */
static bool is_about_another(const struct sim_link *link,
                             const struct hfi_copy *copy)
{
    const struct hfi_copy *other;

    DL_FOREACH (link->joining, other) {
        if (other->number->name == copy->number->name) {
            return false;
        }
    }
    return true;
}

/* Planted mistakes are in the scripts of single requests. */
void sim_link_append(struct sim_link *link, struct hfi_copy *copy)
{
    if (link->client->world->options.mutant == NULL && hfi_copy_joins(copy) &&
        is_about_another(link, copy)) {
        DL_APPEND(link->joining, copy);
        if (++link->joining_count == HFI_JOIN_MAX) {
            append_joining(link);
        }
    } else {
        append(link, copy);
    }
    sim_link_flush_later(link);
}

void sim_link_flush_later(struct sim_link *link)
{
    struct sim_world *world = link->client->world;
    int64_t delay = sim_between(world, 3, 40);

    if (link->flushing || link->wire == NULL ||
        (link->out.len == 0 && link->joining == NULL)) {
        return;
    }
    if (sim_below(world, 400) == 0) {
        delay = sim_between(world, 1000, 60000); /* the driver is busy */
    }
    link->flushing = true;
    sim_at(world, world->now_us + delay, flush, link, (int64_t)link->tries);
}

static void flush(struct sim_world *world, void *who, int64_t arg)
{
    struct sim_link *link = who;
    size_t len;

    if (link->tries != (uint64_t)arg || !link->client->alive) {
        return;
    }
    if (sim_client_paused(link->client)) {
        sim_at(world, link->client->paused_us + 2, flush, link, arg);
        return;
    }
    append_joining(link);
    if (link->refused != NULL) {
        sim_link_end_of_file(link);
        return;
    }
    link->flushing = false;
    len = link->out.len;
    if (len == 0 || link->wire == NULL) {
        return;
    }
    if (sim_below(world, 200) == 0) {
        len = 1 + (size_t)sim_below(world, len); /* the socket was full */
    }
    link->written += len;
    sim_wire_write(link->wire, link->out.bytes, len);
    hfi_buffer_consume(&link->out, len);
    sim_link_flush_later(link);
}

/* ---- in ---- */

static bool on_message(struct sim_link *link, const struct hfi_value *value,
                       int64_t now)
{
    struct sim_client *client = link->client;
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
        SIM_SAY(client->world, "C%zu    hears a message", client->index);
        hfi_core_message(client->core, user, now);
        return true;
    case HFI_CHANNEL_BROKEN:
        break;
    }
    return false;
}

/* A script that stumbles, or a command that is none. */
static bool is_nonsense(const struct hfi_value *value)
{
    for (size_t i = 0; value->kind == HFI_ARRAY && i < value->count; i++) {
        if (is_nonsense(&value->items[i])) {
            return true;
        }
    }
    return value->kind == HFI_ERROR && value->refusal == HFI_REFUSAL_OTHER;
}

static bool on_reply(struct sim_link *link, struct hfi_value *value,
                     int64_t now)
{
    struct sim_client *client = link->client;
    struct sim_answered answered;
    struct sim_in_flight call;

    if (link->call_count == 0) {
        return false;
    }
    call = pop_call(link);
    if (is_nonsense(value)) {
        sim_break(client->world, "protocol", "C%zu is told an error: %s",
                  client->index,
                  value->kind == HFI_ERROR ? value->text : "in a list");
    }
    sim_oracle_answer(client, call.copy, value, call.keep, &answered);
    hfi_core_answer(client->core, call.copy, value, (enum hfi_link_id)link->id,
                    now);
    sim_oracle_answered(client, &answered);
    return true;
}

static void link_is_up(struct sim_link *link, int64_t now)
{
    struct sim_client *client = link->client;

    link->phase = SIM_LINK_UP;
    link->failures = 0;
    link->heard_ms = now;
    link->up_since_ms = now;
    SIM_SAY(client->world, "C%zu    link %zu is up", client->index, link->id);
    if (link->id == SIM_PUBSUB) {
        size_t before = link->out.len;

        (void)hfi_channels_link_up(client->channels, &client->scratch,
                                   &link->out);
        link->appended += link->out.len - before;
        return;
    }
    hfi_core_link_up(
        client->core, (enum hfi_link_id)link->id,
        link->handshake.server_ms + (now - link->greeted_at_ms) / 2, now);
}

static bool on_greeting(struct sim_link *link, const struct hfi_value *value,
                        int64_t now)
{
    if (hfi_handshake_done(&link->handshake) ||
        hfi_handshake_answer(&link->handshake, value,
                             &link->client->open_error) != HF_OK) {
        return false;
    }
    if (hfi_handshake_done(&link->handshake)) {
        link_is_up(link, now);
    }
    return true;
}

static bool on_value(struct sim_link *link, struct hfi_value *value,
                     int64_t now)
{
    if (link->phase == SIM_LINK_GREETING) {
        return on_greeting(link, value, now);
    }
    if (link->id == SIM_PUBSUB) {
        return on_message(link, value, now);
    }
    return on_reply(link, value, now);
}

void sim_link_read(struct sim_link *link, const char *bytes, size_t len)
{
    struct sim_client *client = link->client;
    int64_t now = sim_client_ms(client);
    struct hfi_value value;
    bool understood = hfi_reader_feed(link->reader, bytes, len);

    link->heard_ms = now;
    while (understood &&
           hfi_reader_next(link->reader, &value) == HFI_READ_VALUE) {
        understood = on_value(link, &value, now);
        hfi_value_clear(&value);
    }
    if (!understood) {
        sim_break(client->world, "protocol",
                  "C%zu does not understand its server", client->index);
    }
    sim_client_settle(client);
}

/* ---- the end ---- */

static void forget_subscription(void *user, void *context)
{
    hfi_core_unsubscribed(context, user);
}

void sim_link_give_back(struct sim_link *link)
{
    struct hfi_core *core = link->client->core;
    int64_t now = sim_client_ms(link->client);
    struct hfi_copy *copy;

    for (size_t left = link->call_count; left > 0; left--) {
        struct sim_in_flight call = pop_call(link);

        sim_oracle_gone(link->client, call.copy);
        hfi_core_copy_gone(core, call.copy, call.start < link->written, now);
    }
    DL_CONCAT(link->refused, link->joining);
    link->joining = NULL;
    link->joining_count = 0;
    while ((copy = link->refused) != NULL) {
        DL_DELETE(link->refused, copy);
        hfi_core_copy_gone(core, copy, false, now);
    }
}

void sim_link_down(struct sim_link *link)
{
    struct sim_client *client = link->client;
    int64_t now = sim_client_ms(client);
    bool was_up = link->phase == SIM_LINK_UP;

    SIM_SAY(client->world, "C%zu    link %zu is down", client->index, link->id);
    if (link->wire != NULL) {
        sim_wire_close(link->wire);
        link->wire = NULL;
    }
    hfi_reader_free(link->reader);
    link->reader = NULL;
    link->phase = SIM_LINK_DOWN;
    link->tries++;
    link->flushing = false;
    if (link->id == SIM_PUBSUB) {
        hfi_channels_link_down(client->channels, forget_subscription,
                               client->core);
    } else {
        if (was_up) {
            hfi_core_link_down(client->core, (enum hfi_link_id)link->id);
        }
        sim_link_give_back(link);
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

static int64_t pause_after(struct sim_client *client, unsigned failures)
{
    int64_t pause = failures < 6 ? PAUSE_FIRST_MS << failures : PAUSE_MAX_MS;

    pause = pause > PAUSE_MAX_MS ? PAUSE_MAX_MS : pause;
    return pause -
           (int64_t)(hfi_random_next(&client->random) % (uint64_t)(pause / 4));
}

void sim_link_failed(struct sim_link *link)
{
    struct sim_client *client = link->client;
    int64_t now = sim_client_ms(client);

    sim_link_down(link);
    link->retry_at_ms = now + pause_after(client, link->failures);
    link->failures++;
    if (link->id == HFI_LINK_MAIN) {
        hfi_core_link_failed(client->core, &client->open_error, now);
    }
}

void sim_link_end_of_file(struct sim_link *link)
{
    if (link->phase == SIM_LINK_DOWN) {
        if (link->refused != NULL) {
            sim_link_give_back(link);
            sim_client_settle(link->client);
        }
        return;
    }
    if (link->phase == SIM_LINK_UP) {
        sim_link_down(link);
    } else {
        hfi_fail(&link->client->open_error, HF_UNREACHABLE,
                 "the connection was closed in the handshake");
        sim_link_failed(link);
    }
    sim_client_settle(link->client);
}

/* ---- connecting ---- */

static void start(struct sim_link *link, int64_t now)
{
    struct sim_world *world = link->client->world;

    link->phase = SIM_LINK_CONNECTING;
    link->last_try_ms = now;
    link->connect_by_ms = now + link->client->config.connect_limit_ms;
    sim_at(world, world->now_us + 2 * world->weather.base_us, connected, link,
           (int64_t)link->tries);
}

static void connected(struct sim_world *world, void *who, int64_t arg)
{
    struct sim_link *link = who;
    struct sim_client *client = link->client;
    char name[64];

    if (!client->alive || link->tries != (uint64_t)arg) {
        return;
    }
    if (sim_client_paused(client)) {
        sim_at(world, client->paused_us + 1, connected, link, arg);
        return;
    }
    if (!world->server_up) {
        hfi_fail(&client->open_error, HF_UNREACHABLE, "connection refused");
        sim_link_failed(link);
        sim_client_settle(client);
        return;
    }
    link->wire = sim_wire_open(client, link->id);
    link->reader = hfi_reader_new();
    snprintf(name, sizeof(name), "holdfast-%s", client->uuid);
    (void)hfi_handshake_begin(&link->handshake, &client->url, NULL, name,
                              &client->scratch, &link->out);
    link->appended = link->out.len;
    link->phase = SIM_LINK_GREETING;
    link->greeted_at_ms = sim_client_ms(client);
    link->heard_ms = link->greeted_at_ms;
    sim_client_settle(client);
}

/* ---- the keeper's turn ---- */

static int64_t dead_at(const struct sim_link *link)
{
    return owes(link) ? link->heard_ms + link->client->config.response_limit_ms
                      : INT64_MAX;
}

static int64_t ping_at(const struct sim_link *link)
{
    int64_t since = link->pinged_ms > link->heard_ms ? link->pinged_ms
                                                     : link->heard_ms;

    if (link->id != SIM_PUBSUB || link->phase != SIM_LINK_UP || owes(link) ||
        hfi_channels_wanted(link->client->channels) == 0) {
        return INT64_MAX;
    }
    return since + PING_AFTER_MS;
}

static void ping(struct sim_link *link, int64_t now)
{
    size_t before = link->out.len;

    link->pinged_ms = now;
    link->heard_ms = now;
    (void)hfi_channels_ping(link->client->channels, &link->client->scratch,
                            &link->out);
    link->appended += link->out.len - before;
}

void sim_link_step(struct sim_link *link)
{
    int64_t now = sim_client_ms(link->client);

    if (link->phase == SIM_LINK_UP && now >= dead_at(link)) {
        SIM_SAY(link->client->world, "C%zu    link %zu is silent for too long",
                link->client->index, link->id);
        sim_link_down(link);
    }
    if (now >= ping_at(link)) {
        ping(link, now);
    }
    if ((link->phase == SIM_LINK_CONNECTING ||
         link->phase == SIM_LINK_GREETING) &&
        now >= link->connect_by_ms) {
        hfi_fail(&link->client->open_error, HF_UNREACHABLE,
                 "no answer in time");
        sim_link_failed(link);
    }
    if (link->phase == SIM_LINK_DOWN && now >= link->retry_at_ms) {
        start(link, now);
    }
}

int64_t sim_link_due_ms(const struct sim_link *link)
{
    int64_t due = dead_at(link);
    int64_t ping_ms = ping_at(link);

    if (link->phase == SIM_LINK_DOWN) {
        return link->retry_at_ms;
    }
    if (link->phase != SIM_LINK_UP) {
        return link->connect_by_ms;
    }
    return ping_ms < due ? ping_ms : due;
}

void sim_link_wanted(struct sim_client *client)
{
    struct sim_link *link = &client->links[HFI_LINK_MAIN];
    int64_t now = sim_client_ms(client);

    if (link->phase == SIM_LINK_DOWN && link->retry_at_ms > now) {
        int64_t soon = link->last_try_ms + PAUSE_WANTED_MS;

        link->retry_at_ms = soon > now ? soon : now;
    }
}
