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

#include "sync/core.h"

/* How the waiters of one client for one name queue. */
enum hfi_queueing {
    HFI_QUEUE_ONE_CONTENDER /* one FIFO, whose head alone asks the server */
};

struct hfi_script_use {
    int script;  /* in hfi_scripts; -1: the kind has no such request */
    size_t keys; /* how many of what `write` hands over are keys */
    size_t args; /* how many are not */
};

struct hfi_kind {
    const char *word; /* in handles and on the command line */
    enum hfi_queueing queueing;
    struct hfi_script_use use[HFI_REQUESTS];
    struct hfi_script_use release_later; /* RELEASE with min_hold left */
    struct hfi_script_use renew_batch;   /* RENEW of several; per item */
    /* Hand the keys and arguments of a copy to a sink, keys first. */
    void (*write)(struct hfi_core *core, const struct hfi_copy *copy,
                  struct hfi_command_sink *sink);
    /* The channel on which a release of this name is published: its length;
     * writes at most `size` bytes. */
    size_t (*channel)(const void *name, size_t name_bytes, char *buf,
                      size_t size);
};

extern const struct hfi_kind hfi_kind_lock;

#endif
