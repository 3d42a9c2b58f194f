/* SPDX-License-Identifier: MIT */
/* driver/client.c - a client's life: opened, entered and left, closed.
 *
 * Opening: parse the URL, start a private server if it names one, start the
 * keeper, and wait until it has made the main link or has failed to.
 *
 * Closing: refuse new calls, end what runs, lose and undo what is held, give
 * the undos a second, wait for the threads inside, stop the keeper, run the
 * callbacks that are left.  The memory goes with the last lock, owner or token
 * that was made from the client.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fail.h"
#include "base/ids.h"
#include "driver/client.h"
#include "net/local_server.h"

/* A server on the same machine or in the same rack answers within this; to put
 * a processor to sleep and wake it may take longer. */
#define SPIN_US 30

/* What closing gives all releases together. */
#define CLOSE_MS 1000

/* ---- locked, entered ---- */

void hfi_client_ref(struct hf_client *client)
{
    atomic_fetch_add(&client->refs, 1);
}

void hfi_client_lock(struct hf_client *client)
{
    pthread_mutex_lock(&client->mutex);
}

/* A call that ends without a word from the server (an export, a level left) can
 * send another's: then there are calls in flight, and nobody drives them. */
static void find_driver(struct hf_client *client)
{
    const struct hfi_link *link = &client->links[HFI_LINK_MAIN];

    if (link->driver == HFI_NOBODY && hfi_main_link_owes(client) &&
        (link->left_ms == 0 || hfi_link_has_output(link))) {
        hfi_pass_main_link_on(client);
    }
}

void hfi_client_unlock(struct hf_client *client)
{
    struct hfi_beds to_wake;
    struct hfi_task *tasks;
    bool fire_keeper, fire_main, fire_due;
    int cancel_state;

    find_driver(client);
    to_wake.count = client->to_wake.count;
    memcpy(to_wake.each, client->to_wake.each,
           to_wake.count * sizeof(to_wake.each[0]));
    fire_keeper = client->fire_keeper;
    fire_main = client->fire_main;
    fire_due = client->callbacks.fire;
    tasks = client->tasks;
    client->tasks = NULL;
    client->to_wake.count = 0;
    client->fire_keeper = false;
    client->fire_main = false;
    client->callbacks.fire = false;
    pthread_mutex_unlock(&client->mutex);
    if (!fire_main && !fire_keeper && !fire_due && to_wake.count == 0 &&
        tasks == NULL) {
        return;
    }
    /* A thread that is cancelled in the write would leave others asleep. */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    if (fire_main) {
        hfi_wake_fire(&client->links[HFI_LINK_MAIN].wake);
    }
    if (fire_keeper) {
        hfi_wake_fire(&client->wake);
    }
    if (fire_due) {
        hfi_wake_fire(&client->callbacks.due);
    }
    hfi_beds_wake(&to_wake);
    hfi_tasks_run(tasks);
    pthread_setcancelstate(cancel_state, NULL);
}

hf_status hfi_client_enter(struct hf_client *client, bool blocks,
                           hf_error *reterr)
{
    if (client == NULL) {
        return hfi_fail(reterr, HF_INVALID, "the client is NULL");
    }
    if (client->generation != hfi_fork_generation()) {
        return hfi_fail(reterr, HF_FORKED, "%s", hf_status_text(HF_FORKED));
    }
    if (blocks && hfi_in_callback_of(client)) {
        return hfi_fail(reterr, HF_IN_CALLBACK,
                        "a call that blocks is not allowed in a callback");
    }
    hfi_client_lock(client);
    if (client->closing) {
        hfi_client_unlock(client);
        return hfi_fail(reterr, HF_CLOSED, "%s", hf_status_text(HF_CLOSED));
    }
    client->inside++;
    return HF_OK;
}

void hfi_client_left(struct hf_client *client)
{
    client->inside--;
    if (client->closing) {
        pthread_cond_broadcast(&client->quiet);
    }
}

void hfi_client_leave(struct hf_client *client)
{
    hfi_client_left(client);
    hfi_client_unlock(client);
}

/* ---- opened ---- */

/* Every version's struct begins with its size, and is only ever added to.  A
 * newer caller may hand over fields that this version has never heard of: fine
 * as long as they are zero, that is, not asked for. */
bool hfi_options_read(const void *in, size_t in_bytes, void *own,
                      size_t own_bytes)
{
    const unsigned char *bytes = in;

    if (in_bytes < own_bytes) {
        return false; /* there is no older version yet: it was zeroed by hand */
    }
    for (size_t i = own_bytes; i < in_bytes; i++) {
        if (bytes[i] != 0) {
            return false;
        }
    }
    memcpy(own, in, own_bytes);
    return true;
}

