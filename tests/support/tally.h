/* SPDX-License-Identifier: MIT */
/* tally.h - how often each command was asked for.
 */
#ifndef HFT_TALLY_H
#define HFT_TALLY_H

#include "support/resp_scan.h"

/* A list; NULL is an empty one. */
struct hft_tally;

void hft_tally_count(struct hft_tally **tally, struct hft_piece command);
unsigned hft_tally_of(const struct hft_tally *tally,
                      const char *command); /* NULL: of all */
void hft_tally_free(struct hft_tally *tally);

#endif
