/* SPDX-License-Identifier: MIT */
/* test_words.c - what the command reads and shows: durations, names, slips of
 * the finger, exit statuses, URLs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "context.h"
#include "duration.h"
#include "exit_status.h"
#include "printable.h"
#include "suggest.h"

static void durations_are_read_exactly(void **state)
{
    static const struct {
        const char *text;
        int64_t ms;
    } rows[] = {
        {"0", 0},
        {"250ms", 250},
        {"10s", 10000},
        {"5m", 300000},
        {"2h", 7200000},
        {"1d", 86400000},
        {"10", 10000},
        {"1.5", 1500},
        {"0.1s", 100},
        {"0.001", 1},
        {"0.0001s", 1}, /* rounded up: never less than was asked for */
        {"1.000000001s", 1001},
        {"2.5ms", 3},
        {"0.5m", 30000},
        {"00010s", 10000},
        {"3650d", INT64_C(315360000000)},
        {"315360000000ms", INT64_C(315360000000)},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int64_t ms = -1;
        assert_int_equal(cli_duration_read(rows[i].text, &ms), 0);
        assert_true(ms == rows[i].ms);
    }
}

static void what_is_no_duration_is_refused(void **state)
{
    static const char *const rows[] = {
        "",
        "x",
        "5x",
        "5S",
        "1e3",
        "-1",
        "+1",
        " 1",
        "1 ",
        "1,5",
        ".5",
        "5.",
        "0x10",
        "inf",
        "1.5.5",
        "ms",
        "5sm",
        "1. 5",
        "3651d",
        "1\xc2\xb5s",
        "315360000.001",
        "9223372036854775808",
        "99999999999999999999",
        "0.1234567890",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int64_t ms = -7;
        assert_int_equal(cli_duration_read(rows[i], &ms), -1);
        assert_true(ms == -7);
    }
}

