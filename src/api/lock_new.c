/* SPDX-License-Identifier: MIT */
/* api/lock_new.c - lock objects: made of any kind, and freed. */
#include <stdlib.h>
#include <string.h>

#include "api/call.h"
#include "base/fail.h"
#include "sync/kinds/kind.h"

#define BACKOFF_LIMIT_MS 3600000
#define FAIR_LIMIT_MS 86400000
#define FAIR_DEAD_LEAST_MS 100

/* ---- what is asked for ---- */

static hf_status check_name(size_t name_bytes, hf_error *reterr)
{
    if (name_bytes == 0) {
        return hfi_fail(reterr, HF_BAD_NAME, "the name is empty");
    }
    if (name_bytes > HF_NAME_MAX_BYTES) {
        return hfi_fail(reterr, HF_BAD_NAME,
                        "the name has %zu bytes; %zu are the most", name_bytes,
                        HF_NAME_MAX_BYTES);
    }
    return HF_OK;
}

static const char *wrong_in_tokens(const hf_lock_options *asked)
{
    bool fenced = asked->fenced || asked->kind == HF_KIND_FENCED;

    if (!fenced && (asked->token_each_entry || asked->token_from_time ||
                    asked->token_ttl_ms != 0)) {
        return "tokens are asked for, and the lock is not fenced";
    }
    if (asked->token_ttl_ms < 0 || asked->token_ttl_ms > HF_LEASE_MAX_MS) {
        return "token_ttl_ms: 0 to ten years";
    }
    if (asked->token_ttl_ms > 0 && !asked->token_from_time) {
        return "token_ttl_ms needs token_from_time: the tokens after its end "
               "would be smaller";
    }
    return NULL;
}

static const char *wrong_in_fair(hf_lock_options *asked)
{
    if (asked->fair_wait_ms == 0) {
        asked->fair_wait_ms = HF_FAIR_WAIT_MS;
    }
    if (asked->fair_dead_ms == 0) {
        asked->fair_dead_ms = HF_FAIR_DEAD_MS;
    }
    if (asked->fair_wait_ms < 1 || asked->fair_wait_ms > FAIR_LIMIT_MS) {
        return "fair_wait_ms: 1 ms to a day";
    }
    if (asked->fair_dead_ms < FAIR_DEAD_LEAST_MS ||
        asked->fair_dead_ms > FAIR_LIMIT_MS) {
        return "fair_dead_ms: 100 ms to a day";
    }
    return NULL;
}

/* The defaults filled in; NULL, or what is wrong. */
static const char *read_options(hf_lock_options *asked)
{
    const char *wrong;

    if (asked->backoff_first_ms == 0) {
        asked->backoff_first_ms = HF_BACKOFF_FIRST_MS;
    }
    if (asked->backoff_max_ms == 0) {
        asked->backoff_max_ms = asked->backoff_first_ms > HF_BACKOFF_MAX_MS
                                    ? asked->backoff_first_ms
                                    : HF_BACKOFF_MAX_MS;
    }
    if (asked->backoff < HF_BACKOFF_EXPONENTIAL ||
        asked->backoff > HF_BACKOFF_DECORRELATED) {
        return "backoff: there is no such one";
    }
    if (asked->backoff_first_ms < 1 ||
        asked->backoff_first_ms > asked->backoff_max_ms ||
        asked->backoff_max_ms > BACKOFF_LIMIT_MS) {
        return "backoff_first_ms and backoff_max_ms: 1 ms to an hour, the "
               "first not longer than the longest";
    }
    wrong = wrong_in_fair(asked);
    return wrong != NULL ? wrong : wrong_in_tokens(asked);
}

static enum hfi_fencing fencing_of(const hf_lock_options *asked)
{
    if (!asked->fenced && asked->kind != HF_KIND_FENCED) {
        return HFI_UNFENCED;
    }
    return asked->token_each_entry ? HFI_FENCED_COUNTING : HFI_FENCED;
}

/* Whether they differ from what the core does without any. */
static bool needs_options(const hf_lock_options *asked)
{
    return asked->token_from_time || asked->kind == HF_KIND_SPIN ||
           asked->fair_wait_ms != HF_FAIR_WAIT_MS ||
           asked->fair_dead_ms != HF_FAIR_DEAD_MS;
}

static struct hfi_kind_options *make_options(const hf_lock_options *asked)
{
    struct hfi_kind_options *options = calloc(1, sizeof(*options));

