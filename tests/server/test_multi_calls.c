/* SPDX-License-Identifier: MIT */
/* test_multi_calls.c - several locks held as one: without a thread, by several
 * processes, from callbacks, and asked for what makes no sense.
 *
 * Rows: ML-05.
 */
#include "fleet.h"

#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/child.h"
#include "support/crew.h"
#include "support/fatal.h"
#include "support/scratch.h"

static int servers_up(void **world)
{
    return fleet_up(world, 3);
}

/* ---- asynchronous ---- */

struct told_group {
    hf_group *group;
    hf_owner *owner;
    hf_status status;
    size_t outcomes;
    atomic_int calls;
};

static void record_group(const hf_group_completion *done, void *context)
{
    struct told_group *told = context;

    told->group = done->group;
    told->owner = done->owner;
    told->status = done->status;
    told->outcomes = done->outcome_count;
    if (done->status != HF_OK) {
        assert_int_equal(done->error->status, done->status);
    }
    atomic_fetch_add(&told->calls, 1);
}

static bool group_is_told(void *told)
{
    return atomic_load(&((struct told_group *)told)->calls) > 0;
}

static void assert_group_told(struct told_group *told, hf_status status)
{
    assert_true(hft_wait_until(group_is_told, told, BOUND_MS));
    assert_status(status, told->status);
    assert_int_equal(atomic_load(&told->calls), 1);
}

/* ML-05. */
static void a_group_is_taken_and_left_without_a_thread(void **world)
{
    struct world *w = *world;
    hf_group *group = a_group_of_fleet(w, "a");
    struct told_group taken = {0};
    struct told_group busy = {0};
    struct told_group extended = {0};
    struct told_group left = {0};
    hf_acquire how = once(NULL, 0);

    assert_ok(
        hf_group_acquire_async(group, NULL, record_group, &taken, &problem));
    assert_group_told(&taken, HF_OK);
    assert_non_null(taken.owner);
    assert_int_equal(taken.outcomes, 3);
    assert_int_equal(fleet_held("a"), 3);
    assert_ok(
        hf_group_acquire_async(group, &how, record_group, &busy, &problem));
    assert_group_told(&busy, HF_BUSY);
    assert_null(busy.owner);
    assert_ok(hf_group_extend_async(group, taken.owner, 60000, record_group,
                                    &extended, &problem));
    assert_ok(hf_group_release_async(group, taken.owner, record_group, &left,
                                     &problem));
    assert_group_told(&extended, HF_OK);
    assert_group_told(&left, HF_OK);
    assert_int_equal(fleet_held("a"), 0);
    assert_ok(hf_owner_free(taken.owner));
}

static void closing_a_client_ends_who_waits(void **world)
{
    struct world *w = *world;
    hf_group *group = a_group_of_fleet(w, "a");
    struct told_group taken = {0};
    hf_owner *owner = an_owner_of(w, fleet.clients[0]);
    hf_acquire how = HF_ACQUIRE_INIT;

    how.owner = owner;
    fleet_stranger(2, "a", 60000);
    assert_ok(
        hf_group_acquire_async(group, &how, record_group, &taken, &problem));
    assert_true(waiters_become(fleet.clients[2], 1, BOUND_MS));
    close_clients(w);
    assert_int_equal(atomic_load(&taken.calls), 1);
    assert_status(HF_CLOSED, taken.status);
    assert_status(HF_CLOSED, group_try(group, NULL));
    /* The end of the test closes what is open. */
    w->client = NULL;
}

/* ---- two processes ---- */

/* Take "a" and "b", in the order in which they are given, and count in a file
 * with time between reading and writing. */
static long number_in(const char *path)
{
    char text[32] = "";
    FILE *file = fopen(path, "r");

    if (file == NULL || fgets(text, sizeof(text), file) == NULL) {
        hft_die("the counter cannot be read");
    }
    (void)fclose(file);
    return strtol(text, NULL, 10);
}

static void count_in_file(hf_group *group, const char *path)
{
    long value;
    FILE *file;

    assert_ok(hf_group_acquire(group, NULL, NULL, &problem));
    value = number_in(path);
    hft_let_pass_ms(1);
    file = fopen(path, "w");
    (void)fprintf(file, "%ld\n", value + 1);
    (void)fclose(file);
    assert_ok(hf_group_release(group, NULL, NULL, &problem));
}

static _Noreturn void be_a_counter(char **words)
{
    hf_client *client = NULL;
    hf_lock *locks[2];
    hf_group *group = NULL;
    long rounds = strtol(words[5], NULL, 10);

    if (hf_client_open(words[1], NULL, &client, &problem) != HF_OK ||
        hf_lock_new(client, words[2], &locks[0], &problem) != HF_OK ||
        hf_lock_new(client, words[3], &locks[1], &problem) != HF_OK ||
        hf_multi_lock_new(locks, 2, &group, &problem) != HF_OK) {
        (void)fprintf(stderr, "%s\n", problem.message);
        _exit(3);
    }
    for (long i = 0; i < rounds; i++) {
        count_in_file(group, words[4]);
    }
    assert_ok(hf_group_acquire(group, NULL, NULL, &problem));
    (void)puts("held");
    (void)fflush(stdout);
    if (words[6][0] == 'k') {
        (void)getchar();
    }
    assert_ok(hf_group_release(group, NULL, NULL, &problem));
    _exit(0);
}

