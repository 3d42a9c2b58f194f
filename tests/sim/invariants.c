/* SPDX-License-Identifier: MIT */
/* invariants.c - what must hold after every event, and when all is over.
 *
 * Each is a function and has a name, which docs/design/simulation.md explains.
 * What the histories that DESIGN excuses may break is asked of the shadow of
 * the number (`excused`).
 */
#include <inttypes.h>
#include <string.h>

#include "sim/shadow.h"

/* An UNDO, perhaps refused once, and perhaps another.  The client takes an
 * answer's time for the time of its reading: what that was late comes on top. */
#define END_US 1200000

/* It is kept for ever, if nobody wishes otherwise. */
#define TOKEN "redisson_lock_token:"

/* ---- looking ---- */

typedef void each_fn(struct sim_client *client, struct hfi_number *number,
                     struct sim_shadow *shadow, int lock);

static void each_number(struct sim_client *client, each_fn *fn)
{
    struct hfi_name *name;
    struct hfi_number *number;

    for (name = hfi_name_after(client->core, NULL); name != NULL;
         name = hfi_name_after(client->core, name)) {
        int lock = sim_lock_of(client->world, name->text, name->bytes);

        DL_FOREACH2(name->numbers, number, name_next)
        {
            struct sim_identity id = sim_identity_of(client, number);
            struct sim_shadow *shadow = sim_shadow_get(client->world, id.client,
                                                       id.n, lock);

            fn(client, number, shadow, lock);
        }
    }
}

/* Its field is what stands under the name. */
static bool stands(const struct sim_client *client,
                   const struct hfi_number *number,
                   const struct sim_image *image)
{
    return sim_field_of(image, sim_identity_of(client, number)) != NULL;
}

static bool lives(const struct sim_client *client,
                  const struct hfi_number *number)
{
    return number->state == NUMBER_HELD &&
           hfi_hold_deadline(number) > sim_client_ms(client);
}

/* ---- exclusive, field_stands ---- */

#define HOLDERS 64

static struct {
    const struct sim_client *client;
    const struct hfi_number *number;
} holders[SIM_NAMES][HOLDERS];
static size_t holder_count[SIM_NAMES];

/* Both may be believed in: readers, and who reads what he writes. */
static bool agree(const struct sim_client *client,
                  const struct hfi_number *number,
                  const struct sim_client *other_client,
                  const struct hfi_number *other)
{
    if (number->kind->shared && other->kind->shared) {
        return true;
    }
    return client == other_client && number->owner != NULL &&
           number->owner == other->owner &&
           number->kind->shared != other->kind->shared;
}

static void check_exclusive(struct sim_client *client,
                            struct hfi_number *number, int lock)
{
    struct sim_world *world = client->world;
    size_t count = holder_count[lock];

    for (size_t i = 0; i < count; i++) {
        const struct sim_client *other = holders[lock][i].client;

        if (!agree(client, number, other, holders[lock][i].number)) {
            sim_break(world, "exclusive",
                      "%s is held by C%zu n%" PRIu64 " and by C%zu n%" PRIu64,
                      world->locks[lock].name, other->index,
                      holders[lock][i].number->n, client->index, number->n);
        }
    }
    if (count < HOLDERS) {
        holders[lock][count].client = client;
        holders[lock][count].number = number;
        holder_count[lock]++;
    }
}

/* Another one is believed in that excludes it: that is the graver news. */
static bool is_shared_in(struct sim_client *client,
                         const struct hfi_number *number,
                         const struct sim_client *next)
{
    struct hfi_object object = {.kind = number->kind,
                                .name = number->name->text,
                                .name_bytes = number->name->bytes};
    const struct hfi_name *name = hfi_name_get(next->core, &object, false);
    const struct hfi_number *other;

    if (name == NULL) {
        return false;
    }
    DL_FOREACH2(name->numbers, other, name_next)
    {
        struct sim_identity id = sim_identity_of(next, other);

        if (other != number && lives(next, other) &&
            !agree(client, number, next, other) &&
            !sim_shadow_of(client->world, id.client, id.n)->excused) {
            return true;
        }
    }
    return false;
}

static bool is_shared(struct sim_client *client,
                      const struct hfi_number *number)
{
    const struct sim_world *world = client->world;

    for (size_t i = 0; i < world->client_count; i++) {
        if (world->clients[i]->alive &&
            is_shared_in(client, number, world->clients[i])) {
            return true;
        }
    }
    return false;
}

