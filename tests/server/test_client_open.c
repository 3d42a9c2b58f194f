/* SPDX-License-Identifier: MIT */
/* test_client_open.c - opening a client on a good and on a bad day: each cause
 * has its own status and one clear line, nothing is leaked, nobody waits longer
 * than he said.
 *
 * Rows: issue 3 "Bad input and bad days", IS-18, PL-57, PL-61, T52.
 */
#include "world.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/fake_server.h"
#include "support/fatal.h"
#include "support/proxy.h"
#include "support/scratch.h"

#define SECRET "open-sesame"

/* Descriptors that this process has open. */
static int open_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    int count = 0;

    assert_non_null(folder);
    while (readdir(folder) != NULL) {
        count++;
    }
    assert_int_equal(closedir(folder), 0);
    return count;
}

/* Open; it has to fail with one line that does not tell the password. */
static void assert_refused(hf_status expected, const char *url,
                           const hf_options *options)
{
    hf_client *client = NULL;
    hf_error error;
    hf_status status;

    memset(&error, 0xa5, sizeof(error));
    status = hf_client_open(url, options, &client, &error);
    problem = error;
    if (status == HF_OK) {
        (void)hf_client_close(client);
        client = NULL;
    }
    assert_status(expected, status);
    assert_null(client);
    assert_int_equal(error.status, expected);
    assert_non_null(memchr(error.message, '\0', sizeof(error.message)));
    assert_true(strlen(error.message) > 0);
    assert_null(strchr(error.message, '\n'));
    assert_null(strstr(error.message, SECRET));
    assert_non_null(memchr(error.node, '\0', sizeof(error.node)));
    assert_int_equal(error.spare[0], 0);
    print_message("           %s\n", error.message);
}

/* An open that is refused leaks no descriptor; several times over. */
static void assert_refused_without_a_leak(hf_status expected, const char *url,
                                          const hf_options *options)
{
    int before = open_descriptors();
    int i;

    for (i = 0; i < 3; i++) {
        assert_refused(expected, url, options);
    }
    assert_int_equal(open_descriptors(), before);
}

static void malformed_urls_are_refused_before_anything_is_opened(void **world)
{
    static const char *const urls[] = {
        "",
        "redis",
        "redis:",
        "redis://",
        "redis:///",
        "http://127.0.0.1",
        "rediss://127.0.0.1",
        "redis://127.0.0.1:0",
        "redis://127.0.0.1:65536",
        "redis://127.0.0.1:port",
        "redis://127.0.0.1:6379/x",
        "redis://127.0.0.1:6379/-1",
        "redis://user:open-sesame@",
        "redis://user:open-sesame@127.0.0.1:99999",
        "redis://user:open-sesame%zz@127.0.0.1",
        "unix:",
        "unix:relative/path",
        "local:",
        "local:a/b",
        "127.0.0.1:6379",
    };
    size_t i;

    (void)world;
    for (i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
        assert_refused_without_a_leak(HF_BAD_URL, urls[i], NULL);
    }
}

static void options_out_of_range_are_refused(void **world)
{
    struct world *w = *world;
    const char *url = hft_server_url(w->server);
    hf_options options = short_options();

    options.lease_ms = HF_LEASE_MIN_MS - 1;
    assert_refused(HF_INVALID, url, &options);
    options.lease_ms = HF_LEASE_MAX_MS + 1;
    assert_refused(HF_INVALID, url, &options);
    options = short_options();
    options.connect_limit_ms = -1;
    assert_refused(HF_INVALID, url, &options);
    options = short_options();
    options.response_limit_ms = INT64_MIN;
    assert_refused(HF_INVALID, url, &options);
    options = short_options();
    options.retry_bound_ms = -7;
    assert_refused(HF_INVALID, url, &options);
    options = short_options();
    options.spin_us = -2;
    assert_refused(HF_INVALID, url, &options);
    options = short_options();
    options.size = 0; /* not initialised as the header says */
    assert_refused(HF_INVALID, url, &options);
}

