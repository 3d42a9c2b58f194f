/* SPDX-License-Identifier: MIT */
/* book.c - the world's own book: numbers, what stands on the server, excuses. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/shadow.h"

/* ---- the book ---- */

#define INDEX_DIGITS 8 /* of a UUID (client.c) */
#define UUID_LEN 36

static int digit_of(char byte)
{
    return byte >= '0' && byte <= '9'   ? byte - '0'
           : byte >= 'a' && byte <= 'f' ? byte - 'a' + 10
                                        : -1;
}

/* By hand: it is done several times a request. */
size_t sim_identity_read(const char *text, size_t len,
                         struct sim_identity *ret_id)
{
    size_t at = UUID_LEN + 1;

    *ret_id = (struct sim_identity){0, 0};
    if (len <= at || text[INDEX_DIGITS] != '-' || text[UUID_LEN] != ':') {
        return 0;
    }
    for (size_t i = 0; i < INDEX_DIGITS; i++) {
        if (digit_of(text[i]) < 0) {
            return 0;
        }
        ret_id->client = ret_id->client * 16 + (size_t)digit_of(text[i]);
    }
    for (; at < len && text[at] >= '0' && text[at] <= '9'; at++) {
        ret_id->n = ret_id->n * 10 + (uint64_t)(text[at] - '0');
    }
    return at;
}

struct sim_identity sim_identity_of(const struct sim_client *client,
                                    const struct hfi_number *number)
{
    struct sim_identity id = {client->index, number->n};

    if (number->foreign != NULL) {
        (void)sim_identity_read(number->foreign, strlen(number->foreign), &id);
    }
    return id;
}

struct sim_shadow *sim_shadow_of(struct sim_world *world, size_t client,
                                 uint64_t n)
{
    const struct sim_client *owner = world->clients[client];

    return n < owner->shadow_count ? owner->shadows[n] : NULL;
}

struct sim_shadow *sim_shadow_get(struct sim_world *world, size_t client,
                                  uint64_t n, int lock)
{
    struct sim_client *owner = world->clients[client];

    if (n >= owner->shadow_count) {
        size_t count = 2 * (size_t)n + 64;
        struct sim_shadow **shadows = realloc(owner->shadows,
                                              count * sizeof(void *));

        if (shadows == NULL) {
            abort();
        }
        memset(shadows + owner->shadow_count, 0,
               (count - owner->shadow_count) * sizeof(void *));
        owner->shadows = shadows;
        owner->shadow_count = count;
    }
    if (owner->shadows[n] == NULL) {
        owner->shadows[n] = sim_alloc(sizeof(struct sim_shadow));
        owner->shadows[n]->lock = lock;
    }
    return owner->shadows[n];
}

void sim_book_free(struct sim_client *client)
{
    for (size_t i = 0; i < client->shadow_count; i++) {
        free(client->shadows[i]);
    }
    free(client->shadows);
}

int sim_lock_of(const struct sim_world *world, const void *name, size_t bytes)
{
    int i = bytes == 0 ? -1 : ((const char *)name)[bytes - 1] - '0';

    /* They end with their number. */
    return i >= 0 && i < SIM_NAMES && world->locks[i].bytes == bytes &&
                   memcmp(world->locks[i].name, name, bytes) == 0
               ? i
               : -1;
}

/* ---- what stands on the server ---- */

static bool read_field(struct sim_field *field, const struct sim_entry *entry)
{
    struct sim_identity id;
    size_t used = sim_identity_read(entry->name, entry->name_len, &id);

    if (used == 0) {
        return false;
    }
    field->client = id.client;
    field->n = id.n;
    field->writes = used < entry->name_len && entry->name[used] == ':';
    field->count = strtoll(entry->value, NULL, 10);
    return true;
}