static void durations_are_shown_as_people_write_them(void **state)
{
    static const struct {
        int64_t ms;
        const char *text;
    } rows[] = {
        {-5, "0ms"},       {0, "0ms"},          {999, "999ms"},
        {1000, "1.0s"},    {59999, "59.9s"},    {60000, "1m00s"},
        {200000, "3m20s"}, {3599999, "59m59s"}, {3600000, "1h00m"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char buf[32];
        cli_duration_text(rows[i].ms, buf, sizeof(buf));
        assert_string_equal(buf, rows[i].text);
    }
}

static void names_are_shown_as_one_harmless_word(void **state)
{
    static const struct {
        const char *name;
        const char *shown;
    } rows[] = {
        {"orders:42", "orders:42"},
        {"a b", "a b"},
        {"a\tb\n", "a\\x09b\\x0a"},
        {"\x1b[31m", "\\x1b[31m"},
        {"\x7f", "\\x7f"},
        {"back\\slash", "back\\x5cslash"},
        {"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"},
        {"\xf0\x9f\x94\x92", "\xf0\x9f\x94\x92"},
        {"\xc2\x9b", "\\xc2\\x9b"},          /* a C1 control character */
        {"\xe2\x80\xae", "\\xe2\\x80\\xae"}, /* right to left */
        {"\xff", "\\xff"},
        {"\xc3", "\\xc3"},                   /* cut short */
        {"\xc0\xaf", "\\xc0\\xaf"},          /* longer than needed */
        {"\xed\xa0\x80", "\\xed\\xa0\\x80"}, /* half of a pair */
        {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char buf[64];
        cli_printable(rows[i].name, strlen(rows[i].name), buf, sizeof(buf));
        assert_string_equal(buf, rows[i].shown);
    }
}

static void a_long_name_is_cut_where_a_character_ends(void **state)
{
    char buf[9];

    (void)state;
    assert_string_equal(cli_printable("12345678", 8, buf, sizeof(buf)),
                        "12345678");
    assert_string_equal(cli_printable("123456789", 9, buf, sizeof(buf)),
                        "12345...");
    assert_string_equal(cli_printable("1234\n6", 6, buf, sizeof(buf)),
                        "1234...");
    assert_string_equal(
        cli_printable("1234\xc3\xbc\xc3\xbc\xc3\xbc", 10, buf, sizeof(buf)),
        "1234...");
    assert_string_equal(cli_printable("", 0, buf, sizeof(buf)), "");
}

static const char *suggest(const char *word)
{
    static const char *const candidates[] = {"run", "hold", "release", "ls"};
    struct cli_suggestion s;

    cli_suggestion_begin(&s, word);
    for (size_t i = 0; i < sizeof(candidates) / sizeof(candidates[0]); i++) {
        cli_suggestion_offer(&s, candidates[i]);
    }
    return cli_suggestion_get(&s);
}

static void a_slip_of_the_finger_is_recognised(void **state)
{
    (void)state;
    assert_string_equal(suggest("rnu"), "run");
    assert_string_equal(suggest("hodl"), "hold");
    assert_string_equal(suggest("relaese"), "release");
    assert_string_equal(suggest("rel"), "release");
    assert_string_equal(suggest("lss"), "ls");
    assert_null(suggest("frobnicate"));
    assert_null(suggest(""));
    assert_null(suggest("a-word-that-is-much-longer-than-all-of-ours"));
}

/* T52: every status has one exit status. */
static void every_status_has_an_exit_status(void **state)
{
    static const struct {
        hf_status status;
        int exit_status;
    } rows[] = {
        {HF_OK, 0},           {HF_BUSY, 75},       {HF_TIMEOUT, 75},
        {HF_NOT_OWNER, 79},   {HF_GONE, 79},       {HF_LOST, 79},
        {HF_UNKNOWN, 69},     {HF_NOT_DONE, 69},   {HF_UNREACHABLE, 69},
        {HF_UNAVAILABLE, 69}, {HF_INVALID, 64},    {HF_BAD_URL, 64},
        {HF_BAD_NAME, 64},    {HF_WRONG_TYPE, 65}, {HF_PERMISSION, 77},
        {HF_PROTOCOL, 69},    {HF_NOT_HERE, 69},   {HF_NOMEM, 70},
        {HF_SYSTEM, 70},      {HF_INTERNAL, 70},   {HF_CLOSED, 70},
        {HF_CANCELLED, 70},   {HF_STILL_HELD, 70}, {HF_FORKED, 70},
        {HF_IN_CALLBACK, 70},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(cli_exit_of(rows[i].status), rows[i].exit_status);
    }
}

static void urls_lose_their_password_and_nothing_else(void **state)
{
    static const struct {
        const char *url;
        const char *shown;
    } rows[] = {
        {"redis://h", "redis://h"},
        {"redis://h:6379/2", "redis://h:6379/2"},
        {"redis://u@h:6379", "redis://u@h:6379"},
        {"redis://u:secret@h:6379/2", "redis://u@h:6379/2"},
        {"redis://:secret@h", "redis://h"},
        {"redis://:se:cr@et@h:1", "redis://h:1"},
        {"redis://u:@h", "redis://u@h"},
        {"redis://[::1]:6379", "redis://[::1]:6379"},
        {"redis://u:secret@[::1]:6379", "redis://u@[::1]:6379"},
        {"unix:/run/a:b@c.sock?db=2", "unix:/run/a:b@c.sock?db=2"},
        {"unix:///run/a:b@c.sock", "unix:///run/a:b@c.sock"},
        {"unix://u:secret@/run/r.sock", "unix://u@/run/r.sock"},
        {"local:default", "local:default"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char *shown = cli_url_without_password(rows[i].url);
        assert_non_null(shown);
        assert_string_equal(shown, rows[i].shown);
        free(shown);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations_are_read_exactly),
        cmocka_unit_test(what_is_no_duration_is_refused),
        cmocka_unit_test(durations_are_shown_as_people_write_them),
        cmocka_unit_test(names_are_shown_as_one_harmless_word),
        cmocka_unit_test(a_long_name_is_cut_where_a_character_ends),
        cmocka_unit_test(a_slip_of_the_finger_is_recognised),
        cmocka_unit_test(every_status_has_an_exit_status),
        cmocka_unit_test(urls_lose_their_password_and_nothing_else),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
