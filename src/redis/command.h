/* SPDX-License-Identifier: MIT */
/* redis/command.h - writing commands: words in, bytes at the end of a buffer.
 *
 * A command is collected word by word in memory that is used again for the
 * next one.
 */
#ifndef HFI_REDIS_COMMAND_H
#define HFI_REDIS_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

/* All zero is an empty one. */
struct hfi_command {
    struct hfi_buffer text;    /* its words, as they go on the wire */
    struct hfi_buffer opening; /* the pieces of the next word */
    size_t count;
    bool failed; /* out of memory: nothing is formatted */
};

void hfi_command_begin(struct hfi_command *command);
void hfi_command_add(struct hfi_command *command, const void *word, size_t len);
/** The opening of the next word: what is added then is put behind it. */
void hfi_command_add_piece(struct hfi_command *command, const void *bytes,
                           size_t len);
void hfi_command_add_text(struct hfi_command *command, const char *word);
void hfi_command_add_number(struct hfi_command *command, int64_t number);
/** Format it at the end of @p out.  false: out of memory, or out is full. */
bool hfi_command_end(struct hfi_command *command, struct hfi_buffer *out);
void hfi_command_free(struct hfi_command *command);

#endif
