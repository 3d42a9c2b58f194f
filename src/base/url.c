/* SPDX-License-Identifier: MIT */
/* Reading URLs.
 *
 * The text is cut into spans, from the outside in: scheme, then what stands
 * before the '@', then the host, the port, the database.  Each span is checked
 * by a function of its own, which knows what to call it in a message.
 *
 * A message names the wrong part and never quotes it: a password that is not
 * written as it should be ("p/w") can end up in any part.  Only a scheme that
 * is followed by "://" is quoted.  Copies of passwords are overwritten before
 * they are freed.  Pure; any thread.
 */
#include "base/url.h"

#include <arpa/inet.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/fail.h"

/* A DNS name is at most 253 bytes long. */
#define HOST_MAX 255
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"

/* Some bytes of the text, not terminated. */
struct span {
    const char *at;
    size_t len;
};

static struct span span_of(const char *text)
{
    struct span span = {text, strlen(text)};

    return span;
}

/* Cut the span in two at a byte: the first part is returned, and *rest is what
 * follows the byte.  Without the byte nothing is cut and false is returned. */
static bool cut(struct span *rest, char byte, struct span *ret_before)
{
    const char *found = rest->len > 0 ? memchr(rest->at, byte, rest->len)
                                      : NULL;

    if (found == NULL) {
        return false;
    }
    ret_before->at = rest->at;
    ret_before->len = (size_t)(found - rest->at);
    rest->len -= ret_before->len + 1;
    rest->at = found + 1;
    return true;
}

/* The same at the last such byte. */
static bool cut_last(struct span *rest, char byte, struct span *ret_before)
{
    const char *found = rest->len > 0 ? memrchr(rest->at, byte, rest->len)
                                      : NULL;

    if (found == NULL) {
        return false;
    }
    ret_before->at = rest->at;
    ret_before->len = (size_t)(found - rest->at);
    rest->len -= ret_before->len + 1;
    rest->at = found + 1;
    return true;
}

static hf_status bad(hf_error *reterr, const char *what)
{
    return hfi_fail(reterr, HF_BAD_URL, "the server's URL: %s", what);
}

static hf_status no_memory(hf_error *reterr)
{
    return hfi_fail(reterr, HF_NOMEM, "out of memory");
}

static hf_status copy(struct span span, char **ret_text, hf_error *reterr)
{
    *ret_text = malloc(span.len + 1);
    if (*ret_text == NULL) {
        return no_memory(reterr);
    }
    memcpy(*ret_text, span.at, span.len);
    (*ret_text)[span.len] = '\0';
    return HF_OK;
}

static int hex_value(char digit)
{
    if (digit >= '0' && digit <= '9') {
        return digit - '0';
    }
    if (digit >= 'a' && digit <= 'f') {
        return digit - 'a' + 10;
    }
    if (digit >= 'A' && digit <= 'F') {
        return digit - 'A' + 10;
    }
    return -1;
}

/* Copy a span with %NN decoded.  `part` is its name for people. */
static hf_status decode(struct span span, const char *part, char **ret_text,
                        hf_error *reterr)
{
    char *out;

    *ret_text = malloc(span.len + 1);
    if (*ret_text == NULL) {
        return no_memory(reterr);
    }
    out = *ret_text;
    for (size_t i = 0; i < span.len; i++) {
        int high;
        int low;

        if (span.at[i] != '%') {
            *out++ = span.at[i];
            continue;
        }
        high = i + 2 < span.len ? hex_value(span.at[i + 1]) : -1;
        low = high >= 0 ? hex_value(span.at[i + 2]) : -1;
        if (low < 0 || (high == 0 && low == 0)) {
            *out = '\0'; /* so that the rest of it can be wiped */
            return hfi_fail(
                reterr, HF_BAD_URL,
                "the server's URL: %s has a %% that two hex "
                "digits (not 00) do not follow; a %% itself is %%25",
                part);
        }
        *out++ = (char)(high << 4 | low);
        i += 2;
    }
    *out = '\0';
    return HF_OK;
}

