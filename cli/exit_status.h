/* SPDX-License-Identifier: MIT */
/* exit_status.h - what the command's exit status means: the one table. */
#ifndef HOLDFAST_CLI_EXIT_STATUS_H
#define HOLDFAST_CLI_EXIT_STATUS_H

#include "holdfast/status.h"

enum cli_exit {
    CLI_GO_ON = -1, /* no exit status: there is more to do */
    CLI_OK = 0,
    CLI_USAGE = 64,      /* wrong usage */
    CLI_WRONG_TYPE = 65, /* the name holds something that is no such lock */
    CLI_UNAVAILABLE =
        69,            /* no server could be reached, or it refused service */
    CLI_INTERNAL = 70, /* internal error */
    CLI_BUSY = 75,     /* not acquired; --busy-code changes it */
    CLI_DENIED = 77,   /* authentication or permission refused */
    CLI_LOST = 79,     /* the lock was lost */
    CLI_CANNOT_RUN = 126, /* the command could not be executed */
    CLI_NOT_FOUND = 127,  /* the command was not found */
    CLI_SIGNAL = 128      /* + n: ended by signal n */
};

/* The exit status for a call that ended with `status`. */
int cli_exit_of(hf_status status);

#endif