static int64_t or_default(int64_t value, int64_t otherwise)
{
    return value == 0 ? otherwise : value;
}

static hf_status read_options(struct hf_client *client,
                              const hf_options *options, hf_error *reterr)
{
    hf_options *own = &client->options;
    static const hf_options defaults = HF_OPTIONS_INIT;
    const char *wrong = NULL;

    *own = defaults;
    if (options != NULL &&
        !hfi_options_read(options, options->size, own, sizeof(*own))) {
        return hfi_fail(reterr, HF_INVALID,
                        "hf_options: begin with HF_OPTIONS_INIT");
    }
    own->connect_limit_ms = or_default(own->connect_limit_ms, 3000);
    own->response_limit_ms = or_default(own->response_limit_ms, 3000);
    own->lease_ms = or_default(own->lease_ms, 30000);
    own->retry_bound_ms = or_default(own->retry_bound_ms, 2000);
    own->spin_us = own->spin_us == 0 ? SPIN_US : own->spin_us;
    own->foreign_watchdog_ms = or_default(own->foreign_watchdog_ms, 30000);
    if (own->connect_limit_ms < 1 || own->connect_limit_ms > 3600000) {
        wrong = "connect_limit_ms: 1 ms to an hour";
    } else if (own->response_limit_ms < 1 || own->response_limit_ms > 3600000) {
        wrong = "response_limit_ms: 1 ms to an hour";
    } else if (own->lease_ms < HF_LEASE_MIN_MS ||
               own->lease_ms > HF_LEASE_MAX_MS) {
        wrong = "lease_ms: 10 ms to ten years";
    } else if (own->retry_bound_ms < 10 || own->retry_bound_ms > 3600000) {
        wrong = "retry_bound_ms: 10 ms to an hour";
    } else if (own->spin_us < -1 || own->spin_us > 1000000) {
        wrong = "spin_us: -1 (never), or up to a second";
    } else if (own->foreign_watchdog_ms < 100 ||
               own->foreign_watchdog_ms > HF_LEASE_MAX_MS) {
        wrong = "foreign_watchdog_ms: 100 ms to ten years";
    }
    return wrong == NULL
               ? HF_OK
               : hfi_fail(reterr, HF_INVALID, "hf_options: %s", wrong);
}

/* The password of the options wins over the URL's. */
static hf_status read_password(struct hf_client *client, hf_error *reterr)
{
    const char *password = client->options.password != NULL
                               ? client->options.password
                               : client->url.password;

    client->options.password = NULL;
    if (password == NULL) {
        return HF_OK;
    }
    client->password = strdup(password);
    return client->password != NULL
               ? HF_OK
               : hfi_fail(reterr, HF_NOMEM, "out of memory");
}

/* Where there is no name to resolve the address is known at once. */
static hf_status find_server(struct hf_client *client, hf_error *reterr)
{
    struct hfi_local_server local;
    const char *path = client->url.path;
    hf_status status;

    hfi_url_describe(&client->url, client->server, sizeof(client->server));
    if (client->url.kind == HFI_URL_TCP) {
        return hfi_resolver_new(&client->wake, &client->resolver, reterr);
    }
    if (client->url.kind == HFI_URL_LOCAL) {
        status = hfi_local_server_start(client->url.name, &local, reterr);
        if (status != HF_OK) {
            return status;
        }
        path = local.socket;
    }
    client->address_count = 1;
    return hfi_address_unix(path, &client->addresses[0], reterr);
}

static hf_status make_core(struct hf_client *client, hf_error *reterr)
{
    struct hfi_core_config config;

    memset(&config, 0, sizeof(config));
    if (!hfi_uuid_make(client->uuid)) {
        return hfi_fail(reterr, HF_SYSTEM, "no random numbers");
    }
    memcpy(config.uuid, client->uuid, sizeof(config.uuid));
    config.seed = hfi_seed_make();
    client->random = config.seed ^ 1;
    config.response_limit_ms = client->options.response_limit_ms;
    config.connect_limit_ms = client->options.connect_limit_ms;
    config.retry_bound_ms = client->options.retry_bound_ms;
    config.foreign_watchdog_ms = client->options.foreign_watchdog_ms;
    config.local_reentry = client->options.local_reentry != 0;
    client->core = hfi_core_new(&config);
    client->channels = hfi_channels_new();
    if (client->core == NULL || client->channels == NULL) {
        return hfi_fail(reterr, HF_NOMEM, "out of memory");
    }
    return HF_OK;
}

