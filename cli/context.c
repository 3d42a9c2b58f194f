/* SPDX-License-Identifier: MIT */
/* context.c - which server, with which password.
 *
 * It is never guessed that something on port 6379 is ours: without --server and
 * HOLDFAST_URL the server is this machine's own, and a line on stderr says so,
 * because a lock of one machine must never be taken for one of two hosts.
 *
 * A password is looked for in a file (--password-file), in HOLDFAST_PASSWORD,
 * and in the URL, in this order.  It is printed nowhere.  What was read from a
 * file stays in memory until the process ends.
 */
#include "context.h"

#include "complain.h"
#include "exit_status.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_URL "local:default"

/* Longer than anybody's password; a file that is longer is another file. */
#define PASSWORD_MAX 4096

static char file_password[PASSWORD_MAX + 1];

static const char *environment(const char *name)
{
    const char *value = getenv(name);

    /* Set but empty is how many a unit file says "not set". */
    return value != NULL && value[0] != '\0' ? value : NULL;
}

/* The whole file into `buf`; returns its length, or -1 and errno. */
static ssize_t read_file(const char *path, char *buf, size_t size)
{
    size_t length = 0;
    ssize_t got;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0) {
        return -1;
    }
    do {
        got = read(fd, buf + length, size - length);
        if (got > 0) {
            length += (size_t)got;
        }
    } while ((got > 0 && length < size) || (got < 0 && errno == EINTR));
    int saved = errno;
    close(fd);
    errno = saved;
    return got < 0 ? -1 : (ssize_t)length;
}

static int read_password(const char *path)
{
    ssize_t length = read_file(path, file_password, sizeof(file_password));

    if (length < 0) {
        cli_complain("--password-file %.200s: %s", path, strerror(errno));
        return CLI_USAGE;
    }
    /* Editors end a file with a newline; it is not part of the password. */
    while (length > 0 && (file_password[length - 1] == '\n' ||
                          file_password[length - 1] == '\r')) {
        length--;
    }
    if (length == 0 || length > PASSWORD_MAX) {
        cli_complain("--password-file %.200s: there is no password in it",
                     path);
        return CLI_USAGE;
    }
    file_password[length] = '\0';
    return CLI_GO_ON;
}

int cli_context_settle(struct cli_context *ctx)
{
    if (ctx->url == NULL) {
        ctx->url = environment("HOLDFAST_URL");
    }
    if (ctx->url == NULL) {
        ctx->url = DEFAULT_URL;
        ctx->url_is_default = 1;
    }
    if (ctx->password_file != NULL && ctx->password == NULL) {
        int result = read_password(ctx->password_file);
        if (result != CLI_GO_ON) {
            return result;
        }
        ctx->password = file_password;
    }
    if (ctx->password == NULL) {
        ctx->password = environment("HOLDFAST_PASSWORD");
    }
    return CLI_GO_ON;
}

hf_status cli_context_connect(const struct cli_context *ctx, int64_t limit_ms,
                              hf_client **ret_client, hf_error *reterr)
{
    hf_options options = HF_OPTIONS_INIT;

    if (limit_ms == 0) {
        limit_ms = ctx->timeout_ms;
    }
    options.connect_limit_ms = limit_ms;
    options.response_limit_ms = limit_ms;
    /* A private server has no password; one that is meant for another server
     * would be refused there. */
    if (strncmp(ctx->url, "local:", strlen("local:")) != 0) {
        options.password = ctx->password;
    }
    return hf_client_open(ctx->url, &options, ret_client, reterr);
}

int cli_server_complain(int index, const hf_error *err)
{
    if (err->status != HF_BAD_URL && err->status != HF_BAD_NAME) {
        return cli_complain_error(err);
    }
    cli_complain("--server no. %d: %s", index + 1, err->message);
    return CLI_USAGE;
}

int cli_context_open(const struct cli_context *ctx, hf_client **ret_client)
{
    hf_error err;

    if (ctx->url_is_default) {
        cli_complain("no --server and no HOLDFAST_URL: using local:default, "
                     "whose locks are of this machine only");
    }
    if (cli_context_connect(ctx, 0, ret_client, &err) != HF_OK) {
        return cli_complain_error(&err);
    }
    if (ctx->verbose) {
        cli_complain("connected to %s", hf_client_server(*ret_client));
    }
    return CLI_GO_ON;
}

char *cli_url_without_password(const char *url)
{
    char *copy = strdup(url);
    char *user = copy == NULL ? NULL : strstr(copy, "://");

    if (user == NULL) {
        return copy; /* unix: and local: have no place for one */
    }
    user += strlen("://");
    /* The last "@" before the path: a password may hold one itself, and behind
     * a "/" it is part of a socket's path. */
    char *at = memrchr(user, '@', strcspn(user, "/"));
    char *colon = at == NULL ? NULL : memchr(user, ':', (size_t)(at - user));
    if (colon == NULL) {
        return copy;
    }
    /* Without a user, nothing stays before the host; ":@" would be an empty
     * password. */
    char *rest = colon == user ? at + 1 : at;
    memmove(colon, rest, strlen(rest) + 1);
    return copy;
}
