/* SPDX-License-Identifier: MIT */
/* holdfast/permits.h - permits with leases, which processes share.
 *
 * Speaks the RPermitExpirableSemaphore format of Redisson (docs/wire/permits.md):
 * a program in Java and one with this library take from the same permits and
 * wake each other.
 *
 * As with a semaphore (holdfast/semaphore.h) there are so many permits at once.
 * But here each permit that is taken has an id, and a lease: renewed while this
 * client lives, if that is asked for, so that what a crashed program held is
 * back within a lease; or fixed.  It is given back by its id, by whoever has
 * that.  A permit that this client took and then lost is lost as a lock is: its
 * holder is told, and what it was is undone.
 *
 * Before their first use there are no permits: hf_permits_try_set().
 */
#ifndef HOLDFAST_PERMITS_H
#define HOLDFAST_PERMITS_H

#include "holdfast/semaphore.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hf_permits hf_permits;

/* Room for the id of a permit: 32 digits in lower-case hex, and a zero. */
#define HF_PERMIT_ID_SIZE 33

typedef struct hf_permit_id {
    char text[HF_PERMIT_ID_SIZE];
} hf_permit_id;

/* So many permits in one call at most. */
#define HF_PERMITS_AT_ONCE_MAX 1000

/* As `lease_ms` of an acquisition: the permit has no lease, as Redisson's
 * acquire() gives it.  It is out until somebody gives it back by its id, or
 * this client is closed; if its program crashes, for ever.  It is never renewed,
 * and so its holder does not learn that another gave it back. */
#define HF_LEASE_NONE (-1)

/** Make a permits object for a name given as a string.  Nothing is sent, and
 *  nothing made on the server.  Does not block; any thread.
 *  @param client       kept.
 *  @param ret_permits  returned, free with hf_permits_free().
 *  @retval HF_OK
 *  @retval HF_BAD_NAME  it is empty or longer than HF_NAME_MAX_BYTES.
 *  @retval HF_INVALID, HF_NOMEM, HF_CLOSED, HF_FORKED */
HF_API hf_status hf_permits_new(hf_client *client, const char *name,
                                hf_permits **ret_permits, hf_error *reterr);

/** The same for a name of any bytes. */
HF_API hf_status hf_permits_new_bytes(hf_client *client, const void *name,
                                      size_t name_bytes,
                                      hf_permits **ret_permits,
                                      hf_error *reterr);

/* What a permits object is to be.  Begin with HF_PERMITS_OPTIONS_INIT.  Fields
 * are only ever added at the end. */
typedef struct hf_permits_options {
    size_t size; /* set by the initialiser, never by hand */
    /* 1: the server has ids as texts of 32 digits, as Redisson up to 3.16 has
     * them, not as 16 bytes.  The number is shared by both; a permit can be
     * given back or extended only by who has its ids alike. */
    int text_ids;
} hf_permits_options;

#define HF_PERMITS_OPTIONS_INIT                                                \
    {                                                                          \
        sizeof(hf_permits_options), 0                                          \
    }

/** The same with options.
 *  @param options  borrowed; NULL: the defaults.
 *  @retval HF_INVALID  also where they do not begin with
 *                      HF_PERMITS_OPTIONS_INIT. */
HF_API hf_status hf_permits_new_as(hf_client *client,
                                   const hf_permits_options *options,
                                   const void *name, size_t name_bytes,
                                   hf_permits **ret_permits, hf_error *reterr);

/** Free a permits object.  Refused while a call with it runs, or while a permit
 *  that was taken with it is held.
 *  @param permits taken, if the result is HF_OK; NULL is fine.
 *  @retval HF_OK, HF_STILL_HELD */
HF_API hf_status hf_permits_free(hf_permits *permits);

/* ---- taking and giving back ------------------------------------------------*/

