/* SPDX-License-Identifier: MIT */
/* channel.c - who is subscribed to what, and messages.
 *
 * Channels belong to the server, not to a database.  A message is handed to the
 * world, which lets it arrive or not.
 */
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "support/fatal.h"

static struct sim_channel *find(const struct sim_server *server,
                                struct hft_piece name)
{
    struct sim_channel *channel;

    HASH_FIND(hh, server->channels, name.data, name.length, channel);
    return channel;
}

static struct sim_channel *add(struct sim_server *server, struct hft_piece name)
{
    struct sim_channel *channel = hft_alloc(sizeof(*channel) + name.length + 1);

    channel->len = name.length;
    memcpy(channel->name, name.data, name.length);
    HASH_ADD_KEYPTR(hh, server->channels, channel->name, channel->len, channel);
    return channel;
}

static bool hears(const struct sim_conn *conn,
                  const struct sim_channel *channel)
{
    for (size_t i = 0; i < conn->channel_count; i++) {
        if (conn->channels[i] == channel) {
            return true;
        }
    }
    return false;
}

static void subscribe(struct sim_conn *conn, struct hft_piece name)
{
    struct sim_channel *channel = find(conn->server, name);

    if (channel == NULL) {
        channel = add(conn->server, name);
    }
    if (hears(conn, channel)) {
        return;
    }
    channel->conns = sim_grow(channel->conns, channel->count,
                              &channel->capacity, sizeof(void *));
    channel->conns[channel->count++] = conn;
    conn->channels = sim_grow(conn->channels, conn->channel_count,
                              &conn->channel_capacity, sizeof(void *));
    conn->channels[conn->channel_count++] = channel;
}

/* Take one out of an array of pointers; the others keep their order. */
static void take_out(void *array, size_t *count, const void *one)
{
    void **items = array;
    size_t i = 0;

    while (items[i] != one) {
        i++;
    }
    (*count)--;
    memmove(&items[i], &items[i + 1], (*count - i) * sizeof(void *));
}

static void unsubscribe(struct sim_conn *conn, struct sim_channel *channel)
{
    take_out(channel->conns, &channel->count, conn);
    take_out(conn->channels, &conn->channel_count, channel);
    if (channel->count == 0) {
        HASH_DELETE(hh, conn->server->channels, channel);
        free(channel->conns);
        free(channel);
    }
}

void sim_conn_unsubscribe_all(struct sim_conn *conn)
{
    while (conn->channel_count > 0) {
        unsubscribe(conn, conn->channels[0]);
    }
}

/* ---- commands ---- */

static void reply_subscribed(struct sim_call *call, const char *kind,
                             struct hft_piece channel)
{
    sim_reply_array(call, 3);
    sim_reply_bulk(call, sim_word(kind));
    if (channel.data == NULL) {
        sim_reply_nil(call);
    } else {
        sim_reply_bulk(call, channel);
    }
    sim_reply_integer(call, (int64_t)call->conn->channel_count);
}

void sim_cmd_subscribe(struct sim_call *call)
{
    for (size_t i = 1; i < call->count; i++) {
        subscribe(call->conn, call->args[i]);
        reply_subscribed(call, "subscribe", call->args[i]);
    }
}

static void unsubscribe_named(struct sim_call *call, struct hft_piece name)
{
    struct sim_channel *channel = find(call->server, name);

    if (channel != NULL && hears(call->conn, channel)) {
        unsubscribe(call->conn, channel);
    }
    reply_subscribed(call, "unsubscribe", name);
}

void sim_cmd_unsubscribe(struct sim_call *call)
{
    struct sim_conn *conn = call->conn;

    for (size_t i = 1; i < call->count; i++) {
        unsubscribe_named(call, call->args[i]);
    }
    if (call->count > 1) {
        return;
    }
    if (conn->channel_count == 0) {
        reply_subscribed(call, "unsubscribe", (struct hft_piece){.data = NULL});
    }
    while (conn->channel_count > 0) {
        struct sim_channel *channel = conn->channels[0];
        struct sim_text name = sim_text_copy(
            (struct hft_piece){channel->name, channel->len});

        unsubscribe_named(call, sim_word_of(name));
        sim_text_free(&name);
    }
}

void sim_cmd_publish(struct sim_call *call)
{
    const struct sim_server_config *config = &call->server->config;
    const struct sim_channel *channel = find(call->server, call->args[1]);
    struct hft_bytes message = {.length = 0};
    struct sim_call wire = {.out = &message};

    if (channel == NULL) {
        sim_reply_integer(call, 0);
        return;
    }
    sim_reply_array(&wire, 3);
    sim_reply_bulk(&wire, sim_word("message"));
    sim_reply_bulk(&wire, call->args[1]);
    sim_reply_bulk(&wire, call->args[2]);
    for (size_t i = 0; i < channel->count && config->deliver != NULL; i++) {
        config->deliver(config->context, channel->conns[i], message.data,
                        message.length);
    }
    hft_bytes_free(&message);
    sim_reply_integer(call, (int64_t)channel->count);
}

void sim_cmd_pubsub_numsub(struct sim_call *call)
{
    sim_reply_array(call, 2 * (call->count - 2));
    for (size_t i = 2; i < call->count; i++) {
        const struct sim_channel *channel = find(call->server, call->args[i]);

        sim_reply_bulk(call, call->args[i]);
        sim_reply_integer(call, channel == NULL ? 0 : (int64_t)channel->count);
    }
}

static bool is_listed(const struct sim_call *call,
                      const struct sim_channel *channel)
{
    return call->count == 2 ||
           sim_matches(call->args[2],
                       (struct hft_piece){channel->name, channel->len});
}

void sim_cmd_pubsub_channels(struct sim_call *call)
{
    struct sim_channel *channel = call->server->channels;
    size_t count = 0;

    if (call->count > 3) {
        sim_reply_error(call,
                        "ERR unknown subcommand or wrong number of "
                        "arguments for '%.*s'. Try PUBSUB HELP.",
                        (int)call->args[1].length, call->args[1].data);
        return;
    }
    for (; channel != NULL; channel = channel->hh.next) {
        count += is_listed(call, channel) ? 1 : 0;
    }
    sim_reply_array(call, count);
    for (channel = call->server->channels; channel != NULL;
         channel = channel->hh.next) {
        if (is_listed(call, channel)) {
            sim_reply_bulk(call,
                           (struct hft_piece){channel->name, channel->len});
        }
    }
}

/* ---- a look inside ---- */

size_t sim_subscribers(const struct sim_server *server, const char *channel)
{
    const struct sim_channel *found = find(server, sim_word(channel));

    return found == NULL ? 0 : found->count;
}

bool sim_conn_hears(const struct sim_conn *conn, const char *channel)
{
    const struct sim_channel *found = find(conn->server, sim_word(channel));

    return found != NULL && hears(conn, found);
}

size_t sim_conn_channels(const struct sim_conn *conn)
{
    return conn->channel_count;
}

const char *sim_conn_channel(const struct sim_conn *conn, size_t n)
{
    return conn->channels[n]->name;
}
