/* SPDX-License-Identifier: MIT */
/* test_runtime_dir.c - the folder of the private servers: this user's alone, and
 * the same for all of his processes.  The tests that need several users run as
 * root only.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "holdfast/server.h"
#include "private.h"
#include "support/fatal.h"
#include "support/scratch.h"
#include "support/wait.h"

static void assert_refused(const char *says)
{
    char *used = hft_format("%s/holdfast", private_folder);
    hf_server_info info = HF_SERVER_INFO_INIT;
    hf_error error = {.status = HF_OK};

    assert_int_equal(hf_server_start(PRIVATE_NAME, &info, &error),
                     HF_PERMISSION);
    assert_non_null(strstr(error.message, used));
    assert_non_null(strstr(error.message, says));
    assert_int_equal(hf_server_status(PRIVATE_NAME, &info, NULL),
                     HF_PERMISSION);
    assert_int_equal(hf_server_stop(PRIVATE_NAME, NULL), HF_PERMISSION);
    assert_int_equal(private_servers(), 0);
    free(used);
}

static void a_folder_that_is_not_ours_alone_is_refused(void **state)
{
    static const mode_t modes[] = {0755, 0770, 0701, 01777};
    char *used = hft_format("%s/holdfast", private_folder);
    char *other = hft_format("%s/other", private_folder);

    (void)state;
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        assert_int_equal(mkdir(used, 0700), 0);
        assert_int_equal(chmod(used, modes[i]), 0);
        assert_refused("open to other users");
        assert_int_equal(rmdir(used), 0);
    }
    assert_int_equal(mkdir(other, 0700), 0);
    assert_int_equal(symlink(other, used), 0);
    assert_refused("is not a folder");
    assert_int_equal(unlink(used), 0);
    private_write_file("holdfast", "", 0600);
    assert_refused("is not a folder");
    assert_int_equal(unlink(used), 0);
    if (geteuid() == 0) {
        assert_int_equal(mkdir(used, 0700), 0);
        assert_int_equal(chown(used, 12345, 12345), 0);
        assert_refused("belongs to another user");
    }
    free(other);
    free(used);
}

static void it_makes_the_folder_for_us_alone(void **state)
{
    char *used = hft_format("%s/holdfast", private_folder);
    struct stat info;

    (void)state;
    (void)private_look();
    assert_int_equal(stat(used, &info), 0);
    assert_true(S_ISDIR(info.st_mode));
    assert_int_equal(info.st_mode & 07777, 0700);
    free(used);
}

/* A user that nobody else is, and what he may own. */
struct stranger {
    uid_t uid;
    char login[64]; /* /run/user/UID */
    char tmp[64];   /* /tmp/holdfast-UID */
};

static struct stranger invent_stranger(void)
{
    struct stranger one = {.uid = (uid_t)(1000000 + getpid() % 1000000)};

    (void)snprintf(one.login, sizeof(one.login), "/run/user/%u", one.uid);
    (void)snprintf(one.tmp, sizeof(one.tmp), "/tmp/holdfast-%u", one.uid);
    return one;
}

/* Do something as the stranger, who has no XDG_RUNTIME_DIR unless given one;
 * returns the status and where the server is. */
static hf_status as_stranger(const struct stranger *one, const char *given,
                             bool starts, hf_server_info *ret_info)
{
    hf_server_info info = HF_SERVER_INFO_INIT;
    hf_status status;
    int outcome = -1;
    int ends[2];
    pid_t child;

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (setgid(one->uid) != 0 || setuid(one->uid) != 0 ||
            (given != NULL ? setenv("XDG_RUNTIME_DIR", given, 1)
                           : unsetenv("XDG_RUNTIME_DIR")) != 0) {
            _exit(1);
        }
        status = starts ? hf_server_start(PRIVATE_NAME, &info, NULL)
                        : hf_server_status(PRIVATE_NAME, &info, NULL);
        _exit(write(ends[1], &status, sizeof(status)) < 0 ||
              write(ends[1], &info, sizeof(info)) < 0);
    }
    close(ends[1]);
    assert_int_equal(waitpid(child, &outcome, 0), child);
    assert_int_equal(outcome, 0);
    assert_int_equal(read(ends[0], &status, sizeof(status)), sizeof(status));
    assert_int_equal(read(ends[0], ret_info, sizeof(info)), sizeof(info));
    close(ends[0]);
    return status;
}

static void assert_is_in(const hf_server_info *info, const char *expected)
{
    assert_int_equal(strncmp(info->socket, expected, strlen(expected)), 0);
}

static void log_in(const struct stranger *one)
{
    (void)mkdir("/run/user", 0755);
    assert_int_equal(mkdir(one->login, 0700), 0);
    assert_int_equal(chown(one->login, one->uid, one->uid), 0);
}

static void end_stranger(const struct stranger *one, int64_t pid)
{
    if (pid > 0) {
        assert_int_equal(kill((pid_t)pid, SIGKILL), 0);
        assert_true(hft_wait_until(private_is_gone, &pid, PRIVATE_BOUND_MS));
    }
    hft_scratch_delete_inner(one->login);
    hft_scratch_delete_inner(one->tmp);
}

static void the_folder_is_that_of_the_login_or_in_tmp(void **state)
{
    struct stranger one = invent_stranger();
    hf_server_info info;

    (void)state;
    if (geteuid() != 0) {
        skip();
    }
    assert_int_equal(as_stranger(&one, NULL, false, &info), HF_OK);
    assert_is_in(&info, one.tmp);
    /* Somebody else's, as `sudo` may leave it in the environment. */
    assert_int_equal(as_stranger(&one, private_folder, false, &info), HF_OK);
    assert_is_in(&info, one.tmp);
    log_in(&one);
    assert_int_equal(as_stranger(&one, NULL, false, &info), HF_OK);
    assert_is_in(&info, one.login);
    assert_int_equal(as_stranger(&one, one.login, false, &info), HF_OK);
    assert_is_in(&info, one.login);
    end_stranger(&one, 0);
}

/* Else a cron job and the user who logs in meanwhile would both hold it. */
static void a_server_of_before_the_login_is_found_after_it(void **state)
{
    struct stranger one = invent_stranger();
    hf_server_info before;
    hf_server_info after;

    (void)state;
    if (geteuid() != 0) {
        skip();
    }
    assert_int_equal(as_stranger(&one, NULL, true, &before), HF_OK);
    assert_is_in(&before, one.tmp);
    log_in(&one);
    assert_int_equal(as_stranger(&one, one.login, true, &after), HF_OK);
    assert_true(after.pid == before.pid);
    assert_string_equal(after.socket, before.socket);
    end_stranger(&one, before.pid);
}

#define EACH(test)                                                             \
    cmocka_unit_test_setup_teardown(test, private_up, private_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(a_folder_that_is_not_ours_alone_is_refused),
        EACH(it_makes_the_folder_for_us_alone),
        EACH(the_folder_is_that_of_the_login_or_in_tmp),
        EACH(a_server_of_before_the_login_is_found_after_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
