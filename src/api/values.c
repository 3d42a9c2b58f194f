/* SPDX-License-Identifier: MIT */
/* api/values.c - values locks: many values of one name, taken together. */
#include <stdlib.h>
#include <string.h>

#include "api/call.h"
#include "base/fail.h"
#include "base/highway.h"
#include "holdfast/multi.h"
#include "sync/kinds/kind.h"

static hf_status check_values(const char *const *values, size_t count,
                              hf_error *reterr)
{
    if (values == NULL || count == 0 || count > HF_VALUES_MAX) {
        return hfi_fail(reterr, HF_INVALID,
                        "hf_values_lock_new: 1 to %zu values", HF_VALUES_MAX);
    }
    for (size_t i = 0; i < count; i++) {
        if (values[i] == NULL) {
            return hfi_fail(reterr, HF_INVALID,
                            "hf_values_lock_new: value %zu is NULL", i);
        }
    }
    return HF_OK;
}

static int compare_fields(const void *a, const void *b)
{
    return memcmp(a, b, HFI_VALUE_FIELD_BYTES);
}

/* Sorted, each once: the same values are the same bytes. */
static struct hfi_kind_options *make_fields(const char *const *values,
                                            size_t count)
{
    struct hfi_kind_options *options = calloc(
        1, sizeof(*options) + count * HFI_VALUE_FIELD_BYTES);
    size_t kept = 0;

    if (options == NULL) {
        return NULL;
    }
    options->refs = 1;
    options->values = (char *)(options + 1);
    for (size_t i = 0; i < count; i++) {
        hfi_value_field(values[i], strlen(values[i]),
                        options->values + i * HFI_VALUE_FIELD_BYTES);
    }
    qsort(options->values, count, HFI_VALUE_FIELD_BYTES, compare_fields);
    for (size_t i = 0; i < count; i++) {
        const char *field = options->values + i * HFI_VALUE_FIELD_BYTES;
        char *to = options->values + kept * HFI_VALUE_FIELD_BYTES;

        if (kept == 0 ||
            compare_fields(to - HFI_VALUE_FIELD_BYTES, field) != 0) {
            memmove(to, field, HFI_VALUE_FIELD_BYTES);
            kept++;
        }
    }
    options->values_bytes = kept * HFI_VALUE_FIELD_BYTES;
    return options;
}

/* Which must not be NULL; taken, if the result is HF_OK. */
static hf_status make_lock(hf_client *client, const struct hfi_object *object,
                           struct hfi_kind_options *options, hf_lock **ret_lock,
                           hf_error *reterr)
{
    hf_status status;

    if (options == NULL) {
        return hfi_fail(reterr, HF_NOMEM, "out of memory");
    }
    status = hfi_lock_make(client, object, ret_lock, reterr);
    if (status != HF_OK) {
        free(options);
        return status;
    }
    /* Nobody else has the lock yet. */
    hfi_kind_options_unref((*ret_lock)->options);
    (*ret_lock)->options = options;
    return HF_OK;
}

hf_status hfi_values_lock_of(hf_client *client, const struct hfi_object *name,
                             const char *fields, size_t bytes,
                             hf_lock **ret_lock, hf_error *reterr)
{
    struct hfi_object object = *name;
    struct hfi_kind_options *options = calloc(1, sizeof(*options) + bytes);

    object.kind = &hfi_kind_values;
    if (options != NULL) {
        options->refs = 1;
        options->values = (char *)(options + 1);
        options->values_bytes = bytes;
        memcpy(options->values, fields, bytes);
    }
    return make_lock(client, &object, options, ret_lock, reterr);
}

hf_status hf_values_lock_new(hf_client *client, const char *name,
                             const char *const *values, size_t count,
                             hf_lock **ret_lock, hf_error *reterr)
{
    struct hfi_object object = {.kind = &hfi_kind_values, .name = name};
    hf_status status = check_values(values, count, reterr);

    if (status != HF_OK) {
        return status;
    }
    if (name == NULL) {
        return hfi_fail(reterr, HF_BAD_NAME, "the name is NULL");
    }
    if (client == NULL || ret_lock == NULL) {
        return hfi_fail(reterr, HF_INVALID, "hf_values_lock_new: %s is NULL",
                        client == NULL ? "client" : "ret_lock");
    }
    object.name_bytes = strlen(name);
    return make_lock(client, &object, make_fields(values, count), ret_lock,
                     reterr);
}
