/* SPDX-License-Identifier: MIT */
/* fatal.c - the harness's own failures, and allocation that cannot fail.
 *
 * A test program that cannot be set up must fail loudly and leave nothing
 * behind, so hft_die() goes through exit(): the handlers of server.c and
 * scratch.c clean up.
 */
#include "support/fatal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HARNESS_FAILED 99 /* unlike any status of cmocka or holdfast */

void hft_die(const char *format, ...)
{
    va_list args;

    fputs("test harness: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    exit(HARNESS_FAILED);
}

void *hft_alloc(size_t size_bytes)
{
    void *memory = calloc(1, size_bytes);

    if (memory == NULL) {
        hft_die("out of memory");
    }
    return memory;
}

char *hft_copy_text(const char *text)
{
    size_t size = strlen(text) + 1;

    return memcpy(hft_alloc(size), text, size);
}

char *hft_format(const char *format, ...)
{
    va_list args;
    int length;
    char *text;

    va_start(args, format);
    length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length < 0) {
        hft_die("cannot format %s", format);
    }
    text = hft_alloc((size_t)length + 1);
    va_start(args, format);
    vsnprintf(text, (size_t)length + 1, format, args);
    va_end(args);
    return text;
}
