/* SPDX-License-Identifier: MIT */
/* test_local_server.c - the private server behind local:NAME: started once
 * however many ask, outliving them all, never replaced while it lives.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <hiredis/hiredis.h>

#include "holdfast/server.h"
#include "net/local_server.h"
#include "net/socket.h"
#include "private.h"
#include "support/fatal.h"
#include "support/scratch.h"
#include "support/wait.h"

#define AT_ONCE 20 /* processes that ask at the same moment */

static hf_server_info start(void)
{
    hf_server_info info = HF_SERVER_INFO_INIT;
    hf_error error;

    if (hf_server_start(PRIVATE_NAME, &info, &error) != HF_OK) {
        fail_msg("%s", error.message);
    }
    return info;
}

static void a_server_starts_answers_and_stops(void **state)
{
    char expected[300];
    hf_server_info info;

    (void)state;
    info = private_look();
    assert_int_equal(info.running, 0);
    assert_int_equal(info.pid, 0);
    (void)snprintf(expected, sizeof(expected),
                   "%s/holdfast/" PRIVATE_NAME ".sock", private_folder);
    assert_string_equal(info.socket, expected);

    info = start();
    assert_int_equal(info.running, 1);
    assert_string_equal(info.socket, expected);
    assert_int_equal(kill((pid_t)info.pid, 0), 0);
    assert_true(private_look().pid == info.pid);
    assert_true(start().pid == info.pid);
    assert_int_equal(private_servers(), 1);

    assert_int_equal(hf_server_stop(PRIVATE_NAME, NULL), HF_OK);
    assert_true(private_is_gone(&info.pid));
    assert_int_equal(private_look().running, 0);
    assert_int_equal(hf_server_stop(PRIVATE_NAME, NULL), HF_OK);
}

static void assert_config(redisContext *redis, const char *name,
                          const char *expected)
{
    redisReply *reply = redisCommand(redis, "CONFIG GET %s", name);

    assert_non_null(reply);
    assert_int_equal(reply->elements, 2);
    assert_string_equal(reply->element[1]->str, expected);
    freeReplyObject(reply);
}

static void it_keeps_nothing_evicts_nothing_and_is_on_no_network(void **state)
{
    hf_server_info info = start();
    redisContext *redis = redisConnectUnix(info.socket);

    (void)state;
    assert_non_null(redis);
    assert_int_equal(redis->err, 0);
    assert_config(redis, "port", "0");
    assert_config(redis, "save", "");
    assert_config(redis, "appendonly", "no");
    assert_config(redis, "maxmemory-policy", "noeviction");
    assert_config(redis, "unixsocketperm", "700");
    redisFree(redis);
}

/* In a child: wait for the signal to go, start, tell the pid. */
static void ask_as_a_child(int go, int results)
{
    hf_server_info info = HF_SERVER_INFO_INIT;
    char byte;

    if (read(go, &byte, 1) < 0) { /* ends when all ends are closed */
        _exit(2);
    }
    if (hf_server_start(PRIVATE_NAME, &info, NULL) != HF_OK) {
        _exit(3);
    }
    if (write(results, &info.pid, sizeof(info.pid)) != sizeof(info.pid)) {
        _exit(4);
    }
    _exit(0);
}

static void twenty_processes_at_once_start_one_server(void **state)
{
    pid_t children[AT_ONCE];
    int64_t first = 0;
    int results[2];
    int go[2];

    (void)state;
    assert_int_equal(pipe(go), 0);
    assert_int_equal(pipe(results), 0);
    for (size_t i = 0; i < AT_ONCE; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) {
            close(go[1]);
            ask_as_a_child(go[0], results[1]);
        }
    }
    close(go[0]);
    close(go[1]);
    for (size_t i = 0; i < AT_ONCE; i++) {
        int outcome = -1;
        int64_t pid = 0;

        assert_int_equal(waitpid(children[i], &outcome, 0), children[i]);
        assert_int_equal(outcome, 0);
        assert_int_equal(read(results[0], &pid, sizeof(pid)), sizeof(pid));
        first = first == 0 ? pid : first;
        assert_true(pid == first);
    }
    assert_int_equal(private_servers(), 1);
    assert_true(private_look().pid == first);
    close(results[0]);
    close(results[1]);
}

/* In a child with no signal let through, in a session with descriptors that
 * nobody thought of closing. */
static void start_and_end(void)
{
    sigset_t all;

    (void)setsid();
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
    (void)signal(SIGUSR2, SIG_IGN);
    _exit(hf_server_start(PRIVATE_NAME, NULL, NULL) == HF_OK ? 0 : 1);
}

static void assert_points_to(int64_t pid, int fd, const char *expected)
{
    char link[64];
    char target[256] = "";

    (void)snprintf(link, sizeof(link), "/proc/%lld/fd/%d", (long long)pid, fd);
    assert_true(readlink(link, target, sizeof(target) - 1) > 0);
    assert_string_equal(target, expected);
}

