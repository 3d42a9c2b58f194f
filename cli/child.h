/* SPDX-License-Identifier: MIT */
/* child.h - the command that runs under the lock: a process group of its own. */
#ifndef HOLDFAST_CLI_CHILD_H
#define HOLDFAST_CLI_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

struct child {
    pid_t pid;         /* also the number of its process group */
    int alive_fd;      /* our end of the pipe that closes when we end */
    int inherited_fd;  /* the command's end of it */
    bool has_terminal; /* the group has been given it */
    bool has_ended;    /* and `wait_status` says how */
    int wait_status;
    int stopped_by; /* the signal that has stopped it, or 0 */
};

/* Make ready: the pipe, and the right to reap what the command leaves behind.
 * Returns 0 or an errno. */
int child_prepare(struct child *ret_child);

/* Run argv (ends with NULL) in a new process group, with `environment`, given
 * the terminal if stdin is one and we have it.  Returns 0, or the errno with
 * which it could not be executed. */
int child_start(struct child *child, char *const argv[],
                char *const environment[]);

/* Send a signal to everything in the group. */
void child_signal(const struct child *child, int number);

/* Note what has become of it and of what it left behind.  Does not wait. */
void child_reap(struct child *child);

/* Whether anything of the group is left. */
bool child_group_is_alive(const struct child *child);

/* Give the terminal to the group if our own has it; take it back. */
void child_give_terminal(struct child *child);
void child_take_terminal(struct child *child);

/* The exit status that says how it ended: its own, or 128 + the signal. */
int child_exit_status(const struct child *child);

/* Whether the command, which has ended, was ended by that signal. */
bool child_died_of(const struct child *child, int number);

#endif
