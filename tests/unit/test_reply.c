/* SPDX-License-Identifier: MIT */
/* test_reply.c - bytes in, values out; what an error means; what is no reply. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "redis/reply.h"

static struct hfi_reader *reader;

static int setup(void **state)
{
    (void)state;
    reader = hfi_reader_new();
    return reader == NULL ? -1 : 0;
}

static int teardown(void **state)
{
    (void)state;
    hfi_reader_free(reader);
    hfi_reader_free(NULL);
    return 0;
}

static void feed(const char *text)
{
    assert_true(hfi_reader_feed(reader, text, strlen(text)));
}

static struct hfi_value read_one(const char *text)
{
    struct hfi_value value = {.kind = HFI_NIL};

    feed(text);
    assert_int_equal(hfi_reader_next(reader, &value), HFI_READ_VALUE);
    return value;
}

static void plain_values_are_read(void **state)
{
    struct hfi_value value;

    (void)state;
    value = read_one("+OK\r\n");
    assert_int_equal(value.kind, HFI_TEXT);
    assert_string_equal(value.text, "OK");
    assert_int_equal(value.len, 2);
    hfi_value_clear(&value);
    value = read_one(":-42\r\n");
    assert_int_equal(value.kind, HFI_INTEGER);
    assert_int_equal(value.integer, -42);
    value = read_one("$-1\r\n");
    assert_int_equal(value.kind, HFI_NIL);
    value = read_one("*-1\r\n");
    assert_int_equal(value.kind, HFI_NIL);
    value = read_one("*0\r\n");
    assert_int_equal(value.kind, HFI_ARRAY);
    assert_int_equal(value.count, 0);
    value = read_one("-NOSCRIPT No matching script.\r\n");
    assert_int_equal(value.kind, HFI_ERROR);
    assert_int_equal(value.refusal, HFI_REFUSAL_NO_SCRIPT);
    assert_string_equal(value.text, "NOSCRIPT No matching script.");
    hfi_value_clear(&value);
    assert_int_equal(value.kind, HFI_NIL);
    assert_null(value.text);
}

static void texts_are_bytes_with_a_length(void **state)
{
    struct hfi_value value;
    static const char bytes[] = "$5\r\na\0\r\nb\r\n";

    (void)state;
    assert_true(hfi_reader_feed(reader, bytes, sizeof(bytes) - 1));
    assert_int_equal(hfi_reader_next(reader, &value), HFI_READ_VALUE);
    assert_int_equal(value.len, 5);
    assert_memory_equal(value.text, "a\0\r\nb", 6); /* terminated too */
    hfi_value_clear(&value);
}

static void arrays_are_trees(void **state)
{
    struct hfi_value value = read_one(
        "*4\r\n:1\r\n*2\r\n$1\r\nx\r\n$-1\r\n-WRONGTYPE no\r\n*1\r\n:7\r\n");

    (void)state;
    assert_int_equal(value.kind, HFI_ARRAY);
    assert_int_equal(value.count, 4);
    assert_int_equal(value.items[0].integer, 1);
    assert_int_equal(value.items[1].count, 2);
    assert_string_equal(value.items[1].items[0].text, "x");
    assert_int_equal(value.items[1].items[1].kind, HFI_NIL);
    assert_int_equal(value.items[2].kind, HFI_ERROR);
    assert_int_equal(value.items[2].refusal, HFI_REFUSAL_WRONG_TYPE);
    assert_int_equal(value.items[3].items[0].integer, 7);
    hfi_value_clear(&value);
}

