/* SPDX-License-Identifier: MIT */
/* address.h - where bare hiredis connects: the same URLs as hf_client_open(),
 * read here once more because the floor must not stand on the library.
 */
#ifndef BENCH_ADDRESS_H
#define BENCH_ADDRESS_H

#include <stdbool.h>

struct address {
    char *path; /* of a Unix socket, or NULL */
    char *host; /* NULL if there is a path */
    int port;
    char *user;     /* NULL: none */
    char *password; /* NULL: none */
    int database;
};

/* Understands redis://, unix: and local: (whose server it starts).  @return
 * false if it does not; free with address_free() either way. */
bool address_parse(const char *url, struct address *ret_address);

/* A password that wins over the URL's; NULL changes nothing.  @return false:
 * out of memory. */
bool address_set_password(struct address *address, const char *password);

void address_free(struct address *address);

#endif
