/* SPDX-License-Identifier: MIT */
/* world.c - what most tests of this folder stand on; see world.h.
 *
 * A test never cleans up: what it made is noted here, and the end of the test
 * closes the clients first and frees the rest after, which is allowed in that
 * order only.  So a test that fails in the middle leaves nothing behind for
 * the next one either.
 */
#include "world.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/fatal.h"

_Thread_local hf_error problem;

static pthread_mutex_t told_mutex = PTHREAD_MUTEX_INITIALIZER;

/* ---- the life of a test -------------------------------------------------- */

int world_up(void **world)
{
    struct world *w = hft_alloc(sizeof(*w));

    w->server = hft_server_start(NULL);
    *world = w;
    return 0;
}

int world_down(void **world)
{
    struct world *w = *world;

    hft_server_free(w->server);
    free(w);
    return 0;
}

hf_options short_options(void)
{
    hf_options options = HF_OPTIONS_INIT;

    options.lease_ms = W_MS;
    options.connect_limit_ms = 2000;
    options.response_limit_ms = 2000;
    return options;
}

int world_begin(void **world)
{
    struct world *w = *world;
    hf_options options = short_options();

    (void)hft_int(w->server, "FLUSHALL");
    assert_ok(hf_client_open(hft_server_url(w->server), &options, &w->client,
                             &problem));
    return 0;
}

void close_clients(struct world *w)
{
    while (w->more_client_count > 0) {
        assert_ok(hf_client_close(w->more_clients[--w->more_client_count]));
    }
    assert_ok(hf_client_close(w->client));
    w->client = NULL;
}

static void free_what_was_made(struct world *w)
{
    while (w->lock_count > 0) {
        assert_ok(hf_lock_free(w->locks[--w->lock_count]));
    }
    while (w->owner_count > 0) {
        assert_ok(hf_owner_free(w->owners[--w->owner_count]));
    }
    while (w->cancel_count > 0) {
        hf_cancel_free(w->cancels[--w->cancel_count]);
    }
}

/* Hashes that have no TTL; counted on the server. */
static int64_t locks_without_ttl(struct world *w)
{
    return hft_int(w->server, "EVAL %s 0",
                   "local n = 0 "
                   "for _, key in ipairs(redis.call('keys', '*')) do "
                   "if redis.call('type', key).ok == 'hash' and "
                   "redis.call('pttl', key) == -1 then n = n + 1 end end "
                   "return n");
}

int world_end(void **world)
{
    struct world *w = *world;

    assert_int_equal(locks_without_ttl(w), 0);
    close_clients(w);
    free_what_was_made(w);
    assert_true(hft_wait_channels(w->server, 0, BOUND_MS));
    return 0;
}

/* ---- making things ------------------------------------------------------- */

hf_client *a_client_at(struct world *w, const char *url,
                       const hf_options *options)
{
    hf_client *client = NULL;

    assert_true(w->more_client_count <
                sizeof(w->more_clients) / sizeof(w->more_clients[0]));
    assert_ok(hf_client_open(url, options, &client, &problem));
    w->more_clients[w->more_client_count++] = client;
    return client;
}

hf_client *a_client(struct world *w)
{
    hf_options options = short_options();

    return a_client_at(w, hft_server_url(w->server), &options);
}

void keep_lock(struct world *w, hf_lock *lock)
{
    assert_true(w->lock_count < sizeof(w->locks) / sizeof(w->locks[0]));
    w->locks[w->lock_count++] = lock;
}

void keep_owner(struct world *w, hf_owner *owner)
{
    assert_true(w->owner_count < sizeof(w->owners) / sizeof(w->owners[0]));
    w->owners[w->owner_count++] = owner;
}

hf_lock *a_lock_of(struct world *w, hf_client *client, const char *name)
{
    hf_lock *lock = NULL;

    assert_ok(hf_lock_new(client, name, &lock, &problem));
    keep_lock(w, lock);
    return lock;
}

hf_lock *a_kind_of_lock(struct world *w, hf_client *client, hf_kind kind,
                        const char *name)
{
    hf_lock_options options = HF_LOCK_OPTIONS_INIT;
    hf_lock *lock = NULL;

    options.kind = kind;
    assert_ok(
        hf_lock_new_as(client, &options, name, strlen(name), &lock, &problem));
    keep_lock(w, lock);
    return lock;
}

hf_lock *a_lock(struct world *w, const char *name)
{
    return a_lock_of(w, w->client, name);
}

hf_owner *an_owner_of(struct world *w, hf_client *client)
{
    hf_owner *owner = NULL;

    assert_ok(hf_owner_new(client, &owner, &problem));
    keep_owner(w, owner);
    return owner;
}

hf_owner *an_owner(struct world *w)
{
    return an_owner_of(w, w->client);
}

