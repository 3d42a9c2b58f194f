/* SPDX-License-Identifier: MIT */
/* clock.c - programs whose wall clock is wrong; see clock.h.
 */
#include "support/clock.h"

#include <fcntl.h>
#include <glob.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/fatal.h"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define CAN_PRELOAD false
#else
#define CAN_PRELOAD true
#endif

/* Debian has a folder for each architecture. */
#define LIBRARY "/usr/lib/*/faketime/libfaketimeMT.so.1"

#define RIGHT_OTHERWISE "FAKETIME_DONT_FAKE_MONOTONIC=1"

/* LD_PRELOAD=..., or NULL where that cannot be. */
static const char *preload(void)
{
    static char word[256];
    glob_t found;
    bool is_there = glob(LIBRARY, 0, NULL, &found) == 0;

    if (is_there) {
        (void)snprintf(word, sizeof(word), "LD_PRELOAD=%s", found.gl_pathv[0]);
    } else if (getenv("CI") != NULL) {
        hft_die("libfaketime is not there; tools/setup test installs it");
    }
    globfree(&found);
    return is_there && CAN_PRELOAD ? word : NULL;
}

const char *const *hft_clock_off_by(const char *offset)
{
    static char fake[64];
    static const char *env[] = {NULL, fake, RIGHT_OTHERWISE, NULL};

    (void)snprintf(fake, sizeof(fake), "FAKETIME=%s", offset);
    env[0] = preload();
    return env[0] == NULL ? NULL : env;
}

const char *const *hft_clock_of_file(const char *path)
{
    static char fake[256];
    static const char *env[] = {NULL, fake, "FAKETIME_NO_CACHE=1",
                                RIGHT_OTHERWISE, NULL};

    (void)snprintf(fake, sizeof(fake), "FAKETIME_TIMESTAMP_FILE=%s", path);
    env[0] = preload();
    return env[0] == NULL ? NULL : env;
}

/* Renamed into its place, so that nobody reads half of it. */
void hft_clock_jump(const char *path, const char *offset)
{
    char *fresh = hft_format("%s.new", path);
    FILE *file = fopen(fresh, "we");

    if (file == NULL || fprintf(file, "%s\n", offset) < 0 ||
        fclose(file) != 0 || rename(fresh, path) != 0) {
        hft_die("%s cannot be written", path);
    }
    free(fresh);
}

static int64_t *a_shared_number(const char *path)
{
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    void *mapped = MAP_FAILED;

    if (file >= 0 && ftruncate(file, (off_t)sizeof(int64_t)) == 0) {
        mapped = mmap(NULL, sizeof(int64_t), PROT_READ | PROT_WRITE, MAP_SHARED,
                      file, 0);
    }
    if (mapped == MAP_FAILED) {
        hft_die("%s cannot be shared", path);
    }
    (void)close(file);
    return mapped;
}

int64_t *hft_clock_that_jumps(const char *library, const char *path,
                              const char *const **ret_env)
{
    static char load[512];
    static char number[512];
    static const char *const env[] = {load, number, NULL};

    (void)snprintf(load, sizeof(load), "LD_PRELOAD=%s", library);
    (void)snprintf(number, sizeof(number), "HFT_CLOCK_FILE=%s", path);
    *ret_env = CAN_PRELOAD ? env : NULL;
    return a_shared_number(path);
}
