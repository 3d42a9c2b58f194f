/* SPDX-License-Identifier: MIT */
/* core_model.h - a server in a few lines: what the plain lock's scripts do.
 *
 * It executes what a copy would put on the wire, at a time that the test says,
 * so a copy may run late, or after its client is gone.  Keys are hashes of owner
 * fields with one end.  A key ends when its time has come, to the ms: sooner
 * than a real server's, so what holds here holds there.
 */
#ifndef HFT_CORE_MODEL_H
#define HFT_CORE_MODEL_H

#include "sync/core.h"

#define MODEL_KEYS 6
#define MODEL_FIELDS 6
#define MODEL_WORDS 32
#define MODEL_WORD 96

struct model_field {
    char owner[MODEL_WORD];
    int64_t count;
};

struct model_key {
    char name[MODEL_WORD]; /* "": not in use */
    int64_t ends_at_ms;
    size_t field_count;
    struct model_field fields[MODEL_FIELDS];
    unsigned published; /* messages so far */
};

struct model {
    int64_t now_ms;
    struct model_key keys[MODEL_KEYS];
};

/* A copy, as it lies in the server's socket. */
struct model_request {
    int script;
    size_t count;
    char words[MODEL_WORDS][MODEL_WORD];
};

void model_capture(struct hfi_core *core, const struct hfi_copy *copy,
                   struct model_request *ret_request);
/* Run it now; the caller clears the value. */
struct hfi_value model_run(struct model *model,
                           const struct model_request *request);

/* The key of this name, made if need be; what has ended is gone from it. */
struct model_key *model_key(struct model *model, const char *name);
/* The owner's field; NULL: it is not there. */
struct model_field *model_field(struct model_key *key, const char *owner);

#endif
