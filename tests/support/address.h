/* SPDX-License-Identifier: MIT */
/* address.h - where a proxy or a fake server listens.
 */
#ifndef HFT_ADDRESS_H
#define HFT_ADDRESS_H

#include "support/scratch.h"

/* A port of 127.0.0.1, or a Unix socket in a scratch folder of its own. */
struct hft_address {
    char *url;            /* for hf_client_open() */
    char *path;           /* NULL: a port */
    char *folder;         /* of the path */
    struct hft_port port; /* number 0: a path */
};

/* Find a free one.  Nobody listens there yet. */
struct hft_address hft_address_tcp(void);
struct hft_address hft_address_unix(void);
void hft_address_free(struct hft_address *address);

/* Listen; returns a descriptor that does not block.  Cannot fail. */
int hft_address_listen(const struct hft_address *address);

/* Accept one connection, made not to block nor to delay; -1: there is none. */
int hft_address_accept(int listen_fd);

/* Connect to a Unix socket, made not to block; -1: nobody is there. */
int hft_connect_unix(const char *path);

#endif
