/* SPDX-License-Identifier: MIT */
/* test_permits_faults.c - permits with leases under every fault of the network.
 *
 * One test a fault, one member of a crew an operation, each with a client and a
 * name of its own, all through one proxy.  The fault hits the first script of
 * the operation.  Whatever the operation then says, what is available and what
 * is out must be what follows from it, and stay so when what was held or delayed
 * has run: a lost or a late reply neither leaks nor doubles a permit.
 *
 * Rows: T14, T15, T40.  spec: permits/acquire-1, permits/acquire-2
 * spec: permits/release-2, permits/change-3
 */
#include "permitting.h"

#include <stdio.h>
#include <string.h>

#include "bad_day.h"

#define NONE HFT_NIL
#define FOREIGN "00112233445566778899aabbccddeeff"

enum operation {
    TRY,
    WAIT,
    RELEASE,
    EXTEND,
    FREE_FOREIGN,
    EXTEND_FOREIGN,
    SHORTEN,
    SHORTEN_FOREIGN,
    TAKE_MANY,
    FREE_MANY,
    ADD,
    TOTAL,
    DELETE,
    SET,
    OPERATIONS
};

/* What is available and what is out: after it was done, and after it says that
 * it was not.  There are ten, of which two are out, one of them another's. */
static const struct rule_of_operation {
    const char *name;
    int64_t available, out;
    hf_status not_done;
    int64_t available_else, out_else;
} operations[OPERATIONS] = {
    [TRY] = {"try", 7, 3, HF_UNKNOWN, 8, 2},
    [WAIT] = {"wait", 7, 3, HF_UNKNOWN, 8, 2},
    [RELEASE] = {"release", 9, 1, HF_UNKNOWN, 9, 1},
    [EXTEND] = {"extend", 8, 2, HF_NOT_DONE, 8, 2},
    [FREE_FOREIGN] = {"free", 9, 1, HF_NOT_DONE, 8, 2},
    [EXTEND_FOREIGN] = {"prolong", 8, 2, HF_NOT_DONE, 8, 2},
    [SHORTEN] = {"shorten", 8, 2, HF_UNKNOWN, 8, 2},
    [SHORTEN_FOREIGN] = {"cut", 8, 2, HF_NOT_DONE, 8, 2},
    [TAKE_MANY] = {"many", 5, 5, HF_UNKNOWN, 8, 2},
    [FREE_MANY] = {"together", 10, 0, HF_NOT_DONE, 8, 2},
    [ADD] = {"add", 12, 2, HF_NOT_DONE, 8, 2},
    [TOTAL] = {"total", 18, 2, HF_NOT_DONE, 8, 2},
    [DELETE] = {"delete", NONE, 0, HF_NOT_DONE, 8, 2},
    [SET] = {"set", 5, 0, HF_NOT_DONE, NONE, 0},
};

struct party {
    hf_client *client;
    hf_permits *slots;
    char own[HF_PERMIT_ID_SIZE];
};

static hf_status take_three(hf_permits *slots)
{
    hf_acquire how = HF_ACQUIRE_INIT;
    hf_permit_id ids[3];

    how.wait_ms = SETTLED_MS;
    how.lease_ms = 60000;
    return hf_permits_acquire_many(slots, 3, &how, ids, &problem);
}

/* Our own and the other's: both, or none; and what stays is held. */
static hf_status free_both(const struct party *party)
{
    hf_permit_id ids[2];
    hf_status status;

    memcpy(ids[0].text, party->own, sizeof(ids[0].text));
    memcpy(ids[1].text, FOREIGN, sizeof(FOREIGN));
    status = hf_permits_release_many(party->slots, ids, 2, &problem);
    return hf_permits_is_held(party->slots, party->own) ==
                   (status == HF_NOT_DONE)
               ? status
               : HF_INTERNAL;
}

