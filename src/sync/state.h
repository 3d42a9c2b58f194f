/* SPDX-License-Identifier: MIT */
/* sync/state.h - what the core remembers; shared by the files of sync/ only.
 *
 * hfi_name    a lock's name while anything concerns it: the waiters of this
 *             client for it (a FIFO), its numbers, its subscription.
 * hfi_owner   a thread or an explicit owner: its numbers and its calls.
 * hfi_number  one outermost acquisition, the `n` of "uuid:n": from its first
 *             ACQUIRE until nothing of it can be left on the server.
 * hfi_op      one call of a user.
 *
 * The words are those of docs/design/late-copies.md.
 */
#ifndef HFI_SYNC_STATE_H
#define HFI_SYNC_STATE_H

/* A hash table that cannot grow says so, and the call fails with HF_NOMEM. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>
#include <utlist.h>

#include "base/heap.h"
#include "base/zeroed.h"
#include "scripts_data.h"
#include "sync/core.h"
#include "sync/kinds/kind.h"

#define HFI_NEVER INT64_MAX

/* What of a lease is not believed: a thousandth, for clocks that run at
 * different rates (quartz is good to 0.01 %), and 2 ms for the rounding of two
 * clocks that count whole milliseconds. */
#define HFI_MARGIN_PARTS 1000
#define HFI_MARGIN_MS 2

/* A lease is renewed when a third of it has passed, so that two renewals may
 * be lost before anybody else can have the lock; retried at a tenth. */
#define HFI_RENEW_PARTS 3
#define HFI_RETRY_PARTS 10

/* When its link goes under it, a renewal is tried again after a fortieth, and
 * 100 ms at most. */
#define HFI_GONE_PARTS 40
#define HFI_GONE_PAUSE_MAX_MS 100

/* The period to which a Java reader's watchdog sets a lock, unless its
 * configuration has another. */
#define HFI_FOREIGN_WATCHDOG_MS 30000

/* A renewed lease of which half has passed unanswered is suspect: a renewal
 * was due, and at least one more try after it. */
#define HFI_SUSPECT_PARTS 2

/* Renewals that are due within a twentieth of their period go along with one
 * that is due now: so they travel in batches. */
#define HFI_BATCH_WINDOW_PARTS 60

/* Copies and calls that are kept for the next ones; more are given back to the
 * allocator.  None where AddressSanitizer has to see the use of one that is
 * over. */
#if defined(__SANITIZE_ADDRESS__)
#define HFI_COPY_POOL_MAX 0
#define HFI_OP_POOL_MAX 0
#else
#define HFI_COPY_POOL_MAX 256
#define HFI_OP_POOL_MAX 64
#endif

/* How long an ACQUIRE of a waiting call may run on the server at least: shorter
 * and the end of a wait would refuse grants for nothing. */
#define HFI_NOT_AFTER_MIN_MS 100

/* A waiter in the server's queue says at least two and a half times that it
 * lives, in the time after which it counts as dead: two of its requests may be
 * lost. */
#define HFI_ALIVE_NUMERATOR 5
#define HFI_ALIVE_DENOMINATOR 2

/* Who left another client's waiter first in a queue of both ours and others'
 * looks again when that one would be dead; so often at most. */
#define HFI_LOOKS_MAX 3

/* After a refusal ("not now") a request pauses, twice as long each time. */
#define HFI_PAUSE_FIRST_MS 20
#define HFI_PAUSE_MAX_MS 1000

/* For so long after its not_after the server keeps what a request of a count
 * was answered: longer than any copy lies in a socket's buffer. */
#define HFI_WINDOW_MS 600000

/* Records that nobody will read again, and that the next requests delete: the
 * threads that end a request at one moment.  More are left to their TTL. */
#define HFI_OLD_KEPT 64

/* What waits for the answer to a bare renewal looks again after that. */
#define HFI_BARE_PAUSE_MS 5

/* All waiters of a client together ask again so often a second at most. */
#define HFI_RETRIES_PER_SECOND 500

enum number_state {
    NUMBER_TRYING,    /* an attempt is made with it */
    NUMBER_HELD,      /* ours */
    NUMBER_LOST,      /* was ours; its owner has levels to account for */
    NUMBER_RELEASING, /* RELEASE was sent */
    NUMBER_OVER,      /* nothing is believed of it any more */
    NUMBER_STATES
};

enum end_state {
    END_NONE,    /* no End was begun */
    END_PENDING, /* an UNDO is due, at the number's timer or when a link is */
    END_SENT,    /* an UNDO is unanswered */
    END_FINAL,   /* no copy of it can run any more */
    END_STATES
};

