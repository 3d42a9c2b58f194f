/* SPDX-License-Identifier: MIT */
/* core_model.c - what src/scripts do, in C; see core_model.h. */
#include "core_model.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scripts_data.h"
#include "support/fatal.h"

/* ---- what travels ---- */

struct capture {
    struct hfi_command_sink sink; /* first: it is what the core sees */
    struct model_request *request;
    size_t opening; /* bytes of the word to come */
};

static void on_piece(struct hfi_command_sink *sink, const void *bytes,
                     size_t len)
{
    struct capture *capture = (struct capture *)(void *)sink;
    struct model_request *request = capture->request;

    if (request->count >= MODEL_WORDS || capture->opening + len >= MODEL_WORD) {
        hft_die("core_model: a command of more than it understands");
    }
    memcpy(request->words[request->count] + capture->opening, bytes, len);
    capture->opening += len;
}

static void on_arg(struct hfi_command_sink *sink, const void *bytes, size_t len)
{
    struct capture *capture = (struct capture *)(void *)sink;
    struct model_request *request = capture->request;

    on_piece(sink, bytes, len);
    request->words[request->count++][capture->opening] = '\0';
    capture->opening = 0;
}

static void on_number(struct hfi_command_sink *sink, int64_t value)
{
    char text[32];
    int len = snprintf(text, sizeof(text), "%" PRId64, value);

    on_arg(sink, text, (size_t)len);
}

void model_capture(struct hfi_core *core, const struct hfi_copy *copy,
                   struct model_request *ret_request)
{
    struct capture capture = {{on_arg, on_number, on_piece}, ret_request, 0};

    ret_request->script = hfi_copy_script(copy);
    ret_request->count = 0;
    hfi_copy_write(core, copy, &capture.sink);
}

static int64_t number_of(const char *word)
{
    return strtoll(word, NULL, 10);
}

/* ---- keys ---- */

struct model_key *model_key(struct model *model, const char *name)
{
    struct model_key *key = NULL;

    for (size_t i = MODEL_KEYS; i-- > 0;) {
        if (strcmp(model->keys[i].name, name) == 0) {
            key = &model->keys[i];
            break;
        }
        if (model->keys[i].name[0] == '\0') {
            key = &model->keys[i];
        }
    }
    if (key == NULL) {
        hft_die("core_model: more names than it has");
    }
    snprintf(key->name, sizeof(key->name), "%s", name);
    if (key->field_count > 0 && model->now_ms >= key->ends_at_ms) {
        key->field_count = 0;
    }
    return key;
}

struct model_field *model_field(struct model_key *key, const char *owner)
{
    for (size_t i = 0; i < key->field_count; i++) {
        if (strcmp(key->fields[i].owner, owner) == 0) {
            return &key->fields[i];
        }
    }
    return NULL;
}

static void add_field(struct model_key *key, const char *owner)
{
    struct model_field *field = &key->fields[key->field_count++];

    if (key->field_count > MODEL_FIELDS) {
        hft_die("core_model: more fields than it has");
    }
    snprintf(field->owner, sizeof(field->owner), "%s", owner);
    field->count = 1;
}

static void drop_field(struct model_key *key, struct model_field *field)
{
    *field = key->fields[--key->field_count];
}

static int64_t ttl_of(const struct model *model, const struct model_key *key)
{
    return key->field_count == 0 ? -2 : key->ends_at_ms - model->now_ms;
}

static void extend(const struct model *model, struct model_key *key,
                   int64_t lease_ms)
{
    if (key->ends_at_ms < model->now_ms + lease_ms) {
        key->ends_at_ms = model->now_ms + lease_ms;
    }
}

/* ---- answers ---- */

static struct hfi_value nil(void)
{
    struct hfi_value value = {.kind = HFI_NIL};

    return value;
}

static struct hfi_value integer(int64_t number)
{
    struct hfi_value value = {.kind = HFI_INTEGER, .integer = number};

    return value;
}

static struct hfi_value array(size_t count)
{
    struct hfi_value value = {.kind = HFI_ARRAY, .count = count};

    value.items = hft_alloc(count * sizeof(*value.items));
    return value;
}

/* ---- scripts ---- */