static hf_status perform(enum operation operation, struct party *party)
{
    hf_permits *slots = party->slots;

    switch (operation) {
    case TRY:
        return take_permit(slots, 0, 60000, 1, NULL);
    case WAIT:
        return take_permit(slots, SETTLED_MS, 60000, 1, NULL);
    case RELEASE:
        return hf_permits_release(slots, party->own, &problem);
    case EXTEND:
        return hf_permits_extend(slots, party->own, 120000, &problem);
    case FREE_FOREIGN:
        return hf_permits_release(slots, FOREIGN, &problem);
    case EXTEND_FOREIGN:
        return hf_permits_extend(slots, FOREIGN, 120000, &problem);
    case SHORTEN:
        return hf_permits_set_lease(slots, party->own, 30000, &problem);
    case SHORTEN_FOREIGN:
        return hf_permits_set_lease(slots, FOREIGN, 30000, &problem);
    case TAKE_MANY:
        return take_three(slots);
    case FREE_MANY:
        return free_both(party);
    case ADD:
        return hf_permits_add(slots, 4, NULL, &problem);
    case TOTAL:
        return hf_permits_set(slots, 20, &problem);
    case DELETE:
        return hf_permits_delete(slots, NULL, &problem);
    case SET:
        return hf_permits_try_set(slots, 5, 0, NULL, &problem);
    case OPERATIONS:
        break;
    }
    return HF_INTERNAL;
}

/* So that the server knows the scripts, and the first EVALSHA with the name is
 * the operation's own. */
static bool warm_up(struct hft_member *me, hf_client *client)
{
    struct party warm = {.client = client};
    char id[HF_PERMIT_ID_SIZE];
    bool well =
        hf_permits_new(client, "warm", &warm.slots, NULL) == HF_OK &&
        HFT_CHECK(me, hf_permits_add(warm.slots, 100, NULL, NULL) == HF_OK) &&
        HFT_CHECK(me,
                  take_permit(warm.slots, SETTLED_MS, 60000, 0, id) == HF_OK) &&
        HFT_CHECK(me,
                  hf_permits_extend(warm.slots, id, 90000, NULL) == HF_OK) &&
        HFT_CHECK(me, hf_permits_release(warm.slots, id, NULL) == HF_OK);

    return hf_permits_free(warm.slots) == HF_OK && well;
}

static bool set_out(struct hft_member *me, struct party *party,
                    const char *name)
{
    struct bad_day *day = me->context;

    if (me->index == SET) {
        return true;
    }
    (void)hft_int(day->w->server, "SET %s 9", name);
    (void)hft_int(day->w->server, "EVAL %s 1 {%s}:timeout",
                  "local id = ''\nfor i = 0, 15 do id = id .. "
                  "string.char(i * 17) end\n"
                  "return redis.call('zadd', KEYS[1], '9000000000000', id)",
                  name);
    return HFT_CHECK(me, take_permit(party->slots, SETTLED_MS, 60000, 0,
                                     party->own) == HF_OK);
}

static bool is_at(struct world *w, const char *name, int64_t available,
                  int64_t out)
{
    return hft_int(w->server, "GET %s", name) == available &&
           wire_out(w, name) == out;
}

/* What this client holds the server has for as long at least. */
static bool is_backed(struct world *w, const struct party *party,
                      const char *name)
{
    /* One that was deleted is held until somebody asks. */
    int64_t lease_ms = hft_int(
        w->server, "EVAL %s 1 {%s}:timeout %s",
        "local t = redis.call('time')\n"
        "local id = string.gsub(ARGV[1], '..', function(hex)\n"
        "  return string.char(tonumber(hex, 16)) end)\n"
        "local last = redis.call('zscore', KEYS[1], id)\n"
        "return last and last - t[1] * 1000 - math.floor(t[2] / 1000) "
        "or 9000000000000",
        name, party->own);

    return hf_permits_remaining_ms(party->slots, party->own) <= lease_ms;
}

/* It is so, and stays so while late copies run. */
static void settles_at(struct hft_member *me, const struct party *party,
                       const char *name, int64_t available, int64_t out)
{
    struct bad_day *day = me->context;
    int64_t end_ms = hft_now_ms() + SETTLED_MS;

    while (!is_at(day->w, name, available, out) && hft_now_ms() < end_ms) {
        hft_let_pass_ms(10);
    }
    if (!HFT_CHECK(me, is_at(day->w, name, available, out))) {
        hft_member_note(me, "%s: %lld available, %lld out", name,
                        (long long)hft_int(day->w->server, "GET %s", name),
                        (long long)wire_out(day->w, name));
        return;
    }
    end_ms = hft_now_ms() + 2 * BAD_DAY_LIMIT_MS;
    while (hft_now_ms() < end_ms) {
        if (!HFT_CHECK(me, is_at(day->w, name, available, out)) ||
            !HFT_CHECK(me, !hf_permits_is_held(party->slots, party->own) ||
                               is_backed(day->w, party, name))) {
            return;
        }
        hft_let_pass_ms(20);
    }
}

