/* SPDX-License-Identifier: MIT */
/* core_bench_wire.c - the bench's side of the network: copies and their
 * answers, links, subscriptions. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "core_bench.h"
#include "core_bench_parts.h"
#include "scripts_data.h"
#include "support/fatal.h"

#define CHANNEL_TEXT 200

struct bench_channel {
    struct bench_channel *prev, *next;
    struct hfi_listener *listener;
    char text[CHANNEL_TEXT]; /* the channel's name */
};

/* ---- copies ---- */

static void note_taken(struct bench *bench, struct hfi_copy *copy)
{
    struct bench_taken *taken = hft_alloc(sizeof(*taken));

    taken->copy = copy;
    DL_APPEND(bench->taken, taken);
}

struct hfi_copy *bench_take_any(struct bench *bench)
{
    struct hfi_copy *copy = hfi_core_next_copy(bench->core);

    if (copy != NULL) {
        note_taken(bench, copy);
    }
    return copy;
}

struct hfi_copy *bench_take_at(struct bench *bench, enum hfi_request request,
                               const char *file, int line)
{
    struct hfi_copy *copy = bench_take_any(bench);

    if (copy == NULL || copy->request != request) {
        print_error("wanted a copy of request %d; the next is %d\n",
                    (int)request, copy == NULL ? -1 : (int)copy->request);
        _fail(file, line);
    }
    return copy;
}

static void give_back(struct bench *bench, const struct hfi_copy *copy)
{
    struct bench_taken *taken;

    DL_FOREACH (bench->taken, taken) {
        if (taken->copy == copy) {
            DL_DELETE(bench->taken, taken);
            free(taken);
            return;
        }
    }
    fail_msg("a copy is given back that was not taken");
}

struct hfi_copy *bench_join(struct bench *bench, struct hfi_copy **copies,
                            size_t count)
{
    struct hfi_copy *list = NULL;
    struct hfi_copy *joined;

    for (size_t i = 0; i < count; i++) {
        assert_true(hfi_copy_joins(copies[i]));
        give_back(bench, copies[i]);
        DL_APPEND(list, copies[i]);
    }
    joined = hfi_copy_join(bench->core, list);
    assert_non_null(joined);
    note_taken(bench, joined);
    return joined;
}

void bench_answer(struct bench *bench, struct hfi_copy *copy,
                  struct hfi_value *value)
{
    give_back(bench, copy);
    hfi_core_answer(bench->core, copy, value, copy->link, bench->now);
    hfi_value_clear(value);
    bench_settle(bench);
}

void bench_nil(struct bench *bench, struct hfi_copy *copy)
{
    struct hfi_value value = {.kind = HFI_NIL};

    bench_answer(bench, copy, &value);
}

void bench_integer(struct bench *bench, struct hfi_copy *copy, int64_t integer)
{
    struct hfi_value value = {.kind = HFI_INTEGER, .integer = integer};

    bench_answer(bench, copy, &value);
}

void bench_refused(struct bench *bench, struct hfi_copy *copy,
                   int64_t server_ms)
{
    struct hfi_value value = {.kind = HFI_ARRAY, .count = 1};

    value.items = hft_alloc(sizeof(*value.items));
    value.items[0].kind = HFI_INTEGER;
    value.items[0].integer = server_ms;
    bench_answer(bench, copy, &value);
}

void bench_error(struct bench *bench, struct hfi_copy *copy,
                 enum hfi_refusal refusal)
{
    struct hfi_value value = {.kind = HFI_ERROR, .refusal = refusal};

    value.text = hft_copy_text("NO because");
    value.len = strlen(value.text);
    bench_answer(bench, copy, &value);
}

void bench_renewed(struct bench *bench, struct hfi_copy *copy)
{
    struct hfi_value value = {.kind = HFI_ARRAY, .count = copy->batch_count};

    value.items = hft_alloc(value.count * sizeof(*value.items));
    bench_answer(bench, copy, &value);
}

