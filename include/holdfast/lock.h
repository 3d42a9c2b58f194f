/* SPDX-License-Identifier: MIT */
/* holdfast/lock.h - locks that processes share through Redis.
 *
 * Speaks the formats of Redisson (docs/wire): a holder written in Java and one
 * written with this library exclude and wake each other.  There are several
 * kinds of lock (hf_kind); what is said here is true of all of them, and what
 * is special of one is said where its kind is.
 *
 * A hold belongs to (client, name, owner), not to the hf_lock it was taken
 * with.  It is a lease: it lasts `lease_ms` and is renewed in the background
 * until it is released.  When it cannot be renewed, the holder is told that it
 * is LOST no later than the moment before which nobody else can have it.
 */
#ifndef HOLDFAST_LOCK_H
#define HOLDFAST_LOCK_H

#include "holdfast/client.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hf_lock hf_lock;

/* The kinds of lock.  Two locks of one name exclude each other if their kinds
 * mean the same object on the server; which do is said with each. */
typedef enum hf_kind {
    HF_KIND_LOCK = 0, /* re-entrant: Redisson's RLock */
    /* Re-entrant, and served in the order of asking, across processes:
     * Redisson's fair lock. */
    HF_KIND_FAIR = 1,
    /* The two halves of one object: many owners may read, or one may write.
     * Both are re-entrant.  Who writes may read besides, and goes on reading
     * when he has given up writing; who reads cannot begin to write
     * (HF_UPGRADE).  Redisson's read-write lock. */
    HF_KIND_READ = 2,
    HF_KIND_WRITE = 3,
    /* The same object as HF_KIND_LOCK, with fencing tokens: each outermost
     * acquisition has one that is larger than all before.  Redisson's
     * RFencedLock.  Every kind can have them, by `fenced` in its options. */
    HF_KIND_FENCED = 4,
    /* The same object as HF_KIND_LOCK, but who waits listens to nothing: he asks
     * again and again, by a back-off.  Redisson's RSpinLock. */
    HF_KIND_SPIN = 5,
    /* The same object as HF_KIND_LOCK, but to acquire it again as its owner is
     * an error (HF_ALREADY_HELD): Redisson's non-reentrant lock. */
    HF_KIND_NONREENTRANT = 6,
    HF_KIND_NONREENTRANT_FAIR = 7, /* the same object as HF_KIND_FAIR */
    /* A string with the holder's token, as redis-py, redsync, node-redlock,
     * redis-plus-plus and many others have it (SET name token NX PX lease):
     * excludes their locks of the name.  Not re-entrant, like theirs.  An object
     * of its own: a plain lock of the name is HF_WRONG_TYPE, and the reverse. */
    HF_KIND_TOKEN = 8,
    /* Many values of one name, taken together: made by hf_values_lock_new()
     * (holdfast/multi.h) and by nothing else. */
    HF_KIND_VALUES = 9
} hf_kind;

/** The kind's word, as it stands in handles and on the command line ("lock"),
 *  or NULL for a number that is none.  Static; never blocks; any thread. */
HF_API const char *hf_kind_word(hf_kind kind);

/** The kind of a word.  false: it is none.  Never blocks; any thread. */
HF_API bool hf_kind_of_word(const char *word, hf_kind *ret_kind);

#define HF_WAIT_FOREVER (-1)
#define HF_LEASE_MIN_MS 10
#define HF_LEASE_MAX_MS INT64_C(315360000000) /* ten years */
#define HF_NAME_MAX_BYTES ((size_t)(512 * 1024))

