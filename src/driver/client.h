/* SPDX-License-Identifier: MIT */
/* driver/client.h - a client from the inside; shared by driver/ and api/.
 *
 * One mutex per client guards the core, the links' buffers and queues, and the
 * lists of callbacks.  It is never held over a system call that can block, nor
 * over a user's code.  docs/design/driving.md tells how the pieces play
 * together.
 *
 *   link.c       a connection: out, in, calls in flight, its end
 *   connect.c    making connections: the keeper's work alone
 *   drive.c      whoever waits, drives
 *   drive_async.c  and the thread of callbacks, for calls without a thread
 *   news.c     and reads the messages, if it alone counts on them
 *   keeper.c     the background thread
 *   effects.c    carrying out what the core decided
 *   callbacks.c  running users' callbacks
 *   tasks.c      what is done outside of the mutex, soon or at a time
 *   threads.c    who the calling thread is; forks
 */
#ifndef HFI_DRIVER_CLIENT_H
#define HFI_DRIVER_CLIENT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/buffer.h"
#include "base/url.h"
#include "holdfast/holdfast.h"
#include "net/resolve.h"
#include "net/socket.h"
#include "net/wake.h"
#include "redis/channels.h"
#include "redis/command.h"
#include "redis/handshake.h"
#include "redis/reply.h"
#include "sync/core.h"

#define HFI_LINK_PUBSUB HFI_COMMAND_LINKS
#define HFI_LINKS (HFI_COMMAND_LINKS + 1)

enum hfi_link_state {
    HFI_LINK_DOWN,
    HFI_LINK_CONNECTING, /* the socket is on its way */
    HFI_LINK_GREETING,   /* connected; the handshake is unanswered */
    HFI_LINK_UP,
    HFI_LINK_STATES
};

/* Who does a link's reading and writing. */
enum hfi_driver { HFI_NOBODY, HFI_WAITER, HFI_KEEPER };

/* A copy on its way: in the order in which replies come. */
struct hfi_call {
    struct hfi_copy *copy;
    uint64_t start; /* its first byte's place in all that was appended */
};

struct hfi_link {
    struct hf_client *client;
    size_t id;
    enum hfi_link_state state;
    int fd;
    /* Appended by anybody, under the mutex. */
    struct hfi_buffer out;
    /* Being written by the driver or a guest of its, without the mutex. */
    struct hfi_buffer sending;
    size_t sent; /* bytes of `sending` that are written */
    uint64_t appended;
    uint64_t written; /* of `appended`, so many bytes reached the kernel */
    struct hfi_reader *reader; /* the driver's */
    struct hfi_call *calls;    /* ring of calls in flight */
    size_t call_first, call_count, call_capacity;
    struct hfi_copy *joining; /* wait for others until the link is written */
    size_t joining_count;
    struct hfi_copy *refused; /* copies that found no memory */
    int64_t heard_ms;         /* the newest byte, or the first call owed */
    int64_t pinged_ms;
    enum hfi_driver driver;
    struct hfi_waiter *driving; /* of an HFI_WAITER */
    struct hfi_wake wake;       /* for a waiter that drives, in poll */
    bool asleep;                /* the driver is in poll, or going there */
    bool woken;
    bool hosts; /* an HFI_WAITER's: others may write as its guests (drive.c) */
    bool writing; /* a waiter is at it: `sending` and `sent` are its own */
    bool in_use;  /* the driver writes or reads this moment */
    bool full;    /* so much waits in `out` that no more is appended */
    bool more;    /* the driver's: more was read, or is there, than was parsed;
                   * what the reader has already, no poll tells of */
    bool was_up;
    int64_t left_ms; /* nobody's since then, with answers owed that nobody waits
                      * for (drive_many.c); 0: not so */
    struct hfi_handshake handshake;
    int64_t connect_by_ms;
    int64_t retry_at_ms;
    int64_t last_try_ms;
    int64_t up_since_ms;
    int64_t greeted_at_ms;
    unsigned failures;
    size_t address;          /* the next of the client's addresses to try */
    struct hfi_address peer; /* the one that was tried last */
    unsigned gathered;       /* calls in `out` */
    unsigned room;           /* where their threads sleep */
    unsigned sleepers;       /* so many went there */
    size_t company;          /* replies that the last reading brought */
    unsigned spin_misses;    /* looks in vain, in a row */
    unsigned spin_skips;     /* chances to look that are let pass */
};

