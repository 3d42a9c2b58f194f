/* SPDX-License-Identifier: MIT */
/* server.c - a private redis-server for one test.
 *
 * Happy path: a scratch folder, a redis.conf in it, fork and exec, then PING
 * over the Unix socket until it is answered.  The server binds its TCP port
 * before the socket and exits if it cannot, so an answer on the socket of our
 * own folder proves that the port is ours as well: no other server can ever be
 * taken for this one.  Without an answer within START_BOUND_MS the log is
 * shown and the test program ends.
 *
 * Servers are ended by pid, and only by the process that started them.  The
 * kernel kills them if that process dies; an exit handler ends those that a
 * failed test left running.
 *
 * Runs on the main thread only.
 */
#include "support/server.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/fatal.h"
#include "support/redis.h"
#include "support/scratch.h"
#include "support/wait.h"

/* Two seconds are the rule under load; sanitizers and many neighbours may
 * take five times as long. */
#define START_BOUND_MS 10000
#define STOP_BOUND_MS 10000

struct hft_server {
    struct hft_server *next; /* all that run, for the exit handler */
    pid_t starter;
    pid_t pid; /* 0: down */
    char *folder;
    char *conf_path;
    char *socket_path;
    char *unix_url;
    char *tcp_url; /* NULL: no TCP */
    struct hft_port port;
    struct hft_redis *own_view;
};

static struct hft_server *servers;

static void write_lines(FILE *conf, const char *const *lines)
{
    for (; lines != NULL && *lines != NULL; lines++) {
        fprintf(conf, "%s\n", *lines);
    }
}

static void write_conf(const struct hft_server *server,
                       const struct hft_server_options *options)
{
    FILE *conf = fopen(server->conf_path, "we");

    if (conf == NULL) {
        hft_die("cannot write %s", server->conf_path);
    }
    fprintf(conf,
            "bind 127.0.0.1\nport %d\nunixsocket %s\ndir %s\n"
            "logfile %s/log\nsave \"\"\ndaemonize no\n"
            "enable-debug-command local\n"
            "user %s on >%s ~* &* +@all\n",
            server->port.number, server->socket_path, server->folder,
            server->folder, HFT_OWN_USER, HFT_OWN_PASSWORD);
    if (options->password != NULL) {
        fprintf(conf, "requirepass %s\n", options->password);
    }
    write_lines(conf, options->acl);
    write_lines(conf, options->config);
    if (fclose(conf) != 0) {
        hft_die("cannot write %s", server->conf_path);
    }
}

/* The child's half of fork(): only what is safe after it. */
static _Noreturn void become_server(const struct hft_server *server)
{
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != server->starter || nothing < 0) {
        _exit(1);
    }
    dup2(nothing, STDIN_FILENO);
    dup2(nothing, STDOUT_FILENO);
    dup2(nothing, STDERR_FILENO);
    execlp("redis-server", "redis-server", server->conf_path, (char *)NULL);
    _exit(1);
}

/* Whether the process has ended; then it is reaped and down. */
static bool has_ended(void *context)
{
    struct hft_server *server = context;

    if (server->pid == 0 ||
        waitpid(server->pid, NULL, WNOHANG) == server->pid) {
        server->pid = 0;
    }
    return server->pid == 0;
}

static bool is_up_or_ended(void *context)
{
    struct hft_server *server = context;

    return has_ended(server) || hft_redis_answers(server->own_view);
}

static _Noreturn void die_with_log(const struct hft_server *server)
{
    char *path = hft_format("%s/log", server->folder);
    FILE *log = fopen(path, "re");
    int byte;

    while (log != NULL && (byte = fgetc(log)) != EOF) {
        fputc(byte, stderr);
    }
    hft_die("redis-server did not start in %s", server->folder);
}

void hft_server_start_again(struct hft_server *server)
{
    if (server->pid != 0) {
        hft_die("the server in %s runs already", server->folder);
    }
    server->pid = fork();
    if (server->pid < 0) {
        hft_die("cannot fork a server");
    }
    if (server->pid == 0) {
        become_server(server);
    }
    if (!hft_wait_until(is_up_or_ended, server, START_BOUND_MS) ||
        server->pid == 0) {
        die_with_log(server);
    }
}

static void kill_forgotten(void)
{
    struct hft_server *server;

    for (server = servers; server != NULL; server = server->next) {
        if (server->pid > 0 && server->starter == getpid()) {
            kill(server->pid, SIGKILL);
            waitpid(server->pid, NULL, 0);
        }
    }
}

