/* SPDX-License-Identifier: MIT */
/* test_support_child.c - children and crews do what the other tests expect.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/child.h"
#include "support/crew.h"
#include "support/scratch.h"
#include "support/seed.h"
#include "support/wait.h"

#define SOON_MS 5000
#define NEVER_MS 50

static struct hft_child *shell(const char *script)
{
    return hft_child_start_words("sh", "-c", script, NULL);
}

static void output_and_status_of_a_child_are_kept_apart(void **state)
{
    struct hft_child *child = shell("echo one; echo two >&2; exit 3");

    (void)state;
    assert_int_equal(hft_child_finish(child, SOON_MS), 3);
    assert_int_equal(hft_child_finish(child, 0), 3);
    assert_string_equal(hft_child_out(child), "one\n");
    assert_string_equal(hft_child_err(child), "two\n");
    assert_false(hft_child_runs(child));
    hft_child_free(child);
}

static void much_output_does_not_block_a_child(void **state)
{
    struct hft_child *child = shell("head -c 300000 /dev/zero | tr '\\0' x");

    (void)state;
    assert_int_equal(hft_child_finish(child, SOON_MS), 0);
    assert_int_equal(strlen(hft_child_out(child)), 300000);
    hft_child_free(child);
}

static void a_child_is_seen_running_stopped_and_killed(void **state)
{
    struct hft_child *child = shell("echo up; while :; do sleep 60; done");

    (void)state;
    assert_true(hft_child_wait_out(child, "up", SOON_MS));
    assert_int_equal(hft_child_finish(child, NEVER_MS), HFT_STILL_RUNS);
    assert_true(hft_child_runs(child));
    hft_child_signal(child, SIGSTOP);
    assert_true(hft_child_wait_stopped(child, SOON_MS));
    hft_child_signal(child, SIGCONT);
    assert_false(hft_child_wait_stopped(child, NEVER_MS));
    hft_child_signal_group(child, SIGTERM);
    assert_int_equal(hft_child_finish(child, SOON_MS), HFT_BY_SIGNAL + SIGTERM);
    hft_child_free(child);
}

/* Gone, or a zombie that waits for whoever inherited it. */
static bool is_gone(void *context)
{
    const pid_t *pid = context;
    char path[64];
    char state = 'Z';
    FILE *stat;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)*pid);
    stat = fopen(path, "re");
    if (stat != NULL) {
        (void)!fscanf(stat, "%*d %*s %c", &state);
        fclose(stat);
    }
    return state == 'Z';
}

static void freeing_a_child_ends_its_whole_group(void **state)
{
    struct hft_child *child = shell("sleep 60 & echo $! end; exit 0");
    pid_t grandchild;

    (void)state;
    assert_true(hft_child_wait_out(child, "end", SOON_MS));
    assert_int_equal(hft_child_finish(child, SOON_MS), 0);
    grandchild = (pid_t)strtol(hft_child_out(child), NULL, 10);
    assert_false(is_gone(&grandchild));
    hft_child_free(child);
    assert_true(hft_wait_until(is_gone, &grandchild, SOON_MS));
}

static void a_child_gets_environment_folder_and_input(void **state)
{
    static const char *const argv[] = {
        "sh", "-c", "echo $HFT_A,$HOME; pwd; read x; echo got $x; read y",
        NULL};
    static const char *const env[] = {"HFT_A=1", "HOME=/nowhere", NULL};
    char *folder = hft_scratch_new();
    struct hft_child_options options = {
        .argv = argv, .env = env, .folder = folder, .stdio = HFT_STDIO_PIPE};
    struct hft_child *child = hft_child_start(&options);

    (void)state;
    hft_child_type(child, "word\n");
    assert_true(hft_child_wait_out(child, "got word", SOON_MS));
    hft_child_close_input(child);
    assert_int_equal(hft_child_finish(child, SOON_MS), 1);
    assert_non_null(strstr(hft_child_out(child), "1,/nowhere\n"));
    assert_non_null(strstr(hft_child_out(child), folder));
    hft_child_free(child);
    hft_scratch_delete(folder);
}