/* With many threads the mutex is wanted by two processors at once, and held for
 * about a microsecond: to look again is cheaper than to sleep. */
static bool make_mutex(pthread_mutex_t *mutex)
{
    pthread_mutexattr_t attr;
    bool made;

    if (pthread_mutexattr_init(&attr) != 0) {
        return false;
    }
#ifdef __GLIBC__
    (void)pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ADAPTIVE_NP);
#endif
    made = pthread_mutex_init(mutex, &attr) == 0;
    pthread_mutexattr_destroy(&attr);
    return made;
}

/* Mutex and condition; until this has worked nothing else may be tried. */
static hf_status make_locks(struct hf_client *client, hf_error *reterr)
{
    pthread_condattr_t attr;
    bool made;

    if (!make_mutex(&client->mutex)) {
        return hfi_fail(reterr, HF_SYSTEM, "no mutex");
    }
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    made = pthread_cond_init(&client->quiet, &attr) == 0;
    pthread_condattr_destroy(&attr);
    if (!made || hfi_callbacks_init(client, reterr) != HF_OK) {
        pthread_mutex_destroy(&client->mutex);
        return hfi_fail(reterr, HF_SYSTEM, "no condition variable");
    }
    return HF_OK;
}

static hf_status make_parts(struct hf_client *client, const char *url,
                            const hf_options *options, hf_error *reterr)
{
    hf_status status = read_options(client, options, reterr);

    if (status == HF_OK) {
        status = hfi_url_parse(url, &client->url, reterr);
    }
    if (status == HF_OK) {
        status = read_password(client, reterr);
    }
    if (status == HF_OK) {
        status = make_core(client, reterr);
    }
    if (status == HF_OK) {
        status = hfi_wake_open(&client->wake, reterr);
    }
    if (status == HF_OK) {
        status = hfi_wake_open(&client->links[HFI_LINK_MAIN].wake, reterr);
    }
    if (status == HF_OK) {
        status = find_server(client, reterr);
    }
    return status;
}

static void wait_quiet(struct hf_client *client, int64_t until_ms)
{
    struct timespec at;
    int64_t left = until_ms - hfi_clock_ms();

    left = left < 0 ? 0 : left;
    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += left / 1000;
    at.tv_nsec += (left % 1000) * 1000000;
    if (at.tv_nsec >= 1000000000) {
        at.tv_sec++;
        at.tv_nsec -= 1000000000;
    }
    pthread_cond_timedwait(&client->quiet, &client->mutex, &at);
}

static hf_status wait_until_open(struct hf_client *client, hf_error *reterr)
{
    hf_status status = HF_OK;

    hfi_client_lock(client);
    while (!client->opened && client->links[HFI_LINK_MAIN].failures == 0) {
        wait_quiet(client, hfi_clock_ms() + 1000);
    }
    if (!client->opened) {
        status = client->open_error.status;
        hfi_fail(reterr, status, "%s: %s", client->server,
                 client->open_error.message);
        hfi_error_node(reterr, client->server);
        if (reterr != NULL) {
            reterr->sys_errno = client->open_error.sys_errno;
        }
    }
    hfi_client_unlock(client);
    return status;
}

static void take_apart(struct hf_client *client);

static hf_status open_client(const char *url, const hf_options *options,
                             hf_client **ret_client, hf_error *reterr)
{
    struct hf_client *client;
    hf_status status;

    if (url == NULL || ret_client == NULL) {
        return hfi_fail(reterr, HF_INVALID, "hf_client_open: %s is NULL",
                        url == NULL ? "url" : "ret_client");
    }
    hfi_threads_init();
    client = calloc(1, sizeof(*client));
    if (client == NULL) {
        return hfi_fail(reterr, HF_NOMEM, "out of memory");
    }
    atomic_init(&client->refs, 1);
    client->generation = hfi_fork_generation();
    client->wake.fd = -1;
    for (size_t i = 0; i < HFI_LINKS; i++) {
        hfi_link_init(client, i);
    }
    status = make_locks(client, reterr);
    if (status != HF_OK) {
        free(client);
        return status;
    }
    status = make_parts(client, url, options, reterr);
    if (status == HF_OK) {
        status = hfi_keeper_start(client, reterr);
    }
    if (status == HF_OK) {
        status = wait_until_open(client, reterr);
    }
    if (status != HF_OK) {
        hfi_client_lock(client);
        client->closing = true;
        hfi_client_unlock(client);
        hfi_keeper_stop(client);
        take_apart(client);
        hfi_client_unref(client);
        return status;
    }
    hfi_clients_add(client);
    *ret_client = client;
    return HF_OK;
}

