/* SPDX-License-Identifier: MIT */
/* driver/drive_many.c - one thread drives the main links of several clients.
 *
 * A thread that waits for a call on a group claims the links on which it sends:
 * it writes to all of them, polls them together, and reads what comes.  So the
 * members of a red lock are asked at once by one thread, and answered to it.
 * What goes on without it (links that somebody else drives, messages, timers)
 * ends its wait through a descriptor of its own.
 *
 * A link is kept only while it owes something: anybody else may want to drive
 * it, or to close it.  When the wait is over, links that owe answers for which
 * nobody waits are left to nobody for a moment: the thread's next call most
 * often reads them along, and if not, their keepers do.
 */
#include <poll.h>
#include <sched.h>
#include <string.h>

#include "base/clock.h"
#include "driver/client.h"

/* It looks around so often, whatever it was told or not. */
#define POLL_MS 1000

/* A quorum has answered: the others may take so long before the keepers of
 * their clients see to it.  Most often the thread's next call does, before. */
#define LEFT_MS 5

struct many {
    struct hf_client *const *clients;
    size_t count;
    struct hfi_waiter *waiter;
    /* The thread's own; then two of each. */
    struct pollfd fds[1 + 2 * HFI_DRIVES_MAX];
    bool mine[HFI_DRIVES_MAX];   /* claimed, and being driven */
    bool broken[HFI_DRIVES_MAX]; /* could not be written to */
    int spin_us;
};

void hfi_claim_main_link(struct hf_client *client, struct hfi_waiter *waiter)
{
    struct hfi_link *link = &client->links[HFI_LINK_MAIN];

    if (!hfi_waiter_is_mine(waiter) || link->state != HFI_LINK_UP ||
        !hfi_main_link_is_free(client) || link->writing ||
        !hfi_main_link_owes(client)) {
        return;
    }
    link->driver = HFI_WAITER;
    link->driving = waiter;
    link->hosts = false;
}

int64_t hfi_left_due(const struct hf_client *client)
{
    const struct hfi_link *link = &client->links[HFI_LINK_MAIN];

    return link->driver == HFI_NOBODY && link->left_ms != 0 &&
                   hfi_main_link_owes(client)
               ? link->left_ms + LEFT_MS
               : INT64_MAX;
}

/* The answer is a group's, which has what it needs, or nobody's any more. */
static bool can_wait(const struct hfi_copy *copy)
{
    const struct hfi_user *user = copy->op == NULL ? NULL
                                                   : hfi_op_user(copy->op);

    return copy->joined == NULL && (user == NULL || atomic_load(&user->late));
}

static bool all_can_wait(const struct hfi_link *link)
{
    for (size_t i = 0; i < link->call_count; i++) {
        size_t at = (link->call_first + i) & (link->call_capacity - 1);

        if (!can_wait(link->calls[at].copy)) {
            return false;
        }
    }
    return !hfi_link_has_output(link) && link->refused == NULL;
}

/* Drive it no more: leave it, or pass it on. */
static void give_up(struct hf_client *client)
{
    struct hfi_link *link = &client->links[HFI_LINK_MAIN];

    if (link->state == HFI_LINK_UP && link->call_count > 0 &&
        !client->closing && all_can_wait(link)) {
        link->driver = HFI_NOBODY;
        link->driving = NULL;
        link->left_ms = hfi_clock_ms();
        hfi_keeper_by(client, hfi_left_due(client));
        return;
    }
    hfi_pass_main_link_on(client);
    if (client->closing) {
        pthread_cond_broadcast(&client->quiet);
    }
}

/* Write what there is for a link of ours, and have it polled. */
static void prepare(struct many *many, size_t at)
{
    struct hf_client *client = many->clients[at];
    struct hfi_link *link = &client->links[HFI_LINK_MAIN];
    struct pollfd *fds = &many->fds[1 + 2 * at];
    bool output = false;

    hfi_client_lock(client);
    many->mine[at] = link->driver == HFI_WAITER &&
                     link->driving == many->waiter;
    if (many->mine[at] && (!hfi_main_link_owes(client) || client->closing)) {
        give_up(client);
        many->mine[at] = false;
    }
    if (many->mine[at]) {
        output = hfi_link_take_output(link);
        link->asleep = true;
        link->woken = false;
    }
    hfi_client_unlock(client);
    many->broken[at] = output && !hfi_link_write(link);
    fds[0] = (struct pollfd){many->mine[at] ? link->fd : -1, POLLIN, 0};
    fds[1] = (struct pollfd){many->mine[at] ? link->wake.fd : -1, POLLIN, 0};
    if (many->mine[at] && link->sent < link->sending.len) {
        fds[0].events |= POLLOUT;
    }
}