/* [user][:password], what stands before the '@'. */
static hf_status read_credentials(struct span span, struct hfi_url *url,
                                  hf_error *reterr)
{
    struct span user = span;
    bool has_password = cut(&span, ':', &user);
    hf_status status;

    if (user.len == 0 && (!has_password || span.len == 0)) {
        return bad(reterr, "the part before the @ is empty");
    }
    if (user.len > 0) {
        status = decode(user, "the user", &url->user, reterr);
        if (status != HF_OK) {
            return status;
        }
    }
    if (!has_password) {
        return HF_OK;
    }
    return decode(span, "the password", &url->password, reterr);
}

/* A number in plain digits up to a limit; -1 if it is none. */
static int64_t read_number(struct span span, int64_t limit)
{
    int64_t value = 0;

    if (span.len == 0) {
        return -1;
    }
    for (size_t i = 0; i < span.len; i++) {
        if (span.at[i] < '0' || span.at[i] > '9') {
            return -1;
        }
        value = value * 10 + (span.at[i] - '0');
        if (value > limit) {
            return -1;
        }
    }
    return value;
}

static hf_status read_port(struct span span, struct hfi_url *url,
                           hf_error *reterr)
{
    int64_t port = read_number(span, UINT16_MAX);

    if (port < 1) {
        return bad(reterr, "the port is not a number from 1 to 65535");
    }
    url->port = (uint16_t)port;
    return HF_OK;
}

static hf_status read_database(struct span span, struct hfi_url *url,
                               hf_error *reterr)
{
    int64_t database = read_number(span, INT_MAX);

    if (database < 0) {
        return bad(reterr, "the database is not a number from 0 on");
    }
    url->database = (int)database;
    return HF_OK;
}

static bool consists_of(const char *text, const char *bytes)
{
    return text[strspn(text, bytes)] == '\0';
}

/* Digits and dots are an address and nothing else: "10.0.0" or "10.0.0.256"
 * would be looked up, or read in a way that nobody meant. */
static bool is_host(const char *host)
{
    struct in_addr address;

    if (!consists_of(host, LETTERS DIGITS ".-_")) {
        return false;
    }
    if (consists_of(host, DIGITS ".")) {
        return inet_pton(AF_INET, host, &address) == 1;
    }
    return host[0] != '.' && host[0] != '-';
}

static bool is_ipv6(const char *host)
{
    struct in6_addr address;
    char digits[INET6_ADDRSTRLEN];
    size_t len = strcspn(host, "%");

    if (len >= sizeof(digits)) {
        return false;
    }
    memcpy(digits, host, len);
    digits[len] = '\0';
    if (inet_pton(AF_INET6, digits, &address) != 1) {
        return false;
    }
    /* A zone ("%eth0") needs a name. */
    return host[len] == '\0' ||
           (host[len + 1] != '\0' &&
            consists_of(host + len + 1, LETTERS DIGITS ".-_"));
}

/* "[...]"; what follows the bracket stays in *rest. */
static hf_status read_ipv6(struct span *rest, struct hfi_url *url,
                           hf_error *reterr)
{
    struct span inside = {NULL, 0};
    hf_status status;

    rest->at++;
    rest->len--;
    if (!cut(rest, ']', &inside)) {
        return bad(reterr, "the host has a [ without a ]");
    }
    status = decode(inside, "the host", &url->host, reterr);
    if (status == HF_OK && !is_ipv6(url->host)) {
        return bad(reterr, "what stands in brackets is no IPv6 address");
    }
    return status;
}

