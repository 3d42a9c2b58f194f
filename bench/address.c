/* SPDX-License-Identifier: MIT */
/* address.c - see address.h.
 *
 *     redis://[user[:password]@]host[:port][/database]
 *     unix:/path/to/socket[?db=N]
 *     local:NAME
 *
 * A copy of the text is cut into pieces from the right: what a piece is, is
 * said by the character before it.
 */
#include "bench/address.h"

#include <stdlib.h>
#include <string.h>

#include "holdfast/server.h"

#define REDIS_PORT 6379

/* "%41" becomes "A"; @return a copy, or NULL. */
static char *decode(const char *text)
{
    char *copy = malloc(strlen(text) + 1);
    size_t used = 0;

    if (copy == NULL) {
        return NULL;
    }
    while (*text != '\0') {
        char hex[3] = {0};

        if (*text == '%' && text[1] != '\0' && text[2] != '\0') {
            memcpy(hex, text + 1, 2);
            copy[used++] = (char)strtol(hex, NULL, 16);
            text += 3;
        } else {
            copy[used++] = *text++;
        }
    }
    copy[used] = '\0';
    return copy;
}

static bool read_number(const char *text, int *ret_number)
{
    char *end;
    long number = strtol(text, &end, 10);

    if (end == text || *end != '\0' || number < 0 || number > 65535) {
        return false;
    }
    *ret_number = (int)number;
    return true;
}

/* Cut `text` at the last `mark`; @return what stood behind it, or NULL. */
static char *cut_last(char *text, char mark)
{
    char *at = strrchr(text, mark);

    if (at == NULL) {
        return NULL;
    }
    *at = '\0';
    return at + 1;
}

static bool read_unix(char *rest, struct address *address)
{
    char *query = cut_last(rest, '?');

    if (query != NULL && (strncmp(query, "db=", 3) != 0 ||
                          !read_number(query + 3, &address->database))) {
        return false;
    }
    address->path = decode(rest);
    return address->path != NULL;
}

static bool read_local(const char *name, struct address *address)
{
    hf_server_info info = HF_SERVER_INFO_INIT;

    if (hf_server_start(name, &info, NULL) != HF_OK) {
        return false;
    }
    address->path = strdup(info.socket);
    return address->path != NULL;
}

static bool read_login(char *login, struct address *address)
{
    char *password = strchr(login, ':');

    if (password != NULL) {
        *password = '\0';
        address->password = decode(password + 1);
        if (address->password == NULL) {
            return false;
        }
    }
    if (*login == '\0') {
        return true;
    }
    address->user = decode(login);
    return address->user != NULL;
}

/* "host", "host:port", "[v6]" or "[v6]:port". */
static bool read_place(char *place, struct address *address)
{
    char *port = NULL;

    if (*place == '[') {
        port = cut_last(place, ']');
        if (port == NULL || (*port != '\0' && *port != ':')) {
            return false;
        }
        port = *port == ':' ? port + 1 : NULL;
        place++;
    } else {
        port = cut_last(place, ':');
    }
    if (port != NULL && !read_number(port, &address->port)) {
        return false;
    }
    address->host = decode(place);
    return address->host != NULL;
}

static bool read_redis(char *rest, struct address *address)
{
    char *place = cut_last(rest, '@');
    char *database;

    if (place == NULL) {
        place = rest;
    } else if (!read_login(rest, address)) {
        return false;
    }
    database = cut_last(place, '/');
    if (database != NULL && *database != '\0' &&
        !read_number(database, &address->database)) {
        return false;
    }
    return read_place(place, address);
}

/* What follows the scheme, or NULL. */
static char *after(char *text, const char *scheme)
{
    size_t length = strlen(scheme);

    return strncmp(text, scheme, length) == 0 ? text + length : NULL;
}

static bool read_url(char *text, struct address *address)
{
    char *rest;

    if ((rest = after(text, "redis://")) != NULL) {
        return read_redis(rest, address);
    }
    if ((rest = after(text, "unix:")) != NULL) {
        return read_unix(rest, address);
    }
    if ((rest = after(text, "local:")) != NULL) {
        return read_local(rest, address);
    }
    return false;
}

bool address_parse(const char *url, struct address *ret_address)
{
    char *text = strdup(url);
    bool ok;

    *ret_address = (struct address){.port = REDIS_PORT};
    if (text == NULL) {
        return false;
    }
    ok = read_url(text, ret_address);
    free(text);
    return ok;
}

bool address_set_password(struct address *address, const char *password)
{
    if (password != NULL) {
        free(address->password);
        address->password = strdup(password);
    }
    return password == NULL || address->password != NULL;
}

void address_free(struct address *address)
{
    free(address->path);
    free(address->host);
    free(address->user);
    free(address->password);
    *address = (struct address){0};
}
