/* SPDX-License-Identifier: MIT */
/* The private server: start it once, stop it, look whether it runs.
 *
 * Who starts or stops it holds an flock on NAME.lock; everybody else waits for
 * that, looks again, and finds it running.  The server itself never has that
 * descriptor.  A dead server leaves its socket behind, at which nobody listens;
 * the next one takes its place.
 *
 * Starting fails with the last line of the server's log.  A server that lives
 * but does not answer (stopped, or busy for long) is never replaced: locks are
 * held on it.
 *
 * All waiting is bounded.  Blocks; any thread.
 */
#include "net/local_server.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fail.h"
#include "net/local_ask.h"
#include "net/local_place.h"
#include "net/local_spawn.h"

/* Starting takes some 20 ms; a machine that swaps may take a hundred times as
 * long. */
#define START_LIMIT_MS 5000
#define STOP_LIMIT_MS 5000

/* One answer to PING.  Only a server in trouble takes longer. */
#define ANSWER_LIMIT_MS 1000

/* Somebody before us may use up both of the first two. */
#define LOCK_LIMIT_MS (START_LIMIT_MS + STOP_LIMIT_MS)

/* Between two looks: first soon, then seldom. */
#define PAUSE_FIRST_MS 1
#define PAUSE_MOST_MS 50

static void pause_for(int *pause_ms)
{
    (void)poll(NULL, 0, *pause_ms);
    *pause_ms *= 2;
    if (*pause_ms > PAUSE_MOST_MS) {
        *pause_ms = PAUSE_MOST_MS;
    }
}

static void fill(const struct hfi_local_place *place, bool running, int64_t pid,
                 struct hfi_local_server *ret_server)
{
    if (ret_server != NULL) {
        ret_server->running = running;
        ret_server->pid = pid;
        memcpy(ret_server->socket, place->socket, sizeof(ret_server->socket));
    }
}

static hf_status take_lock(const struct hfi_local_place *place, int *ret_fd,
                           hf_error *reterr)
{
    int64_t deadline_ms = hfi_clock_ms() + LOCK_LIMIT_MS;
    int pause_ms = PAUSE_FIRST_MS;
    int fd = open(place->lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
                  S_IRUSR | S_IWUSR);
    int sys_errno;

    if (fd < 0) {
        return hfi_fail_errno(reterr, HF_SYSTEM, errno, "%s", place->lock);
    }
    while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        sys_errno = errno;
        if (sys_errno != EWOULDBLOCK && sys_errno != EINTR) {
            close(fd);
            return hfi_fail_errno(reterr, HF_SYSTEM, sys_errno, "%s",
                                  place->lock);
        }
        if (hfi_clock_ms() >= deadline_ms) {
            close(fd);
            return hfi_fail(reterr, HF_UNREACHABLE,
                            "another process is starting or stopping local:%s "
                            "and does not finish",
                            place->name);
        }
        pause_for(&pause_ms);
    }
    *ret_fd = fd;
    return HF_OK;
}

/* Unlocked explicitly: a copy of the descriptor in a child that was forked by
 * another thread meanwhile would keep it locked. */
static void drop_lock(int fd)
{
    (void)flock(fd, LOCK_UN);
    close(fd);
}

static hf_status did_not_start(const struct hfi_local_place *place,
                               enum hfi_presence presence, int64_t pid,
                               hf_error *reterr)
{
    char words[128];

    if (presence == HFI_MUTE) {
        return hfi_fail(reterr, HF_UNREACHABLE,
                        "the private server local:%s (process %" PRId64
                        ") runs, but does not answer",
                        place->name, pid);
    }
    hfi_local_last_words(place, words, sizeof(words));
    return hfi_fail(reterr, HF_UNREACHABLE,
                    "the private server local:%s did not start: %s",
                    place->name, words[0] != '\0' ? words : "it said nothing");
}

/* The process that made the daemon ends at about the time the daemon answers;
 * it should not stay behind as a zombie of the application's. */
static void bury(pid_t child)
{
    int64_t deadline_ms = hfi_clock_ms() + ANSWER_LIMIT_MS;
    int pause_ms = PAUSE_FIRST_MS;

    (void)hfi_local_spawn_failed(&child);
    while (child != 0 && hfi_clock_ms() < deadline_ms) {
        pause_for(&pause_ms);
        (void)hfi_local_spawn_failed(&child);
    }
}