/* Why a lease was lost. */
typedef enum hf_lost_reason {
    HF_NOT_LOST = 0,
    HF_LOST_EXPIRED,     /* its time passed here (a fixed lease, or a process
                          * that was stopped) */
    HF_LOST_TAKEN,       /* another owner has the lock */
    HF_LOST_GONE,        /* deleted, forced or evicted on the server: it cannot
                          * tell these apart */
    HF_LOST_UNREACHABLE, /* no renewal was answered before the deadline */
    HF_LOST_MAX_HOLD,    /* held for `max_hold_ms` */
    HF_LOST_OWNER_GONE,  /* the owning thread has ended */
    HF_LOST_CLOSED       /* the client was closed */
} hf_lost_reason;

/** The reason in words.  Static; any thread. */
HF_API const char *hf_lost_reason_text(hf_lost_reason reason);

/* Where a hold stands. */
typedef enum hf_lock_state {
    HF_NOT_HELD = 0,
    HF_HELD,
    HF_SUSPECT, /* held, but a renewal is overdue */
    HF_STATE_LOST
} hf_lock_state;

/* What an on_lost or on_warning callback is told; lent. */
typedef struct hf_lease_event {
    hf_client *client;
    const void *name;      /* the lock's name */
    size_t name_bytes;     /* its length */
    hf_lock_state state;   /* HF_STATE_LOST; in a warning HF_SUSPECT, or HF_HELD
                            * when it recovered or max_hold comes near */
    hf_lost_reason reason; /* of the loss; in a warning HF_LOST_MAX_HOLD when
                            * that comes near, else HF_NOT_LOST */
    int64_t remaining_ms;  /* until the local deadline; 0 when lost */
    const char *owner;     /* on the wire: "uuid:number" */
} hf_lease_event;

typedef void (*hf_lease_fn)(const hf_lease_event *event, void *context);

/* How one acquisition behaves.  Begin with HF_ACQUIRE_INIT.  Fields are only
 * ever added at the end. */
typedef struct hf_acquire {
    size_t size;            /* set by the initialiser, never by hand */
    int64_t wait_ms;        /* 0: try once.  HF_WAIT_FOREVER: no limit */
    int64_t lease_ms;       /* 10 ms to ten years; 0: the client's default */
    int renew;              /* 1: renewed until it is released.  0: fixed */
    hf_owner *owner;        /* kept while it holds; NULL: the calling thread */
    hf_cancel *cancel;      /* kept until the call ends; may be NULL */
    hf_lease_fn on_lost;    /* called once if the hold is lost; may be NULL */
    hf_lease_fn on_warning; /* called when it becomes suspect, recovers, or
                              * max_hold comes near; may be NULL */
    void *context;          /* handed to both */
    int64_t min_hold_ms;    /* released earlier, nobody gets it before */
    int64_t max_hold_ms;    /* held longer, it is lost; 0: no limit */
    int64_t max_hold_warning_ms; /* so long before that, on_warning; 0: none */
} hf_acquire;
/* `on_lost`, `on_warning`, `context`, `min_hold_ms` and `max_hold_ms` belong
 * to the outermost acquisition; a re-entry's are ignored. */

#define HF_ACQUIRE_INIT                                                        \
    {                                                                          \
        sizeof(hf_acquire), HF_WAIT_FOREVER, 0, 1, NULL, NULL, NULL, NULL,     \
            NULL, 0, 0, 0                                                      \
    }

/* How a spin lock's pauses grow from the first to the longest. */
typedef enum hf_backoff {
    HF_BACKOFF_EXPONENTIAL = 0, /* each twice the last, and up to a quarter */
    HF_BACKOFF_CONSTANT,        /* always the first */
    HF_BACKOFF_DECORRELATED     /* any from the first to thrice the last */
} hf_backoff;

#define HF_BACKOFF_FIRST_MS 1 /* as Redisson's */
#define HF_BACKOFF_MAX_MS 128

#define HF_FAIR_WAIT_MS 300000 /* as Redisson's */
#define HF_FAIR_DEAD_MS 5000

/* What a lock object is to be.  Begin with HF_LOCK_OPTIONS_INIT.  Fields are
 * only ever added at the end. */
