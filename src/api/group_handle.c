/* SPDX-License-Identifier: MIT */
/* api/group_handle.c - groups that are written out, and continued elsewhere.
 *
 * A group's handle is one printable word, made of its members' (handle.c):
 *
 *     hfg1/SORT/COUNT/ABSENT/SERVER@HANDLE,SERVER@HANDLE...
 *
 * SORT is `multi` or `red`, COUNT how many members follow, ABSENT how many votes
 * of a red lock have no server.  SERVER is the name by which the member's server
 * was opened, written as names are; it is empty if all are of one server, which
 * the importer may call as he likes.  A member of a red lock that is not held has
 * the count 0, and nobody as its owner.
 *
 * However often the group was entered, it is handed on as held once.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/group.h"
#include "api/handle.h"
#include "base/fail.h"

#define PREFIX "hfg1/"
#define MULTI "multi/"
#define RED "red/"
#define HEAD_MAX 64

bool hf_handle_is_of_group(const char *handle)
{
    return handle != NULL && strncmp(handle, PREFIX, sizeof(PREFIX) - 1) == 0;
}

/* ---- written ---- */

static size_t room_of(const hf_group *group)
{
    size_t room = HEAD_MAX;

    for (size_t i = 0; i < group->given; i++) {
        const hf_lock *lock = group->members[group->place[i]];

        room += 3 * strlen(lock->client->server) + 2 + hfi_handle_room(lock);
    }
    return room;
}

static void write_group(const struct group_call *call, char *handle)
{
    const hf_group *group = call->group;
    char *at = handle;

    at += snprintf(at, HEAD_MAX, PREFIX "%s%zu/%zu/",
                   group->is_red ? RED : MULTI, group->given, group->absent);
    for (size_t i = 0; i < group->given; i++) {
        size_t member = group->place[i];
        const hf_lock *lock = group->members[member];
        const struct group_part *part = &call->parts[member];
        const char *server = lock->client->server;

        if (group->client_count > 1) {
            at += hfi_handle_put_word(at, server, strlen(server));
        }
        *at++ = '@';
        at += hfi_handle_write(
            lock, part->count > 0 ? part->owner : HFI_HANDLE_NOBODY,
            part->count > 0 ? 1 : 0, part->lease_ms, at);
        *at++ = ',';
    }
    at[-1] = '\0';
}

/* Those that could not be written out have a lease as the others have. */
static void complete_parts(struct group_call *call)
{
    int64_t lease_ms = HF_LEASE_MIN_MS;

    for (size_t i = 0; i < call->group->count; i++) {
        if (call->parts[i].count > 0) {
            lease_ms = call->parts[i].lease_ms;
        }
    }
    for (size_t i = 0; i < call->group->count; i++) {
        if (call->parts[i].count == 0) {
            call->parts[i].lease_ms = lease_ms;
        }
    }
}

hf_status hf_group_export(hf_group *group, hf_owner *owner, char **ret_handle,
                          hf_error *reterr)
{
    struct group_call *call = NULL;
    char *handle;
    hf_status status;

    if (group == NULL || ret_handle == NULL) {
        return hfi_fail(reterr, HF_INVALID, "hf_group_export: %s is NULL",
                        group == NULL ? "group" : "ret_handle");
    }
    status = hfi_group_call_make(group, GROUP_EXPORT, owner, &call, reterr);
    if (status != HF_OK) {
        return status;
    }
    /* The holds are forgotten by what follows: memory comes first. */
    handle = malloc(room_of(group));
    if (handle == NULL) {
        hfi_group_call_give_up(call);
        return hfi_fail(reterr, HF_NOMEM, "out of memory");
    }
    hfi_group_call_ref(call);
    status = hfi_group_call_run(call, owner, NULL, reterr);
    if (status == HF_OK) {
        complete_parts(call);
        write_group(call, handle);
        *ret_handle = handle;
    } else {
        free(handle);
    }
    hfi_group_call_unref(call);
    return status;
}

/* ---- read ---- */

struct entry {
    char *server; /* NULL: the only one */
    struct hfi_handle handle;
};

struct group_handle {
    bool is_red;
    size_t count;
    size_t absent;
    struct entry *entries;
};

static bool read_size(const char **text, size_t most, size_t *ret_size)
{
    size_t size = 0;
    const char *at = *text;

    while (*at >= '0' && *at <= '9' && size <= most) {
        size = size * 10 + (size_t)(*at++ - '0');
    }
    if (at == *text || *at != '/' || size > most) {
        return false;
    }
    *text = at + 1;
    *ret_size = size;
    return true;
}

