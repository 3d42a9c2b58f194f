/* SPDX-License-Identifier: MIT */
/* test_notify.c - `hold` tells a service manager when it holds, as systemd's
 * Type=notify wants it: one datagram, on a path or in the abstract namespace.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "support/child.h"
#include "support/server.h"

#define BOUND_MS 10000

static struct hft_server *server;

/* A datagram socket under a name as NOTIFY_SOCKET has it. */
static int listen_on(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_true(strlen(name) < sizeof(address.sun_path));
    memcpy(address.sun_path, name, strlen(name));
    if (name[0] == '@') {
        address.sun_path[0] = '\0';
    }
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
                                 strlen(name));
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, size), 0);
    return fd;
}

static void assert_told(int fd, const char *expected)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    char got[64] = "";

    assert_int_equal(poll(&ready, 1, BOUND_MS), 1);
    ssize_t length = recv(fd, got, sizeof(got) - 1, 0);
    assert_int_equal(length, strlen(expected));
    assert_string_equal(got, expected);
}

static bool tells_nothing(int fd)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};

    return poll(&ready, 1, 0) == 0;
}

static struct hft_child *start_hold(const char *socket_name)
{
    char url[512];
    char notify[512];

    snprintf(url, sizeof(url), "HOLDFAST_URL=%s", hft_server_unix_url(server));
    snprintf(notify, sizeof(notify), "NOTIFY_SOCKET=%s", socket_name);
    const char *const argv[] = {getenv("HOLDFAST_BIN"), "hold", "n", NULL};
    const char *const env[] = {url, notify, NULL};
    const struct hft_child_options options = {.argv = argv, .env = env};
    return hft_child_start(&options);
}

static void check_socket(const char *name)
{
    int fd = listen_on(name);
    struct hft_child *first = start_hold(name);

    assert_told(fd, "READY=1");
    assert_true(hft_child_wait_out(first, "held n ", BOUND_MS));
    /* One that waits is not ready. */
    struct hft_child *second = start_hold(name);
    hft_child_signal(second, SIGTERM);
    assert_true(hft_child_finish(second, BOUND_MS) != HFT_STILL_RUNS);
    assert_true(tells_nothing(fd));
    hft_child_signal(first, SIGTERM);
    assert_told(fd, "STOPPING=1");
    assert_int_equal(hft_child_finish(first, BOUND_MS), 0);
    hft_child_free(second);
    hft_child_free(first);
    close(fd);
}

static void hold_says_when_it_is_ready(void **state)
{
    char path[512];

    (void)state;
    snprintf(path, sizeof(path), "%s/notify", hft_server_folder(server));
    check_socket(path);
}

static void an_abstract_socket_will_do(void **state)
{
    char name[64];

    (void)state;
    snprintf(name, sizeof(name), "@holdfast-test-%ld", (long)getpid());
    check_socket(name);
}

static void nobody_who_listens_is_no_failure(void **state)
{
    (void)state;
    struct hft_child *hold = start_hold("/nonexistent/notify");
    assert_true(hft_child_wait_out(hold, "held n ", BOUND_MS));
    hft_child_signal(hold, SIGTERM);
    assert_int_equal(hft_child_finish(hold, BOUND_MS), 0);
    hft_child_free(hold);
}

static int set_up(void **state)
{
    (void)state;
    server = hft_server_start(NULL);
    return getenv("HOLDFAST_BIN") == NULL ? -1 : 0;
}

static int tear_down(void **state)
{
    (void)state;
    hft_server_free(server);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hold_says_when_it_is_ready),
        cmocka_unit_test(an_abstract_socket_will_do),
        cmocka_unit_test(nobody_who_listens_is_no_failure),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
