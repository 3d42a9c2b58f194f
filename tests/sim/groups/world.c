/* SPDX-License-Identifier: MIT */
/* world.c - events in the order of their time, clocks, and servers. */
#include "sim/groups/world.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/fatal.h"

#define SERVER_EPOCH_MS INT64_C(1700000000000)
#define HOUR_US INT64_C(3600000000)
#define EXPIRE_CYCLE_US 100000
#define LOOK_US 100000

struct gw_world *gw;

/* ---- chance ---- */

int64_t gw_below(int64_t limit)
{
    return (int64_t)hft_random_below(&gw->random, (uint64_t)limit);
}

int64_t gw_between(int64_t least, int64_t most)
{
    return least + gw_below(most - least + 1);
}

bool gw_chance(unsigned millionths)
{
    return millionths > 0 && gw_below(1000000) < (int64_t)millionths;
}

/* ---- events: a heap by time, then by age ---- */

static bool earlier(const struct gw_event *a, const struct gw_event *b)
{
    return a->at_us != b->at_us ? a->at_us < b->at_us : a->order < b->order;
}

static void swap(size_t i, size_t k)
{
    struct gw_event *kept = gw->events[i];

    gw->events[i] = gw->events[k];
    gw->events[k] = kept;
}

static void push(struct gw_event *event)
{
    size_t i = gw->event_count++;

    if (i == gw->event_capacity) {
        gw->event_capacity = i == 0 ? 256 : 2 * i;
        gw->events = realloc(gw->events,
                             gw->event_capacity * sizeof(struct gw_event *));
        if (gw->events == NULL) {
            abort();
        }
    }
    gw->events[i] = event;
    while (i > 0 && earlier(gw->events[i], gw->events[(i - 1) / 2])) {
        swap(i, (i - 1) / 2);
        i = (i - 1) / 2;
    }
}

static struct gw_event *pop(void)
{
    struct gw_event *first = gw->events[0];
    size_t count = --gw->event_count;
    size_t i = 0;

    gw->events[0] = gw->events[count];
    for (;;) {
        size_t least = 2 * i + 1;

        if (least >= count) {
            return first;
        }
        if (least + 1 < count &&
            earlier(gw->events[least + 1], gw->events[least])) {
            least++;
        }
        if (!earlier(gw->events[least], gw->events[i])) {
            return first;
        }
        swap(i, least);
        i = least;
    }
}

struct gw_event *gw_at(int64_t at_us, gw_event_fn *fn, void *who, int64_t arg)
{
    struct gw_event *event = hft_alloc(sizeof(*event));

    event->at_us = at_us < gw->now_us ? gw->now_us : at_us;
    event->fn = fn;
    event->who = who;
    event->arg = arg;
    event->order = gw->event_order++;
    push(event);
    return event;
}

/* What was planned before others stays before them: so what waits for a server
 * that stalls arrives in order, however often that goes on stalling. */
void gw_again(struct gw_event *event, int64_t at_us)
{
    event->at_us = at_us < gw->now_us ? gw->now_us : at_us;
    event->kept = true;
    push(event);
}

static void forget(struct gw_event *event)
{
    free(event->bytes);
    free(event);
}

bool gw_step(void)
{
    struct gw_event *event;

    if (gw->event_count == 0 || gw->broken != NULL) {
        return false;
    }
    event = pop();
    event->kept = false;
    gw->now_us = event->at_us;
    gw->figures.steps++;
    event->fn(event);
    if (!event->kept) {
        forget(event);
    }
    gw->acting = NULL;
    gw_look();
    return gw->broken == NULL;
}

bool gw_pass_ms(int64_t ms)
{
    int64_t until = gw->now_us + ms * 1000;

    while (gw->event_count > 0 && gw->events[0]->at_us <= until) {
        if (!gw_step()) {
            return false;
        }
    }
    gw->now_us = until;
    return gw->broken == NULL;
}

/* ---- clocks ---- */

int64_t gw_server_ms(const struct gw_server *server)
{
    return (server->base_us + gw->now_us) / 1000;
}

static int64_t process_us(const struct gw_process *process, int64_t at_us)
{
    return process->base_us + at_us + at_us / 1000000 * process->drift_ppm +
           at_us % 1000000 * process->drift_ppm / 1000000;
}

int64_t gw_process_ms(const struct gw_process *process)
{
    return process_us(process, gw->now_us) / 1000 + process->skip_ms;
}

int64_t gw_shows_us(const struct gw_process *process, int64_t ms)
{
    int64_t us = ms * 1000 - process->base_us;

    us -= us / 1000000 * process->drift_ppm + 1000;
    while (process_us(process, us) < ms * 1000) {
        int64_t short_of = ms * 1000 - process_us(process, us);

        us += short_of > 2000 ? short_of / 2 : short_of;
    }
    return us;
}

/* ---- what is told ---- */

void gw_say(const char *format, ...)
{
    char text[400];
    va_list args;

    if (!gw->options.verbose) {
        return;
    }
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    printf("%12.6f  %s\n", (double)gw->now_us / 1e6, text);
}

