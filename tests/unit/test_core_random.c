/* SPDX-License-Identifier: MIT */
/* test_core_random.c - random walks of two clients and a server.
 *
 * Two cores with two owners each take, nest, extend and release two locks on the
 * model of a server (core_model.h), while links die with copies in them: cut off
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

#include "core_bench.h"
#include "core_model.h"
#include "scripts_data.h"
#include "support/fatal.h"
#include "support/seed.h"
#include "sync/state.h"

#define CLIENTS 2
#define OWNERS 2
#define LOCKS 2
#define NUMBERS 8192
#define WALKS 300
#define STEPS 4000

static const char *const lock_names[LOCKS] = {"a", "b"};
static const char *const uuids[CLIENTS] = {
    "00000000-0000-4000-8000-000000000001",
    "00000000-0000-4000-8000-000000000002"};

/* A copy on its way: in a link, or left over from one that is gone. */
struct flight {
    struct flight *prev, *next;
    struct hfi_copy *copy; /* NULL: given back to the core already */
    struct model_request request;
    struct hfi_value answer;
    bool run;
};

/* What was seen of a number so far. */
struct past {
    bool known;    /* the core had a record of it */
    bool gone;     /* ... and has none any more */
    bool excused;  /* given up while the server was away */
    bool used;     /* it was held, or its End was begun */
    bool stand_in; /* for what is left of a min_hold */
    bool freed;    /* its RELEASE or UNDO deleted its field */
    int told_lost;
};

struct client {
    struct bench bench;
    struct flight *link[HFI_COMMAND_LINKS];
    struct flight *ghosts; /* written into links that are gone; not run */
    bool up[HFI_COMMAND_LINKS];
    bool heard[LOCKS];
    unsigned seen[LOCKS]; /* messages */
    int64_t stopped_until;
    struct past *past;
    struct bench_call *acquiring[OWNERS][LOCKS]; /* the newest such call */
    struct bench_call *releasing[OWNERS][LOCKS];
    uint64_t releasing_n[OWNERS][LOCKS];
};

struct world {
    uint64_t seed;
    int step;
    struct hft_random random;
    struct model model;
    int64_t now;
    struct client clients[CLIENTS];
    bool calm; /* the end: nothing goes wrong any more */
};

static struct world world;
static uint64_t first_seed;

static uint64_t below(uint64_t limit)
{
    return hft_random_below(&world.random, limit);
}

static bool chance(unsigned percent)
{
    return below(100) < percent;
}

#define check(condition, ...)                                                  \
    do {                                                                       \
        if (!(condition)) {                                                    \
            print_error("walk of seed %" PRIu64 ", step %d at %" PRId64 ": ",  \
                        world.seed, world.step, world.now);                    \
            print_error(__VA_ARGS__);                                          \
            print_error("\n");                                                 \
            fail();                                                            \
        }                                                                      \
    } while (0)

/* ---- the network ---- */

