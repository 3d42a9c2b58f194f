/* SPDX-License-Identifier: MIT */
/* driver/drive.c - whoever waits, drives.
 *
 * There is no hop through an I/O thread.  A thread whose call travels on the
 * main link, while nobody drives that link, becomes its driver: it writes what
 * anybody appended, polls, reads, and hands every reply to the core, until its
 * own call has ended.  Then it passes the role on: to a thread that is parked
 * for a call in flight on this link, or, if calls are in flight and no thread
 * waits for them (they are asynchronous, or were given up), to the thread of
 * callbacks (drive_async.c), or, if there is none, to the keeper.
 *
 * A thread that finds a driver at work parks.  One that was chosen to drive,
 * and wakes up to find its call ended meanwhile, passes the role on in turn.
 *
 * A call that is alone on the link is looked for without sleeping for a moment
 * first (link.c): where a processor goes to sleep, waking it costs more than the
 * answer takes.
 *
 * The driver polls its wake-up descriptor beside the socket: others fire it
 * when they append something while it sleeps, or end its call.
 *
 * Where many calls gather, threads that append write as guests of the driver,
 * who goes on reading: so that the server works while the threads of the last
 * replies are still on their way.  One thread at a time writes, and the driver
 * does not tear a link down before its guest is out of it.
 */
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>

#include <utlist.h>

#include "base/clock.h"
#include "driver/client.h"

/* A driver looks around so often, whatever it was told or not. */
#define POLL_MS 1000

/* A thread that finds so many calls gathered writes them itself: enough that a
 * write costs little for each, few enough that the server has work while the
 * threads of sixty calls come one after another. */
#define GUEST_CALLS 16

/* ---- the role ---- */

/* The parked thread that waits for the answer to a copy, or NULL. */
static struct hfi_waiter *parked_for(const struct hfi_copy *copy)
{
    const struct hfi_user *user = copy->op == NULL ? NULL
                                                   : hfi_op_user(copy->op);

    return user != NULL && user->waiter != NULL && user->waiter->parked &&
                   !atomic_load(&user->waiter->done)
               ? user->waiter
               : NULL;
}

static struct hfi_waiter *parked_for_one_of(const struct hfi_copy *copies)
{
    const struct hfi_copy *copy;
    struct hfi_waiter *waiter = NULL;

    DL_FOREACH (copies, copy) {
        waiter = parked_for(copy);
        if (waiter != NULL) {
            break;
        }
    }
    return waiter;
}

/* A parked thread that waits for a call in flight on the link; the oldest. */
static struct hfi_waiter *next_driver(const struct hfi_link *link)
{
    struct hfi_waiter *waiter = NULL;

    for (size_t i = 0; waiter == NULL && i < link->call_count; i++) {
        size_t at = (link->call_first + i) & (link->call_capacity - 1);
        const struct hfi_copy *copy = link->calls[at].copy;

        waiter = copy->joined != NULL ? parked_for_one_of(copy->joined)
                                      : parked_for(copy);
    }
    return waiter != NULL ? waiter : parked_for_one_of(link->joining);
}

bool hfi_main_link_owes(const struct hf_client *client)
{
    const struct hfi_link *link = &client->links[HFI_LINK_MAIN];

    return link->call_count > 0 || hfi_link_has_output(link) ||
           link->refused != NULL;
}

bool hfi_main_link_is_free(const struct hf_client *client)
{
    return client->links[HFI_LINK_MAIN].driver == HFI_NOBODY ||
           hfi_async_is_away(client);
}

void hfi_pass_main_link_on(struct hf_client *client)
{
    struct hfi_link *link = &client->links[HFI_LINK_MAIN];
    struct hfi_waiter *next;

    link->driver = HFI_NOBODY;
    link->driving = NULL;
    link->left_ms = 0;
    if (link->state != HFI_LINK_UP) {
        link->driver = HFI_KEEPER;
        return;
    }
    if (!hfi_main_link_owes(client)) {
        return;
    }
    next = next_driver(link);
    if (next == NULL && hfi_async_takes_over(client)) {
        return;
    }
    if (next == NULL) {
        link->driver = HFI_KEEPER;
        hfi_keeper_nudge(client);
        return;
    }
    link->driver = HFI_WAITER;
    link->driving = next;
    link->hosts = true;
    next->chosen = true;
    hfi_waiter_wake_later(client, next);
}

/* ---- driving ---- */

/* Sleep until there is something to do; `rest`: also for room to write more.
 * What the main link brought is read; the other, which may be somebody else's
 * by now, is not touched.  true: that is ready. */
static bool wait_and_read(struct hfi_link *link, bool rest,
                          const struct hfi_news_poll *other,
                          struct hfi_input *input)
{
    struct pollfd fds[3] = {{link->fd, POLLIN, 0},
                            {link->wake.fd, POLLIN, 0},
                            {other->fd, other->events, 0}};
    bool more = link->more || other->more;

    if (rest) {
        fds[0].events |= POLLOUT;
    }
    if ((poll(fds, 3, more ? 0 : POLL_MS) > 0 && fds[0].revents != 0) ||
        link->more) {
        hfi_link_read(link, input);
    }
    if (fds[1].revents != 0) {
        hfi_wake_drain(&link->wake);
    }
    return fds[2].revents != 0 || other->more;
}

/* The last replies had company: the threads they were for are about to call
 * again.  Let them append first, so that all of it leaves in one write.  (With
 * 64 threads: 56 scripts a write instead of 3, for half of the CPU time.) */