static void remember(struct hft_server *server)
{
    static bool handler_set;

    if (!handler_set) {
        handler_set = true;
        atexit(kill_forgotten);
    }
    server->next = servers;
    servers = server;
}

static void forget(const struct hft_server *server)
{
    struct hft_server **at = &servers;

    while (*at != NULL && *at != server) {
        at = &(*at)->next;
    }
    if (*at != NULL) {
        *at = server->next;
    }
}

struct hft_server *hft_server_start(const struct hft_server_options *options)
{
    static const struct hft_server_options defaults;
    struct hft_server *server = hft_alloc(sizeof(*server));

    if (options == NULL) {
        options = &defaults;
    }
    server->starter = getpid();
    server->folder = hft_scratch_new();
    server->conf_path = hft_format("%s/redis.conf", server->folder);
    server->socket_path = hft_format("%s/redis.sock", server->folder);
    server->unix_url = hft_format("unix:%s", server->socket_path);
    server->port.reservation = -1;
    if (options->tcp) {
        server->port = hft_port_reserve();
        server->tcp_url = hft_format("redis://127.0.0.1:%d",
                                     server->port.number);
    }
    server->own_view = hft_redis_new(server->socket_path);
    write_conf(server, options);
    remember(server);
    hft_server_start_again(server);
    return server;
}

/* Signal it to end, and wait for the end. */
static void end_with(struct hft_server *server, int signal_number)
{
    hft_redis_drop(server->own_view);
    if (server->pid == 0) {
        return;
    }
    kill(server->pid, signal_number);
    if (!hft_wait_until(has_ended, server, STOP_BOUND_MS)) {
        hft_die("the server in %s does not end", server->folder);
    }
}

void hft_server_stop(struct hft_server *server)
{
    end_with(server, SIGTERM);
}

void hft_server_kill(struct hft_server *server)
{
    end_with(server, SIGKILL);
}

static bool uses_aof(struct hft_server *server)
{
    return strstr(hft_str(server, "CONFIG GET appendonly"), "yes") != NULL;
}

/* The next start finds an empty folder where the data were. */
static void lose_data(const struct hft_server *server)
{
    char *rdb = hft_format("%s/dump.rdb", server->folder);
    char *aof = hft_format("%s/appendonlydir", server->folder);

    (void)unlink(rdb);
    hft_scratch_delete_inner(aof);
    free(rdb);
    free(aof);
}

void hft_server_restart(struct hft_server *server, enum hft_data data)
{
    switch (data) {
    case HFT_KEEP_DATA:
        if (!uses_aof(server)) {
            (void)hft_int(server, "SAVE");
        }
        hft_server_kill(server);
        break;
    case HFT_LOSE_DATA:
        hft_server_kill(server);
        lose_data(server);
        break;
    }
    hft_server_start_again(server);
}

/* kill(0, ...) would hit our own process group: never hand out a 0 to it. */
static void require_running(const struct hft_server *server)
{
    if (server->pid <= 0) {
        hft_die("the server in %s is down", server->folder);
    }
}

void hft_server_pause(struct hft_server *server)
{
    require_running(server);
    kill(server->pid, SIGSTOP);
}

void hft_server_resume(struct hft_server *server)
{
    require_running(server);
    kill(server->pid, SIGCONT);
}

const char *hft_server_url(const struct hft_server *server)
{
    return server->tcp_url != NULL ? server->tcp_url : server->unix_url;
}

const char *hft_server_unix_url(const struct hft_server *server)
{
    return server->unix_url;
}

const char *hft_server_socket(const struct hft_server *server)
{
    return server->socket_path;
}

const char *hft_server_folder(const struct hft_server *server)
{
    return server->folder;
}

int hft_server_port(const struct hft_server *server)
{
    return server->port.number;
}

pid_t hft_server_pid(const struct hft_server *server)
{
    return server->pid;
}

struct hft_redis *hft_server_own_view(struct hft_server *server)
{
    return server->own_view;
}

void hft_server_free(struct hft_server *server)
{
    if (server == NULL) {
        return;
    }
    hft_server_kill(server);
    forget(server);
    hft_redis_free(server->own_view);
    hft_port_give_back(&server->port);
    hft_scratch_delete(server->folder);
    free(server->conf_path);
    free(server->socket_path);
    free(server->unix_url);
    free(server->tcp_url);
    free(server);
}
