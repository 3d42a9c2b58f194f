/* SPDX-License-Identifier: MIT */
/* case_memory.c - what does a held lease weigh, and does anything remain?
 *
 * Value: bytes that the allocator has handed out more, per held lease, with the
 * lock object and without the name's own bytes.  The second part takes and
 * frees a million names once, each with a lock object of its own: what is in
 * use after them is compared with what was in use after the first 10,000, and
 * so is the resident size.  There is no floor: bare hiredis keeps no leases.
 */
#include "bench/bench.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/crowd.h"
#include "bench/locks.h"

#define LEASES 100000
#define LEASES_QUICK 10000
#define NAMES_FIRST 10000
#define NAMES 1000000
#define NAMES_QUICK 100000
#define THREADS 32
#define NAME "holdfast-bench:memory"

struct state {
    size_t leases;
    size_t names;
    hf_client *client;
    hf_owner *owner;
    struct locks locks;
    atomic_size_t next; /* name to be taken once */
    size_t end;
};

/* What the process has. */
struct memory {
    double used; /* handed out by the allocator, large blocks included */
    double resident;
};

static double resident_bytes(void)
{
    FILE *statm = fopen("/proc/self/statm", "re");
    char line[128];
    char *at;

    if (statm == NULL) {
        return 0;
    }
    at = fgets(line, sizeof(line), statm) == NULL ? NULL : strchr(line, ' ');
    (void)fclose(statm);
    return at == NULL
               ? 0
               : (double)strtol(at, NULL, 10) * (double)sysconf(_SC_PAGESIZE);
}

static struct memory weigh(void)
{
    struct mallinfo2 info = mallinfo2();

    return (struct memory){(double)(info.uordblks + info.hblkhd),
                           resident_bytes()};
}

/* ---- held ---- */

enum { BEFORE, MADE, HELD, AFTER, MARKS };

static void report_held(struct state *state, const struct memory *marks,
                        double array, struct bench_result *result)
{
    double count = (double)state->leases;
    double name = (double)LOCKS_NAME_BYTES(NAME);
    double objects = marks[MADE].used - marks[BEFORE].used - array;
    double holds = marks[HELD].used - marks[MADE].used;

    result->holdfast = (objects + holds) / count - name;
    bench_extra(result, "leases", count);
    bench_extra(result, "name_bytes", name);
    bench_extra(result, "lock_object_bytes", objects / count);
    bench_extra(result, "hold_bytes", holds / count);
    bench_extra(result, "left_bytes", marks[AFTER].used - marks[BEFORE].used);
}

static bool measure_held(struct state *state, struct bench_result *result)
{
    struct memory marks[MARKS];
    double array; /* of pointers: ours, not the library's */
    bool ok;

    marks[BEFORE] = weigh();
    if (!locks_new(state->client, NAME, state->leases, &state->locks)) {
        locks_free(&state->locks);
        return false;
    }
    array = (double)malloc_usable_size(state->locks.each);
    marks[MADE] = weigh();
    ok = locks_acquire_all(&state->locks, state->owner);
    marks[HELD] = weigh();
    ok = locks_release_all(&state->locks, state->owner) && ok;
    locks_free(&state->locks);
    marks[AFTER] = weigh();
    if (ok) {
        report_held(state, marks, array, result);
    }
    return ok;
}

/* ---- taken and released once ---- */

static bool use_once(struct state *state, size_t index, hf_error *reterr)
{
    char name[80];
    hf_lock *lock;
    bool ok;

    (void)snprintf(name, sizeof(name), NAME "-once:%07zu", index);
    if (hf_lock_new(state->client, name, &lock, reterr) != HF_OK) {
        return false;
    }
    ok = hf_lock_acquire(lock, NULL, reterr) == HF_OK &&
         hf_lock_release(lock, NULL, reterr) == HF_OK;
    (void)hf_lock_free(lock);
    return ok;
}

static enum crowd_turn use_next(void *context)
{
    struct state *state = context;
    size_t index = atomic_fetch_add(&state->next, 1);
    hf_error err;

    if (index >= state->end) {
        return CROWD_DONE;
    }
    if (!use_once(state, index, &err)) {
        (void)bench_hf_failed("memory", &err);
        return CROWD_FAILED;
    }
    return bench_interrupted() ? CROWD_FAILED : CROWD_AGAIN;
}

static bool use_names_until(struct state *state, size_t end)
{
    struct crowd_member members[THREADS] = {0};
    struct crowd_time time;

    atomic_store(&state->next, state->end);
    state->end = end;
    for (size_t i = 0; i < THREADS; i++) {
        members[i].turn = use_next;
        members[i].context = state;
    }
    return crowd_run(members, THREADS, 0, &time);
}

static bool measure_once(struct state *state, struct bench_result *result)
{
    struct memory first;
    struct memory last;

    if (!use_names_until(state, NAMES_FIRST)) {
        return false;
    }
    first = weigh();
    if (!use_names_until(state, state->names)) {
        return false;
    }
    last = weigh();
    bench_extra(result, "names_once", (double)state->names);
    bench_extra(result, "grown_bytes", last.used - first.used);
    bench_extra(result, "resident_grown_bytes", last.resident - first.resident);
    return true;
}

static bool run(const struct bench_context *context,
                const struct bench_case *self, struct bench_result *ret_result)
{
    struct state state = {
        .leases = context->quick ? LEASES_QUICK : LEASES,
        .names = context->quick ? NAMES_QUICK : NAMES,
        .client = bench_open_client(context),
    };
    hf_error err;
    bool ok = state.client != NULL;

    (void)self;
    if (ok && hf_owner_new(state.client, &state.owner, &err) != HF_OK) {
        ok = bench_hf_failed("memory", &err);
    }
    ok = ok && measure_once(&state, ret_result) &&
         measure_held(&state, ret_result);
    (void)hf_owner_free(state.owner);
    (void)hf_client_close(state.client);
    return ok;
}

const struct bench_case bench_memory = {
    .name = "memory",
    .unit = "bytes/lease",
    .better = BENCH_LOWER,
    .threads = THREADS,
    .run = run,
};
