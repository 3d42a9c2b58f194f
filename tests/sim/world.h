/* SPDX-License-Identifier: MIT */
/* world.h - the simulated world: time, network, servers, clients, users.
 *
 * One seeded stream of numbers decides everything that is random; one queue of
 * events is all that happens.  Clients are the real core (src/sync) and the
 * real protocol (src/redis) under a simulated driver; the server is the model
 * of tests/sim/server, which runs the shipped scripts.  After each event the
 * invariants are looked at (invariants.c).  docs/design/simulation.md tells the
 * rest.
 *
 *   world.c       events, clocks, the timeline
 *   wire.c        connections: delay, loss, and bytes that come late
 *   client.c      a client process: what src/driver does, without its threads
 *   link.c        one of its links
 *   users.c       owners and their calls
 *   crowd.c       users that do what comes to their minds
 *   faults.c      what goes wrong
 *   queue.c       the queue of a fair lock
 *   permits.c     permits with leases
 *   java.c        a reader that is a Java program
 *   java_fair.c   a waiter that is one
 *   book.c        what is known of every number and lock
 *   oracle.c      what every copy does, from its sending to its answer
 *   invariants.c  what must hold
 *   waits.c       ... of calls that are under way
 *   told.c        ... of what callers are told
 *
 * Times of the world are in us from 0.  One thread; memory that is short ends
 * the program.
 */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "sim/mutants.h"
#include "sim/net.h"
#include "sim/server/sim_server.h"
#include "support/seed.h"
#include "sync/core.h"
#include "sync/kinds/kind.h"

#define SIM_NEVER INT64_MAX

typedef void sim_event_fn(struct sim_world *world, void *who, int64_t arg);

struct sim_event {
    int64_t at_us;
    uint64_t order;
    sim_event_fn *fn;
    void *who;
    int64_t arg;
};

/* What the network does to a write or an answer, each with a probability in
 * parts of a million. */
struct sim_weather {
    unsigned slow;    /* delayed, up to `slow_ms`; what is behind it waits */
    unsigned hole;    /* it and all that follows on the connection is lost */
    unsigned reset;   /* the connection is cut in its middle */
    unsigned deaf;    /* a message to a subscriber is lost */
    unsigned late;    /* of a closed connection's bytes: they come late */
    int64_t slow_ms;  /* at most */
    int64_t late_ms;  /* at most */
    int64_t base_us;  /* of every way, at least */
    int64_t extra_us; /* and at most so much more */
};

struct sim_options {
    uint64_t seed;
    bool verbose;
    bool newer;        /* the server knows DELIFEQ */
    FILE *timeline;    /* where it is told; borrowed */
    size_t operations; /* of a random history */
    int64_t drift_ppm; /* clocks of clients are off by up to this */
    size_t processes;  /* at a time */
    size_t owners;     /* in each */
    struct sim_weather weather;
    unsigned trouble; /* 0: no random faults; 1: as many as are usual */
    const struct sim_mutant *mutant; /* a mistake in a script, or NULL */
};

/* One owner's field in a lock on the server. */
struct sim_field {
    size_t client;
    uint64_t n;
    bool writes; /* it ends in ":write" */
    int64_t count;
    int64_t expires_ms; /* server's clock; -1: never */
};

#define SIM_FIELDS 48

/* What is known of a lock on the server; read after each request. */
struct sim_image {
    bool present;
    bool is_lock;       /* its fields are of owners of ours */
    char mode;          /* of a read-write lock: 'r' or 'w' */
    int64_t expires_ms; /* of all of it; as a field's */
    int64_t available;  /* permits */
    size_t out;         /* ... and ids, whoever's, in time or past it */
    size_t fields;
    struct sim_field field[SIM_FIELDS];
};

/* What a name is used for in this history. */
enum sim_sort {
    SIM_LOCKS,      /* plain, non-reentrant and spin locks, fenced or not */
    SIM_READ_WRITE, /* both halves of a read-write lock */
    SIM_TOKENS,     /* the canonical lock: a string */
    SIM_FAIR,       /* a queue on the server */
    SIM_PERMITS,    /* permits with leases */
    SIM_SORTS
};

/* An owner may have two holds of one name: a write and, below it, a read. */
#define SIM_ROLES 2

