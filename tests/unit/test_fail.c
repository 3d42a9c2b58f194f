/* SPDX-License-Identifier: MIT */
/* test_fail.c - statuses, error lines, and text that is safe to show. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/fail.h"
#include "holdfast/lock.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static void every_status_has_its_name_number_class_and_text(void **state)
{
    (void)state;
#define CHECK(name, number, class_, text)                                      \
    assert_int_equal(name, number);                                            \
    assert_string_equal(hf_status_name(name), #name);                          \
    assert_string_equal(hf_status_text(name), text);                           \
    assert_int_equal(hf_status_class(name), HF_CLASS_##class_);
    HF_STATUS_MAP(CHECK)
#undef CHECK
    assert_string_equal(hf_status_name(HF_STATUS_MAX_), "HF_?");
    assert_non_null(hf_status_text(HF_STATUS_MAX_));
    assert_int_equal(hf_status_class(HF_STATUS_MAX_), HF_CLASS_LOCAL);
}

static void every_reason_of_a_loss_has_a_text_of_its_own(void **state)
{
    (void)state;
    for (int a = HF_NOT_LOST; a <= HF_LOST_CLOSED; a++) {
        for (int b = HF_NOT_LOST; b < a; b++) {
            assert_string_not_equal(hf_lost_reason_text((hf_lost_reason)a),
                                    hf_lost_reason_text((hf_lost_reason)b));
        }
    }
}

static void a_failure_fills_in_the_whole_error(void **state)
{
    hf_error error;
    hf_error expected = {.status = HF_BUSY, .message = "orders:42: busy"};

    (void)state;
    memset(&error, 'x', sizeof(error));
    assert_int_equal(hfi_fail(&error, HF_BUSY, "%s: busy", "orders:42"),
                     HF_BUSY);
    assert_int_equal(error.status, HF_BUSY);
    assert_int_equal(error.sys_errno, 0);
    assert_string_equal(error.node, "");
    assert_string_equal(error.message, expected.message);
    assert_memory_equal(error.spare, expected.spare, sizeof(error.spare));
    hfi_error_node(&error, "10.0.0.7:6379");
    assert_string_equal(error.node, "10.0.0.7:6379");
    assert_string_equal(error.message, expected.message);
}

static void a_system_failure_says_why_and_keeps_errno(void **state)
{
    hf_error error;

    (void)state;
    errno = EINTR;
    assert_int_equal(hfi_fail_errno(&error, HF_SYSTEM, ENOENT, "no %s", "file"),
                     HF_SYSTEM);
    assert_int_equal(error.sys_errno, ENOENT);
    assert_string_equal(error.message, "no file: No such file or directory");
    assert_int_equal(errno, EINTR);
}

static void an_error_may_be_unwanted(void **state)
{
    (void)state;
    assert_int_equal(hfi_fail(NULL, HF_BUSY, "x"), HF_BUSY);
    assert_int_equal(hfi_fail_errno(NULL, HF_SYSTEM, EINTR, "x"), HF_SYSTEM);
    hfi_error_node(NULL, "x");
}

static void a_message_is_one_printable_line_however_long(void **state)
{
    hf_error error;
    char text[2000];

    (void)state;
    (void)hfi_fail(&error, HF_PROTOCOL, "it said: %s", "-ERR\r\n\x1b[2J\xff");
    assert_string_equal(error.message, "it said: -ERR\\x0d\\x0a\\x1b[2J\\xff");
    memset(text, 'a', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    (void)hfi_fail(&error, HF_PROTOCOL, "%s", text);
    assert_int_equal(strlen(error.message), sizeof(error.message) - 1);
    assert_string_equal(error.message + sizeof(error.message) - 5, "a...");
    (void)hfi_fail_errno(&error, HF_PROTOCOL, EINTR, "%s", text);
    assert_int_equal(strlen(error.message), sizeof(error.message) - 1);
    hfi_error_node(&error, text);
    assert_int_equal(strlen(error.node), sizeof(error.node) - 1);
}

struct shown {
    const char *bytes;
    const char *expected;
};

/* As an array, because linters take fright at the text. */
static const char right_to_left[] = {(char)0xe2, (char)0x80, (char)0xae, 0};

