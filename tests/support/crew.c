/* SPDX-License-Identifier: MIT */
/* crew.c - threads that work at once, and report instead of asserting.
 */
#include "support/crew.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/fatal.h"
#include "support/loop.h"

#define LONGEST_NOTE 400

struct hft_crew {
    pthread_mutex_t mutex;
    pthread_cond_t changed; /* on the monotonic clock */
    pthread_t *threads;
    struct hft_member *members;
    hft_work *work;
    unsigned count;
    unsigned ended;
    bool may_begin;
    bool joined;
    atomic_bool stop_wanted;
    char note[LONGEST_NOTE]; /* the first one */
};

static void *live(void *context)
{
    struct hft_member *me = context;
    struct hft_crew *crew = me->crew;

    pthread_mutex_lock(&crew->mutex);
    while (!crew->may_begin) {
        pthread_cond_wait(&crew->changed, &crew->mutex);
    }
    pthread_mutex_unlock(&crew->mutex);
    crew->work(me);
    pthread_mutex_lock(&crew->mutex);
    crew->ended++;
    pthread_cond_broadcast(&crew->changed);
    pthread_mutex_unlock(&crew->mutex);
    return NULL;
}

static void init_locks(struct hft_crew *crew)
{
    pthread_condattr_t monotonic;

    pthread_mutex_init(&crew->mutex, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&crew->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

struct hft_crew *hft_crew_start(unsigned count, hft_work *work, void *context)
{
    struct hft_crew *crew = hft_alloc(sizeof(*crew));
    unsigned i;

    init_locks(crew);
    crew->count = count;
    crew->work = work;
    crew->threads = hft_alloc(count * sizeof(*crew->threads));
    crew->members = hft_alloc(count * sizeof(*crew->members));
    for (i = 0; i < count; i++) {
        crew->members[i].crew = crew;
        crew->members[i].index = i;
        crew->members[i].context = context;
        if (pthread_create(&crew->threads[i], NULL, live, &crew->members[i]) !=
            0) {
            hft_die("cannot start thread %u of %u", i + 1, count);
        }
    }
    pthread_mutex_lock(&crew->mutex);
    crew->may_begin = true;
    pthread_cond_broadcast(&crew->changed);
    pthread_mutex_unlock(&crew->mutex);
    return crew;
}

bool hft_crew_wait_ended(struct hft_crew *crew, unsigned at_least,
                         int64_t bound_ms)
{
    struct timespec end = hft_loop_in(bound_ms);
    int status = 0;
    bool ended;

    pthread_mutex_lock(&crew->mutex);
    while (crew->ended < at_least && status == 0) {
        status = pthread_cond_timedwait(&crew->changed, &crew->mutex, &end);
    }
    ended = crew->ended >= at_least;
    pthread_mutex_unlock(&crew->mutex);
    return ended;
}

const char *hft_crew_join(struct hft_crew *crew, int64_t bound_ms)
{
    unsigned i;

    if (!hft_crew_wait_ended(crew, crew->count, bound_ms)) {
        hft_die("%u of %u threads are stuck after %lld ms%s%s",
                crew->count - crew->ended, crew->count, (long long)bound_ms,
                crew->note[0] != '\0' ? "; first note: " : "", crew->note);
    }
    for (i = 0; !crew->joined && i < crew->count; i++) {
        pthread_join(crew->threads[i], NULL);
    }
    crew->joined = true;
    return crew->note[0] != '\0' ? crew->note : NULL;
}

int64_t hft_crew_result(const struct hft_crew *crew, unsigned index)
{
    if (!crew->joined || index >= crew->count) {
        hft_die("no result of member %u before the join", index);
    }
    return crew->members[index].result;
}

void hft_crew_stop(struct hft_crew *crew)
{
    atomic_store(&crew->stop_wanted, true);
}

void hft_crew_free(struct hft_crew *crew)
{
    if (crew == NULL) {
        return;
    }
    if (!crew->joined) {
        hft_die("a crew is freed before it is joined");
    }
    pthread_cond_destroy(&crew->changed);
    pthread_mutex_destroy(&crew->mutex);
    free(crew->threads);
    free(crew->members);
    free(crew);
}

bool hft_member_should_stop(const struct hft_member *me)
{
    return atomic_load(&me->crew->stop_wanted);
}

void hft_member_note(struct hft_member *me, const char *format, ...)
{
    struct hft_crew *crew = me->crew;
    va_list args;

    va_start(args, format);
    pthread_mutex_lock(&crew->mutex);
    if (crew->note[0] == '\0') {
        vsnprintf(crew->note, sizeof(crew->note), format, args);
    }
    pthread_mutex_unlock(&crew->mutex);
    va_end(args);
}

bool hft_member_check(struct hft_member *me, bool holds, const char *condition,
                      const char *file, int line)
{
    if (!holds) {
        hft_member_note(me, "%s:%d: thread %u: not %s", file, line, me->index,
                        condition);
    }
    return holds;
}