/* host[:port] */
static hf_status read_address(struct span span, struct hfi_url *url,
                              hf_error *reterr)
{
    struct span host = span;
    bool has_port;
    hf_status status;

    url->port = HFI_URL_DEFAULT_PORT;
    if (span.len > 0 && span.at[0] == '[') {
        status = read_ipv6(&span, url, reterr);
        if (status != HF_OK || span.len == 0) {
            return status;
        }
        if (!cut(&span, ':', &host) || host.len > 0) {
            return bad(reterr, "only a port may follow the ]");
        }
        return read_port(span, url, reterr);
    }
    has_port = cut(&span, ':', &host);
    if (has_port && memchr(span.at, ':', span.len) != NULL) {
        return bad(reterr, "an IPv6 address must be in brackets: [::1]:6379");
    }
    if (host.len == 0) {
        return bad(reterr, "the host is empty");
    }
    if (host.len > HOST_MAX) {
        return bad(reterr, "the host is too long");
    }
    status = copy(host, &url->host, reterr);
    if (status != HF_OK) {
        return status;
    }
    if (!is_host(url->host)) {
        return bad(reterr, "the host is neither a name nor an address");
    }
    return has_port ? read_port(span, url, reterr) : HF_OK;
}

/* What follows "redis://". */
static hf_status read_tcp(struct span rest, struct hfi_url *url,
                          hf_error *reterr)
{
    struct span authority = rest;
    struct span credentials;
    bool has_database;
    hf_status status;

    url->kind = HFI_URL_TCP;
    if (memchr(rest.at, '?', rest.len) != NULL ||
        memchr(rest.at, '#', rest.len) != NULL) {
        return bad(reterr, "options after ? or # are not known here; in a "
                           "password they are written %3F and %23");
    }
    has_database = cut(&rest, '/', &authority);
    if (has_database && memchr(rest.at, '@', rest.len) != NULL) {
        return bad(reterr, "an @ follows a /; in a password a / is written "
                           "%2F");
    }
    if (cut_last(&authority, '@', &credentials)) {
        status = read_credentials(credentials, url, reterr);
        if (status != HF_OK) {
            return status;
        }
    }
    status = read_address(authority, url, reterr);
    if (status != HF_OK || !has_database || rest.len == 0) {
        return status;
    }
    return read_database(rest, url, reterr);
}

/* "db=N", what follows the '?' of a Unix socket. */
static hf_status read_unix_option(struct span span, struct hfi_url *url,
                                  hf_error *reterr)
{
    struct span name = {NULL, 0};

    if (!cut(&span, '=', &name) || name.len != 2 ||
        memcmp(name.at, "db", 2) != 0) {
        return bad(reterr, "the only option after the path is ?db=N");
    }
    return read_database(span, url, reterr);
}

/* What follows "unix:". */
static hf_status read_unix(struct span rest, struct hfi_url *url,
                           hf_error *reterr)
{
    struct span path = rest;
    struct span credentials;
    bool has_option;
    hf_status status;

    url->kind = HFI_URL_UNIX;
    if (rest.len >= 2 && memcmp(rest.at, "//", 2) == 0) {
        rest.at += 2;
        rest.len -= 2;
        if (rest.len > 0 && rest.at[0] != '/' &&
            cut(&rest, '@', &credentials)) {
            status = read_credentials(credentials, url, reterr);
            if (status != HF_OK) {
                return status;
            }
        }
    }
    path = rest;
    has_option = cut(&rest, '?', &path);
    if (path.len < 2 || path.at[0] != '/') {
        return bad(reterr, "the path of the socket does not begin with / "
                           "(unix:/path/to/socket)");
    }
    status = decode(path, "the path", &url->path, reterr);
    if (status != HF_OK || !has_option) {
        return status;
    }
    return read_unix_option(rest, url, reterr);
}

bool hfi_local_name_is_valid(const char *name)
{
    size_t len = strspn(name, LETTERS DIGITS "._-");

    return len >= 1 && len <= HFI_LOCAL_NAME_MAX && name[len] == '\0';
}

/* What follows "local:". */
static hf_status read_local(struct span rest, struct hfi_url *url,
                            hf_error *reterr)
{
    hf_status status;

    url->kind = HFI_URL_LOCAL;
    status = copy(rest, &url->name, reterr);
    if (status == HF_OK && !hfi_local_name_is_valid(url->name)) {
        return bad(reterr, "what follows local: is not 1 to 64 letters, "
                           "digits, '.', '_' or '-'");
    }
    return status;
}

