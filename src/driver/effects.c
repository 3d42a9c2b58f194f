/* SPDX-License-Identifier: MIT */
/* driver/effects.c - carrying out what the core decided.
 *
 * After every event the core has left copies to send, names to (un)subscribe
 * to, notices, and calls that have ended.  All of it is done here, under the
 * client's mutex: copies and subscriptions go to the links' buffers, notices
 * and ended asynchronous calls to the callbacks, and threads whose call has
 * ended are noted to be woken.  No system call is made but shutdown(2) of a
 * link that found no memory.
 */
#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "base/fail.h"
#include "driver/client.h"

static void send_copies(struct hf_client *client, int64_t now)
{
    struct hfi_copy *copy;

    while ((copy = hfi_core_next_copy(client->core)) != NULL) {
        struct hfi_link *link = &client->links[copy->link];

        if (link->state != HFI_LINK_UP || link->full) {
            /* It broke, or is full, since the core chose it: it chooses again. */
            hfi_core_copy_gone(client->core, copy, false, now);
            continue;
        }
        hfi_link_append(link, copy, now);
        hfi_link_nudge(link);
    }
}

/* ---- subscriptions ---- */

#define CHANNEL_ON_STACK 512

static void subscribe(struct hf_client *client, struct hfi_listener *listener,
                      const char *channel, size_t len, int64_t now)
{
    struct hfi_link *link = &client->links[HFI_LINK_PUBSUB];
    struct hfi_buffer *out = link->state == HFI_LINK_UP ? &link->out : NULL;
    size_t before = link->out.len;

    if (!hfi_link_owes(link)) {
        link->heard_ms = now;
    }
    if (!hfi_listener_wants(listener)) {
        hfi_channels_drop(client->channels, channel, len, &client->scratch,
                          out);
    } else if (!hfi_channels_want(client->channels, channel, len, listener,
                                  &client->scratch, out)) {
        hfi_core_subscribe_refused(client->core, listener, now);
    }
    link->appended += link->out.len - before;
}

static void change_subscription(struct hf_client *client,
                                struct hfi_listener *listener, int64_t now)
{
    char small[CHANNEL_ON_STACK];
    size_t len = hfi_listener_channel(client->core, listener, small,
                                      sizeof(small));
    char *large;

    if (len <= sizeof(small)) {
        subscribe(client, listener, small, len, now);
        return;
    }
    large = malloc(len);
    if (large == NULL) {
        hfi_channels_forget(client->channels, listener);
        hfi_core_subscribe_refused(client->core, listener, now);
        return;
    }
    hfi_listener_channel(client->core, listener, large, len);
    subscribe(client, listener, large, len, now);
    free(large);
}

static void change_subscriptions(struct hf_client *client, int64_t now)
{
    struct hfi_listener *listener;

    while ((listener = hfi_core_next_subscription(client->core)) != NULL) {
        change_subscription(client, listener, now);
        hfi_core_subscription_done(client->core, listener);
    }
}

/* ---- ended calls ---- */

static void end_async(struct hf_client *client, struct hfi_op *op,
                      struct hfi_user *user)
{
    struct hfi_async *async = user->async;
    struct hfi_op_result *result = hfi_op_result(op);

    async->status = result->status;
    async->error = result->error;
    async->changed = result->changed;
    async->count = result->count;
    memcpy(async->id, result->handle_owner, sizeof(async->id) - 1);
    async->lock->calls--;
    hfi_op_free(client->core, op);
    free(user);
    hfi_callbacks_add_ended(client, async);
}

/* The thread may be gone with its stack as soon as it can see that it is done:
 * all that the call leaves behind is seen to before. */
static void end_waiting(struct hf_client *client, struct hfi_op *op,
                        struct hfi_user *user)
{
    struct hfi_waiter *waiter = user->waiter;
    struct hfi_link *main_link = &client->links[HFI_LINK_MAIN];
    struct hfi_op_result *result = hfi_op_result(op);
    hf_lock *lock = hfi_op_lock(op);
    bool parked = waiter->parked; /* once it is done it is the next call's */

    if (result->status == HF_OK) {
        user->ret_result->status = HF_OK;
        user->ret_result->value = result->value;
        user->ret_result->changed = result->changed;
        user->ret_result->count = result->count;
        memcpy(user->ret_result->handle_owner, result->handle_owner,
               sizeof(result->handle_owner));
        memset(&result->value, 0, sizeof(result->value));
        if (hfi_op_kind_of(op) == HFI_OP_EXPORT) {
            *user->ret_result = *result;
        }
    } else {
        *user->ret_result = *result;
        hfi_error_node(&user->ret_result->error, client->server);
    }
    if (lock != NULL) {
        lock->calls--;
    }
    hfi_op_free(client->core, op);
    hfi_client_left(client);
    atomic_store(&waiter->done, true);
    if (parked) {
        hfi_waiter_wake_later(client, waiter);
    } else if (main_link->driver == HFI_WAITER &&
               main_link->driving == waiter) {
        hfi_link_nudge(main_link); /* it is in poll, if not in our hands */
    }
}

static void end_member(struct hf_client *client, struct hfi_op *op,
                       struct hfi_user *user)
{
    struct hfi_op_result *result = hfi_op_result(op);
    hf_lock *lock = hfi_op_lock(op);

    if (result->status != HF_OK) {
        hfi_error_node(&result->error, client->server);
    }
    lock->calls--;
    user->op = NULL;
    user->ended(user, result);
    hfi_op_free(client->core, op);
}

static void end_calls(struct hf_client *client)
{
    struct hfi_op *op;

    while ((op = hfi_op_next_done(client->core)) != NULL) {
        struct hfi_user *user = hfi_op_user(op);

        if (user->cancel != NULL) {
            DL_DELETE(client->cancellable, user);
            user->cancel = NULL;
        }
        if (user->ended != NULL) {
            end_member(client, op, user);
        } else if (user->waiter != NULL) {
            end_waiting(client, op, user);
        } else {
            end_async(client, op, user);
        }
    }
}

/* ---- all of it ---- */

static void tell_notices(struct hf_client *client)
{
    struct hfi_terms *terms;

    while ((terms = hfi_core_next_notice(client->core)) != NULL) {
        hfi_callbacks_add_notice(client, terms);
    }
}

/* The keeper sleeps until something is due.  If that is earlier now, or it slept
 * without limit because nothing was going on, it has to look again. */
static void mind_the_keeper(struct hf_client *client, int64_t now)
{
    if (client->keeper_asleep) {
        hfi_keeper_by(client, hfi_keeper_due(client, now));
    }
}

void hfi_settle(struct hf_client *client, int64_t now)
{
    send_copies(client, now);
    change_subscriptions(client, now);
    send_copies(client, now); /* a refused subscription may have caused one */
    tell_notices(client);
    end_calls(client);
    hfi_news_choose_driver(client);
    mind_the_keeper(client, now);
}
