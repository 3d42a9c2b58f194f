/* SPDX-License-Identifier: MIT */
/* child.c - a program under test: started, watched, signalled, ended.
 *
 * A child that has ended stays a zombie until it is freed, so that no signal
 * can hit a stranger with its number.  Output goes to files in memory, so
 * nobody has to read along, and nothing is lost when the child is killed.  A
 * terminal is the exception: its output is collected whenever the test looks,
 * and what the kernel keeps of it is small, so a test with a terminal has to
 * look now and then (all waits do).
 */
#include "support/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "support/bytes.h"
#include "support/fatal.h"
#include "support/wait.h"

#define CANNOT_EXECUTE 127
#define MOST_WORDS 64
#define LAST_PLAIN_SIGNAL 31

/* One of the child's outputs. */
struct output {
    int fd;                /* a file in memory, or the terminal; -1: none */
    struct hft_bytes text; /* a copy, or what the terminal showed; ends in 0 */
};

struct hft_child {
    pid_t pid;
    bool ended;
    int status; /* as hft_child_finish() tells it */
    enum hft_stdio stdio;
    int input; /* -1: none, or closed */
    struct output out;
    struct output err;
};

/* What the fork needs, made before it. */
struct launch {
    const struct hft_child_options *options;
    char **env;
    pid_t parent;
    int ends[3]; /* the child's stdin, stdout and stderr */
};

static size_t count_of(char *const *list)
{
    size_t count = 0;

    while (list != NULL && list[count] != NULL) {
        count++;
    }
    return count;
}

static bool same_name(const char *one, const char *other)
{
    size_t length = strcspn(one, "=");

    return strncmp(one, other, length) == 0 && other[length] == '=';
}

/* Our environment with the additions, which replace what has their name. */
static char **merge_env(const char *const *additions)
{
    static const char *const none[] = {NULL};
    size_t count = count_of(environ);
    char **merged;
    size_t used = 0;
    size_t i;

    if (additions == NULL) {
        additions = none;
    }
    for (i = 0; additions[i] != NULL; i++) {
        count++;
    }
    merged = hft_alloc((count + 1) * sizeof(char *));
    for (; *additions != NULL; additions++) {
        merged[used++] = hft_copy_text(*additions);
    }
    count = used;
    for (i = 0; environ[i] != NULL; i++) {
        size_t k = 0;

        while (k < count && !same_name(merged[k], environ[i])) {
            k++;
        }
        if (k == count) {
            merged[used++] = hft_copy_text(environ[i]);
        }
    }
    return merged;
}

static void free_list(char **list)
{
    size_t i;

    for (i = 0; list[i] != NULL; i++) {
        free(list[i]);
    }
    free(list);
}

static int need(int fd, const char *what)
{
    if (fd < 0) {
        hft_die("no %s for a child: %s", what, strerror(errno));
    }
    return fd;
}

static void open_files(struct hft_child *child, struct launch *launch)
{
    int pipe_ends[2];

    child->out.fd = need(memfd_create("stdout", MFD_CLOEXEC), "stdout");
    child->err.fd = need(memfd_create("stderr", MFD_CLOEXEC), "stderr");
    launch->ends[1] = child->out.fd;
    launch->ends[2] = child->err.fd;
    if (child->stdio == HFT_STDIO_PIPE) {
        need(pipe2(pipe_ends, O_CLOEXEC), "stdin");
        launch->ends[0] = pipe_ends[0];
        child->input = pipe_ends[1];
        return;
    }
    launch->ends[0] = need(open("/dev/null", O_RDONLY | O_CLOEXEC), "stdin");
}

