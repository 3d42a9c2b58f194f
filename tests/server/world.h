/* SPDX-License-Identifier: MIT */
/* world.h - what most tests of this folder stand on: a private server for the
 * program, a fresh client for each test, and everything a test made of them,
 * which the end of the test closes, frees and looks behind.
 *
 * W, the length of the client's leases, is one second: a renewal is due every
 * third of it.  One thread plays several parties by explicit owners.  All of
 * this is for the main thread, but for what says otherwise.
 */
#ifndef TESTS_SERVER_WORLD_H
#define TESTS_SERVER_WORLD_H

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "holdfast/holdfast.h"
#include "support/redis.h"
#include "support/seed.h"
#include "support/server.h"
#include "support/wait.h"

#define W_MS 1000

/* What a loaded machine may add to a time that is measured. */
#define SLACK_MS 250

/* Nothing in these tests takes so long unless it hangs. */
#define BOUND_MS 10000

struct world {
    struct hft_server *server;
    hf_client *client;
    hf_client *more_clients[128];
    size_t more_client_count;
    hf_lock *locks[1024];
    size_t lock_count;
    hf_owner *owners[1024];
    size_t owner_count;
    hf_cancel *cancels[64];
    size_t cancel_count;
};

/* ThreadSanitizer ends a child of fork() that starts a thread. */
#if defined(__SANITIZE_THREAD__)
#define FORKS_CAN_START_THREADS false
#define UNDER_TSAN true
#else
#define FORKS_CAN_START_THREADS true
#define UNDER_TSAN false
#endif

/* Group set-up and tear-down. */
int world_up(void **world);
int world_down(void **world);

/* Set-up and tear-down of a test.  The latter checks what must be true at the
 * end of every test: closing works, nobody is subscribed any more, and there
 * was no lock without a TTL (T48). */
int world_begin(void **world);
int world_end(void **world);

#define world_test(function)                                                   \
    cmocka_unit_test_setup_teardown(function, world_begin, world_end)

/* Leases of W, short limits; the rest as usual. */
hf_options short_options(void);

/* More of everything; freed at the end of the test. */
hf_client *a_client(struct world *w);
hf_client *a_client_at(struct world *w, const char *url,
                       const hf_options *options);
hf_lock *a_lock(struct world *w, const char *name);
hf_lock *a_lock_of(struct world *w, hf_client *client, const char *name);
hf_lock *a_kind_of_lock(struct world *w, hf_client *client, hf_kind kind,
                        const char *name);
hf_owner *an_owner(struct world *w);
hf_owner *an_owner_of(struct world *w, hf_client *client);
hf_cancel *a_cancel(struct world *w);

/* Take over what a test got by itself, to be freed at the end of the test. */
void keep_lock(struct world *w, hf_lock *lock);
void keep_owner(struct world *w, hf_owner *owner);

/* Close all clients now, the end of the test then has nothing to close. */
void close_clients(struct world *w);

/* What the last call below that failed said; each thread has its own. */
extern _Thread_local hf_error problem;

/* Calls in short; any thread.  NULL is the calling thread as the owner. */
hf_status try_once(hf_lock *lock, hf_owner *owner);
hf_status try_fixed(hf_lock *lock, hf_owner *owner, int64_t lease_ms);
hf_status wait_up_to(hf_lock *lock, hf_owner *owner, int64_t wait_ms);
hf_status take(hf_lock *lock, hf_owner *owner, const hf_acquire *how);
hf_status leave(hf_lock *lock, hf_owner *owner);

/* `how` for one attempt: renewed, of this lease. */
hf_acquire once(hf_owner *owner, int64_t lease_ms);

/* Assert a status; what the library said is shown when it is another. */
#define assert_status(expected, call)                                          \
    check_status((expected), (call), #call, __FILE__, __LINE__)
#define assert_ok(call) assert_status(HF_OK, call)
void check_status(hf_status expected, hf_status found, const char *call,
                  const char *file, int line);

/* Assert that a number lies within bounds (signed; cmocka's does not). */
#define assert_between(number, least, most)                                    \
    check_between((number), (least), (most), #number, __FILE__, __LINE__)
void check_between(int64_t number, int64_t least, int64_t most,
                   const char *what, const char *file, int line);

/* The server's view of a lock: fields of the hash, ms of its TTL (-2: no key),
 * the count of the first field (0: none), and that field ("": none; lent). */
int64_t wire_fields(struct world *w, const char *name);
int64_t wire_ttl(struct world *w, const char *name);
int64_t wire_count(struct world *w, const char *name);
const char *wire_owner(struct world *w, const char *name);
bool wire_free_within(struct world *w, const char *name, int64_t bound_ms);

/* A holder that is none of ours, as a program in Java would be: it takes,
 * releases (DEL and the message), and vanishes from the server in silence. */
#define STRANGER "0badcafe-0bad-cafe-0bad-cafe0badcafe:7"
void stranger_takes(struct world *w, const char *name, int64_t lease_ms);
void stranger_releases(struct world *w, const char *name);
void stranger_vanishes(struct world *w, const char *name);

/* Statistics; any thread.  And waiting until so many wait. */
hf_stats stats_of(hf_client *client);
bool waiters_become(hf_client *client, int64_t count, int64_t bound_ms);
bool endings_become(hf_client *client, int64_t count, int64_t bound_ms);
bool scripts_reach(hf_client *client, int64_t at_least, int64_t bound_ms);

/* Wait until the state of a hold is so. */
bool state_becomes(hf_lock *lock, hf_owner *owner, hf_lock_state expected,
                   int64_t bound_ms);

/* What on_lost and on_warning were told.  `record_lost` and `record_warning`
 * are the callbacks, with a struct told as their context; the others may be
 * called from any thread. */
struct told {
    int losses;
    int warnings;
    hf_lock_state state;
    hf_lost_reason reason;
    int64_t remaining_ms;
    int64_t at_ms;          /* of the last one */
    int64_t suspect_at_ms;  /* of the first warning of suspicion */
    int64_t max_hold_at_ms; /* of the first warning of max_hold */
    hf_lost_reason warning_reason;
    int64_t warning_remaining_ms;
    size_t name_bytes;
    char name[64];
    char owner[128];
    hf_client *client;
};
void record_lost(const hf_lease_event *event, void *context);
void record_warning(const hf_lease_event *event, void *context);
struct told told_so_far(const struct told *told);
bool loss_is_told(struct told *told, int64_t bound_ms);
bool warning_is_told(struct told *told, int64_t bound_ms);

/* A thread that makes one call of acquire, and perhaps releases after. */
struct caller {
    hf_lock *lock;
    hf_acquire how;
    int64_t hold_ms;  /* then release; -1: keep it */
    int64_t began_ms; /* the rest is read after caller_join() */
    int64_t ended_ms; /* when acquire returned */
    hf_status status;
    hf_status release_status;
    hf_error error;
    pthread_t thread;
};
void caller_start(struct caller *caller, hf_lock *lock, int64_t wait_ms);
void caller_start_as(struct caller *caller, hf_lock *lock,
                     const hf_acquire *how);
void caller_join(struct caller *caller);

/* A stream of chance for a test, from the seed that is printed. */
struct hft_random chance(void);

#endif
