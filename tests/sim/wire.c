/* SPDX-License-Identifier: MIT */
/* wire.c - a connection: two streams of bytes, and what a network does to them.
 *
 * Bytes of a stream arrive in their order, and each write or answer may be held
 * up (with all that is behind it), fall into a hole (with all that follows), or
 * be cut off with the connection.
 *
 * When a client closes, what it had written may still arrive: a closed socket is
 * no fence.  Some of it is lost, some runs at once, some much later, also when
 * its retry on another connection was answered long ago.
 *
 * Each request is marked in the stream, so that the oracle sees it run by
 * itself, or hears that it never can.
 */
#include <stdlib.h>
#include <string.h>

#include "sim/world.h"

static void arrive_up(struct sim_world *world, void *who, int64_t arg);
static void arrive_down(struct sim_world *world, void *who, int64_t arg);

struct sim_wire *sim_wire_open(struct sim_client *client, size_t link)
{
    struct sim_world *world = client->world;
    struct sim_wire *wire = sim_alloc(sizeof(*wire));

    wire->world = world;
    wire->client = client;
    wire->link = link;
    wire->limit = UINT64_MAX;
    wire->conn = sim_conn_open(world->server, wire);
    wire->next = world->wires;
    world->wires = wire;
    return wire;
}

static void drop_chunks(struct sim_pipe *pipe)
{
    struct sim_chunk *chunk;

    while ((chunk = pipe->first) != NULL) {
        pipe->first = chunk->next;
        free(chunk);
    }
    pipe->last = NULL;
}

void sim_wire_free(struct sim_wire *wire)
{
    struct sim_mark *mark;

    drop_chunks(&wire->up);
    drop_chunks(&wire->down);
    while ((mark = wire->marks) != NULL) {
        wire->marks = mark->next;
        free(mark);
    }
    free(wire);
}

/* ---- what can never run any more ---- */

/* Bytes from `from` on will not arrive: the requests that end behind it. */
static void lose_marks(struct sim_wire *wire, uint64_t from)
{
    struct sim_mark **at = &wire->marks;

    wire->last_mark = NULL;
    while (*at != NULL) {
        struct sim_mark *mark = *at;

        if (mark->end > from) {
            *at = mark->next;
            sim_oracle_never(wire->world, mark);
            free(mark);
        } else {
            wire->last_mark = mark;
            at = &mark->next;
        }
    }
}

static void lose_up(struct sim_wire *wire)
{
    wire->limit = wire->fed;
    lose_marks(wire, wire->limit);
    drop_chunks(&wire->up);
    wire->up.hole = true;
}

static void close_server_side(struct sim_wire *wire)
{
    if (wire->conn != NULL) {
        sim_conn_close(wire->conn);
        wire->conn = NULL;
    }
    lose_up(wire);
}

/* ---- sending ---- */

static struct sim_chunk *push(struct sim_pipe *pipe, const char *bytes,
                              size_t len)
{
    struct sim_chunk *chunk = sim_alloc(sizeof(*chunk) + len);

    chunk->len = len;
    memcpy(chunk->bytes, bytes, len);
    if (pipe->last == NULL) {
        pipe->first = chunk;
    } else {
        pipe->last->next = chunk;
    }
    pipe->last = chunk;
    return chunk;
}

/* When what is sent now arrives; in its turn. */
static int64_t arrival(struct sim_wire *wire, struct sim_pipe *pipe)
{
    struct sim_world *world = wire->world;
    const struct sim_weather *weather = &world->weather;
    int64_t at = world->now_us + weather->base_us +
                 (int64_t)sim_below(world, (uint64_t)weather->extra_us + 1);

    if (sim_chance(world, weather->slow)) {
        int64_t more = sim_between(world, 1, weather->slow_ms);

        SIM_SAY(world, "net   C%zu.%zu: %s held up for %lld ms",
                wire->client->index, wire->link,
                pipe == &wire->up ? "request" : "answer", (long long)more);
        at += more * 1000;
        wire->slow_us = at > wire->slow_us ? at : wire->slow_us;
        sim_count_fault(world, SIM_SLOW);
    }
    if (at < pipe->newest_us) {
        at = pipe->newest_us;
    }
    pipe->newest_us = at;
    return at;
}

/* What befalls it: true if nothing of it is to be sent. */
static bool befalls(struct sim_wire *wire, struct sim_pipe *pipe)
{
    struct sim_world *world = wire->world;

    if (!pipe->hole && sim_chance(world, world->weather.hole)) {
        sim_wire_hole(wire, pipe == &wire->up);
        sim_count_fault(world,
                        pipe == &wire->up ? SIM_LOST_REQUEST : SIM_LOST_REPLY);
    }
    if (!wire->closed && sim_chance(world, world->weather.reset)) {
        sim_wire_cut(wire);
        sim_count_fault(world, SIM_RESET);
    }
    return pipe->hole;
}

void sim_wire_mark(struct sim_wire *wire, const struct sim_mark *mark)
{
    struct sim_mark *own = sim_alloc(sizeof(*own));

    *own = *mark;
    own->next = NULL;
    if (wire->last_mark == NULL) {
        wire->marks = own;
    } else {
        wire->last_mark->next = own;
    }
    wire->last_mark = own;
}

