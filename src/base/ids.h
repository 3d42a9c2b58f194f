/* SPDX-License-Identifier: MIT */
/* base/ids.h - identities and jitter. */
#ifndef HFI_BASE_IDS_H
#define HFI_BASE_IDS_H

#include <stdbool.h>
#include <stdint.h>

#define HFI_UUID_SIZE 37 /* 36 characters and the terminator */

/* A random UUID (version 4), lower case, from the kernel.  false: the kernel
 * gave no random bytes, and nothing was written. */
bool hfi_uuid_make(char ret_uuid[HFI_UUID_SIZE]);

/* A seed for hfi_random_next(); differs between processes and calls. */
uint64_t hfi_seed_make(void);

/* The next number of a sequence (splitmix64).  For jitter only: whoever sees
 * one number knows all that follow. */
uint64_t hfi_random_next(uint64_t *state);

#endif