/* One hold in a nest of re-entries. */
struct level {
    int64_t lease_ms;
    int64_t deadline_ms;
    bool renewed;
};

struct hfi_number {
    uint64_t n;
    const struct hfi_kind *kind;
    struct hfi_name *name;
    struct hfi_owner *owner; /* NULL once nothing is owed to it */
    struct hfi_number *name_prev, *name_next;
    struct hfi_number *owner_prev, *owner_next;
    struct hfi_heap_node timer;   /* deadline, suspicion, warning; or UNDO */
    struct hfi_heap_node renewal; /* the next RENEW */
    /* Small, in order: a lease is to cost little memory. */
    uint8_t state;       /* enum number_state */
    uint8_t end;         /* enum end_state */
    uint8_t lost_reason; /* hf_lost_reason */
    bool suspect;
    bool renew_tried;     /* since the newest that was answered */
    bool renew_elsewhere; /* the next goes on the other link */
    bool warned;          /* of max_hold */
    bool linkless;        /* its UNDO waits for a link */
    bool alone;           /* its batch was refused: it goes by itself */
    bool announced;       /* a waiter's trace of it may be on the server */
    uint8_t looks;        /* UNDOs that only look after the queue, sent */
    uint32_t unanswered;  /* ACQUIRE copies sent and not answered, for ever */
    uint32_t bare;        /* bare renewals sent and not answered, for ever */
    uint32_t in_flight;   /* copies of any kind that the driver has */
    uint32_t lost_levels;
    uint32_t level_count;
    struct level first;  /* the outermost level */
    struct level *inner; /* the others, level_count - 1 of them */
    int64_t held_since_ms;
    union {
        int64_t
            renewed_at_ms; /* held: the newest answered extension's sending */
        int64_t end_give_up_ms; /* ending: longer it is not undone */
    };
    int64_t cap_ms;            /* not believed beyond; HFI_NEVER: no limit */
    int64_t last_not_after_ms; /* last(n), server time */
    int64_t longest_lease_ms;  /* ever sent */
    int64_t quiet_since_ms;    /* the newest copy was sent */
    struct hfi_terms *terms;   /* may be NULL */
    char *foreign;             /* an imported number's field, or NULL */
    const void *lock;          /* the caller's lock object */
    struct hfi_kind_options *options; /* may be NULL */
    union {
        int64_t token;             /* of a fenced kind */
        int64_t amount;            /* of a TAKE */
        struct hfi_permit *permit; /* of a kind with ids */
    };
};

/* What a number has beside when its kind knows holds by ids. */
struct hfi_permit {
    UT_hash_handle hh; /* in the core's table, by `n` */
    uint64_t n;
    struct hfi_number *number;
    bool leaving; /* a call asks the server to take it back, with others */
    uint32_t cuts_unanswered; /* for ever, perhaps */
    int64_t cut_order;        /* the newest copy; 0: there was none */
    int64_t cut_clean_order;  /* what is sent after this: all are answered */
    int64_t cut_not_after_ms; /* server time: the last of theirs */
};

enum op_state {
    OP_NEW,
    OP_TURN,        /* an earlier call of this owner on this name runs */
    OP_QUEUED,      /* behind other waiters of this client */
    OP_LOCAL,       /* first of them; another owner of this client holds it */
    OP_BUNDLED,     /* goes along with another of its bundle */
    OP_LINKLESS,    /* has something to send, and no link */
    OP_SENT,        /* a copy is unanswered, and may be answered */
    OP_SUBSCRIBING, /* busy; waits for the subscription */
    OP_WAITING,     /* busy, subscribed: waits for news */
    OP_PAUSED,      /* refused for now; tries again at its timer */
    OP_DONE,
    OP_STATES
};

