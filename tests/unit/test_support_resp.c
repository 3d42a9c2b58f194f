/* SPDX-License-Identifier: MIT */
/* test_support_resp.c - the proxy's scanner finds where messages end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/resp_scan.h"

static void scanner_finds_the_end_of_any_message_at_any_split(void **state)
{
    static const char *const messages[] = {
        "+OK\r\n",
        "-ERR no\r\n",
        ":-12\r\n",
        "$-1\r\n",
        "$0\r\n\r\n",
        "$7\r\na\r\n*9\r\n\r\n",
        "*-1\r\n",
        "*0\r\n",
        "*2\r\n$3\r\nfoo\r\n*2\r\n:1\r\n*1\r\n$-1\r\n",
        "PING now\r\n",
    };
    size_t i;
    size_t part;

    (void)state;
    for (i = 0; i < sizeof(messages) / sizeof(messages[0]); i++) {
        size_t length = strlen(messages[i]);

        for (part = 0; part < length; part++) {
            assert_int_equal(hft_resp_length(messages[i], part), 0);
        }
        assert_int_equal(hft_resp_length(messages[i], length), length);
    }
    assert_int_equal(hft_resp_length("*1\r\nfoo\r\n", 9), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scanner_finds_the_end_of_any_message_at_any_split),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
