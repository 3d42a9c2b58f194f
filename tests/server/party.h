/* SPDX-License-Identifier: MIT */
/* party.h - another process that takes a lock: this very program, started with
 * arguments.  It does what it is told on its standard input, a word a line:
 *
 *     held      says "held=0" or "held=1"
 *     state     says "state=N reason=M"
 *     release   says "release=HF_..."
 *     take      says "take=HF_..."
 *
 * It says "ready" when it is connected and "take=HF_..." when its first
 * acquire has ended.  The end of its input ends it, without a release.
 */
#ifndef TESTS_SERVER_PARTY_H
#define TESTS_SERVER_PARTY_H

#include <stdbool.h>
#include <stdint.h>

struct hft_child;

/* To be the first line of main(): what a party does; never returns then. */
void party_main(int argc, char **argv);

struct hft_child *party_start(const char *url, const char *name,
                              int64_t lease_ms);

/* The same with a lock of another kind ("fair"), and in an environment (ends
 * with NULL; may be NULL). */
struct hft_child *party_start_as(const char *url, const char *name,
                                 int64_t lease_ms, const char *kind,
                                 const char *const *env);

/* Tell it a word and wait for what it says to it. */
bool party_says(struct hft_child *party, const char *word,
                const char *expected);

#endif
