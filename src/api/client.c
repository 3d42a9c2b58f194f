/* SPDX-License-Identifier: MIT */
/* api/client.c - what a client tells of itself, event loops, owners, tokens. */
#include <stdlib.h>
#include <string.h>

#include "api/call.h"
#include "base/fail.h"

const char *hf_client_id(const hf_client *client)
{
    return client->uuid;
}

const char *hf_client_server(const hf_client *client)
{
    return client->server;
}

/* ---- event loops ---- */

int hf_client_fd(hf_client *client)
{
    struct hfi_callbacks *callbacks;
    int fd;

    if (hfi_client_enter(client, false, NULL) != HF_OK) {
        return -1;
    }
    callbacks = &client->callbacks;
    if (callbacks->due.fd < 0 &&
        hfi_wake_open(&callbacks->due, NULL) == HF_OK) {
        callbacks->by_dispatch = true;
        hfi_async_wake(client);
        callbacks->fire = callbacks->ended != NULL ||
                          callbacks->notices != NULL;
    }
    fd = callbacks->due.fd;
    hfi_client_leave(client);
    return fd;
}

/* Inside for as long as a callback runs: closing waits for it, and runs what is
 * left then. */
size_t hf_client_dispatch(hf_client *client)
{
    size_t count;
    int cancel_state;

    if (hfi_client_enter(client, true, NULL) != HF_OK) {
        return 0;
    }
    hfi_client_unlock(client);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    count = hfi_callbacks_run(client);
    pthread_setcancelstate(cancel_state, NULL);
    hfi_client_lock(client);
    hfi_client_leave(client);
    return count;
}

/* ---- statistics ---- */

hf_status hf_client_stats(hf_client *client, hf_stats *ret_stats)
{
    hf_stats stats = HF_STATS_INIT;
    hf_status status;

    if (ret_stats == NULL || ret_stats->size < sizeof(stats)) {
        return HF_INVALID;
    }
    status = hfi_client_enter(client, false, NULL);
    if (status != HF_OK) {
        return status;
    }
    hfi_core_stats(client->core, &stats);
    stats.reconnects = client->reconnects;
    stats.writes = client->writes;
    hfi_client_leave(client);
    stats.size = ret_stats->size;
    memcpy(ret_stats, &stats, sizeof(stats));
    return HF_OK;
}

/* ---- owners ---- */

hf_status hfi_owner_make(struct hf_client *client, hf_owner **ret_owner,
                         hf_error *reterr)
{
    hf_owner *owner = calloc(1, sizeof(*owner));

    if (owner != NULL) {
        owner->owner = hfi_owner_get(client->core, hfi_owner_id_new(), true);
    }
    if (owner == NULL || owner->owner == NULL) {
        free(owner);
        return hfi_fail(reterr, HF_NOMEM, "out of memory");
    }
    hfi_owner_ref(owner->owner);
    owner->client = client;
    owner->id = hfi_owner_id(owner->owner);
    hfi_client_ref(client);
    *ret_owner = owner;
    return HF_OK;
}

hf_status hf_owner_new(hf_client *client, hf_owner **ret_owner,
                       hf_error *reterr)
{
    hf_status status = hfi_client_enter(client, false, reterr);

    if (status != HF_OK) {
        return status;
    }
    status = hfi_owner_make(client, ret_owner, reterr);
    hfi_client_leave(client);
    return status;
}

hf_status hf_owner_free(hf_owner *owner)
{
    struct hf_client *client;
    bool alive;

    if (owner == NULL) {
        return HF_OK;
    }
    client = owner->client;
    if (client->generation == hfi_fork_generation()) {
        hfi_client_lock(client);
        alive = client->core != NULL;
        if (alive && !client->closing && hfi_owner_busy(owner->owner)) {
            hfi_client_unlock(client);
            return HF_STILL_HELD;
        }
        if (alive) {
            hfi_core_owner_gone(client->core, owner->owner, 0);
            hfi_owner_unref(client->core, owner->owner);
        }
        hfi_client_unlock(client);
    }
    free(owner);
    hfi_client_unref(client);
    return HF_OK;
}

/* ---- tokens ---- */

hf_status hf_cancel_new(hf_client *client, hf_cancel **ret_cancel,
                        hf_error *reterr)
{
    hf_cancel *cancel;
    hf_status status = hfi_client_enter(client, false, reterr);

    if (status != HF_OK) {
        return status;
    }
    cancel = calloc(1, sizeof(*cancel));
    if (cancel == NULL) {
        hfi_client_leave(client);
        return hfi_fail(reterr, HF_NOMEM, "out of memory");
    }
    atomic_init(&cancel->fired, false);
    cancel->client = client;
    hfi_client_ref(client);
    hfi_client_leave(client);
    *ret_cancel = cancel;
    return HF_OK;
}

/* Called from signal handlers too: two stores and a write, nothing else. */
void hf_cancel_fire(hf_cancel *cancel)
{
    atomic_store(&cancel->fired, true);
    atomic_store(&cancel->client->cancel_fired, true);
    hfi_wake_fire(&cancel->client->wake);
}

void hf_cancel_reset(hf_cancel *cancel)
{
    atomic_store(&cancel->fired, false);
}

void hf_cancel_free(hf_cancel *cancel)
{
    if (cancel != NULL) {
        hfi_client_unref(cancel->client);
        free(cancel);
    }
}
