/* SPDX-License-Identifier: MIT */
/* test_client_threads.c - days on which the threads of a client, or the whole
 * process, are not where they should be: in a resolver that does not answer,
 * cancelled, stopped, forked from in the middle of a change, or never started.
 * Each of these once cost somebody a call that did not end.
 */
#include "world.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <netdb.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/child.h"
#include "support/crew.h"
#include "support/fatal.h"
#include "support/proxy.h"

#define NAME "threads"
#define LONG_NAME ((size_t)100000)

/* ---- a resolver that does not answer ---- */

/* How long a question for a slow name takes, if nobody ends it. */
#define RESOLVER_S 8

static sem_t resolver_may_answer;
static atomic_int resolver_answered;

typedef int lookup_fn(const char *, const char *, const struct addrinfo *,
                      struct addrinfo **);

/* Instead of the C library's, for the whole program.  The system's header has
 * names that only it may use. */
/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
int getaddrinfo(const char *host, const char *service,
                const struct addrinfo *hints, struct addrinfo **ret_found)
{
    lookup_fn *real;
    void *symbol = dlsym(RTLD_NEXT, "getaddrinfo");
    struct timespec until;

    memcpy(&real, &symbol, sizeof(real));
    if (host == NULL || strcmp(host, "slow.test") != 0) {
        return real(host, service, hints, ret_found);
    }
    if (hints != NULL && (hints->ai_flags & AI_NUMERICHOST) != 0) {
        return EAI_NONAME;
    }
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += RESOLVER_S;
    while (sem_timedwait(&resolver_may_answer, &until) != 0 && errno == EINTR) {
    }
    atomic_fetch_add(&resolver_answered, 1);
    return EAI_AGAIN;
}

static bool resolver_has_answered(void *context)
{
    (void)context;
    return atomic_load(&resolver_answered) > 0;
}

/* Opening waits for the name no longer than for the connection. */
static void a_resolver_that_does_not_answer_is_not_waited_for(void **world)
{
    hf_options options = short_options();
    hf_client *client = NULL;
    int64_t began_ms = hft_now_ms();

    (void)world;
    assert_int_equal(sem_init(&resolver_may_answer, 0, 0), 0);
    options.connect_limit_ms = 300;
    assert_status(HF_UNREACHABLE, hf_client_open("redis://slow.test:6379",
                                                 &options, &client, &problem));
    assert_between(hft_now_ms() - began_ms, 300, RESOLVER_S * 1000 / 2);
    assert_non_null(strstr(problem.message, "not found within 300 ms"));
    assert_null(client);
    assert_int_equal(sem_post(&resolver_may_answer), 0);
    assert_true(hft_wait_until(resolver_has_answered, NULL, BOUND_MS));
}

/* ---- cancelled ---- */

struct doomed {
    struct world *w;
    hf_client *client;
    hf_lock *lock;
    hf_owner *owner;
    hf_status status;
    atomic_int done;
};

static void note_done(const hf_completion *done, void *context)
{
    struct doomed *doomed = context;

    doomed->owner = done->owner;
    atomic_store(&doomed->done, done->status == HF_OK ? 1 : -1);
}

static bool is_done(void *doomed)
{
    return atomic_load(&((struct doomed *)doomed)->done) != 0;
}

static void run_to_the_end(void *(*body)(void *), struct doomed *doomed)
{
    pthread_t thread;
    void *result = NULL;

    assert_int_equal(pthread_create(&thread, NULL, body, doomed), 0);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_ptr_equal(result, PTHREAD_CANCELED);
}

/* From here on the first cancellation point is the end of the thread. */
static void doom_myself(void)
{
    (void)pthread_cancel(pthread_self());
}

static void *ask_and_die(void *context)
{
    struct doomed *doomed = context;
    hf_acquire how = HF_ACQUIRE_INIT;

    doom_myself();
    (void)hf_lock_acquire_async(doomed->lock, &how, note_done, doomed, NULL);
    pthread_testcancel();
    return NULL;
}

/* The write that wakes the keeper is a cancellation point; whoever is cancelled
 * in it must have woken it all the same. */
static void a_cancelled_thread_leaves_nobody_asleep(void **world)
{
    struct world *w = *world;
    struct doomed doomed = {.w = w, .lock = a_lock(w, NAME)};

    hft_let_pass_ms(200); /* nothing goes on, and the keeper sleeps */
    run_to_the_end(ask_and_die, &doomed);
    assert_true(hft_wait_until(is_done, &doomed, BOUND_MS));
    assert_int_equal(atomic_load(&doomed.done), 1);
    keep_owner(w, doomed.owner);
    assert_ok(leave(doomed.lock, doomed.owner));
}

