/* SPDX-License-Identifier: MIT */
/* progress.c - what a long wait shows on a terminal.
 *
 * Who holds the lock, how long the lease still runs, how many wait; once a
 * second, on one line that is written over and cleared in the end.  The first
 * line comes after a second, so a short wait shows nothing.  Of several locks it
 * is the first that somebody else holds: that one is waited for, or will be.
 *
 * A thread with clients of its own asks the servers, so that a slow answer
 * delays neither the wait nor its end by a signal.  Its clients have a short
 * time limit: what it delays is only its own stop.
 *
 * The line is cleared with spaces and not with an escape sequence, so that any
 * terminal will do.
 */
#include "progress.h"

#include "duration.h"
#include "lock_new.h"
#include "printable.h"

#include "holdfast/inspect.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define PERIOD_MS 1000
#define ANSWER_LIMIT_MS 500

/* Where a terminal does not tell its width. */
#define COLUMNS_DEFAULT 80
#define LINE_BYTES 512

/* The start of a UUID tells owners apart well enough. */
#define OWNER_SHORT 8

struct cli_progress {
    struct cli_context ctx;
    struct cli_subject subject;
    char shown[CLI_PRINTABLE_SHORT];
    struct timespec started_at;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t stopped; /* with `is_stopped` */
    bool is_stopped;
    /* The thread's own: */
    size_t columns_used; /* by the line that stands */
    hf_client *clients[CLI_SERVERS_MAX];
    size_t lock_count;
    hf_lock *locks[]; /* of each server, all names */
};

static int terminal_columns(void)
{
    struct winsize size;

    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) {
        return COLUMNS_DEFAULT;
    }
    return size.ws_col;
}

/* Write the line over the one that stands. */
static void show(struct cli_progress *progress, const char *text)
{
    char line[2 * LINE_BYTES];
    size_t width = strlen(text);
    size_t room = (size_t)terminal_columns() - 1;

    if (width > room) {
        width = room;
    }
    size_t blanks = width < progress->columns_used
                        ? progress->columns_used - width
                        : 0;
    int length = snprintf(line, sizeof(line), "\r%.*s%*s\r%.*s", (int)width,
                          text, (int)blanks, "", (int)width, text);
    progress->columns_used = width;
    if (length > 0) {
        ssize_t ignored = write(STDERR_FILENO, line, (size_t)length);
        (void)ignored;
    }
}

/* Connect when it is first needed, and again after a failure. */
static bool look(struct cli_progress *progress, size_t at, hf_lock_info *info)
{
    const struct cli_subject *subject = &progress->subject;
    size_t server = at / subject->name_count;

    if (subject->group != NULL) {
        progress->ctx.url = subject->group->urls[server];
    }
    if (progress->clients[server] == NULL &&
        cli_context_connect(&progress->ctx, ANSWER_LIMIT_MS,
                            &progress->clients[server], NULL) != HF_OK) {
        return false;
    }
    if (progress->locks[at] == NULL &&
        cli_lock_new(progress->clients[server], subject->what,
                     subject->names[at % subject->name_count],
                     &progress->locks[at], NULL) != HF_OK) {
        return false;
    }
    return hf_inspect_remote(progress->locks[at], info, NULL) == HF_OK;
}

/* Of a group: it has been taken already. */
static bool is_ours(const struct cli_progress *progress, size_t at)
{
    const struct cli_subject *subject = &progress->subject;
    char owner[64];

    return subject->group != NULL &&
           hf_group_owner_text(subject->group->group, subject->owner, at, owner,
                               sizeof(owner)) == HF_OK;
}

/* Which of several it is: " b is" held, or " on SERVER". */
static void say_which(const struct cli_progress *progress, size_t at,
                      char which[LINE_BYTES])
{
    const struct cli_subject *subject = &progress->subject;
    char name[CLI_PRINTABLE_SHORT];

    which[0] = '\0';
    if (subject->name_count > 1) {
        const char *text = subject->names[at];

        cli_printable(text, strlen(text), name, sizeof(name));
        snprintf(which, LINE_BYTES, "%s is ", name);
    } else if (subject->group != NULL) {
        snprintf(which, LINE_BYTES, "on %s it is ",
                 hf_client_server(subject->group->clients[at]));
    }
}

/* Who holds, for how long, and how many wait.  Where the terminal is too narrow
 * for all of it the owner is cut short: times matter more, and `show` has it. */