/* A hold on its way from one owner to another. */
struct sim_handle {
    char field[64]; /* "": none */
    const struct hfi_kind *kind;
    int64_t count;
    int64_t lease_ms;
};

/* When a lock became open, and was said to be. */
enum sim_gate_of {
    SIM_FOR_ALL,     /* nobody has it */
    SIM_FOR_READERS, /* nobody writes */
    SIM_GATES
};

struct sim_gate {
    int64_t since_us; /* -1: it is not open */
    int64_t told_us;  /* a release of ours opened it last; it publishes */
};

#define SIM_PLACES 48
#define SIM_JAVAS SIZE_MAX /* in place of a client's index */

/* A waiter's place in the queue of a fair lock. */
struct sim_place {
    size_t client;
    uint64_t n;
    bool known;       /* when it was seen last, as one of ours */
    int64_t alive_ms; /* until then, by the server's clock; INT64_MAX: ever */
};

struct sim_queue {
    size_t count;
    size_t entries, scores; /* as Redisson keeps them */
    int64_t head_us;        /* the first is the first since then */
    struct sim_place place[SIM_PLACES];
};

enum sim_java { SIM_JAVA_AWAY, SIM_JAVA_WAITS, SIM_JAVA_HOLDS };

/* The names of what stands beside a lock. */
struct sim_names {
    char token[64];
    char queue[64], scores[64], alive[64], waits[64];
    char channel[64]; /* waiters have theirs behind it */
    char out[64];     /* permits */
};

struct sim_lock {
    char name[32];
    size_t bytes; /* of the name */
    struct sim_names names;
    enum sim_sort sort;
    struct sim_image image;
    bool foreign; /* somebody else writes under this name */
    struct sim_gate gate[SIM_GATES];
    struct sim_queue queue;
    bool polite; /* its readers give way to writers */
    /* Those who make locks of it all use the same. */
    struct hfi_kind_options options;
    int64_t token;            /* the newest that somebody was told */
    int64_t doubt_us;         /* until then the clock shows what it has shown */
    int64_t java_until_us;    /* a Java program reads, or waits */
    enum sim_java java;       /* its thread in the queue of a fair lock */
    int64_t java_hold_ms;     /* that it takes the lock for */
    struct sim_handle handle; /* what was exported, until it is imported */
    int64_t changed_us;       /* its holder is another since */
};

/* What must hold; docs/design/simulation.md says it in full. */
#define SIM_INVARIANT_MAP(X)                                                   \
    X(exclusive)                                                               \
    X(field_stands)                                                            \
    X(told_of_excused)                                                         \
    X(lost_in_time)                                                            \
    X(told_once)                                                               \
    X(told_truly)                                                              \
    X(gone_truly)                                                              \
    X(never_revived)                                                           \
    X(fixed_stays)                                                             \
    X(head_start)                                                              \
    X(others_untouched)                                                        \
    X(only_acquire_creates)                                                    \
    X(acquire_keeps_count)                                                     \
    X(only_extended)                                                           \
    X(ended_whole)                                                             \
    X(count_mirrored)                                                          \
    X(nothing_kept_after)                                                      \
    X(burned)                                                                  \
    X(nothing_left)                                                            \
    X(ends_end)                                                                \
    X(ttl_always)                                                              \
    X(subscriptions)                                                           \
    X(waiter_runs)                                                             \
    X(calls_end)                                                               \
    X(ends_once)                                                               \
    X(fifo)                                                                    \
    X(tokens_grow)                                                             \
    X(token_stays)                                                             \
    X(queue_order)                                                             \
    X(queue_swept)                                                             \
    X(refused)                                                                 \
    X(permits_conserved)                                                       \
    X(permits_return)                                                          \
    X(no_more_out)                                                             \
    X(done_once)                                                               \
    X(protocol)                                                                \
    X(nothing_remains)

enum sim_invariant {
#define SIM_INVARIANT_ENUM(name) SIM_INVARIANT_##name,
    SIM_INVARIANT_MAP(SIM_INVARIANT_ENUM)
#undef SIM_INVARIANT_ENUM
        SIM_INVARIANT_COUNT
};

struct sim_broken {
    const char *invariant; /* NULL: none */
    int64_t at_us;
    char text[400];
};

