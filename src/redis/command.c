/* SPDX-License-Identifier: MIT */
/* redis/command.c - collecting and formatting commands; see command.h. */
#include "redis/command.h"

#include <hiredis/hiredis.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_AT_FIRST 16

void hfi_command_begin(struct hfi_command *command)
{
    hfi_buffer_clear(&command->text);
    command->count = 0;
    command->failed = false;
    command->secret = false;
}

/* The three arrays grow together; each keeps what it has if another cannot. */
static bool grow(struct hfi_command *command)
{
    size_t capacity = command->capacity == 0 ? WORDS_AT_FIRST
                                             : 2 * command->capacity;
    size_t *ends = realloc(command->ends, capacity * sizeof(*ends));
    const char **words;
    size_t *lens;

    if (ends == NULL) {
        return false;
    }
    command->ends = ends;
    words = realloc(command->words, capacity * sizeof(*words));
    if (words == NULL) {
        return false;
    }
    command->words = words;
    lens = realloc(command->lens, capacity * sizeof(*lens));
    if (lens == NULL) {
        return false;
    }
    command->lens = lens;
    command->capacity = capacity;
    return true;
}

static void end_word(struct hfi_command *command)
{
    if (command->count == command->capacity && !grow(command)) {
        command->failed = true;
        return;
    }
    command->ends[command->count++] = command->text.len;
}

void hfi_command_add(struct hfi_command *command, const void *word, size_t len)
{
    if (!hfi_buffer_append(&command->text, word, len)) {
        command->failed = true;
        return;
    }
    end_word(command);
}

void hfi_command_add_piece(struct hfi_command *command, const void *bytes,
                           size_t len)
{
    if (!hfi_buffer_append(&command->text, bytes, len)) {
        command->failed = true;
    }
}

void hfi_command_add_text(struct hfi_command *command, const char *word)
{
    hfi_command_add(command, word, strlen(word));
}

void hfi_command_add_number(struct hfi_command *command, int64_t number)
{
    if (!hfi_buffer_append_int(&command->text, number)) {
        command->failed = true;
        return;
    }
    end_word(command);
}

bool hfi_command_end(struct hfi_command *command, struct hfi_buffer *out)
{
    char *formatted = NULL;
    size_t start = 0;
    long long len;
    bool done;

    if (command->failed) {
        return false;
    }
    for (size_t i = 0; i < command->count; i++) {
        command->words[i] = command->text.bytes + start;
        command->lens[i] = command->ends[i] - start;
        start = command->ends[i];
    }
    len = redisFormatCommandArgv(&formatted, (int)command->count,
                                 command->words, command->lens);
    if (len < 0) {
        return false;
    }
    done = hfi_buffer_append(out, formatted, (size_t)len);
    if (command->secret) {
        hfi_wipe(formatted, (size_t)len);
    }
    redisFreeCommand(formatted);
    return done;
}

void hfi_command_free(struct hfi_command *command)
{
    hfi_buffer_free(&command->text);
    free(command->ends);
    free(command->words);
    free(command->lens);
    memset(command, 0, sizeof(*command));
}
