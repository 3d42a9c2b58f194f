/* SPDX-License-Identifier: MIT */
/* test_client_faults.c - a client whose links, threads and callbacks meet at the
 * wrong moment: mistakes that were made once, each with what showed it.
 *
 * Most of them left somebody waiting for a thing that could no longer come: a
 * reply that had been read already, a link that nobody drove or watched, a
 * callback of a call that was in no list.  So most tests bound a wait, and count
 * that no link had to be made again on the way.  What other threads write to is
 * static: a test that fails leaves them behind.
 *
 * Rows: LK-13, PL-48, PL-54, T9, T46, DESIGN 4 (callbacks, dispatch, driving).
 */
#include "world.h"

#include <stdatomic.h>
#include <string.h>

#include "support/crew.h"
#include "support/proxy.h"

#define NAME "faults"

/* So long a link may owe an answer where it must not count as dead. */
#define PATIENT_MS 60000

/* A limit that a test waits for. */
#define HASTY_MS 500

/* With nothing to do the keeper sleeps without limit after so long. */
#define IDLE_MS 1500

/* Links of a client: main, keeper, pub/sub. */
#define LINKS 3

static const struct hft_rule swallow_scripts = {.direction = HFT_REQUEST,
                                                .match = "EVALSHA",
                                                .times = HFT_ALWAYS,
                                                .action = HFT_BLACK_HOLE};

static hf_options options_with_limit(int64_t response_limit_ms)
{
    hf_options options = short_options();

    options.response_limit_ms = response_limit_ms;
    return options;
}

/* How often callbacks came, and the last status. */
struct tally {
    atomic_int calls;
    atomic_int status;
};

static void count_done(const hf_completion *done, void *context)
{
    struct tally *tally = context;

    atomic_store(&tally->status, (int)done->status);
    atomic_fetch_add(&tally->calls, 1);
}

struct awaited_calls {
    struct tally *tally;
    int at_least;
};

static bool calls_are(void *context)
{
    const struct awaited_calls *awaited = context;

    return atomic_load(&awaited->tally->calls) >= awaited->at_least;
}

static bool calls_reach(struct tally *tally, int at_least)
{
    struct awaited_calls awaited = {tally, at_least};

    return hft_wait_until(calls_are, &awaited, BOUND_MS);
}

struct awaited_links {
    hf_client *client;
    int64_t at_least;
};

static bool reconnects_are(void *context)
{
    const struct awaited_links *awaited = context;

    return stats_of(awaited->client).reconnects >= awaited->at_least;
}

static bool reconnects_reach(hf_client *client, int64_t at_least)
{
    struct awaited_links awaited = {client, at_least};

    return hft_wait_until(reconnects_are, &awaited, BOUND_MS);
}

/* A client behind a proxy, all of whose links are up, and whose server knows
 * the script of a release by force. */
static hf_client *a_client_behind(struct world *w, struct hft_proxy *proxy,
                                  int64_t response_limit_ms)
{
    hf_options options = options_with_limit(response_limit_ms);
    hf_client *client = a_client_at(w, hft_proxy_url(proxy), &options);

    assert_true(hft_proxy_wait_requests(proxy, "TIME", LINKS, BOUND_MS));
    (void)hf_lock_force_release(a_lock_of(w, client, NAME), NULL, &problem);
    return client;
}

/* Close what stands behind a proxy before the proxy goes. */
static void end_behind(struct world *w, struct hft_proxy *proxy)
{
    w->more_client_count--;
    assert_ok(hf_client_close(w->more_clients[w->more_client_count]));
    hft_proxy_stop(proxy);
}

/* ---- many replies at once ------------------------------------------------- */

