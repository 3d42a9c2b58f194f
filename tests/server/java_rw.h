/* SPDX-License-Identifier: MIT */
/* java_rw.h - the other side of a read-write lock: what a Java program does to
 * the server, step by step as the protocol's description has it.
 *
 * A holder is a client's id and a thread's, "C:tid".  Each of the calls is one
 * atomic step on the server.  For the main thread.
 */
#ifndef TESTS_SERVER_JAVA_RW_H
#define TESTS_SERVER_JAVA_RW_H

#include <stdint.h>

struct world;

#define JAVA_1 "0badcafe-0bad-4afe-8bad-cafe0badcafe:7"
#define JAVA_2 "0badcafe-0bad-4afe-8bad-cafe0badcafe:8"

/* Try to take it: HFT_NIL if it was granted, else ms to wait. */
int64_t java_reads(struct world *w, const char *name, const char *holder,
                   int64_t lease_ms);
int64_t java_writes(struct world *w, const char *name, const char *holder,
                    int64_t lease_ms);

/* Give one hold back: 1 if the lock went with it (or was the last of a writer
 * who reads on), 0 if not, HFT_NIL if the holder has none. */
int64_t java_ends_reading(struct world *w, const char *name,
                          const char *holder);
int64_t java_ends_writing(struct world *w, const char *name,
                          const char *holder);

/* What its watchdog does each third of its period: 1, or 0 if it is gone. */
int64_t java_renews_reading(struct world *w, const char *name,
                            const char *holder, int64_t period_ms);

/* Whether it thinks that somebody reads, or writes. */
int64_t java_sees_reading(struct world *w, const char *name);
int64_t java_sees_writing(struct world *w, const char *name);

/* The hold key of a field, as every side of it spells it; lent until the
 * fourth call after. */
const char *hold_key(const char *name, const char *field, int hold);

#endif
