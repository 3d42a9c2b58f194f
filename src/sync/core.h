/* SPDX-License-Identifier: MIT */
/* sync/core.h - the core that decides, and does no I/O: its whole seam.
 *
 * The core is a function of (state, event, now).  The driver tells it events
 * (a call was made, a copy was answered, a link is gone, time has passed) and
 * then carries out the effects it left in its four lists: copies to send,
 * operations that have ended, names to subscribe to, notices to deliver.
 *
 * It touches no socket, clock, thread or random source, and knows nothing of
 * Redis: it asks for a script to be run and is told the answer.  Its caller
 * serialises all calls.  Times are ms on the client's clock (base/clock.h);
 * those of the server are said to be so.
 */
#ifndef HFI_SYNC_CORE_H
#define HFI_SYNC_CORE_H

#include "base/value.h"
#include "holdfast/inspect.h"

struct hfi_core;
struct hfi_kind; /* sync/kinds/kind.h */
struct hfi_listener;
struct hfi_name;
struct hfi_number;
struct hfi_op;
struct hfi_owner;

/* The connections a copy may travel on. */
enum hfi_link_id { HFI_LINK_MAIN, HFI_LINK_KEEPER, HFI_COMMAND_LINKS };

/* What is asked of the server: LATE-COPIES of docs/design by name. */
enum hfi_request {
    HFI_ACQUIRE,
    HFI_ENTER,
    HFI_LEAVE,
    HFI_RENEW,
    HFI_EXTEND,
    HFI_CUT, /* sets the lease of a permit, also to a shorter one */
    HFI_RELEASE,
    HFI_UNDO,
    HFI_FORCE,
    HFI_SHOW,
    HFI_SCAN,
    HFI_TIME,
    HFI_ADOPT, /* what EXTEND is, for a hold that is imported */
    HFI_PROBE, /* which commands the server knows; never a script */
    HFI_WAKE,  /* the message of a release that was no script */
    HFI_TAKE,
    HFI_CHANGE,
    HFI_FENCE,
    HFI_LOOK,
    HFI_TELL,
    HFI_REQUESTS
};

/* A lease that never ends: the score of Redisson's permits without one.  Some
 * 29,000 years, so that arithmetic needs no exception for it. */
#define HFI_NO_LEASE_MS INT64_C(922337203685477)

#define HFI_PERMIT_BYTES ((size_t)16) /* of an id */

#define HFI_OLD_MAX 4 /* records that nobody will read again, in one request */

#define HFI_BATCH_MAX 100      /* names in one renewal, as Redisson's batches */
#define HFI_TOGETHER_MAX 100   /* locks that one request takes, all or none */
#define HFI_FAIR_SHOWN_MAX 100 /* waiters that SHOW of a fair lock names */

struct hfi_batch_item {
    struct hfi_number *number;
    int64_t count;
    int64_t lease_ms;
};

/* One sending of a request.  The driver gives each back exactly once, by
 * hfi_core_answer() or hfi_core_copy_gone(), in whatever order. */
struct hfi_copy {
    struct hfi_copy *prev, *next; /* in the list of effects */
    enum hfi_request request;
    enum hfi_link_id link; /* where it travels */
    struct hfi_op *op;     /* who waits for it; NULL: nobody any more */
    struct hfi_op *about;  /* what it says comes from this call; until sent */
    struct hfi_number *number;    /* whom it concerns; NULL: none, or a batch */
    struct hfi_batch_item *batch; /* a RENEW, or an ACQUIRE, of several; with a
                                   * `number`: permits beside that one */
    size_t batch_count;
    struct hfi_copy *joined; /* copies that leave as this one; join.c */
    size_t joined_count;
    int64_t sent_at_ms;   /* when it was handed to the driver */
    int64_t order;        /* among all that were */
    int64_t not_after_ms; /* server time; of an ACQUIRE, FORCE or CUT */
    int64_t settled_ms;   /* of a CUT: then none before it runs any more */
    int64_t lease_ms;
    int64_t count;             /* the hold count it sets */
    int64_t rest_ms;           /* of a RELEASE: what is left of min_hold */
    uint64_t stand_in;         /* of such a RELEASE: a number nobody has */
    uint64_t old[HFI_OLD_MAX]; /* of a TAKE or CHANGE: whose records go */
    size_t old_count;
    int64_t queue_ms;     /* what a place in the server's queue adds; 0: none */
    int64_t alive_ms;     /* for how long the waiter counts as alive there */
    bool clean_when_sent; /* of an UNDO */
    bool with_text;       /* the script's text is to be sent along */
    bool native;          /* it is a bare command, and no script */
};

