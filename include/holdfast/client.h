/* SPDX-License-Identifier: MIT */
/* holdfast/client.h - a client: this process's connection to one server.
 *
 * A client has an id of its own on the wire (a UUID), three connections, and
 * one background thread, the keeper, which renews leases and hears messages.
 * One client serves a whole process; any number of threads may use it at once.
 *
 * Words for ownership of pointers, used everywhere in these headers:
 *   borrowed  used until the call returns, not after.
 *   kept      must outlive the object it was given to.
 *   taken     the library frees it.
 *   returned  the caller frees it, with the function that is named.
 *   lent      valid during this callback only.
 */
#ifndef HOLDFAST_CLIENT_H
#define HOLDFAST_CLIENT_H

#include <stdbool.h>
#include <stddef.h>

#include "holdfast/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hf_client hf_client;
typedef struct hf_owner hf_owner;
typedef struct hf_cancel hf_cancel;

/* How a client behaves.  Begin with HF_OPTIONS_INIT; 0 or NULL in a field means
 * its default.  Fields are only ever added at the end. */
typedef struct hf_options {
    size_t size;               /* set by the initialiser */
    const char *password;      /* borrowed; wins over the URL's; never logged */
    int64_t connect_limit_ms;  /* for one connection attempt; default 3,000 */
    int64_t response_limit_ms; /* a link that owes answers and sends no byte for
                                * so long is dead; default 3,000 */
    int64_t lease_ms;          /* of acquisitions that name none; 30,000 */
    int64_t retry_bound_ms;    /* a waiter asks again after so long, whatever
                                * was lost; default 2,000 */
    int local_reentry;         /* 1: a re-entry is counted here only and costs
                                * no round trip; others see a count of 1 */
    int spin_us;               /* look for the answer to a call that is alone
                                * so long before sleeping, as long as that
                                * finds one; default 30, -1: never */
    int64_t foreign_watchdog_ms; /* `lockWatchdogTimeout` of the Java programs
                                  * that read the same read-write locks; default
                                  * 30,000, as theirs.  No read lock is believed
                                  * longer without a renewal */
} hf_options;

#define HF_OPTIONS_INIT                                                        \
    {                                                                          \
        sizeof(hf_options), NULL, 0, 0, 0, 0, 0, 0, 0                          \
    }

/**
 * Open a client.  Blocks until the server was reached and has let us in, or
 * for `connect_limit_ms` for the name and for each address behind it.
 *
 * URLs:  redis://[user[:password]@]host[:port][/database]
 *        unix:/path/to/socket[?db=N]
 *        local:NAME   a private server of this user on this machine, which is
 *                     started if it does not run (see holdfast/server.h)
 *
 * @param url     borrowed.
 * @param options borrowed; NULL for the defaults.
 * @param ret_client returned, close with hf_client_close().
 * @param reterr  filled in unless the result is HF_OK; may be NULL.
 *
 * @retval HF_OK           the client is open.
 * @retval HF_BAD_URL      the URL is malformed; the message says where.
 * @retval HF_INVALID      an option is out of range.
 * @retval HF_UNREACHABLE  no address answered in time.
 * @retval HF_PERMISSION   the user, password or database was refused.
 * @retval HF_UNAVAILABLE  the server answers, but refuses service (LOADING ...).
 * @retval HF_PROTOCOL     what answers there is no Redis or Valkey.
 * @retval HF_NOMEM, HF_SYSTEM  this process is short of something.
 */
HF_API hf_status hf_client_open(const char *url, const hf_options *options,
                                hf_client **ret_client, hf_error *reterr);

/**
 * Close a client.  New calls are refused from now on; waiters end with
 * HF_CLOSED; holders are told HF_LOST_CLOSED, and what they hold is released,
 * all together within a second (what the server does not answer by then ends
 * with its lease).  Exported holds are left alone.  Callbacks that are due are
 * run before it returns.  Blocks for about a second at most, beyond the time
 * that callbacks take.  Any thread, but no callback.
 *
 * After a fork, in the child, it only frees memory and writes nowhere.
 *
 * @param client  taken, unless the result is HF_IN_CALLBACK; NULL is fine.
 *                Locks, owners and cancellations made from it may be freed
 *                afterwards, and nothing else may be done with them.
 * @retval HF_OK, HF_IN_CALLBACK
 */
