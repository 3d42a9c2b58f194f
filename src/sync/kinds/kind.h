/* SPDX-License-Identifier: MIT */
/* sync/kinds/kind.h - a kind of lock is data.
 *
 * The life of an acquisition and of a lease is written once (attempt.c,
 * hold.c, release.c, ending.c).  What differs between kinds is one record of
 * this type: which script does what, what it is handed, how the channel is
 * named, and how waiters of this process queue.  A new kind is a new file with
 * a record, its .lua files, and nothing else.
 */
#ifndef HFI_SYNC_KIND_H
#define HFI_SYNC_KIND_H

#include "holdfast/lock.h"
#include "sync/core.h"

/* How the waiters of one client for one name queue. */
enum hfi_queueing {
    HFI_QUEUE_ONE_CONTENDER, /* one FIFO, whose head alone asks the server */
    HFI_QUEUE_EACH,          /* everyone asks the server, and hears all news */
    HFI_QUEUE_BY_DEMAND,     /* one FIFO; its head first, others may pass */
    HFI_QUEUE_ALL,           /* one FIFO; what its head hears is for all */
    HFI_QUEUE_ON_SERVER,     /* each has a place in the server's queue, and a
                              * channel of his own */
    HFI_QUEUE_NONE           /* everyone asks by a back-off of his own */
};

/* Kinds that mean the same object of the server under one name: they share its
 * record, and with it the queue and the subscription of this client. */
enum hfi_family {
    HFI_FAMILY_LOCK, /* one hash, one channel: plain, fenced, non-reentrant */
    HFI_FAMILY_READ_WRITE,
    HFI_FAMILY_TOKEN,
    HFI_FAMILY_SEMAPHORE,
    HFI_FAMILY_LATCH,
    HFI_FAMILY_VALUES,
    HFI_FAMILY_PERMITS,
    HFI_FAMILY_FAIR, /* that hash, and a queue: fair, non-reentrant fair */
    HFI_FAMILIES
};

/* Kinds whose holds can be renewed by one script. */
enum hfi_renewal_class {
    HFI_RENEWALS_OF_LOCKS,
    HFI_RENEWALS_OF_READS,
    HFI_RENEWALS_OF_WRITES,
    HFI_RENEWALS_OF_TOKENS,
    HFI_RENEWALS_OF_VALUES,
    HFI_RENEWALS_OF_PERMITS,
    HFI_RENEWAL_CLASSES
};

struct hfi_script_use {
    int script;  /* in hfi_scripts; -1: the kind has no such request */
    size_t keys; /* how many of what `write` hands over are keys */
    size_t args; /* how many are not */
};

struct hfi_kind {
    const char *word; /* in handles and on the command line */
    enum hfi_family family;
    enum hfi_queueing queueing;
    enum hfi_renewal_class renewals;
    const char *field_end; /* what stands behind "uuid:number" in the field */
    /* Releases are published on "word:{name}"; one word for a family. */
    const char *channel_word;
    bool channel_in_braces; /* "word{name}" instead, whatever the name has */
    bool shared;            /* others may hold it at the same time, likewise */
    bool reentrant;         /* its owner may acquire it again */
    bool fenced;            /* a grant brings a fencing token */
    bool counts_entries;    /* so does a re-entry, a new one */
    /* A foreign watchdog may set the TTL to its own period, at any time. */
    bool foreign_watchdog;
    /* BUSY leaves something of a waiter on the server: he always asks it, and
     * who gives up is ended. */
    bool busy_leaves;
    bool any_holder;     /* others write there what they like */
    bool native_compare; /* released and renewed by bare commands, perhaps */
    bool native_acquire; /* a number's first ACQUIRE is a bare command */
    bool has_ids;        /* each hold is known by an id of its own */
    bool records;        /* nobody owns it: the server records each request */
    size_t tells;        /* which item of what TELL answers is the count */
    /* What the script for several calls it; NULL: it is taken by itself. */
    const char *together;
    struct hfi_script_use use[HFI_REQUESTS];
    struct hfi_script_use release_later; /* RELEASE with min_hold left */
    struct hfi_script_use renew_batch;   /* RENEW of several; per item */
    /* RELEASEs that leave together; per item.  No keys: each by itself. */
    struct hfi_script_use release_joined;
    /* Hand the keys and arguments of a copy to a sink, keys first. */
    void (*write)(struct hfi_core *core, const struct hfi_copy *copy,
                  struct hfi_command_sink *sink);
};

/* A kind has a record for each way of fencing: none, a token for each outermost
 * acquisition, one for each acquisition. */
enum hfi_fencing {
    HFI_UNFENCED,
    HFI_FENCED,
    HFI_FENCED_COUNTING,
    HFI_FENCINGS
};

extern const struct hfi_kind hfi_kinds_lock[HFI_FENCINGS];
extern const struct hfi_kind hfi_kinds_nonreentrant[HFI_FENCINGS];
extern const struct hfi_kind hfi_kinds_spin[HFI_FENCINGS];
extern const struct hfi_kind hfi_kinds_token[HFI_FENCINGS];
extern const struct hfi_kind hfi_kinds_fair[HFI_FENCINGS];
extern const struct hfi_kind hfi_kinds_nonreentrant_fair[HFI_FENCINGS];
#define hfi_kind_lock (hfi_kinds_lock[HFI_UNFENCED])
#define hfi_kind_nonreentrant (hfi_kinds_nonreentrant[HFI_UNFENCED])
extern const struct hfi_kind hfi_kind_read;
extern const struct hfi_kind hfi_kinds_write[HFI_FENCINGS];
#define hfi_kind_write (hfi_kinds_write[HFI_UNFENCED])
/* The same two, where readers give way to waiting writers. */
extern const struct hfi_kind hfi_kind_polite_read;
extern const struct hfi_kind hfi_kinds_urgent_write[HFI_FENCINGS];
#define hfi_kind_urgent_write (hfi_kinds_urgent_write[HFI_UNFENCED])
#define hfi_kind_fair (hfi_kinds_fair[HFI_UNFENCED])

/* The script that takes several, keys and arguments of each; and two arguments
 * for all. */
extern const struct hfi_script_use hfi_use_together;
#define HFI_TOGETHER_ARGS 2

/** The record of a public kind, or NULL: there is no such kind, or it cannot be
 *  fenced so. */
const struct hfi_kind *hfi_kind_of(hf_kind kind, enum hfi_fencing fencing);

/** The same where readers give way to writers; any other kind stays as it is.
 */
const struct hfi_kind *hfi_kind_giving_way(const struct hfi_kind *kind);

/* Made by hf_values_lock_new() only, which has its values. */
extern const struct hfi_kind hfi_kind_values;
/** The same values; none are the same as none. */
bool hfi_same_values(const struct hfi_kind_options *a,
                     const struct hfi_kind_options *b);
bool hfi_values_overlap(const struct hfi_kind_options *a,
                        const struct hfi_kind_options *b);

/* Not an hf_lock's: counts that nobody owns. */
extern const struct hfi_kind hfi_kind_semaphore;
extern const struct hfi_kind hfi_kind_latch;

/* Nor is this: each hold has an owner of its own, and an id. */
extern const struct hfi_kind hfi_kind_permits;
#define HFI_PERMIT_TEXT (2 * HFI_PERMIT_BYTES + 1)
/** The bytes of an id, written in hex; false: it is none. */
bool hfi_permit_read(const char *id, unsigned char *ret_bytes);

#endif
