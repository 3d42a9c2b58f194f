/* SPDX-License-Identifier: MIT */
/* queue.c - the queue of a fair lock on the server: what stands in it, and
 * that its order is kept.
 *
 * It is read with the lock (sim_image_read).  An entry has a living cause: a
 * call that waits, or an End that will remove it; what is dead is swept by the
 * next script of ours.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/shadow.h"

/* ---- reading ---- */

/* NULL: there is none, or somebody else's. */
static struct sim_key *find(struct sim_world *world, const char *name,
                            enum sim_type type)
{
    struct sim_key *key = sim_key_find(sim_server_db(world->server, 0), name,
                                       sim_server_ms(world));

    return key == NULL || sim_key_type(key) != type ? NULL : key;
}

static bool read_member(const char *text, size_t len, struct sim_place *place)
{
    struct sim_identity id;
    bool ours = sim_identity_read(text, len, &id) > 0;

    place->client = id.client;
    place->n = id.n;
    if (sim_is_javas(text, len)) {
        place->client = SIM_JAVAS;
        return true;
    }
    return ours;
}

static void read_alive(struct sim_queue *queue, struct sim_key *alive)
{
    for (size_t i = 0; alive != NULL && i < sim_key_count(alive); i++) {
        struct sim_entry entry = sim_key_entry(alive, i);
        struct sim_place place;

        if (!read_member(entry.name, entry.name_len, &place)) {
            continue;
        }
        for (size_t k = 0; k < queue->count; k++) {
            if (queue->place[k].client == place.client &&
                queue->place[k].n == place.n) {
                queue->place[k].alive_ms = (int64_t)entry.score;
                queue->place[k].known = true;
            }
        }
    }
}

/* Of whom nothing is known but a score: who is not ours, and one of ours of
 * whom the server has forgotten the rest, long after he was dead. */
static void read_scores(struct sim_queue *queue, struct sim_key *scores,
                        int64_t debt)
{
    for (size_t i = 0; scores != NULL && i < sim_key_count(scores); i++) {
        struct sim_entry entry = sim_key_entry(scores, i);
        struct sim_place place;

        if (!read_member(entry.name, entry.name_len, &place)) {
            continue;
        }
        for (size_t k = 0; k < queue->count; k++) {
            if (queue->place[k].client == place.client &&
                queue->place[k].n == place.n &&
                queue->place[k].alive_ms == INT64_MAX) {
                queue->place[k].alive_ms = (int64_t)entry.score - debt;
            }
        }
    }
}

/* What is yet to be taken from every score. */
static int64_t debt_of(struct sim_world *world, const struct sim_lock *lock)
{
    const char *debt = sim_hash_get(sim_server_db(world->server, 0),
                                    lock->names.waits, ".debt",
                                    sim_server_ms(world));

    return debt == NULL ? 0 : strtoll(debt, NULL, 10);
}

void sim_queue_read(struct sim_world *world, struct sim_lock *lock)
{
    struct sim_key *list = find(world, lock->names.queue, SIM_LIST);
    struct sim_key *scores = find(world, lock->names.scores, SIM_ZSET);
    struct sim_queue *queue = &lock->queue;
    size_t count = list == NULL ? 0 : sim_key_count(list);
    struct sim_place head = queue->place[0];
    bool had_head = queue->count > 0;

    queue->count = 0;
    queue->scores = scores == NULL ? 0 : sim_key_count(scores);
    queue->entries = count;
    for (size_t i = 0; i < count && queue->count < SIM_PLACES; i++) {
        struct sim_entry entry = sim_key_entry(list, i);
        struct sim_place *place = &queue->place[queue->count];

        place->alive_ms = INT64_MAX;
        place->known = false;
        queue->count += read_member(entry.value, entry.value_len, place) ? 1
                                                                         : 0;
    }
    read_alive(queue, find(world, lock->names.alive, SIM_ZSET));
    if (count > 0) {
        read_scores(queue, scores, debt_of(world, lock));
    }
    if (!had_head || queue->count == 0 ||
        queue->place[0].client != head.client || queue->place[0].n != head.n) {
        queue->head_us = world->now_us;
    }
}

/* ---- what a script may do ---- */

static struct sim_queue queue_before[SIM_NAMES]; /* a batch has several */

void sim_queue_before(const struct sim_world *world, int lock)
{
    queue_before[lock] = world->locks[lock].queue;
}

static size_t place_of(const struct sim_queue *queue, size_t client, uint64_t n)
{
    size_t i = 0;

    while (i < queue->count &&
           (queue->place[i].client != client || queue->place[i].n != n)) {
        i++;
    }
    return i;
}