static void check_field_stands(struct sim_client *client,
                               struct hfi_number *number, int lock)
{
    struct sim_world *world = client->world;
    const struct sim_field *field = sim_field_of(
        &world->locks[lock].image, sim_identity_of(client, number));
    int64_t deadline_us, expires_us;

    if (field == NULL) {
        sim_break(world,
                  is_shared(client, number) ? "exclusive" : "field_stands",
                  "C%zu believes in n%" PRIu64 ", and %s on the server has "
                  "not its field",
                  client->index, number->n, world->locks[lock].name);
        return;
    }
    if (field->expires_ms < 0) {
        return;
    }
    deadline_us = sim_client_shows_us(client, hfi_hold_deadline(number));
    expires_us = sim_server_shows_us(world, field->expires_ms + 1);
    if (deadline_us > expires_us) {
        sim_break(world, "field_stands",
                  "C%zu believes in n%" PRIu64 " for %" PRId64
                  " us longer than %s lives on the server",
                  client->index, number->n, deadline_us - expires_us,
                  world->locks[lock].name);
    }
}

static void check_hold(struct sim_client *client, struct hfi_number *number,
                       struct sim_shadow *shadow, int lock)
{
    if (number->state == NUMBER_HELD && !sim_client_paused(client) &&
        client->due_ms > hfi_hold_deadline(number)) {
        sim_break(client->world, "lost_in_time",
                  "C%zu has no alarm set for the deadline of n%" PRIu64,
                  client->index, number->n);
    }
    if (shadow->held && lives(client, number) &&
        shadow->deadline_ms <= sim_client_ms(client)) {
        sim_break(client->world, "never_revived",
                  "the deadline of C%zu n%" PRIu64 " was past, and it is "
                  "believed in again",
                  client->index, number->n);
    }
    if (shadow->over && lives(client, number)) {
        sim_break(client->world, "never_revived",
                  "C%zu n%" PRIu64 " was lost or released, and is believed "
                  "in again",
                  client->index, number->n);
    }
    if (number->state == NUMBER_HELD) {
        shadow->deadline_ms = hfi_hold_deadline(number);
    }
    if (!shadow->excused && lives(client, number)) {
        check_exclusive(client, number, lock);
        check_field_stands(client, number, lock);
    }
}

/* ---- told_of_excused: within one renewal period ---- */

static void check_told(struct sim_client *client, struct hfi_number *number,
                       struct sim_shadow *shadow, int lock)
{
    struct sim_world *world = client->world;
    const struct sim_image *image = &world->locks[lock].image;
    int64_t since = shadow->excused_us > client->calm_us ? shadow->excused_us
                                                         : client->calm_us;
    int64_t lease = hfi_hold_renewed_lease(number);

    if (!shadow->excused || number->state != NUMBER_HELD || lease == 0 ||
        stands(client, number, image)) {
        return;
    }
    if (since < world->locks[lock].changed_us) {
        since = world->locks[lock].changed_us;
    }
    /* The period of the longest: a left level's is still running. */
    lease = number->longest_lease_ms;
    if (world->now_us - since >
        lease * 1000 / 3 + lease * 100 + SIM_PROMPT_US) {
        sim_break(world, "told_of_excused",
                  "C%zu believes in n%" PRIu64 ", gone for longer than a "
                  "renewal period",
                  client->index, number->n);
    }
}

/* ---- ends_end ---- */

/* What its last copies were given, as the server's clock tells it: an UNDO that
 * ran early and is read late, as by a process that was stopped, makes the next
 * one wait for as long as it would have had to wait then. */
static int64_t life_us(const struct sim_client *client,
                       const struct hfi_number *number)
{
    int64_t sent_us = sim_client_shows_us(client, number->quiet_since_ms);
    int64_t until_us = sim_server_shows_us(client->world,
                                           number->last_not_after_ms);

    return until_us > sent_us ? until_us - sent_us : 0;
}

static void check_end(struct sim_client *client, struct hfi_number *number,
                      struct sim_shadow *shadow, int lock)
{
    struct sim_world *world = client->world;
    int64_t since;

