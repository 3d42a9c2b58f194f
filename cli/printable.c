/* SPDX-License-Identifier: MIT */
/* printable.c - showing names, which are any bytes, on a terminal or in JSON.
 *
 * A name may hold escape sequences that an attacker chose; nothing of it may
 * reach a terminal that the terminal would act on.  So the C0 and C1 control
 * characters are escaped, and so are the characters that change the direction
 * of writing.
 */
#include "printable.h"

#include "complain.h"
#include "exit_status.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The lead bytes of UTF-8: how many bytes follow, and the smallest character
 * that may be written so (a longer form than needed is no UTF-8). */
static const struct lead {
    unsigned char mask;
    unsigned char value;
    int following;
    uint32_t smallest;
} leads[] = {
    {0x80, 0x00, 0, 0},
    {0xe0, 0xc0, 1, 0x80},
    {0xf0, 0xe0, 2, 0x800},
    {0xf8, 0xf0, 3, 0x10000},
};

static const struct lead *find_lead(unsigned char byte)
{
    for (size_t i = 0; i < sizeof(leads) / sizeof(leads[0]); i++) {
        if ((byte & leads[i].mask) == leads[i].value) {
            return &leads[i];
        }
    }
    return NULL;
}

/* The character at `p`: its length in bytes, or 0 if it is no UTF-8. */
static size_t read_character(const unsigned char *p, size_t left,
                             uint32_t *ret_character)
{
    const struct lead *lead = find_lead(*p);

    if (lead == NULL || (size_t)lead->following >= left) {
        return 0;
    }
    uint32_t character = *p & (unsigned char)~lead->mask;
    for (int i = 1; i <= lead->following; i++) {
        if ((p[i] & 0xc0) != 0x80) {
            return 0;
        }
        character = character << 6 | (p[i] & 0x3fU);
    }
    if (character < lead->smallest || character > 0x10ffff ||
        (character >= 0xd800 && character <= 0xdfff)) {
        return 0;
    }
    *ret_character = character;
    return (size_t)lead->following + 1;
}

static bool is_harmless(uint32_t c)
{
    if (c < 0x20 || c == '\\' || (c >= 0x7f && c <= 0x9f)) {
        return false;
    }
    /* Line and paragraph separators; marks that change the direction. */
    return !(c >= 0x2028 && c <= 0x202e) && !(c >= 0x2066 && c <= 0x2069) &&
           c != 0x200e && c != 0x200f && c != 0xfeff;
}

/* The next piece of the output, at most 4 bytes for 1 byte of input. */
static size_t next_piece(const unsigned char *p, size_t left, char *piece,
                         size_t *ret_used)
{
    uint32_t character = 0;
    size_t length = read_character(p, left, &character);

    if (length > 0 && is_harmless(character)) {
        memcpy(piece, p, length);
        *ret_used = length;
        return length;
    }
    snprintf(piece, 5, "\\x%02x", *p);
    *ret_used = 1;
    return 4;
}

static size_t whole_length(const unsigned char *p, const unsigned char *end)
{
    size_t length = 0;

    while (p < end) {
        char piece[5];
        size_t used;
        length += next_piece(p, (size_t)(end - p), piece, &used);
        p += used;
    }
    return length;
}

const char *cli_printable(const void *bytes, size_t count, char *buf,
                          size_t size)
{
    static const char dots[] = "...";
    const unsigned char *p = bytes;
    const unsigned char *end = p + count;
    size_t length = 0;
    bool is_cut = whole_length(p, end) >= size;
    size_t room = is_cut ? size - sizeof(dots) : size - 1;

    while (p < end) {
        char piece[5];
        size_t used;
        size_t add = next_piece(p, (size_t)(end - p), piece, &used);
        if (length + add > room) {
            break;
        }
        memcpy(buf + length, piece, add);
        length += add;
        p += used;
    }
    memcpy(buf + length, is_cut ? dots : "", is_cut ? sizeof(dots) : 1);
    return buf;
}

char *cli_printable_new(const void *bytes, size_t count)
{
    size_t size = CLI_PRINTABLE_BYTES(count);
    char *text = malloc(size);

    if (text != NULL) {
        cli_printable(bytes, count, text, size);
    }
    return text;
}

static int set_hex(json_t *object, const unsigned char *bytes, size_t count)
{
    char *hex = malloc(2 * count + 1);

    if (hex == NULL) {
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
    }
    int result = json_object_set_new(object, "name_hex", json_string(hex));
    free(hex);
    return result;
}

int cli_json_set_name(json_t *object, const void *name, size_t count)
{
    json_t *text = json_stringn(name, count);

    if (text != NULL) {
        return json_object_set_new(object, "name", text);
    }
    char *shown = cli_printable_new(name, count);
    if (shown == NULL) {
        return -1;
    }
    int result = json_object_set_new(object, "name", json_string(shown));
    free(shown);
    return result != 0 ? result : set_hex(object, name, count);
}

int cli_json_print(json_t *object)
{
    char *text = NULL;

    if (object != NULL) {
        text = json_dumps(object, JSON_COMPACT);
        json_decref(object);
    }
    if (text == NULL) {
        cli_complain("out of memory");
        return CLI_INTERNAL;
    }
    puts(text);
    free(text);
    return CLI_OK;
}
