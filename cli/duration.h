/* SPDX-License-Identifier: MIT */
/* duration.h - durations as people write them. */
#ifndef HOLDFAST_CLI_DURATION_H
#define HOLDFAST_CLI_DURATION_H

#include <stddef.h>
#include <stdint.h>

/* Ten years: longer than any lease, and far from where arithmetic on
 * milliseconds would overflow. */
#define CLI_DURATION_MAX_MS INT64_C(315360000000)

/* Read `250ms`, `10s`, `5m`, `2h`, `1d` or a plain number of seconds; decimals
 * are allowed, and anything finer than a millisecond is rounded up.  No sign,
 * no spaces.  Returns 0, or -1 if it is no duration or over ten years. */
int cli_duration_read(const char *text, int64_t *ret_ms);

/* Write one for people, as they would write it: "250ms", "9.4s", "3m20s". */
void cli_duration_text(int64_t ms, char *buf, size_t size);

#endif