/* A caller with a newer header: more fields are fine while they are zero. */
static void a_longer_struct_is_taken_if_its_tail_is_zero(void **world)
{
    struct world *w = *world;
    struct {
        hf_options known;
        int64_t unknown[4];
    } newer = {.known = short_options()};
    hf_client *client = NULL;

    newer.known.size = sizeof(newer);
    assert_ok(hf_client_open(hft_server_url(w->server), &newer.known, &client,
                             &problem));
    assert_ok(hf_client_close(client));
    newer.unknown[2] = 1;
    assert_refused(HF_INVALID, hft_server_url(w->server), &newer.known);
}

static void nobody_at_the_address_is_unreachable(void **world)
{
    struct hft_port port = hft_port_reserve();
    char *url = hft_format("redis://127.0.0.1:%d", port.number);
    int64_t began_ms = hft_now_ms();

    (void)world;
    assert_refused_without_a_leak(HF_UNREACHABLE, url, NULL);
    assert_true(problem.sys_errno != 0);
    free(url);
    assert_refused_without_a_leak(HF_UNREACHABLE, "unix:/nowhere/at/all.sock",
                                  NULL);
    assert_between(hft_now_ms() - began_ms, 0, 1000 + SLACK_MS);
    hft_port_give_back(&port);
}

static void an_unknown_host_is_unreachable(void **world)
{
    hf_options options = short_options();
    int64_t began_ms = hft_now_ms();

    (void)world;
    options.connect_limit_ms = 1500;
    assert_refused(HF_UNREACHABLE, "redis://nobody.invalid:6379", &options);
    assert_non_null(strstr(problem.message, "nobody.invalid"));
    assert_between(hft_now_ms() - began_ms, 0, 1500 + SLACK_MS);
}

static void a_silent_server_is_unreachable_in_time(void **world)
{
    struct world *w = *world;
    struct hft_proxy *proxy = hft_proxy_start(w->server);
    hf_options options = short_options();
    int64_t began_ms = hft_now_ms();

    hft_proxy_set_door(proxy, HFT_DOOR_SILENT);
    options.connect_limit_ms = 400;
    assert_refused(HF_UNREACHABLE, hft_proxy_url(proxy), &options);
    assert_between(hft_now_ms() - began_ms, 380, 400 + SLACK_MS);
    hft_proxy_stop(proxy);
}

static void wrong_passwords_and_users_are_permission(void **world)
{
    const char *acl[] = {"user app on >secret ~* &* +@all", NULL};
    struct hft_server_options guarded = {
        .tcp = true, .password = "right", .acl = acl};
    struct hft_server *server = hft_server_start(&guarded);
    hf_options options = short_options();
    hf_client *client = NULL;
    int port = hft_server_port(server);
    char *none = hft_format("redis://127.0.0.1:%d", port);
    char *wrong = hft_format("redis://:" SECRET "@127.0.0.1:%d", port);
    char *nobody = hft_format("redis://nobody:" SECRET "@127.0.0.1:%d", port);
    char *right = hft_format("redis://app:secret@127.0.0.1:%d", port);

    (void)world;
    assert_refused_without_a_leak(HF_PERMISSION, none, NULL);
    assert_refused_without_a_leak(HF_PERMISSION, wrong, NULL);
    assert_refused_without_a_leak(HF_PERMISSION, nobody, NULL);
    assert_ok(hf_client_open(right, NULL, &client, &problem));
    assert_null(strstr(hf_client_server(client), "secret"));
    assert_ok(hf_client_close(client));
    options.password = "right";
    assert_ok(hf_client_open(none, &options, &client, &problem));
    assert_ok(hf_client_close(client));
    options.password = SECRET; /* the option wins over the URL's */
    assert_refused(HF_PERMISSION, right, &options);
    free(none);
    free(wrong);
    free(nobody);
    free(right);
    hft_server_free(server);
}

/* Without a password there, one that is given is a mistake worth telling. */
static void a_database_that_does_not_exist_is_permission(void **world)
{
    struct world *w = *world;
    char *url = hft_format("%s?db=99", hft_server_unix_url(w->server));
    char *last = hft_format("%s?db=15", hft_server_unix_url(w->server));
    hf_client *client = NULL;

    assert_refused_without_a_leak(HF_PERMISSION, url, NULL);
    assert_ok(hf_client_open(last, NULL, &client, &problem));
    assert_ok(hf_client_close(client));
    free(url);
    free(last);
}