typedef struct hf_lock_options {
    size_t size; /* set by the initialiser, never by hand */
    hf_kind kind;
    /* Fencing tokens. */
    int fenced;           /* 1: a token for each outermost acquisition */
    int token_each_entry; /* 1: a new one for each re-entry too, as Redisson */
    int token_from_time;  /* 1: where the token's key is missing it begins at
                           * the server's time in us, not at 1: it grows even
                           * after the key was deleted or has expired */
    int64_t token_ttl_ms; /* how long the key is kept after an acquisition; 0:
                           * for ever, as Redisson.  Needs token_from_time */
    /* Spin locks. */
    hf_backoff backoff;
    int64_t backoff_first_ms; /* 0: HF_BACKOFF_FIRST_MS */
    int64_t backoff_max_ms;   /* 0: HF_BACKOFF_MAX_MS */
    /* Read-write locks. */
    int prefer_writers; /* HF_KIND_READ: 1: not taken while somebody waits to
                         * write.  HF_KIND_WRITE: 1: who waits says so.  Good
                         * between locks that were both made with it; readers
                         * of other programs do not know it */
    /* Fair locks. */
    int64_t fair_wait_ms; /* what a waiter adds to the times at which Redisson's
                           * clients take waiters for dead, up to a day; 0:
                           * HF_FAIR_WAIT_MS.  The same in all programs */
    int64_t fair_dead_ms; /* a waiter of ours that was not heard of for so long
                           * is dead, 100 ms to a day; 0: HF_FAIR_DEAD_MS */
} hf_lock_options;

#define HF_LOCK_OPTIONS_INIT                                                   \
    {                                                                          \
        sizeof(hf_lock_options), HF_KIND_LOCK, 0, 0, 0, 0,                     \
            HF_BACKOFF_EXPONENTIAL, 0, 0, 0, 0, 0                              \
    }

/** Make a lock object.  Nothing is sent.  Does not block; any thread.
 *  @param client   kept.
 *  @param options  borrowed; NULL: a plain re-entrant lock.
 *  @param name     borrowed; @p name_bytes of any bytes.
 *  @param ret_lock returned, free with hf_lock_free().
 *  @retval HF_OK
 *  @retval HF_BAD_NAME  it is empty or longer than HF_NAME_MAX_BYTES.
 *  @retval HF_INVALID   an option is out of range, or the kind is none.
 *  @retval HF_NOMEM, HF_CLOSED, HF_FORKED */
HF_API hf_status hf_lock_new_as(hf_client *client,
                                const hf_lock_options *options,
                                const void *name, size_t name_bytes,
                                hf_lock **ret_lock, hf_error *reterr);

/** hf_lock_new_as() for a plain re-entrant lock and a name given as a
 *  string. */
HF_API hf_status hf_lock_new(hf_client *client, const char *name,
                             hf_lock **ret_lock, hf_error *reterr);

/** hf_lock_new() for the reading half of a read-write lock. */
HF_API hf_status hf_read_lock_new(hf_client *client, const char *name,
                                  hf_lock **ret_lock, hf_error *reterr);

/** ... and for the writing half. */
HF_API hf_status hf_write_lock_new(hf_client *client, const char *name,
                                   hf_lock **ret_lock, hf_error *reterr);

/** The same for a fenced lock. */
HF_API hf_status hf_fenced_lock_new(hf_client *client, const char *name,
                                    hf_lock **ret_lock, hf_error *reterr);

/** The same for a spin lock, with the default back-off. */
HF_API hf_status hf_spin_lock_new(hf_client *client, const char *name,
                                  hf_lock **ret_lock, hf_error *reterr);

/** The same for a non-reentrant lock. */
HF_API hf_status hf_nonreentrant_lock_new(hf_client *client, const char *name,
                                          hf_lock **ret_lock, hf_error *reterr);