/* A scheme that is none of ours. */
static hf_status unknown_scheme(const char *text, hf_error *reterr)
{
    static const char *const later[] = {"rediss", "redis+sentinel",
                                        "redis+cluster"};
    size_t len = strspn(text, LETTERS DIGITS "+-.");
    bool is_scheme = len > 0 && len <= 32 && strncmp(text + len, "://", 3) == 0;

    for (size_t i = 0; i < sizeof(later) / sizeof(later[0]); i++) {
        if (is_scheme && len == strlen(later[i]) &&
            memcmp(text, later[i], len) == 0) {
            return hfi_fail(reterr, HF_BAD_URL,
                            "the server's URL: %s:// is not supported by this "
                            "version",
                            later[i]);
        }
    }
    if (is_scheme) {
        return hfi_fail(reterr, HF_BAD_URL,
                        "the server's URL: the scheme %.*s:// is not known; "
                        "expected redis://, unix: or local:",
                        (int)len, text);
    }
    return bad(reterr, "it does not begin with redis://, unix: or local:");
}

static hf_status read_scheme(const char *text, struct hfi_url *url,
                             hf_error *reterr)
{
    static const struct {
        const char *prefix;
        hf_status (*read)(struct span, struct hfi_url *, hf_error *);
    } schemes[] = {
        {"redis://", read_tcp}, {"unix:", read_unix}, {"local:", read_local}};

    for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
        size_t len = strlen(schemes[i].prefix);

        if (strncmp(text, schemes[i].prefix, len) == 0) {
            return schemes[i].read(span_of(text + len), url, reterr);
        }
    }
    return unknown_scheme(text, reterr);
}

static bool has_control_bytes(const char *text)
{
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text < 0x20 || *text == 0x7f) {
            return true;
        }
    }
    return false;
}

hf_status hfi_url_parse(const char *text, struct hfi_url *ret_url,
                        hf_error *reterr)
{
    hf_status status;

    memset(ret_url, 0, sizeof(*ret_url));
    if (text == NULL || text[0] == '\0') {
        return bad(reterr, "it is empty");
    }
    if (strnlen(text, HFI_URL_MAX + 1) > HFI_URL_MAX) {
        return hfi_fail(reterr, HF_BAD_URL,
                        "the server's URL: it is longer than %d bytes",
                        HFI_URL_MAX);
    }
    if (has_control_bytes(text)) {
        return bad(reterr, "it contains a control character (a line's end?)");
    }
    status = read_scheme(text, ret_url, reterr);
    if (status == HF_OK && ret_url->path != NULL &&
        has_control_bytes(ret_url->path)) {
        status = bad(reterr, "the path contains a control character");
    }
    if (status != HF_OK) {
        hfi_url_free(ret_url);
    }
    return status;
}

void hfi_url_free(struct hfi_url *url)
{
    if (url->password != NULL) {
        hfi_wipe(url->password, strlen(url->password));
    }
    free(url->host);
    free(url->path);
    free(url->name);
    free(url->user);
    free(url->password);
    memset(url, 0, sizeof(*url));
}

int hfi_url_describe(const struct hfi_url *url, char *buf, size_t size)
{
    char path[512];

    switch (url->kind) {
    case HFI_URL_TCP:
        return snprintf(buf, size,
                        strchr(url->host, ':') != NULL ? "[%s]:%u/%d"
                                                       : "%s:%u/%d",
                        url->host, (unsigned)url->port, url->database);
    case HFI_URL_UNIX:
        hfi_printable(path, sizeof(path), url->path, strlen(url->path));
        if (url->database == 0) {
            return snprintf(buf, size, "unix:%s", path);
        }
        return snprintf(buf, size, "unix:%s?db=%d", path, url->database);
    case HFI_URL_LOCAL:
        return snprintf(buf, size, "local:%s", url->name);
    }
    return snprintf(buf, size, "?");
}