/* What a handshake may be answered with, and what it then is. */
static const struct {
    struct hft_answer answer;
    hf_status expected;
    const char *says;
} days[] = {
    {{.command = NULL,
      .text = "-LOADING Redis is loading the dataset in memory\r\n"},
     HF_UNAVAILABLE,
     "LOADING"},
    {{.command = NULL, .text = "-MASTERDOWN Link with MASTER is down\r\n"},
     HF_UNAVAILABLE,
     "MASTERDOWN"},
    {{.command = NULL, .text = "-NOAUTH Authentication required.\r\n"},
     HF_PERMISSION,
     "NOAUTH"},
    {{.command = NULL, .text = "-NOPERM this user has no permissions\r\n"},
     HF_PERMISSION,
     "NOPERM"},
    {{.command = NULL, .text = "HTTP/1.1 400 Bad Request\r\n\r\n"},
     HF_PROTOCOL,
     NULL},
    {{.command = HFT_ON_CONNECT,
      .text = "SSH-2.0-OpenSSH_9.2\r\n",
      .manner = HFT_THEN_HUSH},
     HF_PROTOCOL,
     NULL},
    {{.command = HFT_ON_CONNECT,
      .text = "\0\x01\x02\xff\xfe",
      .length = 5,
      .manner = HFT_THEN_HUSH},
     HF_PROTOCOL,
     NULL},
    {{.command = NULL,
      .text = "-ERR max number of clients reached\r\n",
      .manner = HFT_THEN_CLOSE},
     HF_UNAVAILABLE,
     "max number of clients"},
    {{.command = HFT_ON_CONNECT,
      .text = "-ERR max number of clients reached\r\n",
      .manner = HFT_THEN_CLOSE},
     HF_UNAVAILABLE,
     "max number of clients"},
    {{.command = HFT_ON_CONNECT, .manner = HFT_THEN_CLOSE},
     HF_UNREACHABLE,
     NULL},
    {{.command = NULL, .text = "*1000000000\r\n"}, HF_PROTOCOL, NULL},
    {{.command = NULL, .text = "$99999999999\r\n"}, HF_UNREACHABLE, NULL},
};

static void strange_answers_have_their_own_status(void **world)
{
    hf_options options = short_options();
    size_t i;

    (void)world;
    options.connect_limit_ms = 700;
    for (i = 0; i < sizeof(days) / sizeof(days[0]); i++) {
        struct hft_fake *fake = hft_fake_start();

        hft_fake_answer(fake, &days[i].answer);
        assert_refused(days[i].expected, hft_fake_url(fake), &options);
        if (days[i].says != NULL) {
            assert_non_null(strstr(problem.message, days[i].says));
        }
        hft_fake_stop(fake);
    }
}

static void a_server_on_a_unix_socket_is_as_good_as_any(void **world)
{
    struct world *w = *world;
    hf_client *client = NULL;
    hf_lock *lock = NULL;

    assert_ok(hf_client_open(hft_server_unix_url(w->server), NULL, &client,
                             &problem));
    assert_ok(hf_lock_new(client, "unix", &lock, &problem));
    assert_ok(try_once(lock, NULL));
    assert_ok(leave(lock, NULL));
    assert_ok(hf_client_close(client));
    assert_ok(hf_lock_free(lock));
}

/* Names of one host with several addresses, in a mount namespace of a child's
 * own: 0 when the client came through, 77 where that cannot be set up. */
static int open_by_the_second_address(const char *folder, int port)
{
    char *hosts = hft_format("%s/hosts", folder);
    char *url = hft_format("redis://many.test:%d", port);
    hf_options options = short_options();
    hf_client *client = NULL;
    FILE *file = fopen(hosts, "w");

    if (file == NULL ||
        fputs("127.0.0.2 many.test\n127.0.0.3 many.test\n"
              "127.0.0.1 many.test\n",
              file) < 0 ||
        fclose(file) != 0) {
        return 2;
    }
    if ((unshare(CLONE_NEWNS) != 0 &&
         unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) ||
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount(hosts, "/etc/hosts", NULL, MS_BIND, NULL) != 0) {
        return 77;
    }
    if (hf_client_open(url, &options, &client, &problem) != HF_OK) {
        print_error("%s\n", problem.message);
        return 1;
    }
    return hf_client_close(client) == HF_OK ? 0 : 3;
}