/* SERVER@HANDLE; what is not held has nobody as its owner, and nobody else. */
static bool read_entry(char *text, bool is_red, struct entry *entry)
{
    char *handle = strchr(text, '@');
    size_t bytes = 0;
    bool nobody;

    if (handle == NULL ||
        (handle > text && !hfi_handle_read_word(text, (size_t)(handle - text),
                                                &entry->server, &bytes)) ||
        (entry->server != NULL && memchr(entry->server, '\0', bytes) != NULL) ||
        !hfi_handle_read(handle + 1, 0, &entry->handle)) {
        return false;
    }
    if (entry->server != NULL) {
        entry->server[bytes] = '\0';
    }
    nobody = strcmp(entry->handle.owner, HFI_HANDLE_NOBODY) == 0;
    return nobody == (entry->handle.count == 0) && (is_red || !nobody);
}

static bool read_entries(char *text, struct group_handle *ret_handle)
{
    char *next = text;

    for (size_t i = 0; i < ret_handle->count; i++) {
        char *entry = next;

        if (entry == NULL) {
            return false;
        }
        next = strchr(entry, ',');
        if (next != NULL) {
            *next++ = '\0';
        }
        if (!read_entry(entry, ret_handle->is_red, &ret_handle->entries[i])) {
            return false;
        }
    }
    return next == NULL;
}

static void forget_group(struct group_handle *handle)
{
    for (size_t i = 0; handle->entries != NULL && i < handle->count; i++) {
        free(handle->entries[i].server);
        hfi_handle_forget(&handle->entries[i].handle);
    }
    free(handle->entries);
}

static bool read_head(const char **text, struct group_handle *ret_handle)
{
    const char *at = *text;

    if (!hf_handle_is_of_group(at)) {
        return false;
    }
    at += sizeof(PREFIX) - 1;
    ret_handle->is_red = strncmp(at, RED, sizeof(RED) - 1) == 0;
    if (!ret_handle->is_red && strncmp(at, MULTI, sizeof(MULTI) - 1) != 0) {
        return false;
    }
    at += ret_handle->is_red ? sizeof(RED) - 1 : sizeof(MULTI) - 1;
    if (!read_size(&at, HF_GROUP_MAX, &ret_handle->count) ||
        !read_size(&at, HF_GROUP_MAX, &ret_handle->absent) ||
        ret_handle->count == 0 ||
        (!ret_handle->is_red && ret_handle->absent > 0)) {
        return false;
    }
    *text = at;
    return true;
}

/* To be forgotten either way. */
static hf_status read_group(const char *text, struct group_handle *ret_handle,
                            hf_error *reterr)
{
    char *copy;
    bool is_one;

    memset(ret_handle, 0, sizeof(*ret_handle));
    if (!read_head(&text, ret_handle)) {
        return hfi_fail(reterr, HF_INVALID, "this is no handle of a group");
    }
    copy = strdup(text);
    ret_handle->entries = calloc(ret_handle->count,
                                 sizeof(*ret_handle->entries));
    if (copy == NULL || ret_handle->entries == NULL) {
        free(copy);
        return hfi_fail(reterr, HF_NOMEM, "out of memory");
    }
    is_one = read_entries(copy, ret_handle);
    free(copy);
    return is_one
               ? HF_OK
               : hfi_fail(reterr, HF_INVALID, "this is no handle of a group");
}

/* ---- continued ---- */

static hf_client *client_of(hf_client *const *clients, size_t count,
                            const char *server)
{
    if (server == NULL) {
        return clients[0];
    }
    for (size_t i = 0; i < count; i++) {
        if (strcmp(hf_client_server(clients[i]), server) == 0) {
            return clients[i];
        }
    }
    return NULL;
}

/* The locks of what is written, and which entry each is of.  A member of a red
 * lock whose server nobody gave counts as absent. */
struct members {
    hf_lock *locks[HF_GROUP_MAX];
    const struct hfi_handle *of[HF_GROUP_MAX];
    size_t count;
};

static void free_members(struct members *members)
{
    for (size_t i = 0; i < members->count; i++) {
        hf_lock_free(members->locks[i]);
    }
    free(members);
}

static hf_status make_members(struct group_handle *handle,
                              hf_client *const *clients, size_t client_count,
                              struct members *members, hf_error *reterr)
{
    assert(handle->entries != NULL); /* it was read */
    for (size_t i = 0; i < handle->count; i++) {
        const struct entry *entry = &handle->entries[i];
        hf_client *client = client_of(clients, client_count, entry->server);
        hf_status status;

        if (client == NULL && handle->is_red) {
            handle->absent++;
            continue;
        }
        if (client == NULL) {
            return hfi_fail(reterr, HF_INVALID,
                            "hf_group_import: a member is of %s, and no client "
                            "of that was given",
                            entry->server);
        }
        status = hfi_handle_lock(client, &entry->handle,
                                 &members->locks[members->count], reterr);
        if (status != HF_OK) {
            return status;
        }
        members->of[members->count++] = &entry->handle;
    }
    return members->count > 0
               ? HF_OK
               : hfi_fail(reterr, HF_UNREACHABLE,
                          "hf_group_import: of none of the handle's servers "
                          "a client was given");
}