    if (number->end == END_NONE) {
        return;
    }
    if (shadow->end_us == 0) {
        shadow->end_us = world->now_us;
    }
    shadow->give_up_us = sim_client_shows_us(client, number->end_give_up_ms);
    if (number->end == END_FINAL || client->world->locks[lock].foreign) {
        return;
    }
    since = shadow->end_us > client->calm_us ? shadow->end_us : client->calm_us;
    if (life_us(client, number) > shadow->life_us) {
        shadow->life_us = life_us(client, number);
    }
    if (number->state == NUMBER_LOST) {
        /* A loss by the deadline leaves the holder his head start. */
        since += (hfi_margin_ms(number->longest_lease_ms) + 2) * 1000;
    }
    if (since < shadow->again_us) { /* a Java thread stands there */
        since = shadow->again_us;
    }
    if (since < sim_server_shows_us(world, number->last_not_after_ms)) {
        since = sim_server_shows_us(world, number->last_not_after_ms);
    }
    if (!shadow->excused && !sim_client_paused(client) &&
        world->now_us - since > END_US +
                                    client->config.response_limit_ms * 1000 +
                                    shadow->life_us) {
        sim_break(world, "ends_end",
                  "the End of C%zu n%" PRIu64 " takes too long", client->index,
                  number->n);
    }
}

static void check_number(struct sim_client *client, struct hfi_number *number,
                         struct sim_shadow *shadow, int lock)
{
    check_hold(client, number, shadow, lock);
    check_told(client, number, shadow, lock);
    check_end(client, number, shadow, lock);
    shadow->owner = number->owner != NULL ? number->owner : shadow->owner;
    if (number->end != END_FINAL) {
        shadow->caused_us = client->world->now_us;
    }
    shadow->held = number->state == NUMBER_HELD;
    shadow->over |= number->state == NUMBER_LOST ||
                    number->state == NUMBER_RELEASING;
}

/* ---- ttl_always, nothing_left ---- */

bool sim_given_up(const struct sim_world *world,
                  const struct sim_shadow *shadow)
{
    return shadow->end_us > 0 && !shadow->final &&
           world->now_us >= shadow->give_up_us;
}

static void check_left(struct sim_world *world, const struct sim_lock *lock,
                       const struct sim_field *field)
{
    const struct sim_client *client = world->clients[field->client];
    struct sim_shadow *shadow = sim_shadow_of(world, field->client, field->n);

    if (!client->alive || shadow == NULL || shadow->may_remain ||
        sim_given_up(world, shadow) ||
        (shadow->adopted && !world->clients[shadow->by]->alive)) {
        return;
    }
    if (shadow->caused_us != world->now_us) {
        sim_break(world, "nothing_left",
                  "%s has the field of C%zu n%" PRIu64 ", which is over",
                  lock->name, field->client, field->n);
    }
}

/* Whose number it is; NULL: nobody's any more, or a stand-in's. */
static const struct hfi_owner *owner_of(struct sim_world *world,
                                        const struct sim_field *field)
{
    const struct sim_shadow *shadow = sim_shadow_of(world, field->client,
                                                    field->n);

    return shadow == NULL || shadow->excused || shadow->may_remain
               ? NULL
               : shadow->owner;
}

static bool are_two(struct sim_world *world, const struct sim_field *one,
                    const struct sim_field *other)
{
    const struct hfi_owner *owner = owner_of(world, one);
    const struct hfi_owner *other_owner = owner_of(world, other);

    return owner != NULL && other_owner != NULL && owner != other_owner;
}

/* Beside a writer there is nobody but himself. */
static void check_writer(struct sim_world *world, const struct sim_lock *lock)
{
    const struct sim_image *image = &lock->image;
    const struct sim_field *writer = NULL;

    for (size_t i = 0; i < image->fields; i++) {
        writer = image->field[i].writes ? &image->field[i] : writer;
    }
    for (size_t i = 0; writer != NULL && i < image->fields; i++) {
        const struct sim_field *other = &image->field[i];

        if (are_two(world, writer, other)) {
            sim_break(
                world, "exclusive",
                "C%zu n%" PRIu64 " writes %s, and C%zu n%" PRIu64 " is there",
                writer->client, writer->n, lock->name, other->client, other->n);
        }
    }
}

/* A field may be over before its lock is: a reader's. */
static void drop_past(struct sim_world *world, struct sim_lock *lock)
{
    struct sim_image *image = &lock->image;
    int64_t now = sim_server_ms(world);
    size_t kept = 0;

    for (size_t i = 0; i < image->fields; i++) {
        if (image->field[i].expires_ms < 0 ||
            image->field[i].expires_ms >= now) {
            image->field[kept++] = image->field[i];
        }
    }
    if (kept < image->fields) {
        image->fields = kept;
        lock->changed_us = world->now_us;
    }
}

static void note_gate(const struct sim_world *world, struct sim_gate *gate,
                      bool open)
{
    if (!open) {
        gate->since_us = -1;
    } else if (gate->since_us < 0) {
        gate->since_us = world->now_us;
    }
}