/** The same for a fair lock. */
HF_API hf_status hf_fair_lock_new(hf_client *client, const char *name,
                                  hf_lock **ret_lock, hf_error *reterr);

/** The same for a non-reentrant fair lock. */
HF_API hf_status hf_nonreentrant_fair_lock_new(hf_client *client,
                                               const char *name,
                                               hf_lock **ret_lock,
                                               hf_error *reterr);

/** The same for a token lock. */
HF_API hf_status hf_token_lock_new(hf_client *client, const char *name,
                                   hf_lock **ret_lock, hf_error *reterr);

/** hf_lock_new() for a name of any bytes. */
HF_API hf_status hf_lock_new_bytes(hf_client *client, const void *name,
                                   size_t name_bytes, hf_lock **ret_lock,
                                   hf_error *reterr);

/** Free a lock object.  Refused while something is held that was acquired
 *  with it, or a call with it runs.
 *  @param lock taken, if the result is HF_OK; NULL is fine.
 *  @retval HF_OK, HF_STILL_HELD */
HF_API hf_status hf_lock_free(hf_lock *lock);

/**
 * Take the lock, waiting while somebody else holds it.  If the owner holds it
 * already, it holds it once more, with a lease for this level.
 *
 * Blocks the calling thread; hf_lock_acquire_async() does not.  Any number of
 * threads may call it on one lock object at once: each is its own owner.  A
 * signal never ends the wait; `how->cancel` does.
 *
 * @param lock    borrowed.
 * @param how     borrowed; NULL for the defaults: wait without limit, a renewed
 *                lease of the client's default length.
 * @param reterr  filled in unless the result is HF_OK; may be NULL.
 *
 * @retval HF_OK          the owner holds the lock, once more than before.
 * @retval HF_BUSY        `wait_ms` was 0 and another owner holds it.
 * @retval HF_TIMEOUT     `wait_ms` passed first.  Nothing is held.
 * @retval HF_CANCELLED   the token was fired first.  Nothing is held.
 * @retval HF_CLOSED      the client was closed.  Nothing is held.
 * @retval HF_ALREADY_HELD the owner holds it, and the kind is not re-entrant.
 *                        Nothing was touched.
 * @retval HF_UPGRADE     the owner reads, and the lock is to write: it would
 *                        wait for itself.  Release the read lock first.
 *                        Nothing was touched.
 * @retval HF_LOST        the owner's hold of this name was lost and has not
 *                        been released; release it first.
 * @retval HF_NOT_DONE    a re-entry could not be made; the outer holds stand.
 * @retval HF_UNKNOWN     an attempt was sent and never answered.  The caller
 *                        does not hold the lock; to others it may look held,
 *                        for a lease at most, while it is being undone.
 * @retval HF_UNREACHABLE the server could not be reached.  Nothing was sent.
 * @retval HF_UNAVAILABLE the server refused service (LOADING, OOM, READONLY
 *                        ...) until the wait ended.  Nothing is held.
 * @retval HF_WRONG_TYPE  the name holds another type of value.
 * @retval HF_PERMISSION  the server's ACL forbids it.
 * @retval HF_INVALID     a field of `how` is out of range.
 * @retval HF_NOMEM, HF_PROTOCOL, HF_FORKED, HF_IN_CALLBACK (a blocking wait in
 *         a callback of this client would stop the callbacks it waits for)
 */
HF_API hf_status hf_lock_acquire(hf_lock *lock, const hf_acquire *how,
                                 hf_error *reterr);

