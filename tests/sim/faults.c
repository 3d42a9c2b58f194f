/* SPDX-License-Identifier: MIT */
/* faults.c - what goes wrong: one by one for a scenario, or at random.
 *
 * The small faults of the network are in wire.c, with the bytes they befall;
 * here is what happens to servers, processes and clocks.
 */
#include <stdlib.h>

#include "sim/world.h"

static const char *const texts[SIM_FAULTS] = {
#define SIM_FAULT_TEXT(name, text) [SIM_##name] = text,
    SIM_FAULT_MAP(SIM_FAULT_TEXT)
#undef SIM_FAULT_TEXT
};

const char *sim_fault_text(enum sim_fault fault)
{
    return texts[fault];
}

void sim_count_fault(struct sim_world *world, enum sim_fault fault)
{
    world->figures.faults++;
    world->figures.by_fault[fault]++;
}

/* ---- the server ---- */

static void server_is_back(struct sim_world *world, void *who, int64_t arg)
{
    (void)who;
    (void)arg;
    world->server_up = true;
    SIM_SAY(world, "server is back");
}

static void server_away(struct sim_world *world, int64_t for_ms)
{
    world->server_up = false;
    sim_wires_reset(world);
    sim_at(world, world->now_us + for_ms * 1000, server_is_back, NULL, 0);
}

/* Killed, with its data: as with appendfsync always. */
void sim_server_kill(struct sim_world *world, int64_t for_ms)
{
    SIM_SAY(world, "server is killed, and keeps its data");
    (void)sim_server_restart(world->server, 0);
    server_away(world, for_ms);
}

void sim_server_lose_all(struct sim_world *world, int64_t for_ms)
{
    SIM_SAY(world, "server is killed, and comes back empty");
    sim_server_restart_empty(world->server);
    server_away(world, for_ms);
    sim_images_read(world);
    sim_excuse(world, -1, "the server came back empty");
}

void sim_server_forget(struct sim_world *world, size_t writes, int64_t for_ms)
{
    size_t forgot = sim_server_restart(world->server, writes);

    SIM_SAY(world, "server is killed, and has forgotten %zu writes", forgot);
    server_away(world, for_ms);
    /* Somebody deletes again what somebody else had written. */
    for (size_t i = 0; i < SIM_NAMES; i++) {
        sim_images_read(world);
        if (world->locks[i].image.present && !world->locks[i].image.is_lock) {
            (void)sim_server_run(world->server, sim_server_ms(world), "DEL",
                                 world->locks[i].name, NULL);
        }
    }
    sim_images_read(world);
    sim_excuse(world, -1, "the server has forgotten");
}

void sim_server_stop(struct sim_world *world, int64_t for_ms)
{
    SIM_SAY(world, "server is stopped for %lld ms", (long long)for_ms);
    /* What arrived meanwhile has been put off to the end of the first. */
    if (world->server_paused_us <= world->now_us) {
        world->server_paused_us = world->now_us + for_ms * 1000;
    }
}

void sim_clock_step(struct sim_world *world, int64_t ms)
{
    SIM_SAY(world, "server's clock is stepped by %lld ms", (long long)ms);
    world->server_base_us += ms * 1000;
    for (size_t i = 0; ms < 0 && i < SIM_NAMES; i++) {
        if (world->locks[i].options.token_from_time) {
            world->locks[i].doubt_us = world->now_us - ms * 1000;
        }
    }
    sim_images_read(world);
    sim_excuse(world, -1, "the server's clock was stepped");
    sim_excuse_copies(world);
}

/* ---- locks ---- */

void sim_delete(struct sim_world *world, int lock)
{
    sim_excuse(world, lock, "deleted");
    (void)sim_server_run(world->server, sim_server_ms(world), "DEL",
                         world->locks[lock].name, NULL);
    sim_images_read(world);
}