struct sim_figures {
    size_t operations; /* calls of users that have ended */
    size_t faults;
    size_t grants;
    size_t losses; /* holders that were told */
    size_t excuses;
    size_t late_runs; /* requests that ran after their link was closed */
    size_t steps;
    size_t by_fault[32];
};

struct sim_world {
    struct sim_options options;
    struct hft_random random;
    int64_t now_us;
    struct sim_event *events; /* a heap */
    size_t event_count, event_capacity;
    uint64_t event_order;
    uint64_t keeps; /* sent so far */
    struct sim_server *server;
    bool server_up;
    int64_t server_base_us;   /* its clock less ours */
    int64_t server_paused_us; /* until then */
    int64_t watchdog_ms;      /* of Java programs */
    struct sim_lock locks[SIM_NAMES];
    struct sim_client **clients; /* of all generations */
    size_t client_count;
    struct sim_wire *wires;
    struct sim_call *calls;
    struct sim_broken broken;
    struct sim_figures figures;
    struct sim_weather weather; /* now */
    int locks_used;             /* by the crowd */
    int haste;                  /* of the crowd: thinks so much faster */
    bool ending;                /* the crowd begins nothing any more */
};

/* ---- world.c ---- */
struct sim_options sim_options_default(uint64_t seed);
struct sim_world *sim_world_new(const struct sim_options *options);
void sim_world_free(struct sim_world *world);
void sim_at(struct sim_world *world, int64_t at_us, sim_event_fn *fn, void *who,
            int64_t arg);