HF_API hf_status hf_client_close(hf_client *client);

/** This client's id on the wire: a lower-case UUID of 36 characters.  Lent as
 *  long as the client is open.  Never blocks; any thread. */
HF_API const char *hf_client_id(const hf_client *client);

/** The server's name for people ("127.0.0.1:6379/0"), without any password.
 *  Lent as long as the client is open.  Never blocks; any thread. */
HF_API const char *hf_client_server(const hf_client *client);

/**
 * For event loops: a descriptor that is readable while callbacks are due.
 * From the first call on, callbacks run in hf_client_dispatch() and nowhere
 * else; a program that never calls this has them run on a thread of the client.
 * The descriptor belongs to the client: watch it, do nothing else with it.
 * Never blocks; any thread.
 *
 * @return the descriptor, or -1 if the client is closed or of another process.
 */
HF_API int hf_client_fd(hf_client *client);

/**
 * Run the callbacks that are due, on the calling thread, in the order in which
 * their causes happened.  Does not wait.  Not from a callback.
 *
 * @return how many were run.
 */
HF_API size_t hf_client_dispatch(hf_client *client);

/* What a client has done and has at the moment; begins with `size`, as
 * hf_options does. */
typedef struct hf_stats {
    size_t size;
    int64_t holds;         /* numbers this client holds now */
    int64_t waiters;       /* calls that are under way, most of them waits */
    int64_t names;         /* names it keeps a record of now */
    int64_t subscriptions; /* channels it is subscribed to now */
    int64_t ending;        /* numbers that are still being undone */
    int64_t scripts_sent;  /* script calls, of any kind, so far */
    int64_t renewals_sent; /* of these, renewals (one for up to 100 names) */
    int64_t retries;       /* attempts made again because time passed */
    int64_t reconnects;    /* links made again after they were lost */
    int64_t writes;        /* system calls that wrote to the server */
    int64_t memory_bytes;  /* of its records of names, holds and calls */
} hf_stats;

#define HF_STATS_INIT                                                          \
    {                                                                          \
        sizeof(hf_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0                      \
    }

/** Fill in what the caller's version of the struct has.  Any thread; does not
 *  wait for the server.
 *  @retval HF_OK, HF_INVALID, HF_FORKED */
HF_API hf_status hf_client_stats(hf_client *client, hf_stats *ret_stats);

/* ---- owners ---------------------------------------------------------------
 * Who holds.  Where a call takes an owner, NULL means the calling thread.  An
 * explicit owner serves callbacks, coroutines, and hand-over between threads.
 */

/** Make an owner.  Does not block; any thread.
 *  @param ret_owner returned, free with hf_owner_free().
 *  @retval HF_OK, HF_NOMEM, HF_CLOSED, HF_FORKED */
HF_API hf_status hf_owner_new(hf_client *client, hf_owner **ret_owner,
                              hf_error *reterr);

/** Free an owner.  Refused while it holds something or a call of it runs.
 *  @param owner taken, if the result is HF_OK; NULL is fine.
 *  @retval HF_OK, HF_STILL_HELD */
HF_API hf_status hf_owner_free(hf_owner *owner);

/* ---- cancellation ---------------------------------------------------------
 * A token that ends the waits it was given to.
 */

/** Make a token.  Does not block; any thread.
 *  @param ret_cancel returned, free with hf_cancel_free(). */
HF_API hf_status hf_cancel_new(hf_client *client, hf_cancel **ret_cancel,
                               hf_error *reterr);

/** Fire it: every call that was given it, or will be, ends with HF_CANCELLED,
 *  unless its result was there first.  Returns at once.  Any thread, and from
 *  a signal handler too. */
HF_API void hf_cancel_fire(hf_cancel *cancel);

/** Make a fired token ready again.  No call may be using it. */
HF_API void hf_cancel_reset(hf_cancel *cancel);

/** Free it.  No call may be using it.  @param cancel taken; NULL is fine. */
HF_API void hf_cancel_free(hf_cancel *cancel);

#ifdef __cplusplus
}
#endif

#endif /* HOLDFAST_CLIENT_H */