void bench_undone(struct bench *bench, struct hfi_copy *copy)
{
    bench_integer(bench, copy, bench_server_now(bench));
}

static void put_text(struct hfi_value *value, const char *text)
{
    value->kind = HFI_TEXT;
    value->text = hft_copy_text(text);
    value->len = strlen(text);
}

void bench_shown(struct bench *bench, struct hfi_copy *copy, int64_t ttl_ms,
                 const char *owner)
{
    struct hfi_value value = {.kind = HFI_ARRAY, .count = 4};

    value.items = hft_alloc(4 * sizeof(*value.items));
    value.items[0].kind = HFI_INTEGER;
    value.items[0].integer = ttl_ms;
    put_text(&value.items[1], owner == NULL ? "" : owner);
    put_text(&value.items[2], owner == NULL ? "0" : "1");
    value.items[3].kind = HFI_INTEGER;
    bench_answer(bench, copy, &value);
}

void bench_items(struct bench *bench, struct hfi_copy *copy,
                 const struct bench_item *items, size_t count)
{
    struct hfi_value value = {.kind = HFI_ARRAY, .count = count};

    value.items = hft_alloc(count * sizeof(*value.items));
    for (size_t i = 0; i < count; i++) {
        value.items[i].kind = HFI_INTEGER;
        value.items[i].integer = items[i].integer;
        if (items[i].text != NULL) {
            put_text(&value.items[i], items[i].text);
        }
    }
    bench_answer(bench, copy, &value);
}

void bench_lose(struct bench *bench, struct hfi_copy *copy, bool written)
{
    give_back(bench, copy);
    hfi_core_copy_gone(bench->core, copy, written, bench->now);
    bench_settle(bench);
}

/* ---- what would travel ---- */

struct word_sink {
    struct hfi_command_sink sink; /* first: it is what the core sees */
    char *at;
    size_t left;
    size_t keys;
    size_t words;
    char pieces[1024]; /* of the word to come */
    size_t opening;
};

static void put_word(struct word_sink *to, const char *word, size_t len)
{
    int wrote = snprintf(to->at, to->left, "%s%.*s",
                         to->words == to->keys ? " | " : " ", (int)len, word);

    assert_true(wrote >= 0 && (size_t)wrote < to->left);
    to->at += wrote;
    to->left -= (size_t)wrote;
    to->words++;
}

static void on_arg(struct hfi_command_sink *sink, const void *bytes, size_t len)
{
    struct word_sink *to = (struct word_sink *)(void *)sink;
    char word[2048];

    assert_true(to->opening + len <= sizeof(word));
    memcpy(word, to->pieces, to->opening);
    memcpy(word + to->opening, bytes, len);
    put_word(to, word, to->opening + len);
    to->opening = 0;
}

static void on_number(struct hfi_command_sink *sink, int64_t value)
{
    char text[32];
    int len = snprintf(text, sizeof(text), "%" PRId64, value);

    on_arg(sink, text, (size_t)len);
}

static void on_piece(struct hfi_command_sink *sink, const void *bytes,
                     size_t len)
{
    struct word_sink *to = (struct word_sink *)(void *)sink;

    assert_true(to->opening + len <= sizeof(to->pieces));
    memcpy(to->pieces + to->opening, bytes, len);
    to->opening += len;
}

const char *bench_words(struct bench *bench, const struct hfi_copy *copy)
{
    struct word_sink to = {.sink = {on_arg, on_number, on_piece},
                           .at = bench->words,
                           .left = sizeof(bench->words),
                           .keys = hfi_copy_keys(copy)};
    int len = snprintf(to.at, to.left, "%s",
                       copy->native ? "bare"
                                    : hfi_scripts[hfi_copy_script(copy)].name);

    to.at += len;
    to.left -= (size_t)len;
    hfi_copy_write(bench->core, copy, &to.sink);
    assert_true(copy->native ||
                to.words == hfi_copy_keys(copy) + hfi_copy_args(copy));
    return bench->words;
}