/* Under the lock: spawn it once if nobody listens, and wait for its answer. */
static hf_status bring_up(const struct hfi_local_place *place, int64_t *ret_pid,
                          hf_error *reterr)
{
    int64_t deadline_ms = hfi_clock_ms() + START_LIMIT_MS;
    int pause_ms = PAUSE_FIRST_MS;
    bool spawned = false;
    pid_t child = 0;

    for (;;) {
        enum hfi_presence presence;
        hf_status status = hfi_local_ask(&place->address, ANSWER_LIMIT_MS,
                                         &presence, ret_pid, reterr);

        if (status == HF_OK && presence == HFI_ABSENT && !spawned) {
            status = hfi_local_spawn(place, &child, reterr);
            spawned = true;
        } else if (status == HF_OK && presence != HFI_ANSWERS &&
                   (hfi_local_spawn_failed(&child) ||
                    hfi_clock_ms() >= deadline_ms)) {
            status = did_not_start(place, presence, *ret_pid, reterr);
        }
        if (status != HF_OK || presence == HFI_ANSWERS) {
            bury(child);
            return status;
        }
        pause_for(&pause_ms);
    }
}

static hf_status start_at(const struct hfi_local_place *place, int64_t *ret_pid,
                          hf_error *reterr)
{
    enum hfi_presence presence;
    hf_status status;
    int lock = -1;

    /* Mostly it runs: that costs no lock. */
    status = hfi_local_ask(&place->address, ANSWER_LIMIT_MS, &presence, ret_pid,
                           reterr);
    if (status != HF_OK || presence == HFI_ANSWERS) {
        return status;
    }
    status = take_lock(place, &lock, reterr);
    if (status != HF_OK) {
        return status;
    }
    status = bring_up(place, ret_pid, reterr);
    drop_lock(lock);
    return status;
}

hf_status hfi_local_server_start(const char *name,
                                 struct hfi_local_server *ret_server,
                                 hf_error *reterr)
{
    struct hfi_local_place place;
    int64_t pid = 0;
    hf_status status = hfi_local_place_find(name, &place, reterr);

    if (status != HF_OK) {
        return status;
    }
    status = start_at(&place, &pid, reterr);
    if (status != HF_OK) {
        hfi_error_node(reterr, place.socket);
        return status;
    }
    fill(&place, true, pid, ret_server);
    return HF_OK;
}

hf_status hfi_local_server_stop(const char *name, hf_error *reterr)
{
    struct hfi_local_place place;
    hf_error why;
    hf_status status = hfi_local_place_find(name, &place, reterr);
    int lock = -1;

    if (status != HF_OK) {
        return status;
    }
    status = take_lock(&place, &lock, reterr);
    if (status != HF_OK) {
        return status;
    }
    status = hfi_local_end(&place.address, STOP_LIMIT_MS, &why);
    drop_lock(lock);
    if (status != HF_OK) {
        (void)hfi_fail(reterr, status,
                       "the private server local:%s cannot be stopped: %s",
                       name, why.message);
        hfi_error_node(reterr, place.socket);
    }
    return status;
}

hf_status hfi_local_server_status(const char *name,
                                  struct hfi_local_server *ret_server,
                                  hf_error *reterr)
{
    struct hfi_local_place place;
    enum hfi_presence presence = HFI_ABSENT;
    int64_t pid = 0;
    hf_status status = hfi_local_place_find(name, &place, reterr);

    if (status == HF_OK) {
        status = hfi_local_ask(&place.address, ANSWER_LIMIT_MS, &presence, &pid,
                               reterr);
    }
    if (status == HF_OK) {
        fill(&place, presence == HFI_ANSWERS, pid, ret_server);
    }
    return status;
}

hf_status hfi_local_server_socket(const char *name, char *buf, size_t size,
                                  hf_error *reterr)
{
    struct hfi_local_place place;
    hf_status status = hfi_local_place_find(name, &place, reterr);

    if (status != HF_OK) {
        return status;
    }
    if (strlen(place.socket) >= size) {
        return hfi_fail(reterr, HF_INTERNAL, "no room for a socket's path");
    }
    memcpy(buf, place.socket, strlen(place.socket) + 1);
    return HF_OK;
}
