/* SPDX-License-Identifier: MIT */
/* test_core_random.c - random walks of two clients and a server.
 *
 * Two cores with two owners each take, one by one or both at once, nest, extend
 * and release two locks on the model of a server (core_model.h), while links die with copies in them: cut off
 * before they were written, or written and run at any later time; clocks are
 * misjudged, messages lost, processes stopped past their leases.  After every
 * step the invariants of docs/design/late-copies.md are looked at:
 *
 *  1  what lives locally has its field on the server, for longer than that, so
 *     no two live at once;
 *  2  what ended has left nothing there, and every End ends;
 *  3  a number is never sent in an ACQUIRE again once it was held or ended;
 *  5  nobody is told "done" or "gone" of what is not so; a loss is told once.
 *
 * A failing walk prints its seed; HFT_SEED repeats it (and HF_WALKS=1 only it).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core_walk.h"
#include "scripts_data.h"
#include "support/fatal.h"

#define WALKS 300
#define STEPS 4000

static uint64_t first_seed;

static uint64_t below(uint64_t limit)
{
    return hft_random_below(&world.random, limit);
}

static bool chance(unsigned percent)
{
    return below(100) < percent;
}

/* ---- the network ---- */

static void note_number(const struct past *past,
                        const struct hfi_number *number)
{
    check(!past[number->n].used, "number %" PRIu64 " is sent again", number->n);
    check(number->end == END_NONE, "a burned number is sent");
}

static void note_copy(struct client *client, const struct hfi_copy *copy)
{
    struct past *past = client->past;

    if (copy->rest_ms > 0) {
        past[copy->stand_in].stand_in = true;
    }
    if (copy->request != HFI_ACQUIRE) {
        return;
    }
    if (copy->number != NULL) {
        note_number(past, copy->number);
    }
    for (size_t i = 0; i < copy->batch_count; i++) {
        note_number(past, copy->batch[i].number);
    }
}

static void send_copies(struct client *client)
{
    struct hfi_copy *copy;

    while ((copy = bench_take_any(&client->bench)) != NULL) {
        struct flight *flight = hft_alloc(sizeof(*flight));

        note_copy(client, copy);
        flight->copy = copy;
        model_capture(client->bench.core, copy, &flight->request);
        DL_APPEND(client->link[copy->link], flight);
    }
}

static void run_flight(struct client *client, struct flight *flight)
{
    int script = flight->request.script;
    const char *field = flight->request.words[1];
    struct model_key *key = model_key(&world.model, flight->request.words[0]);
    bool stood = model_field(key, field) != NULL;

    flight->answer = model_run(&world.model, &flight->request);
    flight->run = true;
    if (stood && (script == HFI_SCRIPT_LOCK_RELEASE ||
                  script == HFI_SCRIPT_LOCK_RELEASE_LATER ||
                  script == HFI_SCRIPT_LOCK_UNDO)) {
        client->past[strtoull(strrchr(field, ':') + 1, NULL, 10)].freed = true;
    }
}

static void flight_free(struct flight **list, struct flight *flight)
{
    /* It is in the list, whatever the analyser takes for possible. */
    DL_DELETE(*list, flight); /* NOLINT(clang-analyzer-core.NullDereference) */
    hfi_value_clear(&flight->answer);
    free(flight);
}

/* A link executes in order. */
static void run_next(struct client *client, int id)
{
    struct flight *flight;

    DL_FOREACH (client->link[id], flight) {
        if (!flight->run) {
            run_flight(client, flight);
            return;
        }
    }
}

static void answer_error(struct client *client, struct hfi_copy *copy)
{
    static const enum hfi_refusal refusals[] = {HFI_REFUSAL_NO_SCRIPT,
                                                HFI_REFUSAL_UNAVAILABLE};

    bench_error(&client->bench, copy, refusals[below(2)]);
}