/* Where threads sleep: a futex's word, and which of its sleepers (park.c). */
struct hfi_bed {
    atomic_uint *word;
    unsigned bits;
};

/* Whose sleepers are to be woken. */
#define HFI_BEDS_MAX 64
struct hfi_beds {
    struct hfi_bed each[HFI_BEDS_MAX];
    size_t count;
};

/* A thread that waits for a call; one for each thread (park.c). */
struct hfi_waiter {
    struct hfi_waiter *next; /* in the pool */
    atomic_bool called;      /* there is a reason to wake, since it parked */
    atomic_bool done;        /* the call has ended; its result is there */
    atomic_uint own;         /* the word of a bed of its own */
    bool disturbed; /* its thread's: it was woken for nothing in this call */
    /* Under the client's mutex: */
    struct hfi_bed bed; /* where it sleeps */
    bool parked;        /* sleeps, or is going to */
    bool chosen;        /* is to drive the main link; never once it is done */
    struct hfi_op *op;
    /* For one that drives several links; see drive_many.c. */
    struct hfi_wake wake; /* -1: not made yet */
    unsigned wake_of;     /* the generation of forks that made it */
    int64_t due_ms;       /* its thread's: `task` is due then */
    struct hfi_task *task;
};

/* What is to be done as soon as the client's mutex is released, by whoever
 * releases it.  It may enter any client, and must not block. */
struct hfi_task {
    struct hfi_task *next;
    atomic_bool listed; /* until it begins to run */
    bool (*ref)(
        struct hfi_task *task); /* it becomes due; false: not any more */
    void (*run)(struct hfi_task *task);
};

/* A task that becomes due at a time, or when the client closes. */
struct hfi_timer {
    struct hfi_timer *prev, *next;
    int64_t at_ms; /* INT64_MAX: at no time */
    struct hfi_task *task;
};

/* What waits to be run on the user's behalf.  An op's is made with the call. */
typedef void (*hfi_counted_fn)(void);
struct hfi_async {
    struct hfi_async *prev, *next;
    void (*run)(struct hfi_async *async); /* a group's; NULL: a lock's */
    uint64_t order;
    struct hf_client *client;
    hf_lock *lock;
    hf_owner *owner;
    bool owner_is_new;
    hf_done_fn done;
    /* Not a lock's: calls `counted`, which is of the type that it knows. */
    void (*tell)(const struct hfi_async *async);
    hfi_counted_fn counted;
    void *context;
    bool changed;
    int64_t count;
    char id[33]; /* of a permit; "": none */
    hf_status status;
    hf_error error;
};

/* Who waits for an op: a thread, a callback, or (with `ended`) a group, which
 * is told under the client's mutex and leaves it alone.  One without an op
 * waits for its token only. */
struct hfi_user {
    struct hfi_user *prev, *next; /* of those that have a token */
    struct hfi_op *op;
    void (*ended)(struct hfi_user *user, struct hfi_op_result *result);
    atomic_bool late; /* a group's: it has what it needs without this one */
    struct hfi_task *fired;    /* without an op: due when the token is fired */
    struct hf_cancel *cancel;  /* NULL: none */
    struct hfi_waiter *waiter; /* NULL: a callback */
    struct hfi_op_result *ret_result; /* a thread's; filled in at the end */
    struct hfi_async *async;          /* NULL: a thread */
};

struct hfi_callbacks {
    struct hfi_async *ended;   /* calls that have ended, in order */
    struct hfi_terms *notices; /* news of leases, in order */
    uint64_t order;            /* of the newest of both */
    bool fire;
    struct hfi_wake due; /* readable while there is one; -1: none */
    bool by_dispatch;    /* hf_client_fd() was called */
    bool running;        /* the thread was started */
    bool stop;
    pthread_t thread;
    pthread_cond_t cond;
    /* The thread drives the main link for the calls whose callbacks it runs
     * (drive_async.c). */
    struct hfi_waiter waiter; /* its own; done: there is something to run */
    bool drives;              /* it may be given the link */
    bool idle;                /* it sleeps, and does not drive */
    bool away;                /* it runs users' code */
    int64_t away_since_ms;
};

