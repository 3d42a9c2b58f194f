/* SPDX-License-Identifier: MIT */
/* net/socket.h - sockets that never block and never raise SIGPIPE. */
#ifndef HFI_NET_SOCKET_H
#define HFI_NET_SOCKET_H

#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "holdfast/status.h"

struct hfi_address {
    struct sockaddr_storage addr;
    socklen_t len;
    char text[64]; /* for people: "10.0.0.7:6379", "[::1]:6379", or a path */
};

/* The address of a Unix socket.
 * @retval HF_OK
 * @retval HF_BAD_URL  the path is empty or longer than the system allows. */
hf_status hfi_address_unix(const char *path, struct hfi_address *ret_address,
                           hf_error *reterr);

/* Make a socket (non-blocking, close-on-exec, TCP without delay and with
 * keep-alive) and begin to connect it.  Then wait for POLLOUT and ask
 * hfi_socket_error().
 * @param ret_fd  returned, close with close(); -1 unless the result is HF_OK.
 * @retval HF_OK           connected or under way.
 * @retval HF_UNREACHABLE  refused at once; errno and node are in the error.
 * @retval HF_SYSTEM       no descriptor or memory for a socket. */
hf_status hfi_socket_start(const struct hfi_address *address, int *ret_fd,
                           hf_error *reterr);

/* How connecting ended, once POLLOUT was reported: 0, or an errno. */
int hfi_socket_error(int fd);

/* Write or read some bytes.  Both go on after EINTR and return
 *    n > 0  bytes done,
 *    0      nothing now: wait for POLLOUT or POLLIN,
 *    -1     the connection is dead; errno says why.  When the other side has
 *           closed it properly, a read sets ECONNRESET too: for a client of
 *           Redis there is no difference.
 * `len` must not be 0. */
ssize_t hfi_socket_write(int fd, const void *bytes, size_t len);
ssize_t hfi_socket_read(int fd, void *buf, size_t len);

#endif
