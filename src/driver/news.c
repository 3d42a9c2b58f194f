/* SPDX-License-Identifier: MIT */
/* driver/news.c - who reads the messages.
 *
 * The pub/sub link is the keeper's, but for one case: the only call of this
 * client that counts on messages is that of the thread that drives the main
 * link.  Then that thread polls both, and what wakes it is the message itself:
 * it sends its next attempt and reads the answer, and no other thread has a
 * part in it.
 *
 * A thread may be stopped, or starved of the processor.  While it reads the
 * messages nobody else counts on any: as soon as somebody does, the link goes
 * back to the keeper, also from a thread that sleeps in poll or is stopped
 * there.  Such a thread finds, when it comes back, that the link is not its any
 * more, and does not touch it.  Only while it writes or reads (`in_use`) must
 * the link stay with it; whoever is stopped just then delays others to their
 * re-try bound, which is the keeper's to see to.
 */
#include <poll.h>

#include "base/clock.h"
#include "driver/client.h"

static struct hfi_link *pubsub_link(struct hf_client *client)
{
    return &client->links[HFI_LINK_PUBSUB];
}

/* The thread that may have the pub/sub link, or NULL. */
static struct hfi_waiter *candidate(const struct hf_client *client)
{
    const struct hfi_link *main_link = &client->links[HFI_LINK_MAIN];
    struct hfi_waiter *waiter = main_link->driving;

    /* Once it is done its call is gone; who drives several has none here. */
    return main_link->driver == HFI_WAITER && !atomic_load(&waiter->done) &&
                   waiter->op != NULL &&
                   hfi_op_waits_alone(client->core, waiter->op)
               ? waiter
               : NULL;
}

static void give_to(struct hf_client *client, struct hfi_waiter *waiter)
{
    struct hfi_link *link = pubsub_link(client);

    link->driver = waiter == NULL ? HFI_KEEPER : HFI_WAITER;
    link->driving = waiter;
    /* It begins to poll that link, or is not to be woken by it any more. */
    if (waiter == NULL ||
        (client->keeper_asleep && client->keeper_polls_news)) {
        hfi_keeper_nudge(client);
    }
}

/* A thread that sleeps in poll already polls what it had then.  It is not woken
 * to take the link: it does so when it looks around again. */
void hfi_news_choose_driver(struct hf_client *client)
{
    struct hfi_link *link = pubsub_link(client);
    struct hfi_waiter *waiter = candidate(client);

    if (link->state != HFI_LINK_UP) {
        return;
    }
    if (!link->in_use && waiter != link->driving &&
        (waiter == NULL || !client->links[HFI_LINK_MAIN].asleep)) {
        give_to(client, waiter);
    }
    if (link->out.len > 0) {
        hfi_link_nudge(link);
    }
}

static bool is_its(const struct hfi_link *link, const struct hfi_waiter *waiter)
{
    return link->driver == HFI_WAITER && link->driving == waiter;
}

struct hfi_news_poll hfi_news_to_poll(const struct hf_client *client,
                                      const struct hfi_waiter *waiter)
{
    const struct hfi_link *link = &client->links[HFI_LINK_PUBSUB];
    struct hfi_news_poll listening = {-1, 0, false};

    if (is_its(link, waiter)) {
        listening.fd = link->fd;
        listening.events = link->sent < link->sending.len ? POLLIN | POLLOUT
                                                          : POLLIN;
        listening.more = link->more;
    }
    return listening;
}

void hfi_news_write(struct hf_client *client, const struct hfi_waiter *waiter)
{
    struct hfi_link *link = pubsub_link(client);
    bool written;
    int64_t now;

    if (!is_its(link, waiter) || !hfi_link_take_output(link)) {
        return;
    }
    link->in_use = true;
    hfi_client_unlock(client);
    written = hfi_link_write(link);
    now = hfi_clock_ms();
    hfi_client_lock(client);
    link->in_use = false;
    hfi_link_wrote(link, now);
    if (!written) {
        hfi_link_tear_down(link, now);
    }
    hfi_settle(client, now);
}

void hfi_news_read(struct hf_client *client, const struct hfi_waiter *waiter)
{
    struct hfi_link *link = pubsub_link(client);
    struct hfi_input input;
    int64_t now;

    if (!is_its(link, waiter)) {
        return;
    }
    link->in_use = true;
    hfi_client_unlock(client);
    hfi_link_read(link, &input);
    now = hfi_clock_ms();
    hfi_client_lock(client);
    link->in_use = false;
    hfi_link_deliver(link, &input, now);
    if (input.broken) {
        hfi_link_tear_down(link, now);
    }
    hfi_settle(client, now);
}