/* How the driver is told what to put on the wire: a script, its keys, its
 * other arguments.  The texts are lent until the next call of the core. */
struct hfi_command_sink {
    void (*arg)(struct hfi_command_sink *sink, const void *bytes, size_t len);
    void (*number)(struct hfi_command_sink *sink, int64_t value);
    /* The opening of the next `arg`: what it hands over is put behind it. */
    void (*piece)(struct hfi_command_sink *sink, const void *bytes, size_t len);
};

enum hfi_op_kind {
    HFI_OP_ACQUIRE,
    HFI_OP_RELEASE,
    HFI_OP_EXTEND,
    HFI_OP_EXPORT,
    HFI_OP_IMPORT,
    HFI_OP_FORCE,
    HFI_OP_SHOW,
    HFI_OP_SCAN,
    HFI_OP_TAKE,
    HFI_OP_CHANGE,
    HFI_OP_AWAIT,
    HFI_OP_TELL
};

/* What a CHANGE is to do, as the scripts call it. */
#define HFI_WORD_RELEASE "release"
#define HFI_WORD_RETURN "return"
#define HFI_WORD_SET "set"
#define HFI_WORD_ADD "add"
#define HFI_WORD_DRAIN "drain"
#define HFI_WORD_DOWN "down"
#define HFI_WORD_DELETE "delete"
#define HFI_WORD_TOTAL "total"
#define HFI_WORD_FREE "free"
#define HFI_WORD_EXTEND "extend"
#define HFI_WORD_LEASE "lease"

/* What the holder is to be told; belongs to the core until the driver takes it
 * from the list of notices, then to the driver until hfi_terms_unref(). */
struct hfi_terms {
    uint32_t refs;
    uint64_t order;                /* the driver's: among all callbacks */
    bool queued;                   /* until the driver has told its news */
    struct hfi_terms *prev, *next; /* in the list of notices */
    hf_lease_fn on_lost;
    hf_lease_fn on_warning;
    void (*gone)(void *context); /* nobody refers to it any more; or NULL */
    void *context;
    int64_t min_hold_ms;
    int64_t max_hold_ms;
    int64_t max_hold_warning_ms;
    bool tell_lost; /* due to be told */
    bool tell_warning;
    hf_lock_state warning_state;
    hf_lost_reason warning_reason;
    hf_lost_reason lost_reason;
    int64_t deadline_ms; /* local; as of the newest news */
    char owner[64];      /* "uuid:number" */
    size_t name_bytes;
    char name[]; /* `name_bytes` of it */
};

void hfi_terms_unref(struct hfi_terms *terms);

/* What a lock object was made with beside its name, for the kinds that have such
 * options.  Never changed once it is used; counted references. */
struct hfi_kind_options {
    uint32_t refs;
    bool token_from_time; /* fenced: a fresh counter begins at the time */
    int64_t token_ttl_ms; /* fenced: how long it is kept; 0: for ever */
    hf_backoff backoff;   /* spin */
    int64_t backoff_first_ms;
    int64_t backoff_max_ms;
    int64_t queue_wait_ms; /* fair: what a waiter adds to the scores */
    int64_t dead_ms;       /* fair: unheard of for so long, it is dead */
    bool text_ids;         /* permits: as texts, not as bytes */
    size_t values_bytes;   /* values: of their fields, sorted, each once */
    char *values;          /* in the same piece of memory, behind it */
};

void hfi_kind_options_unref(struct hfi_kind_options *options);

/* Several permits in one call; several.c. */
struct hfi_several_item {
    struct hfi_owner *owner;            /* ACQUIRE: its own; a reference */
    struct hfi_number *number;          /* ACQUIRE: while it is tried */
    unsigned char id[HFI_PERMIT_BYTES]; /* CHANGE: which */
    bool leaving;                       /* CHANGE: this client holds it */
};