static hf_status make_group(const struct group_handle *handle,
                            const struct members *members, hf_group **ret_group,
                            hf_error *reterr)
{
    hf_red_options red = HF_RED_INIT;

    if (!handle->is_red) {
        return hf_multi_lock_new(members->locks, members->count, ret_group,
                                 reterr);
    }
    red.absent = handle->absent;
    return hf_red_lock_new(members->locks, members->count, &red, ret_group,
                           reterr);
}

/* What each member of the group is to be continued from; NULL: out of memory. */
static struct group_part *make_parts(const hf_group *group,
                                     const struct members *members)
{
    struct group_part *parts = calloc(group->count, sizeof(*parts));

    for (size_t i = 0; parts != NULL && i < group->given; i++) {
        struct group_part *part = &parts[group->place[i]];

        memcpy(part->owner, members->of[i]->owner, sizeof(part->owner));
        part->count = members->of[i]->count;
        part->lease_ms = members->of[i]->lease_ms;
    }
    return parts;
}

/* The handle's leases unless it says another; not renewed unless it says so. */
static hf_status read_terms(const hf_group *group, const hf_acquire *how,
                            hf_acquire *ret_terms, hf_error *reterr)
{
    hf_acquire asked = HF_ACQUIRE_INIT;
    hf_status status;

    asked.renew = 0;
    if (how != NULL &&
        !hfi_options_read(how, how->size, &asked, sizeof(asked))) {
        return hfi_fail(reterr, HF_INVALID,
                        "hf_acquire: begin with HF_ACQUIRE_INIT");
    }
    asked.owner = NULL;
    asked.cancel = NULL;
    status = hfi_acquire_read(group->members[0], &asked, ret_terms, reterr);
    ret_terms->wait_ms = 0;
    if (asked.lease_ms == 0) {
        ret_terms->lease_ms = 0;
    }
    return status;
}

static hf_status adopt(hf_group *group, hf_owner *owner,
                       const struct members *members, const hf_acquire *how,
                       hf_error *reterr)
{
    struct group_call *call = NULL;
    hf_acquire terms = HF_ACQUIRE_INIT;
    hf_status status = read_terms(group, how, &terms, reterr);

    if (status == HF_OK) {
        status = hfi_group_call_make(group, GROUP_IMPORT, owner, &call, reterr);
    }
    if (status != HF_OK) {
        return status;
    }
    call->how = terms;
    call->parts = make_parts(group, members);
    if (call->parts == NULL) {
        hfi_group_call_give_up(call);
        return hfi_fail(reterr, HF_NOMEM, "out of memory");
    }
    return hfi_group_call_run(call, owner, NULL, reterr);
}

static hf_status import(const struct group_handle *handle,
                        const struct members *members, const hf_acquire *how,
                        hf_group **ret_group, hf_owner **ret_owner,
                        hf_error *reterr)
{
    hf_group *group = NULL;
    hf_owner *owner = NULL;
    hf_status status = make_group(handle, members, &group, reterr);

    if (status == HF_OK) {
        status = hf_owner_new(group->members[group->place[0]]->client, &owner,
                              reterr);
    }
    if (status == HF_OK) {
        status = adopt(group, owner, members, how, reterr);
    }
    if (status != HF_OK) {
        hf_owner_free(owner);
        if (group != NULL) {
            hfi_group_unref(group); /* what is being undone keeps it */
        }
        return status;
    }
    *ret_group = group;
    *ret_owner = owner;
    return HF_OK;
}

hf_status hf_group_import(hf_client *const *clients, size_t count,
                          const char *handle, const hf_acquire *how,
                          hf_group **ret_group, hf_owner **ret_owner,
                          hf_error *reterr)
{
    struct group_handle read;
    struct members *members;
    hf_status status;

    if (clients == NULL || count == 0 || ret_group == NULL ||
        ret_owner == NULL) {
        return hfi_fail(reterr, HF_INVALID, "hf_group_import: %s",
                        clients == NULL || count == 0 ? "no client was given"
                        : ret_group == NULL           ? "ret_group is NULL"
                                                      : "ret_owner is NULL");
    }
    for (size_t i = 0; i < count; i++) {
        if (clients[i] == NULL) {
            return hfi_fail(reterr, HF_INVALID,
                            "hf_group_import: client %zu is NULL", i);
        }
    }
    status = read_group(handle, &read, reterr);
    members = status == HF_OK ? calloc(1, sizeof(*members)) : NULL;
    if (members != NULL) {
        status = make_members(&read, clients, count, members, reterr);
        if (status == HF_OK) {
            status = import(&read, members, how, ret_group, ret_owner, reterr);
        }
        free_members(members);
    } else if (status == HF_OK) {
        status = hfi_fail(reterr, HF_NOMEM, "out of memory");
    }
    forget_group(&read);
    return status;
}
