/* SPDX-License-Identifier: MIT */
/* lock_info.c - printing what the server says about a lock. */
#include "lock_info.h"

#include "complain.h"
#include "duration.h"
#include "exit_status.h"
#include "printable.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a read-write lock says besides. */
static int add_halves(json_t *object, const hf_lock_info *info)
{
    if (info->mode[0] == '\0') {
        return 0;
    }
    return json_object_set_new(object, "mode", json_string(info->mode)) != 0 ||
           json_object_set_new(object, "readers",
                               json_integer((json_int_t)info->readers)) != 0;
}

json_t *cli_lock_info_json(const void *name, size_t name_bytes,
                           const hf_lock_info *info)
{
    char owner[CLI_PRINTABLE_BYTES(sizeof(info->owner))];

    cli_printable(info->owner, strlen(info->owner), owner, sizeof(owner));
    json_t *object = json_pack(
        "{s:s, s:b, s:s, s:I, s:I, s:I}", "kind",
        info->mode[0] == '\0' ? "lock" : info->mode, "locked", info->locked,
        "owner", owner, "count", (json_int_t)info->count, "ttl_ms",
        (json_int_t)info->ttl_ms, "waiting", (json_int_t)info->waiting);
    if (object != NULL && info->token != 0) {
        json_object_set_new(object, "token", json_integer(info->token));
    }
    if (object != NULL && (cli_json_set_name(object, name, name_bytes) != 0 ||
                           add_halves(object, info) != 0)) {
        json_decref(object);
        return NULL;
    }
    return object;
}

int cli_lock_info_plain(const void *name, size_t name_bytes,
                        const hf_lock_info *info)
{
    char owner[CLI_PRINTABLE_BYTES(sizeof(info->owner))];
    char *shown = cli_printable_new(name, name_bytes);

    if (shown == NULL) {
        cli_complain("out of memory");
        return CLI_INTERNAL;
    }
    cli_printable(info->owner, strlen(info->owner), owner, sizeof(owner));
    printf("%s\t%s\t%s\t%" PRId64 "\t%" PRId64 "\t%" PRId64, shown,
           info->locked ? "locked" : "free", owner[0] == '\0' ? "-" : owner,
           info->count, info->ttl_ms, info->waiting);
    if (info->mode[0] != '\0') {
        printf("\t%s\t%" PRId64, info->mode, info->readers);
    }
    printf("\n");
    free(shown);
    return CLI_OK;
}

void cli_lock_info_left(const hf_lock_info *info, char *buf, size_t size)
{
    if (!info->locked) {
        snprintf(buf, size, "-");
    } else if (info->ttl_ms < 0) {
        snprintf(buf, size, "no end");
    } else {
        cli_duration_text(info->ttl_ms, buf, size);
    }
}
