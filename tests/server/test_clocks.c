/* SPDX-License-Identifier: MIT */
/* test_clocks.c - wall clocks that are wrong, and that jump: those of clients
 * mean nothing, and that of the server ends leases early or late, never in
 * silence.
 *
 * Rows: T53, T54; 15.23 (the fair lock's: test_lock_fair_process.c, T23).
 */
#include "world.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "party.h"
#include "support/child.h"
#include "support/clock.h"
#include "support/fatal.h"

#define NAME "clock"
#define LEASE_MS 2000 /* outlasts a stall of a loaded machine */

static struct hft_child *a_party(struct world *w, const char *name,
                                 const char *kind, const char *const *env)
{
    struct hft_child *party = party_start_as(hft_server_url(w->server), name,
                                             LEASE_MS, kind, env);

    assert_true(hft_child_wait_out(party, "ready\n", BOUND_MS));
    return party;
}

static bool has_it(struct hft_child *party, int64_t bound_ms)
{
    return hft_child_wait_out(party, "take=HF_OK\n", bound_ms);
}

static void skip_where_clocks_are_right(void)
{
    if (hft_clock_off_by("+0") == NULL) {
        skip();
    }
}

/* ---- clients whose clocks are ten minutes off --------------------------- */

/* One holds and the other waits. */
struct couple {
    const char *kinds[2];
    struct hft_child *holder;
    struct hft_child *waiter;
};

static void begin_couple(struct world *w, struct couple *couple, size_t number)
{
    const char *const offsets[] = {"+10m", "-10m"};
    char *name = hft_format("%s:%zu", NAME, number);

    couple->holder = a_party(w, name, couple->kinds[0],
                             hft_clock_off_by(offsets[number % 2]));
    assert_true(has_it(couple->holder, BOUND_MS));
    couple->waiter = a_party(w, name, couple->kinds[1],
                             hft_clock_off_by(offsets[1 - number % 2]));
    free(name);
}

static void kill_the_holder(struct couple *couple)
{
    print_message("           %s, %s\n", couple->kinds[0], couple->kinds[1]);
    assert_false(has_it(couple->waiter, 0));
    assert_true(party_says(couple->holder, "held", "held=1"));
    hft_child_signal(couple->holder, SIGKILL);
}

static void end_couple(struct couple *couple)
{
    assert_true(has_it(couple->waiter, BOUND_MS));
    assert_true(party_says(couple->waiter, "release", "release=HF_OK"));
    hft_child_free(couple->holder);
    hft_child_free(couple->waiter);
}

/* T53: none who lives is taken for dead, and who is dead is not kept.
 * spec: rlock/acquire-1 */
static void clocks_of_clients_mean_nothing(void **world)
{
    struct couple couples[] = {
        {.kinds = {"lock", "lock"}},
        {.kinds = {"fair", "fair"}},
        {.kinds = {"fenced", "lock"}},
        {.kinds = {"spin", "spin"}},
        {.kinds = {"token", "token"}},
        {.kinds = {"read", "write"}},
        {.kinds = {"write", "read"}},
        {.kinds = {"nonreentrant", "nonreentrant"}},
    };
    const size_t count = sizeof(couples) / sizeof(couples[0]);

    skip_where_clocks_are_right();
    for (size_t i = 0; i < count; i++) {
        begin_couple(*world, &couples[i], i);
    }
    hft_let_pass_ms(2 * LEASE_MS);
    for (size_t i = 0; i < count; i++) {
        kill_the_holder(&couples[i]);
    }
    for (size_t i = 0; i < count; i++) {
        end_couple(&couples[i]);
    }
}

#define MOST_WORDS 12

/* `holdfast permits`, with a clock that is off; the list ends with NULL. */
static struct hft_child *permits_at(struct world *w, const char *offset, ...)
{
    const char *argv[MOST_WORDS] = {getenv("HOLDFAST_BIN"), "--server",
                                    hft_server_url(w->server), "permits"};
    struct hft_child_options options = {.argv = argv,
                                        .env = hft_clock_off_by(offset)};
    size_t count = 4;
    va_list words;

    if (argv[0] == NULL) {
        hft_die("HOLDFAST_BIN does not say where holdfast is");
    }
    va_start(words, offset);
    while (count + 1 < MOST_WORDS &&
           (argv[count] = va_arg(words, const char *)) != NULL) {
        count++;
    }
    va_end(words);
    return hft_child_start(&options);
}

static void assert_says(int status, struct hft_child *command)
{
    assert_int_equal(hft_child_finish(command, BOUND_MS), status);
    hft_child_free(command);
}

#define BUSY_STATUS 75

/* T53, of permits: one that is renewed is taken for ended by nobody, and one
 * whose holder was killed comes back. */
static void clocks_of_clients_mean_nothing_to_permits(void **world)
{
    struct world *w = *world;
    struct hft_child *holder;

    skip_where_clocks_are_right();
    assert_says(0, permits_at(w, "+10m", "set", "pool", "1", NULL));
    holder = permits_at(w, "-10m", "run", "--lease", "2s", "pool", "--",
                        "sleep", "60", NULL);
    assert_true(hft_wait_int(w->server, 0, BOUND_MS, "GET pool"));
    hft_let_pass_ms(2 * LEASE_MS);
    assert_says(BUSY_STATUS,
                permits_at(w, "+10m", "acquire", "-n", "pool", NULL));
    assert_says(BUSY_STATUS,
                permits_at(w, "-10m", "acquire", "-n", "pool", NULL));
    assert_true(hft_child_runs(holder));
    hft_child_signal(holder, SIGKILL);
    assert_says(0, permits_at(w, "-10m", "acquire", "--wait", "10s", "--lease",
                              "10s", "pool", NULL));
    assert_says(BUSY_STATUS,
                permits_at(w, "+10m", "acquire", "-n", "pool", NULL));
    hft_child_free(holder);
}