struct hfi_several {
    size_t count;
    struct hfi_several_item items[];
};

/** Freed with hfi_several_free(), if no op has taken it.  NULL: out of memory. */
struct hfi_several *hfi_several_new(size_t count);
void hfi_several_free(struct hfi_core *core, struct hfi_several *several);

/* One call of a user, from its start to its end.  Made by hfi_op_new(), filled
 * in by the caller, given to hfi_core_start(), and back in the list of ended
 * operations exactly once; then freed by hfi_op_free(). */
struct hfi_op_request {
    enum hfi_op_kind kind;
    const struct hfi_kind *of; /* the kind of lock; NULL: the plain one */
    struct hfi_kind_options *options; /* referenced by the op; NULL: none */
    struct hfi_owner *owner;          /* referenced by the op */
    const void *name;
    size_t name_bytes;
    int64_t wait_ms;
    int64_t lease_ms;
    bool renewed;
    bool exact;              /* EXTEND of a permit: also to a shorter lease */
    struct hfi_terms *terms; /* taken; may be NULL */
    const char *field;       /* FORCE: if this owner; IMPORT: it; CHANGE: of a
                              * permit, its id; or NULL */
    struct hfi_several *several; /* taken.  ACQUIRE: permits beside the first;
                                  * CHANGE: those to give back; or NULL */
    int64_t count;               /* IMPORT, TAKE, CHANGE; ACQUIRE: of permits */
    const char *word;            /* CHANGE: a constant */
    const char *pattern;         /* SCAN */
    const char *cursor;          /* SCAN */
    void *lock;                  /* the caller's; kept for its own use */
    void *user;                  /* the caller's */
    bool detached; /* its owner may be freed while it runs: a group's release,
                    * of which nobody waits for all members */
};

/* How an op ended, for the driver to read. */
struct hfi_op_result {
    hf_status status;
    hf_error error;
    struct hfi_value value; /* SHOW, SCAN: what the script answered */
    char handle_owner[64];  /* EXPORT: "uuid:number"; ACQUIRE: a permit's id */
    int64_t count;          /* EXPORT: holds; CHANGE, TELL: the answer */
    bool changed;           /* CHANGE: there was something to change */
    int64_t lease_ms;       /* EXPORT: lease */
};

hf_status hfi_op_new(struct hfi_core *core, const struct hfi_op_request *asked,
                     struct hfi_op **ret_op);
void hfi_op_free(struct hfi_core *core, struct hfi_op *op);
struct hfi_op *hfi_op_next_done(struct hfi_core *core);
struct hfi_op_result *hfi_op_result(struct hfi_op *op);
void *hfi_op_user(const struct hfi_op *op);
void *hfi_op_lock(const struct hfi_op *op);
struct hfi_owner *hfi_op_owner(const struct hfi_op *op);
enum hfi_op_kind hfi_op_kind_of(const struct hfi_op *op);
/** Its unanswered copy travels on this link. */
bool hfi_op_travels(const struct hfi_op *op, enum hfi_link_id link);
/** It counts on messages, and no other call of this client does. */
bool hfi_op_waits_alone(const struct hfi_core *core, const struct hfi_op *op);

/* ---- life of the core ---- */

struct hfi_core_config {
    char uuid[37];
    uint64_t seed; /* of jitter */
    int64_t response_limit_ms;
    int64_t connect_limit_ms;
    int64_t retry_bound_ms;
    int64_t foreign_watchdog_ms; /* of Java readers; 0: as they have it */
    bool local_reentry;
};

struct hfi_core *hfi_core_new(const struct hfi_core_config *config);
void hfi_core_free(struct hfi_core *core);

/* ---- events ---- */

/** A user's call.  @p here is the link its requests prefer. */
void hfi_core_start(struct hfi_core *core, struct hfi_op *op,
                    enum hfi_link_id here, int64_t now);

/** Several acquisitions of one owner that succeed together or not at all: of
 *  different names, with one lease and one wait, of kinds that can be taken so
 *  (hfi_kind.together), 2 to HFI_TOGETHER_MAX of them.  Each ends as a call of its
 *  own; where one was not to be had, the others end with HF_NOT_DONE.
 *  @p patience_ms: for so long it is tried again when another one than before is
 *  in the way; then it ends with HF_TIMEOUT, whatever is left of the wait. */