/**
 * Give up one hold.  The last one frees the lock and wakes a waiter.
 *
 * Blocks for an answer, for the response limit and one reconnection at most.
 * The hold is gone from the moment of the call, whatever is answered.
 *
 * @param lock   borrowed.
 * @param owner  borrowed; NULL: the calling thread.
 *
 * @retval HF_OK         one hold less; hf_lock_hold_count() says what is left.
 * @retval HF_NOT_OWNER  this owner does not hold it.  Nothing was touched.
 * @retval HF_LOST       the lease had been lost.  Nothing was touched; this
 *                       level is accounted for.
 * @retval HF_GONE       it was not on the server any more: somebody deleted or
 *                       forced it, and the message says whether another owner
 *                       has the lock now.
 * @retval HF_NOT_DONE   an earlier call of this owner did not end in time, so
 *                       this one was never begun: the hold stands.
 * @retval HF_UNKNOWN    no answer came; it is gone here and is being undone
 *                       there, at the latest when the lease ends.
 * @retval HF_NOMEM, HF_CLOSED, HF_FORKED, HF_IN_CALLBACK
 */
HF_API hf_status hf_lock_release(hf_lock *lock, hf_owner *owner,
                                 hf_error *reterr);

/**
 * Prolong a hold by hand: its innermost level lasts at least `lease_ms` from
 * now.  Never shortens.  Blocks for an answer.
 *
 * @retval HF_OK, HF_NOT_OWNER, HF_LOST, HF_NOT_DONE (no answer in time: what
 *         was held before stands), HF_INVALID, HF_CLOSED, HF_FORKED ...
 */
HF_API hf_status hf_lock_extend(hf_lock *lock, hf_owner *owner,
                                int64_t lease_ms, hf_error *reterr);

/**
 * Take the lock away from whoever holds it; the holder is told when it next
 * renews.  Waiters are woken.  Blocks for an answer.
 *
 * @param if_owner  borrowed; only if this owner ("uuid:number") holds it; NULL
 *                  for any.
 * @retval HF_OK         it was held, and is free.
 * @retval HF_NOT_OWNER  it was free, or another than `if_owner` holds it.
 * @retval HF_UNKNOWN, HF_UNREACHABLE, HF_UNAVAILABLE, HF_WRONG_TYPE,
 *         HF_PERMISSION, HF_CLOSED, HF_FORKED, HF_NOMEM
 */
HF_API hf_status hf_lock_force_release(hf_lock *lock, const char *if_owner,
                                       hf_error *reterr);

/* ---- local answers: they cost nothing and send nothing ------------------- */

/** Does this owner hold the lock, at this very moment?  Compares the lease's
 *  deadline with the clock, so it is right even in a process that was stopped.
 *  @param owner borrowed; NULL: the calling thread.  Any thread. */
HF_API bool hf_lock_is_held(hf_lock *lock, hf_owner *owner);

/** Where this owner's hold stands; @p ret_reason may be NULL. */
HF_API hf_lock_state hf_lock_state_of(hf_lock *lock, hf_owner *owner,
                                      hf_lost_reason *ret_reason);

/** How often this owner holds it: 0 if not (or lost). */
HF_API int64_t hf_lock_hold_count(hf_lock *lock, hf_owner *owner);

/** Until the local deadline of this owner's hold; 0 if it is not held.  For a
 *  renewed lease, what remains if no renewal succeeded any more. */
HF_API int64_t hf_lock_remaining_ms(hf_lock *lock, hf_owner *owner);

/** The fencing token of this owner's hold: the one to hand to what the lock
 *  protects, which refuses whatever comes with a smaller one than it has seen.
 *  @retval HF_OK
 *  @retval HF_NOT_OWNER, HF_LOST  it does not hold the lock (any more).
 *  @retval HF_INVALID  this lock object is not fenced, or the hold was taken
 *                      with one that is not. */
HF_API hf_status hf_lock_token(hf_lock *lock, hf_owner *owner,
                               int64_t *ret_token, hf_error *reterr);

/** The owner on the wire, "uuid:number", of this owner's hold.  Writes at most
 *  @p size bytes with the terminator.
 *  @retval HF_OK, HF_NOT_OWNER, HF_INVALID (buffer too small: 64 suffice) */
HF_API hf_status hf_lock_owner_text(hf_lock *lock, hf_owner *owner, char *buf,
                                    size_t size);

