/* SPDX-License-Identifier: MIT */
/* base/value.h - what a script answered, as a tree of plain values.
 *
 * The seam between the layer that parses replies (redis/) and the one that
 * understands them (sync/): neither knows the other.  A value owns its text and
 * its items; hfi_value_free() frees the whole tree.
 */
#ifndef HFI_BASE_VALUE_H
#define HFI_BASE_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum hfi_value_kind { HFI_NIL, HFI_INTEGER, HFI_TEXT, HFI_ERROR, HFI_ARRAY };

/* What kind of "no" an error reply is: all that the core needs to know. */
enum hfi_refusal {
    HFI_REFUSAL_OTHER,       /* it will be refused again */
    HFI_REFUSAL_NO_SCRIPT,   /* send it again, with its text */
    HFI_REFUSAL_UNAVAILABLE, /* not now: LOADING, READONLY, OOM ... */
    HFI_REFUSAL_WRONG_TYPE,  /* the key holds something else */
    HFI_REFUSAL_PERMISSION   /* not for this user */
};

struct hfi_value {
    enum hfi_value_kind kind;
    enum hfi_refusal refusal; /* of an HFI_ERROR */
    int64_t integer;          /* of an HFI_INTEGER */
    char *text;               /* of an HFI_TEXT or HFI_ERROR, terminated */
    size_t len;               /* of text */
    struct hfi_value *items;  /* of an HFI_ARRAY */
    size_t count;             /* of items */
};

/** Free what a value owns, not the value itself, which becomes HFI_NIL. */
void hfi_value_clear(struct hfi_value *value);

/** The integer, or the number that a text spells; @p otherwise if neither. */
int64_t hfi_value_number(const struct hfi_value *value, int64_t otherwise);

#endif
