/* SPDX-License-Identifier: MIT */
/* redis/channels.c - the subscriptions of one connection; see channels.h.
 *
 * Every command that is sent is remembered in a queue until its answer comes,
 * for answers come in order; an error does not say which channel it is about.
 * A channel's record lives while it is wanted or an answer for it is owed.
 */
#include "redis/channels.h"

#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>
#include <utlist.h>

struct channel {
    UT_hash_handle hh;
    void *user;  /* NULL: not wanted */
    size_t owed; /* answers */
    size_t len;
    char text[];
};

struct sent {
    struct sent *prev, *next;
    struct channel *channel; /* NULL: a PING */
};

struct hfi_channels {
    struct channel *table;
    struct sent *sent;
    size_t owed;
    size_t wanted;
};

struct hfi_channels *hfi_channels_new(void)
{
    return calloc(1, sizeof(struct hfi_channels));
}

static void forget_sent(struct hfi_channels *channels)
{
    struct sent *sent, *next;

    DL_FOREACH_SAFE (channels->sent, sent, next) {
        DL_DELETE(channels->sent, sent);
        free(sent);
    }
    channels->owed = 0;
}

void hfi_channels_free(struct hfi_channels *channels)
{
    struct channel *channel, *next;

    if (channels == NULL) {
        return;
    }
    forget_sent(channels);
    HASH_ITER (hh, channels->table, channel, next) {
        HASH_DEL(channels->table, channel);
        free(channel);
    }
    free(channels);
}

static struct channel *find(struct hfi_channels *channels, const char *text,
                            size_t len)
{
    struct channel *channel;

    HASH_FIND(hh, channels->table, text, len, channel);
    return channel;
}

static struct channel *add(struct hfi_channels *channels, const char *text,
                           size_t len)
{
    size_t before = HASH_COUNT(channels->table);
    struct channel *channel = calloc(1, sizeof(*channel) + len);

    if (channel == NULL) {
        return NULL;
    }
    channel->len = len;
    memcpy(channel->text, text, len);
    HASH_ADD_KEYPTR(hh, channels->table, channel->text, len, channel);
    if (HASH_COUNT(channels->table) == before) {
        free(channel);
        return NULL;
    }
    return channel;
}

static void tidy(struct hfi_channels *channels, struct channel *channel)
{
    if (channel->user == NULL && channel->owed == 0) {
        HASH_DEL(channels->table, channel);
        free(channel);
    }
}

/* Write a command about a channel (or a PING) and remember it. */
static bool say(struct hfi_channels *channels, const char *word,
                struct channel *channel, struct hfi_command *scratch,
                struct hfi_buffer *out)
{
    struct sent *sent = calloc(1, sizeof(*sent));

    hfi_command_begin(scratch);
    hfi_command_add_text(scratch, word);
    if (channel != NULL) {
        hfi_command_add(scratch, channel->text, channel->len);
    }
    if (sent == NULL || !hfi_command_end(scratch, out)) {
        free(sent);
        return false;
    }
    sent->channel = channel;
    DL_APPEND(channels->sent, sent);
    channels->owed++;
    if (channel != NULL) {
        channel->owed++;
    }
    return true;
}

bool hfi_channels_want(struct hfi_channels *channels, const char *text,
                       size_t len, void *user, struct hfi_command *scratch,
                       struct hfi_buffer *out)
{
    struct channel *channel = find(channels, text, len);
    bool was_wanted;

    if (channel == NULL) {
        channel = add(channels, text, len);
    }
    if (channel == NULL) {
        return false;
    }
    was_wanted = channel->user != NULL;
    if (out != NULL && !say(channels, "SUBSCRIBE", channel, scratch, out)) {
        tidy(channels, channel);
        return false;
    }
    channel->user = user;
    channels->wanted += was_wanted ? 0 : 1;
    return true;
}

void hfi_channels_drop(struct hfi_channels *channels, const char *text,
                       size_t len, struct hfi_command *scratch,
                       struct hfi_buffer *out)
{
    struct channel *channel = find(channels, text, len);

