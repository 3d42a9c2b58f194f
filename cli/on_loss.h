/* SPDX-License-Identifier: MIT */
/* on_loss.h - reading --on-loss kill|term|ignore|SIGNAL. */
#ifndef HOLDFAST_CLI_ON_LOSS_H
#define HOLDFAST_CLI_ON_LOSS_H

#include "guard.h"

struct on_loss {
    enum guard_mode mode;
    int signal; /* what is sent first */
};

/* A reader for a table of options: `field` is a struct on_loss. */
const char *on_loss_set(const char *value, void *field);

/* The signal's name for people: "TERM", or "a signal". */
const char *on_loss_signal_name(int number);

#endif
