/* SPDX-License-Identifier: MIT */
/* api/handle.c - holds that are written out, and continued elsewhere.
 *
 * A handle is one printable word:  hf1/KIND/NAME/OWNER/COUNT/LEASEms  where the
 * kind has "+fenced" behind it if it is of another word and fenced, and with the
 * name percent-encoded but for letters, digits, `-`, `_`, `.` and `:`.  Behind the
 * name of a values lock stands one part more, the fields of its values, written
 * likewise.  It has no deadline, for the clock it would count on means nothing
 * elsewhere, and no secret.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/handle.h"
#include "base/fail.h"
#include "base/highway.h"
#include "holdfast/multi.h"
#include "sync/kinds/kind.h"

#define PREFIX "hf1/"
#define KIND_MAX 40
#define FENCED_END "+fenced"
/* Each is a record here: a handle with more was not written by us. */
#define COUNT_MAX 1000000
#define OWNER_MAX HFI_HANDLE_OWNER

/* ---- written ---- */

static bool is_plain(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' ||
           c == ':';
}

size_t hfi_handle_put_word(char *out, const char *word, size_t bytes)
{
    static const char digits[] = "0123456789ABCDEF";
    char *at = out;

    for (size_t i = 0; i < bytes; i++) {
        unsigned char c = (unsigned char)word[i];

        if (is_plain(c)) {
            *at++ = (char)c;
        } else {
            *at++ = '%';
            *at++ = digits[c >> 4];
            *at++ = digits[c & 15];
        }
    }
    return (size_t)(at - out);
}

size_t hfi_handle_room(const hf_lock *lock)
{
    size_t values = lock->options == NULL ? 0 : lock->options->values_bytes;

    return sizeof(PREFIX) + KIND_MAX + 3 * lock->name_bytes + 3 * values +
           OWNER_MAX + 65;
}

size_t hfi_handle_write(const hf_lock *lock, const char *owner, int64_t count,
                        int64_t lease_ms, char *handle)
{
    bool says_so = strcmp(lock->kind->word, hf_kind_word(HF_KIND_FENCED)) == 0;
    size_t len;

    len = (size_t)snprintf(handle, sizeof(PREFIX) + KIND_MAX, PREFIX "%s%s/",
                           lock->kind->word,
                           lock->kind->fenced && !says_so ? FENCED_END : "");
    len += hfi_handle_put_word(handle + len, lock->name, lock->name_bytes);
    if (lock->kind == &hfi_kind_values) {
        handle[len++] = '/';
        len += hfi_handle_put_word(handle + len, lock->options->values,
                                   lock->options->values_bytes);
    }
    return len + (size_t)snprintf(handle + len, OWNER_MAX + 64,
                                  "/%s/%" PRId64 "/%" PRId64 "ms", owner, count,
                                  lease_ms);
}

void hf_handle_free(char *handle)
{
    free(handle);
}

hf_status hf_lock_export(hf_lock *lock, hf_owner *owner, char **ret_handle,
                         hf_error *reterr)
{
    struct hfi_op_request ask = {.kind = HFI_OP_EXPORT};
    struct hfi_op_result result;
    struct hf_client *client;
    char *handle;
    hf_status status;

    if (lock == NULL || ret_handle == NULL) {
        return hfi_fail(reterr, HF_INVALID, "hf_lock_export: %s is NULL",
                        lock == NULL ? "lock" : "ret_handle");
    }
    client = lock->client;
    status = hfi_client_enter(client, true, reterr);
    if (status != HF_OK) {
        return status;
    }
    /* The hold is forgotten by what follows: memory comes first. */
    handle = malloc(hfi_handle_room(lock));
    ask.owner = handle == NULL ? NULL : hfi_call_owner(client, owner);
    if (ask.owner == NULL) {
        hfi_client_leave(client);
        free(handle);
        return hfi_fail(reterr, HF_NOMEM, "out of memory");
    }
    hfi_call_names(&ask, lock);
    status = hfi_call_run(client, &ask, NULL, &result, reterr);
    if (status != HF_OK) {
        free(handle);
        return status;
    }
    hfi_handle_write(lock, result.handle_owner, result.count, result.lease_ms,
                     handle);
    *ret_handle = handle;
    return HF_OK;
}

