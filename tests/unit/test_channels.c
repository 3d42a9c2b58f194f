/* SPDX-License-Identifier: MIT */
/* test_channels.c - what is subscribed to, and whose an answer is.
 *
 * Subscription answers are counted per channel, so that an old one never
 * vouches for a new wait (DESIGN 5, T13, T48).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "redis/channels.h"
#include "redis/reply.h"
#include "support/fatal.h"

struct line {
    struct hfi_channels *channels;
    struct hfi_command scratch;
    struct hfi_buffer out;
    struct hfi_reader *reader;
    void *user; /* of the newest event */
};

static int setup(void **state)
{
    struct line *line = hft_alloc(sizeof(*line));

    line->channels = hfi_channels_new();
    line->reader = hfi_reader_new();
    *state = line;
    return line->channels == NULL || line->reader == NULL ? -1 : 0;
}

static int teardown(void **state)
{
    struct line *line = *state;

    hfi_channels_free(line->channels);
    hfi_channels_free(NULL);
    hfi_command_free(&line->scratch);
    hfi_buffer_free(&line->out);
    hfi_reader_free(line->reader);
    free(line);
    return 0;
}

static char users[64];

static bool want(struct line *line, const char *channel, int user)
{
    return hfi_channels_want(line->channels, channel, strlen(channel),
                             &users[user], &line->scratch, &line->out);
}

static void drop(struct line *line, const char *channel)
{
    hfi_channels_drop(line->channels, channel, strlen(channel), &line->scratch,
                      &line->out);
}

static enum hfi_channel_event reply(struct line *line, const char *text)
{
    struct hfi_value value;
    enum hfi_channel_event event;

    assert_true(hfi_reader_feed(line->reader, text, strlen(text)));
    assert_int_equal(hfi_reader_next(line->reader, &value), HFI_READ_VALUE);
    event = hfi_channels_reply(line->channels, &value, &line->user);
    hfi_value_clear(&value);
    return event;
}

#define SUBSCRIBED(name) "*3\r\n$9\r\nsubscribe\r\n$1\r\n" name "\r\n:1\r\n"
#define UNSUBSCRIBED(name)                                                     \
    "*3\r\n$11\r\nunsubscribe\r\n$1\r\n" name "\r\n:0\r\n"
#define MESSAGE(name) "*3\r\n$7\r\nmessage\r\n$1\r\n" name "\r\n$1\r\n0\r\n"
#define PONG "*2\r\n$4\r\npong\r\n$0\r\n\r\n"

/* What was written, and not looked at yet. */
static void assert_written(struct line *line, const char *text)
{
    assert_int_equal(line->out.len, strlen(text));
    assert_memory_equal(line->out.bytes, text, strlen(text));
    hfi_buffer_clear(&line->out);
}

static void a_wanted_channel_is_heard_when_it_is_answered(void **state)
{
    struct line *line = *state;

    assert_true(want(line, "a", 1));
    assert_written(line, "*2\r\n$9\r\nSUBSCRIBE\r\n$1\r\na\r\n");
    assert_int_equal(hfi_channels_owed(line->channels), 1);
    assert_int_equal(hfi_channels_wanted(line->channels), 1);
    assert_int_equal(reply(line, SUBSCRIBED("a")), HFI_CHANNEL_HEARD);
    assert_ptr_equal(line->user, &users[1]);
    assert_int_equal(reply(line, MESSAGE("a")), HFI_CHANNEL_MESSAGE);
    assert_ptr_equal(line->user, &users[1]);
    drop(line, "a");
    assert_written(line, "*2\r\n$11\r\nUNSUBSCRIBE\r\n$1\r\na\r\n");
    assert_int_equal(hfi_channels_wanted(line->channels), 0);
    assert_int_equal(reply(line, MESSAGE("a")), HFI_CHANNEL_NOTHING);
    assert_int_equal(reply(line, UNSUBSCRIBED("a")), HFI_CHANNEL_NOTHING);
    assert_int_equal(hfi_channels_owed(line->channels), 0);
    drop(line, "a"); /* not wanted: nothing */
    assert_int_equal(line->out.len, 0);
}

static void an_old_answer_never_vouches_for_a_new_wait(void **state)
{
    struct line *line = *state;

    want(line, "a", 1);
    drop(line, "a");
    want(line, "a", 2);
    assert_int_equal(reply(line, SUBSCRIBED("a")), HFI_CHANNEL_NOTHING);
    assert_int_equal(reply(line, UNSUBSCRIBED("a")), HFI_CHANNEL_NOTHING);
    assert_int_equal(reply(line, SUBSCRIBED("a")), HFI_CHANNEL_HEARD);
    assert_ptr_equal(line->user, &users[2]);
}

