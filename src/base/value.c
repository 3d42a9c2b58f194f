/* SPDX-License-Identifier: MIT */
/* base/value.c - trees of plain values; see value.h. */
#include "base/value.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void hfi_value_clear(struct hfi_value *value)
{
    for (size_t i = 0; i < value->count; i++) {
        hfi_value_clear(&value->items[i]);
    }
    free(value->items);
    free(value->text);
    memset(value, 0, sizeof(*value));
}

int64_t hfi_value_number(const struct hfi_value *value, int64_t otherwise)
{
    char *end = NULL;
    long long number;

    if (value->kind == HFI_INTEGER) {
        return value->integer;
    }
    if (value->kind != HFI_TEXT || value->len == 0) {
        return otherwise;
    }
    errno = 0;
    number = strtoll(value->text, &end, 10);
    if (errno != 0 || *end != '\0') {
        return otherwise;
    }
    return number;
}
