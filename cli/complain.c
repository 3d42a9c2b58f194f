/* SPDX-License-Identifier: MIT */
/* complain.c - one line on stderr, whatever it has to say.
 *
 * One write(2) a line, so that the lines of several processes on one terminal
 * or in one log do not mix.  A failure to write is nobody's business: there is
 * no other place to say it.
 */
#include "complain.h"

#include "exit_status.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

/* Longer lines are cut: the longest of ours has a message of the library (256
 * bytes) and a name that is cut itself. */
#define LINE_MAX_BYTES 1024

void cli_complain(const char *format, ...)
{
    char line[LINE_MAX_BYTES];
    va_list args;
    int head = snprintf(line, sizeof(line), "holdfast: ");

    va_start(args, format);
    int body = vsnprintf(line + head, sizeof(line) - (size_t)head - 1, format,
                         args);
    va_end(args);
    if (body < 0) {
        return;
    }
    size_t length = (size_t)head + (size_t)body;
    if (length > sizeof(line) - 2) {
        length = sizeof(line) - 2;
    }
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)line[i];
        if (c < 0x20 || c == 0x7f) {
            line[i] = '?';
        }
    }
    line[length] = '\n';
    ssize_t ignored = write(STDERR_FILENO, line, length + 1);
    (void)ignored;
}

int cli_complain_error(const hf_error *err)
{
    const char *text = err->message;

    if (text[0] == '\0') {
        text = hf_status_text(err->status);
    }
    cli_complain("%s", text);
    return cli_exit_of(err->status);
}
