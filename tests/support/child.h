/* SPDX-License-Identifier: MIT */
/* child.h - a program under test: started, watched, signalled, ended.
 *
 * A child runs in a process group of its own, with default signal handling,
 * and dies with the test program.  Call these on the main thread: the kernel
 * ends a child when the thread that started it ends.  What the harness cannot
 * do ends the test program; a program that cannot be executed ends with 127.
 */
#ifndef HFT_CHILD_H
#define HFT_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct hft_child;

/* What the child's stdin, stdout and stderr are. */
enum hft_stdio {
    HFT_STDIO_FILES,   /* nothing to read; what it writes is kept apart */
    HFT_STDIO_PIPE,    /* the same, but stdin is a pipe to hft_child_type() */
    HFT_STDIO_TERMINAL /* one terminal, which it controls; all is `out` */
};

/* Lists end with NULL. */
struct hft_child_options {
    const char *const *argv; /* argv[0] is looked for in PATH */
    const char *const *env;  /* {"NAME=value", NULL}, beside our own */
    const char *folder;      /* where it runs; NULL: here */
    enum hft_stdio stdio;
};

/* hft_child_finish() tells the exit status, or one of these. */
#define HFT_STILL_RUNS (-1)
#define HFT_BY_SIGNAL 1000 /* plus the signal's number */

struct hft_child *hft_child_start(const struct hft_child_options *options);

/* The same with nothing but arguments, up to a NULL. */
struct hft_child *hft_child_start_words(const char *word, ...)
    __attribute__((sentinel));

/* Kill what still runs of its group, and forget it.  NULL: fine. */
void hft_child_free(struct hft_child *child);

/* Wait for its end; may be asked again. */
int hft_child_finish(struct hft_child *child, int64_t bound_ms);
bool hft_child_runs(struct hft_child *child);
pid_t hft_child_pid(const struct hft_child *child);

/* Signal it, or its whole group; nothing if it has ended. */
void hft_child_signal(struct hft_child *child, int signal_number);
void hft_child_signal_group(struct hft_child *child, int signal_number);

/* Wait until it is stopped (SIGSTOP, SIGTSTP). */
bool hft_child_wait_stopped(struct hft_child *child, int64_t bound_ms);

/* What it has written so far; lent until the next call for this child. */
const char *hft_child_out(struct hft_child *child);
const char *hft_child_err(struct hft_child *child);
bool hft_child_wait_out(struct hft_child *child, const char *text,
                        int64_t bound_ms);
bool hft_child_wait_err(struct hft_child *child, const char *text,
                        int64_t bound_ms);

/* Write to its stdin: "\003" is Ctrl-C on a terminal.  Closing ends it. */
void hft_child_type(struct hft_child *child, const char *text);
void hft_child_close_input(struct hft_child *child);

#endif
