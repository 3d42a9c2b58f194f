/* SPDX-License-Identifier: MIT */
/* demo/worker.c - one of the processes that share a counter in the demo.
 *
 * The counter is a string on a server, and it is increased as anything is that
 * cannot be changed in one step: read it, add one, write it.  Two processes
 * that do so at the same time lose an update.  With the lock around it, none
 * is lost.
 *
 *     holdfast_demo SOCKET ROLE NAME TURNS
 *
 * Roles:  bare    TURNS increases without the lock.
 *         locked  TURNS increases with it.
 *         dies    takes the lock, reads, and stays there until it is killed.
 *         stops   takes the lock, reads, and waits at a gate; behind the gate
 *                 it asks whether it still has the lock, and writes only then.
 *
 * It says what it does in lines of the form `EVENT MICROSECONDS ...`, which
 * demo/run-demo reads.  One thread.  Any failure is one line on stderr and
 * exit status 1.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <hiredis/hiredis.h>

#include "holdfast/holdfast.h"

/* Short, so that what happens at its end can be watched. */
#define LEASE_MS 1000

struct worker {
    const char *name;
    redisContext *redis; /* to what the lock protects */
    hf_client *client;
    hf_lock *lock;
};

/* Events carry the wall clock: the script compares them with its own. */
static void say(const char *event, int64_t value, const char *text)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    printf("%s %" PRId64 " %" PRId64 " %s\n", event,
           (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000, value, text);
    fflush(stdout);
}

static bool failed(const struct worker *self, const char *what,
                   const char *detail)
{
    fprintf(stderr, "worker %s: %s: %s\n", self->name, what, detail);
    return false;
}

/* ---- what is protected: a counter, changed in three steps ---------------- */

static bool read_counter(struct worker *self, int64_t *ret_value)
{
    redisReply *reply = redisCommand(self->redis, "GET counter");
    bool is_read = reply != NULL && reply->type == REDIS_REPLY_STRING;

    if (is_read) {
        *ret_value = strtoll(reply->str, NULL, 10);
    }
    freeReplyObject(reply);
    return is_read || failed(self, "GET counter", self->redis->errstr);
}

static bool write_counter(struct worker *self, int64_t value)
{
    redisReply *reply = redisCommand(self->redis, "SET counter %lld",
                                     (long long)value);
    bool is_written = reply != NULL && reply->type == REDIS_REPLY_STATUS;

    freeReplyObject(reply);
    return is_written || failed(self, "SET counter", self->redis->errstr);
}

static bool increase(struct worker *self)
{
    int64_t value;

    return read_counter(self, &value) && write_counter(self, value + 1);
}

/* Wait until the script lets this worker go on. */
static bool pass_gate(struct worker *self, const char *gate)
{
    redisReply *reply = redisCommand(self->redis, "BLPOP %s:%s 50", gate,
                                     self->name);
    bool is_open = reply != NULL && reply->type == REDIS_REPLY_ARRAY;

    freeReplyObject(reply);
    return is_open || failed(self, gate, "the gate stayed shut");
}

/* ---- the roles ------------------------------------------------------------ */

static bool acquire(struct worker *self)
{
    hf_acquire how = HF_ACQUIRE_INIT;
    hf_error error;

    how.lease_ms = LEASE_MS;
    if (hf_lock_acquire(self->lock, &how, &error) != HF_OK) {
        return failed(self, "acquire", error.message);
    }
    return true;
}

static bool release(struct worker *self)
{
    hf_error error;

    if (hf_lock_release(self->lock, NULL, &error) != HF_OK) {
        return failed(self, "release", error.message);
    }
    return true;
}

static bool count_bare(struct worker *self, long turns)
{
    for (long i = 0; i < turns; i++) {
        if (!increase(self)) {
            return false;
        }
    }
    return true;
}

static bool count_locked(struct worker *self, long turns)
{
    for (long i = 0; i < turns; i++) {
        if (!acquire(self)) {
            return false;
        }
        if (i == 0) {
            say("got", 0, "the lock");
        }
        if (!increase(self) || !release(self)) {
            return false;
        }
    }
    return true;
}

static bool die_inside(struct worker *self, long turns)
{
    int64_t value;

    (void)turns;
    if (!acquire(self) || !read_counter(self, &value)) {
        return false;
    }
    say("holds", value, "the lock");
    return pass_gate(self, "never");
}

static bool stop_inside(struct worker *self, long turns)
{
    hf_lost_reason reason = HF_NOT_LOST;
    int64_t value;

    (void)turns;
    if (!acquire(self) || !read_counter(self, &value)) {
        return false;
    }
    say("holds", value, "the lock");
    if (!pass_gate(self, "wake")) {
        return false;
    }
    /* The script has stopped this process up to here. */
    if (hf_lock_is_held(self->lock, NULL)) {
        say("wrote", value + 1, "it still held the lock");
        return write_counter(self, value + 1) && release(self);
    }
    hf_lock_state_of(self->lock, NULL, &reason);
    say("lost", value, hf_lost_reason_text(reason));
    if (hf_lock_release(self->lock, NULL, NULL) != HF_LOST) {
        return failed(self, "release", "a lost lock was released");
    }
    return true;
}

/* ---- setting up ------------------------------------------------------------ */

static const struct role {
    const char *name;
    bool (*play)(struct worker *self, long turns);
} roles[] = {
    {"bare", count_bare},
    {"locked", count_locked},
    {"dies", die_inside},
    {"stops", stop_inside},
};

static const struct role *find_role(const char *name)
{
    for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++) {
        if (strcmp(roles[i].name, name) == 0) {
            return &roles[i];
        }
    }
    return NULL;
}

static bool connect_both(struct worker *self, const char *path)
{
    hf_error error;
    char url[512];

    self->redis = redisConnectUnix(path);
    if (self->redis == NULL || self->redis->err != 0) {
        return failed(self, "connect", path);
    }
    snprintf(url, sizeof(url), "unix:%s", path);
    if (hf_client_open(url, NULL, &self->client, &error) != HF_OK ||
        hf_lock_new(self->client, "demo", &self->lock, &error) != HF_OK) {
        return failed(self, url, error.message);
    }
    return true;
}

static void leave(struct worker *self)
{
    hf_lock_free(self->lock);
    hf_client_close(self->client);
    redisFree(self->redis);
}

int main(int argc, char **argv)
{
    struct worker self = {0};
    const struct role *role = argc == 5 ? find_role(argv[2]) : NULL;
    bool is_done;

    if (role == NULL) {
        fputs("usage: holdfast_demo SOCKET ROLE NAME TURNS\n", stderr);
        return 64;
    }
    self.name = argv[3];
    is_done = connect_both(&self, argv[1]);
    if (is_done) {
        say("ready", 0, "");
        is_done = pass_gate(&self, "start") &&
                  role->play(&self, strtol(argv[4], NULL, 10));
    }
    if (is_done) {
        say("done", 0, "");
    }
    leave(&self);
    return is_done ? 0 : 1;
}
