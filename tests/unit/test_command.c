/* SPDX-License-Identifier: MIT */
/* test_command.c - words in, RESP out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "redis/command.h"
#include "support/fatal.h"

static void assert_out(const struct hfi_buffer *out, const char *text,
                       size_t len)
{
    assert_int_equal(out->len, len);
    assert_memory_equal(out->bytes, text, len);
}

static void words_and_numbers_are_written_in_order(void **state)
{
    struct hfi_command command = {.count = 0};
    struct hfi_buffer out = {NULL, 0, 0};
    static const char zero[] = {'a', '\0', '\r', '\n'};
    static const char wanted[] =
        "*5\r\n$3\r\nSET\r\n$4\r\na\0\r\n\r\n$0\r\n\r\n$20\r\n"
        "-9223372036854775808\r\n$1\r\n0\r\n";

    (void)state;
    hfi_command_begin(&command);
    hfi_command_add_text(&command, "SET");
    hfi_command_add(&command, zero, sizeof(zero));
    hfi_command_add(&command, "", 0);
    hfi_command_add_number(&command, INT64_MIN);
    hfi_command_add_number(&command, 0);
    assert_true(hfi_command_end(&command, &out));
    assert_out(&out, wanted, sizeof(wanted) - 1);
    hfi_command_free(&command);
    hfi_buffer_free(&out);
}

static void commands_follow_each_other_in_one_buffer(void **state)
{
    struct hfi_command command = {.count = 0};
    struct hfi_buffer out = {NULL, 0, 0};
    static const char wanted[] = "*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nTIME\r\n";

    (void)state;
    hfi_command_begin(&command);
    hfi_command_add_text(&command, "PING");
    assert_true(hfi_command_end(&command, &out));
    hfi_command_begin(&command);
    hfi_command_add_text(&command, "TIME");
    assert_true(hfi_command_end(&command, &out));
    assert_out(&out, wanted, sizeof(wanted) - 1);
    hfi_command_free(&command);
    hfi_command_free(&command); /* it is an empty one then */
    hfi_buffer_free(&out);
}

static void pieces_and_what_follows_them_are_one_word(void **state)
{
    struct hfi_command command = {.count = 0};
    struct hfi_buffer out = {NULL, 0, 0};
    static const char wanted[] = "*3\r\n$1\r\na\r\n$5\r\nbcde1\r\n$1\r\nf\r\n";

    (void)state;
    hfi_command_begin(&command);
    hfi_command_add_piece(&command, "left over", 9);
    hfi_command_begin(&command);
    hfi_command_add_text(&command, "a");
    hfi_command_add_piece(&command, "bc", 2);
    hfi_command_add_piece(&command, "", 0);
    hfi_command_add_piece(&command, "de", 2);
    hfi_command_add_number(&command, 1);
    hfi_command_add_text(&command, "f");
    assert_true(hfi_command_end(&command, &out));
    assert_out(&out, wanted, sizeof(wanted) - 1);
    hfi_command_free(&command);
    hfi_buffer_free(&out);
}

static void hundreds_of_words_fit(void **state)
{
    struct hfi_command command = {.count = 0};
    struct hfi_buffer out = {NULL, 0, 0};
    const char *at;

    (void)state;
    hfi_command_begin(&command);
    for (int64_t i = 0; i < 700; i++) {
        hfi_command_add_number(&command, i % 10);
    }
    assert_true(hfi_command_end(&command, &out));
    assert_memory_equal(out.bytes, "*700\r\n", 6);
    at = out.bytes + 6;
    for (int i = 0; i < 700; i++, at += 7) {
        assert_memory_equal(at, "$1\r\n", 4);
        assert_int_equal(at[4], '0' + i % 10);
    }
    assert_ptr_equal(at, out.bytes + out.len);
    hfi_command_free(&command);
    hfi_buffer_free(&out);
}

static void what_is_too_large_is_not_written_and_the_next_is(void **state)
{
    struct hfi_command command = {.count = 0};
    struct hfi_buffer out = {NULL, 0, 0};
    char *huge = hft_alloc(HFI_BUFFER_MAX);

    (void)state;
    hfi_command_begin(&command);
    hfi_command_add(&command, huge, HFI_BUFFER_MAX);
    hfi_command_add_text(&command, "x"); /* no room for it */
    assert_false(hfi_command_end(&command, &out));
    hfi_command_begin(&command);
    hfi_command_add(&command, huge, HFI_BUFFER_MAX);
    hfi_command_add_number(&command, 7);
    assert_false(hfi_command_end(&command, &out));
    hfi_command_begin(&command);
    hfi_command_add_piece(&command, huge, HFI_BUFFER_MAX);
    hfi_command_add_piece(&command, "x", 1); /* no room for it */
    assert_false(hfi_command_end(&command, &out));
    hfi_command_begin(&command); /* its frame does not fit the buffer */
    hfi_command_add(&command, huge, HFI_BUFFER_MAX - 4);
    assert_false(hfi_command_end(&command, &out));
    hfi_command_begin(&command); /* of which not a byte is looked at */
    hfi_command_add(&command, huge, SIZE_MAX);
    assert_false(hfi_command_end(&command, &out));
    assert_int_equal(out.len, 0);
    hfi_command_begin(&command);
    hfi_command_add_text(&command, "PING");
    assert_true(hfi_command_end(&command, &out));
    assert_out(&out, "*1\r\n$4\r\nPING\r\n", 14);
    hfi_command_free(&command);
    hfi_buffer_free(&out);
    free(huge);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_and_numbers_are_written_in_order),
        cmocka_unit_test(commands_follow_each_other_in_one_buffer),
        cmocka_unit_test(pieces_and_what_follows_them_are_one_word),
        cmocka_unit_test(hundreds_of_words_fit),
        cmocka_unit_test(what_is_too_large_is_not_written_and_the_next_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
