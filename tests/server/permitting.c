/* SPDX-License-Identifier: MIT */
/* permitting.c - permits with leases for tests; see permitting.h. */
#include "permitting.h"

#include "support/fatal.h"

hf_permits *permits_of(hf_client *client, const char *name)
{
    hf_permits *permits = NULL;

    assert_ok(hf_permits_new(client, name, &permits, &problem));
    return permits;
}

hf_status take_permit(hf_permits *permits, int64_t wait_ms, int64_t lease_ms,
                      int renew, char *ret_id)
{
    hf_acquire how = HF_ACQUIRE_INIT;
    char id[HF_PERMIT_ID_SIZE];

    how.wait_ms = wait_ms;
    how.lease_ms = lease_ms;
    how.renew = renew;
    return hf_permits_acquire(permits, &how, ret_id == NULL ? id : ret_id,
                              &problem);
}

bool permits_set_to(hf_permits *permits, int64_t count)
{
    bool set = false;

    assert_ok(hf_permits_try_set(permits, count, 0, &set, &problem));
    return set;
}

hf_permits_info info_of(hf_permits *permits)
{
    hf_permits_info info = HF_PERMITS_INFO_INIT;

    assert_ok(hf_permits_inspect_remote(permits, &info, &problem));
    return info;
}

/* ---- the server's view ---- */

int64_t wire_out(struct world *w, const char *name)
{
    return hft_int(w->server, "ZCARD {%s}:timeout", name);
}

int64_t wire_end_of(struct world *w, const char *name)
{
    return hft_int(w->server, "EVAL %s 1 {%s}:timeout",
                   "return tonumber(redis.call('zrange', KEYS[1], 0, 0, "
                   "'withscores')[2] or 0)",
                   name);
}

int64_t hft_wire_time_ms(struct world *w)
{
    return hft_int(w->server, "EVAL %s 0",
                   "local t = redis.call('time')\n"
                   "return t[1] * 1000 + math.floor(t[2] / 1000)");
}

bool conserved(struct world *w, const char *name, int64_t total)
{
    return hft_int(w->server, "EVAL %s 2 %s {%s}:timeout",
                   "return redis.call('get', KEYS[1]) + "
                   "redis.call('zcard', KEYS[2])",
                   name, name) == total;
}

/* ---- threads ---- */

static void *take_one(void *context)
{
    struct permit_taker *taker = context;

    taker->began_ms = hft_now_ms();
    taker->status = take_permit(taker->permits, taker->wait_ms, 60000, 1,
                                taker->id);
    return NULL;
}

static void run(pthread_t *thread, void *(*function)(void *), void *context)
{
    if (pthread_create(thread, NULL, function, context) != 0) {
        hft_die("no thread");
    }
}

void permit_taker_start(struct permit_taker *taker, hf_permits *permits,
                        int64_t wait_ms)
{
    *taker = (struct permit_taker){.permits = permits, .wait_ms = wait_ms};
    run(&taker->thread, take_one, taker);
}

void permit_taker_join(struct permit_taker *taker)
{
    assert_int_equal(pthread_join(taker->thread, NULL), 0);
}

static pthread_mutex_t counting = PTHREAD_MUTEX_INITIALIZER;

static void step(struct crowd_count *count, int by)
{
    pthread_mutex_lock(&counting);
    count->inside += by;
    count->most = count->inside > count->most ? count->inside : count->most;
    count->turns += by > 0;
    pthread_mutex_unlock(&counting);
}

static void *take_turns(void *context)
{
    struct permit_crowd *crowd = context;
    char id[HF_PERMIT_ID_SIZE];

    for (int i = 0; i < crowd->turns; i++) {
        if (take_permit(crowd->permits, BOUND_MS, 60000, 1, id) != HF_OK) {
            crowd->failures++;
            continue;
        }
        step(crowd->count, 1);
        step(crowd->count, -1);
        if (hf_permits_release(crowd->permits, id, NULL) != HF_OK) {
            crowd->failures++;
        }
    }
    return NULL;
}

void permit_crowd_start(struct permit_crowd *crowd, hf_permits *permits,
                        int turns, struct crowd_count *count)
{
    *crowd = (struct permit_crowd){
        .permits = permits, .turns = turns, .count = count};
    run(&crowd->thread, take_turns, crowd);
}

void permit_crowd_join(struct permit_crowd *crowd)
{
    assert_int_equal(pthread_join(crowd->thread, NULL), 0);
}
