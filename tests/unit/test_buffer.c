/* SPDX-License-Identifier: MIT */
/* test_buffer.c - bytes that grow and are consumed, up to a limit. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"

static void what_is_appended_is_consumed_in_order(void **state)
{
    struct hfi_buffer buffer = {NULL, 0, 0};
    unsigned char next_in = 0;
    unsigned char next_out = 0;

    (void)state;
    /* Pieces of growing length; two thirds are consumed each time. */
    for (size_t piece = 1; piece < 700; piece++) {
        char bytes[700];
        size_t out;

        for (size_t i = 0; i < piece; i++) {
            bytes[i] = (char)next_in++;
        }
        assert_true(hfi_buffer_append(&buffer, bytes, piece));
        assert_true(buffer.len <= buffer.capacity);
        out = buffer.len * 2 / 3;
        for (size_t i = 0; i < out; i++) {
            assert_int_equal((unsigned char)buffer.bytes[i], next_out++);
        }
        hfi_buffer_consume(&buffer, out);
    }
    for (size_t i = 0; i < buffer.len; i++) {
        assert_int_equal((unsigned char)buffer.bytes[i], next_out++);
    }
    assert_int_equal(next_in, next_out);
    hfi_buffer_free(&buffer);
}

static void consuming_more_than_there_is_empties_it(void **state)
{
    struct hfi_buffer buffer = {NULL, 0, 0};

    (void)state;
    hfi_buffer_consume(&buffer, 5);
    assert_int_equal(buffer.len, 0);
    assert_true(hfi_buffer_append(&buffer, "abc", 3));
    hfi_buffer_consume(&buffer, 5);
    assert_int_equal(buffer.len, 0);
    assert_true(hfi_buffer_append(&buffer, NULL, 0));
    assert_int_equal(buffer.len, 0);
    hfi_buffer_free(&buffer);
}

static void numbers_are_written_in_decimal(void **state)
{
    static const int64_t numbers[] = {
        0, 1, -1, 9, 10, -10, 99, 100, INT64_MAX, INT64_MIN, INT64_MIN + 1};

    (void)state;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        struct hfi_buffer buffer = {NULL, 0, 0};
        char expected[32];

        (void)snprintf(expected, sizeof(expected), "%" PRId64, numbers[i]);
        assert_true(hfi_buffer_append_int(&buffer, numbers[i]));
        assert_int_equal(buffer.len, strlen(expected));
        assert_memory_equal(buffer.bytes, expected, buffer.len);
        hfi_buffer_free(&buffer);
    }
}

static void more_than_the_limit_is_refused_and_changes_nothing(void **state)
{
    struct hfi_buffer buffer = {NULL, 0, 0};

    (void)state;
    assert_true(hfi_buffer_append(&buffer, "abc", 3));
    assert_false(hfi_buffer_reserve(&buffer, HFI_BUFFER_MAX - 2));
    assert_false(hfi_buffer_reserve(&buffer, SIZE_MAX));
    assert_false(hfi_buffer_append(&buffer, "x", SIZE_MAX - 1));
    assert_int_equal(buffer.len, 3);
    assert_memory_equal(buffer.bytes, "abc", 3);
    assert_true(hfi_buffer_reserve(&buffer, HFI_BUFFER_MAX - 3));
    assert_int_equal(buffer.capacity, HFI_BUFFER_MAX);
    hfi_buffer_free(&buffer);
}

static void an_empty_buffer_keeps_little_memory(void **state)
{
    struct hfi_buffer buffer = {NULL, 0, 0};
    size_t small;

    (void)state;
    assert_true(hfi_buffer_append(&buffer, "abc", 3));
    small = buffer.capacity;
    hfi_buffer_clear(&buffer);
    assert_int_equal(buffer.capacity, small);
    assert_true(hfi_buffer_append(&buffer, "abc", 3));
    assert_true(hfi_buffer_reserve(&buffer, HFI_BUFFER_KEEP));
    hfi_buffer_consume(&buffer, 3);
    assert_int_equal(buffer.len, 0);
    assert_true(buffer.capacity <= HFI_BUFFER_KEEP);
    hfi_buffer_free(&buffer);
}

static void a_secret_is_wiped(void **state)
{
    char secret[] = "s3cr3t";
    static const char nothing[sizeof(secret)];

    (void)state;
    hfi_wipe(secret, sizeof(secret));
    assert_memory_equal(secret, nothing, sizeof(secret));
    hfi_wipe(NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_appended_is_consumed_in_order),
        cmocka_unit_test(consuming_more_than_there_is_empties_it),
        cmocka_unit_test(numbers_are_written_in_decimal),
        cmocka_unit_test(more_than_the_limit_is_refused_and_changes_nothing),
        cmocka_unit_test(an_empty_buffer_keeps_little_memory),
        cmocka_unit_test(a_secret_is_wiped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
