/* SPDX-License-Identifier: MIT */
/* holdfast/multi.h - several locks held as one: multi locks and red locks.
 *
 * A multi lock holds all of its members or none: several names of one server,
 * or locks of several servers, of whatever kinds.
 *
 * A red lock holds more than half of its members, which are to be locks of one
 * name on servers that have nothing to do with each other: it goes on while
 * fewer than half of them are away.
 *
 * Both are an hf_group.  There is nothing of a group on any server: its members
 * are locks like any others, and exclude whoever takes one of them by itself.
 * Each is renewed by its own client; the group is lost when one of its members
 * is (multi), or when fewer than a quorum are left (red).
 */
#ifndef HOLDFAST_MULTI_H
#define HOLDFAST_MULTI_H

#include "holdfast/lock.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- many values of one name ---------------------------------------------- */

#define HF_VALUES_MAX ((size_t)1000) /* of one lock */

/**
 * Make a lock on values of a name: Redisson's getMultiLock(name, values), with a
 * StringCodec (docs/wire/values.md).  It is an hf_lock like any other, and takes
 * all its values by one script, or none.  Locks of one name stand in each other's
 * way only by values in common.  Does not block, sends nothing; any thread.
 *
 * One owner may hold other values of the name by another lock at the same time;
 * of two locks that have some values in common it can hold one
 * (HF_ALREADY_HELD).
 *
 * @param name      borrowed.
 * @param values    borrowed; strings of UTF-8.  The same one twice counts once.
 * @param count     1 to HF_VALUES_MAX.
 * @param ret_lock  returned, free with hf_lock_free().
 * @retval HF_OK, HF_BAD_NAME, HF_INVALID, HF_NOMEM, HF_CLOSED, HF_FORKED
 */
HF_API hf_status hf_values_lock_new(hf_client *client, const char *name,
                                    const char *const *values, size_t count,
                                    hf_lock **ret_lock, hf_error *reterr);

/* ---- several locks as one -------------------------------------------------- */

typedef struct hf_group hf_group;

#define HF_GROUP_MAX ((size_t)1024) /* members of one group */

/* How one member's part of a call ended; in the order in which the members were
 * given. */
typedef struct hf_outcome {
    hf_status status; /* HF_OK: it is held (or was released, extended) */
    hf_error error;   /* filled in unless the status is HF_OK */
} hf_outcome;

/**
 * Make a multi lock: all members or none.  Does not block, sends nothing; any
 * thread.
 *
 * Where all members are of one client and plain, fenced, non-reentrant, spin,
 * write or token locks, at most a hundred, one script takes all of them or none;
 * a group that waits holds nothing then, unless now one and now another is in the
 * way for seconds.  Else they are taken one after the other in an order that every
 * process finds by itself (server, name, kind), so two groups never wait for each
 * other.  Servers are told apart by the name they were opened with: let all
 * processes use the same one.  The same lock twice counts once.
 *
 * @param locks      borrowed, and read only now: they may be freed at once.
 *                   Those of different clients may be mixed.
 * @param count      1 to HF_GROUP_MAX.
 * @param ret_group  returned, free with hf_group_free().
 * @retval HF_OK
 * @retval HF_INVALID  there are no members, too many, or one is NULL; or two of
 *                     them are one lock through two clients, which would wait
 *                     for each other.
 * @retval HF_NOMEM, HF_CLOSED, HF_FORKED
 */
HF_API hf_status hf_multi_lock_new(hf_lock *const *locks, size_t count,
                                   hf_group **ret_group, hf_error *reterr);

/* What a red lock is like; begin with HF_RED_INIT. */
typedef struct hf_red_options {
    size_t size;
    int64_t member_limit_ms; /* what a member's answer may take; 0: 5 to 50 ms,
                              * a two hundredth of the lease */
    int64_t retry_ms;        /* the longest pause between two tries of a wait;
                              * 0: a second */
    size_t absent; /* servers to which no client could be opened: they count,
                    * and grant nothing */
} hf_red_options;

#define HF_RED_INIT                                                            \
    {                                                                          \
        sizeof(hf_red_options), 0, 0, 0                                        \
    }

/**
 * Make a red lock: more than half of the members.  As hf_multi_lock_new(), but
 * all members are asked at once, and none may be given twice.  While it is held
 * and renewed, members that it lost, or could not reach, are asked again in the
 * background.
 *
 * @param options  borrowed; NULL for the defaults.
 * @retval as hf_multi_lock_new(); HF_INVALID also for a lock that is given
 *         twice; HF_UNREACHABLE if the locks are no quorum, with those absent
 */
HF_API hf_status hf_red_lock_new(hf_lock *const *locks, size_t count,
                                 const hf_red_options *options,
                                 hf_group **ret_group, hf_error *reterr);

/** Free a group.  Refused while something is held that was acquired with it,
 *  or a call with it runs.
 *  @param group taken, if the result is HF_OK; NULL is fine.
 *  @retval HF_OK, HF_STILL_HELD */
