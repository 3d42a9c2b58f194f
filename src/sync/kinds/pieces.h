/* SPDX-License-Identifier: MIT */
/* sync/kinds/pieces.h - what the commands of all kinds are made of. */
#ifndef HFI_SYNC_KINDS_PIECES_H
#define HFI_SYNC_KINDS_PIECES_H

#include "sync/state.h"

/** The key of a name: the name itself. */
void hfi_put_key(struct hfi_command_sink *sink, const struct hfi_name *name);

/** The owner field of a number. */
void hfi_put_field(struct hfi_core *core, struct hfi_command_sink *sink,
                   const struct hfi_number *number);

/** The field of a number that nobody has, of the kind of @p like. */
void hfi_put_stand_in(struct hfi_core *core, struct hfi_command_sink *sink,
                      const struct hfi_number *like, uint64_t stand_in);

/** The text of that; returns its length. */
size_t hfi_stand_in_field(const struct hfi_core *core,
                          const struct hfi_number *like, uint64_t stand_in,
                          char *buf, size_t size);

/** The id of a permit, as users write it.  Returns its length. */
size_t hfi_permit_text(const struct hfi_core *core, uint64_t n, char *buf,
                       size_t size);

/** An id as users write it, HFI_PERMIT_TEXT bytes. */
void hfi_permit_write(const unsigned char *id, char *ret_text);

/** The permit of this client that has this id, or NULL. */
struct hfi_permit *hfi_permit_find(const struct hfi_core *core,
                                   const unsigned char *id);

/** The channel of a name, in pieces if it is long. */
void hfi_put_channel(struct hfi_command_sink *sink,
                     const struct hfi_name *name);

/** A key beside the name's, "word:{name}", in the slot of the name. */
void hfi_put_prefixed(struct hfi_command_sink *sink, const char *word,
                      const struct hfi_name *name);

/** "{name}:word", or "name:word" where the name has an opening brace: Redisson's
 *  rule for what stands behind a name. */
void hfi_put_suffixed(struct hfi_command_sink *sink,
                      const struct hfi_name *name, const char *word);

/** "word:{name}", or "word:name" where the name has an opening brace already,
 *  usable as a tag or not: byte for byte what Redisson does.  Returns the
 *  length; writes nothing if that is more than @p size. */
size_t hfi_prefixed(const char *word, const void *name, size_t name_bytes,
                    char *buf, size_t size);

/** The channel of a name, as hfi_prefixed(). */
size_t hfi_channel(const struct hfi_name *name, char *buf, size_t size);

/** The record of a request on a name: "holdfast_request:{name}:uuid:n". */
void hfi_put_record(struct hfi_core *core, struct hfi_command_sink *sink,
                    const struct hfi_name *name, uint64_t n);

/** The records that a copy brings along. */
void hfi_put_old_records(struct hfi_core *core, struct hfi_command_sink *sink,
                         const struct hfi_copy *copy);

/** The not_after of a request, and for how long its record is kept after. */
void hfi_put_window(struct hfi_command_sink *sink,
                    const struct hfi_number *number);

/** The keys of a batch, then field, count and lease of each item. */
void hfi_put_batch(struct hfi_core *core, const struct hfi_copy *copy,
                   struct hfi_command_sink *sink);

/** The latter alone. */
void hfi_put_batch_args(struct hfi_core *core, const struct hfi_copy *copy,
                        struct hfi_command_sink *sink);

/** What a plain lock's scripts are handed, whatever the request. */
void hfi_put_plain(struct hfi_core *core, const struct hfi_copy *copy,
                   struct hfi_command_sink *sink);

/** The key of a name's fencing token, and how an acquisition is to make its
 *  token: two arguments. */
void hfi_put_token_key(struct hfi_command_sink *sink,
                       const struct hfi_name *name);
void hfi_put_token_life(struct hfi_command_sink *sink,
                        const struct hfi_number *number);

/** As hfi_put_plain() for a fenced kind: the token's key stands behind the lock's. */
void hfi_put_fenced(struct hfi_core *core, const struct hfi_copy *copy,
                    struct hfi_command_sink *sink);

/** ... whose re-entries take tokens too. */
void hfi_put_counting(struct hfi_core *core, const struct hfi_copy *copy,
                      struct hfi_command_sink *sink);

/** What the script that takes several is handed, and how many keys of tokens are
 *  among that. */
void hfi_put_together(struct hfi_core *core, const struct hfi_copy *copy,
                      struct hfi_command_sink *sink);
size_t hfi_together_tokens(const struct hfi_copy *copy);

/** The words of a bare command (native.c). */
void hfi_put_native(struct hfi_core *core, const struct hfi_copy *copy,
                    struct hfi_command_sink *sink);

#endif
