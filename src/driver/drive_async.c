/* SPDX-License-Identifier: MIT */
/* driver/drive_async.c - the thread of callbacks drives, too.
 *
 * An asynchronous call has no thread that waits for it, but one that waits to
 * run its callback.  That one drives the main link while it has nothing to run:
 * a reply that it reads becomes a callback that it runs, and what the callback
 * asks for leaves with its next write.  So a program of tasks without threads
 * is one loop, and no reply costs a hop from thread to thread.
 *
 * While it runs users' code it keeps the link, but not for itself: it is *away*.
 * A thread that wants to drive takes the link from it, under the mutex, for who
 * is away touches nothing; and when it has been away for a while, with answers
 * owed, the keeper does.  So a slow callback delays callbacks, and no call by
 * more than that.  The keeper gives the link back as soon as it is asked.
 *
 * A program with an event loop of its own has no such thread; there the keeper
 * drives.
 */
#include "base/clock.h"
#include "driver/client.h"

/* So long it may be away before the keeper looks after the link. */
#define AWAY_MS 5

static struct hfi_link *main_link(struct hf_client *client)
{
    return &client->links[HFI_LINK_MAIN];
}

static bool has_it(const struct hf_client *client)
{
    const struct hfi_link *link = &client->links[HFI_LINK_MAIN];

    return link->driver == HFI_WAITER &&
           link->driving == &client->callbacks.waiter;
}

bool hfi_async_is_away(const struct hf_client *client)
{
    return client->callbacks.away && has_it(client);
}

int64_t hfi_async_due(const struct hf_client *client)
{
    return hfi_async_is_away(client) && hfi_main_link_owes(client)
               ? client->callbacks.away_since_ms + AWAY_MS
               : INT64_MAX;
}

static bool may_drive(const struct hf_client *client)
{
    const struct hfi_callbacks *callbacks = &client->callbacks;

    return callbacks->drives && !callbacks->by_dispatch && !callbacks->stop &&
           !client->closing;
}

bool hfi_async_takes_over(struct hf_client *client)
{
    struct hfi_callbacks *callbacks = &client->callbacks;
    struct hfi_link *link = main_link(client);

    if (!may_drive(client) ||
        (callbacks->away &&
         hfi_clock_ms() >= callbacks->away_since_ms + AWAY_MS)) {
        return false;
    }
    link->driver = HFI_WAITER;
    link->driving = &callbacks->waiter;
    link->hosts = true;
    if (callbacks->idle) {
        pthread_cond_signal(&callbacks->cond);
    }
    hfi_keeper_by(client, hfi_async_due(client)); /* it may be away already */
    return true;
}

void hfi_async_away(struct hf_client *client)
{
    client->callbacks.away = true;
    client->callbacks.away_since_ms = hfi_clock_ms();
    hfi_keeper_by(client, hfi_async_due(client));
}

void hfi_async_wake(struct hf_client *client)
{
    struct hfi_callbacks *callbacks = &client->callbacks;

    atomic_store(&callbacks->waiter.done, true);
    if (callbacks->idle) {
        pthread_cond_signal(&callbacks->cond);
    } else if (has_it(client)) {
        hfi_link_nudge(main_link(client)); /* in poll, if not away */
    }
}

/* It was given the link, or takes it from nobody, or from the keeper, which
 * does not mind: a poll gives no right to read. */
static bool take(struct hf_client *client)
{
    struct hfi_link *link = main_link(client);
    bool to_be_had = link->driver == HFI_NOBODY ||
                     (link->driver == HFI_KEEPER && !link->in_use);

    if (!may_drive(client) || link->state != HFI_LINK_UP ||
        !hfi_main_link_owes(client) || !(to_be_had || has_it(client))) {
        return false;
    }
    link->driver = HFI_WAITER;
    link->driving = &client->callbacks.waiter;
    link->hosts = true;
    return true;
}

static void leave_it(struct hf_client *client)
{
    if (has_it(client)) {
        hfi_pass_main_link_on(client);
    }
    if (client->closing) {
        pthread_cond_broadcast(&client->quiet);
    }
}

void hfi_drive_async(struct hf_client *client)
{
    struct hfi_callbacks *callbacks = &client->callbacks;
    struct hfi_waiter *waiter = &callbacks->waiter;

    callbacks->away = false;
    atomic_store(&waiter->done, false);
    if (take(client)) {
        while (!atomic_load(&waiter->done) && take(client)) {
            hfi_drive_turn(client, waiter);
        }
        leave_it(client);
        return;
    }
    leave_it(client);
    callbacks->idle = true;
    pthread_cond_wait(&callbacks->cond, &client->mutex);
    callbacks->idle = false;
}