/* T54: the client's. */
static void a_clients_clock_may_jump(void **world)
{
    static const char *const jumps[] = {"+3600", "-3600", "+0"};
    struct world *w = *world;
    struct hft_child *holder;
    struct hft_child *waiter;
    char *path;

    skip_where_clocks_are_right();
    path = hft_format("%s/clock", hft_server_folder(w->server));
    hft_clock_jump(path, "+0");
    holder = a_party(w, NAME, "lock", hft_clock_of_file(path));
    assert_true(has_it(holder, BOUND_MS));
    waiter = a_party(w, NAME, "lock", hft_clock_of_file(path));
    for (size_t i = 0; i < sizeof(jumps) / sizeof(jumps[0]); i++) {
        hft_clock_jump(path, jumps[i]);
        assert_false(has_it(waiter, 2 * LEASE_MS));
        assert_true(party_says(holder, "held", "held=1"));
    }
    hft_clock_jump(path, "-3600");
    assert_true(party_says(holder, "release", "release=HF_OK"));
    assert_true(has_it(waiter, BOUND_MS));
    hft_clock_jump(path, "+3600");
    assert_true(party_says(waiter, "release", "release=HF_OK"));
    hft_child_free(holder);
    hft_child_free(waiter);
    free(path);
}

/* ---- a server whose clock jumps ------------------------------------------ */

/* A server with a clock of its own, and a lock on it. */
struct elsewhere {
    struct hft_server *server;
    int64_t *seconds_off; /* what its clock adds; see support/jumping_clock.c */
    hf_lock *lock;
    hf_lock *theirs;
};

static struct elsewhere begin_elsewhere(struct world *w)
{
    char *path = hft_format("%s/seconds-off", hft_server_folder(w->server));
    hf_options options = short_options();
    const char *const *env;
    struct elsewhere there = {
        .seconds_off = hft_clock_that_jumps(JUMPING_CLOCK, path, &env)};

    for (; *env != NULL; env++) { /* it inherits ours */
        (void)putenv((char *)(uintptr_t)*env);
    }
    there.server = hft_server_start(NULL);
    (void)unsetenv("LD_PRELOAD");
    free(path);
    there.lock = a_lock_of(
        w, a_client_at(w, hft_server_url(there.server), &options), NAME);
    there.theirs = a_lock_of(
        w, a_client_at(w, hft_server_url(there.server), &options), NAME);
    return there;
}

static void jump(struct elsewhere *there, int64_t seconds)
{
    int64_t before = hft_int(there->server, "EVAL %s 0",
                             "return redis.call('time')[1]");
    int64_t after;

    *there->seconds_off += seconds;
    after = hft_int(there->server, "EVAL %s 0", "return redis.call('time')[1]");
    assert_between(after - before, seconds - 10, seconds + 60);
}

static void end_elsewhere(struct world *w, struct elsewhere *there)
{
    close_clients(w);
    hft_server_free(there->server);
    (void)munmap(there->seconds_off, sizeof(*there->seconds_off));
}

/* T54: ahead, all leases end.  It is told, within a renewal period, and the next
 * one can have it. */
static void a_servers_clock_that_jumps_ahead_is_a_loss_that_is_told(
    void **world)
{
    struct world *w = *world;
    struct elsewhere there;

    skip_where_clocks_are_right();
    there = begin_elsewhere(w);
    assert_ok(try_once(there.lock, NULL));
    jump(&there, 3600);
    assert_true(state_becomes(there.lock, NULL, HF_STATE_LOST, BOUND_MS));
    assert_status(HF_LOST, leave(there.lock, NULL));
    assert_ok(wait_up_to(there.theirs, NULL, BOUND_MS));
    assert_status(HF_BUSY, try_once(there.lock, NULL));
    assert_ok(leave(there.theirs, NULL));
    assert_ok(wait_up_to(there.lock, NULL, BOUND_MS));
    assert_ok(leave(there.lock, NULL));
    end_elsewhere(w, &there);
}

/* T54: back, nothing is lost, and what is released is free.  (What is not, since
 * its holder was killed, stays for as long as the clock went back.) */
static void a_servers_clock_that_jumps_back_loses_nothing(void **world)
{
    struct world *w = *world;
    struct elsewhere there;
    struct caller waiter = {.hold_ms = 0};

    skip_where_clocks_are_right();
    there = begin_elsewhere(w);
    assert_ok(try_once(there.lock, NULL));
    jump(&there, -3600);
    hft_let_pass_ms(2 * W_MS);
    assert_true(hf_lock_is_held(there.lock, NULL));
    assert_status(HF_BUSY, try_once(there.theirs, NULL));
    caller_start(&waiter, there.theirs, BOUND_MS);
    hft_let_pass_ms(100);
    assert_ok(leave(there.lock, NULL));
    caller_join(&waiter);
    assert_status(HF_OK, waiter.status);
    assert_status(HF_OK, waiter.release_status);
    end_elsewhere(w, &there);
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        world_test(clocks_of_clients_mean_nothing),
        world_test(clocks_of_clients_mean_nothing_to_permits),
        world_test(a_clients_clock_may_jump),
        world_test(a_servers_clock_that_jumps_ahead_is_a_loss_that_is_told),
        world_test(a_servers_clock_that_jumps_back_loses_nothing),
    };

    party_main(argc, argv);
    return cmocka_run_group_tests(tests, world_up, world_down);
}