static void answers_are_counted_for_each_channel(void **state)
{
    struct line *line = *state;

    want(line, "a", 1);
    want(line, "b", 2);
    want(line, "a", 1); /* wanted again: one channel, two answers */
    assert_int_equal(hfi_channels_wanted(line->channels), 2);
    assert_int_equal(hfi_channels_owed(line->channels), 3);
    assert_int_equal(reply(line, SUBSCRIBED("a")), HFI_CHANNEL_NOTHING);
    assert_int_equal(reply(line, SUBSCRIBED("b")), HFI_CHANNEL_HEARD);
    assert_ptr_equal(line->user, &users[2]);
    assert_int_equal(reply(line, SUBSCRIBED("a")), HFI_CHANNEL_HEARD);
    assert_ptr_equal(line->user, &users[1]);
}

static void a_refusal_is_that_of_the_oldest_command(void **state)
{
    struct line *line = *state;

    want(line, "a", 1);
    want(line, "b", 2);
    assert_int_equal(reply(line, "-NOPERM no channel for you\r\n"),
                     HFI_CHANNEL_REFUSED);
    assert_ptr_equal(line->user, &users[1]);
    assert_int_equal(reply(line, SUBSCRIBED("b")), HFI_CHANNEL_HEARD);
}

static void a_ping_is_answered_in_its_turn(void **state)
{
    struct line *line = *state;

    want(line, "a", 1);
    hfi_buffer_clear(&line->out);
    assert_true(hfi_channels_ping(line->channels, &line->scratch, &line->out));
    assert_written(line, "*1\r\n$4\r\nPING\r\n");
    assert_true(hfi_channels_ping(line->channels, &line->scratch, &line->out));
    assert_int_equal(hfi_channels_owed(line->channels), 3);
    assert_int_equal(reply(line, SUBSCRIBED("a")), HFI_CHANNEL_HEARD);
    assert_int_equal(reply(line, PONG), HFI_CHANNEL_NOTHING);
    assert_int_equal(reply(line, "+PONG\r\n"), HFI_CHANNEL_NOTHING);
    assert_int_equal(hfi_channels_owed(line->channels), 0);
}

static void what_answers_nothing_is_broken(void **state)
{
    struct line *line = *state;
    static const char *const broken[] = {
        "*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n",
        "*3\r\n$11\r\nunsubscribe\r\n$1\r\na\r\n:0\r\n",
        PONG,
        "+PONG\r\n",
        "-ERR why\r\n",
        "+OK\r\n",
        ":1\r\n",
        "*1\r\n$7\r\nmessage\r\n",
        "*2\r\n:1\r\n:2\r\n",
        "*3\r\n$8\r\npmessage\r\n$1\r\na\r\n:1\r\n"};

    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        assert_int_equal(reply(line, broken[i]), HFI_CHANNEL_BROKEN);
        assert_null(line->user);
    }
    /* A message that concerns nobody is only that. */
    assert_int_equal(reply(line, MESSAGE("z")), HFI_CHANNEL_NOTHING);
    assert_int_equal(reply(line, "*3\r\n$7\r\nmessage\r\n:1\r\n:2\r\n"),
                     HFI_CHANNEL_NOTHING);
}

/* ---- links ---- */

static void a_channel_is_dropped_once(void **state)
{
    struct line *line = *state;

    want(line, "a", 1);
    drop(line, "a");
    hfi_buffer_clear(&line->out);
    drop(line, "a"); /* of which two answers are owed */
    assert_int_equal(line->out.len, 0);
    assert_int_equal(hfi_channels_wanted(line->channels), 0);
    assert_int_equal(hfi_channels_owed(line->channels), 2);
}

/* Who has no memory to spell his channel's name says only who he is. */
static void a_user_that_is_forgotten_is_told_nothing(void **state)
{
    struct line *line = *state;

    want(line, "a", 1);
    want(line, "b", 2);
    want(line, "c", 1);
    assert_int_equal(reply(line, SUBSCRIBED("a")), HFI_CHANNEL_HEARD);
    hfi_buffer_clear(&line->out);
    hfi_channels_forget(line->channels, &users[1]);
    assert_int_equal(line->out.len, 0);
    assert_int_equal(hfi_channels_wanted(line->channels), 1);
    assert_int_equal(reply(line, MESSAGE("a")), HFI_CHANNEL_NOTHING);
    assert_int_equal(reply(line, SUBSCRIBED("b")), HFI_CHANNEL_HEARD);
    assert_ptr_equal(line->user, &users[2]);
    assert_int_equal(reply(line, SUBSCRIBED("c")), HFI_CHANNEL_NOTHING);
    assert_int_equal(reply(line, MESSAGE("b")), HFI_CHANNEL_MESSAGE);
}