static void let_others_append(struct hf_client *client, struct hfi_link *link,
                              const struct hfi_waiter *waiter)
{
    if (waiter->op != NULL && link->company > 1 && !link->writing &&
        link->sent == link->sending.len) {
        hfi_client_unlock(client);
        sched_yield();
        hfi_client_lock(client);
    }
}

/* Write what was taken; the mutex is held before and after.  false: the link is
 * broken. */
static bool write_output(struct hf_client *client, struct hfi_link *link)
{
    bool written;

    link->writing = true;
    hfi_client_unlock(client);
    written = hfi_link_write(link);
    hfi_client_lock(client);
    link->writing = false;
    hfi_link_wrote(link, hfi_clock_ms());
    return written;
}

/* The link is broken.  A guest may be in a system call on its socket. */
static void tear_down(struct hf_client *client, struct hfi_link *link)
{
    while (link->writing) {
        pthread_cond_wait(&client->quiet, &client->mutex);
    }
    hfi_link_tear_down(link, hfi_clock_ms());
}

void hfi_drive_turn(struct hf_client *client, struct hfi_waiter *waiter)
{
    struct hfi_link *link = &client->links[HFI_LINK_MAIN];
    struct hfi_news_poll other;
    struct hfi_input input;
    bool spins, found = false, news = false;
    bool written = true;
    bool rest;
    int64_t now;

    let_others_append(client, link, waiter);
    hfi_news_write(client, waiter);
    if (atomic_load(&waiter->done)) {
        return; /* ended by others while the mutex was free */
    }
    spins = hfi_link_may_spin(link);
    input.count = 0;
    input.bytes = 0;
    input.broken = false;
    link->asleep = true;
    link->woken = false;
    if (!link->writing && hfi_link_take_output(link)) {
        written = write_output(client, link);
    }
    rest = !link->writing && link->sent < link->sending.len;
    other = hfi_news_to_poll(client, waiter);
    hfi_client_unlock(client);
    if (written && spins) {
        found = hfi_link_spin(link, &input);
    }
    if (written && !found) {
        news = wait_and_read(link, rest, &other, &input);
    }
    now = hfi_clock_ms();
    hfi_client_lock(client);
    link->asleep = false;
    if (spins) {
        hfi_link_spun(link, found);
    }
    hfi_link_deliver(link, &input, now);
    if (!written || input.broken) {
        tear_down(client, link);
    }
    hfi_settle(client, now);
    if (news) {
        hfi_news_read(client, waiter);
    }
}

static bool may_drive(const struct hf_client *client,
                      const struct hfi_waiter *waiter)
{
    if (waiter->chosen) {
        return true;
    }
    return client->links[HFI_LINK_MAIN].state == HFI_LINK_UP &&
           hfi_main_link_is_free(client) &&
           hfi_op_travels(waiter->op, HFI_LINK_MAIN);
}

static void drive(struct hf_client *client, struct hfi_link *link,
                  struct hfi_waiter *waiter)
{
    waiter->chosen = false;
    link->driver = HFI_WAITER;
    link->driving = waiter;
    link->hosts = true;
    while (!atomic_load(&waiter->done) && link->driving == waiter) {
        hfi_drive_turn(client, waiter);
    }
    if (link->driving == waiter) {
        hfi_pass_main_link_on(client);
    }
}

/* The call has ended.  One that was chosen to drive meanwhile passes it on. */
static void leave(struct hf_client *client, struct hfi_link *link,
                  struct hfi_waiter *waiter)
{
    if (waiter->chosen) {
        waiter->chosen = false;
        if (link->driving == waiter) {
            hfi_pass_main_link_on(client);
        }
    }
    if (client->closing) {
        pthread_cond_broadcast(&client->quiet);
    }
    hfi_client_unlock(client);
}

/* So many calls have gathered that the server had better begin with them: the
 * thread that brought the last of them writes them, as the driver's guest.  The
 * driver may be in poll, or wait for a processor behind all those that its last
 * replies woke, and the server with it. */
void hfi_write_as_guest(struct hf_client *client)
{
    struct hfi_link *link = &client->links[HFI_LINK_MAIN];

    if (link->gathered < GUEST_CALLS || link->driver != HFI_WAITER ||
        !link->hosts || link->writing || link->state != HFI_LINK_UP ||
        link->sent < link->sending.len || !hfi_link_take_output(link)) {
        return;
    }
    if (!write_output(client, link)) {
        shutdown(link->fd, SHUT_RDWR); /* its driver finds the end */
    }
    if (link->driver != HFI_WAITER) {
        hfi_keeper_nudge(client); /* it kept off meanwhile */
    } else if (hfi_link_has_output(link)) {
        hfi_link_nudge(link);
    }
    pthread_cond_broadcast(&client->quiet);
}

void hfi_drive(struct hf_client *client, struct hfi_waiter *waiter)
{
    struct hfi_link *link = &client->links[HFI_LINK_MAIN];

    hfi_write_as_guest(client);
    while (!atomic_load(&waiter->done)) {
        if (may_drive(client, waiter)) {
            drive(client, link, waiter);
            continue;
        }
        hfi_waiter_park(
            waiter, hfi_op_travels(waiter->op, HFI_LINK_MAIN) ? link : NULL);
        hfi_client_unlock(client);
        hfi_waiter_sleep(waiter);
        /* Nobody chooses a waiter whose call has ended: what is seen here
         * together stays so, and there is nothing left to do. */
        if (atomic_load(&waiter->done) && !waiter->chosen) {
            return;
        }
        hfi_client_lock(client);
        waiter->parked = false;
    }
    leave(client, link, waiter);
}