void hfi_core_start_together(struct hfi_core *core, struct hfi_op *const *ops,
                             size_t count, int64_t patience_ms,
                             enum hfi_link_id here, int64_t now);

/** A user's wish to end a call early; also those that were started with it. */
void hfi_core_cancel(struct hfi_core *core, struct hfi_op *op, hf_status why,
                     int64_t now);

/** A reply to a copy was read.  The caller clears the value; what the core
 *  needs of it, it has taken out. */
void hfi_core_answer(struct hfi_core *core, struct hfi_copy *copy,
                     struct hfi_value *value, enum hfi_link_id here,
                     int64_t now);

/** A copy's link is gone before its reply.  @p written: a byte of it left. */
void hfi_core_copy_gone(struct hfi_core *core, struct hfi_copy *copy,
                        bool written, int64_t now);

/** A link can be used.  @p server_ms: the server's time when it was asked. */
void hfi_core_link_up(struct hfi_core *core, enum hfi_link_id link,
                      int64_t server_ms, int64_t now);

/** A link can be used again that was full. */
void hfi_core_link_ready(struct hfi_core *core, enum hfi_link_id link,
                         int64_t now);

/** A link cannot be used any more (its copies are given back separately), or
 *  for now: it is full, and what it has goes on. */
void hfi_core_link_down(struct hfi_core *core, enum hfi_link_id link);

/** A link could not be made.  Calls that will not wait end with the error. */
void hfi_core_link_failed(struct hfi_core *core, const hf_error *error,
                          int64_t now);

/** A subscription stands: what is published from now on is heard. */
void hfi_core_subscribed(struct hfi_core *core, struct hfi_listener *listener,
                         int64_t now);

/** A subscription was refused: its waiters go on by polling. */
void hfi_core_subscribe_refused(struct hfi_core *core,
                                struct hfi_listener *listener, int64_t now);

/** A subscription is gone with its link; it will be made again. */
void hfi_core_unsubscribed(struct hfi_core *core,
                           struct hfi_listener *listener);

/** A message came. */
void hfi_core_message(struct hfi_core *core, struct hfi_listener *listener,
                      int64_t now);

/** From now on, whoever tells of subscriptions and messages prefers this link
 *  for the requests that they cause.  At first it is the keeper's. */
void hfi_core_news_link(struct hfi_core *core, enum hfi_link_id link);

/** Time has passed. */
void hfi_core_tick(struct hfi_core *core, int64_t now);

/** An owning thread has ended. */
void hfi_core_owner_gone(struct hfi_core *core, struct hfi_owner *owner,
                         int64_t now);

/** The client closes: every call ends, every hold is lost and undone. */
void hfi_core_close(struct hfi_core *core, int64_t now);

/* ---- effects ---- */

/** The next copy to send, or NULL. */
struct hfi_copy *hfi_core_next_copy(struct hfi_core *core);

/** It may wait for others of its kind until the link is written, and leave
 *  with them as one (hfi_copy_join()). */
bool hfi_copy_joins(const struct hfi_copy *copy);
/** Make one copy of a list (by `next`) of up to HFI_JOIN_MAX such copies of one
 *  link and script, in their place: it is sent, and answered or given back, for
 *  all.  NULL: out of memory; then each goes by itself. */
#define HFI_JOIN_MAX 16
struct hfi_copy *hfi_copy_join(struct hfi_core *core, struct hfi_copy *copies);

/** The next listener whose subscription is to change, or NULL;
 *  hfi_listener_wants() says to what. */
struct hfi_listener *hfi_core_next_subscription(struct hfi_core *core);
/** It was carried out; the listener may be gone after this. */
void hfi_core_subscription_done(struct hfi_core *core,
                                struct hfi_listener *listener);

/** The next notice, or NULL; the caller owes a hfi_terms_unref(). */
struct hfi_terms *hfi_core_next_notice(struct hfi_core *core);

/** When hfi_core_tick() is to be called at the latest; INT64_MAX: never. */
int64_t hfi_core_next_due_ms(const struct hfi_core *core);

/* ---- what the driver reads ---- */