struct hfi_op {
    struct hfi_op_request ask; /* `name`, `field` ... point into own memory */
    const struct hfi_kind *kind;
    enum op_state state;
    struct hfi_op *name_prev, *name_next;   /* the name's FIFO, or its crowd */
    struct hfi_op *owner_prev, *owner_next; /* the owner's calls, or nobody's */
    struct hfi_op *link_prev, *link_next;   /* without a link; next; ended */
    bool in_fifo;
    bool in_crowd;
    bool linkless;
    bool behind;             /* in the server's queue others are first */
    bool woken;              /* a message came while an attempt was under way */
    bool stranger;           /* who holds it publishes nothing */
    bool heard;              /* subscribed when the attempt was sent */
    bool earlier_unanswered; /* a copy of this request went unanswered */
    struct hfi_name *name;   /* NULL for SCAN */
    struct hfi_listener *listener; /* its own, or NULL */
    struct hfi_bundle *bundle;     /* that it belongs to until it is over */
    struct hfi_number *number;
    struct hfi_copy *copy; /* the one that is unanswered, in OP_SENT */
    struct hfi_heap_node timer;
    int64_t give_up_ms;
    int64_t pause_ms;
    int64_t busy_ttl_ms;
    int64_t alive_ms; /* in the server's queue, as its newest copy said */
    int64_t sent_at_ms;
    uint32_t resent;
    uint32_t rounds;          /* of a FORCE */
    enum hfi_request request; /* what it is sending */
    struct level level;       /* of an ENTER or EXTEND: what is asked for */
    int64_t later_ms;         /* of a RELEASE: what remains of min_hold */
    bool shortens;            /* a CUT did cut the deadline */
    bool by_script;   /* of a RELEASE: the bare command was not enough */
    bool must_end;    /* of a RELEASE: an ACQUIRE may run yet */
    hf_error refusal; /* the newest "not now"; status 0: none */
    struct hfi_op_result result;
    bool looked;        /* TAKE, AWAIT: it was told the count, seen_count */
    int64_t seen_count; /* ... and of a CHANGE: that it finds nothing to do */
    int64_t began_ms;   /* by demand: its wait */
    int64_t order;      /* AWAIT: copies sent when its news were made */
    char seen[128]; /* FORCE: the field that was seen; AWAIT: who armed it */
};

/* Acquisitions that succeed together; bundle.c. */
struct hfi_bundle {
    size_t missing;      /* of whom the turn has not come */
    struct hfi_op *lead; /* who asks and waits for all; NULL: nobody yet */
    int64_t patience_ms;
    int64_t patient_until_ms;
    size_t asked; /* so many of them, the first; the others enter a hold */
    size_t count;
    struct hfi_op *ops[];
};

/* A channel that this client hears or wants to; listen.c. */
struct hfi_listener {
    struct hfi_listener *prev, *next; /* in the list of effects */
    struct hfi_name *name;
    struct hfi_op *op; /* whose own it is; NULL: it has left, or is none's */
    uint64_t n;        /* its number; 0: the name's listener */
    bool listed;
    bool wanted;
    bool active;
    bool refused;
};

/* What is remembered of a name beyond a request: records.c. */
struct hfi_counts {
    struct hfi_counts *prev, *next; /* of those that rest */
    struct hfi_name *name;
    bool resting;
    int64_t hold_back_ms; /* nobody passes the head before */
    size_t old_count;
    uint64_t old[HFI_OLD_KEPT]; /* whose records may go */
};

struct hfi_name {
    UT_hash_handle hh;
    const struct hfi_kind *kind; /* any of its family */
    struct hfi_op *fifo;         /* of one contender */
    struct hfi_op *crowd;        /* each asks for itself */
    struct hfi_number *numbers;
    struct hfi_listener *listener; /* made when somebody first waits */
    struct hfi_counts *counts;     /* of a semaphore or latch; may be NULL */
    uint32_t refs;                 /* ops and listeners that mention it */
    bool passing;                  /* the turn of its FIFO, just now */
    size_t bytes;
    char text[];
};

struct hfi_owner {
    UT_hash_handle hh;
    uint64_t id;
    uint32_t refs;
    uint32_t pins; /* groups of several clients that hold for it */
    bool gone;     /* the thread has ended */
    struct hfi_number *numbers;
    struct hfi_op *ops;
};

/* What the server can compare by without a script. */
enum hfi_compare {
    HFI_COMPARE_UNKNOWN,
    HFI_COMPARE_ASKED,
    HFI_COMPARE_NONE,
    HFI_COMPARE_DELIFEQ,
    HFI_COMPARE_DELEX
};

struct hfi_core {
    struct hfi_core_config config;
    struct hfi_name *names[HFI_FAMILIES];
    struct hfi_owner *owners;
    struct hfi_permit *permits; /* of all names */
    uint64_t next_n;
    uint64_t random;
    bool closed;
    enum hfi_compare compare;
    enum hfi_link_id here;      /* the link of whoever is calling */
    enum hfi_link_id news_link; /* the link of whoever reads messages */
    bool link_up[HFI_COMMAND_LINKS];
    int64_t server_offset_ms; /* server time - ours */
    bool server_known;
    struct hfi_heap op_timers;
    struct hfi_heap number_timers;
    struct hfi_heap renewals[HFI_RENEWAL_CLASSES];
    struct hfi_op *linkless;
    struct hfi_op *unowned; /* calls that no owner makes: show, scan, force */
    struct hfi_op *next;    /* calls whose turn has come */
    bool taking_turns;
    struct hfi_copy *copies; /* the four lists of effects */
    struct hfi_op *done;
    struct hfi_listener *subs;
    struct hfi_terms *notices;
    struct hfi_copy *free_copies;
    size_t free_copy_count;
    struct hfi_counts *resting; /* names kept for their records, oldest first */
    size_t resting_count;
    struct hfi_op *free_ops; /* by link_next */
    size_t free_op_count;
    size_t ending;
    size_t holding;
    size_t waiting; /* heads that poll */
    size_t bundled; /* calls that go along with another */
    size_t subscribed;
    size_t name_count, number_count, owner_count, op_count;
    size_t name_bytes;                /* of all names */
    bool with_text[HFI_SCRIPT_COUNT]; /* the next copy brings the script */
    int64_t scripts_sent, renewals_sent, retries;
};

