/* SPDX-License-Identifier: MIT */
/* floor.h - the floor: the library's scripts sent by bare hiredis.
 *
 * What a careful programmer gets with a blocking hiredis connection, EVALSHA
 * and nothing else: no leases, no fresh numbers, no time limits to speak of.
 * The library is measured against this.
 */
#ifndef BENCH_FLOOR_H
#define BENCH_FLOOR_H

#include <stdbool.h>
#include <stddef.h>

#include "bench/address.h"

struct redisContext;

/* Items in a call of the group script, as the library sends them. */
#define FLOOR_GROUP_MAX 100

struct floor {
    struct redisContext *redis;
    char not_after[24]; /* for acquire: the server's time and some hours */
};

/* A name with everything that the scripts want to be told about it. */
struct floor_lock {
    char name[64];
    char channel[96];
    char owner[64];
};

/* Connect, log in, and load the scripts.  Says why it cannot. */
bool floor_open(const struct address *address, struct floor *ret_floor);
void floor_close(struct floor *floor);

/* The names "PREFIX:000000" and on, each with its owner; free() them. */
struct floor_lock *floor_locks_new(const char *prefix, size_t count);

/* One script and its answer.  @return false (and say why) unless it did what
 * its name says. */
bool floor_acquire(struct floor *floor, const struct floor_lock *lock);
bool floor_release(struct floor *floor, const struct floor_lock *lock);

/* All of them in one batch, and then all answers. */
bool floor_acquire_all(struct floor *floor, const struct floor_lock *locks,
                       size_t count);
bool floor_release_all(struct floor *floor, const struct floor_lock *locks,
                       size_t count);

/* Renew up to FLOOR_GROUP_MAX of them with one call of the group script. */
bool floor_renew(struct floor *floor, const struct floor_lock *locks,
                 size_t count);

/* Hear the releases of a lock; wait for one; stop hearing.  Nothing else can
 * be sent on a connection that hears. */
bool floor_subscribe(struct floor *floor, const struct floor_lock *lock);
bool floor_await_message(struct floor *floor);
bool floor_unsubscribe(struct floor *floor, const struct floor_lock *lock);

/* A field of the server's INFO, as text; "" if it has none. */
bool floor_info(struct floor *floor, const char *section, const char *field,
                char ret_text[64]);

/* User and system time that the server has used, in seconds; -1: unknown. */
double floor_server_cpu_s(struct floor *floor);

#endif
