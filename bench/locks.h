/* SPDX-License-Identifier: MIT */
/* locks.h - many lock objects of the library, and holding them all at once. */
#ifndef BENCH_LOCKS_H
#define BENCH_LOCKS_H

#include <stdbool.h>
#include <stddef.h>

#include "holdfast/holdfast.h"

struct locks {
    hf_client *client; /* borrowed */
    hf_lock **each;
    size_t count;
};

/* The names "PREFIX:000000" and on; each of them has LOCKS_NAME_BYTES(PREFIX)
 * bytes.  Free with locks_free() whatever is returned. */
bool locks_new(hf_client *client, const char *prefix, size_t count,
               struct locks *ret_locks);
void locks_free(struct locks *locks);

#define LOCKS_NAME_BYTES(prefix) (strlen(prefix) + 7)

/* Take (or release) all of them for one owner, some threads at a time. */
bool locks_acquire_all(const struct locks *locks, hf_owner *owner);
bool locks_release_all(const struct locks *locks, hf_owner *owner);

#endif