/* Read what came on a link of ours, and hand it to its core. */
static void look(struct many *many, size_t at)
{
    struct hf_client *client = many->clients[at];
    struct hfi_link *link = &client->links[HFI_LINK_MAIN];
    const struct pollfd *fds = &many->fds[1 + 2 * at];
    struct hfi_input input;
    int64_t now;

    if (!many->mine[at]) {
        return;
    }
    input.count = 0;
    input.bytes = 0;
    input.broken = false;
    if (!many->broken[at] && (fds[0].revents != 0 || link->more)) {
        hfi_link_read(link, &input);
    }
    if (fds[1].revents != 0) {
        hfi_wake_drain(&link->wake);
    }
    now = hfi_clock_ms();
    hfi_client_lock(client);
    link->asleep = false;
    hfi_link_wrote(link, now);
    hfi_link_deliver(link, &input, now);
    if (many->broken[at] || input.broken) {
        hfi_link_tear_down(link, now);
    }
    hfi_settle(client, now);
    hfi_client_unlock(client);
}

static bool is_broken_or_more(const struct many *many)
{
    for (size_t i = 0; i < many->count; i++) {
        if (many->mine[i] &&
            (many->broken[i] || many->clients[i]->links[HFI_LINK_MAIN].more)) {
            return true;
        }
    }
    return false;
}

static int sleep_ms(const struct hfi_waiter *waiter)
{
    int64_t left = waiter->due_ms - hfi_clock_ms();

    return left <= 0 ? 0 : left < POLL_MS ? (int)left : POLL_MS;
}

/* An answer is looked for without sleeping for a moment, as any driver does it.
 * Of several servers some may be on this machine: they go first. */
static void wait_for_some(struct many *many)
{
    nfds_t count = (nfds_t)(1 + 2 * many->count);
    bool owed = false;

    if (is_broken_or_more(many)) {
        (void)poll(many->fds, count, 0);
        return;
    }
    for (size_t i = 0; i < many->count; i++) {
        owed = owed || many->mine[i];
    }
    if (owed && many->spin_us > 0) {
        int64_t until_us = hfi_clock_us() + many->spin_us;

        do {
            if (poll(many->fds, count, 0) != 0) {
                return;
            }
            sched_yield();
        } while (hfi_clock_us() < until_us);
    }
    (void)poll(many->fds, count, sleep_ms(many->waiter));
}

static void pass_all_on(struct many *many)
{
    for (size_t i = 0; i < many->count; i++) {
        struct hf_client *client = many->clients[i];
        struct hfi_link *link = &client->links[HFI_LINK_MAIN];

        hfi_client_lock(client);
        if (link->driver == HFI_WAITER && link->driving == many->waiter) {
            give_up(client);
        }
        hfi_client_unlock(client);
    }
}

/* The call's time has come. */
static void run_due(struct hfi_waiter *waiter)
{
    if (waiter->due_ms <= hfi_clock_ms()) {
        waiter->due_ms = INT64_MAX;
        if (waiter->task->ref(waiter->task)) {
            waiter->task->run(waiter->task);
        }
    }
}

static void turn(struct many *many)
{
    for (size_t i = 0; i < many->count; i++) {
        prepare(many, i);
    }
    many->fds[0] = (struct pollfd){many->waiter->wake.fd, POLLIN, 0};
    if (atomic_load(&many->waiter->done)) {
        return;
    }
    wait_for_some(many);
    if (many->fds[0].revents != 0) {
        hfi_wake_drain(&many->waiter->wake);
    }
    for (size_t i = 0; i < many->count; i++) {
        look(many, i);
    }
    run_due(many->waiter);
}

void hfi_drive_many(struct hf_client *const *clients, size_t count,
                    struct hfi_waiter *waiter)
{
    struct many many;

    many.clients = clients;
    many.count = count < HFI_DRIVES_MAX ? count : HFI_DRIVES_MAX;
    many.waiter = waiter;
    many.spin_us = (int)clients[0]->options.spin_us;
    while (!atomic_load(&waiter->done)) {
        turn(&many);
    }
    pass_all_on(&many);
}