/* Let the next event happen; false: there is none, or something is broken. */
bool sim_step(struct sim_world *world);
/* Until that much time has passed, or an invariant is broken (false). */
bool sim_pass_ms(struct sim_world *world, int64_t ms);
uint64_t sim_below(struct sim_world *world, uint64_t limit);
/* Evenly, both included. */
int64_t sim_between(struct sim_world *world, int64_t least, int64_t most);
bool sim_chance(struct sim_world *world, unsigned millionths);
int64_t sim_server_ms(const struct sim_world *world);
/* When the server's clock first shows that. */
int64_t sim_server_shows_us(const struct sim_world *world, int64_t server_ms);
void sim_say(struct sim_world *world, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
#define SIM_SAY(world, ...)                                                    \
    do {                                                                       \
        if ((world)->options.verbose) {                                        \
            sim_say((world), __VA_ARGS__);                                     \
        }                                                                      \
    } while (0)
/* By its name, one of SIM_INVARIANT_MAP. */
void sim_break(struct sim_world *world, const char *invariant,
               const char *format, ...) __attribute__((format(printf, 3, 4)));
const char *sim_invariant_name(enum sim_invariant invariant);
void *sim_alloc(size_t size);

/* Which field on the server: a number's, also one that was handed on. */
struct sim_identity {
    size_t client; /* who made it */
    uint64_t n;
};

/* ---- users.c ---- */

enum sim_what {
    SIM_ACQUIRE,
    SIM_RELEASE,
    SIM_EXTEND,
    SIM_FORCE,
    SIM_SHOW,
    SIM_EXPORT,
    SIM_IMPORT, /* what was exported last */
    SIM_MAKE,   /* permits, if there are none */
    SIM_ADD     /* permits, or take some away */
};

struct sim_ask {
    enum sim_what what;
    const struct hfi_kind *kind; /* NULL: a plain lock */
    int lock;
    int64_t wait_ms;
    int64_t lease_ms;
    bool fixed; /* not renewed */
    bool exact; /* of a permit: EXTEND also to a shorter lease */
    int64_t min_hold_ms, max_hold_ms;
    int64_t count; /* of permits, to make or to add */
};

struct sim_call {
    struct sim_call *next, *fifo_next;
    struct sim_owner *owner;
    struct sim_client *client;
    struct sim_ask ask;
    struct sim_call *next_ended;
    struct hfi_op *op; /* NULL once it is freed */
    int64_t by_ms;     /* it has to end until then, on its client's clock */
    int64_t fence_ms;  /* and so long after its process goes on; 0: no more */
    int64_t open_us;   /* of one that spins: nothing here is in its way since */
    bool queued;       /* it has its place among those that wait */
    bool reentry;
    unsigned levels;  /* of an import */
    unsigned changes; /* of the number of permits: how often it was done */
    bool excused;     /* the server may have forgotten that it was */
    bool ended;
    hf_status status;
    char message[256];
    void (*done)(struct sim_call *call);
};

/* What an owner believes of a lock. */
struct sim_belief {
    unsigned levels;
    unsigned lost;                /* levels of a lost hold to account for */
    bool told_lost;               /* by a notice, of this hold */
    struct sim_identity id;       /* of the hold */
    int64_t token;                /* of the hold, if it is fenced */
    char permit[HFI_PERMIT_TEXT]; /* its id */
};

struct sim_owner {
    struct sim_client *client;
    size_t index;
    struct hfi_owner *owner;
    struct sim_belief beliefs[SIM_NAMES][SIM_ROLES];
    struct sim_call *call; /* the newest that has not ended */
    unsigned calls;        /* that have not ended: one runs, others wait */
    int busy_with;         /* crowd.c */
};

const struct hfi_kind *sim_kind_of(const struct sim_ask *ask);
size_t sim_role_of(const struct hfi_kind *kind);
/* The kind of a role of a sort; NULL: it has no such role. */
const struct hfi_kind *sim_kind_in(enum sim_sort sort, size_t role);
struct sim_belief *sim_belief_of(const struct sim_call *call);
/* All its levels of a name, of both roles. */
unsigned sim_levels(const struct sim_owner *owner, int lock);
struct sim_owner *sim_owner_new(struct sim_client *client);
struct sim_call *sim_ask(struct sim_owner *owner, const struct sim_ask *ask,
                         void (*done)(struct sim_call *call));
void sim_cancel(struct sim_call *call);
void sim_call_ended(struct sim_client *client, struct hfi_op *op);
void sim_free_ended(struct sim_client *client);
void sim_notice(struct sim_client *client, struct hfi_terms *terms);
void sim_owner_gone(struct sim_owner *owner);
/* Let the server have seen every script of a hold's life. */
void sim_scripts_known(struct sim_client *client);

/* ---- crowd.c ---- */
void sim_crowd_begin(struct sim_world *world);
/* A random history from its first call to its last; false: it is broken. */
bool sim_history(struct sim_world *world);

/* ---- faults.c ---- */
#define SIM_FAULT_MAP(X)                                                       \
    X(LOST_REQUEST, "requests lost on the way")                                \
    X(LOST_REPLY, "answers lost on the way")                                   \
    X(SLOW, "held up beyond the limits")                                       \
    X(RESET, "connection cut")                                                 \
    X(LATE, "old bytes that came late")                                        \
    X(DEAF, "message lost")                                                    \
    X(PUBSUB_ONLY, "commands cut, messages work")                              \
    X(SERVER_EMPTY, "server restarted empty")                                  \
    X(SERVER_KEPT, "server restarted with its data")                           \
    X(SERVER_FORGOT, "server restarted, last writes forgotten")                \
    X(SERVER_PAUSED, "server paused")                                          \
    X(SCRIPT_FLUSH, "SCRIPT FLUSH")                                            \
    X(KILLED, "process killed")                                                \
    X(PAUSED, "process paused")                                                \
    X(CLOSED, "client closed")                                                 \
    X(OWNER_GONE, "owner gone")                                                \
    X(CLOCK_STEP, "server's clock stepped")                                    \
    X(FORCED, "forced unlock")                                                 \
    X(DELETED, "lock deleted")                                                 \
    X(FLUSHED, "FLUSHALL")                                                     \
    X(FOREIGN, "foreign key under the name")                                   \
    X(JAVA_READS, "a Java program reads, and its watchdog sets TTLs")          \
    X(JAVA_QUEUES, "a Java program stands in the queue of a fair lock")

enum sim_fault {
#define SIM_FAULT_ENUM(name, text) SIM_##name,
    SIM_FAULT_MAP(SIM_FAULT_ENUM)
#undef SIM_FAULT_ENUM
        SIM_FAULTS
};

const char *sim_fault_text(enum sim_fault fault);
void sim_count_fault(struct sim_world *world, enum sim_fault fault);
void sim_server_kill(struct sim_world *world, int64_t for_ms);
void sim_server_stop(struct sim_world *world, int64_t for_ms); /* SIGSTOP */
void sim_server_lose_all(struct sim_world *world, int64_t for_ms);
void sim_server_forget(struct sim_world *world, size_t writes, int64_t for_ms);
void sim_flush_all(struct sim_world *world);
void sim_clock_step(struct sim_world *world, int64_t ms);
void sim_delete(struct sim_world *world, int lock);
void sim_foreign(struct sim_world *world, int lock, int64_t for_ms);
/* What is wrong now is over, and nothing goes wrong any more. */
void sim_fair_weather(struct sim_world *world);
void sim_faults_begin(struct sim_world *world);

/* ---- queue.c: of a fair lock ---- */
void sim_queue_read(struct sim_world *world, struct sim_lock *lock);
void sim_queue_before(const struct sim_world *world, int lock);
void sim_queue_ran(struct sim_world *world, const struct sim_mark *mark,
                   bool granted, bool swept);
void sim_queue_check(struct sim_world *world, const struct sim_lock *lock);

/* ---- permits.c ---- */
void sim_permits_read(struct sim_world *world, struct sim_lock *lock,
                      struct sim_key *key);
void sim_permits_ran(struct sim_world *world, const struct sim_mark *mark,
                     const struct sim_image *before);
bool sim_permits_open(const struct sim_lock *lock); /* one can be had */
void sim_permits_told(struct sim_call *call, bool changed);
void sim_permits_are_back(struct sim_world *world, const struct sim_lock *lock);

/* ---- java.c ---- */
/* A Java program takes a read lock; false: it cannot. */
bool sim_java_reads(struct sim_world *world, int lock, int64_t for_ms);

/* ---- java_fair.c ---- */
/* A thread of a Java program wants a fair lock; false: it cannot. */
bool sim_java_waits(struct sim_world *world, int lock, int64_t patience_ms,
                    int64_t hold_ms);
void sim_java_is_killed(struct sim_world *world, int lock); /* it waits */
bool sim_is_javas(const char *owner, size_t len);

/* ---- book.c, oracle.c ---- */
struct sim_shadow *sim_shadow_of(struct sim_world *world, size_t client,
                                 uint64_t n);
void sim_book_free(struct sim_client *client);
/* The server forgets, or was told to: what there is of this lock (-1: of all)
 * may be given away early. */
void sim_excuse(struct sim_world *world, int lock, const char *why);
void sim_excuse_copies(struct sim_world *world);
uint64_t sim_oracle_sending(struct sim_link *link, const struct hfi_copy *copy);
/* Its link is gone: it will not be answered. */
void sim_oracle_gone(struct sim_client *client, const struct hfi_copy *copy);
void sim_oracle_before(struct sim_world *world, const struct sim_mark *mark);
void sim_oracle_ran(struct sim_world *world, struct sim_wire *wire,
                    const struct sim_mark *mark);
void sim_oracle_never(struct sim_world *world, const struct sim_mark *mark);

/* A copy that is answered, kept for after the core has seen the answer. */
struct sim_answered {
    enum hfi_request request;
    bool had_op;
    enum hfi_value_kind kind;
    size_t count;
    struct sim_identity id[HFI_BATCH_MAX];
    bool nil[HFI_BATCH_MAX];
    int64_t fixed[HFI_BATCH_MAX];
    uint32_t levels; /* before the answer was seen; of one number */
    uint64_t keep;
};
void sim_oracle_answer(struct sim_client *client, const struct hfi_copy *copy,
                       const struct hfi_value *value, uint64_t keep,
                       struct sim_answered *ret_answered);
void sim_oracle_answered(struct sim_client *client,
                         const struct sim_answered *answered);
void sim_images_read(struct sim_world *world);
/* The fencing token as it stands there; 0: none. */
int64_t sim_token(struct sim_world *world, int lock);
/* The field of a number, or NULL. */
const struct sim_field *sim_field_of(const struct sim_image *image,
                                     struct sim_identity id);
int sim_lock_of(const struct sim_world *world, const void *name, size_t bytes);

/* ---- invariants.c ---- */
void sim_invariants(struct sim_world *world);
/* When all is over: nothing is left. */
void sim_nothing_remains(struct sim_world *world);

/* ---- waits.c ---- */
void sim_check_calls(struct sim_client *client);

/* ---- told.c ---- */
void sim_check_refused(const struct sim_call *call);
void sim_check_call(struct sim_call *call);
void sim_check_lost(struct sim_owner *owner, int lock, size_t role,
                    hf_lost_reason reason);

#endif