/* What one reading brings beyond what is parsed in one go, no poll tells of. */
static void two_thousand_replies_in_one_read_are_all_delivered(void **world)
{
    enum { CALLS = 2000 };
    struct world *w = *world;
    struct hft_proxy *proxy = hft_proxy_start_unix(w->server);
    hf_client *client = a_client_behind(w, proxy, PATIENT_MS);
    hf_lock *lock = a_lock_of(w, client, NAME);
    struct hft_rule keep = {.direction = HFT_REPLY,
                            .match = "EVALSHA",
                            .times = HFT_ALWAYS,
                            .action = HFT_HOLD};
    int rule = hft_proxy_add(proxy, &keep);
    static struct tally tally = {0};
    int i;

    for (i = 0; i < CALLS; i++) {
        assert_ok(hf_lock_force_release_async(lock, NULL, count_done, &tally,
                                              &problem));
    }
    assert_true(hft_proxy_wait_hits(proxy, rule, CALLS, BOUND_MS));
    assert_int_equal(atomic_load(&tally.calls), 0);
    hft_proxy_release(proxy, rule);
    assert_true(calls_reach(&tally, CALLS));
    assert_int_equal(atomic_load(&tally.calls), CALLS);
    assert_int_equal(stats_of(client).reconnects, 0);
    end_behind(w, proxy);
}

static void force_once(struct hft_member *me)
{
    (void)hf_lock_force_release(me->context, NULL, NULL);
}

/* As many as are parsed in one go: it looks as if there were more, while the
 * thread that drove has gone, and the keeper looks at an idle link. */
static void exactly_128_replies_in_one_read_keep_the_links(void **world)
{
    enum { CALLS = 128 };
    struct world *w = *world;
    struct hft_proxy *proxy = hft_proxy_start_unix(w->server);
    hf_client *client = a_client_behind(w, proxy, PATIENT_MS);
    hf_lock *lock = a_lock_of(w, client, NAME);
    struct hft_rule keep = {.direction = HFT_REPLY,
                            .match = "EVALSHA",
                            .times = HFT_ALWAYS,
                            .action = HFT_HOLD};
    int rule = hft_proxy_add(proxy, &keep);
    static struct tally tally = {0};
    hf_cancel *cancel = NULL;
    struct hft_crew *driver = hft_crew_start(1, force_once, lock);
    int i;

    assert_true(hft_proxy_wait_hits(proxy, rule, 1, BOUND_MS));
    for (i = 1; i < CALLS; i++) {
        assert_ok(hf_lock_force_release_async(lock, NULL, count_done, &tally,
                                              &problem));
    }
    assert_true(hft_proxy_wait_hits(proxy, rule, CALLS, BOUND_MS));
    hft_proxy_release(proxy, rule);
    assert_null(hft_crew_join(driver, BOUND_MS));
    hft_crew_free(driver);
    assert_true(calls_reach(&tally, CALLS - 1));
    assert_ok(hf_cancel_new(client, &cancel, &problem));
    for (i = 0; i < 20; i++) {
        hf_cancel_fire(cancel); /* the keeper looks around */
        hft_let_pass_ms(5);
    }
    assert_int_equal(stats_of(client).reconnects, 0);
    assert_int_equal(hft_proxy_links(proxy), LINKS);
    hf_cancel_free(cancel);
    end_behind(w, proxy);
}

/* ---- closing -------------------------------------------------------------- */

/* A release by force belongs to no owner, whose calls close would look at. */
static void closing_ends_an_async_call_without_an_owner(void **world)
{
    struct world *w = *world;
    struct hft_proxy *proxy = hft_proxy_start_unix(w->server);
    hf_client *client = a_client_behind(w, proxy, PATIENT_MS);
    hf_lock *lock = a_lock_of(w, client, NAME);
    unsigned before = hft_proxy_requests(proxy, "EVALSHA");
    static struct tally tally = {0};

    (void)hft_proxy_add(proxy, &swallow_scripts);
    assert_ok(
        hf_lock_force_release_async(lock, NULL, count_done, &tally, &problem));
    assert_true(
        hft_proxy_wait_requests(proxy, "EVALSHA", before + 1, BOUND_MS));
    end_behind(w, proxy);
    assert_int_equal(atomic_load(&tally.calls), 1);
    assert_true(atomic_load(&tally.status) == HF_UNKNOWN ||
                atomic_load(&tally.status) == HF_CLOSED);
}