static void answer_next(struct client *client, int id)
{
    struct flight *flight = client->link[id];
    struct hfi_copy *copy;
    struct hfi_value answer;

    if (flight == NULL) {
        return;
    }
    copy = flight->copy;
    /* An UNDO that is refused may be given up: test_ending.c has that. */
    if (!flight->run && copy->request != HFI_UNDO && !world.calm &&
        chance(20)) {
        flight_free(&client->link[id], flight);
        answer_error(client, copy); /* refused before it ran */
        return;
    }
    if (!flight->run) {
        return;
    }
    answer = flight->answer;
    memset(&flight->answer, 0, sizeof(flight->answer));
    flight_free(&client->link[id], flight);
    bench_answer(&client->bench, copy, &answer);
}

/* Its copies are given back; those that were written may run yet. */
static void cut_link(struct client *client, int id)
{
    bool written = true;
    struct flight *flight;

    client->up[id] = false;
    bench_link_down(&client->bench, (enum hfi_link_id)id);
    while ((flight = client->link[id]) != NULL) {
        struct hfi_copy *copy = flight->copy;

        written = flight->run || (written && chance(70));
        if (written && !flight->run) {
            DL_DELETE(client->link[id], flight);
            flight->copy = NULL;
            DL_APPEND(client->ghosts, flight);
        } else {
            flight_free(&client->link[id], flight);
        }
        bench_lose(&client->bench, copy, written);
        send_copies(client);
    }
}

static void make_link(struct client *client, int id)
{
    int64_t truth = client->bench.server_ahead_ms;

    if (client->up[id]) {
        return;
    }
    client->up[id] = true;
    if (chance(30) && !world.calm) { /* its clock is misjudged */
        client->bench.server_ahead_ms += (int64_t)below(401) - 200;
    }
    bench_link_up(&client->bench, (enum hfi_link_id)id);
    client->bench.server_ahead_ms = truth;
}

/* The oldest of one link before its younger ones, else whichever. */
static void run_ghost(struct client *client)
{
    struct flight *ghost = client->ghosts;

    if (ghost == NULL) {
        return;
    }
    if (chance(50) && ghost->next != NULL) {
        ghost = ghost->next;
    }
    if (world.calm || chance(80)) {
        run_flight(client, ghost);
    }
    flight_free(&client->ghosts, ghost);
}

/* ---- messages ---- */

static void hear(struct client *client, int lock)
{
    const char *name = lock_names[lock];
    unsigned published = model_key(&world.model, name)->published;

    if (!bench_wants(&client->bench, name)) {
        client->heard[lock] = false;
    } else if (!client->heard[lock]) {
        client->heard[lock] = true;
        client->seen[lock] = published;
        bench_heard(&client->bench, name);
    } else if (client->seen[lock] != published) {
        client->seen[lock] = published;
        if (world.calm || chance(70)) { /* else it is lost */
            bench_message(&client->bench, name);
        }
    } else if (!world.calm && chance(5)) {
        client->heard[lock] = false;
        bench_deaf(&client->bench, name);
    }
}

/* ---- calls ---- */

static int64_t some_lease(void)
{
    static const int64_t leases[] = {10, 50, 200, 1000, 1000, 3000};

    return leases[below(6)];
}

static int64_t some_wait(void)
{
    static const int64_t waits[] = {0, 0, 30, 200, 1000, 5000, -1};

    return waits[below(7)];
}

static struct hfi_terms *some_terms(int lock)
{
    struct hfi_terms *terms;

    if (chance(30)) {
        return NULL;
    }
    terms = bench_terms(lock_names[lock]);
    terms->min_hold_ms = chance(10) ? 300 : 0;
    terms->max_hold_ms = chance(10) ? 700 : 0;
    terms->max_hold_warning_ms = 100;
    return terms;
}

static struct hfi_number *number_of(struct client *client, int owner, int lock)
{
    struct hfi_owner *found = hfi_owner_get(client->bench.core,
                                            (uint64_t)owner + 1, false);
    struct hfi_object object = bench_object(lock_names[lock]);
    struct hfi_name *name = hfi_name_get(client->bench.core, &object, false);

    return found == NULL || name == NULL
               ? NULL
               : hfi_name_number_of(name, &hfi_kind_lock, NULL, found);
}