    if (channel == NULL || channel->user == NULL) {
        return;
    }
    channel->user = NULL;
    channels->wanted--;
    /* Short of memory it stays subscribed; its messages concern nobody. */
    if (out != NULL) {
        (void)say(channels, "UNSUBSCRIBE", channel, scratch, out);
    }
    tidy(channels, channel);
}

void hfi_channels_forget(struct hfi_channels *channels, const void *user)
{
    struct channel *channel, *next;

    HASH_ITER (hh, channels->table, channel, next) {
        if (channel->user == user) {
            channel->user = NULL;
            channels->wanted--;
            tidy(channels, channel);
        }
    }
}

bool hfi_channels_link_up(struct hfi_channels *channels,
                          struct hfi_command *scratch, struct hfi_buffer *out)
{
    struct channel *channel, *next;

    HASH_ITER (hh, channels->table, channel, next) {
        if (!say(channels, "SUBSCRIBE", channel, scratch, out)) {
            return false;
        }
    }
    return true;
}

void hfi_channels_link_down(struct hfi_channels *channels,
                            void (*each)(void *user, void *context),
                            void *context)
{
    struct channel *channel, *next;

    forget_sent(channels);
    HASH_ITER (hh, channels->table, channel, next) {
        channel->owed = 0;
        if (channel->user != NULL) {
            each(channel->user, context);
        }
        tidy(channels, channel);
    }
}

bool hfi_channels_ping(struct hfi_channels *channels,
                       struct hfi_command *scratch, struct hfi_buffer *out)
{
    return say(channels, "PING", NULL, scratch, out);
}

/* ---- replies ---- */

static bool is_word(const struct hfi_value *value, const char *word)
{
    return value->kind == HFI_TEXT && strcmp(value->text, word) == 0;
}

/* The answer to the oldest command that is owed one. */
static enum hfi_channel_event on_answer(struct hfi_channels *channels,
                                        bool refused, void **ret_user)
{
    struct sent *sent = channels->sent;
    struct channel *channel;

    if (sent == NULL) {
        return HFI_CHANNEL_BROKEN;
    }
    channel = sent->channel;
    DL_DELETE(channels->sent, sent);
    free(sent);
    channels->owed--;
    if (channel == NULL) {
        return HFI_CHANNEL_NOTHING;
    }
    channel->owed--;
    *ret_user = channel->user;
    if (channel->user != NULL && channel->owed == 0) {
        return refused ? HFI_CHANNEL_REFUSED : HFI_CHANNEL_HEARD;
    }
    tidy(channels, channel);
    return HFI_CHANNEL_NOTHING;
}

static enum hfi_channel_event on_message(struct hfi_channels *channels,
                                         const struct hfi_value *where,
                                         void **ret_user)
{
    struct channel *channel = where->kind == HFI_TEXT
                                  ? find(channels, where->text, where->len)
                                  : NULL;

    if (channel == NULL || channel->user == NULL) {
        return HFI_CHANNEL_NOTHING;
    }
    *ret_user = channel->user;
    return HFI_CHANNEL_MESSAGE;
}

enum hfi_channel_event hfi_channels_reply(struct hfi_channels *channels,
                                          const struct hfi_value *value,
                                          void **ret_user)
{
    *ret_user = NULL;
    if (value->kind == HFI_ERROR) {
        return on_answer(channels, true, ret_user);
    }
    if (is_word(value, "PONG")) {
        return on_answer(channels, false, ret_user);
    }
    if (value->kind != HFI_ARRAY || value->count < 2) {
        return HFI_CHANNEL_BROKEN;
    }
    if (is_word(&value->items[0], "message")) {
        return on_message(channels, &value->items[1], ret_user);
    }
    if (is_word(&value->items[0], "subscribe") ||
        is_word(&value->items[0], "unsubscribe") ||
        is_word(&value->items[0], "pong")) {
        return on_answer(channels, false, ret_user);
    }
    return HFI_CHANNEL_BROKEN;
}

size_t hfi_channels_owed(const struct hfi_channels *channels)
{
    return channels->owed;
}

size_t hfi_channels_wanted(const struct hfi_channels *channels)
{
    return channels->wanted;
}