void sim_flush_all(struct sim_world *world)
{
    sim_excuse(world, -1, "FLUSHALL");
    (void)sim_server_run(world->server, sim_server_ms(world), "FLUSHALL", NULL);
    sim_images_read(world);
}

/* Under the name, or in the place of a fair lock's list or scores. */
static char *some_name(struct sim_world *world, struct sim_lock *lock)
{
    char *const names[] = {lock->name, lock->names.queue, lock->names.scores};

    return names[lock->sort == SIM_FAIR ? sim_below(world, 3) : 0];
}

static void foreign_over(struct sim_world *world, void *who, int64_t arg)
{
    struct sim_lock *lock = &world->locks[arg];

    (void)sim_server_run(world->server, sim_server_ms(world), "DEL",
                         (const char *)who, NULL);
    if (who != lock->name) { /* it took the place of one: both go */
        (void)sim_server_run(world->server, sim_server_ms(world), "DEL",
                             lock->names.queue, lock->names.scores, NULL);
    }
    lock->foreign = false;
    sim_images_read(world);
    sim_excuse(world, (int)arg, "the foreign key is deleted");
}

void sim_foreign(struct sim_world *world, int lock, int64_t for_ms)
{
    struct sim_lock *record = &world->locks[lock];
    char *name;

    if (record->foreign) {
        return;
    }
    name = some_name(world, record);
    SIM_SAY(world, "somebody writes a string under %s", name);
    sim_excuse(world, lock, "overwritten");
    record->foreign = true;
    (void)sim_server_run(world->server, sim_server_ms(world), "SET", name,
                         "a string", NULL);
    sim_images_read(world);
    sim_at(world, world->now_us + for_ms * 1000, foreign_over, name, lock);
}

/* ---- at random ---- */

static struct sim_client *some_client(struct sim_world *world)
{
    struct sim_client *found = NULL;
    size_t seen = 0;

    for (size_t i = 0; i < world->client_count; i++) {
        if (world->clients[i]->alive &&
            sim_below(world, (uint64_t)++seen) == 0) {
            found = world->clients[i];
        }
    }
    return found;
}

static struct sim_link *some_link(struct sim_world *world,
                                  struct sim_client *client)
{
    struct sim_link *link = &client->links[sim_below(world, SIM_LINKS)];

    return link->wire != NULL ? link : NULL;
}

static void cut_commands(struct sim_client *client)
{
    for (size_t i = 0; i < HFI_COMMAND_LINKS; i++) {
        if (client->links[i].wire != NULL) {
            sim_wire_cut(client->links[i].wire);
        }
    }
}

/* Mostly about a lease, sometimes much longer. */
static int64_t some_time(struct sim_world *world)
{
    return sim_below(world, 5) == 0 ? sim_between(world, 1000, 15000)
                                    : sim_between(world, 10, 1500);
}

static bool hit_wire(struct sim_world *world, enum sim_fault fault,
                     struct sim_client *client)
{
    struct sim_link *link = some_link(world, client);

    if (link == NULL) {
        return false;
    }
    if (fault == SIM_RESET) {
        sim_wire_cut(link->wire);
    } else if (fault == SIM_SLOW) {
        sim_wire_stall(link->wire, sim_below(world, 2) == 0, some_time(world));
    } else {
        sim_wire_hole(link->wire, fault == SIM_LOST_REQUEST);
    }
    return true;
}

static bool hit_client(struct sim_world *world, enum sim_fault fault)
{
    struct sim_client *client = some_client(world);

    if (client == NULL || sim_client_paused(client)) {
        return false;
    }
    switch ((int)fault) {
    case SIM_PUBSUB_ONLY:
        cut_commands(client);
        return true;
    case SIM_KILLED:
        sim_client_kill(client);
        return true;
    case SIM_PAUSED:
        sim_client_pause(client, some_time(world));
        return true;
    case SIM_CLOSED:
        sim_client_close(client);
        return true;
    case SIM_OWNER_GONE:
        if (client->owner_count > 0) {
            sim_owner_gone(
                client->owners[sim_below(world, client->owner_count)]);
        }
        return true;
    default:
        return hit_wire(world, fault, client);
    }
}

