/* SPDX-License-Identifier: MIT */
/* crowd.c - a random history: users that do what comes to their minds.
 *
 * An owner takes, re-enters, extends, holds, releases, waits with and without
 * patience, changes its mind, forces what another holds.  A process that is
 * gone is followed by a new one.  When enough calls were made the weather
 * becomes fair, everybody lets go, and nothing may remain.
 */
#include <stdlib.h>

#include "sim/world.h"

#define SPAWN_US 300000
#define THINK_MS 350
#define HOLD_MS 250

static void act(struct sim_world *world, void *who, int64_t arg);

static void act_in(struct sim_owner *owner, int64_t mean_ms)
{
    struct sim_world *world = owner->client->world;

    sim_at(world,
           world->now_us +
               sim_between(world, 0, 2 * mean_ms * 1000 / world->haste),
           act, owner, 0);
}

static void done(struct sim_call *call)
{
    if (call->client->closing || call->owner->calls > 0) {
        return;
    }
    act_in(call->owner,
           sim_levels(call->owner, call->ask.lock) > 0 ? HOLD_MS : THINK_MS);
}

static int64_t some_lease(struct sim_world *world)
{
    switch (sim_below(world, 4)) {
    case 0:
        return sim_between(world, 10, 100);
    case 1:
        return sim_between(world, 3000, 30000);
    default:
        return sim_between(world, 100, 3000);
    }
}

static int64_t some_wait(struct sim_world *world)
{
    switch (sim_below(world, 4)) {
    case 0:
        return 0;
    case 1:
        return -1;
    default:
        return sim_between(world, 10, 4000);
    }
}

/* Impatience: sometimes a call is cancelled. */
static void change_mind(struct sim_world *world, void *who, int64_t arg)
{
    struct sim_call *call = who;

    (void)arg;
    if (!call->ended && call->client->alive &&
        !sim_client_paused(call->client)) {
        sim_cancel(call);
    }
    (void)world;
}

static void ask(struct sim_owner *owner, const struct sim_ask *what)
{
    struct sim_world *world = owner->client->world;
    struct sim_call *call = sim_ask(owner, what, done);
    bool for_ever = what->what == SIM_ACQUIRE && what->wait_ms < 0;

    if (for_ever || sim_below(world, 25) == 0) {
        sim_at(world,
               world->now_us +
                   sim_between(world, 0, for_ever ? 8000 : 500) * 1000,
               change_mind, call, 0);
    }
}

static size_t some_fencing(struct sim_world *world)
{
    return sim_below(world, 3) == 0 ? (size_t)sim_below(world, HFI_FENCINGS)
                                    : HFI_UNFENCED;
}

static const struct hfi_kind *some_half(struct sim_world *world, int lock,
                                        size_t role)
{
    bool polite = world->locks[lock].polite;

    if (role == 0) {
        return polite ? &hfi_kind_polite_read : &hfi_kind_read;
    }
    return polite ? &hfi_kinds_urgent_write[some_fencing(world)]
                  : &hfi_kinds_write[some_fencing(world)];
}

/* Of those that are one object on the server. */
static const struct hfi_kind *some_plain_kind(struct sim_world *world)
{
    size_t fencing = some_fencing(world);

    switch (sim_below(world, 6)) {
    case 0:
        return &hfi_kinds_nonreentrant[fencing];
    case 1:
        return &hfi_kinds_spin[fencing];
    default:
        return &hfi_kinds_lock[fencing];
    }
}

/* A kind for a new hold of a name; in which role its owner has one already. */
static const struct hfi_kind *some_kind(struct sim_world *world, int lock,
                                        size_t role)
{
    enum sim_sort sort = world->locks[lock].sort;

    switch (sort) {
    case SIM_LOCKS:
        return some_plain_kind(world);
    case SIM_READ_WRITE:
        /* Who reads is refused the other half, and who writes may read. */
        return some_half(world, lock,
                         sim_below(world, 5) == 0 ? 1 - role : role);
    case SIM_FAIR:
        return sim_below(world, 6) == 0
                   ? &hfi_kinds_nonreentrant_fair[some_fencing(world)]
                   : &hfi_kinds_fair[some_fencing(world)];
    case SIM_TOKENS:
        return &hfi_kinds_token[some_fencing(world)];
    case SIM_PERMITS:
    case SIM_SORTS:
        break;
    }
    return sim_kind_in(sort, role);
}