static void it_outlives_its_starter_and_keeps_nothing_of_him(void **state)
{
    hf_server_info info;
    struct pollfd end;
    int outcome = -1;
    int ends[2];
    pid_t child;

    (void)state;
    assert_int_equal(pipe(ends), 0); /* not closed on exec */
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        start_and_end();
    }
    assert_int_equal(waitpid(child, &outcome, 0), child);
    assert_int_equal(outcome, 0);
    close(ends[1]);
    /* With the starter the last writer has gone. */
    end = (struct pollfd){.fd = ends[0], .events = POLLIN};
    assert_int_equal(poll(&end, 1, PRIVATE_BOUND_MS), 1);
    close(ends[0]);

    info = private_look();
    assert_int_equal(info.running, 1);
    assert_true(getsid((pid_t)info.pid) == (pid_t)info.pid);
    for (int fd = 0; fd <= 2; fd++) {
        assert_points_to(info.pid, fd, "/dev/null");
    }
    /* His blocked and ignored signals are not its own: it ends by this one, for
     * which the server has no handler. */
    assert_int_equal(kill((pid_t)info.pid, SIGUSR2), 0);
    assert_true(hft_wait_until(private_is_gone, &info.pid, PRIVATE_BOUND_MS));
}

static void a_program_that_ignores_its_children_can_start_it(void **state)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct sigaction before;

    (void)state;
    assert_int_equal(sigaction(SIGCHLD, &ignore, &before), 0);
    assert_int_equal(start().running, 1);
    assert_int_equal(sigaction(SIGCHLD, &before, NULL), 0);
}

static void starting_leaves_no_child_behind(void **state)
{
    (void)state;
    (void)start();
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static void a_dead_servers_socket_is_replaced(void **state)
{
    hf_server_info dead = start();
    hf_server_info next;

    (void)state;
    assert_int_equal(kill((pid_t)dead.pid, SIGKILL), 0);
    assert_true(hft_wait_until(private_is_gone, &dead.pid, PRIVATE_BOUND_MS));
    assert_int_equal(access(dead.socket, F_OK), 0);
    assert_int_equal(private_look().running, 0);
    next = start();
    assert_true(next.pid != dead.pid);
    assert_int_equal(private_servers(), 1);
}

/* Locks are held on it: a second one beside it would give them away again. */
static void a_server_that_is_stopped_is_not_replaced(void **state)
{
    hf_server_info info = start();
    hf_server_info seen;
    hf_error error = {.status = HF_OK};

    (void)state;
    assert_int_equal(kill((pid_t)info.pid, SIGSTOP), 0);
    seen = private_look();
    assert_int_equal(seen.running, 0);
    assert_true(seen.pid == info.pid);
    assert_int_equal(hf_server_start(PRIVATE_NAME, &seen, &error),
                     HF_UNREACHABLE);
    assert_non_null(strstr(error.message, "does not answer"));
    assert_int_equal(private_servers(), 1);
    assert_int_equal(kill((pid_t)info.pid, SIGCONT), 0);
    assert_true(start().pid == info.pid);
}

/* In a child: let one client in and refuse what he says. */
static void refuse_one(int listener)
{
    char words[64];
    int fd = accept(listener, NULL, NULL);

    if (fd < 0 || read(fd, words, sizeof(words)) <= 0 ||
        write(fd, "-NOPERM not you\r\n", 17) < 0) {
        _exit(1);
    }
    /* Until the client has gone: the end of the connection means another
     * thing. */
    _exit(read(fd, words, sizeof(words)) < 0);
}

static void a_server_that_refuses_to_stop_is_quoted(void **state)
{
    struct hfi_address address;
    hf_error error = {.status = HF_OK};
    int outcome = -1;
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    pid_t child;

    (void)state;
    assert_true(listener >= 0);
    assert_int_equal(hfi_address_unix(private_look().socket, &address, NULL),
                     HF_OK);
    assert_int_equal(
        bind(listener, (const struct sockaddr *)&address.addr, address.len), 0);
    assert_int_equal(listen(listener, 1), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        refuse_one(listener);
    }
    close(listener);
    assert_int_equal(hf_server_stop(PRIVATE_NAME, &error), HF_UNREACHABLE);
    assert_non_null(strstr(error.message, "-NOPERM not you"));
    assert_int_equal(waitpid(child, &outcome, 0), child);
    assert_int_equal(outcome, 0);
}

static void its_socket_is_known_before_it_runs(void **state)
{
    char socket_path[HFI_LOCAL_SOCKET_SIZE];
    char small[4];

    (void)state;
    assert_int_equal(hfi_local_server_socket(PRIVATE_NAME, socket_path,
                                             sizeof(socket_path), NULL),
                     HF_OK);
    assert_string_equal(socket_path, start().socket);
    assert_int_equal(
        hfi_local_server_socket(PRIVATE_NAME, small, sizeof(small), NULL),
        HF_INTERNAL);
}

static void without_a_server_program_it_says_what_to_install(void **state)
{
    hf_server_info info = HF_SERVER_INFO_INIT;
    hf_error error = {.status = HF_OK};

    (void)state;
    assert_int_equal(setenv("PATH", private_folder, 1), 0);
    assert_int_equal(hf_server_start(PRIVATE_NAME, &info, &error),
                     HF_UNREACHABLE);
    assert_non_null(strstr(error.message, "apt install redis-server"));
    assert_int_equal(info.running, 0);
}

static void a_server_program_that_fails_is_quoted(void **state)
{
    hf_error error = {.status = HF_OK};

    (void)state;
    private_write_file(
        "redis-server",
        "#!/bin/sh\necho first >&2\necho no luck today >&2\nexit 1\n", 0700);
    assert_int_equal(setenv("PATH", private_folder, 1), 0);
    assert_int_equal(hf_server_start(PRIVATE_NAME, NULL, &error),
                     HF_UNREACHABLE);
    assert_non_null(strstr(error.message, "did not start: no luck today"));
}

/* The place of a program in PATH, returned. */
static char *find_program(const char *name)
{
    char *folders = hft_copy_text(private_path);
    char *rest = folders;
    char *one;
    char *found = NULL;

    while (found == NULL && (one = strsep(&rest, ":")) != NULL) {
        found = hft_format("%s/%s", one, name);
        if (access(found, X_OK) != 0) {
            free(found);
            found = NULL;
        }
    }
    free(folders);
    return found;
}

static void valkey_server_serves_where_there_is_no_redis_server(void **state)
{
    char *program = find_program("redis-server");
    char *name = hft_format("%s/valkey-server", private_folder);

    (void)state;
    assert_non_null(program);
    assert_int_equal(symlink(program, name), 0);
    assert_int_equal(setenv("PATH", private_folder, 1), 0);
    assert_int_equal(start().running, 1);
    free(name);
    free(program);
}

static void a_bad_name_is_refused(void **state)
{
    static const char *const names[] = {
        NULL,
        "",
        "a b",
        "a/b",
        "..\n",
        "caf\xc3\xa9",
        "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffggggg"};

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        hf_server_info info = HF_SERVER_INFO_INIT;
        hf_error error = {.status = HF_OK};

        assert_int_equal(hf_server_start(names[i], &info, &error), HF_BAD_NAME);
        assert_int_equal(error.status, HF_BAD_NAME);
        assert_int_equal(hf_server_stop(names[i], NULL), HF_BAD_NAME);
        assert_int_equal(hf_server_status(names[i], &info, NULL), HF_BAD_NAME);
    }
}