static void ask_without_an_answer(struct hft_member *me)
{
    hf_lock_info info = HF_LOCK_INFO_INIT;
    hf_status status = hf_inspect_remote(me->context, &info, NULL);

    if (!HFT_CHECK(me, status == HF_UNKNOWN || status == HF_CLOSED ||
                           status == HF_UNREACHABLE)) {
        hft_member_note(me, "%s", hf_status_name(status));
    }
}

/* One of them is in poll on the link; what it looks at must outlast it (which
 * only the sanitizers see). */
static void closing_waits_for_the_thread_that_drives(void **world)
{
    enum { ROUNDS = 10, THREADS = 4 };
    struct world *w = *world;
    int round;

    for (round = 0; round < ROUNDS; round++) {
        struct hft_proxy *proxy = hft_proxy_start_unix(w->server);
        hf_client *client = a_client_behind(w, proxy, PATIENT_MS);
        struct hft_crew *crew;

        (void)hft_proxy_add(proxy, &swallow_scripts);
        crew = hft_crew_start(THREADS, ask_without_an_answer,
                              a_lock_of(w, client, NAME));
        assert_true(waiters_become(client, THREADS, BOUND_MS));
        end_behind(w, proxy);
        assert_null(hft_crew_join(crew, BOUND_MS));
        hft_crew_free(crew);
    }
}

/* A callback that is still running when the client is being closed. */
struct slow {
    struct tally tally;
    atomic_bool is_inside;
    atomic_bool is_closing;
};

static bool is_set(void *flag)
{
    return atomic_load((atomic_bool *)flag);
}

static void linger(const hf_completion *done, void *context)
{
    struct slow *slow = context;

    atomic_store(&slow->is_inside, true);
    (void)hft_wait_until(is_set, &slow->is_closing, BOUND_MS);
    hft_let_pass_ms(50);
    count_done(done, &slow->tally);
}

static void dispatch_until_stopped(struct hft_member *me)
{
    while (!hft_member_should_stop(me)) {
        (void)hf_client_dispatch(me->context);
        hft_let_pass_ms(1);
    }
}

static void closing_waits_for_a_callback_that_runs_in_dispatch(void **world)
{
    enum { CALLS = 4 };
    struct world *w = *world;
    hf_client *client = a_client(w);
    hf_lock *lock = a_lock_of(w, client, NAME);
    static struct slow slow = {0};
    struct hft_crew *crew;
    int i;

    assert_true(hf_client_fd(client) >= 0);
    for (i = 0; i < CALLS; i++) {
        assert_ok(
            hf_lock_force_release_async(lock, NULL, linger, &slow, &problem));
    }
    crew = hft_crew_start(1, dispatch_until_stopped, client);
    assert_true(hft_wait_until(is_set, &slow.is_inside, BOUND_MS));
    hft_crew_stop(crew);
    atomic_store(&slow.is_closing, true);
    w->more_client_count--;
    assert_ok(hf_client_close(client));
    assert_int_equal(atomic_load(&slow.tally.calls), CALLS);
    assert_null(hft_crew_join(crew, BOUND_MS));
    assert_int_equal(atomic_load(&slow.tally.calls), CALLS);
    hft_crew_free(crew);
}

/* ---- calls that end without the server ------------------------------------ */