hf_cancel *a_cancel(struct world *w)
{
    hf_cancel *cancel = NULL;

    assert_true(w->cancel_count < sizeof(w->cancels) / sizeof(w->cancels[0]));
    assert_ok(hf_cancel_new(w->client, &cancel, &problem));
    w->cancels[w->cancel_count++] = cancel;
    return cancel;
}

/* ---- calls in short ------------------------------------------------------ */

hf_status take(hf_lock *lock, hf_owner *owner, const hf_acquire *how)
{
    hf_acquire mine = HF_ACQUIRE_INIT;

    if (how != NULL) {
        mine = *how;
    }
    if (owner != NULL) {
        mine.owner = owner;
    }
    return hf_lock_acquire(lock, &mine, &problem);
}

hf_acquire once(hf_owner *owner, int64_t lease_ms)
{
    hf_acquire how = HF_ACQUIRE_INIT;

    how.wait_ms = 0;
    how.lease_ms = lease_ms;
    how.owner = owner;
    return how;
}

hf_status try_once(hf_lock *lock, hf_owner *owner)
{
    hf_acquire how = once(owner, 0);

    return take(lock, owner, &how);
}

hf_status try_fixed(hf_lock *lock, hf_owner *owner, int64_t lease_ms)
{
    hf_acquire how = once(owner, lease_ms);

    how.renew = 0;
    return take(lock, owner, &how);
}

hf_status wait_up_to(hf_lock *lock, hf_owner *owner, int64_t wait_ms)
{
    hf_acquire how = once(owner, 0);

    how.wait_ms = wait_ms;
    return take(lock, owner, &how);
}

hf_status leave(hf_lock *lock, hf_owner *owner)
{
    return hf_lock_release(lock, owner, &problem);
}

void check_status(hf_status expected, hf_status found, const char *call,
                  const char *file, int line)
{
    if (found != expected) {
        print_error("%s\n  is %s, not %s%s%s\n", call, hf_status_name(found),
                    hf_status_name(expected), found == HF_OK ? "" : ": ",
                    found == HF_OK ? "" : problem.message);
        _fail(file, line);
    }
}

void check_between(int64_t number, int64_t least, int64_t most,
                   const char *what, const char *file, int line)
{
    if (number < least || number > most) {
        print_error("%s\n  is %" PRId64 ", not within %" PRId64 " .. %" PRId64
                    "\n",
                    what, number, least, most);
        _fail(file, line);
    }
}

/* ---- the server's view --------------------------------------------------- */

int64_t wire_fields(struct world *w, const char *name)
{
    return hft_int(w->server, "HLEN %s", name);
}

int64_t wire_ttl(struct world *w, const char *name)
{
    return hft_int(w->server, "PTTL %s", name);
}

int64_t wire_count(struct world *w, const char *name)
{
    const char *counts = hft_str(w->server, "HVALS %s", name);

    return strtoll(counts, NULL, 10);
}

const char *wire_owner(struct world *w, const char *name)
{
    return hft_str(w->server, "HKEYS %s", name);
}

bool wire_free_within(struct world *w, const char *name, int64_t bound_ms)
{
    return hft_wait_int(w->server, 0, bound_ms, "EXISTS %s", name);
}

void stranger_takes(struct world *w, const char *name, int64_t lease_ms)
{
    (void)hft_int(w->server, "EVAL %s 1 %s %s %lld",
                  "redis.call('del', KEYS[1]) "
                  "redis.call('hset', KEYS[1], ARGV[1], 1) "
                  "return redis.call('pexpire', KEYS[1], ARGV[2])",
                  name, STRANGER, (long long)lease_ms);
}

void stranger_releases(struct world *w, const char *name)
{
    const char *channel = strchr(name, '{') != NULL
                              ? "redisson_lock__channel:"
                              : "redisson_lock__channel:{";
    const char *end = strchr(name, '{') != NULL ? "" : "}";

    (void)hft_int(w->server, "EVAL %s 1 %s %s%s%s",
                  "redis.call('del', KEYS[1]) "
                  "return redis.call('publish', ARGV[1], '0')",
                  name, channel, name, end);
}

void stranger_vanishes(struct world *w, const char *name)
{
    (void)hft_int(w->server, "DEL %s", name);
}

/* ---- the client's view --------------------------------------------------- */

hf_stats stats_of(hf_client *client)
{
    hf_stats stats = HF_STATS_INIT;

    if (hf_client_stats(client, &stats) != HF_OK) {
        hft_die("hf_client_stats failed");
    }
    return stats;
}

struct awaited {
    hf_client *client;
    int64_t count;
};

static bool waiters_are(void *context)
{
    const struct awaited *awaited = context;

    return stats_of(awaited->client).waiters == awaited->count;
}

bool waiters_become(hf_client *client, int64_t count, int64_t bound_ms)
{
    struct awaited awaited = {client, count};

    return hft_wait_until(waiters_are, &awaited, bound_ms);
}

static bool endings_are(void *context)
{
    const struct awaited *awaited = context;

    return stats_of(awaited->client).ending == awaited->count;
}

