/* SPDX-License-Identifier: MIT */
/* Errors, and text that is safe to show.
 *
 * hfi_fail() formats into a larger buffer first and then copies through
 * hfi_printable(), so that a message that is too long ends in "..." and never
 * in half a character.  Making printable what already is changes nothing: a
 * name may be made printable before it becomes part of a message.
 * Pure; any thread.
 */
#include "base/fail.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Room for a message before it is cut to hf_error's. */
#define DRAFT_SIZE 1024

/* How long a well-formed UTF-8 character of two to four bytes is, or 0.
 * ret_code receives its code point. */
static size_t utf8_length(const unsigned char *bytes, size_t len,
                          uint32_t *ret_code)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t need;
    uint32_t code;

    if ((bytes[0] & 0xe0) == 0xc0) {
        need = 2;
        code = bytes[0] & 0x1fU;
    } else if ((bytes[0] & 0xf0) == 0xe0) {
        need = 3;
        code = bytes[0] & 0x0fU;
    } else if ((bytes[0] & 0xf8) == 0xf0) {
        need = 4;
        code = bytes[0] & 0x07U;
    } else {
        return 0;
    }
    if (len < need) {
        return 0;
    }
    for (size_t i = 1; i < need; i++) {
        if ((bytes[i] & 0xc0) != 0x80) {
            return 0;
        }
        code = code << 6 | (bytes[i] & 0x3fU);
    }
    if (code < least[need] || code > 0x10ffff ||
        (code >= 0xd800 && code <= 0xdfff)) {
        return 0;
    }
    *ret_code = code;
    return need;
}

/* Control characters of the second kind, line separators, and what turns the
 * direction of a line: a name must not be able to disguise a message. */
static bool is_harmful(uint32_t code)
{
    return (code >= 0x80 && code <= 0x9f) || code == 0x061c ||
           (code >= 0x200e && code <= 0x200f) ||
           (code >= 0x2028 && code <= 0x202e) ||
           (code >= 0x2066 && code <= 0x2069) || code == 0xfeff;
}

/* How many bytes at the front can be shown as they are: those of one character,
 * or 0. */
static size_t shown_length(const unsigned char *bytes, size_t len)
{
    uint32_t code;
    size_t length;

    if (bytes[0] < 0x80) {
        return bytes[0] >= 0x20 && bytes[0] != 0x7f ? 1 : 0;
    }
    length = utf8_length(bytes, len, &code);
    return length > 0 && !is_harmful(code) ? length : 0;
}

static void write_hex(char *out, unsigned char byte)
{
    static const char digits[] = "0123456789abcdef";

    out[0] = '\\';
    out[1] = 'x';
    out[2] = digits[byte >> 4];
    out[3] = digits[byte & 15];
}

size_t hfi_printable(char *out, size_t size, const void *bytes, size_t len)
{
    const unsigned char *next = bytes;
    size_t used = 0;
    size_t cut = 0; /* the last place where "..." would still fit */

    if (size == 0) {
        return 0;
    }
    while (len > 0) {
        size_t taken = shown_length(next, len);
        size_t piece = taken > 0 ? taken : 4;

        if (used + piece >= size) {
            used = cut;
            while (used < cut + 3 && used + 1 < size) {
                out[used++] = '.';
            }
            break;
        }
        if (taken > 0) {
            memcpy(out + used, next, taken);
        } else {
            write_hex(out + used, *next);
            taken = 1;
        }
        used += piece;
        next += taken;
        len -= taken;
        if (used + 3 < size) {
            cut = used;
        }
    }
    out[used] = '\0';
    return used;
}

static void fill(hf_error *reterr, hf_status status, int sys_errno,
                 const char *draft)
{
    memset(reterr, 0, sizeof(*reterr));
    reterr->status = status;
    reterr->sys_errno = sys_errno;
    hfi_printable(reterr->message, sizeof(reterr->message), draft,
                  strlen(draft));
}

hf_status hfi_fail(hf_error *reterr, hf_status status, const char *format, ...)
{
    int saved_errno = errno;

    if (reterr != NULL) {
        char draft[DRAFT_SIZE] = "";
        va_list args;

        va_start(args, format);
        (void)vsnprintf(draft, sizeof(draft), format, args);
        va_end(args);
        fill(reterr, status, 0, draft);
    }
    errno = saved_errno;
    return status;
}

hf_status hfi_fail_errno(hf_error *reterr, hf_status status, int sys_errno,
                         const char *format, ...)
{
    int saved_errno = errno;

    if (reterr != NULL) {
        char draft[DRAFT_SIZE] = "";
        char text[128] = "";
        const char *reason;
        size_t len;
        va_list args;

        va_start(args, format);
        (void)vsnprintf(draft, sizeof(draft), format, args);
        va_end(args);
        reason = strerror_r(sys_errno, text, sizeof(text));
        len = strlen(draft);
        (void)snprintf(draft + len, sizeof(draft) - len, ": %s", reason);
        fill(reterr, status, sys_errno, draft);
    }
    errno = saved_errno;
    return status;
}

void hfi_error_node(hf_error *error, const char *node)
{
    if (error != NULL && node != NULL) {
        hfi_printable(error->node, sizeof(error->node), node, strlen(node));
    }
}
