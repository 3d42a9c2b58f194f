/* SPDX-License-Identifier: MIT */
/* child.c - the command that runs under the lock: a process group of its own.
 *
 * The group is what is signalled and, when the lock is lost, what has to be
 * gone before the deadline.  Both sides call setpgid(), so that whoever is
 * first, the group exists before anybody signals it or gives it the terminal.
 *
 * If holdfast is killed, the command must not go on: the system sends it KILL
 * when its parent dies (Linux).  Its own children are not reached by that; they
 * can watch the pipe whose number HOLDFAST_ALIVE_FD tells, which closes then.
 *
 * We are the reaper of what the command leaves behind (Linux's "child
 * subreaper"), so that a group can be seen to be gone, and its number cannot be
 * given to a stranger while we may still signal it.
 *
 * The library has threads, so between fork() and exec the child calls only what
 * is async-signal-safe: the search through PATH is prepared before.
 */
#include "child.h"

#include "signals.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Above what scripts use for their own descriptors (`exec 3<file`). */
#define ALIVE_FD_LEAST 10

/* What execvp() takes where there is no PATH. */
#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"

/* Everything that the child needs, made before fork(). */
struct launch {
    char *const *argv;
    char *const *environment;
    char **paths;      /* to try in turn; ends with NULL */
    char **shell_argv; /* for a script without "#!": sh, a path, arguments */
    int report_fd;     /* the errno goes there; closed by exec */
    pid_t parent;
    bool give_terminal;
};

/* ---- before fork() ---------------------------------------------------------- */

static size_t count_words(char *const *words)
{
    size_t count = 0;

    while (words[count] != NULL) {
        count++;
    }
    return count;
}

/* folder/name; an empty folder is the working directory. */
static char *join_path(const char *folder, size_t length, const char *name)
{
    size_t size = length + strlen(name) + 2;
    char *path = malloc(size);

    if (path != NULL) {
        snprintf(path, size, "%.*s%s%s", (int)length, folder,
                 length > 0 ? "/" : "", name);
    }
    return path;
}

static void free_paths(char **paths)
{
    for (size_t i = 0; paths != NULL && paths[i] != NULL; i++) {
        free(paths[i]);
    }
    free(paths);
}

/* Every path that `name` may mean, in order.  NULL: no memory. */
static char **candidate_paths(const char *name)
{
    const char *search = getenv("PATH");
    size_t count = 2; /* one, and the NULL */

    if (search == NULL) {
        search = DEFAULT_PATH;
    }
    if (name[0] == '\0' || strchr(name, '/') != NULL) {
        search = NULL;
    }
    for (const char *p = search; p != NULL && *p != '\0'; p++) {
        count += *p == ':' ? 1 : 0;
    }
    char **paths = calloc(count, sizeof(*paths));
    if (paths == NULL) {
        return NULL;
    }
    if (search == NULL) {
        paths[0] = strdup(name);
    }
    for (size_t i = 0; search != NULL; i++) {
        size_t length = strcspn(search, ":");
        paths[i] = join_path(search, length, name);
        if (paths[i] == NULL) {
            break;
        }
        search = search[length] == ':' ? search + length + 1 : NULL;
    }
    return paths;
}

/* Room for "sh PATH ARG..."; the child fills in the path that it found. */
static char **shell_words(char *const *argv)
{
    static char shell[] = "sh";
    size_t count = count_words(argv);
    char **words = calloc(count + 2, sizeof(*words));

    if (words != NULL) {
        words[0] = shell;
        memcpy(words + 2, argv + 1, count * sizeof(*words));
    }
    return words;
}

/* ---- between fork() and exec --------------------------------------------------- */

/* As execvp() does: the first path that can be executed; a folder without the
 * command is passed over, and "may not" is remembered before "is not there".
 * Returns the errno. */
static int try_paths(const struct launch *launch)
{
    int result = ENOENT;

    for (size_t i = 0; launch->paths[i] != NULL; i++) {
        execve(launch->paths[i], launch->argv, launch->environment);
        if (errno == ENOEXEC) {
            launch->shell_argv[1] = launch->paths[i];
            execve("/bin/sh", launch->shell_argv, launch->environment);
        }
        if (errno == EACCES) {
            result = EACCES;
        } else if (errno != ENOENT && errno != ENOTDIR) {
            return errno;
        }
    }
    return result;
}

_Noreturn static void become_command(const struct launch *launch)
{
    setpgid(0, 0);
    if (launch->give_terminal) {
        tcsetpgrp(STDIN_FILENO, getpid()); /* TTOU is still ignored here */
    }
    cli_signals_child();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != launch->parent) {
        _exit(128 + SIGKILL); /* it died before that was set */
    }
    int error = try_paths(launch);
    ssize_t ignored = write(launch->report_fd, &error, sizeof(error));
    (void)ignored;
    _exit(127);
}