static const char *const invariants[GW_INVARIANT_COUNT] = {
#define NAME(name) [GW_INVARIANT_##name] = #name,
    GW_INVARIANT_MAP(NAME)
#undef NAME
};

const char *gw_invariant_name(enum gw_invariant invariant)
{
    return invariants[invariant];
}

static const char *listed(const char *invariant)
{
    for (size_t i = 0; i < GW_INVARIANT_COUNT; i++) {
        if (strcmp(invariants[i], invariant) == 0) {
            return invariants[i];
        }
    }
    abort(); /* none that a test sees fail */
}

void gw_break(const char *invariant, const char *format, ...)
{
    va_list args;

    if (gw->broken != NULL) {
        return; /* the first is the cause */
    }
    gw->broken = listed(invariant);
    va_start(args, format);
    vsnprintf(gw->text, sizeof(gw->text), format, args);
    va_end(args);
    gw_say("BROKEN %s: %s", invariant, gw->text);
}

/* ---- its life ---- */

struct gw_options gw_options_default(uint64_t seed)
{
    return (struct gw_options){
        .seed = seed,
        .red = seed % 2 == 0,
        .foul = seed % 5 != 0,
        .disagreeing = seed % 8 == 1,
        .servers = seed % 2 == 1   ? 2 + seed % 3 % 2
                   : seed % 6 == 0 ? 3
                                   : 5,
        .processes = 2 + seed % 2,
        .users = 1 + seed % 3,
        .operations = 300,
    };
}

static void expire(struct gw_event *event)
{
    for (size_t i = 0; i < gw->options.servers; i++) {
        struct gw_server *server = &gw->servers[i];

        if (server->up && server->stalled_us <= gw->now_us) {
            (void)sim_server_active_expire(server->model, gw_server_ms(server));
        }
    }
    gw_again(event, gw->now_us + EXPIRE_CYCLE_US);
}

static void look(struct gw_event *event)
{
    gw_look_around();
    gw_again(event, gw->now_us + LOOK_US);
}

static void make_servers(struct gw_world *world)
{
    struct sim_server_config config = {.deliver = gw_deliver,
                                       .context = world,
                                       .newer = world->options.seed % 3 == 0,
                                       .keep_writes = 8};

    for (size_t i = 0; i < world->options.servers; i++) {
        struct gw_server *server = &world->servers[i];

        server->model = sim_server_new(&config);
        server->index = i;
        server->up = true;
        server->forgot_us = -1;
        server->base_us = SERVER_EPOCH_MS * 1000 +
                          gw_between(-20 * HOUR_US, 20 * HOUR_US);
    }
}

static void add_member(struct gw_def *def, size_t server, size_t name)
{
    uint64_t bit = UINT64_C(1) << (server * GW_NAMES + name);

    if ((def->bits & bit) != 0 || def->count == GW_MEMBERS) {
        return;
    }
    def->server[def->count] = server;
    def->name[def->count++] = name;
    def->bits |= bit;
}

/* One red lock over all servers; or several multi locks, that overlap.  In each
 * third history those are of one server, and so taken by one request. */
static void make_defs(struct gw_world *world)
{
    world->def_count = world->options.red ? 1 : GW_GROUPS;
    for (size_t i = 0; i < world->options.servers && world->options.red; i++) {
        add_member(&world->defs[0], i, 0);
    }
    for (size_t d = 0; d < world->def_count && !world->options.red; d++) {
        size_t count = d == 0 ? 2 : (size_t)gw_between(1, 3);
        bool one = world->options.seed % 3 == 0;

        while (world->defs[d].count <
               (one && count > GW_NAMES ? GW_NAMES : count)) {
            add_member(&world->defs[d],
                       one ? 0
                           : (size_t)gw_below((int64_t)world->options.servers),
                       (size_t)gw_below(GW_NAMES));
        }
    }
}

struct gw_world *gw_new(const struct gw_options *options)
{
    gw = hft_alloc(sizeof(*gw));
    gw->options = *options;
    gw->random = (struct hft_random){options->seed};
    gw->weather = (struct gw_weather){.base_us = 60, .extra_us = 300};
    make_servers(gw);
    make_defs(gw);
    (void)gw_at(EXPIRE_CYCLE_US, expire, NULL, 0);
    (void)gw_at(LOOK_US, look, NULL, 0);
    return gw;
}

void gw_free(struct gw_world *world)
{
    struct gw_process *process;
    struct gw_wire *wire;

    while ((process = world->processes) != NULL) {
        gw_process_kill(process);
        world->processes = process->next;
        free(process);
    }
    for (size_t i = 0; i < world->event_count; i++) {
        forget(world->events[i]);
    }
    free(world->events);
    while ((wire = world->wires) != NULL) {
        world->wires = wire->next;
        free(wire);
    }
    for (size_t i = 0; i < world->options.servers; i++) {
        sim_server_free(world->servers[i].model);
    }
    free(world);
    gw = NULL;
}