HF_API hf_status hf_group_free(hf_group *group);

/** How many locks it was made of.  Never blocks; any thread. */
HF_API size_t hf_group_count(const hf_group *group);

/**
 * Take the group, waiting while others hold what it needs.  As
 * hf_lock_acquire(), with these differences.
 *
 * The wait is that of all members together.  A fixed lease (`renew` 0) begins
 * for all of them when the last is taken.  `min_hold_ms` and `max_hold_ms`
 * count from there too.  `on_lost` is called once, when the group is lost: its
 * event is that of the member whose loss was one too many.  The levels of a red
 * lock that is entered again may be of different members: a release that takes
 * the quorum from the outer ones is followed by `on_lost` for them.  `on_warning` is
 * called when the group as a whole becomes suspect or recovers, and when
 * max_hold comes near.  Both are called where that member's client runs its
 * callbacks: who dispatches must dispatch all clients.  A member that the owner
 * held already, outside of the group, is held once more, and goes on telling
 * whom it told before.
 *
 * `owner` and `cancel` may be of any of the members' clients.
 *
 * Whatever the result, nothing is held if it is not HF_OK, but for what could
 * not be asked to be undone: that ends with its lease at the latest.
 *
 * @param group         borrowed.
 * @param how           borrowed; NULL for the defaults.
 * @param ret_outcomes  hf_group_count() of them are filled in, whatever the
 *                      result, unless that is HF_INVALID, HF_FORKED,
 *                      HF_IN_CALLBACK or HF_NOMEM; may be NULL.
 * @param reterr        filled in unless the result is HF_OK; may be NULL.  Its
 *                      `node` is the server of the member to blame.
 *
 * @retval HF_OK      held, once more than before.
 * @retval HF_BUSY, HF_TIMEOUT, HF_CANCELLED, HF_CLOSED, HF_LOST, HF_NOT_DONE,
 *         HF_UNKNOWN, HF_UNREACHABLE, HF_UNAVAILABLE, HF_WRONG_TYPE,
 *         HF_PERMISSION, HF_INVALID, HF_NOMEM, HF_PROTOCOL, HF_FORKED,
 *         HF_IN_CALLBACK   as of hf_lock_acquire(): what the first member said
 *         that stood in the way, or, of a red lock, what most of them did.
 *         HF_TIMEOUT also where taking the members took so long that a lease
 *         was over.
 */
HF_API hf_status hf_group_acquire(hf_group *group, const hf_acquire *how,
                                  hf_outcome *ret_outcomes, hf_error *reterr);

/**
 * Give up one hold of the group: all members, whatever becomes of each.  Blocks
 * as hf_lock_release() does; a red lock waits for no more answers than it needs.
 *
 * @param owner  borrowed; NULL: the calling thread.
 * @retval HF_OK         it was held until now, and is not any more.
 * @retval HF_NOT_OWNER  this owner does not hold the group.  Nothing was touched.
 * @retval HF_LOST, HF_GONE   it had been lost before (a member, or too many of
 *                            them).  What was left is released all the same.
 * @retval HF_UNKNOWN, HF_NOT_DONE, HF_NOMEM, HF_CLOSED, HF_FORKED,
 *         HF_IN_CALLBACK   as of hf_lock_release()
 */
HF_API hf_status hf_group_release(hf_group *group, hf_owner *owner,
                                  hf_outcome *ret_outcomes, hf_error *reterr);

/** Prolong a hold of the group by hand: every member, or of a red lock a quorum,
 *  lasts at least `lease_ms` from now.  Blocks for the answers.
 *  @retval as hf_lock_extend() */
HF_API hf_status hf_group_extend(hf_group *group, hf_owner *owner,
                                 int64_t lease_ms, hf_outcome *ret_outcomes,
                                 hf_error *reterr);

/* ---- local answers: they cost nothing and send nothing ------------------- */

/** Does this owner hold the group, at this very moment?  As hf_lock_is_held(),
 *  of all members or of a quorum of them.  Any thread. */
HF_API bool hf_group_is_held(hf_group *group, hf_owner *owner);

/** Where this owner's hold of the group stands; @p ret_reason may be NULL. */
HF_API hf_lock_state hf_group_state_of(hf_group *group, hf_owner *owner,
                                       hf_lost_reason *ret_reason);

/** How often this owner holds the group: 0 if not (or lost). */
HF_API int64_t hf_group_hold_count(hf_group *group, hf_owner *owner);

/** Until the local deadline of this owner's hold: the earliest of its members',
 *  or of a red lock that of the member without which there is no quorum. */
HF_API int64_t hf_group_remaining_ms(hf_group *group, hf_owner *owner);

/** The owner on the wire of one member, by its place when the group was made.
 *  @retval HF_OK, HF_NOT_OWNER (that member is not held), HF_INVALID */
HF_API hf_status hf_group_owner_text(hf_group *group, hf_owner *owner,
                                     size_t member, char *buf, size_t size);