static struct hfi_value acquire(struct model *model,
                                const struct model_request *request)
{
    struct model_key *key = model_key(model, request->words[0]);
    const char *owner = request->words[1];
    struct hfi_value value;

    if (key->field_count > 0 && model_field(key, owner) == NULL) {
        return integer(ttl_of(model, key));
    }
    if (model->now_ms >= number_of(request->words[3])) {
        value = array(1);
        value.items[0] = integer(model->now_ms);
        return value;
    }
    if (key->field_count == 0) {
        add_field(key, owner);
        key->ends_at_ms = model->now_ms;
    }
    extend(model, key, number_of(request->words[2]));
    return nil();
}

/* What answers for several: a number, and what it says. */
static struct hfi_value pair(size_t at, int64_t number)
{
    struct hfi_value value = array(2);

    value.items[0] = integer((int64_t)at);
    value.items[1] = integer(number);
    return value;
}

/* Of locks without a token. */
static struct hfi_value acquire_together(struct model *model,
                                         const struct model_request *request)
{
    size_t count = (request->count - 2) / 5;
    const char(*args)[MODEL_WORD] = &request->words[count];
    struct hfi_value value;

    for (size_t i = 0; i < count; i++) {
        struct model_key *key = model_key(model, request->words[i]);

        if (key->field_count > 0 && model_field(key, args[3 + 4 * i]) == NULL) {
            return pair(i + 1, ttl_of(model, key));
        }
    }
    if (model->now_ms >= number_of(args[1])) {
        return pair(0, model->now_ms);
    }
    value = array(count);
    for (size_t i = 0; i < count; i++) {
        struct model_key *key = model_key(model, request->words[i]);

        if (key->field_count == 0) {
            add_field(key, args[3 + 4 * i]);
            key->ends_at_ms = model->now_ms;
        }
        extend(model, key, number_of(args[0]));
        value.items[i] = nil();
    }
    return value;
}

static struct hfi_value keep(struct model *model, const char *name,
                             const char (*args)[MODEL_WORD])
{
    struct model_key *key = model_key(model, name);
    struct model_field *field = model_field(key, args[0]);

    if (field == NULL) {
        return integer(ttl_of(model, key));
    }
    field->count = number_of(args[1]);
    extend(model, key, number_of(args[2]));
    return nil();
}

static struct hfi_value keep_group(struct model *model,
                                   const struct model_request *request)
{
    size_t count = request->count / 4;
    struct hfi_value value = array(count);

    for (size_t i = 0; i < count; i++) {
        value.items[i] = keep(model, request->words[i],
                              &request->words[count + 3 * i]);
    }
    return value;
}

static struct hfi_value release(struct model *model,
                                const struct model_request *request)
{
    struct model_key *key = model_key(model, request->words[0]);
    struct model_field *field = model_field(key, request->words[1]);

    if (field == NULL) {
        return integer(ttl_of(model, key));
    }
    drop_field(key, field);
    if (request->script == HFI_SCRIPT_LOCK_RELEASE_LATER) {
        add_field(key, request->words[3]);
        key->ends_at_ms = model->now_ms + number_of(request->words[4]);
    }
    key->published++;
    return nil();
}

static struct hfi_value undo(struct model *model,
                             const struct model_request *request)
{
    struct model_key *key = model_key(model, request->words[0]);
    struct model_field *field = model_field(key, request->words[1]);

    if (field != NULL) {
        drop_field(key, field);
        key->published++;
    }
    return integer(model->now_ms);
}

struct hfi_value model_run(struct model *model,
                           const struct model_request *request)
{
    switch (request->script) {
    case HFI_SCRIPT_LOCK_ACQUIRE:
        return acquire(model, request);
    case HFI_SCRIPT_TOGETHER_ACQUIRE:
        return acquire_together(model, request);
    case HFI_SCRIPT_LOCK_KEEP:
        return keep(model, request->words[0], &request->words[1]);
    case HFI_SCRIPT_LOCK_KEEP_GROUP:
        return keep_group(model, request);
    case HFI_SCRIPT_LOCK_RELEASE:
    case HFI_SCRIPT_LOCK_RELEASE_LATER:
        return release(model, request);
    case HFI_SCRIPT_LOCK_UNDO:
        return undo(model, request);
    case HFI_SCRIPT_SERVER_TIME:
        return integer(model->now_ms);
    default:
        hft_die("core_model: a script that it does not know");
    }
}
