/* SPDX-License-Identifier: MIT */
/* printable.h - showing names, which are any bytes, on a terminal or in JSON. */
#ifndef HOLDFAST_CLI_PRINTABLE_H
#define HOLDFAST_CLI_PRINTABLE_H

#include <stddef.h>

#include <jansson.h>

/* So much room shows any `n` bytes in full. */
#define CLI_PRINTABLE_BYTES(n) (4 * (n) + 1)

/* Enough to recognise a name in a message. */
#define CLI_PRINTABLE_SHORT 160

/* Write `bytes` so that they are one word of printable characters: UTF-8 stays
 * as it is, but for control characters; they, bytes that are no UTF-8, and the
 * backslash become \xNN.  What does not fit is cut, and "..." says so.  `buf`
 * ends with a NUL and has room for at least 8 bytes.  Returns buf. */
const char *cli_printable(const void *bytes, size_t count, char *buf,
                          size_t size);

/* The same for a whole name of any length; free() it.  NULL: no memory. */
char *cli_printable_new(const void *bytes, size_t count);

/* Put a name into a JSON object: as "name" if it is UTF-8; else "name" is what
 * cli_printable() makes of it, and "name_hex" has the bytes.  Returns 0 or -1
 * (no memory). */
int cli_json_set_name(json_t *object, const void *name, size_t count);

/* Print an object on a line of its own, and free it.  NULL is no memory.
 * Returns an exit status. */
int cli_json_print(json_t *object);

#endif