void sim_wire_write(struct sim_wire *wire, const char *bytes, size_t len)
{
    bool lost = befalls(wire, &wire->up);

    wire->sent += len;
    if (lost) {
        lose_marks(wire, wire->limit);
        return;
    }
    (void)push(&wire->up, bytes, len);
    sim_at(wire->world, arrival(wire, &wire->up), arrive_up, wire, 0);
}

static void send_down(struct sim_wire *wire, const char *bytes, size_t len)
{
    if (len == 0 || wire->closed || befalls(wire, &wire->down)) {
        return;
    }
    (void)push(&wire->down, bytes, len);
    sim_at(wire->world, arrival(wire, &wire->down), arrive_down, wire, 0);
}

/* ---- at the server ---- */

static void run(struct sim_wire *wire, const char *bytes, size_t len,
                struct hft_bytes *out)
{
    if (len == 0 || wire->conn == NULL) {
        return;
    }
    wire->fed += len;
    if (!sim_server_request(wire->conn, bytes, len, sim_server_ms(wire->world),
                            out)) {
        sim_break(wire->world, "protocol",
                  "the server closed a connection of C%zu",
                  wire->client->index);
    }
}

static struct sim_mark *take_mark(struct sim_wire *wire)
{
    struct sim_mark *mark = wire->marks;

    wire->marks = mark->next;
    if (wire->marks == NULL) {
        wire->last_mark = NULL;
    }
    return mark;
}

/* All requests that end where the first mark ends (more than one: a batch). */
static void run_marked(struct sim_wire *wire, const char *bytes, size_t len,
                       struct hft_bytes *out)
{
    struct sim_world *world = wire->world;
    uint64_t end = wire->marks->end;
    size_t before = out->length;
    struct sim_mark *mark;
    bool refused;

    for (mark = wire->marks; mark != NULL && mark->end == end;
         mark = mark->next) {
        sim_oracle_before(world, mark);
    }
    run(wire, bytes, len, out);
    /* NOSCRIPT and the like: nothing has run. */
    refused = out->length > before && out->data[before] == '-';
    if (wire->closed) {
        world->figures.late_runs++;
    }
    while (wire->marks != NULL && wire->marks->end == end) {
        mark = take_mark(wire);
        if (refused) {
            sim_oracle_never(world, mark);
        } else {
            sim_oracle_ran(world, wire, mark);
        }
        free(mark);
    }
}

static void feed(struct sim_wire *wire, const struct sim_chunk *chunk,
                 struct hft_bytes *out)
{
    size_t at = 0;

    while (at < chunk->len && wire->conn != NULL) {
        size_t len = chunk->len - at;
        bool whole = wire->marks != NULL && wire->marks->end - wire->fed <= len;

        if (whole) {
            len = (size_t)(wire->marks->end - wire->fed);
            run_marked(wire, chunk->bytes + at, len, out);
        } else {
            run(wire, chunk->bytes + at, len, out);
        }
        at += len;
    }
}

static void arrive_up(struct sim_world *world, void *who, int64_t arg)
{
    struct sim_wire *wire = who;
    struct sim_chunk *chunk = wire->up.first;
    struct hft_bytes out = {0};

    if (chunk == NULL || wire->conn == NULL) {
        return; /* lost meanwhile */
    }
    if (arg == 0 && world->now_us < wire->held_us) {
        return; /* put off: drain_late() has it */
    }
    if (world->server_paused_us > world->now_us) {
        sim_at(world, world->server_paused_us, arrive_up, wire, 0);
        return;
    }
    wire->up.first = chunk->next;
    if (wire->up.first == NULL) {
        wire->up.last = NULL;
    }
    feed(wire, chunk, &out);
    free(chunk);
    send_down(wire, out.data, out.length);
    hft_bytes_free(&out);
    if (wire->closed && wire->up.first == NULL) {
        close_server_side(wire);
    }
}

void sim_deliver_message(void *context, struct sim_conn *conn,
                         const char *bytes, size_t len)
{
    struct sim_world *world = context;
    struct sim_wire *wire = sim_conn_user(conn);

    if (wire == NULL) {
        return; /* not of a client of ours */
    }
    if (sim_chance(world, world->weather.deaf) || wire->down.hole) {
        SIM_SAY(world, "net   C%zu: a message is lost", wire->client->index);
        wire->client->hearing_us = world->now_us;
        sim_count_fault(world, SIM_DEAF);
        return;
    }
    send_down(wire, bytes, len);
}

/* ---- at the client ---- */

static void arrive_down(struct sim_world *world, void *who, int64_t arg)
{
    struct sim_wire *wire = who;
    struct sim_client *client = wire->client;
    struct sim_chunk *chunk = wire->down.first;

    (void)arg;
    if (chunk == NULL) {
        return;
    }
    if (client->alive && sim_client_paused(client)) {
        sim_at(world, client->paused_us + (client->tick_first ? 1 : 0),
               arrive_down, wire, 0);
        return;
    }
    wire->down.first = chunk->next;
    if (wire->down.first == NULL) {
        wire->down.last = NULL;
    }
    if (!wire->closed && client->alive) {
        sim_link_read(&client->links[wire->link], chunk->bytes, chunk->len);
    }
    free(chunk);
}