static void a_reply_may_come_byte_by_byte(void **state)
{
    static const char text[] = "*3\r\n$2\r\nab\r\n:12\r\n+OK\r\n:5\r\n";
    struct hfi_value value;
    size_t values = 0;

    (void)state;
    assert_int_equal(hfi_reader_next(reader, &value), HFI_READ_MORE);
    for (size_t i = 0; i < sizeof(text) - 1; i++) {
        enum hfi_read_result result;

        assert_true(hfi_reader_feed(reader, text + i, 1));
        result = hfi_reader_next(reader, &value);
        if (result == HFI_READ_VALUE) {
            values++;
            assert_int_equal(value.kind, values == 1 ? HFI_ARRAY : HFI_INTEGER);
            hfi_value_clear(&value);
        } else {
            assert_int_equal(result, HFI_READ_MORE);
        }
    }
    assert_int_equal(values, 2);
}

static void many_replies_may_come_at_once(void **state)
{
    struct hfi_value value = read_one(":1\r\n:2\r\n:3\r\n");

    (void)state;
    for (int64_t i = 2; i <= 3; i++) {
        assert_int_equal(hfi_reader_next(reader, &value), HFI_READ_VALUE);
        assert_int_equal(value.integer, i);
    }
    assert_int_equal(hfi_reader_next(reader, &value), HFI_READ_MORE);
}

static void a_broken_reply_breaks_the_reader(void **state)
{
    static const char *const broken[] = {
        "HTTP/1.1 400 Bad Request\r\n",
        "*70000\r\n",
        "*1000000000\r\n",
        "*2147483649\r\n",
        "*4294967297\r\n:1\r\n",
        "*3\r\n:1\r\n*65537\r\n",
        ":1a\r\n",
        "$-7\r\n",
        "*-2\r\n",
        "!3\r\nabc\r\n",
        "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        struct hfi_reader *one = hfi_reader_new();
        struct hfi_value value;

        assert_non_null(one);
        assert_true(hfi_reader_feed(one, broken[i], strlen(broken[i])));
        if (hfi_reader_next(one, &value) != HFI_READ_BROKEN) {
            print_error("not taken as broken: %s\n", broken[i]);
            fail();
        }
        /* It stays so. */
        assert_false(hfi_reader_feed(one, ":1\r\n", 4) &&
                     hfi_reader_next(one, &value) == HFI_READ_VALUE);
        hfi_reader_free(one);
    }
}

static void half_a_tree_is_freed_with_its_reader(void **state)
{
    struct hfi_value value;

    (void)state;
    feed("*3\r\n$3\r\nabc\r\n*2\r\n:1\r\n$10\r\n0123");
    assert_int_equal(hfi_reader_next(reader, &value), HFI_READ_MORE);
}