/* Neither opening nor closing ends half done by pthread_cancel(). */
hf_status hf_client_open(const char *url, const hf_options *options,
                         hf_client **ret_client, hf_error *reterr)
{
    hf_status status;
    int cancel_state;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    status = open_client(url, options, ret_client, reterr);
    pthread_setcancelstate(cancel_state, NULL);
    return status;
}

/* ---- closed ---- */

/* Give back what is on its way, and free all that only an open client needs.
 * The keeper has stopped, and nobody is inside. */
static void take_apart(struct hf_client *client)
{
    int64_t now = hfi_clock_ms();

    for (size_t i = 0; i < HFI_LINKS; i++) {
        if (client->core != NULL && client->channels != NULL) {
            hfi_link_tear_down(&client->links[i], now);
        }
        if (i != HFI_LINK_MAIN) {
            hfi_link_fini(&client->links[i]);
        }
    }
    hfi_core_free(client->core);
    client->core = NULL;
    hfi_channels_free(client->channels);
    client->channels = NULL;
    if (client->resolver != NULL) {
        hfi_resolver_free(client->resolver);
    }
    client->resolver = NULL;
    hfi_command_free(&client->scratch);
    hfi_url_free(&client->url);
    if (client->password != NULL) {
        hfi_wipe(client->password, strlen(client->password));
        free(client->password);
        client->password = NULL;
    }
}

/* The last reference: of a lock, an owner, a token, or of closing. */
void hfi_client_unref(struct hf_client *client)
{
    if (atomic_fetch_sub(&client->refs, 1) != 1) {
        return;
    }
    /* What a token that is fired late, or an event loop, may still touch. */
    hfi_link_fini(&client->links[HFI_LINK_MAIN]);
    hfi_wake_close(&client->wake);
    if (client->generation == hfi_fork_generation()) {
        hfi_callbacks_free(client);
        pthread_cond_destroy(&client->quiet);
        pthread_mutex_destroy(&client->mutex);
    }
    free(client);
}

/* In a forked child: no thread, no waiting, no word to the server.  What a
 * thread of the parent had in its hands when we forked is in no state to be
 * freed, and is left alone: a reader, which its driver fills without the mutex;
 * and if somebody held the mutex, all but the descriptors. */
static void close_in_child(struct hf_client *client)
{
    bool whole = pthread_mutex_trylock(&client->mutex) == 0;

    for (size_t i = 0; i < HFI_LINKS; i++) {
        client->links[i].reader = NULL;
        if (!whole && client->links[i].fd >= 0) {
            close(client->links[i].fd);
        }
    }
    if (!whole) {
        return;
    }
    take_apart(client);
    hfi_client_unref(client);
}

static void end_everything(struct hf_client *client)
{
    int64_t until = hfi_clock_ms() + CLOSE_MS;

    hfi_core_close(client->core, hfi_clock_ms());
    hfi_settle(client, hfi_clock_ms());
    hfi_timers_fire(client, hfi_clock_ms());
    if (hfi_async_is_away(client)) {
        hfi_pass_main_link_on(client);
    }
    hfi_link_nudge(&client->links[HFI_LINK_MAIN]);
    hfi_keeper_nudge(client);
    /* The keeper has to hear of it before this thread sleeps. */
    hfi_client_unlock(client);
    hfi_client_lock(client);
    while (!hfi_core_ended(client->core) && hfi_clock_ms() < until) {
        wait_quiet(client, until);
    }
    /* A driver whose call was ended by others is not inside any more, but it
     * may be in poll yet, and has the link in its hands. */
    while (client->inside > 0 || client->links[HFI_LINK_MAIN].writing ||
           client->links[HFI_LINK_MAIN].driver == HFI_WAITER) {
        wait_quiet(client, hfi_clock_ms() + CLOSE_MS);
    }
}

hf_status hf_client_close(hf_client *client)
{
    int cancel_state;

    if (client == NULL) {
        return HF_OK;
    }
    if (client->generation != hfi_fork_generation()) {
        close_in_child(client);
        return HF_OK;
    }
    if (hfi_in_callback_of(client)) {
        return HF_IN_CALLBACK;
    }
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    hfi_clients_remove(client);
    hfi_client_lock(client);
    client->closing = true;
    end_everything(client);
    hfi_client_unlock(client);
    hfi_keeper_stop(client);
    hfi_callbacks_close(client);
    /* Locks and owners may be freed by other threads at any time. */
    hfi_client_lock(client);
    take_apart(client);
    hfi_client_unlock(client);
    hfi_client_unref(client);
    pthread_setcancelstate(cancel_state, NULL);
    return HF_OK;
}
