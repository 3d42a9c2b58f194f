/* SPDX-License-Identifier: MIT */
/* environment.c - what the command under the lock finds in its environment.
 *
 *   HOLDFAST_NAME, HOLDFAST_KIND, HOLDFAST_OWNER, HOLDFAST_LEASE_MS
 *   HOLDFAST_URL       without its password, so that a holdfast inside the
 *                      command means the same server; not with --quorum,
 *                      where no single server is meant
 *   HOLDFAST_ALIVE_FD  a descriptor at whose end of file holdfast has ended
 *
 *   HOLDFAST_TOKEN     of a fenced lock; of several names HOLDFAST_TOKEN_1 ...,
 *                      in their order.  Those that an outer holdfast has set
 *                      are removed, because they are not this lock's
 */
#include "environment.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAME, KIND, OWNER, TOKEN, LEASE, URL, ALIVE, VARIABLES };

static const char *const names[VARIABLES] = {
    [NAME] = "HOLDFAST_NAME",      [KIND] = "HOLDFAST_KIND",
    [OWNER] = "HOLDFAST_OWNER",    [TOKEN] = "HOLDFAST_TOKEN",
    [LEASE] = "HOLDFAST_LEASE_MS", [URL] = "HOLDFAST_URL",
    [ALIVE] = "HOLDFAST_ALIVE_FD",
};

#define TOKEN_OF_ONE "HOLDFAST_TOKEN_"
#define TOKEN_ENTRY_SIZE 64

static bool is_ours(const char *entry)
{
    for (size_t i = 0; i < VARIABLES; i++) {
        size_t length = strlen(names[i]);
        if (strncmp(entry, names[i], length) == 0 && entry[length] == '=') {
            return true;
        }
    }
    return strncmp(entry, TOKEN_OF_ONE, sizeof(TOKEN_OF_ONE) - 1) == 0;
}

/* "VARIABLE=value", or NULL: no memory. */
static char *entry_new(int variable, const char *value)
{
    size_t size = strlen(names[variable]) + strlen(value) + 2;
    char *entry = malloc(size);

    if (entry != NULL) {
        snprintf(entry, size, "%s=%s", names[variable], value);
    }
    return entry;
}

/* The variables with a value; returns how many, or 0: no memory. */
static size_t add_ours(char **entries, const struct cli_variables *told,
                       const struct child *child)
{
    char lease[32];
    char token[32];
    char alive[16];
    char *url = cli_url_without_password(told->ctx->url);
    const char *values[VARIABLES] = {
        [NAME] = told->name,
        [KIND] = told->kind,
        [OWNER] = told->owner,
        [TOKEN] = told->token == 0 ? NULL : token,
        [LEASE] = told->lease_ms == 0 ? NULL : lease,
        [URL] = told->ctx->servers > 1 ? NULL : url,
        [ALIVE] = alive,
    };
    size_t count = 0;

    snprintf(lease, sizeof(lease), "%" PRId64, told->lease_ms);
    snprintf(token, sizeof(token), "%" PRId64, told->token);
    snprintf(alive, sizeof(alive), "%d", child->inherited_fd);
    for (int i = 0; i < VARIABLES && url != NULL; i++) {
        if (values[i] == NULL) {
            continue;
        }
        entries[count] = entry_new(i, values[i]);
        if (entries[count] == NULL) {
            count = 0;
            break;
        }
        count++;
    }
    free(url);
    return count;
}

/* HOLDFAST_TOKEN_1=..., and so on; returns how many, or -1: no memory. */
static int add_tokens(char **entries, const struct cli_variables *told)
{
    for (size_t i = 0; i < told->token_count; i++) {
        entries[i] = malloc(TOKEN_ENTRY_SIZE);
        if (entries[i] == NULL) {
            return -1;
        }
        snprintf(entries[i], TOKEN_ENTRY_SIZE, TOKEN_OF_ONE "%zu=%" PRId64,
                 i + 1, told->tokens[i]);
    }
    return (int)told->token_count;
}

char **cli_environment_new(const struct cli_hold *hold,
                           const struct child *child)
{
    struct cli_variables variables = {
        .ctx = hold->ctx,
        .name = hold->name,
        .kind = cli_hold_kind(hold),
        .owner = hold->owner_text,
        .token = hold->token,
        .tokens = hold->tokens,
        .token_count = hold->tokens == NULL ? 0 : hold->name_count,
        .lease_ms = hold->take->lease_ms,
    };

    return cli_environment_of(&variables, child);
}

char **cli_environment_of(const struct cli_variables *variables,
                          const struct child *child)
{
    size_t inherited = 0;

    while (environ[inherited] != NULL) {
        inherited++;
    }
    char **entries = calloc(inherited + VARIABLES + variables->token_count + 1,
                            sizeof(*entries));
    if (entries == NULL) {
        return NULL;
    }
    size_t count = add_ours(entries, variables, child);
    if (count > 0) {
        int tokens = add_tokens(entries + count, variables);
        count = tokens < 0 ? 0 : count + (size_t)tokens;
    }
    for (size_t i = 0; count > 0 && i < inherited; i++) {
        if (is_ours(environ[i])) {
            continue;
        }
        entries[count] = strdup(environ[i]);
        if (entries[count++] == NULL) {
            count = 0;
        }
    }
    if (count == 0) {
        cli_environment_free(entries);
        return NULL;
    }
    return entries;
}

void cli_environment_free(char **environment)
{
    for (size_t i = 0; environment != NULL && environment[i] != NULL; i++) {
        free(environment[i]);
    }
    free(environment);
}
