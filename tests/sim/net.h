/* SPDX-License-Identifier: MIT */
/* net.h - connections of the simulated world, and the clients at their ends:
 * wire.c, link.c and client.c; see world.h.
 */
#ifndef SIM_NET_H
#define SIM_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "redis/channels.h"
#include "redis/command.h"
#include "redis/handshake.h"
#include "redis/reply.h"
#include "sim/server/sim_server.h"
#include "sync/core.h"
#include "sync/kinds/kind.h"

#define SIM_NAMES 4 /* locks */
#define SIM_LINKS (HFI_COMMAND_LINKS + 1)
#define SIM_PUBSUB HFI_COMMAND_LINKS

struct sim_world;
struct sim_client;
struct sim_wire;
struct sim_owner;
struct sim_call;
struct sim_shadow;

/* ---- wire.c: a connection ---- */

/* A request in the bytes of a connection; several for a batch. */
struct sim_mark {
    struct sim_mark *next;
    uint64_t end; /* behind its last byte */
    size_t client;
    uint64_t n; /* 0: it concerns no number */
    enum hfi_request request;
    int lock;      /* -1: none */
    uint64_t keep; /* of ENTER, LEAVE, RENEW, EXTEND: in the order of sending */
    bool native;   /* a bare command: the server does not look at its time */
    bool by_id;    /* a permit's, whoever's it is */
    int64_t not_after_ms;
};

struct sim_chunk {
    struct sim_chunk *next;
    size_t len;
    char bytes[];
};

struct sim_pipe {
    struct sim_chunk *first, *last;
    int64_t newest_us; /* nothing arrives before what was sent before */
    bool hole;
};

struct sim_wire {
    struct sim_wire *next;
    struct sim_world *world;
    struct sim_client *client;
    size_t link;
    struct sim_conn *conn; /* NULL: the server has closed it */
    bool closed;           /* the client has */
    int64_t slow_us;       /* something of it is held up until then */
    struct sim_pipe up, down;
    uint64_t sent, fed;
    uint64_t limit;  /* bytes behind it never arrive */
    int64_t held_us; /* closed, and what is on its way waits until then */
    struct sim_mark *marks, *last_mark;
};

struct sim_wire *sim_wire_open(struct sim_client *client, size_t link);
void sim_wire_write(struct sim_wire *wire, const char *bytes, size_t len);
void sim_wire_mark(struct sim_wire *wire, const struct sim_mark *mark);
void sim_wire_close(struct sim_wire *wire);
/* Cut from outside: the client reads the end of the file. */
void sim_wire_cut(struct sim_wire *wire);
/* All that is sent from now on is lost, up or down. */
void sim_wire_hole(struct sim_wire *wire, bool up);
/* All that arrives now waits so long, up or down. */
void sim_wire_stall(struct sim_wire *wire, bool up, int64_t ms);
void sim_wires_reset(struct sim_world *world); /* the server has closed all */
void sim_wire_free(struct sim_wire *wire);
void sim_deliver_message(void *context, struct sim_conn *conn,
                         const char *bytes, size_t len);

/* ---- client.c, link.c ---- */

enum sim_link_state {
    SIM_LINK_DOWN,
    SIM_LINK_CONNECTING,
    SIM_LINK_GREETING,
    SIM_LINK_UP
};

struct sim_in_flight {
    struct hfi_copy *copy;
    uint64_t start;
    uint64_t keep; /* as of its mark */
};

struct sim_link {
    struct sim_client *client;
    size_t id;
    enum sim_link_state phase;
    struct sim_wire *wire;
    struct hfi_buffer out;
    bool flushing;
    uint64_t appended, written;
    struct hfi_reader *reader;
    struct sim_in_flight *calls;
    size_t call_first, call_count, call_capacity;
    struct hfi_copy *joining; /* until it is written */
    size_t joining_count;
    struct hfi_copy *refused;
    struct hfi_handshake handshake;
    int64_t heard_ms, pinged_ms, connect_by_ms, retry_at_ms, last_try_ms;
    int64_t up_since_ms, greeted_at_ms;
    unsigned failures;
    uint64_t tries; /* tells an old connection's news */
};

struct sim_client {
    struct sim_world *world;
    size_t index;
    char uuid[37];
    bool alive;   /* the process runs */
    bool closing; /* hfi_core_close() was called */
    int64_t close_by_ms;
    int64_t clock_base_us, rate_ppm;
    int64_t paused_us;  /* stopped until then */
    int64_t resumed_us; /* the last time */
    bool tick_first;
    struct hfi_core_config config;
    struct hfi_core *core;
    struct hfi_channels *channels;
    struct hfi_command scratch;
    struct hfi_url url;
    struct sim_link links[SIM_LINKS];
    uint64_t random;
    hf_error open_error;
    int64_t wake_us;
    bool calm;          /* as sim_client_calm() says after this event */
    int64_t due_ms;     /* as its core says */
    int64_t calm_us;    /* nothing has disturbed it since */
    int64_t hearing_us; /* no message to it was lost since */
    struct sim_owner **owners;
    size_t owner_count;
    uint64_t permit_owners;           /* each permit has an owner of its own */
    struct sim_call *fifo[SIM_NAMES]; /* who waits, as they came */
    struct sim_call *ended;           /* told just now, not freed yet */
    struct sim_shadow **shadows;      /* by number */
    size_t shadow_count;
};

struct sim_client *sim_client_new(struct sim_world *world);
/* With these limits, and all three links up. */
struct sim_client *sim_client_ready_with(struct sim_world *world,
                                         int64_t response_ms, int64_t retry_ms);
void sim_client_free(struct sim_client *client);
int64_t sim_client_ms(const struct sim_client *client);
/* When its clock first shows that. */
int64_t sim_client_shows_us(const struct sim_client *client, int64_t ms);
/* Carry out what the core decided, and see to its next wake-up. */
void sim_client_settle(struct sim_client *client);
void sim_client_wake(struct sim_client *client);
void sim_client_kill(struct sim_client *client);
void sim_client_pause(struct sim_client *client, int64_t ms);
void sim_client_close(struct sim_client *client);
bool sim_client_paused(const struct sim_client *client);
bool sim_client_calm(const struct sim_client *client);
bool sim_client_ready(
    const struct sim_client *client); /* its main link is up */

void sim_link_init(struct sim_client *client, size_t id);
void sim_link_append(struct sim_link *link, struct hfi_copy *copy);
void sim_link_flush_later(struct sim_link *link);
void sim_link_read(struct sim_link *link, const char *bytes, size_t len);
void sim_link_down(struct sim_link *link);
void sim_link_failed(struct sim_link *link);
void sim_link_step(struct sim_link *link);
int64_t sim_link_due_ms(const struct sim_link *link);
void sim_link_end_of_file(struct sim_link *link);
void sim_link_wanted(struct sim_client *client);
void sim_link_give_back(struct sim_link *link);

#endif