static void call_acquire(struct client *client, int owner, int lock)
{
    struct hfi_op_request ask = {.kind = HFI_OP_ACQUIRE,
                                 .wait_ms = some_wait(),
                                 .lease_ms = some_lease(),
                                 .renewed = chance(60),
                                 .terms = some_terms(lock)};
    struct bench_call *before = client->acquiring[owner][lock];

    if (before != NULL && before->op != NULL) {
        hfi_terms_unref(ask.terms);
        return;
    }
    client->whole[owner] = false;
    client->acquiring[owner][lock] = bench_start(
        &client->bench, (uint64_t)owner + 1, lock_names[lock], &ask);
}

static bool runs(const struct bench_call *call)
{
    return call != NULL && call->op != NULL;
}

/* Both locks, or none. */
static void call_together(struct client *client, int owner)
{
    struct bench_call **calls = client->acquiring[owner];
    struct hfi_op_request ask = {.kind = HFI_OP_ACQUIRE,
                                 .wait_ms = some_wait(),
                                 .lease_ms = some_lease(),
                                 .renewed = chance(60)};

    if (runs(calls[0]) || runs(calls[1])) {
        return;
    }
    client->whole[owner] = number_of(client, owner, 0) == NULL &&
                           number_of(client, owner, 1) == NULL;
    /* Who holds one and waits for the other may wait for who does the same. */
    if (!client->whole[owner] && ask.wait_ms < 0) {
        ask.wait_ms = 3000;
    }
    bench_start_together(&client->bench, (uint64_t)owner + 1, lock_names, LOCKS,
                         &ask, chance(50) ? 100 : 10000, calls);
}

/* Of those that enter nothing, all succeed at once or none does. */
static void check_together(const struct client *client)
{
    for (int owner = 0; owner < OWNERS; owner++) {
        struct bench_call *const *calls = client->acquiring[owner];

        if (!client->whole[owner]) {
            continue;
        }
        check(runs(calls[0]) == runs(calls[1]), "one half has ended");
        check(runs(calls[0]) ||
                  (calls[0]->status == HF_OK) == (calls[1]->status == HF_OK),
              "one half was taken");
    }
}

static void call_release(struct client *client, int owner, int lock)
{
    struct bench_call *before = client->releasing[owner][lock];
    struct bench_call *acquires = client->acquiring[owner][lock];
    struct hfi_number *number = number_of(client, owner, lock);

    if ((before != NULL && before->op != NULL) ||
        (acquires != NULL && acquires->op != NULL) || number == NULL) {
        return;
    }
    client->releasing_n[owner][lock] = number->n;
    client->releasing[owner][lock] = bench_unlock(
        &client->bench, (uint64_t)owner + 1, lock_names[lock]);
}

static void call_something(struct client *client)
{
    int owner = (int)below(OWNERS), lock = (int)below(LOCKS);
    struct bench_call *acquires = client->acquiring[owner][lock];

    switch (below(12)) {
    case 0:
    case 1:
    case 2:
    case 3:
        call_acquire(client, owner, lock);
        return;
    case 10:
    case 11:
        call_together(client, owner);
        return;
    case 4:
        bench_extend(&client->bench, (uint64_t)owner + 1, lock_names[lock],
                     some_lease());
        return;
    case 5:
        if (acquires != NULL && acquires->op != NULL && chance(50)) {
            bench_cancel(&client->bench, acquires, HF_CANCELLED);
        }
        return;
    default:
        call_release(client, owner, lock);
        return;
    }
}

/* ---- a walk ---- */

static void pass(int64_t ms)
{
    world.now += ms;
    world.model.now_ms += ms;
    for (int i = 0; i < CLIENTS; i++) {
        struct client *client = &world.clients[i];

        client->bench.now = world.now;
        if (client->stopped_until <= world.now) {
            bench_tick(&client->bench);
            send_copies(client);
        }
    }
}