static const struct shown showns[] = {
    {"", ""},
    {"orders:42 ~\\", "orders:42 ~\\"},
    {"\x01\x1f\x7f", "\\x01\\x1f\\x7f"},
    {"h\xc3\xb6lle \xe2\x82\xac \xf0\x9f\x94\x92",
     "h\xc3\xb6lle \xe2\x82\xac \xf0\x9f\x94\x92"},
    /* Cut short, alone, overlong, a surrogate, beyond the last. */
    {"\xc3", "\\xc3"},
    {"\xe2\x82", "\\xe2\\x82"},
    {"\xb6", "\\xb6"},
    {"\xc3(", "\\xc3("},
    {"\xc0\xaf", "\\xc0\\xaf"},
    {"\xe0\x80\xaf", "\\xe0\\x80\\xaf"},
    {"\xed\xa0\x80", "\\xed\\xa0\\x80"},
    {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
    {"\xff\xfe", "\\xff\\xfe"},
    /* A C1 control, a line separator, the mark of text from right to left. */
    {"\xc2\x9b", "\\xc2\\x9b"},
    {"\xe2\x80\xa8", "\\xe2\\x80\\xa8"},
    {right_to_left, "\\xe2\\x80\\xae"},
};

static void bytes_are_shown_as_text_where_they_are_text(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(showns); i++) {
        char out[64];
        char again[64];
        size_t len = hfi_printable(out, sizeof(out), showns[i].bytes,
                                   strlen(showns[i].bytes));

        assert_string_equal(out, showns[i].expected);
        assert_int_equal(len, strlen(out));
        /* What is printable stays as it is. */
        hfi_printable(again, sizeof(again), out, len);
        assert_string_equal(again, out);
    }
}

static void a_zero_byte_is_shown_too(void **state)
{
    char out[64];

    (void)state;
    assert_int_equal(hfi_printable(out, sizeof(out), "a\0b", 3), 6);
    assert_string_equal(out, "a\\x00b");
}

static void what_does_not_fit_is_cut_between_characters(void **state)
{
    static const char *const expected[] = {NULL,  "",     ".",     "..",
                                           "...", "a...", "ab...", "abc..."};
    static const char euro[] = "abc\xe2\x82\xacxyz";
    char out[32];

    (void)state;
    for (size_t size = 1; size <= 7; size++) {
        memset(out, 'x', sizeof(out));
        hfi_printable(out, size, "abcdefgh", 8);
        assert_string_equal(out, expected[size]);
        assert_int_equal(out[size], 'x');
    }
    hfi_printable(out, 8, euro, strlen(euro));
    assert_string_equal(out, "abc...");
    hfi_printable(out, 9, euro, strlen(euro));
    assert_string_equal(out, "abc...");
    hfi_printable(out, 10, euro, strlen(euro));
    assert_string_equal(out, euro);
    hfi_printable(out, 9, "abcdefgh", 8);
    assert_string_equal(out, "abcdefgh");
    memset(out, 'x', sizeof(out));
    assert_int_equal(hfi_printable(out, 0, "abc", 3), 0);
    assert_int_equal(out[0], 'x');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_status_has_its_name_number_class_and_text),
        cmocka_unit_test(every_reason_of_a_loss_has_a_text_of_its_own),
        cmocka_unit_test(a_failure_fills_in_the_whole_error),
        cmocka_unit_test(a_system_failure_says_why_and_keeps_errno),
        cmocka_unit_test(an_error_may_be_unwanted),
        cmocka_unit_test(a_message_is_one_printable_line_however_long),
        cmocka_unit_test(bytes_are_shown_as_text_where_they_are_text),
        cmocka_unit_test(a_zero_byte_is_shown_too),
        cmocka_unit_test(what_does_not_fit_is_cut_between_characters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
