/* SPDX-License-Identifier: MIT */
/* java.h - a Java program that uses Redisson, as the other side of a test.
 *
 * One virtual machine serves a test program.  It does what it is told in lines
 * (java/common/.../Agent.java has the words); each line is for a thread of one
 * of its clients, "a/t1", and the lines of several threads run at once.
 *
 *     unsigned asked = java_send("a/t1 acquire lock x");
 *     ...
 *     assert_java("ok", java_answer(asked, BOUND_MS));
 *     assert_java("ok true", java_ask("a/t2 is-locked lock x"));
 *
 * For the main thread, as all children are.
 */
#ifndef TESTS_INTEROP_JAVA_H
#define TESTS_INTEROP_JAVA_H

#include <stdbool.h>
#include <stdint.h>

/* Which Redisson: the newest 4.x, or 3.16.8, which has fewer objects. */
enum edition { NEWEST, OLDEST };
extern enum edition edition;

/* Take the edition from the program's only argument, "newest" or "oldest". */
void java_choose(int argc, char **argv);

/* Further environment for it, if that is not NULL; see support/child.h. */
extern const char *const *java_environment;

/* Start the virtual machine and wait until it listens; end it. */
void java_start(void);
void java_stop(void);

/* Start another program in its place, which answers lines in the same way; the
 * list of its words ends with NULL. */
void agent_start(const char *const *argv);

/* Send a line; it tells which answer is its own. */
unsigned java_send(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

/* The answer: "ok", "ok true", "error IllegalMonitorStateException: ...".  NULL
 * if there is none within the bound.  Lent until 16 calls later. */
const char *java_answer(unsigned asked, int64_t bound_ms);

/* Both at once, for what is answered soon. */
const char *java_ask(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

/* The whole answer is so, or begins so. */
#define assert_java(expected, answer)                                          \
    java_check((expected), (answer), true, #answer, __FILE__, __LINE__)
#define assert_java_begins(expected, answer)                                   \
    java_check((expected), (answer), false, #answer, __FILE__, __LINE__)
void java_check(const char *expected, const char *answer, bool whole,
                const char *what, const char *file, int line);

/* The number of an answer like "ok 42". */
int64_t java_number(const char *answer);

/* The text of an answer like "ok TEXT". */
const char *java_text(const char *answer);

#endif