static void count_users(void *user, void *context)
{
    (void)user;
    ++*(int *)context;
}

static void what_is_wanted_outlives_its_link(void **state)
{
    struct line *line = *state;
    int told = 0;

    want(line, "a", 1);
    want(line, "b", 2);
    want(line, "c", 3);
    drop(line, "c");
    assert_true(hfi_channels_ping(line->channels, &line->scratch, &line->out));
    hfi_channels_link_down(line->channels, count_users, &told);
    assert_int_equal(told, 2);
    assert_int_equal(hfi_channels_owed(line->channels), 0);
    assert_int_equal(hfi_channels_wanted(line->channels), 2);
    /* While it is down nothing is written. */
    assert_true(hfi_channels_want(line->channels, "d", 1, &users[4],
                                  &line->scratch, NULL));
    hfi_channels_drop(line->channels, "b", 1, &line->scratch, NULL);
    hfi_buffer_clear(&line->out);
    assert_true(
        hfi_channels_link_up(line->channels, &line->scratch, &line->out));
    assert_int_equal(hfi_channels_owed(line->channels), 2);
    assert_int_equal(line->out.len, 2 * strlen("*2\r\n$9\r\nSUBSCRIBE\r\n"
                                               "$1\r\na\r\n"));
    assert_int_equal(reply(line, SUBSCRIBED("a")), HFI_CHANNEL_HEARD);
    assert_int_equal(reply(line, SUBSCRIBED("d")), HFI_CHANNEL_HEARD);
}

static void thousands_of_channels_of_every_length(void **state)
{
    struct line *line = *state;
    char name[64];
    int told = 0;

    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 3000; i++) {
            snprintf(name, sizeof(name), "%d%.*s", i, i % 40,
                     "abcdefghijklmnopqrstuvwxyzabcdefghijklmnop");
            assert_true(want(line, name, i % 60 + 1));
        }
        assert_int_equal(hfi_channels_wanted(line->channels), 3000);
        for (int i = 0; i < 2900; i++) {
            int which = round == 0 ? i : 2999 - i;

            snprintf(name, sizeof(name), "%d%.*s", which, which % 40,
                     "abcdefghijklmnopqrstuvwxyzabcdefghijklmnop");
            drop(line, name);
        }
        assert_int_equal(hfi_channels_wanted(line->channels), 100);
        told = 0;
        hfi_channels_link_down(line->channels, count_users, &told);
        assert_int_equal(told, 100);
        hfi_buffer_clear(&line->out);
    }
}

static void what_cannot_be_written_changes_nothing(void **state)
{
    struct line *line = *state;

    assert_true(want(line, "b", 2));
    assert_true(hfi_buffer_reserve(&line->out, HFI_BUFFER_MAX - line->out.len));
    line->out.len = HFI_BUFFER_MAX - 3; /* as if that much were queued */
    assert_false(want(line, "a", 1));
    assert_int_equal(hfi_channels_wanted(line->channels), 1);
    assert_false(want(line, "b", 3));
    drop(line, "b"); /* it stays subscribed; nobody is told of it */
    assert_int_equal(hfi_channels_owed(line->channels), 1);
    assert_int_equal(reply(line, SUBSCRIBED("b")), HFI_CHANNEL_NOTHING);
    assert_true(hfi_channels_want(line->channels, "c", 1, &users[4],
                                  &line->scratch, NULL));
    assert_false(
        hfi_channels_link_up(line->channels, &line->scratch, &line->out));
    assert_false(hfi_channels_ping(line->channels, &line->scratch, &line->out));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
#define TEST(function)                                                         \
    cmocka_unit_test_setup_teardown(function, setup, teardown)
        TEST(a_wanted_channel_is_heard_when_it_is_answered),
        TEST(an_old_answer_never_vouches_for_a_new_wait),
        TEST(answers_are_counted_for_each_channel),
        TEST(a_refusal_is_that_of_the_oldest_command),
        TEST(a_ping_is_answered_in_its_turn),
        TEST(what_answers_nothing_is_broken),
        TEST(a_channel_is_dropped_once),
        TEST(a_user_that_is_forgotten_is_told_nothing),
        TEST(what_is_wanted_outlives_its_link),
        TEST(thousands_of_channels_of_every_length),
        TEST(what_cannot_be_written_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