static struct hft_child *start_counter(struct world *w, const char *first,
                                       const char *second, const char *path,
                                       const char *rounds, const char *keep)
{
    const char *argv[] = {"/proc/self/exe",
                          "counter",
                          hft_server_url(w->server),
                          first,
                          second,
                          path,
                          rounds,
                          keep,
                          NULL};
    struct hft_child_options options = {.argv = argv, .stdio = HFT_STDIO_PIPE};

    return hft_child_start(&options);
}

static void groups_in_opposite_orders_never_stop_each_other(void **world)
{
    struct world *w = *world;
    char *path = hft_format("%s/counter", hft_server_folder(w->server));
    FILE *file = fopen(path, "w");
    struct hft_child *one, *two;

    (void)fputs("0\n", file);
    (void)fclose(file);
    one = start_counter(w, "a", "b", path, "100", "-");
    two = start_counter(w, "b", "a", path, "100", "-");
    assert_int_equal(hft_child_finish(one, 60000), 0);
    assert_int_equal(hft_child_finish(two, 60000), 0);
    hft_child_free(one);
    hft_child_free(two);
    assert_int_equal(number_in(path), 200);
    assert_int_equal(wire_ttl(w, "a"), -2);
    assert_int_equal(wire_ttl(w, "b"), -2);
    free(path);
}

static void a_killed_holder_leaves_nothing_beyond_a_lease(void **world)
{
    struct world *w = *world;
    hf_group *group = a_group(w, w->client, "a", "b", NULL);
    struct hft_child *child = start_counter(w, "a", "b", "-", "0", "k");

    assert_true(hft_child_wait_out(child, "held", BOUND_MS));
    assert_status(HF_BUSY, group_try(group, NULL));
    /* Its leases are of 30 s; they are cut short for the test. */
    hft_child_signal(child, SIGKILL);
    assert_int_equal(hft_child_finish(child, BOUND_MS),
                     HFT_BY_SIGNAL + SIGKILL);
    assert_between(wire_ttl(w, "a"), 1, 30000);
    assert_between(wire_ttl(w, "b"), 1, 30000);
    (void)hft_int(w->server, "PEXPIRE a 300");
    (void)hft_int(w->server, "PEXPIRE b 500");
    assert_ok(group_wait(group, NULL, BOUND_MS));
    assert_ok(group_leave(group, NULL));
    hft_child_free(child);
}

