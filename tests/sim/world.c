/* SPDX-License-Identifier: MIT */
/* world.c - events in the order of their time, clocks, and the timeline. */
#include "sim/world.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SERVER_EPOCH_MS INT64_C(1700000000000)
#define HOUR_US INT64_C(3600000000)
#define EXPIRE_CYCLE_US 100000 /* as often as Redis looks for what is past */

void *sim_alloc(size_t size)
{
    void *memory = calloc(1, size);

    if (memory == NULL) {
        abort();
    }
    return memory;
}

/* ---- chance ---- */

uint64_t sim_below(struct sim_world *world, uint64_t limit)
{
    return hft_random_below(&world->random, limit);
}

int64_t sim_between(struct sim_world *world, int64_t least, int64_t most)
{
    return least + (int64_t)sim_below(world, (uint64_t)(most - least) + 1);
}

bool sim_chance(struct sim_world *world, unsigned millionths)
{
    return millionths > 0 && sim_below(world, 1000000) < millionths;
}

/* ---- the queue of events: a heap by time, then by age ---- */

static bool earlier(const struct sim_event *a, const struct sim_event *b)
{
    return a->at_us != b->at_us ? a->at_us < b->at_us : a->order < b->order;
}

static void swap(struct sim_event *a, struct sim_event *b)
{
    struct sim_event kept = *a;

    *a = *b;
    *b = kept;
}

