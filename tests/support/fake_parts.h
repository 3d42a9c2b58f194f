/* SPDX-License-Identifier: MIT */
/* fake_parts.h - what the two files of the fake server know of each other.
 */
#ifndef HFT_FAKE_PARTS_H
#define HFT_FAKE_PARTS_H

#include "support/bytes.h"
#include "support/fake_server.h"
#include "support/resp_scan.h"

struct hft_script;

struct hft_script *hft_script_new(void);
void hft_script_free(struct hft_script *script);
void hft_script_add(struct hft_script *script, const struct hft_answer *how);

/* Append the answer to a whole request, or to HFT_ON_CONNECT. */
enum hft_manner hft_script_answer(struct hft_script *script,
                                  struct hft_piece request,
                                  struct hft_bytes *out);

#endif