/* The operation itself, with the fault, and what must hold after it. */
static void strike(struct hft_member *me, struct party *party, const char *name)
{
    struct bad_day *day = me->context;
    const struct rule_of_operation *expected = &operations[me->index];
    struct hft_rule rule = day->rule;
    hf_status status;
    int id;

    rule.contains = name;
    id = hft_proxy_add(day->proxy, &rule);
    status = perform((enum operation)me->index, party);
    HFT_CHECK(me, hft_proxy_hits(day->proxy, id) >= 1);
    hft_let_pass_ms(day->let_pass_ms);
    hft_proxy_release(day->proxy, id);
    if (status == HF_OK) {
        HFT_CHECK(me, endings_become(party->client, 0, SETTLED_MS));
        settles_at(me, party, name, expected->available, expected->out);
        return;
    }
    if (!HFT_CHECK(me, !day->must_be_ok) ||
        !HFT_CHECK(me, status == expected->not_done)) {
        hft_member_note(me, "%s says %s: %s", name, hf_status_name(status),
                        problem.message);
    }
    HFT_CHECK(me, endings_become(party->client, 0, SETTLED_MS));
    settles_at(me, party, name, expected->available_else, expected->out_else);
}

static void suffer(struct hft_member *me)
{
    struct bad_day *day = me->context;
    hf_options options = short_options();
    struct party party = {NULL, NULL, ""};
    char name[64];

    options.response_limit_ms = BAD_DAY_LIMIT_MS;
    (void)snprintf(name, sizeof(name), "fault:%s:%u",
                   operations[me->index].name, me->index);
    if (!HFT_CHECK(me, hf_client_open(hft_proxy_url(day->proxy), &options,
                                      &party.client, NULL) == HF_OK) ||
        !HFT_CHECK(me, hf_permits_new(party.client, name, &party.slots, NULL) ==
                           HF_OK) ||
        !HFT_CHECK(me, warm_up(me, party.client)) ||
        !set_out(me, &party, name)) {
        return;
    }
    strike(me, &party, name);
    HFT_CHECK(me, hf_client_close(party.client) == HF_OK);
    HFT_CHECK(me, hf_permits_free(party.slots) == HF_OK);
}

/* ---- one by one ---- */

/* T15: the caller is told that nothing is known, and it is undone behind him. */
static void an_acquire_that_was_given_up_is_undone(void **world)
{
    struct world *w = *world;
    struct hft_proxy *proxy = hft_proxy_start(w->server);
    struct hft_rule swallow = {.direction = HFT_REPLY,
                               .match = "EVALSHA",
                               .contains = "slots",
                               .action = HFT_HOLD,
                               .times = HFT_ALWAYS};
    hf_client *client = a_hasty_client(w, proxy);
    hf_permits *slots = permits_of(client, "slots");
    int id;

    assert_true(permits_set_to(slots, 3));
    assert_ok(take_permit(slots, SETTLED_MS, 60000, 1, NULL));
    id = hft_proxy_add(proxy, &swallow);
    assert_status(HF_UNKNOWN, take_permit(slots, 0, 60000, 1, NULL));
    assert_int_equal(stats_of(client).ending, 1);
    hft_proxy_release(proxy, id);
    assert_true(endings_become(client, 0, SETTLED_MS));
    assert_int_equal(wire_out(w, "slots"), 1);
    assert_true(conserved(w, "slots", 3));
    close_clients(w);
    hf_permits_free(slots);
    hft_proxy_stop(proxy);
}

/* A copy that runs after the permit was given back takes it for nobody, and is
 * undone.  spec: permits/acquire-2, permits/release-2 */
