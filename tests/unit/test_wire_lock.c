/* SPDX-License-Identifier: MIT */
/* test_wire_lock.c - what the plain lock puts on the wire: names, keys, fields,
 * channels, arguments.
 *
 * Names are those of docs/wire/rlock.md, byte for byte (rlock/names).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core_bench.h"
#include "scripts_data.h"
#include "support/fatal.h"

/* A release of a name; whose key and channel are then read. */
static struct hfi_copy *release_of(struct bench *bench, const void *name,
                                   size_t bytes)
{
    struct hfi_op_request ask = {.kind = HFI_OP_ACQUIRE,
                                 .name = name,
                                 .name_bytes = bytes,
                                 .lease_ms = 1000};

    bench_start(bench, 1, NULL, &ask);
    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    ask.kind = HFI_OP_RELEASE;
    bench_start(bench, 1, NULL, &ask);
    return bench_take(bench, HFI_RELEASE);
}

static void the_channel_has_braces_unless_the_name_has_an_opening_one(
    void **state)
{
    struct bench *bench = *state;
    static const struct {
        const char *name;
        const char *channel;
    } cases[] = {
        {"order:17", "redisson_lock__channel:{order:17}"},
        {"{shop}:o", "redisson_lock__channel:{shop}:o"},
        {"plain", "redisson_lock__channel:{plain}"},
        {"a{t}b", "redisson_lock__channel:a{t}b"},
        {"a{b", "redisson_lock__channel:a{b"},
        {"a{", "redisson_lock__channel:a{"},
        {"a{}b", "redisson_lock__channel:a{}b"},
        {"a}b", "redisson_lock__channel:{a}b}"},
        {"}a{t}", "redisson_lock__channel:}a{t}"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct hfi_copy *copy = release_of(bench, cases[i].name,
                                           strlen(cases[i].name));
        char words[256];

        snprintf(words, sizeof(words),
                 "lock_release %s | " BENCH_UUID ":%zu %s", cases[i].name,
                 i + 1, cases[i].channel);
        assert_string_equal(bench_words(bench, copy), words);
        bench_nil(bench, copy);
    }
}

/* Collects raw bytes: names may hold anything. */
struct raw_sink {
    struct hfi_command_sink sink;
    size_t count;
    char *words[8];
    size_t lens[8];
    size_t opening; /* bytes of the word to come */
};

static void on_raw_piece(struct hfi_command_sink *sink, const void *bytes,
                         size_t len)
{
    struct raw_sink *raw = (struct raw_sink *)(void *)sink;
    char *longer = hft_alloc(raw->opening + len + 1);

    if (raw->opening > 0) {
        memcpy(longer, raw->words[raw->count], raw->opening);
    }
    memcpy(longer + raw->opening, bytes, len);
    free(raw->words[raw->count]);
    raw->words[raw->count] = longer;
    raw->opening += len;
}

static void on_raw(struct hfi_command_sink *sink, const void *bytes, size_t len)
{
    struct raw_sink *raw = (struct raw_sink *)(void *)sink;

    on_raw_piece(sink, bytes, len);
    raw->lens[raw->count++] = raw->opening;
    raw->opening = 0;
}

static void on_raw_number(struct hfi_command_sink *sink, int64_t value)
{
    char text[32];
    int len = snprintf(text, sizeof(text), "%" PRId64, value);

    on_raw(sink, text, (size_t)len);
}

static void a_name_of_any_bytes_and_length_travels_as_it_is(void **state)
{
    struct bench *bench = *state;
    static const size_t lengths[] = {1, 2, 486, 487, 488, 489, 512, 100000};

    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        size_t len = lengths[i];
        char *name = hft_alloc(len);
        struct raw_sink raw = {.sink = {on_raw, on_raw_number, on_raw_piece}};
        struct hfi_copy *copy;

        for (size_t at = 0; at < len; at++) {
            name[at] = (char)(at % 256 == '{' ? 0 : at % 256);
        }
        copy = release_of(bench, name, len);
        hfi_copy_write(bench->core, copy, &raw.sink);
        assert_int_equal(raw.count, 3);
        assert_int_equal(raw.lens[0], len);
        assert_memory_equal(raw.words[0], name, len);
        assert_int_equal(raw.lens[2],
                         len + strlen("redisson_lock__channel:{}"));
        assert_memory_equal(raw.words[2], "redisson_lock__channel:{", 24);
        assert_memory_equal(raw.words[2] + 24, name, len);
        assert_int_equal(raw.words[2][raw.lens[2] - 1], '}');
        bench_nil(bench, copy);
        for (size_t word = 0; word < raw.count; word++) {
            free(raw.words[word]);
        }
        free(name);
    }
}

static void every_request_has_its_script_keys_and_arguments(void **state)
{
    struct bench *bench = *state;
    struct hfi_copy *copy;
    char words[256];

    bench_lock(bench, 1, "a", 0);
    copy = bench_take(bench, HFI_ACQUIRE);
    snprintf(words, sizeof(words),
             "lock_acquire a | " BENCH_UUID ":1 30000 %" PRId64,
             bench_server_now(bench) + BENCH_RESPONSE_MS);
    assert_string_equal(bench_words(bench, copy), words);
    assert_int_equal(hfi_copy_keys(copy), 1);
    assert_int_equal(hfi_copy_args(copy), 3);
    assert_int_equal(hfi_copy_script(copy), HFI_SCRIPT_LOCK_ACQUIRE);
    bench_nil(bench, copy);
    bench_hold(bench, 1, "b");
    bench_pass(bench, BENCH_LEASE_MS / 3);
    copy = bench_take(bench, HFI_RENEW);
    /* All the keys, then each one's arguments. */
    if (memcmp(bench_words(bench, copy), "lock_keep_group a b", 19) == 0) {
        assert_string_equal(bench->words,
                            "lock_keep_group a b | " BENCH_UUID
                            ":1 1 30000 " BENCH_UUID ":2 1 30000");
    } else {
        assert_string_equal(bench->words,
                            "lock_keep_group b a | " BENCH_UUID
                            ":2 1 30000 " BENCH_UUID ":1 1 30000");
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
#define TEST(function)                                                         \
    cmocka_unit_test_setup_teardown(function, bench_setup, bench_teardown)
        TEST(the_channel_has_braces_unless_the_name_has_an_opening_one),
        TEST(a_name_of_any_bytes_and_length_travels_as_it_is),
        TEST(every_request_has_its_script_keys_and_arguments),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
