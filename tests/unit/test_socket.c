/* SPDX-License-Identifier: MIT */
/* test_socket.c - sockets and wake-up: nothing blocks, nothing raises SIGPIPE,
 * and every way to fail has its status.
 *
 * SIGPIPE keeps its default action here, which would end the program.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "net/socket.h"
#include "net/wake.h"
#include "support/scratch.h"

#define SOON_MS 5000

static bool is_ready(int fd, short events, int bound_ms)
{
    struct pollfd one = {.fd = fd, .events = events};

    return poll(&one, 1, bound_ms) == 1;
}

/* A listening socket on 127.0.0.1, and its address. */
static int listen_tcp(struct hfi_address *ret_address)
{
    struct sockaddr_in name = {.sin_family = AF_INET,
                               .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(name);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&name, len), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&name, &len), 0);
    memset(ret_address, 0, sizeof(*ret_address));
    memcpy(&ret_address->addr, &name, sizeof(name));
    ret_address->len = sizeof(name);
    (void)snprintf(ret_address->text, sizeof(ret_address->text), "test");
    return fd;
}

static int listen_unix(const char *path, int backlog)
{
    struct hfi_address address;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(hfi_address_unix(path, &address, NULL), HF_OK);
    assert_int_equal(
        bind(fd, (const struct sockaddr *)&address.addr, address.len), 0);
    assert_int_equal(listen(fd, backlog), 0);
    return fd;
}

/* A connection over TCP, both ends. */
static void connect_pair(int *ret_ours, int *ret_theirs)
{
    struct hfi_address address;
    int listener = listen_tcp(&address);

    assert_int_equal(hfi_socket_start(&address, ret_ours, NULL), HF_OK);
    *ret_theirs = accept(listener, NULL, NULL);
    assert_true(*ret_theirs >= 0);
    assert_true(is_ready(*ret_ours, POLLOUT, SOON_MS));
    assert_int_equal(hfi_socket_error(*ret_ours), 0);
    close(listener);
}

static int tcp_option(int fd, int level, int name)
{
    int value = -1;
    socklen_t len = sizeof(value);

    assert_int_equal(getsockopt(fd, level, name, &value, &len), 0);
    return value;
}

static void a_socket_is_made_for_a_client_of_redis(void **state)
{
    int ours;
    int theirs;

    (void)state;
    connect_pair(&ours, &theirs);
    assert_true((fcntl(ours, F_GETFL) & O_NONBLOCK) != 0);
    assert_true((fcntl(ours, F_GETFD) & FD_CLOEXEC) != 0);
    assert_true(tcp_option(ours, IPPROTO_TCP, TCP_NODELAY) != 0);
    assert_true(tcp_option(ours, SOL_SOCKET, SO_KEEPALIVE) != 0);
    assert_true(tcp_option(ours, IPPROTO_TCP, TCP_KEEPIDLE) <= 60);
    close(ours);
    close(theirs);
}

static void bytes_pass_both_ways_and_nothing_is_zero(void **state)
{
    char buf[8];
    int ours;
    int theirs;

    (void)state;
    connect_pair(&ours, &theirs);
    assert_int_equal(hfi_socket_read(ours, buf, sizeof(buf)), 0);
    assert_int_equal(hfi_socket_write(ours, "abc", 3), 3);
    assert_int_equal(read(theirs, buf, sizeof(buf)), 3);
    assert_memory_equal(buf, "abc", 3);
    assert_int_equal(write(theirs, "xy", 2), 2);
    assert_true(is_ready(ours, POLLIN, SOON_MS));
    assert_int_equal(hfi_socket_read(ours, buf, sizeof(buf)), 2);
    assert_memory_equal(buf, "xy", 2);
    close(ours);
    close(theirs);
}

static void a_full_socket_takes_nothing_more_until_it_is_read(void **state)
{
    static char bytes[65536];
    size_t written = 0;
    ssize_t done;
    int ours;
    int theirs;

    (void)state;
    connect_pair(&ours, &theirs);
    do {
        done = hfi_socket_write(ours, bytes, sizeof(bytes));
        assert_true(done >= 0);
        written += (size_t)done;
    } while (done > 0);
    assert_true(written > 0);
    while (written > 0) {
        done = read(theirs, bytes, sizeof(bytes));
        assert_true(done > 0);
        written -= (size_t)done;
    }
    assert_true(is_ready(ours, POLLOUT, SOON_MS));
    assert_true(hfi_socket_write(ours, bytes, 1) == 1);
    close(ours);
    close(theirs);
}