/* ---- core.c ---- */
int64_t hfi_margin_ms(int64_t lease_ms);
int64_t hfi_add_ms(int64_t at, int64_t more); /* saturates */
int64_t hfi_earliest(int64_t a, int64_t b);
int64_t hfi_server_now(const struct hfi_core *core, int64_t now);
void hfi_server_seen(struct hfi_core *core, int64_t server_ms, int64_t now);
/* Any link that is up, `wish` first; HFI_COMMAND_LINKS: none. */
enum hfi_link_id hfi_pick_link(const struct hfi_core *core,
                               enum hfi_link_id wish);
struct hfi_copy *hfi_copy_new(struct hfi_core *core, enum hfi_request request,
                              enum hfi_link_id link, int64_t now);
void hfi_copy_send(struct hfi_core *core, struct hfi_copy *copy);
/* One that was not sent, or has landed. */
void hfi_copy_free(struct hfi_core *core, struct hfi_copy *copy);
int64_t hfi_jitter(struct hfi_core *core, int64_t span_ms);

/* ---- join.c ---- */
void hfi_put_joined(struct hfi_core *core, const struct hfi_copy *copy,
                    struct hfi_command_sink *sink);
void hfi_joined_answer(struct hfi_core *core, struct hfi_copy *copy,
                       struct hfi_value *value, int64_t now);
void hfi_joined_gone(struct hfi_core *core, struct hfi_copy *copy, bool written,
                     int64_t now);

/* ---- names.c ---- */
struct hfi_name *hfi_name_get(struct hfi_core *core,
                              const struct hfi_object *object, bool make);
/* The name behind this one, of all that there are; NULL: the first. */
struct hfi_name *hfi_name_after(const struct hfi_core *core,
                                const struct hfi_name *name);
/* Free the record if nothing concerns the name any more. */
void hfi_name_tidy(struct hfi_core *core, struct hfi_name *name);
void hfi_waiter_joins(struct hfi_core *core, struct hfi_op *op, int64_t now);
/* The same for one of a FIFO, who has asked just now.  true: it is the first. */
bool hfi_waiter_queues(struct hfi_core *core, struct hfi_op *op);
void hfi_waiter_leaves(struct hfi_core *core, struct hfi_op *op, int64_t now);
/* The number of this owner that is held or lost and would have the same field
 * as one of this kind, or NULL. */
struct hfi_number *hfi_name_number_of(const struct hfi_name *name,
                                      const struct hfi_kind *kind,
                                      const struct hfi_kind_options *options,
                                      const struct hfi_owner *owner);
/* Its owner holds some of its values, but not all of them alone. */
bool hfi_name_overlapped(const struct hfi_op *op);
/* Another owner of this client has it, with its deadline ahead, so that the
 * call cannot have it. */
bool hfi_name_held_here(const struct hfi_op *op, int64_t now);
/* ... or has sent its RELEASE and no answer came. */
bool hfi_name_being_released(const struct hfi_op *op);
/* The owner holds the name in a way that others may hold it too, so that he
 * would wait for himself if he wanted it alone. */
bool hfi_name_shared_by(struct hfi_core *core, const struct hfi_op *op,
                        int64_t now);

/* ---- listen.c ---- */
/* The name may be free: its first waiter asks, and whoever asks for himself. */
void hfi_name_news(struct hfi_core *core, struct hfi_name *name, int64_t now);
/* The same when a hold of this kind has ended: who may hold it beside such a
 * one was not waiting for that. */
void hfi_name_freed(struct hfi_core *core, struct hfi_name *name,
                    const struct hfi_kind *kind, int64_t now);
void hfi_listener_want(struct hfi_core *core, struct hfi_listener *listener,
                       bool wanted);
/* What tells this waiter is wanted from now on; NULL: out of memory. */
struct hfi_listener *hfi_waiter_listens(struct hfi_core *core,
                                        struct hfi_op *op);