static void acquire(struct sim_owner *owner, int lock, size_t role)
{
    struct sim_world *world = owner->client->world;
    struct sim_ask how = {.what = SIM_ACQUIRE,
                          .kind = some_kind(world, lock, role),
                          .lock = lock};

    how.wait_ms = some_wait(world);
    how.lease_ms = some_lease(world);
    how.fixed = sim_below(world, 3) == 0;
    if (sim_below(world, 10) == 0) {
        how.max_hold_ms = sim_between(world, 100, 3000);
    }
    if (sim_below(world, 12) == 0 && how.kind->release_later.args > 0) {
        how.min_hold_ms = sim_between(world, 50, 600);
    }
    ask(owner, &how);
    /* Some say at once what is to happen afterwards. */
    if (owner->calls == 1 && !how.kind->has_ids && sim_below(world, 12) == 0) {
        how.what = sim_below(world, 3) == 0 ? SIM_EXTEND : SIM_RELEASE;
        ask(owner, &how);
    }
}

/* Something else than to let go; false: it came to nothing. */
static bool act_before(struct sim_owner *owner, struct sim_ask *what,
                       size_t role)
{
    struct sim_world *world = owner->client->world;
    unsigned levels = owner->beliefs[what->lock][role].levels;

    switch (sim_below(world, 10)) {
    case 0:
    case 1:
        if (levels < 4 && !what->kind->has_ids) {
            acquire(owner, what->lock, role);
            return true;
        }
        return false;
    case 2:
        what->what = SIM_EXTEND;
        what->lease_ms = some_lease(world);
        what->exact = what->kind->has_ids && sim_below(world, 2) == 0;
        ask(owner, what);
        return true;
    case 3:
        act_in(owner, 4 * HOLD_MS);
        return true;
    case 4:
        if (sim_below(world, 6) != 0 || levels == 0 ||
            what->kind == &hfi_kind_permits) {
            return false;
        }
        what->what = SIM_EXPORT;
        ask(owner, what);
        return true;
    default:
        return false;
    }
}

static void act_holding(struct sim_owner *owner, int lock, size_t role)
{
    struct sim_world *world = owner->client->world;
    struct sim_ask what = {.what = SIM_RELEASE,
                           .kind = sim_kind_in(world->locks[lock].sort, role),
                           .lock = lock};

    if (world->ending || !act_before(owner, &what, role)) {
        what.what = SIM_RELEASE;
        ask(owner, &what);
    }
}

/* Permits have to be made, and now and then there are more or fewer. */
static bool act_on_permits(struct sim_owner *owner, struct sim_ask *what)
{
    struct sim_world *world = owner->client->world;
    const struct sim_lock *lock = &world->locks[what->lock];

    if (lock->sort != SIM_PERMITS) {
        return false;
    }
    if (sim_below(world, lock->image.present ? 60 : 4) == 0) {
        what->what = SIM_MAKE;
        what->count = sim_between(world, 1, 4);
    } else if (sim_below(world, 30) == 0) {
        what->what = SIM_ADD;
        what->count = lock->image.available + (int64_t)lock->image.out > 2 ? -1
                                                                           : 1;
    } else {
        acquire(owner, what->lock, 0);
        return true;
    }
    ask(owner, what);
    return true;
}

static void act_free(struct sim_owner *owner)
{
    struct sim_world *world = owner->client->world;
    struct sim_ask what = {.what = SIM_SHOW};

    what.lock = (int)sim_below(world, (uint64_t)world->locks_used);
    what.kind = sim_kind_in(world->locks[what.lock].sort, 0);
    if (world->locks[what.lock].handle.field[0] != '\0') {
        what.what = SIM_IMPORT;
        what.kind = world->locks[what.lock].handle.kind;
        what.fixed = sim_below(world, 3) == 0;
        ask(owner, &what);
        return;
    }
    if (act_on_permits(owner, &what)) {
        return;
    }
    switch (sim_below(world, 60)) {
    case 0:
        what.what = SIM_FORCE;
        ask(owner, &what);
        return;
    case 1:
        ask(owner, &what);
        return;
    default:
        acquire(owner, what.lock, 0);
    }
}

static bool act_on_a_hold(struct sim_owner *owner)
{
    for (int i = 0; i < SIM_NAMES; i++) {
        size_t first = (size_t)sim_below(owner->client->world, SIM_ROLES);

        for (size_t k = 0; k < SIM_ROLES; k++) {
            size_t role = (first + k) % SIM_ROLES;

            if (owner->beliefs[i][role].levels > 0 ||
                owner->beliefs[i][role].lost > 0) {
                act_holding(owner, i, role);
                return true;
            }
        }
    }
    return false;
}

static void act(struct sim_world *world, void *who, int64_t arg)
{
    struct sim_owner *owner = who;
    struct sim_client *client = owner->client;

    (void)arg;
    if (!client->alive || client->closing || owner->calls > 0) {
        return;
    }
    if (sim_client_paused(client)) {
        sim_at(world, client->paused_us + 3, act, owner, 0);
        return;
    }
    if (act_on_a_hold(owner)) {
        return;
    }
    if (!world->ending) {
        act_free(owner);
    }
}

/* ---- processes ---- */

