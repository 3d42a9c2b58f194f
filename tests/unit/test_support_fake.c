/* SPDX-License-Identifier: MIT */
/* test_support_fake.c - the fake server says what it is told to say.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <hiredis/hiredis.h>

#include "support/fake_server.h"
#include "support/wait.h"

#define SOON_MS 5000
#define NEVER_MS 50

static struct hft_fake *fake;

static int start_one(void **state)
{
    (void)state;
    fake = hft_fake_start();
    return 0;
}

static int stop_one(void **state)
{
    (void)state;
    hft_fake_stop(fake);
    return 0;
}

static redisContext *connect_client(void)
{
    struct timeval bound = {.tv_sec = SOON_MS / 1000};
    redisContext *client;

    client = redisConnectWithTimeout("127.0.0.1", hft_fake_port(fake), bound);
    assert_non_null(client);
    assert_int_equal(client->err, 0);
    redisSetTimeout(client, bound);
    return client;
}

/* Ask, and compare the type and the text of the reply. */
static void expect(redisContext *client, const char *command, int type,
                   const char *text)
{
    redisReply *reply = redisCommand(client, command);

    assert_non_null(reply);
    assert_int_equal(reply->type, type);
    if (text != NULL) {
        assert_string_equal(reply->str, text);
    }
    freeReplyObject(reply);
}

static void expect_no_answer(redisContext *client, const char *command)
{
    struct timeval bound = {.tv_usec = NEVER_MS * 1000};

    redisSetTimeout(client, bound);
    assert_null(redisCommand(client, command));
    assert_int_equal(client->err, REDIS_ERR_IO);
}

static void a_handshake_is_answered_as_by_a_real_server(void **state)
{
    redisContext *client = connect_client();
    redisReply *reply;

    (void)state;
    expect(client, "AUTH user word", REDIS_REPLY_STATUS, "OK");
    expect(client, "SELECT 3", REDIS_REPLY_STATUS, "OK");
    expect(client, "CLIENT SETNAME me", REDIS_REPLY_STATUS, "OK");
    expect(client, "CLIENT ID", REDIS_REPLY_INTEGER, NULL);
    expect(client, "PING", REDIS_REPLY_STATUS, "PONG");
    expect(client, "ECHO word", REDIS_REPLY_STRING, "word");
    expect(client, "SCRIPT LOAD text", REDIS_REPLY_STRING, NULL);
    expect(client, "GET k", REDIS_REPLY_ERROR, "ERR unknown command");
    reply = redisCommand(client, "TIME");
    assert_non_null(reply);
    assert_int_equal(reply->elements, 2);
    assert_true(strtoll(reply->element[0]->str, NULL, 10) > 1000000000);
    freeReplyObject(reply);
    reply = redisCommand(client, "SUBSCRIBE a b");
    assert_non_null(reply);
    assert_string_equal(reply->element[0]->str, "subscribe");
    assert_string_equal(reply->element[1]->str, "a");
    assert_int_equal(reply->element[2]->integer, 1);
    freeReplyObject(reply);
    redisFree(client);
}

static void the_answer_added_last_is_given_as_often_as_told(void **state)
{
    struct hft_answer always = {.command = "GET", .text = ":1\r\n"};
    struct hft_answer second = {.command = "get",
                                .text = "-LOADING the data\r\n",
                                .nth = 2,
                                .times = 1};
    redisContext *client = connect_client();

    (void)state;
    hft_fake_answer(fake, &always);
    hft_fake_answer(fake, &second);
    expect(client, "GET k", REDIS_REPLY_INTEGER, NULL);
    expect(client, "GET k", REDIS_REPLY_ERROR, "LOADING the data");
    expect(client, "GET k", REDIS_REPLY_INTEGER, NULL);
    assert_int_equal(hft_fake_requests(fake, "GET"), 3);
    assert_true(hft_fake_wait_requests(fake, NULL, 3, 0));
    assert_false(hft_fake_wait_requests(fake, NULL, 4, NEVER_MS));
    redisFree(client);
}

static void two_words_name_a_subcommand(void **state)
{
    struct hft_answer odd = {.command = "SCRIPT LOAD", .text = "*0\r\n"};
    redisContext *client = connect_client();

    (void)state;
    hft_fake_answer(fake, &odd);
    expect(client, "SCRIPT LOAD x", REDIS_REPLY_ARRAY, NULL);
    expect(client, "SCRIPT FLUSH", REDIS_REPLY_ERROR, NULL);
    redisFree(client);
}

static void half_a_reply_is_followed_by_nothing(void **state)
{
    struct hft_answer half = {
        .command = "GET", .text = "$10\r\nhalf", .manner = HFT_THEN_HUSH};
    redisContext *client = connect_client();

    (void)state;
    hft_fake_answer(fake, &half);
    expect_no_answer(client, "GET k");
    redisFree(client);
}

static void an_answer_without_text_is_silence(void **state)
{
    struct hft_answer silence = {.command = "GET"};
    redisContext *client = connect_client();

    (void)state;
    hft_fake_answer(fake, &silence);
    expect_no_answer(client, "GET k");
    redisFree(client);
}

static void a_connection_is_closed_behind_the_answer(void **state)
{
    struct hft_answer last = {
        .command = "GET", .text = "+bye\r\n", .manner = HFT_THEN_CLOSE};
    redisContext *client = connect_client();

    (void)state;
    hft_fake_answer(fake, &last);
    expect(client, "GET k", REDIS_REPLY_STATUS, "bye");
    assert_null(redisCommand(client, "GET k"));
    assert_int_equal(client->err, REDIS_ERR_EOF);
    redisFree(client);
}

static void garbage_comes_before_the_first_word(void **state)
{
    struct hft_answer garbage = {
        .command = HFT_ON_CONNECT, .text = "HTTP\0x", .length = 6};
    redisContext *client;

    (void)state;
    hft_fake_answer(fake, &garbage);
    client = connect_client();
    assert_null(redisCommand(client, "PING"));
    assert_int_equal(client->err, REDIS_ERR_PROTOCOL);
    redisFree(client);
}

static void bytes_are_said_unasked(void **state)
{
    static const char message[] = "*3\r\n$7\r\nmessage\r\n$1\r\na\r\n:1\r\n";
    redisContext *client = connect_client();
    void *reply = NULL;

    (void)state;
    expect(client, "PING", REDIS_REPLY_STATUS, "PONG");
    assert_int_equal(hft_fake_open_links(fake), 1);
    hft_fake_say(fake, message, sizeof(message) - 1);
    assert_int_equal(redisGetReply(client, &reply), REDIS_OK);
    freeReplyObject(reply);
    redisFree(client);
    assert_int_equal(hft_fake_links(fake), 1);
}

#define FAKE_TEST(name)                                                        \
    cmocka_unit_test_setup_teardown(name, start_one, stop_one)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FAKE_TEST(a_handshake_is_answered_as_by_a_real_server),
        FAKE_TEST(the_answer_added_last_is_given_as_often_as_told),
        FAKE_TEST(two_words_name_a_subcommand),
        FAKE_TEST(half_a_reply_is_followed_by_nothing),
        FAKE_TEST(an_answer_without_text_is_silence),
        FAKE_TEST(a_connection_is_closed_behind_the_answer),
        FAKE_TEST(garbage_comes_before_the_first_word),
        FAKE_TEST(bytes_are_said_unasked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