/* All wait for the turn of the first; then each ends as soon as it is begun. */
static void twenty_thousand_calls_that_end_locally_do_not_nest(void **world)
{
    enum { CALLS = 20000 };
    struct world *w = *world;
    struct hft_proxy *proxy = hft_proxy_start_unix(w->server);
    hf_client *client = a_client_behind(w, proxy, PATIENT_MS);
    hf_lock *lock = a_lock_of(w, client, NAME);
    hf_owner *owner = an_owner_of(w, client);
    hf_acquire how = once(owner, 0);
    struct hft_rule keep = {.direction = HFT_REPLY,
                            .contains = NAME,
                            .times = HFT_ALWAYS,
                            .action = HFT_HOLD};
    int rule;
    static struct tally first = {0};
    static struct tally rest = {0};
    int i;

    stranger_takes(w, NAME, PATIENT_MS);
    rule = hft_proxy_add(proxy, &keep);
    assert_ok(hf_lock_acquire_async(lock, &how, count_done, &first, &problem));
    for (i = 0; i < CALLS; i++) {
        assert_ok(
            hf_lock_release_async(lock, owner, count_done, &rest, &problem));
    }
    hft_proxy_release(proxy, rule);
    assert_true(calls_reach(&rest, CALLS));
    assert_int_equal(atomic_load(&first.status), HF_BUSY);
    assert_int_equal(atomic_load(&rest.status), HF_NOT_OWNER);
    assert_int_equal(atomic_load(&rest.calls), CALLS);
    end_behind(w, proxy);
}

/* An export that finds the hold gone lets the next waiter ask, and nobody is
 * there to drive the link: it must not take until the keeper looks around. */
static void a_waiter_behind_an_export_asks_at_once(void **world)
{
    enum { ROUNDS = 5 };
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    hf_acquire how = once(NULL, PATIENT_MS);
    static struct caller waiters[ROUNDS];
    int64_t taken_ms = 0;
    int round;

    for (round = 0; round < ROUNDS; round++) {
        struct caller *waiter = &waiters[round];
        char *handle = NULL;
        int64_t asked_ms;

        assert_ok(take(lock, NULL, &how));
        caller_start(waiter, lock, HF_WAIT_FOREVER);
        assert_true(waiters_become(w->client, 1, BOUND_MS));
        stranger_vanishes(w, NAME);
        asked_ms = hft_now_ms();
        (void)hf_lock_export(lock, NULL, &handle, &problem);
        hf_handle_free(handle);
        caller_join(waiter);
        assert_status(HF_OK, waiter->status);
        taken_ms += waiter->ended_ms - asked_ms;
        (void)leave(lock, NULL);
    }
    assert_between(taken_ms, 0, 1000);
}

/* ---- links that fall silent, and links that end --------------------------- */

/* Longer than a lease, and the keeper's link does not even count as dead. */
static void a_lease_outlives_the_silence_of_the_keepers_link(void **world)
{
    struct world *w = *world;
    struct hft_proxy *proxy = hft_proxy_start_unix(w->server);
    hf_client *client = a_client_behind(w, proxy, PATIENT_MS);
    hf_lock *lock = a_lock_of(w, client, NAME);
    hf_acquire how = once(NULL, 2 * W_MS);
    struct hft_rule silence = {.direction = HFT_REQUEST,
                               .match = "EVALSHA",
                               .contains = NAME,
                               .action = HFT_BLACK_HOLE};
    static struct told told = {0};
    int rule;

    how.on_lost = record_lost;
    how.context = &told;
    assert_ok(take(lock, NULL, &how));
    rule = hft_proxy_add(proxy, &silence); /* the next is a renewal */
    assert_true(hft_proxy_wait_hits(proxy, rule, 1, BOUND_MS));
    assert_false(loss_is_told(&told, 5 * W_MS / 2));
    assert_true(hf_lock_is_held(lock, NULL));
    assert_int_equal(stats_of(client).reconnects, 0);
    assert_ok(leave(lock, NULL));
    end_behind(w, proxy);
}

/* With nothing to do the keeper sleeps without limit, and such a call gives it
 * no time of its own: but the link it travels on may be dead. */
static void a_call_without_a_limit_notices_that_its_link_is_dead(void **world)
{
    struct world *w = *world;
    struct hft_proxy *proxy = hft_proxy_start_unix(w->server);
    hf_client *client = a_client_behind(w, proxy, HASTY_MS);
    hf_lock *lock = a_lock_of(w, client, NAME);
    struct hft_rule silence = {.direction = HFT_REQUEST,
                               .match = "EVALSHA",
                               .contains = NAME,
                               .action = HFT_BLACK_HOLE};
    static struct caller caller = {.hold_ms = 0};
    int rule;

    hft_let_pass_ms(IDLE_MS);
    rule = hft_proxy_add(proxy, &silence);
    caller_start(&caller, lock, HF_WAIT_FOREVER);
    assert_true(hft_proxy_wait_hits(proxy, rule, 1, BOUND_MS));
    assert_true(reconnects_reach(client, 1));
    caller_join(&caller);
    assert_status(HF_OK, caller.status);
    assert_status(HF_OK, caller.release_status);
    assert_between(caller.ended_ms - caller.began_ms, HASTY_MS / 2,
                   4 * HASTY_MS + SLACK_MS);
    end_behind(w, proxy);
}

