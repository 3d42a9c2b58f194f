/* SPDX-License-Identifier: MIT */
/* redis/channels.h - what is subscribed to on one pub/sub connection.
 *
 * Subscription answers are counted per channel: a channel is heard only when
 * every (UN)SUBSCRIBE that was sent for it is answered and the last one was a
 * SUBSCRIBE.  So an old answer never vouches for a new wait.
 *
 * Pure: commands go to a buffer, answers come in as values.  A user of a
 * channel is a pointer that is never looked into.
 */
#ifndef HFI_REDIS_CHANNELS_H
#define HFI_REDIS_CHANNELS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/value.h"
#include "redis/command.h"

struct hfi_channels;

struct hfi_channels *hfi_channels_new(void);
void hfi_channels_free(struct hfi_channels *channels);

/** Want a channel for @p user from now on.  With @p out (the link is up) the
 *  SUBSCRIBE is written.  false: out of memory; nothing changed. */
bool hfi_channels_want(struct hfi_channels *channels, const char *text,
                       size_t len, void *user, struct hfi_command *scratch,
                       struct hfi_buffer *out);

/** Want it no more. */
void hfi_channels_drop(struct hfi_channels *channels, const char *text,
                       size_t len, struct hfi_command *scratch,
                       struct hfi_buffer *out);

/** The same where there is no memory for the channel's name: it stays
 *  subscribed, and its messages concern nobody. */
void hfi_channels_forget(struct hfi_channels *channels, const void *user);

/** The link is up: subscribe to all that is wanted.  false: out of memory. */
bool hfi_channels_link_up(struct hfi_channels *channels,
                          struct hfi_command *scratch, struct hfi_buffer *out);

/** The link is gone, and with it every subscription; @p each is told whose. */
void hfi_channels_link_down(struct hfi_channels *channels,
                            void (*each)(void *user, void *context),
                            void *context);

/** A PING was written to the link. */
bool hfi_channels_ping(struct hfi_channels *channels,
                       struct hfi_command *scratch, struct hfi_buffer *out);

enum hfi_channel_event {
    HFI_CHANNEL_NOTHING,
    HFI_CHANNEL_HEARD,   /* the subscription of `ret_user` stands */
    HFI_CHANNEL_REFUSED, /* it was refused */
    HFI_CHANNEL_MESSAGE, /* a message came for `ret_user` */
    HFI_CHANNEL_BROKEN   /* this is no answer to anything */
};

/** What a reply on the pub/sub link means. */
enum hfi_channel_event hfi_channels_reply(struct hfi_channels *channels,
                                          const struct hfi_value *value,
                                          void **ret_user);

/** How many answers are owed. */
size_t hfi_channels_owed(const struct hfi_channels *channels);
/** How many channels are wanted. */
size_t hfi_channels_wanted(const struct hfi_channels *channels);

#endif
