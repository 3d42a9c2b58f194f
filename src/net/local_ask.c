/* SPDX-License-Identifier: MIT */
/* Asking a private server whether it lives, and telling it to end.
 *
 * Whether anybody listens is the kernel's word (connect() succeeds, or is told
 * to come back), not the server's: one that is stopped, or busy with a script,
 * lives and holds locks although it does not answer.  A second server must never
 * be started beside it.
 *
 * The process that listens is known from the socket too (SO_PEERCRED), even of
 * a server that is mute.  Blocks; any thread.
 */
#include "net/local_ask.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fail.h"

/* Wait until a descriptor is readable (or broken); false: not in time. */
static bool wait_readable(int fd, int64_t deadline_ms)
{
    for (;;) {
        struct pollfd one = {.fd = fd, .events = POLLIN};
        int64_t left_ms = deadline_ms - hfi_clock_ms();
        int ready = poll(&one, 1, left_ms > 0 ? (int)left_ms : 0);

        if (ready > 0) {
            return true;
        }
        if (left_ms <= 0 || (ready < 0 && errno != EINTR)) {
            return false;
        }
    }
}

/* The process behind a connected socket, or 0. */
static int64_t peer_of(int fd)
{
    struct ucred peer = {0, 0, 0};
    socklen_t len = sizeof(peer);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0) {
        return 0;
    }
    return peer.pid;
}

/* Connect, or learn why not; *ret_fd is -1 unless it is connected.  To a Unix
 * socket this never takes time. */
static hf_status meet(const struct hfi_address *address, int *ret_fd,
                      enum hfi_presence *ret_presence, hf_error *reterr)
{
    hf_error error;
    hf_status status = hfi_socket_start(address, ret_fd, &error);

    if (status == HF_OK) {
        *ret_presence = HFI_MUTE;
        return HF_OK;
    }
    if (error.sys_errno == ENOENT || error.sys_errno == ECONNREFUSED) {
        *ret_presence = HFI_ABSENT;
        return HF_OK;
    }
    if (error.sys_errno == EAGAIN) {
        /* So many are waiting to be let in that there is no room for us. */
        *ret_presence = HFI_MUTE;
        return HF_OK;
    }
    if (reterr != NULL) {
        *reterr = error;
    }
    return status;
}

static bool say(int fd, const char *words)
{
    size_t len = strlen(words);

    /* A socket that was just connected takes a few bytes at once. */
    return hfi_socket_write(fd, words, len) == (ssize_t)len;
}

/* Read a line's worth; how much there was, or -1 at the connection's end.  What
 * came in time is terminated in `buf`. */
static ssize_t hear(int fd, char *buf, size_t size, int64_t deadline_ms)
{
    size_t used = 0;

    buf[0] = '\0';
    while (used + 1 < size && strchr(buf, '\n') == NULL) {
        ssize_t got;

        if (!wait_readable(fd, deadline_ms)) {
            break;
        }
        got = hfi_socket_read(fd, buf + used, size - used - 1);
        if (got < 0) {
            return used > 0 ? (ssize_t)used : -1;
        }
        used += (size_t)got;
        buf[used] = '\0';
    }
    return (ssize_t)used;
}

hf_status hfi_local_ask(const struct hfi_address *address, int64_t limit_ms,
                        enum hfi_presence *ret_presence, int64_t *ret_pid,
                        hf_error *reterr)
{
    int64_t deadline_ms = hfi_clock_ms() + limit_ms;
    char words[64];
    int fd = -1;
    hf_status status;

    *ret_pid = 0;
    status = meet(address, &fd, ret_presence, reterr);
    if (status != HF_OK || fd < 0) {
        return status;
    }
    *ret_pid = peer_of(fd);
    if (limit_ms > 0 && say(fd, "PING\r\n") &&
        hear(fd, words, sizeof(words), deadline_ms) > 0 &&
        strncmp(words, "+PONG", 5) == 0) {
        *ret_presence = HFI_ANSWERS;
    }
    close(fd);
    return HF_OK;
}

/* A descriptor that is readable once the process has ended; -1 if this kernel
 * has none to give. */
static int watch_process(int64_t pid)
{
#ifdef SYS_pidfd_open
    if (pid > 0) {
        return (int)syscall(SYS_pidfd_open, (pid_t)pid, 0U);
    }
#endif
    (void)pid;
    return -1;
}

/* After SHUTDOWN: the connection ends with the process, which closes it on its
 * way out; words instead are a refusal. */
static hf_status wait_for_end(int fd, int process_fd, int64_t deadline_ms,
                              hf_error *reterr)
{
    char words[128];
    ssize_t heard = hear(fd, words, sizeof(words), deadline_ms);

    if (heard > 0) {
        return hfi_fail(reterr, HF_UNREACHABLE, "it refuses to end: %.*s",
                        (int)strcspn(words, "\r\n"), words);
    }
    if (heard == 0 ||
        (process_fd >= 0 && !wait_readable(process_fd, deadline_ms))) {
        return hfi_fail(reterr, HF_UNREACHABLE,
                        "it does not answer in time, and ends when it goes on");
    }
    return HF_OK;
}

hf_status hfi_local_end(const struct hfi_address *address, int64_t limit_ms,
                        hf_error *reterr)
{
    int64_t deadline_ms = hfi_clock_ms() + limit_ms;
    enum hfi_presence presence;
    int process_fd;
    int fd = -1;
    hf_status status = meet(address, &fd, &presence, reterr);

    if (status != HF_OK || presence == HFI_ABSENT) {
        return status;
    }
    if (fd < 0) {
        return hfi_fail(reterr, HF_UNREACHABLE, "it lets nobody in");
    }
    process_fd = watch_process(peer_of(fd));
    if (say(fd, "SHUTDOWN NOSAVE\r\n")) {
        status = wait_for_end(fd, process_fd, deadline_ms, reterr);
    } else {
        status = hfi_fail(reterr, HF_UNREACHABLE, "it hears nothing");
    }
    if (process_fd >= 0) {
        close(process_fd);
    }
    close(fd);
    return status;
}