static void note_copy(struct client *client, const struct hfi_copy *copy)
{
    struct past *past = client->past;

    if (copy->rest_ms > 0) {
        past[copy->stand_in].stand_in = true;
    }
    if (copy->request != HFI_ACQUIRE) {
        return;
    }
    check(!past[copy->number->n].used, "number %" PRIu64 " is sent again",
          copy->number->n);
    check(copy->number->end == END_NONE, "a burned number is sent");
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
    DL_DELETE(*list, flight);
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
    struct hfi_name *name = hfi_name_get(client->bench.core, lock_names[lock],
                                         1, false);

    return found == NULL || name == NULL ? NULL
                                         : hfi_name_number_of(name, found);
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
    client->acquiring[owner][lock] = bench_start(
        &client->bench, (uint64_t)owner + 1, lock_names[lock], &ask);
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

    switch (below(10)) {
    case 0:
    case 1:
    case 2:
    case 3:
        call_acquire(client, owner, lock);
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

/* ---- the invariants ---- */

/* 1: its field is there, and outlasts its deadline. */
static void check_live(struct client *client, struct hfi_number *number,
                       int *live)
{
    struct model_key *key = model_key(&world.model, number->name->text);
    int64_t deadline = hfi_hold_deadline(number);
    char field[64];

    hfi_number_field(client->bench.core, number, field, sizeof(field));
    check(model_field(key, field) != NULL, "%s lives without its field", field);
    check(key->ends_at_ms > deadline + client->bench.server_ahead_ms,
          "%s lives longer than its field", field);
    check(++*live == 1, "two live at once");
}

static void look_at_number(struct client *client, struct hfi_number *number,
                           int live[LOCKS])
{
    struct past *past = &client->past[number->n];

    past->known = true;
    if (number->state != NUMBER_TRYING) {
        past->used = true;
    }
    if (number->state == NUMBER_HELD && hfi_hold_deadline(number) > world.now) {
        check_live(client, number, &live[number->name->text[0] - 'a']);
    }
}

static bool has_record(struct client *client, uint64_t n)
{
    struct hfi_name *name;
    struct hfi_number *number;

    for (int lock = 0; lock < LOCKS; lock++) {
        name = hfi_name_get(client->bench.core, lock_names[lock], 1, false);
        if (name == NULL) {
            continue;
        }
        DL_FOREACH2(name->numbers, number, name_next)
        {
            if (number->n == n) {
                return number->state == NUMBER_TRYING ||
                       number->state == NUMBER_HELD ||
                       number->state == NUMBER_RELEASING ||
                       number->end == END_PENDING || number->end == END_SENT;
            }
        }
    }
    return false;
}

/* 2: a field on the server is somebody's care. */
static void check_field(const char *owner)
{
    for (int i = 0; i < CLIENTS; i++) {
        struct client *client = &world.clients[i];
        struct past *past;
        uint64_t n;

        if (strncmp(owner, uuids[i], 36) != 0) {
            continue;
        }
        n = strtoull(owner + 37, NULL, 10);
        past = &client->past[n];
        if (past->stand_in || past->excused || has_record(client, n)) {
            return;
        }
        check(false, "%s is left on the server", owner);
    }
}

/* Ends may be given up while there is no way to the server. */
static void excuse(struct client *client)
{
    if (client->up[HFI_LINK_MAIN] || client->up[HFI_LINK_KEEPER]) {
        return;
    }
    for (uint64_t n = 1; n < client->bench.core->next_n; n++) {
        client->past[n].excused |= !has_record(client, n);
    }
}

static void check_told(struct client *client)
{
    struct bench_notice notice;

    while (bench_told(&client->bench, &notice)) {
        uint64_t n = strtoull(strrchr(notice.owner, ':') + 1, NULL, 10);

        if (notice.lost) {
            check(++client->past[n].told_lost == 1, "%s was lost twice",
                  notice.owner);
        }
    }
}

/* 5: gone is what neither its own RELEASE nor its own UNDO took away. */
static void check_releases(struct client *client)
{
    for (int i = 0; i < OWNERS * LOCKS; i++) {
        struct bench_call **call = &client->releasing[i / LOCKS][i % LOCKS];
        uint64_t n = client->releasing_n[i / LOCKS][i % LOCKS];

        if (*call == NULL || (*call)->op != NULL) {
            continue;
        }
        check((*call)->status != HF_GONE || !client->past[n].freed,
              "%" PRIu64 " was freed, and is told gone", n);
        check((*call)->status != HF_NOT_OWNER, "%" PRIu64 " is not known", n);
        *call = NULL;
    }
}

static void look_around(void)
{
    int live[LOCKS] = {0};

    for (int i = 0; i < CLIENTS; i++) {
        struct client *client = &world.clients[i];
        struct hfi_name *name;
        struct hfi_number *number;

        for (int lock = 0; lock < LOCKS; lock++) {
            name = hfi_name_get(client->bench.core, lock_names[lock], 1, false);
            if (name == NULL) {
                continue;
            }
            DL_FOREACH2(name->numbers, number, name_next)
            {
                look_at_number(client, number, live);
            }
        }
        excuse(client);
        check_told(client);
        check_releases(client);
    }
    for (int lock = 0; lock < LOCKS; lock++) {
        struct model_key *key = model_key(&world.model, lock_names[lock]);

        for (size_t i = 0; i < key->field_count; i++) {
            check_field(key->fields[i].owner);
        }
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
    world.random.state = seed;
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