static void note_gates(const struct sim_world *world, struct sim_lock *lock)
{
    const struct sim_image *image = &lock->image;
    bool open = lock->sort == SIM_PERMITS ? sim_permits_open(lock)
                                          : !image->present;

    note_gate(world, &lock->gate[SIM_FOR_ALL], open);
    note_gate(world, &lock->gate[SIM_FOR_READERS],
              open || (lock->sort == SIM_READ_WRITE && image->mode == 'r'));
}

static void check_lock(struct sim_world *world, struct sim_lock *lock)
{
    struct sim_image *image = &lock->image;
    int64_t now = sim_server_ms(world);

    if (image->present && image->expires_ms >= 0 && image->expires_ms < now) {
        image->present = false;
        image->is_lock = false;
        image->fields = 0;
        lock->changed_us = world->now_us;
    }
    drop_past(world, lock);
    note_gates(world, lock);
    if (!image->present || lock->foreign || lock->sort == SIM_PERMITS) {
        return;
    }
    if (image->expires_ms < 0) {
        sim_break(world, "ttl_always", "%s has no TTL", lock->name);
    }
    if (lock->sort != SIM_READ_WRITE && image->fields > 1) {
        sim_break(world, "exclusive", "%s has %zu fields", lock->name,
                  image->fields);
    }
    check_writer(world, lock);
}

/* After all numbers were looked at. */
static void check_causes(struct sim_world *world, const struct sim_lock *lock)
{
    const struct sim_image *image = &lock->image;

    for (size_t i = 0; i < image->fields && !lock->foreign; i++) {
        check_left(world, lock, &image->field[i]);
    }
}

/* ---- all of it ---- */

static void update_calm(struct sim_client *client)
{
    struct sim_world *world = client->world;
    int64_t at = world->now_us;

    client->calm = sim_client_calm(client);
    if (client->calm) {
        return;
    }
    if (client->paused_us > at) {
        at = client->paused_us;
    }
    if (world->server_paused_us > at) {
        at = world->server_paused_us;
    }
    client->calm_us = at;
}

void sim_invariants(struct sim_world *world)
{
    if (world->broken.invariant != NULL) {
        return;
    }
    for (size_t i = 0; i < SIM_NAMES; i++) {
        check_lock(world, &world->locks[i]);
    }
    memset(holder_count, 0, sizeof(holder_count));
    for (size_t i = 0; i < world->client_count; i++) {
        struct sim_client *client = world->clients[i];

        if (!client->alive) {
            continue;
        }
        update_calm(client);
        client->due_ms = hfi_core_next_due_ms(client->core);
        each_number(client, check_number);
        if (!sim_client_paused(client)) {
            sim_check_calls(client);
        }
    }
    for (size_t i = 0; i < SIM_NAMES; i++) {
        check_causes(world, &world->locks[i]);
        sim_queue_check(world, &world->locks[i]);
    }
}

/* What else stands there has a TTL. */
static void check_keys(struct sim_world *world)
{
    struct sim_db *db = sim_server_db(world->server, 0);
    struct sim_key *key = NULL;
    size_t len;

    while ((key = sim_key_next(db, key, sim_server_ms(world))) != NULL) {
        const char *name = sim_key_name(key, &len);
        int lock = sim_lock_of(world, name, len);

        if (sim_key_expires_ms(key) < 0 &&
            (lock < 0 || world->locks[lock].sort != SIM_PERMITS) &&
            strncmp(name, TOKEN, strlen(TOKEN)) != 0) {
            sim_break(world, "nothing_remains", "%s is left, and has no TTL",
                      name);
        }
    }
}

void sim_nothing_remains(struct sim_world *world)
{
    for (size_t i = 0; i < world->client_count; i++) {
        struct sim_client *client = world->clients[i];

        if (client->alive &&
            (!hfi_core_idle(client->core) ||
             client->core->name_count > client->core->resting_count)) {
            sim_break(world, "nothing_remains",
                      "C%zu has %zu numbers, %zu calls and %zu names left",
                      client->index, client->core->number_count,
                      client->core->op_count, client->core->name_count);
        }
    }
    for (size_t i = 0; i < SIM_NAMES; i++) {
        if (world->locks[i].sort == SIM_PERMITS) {
            sim_permits_are_back(world, &world->locks[i]);
        } else if (world->locks[i].image.present) {
            sim_break(world, "nothing_remains", "%s is still on the server",
                      world->locks[i].name);
        }
    }
    check_keys(world);
}