static void open_terminal(struct hft_child *child, struct launch *launch)
{
    int ours = need(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), "terminal");
    char name[64];
    int theirs;

    if (grantpt(ours) != 0 || unlockpt(ours) != 0 ||
        ptsname_r(ours, name, sizeof(name)) != 0) {
        hft_die("no terminal for a child");
    }
    theirs = need(open(name, O_RDWR | O_NOCTTY | O_CLOEXEC), "terminal");
    need(fcntl(ours, F_SETFL, O_NONBLOCK), "terminal");
    child->out.fd = ours;
    child->err.fd = -1;
    child->input = ours;
    launch->ends[0] = theirs;
    launch->ends[1] = theirs;
    launch->ends[2] = theirs;
}

static void reset_signals(void)
{
    sigset_t none;
    int number;

    for (number = 1; number <= LAST_PLAIN_SIGNAL; number++) {
        (void)signal(number, SIG_DFL);
    }
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* execvp() takes pointers to char that it does not write through. */
static char *const *as_argv(const char *const *words)
{
    union {
        const char *const *ours;
        char *const *theirs;
    } argv = {words};

    return argv.theirs;
}

/* The child's half of the fork: only what is safe after it. */
static _Noreturn void become_program(const struct launch *launch)
{
    const struct hft_child_options *options = launch->options;
    int i;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != launch->parent) {
        _exit(CANNOT_EXECUTE);
    }
    reset_signals();
    if (options->stdio == HFT_STDIO_TERMINAL) {
        setsid();
        ioctl(launch->ends[0], TIOCSCTTY, 0);
    } else {
        setpgid(0, 0);
    }
    for (i = 0; i < 3; i++) {
        dup2(launch->ends[i], i);
    }
    if (options->folder != NULL && chdir(options->folder) != 0) {
        _exit(CANNOT_EXECUTE);
    }
    execvpe(options->argv[0], as_argv(options->argv), launch->env);
    _exit(CANNOT_EXECUTE);
}

struct hft_child *hft_child_start(const struct hft_child_options *options)
{
    struct hft_child *child = hft_alloc(sizeof(*child));
    struct launch launch = {.options = options, .parent = getpid()};

    child->stdio = options->stdio;
    child->input = -1;
    if (options->stdio == HFT_STDIO_TERMINAL) {
        open_terminal(child, &launch);
    } else {
        open_files(child, &launch);
    }
    launch.env = merge_env(options->env);
    child->pid = fork();
    if (child->pid == 0) {
        become_program(&launch);
    }
    need(child->pid, "process");
    if (options->stdio != HFT_STDIO_TERMINAL) {
        /* On both sides of the fork, so that it is done for either. */
        setpgid(child->pid, child->pid);
    }
    close(launch.ends[0]); /* the others are ours too, or the same */
    free_list(launch.env);
    return child;
}

struct hft_child *hft_child_start_words(const char *word, ...)
{
    const char *argv[MOST_WORDS + 1] = {NULL};
    struct hft_child_options options = {.argv = argv};
    size_t count = 0;
    va_list args;

    va_start(args, word);
    do {
        argv[count++] = word;
        word = va_arg(args, char *);
    } while (word != NULL && count < MOST_WORDS);
    va_end(args);
    return hft_child_start(&options);
}

static void free_output(struct output *output)
{
    if (output->fd >= 0) {
        close(output->fd);
    }
    hft_bytes_free(&output->text);
}

void hft_child_free(struct hft_child *child)
{
    if (child == NULL) {
        return;
    }
    /* It is not reaped before, so its pid and its group's id are still its
     * own and nobody else's. */
    kill(-child->pid, SIGKILL);
    kill(child->pid, SIGKILL);
    waitpid(child->pid, NULL, 0);
    if (child->stdio != HFT_STDIO_TERMINAL) {
        hft_child_close_input(child);
    }
    free_output(&child->out);
    free_output(&child->err);
    free(child);
}

static bool has_ended(void *context)
{
    struct hft_child *child = context;
    siginfo_t info = {.si_pid = 0};

    if (!child->ended &&
        waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG | WNOWAIT) ==
            0 &&
        info.si_pid == child->pid) {
        child->ended = true;
        child->status = info.si_code == CLD_EXITED
                            ? info.si_status
                            : HFT_BY_SIGNAL + info.si_status;
    }
    if (child->stdio == HFT_STDIO_TERMINAL) {
        (void)hft_child_out(child); /* or it might be stuck writing */
    }
    return child->ended;
}