static bool hit(struct sim_world *world, enum sim_fault fault)
{
    int lock = (int)sim_below(world, SIM_NAMES);

    switch ((int)fault) {
    case SIM_SERVER_KEPT:
        sim_server_kill(world, sim_between(world, 5, 3000));
        return true;
    case SIM_SERVER_EMPTY:
        sim_server_lose_all(world, sim_between(world, 5, 3000));
        return true;
    case SIM_SERVER_FORGOT:
        sim_server_forget(world, (size_t)sim_between(world, 1, 5),
                          sim_between(world, 5, 3000));
        return true;
    case SIM_SERVER_PAUSED:
        sim_server_stop(world, some_time(world));
        return true;
    case SIM_SCRIPT_FLUSH:
        sim_server_script_flush(world->server);
        return true;
    case SIM_CLOCK_STEP:
        sim_clock_step(world, sim_between(world, -20000, 20000));
        return true;
    case SIM_DELETED:
        sim_delete(world, lock);
        return true;
    case SIM_FLUSHED:
        sim_flush_all(world);
        return true;
    case SIM_FOREIGN:
        sim_foreign(world, lock, some_time(world));
        return true;
    case SIM_JAVA_READS:
        return sim_java_reads(world, lock, some_time(world) * 4);
    case SIM_JAVA_QUEUES:
        return sim_java_waits(world, lock, some_time(world) * 4,
                              sim_between(world, 20, 2000));
    default:
        return hit_client(world, fault);
    }
}

/* How often of all: what gives locks away is rarer, for it excuses much. */
static const unsigned weights[SIM_FAULTS] = {
    [SIM_LOST_REQUEST] = 14, [SIM_LOST_REPLY] = 14,   [SIM_SLOW] = 14,
    [SIM_RESET] = 14,        [SIM_PUBSUB_ONLY] = 5,   [SIM_SERVER_EMPTY] = 1,
    [SIM_SERVER_KEPT] = 5,   [SIM_SERVER_FORGOT] = 1, [SIM_SERVER_PAUSED] = 7,
    [SIM_SCRIPT_FLUSH] = 3,  [SIM_KILLED] = 3,        [SIM_PAUSED] = 14,
    [SIM_CLOSED] = 2,        [SIM_OWNER_GONE] = 3,    [SIM_CLOCK_STEP] = 1,
    [SIM_DELETED] = 2,       [SIM_FLUSHED] = 1,       [SIM_FOREIGN] = 1,
    [SIM_JAVA_READS] = 8,    [SIM_JAVA_QUEUES] = 12,
};

static enum sim_fault choose(struct sim_world *world)
{
    unsigned sum = 0;
    uint64_t at;

    for (size_t i = 0; i < SIM_FAULTS; i++) {
        sum += weights[i];
    }
    at = sim_below(world, sum);
    for (size_t i = 0; i < SIM_FAULTS; i++) {
        if (at < weights[i]) {
            return (enum sim_fault)i;
        }
        at -= weights[i];
    }
    return SIM_RESET;
}

static void next_fault(struct sim_world *world, void *who, int64_t arg)
{
    enum sim_fault fault;

    (void)who;
    (void)arg;
    if (world->ending) {
        return;
    }
    fault = choose(world);
    if (world->server_up && hit(world, fault)) {
        sim_count_fault(world, fault);
    }
    sim_at(world, world->now_us + sim_between(world, 50, 4000) * 1000,
           next_fault, NULL, 0);
}

void sim_faults_begin(struct sim_world *world)
{
    sim_at(world, world->now_us + 1000000, next_fault, NULL, 0);
}

void sim_fair_weather(struct sim_world *world)
{
    world->ending = true;
    world->weather.slow = 0;
    world->weather.hole = 0;
    world->weather.reset = 0;
    world->weather.deaf = 0;
    world->weather.late = 0;
}
