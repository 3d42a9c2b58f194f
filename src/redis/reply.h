/* SPDX-License-Identifier: MIT */
/* redis/reply.h - reading replies: bytes in, values out.
 *
 * hiredis' reader does the parsing; its objects are ours (base/value.h), so
 * that no other layer knows hiredis.  Pure: it is fed, it reads nothing.
 */
#ifndef HFI_REDIS_REPLY_H
#define HFI_REDIS_REPLY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/value.h"

struct hfi_reader;

struct hfi_reader *hfi_reader_new(void);
void hfi_reader_free(struct hfi_reader *reader);

/** Add bytes that were read.  false: out of memory, or not the protocol. */
bool hfi_reader_feed(struct hfi_reader *reader, const char *bytes, size_t len);

enum hfi_read_result {
    HFI_READ_VALUE, /* `ret_value` is one; the caller clears it */
    HFI_READ_MORE,  /* no whole reply is there yet */
    HFI_READ_BROKEN /* what was read is not the protocol, or too large */
};

/** The next whole reply. */
enum hfi_read_result hfi_reader_next(struct hfi_reader *reader,
                                     struct hfi_value *ret_value);

/** What an error's text means to the core. */
enum hfi_refusal hfi_refusal_of(const char *text);

#endif
