/* SPDX-License-Identifier: MIT */
/* base/highway.h - the HighwayHash of 128 bits, by which Redisson names the
 * values of a values lock. */
#ifndef HFI_BASE_HIGHWAY_H
#define HFI_BASE_HIGHWAY_H

#include <stddef.h>
#include <stdint.h>

/* 16 bytes in Base64 without the padding. */
#define HFI_VALUE_FIELD_BYTES 22

/** The hash of some bytes, with Redisson's key. */
void hfi_highway_128(const void *bytes, size_t len, uint64_t ret_words[2]);

/** The field that stands for a value; not terminated. */
void hfi_value_field(const void *value, size_t len,
                     char ret_field[HFI_VALUE_FIELD_BYTES]);

#endif