struct hf_client {
    atomic_uint refs;    /* the client itself, its locks, owners, tokens */
    unsigned generation; /* of forks, when it was opened */
    pthread_mutex_t mutex;
    pthread_cond_t quiet;          /* closing: something ended */
    struct hf_client *prev, *next; /* of all clients */
    struct hfi_url url;
    char *password;
    char uuid[37];
    char server[320];
    hf_options options;
    struct hfi_core *core;
    struct hfi_link links[HFI_LINKS];
    struct hfi_channels *channels;
    struct hfi_command scratch;
    struct hfi_address addresses[HFI_RESOLVE_MAX];
    size_t address_count;
    struct hfi_resolver *resolver;
    bool resolving;
    int64_t resolve_by_ms; /* longer is not waited for an address */
    uint64_t random;
    struct hfi_wake wake; /* the keeper's */
    pthread_t keeper;
    bool keeper_runs;
    bool keeper_asleep;
    bool keeper_polls_news; /* it polls the pub/sub link */
    bool keeper_woken;
    int64_t keeper_until_ms; /* it sleeps so long */
    bool stop;
    bool closing;
    bool opened;
    hf_error open_error; /* why the newest connection could not be made */
    size_t inside;       /* threads in a call */
    struct hfi_beds to_wake;
    struct hfi_user *cancellable; /* calls that have a token */
    atomic_bool cancel_fired;
    bool fire_keeper; /* wake-ups that are due when the mutex is released */
    bool fire_main;
    struct hfi_callbacks callbacks;
    struct hfi_task *tasks; /* due; newest first */
    struct hfi_timer *timers;
    int64_t reconnects;
    int64_t writes;
};

struct hf_cancel {
    struct hf_client *client;
    atomic_bool fired;
};

struct hf_owner {
    struct hf_client *client;
    struct hfi_owner *owner; /* a reference; gone when the client is closed */
    uint64_t id;             /* its own, in whatever client */
};

struct hf_lock {
    struct hf_client *client;
    const struct hfi_kind *kind;
    struct hfi_kind_options *options; /* or NULL */
    size_t calls; /* under the client's mutex: calls that run with it */
    size_t name_bytes;
    char name[];
};

/* ---- client.c ---- */
void hfi_client_ref(struct hf_client *client);
void hfi_client_unref(struct hf_client *client);
void hfi_client_lock(struct hf_client *client);
/** Unlock, and then wake whom the time under the lock has found done. */
void hfi_client_unlock(struct hf_client *client);
/** Enter for a call: refused in a forked child, when closing, and, for what
 *  blocks, in a callback of this client.  Locked if HF_OK. */
hf_status hfi_client_enter(struct hf_client *client, bool blocks,
                           hf_error *reterr);
void hfi_client_leave(struct hf_client *client);
/** The same with the mutex held on. */
void hfi_client_left(struct hf_client *client);

/** Copy an options struct of the caller's version: what it has, and our
 *  defaults for the rest.  false: its size is none, or it sets fields that this
 *  version does not know. */
bool hfi_options_read(const void *in, size_t in_bytes, void *own,
                      size_t own_bytes);

/* ---- park.c ---- */
/** The calling thread's waiter, ready for a call; NULL: out of memory. */
struct hfi_waiter *hfi_waiter_mine(void);
void hfi_waiter_give_back(void);
/** The calling thread's waiter is this one. */
bool hfi_waiter_is_mine(const struct hfi_waiter *waiter);
/** It is going to drive several links; false: no descriptor. */
bool hfi_waiter_drives_many(struct hfi_waiter *waiter, struct hfi_task *task);
/** A waiter that drives several links (drive_many.c) has what it waits for. */
void hfi_waiter_done(struct hfi_waiter *waiter);
/** It is going to sleep: beside the others whose calls are in the output of
 *  @p link, or alone (NULL).  The mutex is held. */
void hfi_waiter_park(struct hfi_waiter *waiter, struct hfi_link *link);
/** Sleep until woken, or for nothing; without the client's mutex. */
void hfi_waiter_sleep(struct hfi_waiter *waiter);
/** Wake it when the client's mutex is released. */
void hfi_waiter_wake_later(struct hf_client *client, struct hfi_waiter *waiter);
void hfi_beds_wake(const struct hfi_beds *beds);
/** A room for the threads of one batch. */
unsigned hfi_room_next(void);
void hfi_waiters_before_fork(void);
void hfi_waiters_after_fork(void);

/* ---- effects.c ---- */
/** Carry out what the core left; the mutex is held. */
void hfi_settle(struct hf_client *client, int64_t now);

/* ---- link.c ---- */
void hfi_link_init(struct hf_client *client, size_t id);
void hfi_link_fini(struct hfi_link *link);
void hfi_link_move_to(struct hfi_link *link, enum hfi_link_state next);
/** Append a copy's command and remember the call. */
void hfi_link_append(struct hfi_link *link, struct hfi_copy *copy, int64_t now);
/** The driver has something to write, or is to look around: wake it. */
void hfi_link_nudge(struct hfi_link *link);
/** Take what was appended, to write it without the mutex; nobody else may be
 *  writing.  false: nothing. */
