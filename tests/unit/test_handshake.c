/* SPDX-License-Identifier: MIT */
/* test_handshake.c - the first words on a connection, and what is made of their
 * answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "redis/handshake.h"
#include "redis/reply.h"

struct talk {
    struct hfi_handshake handshake;
    struct hfi_command scratch;
    struct hfi_buffer out;
    hf_error error;
};

static void begin(struct talk *talk, char *user, int database,
                  const char *password)
{
    struct hfi_url url;

    memset(talk, 0, sizeof(*talk));
    memset(&url, 0, sizeof(url));
    url.user = user;
    url.database = database;
    assert_true(hfi_handshake_begin(&talk->handshake, &url, password, "me",
                                    &talk->scratch, &talk->out));
    assert_false(hfi_handshake_done(&talk->handshake));
}

static hf_status answer(struct talk *talk, const char *text)
{
    struct hfi_reader *reader = hfi_reader_new();
    struct hfi_value value;
    hf_status status;

    assert_non_null(reader);
    assert_true(hfi_reader_feed(reader, text, strlen(text)));
    assert_int_equal(hfi_reader_next(reader, &value), HFI_READ_VALUE);
    status = hfi_handshake_answer(&talk->handshake, &value, &talk->error);
    hfi_value_clear(&value);
    hfi_reader_free(reader);
    return status;
}

static void end(struct talk *talk)
{
    hfi_command_free(&talk->scratch);
    hfi_buffer_free(&talk->out);
}

static void assert_said(const struct talk *talk, const char *text)
{
    assert_int_equal(talk->out.len, strlen(text));
    assert_memory_equal(talk->out.bytes, text, strlen(text));
}

#define SETNAME "*3\r\n$6\r\nCLIENT\r\n$7\r\nSETNAME\r\n$2\r\nme\r\n"
#define TIME "*1\r\n$4\r\nTIME\r\n"
#define TIME_ANSWER "*2\r\n$10\r\n1700000000\r\n$6\r\n123999\r\n"

static void without_a_password_or_database_it_says_name_and_time(void **state)
{
    struct talk talk;

    (void)state;
    begin(&talk, NULL, 0, NULL);
    assert_said(&talk, SETNAME TIME);
    assert_int_equal(answer(&talk, "+OK\r\n"), HF_OK);
    assert_false(hfi_handshake_done(&talk.handshake));
    assert_int_equal(answer(&talk, TIME_ANSWER), HF_OK);
    assert_true(hfi_handshake_done(&talk.handshake));
    assert_int_equal(talk.handshake.server_ms, INT64_C(1700000000123));
    end(&talk);
}

static void user_password_and_database_come_first(void **state)
{
    struct talk talk;
    char user[] = "joe", nobody[] = "";

    (void)state;
    begin(&talk, user, 7, "pw");
    assert_said(&talk, "*3\r\n$4\r\nAUTH\r\n$3\r\njoe\r\n$2\r\npw\r\n"
                       "*2\r\n$6\r\nSELECT\r\n$1\r\n7\r\n" SETNAME TIME);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(answer(&talk, "+OK\r\n"), HF_OK);
    }
    assert_int_equal(answer(&talk, TIME_ANSWER), HF_OK);
    assert_true(hfi_handshake_done(&talk.handshake));
    end(&talk);
    begin(&talk, nobody, 0, "pw");
    assert_said(&talk, "*2\r\n$4\r\nAUTH\r\n$2\r\npw\r\n" SETNAME TIME);
    end(&talk);
    begin(&talk, NULL, 0, "pw");
    assert_said(&talk, "*2\r\n$4\r\nAUTH\r\n$2\r\npw\r\n" SETNAME TIME);
    end(&talk);
}

/* The password is in no memory of ours after it was formatted. */
static void the_password_is_wiped_from_the_scratch(void **state)
{
    struct talk talk;

    (void)state;
    begin(&talk, NULL, 0, "sesame-sesame");
    for (size_t i = 0; i + 6 <= talk.scratch.text.capacity; i++) {
        assert_true(memcmp(talk.scratch.text.bytes + i, "sesame", 6) != 0);
    }
    end(&talk);
}

