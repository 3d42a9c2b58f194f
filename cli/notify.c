/* SPDX-License-Identifier: MIT */
/* notify.c - telling a service manager how we are.
 *
 * The protocol is one datagram; libsystemd would be a large guest for it.  A
 * name that begins with "@" is in Linux's abstract namespace.  A failure is
 * passed over: the manager has its own time limit.
 */
#include "notify.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

void cli_notify(const char *state)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *path = getenv("NOTIFY_SOCKET");

    if (path == NULL || (path[0] != '/' && path[0] != '@')) {
        return;
    }
    size_t length = strlen(path);
    if (length >= sizeof(address.sun_path)) {
        return;
    }
    memcpy(address.sun_path, path, length);
    if (path[0] == '@') {
        address.sun_path[0] = '\0';
    }
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return;
    }
    /* Without the terminating NUL, which would be part of an abstract name. */
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
                                 length);
    ssize_t ignored = sendto(fd, state, strlen(state), MSG_NOSIGNAL,
                             (const struct sockaddr *)&address, size);
    (void)ignored;
    close(fd);
}