static void something_happens(void)
{
    struct client *client = &world.clients[below(CLIENTS)];
    int id = (int)below(HFI_COMMAND_LINKS);

    if (client->stopped_until > world.now) {
        run_next(client, id); /* what it sent runs all the same */
        return;
    }
    switch (below(100)) {
    case 0:
        cut_link(client, id);
        return;
    case 1:
    case 2:
        run_ghost(client);
        return;
    case 3:
        client->stopped_until = chance(3) ? world.now + 1500 : 0;
        return;
    default:
        break;
    }
    switch (below(8)) {
    case 0:
        call_something(client);
        break;
    case 1:
        hear(client, (int)below(LOCKS));
        break;
    case 2:
    case 3:
        run_next(client, id);
        break;
    case 4:
    case 5:
        answer_next(client, id);
        break;
    case 6:
        make_link(client, id);
        break;
    default:
        break;
    }
    send_copies(client);
}

static void begin_walk(uint64_t seed)
{
    memset(&world, 0, sizeof(world));
    world.seed = seed;
    world.random = (struct hft_random){seed};
    world.now = BENCH_BEGIN_MS;
    world.model.now_ms = BENCH_BEGIN_MS + BENCH_SERVER_AHEAD_MS;
    for (int i = 0; i < CLIENTS; i++) {
        struct client *client = &world.clients[i];
        struct hfi_core_config config = bench_config();

        memcpy(config.uuid, uuids[i], sizeof(config.uuid));
        config.seed = seed + (uint64_t)i;
        config.response_limit_ms = 400;
        config.connect_limit_ms = 300;
        config.retry_bound_ms = 200;
        config.local_reentry = below(2) == 1;
        bench_open_with(&client->bench, &config);
        client->up[HFI_LINK_MAIN] = true;
        client->up[HFI_LINK_KEEPER] = true;
        client->past = hft_alloc(NUMBERS * sizeof(*client->past));
    }
}

/* Everything arrives, whoever holds releases: every call ends. */
static void calm_down(void)
{
    world.calm = true;
    for (world.step = STEPS; world.step < STEPS + 4000; world.step++) {
        for (int i = 0; i < CLIENTS; i++) {
            struct client *client = &world.clients[i];

            run_ghost(client);
            for (int id = 0; id < HFI_COMMAND_LINKS; id++) {
                make_link(client, id);
                send_copies(client);
                run_next(client, id);
                answer_next(client, id);
            }
            for (int which = 0; which < OWNERS * LOCKS; which++) {
                call_release(client, which / LOCKS, which % LOCKS);
                hear(client, which % LOCKS);
            }
            send_copies(client);
        }
        look_around();
        pass(3);
    }
}

static void end_walk(void)
{
    for (int lock = 0; lock < LOCKS; lock++) {
        check(model_key(&world.model, lock_names[lock])->field_count == 0,
              "%s is not free at the end", lock_names[lock]);
    }
    for (int i = 0; i < CLIENTS; i++) {
        struct client *client = &world.clients[i];

        check(client->bench.core->next_n < NUMBERS, "too many numbers");
        check(hfi_core_ended(client->bench.core), "an End does not end");
        check(hfi_core_idle(client->bench.core), "something does not end");
        while (client->ghosts != NULL) {
            flight_free(&client->ghosts, client->ghosts);
        }
        for (int id = 0; id < HFI_COMMAND_LINKS; id++) {
            cut_link(client, id);
        }
        while (client->ghosts != NULL) {
            flight_free(&client->ghosts, client->ghosts);
        }
        bench_close(&client->bench);
        free(client->past);
    }
}

static void walk(uint64_t seed)
{
    begin_walk(seed);
    for (world.step = 0; world.step < STEPS; world.step++) {
        something_happens();
        look_around();
        check_together(&world.clients[0]);
        check_together(&world.clients[1]);
        if (chance(30)) {
            pass((int64_t)below(chance(5) ? 300 : 12));
            look_around();
        }
    }
    calm_down();
    end_walk();
}

static void the_invariants_hold_at_every_step(void **state)
{
    const char *walks = getenv("HF_WALKS");
    uint64_t count = walks == NULL ? WALKS : strtoull(walks, NULL, 10);

    (void)state;
    for (uint64_t i = 0; i < count; i++) {
        walk(first_seed + i);
    }
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_invariants_hold_at_every_step),
    };

    first_seed = hft_seed(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
