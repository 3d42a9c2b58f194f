/* SPDX-License-Identifier: MIT */
/* counting.c - semaphores and latches for tests; see counting.h. */
#include "counting.h"

#include "support/fatal.h"

#define MOST 256

static hf_semaphore *semaphores[MOST];
static size_t semaphore_count;
static hf_latch *latches[MOST];
static size_t latch_count;

int counting_begin(void **world)
{
    return world_begin(world);
}

int counting_end(void **world)
{
    int result = world_end(world);

    while (semaphore_count > 0) {
        assert_ok(hf_semaphore_free(semaphores[--semaphore_count]));
    }
    while (latch_count > 0) {
        assert_ok(hf_latch_free(latches[--latch_count]));
    }
    return result;
}

hf_semaphore *a_semaphore_of(hf_client *client, const char *name)
{
    hf_semaphore *semaphore = NULL;

    assert_true(semaphore_count < MOST);
    assert_ok(hf_semaphore_new(client, name, &semaphore, &problem));
    semaphores[semaphore_count++] = semaphore;
    return semaphore;
}

hf_semaphore *a_semaphore(struct world *w, const char *name)
{
    return a_semaphore_of(w->client, name);
}

hf_latch *a_latch_of(hf_client *client, const char *name)
{
    hf_latch *latch = NULL;

    assert_true(latch_count < MOST);
    assert_ok(hf_latch_new(client, name, &latch, &problem));
    latches[latch_count++] = latch;
    return latch;
}

hf_latch *a_latch(struct world *w, const char *name)
{
    return a_latch_of(w->client, name);
}

/* ---- calls in short ---- */

hf_status get(hf_semaphore *semaphore, int64_t permits, int64_t wait_ms)
{
    return hf_semaphore_acquire(semaphore, permits, wait_ms, NULL, &problem);
}

hf_status put(hf_semaphore *semaphore, int64_t permits)
{
    return hf_semaphore_release(semaphore, permits, &problem);
}

bool set_to(hf_semaphore *semaphore, int64_t permits)
{
    bool set = false;

    assert_ok(hf_semaphore_try_set(semaphore, permits, 0, &set, &problem));
    return set;
}

int64_t available(hf_semaphore *semaphore)
{
    int64_t found = HFT_NIL;

    assert_ok(hf_semaphore_available(semaphore, &found, &problem));
    return found;
}

bool armed_with(hf_latch *latch, int64_t count)
{
    bool set = false;

    assert_ok(hf_latch_try_set(latch, count, &set, &problem));
    return set;
}

int64_t counted_down(hf_latch *latch)
{
    int64_t left = HFT_NIL;

    assert_ok(hf_latch_count_down(latch, &left, &problem));
    return left;
}

hf_status await(hf_latch *latch, int64_t wait_ms)
{
    return hf_latch_await(latch, wait_ms, NULL, &problem);
}

/* ---- the server's view ---- */

int64_t wire_value(struct world *w, const char *name)
{
    return hft_int(w->server, "GET %s", name);
}

bool wire_value_becomes(struct world *w, const char *name, int64_t expected,
                        int64_t bound_ms)
{
    return hft_wait_int(w->server, expected, bound_ms, "GET %s", name);
}

bool falls_silent(hf_client *client, int64_t bound_ms)
{
    int64_t end_ms = hft_now_ms() + bound_ms;
    int64_t sent, before;

    sent = stats_of(client).scripts_sent;
    do {
        before = sent;
        hft_let_pass_ms(100);
        sent = stats_of(client).scripts_sent;
    } while (sent != before && hft_now_ms() < end_ms);
    return sent == before;
}

int64_t wire_records(struct world *w)
{
    return hft_int(w->server, "EVAL %s 0",
                   "return #redis.call('keys', 'holdfast_request:*')");
}

/* ---- threads ---- */

static void *take_or_wait(void *context)
{
    struct taker *taker = context;

    taker->began_ms = hft_now_ms();
    if (taker->semaphore != NULL) {
        taker->status = hf_semaphore_acquire(taker->semaphore, taker->permits,
                                             taker->wait_ms, taker->cancel,
                                             &taker->error);
    } else {
        taker->status = hf_latch_await(taker->latch, taker->wait_ms,
                                       taker->cancel, &taker->error);
    }
    taker->ended_ms = hft_now_ms();
    return NULL;
}

void taker_run(struct taker *taker)
{
    if (pthread_create(&taker->thread, NULL, take_or_wait, taker) != 0) {
        hft_die("no thread");
    }
}

void taker_start(struct taker *taker, hf_semaphore *semaphore, int64_t permits,
                 int64_t wait_ms)
{
    *taker = (struct taker){
        .semaphore = semaphore, .permits = permits, .wait_ms = wait_ms};
    taker_run(taker);
}

void waiter_start(struct taker *taker, hf_latch *latch, int64_t wait_ms)
{
    *taker = (struct taker){.latch = latch, .wait_ms = wait_ms};
    taker_run(taker);
}

void taker_join(struct taker *taker)
{
    assert_int_equal(pthread_join(taker->thread, NULL), 0);
}