/* A child of fork() has nothing of it, and may free it. */
static void a_forked_child_holds_nothing(void **world)
{
    struct world *w = *world;
    hf_group *group = a_group(w, w->client, "a", "b", NULL);
    pid_t child;
    int status = 0;

    assert_ok(group_try(group, NULL));
    child = fork();
    if (child == 0) {
        bool right = !hf_group_is_held(group, NULL) &&
                     group_try(group, NULL) == HF_FORKED &&
                     group_leave(group, NULL) == HF_FORKED &&
                     hf_group_free(group) == HF_OK;

        _exit(right ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_true(hf_group_is_held(group, NULL));
    assert_ok(group_leave(group, NULL));
}

static void try_in_callback(const hf_group_completion *done, void *context)
{
    hf_status *ret_status = context;

    ret_status[0] = group_try(done->group, done->owner);
    ret_status[1] = HF_OK;
}

static bool callback_was_run(void *context)
{
    const volatile hf_status *status = context;

    return status[1] == HF_OK;
}

static void a_callback_may_not_block(void **world)
{
    struct world *w = *world;
    hf_group *group = a_group(w, w->client, "a", "b", NULL);
    hf_owner *owner = an_owner(w);
    hf_status seen[2] = {HF_OK, HF_INTERNAL};
    hf_acquire how = once(owner, 0);
    hf_status status;

    assert_true(hf_client_fd(w->client) >= 0);
    assert_ok(
        hf_group_acquire_async(group, &how, try_in_callback, seen, &problem));
    while (!callback_was_run(seen)) {
        (void)hf_client_dispatch(w->client);
        hft_let_pass_ms(1);
    }
    assert_status(HF_IN_CALLBACK, seen[0]);
    status = group_leave(group, owner);
    assert_status(HF_OK, status);
}

/* ---- bad input ---- */

static void what_makes_no_group_is_refused(void **world)
{
    struct world *w = *world;
    hf_lock *locks[2];
    hf_group *group = NULL;
    hf_lock_options other_kind = HF_LOCK_OPTIONS_INIT;

    locks[0] = a_lock(w, "a");
    locks[1] = NULL;
    assert_status(HF_INVALID, hf_multi_lock_new(locks, 0, &group, &problem));
    assert_status(HF_INVALID, hf_multi_lock_new(NULL, 1, &group, &problem));
    assert_status(HF_INVALID, hf_multi_lock_new(locks, 2, &group, &problem));
    assert_status(HF_INVALID, hf_multi_lock_new(locks, 1, NULL, &problem));
    assert_status(HF_INVALID,
                  hf_multi_lock_new(locks, HF_GROUP_MAX + 1, &group, &problem));
    locks[1] = a_lock_of(w, a_client(w), "a");
    assert_status(HF_INVALID, hf_multi_lock_new(locks, 2, &group, &problem));
    assert_non_null(strstr(problem.message, "two clients"));
    other_kind.kind = HF_KIND_NONREENTRANT;
    assert_ok(
        hf_lock_new_as(w->client, &other_kind, "a", 1, &locks[1], &problem));
    keep_lock(w, locks[1]);
    assert_status(HF_INVALID, hf_multi_lock_new(locks, 2, &group, &problem));
    assert_non_null(strstr(problem.message, "two kinds"));
    assert_null(group);
    assert_ok(hf_group_free(NULL));
    assert_int_equal(hf_group_count(NULL), 0);
}

static void what_makes_no_call_is_refused(void **world)
{
    struct world *w = *world;
    hf_group *group = a_group(w, w->client, "a", "b", NULL);
    hf_client *stranger = a_client(w);
    hf_acquire how = once(NULL, 0);
    char text[64];

    assert_status(HF_INVALID, group_try(NULL, NULL));
    assert_status(HF_INVALID, group_leave(NULL, NULL));
    assert_status(HF_INVALID, group_try(group, an_owner_of(w, stranger)));
    assert_status(HF_INVALID, group_leave(group, an_owner_of(w, stranger)));
    assert_ok(hf_cancel_new(stranger, &how.cancel, &problem));
    w->cancels[w->cancel_count++] = how.cancel;
    assert_status(HF_INVALID, hf_group_acquire(group, &how, NULL, &problem));
    how.cancel = NULL;
    how.lease_ms = 1;
    assert_status(HF_INVALID, hf_group_acquire(group, &how, NULL, &problem));
    how.lease_ms = 0;
    how.size = 3;
    assert_status(HF_INVALID, hf_group_acquire(group, &how, NULL, &problem));
    assert_status(HF_INVALID,
                  hf_group_acquire_async(group, NULL, NULL, NULL, &problem));
    assert_status(HF_INVALID, hf_group_release_async(group, NULL, record_group,
                                                     NULL, &problem));
    assert_status(HF_INVALID, hf_group_owner_text(group, NULL, 2, text, 64));
    assert_status(HF_NOT_OWNER, hf_group_owner_text(group, NULL, 0, text, 64));
    assert_false(hf_group_is_held(NULL, NULL));
    assert_int_equal(hf_group_hold_count(NULL, NULL), 0);
    assert_int_equal(hf_group_state_of(group, NULL, NULL), HF_NOT_HELD);
}

/* ---- more clients than a thread drives ---- */

enum { CLIENTS = 40 }; /* a thread drives the links of 32 */

static void a_group_over_very_many_clients_is_taken_and_left(void **world)
{
    struct world *w = *world;
    hf_lock *locks[CLIENTS];
    hf_group *group;
    char name[32];

    for (int i = 0; i < CLIENTS; i++) {
        snprintf(name, sizeof(name), "many%d", i);
        locks[i] = a_lock_of(w, a_client(w), name);
    }
    assert_ok(hf_multi_lock_new(locks, CLIENTS, &group, &problem));
    keep_group(group);
    for (int i = 0; i < 3; i++) {
        assert_ok(group_try(group, NULL));
        assert_int_equal(hft_int(w->server, "DBSIZE"), CLIENTS);
        assert_ok(group_leave(group, NULL));
        assert_int_equal(hft_int(w->server, "DBSIZE"), 0);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        fleet_test(a_group_is_taken_and_left_without_a_thread),
        fleet_test(closing_a_client_ends_who_waits),
        fleet_test(a_group_over_very_many_clients_is_taken_and_left),
        fleet_test(groups_in_opposite_orders_never_stop_each_other),
        fleet_test(a_killed_holder_leaves_nothing_beyond_a_lease),
        fleet_test(a_forked_child_holds_nothing),
        fleet_test(a_callback_may_not_block),
        fleet_test(what_makes_no_group_is_refused),
        fleet_test(what_makes_no_call_is_refused),
    };

    if (argc == 8 && strcmp(argv[1], "counter") == 0) {
        be_a_counter(argv + 1);
    }
    return cmocka_run_group_tests(tests, servers_up, fleet_down);
}
