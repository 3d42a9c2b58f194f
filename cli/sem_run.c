/* SPDX-License-Identifier: MIT */
/* sem_run.c - run a command with permits of a semaphore.
 *
 * As cmd_run.c does with a lock, but for what can be lost: permits have no
 * lease, so nothing ends the command but itself, and nobody gives them back if
 * this process is killed.
 */
#include "sem_run.h"

#include "child.h"
#include "complain.h"
#include "environment.h"
#include "exit_status.h"
#include "hold.h"
#include "signals.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

/* A stop that has not stopped us by then was ignored by the system. */
#define STOP_LIMIT_MS 100
#define TURN_MS 1000

struct sem_run {
    struct cli_count *count;
    struct child child;
    bool is_stopped; /* with the command, by the terminal */
    int64_t stop_limit_ms;
};

static int start_command(struct sem_run *run, char *const *argv)
{
    struct cli_variables variables = {
        .ctx = run->count->ctx, .name = run->count->name, .kind = "semaphore"};
    int error = child_prepare(&run->child);

    if (error != 0) {
        cli_complain("a pipe for the command: %s", strerror(error));
        return CLI_INTERNAL;
    }
    char **environment = cli_environment_of(&variables, &run->child);
    if (environment == NULL) {
        cli_complain("out of memory");
        return CLI_INTERNAL;
    }
    cli_signals_queue_children();
    error = child_start(&run->child, argv, environment);
    cli_environment_free(environment);
    if (error == 0) {
        return CLI_GO_ON;
    }
    cli_complain("%.200s: %s", argv[0],
                 error == ENOENT && strchr(argv[0], '/') == NULL
                     ? "command not found"
                     : strerror(error));
    return error == ENOENT ? CLI_NOT_FOUND : CLI_CANNOT_RUN;
}

/* Returns whether we have been continued. */
static bool forward_signals(struct sem_run *run)
{
    bool is_continued = false;
    int number;

    while ((number = cli_signals_next()) != 0) {
        if (number == SIGCONT) {
            is_continued = true;
        } else if (number != SIGCHLD) {
            child_signal(&run->child, number);
        }
    }
    return is_continued;
}

static bool is_terminal_stop(int number)
{
    return number == SIGTSTP || number == SIGTTIN || number == SIGTTOU;
}

/* The command has been stopped by the terminal: stop as well. */
static void stop_with_command(struct sem_run *run)
{
    bool whole_group = run->child.has_terminal;

    child_take_terminal(&run->child);
    run->is_stopped = true;
    run->child.stopped_by = 0;
    run->stop_limit_ms = cli_now_ms() + STOP_LIMIT_MS;
    cli_signals_stop_here(whole_group);
}

static void continue_command(struct sem_run *run)
{
    run->is_stopped = false;
    child_give_terminal(&run->child);
    child_signal(&run->child, SIGCONT);
}

static void wait_for_command(struct sem_run *run)
{
    for (;;) {
        child_reap(&run->child);
        if (run->child.has_ended) {
            return;
        }
        if (is_terminal_stop(run->child.stopped_by)) {
            stop_with_command(run);
        }
        cli_count_sleep(run->count, run->is_stopped ? STOP_LIMIT_MS : TURN_MS);
        bool is_continued = forward_signals(run);
        if (is_continued ||
            (run->is_stopped && cli_now_ms() >= run->stop_limit_ms)) {
            continue_command(run);
        }
    }
}

static int give_back(struct sem_run *run, int64_t permits)
{
    hf_error err;

    if (hf_semaphore_release(run->count->semaphore, permits, &err) == HF_OK) {
        return CLI_GO_ON;
    }
    return cli_complain_error(&err);
}

int cli_sem_run(struct cli_count *count, int64_t permits, char *const *argv)
{
    struct sem_run run = {.count = count};
    bool is_interrupted = false;
    int result = start_command(&run, argv);

    if (result != CLI_GO_ON) {
        give_back(&run, permits);
        return result;
    }
    wait_for_command(&run);
    if (run.child.has_terminal) {
        is_interrupted = child_died_of(&run.child, SIGINT);
        child_take_terminal(&run.child);
        kill(0, SIGCONT);
    }
    /* That the permits could not be given back was said; the command's own
     * status matters more. */
    give_back(&run, permits);
    if (is_interrupted) {
        cli_signals_interrupt_here(true);
    }
    return child_exit_status(&run.child);
}
