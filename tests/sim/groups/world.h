/* SPDX-License-Identifier: MIT */
/* world.h - a world of several servers, for multi locks and red locks.
 *
 * What runs in it is what ships: src/api with its groups, the client and its
 * callbacks of src/driver, src/sync, and the scripts, in several models of a
 * server (tests/sim/server).  Ours are the links (link.c), the clock, and all
 * that goes wrong.  Everything random comes from one seed.
 *
 *   world.c       events, clocks, servers, chance
 *   link.c        what src/driver does with sockets, without them
 *   machine.c     clocks and threads, of which there are none
 *   process.c     a program: a client of every server, and its groups
 *   users.c       owners and their calls
 *   faults.c      what goes wrong
 *   invariants.c  what must hold
 *
 * Times of the world are in us from 0.  One thread; memory that is short ends
 * the program.
 */
#ifndef SIM_GROUPS_WORLD_H
#define SIM_GROUPS_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/group.h"
#include "sim/server/sim_server.h"
#include "support/seed.h"
#include "sync/state.h"

#define GW_SERVERS 5
#define GW_NAMES 2 /* of locks, on each server */
#define GW_GROUPS 3
#define GW_MEMBERS 5
#define GW_USERS 3 /* of one process */
#define GW_NEVER INT64_MAX

/* What must hold; docs/design/simulation.md says it in full. */
#define GW_INVARIANT_MAP(X)                                                    \
    X(exclusive)                                                               \
    X(held_truly)                                                              \
    X(wanted)                                                                  \
    X(calls_end)                                                               \
    X(in_its_limit)                                                            \
    X(gets_on)                                                                 \
    X(told_in_time)                                                            \
    X(told_once)                                                               \
    X(told_truly)                                                              \
    X(lease_whole)                                                             \
    X(fixed_ends)                                                              \
    X(in_order)                                                                \
    X(outcomes_true)                                                           \
    X(protocol)                                                                \
    X(nothing_remains)

enum gw_invariant {
#define GW_INVARIANT_ENUM(name) GW_INVARIANT_##name,
    GW_INVARIANT_MAP(GW_INVARIANT_ENUM)
#undef GW_INVARIANT_ENUM
        GW_INVARIANT_COUNT
};

struct gw_event;
typedef void gw_event_fn(struct gw_event *event);

struct gw_event {
    int64_t at_us;
    uint64_t order;
    gw_event_fn *fn;
    void *who;
    int64_t arg;
    char *bytes; /* its own; or NULL */
    size_t len;
    bool late; /* it runs when its sender has long gone on */
    bool kept; /* planned again: it is not freed yet */
};

/* What the network does to a message, each in parts of a million. */
struct gw_weather {
    unsigned slow;  /* delayed, up to `slow_ms`; what is behind it waits */
    unsigned hole;  /* it and all that follows on the connection is lost */
    unsigned reset; /* the connection is cut */
    unsigned deaf;  /* a message to a subscriber is lost */
    unsigned late;  /* what a closed connection has on its way comes late */
    int64_t slow_ms, late_ms;
    int64_t base_us, extra_us;
};

struct gw_options {
    uint64_t seed;
    bool verbose;
    bool red;          /* a red lock; else multi locks */
    bool foul;         /* things go wrong */
    bool stumbles;     /* a mistake: scripts are told of a key too few */
    bool disagreeing;  /* processes call the servers by different names */
    size_t servers;    /* 1 to GW_SERVERS */
    size_t processes;  /* at a time */
    size_t users;      /* in each */
    size_t operations; /* of a random history */
};

struct gw_server {
    struct sim_server *model;
    size_t index;
    bool up;
    int64_t base_us; /* its clock less ours */
    int64_t stalled_us;
    int64_t forgot_us; /* it lost data last; -1: never */
    bool rolled_back;  /* who has left a queue may stand in it again */
};

/* One connection, as the network sees it. */
struct gw_wire {
    struct gw_wire *next;
    struct gw_client *client;
    struct gw_server *server;
    size_t link;
    struct sim_conn *conn; /* NULL: the server has closed it */
    bool closed;           /* the client has */
    bool hole_up, hole_down;
    int64_t up_us, down_us; /* nothing arrives before what was sent before */
};

struct gw_client {
    struct gw_process *process;
    struct gw_server *server;
    hf_client *client; /* NULL once it is closed */
    struct gw_wire *wires[HFI_LINKS];
    bool flushing[HFI_LINKS];
    uint64_t tries[HFI_LINKS];
    int64_t tick_us; /* its keeper looks around then; GW_NEVER: not planned */
    uint64_t ticks;
    bool dispatching;
};

enum gw_what { GW_ACQUIRE, GW_RELEASE, GW_EXTEND };

/* A call of a user on his group. */
struct gw_call {
    struct gw_call *next;
    struct gw_user *user;
    enum gw_what what;
    int64_t wait_ms;
    int64_t lease_ms;
    bool fixed;
    bool outermost;
    int64_t begun_ms; /* his process' clock */
    int64_t bound_ms; /* ends within that; a red try in its members' limit */
    bool short_bound; /* ... which is this */
    bool disturbed;   /* his process was stopped meanwhile */
    bool ended;
    hf_status status;
    size_t times;
    size_t answered; /* members that said HF_OK */
    hf_status outcomes[GW_MEMBERS];
};

