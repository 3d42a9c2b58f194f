/* SPDX-License-Identifier: MIT */
/* Starting a private server.
 *
 * The server must outlive whoever starts it and keep nothing of his: not his
 * terminal, nor his pipes (`holdfast run ... | cat` would never end), nor his
 * signal mask.  So the process that is spawned has its input from /dev/null,
 * its output in the log, every other descriptor closed, signals as they are at
 * birth, and makes itself a daemon (its own session, init's child) by its own
 * `daemonize`.  The spawned process itself ends at once; the application gets a
 * SIGCHLD for it, as for any child.
 *
 * Nothing is kept on disk: what a server knew is gone with it, and a lease that
 * came back from an old file would be worse.  Nothing is evicted: a lock that
 * makes room for another is no lock.
 */
#include "net/local_spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fail.h"

#if defined(__GLIBC__)
#if __GLIBC_PREREQ(2, 34)
#define HAS_CLOSEFROM 1
#endif
#endif
#ifndef HAS_CLOSEFROM
#define HAS_CLOSEFROM 0
#endif

/* Without closefrom: descriptors up to here. */
#define CLOSE_UP_TO 1024

/* What happens to descriptors between fork and exec; 0 or an errno. */
static int plan_descriptors(posix_spawn_file_actions_t *actions,
                            const struct hfi_local_place *place)
{
    int code = posix_spawn_file_actions_addopen(actions, 0, "/dev/null",
                                                O_RDONLY, 0);

    if (code == 0) {
        code = posix_spawn_file_actions_addopen(
            actions, 1, place->log, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND,
            S_IRUSR | S_IWUSR);
    }
    if (code == 0) {
        code = posix_spawn_file_actions_adddup2(actions, 1, 2);
    }
#if HAS_CLOSEFROM
    if (code == 0) {
        code = posix_spawn_file_actions_addclosefrom_np(actions, 3);
    }
#else
    for (int fd = 3; code == 0 && fd < CLOSE_UP_TO; fd++) {
        code = posix_spawn_file_actions_addclose(actions, fd);
    }
#endif
    return code;
}

static int plan_signals(posix_spawnattr_t *attributes)
{
    short flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK;
    sigset_t none;
    sigset_t all;
    int code;

    sigemptyset(&none);
    sigfillset(&all);
    /* Not even a spawner of everything may name these two. */
    sigdelset(&all, SIGKILL);
    sigdelset(&all, SIGSTOP);
    code = posix_spawnattr_setsigmask(attributes, &none);
    if (code == 0) {
        code = posix_spawnattr_setsigdefault(attributes, &all);
    }
    if (code == 0) {
        code = posix_spawnattr_setflags(attributes, flags);
    }
    return code;
}

/* Run a program found in PATH; 0 or an errno. */
static int run(const char *program, const struct hfi_local_place *place,
               const posix_spawn_file_actions_t *actions,
               const posix_spawnattr_t *attributes, pid_t *ret_child)
{
    const char *const words[] = {
        program,        "--port",      "0",
        "--unixsocket", place->socket, "--unixsocketperm",
        "700",          "--save",      "",
        "--appendonly", "no",          "--maxmemory-policy",
        "noeviction",   "--daemonize", "yes",
        "--supervised", "no",          "--dir",
        place->dir,     "--pidfile",   place->pid,
        "--logfile",    place->log,    NULL,
    };

    /* It takes pointers to char for history's sake, and writes nothing. */
    return posix_spawnp(ret_child, program, actions, attributes,
                        (char *const *)(uintptr_t)words, environ);
}

/* Run the first program that is installed. */
static hf_status run_any(const struct hfi_local_place *place,
                         const posix_spawn_file_actions_t *actions,
                         const posix_spawnattr_t *attributes, pid_t *ret_child,
                         hf_error *reterr)
{
    static const char *const programs[] = {"redis-server", "valkey-server"};

    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
        int code = run(programs[i], place, actions, attributes, ret_child);

        if (code == 0) {
            return HF_OK;
        }
        if (code == EMFILE || code == ENFILE || code == EAGAIN ||
            code == ENOMEM) {
            return hfi_fail_errno(reterr, HF_SYSTEM, code, "%s cannot be run",
                                  programs[i]);
        }
        if (code != ENOENT && code != ENOTDIR && code != EACCES) {
            return hfi_fail_errno(reterr, HF_UNREACHABLE, code,
                                  "%s cannot be run", programs[i]);
        }
    }
    return hfi_fail(reterr, HF_UNREACHABLE,
                    "no redis-server and no valkey-server in PATH; install one "
                    "(Debian, Ubuntu: apt install redis-server)");
}

hf_status hfi_local_spawn(const struct hfi_local_place *place, pid_t *ret_child,
                          hf_error *reterr)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    hf_status status;
    int code;

    *ret_child = 0;
    code = posix_spawn_file_actions_init(&actions);
    if (code != 0) {
        return hfi_fail_errno(reterr, HF_NOMEM, code, "starting a server");
    }
    code = posix_spawnattr_init(&attributes);
    if (code != 0) {
        (void)posix_spawn_file_actions_destroy(&actions);
        return hfi_fail_errno(reterr, HF_NOMEM, code, "starting a server");
    }
    code = plan_descriptors(&actions, place);
    if (code == 0) {
        code = plan_signals(&attributes);
    }
    if (code == 0) {
        status = run_any(place, &actions, &attributes, ret_child, reterr);
    } else {
        status = hfi_fail_errno(reterr, HF_SYSTEM, code, "starting a server");
    }
    (void)posix_spawnattr_destroy(&attributes);
    (void)posix_spawn_file_actions_destroy(&actions);
    return status;
}

bool hfi_local_spawn_failed(pid_t *child)
{
    int outcome = 0;
    pid_t ended;

    if (*child == 0) {
        return false;
    }
    do {
        ended = waitpid(*child, &outcome, WNOHANG);
    } while (ended < 0 && errno == EINTR);
    if (ended == 0) {
        return false;
    }
    *child = 0;
    return ended > 0 && !(WIFEXITED(outcome) && WEXITSTATUS(outcome) == 0);
}

void hfi_local_last_words(const struct hfi_local_place *place, char *buf,
                          size_t size)
{
    char tail[1024];
    ssize_t got = 0;
    size_t end;
    size_t start;
    int fd = open(place->log, O_RDONLY | O_CLOEXEC);

    buf[0] = '\0';
    if (fd < 0) {
        return;
    }
    if (lseek(fd, -(off_t)sizeof(tail), SEEK_END) >= 0 || errno == EINVAL) {
        got = read(fd, tail, sizeof(tail));
    }
    close(fd);
    end = got > 0 ? (size_t)got : 0;
    while (end > 0 && tail[end - 1] == '\n') {
        end--;
    }
    start = end;
    while (start > 0 && tail[start - 1] != '\n') {
        start--;
    }
    hfi_printable(buf, size, tail + start, end - start);
}