static void a_path_too_long_for_a_socket_is_refused(void **state)
{
    static const char fifty[] =
        "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeee";
    char *deep = hft_format("%s/%s%s", private_folder, fifty, fifty);
    hf_error error = {.status = HF_OK};

    (void)state;
    assert_int_equal(mkdir(deep, 0700), 0);
    assert_int_equal(setenv("XDG_RUNTIME_DIR", deep, 1), 0);
    assert_int_equal(hf_server_start(PRIVATE_NAME, NULL, &error), HF_BAD_NAME);
    assert_non_null(strstr(error.message, "bytes; this system allows 107"));
    free(deep);
}

static void a_struct_without_its_size_is_refused(void **state)
{
    hf_server_info info;

    (void)state;
    memset(&info, 0, sizeof(info));
    assert_int_equal(hf_server_start(PRIVATE_NAME, &info, NULL), HF_INVALID);
    assert_int_equal(hf_server_status(PRIVATE_NAME, &info, NULL), HF_INVALID);
    assert_int_equal(hf_server_status(PRIVATE_NAME, NULL, NULL), HF_INVALID);
    assert_int_equal(private_servers(), 0);
}

/* Bad days: no descriptor is left.  That is not "nobody listens". */
static void no_descriptor_left_is_a_status_of_its_own(void **state)
{
    hf_server_info before = start();
    struct rlimit limit;
    struct rlimit none;
    hf_error error = {.status = HF_OK};
    hf_status status;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = limit;
    none.rlim_cur = 3;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    status = hf_server_start(PRIVATE_NAME, NULL, &error);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(status, HF_SYSTEM);
    assert_int_equal(error.sys_errno, EMFILE);
    assert_true(private_look().pid == before.pid);
}

#define EACH(test)                                                             \
    cmocka_unit_test_setup_teardown(test, private_up, private_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(a_server_starts_answers_and_stops),
        EACH(it_keeps_nothing_evicts_nothing_and_is_on_no_network),
        EACH(twenty_processes_at_once_start_one_server),
        EACH(it_outlives_its_starter_and_keeps_nothing_of_him),
        EACH(a_program_that_ignores_its_children_can_start_it),
        EACH(starting_leaves_no_child_behind),
        EACH(a_dead_servers_socket_is_replaced),
        EACH(a_server_that_is_stopped_is_not_replaced),
        EACH(a_server_that_refuses_to_stop_is_quoted),
        EACH(its_socket_is_known_before_it_runs),
        EACH(without_a_server_program_it_says_what_to_install),
        EACH(a_server_program_that_fails_is_quoted),
        EACH(valkey_server_serves_where_there_is_no_redis_server),
        EACH(a_bad_name_is_refused),
        EACH(a_path_too_long_for_a_socket_is_refused),
        EACH(a_struct_without_its_size_is_refused),
        EACH(no_descriptor_left_is_a_status_of_its_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
