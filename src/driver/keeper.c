/* SPDX-License-Identifier: MIT */
/* driver/keeper.c - the background thread of a client.
 *
 * In one turn it looks at deadlines first, then sends renewals that are due
 * (both in hfi_core_tick()), looks after connections, and then reads a bounded
 * amount from each link it drives: its own, the pub/sub link, and the main link
 * when calls are in flight on that and no thread waits for them.
 *
 * A message that it reads makes it send the head waiter's next attempt itself,
 * on its own link: the waiter is woken by the answer, one hop and not two.
 *
 * It never resolves names, never runs a user's code, and blocks all signals.
 */
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>

#include <utlist.h>

#include "base/clock.h"
#include "base/fail.h"
#include "driver/client.h"

/* poll does not count the time that a machine sleeps, leases do: so while
 * anything is held or waited for, no sleep is longer than this. */
#define SLEEP_MAX_MS 1000

/* A thread that could not be started is tried again so often. */
#define THREAD_AGAIN_MS 100

void hfi_keeper_nudge(struct hf_client *client)
{
    if (!client->keeper_woken) {
        client->keeper_woken = true;
        client->fire_keeper = true;
    }
}

void hfi_keeper_by(struct hf_client *client, int64_t at_ms)
{
    if (client->keeper_asleep && at_ms < client->keeper_until_ms) {
        hfi_keeper_nudge(client);
    }
}

/* ---- cancellations ---- */

void hfi_client_fire_cancels(struct hf_client *client, int64_t now)
{
    struct hfi_user *user;
    size_t count;

    if (!atomic_exchange(&client->cancel_fired, false)) {
        return;
    }
    /* From the last: a waiter that becomes the first of its FIFO because the
     * one before it was cancelled would ask the server for nothing. */
    DL_COUNT(client->cancellable, user, count);
    user = client->cancellable == NULL ? NULL : client->cancellable->prev;
    while (count-- > 0) {
        struct hfi_user *before = user->prev;

        if (!atomic_load(&user->cancel->fired)) {
            user = before;
            continue;
        }
        if (user->op == NULL) {
            hfi_task_due(client, user->fired);
        } else {
            hfi_core_cancel(client->core, user->op, HF_CANCELLED, now);
        }
        user = before;
    }
}

/* ---- links ---- */

/* A link that owes answers and is silent is shut down; whoever drives it finds
 * the end of the file.  (A waiter may be in poll on it at this moment.)  If the
 * keeper itself comes much too late, the process was stopped: what has come
 * meanwhile could not be read, so the link gets as long again. */
static void bury_dead_links(struct hf_client *client, int64_t now)
{
    for (size_t i = 0; i < HFI_LINKS; i++) {
        struct hfi_link *link = &client->links[i];
        int64_t dead_at = hfi_link_dead_at(link);

        if (now < dead_at) {
            continue;
        }
        if (now - dead_at < client->options.response_limit_ms / 2) {
            shutdown(link->fd, SHUT_RDWR);
        }
        link->heard_ms = now;
    }
    hfi_link_ping(&client->links[HFI_LINK_PUBSUB], now);
}

static bool is_mine(const struct hfi_link *link)
{
    return link->fd >= 0 && link->driver == HFI_KEEPER && !link->writing;
}

/* Write what there is; the mutex is released meanwhile. */
static void write_out(struct hf_client *client, struct hfi_link *link)
{
    bool written;
    int64_t now;

    if (!is_mine(link) || link->state == HFI_LINK_CONNECTING ||
        !hfi_link_take_output(link)) {
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
        if (link->state == HFI_LINK_GREETING) {
            hfi_fail(&client->open_error, HF_UNREACHABLE,
                     "the connection was closed at once");
            hfi_connect_failed(link, now);
        } else {
            hfi_link_tear_down(link, now);
        }
    }
    hfi_settle(client, now);
}

static void take_in(struct hf_client *client, struct hfi_link *link,
                    struct hfi_input *input, int64_t now)
{
    bool greeting = link->state == HFI_LINK_GREETING;

