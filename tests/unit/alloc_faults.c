/* SPDX-License-Identifier: MIT */
/* alloc_faults.c - what the linker puts in the place of malloc and friends
 * (--wrap); see alloc_faults.h.  The names with underscores are the linker's. */
#include "alloc_faults.h"

#include <stddef.h>

#include <hiredis/hiredis.h>

static bool begun;
static bool paused;
static bool failed;
static unsigned left;

void alloc_faults_begin(unsigned n)
{
    begun = true;
    paused = false;
    failed = false;
    left = n;
}

bool alloc_faults_end(void)
{
    begun = false;
    return failed;
}

void alloc_faults_pause(void)
{
    paused = true;
}

void alloc_faults_resume(void)
{
    paused = false;
}

static bool fails(void)
{
    if (!begun || paused || failed) {
        return false;
    }
    failed = left == 0;
    left--;
    return failed;
}

void *real_malloc(size_t size) __asm__("__real_malloc");
void *real_calloc(size_t count, size_t size) __asm__("__real_calloc");
void *real_realloc(void *old, size_t size) __asm__("__real_realloc");
char *real_strdup(const char *text) __asm__("__real_strdup");
redisReader *real_reader(redisReplyObjectFunctions *functions) __asm__(
    "__real_redisReaderCreateWithFunctions");
long long real_format(char **out, int count, const char **words,
                      const size_t *lens) __asm__("__real_"
                                                  "redisFormatCommandArgv");

void *wrap_malloc(size_t size) __asm__("__wrap_malloc");
void *wrap_calloc(size_t count, size_t size) __asm__("__wrap_calloc");
void *wrap_realloc(void *old, size_t size) __asm__("__wrap_realloc");
char *wrap_strdup(const char *text) __asm__("__wrap_strdup");
redisReader *wrap_reader(redisReplyObjectFunctions *functions) __asm__(
    "__wrap_redisReaderCreateWithFunctions");
long long wrap_format(char **out, int count, const char **words,
                      const size_t *lens) __asm__("__wrap_"
                                                  "redisFormatCommandArgv");

void *wrap_malloc(size_t size)
{
    return fails() ? NULL : real_malloc(size);
}

void *wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : real_calloc(count, size);
}

void *wrap_realloc(void *old, size_t size)
{
    return fails() ? NULL : real_realloc(old, size);
}

char *wrap_strdup(const char *text)
{
    return fails() ? NULL : real_strdup(text);
}

/* hiredis is a library of its own, so its allocations are not seen: these two
 * of its functions stand for them. */
redisReader *wrap_reader(redisReplyObjectFunctions *functions)
{
    return fails() ? NULL : real_reader(functions);
}

long long wrap_format(char **out, int count, const char **words,
                      const size_t *lens)
{
    return fails() ? -1 : real_format(out, count, words, lens);
}