/** Name the script of a copy: its number in `hfi_scripts`, or -1: it is a bare
 *  command, all of whose words hfi_copy_write() hands to the sink.  Of a script
 *  that hands over the keys, then the arguments. */
int hfi_copy_script(const struct hfi_copy *copy);
size_t hfi_copy_keys(const struct hfi_copy *copy);
size_t hfi_copy_args(const struct hfi_copy *copy);
void hfi_copy_write(struct hfi_core *core, const struct hfi_copy *copy,
                    struct hfi_command_sink *sink);

bool hfi_listener_wants(const struct hfi_listener *listener);
/** The channel's name.  Returns its length; if that is more than @p size, what
 *  is in @p buf is of no use. */
size_t hfi_listener_channel(const struct hfi_core *core,
                            const struct hfi_listener *listener, char *buf,
                            size_t size);

/* ---- owners ---- */

struct hfi_owner *hfi_owner_get(struct hfi_core *core, uint64_t id, bool make);
void hfi_owner_ref(struct hfi_owner *owner);
void hfi_owner_unref(struct hfi_core *core, struct hfi_owner *owner);
bool hfi_owner_busy(const struct hfi_owner *owner);
uint64_t hfi_owner_id(const struct hfi_owner *owner);
/** A group of several clients holds for it: it counts as busy. */
void hfi_owner_pin(struct hfi_owner *owner);
/** The thread has ended. */
bool hfi_owner_is_gone(const struct hfi_owner *owner);
void hfi_owner_unpin(struct hfi_core *core, struct hfi_owner *owner);

/* ---- local answers ---- */

struct hfi_hold_view {
    hf_lock_state state;
    hf_lost_reason reason;
    int64_t count;
    int64_t remaining_ms;
    int64_t proven_ms; /* it was held when a request left then */
    int64_t token;     /* of a fenced kind */
    char owner[64];
};

/* A name on the server: what it is called, and of which kind it is meant. */
struct hfi_object {
    const struct hfi_kind *kind;
    const void *name;
    size_t name_bytes;
    const struct hfi_kind_options *options; /* values are part of what it is */
};

/** The id of the permit that was taken as the i-th after the one with the id
 *  @p first, in one call.  Needs no client to be entered. */
void hfi_core_permit_after(const struct hfi_core *core, const char *first,
                           size_t i, char *ret_id);

/** Whose permit this is, with its id as users write it; NULL: it is not this
 *  client's, or not any more. */
struct hfi_owner *hfi_core_permit_owner(struct hfi_core *core,
                                        const struct hfi_object *object,
                                        const char *id);

struct hfi_settling {
    bool fixed;
    const void *context; /* of the terms */
    int64_t min_hold_ms;
    int64_t max_hold_ms;
    int64_t max_hold_warning_ms;
};

/** Compare clock and deadline, and say where an owner's hold stands. */
void hfi_core_view(struct hfi_core *core, struct hfi_owner *owner,
                   const struct hfi_object *object, int64_t now,
                   struct hfi_hold_view *ret_view);

/** A hold was taken for a group, which is complete only now: what its terms say
 *  counts from now on; and its innermost level, if @p fixed, is renewed no more.
 *  Terms with another context are left alone. */
void hfi_core_hold_settle(struct hfi_core *core, struct hfi_owner *owner,
                          const struct hfi_object *object,
                          const struct hfi_settling *settling, int64_t now);

/** A hold that was lost is accounted for, @p levels releases at most, so that it
 *  can be taken again; there need be none.  false: there is one that was not lost,
 *  or has more levels, or is not to come back: nothing was done. */
bool hfi_core_hold_forget(struct hfi_core *core, struct hfi_owner *owner,
                          const struct hfi_object *object, uint32_t levels,
                          int64_t now);

/** How many holds were taken with a lock object (hfi_op_request.lock). */
size_t hfi_core_holds_of_lock(struct hfi_core *core, const void *lock,
                              const struct hfi_object *object);

/** Nothing is held, waited for or being undone. */
bool hfi_core_idle(const struct hfi_core *core);
/** Nothing is being undone. */
bool hfi_core_ended(const struct hfi_core *core);

/** Fill in what the core knows of hf_stats. */
void hfi_core_stats(const struct hfi_core *core, hf_stats *stats);

#endif