/* ---- starting ------------------------------------------------------------------- */

/* fork() with every signal blocked, so that no handler of ours runs in the
 * child. */
static pid_t fork_command(const struct launch *launch)
{
    sigset_t all;
    sigset_t before;

    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    pid_t pid = fork();
    if (pid == 0) {
        become_command(launch);
    }
    int saved = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = saved;
    return pid;
}

/* The errno that the child reports, or 0 when exec has closed the pipe. */
static int read_report(int fd)
{
    int error = 0;
    ssize_t got;

    do {
        got = read(fd, &error, sizeof(error));
    } while (got < 0 && errno == EINTR);
    return got == (ssize_t)sizeof(error) ? error : 0;
}

static int launch_command(struct child *child, struct launch *launch)
{
    int report[2];

    if (pipe2(report, O_CLOEXEC) != 0) {
        return errno;
    }
    launch->report_fd = report[1];
    launch->parent = getpid();
    pid_t pid = fork_command(launch);
    int error = pid < 0 ? errno : 0;
    close(report[1]);
    if (pid > 0) {
        setpgid(pid, pid); /* refused once it has executed: it did it then */
        error = read_report(report[0]);
        if (error != 0) {
            waitpid(pid, NULL, 0);
        }
    }
    close(report[0]);
    if (pid > 0) {
        child->pid = pid;
        child->has_terminal = launch->give_terminal;
    }
    if (error != 0) {
        child_take_terminal(child);
    }
    return error;
}

int child_prepare(struct child *ret_child)
{
    int fds[2];

    memset(ret_child, 0, sizeof(*ret_child));
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (pipe2(fds, O_CLOEXEC) != 0) {
        return errno;
    }
    /* The command's end gets a number of its own, and is inherited. */
    ret_child->inherited_fd = fcntl(fds[0], F_DUPFD, ALIVE_FD_LEAST);
    int error = ret_child->inherited_fd < 0 ? errno : 0;
    close(fds[0]);
    ret_child->alive_fd = fds[1]; /* stays open until we end, however that is */
    return error;
}

int child_start(struct child *child, char *const argv[],
                char *const environment[])
{
    struct launch launch = {.argv = argv, .environment = environment};
    int error = ENOMEM;

    launch.paths = candidate_paths(argv[0]);
    launch.shell_argv = shell_words(argv);
    launch.give_terminal = isatty(STDIN_FILENO) &&
                           tcgetpgrp(STDIN_FILENO) == getpgrp();
    if (launch.paths != NULL && launch.paths[0] != NULL &&
        launch.shell_argv != NULL) {
        error = launch_command(child, &launch);
    }
    free(launch.shell_argv);
    free_paths(launch.paths);
    close(child->inherited_fd);
    return error;
}

/* ---- afterwards ------------------------------------------------------------------ */

bool child_group_is_alive(const struct child *child)
{
    return kill(-child->pid, 0) == 0 || errno == EPERM;
}

void child_signal(const struct child *child, int number)
{
    kill(-child->pid, number);
}

void child_reap(struct child *child)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED | WCONTINUED)) > 0) {
        if (pid != child->pid) {
            continue; /* something that the command has left behind */
        }
        if (WIFSTOPPED(status)) {
            child->stopped_by = WSTOPSIG(status);
        } else if (WIFCONTINUED(status)) {
            child->stopped_by = 0;
        } else {
            child->has_ended = true;
            child->wait_status = status;
        }
    }
}

void child_give_terminal(struct child *child)
{
    if (isatty(STDIN_FILENO) && tcgetpgrp(STDIN_FILENO) == getpgrp() &&
        tcsetpgrp(STDIN_FILENO, child->pid) == 0) {
        child->has_terminal = true;
    }
}

void child_take_terminal(struct child *child)
{
    /* Only from the group itself: a shell may have taken it meanwhile. */
    if (child->has_terminal && tcgetpgrp(STDIN_FILENO) == child->pid) {
        tcsetpgrp(STDIN_FILENO, getpgrp());
    }
    child->has_terminal = false;
}

bool child_died_of(const struct child *child, int number)
{
    return WIFSIGNALED(child->wait_status) &&
           WTERMSIG(child->wait_status) == number;
}

int child_exit_status(const struct child *child)
{
    if (WIFSIGNALED(child->wait_status)) {
        return 128 + WTERMSIG(child->wait_status);
    }
    return WEXITSTATUS(child->wait_status);
}