/**
 * Take one permit, waiting while there is none.
 *
 * Blocks the calling thread; hf_permits_acquire_async() does not.  Any number of
 * threads may call it on one object.  A signal never ends the wait; the
 * cancellation token in @p how does.  Waiters are woken when a permit is given
 * back, and when the lease of one that is out ends.
 *
 * @param how     as for a lock (holdfast/lock.h): the wait, the lease (or
 *                HF_LEASE_NONE) and whether it is renewed, on_lost and on_warning (whose event has
 *                the id as its owner), max_hold.  NULL: the defaults.  `owner`
 *                must be NULL and `min_hold_ms` 0: a permit is held by whoever
 *                has its id.
 * @param ret_id  the permit's id, set if the result is HF_OK.
 * @retval HF_OK           the permit is held.
 * @retval HF_BUSY         there is none, and the wait was 0.
 * @retval HF_TIMEOUT      there was none until the wait ended.
 * @retval HF_CANCELLED    by the token.
 * @retval HF_UNKNOWN      an attempt is unanswered: it is being undone.
 * @retval HF_UNREACHABLE, HF_UNAVAILABLE, HF_WRONG_TYPE, HF_PERMISSION,
 *         HF_INVALID, HF_CLOSED, HF_FORKED, HF_IN_CALLBACK, HF_NOMEM,
 *         HF_PROTOCOL     nothing was taken.
 */
HF_API hf_status hf_permits_acquire(hf_permits *permits, const hf_acquire *how,
                                    char ret_id[HF_PERMIT_ID_SIZE],
                                    hf_error *reterr);

/**
 * Give a permit back.  Blocks for the answer; any thread.
 *
 * @param id  of a permit that this client took, another client of ours, or a
 *            program in Java: 32 hexadecimal digits.
 * @retval HF_OK       it is back.
 * @retval HF_GONE     there is no such permit (any more): it was given back
 *                     before, or its lease has ended.
 * @retval HF_LOST     this client has lost it; it is, or is being, undone.
 * @retval HF_UNKNOWN  no answer came.  What this client took is being undone;
 *                     another's may have been given back, or not.
 * @retval HF_NOT_DONE another's: no answer came in time, and nothing was done.
 * @retval HF_INVALID  that is no id.
 * @retval HF_UNREACHABLE, HF_UNAVAILABLE, HF_WRONG_TYPE, HF_PERMISSION,
 *         HF_CLOSED, HF_FORKED, HF_IN_CALLBACK, HF_NOMEM, HF_PROTOCOL
 */
HF_API hf_status hf_permits_release(hf_permits *permits, const char *id,
                                    hf_error *reterr);

/**
 * Take several permits in one call: all of them, or none.  As
 * hf_permits_acquire(), but for this:
 *
 * Whoever waits for several is passed by those who want fewer, but not for
 * ever (docs/guide/counting.md).  Each permit is a hold of its own afterwards,
 * with a lease of its own, and may be given back by itself; on_lost tells each
 * loss.
 *
 * @param count    1 to HF_PERMITS_AT_ONCE_MAX.
 * @param ret_ids  @p count of them, set if the result is HF_OK.
 */
HF_API hf_status hf_permits_acquire_many(hf_permits *permits, int64_t count,
                                         const hf_acquire *how,
                                         hf_permit_id *ret_ids,
                                         hf_error *reterr);

/**
 * Give several permits back in one call: all of them, or none.  They need not
 * have been taken together, nor by this client.  Blocks for the answer, and if
 * none comes as long again to find out whether it was done; any thread.  From
 * the call on nobody holds them here, unless it says that they stay.
 *
 * @param ids    borrowed; @p count of them, each once.
 * @param count  1 to HF_PERMITS_AT_ONCE_MAX.
 * @retval HF_OK        all are back.
 * @retval HF_GONE      one of them was given back before, or its lease has
 *                      ended: none was given back now; the others stay.
 * @retval HF_LOST      this client has lost one of them: none was given back
 *                      now; the others stay.
 * @retval HF_NOT_DONE  no answer came in time, and none was given back; they
 *                      stay.
 * @retval HF_UNKNOWN   the server stays away.  Those that this client took are
 *                      given up, and being undone; others may have been given
 *                      back, or not.
 * @retval HF_INVALID   one is no id, or stands there twice; or the count.
 * @retval HF_UNREACHABLE, HF_UNAVAILABLE, HF_WRONG_TYPE, HF_PERMISSION,
 *         HF_CLOSED, HF_FORKED, HF_IN_CALLBACK, HF_NOMEM, HF_PROTOCOL
 *                      none was given back; they stay.
 */
HF_API hf_status hf_permits_release_many(hf_permits *permits,
                                         const hf_permit_id *ids, size_t count,
                                         hf_error *reterr);

/** See to it that a permit lasts so long from now at least; a lease is never
 *  shortened.  Blocks for the answer; any thread.
 *  @param id        as for hf_permits_release().
 *  @param lease_ms  10 ms to ten years.
 *  @retval HF_OK        it lasts so long.
 *  @retval HF_NOT_DONE  no answer in time; what was held before stands.
 *  @retval HF_GONE, HF_LOST, HF_UNKNOWN, HF_INVALID, ...  as
 *          hf_permits_release(). */
