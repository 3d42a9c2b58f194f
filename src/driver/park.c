/* SPDX-License-Identifier: MIT */
/* driver/park.c - threads that sleep until their call has ended.
 *
 * Who finds calls ended, under the client's mutex, leaves the results with the
 * threads that wait for them, notes where these sleep, and wakes them right
 * after the mutex is released.  A thread that wakes up takes its result and
 * goes: it needs no mutex any more, so waking sixty-four of them does not make
 * them queue for one.
 *
 * Threads sleep in beds: a bed is a futex's word, and one bit of 32.  The
 * threads whose commands leave in one write have beds in one room, which is one
 * word: their replies come together, and then one system call wakes all that
 * are called, and nobody else (FUTEX_WAKE_BITSET).  A room's word counts: it
 * goes up before its sleepers are woken.  A thread reads it, then looks whether
 * it was called, and sleeps only if the word is still the same: so a call is
 * never missed, whenever it comes.
 *
 * Rooms are used again and again, by all clients, and more threads than bits
 * share one.  A thread that is woken although nobody called it has a bed of its
 * own for the rest of its call, so that a long wait is not disturbed again.
 *
 * A waiter belongs to its thread, for every client and call.  Neither its
 * memory nor the rooms are ever given back: so a wake-up that comes late, when
 * the thread saw by itself that it was done, reaches nobody, or makes somebody
 * look around once and sleep again.
 */
#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "driver/client.h"

static pthread_mutex_t pool_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct hfi_waiter *pool;
static _Thread_local struct hfi_waiter *mine;

static struct hfi_waiter *take_or_make(void)
{
    struct hfi_waiter *waiter;

    pthread_mutex_lock(&pool_mutex);
    waiter = pool;
    if (waiter != NULL) {
        pool = waiter->next;
    }
    pthread_mutex_unlock(&pool_mutex);
    if (waiter != NULL) {
        return waiter;
    }
    waiter = calloc(1, sizeof(*waiter));
    if (waiter != NULL) {
        waiter->wake.fd = -1;
    }
    return waiter;
}

/* The calling thread's waiter, ready for a new call; NULL: out of memory. */
struct hfi_waiter *hfi_waiter_mine(void)
{
    if (mine == NULL) {
        mine = take_or_make();
        if (mine == NULL) {
            return NULL;
        }
        hfi_thread_will_end();
    }
    atomic_store_explicit(&mine->done, false, memory_order_relaxed);
    mine->parked = false;
    mine->chosen = false;
    mine->disturbed = false;
    return mine;
}

/* The thread ends. */
void hfi_waiter_give_back(void)
{
    if (mine == NULL) {
        return;
    }
    pthread_mutex_lock(&pool_mutex);
    mine->next = pool;
    pool = mine;
    pthread_mutex_unlock(&pool_mutex);
    mine = NULL;
}

/* A fork leaves the child its one thread, and the mutex free. */
void hfi_waiters_before_fork(void)
{
    pthread_mutex_lock(&pool_mutex);
}

void hfi_waiters_after_fork(void)
{
    pthread_mutex_unlock(&pool_mutex);
}

bool hfi_waiter_is_mine(const struct hfi_waiter *waiter)
{
    return mine == waiter;
}

/* A forked child does not share its parent's descriptor. */
bool hfi_waiter_drives_many(struct hfi_waiter *waiter, struct hfi_task *task)
{
    if (waiter->wake_of != hfi_fork_generation()) {
        hfi_wake_close(&waiter->wake);
    }
    waiter->wake_of = hfi_fork_generation();
    waiter->op = NULL;
    waiter->due_ms = INT64_MAX;
    waiter->task = task;
    return waiter->wake.fd >= 0 || hfi_wake_open(&waiter->wake, NULL) == HF_OK;
}

/* The flag is the last that is touched of the call: its thread may go on at
 * once.  The waiter itself stays. */
void hfi_waiter_done(struct hfi_waiter *waiter)
{
    bool sleeps = mine != waiter;

    atomic_store(&waiter->done, true);
    if (sleeps) {
        hfi_wake_fire(&waiter->wake);
    }
}

/* ---- sleeping ---- */

/* How many batches of calls may be on their way before a room is used twice:
 * far more than any link has. */
#define ROOMS 64
#define BEDS 32 /* the bits of a futex's mask */

static struct {
    _Alignas(64) atomic_uint word; /* a cache line each */
} rooms[ROOMS];
static atomic_uint rooms_used;

unsigned hfi_room_next(void)
{
    return atomic_fetch_add(&rooms_used, 1) % ROOMS;
}

void hfi_waiter_park(struct hfi_waiter *waiter, struct hfi_link *link)
{
    atomic_store(&waiter->called, false);
    waiter->parked = true;
    if (link != NULL && !waiter->disturbed) {
        waiter->bed.word = &rooms[link->room].word;
        waiter->bed.bits = 1U << (link->sleepers++ % BEDS);
    } else {
        waiter->bed.word = &waiter->own;
        waiter->bed.bits = 1;
    }
}

void hfi_waiter_sleep(struct hfi_waiter *waiter)
{
    const struct hfi_bed *bed = &waiter->bed;
    unsigned seen = atomic_load(bed->word);

    if (atomic_load(&waiter->called)) {
        return;
    }
    if (syscall(SYS_futex, bed->word, FUTEX_WAIT_BITSET_PRIVATE, seen, NULL,
                NULL, bed->bits) == 0 &&
        !atomic_load(&waiter->called)) {
        waiter->disturbed = true;
    }
}

/* ---- waking ---- */

static void wake(const struct hfi_bed *bed)
{
    atomic_fetch_add(bed->word, 1);
    (void)syscall(SYS_futex, bed->word, FUTEX_WAKE_BITSET_PRIVATE, INT_MAX,
                  NULL, NULL, bed->bits);
}

void hfi_beds_wake(const struct hfi_beds *beds)
{
    for (size_t i = 0; i < beds->count; i++) {
        wake(&beds->each[i]);
    }
}

void hfi_waiter_wake_later(struct hf_client *client, struct hfi_waiter *waiter)
{
    struct hfi_beds *beds = &client->to_wake;
    size_t i = 0;

    atomic_store(&waiter->called, true);
    while (i < beds->count && beds->each[i].word != waiter->bed.word) {
        i++;
    }
    if (i < beds->count) {
        beds->each[i].bits |= waiter->bed.bits;
    } else if (i < HFI_BEDS_MAX) {
        beds->each[beds->count++] = waiter->bed;
    } else {
        wake(&waiter->bed); /* it may have to wait for the mutex, no more */
    }
}