bool endings_become(hf_client *client, int64_t count, int64_t bound_ms)
{
    struct awaited awaited = {client, count};

    return hft_wait_until(endings_are, &awaited, bound_ms);
}

static bool scripts_are(void *context)
{
    const struct awaited *awaited = context;

    return stats_of(awaited->client).scripts_sent >= awaited->count;
}

bool scripts_reach(hf_client *client, int64_t at_least, int64_t bound_ms)
{
    struct awaited awaited = {client, at_least};

    return hft_wait_until(scripts_are, &awaited, bound_ms);
}

struct awaited_state {
    hf_lock *lock;
    hf_owner *owner;
    hf_lock_state expected;
};

static bool state_is(void *context)
{
    const struct awaited_state *awaited = context;

    return hf_lock_state_of(awaited->lock, awaited->owner, NULL) ==
           awaited->expected;
}

bool state_becomes(hf_lock *lock, hf_owner *owner, hf_lock_state expected,
                   int64_t bound_ms)
{
    struct awaited_state awaited = {lock, owner, expected};

    return hft_wait_until(state_is, &awaited, bound_ms);
}

static void note_event(struct told *told, const hf_lease_event *event)
{
    size_t length = event->name_bytes < sizeof(told->name) - 1
                        ? event->name_bytes
                        : sizeof(told->name) - 1;

    told->at_ms = hft_now_ms();
    told->remaining_ms = event->remaining_ms;
    told->name_bytes = event->name_bytes;
    memcpy(told->name, event->name, length);
    told->name[length] = '\0';
    (void)snprintf(told->owner, sizeof(told->owner), "%s", event->owner);
    told->client = event->client;
}

/* The state is noted by this function alone: the house rule for machines. */
static void told_move_to(struct told *told, hf_lock_state next)
{
    told->state = next;
}

void record_lost(const hf_lease_event *event, void *context)
{
    struct told *told = context;

    pthread_mutex_lock(&told_mutex);
    note_event(told, event);
    told_move_to(told, event->state);
    told->reason = event->reason;
    told->losses++;
    pthread_mutex_unlock(&told_mutex);
}

void record_warning(const hf_lease_event *event, void *context)
{
    struct told *told = context;

    pthread_mutex_lock(&told_mutex);
    note_event(told, event);
    told_move_to(told, event->state);
    told->warning_reason = event->reason;
    told->warning_remaining_ms = event->remaining_ms;
    if (event->state == HF_SUSPECT && told->suspect_at_ms == 0) {
        told->suspect_at_ms = told->at_ms;
    }
    if (event->reason == HF_LOST_MAX_HOLD && told->max_hold_at_ms == 0) {
        told->max_hold_at_ms = told->at_ms;
    }
    told->warnings++;
    pthread_mutex_unlock(&told_mutex);
}

struct told told_so_far(const struct told *told)
{
    struct told copy;

    pthread_mutex_lock(&told_mutex);
    copy = *told;
    pthread_mutex_unlock(&told_mutex);
    return copy;
}

static bool loss_is_there(void *told)
{
    return told_so_far(told).losses > 0;
}

bool loss_is_told(struct told *told, int64_t bound_ms)
{
    return hft_wait_until(loss_is_there, told, bound_ms);
}

static bool warning_is_there(void *told)
{
    return told_so_far(told).warnings > 0;
}

bool warning_is_told(struct told *told, int64_t bound_ms)
{
    return hft_wait_until(warning_is_there, told, bound_ms);
}

/* ---- callers and chance -------------------------------------------------- */

static void *call(void *context)
{
    struct caller *caller = context;

    caller->began_ms = hft_now_ms();
    caller->status = hf_lock_acquire(caller->lock, &caller->how,
                                     &caller->error);
    caller->ended_ms = hft_now_ms();
    if (caller->status == HF_OK && caller->hold_ms >= 0) {
        hft_let_pass_ms(caller->hold_ms);
        caller->release_status = hf_lock_release(
            caller->lock, caller->how.owner, &caller->error);
    }
    return NULL;
}

void caller_start_as(struct caller *caller, hf_lock *lock,
                     const hf_acquire *how)
{
    caller->lock = lock;
    caller->how = *how;
    if (pthread_create(&caller->thread, NULL, call, caller) != 0) {
        hft_die("no thread for a caller");
    }
}

void caller_start(struct caller *caller, hf_lock *lock, int64_t wait_ms)
{
    hf_acquire how = HF_ACQUIRE_INIT;

    how.wait_ms = wait_ms;
    caller_start_as(caller, lock, &how);
}

void caller_join(struct caller *caller)
{
    if (pthread_join(caller->thread, NULL) != 0) {
        hft_die("no end of a caller");
    }
}

struct hft_random chance(void)
{
    struct hft_random random = {.state = hft_seed(0, NULL)};

    return random;
}