/* Until when a reader's hold key stands; -2: it is gone. */
static int64_t hold_key_ms(struct sim_world *world, const struct sim_lock *lock,
                           const struct sim_entry *entry)
{
    bool brace = strchr(lock->name, '{') != NULL;
    struct sim_key *key;
    char name[160];

    snprintf(name, sizeof(name), "%s%s%s:%s:rwlock_timeout:1", brace ? "" : "{",
             lock->name, brace ? "" : "}", entry->name);
    key = sim_key_find(sim_server_db(world->server, 0), name,
                       sim_server_ms(world));
    return key == NULL ? -2 : sim_key_expires_ms(key);
}

/* A reader is dead without his hold key, whatever stands in the hash. */
static bool read_expiry(struct sim_world *world, const struct sim_lock *lock,
                        const struct sim_entry *entry, struct sim_field *field)
{
    int64_t hold_key = 0;

    field->expires_ms = lock->image.expires_ms;
    if (lock->image.mode == '\0' || field->writes) {
        return true;
    }
    hold_key = hold_key_ms(world, lock, entry);
    if (field->expires_ms < 0 ||
        (hold_key >= 0 && hold_key < field->expires_ms)) {
        field->expires_ms = hold_key;
    }
    return hold_key != -2;
}

static void read_mode(struct sim_image *image, struct sim_key *key)
{
    for (size_t i = 0; i < sim_key_count(key); i++) {
        struct sim_entry entry = sim_key_entry(key, i);

        if (strcmp(entry.name, "mode") == 0) {
            image->mode = entry.value[0];
        }
    }
}

static void read_fields(struct sim_world *world, struct sim_lock *lock,
                        struct sim_key *key)
{
    struct sim_image *image = &lock->image;
    size_t count = sim_key_count(key);

    read_mode(image, key);
    image->is_lock = count > 0;
    for (size_t i = 0; i < count && image->fields < SIM_FIELDS; i++) {
        struct sim_entry entry = sim_key_entry(key, i);
        struct sim_field *field = &image->field[image->fields];

        if (image->mode != '\0' && strcmp(entry.name, "mode") == 0) {
            continue;
        }
        if (!read_field(field, &entry) ||
            field->client >= world->client_count) {
            if (image->mode != '\0') {
                continue; /* a Java program reads too */
            }
            image->is_lock = false;
            image->fields = 0;
            return;
        }
        image->fields += read_expiry(world, lock, &entry, field) ? 1 : 0;
    }
}

/* A string has no room for a count. */
static void read_token(const struct sim_world *world, struct sim_image *image,
                       struct sim_key *key)
{
    struct sim_entry entry = sim_key_entry(key, 0);

    entry.name = entry.value;
    entry.name_len = entry.value_len;
    if (read_field(&image->field[0], &entry) &&
        image->field[0].client < world->client_count) {
        image->field[0].count = 1;
        image->field[0].expires_ms = image->expires_ms;
        image->fields = 1;
        image->is_lock = true;
    }
}

void sim_image_read(struct sim_world *world, struct sim_lock *lock)
{
    struct sim_image *image = &lock->image;
    struct sim_key *key = sim_key_find(sim_server_db(world->server, 0),
                                       lock->name, sim_server_ms(world));

    if (lock->sort == SIM_FAIR) {
        sim_queue_read(world, lock);
    }
    image->present = key != NULL;
    image->is_lock = false;
    image->mode = '\0';
    image->fields = 0;
    if (lock->sort == SIM_PERMITS) {
        sim_permits_read(world, lock, key);
        return;
    }
    if (key == NULL) {
        return;
    }
    image->expires_ms = sim_key_expires_ms(key);
    if (sim_key_type(key) == SIM_HASH) {
        read_fields(world, lock, key);
    } else if (sim_key_type(key) == SIM_STRING && lock->sort == SIM_TOKENS) {
        read_token(world, image, key);
    }
}

const struct sim_field *sim_field_of(const struct sim_image *image,
                                     struct sim_identity id)
{
    for (size_t i = 0; i < image->fields; i++) {
        if (image->field[i].client == id.client && image->field[i].n == id.n) {
            return &image->field[i];
        }
    }
    return NULL;
}