    if (options != NULL) {
        options->refs = 1;
        options->token_from_time = asked->token_from_time != 0;
        options->token_ttl_ms = asked->token_ttl_ms;
        options->backoff = asked->backoff;
        options->backoff_first_ms = asked->backoff_first_ms;
        options->backoff_max_ms = asked->backoff_max_ms;
        options->queue_wait_ms = asked->fair_wait_ms;
        options->dead_ms = asked->fair_dead_ms;
    }
    return options;
}

/* ---- made ---- */

static hf_lock *lock_of(hf_client *client, const struct hfi_object *object,
                        const hf_lock_options *asked)
{
    hf_lock *lock = calloc(1, sizeof(*lock) + object->name_bytes);

    if (lock == NULL) {
        return NULL;
    }
    if (needs_options(asked)) {
        lock->options = make_options(asked);
        if (lock->options == NULL) {
            free(lock);
            return NULL;
        }
    }
    lock->client = client;
    lock->kind = object->kind;
    lock->name_bytes = object->name_bytes;
    memcpy(lock->name, object->name, object->name_bytes);
    return lock;
}

static hf_status make_lock(hf_client *client, const struct hfi_object *object,
                           const hf_lock_options *asked, hf_lock **ret_lock,
                           hf_error *reterr)
{
    hf_lock *lock;
    hf_status status = hfi_client_enter(client, false, reterr);

    if (status != HF_OK) {
        return status;
    }
    lock = lock_of(client, object, asked);
    if (lock == NULL) {
        hfi_client_leave(client);
        return hfi_fail(reterr, HF_NOMEM, "out of memory");
    }
    hfi_client_ref(client);
    hfi_client_leave(client);
    *ret_lock = lock;
    return HF_OK;
}

hf_status hfi_lock_make(hf_client *client, const struct hfi_object *object,
                        hf_lock **ret_lock, hf_error *reterr)
{
    const hf_lock_options plain = HF_LOCK_OPTIONS_INIT;
    hf_status status;

    if (client == NULL) {
        return hfi_fail(reterr, HF_INVALID, "the client is NULL");
    }
    if (object->name == NULL) {
        return hfi_fail(reterr, HF_BAD_NAME, "the name is NULL");
    }
    status = check_name(object->name_bytes, reterr);
    return status == HF_OK ? make_lock(client, object, &plain, ret_lock, reterr)
                           : status;
}

hf_status hf_lock_new_as(hf_client *client, const hf_lock_options *options,
                         const void *name, size_t name_bytes,
                         hf_lock **ret_lock, hf_error *reterr)
{
    hf_lock_options own = HF_LOCK_OPTIONS_INIT;
    struct hfi_object object = {.name = name, .name_bytes = name_bytes};
    const char *wrong;
    hf_status status;

    if (client == NULL || name == NULL || ret_lock == NULL) {
        return hfi_fail(reterr, HF_INVALID, "hf_lock_new: %s is NULL",
                        client == NULL ? "client"
                        : name == NULL ? "name"
                                       : "ret_lock");
    }
    if (options != NULL &&
        !hfi_options_read(options, options->size, &own, sizeof(own))) {
        return hfi_fail(reterr, HF_INVALID,
                        "hf_lock_options: begin with HF_LOCK_OPTIONS_INIT");
    }
    wrong = read_options(&own);
    if (wrong != NULL) {
        return hfi_fail(reterr, HF_INVALID, "hf_lock_options: %s", wrong);
    }
    object.kind = hfi_kind_of(own.kind, fencing_of(&own));
    if (object.kind == NULL && hfi_kind_of(own.kind, HFI_UNFENCED) != NULL) {
        return hfi_fail(reterr, HF_INVALID, "a %s lock has no fencing tokens",
                        hf_kind_word(own.kind));
    }
    if (own.kind == HF_KIND_VALUES) {
        return hfi_fail(reterr, HF_INVALID,
                        "a values lock is made by hf_values_lock_new()");
    }
    if (object.kind == NULL) {
        return hfi_fail(reterr, HF_INVALID,
                        "hf_lock_options: there is no kind %d", (int)own.kind);
    }
    if (own.prefer_writers != 0) {
        object.kind = hfi_kind_giving_way(object.kind);
    }
    status = check_name(name_bytes, reterr);
    return status == HF_OK ? make_lock(client, &object, &own, ret_lock, reterr)
                           : status;
}

static hf_status new_of_kind(hf_client *client, hf_kind kind, const char *name,
                             hf_lock **ret_lock, hf_error *reterr)
{
    hf_lock_options options = HF_LOCK_OPTIONS_INIT;

    if (name == NULL) {
        return hfi_fail(reterr, HF_BAD_NAME, "the name is NULL");
    }
    options.kind = kind;
    return hf_lock_new_as(client, &options, name, strlen(name), ret_lock,
                          reterr);
}

