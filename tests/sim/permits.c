/* SPDX-License-Identifier: MIT */
/* permits.c - permits with leases: what stands there, and that none is lost,
 * doubled, or taken where there is none.
 *
 * A permit that is out is a field of its number, as a lock's (sim_image_read):
 * what holds of holds is asked elsewhere.  Here is what holds of their number.
 * Available and out together change by a change of how many there are, and by
 * nothing else; that is done once, if it is.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/shadow.h"

#define ID_BYTES HFI_PERMIT_BYTES
#define LONGEST_LEASE_MS 30000 /* of the crowd */

/* ---- reading ---- */

static uint64_t number_in(const unsigned char *bytes, size_t count)
{
    uint64_t number = 0;

    for (size_t i = 0; i < count; i++) {
        number = number << 8 | bytes[i];
    }
    return number;
}

/* The last half of a client's id, as it is mixed into those of its permits. */
static uint64_t mixed_into(const struct sim_client *client)
{
    uint64_t number = 0;

    for (const char *at = client->uuid + 19; *at != '\0'; at++) {
        if (*at != '-') {
            number = number << 4 |
                     (uint64_t)(*at <= '9' ? *at - '0' : *at - 'a' + 10);
        }
    }
    return number;
}

static bool read_id(const struct sim_world *world,
                    const struct sim_entry *entry, struct sim_field *field)
{
    const unsigned char *bytes = (const unsigned char *)entry->name;

    if (entry->name_len != ID_BYTES) {
        return false;
    }
    field->client = (size_t)number_in(bytes, 4);
    if (field->client >= world->client_count) {
        return false;
    }
    field->n = number_in(bytes + ID_BYTES / 2, ID_BYTES / 2) ^
               mixed_into(world->clients[field->client]);
    field->writes = false;
    field->count = 1;
    /* One that ends now is over; a key would still live. */
    field->expires_ms = (int64_t)entry->score - 1;
    return true;
}

void sim_permits_read(struct sim_world *world, struct sim_lock *lock,
                      struct sim_key *key)
{
    struct sim_image *image = &lock->image;
    struct sim_key *out = sim_key_find(sim_server_db(world->server, 0),
                                       lock->names.out, sim_server_ms(world));
    char *end = NULL;

    image->available = 0;
    image->expires_ms = -1;
    if (key != NULL && sim_key_type(key) == SIM_STRING) {
        const char *text = sim_key_entry(key, 0).value;

        image->available = strtoll(text, &end, 10);
        image->is_lock = end != text && *end == '\0';
    }
    image->out = out == NULL ? 0 : sim_key_count(out);
    for (size_t i = 0; i < image->out && image->fields < SIM_FIELDS; i++) {
        struct sim_entry entry = sim_key_entry(out, i);

        image->fields += read_id(world, &entry, &image->field[image->fields])
                             ? 1
                             : 0;
    }
}

/* ---- what a request may do ---- */

static int64_t total_of(const struct sim_image *image)
{
    return image->available + (int64_t)image->out;
}

/* Somebody makes them, or more of them, or fewer. */
static void note_change(struct sim_world *world, const struct sim_mark *mark,
                        int64_t by)
{
    struct sim_shadow *shadow = sim_shadow_of(world, mark->client, mark->n);
    struct sim_call *call = shadow == NULL ? NULL : shadow->change;

    if (call == NULL || call->excused || shadow->excused) {
        return;
    }
    call->changes++;
    if (by != call->ask.count || call->changes > 1) {
        sim_break(world, "done_once",
                  "a change by %" PRId64 " of C%zu n%" PRIu64
                  " was done %u times, and was %" PRId64 " now",
                  call->ask.count, mark->client, mark->n, call->changes, by);
    }
    if (call->ended && call->status != HF_OK && call->status != HF_UNKNOWN) {
        sim_break(world, "done_once",
                  "a change of C%zu n%" PRIu64 " is done, and its caller was "
                  "told that it is not: %s",
                  mark->client, mark->n, hf_status_name(call->status));
    }
}

static void check_total(struct sim_world *world, const struct sim_mark *mark,
                        const struct sim_lock *lock,
                        const struct sim_image *before)
{
    const struct sim_image *after = &lock->image;
    int64_t more = !before->present ? after->available
                                    : total_of(after) - total_of(before);

    if (before->present == after->present && (!after->present || more == 0)) {
        return;
    }
    if (mark->request == HFI_CHANGE && after->present) {
        note_change(world, mark, more);
        return;
    }
    sim_break(world, "permits_conserved",
              "C%zu n%" PRIu64 " made %" PRId64 " permits of %s (%" PRId64
              " and %zu out) of %" PRId64 " and %zu out",
              mark->client, mark->n, total_of(after), lock->name,
              after->available, after->out, before->available, before->out);
}