void sim_images_read(struct sim_world *world)
{
    for (size_t i = 0; i < SIM_NAMES; i++) {
        sim_image_read(world, &world->locks[i]);
        world->locks[i].changed_us = world->now_us;
    }
}

int64_t sim_token(struct sim_world *world, int lock)
{
    const struct sim_key *key = sim_key_find(sim_server_db(world->server, 0),
                                             world->locks[lock].names.token,
                                             sim_server_ms(world));

    return key == NULL ? 0 : strtoll(sim_key_entry(key, 0).value, NULL, 10);
}

/* ---- excuses ---- */

struct sim_shadow *sim_excuse_number(struct sim_world *world, size_t client,
                                     uint64_t n, int lock)
{
    struct sim_shadow *shadow = sim_shadow_get(world, client, n, lock);

    if (!shadow->excused) {
        shadow->excused = true;
        shadow->excused_us = world->now_us;
        world->figures.excuses++;
    }
    return shadow;
}

static void excuse_of_client(struct sim_world *world, struct sim_client *client,
                             int lock)
{
    struct hfi_name *name;
    struct hfi_number *number;
    struct sim_identity id;

    for (name = hfi_name_after(client->core, NULL); name != NULL;
         name = hfi_name_after(client->core, name)) {
        int of = sim_lock_of(world, name->text, name->bytes);

        if (lock >= 0 && of != lock) {
            continue;
        }
        DL_FOREACH2(name->numbers, number, name_next)
        {
            id = sim_identity_of(client, number);
            (void)sim_excuse_number(world, id.client, id.n, of);
        }
    }
}

/* The record of one that was done may be forgotten. */
static void excuse_changes(struct sim_world *world, int lock)
{
    const struct sim_wire *wire;
    const struct sim_mark *mark;
    struct sim_call *call;

    for (call = world->calls; call != NULL; call = call->next) {
        call->excused |= lock < 0 || lock == call->ask.lock;
    }
    for (wire = world->wires; wire != NULL; wire = wire->next) {
        for (mark = wire->marks; mark != NULL; mark = mark->next) {
            if (mark->request == HFI_CHANGE &&
                (lock < 0 || lock == mark->lock)) {
                (void)sim_excuse_number(world, mark->client, mark->n,
                                        mark->lock);
            }
        }
    }
}

void sim_excuse(struct sim_world *world, int lock, const char *why)
{
    SIM_SAY(world, "excused: %s %s", why,
            lock < 0 ? "(all)" : world->locks[lock].name);
    for (int i = 0; lock < 0 && i < SIM_NAMES; i++) {
        world->locks[i].token = 0; /* the counter may have gone back */
    }
    for (size_t i = 0; i < world->client_count; i++) {
        if (world->clients[i]->alive) {
            excuse_of_client(world, world->clients[i], lock);
        }
    }
    excuse_changes(world, lock);
    /* What comes back from the dead with old data, or is kept by a clock. */
    for (int i = 0; i < SIM_NAMES; i++) {
        const struct sim_image *image = &world->locks[i].image;

        const struct sim_queue *queue = &world->locks[i].queue;

        for (size_t k = 0; (lock < 0 || lock == i) && k < queue->count; k++) {
            if (queue->place[k].client < world->client_count) {
                sim_excuse_number(world, queue->place[k].client,
                                  queue->place[k].n, i)
                    ->may_remain = true;
            }
        }
        for (size_t k = 0; (lock < 0 || lock == i) && k < image->fields; k++) {
            sim_excuse_number(world, image->field[k].client, image->field[k].n,
                              i)
                ->may_remain = true;
        }
    }
}

/* What is on its way was fenced by a clock that is no more. */
void sim_excuse_copies(struct sim_world *world)
{
    const struct sim_wire *wire;
    const struct sim_mark *mark;

    for (wire = world->wires; wire != NULL; wire = wire->next) {
        for (mark = wire->marks; mark != NULL; mark = mark->next) {
            if (mark->n != 0) {
                sim_excuse_number(world, mark->client, mark->n, mark->lock)
                    ->may_remain = true;
            }
        }
    }
}