hf_status hf_lock_new(hf_client *client, const char *name, hf_lock **ret_lock,
                      hf_error *reterr)
{
    return new_of_kind(client, HF_KIND_LOCK, name, ret_lock, reterr);
}

hf_status hf_lock_new_bytes(hf_client *client, const void *name,
                            size_t name_bytes, hf_lock **ret_lock,
                            hf_error *reterr)
{
    return hf_lock_new_as(client, NULL, name, name_bytes, ret_lock, reterr);
}

hf_status hf_fenced_lock_new(hf_client *client, const char *name,
                             hf_lock **ret_lock, hf_error *reterr)
{
    return new_of_kind(client, HF_KIND_FENCED, name, ret_lock, reterr);
}

hf_status hf_spin_lock_new(hf_client *client, const char *name,
                           hf_lock **ret_lock, hf_error *reterr)
{
    return new_of_kind(client, HF_KIND_SPIN, name, ret_lock, reterr);
}

hf_status hf_read_lock_new(hf_client *client, const char *name,
                           hf_lock **ret_lock, hf_error *reterr)
{
    return new_of_kind(client, HF_KIND_READ, name, ret_lock, reterr);
}

hf_status hf_write_lock_new(hf_client *client, const char *name,
                            hf_lock **ret_lock, hf_error *reterr)
{
    return new_of_kind(client, HF_KIND_WRITE, name, ret_lock, reterr);
}

hf_status hf_token_lock_new(hf_client *client, const char *name,
                            hf_lock **ret_lock, hf_error *reterr)
{
    return new_of_kind(client, HF_KIND_TOKEN, name, ret_lock, reterr);
}

hf_status hf_fair_lock_new(hf_client *client, const char *name,
                           hf_lock **ret_lock, hf_error *reterr)
{
    return new_of_kind(client, HF_KIND_FAIR, name, ret_lock, reterr);
}

hf_status hf_nonreentrant_fair_lock_new(hf_client *client, const char *name,
                                        hf_lock **ret_lock, hf_error *reterr)
{
    return new_of_kind(client, HF_KIND_NONREENTRANT_FAIR, name, ret_lock,
                       reterr);
}

hf_status hf_nonreentrant_lock_new(hf_client *client, const char *name,
                                   hf_lock **ret_lock, hf_error *reterr)
{
    return new_of_kind(client, HF_KIND_NONREENTRANT, name, ret_lock, reterr);
}

struct hfi_object hfi_lock_object(const hf_lock *lock)
{
    struct hfi_object object = {.kind = lock->kind,
                                .name = lock->name,
                                .name_bytes = lock->name_bytes,
                                .options = lock->options};

    return object;
}

hf_lock *hfi_lock_copy(const hf_lock *lock)
{
    struct hf_client *client = lock->client;
    size_t bytes = sizeof(*lock) + lock->name_bytes;
    hf_lock *copy = malloc(bytes);

    if (copy == NULL) {
        return NULL;
    }
    memcpy(copy, lock, bytes);
    copy->calls = 0;
    if (copy->options != NULL) {
        hfi_client_lock(client);
        copy->options->refs++;
        hfi_client_unlock(client);
    }
    hfi_client_ref(client);
    return copy;
}

/* ---- freed ---- */

/* A hold may outlive its lock object, and the core still use them. */
static void free_options(hf_lock *lock)
{
    struct hf_client *client = lock->client;

    if (lock->options == NULL) {
        return;
    }
    if (client->generation != hfi_fork_generation()) {
        return; /* in a child nobody can say who else has them */
    }
    hfi_client_lock(client);
    hfi_kind_options_unref(lock->options);
    hfi_client_unlock(client);
}

hf_status hf_lock_free(hf_lock *lock)
{
    struct hf_client *client;
    struct hfi_object object;
    bool used = false;

    if (lock == NULL) {
        return HF_OK;
    }
    client = lock->client;
    object = hfi_lock_object(lock);
    if (client->generation == hfi_fork_generation()) {
        hfi_client_lock(client);
        used = !client->closing &&
               (lock->calls > 0 ||
                hfi_core_holds_of_lock(client->core, lock, &object) > 0);
        hfi_client_unlock(client);
    }
    if (used) {
        return HF_STILL_HELD;
    }
    free_options(lock);
    free(lock);
    hfi_client_unref(client);
    return HF_OK;
}