struct gw_user {
    struct gw_process *process;
    size_t index;
    size_t of; /* which group */
    hf_group *group;
    hf_owner *owner;
    hf_cancel *cancel;
    struct gw_call *calls; /* newest first */
    size_t running;
    int64_t quiet_us; /* nothing of his runs since */
    bool scripted;    /* does nothing by himself */
    bool waits_long;
    /* His hold, as he was told. */
    size_t levels;
    size_t told; /* of its loss */
    bool lost;
    int64_t lease_ms;
    bool fixed, extended, reentered;
    int64_t granted_ms; /* his process' clock */
    bool queued_release;
    /* As the invariants see him. */
    bool believes;
    uint64_t alive; /* members: a bit for each name of each server */
    int64_t since_us, doubted_us;
    int64_t unwanted_us[GW_MEMBERS]; /* GW_NEVER: not */
};

struct gw_process {
    struct gw_process *next;
    size_t index;
    bool alive;
    int64_t base_us;
    int64_t drift_ppm;
    int64_t skip_ms; /* of one that closes: its clock does not stop */
    int64_t stopped_us, resumed_us;
    struct gw_client clients[GW_SERVERS];
    hf_group *groups[GW_GROUPS];
    struct gw_user users[GW_USERS];
};

/* A group, as everybody makes it. */
struct gw_def {
    size_t count;
    size_t server[GW_MEMBERS];
    size_t name[GW_MEMBERS];
    uint64_t bits;
};

struct gw_figures {
    size_t calls, grants, losses, faults, late_runs, steps;
};

struct gw_world {
    struct gw_options options;
    struct hft_random random;
    int64_t now_us;
    struct gw_event **events;
    size_t event_count, event_capacity;
    uint64_t event_order;
    struct gw_server servers[GW_SERVERS];
    struct gw_def defs[GW_GROUPS];
    size_t def_count;
    hf_kind kind[GW_NAMES];
    struct gw_process *processes;
    size_t process_count;
    struct gw_process *acting; /* whose clock is asked */
    struct gw_client *opening;
    struct gw_wire *wires;
    struct gw_weather weather;
    int64_t fair_us; /* nothing goes wrong since; GW_NEVER: things do */
    bool ending;
    bool killed; /* somebody was: what he left in a queue may lie there */
    const char *broken;
    char text[400];
    struct gw_figures figures;
};

/* The one that there is: the driver asks for its clock. */
extern struct gw_world *gw;

/* ---- world.c ---- */
struct gw_options gw_options_default(uint64_t seed);
struct gw_world *gw_new(const struct gw_options *options);
void gw_free(struct gw_world *world);
struct gw_event *gw_at(int64_t at_us, gw_event_fn *fn, void *who, int64_t arg);
/* The event that happens is to happen again, as it is. */
void gw_again(struct gw_event *event, int64_t at_us);
bool gw_step(void);
/* Until that much time has passed, or something is broken (false). */
bool gw_pass_ms(int64_t ms);
int64_t gw_below(int64_t limit);
int64_t gw_between(int64_t least, int64_t most);
bool gw_chance(unsigned millionths);
int64_t gw_server_ms(const struct gw_server *server);
int64_t gw_process_ms(const struct gw_process *process);
/* When the clock of a process first shows that. */
int64_t gw_shows_us(const struct gw_process *process, int64_t ms);
void gw_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void gw_break(const char *invariant, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
const char *gw_invariant_name(enum gw_invariant invariant);

/* ---- link.c ---- */
void gw_wire_cut(struct gw_wire *wire); /* the client reads the end of file */
void gw_deliver(void *context, struct sim_conn *conn, const char *bytes,
                size_t len);
/* What the process left to be done after an event: plan it. */
void gw_after(struct gw_process *process);
bool gw_is_stopped(const struct gw_process *process);

/* ---- process.c ---- */
struct gw_process *gw_process_new(void);
void gw_process_kill(struct gw_process *process);
/* It ends in peace; everything of it can be freed. */
void gw_process_free(struct gw_process *process);
void gw_process_stop(struct gw_process *process, int64_t ms);

/* ---- users.c ---- */
struct gw_how {
    int64_t wait_ms;
    int64_t lease_ms;
    bool fixed;
};
struct gw_call *gw_acquire(struct gw_user *user, const struct gw_how *how);
struct gw_call *gw_release(struct gw_user *user);
struct gw_call *gw_extend(struct gw_user *user, int64_t lease_ms);
void gw_cancel(struct gw_user *user);
/* Let him do what comes to his mind. */
void gw_user_lives(struct gw_user *user);
/* A whole random history; false: something is broken. */
bool gw_history(void);

/* ---- faults.c ---- */
void gw_trouble_begins(void);
void gw_server_stalls(struct gw_server *server, int64_t ms);
void gw_server_restarts(struct gw_server *server, bool empty, size_t forget,
                        int64_t away_ms);

/* ---- invariants.c ---- */
void gw_look(void);        /* after every event */
void gw_look_around(void); /* now and then */
void gw_look_at_the_end(void);
/* How many members of his are held and count, and which. */
size_t gw_alive(const struct gw_user *user, uint64_t *ret_bits);
void gw_call_ended(struct gw_call *call);

#endif
