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
#define LEASE_MS 600

static struct hft_child *a_party(struct world *w, const char *kind,
                                 const char *const *env)
{
    struct hft_child *party = party_start_as(hft_server_url(w->server), NAME,
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

/* One holds and the other waits: neither is taken for dead, and who is dead is
 * not kept. */
static void hold_and_wait(struct world *w, const char *const kinds[2],
                          const char *holders, const char *waiters)
{
    struct hft_child *holder;
    struct hft_child *waiter;

    print_message("           %s at %s, %s at %s\n", kinds[0], holders,
                  kinds[1], waiters);
    holder = a_party(w, kinds[0], hft_clock_off_by(holders));
    assert_true(has_it(holder, BOUND_MS));
    waiter = a_party(w, kinds[1], hft_clock_off_by(waiters));
    assert_false(has_it(waiter, 2 * LEASE_MS));
    assert_true(party_says(holder, "held", "held=1"));
    hft_child_signal(holder, SIGKILL);
    assert_true(has_it(waiter, BOUND_MS));
    assert_true(party_says(waiter, "release", "release=HF_OK"));
    hft_child_free(holder);
    hft_child_free(waiter);
}

/* T53.  spec: rlock/acquire-1 */
static void clocks_of_clients_mean_nothing(void **world)
{
    static const char *const kinds[][2] = {
        {"lock", "lock"},   {"fair", "fair"},
        {"fenced", "lock"}, {"spin", "spin"},
        {"token", "token"}, {"read", "write"},
        {"write", "read"},  {"nonreentrant", "nonreentrant"}};

    skip_where_clocks_are_right();
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        hold_and_wait(*world, kinds[i], i % 2 == 0 ? "+10m" : "-10m",
                      i % 2 == 0 ? "-10m" : "+10m");
        assert_true(wire_free_within(*world, NAME, BOUND_MS));
    }
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
    holder = a_party(w, "lock", hft_clock_of_file(path));
    assert_true(has_it(holder, BOUND_MS));
    waiter = a_party(w, "lock", hft_clock_of_file(path));
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
        world_test(a_clients_clock_may_jump),
        world_test(a_servers_clock_that_jumps_ahead_is_a_loss_that_is_told),
        world_test(a_servers_clock_that_jumps_back_loses_nothing),
    };

    party_main(argc, argv);
    return cmocka_run_group_tests(tests, world_up, world_down);
}