/* ---- links ---- */

void bench_link_up(struct bench *bench, enum hfi_link_id link)
{
    hfi_core_link_up(bench->core, link, bench_server_now(bench), bench->now);
    bench_settle(bench);
}

void bench_link_down(struct bench *bench, enum hfi_link_id link)
{
    hfi_core_link_down(bench->core, link);
}

void bench_links_down(struct bench *bench)
{
    bench_link_down(bench, HFI_LINK_MAIN);
    bench_link_down(bench, HFI_LINK_KEEPER);
}

void bench_link_failed(struct bench *bench, hf_status status)
{
    hf_error error = {.status = status, .message = "no way there"};

    hfi_core_link_failed(bench->core, &error, bench->now);
    bench_settle(bench);
}

/* ---- subscriptions ---- */

static struct bench_channel *find_listener(struct bench *bench,
                                           const struct hfi_listener *listener)
{
    struct bench_channel *channel;

    DL_FOREACH (bench->channels, channel) {
        if (channel->listener == listener) {
            return channel;
        }
    }
    return NULL;
}

void bench_channel_change(struct bench *bench, struct hfi_listener *listener)
{
    struct bench_channel *channel = find_listener(bench, listener);
    size_t len;

    if (hfi_listener_wants(listener)) {
        bench->subscribes++;
        if (channel != NULL) {
            return;
        }
        channel = hft_alloc(sizeof(*channel));
        channel->listener = listener;
        len = hfi_listener_channel(bench->core, listener, channel->text,
                                   sizeof(channel->text) - 1);
        assert_true(len < sizeof(channel->text));
        DL_APPEND(bench->channels, channel);
        return;
    }
    bench->unsubscribes++;
    if (channel != NULL) {
        DL_DELETE(bench->channels, channel);
        free(channel);
    }
}

void bench_channels_free(struct bench *bench)
{
    struct bench_channel *channel, *next;

    DL_FOREACH_SAFE (bench->channels, channel, next) {
        free(channel);
    }
}

static struct bench_channel *find_text(struct bench *bench, const char *name)
{
    char plain[CHANNEL_TEXT], halves[CHANNEL_TEXT];
    struct bench_channel *channel;

    snprintf(plain, sizeof(plain), "redisson_lock__channel:{%s}", name);
    snprintf(halves, sizeof(halves), "redisson_rwlock:{%s}", name);
    DL_FOREACH (bench->channels, channel) {
        if (strcmp(channel->text, plain) == 0 ||
            strcmp(channel->text, halves) == 0 ||
            strcmp(channel->text, name) == 0) { /* another kind's, in full */
            return channel;
        }
    }
    return NULL;
}

static struct hfi_listener *subscribed(struct bench *bench, const char *name)
{
    struct bench_channel *channel = find_text(bench, name);

    if (channel == NULL) {
        fail_msg("nobody subscribed to %s", name);
        return NULL;
    }
    return channel->listener;
}

bool bench_wants(struct bench *bench, const char *name)
{
    return find_text(bench, name) != NULL;
}

void bench_heard(struct bench *bench, const char *name)
{
    hfi_core_subscribed(bench->core, subscribed(bench, name), bench->now);
    bench_settle(bench);
}

void bench_deaf(struct bench *bench, const char *name)
{
    hfi_core_unsubscribed(bench->core, subscribed(bench, name));
    bench_settle(bench);
}

void bench_not_heard(struct bench *bench, const char *name)
{
    hfi_core_subscribe_refused(bench->core, subscribed(bench, name),
                               bench->now);
    bench_settle(bench);
}

void bench_message(struct bench *bench, const char *name)
{
    hfi_core_message(bench->core, subscribed(bench, name), bench->now);
    bench_settle(bench);
}