HF_API hf_status hf_permits_extend(hf_permits *permits, const char *id,
                                   int64_t lease_ms, hf_error *reterr);

/**
 * Set how long a permit lasts from now: longer, or shorter, than it would.  One
 * that this client renews goes on being renewed, by leases of this length.
 * Blocks for the answer; any thread.
 *
 * Where it is made shorter its holder counts on no more from the moment when
 * this is asked; whatever is answered, or is not, on_lost comes in time.
 *
 * @param id        as for hf_permits_release().
 * @param lease_ms  10 ms to ten years, or HF_LEASE_NONE: it never ends.
 * @retval HF_OK        it lasts so long.
 * @retval HF_NOT_DONE  it was not made longer; what was held before stands, or
 *                      less where this, or an earlier call, made it shorter.
 * @retval HF_UNKNOWN   no answer came: it lasts so long, or as before; where
 *                      this client holds it, no longer than that is believed.
 * @retval HF_GONE, HF_LOST, HF_INVALID, ...  as hf_permits_release().
 */
HF_API hf_status hf_permits_set_lease(hf_permits *permits, const char *id,
                                      int64_t lease_ms, hf_error *reterr);

/** Forget a permit that this client holds, without giving it back: it is no
 *  longer renewed, and lasts as long as its lease.  Whoever has the id may
 *  extend it or give it back.  Blocks, usually for no time.
 *  @retval HF_OK
 *  @retval HF_GONE      this client does not hold it.
 *  @retval HF_NOT_DONE  an attempt may still run; it stays held here.
 *  @retval HF_LOST, HF_INVALID, HF_CLOSED, HF_FORKED, HF_IN_CALLBACK, HF_NOMEM
 */
HF_API hf_status hf_permits_hand_on(hf_permits *permits, const char *id,
                                    hf_error *reterr);

/** Whether this client holds the permit at this moment.  Asks nobody, and never
 *  blocks for long; any thread.  False of another's, and of what is no id. */
HF_API bool hf_permits_is_held(hf_permits *permits, const char *id);

/** For how long this client holds it at least, in ms; 0: it does not;
 *  INT64_MAX: it has no lease. */
HF_API int64_t hf_permits_remaining_ms(hf_permits *permits, const char *id);

/* ---- how many there are -----------------------------------------------------
 * All of these block for an answer, and say what those of a semaphore do:
 *
 *   HF_OK        it was done, once.
 *   HF_NOT_DONE  no answer came in time; it was not done and never will be.
 *   HF_UNKNOWN   the server stays away: it may have been done.
 *   HF_UNREACHABLE, HF_UNAVAILABLE   nothing was done; later it may be.
 *   HF_WRONG_TYPE, HF_INVALID, HF_PERMISSION, HF_CLOSED, HF_FORKED,
 *   HF_IN_CALLBACK, HF_NOMEM, HF_PROTOCOL   nothing was done.
 */

/** Make so many permits, unless there are some.
 *  @param count    0 to HF_PERMITS_MAX.
 *  @param ttl_ms   how long they are to exist, 1 ms to ten years; 0: without
 *                  end.
 *  @param ret_set  false: there are some already.  Set if the result is HF_OK;
 *                  may be NULL. */
HF_API hf_status hf_permits_try_set(hf_permits *permits, int64_t count,
                                    int64_t ttl_ms, bool *ret_set,
                                    hf_error *reterr);

/** See to it that there are so many permits, those that are out counted: so the
 *  number available may become negative.
 *  @param count  0 to HF_PERMITS_MAX. */
HF_API hf_status hf_permits_set(hf_permits *permits, int64_t count,
                                hf_error *reterr);

/** Add permits, or withdraw some: the number available may become negative.
 *  Makes them if there are none; a TTL is lost, as in Java.
 *  @param count          -HF_PERMITS_MAX to HF_PERMITS_MAX.
 *  @param ret_available  how many there are now; may be NULL. */
HF_API hf_status hf_permits_add(hf_permits *permits, int64_t count,
                                int64_t *ret_available, hf_error *reterr);

/** Delete them, with those that are out, whose holders lose them at their next
 *  renewal.  Who waits, waits on.
 *  @param ret_existed  set if the result is HF_OK; may be NULL. */
HF_API hf_status hf_permits_delete(hf_permits *permits, bool *ret_existed,
                                   hf_error *reterr);