bool hfi_waiter_hears(const struct hfi_op *op);
/* Its own listener, if it has one, concerns nobody any more. */
void hfi_waiter_is_deaf(struct hfi_core *core, struct hfi_op *op);
void hfi_listeners_free(struct hfi_core *core);

/* ---- numbers.c ---- */
/* An answer that says it was done: nil, or {'token', n}, which is kept, or of a
 * permit the server's time. */
bool hfi_number_done(struct hfi_number *number, const struct hfi_value *value);
struct hfi_number *hfi_number_new(struct hfi_core *core,
                                  const struct hfi_op *op,
                                  struct hfi_owner *owner);
bool hfi_number_leaves(const struct hfi_number *number);
void hfi_number_tidy(struct hfi_core *core, struct hfi_number *number);
void hfi_number_disown(struct hfi_core *core, struct hfi_number *number);
void hfi_number_move_to(struct hfi_core *core, struct hfi_number *number,
                        enum number_state next);
bool hfi_number_clean(const struct hfi_number *number);
size_t hfi_number_field(const struct hfi_core *core,
                        const struct hfi_number *number, char *buf,
                        size_t size);
struct level *hfi_level_at(struct hfi_number *number, uint32_t index);
bool hfi_level_push(struct hfi_number *number, const struct level *level);
void hfi_level_pop(struct hfi_number *number);

/* ---- ops.c ---- */
void hfi_ops_free_pool(struct hfi_core *core);

/* What to do about an error reply. */
enum hfi_remedy {
    HFI_REMEDY_AGAIN, /* send it again at once */
    HFI_REMEDY_PAUSE, /* send it again when the op's timer comes */
    HFI_REMEDY_NONE   /* it is final: op->refusal says what */
};

/* There is news for it, or it is the first of its FIFO now. */
void hfi_op_news(struct hfi_core *core, struct hfi_op *op, int64_t now);
void hfi_op_at_head(struct hfi_core *core, struct hfi_op *op, int64_t now);
void hfi_op_move_to(struct hfi_core *core, struct hfi_op *op,
                    enum op_state next);
