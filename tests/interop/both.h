/* SPDX-License-Identifier: MIT */
/* both.h - what the tests of this folder stand on: a private server on a TCP
 * port, a client of ours for each test (server/world.h), and Redisson, whose
 * clients live as long as the test program.
 *
 * Client "a" of Redisson has a watchdog of three seconds (it renews every
 * second), "b" the same; tests open others for themselves.  A wake-up is told
 * from an end of a lease by its time: who waits here waits for leases of
 * HOLD_MS, asks again by itself only after that, and has to be woken within
 * WAKE_MS.  A caller of ours is static in its test, since it may outlast one
 * that fails.
 */
#ifndef TESTS_INTEROP_BOTH_H
#define TESTS_INTEROP_BOTH_H

#include "java.h"
#include "world.h"

#define WATCHDOG_MS 3000
#define HOLD_MS 60000
#define WAKE_MS 10000

/* For main(): take the edition from the arguments, start the server and the
 * virtual machine; end both. */
void both_begin(int argc, char **argv);
void both_end(void);

/* Set-up and tear-down of each group of tests: the clients of Redisson. */
int both_up(void **world);
int both_down(void **world);

/* Open another client of Redisson; options are words of Agent.java. */
void java_open(struct world *w, const char *client, const char *options);

/* A client of ours that asks again only when it is woken. */
hf_client *a_patient_client(struct world *w);

/* Make a lock of ours, to be freed at the end of the test. */
hf_lock *a_lock_of_kind(struct world *w, hf_client *client, hf_kind kind,
                        const char *name);

/* Tell a Java thread something, and wait until it waits for its turn. */
unsigned java_begins(const char *thread, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Wait until somebody is subscribed to anything: one of ours that has to wait
 * is.  It asks once more after that, so what is released from then on is
 * noticed. */
bool somebody_listens(struct world *w);

/* The commands that a server is sent, those of scripts too; text that grows. */
struct hft_child *monitor_start(struct world *w);

/* Wait until it has shown everything up to now. */
const char *monitor_seen(struct world *w, struct hft_child *monitor);

#endif