static void a_late_copy_after_the_release_leaves_nothing(void **world)
{
    struct world *w = *world;
    struct hft_proxy *proxy = hft_proxy_start(w->server);
    struct hft_rule late = {.direction = HFT_REQUEST,
                            .match = "EVALSHA",
                            .contains = "slots",
                            .action = HFT_DELAY,
                            .delay_ms = BAD_DAY_LIMIT_MS +
                                        BAD_DAY_LIMIT_MS / 2};
    hf_client *client = a_hasty_client(w, proxy);
    hf_permits *slots = permits_of(client, "slots");
    char id[HF_PERMIT_ID_SIZE];
    int i;

    assert_true(permits_set_to(slots, 3));
    assert_ok(take_permit(slots, SETTLED_MS, 60000, 1, id));
    assert_ok(hf_permits_release(slots, id, &problem));
    (void)hft_proxy_add(proxy, &late);
    assert_ok(take_permit(slots, SETTLED_MS, 60000, 1, id));
    assert_ok(hf_permits_release(slots, id, &problem));
    assert_true(endings_become(client, 0, SETTLED_MS));
    for (i = 0; i < 50; i++) {
        assert_true(conserved(w, "slots", 3));
        hft_let_pass_ms(20);
    }
    assert_int_equal(wire_out(w, "slots"), 0);
    hf_permits_free(slots);
    hft_proxy_stop(proxy);
}

/* T18: the message is lost with its link; the waiter asks when there is one. */
static void a_waiter_survives_a_break(void **world)
{
    struct world *w = *world;
    struct hft_proxy *proxy = hft_proxy_start(w->server);
    hf_client *client = a_hasty_client(w, proxy);
    hf_permits *slots = permits_of(client, "slots");
    struct permit_taker taker;

    assert_true(permits_set_to(slots, 0));
    permit_taker_start(&taker, slots, SETTLED_MS);
    assert_true(hft_wait_channels(w->server, 1, BOUND_MS));
    hft_proxy_set_door(proxy, HFT_DOOR_SHUT);
    hft_proxy_cut_all(proxy);
    (void)hft_int(w->server, "SET slots 1");
    hft_let_pass_ms(100);
    hft_proxy_set_door(proxy, HFT_DOOR_OPEN);
    permit_taker_join(&taker);
    assert_ok(taker.status);
    assert_true(conserved(w, "slots", 1));
    assert_ok(hf_permits_release(slots, taker.id, &problem));
    hf_permits_free(slots);
    hft_proxy_stop(proxy);
}

/* The server is away for longer than the lease: the holder is told in time. */
static void a_server_that_stays_away_costs_the_permit(void **world)
{
    struct world *w = *world;
    struct hft_proxy *proxy = hft_proxy_start(w->server);
    hf_client *client = a_hasty_client(w, proxy);
    hf_permits *slots = permits_of(client, "slots");
    char id[HF_PERMIT_ID_SIZE];
    hf_acquire how = HF_ACQUIRE_INIT;
    struct told told;

    memset(&told, 0, sizeof(told));
    how.lease_ms = 800;
    how.on_lost = record_lost;
    how.context = &told;
    assert_true(permits_set_to(slots, 1));
    assert_ok(hf_permits_acquire(slots, &how, id, &problem));
    hft_proxy_set_door(proxy, HFT_DOOR_SHUT);
    hft_proxy_cut_all(proxy);
    assert_true(loss_is_told(&told, BOUND_MS));
    assert_int_equal(told_so_far(&told).reason, HF_LOST_UNREACHABLE);
    assert_false(hf_permits_is_held(slots, id));
    hft_proxy_set_door(proxy, HFT_DOOR_OPEN);
    assert_true(endings_become(client, 0, SETTLED_MS));
    assert_ok(take_permit(slots, SETTLED_MS, 60000, 1, id));
    assert_true(conserved(w, "slots", 1));
    assert_ok(hf_permits_release(slots, id, &problem));
    hf_permits_free(slots);
    hft_proxy_stop(proxy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BAD_DAYS,
        world_test(an_acquire_that_was_given_up_is_undone),
        world_test(a_late_copy_after_the_release_leaves_nothing),
        world_test(a_waiter_survives_a_break),
        world_test(a_server_that_stays_away_costs_the_permit),
    };

    bad_days_are_for(OPERATIONS, suffer);
    return cmocka_run_group_tests_name("permits_faults", tests, world_up,
                                       world_down);
}