static void end_of_file(struct sim_world *world, void *who, int64_t arg)
{
    struct sim_wire *wire = who;
    struct sim_client *client = wire->client;

    (void)arg;
    if (wire->closed || !client->alive) {
        return;
    }
    if (sim_client_paused(client)) {
        sim_at(world, client->paused_us + 1, end_of_file, wire, 0);
        return;
    }
    sim_link_end_of_file(&client->links[wire->link]);
}

/* ---- the end ---- */

/* The end of what is on its way is lost, in the middle of a request or not. */
static void cut_short(struct sim_wire *wire)
{
    struct sim_chunk *last = wire->up.last;
    size_t cut = (size_t)sim_below(wire->world, last->len + 1);
    uint64_t end = wire->fed;

    last->len -= cut;
    for (struct sim_chunk *chunk = wire->up.first; chunk != NULL;
         chunk = chunk->next) {
        end += chunk->len;
    }
    wire->limit = end;
    wire->up.hole = true;
    lose_marks(wire, end);
}

/* Leave a part of what is on its way, to arrive later. */
static void put_off(struct sim_wire *wire)
{
    struct sim_world *world = wire->world;
    struct sim_pipe *pipe = &wire->up;
    int64_t at = world->now_us;

    if (!sim_chance(world, world->weather.late)) {
        return; /* it arrives when it would have */
    }
    if (sim_below(world, 4) == 0) {
        cut_short(wire);
    }
    at += sim_between(world, 1, world->weather.late_ms) * 1000;
    if (at > pipe->newest_us) {
        pipe->newest_us = at;
    }
    wire->held_us = pipe->newest_us;
    sim_count_fault(world, SIM_LATE);
    SIM_SAY(world, "net   C%zu.%zu: what is on its way comes at %.6f",
            wire->client->index, wire->link, (double)pipe->newest_us / 1e6);
}

/* The chunks' own events may come before; they wait for the newest. */
static void drain_late(struct sim_world *world, void *who, int64_t arg)
{
    struct sim_wire *wire = who;

    (void)arg;
    while (wire->up.first != NULL && wire->conn != NULL) {
        if (world->server_paused_us > world->now_us) {
            sim_at(world, world->server_paused_us, drain_late, wire, 0);
            return;
        }
        arrive_up(world, wire, 1);
    }
    if (wire->conn != NULL) {
        close_server_side(wire);
    }
}

void sim_wire_close(struct sim_wire *wire)
{
    struct sim_world *world = wire->world;

    if (wire->closed) {
        return;
    }
    wire->closed = true;
    /* What was never written never runs. */
    lose_marks(wire, wire->sent < wire->limit ? wire->sent : wire->limit);
    drop_chunks(&wire->down);
    if (wire->conn == NULL || wire->up.first == NULL) {
        sim_at(world, world->now_us + world->weather.base_us, drain_late, wire,
               0);
        return;
    }
    put_off(wire);
    sim_at(world, wire->up.newest_us + 1, drain_late, wire, 0);
}

static void server_hears(struct sim_world *world, void *who, int64_t arg)
{
    (void)world;
    (void)arg;
    close_server_side(who);
}

void sim_wire_cut(struct sim_wire *wire)
{
    struct sim_world *world = wire->world;

    SIM_SAY(world, "net   C%zu.%zu: connection cut", wire->client->index,
            wire->link);
    /* The server hears of it at once (not while it publishes), or has still to
     * read what came. */
    if (sim_below(world, 2) == 0) {
        sim_at(world, world->now_us, server_hears, wire, 0);
    }
    wire->down.hole = true;
    sim_at(world, world->now_us + sim_between(world, 50, 20000), end_of_file,
           wire, 0);
}

void sim_wire_hole(struct sim_wire *wire, bool up)
{
    SIM_SAY(wire->world, "net   C%zu.%zu: all %s are lost from now on",
            wire->client->index, wire->link, up ? "requests" : "answers");
    if (up && !wire->up.hole) {
        wire->up.hole = true;
        wire->limit = wire->sent;
    } else if (!up) {
        wire->down.hole = true;
        wire->client->hearing_us = wire->world->now_us;
    }
}

void sim_wire_stall(struct sim_wire *wire, bool up, int64_t ms)
{
    struct sim_pipe *pipe = up ? &wire->up : &wire->down;

    pipe->newest_us = wire->world->now_us + ms * 1000;
    wire->slow_us = pipe->newest_us > wire->slow_us ? pipe->newest_us
                                                    : wire->slow_us;
}

void sim_wires_reset(struct sim_world *world)
{
    struct sim_wire *wire;

    for (wire = world->wires; wire != NULL; wire = wire->next) {
        if (wire->conn == NULL) {
            continue;
        }
        close_server_side(wire);
        sim_at(world, world->now_us + sim_between(world, 50, 3000), end_of_file,
               wire, 0);
    }
}