/* Issue 3: the addresses behind a name are tried in turn. */
static void several_addresses_behind_one_name_are_tried_in_turn(void **world)
{
    struct hft_server_options with_tcp = {.tcp = true};
    struct hft_server *server;
    int status = -1;
    char *folder;
    pid_t child;

    (void)world;
    if (!FORKS_CAN_START_THREADS) {
        skip();
    }
    folder = hft_scratch_new();
    server = hft_server_start(&with_tcp);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        _exit(open_by_the_second_address(folder, hft_server_port(server)));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    hft_server_free(server);
    hft_scratch_delete(folder);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) {
        skip(); /* no namespaces here */
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* Exhaustion of descriptors: its own status, nothing leaked; and a client that
 * is open goes on. */
static void without_descriptors_open_says_so_and_leaks_nothing(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_lock(w, "fd");
    struct rlimit before;
    struct rlimit none;
    hf_client *client = NULL;
    int used = open_descriptors() - 3; /* ".", ".." and the folder itself */
    int room;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    for (room = 0; room < 40; room++) {
        hf_status status;

        none = before;
        none.rlim_cur = (rlim_t)used + (rlim_t)room;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
        status = hf_client_open(hft_server_url(w->server), NULL, &client,
                                &problem);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        if (status == HF_OK) {
            break;
        }
        assert_status(HF_SYSTEM, status);
        assert_true(problem.sys_errno != 0);
        assert_int_equal(open_descriptors() - 3, used);
        assert_ok(try_once(lock, NULL));
        assert_ok(leave(lock, NULL));
    }
    assert_between(room, 1, 39);
    print_message("           a client needs %d descriptors\n", room);
    assert_ok(hf_client_close(client));
    assert_int_equal(open_descriptors() - 3, used);
}

/* DESIGN 2.3: a client has a handful of descriptors, and none survives exec. */
static void a_client_has_a_handful_of_descriptors_closed_on_exec(void **world)
{
    enum { LOOKED_AT = 1024 };
    struct world *w = *world;
    bool was_open[LOOKED_AT];
    hf_client *client;
    hf_lock *lock;
    int more = 0;
    int fd;

    for (fd = 0; fd < LOOKED_AT; fd++) {
        was_open[fd] = fcntl(fd, F_GETFD) != -1;
    }
    client = a_client(w);
    lock = a_lock_of(w, client, "handful");
    assert_ok(try_once(lock, NULL));
    assert_true(hf_client_fd(client) >= 0);
    for (fd = 0; fd < LOOKED_AT; fd++) {
        int flags = fcntl(fd, F_GETFD);

        if (!was_open[fd] && flags != -1) {
            assert_true((flags & FD_CLOEXEC) != 0);
            more++;
        }
    }
    assert_between(more, 3, 12);
    assert_ok(leave(lock, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        world_test(malformed_urls_are_refused_before_anything_is_opened),
        world_test(options_out_of_range_are_refused),
        world_test(a_longer_struct_is_taken_if_its_tail_is_zero),
        world_test(nobody_at_the_address_is_unreachable),
        world_test(an_unknown_host_is_unreachable),
        world_test(a_silent_server_is_unreachable_in_time),
        world_test(wrong_passwords_and_users_are_permission),
        world_test(a_database_that_does_not_exist_is_permission),
        world_test(strange_answers_have_their_own_status),
        world_test(a_server_on_a_unix_socket_is_as_good_as_any),
        world_test(several_addresses_behind_one_name_are_tried_in_turn),
        world_test(without_descriptors_open_says_so_and_leaks_nothing),
        world_test(a_client_has_a_handful_of_descriptors_closed_on_exec),
    };

    return cmocka_run_group_tests_name("client_open", tests, world_up,
                                       world_down);
}