/* ---- hand-over between processes ------------------------------------------
 * A hold can be written out as one printable word, and continued from it by
 * any process that reaches the server.
 */

/**
 * Write out a hold.  This client stops renewing it and forgets it: from now
 * on only the importer ends it, or its lease.  Blocks until no earlier request
 * of the hold can still run (usually not at all).
 *
 * @param ret_handle returned, free with hf_handle_free().
 * @retval HF_OK, HF_NOT_OWNER, HF_LOST, HF_NOT_DONE (it stays held here),
 *         HF_NOMEM, HF_CLOSED, HF_FORKED, HF_IN_CALLBACK
 */
HF_API hf_status hf_lock_export(hf_lock *lock, hf_owner *owner,
                                char **ret_handle, hf_error *reterr);

/** Free a handle.  NULL is fine. */
HF_API void hf_handle_free(char *handle);

/**
 * Continue an exported hold.  Asks the server whether it still stands, and
 * starts a new lease of the length it had, or of @p how->lease_ms.  A handle is
 * for one importer: two have the same hold, and the release of one ends both.
 *
 * @param handle     borrowed.
 * @param how        borrowed; lease, renew, callbacks and max_hold are used;
 *                   NULL: the handle's lease, not renewed.
 * @param ret_lock   returned, free with hf_lock_free().
 * @param ret_owner  returned, free with hf_owner_free(): the owner that holds.
 * @retval HF_OK        held, as often as it was when it was exported.
 * @retval HF_GONE      it is not on the server any more.
 * @retval HF_INVALID   the handle is none.
 * @retval HF_UNKNOWN, HF_UNREACHABLE, HF_UNAVAILABLE, HF_WRONG_TYPE, ...
 */
HF_API hf_status hf_lock_import(hf_client *client, const char *handle,
                                const hf_acquire *how, hf_lock **ret_lock,
                                hf_owner **ret_owner, hf_error *reterr);

/* ---- asynchronous forms ----------------------------------------------------
 * Each returns at once.  If the result is HF_OK, the callback comes exactly
 * once, later, never from inside the call; else it never comes.  Callbacks run
 * in hf_client_dispatch() or on the client's callback thread.
 */

/* How an asynchronous call ended; lent. */
typedef struct hf_completion {
    hf_status status;
    const hf_error *error; /* lent; NULL when status is HF_OK */
    hf_lock *lock;
    hf_owner *owner; /* the one that was given.  If none was given to
                      * hf_lock_acquire_async() and it succeeded: returned, a
                      * fresh one, free with hf_owner_free() after release */
} hf_completion;

typedef void (*hf_done_fn)(const hf_completion *done, void *context);

/** As hf_lock_acquire(), but an owner that is not given is not the calling
 *  thread: it is made for this call and handed to the callback.
 *  @param lock kept until the callback. */
HF_API hf_status hf_lock_acquire_async(hf_lock *lock, const hf_acquire *how,
                                       hf_done_fn done, void *context,
                                       hf_error *reterr);

/** As hf_lock_release(). @param owner borrowed; must not be NULL. */
HF_API hf_status hf_lock_release_async(hf_lock *lock, hf_owner *owner,
                                       hf_done_fn done, void *context,
                                       hf_error *reterr);

/** As hf_lock_extend(). @param owner borrowed; must not be NULL. */
HF_API hf_status hf_lock_extend_async(hf_lock *lock, hf_owner *owner,
                                      int64_t lease_ms, hf_done_fn done,
                                      void *context, hf_error *reterr);

/** As hf_lock_force_release(). */
HF_API hf_status hf_lock_force_release_async(hf_lock *lock,
                                             const char *if_owner,
                                             hf_done_fn done, void *context,
                                             hf_error *reterr);

#ifdef __cplusplus
}
#endif

#endif /* HOLDFAST_LOCK_H */
