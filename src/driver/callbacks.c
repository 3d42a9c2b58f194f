/* SPDX-License-Identifier: MIT */
/* driver/callbacks.c - running users' callbacks, and nothing else.
 *
 * Ended asynchronous calls and news of leases wait in two lists with one common
 * order.  A program with an event loop runs them in hf_client_dispatch(); any
 * other has them run by a thread of the client that is started with the first
 * of them.  No lock is held and nothing is being iterated while user code runs,
 * so a slow callback delays callbacks only: neither leases nor other calls.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "base/clock.h"
#include "base/fail.h"
#include "driver/client.h"

/* The client whose callback the calling thread is running, or NULL. */
static _Thread_local const struct hf_client *running_for;

bool hfi_in_callback_of(const struct hf_client *client)
{
    return running_for == client;
}

hf_status hfi_callbacks_init(struct hf_client *client, hf_error *reterr)
{
    client->callbacks.due.fd = -1;
    if (pthread_cond_init(&client->callbacks.cond, NULL) != 0) {
        return hfi_fail(reterr, HF_SYSTEM, "no condition variable");
    }
    return HF_OK;
}

void hfi_callbacks_free(struct hf_client *client)
{
    hfi_wake_close(&client->callbacks.due);
    pthread_cond_destroy(&client->callbacks.cond);
}

/* ---- what is due ---- */

bool hfi_callbacks_stranded(const struct hf_client *client)
{
    const struct hfi_callbacks *callbacks = &client->callbacks;

    return !callbacks->running && !callbacks->by_dispatch &&
           (callbacks->ended != NULL || callbacks->notices != NULL);
}

static void announce(struct hf_client *client)
{
    struct hfi_callbacks *callbacks = &client->callbacks;

    if (callbacks->by_dispatch) {
        callbacks->fire = true;
        return;
    }
    hfi_callbacks_need_thread(client);
    if (hfi_callbacks_stranded(client)) {
        hfi_keeper_nudge(client); /* it tries again */
    }
    hfi_async_wake(client);
}

void hfi_callbacks_add_ended(struct hf_client *client, struct hfi_async *async)
{
    async->order = ++client->callbacks.order;
    DL_APPEND(client->callbacks.ended, async);
    announce(client);
}

void hfi_callbacks_add_notice(struct hf_client *client, struct hfi_terms *terms)
{
    terms->order = ++client->callbacks.order;
    DL_APPEND(client->callbacks.notices, terms);
    announce(client);
}

/* ---- running one ---- */

static void run_ended(struct hf_client *client, struct hfi_async *async)
{
    hf_completion done;

    if (async->run != NULL) {
        async->run(async);
        return;
    }
    if (async->tell != NULL) {
        async->tell(async);
        hfi_client_unref(client);
        free(async);
        return;
    }
    memset(&done, 0, sizeof(done));
    done.status = async->status;
    done.error = async->status == HF_OK ? NULL : &async->error;
    done.lock = async->lock;
    done.owner = async->owner;
    if (async->owner_is_new && async->status != HF_OK) {
        /* Nothing is held by it: it never gets into the caller's hands. */
        done.owner = NULL;
        hf_owner_free(async->owner);
    }
    async->done(&done, async->context);
    hfi_client_unref(client);
    free(async);
}

struct news {
    bool lost;
    bool warning;
    char owner[sizeof(((struct hfi_terms *)0)->owner)];
    hf_lease_event event;
};

/* Take the news out of the terms, which may get newer ones meanwhile. */
static void take_news(struct hf_client *client, struct hfi_terms *terms,
                      struct news *ret_news)
{
    int64_t left = terms->deadline_ms - hfi_clock_ms();

    memset(ret_news, 0, sizeof(*ret_news));
    ret_news->lost = terms->tell_lost;
    ret_news->warning = terms->tell_warning;
    ret_news->event.client = client;
    ret_news->event.name = terms->name;
    ret_news->event.name_bytes = terms->name_bytes;
    memcpy(ret_news->owner, terms->owner, sizeof(ret_news->owner));
    ret_news->event.owner = ret_news->owner;
    ret_news->event.state = terms->warning_state;
    ret_news->event.reason = terms->warning_reason;
    ret_news->event.remaining_ms = left > 0 ? left : 0;
    terms->tell_lost = false;
    terms->tell_warning = false;
    terms->queued = false;
}