    hfi_link_deliver(link, input, now);
    if (input->broken && greeting) {
        hf_error *error = &client->open_error;

        if (input->why == HF_PROTOCOL && error->status != HF_PROTOCOL) {
            hfi_fail(error, HF_PROTOCOL,
                     "what answers there is no Redis or Valkey server");
        } else if (input->why == HF_UNREACHABLE) {
            hfi_fail_errno(error, HF_UNREACHABLE, input->sys_errno,
                           "the connection was closed in the handshake");
        } else if (input->why == HF_NOMEM) {
            hfi_fail(error, HF_NOMEM, "out of memory");
        }
        hfi_connect_failed(link, now);
    } else if (input->broken) {
        hfi_link_tear_down(link, now);
    }
    hfi_settle(client, now);
}

static void read_in(struct hf_client *client, struct hfi_link *link)
{
    struct hfi_input input;
    int64_t now;

    link->in_use = true;
    hfi_client_unlock(client);
    hfi_link_read(link, &input);
    now = hfi_clock_ms();
    hfi_client_lock(client);
    link->in_use = false;
    take_in(client, link, &input, now);
}

/* The attempt of a waiter that a message woke is on its way: its answer is a
 * moment away, and a thread waits for it. */
static void look_for_grant(struct hf_client *client)
{
    struct hfi_link *link = &client->links[HFI_LINK_KEEPER];
    struct hfi_input input;
    bool found;
    int64_t now;

    if (link->call_count != 1 ||
        link->calls[link->call_first].copy->request != HFI_ACQUIRE ||
        !hfi_link_may_spin(link)) {
        return;
    }
    hfi_client_unlock(client);
    found = hfi_link_spin(link, &input);
    now = hfi_clock_ms();
    hfi_client_lock(client);
    hfi_link_spun(link, found);
    if (found) {
        take_in(client, link, &input, now);
    }
}

/* ---- a turn ---- */

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int64_t hfi_keeper_due(const struct hf_client *client, int64_t now)
{
    int64_t due = earlier(hfi_core_next_due_ms(client->core),
                          hfi_connect_due(client));

    for (size_t i = 0; i < HFI_LINKS; i++) {
        const struct hfi_link *link = &client->links[i];

        due = earlier(due, hfi_link_dead_at(link));
        if (is_mine(link) && link->more) {
            due = now;
        }
    }
    due = earlier(due, hfi_timers_due(client));
    due = earlier(due, hfi_async_due(client));
    due = earlier(due, hfi_left_due(client));
    if (!hfi_core_idle(client->core)) {
        due = earlier(due, now + SLEEP_MAX_MS);
    }
    if (hfi_callbacks_stranded(client)) {
        due = earlier(due, now + THREAD_AGAIN_MS);
    }
    return due;
}

/* The main link, and nobody has anything to do with it: only its end is news,
 * so that the next call, or a renewal, finds a living one. */
static bool is_idle(const struct hfi_link *link)
{
    return link->state == HFI_LINK_UP && link->driver == HFI_NOBODY &&
           link->call_count == 0 && !link->writing;
}

/* What to poll a link for; 0: it is somebody else's. */
static short events_of(const struct hfi_link *link)
{
    if (is_idle(link)) {
        return POLLRDHUP;
    }
    if (!is_mine(link)) {
        return 0;
    }
    if (link->state == HFI_LINK_CONNECTING) {
        return POLLOUT;
    }
    return link->sent < link->sending.len ? POLLIN | POLLOUT : POLLIN;
}

