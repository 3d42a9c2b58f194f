/* SPDX-License-Identifier: MIT */
/* The runtime directory.
 *
 * Whoever can write into this folder could put a server of his own behind our
 * locks, so it must be a folder (no link), ours, and closed to all others; if it
 * is anything else we say so and stop, and never "repair" it.  /tmp is open to
 * everybody, but its sticky bit keeps others from moving a folder of ours.
 */
#include "net/runtime_dir.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/fail.h"

/* A folder that belongs to this user. */
static bool is_ours(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISDIR(info.st_mode) &&
           info.st_uid == geteuid();
}

/* What is wrong with a folder that others must not enter, or NULL. */
static const char *fault_of(const struct stat *info)
{
    if (!S_ISDIR(info->st_mode)) {
        return "is not a folder";
    }
    if (info->st_uid != geteuid()) {
        return "belongs to another user";
    }
    if ((info->st_mode & (S_IRWXG | S_IRWXO)) != 0) {
        return "is open to other users (its mode must be 0700)";
    }
    return NULL;
}

/* These write a path; false if it does not fit. */

static bool fits(int length, size_t size)
{
    return length >= 0 && (size_t)length < size;
}

static bool write_login(char *buf, size_t size)
{
    char base[64];

    (void)snprintf(base, sizeof(base), "/run/user/%lu",
                   (unsigned long)geteuid());
    return is_ours(base) &&
           fits(snprintf(buf, size, "%s/holdfast", base), size);
}

static bool write_tmp(char *buf, size_t size)
{
    return fits(
        snprintf(buf, size, "/tmp/holdfast-%lu", (unsigned long)geteuid()),
        size);
}

static bool write_path(char *buf, size_t size)
{
    const char *given = secure_getenv("XDG_RUNTIME_DIR");

    if (given != NULL && given[0] == '/' && is_ours(given)) {
        return fits(snprintf(buf, size, "%s/holdfast", given), size);
    }
    return write_login(buf, size) || write_tmp(buf, size);
}

hf_status hfi_runtime_dir(char *buf, size_t size, hf_error *reterr)
{
    struct stat info;
    const char *fault;

    if (!write_path(buf, size)) {
        return hfi_fail_errno(reterr, HF_SYSTEM, ENAMETOOLONG,
                              "the runtime directory");
    }
    if (mkdir(buf, S_IRWXU) < 0 && errno != EEXIST) {
        return hfi_fail_errno(reterr, HF_SYSTEM, errno,
                              "the runtime directory %s cannot be made", buf);
    }
    if (lstat(buf, &info) < 0) {
        return hfi_fail_errno(reterr, HF_SYSTEM, errno,
                              "the runtime directory %s", buf);
    }
    fault = fault_of(&info);
    if (fault != NULL) {
        return hfi_fail(reterr, HF_PERMISSION, "the runtime directory %s %s",
                        buf, fault);
    }
    return HF_OK;
}

bool hfi_runtime_dir_earlier(char *buf, size_t size)
{
    char used[256];
    char login[256];
    struct stat info;

    return write_path(used, sizeof(used)) &&
           write_login(login, sizeof(login)) && strcmp(used, login) == 0 &&
           write_tmp(buf, size) && lstat(buf, &info) == 0 &&
           fault_of(&info) == NULL;
}