/* End a call.  Without a format the text of the status is the message. */
void hfi_op_finish(struct hfi_core *core, struct hfi_op *op, hf_status status,
                   int64_t now, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* The same with what was last refused (or could not be reached) as message. */
void hfi_op_finish_refused(struct hfi_core *core, struct hfi_op *op,
                           int64_t now);
void hfi_op_set_timer(struct hfi_core *core, struct hfi_op *op, int64_t at);
/* It has something to send, and no link: it waits for one. */
void hfi_op_linkless(struct hfi_core *core, struct hfi_op *op);
/* Send its copy; from now on the op waits for the answer. */
void hfi_op_sent(struct hfi_core *core, struct hfi_op *op,
                 struct hfi_copy *copy);
enum hfi_remedy hfi_op_on_error(struct hfi_core *core, struct hfi_op *op,
                                const struct hfi_copy *copy,
                                const struct hfi_value *value, int64_t now);
/* The script of this copy is unknown there: its next copy brings the text. */
void hfi_script_unknown(struct hfi_core *core, const struct hfi_copy *copy);
/* Send (again) what the op is about. */
void hfi_op_send(struct hfi_core *core, struct hfi_op *op, int64_t now);
/* End it early: HF_TIMEOUT (its time is over) or what else the cause is. */
void hfi_op_give_up(struct hfi_core *core, struct hfi_op *op, hf_status why,
                    int64_t now);
/* Its timer has come. */
void hfi_op_timer(struct hfi_core *core, struct hfi_op *op, int64_t now);

/* ---- begin.c ---- */
/* The first call of this owner on this name that is not over, or NULL. */
struct hfi_op *hfi_op_first_of(const struct hfi_owner *owner,
                               const struct hfi_name *name);
/* Into the list of its owner's calls.  true: its turn has come. */
bool hfi_op_enlist(struct hfi_core *core, struct hfi_op *op, int64_t now);
/* Its turn has come: it begins. */
void hfi_op_begin(struct hfi_core *core, struct hfi_op *op, int64_t now);
/* The hold that an acquisition re-enters, or NULL: it is to be asked for.  Or
 * it was refused without asking, and is over. */
struct hfi_number *hfi_op_hold(struct hfi_core *core, struct hfi_op *op,
                               int64_t now);

/* ---- attempt.c ---- */
void hfi_attempt_start(struct hfi_core *core, struct hfi_op *op, int64_t now);
void hfi_attempt_try(struct hfi_core *core, struct hfi_op *op, int64_t now);
void hfi_attempt_at_head(struct hfi_core *core, struct hfi_op *op, int64_t now);
/* Ask the server, whatever is believed here. */
void hfi_attempt_ask(struct hfi_core *core, struct hfi_op *op, int64_t now);
void hfi_attempt_give_up(struct hfi_core *core, struct hfi_op *op,
                         hf_status why, int64_t now);
void hfi_attempt_answer(struct hfi_core *core, struct hfi_copy *copy,
                        struct hfi_value *value, int64_t now);

bool hfi_attempt_takes_number(struct hfi_core *core, struct hfi_op *op);
/* The number of its attempt is clean, or has to be ended. */
void hfi_attempt_drops_number(struct hfi_core *core, struct hfi_op *op,
                              bool must_end, int64_t now);
/* Parts of an answer: it is ours, too late or in time; or not, for the reason
 * that `value` has. */
bool hfi_attempt_is_late(const struct hfi_core *core, const struct hfi_op *op,
                         const struct hfi_copy *copy, int64_t now);
void hfi_attempt_holds(struct hfi_core *core, struct hfi_op *op,
                       const struct hfi_copy *copy, int64_t now);
void hfi_attempt_refused(struct hfi_core *core, struct hfi_op *op,
                         const struct hfi_copy *copy,
                         const struct hfi_value *value, int64_t now);
void hfi_attempt_too_late(struct hfi_core *core, struct hfi_op *op,
                          int64_t server_ms, int64_t now);

/* ---- waiting.c ---- */
/* When one that hears nothing asks again, from now. */
int64_t hfi_retry_after(struct hfi_core *core, const struct hfi_op *op);
/* The place in the server's queue that this copy asks for, if any. */
void hfi_wait_place(const struct hfi_core *core, struct hfi_op *op,
                    struct hfi_copy *copy);
/* The lock is in this client: until that hold ends, or beside it. */
void hfi_wait_locally(struct hfi_core *core, struct hfi_op *op, int64_t now);
void hfi_wait_spinning(struct hfi_core *core, struct hfi_op *op, int64_t now);
/* The server said that somebody has it, for so long. */
void hfi_wait_busy(struct hfi_core *core, struct hfi_op *op, int64_t ttl_ms,
                   int64_t now);
void hfi_wait_news(struct hfi_core *core, struct hfi_op *op, int64_t now);
void hfi_wait_timer(struct hfi_core *core, struct hfi_op *op, int64_t now);

/* ---- bundle.c ---- */
/* The turn of one has come. */
void hfi_bundle_turn(struct hfi_core *core, struct hfi_op *op, int64_t now);
/* What its ACQUIRE is to take; false: out of memory. */
bool hfi_bundle_load(struct hfi_core *core, const struct hfi_bundle *bundle,
                     struct hfi_copy *copy);
void hfi_bundle_answer(struct hfi_core *core, struct hfi_copy *copy,
                       struct hfi_value *value, int64_t now);
/* End all of it; of this op it is said why. */
void hfi_bundle_give_up(struct hfi_core *core, struct hfi_op *op, hf_status why,
                        int64_t now);

/* One copy of an ACQUIRE less is unanswered; and the End of what is ended may
 * go on. */
void hfi_attempt_landed(struct hfi_core *core, struct hfi_copy *copy,
                        int64_t now);

/* ---- several.c ---- */
/* Numbers for those beside the first, which has one; false: out of memory. */
bool hfi_several_take(struct hfi_core *core, struct hfi_op *op);
/* They go along with this copy. */
bool hfi_several_join(const struct hfi_op *op, struct hfi_copy *copy);
void hfi_several_hold(struct hfi_core *core, struct hfi_op *op,
                      const struct level *level, int64_t sent_at_ms,
                      int64_t now);
/* Those of this client are leaving; false: the call has ended. */
bool hfi_several_leave(struct hfi_core *core, struct hfi_op *op, int64_t now);
/* The call that gives some back has ended. */
void hfi_several_over(struct hfi_core *core, struct hfi_op *op, int64_t now);

/* ---- counts.c: TAKE, CHANGE, FENCE, TELL ---- */
void hfi_count_send(struct hfi_core *core, struct hfi_op *op, int64_t now);
void hfi_count_error(struct hfi_core *core, struct hfi_op *op,
                     const struct hfi_copy *copy, const struct hfi_value *value,
                     int64_t now);
/* It has an id, and a copy of it is unanswered. */
bool hfi_count_unclean(const struct hfi_op *op);
void hfi_take_answer(struct hfi_core *core, struct hfi_copy *copy,
                     struct hfi_value *value, int64_t now);
void hfi_take_give_up(struct hfi_core *core, struct hfi_op *op, hf_status why,
                      int64_t now);
void hfi_change_start(struct hfi_core *core, struct hfi_op *op, int64_t now);
void hfi_change_answer(struct hfi_core *core, struct hfi_copy *copy,
                       struct hfi_value *value, int64_t now);
void hfi_change_give_up(struct hfi_core *core, struct hfi_op *op, hf_status why,
                        int64_t now);
void hfi_tell_start(struct hfi_core *core, struct hfi_op *op, int64_t now);
void hfi_tell_answer(struct hfi_core *core, struct hfi_copy *copy,
                     struct hfi_value *value, int64_t now);
void hfi_tell_give_up(struct hfi_core *core, struct hfi_op *op, hf_status why,
                      int64_t now);

/* ---- demand.c: waiting for permits (TAKE, ACQUIRE by demand) and for a latch
 * (AWAIT) ---- */
void hfi_take_start(struct hfi_core *core, struct hfi_op *op, int64_t now);
/* It wants so many permits, and waits for them if they are not there. */
void hfi_demand_join(struct hfi_core *core, struct hfi_op *op, int64_t now);
void hfi_demand_wait(struct hfi_core *core, struct hfi_op *op, int64_t now);
/* It got its permits, and is still in the FIFO. */
void hfi_demand_served(struct hfi_core *core, struct hfi_op *op, int64_t now);
void hfi_await_start(struct hfi_core *core, struct hfi_op *op, int64_t now);
void hfi_await_give_up(struct hfi_core *core, struct hfi_op *op, hf_status why,
                       int64_t now);
void hfi_look_answer(struct hfi_core *core, struct hfi_copy *copy,
                     struct hfi_value *value, int64_t now);
void hfi_count_news(struct hfi_core *core, struct hfi_op *op, int64_t now);
void hfi_count_timer(struct hfi_core *core, struct hfi_op *op, int64_t now);

/* ---- records.c ---- */
/* What is remembered of a name, made if need be; NULL: out of memory. */
struct hfi_counts *hfi_counts_of(struct hfi_name *name);
/* Nobody will read the record of this id again. */
void hfi_records_keep(struct hfi_core *core, struct hfi_name *name, uint64_t n);
/* Let this copy bring some of them along; and, if it was not carried out, not
 * have brought them. */
void hfi_records_send(struct hfi_name *name, struct hfi_copy *copy);
void hfi_records_put_back(struct hfi_core *core, struct hfi_copy *copy);
/* Nothing concerns it any more: is it kept for the sake of its records? */
bool hfi_name_rests(struct hfi_core *core, struct hfi_name *name);
void hfi_name_wakes(struct hfi_core *core, struct hfi_name *name);
void hfi_counts_free(struct hfi_core *core, struct hfi_name *name);

/* ---- hold.c ---- */
int64_t hfi_hold_deadline(const struct hfi_number *number);
void hfi_hold_begin(struct hfi_core *core, struct hfi_number *number,
                    const struct level *level, int64_t sent_at_ms, int64_t now);
void hfi_hold_arm(struct hfi_core *core, struct hfi_number *number,
                  int64_t now);
void hfi_hold_arm_renewal(struct hfi_core *core, struct hfi_number *number,
                          int64_t due_ms);
void hfi_hold_stop_renewing(struct hfi_core *core, struct hfi_number *number);
int64_t hfi_hold_renewed_lease(const struct hfi_number *number);
/* A copy that was sent then was granted or done: whatever a foreign watchdog
 * does, the hold lasts until then.  HFI_NEVER: there is none for this kind. */
int64_t hfi_hold_cap(const struct hfi_core *core,
                     const struct hfi_number *number, int64_t sent_at_ms);
/* The time in which three renewals go out; 0: there are none. */
int64_t hfi_hold_pace(const struct hfi_core *core,
                      const struct hfi_number *number);
/* Lose it if its deadline is past; true: it is lost (now or before). */
bool hfi_hold_check(struct hfi_core *core, struct hfi_number *number,
                    int64_t now);
void hfi_hold_lose(struct hfi_core *core, struct hfi_number *number,
                   hf_lost_reason reason, int64_t now);
void hfi_hold_timer(struct hfi_core *core, struct hfi_number *number,
                    int64_t now);
void hfi_hold_extended(struct hfi_core *core, struct hfi_number *number,
                       const struct hfi_copy *copy, int64_t lease_ms,
                       int64_t now);
void hfi_hold_absent(struct hfi_core *core, struct hfi_number *number,
                     int64_t ttl_ms, int64_t now);

/* ---- renew.c ---- */
void hfi_renew_due(struct hfi_core *core, int64_t now);
void hfi_renew_answer(struct hfi_core *core, struct hfi_copy *copy,
                      struct hfi_value *value, int64_t now);
void hfi_renew_copy_gone(struct hfi_core *core, struct hfi_copy *copy,
                         int64_t now);

/* ---- keep.c: ENTER, LEAVE, EXTEND ---- */
void hfi_enter_start(struct hfi_core *core, struct hfi_op *op, int64_t now);
void hfi_leave_start(struct hfi_core *core, struct hfi_op *op, int64_t now);
void hfi_extend_start(struct hfi_core *core, struct hfi_op *op, int64_t now);
void hfi_keep_send(struct hfi_core *core, struct hfi_op *op, int64_t now);
void hfi_keep_answer(struct hfi_core *core, struct hfi_copy *copy,
                     struct hfi_value *value, int64_t now);
void hfi_keep_give_up(struct hfi_core *core, struct hfi_op *op, hf_status why,
                      int64_t now);

/* ---- cut.c ---- */
/* This copy is about to be sent: what that means for the hold. */
void hfi_cut_send(struct hfi_core *core, struct hfi_op *op,
                  struct hfi_copy *copy, int64_t now);
/* A copy of a CUT was answered, or never left. */
void hfi_cut_landed(const struct hfi_core *core, struct hfi_number *number);
/* This answer, which says that it was done, may lengthen the deadline. */
bool hfi_cut_allows(const struct hfi_number *number,
                    const struct hfi_copy *copy, const struct hfi_value *value);

/* ---- release.c ---- */
void hfi_release_start(struct hfi_core *core, struct hfi_op *op, int64_t now);
void hfi_release_send(struct hfi_core *core, struct hfi_op *op, int64_t now);
void hfi_release_answer(struct hfi_core *core, struct hfi_copy *copy,
                        struct hfi_value *value, int64_t now);
void hfi_release_give_up(struct hfi_core *core, struct hfi_op *op,
                         hf_status why, int64_t now);
/* It was released by another request, or it must be ended. */
void hfi_release_told(struct hfi_core *core, struct hfi_number *number,
                      bool must_end, int64_t now);

/* ---- native.c ---- */
/* Another server may be there: what it knows is not known. */
void hfi_native_forget(struct hfi_core *core);
/* It does not know what it was believed to know. */
void hfi_native_unknown(struct hfi_core *core);
/* Whether this release is a bare command; then hfi_native_tell() is due. */
bool hfi_native_releases(struct hfi_core *core, const struct hfi_op *op,
                         enum hfi_link_id link, int64_t now);
void hfi_native_tell(struct hfi_core *core, struct hfi_number *number,
                     enum hfi_link_id link, int64_t now);
/* Whether a RENEW of this number alone is a bare command. */
/* A bare renewal is unanswered, and would cut short what is promised now. */
bool hfi_native_may_shorten(const struct hfi_number *number);
bool hfi_native_renews(const struct hfi_core *core,
                       const struct hfi_number *number);
void hfi_native_answer(struct hfi_core *core, struct hfi_copy *copy,
                       struct hfi_value *value, int64_t now);

/* ---- ending.c ---- */
void hfi_end_begin(struct hfi_core *core, struct hfi_number *number,
                   int64_t not_before_ms, int64_t now);
/* The client closes: what only looks after a queue is over. */
void hfi_end_no_looks(struct hfi_core *core, struct hfi_number *number,
                      int64_t now);
/* Nothing is left of it, but the server's queue is to be looked after by an
 * UNDO of it, later. */
void hfi_end_look_again(struct hfi_core *core, struct hfi_number *number,
                        int64_t in_ms, int64_t now);
void hfi_end_timer(struct hfi_core *core, struct hfi_number *number,
                   int64_t now);
void hfi_end_answer(struct hfi_core *core, struct hfi_copy *copy,
                    struct hfi_value *value, int64_t now);
void hfi_end_copy_gone(struct hfi_core *core, struct hfi_number *number,
                       int64_t now);
/* An ACQUIRE copy of it was answered, or never left. */
void hfi_end_cleaner(struct hfi_core *core, struct hfi_number *number,
                     int64_t now);

/* ---- others.c: EXPORT, IMPORT, FORCE, SHOW, SCAN ---- */
void hfi_other_start(struct hfi_core *core, struct hfi_op *op, int64_t now);
void hfi_other_send(struct hfi_core *core, struct hfi_op *op, int64_t now);
void hfi_other_answer(struct hfi_core *core, struct hfi_copy *copy,
                      struct hfi_value *value, int64_t now);
void hfi_other_give_up(struct hfi_core *core, struct hfi_op *op, hf_status why,
                       int64_t now);

#endif