/* Who came before has left, or is dead. */
static void check_turn(struct sim_world *world, const struct sim_mark *mark)
{
    const struct sim_queue *before = &queue_before[mark->lock];
    size_t at = place_of(before, mark->client, mark->n);

    for (size_t i = 0; i < at; i++) {
        if (before->place[i].alive_ms > sim_server_ms(world)) {
            sim_break(world, "queue_order",
                      "C%zu n%" PRIu64 " got %s before C%zu n%" PRIu64
                      ", who came earlier",
                      mark->client, mark->n, world->locks[mark->lock].name,
                      before->place[i].client, before->place[i].n);
        }
    }
}

/* Those who stay keep their order. */
static void check_kept(struct sim_world *world, const struct sim_mark *mark,
                       const struct sim_queue *after)
{
    const struct sim_queue *before = &queue_before[mark->lock];
    size_t last = 0;

    for (size_t i = 0; i < before->count; i++) {
        size_t at = place_of(after, before->place[i].client,
                             before->place[i].n);

        if (at < after->count && at < last) {
            sim_break(world, "queue_order",
                      "C%zu n%" PRIu64 " was overtaken in the queue of %s",
                      before->place[i].client, before->place[i].n,
                      world->locks[mark->lock].name);
        }
        last = at < after->count ? at : last;
    }
}

/* Nobody who lives is thrown out by another's script. */
static void check_thrown(struct sim_world *world, const struct sim_mark *mark,
                         const struct sim_queue *after)
{
    const struct sim_queue *before = &queue_before[mark->lock];
    for (size_t i = 0; i < before->count; i++) {
        const struct sim_place *place = &before->place[i];
        bool own = place->client == mark->client && place->n == mark->n;

        if (!own && place->alive_ms > sim_server_ms(world) &&
            place_of(after, place->client, place->n) == after->count) {
            sim_break(world, "queue_order",
                      "C%zu n%" PRIu64 " was thrown out of the queue of %s",
                      place->client, place->n, world->locks[mark->lock].name);
        }
    }
}

/* What is dead was found; each has a score, and no score is nobody's. */
static void check_whole(struct sim_world *world, const struct sim_mark *mark,
                        const struct sim_queue *after)
{
    for (size_t i = 0; i < after->count; i++) {
        const struct sim_place *place = &after->place[i];
        bool own = place->client == mark->client && place->n == mark->n;

        if (!own && place->known && place->alive_ms < sim_server_ms(world)) {
            sim_break(world, "queue_swept",
                      "C%zu n%" PRIu64 " is dead, and stands in the queue of "
                      "%s",
                      place->client, place->n, world->locks[mark->lock].name);
        }
    }
    if (after->scores != after->entries) {
        sim_break(world, "queue_swept", "%zu wait for %s, and %zu have a score",
                  after->entries, world->locks[mark->lock].name, after->scores);
    }
}

void sim_queue_ran(struct sim_world *world, const struct sim_mark *mark,
                   bool granted, bool swept)
{
    const struct sim_queue *after = &world->locks[mark->lock].queue;

    if (world->locks[mark->lock].foreign) {
        return;
    }
    if (granted) {
        check_turn(world, mark);
    }
    check_kept(world, mark, after);
    check_thrown(world, mark, after);
    if (swept) {
        check_whole(world, mark, after);
    }
}

/* ---- at any time: a living cause ---- */

static bool is_caused(struct sim_world *world, const struct sim_place *place)
{
    const struct sim_client *client = place->client < world->client_count
                                          ? world->clients[place->client]
                                          : NULL;
    struct sim_shadow *shadow;

    if (client == NULL || !client->alive) {
        return true; /* it is swept when it counts as dead */
    }
    shadow = sim_shadow_of(world, place->client, place->n);
    return shadow == NULL || shadow->may_remain || shadow->excused ||
           sim_given_up(world, shadow) || shadow->caused_us == world->now_us;
}

void sim_queue_check(struct sim_world *world, const struct sim_lock *lock)
{
    for (size_t i = 0; i < lock->queue.count && !lock->foreign; i++) {
        const struct sim_place *place = &lock->queue.place[i];

        if (place->alive_ms > sim_server_ms(world) &&
            !is_caused(world, place)) {
            sim_break(world, "nothing_left",
                      "C%zu n%" PRIu64 " stands in the queue of %s, and is "
                      "over",
                      place->client, place->n, lock->name);
        }
    }
}
