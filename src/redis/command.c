/* SPDX-License-Identifier: MIT */
/* redis/command.c - collecting and formatting commands; see command.h.
 *
 * Each word is framed as it comes; the count of the words, which goes first on
 * the wire, is known at the end.  A word that comes in pieces is put together
 * first, because its length goes before it.  hiredis could do all this, but it
 * prints each length with sprintf(3): with many threads that was a third of the
 * instructions that a call of the library took.
 */
#include "redis/command.h"

#include <string.h>

/* '$' or '*', the digits of the largest number, and the end of the line. */
#define HEAD_MAX (1 + 20 + 2)

void hfi_command_begin(struct hfi_command *command)
{
    hfi_buffer_clear(&command->text);
    hfi_buffer_clear(&command->opening);
    command->count = 0;
    command->failed = false;
}

/* `kind`, the number and the end of the line; as many bytes as it returns. */
static size_t put_head(char head[HEAD_MAX], char kind, size_t number)
{
    char digits[20];
    size_t at = sizeof(digits);
    size_t len;

    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    len = sizeof(digits) - at;
    head[0] = kind;
    memcpy(head + 1, digits + at, len);
    memcpy(head + 1 + len, "\r\n", 2);
    return 1 + len + 2;
}

void hfi_command_add_piece(struct hfi_command *command, const void *bytes,
                           size_t len)
{
    if (!hfi_buffer_append(&command->opening, bytes, len)) {
        command->failed = true;
    }
}

static char *put(char *at, const void *bytes, size_t len)
{
    if (len > 0) {
        memcpy(at, bytes, len);
    }
    return at + len;
}

void hfi_command_add(struct hfi_command *command, const void *word, size_t len)
{
    struct hfi_buffer *text = &command->text;
    const struct hfi_buffer *opening = &command->opening;
    size_t word_len = opening->len + len;
    char head[HEAD_MAX];
    size_t head_len = put_head(head, '$', word_len);
    char *at;

    if (len > HFI_BUFFER_MAX ||
        !hfi_buffer_reserve(text, head_len + word_len + 2)) {
        command->failed = true;
        return;
    }
    at = put(text->bytes + text->len, head, head_len);
    at = put(at, opening->bytes, opening->len);
    at = put(at, word, len);
    (void)put(at, "\r\n", 2);
    text->len += head_len + word_len + 2;
    command->count++;
    hfi_buffer_clear(&command->opening);
}

void hfi_command_add_text(struct hfi_command *command, const char *word)
{
    hfi_command_add(command, word, strlen(word));
}

void hfi_command_add_number(struct hfi_command *command, int64_t number)
{
    char digits[20]; /* the longest is that of INT64_MIN */
    size_t at = sizeof(digits);
    /* Unsigned, because INT64_MIN has no positive counterpart. */
    uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;

    do {
        digits[--at] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (number < 0) {
        digits[--at] = '-';
    }
    hfi_command_add(command, digits + at, sizeof(digits) - at);
}

bool hfi_command_end(struct hfi_command *command, struct hfi_buffer *out)
{
    char head[HEAD_MAX];
    size_t head_len = put_head(head, '*', command->count);

    if (command->failed ||
        !hfi_buffer_reserve(out, head_len + command->text.len)) {
        return false;
    }
    memcpy(out->bytes + out->len, head, head_len);
    memcpy(out->bytes + out->len + head_len, command->text.bytes,
           command->text.len);
    out->len += head_len + command->text.len;
    return true;
}

void hfi_command_free(struct hfi_command *command)
{
    hfi_buffer_free(&command->text);
    hfi_buffer_free(&command->opening);
    memset(command, 0, sizeof(*command));
}