/** The fencing token of one member, by its place when the group was made.  A
 *  group has none of its own: what is protected by one member's name is to be
 *  handed that member's.  Those of one name on several servers (a red lock)
 *  cannot be compared with each other.
 *  @retval HF_OK
 *  @retval HF_NOT_OWNER, HF_LOST  that member is not held (any more).
 *  @retval HF_INVALID  it is not fenced, or there is no such member. */
HF_API hf_status hf_group_token(hf_group *group, hf_owner *owner, size_t member,
                                int64_t *ret_token, hf_error *reterr);

/* ---- hand-over between processes ------------------------------------------ */

/**
 * Write out a hold of the group as one printable word, with which any process
 * that reaches the servers continues it.  As hf_lock_export(), of all members
 * that are held: these clients stop renewing them and forget them.
 *
 * However often the group was entered, what is handed on is held once.  What the
 * owner holds of a member by itself goes along.
 *
 * Blocks until no earlier request of the holds can still run (usually not at
 * all), and of a red lock at most 100 ms for members that are late to join.
 *
 * @param owner       borrowed; NULL: the calling thread.
 * @param ret_handle  returned, free with hf_handle_free().
 * @retval HF_OK
 * @retval HF_NOT_OWNER  this owner does not hold the group.
 * @retval HF_LOST       it had been lost before; release it.
 * @retval HF_NOT_DONE   some members could not be written out in time.  The
 *                       group is not held any more: they are released, and the
 *                       others end with their leases.
 * @retval HF_INVALID, HF_NOMEM, HF_CLOSED, HF_FORKED, HF_IN_CALLBACK
 */
HF_API hf_status hf_group_export(hf_group *group, hf_owner *owner,
                                 char **ret_handle, hf_error *reterr);

/** Is this the handle of a group, and not of a lock?  Looks at its beginning
 *  only.  Never blocks; any thread. */
HF_API bool hf_handle_is_of_group(const char *handle);

/**
 * Continue an exported hold of a group.  As hf_lock_import(), of all members at
 * once: it is held if all are (multi), or a quorum (red).
 *
 * If so many are gone that the group is lost, the others are released.  If it
 * may stand yet (a server cannot be reached), nothing is changed: the handle is
 * as good as before.
 *
 * @param clients    kept; those of the servers that the handle has, in any
 *                   order, and others.  Servers are told apart by the names they
 *                   were opened with; a group of one server is of the first
 *                   client's, whatever that is called.  A red lock's members of
 *                   which none is given here count as servers that are away.
 * @param count      at least 1.
 * @param handle     borrowed.
 * @param how        borrowed; lease, renew, callbacks and max_hold are used;
 *                   NULL: the handle's lease, not renewed.
 * @param ret_group  returned, free with hf_group_free().
 * @param ret_owner  returned, free with hf_owner_free(): the owner that holds.
 * @retval HF_OK      held, once.
 * @retval HF_GONE    the group is not held any more.
 * @retval HF_INVALID the handle is none, or a client of a multi lock is missing.
 * @retval HF_UNKNOWN, HF_UNREACHABLE, HF_UNAVAILABLE, HF_WRONG_TYPE, ...
 */
HF_API hf_status hf_group_import(hf_client *const *clients, size_t count,
                                 const char *handle, const hf_acquire *how,
                                 hf_group **ret_group, hf_owner **ret_owner,
                                 hf_error *reterr);

/* ---- asynchronous forms: as those of a lock ------------------------------ */

/* How an asynchronous call on a group ended; lent. */
typedef struct hf_group_completion {
    hf_status status;
    const hf_error *error; /* lent; NULL when status is HF_OK */
    hf_group *group;
    hf_owner *owner;            /* the one that was given.  If none was given to
                      * hf_group_acquire_async() and it succeeded: returned, a
                      * fresh one, free with hf_owner_free() after release */
    const hf_outcome *outcomes; /* lent; `outcome_count` of them */
    size_t outcome_count;
} hf_group_completion;

typedef void (*hf_group_done_fn)(const hf_group_completion *done,
                                 void *context);

/** As hf_group_acquire().  An owner that is not given is made for this call, of
 *  the first lock's client; the callback runs where that client's do.
 *  @param group kept until the callback. */
HF_API hf_status hf_group_acquire_async(hf_group *group, const hf_acquire *how,
                                        hf_group_done_fn done, void *context,
                                        hf_error *reterr);

/** As hf_group_release(). @param owner borrowed; must not be NULL. */
HF_API hf_status hf_group_release_async(hf_group *group, hf_owner *owner,
                                        hf_group_done_fn done, void *context,
                                        hf_error *reterr);

/** As hf_group_extend(). @param owner borrowed; must not be NULL. */
HF_API hf_status hf_group_extend_async(hf_group *group, hf_owner *owner,
                                       int64_t lease_ms, hf_group_done_fn done,
                                       void *context, hf_error *reterr);

#ifdef __cplusplus
}
#endif

#endif /* HOLDFAST_MULTI_H */
