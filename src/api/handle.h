/* SPDX-License-Identifier: MIT */
/* api/handle.h - what handles of locks and of groups are made of; api/ only. */
#ifndef HFI_API_HANDLE_H
#define HFI_API_HANDLE_H

#include "api/call.h"

#define HFI_HANDLE_OWNER 100 /* "uuid:number" has 57 at most */

/* Of a member of a group that is not held: its count is 0. */
#define HFI_HANDLE_NOBODY "-:0"

struct hfi_handle {
    hf_kind kind;
    bool fenced;
    char *name;
    size_t name_bytes;
    char *fields; /* of a values lock; else NULL */
    size_t fields_bytes;
    char owner[HFI_HANDLE_OWNER];
    int64_t count;
    int64_t lease_ms;
};

/** A word as it stands in a handle: percent-encoded but for letters, digits, `-`,
 *  `_`, `.` and `:`.  @p out has room for three times as much.  Returns what was
 *  written, without a terminator. */
size_t hfi_handle_put_word(char *out, const char *word, size_t bytes);

/** Undo that; exactly what it writes is accepted, and an empty word is none.
 *  @p ret_word is to be freed either way. */
bool hfi_handle_read_word(const char *text, size_t len, char **ret_word,
                          size_t *ret_bytes);

/** As much as a handle of this lock can ever need, with its terminator. */
size_t hfi_handle_room(const hf_lock *lock);

/** The handle of a hold; returns its length. */
size_t hfi_handle_write(const hf_lock *lock, const char *owner, int64_t count,
                        int64_t lease_ms, char *handle);

/** Read one.  false: it is none.  To be forgotten either way. */
bool hfi_handle_read(const char *text, int64_t least_count,
                     struct hfi_handle *ret_handle);
void hfi_handle_forget(struct hfi_handle *handle);

/** The lock object of what is written; free it with hf_lock_free(). */
hf_status hfi_handle_lock(hf_client *client, const struct hfi_handle *handle,
                          hf_lock **ret_lock, hf_error *reterr);

#endif