static void *open_and_die(void *context)
{
    struct doomed *doomed = context;
    hf_options options = short_options();

    doom_myself();
    doomed->status = hf_client_open(hft_server_url(doomed->w->server), &options,
                                    &doomed->client, NULL);
    pthread_testcancel();
    return NULL;
}

static void *close_and_die(void *context)
{
    struct doomed *doomed = context;

    doom_myself();
    doomed->status = hf_client_close(doomed->client);
    pthread_testcancel();
    return NULL;
}

static void neither_opening_nor_closing_ends_half_done(void **world)
{
    struct doomed doomed = {.w = *world, .status = HF_SYSTEM};

    run_to_the_end(open_and_die, &doomed);
    assert_status(HF_OK, doomed.status);
    assert_non_null(doomed.client);
    assert_true(stats_of(doomed.client).holds == 0);
    doomed.status = HF_SYSTEM;
    run_to_the_end(close_and_die, &doomed);
    assert_status(HF_OK, doomed.status);
}

/* ---- stopped ---- */

#define STOPPED_LIMIT_MS 1000

/* This program again, as a child that holds a lock and tells, whenever it is
 * asked, how often it had to make a connection again. */
static _Noreturn void hold_and_tell(const char *url)
{
    hf_options options = HF_OPTIONS_INIT;
    hf_client *client = NULL;
    hf_lock *lock = NULL;
    hf_stats stats;
    char line[64];

    options.response_limit_ms = STOPPED_LIMIT_MS;
    options.lease_ms = 4500;
    if (hf_client_open(url, &options, &client, NULL) != HF_OK ||
        hf_lock_new(client, NAME, &lock, NULL) != HF_OK ||
        hf_lock_acquire(lock, NULL, NULL) != HF_OK) {
        _exit(3);
    }
    (void)puts("holds");
    (void)fflush(stdout);
    while (fgets(line, sizeof(line), stdin) != NULL) {
        stats.size = sizeof(stats);
        (void)hf_client_stats(client, &stats);
        (void)printf("reconnects=%d held=%d\n", (int)stats.reconnects,
                     hf_lock_is_held(lock, NULL) ? 1 : 0);
        (void)fflush(stdout);
    }
    _exit(0);
}

/* While a process is stopped nobody reads: that is no silence of the server, and
 * an answer that comes as the process goes on is still an answer.  (The links come up in this order: main, keeper, pub/sub.) */
static void a_process_that_was_stopped_keeps_its_connections(void **world)
{
    struct world *w = *world;
    struct hft_proxy *proxy = hft_proxy_start(w->server);
    struct hft_rule keep = {.direction = HFT_REPLY,
                            .link = 2,
                            .match = "EVALSHA",
                            .action = HFT_HOLD};
    struct hft_rule count = {.direction = HFT_REPLY,
                             .link = 2,
                             .match = "EVALSHA",
                             .times = HFT_ALWAYS,
                             .action = HFT_PASS};
    struct hft_child_options options = {.stdio = HFT_STDIO_PIPE};
    const char *argv[] = {"/proc/self/exe", "hold-and-tell",
                          hft_proxy_url(proxy), NULL};
    struct hft_child *child;
    int kept = hft_proxy_add(proxy, &keep);
    int counted;

    options.argv = argv;
    child = hft_child_start(&options);
    assert_true(hft_child_wait_out(child, "holds\n", BOUND_MS));
    /* The first renewal is answered, and the answer is on its way. */
    assert_true(hft_proxy_wait_hits(proxy, kept, 1, BOUND_MS));
    hft_child_signal(child, SIGSTOP);
    assert_true(hft_child_wait_stopped(child, BOUND_MS));
    hft_let_pass_ms(STOPPED_LIMIT_MS * 8 / 5);
    counted = hft_proxy_add(proxy, &count);
    hft_child_signal(child, SIGCONT);
    hft_let_pass_ms(100); /* the keeper has looked at its links */
    hft_proxy_release(proxy, kept);
    assert_true(hft_proxy_wait_hits(proxy, counted, 1, BOUND_MS));
    hft_child_type(child, "tell\n");
    assert_true(
        hft_child_wait_out(child, "reconnects=0 held=1\n", BOUND_MS / 5));
    hft_child_free(child);
    hft_proxy_stop(proxy);
}

/* ---- forked from ---- */

/* A thread that makes a piece of memory grow, and is held up when the old piece
 * is gone and the new one is not yet known. */
static struct {
    atomic_bool set;
    pthread_t thread;
    size_t at_least;
    atomic_bool reached;
    sem_t go_on;
} trap;

