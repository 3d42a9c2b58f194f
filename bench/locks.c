/* SPDX-License-Identifier: MIT */
/* locks.c - see locks.h. */
#include "bench/locks.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/bench.h"
#include "bench/crowd.h"

/* Enough that their commands leave in batches. */
#define THREADS 16

/* What the threads share: each takes the next index. */
struct sweep {
    const struct locks *locks;
    hf_owner *owner;
    atomic_size_t next;
    hf_status (*visit)(hf_lock *lock, hf_owner *owner, hf_error *reterr);
};

bool locks_new(hf_client *client, const char *prefix, size_t count,
               struct locks *ret_locks)
{
    ret_locks->client = client;
    ret_locks->count = 0;
    ret_locks->each = calloc(count, sizeof(hf_lock *));
    if (ret_locks->each == NULL) {
        return bench_failed("locks", "out of memory");
    }
    while (ret_locks->count < count) {
        char name[80];
        hf_error err;

        (void)snprintf(name, sizeof(name), "%.40s:%06zu", prefix,
                       ret_locks->count);
        if (hf_lock_new(client, name, &ret_locks->each[ret_locks->count],
                        &err) != HF_OK) {
            return bench_hf_failed("locks", &err);
        }
        ret_locks->count++;
    }
    return true;
}

void locks_free(struct locks *locks)
{
    for (size_t i = 0; i < locks->count; i++) {
        (void)hf_lock_free(locks->each[i]);
    }
    free(locks->each);
    locks->each = NULL;
    locks->count = 0;
}

static hf_status acquire(hf_lock *lock, hf_owner *owner, hf_error *reterr)
{
    hf_acquire how = HF_ACQUIRE_INIT;

    how.owner = owner;
    return hf_lock_acquire(lock, &how, reterr);
}

static enum crowd_turn visit_next(void *context)
{
    struct sweep *sweep = context;
    size_t index = atomic_fetch_add(&sweep->next, 1);
    hf_error err;

    if (index >= sweep->locks->count) {
        return CROWD_DONE;
    }
    if (sweep->visit(sweep->locks->each[index], sweep->owner, &err) != HF_OK) {
        (void)bench_hf_failed("locks", &err);
        return CROWD_FAILED;
    }
    return bench_interrupted() ? CROWD_FAILED : CROWD_AGAIN;
}

static bool visit_all(struct sweep *sweep)
{
    struct crowd_member members[THREADS];
    struct crowd_time time;

    for (size_t i = 0; i < THREADS; i++) {
        members[i] = (struct crowd_member){.turn = visit_next,
                                           .context = sweep};
    }
    return crowd_run(members, THREADS, 0, &time);
}

bool locks_acquire_all(const struct locks *locks, hf_owner *owner)
{
    struct sweep sweep = {locks, owner, 0, acquire};

    return visit_all(&sweep);
}

bool locks_release_all(const struct locks *locks, hf_owner *owner)
{
    struct sweep sweep = {locks, owner, 0, hf_lock_release};

    return visit_all(&sweep);
}