/* What can be seen of them.  Begin with HF_PERMITS_INFO_INIT.  Fields are only
 * ever added at the end. */
typedef struct hf_permits_info {
    size_t size; /* set by the initialiser, never by hand */
    int exists;  /* 0: there are none */
    int64_t
        available;    /* those whose lease has ended counted; may be negative */
    int64_t acquired; /* that are out */
    int64_t ttl_ms;   /* -1: without end; -2: there are none */
    int64_t waiting;  /* clients that listen for permits */
} hf_permits_info;

#define HF_PERMITS_INFO_INIT                                                   \
    {                                                                          \
        sizeof(hf_permits_info), 0, 0, 0, 0, 0                                 \
    }

/** All of that.  Asks the server, and blocks for its answer; the numbers may be
 *  others by then.
 *  @retval HF_OK, HF_UNREACHABLE, HF_UNAVAILABLE, HF_WRONG_TYPE, ... */
HF_API hf_status hf_permits_inspect_remote(hf_permits *permits,
                                           hf_permits_info *ret_info,
                                           hf_error *reterr);

/** What is left of the lease of a permit, whoever took it.  Asks the server, and
 *  blocks for its answer; any thread.
 *  @param id            32 hexadecimal digits.
 *  @param ret_lease_ms  set if the result is HF_OK; HF_LEASE_NONE: it never
 *                       ends.
 *  @retval HF_OK
 *  @retval HF_GONE     there is no such permit (any more).
 *  @retval HF_INVALID, HF_UNREACHABLE, HF_UNAVAILABLE, HF_WRONG_TYPE, ... */
HF_API hf_status hf_permits_lease_remote(hf_permits *permits, const char *id,
                                         int64_t *ret_lease_ms,
                                         hf_error *reterr);

/** How many are available; 0 if there are none.  As
 *  hf_permits_inspect_remote(). */
HF_API hf_status hf_permits_available(hf_permits *permits,
                                      int64_t *ret_available, hf_error *reterr);

/* ---- asynchronous forms ----------------------------------------------------
 * Each returns at once.  If the result is HF_OK, the callback comes exactly
 * once, later, never from inside the call; else it never comes.  Callbacks run
 * in hf_client_dispatch() or on the client's callback thread.
 */

/* How an asynchronous call ended; lent. */
typedef struct hf_permits_completion {
    hf_status status;
    const hf_error *error; /* lent; NULL when status is HF_OK */
    hf_permits *permits;
    const char *id; /* lent: of an acquisition, the first permit's; else "" */
    const hf_permit_id *ids; /* lent: of several permits; else NULL */
    size_t count;            /* of them */
} hf_permits_completion;

typedef void (*hf_permits_fn)(const hf_permits_completion *done, void *context);

/** As hf_permits_acquire().
 *  @param permits kept until the callback, as is the token in @p how. */
HF_API hf_status hf_permits_acquire_async(hf_permits *permits,
                                          const hf_acquire *how,
                                          hf_permits_fn done, void *context,
                                          hf_error *reterr);

/** As hf_permits_release(), which see. */
HF_API hf_status hf_permits_release_async(hf_permits *permits, const char *id,
                                          hf_permits_fn done, void *context,
                                          hf_error *reterr);

/** As hf_permits_acquire_many(); the ids come with the completion. */
HF_API hf_status hf_permits_acquire_many_async(hf_permits *permits,
                                               int64_t count,
                                               const hf_acquire *how,
                                               hf_permits_fn done,
                                               void *context, hf_error *reterr);

/** As hf_permits_release_many(), which see.
 *  @param ids  borrowed until this returns. */
HF_API hf_status hf_permits_release_many_async(hf_permits *permits,
                                               const hf_permit_id *ids,
                                               size_t count, hf_permits_fn done,
                                               void *context, hf_error *reterr);

/** As hf_permits_extend(), which see. */
HF_API hf_status hf_permits_extend_async(hf_permits *permits, const char *id,
                                         int64_t lease_ms, hf_permits_fn done,
                                         void *context, hf_error *reterr);

/** As hf_permits_set_lease(), which see. */
HF_API hf_status hf_permits_set_lease_async(hf_permits *permits, const char *id,
                                            int64_t lease_ms,
                                            hf_permits_fn done, void *context,
                                            hf_error *reterr);

#ifdef __cplusplus
}
#endif

#endif /* HOLDFAST_PERMITS_H */