/* Poll what is ours, without the mutex; what is ready is marked in `ready`. */
static void sleep_until(struct hf_client *client, int64_t due, int64_t now,
                        bool ready[HFI_LINKS])
{
    struct pollfd fds[HFI_LINKS + 1];
    size_t of[HFI_LINKS + 1];
    nfds_t count = 1;
    int timeout = -1;

    fds[0] = (struct pollfd){client->wake.fd, POLLIN, 0};
    for (size_t i = 0; i < HFI_LINKS; i++) {
        struct hfi_link *link = &client->links[i];
        short events = events_of(link);

        ready[i] = false;
        if (events == 0) {
            continue;
        }
        fds[count] = (struct pollfd){link->fd, events, 0};
        of[count++] = i;
    }
    if (due != INT64_MAX) {
        timeout = due <= now ? 0 : (int)earlier(due - now, INT32_MAX);
    }
    client->keeper_until_ms = due;
    client->keeper_asleep = true;
    client->keeper_polls_news = is_mine(&client->links[HFI_LINK_PUBSUB]);
    hfi_client_unlock(client);
    if (poll(fds, count, timeout) > 0 && fds[0].revents != 0) {
        hfi_wake_drain(&client->wake);
    }
    hfi_client_lock(client);
    client->keeper_asleep = false;
    client->keeper_woken = false;
    for (nfds_t i = 1; i < count; i++) {
        const struct hfi_link *link = &client->links[of[i]];

        ready[of[i]] = fds[i].revents != 0 || (is_mine(link) && link->more);
    }
}

static void read_ready(struct hf_client *client, const bool ready[HFI_LINKS])
{
    for (size_t i = HFI_LINKS; i-- > 0;) {
        struct hfi_link *link = &client->links[i];

        if (ready[i] && is_idle(link)) {
            hfi_link_tear_down(link, hfi_clock_ms());
            hfi_settle(client, hfi_clock_ms());
        }
        if (!ready[i] || !is_mine(link)) {
            continue;
        }
        if (link->state == HFI_LINK_CONNECTING) {
            hfi_connect_writable(link, hfi_clock_ms());
        } else {
            read_in(client, link);
        }
    }
}

/* The main link may have calls in flight that nobody waits for any more. */
static void mind_the_main_link(struct hf_client *client)
{
    struct hfi_link *link = &client->links[HFI_LINK_MAIN];

    if (link->state != HFI_LINK_UP) {
        return;
    }
    if (link->driver == HFI_NOBODY || hfi_async_due(client) <= hfi_clock_ms() ||
        (link->driver == HFI_KEEPER && link->call_count == 0 &&
         !hfi_link_has_output(link))) {
        hfi_pass_main_link_on(client);
    }
}

static void keeper_turn(struct hf_client *client)
{
    int64_t now = hfi_clock_ms();
    bool ready[HFI_LINKS];

    hfi_core_tick(client->core, now);
    hfi_client_fire_cancels(client, now);
    hfi_timers_fire(client, now);
    bury_dead_links(client, now);
    hfi_connect_step(client, now);
    hfi_settle(client, now);
    mind_the_main_link(client);
    if (hfi_callbacks_stranded(client)) {
        hfi_callbacks_need_thread(client);
    }
    for (size_t i = 0; i < HFI_LINKS; i++) {
        write_out(client, &client->links[i]);
    }
    look_for_grant(client);
    if (client->closing) {
        pthread_cond_broadcast(&client->quiet);
    }
    if (client->stop) {
        return;
    }
    now = hfi_clock_ms();
    sleep_until(client, hfi_keeper_due(client, now), now, ready);
    read_ready(client, ready);
}

static void *keeper_main(void *context)
{
    struct hf_client *client = context;

    hfi_client_lock(client);
    while (!client->stop) {
        keeper_turn(client);
    }
    hfi_client_unlock(client);
    return NULL;
}

/* ---- its life ---- */

hf_status hfi_keeper_start(struct hf_client *client, hf_error *reterr)
{
    sigset_t all, before;
    int error;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(&client->keeper, NULL, keeper_main, client);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error != 0) {
        return hfi_fail_errno(reterr, HF_SYSTEM, error,
                              "the keeper thread cannot be started");
    }
    client->keeper_runs = true;
    return HF_OK;
}

void hfi_keeper_stop(struct hf_client *client)
{
    if (!client->keeper_runs) {
        return;
    }
    hfi_client_lock(client);
    client->stop = true;
    hfi_keeper_nudge(client);
    hfi_client_unlock(client);
    pthread_join(client->keeper, NULL);
    client->keeper_runs = false;
}