static void a_child_on_a_terminal_is_interrupted_from_it(void **state)
{
    static const char *const argv[] = {
        "sh", "-c",
        "trap 'echo int; exit 5' INT; "
        "test -t 0 && test -t 1 && test -t 2 && echo tty; "
        "while :; do sleep 0.01; done",
        NULL};
    struct hft_child_options options = {.argv = argv,
                                        .stdio = HFT_STDIO_TERMINAL};
    struct hft_child *child = hft_child_start(&options);

    (void)state;
    assert_true(hft_child_wait_out(child, "tty", SOON_MS));
    hft_child_type(child, "\003");
    assert_int_equal(hft_child_finish(child, SOON_MS), 5);
    assert_non_null(strstr(hft_child_out(child), "int"));
    hft_child_free(child);
}

static void a_program_that_is_not_there_ends_with_127(void **state)
{
    struct hft_child *child = hft_child_start_words("/no/such/program", NULL);

    (void)state;
    assert_int_equal(hft_child_finish(child, SOON_MS), 127);
    hft_child_free(child);
}

static void count_up(struct hft_member *me)
{
    me->result = (int64_t)me->index * 10;
    HFT_CHECK(me, me->index != 3);
}

static void a_crew_reports_results_and_the_first_fault(void **state)
{
    struct hft_crew *crew = hft_crew_start(5, count_up, NULL);
    const char *note = hft_crew_join(crew, SOON_MS);

    (void)state;
    assert_non_null(note);
    assert_non_null(strstr(note, "thread 3: not me->index != 3"));
    assert_int_equal(hft_crew_result(crew, 4), 40);
    hft_crew_free(crew);
}

static void work_until_stopped(struct hft_member *me)
{
    while (me->index > 0 && !hft_member_should_stop(me)) {
        hft_let_pass_ms(1);
    }
}

static void a_crew_works_until_it_is_stopped(void **state)
{
    struct hft_crew *crew = hft_crew_start(3, work_until_stopped, NULL);

    (void)state;
    assert_true(hft_crew_wait_ended(crew, 1, SOON_MS));
    assert_false(hft_crew_wait_ended(crew, 2, NEVER_MS));
    hft_crew_stop(crew);
    assert_null(hft_crew_join(crew, SOON_MS));
    hft_crew_free(crew);
}

static void a_seed_gives_the_same_numbers_again(void **state)
{
    char program[] = "test";
    char option[] = "--seed";
    char value[] = "42";
    char *argv[] = {program, option, value, NULL};
    struct hft_random one = {hft_seed(3, argv)};
    struct hft_random other = {42};
    uint64_t seen = 0;
    int i;

    (void)state;
    for (i = 0; i < 200; i++) {
        uint64_t drawn = hft_random_below(&one, 7);

        assert_int_equal(drawn, hft_random_below(&other, 7));
        assert_true(drawn < 7);
        seen |= UINT64_C(1) << drawn;
    }
    assert_int_equal(seen, 0x7f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(output_and_status_of_a_child_are_kept_apart),
        cmocka_unit_test(much_output_does_not_block_a_child),
        cmocka_unit_test(a_child_is_seen_running_stopped_and_killed),
        cmocka_unit_test(freeing_a_child_ends_its_whole_group),
        cmocka_unit_test(a_child_gets_environment_folder_and_input),
        cmocka_unit_test(a_child_on_a_terminal_is_interrupted_from_it),
        cmocka_unit_test(a_program_that_is_not_there_ends_with_127),
        cmocka_unit_test(a_crew_reports_results_and_the_first_fault),
        cmocka_unit_test(a_crew_works_until_it_is_stopped),
        cmocka_unit_test(a_seed_gives_the_same_numbers_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