bool hfi_link_take_output(struct hfi_link *link);
/** Write what was taken, without the mutex.  false: the link is broken. */
bool hfi_link_write(struct hfi_link *link);
/** Account for what was written; the mutex is held. */
void hfi_link_wrote(struct hfi_link *link, int64_t now);
bool hfi_link_has_output(const struct hfi_link *link);

/* What one reading brought, parsed without the mutex. */
#define HFI_BATCH_OF_VALUES 128
struct hfi_input {
    struct hfi_value values[HFI_BATCH_OF_VALUES];
    size_t count;
    size_t bytes; /* how many were read */
    bool broken;  /* end of file, error, or not the protocol */
    hf_status why;
    int sys_errno;
};
void hfi_link_read(struct hfi_link *link, struct hfi_input *ret_input);
/** Whether the driver may look for an answer without sleeping; the mutex is
 *  held.  Then it looks without the mutex (true: it found something), and says
 *  with it what came of it. */
bool hfi_link_may_spin(struct hfi_link *link);
bool hfi_link_spin(struct hfi_link *link, struct hfi_input *ret_input);
void hfi_link_spun(struct hfi_link *link, bool found);
/** Hand what was read to the core; the mutex is held. */
void hfi_link_deliver(struct hfi_link *link, struct hfi_input *input,
                      int64_t now);
/** The link is of no use: give its copies back and close it.  Its driver only,
 *  the mutex is held. */
void hfi_link_tear_down(struct hfi_link *link, int64_t now);
/** When it counts as dead: it owes answers and sends nothing. */
int64_t hfi_link_dead_at(const struct hfi_link *link);
bool hfi_link_owes(const struct hfi_link *link);
/** Ask an idle pub/sub link for a sign of life, if it is time. */
void hfi_link_ping(struct hfi_link *link, int64_t now);

/* ---- connect.c: the keeper only ---- */
void hfi_connect_step(struct hf_client *client, int64_t now);
void hfi_connect_writable(struct hfi_link *link, int64_t now);
void hfi_connect_greeted(struct hfi_link *link, int64_t now);
void hfi_connect_failed(struct hfi_link *link, int64_t now);
/** A link that was up is gone: when to make it again. */
void hfi_connect_lost(struct hfi_link *link, int64_t now);
int64_t hfi_connect_due(const struct hf_client *client);
/** A call needs a link: a pause before the next try is cut short. */
void hfi_connect_wanted(struct hf_client *client, int64_t now);

/* ---- drive.c ---- */
/** Wait for the waiter's call, driving the main link meanwhile if nobody else
 *  does.  The mutex is held before, and not after: then the client may be
 *  closed at any moment, for whoever ended the call has left it (effects.c). */
void hfi_drive(struct hf_client *client, struct hfi_waiter *waiter);
/** The main link has no driver, or another is to be found for it. */
void hfi_pass_main_link_on(struct hf_client *client);

/** One turn of the main link's driver: write, poll, read, deliver.  The mutex is
 *  held before and after, and released in between. */
void hfi_drive_turn(struct hf_client *client, struct hfi_waiter *waiter);
/** Write what has gathered, if it is enough, as a guest of the link's driver.
 *  The mutex is held before and after, and released in between. */
void hfi_write_as_guest(struct hf_client *client);
/** The main link owes an answer, or has something to send. */
bool hfi_main_link_owes(const struct hf_client *client);
/** Nobody drives the main link, or its driver is busy elsewhere, and whoever
 *  wants to drive takes it.  The mutex is held. */
bool hfi_main_link_is_free(const struct hf_client *client);

/* ---- drive_async.c ---- */
/** Wait until there is a callback to run, driving the main link meanwhile if
 *  nobody else does.  For the thread of callbacks, which holds the mutex. */
void hfi_drive_async(struct hf_client *client);
/** It begins to run users' code.  The mutex is held. */
void hfi_async_away(struct hf_client *client);
/** There is something to run, or a reason to look around.  The mutex is held. */
void hfi_async_wake(struct hf_client *client);
/** Nobody else is to drive the main link: may the thread of callbacks?  If so it
 *  does.  The mutex is held. */
