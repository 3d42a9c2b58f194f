/* SPDX-License-Identifier: MIT */
/* signals.c - signals as bytes in a pipe, so that one poll() waits for all.
 *
 * A handler writes the signal's number into a pipe.  Handlers, and not a
 * blocked set with a signalfd, because the library's threads need not be
 * trusted to block anything: whichever thread is interrupted writes the byte.
 *
 * The pipe holds 64 KiB and is not blocking: a signal is only lost when 65,536
 * others wait before it.
 *
 * A background job of a shell without job control has INT and QUIT ignored.
 * They are queued all the same: somebody who sends one to holdfast by hand
 * means it.  An ignored HUP is nohup's work and stays.
 */
#include "signals.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static const int for_command[] = {SIGINT,  SIGTERM, SIGHUP,
                                  SIGQUIT, SIGUSR1, SIGUSR2};

/* Process-wide, as signals are. */
static int pipe_fds[2] = {-1, -1};
static bool hup_is_ignored;

static void on_signal(int number)
{
    int saved = errno;
    unsigned char byte = (unsigned char)number;
    ssize_t ignored = write(pipe_fds[1], &byte, 1);

    (void)ignored;
    errno = saved;
}

static void set_action(int number, void (*handler)(int))
{
    struct sigaction action = {.sa_flags = SA_RESTART};

    action.sa_handler = handler;
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, NULL);
}

int cli_signals_queue(void)
{
    struct sigaction hup;

    if (pipe2(pipe_fds, O_CLOEXEC | O_NONBLOCK) != 0) {
        return -1;
    }
    hup_is_ignored = sigaction(SIGHUP, NULL, &hup) == 0 &&
                     hup.sa_handler == SIG_IGN;
    for (size_t i = 0; i < sizeof(for_command) / sizeof(for_command[0]); i++) {
        if (for_command[i] != SIGHUP || !hup_is_ignored) {
            set_action(for_command[i], on_signal);
        }
    }
    /* A report to a stderr that nobody reads any more must not end a process
     * that holds a lock. */
    set_action(SIGPIPE, SIG_IGN);
    return 0;
}

void cli_signals_queue_children(void)
{
    set_action(SIGCHLD, on_signal);
    set_action(SIGTSTP, on_signal);
    set_action(SIGCONT, on_signal);
    set_action(SIGTTOU, SIG_IGN);
    set_action(SIGTTIN, SIG_IGN);
}

int cli_signals_fd(void)
{
    return pipe_fds[0];
}

int cli_signals_next(void)
{
    unsigned char byte;

    return read(pipe_fds[0], &byte, 1) == 1 ? byte : 0;
}

bool cli_signals_is_for_command(int number)
{
    for (size_t i = 0; i < sizeof(for_command) / sizeof(for_command[0]); i++) {
        if (for_command[i] == number) {
            return true;
        }
    }
    return false;
}

void cli_signals_stop_here(bool whole_group)
{
    set_action(SIGTSTP, SIG_DFL);
    kill(whole_group ? 0 : getpid(), SIGTSTP);
    set_action(SIGTSTP, on_signal);
}

void cli_signals_interrupt_here(bool whole_group)
{
    set_action(SIGINT, SIG_DFL);
    kill(whole_group ? 0 : getpid(), SIGINT);
}

void cli_signals_child(void)
{
    sigset_t none;

    for (int number = 1; number < NSIG; number++) {
        if (number != SIGHUP || !hup_is_ignored) {
            set_action(number, SIG_DFL); /* fails harmlessly for some */
        }
    }
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}