static void spawn(struct sim_world *world, void *who, int64_t arg)
{
    size_t alive = 0;

    (void)who;
    (void)arg;
    if (world->ending) {
        return;
    }
    for (size_t i = 0; i < world->client_count; i++) {
        alive += world->clients[i]->alive ? 1 : 0;
    }
    for (; alive < world->options.processes; alive++) {
        struct sim_client *client = sim_client_new(world);

        for (size_t i = 0; i < world->options.owners; i++) {
            act_in(sim_owner_new(client), THINK_MS);
        }
    }
    sim_at(world, world->now_us + SPAWN_US, spawn, NULL, 0);
}

void sim_crowd_begin(struct sim_world *world)
{
    spawn(world, NULL, 0);
}

/* Whoever was idle when it became late is reminded to let go. */
static void all_let_go(struct sim_world *world)
{
    for (size_t i = 0; i < world->client_count; i++) {
        struct sim_client *client = world->clients[i];

        for (size_t k = 0; client->alive && k < client->owner_count; k++) {
            act_in(client->owners[k], HOLD_MS);
        }
    }
}

static void vary_options(struct sim_world *world,
                         struct hfi_kind_options *options)
{
    options->dead_ms = sim_between(world, 300, 6000);
    options->queue_wait_ms = sim_between(world, 3000, 300000);
    options->backoff = (hf_backoff)sim_below(world, 3);
    options->backoff_first_ms = sim_between(world, 1, 20);
    options->backoff_max_ms = options->backoff_first_ms +
                              sim_between(world, 0, 500);
    if (sim_below(world, 2) == 0) {
        options->token_from_time = true;
        options->token_ttl_ms = sim_between(world, 20, 4000);
    }
}

/* Few users or many, one lock or four, fair weather or foul: not every history
 * is like the others. */
static void vary(struct sim_world *world)
{
    struct sim_weather *weather = &world->weather;
    unsigned foul = (unsigned)sim_below(world, 4);

    world->options.processes = (size_t)sim_between(world, 2, 6);
    world->options.owners = (size_t)sim_between(world, 1, 4);
    world->locks_used = (int)sim_between(world, 1, SIM_NAMES);
    world->haste = (int)sim_between(world, 1, 4);
    world->watchdog_ms = sim_between(world, 300, 30000);
    for (size_t i = 0; i < SIM_NAMES; i++) {
        vary_options(world, &world->locks[i].options);
        world->locks[i].polite = sim_below(world, 3) == 0;
        world->locks[i].sort = (enum sim_sort)sim_below(world, SIM_SORTS);
    }
    weather->slow *= foul;
    weather->hole *= foul;
    weather->reset *= foul;
    weather->slow_ms = sim_between(world, 20, weather->slow_ms);
    weather->extra_us = sim_between(world, 0, 5000);
}

/* The longest lease, and the latest bytes, are over then. */
#define CALM_MS 75000
#define FAULTS_AT_LEAST 50
#define TROUBLE_US 90000000

/* A history of many hasty users would be over before anything went wrong. */
static bool had_enough(const struct sim_world *world)
{
    return world->figures.faults >= FAULTS_AT_LEAST &&
           world->now_us >= TROUBLE_US;
}

/* The list and the scores of a queue have no TTL, nor have permits: who asks
 * next sweeps them. */
static bool sweep_all(struct sim_world *world)
{
    struct sim_client *client = sim_client_new(world);
    struct sim_owner *owner = sim_owner_new(client);

    (void)sim_pass_ms(world, 1000);
    for (int i = 0; i < SIM_NAMES; i++) {
        struct sim_ask what = {.what = SIM_ACQUIRE,
                               .kind = sim_kind_in(world->locks[i].sort, 0),
                               .lock = i,
                               .lease_ms = 1000};

        if (world->locks[i].sort == SIM_FAIR ||
            world->locks[i].sort == SIM_PERMITS) {
            (void)sim_ask(owner, &what, NULL);
            (void)sim_pass_ms(world, 100);
            what.what = SIM_RELEASE;
            if (sim_levels(owner, i) > 0) {
                (void)sim_ask(owner, &what, NULL);
            }
        }
    }
    return sim_pass_ms(world, 2000);
}

bool sim_history(struct sim_world *world)
{
    vary(world);
    sim_crowd_begin(world);
    if (world->options.trouble > 0) {
        sim_faults_begin(world);
    }
    while (world->figures.operations < world->options.operations ||
           (world->options.trouble > 0 && !had_enough(world))) {
        if (!sim_step(world)) {
            return false;
        }
    }
    SIM_SAY(world, "the weather is fair from now on");
    sim_fair_weather(world);
    all_let_go(world);
    if (!sim_pass_ms(world, CALM_MS) || !sweep_all(world)) {
        return false;
    }
    sim_nothing_remains(world);
    return world->broken.invariant == NULL;
}