void sim_at(struct sim_world *world, int64_t at_us, sim_event_fn *fn, void *who,
            int64_t arg)
{
    struct sim_event *events = world->events;
    size_t i = world->event_count++;

    if (i == world->event_capacity) {
        world->event_capacity = i == 0 ? 256 : 2 * i;
        events = realloc(events, world->event_capacity * sizeof(*events));
        if (events == NULL) {
            abort();
        }
        world->events = events;
    }
    events[i] = (struct sim_event){at_us < world->now_us ? world->now_us
                                                         : at_us,
                                   world->event_order++, fn, who, arg};
    while (i > 0 && earlier(&events[i], &events[(i - 1) / 2])) {
        swap(&events[i], &events[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
}

static struct sim_event next_event(struct sim_world *world)
{
    struct sim_event *events = world->events;
    struct sim_event first = events[0];
    size_t count = --world->event_count;
    size_t i = 0;

    events[0] = events[count];
    for (;;) {
        size_t least = 2 * i + 1;

        if (least >= count) {
            return first;
        }
        if (least + 1 < count && earlier(&events[least + 1], &events[least])) {
            least++;
        }
        if (!earlier(&events[least], &events[i])) {
            return first;
        }
        swap(&events[i], &events[least]);
        i = least;
    }
}

bool sim_step(struct sim_world *world)
{
    struct sim_event event;

    if (world->event_count == 0 || world->broken.invariant != NULL) {
        return false;
    }
    event = next_event(world);
    world->now_us = event.at_us;
    world->figures.steps++;
    event.fn(world, event.who, event.arg);
    sim_invariants(world);
    return world->broken.invariant == NULL;
}

bool sim_pass_ms(struct sim_world *world, int64_t ms)
{
    int64_t until = world->now_us + ms * 1000;

    while (world->event_count > 0 && world->events[0].at_us <= until) {
        if (!sim_step(world)) {
            return false;
        }
    }
    world->now_us = until;
    return world->broken.invariant == NULL;
}

/* ---- clocks ---- */

int64_t sim_server_ms(const struct sim_world *world)
{
    return (world->server_base_us + world->now_us) / 1000;
}

int64_t sim_server_shows_us(const struct sim_world *world, int64_t server_ms)
{
    return server_ms * 1000 - world->server_base_us;
}

/* ---- what is told ---- */

void sim_say(struct sim_world *world, const char *format, ...)
{
    char text[400];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    fprintf(world->options.timeline, "%12.6f  %s\n",
            (double)world->now_us / 1e6, text);
}

static const char *const invariants[SIM_INVARIANT_COUNT] = {
#define NAME(name) [SIM_INVARIANT_##name] = #name,
    SIM_INVARIANT_MAP(NAME)
#undef NAME
};

const char *sim_invariant_name(enum sim_invariant invariant)
{
    return invariants[invariant];
}

static bool is_listed(const char *invariant)
{
    for (size_t i = 0; i < SIM_INVARIANT_COUNT; i++) {
        if (strcmp(invariants[i], invariant) == 0) {
            return true;
        }
    }
    return false;
}

void sim_break(struct sim_world *world, const char *invariant,
               const char *format, ...)
{
    va_list args;

    if (world->broken.invariant != NULL) {
        return; /* the first is the cause */
    }
    if (!is_listed(invariant)) {
        abort(); /* none that a test sees fail */
    }
    world->broken.invariant = invariant;
    world->broken.at_us = world->now_us;
    va_start(args, format);
    vsnprintf(world->broken.text, sizeof(world->broken.text), format, args);
    va_end(args);
    SIM_SAY(world, "BROKEN %s: %s", invariant, world->broken.text);
}

/* ---- its life ---- */

struct sim_options sim_options_default(uint64_t seed)
{
    return (struct sim_options){
        .seed = seed,
        .newer = seed % 2 == 0,
        .timeline = stdout,
        .operations = 2000,
        .drift_ppm = 450, /* two clocks that run apart by 0.09 % */
        .processes = 4,
        .owners = 3,
        .trouble = 1,
        .weather = {.slow = 1500,
                    .hole = 400,
                    .reset = 400,
                    .deaf = 10000,
                    .late = 600000,
                    .slow_ms = 9000,
                    .late_ms = 25000,
                    .base_us = 60,
                    .extra_us = 400},
    };
}

static void expire_cycle(struct sim_world *world, void *who, int64_t arg)
{
    (void)who;
    (void)arg;
    if (world->server_up && world->server_paused_us <= world->now_us) {
        (void)sim_server_active_expire(world->server, sim_server_ms(world));
    }
    sim_at(world, world->now_us + EXPIRE_CYCLE_US, expire_cycle, NULL, 0);
}

/* All keys of a lock are in one slot. */
static void name_one(const struct sim_lock *lock, const char *prefix,
                     char ret_name[64])
{
    bool brace = strchr(lock->name, '{') != NULL;

    snprintf(ret_name, 64, "%s:%s%s%s", prefix, brace ? "" : "{", lock->name,
             brace ? "" : "}");
}

/* What is named after the lock, not before. */
static void name_behind(const struct sim_lock *lock, const char *suffix,
                        char ret_name[64])
{
    bool brace = strchr(lock->name, '{') != NULL;

    snprintf(ret_name, 64, "%s%s%s:%s", brace ? "" : "{", lock->name,
             brace ? "" : "}", suffix);
}

static void name_all(struct sim_lock *lock)
{
    name_one(lock, "redisson_lock_token", lock->names.token);
    name_one(lock, "redisson_lock_queue", lock->names.queue);
    name_one(lock, "redisson_lock_timeout", lock->names.scores);
    name_one(lock, "holdfast_fair_alive", lock->names.alive);
    name_one(lock, "holdfast_fair_waits", lock->names.waits);
    name_one(lock, "redisson_lock__channel", lock->names.channel);
    name_behind(lock, "timeout", lock->names.out);
}

struct sim_world *sim_world_new(const struct sim_options *options)
{
    struct sim_world *world = sim_alloc(sizeof(*world));
    struct sim_server_config config = {.deliver = sim_deliver_message,
                                       .context = world,
                                       .newer = options->newer,
                                       .keep_writes = 8};

    world->options = *options;
    world->weather = options->weather;
    world->locks_used = SIM_NAMES;
    world->haste = 1;
    world->random = (struct hft_random){options->seed};
    world->server = sim_server_new(&config);
    world->server_up = true;
    world->watchdog_ms = 30000;
    world->server_base_us = SERVER_EPOCH_MS * 1000 +
                            sim_between(world, -20 * HOUR_US, 20 * HOUR_US);
    for (size_t i = 0; i < SIM_NAMES; i++) {
        struct sim_lock *lock = &world->locks[i];

        /* It ends with its number: sim_lock_of(). */
        snprintf(lock->name, sizeof(lock->name),
                 i == 3 ? "{tag}:%zu" : "lock%zu", i);
        lock->bytes = strlen(lock->name);
        name_all(lock);
        lock->options = (struct hfi_kind_options){
            .refs = 1, /* ours: it is never freed */
            .dead_ms = HF_FAIR_DEAD_MS,
            .queue_wait_ms = HF_FAIR_WAIT_MS,
            .backoff_first_ms = HF_BACKOFF_FIRST_MS,
            .backoff_max_ms = HF_BACKOFF_MAX_MS};
        for (size_t k = 0; k < SIM_GATES; k++) {
            lock->gate[k].told_us = -1;
        }
    }
    sim_images_read(world);
    sim_at(world, EXPIRE_CYCLE_US, expire_cycle, NULL, 0);
    return world;
}

void sim_world_free(struct sim_world *world)
{
    struct sim_wire *wire;
    struct sim_call *call;

    for (size_t i = 0; i < world->client_count; i++) {
        sim_client_free(world->clients[i]);
    }
    free(world->clients);
    while ((wire = world->wires) != NULL) {
        world->wires = wire->next;
        sim_wire_free(wire);
    }
    while ((call = world->calls) != NULL) {
        world->calls = call->next;
        free(call);
    }
    sim_server_free(world->server);
    free(world->events);
    free(world);
}