/* ---- read ---- */

static int hex_value(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool hfi_handle_read_word(const char *text, size_t len, char **ret_word,
                          size_t *ret_bytes)
{
    char *word = malloc(len + 1);
    size_t bytes = 0;

    *ret_word = word;
    if (word == NULL) {
        return false;
    }
    for (size_t i = 0; i < len; i++) {
        int high, low;

        if (is_plain((unsigned char)text[i])) {
            word[bytes++] = text[i];
            continue;
        }
        if (text[i] != '%' || i + 2 >= len) {
            return false;
        }
        high = hex_value(text[i + 1]);
        low = hex_value(text[i + 2]);
        if (high < 0 || low < 0) {
            return false;
        }
        word[bytes++] = (char)(high * 16 + low);
        i += 2;
    }
    *ret_bytes = bytes;
    return bytes > 0;
}

static bool is_base64(char c)
{
    return c != '-' && c != '_' && c != '.' && c != ':' &&
           (is_plain((unsigned char)c) || c == '+' || c == '/');
}

/* Of a values lock: sorted, each once, and no more than a lock can have. */
static bool read_fields(const char *text, size_t len, struct hfi_handle *handle)
{
    const size_t one = HFI_VALUE_FIELD_BYTES;

    if (!hfi_handle_read_word(text, len, &handle->fields,
                              &handle->fields_bytes) ||
        handle->fields_bytes % one != 0 ||
        handle->fields_bytes > HF_VALUES_MAX * one) {
        return false;
    }
    for (size_t i = 0; i < handle->fields_bytes; i++) {
        if (!is_base64(handle->fields[i])) {
            return false;
        }
    }
    for (size_t i = one; i < handle->fields_bytes; i += one) {
        if (memcmp(handle->fields + i - one, handle->fields + i, one) >= 0) {
            return false;
        }
    }
    return true;
}

static bool read_owner(const char *text, size_t len, struct hfi_handle *handle)
{
    if (len == 0 || len >= sizeof(handle->owner)) {
        return false;
    }
    for (size_t i = 0; i < len; i++) {
        if (!is_plain((unsigned char)text[i])) {
            return false;
        }
    }
    memcpy(handle->owner, text, len);
    handle->owner[len] = '\0';
    return strchr(handle->owner, ':') != NULL;
}

static bool read_number(const char **text, int64_t least, int64_t most,
                        int64_t *ret_number)
{
    char *end = NULL;
    long long number;

    if (**text < '0' || **text > '9') {
        return false;
    }
    errno = 0;
    number = strtoll(*text, &end, 10);
    if (errno != 0 || number < least || number > most) {
        return false;
    }
    *ret_number = number;
    *text = end;
    return true;
}

/* "nonreentrant", or "nonreentrant+fenced". */
static bool read_kind(const char *text, size_t len, struct hfi_handle *handle)
{
    const size_t end = sizeof(FENCED_END) - 1;
    char word[KIND_MAX];

    if (len >= sizeof(word)) {
        return false;
    }
    handle->fenced = len > end &&
                     memcmp(text + len - end, FENCED_END, end) == 0;
    len -= handle->fenced ? end : 0;
    memcpy(word, text, len);
    word[len] = '\0';
    return hf_kind_of_word(word, &handle->kind) &&
           !(handle->fenced && handle->kind == HF_KIND_VALUES);
}

/* The name, and what stands behind it.  Returns where the owner begins, or NULL:
 * it is none. */
static const char *read_names(const char *name, struct hfi_handle *handle)
{
    const char *end = strchr(name, '/');
    const char *fields;

    if (end == NULL ||
        !hfi_handle_read_word(name, (size_t)(end - name), &handle->name,
                              &handle->name_bytes)) {
        return NULL;
    }
    if (handle->kind != HF_KIND_VALUES) {
        return end + 1;
    }
    fields = end + 1;
    end = strchr(fields, '/');
    if (end == NULL || !read_fields(fields, (size_t)(end - fields), handle)) {
        return NULL;
    }
    return end + 1;
}

bool hfi_handle_read(const char *text, int64_t least_count,
                     struct hfi_handle *ret_handle)
{
    const char *owner, *rest;
    size_t len;

    memset(ret_handle, 0, sizeof(*ret_handle));
    if (text == NULL || strncmp(text, PREFIX, sizeof(PREFIX) - 1) != 0) {
        return false;
    }
    text += sizeof(PREFIX) - 1;
    len = strcspn(text, "/");
    if (text[len] != '/' || !read_kind(text, len, ret_handle)) {
        return false;
    }
    owner = read_names(text + len + 1, ret_handle);
    rest = owner == NULL ? NULL : strchr(owner, '/');
    if (rest == NULL ||
        !read_owner(owner, (size_t)(rest - owner), ret_handle)) {
        return false;
    }
    rest++;
    if (!read_number(&rest, least_count, COUNT_MAX, &ret_handle->count) ||
        *rest++ != '/' ||
        !read_number(&rest, HF_LEASE_MIN_MS, HF_LEASE_MAX_MS,
                     &ret_handle->lease_ms)) {
        return false;
    }
    return strcmp(rest, "ms") == 0; /* one that was cut off is none */
}

/* ---- continued ---- */

static hf_status adopt(hf_lock *lock, hf_owner *owner,
                       const struct hfi_handle *handle, const hf_acquire *how,
                       hf_error *reterr)
{
    struct hfi_op_request ask;
    struct hfi_op_result result;
    hf_status status = hfi_acquire_ask(lock, how, &ask, reterr);

    if (status != HF_OK) {
        return status;
    }
    status = hfi_client_enter(lock->client, true, reterr);
    if (status == HF_OK) {
        ask.kind = HFI_OP_IMPORT;
        ask.field = handle->owner;
        ask.count = handle->count;
        ask.owner = hfi_call_owner(lock->client, owner);
        status = hfi_call_run(lock->client, &ask, NULL, &result, reterr);
    }
    free(ask.terms); /* if it got nowhere */
    return status;
}

void hfi_handle_forget(struct hfi_handle *handle)
{
    free(handle->name);
    free(handle->fields);
}

hf_status hfi_handle_lock(hf_client *client, const struct hfi_handle *handle,
                          hf_lock **ret_lock, hf_error *reterr)
{
    hf_lock_options options = HF_LOCK_OPTIONS_INIT;
    struct hfi_object object = {.name = handle->name,
                                .name_bytes = handle->name_bytes};

    if (handle->kind == HF_KIND_VALUES) {
        return hfi_values_lock_of(client, &object, handle->fields,
                                  handle->fields_bytes, ret_lock, reterr);
    }
    options.kind = handle->kind;
    options.fenced = handle->fenced;
    return hf_lock_new_as(client, &options, handle->name, handle->name_bytes,
                          ret_lock, reterr);
}

hf_status hf_lock_import(hf_client *client, const char *handle,
                         const hf_acquire *how, hf_lock **ret_lock,
                         hf_owner **ret_owner, hf_error *reterr)
{
    hf_acquire terms = HF_ACQUIRE_INIT;
    struct hfi_handle read;
    hf_lock *lock = NULL;
    hf_owner *owner = NULL;
    hf_status status = HF_OK;

    if (!hfi_handle_read(handle, 1, &read)) {
        hfi_handle_forget(&read);
        return hfi_fail(reterr, HF_INVALID, "this is no handle of a lock");
    }
    terms.renew = 0;
    status = hfi_handle_lock(client, &read, &lock, reterr);
    if (status == HF_OK && how != NULL) {
        status = hfi_acquire_read(lock, how, &terms, reterr);
    }
    if (how == NULL || how->lease_ms == 0) {
        terms.lease_ms = read.lease_ms;
    }
    if (status == HF_OK) {
        status = hf_owner_new(client, &owner, reterr);
    }
    if (status == HF_OK) {
        status = adopt(lock, owner, &read, &terms, reterr);
    }
    hfi_handle_forget(&read);
    if (status != HF_OK) {
        hf_owner_free(owner);
        hf_lock_free(lock);
        return status;
    }
    *ret_lock = lock;
    *ret_owner = owner;
    return HF_OK;
}
