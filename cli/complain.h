/* SPDX-License-Identifier: MIT */
/* complain.h - one line on stderr, whatever it has to say. */
#ifndef HOLDFAST_CLI_COMPLAIN_H
#define HOLDFAST_CLI_COMPLAIN_H

#include "holdfast/status.h"

/* Print "holdfast: " and the text as one line, in one write.  Bytes that could
 * move a terminal's cursor are shown as `?`. */
void cli_complain(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

/* Print what a call of the library said, and return its exit status. */
int cli_complain_error(const hf_error *err);

#endif
