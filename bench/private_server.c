/* SPDX-License-Identifier: MIT */
/* private_server.c - see private_server.h.
 *
 * The server keeps nothing on disk, listens nowhere but on its socket, and has
 * a session of its own, so that an interrupt from the terminal stops the
 * benchmark first and the server in good order afterwards.  Should the
 * benchmark die, the kernel ends the server.
 */
#include "bench/private_server.h"

#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/bench.h"
#include "bench/clocks.h"

#define NS_PER_MS INT64_C(1000000)
#define START_LIMIT_MS 5000
#define STEP_MS 10

/* Linux may share the processors among sessions, whatever nice(1) says: the
 * server's new session gets what ours has. */
#define SESSION "/proc/self/autogroup"

static long session_nice(void)
{
    char line[64] = "";
    FILE *file = fopen(SESSION, "re");
    const char *at;

    if (file == NULL) {
        return 0;
    }
    at = fgets(line, sizeof(line), file) == NULL ? NULL
                                                 : strstr(line, " nice ");
    (void)fclose(file);
    return at == NULL ? 0 : strtol(at + strlen(" nice "), NULL, 10);
}

static void set_session_nice(long nice)
{
    FILE *file = nice == 0 ? NULL : fopen(SESSION, "we");

    if (file != NULL) {
        (void)fprintf(file, "%ld", nice);
        (void)fclose(file);
    }
}

/* In the child. */
_Noreturn static void become_server(const struct private_server *server,
                                    const char *program)
{
    char socket_path[80];
    int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    long nice = session_nice();

    (void)snprintf(socket_path, sizeof(socket_path), "%s/s", server->folder);
    (void)setsid();
    set_session_nice(nice);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)dup2(nowhere, STDIN_FILENO);
    (void)dup2(nowhere, STDOUT_FILENO);
    (void)execlp(program, program, "--port", "0", "--unixsocket", socket_path,
                 "--dir", server->folder, "--save", "", "--appendonly", "no",
                 "--maxclients", "1000", (char *)NULL);
    _exit(127);
}

static bool answers(const struct private_server *server)
{
    redisContext *redis = redisConnectUnix(server->url + strlen("unix:"));
    redisReply *reply = NULL;
    bool ok;

    if (redis == NULL) {
        return false;
    }
    if (redis->err == 0) {
        reply = redisCommand(redis, "PING");
    }
    ok = reply != NULL && reply->type == REDIS_REPLY_STATUS;
    if (reply != NULL) {
        freeReplyObject(reply);
    }
    redisFree(redis);
    return ok;
}

static bool await_answer(struct private_server *server)
{
    int64_t limit_ns = clock_now_ns() + START_LIMIT_MS * NS_PER_MS;

    while (!answers(server)) {
        if (waitpid(server->pid, NULL, WNOHANG) == server->pid) {
            server->pid = 0;
            return false;
        }
        if (clock_now_ns() > limit_ns) {
            return false;
        }
        clock_wait_until_ns(clock_now_ns() + STEP_MS * NS_PER_MS);
    }
    return true;
}

static void end_program(struct private_server *server)
{
    if (server->pid > 0) {
        (void)kill(server->pid, SIGKILL);
        (void)waitpid(server->pid, NULL, 0);
    }
    server->pid = 0;
}

static bool start_program(struct private_server *server, const char *program)
{
    bool ok;

    server->pid = fork();
    if (server->pid == 0) {
        become_server(server, program);
    }
    if (server->pid < 0) {
        server->pid = 0;
        return false;
    }
    ok = await_answer(server);
    if (!ok) {
        end_program(server);
    }
    return ok;
}

bool private_server_start(struct private_server *ret_server)
{
    static const char folder[] = "/tmp/holdfast-bench.XXXXXX";

    memset(ret_server, 0, sizeof(*ret_server));
    memcpy(ret_server->folder, folder, sizeof(folder));
    if (mkdtemp(ret_server->folder) == NULL) {
        ret_server->folder[0] = '\0';
        return bench_failed("server", "no folder could be made in /tmp");
    }
    (void)snprintf(ret_server->url, sizeof(ret_server->url), "unix:%s/s",
                   ret_server->folder);
    if (!start_program(ret_server, "redis-server") &&
        !start_program(ret_server, "valkey-server")) {
        private_server_stop(ret_server);
        return bench_failed("server",
                            "neither redis-server nor valkey-server starts");
    }
    return true;
}

void private_server_stop(struct private_server *server)
{
    char socket_path[80];

    end_program(server);
    if (server->folder[0] != '\0') {
        (void)snprintf(socket_path, sizeof(socket_path), "%s/s",
                       server->folder);
        (void)unlink(socket_path);
        (void)rmdir(server->folder);
        server->folder[0] = '\0';
    }
}