/* Whoever asks collects for everybody what has ended. */
static void check_swept(struct sim_world *world, const struct sim_mark *mark,
                        const struct sim_lock *lock)
{
    int64_t now = sim_server_ms(world);

    for (size_t i = 0; i < lock->image.fields; i++) {
        const struct sim_field *field = &lock->image.field[i];

        if (field->expires_ms < now) {
            sim_break(world, "permits_return",
                      "C%zu n%" PRIu64
                      " asked, and the permit of C%zu n%" PRIu64
                      ", which ended %" PRId64 " ms ago, is not back",
                      mark->client, mark->n, field->client, field->n,
                      now - field->expires_ms);
        }
    }
}

/* However its holder ends, it comes back in a lease. */
static void check_ends(struct sim_world *world, const struct sim_mark *mark,
                       const struct sim_lock *lock)
{
    const struct sim_field *field = sim_field_of(
        &lock->image, (struct sim_identity){mark->client, mark->n});
    const struct sim_shadow *shadow = sim_shadow_of(world, mark->client,
                                                    mark->n);

    if (field != NULL && !shadow->excused && !shadow->may_remain &&
        field->expires_ms > sim_server_ms(world) + LONGEST_LEASE_MS) {
        sim_break(world, "ttl_always",
                  "the permit of C%zu n%" PRIu64 " does not come back in its "
                  "lease",
                  field->client, field->n);
    }
}

/* What of them had ended counts as available. */
static int64_t to_be_had(const struct sim_world *world,
                         const struct sim_image *image)
{
    int64_t count = image->available;

    for (size_t i = 0; i < image->fields; i++) {
        count += image->field[i].expires_ms < sim_server_ms(world) ? 1 : 0;
    }
    return count;
}

static void excuse_change(struct sim_world *world, const struct sim_mark *mark)
{
    struct sim_shadow *shadow = sim_shadow_of(world, mark->client, mark->n);

    if (shadow != NULL && shadow->change != NULL) {
        shadow->change->excused = true;
    }
}

void sim_permits_ran(struct sim_world *world, const struct sim_mark *mark,
                     const struct sim_image *before)
{
    struct sim_lock *lock = &world->locks[mark->lock];
    struct sim_identity id = {mark->client, mark->n};
    bool granted = mark->request == HFI_ACQUIRE &&
                   sim_field_of(before, id) == NULL &&
                   sim_field_of(&lock->image, id) != NULL;

    if (lock->foreign) {
        excuse_change(world, mark); /* nobody knows what it found */
        return;
    }
    check_total(world, mark, lock, before);
    if (!mark->by_id) {
        check_ends(world, mark, lock);
    }
    if (mark->request == HFI_ACQUIRE) {
        check_swept(world, mark, lock);
    }
    if (granted && to_be_had(world, before) < 1) {
        sim_break(world, "no_more_out",
                  "C%zu n%" PRIu64 " took a permit of %s, and there was none",
                  mark->client, mark->n, lock->name);
    }
    if (to_be_had(world, before) < 1 && lock->image.available > 0) {
        lock->gate[SIM_FOR_READERS].told_us = world->now_us;
    }
}

/* ---- at any time ---- */

/* Fields that are past are dropped from the image as time goes on. */
bool sim_permits_open(const struct sim_lock *lock)
{
    const struct sim_image *image = &lock->image;

    return image->is_lock &&
           image->available + (int64_t)(image->out - image->fields) > 0;
}

void sim_permits_told(struct sim_call *call, bool changed)
{
    struct sim_world *world = call->client->world;

    if (call->status == HF_OK && !call->excused &&
        call->changes != (changed ? 1 : 0)) {
        sim_break(world, "done_once",
                  "C%zu.U%zu was told that a change was %s, and it was done "
                  "%u times",
                  call->client->index, call->owner->index,
                  changed ? "done" : "not done", call->changes);
    }
    if (call->status != HF_OK && call->status != HF_UNKNOWN && !call->excused &&
        call->changes > 0) {
        sim_break(world, "done_once",
                  "C%zu.U%zu was told that a change is not done, but it is: %s",
                  call->client->index, call->owner->index,
                  hf_status_name(call->status));
    }
}

/* All that were out have come back. */
void sim_permits_are_back(struct sim_world *world, const struct sim_lock *lock)
{
    if (lock->image.present && lock->image.out > 0) {
        sim_break(world, "nothing_remains",
                  "%zu permits of %s are out for nobody", lock->image.out,
                  lock->name);
    }
}
