/* SPDX-License-Identifier: MIT */
/* base/url.h - where a server is, as the user wrote it.
 *
 *   redis://[user[:password]@]host[:port][/database]
 *   unix:/path[?db=N]      unix:///path[?db=N]
 *   unix://[user[:password]@]/path[?db=N]
 *   local:NAME             letters, digits, `.`, `_`, `-`; 1 to 64
 *
 * %NN is decoded in users, passwords and paths.  An IPv6 host is in brackets;
 * a zone is written %25eth0.  `redis://:password@host` has no user, and
 * `redis://user@host` no password: that comes from elsewhere.
 */
#ifndef HFI_BASE_URL_H
#define HFI_BASE_URL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "holdfast/status.h"

#define HFI_URL_MAX 4096      /* bytes; a longer text is a mistake */
#define HFI_LOCAL_NAME_MAX 64 /* bytes of NAME */
#define HFI_URL_DEFAULT_PORT 6379

enum hfi_url_kind { HFI_URL_TCP, HFI_URL_UNIX, HFI_URL_LOCAL };

/* What does not belong to the kind is NULL or 0. */
struct hfi_url {
    enum hfi_url_kind kind;
    char *host;     /* TCP; without brackets */
    uint16_t port;  /* TCP */
    char *path;     /* UNIX; absolute */
    char *name;     /* LOCAL */
    char *user;     /* or NULL */
    char *password; /* or NULL; may be "" beside a user */
    int database;
};

/* Parse a text.  Never blocks.
 * @param ret_url initialised on HF_OK, free with hfi_url_free(); else all zero.
 * @retval HF_OK, HF_NOMEM
 * @retval HF_BAD_URL  the message names the part that is wrong.  It never
 *                     quotes what might be a password. */
hf_status hfi_url_parse(const char *text, struct hfi_url *ret_url,
                        hf_error *reterr);

/* Free what is inside and zero it; passwords are overwritten first.  An all
 * zero one is fine. */
void hfi_url_free(struct hfi_url *url);

/* For people, without user and password: "127.0.0.1:6379/0", "[::1]:6379/0",
 * "unix:/run/redis.sock" ("?db=3" behind it unless it is 0), "local:default".
 * Always terminated, cut if it must be; returns the length it wanted, as
 * snprintf() does. */
int hfi_url_describe(const struct hfi_url *url, char *buf, size_t size);

/* Whether NAME in local:NAME is well-formed. */
bool hfi_local_name_is_valid(const char *name);

#endif