/* Instead of the C library's; it always moves. */
/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
void *realloc(void *old, size_t bytes)
{
    size_t old_bytes = old == NULL ? 0 : malloc_usable_size(old);
    void *moved = malloc(bytes);

    if (moved == NULL) {
        return NULL;
    }
    if (old != NULL) {
        memcpy(moved, old, old_bytes < bytes ? old_bytes : bytes);
        free(old);
    }
    if (bytes >= trap.at_least && atomic_load(&trap.set) &&
        pthread_equal(trap.thread, pthread_self())) {
        atomic_store(&trap.set, false);
        atomic_store(&trap.reached, true);
        while (sem_wait(&trap.go_on) != 0) {
        }
    }
    return moved;
}

static bool somebody_is_trapped(void *context)
{
    (void)context;
    return atomic_load(&trap.reached);
}

static void fall_into_the_trap(size_t at_least)
{
    trap.thread = pthread_self();
    trap.at_least = at_least;
    atomic_store(&trap.set, true);
}

static void *send_a_long_command(void *context)
{
    struct doomed *doomed = context;

    fall_into_the_trap(LONG_NAME);
    doomed->status = hf_lock_acquire(doomed->lock, NULL, NULL);
    return NULL;
}

static void child_can_close(hf_client *client)
{
    pid_t child = fork();
    int status = 0;

    if (child == 0) {
        (void)alarm(20);
        _exit(hf_client_close(client) == HF_OK ? 0 : 1);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* What another thread was changing at that moment is in no state to be freed:
 * the child does without.  `body` is stopped in the middle of such a change.
 * (That something is freed twice is seen by AddressSanitizer.) */
static void forked_in_the_middle_of(void *(*body)(void *),
                                    struct doomed *doomed)
{
    pthread_t thread;

    doomed->status = HF_SYSTEM;
    atomic_store(&trap.reached, false);
    assert_int_equal(sem_init(&trap.go_on, 0, 0), 0);
    assert_int_equal(pthread_create(&thread, NULL, body, doomed), 0);
    assert_true(hft_wait_until(somebody_is_trapped, NULL, BOUND_MS));
    child_can_close(doomed->client);
    assert_int_equal(sem_post(&trap.go_on), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_status(HF_OK, doomed->status);
}

static void a_child_can_close_what_grew_as_it_was_forked(void **world)
{
    struct world *w = *world;
    struct doomed doomed = {.w = w, .client = a_client(w)};
    char *name = hft_alloc(LONG_NAME + 1);

    memset(name, 'n', LONG_NAME);
    doomed.lock = a_lock_of(w, doomed.client, name);
    forked_in_the_middle_of(send_a_long_command, &doomed);
    free(name);
}

/* ---- never started ---- */

/* No thread can be started with a stack that there is no memory for. */
static void set_stacks(size_t bytes)
{
    pthread_attr_t attr;

    assert_int_equal(pthread_attr_init(&attr), 0);
    assert_int_equal(pthread_attr_setstacksize(&attr, bytes), 0);
    assert_int_equal(pthread_setattr_default_np(&attr), 0);
    assert_int_equal(pthread_attr_destroy(&attr), 0);
}

/* The thread that runs callbacks is started with the first of them; if that
 * fails it is tried again, and not with the next callback only. */
static void a_callback_waits_for_its_thread_to_be_started(void **world)
{
    struct world *w = *world;
    struct doomed doomed = {.w = w, .lock = a_lock(w, NAME)};
    pthread_attr_t attr;
    size_t usual;

    assert_int_equal(pthread_getattr_default_np(&attr), 0);
    assert_int_equal(pthread_attr_getstacksize(&attr, &usual), 0);
    set_stacks((size_t)1 << 46);
    assert_ok(
        hf_lock_acquire_async(doomed.lock, NULL, note_done, &doomed, &problem));
    assert_true(waiters_become(w->client, 0, BOUND_MS));
    hft_let_pass_ms(50);
    assert_false(is_done(&doomed));
    set_stacks(usual);
    assert_true(hft_wait_until(is_done, &doomed, BOUND_MS));
    keep_owner(w, doomed.owner);
    assert_ok(leave(doomed.lock, doomed.owner));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        world_test(a_resolver_that_does_not_answer_is_not_waited_for),
        world_test(a_cancelled_thread_leaves_nobody_asleep),
        world_test(neither_opening_nor_closing_ends_half_done),
        world_test(a_process_that_was_stopped_keeps_its_connections),
        world_test(a_child_can_close_what_grew_as_it_was_forked),
        world_test(a_callback_waits_for_its_thread_to_be_started),
    };

    if (argc == 3 && strcmp(argv[1], "hold-and-tell") == 0) {
        hold_and_tell(argv[2]);
    }
    return cmocka_run_group_tests_name("client_threads", tests, world_up,
                                       world_down);
}