/* The same with the server itself, which goes on later. */
static void a_stopped_server_is_noticed_by_a_call_without_a_limit(void **world)
{
    struct world *w = *world;
    hf_options options = options_with_limit(HASTY_MS);
    hf_client *client = a_client_at(w, hft_server_url(w->server), &options);
    hf_lock *lock = a_lock_of(w, client, NAME);
    static struct caller caller = {.hold_ms = 0};
    bool asked;

    (void)hf_lock_force_release(lock, NULL, &problem);
    hft_let_pass_ms(IDLE_MS);
    hft_server_pause(w->server);
    caller_start(&caller, lock, HF_WAIT_FOREVER);
    asked = waiters_become(client, 1, BOUND_MS);
    hft_let_pass_ms(2 * HASTY_MS); /* the link owes an answer for so long */
    hft_server_resume(w->server);
    assert_true(asked);
    assert_true(reconnects_reach(client, 1));
    caller_join(&caller);
    assert_status(HF_OK, caller.status);
    assert_status(HF_OK, caller.release_status);
}

/* Nobody is in poll on the main link while nothing is in flight. */
static void an_idle_main_link_that_was_killed_is_made_again(void **world)
{
    struct world *w = *world;
    struct hft_proxy *proxy = hft_proxy_start_unix(w->server);
    hf_client *client = a_client_behind(w, proxy, PATIENT_MS);

    hft_proxy_cut_all(proxy);
    assert_true(reconnects_reach(client, LINKS));
    assert_true(hft_proxy_wait_requests(proxy, "TIME", 2 * LINKS, BOUND_MS));
    assert_int_equal(hft_proxy_links(proxy), 2 * LINKS);
    end_behind(w, proxy);
}

/* ---- renewals ------------------------------------------------------------- */

/* Each counted as a renewal, and put the next one off. */
static void short_extensions_by_hand_put_no_renewal_off(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, NAME);
    int64_t end_ms = hft_now_ms() + 3 * W_MS / 2;
    int done = 0;

    assert_ok(try_once(lock, NULL));
    while (hft_now_ms() < end_ms) {
        /* An answer that is slower than the 50 ms is none. */
        hf_status status = hf_lock_extend(lock, NULL, 50, &problem);

        assert_true(status == HF_OK || status == HF_NOT_DONE);
        done += status == HF_OK;
        hft_let_pass_ms(50);
    }
    assert_true(done > 0);
    assert_true(hf_lock_is_held(lock, NULL));
    assert_ok(leave(lock, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        world_test(two_thousand_replies_in_one_read_are_all_delivered),
        world_test(exactly_128_replies_in_one_read_keep_the_links),
        world_test(closing_ends_an_async_call_without_an_owner),
        world_test(closing_waits_for_the_thread_that_drives),
        world_test(closing_waits_for_a_callback_that_runs_in_dispatch),
        world_test(twenty_thousand_calls_that_end_locally_do_not_nest),
        world_test(a_waiter_behind_an_export_asks_at_once),
        world_test(a_lease_outlives_the_silence_of_the_keepers_link),
        world_test(a_call_without_a_limit_notices_that_its_link_is_dead),
        world_test(a_stopped_server_is_noticed_by_a_call_without_a_limit),
        world_test(an_idle_main_link_that_was_killed_is_made_again),
        world_test(short_extensions_by_hand_put_no_renewal_off),
    };

    return cmocka_run_group_tests(tests, world_up, world_down);
}