static void run_notice(struct hf_client *client, struct hfi_terms *terms)
{
    struct news news;
    hf_lost_reason lost_reason;

    hfi_client_lock(client);
    take_news(client, terms, &news);
    lost_reason = terms->lost_reason;
    hfi_client_unlock(client);
    /* A warning that the loss has overtaken is of no use to anybody. */
    if (news.warning && !news.lost) {
        terms->on_warning(&news.event, terms->context);
    }
    if (news.lost) {
        news.event.state = HF_STATE_LOST;
        news.event.reason = lost_reason;
        news.event.remaining_ms = 0;
        terms->on_lost(&news.event, terms->context);
    }
    hfi_client_lock(client);
    hfi_terms_unref(terms);
    hfi_client_unlock(client);
}

/* Run the oldest that is due; the mutex is held before and after.  false: none
 * was. */
static bool run_one(struct hf_client *client)
{
    struct hfi_callbacks *callbacks = &client->callbacks;
    struct hfi_async *async = callbacks->ended;
    struct hfi_terms *terms = callbacks->notices;

    if (async == NULL && terms == NULL) {
        return false;
    }
    if (async != NULL && (terms == NULL || async->order < terms->order)) {
        DL_DELETE(callbacks->ended, async);
        hfi_client_unlock(client);
        run_ended(client, async);
    } else {
        DL_DELETE(callbacks->notices, terms);
        hfi_client_unlock(client);
        run_notice(client, terms);
    }
    hfi_client_lock(client);
    return true;
}

/* Run what is due now, not what comes meanwhile; the mutex is not held. */
size_t hfi_callbacks_run(struct hf_client *client)
{
    const struct hf_client *outer = running_for;
    size_t count = 0;
    uint64_t last;

    running_for = client;
    hfi_client_lock(client);
    if (client->callbacks.by_dispatch) {
        hfi_wake_drain(&client->callbacks.due);
    }
    last = client->callbacks.order;
    while (((client->callbacks.ended != NULL &&
             client->callbacks.ended->order <= last) ||
            (client->callbacks.notices != NULL &&
             client->callbacks.notices->order <= last)) &&
           run_one(client)) {
        count++;
    }
    if (client->callbacks.by_dispatch && (client->callbacks.ended != NULL ||
                                          client->callbacks.notices != NULL)) {
        client->callbacks.fire = true;
    }
    hfi_client_unlock(client);
    running_for = outer;
    return count;
}

/* ---- the thread ---- */

static void *callback_main(void *context)
{
    struct hf_client *client = context;
    struct hfi_callbacks *callbacks = &client->callbacks;

    running_for = client;
    hfi_client_lock(client);
    callbacks->drives = true;
    for (;;) {
        hfi_async_away(client);
        while (!callbacks->by_dispatch && run_one(client)) {
            hfi_write_as_guest(client);
        }
        if (callbacks->stop) {
            break;
        }
        hfi_drive_async(client);
    }
    hfi_client_unlock(client);
    return NULL;
}

void hfi_callbacks_need_thread(struct hf_client *client)
{
    struct hfi_callbacks *callbacks = &client->callbacks;
    sigset_t all, before;

    if (callbacks->running || callbacks->by_dispatch || callbacks->stop) {
        return;
    }
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    callbacks->running = pthread_create(&callbacks->thread, NULL, callback_main,
                                        client) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void hfi_callbacks_close(struct hf_client *client)
{
    struct hfi_callbacks *callbacks = &client->callbacks;
    const struct hf_client *outer = running_for;
    bool running;

    hfi_client_lock(client);
    callbacks->stop = true;
    running = callbacks->running;
    hfi_async_wake(client);
    hfi_client_unlock(client);
    if (running) {
        pthread_join(callbacks->thread, NULL);
        callbacks->running = false;
    }
    running_for = client;
    hfi_client_lock(client);
    while (run_one(client)) {
    }
    hfi_client_unlock(client);
    running_for = outer;
}