static void a_closed_connection_is_an_error_and_no_signal(void **state)
{
    char buf[8];
    ssize_t done;
    int ours;
    int theirs;

    (void)state;
    connect_pair(&ours, &theirs);
    close(theirs);
    assert_true(is_ready(ours, POLLIN, SOON_MS));
    errno = 0;
    assert_int_equal(hfi_socket_read(ours, buf, sizeof(buf)), -1);
    assert_int_equal(errno, ECONNRESET);
    /* The first write is answered with a reset, a later one fails. */
    for (int i = 0; i < 100; i++) {
        done = hfi_socket_write(ours, "x", 1);
        if (done < 0) {
            break;
        }
        (void)is_ready(ours, POLLERR, 10);
    }
    assert_int_equal(done, -1);
    assert_true(errno == EPIPE || errno == ECONNRESET);
    close(ours);
}

static void nobody_listening_is_unreachable(void **state)
{
    struct hfi_address address;
    hf_error error = {.status = HF_OK};
    hf_status status;
    int fd = 7;

    (void)state;
    close(listen_tcp(&address)); /* a port that nobody has any more */
    status = hfi_socket_start(&address, &fd, &error);
    if (status == HF_OK) {
        assert_true(is_ready(fd, POLLOUT, SOON_MS));
        assert_int_equal(hfi_socket_error(fd), ECONNREFUSED);
        close(fd);
    } else {
        assert_int_equal(status, HF_UNREACHABLE);
        assert_int_equal(error.sys_errno, ECONNREFUSED);
        assert_string_equal(error.node, "test");
        assert_int_equal(fd, -1);
    }
}

static void a_unix_socket_connects_or_says_why_not(void **state)
{
    char *folder = hft_scratch_new();
    char path[100];
    struct hfi_address address;
    hf_error error;
    int listener;
    int fd;

    (void)state;
    (void)snprintf(path, sizeof(path), "%s/s", folder);
    assert_int_equal(hfi_address_unix(path, &address, &error), HF_OK);
    assert_string_equal(address.text, path);
    assert_int_equal(hfi_socket_start(&address, &fd, &error), HF_UNREACHABLE);
    assert_int_equal(error.sys_errno, ENOENT);
    assert_string_equal(error.node, path);
    assert_non_null(strstr(error.message, "No such file"));

    listener = listen_unix(path, 1);
    assert_int_equal(hfi_socket_start(&address, &fd, &error), HF_OK);
    assert_true(is_ready(fd, POLLOUT, SOON_MS));
    assert_int_equal(hfi_socket_error(fd), 0);
    close(fd);
    close(listener);
    assert_int_equal(hfi_socket_start(&address, &fd, &error), HF_UNREACHABLE);
    assert_int_equal(error.sys_errno, ECONNREFUSED);
    assert_int_equal(fd, -1);
    hft_scratch_delete(folder);
}

static void a_crowd_before_a_unix_socket_is_not_waited_for(void **state)
{
    char *folder = hft_scratch_new();
    char path[100];
    struct hfi_address address;
    hf_error error;
    hf_status status = HF_OK;
    int fds[8];
    int count = 0;
    int listener;

    (void)state;
    (void)snprintf(path, sizeof(path), "%s/s", folder);
    assert_int_equal(hfi_address_unix(path, &address, &error), HF_OK);
    listener = listen_unix(path, 1);
    while (count < 8 && status == HF_OK) {
        status = hfi_socket_start(&address, &fds[count], &error);
        count += status == HF_OK ? 1 : 0;
    }
    assert_int_equal(status, HF_UNREACHABLE);
    assert_int_equal(error.sys_errno, EAGAIN);
    while (count > 0) {
        close(fds[--count]);
    }
    close(listener);
    hft_scratch_delete(folder);
}

