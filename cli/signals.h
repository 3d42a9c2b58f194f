/* SPDX-License-Identifier: MIT */
/* signals.h - signals as bytes in a pipe, so that one poll() waits for all. */
#ifndef HOLDFAST_CLI_SIGNALS_H
#define HOLDFAST_CLI_SIGNALS_H

#include <stdbool.h>

/* From now on the signals that end or inform a command (INT TERM HUP QUIT USR1
 * USR2) are queued instead of acted on.  HUP stays ignored if it is (nohup).
 * Before, nothing is held and their default is right.  Returns 0 or -1 and
 * errno. */
int cli_signals_queue(void);

/* Queue those of a parent with a child too: CHLD, TSTP, CONT.  TTOU and TTIN
 * are ignored: the terminal may be taken back from the child's group. */
void cli_signals_queue_children(void);

/* Readable while a signal is queued. */
int cli_signals_fd(void);

/* The next queued signal's number, or 0. */
int cli_signals_next(void);

/* Whether this signal ends or informs a command: those queued first. */
bool cli_signals_is_for_command(int number);

/* Stop this process as SIGTSTP does where nobody catches it; with
 * `whole_group`, everybody in its process group.  Returns when it goes on, or
 * at once where the system ignores the stop (an orphaned process group). */
void cli_signals_stop_here(bool whole_group);

/* End as SIGINT ends who does not catch it; with `whole_group`, everybody in
 * its process group.  A shell ends its script or loop only if it got the signal
 * itself and its child died of it: exit status 130 is not enough. */
void cli_signals_interrupt_here(bool whole_group);

/* In a child after fork(): every signal's default again, none blocked.  HUP
 * stays ignored if it was.  Async-signal-safe. */
void cli_signals_child(void);

#endif
