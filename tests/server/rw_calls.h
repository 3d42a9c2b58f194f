/* SPDX-License-Identifier: MIT */
/* rw_calls.h - the scripts of the read-write lock, one call each, and what they
 * leave on the server: for tests that drive them without a client, in any
 * order, late and twice.
 *
 * All of them concern the lock NAME.  For the main thread.
 */
#ifndef TESTS_SERVER_RW_CALLS_H
#define TESTS_SERVER_RW_CALLS_H

#include "scripts_data.h"
#include "world.h"

#define NAME "rw"
#define CHANNEL "redisson_rwlock:{rw}"
#define U "7c9e6679-7425-40de-944b-e07fc1f90ae7"
#define A U ":1" /* readers */
#define B U ":2"
#define W U ":3:write" /* writers */
#define V U ":4:write"
#define NOBODY ""
#define LATER INT64_C(9000000000000)

#define TEXT(script) hfi_scripts[HFI_SCRIPT_##script].text

/* Each answers as its script does: HFT_NIL where that says nil. */
int64_t reads_until(struct world *w, const char *field, int64_t lease_ms,
                    const char *writer, int64_t not_after_ms);
int64_t reads(struct world *w, const char *field, int64_t lease_ms);
int64_t keeps_reading(struct world *w, const char *field, int64_t count,
                      int64_t lease_ms);
int64_t ends_reading(struct world *w, const char *field);
int64_t undoes_reading(struct world *w, const char *field);
int64_t writes_until(struct world *w, const char *field, int64_t lease_ms,
                     int64_t not_after_ms);
int64_t writes(struct world *w, const char *field, int64_t lease_ms);
int64_t keeps_writing(struct world *w, const char *field, int64_t count,
                      int64_t lease_ms);
int64_t ends_writing(struct world *w, const char *field);
int64_t undoes_writing(struct world *w, const char *field);

/* What is left of a reader's hold key, ms; -2: there is none. */
int64_t held_for(struct world *w, const char *field);

/* The lock's mode; "" if it is free.  Lent as by hft_str(). */
const char *mode(struct world *w);

void assert_nothing_left(struct world *w);

/* Assert that a time is so, but for what a loaded machine adds. */
void assert_about(int64_t found_ms, int64_t expected_ms);

#endif