static void held_line(const struct cli_progress *progress, size_t at,
                      const hf_lock_info *info, const char *waited,
                      char line[LINE_BYTES])
{
    char left[32];
    char owner[CLI_PRINTABLE_SHORT];
    char which[LINE_BYTES];

    say_which(progress, at, which);
    cli_duration_text(info->ttl_ms, left, sizeof(left));
    cli_printable(info->owner, strlen(info->owner), owner, sizeof(owner));
    for (int is_short = 0; is_short < 2; is_short++) {
        snprintf(line, LINE_BYTES,
                 "holdfast: %s: %.200sheld by %.*s%s, lease ends in %s; "
                 "waiting %s, %" PRId64 " in all",
                 progress->shown, which, is_short ? OWNER_SHORT : LINE_BYTES,
                 owner, is_short ? "..." : "", left, waited, info->waiting);
        if (strlen(line) < (size_t)terminal_columns() ||
            strlen(owner) <= OWNER_SHORT) {
            return;
        }
    }
}

/* The first that somebody else holds; `lock_count`: none.  `ret_seen`: all those
 * before it answered. */
static size_t find_held(struct cli_progress *progress, hf_lock_info *info,
                        bool *ret_seen)
{
    *ret_seen = true;
    for (size_t i = 0; i < progress->lock_count; i++) {
        if (is_ours(progress, i)) {
            continue;
        }
        if (!look(progress, i, info)) {
            *ret_seen = false;
        } else if (info->locked) {
            return i;
        }
    }
    return progress->lock_count;
}

static void show_holder(struct cli_progress *progress)
{
    hf_lock_info info = HF_LOCK_INFO_INIT;
    struct timespec now;
    char line[LINE_BYTES];
    char waited[32];
    bool seen;
    size_t held = find_held(progress, &info, &seen);

    clock_gettime(CLOCK_MONOTONIC, &now);
    cli_duration_text((now.tv_sec - progress->started_at.tv_sec) * 1000, waited,
                      sizeof(waited));
    if (held < progress->lock_count) {
        held_line(progress, held, &info, waited, line);
    } else if (!seen) {
        snprintf(line, sizeof(line),
                 "holdfast: %s: waiting for %s, "
                 "and the server does not answer",
                 progress->shown, waited);
    } else {
        snprintf(line, sizeof(line), "holdfast: %s: free, waiting for %s",
                 progress->shown, waited);
    }
    show(progress, line);
}

/* A second's sleep.  Returns whether to go on. */
static bool sleep_on(struct cli_progress *progress)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += PERIOD_MS / 1000;
    pthread_mutex_lock(&progress->mutex);
    while (!progress->is_stopped &&
           pthread_cond_timedwait(&progress->stopped, &progress->mutex,
                                  &until) == 0) {
    }
    bool go_on = !progress->is_stopped;
    pthread_mutex_unlock(&progress->mutex);
    return go_on;
}

static void *run(void *argument)
{
    struct cli_progress *progress = argument;

    while (sleep_on(progress)) {
        show_holder(progress);
    }
    if (progress->columns_used > 0) {
        show(progress, "");
    }
    for (size_t i = 0; i < CLI_SERVERS_MAX; i++) {
        hf_client_close(progress->clients[i]);
    }
    for (size_t i = 0; i < progress->lock_count; i++) {
        hf_lock_free(progress->locks[i]);
    }
    return NULL;
}

static void destroy(struct cli_progress *progress)
{
    pthread_cond_destroy(&progress->stopped);
    pthread_mutex_destroy(&progress->mutex);
    free(progress);
}

struct cli_progress *cli_progress_start(const struct cli_context *ctx,
                                        const struct cli_subject *subject)
{
    pthread_condattr_t monotonic;
    size_t servers = subject->group == NULL ? 1 : subject->group->client_count;
    size_t locks = servers * subject->name_count;

    if (!isatty(STDERR_FILENO)) {
        return NULL;
    }
    struct cli_progress *progress = calloc(1, sizeof(*progress) +
                                                  locks * sizeof(hf_lock *));
    if (progress == NULL) {
        return NULL; /* the wait itself does not need it */
    }
    progress->ctx = *ctx;
    progress->subject = *subject;
    progress->lock_count = locks;
    cli_printable(subject->name, strlen(subject->name), progress->shown,
                  sizeof(progress->shown));
    clock_gettime(CLOCK_MONOTONIC, &progress->started_at);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&progress->stopped, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&progress->mutex, NULL);
    if (pthread_create(&progress->thread, NULL, run, progress) != 0) {
        destroy(progress);
        return NULL;
    }
    return progress;
}

void cli_progress_stop(struct cli_progress *progress)
{
    if (progress == NULL) {
        return;
    }
    pthread_mutex_lock(&progress->mutex);
    progress->is_stopped = true;
    pthread_cond_signal(&progress->stopped);
    pthread_mutex_unlock(&progress->mutex);
    pthread_join(progress->thread, NULL);
    destroy(progress);
}
