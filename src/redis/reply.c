/* SPDX-License-Identifier: MIT */
/* redis/reply.c - hiredis' reader with objects of our own; see reply.h. */
#include "redis/reply.h"

#include <hiredis/hiredis.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/zeroed.h"

/* No script of ours answers more elements: a longer array is no answer. */
#define ARRAY_MAX 65536

struct hfi_reader {
    redisReader *reader;
};

/* ---- hiredis' callbacks: make an object, put it where it belongs ---- */

/* Where the object of a task goes: into its parent, or a new root. */
static struct hfi_value *place(const redisReadTask *task)
{
    struct hfi_value *parent;

    if (task->parent == NULL) {
        return hfi_zeroed(sizeof(struct hfi_value));
    }
    parent = task->parent->obj;
    return &parent->items[task->idx];
}

/* Servers end what a script was refused with in the script's digest and line,
 * " script: f1e3..., on @user_script:2.": noise, unless the script is at fault. */
static void cut_script_noise(struct hfi_value *value)
{
    char *noise = strstr(value->text, " script: ");

    if (noise != NULL && value->refusal != HFI_REFUSAL_OTHER) {
        *noise = '\0';
        value->len = (size_t)(noise - value->text);
    }
}

static void *make_string(const redisReadTask *task, char *text, size_t len)
{
    char *copy = malloc(len + 1);
    struct hfi_value *value = copy == NULL ? NULL : place(task);

    if (value == NULL) {
        free(copy);
        return NULL;
    }
    memcpy(copy, text, len);
    copy[len] = '\0';
    value->kind = HFI_TEXT;
    value->text = copy;
    value->len = len;
    if (task->type == REDIS_REPLY_ERROR) {
        value->kind = HFI_ERROR;
        value->refusal = hfi_refusal_of(copy);
        cut_script_noise(value);
    }
    return value;
}

static void *make_array(const redisReadTask *task, int count)
{
    struct hfi_value *items = NULL;
    struct hfi_value *value;

    if (count < 0 || count > ARRAY_MAX) {
        return NULL;
    }
    if (count > 0) {
        items = calloc((size_t)count, sizeof(*items));
        if (items == NULL) {
            return NULL;
        }
    }
    value = place(task);
    if (value == NULL) {
        free(items);
        return NULL;
    }
    value->kind = HFI_ARRAY;
    value->items = items;
    value->count = (size_t)count;
    return value;
}

static void *make_integer(const redisReadTask *task, long long number)
{
    struct hfi_value *value = place(task);

    if (value != NULL) {
        value->kind = HFI_INTEGER;
        value->integer = number;
    }
    return value;
}

static void *make_nil(const redisReadTask *task)
{
    return place(task); /* all zero is HFI_NIL */
}

/* Only ever called with a root, and with one. */
static void free_root(void *object)
{
    hfi_value_clear(object);
    free(object);
}

static redisReplyObjectFunctions makers = {make_string, make_array,
                                           make_integer, make_nil, free_root};

/* ---- the reader ---- */

struct hfi_reader *hfi_reader_new(void)
{
    struct hfi_reader *reader = calloc(1, sizeof(*reader));

    if (reader == NULL) {
        return NULL;
    }
    reader->reader = redisReaderCreateWithFunctions(&makers);
    if (reader->reader == NULL) {
        free(reader);
        return NULL;
    }
    return reader;
}

void hfi_reader_free(struct hfi_reader *reader)
{
    if (reader != NULL) {
        redisReaderFree(reader->reader);
        free(reader);
    }
}

bool hfi_reader_feed(struct hfi_reader *reader, const char *bytes, size_t len)
{
    return redisReaderFeed(reader->reader, bytes, len) == REDIS_OK;
}

enum hfi_read_result hfi_reader_next(struct hfi_reader *reader,
                                     struct hfi_value *ret_value)
{
    void *object = NULL;

    if (redisReaderGetReply(reader->reader, &object) != REDIS_OK) {
        return HFI_READ_BROKEN;
    }
    if (object == NULL) {
        return HFI_READ_MORE;
    }
    *ret_value = *(struct hfi_value *)object;
    free(object);
    return HFI_READ_VALUE;
}

/* ---- what errors mean ---- */

struct refusal_word {
    const char *word; /* the first word of the error, or the text's opening */
    enum hfi_refusal refusal;
};

static const struct refusal_word refusal_words[] = {
    {"NOSCRIPT", HFI_REFUSAL_NO_SCRIPT},
    {"LOADING", HFI_REFUSAL_UNAVAILABLE},
    {"BUSY", HFI_REFUSAL_UNAVAILABLE},
    {"OOM", HFI_REFUSAL_UNAVAILABLE},
    {"READONLY", HFI_REFUSAL_UNAVAILABLE},
    {"MISCONF", HFI_REFUSAL_UNAVAILABLE},
    {"NOREPLICAS", HFI_REFUSAL_UNAVAILABLE},
    {"MASTERDOWN", HFI_REFUSAL_UNAVAILABLE},
    {"CLUSTERDOWN", HFI_REFUSAL_UNAVAILABLE},
    {"TRYAGAIN", HFI_REFUSAL_UNAVAILABLE},
    {"UNKILLABLE", HFI_REFUSAL_UNAVAILABLE},
    {"ERR max number of clients", HFI_REFUSAL_UNAVAILABLE},
    {"WRONGTYPE", HFI_REFUSAL_WRONG_TYPE},
    {"NOAUTH", HFI_REFUSAL_PERMISSION},
    {"NOPERM", HFI_REFUSAL_PERMISSION},
    {"WRONGPASS", HFI_REFUSAL_PERMISSION},
    {"ERR The user executing the script", HFI_REFUSAL_PERMISSION},
    {"DENIED", HFI_REFUSAL_PERMISSION},
    {"ERR invalid password", HFI_REFUSAL_PERMISSION},
    {"ERR AUTH", HFI_REFUSAL_PERMISSION},
    {"ERR Client sent AUTH", HFI_REFUSAL_PERMISSION},
    {"ERR DB index", HFI_REFUSAL_PERMISSION},
};

/* Errors out of scripts come wrapped by older servers: "ERR Error running
 * script (call to f_...): @user_script:9: WRONGTYPE Operation ...", or with
 * "@user_script: 9: -READONLY You ...".  Where the word stands, or NULL. */
static const char *wrapped(const char *text, const char *word)
{
    const char *at;

    if (strncmp(text, "ERR Error running script", 24) != 0) {
        return NULL;
    }
    at = strstr(text, word);
    return at != NULL && (at[-1] == ' ' || at[-1] == '-') ? at : NULL;
}

enum hfi_refusal hfi_refusal_of(const char *text)
{
    size_t count = sizeof(refusal_words) / sizeof(refusal_words[0]);

    for (size_t i = 0; i < count; i++) {
        const char *word = refusal_words[i].word;

        if (strncmp(text, word, strlen(word)) == 0 ||
            wrapped(text, word) != NULL) {
            return refusal_words[i].refusal;
        }
    }
    return HFI_REFUSAL_OTHER;
}