static void a_path_that_does_not_fit_is_a_bad_url(void **state)
{
    char path[200];
    struct hfi_address address;
    struct sockaddr_un name;
    hf_error error;

    (void)state;
    assert_int_equal(hfi_address_unix("", &address, &error), HF_BAD_URL);
    memset(path, 'a', sizeof(path));
    path[0] = '/';
    path[sizeof(name.sun_path)] = '\0';
    assert_int_equal(hfi_address_unix(path, &address, &error), HF_BAD_URL);
    assert_non_null(strstr(error.message, "108 bytes"));
    path[sizeof(name.sun_path) - 1] = '\0';
    assert_int_equal(hfi_address_unix(path, &address, &error), HF_OK);
    memcpy(&name, &address.addr, sizeof(name));
    assert_string_equal(name.sun_path, path);
    /* For people it is cut. */
    assert_string_equal(address.text + sizeof(address.text) - 4, "...");
}

/* Bad days: no descriptor is left. */
static void no_descriptor_left_is_a_status_of_its_own(void **state)
{
    struct hfi_address address;
    struct hfi_wake wake;
    struct rlimit before;
    struct rlimit none;
    hf_error error;
    hf_status socket_status;
    hf_status wake_status;
    int fd;

    (void)state;
    assert_int_equal(hfi_address_unix("/nowhere", &address, NULL), HF_OK);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    socket_status = hfi_socket_start(&address, &fd, &error);
    wake_status = hfi_wake_open(&wake, NULL);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(socket_status, HF_SYSTEM);
    assert_int_equal(error.sys_errno, EMFILE);
    assert_int_equal(fd, -1);
    assert_int_equal(wake_status, HF_SYSTEM);
    assert_int_equal(wake.fd, -1);
    hfi_wake_fire(&wake);
    hfi_wake_drain(&wake);
    hfi_wake_close(&wake);
}

static void a_wake_stays_readable_until_it_is_drained(void **state)
{
    struct hfi_wake wake;

    (void)state;
    assert_int_equal(hfi_wake_open(&wake, NULL), HF_OK);
    assert_false(is_ready(wake.fd, POLLIN, 0));
    hfi_wake_drain(&wake); /* of an unfired one does not block */
    errno = EDOM;
    hfi_wake_fire(&wake);
    hfi_wake_fire(&wake);
    assert_int_equal(errno, EDOM);
    assert_true(is_ready(wake.fd, POLLIN, 0));
    hfi_wake_drain(&wake);
    assert_false(is_ready(wake.fd, POLLIN, 0));
    hfi_wake_fire(&wake);
    assert_true(is_ready(wake.fd, POLLIN, 0));
    hfi_wake_close(&wake);
    assert_int_equal(wake.fd, -1);
    hfi_wake_close(&wake);
}

static struct hfi_wake fired_by_signal = HFI_WAKE_CLOSED;

static void fire_it(int number)
{
    (void)number;
    hfi_wake_fire(&fired_by_signal);
}

static void a_signal_handler_may_fire_a_wake(void **state)
{
    struct sigaction fire = {.sa_handler = fire_it};
    struct sigaction before;

    (void)state;
    assert_int_equal(hfi_wake_open(&fired_by_signal, NULL), HF_OK);
    assert_int_equal(sigaction(SIGUSR1, &fire, &before), 0);
    assert_int_equal(raise(SIGUSR1), 0);
    assert_true(is_ready(fired_by_signal.fd, POLLIN, 0));
    assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);
    hfi_wake_close(&fired_by_signal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_socket_is_made_for_a_client_of_redis),
        cmocka_unit_test(bytes_pass_both_ways_and_nothing_is_zero),
        cmocka_unit_test(a_full_socket_takes_nothing_more_until_it_is_read),
        cmocka_unit_test(a_closed_connection_is_an_error_and_no_signal),
        cmocka_unit_test(nobody_listening_is_unreachable),
        cmocka_unit_test(a_unix_socket_connects_or_says_why_not),
        cmocka_unit_test(a_crowd_before_a_unix_socket_is_not_waited_for),
        cmocka_unit_test(a_path_that_does_not_fit_is_a_bad_url),
        cmocka_unit_test(no_descriptor_left_is_a_status_of_its_own),
        cmocka_unit_test(a_wake_stays_readable_until_it_is_drained),
        cmocka_unit_test(a_signal_handler_may_fire_a_wake),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