bool hfi_async_takes_over(struct hf_client *client);
/** It has the main link, and is busy elsewhere. */
bool hfi_async_is_away(const struct hf_client *client);
/** When the keeper takes the link from it. */
int64_t hfi_async_due(const struct hf_client *client);

/* ---- drive_many.c ---- */
/* So many clients' links at most; their keepers drive the others. */
#define HFI_DRIVES_MAX 32
/** Wait for hfi_waiter_done(), driving the main links that the waiter has
 *  claimed: only the first HFI_DRIVES_MAX clients' are its to claim.  No mutex
 *  is held. */
void hfi_drive_many(struct hf_client *const *clients, size_t count,
                    struct hfi_waiter *waiter);
/** If nobody drives the main link, and something is to be done with it, the
 *  waiter will: it is the calling thread's, or nothing happens.  The mutex is
 *  held. */
void hfi_claim_main_link(struct hf_client *client, struct hfi_waiter *waiter);

/* ---- news.c ---- */
/** Who is to read the messages?  The mutex is held. */
void hfi_news_choose_driver(struct hf_client *client);
/** What the waiter, which drives the main link, has to poll besides. */
struct hfi_news_poll {
    int fd; /* -1: nothing, the pub/sub link is not its to drive */
    short events;
    bool more; /* what was read from it already is to be looked at */
};
struct hfi_news_poll hfi_news_to_poll(const struct hf_client *client,
                                      const struct hfi_waiter *waiter);
/** Write what the pub/sub link has to send, or read what it brought, if it is
 *  the waiter's to drive.  The mutex is held before and after. */
void hfi_news_write(struct hf_client *client, const struct hfi_waiter *waiter);
void hfi_news_read(struct hf_client *client, const struct hfi_waiter *waiter);

/** The main link is nobody's, and whose answers are still to come waits for
 *  them no more: when the keeper looks after it. */
int64_t hfi_left_due(const struct hf_client *client);

/* ---- keeper.c ---- */
hf_status hfi_keeper_start(struct hf_client *client, hf_error *reterr);
void hfi_keeper_nudge(struct hf_client *client);
/** It has to look around by then: if it means to sleep longer, wake it. */
void hfi_keeper_by(struct hf_client *client, int64_t at_ms);
/** When the keeper has to look around again. */
int64_t hfi_keeper_due(const struct hf_client *client, int64_t now);
void hfi_keeper_stop(struct hf_client *client);
void hfi_client_fire_cancels(struct hf_client *client, int64_t now);

/* ---- callbacks.c ---- */
hf_status hfi_callbacks_init(struct hf_client *client, hf_error *reterr);
void hfi_callbacks_add_ended(struct hf_client *client, struct hfi_async *async);
void hfi_callbacks_add_notice(struct hf_client *client,
                              struct hfi_terms *terms);
/** Make sure that somebody will run them; the mutex is held. */
void hfi_callbacks_need_thread(struct hf_client *client);
/** Some are due, and the thread that is to run them could not be started. */
bool hfi_callbacks_stranded(const struct hf_client *client);
size_t hfi_callbacks_run(struct hf_client *client);
/** Run what is left and end the thread; the mutex is not held. */
void hfi_callbacks_close(struct hf_client *client);
void hfi_callbacks_free(struct hf_client *client);
bool hfi_in_callback_of(const struct hf_client *client);

/* ---- tasks.c ---- */
/** Have it run when the mutex, which is held, is released. */
void hfi_task_due(struct hf_client *client, struct hfi_task *task);
/** Run what was due; no mutex is held. */
void hfi_tasks_run(struct hfi_task *newest_first);
/** A timer of this client; the mutex is held for all of these. */
void hfi_timer_add(struct hf_client *client, struct hfi_timer *timer);
void hfi_timer_remove(struct hf_client *client, struct hfi_timer *timer);
void hfi_timer_set(struct hf_client *client, struct hfi_timer *timer,
                   int64_t at_ms);
int64_t hfi_timers_due(const struct hf_client *client);
/** Those that are due; or all of them, for the client closes. */
void hfi_timers_fire(struct hf_client *client, int64_t now);

/* ---- threads.c ---- */
void hfi_threads_init(void);
/** The calling thread's number as an owner, never used again after it. */
uint64_t hfi_thread_owner_id(void);
uint64_t hfi_owner_id_new(void);
/** The calling thread has something that its end concerns. */
void hfi_thread_will_end(void);
unsigned hfi_fork_generation(void);
void hfi_clients_add(struct hf_client *client);
void hfi_clients_remove(struct hf_client *client);

#endif
