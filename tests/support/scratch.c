/* SPDX-License-Identifier: MIT */
/* scratch.c - folders that go away with the test, and ports of our own.
 *
 * Folders are kept in a list, so that an exit handler deletes those whose test
 * failed half way.  Only the process that made a folder deletes it: a forked
 * child that exits must not pull it from under its parent.
 *
 * A port is reserved by binding an abstract Unix socket named after it: two
 * test programs cannot both do that, and the kernel undoes it when we die.
 */
#include "support/scratch.h"

#include <ftw.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "support/fatal.h"

#define DEPTH_OF_WALK 16
#define FIRST_PORT 20000 /* below the kernel's 32768 for outgoing ones */
#define PORT_COUNT 12000
#define PORT_TRIES 1000

struct folder {
    struct folder *next;
    char *path;
    pid_t maker;
};

static pthread_mutex_t folders_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct folder *folders;

static int delete_entry(const char *path, const struct stat *status, int type,
                        struct FTW *where)
{
    (void)status;
    (void)type;
    (void)where;
    /* What is gone already, or still being written, must not stop the walk. */
    (void)remove(path);
    return 0;
}

/* Also right for a path that is not there. */
static void delete_tree(const char *path)
{
    (void)nftw(path, delete_entry, DEPTH_OF_WALK, FTW_DEPTH | FTW_PHYS);
}

static void delete_forgotten(void)
{
    struct folder *folder;
    struct folder *next;

    for (folder = folders; folder != NULL; folder = next) {
        next = folder->next;
        if (folder->maker == getpid()) {
            delete_tree(folder->path);
        }
        free(folder->path);
        free(folder);
    }
    folders = NULL;
}

static void remember(const char *path)
{
    static bool handler_set;
    struct folder *folder = hft_alloc(sizeof(*folder));

    folder->path = hft_copy_text(path);
    folder->maker = getpid();
    pthread_mutex_lock(&folders_mutex);
    if (!handler_set) {
        handler_set = true;
        atexit(delete_forgotten);
    }
    folder->next = folders;
    folders = folder;
    pthread_mutex_unlock(&folders_mutex);
}

static void forget(const char *path)
{
    struct folder **at;
    struct folder *found;

    pthread_mutex_lock(&folders_mutex);
    for (at = &folders; *at != NULL; at = &(*at)->next) {
        if (strcmp((*at)->path, path) == 0) {
            found = *at;
            *at = found->next;
            free(found->path);
            free(found);
            break;
        }
    }
    pthread_mutex_unlock(&folders_mutex);
}

char *hft_scratch_new(void)
{
    const char *parent = getenv("TMPDIR");
    char *path;

    path = hft_format("%s/hft-XXXXXX", parent != NULL ? parent : "/tmp");
    if (mkdtemp(path) == NULL) {
        hft_die("cannot make a folder %s", path);
    }
    remember(path);
    return path;
}

void hft_scratch_delete(char *path)
{
    if (path == NULL) {
        return;
    }
    delete_tree(path);
    forget(path);
    free(path);
}

void hft_scratch_delete_inner(const char *path)
{
    delete_tree(path);
}

/* Bind an abstract socket named after the port; -1 if somebody else has. */
static int reserve_name(int number)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    socklen_t length;
    int fd;

    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        hft_die("no socket to reserve a port with");
    }
    /* A first byte of 0 is what makes the name abstract. */
    length = (socklen_t)snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1,
                                 "holdfast-test-port-%d", number);
    length += (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1);
    if (bind(fd, (const struct sockaddr *)&name, length) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static bool nobody_listens(int number)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    int one = 1;
    bool bound;
    int fd;

    address.sin_port = htons((uint16_t)number);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        hft_die("no socket to try a port with");
    }
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    bound = bind(fd, (const struct sockaddr *)&address, sizeof(address)) == 0;
    close(fd);
    return bound;
}

struct hft_port hft_port_reserve(void)
{
    static int turn; /* a process does not offer itself one port twice */
    struct hft_port port;
    int start;
    int i;

    pthread_mutex_lock(&folders_mutex);
    start = (int)getpid() * 31 + turn;
    turn += PORT_TRIES / 50;
    pthread_mutex_unlock(&folders_mutex);
    for (i = 0; i < PORT_TRIES; i++) {
        port.number = FIRST_PORT + (start + i) % PORT_COUNT;
        port.reservation = reserve_name(port.number);
        if (port.reservation < 0) {
            continue;
        }
        if (nobody_listens(port.number)) {
            return port;
        }
        close(port.reservation);
    }
    hft_die("no free port");
}

void hft_port_give_back(struct hft_port *port)
{
    if (port->reservation >= 0) {
        close(port->reservation);
    }
    port->number = 0;
    port->reservation = -1;
}
