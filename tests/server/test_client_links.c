/* SPDX-License-Identifier: MIT */
/* test_client_links.c - a link that breaks in the very moment in which something
 * is to be sent on it, and one that is full.  Both once ended in connections
 * made again and again, and in calls that were never answered.
 */
#include "world.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/fake_server.h"
#include "support/fatal.h"

/* So long a link may owe an answer. */
#define PATIENT_MS 60000

/* Links of a client: main, keeper, pub/sub. */
#define LINKS 3

static hf_options patient_options(void)
{
    hf_options options = short_options();

    options.response_limit_ms = PATIENT_MS;
    return options;
}

/* How often callbacks came, and the last status. */
struct tally {
    atomic_int calls;
    atomic_int status;
    int expected;
};

static void count_done(const hf_completion *done, void *context)
{
    struct tally *tally = context;

    atomic_store(&tally->status, (int)done->status);
    atomic_fetch_add(&tally->calls, 1);
}

static bool all_came(void *context)
{
    struct tally *tally = context;

    return atomic_load(&tally->calls) == tally->expected;
}

static bool calls_become(struct tally *tally, int expected)
{
    tally->expected = expected;
    return hft_wait_until(all_came, tally, 3 * BOUND_MS);
}

static bool is_back(void *client)
{
    return stats_of(client).reconnects == 1;
}

/* One more than is parsed in one go: so the last answer and the end of the link
 * are met in one breath. */
enum { IN_ONE_GO = 128 };

/* What the last of them makes the core send again, at once and on this link,
 * waited in the dead link, and spoilt the greeting of the next. */
static void what_is_sent_as_its_link_breaks_goes_elsewhere(void **world)
{
    struct hft_fake *fake = hft_fake_start_unix();
    char text[IN_ONE_GO * 4 + 64] = "";
    struct hft_answer grants = {.text = "$-1\r\n"};
    struct hft_answer breaks = {.command = "EVALSHA",
                                .text = text,
                                .times = 1,
                                .manner = HFT_THEN_CLOSE};
    struct hft_answer nothing = {.command = "EVALSHA", .times = IN_ONE_GO};
    hf_options options = patient_options();
    struct world *w = *world;
    hf_client *client = a_client_at(w, hft_fake_url(fake), &options);
    hf_owner *owner = an_owner_of(w, client);
    static struct tally busy, granted;
    hf_acquire how = once(owner, PATIENT_MS);
    int i;

    for (i = 0; i < IN_ONE_GO; i++) {
        (void)snprintf(text + 4 * i, sizeof(text) - 4 * (size_t)i, ":9\r\n");
    }
    (void)snprintf(text + 4 * i, sizeof(text) - 4 * (size_t)i,
                   "-NOSCRIPT No matching script.\r\n");
    assert_true(hft_fake_wait_requests(fake, "TIME", LINKS, BOUND_MS));
    grants.command = "EVAL";
    hft_fake_answer(fake, &grants);
    grants.command = "EVALSHA";
    hft_fake_answer(fake, &grants);
    hft_fake_answer(fake, &breaks);
    hft_fake_answer(fake, &nothing);
    for (i = 0; i <= IN_ONE_GO; i++) {
        char name[32];

        (void)snprintf(name, sizeof(name), "go:%d", i);
        assert_ok(
            hf_lock_acquire_async(a_lock_of(w, client, name), &how, count_done,
                                  i < IN_ONE_GO ? &busy : &granted, &problem));
    }
    assert_true(calls_become(&granted, 1));
    assert_status(HF_OK, (hf_status)atomic_load(&granted.status));
    assert_true(calls_become(&busy, IN_ONE_GO));
    assert_status(HF_BUSY, (hf_status)atomic_load(&busy.status));
    assert_true(hft_wait_until(is_back, client, BOUND_MS));
    assert_int_equal(hft_fake_links(fake), LINKS + 1);
    close_clients(w);
    hft_fake_stop(fake);
    world_begin(world);
}

/* So many of the longest names. */
enum { HEAVY = 300 };

/* More than a link can hold (twice 64 MiB), for a server that reads nothing: all of it
 * waits its turn, and the link is never given up. */
static void more_than_a_link_holds_waits_its_turn(void **world)
{
    struct world *w = *world;
    hf_options options = patient_options();
    hf_client *client = a_client_at(w, hft_server_url(w->server), &options);
    static struct tally tally;
    char *name = hft_alloc(HF_NAME_MAX_BYTES);
    hf_acquire how = HF_ACQUIRE_INIT;
    int i;

    memset(name, 'h', HF_NAME_MAX_BYTES);
    how.owner = an_owner_of(w, client);
    how.lease_ms = 10 * (int64_t)BOUND_MS;
    hft_server_pause(w->server);
    for (i = 0; i < HEAVY; i++) {
        hf_lock *lock = NULL;

        name[0] = (char)(i % 100);
        name[1] = (char)(i / 100);
        assert_ok(hf_lock_new_bytes(client, name, HF_NAME_MAX_BYTES, &lock,
                                    &problem));
        keep_lock(w, lock);
        assert_ok(
            hf_lock_acquire_async(lock, &how, count_done, &tally, &problem));
    }
    hft_server_resume(w->server);
    assert_true(calls_become(&tally, HEAVY));
    assert_status(HF_OK, (hf_status)atomic_load(&tally.status));
    assert_int_equal(stats_of(client).reconnects, 0);
    free(name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        world_test(what_is_sent_as_its_link_breaks_goes_elsewhere),
        world_test(more_than_a_link_holds_waits_its_turn),
    };

    return cmocka_run_group_tests_name("client_links", tests, world_up,
                                       world_down);
}