static void errors_are_told_apart_by_their_words(void **state)
{
    static const struct {
        const char *text;
        enum hfi_refusal refusal;
    } cases[] = {
        {"NOSCRIPT No matching script. Please use EVAL.",
         HFI_REFUSAL_NO_SCRIPT},
        {"LOADING Redis is loading the dataset in memory",
         HFI_REFUSAL_UNAVAILABLE},
        {"BUSY Redis is busy running a script.", HFI_REFUSAL_UNAVAILABLE},
        {"OOM command not allowed when used memory > 'maxmemory'.",
         HFI_REFUSAL_UNAVAILABLE},
        {"READONLY You can't write against a read only replica.",
         HFI_REFUSAL_UNAVAILABLE},
        {"MISCONF Redis is configured to save RDB snapshots",
         HFI_REFUSAL_UNAVAILABLE},
        {"NOREPLICAS Not enough good replicas to write.",
         HFI_REFUSAL_UNAVAILABLE},
        {"MASTERDOWN Link with MASTER is down", HFI_REFUSAL_UNAVAILABLE},
        {"CLUSTERDOWN The cluster is down", HFI_REFUSAL_UNAVAILABLE},
        {"TRYAGAIN Multiple keys request during rehashing",
         HFI_REFUSAL_UNAVAILABLE},
        {"UNKILLABLE Sorry", HFI_REFUSAL_UNAVAILABLE},
        {"ERR max number of clients reached", HFI_REFUSAL_UNAVAILABLE},
        {"WRONGTYPE Operation against a key", HFI_REFUSAL_WRONG_TYPE},
        {"NOAUTH Authentication required.", HFI_REFUSAL_PERMISSION},
        {"NOPERM this user has no permissions", HFI_REFUSAL_PERMISSION},
        {"WRONGPASS invalid username-password pair", HFI_REFUSAL_PERMISSION},
        {"DENIED Redis is running in protected mode", HFI_REFUSAL_PERMISSION},
        {"ERR invalid password", HFI_REFUSAL_PERMISSION},
        {"ERR AUTH <password> called without any password",
         HFI_REFUSAL_PERMISSION},
        {"ERR Client sent AUTH, but no password is set",
         HFI_REFUSAL_PERMISSION},
        {"ERR DB index is out of range", HFI_REFUSAL_PERMISSION},
        {"ERR Error running script (call to f_0b): @user_script:1: WRONGTYPE "
         "Operation against a key",
         HFI_REFUSAL_WRONG_TYPE},
        {"ERR Error running script (call to f_0b): @user_script:9: -OOM "
         "command not allowed",
         HFI_REFUSAL_UNAVAILABLE},
        {"ERR Error running script (call to f_0b): @user_script:1: "
         "user_script:1: attempt to index a nil value",
         HFI_REFUSAL_OTHER},
        {"ERR Error running script (call to f_0b): @user_script:4: somebody "
         "said (BUSY)",
         HFI_REFUSAL_OTHER},
        {"ERR WRONGTYPE in the middle", HFI_REFUSAL_OTHER},
        {"ERR unknown command", HFI_REFUSAL_OTHER},
        {"", HFI_REFUSAL_OTHER},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (hfi_refusal_of(cases[i].text) != cases[i].refusal) {
            print_error("%s\n", cases[i].text);
            fail();
        }
    }
}

/* Where a script was refused is of no interest unless it is at fault itself. */
static void the_digest_of_a_script_is_cut_off_what_it_was_refused_with(
    void **state)
{
    struct hfi_value value = read_one(
        "-NOPERM No permissions to access a key script: 0b0b0b, on "
        "@user_script:2.\r\n");

    (void)state;
    assert_string_equal(value.text, "NOPERM No permissions to access a key");
    assert_int_equal(value.len, strlen(value.text));
    hfi_value_clear(&value);
    value = read_one("-ERR attempt to index a nil value script: 0b0b0b, on "
                     "@user_script:2.\r\n");
    assert_non_null(strstr(value.text, "0b0b0b"));
    hfi_value_clear(&value);
}

static void a_number_may_be_an_integer_or_spelled(void **state)
{
    struct hfi_value value = {.kind = HFI_INTEGER, .integer = 5};
    static const struct {
        const char *text;
        int64_t number;
    } cases[] = {{"17", 17}, {"-3", -3}, {"", 99},
                 {"x", 99},  {"7x", 99}, {"99999999999999999999", 99}};

    (void)state;
    assert_int_equal(hfi_value_number(&value, 99), 5);
    value.kind = HFI_NIL;
    assert_int_equal(hfi_value_number(&value, 99), 99);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[64];

        snprintf(text, sizeof(text), "$%zu\r\n%s\r\n", strlen(cases[i].text),
                 cases[i].text);
        value = read_one(text);
        assert_int_equal(hfi_value_number(&value, 99), cases[i].number);
        hfi_value_clear(&value);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
#define TEST(function)                                                         \
    cmocka_unit_test_setup_teardown(function, setup, teardown)
        TEST(plain_values_are_read),
        TEST(texts_are_bytes_with_a_length),
        TEST(arrays_are_trees),
        TEST(a_reply_may_come_byte_by_byte),
        TEST(many_replies_may_come_at_once),
        TEST(a_broken_reply_breaks_the_reader),
        TEST(half_a_tree_is_freed_with_its_reader),
        TEST(errors_are_told_apart_by_their_words),
        TEST(the_digest_of_a_script_is_cut_off_what_it_was_refused_with),
        TEST(a_number_may_be_an_integer_or_spelled),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
