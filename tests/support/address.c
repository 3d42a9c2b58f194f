/* SPDX-License-Identifier: MIT */
/* address.c - where a proxy or a fake server listens.
 */
#include "support/address.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "support/fatal.h"

#define BACKLOG 512
#define SOCKET_FLAGS (SOCK_CLOEXEC | SOCK_NONBLOCK)

struct hft_address hft_address_tcp(void)
{
    struct hft_address address = {.port = hft_port_reserve()};

    address.url = hft_format("redis://127.0.0.1:%d", address.port.number);
    return address;
}

struct hft_address hft_address_unix(void)
{
    struct hft_address address = {.port = {.reservation = -1}};

    address.folder = hft_scratch_new();
    address.path = hft_format("%s/front.sock", address.folder);
    address.url = hft_format("unix:%s", address.path);
    return address;
}

void hft_address_free(struct hft_address *address)
{
    hft_port_give_back(&address->port);
    hft_scratch_delete(address->folder);
    free(address->path);
    free(address->url);
}

static struct sockaddr_un unix_name(const char *path)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    size_t size = strlen(path) + 1;

    if (size > sizeof(name.sun_path)) {
        hft_die("too long for a Unix socket: %s", path);
    }
    memcpy(name.sun_path, path, size);
    return name;
}

static bool bind_path(int fd, const char *path)
{
    struct sockaddr_un name = unix_name(path);

    (void)unlink(path);
    return bind(fd, (const struct sockaddr *)&name, sizeof(name)) == 0;
}

static bool bind_port(int fd, int port)
{
    struct sockaddr_in name = {.sin_family = AF_INET};
    int one = 1;

    name.sin_port = htons((uint16_t)port);
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    return bind(fd, (const struct sockaddr *)&name, sizeof(name)) == 0;
}

int hft_address_listen(const struct hft_address *address)
{
    bool is_path = address->path != NULL;
    int fd = socket(is_path ? AF_UNIX : AF_INET, SOCK_STREAM | SOCKET_FLAGS, 0);

    if (fd < 0 ||
        !(is_path ? bind_path(fd, address->path)
                  : bind_port(fd, address->port.number)) ||
        listen(fd, BACKLOG) != 0) {
        hft_die("cannot listen on %s: %s", address->url, strerror(errno));
    }
    return fd;
}

int hft_address_accept(int listen_fd)
{
    int fd = accept4(listen_fd, NULL, NULL, SOCKET_FLAGS);
    int one = 1;

    if (fd >= 0) {
        /* Not on a Unix socket, where it fails and does not matter. */
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    }
    return fd;
}

int hft_connect_unix(const char *path)
{
    struct sockaddr_un name = unix_name(path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCKET_FLAGS, 0);

    if (fd < 0) {
        return -1;
    }
    if (connect(fd, (const struct sockaddr *)&name, sizeof(name)) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}