int hft_child_finish(struct hft_child *child, int64_t bound_ms)
{
    if (!hft_wait_until(has_ended, child, bound_ms)) {
        return HFT_STILL_RUNS;
    }
    return child->status;
}

bool hft_child_runs(struct hft_child *child)
{
    return !has_ended(child);
}

pid_t hft_child_pid(const struct hft_child *child)
{
    return child->pid;
}

void hft_child_signal(struct hft_child *child, int signal_number)
{
    if (!has_ended(child)) {
        kill(child->pid, signal_number);
    }
}

void hft_child_signal_group(struct hft_child *child, int signal_number)
{
    if (!has_ended(child)) {
        kill(-child->pid, signal_number);
    }
}

static bool is_stopped(void *context)
{
    const struct hft_child *child = context;
    siginfo_t info = {.si_pid = 0};

    /* WNOWAIT: that it is stopped stays to be seen, and so does its end. */
    return waitid(P_PID, (id_t)child->pid, &info,
                  WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == child->pid;
}

bool hft_child_wait_stopped(struct hft_child *child, int64_t bound_ms)
{
    return hft_wait_until(is_stopped, child, bound_ms);
}

/* Copy a file in memory anew, or add what the terminal has shown since. */
static const char *read_output(struct output *output, bool is_terminal)
{
    struct stat status;
    ssize_t got;

    if (output->text.length > 0) {
        output->text.length--; /* the 0 at its end */
    }
    if (is_terminal) {
        size_t before;

        do {
            before = output->text.length;
        } while (hft_bytes_receive(&output->text, output->fd) &&
                 output->text.length > before);
    } else if (output->fd >= 0 && fstat(output->fd, &status) == 0) {
        hft_bytes_free(&output->text);
        hft_bytes_make_room(&output->text, (size_t)status.st_size + 1);
        got = pread(output->fd, output->text.data, (size_t)status.st_size, 0);
        output->text.length = got > 0 ? (size_t)got : 0;
    }
    hft_bytes_append(&output->text, "", 1);
    return output->text.data;
}

const char *hft_child_out(struct hft_child *child)
{
    return read_output(&child->out, child->stdio == HFT_STDIO_TERMINAL);
}

const char *hft_child_err(struct hft_child *child)
{
    return read_output(&child->err, false);
}

/* A text that is waited for. */
struct awaited {
    struct hft_child *child;
    const char *(*read)(struct hft_child *child);
    const char *text;
};

static bool has_written(void *context)
{
    const struct awaited *awaited = context;

    return strstr(awaited->read(awaited->child), awaited->text) != NULL;
}

bool hft_child_wait_out(struct hft_child *child, const char *text,
                        int64_t bound_ms)
{
    struct awaited awaited = {child, hft_child_out, text};

    return hft_wait_until(has_written, &awaited, bound_ms);
}

bool hft_child_wait_err(struct hft_child *child, const char *text,
                        int64_t bound_ms)
{
    struct awaited awaited = {child, hft_child_err, text};

    return hft_wait_until(has_written, &awaited, bound_ms);
}

void hft_child_type(struct hft_child *child, const char *text)
{
    struct pollfd polled = {.fd = child->input, .events = POLLOUT};
    size_t length = strlen(text);

    /* Looked at first, because writing to nobody would be a SIGPIPE. */
    if (poll(&polled, 1, 0) != 1 || polled.revents != POLLOUT ||
        write(child->input, text, length) != (ssize_t)length) {
        hft_die("the child does not read its input");
    }
}

void hft_child_close_input(struct hft_child *child)
{
    if (child->input >= 0) {
        close(child->input);
        child->input = -1;
    }
}
