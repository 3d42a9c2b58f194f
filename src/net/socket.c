/* SPDX-License-Identifier: MIT */
/* Sockets.
 *
 * hfi_socket_start() makes a socket that does not block and begins to connect
 * it; whoever polls it learns the outcome from hfi_socket_error().  Running out
 * of descriptors is this process's trouble (HF_SYSTEM), all else is the way to
 * the server (HF_UNREACHABLE), and the caller tries again later.
 */
#include "net/socket.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fail.h"

/* Keep-alive finds the death of the other side's machine on a link that owes us
 * nothing (a waiter's subscription) in about a minute.  On links that do owe an
 * answer the response limit finds it much sooner. */
#define KEEPALIVE_IDLE_S 30
#define KEEPALIVE_INTERVAL_S 10
#define KEEPALIVE_PROBES 3

hf_status hfi_address_unix(const char *path, struct hfi_address *ret_address,
                           hf_error *reterr)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    size_t len = strlen(path);

    memset(ret_address, 0, sizeof(*ret_address));
    if (len == 0) {
        return hfi_fail(reterr, HF_BAD_URL, "the path of the socket is empty");
    }
    if (len >= sizeof(name.sun_path)) {
        return hfi_fail(reterr, HF_BAD_URL,
                        "the path of the socket has %zu bytes; this system "
                        "allows %zu: %s",
                        len, sizeof(name.sun_path) - 1, path);
    }
    memcpy(name.sun_path, path, len + 1);
    memcpy(&ret_address->addr, &name, sizeof(name));
    ret_address->len = sizeof(name);
    hfi_printable(ret_address->text, sizeof(ret_address->text), path, len);
    return HF_OK;
}

/* The options make a link better, but it works without them; one that fails is
 * no reason not to connect. */
static void set_tcp_options(int fd)
{
    static const struct {
        int level;
        int name;
        int value;
    } options[] = {
        /* A request is written whole: there is nothing to wait for. */
        {IPPROTO_TCP, TCP_NODELAY, 1},
        {SOL_SOCKET, SO_KEEPALIVE, 1},
        {IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_IDLE_S},
        {IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_INTERVAL_S},
        {IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_PROBES},
    };

    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        (void)setsockopt(fd, options[i].level, options[i].name,
                         &options[i].value, sizeof(options[i].value));
    }
}

static hf_status cannot_start(const struct hfi_address *address, int sys_errno,
                              hf_error *reterr)
{
    bool ours = sys_errno == EMFILE || sys_errno == ENFILE ||
                sys_errno == ENOBUFS || sys_errno == ENOMEM;

    if (ours) {
        (void)hfi_fail_errno(reterr, HF_SYSTEM, sys_errno, "no socket for %s",
                             address->text);
    } else {
        (void)hfi_fail_errno(reterr, HF_UNREACHABLE, sys_errno,
                             "cannot connect to %s", address->text);
    }
    hfi_error_node(reterr, address->text);
    return ours ? HF_SYSTEM : HF_UNREACHABLE;
}

hf_status hfi_socket_start(const struct hfi_address *address, int *ret_fd,
                           hf_error *reterr)
{
    int fd = socket(address->addr.ss_family,
                    SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    *ret_fd = -1;
    if (fd < 0) {
        return cannot_start(address, errno, reterr);
    }
    if (address->addr.ss_family != AF_UNIX) {
        set_tcp_options(fd);
    }
    /* After EINTR connecting goes on by itself, as after EINPROGRESS. */
    if (connect(fd, (const struct sockaddr *)&address->addr, address->len) <
            0 &&
        errno != EINPROGRESS && errno != EINTR) {
        int sys_errno = errno;

        close(fd);
        return cannot_start(address, sys_errno, reterr);
    }
    *ret_fd = fd;
    return HF_OK;
}

int hfi_socket_error(int fd)
{
    int sys_errno = 0;
    socklen_t len = sizeof(sys_errno);

    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &sys_errno, &len) < 0) {
        return errno;
    }
    return sys_errno;
}

static bool is_would_block(int sys_errno)
{
    /* They are the same number here, but not everywhere. */
#if EAGAIN != EWOULDBLOCK
    if (sys_errno == EWOULDBLOCK) {
        return true;
    }
#endif
    return sys_errno == EAGAIN;
}

ssize_t hfi_socket_write(int fd, const void *bytes, size_t len)
{
    ssize_t done;

    do {
        done = send(fd, bytes, len, MSG_NOSIGNAL);
    } while (done < 0 && errno == EINTR);
    return done < 0 && is_would_block(errno) ? 0 : done;
}

ssize_t hfi_socket_read(int fd, void *buf, size_t len)
{
    ssize_t done;

    do {
        done = recv(fd, buf, len, 0);
    } while (done < 0 && errno == EINTR);
    if (done == 0) {
        errno = ECONNRESET;
        return -1;
    }
    return done < 0 && is_would_block(errno) ? 0 : done;
}
