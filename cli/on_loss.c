/* SPDX-License-Identifier: MIT */
/* on_loss.c - reading --on-loss kill|term|ignore|SIGNAL.
 *
 * `kill` is TERM and then KILL; every other signal is sent and that is all.  A
 * signal is written as kill(1) writes it: USR1, SIGUSR1 or 10.
 */
#include "on_loss.h"

#include <signal.h>
#include <string.h>
#include <strings.h>

static const struct mode {
    const char *name;
    struct on_loss meaning;
} modes[] = {
    {"kill", {GUARD_KILL, SIGTERM}},
    {"term", {GUARD_SIGNAL, SIGTERM}},
    {"ignore", {GUARD_IGNORE, 0}},
};

static const struct signal_name {
    const char *name;
    int number;
} signal_names[] = {
    {"ABRT", SIGABRT}, {"ALRM", SIGALRM},   {"CONT", SIGCONT},
    {"HUP", SIGHUP},   {"INT", SIGINT},     {"KILL", SIGKILL},
    {"PIPE", SIGPIPE}, {"QUIT", SIGQUIT},   {"STOP", SIGSTOP},
    {"TERM", SIGTERM}, {"TSTP", SIGTSTP},   {"USR1", SIGUSR1},
    {"USR2", SIGUSR2}, {"WINCH", SIGWINCH},
};

#define SIGNAL_NAMES (sizeof(signal_names) / sizeof(signal_names[0]))

/* 0: there is no such signal. */
static int signal_number(const char *text)
{
    int number = 0;
    const char *p = text;

    for (; *p >= '0' && *p <= '9' && number < NSIG; p++) {
        number = number * 10 + (*p - '0');
    }
    if (p != text) {
        return *p == '\0' && number < NSIG ? number : 0;
    }
    if (strncasecmp(text, "SIG", 3) == 0) {
        text += 3;
    }
    for (size_t i = 0; i < SIGNAL_NAMES; i++) {
        if (strcasecmp(text, signal_names[i].name) == 0) {
            return signal_names[i].number;
        }
    }
    return 0;
}

const char *on_loss_set(const char *value, void *field)
{
    struct on_loss *on_loss = field;

    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        if (strcmp(value, modes[i].name) == 0) {
            *on_loss = modes[i].meaning;
            return NULL;
        }
    }
    int number = signal_number(value);
    if (number == 0) {
        return "is none of kill, term, ignore, or a signal's name or number";
    }
    on_loss->mode = GUARD_SIGNAL;
    on_loss->signal = number;
    return NULL;
}

const char *on_loss_signal_name(int number)
{
    for (size_t i = 0; i < SIGNAL_NAMES; i++) {
        if (signal_names[i].number == number) {
            return signal_names[i].name;
        }
    }
    return "a signal";
}
