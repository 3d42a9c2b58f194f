/* SPDX-License-Identifier: MIT */
/* test_ids.c - identities, jitter and the clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/ids.h"
#include "support/wait.h"

static void a_uuid_has_the_form_of_version_4(void **state)
{
    (void)state;
    for (int round = 0; round < 100; round++) {
        char uuid[HFI_UUID_SIZE];

        assert_true(hfi_uuid_make(uuid));
        assert_int_equal(strlen(uuid), 36);
        for (size_t i = 0; i < 36; i++) {
            if (i == 8 || i == 13 || i == 18 || i == 23) {
                assert_int_equal(uuid[i], '-');
            } else {
                assert_non_null(strchr("0123456789abcdef", uuid[i]));
            }
        }
        assert_int_equal(uuid[14], '4');
        assert_non_null(strchr("89ab", uuid[19]));
    }
}

/* No pool of random bytes is kept that a fork would copy. */
static void parent_and_child_of_a_fork_make_different_uuids(void **state)
{
    char ours[HFI_UUID_SIZE];
    char childs[HFI_UUID_SIZE] = "";
    int ends[2];
    int outcome = 0;
    pid_t child;

    (void)state;
    assert_int_equal(pipe(ends), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        bool made = hfi_uuid_make(childs);

        _exit(made && write(ends[1], childs, sizeof(childs)) ==
                          (ssize_t)sizeof(childs)
                  ? 0
                  : 1);
    }
    assert_true(hfi_uuid_make(ours));
    assert_int_equal(waitpid(child, &outcome, 0), child);
    assert_int_equal(outcome, 0);
    assert_int_equal(read(ends[0], childs, sizeof(childs)), sizeof(childs));
    assert_string_not_equal(ours, childs);
    close(ends[0]);
    close(ends[1]);
}

static void jitter_follows_splitmix64(void **state)
{
    uint64_t random = 1234567;

    (void)state;
    /* The published test vector of splitmix64. */
    assert_true(hfi_random_next(&random) == UINT64_C(6457827717110365317));
    assert_true(hfi_random_next(&random) == UINT64_C(3203168211198807973));
    assert_true(hfi_random_next(&random) == UINT64_C(9817491932198370423));
    assert_true(hfi_seed_make() != hfi_seed_make());
}

static void the_clock_goes_forward_at_the_right_pace(void **state)
{
    int64_t start_ms = hfi_clock_ms();
    int64_t start_us = hfi_clock_us();
    int64_t other_ms = hft_now_ms();
    int64_t passed_ms;
    int64_t passed_us;

    (void)state;
    hft_let_pass_ms(30);
    passed_us = hfi_clock_us() - start_us;
    passed_ms = hfi_clock_ms() - start_ms;
    other_ms = hft_now_ms() - other_ms;
    assert_true(passed_ms >= 29 && passed_ms <= other_ms + 1);
    assert_true(passed_us >= 30000 && passed_us <= (other_ms + 1) * 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_uuid_has_the_form_of_version_4),
        cmocka_unit_test(parent_and_child_of_a_fork_make_different_uuids),
        cmocka_unit_test(jitter_follows_splitmix64),
        cmocka_unit_test(the_clock_goes_forward_at_the_right_pace),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
