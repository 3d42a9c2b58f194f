/* SPDX-License-Identifier: MIT */
/* test_memory_redis.c - commands, replies, channels and the handshake when
 * memory is short.  Each scenario is played with every allocation failing in
 * turn: it says so, and what was there before is as it was. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "alloc_faults.h"
#include "redis/channels.h"
#include "redis/handshake.h"
#include "redis/reply.h"

/* Play it until no allocation is left to fail; the last time all is well. */
static void play_all(bool (*play)(void), unsigned least)
{
    unsigned n = 0;

    for (;;) {
        bool well, failed;

        alloc_faults_begin(n);
        well = play();
        failed = alloc_faults_end();
        assert_int_equal(well, !failed);
        if (!failed) {
            break;
        }
        n++;
    }
    assert_true(n >= least);
}

static bool write_command(void)
{
    struct hfi_command command = {.count = 0};
    struct hfi_buffer out = {NULL, 0, 0};
    bool well;

    hfi_command_begin(&command);
    for (int64_t i = 0; i < 40; i++) {
        hfi_command_add_piece(&command, "sw", 2);
        hfi_command_add_text(&command, "ord");
        hfi_command_add_number(&command, i);
    }
    well = hfi_command_end(&command, &out);
    if (!well) {
        assert_int_equal(out.len, 0);
    }
    hfi_command_free(&command);
    hfi_buffer_free(&out);
    return well;
}

static void a_command_is_written_whole_or_not_at_all(void **state)
{
    (void)state;
    play_all(write_command, 4);
}

static bool read_replies(void)
{
    static const char text[] = "*4\r\n$3\r\nabc\r\n*2\r\n:1\r\n$-1\r\n*0\r\n"
                               "-ERR no\r\n:7\r\n$-1\r\n*1\r\n+x\r\n+OK\r\n";
    struct hfi_reader *reader = hfi_reader_new();
    struct hfi_value value;
    bool well = reader != NULL &&
                hfi_reader_feed(reader, text, sizeof(text) - 1);

    for (int i = 0; well && i < 5; i++) {
        well = hfi_reader_next(reader, &value) == HFI_READ_VALUE;
        if (well) {
            hfi_value_clear(&value);
        }
    }
    hfi_reader_free(reader);
    return well;
}

static void a_reply_is_read_whole_or_breaks_the_reader(void **state)
{
    (void)state;
    play_all(read_replies, 12);
}

static void nobody(void *user, void *context)
{
    (void)user;
    (void)context;
}

static char user;

static bool subscribe(void)
{
    struct hfi_channels *channels = hfi_channels_new();
    struct hfi_command scratch = {.count = 0};
    struct hfi_buffer out = {NULL, 0, 0};
    bool well = channels != NULL;

    for (int i = 0; well && i < 200; i++) {
        char name[16];
        size_t before = hfi_channels_wanted(channels);
        int len = snprintf(name, sizeof(name), "channel%d", i);

        well = hfi_channels_want(channels, name, (size_t)len, &user, &scratch,
                                 i % 7 == 0 ? NULL : &out);
        assert_int_equal(hfi_channels_wanted(channels), before + well);
    }
    well = well && hfi_channels_ping(channels, &scratch, &out);
    if (well) {
        hfi_channels_link_down(channels, nobody, NULL);
        well = hfi_channels_link_up(channels, &scratch, &out);
    }
    hfi_channels_free(channels);
    hfi_command_free(&scratch);
    hfi_buffer_free(&out);
    return well;
}

static void a_channel_is_wanted_or_nothing_changed(void **state)
{
    (void)state;
    play_all(subscribe, 500);
}

static bool greet(void)
{
    struct hfi_handshake handshake;
    struct hfi_command scratch = {.count = 0};
    struct hfi_buffer out = {NULL, 0, 0};
    struct hfi_url url;
    bool well;

    memset(&url, 0, sizeof(url));
    url.database = 1;
    well = hfi_handshake_begin(&handshake, &url, "pw", "me", &scratch, &out);
    hfi_command_free(&scratch);
    hfi_buffer_free(&out);
    return well;
}

static void a_greeting_is_said_whole_or_not_at_all(void **state)
{
    (void)state;
    play_all(greet, 2);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_command_is_written_whole_or_not_at_all),
        cmocka_unit_test(a_reply_is_read_whole_or_breaks_the_reader),
        cmocka_unit_test(a_channel_is_wanted_or_nothing_changed),
        cmocka_unit_test(a_greeting_is_said_whole_or_not_at_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