static void each_refusal_has_its_status(void **state)
{
    static const struct {
        const char *text;
        const char *says;
        int steps; /* answered well before */
        hf_status status;
    } cases[] = {
        {"-WRONGPASS no\r\n", "the user or password", 0, HF_PERMISSION},
        {"-ERR whatever\r\n", "the user or password", 0, HF_PERMISSION},
        {"-LOADING wait\r\n", "for now", 0, HF_UNAVAILABLE},
        {"-ERR DB index is out of range\r\n", "the database", 1, HF_PERMISSION},
        {"-NOAUTH first\r\n", "a password", 1, HF_PERMISSION},
        {"-ERR SELECT is not allowed in cluster mode\r\n", "the database", 1,
         HF_PERMISSION},
        {"-NOPERM no name for you\r\n", NULL, 2, HF_OK},
        {"-ERR unknown subcommand\r\n", NULL, 2, HF_OK},
        {"-NOAUTH Authentication required.\r\n", "a password", 2,
         HF_PERMISSION},
        {"-LOADING wait\r\n", "for now", 2, HF_UNAVAILABLE},
        {"-NOPERM no time for you\r\n", "TIME", 3, HF_PERMISSION},
        {"-ERR unknown command\r\n", "TIME", 3, HF_PROTOCOL},
        {"-LOADING wait\r\n", "for now", 3, HF_UNAVAILABLE},
        {"+OK\r\n", "TIME", 3, HF_PROTOCOL},
        {"*1\r\n:1\r\n", "TIME", 3, HF_PROTOCOL},
        {"*2\r\n$19\r\n9223372036854775807\r\n:1\r\n", "TIME", 3, HF_PROTOCOL},
        {"*2\r\n:-5\r\n:1\r\n", "TIME", 3, HF_PROTOCOL},
        {"*2\r\n$1\r\nx\r\n:1\r\n", "TIME", 3, HF_PROTOCOL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct talk talk;

        begin(&talk, NULL, 3, "pw");
        for (int step = 0; step < cases[i].steps; step++) {
            assert_int_equal(answer(&talk, "+OK\r\n"), HF_OK);
        }
        if (answer(&talk, cases[i].text) != cases[i].status) {
            print_error("%s\n", cases[i].text);
            fail();
        }
        if (cases[i].says != NULL) {
            assert_int_equal(talk.error.status, cases[i].status);
            assert_non_null(strstr(talk.error.message, cases[i].says));
        }
        end(&talk);
    }
}

static void without_room_nothing_begins(void **state)
{
    struct talk talk;
    struct hfi_url url;
    /* Room for so much, and the next command finds none. */
    static const size_t rooms[] = {0, 20, 30, 60, 90, 110};

    (void)state;
    memset(&url, 0, sizeof(url));
    url.database = 3;
    for (size_t i = 0; i < sizeof(rooms) / sizeof(rooms[0]); i++) {
        memset(&talk, 0, sizeof(talk));
        assert_true(hfi_buffer_reserve(&talk.out, HFI_BUFFER_MAX));
        talk.out.len = HFI_BUFFER_MAX - rooms[i];
        assert_int_equal(hfi_handshake_begin(&talk.handshake, &url, "pw", "me",
                                             &talk.scratch, &talk.out),
                         rooms[i] > 104);
        end(&talk);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_password_or_database_it_says_name_and_time),
        cmocka_unit_test(user_password_and_database_come_first),
        cmocka_unit_test(the_password_is_wiped_from_the_scratch),
        cmocka_unit_test(each_refusal_has_its_status),
        cmocka_unit_test(without_room_nothing_begins),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
